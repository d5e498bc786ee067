//! Bodies of loops that compute element by element on arrays of one shape, as those on vectors: each element is a lane, where
//! along one axis a lane would have many elements. Only the engine runs this pass, on bodies whose values are dense.

use super::transposes::is_elementwise;
use crate::error::Result;
use crate::graph::{Def, Value};
use crate::ops::{BroadcastInDim, Builder, Graph};
use crate::shape::Shape;
use crate::tensor::Aval;

/// The graph on vectors in place of arrays of several axes; `None` if not all of its arrays have one shape, or not all ops
/// are elementwise.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub fn flat(graph: &Graph) -> Result<Option<Graph>> {
    let mut arrays = graph.values().map(|v| &graph.aval(v).shape).filter(|shape| shape.rank() > 0);
    let Some(shape) = arrays.next().filter(|shape| shape.rank() > 1) else { return Ok(None) };
    let fill = |op: &BroadcastInDim| op.axes.is_empty() && op.shape == *shape;
    let is_plain = |node| is_elementwise(graph, node) || node.op.get::<BroadcastInDim>().is_some_and(fill);
    if arrays.any(|other| other != shape)
        || !graph.constants().is_empty()
        || !graph.nodes().iter().all(is_plain)
    {
        return Ok(None);
    }
    let line = Shape::from([shape.size()]);
    let flat = |aval: &Aval| match aval.shape.rank() {
        0 => aval.clone(),
        _ => Aval { shape: line.clone(), ..aval.clone() },
    };
    let (mut b, mut new): (Builder, Vec<Value>) = (Builder::default(), vec![]);
    for value in graph.values() {
        let aval = graph.aval(value);
        new.push(match graph.def(value) {
            Def::Input(_) => b.input(flat(aval)),
            Def::Constant(_) => b.constant(flat(aval)),
            Def::Literal(literal) => b.literal(literal, aval.ambiguous),
            Def::Result(number, _) => {
                let node = &graph.nodes()[number];
                let operands: Vec<Value> = node.operands.iter().map(|v| new[v.index()]).collect();
                match node.op.get::<BroadcastInDim>() {
                    Some(_) => b.node1(BroadcastInDim { shape: line.clone(), axes: vec![] }, &operands)?,
                    None => b.node1(node.op.clone(), &operands)?,
                }
            }
        });
    }
    Ok(Some(b.finish(graph.outputs().iter().map(|v| new[v.index()]).collect())))
}
