//! Arithmetic and elementary functions of complex numbers in double precision; `c64` computes here too, and
//! rounds once, but for products and short powers, which are in the precision of the parts. Functions of real
//! numbers are those of the crate `libm`, as the system's give other bits on other systems.
//!
//! Values on branch cuts, at infinities and NaN are those of C99 (annex G): a cut belongs to the side that
//! the sign of zero says, and a number with an infinite part is infinite even if the other part is NaN. No
//! intermediate value overflows or underflows if the result does not. Error bounds are relative to the
//! absolute value of the result (so that a part may lose all its digits next to a much larger one) and held
//! by values from mpmath in `tests/testdata/special/complex_*.csv`.

mod arithmetic;

pub use arithmetic::{div, mul, quick_product, quick_quotient};
pub(super) use arithmetic::{LARGE, SMALL};

use crate::dtype::Float;
use num_complex::Complex;
use std::f64::consts::{FRAC_PI_2, LN_2};

type C = Complex<f64>;

const EPSILON: f64 = f64::EPSILON;
const INF: f64 = f64::INFINITY;

#[inline]
fn new(re: f64, im: f64) -> C {
    Complex::new(re, im)
}

/// `i * z`, exactly; `num_complex` would multiply, which makes NaN of infinities.
#[inline]
fn times_i(z: C) -> C {
    new(-z.im, z.re)
}

/// `z / i`, exactly.
#[inline]
fn over_i(z: C) -> C {
    new(z.im, -z.re)
}

// ---- arithmetic ----

/// Power, `z^w`: `z^0` is 1. By repeated multiplication for whole exponents up to 8 (as exact as the products:
/// `(1+2i)^2` is `-3+4i`); other powers of positive numbers are those of the parts. By repeated multiplication for
/// whole exponents up to 1024, else the exponential of `w` times the principal logarithm. At most 2 epsilon, times 1
/// and the sizes of the exponent and of the logarithm of the result. `0^w` is 0 for a `w` of positive real part.
pub fn pow(z: C, w: C) -> C {
    if w == new(0.0, 0.0) {
        return new(1.0, 0.0);
    }
    let zero = z == new(0.0, 0.0);
    let whole = w.im == 0.0 && w.re.fract() == 0.0 && w.re.abs() <= 1024.0;
    let is_short = whole && w.re.abs() <= SHORT && !(zero && w.re < 0.0);
    if !is_short && z.im == 0.0 && z.re >= 0.0 && w.im == 0.0 {
        return new(libm::pow(z.re, w.re), 0.0);
    }
    if !is_short && zero {
        let zero = if w.re > 0.0 { 0.0 } else { f64::NAN };
        return new(zero, zero);
    }
    if whole {
        let power = whole_power(z, w.re.abs() as u32);
        return if w.re < 0.0 { div(new(1.0, 0.0), power) } else { power };
    }
    exp(mul(w, ln(z)))
}

/// Whole exponents up to this are powers by repeated multiplication: as often as products are more exact than what is left.
const SHORT: f64 = 8.0;

/// `z^w`, if `w` is a whole number from 1 to 8, in the precision of the parts.
#[inline]
pub fn short_power<T: Float>(z: Complex<T>, w: Complex<T>) -> Option<Complex<T>> {
    let (n, im) = (w.re.f64(), w.im.f64());
    (im == 0.0 && n.fract() == 0.0 && (1.0..=SHORT).contains(&n)).then(|| whole_power(z, n as u32))
}

fn whole_power<T: Float>(z: Complex<T>, mut n: u32) -> Complex<T> {
    let (mut base, mut out) = (z, None);
    loop {
        if n & 1 == 1 {
            out = Some(out.map_or(base, |out| mul(out, base)));
        }
        n >>= 1;
        if n == 0 {
            return out.unwrap_or(Complex::new(T::of(1.0), T::of(0.0)));
        }
        base = mul(base, base);
    }
}

// ---- roots, logarithms, exponentials ----

