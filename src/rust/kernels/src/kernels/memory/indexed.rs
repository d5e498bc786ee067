//! Windows: elements that are read from, or written to, places that are found while a program runs.
//!
//! A dense value is walked in its own order; where the other side of the copy lies follows from the steps of
//! its dimensions, in memory or in a table of places. Runs that are contiguous on both sides are copied as
//! one.

use super::zeroed;
use crate::dtype::Element;
use crate::kernels::cast::by_width;
use crate::kernels::threads::{pool, threads};
use crate::kernels::tile::TILE;
use crate::kernels::{cast, tile};
use crate::tensor::{View, ViewMut};
use std::ops::Range;

/// In a table: a window that is left out.
pub const OUTSIDE: isize = isize::MIN;

/// How the other side moves with a dimension of the dense value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// By so many elements in memory.
    Memory(isize),
    /// By so many entries of the table.
    Table(usize),
}

/// The dimensions of a dense value with their steps.
#[derive(Debug)]
pub struct Walk(Vec<(usize, Step)>);

/// Neighbours along the first dimension of a walk: `len` elements from number `at` on, counted from the start
/// of the range that is walked. Element `i` of them lies `offset` and `i` steps from the place in the table.
#[derive(Debug)]
struct Run {
    at: usize,
    len: usize,
    entry: usize,
    offset: isize,
    step: Step,
}

impl Walk {
    /// A walk over dimensions of these sizes. Dimensions that lie in one line are joined.
    pub fn new(dims: impl Iterator<Item = (usize, Step)>) -> Walk {
        let mut joined: Vec<(usize, Step)> = Vec::new();
        for (size, step) in dims.filter(|(size, _)| *size != 1) {
            match (joined.last_mut(), step) {
                (Some((n, Step::Memory(s))), Step::Memory(step)) if *s * *n as isize == step => *n *= size,
                (Some((n, Step::Table(s))), Step::Table(step)) if *s * *n == step => *n *= size,
                _ => joined.push((size, step)),
            }
        }
        if joined.is_empty() {
            joined.push((1, Step::Memory(1)));
        }
        Walk(joined)
    }

    /// Whether each element is a window, in the order of the table: no table is made then.
    fn is_list(&self) -> bool {
        matches!(self.0.as_slice(), [(_, Step::Table(1))])
    }

    /// Visits elements `range` of the dense value as runs.
    fn runs(&self, range: Range<usize>, mut visit: impl FnMut(Run)) {
        if range.is_empty() {
            return;
        }
        let mut rest = range.start;
        let mut index: Vec<usize> = self
            .0
            .iter()
            .map(|&(n, _)| {
                let i = rest % n;
                rest /= n;
                i
            })
            .collect();
        let (size, step) = self.0[0];
        let mut at = 0;
        while at < range.len() {
            let (mut entry, mut offset) = (0, 0);
            for (&i, &(_, step)) in index.iter().zip(&self.0) {
                match step {
                    Step::Memory(s) => offset += i as isize * s,
                    Step::Table(s) => entry += i * s,
                }
            }
            let len = (size - index[0]).min(range.len() - at);
            visit(Run { at, len, entry, offset, step });
            at += len;
            index[0] += len;
            for axis in 0..self.0.len() - 1 {
                if index[axis] < self.0[axis].0 {
                    break;
                }
                index[axis] = 0;
                index[axis + 1] += 1;
            }
        }
    }
}

/// Where windows start, in the order of a table: as numbers of elements, or [`OUTSIDE`].
pub struct Starts<'a> {
    /// How many windows there are.
    pub count: usize,
    /// Finds those of a range.
    pub find: &'a (dyn Fn(Range<usize>, &mut [isize]) + Sync),
}

impl Starts<'_> {
    /// All of them.
    pub fn table(&self) -> Vec<isize> {
        let mut table = zeroed::<isize>(self.count);
        pool::for_each_chunk(&mut table, PIECE, self.count * ELEMENT, |i, piece| {
            let start = i * PIECE;
            (self.find)(start..start + piece.len(), piece);
        });
        table
    }
}

/// Where the elements of a dense value go in another one.
#[derive(Debug)]
pub struct Targets {
    /// The dimensions of the first.
    pub walk: Walk,
    /// Where windows start in the second; some are [`OUTSIDE`].
    pub table: Vec<isize>,
}

