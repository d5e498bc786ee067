//! Functions of R that running programs call.

use crate::ffi::*;
use crate::guard::{leave_for, protected, scoped, Exit, Outcome, Scope};
use crate::info::{abstract_aval, flag_argument};
use crate::inner::{is_list, Inner};
use crate::path;
use crate::statics;
use crate::trace;
use crate::transform::{innermost, node};
use crate::tree::Out;
use crate::value::{self, Tensor};
use crate::vector;
use anvil_core::boundary::{import, Filling, Source};
use anvil_core::dtype::{DType, Kind};
use anvil_core::error::{Error, Result};
use anvil_core::graph::Value;
use anvil_core::kernels::{cast, tile};
use anvil_core::ops::callback::{Callee, Function};
use anvil_core::ops::{Callback, Convert, OpDef};
use anvil_core::tensor::{Aval, Layout, View, ViewMut};

/// A function of R, and the structure of what it takes and gives. The trace and the programs that refer to it
/// keep the objects alive.
struct Called {
    function: SEXP,
    arguments: Out,
    results: Out,
    /// Types of the results, as promised.
    types: Vec<Aval>,
}

// SAFETY: only used on R's main thread, on which graphs are made, run and dropped.
unsafe impl Send for Called {}
// SAFETY: as above.
unsafe impl Sync for Called {}

/// Adds a call of a function to the open trace. `arguments` is a nested list of values and R numbers,
/// `result` one of abstract tensors, tensors and tracers, for the types of the results.
///
/// # Errors
/// [`Error::Arg`] for other arguments.
pub fn record([f, arguments, result, vectorized]: [SEXP; 4], scope: &Scope) -> Outcome {
    let vectorized = flag_argument("vectorized", vectorized)?;
    let mut types = Vec::new();
    let mut leaf = |x| {
        types.push(promised(x)?);
        Ok(())
    };
    let results = Out::new(result, false, &mut leaf, scope)?;
    let (open, handle) = innermost()?;
    let mut operands: Vec<Value> = Vec::new();
    let mut leaf = |x| {
        operands.push(trace::operand(&open, x, scope)?);
        Ok(())
    };
    let arguments = Out::new(arguments, false, &mut leaf, scope)?;
    let objects = [arguments.kept(scope)?, results.kept(scope)?];
    // The names in both structures are kept alive by lists that have no leaves.
    // SAFETY: inside `protected`; each object is protected before the next is made.
    let kept = protected(|| unsafe {
        let kept = Rf_protect(Rf_allocVector(VECSXP, 5));
        SET_VECTOR_ELT(kept, 0, f);
        SET_VECTOR_ELT(kept, 3, objects[0]);
        SET_VECTOR_ELT(kept, 4, objects[1]);
        SET_VECTOR_ELT(kept, 1, arguments.build(&|_, _| nil()));
        SET_VECTOR_ELT(kept, 2, results.build(&|_, _| nil()));
        Rf_unprotect(1);
        kept
    })?;
    trace::keep(scope.keep(kept))?;
    let op = {
        let builder = open.builder();
        let operands: Vec<&Aval> = operands.iter().map(|&v| builder.graph().aval(v)).collect();
        let called = Called { function: f, arguments, results, types: types.clone() };
        Callback::new(Callee::new(called), &operands, types, vectorized)
    };
    node(&open, handle, op.into(), &operands, scope)
}

/// The type of a result.
fn promised(x: SEXP) -> Outcome<Aval> {
    if value::is_tracer(x) {
        return trace::own_value(x).map(|(_, aval, _)| aval);
    }
    if value::is_tensor(x) {
        return Ok(Tensor::header(x)?.aval());
    }
    let found = abstract_aval(x)?;
    found.ok_or_else(|| {
        let expected = "abstract tensors, tensors, or lists of these, or NULL";
        Error::arg("result", expected, value::describe(x)).into()
    })
}

