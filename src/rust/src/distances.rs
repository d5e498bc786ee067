//! Distances between rows, as `dist()` gives them: a vector that knows how many rows there are, and their labels.

use crate::ffi::*;
use crate::globals::{globals, LABELS, SIZE};
use crate::guard::{protected, Outcome};

/// The labels of the rows, or `NULL`, of an argument that `dist()` gave. `None` of anything else.
pub fn labels(x: SEXP) -> Option<SEXP> {
    if !is_object(x) || !inherits(x, c"dist") {
        return None;
    }
    let [size, labels] = [SIZE, LABELS].map(|at| attribute(x, globals().symbols[at].0));
    let pairs = |rows: usize| rows * rows.saturating_sub(1) / 2;
    let fits = matches!(ints(size), &[rows] if usize::try_from(rows).map(pairs) == Ok(len(x)));
    fits.then_some(labels)
}

/// Gives a tracer what the argument that it stands for knows, if `dist()` gave it.
pub fn keep(tracer: SEXP, x: SEXP) -> Outcome<()> {
    match labels(x) {
        Some(_) => follow(tracer, x),
        None => Ok(()),
    }
}

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
