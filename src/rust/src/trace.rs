//! Traces: graphs under construction, the tracers that stand for their values, and what they capture.
//!
//! This module owns the stack of open traces. A trace is open for the [extent](crate::extent) of the function
//! that is traced, so that none is left open. Tracers of a trace that has ended are refused.

use crate::ffi::*;
use crate::guard::{protected, Exit, Outcome, Scope};
use crate::handle::{self, Held};
use crate::path;
use crate::settings;
use crate::tracer;
use crate::value::{self, Tensor};
use crate::vector;
use anvil_core::apply::Defaults;
use anvil_core::dtype::{DType, Ranked};
use anvil_core::error::{Error, Result};
use anvil_core::graph::{Def, Value};
use anvil_core::kernels::cast;
use anvil_core::ops::layout::Order;
use anvil_core::ops::{BroadcastInDim, Builder, Convert, Graph, Op, Reshape};
use anvil_core::shape::Shape;
use anvil_core::tensor::{Aval, Literal};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::rc::Rc;

/// Values of the outer trace, in the order of the inputs that stand for them, and these inputs.
#[derive(Default)]
struct Outer {
    values: Vec<Value>,
    inputs: HashMap<Value, Value>,
}

/// A graph under construction.
pub struct Trace {
    /// Name of the traced function, for messages.
    name: String,
    builder: RefCell<Builder>,
    open: Cell<bool>,
    /// Whether it is nested: part of the trace around it, whose values it may use, as for a loop's body or a
    /// function to differentiate.
    nested: bool,
    /// Captured vectors of R by address; the handle keeps them alive. A nested trace has none of its own.
    captured: RefCell<HashMap<usize, Value>>,
    /// Constants by type and bytes, short ones: code that is written twice, such as `g %in% c(1, 3)`, makes equal vectors, of
    /// which equal nodes are made.
    constants: RefCell<HashMap<(Aval, Vec<u8>), Value>>,
    /// Values of the outer trace that it uses, each with the input that stands for it.
    outer: RefCell<Outer>,
}

thread_local! {
    /// Open traces and their handles, which R keeps alive while they are open.
    static STACK: RefCell<Vec<(Rc<Trace>, SEXP)>> = const { RefCell::new(Vec::new()) };
}

/// The innermost open trace, and its handle.
pub fn innermost() -> Option<(Rc<Trace>, SEXP)> {
    STACK.with_borrow(|stack| stack.last().cloned())
}

impl Held for Rc<Trace> {
    const TAG: &'static CStr = c"anvil_trace";
}

/// The trace behind its handle.
fn of_handle(x: SEXP) -> Option<Rc<Trace>> {
    handle::get::<Rc<Trace>>(x).cloned()
}

/// Opens a trace, as an extent; returns its handle.
pub fn open(name: SEXP, nested: SEXP, scope: &Scope) -> Outcome {
    let name = string(name).unwrap_or_else(|| "a function".into());
    let trace = Rc::new(Trace {
        name,
        builder: RefCell::default(),
        open: Cell::new(true),
        nested: value::flag_of(nested).unwrap_or(false) && depth() > 0,
        captured: RefCell::default(),
        constants: RefCell::default(),
        outer: RefCell::default(),
    });
    let handle = handle::new(trace.clone(), nil(), scope)?;
    STACK.with_borrow_mut(|stack| stack.push((trace, handle)));
    Ok(handle)
}

/// Closes the traces that were opened since there were `depth`.
pub fn close_to(depth: usize) {
    let closed = STACK.with_borrow_mut(|stack| stack.split_off(depth.min(stack.len())));
    closed.iter().for_each(|(trace, _)| trace.open.set(false));
}

/// Number of open traces.
pub fn depth() -> usize {
    STACK.with_borrow(Vec::len)
}

impl Trace {
    /// The graph under construction.
    pub fn builder(&self) -> std::cell::RefMut<'_, Builder> {
        self.builder.borrow_mut()
    }

    /// Whether it is nested.
    pub fn is_nested(&self) -> bool {
        self.nested
    }

    /// The finished graph, and the values of the outer trace that its last inputs stand for.
    pub fn finish(&self, outputs: Vec<Value>) -> (Graph, Vec<Value>) {
        let outer = self.outer.borrow().values.clone();
        (self.builder.take().finish(outputs), outer)
    }

    /// A value of the outer trace, as a value of this one.
    fn lift(&self, around: &Trace, value: Value) -> Value {
        let (def, aval) = {
            let builder = around.builder();
            (builder.graph().def(value), builder.graph().aval(value).clone())
        };
        if let Def::Literal(literal) = def {
            return self.builder().literal(literal, aval.ambiguous);
        }
        if let Some(&input) = self.outer.borrow().inputs.get(&value) {
            return input;
        }
        let input = self.builder().input(aval);
        let mut outer = self.outer.borrow_mut();
        outer.values.push(value);
        outer.inputs.insert(value, input);
        input
    }
}

