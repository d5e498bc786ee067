//! Folds over axes in the middle become folds over the last ones, where what they fold is made in that order instead: a
//! group folds what it computes over its last axes without storing it. A line is folded in the same order whichever axis
//! it lies along.

use super::{gathered, is_elementwise, turn, turned, FOLDED};
use crate::error::Result;
use crate::graph::Node;
use crate::kernels::reductions::fold::Fold;
use crate::ops::layout::Order;
use crate::ops::{Graph, Op, Reduction, Reshape, Transpose};
use crate::passes::{optimise, reads, rebuilt};
use crate::shape::Axis;

/// Elements before the first axis that is folded, at least: these stay side by side, so that values are read in runs.
const RUN: usize = 16;

/// The graph with folds over the last axes instead; `None` if there are none, or what they read would be transposed for
/// that.
///
/// # Errors
/// Those of [`Builder::node`](crate::ops::Builder); one would be a bug of the pass.
pub(super) fn middle(graph: &Graph) -> Result<Option<Graph>> {
    let reads = reads(graph);
    let orders: Vec<Option<Vec<Axis>>> = graph
        .nodes()
        .iter()
        .map(|node| order(graph, node).filter(|_| reads[node.operands[0].index()] == 1))
        .collect();
    if orders.iter().all(Option::is_none) {
        return Ok(None);
    }
    let transposed = rebuilt(graph, |b, number, operands| {
        let node = &graph.nodes()[number];
        let (Some(permutation), Some(op)) = (orders[number].clone(), node.op.get::<Reduction>()) else {
            return Ok(None);
        };
        let rank = permutation.len();
        let axes = (rank - op.axes.len()..rank).map(Axis).collect();
        let x = b.node1(Transpose { permutation }, operands)?;
        let made = b.node1(Reduction { fold: op.fold, axes, drop: true }, &[x])?;
        let shape = graph.aval(node.results[0]).shape.clone();
        Ok(Some(vec![b.node1(Reshape { shape, order: Order::Column }, &[made])?]))
    })?;
    let turned = turned(&transposed);
    let made = rebuilt(&transposed, |b, number, operands| turn(b, &transposed, number, operands, &turned))?;
    let made = optimise(&made)?;
    Ok((gathered(&made) <= gathered(graph) && stored(&made) <= stored(graph)).then_some(made))
}

/// The order of the axes in which those that are folded are the last ones, if some are in the middle, and an elementwise op
/// makes so many elements in long runs.
fn order(graph: &Graph, node: &Node<Op>) -> Option<Vec<Axis>> {
    let op = node.op.get::<Reduction>().filter(|op| op.fold != Fold::Squares)?;
    let shape = &graph.aval(node.operands[0]).shape;
    let rank = shape.rank();
    let run: usize =
        (0..rank).map(Axis).take_while(|axis| !op.axes.contains(axis)).map(|a| shape[a.0]).product();
    let (folded, mut order): (Vec<Axis>, Vec<Axis>) = (0..rank).map(Axis).partition(|a| op.axes.contains(a));
    let is_moved = folded.first().is_some_and(|first| first.0 < order.len());
    order.extend(folded);
    let is_made = graph.made_by(node.operands[0]).is_some_and(|x| is_elementwise(graph, x));
    (is_moved && is_made && run >= RUN && shape.size() >= FOLDED).then_some(order)
}

/// Transposes of what elementwise ops make, which are stored first.
fn stored(graph: &Graph) -> usize {
    let is_made = |v| graph.made_by(v).is_some_and(|node| is_elementwise(graph, node));
    let is_stored = |node: &&Node<Op>| node.op.get::<Transpose>().is_some() && is_made(node.operands[0]);
    graph.nodes().iter().filter(is_stored).count()
}
