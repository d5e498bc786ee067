//! The regularised incomplete beta function: DLMF 8.17.

use super::double::{total, two_sum, Double, HALF_LOG_2_PI};
use super::incomplete_gamma::{between as gamma_tails, start as gamma_start, upper_of_fraction};
use super::inverse::{At, Interval, Target, STEPS};
use super::memo::Memo;
use super::parts::{
    digamma_less_log, exp_bend, gamma1p, gammas1p, lgamma1p, log, log_bend, log_power, log_ratio,
    small_tails, stirling, times, Product, Short, Tails, FAR, PLAIN, SMALL_POWER,
};
use super::quadrature::{integral, means, Exponent};
use super::sums::by_ratios;
use crate::kernels::math::gamma_coefficients::STIRLING;

/// Sums of more terms than these take longer than the integral.
const MANY: f64 = 300.0;

/// From here on [`Point::expansion`] has as many digits as it needs.
const EXPANDED: f64 = 15.0;

/// `1 / (4^k (2 k + 1)!)`, the powers of `2 sinh(u / 2) / u` in `u^2`.
const HYPERBOLIC: [f64; 9] = {
    let (mut c, mut k) = ([1.0; 9], 1);
    while k < c.len() {
        c[k] = c[k - 1] / (4 * 2 * k * (2 * k + 1)) as f64;
        k += 1;
    }
    c
};

/// The power of a series that begins with 1 (Knuth 1997, 4.7).
fn power_series<const N: usize>(series: &[f64; N], exponent: f64) -> [f64; N] {
    let mut power = [1.0; N];
    for k in 1..N {
        let terms = (1..=k).map(|j| (exponent * j as f64 - (k - j) as f64) * series[j] * power[k - j]);
        power[k] = terms.sum::<f64>() / k as f64;
    }
    power
}

/// The largest parameter whose products have a rounding error.
const LARGEST: f64 = 1e290;

/// Beside a larger one than [`LARGEST`], a smaller parameter than this is not seen in the sum.
const LARGEST_SHAPE: f64 = 1e270;

/// A point: the parameters, and the variable with what is left to 1.
#[derive(Clone, Copy)]
struct Point {
    a: f64,
    b: f64,
    x: Double,
    y: Double,
}

impl Point {
    fn mirrored(self) -> Point {
        Point { a: self.b, b: self.a, x: self.y, y: self.x }
    }

    /// `x^a y^b / (a B(a, b))`.
    fn prefix(self) -> Product {
        let Point { a, b, x, y } = self;
        if self.is_plain() {
            let Constants { rest, factor, short, .. } = constants(a, b);
            if let Some(product) = short.and_then(|[a, b]| Product::of(a.power(x) * b.power(y) * factor)) {
                return product;
            }
            let [x, y] = self.logs();
            return Product { log: total([times(x, a), times(y, b), rest]), factor: 1.0 };
        }
        // Powers of quotients near 1 at the mean, where `above` is what the first is above 1 times `a`.
        let sum = two_sum(a, b);
        let above = if x.0 < y.0 { x * sum - a.into() } else { Double::from(b) - y * sum };
        let power = |x: Double, a: f64, above: Double| {
            let part = above.0 / a;
            if a >= FAR && part.abs() < 1e-12 {
                // log(1 + part) by two terms of its series, as 1 + part has not the digits of a small part.
                return above - (above.0 * part * (0.5 - part / 3.0)).into();
            }
            log_power(x * sum, if a < FAR { 1.0 } else { a }.into(), a)
        };
        let powers = power(x, a, above) + power(y, b, -above);
        Product { log: powers + constants(a, b).over_means, factor: 1.0 }
    }

    #[inline]
    fn is_plain(self) -> bool {
        self.a < PLAIN && self.b < PLAIN
    }

