//! Products of a matrix whose columns are contiguous and a vector on vectors of the processor, for the sums that
//! [`super::matvec`] describes: a row in each lane of a vector.
//!
//! They are written over the operations of vectors: of a loop over arrays of eight lanes the compiler kept lanes in
//! memory, which took six times as long.

use super::matrix::Matrix;
use crate::dtype::Float;
use crate::kernels::math::lanes::{Lanes, Paired, Singles, Wide, MOST_LANES};
use crate::kernels::math::vectors::{vectored, Vectored};

/// A float of which processors have vectors.
pub(super) trait Vectors: Float {
    /// Its vectors.
    type Of<S: Singles<Scalar = f32> + Paired, D: Wide + Paired>: Paired<Scalar = Self>;

    /// The number in all lanes.
    fn splat<V: Lanes<Scalar = Self>>(self) -> V;
}

impl Vectors for f32 {
    type Of<S: Singles<Scalar = f32> + Paired, D: Wide + Paired> = S;

    #[inline(always)]
    fn splat<V: Lanes<Scalar = f32>>(self) -> V {
        V::of_bits(u64::from(self.to_bits()))
    }
}

impl Vectors for f64 {
    type Of<S: Singles<Scalar = f32> + Paired, D: Wide + Paired> = D;

    #[inline(always)]
    fn splat<V: Lanes<Scalar = f64>>(self) -> V {
        V::of_bits(self.to_bits())
    }
}

/// The first elements, `count` at most, or all if they are fewer, filled up with zeros.
#[inline(always)]
pub(super) fn rest<F: Vectors, V: Lanes<Scalar = F>>(x: &[F], count: usize) -> V {
    let (mut line, count) = ([F::of(0.0); MOST_LANES], x.len().min(V::LANES).min(count));
    line[..count].copy_from_slice(&x[..count]);
    V::load(&line)
}

/// The products of the first rows of a matrix, as many as `out` has, with `x`. Columns are contiguous. A sum
/// has `L` lanes: element `i` belongs to lane `i % L`, and the later half of the lanes is added to the earlier until one is left.
pub(super) fn columns<F: Vectors, const L: usize>(matrix: Matrix<F>, x: &[F], out: &mut [F]) {
    vectored(Columns::<F, L> { matrix, x, out })
}

/// The operands of [`columns`].
struct Columns<'a, F, const L: usize> {
    matrix: Matrix<'a, F>,
    x: &'a [F],
    out: &'a mut [F],
}

impl<F: Vectors, const L: usize> Vectored for Columns<'_, F, L> {
    type Made = ();

    #[inline(always)]
    fn run<S: Singles<Scalar = f32> + Paired, D: Wide + Paired>(self) {
        // Of the sums that are in registers at once there are eight vectors, or 16 where processors have 32: as many lanes as
        // that allows, so that columns are read in order.
        match (F::Of::<S, D>::LANES, L) {
            (_, 1) => self.of::<F::Of<S, D>, 8, 1>(),
            (16, _) => self.of::<F::Of<S, D>, 1, 16>(),
            (8, 8) => self.of::<F::Of<S, D>, 2, 8>(),
            _ => self.of::<F::Of<S, D>, 2, 4>(),
        }
    }
}

impl<F: Vectors, const L: usize> Columns<'_, F, L> {
    /// With the sums of `P` vectors of rows, and of `G` lanes of each, in registers; or by columns.
    #[inline(always)]
    fn of<V: Lanes<Scalar = F>, const P: usize, const G: usize>(self) {
        let Columns { matrix, x, out } = self;
        let rows = out.len();
        if rows < V::LANES || x.is_empty() {
            return few_rows::<F, V, L>(matrix, x, out);
        }
        // The first and the last column, between which the others lie.
        for column in [0, x.len() - 1] {
            let run = matrix.data.get(matrix.at(0, column)..);
            assert!(run.is_some_and(|run| run.len() >= rows), "a column outside of the matrix's data");
        }
        let mut row = 0;
        let bytes = size_of_val(out);
        if bytes >= LONG && bytes * x.len() > CACHE {
            let is_far = bytes * x.len() > SECOND_CACHE;
            while rows - row >= V::LANES {
                let most = if is_far { far_block::<F>() } else { BLOCK };
                let count = (rows - row).min(most) / V::LANES * V::LANES;
                let out = &mut out[row..row + count];
                match count > BLOCK {
                    true => by_columns::<F, V, L, { far_block::<f32>() }>(matrix, row, x, out),
                    false => by_columns::<F, V, L, BLOCK>(matrix, row, x, out),
                }
                row += count;
            }
        }
        while rows - row >= P * V::LANES {
            in_registers::<F, V, L, P, G>(matrix, row, x, &mut out[row..]);
            row += P * V::LANES;
        }
        // The last rows may be made twice.
        while row < rows {
            let at = row.min(rows - V::LANES);
            in_registers::<F, V, L, 1, G>(matrix, at, x, &mut out[at..]);
            row = at + V::LANES;
        }
    }
}

