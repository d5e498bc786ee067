//! Logarithms and powers.
//!
//! `log(x) = k log(2) + log(1 + f)` with `1 + f` between the roots of 1/2 and 2, and `log(1 + f) = f - f^2/2
//! + s (f^2/2 + R(s^2))` with `s = f / (2 + f)`, where `R` is what `log((1 + s) / (1 - s))` has beyond `2 s`
//! (Tang 1990, Table-driven implementation of the logarithm function). Coefficients:
//! `tests/testdata/math/fit.py`.

use super::coefficients as c;
use super::exp;
use super::lanes::{fast_two_sum, horner, polynomial, two_product, two_sum, Lanes, Singles};
use super::macros::by_doubles;
use super::powers::{is_short, short_power};

/// `x = 2^k (1 + f)`, exactly, for positive normal `x`.
#[inline(always)]
fn split<V: Lanes>(x: V) -> (V, V) {
    // Bits of the root of 1/2, rounded down.
    let root = V::of_bits(if V::DOUBLE { 0x3fe6_a09e_0000_0000 } else { 0x3f35_04f3 });
    let from_root = x.sub_bits(root);
    let exponent = from_root.add_bits(V::of_bits(V::ONE)).shr(V::FRACTION);
    // A float with such bits is 2^52, or 2^23, more than they.
    let k = exponent.or(V::either(4503599627370496.0, 8388608.0))
        - V::either(4503599627370496.0 + 1023.0, 8388608.0 + 127.0);
    let fraction = from_root.and(V::of_bits((1 << V::FRACTION) - 1)).add_bits(root);
    (k, fraction - V::of(1.0))
}

/// The terms of `log(1 + f)`: `f^2 / 2`, `s`, and `R`.
#[inline(always)]
fn parts<V: Lanes>(f: V) -> (V, V, V) {
    let s = f / (V::of(2.0) + f);
    let z = s * s;
    let p = if V::DOUBLE { polynomial(z, &c::LOG) } else { polynomial(z, &c::LOG_SINGLE) };
    (V::of(0.5) * f * f, s, z * p)
}

/// `k log(2) + log(1 + f) + small`.
#[inline(always)]
fn whole_log<V: Lanes>(k: V, f: V, small: V) -> V {
    let (half, s, r) = parts(f);
    let tail = s.mul_add(half + r, k.mul_add(V::either(c::LN2[1], c::LN2_SINGLE[1]), small));
    k.mul_add(V::either(c::LN2[0], c::LN2_SINGLE[0]), f - (half - tail))
}

/// The smallest normal float.
#[inline(always)]
fn smallest<V: Lanes>() -> V {
    V::of_bits(1 << V::FRACTION)
}

/// The special values of a logarithm, where its argument is not positive or not finite; `y` elsewhere.
#[inline(always)]
fn at_edges<V: Lanes>(x: V, y: V) -> V {
    let zero = V::of(0.0);
    let y = V::select(x.same(V::of(f64::INFINITY)), x, y);
    let y = V::select(x.same(zero), V::of(f64::NEG_INFINITY), y);
    x.keep_nan(V::select(x.lt(zero), V::of(f64::NAN), y))
}

/// The logarithm that `from` computes of the exponent and the significand of a number, for all numbers.
macro_rules! any_log {
    ($x:ident, $from:expr) => {{
        let is_normal = smallest::<V>().le($x) & $x.lt(V::of(f64::INFINITY));
        if V::any(!is_normal) {
            let is_small = $x.lt(smallest());
            let raised = V::select(is_small, $x * V::either(18014398509481984.0, 33554432.0), $x);
            let (k, f) = split(raised);
            let k = k - V::select(is_small, V::either(54.0, 25.0), V::of(0.0));
            return at_edges($x, $from(k, f));
        }
        let (k, f) = split($x);
        $from(k, f)
    }};
}

#[inline(always)]
fn plain_log<V: Lanes>(k: V, f: V) -> V {
    whole_log(k, f, V::of(0.0))
}

