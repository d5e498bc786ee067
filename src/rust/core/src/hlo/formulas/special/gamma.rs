//! The regularised incomplete gamma functions: DLMF 8.2, as in `kernels::math::special`.

use super::double::{two_product, two_sum, Double, HALF_LOG_2_PI};
use super::parts::{digamma_less_log, gamma1p, lgamma1p, log_power, stirling, Product, FAR};
use super::quadrature::Exponent;
use super::tails::{step, Tails, Target};
use super::{looped, Words};
use crate::ops::{Unary, Var};

const INF: f64 = f64::INFINITY;

/// `x^a e^-x / gamma(a + 1)`, for positive numbers.
fn prefix<'m, 'b>(a: Var<'m, 'b>, x: Var<'m, 'b>) -> Product<'m, 'b> {
    let far = a.lt(FAR).not();
    let power = log_power(x.into(), far.select(a, a.of(1.0)).into(), a);
    // The deviance, of which large parts cancel (Loader 2000).
    let large = far.select(a, a.of(FAR));
    let deviance = power + two_sum(large, -x) - Double::of(a, HALF_LOG_2_PI) - Double::from(stirling(large));
    let small = far.select(a.of(1.0), a);
    Product {
        log: Double::select(far, deviance, power - x.into()),
        factor: far.select(1.0 / large.sqrt(), 1.0 / gamma1p(small.into())),
    }
}

/// The sum of `x^n / ((a + 1) ... (a + n))`, and its derivative with respect to `a`.
fn series<'m, 'b>(a: Var<'m, 'b>, x: Var<'m, 'b>) -> [Var<'m, 'b>; 2] {
    let (one, zero) = (a.of(1.0), a.of(0.0));
    let made = looped(
        &[one, zero, zero, one, zero],
        &[a, x],
        |state, _| state[0].less(state[3] * 1e-18).not().and(state[0].nan().not()),
        |state, p| {
            let n = state[2] + 1.0;
            let term = state[0] * (p[1] / (p[0] + n));
            let slope = state[1] - 1.0 / (p[0] + n);
            vec![term, slope, n, state[3] + term, state[4] + term * slope]
        },
    );
    [made[3], made[4]]
}

/// The sum of `(-x)^n / (n! (a + n))` from 1 on, for `x` below 1.
fn alternating<'m, 'b>(a: Var<'m, 'b>, x: Var<'m, 'b>) -> Var<'m, 'b> {
    let (mut power, mut sum) = (a.of(1.0), a.of(0.0));
    for n in 1..20 {
        let n = f64::from(n);
        power = power * (x * (-1.0 / n));
        sum = sum + power / (a + n);
    }
    sum
}

/// Where both tails have formulas of their own, where the series of the lower one is quicker than the integral, and where
/// the lower one is computed.
fn regions<'m, 'b>(a: Var<'m, 'b>, x: Var<'m, 'b>) -> [Var<'m, 'b>; 3] {
    let small = a.lt(1.0).and(x.lt(1.0));
    let below = x.less(a);
    let has_series = small.or(below.and(a.lt(30.0).or(x.less(a * 0.5))));
    [small, has_series, small.or(below)]
}

/// The parameters of the integral, and those of the series, each where it is wanted.
fn split<'m, 'b>(a: Var<'m, 'b>, x: Var<'m, 'b>) -> ([Var<'m, 'b>; 3], [Var<'m, 'b>; 2]) {
    let [_, has_series, lower] = regions(a, x);
    let direction = lower.select(a.of(-1.0), a.of(1.0));
    let integral = [a.where_or(has_series.not(), 1.0), x.where_or(has_series.not(), 2.0), direction];
    let direction = integral[2].where_or(has_series.not(), 1.0);
    let series = [a.where_or(has_series, 1.0), x.where_or(has_series, 0.5)];
    ([integral[0], integral[1], direction], series)
}

/// Both tails of positive finite numbers.
fn inside<'m, 'b>(a: Var<'m, 'b>, x: Var<'m, 'b>) -> Tails<'m, 'b> {
    let [small, has_series, lower] = regions(a, x);
    let (integral, terms) = split(a, x);
    let sum = has_series.select(series(terms[0], terms[1])[0], a * Exponent::Gamma.integral(&integral));
    let [b, y] = [a.where_or(small, 0.5), x.where_or(small, 0.5)];
    let s = two_product(b, y.log()).value() - lgamma1p(b);
    let number = -(s.expm1() + s.exp() * b * alternating(b, y));
    let none = a.is(f64::NAN);
    Tails {
        product: prefix(a, x).times(sum),
        is_upper: lower.not(),
        is_small: small,
        number,
        is_end: none,
        at_end: a.of(0.0),
        is_bad: none,
    }
}

/// Both tails.
pub fn tails<'m, 'b>(a: Var<'m, 'b>, x: Var<'m, 'b>) -> Tails<'m, 'b> {
    let is_bad = a.lt(0.0).or(x.lt(0.0)).or(a.nan()).or(x.nan());
    let is_bad = is_bad.or(a.is(INF).and(x.is(INF))).or(a.is(0.0).and(x.is(0.0)));
    let at_zero = x.is(0.0).or(a.is(INF));
    let is_end = at_zero.or(a.is(0.0)).or(x.is(INF));
    let usual = is_bad.or(is_end).not();
    let at_end = at_zero.select(a.of(0.0), a.of(1.0));
    Tails { is_end, at_end, is_bad, ..inside(a.where_or(usual, 1.0), x.where_or(usual, 1.0)) }
}

