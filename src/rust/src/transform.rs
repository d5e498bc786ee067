//! Transformations of traced functions: a nested trace becomes nodes of the outer trace.

use crate::axis_names;
use crate::ffi::*;
use crate::guard::{protected, Outcome, Scope};
use crate::handle;
use crate::jit::{self, Traced};
use crate::trace::{self, Trace};
use crate::tree::Out;
use anvil_core::autodiff::{self, Linearized, Tape};
use anvil_core::batch::{self, Examples, Stacked};
use anvil_core::dtype::Ranked;
use anvil_core::error::Error;
use anvil_core::graph::Value;
use anvil_core::ops::{Convert, Custom, Derivative, If, Op, Region, Scan, While};
use anvil_core::tensor::Literal;
use std::rc::Rc;
use std::sync::Arc;

/// The innermost open trace, which the caller is in.
pub fn innermost() -> Outcome<(Rc<Trace>, SEXP)> {
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
    let list = scope.keep(protected(|| unsafe {
        out.build(&|i, names| {
            let names = Rf_protect(axis_names::fitting(made[i], names.unwrap_or(nil())));
            if names != nil() {
                axis_names::put(made[i], names);
            }
            Rf_unprotect(1);
            made[i]
        })
    })?);
    out.objects(list, scope)
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
    let list = Out::flat(pulled.len());
    let value = tracers(&trace, handle, &value, &traced.out, scope)?;
    let pulled = tracers(&trace, handle, &pulled, &list, scope)?;
    pair(value, pulled, scope)
}

/// A list of two elements, which the scope keeps.
fn pair(first: SEXP, second: SEXP, scope: &Scope) -> Outcome {
    // SAFETY: inside `protected`; both elements are kept by the scope.
    let pair = protected(|| unsafe {
        let pair = Rf_allocVector(VECSXP, 2);
        SET_VECTOR_ELT(pair, 0, first);
        SET_VECTOR_ELT(pair, 1, second);
        pair
    })?;
    Ok(scope.keep(pair))
}

/// `list(value, tangents)` of a function that was traced in a nested trace. `leaves` are its inputs and
/// `tangents` theirs, as values of the outer trace. The tangents are a flat list with one for each result:
/// zeros where it depends on no input, `NULL` where it is no float.
pub fn push_forward(graph: SEXP, leaves: SEXP, tangents: SEXP, scope: &Scope) -> Outcome {
    let traced = jit::traced(graph)?;
    let (trace, handle) = innermost()?;
    let mut inputs = values(&trace, leaves, scope)?;
    inputs.extend(&traced.outer);
    let mut given: Vec<Option<Value>> = values(&trace, tangents, scope)?.into_iter().map(Some).collect();
    given.resize(inputs.len(), None);
    let (value, moved) = {
        let mut builder = trace.builder();
        let pushed = autodiff::push(&mut builder, &traced.graph, &inputs, &given)?;
        let moved = pushed.tangents_or_zeros(&mut builder)?;
        (pushed.outputs, moved)
    };
    let floats: Vec<Value> = moved.iter().copied().flatten().collect();
    let mut number = 0..;
    let slots = moved.iter().map(|t| match t {
        Some(_) => Out::Leaf(number.next().unwrap_or(0), None),
        None => Out::Null,
    });
    let list = Out::List(slots.collect(), nil());
    let value = tracers(&trace, handle, &value, &traced.out, scope)?;
    let moved = tracers(&trace, handle, &floats, &list, scope)?;
    pair(value, moved, scope)
}

/// `list(value, list(residuals, map))` of a function that was traced in a nested trace: its results, and its
/// derivative as a graph of flat lists, from the residuals and then the tangents of its inputs to the tangents of
/// its results that are floats. `leaves` are its inputs as values of the outer trace.
pub fn linearize(graph: SEXP, leaves: SEXP, scope: &Scope) -> Outcome {
    let traced = jit::traced(graph)?;
    let (trace, handle) = innermost()?;
    let mut inputs = values(&trace, leaves, scope)?;
    let wrt: Vec<usize> = (0..inputs.len()).collect();
    inputs.extend(&traced.outer);
    let Linearized { value, linear } = autodiff::linearize(&traced.graph, &wrt)?;
    let mut made = trace.builder().inline(&value, &inputs)?;
    let residuals = made.split_off(traced.graph.outputs().len());
    let value = tracers(&trace, handle, &made, &traced.out, scope)?;
    let residuals = tracers(&trace, handle, &residuals, &Out::flat(residuals.len()), scope)?;
    let out = Rc::new(Out::flat(linear.outputs().len()));
    let map =
        handle::new(Traced { graph: linear, outer: vec![], out, rewrite: traced.rewrite }, nil(), scope)?;
    pair(value, pair(residuals, map, scope)?, scope)
}

