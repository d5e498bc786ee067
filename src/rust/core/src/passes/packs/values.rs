//! Packs: what isomorphic values are, and all of them as one value.

use super::seeds::{boundary, source};
use super::{Readers, Rounding, SIZE};
use crate::batch::{batch_node, repeat, Examples, Stacked};
use crate::error::Result;
use crate::graph::{Def, Node, Value, NODE};
use crate::growth::table;
use crate::ops::{Batch, Builder, Concatenate, Graph, If, Op, StaticSlice, Transpose};
use crate::passes::transposes::is_elementwise;
use crate::passes::{flagged, reshape};
use crate::shape::{Axis, Shape};
use crate::stop;
use rustc_hash::FxHashMap;
use std::collections::HashMap;

/// Values in packs for each value of a graph, at most.
const WORK: usize = 8;

/// The part of what is joined that may be numbers, each computed alone: one in so many.
const NUMBERS: usize = 8;

/// Slices of a run, on average, at least: each run is copied.
const RUN: usize = 4;

/// For each pack of values that are computed one by one and copied, so many folds or products, at least.
const OPS: usize = 3;

/// Parts of which few elements are computed together, at least, if several ops compute them.
const MANY: usize = 8;

/// Elements of a value, at most, that is folded or multiplied in a pack: larger ones are as fast one by one, and stay in
/// a cache.
const LARGEST: usize = 1 << 12;

/// Elements of all values of such a pack, at most.
const MOST: usize = 1 << 22;

/// Elements of a term, at most, that is computed by elementwise ops alone: a sum of larger ones is one loop as it stands.
const TERM: usize = 64;

/// What the values of a pack are.
enum Kind {
    /// One value.
    Same,
    /// Slices of a value, in runs that lie side by side, each with how many there are.
    Slices(Vec<(Slices, usize)>),
    /// Results of one op, on these packs.
    Op(Vec<usize>),
    /// Values that are computed one by one, and then joined.
    Apart,
    /// Nothing that could be computed together.
    Other,
}

/// Slices side by side.
struct Slices {
    of: Value,
    /// All of them.
    slice: StaticSlice,
    /// The shape of this slice with the axis of the pack, and where that is.
    shape: Vec<usize>,
    at: usize,
}

struct Pack {
    values: Vec<Value>,
    kind: Kind,
}

/// Packs of a graph.
pub(super) struct Packs<'g> {
    graph: &'g Graph,
    /// What slices read, by node.
    origins: &'g [Option<Value>],
    list: Vec<Pack>,
    numbers: FxHashMap<Vec<Value>, usize>,
    rounding: Rounding,
    /// Values in them that may still be added.
    left: usize,
}

