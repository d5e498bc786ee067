//! Products without a sum, such as the outer product of two vectors, become elementwise products of
//! broadcasts, which fuse with the nodes around them and are written where they are read. Only the engine
//! runs this pass: graphs that are shown or exported keep their products.

use super::rebuilt;
use crate::error::Result;
use crate::ops::{DotGeneral, Graph, Math};

/// The graph with elementwise products; `None` if it has no product without a sum.
///
/// # Errors
/// Those of [`Builder::node`](crate::ops::Builder::node); one would be a bug of the pass.
pub fn outer_products(graph: &Graph) -> Result<Option<Graph>> {
    let outer = |number: usize| {
        let node = &graph.nodes()[number];
        let is_outer = |op: &&DotGeneral| op.is_outer([0, 1].map(|i| graph.aval(node.operands[i])));
        node.op.get::<DotGeneral>().filter(is_outer)
    };
    if !(0..graph.nodes().len()).any(|number| outer(number).is_some()) {
        return Ok(None);
    }
    let made = rebuilt(graph, |b, number, operands| {
        let Some(op) = outer(number) else { return Ok(None) };
        let math = Math::new(b);
        let product = op.outer([0, 1].map(|i| math.var(operands[i]))).value();
        math.finish().map(|()| Some(vec![product]))
    });
    made.map(Some)
}
