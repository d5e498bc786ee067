//! Static arguments: the parts of them that belong to a signature, and their comparison in later calls.
//!
//! A vector or a list of vectors is its own part: R never changes one that something else refers to.
//! Functions of packages do not change either. R/static.R takes the parts of other values, down to the
//! variables that functions use: these may differ in a later call although the function is the same object.

use crate::ffi::*;
use crate::guard::{protected, r_strings, Outcome, Scope};
use crate::tree;
use crate::value;
use std::os::raw::c_int;

/// Flags of `identical()`: numbers by their bits, `NA` and NaN too, so that `0` is not `-0`; pointers by
/// reference. Bytecode and source references are ignored.
const BY_BITS: c_int = 1 | 2 | 16 | 64;

/// The parts of a static argument that belong to the signature: the value itself, or the result of
/// R/static.R. `name` gives the argument's name. `of_object`: it is the static part of an object in it.
///
/// # Errors
/// A jump with a condition of class `anvil_error_static` for a value that cannot be compared, such as an
/// environment.
pub fn parts(x: SEXP, name: impl FnOnce() -> SEXP, of_object: bool, scope: &Scope) -> Outcome {
    if is_bare(x, 0) || kind(x) == CLOSXP && is_of_package(x)? {
        return Ok(x);
    }
    let name = name();
    // SAFETY: inside `protected`; each object is protected before the next is made.
    let parts = protected(|| unsafe {
        let given = Rf_protect(Rf_allocVector(VECSXP, 3));
        SET_VECTOR_ELT(given, 0, x);
        let text = Rf_allocVector(STRSXP, 1);
        SET_VECTOR_ELT(given, 1, text);
        SET_STRING_ELT(text, 0, name);
        SET_VECTOR_ELT(given, 2, value::flag(of_object));
        let parts = anvil_call_r(c"static_parts".as_ptr(), given);
        Rf_unprotect(1);
        parts
    })?;
    Ok(scope.keep(parts))
}

/// Whether the [`parts`] of two arguments are equal.
pub fn same(x: SEXP, y: SEXP) -> bool {
    // SAFETY: compares two R values, which are alive; neither is nested deeper than R/static.R walks.
    x == y || unsafe { R_compute_identical(x, y, BY_BITS) } != 0
}

/// Whether a closure is a function of a package, without attributes other than source references.
fn is_of_package(x: SEXP) -> Outcome<bool> {
    // SAFETY: `x` is a closure. Asking R about an environment is inside `protected`.
    unsafe {
        let environment = anvil_closure_environment(x);
        let srcref = Rf_install(c"srcref".as_ptr());
        Ok(attributes_all(x, |tag, _| tag == srcref) && protected(|| R_IsNamespaceEnv(environment) != 0)?)
    }
}

/// Whether an object is a vector, or a list of vectors, in which nothing can change, attributes included. For
/// too deep nesting it is `false`, and R/static.R makes the error.
fn is_bare(x: SEXP, depth: usize) -> bool {
    let is_list = match kind(x) {
        NILSXP | SYMSXP | BUILTINSXP | SPECIALSXP => return true,
        _ if value::is_tracer(x) => return false,
        LGLSXP | INTSXP | REALSXP | CPLXSXP | STRSXP | RAWSXP => false,
        VECSXP => true,
        _ => return false,
    };
    depth < tree::MAX_DEPTH
        && attributes_all(x, |_, attribute| is_bare(attribute, depth + 1))
        && (!is_list || (0..len(x)).all(|i| is_bare(element(x, i), depth + 1)))
}

// Words of the form of a piece of code: the kind of its next part.
const LEAF: c_int = -1;
const OBJECT: c_int = -2;
const MISSING: c_int = -3;
const CALL: c_int = -4;

/// The rest of a walk over a piece of code.
enum Next {
    Code(SEXP),
    /// The end of a function, whose arguments, so many names, go out of scope.
    Leave(usize),
}

/// The contents of a piece of code.
#[derive(Default)]
struct Code {
    /// For each part, the length of a call, or the kind of another object.
    form: Vec<c_int>,
    /// Symbols, names of arguments and constants, in order.
    leaves: Vec<SEXP>,
    /// Other objects, such as a function that was put into the code.
    objects: Vec<SEXP>,
    /// Variables that it reads and functions that it calls, by name, except for arguments of its own
    /// functions.
    variables: Vec<SEXP>,
    functions: Vec<SEXP>,
    own: Vec<SEXP>,
    next: Vec<Next>,
}

