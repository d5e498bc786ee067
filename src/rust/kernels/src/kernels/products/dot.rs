//! Dense products of matrices, which are read in place: transposed ones are not copied.
//!
//! The kernel of a product depends on its sizes alone, so that its bits do not depend on strides: products
//! with a vector have one ([`super::matvec`]); long sums of few results are split into partial sums, added in
//! double precision ([`super::crossprod`] for very few results); other products are split into blocks of the
//! result, which changes no sum.
//!
//! Blocks of floats are made by [`super::gemm`] where the processor has FMA, else by `matrixmultiply`, which
//! ndarray brings. Both add the same products in the same order, so `ANVIL_SIMD=portable` changes no bit
//! where `matrixmultiply` finds FMA; on a processor without, products are rounded before they are added.

use super::batches::{one_after_the_other, per_piece, side_by_side};
use super::complex::by_parts;
use super::crossprod::{crossprod, MAX_SIDE};
#[cfg(target_arch = "x86_64")]
use super::gemm;
#[cfg(target_arch = "x86_64")]
use super::matrix::Sums;
use super::matrix::{Batch, Block, Matrix, MULTIPLY_ADD, PRODUCTS};
use super::matvec::{matvec, SHORT};
use super::matvecs::matvecs;
use super::pieces::piece;
use super::sides::apart;
pub use super::sides::Side;
use super::symmetric::{is_of_itself, mirror};
use crate::dtype::{dispatch, Bool, Element, Int};
use crate::kernels::cast;
use crate::kernels::memory::zeroed;
use crate::kernels::threads::{pool, threads};
use crate::kernels::wide::wide;
use crate::stop;
use crate::tensor::{View, ViewMut};
use half::{bf16, f16};
use ndarray::linalg::general_mat_mul;
use ndarray::{s, LinalgScalar};
use num_complex::Complex;
use std::ops::{Add, Range};

/// The operand of the first `rows` rows and `columns` columns of a matrix; both are above 0.
///
/// # Panics
/// If an element of these is outside of the data.
#[cfg(target_arch = "x86_64")]
fn operand<T: Copy>(x: &Matrix<T>, rows: usize, columns: usize) -> gemm::Operand<T> {
    let ends = [0, rows - 1].into_iter().flat_map(|i| [x.at(i, 0), x.at(i, columns - 1)]);
    ends.for_each(|at| assert!(at < x.data.len(), "a matrix outside of its data"));
    gemm::Operand { first: x.data.as_ptr().wrapping_add(x.first), strides: x.strides }
}

/// Element types with a matrix product.
pub trait Dot: Element {
    /// Whether a piece of a product copies lines of both operands, so that large pieces copy them less often;
    /// else pieces are as small as suits the caches.
    const COPIES: bool = false;

    /// `out = lhs * rhs` for `lhs [m, k]`, `rhs [k, n]`, none of these 0.
    fn dot(lhs: Matrix<Self>, rhs: Matrix<Self>, sizes: [usize; 3], out: Block<Self>);

    /// As [`Dot::dot`]; only elements whose column exceeds their row by at most `most` are asked for.
    fn lower(lhs: Matrix<Self>, rhs: Matrix<Self>, sizes: [usize; 3], _most: isize, out: Block<Self>) {
        Self::dot(lhs, rhs, sizes, out)
    }

    /// `out = matrix * x`, if there is a kernel for it.
    fn vector(_matrix: Matrix<Self>, _x: &[Self], _out: &mut [Self]) -> bool {
        false
    }

    /// `out = matrix * xs` for a matrix `[m, k]` and `xs [k, b]`, each column as [`Dot::vector`] has it, if
    /// there is a kernel for it that takes less time.
    fn vectors(_matrix: Matrix<Self>, _xs: Matrix<Self>, _sizes: [usize; 3], _out: &mut [Self]) -> bool {
        false
    }

