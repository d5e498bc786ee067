//! Tiles: how an elementwise kernel meets values of any layout.
//!
//! A kernel is a function on dense slices of one length. A value is cut into tiles of [`TILE`] elements in
//! column-major order; a tile of a dense value is a window on it, a tile of any other is gathered into a
//! scratch buffer that stays in the first-level cache.

use super::cast::{self, by_width};
use super::memory::{nontemporal, permute, AlignedBytes};
use super::threads::pool;
use crate::dtype::Element;
use crate::shape::Shape;
use crate::stop;
use crate::tensor::{Layout, View, ViewMut};
use std::ops::Range;

/// Elements of a tile: 8 KiB of f64. 512 to 2,048 measured alike, less or more is slower.
pub const TILE: usize = 1024;

/// The ranges that cut `n` elements into tiles.
#[inline]
pub fn tiles(n: usize) -> impl Iterator<Item = Range<usize>> {
    (0..n).step_by(TILE).map(move |start| {
        let end = (start + TILE).min(n);
        stop::work(end - start);
        start..end
    })
}

/// Axes of a value whose index is kept on the stack, at most.
pub const STACK_AXES: usize = 8;

/// Visits the elements `range` (in column-major order) of a strided value, as runs along the first axis.
///
/// Calls `run(position, first, stride, len)`: `len` elements from element `first` of the buffer, `stride`
/// apart, are the ones from number `position` on, counted from `range.start`.
pub fn runs(
    shape: &Shape,
    layout: &Layout,
    range: Range<usize>,
    run: impl FnMut(usize, usize, isize, usize),
) {
    runs_along(shape, &layout.strides, layout.offset, range, run)
}

/// As [`runs`], of axes of these sizes and strides.
fn runs_along(
    shape: &[usize],
    strides: &[isize],
    offset: usize,
    range: Range<usize>,
    mut run: impl FnMut(usize, usize, isize, usize),
) {
    let total = range.len();
    if total == 0 {
        return;
    }
    if shape.is_empty() {
        return run(0, offset, 0, 1);
    }
    let (mut rest, rank) = (range.start, shape.len());
    // Runs of a tile are asked for often: the usual few axes need no allocation.
    let (mut stack, mut heap) = ([0; STACK_AXES], vec![]);
    let index = if rank <= STACK_AXES {
        &mut stack[..rank]
    } else {
        heap.resize(rank, 0);
        &mut heap[..]
    };
    for (i, &size) in index.iter_mut().zip(shape.iter()) {
        (*i, rest) = (rest % size, rest / size);
    }
    let mut done = 0;
    while done < total {
        let first = index.iter().zip(strides).fold(offset as isize, |at, (&i, &s)| at + i as isize * s);
        let len = (shape[0] - index[0]).min(total - done);
        run(done, first as usize, strides[0], len);
        done += len;
        index[0] += len;
        for axis in 0..rank - 1 {
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
            index[axis + 1] += 1;
        }
    }
}

/// A tile of a value: a window on it where it is dense, else gathered into `scratch`.
pub fn tile<'a, T: Element>(x: &View<'a>, range: Range<usize>, scratch: &'a mut Vec<T>) -> &'a [T] {
    let data = cast::slice::<T>(x.data);
    if x.layout.is_dense(x.shape) {
        return &data[x.layout.offset..][range];
    }
    // A dense value never gets here, so scratch memory is taken only when it is needed. One element repeated
    // is the usual case: a number with a tensor.
    if x.layout.strides.iter().all(|&stride| stride == 0) {
        scratch.clear();
        scratch.resize(range.len(), data[x.layout.offset]);
        return scratch;
    }
    scratch.resize(range.len(), T::default());
    gather(data, x.shape, x.layout, range, scratch);
    scratch
}

