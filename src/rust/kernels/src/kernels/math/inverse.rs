//! Inverse trigonometric and inverse hyperbolic functions. Coefficients: `tests/testdata/math/fit.py`.

use super::coefficients as c;
use super::lanes::{horner, polynomial, Lanes, Singles};
use super::log::log1p_of;
use super::macros::by_doubles;

/// Angle of the point (`x`, `y`) between 0 and a quarter turn; neither is negative, their sum is finite and
/// not 0. `SHORT`: good enough for singles.
///
/// Angles up to an eighth of a half turn are those of a polynomial; the others are differences from a quarter
/// or from an eighth of a turn, by one quotient: `atan(t) = pi/4 + atan((t - 1) / (t + 1)) = pi/2 - atan(1 /
/// t)`.
#[inline(always)]
fn angle<V: Lanes, const SHORT: bool>(y: V, x: V) -> V {
    let is_steep = x.lt(y);
    let (less, more) = (V::select(is_steep, x, y), V::select(is_steep, y, x));
    let is_middle = (V::of(0.414_213_562_373_095_03) * more).lt(less);
    let over = V::select(is_middle, less - more, less);
    let under = V::select(is_middle, less + more, more);
    let t = over / under;
    let z = t * t;
    let p = if SHORT { horner(z, &c::ATAN_SHORT) } else { polynomial(z, &c::ATAN) };
    let r = (t * z).mul_add(p, t);
    let r = V::select(is_steep, r.negate(), r);
    let zero = V::of(0.0);
    let eighth = [V::of(c::PI_4[0]), V::of(c::PI_4[1])];
    let quarter = [V::of(c::PI_2[0]), V::of(c::PI_2[1])];
    let from = |i: usize| V::select(is_middle, eighth[i], V::select(is_steep, quarter[i], zero));
    from(0) + (r + from(1))
}

#[inline(always)]
fn atan_of<V: Lanes, const SHORT: bool>(x: V) -> V {
    let size = x.abs();
    // Of an infinite number the quotient would not be one.
    let y = angle::<V, SHORT>(size.min(V::of(1e300)), V::of(1.0));
    x.keep_nan(y.copysign(x))
}

/// Inverse tangent. Less than 2 ulp.
#[inline(always)]
pub(super) fn atan<V: Lanes>(x: V) -> V {
    atan_of::<V, false>(x)
}

/// As [`atan`], for singles computed as doubles. Less than 0.51 ulp.
#[inline(always)]
pub(super) fn atan_single<V: Singles>(x: V) -> V {
    by_doubles!(atan_of::<_, true>, x)
}

#[inline(always)]
fn atan2_of<V: Lanes, const SHORT: bool>(y: V, x: V) -> V {
    let (mut up, mut right) = (y.abs(), x.abs());
    let (one, zero, infinity) = (V::of(1.0), V::of(0.0), V::of(f64::INFINITY));
    let most = V::select(right.lt(up), up, right);
    if V::any(!(zero.lt(most) & most.lt(V::of(1e300)))) {
        // Infinities are as 1 beside finite numbers, and large numbers smaller; so are two zeros (0, 1).
        let is_end = most.same(infinity);
        let shrink = |v: V| {
            V::select(
                is_end,
                V::select(v.same(infinity), one, zero),
                v * V::select(V::of(1e300).le(most), V::of(0.0625), one),
            )
        };
        (up, right) = (shrink(up), V::select(most.same(zero), one, shrink(right)));
    }
    let angle = angle::<V, SHORT>(up, right);
    let is_left = V::sign_mask().and(x).or(one).lt(zero);
    let angle = V::select(is_left, V::of(c::PI[0]) - (angle - V::of(c::PI[1])), angle).copysign(y);
    V::select(x.is_nan() | y.is_nan(), x + y, angle)
}

/// Angle of the point (`x`, `y`). Less than 2 ulp.
#[inline(always)]
pub(super) fn atan2<V: Lanes>(y: V, x: V) -> V {
    atan2_of::<V, false>(y, x)
}

/// As [`atan2`], for singles computed as doubles. Less than 0.51 ulp.
#[inline(always)]
pub(super) fn atan2_single<V: Singles>(y: V, x: V) -> V {
    by_doubles!(atan2_of::<_, true>, y, x)
}

/// NaN outside of [-1, 1].
#[inline(always)]
fn within_one<V: Lanes>(x: V, y: V) -> V {
    let is_inside = x.abs().le(V::of(1.0));
    if V::any(!is_inside) {
        return x.keep_nan(V::select(is_inside, y, V::of(f64::NAN)));
    }
    y
}

/// Whether `|x|` is beyond 1/2; and the inverse sine of `|x|`, or of the root of `(1 - |x|) / 2` if it is.
#[inline(always)]
fn half_arc<V: Lanes, const SHORT: bool>(x: V) -> (V::Mask, V) {
    let size = x.abs();
    let is_far = V::of(0.5).lt(size);
    let far = V::of(0.5) * (V::of(1.0) - size);
    let z = V::select(is_far, far, size * size);
    let t = V::select(is_far, far.sqrt(), size);
    let p = if SHORT { horner(z, &c::ASIN_SHORT) } else { polynomial(z, &c::ASIN) };
    (is_far, (t * z).mul_add(p, t))
}