    /// Products of a batch of small matrices of sizes `[b, m, k, n]`, each as [`Dot::dot`] has it, if there
    /// is a kernel for all of them: side by side in `out [b, m, n]`, or after each other in `out [m, n, b]`.
    fn small(_operands: [Batch<Self>; 2], _sizes: [usize; 4], _beside: bool, _out: &mut [Self]) -> bool {
        false
    }

    /// The column-major product by partial sums, if the type allows it.
    fn by_partial_sums(
        _lhs: Matrix<Self>,
        _rhs: Matrix<Self>,
        _sizes: [usize; 3],
        _out: &mut [Self],
    ) -> bool {
        false
    }
}

/// Splits rows, or the products of a sum, into chunks of [`CHUNK`]; a shorter rest belongs to the last one,
/// as short chunks are not computed by blocks.
fn chunks(n: usize) -> impl Iterator<Item = Range<usize>> {
    let count = (n / CHUNK).max(1);
    (0..count).map(move |i| i * CHUNK..if i + 1 == count { n } else { (i + 1) * CHUNK })
}

/// The product by ndarray, whose kernels choose AVX2 and FMA at run time.
fn by_blocks<T: Element + LinalgScalar>(
    lhs: Matrix<T>,
    rhs: Matrix<T>,
    [m, k, n]: [usize; 3],
    mut out: Block<T>,
) {
    assert!(out.sizes == [m, n], "a result of other sizes");
    // In chunks between which it may be stopped: of the rows, and of the blocks in which sums are made
    // anyway.
    for (i, l) in chunks(m).flat_map(|i| chunks(k).map(move |l| (i.clone(), l))) {
        let (lhs, rhs) =
            (lhs.from(i.start, l.start).view(i.len(), l.len()), rhs.from(l.start, 0).view(l.len(), n));
        let before = if l.start == 0 { T::zero() } else { T::one() };
        stop::work(i.len() * n * l.len() / PRODUCTS);
        general_mat_mul(T::one(), &lhs, &rhs, before, &mut out.view().slice_mut(s![i, ..]));
    }
    // A sum starts at 0: one of products that vanish below it is not -0, which it is here or not by its place
    // in the result.
    out.view().mapv_inplace(|x| x + T::zero());
}

/// The product by our own kernels, if the processor has their instructions.
#[cfg(target_arch = "x86_64")]
fn by_tiles<T: gemm::Tiled>(
    lhs: Matrix<T>,
    rhs: Matrix<T>,
    [m, k, n]: [usize; 3],
    lower: Option<isize>,
    out: &mut Block<T>,
) -> bool {
    assert!(out.sizes == [m, n], "a result of other sizes");
    let target = gemm::Target { first: out.pointer, strides: out.strides };
    // SAFETY: operands were held to their data, and the block is borrowed exclusively.
    unsafe { gemm::update(operand(&lhs, m, k), operand(&rhs, k, n), [m, k, n], Sums::Set, lower, target) }
}

#[cfg(not(target_arch = "x86_64"))]
fn by_tiles<T>(
    _lhs: Matrix<T>,
    _rhs: Matrix<T>,
    _sizes: [usize; 3],
    _lower: Option<isize>,
    _out: &mut Block<T>,
) -> bool {
    false
}

