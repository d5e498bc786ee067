//! Where windows are, by their indices.

use super::check::{position, Check};
use crate::dtype::{dispatch_int, DType, Element};
use crate::exec::vm::{Find, PICKS};
use crate::kernels::cast;
use crate::kernels::memory::indexed::{NOWHERE, OUTSIDE};
use crate::kernels::wide::wide;
use crate::shape::Axis;
use std::ops::{BitOrAssign, BitXor, Range};

/// The examples along a batch axis: how many windows there are of each, how many examples, and how far two of them are
/// apart in the value.
#[derive(Clone, Debug)]
pub(super) struct Along {
    pub each: usize,
    pub count: usize,
    pub apart: isize,
}

impl Along {
    /// Adds to the starts of windows, of which the first has this number, where their examples are.
    pub(super) fn add(&self, start: usize, out: &mut [isize]) {
        let &Along { each, count, apart } = self;
        if each == 1 && start + out.len() <= count {
            return wide(|| {
                let mut at = start as isize * apart;
                for slot in out.iter_mut() {
                    *slot = if *slot == OUTSIDE { OUTSIDE } else { slot.wrapping_add(at) };
                    at = at.wrapping_add(apart);
                }
            });
        }
        // Counted, as two divisions take longer than all else that is done for a window.
        let (mut within, mut index) = (start % each.max(1), start / each.max(1) % count.max(1));
        for slot in out.iter_mut() {
            if *slot != OUTSIDE {
                *slot += index as isize * apart;
            }
            within += 1;
            if within == each {
                (within, index) = (0, if index + 1 == count { 0 } else { index + 1 });
            }
        }
    }

    /// The places of indices, of which the first has this number, where the first element and the distance of the others are
    /// given; those beyond 0 and `last` are moved. Returns whether none is. There are at most [`PICKS`] of them, and no fewer
    /// windows of all examples.
    fn placed<T: Index>(
        &self,
        (places, indices): (&mut [u32], &[T]),
        start: usize,
        last: i64,
        (first, stride): (isize, isize),
    ) -> bool {
        let &Along { each, count, apart } = self;
        // All places are below 2^32, and sums of their parts wrap to them.
        let (most, stride, apart) = (T::most(last), stride as u32, apart as u32);
        if each < SHORT {
            // A division by a few, of a number below 2^9, is a product with the reciprocal: 16 bits of it are exact.
            let (within, from) = ((start % each.max(1)) as u32, (start / each.max(1) % count.max(1)) as u32);
            let (reciprocal, count) = ((1 << 16) / each.max(1) as u32 + 1, count as u32);
            return wide(|| {
                let mut moved = T::default();
                for (i, (place, &index)) in (within..).zip(places.iter_mut().zip(indices)) {
                    let example = from + ((i * reciprocal) >> 16);
                    let example = if example < count { example } else { example.wrapping_sub(count) };
                    let here = (first as u32).wrapping_add(example.wrapping_mul(apart));
                    *place = clamped_place((index, most), (stride, here), &mut moved);
                }
                moved == T::default()
            });
        }
        // Counted, as divisions take longer than the places of an example.
        let mut left = each - start % each.max(1);
        let mut example = start / each.max(1) % count.max(1);
        wide(|| {
            let (mut moved, mut at) = (T::default(), 0);
            while at < places.len() {
                let end = (at + left).min(places.len());
                let here = (first as u32).wrapping_add((example as u32).wrapping_mul(apart));
                for (place, &index) in places[at..end].iter_mut().zip(&indices[at..end]) {
                    *place = clamped_place((index, most), (stride, here), &mut moved);
                }
                (at, left) = (end, each);
                example = if example + 1 == count { 0 } else { example + 1 };
            }
            moved == T::default()
        })
    }
}

/// Windows of an example that are few: the example of each is computed, not counted.
const SHORT: usize = 32;

/// Windows of all examples, at most, whose offsets are in a table: it stays in the first-level cache.
const TABLE: usize = 2048;

/// How far the elements of examples are behind each other: for windows in order, which begin again after so many, and after
/// these for as many more as are found at a time. `None` if they are too many.
fn offsets(first: isize, batches: &[Along]) -> Option<(usize, Vec<u32>)> {
    // The axes of examples are nested, so that the period of the outermost is that of all.
    let period = batches.iter().map(|along| along.each * along.count).max()?;
    let nested = batches.iter().all(|along| period % (along.each * along.count).max(1) == 0);
    if period == 0 || period > TABLE || !nested {
        return None;
    }
    let mut offsets = vec![first; period + PICKS];
    batches.iter().for_each(|along| along.add(0, &mut offsets));
    Some((period, offsets.into_iter().map(|offset| offset as u32).collect()))
}

