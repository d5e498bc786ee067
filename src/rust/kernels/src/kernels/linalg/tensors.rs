//! Factors and equations of all matrices of a tensor: for each dtype the one function that computes them.
//! `work` is about how long one matrix takes, in picoseconds.

use super::each::{dispatch_scalar, each};
use super::scalar::{copy, each_column};
use super::triangular::Triangle;
use super::{
    adjoint, cholesky, eigen, hestenes, jacobi, lanes, lu, qr, svd, triangular, MatMut, MatRef, Scalar,
};
use crate::tensor::{View, ViewMut};

/// The sizes of the matrices of a tensor.
fn sizes(x: &View) -> [usize; 2] {
    let rank = x.shape.rank();
    [x.shape[rank - 2], x.shape[rank - 1]]
}

/// Cholesky factors of which the lower or the upper triangle is read and written; NaN for matrices that are not
/// positive definite.
pub fn cholesky(operands: &[View], results: &mut [ViewMut], work: usize, lower: bool) {
    let [n, _] = sizes(&operands[0]);
    let dtype = operands[0].dtype;
    if lanes::suit(&operands[0]) {
        return dispatch_scalar!(dtype, T => lanes::each::<T>(operands, [&[2], &[2]], results, work, |x, out| {
            out.scalars[0].copy_from_slice(&x.scalars[0]);
            lanes::cholesky(&mut out.scalars[0], n, lower);
        }), F64; F32);
    }
    dispatch_scalar!(dtype, T => each::<T>(operands, [&[2], &[2]], results, work, |x, out| {
        let out = &mut out.scalars[0];
        // Of the other triangle nothing is read, and what is there in the end is cleared.
        let rows = |j: usize| if lower { j..n } else { 0..j + 1 };
        let x = &x.scalars[0];
        each_column(out, n, |j, out| out[rows(j)].copy_from_slice(&x[j * n..][rows(j)]));
        let matrix = MatMut::new(out, [n, n], n);
        if cholesky::factorise(if lower { matrix } else { matrix.transposed() }).is_err() {
            return out.fill(T::of(f64::NAN));
        }
        each_column(out, n, |j, out| out[if lower { 0..j } else { j + 1..n }].fill(T::ZERO));
    }))
}

/// Eigenvalues of Hermitian matrices, and eigenvectors if there is a second result.
pub fn eigh(operands: &[View], results: &mut [ViewMut], work: usize) {
    let [n, _] = sizes(&operands[0]);
    let dtype = operands[0].dtype;
    let axes: &[usize] = if results.len() > 1 { &[1, 2] } else { &[1] };
    // One matrix too: the signs of eigenvectors are those that it has in a batch.
    if lanes::fit(&operands[0], jacobi::MOST) {
        return dispatch_scalar!(dtype, T => lanes::each::<T>(operands, [&[2], axes], results, work, |x, out| {
            let vectors = out.scalars.first_mut().map(|v| &mut v[..]);
            jacobi::symmetric(&mut x.scalars[0], n, &mut out.reals[0], vectors);
        }), F64; F32);
    }
    dispatch_scalar!(dtype, T => each::<T>(operands, [&[2], axes], results, work, |x, out| {
        let values = &mut out.reals[0];
        let a = x.scalars[0].take();
        let vectors = out.scalars.first_mut().map(|v| MatMut::new(v, [n, n], n));
        if !eigen::hermitian(a, n, values, vectors) {
            values.fill(<T as Scalar>::Real::of(f64::NAN));
            out.scalars.iter_mut().for_each(|v| v.fill(T::of(f64::NAN)));
        }
    }))
}

/// LU factors, exchanges of rows, and the order that these make.
pub fn lu(operands: &[View], results: &mut [ViewMut], work: usize) {
    let [m, n] = sizes(&operands[0]);
    let dtype = operands[0].dtype;
    if lanes::suit(&operands[0]) {
        return dispatch_scalar!(dtype, T => lanes::each::<T>(operands, [&[2], &[2, 1, 1]], results, work, |x, out| {
            let [pivots, order] = &mut out.integers[..] else { unreachable!("two results of integers") };
            out.scalars[0].copy_from_slice(&x.scalars[0]);
            lanes::lu(&mut out.scalars[0], [m, n], pivots);
            lanes::permutation(pivots, order);
        }), F64; F32);
    }
    dispatch_scalar!(dtype, T => each::<T>(operands, [&[2], &[2, 1, 1]], results, work, |x, out| {
        let factors = &mut out.scalars[0];
        factors.copy_from_slice(&x.scalars[0]);
        let [pivots, order] = &mut out.integers[..] else { unreachable!("two results of integers") };
        lu::factorise(MatMut::new(factors, [m, n], m), pivots);
        lu::permutation(pivots, order);
    }))
}