/// Square root, of non-negative real part; the cut is along the negative real axis. At most 2 epsilon.
#[inline]
pub fn sqrt(z: C) -> C {
    let (x, y) = (z.re, z.im);
    if x == 0.0 && y == 0.0 {
        return new(0.0, y);
    }
    if y.is_infinite() {
        return new(INF, y);
    }
    if x.is_nan() || (y.is_nan() && x.is_finite()) {
        return new(f64::NAN, f64::NAN);
    }
    if x.is_infinite() {
        // NaN beside an infinity stays, but for its sign that of the part is kept.
        let nan_or_zero = y - y;
        return if x > 0.0 {
            new(x, if y.is_nan() { y } else { 0f64.copysign(y) })
        } else {
            new(nan_or_zero.abs(), INF.copysign(y))
        };
    }
    // Powers of four, so that the root of the factor is exact.
    let (x, y, back) = match x.abs().max(y.abs()) {
        size if size > f64::MAX / 8.0 => (x / 16.0, y / 16.0, 4.0),
        size if size < 1e-290 => (x * 2f64.powi(108), y * 2f64.powi(108), 2f64.powi(-54)),
        _ => (x, y, 1.0),
    };
    let t = ((x.abs() + libm::hypot(x, y)) * 0.5).sqrt();
    let other = y.abs() / (2.0 * t);
    let (re, im) = if x >= 0.0 { (t, other) } else { (other, t) };
    new(re * back, im.copysign(y) * back)
}

/// The square and its rounding error (T. J. Dekker, "A floating-point technique for extending the available precision",
/// Numerische Mathematik 18, 1971), of a number below 2.
#[inline(always)]
fn square(x: f64) -> (f64, f64) {
    const SPLIT: f64 = 134_217_729.0; // 2^27 + 1
    let far = SPLIT * x;
    let high = far - (far - x);
    let (low, p) = (x - high, x * x);
    (p, ((high * high - p) + 2.0 * high * low) + low * low)
}

/// `x^2 + y^2 - 1` without the cancellation, for an `x` near 1 and a `y` that is not larger; its size, and whether it is
/// so small that [`log1p`](libm::log1p) should have it.
#[inline(always)]
pub fn beyond_unit(x: f64, y: f64) -> (f64, bool) {
    // Squares with their rounding errors, and sums with theirs.
    let ((p, dp), (q, dq)) = (square(x), square(y));
    let a = p - 1.0;
    let sum = a + q;
    let b = sum - a;
    let lost = (a - (sum - b)) + (q - b) + (p - (a + 1.0));
    let out = sum + (lost + dp + dq);
    (out, (0.5..=1.5).contains(&x) && out.abs() < 0.75)
}

/// Logarithm by `log`, in units of which `e` has `unit`.
fn log_by(z: C, log: fn(f64) -> f64, unit: f64) -> C {
    let (large, small) = (z.re.abs().max(z.im.abs()), z.re.abs().min(z.im.abs()));
    let is_number = !(z.re.is_nan() || z.im.is_nan());
    let re = match beyond_unit(large, small) {
        (beyond, true) if is_number => 0.5 * libm::log1p(beyond) * unit,
        _ => {
            // Powers of two keep the absolute value in range, and its digits if it is subnormal.
            let shift = if large > 1e300 {
                -64
            } else if large < 1e-290 {
                64
            } else {
                0
            };
            let by = 2f64.powi(shift);
            log(libm::hypot(z.re * by, z.im * by)) - f64::from(shift) * log(2.0)
        }
    };
    new(re, libm::atan2(z.im, z.re) * unit)
}

/// Natural logarithm; the cut is along the negative real axis. At most 2 epsilon.
#[inline]
pub fn ln(z: C) -> C {
    log_by(z, libm::log, 1.0)
}

/// Logarithm to base 2. At most 4 epsilon.
#[inline]
pub fn log2(z: C) -> C {
    log_by(z, libm::log2, std::f64::consts::LOG2_E)
}

/// Logarithm to base 10. At most 4 epsilon.
#[inline]
pub fn log10(z: C) -> C {
    log_by(z, libm::log10, std::f64::consts::LOG10_E)
}

/// `e^x` times `(re, im)`, where `e^x` may overflow and the product not.
fn scaled_exp(x: f64, re: f64, im: f64) -> C {
    if x > 700.0 {
        let (first, rest) = (libm::exp(700.0), libm::exp(x - 700.0));
        return new(first * re * rest, first * im * rest);
    }
    let e = libm::exp(x);
    new(e * re, e * im)
}

