//! Matrices that products read and write, by pointers.

/// Products in a block of a sum.
pub(super) const DEPTH: usize = 256;

/// A matrix by its first element and its strides.
#[derive(Clone, Copy, Debug)]
pub struct Operand<T> {
    /// The first element.
    pub first: *const T,
    /// From one row, and from one column, to the next.
    pub strides: [isize; 2],
}

impl<T> Operand<T> {
    /// Its transpose, in place.
    #[inline]
    pub(super) fn transposed(self) -> Self {
        Operand { first: self.first, strides: [self.strides[1], self.strides[0]] }
    }

    pub(super) fn at(&self, row: usize, column: usize) -> *const T {
        let [i, j] = self.strides;
        self.first.wrapping_offset(row as isize * i + column as isize * j)
    }
}

/// A matrix that is written.
#[derive(Clone, Copy, Debug)]
pub struct Target<T> {
    /// The first element.
    pub first: *mut T,
    /// From one row, and from one column, to the next.
    pub strides: [usize; 2],
}

impl<T> Target<T> {
    pub(super) fn at(&self, row: usize, column: usize) -> *mut T {
        self.first.wrapping_add(row * self.strides[0] + column * self.strides[1])
    }
}
