//! Folds of what lies one after the other: tiles of one result, or segments, each into one element.

use super::fold::{Fold, Reduce};
use super::partials::{Partial, PARTIAL};
use crate::dtype::{dispatch, DType};
use crate::kernels::cast;
use crate::kernels::tile::TILE;

/// Tiles of one result that are folded side by side.
pub const SIDE_BY_SIDE: usize = 4;

/// The function that folds up to [`SIDE_BY_SIDE`] tiles of so many elements of this dtype, of several of a result,
/// each into a [`Partial`]. It is chosen once, as the choice takes a tenth of the time of a tile of bytes.
#[inline(never)] // So that the loops are not compiled again where it is called.
pub fn tiles(dtype: DType) -> FoldSegments {
    dispatch!(dtype, T => tiles_of::<T> as FoldSegments)
}

fn tiles_of<T: Reduce>(fold: Fold, x: &[u8], each: usize, out: &mut [u8]) {
    let x = cast::slice::<T>(x);
    if x.len() <= each {
        let partial: Partial = T::tile(fold, x);
        return out.copy_from_slice(&partial);
    }
    let mut partials = [Partial::default(); SIDE_BY_SIDE];
    let partials = &mut partials[..out.len() / PARTIAL];
    T::line(fold, x, each, partials);
    out.chunks_exact_mut(PARTIAL).zip(partials).for_each(|(out, partial)| out.copy_from_slice(partial));
}

/// A function that folds segments of so many elements, each into one.
pub type FoldSegments = fn(Fold, &[u8], usize, &mut [u8]);

/// The function that folds segments of elements of this dtype. Long segments are folded in tiles.
#[inline(never)] // As `tile`.
pub fn segments(dtype: DType) -> FoldSegments {
    dispatch!(dtype, T => segments_of::<T> as FoldSegments)
}

fn segments_of<T: Reduce>(fold: Fold, x: &[u8], segment: usize, out: &mut [u8]) {
    let (x, out) = (cast::slice::<T>(x), cast::slice_mut::<T>(out));
    if segment <= TILE {
        return T::line(fold, x, segment, out);
    }
    for (x, out) in x.chunks(segment).zip(out) {
        *out = T::finish(fold, segment, &mut |add| {
            for x in x.chunks(SIDE_BY_SIDE * TILE) {
                let partials = &mut [Partial::default(); SIDE_BY_SIDE][..x.len().div_ceil(TILE)];
                T::line(fold, x, TILE, partials);
                partials.iter().for_each(|&partial| add(partial));
            }
        });
    }
}
