//! One element of the result from those at the same place of all columns: reductions over the last axes. The
//! columns of some rows are made one after the other and taken into accumulators; what is folded is never in
//! memory ([`vm`]).

use super::asked::Asked;
use super::node::{Body, NodePlan, Schedule};
use crate::exec::vm;
use crate::kernels::reductions::fold::{Accumulators, Fold};
use crate::shape::{Axis, Shape};

/// Elements from which a reduction over the last axes is part of the group that makes them: fewer are in the
/// cache anyway when it comes to them.
const MIN_ELEMENTS: usize = 1 << 16;

/// When a node has this schedule.
pub fn plan(at: &Asked) -> Option<NodePlan> {
    let (fold, axes) = at.node.op.fold()?;
    let (rows, len) = (rows(at.shape(0), fold, axes)?, at.shape(0).size());
    let plan = |schedule| NodePlan { schedule, len, access: at.by_element(), product: None, cost: at.each() };
    (len >= MIN_ELEMENTS).then(|| plan(Schedule::Across(rows)))
}

/// The results of a dense operand of this shape whose elements lie apart, each at the same place of a column:
/// those of the last axes. None for what no accumulators fold element by element.
fn rows(shape: &Shape, fold: Fold, axes: &[Axis]) -> Option<usize> {
    if fold == Fold::Squares {
        return None;
    }
    let left = shape.rank() - axes.len();
    let trailing = axes.iter().enumerate().all(|(i, axis)| axis.0 == left + i);
    let rows: usize = shape.iter().take(left).product();
    (trailing && rows > 1 && shape.size() > rows).then_some(rows)
}

/// The group takes it that makes its operand, which is then not read from memory for it, if that folds the
/// same columns or nothing. An operand that no group makes is read faster by itself.
pub fn with(group: Schedule, rows: usize) -> Option<Schedule> {
    match group {
        Schedule::Map => Some(Schedule::Across(rows)),
        Schedule::Across(other) if other == rows => Some(group),
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
