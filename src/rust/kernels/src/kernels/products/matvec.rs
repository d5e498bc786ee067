//! Products of a matrix and a vector: memory is read once, along cache lines, for either layout of the
//! matrix.
//!
//! An element of the result is a sum of products, in tiles of [`TILE`] of them. The sum of a tile has as many
//! lanes as a cache line has elements, which are added two by two; the partial sums of tiles are added in
//! double precision, in order. Short sums have one lane. So the bits depend on the sizes and the values only:
//! not on strides, not on threads.

use super::inner_products::vector;
use super::lane_rows::{self, ROWS};
use super::lane_sums::{self, Vectors};
use super::matrix::Matrix;
use crate::dtype::{Element, Float};
use crate::kernels::memory::zeroed;
use crate::kernels::threads::{pool, threads};
use crate::kernels::tile::{gather_run, TILE};
use crate::kernels::wide::{wide_loop, Loop};

/// Products below which a sum has one lane.
pub const SHORT: usize = 64;

/// Results that are computed together where columns are contiguous.
const COLUMNS: usize = 64;

/// Results that are computed together where neither are: runs of columns that are long enough to be read at the
/// speed of memory, and few enough that their sums stay in the cache.
const TOGETHER: usize = 2048;

/// Elements of the matrix in a piece of work for a thread.
const PIECE: usize = 1 << 17;

/// Bytes of a matrix from which on it comes from memory.
const FAR: usize = 1 << 22;

/// About how long a byte of the matrix takes, in picoseconds, if it is in a cache: what comes from memory is
/// shared anyway.
pub const BYTE: usize = 16;

/// `out = matrix * x`, of as many rows as `out` has and as many columns as `x`.
pub(super) fn matvec<F: Vectors>(matrix: Matrix<F>, x: &[F], out: &mut [F]) {
    let (k, m) = (x.len(), out.len());
    if k == 0 || m == 0 {
        return out.fill(F::of(0.0));
    }
    let (group, size) = match far_rows(matrix, k, m) {
        Some(rows) => (rows, rows),
        None => {
            let group = group(matrix, k);
            (group, (PIECE / k.min(TILE)).min(m.div_ceil(threads())).next_multiple_of(group))
        }
    };
    let picoseconds = (k * m).saturating_mul(BYTE * size_of::<F>());
    if k <= TILE {
        return pool::for_each_chunk(out, size, picoseconds, |i, out| {
            partial_sums(matrix, x, k, [i * size, 0], out)
        });
    }
    // The first group of rows: the sums of its first tile, then of its second; then the next group.
    let count = k.div_ceil(TILE);
    let mut sums = zeroed::<F>(count * m);
    pool::for_each_chunk(&mut sums, size, picoseconds, |i, mut sums| {
        let mut at = i * size;
        while !sums.is_empty() {
            let first = at / (group * count) * group;
            let (rows, within) = (group.min(m - first), at - first * count);
            let (tile, row) = (within / rows, within % rows);
            let (now, later) = sums.split_at_mut(sums.len().min(rows - row));
            at += now.len();
            let range = tile * TILE..((tile + 1) * TILE).min(k);
            partial_sums(matrix, &x[range.clone()], k, [first + row, range.start], now);
            sums = later;
        }
    });
    out.chunks_mut(group).zip(sums.chunks(group * count)).for_each(|(out, sums)| add_partial_sums(sums, out));
}

/// Results that are computed together, and in a piece of work, if columns are contiguous and come from memory: as many as
/// are read well, or as few as threads can share.
fn far_rows<F>(matrix: Matrix<F>, k: usize, m: usize) -> Option<usize> {
    let is_far = matrix.strides[0] == 1 && (k * m).saturating_mul(size_of::<F>()) > FAR;
    let each = if k.div_ceil(TILE) < threads() { m.div_ceil(threads()).next_multiple_of(COLUMNS) } else { m };
    is_far.then_some(each.min(m).min(lane_sums::far_block::<F>()))
}

/// Results that are computed together.
fn group<F>(matrix: Matrix<F>, k: usize) -> usize {
    match matrix.strides {
        [_, 1] if k >= SHORT => ROWS,
        [1, _] => COLUMNS,
        _ => TOGETHER,
    }
}

/// A float with products of a matrix and a vector, by partial sums.
pub trait PartialSums: Float {
    /// Partial sums of the results from a row of the matrix on: of the `k` products of each, those from a
    /// column on, with as many elements of the vector, which are a tile or the rest of one.
    fn partial_sums(matrix: Matrix<Self>, x: &[Self], k: usize, at: [usize; 2], out: &mut [Self]);

