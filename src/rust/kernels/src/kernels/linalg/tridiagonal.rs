//! Hermitian matrices to tridiagonal ones, by blocks of columns (Dongarra, Sorensen and Hammarling, *Block
//! reduction of matrices to condensed forms for eigenvalue computations*, 1989): half of the work is in
//! products, half reads the rest of the matrix once for each column.

use super::reflector::{adjoint_of, apply, inner, reflector, total, triangle, LANES};
use super::scalar::{multiply_lower, Real, Scalar};
use super::view::{MatMut, MatRef};
use crate::kernels::memory::room::Room;
use crate::kernels::memory::zeroed;
use crate::kernels::products::matrix::Sums;
use crate::kernels::threads::pool;
use crate::kernels::wide::{wide_loop, Loop};
use crate::stop;

/// Columns of a block.
const BLOCK: usize = 32;

/// Rows from which on the product with the rest of the matrix is cut into pieces for threads.
const SHARED: usize = 256;

/// Pieces that it is cut into.
const PIECES: usize = 8;

/// A real tridiagonal matrix `t`, and the reflectors of `q` with `q * t * q^H` the matrix it was made of.
pub struct Tridiagonal<T: Scalar> {
    /// The diagonal.
    pub diagonal: Vec<f64>,
    /// Below the diagonal, one less.
    pub below: Vec<f64>,
    /// Reflectors: column `i` has those elements of `v` that are below row `i`.
    v: Vec<T>,
    tau: Vec<T>,
}

/// Reduces the Hermitian matrix whose lower triangle is in `a [n, n]`, column-major; the upper one is not read.
pub fn reduce<T: Scalar>(mut a: Vec<T>, n: usize) -> Tridiagonal<T> {
    let (mut diagonal, mut below) = (vec![0.0; n], vec![0.0; n.saturating_sub(1)]);
    let mut tau = zeroed::<T>(n);
    let mut w = zeroed::<T>(n * BLOCK);
    for start in (0..n).step_by(BLOCK) {
        let end = n.min(start + BLOCK);
        for i in start..end {
            let past = i - start;
            // The column as the reflectors of this block leave it.
            for k in 0..past {
                let (v, column) = two(&mut a, n, start + k, i);
                let w = &w[k * n..][..n];
                let (by_v, by_w) = (w[i].conj(), v[i].conj());
                wide_loop(TwoColumns { out: &mut column[i..], v: &v[i..], w: &w[i..], by_v, by_w });
            }
            diagonal[i] = a[i + i * n].re().f64();
            if i + 1 == n {
                break;
            }
            let (factor, beta) = wide_loop(Reflect(&mut a[i * n..][i + 1..n]));
            (tau[i], below[i]) = (factor, beta.f64());
            stop::work((n - i) * (n - i) / 8);
            let rest = MatRef::new(&a, [n, n], n).block(i + 1..n, i + 1..n);
            product(rest, &a[i * n..][i + 1..n], &mut w[past * n..][i + 1..n]);
            let (before, now) = w.split_at_mut(past * n);
            wide_loop(Correct { a: &a, before, out: &mut now[i + 1..n], n, start, i, tau: factor });
        }
        if end == n {
            break;
        }
        // The rest of the matrix, of which the lower triangle is needed.
        let (left, right) = a.split_at_mut(end * n);
        let mut rest = MatMut::new(right, [n, n - end], n).block(end..n, 0..n - end);
        let v = MatRef::new(left, [n, end], n).block(end..n, start..end);
        let w = MatRef::new(&w, [n, end - start], n).block(end..n, 0..end - start);
        let (mut v_room, mut w_room) = (Vec::new(), Vec::new());
        multiply_lower(rest.again(), v, adjoint_of(w, &mut w_room), Sums::Subtract);
        multiply_lower(rest, w, adjoint_of(v, &mut v_room), Sums::Subtract);
    }
    Tridiagonal { diagonal, below, v: a, tau }
}

/// Two columns of a matrix, the second one to be written.
fn two<T>(a: &mut [T], n: usize, first: usize, second: usize) -> (&[T], &mut [T]) {
    let (left, right) = a.split_at_mut(second * n);
    (&left[first * n..][..n], &mut right[..n])
}

impl<T: Scalar> Tridiagonal<T> {
    /// `z` becomes `q * z`.
    pub fn transform(&self, mut z: MatMut<T>) {
        /// Reflectors that are applied by one product.
        const TOGETHER: usize = 64;
        let n = self.diagonal.len();
        let columns = z.columns();
        let (last, mut room) = (n.saturating_sub(1), Room::default());
        for start in (0..last).step_by(TOGETHER).rev() {
            let end = last.min(start + TOGETHER);
            let rows = n - start - 1;
            let mut v = zeroed(rows * (end - start));
            for (j, v) in (start..end).zip(v.chunks_exact_mut(rows)) {
                v[j - start..].copy_from_slice(&self.v[j * n..][j + 1..n]);
            }
            let v = MatRef::new(&v, [rows, end - start], rows);
            let t = triangle(v, &self.tau[start..end]);
            let t = MatRef::new(&t, [end - start; 2], end - start);
            apply(v, t, z.again().block(start + 1..n, 0..columns), false, &mut room);
        }
    }
}

/// `out -= v * by_v + w * by_w`.
struct TwoColumns<'a, T> {
    out: &'a mut [T],
    v: &'a [T],
    w: &'a [T],
    by_v: T,
    by_w: T,
}

impl<T: Scalar> Loop for TwoColumns<'_, T> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let TwoColumns { out, v, w, by_v, by_w } = self;
        out.iter_mut().zip(v.iter().zip(w)).for_each(|(out, (&v, &w))| *out -= v * by_v + w * by_w);
    }
}