/// As [`clamped`], of places: `stride` elements apart, each from its offset on.
fn offset<T: Index>(
    (places, indices): (&mut [u32], &[T]),
    last: i64,
    stride: isize,
    offsets: &[u32],
) -> bool {
    let (most, stride) = (T::most(last), stride as u32);
    wide(|| {
        let mut moved = T::default();
        for ((place, &index), &offset) in places.iter_mut().zip(indices).zip(offsets) {
            *place = clamped_place((index, most), (stride, offset), &mut moved);
        }
        moved == T::default()
    })
}

/// As [`offset`], all from one offset on.
fn from_one<T: Index>((places, indices): (&mut [u32], &[T]), last: i64, stride: isize, first: isize) -> bool {
    let (most, stride, first) = (T::most(last), stride as u32, first as u32);
    wide(|| {
        let mut moved = T::default();
        for (place, &index) in places.iter_mut().zip(indices) {
            *place = clamped_place((index, most), (stride, first), &mut moved);
        }
        moved == T::default()
    })
}

/// Indices as R has them, and as they are where doubles are indices: of half the bytes, and of as many.
pub(super) trait Index: Element + Ord + Default + BitXor<Output = Self> + BitOrAssign {
    /// The largest index of those up to `last`.
    fn most(last: i64) -> Self;

    /// The number as an index, if it is one.
    fn number(at: i64) -> Option<Self>;

    /// An index that is not negative, modulo 2^32.
    fn low(self) -> u32;
}

impl Index for i32 {
    fn most(last: i64) -> i32 {
        last.clamp(0, i32::MAX.into()) as i32
    }

    fn number(at: i64) -> Option<i32> {
        at.try_into().ok()
    }

    #[inline(always)]
    fn low(self) -> u32 {
        self as u32
    }
}

impl Index for i64 {
    fn most(last: i64) -> i64 {
        last.max(0)
    }

    fn number(at: i64) -> Option<i64> {
        Some(at)
    }

    #[inline(always)]
    fn low(self) -> u32 {
        self as u32
    }
}

/// The place of an index, of which one beyond 0 and `most` is moved, `stride` elements apart from the offset on, modulo 2^32.
/// `moved` is then no longer 0.
#[inline(always)]
fn clamped_place<T: Index>((index, most): (T, T), (stride, offset): (u32, u32), moved: &mut T) -> u32 {
    let at = index.max(T::default()).min(most);
    *moved |= at ^ index;
    at.low().wrapping_mul(stride).wrapping_add(offset)
}

/// Adds `distance` of each index to the starts of windows; windows that do not fit are moved. Returns whether
/// all fit, which is found without a branch.
pub(super) fn clamped<T: Element>(
    (slots, indices): (&mut [isize], &[T]),
    last: i64,
    distance: impl Fn(isize) -> isize,
) -> bool {
    let most = last.max(0);
    wide(|| {
        let mut moved = 0;
        for (slot, &index) in slots.iter_mut().zip(indices) {
            let index = position(index);
            let at = index.max(0).min(most);
            moved |= at ^ index;
            *slot += distance(at as isize);
        }
        moved == 0
    })
}

/// As [`clamped`], but windows that do not fit are [`OUTSIDE`].
pub(super) fn inside<T: Element>(
    (slots, indices): (&mut [isize], &[T]),
    last: i64,
    distance: impl Fn(isize) -> isize,
) -> bool {
    wide(|| {
        let mut all = true;
        for (slot, &index) in slots.iter_mut().zip(indices) {
            let index = position(index);
            let fits = (index >= 0) & (index <= last);
            all &= fits;
            // The product is computed for every index, so that the loop is vectorised; it may wrap where it
            // is not used.
            let moved = slot.wrapping_add(distance(index as isize));
            *slot = if fits & (*slot != OUTSIDE) { moved } else { OUTSIDE };
        }
        all
    })
}

/// The places of indices in a share of neighbours, or [`NOWHERE`]; those beyond 0 and `last` are moved if so asked. Returns
/// whether none is, which is found without a branch.
fn placed<T: Index>(
    (slots, indices): (&mut [u32], &[T]),
    last: i64,
    share: &Range<usize>,
    clamps: bool,
) -> bool {
    let most = T::most(last);
    if clamps {
        return from_one((slots, indices), last, 1, 0);
    }
    // No index is in a share that begins beyond the largest number.
    let largest = T::most(i64::MAX);
    let (low, high) = match T::number(share.start as i64) {
        Some(low) => (low, T::number(share.end as i64 - 1).unwrap_or(largest)),
        None => (largest, T::default()),
    };
    let (none, inside) = (T::default(), last >= 0);
    wide(|| {
        let mut all = inside;
        for (slot, &index) in slots.iter_mut().zip(indices) {
            all &= (index >= none) & (index <= most);
            let own = (index >= low) & (index <= high);
            *slot = if own { index.low().wrapping_sub(low.low()) } else { NOWHERE };
        }
        all
    })
}