macro_rules! dot_float {
    ($($type:ident $line:literal;)+) => {$(
        impl Dot for $type {
            const COPIES: bool = true;
            fn dot(lhs: Matrix<$type>, rhs: Matrix<$type>, sizes: [usize; 3], mut out: Block<$type>) {
                if !by_tiles(lhs, rhs, sizes, None, &mut out) {
                    by_blocks(lhs, rhs, sizes, out)
                }
            }
            fn lower(
                lhs: Matrix<$type>,
                rhs: Matrix<$type>,
                sizes: [usize; 3],
                most: isize,
                mut out: Block<$type>,
            ) {
                if !by_tiles(lhs, rhs, sizes, Some(most), &mut out) {
                    by_blocks(lhs, rhs, sizes, out)
                }
            }
            fn vector(matrix: Matrix<$type>, x: &[$type], out: &mut [$type]) -> bool {
                matvec(matrix, x, out);
                true
            }
            fn vectors(matrix: Matrix<$type>, xs: Matrix<$type>, sizes: [usize; 3], out: &mut [$type]) -> bool {
                matvecs(matrix, xs, sizes, out)
            }
            fn small(operands: [Batch<$type>; 2], sizes: [usize; 4], beside: bool, out: &mut [$type]) -> bool {
                if beside {
                    side_by_side(operands, sizes, out)
                } else {
                    one_after_the_other(operands, sizes, out)
                }
            }
            fn by_partial_sums(lhs: Matrix<$type>, rhs: Matrix<$type>, sizes: [usize; 3], out: &mut [$type]) -> bool {
                if sizes[0].max(sizes[2]) > MAX_SIDE {
                    return partial_sums::<$type, f64>(lhs, rhs, sizes, out);
                }
                crossprod::<$type, { $line / 2 }>(lhs, rhs, sizes, out);
                true
            }
        }
    )+};
}
dot_float! { f32 16; f64 8; }

macro_rules! dot_complex {
    ($($part:ident)+) => {$(
        impl Dot for Complex<$part> {
            fn dot(lhs: Matrix<Self>, rhs: Matrix<Self>, sizes: [usize; 3], out: Block<Self>) {
                by_parts(lhs, rhs, sizes, out, $part::dot)
            }
            fn by_partial_sums(lhs: Matrix<Self>, rhs: Matrix<Self>, sizes: [usize; 3], out: &mut [Self]) -> bool {
                partial_sums::<Self, Complex<f64>>(lhs, rhs, sizes, out)
            }
        }
    )+};
}
dot_complex! { f32 f64 }

// 16-bit floats multiply as f32, and round each element of the result once.
macro_rules! dot_half {
    ($($type:ty)+) => {$(
        impl Dot for $type {
            fn dot(lhs: Matrix<$type>, rhs: Matrix<$type>, [m, k, n]: [usize; 3], mut out: Block<$type>) {
                let wide = |x: Matrix<$type>, rows: usize, columns: usize| {
                    let column = |j: usize| (0..rows).map(move |i| x.get(i, j).to_f32());
                    (0..columns).flat_map(column).collect::<Vec<f32>>()
                };
                let (lhs, rhs, mut product) = (wide(lhs, m, k), wide(rhs, k, n), zeroed::<f32>(m * n));
                let block = Block::new(&mut product, [m, n], [1, m]);
                f32::dot(Matrix::dense(&lhs, m), Matrix::dense(&rhs, k), [m, k, n], block);
                for (at, x) in product.into_iter().enumerate() {
                    out.set(at % m, at / m, <$type>::from_f32(x));
                }
            }
        }
    )+};
}
dot_half! { bf16 f16 }

/// Products whose order makes no difference.
fn dot_plain<T: Element>(
    lhs: Matrix<T>,
    rhs: Matrix<T>,
    [m, k, n]: [usize; 3],
    mut out: Block<T>,
    step: impl Fn(T, T, T) -> T + Copy,
) {
    // Columns that lie in one line, so that the loop over rows becomes vectors.
    let (mut dense, mut lhs) = (Vec::new(), lhs);
    if lhs.strides[0] != 1 {
        dense.extend((0..k).flat_map(|l| (0..m).map(move |i| lhs.get(i, l))));
        lhs = Matrix::dense(&dense, m);
    }
    let mut sums = vec![T::default(); m];
    for j in 0..n {
        sums.fill(T::default());
        for l in 0..k {
            if l % 64 == 0 {
                stop::work(m * (k - l).min(64) / PRODUCTS);
            }
            let (column, y) = (&lhs.data[lhs.at(0, l)..][..m], rhs.get(l, j));
            wide(|| sums.iter_mut().zip(column).for_each(|(sum, &x)| *sum = step(*sum, x, y)));
        }
        sums.iter().enumerate().for_each(|(i, &sum)| out.set(i, j, sum));
    }
}

