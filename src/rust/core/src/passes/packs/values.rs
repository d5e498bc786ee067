//! Packs: what isomorphic values are, and all of them as one value.

use super::seeds::{boundary, reshape, source};
use super::Readers;
use crate::batch::{batch_node, repeat, Examples, Stacked};
use crate::error::Result;
use crate::graph::{Def, Node, Value, NODE};
use crate::growth::table;
use crate::ops::{Builder, Concatenate, Graph, Op, StaticSlice, Transpose};
use crate::passes::flagged;
use crate::passes::transposes::is_elementwise;
use crate::shape::{Axis, Shape};
use crate::stop;
use rustc_hash::FxHashMap;
use std::collections::HashMap;

/// Values in packs for each value of a graph, at most.
const WORK: usize = 8;

/// The part of what is joined that may be numbers, each computed alone: one in so many.
const NUMBERS: usize = 8;

/// What the values of a pack are.
enum Kind {
    /// One value.
    Same,
    /// Slices side by side of a value.
    Slices(Slices),
    /// Results of one op, on these packs.
    Op(Vec<usize>),
    /// Values of one element.
    Numbers,
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
    /// Values in them that may still be added.
    left: usize,
}

impl<'g> Packs<'g> {
    pub(super) fn of(graph: &'g Graph, origins: &'g [Option<Value>]) -> Packs<'g> {
        let left = WORK * graph.values().count();
        Packs { graph, origins, list: vec![], numbers: FxHashMap::default(), left }
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
        if let Some(slices) = slices(graph, self.origins, values) {
            return Kind::Slices(slices);
        }
        let node = |&v: &Value| graph.made_by(v).filter(|node| node.results.len() == 1);
        let alike = |v: &Value| match (node(v), node(&first)) {
            (Some(node), Some(other)) => {
                let types = |of: &Value, to: &Value| {
                    let (of, to) = (graph.aval(*of), graph.aval(*to));
                    (&of.shape, of.dtype) == (&to.shape, to.dtype)
                };
                node.op == other.op
                    && node.operands.len() == other.operands.len()
                    && node.operands.iter().zip(&other.operands).all(|(of, to)| types(of, to))
            }
            _ => false,
        };
        let op = node(&first).filter(|node| is_packed(graph, node)).filter(|_| values.iter().all(alike));
        if let Some(op) = op {
            let operand = |i: usize| values.iter().filter_map(node).map(|node| node.operands[i]).collect();
            let operands: Vec<Vec<Value>> = (0..op.operands.len()).map(operand).collect();
            return Kind::Op(operands.into_iter().map(|values| self.add(values)).collect());
        }
        match graph.aval(first).shape.size() {
            1 => Kind::Numbers,
            _ => Kind::Other,
        }
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
                Kind::Same | Kind::Slices(_) | Kind::Numbers => true,
            };
        }
        sound
    }

    /// The packs that are computed for some.
    fn reached(&self, from: impl Iterator<Item = usize>) -> Vec<usize> {
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

    /// Whether it is worth it to compute a pack together that has so many elements.
    pub(super) fn pays(&self, pack: usize, size: usize) -> bool {
        let numbers = |&pack: &usize| match self.list[pack].kind {
            Kind::Numbers => self.list[pack].values.len(),
            Kind::Same | Kind::Slices(_) | Kind::Op(_) | Kind::Other => 0,
        };
        self.reached([pack].into_iter()).iter().map(numbers).sum::<usize>() <= size / NUMBERS
    }

    /// The results of ops in what is computed for some packs.
    pub(super) fn members(&self, of: impl Iterator<Item = usize>) -> impl Iterator<Item = Value> + '_ {
        let ops = |pack: &usize| matches!(self.list[*pack].kind, Kind::Op(_));
        self.reached(of).into_iter().filter(ops).flat_map(|pack| self.list[pack].values.iter().copied())
    }

    /// Whether `covered` nodes alone read what a pack computes.
    pub(super) fn are_read_by(&self, pack: usize, readers: &Readers, covered: &[bool]) -> bool {
        self.members([pack].into_iter()).all(|v| {
            let computed = self.graph.made_by(v).is_some_and(|node| is_elementwise(self.graph, node));
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
                Kind::Slices(slices) => slices.make(b, self.graph, values[0], values.len(), new)?,
                Kind::Numbers | Kind::Other => self.numbers(b, values, new)?,
                Kind::Op(operands) => {
                    let operands: Vec<(Value, bool)> = operands.iter().map(|operand| made[operand]).collect();
                    let (values_of, batched) = operands.into_iter().unzip();
                    let given = Stacked { values: values_of, batched };
                    let op = &self.graph.made_by(values[0]).expect("it is the result of an op").op;
                    let results = batch_node(b, op, &given, Examples { size: values.len(), mask: None })?;
                    let ambiguous = self.graph.aval(values[0]).ambiguous;
                    let whole = flagged(b, results.values[0], ambiguous)?;
                    made.insert(number, (whole, results.batched[0]));
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

    /// Values of one element, joined.
    fn numbers(&self, b: &mut Builder, values: &[Value], new: &[Value]) -> Result<Value> {
        let one = Shape::try_new(vec![1])?;
        let mut parts = vec![];
        for v in values {
            parts.push(reshape(b, new[v.index()], one.clone())?);
        }
        let all = b.node1(Concatenate { axis: Axis(0) }, &parts)?;
        reshape(b, all, self.graph.aval(values[0]).shape.with_last(values.len())?)
    }
}

/// Whether nodes like this one are computed together: no bit of the result is another then.
fn is_packed(graph: &Graph, node: &Node<Op>) -> bool {
    let moves = node.op.moves_only()
        || node.op.get::<StaticSlice>().is_some()
        || node.op.get::<Concatenate>().is_some();
    let computes = is_elementwise(graph, node) && !node.op.has_effect() && !node.op.may_raise();
    (computes || moves) && !node.operands.is_empty()
}

/// Slices of one value that lie side by side, along one axis of it; reshaped, or not.
fn slices(graph: &Graph, origins: &[Option<Value>], values: &[Value]) -> Option<Slices> {
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
    let n = values.len();
    let axis = (0..sizes.rank()).find(|&i| first.start[i] != second.start[i])?;
    let step = second.start[axis].checked_sub(first.start[axis])?;
    for (k, v) in values.iter().enumerate() {
        let (slice, ..) = like_first(v)?;
        let at = |i: usize| first.start[i] + if i == axis { k * step } else { 0 };
        let placed = (0..sizes.rank()).all(|i| slice.start[i] == at(i));
        if slice.stride != first.stride || !placed {
            return None;
        }
    }
    let (along, stride) = (sizes[axis], first.stride[axis]);
    let stride = if along == 1 { step } else { stride };
    if along * stride != step || sizes.size() == 0 {
        return None;
    }
    let mut slice = first.clone();
    slice.stride[axis] = stride;
    slice.limit[axis] = first.start[axis] + (n * along - 1) * stride + 1;
    // The axis of the pack lies behind the elements of a slice that are before it in memory.
    let part = &graph.aval(values[0]).shape;
    let at = boundary(part, sizes[..=axis].iter().product())?;
    let mut shape = part.to_vec();
    shape.insert(at, n);
    Some(Slices { of, slice, shape, at })
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
