//! What is written once for each row, column or element, and then joined, is computed on the whole: isomorphic
//! elementwise ops on slices that lie side by side become one op on the value that they are slices of. So
//! `sapply(1:n, function(j) exp(x[, j]))` is `exp(x)`, and so are its gradient, a sum of pads, and a loop in R that
//! assigns one column after the other.
//!
//! A *pack* are as many isomorphic values as are joined (Larsen and Amarasinghe, Exploiting superword level parallelism
//! with multimedia instruction sets, 2000); what is joined is a *seed* ([`seeds`]). From there packs of operands are
//! followed up to slices, to values that all have in common, and to numbers ([`values`]). An op on packs is the op's
//! rule for a batch, so a packed value has one axis more, the last.
//!
//! The engine packs elementwise ops and moves, of which no bit changes. What folds or multiplies may add in another order
//! as a pack, so it is packed only where whoever compiles a program asks for it ([`Rounding::Any`]): then
//! `apply(x, 1, function(row) sum(w * row))` is a product, and terms of a sum are a seed too ([`sums`]), as
//! `for (i in 1:n) s <- s + f(x[i, ])` writes them, and gradients with respect to what all rows have in common.

mod forms;
mod seeds;
mod sums;
mod values;

use super::{optimise, rebuilt_from, within_regions};
use crate::error::Result;
use crate::graph::{Def, Node, Value};
use crate::growth::table;
use crate::ops::{Builder, Concatenate, Graph, Op};
use crate::shape::Axis;
use forms::forms;
use rustc_hash::FxHashMap;
use seeds::{origins, seeds, Seed, Use};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use values::Packs;

/// Elements of what is joined, at least: fewer are numbers in registers.
const SIZE: usize = 64;

/// Rounds, at most: what has been packed may be part of a pack.
const ROUNDS: usize = 3;

/// Rounds in which seeds are dropped whose packs are read elsewhere, at most.
const DROPS: usize = 32;

/// How results may differ from those of what was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rounding {
    /// Not at all.
    Same,
    /// By the order in which numbers are added and multiplied.
    Any,
}

/// The graph with packs; `None` if there are none. With [`Rounding::Any`] also those in branches and loops, which are
/// compiled by themselves.
///
/// # Errors
/// Those of [`Builder::node`](crate::ops::Builder::node); one would be a bug of the pass.
pub fn packs(graph: &Graph, rounding: Rounding) -> Result<Option<Graph>> {
    let mut best = match rounding {
        Rounding::Same => None,
        Rounding::Any => within_regions(graph, |region| packs(region, Rounding::Any))?,
    };
    // As it was traced, it has what nothing reads, and formulas of which some are simple and others not.
    let traced = match rounding {
        Rounding::Any if may_have_packs(graph) => Some(optimise(best.as_ref().unwrap_or(graph))?),
        Rounding::Any => return Ok(best),
        Rounding::Same => None,
    };
    for round in 0..ROUNDS {
        let first = traced.as_ref().filter(|_| round == 0);
        let Some(next) = packed(first.or(best.as_ref()).unwrap_or(graph), rounding)? else { break };
        best = Some(optimise(&next)?);
    }
    Ok(best)
}

/// Whether a graph has as many equal ops as a pack has values.
fn may_have_packs(graph: &Graph) -> bool {
    let mut counts: FxHashMap<&'static str, usize> = FxHashMap::default();
    graph.nodes().iter().any(|node| {
        let count = counts.entry(node.op.row().name).or_default();
        *count += 1;
        *count >= seeds::PARTS
    })
}

/// The graph in which the packs of seeds are computed as a whole, once.
fn packed(graph: &Graph, rounding: Rounding) -> Result<Option<Graph>> {
    let readers = readers(graph);
    let origins = origins(graph);
    let mut packs = Packs::of(graph, &origins, rounding);
    let mut found: Vec<(Seed, usize)> = vec![];
    let forms = forms(graph, &origins);
    let mut all = seeds(graph, &readers, &origins, &forms);
    if rounding == Rounding::Any {
        sums::add_to(&mut all, graph, &readers, (&origins, &forms));
    }
    // What is followed is limited, and may go to those with few parts last.
    all.sort_by_key(|seed| Reverse(seed.parts.len()));
    for seed in all {
        let pack = packs.follow(seed.parts.clone());
        found.push((seed, pack));
    }
    let sound = packs.sound();
    found.retain(|(_, pack)| sound[*pack]);
    let pays: HashSet<usize> = found
        .iter()
        .filter(|(seed, pack)| packs.pays(*pack, seed.joined.size(), seed.is_folded()))
        .map(|(_, pack)| *pack)
        .collect();
    let worthwhile = packs.reached(pays.iter().copied());
    // What reads of the same packs comes along, however small it is: else they would be computed twice.
    let shared: HashSet<usize> = worthwhile.into_iter().filter(|&pack| packs.computes(pack)).collect();
    let shares = |pack: usize| packs.reached([pack].into_iter()).iter().any(|pack| shared.contains(pack));
    found.retain(|(_, pack)| pays.contains(pack) || shares(*pack));
    // Runs of what is joined as a whole are part of it.
    let whole: HashSet<usize> =
        found.iter().filter(|(seed, _)| !seed.is_run()).map(|(seed, _)| seed.number).collect();
    found.retain(|(seed, _)| !seed.is_run() || !whole.contains(&seed.number));
    for round in 0.. {
        let before = found.len();
        let covered = covered(graph, &packs, &found);
        let needed = needed(graph, &packs, &found);
        found.retain(|(_, pack)| {
            packs.are_read_by(*pack, &readers, &covered)
                && packs.members([*pack].into_iter()).all(|v| !needed[v.index()])
        });
        if found.len() == before {
            break;
        }
        if round == DROPS {
            return Ok(None);
        }
    }
    if found.is_empty() {
        return Ok(None);
    }
    let mut at: HashMap<usize, Vec<&(Seed, usize)>> = HashMap::new();
    found.iter().for_each(|found| at.entry(found.0.number).or_default().push(found));
    let mut made = HashMap::new();
    let graph = rebuilt_from(graph, |b, number, new| match at.get(&number) {
        Some(found) => {
            let mut wholes = vec![];
            for (seed, pack) in found {
                let whole = packs.make(b, *pack, new, &mut made)?;
                wholes.push((seed, seed.make(b, graph, whole, new)?));
            }
            if let [(Seed { to: Use::Run { axis, .. }, .. }, _), ..] = wholes[..] {
                return joined_runs(b, &graph.nodes()[number], *axis, &wholes, new).map(|v| Some(vec![v]));
            }
            Ok(Some(vec![wholes[0].1]))
        }
        None => match (origins[number], &graph.nodes()[number]) {
            // Nothing else may need the updates.
            (Some(origin), node) if origin != node.operands[0] => {
                b.node(node.op.clone(), &[new[origin.index()]]).map(Some)
            }
            _ => Ok(None),
        },
    })?;
    Ok(Some(graph))
}