    /// The logarithms of `x` and `y`, kept: one of the two is a double, which the other is 1 less.
    fn logs(self) -> [Double; 2] {
        thread_local!(static LOGS: Memo<[Double; 2]> = const { Memo::new() });
        let Point { x, y, .. } = self;
        let rest = if x.1 == 0.0 { 0.0 } else { y.0 };
        LOGS.with(|logs| logs.get(x.0, rest, |_, _| [x.log(), y.log()]))
    }

    /// The lower tail over the prefix: the sum of `(a + b)_n / (a + 1)_n x^n`, DLMF 8.17.8, of `count` terms, and the
    /// term after these.
    #[inline]
    fn series(self, count: f64) -> (f64, f64) {
        let Point { a, b, x, .. } = self;
        by_ratios(count, |n| (a + b + (n - 1.0)) / (a + n) * x.0)
    }

    /// As [`series`](Self::series) of all terms, below the mean.
    fn sum(self) -> f64 {
        let Point { a, b, x, y } = self;
        if b <= 1.0 {
            return self.sum_of_fraction();
        }
        if (a + b) * x.0 < 0.5 * (a + 1.0) {
            return self.series(f64::INFINITY).0;
        }
        // From I_x(a, b) to I_x(a + 1, b - 1) and on to a second parameter in (0, 1], DLMF 8.17.20 with 8.17.21; terms
        // fall as there is less in the tail.
        let (odds, count) = (x.0 / y.0, b.ceil() - 1.0);
        if count > MANY {
            // Nearly those of a normal distribution.
            let (fall, bend) = (1.0 - odds * (b / a), 1.0 / a + 1.0 / b);
            if 82.0 > MANY * (fall + (fall * fall + 82.0 * bend).sqrt()) {
                return a * integral(&self.exponent());
            }
        }
        let (sum, term) = by_ratios(count, |k| (b - k) / (a + k) * odds);
        let rest = Point { a: a + count, b: b - count, x, y };
        sum / y.0 + if term == 0.0 { 0.0 } else { term * rest.sum_of_fraction() }
    }

    /// As [`sum`](Self::sum), for `b` in (0, 1].
    fn sum_of_fraction(self) -> f64 {
        let Point { a, b, x, y } = self;
        if b == 1.0 {
            return 1.0 / y.0;
        }
        if x.0 <= 0.6 {
            return self.series(f64::INFINITY).0;
        }
        // Up to a parameter from which on the expansion holds.
        let count = (EXPANDED - a).ceil().max(0.0);
        let (sum, term) = self.series(count);
        sum + term * Point { a: a + count, b, x, y }.expansion()
    }

    /// As [`sum`](Self::sum), for `b` in (0, 1), `a` from [`EXPANDED`] on, `x` from 0.6 on, and `a (1 - x)` from 0.7
    /// on.
    ///
    /// With `t = e^-u`, `m = a + (b - 1) / 2` and `z = -m log(x)` the integral DLMF 8.17.1 is that of `u^(b - 1) e^(-m
    /// u)` and an even function, the power `b - 1` of `2 sinh(u / 2) / u`: of its series each term is an incomplete
    /// gamma function of `z`, made from the one before by DLMF 8.8.2 (Didonato, Morris 1992, section 9).
    fn expansion(self) -> f64 {
        thread_local!(static KEPT: Memo<[f64; HYPERBOLIC.len()]> = const { Memo::new() });
        let Point { a, b, y, .. } = self;
        let powers = KEPT.with(|kept| kept.get(b, 0.0, |b, _| power_series(&HYPERBOLIC, b - 1.0)));
        let (length, m) = (-libm::log1p(-y.0), a + 0.5 * (b - 1.0));
        let z = m * length;
        // gamma(b + 2 k, z) e^z / (z^b m^(2 k)).
        let (mut part, mut sum, mut power, mut s) = (upper_of_fraction(b, z) / z, 0.0, 1.0, b);
        for c in powers {
            sum += c * part;
            part = (((s + 1.0) * (s * part + power) + power * z) / m) / m;
            power *= length * length;
            s += 2.0;
        }
        let scale = b * libm::log(length / y.0) + 0.5 * (1.0 - b) * length;
        a * sum * libm::exp(scale)
    }