macro_rules! dot_int {
    ($($type:ty)+) => {$(
        impl Dot for $type {
            fn dot(lhs: Matrix<$type>, rhs: Matrix<$type>, sizes: [usize; 3], out: Block<$type>) {
                let step = |sum: $type, x: $type, y| Int::wrapping_add(sum, Int::wrapping_mul(x, y));
                dot_plain(lhs, rhs, sizes, out, step)
            }
        }
    )+};
}
dot_int! { i8 i16 i32 i64 u8 u16 u32 u64 }

impl Dot for Bool {
    // Sum and product of booleans are or and and, as in `nv_add()` and `nv_mul()`.
    fn dot(lhs: Matrix<Bool>, rhs: Matrix<Bool>, sizes: [usize; 3], out: Block<Bool>) {
        let step = |sum: Bool, x: Bool, y: Bool| (sum.get() | (x.get() & y.get())).into();
        dot_plain(lhs, rhs, sizes, out, step)
    }
}

/// Rows, and products of a sum, after which `matrixmultiply` may be left: a multiple of those in one of its
/// blocks, which are 256.
const CHUNK: usize = 512;

/// Products in a partial sum of a long sum.
const DEPTH: usize = 2048;

/// Elements of a result that is computed by partial sums, at most.
const MAX_LONG_RESULTS: usize = 1 << 14;

/// Whether sums are so long, and so few, that they are split into partial sums.
pub fn is_long([m, k, n]: [usize; 3]) -> bool {
    m * n <= MAX_LONG_RESULTS && k >= 2 * DEPTH
}

/// Whether a product of these sizes has the same bits in a batch whose axes come first and in one whose axes
/// come last: long sums are split only there.
pub fn is_same_in_batches([m, k, n]: [usize; 3]) -> bool {
    if m.min(n) > 1 {
        !is_long([m, k, n])
    } else {
        k < SHORT
    }
}

/// Products of batches of matrices of one dtype, as [`batched`] has them, or if the batch comes last, as
/// [`one_by_one`] has them.
pub fn product(
    sides: &[Side; 2],
    [lhs, rhs]: [&View; 2],
    sizes: [usize; 4],
    batch_last: bool,
    out: &mut ViewMut,
) {
    let [l, r] = sides;
    dispatch!(lhs.dtype, T => {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let (l, r) = (l.matrices(lhs, &mut left), r.matrices(rhs, &mut right));
        let made = cast::slice_mut::<T>(out.data);
        match sizes {
            _ if made.is_empty() => {}
            [_, _, 0, _] => made.fill(T::default()),
            [1, m, k, n] => one(l.first, r.first, [m, k, n], made),
            _ if batch_last => one_by_one(l, r, sizes, made),
            _ => batched(l, r, sizes, made),
        }
    })
}

/// The product of two matrices, `lhs [m, k]`, `rhs [k, n]`; `out [m, n]`, column-major.
fn one<T: Dot>(lhs: Matrix<T>, rhs: Matrix<T>, [m, k, n]: [usize; 3], out: &mut [T]) {
    if by_vector(lhs, rhs, [m, k, n], out)
        || (is_long([m, k, n]) && T::by_partial_sums(lhs, rhs, [m, k, n], out))
    {
        return;
    }
    batched(Batch { first: lhs, stride: 0 }, Batch { first: rhs, stride: 0 }, [1, m, k, n], out);
}

