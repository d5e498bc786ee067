//! Names along the axes of tensors: the names of a vector, the `dimnames` of an array.
//!
//! Arguments, subsets and `c()` keep them; nothing that computes does.

use crate::ffi::*;
use crate::guard::{protected, Outcome, Scope};
use anvil_core::apply::selection::Selection;
use anvil_core::error::{Error, Result};
use anvil_core::shape::Axis;

/// The names along the axes of a vector or array of R: a list with a character vector or `NULL` for each axis;
/// `NULL` without names.
pub fn of(x: SEXP, scope: &Scope) -> Outcome {
    // SAFETY: reads attributes that vectors and arrays have.
    let (dim, dimnames) = unsafe { (attribute(x, R_DimSymbol), attribute(x, R_DimNamesSymbol)) };
    if dim != nil() {
        return Ok(dimnames);
    }
    // SAFETY: as above.
    let names = attribute(x, unsafe { R_NamesSymbol });
    if names == nil() || len(x) == 1 {
        return Ok(nil());
    }
    list(&[names], scope)
}

/// Gives a tensor, a tracer or an array names along its axes.
pub fn set(x: SEXP, names: SEXP) -> Outcome<()> {
    if names == nil() {
        return Ok(());
    }
    // SAFETY: inside `protected`: R checks that they fit.
    protected(|| unsafe { Rf_setAttrib(x, R_DimNamesSymbol, names) }).map(|_| ())
}

/// The positions, from 1, of names along an axis, as R's integers.
///
/// # Errors
/// [`Error::Subscript`] if the axis has no names, or not these.
pub fn positions(wanted: SEXP, names: SEXP, axis: Axis, scope: &Scope) -> Outcome {
    let own = along(names, axis.0);
    let expected = "names of the axis, or numbers, a logical vector, a list of numbers, a tensor of integers";
    let wrong = |got: String, hint: &str| -> Error {
        Error::Subscript { axis, expected: expected.into(), got, hint: hint.into() }
    };
    if own == nil() {
        let hint = "The axis has no names: what computes drops them, see `?nv_tensor`.";
        return Err(wrong("a character vector".into(), hint).into());
    }
    // Equal strings of one encoding are one object; others are compared as text.
    // SAFETY: character vectors, and positions in them.
    let string = |x: SEXP, i: usize| unsafe { STRING_ELT(x, i as Length) };
    let find = |i: usize| -> Result<i32> {
        let name = string(wanted, i);
        let found = (0..len(own)).find(|&at| string(own, at) == name);
        let found = found.or_else(|| (0..len(own)).find(|&at| text(string(own, at)) == text(name)));
        found.map(|at| at as i32 + 1).ok_or_else(|| {
            let all: Vec<String> =
                (0..len(own).min(5)).map(|at| format!("\"{}\"", text(string(own, at)))).collect();
            let more = if len(own) > all.len() { ", ..." } else { "" };
            wrong(format!("\"{}\"", text(name)), &format!("Its names are {}{more}.", all.join(", ")))
        })
    };
    let at = (0..len(wanted)).map(find).collect::<Result<Vec<i32>>>()?;
    // SAFETY: inside `protected`; as many elements are written as were allocated.
    let out = protected(|| unsafe {
        let out = Rf_allocVector(INTSXP, at.len() as Length);
        at.iter().enumerate().for_each(|(i, &at)| *INTEGER(out).add(i) = at);
        out
    })?;
    Ok(scope.keep(out))
}

/// What a subscript leaves of an axis.
pub enum Left<'a> {
    /// All of it.
    All,
    /// These positions.
    Some(&'a Selection),
    /// Positions that only the program knows.
    Unknown,
    /// Nothing: the axis is dropped.
    Nothing,
}

/// The names along the axes of a subset, from those of the whole.
pub fn subset(names: SEXP, left: &[Left], scope: &Scope) -> Outcome {
    if names == nil() {
        return Ok(nil());
    }
    let mut parts = Vec::new();
    for (i, left) in left.iter().enumerate() {
        let own = along(names, i);
        match left {
            Left::Nothing => {}
            Left::All => parts.push(own),
            Left::Some(_) | Left::Unknown if own == nil() => parts.push(own),
            Left::Unknown => parts.push(nil()),
            Left::Some(selection) => {
                // SAFETY: inside `protected`; positions are those of the axis, which has as many names.
                let chosen = protected(|| unsafe {
                    let out = Rf_protect(Rf_allocVector(STRSXP, selection.len() as Length));
                    for i in 0..selection.len() {
                        SET_STRING_ELT(out, i as Length, STRING_ELT(own, selection.at(i) as Length));
                    }
                    Rf_unprotect(1);
                    out
                })?;
                parts.push(scope.keep(chosen));
            }
        }
    }
    if parts.iter().all(|&x| x == nil()) {
        return Ok(nil());
    }
    list(&parts, scope)
}

/// The names along one axis, or `NULL`.
fn along(names: SEXP, axis: usize) -> SEXP {
    if kind(names) == VECSXP && axis < len(names) && kind(element(names, axis)) == STRSXP {
        element(names, axis)
    } else {
        nil()
    }
}

fn list(parts: &[SEXP], scope: &Scope) -> Outcome {
    crate::tree::list_of(parts, scope)
}