/// Copies the elements `range` of a value that lies in `data`.
pub fn gather<T: Element>(data: &[T], shape: &Shape, layout: &Layout, range: Range<usize>, out: &mut [T]) {
    // Short lines that are repeated as a whole: the first ones are copied on and on.
    let repeated = layout.strides.len() > 1 && layout.strides[1..].iter().all(|&stride| stride == 0);
    let once = match shape.first() {
        Some(&line) if repeated => line.min(range.len()),
        _ => range.len(),
    };
    let some = range.start..range.start + once;
    match *layout.strides {
        [0, 1, ..] if shape[0] > 1 => repeated_runs(data, shape, layout, some, &mut out[..once]),
        _ => runs(shape, layout, some, |at, first, stride, len| {
            gather_run(data, first as isize, stride, &mut out[at..at + len])
        }),
    }
    let (mut done, n) = (once, range.len());
    while done < n {
        let len = done.min(n - done);
        out.copy_within(..len, done);
        done += len;
    }
}

/// As [`gather`], of a value whose elements lie side by side along the second axis, and are repeated along the first.
fn repeated_runs<T: Element>(data: &[T], shape: &Shape, layout: &Layout, range: Range<usize>, out: &mut [T]) {
    let (times, shape, strides) = (shape[0], &shape[1..], &layout.strides[1..]);
    // Of the first element some may be left.
    let (begin, within) = (range.start / times, range.start % times);
    let (head, out) = out.split_at_mut(((times - within) % times).min(out.len()));
    let each = |elements: Range<usize>, out: &mut [T]| {
        runs_along(shape, strides, layout.offset, elements.clone(), |at, first, _, len| {
            let end = ((at + len) * times).min(out.len());
            repeat_each(&data[first..first + len], times, &mut out[at * times..end]);
        });
    };
    if !head.is_empty() {
        each(begin..begin + 1, head);
    }
    let begin = range.start.div_ceil(times);
    each(begin..begin + out.len().div_ceil(times), out);
}

/// Elements that are stored at a time where each is repeated.
const AT_A_TIME: usize = 8;

/// Repeats each element so many times, as many as there is room for.
///
/// What is stored beyond the last of an element is stored again by those that follow: a loop that ends where it should
/// takes three times as long for 10 elements.
pub fn repeat_each<T: Element>(x: &[T], times: usize, out: &mut [T]) {
    let stored = times.next_multiple_of(AT_A_TIME);
    // Those after which there is room for what is stored beyond.
    let room = (out.len() + times).saturating_sub(stored) / times.max(1);
    let (whole, last) = x.split_at(if times <= 4 * AT_A_TIME { room.min(x.len()) } else { 0 });
    for (i, &x) in whole.iter().enumerate() {
        let out = &mut out[i * times..][..stored];
        out.chunks_exact_mut(AT_A_TIME).for_each(|out| out.copy_from_slice(&[x; AT_A_TIME]));
    }
    out[whole.len() * times..].chunks_mut(times.max(1)).zip(last).for_each(|(out, &x)| out.fill(x));
}

/// Copies elements side by side, as many as there are. Of a few, a call of the function that copies any number
/// takes longer: a five-point stencil on columns of three doubles took 440 ns with it, and takes 370.
pub fn copy_run<T: Element>(x: &[T], out: &mut [T]) {
    match (out, x) {
        ([], []) => {}
        ([a], [x]) => *a = *x,
        ([a, b], [x, y]) => (*a, *b) = (*x, *y),
        ([a, b, c], [x, y, z]) => (*a, *b, *c) = (*x, *y, *z),
        (out, x) => out.copy_from_slice(x),
    }
}

/// Copies elements that are `stride` apart, the first of them number `first`.
pub fn gather_run<T: Element>(data: &[T], first: isize, stride: isize, out: &mut [T]) {
    match stride {
        0 => out.fill(data[first as usize]),
        1 => copy_run(&data[first as usize..][..out.len()], out),
        _ => {
            for (i, slot) in out.iter_mut().enumerate() {
                *slot = data[(first + i as isize * stride) as usize];
            }
        }
    }
}

/// Elements of a piece of work: a whole number of tiles, of some microseconds.
const PIECE: usize = 16 * TILE;

/// About how long the cheapest kernel takes for an element, in picoseconds.
const ELEMENT: usize = 500;

