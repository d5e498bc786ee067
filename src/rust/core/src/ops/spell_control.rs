//! Loops of compositions: a scan is a loop with a counter, a scatter by a function that StableHLO's cannot
//! take is a scan, and formulas may have loops of their own.

use super::binary::Binary;
use super::compare::Compare;
use super::control::Region;
use super::derive::{Math, Var};
use super::spell::widened;
use super::windows::fitted;
use super::{Builder, Gather, Graph, Iota, Op, Scan, Scatter, Update, While};
use super::{DynamicSlice, DynamicUpdateSlice};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, Literal};
use std::sync::Arc;

/// A graph on inputs of these types.
fn region(
    types: &[Aval],
    body: impl for<'m, 'b> FnOnce(&[Var<'m, 'b>], &'m Math<'b>) -> Result<Vec<Var<'m, 'b>>>,
) -> Result<Region> {
    let mut builder = Builder::default();
    let inputs: Vec<Value> = types.iter().map(|aval| builder.input(aval.clone())).collect();
    let math = Math::new(&mut builder);
    let outputs = {
        let vars: Vec<Var> = inputs.iter().map(|&v| math.var(v)).collect();
        body(&vars, &math)?.into_iter().map(Var::value).collect()
    };
    math.finish()?;
    Ok(Arc::new(builder.finish(outputs)))
}

fn types(values: &[Var]) -> Vec<Aval> {
    values.iter().map(|x| x.aval()).collect()
}

impl<'m, 'b> Var<'m, 'b> {
    /// The state after a loop: `body` is repeated as long as `condition`, a 0-d boolean, holds.
    pub(super) fn repeat_while(
        self,
        state: &[Var<'m, 'b>],
        condition: impl for<'x, 'y> FnOnce(&[Var<'x, 'y>]) -> Var<'x, 'y>,
        body: impl for<'x, 'y> FnOnce(&[Var<'x, 'y>]) -> Vec<Var<'x, 'y>>,
    ) -> Vec<Var<'m, 'b>> {
        let math = self.math();
        let given = types(state);
        let cond = region(&given, |state, _| Ok(vec![condition(state)]));
        let made = cond.and_then(|cond| {
            let body = region(&given, |state, _| Ok(body(state)))?;
            Ok(While { cond, body, carried: state.len() })
        });
        match made {
            Ok(op) => math.apply_all(Op::While(op), state),
            Err(error) => {
                math.fail(error);
                vec![]
            }
        }
    }
}

impl Scan {
    /// A loop whose state is a counter, the state of the scan, and what is stacked so far.
    pub(super) fn compose<'m, 'b>(
        &self,
        operands: &[Var<'m, 'b>],
        math: &'m Math<'b>,
    ) -> Result<Vec<Var<'m, 'b>>> {
        let (state, rest) = operands.split_at(self.carried);
        let mut stacked = Vec::new();
        for &slice in &self.body.outputs()[self.carried..] {
            let aval = self.stacked(self.body.aval(slice))?;
            stacked.push(math.constant(Literal::new(0i64).convert(aval.dtype), &aval.shape));
        }
        if self.length == 0 {
            return Ok([state, &stacked].concat());
        }
        let dtype = if i32::try_from(self.length).is_ok() { DType::I32 } else { DType::I64 };
        let zero = math.constant(Literal::new(0i64).convert(dtype), &Shape::scalar());
        let init = [&[zero], state, &stacked[..]].concat();
        let cond = region(&types(&init), |state, _| {
            Ok(vec![state[0].compare(Compare::lt, state[0].integer(self.length as i64))])
        })?;
        let given = types(&[&init[..], rest].concat());
        let carried = init.len();
        let body = region(&given, |inputs, math| {
            let (all, rest) = inputs.split_at(carried);
            let (along, rest) = rest.split_at(self.sliced);
            let (count, state) = (all[0], &all[1..1 + self.carried]);
            let at = if self.reverse { count.integer(self.length as i64 - 1) - count } else { count };
            let first = |rank: usize| -> Vec<Var> {
                (0..rank).map(|i| if i == 0 { at } else { at.of(0.0) }).collect()
            };
            let slices = along.iter().map(|x| {
                let shape = x.aval().shape;
                let sizes = [&[1], &shape[1..]].concat();
                x.apply(Op::DynamicSlice(DynamicSlice { sizes }), &first(shape.rank()))
                    .reread(shape[1..].to_vec())
            });
            let inputs: Vec<Var> = state.iter().copied().chain(slices).chain(rest.iter().copied()).collect();
            let made = math.inline(&self.body, &inputs)?;
            let (next, parts) = made.split_at(self.carried);
            let parts = parts.iter().zip(&all[1 + self.carried..]).map(|(part, so_far)| {
                let shape = so_far.aval().shape;
                let part = part.reread([&[1], &shape[1..]].concat());
                so_far.apply(
                    Op::DynamicUpdateSlice(DynamicUpdateSlice),
                    &[&[part], &first(shape.rank())[..]].concat(),
                )
            });
            let count = count + count.of(1.0);
            Ok([count].into_iter().chain(next.iter().copied()).chain(parts).collect())
        })?;
        let last = math.apply_all(Op::While(While { cond, body, carried }), &[&init[..], rest].concat());
        Ok(last.into_iter().skip(1).collect())
    }
}