    /// Adds the partial sums of results: those of the first tile, then of the next, one for each result.
    fn add_partial_sums(partials: &[Self], out: &mut [Self]);
}

macro_rules! floats {
    ($($float:ident)+) => {$(
        impl PartialSums for $float {
            fn partial_sums(matrix: Matrix<$float>, x: &[$float], k: usize, at: [usize; 2], out: &mut [$float]) {
                partial_sums(matrix, x, k, at, out)
            }
            fn add_partial_sums(partials: &[$float], out: &mut [$float]) {
                add_partial_sums(partials, out)
            }
        }
    )+};
}
floats! { f32 f64 }

fn partial_sums<F: Vectors>(matrix: Matrix<F>, x: &[F], k: usize, at: [usize; 2], out: &mut [F]) {
    // The elements of a cache line.
    match (k < SHORT, size_of::<F>()) {
        (true, _) => partial_sums_of::<F, 1>(matrix, x, k, at, out),
        (false, 4) => partial_sums_of::<F, 16>(matrix, x, k, at, out),
        _ => partial_sums_of::<F, 8>(matrix, x, k, at, out),
    }
}

fn partial_sums_of<F: Vectors, const L: usize>(
    matrix: Matrix<F>,
    x: &[F],
    k: usize,
    [row, column]: [usize; 2],
    out: &mut [F],
) {
    let from = matrix.from(row, column);
    match (L, matrix.strides) {
        (_, [1, _]) => return lane_sums::columns::<F, L>(from, x, out),
        (2.., [_, 1]) => return lane_rows::rows::<F, L>(from, x, out),
        _ => {}
    }
    let group = group(matrix, k);
    for (first, out) in (row..).step_by(group).zip(out.chunks_mut(group)) {
        match matrix.strides {
            [_, 1] => one_by_one(matrix, x, first, out),
            _ => down::<F, L>(matrix, x, column, first, out),
        }
    }
}

fn add_partial_sums<F: Float>(partials: &[F], out: &mut [F]) {
    let rows = out.len();
    for (i, out) in out.iter_mut().enumerate() {
        let partials = partials[i..].iter().step_by(rows);
        *out = partials.fold(F::Wide::of(0.0), |sum, partial| sum + partial.convert::<F::Wide>()).convert();
    }
}

/// Short sums, of one lane, for contiguous rows: in order, of few rows several at once.
fn one_by_one<F: Vectors>(matrix: Matrix<F>, x: &[F], first: usize, out: &mut [F]) {
    if lane_rows::in_order(matrix.from(first, 0), x, out) {
        return;
    }
    let line = |row: usize| &matrix.data[matrix.at(first + row, 0)..][..x.len()];
    for (i, out) in out.chunks_mut(ROWS).enumerate() {
        if out.len() < ROWS {
            let rows = (i * ROWS..).zip(out);
            rows.for_each(|(row, out)| [*out] = sums_in_order([line(row)], x));
        } else {
            out.copy_from_slice(&sums_in_order::<F, ROWS>(std::array::from_fn(|r| line(i * ROWS + r)), x));
        }
    }
}

/// The products of lines with `x`, each in order: while the processor waits for one sum, it adds to the others.
fn sums_in_order<F: Float, const R: usize>(lines: [&[F]; R], x: &[F]) -> [F; R] {
    let mut sums = [F::of(0.0); R];
    for (j, &x) in x.iter().enumerate() {
        (0..R).for_each(|r| sums[r] = sums[r] + lines[r][j] * x);
    }
    sums
}

/// The same sums for rows whose elements are not contiguous: each lane sums columns.
fn down<F: Vectors, const L: usize>(matrix: Matrix<F>, x: &[F], start: usize, first: usize, out: &mut [F]) {
    let matrix = Matrix { first: matrix.at(first, start), ..matrix };
    if L == 1 {
        out.fill(F::of(0.0));
        return wide_loop(Down::<F, L> { matrix, x, rows: out.len(), sums: out });
    }
    let mut sums = vec![F::of(0.0); L * out.len()];
    wide_loop(Down::<F, L> { matrix, x, rows: out.len(), sums: &mut sums });
    out.copy_from_slice(&sums[..out.len()]);
}

