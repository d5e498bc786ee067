//! Transposes of results of elementwise ops become transposes of the operands, where that leaves fewer
//! elements to be gathered: those of inputs cost no step, and two cancel. Products of a batch whose axis is
//! moved to the front are made so. So a program on a batch whose axis comes first is computed in that order.
//! Only the engine runs this pass: graphs that are shown or exported keep their transposes.
//!
//! Where that leaves fewer, they sink below what reads them instead ([`below`](below::below)). Folds over axes in the
//! middle are computed as of transposes ([`middle`](middle::middle)).

mod below;
mod middle;

use super::{optimise, rebuilt, Views};
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{Node, Value, NODE};
use crate::growth::table;
use crate::ops::contract::Ordered;
use crate::ops::{BroadcastInDim, Builder, Graph, Op, Reshape, Transpose};
use crate::shape::{Axis, Shape};
use crate::stop;
use crate::tensor::Aval;
use std::collections::HashSet;

/// Elements of a value from which a fold over its last axes joins the group that computes it: fewer are still in the cache
/// when a step of its own reads them.
pub const FOLDED: usize = 1 << 16;

/// The graph with its transposes before elementwise ops, or below them, and with folds over the last axes; `None` if none
/// moves, or it would not be cheaper.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub fn transposes(graph: &Graph) -> Result<Option<Graph>> {
    let moved = moved(graph)?;
    Ok(middle::middle(moved.as_ref().unwrap_or(graph))?.or(moved))
}

/// The graph with its transposes elsewhere.
fn moved(graph: &Graph) -> Result<Option<Graph>> {
    if !graph.nodes().iter().any(|node| node.op.get::<Transpose>().is_some()) {
        return Ok(None);
    }
    let raised = raised(graph)?;
    let sunk = match below::below(raised.as_ref().unwrap_or(graph))? {
        Some(sunk) => Some(optimise(&sunk)?),
        None => None,
    };
    let best = gathered(raised.as_ref().unwrap_or(graph));
    Ok(sunk.filter(|sunk| gathered(sunk) < best).or(raised))
}

/// The graph with its transposes before elementwise ops, if that is cheaper.
fn raised(graph: &Graph) -> Result<Option<Graph>> {
    let mut moves = false;
    let earlier = rebuilt(graph, |b, number, operands| {
        let made = before_drop(b, &graph.nodes()[number], operands)?;
        moves |= made.is_some();
        Ok(made)
    })?;
    // Without the reshapes that nothing reads now.
    let earlier = if moves { Some(optimise(&earlier)?) } else { None };
    let moved = earlier.as_ref().unwrap_or(graph);
    let turned = turned(moved);
    if turned.iter().all(Option::is_none) {
        return Ok(None);
    }
    let made = optimise(&rebuilt(moved, |b, number, operands| turn(b, moved, number, operands, &turned))?)?;
    Ok((gathered(&made) < gathered(graph)).then_some(made))
}

/// A transpose of a product that lost axes of one element, as one with a vector has, before these are dropped:
/// so the product itself is asked for its transpose. An axis that is dropped stays behind the one before it.
fn before_drop(b: &mut Builder, node: &Node<Op>, operands: &[Value]) -> Result<Option<Vec<Value>>> {
    let Some(Transpose { permutation }) = node.op.get::<Transpose>() else { return Ok(None) };
    let Some(drop) = b.graph().made_by(operands[0]) else { return Ok(None) };
    let Some(Reshape { order, .. }) = drop.op.get::<Reshape>() else { return Ok(None) };
    let (whole, by) = (drop.operands[0], *order);
    let Some(kept) = kept(&b.graph().aval(whole).shape, &b.graph().aval(operands[0]).shape) else {
        return Ok(None);
    };
    if b.graph().made_by(whole).is_none_or(|made| made.op.contraction().is_none()) {
        return Ok(None);
    }
    let mut order: Vec<Axis> = permutation.iter().map(|axis| Axis(kept[axis.0])).collect();
    for dropped in (0..b.graph().aval(whole).shape.rank()).filter(|axis| !kept.contains(axis)) {
        let at = |axis: usize| order.iter().position(|a| a.0 == axis);
        let place = match dropped.checked_sub(1) {
            Some(before) => at(before).map(|i| i + 1),
            None => at(dropped + 1),
        };
        order.insert(place.unwrap_or(order.len()), Axis(dropped));
    }
    let turned = b.node1(Transpose { permutation: order }, &[whole])?;
    let shape = b.graph().aval(operands[0]).shape.clone();
    let sizes = permutation.iter().map(|axis| shape[axis.0]).collect();
    Ok(Some(vec![b.node1(Reshape { shape: Shape::try_new(sizes)?, order: by }, &[turned])?]))
}

