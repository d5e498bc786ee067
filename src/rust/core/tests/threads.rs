//! The number of threads changes no bit: random programs on large matrices, and folds of few rows, next to the
//! reference.

mod common;

use anvil_core::dtype::DType;
use anvil_core::kernels::reductions::fold::Fold;
use anvil_core::kernels::threads::{threads, want};
use anvil_core::ops::{Builder, Graph, Reduction, Unary};
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::Aval;
use common::large::program;
use common::{disagreement, random_inputs, Rng};

/// Programs that are tried.
const PROGRAMS: u64 = 25;

/// Holds a program to the reference with each number of threads.
fn agrees(graph: &Graph, rng: &mut Rng, which: &str) {
    let inputs = random_inputs(rng, graph);
    for number in [1, 2, 5] {
        want(Some(number)).unwrap();
        if let Some(what) = disagreement(graph, &inputs, &[], &[]) {
            panic!("{which}, {} threads: {what}\n{graph}", threads());
        }
    }
}

/// Folds along the second axis, of which threads share lanes where rows are few.
fn folds(dtype: DType, rows: usize, columns: usize, op: Unary) -> Graph {
    let mut b = Builder::default();
    let x = b.input(Aval::known(dtype, Shape::try_new(vec![rows, columns]).unwrap()));
    let y = b.node1(op, &[x]).unwrap();
    let out = [Fold::Sum, Fold::Max, Fold::Squares]
        .map(|fold| b.node1(Reduction { fold, axes: vec![Axis(1)], drop: true }, &[y]).unwrap());
    b.finish(out.to_vec())
}

/// One test, since the number is that of the process.
#[test]
fn programs_give_the_bits_of_the_reference_on_any_number_of_threads() {
    for seed in 0..PROGRAMS {
        let mut rng = Rng::new(seed);
        let graph = program(&mut rng, 6, 300, true);
        agrees(&graph, &mut rng, &format!("seed {seed}"));
    }
    let rng = &mut Rng::new(PROGRAMS);
    for rows in [20, 33, 64, 127, 128, 269, 511] {
        // Of one tile and of several, of no whole number of lanes.
        for columns in [13, 999, 2100] {
            for (dtype, op) in [(DType::F64, Unary::lgamma), (DType::F32, Unary::exp)] {
                agrees(&folds(dtype, rows, columns, op), rng, &format!("{rows} x {columns}"));
            }
        }
    }
}