/// `e^x / 2` times two numbers, for an `x` above 700. Half of a number itself may be 0.
#[inline]
fn half_exp(x: f64, re: f64, im: f64) -> C {
    let (first, rest) = (0.5 * libm::exp(700.0), libm::exp(x - 700.0));
    new(first * re * rest, first * im * rest)
}

/// Exponential. At most 2 epsilon.
#[inline]
pub fn exp(z: C) -> C {
    let (x, y) = (z.re, z.im);
    if y == 0.0 {
        return new(libm::exp(x), y);
    }
    if !y.is_finite() && x.is_infinite() {
        return if x < 0.0 { new(0.0, 0.0) } else { new(x, f64::NAN) };
    }
    scaled_exp(x, libm::cos(y), libm::sin(y))
}

// ---- hyperbolic and trigonometric functions ----

/// Hyperbolic sine. At most 2 epsilon.
pub fn sinh(z: C) -> C {
    let (x, y) = (z.re, z.im);
    if y == 0.0 {
        return new(libm::sinh(x), y);
    }
    if !y.is_finite() {
        return new(if x == 0.0 || x.is_infinite() { x } else { f64::NAN }, f64::NAN);
    }
    if x.abs() > 700.0 {
        // Half of the exponential, as far as a double can tell.
        return half_exp(x.abs(), 1f64.copysign(x) * libm::cos(y), libm::sin(y));
    }
    new(libm::sinh(x) * libm::cos(y), libm::cosh(x) * libm::sin(y))
}

/// Hyperbolic cosine. At most 2 epsilon.
pub fn cosh(z: C) -> C {
    let (x, y) = (z.re, z.im);
    let zero = || 0f64.copysign(x) * 1f64.copysign(y);
    if y == 0.0 {
        return new(libm::cosh(x), zero());
    }
    if !y.is_finite() {
        return if x == 0.0 {
            new(f64::NAN, zero())
        } else if x.is_infinite() {
            new(INF, f64::NAN)
        } else {
            new(f64::NAN, f64::NAN)
        };
    }
    if x.abs() > 700.0 {
        return half_exp(x.abs(), libm::cos(y), 1f64.copysign(x) * libm::sin(y));
    }
    new(libm::cosh(x) * libm::cos(y), libm::sinh(x) * libm::sin(y))
}

/// Hyperbolic tangent. At most 3 epsilon.
///
/// # Sources
/// W. Kahan, "Branch cuts for complex elementary functions, or: much ado about nothing's sign bit" (1987).
pub fn tanh(z: C) -> C {
    let (x, y) = (z.re, z.im);
    if y == 0.0 {
        return new(libm::tanh(x), y);
    }
    if x.is_infinite() {
        let sign = if y.is_finite() { libm::sin(y) * libm::cos(y) } else { y };
        return new(1f64.copysign(x), 0f64.copysign(sign));
    }
    if !y.is_finite() {
        return new(if x == 0.0 { x } else { f64::NAN }, f64::NAN);
    }
    // The real part is 1 to the last digit, and the formula below would overflow.
    if x.abs() > 22.0 {
        let e = libm::exp(-x.abs());
        return new(1f64.copysign(x), 4.0 * libm::sin(y) * libm::cos(y) * e * e);
    }
    let t = libm::tan(y);
    let (beta, s) = (1.0 + t * t, libm::sinh(x));
    let rho = (1.0 + s * s).sqrt();
    if t.is_infinite() {
        return new(rho / s, 1.0 / t);
    }
    let over = 1.0 + beta * s * s;
    new(beta * rho * s / over, t / over)
}

/// Sine, `sinh(iz) / i`. At most 2 epsilon.
#[inline]
pub fn sin(z: C) -> C {
    over_i(sinh(times_i(z)))
}

/// Cosine, `cosh(iz)`. At most 2 epsilon.
#[inline]
pub fn cos(z: C) -> C {
    cosh(times_i(z))
}

/// Tangent, `tanh(iz) / i`. At most 3 epsilon.
#[inline]
pub fn tan(z: C) -> C {
    over_i(tanh(times_i(z)))
}

// ---- their inverses ----

