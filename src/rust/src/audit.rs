//! The audit of promotion: a record of the conversions that ops make, with the call site in the user's code.
//!
//! An audit is open for an [extent](crate::extent); audits nest. While one is open every op records its
//! conversions, eager ops too: a constant that a traced function makes is part of its computation.

use crate::ffi::*;
use crate::guard::{protected, r_strings, Outcome, Scope};
use anvil_core::apply::Conversion;
use anvil_core::dtype::Ranked;
use std::cell::RefCell;

/// A conversion and its call site in the user's code: the call, the file, the line, as text.
struct Entry {
    conversion: Conversion,
    site: [String; 3],
}

#[derive(Default)]
struct Log {
    /// Number of open audits.
    open: usize,
    entries: Vec<Entry>,
}

thread_local! {
    static LOG: RefCell<Log> = RefCell::default();
}

/// Number of open audits.
pub fn depth() -> usize {
    LOG.with_borrow(|log| log.open)
}

/// Whether an audit is open.
pub fn is_open() -> bool {
    depth() > 0
}

/// Opens an audit, as an extent; returns the number of conversions recorded before.
pub fn open(scope: &Scope) -> Outcome {
    let count = LOG.with_borrow(|log| log.entries.len());
    // SAFETY: inside `protected`; one element is written.
    let out = scope.keep(protected(|| unsafe {
        let x = Rf_allocVector(INTSXP, 1);
        *INTEGER(x) = count as i32;
        x
    })?);
    LOG.with_borrow_mut(|log| log.open += 1);
    Ok(out)
}

/// Closes the audits that were opened since there were `depth`.
pub fn close_to(depth: usize) {
    LOG.with_borrow_mut(|log| {
        log.open = log.open.min(depth);
        if log.open == 0 {
            log.entries.clear();
        }
    });
}

/// Records the conversions of one op, with the user's call as the call site.
pub fn note(conversions: Vec<Conversion>, scope: &Scope) -> Outcome<()> {
    if conversions.is_empty() {
        return Ok(());
    }
    let site = call_site(scope)?;
    LOG.with_borrow_mut(|log| {
        let entries = conversions.into_iter().map(|conversion| Entry { conversion, site: site.clone() });
        log.entries.extend(entries);
    });
    Ok(())
}

/// The user's call that an op is applied in, its file and its line, as text.
pub fn call_site(scope: &Scope) -> Outcome<[String; 3]> {
    // SAFETY: inside `protected`; the function is R/conditions.R's and gives three strings.
    let x = scope.keep(protected(|| unsafe { anvil_call_r(c"call_site".as_ptr(), nil()) })?);
    // SAFETY: as above.
    Ok([0, 1, 2].map(|i| text(unsafe { STRING_ELT(x, i) })))
}

/// The conversions but for the first `from`, ten strings for each: call, file, line, all operands, the
/// position of the one that was converted, its dtype, the one it is stored in, the new one, the rule, the
/// class.
pub fn entries(from: SEXP, scope: &Scope) -> Outcome {
    let from = ints(from).first().map_or(0, |&n| n.max(0) as usize);
    let fields =
        LOG.with_borrow(|log| log.entries.iter().skip(from).flat_map(Entry::fields).collect::<Vec<_>>());
    r_strings(&fields, scope)
}

impl Entry {
    fn fields(&self) -> [String; 10] {
        let Conversion { operands, operand, stored, to, rule, loss } = &self.conversion;
        let [call, file, line] = self.site.clone();
        let all: Vec<String> = operands.iter().map(Ranked::to_string).collect();
        [
            call,
            file,
            line,
            all.join(", "),
            (operand + 1).to_string(),
            operands[*operand].to_string(),
            stored.to_string(),
            to.to_string(),
            rule.clone(),
            loss.name().into(),
        ]
    }
}
