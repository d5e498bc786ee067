//! Products of one matrix and many vectors, such as a layer of a network on a batch of examples: each with the
//! bits that [`super::matvec`] gives it alone.
//!
//! There a sum has lanes, and vectors of the processor hold the lanes of one sum, which are added two by two
//! in the end. Here they hold the same lane of the sums of many rows, so that nothing is added across a
//! vector: sums are as short as the vectors, and that would take longer than the products. The matrix is
//! copied for it once, row by row of all that are made together.

use super::inner_products::vector;
use super::matrix::{Matrix, MULTIPLY_ADD, PRODUCTS};
use super::matvec::SHORT;
use crate::dtype::Float;
use crate::kernels::memory::zeroed;
use crate::kernels::threads::pool;
use crate::kernels::tile::TILE;
use crate::kernels::wide::{wide_loop, Loop};
use crate::stop;
use std::mem::size_of;

/// Vectors from which on the copy of the matrix is worth it, and that are multiplied in one turn.
const VECTORS: usize = 16;

/// Turns of a piece of work for a thread.
const TURNS: usize = 4;

/// Elements of the matrix, at most: a larger one is not in the cache, and reading it is what takes time.
const MAX_ELEMENTS: usize = 1 << 15;

/// Rows of the matrix, at least: fewer would leave most of a vector empty.
const MIN_ROWS: usize = 4;

/// `out = matrix * xs` for a matrix of `m` rows and `k` columns, `xs [k, b]` and `out [m, b]`, column-major.
/// Returns whether it is worth it; nothing is written otherwise.
pub fn matvecs<F: Float>(matrix: Matrix<F>, xs: Matrix<F>, [m, k, b]: [usize; 3], out: &mut [F]) -> bool {
    if b < VECTORS || m < MIN_ROWS || m * k > MAX_ELEMENTS || k > TILE || k == 0 {
        return false;
    }
    // The elements of a cache line, as in the sums of a product with one vector.
    match (k < SHORT, size_of::<F>()) {
        (true, 4) => all::<F, 1, 16>(matrix, xs, [m, k, b], out),
        (true, _) => all::<F, 1, 8>(matrix, xs, [m, k, b], out),
        (false, 4) => all::<F, 16, 16>(matrix, xs, [m, k, b], out),
        (false, _) => all::<F, 8, 8>(matrix, xs, [m, k, b], out),
    }
    true
}

/// The products, with `L` lanes of a sum, for `W` rows at a time.
fn all<F: Float, const L: usize, const W: usize>(
    matrix: Matrix<F>,
    xs: Matrix<F>,
    [m, k, b]: [usize; 3],
    out: &mut [F],
) {
    let panels = panels::<F, W>(matrix, m, k);
    let work = (m * k * b).saturating_mul(MULTIPLY_ADD);
    pool::for_each_chunk(out, m * VECTORS * TURNS, work, |i, out| {
        let mut copy = vec![];
        for (turn, out) in (i * TURNS..).zip(out.chunks_mut(m * VECTORS)) {
            let (first, count) = (turn * VECTORS, out.len() / m);
            stop::work(m * k * count / PRODUCTS);
            let xs = xs.from(0, first);
            // Vectors side by side, or their elements.
            let (x, strides) = if xs.strides[0] == 1 && xs.strides[1] >= 0 {
                (&xs.data[xs.first..], [1, xs.strides[1] as usize])
            } else {
                copy.clear();
                for j in 0..k {
                    match xs.strides[1] {
                        1 => copy.extend_from_slice(&xs.data[xs.at(j, 0)..][..count]),
                        _ => copy.extend((0..count).map(|i| xs.get(j, i))),
                    }
                }
                (&copy[..], [count, 1])
            };
            wide_loop(Turn::<F, L, W> { panels: &panels, x, strides, k, m, out });
        }
    });
}

/// The matrix in panels of `W` rows, filled up with zeros: of each, its columns one after the other.
fn panels<F: Float, const W: usize>(matrix: Matrix<F>, m: usize, k: usize) -> Vec<F> {
    let mut panels = zeroed::<F>(m.div_ceil(W) * W * k);
    for (p, panel) in panels.chunks_exact_mut(W * k).enumerate() {
        let rows = W.min(m - p * W);
        for (j, column) in panel.chunks_exact_mut(W).enumerate() {
            for (i, x) in column[..rows].iter_mut().enumerate() {
                *x = matrix.get(p * W + i, j);
            }
        }
    }
    panels
}

/// The products of as many vectors as there is room for; `strides` are those of `x`, of elements and of
/// vectors.
struct Turn<'a, F, const L: usize, const W: usize> {
    panels: &'a [F],
    x: &'a [F],
    strides: [usize; 2],
    k: usize,
    m: usize,
    out: &'a mut [F],
}

