//! The regularised incomplete gamma functions: DLMF 8.2.

use super::counts;
use super::double::{total, two_product, two_sum, Double, HALF_LOG_2_PI};
use super::inverse::{At, Interval, Target, LARGEST, SMALLEST, STEPS};
use super::memo::Memo;
use super::parts::{
    digamma_less_log, erfcx, exp_bend, gamma1p, lgamma, lgamma1p, log, log_power, log_ratio, small_tails,
    stirling, times, Product, Short, Tails, FAR, PLAIN, SMALL_POWER,
};
use super::quadrature::{means, Exponent};
use super::sums::{at, by_ratios, polynomial};
use crate::kernels::math::incomplete_coefficients::{UNIFORM, UPPER};
use std::sync::OnceLock;

/// `x^a e^-x / gamma(a + 1)`, for positive numbers.
fn prefix(a: f64, x: f64) -> Product {
    if let Some(short) = Short::of(a) {
        let product = short.power(x.into()) * Double::from(-x).exp() / gamma1p(a.into());
        if let Some(product) = Product::of(product) {
            return product;
        }
    }
    if a < FAR {
        let log = total([times(log(x.into()), a), (-x).into()]);
        return Product { log, factor: 1.0 / gamma1p(a.into()) };
    }
    if a < PLAIN {
        let log = total([times(log(x.into()), a), (-x).into(), log_gamma_constant(a)]);
        return Product { log, factor: 1.0 / a };
    }
    let log = log_power(x.into(), a.into(), a) + two_sum(a, -x) - HALF_LOG_2_PI - stirling(a).into();
    Product { log, factor: 1.0 / a.sqrt() }
}

/// The exponent of the tail of the density of the logarithm of a gamma variable, from `log(x)` downwards or
/// upwards.
struct Gamma {
    a: f64,
    x: f64,
    down: bool,
}

impl Exponent for Gamma {
    fn at(&self, s: f64) -> f64 {
        if self.down {
            self.x * exp_bend(-s) + (self.a - self.x) * s
        } else {
            self.x * exp_bend(s) + (self.x - self.a) * s
        }
    }

    fn start(&self) -> (f64, f64) {
        ((self.x - self.a).abs(), self.x)
    }

    fn weights(&self, s: f64) -> [f64; 2] {
        [s, 0.0]
    }
}

/// From here on tails near the mean are those of a normal variable and a correction.
const LARGE: f64 = 20.0;

#[inline]
fn is_near_mean(a: f64, x: f64) -> bool {
    a >= LARGE && (0.5 * a..2.0 * a).contains(&x)
}

/// Both tails from [`LARGE`] on, for `x` from half the mean to twice the mean: with `eta^2 / 2 = x / a - 1 - log(x /
/// a)` and the sign of `x - a`, DLMF 8.12.3, 8.12.4 and 8.12.7, whose first terms are enough there (Temme 1979).
fn near_mean(a: f64, x: f64) -> Tails {
    thread_local!(static KEPT: Memo<[f64; UNIFORM[0].len()]> = const { Memo::new() });
    let log = log_power(x.into(), a.into(), a) + two_sum(a, -x);
    // That of `eta^2 a / 2`.
    let root = (-log.value()).max(0.0).sqrt();
    let eta = (2.0 / a).sqrt() * if x < a { -root } else { root };
    let coefficients = KEPT.with(|kept| at(&UNIFORM, 1.0 / a, kept));
    let correction = polynomial(eta, &coefficients) / (2.0 * std::f64::consts::PI * a).sqrt();
    let normal = 0.5 * erfcx(root);
    if x < a {
        Tails::of_lower(Product { log, factor: normal - correction })
    } else {
        Tails::of_lower(Product { log, factor: normal + correction }).swapped()
    }
}

