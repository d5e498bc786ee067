//! The plan of a traced function, as R's `explain_plan()` and `memory_plan()` show it.

use crate::ffi::*;
use crate::guard::{protected, r_strings, Outcome, Scope};
use crate::jit;
use anvil_core::exec::{describe::Line, Executable, MemoryPlan};

/// The plan of a traced function, compiled once for `explain_plan()` and `memory_plan()`. `donated` is a flag
/// for each input. Gives `list(paths, kinds, ops, numbers, bytes, steps, scratch)`:
/// * `paths`, `kinds` and `ops` (names with a comma between them) of each line;
/// * `numbers`: line after line, elements, elements of a tile, whether a result is made in place, bytes read
///   and written, estimated microseconds, pieces for threads, whether it is a loop in native code;
/// * `bytes` of inputs, constants, outputs, scratch memory, and of branches and loops;
/// * `steps`, the text of each step, and `scratch`, the bytes of temporary values that are alive then.
///
/// # Errors
/// Those of [`Executable::compile`].
pub fn plan(graph: SEXP, donated: SEXP, scope: &Scope) -> Outcome {
    let traced = jit::traced(graph)?;
    let given: Vec<usize> =
        ints(donated).iter().enumerate().filter(|(_, &flag)| flag == 1).map(|(i, _)| i).collect();
    let executable = Executable::compile(traced.program()?.as_ref(), &given)?;
    let lines = executable.lines();
    let column =
        |text: &dyn Fn(&Line) -> String| r_strings(&lines.iter().map(text).collect::<Vec<_>>(), scope);
    let paths = column(&|line| line.path.clone())?;
    let kinds = column(&|line| line.kind.clone())?;
    let ops = column(&|line| line.ops.join(","))?;
    let numbers: Vec<f64> = lines
        .iter()
        .flat_map(|line| {
            let counts = [line.elements, line.tile, usize::from(line.in_place), line.read, line.written];
            let native = f64::from(u8::from(line.native));
            let estimates = [line.picoseconds as f64 / 1e6, line.pieces as f64, native];
            counts.map(|n| n as f64).into_iter().chain(estimates)
        })
        .collect();
    let MemoryPlan { inputs, constants, outputs, scratch, regions, steps } = executable.memory_plan();
    let bytes = [inputs, constants, outputs, scratch, regions].map(|n| n as f64);
    let (texts, alive): (Vec<String>, Vec<f64>) = steps.into_iter().map(|(text, n)| (text, n as f64)).unzip();
    let texts = r_strings(&texts, scope)?;
    // SAFETY: inside `protected`; the list is protected while its elements are made, the strings are kept by
    // the scope, and each vector is as long as what is copied into it.
    let out = protected(|| unsafe {
        let out = Rf_protect(Rf_allocVector(VECSXP, 7));
        for (slot, x) in [(0, paths), (1, kinds), (2, ops), (5, texts)] {
            SET_VECTOR_ELT(out, slot as Length, x);
        }
        for (slot, from) in [(3, &numbers[..]), (4, &bytes[..]), (6, &alive[..])] {
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
