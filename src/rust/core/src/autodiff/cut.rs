//! Graphs cut into two: what one part computes, and what the other reads of it.

use crate::error::{Error, Result};
use crate::graph::{Def, Value};
use crate::growth::table;
use crate::ops::{Builder, Graph};
use std::collections::HashMap;

/// A subgraph from given values to wanted ones. It computes others too that are wanted for the effects of
/// their nodes.
pub(super) fn part(graph: &Graph, given: &[Value], wanted: &[Value], effects: &[Value]) -> Result<Graph> {
    let mut b = Builder::default();
    let mut made: HashMap<Value, Value> = HashMap::new();
    for &v in given {
        let input = b.input(graph.aval(v).clone());
        made.insert(v, input);
    }
    let mut needed = table(false, graph.values().count());
    let mut stack: Vec<Value> = wanted.iter().chain(effects).copied().collect();
    while let Some(v) = stack.pop() {
        if !made.contains_key(&v) && !std::mem::replace(&mut needed[v.index()], true) {
            if let Def::Result(node, _) = graph.def(v) {
                stack.extend(&graph.nodes()[node].operands);
            }
        }
    }
    for v in graph.values().filter(|v| needed[v.index()]) {
        let copied = match graph.def(v) {
            Def::Literal(literal) => b.literal(literal, graph.aval(v).ambiguous),
            Def::Result(node, i) => {
                let node = &graph.nodes()[node];
                let operands: Vec<Value> = node.operands.iter().map(|v| made[v]).collect();
                b.node(node.op.clone(), &operands)?[i]
            }
            Def::Input(_) | Def::Constant(_) => {
                let detail = "a part of a graph needs more than it is given".into();
                return Err(Error::Internal { detail });
            }
        };
        made.insert(v, copied);
    }
    Ok(b.finish(wanted.iter().map(|v| made[v]).collect()))
}

/// The nodes of a graph that have an effect, each by its first result.
pub(super) fn effects(graph: &Graph) -> Vec<Value> {
    graph
        .nodes()
        .iter()
        .filter(|node| node.op.has_effect())
        .flat_map(|node| node.results.first())
        .copied()
        .collect()
}

/// [`effects`] before the value of this number, and those from it on.
pub(super) fn effects_around(graph: &Graph, mark: usize) -> (Vec<Value>, Vec<Value>) {
    effects(graph).into_iter().partition(|v| v.index() < mark)
}

/// The values of one part that the other one, which makes `results`, reads; `own` says which values belong to
/// the first. The result of an op that only moves elements is recomputed at no cost, and its operand is not
/// larger: so that is read in its place.
pub(super) fn read(graph: &Graph, results: &[Value], own: impl Fn(Value) -> bool) -> Vec<Value> {
    // The walk goes back from the results: rules may have made nodes that nothing uses.
    let (mut stack, mut seen, mut kept) = (results.to_vec(), table(false, graph.values().count()), vec![]);
    while let Some(v) = stack.pop() {
        if std::mem::replace(&mut seen[v.index()], true) {
            continue;
        }
        match graph.def(v) {
            Def::Result(node, _) => {
                let node = &graph.nodes()[node];
                if own(v) && !node.op.moves_only() {
                    kept.push(v);
                } else {
                    stack.extend(&node.operands);
                }
            }
            Def::Input(_) if own(v) => kept.push(v),
            Def::Input(_) | Def::Literal(_) | Def::Constant(_) => {}
        }
    }
    kept.sort();
    kept
}

/// For each value of a graph, whether it is computed from one of these.
pub(super) fn computed_from(graph: &Graph, values: &[Value]) -> Vec<bool> {
    let mut marks = table(false, graph.values().count());
    values.iter().for_each(|v| marks[v.index()] = true);
    for node in graph.nodes() {
        if node.operands.iter().any(|v| marks[v.index()]) {
            node.results.iter().for_each(|v| marks[v.index()] = true);
        }
    }
    marks
}
