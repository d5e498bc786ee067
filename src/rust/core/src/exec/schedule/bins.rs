//! Sums of elements at places that are computed with them: scatters that add to few elements, whose sums are partial for
//! each part of the tiles ([`crate::kernels::memory::bins`]).

use super::asked::{Access, Asked};
use super::map;
use super::node::{Body, Finish, NodePlan, Schedule};
use crate::exec::vm::Cut;
use crate::kernels::elementwise::Pair;
use crate::kernels::memory::bins::Bins;
use crate::ops::Sums;
use crate::tensor::Literal;
use std::fmt;

/// When a node has this schedule.
pub fn plan(at: &Asked) -> Option<NodePlan> {
    let Bins { len, part, .. } = sums(at)?.0.bins;
    let mut access = at.by_element();
    // It is in the kernel.
    access[0] = Access::Repeated;
    Some(NodePlan { schedule: Schedule::Bins(part), len, access, product: None, cost: at.each() })
}

/// The sums of a node, and the element that they begin with everywhere.
fn sums(at: &Asked) -> Option<(Sums, Literal)> {
    let avals: Vec<_> = at.node.operands.iter().map(|&v| at.graph.aval(v)).collect();
    Some((at.node.op.sums(&avals)?, at.views.fill(at.graph, at.node.operands[0])?))
}

/// A group of maps takes sums, and one of sums in the same parts.
pub fn with(group: Schedule, sums: Schedule) -> Option<Schedule> {
    (group == Schedule::Map || group == sums).then_some(sums)
}

/// The tiles: those of a map, some of them a part.
pub fn cut(len: usize, part: usize, width: usize) -> Cut {
    Cut { partial: part, ..map::cut(len, width, false) }
}

/// The instruction.
pub fn body(at: &Asked) -> Body {
    let (sums, before) = sums(at).expect("sums have this schedule");
    Body::Kernel(Box::new(move || (sums.kernel)(before)))
}

/// What is left of sums when tiles have added up their parts.
struct Parts {
    bins: Bins,
    by: Pair,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bins.fmt(f)
    }
}

impl Finish for Parts {
    fn finish(&self, partials: &[u8], out: &mut [u8]) {
        self.bins.finish(partials, out, &self.by);
    }
}

/// What adds up the sums of parts, and the bytes of one place in these.
pub fn partial(at: &Asked) -> (Box<dyn Finish>, usize) {
    let (sums, _) = sums(at).expect("sums have this schedule");
    let bytes = sums.bins.lanes * at.result().dtype.bytes();
    (Box::new(Parts { bins: sums.bins, by: sums.by }), bytes)
}
