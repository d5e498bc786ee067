//! Loop fission: what iterations compute of their slices alone is computed before a loop, and what no later iteration reads
//! is computed after it, for all iterations at once. So a scan of `tanh(W %*% h + U %*% x)` multiplies all `x` by `U` in one
//! product, and what it adds up of each iteration, as gradients do, becomes one product or one sum.
//!
//! Products and folds may add in another order for many iterations than for one, so this is a rewrite that whoever compiles a
//! program asks for, as [`packs`](super::packs()) of all ops are. `choice` says what leaves a loop; `totals` is about sums over
//! iterations, `reads` about loops that count.

mod choice;
mod reads;
mod totals;

use super::slices::transposed;
use super::{flagged, optimise, rebuilt, within_regions};
use crate::batch::{batch_node, repeat, Examples, Stacked};
use crate::error::Result;
use crate::graph::{Def, Value};
use crate::growth::table;
use crate::ops::{Builder, Control, Graph, Op, Scan, Transpose};
use choice::Split;
use reads::Sliced;
use std::sync::Arc;

/// Iterations, at least: what fewer compute is computed as fast in the loop.
const LENGTH: usize = 4;

/// The graph in which loops compute less; `None` if no loop does.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub fn fission(graph: &Graph) -> Result<Option<Graph>> {
    if !has_loop(graph) {
        return Ok(None);
    }
    // As it was traced, a loop has what does not change in its body.
    split(&optimise(graph)?)
}

fn has_loop(graph: &Graph) -> bool {
    let is_loop = |op: &Op| matches!(op.control(), Some(Control::Scan(_)));
    let inside = |op: &Op| op.regions().iter().any(|(_, region)| has_loop(region));
    graph.nodes().iter().any(|node| is_loop(&node.op) || inside(&node.op))
}

fn split(graph: &Graph) -> Result<Option<Graph>> {
    let inner = within_regions(graph, split)?;
    let graph = inner.as_ref().unwrap_or(graph);
    let mut found = false;
    let made = rebuilt(graph, |b, number, operands| {
        let node = &graph.nodes()[number];
        let Some(Control::Scan(op)) = node.op.control() else { return Ok(None) };
        if op.length < LENGTH || op.last {
            return Ok(None);
        }
        if let Some(sliced) = Sliced::of(graph, op, &node.operands)? {
            if let Some(split) = Split::of(&sliced.op) {
                found = true;
                let operands = sliced.operands(b, operands)?;
                return Parts::of(&sliced.op, split).make(b, &operands).map(Some);
            }
        }
        let Some(split) = Split::of(op) else { return Ok(None) };
        found = true;
        Parts::of(op, split).make(b, operands).map(Some)
    })?;
    if found {
        optimise(&made).map(Some)
    } else {
        Ok(inner)
    }
}

/// A loop and what is computed around it.
struct Parts<'g> {
    op: &'g Scan,
    split: Split,
    /// Values of the body outside of the loop, for all iterations: whether they have a last axis along these.
    out: Vec<Option<(Value, bool)>>,
}

