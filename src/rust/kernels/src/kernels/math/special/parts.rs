//! What functions of the gamma and beta families are made of.

use super::double::{two_product, two_sum, Double};
use super::memo::Memo;
use super::sums::polynomial;
use crate::kernels::math::gamma_coefficients as c;
use crate::kernels::math::special_coefficients::{ERFC, LGAMMA_ONE};
use crate::kernels::math::{single, Computed, DIGAMMA, ERFCX, GAMMA, LGAMMA, LOG};

/// From here on the series of Stirling is used.
pub(super) const FAR: f64 = 8.0;

/// Up to this parameter powers are by the logarithm of their base, whose error of 2^-85 is then still small: from here
/// on by that of the base over its mean, where large parts cancel before they are made (Loader 2000).
pub(super) const PLAIN: f64 = 1048576.0;

/// Polynomial by Horner's rule, constant first.
pub(super) fn horner(x: f64, coefficients: &[f64]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// `lgamma(x) - (x - 1/2) log(x) + x - log(2 pi)/2` for `x >= 8`: DLMF 5.11.1.
#[inline]
pub(super) fn stirling(x: f64) -> f64 {
    horner(1.0 / x / x, &c::STIRLING) / x
}

/// Gamma function.
#[inline]
pub(super) fn gamma(x: f64) -> f64 {
    single(&GAMMA, x)
}

/// `gamma(1 + x)` for `x >= 0`, without the rounding of the sum.
pub(super) fn gamma1p(x: Double) -> f64 {
    thread_local!(static VALUES: Memo<f64> = const { Memo::new() });
    VALUES.with(|values| values.get(x.0, x.1, |high, low| new_gamma1p(Double(high, low))))
}

fn new_gamma1p(x: Double) -> f64 {
    gammas1p([x])[0]
}

/// As [`gamma1p`], of a few numbers at once, which are not kept.
pub(super) fn gammas1p<const N: usize>(x: [Double; N]) -> [f64; N] {
    let mut values = [0.0; N];
    f64::map(&GAMMA, &x.map(|x| if x.0 < 1.0 { 1.0 + x.0 } else { x.0 }), &mut values);
    for (value, x) in values.iter_mut().zip(x) {
        if x.0 >= 1.0 {
            *value *= x.0;
        }
        if x.1 != 0.0 {
            // DLMF 5.11.2, of which two digits are enough.
            let near = x.0 + 0.5;
            *value += *value * (single(&LOG, near) + 1.0 / (24.0 * near * near)) * x.1;
        }
    }
    values
}

/// Logarithm of its absolute value.
#[inline]
pub(super) fn lgamma(x: f64) -> f64 {
    single(&LGAMMA, x)
}

/// `e^(x^2) erfc(x)` for `x >= 0`.
#[inline]
pub(super) fn erfcx(x: f64) -> f64 {
    if x < 28.0 {
        polynomial((x - 4.0) / (x + 4.0), &ERFC) / (1.0 + 2.0 * x)
    } else {
        single(&ERFCX, x)
    }
}

/// Derivative of [`lgamma`].
#[inline]
pub(super) fn digamma(x: f64) -> f64 {
    single(&DIGAMMA, x)
}

/// `log(gamma(1 + x))` for `0 <= x <= 1`.
pub(super) fn lgamma1p(x: f64) -> f64 {
    if x <= 0.5 {
        x * horner(x, &LGAMMA_ONE)
    } else {
        lgamma(1.0 + x)
    }
}

/// `digamma(x) - log(x)` for positive `x`: DLMF 5.11.2.
pub(super) fn digamma_less_log(x: f64) -> f64 {
    if x < 16.0 {
        return digamma(x) - libm::log(x);
    }
    let u = 1.0 / x / x;
    let series =
        [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32760.0, 1.0 / 12.0];
    -(0.5 / x + u * horner(u, &series))
}

/// `2 / (k + 2)!`, the powers of `(e^x - 1 - x) / (x^2 / 2)`.
const EXP_BEND: [f64; 15] = {
    let (mut c, mut k) = ([1.0; 15], 1);
    while k < c.len() {
        c[k] = c[k - 1] / (k + 2) as f64;
        k += 1;
    }
    c
};

/// `1 / (2 k + 3)`, the powers of `(atanh(r) / r - 1) / r^2` in `r^2`.
const ATANH: [f64; 17] = {
    let (mut c, mut k) = ([0.0; 17], 0);
    while k < c.len() {
        c[k] = 1.0 / (2 * k + 3) as f64;
        k += 1;
    }
    c
};

/// `e^x - 1 - x`.
pub(super) fn exp_bend(x: f64) -> f64 {
    if x.abs() > 0.5 {
        return libm::expm1(x) - x;
    }
    0.5 * x * x * horner(x, &EXP_BEND)
}

/// `log(1 + x) - x`.
pub(super) fn log_bend(x: f64) -> f64 {
    if !(-0.5..=0.8).contains(&x) {
        return libm::log1p(x) - x;
    }
    // log(1 + x) = 2 atanh(r).
    let r = x / (2.0 + x);
    let z = r * r;
    r * (2.0 * z * horner(z, &ATANH) - x)
}

/// The logarithm of the quotient of two numbers of twice the digits.
pub(super) fn log_ratio(over: Double, under: Double) -> Double {
    if under == Double(1.0, 0.0) {
        return log(over);
    }
    let quotient = over / under;
    // Else it has not all its digits, or is NaN.
    if (1e-270..1e290).contains(&quotient.0) {
        log(quotient)
    } else {
        log(over) - log(under)
    }
}

/// As [`Double::log`], kept for numbers that are asked for again.
pub(super) fn log(x: Double) -> Double {
    thread_local!(static LOGS: Memo<Double> = const { Memo::new() });
    LOGS.with(|logs| logs.get(x.0, x.1, |high, low| Double(high, low).log()))
}

/// A logarithm times a number, which may be infinite both.
#[inline]
pub(super) fn times(log: Double, exponent: f64) -> Double {
    if !log.0.is_finite() {
        return Double::from(exponent * log.0);
    }
    let product = two_product(log.0, exponent);
    two_sum(product.0, product.1 + log.1 * exponent)
}

/// As [`log_ratio`], times a number.
pub(super) fn log_power(over: Double, under: Double, exponent: f64) -> Double {
    times(log_ratio(over, under), exponent)
}

/// How often a number is a factor of its power, and whether its root is one more, of an exponent that is a multiple of
/// 1/2 from 1/2 to 8: a product of so few factors is as accurate as an exponential, and quicker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Short {
    factors: u32,
    has_root: bool,
}

