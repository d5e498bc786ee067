//! Every op on special values, held to the results of XLA: `tests/testdata/xla/values.csv`, which `make
//! crosscheck-values` writes. No Python is needed here.

mod common;
#[path = "crosscheck/compare.rs"]
mod compare;
#[path = "common/grid.rs"]
mod grid;
#[path = "crosscheck/known.rs"]
mod known;
#[path = "common/rows.rs"]
mod row_programs;

use anvil_core::ops::{Lowering, Op};
use anvil_core::tensor::Aval;
use compare::{bound, difference, evaluate, without_subnormals, Typed};
use std::collections::HashMap;

#[test]
fn every_op_means_what_it_means_to_xla() {
    let text = std::fs::read_to_string(grid::path()).expect("tests/testdata/xla/values.csv");
    let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    let values: HashMap<(&str, usize), &str> = lines
        .map(|line| {
            let mut fields = line.split(',');
            let mut field = || fields.next().expect("three fields");
            let key = (field(), field().parse().expect("a number"));
            (key, field())
        })
        .collect();
    let (mut compared, mut wrong) = (0, Vec::new());
    for program in row_programs::programs(grid::ELEMENTS) {
        let graph = &program.graph;
        let mut inputs = grid::inputs(&program.name, graph);
        graph.inputs().iter().zip(&mut inputs).for_each(|(&v, x)| without_subnormals(graph.aval(v), x));
        let operands: Vec<Typed> =
            graph.inputs().iter().zip(&inputs).map(|(&v, x)| (graph.aval(v), x.as_slice())).collect();
        let op: &Op = &graph.nodes()[0].op;
        let avals: Vec<Aval> = graph.inputs().iter().map(|&v| graph.aval(v).clone()).collect();
        // `special.rs` holds what XLA does not have.
        if matches!(op.lower(&avals), Lowering::Todo { .. }) {
            continue;
        }
        let results = evaluate(op, &operands).expect("indices of these programs are in range, or clipped");
        for (k, (aval, want)) in results.iter().enumerate() {
            let hex = values.get(&(program.name.as_str(), k));
            let hex = hex.unwrap_or_else(|| panic!("{} is new: make crosscheck-values", program.name));
            let byte = |i: usize| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).expect("two digits");
            let got: Vec<u8> = (0..hex.len() / 2).map(byte).collect();
            compared += 1;
            if let Some(what) =
                difference(op, &operands, (aval, want), &got, k, bound(op, aval.dtype.is_complex()), &mut 0.0)
            {
                wrong.push(format!("{}, result {}: {what}", program.name, k + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {compared} results differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 3000, "{compared}");
}
