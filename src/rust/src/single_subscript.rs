//! `x[i]` where `x` has several axes. A mask of the shape of `x`, and a matrix with a row of positions for each
//! element, are R's alone and select elements. Numbers and other masks are elements to R, positions of the first
//! axis to tensor libraries: they are refused, by a message that has what to write for either, unless `x` is one
//! column, or was made of R vectors in a traced function.

use crate::ffi::*;
use crate::guard::{protected, Outcome, Scope};
use crate::tensor;
use crate::trace;
use crate::tree;
use crate::value::{self, Tensor};
use crate::vector;
use anvil_core::apply::selection::{select_mask, select_rows, Selection};
use anvil_core::dtype::DType;
use anvil_core::error::Error;
use anvil_core::kernels::cast;
use anvil_core::shape::{Axis, Shape};

/// Whether a subscript is a mask of this shape that a program computes; of one element, whatever axes it has.
pub fn is_computed_mask(i: SEXP, shape: &Shape) -> Outcome<bool> {
    if !value::is_tracer(i) {
        return Ok(false);
    }
    let (_, aval, _) = trace::own_value(i)?;
    let is_one = aval.shape.size() == 1 && shape.size() == 1;
    Ok(aval.dtype == DType::I1 && (aval.shape == *shape || is_one))
}

/// Whether a subscript is a mask of an axis of this size that a program computes: a vector, or one column, such as
/// `A %*% b > 0`.
pub fn masks_axis(i: SEXP, size: usize) -> Outcome<bool> {
    if !value::is_tracer(i) {
        return Ok(false);
    }
    let (_, aval, _) = trace::own_value(i)?;
    Ok(aval.dtype == DType::I1
        && aval.shape.first() == Some(&size)
        && aval.shape[1..].iter().all(|&n| n == 1))
}

/// Whether the only subscript is a mask of all elements that a program computes: of the shape of `x`, or of a vector
/// with as many.
///
/// # Errors
/// Those of [`is_vector`].
pub fn masks_elements(x: SEXP, shape: &Shape, subscripts: &[SEXP]) -> Outcome<bool> {
    let &[i] = subscripts else { return Ok(false) };
    if !value::is_tracer(i) {
        return Ok(false);
    }
    let (_, aval, _) = trace::own_value(i)?;
    let whole = aval.dtype == DType::I1 && aval.shape.size() == shape.size() && shape.rank() > 0;
    Ok(whole && (aval.shape == *shape || is_vector(x, shape)?))
}

/// Whether a subscript is a matrix of positions that a program computes, with a column for each axis: integers, or floats
/// that tell all positions apart; those that are no whole numbers are positions of nothing.
pub fn are_computed_rows(i: SEXP, shape: &Shape) -> Outcome<bool> {
    if !value::is_tracer(i) {
        return Ok(false);
    }
    let (_, aval, _) = trace::own_value(i)?;
    let is_exact = match aval.dtype {
        DType::F64 => true,
        DType::F32 => shape.iter().all(|&size| size <= 1 << 24),
        dtype => dtype.is_integer(),
    };
    Ok(is_exact && aval.shape.rank() == 2 && aval.shape[1] == shape.rank())
}

/// Whether a subscript is a matrix of names, with a row for each element and a column for each axis.
pub fn are_labels(i: SEXP, shape: &Shape) -> bool {
    if kind(i) != STRSXP || is_object(i) || shape.rank() < 2 {
        return false;
    }
    let sizes = ints(value::sizes_of(i));
    sizes.len() == 2 && sizes[1] as usize == shape.rank()
}

/// The matrix of positions that a matrix of names stands for.
///
/// # Errors
/// An R error for names that an axis does not have.
pub fn rows_of_labels(i: SEXP, names: SEXP, scope: &Scope) -> Outcome {
    let given = tree::list_of(&[i, names], scope)?;
    // SAFETY: inside `protected`; the function gives a matrix of numbers.
    Ok(scope.keep(protected(|| unsafe { anvil_call_r(c"rows_of_labels".as_ptr(), given) })?))
}

