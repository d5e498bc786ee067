//! Calls of ops: `.External("anvil_op", name, operands..., attribute = ...)`.
//!
//! Untagged arguments are operands, and so are the elements of a list tagged `operands`; other tagged
//! arguments are static parameters. With a tracer among the operands the op becomes nodes of the current
//! trace; otherwise it runs at once, as a program of one op, which is cached for calls with the same types.

use crate::audit;
use crate::axis_names;
use crate::distances;
use crate::factor;
use crate::ffi::*;
use crate::guard::{protected, Outcome, Scope};
use crate::inner::is_list;
use crate::jit;
use crate::mixer::Mixer;
use crate::op_names::Named;
use crate::operands;
use crate::program::Program;
use crate::settings::{self, Settings};
use crate::trace::{self, Trace};
use crate::tracer;
use crate::tree::{deeper, list_of, Leaf, Out};
use crate::value::{self, Tensor};
use crate::vector;
use anvil_core::apply::{applies_at_positions, is_elementwise, Applier, Conversion};
use anvil_core::error::Error;
use anvil_core::exec::Executable;
use anvil_core::graph::Value;
use anvil_core::kernels::cast;
use anvil_core::ops::attrs::{Attr, Attrs};
use anvil_core::ops::{Builder, Site};
use anvil_core::tensor::Literal;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;
use std::rc::Rc;
use std::sync::Arc;

/// Eager programs in the cache, at most. When there are more, all are dropped.
const MAX_PROGRAMS: usize = 4096;

thread_local! {
    static PROGRAMS: RefCell<HashMap<Vec<u64>, Rc<Program>, BuildHasherDefault<Mixer>>> = RefCell::default();
    /// Strings of R whose addresses are words of signatures, each preserved once. There are as many as ops.
    static NAMES: RefCell<HashSet<usize>> = RefCell::default();
}

/// The arguments of one call.
struct Call {
    /// R's string, which is preserved with each program of the op, so that its address stays its identity.
    name: SEXP,
    operands: Vec<SEXP>,
    /// Name (a symbol) and value.
    attrs: Vec<(SEXP, SEXP)>,
}

impl Call {
    /// Reads the argument list of `.External()`.
    fn new(args: SEXP) -> Result<Call, Error> {
        // The first is the entry point, the second the op's name.
        let mut rest = pairs(args).skip(1);
        let name = rest.next().map_or(nil(), |(_, x)| x);
        if kind(name) != STRSXP || len(name) != 1 {
            return Err(Error::Internal { detail: "an op without a name".into() });
        }
        // SAFETY: checked to be a string vector of length 1.
        let name = unsafe { STRING_ELT(name, 0) };
        let mut call = Call { name, operands: Vec::with_capacity(4), attrs: Vec::new() };
        for (tag, x) in rest {
            if tag == value::operands_symbol() && kind(x) == VECSXP {
                call.operands.extend((0..len(x)).map(|i| element(x, i)));
            } else if tag != nil() {
                call.attrs.push((tag, x));
            } else {
                call.operands.push(x);
            }
        }
        Ok(call)
    }

    /// `list(name, operands, attributes, elementwise)`, the attributes by their names.
    fn parts(&self, scope: &Scope) -> Outcome {
        let operands = list_of(&self.operands, scope)?;
        let values: Vec<SEXP> = self.attrs.iter().map(|&(_, x)| x).collect();
        let attrs = list_of(&values, scope)?;
        // SAFETY: inside `protected`; the names are protected by the list that has them.
        let name = scope.keep(protected(|| unsafe {
            let names = Rf_protect(Rf_allocVector(STRSXP, values.len() as Length));
            for (i, &(tag, _)) in self.attrs.iter().enumerate() {
                SET_STRING_ELT(names, i as Length, PRINTNAME(tag));
            }
            Rf_setAttrib(attrs, R_NamesSymbol, names);
            Rf_unprotect(1);
            let name = Rf_allocVector(STRSXP, 1);
            SET_STRING_ELT(name, 0, self.name);
            name
        })?);
        let elementwise = is_elementwise(&text(self.name));
        list_of(&[name, operands, attrs, value::flag(elementwise)], scope)
    }

    /// What is computed of distances element by element are distances. As in R, what is compared or chosen is none.
    fn keep_distances(&self, out: SEXP) -> Outcome<()> {
        let Some(x) = distances::among(&self.operands, out).filter(|_| kind(out) != LGLSXP) else {
            return Ok(());
        };
        match text(self.name).as_str() {
            "select" => Ok(()),
            name if is_elementwise(name) => distances::follow(out, x),
            _ => Ok(()),
        }
    }

