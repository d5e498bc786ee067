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
const STACK_AXES: usize = 8;

/// Visits the elements `range` (in column-major order) of a strided value, as runs along the first axis.
///
/// Calls `run(position, first, stride, len)`: `len` elements from element `first` of the buffer, `stride`
/// apart, are the ones from number `position` on, counted from `range.start`.
pub fn runs(
    shape: &Shape,
    layout: &Layout,
    range: Range<usize>,
    mut run: impl FnMut(usize, usize, isize, usize),
) {
    let total = range.len();
    if total == 0 {
        return;
    }
    if shape.rank() == 0 {
        return run(0, layout.offset, 0, 1);
    }
    let (mut rest, rank) = (range.start, shape.rank());
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
        let first = index
            .iter()
            .zip(&layout.strides)
            .fold(layout.offset as isize, |at, (&i, &s)| at + i as isize * s);
        let len = (shape[0] - index[0]).min(total - done);
        run(done, first as usize, layout.strides[0], len);
        done += len;
        index[0] += len;
        for axis in 0..shape.rank() - 1 {
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
    runs(shape, layout, range.start..range.start + once, |at, first, stride, len| {
        gather_run(data, first as isize, stride, &mut out[at..at + len])
    });
    let (mut done, n) = (once, range.len());
    while done < n {
        let len = done.min(n - done);
        out.copy_within(..len, done);
        done += len;
    }
}

/// Repeats each element so many times.
pub fn repeat_each<T: Element>(x: &[T], times: usize, out: &mut [T]) {
    /// Short runs of a length that is known are stored without a loop.
    fn few<T: Element, const N: usize>(x: &[T], out: &mut [T]) {
        out.chunks_exact_mut(N).zip(x).for_each(|(out, &x)| out.fill(x));
    }
    match times {
        2 => few::<T, 2>(x, out),
        3 => few::<T, 3>(x, out),
        4 => few::<T, 4>(x, out),
        5 => few::<T, 5>(x, out),
        6 => few::<T, 6>(x, out),
        8 => few::<T, 8>(x, out),
        _ => out.chunks_mut(times).zip(x).for_each(|(out, &x)| out.fill(x)),
    }
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
    by_width!(x.dtype, T => {
        let (data, out) = (cast::slice::<T>(x.data), cast::slice_mut::<T>(out));
        if x.layout.strides.iter().all(|&stride| stride == 0) {
            out.fill(data[x.layout.offset]);
        } else {
            gather(data, x.shape, x.layout, range, out);
        }
    });
    out
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
    if !(filled(x, out) || turned(x, out)) {
        map(&|x, out| out.copy_from_slice(x[0]), &[x], out)
    }
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
    fn tiles_cover_everything_once() {
        for n in [0, 1, TILE - 1, TILE, TILE + 1, 3 * TILE + 7] {
            assert_eq!(tiles(n).map(|r| r.len()).sum::<usize>(), n);
        }
    }
}
