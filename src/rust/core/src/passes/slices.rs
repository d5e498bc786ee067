//! Loops whose slices are long slice along the last axis: each slice is contiguous there, while along the first
//! axis its elements are as far apart as there are iterations. What a loop stacks for another one, such as that
//! of its derivative, is written and read as it lies; everything else sees it through a transpose. What else is
//! sliced is transposed once, block by block. A transpose of what a body stacks moves out of it, and so does one
//! of a slice: outside, those of a loop and of its derivative cancel. Only the engine runs this pass: graphs that
//! are shown or exported slice along the first axis.

use super::{optimise, rebuilt};
use crate::error::Result;
use crate::graph::{Node, Value};
use crate::ops::{Builder, Control, Graph, Op, Scan, Transpose};
use crate::shape::{Axis, Shape};
use crate::tensor::Aval;
use std::sync::Arc;

/// Elements of a short slice: native code of loops holds as many in registers, and reads them one by one wherever
/// they are.
pub const SHORT: usize = 64;

/// The graph with loops over contiguous slices; `None` if no loop has long slices.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub fn slices(graph: &Graph) -> Result<Option<Graph>> {
    if !graph.nodes().iter().any(|node| long(&node.op).is_some()) {
        return Ok(None);
    }
    let made = rebuilt(graph, |b, number, operands| match long(&graph.nodes()[number].op) {
        Some(op) => turn(b, op, operands).map(Some),
        None => Ok(None),
    })?;
    optimise(&made).map(Some)
}

/// The op if it is a loop with long slices along the first axis, or one around loops and without a state: threads share
/// its iterations.
fn long(op: &Op) -> Option<&Scan> {
    let Some(Control::Scan(op)) = op.control() else { return None };
    let is_loop = |op: &Op| matches!(op.control(), Some(Control::Scan(_) | Control::While(_)));
    let shared = op.carried == 0 && op.body.nodes().iter().any(|node| is_loop(&node.op));
    let long = shared || op.slices().any(|slice| slice.shape.size() > SHORT);
    (!op.last && op.length > 1 && long).then_some(op)
}

/// The results of a loop, by one that slices along the last axis.
fn turn(b: &mut Builder, op: &Scan, operands: &[Value]) -> Result<Vec<Value>> {
    let inner = slices(&op.body)?;
    let old = inner.as_ref().unwrap_or(&op.body);
    let along = op.carried..op.carried + op.sliced;
    let read = |i: usize| {
        let v = old.inputs()[i];
        order_of_readers(old, v).unwrap_or_else(|| as_it_is(old, v))
    };
    let read: Vec<Vec<Axis>> = along.clone().map(read).collect();
    let written: Vec<Vec<Axis>> =
        old.outputs()[op.carried..].iter().map(|&v| order_of_maker(old, v)).collect();

    let mut body = Builder::default();
    let mut inputs = Vec::new();
    for (i, &v) in old.inputs().iter().enumerate() {
        let aval = old.aval(v).clone();
        inputs.push(match i.checked_sub(op.carried).and_then(|i| read.get(i)) {
            Some(order) => {
                let sizes = order.iter().map(|axis| aval.shape[axis.0]).collect();
                let slice = body.input(Aval { shape: Shape::try_new(sizes)?, ..aval });
                transposed(&mut body, slice, Transpose::inverse(order))?
            }
            None => body.input(aval),
        });
    }
    let mut outputs = body.inline(old, &inputs)?;
    for (v, order) in outputs[op.carried..].iter_mut().zip(&written) {
        *v = transposed(&mut body, *v, Transpose::inverse(order))?;
    }
    let body = Arc::new(optimise(&body.finish(outputs))?);

    let mut given = operands.to_vec();
    for (v, order) in given[along].iter_mut().zip(&read) {
        let order = order.iter().map(|axis| Axis(axis.0 + 1)).chain([Axis(0)]).collect();
        *v = transposed(b, *v, order)?;
    }
    let mut results = b.node(Scan { body, last: true, ..op.clone() }, &given)?;
    for (v, order) in results[op.carried..].iter_mut().zip(&written) {
        let order = [Axis(order.len())].into_iter().chain(order.iter().copied()).collect();
        *v = transposed(b, *v, order)?;
    }
    Ok(results)
}

/// The value with its axes in this order.
pub(super) fn transposed(b: &mut Builder, value: Value, permutation: Vec<Axis>) -> Result<Value> {
    if permutation.is_sorted() {
        return Ok(value);
    }
    b.node1(Transpose { permutation }, &[value])
}

/// The axes of a value in their order.
fn as_it_is(graph: &Graph, value: Value) -> Vec<Axis> {
    (0..graph.aval(value).shape.rank()).map(Axis).collect()
}

fn readers(graph: &Graph, value: Value) -> impl Iterator<Item = &Node<Op>> {
    graph.nodes().iter().filter(move |node| node.operands.contains(&value))
}

/// The transpose by which alone a value is read, and its result in the first place where it is.
pub(super) fn transpose_of_readers(graph: &Graph, value: Value) -> Option<(&Transpose, Value)> {
    let mut transposes = readers(graph, value);
    let first = transposes.next()?;
    let order = first.op.get::<Transpose>()?;
    let alone = transposes.all(|node| node.op.get::<Transpose>() == Some(order));
    (alone && !graph.outputs().contains(&value)).then(|| (order, first.results[0]))
}

/// The order of axes in which alone a value is read, not just by products, which read any order in place.
fn order_of_readers(graph: &Graph, value: Value) -> Option<Vec<Axis>> {
    let (order, read) = transpose_of_readers(graph, value)?;
    let gathered = readers(graph, read).any(|node| !node.op.reads_transposed());
    gathered.then(|| order.permutation.clone())
}

/// The order of axes to which a value is transposed where it is made.
fn order_of_maker(graph: &Graph, value: Value) -> Vec<Axis> {
    let order = graph.made_by(value).and_then(|node| node.op.get::<Transpose>());
    order.map_or_else(|| as_it_is(graph, value), |op| op.permutation.clone())
}