    fn attrs(&self) -> Outcome<Attrs> {
        let mut attrs = Attrs::new();
        for &(tag, x) in &self.attrs {
            // SAFETY: a tag is a symbol.
            attrs = attrs.with(&text(unsafe { PRINTNAME(tag) }), attr(x)?);
        }
        Ok(attrs)
    }

    /// Parameters that are traced functions. Values that these capture from the outer trace come after the
    /// other operands.
    fn graphs(&self) -> impl Iterator<Item = SEXP> + '_ {
        self.attrs.iter().map(|&(_, x)| x).filter(|&x| jit::is_graph(x))
    }

    fn apply(&self, applier: &mut Applier, operands: &[Value]) -> Outcome<Vec<Value>> {
        Ok(applier.apply(&text(self.name), operands, &self.attrs()?)?)
    }

    /// What it gives, with the names that it keeps of those of its operands.
    #[cold]
    fn named(&self, out: SEXP, list: bool, scope: &Scope) -> Outcome {
        Named { op: &text(self.name), operands: &self.operands, attrs: &self.attrs }.follow(out, list, scope)
    }

    /// The signature of an eager program: name, settings, parameters, types of the operands. `None` if a
    /// parameter has no words, so that the program is not cached.
    fn words(&self, settings: Settings, leaves: &[Leaf]) -> Outcome<Option<Vec<u64>>> {
        let mut words = Vec::with_capacity(8 + 4 * leaves.len());
        words.push(self.name as u64);
        words.push(settings.word());
        for &(tag, x) in &self.attrs {
            words.push(tag as u64);
            if !attr_words(x, 0, &mut words)? {
                return Ok(None);
            }
        }
        leaves.iter().for_each(|leaf| leaf.add_words(&mut words));
        Ok(Some(words))
    }
}

/// The numbers of a plain logical, integer or double vector, missing ones as NaN; `None` for anything else.
pub fn numbers(x: SEXP) -> Outcome<Option<Vec<f64>>> {
    if is_object(x) || !matches!(kind(x), LGLSXP | INTSXP | REALSXP) {
        return Ok(None);
    }
    if kind(x) == REALSXP {
        return Ok(Some(cast::slice::<f64>(vector::bytes(x, 8)?.as_slice()).to_vec()));
    }
    let bytes = vector::bytes(x, 4)?;
    let number = |&v: &i32| if v == i32::MIN { f64::NAN } else { v.into() };
    Ok(Some(cast::slice::<i32>(bytes.as_slice()).iter().map(number).collect()))
}

/// Adds the words of a parameter, which are equal exactly for equal parameters. Returns whether its kind has
/// words.
fn attr_words(x: SEXP, depth: usize, words: &mut Vec<u64>) -> Outcome<bool> {
    words.push((kind(x) as u64) << 56);
    if let Some(numbers) = numbers(x)? {
        words.push(numbers.len() as u64);
        words.extend(numbers.iter().map(|v| v.to_bits()));
    } else if let Some(text) = string(x) {
        words.push(text.len() as u64);
        words.extend(text.bytes().map(u64::from));
    } else if value::is_tensor(x) {
        let tensor = Tensor::read(x)?;
        words.extend([tensor.dtype as u64, tensor.ambiguous.into(), tensor.sizes().len() as u64]);
        words.extend(tensor.bytes()?.as_slice().iter().map(|&b| u64::from(b)));
    } else if is_list(x) {
        let depth = deeper(depth, "argument")?;
        words.push(len(x) as u64);
        for i in 0..len(x) {
            if !attr_words(element(x, i), depth, words)? {
                return Ok(false);
            }
        }
    } else {
        return Ok(kind(x) == NILSXP);
    }
    Ok(true)
}

/// A parameter as the engine reads it.
pub fn attr(x: SEXP) -> Outcome<Attr> {
    attr_at(x, 0)
}

