//! Products of matrices with long sums and few results, such as `t(X) %*% X` of many observations.
//!
//! Both operands are read once, along their columns, in blocks that stay in the second-level cache; an
//! operand that lies otherwise is copied block by block. A sum is computed in blocks of [`BLOCK`] products,
//! each in `L` lanes, of which the later half is added to the earlier until one is left; blocks are added in
//! double precision, in order, first those of a piece, then pieces. Threads take pieces, so the bits do not
//! depend on them. The product of a matrix with itself is symmetric: one half is computed, with the bits that
//! it has in the other.

use super::inner_products::products;
use super::matrix::{Matrix, MULTIPLY_ADD};
use super::symmetric::is_of_itself;
use crate::dtype::Float;
use crate::kernels::threads::pool;
use crate::kernels::tile::gather_run;
use std::ops::Range;

/// Products in a block.
const BLOCK: usize = 256;

/// Products in a piece of work for a thread.
const PIECE: usize = 32 * BLOCK;

/// Rows or columns of a result, at most: for more, partial sums by the kernels of general products take less time. Of
/// 100,000 rows of singles, us for 10 columns: 299 here and 333 there, of a matrix with itself 182 and 331; for 16 columns
/// 605 and 273, with itself 361 and 251 (AMD EPYC, Zen 4).
pub const MAX_SIDE: usize = 10;

/// `out = lhs * rhs`, column-major, for `lhs [m, k]`, `rhs [k, n]`, none of these 0; `L` elements are a
/// vector.
pub fn crossprod<F: Float, const L: usize>(
    lhs: Matrix<F>,
    rhs: Matrix<F>,
    [m, k, n]: [usize; 3],
    out: &mut [F],
) {
    // Columns of both.
    let (x, y) = (lhs.transposed(), rhs);
    let symmetric = is_of_itself(&lhs, &rhs, m, n);
    let mut sums = vec![0.0; k.div_ceil(PIECE) * m * n];
    pool::for_each_chunk(&mut sums, m * n, (k * m * n).saturating_mul(MULTIPLY_ADD), |piece, sums| {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let end = ((piece + 1) * PIECE).min(k);
        for start in (piece * PIECE..end).step_by(BLOCK) {
            let range = start..(start + BLOCK).min(end);
            let x = columns(x, range.clone(), m, &mut left);
            if symmetric {
                block::<F, L>(&x, &x, true, sums);
            } else {
                block::<F, L>(&x, &columns(y, range, n, &mut right), false, sums);
            }
        }
    });
    for (i, out) in out.iter_mut().enumerate() {
        let (row, column) = (i % m, i / m);
        let i = if symmetric && row > column { column + row * m } else { i };
        *out = F::of(sums[i..].iter().step_by(m * n).sum());
    }
}

/// Some rows of the columns of a matrix, each in one line.
fn columns<'a, F: Float>(
    x: Matrix<'a, F>,
    rows: Range<usize>,
    count: usize,
    scratch: &'a mut Vec<F>,
) -> Vec<&'a [F]> {
    let n = rows.len();
    if x.strides[0] == 1 {
        return (0..count).map(|j| &x.data[x.at(rows.start, j)..][..n]).collect();
    }
    scratch.resize(n * count, F::of(0.0));
    for (j, column) in scratch.chunks_exact_mut(n).enumerate() {
        gather_run(x.data, x.at(rows.start, j) as isize, x.strides[0], column);
    }
    scratch.chunks_exact(n).collect()
}

/// Adds the products of a block: of all pairs, or with `half` of those whose second is not before the first
/// (and a few others).
fn block<F: Float, const L: usize>(x: &[&[F]], y: &[&[F]], half: bool, sums: &mut [f64]) {
    let m = x.len();
    for j in (0..y.len()).step_by(2) {
        let rows = if half { m.min(j + 2) } else { m };
        for i in (0..rows).step_by(4) {
            let (tall, broad) = (i + 4 <= m, j + 2 <= y.len());
            match (tall, broad) {
                (true, true) => add::<F, L, 4, 2>(&x[i..], &y[j..], i + j * m, m, sums),
                (true, false) => add::<F, L, 4, 1>(&x[i..], &y[j..], i + j * m, m, sums),
                (false, _) => {
                    for (i, j) in (i..m).flat_map(|i| (j..y.len().min(j + 2)).map(move |j| (i, j))) {
                        add::<F, L, 1, 1>(&x[i..], &y[j..], i + j * m, m, sums);
                    }
                }
            }
        }
    }
}

/// Adds the products of the first `R` and the first `C` columns.
fn add<F: Float, const L: usize, const R: usize, const C: usize>(
    x: &[&[F]],
    y: &[&[F]],
    at: usize,
    m: usize,
    sums: &mut [f64],
) {
    let made = products::<F, L, R, C>(std::array::from_fn(|i| x[i]), std::array::from_fn(|j| y[j]));
    for (i, row) in made.iter().enumerate() {
        for (j, &value) in row.iter().enumerate() {
            sums[at + i + j * m] += value.f64();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_depend_on_neither_strides_nor_symmetry() {
        for (m, k) in [(1, 9000), (5, 8200), (20, 10_000), (23, 8193)] {
            let x: Vec<f32> = (0..m * k).map(|i| ((i * 7919) % 1013) as f32 / 1013.0 - 0.5).collect();
            let (copy, mut turned) = (x.clone(), vec![0f32; m * k]);
            (0..m * k).for_each(|i| turned[i / k + i % k * m] = x[i]);
            let run = |lhs: Matrix<f32>| {
                let mut out = vec![f32::NAN; m * m];
                crossprod::<f32, 8>(lhs, Matrix::dense(&x, k), [m, k, m], &mut out);
                out
            };
            let itself = run(Matrix::dense(&x, k).transposed());
            assert_eq!(itself, run(Matrix::dense(&copy, k).transposed()));
            assert_eq!(itself, run(Matrix::dense(&turned, m)));
            for (i, j) in (0..m).flat_map(|i| (0..m).map(move |j| (i, j))) {
                let products = (0..k).map(|l| x[l + i * k] as f64 * x[l + j * k] as f64);
                let (want, size) =
                    products.fold((0.0, 0.0), |(sum, size): (f64, f64), p| (sum + p, size + p.abs()));
                // Lanes of a block have 32 products, and one rounding of the result follows.
                let bound = 64.0 * f64::from(f32::EPSILON) * size;
                assert!((f64::from(itself[i + j * m]) - want).abs() <= bound, "{m} {k} {i} {j}");
            }
        }
    }
}
