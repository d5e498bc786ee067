//! Groups that fold segments and go on with what these are folded into. Tiles are whole segments, so that it
//! is in a register too: it is computed on there, an element for each segment, and repeated for the elements
//! of the segments. So a softmax or a variance is read and written once.

use super::node::Schedule;
use crate::exec::vm::Cut;
use crate::kernels::tile::TILE;

/// Elements of a segment, at most, for tiles to be whole segments: beyond this they leave the second-level
/// cache.
const MAX_ROW: usize = 1 << 14;

/// Whether tiles can be whole segments of so many elements.
pub fn is_row(segment: &usize) -> bool {
    (2..=MAX_ROW).contains(segment)
}

/// What a group of segments becomes when a node in it reads what these are folded into.
pub fn of(group: Schedule) -> Schedule {
    match group {
        Schedule::Segments(segment) => Schedule::Rows(segment),
        other => other,
    }
}

/// The tiles.
pub fn cut(len: usize, segment: usize) -> Cut {
    Cut { len, segment, tile: segment.max(TILE) }
}