/// The elements, in R's order, that a mask of this shape selects, or a matrix with a row of positions for each;
/// `None` for another subscript.
///
/// # Errors
/// [`Error::Subscript`] and [`Error::IndexOutOfBounds`] for positions that `x` does not have.
pub fn elements(shape: &Shape, i: SEXP, scope: &Scope) -> Outcome<Option<Selection>> {
    let i = if value::is_tensor(i) { element(tensor::to_r(i, value::flag(false), scope)?, 0) } else { i };
    if is_object(i) || !matches!(kind(i), LGLSXP | INTSXP | REALSXP) {
        return Ok(None);
    }
    let sizes: Vec<usize> = ints(value::sizes_of(i)).iter().map(|&size| size as usize).collect();
    let (axis, count) = (Axis(0), shape.size());
    if kind(i) == LGLSXP && sizes[..] == shape[..] {
        let mask = vector::bytes(i, 4)?;
        return Ok(Some(select_mask(cast::slice::<i32>(mask.as_slice()), axis, count)?));
    }
    if kind(i) != LGLSXP && sizes.len() == 2 && sizes[1] == shape.rank() {
        return Ok(Some(select_rows(numbers(i)?.as_slice(), shape)?));
    }
    Ok(None)
}

/// Whether `x` is a vector to a single subscript: all but its first axis have size 1, so that elements are positions
/// of the first axis, or it was made of vectors of R's, see `from_r()` in R/mask-functions.R.
///
/// # Errors
/// A jump if memory cannot be allocated.
pub fn is_vector(x: SEXP, shape: &Shape) -> Outcome<bool> {
    if shape[1..].iter().all(|&size| size == 1) {
        return Ok(true);
    }
    // SAFETY: inside `protected`; a symbol is never collected.
    let mark = protected(|| unsafe { Rf_install(c"from_r".as_ptr()) })?;
    Ok(attribute(x, mark) != nil())
}

/// The elements of a vector of R's numbers.
fn numbers(x: SEXP) -> Outcome<Vec<f64>> {
    Ok(if kind(x) == REALSXP {
        cast::slice::<f64>(vector::bytes(x, 8)?.as_slice()).to_vec()
    } else {
        let number = |&x: &i32| if x == i32::MIN { f64::NAN } else { x.into() };
        cast::slice::<i32>(vector::bytes(x, 4)?.as_slice()).iter().map(number).collect()
    })
}

/// What a single subscript is.
enum Kind {
    /// Numbers, or a tensor of integers.
    Numbers,
    /// Logicals of R: of several axes, or a vector.
    Mask { matrix: bool },
    /// A tensor of booleans.
    Computed,
    /// Numbers in a matrix, a row for each element.
    Matrix,
}

/// The error about a single subscript `i` of a tensor of several axes; `None` for what is no subscript of any
/// kind. `frame` is the one of the method, `assigned` says whether it assigns.
///
/// # Errors
/// Those of reading a tensor or tracer.
pub fn refused(
    shape: &Shape,
    i: SEXP,
    expression: SEXP,
    frame: SEXP,
    assigned: bool,
    scope: &Scope,
) -> Outcome<Option<Error>> {
    let Some(kind) = kind_of(i)? else { return Ok(None) };
    let mask = matches!(kind, Kind::Mask { .. } | Kind::Computed);
    // What is assigned to is a variable of R's own, `*tmp*`.
    let x = name_of(frame, scope)?.unwrap_or_else(|| "x".into());
    let i = text_of(expression, scope)?.unwrap_or_else(|| if mask { "mask" } else { "i" }.into());
    let rest = ", ".repeat(shape.rank() - 1);
    let rest = rest.trim_end().to_string() + " ";
    let first = format!("`{x}[{i}{rest}]{}` for the first axis", if assigned { " <- value" } else { "" });
    let advice = match (kind, assigned) {
        (Kind::Numbers, false) => {
            format!("Write {first}, `nv_flatten({x})[{i}]` for elements in R's order.")
        }
        (Kind::Numbers, true) => {
            format!("Write {first}, `{x}[[{}]] <- value` for an element.", letters(shape.rank()))
        }
        (Kind::Mask { matrix: true }, false) => format!(
            "Write `nv_flatten({x})[as.vector({i})]` for elements in R's order, or `nv_ifelse({i}, {x}, 0)` to keep the shape."
        ),
        (Kind::Mask { .. }, false) => {
            format!("Write {first}, `nv_flatten({x})[{i}]` for elements in R's order.")
        }
        (Kind::Mask { matrix: true } | Kind::Computed, true) => {
            format!("Write `{x} <- nv_ifelse({i}, value, {x})`.")
        }
        (Kind::Mask { .. }, true) => {
            format!("Write {first}, `{x} <- nv_ifelse(mask, value, {x})` with a mask of its shape for elements.")
        }
        (Kind::Computed, false) => {
            format!("Write {first}, or take a mask of the shape of `{x}` for elements, in R's order.")
        }
        (Kind::Matrix, false) if shape.rank() == 2 => format!(
            "Write `nv_flatten({x})[{i}[, 1] + nrow({x}) * ({i}[, 2] - 1L)]` for an element for each row of it, or use `nv_gather()`."
        ),
        (Kind::Matrix, false) => "Use `nv_gather()` for an element for each row of it.".into(),
        (Kind::Matrix, true) => "Use `nv_scatter()` for an element for each row of it.".into(),
    };
    Ok(Some(Error::SingleSubscript { written: format!("{x}[{i}]"), shape: shape.clone(), advice }))
}

