//! Packing: panels of an operand are copied in the order in which kernels read them.

use super::scratch::Line;
use crate::kernels::memory::cache::prefetch;
use crate::kernels::memory::squares::{Square, LINES};
use std::mem::size_of;

/// Elements of lines after which the next ones are fetched, where panels are packed side by side: those of a
/// large matrix are in pages of their own each, which nothing but this asks for in time.
const AHEAD: isize = 8;

/// An element that is packed.
pub trait Packed: Square + Default {
    /// What lines and lanes that are missing are filled with.
    const ZERO: Self;
}

impl Packed for f32 {
    const ZERO: f32 = 0.0;
}

impl Packed for f64 {
    const ZERO: f64 = 0.0;
}

/// Elements from one panel of so many lines to the next: a line of the cache more than they take. All panels
/// would begin in the same set of the first-level cache, which has fewer ways than panels are written side by
/// side.
pub(super) fn apart<T>(width: usize, depth: usize) -> usize {
    width * depth + size_of::<Line>() / size_of::<T>()
}

/// Packs panels of `W` lines each: element `l` of line `i` of a panel goes to `l * W + i`, and panels are
/// [`apart`]. `line` and `stride` are the strides of lines and of their elements, `lines` and `depth` how many
/// there are of both; lines that are missing up to `read` of them are zeros.
///
/// # Safety
/// The elements are there, and there is room for `read` lines of as many, and for what is between panels; to
/// be inlined where AVX is.
#[inline(always)]
pub(super) unsafe fn pack<T: Packed, const W: usize>(
    x: *const T,
    [line, stride]: [isize; 2],
    [lines, read, depth]: [usize; 3],
    out: *mut T,
) {
    let apart = apart::<T>(W, depth);
    // Of lines side by side the first elements are read first, those of all whole panels, then the second ones.
    let beside = if line == 1 { lines / W } else { 0 };
    for l in 0..if beside > 0 { depth } else { 0 } {
        let x = x.wrapping_offset(l as isize * stride);
        if beside > 1 {
            let next = x.wrapping_offset(AHEAD * stride);
            for i in 0..beside {
                prefetch(next.wrapping_add(i * W).cast());
            }
        }
        for i in 0..beside {
            let elements = x.add(i * W).cast::<[T; W]>().read_unaligned();
            out.add(i * apart + l * W).cast::<[T; W]>().write_unaligned(elements);
        }
    }
    for i in beside..lines.div_ceil(W) {
        let done = i * W;
        let sizes = [W.min(lines - done), W.min(read - done), depth];
        let x = x.wrapping_offset(done as isize * line);
        panel::<T, W>(x, [line, stride], sizes, done + W < lines, out.add(i * apart));
    }
}

/// [`pack`] for one panel; with `more`, another follows.
///
/// # Safety
/// As of [`pack`].
#[inline(always)]
unsafe fn panel<T: Packed, const W: usize>(
    x: *const T,
    [line, stride]: [isize; 2],
    [lines, read, depth]: [usize; 3],
    more: bool,
    out: *mut T,
) {
    let at = |i: usize, l: usize| x.wrapping_offset(i as isize * line + l as isize * stride);
    if lines < read {
        zeros::<T, W>([lines, read, depth], out);
    }
    if lines < LINES && stride == 1 {
        // A loop over so few of them would take longer to start than to run.
        for i in 0..lines {
            spread(at(i, 0), stride, depth, out.add(i), W);
        }
        return;
    }
    let done = match (stride, more) {
        (1, true) => transposed::<T, W, true>(x, line, [lines, depth], out),
        (1, false) => transposed::<T, W, false>(x, line, [lines, depth], out),
        _ => 0,
    };
    for l in done..depth {
        (0..lines).for_each(|i| out.add(l * W + i).write(*at(i, l)));
    }
}

/// Fills up with zeros the lines that are missing, some at a time; others before them are written later.
///
/// # Safety
/// There is room for them.
#[inline(always)]
unsafe fn zeros<T: Packed, const W: usize>([lines, read, depth]: [usize; 3], out: *mut T) {
    if read < LINES {
        (lines..read).for_each(|i| spread(&T::ZERO, 0, depth, out.add(i), W));
        return;
    }
    for i in (lines / LINES * LINES..read).step_by(LINES) {
        let out = out.add(i.min(read - LINES));
        (0..depth).for_each(|l| out.add(l * W).cast::<[T; LINES]>().write_unaligned([T::ZERO; LINES]));
    }
}

/// Packs a panel of at least [`LINES`] lines, whose elements are contiguous, as many of these as are whole runs:
/// their number. With `FETCH`, lines of the next panel are fetched, which would else be waited for.
///
/// # Safety
/// As of [`pack`].
#[inline(always)]
unsafe fn transposed<T: Packed, const W: usize, const FETCH: bool>(
    x: *const T,
    line: isize,
    [lines, depth]: [usize; 2],
    out: *mut T,
) -> usize {
    let runs = depth / T::RUN * T::RUN;
    for l in (0..runs).step_by(T::RUN) {
        for i in (0..lines).step_by(LINES) {
            // The last lines are packed together with some again that have been.
            let i = i.min(lines - LINES);
            let x = x.wrapping_offset(i as isize * line + l as isize);
            if FETCH {
                for i in W..W + LINES {
                    prefetch(x.wrapping_offset(i as isize * line).cast());
                }
            }
            T::transpose(x, line, out.add(l * W + i), W);
        }
    }
    runs
}

/// Copies so many elements, which are `stride` apart, to places that are `width` apart.
///
/// # Safety
/// The elements are there, and there is room for them.
#[inline(always)]
unsafe fn spread<T: Copy>(x: *const T, stride: isize, count: usize, out: *mut T, width: usize) {
    for l in 0..count {
        out.add(l * width).write(*x.wrapping_offset(l as isize * stride));
    }
}
