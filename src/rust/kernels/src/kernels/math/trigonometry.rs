//! Sine, cosine and tangent, of arguments of any size.
//!
//! `x = n pi/2 + r` with `pi/2` as a sum of three floats (Cody, Waite 1980) up to 2^40, and beyond by the
//! bits of `2/pi` that matter (Payne, Hanek 1983). Coefficients: `tests/testdata/math/fit.py`.

use super::coefficients as c;
use super::lanes::{horner, polynomial, two_product, two_sum, Doubles, Lanes, Singles, MOST_LANES};
use super::macros::by_doubles;

/// Largest argument of the quick reduction.
const FAR: f64 = 1099511627776.0;

/// A float whose low bits are `n`, and `r` as a sum of two floats, for `|x| <= FAR`.
#[inline(always)]
fn reduce<V: Lanes>(x: V) -> (V, V, V) {
    let magic = V::of(6755399441055744.0);
    let bits = x.mul_add(V::of(std::f64::consts::FRAC_2_PI), magic);
    let n = bits - magic;
    // Exact: a multiple of 2^-53 below 1.
    let near = n.neg_mul_add(V::of(c::PI_2[0]), x);
    let second = n * V::of(c::PI_2[1]);
    let second_lost = n.mul_add(V::of(c::PI_2[1]), second.negate());
    let (r, lost) = two_sum(near, second.negate());
    (bits, r, lost - n.mul_add(V::of(c::PI_2[2]), second_lost))
}

/// Sine of `r + low`.
#[inline(always)]
fn sine<V: Lanes>(r: V, low: V) -> V {
    let z = r * r;
    let cubic = z * r;
    // The last term is the derivative, nearly, times `low`.
    let tail = cubic.mul_add(polynomial(z, &c::SIN), (z * V::of(0.5)).neg_mul_add(low, low));
    r + tail
}

/// Cosine of `r + low`.
#[inline(always)]
fn cosine<V: Lanes>(r: V, low: V) -> V {
    let z = r * r;
    let (one, half) = (V::of(1.0), z * V::of(0.5));
    let high = one - half;
    let lost = (one - high) - half;
    high + (lost + (z * z).mul_add(polynomial(z, &c::COS), (r * low).negate()))
}

/// Sine and cosine of `pi x`, for `x` from 0 to 1/2.
#[inline(always)]
pub(super) fn sine_of_half_turns<V: Lanes>(x: V) -> (V, V) {
    let is_steep = V::of(0.25).lt(x);
    let x = V::select(is_steep, V::of(0.5) - x, x);
    let pi = V::of(c::PI[0]);
    let r = x * pi;
    let low = x.mul_add(pi, r.negate()) + x * V::of(c::PI[1]);
    let (sine, cosine) = (sine(r, low), cosine(r, low));
    (V::select(is_steep, cosine, sine), V::select(is_steep, sine, cosine))
}

/// Whether the lowest bit is set.
#[inline(always)]
fn is_odd<V: Lanes>(bits: V) -> V::Mask {
    bits.shl(V::WIDTH - 1).or(V::of(1.0)).lt(V::of(0.0))
}

/// The sine where `bits` counts quarters of a turn.
#[inline(always)]
fn in_quadrant<V: Lanes>(bits: V, sine: V, cosine: V) -> V {
    let sign = bits.shl(V::WIDTH - 2).and(V::sign_mask());
    V::select(is_odd(bits), cosine, sine).xor(sign)
}

/// The tangent where `bits` counts quarters of a turn.
#[inline(always)]
fn ratio<V: Lanes>(bits: V, sine: V, cosine: V) -> V {
    let is_odd = is_odd(bits);
    V::select(is_odd, cosine.negate(), sine) / V::select(is_odd, sine, cosine)
}

