//! States of loops that bodies put together of parts along a short axis, and take apart, are carried in parts: `c(x, y)` for
//! each of many examples. So nothing is put together or taken apart in an iteration. Only the engine runs this pass: graphs
//! that are shown or exported carry what was written.

use super::part_folds::{fold, folded};
use super::pieces::{apart, pieces, MAX_PIECES};
use super::slices::SHORT;
use super::transposes::is_elementwise;
use super::{optimise, rebuilt};
use crate::error::Result;
use crate::graph::{Def, Value};
use crate::growth::table;
use crate::ops::{Builder, Concatenate, Control, Graph, Op, Pad, Scan, StaticSlice, While};
use crate::shape::{Axis, Shape};
use crate::tensor::Aval;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The graph with states in parts; `None` if no loop has such.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub fn carries(graph: &Graph) -> Result<Option<Graph>> {
    if !graph.nodes().iter().any(|node| is_loop(&node.op)) {
        return Ok(None);
    }
    let mut changed = false;
    let made = rebuilt(graph, |b, number, operands| {
        let made = match graph.nodes()[number].op.control() {
            Some(Control::Scan(op)) if !op.last => scan(b, op, operands)?,
            Some(Control::While(op)) => repeated(b, op, operands)?,
            _ => None,
        };
        changed |= made.is_some();
        Ok(made)
    })?;
    if changed {
        optimise(&made).map(Some)
    } else {
        Ok(None)
    }
}

fn is_loop(op: &Op) -> bool {
    matches!(op.control(), Some(Control::Scan(_) | Control::While(_)))
}

fn scan(b: &mut Builder, op: &Scan, operands: &[Value]) -> Result<Option<Vec<Value>>> {
    let inner = carries(&op.body)?;
    let body = inner.as_ref().unwrap_or(&op.body);
    let whole = |b: &mut Builder, body: Graph| {
        b.node(Scan { body: Arc::new(body), ..op.clone() }, operands).map(Some)
    };
    let Some(parts) = Parts::of(body, op.carried, None) else {
        return inner.map_or(Ok(None), |body| whole(b, body));
    };
    let Some(parted) = parts.body()? else { return inner.map_or(Ok(None), |body| whole(b, body)) };
    let given = parts.split(b, operands)?;
    let op = Scan { body: Arc::new(parted), carried: parts.count(), ..op.clone() };
    let results = b.node(op, &given)?;
    parts.joined(b, &results).map(Some)
}

fn repeated(b: &mut Builder, op: &While, operands: &[Value]) -> Result<Option<Vec<Value>>> {
    let inner = carries(&op.body)?;
    let body = inner.as_ref().unwrap_or(&op.body);
    let whole = |b: &mut Builder, body: Graph| {
        b.node(While { body: Arc::new(body), ..op.clone() }, operands).map(Some)
    };
    let Some(parts) = Parts::of(body, op.carried, Some(&op.cond)) else {
        return inner.map_or(Ok(None), |body| whole(b, body));
    };
    let Some(parted) = parts.body()? else { return inner.map_or(Ok(None), |body| whole(b, body)) };
    let given = parts.split(b, operands)?;
    let mut cond = Builder::default();
    let inputs = parts.inputs(&mut cond, &op.cond)?;
    let outputs = cond.inline(&op.cond, &inputs)?;
    let cond = Arc::new(optimise(&cond.finish(outputs))?);
    let op = While { cond, body: Arc::new(parted), carried: parts.count(), bound: op.bound };
    let results = b.node(op, &given)?;
    parts.joined(b, &results).map(Some)
}

/// The parts of a value along an axis.
fn parts_of(b: &mut Builder, value: Value, axis: Axis) -> Result<Vec<Value>> {
    let shape = b.graph().aval(value).shape.clone();
    let part = |i: usize| StaticSlice::along(&shape, axis, i..i + 1);
    (0..shape[axis.0]).map(|i| b.node1(part(i), &[value])).collect()
}

/// The state of a loop, some values of which are carried in parts.
struct Parts<'g> {
    body: &'g Graph,
    /// For each value of the state, the axis along which it has parts, if it has any.
    axes: Vec<Option<Axis>>,
    /// For each value of the body, the axis along which it is put together.
    apart: Vec<Option<Axis>>,
}

