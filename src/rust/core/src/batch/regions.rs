//! Batches of branches and loops. Where examples differ in what they take, all of it runs, and each example
//! keeps its own.

use super::{batch as batch_graph, spread, stacked_type, Examples, Stacked};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::kernels::reductions::fold::Fold;
use crate::ops::{
    Binary, Builder, Control, Custom, Derivative, If, Op, Reduction, Region, Scan, Ternary, Unary, While,
};
use crate::shape::{Axis, Shape};
use crate::tensor::Aval;
use std::sync::Arc;

/// Adds an op that runs regions, for a batch.
pub(super) fn batch(b: &mut Builder, op: &Op, operands: &Stacked, examples: Examples) -> Result<Stacked> {
    match op.control() {
        Some(Control::If(op)) if operands.batched[0] => both(b, op, operands, examples),
        Some(Control::If(op)) => one_of(b, op, operands, examples),
        Some(Control::While(op)) => repeated(b, op, operands, examples),
        Some(Control::Scan(op)) => along(b, op, operands, examples),
        Some(Control::Custom(op)) => custom(b, op, operands, examples),
        None => Err(Error::Internal { detail: format!("`{}` runs no graphs", op.row().name) }),
    }
}

/// A region that is being batched: its outputs are made, and not yet given the batch axis that others need.
struct Lifted {
    b: Builder,
    outputs: Stacked,
    size: usize,
    mask: Option<Value>,
}

impl Lifted {
    /// A region whose inputs have the batch axis where they are marked. If there is a mask, it is one more
    /// input, the last.
    fn new(region: &Region, batched: &[bool], examples: Examples) -> Result<Lifted> {
        let (mut b, size) = (Builder::default(), examples.size);
        let inputs = inputs(&mut b, region, batched, size)?;
        let mask = match examples.mask {
            Some(_) => Some(b.input(mask_type(size)?)),
            None => None,
        };
        let given = Stacked { values: inputs, batched: batched.to_vec() };
        let outputs = batch_graph(&mut b, region, &given, Examples { size, mask })?;
        Ok(Lifted { b, outputs, size, mask })
    }

    /// Lets a condition that is one for all examples hold only if one of them runs: where none does, nothing
    /// says that the loop ends.
    fn only_if_some_run(&mut self) -> Result<()> {
        if let Some(mask) = self.mask {
            let some = any(&mut self.b, mask)?;
            self.outputs.values[0] = self.b.node1(Binary::and, &[self.outputs.values[0], some])?;
        }
        Ok(())
    }

    /// Ends it; outputs have the batch axis where they are marked.
    fn finish(mut self, marks: &[bool]) -> Result<Region> {
        let outputs = self.outputs.with(&mut self.b, marks, self.size)?;
        Ok(Arc::new(self.b.finish(outputs)))
    }
}

/// The type of a mask.
fn mask_type(size: usize) -> Result<Aval> {
    stacked_type(&Aval::known(DType::I1, Shape::scalar()), size)
}

/// New inputs of the types of a region's, with the batch axis where they are marked.
fn inputs(b: &mut Builder, region: &Region, batched: &[bool], size: usize) -> Result<Vec<Value>> {
    inputs_after(b, region, 0, batched, size)
}

/// Either of two marks.
fn either(x: &[bool], y: &[bool]) -> Vec<bool> {
    x.iter().zip(y).map(|(&x, &y)| x || y).collect()
}

/// A branch that all examples take alike.
fn one_of(b: &mut Builder, op: &If, operands: &Stacked, examples: Examples) -> Result<Stacked> {
    let first = 1 + op.branches[0].inputs().len();
    let groups = [operands.part(1..first), operands.part(first..operands.values.len())];
    let lifted = [0, 1].map(|k| Lifted::new(&op.branches[k], &groups[k].batched, examples));
    let [yes, no] = lifted;
    let (yes, no) = (yes?, no?);
    let marks = either(&yes.outputs.batched, &no.outputs.batched);
    let branches = [yes.finish(&marks)?, no.finish(&marks)?];
    let mut all = vec![operands.values[0]];
    for group in groups {
        all.extend(group.values);
        all.extend(examples.mask);
    }
    Ok(Stacked { values: b.node(If { branches }, &all)?, batched: marks })
}

