//! Elements of a value at computed places: single ones, and slices along an axis.

use super::kernel::{Extent, Kernel, Window};
use crate::dtype::{DType, Element};
use crate::kernels::cast::by_width;
use crate::kernels::memory::cache::{fetch, LINE};
use crate::kernels::tile::gather_run;
use crate::kernels::wide::wide;
use std::mem::size_of;
use std::ops::Range;

/// Places that are computed at a time, at most.
pub const PICKS: usize = 256;

/// Elements of a column that are read between two requests for parts of the next one. With 1,024, requests took 2.5 times
/// as long as the reads between them, since they wait for one another (AMD EPYC, Zen 3).
const FETCHED: usize = 128;

/// Computes places in a buffer, numbers of elements, from at most [`PICKS`] indices, as bytes. It is also given the
/// number of the first of them.
pub type Find = Box<dyn Fn(&mut [u32], &[u8], usize) + Send + Sync>;

/// Slices of a value along an axis, one for each index.
#[derive(Clone, Debug)]
pub struct Slices {
    /// How many there are.
    pub count: usize,
    /// How many elements of a slice lie in a line before the next slice begins, and how far they are apart.
    pub line: (usize, isize),
    /// How far the lines of a slice are apart.
    pub apart: isize,
    /// The elements along the axis that lie side by side, if slices are single elements of each of these.
    pub column: Option<Range<usize>>,
    /// The number of the first index in its buffer.
    pub first: usize,
}

/// The largest of places.
fn largest(places: &[u32]) -> usize {
    wide(|| places.iter().fold(0, |last, &place| place.max(last))) as usize
}

/// The elements at places, which are compared with the number of elements all at once: a check of each takes as long as to
/// read it.
#[inline]
fn take<T: Element>(x: &[T], places: &[u32], out: &mut [T]) {
    // SAFETY: none is beyond the largest.
    unsafe { take_up_to(x, places, largest(places), out) }
}

/// As [`take`], of places up to `last`.
///
/// # Safety
/// None of them is beyond it.
#[inline]
unsafe fn take_up_to<T: Element>(x: &[T], places: &[u32], last: usize, out: &mut [T]) {
    assert!(places.is_empty() || last < x.len(), "a place beyond the elements");
    for (out, &place) in out.iter_mut().zip(places) {
        // SAFETY: none is beyond the last, which is there.
        *out = unsafe { *x.get_unchecked(place as usize) };
    }
}

impl Kernel {
    /// The elements of a value at the places that `find` computes from the tile's indices, of this dtype.
    pub fn pick(dtype: DType, index: DType, find: Find) -> Kernel {
        by_width!(dtype, T => Kernel::pick_of::<T>(index, find))
    }

    fn pick_of<T: Element>(index: DType, find: Find) -> Kernel {
        let width = index.bytes();
        let run = Box::new(move |w: &Window| {
            let x = w.whole::<T>(0);
            let indices = w.slice::<u8>(1, w.len * width).chunks(PICKS * width);
            let mut list = [0; PICKS];
            for (i, (out, indices)) in w.write::<T>().chunks_mut(PICKS).zip(indices).enumerate() {
                let places = &mut list[..out.len()];
                find(places, indices, w.start + i * PICKS);
                take(x, places, out);
            }
        });
        Kernel::new(run, [Extent::Whole, Extent::Tile(width)], Extent::Tile(size_of::<T>()))
    }

    /// The tile of slices of a value, whose first elements are where `find` computes from indices of this dtype.
    pub fn slices(dtype: DType, index: DType, slices: Slices, find: Find) -> Kernel {
        by_width!(dtype, T => Kernel::slices_of::<T>(index, slices, find))
    }

    fn slices_of<T: Element>(index: DType, slices: Slices, find: Find) -> Kernel {
        let width = index.bytes();
        let Slices { count, line: (line, step), apart, first, column } = slices;
        // Of most lines of the cache, elements are read: in any order, which processors do not foresee.
        let column = column.filter(|column| column.len() * size_of::<T>() <= count * LINE);
        let run = Box::new(move |w: &Window| {
            let (x, indices) = (w.whole::<T>(0), w.whole::<u8>(1));
            let mut buffer = [0; PICKS];
            let find = |number: usize, places: &mut [u32]| {
                let start = (first + number) * width;
                find(places, &indices[start..start + places.len() * width], number);
            };
            // Few slices are found once for all lines.
            let all = count <= PICKS;
            if all {
                find(0, &mut buffer[..count]);
            }
            let last_of_all = if all { largest(&buffer[..count]) } else { 0 };
            // Counted from here on: divisions take as long as to read some elements.
            let (mut within, mut number) = (w.start % line, w.start / line % count);
            let (mut start, mut out) = ((w.start / line / count) as isize * apart, w.write::<T>());
            while !out.is_empty() {
                let most = if column.is_some() { FETCHED } else { PICKS };
                let left = if line == 1 { out.len() } else { (within + out.len()).div_ceil(line) };
                let many = left.min(count - number).min(most);
                let places = if all {
                    &buffer[number..number + many]
                } else {
                    find(number, &mut buffer[..many]);
                    &buffer[..many]
                };
                let n = (many * line - within).min(out.len());
                let (mut now, later) = std::mem::take(&mut out).split_at_mut(n);
                out = later;
                let here = start;
                if let Some(column) = &column {
                    // The part of the next column that is as long among its elements as these are among the slices.
                    let part = |number: usize| match number {
                        0 => column.start,
                        number if number == count => column.end,
                        number => column.start + column.len() * number / count,
                    };
                    let next =
                        (start + apart) as usize + part(number)..(start + apart) as usize + part(number + n);
                    if let Some(next) = x.get(next) {
                        fetch(next.as_ptr().cast(), size_of_val(next));
                    }
                }
                number += many;
                if number == count {
                    (number, start) = (0, start + apart);
                }
                if line == 1 {
                    if let Some(from) = usize::try_from(here).ok().and_then(|here| x.get(here..)) {
                        let last = if all { last_of_all } else { largest(places) };
                        // SAFETY: they are among those that it is the largest of.
                        unsafe { take_up_to(from, places, last, now) };
                        continue;
                    }
                    let element = |&place: &u32| x[(here + place as isize) as usize];
                    now.iter_mut().zip(places).for_each(|(out, place)| *out = element(place));
                    continue;
                }
                for &place in places {
                    let (some, next) = now.split_at_mut((line - within).min(now.len()));
                    gather_run(x, here + place as isize + within as isize * step, step, some);
                    (within, now) = (0, next);
                }
            }
        });
        let reads = [Extent::Whole, Extent::Whole];
        Kernel::new(run, reads, Extent::Tile(size_of::<T>()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_at_places_are_taken() {
        let x: Vec<f32> = (0..100).map(|i| i as f32).collect();
        for n in [0, 1, 7, 64, 256] {
            let places: Vec<u32> = (0..n).map(|i| i * 37 % 100).collect();
            let mut out = vec![-1.0; n as usize];
            take(&x, &places, &mut out);
            assert!(out.iter().zip(&places).all(|(&out, &place)| out == place as f32));
        }
        let nothing: &mut [f32] = &mut [];
        take(&[], &[], nothing);
        assert!(std::panic::catch_unwind(|| take(&[1.0f32], &[0, 1], &mut [0.0; 2])).is_err());
    }
}
