//! Each element of the result from those of its line up to it: cumulations along an axis whose lines are
//! contiguous. The group's tiles are those of the cumulation in a step of its own. Lines are whole tiles if
//! there are many and they are short; else each tile takes what the one before it carries, so that tiles are
//! computed in the order of the line, by several threads like a chain.
//!
//! A cumulation of a group that does nothing else is a step of its own.

use super::asked::Asked;
use super::node::{Body, NodePlan, Schedule};
use super::rows;
use crate::exec::vm::{Cut, Kernel};
use crate::kernels::reductions::cumulative::carrier;
use crate::kernels::tile::TILE;
use crate::ops::Cumulative;

/// Lines of a value, at least, for tiles to be whole lines that are longer than a tile: threads share lines
/// then.
const MANY: usize = 8;

/// When a node has this schedule.
pub fn plan(at: &Asked) -> Option<NodePlan> {
    let Cumulative { axis, reverse, .. } = *at.node.op.cumulation()?;
    let (shape, len) = (at.shape(0), at.shape(0).size());
    let contiguous = shape.iter().take(axis.0).all(|&size| size == 1);
    let schedule = Schedule::Cumulative { segment: shape[axis.0], reverse };
    let plan = || NodePlan { schedule, len, access: at.by_element(), product: None, cost: at.each() };
    (contiguous && len > 0).then(plan)
}

/// A group that folds the same segments, or none, takes it.
pub fn with(group: Schedule, len: usize, segment: usize, reverse: bool) -> Option<Schedule> {
    let own = of(len, segment, reverse);
    match group {
        Schedule::Map => Some(own),
        Schedule::Segments(other) if other == segment => Some(own),
        Schedule::Rows(other) if other == segment => Some(group),
        Schedule::Cumulative { .. } if group == own => Some(group),
        _ => None,
    }
}

/// The schedule of a group of `len` elements that begins with it.
pub fn of(len: usize, segment: usize, reverse: bool) -> Schedule {
    let whole = segment <= TILE || len / segment >= MANY;
    match Some(segment).filter(rows::is_row) {
        Some(segment) if whole => Schedule::Rows(segment),
        _ => Schedule::Cumulative { segment, reverse },
    }
}

/// The tiles: those of the cumulation, whatever else there is.
pub fn cut(len: usize, segment: usize) -> Cut {
    Cut { len, segment, tile: TILE, partial: TILE }
}

/// The instruction.
pub fn body(at: &Asked) -> Body {
    let Cumulative { by, reverse, .. } = *at.node.op.cumulation().expect("cumulations have this schedule");
    let dtype = at.from[0];
    Body::Kernel(Box::new(move || Kernel::cumulate(carrier(by, dtype, reverse), dtype, reverse)))
}
