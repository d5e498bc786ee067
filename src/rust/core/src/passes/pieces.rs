//! Slices of results of elementwise ops, concatenations and pads become results on slices of the operands, where
//! nothing reads the whole and no element is computed twice. What nothing reads is not computed then, and a
//! slice of what was joined is one of a part. Only the engine runs this pass: graphs that are shown or exported
//! keep their slices.

use super::transposes::is_elementwise;
use super::{flagged, optimise};
use crate::error::Result;
use crate::graph::{Def, Node, Value, NODE};
use crate::growth::table;
use crate::ops::create::everywhere;
use crate::ops::{BroadcastInDim, Builder, Concatenate, Fill, Graph, Iota, Op, Pad, StaticSlice};
use crate::shape::{Axis, Shape};
use crate::stop;
use crate::tensor::Aval;
use std::collections::HashMap;

/// Pieces of a value, at most.
pub(super) const MAX_PIECES: usize = 16;

/// Rounds in which values are found that are better computed as a whole, at most.
const ROUNDS: usize = 16;

/// Bytes of a row of a piece, at least, unless pieces are contiguous: shorter ones are gathered.
const ROW: usize = 32;

/// The graph with its slices before what they are of; `None` if none moves. `wanted` are values that must all be
/// computed in pieces: otherwise there is no such graph. Elementwise ops on `large` values, of so many elements
/// at least, may be computed in several pieces.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub fn pieces(graph: &Graph, wanted: &[Value], large: usize) -> Result<Option<Graph>> {
    if !graph.nodes().iter().any(|node| node.op.get::<StaticSlice>().is_some()) {
        return Ok(None);
    }
    let mut pinned = table(false, graph.values().count());
    let apart = &apart(graph, |_| None);
    let mut plan = Demands::of(graph, &pinned, apart, large);
    for round in 0.. {
        let more = plan.unsound();
        if more.is_empty() {
            break;
        }
        if round == ROUNDS {
            return Ok(None);
        }
        more.into_iter().for_each(|v| pinned[v.index()] = true);
        plan = Demands::of(graph, &pinned, apart, large);
    }
    let none = graph.values().all(|v| !plan.is_cut(v));
    if none || wanted.iter().any(|&v| !plan.is_cut(v)) {
        return Ok(None);
    }
    optimise(&plan.rebuilt()?).map(Some)
}

/// The pieces of values that are read.
struct Demands<'g> {
    graph: &'g Graph,
    /// For each value, the pieces that are read, if it is computed in pieces.
    pieces: Vec<Vec<StaticSlice>>,
    /// Whether something reads the whole.
    whole: Vec<bool>,
    /// What [`apart`] says.
    apart: &'g [Option<Axis>],
    large: usize,
}

/// For each value, the axis along which it is put together of parts: it is a concatenation of single elements along this
/// axis, or one element padded there, or an elementwise op on such values and on others that are in memory, or in none. A
/// piece of it costs no more than it does. `given` says it of inputs.
pub(super) fn apart(graph: &Graph, given: impl Fn(usize) -> Option<Axis>) -> Vec<Option<Axis>> {
    let mut apart: Vec<Option<Axis>> = table(None, graph.values().count());
    for v in graph.values() {
        apart[v.index()] = match graph.def(v) {
            Def::Input(i) => given(i),
            Def::Constant(_) | Def::Literal(_) => None,
            Def::Result(number, _) => {
                let node = &graph.nodes()[number];
                let of = |v: &Value| apart[v.index()];
                if let Some(Concatenate { axis }) = node.op.get::<Concatenate>() {
                    let part = |v: &Value| graph.aval(*v).shape[axis.0] == 1 || of(v) == Some(*axis);
                    let few = (2..=MAX_PIECES).contains(&graph.aval(v).shape[axis.0]);
                    (few && node.operands.iter().all(part)).then_some(*axis)
                } else if let Some(op) = node.op.get::<Pad>() {
                    padded(op, &graph.aval(node.operands[0]).shape)
                } else if is_elementwise(graph, node) {
                    let axis = node.operands.iter().find_map(of);
                    let computed =
                        |v: &Value| graph.made_by(*v).is_some_and(|node| is_elementwise(graph, node));
                    let all = node.operands.iter().all(|v| of(v) == axis || of(v).is_none() && !computed(v));
                    axis.filter(|_| all)
                } else {
                    None
                }
            }
        };
    }
    apart
}