/// Solves equations of LU factors, the order of rows and right sides.
pub fn lu_solve(operands: &[View], adjoint: bool, results: &mut [ViewMut], work: usize) {
    let [n, m] = sizes(&operands[2]);
    let dtype = operands[0].dtype;
    let [lower, upper] = [true, false].map(|lower| Triangle { lower, unit: lower });
    // Rows that do not exist are none of nv_lu(); the op has no error for elements.
    let place = |row: i32| (row.max(0) as usize).min(n - 1);
    if lanes::suit(&operands[0]) {
        return dispatch_scalar!(dtype, T => lanes::each::<T>(operands, [&[2, 1, 2], &[2]], results, work, |x, out| {
            let (order, [factors, b]) = (&x.integers[0], &mut x.scalars[..]) else { unreachable!("three operands") };
            let out = &mut out.scalars[0];
            if adjoint {
                lanes::solve(factors, true, Triangle { lower: true, unit: false }, n, b);
                lanes::solve(factors, true, Triangle { lower: false, unit: true }, n, b);
            }
            for (out, b) in out.chunks_exact_mut(n).zip(b.chunks_exact(n)) {
                for (i, rows) in order.iter().enumerate() {
                    for (lane, &row) in rows.iter().enumerate() {
                        let (to, from) = if adjoint { (place(row), i) } else { (i, place(row)) };
                        out[to][lane] = b[from][lane];
                    }
                }
            }
            if !adjoint {
                lanes::solve(factors, false, lower, n, out);
                lanes::solve(factors, false, upper, n, out);
            }
        }), F64; F32);
    }
    dispatch_scalar!(dtype, T => each::<T>(operands, [&[2, 1, 2], &[2]], results, work, |x, out| {
        let (order, [factors, b]) = (&x.integers[0], &mut x.scalars[..]) else { unreachable!("three operands") };
        let out = &mut out.scalars[0];
        out.fill(T::ZERO);
        if adjoint {
            factors.iter_mut().for_each(|x| *x = x.conj());
            let a = MatRef::new(factors, [n, n], n).transposed();
            triangular::solve(a, Triangle { lower: true, unit: false }, MatMut::new(b, [n, m], n));
            triangular::solve(a, Triangle { lower: false, unit: true }, MatMut::new(b, [n, m], n));
            for (out, b) in out.chunks_exact_mut(n.max(1)).zip(b.chunks_exact(n.max(1))) {
                order.iter().zip(b).for_each(|(&row, &x)| out[place(row)] = x);
            }
        } else {
            for (out, b) in out.chunks_exact_mut(n.max(1)).zip(b.chunks_exact(n.max(1))) {
                order.iter().zip(out).for_each(|(&row, x)| *x = b[place(row)]);
            }
            let a = MatRef::new(factors, [n, n], n);
            triangular::solve(a, lower, MatMut::new(out, [n, m], n));
            triangular::solve(a, upper, MatMut::new(out, [n, m], n));
        }
    }))
}

/// QR factors; `q` has as many columns as its result.
pub fn qr(operands: &[View], results: &mut [ViewMut], work: usize) {
    let [m, n] = sizes(&operands[0]);
    let k = results[1].shape[results[1].shape.rank() - 2];
    dispatch_scalar!(operands[0].dtype, T => each::<T>(operands, [&[2], &[2, 2]], results, work, |x, out| {
        let [q, r] = &mut out.scalars[..] else { unreachable!("two results") };
        if m == 0 {
            return;
        }
        // Reflectors lie where `q` will be. Columns on the right of a square are made parts of `r` in place.
        let (count, x) = (m.min(n), MatRef::new(&x.scalars[0], [m, n], m));
        let [mut first, mut others] = MatMut::new(q, [m, k], m).split_columns(count);
        let [[square, mut right], [mut below, _]] = MatMut::new(r, [k, n], k).split(count, count);
        copy(first.again(), x.block(0..m, 0..count));
        below.fill(T::ZERO);
        let mut reflectors = qr::factorise(first, square);
        if n > m {
            copy(right.again(), x.block(0..m, m..n));
            reflectors.apply(right, true);
        }
        others.fill(T::ZERO);
        (0..k - count).for_each(|j| others.set(count + j, j, T::ONE));
        reflectors.apply(others, false);
        reflectors.into_q();
    }))
}

