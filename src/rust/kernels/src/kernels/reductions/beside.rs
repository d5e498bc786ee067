//! Sums of floats of which the results lie side by side, and the elements of one in different columns. The lanes of a
//! block of results are in the first-level cache, and several columns are added to one at a time; where results or
//! columns are few, they are in registers.

use super::partials::{Rows, LANES};
use super::vectors::{Widened, START};
use crate::kernels::math::lanes::{Singles, Wide};
use crate::kernels::math::vectors::{vectored, Vectored};

/// Columns of memory that the processor foresees.
const FORESEEN: usize = 64;

/// Bytes of data that caches hold. Of more columns behind those, longer pieces are read than those of a block.
const NEAR: usize = 16 << 20;

/// Whether results are summed like this.
pub(super) fn are_beside<T>(x: &[T], rows: &Rows) -> bool {
    rows.stride == 1 && (rows.offsets.len() <= FORESEEN || std::mem::size_of_val(x) <= NEAR)
}

/// The sums of some results that are [beside](are_beside) one another.
pub(super) fn sums<R: Widened>(x: &[R], rows: Rows, out: &mut [f64]) {
    vectored(Beside(x, rows, out))
}

struct Beside<'a, R>(&'a [R], Rows<'a>, &'a mut [f64]);

/// Columns up to which lanes are in registers: for each block, lanes in memory are filled and put together.
const FEW: usize = 2 * LANES;

impl<R: Widened> Vectored for Beside<'_, R> {
    type Made = ();
    #[inline(always)]
    fn run<S: Singles<Scalar = f32>, D: Wide>(self) {
        let Beside(x, rows, out) = self;
        if out.len() < D::LANES {
            return one_by_one(x, &rows, out);
        }
        if rows.offsets.len() > FEW && out.len() > 2 * D::LANES {
            return blocks::<R, D>(x, &rows, out);
        }
        // As many lanes of as many results as there are registers.
        if D::LANES == LANES && out.len() >= 2 * D::LANES {
            return all::<R, D, 2>(x, &rows, out);
        }
        all::<R, D, 1>(x, &rows, out)
    }
}

/// The sums of fewer results than a vector has.
fn one_by_one<R: Widened>(x: &[R], rows: &Rows, out: &mut [f64]) {
    for (at, out) in out.iter_mut().enumerate() {
        let mut lanes = [START; LANES];
        for j in 0..rows.offsets.len() {
            lanes[j % LANES] += x[place(rows, at, j)].convert::<f64>();
        }
        for half in [4, 2, 1] {
            (0..half).for_each(|lane| lanes[lane] += lanes[lane + half]);
        }
        *out = lanes[0];
    }
}

/// The sum of the lanes of some results.
#[inline(always)]
fn joined<D: Wide>([a, b, c, d, e, f, g, h]: [D; LANES]) -> D {
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// Results whose lanes are in the first-level cache with what is added to them. Of a column that many are read at a
/// time: also where all columns begin in one set of the cache.
const BLOCK: usize = 256;

/// Columns that are added to a lane at a time, where there are enough, then as far as there are so many.
const DEEP: usize = 8;
const TWO: usize = 2;

/// The lanes of a block.
type Block = [[f64; BLOCK]; LANES];

/// Of all results, a block at a time. The last one overlaps that before.
#[inline(always)]
fn blocks<R: Widened, D: Wide>(x: &[R], rows: &Rows, out: &mut [f64]) {
    let results = out.len();
    let len = results.div_ceil(results.div_ceil(BLOCK)).next_multiple_of(D::LANES).min(results);
    let mut places = Places([0; COLUMNS]);
    for at in (0..results).step_by(len) {
        let at = at.min(results - len);
        let mut lanes: Block = [[START; BLOCK]; LANES];
        for from in (0..rows.offsets.len()).step_by(COLUMNS) {
            let count = places.find(rows, from, results, x.len());
            // SAFETY: so many elements are there.
            unsafe {
                let rest = add_deep::<R, D, DEEP>(&mut lanes, x, &places.0[..count], at, len);
                let rest = add_deep::<R, D, TWO>(&mut lanes, x, rest, at, len);
                add_deep::<R, D, 1>(&mut lanes, x, rest, at, len);
            }
        }
        for to in (0..len).step_by(D::LANES) {
            let mut all = [D::of(START); LANES];
            for (all, lane) in all.iter_mut().zip(&lanes) {
                *all = D::load(&lane[to..]);
            }
            joined(all).store(&mut out[at + to.min(len - D::LANES)..]);
        }
    }
}

/// Adds the elements that are so many behind some places to the lanes of a block: each from `K` columns at a time. The
/// places that are left are too few for that.
///
/// # Safety
/// So many elements are there, at least as many as a vector has and at most as a block has.
#[inline(always)]
unsafe fn add_deep<'a, R: Widened, D: Wide, const K: usize>(
    lanes: &mut Block,
    x: &[R],
    places: &'a [usize],
    behind: usize,
    len: usize,
) -> &'a [usize] {
    // With one at a time, there are all of them.
    let (whole, rest) =
        places.split_at(if K == 1 { places.len() } else { places.len() / (K * LANES) * K * LANES });
    for of in whole.chunks(K * LANES) {
        for (j, lane) in lanes.iter_mut().enumerate().take(of.len()) {
            let of: [usize; K] = std::array::from_fn(|k| of[k * LANES + j] + behind);
            // SAFETY: by the caller.
            unsafe { add_to::<R, D, K>(lane, x, of, len) };
        }
    }
    rest
}

