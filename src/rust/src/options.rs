//! R's options that are read at every call.
//!
//! R looks an option up by walking a list of all options, which takes 75 ns for 66 of them: for four options
//! that would be a fifth of a warm call. So it is remembered where in the list they are, and one walk of R's
//! own passes all four. Their places are checked at every call, since options come and go. An option that is
//! not there could be anywhere next time, so the package sets those that nobody has set when it is loaded.

use crate::ffi::*;
use crate::globals::Fixed;
use crate::guard::{protected, r_char, Outcome};
use anvil_core::dtype::promote;
use anvil_core::error::Error;
use std::cell::Cell;
use std::os::raw::c_int;
use std::sync::OnceLock;

/// Number of options.
pub const OPTIONS: usize = 4;

/// R objects made once, when the package is loaded.
#[derive(Clone, Copy)]
struct Globals {
    /// The options.
    symbols: [Fixed; OPTIONS],
    /// The variable of base R that holds all options.
    list: Fixed,
    /// R's string that names anvil's rules of promotion.
    rules: Fixed,
}

static GLOBALS: OnceLock<Globals> = OnceLock::new();

thread_local! {
    /// The option with this number is so many cells behind the one before it in the order of the list.
    static PLACES: Cell<[(usize, c_int); OPTIONS]> = const { Cell::new([(0, -1); OPTIONS]) };
}

/// Makes the global objects.
pub fn initialise() -> Outcome<()> {
    if GLOBALS.get().is_some() {
        return Ok(());
    }
    // SAFETY: inside `protected`; symbols are never collected, and the string is preserved.
    let globals = protected(|| unsafe {
        let symbol = |name: &std::ffi::CStr| Fixed(Rf_install(name.as_ptr()));
        let rules = Rf_protect(r_char(promote::rules().name()));
        R_PreserveObject(rules);
        Rf_unprotect(1);
        Globals {
            symbols: [
                c"anvil.promotion_rules",
                c"anvil.default_float",
                c"anvil.default_int",
                c"anvil.rewrite",
            ]
            .map(symbol),
            list: symbol(c".Options"),
            rules: Fixed(rules),
        }
    })?;
    GLOBALS.set(globals).map_err(|_| Error::Internal { detail: "loaded twice".into() })?;
    Ok(())
}

fn globals() -> &'static Globals {
    GLOBALS.get().expect("the package's .onLoad() has run")
}

/// Whether an object is a string that names anvil's rules, by the identity of R's strings.
pub fn names_own_rules(x: SEXP) -> bool {
    // SAFETY: checked to be a character vector of length 1.
    kind(x) == STRSXP && len(x) == 1 && unsafe { STRING_ELT(x, 0) } == globals().rules.0
}

/// The values of the options for rules of promotion, default floats, default integers, and whether programs
/// are rewritten; R's `NULL` for one that is not set.
pub fn values() -> [SEXP; OPTIONS] {
    let symbols = globals().symbols.map(|symbol| symbol.0);
    // SAFETY: base R has a variable of this name, whose value is found without allocation.
    let list = unsafe { Rf_eval(globals().list.0, R_BaseEnv) };
    if let Some(values) = at_places(list, &symbols) {
        return values;
    }
    // SAFETY: symbols; looking an option up allocates nothing.
    let values = symbols.map(|symbol| unsafe { Rf_GetOption1(symbol) });
    if values.iter().all(|&value| value != nil()) {
        PLACES.set(places(list, &symbols));
    }
    values
}

/// The values, if all options are where they were.
fn at_places(list: SEXP, symbols: &[SEXP; OPTIONS]) -> Option<[SEXP; OPTIONS]> {
    let places = PLACES.get();
    if places[0].1 < 0 || kind(list) != LISTSXP {
        return None;
    }
    // R's error for a list that is too short must not come here.
    // SAFETY: a pairlist.
    if unsafe { Rf_length(list) } <= places.iter().map(|&(_, cells)| cells).sum::<c_int>() {
        return None;
    }
    let mut found = [nil(); OPTIONS];
    let mut cell = list;
    for (option, cells) in places {
        // SAFETY: within the length of the list.
        unsafe {
            cell = Rf_nthcdr(cell, cells);
            if TAG(cell) != symbols[option] {
                return None;
            }
            found[option] = CAR(cell);
        }
    }
    Some(found)
}

/// Where the options are, in the order of the list; not valid if one is missing.
fn places(list: SEXP, symbols: &[SEXP; OPTIONS]) -> [(usize, c_int); OPTIONS] {
    const UNKNOWN: [(usize, c_int); OPTIONS] = [(0, -1); OPTIONS];
    if kind(list) != LISTSXP {
        return UNKNOWN;
    }
    let mut out = UNKNOWN;
    let (mut count, mut last) = (0, 0);
    for (i, (tag, _)) in pairs(list).enumerate() {
        if let Some(option) = symbols.iter().position(|&symbol| symbol == tag) {
            let i = i as c_int;
            out[count] = (option, i - last);
            (count, last) = (count + 1, i);
            if count == OPTIONS {
                return out;
            }
        }
    }
    UNKNOWN
}

/// An option as messages have it.
pub fn shown(option: usize) -> String {
    // SAFETY: a symbol.
    format!("options({} = )", text(unsafe { PRINTNAME(globals().symbols[option].0) }))
}
