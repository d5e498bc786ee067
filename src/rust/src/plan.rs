//! Plans of traced functions, for people.

use crate::ffi::*;
use crate::guard::{protected, r_strings, Outcome, Scope};
use crate::jit;
use anvil_core::exec::{describe::Line, Executable};

/// The plan of a traced function: `list(places, kinds, ops, numbers, scratch)`. `donated` is a flag for each
/// input. `ops` are names with a comma between them. `numbers` has, line after line, elements, elements of a
/// tile, whether a result is made in place, bytes read and written, estimated microseconds, pieces for
/// threads. `scratch` is the bytes of temporary values.
pub fn plan(graph: SEXP, donated: SEXP, scope: &Scope) -> Outcome {
    let traced = jit::traced(graph)?;
    let given: Vec<usize> =
        ints(donated).iter().enumerate().filter(|(_, &flag)| flag == 1).map(|(i, _)| i).collect();
    let executable = Executable::compile(&traced.graph, &given)?;
    let lines = executable.lines();
    let strings =
        |text: &dyn Fn(&Line) -> String| r_strings(&lines.iter().map(text).collect::<Vec<_>>(), scope);
    let places = strings(&|line| line.place.clone())?;
    let kinds = strings(&|line| line.kind.clone())?;
    let ops = strings(&|line| line.ops.join(","))?;
    let numbers: Vec<f64> = lines
        .iter()
        .flat_map(|line| {
            let counts = [line.elements, line.tile, usize::from(line.in_place), line.read, line.written];
            counts.map(|n| n as f64).into_iter().chain([line.picoseconds as f64 / 1e6, line.pieces as f64])
        })
        .collect();
    let needs = executable.memory_plan();
    let scratch = [(needs.scratch + needs.regions) as f64];
    // SAFETY: inside `protected`; the list is protected while its elements are made, the strings are kept by
    // the scope, and each vector is as long as what is copied into it.
    let out = protected(|| unsafe {
        let out = Rf_protect(Rf_allocVector(VECSXP, 5));
        for (slot, x) in [places, kinds, ops].into_iter().enumerate() {
            SET_VECTOR_ELT(out, slot as Length, x);
        }
        for (slot, from) in [(3, &numbers[..]), (4, &scratch[..])] {
            let x = Rf_allocVector(REALSXP, from.len() as Length);
            SET_VECTOR_ELT(out, slot, x);
            // Not copied as memory: R's address of an empty vector is no address.
            from.iter().enumerate().for_each(|(i, &v)| *REAL(x).add(i) = v);
        }
        Rf_unprotect(1);
        out
    })?;
    Ok(scope.keep(out))
}
