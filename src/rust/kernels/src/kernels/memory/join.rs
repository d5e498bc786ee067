//! Values joined along an axis: in the result, a run of the first follows a run of each other, as often as there
//! are positions along the later axes. Runs of one element are interleaved.

use crate::dtype::Element;
use crate::kernels::cast::{self, by_width};
use crate::kernels::memory::AlignedBytes;
use crate::kernels::threads::pool;
use crate::kernels::tile::{bytes_of, copy_run};
use crate::stop;
use crate::tensor::{View, ViewMut};

/// A value in its result: its runs, or one element that is all of them.
struct Part<'a, T> {
    x: &'a [T],
    is_one: bool,
    /// Elements of a run, which are side by side.
    run: usize,
    /// From a run's first element to that of the next one.
    step: usize,
}

/// Values to join. Parts are made where they are read: nothing is allocated but for values that are not in runs.
struct Parts<'a> {
    values: &'a [View<'a>],
    axis: usize,
    /// Elements along the axes before that one.
    below: usize,
    /// The elements in order, for each value, if one is not in runs.
    gathered: Vec<AlignedBytes>,
}

impl<'a> Parts<'a> {
    fn new(values: &'a [View<'a>], axis: usize, below: usize) -> Parts<'a> {
        let is_read = |x: &View| is_one(x) || step(x, axis).is_some();
        let mut gathered = Vec::new();
        if !values.iter().all(is_read) {
            for x in values {
                let mut buffer = AlignedBytes::default();
                if !is_read(x) {
                    bytes_of(x, 0..x.shape.size(), &mut buffer);
                }
                gathered.push(buffer);
            }
        }
        Parts { values, axis, below, gathered }
    }

    fn get<T: Element>(&self, i: usize) -> Part<'_, T> {
        let x = &self.values[i];
        let (data, run) = (cast::slice::<T>(x.data), self.below * x.shape[self.axis]);
        if x.shape.size() == 0 {
            return Part { x: &[], is_one: false, run, step: run };
        }
        if is_one(x) {
            return Part { x: &data[x.layout.offset..][..1], is_one: true, run, step: run };
        }
        match self.gathered.get(i).filter(|buffer| !buffer.is_empty()) {
            Some(buffer) => Part { x: cast::slice(buffer.as_slice()), is_one: false, run, step: run },
            None => {
                let step = step(x, self.axis).unwrap_or(run);
                Part { x: &data[x.layout.offset..], is_one: false, run, step }
            }
        }
    }

    /// All of them, if they are interleaved one by one.
    fn singles<T: Element, const N: usize>(&self) -> Option<[Part<'_, T>; N]> {
        let parts = (self.values.len() == N).then(|| std::array::from_fn(|i| self.get(i)));
        parts.filter(|parts: &[Part<T>; N]| parts.iter().all(|part| part.step == 1 && !part.is_one))
    }
}

/// Whether a value is one element, repeated.
fn is_one(x: &View) -> bool {
    x.layout.strides.iter().all(|&stride| stride == 0)
}

/// The step from a run of a value to the next, if its elements up to that axis lie side by side and those along
/// the later axes in one line.
fn step(x: &View, axis: usize) -> Option<usize> {
    let axes = || x.shape.iter().zip(&x.layout.strides).map(|(&size, &stride)| (size, stride));
    let mut run = 1;
    for (size, stride) in axes().take(axis + 1).filter(|&(size, _)| size > 1) {
        if stride != run as isize {
            return None;
        }
        run *= size;
    }
    let mut later = axes().skip(axis + 1).filter(|&(size, _)| size > 1);
    let Some((size, step)) = later.next() else {
        return Some(run);
    };
    let mut next = step * size as isize;
    let is_line = later.all(|(size, stride)| {
        let is_here = stride == next;
        next *= size as isize;
        is_here
    });
    (step >= run as isize && is_line).then_some(step as usize)
}

/// Elements of a piece of work for a thread, about.
const PIECE: usize = 1 << 14;

/// The estimated time per element, in picoseconds.
const ELEMENT: usize = 500;

/// Fills the result with values that are joined along an axis. They have its dtype, and its sizes along the other
/// axes; along this one their sizes add up to its own.
pub fn join(values: &[View], axis: usize, out: &mut ViewMut) {
    if out.data.is_empty() {
        return;
    }
    let below: usize = out.shape[..axis].iter().product();
    let (parts, row) = (Parts::new(values, axis, below), below * out.shape[axis]);
    by_width!(out.dtype, T => fill::<T>(&parts, row, cast::slice_mut(out.data)));
}

