//! Handles: external pointers of R to values of Rust.
//!
//! R code can replace one of our external pointers by any other: one of another package under our class, one
//! of another kind, one that was saved and has no address. So each of ours has a symbol for its kind in the
//! tag slot, which is checked before the address is read. Pointers that were saved and read back keep the
//! symbol and have a null address.

use crate::ffi::*;
use crate::guard::{protected, Outcome, Scope};
use std::ffi::CStr;
use std::os::raw::c_void;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A type whose values R holds by handles.
pub trait Held: 'static {
    /// Name of the symbol in the tag slot of its handles.
    const TAG: &'static CStr;
}

/// The header before each value. Its layout is the same in all builds of this library, since R can load
/// several builds one after the other in a process, each with its own handles.
#[repr(C)]
struct Head {
    /// An address in the library that made the value: the layout of values may differ between builds.
    maker: *const c_void,
    free: unsafe extern "C" fn(*mut Head),
}

#[repr(C)]
struct Boxed<T> {
    head: Head,
    value: T,
}

/// Number of values that handles of this library hold.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Number of values that handles hold.
pub fn live() -> usize {
    LIVE.load(Relaxed)
}

fn here() -> *const c_void {
    (&raw const LIVE).cast()
}

/// Whether an object is an external pointer with this tag.
pub fn has_tag(x: SEXP, tag: &CStr) -> bool {
    if kind(x) != EXTPTRSXP {
        return false;
    }
    // SAFETY: an external pointer has a tag; a symbol has a name, which is a string of C.
    unsafe {
        let symbol = R_ExternalPtrTag(x);
        kind(symbol) == SYMSXP && CStr::from_ptr(R_CHAR(PRINTNAME(symbol))) == tag
    }
}

/// An external pointer with a tag and without a finalizer.
///
/// # Safety
/// May jump: only inside [`protected`]. The caller protects `held` and the result.
pub unsafe fn tagged(address: *mut c_void, tag: &CStr, held: SEXP) -> SEXP {
    // SAFETY: by the caller; symbols are never collected.
    unsafe { R_MakeExternalPtr(address, Rf_install(tag.as_ptr()), held) }
}

/// A handle that holds nothing yet; for [`fill`].
///
/// # Safety
/// As [`tagged`].
pub unsafe fn empty<T: Held>(held: SEXP) -> SEXP {
    // SAFETY: by the caller.
    unsafe {
        let x = Rf_protect(tagged(std::ptr::null_mut(), T::TAG, held));
        R_RegisterCFinalizerEx(x, Some(finalise), 0);
        Rf_unprotect(1);
        x
    }
}

/// Replaces the value of a handle.
///
/// # Safety
/// `x` has the tag of `T` and [`finalise`] as its finalizer, and nobody reads what it held.
pub unsafe fn fill<T: Held>(x: SEXP, value: T) {
    unsafe extern "C" fn free<T>(head: *mut Head) {
        // SAFETY: made below; the handle no longer has the address.
        drop(unsafe { Box::from_raw(head.cast::<Boxed<T>>()) });
        LIVE.fetch_sub(1, Relaxed);
    }
    let boxed = Box::new(Boxed { head: Head { maker: here(), free: free::<T> }, value });
    LIVE.fetch_add(1, Relaxed);
    // SAFETY: by the caller.
    unsafe {
        finalise(x);
        R_SetExternalPtrAddr(x, Box::into_raw(boxed).cast());
    }
}

/// An external pointer to what a handle holds, which keeps the handle alive. R refers to a handle by its
/// finalizer; to this, only what it is put into does.
///
/// # Safety
/// As [`tagged`]. `x` holds a value, and keeps it; the result is read by [`known`] only.
pub unsafe fn lent(x: SEXP) -> SEXP {
    // SAFETY: by the caller.
    unsafe { R_MakeExternalPtr(R_ExternalPtrAddr(x), nil(), x) }
}

/// Frees the value of a handle. R calls it when nothing refers to the handle.
///
/// # Safety
/// `x` is a handle made here.
unsafe extern "C" fn finalise(x: SEXP) {
    // SAFETY: by the caller; the address is cleared, so that the value is freed once, by the library that
    // made it.
    unsafe {
        let head = R_ExternalPtrAddr(x).cast::<Head>();
        R_ClearExternalPtr(x);
        if !head.is_null() {
            ((*head).free)(head);
        }
    }
}

/// Makes a handle of a value; `held` is what R keeps alive as long as the handle. R frees the value when
/// nothing refers to the handle.
pub fn new<T: Held>(value: T, held: SEXP, scope: &Scope) -> Outcome {
    // SAFETY: inside `protected`.
    let x = scope.keep(protected(|| unsafe { empty::<T>(held) })?);
    // SAFETY: made above.
    unsafe { fill(x, value) };
    Ok(x)
}

/// Gives a value to a handle with the tag of `T` that was made in another session or by another build.
pub fn renew<T: Held>(x: SEXP, value: T) -> Outcome<()> {
    // SAFETY: inside `protected`. Finalizers are not saved; one from another build does the same.
    protected(|| unsafe { R_RegisterCFinalizerEx(x, Some(finalise), 0) })?;
    // SAFETY: the finalizer is set; `get` gives nothing of what it held.
    unsafe { fill(x, value) };
    Ok(())
}

/// The value behind a handle; `None` if it is no handle of a `T`, or from another session or build. The
/// reference is valid as long as the handle is alive, in practice for the length of the call that got it.
pub fn get<'a, T: Held>(x: SEXP) -> Option<&'a T> {
    if !has_tag(x, T::TAG) {
        return None;
    }
    // SAFETY: by its tag, the pointer was made by `empty` of some build, so its address is that of a head if
    // there is one, with a `T` behind it if this build made it.
    unsafe {
        let head = R_ExternalPtrAddr(x).cast::<Head>().as_ref()?;
        (head.maker == here()).then(|| &(*std::ptr::from_ref(head).cast::<Boxed<T>>()).value)
    }
}

/// The value behind a handle that R code never sees.
///
/// # Safety
/// This library made the handle, with a `T`.
pub unsafe fn known<'a, T: Held>(x: SEXP) -> &'a T {
    // SAFETY: by the caller.
    unsafe { &(*R_ExternalPtrAddr(x).cast::<Boxed<T>>()).value }
}
