//! Elementwise ops on concatenations and pads are computed part by part: what is joined along the last axis is
//! joined after them, where parts are computed in the place of the whole, which costs no step. So no value is
//! in memory only because it is longer than what it is made of. Only the engine runs this pass.

use super::pieces::{pieces, MAX_PIECES};
use super::rebuilt;
use super::transposes::is_elementwise;
use crate::error::Result;
use crate::graph::{Node, Value, NODE};
use crate::growth::table;
use crate::ops::{Builder, Concatenate, Graph, Op, Pad, StaticSlice};
use crate::shape::{Axis, Shape};
use crate::stop;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Elements from which a value is worth several steps for its pieces: a step of a few elements takes as long as
/// some hundreds do.
pub const LARGE: usize = 1 << 12;

/// Elements from which a value is worth as many steps for its pieces as join its parts: shorter ones are in the
/// registers of native loops.
const SMALL: usize = 1 << 8;

/// Nodes that are made of those of one shape, at most.
const MAX_NODES: usize = 512;

/// Rounds, at most: slices of what is cut may join parts anew.
const ROUNDS: usize = 3;

/// The graph with elementwise ops on parts, and without slices of what could be computed in pieces; `None` if
/// nothing changes. Values of so many elements as `large`, at least, are cut into several pieces, and shorter ones if
/// that takes no more steps than now.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub fn parts(graph: &Graph, large: usize) -> Result<Option<Graph>> {
    let mut best: Option<Graph> = None;
    for _ in 0..ROUNDS {
        let now = best.as_ref().unwrap_or(graph);
        let next = match cut(now, large)? {
            Some((graph, wanted)) => {
                let sizes = wanted.iter().map(|&v| graph.aval(v).shape.size());
                pieces(&graph, &wanted, sizes.fold(large, usize::min))?
            }
            None => None,
        };
        let Some(next) = next.map_or_else(|| pieces(now, &[], large), |next| Ok(Some(next)))? else { break };
        best = Some(next);
    }
    Ok(best)
}

/// The axis along which parts of a value are contiguous: the last of more than one element.
fn last_axis(shape: &Shape) -> Option<usize> {
    shape.iter().rposition(|&size| size > 1)
}

/// Where the parts of a concatenation or a pad end along the last axis; `None` if it is neither, or along another
/// axis.
fn ends(graph: &Graph, node: &Node<Op>) -> Option<Vec<usize>> {
    let shape = &graph.aval(*node.results.first()?).shape;
    let axis = last_axis(shape)?;
    if let Some(op) = node.op.get::<Concatenate>() {
        let sizes = node.operands.iter().map(|&v| graph.aval(v).shape[axis]);
        let ends = sizes.scan(0, |end, size| {
            *end += size;
            Some(*end)
        });
        return (op.axis == Axis(axis)).then(|| ends.collect());
    }
    let op = node.op.get::<Pad>()?;
    let other = |i: usize| i != axis && (op.low[i] != 0 || op.high[i] != 0);
    let plain = op.interior.iter().all(|&n| n == 0) && op.low[axis] >= 0 && op.high[axis] >= 0;
    let size = shape[axis];
    (plain && !(0..shape.rank()).any(other))
        .then(|| vec![op.low[axis] as usize, size - op.high[axis] as usize, size])
}

/// The graph with values of elementwise ops joined of their pieces, and these values.
fn cut(graph: &Graph, large: usize) -> Result<Option<(Graph, Vec<Value>)>> {
    if !graph.nodes().iter().any(|node| ends(graph, node).is_some()) {
        return Ok(None);
    }
    let count = graph.values().count();
    let mut is_output = table(false, count);
    graph.outputs().iter().for_each(|v| is_output[v.index()] = true);
    // Elementwise ops that read one another are of one component, named by a value.
    let mut names: Vec<usize> = (0..count).collect();
    let mut member = table(false, count);
    // Values that something reads that is no member, but for slices along the last axis.
    let (mut read, mut slices) = (table(false, count), vec![]);
    for node in graph.nodes() {
        stop::work(NODE);
        match node.results.as_slice() {
            &[result] if is_elementwise(graph, node) => {
                member[result.index()] = true;
                for v in node.operands.iter().filter(|v| linked(graph, **v)) {
                    let (a, b) = (name(&mut names, result.index()), name(&mut names, v.index()));
                    names[a] = b;
                }
            }
            _ => match range(graph, node) {
                Some(range) => slices.push((node.operands[0], node.results[0], range)),
                None => node.operands.iter().for_each(|v| read[v.index()] = true),
            },
        }
    }
    let mut components: BTreeMap<usize, Component> = BTreeMap::new();
    for node in graph.nodes() {
        let &[result] = node.results.as_slice() else { continue };
        let i = result.index();
        let size = graph.aval(result).shape.size();
        if size < large.min(SMALL) || !linked(graph, result) {
            continue;
        }
        let component = components.entry(name(&mut names, i)).or_default();
        component.is_large |= size >= large;
        if member[i] {
            component.nodes += 1;
            component.stored.extend(read[i].then_some(result));
            component.joined.extend((read[i] || is_output[i]).then_some(result));
        } else if let (Some(ends), false) = (ends(graph, node), read[i] || is_output[i]) {
            component.spared += 1;
            component.parts += if node.op.get::<Concatenate>().is_some() { node.operands.len() } else { 1 };
            component.ends.extend(ends.into_iter().filter(|&end| end > 0));
        }
    }
    // Slices of some of the parts, which need not be joined.
    let mut of_parts: BTreeSet<Value> = BTreeSet::new();
    for (v, slice, range) in slices.into_iter().filter(|(v, ..)| member[v.index()]) {
        let Some(component) = components.get_mut(&name(&mut names, v.index())) else { continue };
        let ends = |at: usize| at == 0 || component.ends.contains(&at);
        if ends(range.start) && ends(range.end) {
            of_parts.insert(slice);
        } else {
            component.stored.insert(v);
            component.joined.insert(v);
        }
    }
    let mut wanted: BTreeMap<Value, Vec<usize>> = BTreeMap::new();
    for Component { ends, joined, .. } in components.into_values().filter(Component::is_worth_it) {
        wanted.extend(joined.into_iter().map(|v| (v, ends.iter().copied().collect())));
    }
    if wanted.is_empty() {
        return Ok(None);
    }
    let reads_parts =
        |node: &Node<Op>| node.results.first().is_some_and(|v| member[v.index()] || of_parts.contains(v));
    joined(graph, &wanted, reads_parts).map(Some)
}

