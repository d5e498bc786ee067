//! Results of ops on matrices, held to what they are results of: factors multiplied are the matrix, solutions solve the
//! equation, vectors are orthonormal, each up to a backward error. Other roundings make other factors of a matrix that is
//! nearly singular, and other vectors of values that are nearly equal: none of them is more right than another.
#![allow(dead_code)] // each test file uses a part

use anvil_core::dtype::DType;
use anvil_core::ops::{Cholesky, Eigh, Lu, LuSolve, Op, Qr, Svd, TriangularSolve};
use anvil_core::tensor::{Aval, Literal};
use num_complex::Complex;

/// Backward errors that are allowed, in units of the size of the matrix times the rounding error.
pub const MOST: f64 = 40.0;

/// A value with its type.
pub type Given<'a> = (&'a Aval, &'a [u8]);

/// A matrix, column-major.
type Matrix = Vec<Complex<f64>>;

/// Whether it is an op on matrices, which [`judge`] judges.
pub fn is_on_matrices(op: &Op) -> bool {
    ["chol", "triangular_solve", "lu", "lu_solve", "qr", "eigh", "svd"].contains(&op.row().name)
}

/// All numbers of a value.
pub fn numbers((aval, x): Given) -> Matrix {
    x.chunks_exact(aval.dtype.bytes()).map(|e| Literal::from_bytes(aval.dtype, e).get()).collect()
}

