//! Cholesky factors, by halves (Gustavson, *Recursion leads to automatic variable blocking*, 1997): nearly all
//! work is in products.

use super::scalar::{conjugate, multiply_lower, Real, Scalar};
use super::triangular::{self, Triangle};
use super::view::{MatMut, MatRef};
use crate::kernels::products::matrix::Sums;
use crate::kernels::wide::{wide_loop, Loop};
use crate::stop;

/// Rows that are factorised column by column.
const BASE: usize = 16;

/// Replaces the lower triangle of a Hermitian matrix by its factor `l`, with a positive diagonal and
/// `l * l^H` the matrix. The upper triangle is neither read nor written. Gives the number of the first column
/// whose pivot is not positive, if there is one; what is in the triangle then is of no use.
pub fn factorise<T: Scalar>(a: MatMut<T>) -> Result<(), usize> {
    let n = a.rows();
    if n <= BASE {
        return wide_loop(Columns(a));
    }
    stop::work(n);
    let half = (n / 2).next_multiple_of(BASE);
    let [[mut first, _], [mut below, mut last]] = a.split(half, half);
    factorise(first.again())?;
    // below * first^-H: transposed, an equation with the conjugate of the factor.
    let lower = Triangle { lower: true, unit: false };
    if T::COMPLEX {
        let conjugated = conjugate(first.read());
        triangular::solve(MatRef::new(&conjugated, [half, half], half), lower, below.again().transposed());
    } else {
        triangular::solve(first.read(), lower, below.again().transposed());
    }
    subtract_square(last.again(), below.read());
    factorise(last).map_err(|at| half + at)
}

/// The lower triangle of `out - x * x^H`, and some elements above it.
fn subtract_square<T: Scalar>(out: MatMut<T>, x: MatRef<T>) {
    let conjugated = if T::COMPLEX { conjugate(x) } else { vec![] };
    let other = if T::COMPLEX { MatRef::new(&conjugated, x.sizes, x.rows()) } else { x }.transposed();
    multiply_lower(out, x, other, Sums::Subtract);
}

/// The factor, one column after the other. All are of the same length, a few vectors; what they have above the
/// diagonal means nothing.
struct Columns<'a, T>(MatMut<'a, T>);

impl<T: Scalar> Loop for Columns<'_, T> {
    type Made = Result<(), usize>;

    #[inline(always)]
    fn run(self) -> Result<(), usize> {
        let mut a = self.0;
        let n = a.rows();
        let mut l = [[T::ZERO; BASE]; BASE];
        let lies_by_column = a.strides[0] == 1;
        for at in 0..n {
            if lies_by_column {
                l[at][at..n].copy_from_slice(&a.column(at)[at..]);
            } else {
                let row = a.read().transposed().column(at);
                (0..=at).for_each(|j| l[j][at] = row[j]);
            }
        }
        for j in 0..n {
            let mut column = l[j];
            for from in &l[..j] {
                let factor = from[j].conj();
                for (to, &from) in column.iter_mut().zip(from) {
                    *to -= from * factor;
                }
            }
            let pivot = column[j].re();
            // Not for NaN either.
            if !(pivot > T::Real::ZERO && pivot.is_finite()) {
                return Err(j);
            }
            let root = pivot.root();
            let inverse = T::Real::ONE / root;
            for x in &mut column {
                *x = x.times(inverse);
            }
            column[j] = T::real(root);
            l[j] = column;
        }
        let mut turned = a.transposed();
        for at in 0..n {
            if lies_by_column {
                turned.again().transposed().column(at)[at..].copy_from_slice(&l[at][at..n]);
            } else {
                let row = turned.column(at);
                (0..=at).for_each(|j| row[j] = l[j][at]);
            }
        }
        Ok(())
    }
}
