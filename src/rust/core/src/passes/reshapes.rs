//! Elementwise ops on reshapes that would be copies are done before these: `outer(x, y, f)` calls `f` on the
//! broadcasts of both vectors to a matrix, each as a vector, as base R does. In the shape of the matrix these are read
//! where they are, and the result, which is dense, costs no step as a vector. Only the engine runs this pass: graphs
//! that are shown or exported keep the shapes that were written.

use super::transposes::is_elementwise;
use super::{optimise, rebuilt, Views};
use crate::error::Result;
use crate::graph::{Node, Value};
use crate::ops::layout::Order;
use crate::ops::{Builder, Graph, Op, Reshape};

/// The graph with elementwise ops before reshapes; `None` if none moves.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub fn reshapes(graph: &Graph) -> Result<Option<Graph>> {
    if !graph.nodes().iter().any(|node| node.op.get::<Reshape>().is_some()) {
        return Ok(None);
    }
    let views = Views::of(graph);
    // The value that a reshape copies, if it is read in runs where it is.
    let copied = |v: Value| {
        let node = graph.made_by(v).filter(|_| !views.is_view(v))?;
        let from =
            node.op.get::<Reshape>().filter(|op| op.order == Order::Column).map(|_| node.operands[0])?;
        let (layout, shape) = (views.layout(graph, from), &graph.aval(from).shape);
        let first = layout.strides.iter().zip(shape.iter()).find(|(_, &size)| size > 1);
        first.is_some_and(|(&stride, _)| stride == 0 || stride == 1).then_some(from)
    };
    let of = |node: &Node<Op>| {
        let read = node.operands.iter().find_map(|&v| copied(v));
        read.filter(|_| is_elementwise(graph, node))
    };
    let before: Vec<Option<Value>> = graph.nodes().iter().map(of).collect();
    if before.iter().all(Option::is_none) {
        return Ok(None);
    }
    let made = rebuilt(graph, |b, number, operands| {
        let Some(from) = before[number] else { return Ok(None) };
        let node = &graph.nodes()[number];
        let reshaped = |b: &mut Builder, v: Value, like: Value| {
            let shape = graph.aval(like).shape.clone();
            b.node1(Reshape { shape, order: Order::Column }, &[v])
        };
        let operands: Result<Vec<Value>> = operands.iter().map(|&v| reshaped(b, v, from)).collect();
        let made = b.node1(node.op.clone(), &operands?)?;
        reshaped(b, made, node.results[0]).map(|v| Some(vec![v]))
    })?;
    // Of reshapes there and back, nothing is left.
    optimise(&made).map(Some)
}
