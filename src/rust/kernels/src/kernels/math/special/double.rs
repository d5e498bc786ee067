//! Numbers of about 100 bits: unevaluated sums of two doubles (Dekker 1971; Shewchuk 1997).
//!
//! For the exponents of densities: the relative error of `e^y` is the absolute error of `y`, which may be
//! hundreds, and the difference of numbers that are larger still.

use super::sums::polynomial;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::OnceLock;

/// `self.0 + self.1`, the second below half a unit in the last place of the first.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::kernels::math) struct Double(pub f64, pub f64);

/// The rounded sum and its rounding error (two-sum, Knuth).
#[inline]
pub(in crate::kernels::math) fn two_sum(x: f64, y: f64) -> Double {
    let sum = x + y;
    let kept = sum - x;
    Double(sum, (x - (sum - kept)) + (y - kept))
}

/// As [`two_sum`], for `|x| >= |y|`.
#[inline]
fn fast_two_sum(x: f64, y: f64) -> Double {
    let sum = x + y;
    Double(sum, y - (sum - x))
}

/// The upper half of the digits of a number, and the lower one.
#[inline]
fn halves(x: f64) -> (f64, f64) {
    let bits = 134217729.0 * x;
    let high = bits - (bits - x);
    (high, x - high)
}

/// The rounded product and its rounding error, for factors below 2^990 and products in the range of normal
/// numbers (two-product, Dekker: a fused multiply-add is not on every processor).
#[inline]
pub(in crate::kernels::math) fn two_product(x: f64, y: f64) -> Double {
    let product = x * y;
    let ((x1, x2), (y1, y2)) = (halves(x), halves(y));
    Double(product, ((x1 * y1 - product) + x1 * y2 + x2 * y1) + x2 * y2)
}

/// A sum, with the error of a rounding of the lower parts: of finite numbers.
#[inline(always)]
pub(super) fn total<const N: usize>(parts: [Double; N]) -> Double {
    let (mut sum, mut low) = (0.0, 0.0);
    for part in parts {
        let next = two_sum(sum, part.0);
        (sum, low) = (next.0, low + (next.1 + part.1));
    }
    fast_two_sum(sum, low)
}

impl From<f64> for Double {
    fn from(x: f64) -> Double {
        Double(x, 0.0)
    }
}

impl Neg for Double {
    type Output = Double;
    fn neg(self) -> Double {
        Double(-self.0, -self.1)
    }
}

impl Add for Double {
    type Output = Double;
    #[inline]
    fn add(self, y: Double) -> Double {
        let (high, low) = (two_sum(self.0, y.0), two_sum(self.1, y.1));
        let sum = fast_two_sum(high.0, high.1 + low.0);
        fast_two_sum(sum.0, sum.1 + low.1)
    }
}

impl Sub for Double {
    type Output = Double;
    #[inline]
    fn sub(self, y: Double) -> Double {
        self + -y
    }
}

impl Mul for Double {
    type Output = Double;
    #[inline]
    fn mul(self, y: Double) -> Double {
        let high = two_product(self.0, y.0);
        fast_two_sum(high.0, high.1 + (self.0 * y.1 + self.1 * y.0))
    }
}

impl Div for Double {
    type Output = Double;
    #[inline]
    fn div(self, y: Double) -> Double {
        let first = self.0 / y.0;
        let rest = self - y * Double::from(first);
        let second = rest.0 / y.0;
        let rest = rest - y * Double::from(second);
        let high = fast_two_sum(first, second);
        fast_two_sum(high.0, high.1 + rest.0 / y.0)
    }
}

/// `log(2)`.
const LN_2: Double = Double(std::f64::consts::LN_2, 2.3190468138462996e-17);

/// `log(2 pi) / 2`.
pub(super) const HALF_LOG_2_PI: Double = Double(0.9189385332046728, -3.8782941580672414e-17);

