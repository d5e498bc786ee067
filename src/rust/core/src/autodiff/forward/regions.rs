//! Forward mode through branches and loops: regions carry tangents beside their values.

use super::{push as push_graph, typed, Pushed};
use crate::autodiff::{depends, zeros};
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::ops::{Builder, Control, Custom, Derivative, Graph, If, Op, Region, Scan, While};
use crate::tensor::Aval;
use std::sync::Arc;

/// Results of a node and their tangents.
type Made = (Vec<Value>, Vec<Option<Value>>);

/// Adds an op that runs regions, with tangents.
pub(super) fn push(b: &mut Builder, op: &Op, operands: &[Value], tangents: &[Option<Value>]) -> Result<Made> {
    match op.control() {
        Some(Control::If(op)) => push_if(b, op, operands, tangents),
        Some(Control::While(op)) => push_while(b, op, operands, tangents),
        Some(Control::Scan(op)) => push_scan(b, op, operands, tangents),
        Some(Control::Custom(custom)) => match &custom.derivative {
            Derivative::Forward(rule) => push_custom(b, custom, rule, operands, tangents),
            Derivative::Reverse { .. } => Err(none(op)),
        },
        None => Err(none(op)),
    }
}

fn none(op: &Op) -> Error {
    Error::Internal { detail: format!("`{}` has no forward derivative by its graphs", op.row().name) }
}

/// A region under construction: some groups of inputs, those of a graph among them, with tangents for some.
struct Moved<'g> {
    graph: &'g Graph,
    b: Builder,
    inputs: Vec<Value>,
    tangents: Vec<Option<Value>>,
}

