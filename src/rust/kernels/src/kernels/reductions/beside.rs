//! Sums of floats of which the results lie side by side, and the elements of one in different columns: the lanes of
//! some results are in registers. Accumulators in memory took three times as long.

use super::partials::{Rows, LANES};
use super::vectors::{Widened, START};
use crate::kernels::math::lanes::{Singles, Wide};
use crate::kernels::math::vectors::{vectored, Vectored};

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
        // As many lanes of as many results as there are registers.
        if D::LANES == LANES && out.len() >= 2 * D::LANES {
            return all::<R, D, 2>(x, &rows, out);
        }
        if out.len() >= D::LANES {
            return all::<R, D, 1>(x, &rows, out);
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

/// The place of element `j` of a result.
#[inline(always)]
fn place(rows: &Rows, at: usize, j: usize) -> usize {
    (rows.first + at as isize + rows.offsets.at(j)) as usize
}

/// Of all results, as many at a time as `N` vectors have lanes. The last ones overlap those before.
#[inline(always)]
fn all<R: Widened, D: Wide, const N: usize>(x: &[R], rows: &Rows, out: &mut [f64]) {
    let some = N * D::LANES;
    let last = out.len() - some;
    for at in (0..out.len()).step_by(some) {
        let at = at.min(last);
        let sums = some_of::<R, D, N>(x, rows, at);
        for i in 0..N {
            sums[i].store(&mut out[at + i * D::LANES..][..D::LANES]);
        }
    }
}

/// Element `j` of some results added to their sums.
#[inline(always)]
fn add<R: Widened, D: Wide, const N: usize>(sums: &mut [D; N], x: &[R], rows: &Rows, at: usize, j: usize) {
    let x = &x[place(rows, at, j)..][..N * D::LANES];
    for i in 0..N {
        sums[i] = sums[i] + R::load(&x[i * D::LANES..][..D::LANES]);
    }
}

#[inline(always)]
fn some_of<R: Widened, D: Wide, const N: usize>(x: &[R], rows: &Rows, at: usize) -> [D; N] {
    let n = rows.offsets.len();
    // Each has a name, so that it is in a register.
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = [[D::of(START); N]; LANES];
    let mut j = 0;
    while j + LANES <= n {
        add(&mut a, x, rows, at, j);
        add(&mut b, x, rows, at, j + 1);
        add(&mut c, x, rows, at, j + 2);
        add(&mut d, x, rows, at, j + 3);
        add(&mut e, x, rows, at, j + 4);
        add(&mut f, x, rows, at, j + 5);
        add(&mut g, x, rows, at, j + 6);
        add(&mut h, x, rows, at, j + 7);
        j += LANES;
    }
    if j < n {
        add(&mut a, x, rows, at, j);
    }
    if j + 1 < n {
        add(&mut b, x, rows, at, j + 1);
    }
    if j + 2 < n {
        add(&mut c, x, rows, at, j + 2);
    }
    if j + 3 < n {
        add(&mut d, x, rows, at, j + 3);
    }
    if j + 4 < n {
        add(&mut e, x, rows, at, j + 4);
    }
    if j + 5 < n {
        add(&mut f, x, rows, at, j + 5);
    }
    if j + 6 < n {
        add(&mut g, x, rows, at, j + 6);
    }
    for i in 0..N {
        a[i] = ((a[i] + e[i]) + (c[i] + g[i])) + ((b[i] + f[i]) + (d[i] + h[i]));
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reductions::partials::Offsets;

    #[test]
    fn sums_of_neighbours_are_those_of_lanes_in_order() {
        for (rows, columns) in [(1, 5), (7, 10), (8, 8), (20, 13), (33, 64), (16, 1)] {
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
