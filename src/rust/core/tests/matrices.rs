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
use anvil_core::ops::{Builder, Cholesky, Eigh, Graph, Lu, LuSolve, Op, Qr, Svd, TriangularSolve};
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

/// Matrices of which some are not finite, not definite, singular or far from 1, in batches that lanes do not divide.
fn batch(rng: &mut Rng, dtype: DType, sizes: [usize; 3]) -> Vec<Vec<u8>> {
    let [count, n, m] = sizes;
    let of = |x: Complex<f64>| {
        anvil_core::tensor::Literal::new(x).convert(dtype).to_bytes()[..dtype.bytes()].to_vec()
    };
    (0..count)
        .map(|k| {
            let mut drawn = point(rng, &aval(dtype, &[n, m]), [-1.0, 1.0], [0.0, 0.0]).floats().to_vec();
            (0..n.min(m)).for_each(|i| drawn[i + i * n] += Complex::from(n as f64));
            match k % 11 {
                3 => drawn.fill(Complex::from(0.0)),
                4 => drawn[n * m - 1] = Complex::from(f64::NAN),
                5 => drawn[n * m - 1] = Complex::from(f64::INFINITY),
                6 => drawn.iter_mut().for_each(|x| *x *= -1.0),
                7 => drawn.iter_mut().for_each(|x| *x *= 1e-36),
                8 => drawn[0] = Complex::from(0.0),
                _ => {}
            }
            drawn.into_iter().flat_map(of).collect()
        })
        .collect()
}

fn aval(dtype: DType, sizes: &[usize]) -> Aval {
    Aval::known(dtype, anvil_core::shape::Shape::try_new(sizes.to_vec()).expect("a small shape"))
}

/// The matrices of a batch side by side, as a tensor with the batch in front has them.
fn stacked(matrices: &[Vec<u8>], bytes: usize) -> Vec<u8> {
    let len = matrices[0].len() / bytes;
    (0..len).flat_map(|i| matrices.iter().flat_map(move |x| x[i * bytes..][..bytes].to_vec())).collect()
}

/// The results of a program of one op on a batch, for each matrix of it.
fn of_batch(op: &Op, dtype: DType, operands: &[(Vec<Vec<u8>>, [usize; 2])]) -> Vec<Vec<Vec<u8>>> {
    let count = operands[0].0.len();
    let types: Vec<Aval> = operands.iter().map(|(_, [n, m])| aval(dtype, &[count, *n, *m])).collect();
    let types = match op.get::<LuSolve>() {
        Some(_) => vec![types[0].clone(), types[0].clone(), types[0].clone(), types[1].clone()],
        None => types,
    };
    let graph = program(op, &types);
    let inputs: Vec<_> = operands.iter().map(|(x, _)| aligned(&stacked(x, dtype.bytes()))).collect();
    let bytes: Vec<&[u8]> = inputs.iter().map(|x| x.as_slice()).collect();
    let made = evaluate(&graph, &bytes, &[]).expect("a program that runs");
    let widths: Vec<usize> = graph.outputs().iter().map(|&v| graph.aval(v).dtype.bytes()).collect();
    let of = |k: usize, x: &[u8], width: usize| -> Vec<u8> {
        let elements = x.len() / width / count;
        (0..elements).flat_map(|i| x[(i * count + k) * width..][..width].to_vec()).collect()
    };
    (0..count).map(|k| made.iter().zip(&widths).map(|(x, &width)| of(k, x, width)).collect()).collect()
}

#[test]
fn small_matrices_of_a_batch_are_as_each_alone() {
    let rng = &mut Rng::new(5);
    for dtype in [DType::BF16, DType::F16, DType::F32, DType::F64] {
        for (n, count) in [(1, 3), (2, 11), (3, 8), (5, 23), (8, 12), (13, 11), (16, 9), (17, 4)] {
            let (a, b) = (batch(rng, dtype, [count, n, n]), batch(rng, dtype, [count, n, 3]));
            let [square, sides] = [(a, [n, n]), (b, [n, 3])];
            let mut ops: Vec<(Op, Vec<_>)> = vec![
                (Cholesky { lower: true }.into(), vec![square.clone()]),
                (Cholesky { lower: false }.into(), vec![square.clone()]),
                (Eigh { vectors: true }.into(), vec![square.clone()]),
                (Lu.into(), vec![square.clone()]),
                (Lu.into(), vec![sides.clone()]),
            ];
            for flags in 0..8 {
                let [lower, unit, adjoint] = [1, 2, 4].map(|flag| flags & flag != 0);
                let op = TriangularSolve { lower, unit, adjoint };
                ops.push((op.into(), vec![square.clone(), sides.clone()]));
                ops.push((LuSolve { adjoint }.into(), vec![square.clone(), sides.clone()]));
            }
            for (op, operands) in &ops {
                let all = of_batch(op, dtype, operands);
                for (k, together) in all.iter().enumerate() {
                    let own: Vec<_> =
                        operands.iter().map(|(x, sizes)| (vec![x[k].clone()], *sizes)).collect();
                    let alone = &of_batch(op, dtype, &own)[0];
                    let what = format!("matrix {k} of {op:?} on {dtype}, {n} rows");
                    for (x, y) in together.iter().zip(alone) {
                        assert!(same(dtype, x, y), "{what}: {x:?} is not {y:?}");
                    }
                }
            }
        }
    }
}

/// Whether two results have the same bits, but for those of NaN.
fn same(dtype: DType, x: &[u8], y: &[u8]) -> bool {
    let is_nan = |x: &[u8]| {
        let bits = x.iter().rev().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
        match dtype {
            DType::BF16 => bits & 0x7fff > 0x7f80,
            DType::F16 => bits & 0x7fff > 0x7c00,
            DType::F32 => bits & 0x7fff_ffff > 0x7f80_0000,
            _ => bits & (u64::MAX >> 1) > 0x7ff0 << 48,
        }
    };
    let mut pairs = x.chunks(dtype.bytes()).zip(y.chunks(dtype.bytes()));
    x.len() == y.len() && pairs.all(|(x, y)| x == y || is_nan(x) && is_nan(y))
}
