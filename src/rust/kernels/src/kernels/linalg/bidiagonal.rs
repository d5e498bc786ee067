//! Matrices to upper bidiagonal ones, by blocks of columns (Dongarra, Sorensen and Hammarling, *Block reduction
//! of matrices to condensed forms for eigenvalue computations*, 1989): half of the work is in products, half
//! reads the rest of the matrix twice for each column.

use super::reflector::{adjoint_of, apply, inner, reflector, triangle, LANES};
use super::scalar::{multiply, Real, Scalar};
use super::view::{MatMut, MatRef};
use crate::kernels::memory::room::Room;
use crate::kernels::memory::zeroed;
use crate::kernels::products::matrix::Sums;
use crate::kernels::threads::pool;
use crate::kernels::wide::{wide_loop, Loop};
use crate::stop;

/// Columns of a block.
const BLOCK: usize = 32;

/// A real upper bidiagonal matrix `b`, and the reflectors of `q` and `p` with `q * b * p^H` the matrix.
pub struct Bidiagonal<T> {
    /// The diagonal.
    pub diagonal: Vec<f64>,
    /// Above the diagonal, one less.
    pub above: Vec<f64>,
    left: Vec<T>,
    left_tau: Vec<T>,
    right: Vec<T>,
    right_tau: Vec<T>,
    sizes: [usize; 2],
}

/// Reduces `a [m, n]`, column-major, with `m >= n`.
pub fn reduce<T: Scalar>(mut a: Vec<T>, [m, n]: [usize; 2]) -> Bidiagonal<T> {
    let (mut diagonal, mut above) = (vec![0.0; n], vec![0.0; n.saturating_sub(1)]);
    // Columns of reflectors, and the other factors of the updates: a - left * y^H - x * right^H.
    let (mut left, mut right) = (zeroed::<T>(m * n), zeroed::<T>(n * n));
    let (mut left_tau, mut right_tau) = (zeroed::<T>(n), zeroed::<T>(n));
    let (mut x, mut y) = (zeroed::<T>(m * BLOCK), zeroed::<T>(n * BLOCK));
    for start in (0..n).step_by(BLOCK) {
        let end = n.min(start + BLOCK);
        for i in start..end {
            let past = i - start;
            stop::work(m * (n - i) / 4);
            // The column as it is by now.
            let column = &mut left[i * m..][..m];
            column[i..].copy_from_slice(&a[i * m + i..(i + 1) * m]);
            for k in 0..past {
                let (before, now) = left.split_at_mut(i * m);
                let (v, x) = (&before[(start + k) * m + i..][..m - i], &x[k * m + i..][..m - i]);
                let (by_v, by_x) = (y[k * n + i].conj(), right[(start + k) * n + i].conj());
                wide_loop(Subtract { out: &mut now[i..m], v, x, by_v, by_x });
            }
            let (tau, beta) = wide_loop(Reflect(&mut left[i * m + i..(i + 1) * m]));
            (left_tau[i], diagonal[i]) = (tau, beta.f64());
            if i + 1 == n {
                break;
            }
            let v = &left[i * m + i..(i + 1) * m];
            let rest = MatRef::new(&a, [m, n], m).block(i..m, i + 1..n);
            let out = &mut zeroed::<T>(n - i - 1);
            adjoint_times(rest, v, out);
            for k in 0..past {
                let at = (start + k) * m + i;
                let (by_v, by_x) =
                    wide_loop(Inner { v, x: &left[at..at + m - i], y: &x[k * m + i..(k + 1) * m] });
                let (y, u) =
                    (&y[k * n + i + 1..(k + 1) * n], &right[(start + k) * n + i + 1..(start + k + 1) * n]);
                wide_loop(Subtract { out, v: y, x: u, by_v, by_x });
            }
            out.iter_mut().for_each(|x| *x *= tau);
            y[past * n + i + 1..(past + 1) * n].copy_from_slice(out);
            // The row as it is by now, conjugated.
            out.iter_mut().zip(i + 1..n).for_each(|(out, j)| *out = a[j * m + i].conj());
            for k in 0..=past {
                let by_v = left[(start + k) * m + i].conj();
                let by_x = if k < past { x[k * m + i].conj() } else { T::ZERO };
                let (y, u) =
                    (&y[k * n + i + 1..(k + 1) * n], &right[(start + k) * n + i + 1..(start + k + 1) * n]);
                wide_loop(Subtract { out, v: y, x: u, by_v, by_x });
            }
            let (tau, beta) = wide_loop(Reflect(out));
            (right_tau[i], above[i]) = (tau, beta.f64());
            right[i * n + i + 1..(i + 1) * n].copy_from_slice(out);
            let u = &right[i * n + i + 1..(i + 1) * n];
            let rest = MatRef::new(&a, [m, n], m).block(i + 1..m, i + 1..n);
            let out = &mut zeroed::<T>(m - i - 1);
            times(rest, u, out);
            for k in 0..=past {
                let mine = &right[(start + k) * n + i + 1..(start + k + 1) * n];
                let (by_y, by_u) = wide_loop(Inner { v: u, x: &y[k * n + i + 1..(k + 1) * n], y: mine });
                let v = &left[(start + k) * m + i + 1..(start + k + 1) * m];
                let x = &x[k * m + i + 1..(k + 1) * m];
                let by_x = if k < past { by_u } else { T::ZERO };
                wide_loop(Subtract { out, v, x, by_v: by_y, by_x });
            }
            out.iter_mut().for_each(|x| *x *= tau);
            x[past * m + i + 1..(past + 1) * m].copy_from_slice(out);
        }
        if end == n {
            break;
        }
        let count = end - start;
        let block =
            |of, first: usize| MatRef::new(of, [n, first + count], n).block(end..n, first..first + count);
        let mut rooms = [Vec::new(), Vec::new()];
        let [y_room, right_room] = &mut rooms;
        let y_h = adjoint_of(block(&y, 0), y_room);
        let right_h = adjoint_of(block(&right, start), right_room);
        let mut rest = MatMut::new(&mut a, [m, n], m).block(end..m, end..n);
        for (lines, other, first) in [(&left, y_h, start), (&x, right_h, 0)] {
            let lines = MatRef::new(lines, [m, first + count], m).block(end..m, first..first + count);
            multiply(rest.again(), lines, other, Sums::Subtract);
        }
    }
    Bidiagonal { diagonal, above, left, left_tau, right, right_tau, sizes: [m, n] }
}