impl Short {
    #[inline]
    pub fn of(exponent: f64) -> Option<Short> {
        let twice = 2.0 * exponent;
        let is_short = (1.0..=16.0).contains(&twice) && twice.trunc() == twice;
        is_short.then_some(Short { factors: twice as u32 / 2, has_root: twice as u32 % 2 == 1 })
    }

    /// The power, whose base may have a rounding error.
    #[inline]
    pub fn power(self, x: Double) -> f64 {
        let Short { mut factors, has_root } = self;
        let mut power = if has_root { x.0.sqrt() } else { 1.0 };
        let mut square = x.0;
        if x.1 != 0.0 {
            let exponent = f64::from(factors) + if has_root { 0.5 } else { 0.0 };
            power += power * exponent * (x.1 / x.0);
        }
        while factors > 0 {
            if factors % 2 == 1 {
                power *= square;
            }
            square *= square;
            factors /= 2;
        }
        power
    }
}

/// `e^log` times a factor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Product {
    pub log: Double,
    pub factor: f64,
}

impl Product {
    /// A number of all its digits.
    pub fn of(number: f64) -> Option<Product> {
        (number > 1e-280).then(|| Product { log: 0.0.into(), factor: number })
    }

    /// The number itself.
    pub fn value(self) -> f64 {
        if self.log == Double(0.0, 0.0) {
            return self.factor;
        }
        if self.factor == 0.0 {
            return 0.0;
        }
        let value = self.log.exp() * self.factor;
        if value.is_finite() && value.abs() > 1e-280 {
            return value;
        }
        (self.log + Double::from(self.factor.abs()).log()).exp().copysign(self.factor)
    }

    /// Its logarithm.
    pub fn log(self) -> f64 {
        if self.factor <= 0.0 || !self.factor.is_finite() {
            return self.log.0 + libm::log(self.factor);
        }
        (self.log + Double::from(self.factor).log()).value()
    }

    pub fn times(self, factor: f64) -> Product {
        Product { factor: self.factor * factor, ..self }
    }
}

/// A probability.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// As a product.
    Is(Product),
    /// As 1 less a product that is not near 1.
    Rest(Product),
    /// As a number.
    Number(f64),
}

impl Part {
    pub fn value(self) -> f64 {
        match self {
            Part::Is(p) => p.value(),
            Part::Rest(p) => 1.0 - p.value(),
            Part::Number(x) => x,
        }
    }

    fn log(self) -> f64 {
        match self {
            Part::Is(p) => p.log(),
            Part::Rest(p) => libm::log1p(-p.value()),
            Part::Number(x) => libm::log(x),
        }
    }
}

/// A probability and that of the rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tails {
    pub lower: Part,
    pub upper: Part,
}

impl Tails {
    pub fn number(lower: f64, upper: f64) -> Tails {
        Tails { lower: Part::Number(lower), upper: Part::Number(upper) }
    }

    pub fn of_lower(lower: Product) -> Tails {
        Tails { lower: Part::Is(lower), upper: Part::Rest(lower) }
    }

    pub fn swapped(self) -> Tails {
        Tails { lower: self.upper, upper: self.lower }
    }

    /// The logarithm of one of them: next to 1 that of 1 less the other.
    pub fn log(self, lower: bool) -> f64 {
        let rest = match self.of(!lower) {
            // 1 less what is asked for.
            Part::Rest(_) => 1.0,
            other => other.value(),
        };
        if rest < 0.25 {
            libm::log1p(-rest)
        } else {
            self.of(lower).log()
        }
    }

    pub fn of(self, lower: bool) -> Part {
        if lower {
            self.lower
        } else {
            self.upper
        }
    }
}

/// Where a lower tail begins with a power less 1 that is above this, both are made of that power.
pub(super) const SMALL_POWER: f64 = -0.65;

/// Both tails from the power that the lower one begins with, less 1, and from what is left of its series in units of
/// that power.
pub(super) fn small_tails(grown: f64, rest: f64) -> Tails {
    let upper = -(grown + (1.0 + grown) * rest);
    Tails::number(if upper <= 0.5 { 1.0 - upper } else { (1.0 + grown) * (1.0 + rest) }, upper)
}
