//! Products of a matrix and a vector: memory is read once, along its lines, whichever way the matrix lies.
//!
//! An element of the result is a sum of products, made of tiles of [`TILE`] of them: each in as many parts as a cache line
//! has elements, of which the sums are added two by two; sums of tiles are added in double precision, in order. Short ones
//! have one part. So the bits depend on the sizes and the values only: not on strides, not on threads.

use super::dot::Matrix;
use super::pool;
use super::tile::{gather_run, TILE};
use super::wide::wide;
use crate::dtype::{Element, Float};
use std::ops::Range;

/// Products below which a sum has one part.
const SHORT: usize = 64;

/// Results that are made together where the elements of each lie apart.
const TOGETHER: usize = 1024;

/// Sums of tiles in a piece of work for a thread.
const PIECE: usize = 1024;

/// `out = matrix * x`, of as many rows as `out` has and as many columns as `x`; `L` elements are a cache line.
pub fn matvec<F: Float, const L: usize>(matrix: Matrix<F>, x: &[F], out: &mut [F]) {
    if x.len() < SHORT { product::<F, 1>(matrix, x, out) } else { product::<F, L>(matrix, x, out) }
}

/// About how long an element of the matrix takes, in picoseconds: it is read from memory once.
const ELEMENT: usize = 200;

fn product<F: Float, const L: usize>(matrix: Matrix<F>, x: &[F], out: &mut [F]) {
    let (k, m) = (x.len(), out.len());
    if k == 0 || m == 0 {
        return out.fill(F::of(0.0));
    }
    let range = |number: usize| number * TILE..((number + 1) * TILE).min(k);
    if k <= TILE {
        let piece = PIECE * (TILE / k);
        return pool::for_each_chunk(out, piece, (k * m).saturating_mul(ELEMENT), |i, out| tile::<F, L>(matrix, x, 0..k, i * piece, out));
    }
    // All rows of the first tile, then all of the second.
    let count = k.div_ceil(TILE);
    let mut sums = vec![F::of(0.0); count * m];
    pool::for_each_chunk(&mut sums, PIECE.min(m), (k * m).saturating_mul(ELEMENT), |i, mut sums| {
        let mut at = i * PIECE.min(m);
        while !sums.is_empty() {
            let (number, first) = (at / m, at % m);
            let (now, later) = sums.split_at_mut(sums.len().min(m - first));
            at += now.len();
            tile::<F, L>(matrix, x, range(number), first, now);
            sums = later;
        }
    });
    for (i, out) in out.iter_mut().enumerate() {
        let parts = sums[i..].iter().step_by(m);
        *out = parts.fold(F::Wide::of(0.0), |sum, part| sum + part.convert::<F::Wide>()).convert();
    }
}

/// One tile of the products of rows from `first` on.
fn tile<F: Float, const L: usize>(matrix: Matrix<F>, x: &[F], range: Range<usize>, first: usize, out: &mut [F]) {
    let (x, start) = (&x[range.clone()], range.start);
    if L == 1 || matrix.strides[1] != 1 {
        for (i, out) in out.chunks_mut(TOGETHER).enumerate() {
            columns::<F, L>(matrix, x, start, first + i * TOGETHER, out);
        }
        return;
    }
    let line = |i: usize| &matrix.data[matrix.at(first + i, start)..][..x.len()];
    let mut at = 0;
    for out in out.chunks_mut(4) {
        if let [a, b, c, d] = out {
            [*a, *b, *c, *d] = lines::<F, L, 4>(std::array::from_fn(|i| line(at + i)), x);
        } else {
            for (i, out) in out.iter_mut().enumerate() {
                [*out] = lines::<F, L, 1>([line(at + i)], x);
            }
        }
        at += out.len();
    }
}