/// The first rows and columns of a matrix, as many as the vector has elements, and the lanes of the sums, all
/// 0.
struct Down<'a, F, const L: usize> {
    matrix: Matrix<'a, F>,
    x: &'a [F],
    rows: usize,
    sums: &'a mut [F],
}

impl<F: Float, const L: usize> Loop for Down<'_, F, L> {
    type Made = ();

    /// Leaves the products in the first sums.
    #[inline(always)]
    fn run(self) {
        let Down { matrix, x, rows, sums } = self;
        for (lane, sums) in sums.chunks_exact_mut(rows).enumerate() {
            let mut column = lane;
            while column < x.len() {
                column += L * match (x.len() - column).div_ceil(L) {
                    4.. => add::<F, L, 4>(matrix, x, column, sums),
                    _ => add::<F, L, 1>(matrix, x, column, sums),
                };
            }
        }
        let mut half = L / 2;
        while half > 0 {
            let (low, high) = sums.split_at_mut(half * rows);
            low.iter_mut().zip(&*high).for_each(|(low, &high)| *low = *low + high);
            half /= 2;
        }
    }
}

/// Rows whose sums are in registers at once.
const WIDTH: usize = 16;

/// Adds the products of `C` columns from one on, which are `L` apart, one after the other. Returns `C`.
#[inline(always)]
fn add<F: Float, const L: usize, const C: usize>(
    matrix: Matrix<F>,
    x: &[F],
    column: usize,
    sums: &mut [F],
) -> usize {
    let (n, stride) = (sums.len(), matrix.strides[0]);
    let x: [F; C] = std::array::from_fn(|c| x[column + c * L]);
    let place = |c: usize| matrix.at(0, column + c * L);
    let mut gathered = vec![];
    if stride != 1 {
        gathered.resize(C * n, F::of(0.0));
        for (c, run) in gathered.chunks_exact_mut(n).enumerate() {
            gather_run(matrix.data, place(c) as isize, stride, run);
        }
    }
    let run = |c: usize| if stride == 1 { &matrix.data[place(c)..][..n] } else { &gathered[c * n..][..n] };
    let runs: [&[F]; C] = std::array::from_fn(run);
    let mut chunks = sums.chunks_exact_mut(WIDTH);
    let mut at = 0;
    for sums in &mut chunks {
        // Of a length that the compiler knows, so that the sums stay in registers.
        let mut made: [F; WIDTH] = vector(sums);
        for (run, &x) in runs.iter().zip(&x) {
            let run: [F; WIDTH] = vector(&run[at..at + WIDTH]);
            made = std::array::from_fn(|l| made[l] + run[l] * x);
        }
        sums.copy_from_slice(&made);
        at += WIDTH;
    }
    for (i, sum) in chunks.into_remainder().iter_mut().enumerate() {
        *sum = (0..C).fold(*sum, |sum, c| sum + runs[c][at + i] * x[c]);
    }
    C
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_do_not_depend_on_the_way_the_matrix_lies() {
        for (m, k) in [
            (1, 5000),
            (7, 63),
            (7, 64),
            (1030, 90),
            (33, 1024),
            (5, 3001),
            (2100, 1),
            (3, 0),
            // From memory.
            (2500, 1100),
            (4500, 300),
            (70, 20_000),
        ] {
            let x: Vec<f32> = (0..m * k).map(|i| ((i * 7919) % 1013) as f32 / 1013.0 - 0.5).collect();
            let v: Vec<f32> = (0..k).map(|i| ((i * 31) % 97) as f32 / 97.0 - 0.5).collect();
            let mut turned = vec![0f32; m * k];
            (0..m * k).for_each(|i| turned[i / m + i % m * k] = x[i]);
            let run = |matrix| {
                let mut out = vec![f32::NAN; m];
                matvec(matrix, &v, &mut out);
                out
            };
            let made = run(Matrix::dense(&x, m));
            assert_eq!(made, run(Matrix::dense(&turned, k).transposed()), "{m} {k}");
            for (i, &y) in made.iter().enumerate() {
                let products = (0..k).map(|j| f64::from(x[i + j * m]) * f64::from(v[j]));
                let (want, size) =
                    products.fold((0.0, 0.0), |(sum, size): (f64, f64), p| (sum + p, size + p.abs()));
                // Lanes of at most 64 products, and two roundings more for each time that they are halved.
                assert!((f64::from(y) - want).abs() <= 72.0 * f64::from(f32::EPSILON) * size, "{m} {k} {i}");
            }
        }
    }
}
