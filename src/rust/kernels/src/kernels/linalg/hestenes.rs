//! Singular values and vectors of small real matrices, several at once, by Hestenes' method: rotations make one
//! pair of columns orthogonal after the other, until all are (Demmel and Veselic, *Jacobi's method is more accurate
//! than QR*, 1992). The lengths of the columns are the singular values then, their directions the left vectors, and
//! the product of the rotations has the right ones.

use super::jacobi::{exchange_where, scaled};
use super::lanes::{Lane, LANES};
use super::scalar::Real;
use crate::kernels::wide::{wide_loop, Loop};

/// Columns up to which this is faster than the reduction to bidiagonal form, for a batch.
pub const MOST: usize = 8;

/// Sweeps over all pairs after which a matrix is given up. Convergence is quadratic: six or seven do.
const SWEEPS: usize = 40;

/// Singular values, descending, of the matrices in `a [m, n]` with `m >= n`, whose columns become the left
/// vectors. `right [n, n]` becomes the right vectors; it is empty if values alone are asked for, and what becomes of
/// `a` is not said then. All are NaN for a matrix with an element that is not finite.
pub fn tall<T: Real>(a: &mut [Lane<T>], sizes: [usize; 2], values: &mut [Lane<T>], right: &mut [Lane<T>]) {
    wide_loop(Tall { a, sizes, values, right })
}

struct Tall<'a, T> {
    a: &'a mut [Lane<T>],
    sizes: [usize; 2],
    values: &'a mut [Lane<T>],
    right: &'a mut [Lane<T>],
}

/// The inner products of two columns.
#[inline(always)]
fn inner<T: Real>(x: &[Lane<T>], y: &[Lane<T>]) -> Lane<T> {
    let mut sum = [T::ZERO; LANES];
    for (x, y) in x.iter().zip(y) {
        (0..LANES).for_each(|l| sum[l] += x[l] * y[l]);
    }
    sum
}

/// Columns `p < q` of `m` rows.
#[inline(always)]
fn columns<T>(a: &mut [Lane<T>], m: usize, p: usize, q: usize) -> [&mut [Lane<T>]; 2] {
    let (left, right) = a.split_at_mut(q * m);
    [&mut left[p * m..][..m], &mut right[..m]]
}

/// `x` becomes `c * x - s * y`, and `y` becomes `s * x + c * y`.
#[inline(always)]
fn rotate<T: Real>([x, y]: [&mut [Lane<T>]; 2], c: &Lane<T>, s: &Lane<T>) {
    for (x, y) in x.iter_mut().zip(y) {
        for l in 0..LANES {
            let (first, second) = (x[l], y[l]);
            x[l] = c[l] * first - s[l] * second;
            y[l] = s[l] * first + c[l] * second;
        }
    }
}

