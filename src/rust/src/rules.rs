//! The rules of promotion that hold now: those of R's option `anvil.promotion_rules`. The scopes of R/promotion-rules.R
//! and jitted functions with rules of their own set it and put it back, so it is the one place to look.

use crate::ffi::*;
use crate::value;
use anvil_core::dtype::promote::{self, Rules};
use anvil_core::error::Result;

/// Name of the option, as messages spell it.
const OPTION: &str = "options(anvil.promotion_rules = )";

/// The rules that hold now.
///
/// # Errors
/// [`Error::Arg`](anvil_core::error::Error::Arg) if the option names none.
pub fn current() -> Result<&'static Rules> {
    // SAFETY: a symbol; looking an option up allocates nothing.
    let option = unsafe { Rf_GetOption1(value::rules_symbol()) };
    if option == nil() {
        return Ok(promote::rules());
    }
    named(option).map_err(|e| e.for_argument(OPTION))
}

/// Rules from an R value: their name, or `NULL` for those that hold now.
///
/// # Errors
/// [`Error::Arg`](anvil_core::error::Error::Arg) for anything else.
pub fn argument(x: SEXP) -> Result<&'static Rules> {
    if x == nil() { current() } else { named(x) }
}

fn named(x: SEXP) -> Result<&'static Rules> {
    match string(x) {
        Some(name) => promote::by_name(&name),
        None => Err(promote::unknown_rules(&value::describe(x))),
    }
}
