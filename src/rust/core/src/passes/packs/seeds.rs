//! Where packs begin: values of one shape that lie side by side in another one, since they are joined, or updates or
//! pads at places that are known.

use super::sums::Folded;
use super::Readers;
use crate::error::Result;
use crate::graph::{Def, Node, Value, NODE};
use crate::growth::table;
use crate::ops::contract::{framed, Framed};
use crate::ops::create::{everywhere, uniform};
use crate::ops::layout::Order;
use crate::ops::{
    Binary, BroadcastInDim, Builder, Concatenate, Graph, Op, Pad, Reshape, StaticSlice, Transpose,
};
use crate::passes::{flagged, reshape};
use crate::shape::{Axis, Shape};
use crate::stop;
use std::ops::Range;

/// Parts of a seed, at least.
pub(super) const PARTS: usize = 3;

/// Nodes that are looked at for each node of a graph, at most, as links of chains that are no seeds are looked at again.
const WORK: usize = 8;

/// What becomes of the joined parts.
pub(super) enum Use {
    /// Nothing more.
    Joined,
    /// They are operands of the concatenation along this axis, from this one on.
    Run { axis: Axis, from: usize },
    /// They replace a window of a value, as this node does, which has the first place.
    Updated { base: Value, first: usize },
    /// They are padded with this zero, and added to what there is.
    Added { zero: Value, low: Vec<i64>, high: Vec<i64>, to: Option<Value> },
    /// They are folded, and that is added, or what else the fold does, to the rest; see [`super::sums`].
    Folded(Folded),
}

/// Parts that lie side by side.
pub(super) struct Seed {
    /// The node whose result is made of them.
    pub number: usize,
    /// The parts, in their order; of what they were reshaped to.
    pub parts: Vec<Value>,
    /// The shape of all together.
    pub joined: Shape,
    /// The axis of the parts before which the axis of the pack lies, to make that shape.
    pub before: usize,
    pub to: Use,
    /// The other nodes that put the parts in their places.
    pub covered: Vec<usize>,
}

/// Updates of one another's results: what the first one updates, and the smallest window with all of theirs.
#[derive(Clone)]
struct Updated {
    base: Value,
    window: Window,
}

/// The first index along each axis, and that behind the last.
type Window = (Vec<usize>, Vec<usize>);

/// Whether windows have no element in common.
fn are_apart(a: &Window, b: &Window) -> bool {
    (0..a.0.len()).any(|i| a.1[i] <= b.0[i] || b.1[i] <= a.0[i])
}

/// For each node that is a slice, what it reads, or what that was before updates of other elements.
pub(super) fn origins(graph: &Graph) -> Vec<Option<Value>> {
    let mut left = WORK * graph.nodes().len();
    let mut updated: Vec<Option<Updated>> = table(None, graph.values().count());
    let mut origins = vec![];
    for node in graph.nodes() {
        if let Some((framed, window)) = update(graph, node) {
            let around = node.operands[framed.around];
            let all = match updated[around.index()].clone() {
                Some(Updated { base, window: (mut low, mut high) }) => {
                    low.iter_mut().zip(&window.0).for_each(|(low, &at)| *low = at.min(*low));
                    high.iter_mut().zip(&window.1).for_each(|(high, &at)| *high = at.max(*high));
                    Updated { base, window: (low, high) }
                }
                None => Updated { base: around, window },
            };
            updated[node.results[0].index()] = Some(all);
        }
        origins.push(node.op.get::<StaticSlice>().map(|slice| {
            let (mut v, read) = (node.operands[0], (slice.start.clone(), slice.limit.clone()));
            while let Some(Updated { base, window }) = &updated[v.index()] {
                if are_apart(&read, window) {
                    return *base;
                }
                // One by one: what is read may lie between updates.
                let last = graph.made_by(v).and_then(|node| Some((node, update(graph, node)?)));
                match (last, left.checked_sub(1)) {
                    (Some((node, (framed, window))), Some(rest)) if are_apart(&read, &window) => {
                        (v, left) = (node.operands[framed.around], rest);
                    }
                    _ => break,
                }
            }
            v
        }));
    }
    origins
}

/// The window that an update replaces, if that is known.
fn update(graph: &Graph, node: &Node<Op>) -> Option<(Framed, Window)> {
    let framed = framed(graph, node).filter(|_| node.op.updates())?;
    let sizes = &graph.aval(node.operands[framed.inside]).shape;
    let end = framed.start.iter().zip(sizes.iter()).map(|(start, size)| start + size).collect();
    let window = (framed.start.clone(), end);
    Some((framed, window))
}