impl<'g> Packs<'g> {
    pub(super) fn of(graph: &'g Graph, origins: &'g [Option<Value>], rounding: Rounding) -> Packs<'g> {
        let left = WORK * graph.values().count();
        Packs { graph, origins, list: vec![], numbers: FxHashMap::default(), rounding, left }
    }

    /// The number of the pack of these values, which have one shape.
    pub(super) fn follow(&mut self, values: Vec<Value>) -> usize {
        let mut next = self.list.len();
        let first = self.add(values);
        while next < self.list.len() {
            let values = std::mem::take(&mut self.list[next].values);
            stop::work(values.len() * NODE);
            let kind = match self.left.checked_sub(values.len()) {
                Some(left) => {
                    self.left = left;
                    self.kind(&values)
                }
                None => Kind::Other,
            };
            self.list[next] = Pack { values, kind };
            next += 1;
        }
        first
    }

    fn add(&mut self, values: Vec<Value>) -> usize {
        if let Some(&number) = self.numbers.get(&values) {
            return number;
        }
        let number = self.list.len();
        self.numbers.insert(values.clone(), number);
        self.list.push(Pack { values, kind: Kind::Other });
        number
    }

    fn kind(&mut self, values: &[Value]) -> Kind {
        let (graph, first) = (self.graph, values[0]);
        if values.iter().all(|&v| v == first) {
            return Kind::Same;
        }
        let most = if self.rounding == Rounding::Any { values.len() / RUN } else { 1 };
        if let Some(runs) = slices(graph, self.origins, values).filter(|runs| runs.len() <= most.max(1)) {
            return Kind::Slices(runs);
        }
        let node = |&v: &Value| graph.made_by(v);
        let alike = |v: &Value| match (node(v), node(&first)) {
            (Some(node), Some(other)) => {
                let place = |node: &Node<Op>, v: &Value| node.results.iter().position(|result| result == v);
                let types = |of: &Value, to: &Value| {
                    let (of, to) = (graph.aval(*of), graph.aval(*to));
                    (&of.shape, of.dtype) == (&to.shape, to.dtype)
                };
                node.op == other.op
                    && place(node, v) == place(other, &first)
                    && node.operands.len() == other.operands.len()
                    && node.operands.iter().zip(&other.operands).all(|(of, to)| types(of, to))
            }
            _ => false,
        };
        let op = node(&first).filter(|node| self.is_packed(node)).filter(|_| values.iter().all(alike));
        if let Some(op) = op {
            let operand = |i: usize| values.iter().filter_map(node).map(|node| node.operands[i]).collect();
            let operands: Vec<Vec<Value>> = (0..op.operands.len()).map(operand).collect();
            return Kind::Op(operands.into_iter().map(|values| self.add(values)).collect());
        }
        let most = if self.rounding == Rounding::Any { LARGEST } else { 1 };
        match graph.aval(first).shape.size() {
            size if (1..=most).contains(&size) => Kind::Apart,
            _ => Kind::Other,
        }
    }

    /// Whether nodes like this one are computed together.
    fn is_packed(&self, node: &Node<Op>) -> bool {
        let has_batch = || match node.op.batch() {
            Batch::Same | Batch::By(_) => true,
            Batch::Regions => is_choice(node),
            Batch::Todo(_) => false,
        };
        let any = || self.rounding == Rounding::Any && has_batch();
        let is_pure = !node.op.has_effect() && !node.operands.is_empty();
        is_pure && (is_exact(self.graph, node) || any())
    }

    /// The numbers of packs in the order of their values: operands before results.
    fn in_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.list.len()).collect();
        order.sort_by_key(|&pack| self.list[pack].values[0].index());
        order
    }

    /// Whether each pack can be computed together.
    pub(super) fn sound(&self) -> Vec<bool> {
        let mut sound = table(false, self.list.len());
        for pack in self.in_order() {
            sound[pack] = match &self.list[pack].kind {
                Kind::Other => false,
                Kind::Op(operands) => operands.iter().all(|&operand| sound[operand]),
                Kind::Same | Kind::Slices(_) | Kind::Apart => true,
            };
        }
        sound
    }

    /// The packs that are computed for some.
    pub(super) fn reached(&self, from: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut is_reached = table(false, self.list.len());
        let (mut all, mut left): (Vec<usize>, Vec<usize>) = (vec![], from.collect());
        while let Some(pack) = left.pop() {
            if !std::mem::replace(&mut is_reached[pack], true) {
                all.push(pack);
                if let Kind::Op(operands) = &self.list[pack].kind {
                    left.extend(operands);
                }
            }
        }
        all
    }

    /// Whether it is worth it to compute a pack together that is joined, or folded, to so many elements.
    pub(super) fn pays(&self, pack: usize, joined: usize, is_folded: bool) -> bool {
        let (mut most, mut largest, mut numbers) = (joined, 0, 0);
        let (mut apart, mut exact, mut other, mut gaps) = (0, 0, 0, false);
        for pack in self.reached([pack].into_iter()) {
            let Pack { values, kind } = &self.list[pack];
            let size = self.graph.aval(values[0]).shape.size();
            match kind {
                Kind::Same | Kind::Other => continue,
                Kind::Slices(runs) => gaps |= runs.len() > 1,
                Kind::Apart if size == 1 => {
                    numbers += values.len();
                    continue;
                }
                Kind::Apart => apart += 1,
                Kind::Op(_) if is_exact(self.graph, self.node(pack)) => {
                    exact += usize::from(!moves(self.node(pack)))
                }
                Kind::Op(_) => (other, largest) = (other + 1, largest.max(size)),
            }
            most = most.max(size * values.len());
        }
        let fits = if other == 0 {
            apart == 0 && !gaps && !(is_folded && joined > TERM)
        } else {
            largest.max(most / self.list[pack].values.len()) <= LARGEST && most <= MOST
        };
        let parts = self.list[pack].values.len();
        let is_large = most >= SIZE || parts >= MANY && most * (exact + other) >= 2 * SIZE;
        is_large && fits && numbers <= most / NUMBERS && OPS * apart <= other
    }

    /// Whether a pack is computed by more than moves.
    pub(super) fn computes(&self, pack: usize) -> bool {
        matches!(self.list[pack].kind, Kind::Op(_)) && !moves(self.node(pack))
    }

    /// The results of ops in what is computed for some packs.
    pub(super) fn members(&self, of: impl Iterator<Item = usize>) -> impl Iterator<Item = Value> + '_ {
        let ops = |pack: &usize| matches!(self.list[*pack].kind, Kind::Op(_));
        self.reached(of).into_iter().filter(ops).flat_map(|pack| self.list[pack].values.iter().copied())
    }

    /// The values that some packs are made of.
    pub(super) fn sources(&self, of: impl Iterator<Item = usize>) -> Vec<Value> {
        let mut sources = vec![];
        for pack in self.reached(of) {
            let Pack { values, kind } = &self.list[pack];
            match kind {
                Kind::Same => sources.push(values[0]),
                Kind::Slices(runs) => sources.extend(runs.first().map(|(slices, _)| slices.of)),
                Kind::Apart | Kind::Other => sources.extend(values),
                Kind::Op(_) => {}
            }
        }
        sources
    }

    /// Whether `covered` nodes alone read what a pack computes.
    pub(super) fn are_read_by(&self, pack: usize, readers: &Readers, covered: &[bool]) -> bool {
        self.members([pack].into_iter()).all(|v| {
            let computed = self.graph.made_by(v).is_some_and(|node| !moves(node));
            let alone = || readers.nodes[v.index()].iter().all(|&reader| covered[reader]);
            !computed || !readers.is_output[v.index()] && alone()
        })
    }

    /// A pack as one value, whose last axis is that of the pack, given what values of the graph have become. `made` has
    /// the packs that have been made, and whether each has this axis.
    ///
    /// # Errors
    /// Those of [`Builder::node`]; one would be a bug of the pass.
    pub(super) fn make(
        &self,
        b: &mut Builder,
        pack: usize,
        new: &[Value],
        made: &mut HashMap<usize, (Value, bool)>,
    ) -> Result<Value> {
        let mut needed = self.reached([pack].into_iter());
        needed.sort_by_key(|&pack| self.list[pack].values[0].index());
        for number in needed {
            if made.contains_key(&number) {
                continue;
            }
            let Pack { values, kind } = &self.list[number];
            let is_batched = !matches!(kind, Kind::Same);
            let whole = match kind {
                Kind::Same => new[values[0].index()],
                Kind::Slices(runs) => {
                    let runs: Vec<Value> = runs
                        .iter()
                        .map(|(slices, n)| slices.make(b, self.graph, values[0], *n, new))
                        .collect::<Result<_>>()?;
                    let axis = Axis(self.graph.aval(values[0]).shape.rank());
                    match runs[..] {
                        [one] => one,
                        _ => b.node1(Concatenate { axis }, &runs)?,
                    }
                }
                Kind::Apart | Kind::Other => self.stacked(b, values, new)?,
                Kind::Op(operands) => {
                    let operands: Vec<(Value, bool)> = operands.iter().map(|operand| made[operand]).collect();
                    let (values_of, batched) = operands.into_iter().unzip();
                    let given = Stacked { values: values_of, batched };
                    let node = self.node(number);
                    let results =
                        batch_node(b, &node.op, &given, Examples { size: values.len(), mask: None })?;
                    for (k, &v) in node.results.iter().enumerate() {
                        if let Some(pack) = self.numbers.get(&self.results(values, k)) {
                            let whole = flagged(b, results.values[k], self.graph.aval(v).ambiguous)?;
                            made.insert(*pack, (whole, results.batched[k]));
                        }
                    }
                    continue;
                }
            };
            made.insert(number, (whole, is_batched));
        }
        let (whole, is_batched) = made[&pack];
        match is_batched {
            true => Ok(whole),
            false => repeat(b, whole, self.list[pack].values.len()),
        }
    }

    /// Values that are computed one by one, joined.
    fn stacked(&self, b: &mut Builder, values: &[Value], new: &[Value]) -> Result<Value> {
        let shape = &self.graph.aval(values[0]).shape;
        let flat = Shape::try_new(vec![shape.size()])?;
        let mut parts = vec![];
        for v in values {
            parts.push(reshape(b, new[v.index()], flat.clone())?);
        }
        let all = b.node1(Concatenate { axis: Axis(0) }, &parts)?;
        reshape(b, all, shape.with_last(values.len())?)
    }

    /// The node that makes the first value of a pack of results.
    fn node(&self, pack: usize) -> &'g Node<Op> {
        self.graph.made_by(self.list[pack].values[0]).expect("it is the result of an op")
    }

    /// The results with this number of the nodes that make these values.
    fn results(&self, values: &[Value], k: usize) -> Vec<Value> {
        values.iter().filter_map(|&v| self.graph.made_by(v)).map(|node| node.results[k]).collect()
    }
}

