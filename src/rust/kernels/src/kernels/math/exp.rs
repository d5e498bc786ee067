//! Exponential and hyperbolic functions.
//!
//! `e^x = 2^n e^r` with `n` the whole number nearest to `x / log(2)`, and `e^r` by a polynomial. Where a
//! result is a quotient, numerator and denominator are carried with their rounding errors. Coefficients:
//! `tests/testdata/math/fit.py`.

use super::coefficients as c;
use super::lanes::{fast_two_sum, polynomial, Lanes};

/// `x = n log(2) + r + rest` with `|r| <= log(2)/2` and `rest` below the last bit of `r`.
struct Reduced<V> {
    /// A whole number.
    n: V,
    /// A float whose low bits are `n`.
    bits: V,
    r: V,
    rest: V,
}

/// For `|x|` up to 1000, or 120 for singles.
#[inline(always)]
fn reduce<V: Lanes>(x: V) -> Reduced<V> {
    let magic = V::either(6755399441055744.0, 12582912.0);
    let bits = x.mul_add(V::of(std::f64::consts::LOG2_E), magic);
    let n = bits - magic;
    // Exact: the product has few bits, and the difference cancels.
    let near = n.neg_mul_add(V::either(c::LN2[0], c::LN2_SINGLE[0]), x);
    let small = V::either(c::LN2[1], c::LN2_SINGLE[1]);
    let r = n.neg_mul_add(small, near);
    Reduced { n, bits, r, rest: n.neg_mul_add(small, near - r) }
}

/// `e^r - 1 - r`.
#[inline(always)]
fn bend<V: Lanes>(r: V) -> V {
    let q = if V::DOUBLE { polynomial(r, &c::EXP) } else { polynomial(r, &c::EXP_SINGLE) };
    r * r * q
}

/// `e^r`.
#[inline(always)]
fn power_of_rest<V: Lanes>(r: V) -> V {
    let q = if V::DOUBLE { polynomial(r, &c::EXP) } else { polynomial(r, &c::EXP_SINGLE) };
    V::of(1.0) + (r * r).mul_add(q, r)
}

/// `(e^r - 1 - r) / r^2`, accurate relative to `e^r - 1`.
#[inline(always)]
fn bend_by_square<V: Lanes>(r: V) -> V {
    if V::DOUBLE {
        polynomial(r, &c::EXPM1)
    } else {
        polynomial(r, &c::EXPM1_SINGLE)
    }
}

/// As [`bend`], accurate relative to `e^r - 1`.
#[inline(always)]
fn bend_from_one<V: Lanes>(r: V) -> V {
    r * r * bend_by_square(r)
}

/// `e^r` and its rounding error.
#[inline(always)]
fn exp_parts<V: Lanes>(x: &Reduced<V>) -> (V, V) {
    let (p, lost) = fast_two_sum(x.r, bend(x.r) + x.rest);
    let (y, more) = fast_two_sum(V::of(1.0), p);
    (y, more + lost)
}

/// Where `e^x` leaves the normal floats, nearly.
#[inline(always)]
pub(super) fn limit<V: Lanes>() -> V {
    V::either(708.0, 87.0)
}

/// `x` moved to where `e^x` has just overflowed, or vanished; NaN too.
#[inline(always)]
fn within_range<V: Lanes>(x: V) -> V {
    x.max(V::either(-746.0, -104.5)).min(V::either(711.5, 91.0))
}

/// `e^x`. Less than 1 ulp.
#[inline(always)]
pub(super) fn exp<V: Lanes>(x: V) -> V {
    if V::any(!x.abs().lt(limit())) {
        return exp_careful(x);
    }
    exp_near(x)
}

/// As [`exp`], below [`limit`].
#[inline(always)]
pub(super) fn exp_near<V: Lanes>(x: V) -> V {
    let Reduced { bits, r, .. } = reduce(x);
    power_of_rest(r).add_bits(bits.shl(V::FRACTION))
}

/// As [`exp`], everywhere.
#[inline(always)]
pub(super) fn exp_careful<V: Lanes>(x: V) -> V {
    let Reduced { n, r, .. } = reduce(within_range(x));
    x.keep_nan(power_of_rest(r).scale(n))
}

/// `2^x`. Less than 1 ulp.
#[inline(always)]
pub(super) fn exp2<V: Lanes>(x: V) -> V {
    let inside = x.max(V::either(-1080.0, -155.0)).min(V::either(1030.0, 132.0));
    let (n, bits) = inside.whole();
    let r = inside - n;
    let q = if V::DOUBLE { polynomial(r, &c::EXP2) } else { polynomial(r, &c::EXP2_SINGLE) };
    let small = r.mul_add(V::either(c::LN2_FULL[1], c::LN2_FULL_SINGLE[1]), r * r * q);
    let y = V::of(1.0) + r.mul_add(V::either(c::LN2_FULL[0], c::LN2_FULL_SINGLE[0]), small);
    if V::any(!x.abs().lt(V::either(1021.0, 125.0))) {
        return x.keep_nan(y.scale(n));
    }
    y.add_bits(bits.shl(V::FRACTION))
}

/// `e^x - 1` and its rounding error, for `|x|` up to 708, or 87 for singles.
#[inline(always)]
fn expm1_parts<V: Lanes>(x: V) -> (V, V) {
    let Reduced { bits, r, rest, .. } = reduce(x);
    let power = bits.shl(V::FRACTION).add_bits(V::of_bits(V::ONE));
    let tail = power * (bend_from_one(r) + rest);
    let less = power - V::of(1.0);
    let line = power.mul_add(r, less);
    let lost = power.mul_add(r, less - line);
    let (high, low) = fast_two_sum(line, tail);
    (high, low + lost)
}