/// Singular values, and vectors if there are further results, of `left` and `right` columns.
pub fn svd(operands: &[View], [left, right]: [usize; 2], results: &mut [ViewMut], work: usize) {
    let [m, n] = sizes(&operands[0]);
    let k = m.min(n);
    let axes: &[usize] = if results.len() > 1 { &[1, 2, 2] } else { &[1] };
    // One matrix too: the signs of vectors are those that it has in a batch.
    let dtype = operands[0].dtype;
    if lanes::fit(&operands[0], lanes::SMALL) && k <= hestenes::MOST && [left, right] == [k, k] {
        return dispatch_scalar!(dtype, T => lanes::each::<T>(operands, [&[2], axes], results, work, |x, out| {
            let (a, values) = (&mut x.scalars[0], &mut out.reals[0]);
            if m < n {
                *a = (0..m * n).map(|at| a[at / n + at % n * m]).collect();
            }
            match &mut out.scalars[..] {
                [u, v] => {
                    let [left, right] = if m < n { [v, u] } else { [u, v] };
                    left.copy_from_slice(a);
                    hestenes::tall(left, [m.max(n), k], values, right);
                }
                _ => hestenes::tall(a, [m.max(n), k], values, &mut []),
            }
        }), F64; F32);
    }
    dispatch_scalar!(dtype, T => each::<T>(operands, [&[2], axes], results, work, |x, out| {
        let values = &mut out.reals[0];
        let mut a = x.scalars[0].take();
        if m < n {
            // The conjugate transpose has the same values, and the vectors of the other side.
            a = adjoint(MatRef::new(&a, [m, n], m));
        }
        let vectors = match &mut out.scalars[..] {
            [u, v] => {
                let (u, v) = (MatMut::new(u, [m, left], m), MatMut::new(v, [n, right], n));
                Some(if m < n { [v, u] } else { [u, v] })
            }
            _ => None,
        };
        if !svd::tall(a, [m.max(n), k], values, vectors) {
            values.fill(<T as Scalar>::Real::of(f64::NAN));
            out.scalars.iter_mut().for_each(|v| v.fill(T::of(f64::NAN)));
        }
    }))
}

/// Solves equations of triangular matrices, or of their conjugate transposes.
pub fn triangular_solve(
    operands: &[View],
    Triangle { lower, unit }: Triangle,
    adjoint: bool,
    results: &mut [ViewMut],
    work: usize,
) {
    let [n, m] = sizes(&operands[1]);
    let dtype = operands[0].dtype;
    if lanes::suit(&operands[0]) {
        let triangle = Triangle { lower: lower != adjoint, unit };
        return dispatch_scalar!(dtype, T => lanes::each::<T>(operands, [&[2, 2], &[2]], results, work, |x, out| {
            out.scalars[0].copy_from_slice(&x.scalars[1]);
            lanes::solve(&x.scalars[0], adjoint, triangle, n, &mut out.scalars[0]);
        }), F64; F32);
    }
    dispatch_scalar!(dtype, T => each::<T>(operands, [&[2, 2], &[2]], results, work, |x, out| {
        let out = &mut out.scalars[0];
        out.copy_from_slice(&x.scalars[1]);
        if adjoint && T::COMPLEX {
            x.scalars[0].iter_mut().for_each(|x| *x = x.conj());
        }
        let a = MatRef::new(&x.scalars[0], [n, n], n);
        let (a, lower) = if adjoint { (a.transposed(), !lower) } else { (a, lower) };
        triangular::solve(a, Triangle { lower, unit }, MatMut::new(out, [n, m], n));
    }))
}