/// Products of a batch of matrices, each as [`one`] has it; `out [m, n, b]`, column-major. Threads share the
/// batch.
fn one_by_one<T: Dot>(lhs: Batch<T>, rhs: Batch<T>, [b, m, k, n]: [usize; 4], out: &mut [T]) {
    // One matrix and many vectors: columns of the right operand, or else rows of the left one.
    let one_matrix = match (m, n) {
        (_, 1) if lhs.stride == 0 => T::vectors(lhs.first, rhs.columns(), [m, k, b], out),
        (1, 2..) if rhs.stride == 0 => {
            T::vectors(rhs.first.transposed(), lhs.transposed().columns(), [n, k, b], out)
        }
        _ => false,
    };
    if one_matrix || T::small([lhs, rhs], [b, m, k, n], false, out) {
        return;
    }
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let (lhs, rhs) = (apart(lhs, [b, m, k], &mut left), apart(rhs, [b, k, n], &mut right));
    let (size, each) = (m * n, (m * k * n).saturating_mul(MULTIPLY_ADD));
    let per = per_piece([b, m, k, n]);
    pool::for_each_chunk(out, size * per, each.saturating_mul(b), |i, chunk| {
        for (number, out) in (i * per..).zip(chunk.chunks_exact_mut(size)) {
            one(lhs.matrix(number), rhs.matrix(number), [m, k, n], out);
        }
    });
}

/// Products of a batch of matrices: `lhs [m, k]`, `rhs [k, n]`, `b` times each; `out [b, m, n]`,
/// column-major.
fn batched<T: Dot>(lhs: Batch<T>, rhs: Batch<T>, [b, m, k, n]: [usize; 4], out: &mut [T]) {
    if T::small([lhs, rhs], [b, m, k, n], true, out) {
        return;
    }
    if b > 1 && vectors_side_by_side(lhs, rhs, [b, m, k, n], out) {
        return;
    }
    let shared = pool::pays((b * m * k * n).saturating_mul(MULTIPLY_ADD));
    let [rows, columns] = if shared { piece(b, [m, n], T::COPIES, threads()) } else { [m, n] };
    let (down, across) = (m.div_ceil(rows), n.div_ceil(columns));
    let half = shared && b == 1 && T::COPIES && is_of_itself(&lhs.first, &rhs.first, m, n);
    // The batch is the first axis of the result: one matrix of which each product has every `b`-th row.
    let all = Block::new(out, [b * m, n], [1, b * m]);
    pool::for_each_piece(down * across, shared, |piece| {
        let (i, j) = (piece % down * rows, piece / down * columns);
        let sizes = [rows.min(m - i), k, columns.min(n - j)];
        if half && j >= i + sizes[0] {
            return;
        }
        for number in 0..b {
            // SAFETY: pieces have no rows and columns in common, and products of a batch no rows of all.
            let out = unsafe { all.rows(number + i * b, b, sizes[0], j..j + sizes[2]) };
            let (lhs, rhs) = (lhs.matrix(number).from(i, 0), rhs.matrix(number).from(0, j));
            if half {
                T::lower(lhs, rhs, sizes, i as isize - j as isize, out);
            } else {
                T::dot(lhs, rhs, sizes, out);
            }
        }
    });
    if half {
        mirror(out, n);
    }
}

/// A product with a vector, if it is one, and there is a kernel for it.
fn by_vector<T: Dot>(lhs: Matrix<T>, rhs: Matrix<T>, [m, k, n]: [usize; 3], out: &mut [T]) -> bool {
    n == 1 && times_vector(lhs, rhs.transposed(), k, out)
        || m == 1 && times_vector(rhs.transposed(), lhs, k, out)
}

/// As [`batched`], for products with vectors whose sums have one lane.
fn vectors_side_by_side<T: Dot>(
    lhs: Batch<T>,
    rhs: Batch<T>,
    [b, m, k, n]: [usize; 4],
    out: &mut [T],
) -> bool {
    if m.min(n) > 1 || k >= SHORT {
        return false;
    }
    let mut made = zeroed::<T>(m * n);
    for number in 0..b {
        if !by_vector(lhs.matrix(number), rhs.matrix(number), [m, k, n], &mut made) {
            return false;
        }
        made.iter().enumerate().for_each(|(i, &x)| out[number + i * b] = x);
    }
    true
}