fn attr_at(x: SEXP, depth: usize) -> Outcome<Attr> {
    Ok(match numbers(x)? {
        Some(values) if kind(x) != LGLSXP => Attr::Numbers(values),
        Some(values) if values.len() == 1 && !values[0].is_nan() => Attr::Logical(values[0] != 0.0),
        _ if kind(x) == NILSXP => Attr::Null,
        _ if jit::is_graph(x) => Attr::Graph(Arc::new(jit::traced(x)?.graph.clone())),
        _ if value::is_tensor(x) => {
            let tensor = Tensor::read(x)?;
            if tensor.shape().size() != 1 {
                return Ok(Attr::Other(format!("a tensor of shape {}", tensor.shape())));
            }
            let ranked = tensor.ranked();
            let literal = Literal::from_bytes(ranked.stored(), tensor.bytes()?.as_slice());
            Attr::Literal(literal, ranked.default())
        }
        _ if is_list(x) => {
            let depth = deeper(depth, "argument")?;
            Attr::List((0..len(x)).map(|i| attr_at(element(x, i), depth)).collect::<Outcome<_>>()?)
        }
        _ => match string(x) {
            Some(text) => Attr::Text(text),
            None => Attr::Other(value::describe(x)),
        },
    })
}

/// Runs or traces one call. `list` says whether the result is a list of all values, or the one value.
pub fn call(args: SEXP, list: bool, scope: &Scope) -> Outcome {
    let mut call = Call::new(args)?;
    if call.operands.iter().any(|&x| tracer::selected(x).is_some()) {
        let parts = call.parts(scope)?;
        // SAFETY: inside `protected`; the function calls the op on the values of the selections, or signals.
        return Ok(scope.keep(protected(|| unsafe { anvil_call_r(c"on_selections".as_ptr(), parts) })?));
    }
    if factor::is_compared(call.name, &call.operands) {
        let parts = call.parts(scope)?;
        // SAFETY: as above.
        return Ok(scope.keep(protected(|| unsafe { anvil_call_r(c"on_factors".as_ptr(), parts) })?));
    }
    operands::as_meant(call.name, &mut call.operands, scope)?;
    if let Some((trace, handle)) = owner(&call)? {
        let operands = call.operands.iter().map(|&x| trace::operand(&trace, x, scope));
        let mut operands: Vec<Value> = operands.collect::<Outcome<_>>()?;
        for graph in call.graphs() {
            operands.extend(&jit::traced(graph)?.outer);
        }
        let site = if applies_at_positions(&text(call.name)) { site(scope)? } else { Site::default() };
        let mut made = None;
        let tracer = traced(&trace, handle, site, list, scope, |applier| {
            let results = call.apply(applier, &operands)?;
            made = results.first().copied();
            Ok(results)
        })?;
        // What is left by `identity` are codes, which are compared as numbers.
        let has_levels = call.operands.iter().any(|&x| factor::levels(x).is_some());
        if let Some(made) = made.filter(|_| has_levels && !list && text(call.name) != "identity") {
            factor::follow(tracer, made, &trace, &call.operands, &operands)?;
        }
        if !list {
            call.keep_distances(tracer)?;
        }
        return match call.operands.iter().any(|&x| axis_names::has(x)) {
            true => call.named(tracer, list, scope),
            false => Ok(tracer),
        };
    }
    let leaves: Vec<Leaf> = call.operands.iter().map(|&x| leaf(x)).collect::<Outcome<_>>()?;
    let settings = settings::current()?;
    // An audited call is compiled anew: a cached program does not record conversions.
    let words = if audit::is_open() { None } else { call.words(settings, &leaves)? };
    let out =
        eager(&leaves, words, call.name, list, scope, |applier, operands| call.apply(applier, operands))?;
    if !list {
        call.keep_distances(out)?;
    }
    let has_names = |leaf: &Leaf| match leaf {
        Leaf::Tensor(tensor, _) => tensor.named,
        Leaf::Number(x, _) => axis_names::has(*x),
    };
    match leaves.iter().any(has_names) {
        true => call.named(out, list, scope),
        false => Ok(out),
    }
}

/// An operand of an eager op.
pub fn leaf(x: SEXP) -> Outcome<Leaf> {
    Ok(match Tensor::find(x)? {
        Some(tensor) => Leaf::Tensor(tensor, false),
        None => Leaf::Number(x, trace::number_argument(x)?.0),
    })
}

/// Preserves a string for the life of the process.
fn preserve(name: SEXP) -> Outcome<()> {
    if NAMES.with_borrow(|names| names.contains(&(name as usize))) {
        return Ok(());
    }
    // SAFETY: inside `protected`.
    protected(|| unsafe { R_PreserveObject(name) })?;
    NAMES.with_borrow_mut(|names| names.insert(name as usize));
    Ok(())
}

