//! Matrices that products read and write, and the cost of a product.

use ndarray::{ArrayView2, ArrayViewMut2, Axis, ShapeBuilder};
use std::marker::PhantomData;
use std::ops::Range;

/// About how long a multiplication with its addition takes, in picoseconds.
pub const MULTIPLY_ADD: usize = 50;

/// Products that take about as long as an element of other work, as [`stop::work`] counts it.
pub const PRODUCTS: usize = 16;

/// What becomes of the sums of products.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sums {
    /// They are written.
    Set,
    /// They are added to what is in the result.
    Add,
    /// They are subtracted from what is in the result.
    Subtract,
}

/// Rows of a triangle whose equations are solved by substitution.
pub const LOWER: usize = 16;

/// A lower triangle of [`LOWER`] rows, of which the last ones may be those of the identity.
#[derive(Clone, Copy, Debug)]
pub struct Lower<T> {
    /// Its rows; only what is before the diagonal is read.
    pub rows: [[T; LOWER]; LOWER],
    /// What a row is multiplied by in the end: 1 by its element of the diagonal.
    pub inverses: [T; LOWER],
}

/// A matrix that is read.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a, T> {
    /// The buffer.
    pub data: &'a [T],
    /// Position of the first element.
    pub first: usize,
    /// Distance of rows, and of columns.
    pub strides: [isize; 2],
}

impl<'a, T: Copy> Matrix<'a, T> {
    /// The column-major matrix of `rows` rows in `data`.
    pub fn dense(data: &'a [T], rows: usize) -> Self {
        Matrix { data, first: 0, strides: [1, rows as isize] }
    }

    /// Position of an element.
    pub fn at(&self, row: usize, column: usize) -> usize {
        let [i, j] = self.strides;
        (self.first as isize + row as isize * i + column as isize * j) as usize
    }

    /// An element.
    pub fn get(&self, row: usize, column: usize) -> T {
        self.data[self.at(row, column)]
    }

    /// The matrix without the rows and columns before these.
    pub fn from(&self, row: usize, column: usize) -> Self {
        Matrix { first: self.at(row, column), ..*self }
    }

    /// Its transpose, in place.
    pub fn transposed(&self) -> Self {
        Matrix { strides: [self.strides[1], self.strides[0]], ..*self }
    }

    /// Its first `rows` rows and `columns` columns.
    ///
    /// # Panics
    /// If an element of these is outside of the data.
    pub(super) fn view(&self, rows: usize, columns: usize) -> ArrayView2<'a, T> {
        let back = |n: usize, stride: isize| (n as isize - 1) * stride.min(0);
        let [i, j] = self.strides;
        let lowest = self.first as isize + back(rows, i) + back(columns, j);
        let lowest = usize::try_from(lowest).expect("a matrix outside of its data");
        let places = (rows, columns).strides((i.unsigned_abs(), j.unsigned_abs()));
        let mut view =
            ArrayView2::from_shape(places, &self.data[lowest..]).expect("a matrix outside of its data");
        for (axis, stride) in self.strides.into_iter().enumerate() {
            if stride < 0 {
                view.invert_axis(Axis(axis));
            }
        }
        view
    }
}

/// Matrices of a batch: the first, and the distance from one to the next.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a, T> {
    /// The first.
    pub first: Matrix<'a, T>,
    /// From one to the next.
    pub stride: isize,
}

impl<'a, T: Copy> Batch<'a, T> {
    pub(super) fn matrix(&self, number: usize) -> Matrix<'a, T> {
        let Matrix { data, first, strides } = self.first;
        Matrix { data, first: (first as isize + number as isize * self.stride) as usize, strides }
    }

    /// The first column of each, as one matrix.
    pub(super) fn columns(&self) -> Matrix<'a, T> {
        Matrix { strides: [self.first.strides[0], self.stride], ..self.first }
    }

    /// Their transposes, in place.
    pub(super) fn transposed(&self) -> Batch<'a, T> {
        let Matrix { strides: [down, across], .. } = self.first;
        Batch { first: Matrix { strides: [across, down], ..self.first }, stride: self.stride }
    }
}

/// A block of a matrix that is written. Blocks that exist at the same time have no element in common.
pub struct Block<'a, T> {
    pub(super) pointer: *mut T,
    pub(super) sizes: [usize; 2],
    pub(super) strides: [usize; 2],
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: a block is an exclusive borrow of its elements.
unsafe impl<T: Send> Send for Block<'_, T> {}
// SAFETY: of a shared block only some rows and columns can be written, which [`Block::rows`] asks to be
// disjoint.
unsafe impl<T: Sync> Sync for Block<'_, T> {}

impl<T> Block<'_, T> {
    /// The matrix of these sizes in `data`; its elements have different places.
    pub fn new(data: &mut [T], sizes: [usize; 2], strides: [usize; 2]) -> Block<'_, T> {
        let last = (0..2).map(|i| (sizes[i] - 1) * strides[i]).sum::<usize>();
        assert!(last < data.len(), "a matrix outside of its data");
        Block { pointer: data.as_mut_ptr(), sizes, strides, borrow: PhantomData }
    }

    /// Every `step`-th row, from row `first` on, of some columns.
    ///
    /// # Safety
    /// No other block that has an element in common with it is there as long as it is.
    pub(super) unsafe fn rows(
        &self,
        first: usize,
        step: usize,
        rows: usize,
        columns: Range<usize>,
    ) -> Block<'_, T> {
        assert!(
            first + (rows - 1) * step < self.sizes[0] && columns.end <= self.sizes[1],
            "a block outside of its matrix"
        );
        let [i, j] = self.strides;
        let pointer = self.pointer.wrapping_add(first * i + columns.start * j);
        Block { pointer, sizes: [rows, columns.len()], strides: [step * i, j], borrow: PhantomData }
    }

    pub(super) fn view(&mut self) -> ArrayViewMut2<'_, T> {
        let [i, j] = self.strides;
        // SAFETY: the elements of the block, which is borrowed exclusively, and whose elements have different
        // places.
        unsafe { ArrayViewMut2::from_shape_ptr((self.sizes[0], self.sizes[1]).strides((i, j)), self.pointer) }
    }

    pub(super) fn set(&mut self, row: usize, column: usize, x: T) {
        assert!(row < self.sizes[0] && column < self.sizes[1], "an element outside of its block");
        let at = row * self.strides[0] + column * self.strides[1];
        // SAFETY: an element of the block, which is borrowed exclusively.
        unsafe { self.pointer.add(at).write(x) }
    }
}
