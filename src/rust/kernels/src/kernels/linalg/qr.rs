//! QR factors by blocks of Householder reflectors; within a block by halves of its columns (Elmroth and
//! Gustavson, *Applying recursion to serial and parallel QR factorization leads to better performance*, 2000).

use super::reflector::{adjoint_of, apply, inner, reflector, triangle};
use super::scalar::{multiply, Scalar};
use super::view::{MatMut, MatRef};
use crate::kernels::memory::zeroed;
use crate::kernels::products::matrix::Sums;
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
    let (mut blocks, mut room) = (Vec::new(), Vec::new());
    for start in (0..count).step_by(BLOCK) {
        let (rows, k) = (m - start, BLOCK.min(count - start));
        let [panel, rest] = a.again().block(start..m, start..n).split_columns(k);
        let (mut v, mut t) = (zeroed(rows * k), zeroed(k * k));
        reflect(panel, MatMut::new(&mut v, [rows, k], rows), MatMut::new(&mut t, [k, k], k), &mut room);
        let [v_of, t_of] = [MatRef::new(&v, [rows, k], rows), MatRef::new(&t, [k, k], k)];
        apply(v_of, t_of, rest, true, &mut room);
        blocks.push((v, t));
    }
    Reflectors { blocks, rows: m, columns: count }
}

/// The reflectors of a panel: their columns and their triangle, which are zeros before.
fn reflect<T: Scalar>(mut panel: MatMut<T>, mut v: MatMut<T>, mut t: MatMut<T>, room: &mut Vec<T>) {
    let [m, k] = panel.sizes;
    stop::work(m * k);
    if k <= BASE {
        let mut tau = [T::ZERO; BASE];
        wide_loop(Columns { a: panel.again(), tau: &mut tau[..k] });
        for j in 0..k {
            let v = v.column(j);
            v[j] = T::ONE;
            v[j + 1..].copy_from_slice(&panel.column(j)[j + 1..]);
        }
        let made = triangle(v.read(), &tau[..k]);
        (0..k).for_each(|j| t.column(j).copy_from_slice(&made[j * k..][..k]));
        return;
    }
    let half = (k / 2).next_multiple_of(BASE);
    let [left, mut right] = panel.split_columns(half);
    let [[mut first, mut between], [_, mut last]] = t.split(half, half);
    let [mut v_first, v_last] = v.split_columns(half);
    reflect(left, v_first.again(), first.again(), room);
    apply(v_first.read(), first.read(), right.again(), true, room);
    let mut v_last = v_last.block(half..m, 0..k - half);
    reflect(right.block(half..m, 0..k - half), v_last.again(), last.again(), room);
    // Between both triangles: -first * v_first^H * v_last * last.
    let (mut inner, mut outer) = ([T::ZERO; BLOCK * BLOCK], [T::ZERO; BLOCK * BLOCK]);
    let [mut inner, mut outer] = [&mut inner, &mut outer].map(|x| MatMut::new(x, [half, k - half], half));
    let mut copy = Vec::new();
    let below = v_first.read().block(half..m, 0..half);
    multiply(inner.again(), adjoint_of(below, &mut copy), v_last.read(), Sums::Set);
    multiply(outer.again(), inner.read(), last.read(), Sums::Set);
    multiply(between.again(), first.read(), outer.read(), Sums::Subtract);
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
        let (columns, mut room) = (out.columns(), Vec::new());
        for (number, (v, t)) in self.blocks.iter().enumerate().rev() {
            let start = number * BLOCK;
            let (rows, k) = (self.rows - start, BLOCK.min(self.columns - start));
            // Of the identity, columns on the left are as they were.
            let first = if triangular { start } else { 0 };
            let below = out.again().block(start..self.rows, first..columns);
            apply(MatRef::new(v, [rows, k], rows), MatRef::new(t, [k, k], k), below, false, &mut room);
        }
    }
}
