//! Formulas with loops: a scan becomes a loop with a counter.

use crate::dtype::DType;
use crate::error::Result;
use crate::graph::Value;
use crate::ops::{
    Builder, Check, Compare, DynamicSlice, DynamicUpdateSlice, Math, Op, Region, Scan, Var, While,
};
use crate::shape::Shape;
use crate::tensor::{Aval, Literal};
use std::sync::Arc;

/// A graph on inputs of these types.
pub(super) fn region(
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

/// Types of values.
pub(super) fn types(values: &[Var]) -> Vec<Aval> {
    values.iter().map(|x| x.aval()).collect()
}

/// The state after a loop that repeats `body` as long as `condition`, a 0-d boolean, holds.
pub(super) fn repeat_while<'m, 'b>(
    math: &'m Math<'b>,
    state: &[Var<'m, 'b>],
    condition: impl for<'x, 'y> FnOnce(&[Var<'x, 'y>]) -> Var<'x, 'y>,
    body: impl for<'x, 'y> FnOnce(&[Var<'x, 'y>]) -> Vec<Var<'x, 'y>>,
) -> Vec<Var<'m, 'b>> {
    let given = types(state);
    let cond = region(&given, |state, _| Ok(vec![condition(state)]));
    let made = cond.and_then(|cond| {
        let body = region(&given, |state, _| Ok(body(state)))?;
        Ok(While { cond, body, carried: state.len(), bound: None })
    });
    match made {
        Ok(op) => math.apply_all(Op::While(op), state),
        Err(error) => {
            math.fail(error);
            vec![]
        }
    }
}

/// A loop whose state is a counter, the state of the scan, and the stacked results so far.
pub(super) fn scan<'m, 'b>(
    op: &Scan,
    operands: &[Var<'m, 'b>],
    math: &'m Math<'b>,
) -> Result<Vec<Var<'m, 'b>>> {
    let (state, rest) = operands.split_at(op.carried);
    let mut stacked = Vec::new();
    for &slice in &op.body.outputs()[op.carried..] {
        let aval = op.stacked(op.body.aval(slice))?;
        stacked.push(math.literal(Literal::new(0i64).convert(aval.dtype), &aval.shape));
    }
    if op.length == 0 {
        return Ok([state, &stacked].concat());
    }
    let dtype = if i32::try_from(op.length).is_ok() { DType::I32 } else { DType::I64 };
    let zero = math.literal(Literal::new(0i64).convert(dtype), &Shape::scalar());
    let init = [&[zero], state, &stacked[..]].concat();
    let cond = region(&types(&init), |state, _| {
        Ok(vec![state[0].compare(Compare::lt, state[0].integer(op.length as i64))])
    })?;
    let given = types(&[&init[..], rest].concat());
    let carried = init.len();
    let body = region(&given, |inputs, math| {
        let (all, rest) = inputs.split_at(carried);
        let (along, rest) = rest.split_at(op.sliced);
        let (count, state) = (all[0], &all[1..1 + op.carried]);
        let at = if op.reverse { count.integer(op.length as i64 - 1) - count } else { count };
        let starts = |rank: usize| -> Vec<Var> {
            (0..rank).map(|i| if i == op.axis(rank) { at } else { at.of(0.0) }).collect()
        };
        let slices = along.iter().map(|x| {
            let (mut sizes, rank) = (x.aval().shape.to_vec(), x.aval().shape.rank());
            sizes[op.axis(rank)] = 1;
            let slice = DynamicSlice { sizes: sizes.clone(), check: Check::Silent };
            sizes.remove(op.axis(rank));
            x.apply(Op::DynamicSlice(slice), &starts(rank)).reread(sizes)
        });
        let inputs: Vec<Var> = state.iter().copied().chain(slices).chain(rest.iter().copied()).collect();
        let made = math.inline(&op.body, &inputs)?;
        let (next, parts) = made.split_at(op.carried);
        let parts = parts.iter().zip(&all[1 + op.carried..]).map(|(part, so_far)| {
            let (mut sizes, rank) = (so_far.aval().shape.to_vec(), so_far.aval().shape.rank());
            sizes[op.axis(rank)] = 1;
            so_far.apply(
                Op::DynamicUpdateSlice(DynamicUpdateSlice { check: Check::Silent }),
                &[&[part.reread(sizes)], &starts(rank)[..]].concat(),
            )
        });
        let count = count + count.of(1.0);
        Ok([count].into_iter().chain(next.iter().copied()).chain(parts).collect())
    })?;
    let last =
        math.apply_all(Op::While(While { cond, body, carried, bound: None }), &[&init[..], rest].concat());
    Ok(last.into_iter().skip(1).collect())
}
