//! Dense products of matrices.

use super::memory::zeroed;
use super::{cast, pool};
use crate::dtype::{Bool, Element, Int};
use ndarray::linalg::general_mat_mul;
use half::{bf16, f16};
use num_complex::Complex;
use ndarray::{ArrayView2, ArrayViewMut2, ShapeBuilder};

/// Element types with a matrix product.
pub trait Dot: Element {
    /// `out = lhs * rhs` for column-major `lhs [m, k]`, `rhs [k, n]`; element `(i, j)` of the result goes to
    /// `out[offset + (i + j * m) * stride]`.
    fn dot(lhs: &[Self], rhs: &[Self], sizes: [usize; 3], out: &mut [Self], offset: usize, stride: usize);
}

// The `matrixmultiply` kernels behind ndarray choose AVX2 and FMA at run time.
macro_rules! dot_float {
    ($($type:ty)+) => {$(
        impl Dot for $type {
            fn dot(lhs: &[$type], rhs: &[$type], [m, k, n]: [usize; 3], out: &mut [$type], offset: usize, stride: usize) {
                let whole = "slices hold the whole matrices";
                let lhs = ArrayView2::from_shape((m, k).f(), lhs).expect(whole);
                let rhs = ArrayView2::from_shape((k, n).f(), rhs).expect(whole);
                let place = (m, n).strides((stride, m * stride));
                let mut out = ArrayViewMut2::from_shape(place, &mut out[offset..]).expect(whole);
                let (zero, one) = (<$type>::from_bool(false), <$type>::from_bool(true));
                general_mat_mul(one, &lhs, &rhs, zero, &mut out);
            }
        }
    )+};
}
dot_float! { f32 f64 Complex<f32> Complex<f64> }

// 16-bit floats multiply as f32, and round each element of the result once.
macro_rules! dot_half {
    ($($type:ty)+) => {$(
        impl Dot for $type {
            fn dot(lhs: &[$type], rhs: &[$type], sizes: [usize; 3], out: &mut [$type], offset: usize, stride: usize) {
                let wide = |x: &[$type]| x.iter().map(|v| v.to_f32()).collect::<Vec<f32>>();
                let [m, _, n] = sizes;
                let mut product = zeroed::<f32>(m * n);
                f32::dot(&wide(lhs), &wide(rhs), sizes, &mut product, 0, 1);
                for (i, v) in product.into_iter().enumerate() {
                    out[offset + i * stride] = <$type>::from_f32(v);
                }
            }
        }
    )+};
}
dot_half! { bf16 f16 }

fn dot_plain<T: Element>(
    lhs: &[T], rhs: &[T], [m, k, n]: [usize; 3], out: &mut [T], offset: usize, stride: usize, step: fn(T, T, T) -> T,
) {
    for j in 0..n {
        for i in 0..m {
            let sum = (0..k).fold(T::default(), |sum, l| step(sum, lhs[i + l * m], rhs[l + j * k]));
            out[offset + (i + j * m) * stride] = sum;
        }
    }
}

macro_rules! dot_int {
    ($($type:ty)+) => {$(
        impl Dot for $type {
            fn dot(lhs: &[$type], rhs: &[$type], sizes: [usize; 3], out: &mut [$type], offset: usize, stride: usize) {
                let step = |sum: $type, x: $type, y| Int::wrapping_add(sum, Int::wrapping_mul(x, y));
                dot_plain(lhs, rhs, sizes, out, offset, stride, step)
            }
        }
    )+};
}
dot_int! { i8 i16 i32 i64 u8 u16 u32 u64 }

impl Dot for Bool {
    // Sum and product of booleans are or and and, as in `nv_add()` and `nv_mul()`.
    fn dot(lhs: &[Bool], rhs: &[Bool], sizes: [usize; 3], out: &mut [Bool], offset: usize, stride: usize) {
        let step = |sum: Bool, x: Bool, y: Bool| (sum.get() | (x.get() & y.get())).into();
        dot_plain(lhs, rhs, sizes, out, offset, stride, step)
    }
}

/// Columns of the result in a piece of work: enough to keep a thread busy and to fill the blocks of the product kernels.
const COLUMNS: usize = 128;

/// About how long a multiplication with its addition takes, in picoseconds.
const STEP: usize = 50;

/// Products of a batch of column-major matrices: `lhs [m, k, b]`, `rhs [k, n, b]`, `out [b, m, n]`.
pub fn batched<T: Dot>(lhs: &[T], rhs: &[T], [b, m, k, n]: [usize; 4], out: &mut [u8]) {
    let out = cast::slice_mut::<T>(out);
    if out.is_empty() {
        return;
    }
    // Pieces are runs of columns of the result, which lie in one line for all of the batch.
    let column = b * m;
    pool::for_each_chunk(out, COLUMNS * column, (b * m * k * n).saturating_mul(STEP), |piece, out| {
        let (first, columns) = (piece * COLUMNS, out.len() / column);
        for i in 0..b {
            let r = &rhs[i * k * n + first * k..][..columns * k];
            T::dot(&lhs[i * m * k..][..m * k], r, [m, k, columns], out, i, b);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_agree_across_types() {
        let (lhs, rhs) = ([1i32, 2, 3, 4, 5, 6], [1i32, 0, 2, 0, 1, 1]);
        let mut want = [0i32; 4];
        batched(&lhs, &rhs, [1, 2, 3, 2], cast::bytes_mut(&mut want));
        assert_eq!(want, [11, 14, 8, 10]);
        let f = |x: &[i32]| x.iter().map(|&v| v as f32).collect::<Vec<_>>();
        let mut out = [0f32; 4];
        batched(&f(&lhs), &f(&rhs), [1, 2, 3, 2], cast::bytes_mut(&mut out));
        assert_eq!(out.to_vec(), f(&want));
    }

    #[test]
    fn batch_is_the_fastest_dimension_of_the_result() {
        let (lhs, rhs) = ([1.0f64, 2.0, 3.0, 4.0], [10.0f64, 20.0]);
        let mut out = [0.0f64; 4];
        batched(&lhs, &rhs, [2, 2, 1, 1], cast::bytes_mut(&mut out));
        assert_eq!(out, [10.0, 60.0, 20.0, 80.0]);
    }

    #[test]
    fn products_that_threads_share_are_those_of_one() {
        let [b, m, k, n] = [2, 70, 90, 300];
        let number = |i: usize| ((i * 7919) % 1013) as f64 / 1013.0 - 0.5;
        let (lhs, rhs): (Vec<f64>, Vec<f64>) = ((0..b * m * k).map(number).collect(), (0..b * k * n).map(number).collect());
        assert!(b * m * k * n * STEP >= pool::WORTH_SHARING && n > COLUMNS);
        let mut out = vec![0.0; b * m * n];
        batched(&lhs, &rhs, [b, m, k, n], cast::bytes_mut(&mut out));
        for (i, l, j) in (0..b).flat_map(|i| (0..m).flat_map(move |l| (0..n).map(move |j| (i, l, j)))) {
            let want: f64 = (0..k).map(|p| lhs[i * m * k + l + p * m] * rhs[i * k * n + p + j * k]).sum();
            // 90 products of numbers below 1/4, rounded in another order.
            assert!((out[i + (l + j * m) * b] - want).abs() < 90.0 * f64::EPSILON);
        }
    }

    #[test]
    fn an_empty_inner_dimension_gives_zeros() {
        let mut out = [7.0f64; 2];
        batched::<f64>(&[], &[], [1, 2, 0, 1], cast::bytes_mut(&mut out));
        assert_eq!(out, [0.0, 0.0]);
    }
}