/// Sums of products of lines that lie in memory side by side.
fn lines<F: Float, const L: usize, const R: usize>(rows: [&[F]; R], x: &[F]) -> [F; R] {
    wide(|| {
        let mut acc = [[F::of(0.0); L]; R];
        let whole = x.len() / L * L;
        for at in (0..whole).step_by(L) {
            let x = &x[at..at + L];
            for (acc, row) in acc.iter_mut().zip(&rows) {
                let row = &row[at..at + L];
                *acc = std::array::from_fn(|i| acc[i] + row[i] * x[i]);
            }
        }
        for (acc, row) in acc.iter_mut().zip(&rows) {
            for (acc, (&a, &x)) in acc.iter_mut().zip(row[whole..].iter().zip(&x[whole..])) {
                *acc = *acc + a * x;
            }
        }
        acc.map(|mut acc| {
            let mut half = L / 2;
            while half > 0 {
                for i in 0..half {
                    acc[i] = acc[i] + acc[i + half];
                }
                half /= 2;
            }
            acc[0]
        })
    })
}

/// The same sums for many rows whose elements lie apart: columns are added to accumulators, one of each part at a time.
fn columns<F: Float, const L: usize>(matrix: Matrix<F>, x: &[F], start: usize, first: usize, out: &mut [F]) {
    let n = out.len();
    let mut acc = vec![F::of(0.0); L * n];
    let stride = matrix.strides[0];
    let mut scratch = if stride == 1 { vec![] } else { vec![F::of(0.0); 4 * n] };
    for (part, acc) in acc.chunks_exact_mut(n).enumerate() {
        let mut rest = (part..x.len()).step_by(L);
        loop {
            let (mut four, mut count) = ([0; 4], 0);
            for (slot, j) in four.iter_mut().zip(rest.by_ref()) {
                (*slot, count) = (j, count + 1);
            }
            if count == 0 {
                break;
            }
            let places = four.map(|j| matrix.at(first, start + j));
            let run: [&[F]; 4] = if stride == 1 {
                std::array::from_fn(|i| if i < count { &matrix.data[places[i]..][..n] } else { &[][..] })
            } else {
                for (i, run) in scratch.chunks_exact_mut(n).take(count).enumerate() {
                    gather_run(matrix.data, places[i] as isize, stride, run);
                }
                std::array::from_fn(|i| if i < count { &scratch[i * n..][..n] } else { &[][..] })
            };
            let x = four.map(|j| x[j]);
            if count < 4 {
                for (run, &x) in run[..count].iter().zip(&x) {
                    wide(|| acc.iter_mut().zip(*run).for_each(|(acc, &a)| *acc = *acc + a * x));
                }
                break;
            }
            wide(|| {
                let [b, c, d, e] = run;
                for ((((acc, &b), &c), &d), &e) in acc.iter_mut().zip(b).zip(c).zip(d).zip(e) {
                    *acc = *acc + b * x[0] + c * x[1] + d * x[2] + e * x[3];
                }
            });
        }
    }
    let mut half = L / 2;
    while half > 0 {
        let (low, high) = acc.split_at_mut(half * n);
        wide(|| low.iter_mut().zip(&*high).for_each(|(low, &high)| *low = *low + high));
        half /= 2;
    }
    out.copy_from_slice(&acc[..n]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_do_not_depend_on_the_way_the_matrix_lies() {
        for (m, k) in [(1, 5000), (7, 63), (7, 64), (1030, 90), (33, 1024), (5, 3001), (2100, 1), (3, 0)] {
            let x: Vec<f32> = (0..m * k).map(|i| ((i * 7919) % 1013) as f32 / 1013.0 - 0.5).collect();
            let v: Vec<f32> = (0..k).map(|i| ((i * 31) % 97) as f32 / 97.0 - 0.5).collect();
            let mut turned = vec![0f32; m * k];
            (0..m * k).for_each(|i| turned[i / m + i % m * k] = x[i]);
            let run = |matrix| {
                let mut out = vec![f32::NAN; m];
                matvec::<f32, 16>(matrix, &v, &mut out);
                out
            };
            let made = run(Matrix::dense(&x, m));
            assert_eq!(made, run(Matrix::dense(&turned, k).transposed()), "{m} {k}");
            for (i, &y) in made.iter().enumerate() {
                let products = (0..k).map(|j| f64::from(x[i + j * m]) * f64::from(v[j]));
                let (want, size) = products.fold((0.0, 0.0), |(sum, size): (f64, f64), p| (sum + p, size + p.abs()));
                // Parts of at most 64 products, and two roundings more for each time that they are halved.
                assert!((f64::from(y) - want).abs() <= 72.0 * f64::from(f32::EPSILON) * size, "{m} {k} {i}");
            }
        }
    }
}
