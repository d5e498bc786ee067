//! Cholesky factors, by halves (Gustavson, *Recursion leads to automatic variable blocking*, 1997): nearly all
//! work is in products.

use super::scalar::{conjugate, multiply, Real, Scalar};
use super::triangular::{self, Triangle};
use super::view::{MatMut, MatRef};
use crate::kernels::products::matrix::Sums;
use crate::kernels::wide::{wide_loop, Loop};
use crate::stop;

/// Rows that are factorised column by column.
const BASE: usize = 16;

/// Columns of the lower triangle that are updated by one product.
const PANEL: usize = 96;

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
fn subtract_square<T: Scalar>(mut out: MatMut<T>, x: MatRef<T>) {
    let [n, k] = x.sizes;
    let conjugated = if T::COMPLEX { conjugate(x) } else { vec![] };
    let other = if T::COMPLEX { MatRef::new(&conjugated, x.sizes, n) } else { x }.transposed();
    for start in (0..n).step_by(PANEL) {
        let columns = start..n.min(start + PANEL);
        let panel = out.again().block(start..n, columns.clone());
        multiply(panel, x.block(start..n, 0..k), other.block(0..k, columns), Sums::Subtract);
    }
}

/// The factor, one column after the other.
struct Columns<'a, T>(MatMut<'a, T>);

impl<T: Scalar> Loop for Columns<'_, T> {
    type Made = Result<(), usize>;

    #[inline(always)]
    fn run(self) -> Result<(), usize> {
        let mut a = self.0;
        let n = a.rows();
        for j in 0..n {
            for k in 0..j {
                let factor = a.at(j, k).conj();
                let [from, to] = a.two_columns(k, j);
                to[j..].iter_mut().zip(&from[j..]).for_each(|(to, &from)| *to -= from * factor);
            }
            let pivot = a.at(j, j).re();
            // Not for NaN either.
            if !(pivot > T::Real::ZERO && pivot.is_finite()) {
                return Err(j);
            }
            let root = pivot.root();
            let inverse = T::Real::ONE / root;
            let column = &mut a.column(j)[j..];
            column[0] = T::real(root);
            column[1..].iter_mut().for_each(|x| *x = x.times(inverse));
        }
        Ok(())
    }
}
