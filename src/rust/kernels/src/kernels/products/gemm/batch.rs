//! Kernels of products of batches of small matrices. A call for each of them would take longer than its sums,
//! and matrices of a few rows leave most of a vector empty. Which kernel computes a batch, depends on how the
//! results lie:
//!
//! * side by side, element by element, as axes of a batch before those of the matrices have it: a vector
//!   holds the same element of many results, so that no size leaves lanes empty ([`beside()`]);
//! * one after the other: a vector holds elements of a column of one result ([`below()`]), or where operands
//!   follow each other too, and few vectors hold whole matrices, these ([`flat()`]).

use super::pack::Packed;
use super::vector::Vector;
use crate::kernels::memory::cache::prefetch;
use std::mem::MaybeUninit;

/// Matrices of a batch: the first element of the first, and the strides of rows, columns and matrices.
#[derive(Clone, Copy, Debug)]
pub struct Matrices<T> {
    /// The first element of the first.
    pub first: *const T,
    /// Elements that can be read from there on.
    pub len: usize,
    /// From one row, one column, and one matrix, to the next.
    pub strides: [isize; 3],
}

impl<T> Matrices<T> {
    /// An element of a matrix.
    pub fn at(&self, row: usize, column: usize, number: usize) -> *const T {
        let [i, j, b] = self.strides;
        self.first.wrapping_offset(row as isize * i + column as isize * j + number as isize * b)
    }

    /// The same from a row on.
    pub fn from(self, row: usize) -> Self {
        let moved = row as isize * self.strides[0];
        Matrices {
            first: self.first.wrapping_offset(moved),
            len: self.len.saturating_add_signed(-moved),
            ..self
        }
    }

    /// The first rows of the matrices from a number on, of which from each element in one of the first `columns` on a
    /// whole vector of `lanes` elements can be read.
    pub fn whole_rows(&self, columns: usize, number: usize, lanes: usize) -> usize {
        let [down, across, next] = self.strides;
        if down <= 0 || across < 0 || next < 0 || columns == 0 {
            return 0;
        }
        let last = (columns - 1) * across as usize + number * next as usize + lanes;
        self.len.checked_sub(last).map_or(0, |rest| rest / down as usize + 1)
    }
}

/// A tile of rows and columns of results that lie side by side, of `count` vectors of them; strides are those
/// of rows, columns and vectors.
#[derive(Debug)]
pub struct Beside<T> {
    /// Products in a sum.
    pub depth: usize,
    /// Vectors.
    pub count: usize,
    /// Rows of the left operands.
    pub a: *const T,
    pub a_strides: [isize; 3],
    /// Columns of the right operands.
    pub b: *const T,
    pub b_strides: [isize; 3],
    /// The results.
    pub c: *mut T,
    pub c_strides: [usize; 3],
}

/// A kernel, to be called only if the processor has its instructions, with tiles whose elements all exist.
pub type BesideKernel<T> = unsafe fn(&Beside<T>);

/// Rows of `count` results that follow each other, at most a vector, and some of their columns. Rows of `a`
/// and of `c` are contiguous.
#[derive(Debug)]
pub struct Below<T> {
    /// Products in a sum.
    pub depth: usize,
    /// Results.
    pub count: usize,
    /// Rows of a result.
    pub rows: usize,
    /// Rows of the left operands.
    pub a: *const T,
    /// Of columns, and of matrices.
    pub a_strides: [isize; 2],
    /// Columns of the right operands.
    pub b: *const T,
    /// Of rows, columns and matrices.
    pub b_strides: [isize; 3],
    /// The results.
    pub c: *mut T,
    /// Of columns, and of matrices.
    pub c_strides: [usize; 2],
}

/// As [`BesideKernel`].
pub type BelowKernel<T> = unsafe fn(&Below<T>);

/// Copies vectors of a batch: [`spread()`].
pub type Spread<T> = unsafe fn(Matrices<T>, [usize; 2], [usize; 2], *mut T);

/// Products in a sum of matrices of which two vectors hold one, at most.
const MOST_TERMS: usize = 32;