/// Whether a node only puts elements in other places.
fn moves(node: &Node<Op>) -> bool {
    node.op.moves_only() || node.op.get::<StaticSlice>().is_some() || node.op.get::<Concatenate>().is_some()
}

/// Whether a node is a branch op whose regions compute elements: both run for all values of a pack.
fn is_choice(node: &Node<Op>) -> bool {
    let computes = |region: &Graph| region.nodes().iter().all(|node| is_exact(region, node));
    node.op.get::<If>().is_some_and(|op| op.branches.iter().all(|region| computes(region)))
}

/// Whether no bit of the result is another if nodes like this one are computed together.
fn is_exact(graph: &Graph, node: &Node<Op>) -> bool {
    moves(node) || is_elementwise(graph, node)
}

/// Slices of one value that differ along one axis, reshaped or not, in runs of those that lie side by side: as one value
/// each, and how many there are. `None` if they are no such slices.
fn slices(graph: &Graph, origins: &[Option<Value>], values: &[Value]) -> Option<Vec<(Slices, usize)>> {
    let cut = |&v: &Value| {
        let mut v = v;
        while let Some(from) = source(graph, v) {
            v = from;
        }
        let Def::Result(number, _) = graph.def(v) else { return None };
        Some((graph.nodes()[number].op.get::<StaticSlice>()?, origins[number]?, &graph.aval(v).shape))
    };
    let (first, of, sizes) = cut(&values[0])?;
    let like_first = |v: &Value| cut(v).filter(|(_, from, shape)| *from == of && *shape == sizes);
    let (second, ..) = like_first(&values[1])?;
    let axis = (0..sizes.rank()).find(|&i| first.start[i] != second.start[i])?;
    let mut starts = vec![];
    for v in values {
        let (slice, ..) = like_first(v)?;
        if (0..sizes.rank()).any(|i| i != axis && slice.start[i] != first.start[i])
            || slice.stride != first.stride
        {
            return None;
        }
        starts.push(slice.start[axis]);
    }
    let along = sizes[axis];
    // Of one element each, they may be apart.
    let step = starts[1].checked_sub(starts[0]).filter(|_| along == 1 && is_regular(&starts));
    let stride = step.unwrap_or(first.stride[axis]);
    if sizes.size() == 0 {
        return None;
    }
    // The axis of the pack lies behind the elements of a slice that are before it in memory.
    let part = &graph.aval(values[0]).shape;
    let at = boundary(part, sizes[..=axis].iter().product())?;
    let run = |starts: &[usize]| {
        let mut slice = first.clone();
        slice.stride[axis] = stride;
        slice.start[axis] = starts[0];
        slice.limit[axis] = starts[0] + (starts.len() * along - 1) * stride + 1;
        let mut shape = part.to_vec();
        shape.insert(at, starts.len());
        (Slices { of, slice, shape, at }, starts.len())
    };
    Some(starts.chunk_by(|a, b| *b == a + along * stride).map(run).collect())
}