impl<T: Scalar> Bidiagonal<T> {
    /// `u [m, ..]` becomes `q * u`.
    pub fn transform_left(&self, u: MatMut<T>) {
        let [m, n] = self.sizes;
        transform(&self.left, &self.left_tau, [m, n], 0, u);
    }

    /// `v [n, ..]` becomes `p * v`.
    pub fn transform_right(&self, v: MatMut<T>) {
        let n = self.sizes[1];
        transform(&self.right, &self.right_tau, [n, n.saturating_sub(1)], 1, v);
    }
}

/// `out` becomes the product of reflectors with it. Reflector `j` begins in row `j + skip`.
fn transform<T: Scalar>(v: &[T], tau: &[T], [m, count]: [usize; 2], skip: usize, mut out: MatMut<T>) {
    /// Reflectors that are applied by one product.
    const TOGETHER: usize = 64;
    let (columns, mut room) = (out.columns(), Room::default());
    for start in (0..count).step_by(TOGETHER).rev() {
        let end = count.min(start + TOGETHER);
        let v = MatRef::new(v, [m, end], m).block(start + skip..m, start..end);
        let t = triangle(v, &tau[start..end]);
        let t = MatRef::new(&t, [end - start; 2], end - start);
        apply(v, t, out.again().block(start + skip..m, 0..columns), false, &mut room);
    }
}

/// `out -= v * by_v + x * by_x`.
struct Subtract<'a, T> {
    out: &'a mut [T],
    v: &'a [T],
    x: &'a [T],
    by_v: T,
    by_x: T,
}

impl<T: Scalar> Loop for Subtract<'_, T> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let Subtract { out, v, x, by_v, by_x } = self;
        out.iter_mut().zip(v.iter().zip(x)).for_each(|(out, (&v, &x))| *out -= v * by_v + x * by_x);
    }
}