/// The lower tail over the prefix: the sum of `x^n / ((a + 1) ... (a + n))`, DLMF 8.7.1 times `e^x`; for `x` below
/// `a`, where terms fall.
#[inline]
fn lower_sum(a: f64, x: f64) -> f64 {
    by_ratios(f64::INFINITY, |n| x / (a + n)).0
}

/// From here on the table of [`upper_of_fraction`] holds.
const LEAST: f64 = 0.625;

/// The upper tail over the prefix, for `x` from [`LEAST`] on and from `a` if that is above 1. The sum of `(a - 1) ... (a - n) / x^n` down to a
/// parameter in (0, 1], by DLMF 8.8.2, of terms that fall, and what is left from a table.
fn upper_sum(a: f64, x: f64) -> f64 {
    let count = a.ceil() - 1.0;
    let (sum, term) = by_ratios(count, |n| (a - n) / x);
    let rest = if term == 0.0 { 0.0 } else { term * upper_of_fraction(a - count, x) };
    a / x * (sum + rest)
}

/// `x^(1 - f) e^x gamma(f, x)`, for `f` in (0, 1] and `x` from [`LEAST`] on.
pub(super) fn upper_of_fraction(f: f64, x: f64) -> f64 {
    thread_local!(static KEPT: Memo<[f64; UPPER[0].len()]> = const { Memo::new() });
    if f == 1.0 {
        return 1.0;
    }
    let coefficients = KEPT.with(|kept| at(&UPPER, 2.0 * f - 1.0, kept));
    polynomial(1.0 - 2.0 * (LEAST + 1.5) / (x + 1.5), &coefficients)
}

/// Where the derivative of the lower tail is that of its series, quicker than the integral.
#[inline]
fn has_series(a: f64, x: f64) -> bool {
    (a < 1.0 && x < 1.0) || (x < a && (a < 30.0 || x < 0.5 * a))
}

/// The sum of [`lower_sum`], and its derivative with respect to `a`.
fn series(a: f64, x: f64) -> (f64, f64) {
    let (mut term, mut slope, mut n) = (1.0, 0.0, 0.0);
    let (mut sum, mut slopes) = (1.0, 0.0);
    loop {
        n += 1.0;
        term *= x / (a + n);
        slope -= 1.0 / (a + n);
        sum += term;
        slopes += term * slope;
        if term < 1e-18 * sum || term.is_nan() {
            return (sum, slopes);
        }
    }
}

/// The sum of `(-x)^n / (n! (a + n))` from 1 on: DLMF 8.7.1.
#[inline]
fn alternating(a: f64, x: f64) -> f64 {
    let (sum, _) = by_ratios(f64::INFINITY, |n| -x * (a + n) / ((n + 1.0) * (a + n + 1.0)));
    -x / (a + 1.0) * sum
}

/// Whether both tails have formulas of their own: neither is then 1 less the other.
#[inline]
fn is_small(a: f64, x: f64) -> bool {
    a < 1.0 && x < LEAST
}

/// As [`tails_and_density`], of numbers in range.
pub(super) fn between(a: f64, x: f64) -> (Tails, f64) {
    tails_and_density(a, x).unwrap_or((Tails::number(0.0, 1.0), f64::NAN))
}

/// Both tails; `None` where an argument is no number or out of range.
#[inline]
fn tails(a: f64, x: f64) -> Option<Tails> {
    Some(tails_and_density(a, x)?.0)
}