/// Adds `len` elements from each of some places on to a lane. Those of the last vector are the last ones, of which some
/// are in that before as well if vectors do not divide them.
///
/// # Safety
/// They are there, at least as many as a vector has and at most as a block has.
#[inline(always)]
unsafe fn add_to<R: Widened, D: Wide, const K: usize>(
    lane: &mut [f64; BLOCK],
    x: &[R],
    places: [usize; K],
    len: usize,
) {
    let whole = len / D::LANES * D::LANES;
    for to in (0..whole).step_by(D::LANES) {
        // SAFETY: by the caller.
        unsafe { add_vectors::<R, D, K>(lane.get_unchecked_mut(to..to + D::LANES), x, places, to) };
    }
    if whole < len {
        // SAFETY: by the caller.
        unsafe { add_vectors::<R, D, K>(&mut lane[whole..whole + D::LANES], x, places, len - D::LANES) };
    }
}

/// Adds the elements that are so many behind some places to sums.
///
/// # Safety
/// A vector of elements is there.
#[inline(always)]
unsafe fn add_vectors<R: Widened, D: Wide, const K: usize>(
    sums: &mut [f64],
    x: &[R],
    places: [usize; K],
    behind: usize,
) {
    let mut sum = D::load(sums);
    for of in places {
        // SAFETY: by the caller.
        sum = sum + R::load(unsafe { x.get_unchecked(of + behind..of + behind + D::LANES) });
    }
    sum.store(sums);
}

/// Columns of which the places are found at a time.
const COLUMNS: usize = 16 * LANES;

/// The place of element `j` of a result.
#[inline(always)]
fn place(rows: &Rows, at: usize, j: usize) -> usize {
    (rows.first + at as isize + rows.offsets.at(j)) as usize
}

/// The places of some elements of the first result.
struct Places([usize; COLUMNS]);

impl Places {
    /// Those of the elements from `from` on, as many as there is room for. Behind each are as many elements as there are
    /// results, of `len` in all.
    #[inline(always)]
    fn find(&mut self, rows: &Rows, from: usize, results: usize, len: usize) -> usize {
        let count = COLUMNS.min(rows.offsets.len() - from);
        let mut last = 0;
        for (j, of) in self.0[..count].iter_mut().enumerate() {
            *of = place(rows, 0, from + j);
            last = last.max(*of);
        }
        // By the last place first, so that no sum wraps.
        let is_within = last < len && len - last >= results;
        assert!(is_within, "columns are within their data");
        count
    }
}

