//! Names along the axes of tensors: the names of a vector, the `dimnames` of an array.
//!
//! They are a list with a character vector or `NULL` for each axis; the list may have names itself, which say what
//! the axes are. A value without axes is one element, as a vector of R, and has a list of one name; R has it as
//! `names`, those of others as `dimnames`. What ops make of them is in [`op_names`](crate::op_names).

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
    if names == nil() {
        return Ok(nil());
    }
    crate::tree::list_of(&[names], scope)
}

/// The names along one axis, and what the axis is called.
#[derive(Clone, Copy)]
pub struct AxisNames {
    /// A character vector, or `NULL`.
    pub names: SEXP,
    /// A string of R's, or `NULL`.
    label: SEXP,
}

impl AxisNames {
    pub fn none() -> Self {
        AxisNames { names: nil(), label: nil() }
    }

    /// Those of one axis of a value whose names are these.
    pub fn of(names: SEXP, axis: usize) -> Self {
        AxisNames { names: along(names, axis), label: label(names, axis) }
    }

    /// These names, of an axis that is called nothing.
    pub fn unlabelled(names: SEXP) -> Self {
        AxisNames { names, label: nil() }
    }

    /// So many of the names, by their positions.
    pub fn picked(self, count: usize, at: impl Fn(usize) -> usize, scope: &Scope) -> Outcome<Self> {
        Ok(AxisNames { names: picked(self.names, count, at, scope)?, ..self })
    }
}

/// Whether an object has names of either kind. This looks at its attributes once.
pub fn has(x: SEXP) -> bool {
    // SAFETY: constants of R.
    let [names, dimnames] = unsafe { [R_NamesSymbol, R_DimNamesSymbol] };
    !attributes_all(x, |tag, _| tag != names && tag != dimnames)
}

/// Gives a tensor, a tracer or an array names along its axes.
pub fn set(x: SEXP, names: SEXP) -> Outcome<()> {
    if names == nil() {
        return Ok(());
    }
    // SAFETY: inside `protected`; R checks that they fit.
    protected(|| unsafe { put(x, names) })
}

/// Gives an object names, or with `NULL` takes them away.
///
/// # Safety
/// May jump: only inside [`protected`]. Nothing else sees the object.
pub unsafe fn put(x: SEXP, names: SEXP) {
    // SAFETY: by the caller.
    unsafe {
        if attribute(x, R_DimSymbol) == nil() {
            Rf_setAttrib(x, R_NamesSymbol, along(names, 0));
        } else {
            Rf_setAttrib(x, R_DimNamesSymbol, names);
        }
    }
}

/// Names that a value may have, or else `NULL`: those of axes of its sizes, the first of its axes if it has more,
/// such as one of examples.
///
/// # Safety
/// May jump: only inside [`protected`]. The caller protects the result.
pub unsafe fn fitting(x: SEXP, names: SEXP) -> SEXP {
    let sizes = sizes(x);
    let fits = |i: usize| along(names, i) == nil() || Some(len(along(names, i))) == sizes.get(i).copied();
    let count = if kind(names) == VECSXP { len(names) } else { 0 };
    if count == 0 || count > sizes.len() || !(0..count).all(fits) {
        return nil();
    }
    if count == sizes.len() {
        return names;
    }
    // SAFETY: by the caller.
    unsafe {
        let longer = Rf_allocVector(VECSXP, sizes.len() as Length);
        let longer = Rf_protect(longer);
        (0..count).for_each(|i| _ = SET_VECTOR_ELT(longer, i as Length, element(names, i)));
        put_labels(longer, sizes.len(), |i| label(names, i));
        Rf_unprotect(1);
        longer
    }
}

/// A value with these names: itself if it has them, and otherwise a copy.
///
/// # Safety
/// May jump: only inside [`protected`]. The caller protects the result.
pub unsafe fn renamed(x: SEXP, names: SEXP) -> SEXP {
    if !has(x) && names == nil() {
        return x;
    }
    // SAFETY: by the caller.
    unsafe {
        let bare = attribute(x, R_DimSymbol) == nil();
        let own = attribute(x, if bare { R_NamesSymbol } else { R_DimNamesSymbol });
        let wanted = if bare { along(names, 0) } else { names };
        // All differences count, as those of `identical(x, y, attrib.as.set = FALSE)`.
        if own == wanted || R_compute_identical(own, wanted, 16) != 0 {
            return x;
        }
        let copy = Rf_protect(Rf_shallow_duplicate(x));
        put(copy, names);
        Rf_unprotect(1);
        copy
    }
}

