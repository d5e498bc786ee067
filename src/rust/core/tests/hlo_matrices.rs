//! Formulas of ops on matrices mean what their kernels mean: on ordinary matrices, where unique factors agree element by
//! element, and on those that are known to be hard.

mod common;
#[path = "common/judge.rs"]
mod judge;
#[path = "common/rows.rs"]
mod row_programs;

use anvil_core::dtype::DType;
use anvil_core::exec::reference::evaluate;
use anvil_core::graph::Value;
use anvil_core::hlo::legalize;
use anvil_core::ops::{Builder, Cholesky, Eigh, Lu, LuSolve, Op, Qr, Svd};
use anvil_core::tensor::{Aval, Literal};
use common::{aligned, Rng};
use judge::{apart, numbers};
use num_complex::Complex;
use row_programs::{matrices, MATRICES};
use std::collections::BTreeSet;

type Matrix = Vec<Complex<f64>>;

fn bytes(aval: &Aval, x: &Matrix) -> Vec<u8> {
    let one =
        |x: &Complex<f64>| Literal::new(*x).convert(aval.dtype).to_bytes()[..aval.dtype.bytes()].to_vec();
    x.iter().flat_map(one).collect()
}

/// How the results of an op by its formula differ from those of its kernel.
fn differs(op: &Op, types: &[Aval], x: &[Vec<u8>], is_hard: bool) -> Option<String> {
    let mut b = Builder::default();
    let inputs: Vec<Value> = types.iter().map(|aval| b.input(aval.clone())).collect();
    let outputs = b.node(op.clone(), &inputs).expect("an op on matrices");
    let graph = b.finish(outputs);
    let plain = legalize(&graph).unwrap_or_else(|e| panic!("{e}\n{graph}"));
    plain.verify().unwrap_or_else(|e| panic!("{e}\n{plain}"));
    let data: Vec<_> = x.iter().map(|x| aligned(x)).collect();
    let data: Vec<&[u8]> = data.iter().map(|x| x.as_slice()).collect();
    let [want, got] = [&graph, &plain].map(|graph| evaluate(graph, &data, &[]).expect("a program that runs"));
    let types: Vec<&Aval> = graph.outputs().iter().map(|&v| graph.aval(v)).collect();
    let operands: Vec<(&Aval, &[u8])> =
        graph.inputs().iter().zip(&data).map(|(&v, x)| (graph.aval(v), *x)).collect();
    let typed = |all: &'_ [Vec<u8>]| -> Vec<(Aval, Vec<u8>)> {
        types.iter().zip(all).map(|(&aval, x)| (aval.clone(), x.clone())).collect()
    };
    let [got, want] = [typed(&got), typed(&want)];
    let [got, want] = [&got, &want]
        .map(|all| all.iter().map(|(aval, x)| (aval, x.as_slice())).collect::<Vec<(&Aval, &[u8])>>());
    if let Some(what) = judge::judge(op, &operands, &got, &want) {
        return Some(what);
    }
    // Where a result is NaN, it is so in both.
    for (got, want) in got.iter().zip(&want) {
        let [nan, wanted] = [got, want].map(|x| numbers(*x).iter().any(|x| !x.is_finite()));
        if nan != wanted {
            return Some(format!("finite: {}, not {}", !nan, !wanted));
        }
    }
    if is_hard || op.get::<Eigh>().is_some() || op.get::<Svd>().is_some() {
        return None;
    }
    got.iter().zip(&want).find_map(|(got, want)| {
        let epsilon = match want.0.dtype.part() {
            DType::F64 => f64::EPSILON,
            DType::F32 => f64::from(f32::EPSILON),
            DType::F16 => 2f64.powi(-10),
            _ => 0.0,
        };
        let error = apart(&numbers(*got), &numbers(*want));
        (error > 1000.0 * epsilon).then(|| format!("{error} apart"))
    })
}

/// Numbers from -1 to 1.
fn noise(rng: &mut Rng, aval: &Aval) -> Matrix {
    let mut one = || rng.below(1 << 20) as f64 / f64::from(1 << 19) - 1.0;
    let complex = aval.dtype.is_complex();
    (0..aval.shape.size()).map(|_| Complex::new(one(), if complex { one() } else { 0.0 })).collect()
}

/// Numbers for a matrix, with a diagonal that makes it positive definite.
fn ordinary(rng: &mut Rng, aval: &Aval) -> Matrix {
    let (rank, mut elements) = (aval.shape.rank(), noise(rng, aval));
    let [m, n] = [aval.shape[rank - 2], aval.shape[rank - 1]];
    let batch: usize = aval.shape[..rank - 2].iter().product();
    for (i, k) in (0..m.min(n)).flat_map(|i| (0..batch).map(move |k| (i, k))) {
        elements[k + (i + i * m) * batch] += Complex::from(2.0 * n as f64 + 1.5 * i as f64);
    }
    elements
}