/// The axes that a reshape keeps, if all that it drops have one element.
fn kept(from: &Shape, to: &Shape) -> Option<Vec<usize>> {
    let (mut kept, mut next) = (vec![], 0);
    for &size in to.iter() {
        let at = next + from[next..].iter().position(|&other| other == size)?;
        if from[next..at].iter().any(|&other| other != 1) {
            return None;
        }
        kept.push(at);
        next = at + 1;
    }
    from[next..].iter().all(|&size| size == 1).then_some(kept)
}

/// For each value, the permutation in which alone it is read: a result of an elementwise op, or of a product or another
/// op that can be made so, whose readers transpose it so, are elementwise ops that are read so, or read any
/// order: broadcasts, and products.
fn turned(graph: &Graph) -> Vec<Option<Vec<Axis>>> {
    let count = graph.values().count();
    let mut turned: Vec<Option<Vec<Axis>>> = table(None, count);
    let mut kept = table(false, count);
    graph.outputs().iter().for_each(|v| kept[v.index()] = true);
    // Readers come after what they read.
    for node in graph.nodes().iter().rev() {
        stop::work(NODE);
        let asked = match node.results.as_slice() {
            &[result] if is_elementwise(graph, node) => {
                if kept[result.index()] {
                    turned[result.index()] = None;
                }
                turned[result.index()].clone()
            }
            _ => node.op.get::<Transpose>().map(|op| op.permutation.clone()),
        };
        let any = broadcast(graph, node).is_some() || node.op.reads_transposed();
        if asked.is_none() && any {
            continue;
        }
        for v in &node.operands {
            let i = v.index();
            kept[i] |= asked.is_none() || turned[i].is_some() && turned[i] != asked;
            turned[i].clone_from(&asked);
        }
    }
    for v in graph.values() {
        let made = |order: &[Axis]| {
            graph.made_by(v).is_some_and(|node| {
                is_elementwise(graph, node)
                    || product(graph, node, order).is_some()
                    || ordered(graph, node, order).is_some()
            })
        };
        if kept[v.index()] || !turned[v.index()].as_deref().is_some_and(made) {
            turned[v.index()] = None;
        }
    }
    turned
}

/// The product whose result is that of a node, transposed, if there is one.
fn product(graph: &Graph, node: &Node<Op>, order: &[Axis]) -> Option<Op> {
    let op = node.op.contraction()?;
    let operands = [0, 1].map(|i| &graph.aval(node.operands[i]).shape);
    op.transposed(order, operands).map(Op::from)
}

/// What makes the result of a node, transposed, if there is an op that does.
fn ordered(graph: &Graph, node: &Node<Op>, order: &[Axis]) -> Option<Ordered> {
    let types: Vec<&Aval> = node.operands.iter().map(|&v| graph.aval(v)).collect();
    node.op.ordered(order, &types).filter(|_| node.results.len() == 1)
}

/// Whether each element of its result is a function of the operands' at the same index.
pub(in crate::passes) fn is_elementwise(graph: &Graph, node: &Node<Op>) -> bool {
    let from: Vec<DType> = node.operands.iter().map(|&v| graph.aval(v).dtype).collect();
    let &[result] = node.results.as_slice() else { return false };
    let alike = |&v: &Value| graph.aval(v).shape == graph.aval(result).shape;
    node.op.is_elementwise(&from) && node.operands.iter().all(alike)
}

/// What a node is as a broadcast, if it is one: a reshape is that only adds axes of one element.
fn broadcast(graph: &Graph, node: &Node<Op>) -> Option<BroadcastInDim> {
    if node.op.get::<Reshape>().is_none() {
        return node.op.get::<BroadcastInDim>().cloned();
    }
    let [from, to] = [node.operands[0], node.results[0]].map(|v| &graph.aval(v).shape);
    let (mut axes, mut next) = (Vec::new(), 0);
    for &size in from.iter() {
        let at = next + to[next..].iter().position(|&other| other == size)?;
        axes.push(Axis(at));
        next = at + 1;
    }
    (from.size() == to.size()).then(|| BroadcastInDim { shape: to.clone(), axes })
}

