//! Householder reflectors `I - tau * v * v^H`, alone and in blocks `I - V * T * V^H` (Schreiber and Van Loan,
//! *A storage-efficient WY representation for products of Householder transformations*, 1989).

use super::scalar::{beside, multiply, picoseconds, turn, Real, Scalar, Shared, PLAIN};
use super::view::{MatMut, MatRef};
use crate::dtype::Element;
use crate::kernels::memory::room::Room;
use crate::kernels::memory::zeroed;
use crate::kernels::products::matrix::Sums;
use crate::kernels::threads::{pool, threads};

/// Elements of a sum that are added side by side.
pub const LANES: usize = 8;

/// `sum(conj(x) * y)`, in [`LANES`] sums side by side.
#[inline(always)]
pub fn inner<T: Scalar>(x: &[T], y: &[T]) -> T {
    let mut sums = [T::ZERO; LANES];
    let (mut xs, mut ys) = (x.chunks_exact(LANES), y[..x.len()].chunks_exact(LANES));
    for (x, y) in (&mut xs).zip(&mut ys) {
        for (sum, (&x, &y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *sum += x.conj() * y;
        }
    }
    for (sum, (&x, &y)) in sums.iter_mut().zip(xs.remainder().iter().zip(ys.remainder())) {
        *sum += x.conj() * y;
    }
    total(sums)
}

/// The sum of sums side by side.
#[inline(always)]
pub fn total<T: Scalar>(x: [T; LANES]) -> T {
    let fours: [T; LANES / 2] = std::array::from_fn(|l| x[l] + x[l + LANES / 2]);
    (fours[0] + fours[2]) + (fours[1] + fours[3])
}

/// The square of the distance of an element from 0, in double precision.
#[inline(always)]
fn square<T: Scalar>(x: T) -> f64 {
    let (re, im) = (x.re().f64(), x.im().f64());
    re * re + im * im
}

/// The sum of the squares of elements, each scaled before, in [`LANES`] sums side by side.
#[inline(always)]
fn squares<T: Scalar>(x: &[T], by: f64) -> f64 {
    let mut sums = [0.0; LANES];
    let mut chunks = x.chunks_exact(LANES);
    let scaled = |x: T| {
        let (re, im) = (x.re().f64() * by, x.im().f64() * by);
        re * re + im * im
    };
    for x in &mut chunks {
        for (sum, &x) in sums.iter_mut().zip(x) {
            *sum += scaled(x);
        }
    }
    for (sum, &x) in sums.iter_mut().zip(chunks.remainder()) {
        *sum += scaled(x);
    }
    total(sums)
}

/// The Euclidean norm of a vector, without overflow or underflow on the way: squares of singles are added as
/// doubles, and doubles are scaled where the sum of their squares is far from 1.
#[inline(always)]
pub fn norm<T: Scalar>(x: &[T]) -> T::Real {
    let sum = squares(x, 1.0);
    let root = if PLAIN.contains(&sum) {
        sum.sqrt()
    } else {
        let largest = x.iter().fold(0.0, |most: f64, &x| {
            let size = x.re().f64().abs().max(x.im().f64().abs());
            if size > most || size.is_nan() {
                size
            } else {
                most
            }
        });
        if largest == 0.0 || !largest.is_finite() {
            // NaN spreads, and infinity is its own norm.
            return T::Real::from_f64(if sum.is_nan() { f64::NAN } else { largest });
        }
        // By a power of 2 nothing is rounded.
        let by = beside(largest);
        squares(x, by).sqrt() / by
    };
    T::Real::from_f64(root)
}

/// The reflector whose adjoint takes `x` to a multiple of the first axis: `x` becomes `v`, of which the first
/// element is 1. Gives `tau` and that multiple, which is real.
#[inline(always)]
pub fn reflector<T: Scalar>(x: &mut [T]) -> (T, T::Real) {
    let (mut alpha, mut by) = (x[0], 1.0);
    // The norm of all of it, and whether all but the first element vanish.
    let tail = squares(&x[1..], 1.0);
    let sum = tail + square(alpha);
    let (is_zero, mut size) = if PLAIN.contains(&tail) && PLAIN.contains(&sum) {
        (false, T::Real::from_f64(sum.sqrt()))
    } else {
        (norm(&x[1..]) == T::Real::ZERO, norm(x))
    };
    if is_zero && alpha.im() == T::Real::ZERO {
        x[0] = T::ONE;
        return (T::ZERO, alpha.re());
    }
    if size.f64() < if T::Real::EPSILON > 1e-10 { 1e-30 } else { 1e-290 } {
        // Numbers near the smallest one have few digits: by a power of 2 they get them all.
        by = beside(size.f64());
        let scaled = |x: T::Real| T::Real::from_f64(x.f64() * by);
        x.iter_mut().for_each(|x| *x = T::parts(scaled(x.re()), scaled(x.im())));
        (alpha, size) = (x[0], norm(x));
    }
    let beta = if alpha.re() < T::Real::ZERO { size } else { -size };
    // Parts divided by beta, not multiplied: no overflow where beta is tiny.
    let over = |z: T| T::parts(z.re() / beta, z.im() / beta);
    let tau = over(T::real(beta) - alpha);
    let pivot = alpha - T::real(beta);
    let inverse = T::ONE.over(pivot);
    if inverse.is_finite() && inverse != T::ZERO {
        x[1..].iter_mut().for_each(|x| *x *= inverse);
    } else {
        x[1..].iter_mut().for_each(|x| *x = x.over(pivot));
    }
    x[0] = T::ONE;
    (tau, T::Real::from_f64(beta.f64() / by))
}

/// The triangle `T` of a block of reflectors, `k` times `k`, dense and column-major, from the columns `v` of
/// the block and their `tau`.
pub fn triangle<T: Scalar>(v: MatRef<T>, tau: &[T]) -> Vec<T> {
    let k = tau.len();
    let (mut gram, mut t) = (zeroed(k * k), zeroed(k * k));
    multiply(MatMut::new(&mut gram, [k, k], k), adjoint_of(v, &mut Vec::new()), v, Sums::Set);
    for j in 0..k {
        for i in 0..j {
            let sum = (i..j).fold(T::ZERO, |sum, l| sum + t[i + l * k] * gram[l + j * k]);
            t[i + j * k] = -(sum * tau[j]);
        }
        t[j + j * k] = tau[j];
    }
    t
}

/// The conjugate transpose, dense.
pub fn adjoint<T: Scalar>(x: MatRef<T>) -> Vec<T> {
    let [m, n] = x.sizes;
    let mut out = zeroed(m * n);
    turn(MatMut::new(&mut out, [n, m], n), x);
    if T::COMPLEX {
        out.iter_mut().for_each(|x| *x = x.conj());
    }
    out
}

/// The conjugate transpose: of a real matrix in place, of a complex one in `room`.
pub fn adjoint_of<'a, T: Scalar>(x: MatRef<'a, T>, room: &'a mut Vec<T>) -> MatRef<'a, T> {
    if !T::COMPLEX {
        return x.transposed();
    }
    *room = adjoint(x);
    MatRef::new(room, [x.columns(), x.rows()], x.columns())
}

/// Columns that a thread takes at a time, about: those of several hundred rows stay in the second-level cache
/// from one product to the next.
const COLUMNS: usize = 128;

/// `c` becomes `Q * c`, or `Q^H * c`, for the block `Q = I - v * t * v^H`. `room` is kept from one block to the
/// next.
pub fn apply<T: Scalar>(v: MatRef<T>, t: MatRef<T>, c: MatMut<T>, adjoint_of_it: bool, room: &mut Room<T>) {
    apply_below(v, t, c, 0, adjoint_of_it, room);
}

/// As [`apply`], where rows of `c` before `zeros` are zeros. Threads share the columns of `c`.
pub fn apply_below<T: Scalar>(
    v: MatRef<T>,
    t: MatRef<T>,
    c: MatMut<T>,
    zeros: usize,
    adjoint_of_it: bool,
    room: &mut Room<T>,
) {
    let ([m, k], n) = (v.sizes, c.columns());
    if n == 0 || k == 0 {
        return;
    }
    let mut copies = [Vec::new(), Vec::new()];
    let [of_v, of_t] = &mut copies;
    let v_h = adjoint_of(v.block(zeros..m, 0..k), of_v);
    let t = if adjoint_of_it { adjoint_of(t, of_t) } else { t };
    let shared = n > COLUMNS && picoseconds::<T>(2 * m * k * n) >= pool::WORTH_SHARING;
    let pieces = if shared { n.div_ceil(COLUMNS).next_multiple_of(threads()) } else { 1 };
    let columns = n.div_ceil(pieces).next_multiple_of(LANES);
    let (inner, outer) = room.reserve(2 * k * n).split_at_mut(k * n);
    let [inner, outer] = [inner, outer].map(|x| Shared(MatMut::new(x, [k, n], k)));
    let c = Shared(c);
    pool::for_each_piece(n.div_ceil(columns), shared, |piece| {
        let columns = piece * columns..n.min((piece + 1) * columns);
        let [mut inner, mut outer, mut c] = [(&inner, k), (&outer, k), (&c, m)]
            // SAFETY: pieces have no columns in common.
            .map(|(x, rows)| unsafe { x.block(0..rows, columns.clone()) });
        let below = c.read().block(zeros..m, 0..columns.len());
        multiply(inner.again(), v_h, below, Sums::Set);
        multiply(outer.again(), t, inner.read(), Sums::Set);
        multiply(c.again(), v, outer.read(), Sums::Subtract);
    });
}
