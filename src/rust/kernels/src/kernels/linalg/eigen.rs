//! Eigenvalues and eigenvectors of Hermitian matrices.
//!
//! The matrix is made tridiagonal ([`super::tridiagonal`]); eigenvalues and eigenvectors of that by divide and
//! conquer (Cuppen, *A divide and conquer method for the symmetric tridiagonal eigenproblem*, 1981; Gu and
//! Eisenstat, *A divide-and-conquer algorithm for the symmetric tridiagonal eigenproblem*, 1995): halves are
//! joined by an update of rank one, whose eigenvalues are the roots of a secular equation
//! ([`super::secular`]). Small ones by the QL method with implicit shifts (Dubrulle, Martin and Wilkinson, *The
//! implicit QL algorithm*, 1968).

use super::scalar::{beside, hypot, multiply, Real, Scalar};
use super::secular::{ascending, join, Joined};
use super::tridiagonal::reduce;
use super::view::{MatMut, MatRef};
use crate::dtype::Element;
use crate::kernels::memory::zeroed;
use crate::kernels::products::matrix::Sums;
use crate::kernels::wide::{wide_loop, Loop};
use crate::stop;

/// Rows up to which a tridiagonal matrix is not divided.
const BASE: usize = 32;

/// Eigenvalues, ascending, of the Hermitian matrix whose lower triangle is in `a [n, n]`, column-major; the
/// upper one is not read. `vectors` becomes the matrix of the orthonormal eigenvectors, if it is asked for.
/// Gives whether that was possible: it is not if an element is not finite.
pub fn hermitian<T: Scalar>(
    mut a: Vec<T>,
    n: usize,
    values: &mut [T::Real],
    vectors: Option<MatMut<T>>,
) -> bool {
    let largest = (0..n).flat_map(|j| &a[j * n + j..(j + 1) * n]).try_fold(0.0, |most: f64, &x| {
        let size = x.re().f64().abs().max(x.im().f64().abs());
        (x.is_finite()).then(|| most.max(size))
    });
    let Some(largest) = largest else { return false };
    // Scaled by a power of 2, where squares of elements would overflow or vanish.
    let scale = scale_for::<T>(largest);
    if scale != 1.0 {
        a.iter_mut().for_each(|x| *x = x.times(T::Real::from_f64(scale)));
    }
    let reduced = reduce(a, n);
    let (mut d, mut e) = (reduced.diagonal.clone(), reduced.below.clone());
    // What is small enough to be left out depends on vectors of norm 1 beside the elements.
    let unit = beside(d.iter().chain(&e).fold(0.0, |most: f64, x| most.max(x.abs())));
    d.iter_mut().chain(&mut e).for_each(|x| *x *= unit);
    let scale = scale * unit;
    match vectors {
        None => {
            if !ql(&mut d, &e, None) {
                return false;
            }
            let order = ascending(&d, (0..n).collect());
            d = order.iter().map(|&i| d[i]).collect();
        }
        Some(mut vectors) => {
            let mut q = zeroed::<T::Real>(n * n);
            if !divide(&mut d, &mut e, MatMut::new(&mut q, [n, n], n)) {
                return false;
            }
            for (j, q) in q.chunks_exact(n.max(1)).enumerate() {
                vectors.column(j).iter_mut().zip(q).for_each(|(v, &q)| *v = T::real(q));
            }
            reduced.transform(vectors);
        }
    }
    values.iter_mut().zip(&d).for_each(|(out, &x)| *out = T::Real::from_f64(x / scale));
    true
}

/// A power of 2 which brings elements of this size to the middle of the range, if they are near its ends.
pub(super) fn scale_for<T: Scalar>(largest: f64) -> f64 {
    let single = T::Real::EPSILON > 1e-10;
    let [low, high] = if single { [1e-15, 1e15] } else { [1e-140, 1e140] };
    if largest == 0.0 || (low..=high).contains(&largest) {
        return 1.0;
    }
    // One that a single is.
    beside(largest).min(if single { 2f64.powi(120) } else { f64::MAX })
}

/// Eigenvalues, ascending, of a tridiagonal matrix with the diagonal `d` and `e` beside it; `q` becomes the
/// matrix of its eigenvectors.
fn divide<R: Real>(d: &mut [f64], e: &mut [f64], mut q: MatMut<R>) -> bool {
    let n = d.len();
    if n <= BASE {
        let mut vectors = vec![0.0; n * n];
        (0..n).for_each(|i| vectors[i * n + i] = 1.0);
        if !ql(d, e, Some(&mut vectors)) {
            return false;
        }
        let order = ascending(d, (0..n).collect());
        let sorted: Vec<f64> = order.iter().map(|&i| d[i]).collect();
        d.copy_from_slice(&sorted);
        for (j, &from) in order.iter().enumerate() {
            q.column(j).iter_mut().zip(&vectors[from * n..]).for_each(|(q, &x)| *q = R::from_f64(x));
        }
        return true;
    }
    stop::work(n * n);
    let half = n / 2;
    let rho = e[half - 1];
    d[half - 1] -= rho.abs();
    d[half] -= rho.abs();
    q.fill(R::ZERO);
    {
        let [[first, _], [_, last]] = q.again().split(half, half);
        let ((d1, d2), (e1, e2)) = (d.split_at_mut(half), e.split_at_mut(half));
        if !(divide(d1, &mut e1[..half - 1], first) && divide(d2, e2, last)) {
            return false;
        }
    }
    if rho == 0.0 {
        return sort(d, q);
    }
    let sign = if rho < 0.0 { -1.0 } else { 1.0 };
    let mut z: Vec<f64> = (0..half).map(|j| q.at(half - 1, j).f64()).collect();
    z.extend((half..n).map(|j| sign * q.at(half, j).f64()));
    let Some(joined) = join(d, &z, rho.abs(), half, q.again()) else { return false };
    update(d, q, half, joined)
}

