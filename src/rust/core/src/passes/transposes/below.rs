//! Transposes of operands sink below the elementwise ops and folds that read them: `rowSums(exp(t(x) - m))` is computed in
//! the order of `x`, over its other axis, and nothing is transposed. An element is computed by the same operations, and a
//! line is folded in the same order, whichever axis it lies along.

use super::{broadcast, is_elementwise};
use crate::error::Result;
use crate::graph::{Node, Value, NODE};
use crate::growth::table;
use crate::ops::{BroadcastInDim, Builder, Graph, Op, Reduction, Transpose};
use crate::passes::rebuilt_from;
use crate::shape::{Axis, Shape};
use crate::stop;

/// The graph in which transposes come after what reads them, where that can be; `None` if none has such a reader.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub(super) fn below(graph: &Graph) -> Result<Option<Graph>> {
    let orders = orders(graph);
    let folds = |node: &Node<Op>| folded(node).is_some() && orders[node.operands[0].index()].is_some();
    if !graph.nodes().iter().any(folds) {
        return Ok(None);
    }
    // Of each value that has an order, what it is a transpose of.
    let mut before: Vec<Option<Value>> = table(None, graph.values().count());
    let made = rebuilt_from(graph, |b, number, new| {
        let node = &graph.nodes()[number];
        let first = node.operands.first().map(|v| v.index());
        if let (Some((axis, drop)), Some(i)) = (folded(node), first) {
            let (Some(order), Some(from)) = (&orders[i], before[i]) else { return Ok(None) };
            return fold(b, node, from, order, (axis, drop)).map(Some);
        }
        let Some(&result) = node.results.first() else { return Ok(None) };
        let Some(order) = &orders[result.index()] else { return Ok(None) };
        let own = if node.op.get::<Transpose>().is_some() {
            new[node.operands[0].index()]
        } else {
            let mut given = vec![];
            for v in &node.operands {
                given.push(match before[v.index()] {
                    Some(from) => from,
                    None => repeated(b, graph, *v, new, order)?,
                });
            }
            b.node1(node.op.clone(), &given)?
        };
        before[result.index()] = Some(own);
        Ok(Some(vec![b.node1(Transpose { permutation: order.clone() }, &[own])?]))
    })?;
    Ok(Some(made))
}

/// For each value the order in which it is a transpose of one that can be computed instead: what is transposed, and
/// results of elementwise ops on such values of one order and on what is repeated.
fn orders(graph: &Graph) -> Vec<Option<Vec<Axis>>> {
    let mut orders: Vec<Option<Vec<Axis>>> = table(None, graph.values().count());
    for node in graph.nodes() {
        stop::work(NODE);
        let Some(&result) = node.results.first() else { continue };
        orders[result.index()] = match node.op.get::<Transpose>() {
            Some(op) => Some(op.permutation.clone()),
            None if is_elementwise(graph, node) => common(graph, node, &orders),
            None => None,
        };
    }
    orders
}

/// The order that the operands of a node have in common, but for what is repeated.
fn common(graph: &Graph, node: &Node<Op>, orders: &[Option<Vec<Axis>>]) -> Option<Vec<Axis>> {
    let is_repeated = |v: &Value| graph.made_by(*v).is_some_and(|made| repeats(graph, made).is_some());
    let mut all = node.operands.iter().filter(|v| !is_repeated(v)).map(|v| orders[v.index()].as_ref());
    let first = all.next()??;
    all.all(|order| order == Some(first)).then(|| first.clone())
}

/// What a node is as a broadcast that repeats elements, if it is one: it is as fast in another order.
fn repeats(graph: &Graph, node: &Node<Op>) -> Option<BroadcastInDim> {
    let [from, to] = [*node.operands.first()?, *node.results.first()?].map(|v| graph.aval(v).shape.size());
    broadcast(graph, node).filter(|_| from < to)
}

/// What is repeated to a value, in the order of what that is to be a transpose of; `new` are the values of the new graph.
fn repeated(b: &mut Builder, graph: &Graph, v: Value, new: &[Value], order: &[Axis]) -> Result<Value> {
    let node = graph.made_by(v).expect("operands without an order are repeated");
    let BroadcastInDim { shape, axes } =
        repeats(graph, node).expect("operands without an order are repeated");
    let mut sizes = shape.to_vec();
    order.iter().zip(shape.iter()).for_each(|(axis, &size)| sizes[axis.0] = size);
    let axes = axes.iter().map(|axis| order[axis.0]).collect();
    b.node1(BroadcastInDim { shape: Shape::try_new(sizes)?, axes }, &[new[node.operands[0].index()]])
}

/// The axis of a fold along one, and whether it is dropped.
fn folded(node: &Node<Op>) -> Option<(Axis, bool)> {
    let op = node.op.get::<Reduction>()?;
    match op.axes[..] {
        [axis] => Some((axis, op.drop)),
        _ => None,
    }
}

/// The fold of a transpose of `from` in this order.
fn fold(
    b: &mut Builder,
    node: &Node<Op>,
    from: Value,
    order: &[Axis],
    (axis, drop): (Axis, bool),
) -> Result<Vec<Value>> {
    let op = node.op.get::<Reduction>().expect("it is a fold");
    let along = order[axis.0];
    let made = b.node1(Reduction { axes: vec![along], ..op.clone() }, &[from])?;
    let left = |axis: &Axis| !drop || *axis != along;
    // Axes behind the one that is dropped are one less.
    let place = |axis: &Axis| Axis(axis.0 - usize::from(drop && axis.0 > along.0));
    let permutation: Vec<Axis> = order.iter().filter(|axis| left(axis)).map(place).collect();
    if permutation.iter().enumerate().all(|(i, axis)| i == axis.0) {
        return Ok(vec![made]);
    }
    Ok(vec![b.node1(Transpose { permutation }, &[made])?])
}