impl Function for Called {
    fn call(&self, types: &[Aval], operands: &[View], results: &mut [ViewMut]) -> Result<()> {
        match scoped(|scope| self.run(types, operands, results, scope)) {
            Ok(()) => Ok(()),
            Err(Exit::Error(error)) => Err(error),
            Err(exit) => leave_for(exit),
        }
    }
}

impl Called {
    fn run(&self, types: &[Aval], operands: &[View], results: &mut [ViewMut], scope: &Scope) -> Outcome<()> {
        let mut tensors = Vec::with_capacity(operands.len());
        for (aval, view) in types.iter().zip(operands) {
            value::check_sizes(&aval.shape)?;
            // SAFETY: inside `protected`; the new vector is written before anything else sees it.
            let tensor = scope.keep(protected(|| unsafe { value::new_tensor(aval) })?);
            // SAFETY: as above.
            let data = unsafe { value::new_bytes(tensor, aval.dtype) };
            tile::copy(view, &mut ViewMut { dtype: aval.dtype, shape: &aval.shape, data });
            tensors.push(tensor);
        }
        // SAFETY: inside `protected`; the tensors are kept by the scope.
        let arguments = scope.keep(protected(|| unsafe { self.arguments.build(&|i, _| tensors[i]) })?);
        let arguments = self.arguments.objects(arguments, scope)?;
        // SAFETY: inside `protected`; the arguments are kept by the scope, the function by the program.
        let given = protected(|| unsafe {
            let pair = Rf_protect(Rf_allocVector(VECSXP, 2));
            SET_VECTOR_ELT(pair, 0, self.function);
            SET_VECTOR_ELT(pair, 1, arguments);
            let given = anvil_call_r(c"run_callback".as_ptr(), pair);
            Rf_unprotect(1);
            given
        })?;
        if matches!(self.results, Out::Null) {
            return Ok(());
        }
        self.read(scope.keep(given), &self.results, "result", results, scope)
    }

    /// Reads the results out of what the function gave, which must have this structure. Shapes are those of
    /// `results`, which may have an axis more than was promised.
    fn read(
        &self,
        x: SEXP,
        structure: &Out,
        path: &str,
        results: &mut [ViewMut],
        scope: &Scope,
    ) -> Outcome<()> {
        // SAFETY: reads an attribute.
        let own = if is_list(x) { names_of(attribute(x, unsafe { R_NamesSymbol })) } else { vec![] };
        let unexpected = |expected: String| -> Exit {
            let got = match x {
                _ if value::is_tensor(x) => "a tensor".into(),
                _ if !own.is_empty() => a_list_of(&own),
                _ => value::describe(x),
            };
            Error::Callback { path: path.into(), expected, got, hint: String::new() }.into()
        };
        match structure {
            Out::Leaf(i, _) => self.leaf(x, *i, path, &mut results[*i]),
            Out::Null if x == nil() => Ok(()),
            Out::Null | Out::Text(_) => Err(unexpected("NULL".into())),
            Out::Object(list, node) => {
                let found = Inner::of(x, scope)?;
                let kind = found.as_ref().map_or(nil(), |found| found.kind);
                match found {
                    // Both are lists of a class, a static part and a number.
                    Some(found) if protected(|| statics::same(kind, node.kind))? => {
                        self.read(found.items, list, path, results, scope)
                    }
                    _ => {
                        let class = string(element(node.kind, 0)).unwrap_or_default();
                        Err(unexpected(format!("an object of class <{class}> as `result` has it")))
                    }
                }
            }
            Out::List(children, names) => {
                let names = names_of(*names);
                let expected = if names.is_empty() {
                    format!("a list of length {}, without names", children.len())
                } else {
                    a_list_of(&names)
                };
                if !is_list(x) || len(x) != children.len() || own != names {
                    return Err(unexpected(expected));
                }
                for (i, child) in children.iter().enumerate() {
                    let path = path.to_owned() + &path::subscript(x, i);
                    self.read(element(x, i), child, &path, results, scope)?;
                }
                Ok(())
            }
        }
    }

