//! Narrow vectors: tensors of the dtypes that R has no vectors of, over bytes as the engine reads them.
//!
//! | dtype | R sees |
//! |---|---|
//! | `f32 f16 bf16 i64 ui32 ui64` | doubles; 64-bit integers beyond 2^53 round |
//! | `i8 i16 ui8 ui16` | integers |
//! | `i1` | logicals |
//! | `c64` | complex numbers |
//!
//! An ALTREP vector holds two objects. The first is a raw vector with the bytes, the second is `NULL`. A
//! caller that wants the address of all elements gets that of an ordinary vector, which is made then and is
//! the second object from then on. If the caller may write to it, its elements count from then on, and the
//! bytes are dropped. Most callers do not write, such as `identical()`, though they ask so: the bytes of 64-bit integers,
//! whose digits doubles do not have, stay, and count as long as no element that R sees is another one. A donated tensor
//! has neither.
//!
//! Nothing depends on this representation but time and memory: an ordinary vector with the same attributes is
//! the same tensor, see [`value`](crate::value).

mod summaries;

use crate::altrep::*;
use crate::ffi::*;
use crate::large;
use crate::vector;
use anvil_core::boundary::{export_complex, export_doubles, export_integers, export_logicals};
use anvil_core::dtype::{Bool, DType, Element as DTypeElement, HasDType};
use anvil_core::error::{Error, Result};
use half::{bf16, f16};
use num_complex::Complex;
use std::os::raw::{c_int, c_void};
use std::sync::OnceLock;
use summaries::{has_no_na, largest, smallest, sum};

/// The version of the saved form, its last byte: the bytes of the elements come before it, in little-endian
/// order.
const SAVED: u8 = 1;

/// How R sees the elements of a dtype.
trait Narrow: DTypeElement {
    /// The element that R sees.
    type Seen: Copy;
    /// R's type of a vector of those.
    const KIND: c_int;
    /// The element as R sees it.
    fn seen(self) -> Self::Seen;
    /// The nearest element of the dtype, by the rules of `nv_convert()`.
    fn narrow(seen: Self::Seen) -> Self;
    /// All elements as R sees them.
    fn fill(bytes: &[u8], out: &mut [Self::Seen]);
    /// Gives a class the methods for elements of this type.
    ///
    /// # Safety
    /// The class is one of vectors of type `KIND`.
    unsafe fn set_methods(class: Class);
}

macro_rules! narrow {
    ($kind:ident, $seen:ty, $fill:expr, |$class:ident, $t:ident| $set:block: $($type:ty),+) => {$(
        impl Narrow for $type {
            type Seen = $seen;
            const KIND: c_int = $kind;
            #[inline]
            fn seen(self) -> $seen {
                self.convert::<$seen>()
            }
            fn narrow(seen: $seen) -> $type {
                seen.convert::<$type>()
            }
            fn fill(bytes: &[u8], out: &mut [$seen]) {
                let fill: fn(DType, &[u8], &mut [$seen]) = $fill;
                fill(Self::DTYPE, bytes, out);
            }
            unsafe fn set_methods($class: Class) {
                type $t = $type;
                // SAFETY: by the caller.
                unsafe { $set }
            }
        }
    )+};
}

narrow!(REALSXP, f64, |dtype, bytes, out| { export_doubles(dtype, bytes, out); }, |class, T| {
    R_set_altreal_Elt_method(class, Some(element::<T>));
    R_set_altreal_Get_region_method(class, Some(region::<T>));
    R_set_altreal_Min_method(class, Some(smallest::<T>));
    R_set_altreal_Max_method(class, Some(largest::<T>));
    R_set_altreal_No_NA_method(class, Some(has_no_na::<T>));
}: f32, f16, bf16, i64, u32, u64);

narrow!(INTSXP, i32, |dtype, bytes, out| { export_integers(dtype, bytes, out); }, |class, T| {
    R_set_altinteger_Elt_method(class, Some(element::<T>));
    R_set_altinteger_Get_region_method(class, Some(region::<T>));
    R_set_altinteger_Sum_method(class, Some(sum::<T>));
    R_set_altinteger_Min_method(class, Some(smallest::<T>));
    R_set_altinteger_Max_method(class, Some(largest::<T>));
    R_set_altinteger_No_NA_method(class, Some(has_no_na::<T>));
}: i8, i16, u8, u16);

