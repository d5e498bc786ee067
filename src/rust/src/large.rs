//! Large results: vectors of R over memory blocks of a recycling allocator.
//!
//! To R they are ALTREP vectors of anvil's own classes, one for each type, whose elements are always at hand
//! and may be written like those of any other vector; they are saved and copied as ordinary ones. An external
//! pointer holds the block and gives it back when R has found that nothing refers to the vector. R does not
//! count these bytes. To make it collect its garbage, some vectors also hold an R vector that is never
//! touched, whose bytes R counts for all of them: it takes address space and no memory.

use crate::ffi::*;
use crate::guard::lack;
use crate::handle::{self, Held};
use anvil_core::kernels::memory::block_allocator::Block;
use std::ffi::CStr;
use std::os::raw::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::OnceLock;

/// Bytes of a result in a memory block, at least: the size from which the C library may map fresh pages
/// (`M_MMAP_THRESHOLD` of mallopt(3)), each of which costs as much as a thousand additions.
const LARGE: usize = 128 << 10;

/// R counts one of so many bytes. A collection takes 1 to 2 ms, and R begins with one every 64 MiB: if all
/// bytes were counted, collections would take longer than computing results of some megabytes. In return, a
/// few times as much garbage may accumulate.
const COUNTED: usize = 2;

/// Bytes of results since the last collection from which on R is told of more bytes than there are. R waits
/// longer the larger its heap has become, so garbage of several times that size would accumulate, in fresh
/// memory.
const CYCLE: usize = 512 << 20;

/// How many times a byte is counted from then on. No result counts as more than `LUMP` bytes that way: R
/// would grow its heap for so large a vector, and collect older generations.
const URGENT: usize = 4;

/// See [`URGENT`].
const LUMP: usize = 16 << 20;

/// Bytes that R is told of at one time: allocating a vector for each result would cost more than a small
/// result.
const TOLD: usize = 4 << 20;

/// Bytes of a vector from which on a failed allocation is anvil's error. For smaller vectors it is R's own
/// error, as for any other object.
const DOUBTFUL: usize = 64 << 20;

/// Bytes of results that R has not been told of.
static UNTOLD: AtomicUsize = AtomicUsize::new(0);

/// Bytes of results since one was last freed.
static SINCE: AtomicUsize = AtomicUsize::new(0);

/// R's type of an ALTREP class, which is passed by value.
#[repr(C)]
#[derive(Clone, Copy)]
struct Class(SEXP);

// SAFETY: only used on R's main thread; the wrapper exists to live in a `OnceLock`. Classes are preserved.
unsafe impl Send for Class {}
// SAFETY: as above.
unsafe impl Sync for Class {}

extern "C" {
    fn R_make_altreal_class(class: *const c_char, package: *const c_char, info: *mut c_void) -> Class;
    fn R_make_altinteger_class(class: *const c_char, package: *const c_char, info: *mut c_void) -> Class;
    fn R_make_altcomplex_class(class: *const c_char, package: *const c_char, info: *mut c_void) -> Class;
    fn R_make_altraw_class(class: *const c_char, package: *const c_char, info: *mut c_void) -> Class;
    fn R_set_altrep_Length_method(class: Class, method: Option<unsafe extern "C" fn(SEXP) -> Length>);
    fn R_set_altrep_Inspect_method(class: Class, method: Option<Inspect>);
    fn R_set_altvec_Dataptr_method(
        class: Class,
        method: Option<unsafe extern "C" fn(SEXP, c_int) -> *mut c_void>,
    );
    fn R_set_altvec_Dataptr_or_null_method(
        class: Class,
        method: Option<unsafe extern "C" fn(SEXP) -> *const c_void>,
    );
    fn R_new_altrep(class: Class, data1: SEXP, data2: SEXP) -> SEXP;
    fn R_altrep_data1(x: SEXP) -> SEXP;
    fn R_altrep_inherits(x: SEXP, class: Class) -> c_int;
    fn Rprintf(format: *const c_char, ...);
    fn R_gc();
    fn R_RunPendingFinalizers();
}

