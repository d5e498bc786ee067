//! Sums of many updates at few places. Updates are cut into parts, which threads share, and each part adds to elements of
//! its own, in some lanes: an update does not wait for those of its neighbours that have its place. How they are cut
//! follows from sizes alone, and so do bits.

use super::walk::{Starts, ELEMENT, LIST, NOWHERE};
use super::AlignedBytes;
use crate::dtype::{dispatch, DType, Element};
use crate::kernels::cast::{self, by_width};
use crate::kernels::elementwise::Pair;
use crate::kernels::threads::pool;
use crate::kernels::tile::{self, TILE};
use crate::kernels::wide::wide;
use crate::stop;
use crate::tensor::{Literal, View};

/// How updates of places are cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bins {
    /// The number of updates.
    pub len: usize,
    /// The number of places.
    pub places: usize,
    /// Updates of a part: a multiple of [`TILE`].
    pub part: usize,
    /// Lanes of a part: update `i` is added in lane `i % lanes`.
    pub lanes: usize,
}

/// Parts, at most, of so many updates or more.
const PARTS: usize = 16;
const PART: usize = 1 << 13;

/// Lanes of a part, where their elements stay in the first-level cache.
const LANES: usize = 4;
const NEAR: usize = 16 << 10;

/// Places that are few whatever the number of updates.
const FEW: usize = 64;

/// Updates for each element that is added up at the end, at least: these take little of the time then.
const EACH: usize = 4;

impl Bins {
    /// How so many updates of so many places are cut, whose elements have so many bytes. `None` if there are too few for
    /// each place: they are added one after the other then.
    pub fn of(len: usize, places: usize, width: usize) -> Option<Bins> {
        let room = len / (EACH * places.max(1));
        let fits = if len > PART { room >= 2 } else { places <= len.max(FEW) };
        if places == 0 || len == 0 || !fits {
            return None;
        }
        let parts = (len / PART).clamp(1, PARTS).min(room.max(1));
        let near = places * LANES * width <= NEAR && parts * LANES <= room;
        let part = len.div_ceil(parts).next_multiple_of(TILE);
        Some(Bins { len, places, part, lanes: if near { LANES } else { 1 } })
    }

    /// The number of parts.
    pub fn parts(&self) -> usize {
        self.len.div_ceil(self.part)
    }

    /// Elements of a part that updates are added to.
    pub fn elements(&self) -> usize {
        self.lanes * self.places
    }

    /// Sets the elements of a part to what changes nothing, but for those of the first lane of the first part, which others
    /// are added to: to what is there before, or to one element everywhere.
    pub fn begin(&self, number: usize, before: &[u8], elements: &mut [u8], dtype: DType) {
        dispatch!(dtype, T => {
            cast::slice_mut::<T>(elements).fill(Literal::new(-0.0f64).get::<T>());
            if number == 0 {
                let first = &mut elements[..self.places * size_of::<T>()];
                if before.len() == size_of::<T>() {
                    cast::slice_mut::<T>(first).fill(T::from_bytes(before));
                } else {
                    first.copy_from_slice(before);
                }
            }
        })
    }

    /// Adds updates, the first of which has this number, to the elements of their part. `places` are put into lanes.
    pub fn add(&self, elements: &mut [u8], start: usize, places: &mut [u32], new: &[u8], by: &Pair) {
        if self.lanes > 1 {
            let (first, lane) = ((start % LANES) as u32, self.places as u32);
            wide(|| {
                for (i, place) in (first..).zip(places.iter_mut()) {
                    let moved = place.wrapping_add(i % LANES as u32 * lane);
                    *place = if *place == NOWHERE { NOWHERE } else { moved };
                }
            });
        }
        by.each(elements, places, new);
    }

    /// Adds up the elements of all parts.
    pub fn finish(&self, parts: &[u8], out: &mut [u8], by: &Pair) {
        let mut lanes = parts.chunks_exact(out.len());
        out.copy_from_slice(lanes.next().expect("there is a part"));
        let mut before = AlignedBytes::zeroed(if self.is_one() { 0 } else { out.len() });
        for lane in lanes {
            before.as_mut_slice().copy_from_slice(out);
            by.map.run([before.as_slice(), lane], out);
        }
    }

    /// Whether updates are added one after the other to what is there before.
    pub fn is_one(&self) -> bool {
        self.parts() * self.lanes == 1
    }

    /// Adds the updates in a list to dense elements.
    pub fn run(&self, starts: &Starts, from: &View, out: &mut [u8], by: &Pair) {
        let (dtype, all) = (from.dtype, 0..self.places);
        let each = self.elements() * dtype.bytes();
        let mut parts = AlignedBytes::zeroed(self.parts() * each);
        pool::for_each_chunk(parts.as_mut_slice(), each, self.len * ELEMENT, |number, elements| {
            self.begin(number, out, elements, dtype);
            let (mut start, end) = (number * self.part, ((number + 1) * self.part).min(self.len));
            let mut places = [0; LIST];
            while start < end {
                let range = start..(start + LIST).min(end);
                stop::work(range.len());
                let places = &mut places[..range.len()];
                starts.places(range.clone(), &all, places);
                by_width!(dtype, T => {
                    let mut scratch = vec![];
                    let new = cast::bytes(tile::tile::<T>(from, range.clone(), &mut scratch));
                    self.add(elements, start, places, new, by);
                });
                start = range.end;
            }
        });
        self.finish(parts.as_slice(), out, by);
    }
}
