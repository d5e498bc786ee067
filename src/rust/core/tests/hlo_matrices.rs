//! Formulas of ops on matrices mean what their kernels mean: on ordinary matrices and on those that are known to be
//! hard. Factors that are unique agree element by element; of eigenvectors and singular vectors their products are held
//! to the matrix.

mod common;
#[path = "common/forward.rs"]
#[allow(dead_code)]
mod forward;
#[path = "common/gradients.rs"]
#[allow(dead_code)]
mod gradients;
#[path = "common/rows.rs"]
mod row_programs;

use anvil_core::dtype::DType;
use anvil_core::graph::Value;
use anvil_core::hlo::legalize;
use anvil_core::ops::{Builder, Cholesky, Eigh, Graph, Lu, LuSolve, Op, Qr, Svd};
use anvil_core::tensor::Aval;
use common::Rng;
use forward::{epsilon, point, run, Tensor};
use num_complex::Complex;
use row_programs::{matrices, MATRICES};
use std::collections::BTreeSet;

/// Backward errors that are allowed, in units of the size of the matrix times the rounding error.
const MOST: f64 = 40.0;

type Matrix = Vec<Complex<f64>>;

/// A program of one op; `lu_solve` with the factors of its matrix.
fn program(op: &Op, types: &[Aval]) -> Graph {
    let mut b = Builder::default();
    if let Some(op) = op.get::<LuSolve>() {
        let [a, right] = [0, 3].map(|i| b.input(types[i].clone()));
        let factors = b.node(Lu, &[a]).expect("square matrices");
        let out = b.node(*op, &[a, factors[0], factors[2], right]).expect("an equation");
        return b.finish(out);
    }
    let inputs: Vec<Value> = types.iter().map(|aval| b.input(aval.clone())).collect();
    let outputs = b.node(op.clone(), &inputs).expect("an op on matrices");
    b.finish(outputs)
}

/// The matrices of a value, with their sizes. Axes of a batch come first.
fn matrices_of(aval: &Aval, x: &Tensor) -> (Vec<Matrix>, [usize; 2]) {
    let rank = aval.shape.rank();
    let sizes = [aval.shape[rank - 2], aval.shape[rank - 1]];
    let batch: usize = aval.shape[..rank - 2].iter().product();
    let one = |k: usize| (0..sizes[0] * sizes[1]).map(|at| x.floats()[k + at * batch]).collect();
    ((0..batch).map(one).collect(), sizes)
}

/// `a * b` for `a [m, k]` and `b [k, n]`.
fn product(a: &Matrix, b: &Matrix, [m, k, n]: [usize; 3]) -> Matrix {
    let mut out = vec![Complex::default(); m * n];
    for (j, l) in (0..n).flat_map(|j| (0..k).map(move |l| (j, l))) {
        (0..m).for_each(|i| out[i + j * m] += a[i + l * m] * b[l + j * k]);
    }
    out
}

fn adjoint(a: &Matrix, [m, n]: [usize; 2]) -> Matrix {
    (0..m * n).map(|at| a[at / n + at % n * m].conj()).collect()
}

/// Both over their largest size, so that nothing overflows: the norm of the difference in units of that of the second.
fn apart(got: &[Complex<f64>], want: &[Complex<f64>]) -> f64 {
    let largest = want.iter().fold(f64::MIN_POSITIVE, |most: f64, x| most.max(x.re.abs()).max(x.im.abs()));
    let norm =
        |x: &mut dyn Iterator<Item = Complex<f64>>| x.map(|x| (x / largest).norm_sqr()).sum::<f64>().sqrt();
    let distance = norm(&mut got.iter().zip(want).map(|(x, y)| x - y));
    if distance == 0.0 {
        return 0.0;
    }
    distance / norm(&mut want.iter().copied()).max(1.0)
}

fn identity(n: usize) -> Matrix {
    (0..n * n).map(|at| Complex::from(f64::from(u8::from(at / n == at % n)))).collect()
}

/// What is wrong with `u * diag(d) * v^H` as factors of a matrix, with columns of `u` and `v` orthonormal.
fn factors(
    a: &Matrix,
    [m, n]: [usize; 2],
    [u, v]: [(&Matrix, usize); 2],
    d: &[f64],
    unit: f64,
) -> Option<String> {
    for ((x, columns), rows) in [(u, m), (v, n)] {
        let gram = product(&adjoint(x, [rows, columns]), x, [columns, rows, columns]);
        let error = apart(&gram, &identity(columns)) / unit;
        if !(error <= MOST) {
            return Some(format!("vectors are {error} units from orthonormal"));
        }
    }
    let k = d.len();
    let scaled: Matrix = (0..m * k).map(|at| u.0[at] * d[at / m]).collect();
    let right: Matrix = v.0[..n * k].to_vec();
    let made = product(&scaled, &adjoint(&right, [n, k]), [m, k, n]);
    let error = apart(&made, a) / unit;
    (!(error <= MOST)).then(|| format!("the product is {error} units from the matrix"))
}