/// Results `c` that follow each other, as do the matrices `a` and `b`: as many as one or two vectors hold at
/// a time.
#[derive(Debug)]
pub struct Flat<T> {
    /// Products in a sum, at most [`MOST_TERMS`].
    pub depth: usize,
    /// Vectors, or pairs of these.
    pub count: usize,
    /// The first elements.
    pub a: *const T,
    pub b: *const T,
    pub c: *mut T,
    /// Elements of all matrices of a vector or pair, of each of the three.
    pub sizes: [usize; 3],
    /// For each product of a sum, and each vector: the place of the left operand in the elements of `a`, for
    /// each lane, then that of the right operand in those of `b`.
    pub places: *const u32,
    /// The end of the results.
    pub end: *const T,
}

/// As [`BesideKernel`].
pub type FlatKernel<T> = unsafe fn(&Flat<T>);

/// The sums of matrices that lie in a vector, or if `PAIR` in two.
///
/// # Safety
/// As of [`FlatKernel`]; to be inlined where the instructions are.
#[inline(always)]
pub unsafe fn flat<V: Vector, const PAIR: bool, const FUSED: bool>(tile: &Flat<V::Scalar>) {
    let &Flat { depth, count, mut a, mut b, mut c, sizes, places, end } = tile;
    let vectors = 1 + PAIR as usize;
    let mut picked = [const { MaybeUninit::<V::Lanes>::uninit() }; 4 * MOST_TERMS];
    let picked = &mut picked[..2 * vectors * depth];
    for (i, lanes) in picked.iter_mut().enumerate() {
        lanes.write(V::lanes(places.wrapping_add(i * V::LANES)));
    }
    let masks = sizes.map(|size| [0, 1].map(|i| V::mask(V::LANES.min(size.saturating_sub(i * V::LANES)))));
    for _ in 0..count {
        let operand = |x: *const V::Scalar, masks: [V::Mask; 2]| {
            let first = V::load_some(x, masks[0]);
            [first, if PAIR { V::load_some(x.wrapping_add(V::LANES), masks[1]) } else { first }]
        };
        let (x, y) = (operand(a, masks[0]), operand(b, masks[1]));
        let mut sums = [V::zero(); 2];
        for picked in picked.chunks_exact(2 * vectors) {
            for (sum, picked) in sums.iter_mut().zip(picked.chunks_exact(2)) {
                let [left, right] = [picked[0].assume_init(), picked[1].assume_init()];
                let (x, y) = if PAIR {
                    (x[0].pick(x[1], left), y[0].pick(y[1], right))
                } else {
                    (x[0].pick_one(left), y[0].pick_one(right))
                };
                *sum = plus_product::<V, FUSED>(*sum, x, y);
            }
        }
        for (i, &sum) in sums.iter().enumerate().take(vectors) {
            let (sum, out) = (V::zero().add(sum), c.wrapping_add(i * V::LANES));
            // What is stored too much is stored again by the next.
            if out.wrapping_add(V::LANES).cast_const() <= end {
                sum.store(out);
            } else {
                sum.store_some(out, masks[2][i]);
            }
        }
        a = a.wrapping_add(sizes[0]);
        b = b.wrapping_add(sizes[1]);
        c = c.wrapping_add(sizes[2]);
    }
}

/// `sum + x * y`, rounded once if `FUSED`, else also the product.
///
/// # Safety
/// To be inlined where the instructions are.
#[inline(always)]
unsafe fn plus_product<V: Vector, const FUSED: bool>(sum: V, x: V, y: V) -> V {
    if FUSED {
        sum.add_product(x, y)
    } else {
        sum.add(x.times(y))
    }
}

