//! Tracers as R sees them: vectors with `dim` and class, whose elements cannot be read.
//!
//! An ALTREP vector holds two objects: `list(dtype, ambiguous, trace)`, and two doubles, the number of the
//! value in the graph and the length. Each method that would give an element signals `anvil_error_concrete`
//! (`refuse_reading()` of R/conditions.R), so that no function can misread a trace. A method may be left by an
//! error: R restores what it changed for the call of the method with its context.
//!
//! A selection, the elements where a mask of the program holds (R/selection.R), is such a vector too, which holds
//! `list(values, mask, axis)` besides. It is no tracer: whatever takes one, refuses it.

use crate::altrep::*;
use crate::ffi::*;
use anvil_core::boundary::{natural, Natural};
use anvil_core::dtype::DType;
use std::os::raw::{c_int, c_void};
use std::sync::OnceLock;

/// The types of vectors that a tracer can be, in the order of the classes.
const KINDS: [c_int; 4] = [REALSXP, INTSXP, LGLSXP, CPLXSXP];

static CLASSES: OnceLock<[Class; 4]> = OnceLock::new();

/// Makes the classes.
///
/// # Safety
/// Called by R when the library is loaded.
pub unsafe fn initialise() {
    let _ = CLASSES.get_or_init(|| {
        let names = [c"traced_double", c"traced_integer", c"traced_logical", c"traced_complex"];
        // SAFETY: by the caller. A method is of the type that R calls.
        std::array::from_fn(|i| unsafe {
            let class = Class::new(KINDS[i], names[i]);
            R_set_altrep_Length_method(class, Some(length));
            R_set_altrep_Inspect_method(class, Some(inspect));
            R_set_altrep_Duplicate_method(class, Some(duplicate));
            R_set_altrep_Coerce_method(class, Some(coerce));
            R_set_altrep_Serialized_state_method(class, Some(saved_state));
            R_set_altvec_Dataptr_method(class, Some(elements));
            R_set_altvec_Dataptr_or_null_method(class, Some(elements_at_hand));
            R_set_altvec_Extract_subset_method(class, Some(extract));
            match KINDS[i] {
                REALSXP => {
                    R_set_altrep_Unserialize_method(class, Some(restore::<REALSXP>));
                    R_set_altreal_Elt_method(class, Some(element::<f64>));
                    R_set_altreal_Get_region_method(class, Some(region::<f64>));
                }
                INTSXP => {
                    R_set_altrep_Unserialize_method(class, Some(restore::<INTSXP>));
                    R_set_altinteger_Elt_method(class, Some(element::<c_int>));
                    R_set_altinteger_Get_region_method(class, Some(region::<c_int>));
                }
                LGLSXP => {
                    R_set_altrep_Unserialize_method(class, Some(restore::<LGLSXP>));
                    R_set_altlogical_Elt_method(class, Some(element::<c_int>));
                    R_set_altlogical_Get_region_method(class, Some(region::<c_int>));
                }
                _ => {
                    R_set_altrep_Unserialize_method(class, Some(restore::<CPLXSXP>));
                    R_set_altcomplex_Elt_method(class, Some(element::<ComplexNumber>));
                    R_set_altcomplex_Get_region_method(class, Some(region::<ComplexNumber>));
                }
            }
            class
        })
    });
}

fn class_of(kind: c_int) -> Option<Class> {
    let i = KINDS.iter().position(|&k| k == kind)?;
    Some(CLASSES.get()?[i])
}

/// A vector of the type that R has for a dtype, without attributes.
///
/// # Safety
/// May jump: only inside [`protected`](crate::guard::protected). The caller protects `held` and the result.
pub unsafe fn new(dtype: DType, held: SEXP, index: usize, size: usize) -> SEXP {
    let kind = match natural(dtype) {
        Natural::Double => REALSXP,
        Natural::Integer => INTSXP,
        Natural::Logical => LGLSXP,
        Natural::Complex => CPLXSXP,
    };
    let class = class_of(kind).expect("the classes are made when the library is loaded");
    // SAFETY: by the caller.
    unsafe { vector(class, held, index, size) }
}

/// # Safety
/// As [`new`].
unsafe fn vector(class: Class, held: SEXP, index: usize, size: usize) -> SEXP {
    // SAFETY: by the caller; two elements are written.
    unsafe {
        let numbers = Rf_protect(Rf_allocVector(REALSXP, 2));
        *REAL(numbers) = index as f64;
        *REAL(numbers).add(1) = size as f64;
        let x = R_new_altrep(class, held, numbers);
        Rf_unprotect(1);
        x
    }
}

/// The number of objects that a tracer holds, and that a selection holds.
const HELD: usize = 3;
const HELD_BY_SELECTION: usize = 4;

/// What a tracer holds, and the number of its value; `None` if an object is none.
pub fn held(x: SEXP) -> Option<(SEXP, usize)> {
    let (held, numbers) = data(x).filter(|&(held, _)| len(held) == HELD)?;
    // SAFETY: a tracer holds two numbers.
    Some((held, unsafe { *REAL_RO(numbers) } as usize))
}

/// `list(values, mask, axis)` of a selection; `None` if an object is none.
pub fn selected(x: SEXP) -> Option<SEXP> {
    let (held, _) = data(x).filter(|&(held, _)| len(held) == HELD_BY_SELECTION)?;
    Some(self::held_at(held, HELD))
}

fn held_at(held: SEXP, i: usize) -> SEXP {
    crate::ffi::element(held, i)
}

