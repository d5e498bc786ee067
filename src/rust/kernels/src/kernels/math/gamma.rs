//! The logarithm of the gamma function, and its derivative. Coefficients: `tests/testdata/math/fit.py`.
//!
//! Large arguments go by the series of Stirling, smaller ones by the recurrence to where a polynomial is
//! fitted, negative ones by reflection (DLMF 5.5.1 to 5.5.4, 5.11.1, 5.11.2). `SHORT` selects fewer terms,
//! enough for singles that are computed as doubles.

use super::coefficients::PI;
use super::exp::exp_of_sum;
use super::gamma_coefficients as g;
use super::lanes::{fast_two_sum, horner, polynomial, two_product, two_sum, Lanes, Singles};
use super::log::{log_in_parts, log_of};
use super::macros::by_doubles;
use super::special_coefficients as c;
use super::trigonometry::sine_of_half_turns;

/// Polynomial whose coefficients are the first ones where true, else the second ones.
#[inline(always)]
fn either<V: Lanes, const N: usize>(mask: V::Mask, x: V, first: &[f64; N], second: &[f64; N]) -> V {
    let coefficient = |i: usize| V::select(mask, V::of(first[i]), V::of(second[i]));
    let square = x * x;
    // As `polynomial` does.
    let mut sums = [coefficient(N - 1), coefficient(N - 2)];
    for i in (0..N - 2).rev() {
        let sum = &mut sums[(N - 1 - i) % 2];
        *sum = sum.mul_add(square, coefficient(i));
    }
    let [even, odd] = if N % 2 == 1 { sums } else { [sums[1], sums[0]] };
    odd.mul_add(x, even)
}

/// Logarithm of the gamma function of a number that is not negative.
#[inline(always)]
pub(super) fn positive_lgamma<V: Lanes, const SHORT: bool>(x: V) -> V {
    let (one, half) = (V::of(1.0), V::of(0.5));
    let is_small = x.lt(V::of(0.75));
    let is_far = V::of(8.5).le(x);
    // gamma(x) = gamma(y) product, with y from 1.5 to 2.5. All the differences are exact.
    let (mut y, mut product) = (x, one);
    if V::any(V::of(2.5).le(x) & !is_far) {
        for _ in 0..6 {
            let is_more = V::of(2.5).le(y);
            y = V::select(is_more, y - one, y);
            product = V::select(is_more, product * y, product);
        }
    }
    let log = log_of::<V, SHORT>(V::select(is_small | is_far, x, product));
    // That of 1 + s or 2 + s, by which it is exact at 1 and 2; below 3/4 it is that of the number after, less
    // a logarithm.
    let is_below_half = x.lt(half);
    let is_below = x.lt(V::of(1.5));
    let s = V::select(is_below, x, y) - V::select(is_below, one, V::of(2.0));
    let s = V::select(is_below_half, x, s);
    let is_one = is_below_half | (is_below & !is_small);
    let p = if SHORT {
        either(is_one, s, &c::LGAMMA_ONE_SHORT, &c::LGAMMA_TWO_SHORT)
    } else {
        either(is_one, s, &c::LGAMMA_ONE, &c::LGAMMA_TWO)
    };
    let near = s.mul_add(p, V::select(is_small, log.negate(), log));
    if !V::any(is_far) {
        return near;
    }
    let inverse = one / x;
    let u = inverse * inverse;
    let series = if SHORT { polynomial(u, &c::LGAMMA_FAR_SHORT) } else { polynomial(u, &c::LGAMMA_FAR) };
    let rest = inverse.mul_add(series, V::of(c::HALF_LOG_2_PI[0] - 0.5));
    V::select(is_far, (x - half).mul_add(log - one, rest), near)
}

/// The distance of a number that is not negative from the nearest whole one; 0 of infinity.
#[inline(always)]
fn from_whole<V: Lanes>(size: V) -> V {
    let large = V::of(4503599627370496.0);
    let nearest = (size + large) - large;
    V::select(size.lt(large), size - nearest, V::of(0.0))
}

#[inline(always)]
fn lgamma_of<V: Lanes, const SHORT: bool>(x: V) -> V {
    let (zero, infinity) = (V::of(0.0), V::of(f64::INFINITY));
    let is_below = x.lt(zero);
    let size = x.abs();
    let mut y = positive_lgamma::<V, SHORT>(V::select(is_below, V::of(1.0) + size, size));
    if V::any(is_below) {
        let (sine, _) = sine_of_half_turns(from_whole(size).abs());
        // Next to 0 the sine is a multiple of the argument, of which the smallest numbers have no digits
        // left.
        let is_next = size.lt(V::of(1e-20));
        let log = log_of::<V, false>(V::select(is_next, size, sine));
        let pole = V::select(is_next, zero, V::of(c::LOG_PI[0])) - log;
        y = V::select(is_below, V::select(sine.same(zero), infinity, pole - y), y);
    }
    x.keep_nan(V::select(x.same(zero) | size.same(infinity), infinity, y))
}

