//! Entry points that are not hot: types of values, promotion, texts of graphs. Readers of arguments are here
//! too.

use crate::ffi::*;
use crate::guard::{protected, r_string, r_strings, Exit, Outcome, Scope};
use crate::handle;
use crate::inner::is_list;
use crate::jit;
use crate::settings;
use crate::trace;
use crate::tracer;
use crate::tree;
use crate::value::{self, Tensor};
use crate::vector;
use anvil_core::boundary::Filling;
use anvil_core::dtype::promote::{self, common_dtype};
use anvil_core::dtype::{DType, Ranked};
use anvil_core::error::{Error, Result};
use anvil_core::growth::Text;
use anvil_core::ops::attrs::Attrs;
use anvil_core::tensor::Aval;
use std::os::raw::c_int;

/// A dtype from an R value: its name, or a dtype object.
pub fn dtype_argument(x: SEXP) -> Result<DType> {
    if let Some(dtype) = value::dtype_of_name(x) {
        return Ok(dtype);
    }
    // A dtype object is `list(name = , value = )`, see R/dtype.R.
    if kind(x) == VECSXP && len(x) > 0 && inherits(x, c"AnvilDtype") {
        if let Some(dtype) = value::dtype_of_name(element(x, 0)) {
            return Ok(dtype);
        }
    }
    match string(x) {
        Some(name) => DType::parse(&name),
        None => Err(Error::Arg {
            arg: "dtype".into(),
            expected: "the name of a dtype, such as \"f32\", or a dtype object".into(),
            got: value::describe(x),
            hint: format!("The dtypes are {}.", DType::names()),
        }),
    }
}

/// A flag: one `TRUE` or `FALSE`.
pub fn flag_argument(arg: &str, x: SEXP) -> Result<bool> {
    value::flag_of(x).ok_or_else(|| Error::arg(arg, "TRUE or FALSE", value::describe(x)))
}

/// The order in which data fill a tensor.
pub fn filling_argument(x: SEXP) -> Result<Filling> {
    match string(x).as_deref() {
        Some("column") => Ok(Filling::Column),
        Some("row") => Ok(Filling::Row),
        _ => Err(Error::arg("order", "\"column\" or \"row\"", value::describe(x))),
    }
}

/// A shape from R numbers.
pub fn shape_argument(x: SEXP) -> Outcome<anvil_core::shape::Shape> {
    let attr = crate::op::attr(x)?;
    let shape = Attrs::new().with("shape", attr).shape("shape")?;
    value::check_sizes(&shape)?;
    Ok(shape)
}

/// The parts of an abstract tensor, if it is one: `list(dtype, shape, ambiguous)`, see R/tensor.R.
pub fn abstract_aval(x: SEXP) -> Outcome<Option<Aval>> {
    if kind(x) != VECSXP || !inherits(x, c"AnvilAbstract") || len(x) < 3 {
        return Ok(None);
    }
    let (dtype, shape) = (dtype_argument(element(x, 0))?, shape_argument(element(x, 1))?);
    let ranked = Ranked { dtype, ambiguous: flag_argument("ambiguous", element(x, 2))? };
    Ok(Some(Aval::new(ranked, shape)))
}

/// `(dtype, shape, ambiguous)` of a tensor, tracer, abstract tensor, or R number, as R objects.
fn parts(x: SEXP, scope: &Scope) -> Outcome<[SEXP; 3]> {
    let known = if value::is_tracer(x) {
        Some((trace::type_of(x)?, trace::shape_of(x)))
    } else if value::is_tensor(x) {
        let tensor = Tensor::header(x)?;
        Some(([value::name_of_dtype(tensor.dtype), value::flag(tensor.ambiguous)], tensor.shape()))
    } else {
        None
    };
    if let Some(([dtype, ambiguous], shape)) = known {
        // SAFETY: reads an attribute.
        let sizes = if attribute(x, unsafe { R_DimSymbol }) == nil() {
            // SAFETY: inside `protected`.
            scope.keep(protected(|| unsafe { vector::new_shape(&shape) })?)
        } else {
            value::sizes_of(x)
        };
        return Ok([dtype, sizes, ambiguous]);
    }
    let (ranked, shape) = match abstract_aval(x)? {
        Some(aval) => (aval.ranked(), aval.shape),
        None => {
            let (dtype, shape) = trace::number_argument(x).map_err(|e| e.for_argument("x"))?;
            (settings::current()?.defaults.number_type(dtype), shape)
        }
    };
    // SAFETY: inside `protected`.
    let shape = scope.keep(protected(|| unsafe { vector::new_shape(&shape) })?);
    Ok([value::name_of_dtype(ranked.dtype), shape, value::flag(ranked.ambiguous)])
}

