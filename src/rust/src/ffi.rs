//! R's C interface, as far as anvil uses it, and the helpers of `entrypoint.c`.
//!
//! Everything here must be called on R's main thread. Functions that may allocate or raise an R error can
//! jump over the caller's frames: call them inside [`crate::guard::protected`], or with no Rust value alive
//! that needs dropping.

use std::ffi::CStr;
use std::os::raw::{c_char, c_int, c_void};

pub use extendr_api::SEXP;

/// Length of an R vector.
pub type Length = isize;

pub const NILSXP: c_int = 0;
pub const SYMSXP: c_int = 1;
pub const LISTSXP: c_int = 2;
pub const CLOSXP: c_int = 3;
pub const ENVSXP: c_int = 4;
pub const LANGSXP: c_int = 6;
pub const SPECIALSXP: c_int = 7;
pub const BUILTINSXP: c_int = 8;
pub const DOTSXP: c_int = 17;
pub const LGLSXP: c_int = 10;
pub const INTSXP: c_int = 13;
pub const REALSXP: c_int = 14;
pub const CPLXSXP: c_int = 15;
pub const STRSXP: c_int = 16;
pub const VECSXP: c_int = 19;
pub const EXTPTRSXP: c_int = 22;
pub const RAWSXP: c_int = 24;
// Paths are in it on Unix; elsewhere they are UTF-8.
#[cfg(unix)]
pub const CE_NATIVE: c_int = 0;
pub const CE_UTF8: c_int = 1;
pub const CE_BYTES: c_int = 3;
pub const CE_LATIN1: c_int = 2;

