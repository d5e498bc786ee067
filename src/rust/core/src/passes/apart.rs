//! Sums of pads that lie apart become what is padded, joined: gradients of the slices of a value are such a sum, of as
//! many values of its size as there are slices. Only the engine runs this pass: graphs that are shown or exported keep
//! their pads.

use super::{flagged, optimise, reads, rebuilt_from};
use crate::error::Result;
use crate::graph::{Value, NODE};
use crate::growth::table;
use crate::ops::create::{everywhere, uniform};
use crate::ops::{Binary, Builder, Concatenate, Graph, Pad};
use crate::shape::{Axis, Shape};
use crate::stop;
use crate::tensor::{Aval, Literal};
use std::collections::BTreeMap;

/// Pads of a sum, at least: of fewer, the sum is as fast.
const FEW: usize = 3;

/// The pads of a sum, which lie apart along an axis, by their places there, and another value that is added.
struct Apart {
    axis: Axis,
    parts: Vec<(usize, Value)>,
    other: Option<Value>,
}

/// The graph with what is padded joined in place of sums of pads; `None` if there are no such.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub fn apart(graph: &Graph) -> Result<Option<Graph>> {
    if graph.nodes().iter().filter(|node| node.op.get::<Pad>().is_some()).nth(FEW - 1).is_none() {
        return Ok(None);
    }
    let reads = reads(graph);
    let is_sum = |v: Value| graph.made_by(v).is_some_and(|node| node.op.get() == Some(&Binary::add));
    // Sums that are only terms of another one.
    let mut inner = table(false, graph.values().count());
    for node in graph.nodes().iter().filter(|node| node.op.get() == Some(&Binary::add)) {
        for v in node.operands.iter().filter(|&&v| is_sum(v) && reads[v.index()] == 1) {
            inner[v.index()] = true;
        }
    }
    let mut found: BTreeMap<usize, Apart> = BTreeMap::new();
    for (number, node) in graph.nodes().iter().enumerate() {
        stop::work(NODE);
        let root = node.results[0];
        if !is_sum(root) || inner[root.index()] {
            continue;
        }
        let (mut terms, mut left) = (vec![], vec![root]);
        while let Some(v) = left.pop() {
            match graph.made_by(v).filter(|_| v == root || inner[v.index()]) {
                Some(sum) => left.extend(&sum.operands),
                None => terms.push(v),
            }
        }
        found.extend(lie_apart(graph, &terms).map(|apart| (number, apart)));
    }
    if found.is_empty() {
        return Ok(None);
    }
    let made = rebuilt_from(graph, |b, number, new| {
        let Some(sum) = found.get(&number) else { return Ok(None) };
        joined(b, graph.aval(graph.nodes()[number].results[0]), sum, new).map(|v| Some(vec![v]))
    })?;
    optimise(&made).map(Some)
}

/// The terms as pads that lie apart, if all but one at most are.
fn lie_apart(graph: &Graph, terms: &[Value]) -> Option<Apart> {
    if terms.len() < FEW {
        return None;
    }
    let (mut axis, mut parts, mut other) = (None, vec![], None);
    for &v in terms {
        match place(graph, v) {
            Some((along, start, part)) if *axis.get_or_insert(along) == along => parts.push((start, part)),
            _ => {
                if other.replace(v).is_some() {
                    return None;
                }
            }
        }
    }
    let axis = axis.filter(|_| parts.len() >= FEW)?;
    parts.sort_by_key(|&(start, _)| start);
    let ends = parts.iter().map(|&(start, v)| start + graph.aval(v).shape[axis.0]);
    let is_apart = ends.zip(&parts[1..]).all(|(end, &(next, _))| end <= next);
    is_apart.then_some(Apart { axis, parts, other })
}

/// Of a value padded by zeros along one axis: the axis, the place there, and the value.
fn place(graph: &Graph, v: Value) -> Option<(Axis, usize, Value)> {
    let node = graph.made_by(v)?;
    let pad = node.op.get::<Pad>()?;
    let zero = Literal::new(0i32).convert(graph.aval(v).dtype);
    let is_plain = pad.interior.iter().all(|&n| n == 0) && pad.low.iter().chain(&pad.high).all(|&n| n >= 0);
    if !is_plain || uniform(graph, node.operands[1]) != Some(zero) {
        return None;
    }
    let mut padded = (0..pad.low.len()).filter(|&i| pad.low[i] != 0 || pad.high[i] != 0);
    let axis = padded.next().filter(|_| padded.next().is_none())?;
    Some((Axis(axis), pad.low[axis] as usize, node.operands[0]))
}

/// The sum, which is of this type.
fn joined(b: &mut Builder, aval: &Aval, sum: &Apart, new: &[Value]) -> Result<Value> {
    let (axis, shape) = (sum.axis, &aval.shape);
    let zero = b.literal(Literal::new(0i32).convert(aval.dtype), aval.ambiguous);
    let zeros = |b: &mut Builder, shape: Shape| everywhere(b, zero, shape);
    let (mut parts, mut end) = (vec![], 0);
    for &(start, v) in &sum.parts {
        let v = new[v.index()];
        if start > end {
            parts.push(zeros(b, shape.strip(axis, start - end))?);
        }
        end = start + b.graph().aval(v).shape[axis.0];
        parts.push(v);
    }
    if end < shape[axis.0] {
        parts.push(zeros(b, shape.strip(axis, shape[axis.0] - end))?);
    }
    let all = b.node1(Concatenate { axis }, &parts)?;
    // The zeros of the other pads make 0 of -0.
    let zeros = zeros(b, shape.clone())?;
    let mut made = b.node1(Binary::add, &[all, zeros])?;
    if let Some(other) = sum.other {
        made = b.node1(Binary::add, &[made, new[other.index()]])?;
    }
    flagged(b, made, aval.ambiguous)
}