/// The products of fewer rows than a vector has lanes: what is behind a column is multiplied as well, and not kept.
#[inline(always)]
fn few_rows<F: Vectors, V: Lanes<Scalar = F>, const L: usize>(matrix: Matrix<F>, x: &[F], out: &mut [F]) {
    let (mut sums, mut column) = ([[V::of(0.0)]; L], 0);
    let place = |column: usize| matrix.at(0, column);
    while column + L <= x.len() && place(column).max(place(column + L - 1)) + V::LANES <= matrix.data.len() {
        let first = matrix.data[place(column)..].as_ptr();
        for (lane, sums) in sums.iter_mut().enumerate() {
            // SAFETY: the first of these columns and the last one are followed by enough elements; the others lie between.
            unsafe { add_column(sums, first.offset(lane as isize * matrix.strides[1]), x[column + lane]) };
        }
        column += L;
    }
    // A copy, as those before stay in registers.
    let mut all = sums;
    for (i, &x) in x.iter().enumerate().skip(column) {
        let column = rest::<F, V>(&matrix.data[place(i)..], out.len());
        all[i % L][0] = all[i % L][0] + column * x.splat::<V>();
    }
    let [sums] = halved(&mut all);
    let mut made = [F::of(0.0); MOST_LANES];
    sums.store(&mut made);
    out.copy_from_slice(&made[..out.len()]);
}

/// Bytes of a column from which on columns are read one after the other, if the matrix takes more than [`CACHE`]
/// bytes: it comes from a cache that gives more to who reads what lies side by side, and registers would need of each
/// column a piece.
const LONG: usize = 640;

/// Bytes that are in the nearest cache.
const CACHE: usize = 1 << 15;

/// Bytes that are in the second cache of a core.
const SECOND_CACHE: usize = 1 << 20;

/// Rows whose sums are in the nearest cache, at most.
const BLOCK: usize = 256;

/// Bytes of the sums of these rows where the matrix comes from memory: pieces of columns fill pages, as processors read ahead
/// within a page only, and look up each. Of 4096 x 4096, a product takes a third of the time that it takes with [`BLOCK`].
const FAR_RUN: usize = 1 << 13;

/// Those rows.
pub(super) const fn far_block<F>() -> usize {
    FAR_RUN / size_of::<F>()
}

/// The products of rows from one on, as many as `out` has, at most `B`, by whole vectors: of each lane some columns after the
/// other.
#[inline(always)]
fn by_columns<F: Vectors, V: Lanes<Scalar = F>, const L: usize, const B: usize>(
    matrix: Matrix<F>,
    row: usize,
    x: &[F],
    out: &mut [F],
) {
    let matrix = matrix.from(row, 0);
    if L == 1 {
        return lane::<F, V>(matrix, 0, 1, x, out);
    }
    // Lanes in the order in which they can be added two by two at once, as digits of a binary counter: what is left
    // to be added is a sum for each digit that is 1.
    let mut left = [[F::of(0.0); B]; MOST_LANES.ilog2() as usize + 1];
    for count in 0..L {
        let first = count.reverse_bits() >> (usize::BITS - L.trailing_zeros());
        let (lower, sums) = left.split_at_mut(count.trailing_ones() as usize);
        let sums = &mut sums[0][..out.len()];
        lane::<F, V>(matrix, first, L, x, sums);
        for low in lower {
            for (sums, low) in sums.chunks_exact_mut(V::LANES).zip(low.chunks_exact(V::LANES)) {
                (V::load(low) + V::load(sums)).store(sums);
            }
        }
    }
    out.copy_from_slice(&left[L.trailing_zeros() as usize][..out.len()]);
}