/// The factors and the order of the rows of a matrix.
fn factors(aval: &Aval, x: &[u8]) -> [Vec<u8>; 2] {
    let mut b = Builder::default();
    let a = b.input(aval.clone());
    let made = b.node(Lu, &[a]).expect("a matrix");
    let data = aligned(x);
    let mut made = evaluate(&b.finish(vec![made[0], made[2]]), &[data.as_slice()], &[]).expect("factors");
    [made.remove(0), made.remove(0)]
}

#[test]
fn formulas_of_ordinary_matrices() {
    let rng = &mut Rng::new(11);
    let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for dtype in [DType::F16, DType::F32, DType::F64, DType::C64, DType::C128] {
        for (op, types) in matrices(dtype) {
            let draw = |rng: &mut Rng, aval: &Aval| bytes(aval, &ordinary(rng, aval));
            let x = match op.get::<LuSolve>() {
                Some(_) => {
                    let (a, b) = (draw(rng, &types[0]), draw(rng, &types[3]));
                    let [made, order] = factors(&types[0], &a);
                    vec![a, made, order, b]
                }
                None => types.iter().map(|aval| draw(rng, aval)).collect(),
            };
            if let Some(what) = differs(&op, &types, &x, false) {
                found.insert(format!("{op:?} of {}: {what}", types[0]));
            }
            seen.insert(op.row().name);
        }
    }
    assert!(found.is_empty(), "{}", found.into_iter().collect::<Vec<_>>().join("\n"));
    assert_eq!(seen, MATRICES.into_iter().collect());
}

/// Matrices that are known to be hard, by name.
fn hard(rng: &mut Rng, m: usize, n: usize) -> Vec<(&'static str, Matrix)> {
    let of = |f: &dyn Fn(usize, usize) -> f64| -> Matrix {
        (0..m * n).map(|at| Complex::from(f(at % m, at / m))).collect()
    };
    let noise = noise(rng, &Aval::known(DType::C128, [m, n].into()));
    let times = |by: &dyn Fn(usize) -> f64| -> Matrix { (0..m * n).map(|at| noise[at] * by(at)).collect() };
    let usual = |i: usize, j: usize| 1.0 + (i * 3 + j * 5) as f64 % 7.0;
    let with = |x: f64| of(&|i, j| if (i, j) == (1, 0) { x } else { usual(i, j) });
    vec![
        ("random", noise.clone()),
        ("zero", of(&|_, _| 0.0)),
        ("rank one", of(&|i, j| (1 + i) as f64 / (2 + j) as f64)),
        ("one value", of(&|i, j| if i == j { 3.0 } else { 0.0 })),
        ("Hilbert", of(&|i, j| 1.0 / (i + j + 1) as f64)),
        ("graded", times(&|at| 10f64.powf(-8.0 * (at % m + at / m) as f64 / (m + n) as f64))),
        ("huge", times(&|_| 1e14)),
        ("tiny", times(&|_| 1e-14)),
        ("a NaN", with(f64::NAN)),
        ("an infinity", with(f64::INFINITY)),
        ("one column", of(&|_, j| f64::from(u8::from(j == 1)))),
    ]
}

#[test]
fn formulas_of_hard_matrices() {
    let rng = &mut Rng::new(12);
    let mut found = BTreeSet::new();
    for dtype in [DType::F32, DType::F64, DType::C128] {
        for [m, n] in [[7, 7], [9, 5], [4, 8], [2, 2]] {
            let types = [Aval::known(dtype, [m, n].into())];
            for (name, matrix) in hard(rng, m, n) {
                let real = |x: &Complex<f64>| if dtype.is_complex() { *x } else { Complex::from(x.re) };
                let x = [bytes(&types[0], &matrix.iter().map(real).collect())];
                let mut ops: Vec<Op> = vec![Lu.into()];
                for full in [true, false] {
                    ops.extend([Op::from(Qr { full }), Svd { vectors: true, full }.into()]);
                }
                if m == n {
                    ops.extend([Op::from(Eigh { vectors: true }), Cholesky { lower: true }.into()]);
                    ops.push(Cholesky { lower: false }.into());
                }
                for op in ops {
                    if let Some(what) = differs(&op, &types, &x, true) {
                        found.insert(format!("{op:?} of {name} {}: {what}", types[0]));
                    }
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.into_iter().collect::<Vec<_>>().join("\n"));
}
