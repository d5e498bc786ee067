//! Chains: values each of which is the one before with some elements replaced, added to, or appended.

use crate::graph::{Node, Value, NODE};
use crate::growth::table;
use crate::ops::contract::framed;
use crate::ops::create::uniform;
use crate::ops::{Binary, Graph, Op};
use crate::stop;
use crate::tensor::Literal;

/// Steps of a chain, at least.
pub(super) const FEW: usize = 3;

/// A sum with a pad is a step if what is padded is so small a share of it: of larger ones little is left.
const SHARE: usize = 4;

/// A value that is written, and the place of its first element.
pub(super) struct Write {
    /// See there.
    pub start: Vec<usize>,
    /// See there.
    pub value: Value,
}

/// What a step does with what it writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// It replaces elements.
    Replace,
    /// It adds to elements, and zero to all others; the value before is the operand with this number.
    Add(usize),
    /// It appends elements.
    Grow,
}

/// A node that makes the next value of a chain.
pub(super) struct Step {
    /// Its number.
    pub node: usize,
    /// See there.
    pub kind: Kind,
    /// What is written.
    pub writes: Vec<Write>,
}

/// A chain. The value number 0 is the first, the number `k` is what step `k - 1` makes.
pub(super) struct Chain {
    /// The first value.
    pub base: Value,
    /// See there.
    pub steps: Vec<Step>,
}

impl Chain {
    /// The value with this number.
    pub(super) fn value(&self, graph: &Graph, version: usize) -> Value {
        match version.checked_sub(1) {
            Some(step) => graph.nodes()[self.steps[step].node].results[0],
            None => self.base,
        }
    }
}

/// The chains of a graph, and for each value the chain and the number that it has there.
pub(super) fn chains(graph: &Graph) -> (Vec<Chain>, Vec<Option<(usize, usize)>>) {
    let mut chains: Vec<Chain> = vec![];
    let mut places: Vec<Option<(usize, usize)>> = table(None, graph.values().count());
    for (number, node) in graph.nodes().iter().enumerate() {
        stop::work(NODE);
        let Some((prev, kind, writes)) = step(graph, node, &places) else { continue };
        // What has no elements is written nowhere, and its place may be beyond the value.
        if writes.iter().any(|write| graph.aval(write.value).shape.size() == 0) {
            continue;
        }
        // A value that is updated twice goes on in the chain of the first update, and begins one with the second.
        let last = places[prev.index()].filter(|&(chain, version)| chains[chain].steps.len() == version);
        let chain = last.map_or(chains.len(), |(chain, _)| chain);
        if chain == chains.len() {
            chains.push(Chain { base: prev, steps: vec![] });
        }
        chains[chain].steps.push(Step { node: number, kind, writes });
        places[node.results[0].index()] = Some((chain, chains[chain].steps.len()));
    }
    for place in &mut places {
        *place = place.filter(|&(chain, _)| chains[chain].steps.len() >= FEW);
    }
    (chains, places)
}

/// The value before, and what a node does to it, if it may be of a chain.
fn step(
    graph: &Graph,
    node: &Node<Op>,
    places: &[Option<(usize, usize)>],
) -> Option<(Value, Kind, Vec<Write>)> {
    let shape = |v: Value| &graph.aval(v).shape;
    let &[result] = node.results.as_slice() else { return None };
    if shape(result).size() == 0 || node.op.may_raise() {
        return None;
    }
    if node.op.updates() {
        let framed = framed(graph, node)?;
        let (prev, value) = (node.operands[framed.around], node.operands[framed.inside]);
        let fits = shape(prev) == shape(result) && shape(value).rank() == framed.start.len();
        return fits.then(|| (prev, Kind::Replace, vec![Write { start: framed.start, value }]));
    }
    if let Some(axis) = node.op.joined() {
        let (&prev, rest) = node.operands.split_first()?;
        let mut start = vec![0; shape(result).rank()];
        let mut writes = vec![];
        start[axis.0] = shape(prev)[axis.0];
        for &value in rest {
            writes.push(Write { start: start.clone(), value });
            start[axis.0] += shape(value)[axis.0];
        }
        return (!writes.is_empty() && shape(prev).size() > 0).then_some((prev, Kind::Grow, writes));
    }
    let &Binary::add = node.op.get::<Binary>()? else { return None };
    // Of two pads the second is added to the first.
    let before = |&i: &usize| places[node.operands[i].index()].is_some();
    let mut order = [0, 1].into_iter().filter(before).chain([0, 1]);
    order.find_map(|i| {
        let (prev, padded) = (node.operands[i], node.operands[1 - i]);
        let write = padding(graph, padded)?;
        let small = shape(write.value).size() * SHARE <= shape(result).size();
        (small && shape(prev) == shape(result)).then(|| (prev, Kind::Add(i), vec![write]))
    })
}

/// Of a value that is padded by zeros, that value and its place.
fn padding(graph: &Graph, v: Value) -> Option<Write> {
    let node = graph.made_by(v).filter(|node| !node.op.updates())?;
    let framed = framed(graph, node)?;
    let zero = Literal::new(0i32).convert(graph.aval(v).dtype);
    let is_zero = uniform(graph, node.operands[framed.around]) == Some(zero);
    is_zero.then(|| Write { start: framed.start, value: node.operands[framed.inside] })
}