/// `1 / 3`, `1 / 5` and so on.
const ODD: [Double; 7] = [
    Double(0.3333333333333333, 1.850371707708594e-17),
    Double(0.2, -1.1102230246251566e-17),
    Double(0.14285714285714285, 7.93016446160826e-18),
    Double(0.1111111111111111, 6.1679056923619804e-18),
    Double(0.09090909090909091, -2.523234146875356e-18),
    Double(0.07692307692307693, -4.270088556250602e-18),
    Double(0.06666666666666667, 9.251858538542971e-19),
];

/// `log(2)` in two parts, of which the first has 42 bits.
pub(super) const LN_2_UPPER: f64 = 0.6931471805598903;
pub(super) const LN_2_REST: f64 = 5.497923018708371e-14;

/// `1 / (k + 2)!`, the powers of `(e^x - 1 - x) / x^2`.
const EXP: [f64; 12] = {
    let (mut c, mut k) = ([0.5; 12], 1);
    while k < c.len() {
        c[k] = c[k - 1] / (k + 2) as f64;
        k += 1;
    }
    c
};

/// A number to which another one is added and from which it is taken away to round it to a whole one.
const MAGIC: f64 = 6755399441055744.0;

const TWO_TO_54: f64 = 18014398509481984.0;

/// The fractions of the table of logarithms are whole numbers over this, from [`LEAST`] on.
pub(super) const UNIT: f64 = 1024.0;
pub(super) const LEAST: usize = 724;
const MOST: usize = 1449;

/// Logarithms of the reciprocals of the fractions.
static LOGS: OnceLock<Vec<Double>> = OnceLock::new();

/// That of the fraction `k` is at `k - LEAST`.
pub(super) fn fractions() -> &'static [Double] {
    LOGS.get_or_init(|| (LEAST..=MOST).map(|k| -Double::from(k as f64 / UNIT).log_by_series()).collect())
}

impl Double {
    /// The nearest double.
    #[inline]
    pub fn value(self) -> f64 {
        self.0 + self.1
    }

    /// Natural logarithm, with a relative error below 2^-75: that of a fraction of 10 bits near the number over a
    /// power of 2, from a table, and of what is left, which is within 2^-10.5 of 1, by its series. Of what is not
    /// positive and finite that of the first part.
    #[inline]
    pub fn log(self) -> Double {
        if !(self.0 > 0.0 && self.0.is_finite()) || self == Double(1.0, 0.0) {
            return Double::from(libm::log(self.0));
        }
        let (m, low, exponent) = self.significand();
        let k = (UNIT / m + MAGIC) - MAGIC;
        let inverse = k * (1.0 / UNIT);
        // Exact: the upper part of `m` has 42 bits, and `inverse` has 11.
        let upper = f64::from_bits(m.to_bits() & !0x7ff);
        let t = two_sum(upper * inverse - 1.0, (m - upper) * inverse);
        let t = fast_two_sum(t.0, t.1 + low * inverse);
        // log(1 + t) = t - t^2 / 2 + t^3 / 3 - ...: from the third term on 53 bits are enough.
        let (h, square) = (t.0, two_product(t.0, t.0));
        let rest = (1.0 / 3.0 - 0.25 * h) + square.0 * ((0.2 - h * (1.0 / 6.0)) + square.0 * (1.0 / 7.0));
        let low = square.0 * h * rest - (0.5 * square.1 + h * t.1) + t.1;
        let near = two_sum(h, -0.5 * square.0);
        let near = fast_two_sum(near.0, near.1 + low);
        if exponent == 0.0 && k == UNIT {
            return near;
        }
        let of_fraction = fractions()[k as usize - LEAST];
        // The upper part of log(2) times the exponent is exact.
        let sum = two_sum(exponent * LN_2_UPPER, of_fraction.0);
        let with = two_sum(sum.0, near.0);
        fast_two_sum(with.0, with.1 + (sum.1 + (exponent * LN_2_REST + (of_fraction.1 + near.1))))
    }

