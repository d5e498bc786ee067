//! Backward errors of factorisations on matrices that are known to be hard, in units of `n` times the rounding
//! error, relative to the norm of the matrix: at most [`MOST`] for each.

mod common;

use anvil_core::dtype::Element;
use anvil_core::kernels::cast;
use anvil_core::kernels::linalg::triangular::{solve, Triangle};
use anvil_core::kernels::linalg::{cholesky, eigen, lu, qr, svd, tensors, MatMut, MatRef, Real, Scalar};
use anvil_core::shape::Shape;
use anvil_core::tensor::{Layout, View, ViewMut};
use common::Rng;
use num_complex::Complex;
use std::fmt::Write;

/// The largest backward error that is allowed.
const MOST: f64 = 10.0;

/// A complex matrix in double precision, column-major.
type Wide = Vec<Complex<f64>>;

fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    }
}

fn wide<T: Scalar>(x: &[T]) -> Wide {
    x.iter().map(|x| Complex::new(x.re().f64(), x.im().f64())).collect()
}

/// `a * b` for `a [m, k]` and `b [k, n]`.
fn product(a: &Wide, b: &Wide, [m, k, n]: [usize; 3]) -> Wide {
    let mut out = vec![Complex::default(); m * n];
    for j in 0..n {
        for l in 0..k {
            let factor = b[l + j * k];
            (0..m).for_each(|i| out[i + j * m] += a[i + l * m] * factor);
        }
    }
    out
}

fn adjoint(a: &Wide, [m, n]: [usize; 2]) -> Wide {
    (0..m * n).map(|at| a[at / n + at % n * m].conj()).collect()
}

fn identity(n: usize) -> Wide {
    (0..n * n).map(|at| Complex::from(f64::from(u8::from(at / n == at % n)))).collect()
}