    /// Reads result number `i`: a tensor of its type, or an R number or an ambiguous tensor that its dtype
    /// holds.
    fn leaf(&self, x: SEXP, i: usize, path: &str, out: &mut ViewMut) -> Outcome<()> {
        let to = Aval { shape: out.shape.clone(), ..self.types[i].clone() };
        let wrong = |got: String, hint: &str| -> Exit {
            Error::Callback { path: path.into(), expected: to.to_string(), got, hint: hint.into() }.into()
        };
        if value::is_tracer(x) {
            trace::check_open(x)?;
        }
        if value::is_tensor(x) {
            let tensor = Tensor::read(x)?;
            let (aval, ranked) = (tensor.aval(), tensor.ranked());
            let fits = if ranked.ambiguous {
                is_above(to.ranked().dtype, ranked.dtype)
            } else {
                ranked.dtype == to.ranked().dtype
            };
            if !fits || aval.shape != to.shape {
                let hint = if fits { "" } else { "Convert it with `nv_convert()`, or say so in `result`." };
                return Err(wrong(aval.to_string(), hint));
            }
            let (bytes, layout) = (tensor.bytes()?, Layout::dense(&aval.shape));
            let view =
                View { dtype: aval.dtype, shape: &aval.shape, layout: &layout, data: bytes.as_slice() };
            if aval.dtype == to.dtype {
                tile::copy(&view, out);
            } else {
                Convert { to: to.ranked() }.eval(&[view], std::slice::from_mut(out));
            }
            return Ok(());
        }
        let Some((dtype, shape)) = vector::number(x) else { return Err(wrong(value::describe(x), "")) };
        let given = Aval::new(crate::settings::current()?.defaults.number_type(dtype), shape);
        let got = format!("R's {given}");
        // SAFETY: reads an attribute.
        let bare = attribute(x, unsafe { R_DimSymbol }) == nil();
        let same_shape = given.shape == to.shape || bare && len(x) == 1 && to.shape.size() == 1;
        if !is_above(to.ranked().dtype, dtype) {
            let hint = match (dtype.kind(), to.dtype.kind()) {
                (Kind::Float, Kind::Integer | Kind::Unsigned) => "Convert it, such as with `as.integer()`.",
                _ => "",
            };
            return Err(wrong(got, hint));
        }
        if !same_shape {
            return Err(wrong(got, ""));
        }
        let bytes = vector::bytes(x, 8)?;
        let source = match kind(x) {
            REALSXP => Source::Doubles(cast::slice(bytes.as_slice())),
            INTSXP => Source::Integers(cast::slice(bytes.as_slice())),
            LGLSXP => Source::Logicals(cast::slice(bytes.as_slice())),
            _ => Source::Complexes(cast::slice(bytes.as_slice())),
        };
        let read = import(&source, to.dtype, false, &to.shape, Filling::Column, out.data);
        read.map(|_| ()).map_err(|error| match error {
            Error::MissingValue { .. } => wrong(format!("{got} with missing values"), ""),
            Error::Unrepresentable { dtype, .. } => {
                wrong(format!("{got} with numbers that {dtype} cannot represent"), "")
            }
            other => other.into(),
        })
    }
}

/// Whether a dtype takes R numbers, or ambiguous values, of another one: booleans are integers, these floats,
/// these complex numbers.
fn is_above(to: DType, from: DType) -> bool {
    let rank = |dtype: DType| match dtype.kind() {
        Kind::Boolean => 0,
        Kind::Integer | Kind::Unsigned => 1,
        Kind::Float => 2,
        Kind::Complex => 3,
    };
    rank(to) >= rank(from)
}

fn a_list_of(names: &[String]) -> String {
    format!("a list with the names `{}`", names.join("`, `"))
}

fn names_of(names: SEXP) -> Vec<String> {
    // SAFETY: index in range.
    (0..if names == nil() { 0 } else { len(names) })
        .map(|i| text(unsafe { STRING_ELT(names, i as Length) }))
        .collect()
}
