//! Ambiguous floats in single precision, for targets that have no double one.

use crate::dtype::{DType, Ranked};
use crate::error::{Error, Result};
use crate::graph::{Def, Value};
use crate::growth::table;
use crate::ops::{
    Builder, Control, Convert, Custom, Derivative, Fill, Graph, If, Iota, Op, Region, Scan, Scatter, Update,
    While,
};
use crate::tensor::Aval;
use std::sync::Arc;

/// The dtype of a value once ambiguous floats are f32, and ambiguous complex numbers c64.
pub fn narrow_dtype(aval: &Aval) -> DType {
    match aval.dtype {
        DType::F64 if aval.ambiguous.is_some() => DType::F32,
        DType::C128 if aval.ambiguous.is_some() => DType::C64,
        other => other,
    }
}

/// Whether a value is an ambiguous float or complex number.
fn is_wide(aval: &Aval) -> bool {
    narrow_dtype(aval) != aval.dtype
}

/// A graph that computes ambiguous floats as f32, and ambiguous complex numbers as c64; what is known keeps
/// its dtype. Of the inputs, constants and outputs, ambiguous ones are known then.
///
/// # Errors
/// [`Error::Internal`] on a graph that is not well typed.
pub fn narrowed(graph: &Graph) -> Result<Graph> {
    let mut b = Builder::default();
    let mut new: Vec<Option<Value>> = table(None, graph.values().count());
    let known = |aval: &Aval| Aval::known(narrow_dtype(aval), aval.shape.clone());
    let keep = |aval: &Aval| if is_wide(aval) { known(aval) } else { aval.clone() };
    for &v in graph.inputs() {
        new[v.index()] = Some(b.input(keep(graph.aval(v))));
    }
    for &v in graph.constants() {
        new[v.index()] = Some(b.constant(keep(graph.aval(v))));
    }
    for v in graph.values() {
        let aval = graph.aval(v);
        if let Def::Literal(literal) = graph.def(v) {
            new[v.index()] = Some(match is_wide(aval) {
                true => b.literal(literal.convert(narrow_dtype(aval)), None),
                false => b.literal(literal, aval.ambiguous),
            });
        }
    }
    let made_before = |new: &[Option<Value>], v: Value| {
        new[v.index()].ok_or_else(|| Error::Internal { detail: "a value is read before it is made".into() })
    };
    for node in graph.nodes() {
        let operands = node.operands.iter().map(|&v| made_before(&new, v)).collect::<Result<Vec<Value>>>()?;
        // An op on ambiguous floats alone is narrow. Next to known doubles it is as it was.
        let results = match b.node(narrow_op(&node.op)?, &operands) {
            Ok(results) => results,
            Err(_) => {
                let mut wide = operands;
                for (x, &old) in wide.iter_mut().zip(&node.operands) {
                    *x = as_dtype(&mut b, *x, graph.aval(old).dtype)?;
                }
                b.node(node.op.clone(), &wide)?
            }
        };
        for (&old, made) in node.results.iter().zip(results) {
            let aval = graph.aval(old);
            let made = if is_wide(aval) { as_dtype(&mut b, made, narrow_dtype(aval))? } else { made };
            new[old.index()] = Some(made);
        }
    }
    let mut outputs = Vec::with_capacity(graph.outputs().len());
    for &v in graph.outputs() {
        let value = made_before(&new, v)?;
        outputs.push(as_dtype(&mut b, value, narrow_dtype(graph.aval(v)))?);
    }
    Ok(b.finish(outputs))
}

/// A value as one of a known dtype.
fn as_dtype(b: &mut Builder, x: Value, dtype: DType) -> Result<Value> {
    if b.graph().aval(x).dtype == dtype {
        return Ok(x);
    }
    b.node1(Convert::known(dtype), &[x])
}

/// The op on narrow operands. Its regions are narrow, too.
fn narrow_op(op: &Op) -> Result<Op> {
    let region = |region: &Region| narrowed(region).map(Arc::new);
    Ok(match op.control() {
        Some(Control::If(op)) => If { branches: [region(&op.branches[0])?, region(&op.branches[1])?] }.into(),
        Some(Control::While(op)) => {
            While { cond: region(&op.cond)?, body: region(&op.body)?, carried: op.carried, bound: op.bound }
                .into()
        }
        Some(Control::Scan(op)) => Scan { body: region(&op.body)?, ..op.clone() }.into(),
        Some(Control::Custom(op)) => {
            let derivative = match &op.derivative {
                Derivative::Reverse { forward, backward, targets } => Derivative::Reverse {
                    forward: region(forward)?,
                    backward: region(backward)?,
                    targets: targets.clone(),
                },
                Derivative::Forward(push) => Derivative::Forward(region(push)?),
            };
            Custom { call: region(&op.call)?, derivative, ..op.clone() }.into()
        }
        None => simple(op, &region)?,
    })
}

/// As [`narrow_op`], of an op that is no branch or loop.
fn simple(op: &Op, region: &dyn Fn(&Region) -> Result<Region>) -> Result<Op> {
    let to = |ranked: Ranked| narrow_dtype(&Aval::new(ranked, Default::default()));
    if let Some(convert) = op.get::<Convert>().filter(|op| op.to.ambiguous) {
        return Ok(Convert::known(to(convert.to)).into());
    }
    if let Some(iota) = op.get::<Iota>().filter(|op| op.to.ambiguous) {
        return Ok(Iota { to: Ranked::known(to(iota.to)), ..iota.clone() }.into());
    }
    if let Some(fill) = op.get::<Fill>().filter(|op| op.ambiguous.is_some()) {
        let aval = Aval { dtype: fill.value.dtype(), shape: Default::default(), ambiguous: fill.ambiguous };
        let value = fill.value.convert(narrow_dtype(&aval));
        return Ok(Fill { value, ambiguous: None, shape: fill.shape.clone() }.into());
    }
    Ok(match op.get::<Scatter>() {
        Some(scatter @ Scatter { update: Update::By(update), .. }) => {
            Scatter { update: Update::By(region(update)?), ..scatter.clone() }.into()
        }
        _ => op.clone(),
    })
}