impl<'g> Moved<'g> {
    fn new(graph: &'g Graph) -> Moved<'g> {
        Moved { graph, b: Builder::default(), inputs: vec![], tangents: vec![] }
    }

    /// Adds the next inputs of the graph, then a tangent for each that is marked.
    fn group(&mut self, marks: &[bool]) {
        let start = self.inputs.len();
        let avals: Vec<Aval> = self.graph.inputs()[start..start + marks.len()]
            .iter()
            .map(|&v| self.graph.aval(v).clone())
            .collect();
        self.inputs.extend(avals.iter().map(|aval| self.b.input(aval.clone())));
        self.tangents
            .extend(avals.into_iter().zip(marks).map(|(aval, &mark)| mark.then(|| self.b.input(aval))));
    }

    fn push(&mut self) -> Result<Pushed> {
        push_graph(&mut self.b, self.graph, &self.inputs, &self.tangents)
    }

    /// Ends the region with its outputs `range`, then their tangents where they are marked, for each range.
    fn finish(mut self, made: Pushed, groups: &[(std::ops::Range<usize>, &[bool])]) -> Result<Region> {
        let mut outputs = vec![];
        for (range, marks) in groups {
            outputs.extend(&made.outputs[range.clone()]);
            for (i, _) in range.clone().zip(marks.iter()).filter(|(_, mark)| **mark) {
                let aval = self.graph.aval(self.graph.outputs()[i]);
                outputs.push(made.tangents[i].map_or_else(|| zeros(&mut self.b, aval), Ok)?);
            }
        }
        Ok(Arc::new(self.b.finish(outputs)))
    }
}

/// Which tangents there are.
fn given(tangents: &[Option<Value>]) -> Vec<bool> {
    tangents.iter().map(Option::is_some).collect()
}

/// Operands of a group, then the tangents of those that are marked, in the types of a region's inputs.
fn group(
    b: &mut Builder,
    (operands, tangents): (&[Value], &[Option<Value>]),
    marks: &[bool],
    types: &[Aval],
) -> Result<Vec<Value>> {
    let mut out = operands.to_vec();
    for i in (0..operands.len()).filter(|&i| marks[i]) {
        out.push(match tangents[i] {
            Some(t) => typed(b, t, &types[i])?,
            None => zeros(b, &types[i])?,
        });
    }
    Ok(out)
}

/// Types of a region's inputs.
fn types_of(region: &Region) -> Vec<Aval> {
    region.inputs().iter().map(|&v| region.aval(v).clone()).collect()
}

/// Takes results apart: `n` values, then the tangents of those that are marked.
fn take(results: &mut impl Iterator<Item = Value>, marks: &[bool]) -> Made {
    let values: Vec<Value> = results.take(marks.len()).collect();
    let tangents = marks.iter().map(|&mark| if mark { results.next() } else { None }).collect();
    (values, tangents)
}

fn push_if(b: &mut Builder, op: &If, operands: &[Value], tangents: &[Option<Value>]) -> Result<Made> {
    let first = op.branches[0].inputs().len();
    let ends = [(1, 1 + first), (1 + first, operands.len())];
    let mut all = vec![operands[0]];
    let (mut regions, mut pushed) = (vec![], vec![]);
    for (branch, (from, to)) in op.branches.iter().zip(ends) {
        let (operands, tangents) = (&operands[from..to], &tangents[from..to]);
        let marks = given(tangents);
        all.extend(group(b, (operands, tangents), &marks, &types_of(branch))?);
        let mut region = Moved::new(branch);
        region.group(&marks);
        pushed.push(region.push()?);
        regions.push(region);
    }
    let count = op.branches[0].outputs().len();
    let marks: Vec<bool> =
        (0..count).map(|i| pushed.iter().any(|made: &Pushed| made.tangents[i].is_some())).collect();
    let mut ended =
        regions.into_iter().zip(pushed).map(|(region, made)| region.finish(made, &[(0..count, &marks)]));
    let branches = [(); 2].map(|()| ended.next().expect("two branches"));
    let [yes, no] = branches;
    let results = b.node(If { branches: [yes?, no?] }, &all)?;
    Ok(take(&mut results.into_iter(), &marks))
}

fn push_while(b: &mut Builder, op: &While, operands: &[Value], tangents: &[Option<Value>]) -> Result<Made> {
    let carried = op.carried;
    let captured = op.cond.inputs().len() - carried;
    let of_body = carried + captured;
    let mut marks = given(&tangents[..carried]);
    marks.extend(given(&tangents[of_body..]));
    let marks = depends::state(&op.body, &marks, carried);
    let (state, rest) = marks.split_at(carried);
    let types = types_of(&op.body);

    let mut body = Moved::new(&op.body);
    body.group(state);
    body.group(rest);
    let made = body.push()?;
    let body = body.finish(made, &[(0..carried, state)])?;
    // The condition reads no tangents.
    let mut cond = Moved::new(&op.cond);
    cond.group(state);
    cond.tangents.fill(None);
    cond.group(&vec![false; captured]);
    let made = cond.push()?;
    let cond = cond.finish(made, &[(0..1, &[false])])?;

    let mut all = group(b, (&operands[..carried], &tangents[..carried]), state, &types)?;
    let width = all.len();
    all.extend(&operands[carried..of_body]);
    all.extend(group(b, (&operands[of_body..], &tangents[of_body..]), rest, &types[carried..])?);
    let results = b.node(While { cond, body, carried: width, bound: op.bound }, &all)?;
    Ok(take(&mut results.into_iter(), state))
}

fn push_scan(b: &mut Builder, op: &Scan, operands: &[Value], tangents: &[Option<Value>]) -> Result<Made> {
    let (carried, sliced) = (op.carried, op.sliced);
    let marks = depends::state(&op.body, &given(tangents), carried);
    let (state, others) = marks.split_at(carried);
    let (along, rest) = others.split_at(sliced);
    let stacked = depends::outputs(&op.body, &marks).split_off(carried);
    let types = types_of(&op.body);

    let mut body = Moved::new(&op.body);
    body.group(state);
    body.group(along);
    body.group(rest);
    let made = body.push()?;
    let count = op.body.outputs().len();
    let body = body.finish(made, &[(0..carried, state), (carried..count, &stacked)])?;

    let from = carried + sliced;
    let mut all = group(b, (&operands[..carried], &tangents[..carried]), state, &types)?;
    let width = all.len();
    // The operands that are sliced have one axis more than the slices.
    all.extend(&operands[carried..from]);
    all.extend((carried..from).zip(along).filter(|(_, mark)| **mark).filter_map(|(i, _)| tangents[i]));
    let length = all.len() - width;
    all.extend(group(b, (&operands[from..], &tangents[from..]), rest, &types[from..])?);
    let op = Scan { body, carried: width, sliced: length, ..op.clone() };
    let mut results = b.node(op, &all)?.into_iter();
    let (mut values, mut moved) = take(&mut results, state);
    let (more, more_moved) = take(&mut results, &stacked);
    values.extend(more);
    moved.extend(more_moved);
    Ok((values, moved))
}

/// By the user's rule, which is part of the graph from here on.
fn push_custom(
    b: &mut Builder,
    op: &Custom,
    rule: &Region,
    operands: &[Value],
    tangents: &[Option<Value>],
) -> Result<Made> {
    let marks = op.floats(&op.call.inputs()[..op.arguments]);
    let types = types_of(&op.call);
    let arguments = (&operands[..op.arguments], &tangents[..op.arguments]);
    let mut inputs = group(b, arguments, &marks, &types)?;
    inputs.extend(op.captured(operands));
    let mut results = b.inline(rule, &inputs)?;
    let mut made = results.split_off(op.call.outputs().len()).into_iter();
    let floats = op.floats(op.call.outputs());
    let moved = floats.into_iter().map(|float| if float { made.next() } else { None }).collect();
    Ok((results, moved))
}
