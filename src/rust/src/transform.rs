//! Transformations of traced functions: a nested trace becomes nodes of the outer trace.

use crate::ffi::*;
use crate::guard::{protected, Outcome, Scope};
use crate::jit;
use crate::trace::{self, Trace};
use crate::tree::Out;
use anvil_core::autodiff::Tape;
use anvil_core::dtype::Ranked;
use anvil_core::error::Error;
use anvil_core::graph::Value;
use anvil_core::ops::{Convert, Custom, Derivative, If, Op, Region, Scan, While};
use anvil_core::tensor::Literal;
use std::rc::Rc;
use std::sync::Arc;

/// The innermost open trace, which the caller is in.
fn innermost() -> Outcome<(Rc<Trace>, SEXP)> {
    trace::innermost().ok_or_else(|| Error::Internal { detail: "no trace is open".into() }.into())
}

/// The elements of a list as values of the innermost trace.
fn values(trace: &Trace, list: SEXP, scope: &Scope) -> Outcome<Vec<Value>> {
    (0..len(list)).map(|i| trace::operand(trace, element(list, i), scope)).collect()
}

/// Values as tracers, in the structure `out`.
fn tracers(trace: &Trace, handle: SEXP, values: &[Value], out: &Out, scope: &Scope) -> Outcome {
    let mut made = Vec::with_capacity(values.len());
    for &value in values {
        made.push(trace::tracer(trace, handle, value, scope)?);
    }
    // SAFETY: inside `protected`; the tracers are kept by the scope.
    protected(|| unsafe { out.build(&|i| made[i]) }).map(|x| scope.keep(x))
}

/// `list(value, gradients)` of a function that was traced in a nested trace. `leaves` are its inputs, as
/// values of the outer trace; `gradients` those of its outputs as a list, or `NULL` for a 1 for the first
/// output alone.
pub fn pull_back(graph: SEXP, leaves: SEXP, gradients: SEXP, scope: &Scope) -> Outcome {
    let traced = jit::traced(graph)?;
    let (trace, handle) = innermost()?;
    let mut inputs = values(&trace, leaves, scope)?;
    inputs.extend(&traced.outer);
    let outputs = traced.graph.outputs();
    let given: Vec<Option<Value>> = if gradients == nil() {
        let aval = traced.graph.aval(outputs[0]);
        let one = trace.builder().literal(Literal::new(1i32).convert(aval.dtype), aval.ambiguous);
        (0..outputs.len()).map(|i| (i == 0).then_some(one)).collect()
    } else {
        values(&trace, gradients, scope)?.into_iter().map(Some).collect()
    };
    let (value, pulled) = {
        let mut builder = trace.builder();
        let wrt: Vec<usize> = (0..len(leaves)).collect();
        let tape = Tape::record(&mut builder, &traced.graph, &inputs, &wrt)?;
        let pulled = tape.pull(&mut builder, &given, &wrt)?;
        (tape.outputs(), pulled)
    };
    let list = Out::List((0..pulled.len()).map(Out::Leaf).collect(), nil());
    let value = tracers(&trace, handle, &value, &traced.out, scope)?;
    let pulled = tracers(&trace, handle, &pulled, &list, scope)?;
    // SAFETY: inside `protected`; both elements are kept by the scope.
    let pair = protected(|| unsafe {
        let pair = Rf_allocVector(VECSXP, 2);
        SET_VECTOR_ELT(pair, 0, value);
        SET_VECTOR_ELT(pair, 1, pulled);
        pair
    })?;
    Ok(scope.keep(pair))
}

/// The graph of a nested trace as the region of an op.
fn region(graph: SEXP) -> Outcome<Region> {
    Ok(Arc::new(jit::traced(graph)?.graph.clone()))
}

/// Adds a node to the innermost trace; returns its results as a list of tracers.
fn node(trace: &Trace, handle: SEXP, op: Op, operands: &[Value], scope: &Scope) -> Outcome {
    let results = trace.builder().node(op, operands)?;
    let list = Out::List((0..results.len()).map(Out::Leaf).collect(), nil());
    tracers(trace, handle, &results, &list, scope)
}