narrow!(LGLSXP, i32, |dtype, bytes, out| export_logicals(dtype, bytes, out), |class, T| {
    R_set_altlogical_Elt_method(class, Some(element::<T>));
    R_set_altlogical_Get_region_method(class, Some(region::<T>));
    R_set_altlogical_Sum_method(class, Some(sum::<T>));
    R_set_altlogical_No_NA_method(class, Some(has_no_na::<T>));
}: Bool);

narrow!(CPLXSXP, ComplexNumber, |dtype, bytes, out| { export_complex(dtype, bytes, out); }, |class, T| {
    R_set_altcomplex_Elt_method(class, Some(element::<T>));
    R_set_altcomplex_Get_region_method(class, Some(region::<T>));
}: Complex<f32>);

/// The class of each dtype, in the order of `DType::ALL`; none for those that R has vectors of.
static CLASSES: OnceLock<Vec<Option<Class>>> = OnceLock::new();

/// Makes the classes.
///
/// # Safety
/// Called by R when the library is loaded.
pub unsafe fn initialise() {
    let _ = CLASSES.get_or_init(|| {
        let class_of = |&dtype: &DType| {
            // SAFETY: by the caller.
            unsafe {
                Some(match dtype {
                    DType::F64 | DType::I32 | DType::C128 => return None,
                    DType::I1 => class::<Bool>(),
                    DType::I8 => class::<i8>(),
                    DType::I16 => class::<i16>(),
                    DType::I64 => class::<i64>(),
                    DType::UI8 => class::<u8>(),
                    DType::UI16 => class::<u16>(),
                    DType::UI32 => class::<u32>(),
                    DType::UI64 => class::<u64>(),
                    DType::BF16 => class::<bf16>(),
                    DType::F16 => class::<f16>(),
                    DType::F32 => class::<f32>(),
                    DType::C64 => class::<Complex<f32>>(),
                })
            }
        };
        DType::ALL.iter().map(class_of).collect()
    });
}

/// # Safety
/// As [`initialise`].
unsafe fn class<T: Narrow>() -> Class {
    let name = std::ffi::CString::new(T::DTYPE.name()).expect("names of dtypes have no zeros");
    // SAFETY: by the caller. R copies the name. A method is of the type that R calls.
    unsafe {
        let class = Class::new(T::KIND, &name);
        R_set_altrep_Length_method(class, Some(length::<T>));
        R_set_altrep_Inspect_method(class, Some(inspect::<T>));
        R_set_altrep_Duplicate_method(class, Some(duplicate::<T>));
        R_set_altrep_Coerce_method(class, Some(coerce::<T>));
        R_set_altrep_Serialized_state_method(class, Some(saved_state::<T>));
        R_set_altrep_Unserialize_method(class, Some(restore::<T>));
        R_set_altvec_Dataptr_method(class, Some(elements::<T>));
        R_set_altvec_Dataptr_or_null_method(class, Some(elements_at_hand));
        R_set_altvec_Extract_subset_method(class, Some(extract::<T>));
        T::set_methods(class);
        class
    }
}

fn class_of(dtype: DType) -> Option<Class> {
    CLASSES.get()?[dtype as usize]
}

/// Whether a vector is a narrow one of this dtype.
#[inline]
pub fn is_narrow(x: SEXP, dtype: DType) -> bool {
    class_of(dtype).is_some_and(|class| class.has(x))
}

/// A narrow vector over a raw vector of whole elements.
///
/// # Safety
/// May jump: only inside [`protected`](crate::guard::protected). The caller protects `bytes` and the result.
pub unsafe fn new(dtype: DType, bytes: SEXP) -> SEXP {
    let class = class_of(dtype).expect("a dtype that R has no vectors of");
    // SAFETY: by the caller.
    unsafe { R_new_altrep(class, bytes, nil()) }
}

/// The raw vector with the bytes of a narrow vector of this dtype; `None` if R's elements count.
///
/// # Errors
/// [`Error::Donated`].
pub fn bytes(x: SEXP, dtype: DType) -> Result<Option<SEXP>> {
    // SAFETY: the vector is a narrow one of the dtype, by the callers.
    let (store, seen) = unsafe {
        match dtype {
            DType::I64 => settle::<i64>(x),
            DType::UI64 => settle::<u64>(x),
            _ => {}
        }
        (R_altrep_data1(x), R_altrep_data2(x))
    };
    if store != nil() {
        return Ok(Some(store));
    }
    if seen == nil() {
        return Err(Error::Donated);
    }
    Ok(None)
}