/// As [`placed`], of an example of a batch whose elements, up to `last`, lie from number `first` of the value on.
pub(super) fn placed_in_example<T: Index>(
    (slots, indices): (&mut [u32], &[T]),
    last: i64,
    first: usize,
    share: &Range<usize>,
    clamps: bool,
) -> bool {
    let size = (last + 1) as usize;
    let own = share.start.clamp(first, first + size) - first..share.end.clamp(first, first + size) - first;
    let fits = placed((&mut *slots, indices), last, &own, clamps);
    let before = (first + own.start).wrapping_sub(share.start) as u32;
    if before != 0 {
        wide(|| {
            for slot in slots {
                *slot = if *slot == NOWHERE { NOWHERE } else { slot.wrapping_add(before) };
            }
        });
    }
    fits
}

/// What computes places of windows of one element along an axis of so many elements, from indices of this dtype: the first
/// element and the distance of the others are given, and where the examples of batches are. Windows that do not fit are
/// moved, or are [`NOWHERE`]; they are raised if `check` says so.
pub(super) fn finder(
    check: &Check,
    indices: DType,
    (first, stride): (isize, isize),
    (axis, size): (Axis, usize),
    batches: Vec<Along>,
    clamps: bool,
) -> Find {
    let (check, last, at) = (check.clone(), size as i64 - 1, (axis, size, 1));
    if clamps && indices == DType::I32 {
        return clamping::<i32>(check, (first, stride), (axis, size), batches);
    }
    if clamps && indices == DType::I64 {
        return clamping::<i64>(check, (first, stride), (axis, size), batches);
    }
    Box::new(move |places, tile, start| {
        if (indices, stride, first) == (DType::I32, 1, 0) && batches.is_empty() {
            let indices = cast::slice::<i32>(tile);
            if !placed((places, indices), last, &(0..size), clamps) {
                raise_outside(&check, indices, last, start, at);
            }
            return;
        }
        dispatch_int!(indices, I => {
            let indices = cast::slice::<I>(tile);
            let positions = &mut [first; PICKS][..indices.len()];
            let fits = match clamps {
                true => clamped((&mut *positions, indices), last, |index| index * stride),
                false => inside((&mut *positions, indices), last, |index| index.wrapping_mul(stride)),
            };
            if !fits {
                raise_outside(&check, indices, last, start, at);
            }
            batches.iter().for_each(|examples| examples.add(start, positions));
            for (place, &mut position) in places.iter_mut().zip(positions) {
                *place = if position == OUTSIDE { NOWHERE } else { position as u32 };
            }
        })
    })
}

/// As [`finder`], of indices that most programs have, where windows that do not fit are moved: without positions of more
/// bytes than places have, but of examples along several axes.
fn clamping<T: Index>(
    check: Check,
    (first, stride): (isize, isize),
    (axis, size): (Axis, usize),
    batches: Vec<Along>,
) -> Find {
    let (last, at) = (size as i64 - 1, (axis, size, 1));
    let known = offsets(first, &batches);
    Box::new(move |places, tile, start| {
        let indices = cast::slice::<T>(tile);
        let fits = match (&known, &batches[..]) {
            (Some((period, offsets)), _) => {
                offset((places, indices), last, stride, &offsets[start % period..])
            }
            (None, []) => from_one((places, indices), last, stride, first),
            (None, [along]) => along.placed((places, indices), start, last, (first, stride)),
            (None, batches) => {
                let positions = &mut [first; PICKS][..indices.len()];
                let fits = clamped((&mut *positions, indices), last, |index| index * stride);
                batches.iter().for_each(|examples| examples.add(start, positions));
                for (place, &mut position) in places.iter_mut().zip(positions) {
                    *place = if position == OUTSIDE { NOWHERE } else { position as u32 };
                }
                fits
            }
        };
        if !fits {
            raise_outside(&check, indices, last, start, at);
        }
    })
}

/// Raises the error for the first of indices that is beyond 0 and `last`, if `check` says so: along an axis of so many
/// elements, of a window of this size. `start` is the number of the first index.
#[cold]
#[inline(never)]
pub(super) fn raise_outside<T: Element>(
    check: &Check,
    indices: &[T],
    last: i64,
    start: usize,
    (axis, size, window): (Axis, usize, usize),
) {
    let mut all = indices.iter().map(|&index| position(index)).enumerate();
    let (at, index) = all.find(|&(_, index)| index < 0 || index > last).expect("one is outside");
    check.raise(start + at, (index, T::DTYPE), axis, size, window);
}
