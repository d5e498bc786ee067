//! Each element of the result from the operands' elements at the same index, tile by tile: elementwise ops.
//! Operands may be in memory and be read whole, or at computed indices: the state of random bits, a value that is
//! indexed, a narrow matrix that is multiplied by a vector.

use super::asked::{Access, Asked, Cost};
use super::node::{Body, NodePlan, Product, Schedule};
use super::products::MatVec;
use crate::exec::vm::{Cut, CONSTANT};
use crate::kernels::tile::TILE;
use crate::ops::WholeKernel;

/// When a node has this schedule.
pub fn plan(at: &Asked) -> Option<NodePlan> {
    let len = at.result().shape.size();
    if len == 0 || at.from.is_empty() {
        return None;
    }
    let (access, product, cost) = if at.node.op.is_elementwise(&at.from) {
        (at.by_element(), None, at.each())
    } else if let Some(WholeKernel { whole, .. }) = whole_kernel(at) {
        let mut access = at.by_element();
        access[..whole].fill(Access::Whole);
        (access, None, at.each())
    } else {
        let op = at.node.op.contraction()?;
        let product = MatVec::of(op, at).filter(|p| p.dense && p.rows >= p.k && p.is_narrow(p.k))?;
        (vec![Access::Whole; 2], Some(Product::Vector(product)), Cost::All(product.picoseconds()))
    };
    Some(NodePlan { schedule: Schedule::Map, len, access, product, cost })
}

/// The kernel that computes its tiles from whole operands, if it has one.
fn whole_kernel(at: &Asked) -> Option<WholeKernel> {
    let operands: Vec<_> = (0..at.from.len()).map(|i| (at.shape(i), at.layout(i))).collect();
    at.node.op.whole_kernel(&operands, &at.from)
}

/// Any group takes it.
pub fn with(group: Schedule) -> Option<Schedule> {
    (group != Schedule::Alone).then_some(group)
}

/// Bytes for registers: the rest of a first-level cache of 32 KiB is for operands and results.
pub const CACHE: usize = 24 << 10;

/// The tiles. With many registers they are shorter, so that all stay in the cache.
pub fn cut(len: usize, width: usize, streams: bool) -> Cut {
    // Never shorter than constants are.
    const _: () = assert!(CONSTANT <= TILE / 4);
    let mut tile = TILE;
    while tile > TILE / 4 && tile * width > CACHE {
        tile /= 2;
    }
    // Non-temporal stores drain while the next tile is computed: with half as many, the wait for them is 10
    // to 20 % shorter.
    let tile = if streams { tile.min(TILE / 2) } else { tile };
    Cut { len, segment: len, tile, partial: tile }
}

/// The instruction.
pub fn body(plan: &NodePlan, at: &Asked) -> Body {
    let (op, from) = (at.node.op.clone(), at.from.clone());
    if let Some(Product::Vector(product)) = plan.product {
        return Body::Kernel(Box::new(move || product.rows_kernel()));
    }
    if !plan.reads_whole(0) {
        return Body::Kernel(Box::new(move || op.kernel(&from).expect("groups have nodes with kernels")));
    }
    Body::Kernel(whole_kernel(at).expect("what reads all of an operand has such a kernel").kernel)
}