/// Lifts a value of the trace at a depth of the stack to the innermost one.
fn lift_from(depth: usize, mut value: Value) -> Value {
    let traces: Vec<Rc<Trace>> =
        STACK.with_borrow(|stack| stack[depth..].iter().map(|(t, _)| t.clone()).collect());
    for pair in traces.windows(2) {
        value = pair[1].lift(&pair[0], value);
    }
    value
}

// ---- tracers -------------------------------------------------------------------------------------------------------

/// Makes the tracer of a value; it holds `list(dtype, ambiguous, trace)`.
pub fn tracer(trace: &Trace, handle: SEXP, value: Value, scope: &Scope) -> Outcome {
    let aval = trace.builder().graph().aval(value).clone();
    let shape = &aval.shape;
    value::check_sizes(shape)?;
    let index = value.index();
    let Ranked { dtype, ambiguous } = aval.ranked();
    // SAFETY: inside `protected`; objects are protected before the next is made.
    let x = protected(|| unsafe {
        let held = Rf_protect(Rf_allocVector(VECSXP, 3));
        SET_VECTOR_ELT(held, 0, value::name_of_dtype(dtype));
        SET_VECTOR_ELT(held, 1, value::flag(ambiguous));
        SET_VECTOR_ELT(held, 2, handle);
        let x = Rf_protect(tracer::new(dtype, held, index, shape.size()));
        value::mark_tracer(x, shape);
        Rf_unprotect(2);
        x
    })?;
    Ok(scope.keep(x))
}

fn leaked<T>(trace: &str, state: &str) -> Result<T> {
    Err(Error::LeakedTracer { trace: trace.into(), state: state.into() })
}

/// What a tracer holds, and the number of its value.
fn parts(x: SEXP) -> Result<([SEXP; 3], usize)> {
    let (held, index) = tracer::held(x).ok_or_else(|| Error::Internal { detail: "no tracer".into() })?;
    Ok(([0, 1, 2].map(|i| element(held, i)), index))
}

/// The type of a tracer as R reads it: `(dtype, ambiguous)`.
pub fn type_of(tracer: SEXP) -> Result<[SEXP; 2]> {
    parts(tracer).map(|([dtype, ambiguous, _], _)| [dtype, ambiguous])
}

/// The shape of a tracer: its `dim`; of a vector without one its length, or no axes for one element.
pub fn shape_of(tracer: SEXP) -> Shape {
    // SAFETY: reads an attribute.
    let dim = attribute(tracer, unsafe { R_DimSymbol });
    match len(tracer) {
        _ if dim != nil() => vector::shape_of(ints(dim)),
        1 => Shape::scalar(),
        length => [length].into(),
    }
}

/// The trace of a tracer, and its depth in the stack.
///
/// # Errors
/// [`Error::LeakedTracer`] if the trace has ended, or the innermost trace is no part of it.
fn owner(tracer: SEXP) -> Result<(Rc<Trace>, usize)> {
    let ([.., handle], _) = parts(tracer)?;
    let Some(trace) = of_handle(handle) else { return leaked("another session", "ended") };
    let reached = STACK.with_borrow(|stack| {
        let depth = stack.iter().position(|(t, _)| Rc::ptr_eq(t, &trace))?;
        stack[depth + 1..].iter().all(|(t, _)| t.nested).then_some(depth)
    });
    match reached {
        Some(depth) => Ok((trace, depth)),
        None if trace.open.get() => leaked(&trace.name, "another trace inside it"),
        None => leaked(&trace.name, "ended"),
    }
}

/// Checks that the trace of a tracer has not ended.
///
/// # Errors
/// [`Error::LeakedTracer`].
pub fn check_open(tracer: SEXP) -> Result<()> {
    let ([.., handle], _) = parts(tracer)?;
    match of_handle(handle) {
        Some(trace) if trace.open.get() => Ok(()),
        Some(trace) => leaked(&trace.name, "ended"),
        None => leaked("another session", "ended"),
    }
}

