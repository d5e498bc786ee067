//! Eigenvalues and eigenvectors of small real symmetric matrices, several at once, by Jacobi's method: rotations
//! make one pair of elements beside the diagonal 0 after the other, until all are (Golub and Van Loan, *Matrix
//! computations*, section 8.5).

use super::lanes::{Lane, LANES};
use super::scalar::{beside, Real};
use crate::kernels::wide::{wide_loop, Loop};
use std::ops::Range;

/// Rows up to which this is faster than the reduction to tridiagonal form, for a batch.
pub const MOST: usize = 8;

/// Sweeps over all pairs after which a matrix is given up. Convergence is quadratic: six or seven do.
const SWEEPS: usize = 40;

/// Eigenvalues, ascending, of the symmetric matrices whose lower triangles are in `a [n, n]`, which is
/// overwritten; the upper ones are not read. `vectors` becomes the matrices of the orthonormal eigenvectors, if they
/// are asked for. Values and vectors of a matrix with an element that is not finite are NaN.
pub fn symmetric<T: Real>(
    a: &mut [Lane<T>],
    n: usize,
    values: &mut [Lane<T>],
    vectors: Option<&mut [Lane<T>]>,
) {
    wide_loop(Symmetric { a, n, values, vectors: vectors.unwrap_or_default() })
}

struct Symmetric<'a, T> {
    a: &'a mut [Lane<T>],
    n: usize,
    values: &'a mut [Lane<T>],
    /// None, or of as many elements as the matrices.
    vectors: &'a mut [Lane<T>],
}

/// `x` becomes `c * x - s * y`, and `y` becomes `s * x + c * y`.
#[inline(always)]
fn rotate<T: Real>(rows: &mut [Lane<T>], x: usize, y: usize, c: &Lane<T>, s: &Lane<T>) {
    let (mut first, mut second) = (rows[x], rows[y]);
    for l in 0..LANES {
        let (x, y) = (first[l], second[l]);
        first[l] = c[l] * x - s[l] * y;
        second[l] = s[l] * x + c[l] * y;
    }
    (rows[x], rows[y]) = (first, second);
}

/// Scales the elements in `parts` by a power of 2 for each matrix, so that no square overflows or vanishes that
/// matters. Gives the powers, and which matrices have an element that is not finite: they become 0.
#[inline(always)]
pub(super) fn scaled<T: Real>(
    a: &mut [Lane<T>],
    parts: impl Iterator<Item = Range<usize>> + Clone,
) -> ([f64; LANES], [bool; LANES]) {
    let (mut largest, mut fails) = ([T::ZERO; LANES], [false; LANES]);
    for part in parts.clone() {
        for x in &a[part] {
            for l in 0..LANES {
                let size = x[l].abs();
                fails[l] |= !size.is_finite();
                largest[l] = if largest[l] < size { size } else { largest[l] };
            }
        }
    }
    let scale: [f64; LANES] = std::array::from_fn(|l| if fails[l] { 0.0 } else { beside(largest[l].f64()) });
    for part in parts {
        for x in &mut a[part] {
            (0..LANES).for_each(|l| x[l] = if fails[l] { T::ZERO } else { T::of(x[l].f64() * scale[l]) });
        }
    }
    (scale, fails)
}

/// Exchanges elements `i` and `k` where it is said so.
#[inline(always)]
pub(super) fn exchange_where<T: Copy>(turns: &[bool; LANES], x: &mut [Lane<T>], i: usize, k: usize) {
    let (first, second) = (x[i], x[k]);
    for l in 0..LANES {
        x[i][l] = if turns[l] { second[l] } else { first[l] };
        x[k][l] = if turns[l] { first[l] } else { second[l] };
    }
}

impl<T: Real> Loop for Symmetric<'_, T> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let Symmetric { a, n, values, vectors } = self;
        let (zero, one) = (T::ZERO, T::ONE);
        let (scale, fails) = scaled(a, (0..n).map(|j| j * n + j..(j + 1) * n));
        if !vectors.is_empty() {
            vectors.fill([zero; LANES]);
            (0..n).for_each(|j| vectors[j * (n + 1)] = [one; LANES]);
        }
        // Elements beside the diagonal that change no eigenvalue by more than a rounding error.
        let enough = T::of((T::EPSILON / 16.0).powi(2));
        for _ in 0..SWEEPS {
            let (mut beside, mut on) = ([zero; LANES], [zero; LANES]);
            for j in 0..n {
                let x = a[j * (n + 1)];
                (0..LANES).for_each(|l| on[l] += x[l] * x[l]);
                for x in &a[j * n + j + 1..(j + 1) * n] {
                    (0..LANES).for_each(|l| beside[l] += x[l] * x[l]);
                }
            }
            // A matrix that is done stays as it is, whatever its neighbours need.
            let mut goes = [false; LANES];
            (0..LANES).for_each(|l| goes[l] = beside[l] > enough * on[l]);
            if !goes.contains(&true) {
                break;
            }
            for p in 0..n {
                for q in p + 1..n {
                    let (app, aqq, apq) = (a[p * (n + 1)], a[q * (n + 1)], a[q + p * n]);
                    let (mut c, mut s, mut t) = ([one; LANES], [zero; LANES], [zero; LANES]);
                    for l in 0..LANES {
                        // The smaller root of t^2 + 2 r t - 1, without cancellation; 0 for an infinite r.
                        let r = (aqq[l] - app[l]) / (apq[l] + apq[l]);
                        let size = one / (r.abs() + (r * r + one).root());
                        let turn = if r < zero { -size } else { size };
                        let is = goes[l] & (apq[l] != zero);
                        t[l] = if is { turn } else { zero };
                        c[l] = one / (t[l] * t[l] + one).root();
                        s[l] = t[l] * c[l];
                    }
                    for l in 0..LANES {
                        a[p * (n + 1)][l] = app[l] - t[l] * apq[l];
                        a[q * (n + 1)][l] = aqq[l] + t[l] * apq[l];
                        a[q + p * n][l] = if goes[l] { zero } else { apq[l] };
                    }
                    (0..p).for_each(|k| rotate(a, p + k * n, q + k * n, &c, &s));
                    (p + 1..q).for_each(|k| rotate(a, k + p * n, q + k * n, &c, &s));
                    (q + 1..n).for_each(|k| rotate(a, k + p * n, k + q * n, &c, &s));
                    if !vectors.is_empty() {
                        (0..n).for_each(|k| rotate(vectors, k + p * n, k + q * n, &c, &s));
                    }
                }
            }
        }
        (0..n).for_each(|j| values[j] = a[j * (n + 1)]);
        // Sorted by exchanges of neighbours.
        for end in (1..n).rev() {
            for j in 0..end {
                let (first, second) = (values[j], values[j + 1]);
                let mut turns = [false; LANES];
                (0..LANES).for_each(|l| turns[l] = second[l] < first[l]);
                exchange_where(&turns, values, j, j + 1);
                if !vectors.is_empty() {
                    (0..n).for_each(|k| exchange_where(&turns, vectors, k + j * n, k + (j + 1) * n));
                }
            }
        }
        for x in values.iter_mut() {
            (0..LANES).for_each(|l| x[l] = T::of(x[l].f64() / scale[l]));
        }
        if fails.contains(&true) {
            for x in values.iter_mut().chain(vectors) {
                (0..LANES).filter(|&l| fails[l]).for_each(|l| x[l] = T::of(f64::NAN));
            }
        }
    }
}
