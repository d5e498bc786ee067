//! Values that are updated where they lie: an op that replaces elements of its first operand
//! ([`OpDef::updates`](crate::ops::OpDef::updates)) writes these alone if nothing reads the operand again.
//!
//! Updates of updates are a *chain*: all its values have one place, that of its last. An input may be where a
//! chain begins: one that is donated, or one that a loop carries, whose next value the chain is, or which ends
//! with the chain.

use super::given::Given;
use super::partition::{Unit, Units};
use crate::graph::{Def, Value};
use crate::ops::Graph;
use crate::passes::{Candidates, Views};
use rustc_hash::{FxHashMap, FxHashSet};

/// The chains of a graph.
#[derive(Debug, Default)]
pub struct Updates {
    /// For each root that is updated in place, the root of the operand, unless that is an input that goes on.
    of: FxHashMap<Value, Value>,
    /// Those operands.
    operands: FxHashSet<Value>,
    /// Inputs where chains begin, with the outputs where these end: the first update is in place if the
    /// input's memory is that of the output.
    pub begun: Vec<(usize, usize)>,
}

impl Updates {
    /// Finds chains, without results that are `framed`: their updates are computed there. `last_use` gives the
    /// last unit that reads each root, `output_of` the output in whose buffer it is computed.
    pub fn of(
        graph: &Graph,
        views: &Views,
        units: &Units,
        framed: impl Fn(Value) -> bool,
        last_use: &[usize],
        output_of: &mut [Option<usize>],
        given: Given,
    ) -> Updates {
        let mut all = Updates::default();
        let link = |(number, unit): (usize, &Unit)| {
            let (&[node], None) = (unit.nodes.as_slice(), unit.group) else { return None };
            let node = &graph.nodes()[node];
            let (&first, rest) = node.operands.split_first().filter(|_| node.op.updates())?;
            let (result, root) = (node.results[0], views.root(first));
            if framed(result) {
                return None;
            }
            let is_last = last_use[root.index()] == number && rest.iter().all(|&v| views.root(v) != root);
            // A fill is one element in memory.
            let is_source =
                matches!(graph.def(root), Def::Result(made, _) if graph.nodes()[made].op.source().is_some());
            let same =
                !is_source && views.is_whole(first) && graph.aval(result).bytes() == graph.aval(root).bytes();
            (is_last && same).then_some((result, root))
        };
        let mut candidates = None;
        // From the last on: an earlier value of a chain has the output of a later one.
        for (result, root) in units.units.iter().enumerate().rev().filter_map(link) {
            let output = output_of[result.index()];
            match graph.def(root) {
                Def::Result(..) => output_of[root.index()] = output,
                Def::Input(input) => {
                    let candidates = candidates.get_or_insert_with(|| Candidates::of(graph, views));
                    let fits = |k: &usize| {
                        given.fits(input, *k) && candidates.for_input(graph, input).binary_search(k).is_ok()
                    };
                    all.begun.extend(output.filter(fits).map(|k| (input, k)));
                    // The memory of a temporary value may be the input's.
                    if output.is_some() || !given.is_spent(input) {
                        continue;
                    }
                }
                Def::Constant(_) | Def::Literal(_) => continue,
            }
            all.of.insert(result, root);
            all.operands.insert(root);
        }
        all
    }

    /// The operand in whose place a root is made.
    pub fn operand(&self, root: Value) -> Option<Value> {
        self.of.get(&root).copied()
    }

    /// Whether a value is of a chain.
    pub fn has(&self, root: Value) -> bool {
        self.of.contains_key(&root) || self.operands.contains(&root)
    }

    /// The values of the chain that ends with this one, from it on.
    pub fn chain(&self, last: Value) -> impl Iterator<Item = Value> + '_ {
        std::iter::successors(Some(last), |&root| self.operand(root))
    }
}
