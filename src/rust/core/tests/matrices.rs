//! Ops on matrices: plans against the reference, and derivatives of first and second order in both modes, against
//! each other and against central differences, at matrices that are far from singular ones. Vectors of complex
//! decompositions are free up to a factor of size 1, so that differences say nothing: there the two modes are held
//! to each other. `tests/testthat/test-ops-factors.R` has batches and base R's values.

mod common;
#[path = "common/forward.rs"]
mod forward;
#[path = "common/gradients.rs"]
mod gradients;
#[path = "common/rows.rs"]
mod row_programs;

use anvil_core::dtype::DType;
use anvil_core::exec::reference::evaluate;
use anvil_core::exec::{Executable, Output};
use anvil_core::ops::{Builder, Eigh, Graph, Lu, LuSolve, Op, Qr, Svd};
use anvil_core::tensor::Aval;
use common::{aligned, Rng};
use forward::{check, check_transpose, point, pushed, Tensor};
use num_complex::Complex;
use row_programs::{matrices, MATRICES};
use std::collections::BTreeSet;

/// A program of one op; `lu_solve` with the factors of its matrix.
fn program(op: &Op, types: &[Aval]) -> Graph {
    let mut b = Builder::default();
    if let Some(op) = op.get::<LuSolve>() {
        let [a, right] = [0, 3].map(|i| b.input(types[i].clone()));
        let factors = b.node(Lu, &[a]).expect("square matrices");
        let out = b.node(*op, &[a, factors[0], factors[2], right]).expect("an equation");
        return b.finish(out);
    }
    let inputs: Vec<_> = types.iter().map(|aval| b.input(aval.clone())).collect();
    let outputs = b.node(op.clone(), &inputs).expect("an op on matrices");
    b.finish(outputs)
}

/// Numbers for a matrix, with a diagonal that makes it positive definite, and its eigenvalues different.
fn matrix(rng: &mut Rng, aval: &Aval) -> Tensor {
    let drawn = point(rng, aval, [-1.0, 1.0], [-1.0, 1.0]);
    let rank = aval.shape.rank();
    let [m, n] = [aval.shape[rank - 2], aval.shape[rank - 1]];
    let batch: usize = aval.shape[..rank - 2].iter().product();
    let mut elements = drawn.floats().to_vec();
    for i in 0..m.min(n) {
        for k in 0..batch {
            elements[k + (i + i * m) * batch] += Complex::from(2.0 * n as f64 + 1.5 * i as f64);
        }
    }
    Tensor::Floats(elements).rounded(aval.dtype)
}

#[test]
fn derivatives_agree_with_each_other_and_with_differences() {
    let rng = &mut Rng::new(3);
    let mut compared = BTreeSet::new();
    for dtype in [DType::F64, DType::C128] {
        for (op, types) in matrices(dtype) {
            let name = op.row().name;
            let graph = program(&op, &types);
            let types: Vec<Aval> = graph.inputs().iter().map(|&v| graph.aval(v).clone()).collect();
            if types[0].shape.size() > 40 {
                continue;
            }
            let all: Vec<usize> = (0..types.len()).collect();
            let what = format!("{name} on {} {:?}", dtype, types[0].shape);
            let full = op.get::<Qr>().is_some_and(|op| op.full) || op.get::<Svd>().is_some_and(|op| op.full);
            let alone = op.get::<Eigh>().is_some_and(|op| !op.vectors)
                || op.get::<Svd>().is_some_and(|op| !op.vectors);
            if full || alone {
                assert!(pushed(&graph, &all).is_err(), "{what}");
                continue;
            }
            let x: Vec<Tensor> = types.iter().map(|aval| matrix(rng, aval)).collect();
            if dtype.is_complex() && ["eigh", "svd"].contains(&name) {
                check_transpose(&what, &graph, &all, &x, rng);
            } else if check(&what, &graph, &all, &x, rng) {
                compared.insert(name);
            }
        }
    }
    assert_eq!(compared, MATRICES.into_iter().collect());
}

#[test]
fn plans_give_the_bits_of_the_reference() {
    let rng = &mut Rng::new(4);
    for dtype in [DType::BF16, DType::F16, DType::F32, DType::F64, DType::C64, DType::C128] {
        for (op, types) in matrices(dtype) {
            let graph = program(&op, &types);
            let types: Vec<Aval> = graph.inputs().iter().map(|&v| graph.aval(v).clone()).collect();
            let inputs: Vec<_> = types.iter().map(|aval| aligned(&matrix(rng, aval).bytes(dtype))).collect();
            let bytes: Vec<&[u8]> = inputs.iter().map(|x| x.as_slice()).collect();
            let given: Vec<Option<&[u8]>> = bytes.iter().map(|x| Some(*x)).collect();
            let want = evaluate(&graph, &bytes, &[]).expect("a program that runs");
            let compiled = Executable::compile(&graph, &[]).expect("a sound program");
            let mut made: Vec<_> = want.iter().map(|x| aligned(x)).collect();
            let outputs: Vec<Output> = made.iter_mut().map(|x| Output::Fresh(x.as_mut_slice())).collect();
            compiled.run(&given, &[], outputs).expect("a program that runs");
            for (made, want) in made.iter().zip(&want) {
                assert_eq!(made.as_slice()[..want.len()], want[..], "{graph}");
            }
        }
    }
}