/// The value that a tracer stands for in its own trace, its type, and the depth of the trace in the stack.
///
/// Functions of R that change `dim`, such as `drop()`, make a tracer of another shape: it stands for the value
/// in that shape.
pub fn own_value(tracer: SEXP) -> Outcome<(Value, Aval, usize)> {
    let (trace, depth) = owner(tracer)?;
    let (_, index) = parts(tracer)?;
    let mut builder = trace.builder();
    let found = builder.graph().values().nth(index);
    let mut value = found.ok_or_else(|| Error::Internal { detail: "a tracer without a value".into() })?;
    let mut aval = builder.graph().aval(value).clone();
    let shape = shape_of(tracer);
    if shape != aval.shape {
        value = builder.node1(Reshape { shape, order: Order::Column }, &[value])?;
        aval = builder.graph().aval(value).clone();
    }
    Ok((value, aval, depth))
}

/// The traced value of which an op of one operand makes this one in its own trace; `None` if another op makes it.
pub fn operand_of(x: SEXP, op: &Op, scope: &Scope) -> Outcome<Option<SEXP>> {
    let (value, ..) = own_value(x)?;
    let ([.., handle], _) = parts(x)?;
    let Some(trace) = of_handle(handle) else { return Ok(None) };
    let operand = {
        let builder = trace.builder();
        builder.graph().made_by(value).filter(|node| node.op == *op).map(|node| node.operands[0])
    };
    operand.map(|operand| tracer(&trace, handle, operand, scope)).transpose()
}

/// Whether two values are the same: tracers of one value, or one object.
pub fn same(x: SEXP, y: SEXP) -> Outcome {
    let value = |x| tracer::held(x).map(|(held, index)| (element(held, 2), index));
    Ok(value::flag(x == y || value(x).is_some() && value(x) == value(y)))
}

/// Whether two traced values are one, or results of the same ops on the same values, in a trace and in one around it: in
/// one trace equal nodes are made once.
pub fn equal(x: SEXP, y: SEXP) -> Outcome {
    let ((x, _, i), (y, _, j)) = (own_value(x)?, own_value(y)?);
    let ((outer, around), (inner, depth)) = if i <= j { ((x, i), (y, j)) } else { ((y, j), (x, i)) };
    let traces: Vec<Rc<Trace>> = STACK.with_borrow(|stack| stack.iter().map(|(t, _)| t.clone()).collect());
    let (mut pairs, mut seen) = (vec![(outer, inner, depth)], HashSet::new());
    while let Some((outer, inner, depth)) = pairs.pop() {
        if !seen.insert((outer, inner, depth)) || depth == around && outer == inner {
            continue;
        }
        let no = Ok(value::flag(false));
        if depth == around {
            return no;
        }
        let stands_for = |(&value, &input): (&Value, &Value)| (input == inner).then_some(value);
        if let Some(value) = traces[depth].outer.borrow().inputs.iter().find_map(stands_for) {
            pairs.push((outer, value, depth - 1));
            continue;
        }
        let (left, right) = (traces[around].builder(), traces[depth].builder());
        let (left, right) = (left.graph(), right.graph());
        let are_results = match (left.def(outer), right.def(inner)) {
            (Def::Literal(a), Def::Literal(b)) if a == b => false,
            (Def::Result(_, a), Def::Result(_, b)) if a == b => true,
            _ => return no,
        };
        if left.aval(outer) != right.aval(inner) {
            return no;
        }
        if let (true, Some(a), Some(b)) = (are_results, left.made_by(outer), right.made_by(inner)) {
            if a.op != b.op || a.op.has_effect() || a.operands.len() != b.operands.len() {
                return no;
            }
            pairs.extend(a.operands.iter().zip(&b.operands).map(|(&a, &b)| (a, b, depth)));
        }
    }
    Ok(value::flag(true))
}

/// The trace that an op on these arguments belongs to, if there is a tracer among them: the innermost.
///
/// # Errors
/// [`Error::LeakedTracer`].
pub fn trace_of(arguments: &[SEXP]) -> Result<Option<(Rc<Trace>, SEXP)>> {
    let mut found = None;
    for &tracer in arguments.iter().filter(|&&x| value::is_tracer(x)) {
        owner(tracer)?;
        found = innermost();
    }
    Ok(found)
}