#[allow(non_snake_case, clippy::missing_safety_doc)]
extern "C" {
    pub static R_NilValue: SEXP;
    pub static R_EmptyEnv: SEXP;
    pub static R_ClassSymbol: SEXP;
    pub static R_DimSymbol: SEXP;
    pub static R_DimNamesSymbol: SEXP;
    pub static R_NamesSymbol: SEXP;
    pub static R_LevelsSymbol: SEXP;
    pub static R_MissingArg: SEXP;
    pub static R_DotsSymbol: SEXP;

    pub fn TYPEOF(x: SEXP) -> c_int;
    pub fn ALTREP(x: SEXP) -> c_int;
    pub fn Rf_xlength(x: SEXP) -> Length;
    pub fn INTEGER(x: SEXP) -> *mut c_int;
    pub fn LOGICAL(x: SEXP) -> *mut c_int;
    pub fn REAL(x: SEXP) -> *mut f64;
    pub fn INTEGER_RO(x: SEXP) -> *const c_int;
    pub fn LOGICAL_RO(x: SEXP) -> *const c_int;
    pub fn REAL_RO(x: SEXP) -> *const f64;
    pub fn COMPLEX(x: SEXP) -> *mut [f64; 2];
    pub fn COMPLEX_RO(x: SEXP) -> *const [f64; 2];
    pub fn RAW_RO(x: SEXP) -> *const u8;
    pub fn R_CHAR(x: SEXP) -> *const c_char;
    pub fn PRINTNAME(x: SEXP) -> SEXP;
    pub fn CAR(x: SEXP) -> SEXP;
    pub fn CDR(x: SEXP) -> SEXP;
    pub static R_BaseEnv: SEXP;
    pub fn TAG(x: SEXP) -> SEXP;
    pub fn INTEGER_ELT(x: SEXP, i: Length) -> c_int;
    pub fn Rf_lang3(a: SEXP, b: SEXP, c: SEXP) -> SEXP;
    pub fn Rf_ScalarInteger(x: c_int) -> SEXP;
    pub fn Rf_ScalarReal(x: f64) -> SEXP;
    pub fn SHALLOW_DUPLICATE_ATTRIB(to: SEXP, from: SEXP);
    pub fn STRING_ELT(x: SEXP, i: Length) -> SEXP;
    pub fn VECTOR_ELT(x: SEXP, i: Length) -> SEXP;
    pub fn SET_STRING_ELT(x: SEXP, i: Length, v: SEXP);
    pub fn SET_VECTOR_ELT(x: SEXP, i: Length, v: SEXP) -> SEXP;
    pub fn Rf_isObject(x: SEXP) -> c_int;
    pub fn Rf_getAttrib(x: SEXP, symbol: SEXP) -> SEXP;
    pub fn Rf_setAttrib(x: SEXP, symbol: SEXP, value: SEXP) -> SEXP;
    pub fn Rf_asS4(x: SEXP, flag: c_int, complete: c_int) -> SEXP;
    pub fn Rf_install(name: *const c_char) -> SEXP;
    pub fn Rf_installTrChar(name: SEXP) -> SEXP;
    pub fn R_existsVarInFrame(env: SEXP, symbol: SEXP) -> c_int;
    pub fn Rf_mkCharLenCE(text: *const c_char, len: c_int, encoding: c_int) -> SEXP;
    pub fn Rf_translateCharUTF8(x: SEXP) -> *const c_char;
    pub fn Rf_getCharCE(x: SEXP) -> c_int;
    pub fn Rf_allocVector(kind: c_int, len: Length) -> SEXP;
    pub fn Rf_shallow_duplicate(x: SEXP) -> SEXP;
    pub fn Rf_coerceVector(x: SEXP, kind: c_int) -> SEXP;
    pub fn Rf_cons(car: SEXP, cdr: SEXP) -> SEXP;
    pub fn SET_TAG(x: SEXP, tag: SEXP);
    pub fn Rf_protect(x: SEXP) -> SEXP;
    pub fn Rf_unprotect(n: c_int);
    pub fn R_PreserveObject(x: SEXP);
    pub fn R_ReleaseObject(x: SEXP);
    pub fn R_MakeExternalPtr(address: *mut c_void, tag: SEXP, held: SEXP) -> SEXP;
    pub fn R_ExternalPtrAddr(x: SEXP) -> *mut c_void;
    pub fn R_ExternalPtrTag(x: SEXP) -> SEXP;
    pub fn R_ExternalPtrProtected(x: SEXP) -> SEXP;
    pub fn R_ClearExternalPtr(x: SEXP);
    pub fn R_SetExternalPtrAddr(x: SEXP, address: *mut c_void);
    pub fn R_SetExternalPtrProtected(x: SEXP, held: SEXP);
    pub fn R_RegisterCFinalizerEx(x: SEXP, finalizer: Option<unsafe extern "C" fn(SEXP)>, on_exit: c_int);
    /// May jump.
    pub fn R_IsNamespaceEnv(x: SEXP) -> c_int;
    pub fn R_compute_identical(x: SEXP, y: SEXP, flags: c_int) -> c_int;
    pub fn R_MakeUnwindCont() -> SEXP;
    pub fn R_CheckUserInterrupt();
    pub fn Rf_lang1(x: SEXP) -> SEXP;
    pub fn Rf_lang2(f: SEXP, x: SEXP) -> SEXP;
    pub fn Rf_eval(x: SEXP, env: SEXP) -> SEXP;
    pub fn Rf_GetOption1(tag: SEXP) -> SEXP;
    pub fn Rf_length(x: SEXP) -> c_int;
    pub fn Rf_nthcdr(list: SEXP, n: c_int) -> SEXP;

    /// Whether all attributes pass a test, which is given the tag and the value of each (entrypoint.c).
    pub fn anvil_all_attributes(
        x: SEXP,
        test: unsafe extern "C" fn(SEXP, SEXP, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;

    /// The environment of a closure (entrypoint.c).
    pub fn anvil_closure_environment(x: SEXP) -> SEXP;

    /// Whether there is more than one reference to an object (entrypoint.c).
    pub fn anvil_is_shared(x: SEXP) -> c_int;

    /// Whether anything but the caller's variable, the promise of the argument and the argument list refers to
    /// an argument; always if R does not tell (entrypoint.c).
    pub fn anvil_is_argument_shared(x: SEXP) -> c_int;

    /// Whether [`anvil_is_argument_shared`] can be told.
    pub fn anvil_counts_references() -> c_int;

    /// A vector; `NULL` if R cannot allocate it (entrypoint.c). Takes microseconds; may jump for other
    /// reasons.
    pub fn anvil_try_vector(kind: c_int, len: Length) -> SEXP;

    /// Calls an internal function of the package on one object (entrypoint.c). May jump.
    pub fn anvil_call_r(function: *const c_char, x: SEXP) -> SEXP;

    /// Runs `f(data)`; returns 1 if R tried to jump out of it, with the jump kept in `token` (entrypoint.c).
    pub fn anvil_protected(
        f: unsafe extern "C" fn(*mut c_void) -> SEXP,
        data: *mut c_void,
        token: SEXP,
        out: *mut SEXP,
    ) -> c_int;
}

/// R's `NULL`.
pub fn nil() -> SEXP {
    // SAFETY: a constant of R, set before any package is loaded.
    unsafe { R_NilValue }
}

/// Type code of an R object.
pub fn kind(x: SEXP) -> c_int {
    // SAFETY: `x` is an R object; reading its header cannot fail.
    unsafe { TYPEOF(x) }
}

/// Number of elements of a vector; R's notion of a length for anything else.
pub fn len(x: SEXP) -> usize {
    // SAFETY: this is an error for no object; a length is never negative.
    unsafe { Rf_xlength(x) as usize }
}

/// Whether a class attribute is set.
pub fn is_object(x: SEXP) -> bool {
    // SAFETY: reads the header.
    unsafe { Rf_isObject(x) != 0 }
}

/// Whether one of an object's classes is this one. R's own function jumps for a class of encoding "bytes".
pub fn inherits(x: SEXP, class: &CStr) -> bool {
    if !is_object(x) {
        return false;
    }
    // SAFETY: reads an attribute; the strings of a character vector are strings of C.
    unsafe {
        let classes = attribute(x, R_ClassSymbol);
        let same = |i: usize| CStr::from_ptr(R_CHAR(STRING_ELT(classes, i as Length))) == class;
        kind(classes) == STRSXP && (0..len(classes)).any(same)
    }
}

/// Classes of vectors and arrays whose elements are the numbers that they look like: time series, tables, bases of
/// polynomials and splines, distances, loadings of factors, log-likelihoods, what `summary()` says of a vector, and
/// what `I()` gives.
const OF_NUMBERS: [&CStr; 16] = [
    c"ts",
    c"mts",
    c"table",
    c"xtabs",
    c"poly",
    c"bs",
    c"ns",
    c"basis",
    c"dist",
    c"AsIs",
    c"noquote",
    c"matrix",
    c"array",
    c"loadings",
    c"logLik",
    c"summaryDefault",
];

/// Whether an object is of another class than those of numbers.
pub fn is_own_object(x: SEXP) -> bool {
    if !is_object(x) {
        return false;
    }
    // SAFETY: as in `inherits()`.
    unsafe {
        let classes = attribute(x, R_ClassSymbol);
        let known = |i: usize| {
            let class = CStr::from_ptr(R_CHAR(STRING_ELT(classes, i as Length)));
            OF_NUMBERS.contains(&class)
        };
        !matches!(kind(x), LGLSXP | INTSXP | REALSXP | CPLXSXP)
            || kind(classes) != STRSXP
            || !(0..len(classes)).all(known)
    }
}

/// The elements of an integer or logical vector: of `dim` and the like, which are never long or ALTREP
/// vectors that could fail. Anything else has none.
pub fn ints<'a>(x: SEXP) -> &'a [c_int] {
    // R's address of an empty vector is no valid pointer.
    if !matches!(kind(x), INTSXP | LGLSXP) || len(x) == 0 {
        return &[];
    }
    // SAFETY: an integer or logical vector; kept alive by the object that it was read from.
    unsafe { std::slice::from_raw_parts(INTEGER_RO(x), len(x)) }
}

/// Element of a list.
pub fn element(list: SEXP, i: usize) -> SEXP {
    assert!(kind(list) == VECSXP && i < len(list), "list index in range");
    // SAFETY: type and index are checked above.
    unsafe { VECTOR_ELT(list, i as Length) }
}

/// The tags and values of a pairlist, such as arguments or a call; none for other objects.
pub fn pairs(list: SEXP) -> impl Iterator<Item = (SEXP, SEXP)> {
    let mut rest = if matches!(kind(list), LISTSXP | LANGSXP | DOTSXP) { list } else { nil() };
    std::iter::from_fn(move || {
        if rest == nil() {
            return None;
        }
        // SAFETY: a list of that kind; R makes none that ends in anything but `NULL`.
        let (tag, value, after) = unsafe { (TAG(rest), CAR(rest), CDR(rest)) };
        rest = after;
        Some((tag, value))
    })
}

/// Whether all attributes of an object pass a test of tag and value, which calls nothing of R that may jump.
pub fn attributes_all<F: Fn(SEXP, SEXP) -> bool>(x: SEXP, test: F) -> bool {
    unsafe extern "C" fn passes<F: Fn(SEXP, SEXP) -> bool>(
        tag: SEXP,
        value: SEXP,
        data: *mut c_void,
    ) -> c_int {
        // SAFETY: given below.
        unsafe { (*data.cast::<F>())(tag, value) as c_int }
    }
    // SAFETY: reads attributes; `test` outlives the call.
    unsafe { anvil_all_attributes(x, passes::<F>, (&raw const test).cast_mut().cast()) != 0 }
}

/// An attribute of a vector or pointer, or `NULL`. For `names` and `class` of non-pairlists this does not
/// allocate.
pub fn attribute(x: SEXP, symbol: SEXP) -> SEXP {
    // SAFETY: `symbol` is a symbol; see above for the attributes that are asked for.
    unsafe { Rf_getAttrib(x, symbol) }
}

/// Text of a string element. R itself would jump for a string of encoding "bytes": its bytes beyond ASCII are
/// shown as R prints them, `\xff`.
pub fn text(x: SEXP) -> String {
    // SAFETY: `x` is a CHARSXP; its bytes live as long as it does.
    let (encoding, bytes) = unsafe { (Rf_getCharCE(x), CStr::from_ptr(R_CHAR(x)).to_bytes()) };
    let latin1 = || bytes.iter().map(|&b| char::from(b)).collect();
    match (encoding, std::str::from_utf8(bytes)) {
        (CE_LATIN1, _) => latin1(),
        (CE_BYTES, _) => {
            let shown =
                |&b: &u8| if b.is_ascii() { char::from(b).to_string() } else { format!("\\x{b:02x}") };
            bytes.iter().map(shown).collect()
        }
        (_, Ok(text)) => text.into(),
        (CE_UTF8, Err(_)) => String::from_utf8_lossy(bytes).into_owned(),
        // The encoding of a locale other than UTF-8. R translates to memory that it frees at the end of the
        // call.
        // SAFETY: inside `protected`.
        (_, Err(_)) => match crate::guard::protected(|| unsafe { Rf_translateCharUTF8(x) }) {
            // SAFETY: R gives a string of C.
            Ok(text) => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
            Err(_) => latin1(),
        },
    }
}

/// The first string of a character vector.
pub fn string(x: SEXP) -> Option<String> {
    if kind(x) != STRSXP || len(x) != 1 {
        return None;
    }
    // SAFETY: checked to be a string vector of length 1.
    Some(text(unsafe { STRING_ELT(x, 0) }))
}
