//! Jitted functions: their specification, the warm call, and what a miss makes for their cache.
//!
//! A handle's protected slot holds `list(spec, entries)`: `spec` is what R needs to trace (and to make a new
//! cache after the handle was loaded in another session), `entries` keeps the objects alive that programs
//! refer to.

use crate::cache::Cache;
use crate::ffi::*;
use crate::guard::{protected, Exit, Outcome, Scope};
use crate::handle::{self, Held};
use crate::path;
use crate::program::Program;
use crate::settings::{self, Settings};
use crate::statics;
use crate::trace;
use crate::tree::{self, Flat, Leaf, Out};
use crate::value;
use anvil_core::dtype::promote::Rules;
use anvil_core::error::{Error, Result};
use anvil_core::exec::Executable;
use anvil_core::graph::Value;
use anvil_core::ops::Graph;
use anvil_core::passes::{accurate, diagonals, fission, packs, segments, spectra, Rounding, Stage};
use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::CStr;
use std::rc::Rc;

/// Length of a specification: function, static, donate, position of `...`, size of the cache, names, rules,
/// classes of conversions to warn of; see R/jit.R.
const SPEC: usize = 8;
/// Position of the names in it.
const NAMES: usize = 5;

/// Positions in what the handle of a traced function keeps alive: `list(constants, result, objects of the
/// result, objects of ops)`.
const CONSTANTS: usize = 0;
const OF_OPS: usize = 3;

/// A traced function: its graph and the structure of its result.
pub struct Traced {
    /// The graph, as it was traced, rewritten for derivatives.
    pub graph: Graph,
    /// For a nested trace: values of the outer trace that the last inputs stand for.
    pub outer: Vec<Value>,
    /// The structure of the result.
    pub out: Rc<Out>,
    /// Whether it is rewritten as it is compiled, too; as it was traced it is.
    pub rewrite: bool,
}

impl Traced {
    /// The graph that is compiled or exported.
    pub fn program(&self) -> Result<Cow<'_, Graph>> {
        if !self.rewrite {
            return Ok(Cow::Borrowed(&self.graph));
        }
        let rewritten =
            accurate(&self.graph, Stage::Compiled)?.map_or(Cow::Borrowed(&self.graph), Cow::Owned);
        let rewritten = spectra(&rewritten)?.map_or(rewritten, Cow::Owned);
        let rewritten = diagonals(&rewritten)?.map_or(rewritten, Cow::Owned);
        let rewritten = segments(&rewritten)?.map_or(rewritten, Cow::Owned);
        let rewritten = packs(&rewritten, Rounding::Any)?.map_or(rewritten, Cow::Owned);
        Ok(fission(&rewritten)?.map_or(rewritten, Cow::Owned))
    }
}

impl Held for Traced {
    const TAG: &'static CStr = c"anvil_graph";
}

/// Whether an object is a traced function.
pub fn is_graph(x: SEXP) -> bool {
    handle::has_tag(x, Traced::TAG)
}

/// A function with its compiled programs.
struct JitFunction {
    /// For each formal but `...`: whether it is static.
    statics: Vec<bool>,
    /// For each formal but `...`: whether it is donated.
    donate: Vec<bool>,
    /// Position of `...` among the formals.
    dots: Option<usize>,
    /// Rules of promotion of its own.
    rules: Option<&'static Rules>,
    cache: RefCell<Cache>,
    /// For the call that is being traced, whether only the caller refers to each leaf. It is recorded before
    /// tracing, during which R refers to them too.
    own: RefCell<Vec<bool>>,
}

impl Held for JitFunction {
    const TAG: &'static CStr = c"anvil_jit";
}