/// All seeds of a graph. `origins` are what slices read, `forms` tell isomorphic values.
pub(super) fn seeds(graph: &Graph, readers: &Readers, origins: &[Option<Value>], forms: &[u64]) -> Vec<Seed> {
    let mut seeds = vec![];
    // Nodes that are links of a chain that ends later.
    let mut inner = table(false, graph.nodes().len());
    let mut left = WORK * graph.nodes().len();
    for (number, node) in graph.nodes().iter().enumerate().rev() {
        stop::work(NODE);
        if inner[number] {
            continue;
        }
        let found = if let Some(op) = node.op.get::<Concatenate>() {
            joined(graph, number, node, op.axis, forms)
        } else if framed(graph, node).is_some() {
            updated(graph, (readers, origins), number, &mut left)
        } else {
            added(graph, readers, number, &mut left).into_iter().collect()
        };
        for seed in found {
            inner[seed.number] = true;
            seed.covered.iter().for_each(|&number| inner[number] = true);
            seeds.push(seed);
        }
    }
    seeds
}

fn is_pad(node: &Node<Op>) -> bool {
    node.op.get::<Pad>().is_some()
}

/// The parts of a concatenation: all of them, and runs of isomorphic ones among others.
fn joined(graph: &Graph, number: usize, node: &Node<Op>, axis: Axis, forms: &[u64]) -> Vec<Seed> {
    let joined = graph.aval(node.results[0]).shape.clone();
    let all = Seed::new(graph, number, node.operands.clone(), axis, joined, Use::Joined, vec![]);
    let mut seeds: Vec<Seed> = all.into_iter().collect();
    let mut from = 0;
    for run in node.operands.chunk_by(|a, b| forms[a.index()] == forms[b.index()]) {
        if run.len() >= PARTS && run.len() < node.operands.len() {
            let mut shape = graph.aval(run[0]).shape.to_vec();
            shape[axis.0] *= run.len();
            let to = Use::Run { axis, from };
            let shape = Shape::try_new(shape).ok();
            seeds.extend(
                shape.and_then(|shape| Seed::new(graph, number, run.to_vec(), axis, shape, to, vec![])),
            );
        }
        from += run.len();
    }
    seeds
}

/// A part at a place: the value, the index of its first element, and the node that places it.
type Placed = (Value, Vec<usize>, usize);

/// Updates of one another's results: all of them, or runs of those that follow one another.
fn updated(graph: &Graph, reads: Reads, number: usize, left: &mut usize) -> Vec<Seed> {
    let (mut placed, mut at): (Vec<Placed>, usize) = (vec![], number);
    let base = loop {
        let node = &graph.nodes()[at];
        let Some((framed, _)) = update(graph, node).filter(|_| *left > 0) else { return vec![] };
        *left -= 1;
        placed.push((node.operands[framed.inside], framed.start, at));
        let around = node.operands[framed.around];
        match graph.def(around) {
            Def::Result(next, _) if continues(graph, reads, around, next, at, placed[0].0) => at = next,
            _ => break around,
        }
    };
    let runs: Vec<Range<usize>> = runs(graph, &placed);
    let is_whole = beside(graph, &mut placed.clone()).is_some();
    if is_whole || runs.len() < 2 {
        return replaced(graph, &mut placed, base).into_iter().collect();
    }
    let run = |range: Range<usize>| {
        let base = placed.get(range.end).map_or(base, |&(.., number)| graph.nodes()[number].results[0]);
        replaced(graph, &mut placed[range].to_vec(), base)
    };
    runs.into_iter().filter_map(run).collect()
}

/// Ranges of parts of which each lies beside the last one, along one axis and in one direction.
fn runs(graph: &Graph, placed: &[Placed]) -> Vec<Range<usize>> {
    let step = |from: usize| -> Option<(usize, bool)> {
        let ((v, a, _), (other, b, _)) = (placed.get(from)?, placed.get(from + 1)?);
        let shape = &graph.aval(*v).shape;
        let axis = (0..shape.rank()).find(|&i| a[i] != b[i])?;
        let alone =
            (0..shape.rank()).all(|i| i == axis || a[i] == b[i]) && graph.aval(*other).shape == *shape;
        (alone && a[axis].abs_diff(b[axis]) == shape[axis]).then_some((axis, a[axis] < b[axis]))
    };
    let (mut runs, mut from) = (vec![], 0);
    while from < placed.len() {
        let first = step(from);
        let mut end = from + 1;
        while first.is_some() && step(end - 1) == first {
            end += 1;
        }
        runs.push(from..end);
        from = end;
    }
    runs
}