/// Logarithm of the absolute value of the gamma function. Less than 3 ulp; of negative numbers, where it has
/// irrational zeros, 3 ulp of the largest of 1, the result and `lgamma(1 - x)`.
#[inline(always)]
pub(super) fn lgamma<V: Lanes>(x: V) -> V {
    lgamma_of::<V, false>(x)
}

/// As [`lgamma`], for singles computed as doubles. Less than 0.51 ulp.
#[inline(always)]
pub(super) fn lgamma_single<V: Singles>(x: V) -> V {
    by_doubles!(lgamma_of::<_, true>, x)
}

/// Derivative of [`positive_lgamma`] at a positive number.
#[inline(always)]
fn positive_digamma<V: Lanes, const SHORT: bool>(x: V) -> V {
    let (one, zero) = (V::of(1.0), V::of(0.0));
    let is_small = x.lt(one);
    let is_far = V::of(8.0).le(x);
    // digamma(x) = digamma(1 + y) + over / under, with y from 0 to 1. All the differences are exact.
    let mut y = V::select(is_small, x, x - one);
    let mut over = V::select(is_small, V::of(-1.0), zero);
    let mut under = V::select(is_small, x, one);
    if V::any(V::of(2.0).lt(x) & !is_far) {
        for _ in 0..6 {
            let is_more = one.lt(y);
            over = V::select(is_more, over.mul_add(y, under), over);
            under = V::select(is_more, under * y, under);
            y = V::select(is_more, y - one, y);
        }
    }
    let t = y - V::of(0.5);
    let p = if SHORT { polynomial(t, &c::DIGAMMA_SHORT) } else { polynomial(t, &c::DIGAMMA) };
    // Near the zero its low float counts.
    let from_zero = (y - V::of(c::DIGAMMA_ZERO[0])) - V::of(c::DIGAMMA_ZERO[1]);
    let near = from_zero.mul_add(p, over / under);
    if !V::any(is_far) {
        return near;
    }
    let inverse = one / x;
    let u = inverse * inverse;
    let series = if SHORT { polynomial(u, &c::DIGAMMA_FAR_SHORT) } else { polynomial(u, &c::DIGAMMA_FAR) };
    let far = log_of::<V, SHORT>(x) - V::of(0.5).mul_add(inverse, u * series);
    V::select(is_far, V::select(x.same(V::of(f64::INFINITY)), x, far), near)
}

#[inline(always)]
fn digamma_of<V: Lanes, const SHORT: bool>(x: V) -> V {
    let zero = V::of(0.0);
    let is_below = x.lt(zero);
    let size = x.abs();
    let mut y = positive_digamma::<V, SHORT>(V::select(is_below, V::of(1.0) + size, size));
    if V::any(!zero.lt(x)) {
        let from_pole = from_whole(size);
        let distance = from_pole.abs();
        let (sine, cosine) = sine_of_half_turns(distance);
        // Next to a pole the quotient of the two is as good as this, which needs no more digits than there
        // are.
        let is_next = distance.lt(V::of(1e-9));
        let (product, lost) = two_product(V::of(PI[0]), cosine);
        let under = V::select(is_next, distance, sine);
        let pole = V::select(is_next, V::of(1.0), product) / under;
        // The rounding errors of the quotient of the two count where `y` cancels the pole.
        let rest = (pole.neg_mul_add(sine, product) + cosine.mul_add(V::of(PI[1]), lost)) / sine;
        let rest = V::select(is_next, zero, rest);
        // Above a whole number in size is below it.
        let sign = V::sign_mask().and(from_pole);
        y = V::select(is_below, (y + pole.xor(sign)) + rest.xor(sign), y);
        y = V::select(x.same(zero) | (is_below & distance.same(zero)), V::of(f64::NAN), y);
    }
    x.keep_nan(y)
}

/// Derivative of [`lgamma`]. Less than 4 ulp, also near its zero at 1.46; of negative numbers 4 ulp of the
/// largest of 1, the result and `digamma(1 - x)`.
#[inline(always)]
pub(super) fn digamma<V: Lanes>(x: V) -> V {
    digamma_of::<V, false>(x)
}