/// The sums of a tile of `R` rows and `C` columns.
///
/// # Safety
/// As of [`BesideKernel`]; to be inlined where the instructions are.
#[inline(always)]
pub unsafe fn beside<V: Vector, const R: usize, const C: usize, const FUSED: bool>(tile: &Beside<V::Scalar>) {
    let &Beside { depth, count, mut a, a_strides, mut b, b_strides, mut c, c_strides } = tile;
    for _ in 0..count {
        let (mut x, mut y) = (a, b);
        let mut sums = [[V::zero(); R]; C];
        for _ in 0..depth {
            let column: [V; R] =
                std::array::from_fn(|i| V::load(x.wrapping_offset(i as isize * a_strides[0])));
            for (j, sums) in sums.iter_mut().enumerate() {
                let y = V::load(y.wrapping_offset(j as isize * b_strides[1]));
                for (sum, &x) in sums.iter_mut().zip(&column) {
                    *sum = plus_product::<V, FUSED>(*sum, x, y);
                }
            }
            x = x.wrapping_offset(a_strides[1]);
            y = y.wrapping_offset(b_strides[0]);
        }
        for (j, sums) in sums.iter().enumerate() {
            for (i, &sum) in sums.iter().enumerate() {
                // A sum starts at 0, so it is never -0.
                V::zero().add(sum).store(c.wrapping_add(i * c_strides[0] + j * c_strides[1]));
            }
        }
        a = a.wrapping_offset(a_strides[2]);
        b = b.wrapping_offset(b_strides[2]);
        c = c.wrapping_add(c_strides[2]);
    }
}

/// The sums of some rows and `C` columns of each result.
///
/// # Safety
/// As of [`BelowKernel`]; to be inlined where the instructions are.
#[inline(always)]
pub unsafe fn below<V: Vector, const C: usize, const FUSED: bool>(tile: &Below<V::Scalar>) {
    let &Below { depth, count, rows, mut a, a_strides, mut b, b_strides, mut c, c_strides } = tile;
    let (mask, whole) = (V::mask(rows), rows == V::LANES);
    for _ in 0..count {
        let (mut x, mut y) = (a, b);
        let mut sums = [V::zero(); C];
        for _ in 0..depth {
            let column = if whole { V::load(x) } else { V::load_some(x, mask) };
            for (j, sum) in sums.iter_mut().enumerate() {
                let y = V::splat(y.wrapping_offset(j as isize * b_strides[1]));
                *sum = plus_product::<V, FUSED>(*sum, column, y);
            }
            x = x.wrapping_offset(a_strides[0]);
            y = y.wrapping_offset(b_strides[0]);
        }
        for (j, &sum) in sums.iter().enumerate() {
            let (sum, out) = (V::zero().add(sum), c.wrapping_add(j * c_strides[0]));
            if whole {
                sum.store(out);
            } else {
                sum.store_some(out, mask);
            }
        }
        a = a.wrapping_offset(a_strides[1]);
        b = b.wrapping_offset(b_strides[2]);
        c = c.wrapping_add(c_strides[1]);
    }
}

/// Copies `rows * columns` elements of each of `numbers` matrices, from the `first` on: for each vector of
/// matrices one column of its elements after the other. Lanes that are left are zeros.
///
/// # Safety
/// The elements are there, and there is room for them; to be inlined where the instructions are.
#[inline(always)]
pub unsafe fn spread<V: Vector>(
    x: Matrices<V::Scalar>,
    [rows, columns]: [usize; 2],
    [first, numbers]: [usize; 2],
    out: *mut V::Scalar,
) where
    V::Scalar: Packed,
{
    let size = rows * columns * V::LANES;
    for (e, (i, j)) in (0..columns).flat_map(|j| (0..rows).map(move |i| (i, j))).enumerate() {
        let out = out.wrapping_add(e * V::LANES);
        for (v, start) in (0..numbers).step_by(V::LANES).enumerate() {
            let (out, there) = (out.wrapping_add(v * size), V::LANES.min(numbers - start));
            if x.strides[2] == 1 && there == V::LANES {
                // Of what is copied next. Processors do not foresee it on as many lines as there are
                // elements.
                prefetch(x.at(i, j, first + start + numbers).cast());
                V::load(x.at(i, j, first + start)).store(out);
                continue;
            }
            for lane in 0..V::LANES {
                let value = if lane < there { *x.at(i, j, first + start + lane) } else { Packed::ZERO };
                out.add(lane).write(value);
            }
        }
    }
}
