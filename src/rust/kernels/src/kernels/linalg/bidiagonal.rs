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
use std::ops::Range;

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
    let mut room = zeroed::<T>(m.max(n));
    for start in (0..n).step_by(BLOCK) {
        let end = n.min(start + BLOCK);
        for i in start..end {
            let past = i - start;
            stop::work(m * (n - i) / 4);
            // The column as it is by now.
            let (before, now) = left.split_at_mut(i * m);
            let column = &mut now[i..m];
            column.copy_from_slice(&a[i * m + i..(i + 1) * m]);
            add_times(part(before, m, i..m, start..i), &less_row(&y, n, i, 0..past), column);
            add_times(part(&x, m, i..m, 0..past), &less_row(&right, n, i, start..i), column);
            let (tau, beta) = wide_loop(Reflect(column));
            (left_tau[i], diagonal[i]) = (tau, beta.f64());
            if i + 1 == n {
                break;
            }
            let (after, later) = (i + 1..n, i + 1..m);
            let v = &left[i * m + i..(i + 1) * m];
            let out = &mut room[..n - i - 1];
            adjoint_times(part(&a, m, i..m, after.clone()), v, out);
            let by_left = &less_inner(part(&left, m, i..m, start..i), v);
            add_times(part(&y, n, after.clone(), 0..past), by_left, out);
            let by_x = &less_inner(part(&x, m, i..m, 0..past), v);
            add_times(part(&right, n, after.clone(), start..i), by_x, out);
            out.iter_mut().for_each(|x| *x *= tau);
            y[past * n + i + 1..(past + 1) * n].copy_from_slice(out);
            // The row as it is by now, conjugated.
            out.iter_mut().zip(i + 1..n).for_each(|(out, j)| *out = a[j * m + i].conj());
            add_times(part(&y, n, after.clone(), 0..past + 1), &less_row(&left, m, i, start..i + 1), out);
            add_times(part(&right, n, after.clone(), start..i), &less_row(&x, m, i, 0..past), out);
            let (tau, beta) = wide_loop(Reflect(out));
            (right_tau[i], above[i]) = (tau, beta.f64());
            right[i * n + i + 1..(i + 1) * n].copy_from_slice(out);
            let u = &right[i * n + i + 1..(i + 1) * n];
            let out = &mut room[..m - i - 1];
            times(part(&a, m, later.clone(), after.clone()), u, out);
            let by_y = &less_inner(part(&y, n, after.clone(), 0..past + 1), u);
            add_times(part(&left, m, later.clone(), start..i + 1), by_y, out);
            let by_right = &less_inner(part(&right, n, after, start..i), u);
            add_times(part(&x, m, later, 0..past), by_right, out);
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

/// Some rows and columns of a matrix with `m` rows.
fn part<T: Scalar>(of: &[T], m: usize, rows: Range<usize>, columns: Range<usize>) -> MatRef<'_, T> {
    MatRef::new(of, [m, columns.end], m).block(rows, columns)
}

/// Numbers for the columns of a block.
type Factors<T> = [T; BLOCK];

/// Elements of a row, conjugated, with the other sign.
fn less_row<T: Scalar>(of: &[T], m: usize, row: usize, columns: Range<usize>) -> Factors<T> {
    let mut out = [T::ZERO; BLOCK];
    out.iter_mut().zip(columns).for_each(|(out, j)| *out = T::ZERO - of[j * m + row].conj());
    out
}

/// Inner products of columns with a vector, with the other sign.
fn less_inner<T: Scalar>(a: MatRef<T>, x: &[T]) -> Factors<T> {
    let mut out = [T::ZERO; BLOCK];
    let used = &mut out[..a.columns()];
    wide_loop(AdjointTimes { a, x, out: used });
    used.iter_mut().for_each(|x| *x = T::ZERO - *x);
    out
}

/// `out += a * x`, where `x` has at least as many elements as `a` columns.
fn add_times<T: Scalar>(a: MatRef<T>, x: &Factors<T>, out: &mut [T]) {
    wide_loop(AddTimes { a, x: &x[..a.columns()], out });
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
        out.fill(T::ZERO);
        wide_loop(AddTimes { a: a.block(first..first + out.len(), 0..n), x, out });
    });
}

/// `out += a * x`.
struct AddTimes<'a, T> {
    a: MatRef<'a, T>,
    x: &'a [T],
    out: &'a mut [T],
}

impl<T: Scalar> Loop for AddTimes<'_, T> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let AddTimes { a, x, out } = self;
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