/// One of the matrices or vectors of a value, whose elements are so many last axes; axes of a batch come first.
fn part(x: Given, axes: usize, which: usize) -> Matrix {
    let rank = x.0.shape.rank();
    let batch: usize = x.0.shape[..rank - axes].iter().product();
    numbers(x).into_iter().skip(which).step_by(batch).collect()
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

/// The elements for which a condition on row and column holds, and 0 elsewhere.
fn kept(a: &[Complex<f64>], rows: usize, keep: impl Fn(usize, usize) -> bool) -> Matrix {
    let one =
        |(at, x): (usize, &Complex<f64>)| if keep(at % rows, at / rows) { *x } else { Complex::default() };
    a.iter().enumerate().map(one).collect()
}

fn with_unit_diagonal(mut a: Matrix, rows: usize) -> Matrix {
    a.iter_mut().enumerate().filter(|(at, _)| at % rows == at / rows).for_each(|(_, x)| *x += 1.0);
    a
}

fn identity(n: usize) -> Matrix {
    with_unit_diagonal(vec![Complex::default(); n * n], n)
}

/// The largest part of an element in size.
fn largest(a: &[Complex<f64>]) -> f64 {
    a.iter().fold(0.0, |most: f64, x| most.max(x.re.abs()).max(x.im.abs()))
}

/// The Frobenius norm, in units of a size.
fn norm(a: impl Iterator<Item = Complex<f64>>, unit: f64) -> f64 {
    a.map(|x| (x / unit).norm_sqr()).sum::<f64>().sqrt()
}

/// The norm of a difference in units of that of the second; of numbers of any size.
pub fn apart(got: &[Complex<f64>], want: &[Complex<f64>]) -> f64 {
    let unit = largest(want).max(f64::MIN_POSITIVE);
    let distance = norm(got.iter().zip(want).map(|(x, y)| x - y), unit);
    if distance == 0.0 {
        return 0.0;
    }
    distance / norm(want.iter().copied(), unit).max(1.0)
}

/// What is wrong if a number of units is too large.
fn within(what: &str, error: f64, unit: f64) -> Option<String> {
    (error.is_nan() || error / unit > MOST).then(|| format!("{what}: {} units", error / unit))
}

/// What is wrong with columns that are to be orthonormal.
fn orthonormal(x: &Matrix, [rows, columns]: [usize; 2], unit: f64) -> Option<String> {
    let gram = product(&adjoint(x, [rows, columns]), x, [columns, rows, columns]);
    within("vectors are not orthonormal", apart(&gram, &identity(columns)), unit)
}

/// What is wrong with the solution of `a x = b`.
fn solves(a: &Matrix, x: &Matrix, b: &Matrix, [n, m]: [usize; 2], unit: f64) -> Option<String> {
    if x.iter().any(|x| !x.is_finite()) || largest(x) > 1e200 {
        return None;
    }
    let residual = product(a, x, [n, n, m]);
    let scale = largest(b).max(largest(a) * largest(x) * n as f64).max(f64::MIN_POSITIVE);
    let distance = norm(residual.iter().zip(b).map(|(x, y)| x - y), scale);
    within("the solution does not solve the equation", distance / (n * m) as f64, unit)
}

/// Whether `a - shift` is positive definite.
fn is_positive(a: &Matrix, n: usize, shift: f64) -> bool {
    let mut l = a.clone();
    (0..n).for_each(|i| l[i + i * n] -= shift);
    for j in 0..n {
        let pivot = l[j + j * n].re;
        if pivot <= 0.0 || pivot.is_nan() {
            return false;
        }
        for k in j + 1..n {
            let factor = l[k + j * n].conj() / pivot;
            for i in k..n {
                let less = l[i + j * n] * factor;
                l[i + k * n] -= less;
            }
        }
    }
    true
}

/// The Hermitian matrix in a lower triangle.
fn hermitian(a: &Matrix, n: usize) -> Matrix {
    (0..n * n)
        .map(|at| match (at % n, at / n) {
            (i, j) if i == j => Complex::from(a[at].re),
            (i, j) if i > j => a[at],
            (i, j) => a[j + i * n].conj(),
        })
        .collect()
}

/// What is wrong with the results of an op on matrices. `wanted` are those of the kernel, which say where a result is to be
/// NaN, and the values alone where there are no vectors. Matrices that are not finite, or whose squares are not, are left
/// out: what becomes of them depends on the order of the sums.
pub fn judge(op: &Op, operands: &[Given], results: &[Given], wanted: &[Given]) -> Option<String> {
    let first = operands[if op.get::<LuSolve>().is_some() { 1 } else { 0 }];
    let (aval, rank) = (first.0, first.0.shape.rank());
    let [m, n] = [aval.shape[rank - 2], aval.shape[rank - 1]];
    let batch: usize = aval.shape[..rank - 2].iter().product();
    let epsilon = match aval.dtype.part() {
        DType::F64 => f64::EPSILON,
        DType::F32 => f64::from(f32::EPSILON),
        DType::F16 => 2f64.powi(-10),
        _ => 2f64.powi(-7),
    };
    let unit = epsilon * m.max(n).max(1) as f64;
    let limit = match aval.dtype.part() {
        DType::F64 => 1e100,
        DType::F16 => 1e2,
        _ => 1e15,
    };
    if m == 0 || n == 0 {
        let same = results.iter().zip(wanted).all(|(got, want)| got.1 == want.1);
        return (!same).then(|| "results of nothing differ".into());
    }
    (0..batch).find_map(|which| {
        let far = |x: &Given| {
            let axes = if x.0.dtype.part().is_float() { 2 } else { 1 };
            let all = part(*x, axes, which);
            let size = largest(&all);
            all.iter().any(|x| !x.is_finite()) || size > limit || size != 0.0 && size < 1.0 / limit
        };
        if operands.iter().filter(|x| x.0.dtype.part().is_float()).any(far) {
            return None;
        }
        let given = |i: usize| part(operands[i], 2, which);
        let made = |i: usize, axes: usize| part(results[i], axes, which);
        let sizes = [m, n];
        let a = if op.get::<LuSolve>().is_some() { given(1) } else { given(0) };
        let what = if let Some(op) = op.get::<Cholesky>() {
            let lower = |x: &Matrix| if op.lower { x.clone() } else { adjoint(x, sizes) };
            cholesky(&hermitian(&lower(&a), n), &lower(&made(0, 2)), n, unit)
        } else if let Some(op) = op.get::<TriangularSolve>() {
            let keep = |i: usize, j: usize| if op.lower { i > j } else { i < j };
            let triangle = match op.unit {
                true => with_unit_diagonal(kept(&a, n, keep), n),
                false => kept(&a, n, |i, j| i == j || keep(i, j)),
            };
            let triangle = if op.adjoint { adjoint(&triangle, sizes) } else { triangle };
            let x = made(0, 2);
            solves(&triangle, &x, &given(1), [n, x.len() / n], unit)
        } else if op.get::<Lu>().is_some() {
            lu(&a, sizes, &made(0, 2), &made(1, 1), &made(2, 1), unit)
        } else if let Some(op) = op.get::<LuSolve>() {
            let order: Vec<usize> = part(operands[2], 1, which).iter().map(|x| x.re as usize).collect();
            let is_order = (0..n).all(|i| order.contains(&i));
            let x = made(0, 2);
            let matrix = from_factors(&a, sizes, &order).filter(|_| is_order)?;
            let matrix = if op.adjoint { adjoint(&matrix, sizes) } else { matrix };
            // The factors may be larger than what they make.
            let growth = (largest(&a).max(1.0).powi(2) / largest(&matrix).max(1e-300)).max(1.0);
            solves(&matrix, &x, &given(3), [n, x.len() / n], unit * growth)
        } else if op.get::<Qr>().is_some() {
            let (q, r) = (made(0, 2), made(1, 2));
            let k = q.len() / m;
            let upper = kept(&r, k, |i, j| i <= j);
            let real = (0..k.min(n)).all(|i| r[i + i * k].im.abs() <= unit * largest(&r));
            orthonormal(&q, [m, k], unit)
                .or_else(|| within("q * r", apart(&product(&q, &upper, [m, k, n]), &a), unit))
                .or_else(|| (upper != r || !real).then(|| "r is not what it should be".into()))
        } else {
            let d: Vec<f64> = made(0, 1).iter().map(|x| x.re).collect();
            let want = part(wanted[0], 1, which);
            let exact = if op.get::<Eigh>().is_some() { hermitian(&a, n) } else { a };
            let values = values(&d, &want, op.get::<Svd>().is_some(), largest(&exact) * unit * n as f64);
            let vectors = match results.len() {
                3 => Some([made(1, 2), made(2, 2)]),
                2 => Some([made(1, 2), made(1, 2)]),
                _ => None,
            };
            values.or_else(|| {
                let [u, v] = vectors?;
                let [left, right] = [u.len() / m, v.len() / n];
                let k = d.len();
                let scaled: Matrix = (0..m * k).map(|at| u[at] * d[at / m]).collect();
                let whole = product(&scaled, &adjoint(&v[..n * k].to_vec(), [n, k]), [m, k, n]);
                orthonormal(&u, [m, left], unit)
                    .or_else(|| orthonormal(&v, [n, right], unit))
                    .or_else(|| within("u * d * v^H", apart(&whole, &exact), unit))
            })
        };
        what.map(|what| format!("matrix {which} of {aval}: {what}"))
    })
}

/// What is wrong with a Cholesky factor.
fn cholesky(a: &Matrix, l: &Matrix, n: usize, unit: f64) -> Option<String> {
    let size = largest(a) * n as f64;
    if l.iter().any(|x| x.is_nan()) {
        // All of it, of a matrix that is not positive definite, or nearly so.
        let all = l.iter().all(|x| x.is_nan());
        let wrong = !all || is_positive(a, n, size * MOST * unit);
        return wrong.then(|| "NaN where there is a factor, or not everywhere".into());
    }
    let lower = kept(l, n, |i, j| i >= j);
    let whole = product(&lower, &adjoint(&lower, [n, n]), [n, n, n]);
    within("l * l^H", apart(&whole, a), unit).or_else(|| (lower != *l).then(|| "not a triangle".into()))
}

/// `a[order, ]^-1` of the factors, which is the matrix itself.
fn from_factors(factors: &Matrix, [m, n]: [usize; 2], order: &[usize]) -> Option<Matrix> {
    let k = m.min(n);
    let lower = with_unit_diagonal(kept(&factors[..m * k], m, |i, j| i > j), m);
    let upper: Matrix = (0..k * n)
        .map(|at| if at % k <= at / k { factors[at % k + at / k * m] } else { Complex::default() })
        .collect();
    let moved = product(&lower[..m * k].to_vec(), &upper, [m, k, n]);
    let mut out = vec![Complex::default(); m * n];
    for (i, &row) in order.iter().enumerate() {
        (0..n).for_each(|j| out.get_mut(row + j * m).map_or((), |x| *x = moved[i + j * m]));
    }
    order.iter().all(|&row| row < m).then_some(out)
}

/// What is wrong with LU factors, pivots and the order of the rows.
fn lu(
    a: &Matrix,
    sizes: [usize; 2],
    factors: &Matrix,
    pivots: &Matrix,
    order: &Matrix,
    unit: f64,
) -> Option<String> {
    let [m, n] = sizes;
    let order: Vec<usize> = order.iter().map(|x| x.re as usize).collect();
    let mut exchanged: Vec<usize> = (0..m).collect();
    for (i, row) in pivots.iter().enumerate() {
        exchanged.swap(i, (row.re as usize).min(m - 1));
    }
    let most = largest(&kept(&factors[..m * m.min(n)], m, |i, j| i > j));
    let growth = (largest(factors) / largest(a).max(f64::MIN_POSITIVE)).max(1.0);
    let made = from_factors(factors, sizes, &order)?;
    (exchanged != order || most > 1.0 + 4.0 * unit)
        .then(|| format!("rows {order:?}, not {exchanged:?}, and a factor of {most}"))
        .or_else(|| within("l * u", apart(&made, a), unit * growth))
}

/// What is wrong with eigenvalues or singular values, of which some are wanted.
fn values(d: &[f64], want: &Matrix, descending: bool, most: f64) -> Option<String> {
    let ordered = d.windows(2).all(|x| if descending { x[0] >= x[1] } else { x[0] <= x[1] });
    let near = d.iter().zip(want).all(|(x, y)| (x - y.re).abs() <= MOST * most);
    (!(ordered && near)).then(|| format!("values {d:?}, not {want:?}"))
}
