//! Products and quotients of complex numbers.

use super::{new, C, EPSILON, INF};
use crate::dtype::Float;
use num_complex::Complex;

/// A number of this size, with the sign of another one.
#[inline]
fn signed<T: Float>(size: f64, x: T) -> T {
    T::of(size.copysign(x.f64()))
}

#[inline]
fn is_boundless<T: Float>(x: T) -> bool {
    x.f64().is_infinite()
}

/// 1 with the sign of an infinite part, 0 with that of a finite one.
#[inline]
fn boxed<T: Float>(z: Complex<T>) -> Complex<T> {
    let part = |x: T| signed(if is_boundless(x) { 1.0 } else { 0.0 }, x);
    Complex::new(part(z.re), part(z.im))
}

#[inline]
pub(super) fn is_infinite<T: Float>(z: Complex<T>) -> bool {
    is_boundless(z.re) || is_boundless(z.im)
}

/// Product. At most 2 epsilon; an infinite factor gives an infinite product unless the other is 0 or NaN.
#[inline]
pub fn mul<T: Float>(z: Complex<T>, w: Complex<T>) -> Complex<T> {
    let (out, is_rare) = quick_product(z, w);
    if !is_rare {
        return out;
    }
    infinite_product(z, w).unwrap_or(out)
}

/// The product by the formula, and whether it is none.
#[inline(always)]
pub fn quick_product<T: Float>(z: Complex<T>, w: Complex<T>) -> (Complex<T>, bool) {
    let out = product(z, w);
    (out, (out.re != out.re) & (out.im != out.im))
}

#[inline(always)]
fn product<T: Float>(z: Complex<T>, w: Complex<T>) -> Complex<T> {
    Complex::new(z.re * w.re - z.im * w.im, z.re * w.im + z.im * w.re)
}

/// The product where the formula gave no number, if it is infinite all the same.
#[cold]
#[inline(never)]
fn infinite_product<T: Float>(z: Complex<T>, w: Complex<T>) -> Option<Complex<T>> {
    let numbers = |z: Complex<T>| {
        // A NaN beside an infinity counts as 0.
        let part = |x: T| if x != x { signed(0.0, x) } else { x };
        Complex::new(part(z.re), part(z.im))
    };
    let (mut a, mut b) = (z, w);
    if is_infinite(a) {
        (a, b) = (boxed(a), numbers(b));
    }
    if is_infinite(b) {
        (a, b) = (numbers(a), boxed(b));
    }
    let infinite = is_infinite(z) || is_infinite(w);
    // Finite factors whose products overflow to infinities of both signs.
    let overflows = [z.re * w.re, z.im * w.im, z.re * w.im, z.im * w.re].iter().any(|&x| is_boundless(x));
    if !infinite && !overflows {
        return None;
    }
    let out = product(numbers(a), numbers(b));
    Some(Complex::new(T::of(INF) * out.re, T::of(INF) * out.im))
}

/// Quotient. At most 2 epsilon; exactly that of the parts for a real divisor. Infinite over finite is
/// infinite, finite over infinite is 0, and so is a divisor of 0 no trouble but for 0 and NaN.
///
/// # Sources
/// M. Baudin, R. L. Smith, "A robust complex division in Scilab", arXiv:1210.4539 (2012).
#[inline]
pub fn div(z: C, w: C) -> C {
    let finite = z.re.is_finite() && z.im.is_finite() && w.re.is_finite() && w.im.is_finite();
    if !finite || w == new(0.0, 0.0) {
        return special_quotient(z, w);
    }
    let (mut z, mut w, mut scale) = (z, w, 1.0);
    // Large numbers are halved twice, small ones made larger by a power of two that leaves room for the
    // products.
    const UP: f64 = 2.0 / (EPSILON * EPSILON);
    let size = |z: C| z.re.abs().max(z.im.abs());
    if size(z) >= LARGE {
        (z, scale) = (z * 0.25, scale * 4.0);
    } else if size(z) <= SMALL {
        (z, scale) = (z * UP, scale / UP);
    }
    if size(w) >= LARGE {
        (w, scale) = (w * 0.25, scale * 0.25);
    } else if size(w) <= SMALL {
        (w, scale) = (w * UP, scale * UP);
    }
    let out = if w.im.abs() <= w.re.abs() {
        smith(z.re, z.im, w.re, w.im)
    } else {
        smith(z.im, z.re, w.im, w.re).conj()
    };
    out * scale
}

/// Numbers that are divided as they are have parts below this, and one above the other.
pub(in crate::kernels::math) const LARGE: f64 = f64::MAX / 4.0;
/// See [`LARGE`].
pub(in crate::kernels::math) const SMALL: f64 = f64::MIN_POSITIVE * 2.0 / EPSILON;

/// The quotient by [`smith`], and whether there is more to it: a number that is too large, too small or none, or a ratio
/// that underflows.
#[inline(always)]
pub fn quick_quotient(z: C, w: C) -> (C, bool) {
    let is_plain = |z: C| {
        let (re, im) = (z.re.abs(), z.im.abs());
        (re < LARGE) & (im < LARGE) & ((re > SMALL) | (im > SMALL))
    };
    let turned = w.im.abs() > w.re.abs();
    let choose = |yes: f64, no: f64| if turned { yes } else { no };
    let (a, b) = (choose(z.im, z.re), choose(z.re, z.im));
    let (c, d) = (choose(w.im, w.re), choose(w.re, w.im));
    let ratio = d / c;
    let over = c + d * ratio;
    let (re, im) = ((a + b * ratio) / over, (b + -a * ratio) / over);
    (
        new(re, choose(-im, im)),
        !((is_plain(z) | (z == new(0.0, 0.0))) & is_plain(w)) | (ratio == 0.0) & (d != 0.0),
    )
}

/// `(a + bi) / (c + di)` for `|d| <= |c|`.
fn smith(a: f64, b: f64, c: f64, d: f64) -> C {
    let ratio = d / c;
    let over = c + d * ratio;
    let part = |x: f64, y: f64| {
        // Where the ratio underflows, the product with it is taken in another order.
        let small = if ratio != 0.0 || d == 0.0 { y * ratio } else { d * (y / c) };
        (x + small) / over
    };
    new(part(a, b), part(b, -a))
}

/// Quotients of and by zeros, infinities and NaN.
#[cold]
fn special_quotient(z: C, w: C) -> C {
    let product = |z: C, w: C| new(z.re * w.re + z.im * w.im, z.im * w.re - z.re * w.im);
    let finite = |z: C| z.re.is_finite() && z.im.is_finite();
    if w == new(0.0, 0.0) && !(z.re.is_nan() && z.im.is_nan()) {
        let inf = INF.copysign(w.re);
        return new(inf * z.re, inf * z.im);
    }
    if is_infinite(z) && finite(w) {
        let out = product(boxed(z), w);
        return new(INF * out.re, INF * out.im);
    }
    if is_infinite(w) && finite(z) {
        let out = product(z, boxed(w));
        return new(0.0 * out.re, 0.0 * out.im);
    }
    new(f64::NAN, f64::NAN)
}