/// As [`digamma`], for singles computed as doubles. Less than 0.51 ulp.
#[inline(always)]
pub(super) fn digamma_single<V: Singles>(x: V) -> V {
    by_doubles!(digamma_of::<_, true>, x)
}

/// The gamma function of a positive number up to 8, and the factor that it is still to be divided by.
#[inline(always)]
fn near_gamma<V: Lanes>(x: V) -> (V, V) {
    let (one, half) = (V::of(1.0), V::of(0.5));
    let is_below_half = x.lt(half);
    let is_below = x.lt(V::of(1.5));
    // gamma(x) = gamma(y) product, with y from 1.5 to 2.5. All the differences are exact, and the product
    // carries its rounding errors.
    let (mut y, mut product, mut lost) = (x, one, V::of(0.0));
    if V::any(V::of(2.5).le(x)) {
        for _ in 0..6 {
            let is_more = V::of(2.5).le(y);
            y = V::select(is_more, y - one, y);
            let (next, error) = two_product(product, y);
            lost = V::select(is_more, lost.mul_add(y, error), lost);
            product = V::select(is_more, next, product);
        }
    }
    // Below, gamma(x) = gamma(x + 1) / x, or gamma(x + 2) / (x (x + 1)).
    let s = V::select(is_below_half, x, V::select(is_below, x - one, y - V::of(2.0)));
    let p = horner(s, &g::GAMMA);
    let under = V::select(is_below, V::select(is_below_half, x.mul_add(x, x), x), one);
    (p.mul_add(product, p * lost), under)
}

/// Gamma function; NaN at 0 and at negative whole numbers. Less than 3 ulp.
#[inline(always)]
pub(super) fn gamma<V: Lanes>(x: V) -> V {
    let (zero, one, infinity) = (V::of(0.0), V::of(1.0), V::of(f64::INFINITY));
    let is_below = x.lt(zero);
    let size = x.abs();
    let (over, under) = near_gamma(size.min(V::of(8.0)));
    let mut y = over / under;
    // That of a negative number is -pi / (x sin(pi x) gamma(-x)): DLMF 5.5.3.
    let mut turn = one;
    if V::any(is_below) {
        let from_pole = from_whole(size);
        let (sine, _) = sine_of_half_turns(from_pole.abs());
        let is_odd = !from_whole((size - from_pole) * V::of(0.5)).same(zero);
        let sine = sine.copysign(from_pole);
        let sine = V::select(is_odd, sine.negate(), sine);
        // Next to 0 the sine is a multiple of the argument.
        let is_next = size.lt(V::of(1e-20));
        turn = (V::of(PI[0]) / (size * sine)).negate();
        let reflected = V::select(is_next, one / x, turn * under / over);
        y = V::select(is_below, V::select(sine.same(zero), V::of(f64::NAN), reflected), y);
    }
    let is_far = V::of(8.0).le(size);
    if V::any(is_far) {
        // Stirling's formula, DLMF 5.11.1, as a sum of two numbers.
        let far = size.max(V::of(8.0)).min(V::of(300.0));
        let (log, log_low) = log_in_parts(far);
        let line = far - V::of(0.5);
        let (main, lost) = two_product(line, log);
        let (sum, more) = two_sum(main, far.negate());
        let inverse = one / far;
        let series = inverse.mul_add(horner(inverse * inverse, &g::STIRLING), V::of(g::HALF_LOG_2_PI[1]));
        let (sum, rest) = two_sum(sum, V::of(g::HALF_LOG_2_PI[0]));
        let low = (rest + more) + (lost + line.mul_add(log_low, series));
        let (high, low) = fast_two_sum(sum, low);
        let (power, n) = exp_of_sum(
            V::select(is_below, high.negate(), high).max(V::of(-800.0)).min(V::of(800.0)),
            V::select(is_below, low.negate(), low),
        );
        let up = power.scale(n);
        // The product is rounded once more where it is subnormal.
        let down = (power * turn.abs()).scale(n).copysign(turn);
        let down = V::select(from_whole(size).same(zero), V::of(f64::NAN), down);
        y = V::select(is_far, V::select(is_below, down, up), y);
    }
    y = V::select(x.same(infinity), infinity, y);
    x.keep_nan(V::select(x.same(zero) | x.same(infinity.negate()), V::of(f64::NAN), y))
}

/// As [`gamma`], for singles computed as doubles. Less than 0.51 ulp.
#[inline(always)]
pub(super) fn gamma_single<V: Singles>(x: V) -> V {
    by_doubles!(gamma, x)
}