/// Whether each value is made one by one whatever is packed: those that packs and seeds are made of, and what these are
/// made of.
fn needed(graph: &Graph, packs: &Packs, found: &[(Seed, usize)]) -> Vec<bool> {
    let roots: HashSet<usize> = found.iter().map(|(seed, _)| seed.number).collect();
    let mut needed = table(false, graph.values().count());
    let mut left = packs.sources(found.iter().map(|(_, pack)| *pack));
    // Operands of concatenations that are in no run.
    let mut alone: HashMap<usize, Vec<bool>> = HashMap::new();
    for (seed, _) in found {
        left.extend(seed.sources());
        if let Use::Run { from, .. } = seed.to {
            let count = graph.nodes()[seed.number].operands.len();
            let alone = alone.entry(seed.number).or_insert_with(|| vec![true; count]);
            alone[from..from + seed.parts.len()].fill(false);
        }
    }
    for (number, alone) in alone {
        let operands = graph.nodes()[number].operands.iter().zip(alone);
        left.extend(operands.filter(|(_, alone)| *alone).map(|(v, _)| *v));
    }
    while let Some(v) = left.pop() {
        if std::mem::replace(&mut needed[v.index()], true) {
            continue;
        }
        if let Def::Result(number, _) = graph.def(v) {
            // A root is made of packs.
            if !roots.contains(&number) {
                left.extend(&graph.nodes()[number].operands);
            }
        }
    }
    needed
}

/// A concatenation of which some operands, one after the other, are made as a whole.
fn joined_runs(
    b: &mut Builder,
    node: &Node<Op>,
    axis: Axis,
    runs: &[(&Seed, Value)],
    new: &[Value],
) -> Result<Value> {
    let (mut parts, mut i) = (vec![], 0);
    while i < node.operands.len() {
        let starts = |(seed, _): &&(&Seed, Value)| matches!(seed.to, Use::Run { from, .. } if from == i);
        match runs.iter().find(starts) {
            Some((seed, whole)) => {
                parts.push(*whole);
                i += seed.parts.len();
            }
            None => {
                parts.push(new[node.operands[i].index()]);
                i += 1;
            }
        }
    }
    b.node1(Concatenate { axis }, &parts)
}

/// The numbers of the nodes that read each value, and whether it is an output.
struct Readers {
    nodes: Vec<Vec<usize>>,
    is_output: Vec<bool>,
}

impl Readers {
    /// The only node that reads a value, if it is read once.
    fn only(&self, v: Value) -> Option<usize> {
        match self.nodes[v.index()].as_slice() {
            &[one] if !self.is_output[v.index()] => Some(one),
            _ => None,
        }
    }
}

fn readers(graph: &Graph) -> Readers {
    let count = graph.values().count();
    let mut readers = Readers { nodes: table(vec![], count), is_output: table(false, count) };
    for (number, node) in graph.nodes().iter().enumerate() {
        node.operands.iter().for_each(|v| readers.nodes[v.index()].push(number));
    }
    graph.outputs().iter().for_each(|v| readers.is_output[v.index()] = true);
    readers
}

/// Whether each node need not be computed, as its pack is.
fn covered(graph: &Graph, packs: &Packs, found: &[(Seed, usize)]) -> Vec<bool> {
    let mut covered = table(false, graph.nodes().len());
    for (seed, _) in found {
        covered[seed.number] = true;
        seed.covered.iter().for_each(|&number| covered[number] = true);
    }
    for v in packs.members(found.iter().map(|(_, pack)| *pack)) {
        if let Def::Result(number, _) = graph.def(v) {
            covered[number] = true;
        }
    }
    covered
}
