//! Large results: vectors of R over memory blocks of a recycling allocator.
//!
//! To R they are ALTREP vectors of anvil's own classes, one for each type, whose elements are always at hand
//! and may be written like those of any other vector; they are saved and copied as ordinary ones. An external
//! pointer holds the block and gives it back when R has found that nothing refers to the vector. R does not
//! count these bytes. To make it collect its garbage, some vectors also hold an R vector that is never
//! touched, whose bytes R counts for all of them: it takes address space and no memory.

use crate::altrep::*;
use crate::ffi::*;
use crate::guard::lack;
use crate::handle::{self, Held};
use crate::vector;
use anvil_core::kernels::memory::block_allocator::{memory, Block};
use std::ffi::CStr;
use std::os::raw::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::OnceLock;

/// Bytes of a result in a memory block, at least. Fewer are R's own memory, which the C library may return to
/// the system when R frees it: fresh pages took more than half the time of calls with results of 100 kB.
const LARGE: usize = 16 << 10;

/// R counts one of so many bytes. A collection takes 1 to 4 ms, and R begins with one every 64 MiB: if all
/// bytes were counted, collections would take longer than computing results of some megabytes. In return, a
/// few times as much garbage may accumulate, so that where memory is [`SCARCE`] twice as many bytes count.
const COUNTED: usize = 4;

/// Bytes of memory that are few.
const SCARCE: usize = 8 << 30;

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

extern "C" {
    fn R_gc();
    fn R_RunPendingFinalizers();
    fn DATAPTR_OR_NULL(x: SEXP) -> *const c_void;
}

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

/// Makes the classes.
///
/// # Safety
/// Called by R when the library is loaded.
pub unsafe fn initialise() {
    let _ = CLASSES.get_or_init(|| {
        let names = [
            (REALSXP, c"large_double"),
            (INTSXP, c"large_integer"),
            (CPLXSXP, c"large_complex"),
            (RAWSXP, c"large_raw"),
        ];
        names.map(|(kind, name)| {
            // SAFETY: by the caller. A method is of the type that R calls.
            unsafe {
                let class = Class::new(kind, name);
                R_set_altrep_Length_method(class, Some(length));
                R_set_altrep_Inspect_method(class, Some(inspect));
                R_set_altrep_Serialized_state_method(class, Some(saved_state));
                R_set_altrep_Unserialize_method(
                    class,
                    match kind {
                        REALSXP => Some(restore::<REALSXP>),
                        INTSXP => Some(restore::<INTSXP>),
                        CPLXSXP => Some(restore::<CPLXSXP>),
                        _ => Some(restore::<RAWSXP>),
                    },
                );
                R_set_altvec_Dataptr_method(class, Some(elements));
                R_set_altvec_Dataptr_or_null_method(class, Some(elements_to_read));
                class
            }
        })
    });
}

/// The class for vectors of a type, if there is one.
fn class_of(kind: c_int) -> Option<Class> {
    let i = match kind {
        REALSXP => 0,
        INTSXP => 1,
        CPLXSXP => 2,
        RAWSXP => 3,
        _ => return None,
    };
    Some(CLASSES.get()?[i])
}

/// Whether a vector is a large one of ours.
pub fn is_large(x: SEXP) -> bool {
    class_of(kind(x)).is_some_and(|class| class.has(x))
}

/// What holds the elements of a large vector.
enum Store<'a> {
    Block(&'a Elements),
    Vector(SEXP),
    Donated,
}

/// # Safety
/// `x` is a vector of one of the classes.
unsafe fn store<'a>(x: SEXP) -> Store<'a> {
    // SAFETY: by the caller: `new` gave the vector a handle, which lives as long as that, and R code sees no
    // handle.
    unsafe {
        match R_altrep_data1(x) {
            data if data == nil() => Store::Donated,
            data if kind(data) == EXTPTRSXP => Store::Block(handle::known(data)),
            data => Store::Vector(data),
        }
    }
}

/// # Safety
/// As [`store`].
unsafe extern "C" fn length(x: SEXP) -> Length {
    // SAFETY: by the caller.
    unsafe {
        match store(x) {
            Store::Block(held) => held.len as Length,
            Store::Vector(data) => len(data) as Length,
            Store::Donated => vector::dim_size(x),
        }
    }
}

/// Whether something else refers to what holds the elements.
///
/// # Safety
/// As [`store`].
unsafe fn is_shared(x: SEXP) -> bool {
    // SAFETY: by the caller.
    unsafe { !matches!(store(x), Store::Donated) && anvil_is_shared(R_altrep_data1(x)) != 0 }
}

/// The elements. What something else refers to is copied before R writes to it.
///
/// # Safety
/// As [`store`]; may jump.
unsafe extern "C" fn elements(x: SEXP, writable: c_int) -> *mut c_void {
    // SAFETY: by the caller.
    unsafe {
        if writable != 0 && is_shared(x) {
            let n = length(x) as usize;
            let own = Rf_protect(new_vector(kind(x), n));
            if is_large(own) {
                let from = elements_to_read(x).cast::<u8>();
                std::ptr::copy_nonoverlapping(from, vector::pointer(own).cast_mut(), vector::byte_len(own));
                R_set_altrep_data1(x, R_altrep_data1(own));
                R_set_altrep_data2(x, R_altrep_data2(own));
                // A reference of garbage would be one.
                donate(own);
            }
            Rf_unprotect(1);
        }
        match store(x) {
            Store::Block(held) => held.block.as_ptr().cast(),
            Store::Vector(data) => vector::pointer(data).cast_mut().cast(),
            Store::Donated => refuse_donated(x),
        }
    }
}