impl Targets {
    /// Visits elements `range` that go somewhere, in order: their number, counted from the start of the
    /// range, and the number of the element that they meet.
    pub fn each(&self, range: Range<usize>, mut visit: impl FnMut(usize, usize)) {
        self.walk.runs(range, |run| {
            for i in 0..run.len {
                let (entry, offset) = match run.step {
                    Step::Memory(step) => (run.entry, run.offset + i as isize * step),
                    Step::Table(step) => (run.entry + i * step, run.offset),
                };
                if self.table[entry] != OUTSIDE {
                    visit(run.at + i, (self.table[entry] + offset) as usize);
                }
            }
        });
    }
}

/// Elements of a piece of work for a thread.
const PIECE: usize = 1 << 14;

/// About how long it takes to copy an element from where it is, in picoseconds.
const ELEMENT: usize = 1_000;

/// Fills `out` with elements of `data`, whose places are relative to the start of the buffer.
pub fn load(walk: &Walk, starts: &Starts, data: &[u8], out: &mut ViewMut) {
    by_width!(out.dtype, T => load_as::<T>(walk, starts, cast::slice(data), cast::slice_mut(out.data)))
}

fn load_as<T: Element>(walk: &Walk, starts: &Starts, data: &[T], out: &mut [T]) {
    let work = out.len() * ELEMENT;
    if walk.is_list() {
        return pool::for_each_chunk(out, PIECE, work, |i, out| {
            let mut places = [0; TILE];
            for (j, out) in out.chunks_mut(TILE).enumerate() {
                let (start, places) = (i * PIECE + j * TILE, &mut places[..out.len()]);
                (starts.find)(start..start + out.len(), places);
                out.iter_mut().zip(places).for_each(|(out, &mut place)| *out = data[place as usize]);
            }
        });
    }
    let table = starts.table();
    pool::for_each_chunk(out, PIECE, work, |i, out| {
        let start = i * PIECE;
        walk.runs(start..start + out.len(), |run| {
            let out = &mut out[run.at..run.at + run.len];
            let place = |entry: usize, offset: isize| (table[entry] + offset) as usize;
            match run.step {
                Step::Memory(1) => {
                    let first = place(run.entry, run.offset);
                    out.copy_from_slice(&data[first..first + out.len()]);
                }
                Step::Memory(step) => {
                    let first = table[run.entry] + run.offset;
                    out.iter_mut()
                        .enumerate()
                        .for_each(|(i, x)| *x = data[(first + i as isize * step) as usize]);
                }
                Step::Table(step) => {
                    out.iter_mut()
                        .enumerate()
                        .for_each(|(i, x)| *x = data[place(run.entry + i * step, run.offset)]);
                }
            }
        });
    });
}

/// Writes elements `from` to places of `out`, in their order, so that of two for one place the later counts.
/// Windows that are [`OUTSIDE`] are left out.
pub fn store(walk: &Walk, starts: &Starts, from: &View, out: &mut ViewMut) {
    by_width!(from.dtype, T => {
        update::<T>(walk, starts, from, out, |_, new| new, |line, new| line.copy_from_slice(new));
    })
}

/// As [`store`], of one window.
pub fn store_at(walk: &Walk, place: isize, from: &View, out: &mut ViewMut) {
    store(walk, &Starts { count: 1, find: &|_, starts| starts.fill(place) }, from, out);
}

/// As [`store`], with `one(old, new)` of what is there and what comes, or `lines(old, new, result)` of many.
pub fn combine<T: Element>(
    walk: &Walk,
    starts: &Starts,
    from: &View,
    out: &mut ViewMut,
    one: impl Fn(T, T) -> T + Sync,
    lines: fn(&[T], &[T], &mut [T]),
) {
    let mut old = Vec::new();
    update::<T>(walk, starts, from, out, one, |line, new| {
        old.clear();
        old.extend_from_slice(line);
        lines(&old, new, line);
    });
}

/// Threads that share a scatter, at most: each looks at all the places, and does what goes to its part of the
/// result.
const PARTS: usize = 4;