/// The parts of the inverse sine and cosine of a point of the first quadrant.
struct Parts {
    /// The imaginary part of both.
    im: f64,
    /// The real part as an angle of this sine, where that is accurate;
    sine: Option<f64>,
    /// and as the angle of this point: its adjacent and its opposite side, for the cosine.
    sides: (f64, f64),
}

/// `(hypot(a, b) - b) / 2` without cancellation.
fn half_excess(a: f64, b: f64, hypot: f64) -> f64 {
    if b < 0.0 {
        (hypot - b) / 2.0
    } else if b == 0.0 {
        a / 2.0
    } else {
        a * a / (hypot + b) / 2.0
    }
}

/// The parts for `x, y >= 0`, finite and not huge.
///
/// # Sources
/// T. E. Hull, T. F. Fairgrieve, P. T. P. Tang, "Implementing the complex arcsine and arccosine functions
/// using exception handling", ACM Transactions on Mathematical Software 23 (1997).
fn inverse_parts(x: f64, y: f64) -> Parts {
    // The foci of the ellipses are at -1 and 1: distances to them, and half of the major axis.
    let (r, s) = (libm::hypot(x + 1.0, y), libm::hypot(x - 1.0, y));
    let a = ((r + s) / 2.0).max(1.0);
    let im = if a < 10.0 {
        if x == 1.0 && y < EPSILON * EPSILON / 128.0 {
            y.sqrt()
        } else if y >= EPSILON * (x - 1.0).abs() {
            let beyond = half_excess(y, 1.0 + x, r) + half_excess(y, 1.0 - x, s);
            libm::log1p(beyond + (beyond * (a + 1.0)).sqrt())
        } else if x < 1.0 {
            y / ((1.0 - x) * (1.0 + x)).sqrt()
        } else {
            libm::log1p((x - 1.0) + ((x - 1.0) * (x + 1.0)).sqrt())
        }
    } else {
        libm::log(a + (a * a - 1.0).sqrt())
    };
    // Products below would be subnormal: both sides of the angle are made larger.
    if x < 4.0 * f64::MIN_POSITIVE.sqrt() {
        return Parts { im, sine: None, sides: (a * (2.0 / EPSILON), x * (2.0 / EPSILON)) };
    }
    let b = x / a;
    if b <= 0.6417 {
        return Parts { im, sine: Some(b), sides: (0.0, 0.0) };
    }
    let sides = if x == 1.0 && y < EPSILON / 128.0 {
        (y.sqrt() * ((a + x) / 2.0).sqrt(), x)
    } else if y >= EPSILON * (x - 1.0).abs() {
        let less = half_excess(y, x + 1.0, r) + half_excess(y, x - 1.0, s);
        ((less * (a + x)).sqrt(), x)
    } else if x > 1.0 {
        let up = 4.0 / EPSILON / EPSILON;
        (y * up * x / ((x + 1.0) * (x - 1.0)).sqrt(), x * up)
    } else {
        (((1.0 - x) * (1.0 + x)).sqrt(), x)
    };
    Parts { im, sine: None, sides }
}

/// Beyond this the inverse functions are logarithms to the last digit.
const HUGE: f64 = 1.0 / EPSILON;

/// Inverse sine; the cuts are along the real axis, beyond -1 and 1. At most 2 epsilon.
pub fn asin(z: C) -> C {
    let (x, y) = (z.re.abs(), z.im.abs());
    let signed = |re: f64, im: f64| new(re.copysign(z.re), im.copysign(z.im));
    if x.is_nan() || y.is_nan() {
        return match (x, y) {
            _ if x.is_infinite() => new(f64::NAN, z.re),
            _ if y.is_infinite() => new(f64::NAN, z.im),
            _ if x == 0.0 => new(z.re, f64::NAN),
            _ => new(f64::NAN, f64::NAN),
        };
    }
    if x > HUGE || y > HUGE {
        return signed(libm::atan2(x, y), ln(new(x, y)).re + LN_2);
    }
    // Here the result is its argument, whose digits the sums with 1 would lose.
    if x < EPSILON && y < EPSILON {
        return z;
    }
    let parts = inverse_parts(x, y);
    let re = parts.sine.map_or_else(|| libm::atan2(parts.sides.1, parts.sides.0), libm::asin);
    signed(re, parts.im)
}