/// What is wrong with the LU or QR factors of a matrix.
fn of_one_matrix(op: &Op, a: &Matrix, [m, n]: [usize; 2], got: &[Tensor], unit: f64) -> Option<String> {
    let part = |x: &[Complex<f64>], rows: usize, keep: &dyn Fn(usize, usize) -> Complex<f64>| -> Matrix {
        x.iter().enumerate().map(|(at, x)| x * keep(at % rows, at / rows)).collect()
    };
    let is = |yes: bool| Complex::from(f64::from(u8::from(yes)));
    if op.get::<Qr>().is_some() {
        let (q, r) = (got[0].floats().to_vec(), got[1].floats());
        let k = q.len() / m;
        let gram = product(&adjoint(&q, [m, k]), &q, [k, m, k]);
        let upper = part(r, k, &|i, j| is(i <= j));
        let errors = [
            apart(&gram, &identity(k)),
            apart(&product(&q, &upper, [m, k, n]), a),
            apart(&upper, r),
            (0..k.min(n)).map(|i| r[i + i * k].im.abs()).sum(),
        ];
        let worst = errors.iter().fold(0.0, |most: f64, &x| most.max(x)) / unit;
        return (!(worst <= MOST)).then(|| format!("{errors:?}"));
    }
    let k = m.min(n);
    let factors = got[0].floats();
    let lower: Matrix = part(&factors[..m * k], m, &|i, j| is(i > j));
    let lower: Matrix = lower.iter().enumerate().map(|(at, x)| x + is(at % m == at / m)).collect();
    let upper: Matrix = (0..k * n).map(|at| factors[at % k + at / k * m] * is(at % k <= at / k)).collect();
    let Tensor::Other(order) = &got[2] else { return Some("no order".into()) };
    let order: Vec<usize> =
        order.chunks(4).map(|x| i32::from_ne_bytes(x.try_into().expect("4 bytes")) as usize).collect();
    let moved: Matrix = (0..m * n).map(|at| a[order[at % m] + at / m * m]).collect();
    let error = apart(&product(&lower, &upper, [m, k, n]), &moved) / unit;
    let most = lower.iter().fold(0.0, |most: f64, x| most.max(x.re.abs() + x.im.abs()));
    (!(error <= MOST && most <= 2.0)).then(|| format!("{error} units, a factor of {most}"))
}

/// How the results of an op by its formula differ from those of its kernel. Of hard matrices another rounding makes other
/// factors: those are held to the matrix.
fn differs(op: &Op, types: &[Aval], x: &[Tensor], is_hard: bool) -> Option<String> {
    let graph = program(op, types);
    let plain = legalize(&graph).unwrap_or_else(|e| panic!("{e}\n{graph}"));
    plain.verify().unwrap_or_else(|e| panic!("{e}\n{plain}"));
    let [want, got] = [&graph, &plain].map(|graph| run(graph, &[x]).expect("a program that runs"));
    let input = graph.aval(graph.inputs()[0]);
    let (a, sizes) = matrices_of(input, &x[0]);
    let dtype = if input.dtype.is_half() { DType::F32 } else { input.dtype };
    let unit = epsilon(input.dtype).max(epsilon(dtype)) * sizes[0].max(sizes[1]).max(1) as f64;
    let types: Vec<&Aval> = graph.outputs().iter().map(|&v| graph.aval(v)).collect();
    if is_hard && (op.get::<Lu>().is_some() || op.get::<Qr>().is_some()) {
        let is_finite = |x: &Tensor| x.floats().iter().all(|x| x.is_finite());
        if !is_finite(&x[0]) {
            return got.iter().all(is_finite).then(|| "a matrix that is not finite has factors".into());
        }
        return of_one_matrix(op, &a[0], sizes, &got, unit);
    }
    if op.get::<Eigh>().is_none() && op.get::<Svd>().is_none() {
        for ((aval, got), want) in types.iter().zip(&got).zip(&want) {
            if let (Tensor::Other(got), Tensor::Other(want)) = (got, want) {
                if got != want {
                    return Some(format!("{got:?} is not {want:?}"));
                }
                continue;
            }
            let nan = |x: &Tensor| x.floats().iter().map(|x| x.is_nan()).collect::<Vec<_>>();
            if nan(got) != nan(want) {
                return Some(format!("NaN at {:?}, not at {:?} in {aval}", nan(got), nan(want)));
            }
            let finite = |x: &Tensor| -> Vec<Complex<f64>> {
                x.floats().iter().map(|x| if x.is_finite() { *x } else { Complex::default() }).collect()
            };
            let error = apart(&finite(got), &finite(want)) / unit;
            if !(error <= 100.0 * MOST) {
                return Some(format!("{error} units apart:\n{:?}\n{:?}", got.floats(), want.floats()));
            }
        }
        return None;
    }
    let lines = |x: &Tensor| -> Vec<Vec<f64>> {
        let (count, k) = (a.len(), x.floats().len() / a.len().max(1));
        (0..count).map(|b| (0..k).map(|i| x.floats()[b + i * count].re).collect()).collect()
    };
    for (b, (got_d, want_d)) in lines(&got[0]).iter().zip(lines(&want[0])).enumerate() {
        if want_d.iter().any(|x| x.is_nan()) {
            if got.iter().any(|x| !x.floats().iter().any(|x| x.is_nan())) {
                return Some("a matrix that is not finite has factors".into());
            }
            continue;
        }
        let wide = |x: &[f64]| x.iter().map(|&x| Complex::from(x)).collect::<Matrix>();
        let error = apart(&wide(got_d), &wide(&want_d)) / unit;
        if !(error <= MOST) {
            return Some(format!("values are {error} units apart: {got_d:?}, {want_d:?}"));
        }
        let (u, v) = match got.len() {
            3 => (1, 2),
            2 => (1, 1),
            _ => continue,
        };
        let [u, v] = [u, v].map(|i| {
            let (all, [_, columns]) = matrices_of(types[i], &got[i]);
            (all[b].clone(), columns)
        });
        let mut exact = a[b].clone();
        if op.get::<Eigh>().is_some() {
            let n = sizes[0];
            for (i, j) in (0..n).flat_map(|j| (0..=j).map(move |i| (i, j))) {
                exact[i + j * n] = exact[j + i * n].conj();
                if i == j {
                    exact[i + j * n].im = 0.0;
                }
            }
        }
        let vectors = [(&u.0, u.1), (&v.0, v.1)];
        if let Some(what) = factors(&exact, sizes, vectors, got_d, unit) {
            return Some(what);
        }
    }
    None
}

