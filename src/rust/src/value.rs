//! Tensor records and tracers: the R objects that stand for values of the engine, read and made.
//!
//! A tensor is `list(data, dtype, shape, ambiguous)` of class `c("AnvilTensor", "AnvilValue")` over an
//! ordinary R vector in column-major order: REALSXP for f64, INTSXP for i32, CPLXSXP for c128, RAWSXP for the
//! rest. R owns the memory; Rust borrows it for the length of a call, while the record is an argument of that
//! call.

use crate::ffi::*;
use crate::guard::{protected, Outcome};
use crate::large;
use crate::vector::{align_of, byte_len, bytes, pointer, shape_of, storage, Bytes};
use anvil_core::dtype::DType;
use anvil_core::error::{Error, Result};
use anvil_core::shape::Shape;
use anvil_core::tensor::Aval;
use std::ffi::CStr;
use std::os::raw::c_int;
use std::sync::OnceLock;

/// An R object that is preserved for the life of the process.
#[derive(Clone, Copy)]
pub struct Fixed(pub SEXP);
// SAFETY: only used on R's main thread; the wrapper exists to live in a `OnceLock`.
unsafe impl Send for Fixed {}
// SAFETY: as above.
unsafe impl Sync for Fixed {}

/// R objects made once, when the package is loaded.
struct Globals {
    /// Names of the dtypes, in the order of `DType::ALL`: equal strings of R are one object.
    dtypes: Vec<Fixed>,
    /// The character vectors that hold them.
    names: Vec<Fixed>,
    tensor: Fixed,
    tracer: Fixed,
    /// Records without data and shape, for each dtype, known and ambiguous: results are copies of them.
    templates: Vec<[Fixed; 2]>,
    tracer_class: Fixed,
    operands: Fixed,
    rules: Fixed,
    threads: Fixed,
    s4: bool,
}

static GLOBALS: OnceLock<Globals> = OnceLock::new();

fn globals() -> &'static Globals {
    GLOBALS.get().expect("the package's .onLoad() has run")
}

/// Positions of the parts of a record.
const DATA: usize = 0;
const DTYPE: usize = 1;
const SHAPE: usize = 2;
const AMBIGUOUS: usize = 3;

/// Class of every tensor, most specific first.
pub const TENSOR: &CStr = c"AnvilTensor";
/// Class of every tracer.
pub const TRACER: &CStr = c"AnvilTracer";
const VALUE: &CStr = c"AnvilValue";

/// Makes the global objects. `s4` says whether values carry the S4 bit, which `%*%` needs before R 4.3.
pub fn initialise(s4: bool) -> Outcome<()> {
    if GLOBALS.get().is_some() {
        return Ok(());
    }
    // SAFETY: inside `protected`; each object is preserved or protected before the next is made.
    let made = protected(|| unsafe {
        let fixed = |x: SEXP| {
            R_PreserveObject(x);
            x
        };
        let strings = |texts: &[&CStr]| {
            let x = Rf_protect(Rf_allocVector(STRSXP, texts.len() as Length));
            for (i, t) in texts.iter().enumerate() {
                SET_STRING_ELT(
                    x,
                    i as Length,
                    Rf_mkCharLenCE(t.as_ptr(), t.to_bytes().len() as c_int, CE_UTF8),
                );
            }
            fixed(x);
            Rf_unprotect(1);
            x
        };
        let names = strings(&[c"data", c"dtype", c"shape", c"ambiguous"]);
        let class = strings(&[TENSOR, VALUE]);
        let tracer_class = strings(&[TRACER, VALUE]);
        let count = DType::ALL.len() as Length;
        let all = Rf_protect(Rf_allocVector(VECSXP, 2 * count));
        fixed(all);
        for (i, dtype) in DType::ALL.iter().enumerate() {
            let name = Rf_protect(Rf_allocVector(STRSXP, 1));
            SET_STRING_ELT(name, 0, crate::guard::r_char(dtype.name()));
            for ambiguous in [false, true] {
                let record = Rf_allocVector(VECSXP, 4);
                SET_VECTOR_ELT(all, 2 * i as Length + ambiguous as Length, record);
                SET_VECTOR_ELT(record, DTYPE as Length, name);
                let flag = Rf_allocVector(LGLSXP, 1);
                *LOGICAL(flag) = ambiguous as c_int;
                SET_VECTOR_ELT(record, AMBIGUOUS as Length, flag);
                Rf_setAttrib(record, R_NamesSymbol, names);
                Rf_setAttrib(record, R_ClassSymbol, class);
                if s4 {
                    let record = Rf_protect(Rf_asS4(record, 1, 0));
                    SET_VECTOR_ELT(all, 2 * i as Length + ambiguous as Length, record);
                    Rf_unprotect(1);
                }
            }
            Rf_unprotect(1);
        }
        Rf_unprotect(1);
        let symbols =
            [c"operands", c"anvil.promotion_rules", c"anvil.threads"].map(|name| Rf_install(name.as_ptr()));
        (all, class, tracer_class, symbols)
    })?;
    let (all, class, tracer_class, [operands, rules, threads]) = made;
    let templates: Vec<[Fixed; 2]> =
        (0..DType::ALL.len()).map(|i| [Fixed(element(all, 2 * i)), Fixed(element(all, 2 * i + 1))]).collect();
    // SAFETY: character vectors made above, with at least one element each.
    let first = |x: SEXP| Fixed(unsafe { STRING_ELT(x, 0) });
    let globals = Globals {
        dtypes: templates.iter().map(|t| first(element(t[0].0, DTYPE))).collect(),
        names: templates.iter().map(|t| Fixed(element(t[0].0, DTYPE))).collect(),
        tensor: first(class),
        tracer: first(tracer_class),
        templates,
        tracer_class: Fixed(tracer_class),
        operands: Fixed(operands),
        rules: Fixed(rules),
        threads: Fixed(threads),
        s4,
    };
    GLOBALS.set(globals).map_err(|_| Error::Internal { detail: "loaded twice".into() })?;
    Ok(())
}