type Inspect = unsafe extern "C" fn(
    SEXP,
    c_int,
    c_int,
    c_int,
    Option<unsafe extern "C" fn(SEXP, c_int, c_int, c_int)>,
) -> c_int;

/// The elements of a vector.
struct Elements {
    block: Block,
    /// Their number.
    len: usize,
}

impl Held for Elements {
    const TAG: &'static CStr = c"anvil_block";
}

impl Drop for Elements {
    fn drop(&mut self) {
        SINCE.store(0, Relaxed);
    }
}

/// The classes of vectors of doubles, integers, complex numbers and bytes.
static CLASSES: OnceLock<[Class; 4]> = OnceLock::new();

/// Makes the classes, once in the life of the process: the library is never unloaded, see `stay()` in
/// entrypoint.c.
///
/// R removes the methods of a package's classes when the package is unloaded, after which its vectors could
/// no longer be read. These classes belong to no package, like R's own.
///
/// # Safety
/// Called by R when the library is loaded.
pub unsafe fn initialise() {
    if CLASSES.get().is_some() {
        return;
    }
    let (package, info) = (c"anvil".as_ptr(), std::ptr::null_mut());
    // SAFETY: by the caller. A name is a string of C; a method is of the type that R calls.
    let classes = unsafe {
        [
            R_make_altreal_class(c"large_double".as_ptr(), package, info),
            R_make_altinteger_class(c"large_integer".as_ptr(), package, info),
            R_make_altcomplex_class(c"large_complex".as_ptr(), package, info),
            R_make_altraw_class(c"large_raw".as_ptr(), package, info),
        ]
    };
    for class in classes {
        // SAFETY: as above.
        unsafe {
            // R keeps only the last class made under a name, and another build may be loaded.
            R_PreserveObject(class.0);
            R_set_altrep_Length_method(class, Some(length));
            R_set_altrep_Inspect_method(class, Some(inspect));
            R_set_altvec_Dataptr_method(class, Some(elements));
            R_set_altvec_Dataptr_or_null_method(class, Some(elements_to_read));
        }
    }
    let _ = CLASSES.set(classes);
}

/// # Safety
/// `x` is a vector of one of the classes.
unsafe fn held<'a>(x: SEXP) -> &'a Elements {
    // SAFETY: by the caller: `new` gave the vector a handle, which lives as long as that, and R code sees no
    // handle.
    unsafe { handle::known(R_altrep_data1(x)) }
}

/// # Safety
/// As [`held`].
unsafe extern "C" fn length(x: SEXP) -> Length {
    // SAFETY: by the caller.
    unsafe { held(x).len as Length }
}

/// # Safety
/// As [`held`].
unsafe extern "C" fn elements(x: SEXP, _writable: c_int) -> *mut c_void {
    // SAFETY: by the caller. R asks to write only what nothing else refers to, and the block belongs to this
    // vector alone.
    unsafe { held(x).block.as_ptr().cast() }
}

/// # Safety
/// As [`held`].
unsafe extern "C" fn elements_to_read(x: SEXP) -> *const c_void {
    // SAFETY: by the caller.
    unsafe { held(x).block.as_ptr().cast_const().cast() }
}

/// # Safety
/// As [`held`].
unsafe extern "C" fn inspect(
    x: SEXP,
    _pre: c_int,
    _deep: c_int,
    _pvec: c_int,
    _subtree: Option<unsafe extern "C" fn(SEXP, c_int, c_int, c_int)>,
) -> c_int {
    // SAFETY: by the caller; the format takes two numbers of this type.
    unsafe {
        let held = held(x);
        Rprintf(
            c" anvil: %.0f elements in a block of %.0f bytes\n".as_ptr(),
            held.len as f64,
            held.block.size() as f64,
        );
    }
    1
}

/// Whether an ALTREP vector is one of ours, in a memory block.
pub fn is_large(x: SEXP) -> bool {
    let class = match kind(x) {
        REALSXP => 0,
        INTSXP => 1,
        CPLXSXP => 2,
        RAWSXP => 3,
        _ => return false,
    };
    // SAFETY: `x` is a vector; its class is compared.
    CLASSES.get().is_some_and(|classes| unsafe { R_altrep_inherits(x, classes[class]) != 0 })
}