    /// The derivatives of the logarithm of [`series`](Self::series) with respect to `a` and `b`.
    fn slopes(self) -> [f64; 2] {
        let Point { a, b, x, .. } = self;
        let (mut term, mut slopes, mut n) = (1.0, [0.0; 2], 0.0);
        let (mut sum, mut sums) = (1.0, [0.0; 2]);
        loop {
            term *= (a + b + n) / (a + 1.0 + n) * x.0;
            let to_sum = 1.0 / (a + b + n);
            slopes[0] += (1.0 - b) / (a + 1.0 + n) * to_sum;
            slopes[1] += to_sum;
            sums[0] += term * slopes[0];
            sums[1] += term * slopes[1];
            n += 1.0;
            sum += term;
            // Of tiny parameters the derivatives overflow: NaN ends it too.
            let size = term * (1.0 + slopes[1]);
            if size < 1e-18 * sum || size.is_nan() {
                return sums.map(|s| s / sum);
            }
        }
    }

    /// The sum of `(1 - b)_n x^n / (n! (a + n))` from 1 on: DLMF 8.17.7.
    #[inline]
    fn alternating(self) -> f64 {
        let Point { a, b, x, .. } = self;
        let ratio = |n: f64| (n + 1.0 - b) * (a + n) * x.0 / ((n + 1.0) * (a + n + 1.0));
        (1.0 - b) * x.0 / (a + 1.0) * by_ratios(f64::INFINITY, ratio).0
    }

    /// Whether both tails have formulas of their own: neither is then 1 less the other.
    #[inline]
    fn is_small(self) -> bool {
        self.a < 1.0 && self.x.0 <= 0.5 && self.b * self.x.0 < 0.7
    }

    /// As [`tails`] where [`is_small`](Self::is_small).
    fn small_tails(self) -> (Tails, f64) {
        let Point { a, b, x, .. } = self;
        // `log(a B(a, b))` = log(gamma(1 + a)) - log(gamma(a + b) / gamma(b))
        let ratio = log_gamma_step(b, a);
        let grown = libm::expm1(a * libm::log(x.0) - lgamma1p(a) + ratio);
        if grown > SMALL_POWER {
            return (small_tails(grown, a * self.alternating()), f64::NAN);
        }
        let prefix = self.prefix();
        (Tails::of_lower(prefix.times(self.series(f64::INFINITY).0)), a * prefix.factor)
    }

    /// Whether the tails are those of the mirrored point.
    #[inline]
    fn is_mirrored(self) -> bool {
        !self.is_small() && (self.mirrored().is_small() || self.is_above_mean())
    }

    #[inline]
    fn is_above_mean(self) -> bool {
        self.a * self.y.0 < self.b * self.x.0
    }

    /// Where the derivatives of the lower tail are those of its series, quicker than the integral.
    #[inline]
    fn has_series(self) -> bool {
        self.a < 1.0 || (self.x.0 < 0.7 && (self.a + self.b) * self.x.0 < 0.7 * (self.a + 1.0))
    }

    /// The exponent of the tail of the density of the logit of a beta variable, downwards.
    fn exponent(self) -> Beta {
        let Point { a, b, x, y } = self;
        let slope = (y * a.into() - x * b.into()).value().max(0.0);
        Beta { a, sum: a + b, x: x.0, y: y.0, slope }
    }
}

/// What depends on the parameters alone.
#[derive(Clone, Copy)]
struct Constants {
    /// `-log(a B(a, b))`, the logarithm of the prefix without its powers.
    rest: Double,
    /// The same, if the powers are of `x` and `y` over their means, or of a parameter below [`FAR`] times `a + b`.
    over_means: Double,
    /// `-log(B(a, b))`.
    density: Double,
    /// `1 / (a B(a, b))` where powers are products, else NaN.
    factor: f64,
    /// Powers that are products.
    short: Option<[Short; 2]>,
}