impl<'g> Parts<'g> {
    /// The state of a loop with this body and condition; `None` if nothing of it is worth it.
    fn of(body: &'g Graph, carried: usize, cond: Option<&Graph>) -> Option<Parts<'g>> {
        let mut axes: Vec<Option<Axis>> = (0..carried).map(|i| taken_apart(body, i)).collect();
        let mut may_grow = true;
        let apart = loop {
            if axes.iter().all(Option::is_none) {
                return None;
            }
            let apart = apart(body, |i| axes.get(i).copied().flatten());
            if std::mem::take(&mut may_grow) {
                // What becomes the sum of itself and of parts, is one of parts too.
                for (i, axis) in axes.iter_mut().enumerate() {
                    *axis = axis.or(apart[body.outputs()[i].index()].filter(|_| is_long(body, i)));
                }
                continue;
            }
            let stays = |(i, axis): (usize, &Option<Axis>)| {
                axis.filter(|_| apart[body.outputs()[i].index()] == *axis)
            };
            let next: Vec<Option<Axis>> = axes.iter().enumerate().map(stays).collect();
            if next == axes {
                break apart;
            }
            axes = next;
        };
        let parts = Parts { body, axes, apart };
        parts.is_worth_it(cond).then_some(parts)
    }

    /// Whether fewer values are put together then.
    fn is_worth_it(&self, cond: Option<&Graph>) -> bool {
        let mut joined: BTreeSet<Value> = BTreeSet::new();
        let mut spared = 0;
        for (number, node) in self.body.nodes().iter().enumerate() {
            joined.extend(node.operands.iter().filter(|&&v| self.reads_whole(number, v)));
            let made = node.results.first().is_some_and(|v| self.apart[v.index()].is_some());
            let joins = node.op.get::<Concatenate>().is_some() || node.op.get::<Pad>().is_some();
            spared += usize::from(made && joins);
        }
        joined.extend(self.outputs_joined());
        let read = |i: usize| {
            cond.is_some_and(|cond| {
                self.axes[i].is_some() && !reads_parts(cond, cond.inputs()[i], self.axes[i])
            })
        };
        spared > joined.len() + (0..self.axes.len()).filter(|&i| read(i)).count()
    }

    /// Outputs that are needed whole, and put together.
    fn outputs_joined(&self) -> impl Iterator<Item = Value> + '_ {
        let outputs = self.body.outputs().iter().enumerate();
        outputs.filter(|&(i, v)| self.axis(i).is_none() && self.apart[v.index()].is_some()).map(|(_, &v)| v)
    }

    /// Whether a node needs all of an operand that is put together.
    fn reads_whole(&self, number: usize, v: Value) -> bool {
        let Some(axis) = self.apart[v.index()] else { return false };
        let node = &self.body.nodes()[number];
        let together = node.results.first().is_some_and(|v| self.apart[v.index()] == Some(axis));
        let one = node.op.get::<StaticSlice>().is_some_and(|op| is_part(op, &self.body.aval(v).shape, axis));
        !together && !one && fold(self.body, node, axis).is_none()
    }

    /// The axis along which an input or output of the body has parts, if it is of the state and has any.
    fn axis(&self, i: usize) -> Option<Axis> {
        self.axes.get(i).copied().flatten()
    }

    /// Values of the state, parts counted.
    fn count(&self) -> usize {
        (0..self.axes.len()).map(|i| self.size(i)).sum()
    }

    /// The parts of a value of the state.
    fn size(&self, i: usize) -> usize {
        self.axes[i].map_or(1, |axis| self.body.aval(self.body.inputs()[i]).shape[axis.0])
    }

    /// New inputs of a region, those of the state in parts, and its own made of them.
    fn inputs(&self, b: &mut Builder, region: &Graph) -> Result<Vec<Value>> {
        let mut inputs = vec![];
        for (i, &v) in region.inputs().iter().enumerate() {
            let aval = region.aval(v).clone();
            let Some(axis) = self.axis(i) else {
                inputs.push(b.input(aval));
                continue;
            };
            let mut sizes = aval.shape.to_vec();
            let count = std::mem::replace(&mut sizes[axis.0], 1);
            let of_part = Aval { shape: Shape::try_new(sizes)?, ..aval };
            let parts: Vec<Value> = (0..count).map(|_| b.input(of_part.clone())).collect();
            inputs.push(b.node1(Concatenate { axis }, &parts)?);
        }
        Ok(inputs)
    }