/// The sums of the products of columns that are `apart`, from one on: few at a time, as columns whose distance is a power of two
/// share places of the nearest cache. Of eight, a product with 256 x 256 singles took twice as long.
#[inline(always)]
fn lane<F: Vectors, V: Lanes<Scalar = F>>(
    matrix: Matrix<F>,
    first: usize,
    apart: usize,
    x: &[F],
    sums: &mut [F],
) {
    let mut column = first;
    while column < x.len() {
        let (begins, rest) = (column == first, (x.len() - column).div_ceil(apart));
        column += apart
            * match (begins, rest) {
                (true, 4..) => some::<F, V, 4, true>(matrix, column, apart, x, sums),
                (true, _) => some::<F, V, 1, true>(matrix, column, apart, x, sums),
                (false, 4..) => some::<F, V, 4, false>(matrix, column, apart, x, sums),
                (false, 2..) => some::<F, V, 2, false>(matrix, column, apart, x, sums),
                (false, _) => some::<F, V, 1, false>(matrix, column, apart, x, sums),
            };
    }
}

/// Adds the products of `C` columns to the sums, or to 0 if they are the first. Returns `C`.
#[inline(always)]
fn some<F: Vectors, V: Lanes<Scalar = F>, const C: usize, const FIRST: bool>(
    matrix: Matrix<F>,
    column: usize,
    apart: usize,
    x: &[F],
    sums: &mut [F],
) -> usize {
    let mut factors = [V::of(0.0); C];
    let mut runs = [&[][..]; C];
    for c in 0..C {
        factors[c] = x[column + c * apart].splat();
        runs[c] = &matrix.data[matrix.at(0, column + c * apart)..][..sums.len()];
    }
    for at in (0..sums.len()).step_by(V::LANES) {
        let sums = &mut sums[at..at + V::LANES];
        let mut made = if FIRST { V::of(0.0) } else { V::load(sums) };
        for c in 0..C {
            made = made + V::load(&runs[c][at..at + V::LANES]) * factors[c];
        }
        made.store(sums);
    }
    C
}

/// The products of `P` vectors of rows from one on.
#[inline(always)]
fn in_registers<F: Vectors, V: Lanes<Scalar = F>, const L: usize, const P: usize, const G: usize>(
    matrix: Matrix<F>,
    row: usize,
    x: &[F],
    out: &mut [F],
) {
    let (first, stride) = (matrix.data[matrix.at(row, 0)..].as_ptr(), matrix.strides[1]);
    let mut made = [[V::of(0.0); P]; MOST_LANES];
    for (lane, made) in (0..L).step_by(G).zip(made.chunks_exact_mut(G)) {
        let mut sums = [[V::of(0.0); P]; G];
        let mut column = lane;
        while column + G <= x.len() {
            for (g, sums) in sums.iter_mut().enumerate() {
                let column = column + g;
                // SAFETY: a column of the matrix, and an element for it.
                unsafe { add_column(sums, first.offset(column as isize * stride), *x.get_unchecked(column)) };
            }
            column += L;
        }
        for (g, sums) in sums.iter_mut().enumerate() {
            let column = column + g;
            if column < x.len() {
                // SAFETY: as above.
                unsafe { add_column(sums, first.offset(column as isize * stride), x[column]) };
            }
        }
        made.copy_from_slice(&sums);
    }
    let made = halved(&mut made[..L]);
    (0..P).for_each(|p| made[p].store(&mut out[p * V::LANES..]));
}

/// Adds the products of a column, which has at least `P` vectors of elements, and an element.
#[inline(always)]
unsafe fn add_column<F: Vectors, V: Lanes<Scalar = F>, const P: usize>(
    sums: &mut [V; P],
    column: *const F,
    x: F,
) {
    // SAFETY: so it is called.
    let column = unsafe { std::slice::from_raw_parts(column, P * V::LANES) };
    add(sums, vectors(column), [x.splat(); P]);
}

/// The later half of the lanes added to the earlier, until one is left.
#[inline(always)]
fn halved<V: Lanes, const P: usize>(lanes: &mut [[V; P]]) -> [V; P] {
    let mut half = lanes.len() / 2;
    while half > 0 {
        let (low, high) = lanes.split_at_mut(half);
        for (low, high) in low.iter_mut().zip(high) {
            add_all(low, high);
        }
        half /= 2;
    }
    lanes[0]
}

