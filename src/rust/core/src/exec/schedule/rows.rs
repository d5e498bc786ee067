//! Groups that fold segments and read the results of the folds. Tiles are whole segments, so that these
//! results are in registers too, an element for each segment, and are broadcast to the elements of the
//! segments. So a softmax or a variance reads and writes memory once.

use super::node::Schedule;
use super::segments;
use crate::exec::vm::Cut;
use crate::kernels::tile::TILE;

/// Elements of a segment, at most, for tiles to be whole segments: beyond this they leave the second-level
/// cache.
const MAX_ROW: usize = 1 << 14;

/// Whether tiles can be whole segments of so many elements.
pub fn is_row(segment: &usize) -> bool {
    (2..=MAX_ROW).contains(segment)
}

/// The schedule of a group of segments when one of its nodes reads the result of its fold.
pub fn of(group: Schedule) -> Schedule {
    match group {
        Schedule::Segments(segment) | Schedule::Cumulative { segment, .. } => Schedule::Rows(segment),
        other => other,
    }
}

/// The tiles.
pub fn cut(len: usize, segment: usize, width: usize) -> Cut {
    if segment > TILE {
        return Cut { len, segment, tile: segment, partial: TILE };
    }
    segments::cut(len, segment, width)
}
