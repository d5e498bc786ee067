//! Chains of updates at known places, of which only some values are read as a whole, are these values, joined of what
//! was written; and an element that is read is the one that was written there. So R code that fills a vector element by
//! element, `e[t] <- y[t] - a * e[t - 1]`, is what it computes on numbers, and its derivative, which adds to elements
//! of a gradient and clears them, is too. Values that are appended to others are such chains. Only the engine runs
//! this pass: graphs that are shown or exported keep their updates.

mod cells;
mod chains;

use super::{flagged, optimise, rebuilt_from, reshape};
use crate::error::Result;
use crate::graph::{Value, NODE};
use crate::ops::create::everywhere;
use crate::ops::{Binary, Builder, Concatenate, Graph, StaticSlice};
use crate::shape::{Axis, Shape};
use crate::stop;
use crate::tensor::Literal;
use cells::{Cells, Owner, Region, Tree, CELLS};
use chains::{chains, Chain, Kind, Write, FEW};
use rustc_hash::FxHashMap;

/// Parts of what is read of a value that is not there, at most.
const PARTS: usize = 16;

/// Cells that are looked at for them, at most.
const LOOKED: usize = 64;

/// Elements that no update replaces, for each update, at most: a step takes as long as copying some hundreds does.
const KEPT: usize = 64;

/// Elements of a value that is joined, for each update, at most: of larger ones the copy takes longer than the steps.
const COPIED: usize = 256;

/// The graph with values joined in place of chains of updates; `None` if there are no such. `all` is whether updates must
/// replace all elements: what a loop carries is better updated where it lies.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub fn mosaics(graph: &Graph, all: bool) -> Result<Option<Graph>> {
    if graph.nodes().len() < FEW {
        return Ok(None);
    }
    let (chains, places) = chains(graph);
    let mut reads: Vec<Reads> = chains.iter().map(|chain| Reads::of(chain.steps.len() + 1)).collect();
    for (number, node) in graph.nodes().iter().enumerate() {
        stop::work(NODE);
        for (i, &v) in node.operands.iter().enumerate() {
            let Some((chain, version)) = places[v.index()] else { continue };
            let step = chains[chain].steps.get(version).filter(|step| step.node == number);
            let before = step.map(|step| if let Kind::Add(i) = step.kind { i } else { 0 });
            if before == Some(i) {
                continue;
            }
            match node.op.get::<StaticSlice>().filter(|_| graph.aval(node.results[0]).shape.size() > 0) {
                Some(slice) => reads[chain].parts[version].push(slice),
                None => reads[chain].whole[version] = true,
            }
        }
    }
    for &v in graph.outputs() {
        if let Some((chain, version)) = places[v.index()] {
            reads[chain].whole[version] = true;
        }
    }
    let mut plans: Vec<Option<Mosaic>> = Vec::with_capacity(chains.len());
    for (chain, reads) in chains.iter().zip(reads) {
        let plan = (chain.steps.len() >= FEW).then(|| Mosaic::of(graph, chain, reads, all)).flatten();
        plans.push(plan);
    }
    if plans.iter().all(Option::is_none) {
        return Ok(None);
    }
    let made = rebuilt_from(graph, |b, number, new| {
        let node = &graph.nodes()[number];
        let Some(&result) = node.results.first() else { return Ok(None) };
        let made = if let Some((chain, version)) = places[result.index()] {
            let Some(plan) = &mut plans[chain] else { return Ok(None) };
            plan.step(b, version, new)?
        } else if let Some(slice) = node.op.get::<StaticSlice>() {
            let Some((chain, version)) = places[node.operands[0].index()] else { return Ok(None) };
            let Some(plan) = &mut plans[chain] else { return Ok(None) };
            let made = match graph.aval(result).shape.size() {
                0 => None,
                _ => plan.read(b, slice, version, new)?,
            };
            made
        } else {
            None
        };
        made.map(|v| Ok(vec![flagged(b, v, graph.aval(result).ambiguous)?])).transpose()
    })?;
    optimise(&made).map(Some)
}

/// How the values of a chain are read, but by the next step.
struct Reads<'g> {
    whole: Vec<bool>,
    parts: Vec<Vec<&'g StaticSlice>>,
}

impl Reads<'_> {
    fn of(versions: usize) -> Self {
        Reads { whole: vec![false; versions], parts: vec![vec![]; versions] }
    }
}

/// A chain, and which of its values are made.
struct Mosaic<'g> {
    graph: &'g Graph,
    chain: &'g Chain,
    cells: Cells,
    /// For each value, the last one before it that is made.
    after: Vec<usize>,
    /// For each value, how it is made, if it is.
    made: Vec<Option<By>>,
    /// For each value, how many steps up to it add zero to what they do not write.
    sums: Vec<usize>,
    /// Cells that may still be looked at for values that are joined.
    left: usize,
    /// The values of regions that steps add to, and whether their elements are no zeros with a sign.
    added: FxHashMap<usize, (Value, bool)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// The node of the chain.
    Node,
    /// Joining parts.
    Parts,
}

