//! R objects that are made once, when the package is loaded.

use crate::ffi::*;
use crate::guard::{protected, Outcome};
use anvil_core::dtype::DType;
use anvil_core::error::Error;
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
pub struct Globals {
    /// Names of the dtypes, in the order of `DType::ALL`: equal strings of R are one object.
    pub dtypes: Vec<Fixed>,
    /// The character vectors that hold them.
    pub names: Vec<Fixed>,
    /// The first class of tensors.
    pub tensor: Fixed,
    /// That of tracers.
    pub tracer: Fixed,
    /// Vectors with the attributes of tensors but `dim`, for each dtype, known and ambiguous.
    pub templates: Vec<[Fixed; 2]>,
    /// A vector with the attributes of tracers but `dim`.
    pub traced: Fixed,
    /// `FALSE` and `TRUE`.
    pub flags: [Fixed; 2],
    /// `integer(0)`.
    pub no_sizes: Fixed,
    /// Symbols, by the positions below.
    pub symbols: [Fixed; 6],
    /// Whether values carry the S4 bit.
    pub s4: bool,
}

static GLOBALS: OnceLock<Globals> = OnceLock::new();

/// Those objects.
pub fn globals() -> &'static Globals {
    GLOBALS.get().expect("the package's .onLoad() has run")
}

// Positions of symbols.
pub const DTYPE: usize = 0;
pub const AMBIGUOUS: usize = 1;
pub const OPERANDS: usize = 2;
pub const THREADS: usize = 3;
pub const SIZE: usize = 4;
pub const LABELS: usize = 5;

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
    let count = DType::ALL.len();
    // SAFETY: inside `protected`; each object is preserved or protected before the next is made.
    let (fixed, symbols) = protected(|| unsafe {
        let symbols = [c"dtype", c"ambiguous", c"operands", c"anvil.threads", c"Size", c"Labels"]
            .map(|name| Rf_install(name.as_ptr()));
        // The elements: names of dtypes, templates, FALSE, TRUE, integer(0), classes, the template of tracers.
        let all = Rf_allocVector(VECSXP, (3 * count + 6) as Length);
        R_PreserveObject(all);
        let keep = |i: usize, x: SEXP| {
            SET_VECTOR_ELT(all, i as Length, x);
            x
        };
        let strings = |at: usize, texts: &[&str]| {
            let x = keep(at, Rf_allocVector(STRSXP, texts.len() as Length));
            for (i, text) in texts.iter().enumerate() {
                SET_STRING_ELT(x, i as Length, crate::guard::r_char(text));
            }
            x
        };
        let ascii = |name: &'static CStr| name.to_str().unwrap_or_default();
        for value in [0, 1] {
            let flag = keep(3 * count + value, Rf_allocVector(LGLSXP, 1));
            *LOGICAL(flag) = value as c_int;
        }
        keep(3 * count + 2, Rf_allocVector(INTSXP, 0));
        let class = strings(3 * count + 3, &[ascii(TENSOR), ascii(VALUE)]);
        let traced = strings(3 * count + 4, &[ascii(TRACER), ascii(VALUE)]);
        let template = |at: usize, class: SEXP, attributes: &[(usize, SEXP)]| {
            let x = keep(at, Rf_allocVector(LGLSXP, 0));
            for &(symbol, value) in attributes {
                Rf_setAttrib(x, symbols[symbol], value);
            }
            Rf_setAttrib(x, R_ClassSymbol, class);
            if s4 {
                keep(at, Rf_asS4(x, 1, 0));
            }
        };
        for (i, dtype) in DType::ALL.iter().enumerate() {
            let name = strings(i, &[dtype.name()]);
            template(count + 2 * i, class, &[(DTYPE, name)]);
            let yes = element(all, 3 * count + 1);
            template(count + 2 * i + 1, class, &[(DTYPE, name), (AMBIGUOUS, yes)]);
        }
        template(3 * count + 5, traced, &[]);
        (all, symbols)
    })?;
    let at = |i: usize| Fixed(element(fixed, i));
    // SAFETY: character vectors made above, with at least one element each.
    let first = |i: usize| Fixed(unsafe { STRING_ELT(element(fixed, i), 0) });
    let globals = Globals {
        dtypes: (0..count).map(first).collect(),
        names: (0..count).map(at).collect(),
        tensor: first(3 * count + 3),
        tracer: first(3 * count + 4),
        templates: (0..count).map(|i| [at(count + 2 * i), at(count + 2 * i + 1)]).collect(),
        traced: at(3 * count + 5),
        flags: [at(3 * count), at(3 * count + 1)],
        no_sizes: at(3 * count + 2),
        symbols: symbols.map(Fixed),
        s4,
    };
    GLOBALS.set(globals).map_err(|_| Error::Internal { detail: "loaded twice".into() })?;
    Ok(())
}
