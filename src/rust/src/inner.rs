//! The inner nodes of nested lists: bare lists, data frames, which are lists of their columns, and objects of
//! the classes that users have registered (R/tree-class.R), each with a list of children and a static part.

use crate::ffi::*;
use crate::guard::{protected, Outcome, Scope};
use crate::value;
use std::ffi::CStr;

/// Whether an object is a bare list.
pub fn is_list(x: SEXP) -> bool {
    kind(x) == VECSXP && !is_object(x)
}

/// An inner node.
#[derive(Clone, Copy)]
pub struct Inner {
    /// Its elements, a bare list. That of an object is kept by the scope.
    pub items: SEXP,
    /// Of an object `list(class, static part, number of the registration)`, which decides with the elements
    /// what it is; `NULL` for a list, and for a data frame, which is taken as one.
    pub kind: SEXP,
    /// Of a data frame its row names, or as an integer their number; `NULL` otherwise.
    pub rows: SEXP,
}

impl Inner {
    /// The node that an object is; `None` for a leaf.
    ///
    /// # Errors
    /// A jump with the error of the user's function that gives the children of an object.
    pub fn of(x: SEXP, scope: &Scope) -> Outcome<Option<Inner>> {
        if is_list(x) {
            return Ok(Some(Inner { items: x, kind: nil(), rows: nil() }));
        }
        if !is_object(x) || value::is_tensor(x) || value::is_tracer(x) {
            return Ok(None);
        }
        // SAFETY: inside `protected`; `x` is alive.
        let parts = scope.keep(protected(|| unsafe { anvil_call_r(c"flatten_object".as_ptr(), x) })?);
        if parts == nil() {
            return Ok(None);
        }
        let rows = if len(parts) > 2 { element(parts, 2) } else { nil() };
        Ok(Some(Inner { items: element(parts, 0), kind: element(parts, 1), rows }))
    }

    /// Whether it is an object of a registered class.
    pub fn is_object(&self) -> bool {
        self.kind != nil()
    }

    /// The data frame of these columns: what a traced function sees of one. Of others than columns, of a list
    /// and of an object, what is given.
    pub fn framed(&self, columns: SEXP, scope: &Scope) -> Outcome {
        if self.rows == nil() {
            return Ok(columns);
        }
        // SAFETY: inside `protected`; the parts are alive, and the pair is protected by what it is given to.
        let made = protected(|| unsafe {
            let pair = Rf_protect(Rf_allocVector(VECSXP, 2));
            SET_VECTOR_ELT(pair, 0, columns);
            SET_VECTOR_ELT(pair, 1, self.rows);
            let made = anvil_call_r(c"frame_of_columns".as_ptr(), pair);
            Rf_unprotect(1);
            made
        })?;
        Ok(scope.keep(made))
    }

    /// A fresh copy of its elements, to be replaced one by one.
    pub fn copy(&self, scope: &Scope) -> Outcome {
        // SAFETY: inside `protected`.
        Ok(scope.keep(protected(|| unsafe { Rf_shallow_duplicate(self.items) })?))
    }

    /// The node with other elements, a list of as many with the same names.
    ///
    /// # Errors
    /// A jump with the error of the user's function that makes an object, or an `anvil_error_structure` if
    /// that gives one of another class.
    pub fn with(&self, items: SEXP, scope: &Scope) -> Outcome {
        self.made(c"unflatten_object", items, scope)
    }

    /// As [`with`](Inner::with), and an object is taken apart again: an error if it is another node then. For
    /// traces, which happen once.
    pub fn with_checked(&self, items: SEXP, scope: &Scope) -> Outcome {
        self.made(c"unflatten_checked", items, scope)
    }

    fn made(&self, function: &CStr, items: SEXP, scope: &Scope) -> Outcome {
        if !self.is_object() {
            return Ok(items);
        }
        // SAFETY: inside `protected`; the parts are alive, and the pair is protected by what it is given to.
        let made = protected(|| unsafe {
            let pair = Rf_protect(Rf_allocVector(VECSXP, 2));
            SET_VECTOR_ELT(pair, 0, items);
            SET_VECTOR_ELT(pair, 1, self.kind);
            let made = anvil_call_r(function.as_ptr(), pair);
            Rf_unprotect(1);
            made
        })?;
        Ok(scope.keep(made))
    }
}