/// A selection of the values of a tracer, without attributes: its elements cannot be read either. To R it has one
/// element, so that it is read where there must be one, such as by `if`.
///
/// # Safety
/// May jump: only inside [`protected`](crate::guard::protected). The caller protects the arguments and the result;
/// `values` is a tracer.
pub unsafe fn select(values: SEXP, parts: SEXP) -> SEXP {
    let (Some((held, index)), Some(class)) = (self::held(values), class_of(kind(values))) else {
        return nil();
    };
    // SAFETY: by the caller; a tracer holds a list.
    unsafe {
        let more = Rf_protect(Rf_allocVector(VECSXP, HELD_BY_SELECTION as Length));
        (0..HELD).for_each(|i| {
            SET_VECTOR_ELT(more, i as Length, held_at(held, i));
        });
        SET_VECTOR_ELT(more, HELD as Length, parts);
        let x = vector(class, more, index, 1);
        Rf_unprotect(1);
        x
    }
}

/// The two objects that a vector of these classes holds. R may have wrapped it to give it other attributes.
fn data(x: SEXP) -> Option<(SEXP, SEXP)> {
    let class = class_of(kind(x))?;
    let mut x = x;
    // SAFETY: reads headers, and what ALTREP objects hold.
    unsafe {
        while ALTREP(x) != 0 {
            if class.has(x) {
                return Some((R_altrep_data1(x), R_altrep_data2(x)));
            }
            let wrapped = R_altrep_data1(x);
            if kind(wrapped) != kind(x) {
                return None;
            }
            x = wrapped;
        }
    }
    None
}

/// Jumps with the error about reading elements.
///
/// # Safety
/// Only where nothing needs dropping.
unsafe fn refuse(x: SEXP) -> ! {
    loop {
        // SAFETY: by the caller. The function signals an error.
        unsafe { anvil_call_r(c"refuse_reading".as_ptr(), x) };
    }
}

/// # Safety
/// R calls it with a vector of its class; so for all methods. Those that jump own nothing.
unsafe extern "C" fn length(x: SEXP) -> Length {
    // SAFETY: by the caller.
    unsafe { *REAL_RO(R_altrep_data2(x)).add(1) as Length }
}

/// # Safety
/// As [`length`].
unsafe extern "C" fn inspect(
    _x: SEXP,
    _pre: c_int,
    _deep: c_int,
    _pvec: c_int,
    _subtree: Option<unsafe extern "C" fn(SEXP, c_int, c_int, c_int)>,
) -> c_int {
    // SAFETY: a format without arguments.
    unsafe { Rprintf(c" anvil: a traced value\n".as_ptr()) };
    1
}

/// # Safety
/// As [`length`].
unsafe extern "C" fn duplicate(x: SEXP, _deep: c_int) -> SEXP {
    // SAFETY: by the caller; the class is made before its vectors.
    unsafe {
        match class_of(kind(x)) {
            Some(class) => R_new_altrep(class, R_altrep_data1(x), R_altrep_data2(x)),
            None => refuse(x),
        }
    }
}

/// # Safety
/// As [`length`].
unsafe extern "C" fn coerce(x: SEXP, _kind: c_int) -> SEXP {
    // SAFETY: by the caller.
    unsafe { refuse(x) }
}

/// What a tracer holds but its trace: saved with what refers to it, it is of no trace any more.
///
/// # Safety
/// As [`length`].
unsafe extern "C" fn saved_state(x: SEXP) -> SEXP {
    // SAFETY: by the caller; `new` was given a list of three elements.
    unsafe {
        let held = Rf_protect(Rf_shallow_duplicate(R_altrep_data1(x)));
        SET_VECTOR_ELT(held, 2, nil());
        let state = Rf_cons(held, R_altrep_data2(x));
        Rf_unprotect(1);
        state
    }
}

/// # Safety
/// R calls it with what it read.
unsafe extern "C" fn restore<const KIND: c_int>(_class: SEXP, state: SEXP) -> SEXP {
    // SAFETY: by the caller; parts are read of objects of the right types.
    unsafe {
        let pair = kind(state) == LISTSXP;
        let whole = pair
            && kind(CAR(state)) == VECSXP
            && matches!(len(CAR(state)), HELD | HELD_BY_SELECTION)
            && kind(CDR(state)) == REALSXP
            && len(CDR(state)) == 2
            && *REAL_RO(CDR(state)).add(1) >= 0.0;
        match class_of(KIND) {
            Some(class) if whole => R_new_altrep(class, CAR(state), CDR(state)),
            _ => {
                anvil_call_r(c"refuse_saved".as_ptr(), state);
                nil()
            }
        }
    }
}

/// # Safety
/// As [`length`].
unsafe extern "C" fn elements(x: SEXP, _writable: c_int) -> *mut c_void {
    // SAFETY: by the caller.
    unsafe { refuse(x) }
}

/// # Safety
/// As [`length`].
unsafe extern "C" fn elements_at_hand(_x: SEXP) -> *const c_void {
    std::ptr::null()
}

/// # Safety
/// As [`length`].
unsafe extern "C" fn extract(x: SEXP, _positions: SEXP, _call: SEXP) -> SEXP {
    // SAFETY: by the caller.
    unsafe { refuse(x) }
}

/// # Safety
/// As [`length`].
unsafe extern "C" fn element<T>(x: SEXP, _i: Length) -> T {
    // SAFETY: by the caller.
    unsafe { refuse(x) }
}

/// # Safety
/// As [`length`].
unsafe extern "C" fn region<T>(x: SEXP, _from: Length, _count: Length, _out: *mut T) -> Length {
    // SAFETY: by the caller.
    unsafe { refuse(x) }
}