/// Takes the bytes away from a vector.
///
/// # Safety
/// `x` is a narrow vector, which nothing reads or writes at this time.
pub unsafe fn donate(x: SEXP) {
    // SAFETY: by the caller.
    unsafe {
        R_set_altrep_data1(x, nil());
        R_set_altrep_data2(x, nil());
    }
}

// ---- methods -------------------------------------------------------------------------------------------------------

/// Whether the elements that R sees have all digits.
fn is_exact<T: Narrow>() -> bool {
    !matches!(T::DTYPE, DType::I64 | DType::UI64)
}

/// Drops the bytes if an element that R sees is another one by now.
///
/// # Safety
/// `x` is a narrow vector of `T`.
unsafe fn settle<T: Narrow>(x: SEXP) {
    // SAFETY: by the caller; both vectors have as many elements, at hand.
    unsafe {
        let (store, seen) = (R_altrep_data1(x), R_altrep_data2(x));
        if is_exact::<T>() || store == nil() || seen == nil() {
            return;
        }
        let (stored, seen) = (vector::pointer(store).cast::<T>(), vector::pointer(seen).cast::<T::Seen>());
        let same = |i: usize| same_bits(&(*stored.add(i)).seen(), &*seen.add(i));
        if !(0..len(store) / size_of::<T>()).all(same) {
            R_set_altrep_data1(x, nil());
        }
    }
}

/// The bytes of a vector, if R has no elements of its own that may be others.
///
/// # Safety
/// `x` is a narrow vector of `T`.
#[inline]
unsafe fn stored<'a, T: Narrow>(x: SEXP) -> Option<&'a [u8]> {
    // SAFETY: by the caller; a raw vector of ours has its elements at hand.
    unsafe {
        let store = R_altrep_data1(x);
        if store == nil() || !is_exact::<T>() && R_altrep_data2(x) != nil() {
            return None;
        }
        let n = len(store);
        Some(if n == 0 { &[] } else { std::slice::from_raw_parts(RAW_RO(store), n) })
    }
}

/// The same, as elements: raw vectors of R are aligned for all of them.
///
/// # Safety
/// `x` is a narrow vector of `T`.
#[inline]
unsafe fn narrow_elements<'a, T: Narrow>(x: SEXP) -> Option<&'a [T]> {
    // SAFETY: by the caller.
    unsafe { stored::<T>(x).map(anvil_core::kernels::cast::slice::<T>) }
}

/// The vector whose elements count if there are no bytes.
///
/// # Safety
/// `x` is a narrow vector without bytes. Jumps if it was donated.
unsafe fn seen_elements(x: SEXP) -> SEXP {
    // SAFETY: by the caller.
    unsafe {
        let seen = R_altrep_data2(x);
        if seen == nil() {
            large::refuse_donated(x);
        }
        seen
    }
}

/// # Safety
/// R calls it with a vector of its class; so for all methods. Those that may jump own nothing.
unsafe extern "C" fn length<T: Narrow>(x: SEXP) -> Length {
    // SAFETY: by the caller.
    unsafe {
        match (R_altrep_data1(x), R_altrep_data2(x)) {
            (store, _) if store != nil() => (len(store) / size_of::<T>()) as Length,
            (_, seen) if seen != nil() => len(seen) as Length,
            _ => vector::dim_size(x),
        }
    }
}

/// # Safety
/// As [`length`].
unsafe extern "C" fn inspect<T: Narrow>(
    x: SEXP,
    _pre: c_int,
    _deep: c_int,
    _pvec: c_int,
    _subtree: Option<unsafe extern "C" fn(SEXP, c_int, c_int, c_int)>,
) -> c_int {
    // SAFETY: by the caller; the formats take no arguments but the name, a string of C.
    unsafe {
        let state = match (R_altrep_data1(x) == nil(), R_altrep_data2(x) == nil()) {
            (false, true) => c" anvil: narrow\n",
            (false, false) => c" anvil: narrow, and as R's elements\n",
            (true, false) => c" anvil: R's elements\n",
            (true, true) => c" anvil: donated\n",
        };
        Rprintf(state.as_ptr());
    }
    1
}

/// # Safety
/// As [`length`].
unsafe extern "C" fn element<T: Narrow>(x: SEXP, i: Length) -> T::Seen {
    // SAFETY: by the caller: `i` is in range, here and in the ordinary vector of the same length.
    unsafe {
        match narrow_elements::<T>(x) {
            Some(elements) => elements.get_unchecked(i as usize).seen(),
            None => *vector::pointer(seen_elements(x)).cast::<T::Seen>().add(i as usize),
        }
    }
}

