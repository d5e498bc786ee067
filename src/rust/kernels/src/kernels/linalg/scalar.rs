//! Elements of matrices that can be factorised, and products of blocks.

use super::view::{MatMut, MatRef};
use crate::dtype::Element;
#[cfg(target_arch = "x86_64")]
use crate::kernels::memory::squares;
use crate::kernels::memory::zeroed;
#[cfg(target_arch = "x86_64")]
use crate::kernels::products::gemm;
use crate::kernels::products::matrix::{Lower, Sums, MULTIPLY_ADD, PRODUCTS};
use crate::kernels::threads::pool;
use crate::stop;
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, LinalgScalar, ShapeBuilder};
use num_complex::Complex;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ops::{AddAssign, MulAssign, Neg, Range, SubAssign};

/// An element: a float, or a complex number of floats.
pub trait Scalar: Element + LinalgScalar + Neg<Output = Self> + AddAssign + SubAssign + MulAssign {
    /// The type of its parts.
    type Real: Real;
    /// Whether it has an imaginary part.
    const COMPLEX: bool;
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Its complex conjugate.
    fn conj(self) -> Self;
    /// Its real part.
    fn re(self) -> Self::Real;
    /// Its imaginary part.
    fn im(self) -> Self::Real;
    /// The element with this real part, and the imaginary part 0.
    fn real(x: Self::Real) -> Self;
    /// From its parts; the imaginary one of a real element is lost.
    fn parts(re: Self::Real, im: Self::Real) -> Self;
    /// From a double, rounded.
    #[inline(always)]
    fn of(x: f64) -> Self {
        Self::real(Self::Real::from_f64(x))
    }
    /// Its product with a real number.
    fn times(self, x: Self::Real) -> Self;
    /// Its quotient by another one, without overflow or underflow on the way.
    fn over(self, y: Self) -> Self;
    /// The sum of the sizes of its parts, which is 0 only for 0.
    fn size(self) -> Self::Real;
    /// The square of its distance from 0.
    fn square(self) -> Self::Real;
    /// Whether all parts are finite.
    fn is_finite(self) -> bool;
    /// `out (+-)= lhs * rhs` on one thread, for sizes above 0. With `lower`, only elements whose column is at
    /// most their row and so many more are asked for.
    fn multiply(out: MatMut<Self>, lhs: MatRef<Self>, rhs: MatRef<Self>, how: Sums, lower: Option<isize>);
    /// Solves equations with a triangle in place, from the last row of `x` up if `upward`, if there is a kernel for
    /// it. Rows of `x` are contiguous.
    fn substitute(_triangle: &Lower<Self>, _x: &mut MatMut<Self>, _upward: bool) -> bool {
        false
    }
    /// `out` becomes the transpose of `x`, columns of both being contiguous, if there is a kernel for it.
    fn transpose(_out: &mut MatMut<Self>, _x: MatRef<Self>) -> bool {
        false
    }
}

/// A real element.
pub trait Real: Scalar<Real = Self> + PartialOrd {
    /// Half of the distance of 1 to the next number.
    const EPSILON: f64;
    /// As a double.
    fn f64(self) -> f64;
    /// Square root, correctly rounded.
    fn root(self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
}

/// The power of 2 that brings a number to between 1 and 2, or near it if that is out of range; 1 for what is not
/// finite or 0.
pub fn beside(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return 1.0;
    }
    let exponent = 1023 - ((x.to_bits() >> 52) & 0x7ff) as i64;
    f64::from_bits(((exponent.clamp(-1022, 1022) + 1023) as u64) << 52)
}

/// Sums of squares of which the root is taken as it is.
pub const PLAIN: Range<f64> = 1e-280..1e280;

/// The length of a vector of two, without overflow or underflow on the way.
#[inline(always)]
pub fn hypot(x: f64, y: f64) -> f64 {
    let square = x * x + y * y;
    if PLAIN.contains(&square) {
        square.sqrt()
    } else {
        libm::hypot(x, y)
    }
}

/// Columns of a part of a matrix that are multiplied together by ndarray.
const PANEL: usize = 96;

