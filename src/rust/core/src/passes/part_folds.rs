//! Folds of values that are put together of parts, along the axis of these: `rowSums(cbind(x, y))`, and `sum(c(x, y))` of
//! each of many examples. The parts are folded one by one, so that nothing is put together only to be folded. Only the
//! engine runs this pass: graphs that are shown or exported keep what was written.

use super::pieces::{apart, MAX_PIECES};
use super::{flagged, optimise, rebuilt_from, with_regions};
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{Node, Value, NODE};
use crate::growth::table;
use crate::kernels::reductions::fold::Fold;
use crate::kernels::reductions::partials::LANES;
use crate::ops::layout::Order;
use crate::ops::{Binary, Builder, Concatenate, Convert, Graph, Op, Reshape, StaticSlice};
use crate::shape::Axis;
use crate::stop;
use crate::tensor::Aval;
use std::collections::BTreeMap;

/// The graph with folds of parts, also in branches and loops; `None` if there are none.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub fn part_folds(graph: &Graph) -> Result<Option<Graph>> {
    let found = found(graph);
    if found.is_empty() && !graph.nodes().iter().any(|node| node.op.control().is_some()) {
        return Ok(None);
    }
    let mut changed = !found.is_empty();
    let made = rebuilt_from(graph, |b, number, new| {
        let node = &graph.nodes()[number];
        if let Some(&(axis, by)) = found.get(&number) {
            let made = folded(b, new[node.operands[0].index()], (axis, by), graph.aval(node.results[0]))?;
            return Ok(Some(vec![made]));
        }
        let Some(op) = with_regions(node, |region, _, _| part_folds(region))? else { return Ok(None) };
        changed = true;
        b.node(op, &node.operands.iter().map(|v| new[v.index()]).collect::<Vec<_>>()).map(Some)
    })?;
    if changed {
        optimise(&made).map(Some)
    } else {
        Ok(None)
    }
}

/// The folds of parts of values of which only parts are read: their axis, and what joins two elements, by the number of the
/// node.
fn found(graph: &Graph) -> BTreeMap<usize, (Axis, Binary)> {
    let mut found = BTreeMap::new();
    if !graph.nodes().iter().any(|node| node.op.get::<Concatenate>().is_some()) {
        return found;
    }
    let apart = apart(graph, |_| None);
    let mut whole = table(false, graph.values().count());
    graph.outputs().iter().for_each(|v| whole[v.index()] = true);
    for (number, node) in graph.nodes().iter().enumerate().rev() {
        stop::work(NODE);
        for &v in &node.operands {
            let Some(axis) = apart[v.index()] else { continue };
            let fold = fold(graph, node, axis);
            let goes_on = |result: &Value| apart[result.index()] == Some(axis) && !whole[result.index()];
            if let Some(by) = fold {
                found.insert(number, (axis, by));
            } else if !takes_parts(&node.op, graph.aval(v), axis) && !node.results.iter().all(goes_on) {
                whole[v.index()] = true;
            }
        }
    }
    found.retain(|&number, _| !whole[graph.nodes()[number].operands[0].index()]);
    found
}

/// Whether an op is a slice that takes some of the parts, all of each.
fn takes_parts(op: &Op, aval: &Aval, axis: Axis) -> bool {
    let Some(op) = op.get::<StaticSlice>() else { return false };
    let all = |i: usize| op.start[i] == 0 && op.limit[i] == aval.shape[i];
    op.stride.iter().all(|&n| n == 1) && (0..aval.shape.rank()).all(|i| i == axis.0 || all(i))
}

/// What joins two parts, if the node is the fold along this axis of several parts of several elements.
pub(super) fn fold(graph: &Graph, node: &Node<Op>, axis: Axis) -> Option<Binary> {
    let (fold, axes) = node.op.fold().filter(|(_, axes)| **axes == [axis])?;
    let aval = graph.aval(node.operands[0]);
    let is_number = matches!(aval.dtype, DType::F32 | DType::F64 | DType::I32 | DType::I64);
    let by = match fold {
        Fold::Sum if is_number => Binary::add,
        Fold::Prod if is_number => Binary::mul,
        Fold::Max if is_number => Binary::max,
        Fold::Min if is_number => Binary::min,
        Fold::Any => Binary::or,
        Fold::All => Binary::and,
        _ => return None,
    };
    let parts = aval.shape[axes[0].0];
    ((2..=MAX_PIECES).contains(&parts) && aval.shape.size() > parts).then_some(by)
}

/// The joins of so many terms to their fold, in the order of [`Reduce`](crate::kernels::reductions::fold::Reduce), each by the
/// number of the term that becomes both and of the other one; all become the first. Terms are joined in lanes, of which the
/// later half is joined with the earlier until one is left.
pub fn joins(terms: usize) -> impl Iterator<Item = (usize, usize)> {
    let along = (LANES..terms).map(|i| (i % LANES, i));
    let halves = [LANES / 2, LANES / 4, LANES / 8].into_iter();
    let across = halves.flat_map(|half| (0..half).map(move |lane| (lane, lane + half)));
    along.chain(across.filter(move |&(_, other)| other < terms))
}

/// The fold of the parts of a value along an axis, of which there are some, as a value like `to`. Floats are added and
/// multiplied in double precision.
pub(super) fn folded(b: &mut Builder, x: Value, (axis, by): (Axis, Binary), to: &Aval) -> Result<Value> {
    let from = b.graph().aval(x).clone();
    let widens = from.dtype == DType::F32 && matches!(by, Binary::add | Binary::mul);
    let mut parts = vec![];
    for i in 0..from.shape[axis.0] {
        let mut part = b.node1(StaticSlice::along(&from.shape, axis, i..i + 1), &[x])?;
        if widens {
            let to = Aval::known(DType::F64, b.graph().aval(part).shape.clone()).ranked();
            part = b.node1(Convert { to }, &[part])?;
        }
        parts.push(part);
    }
    for (one, other) in joins(parts.len()) {
        parts[one] = b.node1(by, &[parts[one], parts[other]])?;
    }
    let made = match widens {
        true => b.node1(Convert { to: from.ranked() }, &parts[..1])?,
        false => parts[0],
    };
    let made = b.node1(Reshape { shape: to.shape.clone(), order: Order::Column }, &[made])?;
    flagged(b, made, to.ambiguous)
}
