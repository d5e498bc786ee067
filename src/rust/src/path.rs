//! Paths of values in nested lists, as R code: `l[[1]]$a`. Messages about arguments and results name them.

use crate::ffi::*;
use crate::guard::{Exit, Outcome, Scope};
use crate::inner::{is_list, Inner};
use crate::op;
use crate::tracer;
use crate::tree::Leaf;
use crate::value;
use crate::vector;
use anvil_core::error::Error;
use std::ffi::CStr;

/// An error about a leaf, with the path of the leaf for its name. `find` searches the first leaf with a
/// property. It runs only in case of an error, so that paths cost nothing otherwise.
pub fn named(exit: Exit, find: impl FnOnce(&dyn Fn(SEXP) -> bool) -> Outcome<Option<String>>) -> Exit {
    match exit {
        Exit::Error(e @ (Error::Arg { .. } | Error::MissingValue { .. })) => match find(&is_bad) {
            Ok(Some(path)) => Exit::Error(e.for_argument(&path)),
            Ok(None) => Exit::Error(e),
            Err(exit) => exit,
        },
        other => other,
    }
}

/// Whether a leaf is no operand: neither tensor nor number, a broken tensor, or a number with missing values.
fn is_bad(x: SEXP) -> bool {
    if value::is_tracer(x) {
        return false;
    }
    match op::leaf(x) {
        Ok(Leaf::Number(x, dtype)) => vector::number_bytes(x, dtype).is_err(),
        Ok(Leaf::Tensor(..)) => false,
        Err(exit) => matches!(exit, Exit::Error(Error::Arg { .. })),
    }
}

/// The path to the first leaf of `x` that is `bad`, which begins with `name`.
///
/// # Errors
/// Those of [`Inner::of`].
pub fn find(x: SEXP, name: &str, bad: &dyn Fn(SEXP) -> bool, scope: &Scope) -> Outcome<Option<String>> {
    // The open nodes of the walk, with the position in each. The walk is not recursive: lists may be deep.
    let mut open: Vec<(SEXP, usize)> = Vec::new();
    let mut at = x;
    loop {
        if let Some(node) = Inner::of(at, scope)? {
            open.push((node.items, 0));
        } else if at != nil() && bad(at) {
            let path = |path: String, &(list, i): &(SEXP, usize)| path + &subscript(list, i - 1);
            return Ok(Some(open.iter().fold(name.to_string(), path)));
        }
        at = loop {
            let Some((list, next)) = open.last_mut() else { return Ok(None) };
            if *next < len(*list) {
                *next += 1;
                break element(*list, *next - 1);
            }
            open.pop();
        };
    }
}

/// The R code that takes element `i` of a list, from 0.
pub fn subscript(list: SEXP, i: usize) -> String {
    // SAFETY: reads an attribute; there are as many names as elements.
    let names = attribute(list, unsafe { R_NamesSymbol });
    // SAFETY: as above.
    let name = if names == nil() { String::new() } else { text(unsafe { STRING_ELT(names, i as Length) }) };
    if name.is_empty() {
        format!("[[{}]]", i + 1)
    } else {
        format!("${name}")
    }
}

/// What to write in place of a selection.
const SELECTIONS: &str =
    "`nv_ifelse(mask, x, y)` has all elements, `x[nv_which(mask, size = n)]` a known number; `?selections` says which functions take a selection.";

/// What to write in place of a selection, a list that was given as an operand, or of a vector of a class that has a
/// conversion; empty for anything but a bare list with elements and such a vector.
pub fn advice(x: SEXP) -> String {
    /// The classes of vectors that `as_nv_tensor()` converts.
    const CONVERTED: [&CStr; 6] = [c"factor", c"Date", c"POSIXct", c"POSIXlt", c"difftime", c"integer64"];
    if CONVERTED.iter().any(|class| inherits(x, class)) {
        return "Make it a tensor with `as_nv_tensor()`.".into();
    }
    /// Elements that are listed.
    const LISTED: usize = 3;
    if tracer::selected(x).is_some() {
        return SELECTIONS.into();
    }
    if !is_list(x) || len(x) == 0 {
        return String::new();
    }
    // SAFETY: reads an attribute.
    let named = attribute(x, unsafe { R_NamesSymbol }) != nil();
    // The gradient with respect to a list is one itself.
    let may_be_gradient = |x: SEXP| value::is_tensor(x) || value::is_tracer(x) || is_list(x);
    let is_gradient = named && (0..len(x)).all(|i| may_be_gradient(element(x, i)));
    if !is_gradient {
        return format!("Take one of its elements, such as `{}`.", subscript(x, 0));
    }
    let elements: Vec<String> = (0..len(x)).map(|i| format!("`{}`", subscript(x, i))).collect();
    match elements.as_slice() {
        [one] => format!("Gradients are a list: take its element {one}."),
        [some @ .., last] if some.len() < LISTED => {
            format!("Gradients are a list: take one of its elements, {} or {last}.", some.join(", "))
        }
        many => {
            format!("Gradients are a list: take one of its elements, such as {}.", many[..LISTED].join(", "))
        }
    }
}
