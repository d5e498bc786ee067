//! Reductions of values of any layout, over any axes.
//!
//! The elements of a result are split into tiles ([`super::fold`]). If the elements of a tile are contiguous,
//! tiles are folded one by one; else the tiles of many neighbouring results are folded together, column by
//! column, so that memory is read once, along cache lines. Threads share tiles, whichever result they belong
//! to.

use super::fold::{Fold, Reduce};
use super::partials::{Offsets, Partial, Rows, PARTIAL};
use crate::dtype::{dispatch, DType};
use crate::kernels::cast::{self, by_width};
use crate::kernels::memory::{zeroed, AlignedBytes};
use crate::kernels::threads::{pool, threads};
use crate::kernels::tile::{bytes_of, copy_run, runs, TILE};
use crate::shape::{Axis, Shape};
use crate::stop;
use crate::tensor::{Layout, View, ViewMut};
use std::ops::Range;

/// Elements that lie side by side from which a result is folded by itself.
const LINE: usize = 64;

/// The same where results do not lie side by side, so that cache lines are not read along these.
const LINE_APART: usize = 16;

/// Results that are folded together, at most: their accumulators stay in the second-level cache. The more,
/// the longer are the runs in which memory is read: of 256 elements of a column of a matrix it is half as
/// fast as of 4,096.
const TOGETHER: usize = 4096;

/// Results side by side in memory from which they are folded where they lie: a call for fewer takes longer than to copy
/// their elements into columns of many.
const FEW: usize = 32;

/// Elements that are copied into columns at a time: they stay in the first-level cache.
const COPIED: usize = 4096;

/// Elements of a result up to which they are copied.
const SHORT: usize = 16;

/// Elements of a piece of work for a thread, about.
const PIECE: usize = 1 << 18;

/// The estimated time of reading and folding an element, in picoseconds.
const ELEMENT: usize = 200;

/// The same, if it is copied before.
const ELEMENT_COPIED: usize = 1000;

/// The folds of a dtype, with what they make as `O`: results as bytes, or [`Partial`]s. The walk over values
/// is thus compiled once for all dtypes.
struct Folds<O> {
    /// Folds tiles of so many elements each that lie one after the other.
    line: fn(Fold, &[u8], usize, &mut [O]),
    /// Folds one tile for each result.
    tiles: fn(Fold, &[u8], Rows, &mut [O]),
}

impl Folds<u8> {
    fn of<T: Reduce>() -> Folds<u8> {
        Folds {
            line: |fold, x, each, out| T::line(fold, cast::slice(x), each, cast::slice_mut::<T>(out)),
            tiles: |fold, x, rows, out| T::tiles(fold, cast::slice(x), rows, cast::slice_mut::<T>(out)),
        }
    }
}

impl Folds<Partial> {
    fn of<T: Reduce>() -> Folds<Partial> {
        Folds {
            line: |fold, x, each, out| T::line(fold, cast::slice(x), each, out),
            tiles: |fold, x, rows, out| T::tiles(fold, cast::slice(x), rows, out),
        }
    }
}

/// A reduction of operands of one shape and layout.
pub struct Plan {
    fold: Fold,
    /// Of the results.
    kept: (Shape, Layout),
    /// Of the elements of one result, from its first.
    reduced: (Shape, Layout),
    /// Whether tiles are folded one by one.
    lines: bool,
}

/// Shape and layout of some of the axes, those joined that lie in one line.
fn along(
    (shape, layout): (&Shape, &Layout),
    axes: impl Iterator<Item = usize>,
    offset: usize,
) -> (Shape, Layout) {
    let lines = layout.lines(shape, axes);
    let (sizes, strides) = lines.into_iter().unzip();
    (Shape::try_new(sizes).expect("some axes of an addressable shape"), Layout { strides, offset })
}

impl Plan {
    /// Of the axes `axes`.
    pub fn new(fold: Fold, x: (&Shape, &Layout), axes: &[Axis]) -> Plan {
        let of = |reduced: bool| (0..x.0.rank()).filter(move |&i| axes.contains(&Axis(i)) == reduced);
        let (kept, reduced) = (along(x, of(false), x.1.offset), along(x, of(true), 0));
        let apart = kept.1.strides.first().is_some_and(|&stride| stride != 1);
        let lines = match (reduced.0.first(), reduced.1.strides.first()) {
            (Some(&size), Some(&1)) => size >= LINE || apart && size >= LINE_APART,
            _ => kept.0.size() == 1,
        };
        Plan { fold, kept, reduced, lines }
    }