/// An argument as an operand in the innermost trace: a tracer's value, a captured tensor, an R number.
pub fn operand(trace: &Trace, x: SEXP, scope: &Scope) -> Outcome<Value> {
    // `unclass()` of one is one still.
    if tracer::held(x).is_some() {
        let (value, _, depth) = own_value(x)?;
        return Ok(lift_from(depth, value));
    }
    if let Some(tensor) = Tensor::find(x)? {
        return capture(trace, &tensor);
    }
    let (dtype, shape) = number_argument(x)?;
    let ranked = settings::current()?.defaults.number_type(dtype);
    let bytes = vector::number_bytes(x, dtype)?;
    if shape.rank() == 0 {
        let literal = Literal::from_bytes(dtype, bytes.as_slice()).convert(ranked.stored());
        return Ok(trace.builder().literal(literal, ranked.default()));
    }
    let value = capture_vector(Aval::new(as_stored(ranked, dtype), shape), bytes.as_slice(), trace, scope)?;
    widened(&mut trace.builder(), value, ranked)
}

/// Captures a vector or array of R's.
fn capture_vector(aval: Aval, bytes: &[u8], trace: &Trace, scope: &Scope) -> Outcome<Value> {
    let (depth, root, _) = root()?;
    if bytes.len() <= SHORT {
        let key = (aval, bytes.to_vec());
        let known = root.constants.borrow().get(&key).copied();
        return match known {
            Some(value) => Ok(lift_from(depth, value)),
            None => capture(trace, &Tensor::read(new_tensor(&key.0, bytes, scope)?)?),
        };
    }
    capture(trace, &Tensor::read(new_tensor(&aval, bytes, scope)?)?)
}

/// The type of an R number or array as R stores it: an integer that is `i64?` by default is one of 32 bits.
fn as_stored(ranked: Ranked, stored: DType) -> Ranked {
    if ranked.stored() == stored {
        ranked
    } else {
        Ranked { dtype: stored, ..ranked }
    }
}

/// A value of type [`as_stored`], converted to its type.
fn widened(builder: &mut Builder, value: Value, to: Ranked) -> Outcome<Value> {
    if builder.graph().aval(value).dtype == to.stored() {
        return Ok(value);
    }
    Ok(builder.node1(Op::Convert(Convert { to }), &[value])?)
}

/// A new input of a graph for an R number or array, stored in this dtype, as a value of the type that it has
/// by default.
pub fn number_input(
    builder: &mut Builder,
    stored: DType,
    shape: Shape,
    defaults: Defaults,
) -> Outcome<Value> {
    let ranked = defaults.number_type(stored);
    let value = builder.input(Aval::new(as_stored(ranked, stored), shape));
    widened(builder, value, ranked)
}

/// Type and shape of an R number, vector or array.
///
/// # Errors
/// [`Error::Arg`] for anything else.
pub fn number_argument(x: SEXP) -> Result<(DType, Shape)> {
    vector::number(x).ok_or_else(|| Error::Arg {
        arg: "operand".into(),
        expected: "a tensor, or an R number, logical, vector or array of these".into(),
        got: value::describe(x),
        hint: path::advice(x),
    })
}

/// A tensor with these bytes.
pub fn new_tensor(aval: &Aval, bytes: &[u8], scope: &Scope) -> Outcome {
    value::check_sizes(&aval.shape)?;
    // SAFETY: inside `protected`; the new vector is written before anything else sees it.
    let tensor = scope.keep(protected(|| unsafe { value::new_tensor(aval) })?);
    // SAFETY: as above.
    unsafe { value::new_bytes(tensor, aval.dtype) }.copy_from_slice(bytes);
    Ok(tensor)
}

/// Positions as a 1-d tensor.
pub fn new_vector(at: &[i32], scope: &Scope) -> Outcome {
    let aval = Aval::known(DType::I32, Shape::try_new(vec![at.len()])?);
    new_tensor(&aval, cast::bytes(at), scope)
}

/// Captures a tensor: a scalar becomes a literal, and one whose elements are all the same a literal that is repeated, of
/// which a program knows more than of a constant; another tensor a constant. Constants belong to the outermost trace of
/// nested ones.
fn capture(trace: &Trace, tensor: &Tensor) -> Outcome<Value> {
    /// Elements that are looked at, at most.
    const FEW: usize = 1 << 16;
    let aval = tensor.aval();
    if (1..=FEW).contains(&aval.shape.size()) {
        let (bytes, width) = (tensor.bytes()?, aval.dtype.bytes());
        let all = bytes.as_slice();
        if all[width..] == all[..all.len() - width] {
            let literal = Literal::from_bytes(aval.dtype, &all[..width]);
            let mut builder = trace.builder();
            let one = builder.literal(literal, aval.ambiguous);
            if aval.shape.rank() == 0 {
                return Ok(one);
            }
            return Ok(builder.node1(BroadcastInDim { shape: aval.shape, axes: vec![] }, &[one])?);
        }
    }
    let (depth, ..) = root()?;
    Ok(lift_from(depth, captured_at_root(tensor)?))
}

