//! Permuted copies, such as transposes: neighbours in memory are not neighbours in the result.
//!
//! Element by element, either reads or writes would touch a cache line each. So a block of the plane of both
//! contiguous axes is read along the operand's lines into a buffer in the first-level cache, and written
//! along those of the result, in whole cache lines. Without the buffer, lines of a block would conflict in
//! the cache if sizes are powers of two, as they often are.

#[cfg(target_arch = "x86_64")]
use super::squares;
use crate::dtype::Element;
use crate::kernels::threads::pool;
use crate::kernels::wide::wide;
use crate::stop;
use crate::tensor::View;
use std::mem::size_of;

/// Elements of a run that is read.
const RUN: usize = 64;

/// Elements of a run, at least, that is read for a thread: a cache line of singles.
const LEAST: usize = 16;

/// Bytes of a run that is written, at most.
const LINE: usize = 512;

/// Elements of a piece of work for a thread, at least.
const PIECE: usize = 1 << 14;

/// An axis: its size, and its strides in the operand and in the result.
#[derive(Clone, Copy, Debug)]
struct StridedAxis {
    size: usize,
    from: isize,
    to: usize,
}

/// The estimated time per element, in picoseconds.
const ELEMENT: usize = 500;

/// Copies a value to a dense one in blocks, if contiguous elements do not stay contiguous. Returns whether it
/// did.
pub fn copy<T: Element>(data: &[T], x: &View, out: &mut [T]) -> bool {
    let (mut axes, mut to) = (Vec::new(), 1);
    for (size, from) in x.layout.lines(x.shape, 0..x.shape.rank()) {
        axes.push(StridedAxis { size, from, to });
        to *= size;
    }
    let Some(along) = axes.iter().position(|axis| axis.from == 1).filter(|&i| i > 0) else { return false };
    // Short runs are not worth a block.
    if axes[0].size * axes[along].size < 64 || out.is_empty() {
        return false;
    }
    // Pieces are ranges of the last axis that is worth splitting; lower axes are whole in each.
    let cut = (0..axes.len()).rev().find(|&i| axes[i].to <= PIECE || i == along).unwrap_or(0).max(along);
    let below = axes[cut].to;
    // Whole runs, if there are many.
    let part = if axes[cut].size < 4 * RUN { LEAST } else { RUN };
    let step = (PIECE / below).next_multiple_of(part).max(part).min(axes[cut].size);
    let step = if cut + 1 == axes.len() { step } else { axes[cut].size };
    // Axes below the cut, but for those of the planes.
    let others: Vec<StridedAxis> = (1..cut).filter(|&i| i != along).map(|i| axes[i]).collect();
    pool::for_each_chunk(out, below * step, out.len().saturating_mul(ELEMENT), |piece, out| {
        // Where the chunk starts in the operand: it starts with whole lower axes.
        let (mut rest, mut first) = (piece * step, x.layout.offset as isize);
        for axis in &axes[cut..] {
            first += (rest % axis.size) as isize * axis.from;
            rest /= axis.size;
        }
        // A chunk has a part of the axis that is cut.
        let (row, mut column, mut buffer) = (axes[0], axes[along], vec![]);
        let size = out.len() / below;
        if cut == along {
            column.size = size;
            return planes(data, first, [row, column], &others, &mut buffer, out);
        }
        let StridedAxis { from, to, .. } = axes[cut];
        for i in 0..size {
            let first = first + i as isize * from;
            planes(data, first, [row, column], &others, &mut buffer, &mut out[i * to..]);
        }
    });
    true
}

/// Elements of a run that is written.
fn width<T>() -> usize {
    (LINE / size_of::<T>()).min(RUN)
}

/// Copies all planes of two axes, for all elements of the others.
fn planes<T: Element>(
    data: &[T],
    first: isize,
    plane: [StridedAxis; 2],
    others: &[StridedAxis],
    buffer: &mut Vec<T>,
    out: &mut [T],
) {
    let Some((axis, others)) = others.split_last() else { return transpose(data, first, plane, buffer, out) };
    for i in 0..axis.size {
        planes(data, first + i as isize * axis.from, plane, others, buffer, &mut out[i * axis.to..]);
    }
}