/// The inner products of two vectors with a third.
struct Inner<'a, T> {
    v: &'a [T],
    x: &'a [T],
    y: &'a [T],
}

impl<T: Scalar> Loop for Inner<'_, T> {
    type Made = (T, T);

    #[inline(always)]
    fn run(self) -> (T, T) {
        (inner(self.x, self.v), inner(self.y, self.v))
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

/// Columns that are read together.
const COLUMNS: usize = 4;

/// Rows of a piece of work.
const ROWS: usize = 64;

/// About how long reading an element takes, in picoseconds.
const READ: usize = 200;

/// `out = a * x`.
fn times<T: Scalar>(a: MatRef<T>, x: &[T], out: &mut [T]) {
    let [m, n] = a.sizes;
    pool::for_each_chunk(out, ROWS, m * n * READ, |piece, out| {
        let first = piece * ROWS;
        wide_loop(Times { a: a.block(first..first + out.len(), 0..n), x, out });
    });
}

struct Times<'a, T> {
    a: MatRef<'a, T>,
    x: &'a [T],
    out: &'a mut [T],
}

impl<T: Scalar> Loop for Times<'_, T> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let Times { a, x, out } = self;
        out.fill(T::ZERO);
        let n = a.columns();
        let whole = n / COLUMNS * COLUMNS;
        for j in (0..whole).step_by(COLUMNS) {
            let [c0, c1, c2, c3] = [0, 1, 2, 3].map(|k| a.column(j + k));
            let [x0, x1, x2, x3] = [x[j], x[j + 1], x[j + 2], x[j + 3]];
            for ((((out, &c0), &c1), &c2), &c3) in out.iter_mut().zip(c0).zip(c1).zip(c2).zip(c3) {
                *out += (c0 * x0 + c1 * x1) + (c2 * x2 + c3 * x3);
            }
        }
        for (j, &x) in x.iter().enumerate().skip(whole) {
            out.iter_mut().zip(a.column(j)).for_each(|(out, &c)| *out += c * x);
        }
    }
}

/// `out = a^H * x`.
fn adjoint_times<T: Scalar>(a: MatRef<T>, x: &[T], out: &mut [T]) {
    /// Results of a piece of work.
    const RESULTS: usize = 4 * COLUMNS;
    let [m, n] = a.sizes;
    pool::for_each_chunk(out, RESULTS, m * n * READ, |piece, out| {
        let first = piece * RESULTS;
        wide_loop(AdjointTimes { a: a.block(0..m, first..first + out.len()), x, out });
    });
}

struct AdjointTimes<'a, T> {
    a: MatRef<'a, T>,
    x: &'a [T],
    out: &'a mut [T],
}

impl<T: Scalar> Loop for AdjointTimes<'_, T> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let AdjointTimes { a, x, out } = self;
        let m = a.rows();
        let whole = m / LANES * LANES;
        for (j, out) in (0..).step_by(COLUMNS).zip(out.chunks_mut(COLUMNS)) {
            if out.len() < COLUMNS {
                out.iter_mut().zip(j..).for_each(|(out, j)| *out = inner(a.column(j), x));
                continue;
            }
            let columns = [0, 1, 2, 3].map(|k| a.column(j + k));
            let mut dots = [[T::ZERO; LANES]; COLUMNS];
            for at in (0..whole).step_by(LANES) {
                let part = |c: &[T]| -> [T; LANES] { c[at..at + LANES].try_into().expect("as many") };
                let x = part(x);
                for (dots, c) in dots.iter_mut().zip(columns) {
                    let c = part(c);
                    (0..LANES).for_each(|l| dots[l] += c[l].conj() * x[l]);
                }
            }
            for (dots, c) in dots.iter_mut().zip(columns) {
                (whole..m).zip(&mut *dots).for_each(|(i, sum)| *sum += c[i].conj() * x[i]);
            }
            out.iter_mut().zip(dots).for_each(|(out, dots)| {
                *out = dots.into_iter().fold(T::ZERO, |sum, x| sum + x);
            });
        }
    }
}
