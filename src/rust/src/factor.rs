//! Factors among the arguments of traced functions: traced integers, their codes, that know their levels.

use crate::ffi::*;
use crate::guard::{protected, Outcome, Scope};
use crate::statics;
use crate::trace::Trace;
use crate::tree;
use anvil_core::error::Error;
use anvil_core::graph::Value;

/// The levels of a factor's codes; `None` of anything else.
pub fn levels(x: SEXP) -> Option<SEXP> {
    // SAFETY: reads an attribute.
    Some(attribute(x, unsafe { R_LevelsSymbol })).filter(|&levels| kind(levels) == STRSXP)
}

/// Gives a traced value the levels that `x` has, if it has any.
pub fn keep_levels(tracer: SEXP, x: SEXP) -> Outcome<()> {
    match levels(x) {
        // SAFETY: inside `protected`; the value is one that the running call made.
        Some(levels) => protected(|| unsafe { Rf_setAttrib(tracer, R_LevelsSymbol, levels) }).map(|_| ()),
        None => Ok(()),
    }
}

/// Gives a traced value the levels of the operands that its elements come from, if these are codes of the same levels
/// and were only moved. `values` are those of the operands.
///
/// # Errors
/// [`Error::Arg`](anvil_core::error::Error) if it puts codes of other levels together: they mean other labels.
pub fn follow(tracer: SEXP, made: Value, trace: &Trace, operands: &[SEXP], values: &[Value]) -> Outcome<()> {
    let Some(first) = operands.iter().find_map(|&x| levels(x)) else { return Ok(()) };
    let (mut next, mut all) = (vec![made], true);
    while let Some(value) = next.pop() {
        let from = operands.iter().zip(values).find(|&(_, &v)| v == value).map(|(&x, _)| levels(x));
        let builder = trace.builder();
        match (from, builder.graph().made_by(value)) {
            (Some(Some(other)), _) if statics::same(other, first) => (),
            (Some(Some(_)), _) => {
                let what = "factors with the same levels, in the same order";
                return Err(Error::arg("...", what, "factors of other levels").into());
            }
            (None, Some(node)) if node.op.rearranges() => next.extend(&node.operands),
            _ => all = false,
        }
    }
    // SAFETY: inside `protected`; the value is one that the running call made.
    let set = || protected(|| unsafe { Rf_setAttrib(tracer, R_LevelsSymbol, first) }).map(|_| ());
    if all {
        set()
    } else {
        Ok(())
    }
}

/// Of the operands of `==`, `!=` and `%in%`, of which one is the codes of a factor with these levels, R data as codes: as in R
/// they are labels. What is no label has the code 0.
pub fn labels_to_codes(operands: &mut [SEXP], levels: SEXP, scope: &Scope) -> Outcome<()> {
    for x in operands.iter_mut().filter(|x| matches!(kind(**x), STRSXP | INTSXP | REALSXP | LGLSXP)) {
        if !crate::value::is_tensor(*x) && !crate::value::is_tracer(*x) {
            let given = tree::list_of(&[*x, levels], scope)?;
            // SAFETY: inside `protected`; the function gives a vector of integers.
            let codes = protected(|| unsafe { anvil_call_r(c"codes_of_labels".as_ptr(), given) })?;
            *x = scope.keep(codes);
        }
    }
    Ok(())
}
