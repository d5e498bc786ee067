//! Passes: functions from graph to graph that change no result; and [`accurate`], which makes results more
//! accurate, [`spectra`], which computes transforms on half of the numbers, [`diagonals`], which leaves out products with 0, and
//! [`packs`] of all ops.
//!
//! One walk does dead code elimination, constant folding of nodes on literals, the simplifications of ops
//! ([`OpDef::simplify`](crate::ops::OpDef::simplify)) and of branches and loops ([`regions`]), and, by way of
//! the builder, common subexpression elimination.

mod alias;
mod apart;
mod carries;
mod constant_part;
mod cuts;
mod diagonals;
mod firsts;
mod fission;
mod flat;
mod if_conversion;
mod mosaics;
mod narrow;
mod outer_products;
mod packs;
mod pads;
mod part_folds;
mod pieces;
mod planar;
mod regions;
mod reshapes;
mod rewrite;
mod rows;
mod segments;
mod slices;
mod spectra;
mod strips;
mod transposes;
mod views;

pub use alias::input_output_aliases;
pub(crate) use alias::Candidates;
pub use apart::apart;
pub use carries::carries;
pub use constant_part::{constant_part, Parts};
pub use cuts::{parts, LARGE};
pub use diagonals::diagonals;
pub use firsts::firsts;
pub use fission::fission;
pub use flat::flat;
pub use if_conversion::if_conversion;
pub use mosaics::mosaics;
pub use narrow::narrow;
pub use outer_products::outer_products;
pub use packs::{packs, Rounding};
pub use pads::pads;
pub use part_folds::{joins, part_folds};
pub use planar::planar;
pub use reshapes::reshapes;
pub use rewrite::{accurate, Stage};
pub use rows::rows;
pub use segments::segments;
pub use slices::{slices, SHORT};
pub use spectra::spectra;
pub use strips::{lanes, strips, Cuts, Lanes};
pub use transposes::{transposes, FOLDED};
pub use views::Views;

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{Def, Node, Value};
use crate::growth::table;
use crate::ops::contract::Simplified;
use crate::ops::create::{everywhere, on_literals, uniform};
use crate::ops::layout::Order;
use crate::ops::{Builder, Control, Convert, Custom, Graph, If, Op, Reshape, Scan, While};
use crate::shape::Shape;
use crate::tensor::{Aval, Literal};
use std::sync::Arc;

/// Simplifies a graph. Inputs and constants keep their numbers, used or not.
///
/// # Errors
/// [`crate::error::Error::Internal`] if a rewrite broke the graph; it would be a bug of the pass.
pub fn optimise(graph: &Graph) -> Result<Graph> {
    let mut graph = walk(graph)?;
    // A rewrite may leave a node without readers; the next walk drops it.
    while live_nodes(&graph).contains(&false) {
        graph = walk(&graph)?;
    }
    if cfg!(debug_assertions) {
        graph.verify()?;
        if has_custom(&graph) {
            return Err(Error::Internal {
                detail: format!("a derivative of its own is left in a program\n{graph}"),
            });
        }
    }
    Ok(graph)
}

/// Whether a graph, or a region in it, has a function with a derivative of its own, which executors do not
/// run.
fn has_custom(graph: &Graph) -> bool {
    let of =
        |op: &Op| op.get::<Custom>().is_some() || op.regions().iter().any(|(_, region)| has_custom(region));
    graph.nodes().iter().any(|node| of(&node.op))
}

/// One walk over the live nodes.
fn walk(graph: &Graph) -> Result<Graph> {
    let mut b = Builder::default();
    // All of them, in the order of their numbers.
    let inputs: Vec<Value> = graph.inputs().iter().map(|&v| b.input(graph.aval(v).clone())).collect();
    let constants: Vec<Value> =
        graph.constants().iter().map(|&v| b.constant(graph.aval(v).clone())).collect();
    let outputs = walk_into(&mut b, graph, &inputs, &constants)?;
    Ok(b.finish(outputs))
}

