//! Householder reflectors `I - tau * v * v^H`, alone and in blocks `I - V * T * V^H` (Schreiber and Van Loan,
//! *A storage-efficient WY representation for products of Householder transformations*, 1989).

use super::scalar::{beside, multiply, Real, Scalar};
use super::view::{MatMut, MatRef};
use crate::dtype::Element;
use crate::kernels::memory::zeroed;
use crate::kernels::products::matrix::Sums;

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

/// The Euclidean norm of a vector, without overflow or underflow on the way: squares of singles are added as
/// doubles, and doubles are scaled where the sum of their squares is far from 1.
#[inline(always)]
pub fn norm<T: Scalar>(x: &[T]) -> T::Real {
    let squares = |by: f64| {
        x.iter().fold(0.0, |sum, &x| {
            let (re, im) = (x.re().f64() * by, x.im().f64() * by);
            sum + (re * re + im * im)
        })
    };
    let sum = squares(1.0);
    let root = if (1e-280..1e280).contains(&sum) {
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
        squares(by).sqrt() / by
    };
    T::Real::from_f64(root)
}

/// The reflector whose adjoint takes `x` to a multiple of the first axis: `x` becomes `v`, of which the first
/// element is 1. Gives `tau` and that multiple, which is real.
#[inline(always)]
pub fn reflector<T: Scalar>(x: &mut [T]) -> (T, T::Real) {
    let alpha = x[0];
    let tail = norm(&x[1..]);
    if tail == T::Real::ZERO && alpha.im() == T::Real::ZERO {
        x[0] = T::ONE;
        return (T::ZERO, alpha.re());
    }
    let size = norm(x);
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
    (tau, beta)
}

/// The triangle `T` of a block of reflectors, `k` times `k`, dense and column-major, from the columns `v` of
/// the block and their `tau`.
pub fn triangle<T: Scalar>(v: MatRef<T>, tau: &[T]) -> Vec<T> {
    let k = tau.len();
    let mut gram = zeroed(k * k);
    let adjoint = adjoint(v);
    let v_h = MatRef::new(&adjoint, [k, v.rows()], k);
    multiply(MatMut::new(&mut gram, [k, k], k), v_h, v, Sums::Set);
    let mut t = zeroed(k * k);
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
    let mut target = MatMut::new(&mut out, [n, m], n);
    // In squares, so that a cache line is read while it is there.
    const SIDE: usize = 16;
    for (j, i) in (0..n).step_by(SIDE).flat_map(|j| (0..m).step_by(SIDE).map(move |i| (j, i))) {
        for j in j..n.min(j + SIDE) {
            (i..m.min(i + SIDE)).for_each(|i| target.set(j, i, x.at(i, j).conj()));
        }
    }
    out
}

/// `c` becomes `Q * c`, or `Q^H * c`, for the block `Q = I - v * t * v^H`.
pub fn apply<T: Scalar>(v: MatRef<T>, t: &[T], mut c: MatMut<T>, adjoint_of_it: bool) {
    let (k, [m, n]) = (v.columns(), c.sizes);
    if n == 0 || k == 0 {
        return;
    }
    let v_h = adjoint(v);
    let (mut inner, mut outer) = (zeroed(k * n), zeroed(k * n));
    multiply(MatMut::new(&mut inner, [k, n], k), MatRef::new(&v_h, [k, m], k), c.read(), Sums::Set);
    let t = MatRef::new(t, [k, k], k);
    let t_h = adjoint(t);
    let t = if adjoint_of_it { MatRef::new(&t_h, [k, k], k) } else { t };
    multiply(MatMut::new(&mut outer, [k, n], k), t, MatRef::new(&inner, [k, n], k), Sums::Set);
    multiply(c.again(), v, MatRef::new(&outer, [k, n], k), Sums::Subtract);
}
