//! The absolute value of complex numbers, given their parts.

use super::lanes::{Doubles, Lanes, Singles};
use super::macros::by_doubles;

/// `2^exponent`.
#[inline]
const fn power(exponent: i64) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// The absolute value of `re + im i`. Nothing overflows or underflows on the way if the result does not; it is Inf if a
/// part is infinite, whatever the other is, and NaN if a part is NaN else.
///
/// Squares are taken with their rounding errors, of parts that are multiplied with a power of 2 where they are large or
/// small.
#[inline(always)]
pub(super) fn magnitude<V: Doubles>(re: V, im: V) -> V {
    let (x, y) = (re.abs(), im.abs());
    let large = V::select(y.lt(x), x, y);
    let (above, below) = (V::of(power(400)).le(large), large.lt(V::of(power(-400))));
    // Takes parts whose squares would overflow or lose digits to where they do not.
    let (far, near, one) = (V::of(power(700)), V::of(power(-700)), V::of(1.0));
    let by = V::select(below, far, V::select(above, near, one));
    let back = V::select(below, near, V::select(above, far, one));
    let ((p, dp), (q, dq)) = (square(x * by), square(y * by));
    // The larger square is added last, to the sum of all that is small next to it.
    let is_first = q.lt(p);
    let (high, low) = (V::select(is_first, p, q), V::select(is_first, q, p));
    special(x, y, (dp + dq + low + high).sqrt() * back)
}

/// As [`magnitude`]: squares of singles are exact doubles, so that the sum is rounded once.
#[inline(always)]
pub(super) fn magnitude_single<V: Singles>(re: V, im: V) -> V {
    by_doubles!(root, re, im)
}

#[inline(always)]
fn root<V: Doubles>(re: V, im: V) -> V {
    let (x, y) = (re.abs(), im.abs());
    special(x, y, (x * x + y * y).sqrt())
}

/// The absolute value of parts without signs where one of them is infinite or NaN, or this root.
#[inline(always)]
fn special<V: Lanes>(x: V, y: V, root: V) -> V {
    // A sum keeps the bits by which R's `NA` is told from NaN.
    let finite = V::select(x.is_nan() | y.is_nan(), x + y, root);
    let infinity = V::of(f64::INFINITY);
    V::select(x.same(infinity) | y.same(infinity), infinity, finite)
}

/// A square and its rounding error: T. J. Dekker's, as not all processors have a fused product.
#[inline(always)]
fn square<V: Doubles>(x: V) -> (V, V) {
    let split = x * V::of(((1_u64 << 27) + 1) as f64);
    let high = split - (split - x);
    let low = x - high;
    let product = x * x;
    (product, high * high - product + V::of(2.0) * high * low + low * low)
}

#[cfg(test)]
mod tests {
    use crate::dtype::{Element, Float};
    use crate::kernels::math::{pair, Computed, MAGNITUDE};

    fn magnitude<T: Computed>(re: T, im: T) -> T {
        pair(&MAGNITUDE, re, im)
    }

    fn ends<T: Float>(ends: &[f64]) -> Vec<T> {
        ends.iter().flat_map(|&x| [T::of(x), T::of(-x)]).collect()
    }

    fn is_hypot<T: Computed + Element>(numbers: &[T], ulps: f64) {
        for &x in numbers {
            for &y in numbers {
                let (got, want) = (magnitude(x, y).f64(), libm::hypot(x.f64(), y.f64()));
                let rounded = T::of(want).f64();
                let unit = if size_of::<T>() == 4 { 2f64.powi(-23) } else { 2f64.powi(-52) };
                let smallest = if size_of::<T>() == 4 { 2f64.powi(-149) } else { f64::from_bits(1) };
                let near = (got - rounded).abs() <= ulps * (rounded * unit).max(smallest);
                assert!(
                    got == rounded || near || got.is_nan() && want.is_nan(),
                    "|{x:?} + {y:?}i|: {got} is not {want}"
                );
            }
        }
    }

    #[test]
    fn it_is_that_of_the_hypotenuse_whatever_the_parts() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        let ordinary: Vec<f64> = (0..60).map(|i| 1.37f64.powi(i - 30) * (1.0 + f64::from(i) / 7.0)).collect();
        let far: Vec<f64> =
            (-1074..1024).step_by(23).map(|i| 2f64.powi(i / 2) * 1.7 * 2f64.powi(i - i / 2)).collect();
        let special = [
            0.0,
            inf,
            nan,
            f64::MAX,
            f64::MAX / 2.0,
            f64::MIN_POSITIVE,
            f64::from_bits(1),
            f64::from_bits(3),
        ];
        let single =
            [f64::from(f32::MAX), f64::from(f32::MIN_POSITIVE), 2f64.powi(-149), 3.0 * 2f64.powi(-149)];
        let all = [&ordinary[..], &far, &special, &single].concat();
        is_hypot::<f64>(&ends(&all), 1.0);
        is_hypot::<f32>(&ends(&all), 1.0);
    }

    #[test]
    fn an_infinite_part_counts_more_than_one_that_is_not_a_number() {
        assert_eq!(magnitude(f32::INFINITY, f32::NAN), f32::INFINITY);
        assert_eq!(magnitude(f64::NAN, f64::NEG_INFINITY), f64::INFINITY);
        assert!(magnitude(f64::NAN, 0.0).is_nan());
        assert_eq!(magnitude(-0.0f64, 0.0).to_bits(), 0);
        assert_eq!(magnitude(3f32, -4.0), 5.0);
        let far = 2f64.powi(1000);
        assert_eq!(magnitude(-5.0 * far, 12.0 * far), 13.0 * far);
    }
}