/// What has the type of a value: of a selection its values.
fn typed(x: SEXP) -> SEXP {
    tracer::selected(x).map_or(x, |parts| element(parts, 0))
}

/// Name of the dtype of a value.
pub fn dtype(x: SEXP, scope: &Scope) -> Outcome {
    Ok(parts(typed(x), scope)?[0])
}

/// Sizes of the axes of a value.
pub fn shape(x: SEXP, scope: &Scope) -> Outcome {
    Ok(parts(x, scope)?[1])
}

/// Whether a value is ambiguous.
pub fn ambiguous(x: SEXP, scope: &Scope) -> Outcome {
    Ok(parts(typed(x), scope)?[2])
}

/// A selection of a tracer's values, without class; `parts` are `list(values, mask, axis)`.
pub fn select(parts: SEXP, scope: &Scope) -> Outcome {
    if !is_list(parts) || len(parts) == 0 || tracer::held(element(parts, 0)).is_none() {
        return Err(Error::Internal { detail: "no values to select".into() }.into());
    }
    // SAFETY: inside `protected`; the values are a tracer.
    Ok(scope.keep(protected(|| unsafe { tracer::select(element(parts, 0), parts) })?))
}

/// `list(values, mask, axis)` of a selection; `NULL` for anything else.
pub fn selected(x: SEXP) -> Outcome {
    Ok(tracer::selected(x).unwrap_or_else(nil))
}

/// The canonical name of a dtype.
pub fn dtype_name(x: SEXP) -> Outcome {
    Ok(value::name_of_dtype(dtype_argument(x)?))
}

/// A ranked type from an R value: a dtype object, a dtype's name, or one with `?`; `i?`, `f?`, `c?` are
/// scalars.
fn ranked_argument(arg: &str, x: SEXP) -> Result<Ranked> {
    match string(x) {
        Some(name) => promote::parse(&name),
        None => Ok(Ranked { dtype: dtype_argument(x).map_err(|e| e.for_argument(arg))?, ambiguous: false }),
    }
}

/// The promotion of two ranked types, as `list(dtype, ambiguous)`. A type is ambiguous by its name or by its
/// flag.
pub fn common([lhs, rhs, lhs_ambiguous, rhs_ambiguous, rules]: [SEXP; 5], scope: &Scope) -> Outcome {
    let ranked = |x, [arg, flag]: [&str; 2], value| -> Result<Ranked> {
        let named = ranked_argument(arg, x)?;
        Ok(Ranked { ambiguous: flag_argument(flag, value)? || named.ambiguous, ..named })
    };
    let lhs = ranked(lhs, ["lhs_dtype", "lhs_ambiguous"], lhs_ambiguous)?;
    let rhs = ranked(rhs, ["rhs_dtype", "rhs_ambiguous"], rhs_ambiguous)?;
    let join = common_dtype(lhs, rhs, settings::rules_argument(rules)?)?;
    // SAFETY: inside `protected`.
    let out = protected(|| unsafe {
        let out = Rf_allocVector(VECSXP, 2);
        SET_VECTOR_ELT(out, 0, value::name_of_dtype(join.dtype));
        SET_VECTOR_ELT(out, 1, value::flag(join.ambiguous));
        out
    })?;
    Ok(scope.keep(out))
}

/// The name of rules of promotion.
pub fn rules_name(rules: SEXP, scope: &Scope) -> Outcome {
    r_string(settings::rules_argument(rules)?.name(), scope)
}