/// The seed of updates, the last one first, that lie side by side.
fn replaced(graph: &Graph, placed: &mut [Placed], base: Value) -> Option<Seed> {
    let number = placed[0].2;
    let covered = placed[1..].iter().map(|&(.., number)| number).collect();
    let (parts, axis, joined) = beside(graph, placed)?;
    let to = match joined == graph.aval(base).shape {
        true => Use::Joined,
        false => Use::Updated { base, first: placed[0].2 },
    };
    Seed::new(graph, number, parts, axis, joined, to, covered)
}

/// What reads values, and what slices read.
type Reads<'a> = (&'a Readers, &'a [Option<Value>]);

/// Whether a value is an update like this `part`, which only the next one reads, and slices of what was there before.
fn continues(
    graph: &Graph,
    (readers, origins): Reads,
    v: Value,
    number: usize,
    reader: usize,
    part: Value,
) -> bool {
    let node = &graph.nodes()[number];
    let alike = |(framed, _): (Framed, Window)| {
        graph.aval(node.operands[framed.inside]).shape == graph.aval(part).shape
    };
    let passes = |&other: &usize| other == reader || origins[other].is_some_and(|origin| origin != v);
    let only = !readers.is_output[v.index()] && readers.nodes[v.index()].iter().all(passes);
    only && update(graph, node).is_some_and(alike)
}

/// Pads with zero that are added, to one another and at most one other value.
fn added(graph: &Graph, readers: &Readers, number: usize, left: &mut usize) -> Option<Seed> {
    let adds = |number: usize| graph.nodes()[number].op.get::<Binary>() == Some(&Binary::add);
    if !adds(number) {
        return None;
    }
    let (mut placed, mut covered, mut to, mut zero): (Vec<Placed>, _, _, _) = (vec![], vec![], None, None);
    let mut adds_left = vec![number];
    while let Some(at) = adds_left.pop() {
        *left = left.checked_sub(1)?;
        for &v in &graph.nodes()[at].operands {
            let only = readers.only(v).filter(|&reader| reader == at);
            let made = match graph.def(v) {
                Def::Result(made, _) if only.is_some() => Some(made),
                _ => None,
            };
            if let Some(made) = made.filter(|&made| adds(made)) {
                covered.push(made);
                adds_left.push(made);
                continue;
            }
            let pad = made.filter(|&made| is_pad(&graph.nodes()[made])).and_then(|made| {
                let node = &graph.nodes()[made];
                let is_zero = uniform(graph, node.operands[1])?.to_bytes().iter().all(|&byte| byte == 0);
                let framed = framed(graph, node).filter(|_| is_zero)?;
                Some((node.operands[0], framed.start, made))
            });
            match pad {
                Some(pad) => {
                    covered.push(pad.2);
                    zero = zero.or(graph.nodes()[pad.2].operands.get(1).copied());
                    placed.push(pad);
                }
                None if to.is_none() => to = Some(v),
                None => return None,
            }
        }
    }
    let whole = graph.aval(graph.nodes()[number].results[0]).shape.clone();
    let (parts, axis, joined) = beside(graph, &mut placed)?;
    let low: Vec<i64> = placed[0].1.iter().map(|&at| at as i64).collect();
    let high = (0..whole.rank()).map(|i| (whole[i] - joined[i]) as i64 - low[i]).collect();
    let to = Use::Added { zero: zero?, low, high, to };
    Seed::new(graph, number, parts, axis, joined, to, covered)
}

/// Parts of one shape that lie side by side along an axis, in their order, and the shape of all.
fn beside(graph: &Graph, placed: &mut [Placed]) -> Option<(Vec<Value>, Axis, Shape)> {
    placed.sort_by(|a, b| a.1.cmp(&b.1));
    let [(first, start, _), (_, next, _), ..] = &*placed else { return None };
    let shape = &graph.aval(*first).shape;
    let axis = (0..shape.rank()).find(|&i| start[i] != next[i])?;
    let fits = |(k, (v, at, _)): (usize, &Placed)| {
        let along = |i: usize| at[i] == start[i] + if i == axis { k * shape[axis] } else { 0 };
        graph.aval(*v).shape == *shape && (0..shape.rank()).all(along)
    };
    if !placed.iter().enumerate().all(fits) {
        return None;
    }
    let mut joined = shape.to_vec();
    joined[axis] *= placed.len();
    let parts = placed.iter().map(|&(v, ..)| v).collect();
    Some((parts, Axis(axis), Shape::try_new(joined).ok()?))
}