/// The option that names the rules of promotion.
pub fn rules_symbol() -> SEXP {
    globals().rules.0
}

/// The option with the number of threads.
pub fn threads_symbol() -> SEXP {
    globals().threads.0
}

/// Whether values carry the S4 bit.
pub fn has_s4_bit() -> bool {
    globals().s4
}

/// The tag of a list of operands.
pub fn operands_symbol() -> SEXP {
    globals().operands.0
}

/// Whether an object has a class; the usual case, that it is the first one, is fast.
fn has_class(x: SEXP, first: Fixed, name: &CStr) -> bool {
    if !is_object(x) {
        return false;
    }
    // SAFETY: reads the class attribute, which is a character vector if there is one.
    unsafe {
        let class = Rf_getAttrib(x, R_ClassSymbol);
        (kind(class) == STRSXP && len(class) > 0 && STRING_ELT(class, 0) == first.0) || inherits(x, name)
    }
}

/// Whether an object is a tensor record.
pub fn is_tensor(x: SEXP) -> bool {
    kind(x) == VECSXP && has_class(x, globals().tensor, TENSOR)
}

/// Whether an object is a tracer.
pub fn is_tracer(x: SEXP) -> bool {
    kind(x) == EXTPTRSXP && has_class(x, globals().tracer, TRACER) && crate::trace::is_tracer(x)
}

/// The dtype that a character vector of length 1 names, by the identity of R's strings.
pub fn dtype_of_name(name: SEXP) -> Option<DType> {
    let globals = globals();
    // Records that anvil made share the vectors of their templates.
    if let Some(at) = globals.names.iter().position(|n| n.0 == name) {
        return Some(DType::ALL[at]);
    }
    if kind(name) != STRSXP || len(name) != 1 {
        return None;
    }
    // SAFETY: checked to be a string vector of length 1.
    let name = unsafe { STRING_ELT(name, 0) };
    let at = globals.dtypes.iter().position(|d| d.0 == name)?;
    Some(DType::ALL[at])
}

/// The shared character vector that holds a dtype's name.
pub fn name_of_dtype(dtype: DType) -> SEXP {
    globals().names[dtype as usize].0
}

/// The shared logical that holds a flag.
pub fn flag(ambiguous: bool) -> SEXP {
    element(globals().templates[0][ambiguous as usize].0, AMBIGUOUS)
}

/// A tensor record, checked.
#[derive(Clone, Copy)]
pub struct Record {
    /// The record itself.
    pub object: SEXP,
    /// Its vector.
    pub data: SEXP,
    /// Its dtype.
    pub dtype: DType,
    /// Its flag.
    pub ambiguous: bool,
    shape: SEXP,
}