impl JitFunction {
    fn from_spec(spec: SEXP) -> Outcome<JitFunction> {
        // R/jit.R makes no broken one, but a file may hold one.
        let broken = || Exit::Error(not_jitted("a broken one"));
        if kind(spec) != VECSXP || len(spec) != SPEC {
            return Err(broken());
        }
        let parts: [SEXP; SPEC] = std::array::from_fn(|i| element(spec, i));
        let [f, statics, donate, dots, size, names, rules, classes] = parts;
        let is_function = matches!(kind(f), CLOSXP | SPECIALSXP | BUILTINSXP);
        let kinds = [kind(statics), kind(donate), kind(dots), kind(size), kind(names), kind(classes)];
        if !is_function || kinds != [LGLSXP, LGLSXP, INTSXP, INTSXP, STRSXP, STRSXP] {
            return Err(broken());
        }
        let count = len(names);
        if [statics, donate].iter().any(|&x| len(x) != count) || [dots, size].iter().any(|&x| len(x) != 1) {
            return Err(broken());
        }
        let flags = |x: SEXP| -> Vec<bool> {
            // SAFETY: checked to be a logical vector.
            (0..len(x)).map(|i| unsafe { *LOGICAL_RO(x).add(i) } == 1).collect()
        };
        let number = |x: SEXP| usize::try_from(ints(x)[0]).unwrap_or(0);
        if number(dots) > count + 1 {
            return Err(broken());
        }
        let cache = RefCell::new(Cache::new(number(size).max(1)));
        let dots = number(dots).checked_sub(1);
        let own = RefCell::default();
        let rules = if rules == nil() { None } else { Some(settings::rules_argument(rules)?) };
        Ok(JitFunction { statics: flags(statics), donate: flags(donate), dots, rules, cache, own })
    }

    /// The arguments of a call, after the entry point and the handle, with their tags.
    fn given(&self, call: SEXP) -> Outcome<Vec<(SEXP, SEXP)>> {
        let mut out = Vec::with_capacity(8);
        out.extend(pairs(call).skip(2));
        let fits = if self.dots.is_some() { usize::ge } else { usize::eq };
        if !fits(&out.len(), &self.statics.len()) {
            return Err(not_jitted("one whose body was changed").into());
        }
        Ok(out)
    }

    /// The formal that argument number `i` of `count` belongs to; `None` for those in `...`.
    fn formal(&self, i: usize, count: usize) -> Option<usize> {
        match self.dots {
            None => Some(i),
            Some(at) if i < at => Some(i),
            // The last arguments are the formals after `...`.
            Some(at) => (i + self.statics.len() - at >= count).then(|| i + self.statics.len() - count),
        }
    }

    /// The flattened arguments. The parts of static arguments are those of `snapshot`, a list, or taken now.
    /// `types`: abstract tensors are arguments too, to compile for.
    fn flatten(
        &self,
        arguments: &[(SEXP, SEXP)],
        handle: SEXP,
        snapshot: Option<SEXP>,
        types: bool,
        scope: &Scope,
    ) -> Outcome<Flat> {
        let mut flat = Flat::new(types);
        let around = settings::current()?;
        let settings = Settings { rules: self.rules.unwrap_or(around.rules), ..around };
        flat.words.push(settings.word());
        for (i, &(tag, x)) in arguments.iter().enumerate() {
            let formal = self.formal(i, arguments.len());
            let is_static = formal.is_some_and(|f| self.statics[f]);
            let known = flat.statics.len();
            flat.argument(formal.unwrap_or(usize::MAX), tag, x, is_static, scope)?;
            for at in known..flat.statics.len() {
                let name = || match formal {
                    // SAFETY: `from_spec` has checked that there are as many names as formals.
                    Some(formal) => unsafe { STRING_ELT(names(handle), formal as Length) },
                    // SAFETY: a tag is a symbol.
                    None if tag != nil() => unsafe { PRINTNAME(tag) },
                    // SAFETY: the name of a symbol that R has.
                    None => unsafe { PRINTNAME(R_DotsSymbol) },
                };
                flat.statics[at] = match snapshot {
                    // One that is longer now is found out in `store`.
                    Some(list) if at >= len(list) => nil(),
                    Some(list) => element(list, at),
                    None => statics::parts(flat.statics[at], name, !is_static, scope)?,
                };
            }
        }
        Ok(flat)
    }

    /// An error about an argument, with the name of the argument and the path of the leaf in it.
    fn blame(&self, handle: SEXP, arguments: &[(SEXP, SEXP)], exit: Exit, scope: &Scope) -> Exit {
        let names = names(handle);
        let mut dots = 0;
        path::named(exit, |bad| {
            for (i, &(tag, x)) in arguments.iter().enumerate() {
                let formal = self.formal(i, arguments.len());
                if formal.is_some_and(|f| self.statics[f]) || tree::is_absent(x) {
                    continue;
                }
                let name = match formal {
                    // SAFETY: as many names as formals but `...`.
                    Some(f) => text(unsafe { STRING_ELT(names, f as Length) }),
                    None => {
                        dots += 1;
                        if tag == nil() {
                            format!("..{dots}")
                        } else {
                            // SAFETY: a tag is a symbol.
                            text(unsafe { PRINTNAME(tag) })
                        }
                    }
                };
                if let Some(path) = path::find(x, &name, bad, scope)? {
                    return Ok(Some(path));
                }
            }
            Ok(None)
        })
    }
}