/// Brings eigenvalues and their vectors into ascending order.
fn sort<R: Real>(d: &mut [f64], mut q: MatMut<R>) -> bool {
    let n = d.len();
    let order = ascending(d, (0..n).collect());
    let sorted: Vec<f64> = order.iter().map(|&i| d[i]).collect();
    d.copy_from_slice(&sorted);
    let mut copy = zeroed::<R>(n * n);
    for (&from, out) in order.iter().zip(copy.chunks_exact_mut(n)) {
        out.copy_from_slice(q.column(from));
    }
    q.copy(MatRef::new(&copy, [n, n], n));
    true
}

/// The eigenvectors of the joined halves: products of those of the halves with those of the update. Of the
/// former some have elements in the upper half only, then some in both, then some in the lower half only.
fn update<R: Real>(d: &mut [f64], mut q: MatMut<R>, half: usize, joined: Joined<R>) -> bool {
    let n = d.len();
    let Joined { order, kinds: [upper, both, lower], vectors, values, rest } = joined;
    let k = upper + both + lower;
    // The columns of the halves, in the order of the rows of `vectors`.
    let (mut above, mut below) =
        (zeroed::<R>(half * (upper + both)), zeroed::<R>((n - half) * (both + lower)));
    for (&from, out) in order[..upper + both].iter().zip(above.chunks_exact_mut(half)) {
        out.copy_from_slice(&q.column(from)[..half]);
    }
    for (&from, out) in order[upper..k].iter().zip(below.chunks_exact_mut(n - half)) {
        out.copy_from_slice(&q.column(from)[half..]);
    }
    let kept: Vec<Vec<R>> = rest.iter().map(|&from| q.column(from).to_vec()).collect();
    let kept_values: Vec<f64> = rest.iter().map(|&from| d[from]).collect();
    // Where each column goes: new ones first, then those that stay as they are.
    let all: Vec<f64> = values.iter().copied().chain(kept_values).collect();
    let places = ascending(&all, (0..n).collect());
    let mut made = zeroed::<R>(n * k);
    let u = MatRef::new(&vectors, [k, k], k);
    if k > 0 {
        let [top, bottom] = MatMut::new(&mut made, [n, k], n).split_rows(half);
        let first = MatRef::new(&above, [half, upper + both], half);
        multiply(top, first, u.block(0..upper + both, 0..k), Sums::Set);
        let last = MatRef::new(&below, [n - half, both + lower], n - half);
        multiply(bottom, last, u.block(upper..k, 0..k), Sums::Set);
    }
    for (j, from) in places.into_iter().enumerate() {
        d[j] = all[from];
        let column = if from < k { &made[from * n..][..n] } else { &kept[from - k] };
        q.column(j).copy_from_slice(column);
    }
    true
}

/// Eigenvalues of a tridiagonal matrix, in any order, by the QL method with implicit shifts; rotations are
/// applied to the columns of `vectors`. False if an eigenvalue does not converge.
pub(super) fn ql(d: &mut [f64], beside: &[f64], vectors: Option<&mut [f64]>) -> bool {
    wide_loop(Ql { d, beside, vectors: vectors.unwrap_or_default() })
}

struct Ql<'a> {
    d: &'a mut [f64],
    beside: &'a [f64],
    /// Columns, or none.
    vectors: &'a mut [f64],
}

impl Loop for Ql<'_> {
    type Made = bool;

    #[inline(always)]
    fn run(self) -> bool {
        /// Sweeps for one eigenvalue, at most: two are usual.
        const SWEEPS: usize = 60;
        let Ql { d, beside, vectors } = self;
        let n = d.len();
        // With a place for the element that is chased out at the end.
        let mut e: Vec<f64> = beside.iter().copied().chain([0.0]).collect();
        let size = d.iter().chain(&e).fold(0.0, |most: f64, x| most.max(x.abs()));
        let small = size * f64::EPSILON * f64::EPSILON;
        for l in 0..n {
            let mut sweeps = 0;
            loop {
                let splits = |&m: &usize| {
                    e[m].abs() <= f64::EPSILON / 2.0 * (d[m].abs() + d[m + 1].abs()) || e[m].abs() <= small
                };
                let m = (l..n - 1).find(splits).unwrap_or(n - 1);
                if m == l {
                    break;
                }
                sweeps += 1;
                if sweeps > SWEEPS {
                    return false;
                }
                stop::work(m - l);
                // Wilkinson's shift.
                let g = (d[l + 1] - d[l]) / (2.0 * e[l]);
                let r = hypot(g, 1.0);
                let mut g = d[m] - d[l] + e[l] / (g + if g < 0.0 { -r } else { r });
                let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
                let mut i = m;
                let finished = loop {
                    if i == l {
                        break true;
                    }
                    i -= 1;
                    let (f, b) = (s * e[i], c * e[i]);
                    let r = hypot(f, g);
                    e[i + 1] = r;
                    if r == 0.0 {
                        d[i + 1] -= p;
                        e[m] = 0.0;
                        break false;
                    }
                    (s, c) = (f / r, g / r);
                    g = d[i + 1] - p;
                    let t = (d[i] - g) * s + 2.0 * c * b;
                    p = s * t;
                    d[i + 1] = g + p;
                    g = c * t - b;
                    if !vectors.is_empty() {
                        let (x, y) = vectors[i * n..(i + 2) * n].split_at_mut(n);
                        for (x, y) in x.iter_mut().zip(y) {
                            (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
                        }
                    }
                };
                if finished {
                    d[l] -= p;
                    e[l] = g;
                    e[m] = 0.0;
                }
            }
        }
        true
    }
}