/// Both branches, of which each example takes its own.
fn both(b: &mut Builder, op: &If, operands: &Stacked, examples: Examples) -> Result<Stacked> {
    let (size, pred) = (examples.size, operands.values[0]);
    let first = 1 + op.branches[0].inputs().len();
    let groups = [operands.part(1..first), operands.part(first..operands.values.len())];
    let not = b.node1(Unary::not, &[pred])?;
    let mut made = vec![];
    for ((branch, group), taken) in op.branches.iter().zip(groups).zip([pred, not]) {
        let mask = Some(and(b, examples.mask, taken)?);
        made.push(batch_graph(b, branch, &group, Examples { size, mask })?);
    }
    let (no, yes) = (made.pop().expect("two branches"), made.pop().expect("two branches"));
    let mut out = Stacked::default();
    for i in 0..yes.values.len() {
        // What both give alike for all examples needs no choice.
        let same = !yes.batched[i] && !no.batched[i] && yes.values[i] == no.values[i];
        let value = if same {
            yes.values[i]
        } else {
            let [x, y] = [&yes, &no].map(|made| made.part(i..i + 1).with(b, &[true], size));
            choose(b, pred, x?[0], y?[0])?
        };
        out.extend(Stacked { values: vec![value], batched: vec![!same] });
    }
    Ok(out)
}

/// Both masks.
fn and(b: &mut Builder, mask: Option<Value>, other: Value) -> Result<Value> {
    mask.map_or(Ok(other), |mask| b.node1(Binary::and, &[mask, other]))
}

/// Whether a mask has an example.
fn any(b: &mut Builder, mask: Value) -> Result<Value> {
    b.node1(Reduction { fold: Fold::Any, axes: vec![Axis(0)], drop: true }, &[mask])
}

/// One of two values with the batch axis, for each example.
fn choose(b: &mut Builder, mask: Value, yes: Value, no: Value) -> Result<Value> {
    if yes == no {
        return Ok(yes);
    }
    let aval = b.graph().aval(yes).clone();
    let mask = spread(b, mask, &aval)?;
    b.node1(Ternary::Select, &[mask, yes, no])
}

/// Which values of a state get the batch axis, as a fixed point: in each iteration some may come to depend on
/// others. `marks` are those of the body's inputs.
fn state(body: &Region, marks: &mut [bool], carried: usize, examples: Examples) -> Result<Lifted> {
    loop {
        let lifted = Lifted::new(body, marks, examples)?;
        let next = either(&marks[..carried], &lifted.outputs.batched[..carried]);
        if next == marks[..carried] {
            return Ok(lifted);
        }
        marks[..carried].copy_from_slice(&next);
    }
}

fn repeated(b: &mut Builder, op: &While, operands: &Stacked, examples: Examples) -> Result<Stacked> {
    let (size, carried) = (examples.size, op.carried);
    let of_body = op.cond.inputs().len();
    let [init, for_cond, for_body] =
        [0..carried, carried..of_body, of_body..operands.values.len()].map(|range| operands.part(range));
    let mut marks = [init.batched.as_slice(), &for_body.batched].concat();
    let body = state(&op.body, &mut marks, carried, examples)?;
    let mut cond = Lifted::new(&op.cond, &[&marks[..carried], &for_cond.batched].concat(), examples)?;
    if !cond.outputs.batched[0] {
        cond.only_if_some_run()?;
        let marks = &marks[..carried];
        let mut all = init.with(b, marks, size)?;
        all.extend(for_cond.values.iter().copied().chain(examples.mask));
        all.extend(for_body.values.iter().copied().chain(examples.mask));
        let (cond, body) = (cond.finish(&[false])?, body.finish(marks)?);
        let values = b.node(While { cond, body, carried, bound: op.bound }, &all)?;
        return Ok(Stacked { values, batched: marks.to_vec() });
    }
    // Examples end at different times: what changes is kept for each that has ended. The loop goes on as long
    // as one does.
    for (i, mark) in marks[..carried].iter_mut().enumerate() {
        *mark |= op.body.outputs()[i] != op.body.inputs()[i];
    }
    let of_state = &marks[..carried];
    let begun = Stacked { values: init.with(b, of_state, size)?, batched: of_state.to_vec() };
    let active = test(b, &op.cond, [&begun, &for_cond], examples)?;
    let active = and(b, examples.mask, active)?;

    let mut inner = Builder::default();
    let going = inner.input(mask_type(size)?);
    let given = inputs(&mut inner, &op.body, &marks, size)?;
    let captured = inputs_after(&mut inner, &op.cond, carried, &for_cond.batched, size)?;
    let running = Examples { size, mask: Some(going) };
    let from = Stacked { values: given.clone(), batched: marks.clone() };
    let made = batch_graph(&mut inner, &op.body, &from, running)?;
    let made = made.with(&mut inner, of_state, size)?;
    let mut next = vec![];
    for i in 0..carried {
        next.push(if marks[i] { choose(&mut inner, going, made[i], given[i])? } else { given[i] });
    }
    let after = Stacked { values: next.clone(), batched: of_state.to_vec() };
    let captured = Stacked { values: captured, batched: for_cond.batched.clone() };
    let more = test(&mut inner, &op.cond, [&after, &captured], running)?;
    let more = and(&mut inner, Some(going), more)?;
    let body = Arc::new(inner.finish([&[more], next.as_slice()].concat()));

    let mut inner = Builder::default();
    let going = inner.input(mask_type(size)?);
    inputs(&mut inner, &op.body, of_state, size)?;
    let some = any(&mut inner, going)?;
    let cond = Arc::new(inner.finish(vec![some]));

    let mut all = vec![active];
    all.extend(begun.values);
    all.extend(for_body.values);
    all.extend(for_cond.values);
    let mut values = b.node(While { cond, body, carried: carried + 1, bound: op.bound }, &all)?;
    values.remove(0);
    Ok(Stacked { values, batched: of_state.to_vec() })
}