/// The derivative of the logarithm of a tail with respect to `a`.
pub fn slope<'m, 'b>(a: Var<'m, 'b>, x: Var<'m, 'b>, lower: bool) -> Var<'m, 'b> {
    let all = tails(a, x);
    let usual = all.is_bad.or(all.is_end).not();
    let (b, y) = (a.where_or(usual, 1.0), x.where_or(usual, 1.0));
    // `log(x) - digamma(a)`, which is small near the mean of large `a`.
    let line = log_power(y.into(), b.into(), b.of(1.0)).value() - digamma_less_log(b);
    let [_, has_series, at_lower] = regions(b, y);
    let (integral, terms) = split(b, y);
    let [sum, slopes] = series(terms[0], terms[1]);
    let mean = Exponent::Gamma.means(&integral)[0];
    let own = has_series.select(line - 1.0 / b + slopes / sum, at_lower.select(line - mean, line + mean));
    let is_own = if lower { at_lower } else { at_lower.not() };
    let odds = (all.log(!lower) - all.log(lower)).exp();
    let made = is_own.select(own, -own * odds);
    let known = if lower { x.is(INF) } else { x.is(INF).not() };
    let end = known.select(a.of(0.0), a.of(f64::NAN));
    all.is_bad.select(a.of(f64::NAN), all.is_end.select(end, made))
}

/// The point at which the tail has this probability.
pub fn quantile<'m, 'b>(a: Var<'m, 'b>, p: Var<'m, 'b>, lower: bool, is_log: bool) -> Var<'m, 'b> {
    let target = Target::new(p, lower, is_log);
    let is_bad = target.is_bad.or(a.lt(0.0)).or(a.lt(INF).not());
    let is_end = target.is_end();
    let usual = is_bad.or(is_end).or(a.is(0.0)).not();
    let b = a.where_or(usual, 1.0);
    let q = Target {
        lower: target.lower,
        log: target.log.where_or(usual, -1.0),
        value: target.value.where_or(usual, (-1f64).exp()),
        is_bad,
    };
    // From the cube of a normal variable (Wilson, Hilferty 1931), or the power that the lower tail begins with.
    let root = 1.0 - 1.0 / (b * 9.0) + q.normal() / (b.sqrt() * 3.0);
    let at_one = b.gt(1.0).select((b + 1.0).unary(Unary::lgamma), lgamma1p(b));
    let power = ((q.log + at_one) / b).between(-745.0, 700.0).exp();
    let by_power = q.lower.and(b.lt(1.0).or(root.lt(0.3)));
    let cube = root.gt(0.3).select(b * root * root * root, b.of(1.0));
    // The upper tail is at most exp(a + a log(x / a) - x), thus exp(0.7 a - x / 2): above this point, where a step
    // is no more than a power of e, it is less than wanted.
    let most = q.lower.select(b.of(INF), (b * 0.7 - q.log) * 2.0);
    let start = by_power.select(power, cube).larger(b.of(f64::MIN_POSITIVE)).smaller(most);
    let is_lower = q.lower.select(b.of(1.0), b.of(0.0));
    let count = usual.select(b.of(0.0), b.of(100.0));
    let made = looped(
        &[start, count],
        &[b, is_lower, q.log, q.value, most],
        |state, _| state[1].lt(100.0),
        |state, p| {
            let (x, a) = (state[0], p[0]);
            let density = prefix(a, x).log() + a.log();
            let step = step([p[1].gt(0.5), p[2], p[3]], inside(a, x), density);
            let next = (x * step.between(-600.0, 600.0).exp()).smaller(p[4]);
            let done = step.size().lt(1e-9).or(next.lt(f64::MIN_POSITIVE)).or(step.nan());
            vec![next, done.select(state[1].of(100.0), state[1] + 1.0)]
        },
    );
    // Far behind the mean all but the power of e is below the tolerance of the method.
    let far = q.lower.not().and(((b + 1.0) * 1e13).less(-q.log));
    let x = far.select(-q.log, made[0].lt(f64::MIN_POSITIVE).select(a.of(0.0), made[0]));
    let end = target.lower.select(a.of(0.0), a.of(INF));
    let x = a.is(0.0).select(a.of(0.0), is_end.select(end, x));
    is_bad.select(a.of(f64::NAN), x)
}

/// Logarithm of the density `x^(a - 1) e^-x / gamma(a)`.
pub fn log_density<'m, 'b>(a: Var<'m, 'b>, x: Var<'m, 'b>) -> Var<'m, 'b> {
    let is_bad = a.gt(0.0).not().or(x.lt(0.0)).or(x.nan()).or(a.is(INF).and(x.is(INF)));
    let far = x.is(INF).or(a.is(INF));
    let usual = is_bad.or(far).or(x.is(0.0)).not();
    let (b, y) = (a.where_or(usual, 1.0), x.where_or(usual, 1.0));
    let product = prefix(b, y);
    let ratio = Double::from(b) / y.into();
    let near = ratio.0.gt(1e-290).and(ratio.0.lt(1e290));
    let ratio = Double(ratio.0.where_or(near, 1.0), ratio.1.where_or(near, 0.0));
    let made = (product.log + Double::from(product.factor).log() + ratio.log()).value();
    let made = near.select(made, product.log() + b.log() - y.log());
    let at_zero = a.lt(1.0).select(a.of(INF), a.gt(1.0).select(a.of(-INF), a.of(0.0)));
    let made = x.is(0.0).select(at_zero, far.select(a.of(-INF), made));
    is_bad.select(a.of(f64::NAN), made)
}
