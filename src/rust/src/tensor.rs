//! Tensors from R data, R data from tensors, and their text.

use crate::axis_names;
use crate::ffi::*;
use crate::guard::{protected, r_string, r_strings, Outcome, Scope};
use crate::info::{dtype_argument, filling_argument, flag_argument, shape_argument};
use crate::large;
use crate::path;
use crate::settings;
use crate::value::{self, Tensor};
use crate::vector;
use anvil_core::boundary::{
    export_complex, export_doubles, export_integer64, export_integers, export_logicals, import, natural,
    Filling, Loss, Lost, Natural, Source,
};
use anvil_core::dtype::{DType, Kind, Ranked};
use anvil_core::error::{Error, Result};
use anvil_core::format::{data_lines, footer, limit, summary, Limits, Number};
use anvil_core::kernels::cast;
use anvil_core::shape::Shape;
use anvil_core::stop;
use anvil_core::tensor::{Aval, Literal};
use num_complex::Complex;

fn is_integer64(x: SEXP) -> bool {
    kind(x) == REALSXP && inherits(x, c"integer64")
}

/// The default dtype of R data.
fn default_dtype(x: SEXP) -> Outcome<DType> {
    let stored = match kind(x) {
        _ if is_integer64(x) => return Ok(DType::I64),
        REALSXP => DType::F64,
        INTSXP => DType::I32,
        LGLSXP => DType::I1,
        CPLXSXP => DType::C128,
        RAWSXP => return Ok(DType::UI8),
        _ => {
            let hint = "Strings hold integers that R's numbers cannot: say of which dtype, such as \"i64\".";
            let expected = format!("given for {}", value::describe(x));
            let (arg, got) = ("dtype".into(), "NULL".into());
            return Err(Error::Arg { arg, expected, got, hint: hint.into() }.into());
        }
    };
    Ok(settings::current()?.defaults.number_type(stored).dtype)
}

fn check_data(x: SEXP) -> Result<()> {
    let plain = matches!(kind(x), REALSXP | INTSXP | LGLSXP | CPLXSXP | RAWSXP | STRSXP);
    if plain && (!is_own_object(x) || is_integer64(x)) {
        return Ok(());
    }
    let hint = match kind(x) {
        _ if !path::advice(x).is_empty() && is_object(x) => {
            "Use `as_nv_tensor()`, which says what it becomes."
        }
        VECSXP if inherits(x, c"data.frame") => "Use `as_nv_tensor()`, which makes a matrix of its columns.",
        VECSXP => "Use `unlist()` or `as.matrix()` first.",
        _ if is_object(x) => "Use `unclass()` or `as.numeric()` first.",
        _ => "",
    };
    Err(Error::Arg {
        arg: "data".into(),
        expected: "a numeric, complex, logical, character or raw vector or array".into(),
        got: value::describe(x),
        hint: hint.into(),
    })
}