fn constants(a: f64, b: f64) -> Constants {
    thread_local!(static CONSTANTS: Memo<Constants> = const { Memo::new() });
    CONSTANTS.with(|constants| constants.get(a, b, new_constants))
}

/// From `gamma(z + 1)` of parameters below [`FAR`] and the series of Stirling, DLMF 5.11.1, of others.
fn new_constants(a: f64, b: f64) -> Constants {
    let (sum, log_a) = (two_sum(a, b), log(a.into()));
    if a < FAR && b < FAR {
        // gamma(a + b) / gamma(b) with gamma(z) = gamma(z + 1) / z
        let [over, of_a, of_b] = gammas1p([sum, a.into(), b.into()]);
        let mean = b / sum.0;
        // A quotient without all its digits is left to logarithms.
        let rest = if mean > f64::MIN_POSITIVE {
            Double::from(over / of_b * mean / of_a).log()
        } else {
            total([Double::from(over / of_b / of_a).log(), log(b.into()), -log(sum)])
        };
        let short = Short::of(a).and_then(|a| Some([a, Short::of(b)?]));
        let factor = if short.is_some() { rest.exp() } else { f64::NAN };
        return Constants { rest, over_means: rest, density: rest + log_a, factor, short };
    }
    let (log_b, log_sum) = (log(b.into()), sum.log());
    // The logarithm of the reciprocal of the mean.
    let mean = |a: f64, log_a: Double| match a {
        a if a < FAR => log_sum,
        a if a < PLAIN => log_sum - log_a,
        a => log_ratio(sum, a.into()),
    };
    let means = times(mean(a, log_a), a) + times(mean(b, log_b), b);
    // What is left of `log(gamma(z + 1))` without `z log(z)` of one that is not small, and without `-z`.
    let left = |z: f64, log_z: Double| match z {
        z if z < FAR => Double::from(gamma1p(z.into())).log() + z.into(),
        z => total([Double(0.5 * log_z.0, 0.5 * log_z.1), HALF_LOG_2_PI, stirling(z).into()]),
    };
    let over_means = total([left(sum.0, log_sum), -left(a, log_a), -left(b, log_b), log_b, -log_sum]);
    let rest = means + over_means;
    Constants { rest, over_means, density: rest + log_a, factor: f64::NAN, short: None }
}

/// What the logarithm of the density is more than `(a - 1) log(x) + (b - 1) log(1 - x)`.
pub(super) fn log_beta_constant(a: f64, b: f64) -> Double {
    constants(a, b).density
}

/// `log(gamma(b + a) / gamma(b))` for `a` below 1, accurate relative to `a`: DLMF 5.5.1 and 5.11.1, with each
/// difference as one function.
#[inline]
fn log_gamma_step(b: f64, a: f64) -> f64 {
    thread_local!(static STEPS: Memo<f64> = const { Memo::new() });
    STEPS.with(|steps| steps.get(b, a, new_log_gamma_step))
}

fn new_log_gamma_step(b: f64, a: f64) -> f64 {
    // Up to where the series of Stirling holds: 1 + a / z of each step, less 1 of their product.
    let (mut product, mut z) = (0.0, b);
    while z < FAR {
        let step = a / z;
        product += step + product * step;
        z += 1.0;
    }
    // The powers -1, -3 and so on of 1 + a / z, less 1.
    let ratio = a / z;
    let inverse = 1.0 / (1.0 + ratio);
    let (mut grown, square) = (-ratio * inverse, inverse * inverse);
    let fall = -ratio * (2.0 + ratio) * square;
    let (mut sum, mut power) = (-libm::log1p(product), 1.0 / z);
    for coefficient in STIRLING {
        sum += coefficient * power * grown;
        grown = grown * square + fall;
        power /= z * z;
    }
    sum + a * libm::log(z) + (z + a - 0.5) * log_bend(ratio) + (a - 0.5) * ratio
}