/// Both tails, and over the power of e that they are products of the density of the logarithm; that is NaN where they
/// are numbers.
#[inline(always)]
fn tails_and_density(a: f64, x: f64) -> Option<(Tails, f64)> {
    let only = |tails| Some((tails, f64::NAN));
    if !(a >= 0.0 && x >= 0.0) || (a == f64::INFINITY && x == f64::INFINITY) || (a == 0.0 && x == 0.0) {
        return None;
    }
    if x == 0.0 || a == f64::INFINITY {
        return only(Tails::number(0.0, 1.0));
    }
    if a == 0.0 || x == f64::INFINITY {
        return only(Tails::number(1.0, 0.0));
    }
    // What follows would overflow; all the weight is at the mean.
    if a > 1e305 {
        let lower = if x == a { 0.5 } else { f64::from(u8::from(x > a)) };
        return only(Tails::number(lower, 1.0 - lower));
    }
    if is_near_mean(a, x) {
        // With an error of 1e-8.
        let s = stirling(a);
        let factor = (a / (2.0 * std::f64::consts::PI)).sqrt() * (1.0 - s * (1.0 - 0.5 * s));
        return Some((near_mean(a, x), factor));
    }
    if is_small(a, x) {
        let grown = libm::expm1(two_product(a, libm::log(x)).value() - lgamma1p(a));
        if grown > SMALL_POWER {
            return only(small_tails(grown, a * alternating(a, x)));
        }
        let prefix = prefix(a, x);
        return Some((Tails::of_lower(prefix.times(lower_sum(a, x))), a * prefix.factor));
    }
    let prefix = prefix(a, x);
    if a >= 1.0 && x < a {
        return Some((Tails::of_lower(prefix.times(lower_sum(a, x))), a * prefix.factor));
    }
    Some((Tails::of_lower(prefix.times(upper_sum(a, x))).swapped(), a * prefix.factor))
}

/// The regularised incomplete gamma function `P(a, x)`, or `Q(a, x)` if not `lower`, or its logarithm. NaN
/// unless `a` and `x` are at least 0 and not both 0 or infinite.
///
/// # Sources
/// DLMF 8.7.1 and 8.8.2 (sums), 8.12.7 (uniform expansion).
pub fn gammainc(a: f64, x: f64, lower: bool, log: bool) -> f64 {
    let Some(tails) = tails(a, x) else { return f64::NAN };
    if log {
        tails.log(lower)
    } else {
        tails.of(lower).value()
    }
}

/// The derivative of the logarithm of [`gammainc`] with respect to `a`.
pub fn log_gammainc_da(a: f64, x: f64, lower: bool) -> f64 {
    let Some(tails) = tails(a, x) else { return f64::NAN };
    if x == 0.0 || x == f64::INFINITY || a == 0.0 || a == f64::INFINITY {
        return if lower == (x == f64::INFINITY) { 0.0 } else { f64::NAN };
    }
    // `log(x) - digamma(a)`, which is small near the mean of large `a`.
    let line = log_ratio(x.into(), a.into()).value() - digamma_less_log(a);
    let (at_lower, slope) = if has_series(a, x) {
        let (sum, slopes) = series(a, x);
        (true, line - 1.0 / a + slopes / sum)
    } else if x < a {
        (true, line - means(&Gamma { a, x, down: true }).1[0])
    } else {
        (false, line + means(&Gamma { a, x, down: false }).1[0])
    };
    if at_lower == lower {
        slope
    } else {
        -slope * libm::exp(tails.log(!lower) - tails.log(lower))
    }
}

/// The point at which the tail has this probability.
pub fn gammaincinv(a: f64, p: f64, lower: bool, log: bool) -> f64 {
    let Some(target) = Target::new(p, lower, log).filter(|_| (0.0..f64::INFINITY).contains(&a)) else {
        return f64::NAN;
    };
    if a == 0.0 {
        return 0.0;
    }
    if let Some(end) = target.end() {
        return if end == 1.0 { f64::INFINITY } else { end };
    }
    // Less than the rounding: the deviation from the mean, `sqrt(-2 log(p) a)`, and far behind the mean all but
    // the power of e.
    if -target.log < 1e-36 * a {
        return a;
    }
    if !target.lower && -target.log > 1e20 * (a + 1.0) {
        return -target.log;
    }
    let (mut x, mut interval) = (start(a, target), Interval::new());
    for _ in 0..STEPS {
        let Some((tails, factor)) = tails_and_density(a, x) else { return f64::NAN };
        let density = || prefix(a, x).times(a).value();
        let (step, is_last) = target.step(At { tails, factor, density, bend: a - x });
        x = interval.next(x, step);
        if is_last || x == 0.0 || x == f64::INFINITY {
            break;
        }
    }
    x
}