/// The product by ndarray, of a part panel by panel.
fn by_ndarray<T: Scalar>(
    mut out: MatMut<T>,
    lhs: MatRef<T>,
    rhs: MatRef<T>,
    how: Sums,
    lower: Option<isize>,
) {
    let Some(lower) = lower else { return whole_by_ndarray(out, lhs, rhs, how) };
    let [m, n] = out.sizes;
    for start in (0..n).step_by(PANEL) {
        let (rows, columns) =
            ((start as isize - lower).clamp(0, m as isize) as usize..m, start..n.min(start + PANEL));
        if !rows.is_empty() {
            let k = lhs.columns();
            let panel = out.again().block(rows.clone(), columns.clone());
            whole_by_ndarray(panel, lhs.block(rows, 0..k), rhs.block(0..k, columns), how);
        }
    }
}

fn whole_by_ndarray<T: Scalar>(out: MatMut<T>, lhs: MatRef<T>, rhs: MatRef<T>, how: Sums) {
    let places =
        |sizes: [usize; 2], strides: [usize; 2]| (sizes[0], sizes[1]).strides((strides[0], strides[1]));
    // SAFETY: the elements of the matrices, of which the result is borrowed exclusively.
    let (x, y, mut z) = unsafe {
        (
            ArrayView2::from_shape_ptr(places(lhs.sizes, lhs.strides), lhs.first),
            ArrayView2::from_shape_ptr(places(rhs.sizes, rhs.strides), rhs.first),
            ArrayViewMut2::from_shape_ptr(places(out.sizes, out.strides), out.first),
        )
    };
    // What is set is not added to 0, which would lose the sign of a zero.
    let [by, kept] = match how {
        Sums::Set => [T::ONE, T::ZERO],
        Sums::Add => [T::ONE, T::ONE],
        Sums::Subtract => [-T::ONE, T::ONE],
    };
    general_mat_mul(by, &x, &y, kept, &mut z);
}

macro_rules! floats {
    ($($type:ident)+) => {$(
        impl Scalar for $type {
            type Real = $type;
            const COMPLEX: bool = false;
            const ZERO: $type = 0.0;
            const ONE: $type = 1.0;
            #[inline(always)]
            fn conj(self) -> $type { self }
            #[inline(always)]
            fn re(self) -> $type { self }
            #[inline(always)]
            fn im(self) -> $type { 0.0 }
            #[inline(always)]
            fn real(x: $type) -> $type { x }
            #[inline(always)]
            fn parts(re: $type, _im: $type) -> $type { re }
            #[inline(always)]
            fn times(self, x: $type) -> $type { self * x }
            #[inline(always)]
            fn over(self, y: $type) -> $type { self / y }
            #[inline(always)]
            fn size(self) -> $type { self.abs() }
            #[inline(always)]
            fn square(self) -> $type { self * self }
            #[inline(always)]
            fn is_finite(self) -> bool { <$type>::is_finite(self) }
            fn multiply(out: MatMut<$type>, lhs: MatRef<$type>, rhs: MatRef<$type>, how: Sums, lower: Option<isize>) {
                #[cfg(target_arch = "x86_64")]
                {
                    let operand = |x: MatRef<$type>| gemm::Operand {
                        first: x.first,
                        strides: x.strides.map(|s| s as isize),
                    };
                    let target = gemm::Target { first: out.first, strides: out.strides };
                    let sizes = [lhs.rows(), lhs.columns(), rhs.columns()];
                    // SAFETY: the elements of the matrices, of which the result is borrowed exclusively.
                    if unsafe { gemm::update(operand(lhs), operand(rhs), sizes, how, lower, target) } {
                        return;
                    }
                }
                by_ndarray(out, lhs, rhs, how, lower)
            }
            #[cfg(target_arch = "x86_64")]
            fn substitute(triangle: &Lower<$type>, x: &mut MatMut<$type>, upward: bool) -> bool {
                let [n, m] = x.sizes;
                assert!(n <= triangle.rows.len() && (x.strides[1] == 1 || m < 2), "rows that are not contiguous");
                let stride = x.strides[0] as isize;
                let last = x.first.wrapping_offset((n as isize - 1) * stride);
                let (first, stride) = if upward { (last, -stride) } else { (x.first, stride) };
                // SAFETY: the elements of the matrix, which is borrowed exclusively.
                unsafe { gemm::solve(triangle, first, stride, [n, m]) }
            }
            #[cfg(target_arch = "x86_64")]
            fn transpose(out: &mut MatMut<$type>, x: MatRef<$type>) -> bool {
                let strides = [x.strides[1], out.strides[1]];
                // SAFETY: the elements of the matrices, of which the result is borrowed exclusively; their sizes
                // were held to each other.
                unsafe { squares::transpose(x.first, x.sizes, strides, out.first) }
            }
        }

        impl Real for $type {
            const EPSILON: f64 = $type::EPSILON as f64 / 2.0;
            #[inline(always)]
            fn f64(self) -> f64 { self as f64 }
            #[inline(always)]
            fn root(self) -> $type { self.sqrt() }
            #[inline(always)]
            fn abs(self) -> $type { <$type>::abs(self) }
        }
    )+};
}
floats! { f32 f64 }

