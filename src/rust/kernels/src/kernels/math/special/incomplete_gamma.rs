//! The regularised incomplete gamma functions: DLMF 8.2.

use super::double::{two_product, two_sum, Double, HALF_LOG_2_PI};
use super::inverse::{Target, ENOUGH, STEPS};
use super::memo::Memo;
use super::parts::{
    digamma_less_log, exp_bend, gamma1p, lgamma, lgamma1p, log, log_power, log_ratio, stirling, times, Part,
    Product, Tails, FAR,
};
use super::quadrature::{integral, means, Exponent};

/// `x^a e^-x / gamma(a + 1)`, for positive numbers.
fn prefix(a: f64, x: f64) -> Product {
    if a < FAR {
        let log = log_power(x.into(), 1.0.into(), a) - x.into();
        return Product { log, factor: 1.0 / gamma1p(a.into()) };
    }
    // The deviance, of which large parts cancel (Loader 2000).
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

/// Where the series of the lower tail is quicker than the integral.
#[inline]
fn has_series(a: f64, x: f64) -> bool {
    a < 30.0 || x < 0.5 * a
}

/// The sum of `x^n / ((a + 1) ... (a + n))`, DLMF 8.7.1 times `e^x`, and if asked for its derivative with respect
/// to `a`.
fn series<const SLOPE: bool>(a: f64, x: f64) -> (f64, f64) {
    let (mut term, mut slope, mut n) = (1.0, 0.0, 0.0);
    let (mut sum, mut slopes) = (1.0, 0.0);
    loop {
        n += 1.0;
        term *= x / (a + n);
        sum += term;
        if SLOPE {
            slope -= 1.0 / (a + n);
            slopes += term * slope;
        }
        if term < 1e-18 * sum || term.is_nan() {
            return (sum, slopes);
        }
    }
}

/// The sum of `(-x)^n / (n! (a + n))` from 1 on: DLMF 8.7.1; and that of `(-x)^n / (n! (a + n)^2)`.
fn alternating(a: f64, x: f64) -> (f64, f64) {
    let (mut power, mut sum, mut squares) = (1.0, 0.0, 0.0);
    for n in 1..40 {
        let n = f64::from(n);
        power *= -x / n;
        let term = power / (a + n);
        sum += term;
        squares += term / (a + n);
        if power.abs() < 1e-19 {
            break;
        }
    }
    (sum, squares)
}

/// Whether both tails have formulas of their own: neither is then 1 less the other.
#[inline]
fn is_small(a: f64, x: f64) -> bool {
    a < 1.0 && x < 1.0
}

/// Both tails; `None` where an argument is no number or out of range.
fn tails(a: f64, x: f64) -> Option<Tails> {
    if !(a >= 0.0 && x >= 0.0) || (a == f64::INFINITY && x == f64::INFINITY) || (a == 0.0 && x == 0.0) {
        return None;
    }
    if x == 0.0 || a == f64::INFINITY {
        return Some(Tails::number(0.0, 1.0));
    }
    if a == 0.0 || x == f64::INFINITY {
        return Some(Tails::number(1.0, 0.0));
    }
    let prefix = prefix(a, x);
    if is_small(a, x) {
        let s = two_product(a, libm::log(x)).value() - lgamma1p(a);
        let upper = -(libm::expm1(s) + libm::exp(s) * a * alternating(a, x).0);
        return Some(Tails {
            lower: Part::Is(prefix.times(series::<false>(a, x).0)),
            upper: Part::Number(upper),
        });
    }
    if x < a {
        let sum = if has_series(a, x) {
            series::<false>(a, x).0
        } else {
            a * integral(&Gamma { a, x, down: true })
        };
        return Some(Tails::of_lower(prefix.times(sum)));
    }
    let upper = prefix.times(a * integral(&Gamma { a, x, down: false }));
    Some(Tails::of_lower(upper).swapped())
}

/// The regularised incomplete gamma function `P(a, x)`, or `Q(a, x)` if not `lower`, or its logarithm. NaN
/// unless `a` and `x` are at least 0 and not both 0 or infinite.
///
/// # Sources
/// DLMF 8.7.1 (series), 8.2.2 as an integral over the logarithm of the variable.
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
    let (at_lower, slope) = if is_small(a, x) || (x < a && has_series(a, x)) {
        let (sum, slopes) = series::<true>(a, x);
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
    // From the cube of a normal variable (Wilson, Hilferty 1931), or the power that the lower tail begins with.
    let root = 1.0 - 1.0 / (9.0 * a) + target.normal() / (3.0 * a.sqrt());
    let cube = a * root * root * root;
    let power = libm::exp(((target.log + prefix_at_one(a)) / a).clamp(-745.0, 700.0));
    let mut x = if target.lower && (a < 1.0 || root < 0.3) {
        power
    } else if root > 0.3 {
        cube
    } else {
        1.0
    };
    x = x.max(f64::MIN_POSITIVE);
    for _ in 0..STEPS {
        let Some(tails) = tails(a, x) else { return f64::NAN };
        let density = prefix(a, x).log() + libm::log(a);
        let step = target.step(tails, density);
        x *= libm::exp(step.clamp(-600.0, 600.0));
        if step.abs() < ENOUGH {
            break;
        }
        if x < f64::MIN_POSITIVE {
            return 0.0;
        }
    }
    x
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
    if a < FAR {
        let log = log(x.into());
        return (times(log, a) - log - x.into() + constant(a)).value();
    }
    if !(1e-290..1e290).contains(&(x / a)) {
        return prefix(a, x).log() + libm::log(a) - libm::log(x);
    }
    let log = log_ratio(x.into(), a.into());
    (times(log, a) - log + two_sum(a, -x) + constant(a)).value()
}

/// What the logarithm of the density is more than `(a - 1) log(x) - x`, or from [`FAR`] on than
/// `(a - 1) log(x / a) + a - x`.
fn constant(a: f64) -> Double {
    thread_local!(static CONSTANTS: Memo<Double> = const { Memo::new() });
    let of = |a: f64, _| {
        let log = Double::from(a).log();
        if a < FAR {
            log - Double::from(gamma1p(a.into())).log()
        } else {
            -HALF_LOG_2_PI - stirling(a).into() - Double(0.5 * log.0, 0.5 * log.1)
        }
    };
    CONSTANTS.with(|constants| constants.get(a, 0.0, of))
}
