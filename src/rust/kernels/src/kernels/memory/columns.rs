//! Updates of the same elements of each column of a matrix: places are found once, for all columns.

use super::walk::{Stride, Walk, ELEMENT, LIST, NOWHERE, OUTSIDE, PIECE};
use crate::dtype::Element;
use crate::kernels::threads::pool;
use crate::kernels::tile;
use crate::stop;
use crate::tensor::View;

/// Elements of the columns of a matrix that are updated, the same ones of each, as `x[i, ] <- y` has them.
pub(super) struct Columns {
    /// The first element that is updated, of the first column.
    first: usize,
    /// From column to column.
    stride: usize,
    number: usize,
    /// How far the elements of a column are behind its first one, or [`NOWHERE`].
    places: Vec<u32>,
}

impl Columns {
    /// Those of a walk in a buffer of so many elements, if it has them, and no column has elements of another one.
    pub(super) fn of(walk: &Walk, table: &[isize], len: usize) -> Option<Columns> {
        let &[(rows, Stride::Table(1)), (number, Stride::Memory(stride))] = walk.0.as_slice() else {
            return None;
        };
        let table = &table[..rows];
        let inside = || table.iter().copied().filter(|&position| position != OUTSIDE);
        let (first, last) = (inside().min()?, inside().max()?);
        let (first, span) = (usize::try_from(first).ok()?, usize::try_from(last - first).ok()?);
        let stride = usize::try_from(stride).ok().filter(|&stride| span < stride.min(NOWHERE as usize))?;
        let end = stride.checked_mul(number.checked_sub(1)?)?.checked_add(first + span)?;
        // Positions that are left out are far beyond the others.
        let place = |&position: &isize| (position as usize).wrapping_sub(first).min(NOWHERE as usize) as u32;
        (end < len).then(|| Columns { first, stride, number, places: table.iter().map(place).collect() })
    }

    /// Updates them. Columns are shared out to threads.
    pub(super) fn update<T: Element>(
        &self,
        from: &View,
        out: &mut [T],
        each: impl Fn(&mut [T], &[u32], &[T]) + Sync,
    ) {
        let rows = self.places.len();
        let together = PIECE.div_ceil(rows);
        let (out, work) = (&mut out[self.first..], rows * self.number * ELEMENT);
        pool::for_each_chunk(out, together * self.stride, work, |i, out| {
            let mut scratch = vec![];
            for (column, out) in (i * together..self.number).zip(out.chunks_mut(self.stride)) {
                for (places, start) in self.places.chunks(LIST).zip((column * rows..).step_by(LIST)) {
                    stop::work(places.len());
                    each(out, places, tile::tile::<T>(from, start..start + places.len(), &mut scratch));
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::kernels::cast;
    use crate::kernels::elementwise::Binary;
    use crate::kernels::memory::indexed::{combine, store, Starts};
    use crate::shape::Shape;
    use crate::tensor::{Layout, ViewMut};
    use std::ops::Range;

    #[test]
    fn elements_of_columns_are_updated_as_one_by_one() {
        // A row twice, others once or left out, of matrices that begin later or lie in a larger one; rows of columns
        // that overlap; all left out.
        let rows: [&[isize]; 4] = [&[3, 0, 3, OUTSIDE, 1], &[OUTSIDE, 2], &[4, 0, 6, 5], &[OUTSIDE]];
        for (at, stride, columns) in [(0, 5, 900), (2, 7, 3), (0, 5, 0), (1, 6, 7000)] {
            for rows in rows {
                let start = |i: usize| if rows[i] == OUTSIDE { OUTSIDE } else { rows[i] + at };
                let table = [(rows.len(), Stride::Table(1)), (columns, Stride::Memory(stride))];
                let shape = Shape::from([rows.len(), columns]);
                let new: Vec<i32> = (1..=shape.size() as i32).collect();
                let layout = Layout::dense(&shape);
                let from =
                    View { dtype: DType::I32, shape: &shape, layout: &layout, data: cast::bytes(&new) };
                let whole = Shape::from([stride as usize * (columns + 1) + 4]);
                let find = |range: Range<usize>, out: &mut [isize]| {
                    range.zip(out).for_each(|(i, out)| *out = start(i));
                };
                let starts = Starts { count: rows.len(), find: &find, places: None };
                let (mut added, mut stored) = (vec![7i32; whole.size()], vec![7i32; whole.size()]);
                let (mut want_added, mut want_stored) = (added.clone(), stored.clone());
                for (i, &new) in new.iter().enumerate() {
                    let (row, column) = (i % rows.len(), i / rows.len());
                    if rows[row] != OUTSIDE {
                        let place = (start(row) + column as isize * stride) as usize;
                        want_added[place] += new;
                        want_stored[place] = new;
                    }
                }
                let walk = Walk::new(table.into_iter());
                let mut target =
                    ViewMut { dtype: DType::I32, shape: &whole, data: cast::bytes_mut(&mut added) };
                combine(&walk, &starts, &from, &mut target, &Binary::add.pair(DType::I32).unwrap());
                let mut target =
                    ViewMut { dtype: DType::I32, shape: &whole, data: cast::bytes_mut(&mut stored) };
                store(&walk, &starts, &from, &mut target);
                assert_eq!((added, stored), (want_added, want_stored), "{rows:?} {at} {stride} {columns}");
            }
        }
    }
}