/// The bytes of a tile of a value, as [`tile()`] has them.
pub(super) fn bytes_of<'a>(x: &View<'a>, range: Range<usize>, scratch: &'a mut AlignedBytes) -> &'a [u8] {
    let width = x.dtype.bytes();
    if x.layout.is_dense(x.shape) {
        return &x.data[(x.layout.offset + range.start) * width..][..range.len() * width];
    }
    scratch.reserve(range.len() * width);
    let out = &mut scratch.as_mut_slice()[..range.len() * width];
    gather_bytes(x, range, out);
    out
}

/// Copies the elements `range` of a value of any layout.
fn gather_bytes(x: &View, range: Range<usize>, out: &mut [u8]) {
    by_width!(x.dtype, T => {
        let (data, out) = (cast::slice::<T>(x.data), cast::slice_mut::<T>(out));
        match step(x) {
            Some(step) => {
                let first = x.layout.offset as isize + range.start as isize * step;
                gather_run(data, first, step, out)
            }
            None => gather(data, x.shape, x.layout, range, out),
        }
    });
}

/// How far apart the elements of a value are, if that is the same for all.
fn step(x: &View) -> Option<isize> {
    let axes = x.shape.iter().zip(&x.layout.strides).filter(|(&size, _)| size != 1);
    let line =
        axes.map(|(&size, &stride)| (size, stride)).try_fold((1, 0), |(n, step), (size, stride)| match n {
            1 => Some((size, stride)),
            _ => (step * n as isize == stride).then_some((n * size, step)),
        });
    line.map(|(_, step)| step)
}

/// Applies a kernel on bytes to tiles of operands; pieces of these are shared between threads if there are
/// many. One for all kernels, of which there are as many as ops and dtypes.
pub fn map(kernel: &(dyn Fn(&[&[u8]], &mut [u8]) + Sync), operands: &[&View], out: &mut ViewMut) {
    map_pieces(kernel, operands, out, &|| ());
}

/// As [`map`]; calls a function after each piece.
fn map_pieces(
    kernel: &(dyn Fn(&[&[u8]], &mut [u8]) + Sync),
    operands: &[&View],
    out: &mut ViewMut,
    after: &(dyn Fn() + Sync),
) {
    let width = out.dtype.bytes();
    let work = out.data.len() / width * ELEMENT;
    pool::for_each_chunk(out.data, PIECE * width, work, |i, piece| {
        let (start, mut scratch) = (i * PIECE, [(); MAX_OPERANDS].map(|()| AlignedBytes::default()));
        for (range, out) in tiles(piece.len() / width).zip(piece.chunks_mut(TILE * width)) {
            let mut bytes = [&[][..]; MAX_OPERANDS];
            for ((bytes, x), scratch) in bytes.iter_mut().zip(operands).zip(&mut scratch) {
                *bytes = bytes_of(x, start + range.start..start + range.end, scratch);
            }
            kernel(&bytes[..operands.len()], out);
        }
        after();
    });
}

/// Operands of a kernel, at most.
const MAX_OPERANDS: usize = 3;

/// Copies a value of any layout into a dense one.
pub fn copy(x: &View, out: &mut ViewMut) {
    if filled(x, out) || turned(x, out) {
        return;
    }
    let width = out.dtype.bytes();
    let work = out.data.len() / width * ELEMENT;
    let is_dense = x.layout.is_dense(x.shape);
    pool::for_each_chunk(out.data, PIECE * width, work, |i, piece| {
        for (range, out) in tiles(piece.len() / width).zip(piece.chunks_mut(TILE * width)) {
            let range = i * PIECE + range.start..i * PIECE + range.end;
            if is_dense {
                out.copy_from_slice(&x.data[(x.layout.offset + range.start) * width..][..out.len()]);
            } else {
                gather_bytes(x, range, out);
            }
        }
    });
}

/// As [`copy`], past the caches if elements that are side by side stay so.
pub fn stream(x: &View, out: &mut ViewMut) {
    if !(filled(x, out) || turned(x, out)) {
        map_pieces(&|x, out| nontemporal::stream(x[0], out), &[x], out, &nontemporal::streamed)
    }
}