/// `x / (pi/2)` beyond [`FAR`]: the bits of the nearest whole number modulo 4, and the rest as a sum of two
/// floats. All bits are 0 of what is not far, and of infinities.
fn quarters_far(x: f64) -> (f64, f64, f64) {
    if !(x.is_finite() && x.abs() > FAR) {
        return (0.0, 0.0, 0.0);
    }
    let bits = x.abs().to_bits();
    let exponent = (bits >> 52) as i64 - 1075;
    let fraction = (bits & ((1 << 52) - 1)) | (1 << 52);
    // The bits of 2/pi from the one that makes x a multiple of 2 on: 192 of them, of which those before the
    // point are 0.
    let first = exponent - 2;
    let word = |at: i64| -> u64 {
        let bit = |index: i64| if (0..20).contains(&index) { c::TWO_OVER_PI[index as usize] } else { 0 };
        let (index, shift) = (at.div_euclid(64), at.rem_euclid(64) as u32);
        if shift == 0 {
            bit(index)
        } else {
            (bit(index) << shift) | (bit(index + 1) >> (64 - shift))
        }
    };
    let (high, middle, low) = (word(first), word(first + 64), word(first + 128));
    // Their product modulo 2^192, which is x / (pi/2) modulo 4 in units of 2^-190.
    let low = u128::from(low) * u128::from(fraction);
    let middle = u128::from(middle) * u128::from(fraction) + (low >> 64);
    let high = u128::from(high) * u128::from(fraction) + (middle >> 64);
    let mut top = ((high as u64 as u128) << 64) | u128::from(middle as u64);
    let mut bottom = low as u64;
    // The nearest whole number of quarters, and what is left, of either sign.
    let quarters = ((top >> 125) + 1) >> 1;
    top = top.wrapping_sub(quarters << 126);
    let is_negative = top >> 127 == 1;
    if is_negative {
        (bottom, top) = (bottom.wrapping_neg(), (!top).wrapping_add(u128::from(bottom == 0)));
    }
    let zeros = top.leading_zeros().min(127);
    let top = if zeros == 0 { top } else { (top << zeros) | (u128::from(bottom) << 64 >> (128 - zeros)) };
    let unit = f64::from_bits((1023 - 126 - u64::from(zeros)) << 52);
    let part = ((top >> 75) as f64 * unit * 2f64.powi(75), (top << 53 >> 75) as f64 * unit * 2f64.powi(22));
    let sign = if is_negative != (x < 0.0) { -1.0 } else { 1.0 };
    let quarters = if x < 0.0 { 4 - quarters as u64 } else { quarters as u64 };
    (f64::from_bits(quarters), sign * part.0, sign * part.1)
}

/// As [`reduce`], beyond it.
#[inline(always)]
fn reduce_far<V: Doubles>(x: V) -> (V, V, V) {
    let (mut lanes, mut bits) = ([0.0; MOST_LANES], [0.0; MOST_LANES]);
    let (mut high, mut low) = (lanes, lanes);
    x.store(&mut lanes);
    for i in 0..V::LANES {
        // One number by itself is in all lanes.
        let is_first = i > 0 && lanes[i].to_bits() == lanes[0].to_bits();
        (bits[i], high[i], low[i]) =
            if is_first { (bits[0], high[0], low[0]) } else { quarters_far(lanes[i]) };
    }
    let (high, low) = (V::load(&high), V::load(&low));
    let (r, lost) = two_product(high, V::of(c::PI_2[0]));
    (V::load(&bits), r, low.mul_add(V::of(c::PI_2[0]), high.mul_add(V::of(c::PI_2[1]), lost)))
}

/// A value of what `near` makes of `x`, or [`reduce_far`]; NaN of infinities. Not a function, since a closure
/// need not be compiled for the instructions of its caller.
macro_rules! anywhere {
    ($x:ident, $near:ident, |$bits:ident, $r:ident, $low:ident| $value:expr) => {{
        let ($bits, $r, $low) = $near($x);
        let is_near = $x.abs().le(V::of(FAR));
        if V::any(!is_near) {
            let far = reduce_far($x);
            let $bits = V::select(is_near, $bits, far.0);
            let ($r, $low) = (V::select(is_near, $r, far.1), V::select(is_near, $low, far.2));
            $x.keep_nan(V::select($x.abs().lt(V::of(f64::INFINITY)), $value, V::of(f64::NAN)))
        } else {
            $value
        }
    }};
}

/// Sine. Less than 1 ulp.
#[inline(always)]
pub(super) fn sin<V: Doubles>(x: V) -> V {
    let y = anywhere!(x, reduce, |bits, r, low| in_quadrant(bits, sine(r, low), cosine(r, low)));
    // Of -0 the reduction makes 0.
    V::select(x.same(V::of(0.0)), x, y)
}

/// Cosine. Less than 1 ulp.
#[inline(always)]
pub(super) fn cos<V: Doubles>(x: V) -> V {
    anywhere!(x, reduce, |bits, r, low| in_quadrant(
        bits.add_bits(V::of_bits(1)),
        sine(r, low),
        cosine(r, low)
    ))
}