impl<T: Real> Loop for Tall<'_, T> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let Tall { a, sizes: [m, n], values, right } = self;
        let (zero, one) = (T::ZERO, T::ONE);
        let size = a.len();
        let (scale, fails) = scaled(a, std::iter::once(0..size));
        if !right.is_empty() {
            right.fill([zero; LANES]);
            (0..n).for_each(|j| right[j * (n + 1)] = [one; LANES]);
        }
        // The cosine of the angle of columns that are orthogonal but for rounding.
        let enough = T::of((m as f64).sqrt() * T::EPSILON);
        // A matrix that is done stays as it is, whatever its neighbours need.
        let mut goes = [true; LANES];
        for _ in 0..SWEEPS {
            let mut turned = [false; LANES];
            for p in 0..n {
                for q in p + 1..n {
                    let [x, y] = columns(a, m, p, q);
                    let (xx, yy, xy) = (inner(x, x), inner(y, y), inner(x, y));
                    let (mut c, mut s) = ([one; LANES], [zero; LANES]);
                    for l in 0..LANES {
                        // The smaller root of t^2 + 2 r t - 1, without cancellation; 0 for an infinite r.
                        let r = (yy[l] - xx[l]) / (xy[l] + xy[l]);
                        let size = one / (r.abs() + (r * r + one).root());
                        let turn = if r < zero { -size } else { size };
                        let is = goes[l]
                            & (xy[l].abs() > enough * (xx[l] * yy[l]).root())
                            & has_direction(xx[l])
                            & has_direction(yy[l]);
                        let t = if is { turn } else { zero };
                        turned[l] |= is;
                        c[l] = one / (t * t + one).root();
                        s[l] = t * c[l];
                    }
                    rotate([x, y], &c, &s);
                    if !right.is_empty() {
                        rotate(columns(right, n, p, q), &c, &s);
                    }
                }
            }
            goes = turned;
            if !goes.contains(&true) {
                break;
            }
        }
        for (value, x) in values.iter_mut().zip(a.chunks_exact(m)) {
            *value = inner(x, x).map(Real::root);
        }
        // Sorted by exchanges of neighbours.
        for end in (1..n).rev() {
            for j in 0..end {
                let (first, second) = (values[j], values[j + 1]);
                let mut turns = [false; LANES];
                (0..LANES).for_each(|l| turns[l] = second[l] > first[l]);
                exchange_where(&turns, values, j, j + 1);
                if !right.is_empty() {
                    (0..m).for_each(|k| exchange_where(&turns, a, k + j * m, k + (j + 1) * m));
                    (0..n).for_each(|k| exchange_where(&turns, right, k + j * n, k + (j + 1) * n));
                }
            }
        }
        if !right.is_empty() {
            let mut lacks = [false; LANES];
            for (value, x) in values.iter().zip(a.chunks_exact_mut(m)) {
                let inverse = value.map(|x| one / x);
                (0..LANES).for_each(|l| lacks[l] |= !has_direction(value[l] * value[l]));
                for x in x {
                    (0..LANES).for_each(|l| x[l] *= inverse[l]);
                }
            }
            (0..LANES).filter(|&l| lacks[l]).for_each(|l| complete(a, [m, n], values, l));
        }
        for x in values.iter_mut() {
            (0..LANES).for_each(|l| x[l] = T::of(x[l].f64() / scale[l]));
        }
        if fails.contains(&true) {
            for x in values.iter_mut().chain(a).chain(right) {
                (0..LANES).filter(|&l| fails[l]).for_each(|l| x[l] = T::of(f64::NAN));
            }
        }
    }
}

/// Whether a column with this sum of squares is more than rounding, in a matrix whose largest element is near 1: that
/// of the products of two such sums is a normal number.
#[inline(always)]
fn has_direction<T: Real>(square: T) -> bool {
    square > T::of(if T::EPSILON > 1e-10 { 1e-18 } else { 1e-153 })
}

/// Unit vectors that are orthogonal to the others, for the left vectors of columns without a direction in lane `l`:
/// the axes that are the farthest from the space of the others.
fn complete<T: Real>(u: &mut [Lane<T>], [m, n]: [usize; 2], values: &[Lane<T>], l: usize) {
    let is_made = |j: usize| has_direction(values[j][l] * values[j][l]);
    let mut made: Vec<usize> = (0..n).filter(|&j| is_made(j)).collect();
    for j in (0..n).filter(|&j| !is_made(j)) {
        let mut best: (T, Vec<T>) = (T::ZERO, vec![T::ZERO; m]);
        for axis in 0..m {
            let mut x = vec![T::ZERO; m];
            x[axis] = T::ONE;
            // The second time takes away what rounding left.
            for _ in 0..2 {
                for &k in &made {
                    let by = (0..m).fold(T::ZERO, |sum, i| sum + u[i + k * m][l] * x[i]);
                    (0..m).for_each(|i| x[i] -= by * u[i + k * m][l]);
                }
            }
            let size = x.iter().fold(T::ZERO, |sum, &x| sum + x * x).root();
            if size > best.0 {
                best = (size, x);
            }
        }
        (0..m).for_each(|i| u[i + j * m][l] = best.1[i] / best.0);
        made.push(j);
    }
}