/// The axis along which a pad puts a single element of this shape among few.
fn padded(op: &Pad, shape: &Shape) -> Option<Axis> {
    let is_padded = |i: &usize| op.low[*i] != 0 || op.high[*i] != 0;
    let mut axes = (0..shape.rank()).filter(is_padded);
    let axis = axes.next().filter(|_| axes.next().is_none())?;
    let (low, high) = (usize::try_from(op.low[axis]).ok()?, usize::try_from(op.high[axis]).ok()?);
    let few = shape[axis] == 1 && low.saturating_add(high) < MAX_PIECES;
    (few && op.interior.iter().all(|&n| n == 0)).then_some(Axis(axis))
}

/// The sizes of a piece.
fn sizes(piece: &StaticSlice) -> Vec<usize> {
    let each = piece.start.iter().zip(&piece.limit).zip(&piece.stride);
    each.map(|((start, limit), stride)| (limit - start).div_ceil(*stride)).collect()
}

/// The number of its elements.
fn size(piece: &StaticSlice) -> usize {
    sizes(piece).iter().product()
}

/// The piece of a value that is a piece of a piece of it. Limits are those of the last elements.
fn within(outer: &StaticSlice, inner: &StaticSlice) -> StaticSlice {
    let sizes = sizes(inner);
    let start: Vec<usize> =
        (0..sizes.len()).map(|i| outer.start[i] + inner.start[i] * outer.stride[i]).collect();
    // Elements one after the other if there is only one: equal pieces are written alike.
    let stride: Vec<usize> =
        (0..sizes.len()).map(|i| if sizes[i] <= 1 { 1 } else { outer.stride[i] * inner.stride[i] }).collect();
    let covered = |i: usize| sizes[i].checked_sub(1).map_or(0, |last| last * stride[i] + 1);
    let limit = (0..sizes.len()).map(|i| start[i] + covered(i)).collect();
    StaticSlice { start, limit, stride }
}

/// All of a value of this shape.
fn all(shape: &Shape) -> StaticSlice {
    StaticSlice { start: vec![0; shape.rank()], limit: shape.to_vec(), stride: vec![1; shape.rank()] }
}