/// # Safety
/// As [`length`].
unsafe extern "C" fn region<T: Narrow>(x: SEXP, from: Length, count: Length, out: *mut T::Seen) -> Length {
    // SAFETY: by the caller; `out` has room for `count` elements.
    unsafe {
        let n = length::<T>(x);
        let count = count.min(n - from).max(0);
        if count == 0 {
            return 0;
        }
        match stored::<T>(x) {
            Some(bytes) => {
                let (from, to) = (from as usize * size_of::<T>(), (from + count) as usize * size_of::<T>());
                T::fill(&bytes[from..to], std::slice::from_raw_parts_mut(out, count as usize));
            }
            None => {
                let seen = vector::pointer(seen_elements(x)).cast::<T::Seen>();
                std::ptr::copy_nonoverlapping(seen.add(from as usize), out, count as usize);
            }
        }
        count
    }
}

/// An ordinary vector of the elements that R sees.
///
/// # Safety
/// As [`new`].
unsafe fn ordinary<T: Narrow>(bytes: &[u8]) -> SEXP {
    let n = bytes.len() / size_of::<T>();
    // SAFETY: by the caller; a fresh vector of that length, if R had the memory.
    unsafe {
        let out = large::ordinary_vector(T::KIND, n);
        if n > 0 && len(out) == n {
            let elements = vector::pointer(out).cast_mut().cast::<T::Seen>();
            T::fill(bytes, std::slice::from_raw_parts_mut(elements, n));
        }
        out
    }
}

/// # Safety
/// As [`length`].
unsafe extern "C" fn elements<T: Narrow>(x: SEXP, writable: c_int) -> *mut c_void {
    // SAFETY: by the caller.
    unsafe {
        if R_altrep_data2(x) == nil() {
            let Some(bytes) = stored::<T>(x) else { large::refuse_donated(x) };
            R_set_altrep_data2(x, ordinary::<T>(bytes));
        }
        if writable != 0 && is_exact::<T>() {
            R_set_altrep_data1(x, nil());
        }
        vector::pointer(R_altrep_data2(x)).cast_mut().cast()
    }
}

/// # Safety
/// As [`length`].
unsafe extern "C" fn elements_at_hand(x: SEXP) -> *const c_void {
    // SAFETY: by the caller.
    unsafe {
        match R_altrep_data2(x) {
            seen if seen == nil() => std::ptr::null(),
            seen => vector::pointer(seen).cast(),
        }
    }
}

/// Shares the bytes, which are never written while something else refers to them. A copy of R's elements is
/// left to R.
///
/// # Safety
/// As [`length`].
unsafe extern "C" fn duplicate<T: Narrow>(x: SEXP, _deep: c_int) -> SEXP {
    // SAFETY: by the caller.
    unsafe {
        settle::<T>(x);
        match R_altrep_data1(x) {
            store if store == nil() => {
                seen_elements(x);
                std::ptr::null_mut()
            }
            store => new(T::DTYPE, store),
        }
    }
}

/// Integers and logicals as doubles or integers, which is exact; the rest is left to R.
///
/// # Safety
/// As [`length`].
unsafe extern "C" fn coerce<T: Narrow>(x: SEXP, kind: c_int) -> SEXP {
    // SAFETY: by the caller.
    unsafe {
        let Some(bytes) = stored::<T>(x).filter(|_| matches!(T::KIND, INTSXP | LGLSXP)) else {
            return std::ptr::null_mut();
        };
        let n = bytes.len() / size_of::<T>();
        if !matches!(kind, REALSXP | INTSXP) || n == 0 {
            return std::ptr::null_mut();
        }
        let out = Rf_protect(large::ordinary_vector(kind, n));
        if len(out) == n {
            let start = vector::pointer(out).cast_mut();
            if kind == REALSXP {
                export_doubles(T::DTYPE, bytes, std::slice::from_raw_parts_mut(start.cast(), n));
            } else {
                export_integers(T::DTYPE, bytes, std::slice::from_raw_parts_mut(start.cast(), n));
            }
            // As R does when it coerces a vector itself.
            SHALLOW_DUPLICATE_ATTRIB(out, x);
        }
        Rf_unprotect(1);
        out
    }
}