    /// Reduces `x`, which has the shape and the layout that the plan is of; `out` has a result for each index of the
    /// other axes, in order. An empty set of elements gives the identity.
    pub fn run(&self, x: &View, out: &mut ViewMut) {
        let (dtype, width) = (x.dtype, x.dtype.bytes());
        let out = &mut *out.data;
        let results = out.len() / width;
        let (fold, lines, n) = (self.fold, self.lines, self.reduced.0.size());
        if n == 0 || results == 0 {
            return finish(dtype, fold, &[], n, out);
        }
        let element = if self.are_few() { ELEMENT_COPIED } else { ELEMENT };
        let (count, work) = (n.div_ceil(TILE), (n * results).saturating_mul(element));
        let range = |number: usize| number * TILE..((number + 1) * TILE).min(n);
        // Neighbours that are folded together are cut apart no more than the threads need.
        let together = |each: usize| each.max((count * results / (2 * threads())).min(TOGETHER));
        let apiece = |each: usize| each.min((count * results).div_ceil(2 * threads())).max(1);
        let piece = |each: usize| if lines { apiece(each) } else { together(each) };
        if count == 1 {
            let folds = dispatch!(dtype, T => Folds::<u8>::of::<T>());
            let piece = piece(PIECE / n);
            return pool::for_each_chunk(out, piece * width, work, |i, out| {
                self.tile(x, &folds, range(0), i * piece..i * piece + out.len() / width, out);
            });
        }
        // Neighbours in memory are folded one after the other: all tiles of a result, or one of each result.
        let folds = dispatch!(dtype, T => Folds::<Partial>::of::<T>());
        let (piece, inner) = (piece(PIECE / TILE), if lines { count } else { results });
        let mut partials = zeroed::<Partial>(count * results);
        pool::for_each_chunk(&mut partials, piece, work, |i, mut partials| {
            let mut at = i * piece;
            while !partials.is_empty() {
                let (outer, first) = (at / inner, at % inner);
                let (now, later) = partials.split_at_mut(partials.len().min(inner - first));
                at += now.len();
                if lines {
                    // As many tiles at a time as are folded together.
                    let numbers = now.chunks_mut(4).zip((first..).step_by(4));
                    numbers.for_each(|(out, number)| {
                        let tiles = range(number).start..range(number + out.len() - 1).end;
                        self.tile(x, &folds, tiles, outer..outer + 1, out)
                    });
                } else {
                    self.tile(x, &folds, range(outer), first..first + now.len(), now);
                }
                partials = later;
            }
        });
        let (from, step) = if lines { (count, 1) } else { (1, results) };
        finish_each(dtype, fold, n, out, &|i, add| {
            stop::work(count);
            partials[i * from..].iter().step_by(step).take(count).for_each(|&partial| add(partial));
        });
    }

    /// Whether few results lie side by side, and then others, and each has few elements.
    fn are_few(&self) -> bool {
        let beside = self.kept.0.len() > 1 && self.kept.0[0] < FEW && self.kept.1.strides[0] == 1;
        !self.lines && beside && self.reduced.0.size() <= SHORT
    }

    /// Folds some results, whose elements are copied into columns.
    fn columns<O>(
        &self,
        x: &View,
        folds: &Folds<O>,
        offsets: &[isize],
        results: Range<usize>,
        out: &mut [O],
    ) {
        let (n, width, each) = (offsets.len(), x.dtype.bytes(), out.len() / results.len());
        let many = (COPIED / n).min(results.len());
        let mut columns = AlignedBytes::zeroed(many * n * width);
        for (i, out) in out.chunks_mut(many * each).enumerate() {
            let start = results.start + i * many;
            let range = start..start + out.len() / each;
            stop::work(range.len() * n);
            by_width!(x.dtype, T => {
                let (data, columns) = (cast::slice::<T>(x.data), cast::slice_mut::<T>(columns.as_mut_slice()));
                runs(&self.kept.0, &self.kept.1, range, |at, first, _, len| {
                    for (column, &offset) in columns.chunks_mut(many).zip(offsets) {
                        let first = (first as isize + offset) as usize;
                        copy_run(&data[first..first + len], &mut column[at..at + len]);
                    }
                });
            });
            let offsets = Offsets::Steps(n, 0, many as isize);
            (folds.tiles)(self.fold, columns.as_slice(), Rows { first: 0, stride: 1, offsets }, out);
        }
    }