/// The Frobenius norm, in units of its largest element, so that nothing overflows.
fn norm(a: &Wide) -> f64 {
    let largest = a.iter().fold(0.0, |most: f64, x| most.max(x.re.abs()).max(x.im.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    a.iter().map(|x| (x / largest).norm_sqr()).sum::<f64>().sqrt() * largest
}

/// `|a - b| / (|a| * n * rounding error)`, where the norm of `a` may be far from 1.
fn error<T: Scalar>(a: &Wide, b: &Wide, n: usize) -> f64 {
    let difference: Wide = a.iter().zip(b).map(|(a, b)| a - b).collect();
    norm(&difference) / norm(a).max(f64::MIN_POSITIVE) / (n as f64 * T::Real::EPSILON)
}

/// Hard matrices of `n` rows, by name.
fn matrices(n: usize) -> Vec<(&'static str, Wide)> {
    let of = |f: &dyn Fn(usize, usize) -> f64| -> Wide {
        (0..n * n).map(|at| Complex::from(f(at % n, at / n))).collect()
    };
    let mut next = random(n as u64);
    let noise: Wide = (0..n * n).map(|_| Complex::new(next(), next())).collect();
    let with_noise = |f: &dyn Fn(usize, usize) -> f64| -> Wide {
        (0..n * n).map(|at| noise[at] * f(at % n, at / n)).collect()
    };
    let angle: f64 = 1.2;
    let size = n as f64;
    vec![
        ("random", noise.clone()),
        ("Hilbert", of(&|i, j| 1.0 / (i + j + 1) as f64)),
        (
            "subnormal",
            // Columns, of which the last is none: the norm is a normal number.
            with_noise(&|_, j| match j {
                _ if j + 1 == n => 1.0,
                0 => 1e-43,
                1 => 1e-322,
                _ => 1.0,
            }),
        ),
        ("graded", with_noise(&|i, j| 10f64.powf(-12.0 * (i + j) as f64 / size))),
        (
            "Wilkinson",
            of(&|i, j| match i.abs_diff(j) {
                0 => (i as f64 - (size - 1.0) / 2.0).abs(),
                1 => 1.0,
                _ => 0.0,
            }),
        ),
        (
            "growth",
            of(&|i, j| {
                if i == j || j + 1 == n {
                    1.0
                } else if i > j {
                    -1.0
                } else {
                    0.0
                }
            }),
        ),
        (
            "Kahan",
            of(&|i, j| {
                let factor = angle.sin().powi(i as i32);
                if i == j {
                    factor
                } else if i < j {
                    -angle.cos() * factor
                } else {
                    0.0
                }
            }),
        ),
        ("nearly singular", of(&|i, j| ((i * 7 + j * 3) % 11) as f64 + if i == j { 1e-12 } else { 0.0 })),
        ("one value", of(&|i, j| if i == j { 3.0 } else { 0.0 })),
        ("rank one", of(&|i, j| (1 + i) as f64 / (2 + j) as f64)),
        ("zero", of(&|_, _| 0.0)),
        ("huge", with_noise(&|_, _| 1e30)),
        ("tiny", with_noise(&|_, _| 1e-30)),
    ]
}

/// The matrix as another type has it.
fn narrow<T: Scalar>(a: &Wide) -> Vec<T> {
    a.iter().map(|x| T::parts(T::Real::from_f64(x.re), T::Real::from_f64(x.im))).collect()
}

/// Errors of all factorisations of a matrix, with their names.
fn errors<T: Scalar>(a: &[T], n: usize) -> Vec<(&'static str, f64)> {
    let mut found = Vec::new();
    let exact = wide(a);
    let square = [n, n];
    let whole = [n, n, n];
    let part = |x: &[T], keep: &dyn Fn(usize, usize) -> bool| -> Wide {
        wide(x)
            .into_iter()
            .enumerate()
            .map(|(at, x)| if keep(at % n, at / n) { x } else { Complex::default() })
            .collect()
    };
    // LU, and an equation.
    let (mut factors, mut pivots, mut order) = (a.to_vec(), vec![0; n], vec![0; n]);
    lu::factorise(MatMut::new(&mut factors, square, n), &mut pivots);
    lu::permutation(&pivots, &mut order);
    let mut lower = part(&factors, &|i, j| i > j);
    (0..n).for_each(|i| lower[i + i * n] = Complex::from(1.0));
    let upper = part(&factors, &|i, j| i <= j);
    let moved: Wide = (0..n * n).map(|at| exact[order[at % n] as usize + at / n * n]).collect();
    // The factors may grow by 2^(n-1) in the matrix that is known for it: in relation to them.
    let growth = (norm(&upper) / norm(&exact).max(f64::MIN_POSITIVE)).max(1.0);
    found.push(("LU", error::<T>(&moved, &product(&lower, &upper, whole), n) / growth));
    // QR.
    // What is in `r` before is of no use.
    let (mut q, mut r) = (a.to_vec(), a.to_vec());
    qr::factorise(MatMut::new(&mut q, square, n), MatMut::new(&mut r, square, n)).into_q();
    let (q, r) = (wide(&q), wide(&r));
    assert!((0..n * n).all(|at| at % n <= at / n || r[at] == Complex::default()), "no triangle");
    found.push(("QR", error::<T>(&exact, &product(&q, &r, whole), n)));
    found.push(("Q", error::<T>(&identity(n), &product(&adjoint(&q, square), &q, whole), n)));
    // Eigenvalues of the Hermitian part.
    let lines = MatRef::new(a, square, n);
    let half = T::Real::from_f64(0.5);
    let hermitian: Vec<T> = (0..n * n)
        .map(|at| (lines.at(at % n, at / n) + lines.at(at / n, at % n).conj()).times(half))
        .collect();
    let (mut values, mut v) = (vec![T::Real::ZERO; n], vec![T::ZERO; n * n]);
    if !eigen::hermitian(hermitian.clone(), n, &mut values, Some(MatMut::new(&mut v, square, n))) {
        found.push(("no eigenvalues", f64::NAN));
        return found;
    }
    let (v, values): (Wide, Vec<f64>) = (wide(&v), values.iter().map(|x| x.f64()).collect());
    assert!(values.windows(2).all(|x| x[0] <= x[1]), "not ascending");
    let scaled: Wide = (0..n * n).map(|at| v[at] * values[at / n]).collect();
    found.push((
        "eigenvalues",
        error::<T>(&wide(&hermitian), &product(&scaled, &adjoint(&v, square), whole), n),
    ));
    found.push(("eigenvectors", error::<T>(&identity(n), &product(&adjoint(&v, square), &v, whole), n)));
    // Singular values.
    let (mut d, mut u, mut v) = (vec![T::Real::ZERO; n], vec![T::ZERO; n * n], vec![T::ZERO; n * n]);
    let vectors = [MatMut::new(&mut u, square, n), MatMut::new(&mut v, square, n)];
    if !svd::tall(a.to_vec(), square, &mut d, Some(vectors)) {
        found.push(("no singular values", f64::NAN));
        return found;
    }
    let (u, v, d): (Wide, Wide, Vec<f64>) = (wide(&u), wide(&v), d.iter().map(|x| x.f64()).collect());
    assert!(d.windows(2).all(|x| x[0] >= x[1]) && d.iter().all(|&x| x >= 0.0), "not descending");
    let scaled: Wide = (0..n * n).map(|at| u[at] * d[at / n]).collect();
    found.push(("singular values", error::<T>(&exact, &product(&scaled, &adjoint(&v, square), whole), n)));
    let mut alone = vec![T::Real::ZERO; n];
    assert!(svd::tall(a.to_vec(), square, &mut alone, None), "no singular values without vectors");
    let apart = alone.iter().zip(&d).map(|(alone, d)| (alone.f64() - d).abs()).fold(0.0, f64::max);
    let unit = d[0] * n as f64 * T::Real::EPSILON;
    found.push(("singular values alone", if apart == 0.0 { 0.0 } else { apart / unit }));
    for vectors in [u, v] {
        let gram = product(&adjoint(&vectors, square), &vectors, whole);
        found.push(("singular vectors", error::<T>(&identity(n), &gram, n)));
    }
    // Cholesky, where there is a factor.
    let gram = product(&exact, &adjoint(&exact, square), whole);
    let shift = norm(&gram) * T::Real::EPSILON * n as f64 * 4.0;
    let positive: Vec<T> = narrow(
        &gram
            .iter()
            .enumerate()
            .map(|(at, &x)| if at / n == at % n { x + shift } else { x })
            .collect::<Wide>(),
    );
    if positive.iter().all(|x| x.is_finite()) && norm(&wide(&positive)) > 0.0 {
        let mut l = positive.clone();
        if cholesky::factorise(MatMut::new(&mut l, square, n)).is_ok() {
            let l = part(&l, &|i, j| i >= j);
            let whole_again = product(&l, &adjoint(&l, square), whole);
            found.push(("Cholesky", error::<T>(&wide(&positive), &whole_again, n)));
        }
    }
    // A triangular equation: the backward error is relative to the matrix and the solution.
    let triangle: Vec<T> = (0..n * n)
        .map(|at| match (at % n, at / n) {
            (i, j) if i == j && factors[at] == T::ZERO => T::ONE,
            (i, j) if i <= j => factors[at],
            _ => T::ZERO,
        })
        .collect();
    let right: Vec<T> = (0..n).map(|i| T::of(1.0 + (i % 3) as f64)).collect();
    let mut x = right.clone();
    let kind = Triangle { lower: false, unit: false };
    solve(MatRef::new(&triangle, square, n), kind, MatMut::new(&mut x, [n, 1], n));
    if x.iter().all(|x| x.is_finite()) {
        let (t, x, right) = (wide(&triangle), wide(&x), wide(&right));
        let residual: Wide = product(&t, &x, [n, n, 1]).iter().zip(&right).map(|(a, b)| a - b).collect();
        let unit = (norm(&t) * norm(&x) + norm(&right)) * n as f64 * T::Real::EPSILON;
        found.push(("triangular solve", norm(&residual) / unit));
    }
    found
}

/// Holds all matrices of a type to [`MOST`], and writes a line for each.
fn check<T: Scalar>(name: &str, table: &mut String, failures: &mut Vec<String>) {
    for n in [1, 2, 5, 10, 33, 60, 130] {
        for (matrix, a) in matrices(n) {
            let a: Vec<T> = narrow(&a);
            let all = errors(&a, n);
            let worst =
                all.iter().fold(
                    ("none", 0.0),
                    |worst, &(what, x)| {
                        if x > worst.1 || x.is_nan() {
                            (what, x)
                        } else {
                            worst
                        }
                    },
                );
            writeln!(table, "{name:5} {matrix:16} {n:4}: {:.2} ({})", worst.1, worst.0).unwrap();
            for (what, x) in all {
                if x > MOST || x.is_nan() {
                    failures.push(format!("{name} {matrix} {n}: {what} {x:.2}"));
                }
            }
        }
    }
}

#[test]
fn factorisations_of_hard_matrices_are_backward_stable() {
    let (mut table, mut failures) = (String::new(), Vec::new());
    check::<f64>("f64", &mut table, &mut failures);
    check::<f32>("f32", &mut table, &mut failures);
    check::<Complex<f64>>("c128", &mut table, &mut failures);
    check::<Complex<f32>>("c64", &mut table, &mut failures);
    println!("{table}");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn elements_that_are_not_finite_spread_or_are_said() {
    for bad in [f64::NAN, f64::INFINITY] {
        let n = 40;
        let mut a: Vec<f64> = (0..n * n).map(|at| if at % n == at / n { 2.0 } else { 0.1 }).collect();
        (a[5 + 7 * n], a[7 + 5 * n]) = (bad, bad);
        assert!(cholesky::factorise(MatMut::new(&mut a.clone(), [n, n], n)).is_err());
        let (mut values, mut v) = (vec![0.0; n], vec![0.0; n * n]);
        assert!(!eigen::hermitian(a.clone(), n, &mut values, Some(MatMut::new(&mut v, [n, n], n))));
        assert!(!svd::tall(a.clone(), [n, n], &mut values, None));
        let (mut pivots, mut factors) = (vec![0; n], a.clone());
        lu::factorise(MatMut::new(&mut factors, [n, n], n), &mut pivots);
        assert!(factors.iter().any(|x| !x.is_finite()));
        let mut r = a.clone();
        qr::factorise(MatMut::new(&mut a.clone(), [n, n], n), MatMut::new(&mut r, [n, n], n));
        assert!(r.iter().any(|x| x.is_nan()));
    }
}

#[test]
fn the_first_pivot_that_is_not_positive_is_named() {
    for (n, bad) in [(3, 1), (40, 0), (40, 17), (40, 39), (200, 150)] {
        let mut a: Vec<f64> = (0..n * n).map(|at| if at % n == at / n { 2.0 } else { 0.001 }).collect();
        a[bad + bad * n] = -1.0;
        assert_eq!(cholesky::factorise(MatMut::new(&mut a, [n, n], n)), Err(bad));
    }
}

/// Holds the QR factors of a tall, a square or a wide matrix to it.
fn check_sides<T: Scalar>([m, n]: [usize; 2], full: bool) {
    let mut next = random((m + 7 * n) as u64);
    let a: Vec<T> =
        (0..m * n).map(|_| T::parts(T::Real::from_f64(next()), T::Real::from_f64(next()))).collect();
    let k = if full { m } else { m.min(n) };
    let shape = |rows, columns| Shape::try_new(vec![rows, columns]).unwrap();
    let [of_a, of_q, of_r] = [shape(m, n), shape(m, k), shape(k, n)];
    // What is in the results before is of no use.
    let nan = T::of(f64::NAN);
    let (mut q, mut r) = (vec![nan; m * k], vec![nan; k * n]);
    let layout = Layout::dense(&of_a);
    let x = View { dtype: T::DTYPE, shape: &of_a, layout: &layout, data: cast::bytes(&a) };
    tensors::qr(
        &[x],
        &mut [
            ViewMut { dtype: T::DTYPE, shape: &of_q, data: cast::bytes_mut(&mut q) },
            ViewMut { dtype: T::DTYPE, shape: &of_r, data: cast::bytes_mut(&mut r) },
        ],
        0,
    );
    let (q, r) = (wide(&q), wide(&r));
    let case = format!("{m} {n} {full}");
    assert!((0..k * n).all(|at| at % k <= at / k || r[at] == Complex::default()), "{case}: no triangle");
    let most = |found: f64| assert!(found <= MOST, "{case}: {found}");
    most(error::<T>(&wide(&a), &product(&q, &r, [m, k, n]), m.max(n)));
    most(error::<T>(&identity(k), &product(&adjoint(&q, [m, k]), &q, [k, m, k]), m));
}

#[test]
fn matrices_of_all_sides_have_qr_factors() {
    for sides in [[1, 3], [3, 1], [60, 7], [7, 60], [130, 100], [100, 130], [48, 97], [97, 97]] {
        for full in [false, true] {
            check_sides::<f64>(sides, full);
            check_sides::<f32>(sides, full);
            check_sides::<Complex<f64>>(sides, full);
        }
    }
}

/// The singular values, descending, of the upper bidiagonal matrix with the diagonal `d` and `above` it.
fn of_bidiagonal(d: &[f64], above: &[f64]) -> Vec<f64> {
    let n = d.len();
    let mut a = vec![0.0; n * n];
    d.iter().enumerate().for_each(|(i, &x)| a[i + i * n] = x);
    above.iter().enumerate().for_each(|(i, &x)| a[i + (i + 1) * n] = x);
    let mut values = vec![0.0; n];
    assert!(svd::tall(a, [n, n], &mut values, None));
    assert!(values.windows(2).all(|x| x[0] >= x[1]) && values[n - 1] >= 0.0);
    values
}

/// Small singular values of bidiagonal matrices are as accurate as large ones (Demmel and Kahan, *Accurate singular
/// values of bidiagonal matrices*, 1990). The matrix of ones has the values `2 * cos(k * pi / (2 * n + 1))`; the
/// product of all values is that of the diagonal.
#[test]
fn singular_values_of_bidiagonal_matrices_have_small_relative_errors() {
    for n in [1, 2, 3, 4, 7, 26, 100, 400] {
        let most = 20.0 * n as f64 * f64::EPSILON;
        for scale in [1.0, 1e-150, 1e150] {
            let found = of_bidiagonal(&vec![scale; n], &vec![scale; n - 1]);
            for (k, found) in (1..).zip(found) {
                let exact = 2.0 * (k as f64 * std::f64::consts::PI / (2 * n + 1) as f64).cos() * scale;
                assert!((found - exact).abs() <= most * exact, "{n} {k}: {found} {exact}");
            }
        }
        let mut rng = Rng::new(71 + n as u64);
        let mut unit = || rng.below(1 << 20) as f64 / (1 << 20) as f64;
        for grade in [0.0, -12.0, 12.0, -100.0, 100.0] {
            let mut line = |less: usize| -> Vec<f64> {
                let size = |i: usize| 10f64.powf(grade * i as f64 / n as f64);
                (0..n - less).map(|i| size(i) * (0.1 + unit())).collect()
            };
            let (d, above) = (line(0), line(1));
            let product = |x: &[f64]| x.iter().map(|x| x.ln()).sum::<f64>();
            let (found, exact) = (product(&of_bidiagonal(&d, &above)), product(&d));
            // Each value has its error, and logarithms are as large as the grade.
            let bound = most * n as f64 + 1e-15 * n as f64 * (1.0 + grade.abs());
            assert!((found - exact).abs() <= bound, "{n} {grade}: {found} {exact}");
        }
        // Zeros, on the diagonal and above it, cut the matrix into parts; so does what is next to nothing.
        let mut line = |less: usize| -> Vec<f64> {
            let sizes = [0.0, 1e-155, 1e-162, 1.0, 1.0, 1.0, 1.0];
            (0..n - less).map(|_| unit() * sizes[(unit() * 7.0) as usize]).collect()
        };
        let (d, above) = (line(0), line(1));
        let found = of_bidiagonal(&d, &above);
        let squares = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
        let exact = squares(&d) + squares(&above);
        assert!((squares(&found) - exact).abs() <= most * exact.max(1.0), "{n}");
    }
}