/// `e^x - 1`. Less than 1.1 ulp.
#[inline(always)]
pub(super) fn expm1<V: Lanes>(x: V) -> V {
    let (high, low) = expm1_parts(x);
    let y = (high + low).copysign(x);
    if V::any(!x.abs().lt(limit())) {
        let far = V::select(x.lt(V::of(0.0)), V::of(-1.0), exp_careful(x));
        return x.keep_nan(V::select(x.abs().lt(limit()), y, far));
    }
    y
}

/// `1 / (1 + e^-x)`. Less than 2 ulp.
#[inline(always)]
pub(super) fn logistic<V: Lanes>(x: V) -> V {
    let one = V::of(1.0);
    let e = exp_near(x.abs().min(limit()).negate());
    let (sum, lost) = fast_two_sum(one, e);
    let is_below = x.lt(V::of(0.0));
    let q = V::select(is_below, e, one) / sum;
    // The sum's rounding error, times the derivative of the quotient; one over the sum is 1 less the quotient
    // where that has the exponential above.
    let inverse = V::select(is_below, one - q, q);
    let y = (q * lost).neg_mul_add(inverse, q);
    if V::any(!x.abs().lt(limit())) {
        // There the sum is 1, or the exponential.
        let far = V::select(is_below, exp_careful(x), one);
        return x.keep_nan(V::select(x.abs().lt(limit()), y, far));
    }
    y
}

/// Hyperbolic tangent, `h / (h + 1)` with `h = (e^2x - 1) / 2`: as `c - c q` with `q = c / (h + 1)` and the smaller `c`
/// of `h` and 1, so that rounding errors of `q` count for as little as they can. Less than 2 ulp.
#[inline(always)]
pub(super) fn tanh<V: Lanes>(x: V) -> V {
    let one = V::of(1.0);
    // Beyond, the result is 1. A NaN stays one.
    let size = V::either(20.0, 10.0).min(x.abs());
    let Reduced { bits, r, rest, .. } = reduce(size + size);
    // Half of the power of 2: it has no fraction, and is no NaN where `bits` are.
    let half = bits.shl(V::FRACTION).add_bits(V::of_bits(V::ONE - (1 << V::FRACTION)));
    let (square, q) = (r * r, bend_by_square(r));
    let p = if V::DOUBLE { r + square.mul_add(q, rest) } else { square.mul_add(q, r) };
    let h = half.mul_add(p, half - V::of(0.5));
    let smaller = one.min(h);
    let q = smaller / (h + one);
    smaller.neg_mul_add(q, smaller).copysign(x)
}

/// Half of `e^x` for an `x` beyond [`limit`]; Inf where that overflows.
#[inline(always)]
fn half_exp<V: Lanes>(x: V) -> V {
    let reduced = reduce(within_range(x));
    let (e, _) = exp_parts(&reduced);
    e.scale(reduced.n - V::of(1.0))
}

/// Hyperbolic sine, half of `E + E / (E + 1)` with `E = e^x - 1`. Less than 2 ulp.
#[inline(always)]
pub(super) fn sinh<V: Lanes>(x: V) -> V {
    let size = x.abs();
    let (e, e_low) = expm1_parts(size);
    let q = e / (e + V::of(1.0));
    let y = (V::of(0.5) * (e + (q + e_low))).copysign(x);
    // Small numbers lose their last bits on the way.
    let y = V::select(size.lt(V::either(1e-9, 1e-5)), x, y);
    if V::any(!size.lt(limit())) {
        return x.keep_nan(V::select(size.lt(limit()), y, half_exp(size).copysign(x)));
    }
    y
}

/// Hyperbolic cosine. Less than 1 ulp.
#[inline(always)]
pub(super) fn cosh<V: Lanes>(x: V) -> V {
    let size = x.abs();
    let reduced = reduce(size);
    let (e, e_low) = exp_parts(&reduced);
    let half = V::of(0.5) * reduced.bits.shl(V::FRACTION).add_bits(V::of_bits(V::ONE));
    let large = half * e;
    let y = large + half.mul_add(e_low, V::of(0.25) / large);
    if V::any(!size.lt(limit())) {
        return x.keep_nan(V::select(size.lt(limit()), y, half_exp(size)));
    }
    y
}

/// `e^(x + low)` for a far smaller `low`: a number near 1, and the whole number to whose power 2 it is to be
/// multiplied.
#[inline(always)]
pub(super) fn exp_of_sum<V: Lanes>(x: V, low: V) -> (V, V) {
    let Reduced { n, r, rest, .. } = reduce(x);
    let low = rest + low;
    let bend = bend(r);
    // `e^r low` is what `low` adds: it may be 2^-43.
    (V::of(1.0) + (r + (bend + low.mul_add(r + bend, low))), n)
}

/// `2^x` with a relative error of 2^-30, for doubles up to 1000 in size: good enough for singles.
#[inline(always)]
pub(super) fn exp2_short<V: Lanes>(x: V) -> V {
    let (n, bits) = x.whole();
    let r = x - n;
    let y = V::of(1.0) + r * r.mul_add(polynomial(r, &c::EXP2_SHORT), V::of(std::f64::consts::LN_2));
    y.add_bits(bits.shl(V::FRACTION))
}
