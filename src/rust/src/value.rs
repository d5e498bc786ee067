//! Tensors and tracers: the R objects that stand for values of the engine, read and made.
//!
//! A tensor is an R vector in column-major order with the class `c("AnvilTensor", "AnvilValue")` and the
//! attributes `dim` (none for 0-d), `dtype`, and `ambiguous` where it is. An ordinary vector holds the
//! elements of `f64`, `i32` and `c128` as the engine reads them; the other dtypes are [`narrow`] vectors. Any
//! other vector with these attributes is a tensor too, whose elements are converted when it is used. R owns the
//! memory; Rust borrows it for the length of a call, while the vector is an argument of that call.

use crate::ffi::*;
use crate::globals::{globals, Fixed, AMBIGUOUS, DTYPE, OPERANDS, TENSOR, THREADS, TRACER};
use crate::guard::Outcome;
use crate::large;
use crate::narrow;
use crate::templates;
use crate::tracer;
use crate::vector::{align_of, byte_len, bytes, pointer, shape_of, storage, Bytes};
use anvil_core::boundary::{import, Filling, Source};
use anvil_core::dtype::{DType, Ranked};
use anvil_core::error::{Error, Result};
use anvil_core::kernels::cast;
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::shape::Shape;
use anvil_core::tensor::Aval;
use std::cell::Cell;
use std::ffi::CStr;
use std::os::raw::c_int;

/// The option with the number of threads.
pub fn threads_symbol() -> SEXP {
    globals().symbols[THREADS].0
}

/// Whether values carry the S4 bit.
pub fn has_s4_bit() -> bool {
    globals().s4
}

/// The tag of a list of operands.
pub fn operands_symbol() -> SEXP {
    globals().symbols[OPERANDS].0
}

/// Whether an object has a class; the usual case, that it is the first one, is fast.
fn has_class(x: SEXP, first: Fixed, name: &CStr) -> bool {
    if !is_object(x) {
        return false;
    }
    // SAFETY: reads an attribute.
    begins_with(attribute(x, unsafe { R_ClassSymbol }), first) || inherits(x, name)
}

/// The attributes of a vector that tell what it is, read at once: to look up each of them takes as long.
#[derive(Clone, Copy)]
pub struct Attributes {
    class: SEXP,
    dtype: SEXP,
    ambiguous: SEXP,
    dim: SEXP,
    /// The names along its axes.
    pub dimnames: SEXP,
    /// The names of its elements.
    pub names: SEXP,
}

impl Attributes {
    /// Reads them; `NULL` for those that a vector does not have.
    pub fn of(x: SEXP) -> Attributes {
        let symbols = &globals().symbols;
        // SAFETY: constants of R.
        let wanted = unsafe {
            let [dtype, ambiguous] = [symbols[DTYPE].0, symbols[AMBIGUOUS].0];
            [R_ClassSymbol, dtype, ambiguous, R_DimSymbol, R_DimNamesSymbol, R_NamesSymbol]
        };
        let found = [(); 6].map(|()| Cell::new(nil()));
        attributes_all(x, |tag, value| {
            if let Some(at) = wanted.iter().position(|&symbol| symbol == tag) {
                found[at].set(value);
            }
            true
        });
        let [class, dtype, ambiguous, dim, dimnames, names] = found.map(Cell::into_inner);
        Attributes { class, dtype, ambiguous, dim, dimnames, names }
    }

    /// Whether they are those of a tensor, of an object `x`.
    pub fn is_tensor(&self, x: SEXP) -> bool {
        begins_with(self.class, globals().tensor) || inherits(x, TENSOR)
    }
}

/// Whether a class attribute has this string first.
fn begins_with(class: SEXP, first: Fixed) -> bool {
    // SAFETY: a character vector with at least one element.
    kind(class) == STRSXP && len(class) > 0 && unsafe { STRING_ELT(class, 0) } == first.0
}

/// Whether an object has the class of tensors.
pub fn is_tensor(x: SEXP) -> bool {
    has_class(x, globals().tensor, TENSOR)
}

/// Whether an object is a tracer.
pub fn is_tracer(x: SEXP) -> bool {
    has_class(x, globals().tracer, TRACER) && tracer::held(x).is_some()
}

/// The dtype that a character vector of length 1 names, by the identity of R's strings.
pub fn dtype_of_name(name: SEXP) -> Option<DType> {
    let globals = globals();
    // Tensors that anvil made share the vectors of their templates.
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
    globals().flags[ambiguous as usize].0
}