    /// As [`log`](Double::log), with a relative error of about 2^-90: twice the inverse hyperbolic tangent of
    /// `(m - 1) / (m + 1)`, where `m` is the number over a power of 2.
    fn log_by_series(self) -> Double {
        let (m, low, exponent) = self.significand();
        let m = Double(m, low);
        let s = (m - 1.0.into()) / (m + 1.0.into());
        let z = s * s;
        // Terms of which 53 bits are enough.
        let mut rest = 0.0;
        for k in (8..19).rev() {
            rest = rest * z.0 + 1.0 / (2 * k + 1) as f64;
        }
        let mut sum = Double::from(rest);
        for &term in ODD.iter().rev() {
            sum = sum * z + term;
        }
        let small = s + s * z * sum;
        LN_2 * exponent.into() + Double(2.0 * small.0, 2.0 * small.1)
    }

    /// The number over a power of 2, from the root of 1/2 to that of 2, and the exponent; of a positive finite one.
    #[inline]
    fn significand(self) -> (f64, f64, f64) {
        let is_subnormal = self.0 < f64::MIN_POSITIVE;
        let bits = (if is_subnormal { self.0 * TWO_TO_54 } else { self.0 }).to_bits();
        let mut exponent = (bits >> 52) as i32 - 1022 - if is_subnormal { 54 } else { 0 };
        let mut m = f64::from_bits((bits & ((1 << 52) - 1)) | (1022 << 52));
        if m < std::f64::consts::FRAC_1_SQRT_2 {
            m *= 2.0;
            exponent -= 1;
        }
        let low = if self.1 == 0.0 {
            0.0
        } else if exponent.abs() < 1000 {
            self.1 * f64::from_bits(((1023 - exponent) as u64) << 52)
        } else {
            libm::scalbn(self.1, -exponent)
        };
        (m, low, f64::from(exponent))
    }

    /// Exponential, with a relative error of about 2^-53: a power of 2 and the series of what is left.
    #[inline]
    pub fn exp(self) -> f64 {
        if self.0.abs() < 700.0 {
            let k = (self.0 * std::f64::consts::LOG2_E + MAGIC) - MAGIC;
            let r = ((self.0 - k * LN_2_UPPER) - k * LN_2_REST) + self.1;
            let power = f64::from_bits(((1023 + k as i64) as u64) << 52);
            return power * (1.0 + (r + r * r * polynomial(r, &EXP)));
        }
        let high = libm::exp(self.0);
        if high == 0.0 || !high.is_finite() || self.1 == 0.0 {
            return high;
        }
        high + high * self.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_have_twice_the_digits() {
        // log(3) and log(1 + 2^-60), from mpmath.
        let three = Double::from(3.0).log();
        assert_eq!(three.0, 1.0986122886681098);
        assert!((three.1 - -9.07129723500153e-17).abs() < 1e-25, "{three:?}");
        let near = Double(1.0, 2f64.powi(-60)).log();
        assert!((near.value() / 2f64.powi(-60) - 1.0).abs() < 1e-15, "{near:?}");
        // Both ways of computing it, on both sides of each fraction of the table.
        for i in 0..20_000 {
            let x = Double(0.3 + 1e-4 * f64::from(i), 1e-18 * f64::from(i % 7));
            let (quick, slow) = (x.log(), x.log_by_series());
            assert!(
                (quick - slow).value().abs() <= 2f64.powi(-75) * slow.0.abs(),
                "{x:?}: {quick:?}, {slow:?}"
            );
        }
        for i in -6999..7000 {
            let x = 0.1 * f64::from(i);
            assert!((Double::from(x).exp() / libm::exp(x) - 1.0).abs() <= 2.0 * f64::EPSILON, "{x}");
        }
        let whole = Double::from(7.0) / Double::from(3.0) * Double::from(3.0) - Double::from(7.0);
        assert!(whole.value().abs() < 1e-29);
    }
}
