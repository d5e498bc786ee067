//! LU factors with row exchanges, by halves of the columns (Toledo, *Locality of reference in LU
//! decomposition with partial pivoting*, 1997).

use super::scalar::{multiply, Scalar};
use super::triangular::{self, Triangle};
use super::view::MatMut;
use crate::dtype::Element;
use crate::kernels::products::matrix::Sums;
use crate::kernels::wide::{wide_loop, Loop};
use crate::stop;

/// Columns that are eliminated one by one.
const BASE: usize = 16;

/// Elements that are compared at once.
const LANES: usize = 16;

/// Replaces `a [m, n]` by its factors: `l` below the diagonal, which has ones on it, and `u` on and above it,
/// with `a[permutation, ] = l * u`. In column `j` the row with the largest element (the sum of the sizes of its
/// parts) comes to row `j`; `pivots` holds the number of that row, one for each of the `min(m, n)` columns. A
/// column without an element other than 0 is left as it is, and the zero stands on the diagonal of `u`.
pub fn factorise<T: Scalar>(mut a: MatMut<T>, pivots: &mut [i32]) {
    let [m, n] = a.sizes;
    assert!(pivots.len() == m.min(n), "as many pivots as the shorter side");
    if m < n {
        // The columns on the right have no pivots.
        let [mut square, mut rest] = a.again().split_columns(m);
        factorise(square.again(), pivots);
        exchange(rest.again(), pivots);
        return triangular::solve(square.read(), Triangle { lower: true, unit: true }, rest);
    }
    if n <= BASE {
        return wide_loop(Columns { a, pivots });
    }
    stop::work(n);
    let half = (n / 2).next_multiple_of(BASE);
    let [mut left, mut right] = a.again().split_columns(half);
    let (first, last) = pivots.split_at_mut(half);
    factorise(left.again(), first);
    exchange(right.again(), first);
    let [square, below] = left.read().halves(half);
    let [mut above, mut rest] = right.split_rows(half);
    triangular::solve(square, Triangle { lower: true, unit: true }, above.again());
    multiply(rest.again(), below, above.read(), Sums::Subtract);
    factorise(rest, last);
    exchange(left.block(half..m, 0..half), last);
    last.iter_mut().for_each(|row| *row += half as i32);
}

/// Exchanges rows as the pivots say.
fn exchange<T: Scalar>(mut a: MatMut<T>, pivots: &[i32]) {
    for j in 0..a.columns() {
        let column = a.column(j);
        for (i, &row) in pivots.iter().enumerate() {
            column.swap(i, row as usize);
        }
    }
}

/// The factors, one column after the other.
struct Columns<'a, T> {
    a: MatMut<'a, T>,
    pivots: &'a mut [i32],
}

impl<T: Scalar> Loop for Columns<'_, T> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let Columns { mut a, pivots } = self;
        let [_, n] = a.sizes;
        for j in 0..n {
            let largest = largest(&a.column(j)[j..]);
            let row = j + largest;
            pivots[j] = row as i32;
            if row != j {
                (0..n).for_each(|k| a.column(k).swap(j, row));
            }
            let pivot = a.at(j, j);
            if pivot == T::ZERO {
                continue;
            }
            let column = &mut a.column(j)[j + 1..];
            let inverse = T::ONE.over(pivot);
            if inverse.is_finite() {
                column.iter_mut().for_each(|x| *x *= inverse);
            } else {
                column.iter_mut().for_each(|x| *x = x.over(pivot));
            }
            for k in j + 1..n {
                let factor = a.at(j, k);
                let [from, to] = a.two_columns(j, k);
                to[j + 1..].iter_mut().zip(&from[j + 1..]).for_each(|(to, &from)| *to -= from * factor);
            }
        }
    }
}

/// The number of the element with the largest size, the first of several; of the first NaN, if there is one: it
/// spreads to the whole result.
#[inline(always)]
fn largest<T: Scalar>(x: &[T]) -> usize {
    let greater = |most: T::Real, size: T::Real| if most.lt(size) { size } else { most };
    let mut most = [T::Real::ZERO; LANES];
    let mut ordered = true;
    for x in x.chunks(LANES) {
        for (most, x) in most.iter_mut().zip(x) {
            let size = x.size();
            *most = greater(*most, size);
            ordered &= size == size;
        }
    }
    let most = most.into_iter().fold(T::Real::ZERO, greater);
    let is = |x: &T| if ordered { x.size() == most } else { x.size() != x.size() };
    x.iter().position(is).unwrap_or(0)
}

/// The order of the rows that the exchanges make: row `i` of the result was row `order[i]`.
pub fn permutation(pivots: &[i32], order: &mut [i32]) {
    order.iter_mut().zip(0..).for_each(|(order, i)| *order = i);
    for (i, &row) in pivots.iter().enumerate() {
        order.swap(i, row as usize);
    }
}
