//! Sums of floats of which the results lie side by side, and the elements of one in different columns: the lanes of
//! some results are in registers. Accumulators in memory took three times as long.

use super::partials::{Rows, LANES};
use super::vectors::{Widened, START};
use crate::kernels::math::lanes::{Singles, Wide};
use crate::kernels::math::vectors::{vectored, Vectored};
use crate::kernels::memory::cache::LINE;

/// Elements of a result that the processor foresees, from so many columns.
const FEW: usize = 64;

/// Bytes of data that caches hold, where a line of a column may be anywhere.
const NEAR: usize = 16 << 20;

/// Whether results are summed like this.
pub(super) fn are_beside<T>(x: &[T], rows: &Rows) -> bool {
    rows.stride == 1 && (rows.offsets.len() <= FEW || std::mem::size_of_val(x) <= NEAR)
}

/// The sums of some results that are [beside](are_beside) one another.
pub(super) fn sums<R: Widened>(x: &[R], rows: Rows, out: &mut [f64]) {
    vectored(Beside(x, rows, out))
}

struct Beside<'a, R>(&'a [R], Rows<'a>, &'a mut [f64]);

impl<R: Widened> Vectored for Beside<'_, R> {
    type Made = ();
    #[inline(always)]
    fn run<S: Singles<Scalar = f32>, D: Wide>(self) {
        let Beside(x, rows, out) = self;
        // As many lanes of as many results as there are registers, and the results of a line of memory.
        let line = LINE / size_of::<R>();
        let many = rows.offsets.len() > AT_ONCE;
        if D::LANES == LANES && out.len() >= 2 * D::LANES {
            return all::<R, D, 2, 1>(x, &rows, out);
        }
        if many && line == 4 * D::LANES && out.len() >= line {
            return all::<R, D, 1, 4>(x, &rows, out);
        }
        if many && line >= 2 * D::LANES && out.len() >= 2 * D::LANES {
            return all::<R, D, 1, 2>(x, &rows, out);
        }
        if out.len() >= D::LANES {
            return all::<R, D, 1, 1>(x, &rows, out);
        }
        for (at, out) in out.iter_mut().enumerate() {
            let mut lanes = [START; LANES];
            for j in 0..rows.offsets.len() {
                lanes[j % LANES] += x[place(&rows, at, j)].convert::<f64>();
            }
            for half in [4, 2, 1] {
                (0..half).for_each(|lane| lanes[lane] += lanes[lane + half]);
            }
            *out = lanes[0];
        }
    }
}

/// Columns of which the places are found at a time.
const COLUMNS: usize = 16 * LANES;

/// Columns at a time of which whole lines are added: the fewer, the more often sums go to memory and back.
const AT_ONCE: usize = 2 * LANES;

/// Bytes between columns of which all lines have the same set of the first-level cache: it holds a line of
/// [`LANES`] columns.
const SAME_SET: usize = 4096;

/// The place of element `j` of a result.
#[inline(always)]
fn place(rows: &Rows, at: usize, j: usize) -> usize {
    (rows.first + at as isize + rows.offsets.at(j)) as usize
}

/// The places of some elements of the first result, and the last of them.
struct Places {
    of: [usize; COLUMNS],
    last: usize,
}

impl Places {
    /// Those of the elements from `from` on, as many as there is room for; their number.
    #[inline(always)]
    fn find(&mut self, rows: &Rows, from: usize) -> usize {
        let count = COLUMNS.min(rows.offsets.len() - from);
        self.last = 0;
        for (j, of) in self.of[..count].iter_mut().enumerate() {
            *of = place(rows, 0, from + j);
            self.last = self.last.max(*of);
        }
        count
    }
}

/// Columns of which whole lines are added at a time.
fn at_once<T>(rows: &Rows) -> usize {
    let offsets = &rows.offsets;
    let is_crowded =
        offsets.len() > 1 && (offsets.at(1) - offsets.at(0)).unsigned_abs() * size_of::<T>() % SAME_SET == 0;
    if is_crowded {
        LANES
    } else {
        AT_ONCE
    }
}

/// Of all results, as many at a time as `G` times `N` vectors have lanes. The last ones overlap those before.
#[inline(always)]
fn all<R: Widened, D: Wide, const N: usize, const G: usize>(x: &[R], rows: &Rows, out: &mut [f64]) {
    let some = G * N * D::LANES;
    let last = out.len() - some;
    let mut places = Places { of: [0; COLUMNS], last: 0 };
    places.find(rows, 0);
    let at_once = if G == 1 { COLUMNS } else { at_once::<R>(rows) };
    for at in (0..out.len()).step_by(some) {
        let at = at.min(last);
        let sums = some_of::<R, D, N, G>(x, rows, at, &mut places, at_once);
        for (sums, out) in sums.iter().zip(out[at..].chunks_exact_mut(N * D::LANES)) {
            for i in 0..N {
                sums[i].store(&mut out[i * D::LANES..][..D::LANES]);
            }
        }
    }
}

/// The sums of the results from `at` on. All elements have their places, if they are few.
#[inline(always)]
fn some_of<R: Widened, D: Wide, const N: usize, const G: usize>(
    x: &[R],
    rows: &Rows,
    at: usize,
    places: &mut Places,
    at_once: usize,
) -> [[D; N]; G] {
    let n = rows.offsets.len();
    let mut lanes = [[[D::of(START); N]; LANES]; G];
    for from in (0..n).step_by(COLUMNS) {
        let count = if n > COLUMNS { places.find(rows, from) } else { n };
        // By the last place first, so that no sum wraps.
        let is_within = places.last < x.len() && x.len() - places.last >= at + G * N * D::LANES;
        assert!(is_within, "columns are within their data");
        for of in places.of[..count].chunks(at_once) {
            for (group, lanes) in lanes.iter_mut().enumerate() {
                // SAFETY: by the assertion.
                unsafe { add_columns(lanes, x, of, at + group * N * D::LANES) };
            }
        }
    }
    let mut sums = [[D::of(START); N]; G];
    for (sums, [a, b, c, d, e, f, g, h]) in sums.iter_mut().zip(&lanes) {
        for i in 0..N {
            sums[i] = ((a[i] + e[i]) + (c[i] + g[i])) + ((b[i] + f[i]) + (d[i] + h[i]));
        }
    }
    sums
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
        for (rows, columns) in
            [(1, 5), (7, 10), (8, 8), (20, 13), (33, 64), (16, 1), (37, 133), (16, 128), (12, 300)]
        {
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