/// A reflector.
struct Reflect<'a, T>(&'a mut [T]);

impl<T: Scalar> Loop for Reflect<'_, T> {
    type Made = (T, T::Real);

    #[inline(always)]
    fn run(self) -> (T, T::Real) {
        reflector(self.0)
    }
}

/// What the reflectors of the block before this one change in the product with the rest of the matrix, and the
/// rest of the formula of `w`.
struct Correct<'a, T> {
    a: &'a [T],
    before: &'a [T],
    out: &'a mut [T],
    n: usize,
    start: usize,
    i: usize,
    tau: T,
}

impl<T: Scalar> Loop for Correct<'_, T> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let Correct { a, before, out, n, start, i, tau } = self;
        let x = &a[i * n..][i + 1..n];
        for (k, w) in before.chunks_exact(n).enumerate() {
            let (v, w) = (&a[(start + k) * n..][i + 1..n], &w[i + 1..]);
            let (by_v, by_w) = (inner(w, x), inner(v, x));
            out.iter_mut().zip(v.iter().zip(w)).for_each(|(out, (&v, &w))| *out -= v * by_v + w * by_w);
        }
        out.iter_mut().for_each(|w| *w *= tau);
        let alpha = -(tau * inner(out, x)).times(T::Real::of(0.5));
        out.iter_mut().zip(x).for_each(|(w, &x)| *w += alpha * x);
    }
}

/// `out = a * x` for the Hermitian matrix whose lower triangle is in `a`.
fn product<T: Scalar>(a: MatRef<T>, x: &[T], out: &mut [T]) {
    let n = a.rows();
    // Cut by the size alone, so that the bits do not depend on threads.
    let pieces = if n < SHARED { 1 } else { PIECES };
    // Columns up to here have as many elements as there are in so many pieces.
    let cut = |piece: usize| {
        let left = 1.0 - piece as f64 / pieces as f64;
        (n - (n as f64 * left.sqrt()) as usize).next_multiple_of(COLUMNS).min(n)
    };
    if pieces == 1 {
        out.fill(T::ZERO);
        return wide_loop(Hermitian { a, x, from: 0, to: n, out });
    }
    let mut sums = zeroed::<T>(pieces * n);
    let picoseconds = n * n / 2 * std::mem::size_of::<T>() * 16;
    pool::for_each_chunk(&mut sums, n, picoseconds, |piece, sums| {
        let (from, to) = (cut(piece), cut(piece + 1));
        wide_loop(Hermitian { a, x, from, to, out: &mut sums[from..] });
    });
    out.copy_from_slice(&sums[..n]);
    for (piece, sums) in sums.chunks_exact(n).enumerate().skip(1) {
        let from = cut(piece);
        out[from..].iter_mut().zip(&sums[from..]).for_each(|(out, &x)| *out += x);
    }
}

/// Columns that are read together.
const COLUMNS: usize = 4;

/// The terms of `a * x` with the elements of some columns below the diagonal, with those on it, and with those
/// that mirror the ones below it, added to rows from the first of these columns on.
struct Hermitian<'a, T> {
    a: MatRef<'a, T>,
    x: &'a [T],
    from: usize,
    to: usize,
    out: &'a mut [T],
}

impl<T: Scalar> Loop for Hermitian<'_, T> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let Hermitian { a, x, from, to, out } = self;
        let n = a.rows();
        let mut j = from;
        while j < to {
            let count = COLUMNS.min(to - j);
            // The triangle at the diagonal.
            for k in j..j + count {
                let column = a.column(k);
                out[k - from] += T::real(column[k].re()) * x[k];
                for i in k + 1..j + count {
                    out[i - from] += column[i] * x[k];
                    out[k - from] += column[i].conj() * x[i];
                }
            }
            let first = j + count;
            let rows = n - first;
            if count == COLUMNS {
                let column = |k: usize| &a.column(j + k)[first..];
                let [c0, c1, c2, c3] = [column(0), column(1), column(2), column(3)];
                let by = [x[j], x[j + 1], x[j + 2], x[j + 3]];
                let mut dots = [[T::ZERO; LANES]; COLUMNS];
                let (mirrored, below) = (&x[first..], &mut out[first - from..]);
                let whole = rows / LANES * LANES;
                // One loop for each vector: the compiler makes vectors of no more than one at a time.
                for at in (0..whole).step_by(LANES) {
                    let part = |c: &[T]| -> [T; LANES] { c[at..at + LANES].try_into().expect("as many") };
                    let (columns, x) = ([part(c0), part(c1), part(c2), part(c3)], part(mirrored));
                    let mut sums = part(below);
                    for (column, by) in columns.iter().zip(by) {
                        sums.iter_mut().zip(column).for_each(|(sum, &c)| *sum += c * by);
                    }
                    below[at..at + LANES].copy_from_slice(&sums);
                    for (dots, column) in dots.iter_mut().zip(&columns) {
                        let terms: [T; LANES] = std::array::from_fn(|l| column[l].conj() * x[l]);
                        dots.iter_mut().zip(terms).for_each(|(dot, term)| *dot += term);
                    }
                }
                for (l, i) in (whole..rows).enumerate() {
                    for ((dots, c), by) in dots.iter_mut().zip([c0, c1, c2, c3]).zip(by) {
                        below[i] += c[i] * by;
                        dots[l] += c[i].conj() * mirrored[i];
                    }
                }
                for (out, dots) in out[j - from..].iter_mut().zip(dots) {
                    *out += total(dots);
                }
            } else {
                for k in j..j + count {
                    for (i, &c) in (first..n).zip(&a.column(k)[first..]) {
                        out[i - from] += c * x[k];
                        out[k - from] += c.conj() * x[i];
                    }
                }
            }
            j += count;
        }
    }
}
