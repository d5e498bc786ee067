//! Indexed copies: windows are read from, or written to, positions that a program computes.
//!
//! A dense value is walked in its own order; positions on the other side of the copy follow from the strides
//! of its axes, in memory or in a table of positions. Runs that are contiguous on both sides are copied as
//! one.

use super::columns::Columns;
use super::walk::{ELEMENT, LIST, PIECE};
use crate::dtype::Element;
use crate::growth::{table, with_table};
use crate::kernels::cast::by_width;
use crate::kernels::elementwise::{Binary, Pair};
use crate::kernels::threads::{pool, threads};
use crate::kernels::tile::TILE;
use crate::kernels::{cast, tile};
use crate::stop;
use crate::tensor::{Layout, View, ViewMut};
use std::ops::Range;

pub use super::walk::{Places, Starts, Stride, Walk, NOWHERE, OUTSIDE};

/// Targets of the elements of a dense value in another one.
#[derive(Debug)]
pub struct Targets {
    /// The axes of the first.
    pub walk: Walk,
    /// Starts of windows in the second; some are [`OUTSIDE`].
    pub table: Vec<isize>,
}

impl Targets {
    /// Visits elements `range` that have a target, in order: their number, counted from the start of the
    /// range, and the number of the target.
    pub fn each(&self, range: Range<usize>, mut visit: impl FnMut(usize, usize)) {
        self.walk.runs(range, |run| {
            for i in 0..run.len {
                let (entry, offset) = match run.stride {
                    Stride::Memory(stride) => (run.entry, run.offset + i as isize * stride),
                    Stride::Table(stride) => (run.entry + i * stride, run.offset),
                };
                if self.table[entry] != OUTSIDE {
                    visit(run.at + i, (self.table[entry] + offset) as usize);
                }
            }
        });
    }
}

/// Fills `out` with elements of `data`, whose positions are relative to the start of the buffer.
pub fn load(walk: &Walk, starts: &Starts, data: &[u8], out: &mut ViewMut) {
    by_width!(out.dtype, T => load_as::<T>(walk, starts, cast::slice(data), cast::slice_mut(out.data)))
}

fn load_as<T: Element>(walk: &Walk, starts: &Starts, data: &[T], out: &mut [T]) {
    let work = out.len() * ELEMENT;
    if walk.is_list() && data.len() <= NOWHERE as usize {
        return pool::for_each_chunk(out, PIECE, work, |i, out| {
            with_table(0, out.len().min(TILE), |places| {
                for (j, out) in out.chunks_mut(TILE).enumerate() {
                    let (start, places) = (i * PIECE + j * TILE, &mut places[..out.len()]);
                    starts.places(start..start + out.len(), &(0..data.len()), places);
                    out.iter_mut().zip(places).for_each(|(out, &mut place)| *out = data[place as usize]);
                }
            })
        });
    }
    if Columns::are_rows(walk, std::mem::size_of::<T>()) {
        if let Some(columns) = Columns::of(walk, starts, data.len()) {
            return columns.read(data, out);
        }
    }
    let table = starts.table();
    if let Some((rows, stride)) = walk.rows(&table, data.len()) {
        return pool::for_each_chunk(out, PIECE, work, |i, out| {
            // SAFETY: `rows` says that they are there.
            unsafe { load_rows(&table[..rows], stride, data, i * PIECE, out) }
        });
    }
    pool::for_each_chunk(out, PIECE, work, |i, out| {
        let start = i * PIECE;
        walk.runs(start..start + out.len(), |run| {
            let out = &mut out[run.at..run.at + run.len];
            let position = |entry: usize, offset: isize| (table[entry] + offset) as usize;
            match run.stride {
                Stride::Memory(1) => {
                    let first = position(run.entry, run.offset);
                    out.copy_from_slice(&data[first..first + out.len()]);
                }
                Stride::Memory(stride) => {
                    let first = table[run.entry] + run.offset;
                    out.iter_mut()
                        .enumerate()
                        .for_each(|(i, x)| *x = data[(first + i as isize * stride) as usize]);
                }
                Stride::Table(stride) => {
                    out.iter_mut()
                        .enumerate()
                        .for_each(|(i, x)| *x = data[position(run.entry + i * stride, run.offset)]);
                }
            }
        });
    });
}

