//! R's interface for vectors that hold their elements in another way (ALTREP), as far as it is used.
//!
//! Classes are made once in the life of the process: the library is never unloaded, see `stay()` in
//! entrypoint.c. R removes the methods of a package's classes when the package is unloaded, after which its
//! vectors could no longer be read. So ours are registered for no library, like R's own, though under the
//! package's name: by this name R finds the class of a saved vector, and loads the package if it is not there.
//!
//! A method must not let a Rust panic out, and may jump only where nothing in its frame needs dropping.

use crate::ffi::*;
use std::ffi::CStr;
use std::os::raw::{c_char, c_int, c_void};

/// A class, which R passes by value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Class(SEXP);

// SAFETY: only used on R's main thread; the wrapper exists to live in a `OnceLock`. Classes are preserved.
unsafe impl Send for Class {}
// SAFETY: as above.
unsafe impl Sync for Class {}

pub type Inspect = unsafe extern "C" fn(
    SEXP,
    c_int,
    c_int,
    c_int,
    Option<unsafe extern "C" fn(SEXP, c_int, c_int, c_int)>,
) -> c_int;
/// Elements from the second argument on, at most as many as the third, to the fourth.
pub type Region<T> = unsafe extern "C" fn(SEXP, Length, Length, *mut T) -> Length;
pub type Element<T> = unsafe extern "C" fn(SEXP, Length) -> T;
/// A sum, or a smallest or largest element, of all elements; a null pointer asks R to look at them.
pub type Summary = unsafe extern "C" fn(SEXP, c_int) -> SEXP;
/// The elements of a complex vector as R passes them.
pub type ComplexNumber = num_complex::Complex<f64>;

extern "C" {
    fn R_make_altreal_class(class: *const c_char, package: *const c_char, info: *mut c_void) -> Class;
    fn R_make_altinteger_class(class: *const c_char, package: *const c_char, info: *mut c_void) -> Class;
    fn R_make_altlogical_class(class: *const c_char, package: *const c_char, info: *mut c_void) -> Class;
    fn R_make_altcomplex_class(class: *const c_char, package: *const c_char, info: *mut c_void) -> Class;
    fn R_make_altraw_class(class: *const c_char, package: *const c_char, info: *mut c_void) -> Class;
    pub fn R_set_altrep_Length_method(class: Class, method: Option<unsafe extern "C" fn(SEXP) -> Length>);
    pub fn R_set_altrep_Inspect_method(class: Class, method: Option<Inspect>);
    pub fn R_set_altrep_Duplicate_method(
        class: Class,
        method: Option<unsafe extern "C" fn(SEXP, c_int) -> SEXP>,
    );
    pub fn R_set_altrep_Coerce_method(
        class: Class,
        method: Option<unsafe extern "C" fn(SEXP, c_int) -> SEXP>,
    );
    pub fn R_set_altrep_Serialized_state_method(
        class: Class,
        method: Option<unsafe extern "C" fn(SEXP) -> SEXP>,
    );
    pub fn R_set_altrep_Unserialize_method(
        class: Class,
        method: Option<unsafe extern "C" fn(SEXP, SEXP) -> SEXP>,
    );
    pub fn R_set_altvec_Dataptr_method(
        class: Class,
        method: Option<unsafe extern "C" fn(SEXP, c_int) -> *mut c_void>,
    );
    pub fn R_set_altvec_Dataptr_or_null_method(
        class: Class,
        method: Option<unsafe extern "C" fn(SEXP) -> *const c_void>,
    );
    pub fn R_set_altvec_Extract_subset_method(
        class: Class,
        method: Option<unsafe extern "C" fn(SEXP, SEXP, SEXP) -> SEXP>,
    );
    pub fn R_set_altreal_Elt_method(class: Class, method: Option<Element<f64>>);
    pub fn R_set_altreal_Get_region_method(class: Class, method: Option<Region<f64>>);
    pub fn R_set_altreal_Min_method(class: Class, method: Option<Summary>);
    pub fn R_set_altreal_Max_method(class: Class, method: Option<Summary>);
    pub fn R_set_altreal_No_NA_method(class: Class, method: Option<unsafe extern "C" fn(SEXP) -> c_int>);
    pub fn R_set_altinteger_Elt_method(class: Class, method: Option<Element<c_int>>);
    pub fn R_set_altinteger_Get_region_method(class: Class, method: Option<Region<c_int>>);
    pub fn R_set_altinteger_Sum_method(class: Class, method: Option<Summary>);
    pub fn R_set_altinteger_Min_method(class: Class, method: Option<Summary>);
    pub fn R_set_altinteger_Max_method(class: Class, method: Option<Summary>);
    pub fn R_set_altinteger_No_NA_method(class: Class, method: Option<unsafe extern "C" fn(SEXP) -> c_int>);
    pub fn R_set_altlogical_Elt_method(class: Class, method: Option<Element<c_int>>);
    pub fn R_set_altlogical_Get_region_method(class: Class, method: Option<Region<c_int>>);
    pub fn R_set_altlogical_Sum_method(class: Class, method: Option<Summary>);
    pub fn R_set_altlogical_No_NA_method(class: Class, method: Option<unsafe extern "C" fn(SEXP) -> c_int>);
    pub fn R_set_altcomplex_Elt_method(class: Class, method: Option<Element<ComplexNumber>>);
    pub fn R_set_altcomplex_Get_region_method(class: Class, method: Option<Region<ComplexNumber>>);
    pub fn R_new_altrep(class: Class, data1: SEXP, data2: SEXP) -> SEXP;
    pub fn R_altrep_data1(x: SEXP) -> SEXP;
    pub fn R_altrep_data2(x: SEXP) -> SEXP;
    pub fn R_set_altrep_data1(x: SEXP, data: SEXP);
    pub fn R_set_altrep_data2(x: SEXP, data: SEXP);
    fn R_altrep_inherits(x: SEXP, class: Class) -> c_int;
    pub fn Rprintf(format: *const c_char, ...);
}

impl Class {
    /// Makes a class of vectors of a type, under a name that no other class has, in any version of the package.
    ///
    /// # Safety
    /// May jump: only while the library is loaded.
    pub unsafe fn new(kind: c_int, name: &CStr) -> Class {
        let make = match kind {
            REALSXP => R_make_altreal_class,
            INTSXP => R_make_altinteger_class,
            LGLSXP => R_make_altlogical_class,
            CPLXSXP => R_make_altcomplex_class,
            _ => R_make_altraw_class,
        };
        // SAFETY: by the caller; names are strings of C. R keeps only the last class made under a name, and
        // another build of the library may be loaded: so each is preserved.
        unsafe {
            let class = make(name.as_ptr(), c"anvil".as_ptr(), std::ptr::null_mut());
            R_PreserveObject(class.0);
            class
        }
    }

    /// Whether a vector is of this class.
    #[inline]
    pub fn has(self, x: SEXP) -> bool {
        // SAFETY: reads the header, and the class of an ALTREP object.
        unsafe { ALTREP(x) != 0 && R_altrep_inherits(x, self) != 0 }
    }
}