    /// The body, from parts to parts; `None` if it would put values together all the same.
    fn body(&self) -> Result<Option<Graph>> {
        let mut b = Builder::default();
        let inputs = self.inputs(&mut b, self.body)?;
        let mut new: Vec<Option<Value>> = table(None, self.body.values().count());
        let mut whole: FxHashMap<Value, Value> = FxHashMap::default();
        for v in self.body.values() {
            let made = match self.body.def(v) {
                Def::Input(i) => inputs[i],
                Def::Constant(_) => return Ok(None),
                Def::Literal(literal) => b.literal(literal, self.body.aval(v).ambiguous),
                Def::Result(_, k) if k > 0 => continue,
                Def::Result(number, _) => {
                    let node = &self.body.nodes()[number];
                    let mut operands = vec![];
                    let axis = node.operands.first().and_then(|v| self.apart[v.index()]);
                    if let Some((axis, by)) = axis.and_then(|axis| Some((axis, fold(self.body, node, axis)?)))
                    {
                        let parts = new[node.operands[0].index()].expect("operands are made before");
                        new[v.index()] = Some(folded(&mut b, parts, (axis, by), self.body.aval(v))?);
                        continue;
                    }
                    for &v in &node.operands {
                        operands.push(match self.reads_whole(number, v) {
                            true => self.whole(&mut b, &new, &mut whole, v)?,
                            false => new[v.index()].expect("operands are made before"),
                        });
                    }
                    let made = b.node(node.op.clone(), &operands)?;
                    node.results.iter().zip(made).for_each(|(v, made)| new[v.index()] = Some(made));
                    continue;
                }
            };
            new[v.index()] = Some(made);
        }
        let (mut outputs, mut wanted) = (vec![], vec![]);
        for (i, &v) in self.body.outputs().iter().enumerate() {
            let value = new[v.index()].expect("outputs are made");
            match self.axis(i) {
                Some(axis) => {
                    outputs.extend(parts_of(&mut b, value, axis)?);
                    wanted.push(value);
                }
                None if self.apart[v.index()].is_some() => {
                    outputs.push(self.whole(&mut b, &new, &mut whole, v)?);
                }
                None => outputs.push(value),
            }
        }
        pieces(&b.finish(outputs), &wanted, usize::MAX)
    }

    /// A value put together of its parts.
    fn whole(
        &self,
        b: &mut Builder,
        new: &[Option<Value>],
        whole: &mut FxHashMap<Value, Value>,
        v: Value,
    ) -> Result<Value> {
        if let Some(&value) = whole.get(&v) {
            return Ok(value);
        }
        let axis = self.apart[v.index()].expect("it is put together");
        let parts = parts_of(b, new[v.index()].expect("operands are made before"), axis)?;
        let value = b.node1(Concatenate { axis }, &parts)?;
        whole.insert(v, value);
        Ok(value)
    }

    /// The operands of the loop, those of the state in parts.
    fn split(&self, b: &mut Builder, operands: &[Value]) -> Result<Vec<Value>> {
        let mut given = vec![];
        for (i, &v) in operands.iter().enumerate() {
            match self.axis(i) {
                Some(axis) => given.extend(parts_of(b, v, axis)?),
                None => given.push(v),
            }
        }
        Ok(given)
    }

    /// The results of the loop, those of the state put together.
    fn joined(&self, b: &mut Builder, results: &[Value]) -> Result<Vec<Value>> {
        let (mut joined, mut rest) = (vec![], results);
        for (i, axis) in self.axes.iter().enumerate() {
            let (own, later) = rest.split_at(self.size(i));
            joined.push(match *axis {
                Some(axis) => b.node1(Concatenate { axis }, own)?,
                None => own[0],
            });
            rest = later;
        }
        joined.extend(rest);
        Ok(joined)
    }
}

/// Whether a slice is one part along an axis.
fn is_part(op: &StaticSlice, shape: &Shape, axis: Axis) -> bool {
    let whole = |i: usize| op.start[i] == 0 && op.limit[i] == shape[i] && op.stride[i] == 1;
    op.limit[axis.0] - op.start[axis.0] == 1 && (0..shape.rank()).all(|i| i == axis.0 || whole(i))
}

/// Whether nodes read single parts of a value alone.
fn reads_parts(graph: &Graph, v: Value, axis: Option<Axis>) -> bool {
    let shape = &graph.aval(v).shape;
    let part = |op: &Op| op.get::<StaticSlice>().zip(axis).is_some_and(|(op, axis)| is_part(op, shape, axis));
    graph.nodes().iter().filter(|node| node.operands.contains(&v)).all(|node| part(&node.op))
        && !graph.outputs().contains(&v)
}

/// Whether a value of the state is no handful of numbers, which are carried one by one anyway.
fn is_long(body: &Graph, i: usize) -> bool {
    body.aval(body.inputs()[i]).shape.size() > SHORT
}

/// The axis along which a body reads a part of a long value of the state.
fn taken_apart(body: &Graph, i: usize) -> Option<Axis> {
    let v = body.inputs()[i];
    let shape = &body.aval(v).shape;
    if !is_long(body, i) {
        return None;
    }
    let short = (0..shape.rank()).map(Axis).filter(|axis| (2..=MAX_PIECES).contains(&shape[axis.0]));
    let mut like = table(false, body.values().count());
    like[v.index()] = true;
    let mut parts = vec![];
    for node in body.nodes() {
        if !node.operands.first().is_some_and(|v| like[v.index()]) {
            continue;
        }
        match node.op.get::<StaticSlice>() {
            Some(op) => parts.push(op),
            // In another type, say.
            None if node.operands.len() == 1 && is_elementwise(body, node) => {
                like[node.results[0].index()] = true;
            }
            None => {}
        }
    }
    short.into_iter().find(|&axis| parts.iter().any(|op| is_part(op, shape, axis)))
}
