//! One element of the result from those at the same index of all columns: reductions over the last axes. For
//! some rows, columns are computed one after the other and added to accumulators; the folded value is never
//! in memory ([`vm`]).

use super::asked::Asked;
use super::lines;
use super::node::{Body, NodePlan, Schedule};
use crate::exec::vm;
use crate::kernels::reductions::accumulators::Accumulators;
use crate::kernels::reductions::fold::Fold;
use crate::passes::FOLDED;
use crate::shape::{Axis, Shape};

/// When a node has this schedule.
pub fn plan(at: &Asked) -> Option<NodePlan> {
    let (fold, axes) = at.node.op.fold()?;
    let (rows, len) = (rows(at.shape(0), axes)?, at.shape(0).size());
    let plan = |schedule| NodePlan { schedule, len, access: at.by_element(), product: None, cost: at.each() };
    // Squares of deviations are made of whole tiles.
    if fold == Fold::Squares {
        let is_packed = lines::are_packed(len, rows) && lines::pay(len, rows, at.from[0].bytes());
        return is_packed.then(|| plan(Schedule::Lines(rows)));
    }
    (len >= FOLDED).then(|| plan(Schedule::Across(rows)))
}

/// The results of a reduction over the last axes of a dense operand of this shape, each of elements at the
/// same index of a column. `None` for other axes.
fn rows(shape: &Shape, axes: &[Axis]) -> Option<usize> {
    let left = shape.rank() - axes.len();
    let trailing = axes.iter().enumerate().all(|(i, axis)| axis.0 == left + i);
    let rows: usize = shape.iter().take(left).product();
    (trailing && rows > 1 && shape.size() > rows).then_some(rows)
}

/// The group that computes its operand takes it, if that folds the same columns or nothing: the operand is
/// not read from memory then. An operand that no group computes is read faster by a step of its own.
pub fn with(group: Schedule, rows: usize) -> Option<Schedule> {
    match group {
        Schedule::Map => Some(Schedule::Across(rows)),
        Schedule::Across(other) | Schedule::Lines(other) if other == rows => Some(group),
        _ => None,
    }
}

/// Partial results of each result.
pub fn partials(len: usize, rows: usize) -> usize {
    vm::partials(len, rows)
}

/// The instruction.
pub fn body(at: &Asked) -> Body {
    let fold = at.fold();
    Body::Fold(Accumulators::new(at.from[0], fold))
}