/// Fills `out` with elements of columns that are `stride` apart, those at the positions of the table in each, from
/// element `start` of them on.
///
/// # Safety
/// All of them are in `data`.
unsafe fn load_rows<T: Element>(table: &[isize], stride: usize, data: &[T], start: usize, out: &mut [T]) {
    let (mut column, mut row, mut rest) = (start / table.len() * stride, start % table.len(), out);
    while !rest.is_empty() {
        let rows = &table[row..];
        let (now, later) = rest.split_at_mut(rows.len().min(rest.len()));
        for (out, &at) in now.iter_mut().zip(rows) {
            // SAFETY: by the caller.
            *out = unsafe { *data.get_unchecked(column + at as usize) };
        }
        (column, row, rest) = (column + stride, 0, later);
    }
}

/// Writes elements `from` to positions of `out`, in order, so that the later of two for one position wins.
/// Windows that are [`OUTSIDE`] are left out.
pub fn store(walk: &Walk, starts: &Starts, from: &View, out: &mut ViewMut) {
    by_width!(from.dtype, T => {
        let each = |out: &mut [T], places: &[u32], new: &[T]| {
            for (&place, &new) in places.iter().zip(new) {
                if let Some(old) = out.get_mut(place as usize) {
                    *old = new;
                }
            }
        };
        update::<T>(walk, starts, from, out, false, each, |line, new| line.copy_from_slice(new));
    })
}

/// Writes the elements of `from` to `out`, where they are `steps` apart along each axis, the first at `position`.
pub fn store_at(steps: &[isize], position: isize, from: &View, out: &mut ViewMut) {
    if from.shape.size() <= FEW {
        // A loop's body writes some elements in some nanoseconds: no list is made for them.
        return by_width!(from.dtype, T => {
            let axes = (&from.shape[..], &from.layout.strides[..], steps);
            let (x, offset) = (cast::slice::<T>(from.data), from.layout.offset as isize);
            place(axes, (x, offset), (cast::slice_mut::<T>(out.data), position))
        });
    }
    if let (Some(1), true) = (steps.first(), from.layout.strides.iter().all(|&stride| stride == 0)) {
        return by_width!(from.dtype, T => {
            let (x, out) = (cast::slice::<T>(from.data)[from.layout.offset], cast::slice_mut::<T>(out.data));
            let to = Layout { strides: steps.to_vec(), offset: position as usize };
            for range in tile::tiles(from.shape.size()) {
                tile::runs(from.shape, &to, range, |_, first, _, len| out[first..first + len].fill(x));
            }
        });
    }
    let walk = Walk::new(from.shape.iter().zip(steps).map(|(&n, &step)| (n, Stride::Memory(step))));
    store(
        &walk,
        &Starts { count: 1, find: &|_, starts| starts.fill(position), places: None, examples: 1 },
        from,
        out,
    );
}

/// Elements that are written one by one.
const FEW: usize = 256;

/// Copies elements from and to these positions on: along axes of these sizes, distances there, and here.
fn place<T: Element>(
    (sizes, strides, steps): (&[usize], &[isize], &[isize]),
    (x, from): (&[T], isize),
    (out, to): (&mut [T], isize),
) {
    let Some(last) = sizes.iter().rposition(|&n| n != 1) else {
        out[to as usize] = x[from as usize];
        return;
    };
    let (n, stride, step) = (sizes[last], strides[last], steps[last]);
    let others = (&sizes[..last], &strides[..last], &steps[..last]);
    if others.0.iter().all(|&n| n == 1) {
        for i in 0..n as isize {
            out[(to + i * step) as usize] = x[(from + i * stride) as usize];
        }
        return;
    }
    for i in 0..n as isize {
        place(others, (x, from + i * stride), (&mut *out, to + i * step));
    }
}

/// As [`store`], with new elements that are made of the old and the given ones.
pub fn combine(walk: &Walk, starts: &Starts, from: &View, out: &mut ViewMut, by: &Pair) {
    by_width!(from.dtype, T => {
        let each = |elements: &mut [T], places: &[u32], new: &[T]| {
            by.each(cast::bytes_mut(elements), places, cast::bytes(new))
        };
        let mut old = Vec::new();
        update::<T>(walk, starts, from, out, matches!(by.by, Binary::add), each, |line, new| {
            old.clear();
            old.extend_from_slice(line);
            by.map.run([cast::bytes(&old), cast::bytes(new)], cast::bytes_mut(line));
        });
    })
}

/// Threads that share a scatter, at most: each reads all positions, and updates those in its share of the
/// result.
const PARTS: usize = 4;