/// Names for the subscripts of so many axes: `i, j`.
pub fn letters(rank: usize) -> String {
    let letter = |axis| ('i'..='z').nth(axis).map_or_else(|| format!("i{}", axis + 1), String::from);
    (0..rank).map(letter).collect::<Vec<_>>().join(", ")
}

fn kind_of(i: SEXP) -> Outcome<Option<Kind>> {
    if value::is_tensor(i) || value::is_tracer(i) {
        let (dtype, rank) = if value::is_tracer(i) {
            let (_, aval, _) = trace::own_value(i)?;
            (aval.dtype, aval.shape.rank())
        } else {
            let tensor = Tensor::header(i)?;
            (tensor.dtype, tensor.shape().rank())
        };
        return Ok(Some(match dtype {
            DType::I1 => Kind::Computed,
            _ if rank > 1 => Kind::Matrix,
            _ => Kind::Numbers,
        }));
    }
    if is_object(i) {
        return Ok(None);
    }
    let matrix = || ints(value::sizes_of(i)).len() > 1;
    Ok(match kind(i) {
        LGLSXP => Some(Kind::Mask { matrix: matrix() }),
        INTSXP | REALSXP if matrix() => Some(Kind::Matrix),
        INTSXP | REALSXP | VECSXP | NILSXP => Some(Kind::Numbers),
        _ => None,
    })
}

/// The variable that is subset, if it is one. The call may have a value in its place, and the argument too: R
/// before 4.3 evaluates it where a package has S4 methods for `[`.
fn name_of(frame: SEXP, scope: &Scope) -> Outcome<Option<String>> {
    // SAFETY: inside `protected`; the call that is made is protected while it is evaluated.
    let argument = scope.keep(protected(|| unsafe {
        let ask = Rf_protect(Rf_lang2(Rf_install(c"substitute".as_ptr()), Rf_install(c"x".as_ptr())));
        let argument = Rf_eval(ask, frame);
        Rf_unprotect(1);
        argument
    })?);
    let first = pairs(call_of(frame, scope)?).nth(1).map_or(nil(), |(_, x)| x);
    let Some(&name) = [argument, first].iter().find(|&&x| kind(x) == SYMSXP) else { return Ok(None) };
    // SAFETY: a symbol has a name.
    let name = text(unsafe { PRINTNAME(name) });
    let plain = name.chars().all(|c| c.is_alphanumeric() || c == '.' || c == '_');
    Ok((plain && !name.is_empty()).then_some(name))
}

/// The call of the function with this frame.
pub fn call_of(frame: SEXP, scope: &Scope) -> Outcome {
    // SAFETY: inside `protected`; the call that is made is protected while it is evaluated.
    let call = protected(|| unsafe {
        let ask = Rf_protect(Rf_lang1(Rf_install(c"sys.call".as_ptr())));
        let call = Rf_eval(ask, frame);
        Rf_unprotect(1);
        call
    })?;
    Ok(scope.keep(call))
}

/// A subscript as it is written, if that is short.
fn text_of(expression: SEXP, scope: &Scope) -> Outcome<Option<String>> {
    /// Characters at most.
    const SHORT: usize = 24;
    // SAFETY: inside `protected`; the calls that are made are protected while they are evaluated.
    let lines = scope.keep(protected(|| unsafe {
        let quoted = Rf_protect(Rf_lang2(Rf_install(c"quote".as_ptr()), expression));
        let ask = Rf_protect(Rf_lang2(Rf_install(c"deparse".as_ptr()), quoted));
        let lines = Rf_eval(ask, R_BaseEnv);
        Rf_unprotect(2);
        lines
    })?);
    Ok(string(lines).filter(|line| line.chars().count() <= SHORT))
}