/// Inverse cosine; the cuts are those of [`asin`]. At most 2 epsilon.
pub fn acos(z: C) -> C {
    let (x, y) = (z.re.abs(), z.im.abs());
    let negative = z.re.is_sign_negative();
    let im = |im: f64| if z.im.is_sign_negative() { im } else { -im };
    if x.is_nan() || y.is_nan() {
        return match (x, y) {
            _ if x.is_infinite() => new(f64::NAN, -INF),
            _ if y.is_infinite() => new(f64::NAN, -z.im),
            _ if x == 0.0 => new(FRAC_PI_2, f64::NAN),
            _ => new(f64::NAN, f64::NAN),
        };
    }
    if x > HUGE || y > HUGE {
        return new(libm::atan2(y, z.re), im(ln(new(x, y)).re + LN_2));
    }
    if x < EPSILON && y < EPSILON {
        return new(FRAC_PI_2 - z.re, -z.im);
    }
    let parts = inverse_parts(x, y);
    let re = match parts.sine {
        Some(b) => libm::acos(if negative { -b } else { b }),
        None => libm::atan2(parts.sides.0, if negative { -parts.sides.1 } else { parts.sides.1 }),
    };
    new(re, im(parts.im))
}

/// Inverse hyperbolic sine, `asin(iz) / i`; the cuts are along the imaginary axis, beyond -i and i. At most
/// 2 epsilon.
#[inline]
pub fn asinh(z: C) -> C {
    over_i(asin(times_i(z)))
}

/// Inverse hyperbolic cosine, of non-negative real part; the cut is along the real axis, below 1. At most
/// 2 epsilon.
pub fn acosh(z: C) -> C {
    let w = acos(z);
    // The real part is what is not the angle; NaN has no sign to be told by.
    let (re, im) = match (w.re.is_nan(), w.im.is_nan()) {
        (true, true) => (w.im, w.re),
        (true, false) => (w.im.abs(), w.re),
        (false, true) => (w.im, w.im),
        (false, false) => (w.im.abs(), w.re.copysign(z.im)),
    };
    new(re, im)
}

/// Inverse hyperbolic tangent; the cuts are along the real axis, beyond -1 and 1. At most 2 epsilon.
///
/// # Sources
/// Kahan, as in [`tanh`].
pub fn atanh(z: C) -> C {
    let (x, y) = (z.re.abs(), z.im.abs());
    let signed = |re: f64, im: f64| new(re.copysign(z.re), im.copysign(z.im));
    if x == 0.0 {
        return new(z.re, libm::atan(z.im));
    }
    if y == 0.0 && x <= 1.0 {
        return new(libm::atanh(z.re), z.im);
    }
    if y.is_infinite() {
        return signed(0.0, FRAC_PI_2);
    }
    if x.is_infinite() {
        return new(0f64.copysign(z.re), if y.is_nan() { y } else { FRAC_PI_2.copysign(z.im) });
    }
    if x.is_nan() || y.is_nan() {
        return new(f64::NAN, f64::NAN);
    }
    if x > HUGE || y > HUGE {
        // The real part is that of 1 / z.
        return signed(div(new(1.0, 0.0), new(x, y)).re, FRAC_PI_2);
    }
    if x < EPSILON && y < EPSILON {
        return z;
    }
    let beside = 1.0 - x;
    let re = if x == 1.0 && y < EPSILON {
        (LN_2 - libm::log(y)) / 2.0
    } else {
        // A `y` whose square is nothing counts for nothing unless `x` is 1, which is above.
        libm::log1p(4.0 * x / (beside * beside + y * y)) / 4.0
    };
    let im = if x == 1.0 {
        libm::atan2(2.0, -y) / 2.0
    } else {
        libm::atan2(2.0 * y, beside * (1.0 + x) - y * y) / 2.0
    };
    signed(re, im)
}

/// Inverse tangent, `atanh(iz) / i`; the cuts are along the imaginary axis, beyond -i and i. At most
/// 2 epsilon.
#[inline]
pub fn atan(z: C) -> C {
    over_i(atanh(times_i(z)))
}

#[cfg(test)]
mod tests;
