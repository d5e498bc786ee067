//! What is written once for each row, column or element, and then joined, is computed on the whole: isomorphic
//! elementwise ops on slices that lie side by side become one op on the value that they are slices of. So
//! `sapply(1:n, function(j) exp(x[, j]))` is `exp(x)`, and so are its gradient, a sum of pads, and a loop in R that
//! assigns one column after the other.
//!
//! A *pack* are as many isomorphic values as are joined (Larsen and Amarasinghe, Exploiting superword level parallelism
//! with multimedia instruction sets, 2000); what is joined is a *seed* ([`seeds`]). From there packs of operands are
//! followed up to slices, to values that all have in common, and to numbers ([`values`]). An op on packs is the op's
//! rule for a batch, so a packed value has one axis more, the last. No bit changes: what folds or multiplies is not
//! packed, since it may add in another order. Only the engine runs this pass: graphs that are shown or exported keep what
//! was written.

mod seeds;
mod values;

use super::{optimise, rebuilt_from};
use crate::error::Result;
use crate::graph::{Def, Value};
use crate::growth::table;
use crate::ops::Graph;
use seeds::{origins, seeds, Seed};
use std::collections::HashMap;
use values::Packs;

/// Elements of what is joined, at least: fewer are numbers in registers.
const SIZE: usize = 64;

/// Rounds, at most: what has been packed may be part of a pack.
const ROUNDS: usize = 3;

/// Rounds in which seeds are dropped whose packs are read elsewhere, at most.
const DROPS: usize = 8;

/// The graph with packs; `None` if there are none.
///
/// # Errors
/// Those of [`Builder::node`](crate::ops::Builder::node); one would be a bug of the pass.
pub fn packs(graph: &Graph) -> Result<Option<Graph>> {
    let mut best: Option<Graph> = None;
    for _ in 0..ROUNDS {
        let Some(next) = packed(best.as_ref().unwrap_or(graph))? else { break };
        best = Some(optimise(&next)?);
    }
    Ok(best)
}

/// The graph in which the packs of seeds are computed as a whole, once.
fn packed(graph: &Graph) -> Result<Option<Graph>> {
    let readers = readers(graph);
    let origins = origins(graph);
    let mut packs = Packs::of(graph, &origins);
    let mut found: Vec<(Seed, usize)> = vec![];
    for seed in seeds(graph, &readers, &origins) {
        if seed.joined.size() >= SIZE {
            let pack = packs.follow(seed.parts.clone());
            found.push((seed, pack));
        }
    }
    let sound = packs.sound();
    found.retain(|(seed, pack)| sound[*pack] && packs.pays(*pack, seed.joined.size()));
    for round in 0.. {
        let before = found.len();
        let covered = covered(graph, &packs, &found);
        found.retain(|(_, pack)| packs.are_read_by(*pack, &readers, &covered));
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
    let at: HashMap<usize, &(Seed, usize)> = found.iter().map(|found| (found.0.number, found)).collect();
    let mut made = HashMap::new();
    let graph = rebuilt_from(graph, |b, number, new| match at.get(&number) {
        Some((seed, pack)) => {
            let whole = packs.make(b, *pack, new, &mut made)?;
            seed.make(b, graph, whole, new).map(|v| Some(vec![v]))
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