/// # Safety
/// As [`store`].
unsafe extern "C" fn elements_to_read(x: SEXP) -> *const c_void {
    // SAFETY: by the caller.
    unsafe {
        match store(x) {
            Store::Block(held) => held.block.as_ptr().cast_const().cast(),
            Store::Vector(data) => DATAPTR_OR_NULL(data),
            Store::Donated => std::ptr::null(),
        }
    }
}

/// # Safety
/// As [`store`].
unsafe extern "C" fn inspect(
    x: SEXP,
    _pre: c_int,
    _deep: c_int,
    _pvec: c_int,
    _subtree: Option<unsafe extern "C" fn(SEXP, c_int, c_int, c_int)>,
) -> c_int {
    // SAFETY: by the caller; the formats take as many numbers.
    unsafe {
        match store(x) {
            Store::Block(held) => Rprintf(
                c" anvil: %.0f elements in a block of %.0f bytes\n".as_ptr(),
                held.len as f64,
                held.block.size() as f64,
            ),
            Store::Vector(data) => Rprintf(c" anvil: %.0f elements of a vector\n".as_ptr(), len(data) as f64),
            Store::Donated => Rprintf(c" anvil: donated\n".as_ptr()),
        }
    }
    1
}

/// `NULL` for a donated tensor, which is saved as such; others are saved as ordinary vectors.
///
/// # Safety
/// As [`store`].
unsafe extern "C" fn saved_state(x: SEXP) -> SEXP {
    // SAFETY: by the caller.
    match unsafe { store(x) } {
        Store::Donated => nil(),
        _ => std::ptr::null_mut(),
    }
}

/// # Safety
/// R calls it with what it read.
unsafe extern "C" fn restore<const KIND: c_int>(_class: SEXP, state: SEXP) -> SEXP {
    // SAFETY: by the caller.
    unsafe {
        match class_of(KIND) {
            Some(class) if state == nil() => R_new_altrep(class, nil(), nil()),
            _ => {
                anvil_call_r(c"refuse_saved".as_ptr(), state);
                nil()
            }
        }
    }
}

/// A vector without attributes that has the elements of another one, and shares them where the other is
/// large.
///
/// # Safety
/// As [`new_vector`]. `x` is a double, integer, complex or raw vector that holds its elements.
pub unsafe fn share(x: SEXP) -> SEXP {
    let bytes = vector::byte_len(x);
    // SAFETY: by the caller.
    unsafe {
        match class_of(kind(x)) {
            Some(class) if class.has(x) => R_new_altrep(class, R_altrep_data1(x), R_altrep_data2(x)),
            Some(class) if bytes >= LARGE => R_new_altrep(class, x, nil()),
            _ => {
                let out = Rf_protect(ordinary_vector(kind(x), len(x)));
                if len(out) == len(x) && bytes > 0 {
                    std::ptr::copy_nonoverlapping(vector::pointer(x), vector::pointer(out).cast_mut(), bytes);
                }
                Rf_unprotect(1);
                out
            }
        }
    }
}

/// Whether only this vector refers to what holds its elements, which are aligned: then they may be taken
/// over.
pub fn is_exclusive(x: SEXP, align: usize) -> bool {
    // SAFETY: a vector of ours has its elements at hand; the store of a block is ours alone to write to.
    is_large(x)
        && unsafe {
            matches!(store(x), Store::Block(_))
                && !is_shared(x)
                && vector::pointer(x).align_offset(align) == 0
        }
}

/// Takes the elements away from a vector.
///
/// # Safety
/// `x` is a large vector, which nothing reads or writes at this time.
pub unsafe fn donate(x: SEXP) {
    // SAFETY: by the caller.
    unsafe {
        R_set_altrep_data1(x, nil());
        R_set_altrep_data2(x, nil());
    }
}

/// What holds the elements of a large vector.
pub fn store_of(x: SEXP) -> SEXP {
    // SAFETY: asked of vectors of ours only.
    unsafe { R_altrep_data1(x) }
}

/// Whether a large vector has been donated.
pub fn is_donated(x: SEXP) -> bool {
    // SAFETY: asked of vectors of ours only.
    is_large(x) && unsafe { matches!(store(x), Store::Donated) }
}

/// Jumps with the error about the use of a donated tensor.
///
/// # Safety
/// Only where nothing needs dropping.
pub unsafe fn refuse_donated(x: SEXP) -> ! {
    loop {
        // SAFETY: by the caller. The function signals an error.
        unsafe { anvil_call_r(c"refuse_donated".as_ptr(), x) };
    }
}

/// A vector of doubles, integers, complex numbers or bytes. Its elements are not initialised.
///
/// # Safety
/// May jump, and runs R's finalizers: only inside [`protected`](crate::guard::protected). The caller protects
/// the result.
pub unsafe fn new_vector(kind: c_int, len: usize) -> SEXP {
    let unit = match kind {
        REALSXP => 8,
        INTSXP => 4,
        CPLXSXP => 16,
        _ => 1,
    };
    // SAFETY: by the caller.
    unsafe {
        match (class_of(kind), len.checked_mul(unit)) {
            (Some(class), Some(bytes)) if bytes >= LARGE => {
                new(class, len, bytes).unwrap_or_else(|| without_memory(kind, bytes))
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
    let counted = urgent.max(bytes / if memory() < SCARCE { COUNTED / 2 } else { COUNTED });
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
        let store = Rf_protect(handle::lent(handle));
        let x = R_new_altrep(class, store, weight);
        Rf_unprotect(3);
        Some(x)
    }
}