/// Natural logarithm. Less than 1 ulp.
#[inline(always)]
pub(super) fn log<V: Lanes>(x: V) -> V {
    any_log!(x, plain_log)
}

/// Natural logarithm with a relative error of 2^-30, of positive normal doubles: singles are no others.
#[inline(always)]
fn log_short<V: Lanes>(x: V) -> V {
    let (k, f) = split(x);
    let s = f / (V::of(2.0) + f);
    let z = s * s;
    k.mul_add(V::of(std::f64::consts::LN_2), s.mul_add(z * polynomial(z, &c::LOG_SHORT), s + s))
}

/// Natural logarithm as doubles need it, or as singles that are computed as doubles do.
#[inline(always)]
pub(super) fn log_of<V: Lanes, const SHORT: bool>(x: V) -> V {
    if SHORT {
        log_short(x)
    } else {
        log(x)
    }
}

/// `log(1 + f)` as a sum of two floats.
#[inline(always)]
fn log_parts<V: Lanes>(f: V) -> (V, V) {
    let (half, s, r) = parts(f);
    let half_lost = (V::of(0.5) * f).mul_add(f, half.negate());
    let (high, lost) = fast_two_sum(f, half.negate());
    (high, s.mul_add(half + r, lost - half_lost))
}

/// `k a + log(1 + f) b` for constants that are sums of two floats.
#[inline(always)]
fn scaled_log<V: Lanes>(k: V, f: V, a: [V; 2], b: [V; 2]) -> V {
    let (high, low) = log_parts(f);
    let (product, lost) = two_product(high, b[0]);
    let small = low.mul_add(b[0], high.mul_add(b[1], lost));
    let (sum, lost) = two_sum(k * a[0], product);
    sum + (lost + k.mul_add(a[1], small))
}

#[inline(always)]
fn log2_of<V: Lanes>(k: V, f: V) -> V {
    let b = [V::either(c::LOG2_E[0], c::LOG2_E_SINGLE[0]), V::either(c::LOG2_E[1], c::LOG2_E_SINGLE[1])];
    scaled_log(k, f, [V::of(1.0), V::of(0.0)], b)
}

/// Logarithm to base 2; exact for powers of 2. Less than 1 ulp.
#[inline(always)]
pub(super) fn log2<V: Lanes>(x: V) -> V {
    any_log!(x, log2_of)
}

#[inline(always)]
fn log10_of<V: Lanes>(k: V, f: V) -> V {
    let a = [V::either(c::LOG10_2[0], c::LOG10_2_SINGLE[0]), V::either(c::LOG10_2[1], c::LOG10_2_SINGLE[1])];
    let b = [V::either(c::LOG10_E[0], c::LOG10_E_SINGLE[0]), V::either(c::LOG10_E[1], c::LOG10_E_SINGLE[1])];
    scaled_log(k, f, a, b)
}

/// Logarithm to base 10; exact for powers of 10. Less than 1 ulp.
#[inline(always)]
pub(super) fn log10<V: Lanes>(x: V) -> V {
    any_log!(x, log10_of)
}

/// `log(1 + x + rest)` for `1 + x` between the smallest and the largest normal float, and a far smaller
/// `rest`.
#[inline(always)]
pub(super) fn log1p_of<V: Lanes>(x: V, rest: V) -> V {
    let (sum, lost) = two_sum(V::of(1.0), x);
    let (k, f) = split(sum);
    // What the sum lost, in units of 2^k; of no weight where that is large.
    let unit = (V::of(0.0) - k.min(V::either(1000.0, 100.0))).power_of_two();
    let (f, low) = fast_two_sum(f, (lost + rest) * unit);
    let low = f.neg_mul_add(low, low);
    whole_log(k, f, low)
}

