//! Matrices within buffers: those that are read, and those that are written, which can be cut into blocks
//! that are written at the same time.

use std::marker::PhantomData;
use std::ops::Range;

/// A matrix that is read.
pub struct MatRef<'a, T> {
    pub(super) first: *const T,
    pub(super) sizes: [usize; 2],
    pub(super) strides: [usize; 2],
    borrow: PhantomData<&'a [T]>,
}

/// A matrix that is written: an exclusive borrow of its elements.
pub struct MatMut<'a, T> {
    pub(super) first: *mut T,
    pub(super) sizes: [usize; 2],
    pub(super) strides: [usize; 2],
    pub(super) borrow: PhantomData<&'a mut [T]>,
}

impl<T> Clone for MatRef<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for MatRef<'_, T> {}

// SAFETY: as a shared and as an exclusive borrow of the elements.
unsafe impl<T: Sync> Send for MatRef<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for MatRef<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for MatMut<'_, T> {}

/// The range of the elements of a buffer that a dense matrix has; checked.
fn check(len: usize, [rows, columns]: [usize; 2], stride: usize) {
    assert!(columns < 2 || stride >= rows, "columns that overlap");
    let end = if rows == 0 || columns == 0 { 0 } else { (columns - 1) * stride + rows };
    assert!(end <= len, "a matrix outside of its data");
}

impl<'a, T: Copy> MatRef<'a, T> {
    /// The column-major matrix at the start of `data`, with `stride` elements from one column to the next.
    pub fn new(data: &'a [T], sizes: [usize; 2], stride: usize) -> Self {
        check(data.len(), sizes, stride);
        MatRef { first: data.as_ptr(), sizes, strides: [1, stride], borrow: PhantomData }
    }

    /// Number of rows.
    #[inline(always)]
    pub fn rows(self) -> usize {
        self.sizes[0]
    }

    /// Number of columns.
    #[inline(always)]
    pub fn columns(self) -> usize {
        self.sizes[1]
    }

    /// The transpose, in place.
    #[inline]
    pub fn transposed(self) -> Self {
        let ([m, n], [down, across]) = (self.sizes, self.strides);
        MatRef { sizes: [n, m], strides: [across, down], ..self }
    }

    /// Some rows and columns.
    pub fn block(self, rows: Range<usize>, columns: Range<usize>) -> Self {
        let [m, n] = self.sizes;
        assert!(rows.start <= rows.end && rows.end <= m, "rows outside of the matrix");
        assert!(columns.start <= columns.end && columns.end <= n, "columns outside of the matrix");
        let [down, across] = self.strides;
        let first = self.first.wrapping_add(rows.start * down + columns.start * across);
        MatRef { first, sizes: [rows.len(), columns.len()], ..self }
    }

    /// The rows before this one, and the others.
    pub fn halves(self, row: usize) -> [Self; 2] {
        let [m, n] = self.sizes;
        [self.block(0..row, 0..n), self.block(row..m, 0..n)]
    }

    /// An element.
    #[inline(always)]
    pub fn at(self, row: usize, column: usize) -> T {
        assert!(row < self.sizes[0] && column < self.sizes[1], "an element outside of the matrix");
        // SAFETY: an element of the matrix, as just checked.
        unsafe { *self.first.add(row * self.strides[0] + column * self.strides[1]) }
    }

    /// A column, whose elements are contiguous.
    #[inline(always)]
    pub fn column(self, column: usize) -> &'a [T] {
        assert!(
            column < self.sizes[1] && (self.strides[0] == 1 || self.sizes[0] < 2),
            "no contiguous column"
        );
        // SAFETY: the elements of a column of the matrix, which is borrowed.
        unsafe { std::slice::from_raw_parts(self.first.add(column * self.strides[1]), self.sizes[0]) }
    }
}

impl<'a, T: Copy> MatMut<'a, T> {
    /// The column-major matrix at the start of `data`, with `stride` elements from one column to the next.
    pub fn new(data: &'a mut [T], sizes: [usize; 2], stride: usize) -> Self {
        check(data.len(), sizes, stride);
        MatMut { first: data.as_mut_ptr(), sizes, strides: [1, stride], borrow: PhantomData }
    }

    /// Number of rows.
    #[inline(always)]
    pub fn rows(&self) -> usize {
        self.sizes[0]
    }

    /// Number of columns.
    #[inline(always)]
    pub fn columns(&self) -> usize {
        self.sizes[1]
    }