/// Copies a plane: element `(i, j)` is at `first + i * row.from + j` and goes to `i + j * column.to`.
fn transpose<T: Element>(
    data: &[T],
    first: isize,
    [row, column]: [StridedAxis; 2],
    buffer: &mut Vec<T>,
    out: &mut [T],
) {
    if column.size < SQUARE && row.from > 0 {
        return short_runs(data, first, [row, column], out);
    }
    #[cfg(target_arch = "x86_64")]
    if row.from > 0 && row.from as usize <= RUN {
        // Runs that are side by side, or nearly so, do not conflict: they are read where they lie.
        for i in (0..row.size).step_by(TOGETHER) {
            let (lines, from) = (TOGETHER.min(row.size - i), (first + i as isize * row.from) as usize);
            stop::work(lines * column.size);
            let strides = [row.from as usize, column.to];
            if !squares::copy(&data[from..], [column.size, lines], strides, &mut out[i..]) {
                short_runs(data, from as isize, [StridedAxis { size: lines, ..row }, column], &mut out[i..]);
            }
        }
        return;
    }
    let width = width::<T>();
    buffer.resize(RUN * width.min(row.size), T::default());
    for j in (0..column.size).step_by(RUN) {
        let run = RUN.min(column.size - j);
        for i in (0..row.size).step_by(width) {
            let lines = width.min(row.size - i);
            stop::work(lines * run);
            for (line, buffer) in buffer.chunks_exact_mut(RUN).take(lines).enumerate() {
                let at = first + (i + line) as isize * row.from + j as isize;
                buffer[..run].copy_from_slice(&data[at as usize..][..run]);
            }
            #[cfg(target_arch = "x86_64")]
            if squares::copy(buffer, [run, lines], [RUN, column.to], &mut out[i + j * column.to..]) {
                continue;
            }
            for c in (0..run).step_by(SQUARE) {
                for r in (0..lines).step_by(SQUARE) {
                    let out = &mut out[i + r + (j + c) * column.to..];
                    square(
                        &buffer[r * RUN + c..],
                        out,
                        column.to,
                        [(lines - r).min(SQUARE), (run - c).min(SQUARE)],
                    );
                }
            }
        }
    }
}

/// As [`transpose`], of runs that are shorter than a block: each element of theirs goes to a line of its own. Some runs
/// at a time, which are in the cache until the last of their elements.
fn short_runs<T: Element>(data: &[T], first: isize, [row, column]: [StridedAxis; 2], out: &mut [T]) {
    for i in (0..row.size).step_by(TOGETHER) {
        let lines = TOGETHER.min(row.size - i);
        stop::work(lines * column.size);
        let from = (first + i as isize * row.from) as usize;
        for j in 0..column.size {
            let elements = data[from + j..].iter().step_by(row.from as usize);
            out[i + j * column.to..][..lines].iter_mut().zip(elements).for_each(|(out, x)| *out = *x);
        }
    }
}

/// Short runs that are read together.
const TOGETHER: usize = 512;

/// Elements on a side of a block that is transposed in registers.
const SQUARE: usize = 8;

/// Transposes a block of lines that are [`RUN`] apart, of these sizes.
fn square<T: Element>(buffer: &[T], out: &mut [T], to: usize, [lines, run]: [usize; 2]) {
    if lines == SQUARE && run == SQUARE {
        return wide(|| {
            let rows: [[T; SQUARE]; SQUARE] =
                std::array::from_fn(|r| std::array::from_fn(|c| buffer[r * RUN + c]));
            for c in 0..SQUARE {
                out[c * to..][..SQUARE].copy_from_slice(&std::array::from_fn::<T, SQUARE, _>(|r| rows[r][c]));
            }
        });
    }
    for c in 0..run {
        for (r, out) in out[c * to..][..lines].iter_mut().enumerate() {
            *out = buffer[r * RUN + c];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::cast;
    use crate::shape::Shape;
    use crate::tensor::Layout;

    /// Copies a permuted value and holds each element to its place.
    fn check(sizes: &[usize], order: &[usize]) -> bool {
        let strides = Shape::try_new(sizes.to_vec()).unwrap().strides();
        let data: Vec<u32> = (0..sizes.iter().product::<usize>() as u32).collect();
        let shape = Shape::try_new(order.iter().map(|&i| sizes[i]).collect()).unwrap();
        let layout = Layout { strides: order.iter().map(|&i| strides[i] as isize).collect(), offset: 0 };
        let x = View {
            dtype: crate::dtype::DType::UI32,
            shape: &shape,
            layout: &layout,
            data: cast::bytes(&data),
        };
        let mut out = vec![u32::MAX; data.len()];
        let done = copy(&data, &x, &mut out);
        for (number, &got) in out.iter().enumerate().filter(|_| done) {
            let (mut rest, mut at) = (number, 0);
            for (&size, &stride) in shape.iter().zip(&layout.strides) {
                at += rest % size * stride as usize;
                rest /= size;
            }
            assert_eq!(got, at as u32, "{sizes:?} {order:?} {number}");
        }
        done
    }

    #[test]
    fn every_element_goes_to_its_place() {
        for sizes in [[64, 64], [3, 1000], [1000, 3], [65, 129], [600, 700]] {
            assert!(check(&sizes, &[1, 0]));
        }
        for order in [[2, 1, 0], [1, 2, 0], [2, 0, 1], [1, 0, 2]] {
            for sizes in [[9, 10, 11], [70, 3, 90], [128, 64, 32], [5, 300, 400]] {
                assert!(check(&sizes, &order));
            }
        }
        assert!(check(&[70, 5, 66, 7], &[2, 3, 0, 1]) && check(&[70, 5, 66, 7], &[1, 0, 3, 2]));
    }

    #[test]
    fn what_lies_in_lines_is_left_to_others() {
        assert!(!check(&[64, 64], &[0, 1]) && !check(&[4, 5, 600], &[0, 2, 1]) && !check(&[2, 3], &[1, 0]));
    }
}