/// Types of values of a trace.
fn types(trace: &Trace, values: &[Value]) -> Vec<Ranked> {
    values.iter().map(|&v| trace.builder().graph().aval(v).ranked()).collect()
}

/// Values in the types of a loop's state, which differ from theirs in ambiguity only.
fn converted(trace: &Trace, values: &mut [Value], to: Vec<Ranked>) -> Outcome<()> {
    let mut builder = trace.builder();
    for (value, to) in values.iter_mut().zip(to) {
        if builder.graph().aval(*value).dtype != to.stored() {
            *value = builder.node1(Op::Convert(Convert { to }), &[*value])?;
        }
    }
    Ok(())
}

/// A branch; R has checked that both regions have results of the same types but for ambiguity.
pub fn branch(pred: SEXP, yes: SEXP, no: SEXP, scope: &Scope) -> Outcome {
    let (trace, handle) = innermost()?;
    let mut operands = vec![trace::operand(&trace, pred, scope)?];
    operands.extend(&jit::traced(yes)?.outer);
    operands.extend(&jit::traced(no)?.outer);
    let op = If::from_branches(&region(yes)?, &region(no)?)?;
    node(&trace, handle, Op::If(op), &operands, scope)
}

/// A loop with a condition; `init` is the state as a flat list. R has checked that the state keeps its types but for
/// ambiguity.
pub fn repeat(cond: SEXP, body: SEXP, init: SEXP, scope: &Scope) -> Outcome {
    let (trace, handle) = innermost()?;
    let mut operands = values(&trace, init, scope)?;
    let (op, state) = While::from_types(&region(cond)?, &region(body)?, &types(&trace, &operands))?;
    converted(&trace, &mut operands, state)?;
    operands.extend(&jit::traced(cond)?.outer);
    operands.extend(&jit::traced(body)?.outer);
    node(&trace, handle, Op::While(op), &operands, scope)
}

/// A loop along the first axis of `xs`; `init` and `xs` are flat lists, `options` are length, reverse,
/// checkpoint.
pub fn scan(body: SEXP, init: SEXP, xs: SEXP, options: SEXP, scope: &Scope) -> Outcome {
    let (trace, handle) = innermost()?;
    let mut state = values(&trace, init, scope)?;
    let along = values(&trace, xs, scope)?;
    let (carried, sliced) = (state.len(), along.len());
    let [length, reverse, checkpoint] = [0, 1, 2].map(|i| ints(options)[i].max(0));
    let op = Scan {
        body: region(body)?,
        carried,
        sliced,
        length: length as usize,
        reverse: reverse != 0,
        checkpoint: checkpoint != 0,
    };
    let (op, to) = op.from_types(&types(&trace, &state))?;
    converted(&trace, &mut state, to)?;
    let operands = [state, along, jit::traced(body)?.outer.clone()].concat();
    node(&trace, handle, Op::Scan(op), &operands, scope)
}

/// A function with a derivative that the user wrote. `graphs` are those of the function, its `forward` and
/// its `backward`; `targets` are the 1-based positions of the arguments that `backward` gives gradients of.
pub fn custom(graphs: SEXP, arguments: SEXP, targets: SEXP, scope: &Scope) -> Outcome {
    let (trace, handle) = innermost()?;
    let mut operands = values(&trace, arguments, scope)?;
    let arguments = operands.len();
    let [call, forward, backward] = [0, 1, 2].map(|i| element(graphs, i));
    for graph in [call, forward, backward] {
        operands.extend(&jit::traced(graph)?.outer);
    }
    let targets = ints(targets).iter().map(|&i| i.max(1) as usize - 1).collect();
    let (call, forward, backward) = (region(call)?, region(forward)?, region(backward)?);
    let op = Custom { call, arguments, derivative: Derivative::Reverse { forward, backward, targets } }
        .agreeing()?;
    node(&trace, handle, Op::Custom(op), &operands, scope)
}
