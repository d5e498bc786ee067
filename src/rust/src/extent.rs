//! Dynamic extents: state that holds while a function of R runs, and ends with the function, however that
//! ends.
//!
//! An extent is a trace, settings (rules of promotion, default dtypes), or an audit. `entrypoint.c` opens it,
//! calls the function and ends it, in R_ExecWithCleanup(): R leaves that only by way of the end, and nothing
//! that R could interrupt is between the opening and the call. `on.exit()` guarantees less: an interrupt may
//! come before it is registered, and while it runs.

use crate::{audit, settings, trace};

/// Numbers of open extents of each kind.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Marks {
    traces: usize,
    settings: usize,
    audits: usize,
}

/// The open extents, which the C code asks for before it opens one, and passes to [`rs_extent_end`].
#[no_mangle]
extern "C" fn rs_extent_marks() -> Marks {
    Marks { traces: trace::depth(), settings: settings::depth(), audits: audit::depth() }
}

/// Ends the extents that were opened since. It neither fails nor calls R, since it runs while R jumps.
#[no_mangle]
extern "C" fn rs_extent_end(marks: Marks) {
    trace::close_to(marks.traces);
    settings::close_to(marks.settings);
    audit::close_to(marks.audits);
}
