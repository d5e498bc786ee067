//! Elements of R's vectors, and bare numbers of R as operands.

use crate::ffi::*;
use crate::guard::{protected, Outcome};
use crate::tracer;
use anvil_core::dtype::{DType, Kind};
use anvil_core::error::Error;
use anvil_core::kernels::cast;
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::shape::Shape;
use anvil_core::stop;
use std::os::raw::c_int;

/// Type of the R vector that holds elements of a dtype.
pub fn storage(dtype: DType) -> c_int {
    match dtype {
        DType::F64 => REALSXP,
        DType::I32 => INTSXP,
        DType::C128 => CPLXSXP,
        _ => RAWSXP,
    }
}

/// A shape from R's integers, which were checked not to be negative.
pub fn shape_of(sizes: &[c_int]) -> Shape {
    let sizes = sizes.iter().map(|&d| d.max(0) as usize).collect();
    Shape::try_new(sizes).expect("a vector of this shape exists")
}

/// An integer vector of sizes.
///
/// # Safety
/// May jump: only inside [`protected`]. The caller protects the result.
pub unsafe fn new_shape(shape: &Shape) -> SEXP {
    // SAFETY: by the caller; as many elements are written as were allocated. Sizes above R's integers cannot
    // occur: `value::check_sizes` refuses them before.
    unsafe {
        let x = Rf_allocVector(INTSXP, shape.rank() as Length);
        let out = INTEGER(x);
        shape.iter().enumerate().for_each(|(i, &d)| *out.add(i) = d as c_int);
        x
    }
}

/// The number of elements of an array: the product of its `dim`, or 1.
pub fn dim_size(x: SEXP) -> Length {
    // SAFETY: reads an attribute.
    ints(attribute(x, unsafe { R_DimSymbol })).iter().map(|&d| d as Length).product()
}

/// Alignment of elements in memory, which is at most that of a double: R guarantees no larger one.
pub fn align_of(dtype: DType) -> usize {
    dtype.bytes().min(8)
}

/// Bytes of a vector's elements.
pub fn byte_len(x: SEXP) -> usize {
    let unit = match kind(x) {
        CPLXSXP => 16,
        REALSXP => 8,
        INTSXP | LGLSXP => 4,
        _ => 1,
    };
    len(x) * unit
}

/// The elements. They may be written if the vector is not an ALTREP one, or is a large one of ours; another
/// ALTREP vector, such as a wrapper, is expanded for reading and not copied.
///
/// # Safety
/// `x` is a logical, integer, double, complex or raw vector; may jump if it is an ALTREP one.
pub unsafe fn pointer(x: SEXP) -> *const u8 {
    // SAFETY: by the caller.
    unsafe {
        match kind(x) {
            CPLXSXP => COMPLEX_RO(x).cast(),
            REALSXP => REAL_RO(x).cast(),
            INTSXP => INTEGER_RO(x).cast(),
            LGLSXP => LOGICAL_RO(x).cast(),
            _ => RAW_RO(x),
        }
    }
}

/// Bytes of an R vector, copied if they were not aligned for their elements.
pub enum Bytes<'a> {
    /// R's own memory.
    Borrowed(&'a [u8]),
    /// A copy.
    Owned(AlignedBytes),
}

impl Bytes<'_> {
    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        match self {
            Bytes::Borrowed(x) => x,
            Bytes::Owned(x) => x.as_slice(),
        }
    }
}

/// Bytes of a logical, integer, double or raw vector that holds elements of `align` bytes.
pub fn bytes<'a>(x: SEXP, align: usize) -> Outcome<Bytes<'a>> {
    // SAFETY: an ALTREP vector may allocate or jump when it is expanded, hence `protected`.
    let is_altrep = unsafe { ALTREP(x) } != 0;
    // SAFETY: as above; a plain vector has its elements at hand.
    let start = if is_altrep { protected(|| unsafe { pointer(x) })? } else { unsafe { pointer(x) } };
    let n = byte_len(x);
    if n == 0 {
        return Ok(Bytes::Borrowed(&[]));
    }
    // SAFETY: R's vector of that many bytes; it is an argument of the running call, so R keeps it.
    let bytes = unsafe { std::slice::from_raw_parts(start, n) };
    if cast::is_aligned(bytes, align) {
        return Ok(Bytes::Borrowed(bytes));
    }
    let mut copy = AlignedBytes::zeroed(n);
    stop::copy(bytes, copy.as_mut_slice());
    Ok(Bytes::Owned(copy))
}

/// A bare R vector or array of numbers or logicals, as an operand: the dtype that stores it without loss, and
/// its shape. A vector of length 1 without `dim` is a scalar, a longer one is 1-d. `None` for anything else.
pub fn number(x: SEXP) -> Option<(DType, Shape)> {
    let dtype = match kind(x) {
        REALSXP => DType::F64,
        INTSXP => DType::I32,
        LGLSXP => DType::I1,
        CPLXSXP => DType::C128,
        _ => return None,
    };
    // SAFETY: reads an attribute.
    let bare = attribute(x, unsafe { R_DimSymbol }) == nil();
    if is_own_object(x) || bare && c_int::try_from(len(x)).is_err() {
        return None;
    }
    Some((dtype, with_sizes(x, shape_of)))
}

/// Whether an R object is a bare logical vector with `NA`, and no traced value, whose elements are not known.
pub fn holds_na(x: SEXP) -> bool {
    let holds = |bytes: Bytes| cast::slice::<i32>(bytes.as_slice()).contains(&i32::MIN);
    kind(x) == LGLSXP && !is_own_object(x) && tracer::held(x).is_none() && bytes(x, 4).is_ok_and(holds)
}

/// The shape of an R vector of any type; a vector of length 1 without `dim` has one axis here.
pub fn number_shape(x: SEXP) -> Option<Shape> {
    // SAFETY: reads an attribute.
    let dim = attribute(x, unsafe { R_DimSymbol });
    if dim != nil() {
        return Some(shape_of(ints(dim)));
    }
    Shape::try_new(vec![len(x)]).ok()
}

/// Sizes of the axes of an R vector as an operand.
pub fn with_sizes<T>(x: SEXP, see: impl FnOnce(&[c_int]) -> T) -> T {
    // SAFETY: reads an attribute.
    let dim = attribute(x, unsafe { R_DimSymbol });
    if dim != nil() {
        return see(ints(dim));
    }
    match len(x) {
        1 => see(&[]),
        n => see(&[n as c_int]),
    }
}

/// The elements of a [`number`]; logicals are narrowed to one byte.
///
/// # Errors
/// [`Error::MissingValue`] for a missing integer or logical.
pub fn number_bytes<'a>(x: SEXP, dtype: DType) -> Outcome<Bytes<'a>> {
    let raw = bytes(x, align_of(dtype).max(4))?;
    if matches!(dtype, DType::F64 | DType::C128) {
        return Ok(raw);
    }
    let values = cast::slice::<i32>(raw.as_slice());
    let missing: Vec<usize> =
        values.iter().enumerate().filter(|(_, &v)| v == i32::MIN).map(|(i, _)| i + 1).collect();
    if !missing.is_empty() {
        let positions = missing[..missing.len().min(5)].to_vec();
        return Err(
            Error::MissingValue { arg: "operand".into(), dtype, count: missing.len(), positions }.into()
        );
    }
    if dtype.kind() != Kind::Boolean {
        return Ok(raw);
    }
    let mut narrow = AlignedBytes::zeroed(values.len());
    narrow.as_mut_slice().iter_mut().zip(values).for_each(|(out, &v)| *out = (v != 0) as u8);
    Ok(Bytes::Owned(narrow))
}
