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

/// An axis of a walk over a strided value.
#[derive(Clone, Copy, Default)]
struct Axis {
    size: usize,
    stride: isize,
    /// The index that is next.
    index: usize,
}

/// Calls a function with the axes of a strided value: those of one element are left out, and axes with a single stride
/// are joined. The first axis stays, as runs are along it.
fn with_axes<R>(shape: &[usize], strides: &[isize], run: impl FnOnce(&mut [Axis]) -> R) -> R {
    // Runs of a tile are asked for often: the usual few axes need no allocation.
    let (mut stack, mut heap) = ([Axis::default(); STACK_AXES], vec![]);
    let axes = if shape.len() <= STACK_AXES {
        &mut stack[..]
    } else {
        heap.resize(shape.len(), Axis::default());
        &mut heap[..]
    };
    let mut rank = 0;
    for (&size, &stride) in shape.iter().zip(strides) {
        match axes[..rank].last_mut() {
            Some(_) if size == 1 => {}
            Some(last) if last.stride * last.size as isize == stride => last.size *= size,
            _ => {
                axes[rank] = Axis { size, stride, index: 0 };
                rank += 1;
            }
        }
    }
    run(&mut axes[..rank])
}

/// Visits the elements `range` (in column-major order) of a strided value, as runs along the first axis, and on along
/// those that have a single stride with it.
///
/// Calls `run(position, first, stride, len)`: `len` elements from element `first` of the buffer, `stride`
/// apart, are the ones from number `position` on, counted from `range.start`.
pub fn runs(
    shape: &Shape,
    layout: &Layout,
    range: Range<usize>,
    run: impl FnMut(usize, usize, isize, usize),
) {
    with_axes(shape, &layout.strides, |axes| runs_along(axes, layout.offset, range, run));
}

/// As [`runs`], of these axes.
fn runs_along(
    axes: &mut [Axis],
    offset: usize,
    range: Range<usize>,
    mut run: impl FnMut(usize, usize, isize, usize),
) {
    let total = range.len();
    if total == 0 {
        return;
    }
    let (mut rest, mut first) = (range.start, offset as isize);
    for axis in axes.iter_mut() {
        (axis.index, rest) = (rest % axis.size, rest / axis.size);
        first += axis.index as isize * axis.stride;
    }
    let Some((line, axes)) = axes.split_first_mut() else { return run(0, offset, 0, 1) };
    let mut done = 0;
    loop {
        let len = (line.size - line.index).min(total - done);
        run(done, first as usize, line.stride, len);
        done += len;
        if done == total {
            return;
        }
        // To the start of the next line.
        first -= line.index as isize * line.stride;
        line.index = 0;
        for axis in axes.iter_mut() {
            axis.index += 1;
            first += axis.stride;
            if axis.index < axis.size {
                break;
            }
            first -= axis.size as isize * axis.stride;
            axis.index = 0;
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
    if range.is_empty() {
        return;
    }
    // Runs are not along an axis of one element.
    let single = shape.iter().take_while(|&&size| size == 1).count();
    with_axes(&shape[single..], &layout.strides[single..], |axes| match axes {
        [line, others @ ..] if !others.is_empty() && line.is_gathered_along(&others[0]) => {
            lines(data, *line, others, layout.offset, range, out)
        }
        _ => runs_along(axes, layout.offset, range, |at, first, stride, len| {
            gather_run(data, first as isize, stride, &mut out[at..at + len])
        }),
    });
}

/// Elements of a line, at most, that is not gathered by itself.
const SHORT_LINE: usize = 16;

impl Axis {
    /// Whether lines along this axis are gathered some at a time, along the next one: if they are short, repeat an
    /// element each, or are repeated as a whole.
    fn is_gathered_along(&self, next: &Axis) -> bool {
        self.size <= SHORT_LINE || (self.stride, next.stride) == (0, 1) || next.stride == 0
    }
}

/// As [`gather`], of lines along an axis: many of them along the next axis.
fn lines<T: Element>(
    data: &[T],
    line: Axis,
    others: &mut [Axis],
    offset: usize,
    range: Range<usize>,
    out: &mut [T],
) {
    // Of the first line and of the last one there may be a part.
    let (number, within) = (range.start / line.size, range.start % line.size);
    let head = (line.size - within) % line.size;
    let (head, out) = out.split_at_mut(head.min(out.len()));
    let next = number + usize::from(within > 0);
    let whole = out.len() / line.size;
    let (out, tail) = out.split_at_mut(whole * line.size);
    for (number, within, part) in [(number, within, head), (next + whole, 0, tail)] {
        runs_along(others, offset, number..number + usize::from(!part.is_empty()), |_, first, _, _| {
            gather_run(data, first as isize + within as isize * line.stride, line.stride, part);
        });
    }
    runs_along(others, offset, next..next + whole, |at, first, stride, len| {
        let out = &mut out[at * line.size..(at + len) * line.size];
        match (line.stride, stride) {
            (0, 1) => repeat_each(&data[first..first + len], line.size, out),
            (within, 0) => {
                gather_run(data, first as isize, within, &mut out[..line.size]);
                repeat(line.size, out);
            }
            (within, between) => {
                let lines = Lines { data, first: first as isize, within, between };
                match line.size {
                    2 => lines.gather::<2>(out),
                    3 => lines.gather::<3>(out),
                    4 => lines.gather::<4>(out),
                    5 => lines.gather::<5>(out),
                    8 => lines.gather::<8>(out),
                    n => lines.each(out.chunks_exact_mut(n), |out, at| gather_run(data, at, within, out)),
                }
            }
        }
    });
}

/// Lines of elements: the distance of elements of a line, and that of lines.
struct Lines<'a, T> {
    data: &'a [T],
    first: isize,
    within: isize,
    between: isize,
}

impl<T: Element> Lines<'_, T> {
    /// Copies lines of so many elements.
    fn gather<const N: usize>(&self, out: &mut [T]) {
        let (count, lines) = (out.len() / N, out.chunks_exact_mut(N));
        if self.between == 1 {
            let elements = |i: usize| &self.data[(self.first + i as isize * self.within) as usize..][..count];
            let sources: [&[T]; N] = std::array::from_fn(elements);
            for (j, out) in lines.enumerate() {
                out.copy_from_slice(&std::array::from_fn::<T, N, _>(|i| sources[i][j]));
            }
        } else if self.within == 1 {
            self.each(lines, |out, at| out.copy_from_slice(&self.data[at as usize..][..N]));
        } else {
            let element = |at: isize, i: usize| self.data[(at + i as isize * self.within) as usize];
            self.each(lines, |out, at| {
                out.copy_from_slice(&std::array::from_fn::<T, N, _>(|i| element(at, i)))
            });
        }
    }

    /// Calls a function with each line of the result, and the place of its first element.
    #[inline(always)]
    fn each<'b>(&self, lines: impl Iterator<Item = &'b mut [T]>, mut copy: impl FnMut(&'b mut [T], isize))
    where
        T: 'b,
    {
        let mut at = self.first;
        for line in lines {
            copy(line, at);
            at += self.between;
        }
    }
}

/// Repeats the first elements, so many, as often as there is room for.
fn repeat<T: Element>(once: usize, out: &mut [T]) {
    let (mut done, n) = (once, out.len());
    while done < n {
        let len = done.min(n - done);
        out.copy_within(..len, done);
        done += len;
    }
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
        (out, x) if out.len() <= 8 => copy_ends::<T, 4>(x, out),
        (out, x) if out.len() <= 16 => copy_ends::<T, 8>(x, out),
        (out, x) if out.len() <= 32 => copy_ends::<T, 16>(x, out),
        (out, x) => out.copy_from_slice(x),
    }
}