fn update<T: Element>(
    walk: &Walk,
    starts: &Starts,
    from: &View,
    out: &mut ViewMut,
    one: impl Fn(T, T) -> T + Sync,
    mut lines: impl FnMut(&mut [T], &[T]),
) {
    let out = cast::slice_mut::<T>(out.data);
    if walk.is_list() {
        let n = from.shape.size();
        let part = out.len().div_ceil(threads().min(PARTS));
        // Parts are shared out by places, so that each place sees its updates in their order.
        return pool::for_each_chunk(out, part, n * ELEMENT, |i, out| {
            let (first, mut places, mut hits, mut scratch) = (i * part, [0; TILE], [0; TILE], Vec::new());
            for range in tile::tiles(n) {
                let places = &mut places[..range.len()];
                (starts.find)(range.clone(), places);
                let elements = tile::tile::<T>(from, range, &mut scratch);
                // First those that meet this part are found, without a jump: every other one would be
                // foreseen wrongly. What is outside is so of every part.
                let mut count = 0;
                for (j, place) in places.iter_mut().enumerate() {
                    *place = place.wrapping_sub(first as isize);
                    hits[count] = j;
                    count += usize::from((*place as usize) < out.len());
                }
                for &j in &hits[..count] {
                    let old = &mut out[places[j] as usize];
                    *old = one(*old, elements[j]);
                }
            }
        });
    }
    let table = starts.table();
    let mut scratch = Vec::new();
    for range in tile::tiles(from.shape.size()) {
        let elements = tile::tile::<T>(from, range.clone(), &mut scratch);
        walk.runs(range, |run| {
            let new = &elements[run.at..run.at + run.len];
            let inside = |entry: usize| Some(table[entry]).filter(|&place| place != OUTSIDE);
            let first = |entry: usize| inside(entry).map(|place| place + run.offset);
            match run.step {
                Step::Memory(1) => {
                    let Some(first) = first(run.entry) else { return };
                    lines(&mut out[first as usize..first as usize + run.len], new);
                }
                Step::Memory(step) => {
                    let Some(first) = first(run.entry) else { return };
                    for (i, &new) in new.iter().enumerate() {
                        let old = &mut out[(first + i as isize * step) as usize];
                        *old = one(*old, new);
                    }
                }
                Step::Table(step) => {
                    for (i, &new) in new.iter().enumerate() {
                        if let Some(place) = first(run.entry + i * step) {
                            let old = &mut out[place as usize];
                            *old = one(*old, new);
                        }
                    }
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::shape::Shape;
    use crate::tensor::Layout;

    #[test]
    fn dimensions_in_one_line_are_joined() {
        let steps = |dims: &[(usize, Step)]| Walk::new(dims.iter().copied()).0;
        let (m, t) = (Step::Memory, Step::Table);
        assert_eq!(steps(&[(2, m(1)), (3, m(2)), (1, t(1)), (4, m(6))]), [(24, m(1))]);
        assert_eq!(steps(&[(2, m(1)), (3, m(4))]), [(2, m(1)), (3, m(4))]);
        assert_eq!(steps(&[(2, t(1)), (3, t(2)), (3, m(1))]), [(6, t(1)), (3, m(1))]);
        assert_eq!(steps(&[]), [(1, m(1))]);
        assert_eq!(steps(&[(2, m(-1)), (3, m(-2))]), [(6, m(-1))]);
    }

    #[test]
    fn columns_are_taken_and_put_back() {
        let data: Vec<i32> = (0..12).collect();
        // Columns 2, 0, 2 of a (3,4).
        let walk = Walk::new([(3, Step::Memory(1)), (3, Step::Table(1))].into_iter());
        let shape = Shape::from([3, 3]);
        let mut out = vec![0i32; 9];
        let target = &mut ViewMut { dtype: DType::I32, shape: &shape, data: cast::bytes_mut(&mut out) };
        let starts = |range: Range<usize>, out: &mut [isize]| out.copy_from_slice(&[6, 0, 6][range]);
        load(&walk, &Starts { count: 3, find: &starts }, cast::bytes(&data), target);
        assert_eq!(out, [6, 7, 8, 0, 1, 2, 6, 7, 8]);
        // Added back, one of them nowhere.
        let (layout, mut sum) = (Layout::dense(&shape), data.clone());
        let from = View { dtype: DType::I32, shape: &shape, layout: &layout, data: cast::bytes(&out) };
        let whole = Shape::from([3, 4]);
        let mut target = ViewMut { dtype: DType::I32, shape: &whole, data: cast::bytes_mut(&mut sum) };
        let starts = |range: Range<usize>, out: &mut [isize]| out.copy_from_slice(&[6, OUTSIDE, 6][range]);
        let starts = Starts { count: 3, find: &starts };
        combine::<i32>(
            &walk,
            &starts,
            &from,
            &mut target,
            |x, y| x + y,
            |x, y, out| {
                (0..out.len()).for_each(|i| out[i] = x[i] + y[i]);
            },
        );
        assert_eq!(sum, [0, 1, 2, 3, 4, 5, 18, 21, 24, 9, 10, 11]);
    }
}
