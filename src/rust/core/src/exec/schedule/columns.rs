//! The product of a narrow matrix in memory and a vector that the group computes: each tile is multiplied by
//! its columns of the matrix. So `t(X) %*% g(X %*% w)` reads a row of `X` for the second time while it is in
//! the cache.

use super::asked::{Access, Asked, Cost};
use super::node::{Body, Finish, NodePlan, Product, Schedule};
use super::products::MatVec;

/// When a node has this schedule. The group that computes the vector takes it, if the matrix is in memory
/// before; the vector is its one segment.
pub fn plan(at: &Asked) -> Option<NodePlan> {
    let op = at.node.op.contraction()?;
    let product = MatVec::of(op, at).filter(|p| p.rows < p.k && p.is_narrow(p.rows))?;
    let mut access = at.by_element();
    access[product.matrix] = Access::Whole;
    Some(NodePlan {
        schedule: Schedule::Columns(product.k),
        len: product.k,
        access,
        product: Some(Product::Vector(product)),
        cost: Cost::All(product.picoseconds()),
    })
}

fn product(plan: &NodePlan) -> MatVec {
    match plan.product {
        Some(Product::Vector(product)) => product,
        _ => unreachable!("products with vectors have this schedule"),
    }
}

/// The instruction.
pub fn body(plan: &NodePlan) -> Body {
    let product = product(plan);
    Body::Kernel(Box::new(move || product.columns_kernel()))
}

impl Finish for MatVec {
    fn finish(&self, partials: &[u8], out: &mut [u8]) {
        self.add(partials, out);
    }
}

/// What adds the partial sums of a product, and the bytes of one.
pub fn partial(plan: &NodePlan) -> (Box<dyn Finish>, usize) {
    let product = product(plan);
    (Box::new(product), product.dtype.bytes())
}
