//! Copies between lines in memory and tiles of them, in which some rows of a column lie beside those of the next.

use super::kernel::{Extent, Kernel, Window};
use crate::dtype::{DType, Element};
use crate::kernels::cast::by_width;
use crate::kernels::memory::cache::{fetch, prefetch, LINE};
use crate::kernels::tile::gather_run;

/// Runs ahead of a copy that are fetched: where lines are far apart, processors do not foresee where the next run
/// is, and copies of runs of 64 elements took twice the time (AMD EPYC, Zen 5).
const AHEAD: usize = 16;

/// Copies so many runs of so many bytes, which are this far apart there and here. Those that are `far` are fetched
/// ahead.
///
/// # Safety
/// All of them are readable there and writable here, and those here are apart from those there.
unsafe fn copy_runs(count: usize, bytes: usize, from: (*const u8, usize), to: (*mut u8, usize)) {
    let far = if from.1 > to.1 { from } else { (to.0.cast_const(), to.1) };
    for i in 0..count {
        let next = far.0.wrapping_add((i + AHEAD) * far.1);
        fetch(next, bytes);
        prefetch(next.wrapping_add(bytes - 1));
        let (from, to) = (from.0.wrapping_add(i * from.1), to.0.wrapping_add(i * to.1));
        // SAFETY: by the caller.
        unsafe { copy_run(bytes, from, to) };
    }
}

/// Copies bytes: of few, a call would take longer than the copy.
///
/// # Safety
/// As [`copy_runs`].
#[inline(always)]
unsafe fn copy_run(bytes: usize, from: *const u8, to: *mut u8) {
    let line = |at: usize| {
        // SAFETY: by the caller.
        unsafe {
            to.add(at)
                .cast::<[u8; LINE]>()
                .write_unaligned(from.add(at).cast::<[u8; LINE]>().read_unaligned())
        }
    };
    if bytes < LINE {
        // SAFETY: by the caller.
        return unsafe { from.copy_to_nonoverlapping(to, bytes) };
    }
    (0..bytes / LINE).for_each(|i| line(i * LINE));
    // The last line overlaps the one before.
    line(bytes - LINE);
}

impl Kernel {
    /// The tile of a dense stream whose columns have so many rows.
    pub fn pack(dtype: DType, all: usize) -> Kernel {
        let width = dtype.bytes();
        let run = Box::new(move |w: &Window| {
            let (count, bytes) = (w.len / w.rows, w.rows * width);
            // SAFETY: the stream has the rows of these columns, and the register the tile.
            unsafe { copy_runs(count, bytes, (w.reads[0], all * width), (w.write, bytes)) };
        });
        Kernel::new(run, [Extent::Tile(width)], Extent::Tile(width))
    }

    /// Stores the tile in a dense stream whose columns have so many rows.
    pub fn unpack(dtype: DType, all: usize) -> Kernel {
        let width = dtype.bytes();
        let run = Box::new(move |w: &Window| {
            let (count, bytes) = (w.len / w.rows, w.rows * width);
            // SAFETY: as above, and no other thread has these rows.
            unsafe { copy_runs(count, bytes, (w.reads[0], bytes), (w.write, all * width)) };
        });
        Kernel::new(run, [Extent::Tile(width)], Extent::Tile(width))
    }

    /// The tile of a stream in which the columns of so many rows begin with this element, with these strides from
    /// one row to the next and from one column to the next.
    pub fn pack_strided(dtype: DType, all: usize, first: usize, strides: [isize; 2]) -> Kernel {
        by_width!(dtype, T => Kernel::pack_of::<T>(all, first, strides))
    }

    fn pack_of<T: Element>(all: usize, first: usize, [row, column]: [isize; 2]) -> Kernel {
        let run = Box::new(move |w: &Window| {
            let (x, start) = (w.whole::<T>(0), (w.start % all) as isize * row + first as isize);
            for (i, out) in w.write::<T>().chunks_exact_mut(w.rows).enumerate() {
                gather_run(x, start + (w.start / all + i) as isize * column, row, out);
            }
        });
        let width = size_of::<T>();
        Kernel::new(run, [Extent::Whole], Extent::Tile(width))
    }
}
