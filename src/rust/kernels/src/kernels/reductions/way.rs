//! What [`cumulative`](super::cumulative) asks of a way to cumulate elements.

use crate::dtype::Element;
use crate::kernels::tile::TILE;
use std::ops::Range;

/// A way to cumulate elements of a type.
pub(super) trait Way<T: Element>: 'static {
    /// What is carried along a line of elements.
    type State: Clone + Send + Sync;
    /// What a tile adds to it.
    type Total: Copy + Default + Send + Sync;
    /// What there is before the first element.
    fn start() -> Self::State;
    /// The elements of the next tile of a line, in place.
    fn tile(state: &mut Self::State, x: &mut [T]);
    /// As [`Way::tile`], of up to [`TOGETHER`] lines side by side; `None` if that is no faster than one by one.
    fn together() -> Option<Together<T, Self::State>> {
        None
    }
    /// The total of a tile, and how a state takes it, with the bits of [`Way::tile`]; `None` if totals do not
    /// make them.
    fn parts() -> Option<Parts<T, Self::State, Self::Total>> {
        None
    }
}

/// Takes the next tile of lines side by side, whose elements are given by rows.
pub(super) type Together<T, S> = fn(&mut [S], &mut [&mut [T]]);

/// The total of a tile, and how a state takes it.
pub(super) type Parts<T, S, O> = (fn(&[T]) -> O, fn(&mut S, O));

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

/// Gives a tile of a line with its elements in the order in which they are taken.
pub(super) fn in_order<T>(reverse: bool, x: &mut [T], run: impl FnOnce(&mut [T])) {
    if reverse {
        x.reverse();
    }
    run(x);
    if reverse {
        x.reverse();
    }
}