/// Numbers for a matrix, with a diagonal that makes it positive definite.
fn ordinary(rng: &mut Rng, aval: &Aval) -> Tensor {
    let drawn = point(rng, aval, [-1.0, 1.0], [-1.0, 1.0]);
    let (rank, mut elements) = (aval.shape.rank(), drawn.floats().to_vec());
    let [m, n] = [aval.shape[rank - 2], aval.shape[rank - 1]];
    let batch: usize = aval.shape[..rank - 2].iter().product();
    for (i, k) in (0..m.min(n)).flat_map(|i| (0..batch).map(move |k| (i, k))) {
        elements[k + (i + i * m) * batch] += Complex::from(2.0 * n as f64 + 1.5 * i as f64);
    }
    Tensor::Floats(elements).rounded(aval.dtype)
}

#[test]
fn formulas_of_ordinary_matrices() {
    let rng = &mut Rng::new(11);
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for dtype in [DType::F16, DType::F32, DType::F64, DType::C64, DType::C128] {
        for (op, types) in matrices(dtype) {
            let given = match op.get::<LuSolve>() {
                Some(_) => vec![&types[0], &types[3]],
                None => types.iter().collect(),
            };
            let x: Vec<Tensor> = given.into_iter().map(|aval| ordinary(rng, aval)).collect();
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
    let aval = Aval::known(DType::C128, [m, n].into());
    let noise = point(rng, &aval, [-1.0, 1.0], [-1.0, 1.0]).floats().to_vec();
    let times = |by: &dyn Fn(usize) -> f64| -> Matrix { (0..m * n).map(|at| noise[at] * by(at)).collect() };
    vec![
        ("random", noise.clone()),
        ("zero", of(&|_, _| 0.0)),
        ("rank one", of(&|i, j| (1 + i) as f64 / (2 + j) as f64)),
        ("one value", of(&|i, j| if i == j { 3.0 } else { 0.0 })),
        ("Hilbert", of(&|i, j| 1.0 / (i + j + 1) as f64)),
        ("graded", times(&|at| 10f64.powf(-8.0 * (at % m + at / m) as f64 / (m + n) as f64))),
        ("huge", times(&|_| 1e30)),
        ("tiny", times(&|_| 1e-30)),
        ("a NaN", of(&|i, j| if (i, j) == (1, 0) { f64::NAN } else { 1.0 + (i * 3 + j * 5) as f64 % 7.0 })),
        (
            "an infinity",
            of(&|i, j| if (i, j) == (1, 0) { f64::INFINITY } else { 1.0 + (i * 3 + j * 5) as f64 % 7.0 }),
        ),
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
                let x = [Tensor::Floats(matrix).rounded(dtype)];
                let mut ops: Vec<Op> = vec![Qr { full: false }.into(), Qr { full: true }.into()];
                ops.push(Lu.into());
                for full in [true, false] {
                    ops.push(Svd { vectors: true, full }.into());
                }
                if m == n {
                    ops.extend([Op::from(Eigh { vectors: true }), Cholesky.into()]);
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