/// The sizes that names are along: those of the axes, or for a value without axes that of a vector of one element.
pub fn sizes(x: SEXP) -> Vec<usize> {
    // SAFETY: reads an attribute.
    let dim = attribute(x, unsafe { R_DimSymbol });
    if dim == nil() {
        vec![len(x)]
    } else {
        ints(dim).iter().map(|&size| size.max(0) as usize).collect()
    }
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
        let hint = "The axis has no names: `?nv_tensor` says what keeps them.";
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
        let own = AxisNames::of(names, i);
        match left {
            Left::Nothing => {}
            Left::All => parts.push(own),
            Left::Some(_) | Left::Unknown if own.names == nil() => parts.push(own),
            Left::Unknown => parts.push(AxisNames { names: nil(), ..own }),
            Left::Some(selection) => parts.push(own.picked(selection.len(), |i| selection.at(i), scope)?),
        }
    }
    listed(&parts, scope)
}

/// Names for the axes of a value; `NULL` if none has any. As in R, the one axis of a vector is called nothing.
pub fn listed(parts: &[AxisNames], scope: &Scope) -> Outcome {
    if parts.iter().all(|part| part.names == nil()) {
        return Ok(nil());
    }
    let names: Vec<SEXP> = parts.iter().map(|part| part.names).collect();
    let list = crate::tree::list_of(&names, scope)?;
    if parts.len() > 1 {
        // SAFETY: inside `protected`; the scope keeps the list, and the strings are those of other names.
        protected(|| unsafe { put_labels(list, parts.len(), |i| parts[i].label) })?;
    }
    Ok(list)
}

/// Says what the axes are called of which these are the names, unless all are called nothing.
///
/// # Safety
/// May jump: only inside [`protected`]. The list has so many elements, and is protected.
unsafe fn put_labels(list: SEXP, count: usize, of: impl Fn(usize) -> SEXP) {
    if (0..count).all(|i| of(i) == nil()) {
        return;
    }
    // SAFETY: by the caller.
    unsafe {
        let names = Rf_protect(Rf_allocVector(STRSXP, count as Length));
        // What is allocated has empty strings.
        for i in (0..count).filter(|&i| of(i) != nil()) {
            SET_STRING_ELT(names, i as Length, of(i));
        }
        Rf_setAttrib(list, R_NamesSymbol, names);
        Rf_unprotect(1);
    }
}

/// What an axis is called of which these are the names, or `NULL`.
fn label(names: SEXP, axis: usize) -> SEXP {
    let labels = labels(names);
    // SAFETY: a character vector with so many elements.
    if axis < len(labels) {
        unsafe { STRING_ELT(labels, axis as Length) }
    } else {
        nil()
    }
}

/// What the axes are called of which these are the names: a character vector, or `NULL`.
pub fn labels(names: SEXP) -> SEXP {
    if kind(names) != VECSXP {
        return nil();
    }
    // SAFETY: reads an attribute of a list.
    let labels = attribute(names, unsafe { R_NamesSymbol });
    if kind(labels) == STRSXP {
        labels
    } else {
        nil()
    }
}

/// So many of the names along an axis, by their positions.
fn picked(own: SEXP, count: usize, at: impl Fn(usize) -> usize, scope: &Scope) -> Outcome {
    // SAFETY: inside `protected`; positions are those of the axis, which has as many names.
    let chosen = protected(|| unsafe {
        let out = Rf_protect(Rf_allocVector(STRSXP, count as Length));
        (0..count).for_each(|i| SET_STRING_ELT(out, i as Length, STRING_ELT(own, at(i) as Length)));
        Rf_unprotect(1);
        out
    })?;
    Ok(scope.keep(chosen))
}

/// The names along one axis, or `NULL`.
fn along(names: SEXP, axis: usize) -> SEXP {
    if kind(names) == VECSXP && axis < len(names) && kind(element(names, axis)) == STRSXP {
        element(names, axis)
    } else {
        nil()
    }
}