/// Fills a value with one element whose bytes are the same, such as 0, which processors do by themselves without
/// reading memory first; returns whether it did.
fn filled(x: &View, out: &mut ViewMut) -> bool {
    let width = x.dtype.bytes();
    let is_one = !out.data.is_empty() && x.layout.strides.iter().all(|&stride| stride == 0);
    let element = if is_one { &x.data[x.layout.offset * width..][..width] } else { &[] };
    let Some(&byte) = element.first().filter(|&first| element.iter().all(|byte| byte == first)) else {
        return false;
    };
    let work = out.data.len() / width * ELEMENT;
    pool::for_each_chunk(out.data, PIECE * width, work, |_, piece| piece.fill(byte));
    true
}

/// Copies a value if elements that are side by side do not stay so; returns whether it did.
fn turned(x: &View, out: &mut ViewMut) -> bool {
    let mut steps =
        x.shape.iter().zip(&x.layout.strides).filter(|(&size, _)| size > 1).map(|(_, &step)| step);
    // Elements that are side by side stay so, or there are none.
    if steps.next().is_none_or(|first| first == 1) || steps.all(|step| step != 1) {
        return false;
    }
    by_width!(x.dtype, T => permute::copy(cast::slice::<T>(x.data), x, cast::slice_mut::<T>(out.data)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    #[test]
    fn a_transposed_broadcast_value_reads_in_column_major_order() {
        let data: Vec<i32> = (0..6).collect();
        // Shape (2,3) column-major seen as its transpose (3,2), repeated twice along a new last axis.
        let shape = Shape::from([3, 2, 2]);
        let layout = Layout { strides: vec![2, 1, 0], offset: 0 };
        let x = View { dtype: DType::I32, shape: &shape, layout: &layout, data: cast::bytes(&data) };
        let mut scratch = Vec::<i32>::new();
        let want = [0, 2, 4, 1, 3, 5, 0, 2, 4, 1, 3, 5];
        assert_eq!(tile(&x, 0..12, &mut scratch), want);
        assert_eq!(tile(&x, 4..9, &mut scratch), &want[4..9]);
    }

    #[test]
    fn each_element_is_repeated_up_to_the_end_of_the_room() {
        let x: Vec<u16> = (1..60).collect();
        for times in (1..=9).chain([15, 16, 17, 31, 32, 33, 70]) {
            for room in (0..3 * times + 20).chain([x.len() * times]) {
                let x = &x[..room.div_ceil(times)];
                let mut out = vec![0; room + 8];
                repeat_each(x, times, &mut out[..room]);
                let want: Vec<u16> = (0..room).map(|i| x[i / times]).chain([0; 8]).collect();
                assert_eq!(out, want, "{times} times, {room} elements");
            }
        }
    }

    #[test]
    fn any_part_of_a_value_that_is_repeated_along_the_first_axis_is_gathered() {
        let data: Vec<u32> = (0..100).collect();
        for times in [2, 3, 8, 13] {
            // Of a matrix with more rows than are read.
            let shape = Shape::from([times, 5, 3]);
            let layout = Layout { strides: vec![0, 1, 9], offset: 4 };
            let all: Vec<u32> =
                (0..15 * times).map(|i| 4 + (i / times % 5 + i / times / 5 * 9) as u32).collect();
            for start in 0..all.len() {
                for end in (start..=all.len()).step_by(3).chain([all.len()]) {
                    let mut out = vec![0; end - start];
                    gather(&data, &shape, &layout, start..end, &mut out);
                    assert_eq!(out, all[start..end], "{times} times, {start} to {end}");
                }
            }
        }
    }

    #[test]
    fn tiles_cover_everything_once() {
        for n in [0, 1, TILE - 1, TILE, TILE + 1, 3 * TILE + 7] {
            assert_eq!(tiles(n).map(|r| r.len()).sum::<usize>(), n);
        }
    }
}