/// The handle's list of objects that entries refer to, with space for slot `slot`.
fn entries(handle: SEXP, cache: &RefCell<Cache>) -> Outcome {
    loop {
        // The slot is asked again after the list has grown: R may have called the function meanwhile.
        let (slot, is_new) = (cache.borrow().next_slot(), cache.borrow().is_new());
        // SAFETY: the handle's own list.
        let list = element(unsafe { R_ExternalPtrProtected(handle) }, 1);
        let room = if list == nil() { 0 } else { len(list) };
        if slot < room && !(is_new && room > 1) {
            return Ok(list);
        }
        // Entries of another session are dropped.
        let (kept, size) = if is_new { (0, 1) } else { (room, (2 * room).max(slot + 1)) };
        // SAFETY: inside `protected`; the list takes the place of the one that held the entries before.
        protected(|| unsafe {
            let new = Rf_allocVector(VECSXP, size as Length);
            for i in 0..kept {
                SET_VECTOR_ELT(new, i as Length, element(list, i));
            }
            SET_VECTOR_ELT(R_ExternalPtrProtected(handle), 1, new);
        })?;
    }
}

/// Makes the handle of a jitted function from its specification (see R/jit.R).
pub fn create(spec: SEXP, scope: &Scope) -> Outcome {
    let function = JitFunction::from_spec(spec)?;
    // SAFETY: inside `protected`; the list is filled before it is used.
    let held = scope.keep(protected(|| unsafe {
        let held = Rf_allocVector(VECSXP, 2);
        SET_VECTOR_ELT(held, 0, spec);
        held
    })?);
    handle::new(function, held, scope)
}

/// The error for a function without its handle, or with a broken one that was read from a file.
fn not_jitted(got: &str) -> Error {
    Error::arg("f", "a function made by `jit()`", got)
}

/// The function behind a handle. A handle from another session gets a new, empty cache.
///
/// # Errors
/// [`Error::Arg`] if it is no such handle, as in an edited function.
fn function<'a>(handle: SEXP) -> Outcome<&'a JitFunction> {
    if let Some(found) = handle::get::<JitFunction>(handle) {
        return Ok(found);
    }
    if !handle::has_tag(handle, JitFunction::TAG) {
        return Err(not_jitted("one whose body was changed").into());
    }
    // SAFETY: an external pointer.
    let held = unsafe { R_ExternalPtrProtected(handle) };
    if kind(held) != VECSXP || len(held) != 2 {
        return Err(not_jitted("a broken one").into());
    }
    handle::renew(handle, JitFunction::from_spec(element(held, 0))?)?;
    handle::get(handle).ok_or_else(|| Exit::Error(Error::Internal { detail: "a lost handle".into() }))
}

/// The specification behind a handle, which is whole.
///
/// # Errors
/// As for [`function`].
pub fn spec(handle: SEXP) -> Outcome {
    function(handle)?;
    // SAFETY: an external pointer, whose protected slot `function` has checked or `create` has made.
    Ok(element(unsafe { R_ExternalPtrProtected(handle) }, 0))
}

/// Names of the formals of the function behind a handle, which [`function`] has checked.
fn names(handle: SEXP) -> SEXP {
    // SAFETY: an external pointer of ours.
    element(element(unsafe { R_ExternalPtrProtected(handle) }, 0), NAMES)
}

/// The warm call: `.External("anvil_jit_call", handle, arguments...)`.
///
/// # Errors
/// [`Exit::Miss`] if the function has to be traced, or called directly because a trace is open.
pub fn call(args: SEXP, scope: &Scope) -> Outcome {
    // The entry point, the handle, the arguments.
    let handle = pairs(args).nth(1).map_or(nil(), |(_, x)| x);
    let function = function(handle)?;
    let given = function.given(args)?;
    if trace::innermost().is_some() {
        return Err(Exit::Miss(args));
    }
    let blame = |exit| function.blame(handle, &given, exit, scope);
    let flat = function.flatten(&given, handle, None, false, scope).map_err(blame)?;
    if flat.traced {
        return Err(Exit::Miss(args));
    }
    // The cache is not borrowed while the program runs: a finalizer or event handler of R may call us again.
    let found = function.cache.borrow_mut().find(&flat);
    match found {
        Some(program) => program.run(&flat.leaves, scope).map_err(blame),
        None => {
            let own = flat.leaves.iter().map(|leaf| matches!(leaf, Leaf::Tensor(_, true))).collect();
            function.own.replace(own);
            Err(Exit::Miss(args))
        }
    }
}