/// The results of a graph that captures nothing, for these values of the innermost trace as its inputs.
pub fn inline(graph: SEXP, leaves: SEXP, scope: &Scope) -> Outcome {
    let traced = jit::traced(graph)?;
    let (trace, handle) = innermost()?;
    let inputs = values(&trace, leaves, scope)?;
    let made = trace.builder().inline(&traced.graph, &inputs)?;
    tracers(&trace, handle, &made, &traced.out, scope)
}

/// `list(results, batched)` of a function that was traced in a nested trace for one example, for a batch.
/// `leaves` are its inputs as values of the outer trace, with the batch axis last. `repeated` says for each
/// result whether it gets the batch axis, as its last, even if it is the same for all examples; `batched` which
/// of them have it.
pub fn stack(graph: SEXP, leaves: SEXP, size: SEXP, repeated: SEXP, scope: &Scope) -> Outcome {
    let traced = jit::traced(graph)?;
    let (trace, handle) = innermost()?;
    let mut given = Stacked::default();
    given.values = values(&trace, leaves, scope)?;
    given.batched = vec![true; given.values.len()];
    given.values.extend(&traced.outer);
    given.batched.resize(given.values.len(), false);
    let size = ints(size).first().map_or(0, |&n| n.max(0) as usize);
    let (made, batched) = {
        let mut builder = trace.builder();
        let mut made = batch::batch(&mut builder, &traced.graph, &given, Examples { size, mask: None })?;
        for (i, &repeated) in ints(repeated).iter().enumerate() {
            if repeated != 0 && !made.batched[i] {
                made.values[i] = batch::repeat(&mut builder, made.values[i], size)?;
                made.batched[i] = true;
            }
        }
        (made.values, made.batched)
    };
    let made = tracers(&trace, handle, &made, &traced.out, scope)?;
    // SAFETY: inside `protected`; the vector is written before anything else sees it.
    let flags = protected(|| unsafe {
        let flags = Rf_allocVector(LGLSXP, batched.len() as isize);
        batched.iter().enumerate().for_each(|(i, &batched)| *LOGICAL(flags).add(i) = batched.into());
        flags
    })?;
    pair(made, scope.keep(flags), scope)
}

/// The graph of a nested trace as the region of an op.
fn region(graph: SEXP) -> Outcome<Region> {
    Ok(Arc::new(jit::traced(graph)?.graph.clone()))
}

/// Adds a node to the innermost trace; returns its results as a list of tracers.
pub fn node(trace: &Trace, handle: SEXP, op: Op, operands: &[Value], scope: &Scope) -> Outcome {
    let results = trace.builder().node(op, operands)?;
    let list = Out::flat(results.len());
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

/// A loop with a condition; `init` is the state as a flat list, `bound` how often its body runs at most, or `NULL`.
/// R has checked that the state keeps its types but for ambiguity.
pub fn repeat(cond: SEXP, body: SEXP, init: SEXP, bound: SEXP, scope: &Scope) -> Outcome {
    let (trace, handle) = innermost()?;
    let mut operands = values(&trace, init, scope)?;
    let bound = (bound != nil()).then(|| ints(bound)[0].max(0) as usize);
    let (op, state) = While::from_types(&region(cond)?, &region(body)?, &types(&trace, &operands), bound)?;
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
        last: false,
        checkpoint: checkpoint != 0,
    };
    let (op, to) = op.from_types(&types(&trace, &state))?;
    converted(&trace, &mut state, to)?;
    let operands = [state, along, jit::traced(body)?.outer.clone()].concat();
    node(&trace, handle, Op::Scan(op), &operands, scope)
}

/// A function with a derivative that the user wrote. `graphs` are those of the function and of its `rule` for
/// forward mode; or of the function, its `forward` and its `backward`, with `targets`, the 1-based positions of
/// the arguments that `backward` gives gradients of.
pub fn custom(graphs: SEXP, arguments: SEXP, targets: SEXP, scope: &Scope) -> Outcome {
    let (trace, handle) = innermost()?;
    let mut operands = values(&trace, arguments, scope)?;
    let arguments = operands.len();
    let mut regions = Vec::new();
    for i in 0..len(graphs) {
        let graph = element(graphs, i);
        operands.extend(&jit::traced(graph)?.outer);
        regions.push(region(graph)?);
    }
    let mut regions = regions.into_iter();
    let (call, derivative) = match [(); 3].map(|()| regions.next()) {
        [Some(call), Some(rule), None] => (call, Derivative::Forward(rule)),
        [Some(call), Some(forward), Some(backward)] => {
            let targets = ints(targets).iter().map(|&i| i.max(1) as usize - 1).collect();
            (call, Derivative::Reverse { forward, backward, targets })
        }
        _ => return Err(Error::Internal { detail: "a function without a derivative".into() }.into()),
    };
    if call.outputs().is_empty() {
        // Nothing to differentiate. It may have effects, and a node with an effect has a result.
        trace.builder().inline(&call, &operands[..call.inputs().len()])?;
        return tracers(&trace, handle, &[], &Out::List(vec![], nil()), scope);
    }
    let op = Custom { call, arguments, derivative }.agreeing()?;
    node(&trace, handle, Op::Custom(op), &operands, scope)
}
