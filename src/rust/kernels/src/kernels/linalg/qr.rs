//! QR factors by blocks of Householder reflectors; within a block by halves of its columns (Elmroth and
//! Gustavson, *Applying recursion to serial and parallel QR factorization leads to better performance*, 2000).
//! Reflectors lie where the matrix was, and become `q` there.

use super::reflector::{adjoint_of, apply, apply_below, inner, reflector, triangle};
use super::scalar::{multiply, Scalar};
use super::view::{MatMut, MatRef};
use crate::kernels::memory::room::Room;
use crate::kernels::memory::zeroed;
use crate::kernels::products::matrix::Sums;
use crate::kernels::wide::{wide_loop, Loop};
use crate::stop;

/// Columns of a block.
const BLOCK: usize = 48;

/// Columns that are made one by one.
const BASE: usize = 8;

/// The reflectors of a matrix.
pub struct Reflectors<'a, T> {
    /// Their columns: what a block has is from the row of its first column on, with 1 on the diagonal and 0
    /// above it; what is above that means nothing.
    v: MatMut<'a, T>,
    /// The triangle of each block, dense, `BLOCK` elements for each column.
    triangles: Vec<T>,
    room: Room<T>,
}

/// Makes of `a [m, n]`, where `n` is at most `m`, the reflectors of `q`, and the upper triangular `r [n, n]`,
/// whose diagonal is real, with `q * r` the matrix.
pub fn factorise<'a, T: Scalar>(mut a: MatMut<'a, T>, mut r: MatMut<T>) -> Reflectors<'a, T> {
    let [m, n] = a.sizes;
    assert!(n <= m && r.sizes == [n, n], "matrices that do not fit");
    let (mut triangles, mut room) = (zeroed(n * BLOCK), Room::default());
    for (start, t) in (0..n).step_by(BLOCK).zip(triangles.chunks_mut(BLOCK * BLOCK)) {
        let k = BLOCK.min(n - start);
        let [mut panel, mut rest] = a.again().block(start..m, start..n).split_columns(k);
        let [[mut own, mut beyond], [mut below, _]] = r.again().block(start..n, start..n).split(k, k);
        let mut t = MatMut::new(t, [k, k], k);
        own.fill(T::ZERO);
        below.fill(T::ZERO);
        reflect(panel.again(), t.again(), own, &mut room);
        apply(panel.read(), t.read(), rest.again(), true, &mut room);
        beyond.copy(rest.read().halves(k)[0]);
    }
    Reflectors { v: a, triangles, room }
}

/// Makes of a panel its reflectors, and their triangle and the upper triangle of `r`, which are zeros before.
fn reflect<T: Scalar>(mut panel: MatMut<T>, mut t: MatMut<T>, mut r: MatMut<T>, room: &mut Room<T>) {
    let [m, k] = panel.sizes;
    stop::work(m * k);
    if k <= BASE {
        let mut tau = [T::ZERO; BASE];
        wide_loop(Columns { a: panel.again(), tau: &mut tau[..k] });
        for j in 0..k {
            let v = panel.column(j);
            r.column(j)[..=j].copy_from_slice(&v[..=j]);
            v[..j].fill(T::ZERO);
            v[j] = T::ONE;
        }
        let made = triangle(panel.read(), &tau[..k]);
        (0..k).for_each(|j| t.column(j).copy_from_slice(&made[j * k..][..k]));
        return;
    }
    let half = (k / 2).next_multiple_of(BASE);
    let [mut left, mut right] = panel.split_columns(half);
    let [[mut first, mut between], [_, mut last]] = t.split(half, half);
    let [[r_first, mut r_between], [_, r_last]] = r.split(half, half);
    reflect(left.again(), first.again(), r_first, room);
    apply(left.read(), first.read(), right.again(), true, room);
    let [mut above, mut right] = right.split_rows(half);
    r_between.copy(above.read());
    above.fill(T::ZERO);
    reflect(right.again(), last.again(), r_last, room);
    // Between both triangles: -first * left^H * right * last.
    let (mut inner, mut outer) = ([T::ZERO; BLOCK * BLOCK], [T::ZERO; BLOCK * BLOCK]);
    let [mut inner, mut outer] = [&mut inner, &mut outer].map(|x| MatMut::new(x, [half, k - half], half));
    let mut copy = Vec::new();
    let below = left.read().block(half..m, 0..half);
    multiply(inner.again(), adjoint_of(below, &mut copy), right.read(), Sums::Set);
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

impl<T: Scalar> Reflectors<'_, T> {
    /// The triangle of the block that begins with this column.
    fn triangle(triangles: &[T], start: usize, k: usize) -> MatRef<'_, T> {
        MatRef::new(&triangles[start * BLOCK..], [k, k], k)
    }

    /// `out` becomes `q * out`, or `q^H * out`, for the square `q`.
    pub fn apply(&mut self, mut out: MatMut<T>, adjoint: bool) {
        let [m, n] = self.v.sizes;
        let (blocks, columns) = (n.div_ceil(BLOCK), out.columns());
        assert!(out.rows() == m, "a matrix that does not fit");
        for number in 0..blocks {
            let start = BLOCK * if adjoint { number } else { blocks - 1 - number };
            let k = BLOCK.min(n - start);
            let v = self.v.read().block(start..m, start..start + k);
            let t = Self::triangle(&self.triangles, start, k);
            apply(v, t, out.again().block(start..m, 0..columns), adjoint, &mut self.room);
        }
    }

    /// The reflectors become the first columns of `q`, as many.
    pub fn into_q(self) {
        let Reflectors { mut v, triangles, mut room } = self;
        let [m, n] = v.sizes;
        let mut copy = Room::default();
        for start in (0..n).step_by(BLOCK).rev() {
            let (rows, k) = (m - start, BLOCK.min(n - start));
            let [mut panel, mut rest] = v.again().block(start..m, start..n).split_columns(k);
            let copy = copy.reserve(rows * k);
            MatMut::new(copy, [rows, k], rows).copy(panel.read());
            let (v, t) = (MatRef::new(copy, [rows, k], rows), Self::triangle(&triangles, start, k));
            // Columns on the right are those of the blocks after this one, which begin below it.
            let columns = rest.columns();
            rest.again().block(0..k, 0..columns).fill(T::ZERO);
            apply_below(v, t, rest, k, false, &mut room);
            // Its own are those of the identity before.
            panel.fill(T::ZERO);
            (0..k).for_each(|j| panel.set(j, j, T::ONE));
            let mut inner = MatMut::new(room.reserve(k * k), [k, k], k);
            multiply(inner.again(), t, adjoint_of(v.halves(k)[0], &mut Vec::new()), Sums::Set);
            multiply(panel, v, inner.read(), Sums::Subtract);
        }
    }
}