impl Record {
    /// Reads the type of a tensor, whose data may have been donated.
    ///
    /// # Errors
    /// [`Error::Arg`] if its parts were changed.
    pub fn header(object: SEXP) -> Result<Record> {
        let broken = |what: &str| Err(broken_record(what));
        if kind(object) != VECSXP || len(object) != 4 {
            return broken("missing parts");
        }
        // SAFETY: a list of four elements.
        let [data, dtype, shape, flag] =
            [DATA, DTYPE, SHAPE, AMBIGUOUS].map(|i| unsafe { VECTOR_ELT(object, i as Length) });
        let Some(dtype) = dtype_of_name(dtype) else { return broken("an unknown dtype") };
        let Some(ambiguous) = flag_of(flag) else { return broken("a broken flag") };
        if kind(shape) != INTSXP || ints(shape).iter().any(|&d| d < 0) {
            return broken("a broken shape");
        }
        let sizes = ints(shape).iter().map(|&d| d.max(0) as usize).collect();
        if Shape::try_new(sizes).is_err() {
            return broken("a broken shape");
        }
        Ok(Record { object, data, dtype, ambiguous, shape })
    }

    /// Reads a record with its data.
    ///
    /// # Errors
    /// [`Error::Donated`] if its vector was donated; [`Error::Arg`] if its parts were changed so that they no
    /// longer fit together.
    pub fn read(object: SEXP) -> Result<Record> {
        let record = Record::header(object)?;
        let (dtype, data) = (record.dtype, record.data);
        if data == nil() {
            return Err(Error::Donated);
        }
        let size = record.sizes().iter().try_fold(1usize, |n, &d| n.checked_mul(usize::try_from(d).ok()?));
        let unit = if storage(dtype) == RAWSXP { dtype.bytes() } else { 1 };
        if kind(data) != storage(dtype) || size.and_then(|n| n.checked_mul(unit)) != Some(len(data)) {
            return Err(broken_record("data that do not match its dtype and shape"));
        }
        Ok(record)
    }

    /// Sizes of the axes.
    pub fn sizes(&self) -> &[c_int] {
        ints(self.shape)
    }

    /// Sizes of the axes, as a shape.
    pub fn shape(&self) -> Shape {
        shape_of(self.sizes())
    }

    /// Type of the tensor.
    pub fn aval(&self) -> Aval {
        Aval { dtype: self.dtype, shape: self.shape(), ambiguous: self.ambiguous }
    }

    /// Its bytes.
    ///
    /// # Errors
    /// A jump if the vector is an ALTREP one that cannot be expanded.
    pub fn bytes(&self) -> Outcome<Bytes<'_>> {
        bytes(self.data, align_of(self.dtype))
    }

    /// Whether only the record refers to its vector, and that is an ordinary or a large vector, aligned for
    /// its elements.
    pub fn is_exclusive(&self) -> bool {
        // SAFETY: reads the header; a vector that is not an ALTREP one, or is one of ours, has its elements
        // at hand.
        let plain = unsafe {
            anvil_references(self.data) <= 1 && (ALTREP(self.data) == 0 || large::is_large(self.data))
        };
        // SAFETY: as above.
        plain && unsafe { pointer(self.data) }.align_offset(align_of(self.dtype)) == 0
    }

    /// Its bytes, for writing.
    ///
    /// # Safety
    /// [`Record::is_exclusive`] held when the call began, and nobody else reads or writes the vector
    /// meanwhile.
    pub unsafe fn bytes_mut<'a>(&self) -> &'a mut [u8] {
        let n = byte_len(self.data);
        if n == 0 {
            return &mut [];
        }
        // SAFETY: by the caller.
        unsafe { std::slice::from_raw_parts_mut(pointer(self.data).cast_mut(), n) }
    }
}

fn broken_record(what: &str) -> Error {
    Error::Arg {
        arg: "tensor".into(),
        expected: "a whole tensor record".into(),
        got: format!("one with {what}"),
        hint: "Make tensors with `nv_tensor()`; do not change their parts.".into(),
    }
}