    /// Folds one tile of some results, or several of one.
    fn tile<O>(
        &self,
        x: &View,
        folds: &Folds<O>,
        tile_of: Range<usize>,
        results: Range<usize>,
        out: &mut [O],
    ) {
        let (shape, layout) = &self.reduced;
        let mut offsets = Vec::new();
        let are_few = self.are_few();
        let step = match (&**shape, &*layout.strides) {
            (&[_], &[step]) if !are_few => Some(step),
            _ => None,
        };
        if !self.lines && step.is_none() {
            offsets.reserve(tile_of.len());
            runs(shape, layout, tile_of.clone(), |_, first, stride, len| {
                offsets.extend((0..len as isize).map(|i| first as isize + i * stride));
            });
        }
        if are_few {
            return self.columns(x, folds, &offsets, results, out);
        }
        let (mut own, mut scratch) = (None, AlignedBytes::new());
        let each = out.len() / results.len();
        runs(&self.kept.0, &self.kept.1, results, |at, first, stride, len| {
            let out = &mut out[at * each..(at + len) * each];
            if !self.lines {
                let at = |i: usize| first as isize + (i * TOGETHER) as isize * stride;
                let offsets = match step {
                    Some(step) => Offsets::Steps(tile_of.len(), tile_of.start as isize * step, step),
                    None => Offsets::List(&offsets),
                };
                let rows = |i: usize| Rows { first: at(i), stride, offsets };
                let blocks = out.chunks_mut(TOGETHER * each).enumerate();
                return blocks.for_each(|(i, out)| {
                    stop::work(out.len() / each * tile_of.len());
                    (folds.tiles)(self.fold, x.data, rows(i), out);
                });
            }
            // Results whose elements lie one after the other.
            let n = tile_of.len();
            if step == Some(1) && stride == n as isize && n == shape.size() && n <= TILE {
                stop::work(len * n);
                let bytes = x.dtype.bytes();
                return (folds.line)(self.fold, &x.data[first * bytes..][..len * n * bytes], n, out);
            }
            for (i, out) in out.chunks_mut(each).enumerate() {
                let own = own.get_or_insert_with(|| layout.clone());
                own.offset = (first as isize + i as isize * stride) as usize;
                let x = View { dtype: x.dtype, shape, layout: own, data: x.data };
                stop::work(tile_of.len());
                (folds.line)(self.fold, bytes_of(&x, tile_of.clone(), &mut scratch), TILE, out);
            }
        });
    }
}

/// Reduces the axes `axes` of `x`; `out` has the others, in order. An empty set of elements gives the
/// identity.
pub fn reduce(fold: Fold, x: &View, axes: &[Axis], out: &mut ViewMut) {
    Plan::new(fold, (x.shape, x.layout), axes).run(x, out);
}

/// Folds the [`Partial`]s of the tiles of each result of this dtype, which has `len` elements.
pub fn finish(dtype: DType, fold: Fold, partials: &[u8], len: usize, out: &mut [u8]) {
    let own = len.div_ceil(TILE) * PARTIAL;
    finish_each(dtype, fold, len, out, &|i, add| {
        for (j, partial) in partials[i * own..][..own].chunks(PARTIAL).enumerate() {
            if j % stop::EVERY == 0 {
                stop::work(stop::EVERY);
            }
            add(Partial::try_from(partial).expect("a whole number of partials"));
        }
    });
}

