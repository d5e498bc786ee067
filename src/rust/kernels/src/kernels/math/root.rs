//! Roots.

use super::coefficients as c;
use super::lanes::{horner, Lanes, Singles};
use super::macros::by_doubles;

/// Square root, correctly rounded.
#[inline(always)]
pub(super) fn sqrt<V: Lanes>(x: V) -> V {
    let y = x.sqrt();
    if V::any(!V::of(0.0).le(x)) {
        return x.keep_nan(V::select(x.lt(V::of(0.0)), V::of(f64::NAN), y));
    }
    y
}

/// Reciprocal square root. Less than 2 ulp.
#[inline(always)]
pub(super) fn rsqrt<V: Lanes>(x: V) -> V {
    let y = V::of(1.0) / x.sqrt();
    // Last, since a compiler may give a NaN that goes through arithmetic any sign.
    if V::any(!V::of(0.0).le(x)) {
        return x.keep_nan(V::select(x.lt(V::of(0.0)), V::of(f64::NAN), y));
    }
    y
}

/// Cube root of a positive normal number: that of its fraction by a polynomial and two steps of Newton's and
/// Halley's methods, times the third of its exponent.
#[inline(always)]
fn positive_cbrt<V: Lanes>(x: V) -> V {
    let exponent = x.shr(V::FRACTION);
    let k = exponent.or(V::either(4503599627370496.0, 8388608.0))
        - V::either(4503599627370496.0 + 1023.0, 8388608.0 + 127.0);
    let fraction = x.and(V::of_bits((1 << V::FRACTION) - 1)).or(V::of_bits(V::ONE));
    // k = 3 third + j, with j one of -1, 0, 1.
    let (third, _) = (k * V::of(1.0 / 3.0)).whole();
    let j = k - V::of(3.0) * third;
    let m = fraction
        * V::select(j.lt(V::of(0.0)), V::of(0.5), V::select(V::of(0.0).lt(j), V::of(2.0), V::of(1.0)));
    let root = V::select(
        j.lt(V::of(0.0)),
        V::of(1.0 / c::CBRT_2[0]),
        V::select(V::of(0.0).lt(j), V::of(c::CBRT_2[0]), V::of(1.0)),
    );
    let y = horner(fraction, &c::CBRT) * root;
    // Halley: y (y^3 + 2 m) / (2 y^3 + m).
    let cube = y * y * y;
    let y = y + y * (m - cube) / (cube + cube + m);
    // Newton, with the cube as a sum of two floats.
    let square = y * y;
    let square_low = y.mul_add(y, square.negate());
    let left = square.neg_mul_add(y, m) - square_low * y;
    let y = y + left / (V::of(3.0) * square);
    y * third.power_of_two()
}

/// Cube root, with the sign of its argument. Less than 1 ulp.
#[inline(always)]
pub(super) fn cbrt<V: Lanes>(x: V) -> V {
    let size = x.abs();
    let smallest = V::of_bits(1 << V::FRACTION);
    if V::any(!(smallest.le(size) & size.lt(V::of(f64::INFINITY)))) {
        let is_small = size.lt(smallest);
        let raised = V::select(is_small, size * V::of(18014398509481984.0), size);
        let y = positive_cbrt(raised) * V::select(is_small, V::of(1.0 / 262144.0), V::of(1.0));
        let is_end = size.same(V::of(0.0)) | size.same(V::of(f64::INFINITY));
        return x.keep_nan(V::select(is_end, x, y.copysign(x)));
    }
    positive_cbrt(size).copysign(x)
}

/// As [`cbrt`], for singles computed as doubles. Less than 0.51 ulp.
#[inline(always)]
pub(super) fn cbrt_single<V: Singles>(x: V) -> V {
    by_doubles!(cbrt, x)
}
