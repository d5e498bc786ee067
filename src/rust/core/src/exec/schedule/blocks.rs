//! A product of matrices that a group begins with: a block of its columns is computed, then the other nodes
//! of the group on the tiles of the block, while these are in the cache ([`vm`](crate::exec::vm)). The
//! product itself is stored, since a block is many tiles.

use super::asked::{Access, Asked, Cost};
use super::node::{Body, NodePlan, Product, Schedule};
use super::products::MatrixProduct;

/// When a node has this schedule.
pub fn plan(at: &Asked) -> Option<NodePlan> {
    let op = at.node.op.contraction()?;
    let product = MatrixProduct::of(op, at)?;
    Some(NodePlan {
        schedule: Schedule::Blocks(product.rows),
        len: at.result().shape.size(),
        access: vec![Access::Whole; 2],
        product: Some(Product::Matrices(product)),
        cost: Cost::All(product.picoseconds()),
    })
}

/// The instruction.
pub fn body(plan: &NodePlan) -> Body {
    match plan.product {
        Some(Product::Matrices(product)) => Body::Kernel(Box::new(move || product.kernel())),
        _ => unreachable!("products of matrices have this schedule"),
    }
}
