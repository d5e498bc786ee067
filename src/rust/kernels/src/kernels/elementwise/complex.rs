//! Products and quotients of complex numbers, some at a time: by the formula that nearly all have, as vectors; where
//! one of them is an exception, one by one. All have the bits of [`complex::mul`] and [`complex::div`].

use crate::dtype::Cpx;
use crate::kernels::math::complex;
use crate::kernels::wide::wide;
use num_complex::Complex;

/// Numbers at a time: of doubles two vectors of AVX-512 for each part.
const BLOCK: usize = 16;

/// Combines numbers: `quick` gives that of two, and whether it is an exception, for which `each` gives it.
#[inline(always)]
fn combined<C: Cpx>(
    x: &[C],
    y: &[C],
    out: &mut [C],
    quick: impl Fn(C, C) -> (C, bool),
    each: impl Fn(C, C) -> C,
) {
    let n = out.len().min(x.len()).min(y.len());
    let (x, y, out) = (&x[..n], &y[..n], &mut out[..n]);
    let (mut blocks, xs, ys) = (out.chunks_exact_mut(BLOCK), x.chunks_exact(BLOCK), y.chunks_exact(BLOCK));
    let rest = xs.remainder().iter().zip(ys.remainder());
    for ((out, x), y) in (&mut blocks).zip(xs).zip(ys) {
        let mut rare = 0_u64;
        for i in 0..BLOCK {
            let (made, is_rare) = quick(x[i], y[i]);
            out[i] = made;
            rare |= u64::from(is_rare);
        }
        if rare != 0 {
            (0..BLOCK).for_each(|i| out[i] = each(x[i], y[i]));
        }
    }
    blocks.into_remainder().iter_mut().zip(rest).for_each(|(out, (x, y))| *out = each(*x, *y));
}

/// A number as its parts, which are computed on.
#[inline(always)]
fn parts<C: Cpx>(z: C) -> Complex<C::Part> {
    let (re, im) = z.parts();
    Complex::new(re, im)
}

/// The product, in the precision of the parts.
#[inline]
pub fn product<C: Cpx>(x: C, y: C) -> C {
    let made = complex::mul(parts(x), parts(y));
    C::new(made.re, made.im)
}

/// The power: products in the precision of the parts for whole exponents from 1 to 8.
#[inline]
pub fn power<C: Cpx>(x: C, y: C) -> C {
    match complex::short_power(parts(x), parts(y)) {
        Some(made) => C::new(made.re, made.im),
        None => x.map2(y, complex::pow),
    }
}

/// Products.
pub fn products<C: Cpx>(x: &[C], y: &[C], out: &mut [C]) {
    let quick = |x: C, y: C| {
        let (made, is_rare) = complex::quick_product(parts(x), parts(y));
        (C::new(made.re, made.im), is_rare)
    };
    wide(|| combined(x, y, out, quick, product));
}

/// Quotients.
pub fn quotients<C: Cpx>(x: &[C], y: &[C], out: &mut [C]) {
    let quick = |x: C, y: C| {
        let (made, is_rare) = complex::quick_quotient(x.convert(), y.convert());
        (C::from_c128(made), is_rare)
    };
    wide(|| combined(x, y, out, quick, |x, y| x.map2(y, complex::div)));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts of all kinds.
    const PARTS: [f64; 14] = [
        0.0,
        -0.0,
        1.0,
        -2.5,
        0.3,
        7e-200,
        f64::MIN_POSITIVE,
        5e-324,
        -1e160,
        f64::MAX,
        1e-17,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];

    fn check<C: Cpx + PartialEq + std::fmt::Debug>() {
        let numbers: Vec<C> =
            PARTS.iter().flat_map(|&re| PARTS.map(|im| C::from_c128(Complex::new(re, im)))).collect();
        let few: Vec<C> = [1.5, -0.25, 3.0].map(|re| C::from_c128(Complex::new(re, re - 1.0))).to_vec();
        let same = |x: C, y: C| {
            let bits = |z: C| {
                let z: Complex<f64> = z.convert();
                [z.re, z.im].map(|part| if part.is_nan() { 0 } else { part.to_bits() })
            };
            bits(x) == bits(y)
        };
        for shift in 0..numbers.len() {
            // Blocks with exceptions and without.
            let x: Vec<C> = (0..40).map(|i| if i == 20 { numbers[shift] } else { few[i % 3] }).collect();
            for y in [&numbers[..40], &numbers[100..140]] {
                let mut out = vec![few[0]; 40];
                products(&x, y, &mut out);
                assert!((0..40).all(|i| same(out[i], product(x[i], y[i]))));
                quotients(&x, y, &mut out);
                assert!((0..40).all(|i| same(out[i], x[i].map2(y[i], complex::div))));
                quotients(y, &x, &mut out);
                assert!((0..40).all(|i| same(out[i], y[i].map2(x[i], complex::div))));
            }
        }
    }

    #[test]
    fn products_and_quotients_are_those_one_by_one() {
        check::<Complex<f64>>();
        check::<Complex<f32>>();
    }
}