/// Adds the live nodes of a graph to another one, with these values for its inputs and constants; returns its
/// outputs. Functions with derivatives of their own are inlined, nested ones too: derivatives are taken
/// before passes run, so executors and the export see none.
fn walk_into(b: &mut Builder, graph: &Graph, inputs: &[Value], constants: &[Value]) -> Result<Vec<Value>> {
    let live = live_nodes(graph);
    let mut read = table(false, graph.values().count());
    graph.outputs().iter().for_each(|v| read[v.index()] = true);
    for (node, _) in graph.nodes().iter().zip(&live).filter(|(_, &live)| live) {
        node.operands.iter().for_each(|v| read[v.index()] = true);
    }
    let mut new: Vec<Option<Value>> = table(None, graph.values().count());
    for value in graph.values() {
        new[value.index()] = match graph.def(value) {
            Def::Input(i) => Some(inputs[i]),
            Def::Constant(i) => Some(constants[i]),
            Def::Literal(literal) => Some(b.literal(literal, graph.aval(value).ambiguous)),
            Def::Result(..) => None,
        };
    }
    for (node, _) in graph.nodes().iter().zip(&live).filter(|(_, &live)| live) {
        let operands: Vec<Value> =
            node.operands.iter().map(|v| new[v.index()].expect("operands are made before")).collect();
        let read: Vec<bool> = node.results.iter().map(|v| read[v.index()]).collect();
        if let Some(results) = regions::simplify(b, &node.op, &operands, &read)? {
            node.results.iter().zip(results).for_each(|(old, value)| new[old.index()] = value);
            continue;
        }
        if let Some(results) = rewrite(b, &node.op, &operands, &read)? {
            node.results.iter().zip(results).for_each(|(old, value)| new[old.index()] = value);
            continue;
        }
        let results = match node.op.get::<Custom>() {
            Some(op) => {
                let mut given = op.of_call(&operands);
                for (value, &input) in given.iter_mut().zip(op.call.inputs()) {
                    *value = flagged(b, *value, op.call.aval(input).ambiguous)?;
                }
                walk_into(b, &op.call, &given, &[])?
            }
            None => b.node(node.op.clone(), &operands)?,
        };
        for (old, value) in node.results.iter().zip(results) {
            new[old.index()] = Some(value);
        }
    }
    Ok(graph.outputs().iter().map(|v| new[v.index()].expect("outputs are live")).collect())
}

/// The graph with other values for the results of some nodes: `each` gives them for a node, by its number and
/// the values that its operands have become, or `None` to keep the node.
fn rebuilt(
    graph: &Graph,
    mut each: impl FnMut(&mut Builder, usize, &[Value]) -> Result<Option<Vec<Value>>>,
) -> Result<Graph> {
    rebuilt_from(graph, |b, number, new| {
        let operands: Vec<Value> = graph.nodes()[number].operands.iter().map(|v| new[v.index()]).collect();
        each(b, number, &operands)
    })
}

/// As [`rebuilt`], with what all earlier values have become.
fn rebuilt_from(
    graph: &Graph,
    mut each: impl FnMut(&mut Builder, usize, &[Value]) -> Result<Option<Vec<Value>>>,
) -> Result<Graph> {
    let mut b = Builder::default();
    let mut new: Vec<Value> = Vec::with_capacity(graph.values().count());
    let mut made = Vec::new();
    for value in graph.values() {
        let aval = graph.aval(value);
        new.push(match graph.def(value) {
            Def::Input(_) => b.input(aval.clone()),
            Def::Constant(_) => b.constant(aval.clone()),
            Def::Literal(literal) => b.literal(literal, aval.ambiguous),
            Def::Result(number, k) => {
                if k == 0 {
                    let node = &graph.nodes()[number];
                    made = match each(&mut b, number, &new)? {
                        Some(made) => made,
                        None => {
                            let operands: Vec<Value> = node.operands.iter().map(|v| new[v.index()]).collect();
                            b.node(node.op.clone(), &operands)?
                        }
                    };
                }
                made[k]
            }
        });
    }
    let outputs = graph.outputs().iter().map(|v| new[v.index()]).collect();
    Ok(b.finish(outputs))
}

/// The value with this ambiguity.
fn flagged(b: &mut Builder, value: Value, ambiguous: Option<DType>) -> Result<Value> {
    let aval = b.graph().aval(value);
    if aval.ambiguous == ambiguous {
        return Ok(value);
    }
    let to = Aval { ambiguous, ..aval.clone() }.ranked();
    b.node1(Convert { to }, &[value])
}

/// A value in another shape of the same size, in R's order.
fn reshape(b: &mut Builder, v: Value, shape: Shape) -> Result<Value> {
    match b.graph().aval(v).shape == shape {
        true => Ok(v),
        false => b.node1(Reshape { shape, order: Order::Column }, &[v]),
    }
}