/// The sizes of the axes of an array as R's integers: its `dim`, or none.
pub fn sizes_of(x: SEXP) -> SEXP {
    // SAFETY: reads an attribute.
    let dim = attribute(x, unsafe { R_DimSymbol });
    if dim == nil() {
        globals().no_sizes.0
    } else {
        dim
    }
}

/// The dtype of elements of a kind that vectors of the named dtype do not have. R's C code makes such: it computes
/// doubles, or complex numbers in `stats::fft()`, and gives them all attributes of the integers or the doubles that it
/// was given. They are what they are.
fn widened(kind: c_int, named: DType) -> Option<DType> {
    let is_narrow =
        |name: DType| matches!(name, DType::I8 | DType::I16 | DType::I32 | DType::UI8 | DType::UI16);
    match (kind, named) {
        (INTSXP, DType::I1) => Some(DType::I32),
        (REALSXP, DType::I1) => Some(DType::F64),
        (REALSXP, name) if is_narrow(name) => Some(DType::F64),
        (CPLXSXP, name) if !name.is_complex() => Some(DType::C128),
        _ => None,
    }
}

/// A tensor, checked.
#[derive(Clone, Copy)]
pub struct Tensor {
    /// The vector.
    pub object: SEXP,
    /// Its dtype, as shown: the default one if it is ambiguous.
    pub dtype: DType,
    /// Its flag.
    pub ambiguous: bool,
    /// Whether it has names along its axes.
    pub named: bool,
    /// Sizes of the axes; those of a vector without `dim` are its length, or none for one element.
    dim: SEXP,
    length: c_int,
}

impl Tensor {
    /// Reads the type of a tensor, whose elements may have been donated.
    ///
    /// # Errors
    /// [`Error::Arg`] if its attributes were changed so that they are none.
    pub fn header(object: SEXP) -> Result<Tensor> {
        Tensor::typed(object, &Attributes::of(object))
    }

    fn typed(object: SEXP, attributes: &Attributes) -> Result<Tensor> {
        let &Attributes { dtype, ambiguous: flag, dim, dimnames, names, .. } = attributes;
        let named = dimnames != nil() || names != nil();
        if !matches!(kind(object), LGLSXP | INTSXP | REALSXP | CPLXSXP) {
            return Err(broken("other data than a vector of numbers"));
        }
        let Some(dtype) = dtype_of_name(dtype) else {
            return Err(broken("an unknown dtype"));
        };
        let Some(ambiguous) = (if flag == nil() { Some(false) } else { flag_of(flag) }) else {
            return Err(broken("a broken flag"));
        };
        let (dtype, ambiguous) =
            widened(kind(object), dtype).map_or((dtype, ambiguous), |wide| (wide, false));
        let mut length = 1;
        if dim == nil() {
            let Ok(n) = c_int::try_from(len(object)) else { return Err(broken("no `dim`")) };
            length = n;
        }
        let tensor = Tensor { object, dtype, ambiguous, named, dim, length };
        // R checks a `dim` that is set, but none that it reads from a file.
        let size = tensor.sizes().iter().try_fold(1usize, |n, &d| n.checked_mul(usize::try_from(d).ok()?));
        if size != Some(len(object)) || dim != nil() && kind(dim) != INTSXP {
            return Err(broken("a `dim` that is not that of its elements"));
        }
        Ok(tensor)
    }

    /// Reads a tensor with its elements.
    ///
    /// # Errors
    /// [`Error::Donated`] if they were donated; those of [`Tensor::header`].
    pub fn read(object: SEXP) -> Result<Tensor> {
        Tensor::with(object, &Attributes::of(object))
    }

    /// Reads a tensor with its elements; `None` for an object that is none.
    ///
    /// # Errors
    /// Those of [`Tensor::read`].
    pub fn find(object: SEXP) -> Result<Option<Tensor>> {
        if !is_object(object) {
            return Ok(None);
        }
        let attributes = Attributes::of(object);
        attributes.is_tensor(object).then(|| Tensor::with(object, &attributes)).transpose()
    }

    /// As [`Tensor::read`], where its attributes have been read.
    pub fn with(object: SEXP, attributes: &Attributes) -> Result<Tensor> {
        let tensor = Tensor::typed(object, attributes)?;
        tensor.source()?;
        Ok(tensor)
    }