/// A point near a quantile: from the cube of a normal variable (Wilson, Hilferty 1931), or the power that the lower tail
/// begins with, and the next term of its series; of small parameters the upper tail is nearly that of `e^-x / x`.
pub(super) fn start(a: f64, target: Target) -> f64 {
    let root = 1.0 - 1.0 / (9.0 * a) + target.normal() / (3.0 * a.sqrt());
    let power = |log_lower: f64| {
        let log = (log_lower + prefix_at_one(a)) / a;
        libm::exp((log + libm::exp(log.min(0.0)) / (a + 1.0)).clamp(-745.0, 700.0))
    };
    let x = if target.lower && (a < 1.0 || root < 0.3) {
        power(target.log)
    } else if root > 0.3 && a > 0.1 {
        a * root * root * root
    } else {
        // The logarithm of gamma(a) times the tail.
        let log = target.log + prefix_at_one(a) - libm::log(a);
        if log > -1.0 {
            power(libm::log1p(-libm::exp(target.log)))
        } else {
            -log - (1.0 - a) * libm::log(-log)
        }
    };
    x.clamp(SMALLEST, LARGEST)
}

/// `log(gamma(a + 1))`, of which the power `x^a` is a multiple.
fn prefix_at_one(a: f64) -> f64 {
    if a <= 1.0 {
        lgamma1p(a)
    } else {
        lgamma(a + 1.0)
    }
}

/// Logarithm of the density `x^(a - 1) e^-x / gamma(a)`.
pub fn log_gamma_density(a: f64, x: f64) -> f64 {
    if !(a > 0.0 && x >= 0.0) || (a == f64::INFINITY && x == f64::INFINITY) {
        return f64::NAN;
    }
    if x == 0.0 {
        return match a {
            a if a < 1.0 => f64::INFINITY,
            a if a > 1.0 => f64::NEG_INFINITY,
            _ => 0.0,
        };
    }
    if x == f64::INFINITY || a == f64::INFINITY {
        return f64::NEG_INFINITY;
    }
    if a < PLAIN {
        let log = log(x.into());
        return total([times(log, a), -log, (-x).into(), log_gamma_constant(a)]).value();
    }
    if !(1e-290..1e290).contains(&(x / a)) {
        return prefix(a, x).log() + libm::log(a) - libm::log(x);
    }
    let log = log_ratio(x.into(), a.into());
    (times(log, a) - log + two_sum(a, -x) + log_gamma_constant(a)).value()
}

/// What the logarithm of the density is more than `(a - 1) log(x) - x`, or from [`PLAIN`] on than
/// `(a - 1) log(x / a) + a - x`.
pub(super) fn log_gamma_constant(a: f64) -> Double {
    thread_local!(static CONSTANTS: Memo<Double> = const { Memo::new() });
    let kept = || CONSTANTS.with(|constants| constants.get(a, 0.0, |a, _| new_log_gamma_constant(a)));
    counts::at(log_gamma_constants(), a).unwrap_or_else(kept)
}

/// Those of counts.
pub(super) fn log_gamma_constants() -> &'static counts::Table<Double> {
    static OF_COUNTS: OnceLock<counts::Table<Double>> = OnceLock::new();
    OF_COUNTS.get_or_init(|| std::array::from_fn(|k| new_log_gamma_constant(k as f64)))
}

fn new_log_gamma_constant(a: f64) -> Double {
    let log = Double::from(a).log();
    if a < FAR {
        return log - Double::from(gamma1p(a.into())).log();
    }
    let half = Double(0.5 * log.0, 0.5 * log.1);
    let rest = -HALF_LOG_2_PI - stirling(a).into();
    if a < PLAIN {
        rest + half + Double::from(a) - times(log, a)
    } else {
        rest - half
    }
}