/// Bytes of a result in which a place is not found in the second-level cache.
const FAR: usize = 2 << 20;

/// Threads that share the updates of a list. To select the updates of a share takes about as long as to
/// update what is near: it is worth it where an update waits for memory, or where positions ascend, so that
/// shares follow one another.
fn parts(starts: &Starts, bytes: usize) -> usize {
    let n = starts.count.min(TILE);
    let (first, last) = (&mut table(0, n)[..], &mut table(0, n)[..]);
    (starts.find)(0..n, first);
    (starts.find)(starts.count - n..starts.count, last);
    // All of them, or those of the examples of a batch.
    let ascend = first.is_sorted() || first.iter().max() < last.iter().min();
    if bytes >= FAR || ascend {
        threads().min(PARTS)
    } else {
        1
    }
}

fn update<T: Element>(
    walk: &Walk,
    starts: &Starts,
    from: &View,
    out: &mut ViewMut,
    adds: bool,
    each: impl Fn(&mut [T], &[u32], &[T]) + Sync,
    mut lines: impl FnMut(&mut [T], &[T]),
) {
    let out = cast::slice_mut::<T>(out.data);
    if walk.is_list() {
        let n = from.shape.size();
        let (all, examples) = (out.len(), starts.examples.min(n).max(1));
        let (size, each_of) = (all / examples, n / examples);
        // Examples of a batch are shared out with their updates.
        let parts = match examples {
            _ if n <= LIST => 1,
            1 => parts(starts, std::mem::size_of_val(out)),
            _ => threads(),
        };
        let part = match examples {
            1 => all.div_ceil(parts).clamp(1, NOWHERE as usize),
            _ => examples.div_ceil(parts).min(NOWHERE as usize / size.max(1)).max(1) * size,
        };
        // The result is shared out by position, so that each position gets its updates in order.
        return pool::for_each_chunk(out, part, n * ELEMENT, |i, out| {
            let share = i * part..i * part + out.len();
            let of_share = match examples {
                1 => 0..n,
                _ => share.start / size * each_of..share.end / size * each_of,
            };
            let has_all = examples > 1 || out.len() == all;
            with_table(0, n.min(LIST), |places| {
                let mut scratch = vec![];
                let mut own = vec![T::default(); if has_all { 0 } else { places.len() }];
                let mut start = of_share.start;
                while start < of_share.end {
                    let range = start..(start + LIST).min(of_share.end);
                    stop::work(range.len());
                    start = range.end;
                    let places = &mut places[..range.len()];
                    starts.places(range.clone(), &share, places);
                    let elements = tile::tile::<T>(from, range, &mut scratch);
                    if has_all {
                        each(out, places, elements);
                        continue;
                    }
                    let count = places.iter().filter(|&&place| place != NOWHERE).count();
                    if count == places.len() {
                        each(out, places, elements);
                    } else if count > 0 {
                        // Selected without branches, half of which would be mispredicted.
                        let mut kept = 0;
                        for j in 0..places.len() {
                            let place = places[j];
                            (places[kept], own[kept]) = (place, elements[j]);
                            kept += usize::from(place != NOWHERE);
                        }
                        each(out, &places[..kept], &own[..kept]);
                    }
                }
            });
        });
    }
    if let Some(columns) = Columns::of(walk, starts, out.len()) {
        return columns.update(from, out, adds, each);
    }
    let table = starts.table();
    let (mut scratch, mut positions, mut places) = (Vec::new(), vec![], vec![]);
    for range in tile::tiles(from.shape.size()) {
        let elements = tile::tile::<T>(from, range.clone(), &mut scratch);
        walk.runs(range, |run| {
            let new = &elements[run.at..run.at + run.len];
            let first = |entry: usize| match table[entry] {
                OUTSIDE => OUTSIDE,
                position => position + run.offset,
            };
            let at = first(run.entry);
            positions.clear();
            match run.stride {
                Stride::Memory(_) if at == OUTSIDE => return,
                Stride::Memory(1) => return lines(&mut out[at as usize..at as usize + run.len], new),
                Stride::Memory(stride) => positions.extend((0..run.len as isize).map(|i| at + i * stride)),
                Stride::Table(stride) => {
                    positions.extend((0..run.len).map(|i| first(run.entry + i * stride)));
                }
            }
            let inside = || positions.iter().copied().filter(|&position| position != OUTSIDE);
            let (Some(low), Some(high)) = (inside().min(), inside().max()) else { return };
            if high - low >= NOWHERE as isize {
                let each_of = |(&position, new): (&isize, &T)| {
                    if position != OUTSIDE {
                        each(&mut out[position as usize..][..1], &[0], &[*new]);
                    }
                };
                return positions.iter().zip(new).for_each(each_of);
            }
            places.clear();
            places.extend(positions.iter().map(|&position| match position {
                OUTSIDE => NOWHERE,
                position => (position - low) as u32,
            }));
            each(&mut out[low as usize..=high as usize], &places, new);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::shape::Shape;

    #[test]
    fn columns_are_taken_and_put_back() {
        let data: Vec<i32> = (0..12).collect();
        // Columns 2, 0, 2 of a (3,4).
        let walk = Walk::new([(3, Stride::Memory(1)), (3, Stride::Table(1))].into_iter());
        let shape = Shape::from([3, 3]);
        let mut out = vec![0i32; 9];
        let target = &mut ViewMut { dtype: DType::I32, shape: &shape, data: cast::bytes_mut(&mut out) };
        let starts = |range: Range<usize>, out: &mut [isize]| out.copy_from_slice(&[6, 0, 6][range]);
        load(
            &walk,
            &Starts { count: 3, find: &starts, places: None, examples: 1 },
            cast::bytes(&data),
            target,
        );
        assert_eq!(out, [6, 7, 8, 0, 1, 2, 6, 7, 8]);
        // Added back, one of them nowhere.
        let (layout, mut sum) = (Layout::dense(&shape), data.clone());
        let from = View { dtype: DType::I32, shape: &shape, layout: &layout, data: cast::bytes(&out) };
        let whole = Shape::from([3, 4]);
        let mut target = ViewMut { dtype: DType::I32, shape: &whole, data: cast::bytes_mut(&mut sum) };
        let starts = |range: Range<usize>, out: &mut [isize]| out.copy_from_slice(&[6, OUTSIDE, 6][range]);
        let starts = Starts { count: 3, find: &starts, places: None, examples: 1 };
        combine(&walk, &starts, &from, &mut target, &Binary::add.pair(DType::I32).unwrap());
        assert_eq!(sum, [0, 1, 2, 3, 4, 5, 18, 21, 24, 9, 10, 11]);
    }

    #[test]
    fn elements_of_columns_are_taken_in_pieces() {
        // Rows 3, 0, 3 and others, of more elements than a piece has; and without a row.
        for (rows, columns) in [(3, 7000), (1, 5), (40, 900), (0, 3)] {
            let data: Vec<i32> = (0..5 * columns as i32).collect();
            let row = |i: usize| [3, 0, 3, 4, 1][i % 5];
            let walk = Walk::new([(rows, Stride::Table(1)), (columns, Stride::Memory(5))].into_iter());
            let shape = Shape::from([rows, columns]);
            let mut out = vec![-1i32; shape.size()];
            let target = &mut ViewMut { dtype: DType::I32, shape: &shape, data: cast::bytes_mut(&mut out) };
            let find = |range: Range<usize>, out: &mut [isize]| {
                range.zip(out).for_each(|(i, out)| *out = row(i) as isize);
            };
            load(
                &walk,
                &Starts { count: rows, find: &find, places: None, examples: 1 },
                cast::bytes(&data),
                target,
            );
            let want = (0..columns).flat_map(|j| (0..rows).map(move |i| (row(i) + 5 * j) as i32));
            assert_eq!(out, want.collect::<Vec<_>>());
        }
    }

    #[test]
    fn one_element_is_stored_in_rows_of_any_length() {
        for (rows, columns, start) in [(300, 5, 0), (7, 90, 1), (1, 400, 2)] {
            let (shape, whole) = (Shape::from([rows, columns]), Shape::from([rows + 3, columns]));
            let mut out = vec![0i32; whole.size()];
            let layout = Layout { strides: vec![0, 0], offset: 1 };
            let from =
                View { dtype: DType::I32, shape: &shape, layout: &layout, data: cast::bytes(&[5i32, 7]) };
            let target = &mut ViewMut { dtype: DType::I32, shape: &whole, data: cast::bytes_mut(&mut out) };
            store_at(&[1, rows as isize + 3], start as isize, &from, target);
            let inside = |i: usize| (start..start + rows).contains(&(i % (rows + 3)));
            assert!((0..out.len()).all(|i| out[i] == if inside(i) { 7 } else { 0 }));
        }
    }
}