macro_rules! complex {
    ($($part:ident)+) => {$(
        impl Scalar for Complex<$part> {
            type Real = $part;
            const COMPLEX: bool = true;
            const ZERO: Self = Complex::new(0.0, 0.0);
            const ONE: Self = Complex::new(1.0, 0.0);
            #[inline(always)]
            fn conj(self) -> Self { Complex::new(self.re, -self.im) }
            #[inline(always)]
            fn re(self) -> $part { self.re }
            #[inline(always)]
            fn im(self) -> $part { self.im }
            #[inline(always)]
            fn real(x: $part) -> Self { Complex::new(x, 0.0) }
            #[inline(always)]
            fn parts(re: $part, im: $part) -> Self { Complex::new(re, im) }
            #[inline(always)]
            fn times(self, x: $part) -> Self { Complex::new(self.re * x, self.im * x) }
            fn over(self, y: Self) -> Self {
                // By a power of 2 beside the divisor, in double precision: its square is near 1 then.
                let by = beside(f64::from(y.re).abs().max(f64::from(y.im).abs()));
                let y = Complex::new(f64::from(y.re) * by, f64::from(y.im) * by);
                let x = Complex::new(f64::from(self.re), f64::from(self.im)) / y;
                Complex::new((x.re * by) as $part, (x.im * by) as $part)
            }
            #[inline(always)]
            fn size(self) -> $part { self.re.abs() + self.im.abs() }
            #[inline(always)]
            fn square(self) -> $part { self.re * self.re + self.im * self.im }
            #[inline(always)]
            fn is_finite(self) -> bool { self.re.is_finite() && self.im.is_finite() }
            fn multiply(out: MatMut<Self>, lhs: MatRef<Self>, rhs: MatRef<Self>, how: Sums, lower: Option<isize>) {
                by_ndarray(out, lhs, rhs, how, lower)
            }
        }
    )+};
}
complex! { f32 f64 }

/// Rows and columns of a block of a product that threads share.
const BLOCK: [usize; 2] = [256, 128];

/// About how long products of elements of blocks take, each with its addition: 12 picoseconds in f32 and 24 in f64
/// with vectors of 64 bytes, packing included. Where helpers sleep, shorter work is done before they come.
pub fn picoseconds<T: Scalar>(products: usize) -> usize {
    products.saturating_mul(if T::COMPLEX { 4 * MULTIPLY_ADD } else { 3 * size_of::<T>() })
}

/// `out (+-)= lhs * rhs`; large products are shared by threads, which changes no bit.
pub fn multiply<T: Scalar>(out: MatMut<T>, lhs: MatRef<T>, rhs: MatRef<T>, how: Sums) {
    part(out, lhs, rhs, how, false);
}

/// As [`multiply`], for the lower triangle and some elements above it.
pub fn multiply_lower<T: Scalar>(out: MatMut<T>, lhs: MatRef<T>, rhs: MatRef<T>, how: Sums) {
    part(out, lhs, rhs, how, true);
}

