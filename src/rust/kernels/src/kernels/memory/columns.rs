//! Updates of the same elements of each column of a matrix: places are found once, for all columns.

use super::row_reads;
use super::row_sums;
use super::walk::{Starts, Stride, Walk, ELEMENT, LIST, NOWHERE, PIECE};
use super::zeroed;
use crate::dtype::{DType, Element, Float};
use crate::kernels::threads::pool;
use crate::kernels::tile;
use crate::kernels::wide::wide;
use crate::stop;
use crate::tensor::View;

/// Elements of the columns of a matrix that are updated, the same ones of each, as `x[i, ] <- y` has them.
pub(super) struct Columns {
    /// The first element that is updated, of the first column.
    first: usize,
    /// From column to column.
    stride: usize,
    number: usize,
    /// Elements of a column from the first that is updated to the last.
    span: usize,
    /// How far the elements of a column are behind its first one, or [`NOWHERE`].
    places: Vec<u32>,
}

impl Columns {
    /// Those of a walk in a buffer of so many elements, if it has them, and no column has elements of another one.
    pub(super) fn of(walk: &Walk, starts: &Starts, len: usize) -> Option<Columns> {
        let &[(rows, Stride::Table(1)), (number, Stride::Memory(stride))] = walk.0.as_slice() else {
            return None;
        };
        if len > NOWHERE as usize {
            return None;
        }
        let mut places = zeroed::<u32>(rows);
        pool::for_each_chunk(&mut places, PIECE, rows * ELEMENT, |i, piece| {
            starts.places(i * PIECE..i * PIECE + piece.len(), &(0..len), piece);
        });
        // `NOWHERE` is no minimum, as the largest number, and no maximum, as it becomes 0 when 1 is added.
        let (first, last) = wide(|| {
            let ends =
                |(first, last): (u32, u32), &place: &u32| (place.min(first), place.wrapping_add(1).max(last));
            places.iter().fold((NOWHERE, 0), ends)
        });
        let span = last.checked_sub(first)? as usize;
        if first > 0 {
            let place = |place: &mut u32| *place = if *place == NOWHERE { NOWHERE } else { *place - first };
            wide(|| places.iter_mut().for_each(place));
        }
        let (first, stride) = (first as usize, usize::try_from(stride).ok()?);
        let end = stride.checked_mul(number.checked_sub(1)?)?.checked_add(first + span)?;
        (span > 0 && span <= stride && end <= len).then_some(Columns { first, stride, number, span, places })
    }

    /// Whether reads of them, of elements of a width, are faster row by row.
    pub(super) fn are_rows(walk: &Walk, width: usize) -> bool {
        let &[(rows, Stride::Table(1)), (number, Stride::Memory(stride))] = walk.0.as_slice() else {
            return false;
        };
        usize::try_from(stride).is_ok_and(|stride| row_reads::is_worth(rows, stride, number, width))
    }

    /// Reads them, of which each has a place, row by row.
    pub(super) fn read<T: Element>(&self, x: &[T], out: &mut [T]) {
        row_reads::read(&x[self.first..], [self.span, self.stride], &self.places, out);
    }

    /// Updates them, if `adds` by sums of floats. Columns are shared out to threads.
    pub(super) fn update<T: Element>(
        &self,
        from: &View,
        out: &mut [T],
        adds: bool,
        each: impl Fn(&mut [T], &[u32], &[T]) + Sync,
    ) {
        let rows = self.places.len();
        if adds && row_sums::is_worth(rows, self.span, self.number) {
            match from.dtype {
                DType::F32 => return self.add::<T, f32>(from, out),
                DType::F64 => return self.add::<T, f64>(from, out),
                _ => {}
            }
        }
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

    /// Adds to some columns together.
    fn add<T: Element, F: Float>(&self, from: &View, out: &mut [T]) {
        let rows = self.places.len();
        let end = self.first + (self.number - 1) * self.stride + self.span;
        let width = row_sums::together(self.number);
        let (out, work) = (&mut out[self.first..end], rows * self.number * ELEMENT / width);
        pool::for_each_chunk(out, width * self.stride, work, |i, out| {
            let columns = i * width..((i + 1) * width).min(self.number);
            let mut scratch = vec![];
            let new = tile::tile::<T>(from, columns.start * rows..columns.end * rows, &mut scratch);
            row_sums::add::<T, F>(out, [self.span, self.stride], &self.places, new);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::kernels::cast;
    use crate::kernels::elementwise::Binary;
    use crate::kernels::memory::indexed::{combine, store, OUTSIDE};
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
                let starts = Starts { count: rows.len(), find: &find, places: None, examples: 1 };
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

    /// Adds to floats in memory that begins with 0.5 everywhere, and compares bits.
    fn check_floats<F: Float>(rows: &[isize], (at, stride, columns): (isize, isize, usize)) {
        let (count, whole) = (rows.len(), Shape::from([stride as usize * (columns + 1) + 4]));
        let shape = Shape::from([count, columns]);
        let number = |i: usize| match i % 13 {
            3 => -0.0,
            7 => 1e30,
            n => (n * i % 101) as f64 / 7.0 - 5.0,
        };
        let new: Vec<F> = (0..shape.size()).map(|i| F::of(number(i))).collect();
        let start = |i: usize| if rows[i] == OUTSIDE { OUTSIDE } else { rows[i] + at };
        let find =
            |range: Range<usize>, out: &mut [isize]| range.zip(out).for_each(|(i, out)| *out = start(i));
        let starts = Starts { count, find: &find, places: None, examples: 1 };
        let walk = Walk::new([(count, Stride::Table(1)), (columns, Stride::Memory(stride))].into_iter());
        let mut want = vec![F::of(0.5); whole.size()];
        for (i, &new) in new.iter().enumerate().filter(|(i, _)| rows[i % count] != OUTSIDE) {
            let place = (start(i % count) + (i / count) as isize * stride) as usize;
            want[place] = want[place] + new;
        }
        // Dense, and as the transpose of what lies row by row.
        let turned: Vec<F> = (0..shape.size()).map(|i| new[i / columns + i % columns * count]).collect();
        let layouts = [Layout::dense(&shape), Layout { strides: vec![columns as isize, 1], offset: 0 }];
        for (data, layout) in [&new, &turned].into_iter().zip(&layouts) {
            let from = View { dtype: F::DTYPE, shape: &shape, layout, data: cast::bytes(data) };
            let mut out = vec![F::of(0.5); whole.size()];
            let mut target = ViewMut { dtype: F::DTYPE, shape: &whole, data: cast::bytes_mut(&mut out) };
            combine(&walk, &starts, &from, &mut target, &Binary::add.pair(F::DTYPE).unwrap());
            assert!(cast::bytes(&out) == cast::bytes(&want), "{count} {at} {stride} {columns}");
        }
    }

    #[test]
    fn floats_are_added_in_order() {
        for (count, places) in [(1, 1), (5, 9), (40, 6), (700, 300), (5000, 3)] {
            let row = |i: usize| match (i * 7919 + i / 3) % (places + 1) {
                n if n == places && i % 2 == 0 => OUTSIDE,
                n => n.min(places - 1) as isize,
            };
            let rows: Vec<isize> = (0..count).map(row).collect();
            // As they come, and in order, where many of one place come in succession.
            let mut sorted = rows.clone();
            sorted.sort_unstable();
            for rows in [rows, sorted] {
                for columns in [1, 2, 3, 4, 5, 6, 8, 9, 10, 19] {
                    check_floats::<f32>(&rows, (0, places as isize, columns));
                    check_floats::<f64>(&rows, (2, places as isize + 3, columns));
                }
            }
        }
    }
}