/// Runs the program that `build` makes for the leaves, cached by `words` if there are any. The first word may
/// be the address of `kept`, an object of R.
pub fn eager(
    leaves: &[Leaf],
    words: Option<Vec<u64>>,
    kept: SEXP,
    list: bool,
    scope: &Scope,
    build: impl FnOnce(&mut Applier, &[Value]) -> Outcome<Vec<Value>>,
) -> Outcome {
    let known = words.as_ref().and_then(|w| PROGRAMS.with_borrow(|programs| programs.get(w).cloned()));
    let program = match known {
        Some(program) => program,
        None => {
            let program = Rc::new(compile(leaves, list, scope, build)?);
            if let Some(words) = words {
                preserve(kept)?;
                PROGRAMS.with_borrow_mut(|programs| {
                    if programs.len() >= MAX_PROGRAMS {
                        programs.clear();
                    }
                    programs.insert(words, program.clone());
                });
            }
            program
        }
    };
    program.run(leaves, scope)
}

/// The trace that a call belongs to: that of its tracers; or the innermost one, if the call has no operands,
/// so that a tensor made while tracing is part of the program, or has a traced function as parameter.
fn owner(call: &Call) -> Outcome<Option<(Rc<Trace>, SEXP)>> {
    if let Some(found) = trace::trace_of(&call.operands)? {
        return Ok(Some(found));
    }
    Ok(if call.operands.is_empty() || call.graphs().next().is_some() { trace::innermost() } else { None })
}

fn compile(
    leaves: &[Leaf],
    list: bool,
    scope: &Scope,
    build: impl FnOnce(&mut Applier, &[Value]) -> Outcome<Vec<Value>>,
) -> Outcome<Program> {
    let mut builder = Builder::default();
    let mut operands = Vec::with_capacity(leaves.len());
    for leaf in leaves {
        operands.push(match leaf {
            Leaf::Tensor(tensor, _) => builder.input(tensor.aval()),
            Leaf::Number(x, dtype) => {
                let shape = trace::number_argument(*x)?.1;
                trace::number_input(&mut builder, *dtype, shape, settings::current()?.defaults)?
            }
        });
    }
    let (results, conversions) = applied(&mut builder, Site::default(), |applier| build(applier, &operands))?;
    audit::note(conversions, scope)?;
    let count = results.len();
    let graph = builder.finish(results);
    let out = if list { Out::flat(count) } else { Out::Leaf(0, None) };
    Ok(Program {
        executable: Executable::compile(&graph, &[])?,
        constants: vec![],
        kept: nil(),
        out: Rc::new(out),
        has_objects: false,
    })
}

/// Where an op is applied, for the error of an index that is out of range: the call, and its line if R knows
/// it.
pub fn site(scope: &Scope) -> Outcome<Site> {
    /// Characters of a call that are shown, at most.
    const SHOWN: usize = 60;
    let [mut call, file, line] = audit::call_site(scope)?;
    if let Some((end, _)) = call.char_indices().nth(SHOWN) {
        call.replace_range(end.., "...");
    }
    let place = match (file.is_empty(), line.is_empty()) {
        (_, true) => String::new(),
        (true, false) => format!(" (line {line})"),
        (false, false) => format!(" ({file}:{line})"),
    };
    Ok(Site::new(&format!("`{call}`{place}")))
}

/// The results of `build` on a graph, and the conversions if an audit is open.
fn applied(
    builder: &mut Builder,
    site: Site,
    build: impl FnOnce(&mut Applier) -> Outcome<Vec<Value>>,
) -> Outcome<(Vec<Value>, Vec<Conversion>)> {
    let settings = settings::current()?;
    let mut applier = Applier::new(builder, settings.rules).by_default(settings.defaults).at(site);
    if audit::is_open() {
        applier = applier.noting();
    }
    let results = build(&mut applier)?;
    Ok((results, applier.conversions()))
}

/// Adds the nodes that `build` makes for operands to a trace. The site is that of the call.
pub fn traced(
    trace: &Trace,
    handle: SEXP,
    site: Site,
    list: bool,
    scope: &Scope,
    build: impl FnOnce(&mut Applier) -> Outcome<Vec<Value>>,
) -> Outcome {
    let (results, conversions) = applied(&mut trace.builder(), site, build)?;
    audit::note(conversions, scope)?;
    let mut tracers = Vec::with_capacity(results.len());
    for value in results {
        tracers.push(trace::tracer(trace, handle, value, scope)?);
    }
    if !list {
        return Ok(tracers[0]);
    }
    let out = Out::flat(tracers.len());
    // SAFETY: inside `protected`; the tracers are kept by the scope.
    protected(|| unsafe { out.build(&|i, _| tracers[i]) }).map(|x| scope.keep(x))
}