/// The elements that a slice takes along the last axis, if it takes all along the others.
fn range(graph: &Graph, node: &Node<Op>) -> Option<Range<usize>> {
    let (slice, shape) = (node.op.get::<StaticSlice>()?, &graph.aval(node.operands[0]).shape);
    let axis = last_axis(shape)?;
    let all = |i: usize| i == axis || slice.start[i] == 0 && slice.limit[i] == shape[i];
    let plain = slice.stride.iter().all(|&n| n == 1) && (0..shape.rank()).all(all);
    plain.then(|| slice.start[axis]..slice.limit[axis])
}

/// The graph with some results of nodes joined of their pieces, which end there, for all nodes that do not read
/// parts; and these values.
fn joined(
    graph: &Graph,
    wanted: &BTreeMap<Value, Vec<usize>>,
    reads_parts: impl Fn(&Node<Op>) -> bool,
) -> Result<(Graph, Vec<Value>)> {
    let mut values = vec![];
    // The value that was joined of its pieces, for each that nodes read now.
    let mut plain: FxHashMap<Value, Value> = FxHashMap::default();
    let graph = rebuilt(graph, |b, number, operands| {
        let node = &graph.nodes()[number];
        let mut operands = operands.to_vec();
        if reads_parts(node) {
            operands.iter_mut().for_each(|v| *v = plain.get(v).copied().unwrap_or(*v));
        }
        let mut made = b.node(node.op.clone(), &operands)?;
        for (value, old) in made.iter_mut().zip(&node.results) {
            if let Some(ends) = wanted.get(old) {
                let whole = join(b, *value, ends)?;
                values.push(*value);
                plain.insert(whole, *value);
                *value = whole;
            }
        }
        Ok(Some(made))
    })?;
    Ok((graph, values))
}

/// Elementwise ops that read one another, and the concatenations and pads that they read.
#[derive(Default)]
struct Component {
    /// Elementwise ops.
    nodes: usize,
    /// Where parts end.
    ends: BTreeSet<usize>,
    /// Whether its values are worth several steps.
    is_large: bool,
    /// Values that need not be in memory if it is cut.
    spared: usize,
    /// Steps that put these together.
    parts: usize,
    /// Values that must be, since other ops read them.
    stored: BTreeSet<Value>,
    /// Those, and outputs.
    joined: BTreeSet<Value>,
}

impl Component {
    fn is_worth_it(&self) -> bool {
        let few = self.ends.len() <= MAX_PIECES && self.ends.len() * self.nodes <= MAX_NODES;
        let pays = self.is_large || self.ends.len() <= self.parts;
        self.spared > self.stored.len() && few && pays && self.nodes > 0
    }
}

/// Whether a value is of a component.
fn linked(graph: &Graph, v: Value) -> bool {
    graph.made_by(v).is_some_and(|node| is_elementwise(graph, node) || ends(graph, node).is_some())
}

/// The name of a component, by that of a member.
fn name(names: &mut [usize], mut of: usize) -> usize {
    while names[of] != of {
        names[of] = names[names[of]];
        of = names[of];
    }
    of
}

/// A value joined of its pieces, which end there along the last axis.
fn join(b: &mut Builder, value: Value, ends: &[usize]) -> Result<Value> {
    let shape = b.graph().aval(value).shape.clone();
    let axis = last_axis(&shape).expect("what is joined has such an axis");
    let (mut at, mut pieces) = (0, vec![]);
    for &end in ends {
        pieces.push(b.node1(StaticSlice::along(&shape, Axis(axis), at..end), &[value])?);
        at = end;
    }
    b.node1(Concatenate { axis: Axis(axis) }, &pieces)
}