/// The complete beta function.
pub(super) fn complete(a: f64, b: f64) -> Product {
    Product { log: -log_beta_constant(a, b), factor: 1.0 }
}

/// The exponent of the tail of the density of the logit.
struct Beta {
    a: f64,
    sum: f64,
    x: f64,
    y: f64,
    slope: f64,
}

impl Beta {
    /// `log(1 + x (e^-s - 1))`, the logarithm of what `1 - x` grows by.
    fn growth(&self, s: f64) -> f64 {
        libm::log1p(self.x * libm::expm1(-s))
    }
}

impl Exponent for Beta {
    fn at(&self, s: f64) -> f64 {
        // Two forms of x s + log(1 + x (e^-s - 1)), of which one cancels for x near 1, the other for x near 0.
        let bend = if self.x <= 0.5 {
            log_bend(self.x * libm::expm1(-s)) + self.x * exp_bend(-s)
        } else {
            log_bend(self.y * libm::expm1(s)) + self.y * exp_bend(s)
        };
        if bend.is_finite() {
            self.slope * s + self.sum * bend
        } else {
            self.a * s + self.sum * self.growth(s)
        }
    }

    fn start(&self) -> (f64, f64) {
        (self.slope, self.sum * self.x * self.y)
    }

    fn weights(&self, s: f64) -> [f64; 2] {
        let growth = self.growth(s);
        [s + growth, growth]
    }
}

/// Both tails; `None` where an argument is no number or out of range.
fn tails(a: f64, b: f64, x: f64) -> Option<(Tails, Point)> {
    if !(a >= 0.0 && b >= 0.0 && (0.0..=1.0).contains(&x)) {
        return None;
    }
    let point = Point { a, b, x: x.into(), y: two_sum(1.0, -x) };
    if a == 0.0 || b == 0.0 || a == f64::INFINITY || b == f64::INFINITY {
        // All the weight is at 0, or at 1.
        let at_zero = (a == 0.0 && b > 0.0) || (b == f64::INFINITY && a < f64::INFINITY);
        let at_one = (b == 0.0 && a > 0.0) || (a == f64::INFINITY && b < f64::INFINITY);
        return match (at_zero, at_one) {
            (true, false) => Some((Tails::number(1.0, 0.0), point)),
            (false, true) if x < 1.0 => Some((Tails::number(0.0, 1.0), point)),
            (false, true) => Some((Tails::number(1.0, 0.0), point)),
            _ => None,
        };
    }
    if x == 0.0 {
        return Some((Tails::number(0.0, 1.0), point));
    }
    if x == 1.0 {
        return Some((Tails::number(1.0, 0.0), point));
    }
    Some((between(point).0, point))
}

/// Both tails, and over the power of e that they are products of the density of the logit; that is NaN where they are
/// numbers.
#[inline]
fn between(point: Point) -> (Tails, f64) {
    let Point { a, b, .. } = point;
    if a.max(b) > LARGEST {
        // The variable that is near 0 times the large parameter is a gamma variable.
        if a < LARGEST_SHAPE {
            return gamma_tails(a, b * -libm::log1p(-point.x.0));
        }
        if b < LARGEST_SHAPE {
            let (tails, factor) = gamma_tails(b, a * -libm::log1p(-point.y.0));
            return (tails.swapped(), factor);
        }
        // All the weight is at the mean.
        let (below, above) = (point.mirrored().is_above_mean(), point.is_above_mean());
        let lower = 0.5 * (1.0 + f64::from(above) - f64::from(below));
        return (Tails::number(lower, 1.0 - lower), f64::NAN);
    }
    if point.is_mirrored() {
        let (tails, factor) = lower_tails(point.mirrored());
        (tails.swapped(), factor)
    } else {
        lower_tails(point)
    }
}