/// Tangent. Less than 2 ulp.
#[inline(always)]
pub(super) fn tan<V: Doubles>(x: V) -> V {
    let y = anywhere!(x, reduce, |bits, r, low| ratio(bits, sine(r, low), cosine(r, low)));
    V::select(x.same(V::of(0.0)), x, y)
}

/// As [`reduce`], good enough for singles.
#[inline(always)]
fn reduce_short<V: Lanes>(x: V) -> (V, V, V) {
    let magic = V::of(6755399441055744.0);
    let bits = x.mul_add(V::of(std::f64::consts::FRAC_2_PI), magic);
    let n = bits - magic;
    (bits, n.neg_mul_add(V::of(c::PI_2[1]), n.neg_mul_add(V::of(c::PI_2[0]), x)), V::of(0.0))
}

/// As [`sine`] and [`cosine`], good enough for singles.
#[inline(always)]
fn both_short<V: Lanes>(r: V) -> (V, V) {
    let z = r * r;
    let sine = (z * r).mul_add(horner(z, &c::SIN_SHORT), r);
    (sine, (z * z).mul_add(horner(z, &c::COS_SHORT), z.neg_mul_add(V::of(0.5), V::of(1.0))))
}

#[inline(always)]
fn sin_short<V: Doubles>(x: V) -> V {
    let y = anywhere!(x, reduce_short, |bits, r, _low| {
        let (sine, cosine) = both_short(r);
        in_quadrant(bits, sine, cosine)
    });
    V::select(x.same(V::of(0.0)), x, y)
}

#[inline(always)]
fn cos_short<V: Doubles>(x: V) -> V {
    anywhere!(x, reduce_short, |bits, r, _low| {
        let (sine, cosine) = both_short(r);
        in_quadrant(bits.add_bits(V::of_bits(1)), sine, cosine)
    })
}

#[inline(always)]
fn tan_short<V: Doubles>(x: V) -> V {
    let y = anywhere!(x, reduce_short, |bits, r, _low| {
        let (sine, cosine) = both_short(r);
        ratio(bits, sine, cosine)
    });
    V::select(x.same(V::of(0.0)), x, y)
}

/// Largest argument of the reduction of singles in singles.
const FAR_SINGLE: f64 = 65536.0;

/// A float whose low bits count quarters of a turn, and sine and cosine of the rest, for singles up to
/// [`FAR_SINGLE`].
#[inline(always)]
fn both_single<V: Lanes>(x: V) -> (V, V, V) {
    let magic = V::of(12582912.0);
    let bits = x.mul_add(V::of(std::f64::consts::FRAC_2_PI), magic);
    let n = bits - magic;
    // The first difference is exact: `x` and the part of pi/2 are multiples of the same power of two.
    let r = c::PI_2_SINGLE.iter().fold(x, |r, &part| n.neg_mul_add(V::of(part), r));
    let z = r * r;
    let sine = (z * r).mul_add(horner(z, &c::SIN_SINGLE), r);
    let cosine = (z * z).mul_add(horner(z, &c::COS_SINGLE), z.neg_mul_add(V::of(0.5), V::of(1.0)));
    (bits, sine, cosine)
}

/// As [`sin`], for singles. Less than 1.6 ulp; computed as doubles far from 0.
#[inline(always)]
pub(super) fn sin_single<V: Singles>(x: V) -> V {
    let (bits, sine, cosine) = both_single(x);
    let y = V::select(x.same(V::of(0.0)), x, in_quadrant(bits, sine, cosine));
    let is_near = x.abs().le(V::of(FAR_SINGLE));
    if V::any(!is_near) {
        return V::select(is_near, y, by_doubles!(sin_short, x));
    }
    y
}

/// As [`cos`], for singles. Less than 1.6 ulp; computed as doubles far from 0.
#[inline(always)]
pub(super) fn cos_single<V: Singles>(x: V) -> V {
    let (bits, sine, cosine) = both_single(x);
    let y = in_quadrant(bits.add_bits(V::of_bits(1)), sine, cosine);
    let is_near = x.abs().le(V::of(FAR_SINGLE));
    if V::any(!is_near) {
        return V::select(is_near, y, by_doubles!(cos_short, x));
    }
    y
}

/// As [`tan`], for singles computed as doubles. Less than 0.51 ulp.
#[inline(always)]
pub(super) fn tan_single<V: Singles>(x: V) -> V {
    by_doubles!(tan_short, x)
}

