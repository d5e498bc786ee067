//! Operands of products as batches of matrices: in place, or copied.

use super::matrix::{Batch, Matrix};
use crate::dtype::Element;
use crate::kernels::cast;
use crate::kernels::memory::zeroed;
use crate::kernels::tile;
use crate::shape::Shape;
use crate::tensor::{Layout, View, ViewMut};

/// How an operand is read as a batch of matrices: rows, columns and batch are sets of its axes.
pub enum Side {
    /// In place: the strides of rows, columns and matrices.
    Lines([isize; 3]),
    /// From a copy, as not each of the three has a single stride: the order of the axes in the copy, the rows
    /// of a matrix, and its elements.
    Copied(Vec<usize>, usize, usize),
}

impl Side {
    pub(super) fn matrices<'a, T: Element>(&self, x: &View<'a>, scratch: &'a mut Vec<T>) -> Batch<'a, T> {
        match self {
            &Side::Lines([rows, columns, stride]) => {
                let first =
                    Matrix { data: cast::slice(x.data), first: x.layout.offset, strides: [rows, columns] };
                Batch { first, stride }
            }
            Side::Copied(order, rows, size) => {
                let shape =
                    Shape::try_new(order.iter().map(|&i| x.shape[i]).collect()).expect("same size as before");
                let layout = Layout {
                    strides: order.iter().map(|&i| x.layout.strides[i]).collect(),
                    offset: x.layout.offset,
                };
                *scratch = zeroed(shape.size());
                let view = View { shape: &shape, layout: &layout, ..*x };
                tile::copy(
                    &view,
                    &mut ViewMut { dtype: x.dtype, shape: &shape, data: cast::bytes_mut(scratch) },
                );
                Batch { first: Matrix::dense(scratch, *rows), stride: *size as isize }
            }
        }
    }
}

/// A batch whose matrices lie one after the other: a copy, if they lie side by side. Each line of the cache holds elements
/// of several, which would all be read again for each.
pub(super) fn apart<'a, T: Element>(
    x: Batch<'a, T>,
    [b, rows, columns]: [usize; 3],
    scratch: &'a mut Vec<T>,
) -> Batch<'a, T> {
    let [down, across] = x.first.strides;
    let is_far = |size: usize, stride: isize| size == 1 || stride.abs() > 1;
    if b == 1 || x.stride != 1 || rows * columns == 1 || !is_far(rows, down) || !is_far(columns, across) {
        return x;
    }
    // In the order in which they lie.
    let by_row = columns > 1 && (rows == 1 || across.abs() < down.abs());
    let (sizes, strides) = match by_row {
        true => ([columns, rows, b], [across, down, 1]),
        false => ([rows, columns, b], [down, across, 1]),
    };
    let shape = Shape::try_new(sizes.to_vec()).expect("same size as before");
    let layout = Layout { strides: strides.into(), offset: x.first.first };
    *scratch = zeroed(shape.size());
    let view = View { dtype: T::DTYPE, shape: &shape, layout: &layout, data: cast::bytes(x.first.data) };
    tile::copy(&view, &mut ViewMut { dtype: T::DTYPE, shape: &shape, data: cast::bytes_mut(scratch) });
    let dense = Matrix::dense(scratch, sizes[0]);
    let first = if by_row { dense.transposed() } else { dense };
    Batch { first, stride: (rows * columns) as isize }
}