/// Copies the first `N` elements, and the last ones: some twice, which are all that are there.
#[inline(always)]
fn copy_ends<T: Element, const N: usize>(x: &[T], out: &mut [T]) {
    let (ends, firsts) = ((x.first_chunk::<N>(), x.last_chunk::<N>()), out.first_chunk_mut::<N>());
    if let ((Some(first), Some(last)), Some(to)) = (ends, firsts) {
        *to = *first;
        if let Some(to) = out.last_chunk_mut::<N>() {
            *to = *last;
        }
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
pub const MAX_OPERANDS: usize = 4;

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
    fn any_part_of_a_value_of_any_strides_is_gathered() {
        let data: Vec<u64> = (0..5000).collect();
        let axes: [&[(usize, isize)]; 14] = [
            &[(2, 8), (8, 1), (3, 16)],
            &[(2, 8), (8, 1), (1, 7), (3, 48)],
            &[(3, 1), (7, 5), (4, 100)],
            &[(2, 100), (5, 7), (3, 1000)],
            &[(1, 4), (4, 30), (9, 2)],
            &[(7, 1), (5, 7), (2, 70)],
            &[(6, -1), (5, 20)],
            &[(5, 40), (6, -2), (2, 0)],
            &[(8, 3), (4, 24), (3, 200)],
            &[(17, 2), (3, 100)],
            &[(2, 1), (2, 512), (2, 2), (2, 256), (2, 4), (2, 128), (2, 8), (2, 64), (2, 16), (2, 32)],
            &[(4, 0), (6, 1), (2, 6)],
            &[(20, 30), (4, 0), (3, 1)],
            &[(5, 1), (3, 0), (2, 0), (2, 7)],
        ];
        for axes in axes {
            let shape = Shape::try_new(axes.iter().map(|axis| axis.0).collect()).unwrap();
            let layout = Layout { strides: axes.iter().map(|axis| axis.1).collect(), offset: 60 };
            let at = |i: usize| {
                let step = |(rest, at): (usize, isize), &(n, stride): &(usize, isize)| {
                    (rest / n, at + (rest % n) as isize * stride)
                };
                data[axes.iter().fold((i, 60), step).1 as usize]
            };
            let n = shape.size();
            for (start, end) in (0..n).flat_map(|start| (start..=n).step_by(5).map(move |end| (start, end))) {
                let mut out = vec![0; end - start];
                gather(&data, &shape, &layout, start..end, &mut out);
                assert_eq!(out, (start..end).map(at).collect::<Vec<_>>(), "{axes:?}, {start} to {end}");
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
