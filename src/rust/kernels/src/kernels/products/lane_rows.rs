//! Products of a matrix whose rows are contiguous and a vector on vectors of the processor, for the sums that
//! [`super::matvec`] describes: the lanes of a sum are those of vectors, or, of sums of one lane, a row is in each.

use super::lane_sums::{add, rest, vectors, Vectors};
use super::matrix::Matrix;
use crate::kernels::math::lanes::{Lanes, Paired, Singles, Wide, MOST_LANES};
use crate::kernels::math::vectors::{vectored, Vectored};

/// Rows that are contiguous, and are multiplied together, at most: while the processor waits for one sum, it adds to the
/// others. Of four on vectors of a cache line, products of matrices in the second cache took up to a third longer.
pub(super) const ROWS: usize = 8;

/// The inner products of the first rows of a matrix, as many as `out` has, which are contiguous, with `x`, in as many lanes
/// as a cache line has elements: element `i` belongs to lane `i % L`, and the later half of the lanes is added to the
/// earlier until one is left.
pub(super) fn rows<F: Vectors, const L: usize>(matrix: Matrix<F>, x: &[F], out: &mut [F]) {
    vectored(Rows::<F, L> { matrix, x, out })
}

/// The operands of [`rows`].
struct Rows<'a, F, const L: usize> {
    matrix: Matrix<'a, F>,
    x: &'a [F],
    out: &'a mut [F],
}

impl<F: Vectors, const L: usize> Vectored for Rows<'_, F, L> {
    type Made = ();

    #[inline(always)]
    fn run<S: Singles<Scalar = f32> + Paired, D: Wide + Paired>(self) {
        match L / F::Of::<S, D>::LANES {
            1 => self.of::<F::Of<S, D>, 1, ROWS>(),
            2 => self.of::<F::Of<S, D>, 2, 4>(),
            _ => self.of::<F::Of<S, D>, 4, 4>(),
        }
    }
}

impl<F: Vectors, const L: usize> Rows<'_, F, L> {
    /// With the lanes of a sum in `P` vectors, of `R` rows at a time.
    #[inline(always)]
    fn of<V: Paired<Scalar = F>, const P: usize, const R: usize>(self) {
        let Rows { matrix, x, out } = self;
        let mut row = 0;
        while row < out.len() {
            row += match out.len() - row {
                rest if rest >= R => some_rows::<F, V, L, P, R>(matrix, row, x, out),
                2.. => some_rows::<F, V, L, P, 2>(matrix, row, x, out),
                _ => some_rows::<F, V, L, P, 1>(matrix, row, x, out),
            };
        }
    }
}

/// The inner products of `R` rows from one on. Returns `R`.
#[inline(always)]
fn some_rows<F: Vectors, V: Paired<Scalar = F>, const L: usize, const P: usize, const R: usize>(
    matrix: Matrix<F>,
    row: usize,
    x: &[F],
    out: &mut [F],
) -> usize {
    let (k, mut sums, mut lines) = (x.len(), [[V::of(0.0); P]; R], [&[][..]; R]);
    for (i, line) in lines.iter_mut().enumerate() {
        *line = &matrix.data[matrix.at(row + i, 0)..];
        assert!(line.len() >= k);
    }
    let whole = k / L * L;
    let mut at = 0;
    while at < whole {
        let x: [V; P] = vectors(&x[at..at + L]);
        for (sums, line) in sums.iter_mut().zip(lines) {
            add(sums, vectors(&line[at..at + L]), x);
        }
        at += L;
    }
    if whole < k {
        let x = start::<F, V, L, P>(&x[whole..], k - whole);
        for (sums, line) in sums.iter_mut().zip(lines) {
            add(sums, start::<F, V, L, P>(&line[whole..], k - whole), x);
        }
    }
    // Two vectors that are woven and halved are one, of the lanes of both by turns: rows are in order in the end if they are
    // taken in the order of their numbers with the bits backwards. What halves a vector by numbers of its lanes takes the time
    // of some hundred products.
    let mut lanes = [V::of(0.0); R];
    for (r, sums) in sums.iter().enumerate() {
        let mut sums = *sums;
        let mut half = P / 2;
        while half > 0 {
            (0..half).for_each(|p| sums[p] = sums[p] + sums[p + half]);
            half /= 2;
        }
        // Of as many rows as a vector has lanes at most.
        let bits = R.min(V::LANES).trailing_zeros();
        let backwards = (r % R.min(V::LANES)).reverse_bits() >> (usize::BITS - bits).min(usize::BITS - 1);
        lanes[r / R.min(V::LANES) * R.min(V::LANES) + backwards] = sums[0];
    }
    let (mut count, mut left) = (R, V::LANES);
    while left > 1 {
        for i in 0..count.div_ceil(2) {
            let (low, high) = lanes[(2 * i).min(R - 1)].weave(lanes[(2 * i + 1).min(count - 1)]);
            lanes[i] = low + high;
        }
        (count, left) = (count.div_ceil(2), left / 2);
    }
    let mut made = [F::of(0.0); MOST_LANES];
    for (i, lanes) in lanes.iter().enumerate().take(R.div_ceil(V::LANES)) {
        lanes.store(&mut made[i * V::LANES..]);
    }
    let apart = (V::LANES / R).max(1);
    (0..R).for_each(|r| out[row + r] = made[r * apart]);
    R
}