/// The product with a vector, the first row of `x`, of `k` elements, if there is a kernel for it.
fn times_vector<T: Dot>(matrix: Matrix<T>, x: Matrix<T>, k: usize, out: &mut [T]) -> bool {
    let first = x.first;
    if x.strides[1] == 1 {
        return T::vector(matrix, &x.data[first..][..k], out);
    }
    T::vector(matrix, &(0..k).map(|j| x.get(0, j)).collect::<Vec<T>>(), out)
}

/// A product with long sums: partial products, added in order.
fn partial_sums<T: Dot, S: Element + Add<Output = S>>(
    lhs: Matrix<T>,
    rhs: Matrix<T>,
    [m, k, n]: [usize; 3],
    out: &mut [T],
) -> bool {
    let count = k.div_ceil(DEPTH);
    let mut partials = zeroed::<T>(count * m * n);
    let half = T::COPIES && is_of_itself(&lhs, &rhs, m, n);
    pool::for_each_chunk(&mut partials, m * n, (m * k * n).saturating_mul(MULTIPLY_ADD), |i, partial| {
        let start = i * DEPTH;
        let sizes = [m, DEPTH.min(k - start), n];
        let (lhs, rhs, partial) =
            (lhs.from(0, start), rhs.from(start, 0), Block::new(partial, [m, n], [1, m]));
        if half {
            T::lower(lhs, rhs, sizes, 0, partial);
        } else {
            T::dot(lhs, rhs, sizes, partial);
        }
    });
    let mut sums: Vec<S> = partials[..m * n].iter().map(|x| x.convert()).collect();
    for partial in partials[m * n..].chunks(m * n) {
        sums.iter_mut().zip(partial).for_each(|(sum, x)| *sum = *sum + x.convert());
    }
    out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum.convert());
    if half {
        mirror(out, n);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Products of dense matrices: `lhs [m, k, b]`, `rhs [k, n, b]`.
    fn dense<T: Dot>(lhs: &[T], rhs: &[T], [b, m, k, n]: [usize; 4], out: &mut [T]) {
        let batch = |data, rows, columns| Batch {
            first: Matrix::dense(data, rows),
            stride: (rows * columns) as isize,
        };
        match [b, m, k, n] {
            [_, _, 0, _] => out.fill(T::default()),
            [1, m, k, n] => one(batch(lhs, m, k).first, batch(rhs, k, n).first, [m, k, n], out),
            sizes => batched(batch(lhs, m, k), batch(rhs, k, n), sizes, out),
        }
    }

    #[test]
    fn products_agree_across_types() {
        let (lhs, rhs) = ([1i32, 2, 3, 4, 5, 6], [1i32, 0, 2, 0, 1, 1]);
        let mut want = [0i32; 4];
        dense(&lhs, &rhs, [1, 2, 3, 2], &mut want);
        assert_eq!(want, [11, 14, 8, 10]);
        let f = |x: &[i32]| x.iter().map(|&v| v as f32).collect::<Vec<_>>();
        let mut out = [0f32; 4];
        dense(&f(&lhs), &f(&rhs), [1, 2, 3, 2], &mut out);
        assert_eq!(out.to_vec(), f(&want));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn kernels_of_our_own_give_the_bits_of_those_of_ndarray() {
        use crate::kernels::math::Level;
        // Some products vanish below zero.
        let numbers = |n: usize| {
            (0..n)
                .map(|i| if i % 5 == 0 { -1e-30 } else { ((i * 7919) % 1013) as f32 / 1013.0 })
                .collect::<Vec<_>>()
        };
        for sizes @ [m, k, n] in [[101, 600, 70], [2, 1, 2], [8, 1, 9], [16, 1, 16], [50, 1, 60], [9, 2, 8]] {
            let (lhs, rhs): (Vec<f32>, Vec<f32>) =
                (numbers(m * k), numbers(k * n).iter().map(|x| 1e-20 * x).collect());
            let (lhs, rhs) = (Matrix::dense(&lhs, m), Matrix::dense(&rhs, n).transposed());
            let (mut ours, mut theirs) = (vec![0.0; m * n], vec![0.0; m * n]);
            let done = by_tiles(lhs, rhs, sizes, None, &mut Block::new(&mut ours, [m, n], [1, m]));
            assert_eq!(done, Level::current() != Level::Portable);
            by_blocks(lhs, rhs, sizes, Block::new(&mut theirs, [m, n], [1, m]));
            // Zeros have signs too.
            assert!(!done || cast::bytes(&ours) == cast::bytes(&theirs), "{sizes:?}");
        }
    }

    #[test]
    fn batch_is_the_fastest_axis_of_the_result() {
        let (lhs, rhs) = ([1.0f64, 2.0, 3.0, 4.0], [10.0f64, 20.0]);
        let mut out = [0.0f64; 4];
        dense(&lhs, &rhs, [2, 2, 1, 1], &mut out);
        assert_eq!(out, [10.0, 60.0, 20.0, 80.0]);
    }

    #[test]
    fn products_that_threads_share_are_those_of_one() {
        let [b, m, k, n] = [2, 70, 90, 300];
        let number = |i: usize| ((i * 7919) % 1013) as f64 / 1013.0 - 0.5;
        let (lhs, rhs): (Vec<f64>, Vec<f64>) =
            ((0..b * m * k).map(number).collect(), (0..b * k * n).map(number).collect());
        assert!(b * m * k * n * MULTIPLY_ADD >= pool::WORTH_SHARING);
        assert!(piece(1, [m, n], true, 2) != [m, n] && piece(1, [m, n], false, 1) != [m, n]);
        let mut out = vec![0.0; b * m * n];
        dense(&lhs, &rhs, [b, m, k, n], &mut out);
        for (i, l, j) in (0..b).flat_map(|i| (0..m).flat_map(move |l| (0..n).map(move |j| (i, l, j)))) {
            let want: f64 = (0..k).map(|p| lhs[i * m * k + l + p * m] * rhs[i * k * n + p + j * k]).sum();
            // 90 products of numbers below 1/4, rounded in another order.
            assert!((out[i + (l + j * m) * b] - want).abs() < 90.0 * f64::EPSILON);
        }
    }

    #[test]
    fn a_product_with_the_own_transpose_is_that_with_a_copy() {
        fn check<T: Dot + PartialEq + std::fmt::Debug>(number: fn(usize) -> T) {
            for [n, k] in [[300, 90], [600, 20], [50, 2 * DEPTH + 100]] {
                let x: Vec<T> = (0..n * k).map(number).collect();
                let copy = x.clone();
                // By columns, and by rows.
                for matrix in [Matrix::dense(&x, k), Matrix::dense(&x, n).transposed()] {
                    let (mut own, mut other) = (vec![T::default(); n * n], vec![T::default(); n * n]);
                    one(matrix.transposed(), matrix, [n, k, n], &mut own);
                    one(matrix.transposed(), Matrix { data: &copy, ..matrix }, [n, k, n], &mut other);
                    assert!(own == other, "{n} {k}");
                }
            }
        }
        check(|i| ((i * 7919) % 1013) as f32 / 1013.0 - 0.5);
        check(|i| ((i * 7919) % 1013) as f64 / 1013.0 - 0.5);
    }

    #[test]
    fn an_empty_inner_axis_gives_zeros() {
        let mut out = [7.0f64; 2];
        dense::<f64>(&[], &[], [1, 2, 0, 1], &mut out);
        assert_eq!(out, [0.0, 0.0]);
    }
}
