//! Rows of a matrix at places: elements of a few columns are read side by side.
//!
//! Column by column each element is a load of its place, one of itself and a store. Here the matrix is turned, a row of a
//! few columns is one load, and rows that were read are turned back, with vectors in both directions.

use super::row_sums::{together, turn, WIDTH};
use super::walk::ELEMENT;
use crate::growth::table;
use crate::kernels::math::Level;
use crate::kernels::threads::pool;
use crate::kernels::wide::wide;
use crate::stop;

/// Rows that are read at a time: they stay in the first-level cache.
const READ: usize = 256;

/// Columns from which on it takes less time.
const FEW: usize = 4;

/// Rows that are read, at least, for each of the matrix: all of these are turned.
const EACH: usize = 2;

/// Bytes of all that is read, at most: in more, memory is what takes the time, and whatever reads it in tiles saves a pass.
const NEAR: usize = 4 << 20;

/// Whether it is worth it for so many rows of a matrix with so many, of so many columns of elements of a width.
pub fn is_worth(rows: usize, of: usize, columns: usize, width: usize) -> bool {
    let near = rows.saturating_mul(columns).saturating_mul(width) <= NEAR;
    turns(width) && columns >= FEW && rows >= READ && rows / EACH >= of && near
}

/// Whether there are vectors that turn elements of a width (`squares::copy`).
fn turns(width: usize) -> bool {
    cfg!(target_arch = "x86_64") && matches!(width, 4 | 8) && Level::current() != Level::Portable
}

/// `out` becomes the rows at places of columns of `x`, `stride` elements apart, in which places are below `of`.
///
/// # Panics
/// If there are fewer elements than that.
pub(super) fn read<T: Copy + Default + Send + Sync>(
    x: &[T],
    [of, stride]: [usize; 2],
    places: &[u32],
    out: &mut [T],
) {
    let rows = places.len();
    let columns = out.len() / rows;
    let width = together(columns);
    let work = out.len() * ELEMENT / 4;
    pool::for_each_chunk(out, width * rows, work, |i, out| {
        let x = &x[i * width * stride..];
        if out.len() / rows > WIDTH / 2 {
            read_some::<T, WIDTH>(x, [of, stride], places, out);
        } else {
            read_some::<T, { WIDTH / 2 }>(x, [of, stride], places, out);
        }
    });
}

/// As [`read`], of at most `W` columns.
fn read_some<T: Copy + Default, const W: usize>(
    x: &[T],
    [of, stride]: [usize; 2],
    places: &[u32],
    out: &mut [T],
) {
    let columns = out.len() / places.len();
    let mut turned = table([T::default(); W], of);
    turn(x, [of, columns], [stride, W], turned.as_flattened_mut());
    let mut some = [[T::default(); W]; READ];
    for (start, now) in (0..).step_by(READ).zip(places.chunks(READ)) {
        stop::work(now.len() * columns);
        wide(|| some.iter_mut().zip(now).for_each(|(row, &place)| *row = turned[place as usize]));
        turn(some.as_flattened(), [columns, now.len()], [W, places.len()], &mut out[start..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::threads::want;

    fn check<T: Copy + Default + Send + Sync + PartialEq>(
        of: usize,
        rows: usize,
        columns: usize,
        make: impl Fn(usize) -> T,
    ) {
        let stride = of + 3;
        let x: Vec<T> = (0..stride * columns).map(make).collect();
        let places: Vec<u32> = (0..rows).map(|i| (i * 7919 % of) as u32).collect();
        let mut out = vec![T::default(); rows * columns];
        read(&x, [of, stride], &places, &mut out);
        let right = (0..rows * columns).all(|i| out[i] == x[places[i % rows] as usize + i / rows * stride]);
        assert!(right, "{of} {rows} {columns}");
    }

    #[test]
    fn rows_are_those_at_places() {
        for threads in [1, 2, 5] {
            want(Some(threads)).unwrap();
            for (of, rows) in [(1, 1), (3, 5), (40, 64), (300, 700), (9, 5000)] {
                for columns in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 64] {
                    check(of, rows, columns, |i| i as u8);
                    check(of, rows, columns, |i| i as u16);
                    check(of, rows, columns, |i| i as f32);
                    check(of, rows, columns, |i| i as u64);
                    check(of, rows, columns, |i| [i as f64, -1.0]);
                }
            }
        }
        want(None).unwrap();
    }
}