/// As [`between`], of a point that is not to be [mirrored](Point::is_mirrored).
fn lower_tails(point: Point) -> (Tails, f64) {
    if point.is_small() {
        return point.small_tails();
    }
    let prefix = point.prefix();
    (Tails::of_lower(prefix.times(point.sum())), point.a * prefix.factor)
}

/// The regularised incomplete beta function `I_x(a, b)`, or `1` less it if not `lower`, or its logarithm. NaN
/// unless `a` and `b` are at least 0, not both 0 or infinite, and `x` is from 0 to 1.
///
/// # Sources
/// DLMF 8.17.7, 8.17.8 and 8.17.20 (sums), 8.17.1 as an integral over the logit or the logarithm of the variable.
pub fn betainc(a: f64, b: f64, x: f64, lower: bool, log: bool) -> f64 {
    let Some((tails, _)) = tails(a, b, x) else { return f64::NAN };
    if log {
        tails.log(lower)
    } else {
        tails.of(lower).value()
    }
}

/// The derivatives of the logarithm of [`betainc`] with respect to `a` and `b`.
pub fn log_betainc_slopes(a: f64, b: f64, x: f64, lower: bool) -> [f64; 2] {
    let Some((tails, point)) = tails(a, b, x) else { return [f64::NAN; 2] };
    if x == 0.0 || x == 1.0 {
        return if lower == (x == 1.0) { [0.0; 2] } else { [f64::NAN; 2] };
    }
    if a == 0.0 || b == 0.0 || a.max(b) > LARGEST {
        return [f64::NAN; 2];
    }
    let is_mirrored = point.is_mirrored();
    let p = if is_mirrored { point.mirrored() } else { point };
    // `log(x) - digamma(a) + digamma(a + b)` and its mirror, which are small near the mean.
    let sum = two_sum(p.a, p.b);
    let rest = digamma_less_log(sum.0);
    let line = log_ratio(p.x * sum, p.a.into()).value() + rest - digamma_less_log(p.a);
    let mirrored = log_ratio(p.y * sum, p.b.into()).value() + rest - digamma_less_log(p.b);
    let slopes = if p.is_small() || p.has_series() {
        let slopes = p.slopes();
        [line - 1.0 / p.a + slopes[0], mirrored + slopes[1]]
    } else {
        let means = means(&p.exponent()).1;
        [line - means[0], mirrored - means[1]]
    };
    let slopes = if is_mirrored { [slopes[1], slopes[0]] } else { slopes };
    if lower != is_mirrored {
        return slopes;
    }
    let odds = libm::exp(tails.log(!lower) - tails.log(lower));
    slopes.map(|slope| -slope * odds)
}

/// The point at which the tail has this probability, in the smaller one of `x` and `1 - x`.
pub fn betaincinv(a: f64, b: f64, p: f64, lower: bool, log: bool) -> f64 {
    let is_inside = a >= 0.0 && b >= 0.0 && a.max(b) > 0.0 && a.min(b) < f64::INFINITY;
    let Some(target) = Target::new(p, lower, log).filter(|_| is_inside) else { return f64::NAN };
    if let Some(end) = target.end() {
        return end;
    }
    if a == 0.0 || b == f64::INFINITY {
        return 0.0;
    }
    if b == 0.0 || a == f64::INFINITY {
        return 1.0;
    }
    if a == b && target.is_median() {
        // Of tiny parameters the tails of all points between are the same in all digits.
        return 0.5;
    }
    let mut odds = libm::exp(start(a, b, target).clamp(-708.0, 708.0));
    let (mut point, mut interval) = (at_odds(a, b, odds), Interval::new());
    for _ in 0..STEPS {
        let (tails, factor) = between(point);
        let density = || point.prefix().times(a).value();
        let bend = a * point.y.0 - b * point.x.0;
        let (step, is_last) = target.step(At { tails, factor, density, bend });
        odds = interval.next(odds, step);
        if odds == 0.0 || odds == f64::INFINITY {
            return if odds == 0.0 { 0.0 } else { 1.0 };
        }
        point = at_odds(a, b, odds);
        if is_last {
            break;
        }
    }
    point.x.value()
}

