//! Products of batches of small matrices of floats by the kernels of [`super::gemm`], if the processor has
//! them: each with the bits of a product by itself. Threads share the batch.
//!
//! Products with a vector are those of [`super::matvec`] with sums of one lane.

use super::matrix::{Batch, MULTIPLY_ADD};
use crate::kernels::threads::pool;

#[cfg(target_arch = "x86_64")]
use {
    super::{
        gemm,
        matrix::{Block, Matrix},
        matvec::SHORT,
    },
    crate::kernels::threads::threads,
    gemm::Tiled,
};

/// Products of a batch in a piece of work for a thread.
pub fn per_piece([b, m, k, n]: [usize; 4]) -> usize {
    /// Pieces of a batch at least, if it is worth sharing, for two threads and more to take turns.
    const PIECES: usize = 16;
    let each = (m * k * n).saturating_mul(MULTIPLY_ADD);
    (pool::WORTH_SHARING / each.max(1)).clamp(1, b.div_ceil(PIECES))
}

/// Matrices of a batch of `sizes`, which are above 0.
///
/// # Panics
/// If an element of these is outside of the data.
#[cfg(target_arch = "x86_64")]
fn matrices<T: Copy>(x: &Batch<T>, [b, rows, columns]: [usize; 3]) -> gemm::Matrices<T> {
    for number in [0, b - 1] {
        let matrix = x.matrix(number);
        let ends = [0, rows - 1].into_iter().flat_map(|i| [matrix.at(i, 0), matrix.at(i, columns - 1)]);
        ends.for_each(|at| assert!(at < matrix.data.len(), "a matrix outside of its data"));
    }
    let [down, across] = x.first.strides;
    gemm::Matrices {
        first: x.first.data.as_ptr().wrapping_add(x.first.first),
        len: x.first.data.len() - x.first.first,
        strides: [down, across, x.stride],
    }
}

/// Products in which one matrix has a single row as those in which one has a single column, which are those
/// with a vector: the sizes, whether it is so, and the operands.
#[cfg(target_arch = "x86_64")]
fn with_vectors<T: Copy>(
    [lhs, rhs]: [Batch<T>; 2],
    [b, m, k, n]: [usize; 4],
) -> ([usize; 4], bool, [Batch<T>; 2]) {
    if m == 1 && n > 1 {
        return ([b, n, k, 1], true, [rhs.transposed(), lhs.transposed()]);
    }
    ([b, m, k, n], n == 1, [lhs, rhs])
}

/// Products of a batch of matrices of sizes `[b, m, k, n]`, all above 0; `out [b, m, n]`, column-major.
/// Returns whether there is a kernel for it; nothing is written otherwise.
#[cfg(target_arch = "x86_64")]
pub fn side_by_side<T: Tiled + Send + Sync>(
    operands: [Batch<T>; 2],
    sizes: [usize; 4],
    out: &mut [T],
) -> bool {
    /// Results of a piece share no cache line with another's, if the first is aligned.
    const LINE: usize = 64;
    let ([b, m, k, n], vectors, operands) = with_vectors(operands, sizes);
    let in_place = operands[0].stride == 1;
    let Some(kernels) = gemm::of_batches::<T>([b, m, k, n], Some(in_place)) else { return false };
    let vectors = vectors && k < SHORT;
    let per = per_piece([b, m, k, n]).next_multiple_of(LINE);
    let shared = (b * m * k * n).saturating_mul(MULTIPLY_ADD) >= pool::WORTH_SHARING;
    let per = if shared { per } else { b };
    let pieces = b.div_ceil(per);
    // Of few products each thread has a part of the columns.
    let width = if shared && pieces == 1 { n.div_ceil(threads()) } else { n };
    let all = Block::new(out, [b * m, n], [1, b * m]);
    pool::for_each_piece(pieces * n.div_ceil(width), shared, |piece| {
        let (first, from) = (piece % pieces * per, piece / pieces * width);
        let (count, n) = (per.min(b - first), width.min(n - from));
        let [lhs, rhs] = operands.map(|x| Batch { first: x.matrix(first), ..x });
        let rhs = Batch { first: Matrix { first: rhs.first.at(0, from), ..rhs.first }, ..rhs };
        let operands = [matrices(&lhs, [count, m, k]), matrices(&rhs, [count, k, n])];
        // SAFETY: pieces have no rows of all results in common, which are those from `first` on, `count` of each
        // `b`, or no columns.
        let out = unsafe { all.rows(first, b, m, from..from + n) };
        let out = gemm::Target { first: out.pointer, strides: out.strides };
        // SAFETY: operands were held to their data, and results to theirs.
        unsafe { gemm::side_by_side(kernels, operands, [count, m, k, n], vectors, out) }
    });
    true
}

/// As [`side_by_side`]; `out [m, n, b]`.
#[cfg(target_arch = "x86_64")]
pub fn one_after_the_other<T: Tiled + Send + Sync>(
    operands: [Batch<T>; 2],
    sizes: [usize; 4],
    out: &mut [T],
) -> bool {
    let ([b, m, k, n], vectors, [lhs, rhs]) = with_vectors(operands, sizes);
    let Some(kernels) = gemm::of_batches::<T>([b, m, k, n], None) else { return false };
    if vectors && k >= SHORT {
        return false;
    }
    let work = (b * m * k * n).saturating_mul(MULTIPLY_ADD);
    let per = if work >= pool::WORTH_SHARING { per_piece([b, m, k, n]) } else { b };
    pool::for_each_chunk(out, m * n * per, work, |i, out| {
        let count = out.len() / (m * n);
        let [lhs, rhs] = [lhs, rhs].map(|x| Batch { first: x.matrix(i * per), ..x });
        let operands = [matrices(&lhs, [count, m, k]), matrices(&rhs, [count, k, n])];
        // SAFETY: operands were held to their data, and the chunk has as many results.
        unsafe { gemm::one_by_one(kernels, operands, [count, m, k, n], vectors, out.as_mut_ptr()) }
    });
    true
}

/// Makes none: other processors have no such products.
#[cfg(not(target_arch = "x86_64"))]
pub fn side_by_side<T>(_operands: [Batch<T>; 2], _sizes: [usize; 4], _out: &mut [T]) -> bool {
    false
}

/// Makes none: other processors have no such products.
#[cfg(not(target_arch = "x86_64"))]
pub fn one_after_the_other<T>(_operands: [Batch<T>; 2], _sizes: [usize; 4], _out: &mut [T]) -> bool {
    false
}