/// What a call of a function is to be compiled for: `.External("anvil_jit_find", handle, arguments...)`, of
/// which tensors may be abstract. Gives `NULL` if a program is there, and otherwise the argument list, as
/// for [`Exit::Miss`].
///
/// # Errors
/// As for [`call`]; [`Error::Arg`] for a tracer.
pub fn find(args: SEXP, scope: &Scope) -> Outcome {
    let handle = pairs(args).nth(1).map_or(nil(), |(_, x)| x);
    let function = function(handle)?;
    let given = function.given(args)?;
    let blame = |exit| function.blame(handle, &given, exit, scope);
    let flat = function.flatten(&given, handle, None, true, scope).map_err(blame)?;
    function.own.replace(Vec::new());
    let is_known = function.cache.borrow().knows(&flat);
    Ok(if is_known { nil() } else { args })
}

/// Ends a trace with the function's result; returns the handle of the traced function.
pub fn finish(handle: SEXP, result: SEXP, scope: &Scope) -> Outcome {
    let trace = trace::opened(handle)?;
    let mut outputs: Vec<Value> = Vec::new();
    let mut leaf = |x| {
        outputs.push(trace::operand(&trace, x, scope).map_err(returned)?);
        Ok(())
    };
    let made = Out::new(result, true, &mut leaf, scope);
    let out = made.map_err(|exit| path::named(exit, |bad| path::find(result, "the result", bad, scope)))?;
    let kept = out.kept(scope)?;
    let (graph, outer) = trace.finish(outputs);
    let rewrite = settings::current()?.rewrite;
    let rewritten = if rewrite { accurate(&graph, Stage::Traced)? } else { None };
    let traced = Traced { graph: rewritten.unwrap_or(graph), outer, out: Rc::new(out), rewrite };
    let lists = trace::held(handle);
    // SAFETY: inside `protected`; the objects are kept by the trace's handle until the lists have them.
    let held = scope.keep(protected(|| unsafe {
        let held = Rf_protect(Rf_allocVector(VECSXP, 4));
        for (objects, at) in lists.iter().zip([CONSTANTS, OF_OPS]) {
            let list = Rf_allocVector(VECSXP, objects.len() as Length);
            SET_VECTOR_ELT(held, at as Length, list);
            for (i, &x) in objects.iter().enumerate() {
                SET_VECTOR_ELT(list, i as Length, x);
            }
        }
        SET_VECTOR_ELT(held, 1, result);
        SET_VECTOR_ELT(held, 2, kept);
        Rf_unprotect(1);
        held
    })?);
    handle::new(traced, held, scope)
}

/// The error for something that cannot be returned from a traced function.
fn returned(exit: Exit) -> Exit {
    match exit {
        Exit::Error(Error::Arg { got, hint, .. }) => Exit::Error(Error::Arg {
            arg: "the result of the function".into(),
            expected: "tensors, R numbers, logicals or arrays, or a list of these".into(),
            hint: if got == value::SELECTION {
                hint
            } else {
                "Return other things from a function that is not jitted.".into()
            },
            got,
        }),
        other => other,
    }
}

/// The traced function behind a handle.
///
/// # Errors
/// [`Error::Arg`] if it is none of this session.
pub fn traced<'a>(x: SEXP) -> Outcome<&'a Traced> {
    handle::get::<Traced>(x).ok_or_else(|| {
        let got = if is_graph(x) { "one from another session".into() } else { value::describe(x) };
        Exit::Error(Error::arg("graph", "a graph traced in this session", got))
    })
}

/// The parts of the static arguments that the signature has, as a list. They are taken before the function is
/// traced, which may change the objects.
pub fn snapshot(handle: SEXP, arguments: SEXP, scope: &Scope) -> Outcome {
    let function = function(handle)?;
    let flat = function.flatten(&function.given(arguments)?, handle, None, true, scope)?;
    tree::list_of(&flat.statics, scope)
}