impl Code {
    fn of(code: SEXP) -> Code {
        let mut found = Code { next: vec![Next::Code(code)], ..Code::default() };
        while let Some(next) = found.next.pop() {
            match next {
                Next::Code(x) => found.see(x),
                Next::Leave(count) => found.own.truncate(found.own.len() - count),
            }
        }
        found
    }

    fn see(&mut self, x: SEXP) {
        match kind(x) {
            // SAFETY: a constant of R.
            SYMSXP if x == unsafe { R_MissingArg } => self.form.push(MISSING),
            SYMSXP => {
                self.leaf(x);
                self.read(x, false);
            }
            LANGSXP if !is_object(x) => self.call(x),
            LISTSXP if !is_object(x) => self.parts(x),
            _ if is_bare(x, 0) => self.leaf(x),
            _ => {
                self.form.push(OBJECT);
                self.objects.push(x);
            }
        }
    }

    fn leaf(&mut self, x: SEXP) {
        self.form.push(LEAF);
        self.leaves.push(x);
    }

    fn read(&mut self, symbol: SEXP, is_call: bool) {
        let seen = if is_call { &mut self.functions } else { &mut self.variables };
        if !self.own.contains(&symbol) && !seen.contains(&symbol) {
            seen.push(symbol);
        }
    }

    /// The elements of a pairlist with their names.
    fn parts(&mut self, list: SEXP) {
        let mut parts = Vec::new();
        for (tag, part) in pairs(list) {
            self.leaves.push(tag);
            parts.push(Next::Code(part));
        }
        self.form.push(parts.len() as c_int);
        self.next.extend(parts.into_iter().rev());
    }

    fn call(&mut self, call: SEXP) {
        // SAFETY: a call has a function; beyond the end of a pairlist there is `NULL`, whose parts are
        // `NULL`.
        let (head, first, second) = unsafe { (CAR(call), CAR(CDR(call)), CAR(CDR(CDR(call)))) };
        self.form.push(CALL);
        if kind(head) != SYMSXP {
            return self.parts(call);
        }
        // SAFETY: a symbol has a name, which is a string of C.
        match unsafe { std::ffi::CStr::from_ptr(R_CHAR(PRINTNAME(head))) }.to_bytes() {
            // Its arguments, its body, and a source reference, which is ignored.
            b"function" => {
                self.leaf(head);
                let before = self.own.len();
                self.own.extend(pairs(first).map(|(tag, _)| tag));
                let count = self.own.len() - before;
                self.next.extend([Next::Leave(count), Next::Code(second), Next::Code(first)]);
            }
            // The second argument is the name of a component.
            b"$" | b"@" if kind(second) == SYMSXP => {
                self.leaf(head);
                self.read(head, true);
                self.leaf(second);
                self.next.push(Next::Code(first));
            }
            // A variable of a package.
            b"::" | b":::" if kind(first) == SYMSXP && kind(second) == SYMSXP => {
                [head, first, second].into_iter().for_each(|x| self.leaf(x));
            }
            _ => {
                self.leaf(head);
                self.read(head, true);
                // SAFETY: as above.
                self.parts(unsafe { CDR(call) });
            }
        }
    }
}

/// A piece of code, a call or a list of calls: `list(list(form, leaves), objects, variables, functions)`. Two
/// pieces are the same, whatever their source references, if the first of these are identical and so are the
/// objects, which may be anything; the others are names of what the code uses of its surroundings.
pub fn code(x: SEXP, scope: &Scope) -> Outcome {
    let found = Code::of(x);
    let names = |symbols: &[SEXP]| -> Vec<String> {
        // SAFETY: symbols.
        symbols.iter().map(|&symbol| text(unsafe { PRINTNAME(symbol) })).collect()
    };
    // SAFETY: inside `protected`; as many elements are written as were allocated.
    let form = scope.keep(protected(|| unsafe {
        let form = Rf_allocVector(INTSXP, found.form.len() as Length);
        std::ptr::copy_nonoverlapping(found.form.as_ptr(), INTEGER(form), found.form.len());
        form
    })?);
    let same = tree::list_of(&[form, tree::list_of(&found.leaves, scope)?], scope)?;
    let objects = tree::list_of(&found.objects, scope)?;
    let variables = r_strings(&names(&found.variables), scope)?;
    let functions = r_strings(&names(&found.functions), scope)?;
    tree::list_of(&[same, objects, variables, functions], scope)
}
