//! One element of the result from each segment, a contiguous run of elements: reductions over the first axes.
//! Tiles are folded as they are computed, in the order and with the partial results of the reduction in a
//! step of its own; a segment that is longer than a tile leaves a partial result of each of its tiles.

use super::asked::Asked;
use super::map::CACHE;
use super::node::{Body, Finish, NodePlan, Schedule};
use crate::dtype::DType;
use crate::exec::vm::{Cut, Kernel};
use crate::kernels::reductions::fold::Fold;
use crate::kernels::reductions::partials::PARTIAL;
use crate::kernels::reductions::reduce::finish;
use crate::kernels::reductions::segments::SIDE_BY_SIDE;
use crate::kernels::tile::TILE;
use crate::shape::{Axis, Shape};

/// When a node has this schedule.
pub fn plan(at: &Asked) -> Option<NodePlan> {
    let (_, axes) = at.node.op.fold()?;
    let (segment, len) = (segment(at.shape(0), axes)?, at.shape(0).size());
    let plan = |schedule| NodePlan { schedule, len, access: at.by_element(), product: None, cost: at.each() };
    (len > 0).then(|| plan(Schedule::Segments(segment)))
}

/// The number of elements that are folded into one of the result, if they are contiguous in a dense operand.
fn segment(shape: &Shape, axes: &[Axis]) -> Option<usize> {
    let leading = axes.iter().enumerate().all(|(i, axis)| axis.0 == i);
    let segment = shape.iter().take(axes.len()).product();
    (leading && segment > 0).then_some(segment)
}

/// A group that folds the same segments, or none, takes it.
pub fn with(group: Schedule, segment: usize) -> Option<Schedule> {
    match group {
        Schedule::Map => Some(Schedule::Segments(segment)),
        Schedule::Segments(other) | Schedule::Rows(other) | Schedule::Cumulative { segment: other, .. }
            if other == segment =>
        {
            Some(group)
        }
        _ => None,
    }
}

/// Elements of 4 bytes that caches hold.
const NEAR: usize = 4 << 20;

/// The tiles: those of the reduction, whatever else there is, or some of them as one: each is folded in one chain of
/// additions, and some side by side take less time, where what is folded is in memory, or is little. Of segments that are
/// shorter than its tiles, some are one tile: these are longer, since eight segments at a time are folded fastest, or
/// four long ones, and to begin a tile has its cost, where few registers leave room for it in the cache.
pub fn cut(len: usize, segment: usize, width: usize) -> Cut {
    if segment > TILE {
        // What is computed goes through the first-level cache, beside what comes from memory.
        let room = width == 0 || (width <= 4 && len <= NEAR);
        let fits = |n: usize| n * TILE < segment && room;
        let many = [SIDE_BY_SIDE, SIDE_BY_SIDE / 2].into_iter().find(|&n| fits(n)).unwrap_or(1);
        return Cut { len, segment, tile: many * TILE, partial: TILE };
    }
    let tile = if 2 * TILE * width > CACHE { TILE } else { 2 * TILE };
    let together = if 2 * segment > TILE { 4 } else { 8 };
    let many = (tile / segment).next_multiple_of(together);
    Cut { len, segment, tile: many * segment, partial: TILE }
}

/// The instruction.
pub fn body(at: &Asked) -> Body {
    let (fold, dtype) = (at.fold(), at.from[0]);
    Body::Kernel(Box::new(move || Kernel::fold(dtype, fold)))
}

/// A reduction of which tiles leave partial results.
#[derive(Debug)]
struct Partials {
    fold: Fold,
    dtype: DType,
    /// Elements of the operand.
    len: usize,
}

impl Finish for Partials {
    fn finish(&self, partials: &[u8], out: &mut [u8]) {
        let each = self.len * self.dtype.bytes() / out.len();
        finish(self.dtype, self.fold, partials, each, out)
    }
}

/// What combines the partial results of a reduction, and the bytes of one.
pub fn partial(plan: &NodePlan, at: &Asked) -> (Box<dyn Finish>, usize) {
    (Box::new(Partials { fold: at.fold(), dtype: at.from[0], len: plan.len }), PARTIAL)
}