    fn source(&self) -> Result<Elements> {
        if narrow::is_narrow(self.object, self.stored()) {
            return Ok(narrow::bytes(self.object, self.stored())?.map_or(Elements::Seen, Elements::Narrow));
        }
        if large::is_donated(self.object) {
            return Err(Error::Donated);
        }
        Ok(if kind(self.object) == storage(self.stored()) { Elements::Own } else { Elements::Seen })
    }

    /// Sizes of the axes.
    pub fn sizes(&self) -> &[c_int] {
        if self.dim != nil() {
            ints(self.dim)
        } else if self.length == 1 {
            &[]
        } else {
            std::slice::from_ref(&self.length)
        }
    }

    /// Sizes of the axes, as a shape.
    pub fn shape(&self) -> Shape {
        shape_of(self.sizes())
    }

    /// Its type in promotion.
    pub fn ranked(&self) -> Ranked {
        Ranked { dtype: self.dtype, ambiguous: self.ambiguous }
    }

    /// The dtype of its elements: an ambiguous float is stored in double precision.
    pub fn stored(&self) -> DType {
        self.ranked().stored()
    }

    /// Type of the tensor.
    pub fn aval(&self) -> Aval {
        Aval::new(self.ranked(), self.shape())
    }

    /// Its bytes: borrowed from R, or converted from the elements that R sees.
    ///
    /// # Errors
    /// [`Error::Unrepresentable`] and [`Error::MissingValue`] for elements that the dtype does not have, which
    /// base R or a user has put there. A jump if the vector is an ALTREP one that cannot be expanded.
    pub fn bytes(&self) -> Outcome<Bytes<'_>> {
        match self.source()? {
            Elements::Own => bytes(self.object, align_of(self.stored())),
            Elements::Narrow(store) => bytes(store, align_of(self.stored())),
            Elements::Seen => self.converted(),
        }
    }

    fn converted(&self) -> Outcome<Bytes<'_>> {
        let seen = bytes(self.object, 8)?;
        let source = match kind(self.object) {
            REALSXP => Source::Doubles(cast::slice(seen.as_slice())),
            INTSXP => Source::Integers(cast::slice(seen.as_slice())),
            LGLSXP => Source::Logicals(cast::slice(seen.as_slice())),
            _ => Source::Complexes(cast::slice(seen.as_slice())),
        };
        let shape = self.shape();
        let mut out = AlignedBytes::zeroed(shape.size() * self.stored().bytes());
        import(&source, self.stored(), false, &shape, Filling::Column, out.as_mut_slice())
            .map_err(|e| e.for_argument("tensor"))?;
        Ok(Bytes::Owned(out))
    }

    /// Whether its elements may be taken over: nothing but the vector refers to what holds them, and they are
    /// as the engine reads them, aligned. Those of a small ordinary vector stay where they are.
    pub fn is_exclusive(&self) -> bool {
        match self.source() {
            // SAFETY: reads the header.
            Ok(Elements::Narrow(store)) => unsafe {
                anvil_is_shared(store) == 0
                    && (ALTREP(store) == 0 || large::is_exclusive(store, align_of(self.stored())))
            },
            Ok(Elements::Own) => large::is_exclusive(self.object, align_of(self.stored())),
            _ => false,
        }
    }

    /// What must stay alive while its elements are borrowed: R code that runs meanwhile, from a handler or a
    /// printing program, may make a vector take other elements.
    pub fn anchor(&self) -> SEXP {
        match self.source() {
            Ok(Elements::Narrow(store)) => store,
            _ if large::is_large(self.object) => large::store_of(self.object),
            _ => self.object,
        }
    }

    /// What holds its elements, an object that stays the same while they are there.
    pub fn holder(&self) -> SEXP {
        match self.source() {
            Ok(Elements::Narrow(store)) => store,
            _ => self.object,
        }
    }

    /// A tensor of this type over the elements of this one, which [`Tensor::donate`] takes away.
    ///
    /// # Safety
    /// May jump: only inside [`protected`]. [`Tensor::is_exclusive`] holds. The caller protects the result.
    pub unsafe fn successor(&self, aval: &Aval) -> SEXP {
        // SAFETY: by the caller.
        unsafe {
            match self.source() {
                Ok(Elements::Narrow(store)) => around_bytes(aval, store),
                _ => {
                    let x = Rf_protect(large::share(self.object));
                    mark(x, aval);
                    Rf_unprotect(1);
                    x
                }
            }
        }
    }

    /// Takes the elements away, so that using the tensor again is an error.
    ///
    /// # Safety
    /// [`Tensor::is_exclusive`] held when the call began.
    pub unsafe fn donate(&self) {
        // SAFETY: by the caller.
        unsafe {
            if narrow::is_narrow(self.object, self.stored()) {
                narrow::donate(self.object);
            } else {
                large::donate(self.object);
            }
        }
    }
}

