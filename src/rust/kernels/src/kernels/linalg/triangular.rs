//! Equations with a triangular matrix.
//!
//! The triangle is halved until [`BASE`] rows are left, so that nearly all work is in products (Elmroth and
//! others, *Recursive blocked algorithms and hybrid data structures*, 2004). There several right-hand sides
//! are solved by substitution at once, one in each lane.

use super::scalar::{multiply, picoseconds, turn, Scalar};
use super::view::{MatMut, MatRef};
use crate::kernels::products::matrix::{Lower, Sums, LOWER};
use crate::kernels::threads::{self, pool};
use crate::kernels::wide::{wide_loop, Loop};
use crate::stop;

/// Rows that are solved by substitution.
const BASE: usize = LOWER;

/// Threads share right-hand sides by so many.
const SHARE: usize = 32;

/// Which triangle of a square matrix is read, and whether its diagonal is taken as 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Triangle {
    /// The lower one, else the upper one.
    pub lower: bool,
    /// Whether the elements on the diagonal are not read, but 1.
    pub unit: bool,
}

/// Solves `triangle * x = b` for `x [n, m]`, which holds `b` before. A zero on the diagonal gives infinite
/// and undefined elements, as division by zero does. Threads share the columns of `x`.
pub fn solve<T: Scalar>(matrix: MatRef<T>, triangle: Triangle, x: MatMut<T>) {
    let [n, m] = x.sizes;
    assert!(matrix.sizes == [n, n], "matrices that do not fit");
    let shared = picoseconds::<T>(n * n / 2 * m) >= pool::WORTH_SHARING;
    let columns = if shared { m.div_ceil(threads::threads()).next_multiple_of(SHARE) } else { m.max(1) };
    let all = super::scalar::Shared(x);
    pool::for_each_piece(m.div_ceil(columns), shared, |piece| {
        let at = piece * columns;
        // SAFETY: pieces have no columns in common.
        let x = unsafe { all.block(0..n, at..m.min(at + columns)) };
        halves(matrix, triangle, x);
    });
}

fn halves<T: Scalar>(matrix: MatRef<T>, triangle: Triangle, x: MatMut<T>) {
    let n = x.rows();
    if n <= BASE {
        return substitute(matrix, triangle, x);
    }
    stop::work(n);
    let half = (n / 2).next_multiple_of(BASE);
    let [upper, lower] = [0..half, half..n];
    let [mut above, mut below] = x.split_rows(half);
    if triangle.lower {
        halves(matrix.block(upper.clone(), upper.clone()), triangle, above.again());
        multiply(below.again(), matrix.block(lower.clone(), upper), above.read(), Sums::Subtract);
        halves(matrix.block(lower.clone(), lower), triangle, below);
    } else {
        halves(matrix.block(lower.clone(), lower.clone()), triangle, below.again());
        multiply(above.again(), matrix.block(upper.clone(), lower), below.read(), Sums::Subtract);
        halves(matrix.block(upper.clone(), upper), triangle, above);
    }
}

/// The triangle of a base in the order in which its rows are solved, and its diagonal.
struct Base<T> {
    triangle: Lower<T>,
    diagonal: [T; BASE],
    divides: bool,
}

fn substitute<T: Scalar>(matrix: MatRef<T>, triangle: Triangle, mut x: MatMut<T>) {
    let [n, m] = x.sizes;
    let place = |i: usize| if triangle.lower { i } else { n - 1 - i };
    let (mut rows, mut diagonal) = ([[T::ZERO; BASE]; BASE], [T::ONE; BASE]);
    for i in 0..n {
        (0..i).for_each(|k| rows[i][k] = matrix.at(place(i), place(k)));
        if !triangle.unit {
            diagonal[i] = matrix.at(place(i), place(i));
        }
    }
    // Products with reciprocals are faster than quotients, unless these are out of range.
    let inverses = diagonal.map(|x| T::ONE.over(x));
    let divides = !inverses[..n].iter().all(|x| x.is_finite());
    let base = Base { triangle: Lower { rows, inverses }, diagonal, divides };
    let upward = !triangle.lower;
    let by_row = x.strides[1] == 1 || m < 2;
    if by_row && !divides && T::substitute(&base.triangle, &mut x, upward) {
        return;
    }
    // So many lanes that what is stored in parts is in the cache when it is read as a vector.
    match (m, std::mem::size_of::<T>()) {
        (1, _) => wide_loop(Lines::<T, 1> { base: &base, x, upward }),
        (_, ..=4) => wide_loop(Lines::<T, 64> { base: &base, x, upward }),
        (_, ..=8) => wide_loop(Lines::<T, 32> { base: &base, x, upward }),
        _ => wide_loop(Lines::<T, 8> { base: &base, x, upward }),
    }
}