impl<'g> Demands<'g> {
    /// The pieces that are read; `pinned` values are whole.
    fn of(graph: &'g Graph, pinned: &[bool], apart: &'g [Option<Axis>], large: usize) -> Demands<'g> {
        let count = graph.values().count();
        let mut to = Demands { graph, pieces: vec![vec![]; count], whole: pinned.to_vec(), apart, large };
        graph.outputs().iter().for_each(|v| to.whole[v.index()] = true);
        for node in graph.nodes().iter().rev() {
            stop::work(NODE);
            to.read(node);
        }
        to
    }

    /// Records what a node reads.
    fn read(&mut self, node: &Node<Op>) {
        let result = node.results.first().copied();
        if let (Some(slice), Some(result)) = (node.op.get::<StaticSlice>(), result) {
            let own = all(&self.graph.aval(result).shape);
            let inner = std::mem::take(&mut self.pieces[result.index()]);
            let inner = if self.whole[result.index()] { vec![own] } else { inner };
            inner.iter().for_each(|piece| self.add(node.operands[0], within(slice, piece)));
            return;
        }
        let cut = result.is_some_and(|v| !self.whole[v.index()] && self.may_cut(node, v));
        if !cut {
            node.results.iter().for_each(|v| {
                self.whole[v.index()] = true;
                self.pieces[v.index()].clear();
            });
            node.operands.iter().for_each(|v| self.whole[v.index()] = true);
            return;
        }
        for piece in self.pieces[node.results[0].index()].clone() {
            if let Some(concatenate) = node.op.get::<Concatenate>() {
                for (i, part) in self.parts(node, concatenate, &piece) {
                    self.add(node.operands[i], part);
                }
            } else if let Some(pad) = node.op.get::<Pad>() {
                if let Some((inside, _)) = self.inside(node, pad, &piece) {
                    self.add(node.operands[0], inside);
                }
                self.whole[node.operands[1].index()] = true;
            } else {
                node.operands.iter().for_each(|&v| self.add(v, piece.clone()));
            }
        }
    }

    /// Records that a piece of a value is read.
    fn add(&mut self, v: Value, piece: StaticSlice) {
        let empty = size(&piece) == 0;
        if empty || piece == all(&self.graph.aval(v).shape) {
            self.whole[v.index()] = true;
        } else if !self.pieces[v.index()].contains(&piece) {
            self.pieces[v.index()].push(piece);
        }
    }

    /// Whether a value is computed in pieces.
    fn is_cut(&self, v: Value) -> bool {
        let slice = self.graph.made_by(v).is_some_and(|node| node.op.get::<StaticSlice>().is_some());
        !self.whole[v.index()]
            && !slice
            && !self.pieces[v.index()].is_empty()
            && self.graph.made_by(v).is_some_and(|node| self.may_cut(node, v))
    }

    /// Whether the result of a node may be computed in the pieces that are read.
    fn may_cut(&self, node: &Node<Op>, result: Value) -> bool {
        let (aval, pieces) = (self.graph.aval(result), &self.pieces[result.index()]);
        let elementwise = is_elementwise(self.graph, node) && !node.op.has_effect() && !node.op.may_raise();
        let moves = match (node.op.get::<Concatenate>(), node.op.get::<Pad>()) {
            (Some(op), _) => pieces.iter().all(|piece| piece.stride[op.axis.0] == 1),
            (_, Some(op)) => {
                op.interior.iter().all(|&n| n == 0)
                    && op.low.iter().chain(&op.high).all(|&n| n >= 0)
                    && pieces.iter().all(|piece| piece.stride.iter().all(|&n| n == 1))
            }
            _ => false,
        };
        let once = pieces.iter().map(size).sum::<usize>() <= aval.shape.size();
        let few = pieces.len() == 1 || aval.shape.size() >= self.large;
        let rows = few && pieces.iter().all(|piece| has_rows(piece, aval));
        let whole = |piece: &StaticSlice, i: usize| piece.start[i] == 0 && piece.limit[i] == aval.shape[i];
        // Parts along this axis, whatever their rows.
        let along = |axis: Axis, piece: &StaticSlice| {
            piece.stride[axis.0] == 1 && (0..aval.shape.rank()).all(|i| i == axis.0 || whole(piece, i))
        };
        let parts = self.apart[result.index()].is_some_and(|axis| pieces.iter().all(|p| along(axis, p)));
        let moves = moves || elementwise && (rows || parts);
        !pieces.is_empty() && pieces.len() <= MAX_PIECES && once && moves
    }

    /// Values in pieces whose operands would be stored in their stead, more than one.
    fn unsound(&self) -> Vec<Value> {
        let stored = |v: Value| {
            let mut base = v;
            while let Some(node) = self.graph.made_by(base) {
                match node.op.get::<StaticSlice>() {
                    Some(_) => base = node.operands[0],
                    None => break,
                }
            }
            let made = self.graph.made_by(base).is_some_and(|node| is_elementwise(self.graph, node));
            (made && !self.is_cut(base) && !self.graph.outputs().contains(&base)).then_some(base)
        };
        let is_bad = |node: &&Node<Op>| {
            let mut bases: Vec<Value> = node.operands.iter().filter_map(|&v| stored(v)).collect();
            bases.sort_unstable();
            bases.dedup();
            let &[result] = node.results.as_slice() else { return false };
            bases.len() > 1 && self.is_cut(result) && is_elementwise(self.graph, node)
        };
        self.graph.nodes().iter().filter(is_bad).map(|node| node.results[0]).collect()
    }

    /// The operands of a concatenation that a piece is of, and the pieces of these.
    fn parts(&self, node: &Node<Op>, op: &Concatenate, piece: &StaticSlice) -> Vec<(usize, StaticSlice)> {
        let (axis, mut at, mut parts) = (op.axis.0, 0, vec![]);
        for (i, &v) in node.operands.iter().enumerate() {
            let end = at + self.graph.aval(v).shape[axis];
            let (start, limit) = (piece.start[axis].max(at), piece.limit[axis].min(end));
            if start < limit {
                let mut part = piece.clone();
                (part.start[axis], part.limit[axis]) = (start - at, limit - at);
                parts.push((i, part));
            }
            at = end;
        }
        parts
    }

    /// The part of a piece of a pad that is the operand's, and what is padded around it; `None` if there is none.
    fn inside(&self, node: &Node<Op>, op: &Pad, piece: &StaticSlice) -> Option<(StaticSlice, Pad)> {
        let shape = &self.graph.aval(node.operands[0]).shape;
        let (mut part, mut around) = (piece.clone(), op.clone());
        for axis in 0..shape.rank() {
            let low = op.low[axis] as usize;
            let start = piece.start[axis].max(low);
            let limit = piece.limit[axis].min(low + shape[axis]);
            if start >= limit {
                return None;
            }
            (part.start[axis], part.limit[axis]) = (start - low, limit - low);
            around.low[axis] = (start - piece.start[axis]) as i64;
            around.high[axis] = (piece.limit[axis] - limit) as i64;
        }
        Some((part, around))
    }

    /// The graph in which values are computed in pieces.
    fn rebuilt(&self) -> Result<Graph> {
        let mut b = Builder::default();
        let mut new: Vec<Option<Value>> = table(None, self.graph.values().count());
        let mut made: HashMap<(Value, StaticSlice), Value> = HashMap::new();
        for v in self.graph.values() {
            let aval = self.graph.aval(v);
            new[v.index()] = match self.graph.def(v) {
                Def::Input(_) => Some(b.input(aval.clone())),
                Def::Constant(_) => Some(b.constant(aval.clone())),
                Def::Literal(literal) => Some(b.literal(literal, aval.ambiguous)),
                Def::Result(number, k) => {
                    let node = &self.graph.nodes()[number];
                    if let Some(slice) = node.op.get::<StaticSlice>() {
                        let piece = within(slice, &all(&aval.shape));
                        match self.whole[v.index()] {
                            true => Some(self.piece(&mut b, &new, &made, node.operands[0], &piece)?),
                            false => None,
                        }
                    } else if self.is_cut(v) {
                        for piece in &self.pieces[v.index()] {
                            let value = self.node(&mut b, &new, &made, node, piece)?;
                            let value = flagged(&mut b, value, aval.ambiguous)?;
                            made.insert((v, piece.clone()), value);
                        }
                        None
                    } else if k == 0 {
                        let operands: Vec<Value> =
                            node.operands.iter().map(|v| new[v.index()].expect("it is read whole")).collect();
                        let results = b.node(node.op.clone(), &operands)?;
                        node.results.iter().zip(results).for_each(|(v, made)| new[v.index()] = Some(made));
                        continue;
                    } else {
                        continue;
                    }
                }
            };
        }
        let outputs = self.graph.outputs().iter().map(|v| new[v.index()].expect("outputs are whole"));
        let outputs = outputs.collect();
        Ok(b.finish(outputs))
    }

    /// A piece of the result of a node that is computed in pieces.
    fn node(
        &self,
        b: &mut Builder,
        new: &[Option<Value>],
        made: &HashMap<(Value, StaticSlice), Value>,
        node: &Node<Op>,
        piece: &StaticSlice,
    ) -> Result<Value> {
        if let Some(op) = node.op.get::<Concatenate>() {
            let mut parts = vec![];
            for (i, part) in self.parts(node, op, piece) {
                parts.push(self.piece(b, new, made, node.operands[i], &part)?);
            }
            return match parts.as_slice() {
                &[one] => Ok(one),
                parts => b.node1(op.clone(), parts),
            };
        }
        if let Some(op) = node.op.get::<Pad>() {
            let value = new[node.operands[1].index()].expect("it is read whole");
            let Some((part, around)) = self.inside(node, op, piece) else {
                let shape = Shape::try_new(sizes(piece))?;
                return everywhere(b, value, shape);
            };
            let part = self.piece(b, new, made, node.operands[0], &part)?;
            return match around.low.iter().chain(&around.high).all(|&n| n == 0) {
                true => Ok(part),
                false => b.node1(around, &[part, value]),
            };
        }
        let mut operands = vec![];
        for &v in &node.operands {
            operands.push(self.piece(b, new, made, v, piece)?);
        }
        b.node1(node.op.clone(), &operands)
    }

    /// A piece of any value.
    fn piece(
        &self,
        b: &mut Builder,
        new: &[Option<Value>],
        made: &HashMap<(Value, StaticSlice), Value>,
        v: Value,
        piece: &StaticSlice,
    ) -> Result<Value> {
        if let Some(node) = self.graph.made_by(v) {
            if let Some(slice) = node.op.get::<StaticSlice>().filter(|_| !self.whole[v.index()]) {
                return self.piece(b, new, made, node.operands[0], &within(slice, piece));
            }
            if let Some(&value) = made.get(&(v, piece.clone())) {
                return Ok(value);
            }
        }
        let value = new[v.index()].expect("what is no piece is whole");
        if *piece == all(&self.graph.aval(v).shape) {
            return Ok(value);
        }
        // What is made of nothing is made as large as it is read.
        let node = self.graph.made_by(v);
        let shape = Shape::try_new(sizes(piece))?;
        if let Some(op) = node.and_then(|node| node.op.get::<Fill>()) {
            return b.node1(Fill { shape, ..op.clone() }, &[]);
        }
        if let Some(op) = node.and_then(|node| node.op.get::<Iota>()) {
            if piece.stride[op.axis.0] == 1 {
                let start = op.start + piece.start[op.axis.0] as i64;
                return b.node1(Iota { shape, start, ..op.clone() }, &[]);
            }
        }
        if let Some((op, node)) = node.and_then(|node| Some((node.op.get::<BroadcastInDim>()?, node))) {
            // What is broadcast is cut before, which copies less.
            let own = &self.graph.aval(node.operands[0]).shape;
            let mut cut = all(own);
            for (i, axis) in op.axes.iter().enumerate().filter(|&(i, _)| own[i] > 1) {
                (cut.start[i], cut.limit[i]) = (piece.start[axis.0], piece.limit[axis.0]);
                cut.stride[i] = piece.stride[axis.0];
            }
            let from = self.piece(b, new, made, node.operands[0], &cut)?;
            return b.node1(BroadcastInDim { shape, axes: op.axes.clone() }, &[from]);
        }
        b.node1(piece.clone(), &[value])
    }
}

/// Whether the elements of a piece lie in rows that are read in place: it is contiguous, or its rows are no
/// shorter than a vector.
pub(super) fn has_rows(piece: &StaticSlice, aval: &Aval) -> bool {
    let (shape, sizes) = (&aval.shape, sizes(piece));
    let mut run = 1;
    for (axis, &size) in shape.iter().enumerate() {
        if size > 1 && piece.stride[axis] != 1 {
            return false;
        }
        run *= sizes[axis];
        if sizes[axis] != size {
            // Contiguous if all later axes have one element.
            let one = sizes[axis + 1..].iter().all(|&n| n == 1);
            return one || run * aval.dtype.bytes() >= ROW;
        }
    }
    true
}