/// Natural logarithm of `1 + x`. Less than 1 ulp.
#[inline(always)]
pub(super) fn log1p<V: Lanes>(x: V) -> V {
    let y = log1p_of(x, V::of(0.0)).copysign(x);
    let is_inside = V::of(-1.0).lt(x) & x.lt(V::of(f64::INFINITY));
    if V::any(!is_inside) {
        let y = V::select(x.same(V::of(f64::INFINITY)), x, y);
        let y = V::select(x.same(V::of(-1.0)), V::of(f64::NEG_INFINITY), y);
        return x.keep_nan(V::select(x.lt(V::of(-1.0)), V::of(f64::NAN), y));
    }
    y
}

/// `log(1 + e^x)`, as what is positive of `x` and the logarithm of 1 plus an exponential that is not above 1.
/// That of singles is a polynomial. Less than 2 ulp.
#[inline(always)]
pub(super) fn softplus<V: Lanes>(x: V) -> V {
    let limit = exp::limit::<V>();
    let e = exp::exp_near(x.abs().min(limit).negate());
    let y = if V::DOUBLE {
        // Where the logarithm is that of 1 and very little, it is that little.
        V::select(e.lt(V::of(1e-20)), e, log1p_of(e, V::of(0.0)))
    } else {
        (e * e).mul_add(horner(e, &c::LOG1P_SINGLE), e)
    };
    // NaN is the larger one.
    let above = V::of(0.0).max(x);
    let is_far = x.lt(limit.negate());
    if V::any(is_far) {
        return above + V::select(is_far, exp::exp_careful(x), y);
    }
    above + y
}

// ---- powers

/// Whether it is a whole number; infinities are.
#[inline(always)]
fn is_whole<V: Lanes>(x: V) -> V::Mask {
    let (size, large) = (x.abs(), V::of(4503599627370496.0));
    large.le(size) | ((size + large) - large).same(size)
}

/// The value of `x^y`, where `y` is the power of `|x|`, a number that is neither 0 nor infinite, and
/// `exponent` a finite one.
#[inline(always)]
fn power_at_edges<V: Lanes>(x: V, exponent: V, y: V) -> V {
    let (zero, one, infinity) = (V::of(0.0), V::of(1.0), V::of(f64::INFINITY));
    let size = x.abs();
    let is_negative = V::sign_mask().and(x).or(one).lt(zero);
    // A base at the end of its range, or an exponent there: 0 or Inf, by whether one is small and the other
    // negative.
    let is_end = size.same(zero) | size.same(infinity) | exponent.abs().same(infinity);
    let is_small = size.lt(one);
    let is_down = exponent.lt(zero);
    let y = V::select(is_end, V::select((is_small & is_down) | (!is_small & !is_down), infinity, zero), y);
    let is_odd = is_whole(exponent) & !is_whole(exponent * V::of(0.5));
    let y = V::select(is_negative & is_odd, y.negate(), y);
    let has_none = x.lt(zero) & x.abs().lt(infinity) & !is_whole(exponent);
    let y = V::select(has_none, V::of(f64::NAN), y);
    let y = V::select(x.is_nan() | exponent.is_nan(), x + exponent, y);
    let is_one = x.same(one) | exponent.same(zero) | (size.same(one) & exponent.abs().same(infinity));
    V::select(is_one, one, y)
}

/// `log(x)` as a sum of two floats, with a relative error of about 2^-66, for positive normal `x = 2^k (1 +
/// f)`.
#[inline(always)]
fn long_log<V: Lanes>(k: V, f: V) -> (V, V) {
    let two = V::of(2.0);
    // s, its square z, 2/3 + ..., their product, and 2 s + s z (2/3 + ...), each a sum of two floats.
    let (below, below_low) = fast_two_sum(two, f);
    let inverse = V::of(1.0) / below;
    let s = f * inverse;
    let s_low = (s.neg_mul_add(below, f) - s * below_low) * inverse;
    let (z, z_lost) = two_product(s, s);
    let z_low = (s + s).mul_add(s_low, z_lost);
    let more = z * polynomial(z, &c::LOG_LONG);
    let (third, third_low) = fast_two_sum(V::of(c::TWO_THIRDS[0]), more);
    let third_low = third_low + V::of(c::TWO_THIRDS[1]);
    let (w, w_lost) = two_product(z, third);
    let w_low = z.mul_add(third_low, z_low.mul_add(third, w_lost));
    let (bend, bend_lost) = two_product(s, w);
    let bend_low = s.mul_add(w_low, s_low.mul_add(w, bend_lost));
    let (m, m_low) = fast_two_sum(s + s, bend);
    let m_low = m_low + (bend_low + (s_low + s_low));
    let (high, lost) = fast_two_sum(k * V::of(c::LN2[0]), m);
    let low = lost + k.mul_add(V::of(c::LN2[1]), m_low);
    fast_two_sum(high, low)
}