/// Makes a tensor: `nv_tensor(data, dtype, shape, ambiguous, order)`.
pub fn create(data: SEXP, dtype: SEXP, shape: SEXP, ambiguous: SEXP, order: SEXP, scope: &Scope) -> Outcome {
    check_data(data)?;
    let by_default = dtype == nil();
    let dtype = if by_default { default_dtype(data)? } else { dtype_argument(dtype)? };
    // SAFETY: reads an attribute.
    let dim = attribute(data, unsafe { R_DimSymbol });
    let shape = if shape != nil() {
        shape_argument(shape)?
    } else if dim != nil() {
        shape_argument(dim)?
    } else {
        Shape::try_new(vec![len(data)])?
    };
    value::check_sizes(&shape)?;
    let sizes = vector::number_shape(data);
    // One value without axes is a vector of one element, too.
    let is_one = shape.rank() == 0 && dim == nil() && len(data) == 1;
    let names = if is_one || sizes.as_ref() == Some(&shape) { axis_names::of(data, scope)? } else { nil() };
    let filling = filling_argument(order)?;
    let aval = Aval::new(Ranked { dtype, ambiguous: flag_argument("ambiguous", ambiguous)? }, shape);
    if let Some(tensor) = adopt(data, &aval, filling, scope)? {
        axis_names::set(tensor, names)?;
        return Ok(tensor);
    }
    let n = len(data);
    if n != aval.shape.size() && n != 1 {
        return Err(Error::DataLength { len: n, shape: aval.shape.clone(), size: aval.shape.size() }.into());
    }
    // SAFETY: inside `protected`; the vector is written before anything else sees it.
    let tensor = scope.keep(protected(|| unsafe { value::new_tensor(&aval) })?);
    // SAFETY: as above.
    let out = unsafe { value::new_bytes(tensor, aval.dtype) };
    let source_bytes = if kind(data) == STRSXP { None } else { Some(vector::bytes(data, 8)?) };
    let bytes = source_bytes.as_ref().map_or(&[][..], |b| b.as_slice());
    let at = |i: usize| -> Option<&str> { texts_at(data, i) };
    let source = match kind(data) {
        REALSXP if is_integer64(data) => Source::Integer64(cast::slice(bytes)),
        REALSXP => Source::Doubles(cast::slice(bytes)),
        INTSXP => Source::Integers(cast::slice(bytes)),
        LGLSXP => Source::Logicals(cast::slice(bytes)),
        CPLXSXP => Source::Complexes(cast::slice(bytes)),
        STRSXP => Source::Strings(&at, n),
        _ => Source::Raw(bytes),
    };
    let lost = import(&source, aval.dtype, by_default, &aval.shape, filling, out)?;
    if lost.count > 0 {
        warn_of_digits(&lost, dtype)?;
    }
    axis_names::set(tensor, names)?;
    Ok(tensor)
}

/// Has R warn, once in a session, of whole numbers that the default dtype rounds.
fn warn_of_digits(lost: &Lost, dtype: DType) -> Outcome<()> {
    // SAFETY: inside `protected`; each object is protected before the next is made.
    protected(|| unsafe {
        let told = Rf_protect(Rf_allocVector(VECSXP, 3));
        let count = Rf_allocVector(REALSXP, 1);
        SET_VECTOR_ELT(told, 0, count);
        *REAL(count) = lost.count as f64;
        for (i, text) in [(1, lost.first.as_str()), (2, dtype.name())] {
            let string = Rf_allocVector(STRSXP, 1);
            SET_VECTOR_ELT(told, i, string);
            SET_STRING_ELT(string, 0, crate::guard::r_char(text));
        }
        anvil_call_r(c"warn_of_digits".as_ptr(), told);
        Rf_unprotect(1);
    })
}

/// Element of a character vector, `None` for `NA` and for text that is not ASCII or UTF-8.
fn texts_at<'a>(x: SEXP, i: usize) -> Option<&'a str> {
    extern "C" {
        static R_NaString: SEXP;
    }
    // SAFETY: `i` is in range, by `Source::Strings`; the string lives as long as its vector, which is an
    // argument.
    unsafe {
        let s = STRING_ELT(x, i as Length);
        if s == R_NaString {
            return None;
        }
        std::ffi::CStr::from_ptr(R_CHAR(s)).to_str().ok().or(Some("<bytes>"))
    }
}

/// A tensor that shares the caller's vector, if that is large and holds the elements as the engine reads them:
/// nothing is copied.
fn adopt(data: SEXP, aval: &Aval, filling: Filling, scope: &Scope) -> Outcome<Option<SEXP>> {
    let same = kind(data) == vector::storage(aval.dtype) && kind(data) != RAWSXP;
    let ordered = matches!(filling, Filling::Column) || aval.shape.rank() < 2;
    if !same || !ordered || is_object(data) || len(data) != aval.shape.size() {
        return Ok(None);
    }
    if aval.dtype == DType::I32 && has_missing(data)? {
        return Ok(None);
    }
    around_own(data, aval, scope).map(Some)
}

/// A tensor of the elements of a vector as the engine reads them.
fn around_own(data: SEXP, aval: &Aval, scope: &Scope) -> Outcome {
    // SAFETY: inside `protected`; `data` is an argument of this call.
    let tensor = protected(|| unsafe {
        let x = Rf_protect(large::share(data));
        value::mark(x, aval);
        Rf_unprotect(1);
        x
    })?;
    Ok(scope.keep(tensor))
}