/// Whether numbers increase by as much each time.
fn is_regular(numbers: &[usize]) -> bool {
    numbers
        .windows(3)
        .all(|three| three[1] > three[0] && three[2].checked_sub(three[1]) == Some(three[1] - three[0]))
}

impl Slices {
    /// All slices as one value, with the axis of the pack last.
    fn make(&self, b: &mut Builder, graph: &Graph, part: Value, n: usize, new: &[Value]) -> Result<Value> {
        let of = new[self.of.index()];
        let shape = &graph.aval(self.of).shape;
        let is_whole = (0..shape.rank()).all(|i| {
            self.slice.start[i] == 0 && self.slice.limit[i] == shape[i] && self.slice.stride[i] == 1
        });
        let all = if is_whole { of } else { b.node1(self.slice.clone(), &[of])? };
        let all = reshape(b, all, Shape::try_new(self.shape.clone())?)?;
        let rank = self.shape.len();
        let last = self.shape[self.at..].iter().product::<usize>() == n;
        let all = if last {
            reshape(b, all, graph.aval(part).shape.with_last(n)?)?
        } else {
            let axes = (0..self.at).chain(self.at + 1..rank).chain([self.at]);
            b.node1(Transpose { permutation: axes.map(Axis).collect() }, &[all])?
        };
        flagged(b, all, graph.aval(part).ambiguous)
    }
}
