//! QR factors by blocks of Householder reflectors; within a block by halves of its columns (Elmroth and
//! Gustavson, *Applying recursion to serial and parallel QR factorization leads to better performance*, 2000).

use super::reflector::{apply, inner, reflector, triangle};
use super::scalar::Scalar;
use super::view::{MatMut, MatRef};
use crate::kernels::memory::zeroed;
use crate::kernels::wide::{wide_loop, Loop};
use crate::stop;

/// Columns of a block.
const BLOCK: usize = 48;

/// Columns that are made one by one.
const BASE: usize = 8;

/// The reflectors of a matrix, of which the first `columns` make `Q`.
pub struct Reflectors<T> {
    /// For each block, its columns (dense, from the row of the first one on) and its triangle.
    blocks: Vec<(Vec<T>, Vec<T>)>,
    rows: usize,
    columns: usize,
}

/// Replaces the upper triangle of `a [m, n]` by `r`, whose diagonal is real, and gives the reflectors of `q`,
/// with `q * r` the matrix. What is below the diagonal is of no use then.
pub fn factorise<T: Scalar>(mut a: MatMut<T>) -> Reflectors<T> {
    let [m, n] = a.sizes;
    let count = m.min(n);
    let mut blocks = Vec::new();
    for start in (0..count).step_by(BLOCK) {
        let k = BLOCK.min(count - start);
        let [mut panel, rest] = a.again().block(start..m, start..n).split_columns(k);
        let mut tau = [T::ZERO; BLOCK];
        let (v, t) = reflect(panel.again(), &mut tau[..k]);
        apply(MatRef::new(&v, [m - start, k], m - start), &t, rest, true);
        blocks.push((v, t));
    }
    Reflectors { blocks, rows: m, columns: count }
}

/// The reflectors of a panel: their columns and their triangle.
fn reflect<T: Scalar>(mut panel: MatMut<T>, tau: &mut [T]) -> (Vec<T>, Vec<T>) {
    let [m, k] = panel.sizes;
    stop::work(m * k);
    if k <= BASE {
        wide_loop(Columns { a: panel.again(), tau });
    } else {
        let half = (k / 2).next_multiple_of(BASE);
        let [left, mut right] = panel.again().split_columns(half);
        let (first, last) = tau.split_at_mut(half);
        let (v, t) = reflect(left, first);
        apply(MatRef::new(&v, [m, half], m), &t, right.again(), true);
        reflect(right.block(half..m, 0..k - half), last);
    }
    let mut v = zeroed(m * k);
    for (j, v) in v.chunks_exact_mut(m).enumerate() {
        v[j] = T::ONE;
        v[j + 1..].copy_from_slice(&panel.column(j)[j + 1..]);
    }
    let t = triangle(MatRef::new(&v, [m, k], m), tau);
    (v, t)
}

/// The reflectors of a few columns, one after the other.
struct Columns<'a, T> {
    a: MatMut<'a, T>,
    tau: &'a mut [T],
}

impl<T: Scalar> Loop for Columns<'_, T> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let Columns { mut a, tau } = self;
        for (j, tau) in tau.iter_mut().enumerate() {
            let (factor, beta) = reflector(&mut a.column(j)[j..]);
            *tau = factor;
            for k in j + 1..a.columns() {
                let [v, x] = a.two_columns(j, k);
                let by = inner(&v[j..], &x[j..]) * factor.conj();
                x[j..].iter_mut().zip(&v[j..]).for_each(|(x, &v)| *x -= v * by);
            }
            a.set(j, j, T::real(beta));
        }
    }
}

impl<T: Scalar> Reflectors<T> {
    /// Columns of `q`: the first ones of a square matrix, as many as `out` has.
    pub fn q(&self, mut out: MatMut<T>) {
        let columns = out.columns();
        assert!(out.rows() == self.rows && columns >= self.columns, "a matrix that does not fit");
        out.fill(T::ZERO);
        (0..columns).for_each(|j| out.set(j, j, T::ONE));
        self.each(out, true);
    }

    /// `out` becomes `q * out`, for the square `q`.
    pub fn apply(&self, out: MatMut<T>) {
        self.each(out, false);
    }

    fn each(&self, mut out: MatMut<T>, triangular: bool) {
        let columns = out.columns();
        for (number, (v, t)) in self.blocks.iter().enumerate().rev() {
            let start = number * BLOCK;
            let (rows, k) = (self.rows - start, BLOCK.min(self.columns - start));
            // Of the identity, columns on the left are as they were.
            let first = if triangular { start } else { 0 };
            let below = out.again().block(start..self.rows, first..columns);
            apply(MatRef::new(v, [rows, k], rows), t, below, false);
        }
    }
}