    /// The same matrix, to be read.
    #[inline(always)]
    pub fn read(&self) -> MatRef<'_, T> {
        MatRef { first: self.first, sizes: self.sizes, strides: self.strides, borrow: PhantomData }
    }

    /// The same matrix, borrowed for a shorter time.
    #[inline(always)]
    pub fn again(&mut self) -> MatMut<'_, T> {
        MatMut { first: self.first, sizes: self.sizes, strides: self.strides, borrow: PhantomData }
    }

    /// The transpose, in place.
    #[inline]
    pub fn transposed(self) -> Self {
        let ([m, n], [down, across]) = (self.sizes, self.strides);
        MatMut { sizes: [n, m], strides: [across, down], ..self }
    }

    /// Some rows and columns.
    pub fn block(self, rows: Range<usize>, columns: Range<usize>) -> Self {
        let block = self.read().block(rows, columns);
        MatMut {
            first: block.first.cast_mut(),
            sizes: block.sizes,
            strides: self.strides,
            borrow: PhantomData,
        }
    }

    /// The rows before this one, and the others.
    pub fn split_rows(self, row: usize) -> [MatMut<'a, T>; 2] {
        let [m, n] = self.sizes;
        let below = self.read().block(row..m, 0..n).first.cast_mut();
        [(self.first, row), (below, m - row)].map(|(first, rows)| MatMut {
            first,
            sizes: [rows, n],
            strides: self.strides,
            borrow: PhantomData,
        })
    }

    /// The columns before this one, and the others.
    pub fn split_columns(self, column: usize) -> [MatMut<'a, T>; 2] {
        self.transposed().split_rows(column).map(MatMut::transposed)
    }

    /// The four blocks that meet at an element: the upper left and right ones, the lower left and right ones.
    pub fn split(self, row: usize, column: usize) -> [[MatMut<'a, T>; 2]; 2] {
        self.split_rows(row).map(|half| half.split_columns(column))
    }

    /// An element.
    #[inline(always)]
    pub fn at(&self, row: usize, column: usize) -> T {
        self.read().at(row, column)
    }

    /// Writes an element.
    #[inline(always)]
    pub fn set(&mut self, row: usize, column: usize, x: T) {
        assert!(row < self.sizes[0] && column < self.sizes[1], "an element outside of the matrix");
        // SAFETY: an element of the matrix, which is borrowed exclusively.
        unsafe { *self.first.add(row * self.strides[0] + column * self.strides[1]) = x }
    }

    /// A column, whose elements are contiguous.
    #[inline(always)]
    pub fn column(&mut self, column: usize) -> &mut [T] {
        assert!(
            column < self.sizes[1] && (self.strides[0] == 1 || self.sizes[0] < 2),
            "no contiguous column"
        );
        // SAFETY: the elements of a column of the matrix, which is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.first.add(column * self.strides[1]), self.sizes[0]) }
    }

    /// Two different columns, whose elements are contiguous.
    pub fn two_columns(&mut self, i: usize, j: usize) -> [&mut [T]; 2] {
        assert!(i != j, "one column twice");
        [i, j].map(|column| {
            let column: *mut [T] = self.column(column);
            // SAFETY: columns have no elements in common, and the matrix is borrowed exclusively.
            unsafe { &mut *column }
        })
    }

    /// Exchanges two rows.
    pub fn swap_rows(&mut self, i: usize, j: usize) {
        for column in 0..self.columns() {
            let (x, y) = (self.at(i, column), self.at(j, column));
            self.set(i, column, y);
            self.set(j, column, x);
        }
    }

    /// Writes the elements of a matrix of the same sizes.
    pub fn copy(&mut self, from: MatRef<T>) {
        assert!(self.sizes == from.sizes, "a matrix of other sizes");
        let dense = self.strides[0] == 1 && from.strides[0] == 1;
        for j in 0..self.columns() {
            if dense {
                self.column(j).copy_from_slice(from.column(j));
            } else {
                (0..self.rows()).for_each(|i| self.set(i, j, from.at(i, j)));
            }
        }
    }

    /// Writes one value everywhere.
    pub fn fill(&mut self, x: T) {
        for j in 0..self.columns() {
            if self.strides[0] == 1 {
                self.column(j).fill(x);
            } else {
                (0..self.rows()).for_each(|i| self.set(i, j, x));
            }
        }
    }
}
