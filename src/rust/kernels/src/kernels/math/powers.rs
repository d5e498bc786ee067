//! Powers with short exponents: products of the base or its reciprocal, and of their roots.
//!
//! A program whose exponent is known runs these products as ops of their own, which join with the ops around
//! them. So they are the meaning of the power, for an exponent in a tensor too, in this order and no other.
//!
//! A factor of a product has a relative error of one rounding, `u = 2^-53` or `2^-24`, and each product adds
//! one: `x^n` is within `(n - 1) u`, `x^-n` within `(2 n - 1) u`, the others within `3.5 u`. As one ulp is at
//! least `u`, and the last rounding is half an ulp, they are within `n - 1.5`, `2 n - 1.5` and 3 ulps. Nothing
//! overflows or underflows on the way to a result that does not: an `x^k` that is subnormal is multiplied by
//! numbers below 1, and the reciprocal is taken first, since that of a power may be 0 where the result is not.

use super::lanes::Lanes;
use super::root::sqrt;

/// What a power with a short exponent is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Steps {
    /// Whether its factors are reciprocals.
    pub inverse: bool,
    /// Whether the square root is one more factor.
    pub root: bool,
    /// How often the base, or its reciprocal, is a factor.
    pub factors: u32,
}

impl Steps {
    /// Those of an exponent, if it is short: -4 to -1, 2 to 8, and -1.5, -0.5, 0.5, 1.5 and 2.5.
    pub fn of(exponent: f64) -> Option<Steps> {
        let whole = exponent.trunc() == exponent;
        let twice = exponent + exponent;
        let short = if whole {
            (-4.0..=8.0).contains(&exponent) && exponent != 0.0 && exponent != 1.0
        } else {
            twice.trunc() == twice && (-1.5..=2.5).contains(&exponent)
        };
        short.then(|| Steps { inverse: exponent < 0.0, root: !whole, factors: exponent.abs() as u32 })
    }
}

/// Where an exponent is short.
#[inline(always)]
pub(super) fn is_short<V: Lanes>(y: V) -> V::Mask {
    let within = |low: f64, high: f64| V::of(low).le(y) & y.le(V::of(high));
    let twice = y + y;
    let (whole, halves) = (y.whole().0.same(y), twice.whole().0.same(twice));
    within(-4.0, 8.0) & halves & ((whole & !within(0.0, 1.0)) | (!whole & within(-1.5, 2.5)))
}

/// `x^y` where `y` is short.
#[inline(always)]
pub(super) fn short_power<V: Lanes>(x: V, y: V) -> V {
    let (one, size) = (V::of(1.0), y.abs());
    let rooted = !y.whole().0.same(y);
    // No root of -0 or of -Inf is taken: powers that are not whole do not see these signs.
    let base = V::select(x.same(V::of(f64::NEG_INFINITY)), V::of(f64::INFINITY), x + V::of(0.0));
    let base = V::select(rooted, base, x);
    let is_inverse = y.lt(V::of(0.0));
    let b = V::select(is_inverse, one / base, base);
    let square = b * b;
    let cube = square * b;
    let fourth = square * square;
    let sixth = cube * cube;
    // The reciprocal of a number may overflow where that of its root does not.
    let root = sqrt(V::select(size.same(V::of(0.5)), base, b));
    let powers = [
        (0.5, V::select(is_inverse, one / root, root)),
        (1.5, b * root),
        (2.5, square * root),
        (2.0, square),
        (3.0, cube),
        (4.0, fourth),
        (5.0, fourth * b),
        (6.0, sixth),
        (7.0, sixth * b),
        (8.0, fourth * fourth),
    ];
    powers.iter().fold(b, |found, &(n, power)| V::select(size.same(V::of(n)), power, found))
}
