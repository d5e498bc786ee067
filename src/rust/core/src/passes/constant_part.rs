//! What a program computes of captured tensors alone, which are the same in each run: a program of its own, run once.

use crate::error::Result;
use crate::graph::{Def, Node, Value};
use crate::growth::table;
use crate::ops::{Builder, Graph, Op};

/// Bytes of results that are kept, at most, unless the captured tensors have as many.
const KEPT: usize = 1 << 20;

/// A program in two parts.
pub struct Parts {
    /// From the captured tensors, which are its inputs, to values that the other part reads.
    pub first: Graph,
    /// The rest, to which these values are captured tensors, too: they follow the others.
    pub rest: Graph,
}

/// The two parts; `None` if nothing is computed of captured tensors alone.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub fn constant_part(graph: &Graph) -> Result<Option<Parts>> {
    if graph.constants().is_empty() {
        return Ok(None);
    }
    let given: usize = graph.constants().iter().map(|&v| graph.aval(v).bytes()).sum();
    let most = KEPT.max(2 * given);
    let known = known(graph, most);
    let kept = kept(graph, &known);
    let bytes: usize = kept.iter().map(|&v| graph.aval(v).bytes()).sum();
    if kept.is_empty() || bytes > most {
        return Ok(None);
    }
    let mut b = Builder::default();
    let mut new: Vec<Option<Value>> = table(None, graph.values().count());
    for &v in graph.constants() {
        new[v.index()] = Some(b.input(graph.aval(v).clone()));
    }
    copy(graph, &mut b, &mut new, |v| known[v.index()])?;
    let outputs = kept.iter().map(|v| new[v.index()].expect("it is known")).collect();
    let first = b.finish(outputs);
    let mut b = Builder::default();
    let mut new: Vec<Option<Value>> = table(None, graph.values().count());
    for &v in graph.inputs() {
        new[v.index()] = Some(b.input(graph.aval(v).clone()));
    }
    for &v in graph.constants().iter().chain(&kept) {
        new[v.index()] = Some(b.constant(graph.aval(v).clone()));
    }
    copy(graph, &mut b, &mut new, |_| true)?;
    let outputs = graph.outputs().iter().map(|v| new[v.index()].expect("all are made")).collect();
    Ok(Some(Parts { first, rest: super::optimise(&b.finish(outputs))? }))
}

/// Copies the nodes whose results are wanted and not there yet.
fn copy(
    graph: &Graph,
    b: &mut Builder,
    new: &mut [Option<Value>],
    wanted: impl Fn(Value) -> bool,
) -> Result<()> {
    for v in graph.values() {
        if let Def::Literal(literal) = graph.def(v) {
            new[v.index()] = Some(b.literal(literal, graph.aval(v).ambiguous));
        }
    }
    for node in graph.nodes() {
        if !wanted(node.results[0]) || node.results.iter().all(|v| new[v.index()].is_some()) {
            continue;
        }
        let operands: Option<Vec<Value>> = node.operands.iter().map(|v| new[v.index()]).collect();
        let made = b.node(node.op.clone(), &operands.expect("operands are made before"))?;
        node.results.iter().zip(made).for_each(|(old, made)| new[old.index()] = Some(made));
    }
    Ok(())
}

/// Whether each value is computed of captured tensors and literals alone, without an effect or an error, and has at most
/// so many bytes. What only literals make is cheap to make again.
fn known(graph: &Graph, most: usize) -> Vec<bool> {
    let mut known = table(false, graph.values().count());
    graph.constants().iter().for_each(|v| known[v.index()] = true);
    let is_literal = |v: &Value| matches!(graph.def(*v), Def::Literal(_));
    let fits = |node: &Node<Op>| node.results.iter().all(|&v| graph.aval(v).bytes() <= most);
    // The caller knows outputs by the captured tensors that they are.
    let is_output = |node: &Node<Op>| node.results.iter().any(|v| graph.outputs().contains(v));
    for node in graph.nodes() {
        let of_known = node.operands.iter().all(|v| known[v.index()] || is_literal(v));
        let is_fixed = of_known && node.operands.iter().any(|v| known[v.index()]);
        if is_fixed && fits(node) && !is_output(node) && !node.op.has_effect() && !node.op.may_raise() {
            node.results.iter().for_each(|v| known[v.index()] = true);
        }
    }
    known
}

/// The known values that what is not known reads, and that take time to make: those that only move elements of others are
/// made again.
fn kept(graph: &Graph, known: &[bool]) -> Vec<Value> {
    let mut read = table(false, graph.values().count());
    let mut kept = vec![];
    for node in graph.nodes().iter().rev() {
        let is_known = known[node.results[0].index()];
        let is_read = node.results.iter().any(|v| read[v.index()]);
        if is_known && is_read && !node.op.rearranges() {
            kept.extend(node.results.iter().copied().filter(|v| read[v.index()]));
        }
        if !is_known || is_read && node.op.rearranges() {
            node.operands.iter().filter(|v| known[v.index()]).for_each(|v| read[v.index()] = true);
        }
    }
    kept.sort_by_key(|v| v.index());
    kept
}