/// The part of a number that counts: `x - n/2` for the nearest whole number `n` of quarters of a turn, after
/// a float whose low bits are `n`.
#[inline(always)]
fn quarters<V: Lanes>(x: V) -> (V, V) {
    // Modulo 2, without a rounding error.
    let half = x * V::of(0.5);
    let large = V::of(4503599627370496.0);
    let nearest = ((half.abs() + large) - large).copysign(x);
    let turns = V::select(half.abs().lt(large), nearest, half);
    let rest = x - (turns + turns);
    let bits = (rest + rest) + V::of(6755399441055744.0);
    let n = bits - V::of(6755399441055744.0);
    (bits, n.neg_mul_add(V::of(0.5), rest))
}

/// Sine and cosine of `pi x` for `|x| <= 1/4`.
#[inline(always)]
fn both_of_pi<V: Lanes>(x: V) -> (V, V) {
    let (sine, cosine) = sine_of_half_turns(x.abs());
    (sine.copysign(x), cosine)
}

/// `sin(pi x)`; exact at multiples of 1/2. Less than 1 ulp.
#[inline(always)]
pub(super) fn sinpi<V: Lanes>(x: V) -> V {
    let (bits, r) = quarters(x);
    let (sine, cosine) = both_of_pi(r);
    let y = in_quadrant(bits, sine, cosine);
    // Of a whole number 0, with the sign of the number, and of what is next to 0 a product.
    let y = V::select(y.same(V::of(0.0)), y.copysign(x), y);
    let y = V::select(x.abs().lt(V::of(1e-290)), small_of_pi(x), y);
    x.keep_nan(V::select(x.abs().lt(V::of(f64::INFINITY)), y, V::of(f64::NAN)))
}

/// `pi x` for a tiny `x`.
#[inline(always)]
fn small_of_pi<V: Lanes>(x: V) -> V {
    // Scaled, as the rest of the product would be lost.
    let raised = x * V::of(1.157920892373162e77);
    let product = raised.mul_add(V::of(c::PI[0]), raised * V::of(c::PI[1]));
    product * V::of(8.636168555094445e-78)
}

/// `cos(pi x)`; exact at multiples of 1/2. Less than 1 ulp.
#[inline(always)]
pub(super) fn cospi<V: Lanes>(x: V) -> V {
    let (bits, r) = quarters(x);
    let (sine, cosine) = both_of_pi(r);
    let y = in_quadrant(bits.add_bits(V::of_bits(1)), sine, cosine);
    let y = V::select(y.same(V::of(0.0)), V::of(0.0), y);
    x.keep_nan(V::select(x.abs().lt(V::of(f64::INFINITY)), y, V::of(f64::NAN)))
}

/// `tan(pi x)`; exact at multiples of 1/4, NaN halfway between whole numbers, as R has it. Less than 2 ulp.
#[inline(always)]
pub(super) fn tanpi<V: Lanes>(x: V) -> V {
    let (bits, r) = quarters(x);
    let (sine, cosine) = both_of_pi(r);
    let y = ratio(bits, sine, cosine);
    let is_quarter = r.abs().same(V::of(0.25));
    let sign = V::of(1.0).copysign(r);
    let y = V::select(is_quarter, V::select(is_odd(bits), sign.negate(), sign), y);
    let is_pole = is_odd(bits) & r.same(V::of(0.0));
    let y = V::select(y.same(V::of(0.0)), y.copysign(x), V::select(is_pole, V::of(f64::NAN), y));
    let y = V::select(x.abs().lt(V::of(1e-290)), small_of_pi(x), y);
    x.keep_nan(V::select(x.abs().lt(V::of(f64::INFINITY)), y, V::of(f64::NAN)))
}

/// As [`sinpi`], for singles computed as doubles. Less than 0.51 ulp.
#[inline(always)]
pub(super) fn sinpi_single<V: Singles>(x: V) -> V {
    by_doubles!(sinpi, x)
}

/// As [`cospi`], for singles computed as doubles. Less than 0.51 ulp.
#[inline(always)]
pub(super) fn cospi_single<V: Singles>(x: V) -> V {
    by_doubles!(cospi, x)
}

/// As [`tanpi`], for singles computed as doubles. Less than 0.51 ulp.
#[inline(always)]
pub(super) fn tanpi_single<V: Singles>(x: V) -> V {
    by_doubles!(tanpi, x)
}
