//! Subscripts as they are written: which is left out, is a range `a:b`, and what each evaluates to.

use crate::ffi::*;
use crate::guard::{protected, Outcome, Scope};
use crate::single_subscript;
use crate::value;

/// Whether element number `i` of the frame's `...` is missing, or a variable that is.
pub fn is_left_out(i: usize, frame: SEXP) -> Outcome<bool> {
    let name = element_name(i);
    // SAFETY: inside `protected`, the call that is made protected; the frame is the one of the function that
    // called.
    let answer = protected(|| unsafe {
        let ask = Rf_protect(Rf_lang2(Rf_install(c"missing".as_ptr()), Rf_install(name.as_ptr())));
        let answer = Rf_eval(ask, frame);
        Rf_unprotect(1);
        answer
    })?;
    Ok(value::flag_of(answer) == Some(true))
}

/// `..1` for 0.
fn element_name(i: usize) -> std::ffi::CString {
    std::ffi::CString::new(format!("..{}", i + 1)).expect("digits and dots")
}

/// The value of a subscript: element number `i` of the frame's `...`.
pub fn evaluated(expression: SEXP, i: usize, frame: SEXP, scope: &Scope) -> Outcome {
    if !matches!(kind(expression), SYMSXP | LANGSXP) {
        // A constant is its own value, and so is a value that do.call() puts in place of an expression.
        return Ok(expression);
    }
    let name = element_name(i);
    // SAFETY: inside `protected`; the frame is the one of the function that called.
    protected(|| unsafe { Rf_eval(Rf_install(name.as_ptr()), frame) }).map(|x| scope.keep(x))
}

/// Whether an expression is an integer vector: a constant, or the value of `a:b` in place of the expression.
pub fn is_integer(expression: SEXP) -> bool {
    kind(expression) == INTSXP && len(expression) == 1
}

/// The expressions of subscripts from the call itself, if it has as many. R before 4.3 evaluates the
/// arguments of `[` as soon as some package has S4 methods for it, since tensors have the S4 bit there.
pub fn as_written(expressions: Vec<SEXP>, frame: SEXP, scope: &Scope) -> Outcome<Vec<SEXP>> {
    let call = single_subscript::call_of(frame, scope)?;
    if kind(call) != LANGSXP {
        return Ok(expressions);
    }
    let mut written = Vec::with_capacity(expressions.len());
    // The subscripts follow the function and the tensor.
    for (tag, x) in pairs(call).skip(2) {
        // SAFETY: symbols have names.
        let named = |name: &std::ffi::CStr| {
            tag != nil() && unsafe { std::ffi::CStr::from_ptr(R_CHAR(PRINTNAME(tag))) } == name
        };
        // SAFETY: a constant of R.
        if x == unsafe { R_DotsSymbol } {
            return Ok(expressions);
        }
        if !named(c"drop") && !named(c"value") {
            written.push(x);
        }
    }
    Ok(if written.len() == expressions.len() { written } else { expressions })
}

/// Whether an expression is a call of `:`.
pub fn is_range(expression: SEXP) -> bool {
    if kind(expression) != LANGSXP {
        return false;
    }
    // SAFETY: a call has a function; a symbol has a name.
    unsafe {
        let function = CAR(expression);
        kind(function) == SYMSXP && std::ffi::CStr::from_ptr(R_CHAR(PRINTNAME(function))) == c":"
    }
}