/// A tensor of elements that were read from a file: in an R vector that holds them as the engine reads them, or
/// as bytes in a raw vector.
pub fn around(data: SEXP, dtype: SEXP, shape: SEXP, scope: &Scope) -> Outcome {
    let aval = Aval::known(dtype_argument(dtype)?, shape_argument(shape)?);
    let unit = if kind(data) == RAWSXP { aval.dtype.bytes() } else { 1 };
    if kind(data) != vector::storage(aval.dtype) || len(data) != aval.shape.size() * unit {
        return Err(Error::Internal { detail: "a vector that is not what a tensor holds".into() }.into());
    }
    if kind(data) != RAWSXP {
        return around_own(data, &aval, scope);
    }
    let bytes = vector::bytes(data, 1)?;
    if aval.dtype == DType::I1 && bytes.as_slice().iter().any(|&b| b > 1) {
        return Err(Error::arg("data", "booleans that are 0 or 1", "other bytes").into());
    }
    // SAFETY: inside `protected`; `data` is an argument of this call.
    Ok(scope.keep(protected(|| unsafe { value::around_bytes(&aval, data) })?))
}

/// The elements of a tensor as the engine reads them: an R vector of them, or a raw vector with their bytes.
pub fn data(x: SEXP, scope: &Scope) -> Outcome {
    let tensor = Tensor::read(x)?;
    let holder = tensor.holder();
    if kind(holder) == RAWSXP {
        return Ok(holder);
    }
    if kind(holder) == vector::storage(tensor.stored()) {
        // SAFETY: inside `protected`; `x` is an argument of this call.
        return Ok(scope.keep(protected(|| unsafe { large::share(holder) })?));
    }
    let bytes = tensor.bytes()?;
    let bytes = bytes.as_slice();
    let kind = vector::storage(tensor.stored());
    let n = if kind == RAWSXP { bytes.len() } else { tensor.shape().size() };
    // SAFETY: inside `protected`; a fresh vector of that type and length.
    let out = scope.keep(protected(|| unsafe { large::ordinary_vector(kind, n) })?);
    if n > 0 {
        // SAFETY: as above.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), vector::pointer(out).cast_mut(), bytes.len())
        };
    }
    Ok(out)
}

fn has_missing(x: SEXP) -> Outcome<bool> {
    let bytes = vector::bytes(x, 4)?;
    Ok(missing(bytes.as_slice()) > 0)
}

/// The number of integers that are `NA`.
fn missing(bytes: &[u8]) -> usize {
    let parts = cast::slice::<i32>(bytes).chunks(stop::EVERY);
    parts
        .inspect(|part| stop::work(part.len()))
        .map(|part| part.iter().filter(|&&v| v == i32::MIN).count())
        .sum()
}

