//! R data among the operands of an op, as R means it beside the others: `NA` beside floats, integers beside those of a
//! narrow dtype.

use crate::factor;
use crate::ffi::*;
use crate::guard::{protected, Outcome, Scope};
use crate::info;
use crate::trace;
use crate::tracer;
use crate::value::{self, Tensor};
use crate::vector;
use anvil_core::apply::{compares, is_elementwise, takes_na};
use anvil_core::dtype::{DType, Ranked, INEXACT};
use anvil_core::error::Error;
use anvil_core::kernels::cast;
use anvil_core::tensor::Aval;

/// Whether an op is one of R's operators or functions of numbers, which give `NA` for factors, or refuse them.
fn is_of_numbers(name: &str) -> bool {
    // What only moves or names elements, or asks which they are.
    const OF_ANY: [&str; 9] =
        ["eq", "ne", "is_nan", "is_finite", "is_infinite", "select", "convert", "identity", "stop_gradient"];
    let sums =
        matches!(name, "reduce_sum" | "reduce_prod" | "reduce_squares" | "mean" | "var" | "sd" | "median");
    let ends = matches!(name, "reduce_max" | "reduce_min" | "reduce_any" | "reduce_all" | "quantile");
    let along = matches!(name, "cumsum" | "cumprod" | "cummax" | "cummin" | "cumlogsumexp" | "diff");
    let products =
        matches!(name, "crossprod" | "tcrossprod" | "matrix_product" | "outer" | "kronecker" | "cov" | "cor");
    sums || ends || along || products || (is_elementwise(name) && !OF_ANY.contains(&name))
}

/// The operands of what is called `name`, as they are meant.
pub fn as_meant(name: SEXP, operands: &mut [SEXP], scope: &Scope) -> Outcome<()> {
    if operands.iter().any(|&x| vector::holds_na(x)) && takes_na(&text(name)) {
        missing_to_nan(operands, scope)?;
    }
    let has_levels = operands.iter().any(|&x| value::is_tracer(x) && factor::levels(x).is_some());
    if has_levels && is_of_numbers(&text(name)) {
        let expected = "numbers: `as.integer(f)` are the codes of a factor";
        return Err(Error::arg("operand", expected, "a factor, which R refuses or makes NA").into());
    }
    if let &mut [a, b] = operands {
        if is_beyond(a, b)? && compares(&text(name)) {
            operands[0] = known(a, scope)?;
        } else if is_beyond(b, a)? && compares(&text(name)) {
            operands[1] = known(b, scope)?;
        }
    }
    Ok(())
}

/// What is assigned to elements of `x`, as it is meant: what the dtype of that cannot hold has its own, which is
/// refused.
pub fn as_assigned(x: SEXP, new: SEXP, scope: &Scope) -> Outcome {
    if is_beyond(new, x)? {
        return known(new, scope);
    }
    let mut operands = [x, new];
    if vector::holds_na(new) {
        missing_to_nan(&mut operands, scope)?;
    }
    Ok(operands[1])
}

/// Makes doubles of logicals among which is `NA`, if there are floats beside them, as R does.
fn missing_to_nan(operands: &mut [SEXP], scope: &Scope) -> Outcome<()> {
    let mut floats = false;
    for &x in &*operands {
        floats |= match dtype_of(x)? {
            Some(dtype) => INEXACT.contains(dtype),
            None => matches!(kind(x), REALSXP | CPLXSXP),
        };
    }
    for x in operands.iter_mut().filter(|x| floats && vector::holds_na(**x)) {
        // SAFETY: a new vector from a logical one, inside `protected`.
        *x = scope.keep(protected(|| unsafe { Rf_coerceVector(*x, REALSXP) })?);
    }
    Ok(())
}

/// The dtype of a tensor or a traced value.
fn dtype_of(x: SEXP) -> Outcome<Option<DType>> {
    if value::is_tracer(x) {
        return Ok(Some(info::dtype_argument(trace::type_of(x)?[0])?));
    }
    Ok(if value::is_tensor(x) { Some(Tensor::header(x)?.dtype) } else { None })
}

/// Whether `x` are R's integers of which some are beyond the integer dtype of `beside`, so that they would wrap there.
fn is_beyond(x: SEXP, beside: SEXP) -> Outcome<bool> {
    if kind(x) != INTSXP || is_own_object(x) || tracer::held(x).is_some() {
        return Ok(false);
    }
    let Some((low, high)) = dtype_of(beside)?.and_then(DType::bounds) else { return Ok(false) };
    if low <= i32::MIN.into() && high >= i32::MAX.into() {
        return Ok(false);
    }
    let bytes = vector::number_bytes(x, DType::I32)?;
    let values = cast::slice::<i32>(bytes.as_slice());
    Ok(values.iter().any(|&v| i128::from(v) < low || i128::from(v) > high))
}

/// R's integers as a tensor of their own dtype, which is not that of what is beside them.
fn known(x: SEXP, scope: &Scope) -> Outcome {
    let (dtype, shape) = trace::number_argument(x)?;
    trace::new_tensor(
        &Aval::new(Ranked::known(dtype), shape),
        vector::number_bytes(x, dtype)?.as_slice(),
        scope,
    )
}