/// Elements from the first to the last that a slice takes.
fn spanned(slice: &StaticSlice) -> Region {
    let last =
        |i: usize| slice.start[i] + (slice.limit[i] - slice.start[i] - 1) / slice.stride[i] * slice.stride[i];
    Region { start: slice.start.clone(), end: (0..slice.start.len()).map(|i| last(i) + 1).collect() }
}

impl<'g> Mosaic<'g> {
    /// The plan of a chain; `None` if it stays as it is.
    fn of(graph: &'g Graph, chain: &'g Chain, reads: Reads, all: bool) -> Option<Mosaic<'g>> {
        let cells = Cells::of(chain, &graph.aval(chain.base).shape, |write| sizes(graph, write))?;
        let count = chain.steps.len() + 1;
        let is_float = !graph.aval(chain.base).dtype.is_integer();
        let sums = chain.steps.iter().scan(0, |sums, step| {
            *sums += usize::from(is_float && matches!(step.kind, Kind::Add(_)));
            Some(*sums)
        });
        let sums = [0].into_iter().chain(sums).collect();
        let (after, made, added) = (vec![0; count], vec![None; count], FxHashMap::default());
        let left = CELLS * chain.steps.len();
        let mut plan = Mosaic { graph, chain, cells, after, made, sums, left, added };
        plan.made[0] = Some(By::Node);
        let mut last = 0;
        for version in 1..count {
            stop::work(NODE);
            plan.after[version] = last;
            let hidden = |slice: &&StaticSlice| {
                let plain = slice.stride.iter().all(|&n| n == 1);
                !plan.is_found(&spanned(slice), version, if plain { PARTS } else { 1 })
            };
            let sum = chain.steps.get(version).filter(|step| matches!(step.kind, Kind::Add(_)));
            let is_read = reads.whole[version]
                || reads.parts[version].iter().any(hidden)
                || sum.is_some_and(|step| !plan.is_found(&plan.region(&step.writes[0]), version, PARTS));
            if !is_read {
                continue;
            }
            if plan.is_joined(last, version, all) {
                plan.made[version] = Some(By::Parts);
            } else {
                for between in last + 1..=version {
                    plan.made[between] = Some(By::Node);
                    plan.after[between] = between - 1;
                }
            }
            last = version;
        }
        // What nothing reads as a whole need not be made.
        let pays = plan.made.contains(&Some(By::Parts)) || plan.made[count - 1].is_none();
        pays.then_some(plan)
    }

    /// What a write replaces.
    fn region(&self, write: &Write) -> Region {
        Region::of(write, &sizes(self.graph, write))
    }

    /// Whether a region of a value has few parts.
    fn is_found(&self, region: &Region, version: usize, most: usize) -> bool {
        let tree = self.cells.tree(region, version, self.after[version], LOOKED);
        tree.is_some_and(|tree| tree.leaves().len() <= most)
    }

    /// Whether a value is joined of parts, where the last one that is made before is this.
    fn is_joined(&mut self, last: usize, version: usize, all: bool) -> bool {
        let steps = &self.chain.steps[last..version];
        if steps.len() < FEW {
            return false;
        }
        let shape = &self.graph.aval(self.chain.value(self.graph, version)).shape;
        let count = self.cells.count(&Region::all(shape));
        let kept =
            shape.size() - self.cells.written(self.chain, last, version, |write| sizes(self.graph, write));
        let grows = steps.iter().any(|step| step.kind == Kind::Grow);
        let most = if all { 0 } else { KEPT * steps.len() };
        // What is appended to is copied anyway.
        let is_small = shape.size() <= COPIED * steps.len();
        let pays = is_small && kept <= most || grows && !all;
        if !pays || count > self.left {
            return false;
        }
        self.left -= count;
        true
    }

    /// The value that a step makes, if it is not made by its node.
    fn step(&mut self, b: &mut Builder, version: usize, new: &[Value]) -> Result<Option<Value>> {
        if self.made[version] == Some(By::Node) {
            return Ok(None);
        }
        let step = &self.chain.steps[version - 1];
        if let Kind::Add(before) = step.kind {
            let region = self.region(&step.writes[0]);
            let tree = self.tree(&region, version - 1, self.after[version]);
            let is_clear = |(owner, _): (Option<Owner>, &Region)| {
                let from = owner.map_or(self.after[version], |(made, _)| made);
                self.sums[version - 1] > self.sums[from]
                    || self.added.get(&from).is_some_and(|&(_, clear)| clear)
            };
            let clear = tree.leaves().into_iter().all(is_clear);
            let mut operands = [self.joined(b, &tree, &region, version - 1, self.after[version], new)?; 2];
            operands[1 - before] = new[step.writes[0].value.index()];
            self.added.insert(version, (b.node1(Binary::add, &operands)?, clear));
        }
        if self.made[version].is_none() {
            // Nothing reads it.
            return Ok(Some(new[self.chain.base.index()]));
        }
        let region = Region::all(&self.graph.aval(self.chain.value(self.graph, version)).shape);
        let tree = self.tree(&region, version, self.after[version]);
        self.joined(b, &tree, &region, version, self.after[version], new).map(Some)
    }

    /// What a slice of a value reads, if that is not the value.
    fn read(
        &self,
        b: &mut Builder,
        slice: &StaticSlice,
        version: usize,
        new: &[Value],
    ) -> Result<Option<Value>> {
        let (region, after) = (spanned(slice), self.after[version]);
        let tree = match self.made[version] {
            None => self.tree(&region, version, after),
            Some(by) => {
                let tree = self.cells.tree(&region, version, after, LOOKED);
                let step = |owner: Owner| self.chain.steps[owner.0 - 1].kind;
                let is_there = |owner: Owner| by == By::Parts || !matches!(step(owner), Kind::Add(_));
                match tree {
                    Some(Tree::Leaf(Some(owner), region)) if is_there(owner) => {
                        Tree::Leaf(Some(owner), region)
                    }
                    _ => return Ok(None),
                }
            }
        };
        let whole = self.joined(b, &tree, &region, version, after, new)?;
        if slice.stride.iter().all(|&n| n == 1) {
            return Ok(Some(whole));
        }
        let sizes = region.sizes();
        let slice = StaticSlice { start: vec![0; sizes.len()], limit: sizes, stride: slice.stride.clone() };
        b.node1(slice, &[whole]).map(Some)
    }

    fn tree(&self, region: &Region, version: usize, after: usize) -> Tree {
        self.cells.tree(region, version, after, usize::MAX).expect("it may have as many cells")
    }

    /// A region of a value, joined of its parts.
    fn joined(
        &self,
        b: &mut Builder,
        tree: &Tree,
        region: &Region,
        version: usize,
        after: usize,
        new: &[Value],
    ) -> Result<Value> {
        if tree.is_flat_in(region) {
            let mut parts = vec![];
            for (owner, part) in tree.leaves() {
                let value = self.part(b, owner, part, version, after, new)?;
                parts.push(reshape(b, value, [part.sizes().iter().product()].into())?);
            }
            let all = b.node1(Concatenate { axis: Axis(0) }, &parts)?;
            return reshape(b, all, Shape::try_new(region.sizes())?);
        }
        self.nested(b, tree, version, after, new)
    }

    /// As [`joined`](Mosaic::joined), along one axis after the other.
    fn nested(
        &self,
        b: &mut Builder,
        tree: &Tree,
        version: usize,
        after: usize,
        new: &[Value],
    ) -> Result<Value> {
        match tree {
            Tree::Leaf(owner, part) => self.part(b, *owner, part, version, after, new),
            Tree::Join(axis, parts) => {
                let mut values = vec![];
                for part in parts {
                    values.push(self.nested(b, part, version, after, new)?);
                }
                b.node1(Concatenate { axis: Axis(*axis) }, &values)
            }
        }
    }

    /// A part of a value that one step wrote last, or that is of the last value that was made.
    fn part(
        &self,
        b: &mut Builder,
        owner: Option<Owner>,
        part: &Region,
        version: usize,
        after: usize,
        new: &[Value],
    ) -> Result<Value> {
        let from = owner.map_or(after, |(made, _)| made);
        let (mut value, start, clear) = match owner {
            None => (new[self.chain.value(self.graph, after).index()], vec![0; part.start.len()], false),
            Some((made, i)) => {
                let write = &self.chain.steps[made - 1].writes[i];
                let (value, clear) =
                    self.added.get(&made).copied().unwrap_or((new[write.value.index()], false));
                (value, write.start.clone(), clear)
            }
        };
        // Zero was added since, once or more often.
        if self.sums[version] > self.sums[from] && !clear {
            let aval = b.graph().aval(value).clone();
            let zero = b.literal(Literal::new(0i32).convert(aval.dtype), aval.ambiguous);
            let zeros = everywhere(b, zero, aval.shape)?;
            value = b.node1(Binary::add, &[value, zeros])?;
        }
        let at = |place: &[usize]| place.iter().zip(&start).map(|(at, start)| at - start).collect::<Vec<_>>();
        let slice =
            StaticSlice { start: at(&part.start), limit: at(&part.end), stride: vec![1; start.len()] };
        if slice.start.iter().all(|&at| at == 0) && slice.limit[..] == b.graph().aval(value).shape[..] {
            return Ok(value);
        }
        b.node1(slice, &[value])
    }
}

/// The sizes of what is written.
fn sizes(graph: &Graph, write: &Write) -> Vec<usize> {
    graph.aval(write.value).shape.to_vec()
}
