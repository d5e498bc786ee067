//! Terms of a sum, or factors of a product, as the values of a pack: isomorphic ones are folded as one value, and the
//! rest is added to that.

use super::forms::ordered;
use super::seeds::{Seed, Use, PARTS};
use super::Readers;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{Def, Value, NODE};
use crate::growth::table;
use crate::kernels::reductions::fold::Fold;
use crate::ops::{Binary, Builder, Graph, Op, Reduction, Unary};
use crate::shape::Axis;
use crate::stop;
use rustc_hash::FxHashMap;

/// What folds two values to one: of a difference, the second one is negative.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Term {
    v: Value,
    negative: bool,
}

/// How a pack is folded.
pub(super) struct Folded {
    fold: Fold,
    /// Whether it is subtracted.
    negative: bool,
    /// What is not in the pack.
    rest: Vec<Term>,
}

/// The fold of a chain of such ops.
fn fold_of(op: &Op) -> Option<Fold> {
    match op.get::<Binary>()? {
        Binary::add | Binary::sub => Some(Fold::Sum),
        Binary::mul => Some(Fold::Prod),
        Binary::max => Some(Fold::Max),
        Binary::min => Some(Fold::Min),
        _ => None,
    }
}

/// Adds the terms of sums, products and extremes of which many are isomorphic to the seeds of a graph.
pub(super) fn add_to(
    seeds: &mut Vec<Seed>,
    graph: &Graph,
    readers: &Readers,
    (origins, forms): (&[Option<Value>], &[u64]),
) {
    let fold_at = |number: usize| fold_of(&graph.nodes()[number].op);
    // Links of a chain that goes on.
    let inner = |number: usize| {
        let only = readers.only(graph.nodes()[number].results[0]);
        only.is_some_and(|reader| fold_at(number).is_some() && fold_at(reader) == fold_at(number))
    };
    let mut taken = table(false, graph.nodes().len());
    for seed in seeds.iter() {
        taken[seed.number] = true;
        seed.covered.iter().for_each(|&number| taken[number] = true);
    }
    for (number, node) in graph.nodes().iter().enumerate() {
        stop::work(NODE);
        let Some(fold) = fold_at(number).filter(|_| !taken[number] && !inner(number)) else { continue };
        if graph.aval(node.results[0]).shape.size() == 0 || graph.aval(node.results[0]).dtype == DType::I1 {
            continue;
        }
        let (mut terms, mut covered) = (vec![], vec![]);
        let mut left = vec![Term { v: node.results[0], negative: false }];
        while let Some(Term { v, negative }) = left.pop() {
            let made = match graph.def(v) {
                Def::Result(made, _) => Some((made, &graph.nodes()[made])),
                Def::Input(_) | Def::Constant(_) | Def::Literal(_) => None,
            };
            match made {
                Some((made, link)) if made == number || inner(made) && fold_at(made) == Some(fold) => {
                    let is_sub = link.op.get() == Some(&Binary::sub);
                    left.push(Term { v: link.operands[0], negative });
                    left.push(Term { v: link.operands[1], negative: negative != is_sub });
                    if made != number {
                        covered.push(made);
                    }
                }
                Some((made, node)) if fold == Fold::Sum && node.op.get() == Some(&Unary::negate) => {
                    covered.extend(readers.only(v).map(|_| made));
                    terms.push(Term { v: node.operands[0], negative: !negative });
                }
                _ => terms.push(Term { v, negative }),
            }
        }
        if terms.len() < PARTS || covered.iter().any(|&number| taken[number]) {
            continue;
        }
        if let Some((mut parts, negative, rest)) = alike(forms, terms) {
            ordered(graph, origins, &mut parts);
            let joined = graph.aval(parts[0]).shape.clone();
            let before = joined.rank();
            let to = Use::Folded(Folded { fold, negative, rest });
            seeds.push(Seed { number, parts, joined, before, to, covered });
        }
    }
}

/// The most terms of one form, whether they are negative, and the rest.
fn alike(forms: &[u64], terms: Vec<Term>) -> Option<(Vec<Value>, bool, Vec<Term>)> {
    let form = |term: &Term| (forms[term.v.index()], term.negative);
    let mut counts: FxHashMap<(u64, bool), usize> = FxHashMap::default();
    terms.iter().for_each(|term| *counts.entry(form(term)).or_default() += 1);
    // Of equally many the first, so that the choice depends on the graph alone.
    let most = *counts.values().max()?;
    let chosen = terms.iter().map(form).find(|form| counts[form] == most).filter(|_| most >= PARTS)?;
    let (alike, rest): (Vec<Term>, Vec<Term>) = terms.into_iter().partition(|term| form(term) == chosen);
    Some((alike.iter().map(|term| term.v).collect(), chosen.1, rest))
}

impl Folded {
    /// What is not in the pack.
    pub fn rest(&self) -> impl Iterator<Item = Value> + '_ {
        self.rest.iter().map(|term| term.v)
    }

    /// The result, given the pack.
    pub fn make(&self, b: &mut Builder, pack: Value, new: &[Value]) -> Result<Value> {
        let last = Axis(b.graph().aval(pack).shape.rank() - 1);
        let folded = b.node1(Reduction { fold: self.fold, axes: vec![last], drop: true }, &[pack])?;
        let op = match self.fold {
            Fold::Prod => Binary::mul,
            Fold::Max => Binary::max,
            Fold::Min => Binary::min,
            Fold::Sum | Fold::Squares | Fold::Any | Fold::All => Binary::add,
        };
        // What is subtracted comes last.
        let mut all: Option<Value> = (!self.negative).then_some(folded);
        let mut subtracted: Vec<Value> = self.negative.then_some(folded).into_iter().collect();
        for term in &self.rest {
            let v = new[term.v.index()];
            match (term.negative, all) {
                (true, _) => subtracted.push(v),
                (false, Some(sum)) => all = Some(b.node1(op, &[sum, v])?),
                (false, None) => all = Some(v),
            }
        }
        let mut subtracted = subtracted.into_iter();
        let mut all = match all {
            Some(all) => all,
            None => {
                let first = subtracted.next().expect("there are terms");
                b.node1(Unary::negate, &[first])?
            }
        };
        for v in subtracted {
            all = b.node1(Binary::sub, &[all, v])?;
        }
        Ok(all)
    }
}