impl Seed {
    /// Parts along an axis of what is joined; `None` if they are few or differ in shape.
    fn new(
        graph: &Graph,
        number: usize,
        mut parts: Vec<Value>,
        axis: Axis,
        joined: Shape,
        to: Use,
        mut covered: Vec<usize>,
    ) -> Option<Seed> {
        let shape = graph.aval(*parts.first()?).shape.clone();
        let alike = parts.iter().all(|&v| graph.aval(v).shape == shape);
        if parts.len() < PARTS || !alike || joined.size() == 0 {
            return None;
        }
        let mut before = axis.0 + 1;
        // Elements of a part before the axis of the pack: they are the same of what was reshaped.
        let inside: usize = shape[..before].iter().product();
        while let Some((from, at)) = reshaped(graph, &parts, inside) {
            covered.extend(parts.iter().filter_map(|&v| match graph.def(v) {
                Def::Result(number, _) => Some(number),
                Def::Input(_) | Def::Constant(_) | Def::Literal(_) => None,
            }));
            (parts, before) = (from, at);
        }
        Some(Seed { number, parts, joined, before, to, covered })
    }

    /// The values next to the parts that it is made of; of a run not those of other runs.
    pub(super) fn sources(&self) -> Vec<Value> {
        match &self.to {
            Use::Joined | Use::Run { .. } => vec![],
            Use::Updated { base, .. } => vec![*base],
            Use::Added { to, .. } => to.iter().copied().collect(),
            Use::Folded(folded) => folded.rest().collect(),
        }
    }

    /// Whether the parts are folded.
    pub(super) fn is_folded(&self) -> bool {
        matches!(self.to, Use::Folded(_))
    }

    /// Whether it is a part of a concatenation alone.
    pub(super) fn is_run(&self) -> bool {
        matches!(self.to, Use::Run { .. })
    }

    /// What the node makes of the parts, given them as a pack: with the axis of the pack last.
    pub(super) fn make(&self, b: &mut Builder, graph: &Graph, pack: Value, new: &[Value]) -> Result<Value> {
        let rank = b.graph().aval(pack).shape.rank() - 1;
        let aval = graph.aval(graph.nodes()[self.number].results[0]);
        let mut all = pack;
        if let Use::Folded(folded) = &self.to {
            all = folded.make(b, all, new)?;
            return flagged(b, all, aval.ambiguous);
        }
        if self.before < rank {
            let permutation = (0..self.before).chain([rank]).chain(self.before..rank).map(Axis).collect();
            all = b.node1(Transpose { permutation }, &[all])?;
        }
        all = reshape(b, all, self.joined.clone())?;
        match &self.to {
            Use::Joined | Use::Run { .. } | Use::Folded(_) => {}
            Use::Updated { base, first } => {
                let node = &graph.nodes()[*first];
                let mut operands: Vec<Value> = node.operands.iter().map(|v| new[v.index()]).collect();
                (operands[0], operands[1]) = (new[base.index()], all);
                all = b.node1(node.op.clone(), &operands)?;
            }
            Use::Added { zero, low, high, to } => {
                let zero = new[zero.index()];
                if aval.shape != self.joined {
                    let pad = Pad { low: low.clone(), high: high.clone(), interior: vec![0; low.len()] };
                    all = b.node1(pad, &[all, zero])?;
                }
                if let Some(to) = to {
                    all = b.node1(Binary::add, &[new[to.index()], all])?;
                }
                // The zeros of other pads, which make zeros of those with a sign.
                let zeros = everywhere(b, zero, aval.shape.clone())?;
                all = b.node1(Binary::add, &[all, zeros])?;
            }
        }
        flagged(b, all, aval.ambiguous)
    }
}

/// What values were reshaped from, all from one shape, and before which axis of it so many elements lie; `None` if they
/// were not, or there is no such axis.
pub(super) fn reshaped(graph: &Graph, values: &[Value], inside: usize) -> Option<(Vec<Value>, usize)> {
    let from: Vec<Value> = values.iter().map(|&v| source(graph, v)).collect::<Option<_>>()?;
    let shape = &graph.aval(from[0]).shape;
    let at = boundary(shape, inside)?;
    from.iter().all(|&v| graph.aval(v).shape == *shape).then_some((from, at))
}

/// What a value was reshaped from in R's order, which a broadcast is that adds axes of one element.
pub(super) fn source(graph: &Graph, v: Value) -> Option<Value> {
    let node = graph.made_by(v)?;
    let reshapes = match node.op.get::<BroadcastInDim>() {
        Some(op) => {
            let sizes = [node.operands[0], v].map(|v| graph.aval(v).shape.size());
            op.axes.is_sorted() && sizes[0] == sizes[1]
        }
        None => node.op.get::<Reshape>().is_some_and(|op| op.order == Order::Column),
    };
    reshapes.then_some(node.operands[0])
}

/// The first axis before which so many elements of a shape lie; its rank, if all do.
pub(super) fn boundary(shape: &[usize], inside: usize) -> Option<usize> {
    (0..=shape.len()).find(|&at| shape[..at].iter().product::<usize>() == inside)
}
