//! What R asks of all elements of a narrow vector at once.

use super::{narrow_elements, stored, Narrow};
use crate::ffi::*;
use std::os::raw::c_int;

/// Whether there is surely no `NA`: floats and complex numbers may be.
///
/// # Safety
/// As [`super::length`].
pub(super) unsafe extern "C" fn has_no_na<T: Narrow>(x: SEXP) -> c_int {
    // SAFETY: by the caller.
    let stored = unsafe { stored::<T>(x).is_some() };
    c_int::from(stored && !T::DTYPE.is_float() && !T::DTYPE.is_complex())
}

/// A sum of integers that R can hold, or left to R, which warns.
///
/// # Safety
/// As [`super::length`].
pub(super) unsafe extern "C" fn sum<T: Narrow>(x: SEXP, _na_rm: c_int) -> SEXP {
    // SAFETY: by the caller.
    unsafe {
        let Some(elements) = narrow_elements::<T>(x) else { return std::ptr::null_mut() };
        // At most 2^52 elements of 16 bits.
        let sum: i64 = elements.iter().map(|x| x.convert::<i64>()).sum();
        match c_int::try_from(sum) {
            Ok(sum) if sum != c_int::MIN => Rf_ScalarInteger(sum),
            _ => std::ptr::null_mut(),
        }
    }
}

/// # Safety
/// As [`super::length`].
pub(super) unsafe extern "C" fn smallest<T: Narrow>(x: SEXP, _na_rm: c_int) -> SEXP {
    // SAFETY: by the caller.
    unsafe { extreme::<T>(x, |x, y| x.lt(y)) }
}

/// # Safety
/// As [`super::length`].
pub(super) unsafe extern "C" fn largest<T: Narrow>(x: SEXP, _na_rm: c_int) -> SEXP {
    // SAFETY: by the caller.
    unsafe { extreme::<T>(x, |x, y| y.lt(x)) }
}

/// The first of all elements in an order; that of none, and of elements with a NaN among them, is left to R.
///
/// # Safety
/// As [`super::length`].
unsafe fn extreme<T: Narrow>(x: SEXP, before: fn(T, T) -> bool) -> SEXP {
    // SAFETY: by the caller.
    unsafe {
        let Some((&first, rest)) = narrow_elements::<T>(x).and_then(<[T]>::split_first) else {
            return std::ptr::null_mut();
        };
        let is_nan = |x: T| !x.le(x);
        let mut best = first;
        let mut nan = is_nan(first);
        for &x in rest {
            nan |= is_nan(x);
            best = if before(x, best) { x } else { best };
        }
        if nan {
            return std::ptr::null_mut();
        }
        if T::KIND == INTSXP {
            Rf_ScalarInteger(best.convert::<i32>())
        } else {
            Rf_ScalarReal(best.convert::<f64>())
        }
    }
}