/// A logical of length 1 that is not missing.
pub fn flag_of(x: SEXP) -> Option<bool> {
    if kind(x) != LGLSXP || len(x) != 1 {
        return None;
    }
    // SAFETY: checked to be a logical of length 1.
    match unsafe { *LOGICAL(x) } {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

/// A description of an R object for errors: its class, and the length of a vector.
pub fn describe(x: SEXP) -> String {
    if is_tracer(x) {
        return "a traced value".into();
    }
    // SAFETY: reads the class attribute.
    let class = attribute(x, unsafe { R_ClassSymbol });
    if kind(class) == STRSXP && len(class) > 0 {
        // SAFETY: at least one element.
        return format!("an object of class <{}>", text(unsafe { STRING_ELT(class, 0) }));
    }
    if matches!(kind(x), LGLSXP) && len(x) == 1 {
        return flag_of(x).map_or("NA", |flag| if flag { "TRUE" } else { "FALSE" }).into();
    }
    let of = |what: &str| {
        let article = if what.starts_with('i') { "an" } else { "a" };
        format!("{article} {what} vector of length {}", len(x))
    };
    match kind(x) {
        NILSXP => "NULL".into(),
        LGLSXP => of("logical"),
        INTSXP => of("integer"),
        REALSXP => of("double"),
        CPLXSXP => of("complex"),
        STRSXP => of("character"),
        RAWSXP => of("raw"),
        VECSXP => format!("a list of length {}", len(x)),
        CLOSXP | SPECIALSXP | BUILTINSXP => "a function".into(),
        ENVSXP => "an environment".into(),
        SYMSXP | LANGSXP => "a piece of R code".into(),
        _ => "an R object of another type".into(),
    }
}

/// Makes a record around a new vector. The bytes are not initialised.
///
/// # Safety
/// May jump: only inside [`protected`]. The caller protects the result.
pub unsafe fn new_record(aval: &Aval) -> SEXP {
    // SAFETY: by the caller.
    unsafe {
        let record = Rf_protect(Rf_shallow_duplicate(
            globals().templates[aval.dtype as usize][aval.ambiguous as usize].0,
        ));
        SET_VECTOR_ELT(record, SHAPE as Length, new_shape(&aval.shape));
        let kind = storage(aval.dtype);
        let unit = if kind == RAWSXP { aval.dtype.bytes() } else { 1 };
        let data = large::new_vector(kind, aval.shape.size() * unit);
        SET_VECTOR_ELT(record, DATA as Length, data);
        Rf_unprotect(1);
        record
    }
}

/// Makes a record around an R vector of the right type and length.
///
/// # Safety
/// May jump: only inside [`protected`]. The caller protects `data` and the result.
pub unsafe fn record_around(aval: &Aval, data: SEXP) -> SEXP {
    // SAFETY: by the caller.
    unsafe {
        let record = Rf_protect(Rf_shallow_duplicate(
            globals().templates[aval.dtype as usize][aval.ambiguous as usize].0,
        ));
        SET_VECTOR_ELT(record, SHAPE as Length, new_shape(&aval.shape));
        SET_VECTOR_ELT(record, DATA as Length, data);
        Rf_unprotect(1);
        record
    }
}

/// An integer vector of sizes.
///
/// # Safety
/// May jump: only inside [`protected`]. The caller protects the result.
pub unsafe fn new_shape(shape: &Shape) -> SEXP {
    // SAFETY: by the caller; as many elements are written as were allocated. Sizes above R's integers cannot
    // occur: `check_sizes` refuses them before.
    unsafe {
        let x = Rf_allocVector(INTSXP, shape.rank() as Length);
        let out = INTEGER(x);
        shape.iter().enumerate().for_each(|(i, &d)| *out.add(i) = d as c_int);
        x
    }
}

/// Checks that R can hold a shape: each size is an R integer.
///
/// # Errors
/// [`Error::TooLarge`].
pub fn check_sizes(shape: &Shape) -> Result<()> {
    if shape.iter().all(|&d| d <= c_int::MAX as usize) {
        return Ok(());
    }
    Err(Error::TooLarge { shape: shape.to_string() })
}

/// The bytes of a new record's vector.
///
/// # Safety
/// `record` was made by [`new_record`] in this call, and its bytes are borrowed once.
pub unsafe fn new_bytes<'a>(record: SEXP) -> &'a mut [u8] {
    let data = element(record, DATA);
    if len(data) == 0 {
        return &mut [];
    }
    // SAFETY: a fresh vector that nothing else refers to.
    unsafe { std::slice::from_raw_parts_mut(pointer(data).cast_mut(), byte_len(data)) }
}

/// Removes a record's vector, so that using the tensor again is an error.
///
/// # Safety
/// `record` is a tensor record.
pub unsafe fn donate(record: SEXP) {
    // SAFETY: by the caller; this changes the record in place, which nothing else refers to (checked by the
    // caller).
    unsafe { SET_VECTOR_ELT(record, DATA as Length, nil()) };
}

/// Gives a pointer the class and the S4 bit of tracers.
///
/// # Safety
/// May jump: only inside [`protected`]. The caller protects `x`.
pub unsafe fn mark_tracer(x: SEXP) -> SEXP {
    let globals = globals();
    // SAFETY: by the caller.
    unsafe {
        Rf_setAttrib(x, R_ClassSymbol, globals.tracer_class.0);
        if globals.s4 {
            Rf_asS4(x, 1, 0)
        } else {
            x
        }
    }
}