#[inline(always)]
fn asin_of<V: Lanes, const SHORT: bool>(x: V) -> V {
    let (is_far, r) = half_arc::<V, SHORT>(x);
    let y = V::select(is_far, V::of(c::PI_2[0]) - (r + r - V::of(c::PI_2[1])), r);
    within_one(x, y.copysign(x))
}

/// Inverse sine. Less than 2 ulp.
#[inline(always)]
pub(super) fn asin<V: Lanes>(x: V) -> V {
    asin_of::<V, false>(x)
}

/// As [`asin`], for singles computed as doubles. Less than 0.51 ulp.
#[inline(always)]
pub(super) fn asin_single<V: Singles>(x: V) -> V {
    by_doubles!(asin_of::<_, true>, x)
}

#[inline(always)]
fn acos_of<V: Lanes, const SHORT: bool>(x: V) -> V {
    let (is_far, r) = half_arc::<V, SHORT>(x);
    let near = V::of(c::PI_2[0]) - (r.copysign(x) - V::of(c::PI_2[1]));
    let twice = r + r;
    let far = V::select(x.lt(V::of(0.0)), V::of(c::PI[0]) - (twice - V::of(c::PI[1])), twice);
    within_one(x, V::select(is_far, far, near))
}

/// Inverse cosine. Less than 2 ulp.
#[inline(always)]
pub(super) fn acos<V: Lanes>(x: V) -> V {
    acos_of::<V, false>(x)
}

/// As [`acos`], for singles computed as doubles. Less than 0.51 ulp.
#[inline(always)]
pub(super) fn acos_single<V: Singles>(x: V) -> V {
    by_doubles!(acos_of::<_, true>, x)
}

// ---- hyperbolic

/// Where `x^2` alone determines the root.
const LARGE: f64 = 1152921504606846976.0;

/// Inverse hyperbolic sine, `log(1 + x + x^2 / (1 + sqrt(1 + x^2)))`. Less than 2 ulp.
#[inline(always)]
pub(super) fn asinh<V: Lanes>(x: V) -> V {
    let (size, one) = (x.abs(), V::of(1.0));
    let is_large = !size.lt(V::of(LARGE));
    let square = size * size;
    let more = size + square / (one + (one + square).sqrt());
    let y = log1p_of(V::select(is_large, size, more), V::of(0.0));
    let y = if V::any(is_large) { V::select(is_large, y + V::of(std::f64::consts::LN_2), y) } else { y };
    let y = V::select(size.same(V::of(f64::INFINITY)), size, y);
    x.keep_nan(y.copysign(x))
}

/// As [`asinh`], for singles computed as doubles. Less than 0.51 ulp.
#[inline(always)]
pub(super) fn asinh_single<V: Singles>(x: V) -> V {
    by_doubles!(asinh, x)
}

/// Inverse hyperbolic cosine, `log(1 + t + sqrt(t (2 + t)))` with `t = x - 1`. Less than 2 ulp.
#[inline(always)]
pub(super) fn acosh<V: Lanes>(x: V) -> V {
    let one = V::of(1.0);
    let is_large = !x.lt(V::of(LARGE));
    let t = x - one;
    let more = t + (t * (x + one)).sqrt();
    let y = log1p_of(V::select(is_large, x, more), V::of(0.0));
    if V::any(is_large | x.lt(one)) {
        let y = V::select(is_large, y + V::of(std::f64::consts::LN_2), y);
        let y = V::select(x.same(V::of(f64::INFINITY)), x, y);
        return x.keep_nan(V::select(x.lt(one), V::of(f64::NAN), y));
    }
    y
}

/// As [`acosh`], for singles computed as doubles. Less than 0.51 ulp.
#[inline(always)]
pub(super) fn acosh_single<V: Singles>(x: V) -> V {
    by_doubles!(acosh, x)
}

/// Inverse hyperbolic tangent, half of `log(1 + 2 x + 2 x^2 / (1 - x))`. Less than 2 ulp.
#[inline(always)]
pub(super) fn atanh<V: Lanes>(x: V) -> V {
    let (size, one) = (x.abs(), V::of(1.0));
    let twice = size + size;
    let more = twice + twice * size / (one - size);
    let y = (V::of(0.5) * log1p_of(more, V::of(0.0))).copysign(x);
    if V::any(!size.lt(one)) {
        let y = V::select(size.same(one), V::of(f64::INFINITY).copysign(x), y);
        return x.keep_nan(V::select(one.lt(size), V::of(f64::NAN), y));
    }
    y
}

/// As [`atanh`], for singles computed as doubles. Less than 0.51 ulp.
#[inline(always)]
pub(super) fn atanh_single<V: Singles>(x: V) -> V {
    by_doubles!(atanh, x)
}