/// The results of a node if some of its operands, or its result, are `turned`.
fn turn(
    b: &mut Builder,
    graph: &Graph,
    number: usize,
    operands: &[Value],
    turned: &[Option<Vec<Axis>>],
) -> Result<Option<Vec<Value>>> {
    let node = &graph.nodes()[number];
    let first = node.operands.first().and_then(|v| turned[v.index()].as_ref());
    if let (Some(_), Some(_)) = (first, node.op.get::<Transpose>()) {
        return Ok(Some(vec![operands[0]]));
    }
    if let (Some(order), Some(BroadcastInDim { shape, axes })) = (first, broadcast(graph, node)) {
        let axes = order.iter().map(|a| axes[a.0]).collect();
        return Ok(Some(vec![b.node1(BroadcastInDim { shape, axes }, operands)?]));
    }
    if node.op.reads_transposed() {
        return back(b, graph, node, operands, turned);
    }
    let Some(order) = node.results.first().and_then(|v| turned[v.index()].as_ref()) else { return Ok(None) };
    let mut given = Vec::new();
    if let Some(Ordered { op, orders }) = ordered(graph, node, order) {
        for (&operand, permutation) in operands.iter().zip(orders) {
            given.push(b.node1(Transpose { permutation }, &[operand])?);
        }
        return b.node(op, &given).map(Some);
    }
    for (old, &new) in node.operands.iter().zip(operands) {
        given.push(match turned[old.index()] {
            Some(_) => new,
            None => b.node1(Transpose { permutation: order.clone() }, &[new])?,
        });
    }
    Ok(Some(vec![b.node1(node.op.clone(), &given)?]))
}

/// The results of a node that reads what is `turned` as it was before, in place, and whose result may be;
/// `None` if neither is.
fn back(
    b: &mut Builder,
    graph: &Graph,
    node: &Node<Op>,
    operands: &[Value],
    turned: &[Option<Vec<Axis>>],
) -> Result<Option<Vec<Value>>> {
    let order = node.results.first().and_then(|v| turned[v.index()].as_deref());
    let made = order.and_then(|order| product(graph, node, order));
    if made.is_none() && node.operands.iter().all(|v| turned[v.index()].is_none()) {
        return Ok(None);
    }
    let mut given = Vec::new();
    for (old, &new) in node.operands.iter().zip(operands) {
        given.push(match &turned[old.index()] {
            Some(order) => {
                let permutation = Transpose::inverse(order);
                b.node1(Transpose { permutation }, &[new])?
            }
            None => new,
        });
    }
    b.node(made.unwrap_or_else(|| node.op.clone()), &given).map(Some)
}

/// The time of elements that are copied because they are read in another order than they lie in memory, in
/// that of an element of a small value. Products read any.
fn gathered(graph: &Graph) -> usize {
    /// Bytes of a value that stays in the second-level cache while it is gathered, tile by tile.
    const CACHED: usize = 1 << 18;
    /// The time of an element of another one: lines of the cache are read again for each of their elements.
    const FAR: usize = 4;
    /// That of an output, which is copied block by block, in a step of its own.
    const COPY: usize = 2;
    let views = Views::of(graph);
    let size = |v: Value| graph.aval(v).shape.size();
    let strided = |v: Value| {
        let layout = views.layout(graph, v);
        let first = graph.aval(v).shape.iter().zip(&layout.strides).find(|(&size, _)| size > 1);
        first.is_some_and(|(_, &stride)| stride > 1)
    };
    let far = |v: Value| if graph.aval(views.root(v)).bytes() > CACHED { FAR } else { 1 };
    let mut read: HashSet<Value> = HashSet::new();
    let mut time: usize = 0;
    for node in graph.nodes().iter().filter(|node| !node.results.first().is_some_and(|&v| views.is_view(v))) {
        for &v in &node.operands {
            if !node.op.reads_transposed() && read.insert(v) && strided(v) {
                time += size(v) * far(v);
            }
        }
    }
    time + graph.outputs().iter().filter(|&&v| strided(v)).map(|&v| COPY * size(v)).sum::<usize>()
}