/// New inputs of the types of a region's after the first ones.
fn inputs_after(
    b: &mut Builder,
    region: &Region,
    after: usize,
    batched: &[bool],
    size: usize,
) -> Result<Vec<Value>> {
    let avals = region.inputs()[after..].iter().map(|&v| region.aval(v));
    avals
        .zip(batched)
        .map(|(aval, &batched)| Ok(b.input(if batched { stacked_type(aval, size)? } else { aval.clone() })))
        .collect()
}

/// For each example, whether a loop goes on.
fn test(
    b: &mut Builder,
    cond: &Region,
    [state, captured]: [&Stacked; 2],
    examples: Examples,
) -> Result<Value> {
    let mut given = state.clone();
    given.extend(captured.clone());
    let made = batch_graph(b, cond, &given, examples)?;
    Ok(made.with(b, &[true], examples.size)?[0])
}

fn along(b: &mut Builder, op: &Scan, operands: &Stacked, examples: Examples) -> Result<Stacked> {
    let (size, carried) = (examples.size, op.carried);
    let mut marks = operands.batched.clone();
    let body = state(&op.body, &mut marks, carried, examples)?;
    let batched = [&marks[..carried], &body.outputs.batched[carried..]].concat();
    let body = body.finish(&batched)?;
    let mut all = operands.with(b, &marks, size)?;
    all.extend(examples.mask);
    let values = b.node(Scan { body, ..op.clone() }, &all)?;
    Ok(Stacked { values, batched })
}

/// A function with a derivative of its own keeps it. All arguments have the batch axis, so that gradients of
/// arguments do.
fn custom(b: &mut Builder, op: &Custom, operands: &Stacked, examples: Examples) -> Result<Stacked> {
    let size = examples.size;
    let arguments = operands.part(0..op.arguments).with(b, &vec![true; op.arguments], size)?;
    let lift = |region: &Region, own: usize, captured: &[bool]| -> Result<Region> {
        let marks = [vec![true; own].as_slice(), captured].concat();
        let count = region.outputs().len();
        Lifted::new(region, &marks, examples)?.finish(&vec![true; count])
    };
    let mut all = arguments;
    let mut start = op.arguments;
    // What a region captures: the operands that come next.
    let mut captures = |region: &Region, own: usize| -> Vec<bool> {
        let part = operands.part(start..start + region.inputs().len() - own);
        start += part.values.len();
        all.extend(part.values.iter().copied().chain(examples.mask));
        part.batched
    };
    let call = lift(&op.call, op.arguments, &captures(&op.call, op.arguments))?;
    let derivative = match &op.derivative {
        Derivative::Reverse { forward, backward, targets } => {
            let own = forward.outputs().len();
            Derivative::Reverse {
                forward: lift(forward, op.arguments, &captures(forward, op.arguments))?,
                backward: lift(backward, own, &captures(backward, own))?,
                targets: targets.clone(),
            }
        }
        Derivative::Forward(push) => {
            let floats = op.floats(&op.call.inputs()[..op.arguments]);
            let own = op.arguments + floats.into_iter().filter(|float| *float).count();
            Derivative::Forward(lift(push, own, &captures(push, own))?)
        }
    };
    let values = b.node(Custom { call, arguments: op.arguments, derivative }, &all)?;
    Ok(Stacked::whole(values))
}
