//! Sequences `a:b` that R expands when their elements are read.

use crate::ffi::*;
use crate::guard::{protected, Outcome};
use std::os::raw::c_int;
use std::sync::OnceLock;

/// The tag that R gives compact sequences `a:b` in place of a class.
static COMPACT: OnceLock<usize> = OnceLock::new();

/// Finds out how R marks compact sequences.
///
/// # Errors
/// A jump if memory cannot be allocated.
pub fn initialise() -> Outcome<()> {
    // SAFETY: inside `protected`; what is made is protected while more is. The class of an ALTREP vector is
    // its tag.
    let class = protected(|| unsafe {
        let first = Rf_protect(Rf_ScalarInteger(1));
        let last = Rf_protect(Rf_ScalarInteger(1000));
        let call = Rf_protect(Rf_lang3(Rf_install(c":".as_ptr()), first, last));
        let sequence = Rf_eval(call, R_BaseEnv);
        Rf_unprotect(3);
        if ALTREP(sequence) != 0 {
            TAG(sequence) as usize
        } else {
            0
        }
    })?;
    if class != 0 {
        // R never frees classes.
        let _ = COMPACT.set(class);
    }
    Ok(())
}

/// First and last element of a compact sequence, `a:b` of at least two elements.
pub fn ends(x: SEXP) -> Option<[c_int; 2]> {
    let n = len(x);
    // SAFETY: an integer vector of so many elements, whose class makes them without allocating.
    unsafe {
        let is_compact =
            n > 1 && ALTREP(x) != 0 && COMPACT.get().is_some_and(|&class| TAG(x) as usize == class);
        is_compact.then(|| [INTEGER_ELT(x, 0), INTEGER_ELT(x, n as Length - 1)])
    }
}
