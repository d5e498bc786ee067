//! One element of the result from each segment, a run of elements that lie side by side: reductions over the
//! first dimensions. Tiles are folded as they are made, in the order and with the partial results that the
//! reduction has alone; a segment that is longer than a tile leaves parts.

use super::asked::Asked;
use super::node::{Body, Finish, NodePlan, Schedule};
use crate::dtype::DType;
use crate::exec::vm::Cut;
use crate::kernels::reductions::parts::PARTIAL;
use crate::kernels::tile::TILE;
use crate::ops::{Op, Reduction};

/// When a node has this schedule.
pub fn plan(at: &Asked) -> Option<NodePlan> {
    let Op::Reduction(op) = &at.node.op else { return None };
    let (segment, len) = (op.segment(at.shape(0))?, at.shape(0).size());
    let plan = |schedule| NodePlan { schedule, len, access: at.by_element(), product: None, cost: at.each() };
    (len > 0).then(|| plan(Schedule::Segments(segment)))
}

/// A group takes it that folds the same segments, or none.
pub fn with(group: Schedule, segment: usize) -> Option<Schedule> {
    match group {
        Schedule::Map => Some(Schedule::Segments(segment)),
        Schedule::Segments(other) | Schedule::Rows(other) if other == segment => Some(group),
        _ => None,
    }
}

/// The tiles: those of the reduction, whatever else there is.
pub fn cut(len: usize, segment: usize) -> Cut {
    Cut { len, segment, tile: TILE }
}

/// The instruction.
pub fn body(at: &Asked) -> Body {
    let (op, dtype) = (at.node.op.clone(), at.from[0]);
    let Op::Reduction(op) = op else { unreachable!("reductions have this schedule") };
    Body::Kernel(Box::new(move || op.kernel(dtype)))
}

/// A reduction of which tiles leave parts.
#[derive(Debug)]
struct Parts {
    op: Reduction,
    dtype: DType,
    /// Elements of the operand.
    len: usize,
}

impl Finish for Parts {
    fn finish(&self, parts: &[u8], out: &mut [u8]) {
        self.op.finish(self.dtype, parts, self.len, out);
    }
}

/// What puts together the parts of a reduction.
pub fn partial(plan: &NodePlan, at: &Asked) -> (Box<dyn Finish>, usize) {
    let Op::Reduction(op) = &at.node.op else { unreachable!("reductions have this schedule") };
    (Box::new(Parts { op: op.clone(), dtype: at.from[0], len: plan.len }), PARTIAL)
}