/// Substitution for as many right-hand sides at once as there are lanes, from the last row up if `upward`.
struct Lines<'a, 'b, T, const L: usize> {
    base: &'a Base<T>,
    x: MatMut<'b, T>,
    upward: bool,
}

impl<T: Scalar, const L: usize> Loop for Lines<'_, '_, T, L> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let Lines { base, mut x, upward } = self;
        let [n, m] = x.sizes;
        let mut lines = [[T::ZERO; L]; BASE];
        for start in (0..m).step_by(L) {
            let count = L.min(m - start);
            let mut block = x.again().block(0..n, start..start + count);
            read(&mut lines, block.read());
            let mut turned = MatMut::new(lines.as_flattened_mut(), [count, n], L).transposed();
            if base.divides || !T::substitute(&base.triangle, &mut turned, upward) {
                if upward {
                    lines[..n].reverse();
                }
                solve_lines(base, n, &mut lines);
                if upward {
                    lines[..n].reverse();
                }
            }
            write(&lines, &mut block);
        }
    }
}

/// Rows of a matrix as lines.
#[inline(always)]
fn read<T: Scalar, const L: usize>(lines: &mut [[T; L]; BASE], x: MatRef<T>) {
    let [n, m] = x.sizes;
    if x.strides[1] == 1 {
        for (i, line) in lines.iter_mut().enumerate().take(n) {
            let row = x.transposed().column(i);
            // Of a known length it is a few vectors.
            match row.try_into() {
                Ok(row) => *line = row,
                Err(_) => line[..m].copy_from_slice(row),
            }
        }
    } else {
        turn(MatMut::new(lines.as_flattened_mut(), [m, n], L), x);
    }
}

/// Back to the rows of the matrix.
#[inline(always)]
fn write<T: Scalar, const L: usize>(lines: &[[T; L]; BASE], x: &mut MatMut<T>) {
    let [n, m] = x.sizes;
    if x.strides[1] == 1 {
        let mut rows = x.again().transposed();
        for (i, line) in lines.iter().enumerate().take(n) {
            let row = rows.column(i);
            if m == L {
                row[..L].copy_from_slice(line);
            } else {
                row.copy_from_slice(&line[..m]);
            }
        }
    } else {
        turn(x.again(), MatRef::new(lines.as_flattened(), [m, n], L));
    }
}

/// Substitution, two lines at a time: both read the lines before them.
#[inline(always)]
fn solve_lines<T: Scalar, const L: usize>(base: &Base<T>, n: usize, lines: &mut [[T; L]; BASE]) {
    for i in (0..n).step_by(2) {
        let (mut first, mut second) = (lines[i], lines[(i + 1) % BASE]);
        let (rows, next) = (&base.triangle.rows[i], &base.triangle.rows[(i + 1) % BASE]);
        for ((line, &by_first), &by_second) in lines[..i].iter().zip(rows).zip(next) {
            for l in 0..L {
                first[l] -= by_first * line[l];
                second[l] -= by_second * line[l];
            }
        }
        finish(base, i, &mut first);
        lines[i] = first;
        if i + 1 < n {
            let by = next[i];
            for l in 0..L {
                second[l] -= by * first[l];
            }
            finish(base, i + 1, &mut second);
            lines[i + 1] = second;
        }
    }
}

/// Divides a line by its element of the diagonal.
#[inline(always)]
fn finish<T: Scalar, const L: usize>(base: &Base<T>, i: usize, line: &mut [T; L]) {
    if base.divides {
        for x in line {
            *x = x.over(base.diagonal[i]);
        }
    } else {
        for x in line {
            *x *= base.triangle.inverses[i];
        }
    }
}