/// Bytes of constants that are compared with others, at most.
const SHORT: usize = 1 << 14;

/// The constant of the outermost trace that a tensor is: one for all equal ones that are short.
fn captured_at_root(tensor: &Tensor) -> Outcome<Value> {
    let (_, root, handle) = root()?;
    let (key, aval) = (tensor.object as usize, tensor.aval());
    let known = root.captured.borrow().get(&key).copied();
    if let Some(value) = known.filter(|&v| *root.builder.borrow().graph().aval(v) == aval) {
        return Ok(value);
    }
    let short = match aval.bytes() <= SHORT {
        true => Some((aval.clone(), tensor.bytes()?.as_slice().to_vec())),
        false => None,
    };
    // It is not kept alive for that, so that its address says nothing.
    let equal = short.as_ref().and_then(|key| root.constants.borrow().get(key).copied());
    if let Some(equal) = equal {
        return Ok(equal);
    }
    hold(handle, tensor.object, nil())?;
    let value = root.builder().constant(aval);
    root.constants.borrow_mut().extend(short.map(|key| (key, value)));
    root.captured.borrow_mut().insert(key, value);
    Ok(value)
}

/// The outermost trace of nested ones, its depth in the stack and its handle.
fn root() -> Outcome<(usize, Rc<Trace>, SEXP)> {
    let found = STACK.with_borrow(|stack| {
        let depth = stack.iter().rposition(|(t, _)| !t.nested).unwrap_or(0);
        stack.get(depth).map(|(trace, handle)| (depth, trace.clone(), *handle))
    });
    found.ok_or_else(|| Error::Internal { detail: "no trace is open".into() }.into())
}

/// Adds an object to the list that a trace's handle keeps alive.
fn hold(handle: SEXP, x: SEXP, tag: SEXP) -> Outcome<()> {
    // SAFETY: inside `protected`; the handle is alive, and holds the list as soon as it is made.
    protected(|| unsafe {
        let held = Rf_cons(x, R_ExternalPtrProtected(handle));
        SET_TAG(held, tag);
        R_SetExternalPtrProtected(handle, held);
    })
}

/// Has an object kept alive as long as the graph under construction and its programs.
pub fn keep(x: SEXP) -> Outcome<()> {
    let (_, _, handle) = root()?;
    hold(handle, x, value::operands_symbol())
}

/// What a trace's handle keeps alive: the captured tensors, in the order of the graph's constants, and objects
/// that ops refer to.
pub fn held(handle: SEXP) -> [Vec<SEXP>; 2] {
    // SAFETY: a handle; its protected slot is the pairlist made by `hold`.
    let all: Vec<(SEXP, SEXP)> = pairs(unsafe { R_ExternalPtrProtected(handle) }).collect();
    let (constants, kept): (Vec<_>, Vec<_>) = all.into_iter().rev().partition(|&(tag, _)| tag == nil());
    [constants, kept].map(|list| list.into_iter().map(|(_, x)| x).collect())
}

/// The trace behind a handle, which must be open.
///
/// # Errors
/// [`Error::Internal`] if it is not.
pub fn opened(handle: SEXP) -> Outcome<Rc<Trace>> {
    of_handle(handle)
        .filter(|trace| trace.open.get())
        .ok_or_else(|| Exit::Error(Error::Internal { detail: "the trace is not open".into() }))
}

/// A new input of a trace for an R number or array, as a tracer.
pub fn number(trace: &Trace, handle: SEXP, stored: DType, shape: Shape, scope: &Scope) -> Outcome {
    let defaults = settings::current()?.defaults;
    let value = number_input(&mut trace.builder(), stored, shape, defaults)?;
    tracer(trace, handle, value, scope)
}

/// A new input of a trace, as a tracer.
pub fn input(trace: &Trace, handle: SEXP, aval: Aval, scope: &Scope) -> Outcome {
    let value = trace.builder().input(aval);
    tracer(trace, handle, value, scope)
}
