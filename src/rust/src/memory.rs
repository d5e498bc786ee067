//! What memory a traced function takes, for R.

use crate::ffi::*;
use crate::guard::{protected, r_strings, Outcome, Scope};
use crate::jit;
use anvil_core::exec::Executable;

/// The plan of a traced function. `donated` is a flag for each input. Gives `list(bytes, steps, bytes of
/// each)`: bytes of inputs, constants, outputs, scratch memory, branches and loops.
pub fn plan(graph: SEXP, donated: SEXP, scope: &Scope) -> Outcome {
    let graph = &jit::traced(graph)?.graph;
    let donated: Vec<usize> =
        ints(donated).iter().enumerate().filter(|(_, &flag)| flag == 1).map(|(i, _)| i).collect();
    let plan = Executable::compile(graph, &donated)?.memory_plan();
    let (texts, bytes): (Vec<String>, Vec<usize>) = plan.steps.into_iter().unzip();
    let parts = [plan.inputs, plan.constants, plan.outputs, plan.scratch, plan.regions];
    let texts = r_strings(&texts, scope)?;
    // SAFETY: inside `protected`; the list is protected while its elements are made, the strings are kept by
    // the scope.
    let out = protected(|| unsafe {
        let out = Rf_protect(Rf_allocVector(VECSXP, 3));
        SET_VECTOR_ELT(out, 1, texts);
        for (slot, values) in [(0, parts.as_slice()), (2, bytes.as_slice())] {
            let x = Rf_allocVector(REALSXP, values.len() as Length);
            SET_VECTOR_ELT(out, slot, x);
            values.iter().enumerate().for_each(|(i, &v)| *REAL(x).add(i) = v as f64);
        }
        Rf_unprotect(1);
        out
    })?;
    Ok(scope.keep(out))
}
