//! Scalar arithmetic on floats, as the ops define it and the standard library does not.

use crate::dtype::{Float, Real};

/// Whether a number, or a part of a complex one, is NaN.
#[inline]
#[allow(clippy::eq_op)] // NaN is what is not equal to itself, in all types of numbers.
pub fn is_nan<T: PartialEq + Copy>(x: T) -> bool {
    x != x
}

/// Larger of two; NaN if either is, and `max(-0, 0)` is 0 (unlike C's `fmax`).
pub fn maximum<F: Real>(x: F, y: F) -> F {
    // No branches, so that loops become vectors.
    if (x != x) | (x > y) | ((x == y) & !x.sign_bit()) {
        x
    } else {
        y
    }
}

/// Smaller of two; NaN if either is, and `min(-0, 0)` is -0.
pub fn minimum<F: Real>(x: F, y: F) -> F {
    if (x != x) | (x < y) | ((x == y) & x.sign_bit()) {
        x
    } else {
        y
    }
}

/// -1, 0 or 1; keeps NaN and the sign of zero.
pub fn sign<F: Float>(x: F) -> F {
    if x > F::of(0.0) {
        F::of(1.0)
    } else if x < F::of(0.0) {
        F::of(-1.0)
    } else {
        x
    }
}

/// Remainder with the sign of the divisor, of zero too, R's `%%`: `x - floor(x / y) * y` without its rounding
/// errors.
pub fn modulo<F: Float>(x: F, y: F) -> F {
    let r = x % y;
    if r == F::of(0.0) {
        return zero_signed(y);
    }
    if r.sign_bit() != y.sign_bit() {
        r + y
    } else {
        r
    }
}

/// Remainder with the sign of the dividend, C's `fmod()`.
pub fn remainder<F: Float>(x: F, y: F) -> F {
    x % y
}

/// Zero with the sign of `x`.
fn zero_signed<F: Float>(x: F) -> F {
    if x.sign_bit() {
        F::of(-0.0)
    } else {
        F::of(0.0)
    }
}

/// Quotient rounded down, R's `%/%`, consistent with [`modulo`]: `floor_quotient(x, y) * y + modulo(x, y)` is
/// `x` up to one rounding. A zero divisor and an infinite dividend give what `/` gives, as in R; IEEE 754 has
/// no such function, and NumPy and PyTorch make NaN of an infinite dividend.
pub fn floor_quotient<F: Float>(x: F, y: F) -> F {
    let zero = F::of(0.0);
    // What is infinite or NaN has no difference from itself that is 0.
    if y == zero || x - x != zero || y != y {
        return x / y;
    }
    let r = x % y;
    let below = r != zero && r.sign_bit() != y.sign_bit();
    let exact = (x - r) / y - F::of(if below { 1.0 } else { 0.0 });
    let q = exact.floor();
    // (x - r) / y is a whole number up to rounding, which may fall just under it.
    let q = if exact - q > F::of(0.5) { q + F::of(1.0) } else { q };
    // The difference above has lost the sign of a zero.
    if q == zero {
        zero_signed(x / y)
    } else {
        q
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_keep_nan_and_order_zeros() {
        assert!(maximum(f32::NAN, 1.0).is_nan() && maximum(1.0, f32::NAN).is_nan());
        assert!(minimum(f64::NAN, 1.0).is_nan() && minimum(1.0, f64::NAN).is_nan());
        assert!(!maximum(-0.0f64, 0.0).sign_bit() && !maximum(0.0f64, -0.0).sign_bit());
        assert!(minimum(-0.0f64, 0.0).sign_bit() && minimum(0.0f64, -0.0).sign_bit());
        assert_eq!((maximum(1.0, 2.0), minimum(1.0, 2.0)), (2.0, 1.0));
    }

    #[test]
    fn modulo_follows_the_divisor() {
        assert_eq!(modulo(5.5f64, 2.0), 1.5);
        assert_eq!(modulo(-5.5f64, 2.0), 0.5);
        assert_eq!(modulo(5.5f64, -2.0), -0.5);
        assert_eq!(modulo(-1.0f64, f64::INFINITY), f64::INFINITY);
        assert!(modulo(1.0f64, 0.0).is_nan());
        for (x, y, q) in
            [(7.0f64, 2.0, 3.0), (-7.0, 2.0, -4.0), (7.0, -2.0, -4.0), (1.0, 0.1, 9.0), (0.3, 0.1, 2.0)]
        {
            assert_eq!(floor_quotient(x, y), q, "{x} %/% {y}");
        }
        assert_eq!(floor_quotient(f64::NEG_INFINITY, 2.0), f64::NEG_INFINITY);
        assert_eq!(floor_quotient(f32::INFINITY, -0.5), f32::NEG_INFINITY);
        assert!(floor_quotient(f64::INFINITY, f64::INFINITY).is_nan());
        assert_eq!(floor_quotient(1.0f64, 0.0), f64::INFINITY);
        assert_eq!(floor_quotient(-1.0f32, f32::INFINITY), -1.0);
        assert_eq!(floor_quotient(1.0f32, f32::INFINITY), 0.0);
    }
}