/// Folds the partial results that `each` gives for the result of a number.
fn finish_each(
    dtype: DType,
    fold: Fold,
    len: usize,
    out: &mut [u8],
    each: &dyn Fn(usize, &mut dyn FnMut(Partial)),
) {
    dispatch!(dtype, T => {
        for (i, out) in cast::slice_mut::<T>(out).iter_mut().enumerate() {
            *out = <T as Reduce>::finish(fold, len, &mut |add| each(i, add));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::HasDType;
    use crate::kernels::tile::tile;
    use half::{bf16, f16};
    use num_complex::Complex;

    fn run<T: Reduce>(fold: Fold, data: &[T], shape: Shape, axes: &[Axis]) -> Vec<T> {
        let layout = Layout::dense(&shape);
        let x = View { dtype: T::DTYPE, shape: &shape, layout: &layout, data: cast::bytes(data) };
        let out_shape = shape.without(axes);
        let mut out = vec![T::default(); out_shape.size()];
        reduce(
            fold,
            &x,
            axes,
            &mut ViewMut { dtype: T::DTYPE, shape: &out_shape, data: cast::bytes_mut(&mut out) },
        );
        out
    }

    #[test]
    fn rows_and_columns() {
        let x: Vec<i32> = (1..=6).collect();
        assert_eq!(run(Fold::Sum, &x, [2, 3].into(), &[Axis(0)]), [3, 7, 11]);
        assert_eq!(run(Fold::Sum, &x, [2, 3].into(), &[Axis(1)]), [9, 12]);
        assert_eq!(run(Fold::Prod, &x, [2, 3].into(), &[Axis(0), Axis(1)]), [720]);
        assert_eq!(run(Fold::Max, &x, [2, 3].into(), &[]), x);
        assert_eq!(DType::I32, i32::DTYPE);
    }

    /// Few results side by side, each of few elements, are folded as each is by itself.
    fn few_beside<T: Reduce>(folds: &[Fold]) {
        for (inner, n, outer) in
            [(2, 3, 700), (4, 3, 2000), (5, 16, 300), (31, 2, 90), (3, 17, 200), (7, 1, 64)]
        {
            let x: Vec<T> = (0..inner * n * outer)
                .map(|i| T::from_f64(((i * 7919) % 1013) as f64 / 8.0 - 60.0))
                .collect();
            for &fold in folds {
                let made = run(fold, &x, [inner, n, outer].into(), &[Axis(1)]);
                for (at, made) in made.into_iter().enumerate() {
                    let (i, o) = (at % inner, at / inner);
                    let own: Vec<T> = (0..n).map(|j| x[i + inner * (j + n * o)]).collect();
                    assert_eq!(made, run(fold, &own, [n].into(), &[Axis(0)])[0], "{fold:?} {inner} {n} {at}");
                }
            }
        }
    }

    #[test]
    fn few_results_side_by_side_are_as_each_alone() {
        let folds = [Fold::Sum, Fold::Prod, Fold::Max, Fold::Min];
        few_beside::<f32>(&folds);
        few_beside::<f64>(&folds);
        few_beside::<i32>(&folds);
        few_beside::<i8>(&[Fold::Max, Fold::Min]);
        few_beside::<f64>(&[Fold::Squares]);
    }

    #[test]
    fn a_sum_of_one_element_is_the_element() {
        fn of<T: Reduce>(bits: impl Fn(T) -> u64) {
            for shape in [[1, 3], [3, 1], [1, 90], [90, 1], [1, 1]] {
                let axis = Axis(usize::from(shape[0] != 1));
                let x: Vec<T> =
                    (0..shape[0] * shape[1]).map(|i| T::from_f64([-0.0, 0.0, -2.5][i % 3])).collect();
                let made = run(Fold::Sum, &x, shape.into(), &[axis]);
                assert!(
                    made.iter().zip(&x).all(|(&made, &x)| bits(made) == bits(x)),
                    "{shape:?} {:?}",
                    T::DTYPE
                );
            }
        }
        of::<f32>(|x| x.to_bits().into());
        of::<f64>(f64::to_bits);
        of::<bf16>(|x| x.to_bits().into());
        of::<f16>(|x| x.to_bits().into());
    }

    #[test]
    fn empty_sets_give_the_identity() {
        let of = |fold| run::<f32>(fold, &[], [0, 2].into(), &[Axis(0)]);
        assert_eq!(of(Fold::Sum), [0.0, 0.0]);
        assert_eq!(of(Fold::Prod), [1.0, 1.0]);
        assert_eq!(of(Fold::Max), [f32::NEG_INFINITY; 2]);
        assert_eq!(run::<i8>(Fold::Min, &[], [0].into(), &[Axis(0)]), [i8::MAX]);
        assert_eq!(run::<f32>(Fold::Sum, &[], [2, 0].into(), &[Axis(0)]), [0f32; 0]);
    }

    #[test]
    fn squares_of_few_elements() {
        let of = |x: &[f64]| run(Fold::Squares, x, [x.len()].into(), &[Axis(0)])[0].to_bits();
        assert_eq!(of(&[]), 0);
        assert_eq!(of(&[-3.5]), 0);
        assert_eq!(of(&[1.0, 2.0, 6.0]), 14f64.to_bits());
        // Equal elements do not deviate, whatever their mean is rounded to.
        assert_eq!([2, 7, 8, 9, 1000, 5000].map(|n| of(&vec![0.1; n])), [0; 6]);
        assert_eq!(run(Fold::Squares, &[1f32, -2.0], [2].into(), &[]), [0.0; 2]);
        assert_eq!(run::<f32>(Fold::Squares, &[], [0, 2].into(), &[Axis(0)]), [0.0; 2]);
    }

    /// Results of vectors, and of the same ones as rows of a matrix.
    fn squares(x: &[f64]) -> f64 {
        let both: Vec<f64> = x.iter().flat_map(|&x| [x, x]).collect();
        let [alone, row] = [
            run(Fold::Squares, x, [x.len()].into(), &[Axis(0)])[0],
            run(Fold::Squares, &both, [2, x.len()].into(), &[Axis(1)])[1],
        ];
        assert_eq!(alone.to_bits(), row.to_bits(), "{alone} {row}");
        alone
    }

    #[test]
    fn squares_of_special_elements() {
        for n in [1, 5, 8, 20, TILE + 1, 5 * TILE] {
            for at in [0, n / 2, n - 1] {
                for special in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                    let mut x: Vec<f64> = (0..n).map(|i| i as f64).collect();
                    x[at] = special;
                    assert!(squares(&x).is_nan(), "{special} at {at} of {n}");
                }
                // What is too large for a double is not NaN.
                for large in [1e200, f64::MAX] {
                    let mut x: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { -large } else { large }).collect();
                    x[at] = 0.0;
                    assert_eq!(
                        squares(&x),
                        if n == 1 { 0.0 } else { f64::INFINITY },
                        "{large} at {at} of {n}"
                    );
                }
            }
            assert_eq!(squares(&vec![f64::MAX; n]), 0.0);
        }
        // Tiles with finite sums of their own.
        assert_eq!(squares(&[vec![f64::MAX; TILE], vec![f64::MIN; 2 * TILE]].concat()), f64::INFINITY);
    }

    /// By the definition, in integers, of numbers that are multiples of `unit`.
    fn exact(x: &[i64], unit: f64) -> f64 {
        let (n, sum) = (x.len() as i128, x.iter().map(|&x| i128::from(x)).sum::<i128>());
        let squares: i128 = x.iter().map(|&x| i128::from(x) * i128::from(x)).sum();
        (n * squares - sum * sum) as f64 / n as f64 * unit * unit
    }

    #[test]
    fn squares_are_accurate() {
        let noise = |i: usize| ((i * 7919) % 1013) as i64 - 506;
        for n in [2, 7, 9, 100, TILE - 1, 3 * TILE + 5, 200_000] {
            let mut cases: Vec<(i64, Vec<i64>)> = vec![
                (0, (0..n).map(noise).collect()),
                (0, (0..n).map(|i| i as i64).collect()),
                (0, (0..n).map(|i| (i as i64) * (i as i64)).collect()),
                // Outliers where the shift is made of.
                (0, (0..n).map(|i| if i < 3 { 1 << 40 } else { noise(i) }).collect()),
                (0, (0..n).map(|i| if i % TILE == 0 { 1 << 40 } else { noise(i) }).collect()),
            ];
            // Far from 0: 1e8 with deviations of about 0.3 in steps of 2^-10, and 3e9.
            cases.extend(
                [100_000_000i64 << 10, 3_000_000_000 << 10].map(|mean| (mean, (0..n).map(noise).collect())),
            );
            for (case, (mean, x)) in cases.into_iter().enumerate() {
                let unit = 2f64.powi(-10);
                let floats: Vec<f64> = x.iter().map(|&x| (x + mean) as f64 * unit).collect();
                let (got, want) = (squares(&floats), exact(&x, unit));
                // The mean of a tile is rounded.
                let bound = if mean == 0 { 1e-13 } else { mean as f64 / 506.0 * f64::EPSILON };
                assert!((got - want).abs() <= bound * want, "{case}, {n} elements: {got:e} is not {want:e}");
                let singles: Vec<f32> = x.iter().map(|&x| x as f32).collect();
                let (got, wide) = (
                    run(Fold::Squares, &singles, [n].into(), &[Axis(0)])[0],
                    squares(&singles.iter().map(|&x| f64::from(x)).collect::<Vec<_>>()),
                );
                assert_eq!(got, wide as f32);
            }
        }
    }

    #[test]
    fn nan_and_infinity_reach_the_result() {
        let of = |fold, x: &[f64]| run(fold, x, [3].into(), &[Axis(0)])[0];
        assert!(of(Fold::Max, &[1.0, f64::NAN, 2.0]).is_nan());
        assert!(of(Fold::Min, &[1.0, f64::NAN, 2.0]).is_nan());
        assert_eq!(of(Fold::Sum, &[f64::INFINITY, 1.0, 2.0]), f64::INFINITY);
        assert!(of(Fold::Sum, &[f64::INFINITY, f64::NEG_INFINITY, 2.0]).is_nan());
    }

    #[test]
    fn long_sums_stay_exact() {
        let n = 1 << 20;
        let x: Vec<f32> = (0..n).map(|i| 0.1 + (i % 7) as f32).collect();
        let exact: f64 = x.iter().map(|&v| v as f64).sum();
        assert_eq!(run(Fold::Sum, &x, [n].into(), &[Axis(0)]), [exact as f32]);
        // 1 is lost in every partial sum without the correction between tiles.
        let mut y = vec![0.0f64; 3 * TILE];
        (y[0], y[TILE], y[2 * TILE]) = (1e16, 1.0, -1e16);
        assert_eq!(run(Fold::Sum, &y, [3 * TILE].into(), &[Axis(0)]), [1.0]);
    }

    /// Every fold of every layout of a value of these sizes, against the dense copy of that layout.
    fn layouts<T: Reduce>(sizes: [usize; 3], unit: f64, folds: &[Fold]) {
        let dense = Shape::from(sizes);
        let data: Vec<T> =
            (0..dense.size()).map(|i| T::from_f64((((i * 7919) % 1013) as f64 - 350.0) * unit)).collect();
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let shape = Shape::from(order.map(|i| sizes[i]));
            let layout = Layout { strides: order.map(|i| dense.strides()[i] as isize).to_vec(), offset: 0 };
            let x = View { dtype: T::DTYPE, shape: &shape, layout: &layout, data: cast::bytes(&data) };
            let copy: Vec<T> = tile(&x, 0..shape.size(), &mut Vec::new()).to_vec();
            for axes in [&[0][..], &[1], &[2], &[0, 1], &[0, 2], &[1, 2], &[0, 1, 2]] {
                let axes: Vec<Axis> = axes.iter().copied().map(Axis).collect();
                for &fold in folds {
                    let left = shape.without(&axes);
                    let mut out = vec![T::default(); left.size()];
                    let data = cast::bytes_mut(&mut out);
                    reduce(fold, &x, &axes, &mut ViewMut { dtype: T::DTYPE, shape: &left, data });
                    assert_eq!(
                        out,
                        run(fold, &copy, shape.clone(), &axes),
                        "{fold:?} {order:?} {axes:?} {:?}",
                        T::DTYPE
                    );
                }
            }
        }
    }

    #[test]
    fn bits_do_not_depend_on_layout() {
        // Products of so small numbers do not overflow.
        let (folds, small) = ([Fold::Sum, Fold::Prod, Fold::Max, Fold::Min, Fold::Squares], 1.0 / 512.0);
        for sizes in [[3, 70, 5], [1, 2100, 2], [600, 7, 30], [9, 3, 1100]] {
            layouts::<f32>(sizes, small, &folds);
            layouts::<f64>(sizes, small, &folds);
            layouts::<i32>(sizes, 1.0, &folds[..4]);
            layouts::<bf16>(sizes, small, &folds);
            layouts::<Complex<f32>>(sizes, small, &folds[..2]);
        }
    }

    #[test]
    fn rows_of_a_matrix_are_exact_sums() {
        let (m, n) = (700, 2500);
        let x: Vec<f32> = (0..m * n).map(|i| ((i * 7919) % 1013) as f32 / 1013.0 - 0.5).collect();
        let sums = run(Fold::Sum, &x, [m, n].into(), &[Axis(1)]);
        for (i, &sum) in sums.iter().enumerate() {
            let exact: f64 = (0..n).map(|j| f64::from(x[i + j * m])).sum();
            assert_eq!(sum, exact as f32, "row {i}");
        }
    }
}
