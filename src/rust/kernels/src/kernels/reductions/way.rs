//! What [`cumulative`](super::cumulative) asks of a way to cumulate elements.

use crate::dtype::Element;
use crate::kernels::cast;
use crate::kernels::tile::TILE;
use crate::stop;
use std::mem::{align_of, size_of, MaybeUninit};
use std::ops::Range;

/// A way to cumulate elements of a type.
pub(super) trait Way<T: Element>: 'static {
    /// What is carried along a line of elements.
    type State: Copy + Send + Sync;
    /// What a tile adds to it.
    type Total: Copy + Default + Send + Sync;
    /// What there is before the first element.
    fn start() -> Self::State;
    /// The elements of the next tile of a line, from as many of `x`, or in place. Not inlined: two functions of
    /// a [`Walk`] call it.
    fn tile(state: &mut Self::State, x: Option<&[T]>, out: &mut [T]);
    /// As [`Way::tile`], from the last element to the first.
    fn tile_back(state: &mut Self::State, x: Option<&[T]>, out: &mut [T]) {
        taken(x, out);
        out.reverse();
        Self::tile(state, None, out);
        out.reverse();
    }
    /// As [`Way::tile`], of up to [`TOGETHER`] lines side by side; `None` if that is no faster than one by one.
    fn together() -> Option<Together<T, Self::State>> {
        None
    }
    /// The total of a tile, and how a state takes it, with the bits of [`Way::tile`]; `None` if totals do not
    /// make them.
    fn parts() -> Option<Parts<T, Self::State, Self::Total>> {
        None
    }
    /// As [`Way::parts`], with the bits of [`Way::tile_back`]: the same if the order of elements changes no total.
    fn parts_back() -> Option<Parts<T, Self::State, Self::Total>> {
        Self::parts()
    }
}

/// Takes the next tile of lines side by side, whose elements are given by rows.
pub(super) type Together<T, S> = fn(&mut [S], &mut [&mut [T]]);

/// The total of a tile, and how a state takes it.
pub(super) type Parts<T, S, O> = (fn(&[T]) -> O, fn(&mut S, O));

/// Lines side by side, and the order in which their elements are taken.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    /// Elements of a line.
    pub(super) n: usize,
    /// Lines whose elements are neighbours.
    pub(super) inner: usize,
    /// Whether they are taken from the last to the first.
    pub(super) reverse: bool,
}

impl Lines {
    /// Consecutive lines, one after the other.
    fn along<T: Element, W: Way<T>>(self, x: Option<&[T]>, out: &mut [T]) {
        let tile = if self.reverse { W::tile_back } else { W::tile };
        for (i, line) in out.chunks_mut(self.n).enumerate() {
            let mut state = W::start();
            self.line(x.map(|x| &x[i * self.n..][..line.len()]), line, |x, out| tile(&mut state, x, out));
        }
    }

    /// The elements of a line, tile by tile.
    pub(super) fn line<T: Element>(
        self,
        x: Option<&[T]>,
        out: &mut [T],
        mut run: impl FnMut(Option<&[T]>, &mut [T]),
    ) {
        for tile in tiles_of(out.len(), self.reverse) {
            stop::work(tile.len());
            run(x.map(|x| &x[tile.clone()]), &mut out[tile.clone()]);
        }
    }
}

/// A part of a state.
pub(super) type Word = MaybeUninit<u64>;

/// A state of any way.
pub(super) type OneState = [Word; 8];

/// A total of any way.
pub(super) type AnyTotal = [Word; 2];

/// No total.
pub(super) const NO_TOTAL: AnyTotal = [Word::uninit(); 2];

/// No state.
pub(super) const NO_STATE: OneState = [Word::uninit(); 8];

/// The functions of a way, on elements as words `T` of their size, and on states and totals as words. So what
/// walks over lines is compiled for each size of elements, not for each way. States are used with the
/// functions that made them.
#[derive(Clone, Copy)]
pub(super) struct Walk<T> {
    /// Bytes of a state.
    pub(super) size: usize,
    /// Makes states of [`Way::start`].
    pub(super) start: fn(&mut [Word]),
    /// [`Lines::along`].
    pub(super) along: fn(Lines, Option<&[T]>, &mut [T]),
    /// [`Way::together`].
    pub(super) together: Option<Together<T, Word>>,
    /// From the first element to the last, and back.
    orders: [Order<T>; 2],
}

/// What a [`Walk`] does along a line in one direction.
#[derive(Clone, Copy)]
pub(super) struct Order<T> {
    /// [`Way::tile`] or [`Way::tile_back`].
    pub(super) tile: fn(&mut [Word], Option<&[T]>, &mut [T]),
    /// [`Way::parts`] or [`Way::parts_back`].
    pub(super) parts: Option<AnyParts<T>>,
}