/// The default dtypes in force, of floats and of integers.
pub fn default_dtypes(scope: &Scope) -> Outcome {
    let defaults = settings::current()?.defaults;
    r_strings(&[defaults.float, defaults.int].map(|dtype| dtype.name().to_string()), scope)
}

/// Whether a type may be promoted to another.
pub fn promotable(from: SEXP, to: SEXP, rules: SEXP) -> Outcome {
    let (from, to) = (ranked_argument("from", from)?, ranked_argument("to", to)?);
    Ok(value::flag(settings::rules_argument(rules)?.promotes(from, to)))
}

/// A shortest chain from one type to another in the lattice of the rules.
pub fn promotion_path(from: SEXP, to: SEXP, rules: SEXP, scope: &Scope) -> Outcome {
    let (from, to) = (ranked_argument("from", from)?, ranked_argument("to", to)?);
    let path = settings::rules_argument(rules)?.path(from, to)?;
    r_strings(&path.into_iter().map(String::from).collect::<Vec<_>>(), scope)
}

/// The text of a traced function's graph, `optimised` or as it was traced.
pub fn graph_text(graph: SEXP, optimised: SEXP, scope: &Scope) -> Outcome {
    let traced = jit::traced(graph)?;
    let text = if flag_argument("optimised", optimised)? {
        Text::of(&anvil_core::passes::optimise(traced.program()?.as_ref())?)
    } else {
        Text::of(&traced.graph)
    };
    r_string(text.trim_end_matches('\n'), scope)
}

/// Types of a traced function's results.
pub fn graph_types(graph: SEXP, scope: &Scope) -> Outcome {
    let graph = &jit::traced(graph)?.graph;
    r_strings(&graph.outputs().iter().map(|&v| graph.aval(v).to_string()).collect::<Vec<_>>(), scope)
}

/// Replaces the leaves of arguments by tracers of new inputs.
pub fn trace_inputs(handle: SEXP, x: SEXP, scope: &Scope) -> Outcome {
    let trace = trace::opened(handle)?;
    tree::inputs(&trace, handle, x, 0, scope)
}

fn integer(value: usize, scope: &Scope) -> Outcome {
    // SAFETY: inside `protected`; one element is written.
    let out = protected(|| unsafe {
        let x = Rf_allocVector(INTSXP, 1);
        *INTEGER(x) = value as c_int;
        x
    })?;
    Ok(scope.keep(out))
}

/// Number of open traces.
pub fn depth(scope: &Scope) -> Outcome {
    integer(trace::depth(), scope)
}

/// The depth of the elements of an object at a depth, for recursive R code.
pub fn deeper(depth: SEXP, arg: SEXP, scope: &Scope) -> Outcome {
    let depth = ints(depth).first().map_or(0, |&n| n.max(0) as usize);
    integer(tree::deeper(depth, &string(arg).unwrap_or_default())?, scope)
}

/// Number of values that R holds by handles, for tests.
pub fn handles(scope: &Scope) -> Outcome {
    integer(handle::live(), scope)
}

/// An R number as a tracer of the open trace, for a jitted function that is called in a trace. `path` is the
/// number's path in the arguments.
pub fn lift(x: SEXP, path: SEXP, scope: &Scope) -> Outcome {
    let Some((trace, handle)) = trace::innermost() else {
        return Err(Error::Internal { detail: "no trace is open".into() }.into());
    };
    let value = trace::operand(&trace, x, scope).map_err(|exit| match (exit, string(path)) {
        (Exit::Error(e), Some(path)) => Exit::Error(tree::of_argument(e).for_argument(&path)),
        (exit, _) => exit,
    })?;
    trace::tracer(&trace, handle, value, scope)
}

/// Fails on purpose, for tests: with a panic or an error.
pub fn fail(what: SEXP) -> Outcome {
    let what = string(what).unwrap_or_default();
    if what == "panic" {
        panic!("100% on purpose: %s");
    }
    Err(Error::Internal { detail: "100% on purpose: %s".into() }.into())
}
