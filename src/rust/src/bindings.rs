//! Names that environments bind. R/mask.R and R/trace.R look up all names that a function's code has.

use crate::ffi::*;
use crate::guard::{protected, Outcome, Scope};

/// Those of `names`, a character vector, that are bound in the environment itself, in their order. No binding
/// is read: none that is active is called, and nothing is evaluated that R has put off.
pub fn bound(names: SEXP, env: SEXP, scope: &Scope) -> Outcome {
    // SAFETY: inside `protected`; both are arguments of a call from R.
    let found = protected(|| unsafe {
        let all = 0..Rf_xlength(names);
        let is_bound = |&i: &Length| R_existsVarInFrame(env, Rf_installTrChar(STRING_ELT(names, i))) != 0;
        let count = all.clone().filter(is_bound).count();
        let found = Rf_protect(Rf_allocVector(STRSXP, count as Length));
        for (to, from) in (0..count as Length).zip(all.filter(is_bound)) {
            SET_STRING_ELT(found, to, STRING_ELT(names, from));
        }
        Rf_unprotect(1);
        found
    })?;
    Ok(scope.keep(found))
}