/// The inner products of the first rows of a matrix, which are contiguous, with `x`, in one lane: of as many rows as `out`
/// has. Returns whether there are as many as a vector has lanes; nothing is written otherwise.
pub(super) fn in_order<F: Vectors>(matrix: Matrix<F>, x: &[F], out: &mut [F]) -> bool {
    vectored(InOrder { matrix, x, out })
}

/// The operands of [`in_order`].
struct InOrder<'a, F> {
    matrix: Matrix<'a, F>,
    x: &'a [F],
    out: &'a mut [F],
}

impl<F: Vectors> Vectored for InOrder<'_, F> {
    type Made = bool;

    #[inline(always)]
    fn run<S: Singles<Scalar = f32> + Paired, D: Wide + Paired>(mut self) -> bool {
        self.of::<F::Of<S, D>>()
    }
}

impl<F: Vectors> InOrder<'_, F> {
    /// With a row in each lane.
    #[inline(always)]
    fn of<V: Paired<Scalar = F>>(&mut self) -> bool {
        let rows = self.out.len();
        if rows < V::LANES {
            return false;
        }
        let mut row = 0;
        // The last rows may be made twice.
        while row < rows {
            let at = row.min(rows - V::LANES);
            self.block::<V>(at);
            row = at + V::LANES;
        }
        true
    }

    /// The products of as many rows as there are lanes, from one on: blocks of as many columns are transposed.
    #[inline(always)]
    fn block<V: Paired<Scalar = F>>(&mut self, row: usize) {
        let (matrix, x, k) = (self.matrix, self.x, self.x.len());
        let (mut column, mut sums) = (0, V::of(0.0));
        while column < k {
            let place = |r: usize| matrix.at(row + r, column);
            // What is behind the last column is read, and not added.
            let is_there = place(0).max(place(V::LANES - 1)) + V::LANES <= matrix.data.len();
            let first = matrix.data[place(0)..].as_ptr();
            let mut tile: [V; MOST_LANES] = std::array::from_fn(|r| match r < V::LANES {
                // SAFETY: the first row and the last one are there, between which the others lie.
                true if is_there => unsafe { load(first.offset(r as isize * matrix.strides[0])) },
                true => rest(&matrix.data[place(r)..], k - column),
                false => V::of(0.0),
            });
            transposed(&mut tile);
            // A tile stays in registers if nothing asks for a column by its number.
            for (c, &column_of) in tile.iter().enumerate().take(V::LANES) {
                if let Some(&x) = x.get(column + c) {
                    sums = sums + column_of * x.splat::<V>();
                }
            }
            column += V::LANES;
        }
        sums.store(&mut self.out[row..]);
    }
}

/// A vector of elements that are there.
#[inline(always)]
unsafe fn load<V: Lanes>(x: *const V::Scalar) -> V {
    // SAFETY: so it is called.
    V::load(unsafe { std::slice::from_raw_parts(x, V::LANES) })
}

/// As many vectors as each has lanes, transposed.
#[inline(always)]
fn transposed<V: Paired>(x: &mut [V; MOST_LANES]) {
    let mut joined = 1;
    while joined < V::LANES {
        let from = *x;
        for i in 0..V::LANES / 2 {
            (x[2 * i], x[2 * i + 1]) = from[i].weave(from[i + V::LANES / 2]);
        }
        joined *= 2;
    }
}

/// The first `count` elements, filled up with zeros: their products change no bit of a sum that began with 0.
#[inline(always)]
fn start<F: Vectors, V: Lanes<Scalar = F>, const L: usize, const P: usize>(x: &[F], count: usize) -> [V; P] {
    let mut line = [F::of(0.0); MOST_LANES];
    let mut made = match x.get(..L) {
        Some(x) => vectors(x),
        None => {
            line[..count].copy_from_slice(&x[..count]);
            vectors(&line[..L])
        }
    };
    for (p, made) in made.iter_mut().enumerate() {
        let mut numbers = [F::of(0.0); MOST_LANES];
        (0..L).for_each(|lane| numbers[lane] = F::of(lane as f64));
        let is_there = V::load(&numbers[p * V::LANES..]).lt(V::of(count as f64));
        *made = V::select(is_there, *made, V::of(0.0));
    }
    made
}
