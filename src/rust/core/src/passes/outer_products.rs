//! Products without a sum, such as the outer product of two vectors, become elementwise products of
//! broadcasts, which fuse with the nodes around them and are written where they are read. Only the engine
//! runs this pass: graphs that are shown or exported keep their products.
//!
//! Broadcasts are read in runs along the first axis, short ones from a copy: that may take longer than the
//! product itself, but saves what reads the product a step and the memory between. So a product stays that
//! something else reads, or whose runs are short as it is read: turned, if that is what is done first.

use super::rebuilt;
use super::transposes::is_elementwise;
use crate::error::Result;
use crate::graph::Value;
use crate::growth::table;
use crate::kernels::tile::TILE;
use crate::ops::{DotGeneral, Graph, Math, Transpose};

/// Elements of a run that takes as long as its elements, at least.
const RUN: usize = 16;

/// The graph with elementwise products; `None` if it has no product without a sum.
///
/// # Errors
/// Those of [`Builder::node`](crate::ops::Builder::node); one would be a bug of the pass.
pub fn outer_products(graph: &Graph) -> Result<Option<Graph>> {
    if !graph.nodes().iter().any(|node| node.op.get::<DotGeneral>().is_some()) {
        return Ok(None);
    }
    let has_runs = |v: Value| {
        let shape = &graph.aval(v).shape;
        shape.size() <= TILE || shape.iter().find(|&&size| size > 1).is_some_and(|&size| size >= RUN)
    };
    let mut kept = table(false, graph.values().count());
    graph.outputs().iter().for_each(|v| kept[v.index()] = true);
    for node in graph.nodes() {
        let turned = node.op.get::<Transpose>().map(|_| node.results[0]);
        let reads_runs = |v: Value| match turned {
            Some(turned) => has_runs(turned),
            None => is_elementwise(graph, node) && has_runs(v),
        };
        node.operands.iter().filter(|&&v| !reads_runs(v)).for_each(|v| kept[v.index()] = true);
    }
    let outer = |number: usize| {
        let node = &graph.nodes()[number];
        let is_outer = |op: &&DotGeneral| op.is_outer([0, 1].map(|i| graph.aval(node.operands[i])));
        let fast = |_: &&DotGeneral| node.results.first().is_some_and(|v| !kept[v.index()]);
        node.op.get::<DotGeneral>().filter(is_outer).filter(fast)
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