/// Whether a graph is formulas of its inputs and choices between such, without loops or memory: what XLA
/// takes for each element of a scatter. It ends the process on a loop there.
fn is_straight(graph: &Graph) -> bool {
    graph.nodes().iter().all(|node| match &node.op {
        // Powers of integers are loops.
        Op::Binary(Binary::pow) => graph.aval(node.results[0]).dtype.part().is_float(),
        Op::Unary(_) | Op::Predicate(_) | Op::Binary(_) | Op::Compare(_) | Op::Part(_) | Op::Complex(_) => {
            true
        }
        Op::Ternary(_) | Op::Convert(_) | Op::BitcastConvert(_) | Op::Fill(_) => true,
        Op::If(op) => op.branches.iter().all(|branch| is_straight(branch)),
        _ => false,
    })
}

impl Scatter {
    /// Whether what is done with an element is one op, or formulas without loops.
    pub(super) fn is_straight(&self) -> bool {
        self.region().is_none_or(|region| is_straight(region))
    }

    /// As a scan along the update, in its order: each element is read, updated and written back, unless its
    /// window lies outside.
    pub(super) fn one_by_one<'m, 'b>(
        &self,
        operands: &[Var<'m, 'b>],
        math: &'m Math<'b>,
    ) -> Result<Vec<Var<'m, 'b>>> {
        let (&[x, indices, update, ref captured @ ..], Update::By(function)) = (operands, &self.update)
        else {
            return Err(Error::Internal { detail: "a scatter by name needs no loop".into() });
        };
        let (shape, stack) = (x.aval().shape, update.aval().shape);
        let (size, length) = (shape.size(), stack.size());
        if size == 0 || length == 0 {
            return Ok(vec![x]);
        }
        let windows = &self.windows;
        let sizes = self.sizes(shape.rank(), &stack);
        let at = widened(&[indices])[0];
        // Where each element of the update goes: the numbers of the input's elements, gathered as they would
        // be.
        let dtype = if i32::try_from(size).is_ok() { DType::I32 } else { DType::I64 };
        let numbers = Iota { axis: Axis(0), dtype, shape: [size].into(), start: 0, ambiguous: false };
        let gather =
            Gather { windows: windows.clone(), slice_sizes: sizes.clone(), indices_are_sorted: false };
        let places = x.made(Op::Iota(numbers)).reread(shape.to_vec()).apply(Op::Gather(gather), &[at]);
        let batches: Vec<Axis> =
            (0..stack.rank()).map(Axis).filter(|axis| !windows.window_dims.contains(axis)).collect();
        let fits = fitted(at, windows, &shape, &sizes).fits.repeated(&stack, &batches);
        let line = Shape::from([length]);
        let along = [places, fits, update].map(|v| v.reshaped(&line));
        let state = x.reread(vec![size]);

        let scalar = |v: &Var| Aval { shape: Shape::scalar(), ..v.aval() };
        let mut given = vec![state.aval()];
        given.extend(along.iter().map(scalar));
        given.extend(types(captured));
        let body = region(&given, |inputs, math| {
            let &[all, place, fits, new, ref captured @ ..] = inputs else { return Ok(inputs.to_vec()) };
            let old = all.apply(Op::DynamicSlice(DynamicSlice { sizes: vec![1] }), &[place]).reread(vec![]);
            let made = math.inline(function, &[&[old, new], captured].concat())?;
            let next = fits.select(made[0], old).reread(vec![1]);
            Ok(vec![all.apply(Op::DynamicUpdateSlice(DynamicUpdateSlice), &[next, place])])
        })?;
        let scan = Scan { body, carried: 1, sliced: along.len(), length, reverse: false, checkpoint: false };
        let last = math.apply_all(Op::Scan(scan), &[&[state], &along[..], captured].concat());
        Ok(last.into_iter().map(|x| x.reread(shape.to_vec())).collect())
    }
}