/// R data of a tensor: `list(data, rounded, na, out_of_range)`, with the numbers of values that R cannot
/// hold. Data have a `dim` unless 0-d. With `integer64`, dtypes wider than R's integers become vectors of that
/// class.
pub fn to_r(x: SEXP, integer64: SEXP, scope: &Scope) -> Outcome {
    if !value::is_tensor(x) {
        return Err(Error::arg("x", "a tensor", value::describe(x)).into());
    }
    let tensor = Tensor::read(x)?;
    let wide = flag_argument("integer64", integer64)?;
    let shape = tensor.shape();
    let wants_integer64 = wide && natural(tensor.stored()) == Natural::Double && tensor.stored().is_integer();
    let to = match natural(tensor.stored()) {
        Natural::Logical => LGLSXP,
        Natural::Integer => INTSXP,
        Natural::Double => REALSXP,
        Natural::Complex => CPLXSXP,
    };
    let shared = to == vector::storage(tensor.stored()) && to == kind(x);
    // SAFETY: inside `protected`; the result is protected while its attributes are made.
    let out = scope.keep(protected(|| unsafe {
        let out = if shared { large::share(x) } else { large::ordinary_vector(to, shape.size()) };
        Rf_protect(out);
        if shape.rank() > 0 && len(out) == shape.size() {
            let dim = Rf_protect(vector::new_shape(&shape));
            Rf_setAttrib(out, R_DimSymbol, dim);
            Rf_unprotect(1);
        }
        if wants_integer64 {
            let class = Rf_protect(Rf_allocVector(STRSXP, 1));
            SET_STRING_ELT(class, 0, crate::guard::r_char("integer64"));
            Rf_setAttrib(out, R_ClassSymbol, class);
            Rf_unprotect(1);
        }
        Rf_unprotect(1);
        out
    })?);
    axis_names::set(out, axis_names::of(x, scope)?)?;
    let mut loss = Loss::default();
    if shared {
        if tensor.stored() == DType::I32 {
            let bytes = tensor.bytes()?;
            loss.na = missing(bytes.as_slice());
        }
    } else if shape.size() > 0 {
        let bytes = tensor.bytes()?;
        let n = shape.size();
        // SAFETY: a fresh vector of that type and length.
        unsafe {
            match to {
                LGLSXP => export_logicals(
                    tensor.stored(),
                    bytes.as_slice(),
                    std::slice::from_raw_parts_mut(LOGICAL(out), n),
                ),
                INTSXP => {
                    loss = export_integers(
                        tensor.stored(),
                        bytes.as_slice(),
                        std::slice::from_raw_parts_mut(INTEGER(out), n),
                    )
                }
                CPLXSXP => {
                    let out = std::slice::from_raw_parts_mut(COMPLEX(out).cast(), n);
                    export_complex(tensor.stored(), bytes.as_slice(), out);
                }
                _ if wants_integer64 => {
                    let out = std::slice::from_raw_parts_mut(REAL(out).cast::<i64>(), n);
                    loss = export_integer64(tensor.stored(), bytes.as_slice(), out);
                }
                _ => {
                    loss = export_doubles(
                        tensor.stored(),
                        bytes.as_slice(),
                        std::slice::from_raw_parts_mut(REAL(out), n),
                    )
                }
            }
        }
    }
    // SAFETY: inside `protected`; the list is protected while its elements are made.
    let result = protected(|| unsafe {
        let list = Rf_protect(Rf_allocVector(VECSXP, 4));
        SET_VECTOR_ELT(list, 0, out);
        for (i, n) in [(1, loss.rounded), (2, loss.na), (3, loss.out_of_range)] {
            let x = Rf_allocVector(REALSXP, 1);
            SET_VECTOR_ELT(list, i, x);
            *REAL(x) = n as f64;
        }
        Rf_unprotect(1);
        list
    })?;
    Ok(scope.keep(result))
}

/// Lines of a tensor's data. `limits` are three numbers: rows in all, width in characters, rows of a slice; a
/// negative number is no limit.
pub fn lines(x: SEXP, limits: SEXP, scope: &Scope) -> Outcome {
    let tensor = Tensor::read(x)?;
    if kind(limits) != REALSXP || len(limits) != 3 {
        return Err(Error::arg("limits", "three numbers", value::describe(limits)).into());
    }
    // SAFETY: checked to be three doubles.
    let [rows, width, slice] = [0, 1, 2].map(|i| unsafe { *REAL(limits).add(i) } as i64);
    let limits = Limits {
        max_rows: limit("anvil.print_max_rows", rows)?,
        max_width: limit("anvil.print_max_width", width)?,
        max_rows_slice: limit("anvil.print_max_rows_slice", slice)?,
    };
    let bytes = tensor.bytes()?;
    let (dtype, unit, bytes) = (tensor.stored(), tensor.stored().bytes(), bytes.as_slice());
    let at = |i: usize| {
        let element = Literal::from_bytes(dtype, &bytes[i * unit..]);
        match dtype.kind() {
            Kind::Float => Number::Float(element.get::<f64>()),
            Kind::Complex => {
                let z = element.get::<Complex<f64>>();
                Number::Complex(z.re, z.im)
            }
            Kind::Unsigned => Number::Int(element.get::<u64>().into()),
            Kind::Boolean | Kind::Integer => Number::Int(element.get::<i64>().into()),
        }
    };
    r_strings(&data_lines(&tensor.shape(), at, &limits), scope)
}

/// The last line of a printed tensor.
pub fn foot(x: SEXP, platform: SEXP, scope: &Scope) -> Outcome {
    let aval = Tensor::read(x)?.aval();
    r_string(&footer(&string(platform).unwrap_or_default(), aval.ranked(), &aval.shape), scope)
}

/// A tensor in one line.
pub fn one_line(x: SEXP, scope: &Scope) -> Outcome {
    let aval = Tensor::read(x)?.aval();
    r_string(&summary(aval.ranked(), &aval.shape), scope)
}
