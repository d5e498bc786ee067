//! Products and quotients of complex numbers whose parts lie apart: each part as a function of four numbers. They have
//! the bits of [`complex::mul`] and [`complex::div`].

use super::complex;
use super::lanes::{Doubles, Lanes, Singles, MOST_LANES};
use super::macros::by_doubles;
use num_complex::Complex;

// Functions of their own in the place of closures, which are not compiled for the instructions of their callers.

#[inline(always)]
fn is_infinite<V: Lanes>(x: V) -> V::Mask {
    x.abs().same(V::of(f64::INFINITY))
}

/// A part of a number as it counts in the product of an infinite one: infinite parts of that as 1, and finite ones as 0;
/// of another number a NaN as 0.
#[inline(always)]
fn counted<V: Lanes>(x: V, is_boxed: V::Mask) -> V {
    let zero = V::of(0.0);
    let finite = V::select(x.is_nan(), zero, x);
    V::select(is_boxed, V::select(is_infinite(x), V::of(1.0), zero), finite).copysign(x)
}

/// Whether both parts of a number are below [`complex::LARGE`], and one above [`complex::SMALL`].
#[inline(always)]
fn is_plain<V: Lanes>(x: V, y: V) -> V::Mask {
    let ((x, y), (large, small)) = ((x.abs(), y.abs()), (V::of(complex::LARGE), V::of(complex::SMALL)));
    x.lt(large) & y.lt(large) & (small.lt(x) | small.lt(y))
}

/// Real and imaginary part of the product of `a + bi` and `c + di`.
#[inline(always)]
fn product<V: Lanes>(a: V, b: V, c: V, d: V) -> (V, V) {
    let (re, im) = (a * c - b * d, a * d + b * c);
    let is_none = re.is_nan() & im.is_nan();
    if !V::any(is_none) {
        return (re, im);
    }
    // By annex G of C99: infinite if a factor is, or a product of parts, unless the other one is 0 or NaN.
    let (first, second) = (is_infinite(a) | is_infinite(b), is_infinite(c) | is_infinite(d));
    let overflows = is_infinite(a * c) | is_infinite(b * d) | is_infinite(a * d) | is_infinite(b * c);
    let (a, b, c, d) = (counted(a, first), counted(b, first), counted(c, second), counted(d, second));
    let (changes, infinity) = (is_none & (first | second | overflows), V::of(f64::INFINITY));
    let (x, y) = (infinity * (a * c - b * d), infinity * (a * d + b * c));
    (V::select(changes, x, re), V::select(changes, y, im))
}

/// Real and imaginary part of the quotient of `a + bi` and `c + di`, as [`complex::quick_quotient`] has them, and where it
/// has none.
#[inline(always)]
fn quotient<V: Doubles>(a: V, b: V, c: V, d: V) -> ((V, V), V::Mask) {
    let zero = V::of(0.0);
    let is_finite = is_plain(a, b) | a.same(zero) & b.same(zero);
    let plain = is_finite & is_plain(c, d);
    let turned = c.abs().lt(d.abs());
    let (a, b) = (V::select(turned, b, a), V::select(turned, a, b));
    let (c, d) = (V::select(turned, d, c), V::select(turned, c, d));
    let ratio = d / c;
    let over = c + d * ratio;
    let (re, im) = ((a + b * ratio) / over, (b + a.negate() * ratio) / over);
    let is_lost = ratio.same(zero) & !d.same(zero);
    ((re, V::select(turned, im.negate(), im)), !plain | is_lost)
}

/// A part of [`complex::div`] of each lane.
macro_rules! one_by_one {
    ($($x:ident),+; $part:ident) => {{
        let mut all = [[0.0; MOST_LANES]; 4];
        for (all, x) in all.iter_mut().zip([$($x),+]) {
            x.store(all);
        }
        let [mut a, b, c, d] = all;
        for i in 0..V::LANES {
            a[i] = complex::div(Complex::new(a[i], b[i]), Complex::new(c[i], d[i])).$part;
        }
        V::load(&a)
    }};
}

macro_rules! parts {
    ($($part:ident: $product:ident $quotient:ident $quotient_single:ident $at:tt;)+) => {$(
        /// This part of a product.
        #[inline(always)]
        pub(super) fn $product<V: Lanes>(a: V, b: V, c: V, d: V) -> V {
            product(a, b, c, d).$at
        }

        /// This part of a quotient.
        #[inline(always)]
        pub(super) fn $quotient<V: Doubles>(a: V, b: V, c: V, d: V) -> V {
            let (made, is_rare) = quotient(a, b, c, d);
            if V::any(is_rare) {
                return one_by_one!(a, b, c, d; $part);
            }
            made.$at
        }

        /// As that of doubles, rounded once.
        #[inline(always)]
        pub(super) fn $quotient_single<V: Singles>(a: V, b: V, c: V, d: V) -> V {
            by_doubles!($quotient, a, b, c, d)
        }
    )+};
}
parts! {
    re: product_real quotient_real quotient_real_single 0;
    im: product_imag quotient_imag quotient_imag_single 1;
}

#[cfg(test)]
mod tests {
    use super::complex;
    use crate::kernels::math::*;
    use num_complex::Complex;

    #[test]
    fn parts_are_those_of_products_and_quotients() {
        let ends = [0.0, 1.0, 0.3, 7e-200, f64::MIN_POSITIVE, 5e-324, 1e160, f64::MAX, 1e-17, f64::INFINITY];
        let mut all: Vec<f64> = ends.into_iter().flat_map(|x| [x, -x]).collect();
        all.push(f64::NAN);
        let numbers: Vec<Complex<f64>> =
            all.iter().flat_map(|&re| all.iter().map(move |&im| Complex::new(re, im))).collect();
        let parts = |numbers: &[Complex<f64>]| -> [Vec<f64>; 2] {
            [numbers.iter().map(|z| z.re).collect(), numbers.iter().map(|z| z.im).collect()]
        };
        let same = |got: f64, want: f64| got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
        let [a, b] = parts(&numbers);
        for shift in 0..numbers.len() {
            let others = [&numbers[shift..], &numbers[..shift]].concat();
            let [c, d] = parts(&others);
            let functions: [(&Kernel4, fn(Complex<f64>, Complex<f64>) -> f64); 4] = [
                (&PRODUCT_REAL, |z, w| complex::mul(z, w).re),
                (&PRODUCT_IMAG, |z, w| complex::mul(z, w).im),
                (&QUOTIENT_REAL, |z, w| complex::div(z, w).re),
                (&QUOTIENT_IMAG, |z, w| complex::div(z, w).im),
            ];
            for (kernel, want) in functions {
                let mut out = vec![0.0; numbers.len()];
                f64::map4(kernel, [&a, &b, &c, &d], &mut out);
                for ((&z, &w), &got) in numbers.iter().zip(&others).zip(&out) {
                    assert!(
                        same(got, want(z, w)),
                        "{kernel:?} of {z} and {w}: {got:e}, not {:e}",
                        want(z, w)
                    );
                }
            }
        }
    }
}
