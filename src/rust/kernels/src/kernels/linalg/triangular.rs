//! Equations with a triangular matrix.
//!
//! The triangle is halved until [`BASE`] rows are left, so that nearly all work is in products (Elmroth and
//! others, *Recursive blocked algorithms and hybrid data structures*, 2004). There several right-hand sides
//! are solved by substitution at once, one in each lane.

use super::scalar::{multiply, Scalar};
use super::view::{MatMut, MatRef};
use crate::kernels::products::matrix::{Sums, MULTIPLY_ADD};
use crate::kernels::threads::{self, pool};
use crate::kernels::wide::{wide_loop, Loop};
use crate::stop;

/// Rows that are solved by substitution.
const BASE: usize = 16;

/// Right-hand sides that are solved at once.
const LANES: usize = 16;

/// Which triangle of a square matrix is read, and whether its diagonal is taken as 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Triangle {
    /// The lower one, else the upper one.
    pub lower: bool,
    /// Whether the elements on the diagonal are not read, but 1.
    pub unit: bool,
}

/// Solves `triangle * x = b` for `x [n, m]`, which holds `b` before. A zero on the diagonal gives infinite
/// and undefined elements, as division by zero does. Threads share the columns of `x`.
pub fn solve<T: Scalar>(matrix: MatRef<T>, triangle: Triangle, x: MatMut<T>) {
    let [n, m] = x.sizes;
    assert!(matrix.sizes == [n, n], "matrices that do not fit");
    let shared = (n * n / 2 * m).saturating_mul(MULTIPLY_ADD) >= pool::WORTH_SHARING;
    let columns = if shared { m.div_ceil(threads::threads()).next_multiple_of(LANES) } else { m.max(1) };
    let all = super::scalar::Shared(x);
    pool::for_each_piece(m.div_ceil(columns), shared, |piece| {
        let at = piece * columns;
        // SAFETY: pieces have no columns in common.
        let x = unsafe { all.block(0..n, at..m.min(at + columns)) };
        halves(matrix, triangle, x);
    });
}

fn halves<T: Scalar>(matrix: MatRef<T>, triangle: Triangle, x: MatMut<T>) {
    let n = x.rows();
    if n <= BASE {
        return substitute(matrix, triangle, x);
    }
    stop::work(n);
    let half = (n / 2).next_multiple_of(BASE);
    let [upper, lower] = [0..half, half..n];
    let [mut above, mut below] = x.split_rows(half);
    if triangle.lower {
        halves(matrix.block(upper.clone(), upper.clone()), triangle, above.again());
        multiply(below.again(), matrix.block(lower.clone(), upper), above.read(), Sums::Subtract);
        halves(matrix.block(lower.clone(), lower), triangle, below);
    } else {
        halves(matrix.block(lower.clone(), lower.clone()), triangle, below.again());
        multiply(above.again(), matrix.block(upper.clone(), lower), below.read(), Sums::Subtract);
        halves(matrix.block(upper.clone(), upper), triangle, above);
    }
}

/// The triangle of a base, row by row in the order in which they are solved, and its diagonal.
struct Base<T> {
    rows: [[T; BASE]; BASE],
    diagonal: [T; BASE],
    divides: bool,
}

fn substitute<T: Scalar>(matrix: MatRef<T>, triangle: Triangle, mut x: MatMut<T>) {
    let [n, m] = x.sizes;
    let place = |i: usize| if triangle.lower { i } else { n - 1 - i };
    let mut base = Base { rows: [[T::ZERO; BASE]; BASE], diagonal: [T::ONE; BASE], divides: false };
    for i in 0..n {
        (0..i).for_each(|k| base.rows[i][k] = matrix.at(place(i), place(k)));
        if !triangle.unit {
            base.diagonal[i] = matrix.at(place(i), place(i));
        }
    }
    // Products with reciprocals are faster than quotients, unless these are out of range.
    let inverse = base.diagonal.map(|x| T::ONE.over(x));
    base.divides = !inverse[..n].iter().all(|x| x.is_finite());
    if !base.divides {
        base.diagonal = inverse;
    }
    let mut columns = 0;
    while columns < m {
        let count = LANES.min(m - columns);
        let mut block = x.again().block(0..n, columns..columns + count);
        if count == 1 {
            wide_loop(Lines::<T, 1> { base: &base, x: &mut block, place: &place });
        } else {
            wide_loop(Lines::<T, LANES> { base: &base, x: &mut block, place: &place });
        }
        columns += count;
    }
}

/// Substitution for as many right-hand sides as there are lanes, or less.
struct Lines<'a, 'b, T, const L: usize> {
    base: &'a Base<T>,
    x: &'a mut MatMut<'b, T>,
    place: &'a dyn Fn(usize) -> usize,
}

impl<T: Scalar, const L: usize> Loop for Lines<'_, '_, T, L> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let Lines { base, x, place } = self;
        let [n, m] = x.sizes;
        let mut lines = [[T::ZERO; L]; BASE];
        for (i, line) in lines.iter_mut().enumerate().take(n) {
            (0..m).for_each(|j| line[j] = x.at(place(i), j));
        }
        for i in 0..n {
            let mut sum = lines[i];
            for (line, &factor) in lines[..i].iter().zip(&base.rows[i]) {
                sum.iter_mut().zip(line).for_each(|(sum, &x)| *sum -= factor * x);
            }
            let by = base.diagonal[i];
            if base.divides {
                sum.iter_mut().for_each(|x| *x = x.over(by));
            } else {
                sum.iter_mut().for_each(|x| *x *= by);
            }
            lines[i] = sum;
        }
        for (i, line) in lines.iter().enumerate().take(n) {
            (0..m).for_each(|j| x.set(place(i), j, line[j]));
        }
    }
}
