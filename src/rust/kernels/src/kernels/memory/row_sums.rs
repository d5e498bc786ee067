//! Sums of rows at places: elements of a few columns side by side are added to elements that lie side by side, too.
//!
//! Column by column an element waits for the last one at its place, and each is a load, an addition and a store. Here
//! these are of as many elements as a vector has. Elements are added in the same order, so bits are the same.

#[cfg(target_arch = "x86_64")]
use super::squares;
use crate::dtype::{Element, Float};
use crate::kernels::cast;
use crate::kernels::elementwise::repeats;
use crate::kernels::wide::{wide_loop, Loop};
use crate::stop;

/// Columns that are added up together, at most.
pub(super) const WIDTH: usize = 8;

/// Rows that are turned at a time: they stay in the first-level cache, beside sums.
const TURNED: usize = 256;

/// Columns that are added up, or read, together, of so many: at most [`WIDTH`], in shares of about the same size, as
/// vectors turn no fewer than half of it.
pub(super) fn together(columns: usize) -> usize {
    columns.div_ceil(columns.div_ceil(WIDTH).max(1))
}

/// Whether it is worth it for so many new elements in a column, so many sums there, and columns: sums are copied, and
/// copied back.
pub(super) fn is_worth(len: usize, sums: usize, columns: usize) -> bool {
    columns > 1 && len >= sums
}

/// Adds the columns of `new`, each of as many elements as there are places, to as many columns of `sums`, `stride`
/// elements apart, where places in their column say, in order. Places from `len` on are left out. There are [`WIDTH`]
/// columns at most. Elements are given as others of the size of `F`.
pub(super) fn add<T: Element, F: Float>(
    sums: &mut [T],
    [len, stride]: [usize; 2],
    places: &[u32],
    new: &[T],
) {
    let (sums, new) = (cast::slice_mut(cast::bytes_mut(sums)), cast::slice(cast::bytes(new)));
    if new.len() > WIDTH / 2 * places.len() {
        add_up::<F, WIDTH>(sums, [len, stride], places, new);
    } else {
        add_up::<F, { WIDTH / 2 }>(sums, [len, stride], places, new);
    }
}

fn add_up<F: Float, const W: usize>(sums: &mut [F], [len, stride]: [usize; 2], places: &[u32], new: &[F]) {
    let columns = new.len() / places.len();
    let mut rows = vec![[F::of(0.0); W]; len];
    turn(sums, [len, columns], [stride, W], rows.as_flattened_mut());
    let mut turned = [[F::of(0.0); W]; TURNED];
    for (start, now) in (0..).step_by(TURNED).zip(places.chunks(TURNED)) {
        stop::work(now.len() * columns);
        let new = &new[start..];
        turn(new, [now.len(), columns], [places.len(), W], turned.as_flattened_mut());
        wide_loop(Rows { rows: &mut rows, places: now, new: &turned[..now.len()] });
    }
    turn(rows.as_flattened(), [columns, len], [W, stride], sums);
}

/// `out` becomes the transpose of a matrix of these sizes; columns of both are contiguous, with these strides.
pub(super) fn turn<T: Copy>(x: &[T], [rows, columns]: [usize; 2], [from, to]: [usize; 2], out: &mut [T]) {
    #[cfg(target_arch = "x86_64")]
    if squares::copy(x, [rows, columns], [from, to], out) {
        return;
    }
    for j in 0..columns {
        (0..rows).for_each(|i| out[j + i * to] = x[i + j * from]);
    }
}

/// Adds rows to those at places.
struct Rows<'a, F, const W: usize> {
    rows: &'a mut [[F; W]],
    places: &'a [u32],
    new: &'a [[F; W]],
}

impl<F: Float, const W: usize> Loop for Rows<'_, F, W> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let mut updates = self.places.iter().zip(self.new);
        if !repeats(self.places) {
            for (&place, new) in updates {
                if let Some(row) = self.rows.get_mut(place as usize) {
                    let old = *row;
                    *row = std::array::from_fn(|j| old[j] + new[j]);
                }
            }
            return;
        }
        // What one place gets in succession is added up in registers: a row waits for no store of the one before.
        let mut next = updates.next();
        while let Some((&place, first)) = next {
            let Some(row) = self.rows.get_mut(place as usize) else {
                next = updates.next();
                continue;
            };
            let old = *row;
            let mut sum: [F; W] = std::array::from_fn(|j| old[j] + first[j]);
            next = updates.next();
            while let Some((_, new)) = next.filter(|(&next, _)| next == place) {
                sum = std::array::from_fn(|j| sum[j] + new[j]);
                next = updates.next();
            }
            *row = sum;
        }
    }
}
