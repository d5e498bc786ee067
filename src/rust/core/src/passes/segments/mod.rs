//! Folds of each of many segments become one pass over the elements. R code takes one segment after the other,
//! `sapply(1:k, function(i) sum(x[g == i]))`, `tapply(x, g, function(z) sum((z - mean(z))^2))`: each fold reads all
//! elements, and leaves out those of the other segments. Where the folds of several segments are isomorphic, each element
//! is computed once, with what belongs to its own segment, and added to the fold of that.
//!
//! A *mask* is `g == i` with a number `i`; a fold is that of a segment if what it folds is the fold's identity wherever
//! the mask is false. With the mask as true, and what differs among segments (numbers, or what has not the axis of the
//! segments) looked up by segment, the folds of all segments are one scatter. Sums are added in another order.

mod masks;
mod stage;

use super::{flagged, optimise, within_regions};
use crate::error::Result;
use crate::graph::{Def, Value, NODE};
use crate::growth::table;
use crate::ops::layout::Order;
use crate::ops::{Builder, Compare, Graph, Op, Reshape, StaticSlice};
use crate::stop;
use crate::tensor::Aval;
use masks::Segments;
use rustc_hash::FxHashMap;
use stage::Stage;

/// Segments, at least: a scatter takes as long as about three folds.
const FEW: usize = 4;

/// The graph with one fold for all segments, also in branches and loops; `None` if there are no segments.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub fn segments(graph: &Graph) -> Result<Option<Graph>> {
    let mut best = within_regions(graph, segments)?;
    if may_have_segments(best.as_ref().unwrap_or(graph)) {
        let simple = optimise(best.as_ref().unwrap_or(graph))?;
        if let Some(joined) = joined(&simple)? {
            best = Some(optimise(&joined)?);
        }
    }
    Ok(best)
}

/// Whether a graph compares and folds often enough, in an order that may change.
fn may_have_segments(graph: &Graph) -> bool {
    let count = |is: fn(&Op) -> bool| graph.nodes().iter().filter(|node| is(&node.op)).take(FEW).count();
    count(|op| op.get() == Some(&Compare::eq)) == FEW
        && count(|op| op.fold().is_some()) == FEW
        && !graph.nodes().iter().any(|node| node.op.has_effect())
}

/// What is computed at a time: a node, or a stage.
#[derive(Clone, Copy)]
enum Step {
    Node(usize),
    Stage(usize),
}

/// The graph with stages in place of the folds of segments.
fn joined(graph: &Graph) -> Result<Option<Graph>> {
    let stages = Segments::of(graph).stages();
    let mut kept: Vec<usize> = (0..stages.len()).collect();
    let order = loop {
        if kept.is_empty() {
            return Ok(None);
        }
        match order(graph, &stages, &kept) {
            Ok(order) => break order,
            // Its folds are made of one another.
            Err(stage) => kept.retain(|&other| other != stage),
        }
    };
    let mut b = Builder::default();
    let mut new: Vec<Option<Value>> = table(None, graph.values().count());
    for value in graph.values() {
        let aval = graph.aval(value);
        new[value.index()] = match graph.def(value) {
            Def::Input(_) => Some(b.input(aval.clone())),
            Def::Constant(_) => Some(b.constant(aval.clone())),
            Def::Literal(literal) => Some(b.literal(literal, aval.ambiguous)),
            Def::Result(..) => None,
        };
    }
    for step in order {
        match step {
            Step::Node(number) => {
                let node = &graph.nodes()[number];
                let operands: Vec<Value> =
                    node.operands.iter().map(|v| new[v.index()].expect("operands are made before")).collect();
                let made = b.node(node.op.clone(), &operands)?;
                node.results.iter().zip(made).for_each(|(old, v)| new[old.index()] = Some(v));
            }
            Step::Stage(stage) => {
                let stage = &stages[stage];
                let all = stage.make(&mut b, &new)?;
                let shape = b.graph().aval(all).shape.clone();
                for (segment, &(number, _)) in &stage.members {
                    let result = graph.nodes()[number].results[0];
                    let at = (segment - stage.low()) as usize;
                    let one = b.node1(StaticSlice::along(&shape, stage.axis, at..at + 1), &[all])?;
                    let aval: &Aval = graph.aval(result);
                    let one = b.node1(Reshape { shape: aval.shape.clone(), order: Order::Column }, &[one])?;
                    new[result.index()] = Some(flagged(&mut b, one, aval.ambiguous)?);
                }
            }
        }
    }
    let outputs = graph.outputs().iter().map(|v| new[v.index()].expect("outputs are made")).collect();
    Ok(Some(b.finish(outputs)))
}

/// The live nodes and the stages, each after those that it needs; a stage that needs itself if there is one.
fn order(graph: &Graph, stages: &[Stage], kept: &[usize]) -> std::result::Result<Vec<Step>, usize> {
    let mut stage_of: FxHashMap<usize, usize> = FxHashMap::default();
    for &stage in kept {
        stage_of.extend(stages[stage].members.values().map(|&(number, _)| (number, stage)));
    }
    // Nodes first, then stages: 0 new, 1 begun, 2 done.
    let count = graph.nodes().len();
    let mut state = table(0u8, count + stages.len());
    let mut order = vec![];
    let step_of = |v: Value| match graph.def(v) {
        Def::Result(number, _) => Some(stage_of.get(&number).map_or(number, |stage| count + stage)),
        Def::Input(_) | Def::Constant(_) | Def::Literal(_) => None,
    };
    let mut left: Vec<usize> = graph.outputs().iter().rev().filter_map(|&v| step_of(v)).collect();
    while let Some(&step) = left.last() {
        stop::work(NODE);
        match state[step] {
            0 => {
                state[step] = 1;
                let needs = match step.checked_sub(count) {
                    Some(stage) => stages[stage].sources(),
                    None => graph.nodes()[step].operands.clone(),
                };
                for next in needs.into_iter().rev().filter_map(step_of) {
                    match state[next] {
                        0 => left.push(next),
                        1 => return Err(of_cycle(&left, &state, next, count)),
                        _ => {}
                    }
                }
            }
            begun => {
                left.pop();
                if begun == 1 {
                    state[step] = 2;
                    order.push(match step.checked_sub(count) {
                        Some(stage) => Step::Stage(stage),
                        None => Step::Node(step),
                    });
                }
            }
        }
    }
    Ok(order)
}

/// A stage among the steps that have begun since this one has.
fn of_cycle(left: &[usize], state: &[u8], from: usize, count: usize) -> usize {
    let begun = left.iter().rev().filter(|&&step| state[step] == 1);
    let mut stage = None;
    for &step in begun {
        stage = stage.or(step.checked_sub(count));
        if step == from {
            break;
        }
    }
    stage.expect("nodes alone have no cycle")
}
