//! Distances between rows, as `dist()` gives them: a vector that knows how many rows there are, and their labels.

use crate::ffi::*;
use crate::globals::{globals, LABELS, SIZE};
use crate::guard::{protected, Outcome};

/// Those among the operands of an op with as many elements as its result.
pub fn among(operands: &[SEXP], out: SEXP) -> Option<SEXP> {
    let size = globals().symbols[SIZE].0;
    let are_distances = |&x: &SEXP| is_object(x) && attribute(x, size) != nil() && len(x) == len(out);
    operands.iter().copied().find(are_distances)
}

/// Gives what is computed element by element what such an operand knows, as R's operators keep the attributes of `dist`.
pub fn follow(out: SEXP, distances: SEXP) -> Outcome<()> {
    for symbol in [SIZE, LABELS].map(|at| globals().symbols[at].0) {
        let known = attribute(distances, symbol);
        if known != nil() {
            // SAFETY: inside `protected`; the value is one that the running call made.
            protected(|| unsafe { Rf_setAttrib(out, symbol, known) })?;
        }
    }
    Ok(())
}