/// Elements at positions that are all in range; the rest is left to R.
///
/// # Safety
/// As [`length`].
unsafe extern "C" fn extract<T: Narrow>(x: SEXP, positions: SEXP, _call: SEXP) -> SEXP {
    // SAFETY: by the caller; the elements of an ordinary vector are at hand.
    unsafe {
        let Some(elements) = narrow_elements::<T>(x) else { return std::ptr::null_mut() };
        let at = |i: usize| match kind(positions) {
            INTSXP => f64::from(*INTEGER_RO(positions).add(i)),
            _ => *REAL_RO(positions).add(i),
        };
        let n = len(positions);
        let fits = |i: usize| at(i) >= 1.0 && at(i) < elements.len() as f64 + 1.0;
        if !matches!(kind(positions), INTSXP | REALSXP) || ALTREP(positions) != 0 || !(0..n).all(fits) {
            return std::ptr::null_mut();
        }
        let out = large::ordinary_vector(T::KIND, n);
        if n > 0 && len(out) == n {
            let start = vector::pointer(out).cast_mut().cast::<T::Seen>();
            (0..n).for_each(|i| *start.add(i) = elements[at(i) as usize - 1].seen());
        }
        out
    }
}

/// The bytes, and the version behind them; `NULL` for a donated tensor, which is one again. A vector whose elements the dtype does not have is saved as an
/// ordinary one.
///
/// # Safety
/// As [`length`].
unsafe extern "C" fn saved_state<T: Narrow>(x: SEXP) -> SEXP {
    // SAFETY: by the caller.
    if unsafe { R_altrep_data1(x) == nil() && R_altrep_data2(x) == nil() } {
        return nil();
    }
    // SAFETY: by the caller.
    let n = unsafe { length::<T>(x) } as usize * size_of::<T>();
    // SAFETY: by the caller.
    unsafe {
        let state = large::ordinary_vector(RAWSXP, n + 1);
        if len(state) == n + 1 {
            let start = vector::pointer(state).cast_mut();
            settle::<T>(x);
            match R_altrep_data1(x) {
                store if store != nil() => {
                    std::ptr::copy_nonoverlapping(vector::pointer(store).cast(), start, n)
                }
                _ if narrowed::<T>(x, start) => {}
                _ => return std::ptr::null_mut(),
            }
            *start.add(n) = SAVED;
        }
        state
    }
}

/// Writes the elements of a vector without bytes as those of the dtype; returns whether all are the same to R.
///
/// # Safety
/// As [`length`]; `out` has room for the bytes.
unsafe fn narrowed<T: Narrow>(x: SEXP, out: *mut u8) -> bool {
    // SAFETY: by the caller; an ordinary vector has its elements at hand.
    unsafe {
        let seen = seen_elements(x);
        let start = vector::pointer(seen).cast::<T::Seen>();
        (0..len(seen)).all(|i| {
            let element = *start.add(i);
            let narrow = T::narrow(element);
            out.cast::<T>().add(i).write_unaligned(narrow);
            same_bits(&narrow.seen(), &element)
        })
    }
}

/// Whether two plain values are the same, `NA` and NaN by their bits.
fn same_bits<T: Copy>(x: &T, y: &T) -> bool {
    let bytes = |x: &T| -> *const [u8; 16] { std::ptr::from_ref(x).cast() };
    // SAFETY: numbers and pairs of numbers have no padding, and at most 16 bytes, of which only theirs are
    // compared.
    (0..size_of::<T>()).all(|i| unsafe { *bytes(x).cast::<u8>().add(i) == *bytes(y).cast::<u8>().add(i) })
}

/// # Safety
/// R calls it with what it read.
unsafe extern "C" fn restore<T: Narrow>(_class: SEXP, state: SEXP) -> SEXP {
    // SAFETY: by the caller; the version is read of a raw vector with at least one byte.
    unsafe {
        if state == nil() {
            return new(T::DTYPE, nil());
        }
        let n = if kind(state) == RAWSXP { len(state) } else { 0 };
        if n == 0 || *RAW_RO(state).add(n - 1) != SAVED || (n - 1) % size_of::<T>() != 0 {
            anvil_call_r(c"refuse_saved".as_ptr(), state);
        }
        let bytes = Rf_protect(large::new_vector(RAWSXP, n - 1));
        if len(bytes) == n - 1 && n > 1 {
            std::ptr::copy_nonoverlapping(RAW_RO(state), vector::pointer(bytes).cast_mut(), n - 1);
        }
        let x = new(T::DTYPE, bytes);
        Rf_unprotect(1);
        x
    }
}