/// Where the elements of a tensor are.
#[derive(Clone, Copy)]
enum Elements {
    /// In the vector itself, as the engine reads them.
    Own,
    /// In a raw vector, as the engine reads them.
    Narrow(SEXP),
    /// In the vector, as R sees them.
    Seen,
}

fn broken(what: &str) -> Error {
    Error::Arg {
        arg: "tensor".into(),
        expected: "a whole tensor".into(),
        got: format!("one with {what}"),
        hint: "Make tensors with `nv_tensor()`; do not change their attributes.".into(),
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

/// The description of a selection.
pub const SELECTION: &str = "a selection, of which it is not known while tracing how many elements it has";

/// A description of an R object for errors: its class, and the length of a vector.
pub fn describe(x: SEXP) -> String {
    if is_tracer(x) {
        return "a traced value".into();
    }
    if tracer::selected(x).is_some() {
        return SELECTION.into();
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

/// Makes a tensor of new elements, which are not initialised: [`new_bytes`] gives them.
///
/// # Safety
/// May jump: only inside [`protected`]. The caller protects the result.
pub unsafe fn new_tensor(aval: &Aval) -> SEXP {
    let (kind, size) = (storage(aval.dtype), aval.shape.size());
    // SAFETY: by the caller.
    unsafe {
        if kind == RAWSXP {
            let bytes = Rf_protect(large::new_vector(RAWSXP, size * aval.dtype.bytes()));
            let x = around_bytes(aval, bytes);
            Rf_unprotect(1);
            return x;
        }
        let x = Rf_protect(large::new_vector(kind, size));
        mark(x, aval);
        Rf_unprotect(1);
        x
    }
}

/// Makes a tensor of a dtype that R has no vectors of, over a raw vector with its bytes.
///
/// # Safety
/// As [`new_tensor`]; the caller protects `bytes` too.
pub unsafe fn around_bytes(aval: &Aval, bytes: SEXP) -> SEXP {
    // SAFETY: by the caller.
    unsafe {
        let x = Rf_protect(narrow::new(aval.dtype, bytes));
        mark(x, aval);
        Rf_unprotect(1);
        x
    }
}

/// Gives a vector the attributes of a tensor.
///
/// # Safety
/// As [`new_tensor`]; nothing else refers to the vector, which has no attributes.
pub unsafe fn mark(x: SEXP, aval: &Aval) {
    let Ranked { dtype, ambiguous } = aval.ranked();
    let template = globals().templates[dtype as usize][ambiguous as usize].0;
    // SAFETY: by the caller. A vector without memory has no elements, and is never seen.
    unsafe {
        if aval.shape.rank() == 0 || len(x) != aval.shape.size() {
            SHALLOW_DUPLICATE_ATTRIB(x, template);
        } else {
            SHALLOW_DUPLICATE_ATTRIB(x, templates::of(aval, template));
        }
    }
}

/// Gives a vector the attributes of a tracer.
///
/// # Safety
/// As [`mark`].
pub unsafe fn mark_tracer(x: SEXP, shape: &Shape) {
    // SAFETY: by the caller.
    unsafe {
        SHALLOW_DUPLICATE_ATTRIB(x, globals().traced.0);
        if shape.rank() > 0 {
            templates::set_sizes(x, shape);
        }
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

/// The bytes of a new tensor.
///
/// # Safety
/// `x` was made by [`new_tensor`] or [`Tensor::successor`] in this call, its bytes are borrowed once, and
/// nobody else reads or writes them meanwhile.
pub unsafe fn new_bytes<'a>(x: SEXP, dtype: DType) -> &'a mut [u8] {
    let narrow = narrow::is_narrow(x, dtype);
    let holder = if narrow { narrow::bytes(x, dtype).ok().flatten().unwrap_or(x) } else { x };
    let n = byte_len(holder);
    if n == 0 {
        return &mut [];
    }
    // SAFETY: by the caller; a vector of ours that has its elements at hand.
    unsafe { std::slice::from_raw_parts_mut(pointer(holder).cast_mut(), n) }
}
