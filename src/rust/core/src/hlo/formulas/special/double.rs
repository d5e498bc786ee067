//! Unevaluated sums of two doubles, as `kernels::math::special` has them.
//!
//! Compilers reassociate sums with constants: those stand second where that matters.

use super::Words;
use crate::dtype::DType;
use crate::hlo::formulas::floats::split_exponent;
use crate::ops::{Binary, Unary, Var};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// `self.0 + self.1`.
#[derive(Clone, Copy)]
pub struct Double<'m, 'b>(pub Var<'m, 'b>, pub Var<'m, 'b>);

/// The rounded sum and its rounding error.
pub fn two_sum<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> Double<'m, 'b> {
    let sum = x + y;
    let kept = sum - x;
    Double(sum, (x - (sum - kept)) + (y - kept))
}

/// As [`two_sum`], for `|x| >= |y|`.
fn fast_two_sum<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> Double<'m, 'b> {
    let sum = x + y;
    Double(sum, y - (sum - x))
}

fn halves<'m, 'b>(x: Var<'m, 'b>) -> (Var<'m, 'b>, Var<'m, 'b>) {
    // The upper 26 bits of the significand, where the kernel rounds to them.
    let bits = x.bitcast(DType::I64);
    let high = bits.binary(Binary::and, bits.integer(-(1 << 27))).bitcast(DType::F64);
    (high, x - high)
}

/// The rounded product and its rounding error.
pub fn two_product<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> Double<'m, 'b> {
    let product = x * y;
    let ((x1, x2), (y1, y2)) = (halves(x), halves(y));
    Double(product, ((x1 * y1 - product) + x1 * y2 + x2 * y1) + x2 * y2)
}

impl<'m, 'b> From<Var<'m, 'b>> for Double<'m, 'b> {
    fn from(x: Var<'m, 'b>) -> Double<'m, 'b> {
        Double(x, x.of(0.0))
    }
}

impl<'m, 'b> Neg for Double<'m, 'b> {
    type Output = Double<'m, 'b>;
    fn neg(self) -> Double<'m, 'b> {
        Double(-self.0, -self.1)
    }
}

impl<'m, 'b> Add for Double<'m, 'b> {
    type Output = Double<'m, 'b>;
    fn add(self, y: Double<'m, 'b>) -> Double<'m, 'b> {
        let (high, low) = (two_sum(self.0, y.0), two_sum(self.1, y.1));
        let sum = fast_two_sum(high.0, high.1 + low.0);
        fast_two_sum(sum.0, sum.1 + low.1)
    }
}

impl<'m, 'b> Sub for Double<'m, 'b> {
    type Output = Double<'m, 'b>;
    fn sub(self, y: Double<'m, 'b>) -> Double<'m, 'b> {
        self + -y
    }
}

impl<'m, 'b> Mul for Double<'m, 'b> {
    type Output = Double<'m, 'b>;
    fn mul(self, y: Double<'m, 'b>) -> Double<'m, 'b> {
        let high = two_product(self.0, y.0);
        fast_two_sum(high.0, high.1 + (self.0 * y.1 + self.1 * y.0))
    }
}

impl<'m, 'b> Div for Double<'m, 'b> {
    type Output = Double<'m, 'b>;
    fn div(self, y: Double<'m, 'b>) -> Double<'m, 'b> {
        let first = self.0 / y.0;
        let rest = self - y * Double::from(first);
        let second = rest.0 / y.0;
        let rest = rest - y * Double::from(second);
        let high = fast_two_sum(first, second);
        fast_two_sum(high.0, high.1 + rest.0 / y.0)
    }
}

/// `log(2)`.
const LN_2: [f64; 2] = [std::f64::consts::LN_2, 2.3190468138462996e-17];

/// `log(2 pi) / 2`.
pub const HALF_LOG_2_PI: [f64; 2] = [0.9189385332046728, -3.8782941580672414e-17];

/// `1 / 3`, `1 / 5` and so on.
const ODD: [[f64; 2]; 7] = [
    [0.3333333333333333, 1.850371707708594e-17],
    [0.2, -1.1102230246251566e-17],
    [0.14285714285714285, 7.93016446160826e-18],
    [0.1111111111111111, 6.16790566237198e-18],
    [0.09090909090909091, -2.523234146875356e-18],
    [0.07692307692307693, -4.270088556250602e-18],
    [0.06666666666666667, 9.251858538542971e-19],
];

/// 2 to the power of a whole number, of which that is a normal float.
fn power_of_two<'m, 'b>(n: Var<'m, 'b>) -> Var<'m, 'b> {
    let bits = (n + 1023.0).convert(DType::I64);
    bits.binary(Binary::shift_left, bits.integer(52)).bitcast(DType::F64)
}

impl<'m, 'b> Double<'m, 'b> {
    /// A constant.
    pub fn of(x: Var<'m, 'b>, parts: [f64; 2]) -> Double<'m, 'b> {
        Double(x.of(parts[0]), x.of(parts[1]))
    }

    /// The nearest double.
    pub fn value(self) -> Var<'m, 'b> {
        self.0 + self.1
    }

    /// The one where a condition holds, else another.
    pub fn select(condition: Var<'m, 'b>, yes: Double<'m, 'b>, no: Double<'m, 'b>) -> Double<'m, 'b> {
        Double(condition.select(yes.0, no.0), condition.select(yes.1, no.1))
    }

    /// Natural logarithm of a positive number.
    pub fn log(self) -> Double<'m, 'b> {
        let [m, exponent] = split_exponent(self.0);
        // In two steps, since a power of 2 of a subnormal number is none of its own.
        let half = (exponent * -0.5).unary(Unary::round_nearest_even);
        let low = self.1 * power_of_two(half) * power_of_two(-exponent - half);
        let m = Double(m, low);
        let one = Double::from(m.0.of(1.0));
        let s = (m - one) / (m + one);
        let z = s * s;
        let mut rest = z.0.of(0.0);
        for k in (8..19).rev() {
            rest = rest * z.0 + 1.0 / f64::from(2 * k + 1);
        }
        let mut sum = Double::from(rest);
        for &term in ODD.iter().rev() {
            sum = sum * z + Double::of(z.0, term);
        }
        let small = s + s * z * sum;
        Double::of(exponent, LN_2) * Double::from(exponent) + Double(small.0 * 2.0, small.1 * 2.0)
    }

    /// Exponential.
    pub fn exp(self) -> Var<'m, 'b> {
        let high = self.0.exp();
        let plain = high.is(0.0).or(high.finite().not()).or(self.1.is(0.0));
        plain.select(high, high + high * self.1)
    }
}