/// Adds vector by vector.
#[inline(always)]
fn add_all<V: Lanes, const P: usize>(low: &mut [V; P], high: &[V; P]) {
    for (low, high) in low.iter_mut().zip(high) {
        *low = *low + *high;
    }
}

/// As many vectors as there are elements for.
#[inline(always)]
pub(super) fn vectors<V: Lanes, const P: usize>(x: &[V::Scalar]) -> [V; P] {
    let mut made = [V::of(0.0); P];
    for (p, made) in made.iter_mut().enumerate() {
        *made = V::load(&x[p * V::LANES..]);
    }
    made
}

/// Adds products.
#[inline(always)]
pub(super) fn add<V: Lanes, const P: usize>(sums: &mut [V; P], x: [V; P], y: [V; P]) {
    for p in 0..P {
        sums[p] = sums[p] + x[p] * y[p];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::products::lane_rows::{in_order, rows};

    /// The sum of products as it is described.
    fn plain<F: Float, const L: usize>(row: &[F], x: &[F]) -> F {
        let mut lanes = [F::of(0.0); L];
        row.iter().zip(x).enumerate().for_each(|(i, (&a, &x))| lanes[i % L] = lanes[i % L] + a * x);
        let mut half = L / 2;
        while half > 0 {
            (0..half).for_each(|l| lanes[l] = lanes[l] + lanes[l + half]);
            half /= 2;
        }
        lanes[0]
    }

    fn check<F: Vectors, const L: usize>() {
        let number = |i: usize, j: usize| match (i * 7919 + j * 31) % 1013 {
            7 => F::of(-0.0),
            9 if j == 40 => F::of(f64::INFINITY),
            n => F::of(n as f64 / 1013.0 - 0.5),
        };
        for (m, k) in [
            (1, 64),
            (3, 0),
            (2, 90),
            (3, 70),
            (16, 1),
            (17, 2),
            (33, 12),
            (50, 63),
            (7, 80),
            (40, 100),
            (131, 71),
            (300, 130),
            (517, 200),
        ] {
            // Columns of a larger matrix: what is around it is not read, or not added.
            let (above, ld) = (3, m + 5);
            let mut data = vec![F::of(f64::NAN); ld * k + above];
            let x: Vec<F> = (0..k).map(|j| number(j, 3)).collect();
            let line = |i: usize| (0..k).map(|j| number(i, j)).collect::<Vec<F>>();
            (0..m).for_each(|i| line(i).iter().enumerate().for_each(|(j, &a)| data[above + i + j * ld] = a));
            let want: Vec<u64> = (0..m).map(|i| plain::<F, L>(&line(i), &x).f64().to_bits()).collect();
            if L == 1 {
                let data: Vec<F> = (0..m).flat_map(line).collect();
                let mut out = vec![F::of(f64::NAN); m];
                let matrix = Matrix { data: &data, first: 0, strides: [k as isize, 1] };
                if in_order(matrix, &x, &mut out) {
                    assert_eq!(out.iter().map(|x| x.f64().to_bits()).collect::<Vec<_>>(), want, "{m} {k}");
                } else {
                    assert!(m < MOST_LANES, "{m} {k}");
                }
            }
            let mut out = vec![F::of(f64::NAN); m];
            let matrix = Matrix { data: &data, first: above, strides: [1, ld as isize] };
            columns::<F, L>(matrix, &x, &mut out);
            assert_eq!(out.iter().map(|x| x.f64().to_bits()).collect::<Vec<_>>(), want, "{m} {k}");
            if L > 1 {
                let data: Vec<F> = (0..m).flat_map(line).chain([F::of(f64::NAN); 2]).collect();
                out.fill(F::of(f64::NAN));
                rows::<F, L>(Matrix { data: &data, first: 0, strides: [k as isize, 1] }, &x, &mut out);
                assert_eq!(out.iter().map(|x| x.f64().to_bits()).collect::<Vec<_>>(), want, "{m} {k}");
            }
        }
    }

    #[test]
    fn sums_are_those_of_the_description() {
        check::<f32, 1>();
        check::<f32, 16>();
        check::<f64, 1>();
        check::<f64, 8>();
    }
}