/// [`Parts`] of any way.
pub(super) type AnyParts<T> = (fn(&[T]) -> AnyTotal, fn(&mut [Word], &AnyTotal));

/// Words as what they hold.
///
/// # Safety
/// They hold values of this type.
unsafe fn held<S>(words: &mut [Word]) -> &mut [S] {
    const { assert!(align_of::<S>() <= align_of::<Word>()) };
    // SAFETY: as many as there is room for, aligned; the caller promises that they are there.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words) / size_of::<S>()) }
}

impl<T: Element> Walk<T> {
    /// That of a way.
    pub(super) fn of<E: Element, W: Way<E>>() -> Walk<T> {
        const {
            assert!(size_of::<E>() == size_of::<T>() && align_of::<E>() == align_of::<T>());
            assert!(size_of::<W::State>() <= size_of::<OneState>());
            assert!(size_of::<W::Total>() <= size_of::<AnyTotal>());
        }
        Walk {
            size: size_of::<W::State>(),
            start: |states| {
                // SAFETY: words of which nothing is read yet.
                unsafe { held(states) }.fill(MaybeUninit::new(W::start()));
            },
            along: |lines, x, out| lines.along::<E, W>(x.map(elements), elements_mut(out)),
            together: W::together().map(|_| -> Together<T, Word> {
                |states, rows| {
                    if let (Some(together), Some(row)) = (W::together(), rows.first()) {
                        let lines = row.len();
                        // SAFETY: references to slices are the same for all elements of one size and alignment.
                        let rows = unsafe { &mut *(rows as *mut [&mut [T]] as *mut [&mut [E]]) };
                        // SAFETY: states that `start` made.
                        together(unsafe { &mut held(states)[..lines] }, rows);
                    }
                }
            }),
            orders: [
                Order {
                    tile: |state, x, out| {
                        // SAFETY: a state that `start` made.
                        W::tile(unsafe { &mut held(state)[0] }, x.map(elements), elements_mut(out));
                    },
                    parts: W::parts().map(|_| -> AnyParts<T> {
                        (|x| any_total(W::parts(), x), |state, total| any_take(W::parts(), state, total))
                    }),
                },
                Order {
                    tile: |state, x, out| {
                        // SAFETY: as above.
                        W::tile_back(unsafe { &mut held(state)[0] }, x.map(elements), elements_mut(out));
                    },
                    parts: W::parts_back().map(|_| -> AnyParts<T> {
                        (
                            |x| any_total(W::parts_back(), x),
                            |state, total| any_take(W::parts_back(), state, total),
                        )
                    }),
                },
            ],
        }
    }

    /// What it does in one direction.
    pub(super) fn order(&self, reverse: bool) -> &Order<T> {
        &self.orders[usize::from(reverse)]
    }
}

/// The total of a tile as words.
#[inline]
fn any_total<T: Element, E: Element, S, O: Copy>(parts: Option<Parts<E, S, O>>, x: &[T]) -> AnyTotal {
    let mut any = NO_TOTAL;
    if let Some((total, _)) = parts {
        let total = total(elements(x));
        // SAFETY: words of which nothing is read yet.
        unsafe { held(&mut any) }.fill(MaybeUninit::new(total));
    }
    any
}

/// Has a state take a total.
#[inline]
fn any_take<E, S, O: Copy>(parts: Option<Parts<E, S, O>>, state: &mut [Word], total: &AnyTotal) {
    if let Some((_, take)) = parts {
        let mut total = *total;
        // SAFETY: a state that `start` made, and a total of the function above.
        unsafe { take(&mut held(state)[0], held(&mut total)[0]) };
    }
}

/// Words as the elements that they are.
pub(super) fn elements<T: Element, E: Element>(words: &[T]) -> &[E] {
    cast::slice(cast::bytes(words))
}

/// As [`elements`].
pub(super) fn elements_mut<T: Element, E: Element>(words: &mut [T]) -> &mut [E] {
    cast::slice_mut(cast::bytes_mut(words))
}

/// Neighbours that are taken together, at most: what they carry stays in the first-level cache.
pub(super) const TOGETHER: usize = 128;

/// The tiles of a line of `n` elements, in the order in which they are taken. They begin at the same elements
/// in both directions.
pub(super) fn tiles_of(n: usize, reverse: bool) -> impl Iterator<Item = Range<usize>> {
    let count = n.div_ceil(TILE);
    (0..count)
        .map(move |i| if reverse { count - 1 - i } else { i })
        .map(move |i| i * TILE..((i + 1) * TILE).min(n))
}

/// Elements in their place, if they are not there yet.
#[inline]
pub(super) fn taken<T: Element>(x: Option<&[T]>, out: &mut [T]) {
    if let Some(x) = x {
        out.copy_from_slice(x);
    }
}