fn part<T: Scalar>(mut out: MatMut<T>, lhs: MatRef<T>, rhs: MatRef<T>, how: Sums, lower: bool) {
    let [m, n] = out.sizes;
    let k = lhs.columns();
    assert!(lhs.sizes == [m, k] && rhs.sizes == [k, n], "matrices that do not fit");
    if m == 0 || n == 0 {
        return;
    }
    if k == 0 {
        if how == Sums::Set {
            out.fill(T::ZERO);
        }
        return;
    }
    let products = m * k * n / if lower { 2 } else { 1 };
    if picoseconds::<T>(products) < pool::WORTH_SHARING {
        stop::work(products / PRODUCTS);
        return T::multiply(out, lhs, rhs, how, lower.then_some(0));
    }
    // A block is large enough to be computed at full speed, and there are several for each thread.
    let [rows, columns] = BLOCK.map(|most| most.min(m.max(n)));
    let down = m.div_ceil(rows);
    let all = Shared(out);
    pool::for_each_piece(down * n.div_ceil(columns), true, |piece| {
        let (i, j) = (piece % down * rows, piece / down * columns);
        let above = i as isize - j as isize;
        let (i, j) = (i..m.min(i + rows), j..n.min(j + columns));
        if lower && i.end <= j.start {
            return;
        }
        stop::work(i.len() * k * j.len() / PRODUCTS);
        // SAFETY: pieces have no elements in common.
        let block = unsafe { all.block(i.clone(), j.clone()) };
        T::multiply(block, lhs.block(i, 0..k), rhs.block(0..k, j), how, lower.then_some(above));
    });
}

/// Columns that a thread takes at a time where elements are copied.
const COLUMNS: usize = 32;

/// About how long copying an element takes, in picoseconds: of matrices that are in no cache of the thread.
const COPY: usize = 300;

/// Calls `column(j, elements)` for the columns of a dense matrix, of which threads share large ones.
pub fn each_column<T: Scalar>(out: &mut [T], rows: usize, column: impl Fn(usize, &mut [T]) + Sync) {
    let (rows, work) = (rows.max(1), out.len().saturating_mul(COPY));
    pool::for_each_chunk(out, COLUMNS * rows, work, |piece, out| {
        out.chunks_mut(rows).enumerate().for_each(|(j, out)| column(piece * COLUMNS + j, out));
    });
}

/// Copies a matrix to one whose columns are contiguous too; threads share large ones.
pub fn copy<T: Scalar>(out: MatMut<T>, from: MatRef<T>) {
    let [m, n] = from.sizes;
    assert!(out.sizes == [m, n], "matrices that do not fit");
    let (all, shared) = (Shared(out), (m * n).saturating_mul(COPY) >= pool::WORTH_SHARING);
    pool::for_each_piece(n.div_ceil(COLUMNS), shared, |piece| {
        let columns = piece * COLUMNS..n.min((piece + 1) * COLUMNS);
        stop::work(m * columns.len());
        // SAFETY: pieces have no columns in common.
        unsafe { all.block(0..m, columns.clone()) }.copy(from.block(0..m, columns));
    });
}

/// `out` becomes the transpose of `x`.
pub fn turn<T: Scalar>(mut out: MatMut<T>, x: MatRef<T>) {
    let [m, n] = x.sizes;
    assert!(out.sizes == [n, m], "matrices that do not fit");
    if x.strides[0] == 1 && out.strides[0] == 1 && T::transpose(&mut out, x) {
        return;
    }
    // In squares, so that a cache line is read while it is there.
    const SIDE: usize = 16;
    for (j, i) in (0..n).step_by(SIDE).flat_map(|j| (0..m).step_by(SIDE).map(move |i| (j, i))) {
        for j in j..n.min(j + SIDE) {
            (i..m.min(i + SIDE)).for_each(|i| out.set(j, i, x.at(i, j)));
        }
    }
}

/// A matrix whose blocks are written by several threads.
pub struct Shared<'a, T>(pub MatMut<'a, T>);

// SAFETY: only blocks can be written, which [`Shared::block`] asks to be disjoint.
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<'a, T: Copy> Shared<'a, T> {
    /// Some rows and columns.
    ///
    /// # Safety
    /// No other block that has an element in common with it is there as long as it is.
    pub unsafe fn block(&self, rows: Range<usize>, columns: Range<usize>) -> MatMut<'_, T> {
        let MatMut { first, sizes, strides, .. } = self.0;
        let whole: MatMut<T> = MatMut { first, sizes, strides, borrow: PhantomData };
        whole.block(rows, columns)
    }
}

/// The complex conjugate of a matrix, dense.
pub fn conjugate<T: Scalar>(x: MatRef<T>) -> Vec<T> {
    let mut out = zeroed(x.rows() * x.columns());
    for (j, column) in out.chunks_exact_mut(x.rows().max(1)).enumerate() {
        column.iter_mut().enumerate().for_each(|(i, out)| *out = x.at(i, j).conj());
    }
    out
}