/// The point at which `x / y` is this number.
#[inline]
fn at_odds(a: f64, b: f64, odds: f64) -> Point {
    if odds > 1.0 {
        let y = 1.0 / (1.0 + odds);
        return Point { a, b, x: two_sum(1.0, -y), y: y.into() };
    }
    let x = odds / (1.0 + odds);
    Point { a, b, x: x.into(), y: two_sum(1.0, -x) }
}

/// The logit of a point near a quantile.
fn start(a: f64, b: f64, target: Target) -> f64 {
    if a > 1.0 && b > 1.0 {
        let z = target.normal();
        // Abramowitz, Stegun 1964, 26.5.22, whose normal variable is that of the upper tail.
        let (of_a, of_b) = (1.0 / (2.0 * a - 1.0), 1.0 / (2.0 * b - 1.0));
        let (bend, mean) = ((z * z - 3.0) / 6.0, 2.0 / (of_a + of_b));
        let w = -z * (mean + bend).max(0.0).sqrt() / mean
            - (of_b - of_a) * (bend + 5.0 / 6.0 - 2.0 / (3.0 * mean));
        return libm::log(a / b) - 2.0 * w;
    }
    // The logarithm of 1 less the variable, times a number, is nearly a gamma variable: see `Point::expansion`.
    let by_gamma = |a: f64, b: f64, target: Target| {
        let u = gamma_start(a, target) / (b + 0.5 * (a - 1.0));
        libm::log(libm::expm1(u.min(700.0)))
    };
    if a <= 1.0 && b > 1.5 {
        return by_gamma(a, b, target);
    }
    if b <= 1.0 && a > 1.5 {
        return -by_gamma(b, a, target.mirrored());
    }
    // From the normal approximation of the logit, or the power that the tail begins with, and the next term of its
    // series.
    let power = |a: f64, b: f64| {
        let log = (target.log + (complete(a, b).log + log(a.into())).value()) / a;
        let x = libm::exp(log.min(0.0));
        (log + x * (1.0 + (b - 1.0) / (a + 1.0)).clamp(-1.0, 1.0)).min(0.0)
    };
    let normal = libm::log(a / b) + target.normal() * (1.0 / a + 1.0 / b).sqrt();
    match (target.lower, a < 1.0, b < 1.0) {
        (true, true, _) => normal.max(power(a, b)),
        (false, _, true) => normal.min(-power(b, a)),
        _ => normal,
    }
}

/// Logarithm of the density `x^(a - 1) (1 - x)^(b - 1) / B(a, b)`.
pub fn log_beta_density(a: f64, b: f64, x: f64) -> f64 {
    let is_inside = a > 0.0 && b > 0.0 && a < f64::INFINITY && b < f64::INFINITY && (0.0..=1.0).contains(&x);
    if !is_inside {
        return f64::NAN;
    }
    if x == 0.0 || x == 1.0 {
        let (own, other) = if x == 0.0 { (a, b) } else { (b, a) };
        return match own {
            own if own < 1.0 => f64::INFINITY,
            own if own > 1.0 => f64::NEG_INFINITY,
            _ => libm::log(other),
        };
    }
    let point = Point { a, b, x: x.into(), y: two_sum(1.0, -x) };
    if point.is_plain() {
        let [x, y] = point.logs();
        return total([times(x, a), -x, times(y, b), -y, log_beta_constant(a, b)]).value();
    }
    (point.prefix().log + Double::from(a).log() - point.x.log() - point.y.log()).value()
}
