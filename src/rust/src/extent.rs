//! Dynamic extents: what holds while a function of R runs, and ends with it, however it ends.
//!
//! An extent is a trace, rules of promotion, or an audit. `entrypoint.c` opens it, calls the function and
//! ends it, in R_ExecWithCleanup(): R jumps out of that only by way of the end, and nothing that R could
//! interrupt lies between the opening and it. `on.exit()` is no such promise: an interrupt may come before it
//! is made, and while it is kept.

use crate::{audit, rules, trace};

/// How many extents of each kind are open.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Marks {
    traces: usize,
    rules: usize,
    audits: usize,
}

/// What is open now. Whoever opens an extent asks before, and gives it to [`rs_extent_end`].
#[no_mangle]
extern "C" fn rs_extent_marks() -> Marks {
    Marks { traces: trace::depth(), rules: rules::depth(), audits: audit::depth() }
}

/// Ends what was opened since. Neither fails nor calls R: it runs while R jumps.
#[no_mangle]
extern "C" fn rs_extent_end(marks: Marks) {
    trace::close_to(marks.traces);
    rules::close_to(marks.rules);
    audit::close_to(marks.audits);
}
