//! Sums of products over windows: convolutions of many channels.
//!
//! What each element of the result is a sum of is copied, for some rows of the result at a time, into a matrix
//! that stays in the cache, and multiplied by the kernel as a matrix. With the batch as the first axis, and
//! channels as the last, rows of that matrix are runs of neighbours in memory, and no axis has to be moved.

use super::dot::Dot;
use super::matrix::{Block, Matrix, MULTIPLY_ADD};
use crate::dtype::{dispatch, DType, Element};
use crate::kernels::math::{Level, ProductSums};
use crate::kernels::memory::zeroed;
use crate::kernels::threads::pool;
use crate::kernels::{cast, tile};
use crate::shape::Shape;
use crate::stop;
use crate::tensor::{View, ViewMut};
use num_complex::Complex;
use std::ops::{Mul, Range};

/// The windows along one axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Window {
    /// Elements in a window.
    pub size: usize,
    /// From one window to the next.
    pub stride: usize,
    /// Elements before the first one; negative ones are cut off.
    pub low: i64,
    /// Elements after the last one.
    pub high: i64,
    /// From one element of a window to the next.
    pub dilation: usize,
    /// From one element of the operand to the next, between which there are zeros.
    pub base: usize,
}

/// The length of so many elements at this distance.
pub fn dilated(size: usize, distance: usize) -> i128 {
    match size {
        0 => 0,
        _ => (size as i128 - 1) * distance as i128 + 1,
    }
}

impl Window {
    /// The number of windows on so many elements.
    pub fn count(&self, elements: usize) -> i128 {
        let room = dilated(elements, self.base) + i128::from(self.low) + i128::from(self.high);
        let left = room - dilated(self.size, self.dilation);
        if left < 0 {
            return 0;
        }
        left / self.stride as i128 + 1
    }

    /// The element of the operand at a place in a window; `None` if there is none.
    pub fn element(&self, window: usize, place: usize, elements: usize) -> Option<usize> {
        let at = (window * self.stride + place * self.dilation) as i64 - self.low;
        let base = self.base as i64;
        (at >= 0 && at % base == 0 && at / base < elements as i64).then_some((at / base) as usize)
    }
}

/// Elements of the operand that are neighbours in a column of the matrix, or rows of zeros.
#[derive(Clone, Copy)]
struct Run {
    row: usize,
    len: usize,
    /// The first, and the distance of each from the one before.
    from: Option<(isize, isize)>,
}

/// Bytes of the matrix in which it is read in place.
const IN_PLACE: usize = 1 << 16;

/// Rows of a register tile, and of the matrix where it is larger than that.
const TILE: usize = 48;
const TALL: usize = 3 * TILE;

/// Products in a part of a long sum, and elements of a result that is cut into such.
const DEPTH: usize = 4096;
const MAX_LONG_RESULTS: usize = 1 << 14;

/// Features of a group, and products in a sum, up to which lines are multiplied where they are: so many are a sum from the
/// first to the last in a product of matrices, too.
const FEW_FEATURES: usize = 2;
const MAX_FILTER: usize = 1 << 8;

/// Elements that do not lie side by side, and are multiplied together.
const LINE: usize = 1 << 8;

/// Rows of the result that are made by each of its products in turn: they stay in a cache.
const FILTERED: usize = 1 << 12;

/// The convolution of an operand `[n, spatial..., channels]` with a kernel `[window..., channels / groups,
/// features]`; the result is `[n, windows..., features]`. The operand is all zeros beyond its elements.
pub fn convolution(x: &View, kernel: &View, windows: &[Window], groups: usize, out: &mut ViewMut) {
    dispatch!(x.dtype, T => {
        let mut copied;
        let weights: &[T] = if kernel.layout.is_dense(kernel.shape) {
            let data = cast::slice(kernel.data);
            &data[kernel.layout.offset.min(data.len())..]
        } else {
            copied = zeroed(kernel.shape.size());
            let data = cast::bytes_mut(&mut copied);
            tile::copy(kernel, &mut ViewMut { dtype: x.dtype, shape: kernel.shape, data });
            &copied
        };
        let made = cast::slice_mut::<T>(out.data);
        let problem = Problem::new(x, windows, groups, out.shape);
        if made.is_empty() {
            return;
        }
        match (problem.depth, x.dtype) {
            (0, _) => made.fill(T::default()),
            (_, DType::F32) if problem.is_filter() => problem.filter::<f32>(x, cast::bytes(weights), cast::bytes_mut(made)),
            (_, DType::F64) if problem.is_filter() => problem.filter::<f64>(x, cast::bytes(weights), cast::bytes_mut(made)),
            _ => problem.run(cast::slice::<T>(x.data), weights, made),
        }
    })
}