impl<F: Float, const L: usize, const W: usize> Loop for Turn<'_, F, L, W> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let Turn { panels, x, strides, k, m, out } = self;
        for (p, panel) in panels.chunks_exact(W * k).enumerate() {
            let rows = W.min(m - p * W);
            let mut at = 0;
            // Two vectors at a time: while one sum waits for its last addition, the other goes on.
            for out in out.chunks_mut(2 * m) {
                if out.len() == m {
                    let [sums] = sums::<F, L, W, 1>(panel, &x[at * strides[1]..], strides, k);
                    out[p * W..][..rows].copy_from_slice(&sums[..rows]);
                } else {
                    let made = sums::<F, L, W, 2>(panel, &x[at * strides[1]..], strides, k);
                    for (out, sums) in out.chunks_exact_mut(m).zip(&made) {
                        out[p * W..][..rows].copy_from_slice(&sums[..rows]);
                    }
                }
                at += 2;
            }
        }
    }
}

/// The products of a panel with `C` vectors.
#[inline(always)]
fn sums<F: Float, const L: usize, const W: usize, const C: usize>(
    panel: &[F],
    x: &[F],
    strides: [usize; 2],
    k: usize,
) -> [[F; W]; C] {
    // Lanes in the order in which they can be added two by two at once, as digits of a binary counter: what
    // is left to be added is a sum for each digit that is 1.
    let mut left = [[[F::of(0.0); W]; C]; 5];
    for count in 0..L {
        let first = if L == 1 { 0 } else { count.reverse_bits() >> (usize::BITS - L.trailing_zeros()) };
        let mut sums = [[F::of(0.0); W]; C];
        let mut j = first;
        while j < k {
            let column: [F; W] = vector(&panel[j * W..][..W]);
            for (c, sums) in sums.iter_mut().enumerate() {
                let x = x[j * strides[0] + c * strides[1]];
                *sums = std::array::from_fn(|w| sums[w] + column[w] * x);
            }
            j += L;
        }
        let mut digit = 0;
        while count >> digit & 1 == 1 {
            for (sums, low) in sums.iter_mut().zip(&left[digit]) {
                *sums = std::array::from_fn(|w| low[w] + sums[w]);
            }
            digit += 1;
        }
        left[digit] = sums;
    }
    left[L.trailing_zeros() as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::products::lane_sums::Vectors;
    use crate::kernels::products::matvec::matvec;

    fn bits_are_those_of_one_vector<F: Vectors + std::fmt::Debug>(close: impl Fn(F, F) -> bool) {
        for [m, k, b] in [[32, 64, 40], [10, 32, 17], [4, 63, 16], [33, 100, 37], [17, 1, 16], [5, 1000, 33]]
        {
            let numbers = |n: usize, by: usize| {
                (0..n).map(|i| F::of(((i * by) % 1013) as f64 / 1013.0 - 0.5)).collect::<Vec<F>>()
            };
            let (w, x) = (numbers(m * k, 7919), numbers(k * b, 31));
            for (matrix, xs) in [
                (Matrix::dense(&w, m), Matrix::dense(&x, k)),
                (Matrix::dense(&w, k).transposed(), Matrix::dense(&x, b).transposed()),
                (
                    Matrix::dense(&w, m),
                    Matrix { strides: [-1, k as isize], ..Matrix::dense(&x, k).from(k - 1, 0) },
                ),
            ] {
                let mut made = vec![F::of(7.0); m * b];
                assert!(matvecs(matrix, xs, [m, k, b], &mut made));
                for (e, made) in made.chunks(m).enumerate() {
                    let line: Vec<F> = (0..k).map(|j| xs.get(j, e)).collect();
                    let mut one = vec![F::of(0.0); m];
                    matvec(matrix, &line, &mut one);
                    assert!(made.iter().zip(&one).all(|(&x, &y)| close(x, y)), "{m} {k} {b} {e}");
                }
            }
        }
    }

    #[test]
    fn each_product_has_the_bits_of_one_vector() {
        bits_are_those_of_one_vector::<f32>(|x, y| x.to_bits() == y.to_bits());
        bits_are_those_of_one_vector::<f64>(|x, y| x.to_bits() == y.to_bits());
    }

    #[test]
    fn few_vectors_and_large_matrices_are_left_to_others() {
        let x = vec![1f64; 1 << 17];
        for [m, k, b] in [[8, 8, 15], [3, 8, 64], [1 << 10, 64, 16], [4, TILE + 1, 16]] {
            let mut out = vec![7.0; m * b];
            assert!(!matvecs(Matrix::dense(&x, m), Matrix::dense(&x, k), [m, k, b], &mut out));
            assert!(out.iter().all(|&x| x == 7.0));
        }
    }
}
