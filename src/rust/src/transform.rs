//! Transformations of traced functions: a nested trace becomes nodes of the trace around it.

use crate::ffi::*;
use crate::guard::{protected, Outcome, Scope};
use crate::jit;
use crate::trace::{self, Trace};
use crate::tree::Out;
use anvil_core::apply::Operand;
use anvil_core::autodiff::Tape;
use anvil_core::error::Error;
use anvil_core::graph::Value;
use anvil_core::tensor::Literal;
use std::rc::Rc;

/// The innermost open trace, which the caller is in.
fn innermost() -> Outcome<(Rc<Trace>, SEXP)> {
    trace::innermost().ok_or_else(|| Error::Internal { detail: "no trace is open".into() }.into())
}

/// The elements of a list as values of the innermost trace.
fn values(trace: &Trace, list: SEXP, scope: &Scope) -> Outcome<Vec<Value>> {
    (0..len(list)).map(|i| trace::operand(trace, element(list, i), scope).map(|x| x.value)).collect()
}

/// Values as tracers, in the structure `out`.
fn tracers(trace: &Trace, handle: SEXP, values: &[Value], out: &Out, scope: &Scope) -> Outcome {
    let mut made = Vec::with_capacity(values.len());
    for &value in values {
        let (operand, shape) = {
            let builder = trace.builder();
            (Operand::of(&builder, value), builder.graph().aval(value).shape.clone())
        };
        made.push(trace::tracer(handle, operand, &shape, scope)?);
    }
    // SAFETY: inside `protected`; the tracers are kept by the scope.
    protected(|| unsafe { out.build(&|i| made[i]) }).map(|x| scope.keep(x))
}

/// `list(value, gradients)` of a function that was traced in a nested trace. `leaves` are its inputs, as values of the
/// trace around it; `gradients` those of its outputs as a list, or `NULL` for a 1 for the first output alone.
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
        let tape = Tape::record(&mut builder, &traced.graph, &inputs)?;
        let wrt: Vec<usize> = (0..len(leaves)).collect();
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
