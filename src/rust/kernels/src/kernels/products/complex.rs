//! Products of complex matrices by one product of real ones.
//!
//! Of `A = Ar + i Ai` and `B = Br + i Bi` it is `[Ar, -Ai; Ai, Ar] * [Br; Bi]`, whose upper half are the real parts of
//! `A * B` and whose lower half the imaginary ones: as many multiplications, at the speed of real numbers.

use super::matrix::{Block, Matrix};
use crate::dtype::Element;
use crate::kernels::memory::room::Room;
use num_complex::Complex;
use std::ops::Neg;

/// A product of matrices, `lhs [m, k]`, `rhs [k, n]`, none of these 0.
type Dot<T> = fn(Matrix<T>, Matrix<T>, [usize; 3], Block<T>);

/// `out = lhs * rhs` for `lhs [m, k]`, `rhs [k, n]`, none of these 0, by the product of real matrices.
pub fn by_parts<T: Element + Neg<Output = T>>(
    lhs: Matrix<Complex<T>>,
    rhs: Matrix<Complex<T>>,
    [m, k, n]: [usize; 3],
    mut out: Block<Complex<T>>,
    dot: Dot<T>,
) where
    Complex<T>: Element,
{
    let mut left = Room::<T>::zeroed(4 * m * k);
    let (real, imaginary) = left.split_at_mut(2 * m * k);
    let columns = real.chunks_exact_mut(2 * m).zip(imaginary.chunks_exact_mut(2 * m));
    for (l, (first, second)) in columns.enumerate() {
        let ((upper, lower), (minus, plus)) = (first.split_at_mut(m), second.split_at_mut(m));
        for i in 0..m {
            let z = lhs.get(i, l);
            (upper[i], lower[i], minus[i], plus[i]) = (z.re, z.im, -z.im, z.re);
        }
    }
    let mut right = Room::<T>::zeroed(2 * k * n);
    for (j, column) in right.chunks_exact_mut(2 * k).enumerate() {
        let (real, imaginary) = column.split_at_mut(k);
        for l in 0..k {
            let z = rhs.get(l, j);
            (real[l], imaginary[l]) = (z.re, z.im);
        }
    }
    let mut product = Room::<T>::zeroed(2 * m * n);
    let made = Block::new(&mut product, [2 * m, n], [1, 2 * m]);
    dot(Matrix::dense(&left, 2 * m), Matrix::dense(&right, 2 * k), [2 * m, 2 * k, n], made);
    for (j, column) in product.chunks_exact(2 * m).enumerate() {
        let (real, imaginary) = column.split_at(m);
        for (i, (&re, &im)) in real.iter().zip(imaginary).enumerate() {
            out.set(i, j, Complex::new(re, im));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type C = Complex<f64>;

    fn numbers(n: usize, from: usize) -> Vec<C> {
        let part = |i: usize| ((i * 7919 + 13) % 1013) as f64 / 512.0 - 1.0;
        (from..from + n).map(|i| Complex::new(part(2 * i), part(2 * i + 1))).collect()
    }

    /// A product of real matrices.
    fn plain(lhs: Matrix<f64>, rhs: Matrix<f64>, [m, k, n]: [usize; 3], mut out: Block<f64>) {
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            out.set(i, j, (0..k).map(|l| lhs.get(i, l) * rhs.get(l, j)).sum());
        }
    }

    /// Products are the sums of products, with the same bits however the operands lie.
    #[test]
    fn products_are_sums_of_products_wherever_operands_lie() {
        for [m, k, n] in [[1, 1, 1], [2, 2, 70], [3, 5, 1], [1, 40, 9], [17, 33, 20], [70, 2, 65]] {
            let (x, y) = (numbers(m * k, 1), numbers(k * n, 999));
            let turned = |x: &[C], rows: usize, columns: usize| -> Vec<C> {
                (0..x.len()).map(|i| x[i / columns + i % columns * rows]).collect()
            };
            let (xt, yt) = (turned(&x, m, k), turned(&y, k, n));
            let mut made = vec![];
            for (x, y) in [
                (Matrix::dense(&x, m), Matrix::dense(&y, k)),
                (Matrix::dense(&xt, k).transposed(), Matrix::dense(&yt, n).transposed()),
            ] {
                let mut out = vec![C::default(); m * n];
                by_parts(x, y, [m, k, n], Block::new(&mut out, [m, n], [1, m]), plain);
                made.push(out);
            }
            assert_eq!(made[0], made[1]);
            for (at, got) in made[0].iter().enumerate() {
                let (i, j) = (at % m, at / m);
                let want: C = (0..k).map(|l| x[i + l * m] * y[l + j * k]).sum();
                assert!((got - want).norm() < 1e-13, "{got} is not {want}");
            }
        }
    }
}