/// A branch or a loop with other regions; `None` if it is none, or keeps them. What a region becomes is told of its graph,
/// of how many of its inputs, the first, it is given anew each time, and of the values outside that the rest are.
fn with_regions(
    node: &Node<Op>,
    mut each: impl FnMut(&Graph, usize, &[Value]) -> Result<Option<Graph>>,
) -> Result<Option<Op>> {
    let Some(control) = node.op.control() else { return Ok(None) };
    let (mut found, operands) = (false, &node.operands[..]);
    let mut region = |region: &Arc<Graph>, own: usize, outside: &[Value]| -> Result<Arc<Graph>> {
        let made = each(region, own, outside)?;
        found |= made.is_some();
        Ok(made.map_or(region.clone(), Arc::new))
    };
    let op: Op = match control {
        Control::If(op) => {
            let [yes, no] = &op.branches;
            let (one, other) = operands[1..].split_at(yes.inputs().len());
            If { branches: [region(yes, 0, one)?, region(no, 0, other)?] }.into()
        }
        Control::While(op) => {
            let (one, other) = operands[op.carried..].split_at(op.cond.inputs().len() - op.carried);
            let (cond, body) = (region(&op.cond, op.carried, one)?, region(&op.body, op.carried, other)?);
            While { cond, body, carried: op.carried, bound: op.bound }.into()
        }
        Control::Scan(op) => {
            let own = op.carried + op.sliced;
            let body = region(&op.body, own, &operands[own..])?;
            Scan { body, ..(*op).clone() }.into()
        }
        Control::Custom(_) => return Ok(None),
    };
    Ok(found.then_some(op))
}

/// The graph with other graphs in its branches and loops, which `each` gives, or `None` to keep one; `None` if all are kept.
fn within_regions(
    graph: &Graph,
    mut each: impl FnMut(&Graph) -> Result<Option<Graph>>,
) -> Result<Option<Graph>> {
    if !graph.nodes().iter().any(|node| node.op.control().is_some()) {
        return Ok(None);
    }
    let mut found = false;
    let made = rebuilt(graph, |b, number, operands| {
        let op = with_regions(&graph.nodes()[number], |region, _, _| each(region))?;
        found |= op.is_some();
        op.map(|op| b.node(op, operands)).transpose()
    })?;
    Ok(found.then_some(made))
}

/// How often each value is read, by nodes and as an output.
fn reads(graph: &Graph) -> Vec<usize> {
    let mut reads = table(0, graph.values().count());
    let read = graph.nodes().iter().flat_map(|node| &node.operands).chain(graph.outputs());
    read.for_each(|v| reads[v.index()] += 1);
    reads
}

fn live_nodes(graph: &Graph) -> Vec<bool> {
    live_nodes_by(graph, |number| &graph.nodes()[number].operands)
}

/// The nodes that are read, or have an effect, where nodes read these values, by the number of the node.
fn live_nodes_by<'a>(graph: &Graph, operands: impl Fn(usize) -> &'a [Value]) -> Vec<bool> {
    let mut live = table(false, graph.nodes().len());
    let mut wanted: Vec<Value> = graph.outputs().to_vec();
    wanted.extend(
        graph.nodes().iter().filter(|node| node.op.has_effect()).flat_map(|node| node.results.first()),
    );
    while let Some(value) = wanted.pop() {
        if let Def::Result(node, _) = graph.def(value) {
            if !std::mem::replace(&mut live[node], true) {
                wanted.extend(operands(node));
            }
        }
    }
    live
}

/// Cheaper values for the node's results, if there are any.
fn rewrite(b: &mut Builder, op: &Op, operands: &[Value], read: &[bool]) -> Result<Simplified> {
    match fold(b, op, operands)? {
        Some(folded) => Ok(Some(vec![Some(folded)])),
        None => op.simplify(b, operands, read),
    }
}

/// Computes a node whose operands are all literals, if its result is a scalar or an element's value everywhere.
fn fold(b: &mut Builder, op: &Op, operands: &[Value]) -> Result<Option<Value>> {
    if op.has_regions() || op.has_effect() {
        return Ok(None);
    }
    let literals: Option<Vec<Literal>> = operands.iter().map(|&v| uniform(b.graph(), v)).collect();
    let Some(literals) = literals.filter(|l| !l.is_empty()) else { return Ok(None) };
    let avals: Vec<Aval> = operands.iter().map(|&v| b.graph().aval(v).clone()).collect();
    let types = op.infer(&avals.iter().collect::<Vec<_>>())?;
    let [aval] = types.as_slice() else { return Ok(None) };
    let from: Vec<DType> = literals.iter().map(|literal| literal.dtype()).collect();
    let scalars = avals.iter().all(|aval| aval.shape.rank() == 0);
    if !(op.is_elementwise(&from) || scalars && aval.shape.rank() == 0) {
        return Ok(None);
    }
    let made = b.literal(on_literals(op, &literals, aval.dtype), aval.ambiguous);
    everywhere(b, made, aval.shape.clone()).map(Some)
}