/// The sizes of a convolution.
struct Problem<'a> {
    windows: &'a [Window],
    groups: usize,
    /// Sizes and strides of the operand.
    sizes: &'a [usize],
    strides: &'a [isize],
    offset: isize,
    /// Numbers of windows.
    counts: Vec<usize>,
    batch: usize,
    taps: usize,
    rows: usize,
    /// Products in a sum, and features of a group.
    depth: usize,
    features: usize,
}

impl<'a> Problem<'a> {
    fn new(x: &'a View, windows: &'a [Window], groups: usize, out: &Shape) -> Problem<'a> {
        let last = out.rank() - 1;
        let taps: usize = windows.iter().map(|w| w.size).product();
        Problem {
            windows,
            groups,
            sizes: x.shape,
            strides: &x.layout.strides,
            offset: x.layout.offset as isize,
            counts: out[1..last].to_vec(),
            batch: out[0],
            taps,
            rows: out[..last].iter().product(),
            depth: taps * (x.shape[last] / groups.max(1)),
            features: out[last] / groups.max(1),
        }
    }

    fn run<T: Dot>(&self, x: &[T], weights: &[T], out: &mut [T]) {
        let fit = IN_PLACE / (self.depth * std::mem::size_of::<T>()) / TILE * TILE;
        let rows = if fit > 0 { fit } else { TALL }.min(self.rows);
        let blocks = self.rows.div_ceil(rows);
        let time = (self.rows * self.depth).saturating_mul(self.features * self.groups * MULTIPLY_ADD);
        let shared = time >= pool::WORTH_SHARING;
        let all = self.features * self.groups;
        // Numbers that a sum of partial sums is as good for.
        let long = matches!(T::DTYPE, DType::F32 | DType::F64 | DType::C64 | DType::C128);
        if long && self.depth >= 2 * DEPTH && self.rows * all <= MAX_LONG_RESULTS {
            // Partial sums, added in order.
            let parts = self.depth.div_ceil(DEPTH);
            let mut partials: Vec<T> = zeroed(parts * self.rows * all);
            pool::for_each_chunk(&mut partials, self.rows * all, time, |part, partial| {
                let block = Block::new(partial, [self.rows, all], [1, self.rows]);
                let columns = part * DEPTH..self.depth.min((part + 1) * DEPTH);
                for i in 0..blocks * self.groups {
                    let lines = i / self.groups * rows..self.rows.min((i / self.groups + 1) * rows);
                    self.block(x, weights, lines, columns.clone(), i % self.groups, &block);
                }
            });
            for (at, out) in out.iter_mut().enumerate() {
                let each = (0..parts).map(|part| partials[at + part * self.rows * all]);
                *out = each.map(|x| x.convert::<Complex<f64>>()).sum::<Complex<f64>>().convert();
            }
            return;
        }
        let block = Block::new(out, [self.rows, all], [1, self.rows]);
        pool::for_each_piece(blocks * self.groups, shared, |i| {
            let lines = i / self.groups * rows..self.rows.min((i / self.groups + 1) * rows);
            self.block(x, weights, lines, 0..self.depth, i % self.groups, &block);
        });
    }

    /// Whether there are so few features that a matrix of all that is multiplied is not worth the copies.
    fn is_filter(&self) -> bool {
        self.features <= FEW_FEATURES && self.depth <= MAX_FILTER && Level::current() != Level::Portable
    }

    /// The convolution without a matrix: lines of the operand are multiplied where they are, and added to the result, with
    /// the bits of the product.
    fn filter<R: ProductSums + Mul<Output = R>>(&self, x: &View, weights: &[u8], out: &mut [u8]) {
        let (x, weights) = (cast::slice::<R>(x.data), cast::slice::<R>(weights));
        let channels = self.sizes[self.sizes.len() - 1] / self.groups;
        let time = (out.len() * self.depth).saturating_mul(MULTIPLY_ADD);
        let block = FILTERED.min(self.rows);
        let blocks = self.rows.div_ceil(block);
        let all =
            Block::new(cast::slice_mut::<R>(out), [self.rows, self.features * self.groups], [1, self.rows]);
        pool::for_each_piece(blocks, time >= pool::WORTH_SHARING, |i| {
            let rows = i * block..self.rows.min((i + 1) * block);
            let runs = self.runs(&rows);
            for feature in 0..self.features * self.groups {
                // SAFETY: pieces have no rows in common.
                let mut own = unsafe { all.rows(rows.start, 1, rows.len(), feature..feature + 1) };
                let mut column = own.view();
                let mut column = column.column_mut(0);
                let sums = column.as_slice_mut().expect("rows that lie one after the other");
                sums.fill(R::default());
                stop::work(rows.len() * self.depth / 8);
                for at in 0..self.depth {
                    let channel = at / self.taps + feature / self.features * channels;
                    let plane = self.offset + channel as isize * self.strides[self.sizes.len() - 1];
                    let weight = weights[feature * self.depth + at];
                    for run in &runs[at % self.taps] {
                        let sums = &mut sums[run.row..][..run.len];
                        match run.from {
                            // A sum is never -0, so that nothing is what zeros add, unless they make NaN.
                            None if weight.convert::<f64>().is_finite() => {}
                            None => sums.fill(weight * R::default()),
                            Some((from, 1)) => {
                                let x = &x[(plane + from) as usize..][..run.len];
                                R::add_products(sums, x, weight);
                            }
                            Some((from, step)) => {
                                let mut line = [R::default(); LINE];
                                for (i, sums) in sums.chunks_mut(LINE).enumerate() {
                                    let x_of = &mut line[..sums.len()];
                                    let first = plane + from + (i * LINE) as isize * step;
                                    tile::gather_run(x, first, step, x_of);
                                    R::add_products(sums, x_of, weight);
                                }
                            }
                        }
                    }
                }
            }
        });
    }

    /// Some rows of the result for a group, from some columns of the matrix.
    fn block<T: Dot>(
        &self,
        x: &[T],
        weights: &[T],
        rows: Range<usize>,
        columns: Range<usize>,
        group: usize,
        out: &Block<T>,
    ) {
        let runs = self.runs(&rows);
        let mut matrix: Vec<T> = zeroed(rows.len() * columns.len());
        let last = self.sizes.len() - 1;
        let channels = self.sizes[last] / self.groups;
        for (column, at) in matrix.chunks_exact_mut(rows.len()).zip(columns.clone()) {
            let (tap, channel) = (at % self.taps, at / self.taps + group * channels);
            let plane = self.offset + channel as isize * self.strides[last];
            stop::work(rows.len() / 8);
            for run in &runs[tap] {
                let out = &mut column[run.row..][..run.len];
                match run.from {
                    None => out.fill(T::default()),
                    Some((from, 1)) => out.copy_from_slice(&x[(plane + from) as usize..][..run.len]),
                    Some((from, step)) => {
                        for (i, out) in out.iter_mut().enumerate() {
                            *out = x[(plane + from + i as isize * step) as usize];
                        }
                    }
                }
            }
        }
        let size = self.depth * self.features;
        let kernel =
            Matrix { data: weights, first: group * size + columns.start, strides: [1, self.depth as isize] };
        let features = group * self.features..(group + 1) * self.features;
        let sizes = [rows.len(), columns.len(), self.features];
        // SAFETY: pieces have no rows of a group in common.
        let out = unsafe { out.rows(rows.start, 1, rows.len(), features) };
        T::dot(Matrix::dense(&matrix, rows.len()), kernel, sizes, out);
    }

    /// For each place in a window, what stands in these rows of a column of the matrix.
    fn runs(&self, rows: &Range<usize>) -> Vec<Vec<Run>> {
        let axes = self.windows.len();
        // Rows go over the batch first, then the windows along the first axis: those of a line.
        let line = self.batch * self.counts.first().copied().unwrap_or(1);
        let sizes: Vec<usize> = self.windows.iter().map(|w| w.size).collect();
        let mut place = vec![0; axes];
        (0..self.taps)
            .map(|_| {
                let mut runs: Vec<Run> = Vec::new();
                let mut window = vec![0; axes];
                let mut rest = rows.start / line;
                for (window, count) in window.iter_mut().zip(&self.counts).skip(1) {
                    *window = rest % count;
                    rest /= count;
                }
                for at in rows.start / line..rows.end.div_ceil(line) {
                    let part =
                        rows.start.max(at * line) - at * line..rows.end.min((at + 1) * line) - at * line;
                    // The element in these windows, along all axes but the first.
                    let mut from = Some(0);
                    for axis in 1..axes {
                        let element =
                            self.windows[axis].element(window[axis], place[axis], self.sizes[axis + 1]);
                        from = from.zip(element).map(|(f, e)| f + e as isize * self.strides[axis + 1]);
                    }
                    let row = at * line + part.start - rows.start;
                    match (from, self.windows.first()) {
                        (Some(from), Some(first)) => self.along(first, place[0], from, part, row, &mut runs),
                        (from, _) => {
                            let from = from
                                .map(|from| (from + part.start as isize * self.strides[0], self.strides[0]));
                            add(&mut runs, Run { row, len: part.len(), from });
                        }
                    }
                    if axes > 1 {
                        advance(&mut window[1..], &self.counts[1..]);
                    }
                }
                advance(&mut place, &sizes);
                runs
            })
            .collect()
    }

    /// Adds what stands in some rows of a line, the first of them number `row` of the column.
    fn along(
        &self,
        first: &Window,
        place: usize,
        from: isize,
        part: Range<usize>,
        row: usize,
        runs: &mut Vec<Run>,
    ) {
        let (batch, own) = (self.batch, self.strides[0]);
        let next = first.stride as isize * self.strides[1];
        let mut put = |rows: Range<usize>, from: Option<(isize, isize)>| {
            if !rows.is_empty() {
                add(runs, Run { row: row + rows.start - part.start, len: rows.len(), from });
            }
        };
        // Where each row is as far from the one before it, those with elements are one run, between rows of zeros.
        let step = if batch == 1 { next } else { own };
        if first.base == 1 && (batch == 1 || next == batch as isize * own) {
            let before = first.low - (place * first.dilation) as i64;
            let window = |at: i64| (at.max(0) as usize).div_ceil(first.stride);
            let bound = |window: usize| (window * batch).clamp(part.start, part.end);
            let (start, end) = (bound(window(before)), bound(window(before + self.sizes[1] as i64)));
            let end = end.max(start);
            put(part.start..start, None);
            let place = from - before as isize * self.strides[1] + start as isize * step;
            put(start..end, Some((place, step)));
            put(end..part.end, None);
            return;
        }
        for window in part.start / batch..part.end.div_ceil(batch) {
            let rows = part.start.max(window * batch)..part.end.min((window + 1) * batch);
            let skipped = (rows.start - window * batch) as isize;
            let element = first.element(window, place, self.sizes[1]);
            put(rows, element.map(|e| (from + e as isize * self.strides[1] + skipped * own, own)));
        }
    }
}

