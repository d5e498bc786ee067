//! The number of threads of R's option `anvil.threads`, which is read when a program runs.

use crate::ffi::*;
use crate::guard::{protected, r_string, Outcome, Scope};
use crate::value;
use anvil_core::error::Result;
use anvil_core::kernels::threads::{surroundings, threads, unusable, want};

/// Name of the option, as messages have it.
const OPTION: &str = "options(anvil.threads = )";

/// Passes the option's number of threads to the engine.
///
/// # Errors
/// [`Error::Arg`](anvil_core::error::Error::Arg) if it is no number of threads.
pub fn follow() -> Result<()> {
    // SAFETY: a symbol; looking an option up allocates nothing.
    let option = unsafe { Rf_GetOption1(value::threads_symbol()) };
    if option == nil() {
        return want(None);
    }
    let number = number(option).ok_or_else(|| unusable(&value::describe(option)));
    number.and_then(|n| want(Some(n))).map_err(|e| e.for_argument(OPTION))
}

/// One whole number, as R's integer or double.
fn number(x: SEXP) -> Option<usize> {
    if len_of_number(x) != 1 || is_object(x) {
        return None;
    }
    // SAFETY: checked to be an integer or double vector of length 1, of R's own making: such have their
    // elements at hand.
    let value = unsafe {
        if kind(x) == INTSXP {
            f64::from(*INTEGER_RO(x))
        } else {
            *REAL_RO(x)
        }
    };
    // A negative number, `NA_integer_` too, is out of range like one that is too large.
    (value.fract() == 0.0 && value.abs() < 1e15).then_some(value.max(0.0) as usize)
}

fn len_of_number(x: SEXP) -> usize {
    if matches!(kind(x), INTSXP | REALSXP) {
        len(x)
    } else {
        0
    }
}

/// The number in force.
///
/// # Errors
/// Those of [`follow`].
pub fn in_force(scope: &Scope) -> Outcome {
    follow()?;
    let number = threads();
    // SAFETY: inside `protected`; one element is written.
    let out = protected(|| unsafe {
        let count = Rf_allocVector(INTSXP, 1);
        *INTEGER(count) = number as i32;
        count
    })?;
    Ok(scope.keep(out))
}

/// The variable of the environment that holds no number of threads, and is ignored; or "".
pub fn ignored(scope: &Scope) -> Outcome {
    r_string(surroundings().ignored.as_deref().unwrap_or(""), scope)
}
