//! What the value of one subscript says of positions: those that are known while tracing, as numbers or logicals, and
//! all but one that the program computes.

use crate::axis_names;
use crate::ffi::*;
use crate::guard::{protected, Outcome, Scope};
use crate::tensor;
use crate::trace;
use crate::tracer;
use crate::tree;
use crate::value::{self, Tensor};
use anvil_core::dtype::DType;
use anvil_core::ops::{Op, Unary};
use anvil_core::shape::Axis;
use std::os::raw::c_int;

/// A subscript whose positions are known while tracing, as numbers or logicals: names, factors, masks that are tensors
/// with elements. What `which()` of a mask gives is the mask.
pub fn known(x: SEXP, names: SEXP, i: usize, scope: &Scope) -> Outcome {
    if kind(x) == STRSXP && !is_object(x) {
        return axis_names::positions(x, names, Axis(i), scope);
    }
    if tracer::selected(x).is_some() {
        // SAFETY: inside `protected`; a symbol is never collected.
        let which = attribute(x, protected(|| unsafe { Rf_install(c"which".as_ptr()) })?);
        return Ok(if which == nil() { x } else { which });
    }
    if kind(x) == INTSXP && inherits(x, c"factor") {
        // SAFETY: inside `protected`; the function gives the codes, which are positions to R.
        return Ok(scope.keep(protected(|| unsafe { anvil_call_r(c"codes_of_factor".as_ptr(), x) })?));
    }
    if value::is_tensor(x) {
        let tensor = Tensor::header(x)?;
        if tensor.dtype == DType::I1 && tensor.shape().rank() == 1 {
            return Ok(element(tensor::to_r(x, value::flag(false), scope)?, 0));
        }
    }
    Ok(x)
}

/// All positions of an axis but one, of a subscript `-i` with one position `i` that the program computes: how many
/// these are is known, unlike which. Any other subscript as it is. `mode` is the argument of that name, or `NULL`:
/// to another one than `"error"` negative positions are such that are out of range.
///
/// # Errors
/// As [`trace::own_value()`].
pub fn all_but_one(x: SEXP, size: usize, mode: SEXP, scope: &Scope) -> Outcome {
    let raises = string(mode).is_none_or(|mode| mode == "error");
    if !value::is_tracer(x) || !raises {
        return Ok(x);
    }
    let (_, aval, _) = trace::own_value(x)?;
    let position = aval.dtype.is_integer() || matches!(aval.dtype, DType::F32 | DType::F64);
    if aval.shape.size() != 1 || aval.shape.rank() > 1 || !position {
        return Ok(x);
    }
    let Some(position) = trace::operand_of(x, &Op::Unary(Unary::negate), scope)? else { return Ok(x) };
    // SAFETY: inside `protected`; sizes of axes are R's integers.
    let size = scope.keep(protected(|| unsafe { Rf_ScalarInteger(size as c_int) })?);
    let parts = tree::list_of(&[position, size], scope)?;
    // SAFETY: inside `protected`; the function gives a vector of positions.
    Ok(scope.keep(protected(|| unsafe { anvil_call_r(c"positions_but".as_ptr(), parts) })?))
}

/// The mask of all positions of an axis but several, of a subscript `-i` with positions `i` that the program computes:
/// how many are left is not known, since some may be equal or beyond the axis. Any other subscript as it is. `mode` as
/// in [`all_but_one()`].
///
/// # Errors
/// As [`trace::own_value()`].
pub fn all_but_several(x: SEXP, size: usize, mode: SEXP, scope: &Scope) -> Outcome {
    let raises = string(mode).is_none_or(|mode| mode == "error");
    if !value::is_tracer(x) || !raises {
        return Ok(x);
    }
    let (_, aval, _) = trace::own_value(x)?;
    let positions = aval.dtype.is_integer() || matches!(aval.dtype, DType::F32 | DType::F64);
    if aval.shape.rank() != 1 || aval.shape.size() < 2 || !positions {
        return Ok(x);
    }
    let Some(positions) = trace::operand_of(x, &Op::Unary(Unary::negate), scope)? else { return Ok(x) };
    // SAFETY: inside `protected`; sizes of axes are R's integers.
    let size = scope.keep(protected(|| unsafe { Rf_ScalarInteger(size as c_int) })?);
    let parts = tree::list_of(&[positions, size], scope)?;
    // SAFETY: inside `protected`; the function gives a mask.
    Ok(scope.keep(protected(|| unsafe { anvil_call_r(c"mask_but".as_ptr(), parts) })?))
}

/// The positions and the mask of a selection of positions, as `i[m]`; `None` of another subscript. Positions that are
/// not selected are the first.
///
/// # Errors
/// As [`trace::own_value()`].
pub fn picked(x: SEXP, scope: &Scope) -> Outcome<Option<(SEXP, SEXP)>> {
    let Some(parts) = tracer::selected(x) else { return Ok(None) };
    let (_, aval, _) = trace::own_value(element(parts, 0))?;
    let positions = aval.dtype.is_integer() || matches!(aval.dtype, DType::F32 | DType::F64);
    if !positions || aval.shape.rank() != 1 {
        return Ok(None);
    }
    // SAFETY: inside `protected`; the function gives the positions.
    let at = scope.keep(protected(|| unsafe { anvil_call_r(c"selected_or_first".as_ptr(), parts) })?);
    Ok(Some((at, element(parts, 1))))
}