/// A vector of doubles, integers, complex numbers or bytes. Its elements are not initialised.
///
/// # Safety
/// May jump, and runs R's finalizers: only inside [`protected`](crate::guard::protected). The caller protects
/// the result.
pub unsafe fn new_vector(kind: c_int, len: usize) -> SEXP {
    let (class, unit) = match kind {
        REALSXP => (0, 8),
        INTSXP => (1, 4),
        CPLXSXP => (2, 16),
        _ => (3, 1),
    };
    // SAFETY: by the caller.
    unsafe {
        match (CLASSES.get(), len.checked_mul(unit)) {
            (Some(classes), Some(bytes)) if bytes >= LARGE => {
                new(classes[class], len, bytes).unwrap_or_else(|| without_memory(kind, bytes))
            }
            _ => Rf_allocVector(kind, len as Length),
        }
    }
}

/// An ordinary vector of R, which may be large.
///
/// # Safety
/// As [`new_vector`].
pub unsafe fn ordinary_vector(kind: c_int, len: usize) -> SEXP {
    let unit = match kind {
        CPLXSXP => 16,
        REALSXP => 8,
        RAWSXP => 1,
        _ => 4,
    };
    let bytes = len.saturating_mul(unit);
    // SAFETY: by the caller.
    unsafe {
        if bytes < DOUBTFUL {
            return Rf_allocVector(kind, len as Length);
        }
        let x = anvil_try_vector(kind, len as Length);
        if x == nil() {
            without_memory(kind, bytes)
        } else {
            x
        }
    }
}

/// Reports the failed allocation; returns a vector without elements, which nothing reads.
///
/// # Safety
/// As [`new_vector`].
unsafe fn without_memory(kind: c_int, bytes: usize) -> SEXP {
    lack(bytes);
    // SAFETY: by the caller.
    unsafe { Rf_allocVector(kind, 0) }
}

/// A vector over a memory block; `None` if none can be allocated, even after a collection.
///
/// # Safety
/// As [`new_vector`].
unsafe fn new(class: Class, len: usize, bytes: usize) -> Option<SEXP> {
    let since = SINCE.fetch_add(bytes, Relaxed);
    let urgent = if since < CYCLE { 0 } else { bytes.saturating_mul(URGENT).min(LUMP) };
    let counted = urgent.max(bytes / COUNTED);
    let untold = UNTOLD.load(Relaxed).saturating_add(counted);
    let told = if untold >= TOLD { untold } else { 0 };
    // SAFETY: by the caller. The elements of the counted vector are never read nor written. Allocating it may
    // start a collection; the finalizers are run at once, so that blocks are freed now.
    let (weight, handle) = unsafe {
        let weight = Rf_protect(match told {
            0 => nil(),
            n if n < DOUBTFUL => Rf_allocVector(RAWSXP, n as Length),
            n => anvil_try_vector(RAWSXP, n as Length),
        });
        let handle = Rf_protect(handle::empty::<Elements>(nil()));
        R_RunPendingFinalizers();
        if told > 0 && weight == nil() {
            Rf_unprotect(2);
            return None;
        }
        (weight, handle)
    };
    UNTOLD.store(untold - told, Relaxed);
    let block = Block::new(bytes).or_else(|| {
        // SAFETY: by the caller.
        unsafe {
            R_gc();
            R_RunPendingFinalizers();
        }
        Block::new(bytes)
    });
    let Some(block) = block else {
        // SAFETY: they were protected above.
        unsafe { Rf_unprotect(2) };
        return None;
    };
    // SAFETY: `handle` is made above, and holds the block from now on; it is protected until the vector has
    // it.
    unsafe {
        handle::fill(handle, Elements { block, len });
        let x = R_new_altrep(class, handle, weight);
        Rf_unprotect(2);
        Some(x)
    }
}