/// Compiles a traced function for these arguments, caches the program, and runs it if `run` says so.
/// `statics` is the result of [`snapshot`].
pub fn store([handle, arguments, graph, description, statics, run]: [SEXP; 6], scope: &Scope) -> Outcome {
    let function = function(handle)?;
    let given = function.given(arguments)?;
    let flat = function.flatten(&given, handle, Some(statics), true, scope)?;
    let traced = traced(graph)?;
    if traced.graph.inputs().len() != flat.owners.len() || flat.statics.len() != len(statics) {
        return Err(
            Error::Internal { detail: "arguments changed while the function was traced".into() }.into()
        );
    }
    let donated: Vec<usize> = (0..flat.owners.len())
        .filter(|&i| function.donate.get(flat.owners[i]).copied().unwrap_or(false))
        .collect();
    let executable = Executable::compile(traced.program()?.as_ref(), &donated)?;
    // SAFETY: the protected slot made by `finish`.
    let held_by_graph = unsafe { R_ExternalPtrProtected(graph) };
    let list = element(held_by_graph, CONSTANTS);
    let constants = (0..len(list)).map(|i| element(list, i)).collect();
    let has_objects = traced.out.has_objects();
    let kept = Some(element(held_by_graph, OF_OPS)).filter(|&list| len(list) > 0).unwrap_or(nil());
    let program = Rc::new(Program { executable, constants, kept, out: traced.out.clone(), has_objects });
    // SAFETY: inside `protected`; each object is protected before the next is made.
    let held = scope.keep(protected(|| unsafe {
        let held = Rf_protect(Rf_allocVector(VECSXP, 4));
        SET_VECTOR_ELT(held, 0, description);
        SET_VECTOR_ELT(held, 1, held_by_graph);
        for (slot, objects) in [(2, &flat.statics), (3, &flat.names)] {
            let list = Rf_allocVector(VECSXP, objects.len() as Length);
            SET_VECTOR_ELT(held, slot, list);
            for (i, &x) in objects.iter().enumerate() {
                SET_VECTOR_ELT(list, i as Length, x);
            }
        }
        Rf_unprotect(1);
        held
    })?);
    let Flat { words, statics, mut leaves, .. } = flat;
    for (leaf, own) in leaves.iter_mut().zip(function.own.take()) {
        if let Leaf::Tensor(_, flag) = leaf {
            *flag = own;
        }
    }
    let list = entries(handle, &function.cache)?;
    let mut cache = function.cache.borrow_mut();
    // SAFETY: the list has room for it; nothing allocates.
    unsafe { SET_VECTOR_ELT(list, cache.next_slot() as Length, held) };
    cache.insert(words, statics, program.clone(), held);
    drop(cache);
    if value::flag_of(run) != Some(true) {
        return Ok(nil());
    }
    program.run(&leaves, scope).map_err(|exit| function.blame(handle, &given, exit, scope))
}

/// State of a cache: `list(c(size, hits, misses), descriptions, hits of each)`.
pub fn info(handle: SEXP, scope: &Scope) -> Outcome {
    let function = function(handle)?;
    let cache = function.cache.borrow();
    let entries: Vec<(SEXP, f64)> =
        cache.in_order().iter().map(|e| (element(e.held, 0), e.hits as f64)).collect();
    let counts = [cache.size as f64, cache.hits as f64, cache.misses as f64];
    let doubles = |values: &mut dyn Iterator<Item = f64>, n: usize| {
        // SAFETY: called inside `protected`; as many are written as were allocated.
        unsafe {
            let x = Rf_allocVector(REALSXP, n as Length);
            values.take(n).enumerate().for_each(|(i, v)| *REAL(x).add(i) = v);
            x
        }
    };
    // SAFETY: inside `protected`; the list is protected while its elements are made.
    let out = protected(|| unsafe {
        let out = Rf_protect(Rf_allocVector(VECSXP, 3));
        SET_VECTOR_ELT(out, 0, doubles(&mut counts.into_iter(), 3));
        let list = Rf_allocVector(VECSXP, entries.len() as Length);
        SET_VECTOR_ELT(out, 1, list);
        for (i, (description, _)) in entries.iter().enumerate() {
            SET_VECTOR_ELT(list, i as Length, *description);
        }
        SET_VECTOR_ELT(out, 2, doubles(&mut entries.iter().map(|e| e.1), entries.len()));
        Rf_unprotect(1);
        out
    })?;
    Ok(scope.keep(out))
}