/// `log(x)` as [`long_log`] has it, of a positive normal number.
#[inline(always)]
pub(super) fn log_in_parts<V: Lanes>(x: V) -> (V, V) {
    let (k, f) = split(x);
    long_log(k, f)
}

/// `x^y`. Less than 1 ulp, but for the bounds of [`powers`](super::powers), whose products are the powers
/// with short exponents.
#[inline(always)]
pub(super) fn pow<V: Lanes>(x: V, y: V) -> V {
    let short = is_short(y);
    // The formula is that of the other exponents.
    if V::any(short) && !V::any(!short) {
        return short_power(x, y);
    }
    let power = pow_of_log(x, y);
    if V::any(short) {
        return V::select(short, short_power(x, y), power);
    }
    power
}

/// `e^(y log(x))` with the logarithm as a sum of two floats.
#[inline(always)]
fn pow_of_log<V: Lanes>(x: V, y: V) -> V {
    let is_normal = smallest::<V>().le(x) & x.lt(V::of(f64::INFINITY));
    let (k, f) = split(x);
    let (log, log_low) = long_log(k, f);
    let exponent = y * log;
    // False for NaN.
    let is_inside = exponent.abs().lt(V::of(700.0)) & y.abs().lt(V::of(f64::INFINITY));
    if V::any(!(is_normal & is_inside)) {
        return pow_careful(x, y);
    }
    let low = y.mul_add(log_low, y.mul_add(log, exponent.negate()));
    let (power, n) = exp::exp_of_sum(exponent, low);
    power * n.power_of_two()
}

#[inline(always)]
fn pow_careful<V: Lanes>(x: V, y: V) -> V {
    let size = x.abs();
    let is_small = size.lt(smallest());
    let raised = V::select(is_small, size * V::of(18014398509481984.0), size);
    let (k, f) = split(raised);
    let (log, log_low) = long_log(k - V::select(is_small, V::of(54.0), V::of(0.0)), f);
    let exponent = y * log;
    let low = y.mul_add(log_low, y.mul_add(log, exponent.negate()));
    let is_inside = exponent.abs().lt(V::of(800.0));
    let low = V::select(is_inside, low, V::of(0.0));
    let exponent = exponent.max(V::of(-800.0)).min(V::of(800.0));
    let (power, n) = exp::exp_of_sum(exponent, low);
    power_at_edges(x, y, power.scale(n))
}

/// As [`pow`], for singles computed as doubles: less than 0.51 ulp, but for short exponents.
#[inline(always)]
pub(super) fn pow_single<V: Singles>(x: V, y: V) -> V {
    let short = is_short(y);
    // The formula is that of the other exponents.
    if V::any(short) && !V::any(!short) {
        return short_power(x, y);
    }
    let power = by_doubles!(pow_by_log, x, y);
    if V::any(short) {
        return V::select(short, short_power(x, y), power);
    }
    power
}

#[inline(always)]
fn pow_by_log<V: Lanes>(x: V, y: V) -> V {
    let exponent =
        (y * log_short(x.abs()) * V::of(std::f64::consts::LOG2_E)).max(V::of(-170.0)).min(V::of(140.0));
    let power = exp::exp2_short(exponent);
    let is_plain = V::of(0.0).lt(x) & x.lt(V::of(f64::INFINITY)) & y.abs().lt(V::of(f64::INFINITY));
    if V::any(!is_plain) {
        return power_at_edges(x, y, power);
    }
    power
}