fn fill<T: Element>(parts: &Parts, row: usize, out: &mut [T]) {
    // One row is long: its runs are shared as they are.
    if out.len() == row {
        let mut rest = out;
        for part in (0..parts.values.len()).map(|i| parts.get::<T>(i)) {
            let (own, others) = rest.split_at_mut(part.run);
            pool::for_each_chunk(own, PIECE, part.run.saturating_mul(ELEMENT), |i, own| {
                stop::work(own.len());
                match part.is_one {
                    true => own.fill(part.x[0]),
                    false => own.copy_from_slice(&part.x[i * PIECE..][..own.len()]),
                }
            });
            rest = others;
        }
        return;
    }
    let rows = (PIECE / row).max(1);
    let work = out.len().saturating_mul(ELEMENT);
    pool::for_each_chunk(out, rows * row, work, |i, out| {
        stop::work(out.len());
        if let Some(two) = parts.singles::<T, 2>() {
            interleave(two, i * rows, out)
        } else if let Some(three) = parts.singles::<T, 3>() {
            interleave(three, i * rows, out)
        } else if let Some(four) = parts.singles::<T, 4>() {
            interleave(four, i * rows, out)
        } else {
            runs(parts, row, i * rows, out)
        }
    });
}

/// Elements of each part in turn, those from `first` on.
fn interleave<T: Element, const N: usize>(parts: [Part<T>; N], first: usize, out: &mut [T]) {
    let rows = out.len() / N;
    let parts = parts.map(|part| &part.x[first..][..rows]);
    for (i, row) in out.chunks_exact_mut(N).enumerate() {
        for k in 0..N {
            row[k] = parts[k][i];
        }
    }
}

/// Runs of each part in turn, those of the rows from `first` on.
fn runs<T: Element>(parts: &Parts, row: usize, first: usize, out: &mut [T]) {
    let rows = out.len() / row;
    let mut at = 0;
    for part in (0..parts.values.len()).map(|i| parts.get::<T>(i)).filter(|part| part.run > 0) {
        let places = out[at..].chunks_mut(row).take(rows);
        match (part.is_one, part.run) {
            (true, run) => places.for_each(|place| place[..run].fill(part.x[0])),
            (false, 1) => {
                let from = part.x[first * part.step..].iter().step_by(part.step);
                places.zip(from).for_each(|(place, &x)| place[0] = x);
            }
            (false, run) => {
                let from = part.x[first * part.step..].chunks(part.step);
                places.zip(from).for_each(|(place, x)| copy_run(&x[..run], &mut place[..run]));
            }
        }
        at += part.run;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;
    use crate::tensor::Layout;

    /// The value at an index, by its strides.
    fn at(x: &View, index: &[usize]) -> i32 {
        let place =
            index.iter().zip(&x.layout.strides).map(|(&i, &stride)| i as isize * stride).sum::<isize>();
        cast::slice::<i32>(x.data)[(x.layout.offset as isize + place) as usize]
    }

    #[test]
    fn values_of_any_layout_are_joined() {
        let data: Vec<i32> = (0..100_000).collect();
        for (below, outer) in [(1, 1), (1, 7), (1, 9_000), (3, 5), (2, 4_000), (600, 3), (40_000, 1)] {
            for sizes in [vec![1, 1], vec![1, 1, 1], vec![1, 1, 1, 1], vec![1, 0, 2], vec![3, 1], vec![1; 6]]
            {
                let shapes: Vec<Shape> = sizes.iter().map(|&n| [below, n, outer].into()).collect();
                let total: usize = sizes.iter().sum();
                if below * outer * total > 60_000 || below * outer * sizes[0] > 40_000 {
                    continue;
                }
                for kind in 0..4 {
                    let layouts: Vec<Layout> = shapes
                        .iter()
                        .enumerate()
                        .map(|(k, shape)| match (kind + k) % 4 {
                            // Runs with a gap between them.
                            3 => Layout {
                                strides: vec![1, below as isize, (below * shape[1] + 3) as isize],
                                offset: 2,
                            },
                            1 => Layout { strides: vec![0, 0, 0], offset: k },
                            // The transposed one.
                            2 => Layout {
                                strides: vec![(shape[1] * outer) as isize, outer as isize, 1],
                                offset: 0,
                            },
                            _ => Layout::dense(shape),
                        })
                        .collect();
                    let views: Vec<View> = shapes
                        .iter()
                        .zip(&layouts)
                        .map(|(shape, layout)| View {
                            dtype: crate::dtype::DType::I32,
                            shape,
                            layout,
                            data: cast::bytes(&data),
                        })
                        .collect();
                    let shape: Shape = [below, total, outer].into();
                    let mut out = vec![0_i32; shape.size()];
                    join(
                        &views,
                        1,
                        &mut ViewMut {
                            dtype: crate::dtype::DType::I32,
                            shape: &shape,
                            data: cast::bytes_mut(&mut out),
                        },
                    );
                    let mut got = out.iter();
                    for i in 0..outer {
                        for (view, &n) in views.iter().zip(&sizes) {
                            for j in 0..n {
                                for k in 0..below {
                                    assert_eq!(
                                        got.next(),
                                        Some(&at(view, &[k, j, i])),
                                        "{below} {sizes:?} {outer}"
                                    );
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