/// Of all results, as many at a time as `N` vectors have lanes. The last ones overlap those before.
#[inline(always)]
fn all<R: Widened, D: Wide, const N: usize>(x: &[R], rows: &Rows, out: &mut [f64]) {
    let (n, results, some) = (rows.offsets.len(), out.len(), N * D::LANES);
    let mut places = Places([0; COLUMNS]);
    let mut count = places.find(rows, 0, results, x.len());
    for at in (0..results).step_by(some) {
        let at = at.min(results - some);
        let mut lanes = [[D::of(START); N]; LANES];
        for from in (0..n).step_by(COLUMNS) {
            if n > COLUMNS {
                count = places.find(rows, from, results, x.len());
            }
            // SAFETY: so many elements are there.
            unsafe { add_columns(&mut lanes, x, &places.0[..count], at) };
        }
        for i in 0..N {
            let mut all = [D::of(START); LANES];
            for (all, lane) in all.iter_mut().zip(&lanes) {
                *all = lane[i];
            }
            joined(all).store(&mut out[at + i * D::LANES..]);
        }
    }
}

/// Adds to sums what is so many elements behind some places, to a lane after the other.
///
/// # Safety
/// `N` vectors of elements are there.
#[inline(always)]
unsafe fn add_columns<R: Widened, D: Wide, const N: usize>(
    lanes: &mut [[D; N]; LANES],
    x: &[R],
    places: &[usize],
    behind: usize,
) {
    // Each has a name, so that it is in a register.
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *lanes;
    let whole = places.chunks_exact(LANES);
    let rest = whole.remainder();
    for of in whole {
        // SAFETY: by the caller.
        unsafe {
            add(&mut a, x, of[0] + behind);
            add(&mut b, x, of[1] + behind);
            add(&mut c, x, of[2] + behind);
            add(&mut d, x, of[3] + behind);
            add(&mut e, x, of[4] + behind);
            add(&mut f, x, of[5] + behind);
            add(&mut g, x, of[6] + behind);
            add(&mut h, x, of[7] + behind);
        }
    }
    *lanes = [a, b, c, d, e, f, g, h];
    for (lane, &of) in lanes.iter_mut().zip(rest) {
        // SAFETY: by the caller.
        unsafe { add(lane, x, of + behind) };
    }
}

/// Adds the elements at a place to sums.
///
/// # Safety
/// `N` vectors of elements are there.
#[inline(always)]
unsafe fn add<R: Widened, D: Wide, const N: usize>(sums: &mut [D; N], x: &[R], at: usize) {
    // SAFETY: by the caller.
    let x = unsafe { x.get_unchecked(at..at + N * D::LANES) };
    for i in 0..N {
        sums[i] = sums[i] + R::load(&x[i * D::LANES..][..D::LANES]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reductions::partials::Offsets;

    #[test]
    fn sums_of_neighbours_are_those_of_lanes_in_order() {
        for (rows, columns) in [
            (1, 5),
            (7, 10),
            (8, 8),
            (20, 13),
            (33, 64),
            (16, 1),
            (37, 133),
            (16, 128),
            (12, 300),
            (128, 40),
            (259, 71),
        ] {
            let x: Vec<f32> =
                (0..rows * columns).map(|i| ((i * 7919) % 1013) as f32 * 0.37 - 100.0).collect();
            let want: Vec<f64> = (0..rows)
                .map(|row| {
                    let mut lanes = [-0.0; LANES];
                    (0..columns).for_each(|j| lanes[j % LANES] += f64::from(x[row + j * rows]));
                    for half in [4, 2, 1] {
                        (0..half).for_each(|lane| lanes[lane] += lanes[lane + half]);
                    }
                    lanes[0]
                })
                .collect();
            let offsets: Vec<isize> = (0..columns).map(|j| (j * rows) as isize).collect();
            for offsets in [Offsets::Steps(columns, 0, rows as isize), Offsets::List(&offsets)] {
                let rows_of = Rows { first: 0, stride: 1, offsets };
                let mut out = vec![0.0; rows];
                sums(&x, rows_of, &mut out);
                let are_same = out.iter().zip(&want).all(|(a, b)| f64::to_bits(*a) == f64::to_bits(*b));
                assert!(are_same, "{rows} {columns}");
            }
        }
    }
}
