//! Factors among the arguments of traced functions: traced integers, their codes, that know their levels.

use crate::ffi::*;
use crate::guard::{protected, Outcome, Scope};
use crate::tree;

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

/// Of the operands of `==` and `!=`, of which one is the codes of a factor with these levels, R data as codes: as in R
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