impl<'g> Parts<'g> {
    fn of(op: &'g Scan, split: Split) -> Parts<'g> {
        Parts { op, split, out: table(None, op.body.values().count()) }
    }

    /// The results of the loop.
    fn make(mut self, b: &mut Builder, operands: &[Value]) -> Result<Vec<Value>> {
        let body = &self.op.body;
        let (carried, sliced) = (self.op.carried, self.op.sliced);
        for (i, &v) in body.inputs().iter().enumerate().skip(carried) {
            let is_slice = i < carried + sliced;
            let value = if is_slice { last(b, operands[i])? } else { operands[i] };
            self.out[v.index()] = Some((value, is_slice));
        }
        for v in body.values() {
            if let Def::Literal(literal) = body.def(v) {
                self.out[v.index()] = Some((b.literal(literal, body.aval(v).ambiguous), false));
            }
        }
        self.compute(b, true)?;
        let states = self.repeated(b, operands)?;
        self.compute(b, false)?;
        let mut results = vec![];
        for (i, (&v, state)) in body.outputs().iter().zip(states).enumerate() {
            results.push(match state {
                Some(value) => value,
                None if i < carried => self.total(b, i, operands[i])?,
                None => {
                    let all = self.all(b, v)?;
                    first(b, all)?
                }
            });
        }
        Ok(results)
    }

    /// Computes what is outside of the loop, before it or after it.
    fn compute(&mut self, b: &mut Builder, before: bool) -> Result<()> {
        let examples = Examples { size: self.op.length, mask: None };
        for (number, node) in self.op.body.nodes().iter().enumerate() {
            if !self.split.outside[number] || self.split.before[number] != before {
                continue;
            }
            let mut given = Stacked::default();
            for v in &node.operands {
                let (value, batched) = self.out[v.index()].expect("it is computed outside, too");
                given.values.push(value);
                given.batched.push(batched);
            }
            let made = batch_node(b, &node.op, &given, examples)?;
            for ((v, value), batched) in node.results.iter().zip(made.values).zip(made.batched) {
                let value = flagged(b, value, self.op.body.aval(*v).ambiguous)?;
                self.out[v.index()] = Some((value, batched));
            }
        }
        Ok(())
    }

    /// A value outside of the loop, with the axis along iterations.
    fn all(&self, b: &mut Builder, v: Value) -> Result<Value> {
        let (value, batched) = self.out[v.index()].expect("it is computed outside");
        if batched {
            Ok(value)
        } else {
            repeat(b, value, self.op.length)
        }
    }

    /// What is left of the loop: its results, if it still has them.
    fn repeated(&mut self, b: &mut Builder, operands: &[Value]) -> Result<Vec<Option<Value>>> {
        let (op, body, split) = (self.op, &self.op.body, &self.split);
        let (carried, sliced) = (op.carried, op.sliced);
        let (stay, rest) = operands.split_at(carried + sliced);
        let mut made = Builder::default();
        let mut inside: Vec<Option<Value>> = table(None, body.values().count());
        let mut given = vec![];
        let input = |made: &mut Builder, v: Value| made.input(body.aval(v).clone());
        for (i, &operand) in stay.iter().enumerate() {
            let v = body.inputs()[i];
            if i >= carried || !split.is_total(i) {
                inside[v.index()] = Some(input(&mut made, v));
                given.push(operand);
            }
        }
        // What differs between iterations is a slice of it.
        let (varies, same): (Vec<Value>, Vec<Value>) =
            split.given.iter().partition(|v| self.out[v.index()].is_some_and(|(_, batched)| batched));
        for &v in &varies {
            inside[v.index()] = Some(input(&mut made, v));
            let all = self.all(b, v)?;
            given.push(first(b, all)?);
        }
        for (&v, &operand) in body.inputs()[carried + sliced..].iter().zip(rest) {
            inside[v.index()] = Some(input(&mut made, v));
            given.push(operand);
        }
        for &v in &same {
            inside[v.index()] = Some(input(&mut made, v));
            given.push(self.out[v.index()].expect("it is computed before").0);
        }
        for v in body.values() {
            if let Def::Literal(literal) = body.def(v) {
                inside[v.index()] = Some(made.literal(literal, body.aval(v).ambiguous));
            }
        }
        for (node, _) in body.nodes().iter().zip(&split.inside).filter(|(_, &inside)| inside) {
            let of = |v: &Value| inside[v.index()].expect("it is computed inside");
            let operands: Vec<Value> = node.operands.iter().map(of).collect();
            let results = made.node(node.op.clone(), &operands)?;
            node.results.iter().zip(results).for_each(|(v, value)| inside[v.index()] = Some(value));
        }
        // A result that stays, or a value that is read after the loop.
        let stays = |&i: &usize| if i < carried { !split.is_total(i) } else { !split.leaves(body, i) };
        let kept: Vec<usize> = (0..body.outputs().len()).filter(stays).collect();
        let mut stacked: Vec<Value> = kept.iter().map(|&i| body.outputs()[i]).collect();
        stacked.extend(&split.stacked);
        let outputs = stacked.iter().map(|v| inside[v.index()].expect("it is computed inside")).collect();
        let mut states = vec![None; body.outputs().len()];
        if stacked.is_empty() {
            return Ok(states);
        }
        let left = Scan {
            body: Arc::new(made.finish(outputs)),
            carried: kept.iter().filter(|&&i| i < carried).count(),
            sliced: sliced + varies.len(),
            ..op.clone()
        };
        let results = b.node(left, &given)?;
        for (&i, &value) in kept.iter().zip(&results) {
            states[i] = Some(value);
        }
        for (v, &value) in split.stacked.iter().zip(&results[kept.len()..]) {
            self.out[v.index()] = Some((last(b, value)?, true));
        }
        Ok(states)
    }
}

/// A value whose first axis is along iterations, with that axis last.
fn last(b: &mut Builder, value: Value) -> Result<Value> {
    let rank = b.graph().aval(value).shape.rank();
    transposed(b, value, Transpose::first_to_end(rank))
}

/// A value whose last axis is along iterations, with that axis first.
fn first(b: &mut Builder, value: Value) -> Result<Value> {
    let rank = b.graph().aval(value).shape.rank();
    transposed(b, value, Transpose::inverse(&Transpose::first_to_end(rank)))
}