/// The next index, the first axis first.
fn advance(index: &mut [usize], sizes: &[usize]) {
    for (i, size) in index.iter_mut().zip(sizes) {
        *i += 1;
        if *i < *size {
            return;
        }
        *i = 0;
    }
}

/// Adds a run, joined with the one before if that goes on so.
fn add(runs: &mut Vec<Run>, run: Run) {
    if let Some(last) = runs.last_mut() {
        match (last.from, run.from) {
            (None, None) => {
                last.len += run.len;
                return;
            }
            (Some((from, step)), Some((next, own))) => {
                // A single element goes on in any direction.
                let apart = if last.len == 1 { next - from } else { step };
                if next == from + last.len as isize * apart && (run.len == 1 || own == apart) {
                    last.len += run.len;
                    last.from = Some((from, apart));
                    return;
                }
            }
            _ => {}
        }
    }
    runs.push(run);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Layout;

    #[test]
    fn results_are_the_sums_of_products_over_windows() {
        let values = |n: usize, seed: usize| -> Vec<f64> {
            (0..n).map(|i| ((i * 7919 + seed) % 17) as f64 - 8.0).collect()
        };
        let window =
            |size, stride, low, high, dilation, base| Window { size, stride, low, high, dilation, base };
        let cases: Vec<(usize, Vec<usize>, usize, usize, usize, Vec<Window>)> = vec![
            (2, vec![7], 3, 4, 1, vec![window(3, 1, 0, 0, 1, 1)]),
            (1, vec![9], 2, 2, 2, vec![window(3, 2, 2, 1, 2, 1)]),
            (3, vec![5, 6], 4, 6, 2, vec![window(2, 1, 1, 0, 1, 2), window(3, 2, 1, 1, 1, 1)]),
            (3, vec![5, 6], 4, 4, 2, vec![window(2, 1, 1, 0, 1, 2), window(3, 2, 1, 1, 1, 1)]),
            (1, vec![5000], 1, 1, 1, vec![window(5, 1, 2, 2, 1, 1)]),
            (1, vec![6, 5], 1, 3, 1, vec![window(3, 1, -1, 2, 1, 1), window(2, 1, 0, 0, 2, 3)]),
            (70, vec![3, 4, 2], 2, 5, 1, vec![window(2, 1, 0, 0, 1, 1); 3]),
            (2, vec![9000], 1, 2, 1, vec![window(8990, 1, 0, 0, 1, 1)]),
        ];
        for (batch, sizes, channels, features, groups, windows) in cases {
            let axes = sizes.len();
            let from = Shape::try_new([&[batch], &sizes[..], &[channels]].concat()).unwrap();
            let taps: Vec<usize> = windows.iter().map(|w| w.size).collect();
            let of = Shape::try_new([&taps[..], &[channels / groups, features]].concat()).unwrap();
            let counts: Vec<usize> = windows.iter().zip(&sizes).map(|(w, &n)| w.count(n) as usize).collect();
            let to = Shape::try_new([&[batch], &counts[..], &[features]].concat()).unwrap();
            let (x, kernel) = (values(from.size(), 3), values(of.size(), 11));
            let mut out = vec![0.0; to.size()];
            let dense = [Layout::dense(&from), Layout::dense(&of)];
            let view =
                |shape, layout, data| View { dtype: DType::F64, shape, layout, data: cast::bytes(data) };
            convolution(
                &view(&from, &dense[0], &x),
                &view(&of, &dense[1], &kernel),
                &windows,
                groups,
                &mut ViewMut { dtype: DType::F64, shape: &to, data: cast::bytes_mut(&mut out) },
            );
            let mut index = vec![0; axes + 2];
            for got in &out {
                let group = index[axes + 1] / (features / groups);
                let (mut want, mut place) = (0.0, vec![0; axes + 1]);
                for _ in 0..taps.iter().product::<usize>() * channels / groups {
                    let elements: Option<Vec<usize>> =
                        (0..axes).map(|a| windows[a].element(index[a + 1], place[a], sizes[a])).collect();
                    if let Some(elements) = elements {
                        let channel = place[axes] + group * (channels / groups);
                        let at = [&[index[0]], &elements[..], &[channel]].concat();
                        let position = |index: &[usize], shape: &Shape| -> usize {
                            index.iter().zip(shape.strides().iter()).map(|(i, s)| i * s).sum()
                        };
                        let tap = [&place[..], &[index[axes + 1]]].concat();
                        want += x[position(&at, &from)] * kernel[position(&tap, &of)];
                    }
                    advance(&mut place, &[&taps[..], &[channels / groups]].concat());
                }
                assert_eq!(*got, want, "{windows:?} at {index:?}");
                advance(&mut index, &to);
            }
        }
    }
}
