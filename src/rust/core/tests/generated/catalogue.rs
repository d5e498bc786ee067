//! `inst/catalogue/ops.tsv`: what each op says of its accuracy, its derivative and its cost, for the page of all
//! functions (`vignettes/reference.Rmd`).

use crate::facts;
use crate::row_programs::{Example, MATRICES};
use crate::Examples;
use anvil_core::ops::{rows, Cost, Row};
use anvil_core::tensor::Layout;

/// The file. Columns are separated by tabs, which no sentence has.
pub fn text(examples: &Examples) -> String {
    let mut out = "op\tfunction\tulps\taccuracy\tderivative\tcost\n".to_string();
    for row in rows() {
        let examples = &examples[row.name];
        let derivative = facts::derivative(row, examples).unwrap_or_default();
        let cells =
            [row.name, row.function, &ulps(row, examples), row.accuracy, &derivative, &cost(row, examples)];
        assert!(cells.iter().all(|cell| !cell.contains(['\t', '\n'])), "{cells:?}");
        out += &cells.join("\t");
        out.push('\n');
    }
    out
}

/// The error bound in a word; empty where no result is a float, and where a sentence alone says it.
fn ulps(row: &Row, examples: &[Example]) -> String {
    let inexact = |x: &Example| x.results.iter().any(facts::inexact);
    match row.ulps {
        _ if !examples.iter().any(inexact) => String::new(),
        0.0 if row.accuracy.is_empty() => "exact".into(),
        0.0 => String::new(),
        ulps => format!("{ulps} ulp"),
    }
}

/// What an element costs, next to what everybody knows; of ops that are none of single elements, the work.
fn cost(row: &Row, examples: &[Example]) -> String {
    let Example { op, operands, .. } = &examples[0];
    let is_view = |x: &Example| match x.operands.as_slice() {
        [of] => x.op.as_view(&of.shape, &Layout::dense(&of.shape), &x.results[0]).is_some(),
        _ => false,
    };
    if op.has_regions() {
        return "the functions given".into();
    }
    if op.contraction().is_some() {
        return "multiplications and additions of all terms".into();
    }
    match row.name {
        "top_k" => return "n log k".into(),
        "fft" | "ifft" | "rfft" | "irfft" => return "n log n".into(),
        "conv" => return "multiplications and additions of all terms".into(),
        "reduce_window" => return "a sum for each element of a window".into(),
        "triangular_solve" | "lu_solve" => return "n^2 a column".into(),
        name if MATRICES.contains(&name) => return "n^3".into(),
        _ => (),
    }
    // Of some arguments: reshapes by rows are copies.
    if examples.iter().any(|x| is_view(x) && x.results[0].shape.size() > 1) {
        return "nothing: a view".into();
    }
    let dtypes: Vec<_> = operands.iter().map(|x| x.dtype).collect();
    let computes = (!dtypes.is_empty() && op.is_elementwise(&dtypes))
        || op.fold().is_some()
        || row.name.starts_with("cum");
    match op.cost() {
        Cost::Simple if computes => "a sum".into(),
        Cost::Simple => "a copy".into(),
        Cost::Division | Cost::Quotient => "a quotient".into(),
        Cost::Root => "a root".into(),
        Cost::Function => "an exponential".into(),
        Cost::Functions => "two exponentials".into(),
        Cost::Special => "a gamma function".into(),
        Cost::Density => "a density, about 10 ns".into(),
        Cost::Remainder => "a remainder, about 10 ns".into(),
        Cost::Series => "a series, about 100 ns".into(),
        Cost::Picoseconds(of) => format!("about {} ns", of as f64 / 1000.0),
    }
}
