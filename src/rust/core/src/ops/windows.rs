//! Windows of a value at positions that are an operand, which a gather reads and a scatter writes.
//!
//! StableHLO's dimension numbers describe them. Elements along the axis `index_vector_axis` of the indices
//! form an index vector, the start of one window.

use super::attrs::{vector, Attrs};
use super::binary::Binary;
use super::check::Check;
use super::compare::Compare;
use super::contract::Form;
use super::derive::Var;
use super::places::{clamped, inside, placed_in_example, raise_outside, Along, Index};
use super::{Reduction, Row};
use crate::dtype::{dispatch_int, DType, Element, INTEGER};
use crate::error::{Error, Result};
use crate::graph::syntax::Parsed;
use crate::kernels::cast;
use crate::kernels::memory::indexed::{Stride, Walk, NOWHERE};
use crate::kernels::reductions::fold::Fold;
use crate::kernels::tile::{tile, tiles, TILE};
use crate::shape::{Axis, Shape};
use crate::stop;
use crate::tensor::{Aval, Layout, View};
use std::ops::Range;

/// The axes of windows in a value, and in the value that stacks them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Windows {
    /// Axes of the stack that are axes of the windows, ascending; the other axes are those of the indices.
    pub window_axes: Vec<Axis>,
    /// Axes of the value along which windows have size 1 and which the stack lacks; ascending.
    pub dropped: Vec<Axis>,
    /// Batch axes of the value; ascending.
    pub batching: Vec<Axis>,
    /// The corresponding batch axes of the indices, in the same order.
    pub index_batching: Vec<Axis>,
    /// For each element of an index vector, the axis of the value that it is a position along.
    pub index_map: Vec<Axis>,
    /// The axis of the indices that holds the vectors; the rank of the indices if vectors have length 1 and
    /// no axis.
    pub index_vector_axis: Axis,
}

/// Names of the parameters: as StableHLO has them, with `axes` for `dims`.
pub(super) type Names = [&'static str; 5];

/// Checks that an operand holds integers.
pub(super) fn check_indices(row: &Row, operand: &str, x: &Aval) -> Result<()> {
    if INTEGER.contains(x.dtype) {
        return Ok(());
    }
    Err(Error::UnsupportedDtype {
        op: row.function.into(),
        operand: operand.into(),
        accepts: INTEGER.name.into(),
        got: x.ranked().dtype,
        hint: "Indices are integers: convert with `nv_convert(x, \"i32\")`.".into(),
    })
}

impl Windows {
    pub(super) fn attributes(&self, names: Names) -> Vec<(&'static str, String)> {
        let axes = [&self.window_axes, &self.dropped, &self.batching, &self.index_batching, &self.index_map];
        let mut out: Vec<_> = names.into_iter().zip(axes.map(|d| vector(d))).collect();
        // Batch axes are rare; empty ones are not printed.
        if self.batching.is_empty() {
            out.drain(2..4);
        }
        out.push(("index_vector_axis", self.index_vector_axis.to_string()));
        out
    }

    /// Reads the parameters of a call on a value and indices: axes count from 1, negative ones from the end.
    pub(super) fn decode(attrs: &Attrs, names: Names, operands: &[&Aval]) -> Result<Windows> {
        let [rank, index_rank] = [0, 1].map(|i| operands[i].shape.rank());
        let axes = |name, rank| attrs.axes_among(name, rank);
        let index_vector_axis = match axes("index_vector_axis", index_rank)?.as_slice() {
            [one] => *one,
            many => {
                return Err(Error::arg("index_vector_axis", "one axis", format!("{} numbers", many.len())))
            }
        };
        let stacked = if index_vector_axis.0 < index_rank { index_rank - 1 } else { index_rank };
        Ok(Windows {
            window_axes: axes(names[0], stacked + attrs.integers(names[0])?.len())?,
            dropped: axes(names[1], rank)?,
            batching: axes(names[2], rank)?,
            index_batching: axes(names[3], index_rank)?,
            index_map: axes(names[4], rank)?,
            index_vector_axis,
        })
    }

    /// Reads a statement, whose first two operands are the value and the indices.
    pub(super) fn parse(form: &Form, names: [&str; 5]) -> Parsed<Windows> {
        let axes = |name: &str| Ok(form.positions(name)?.into_iter().map(Axis).collect());
        let batching = |name: &str| if form.has(name) { axes(name) } else { Ok(vec![]) };
        Ok(Windows {
            window_axes: axes(names[0])?,
            dropped: axes(names[1])?,
            batching: batching(names[2])?,
            index_batching: batching(names[3])?,
            index_map: axes(names[4])?,
            index_vector_axis: form.axis("index_vector_axis", form.operands[1].shape.rank() + 1)?,
        })
    }

    /// Axes of the value that are axes of its windows in the stack.
    pub(super) fn kept(&self, rank: usize) -> impl Iterator<Item = usize> + '_ {
        (0..rank).filter(|&i| !self.dropped.contains(&Axis(i)) && !self.batching.contains(&Axis(i)))
    }

    /// Axes of the indices that do not hold the vectors; these are the axes of the stack that are not the
    /// windows'.
    pub(crate) fn batches(&self, indices: &Shape) -> impl Iterator<Item = usize> + '_ {
        (0..indices.rank()).filter(|&i| Axis(i) != self.index_vector_axis)
    }

    /// Checks everything but the sizes of the windows.
    pub(super) fn check(&self, names: Names, x: &Shape, indices: &Shape) -> Result<()> {
        let rank = x.rank();
        if self.index_vector_axis.0 > indices.rank() {
            let expected = format!("an axis of the indices, or {}", indices.rank() + 1);
            return Err(Error::arg("index_vector_axis", expected, self.index_vector_axis.to_string()));
        }
        let count = self.batches(indices).count() + self.window_axes.len();
        check_axes(names[0], &self.window_axes, count, true)?;
        check_axes(names[1], &self.dropped, rank, true)?;
        check_axes(names[2], &self.batching, rank, true)?;
        check_axes(names[3], &self.index_batching, indices.rank(), false)?;
        check_axes(names[4], &self.index_map, rank, false)?;
        let refuse = |name, expected: String, got: &[Axis]| Err(Error::arg(name, expected, vector(got)));
        if let Some(i) = self.dropped.iter().find(|i| self.batching.contains(i)) {
            return refuse(names[1], format!("without the axes of `{}`", names[2]), &[*i]);
        }
        let left = rank - self.dropped.len() - self.batching.len();
        if self.window_axes.len() != left {
            let what = if left == 1 { "axis" } else { "axes" };
            let expected = format!("{left} {what}: one for each axis that is neither dropped nor batched");
            return refuse(names[0], expected, &self.window_axes);
        }
        let length = indices.get(self.index_vector_axis.0).copied().unwrap_or(1);
        if self.index_map.len() != length {
            let expected = format!("as long as the index vectors, {length}");
            return refuse(names[4], expected, &self.index_map);
        }
        if let Some(i) = self.index_map.iter().find(|i| self.batching.contains(i)) {
            return refuse(names[4], format!("without the axes of `{}`", names[2]), &[*i]);
        }
        let pairs = || self.batching.iter().zip(&self.index_batching);
        let sizes_agree = pairs().all(|(i, j)| x[i.0] == indices[j.0]);
        if self.batching.len() != self.index_batching.len()
            || self.index_batching.contains(&self.index_vector_axis)
            || !sizes_agree
        {
            let expected = format!("axes of the indices of the sizes of those in `{}`", names[2]);
            return refuse(names[3], expected, &self.index_batching);
        }
        Ok(())
    }

    /// The axes of the value, of so many, and of the indices along which these are strips where the stack is one along this
    /// axis.
    pub(super) fn strips(&self, axis: Axis, rank: usize, indices: &Shape) -> Option<[Option<Axis>; 2]> {
        if let Some(number) = self.window_axes.iter().position(|&other| other == axis) {
            return Some([Some(Axis(self.kept(rank).nth(number)?)), None]);
        }
        let before = self.window_axes.iter().filter(|&&other| other < axis).count();
        let of = self.batches(indices).nth(axis.0 - before)?;
        let own = self.index_batching.iter().position(|other| other.0 == of);
        Some([own.map(|number| self.batching[number]), Some(Axis(of))])
    }

    /// For each operand of a scatter to a value of this shape, by indices and an update of these, the axis along which it is a
    /// strip where the value is one along this axis.
    pub(super) fn strips_of_value(
        &self,
        axis: Axis,
        value: &Shape,
        [indices, update]: [&Shape; 2],
    ) -> Option<Vec<Option<Axis>>> {
        let found = |of: Axis| self.strips(of, value.rank(), indices).map(|axes| (of, axes));
        let mut all = (0..update.rank()).map(Axis).filter_map(found);
        let (of, [_, own]) = all.find(|(_, axes)| axes[0] == Some(axis))?;
        let is_whole = || update[of.0] == value[axis.0] && !self.index_map.contains(&axis);
        (own.is_some() || is_whole()).then(|| vec![Some(axis), own, Some(of)])
    }

    /// Lets the indices, of so many axes, have a batch axis after them. The value has one too if its number is
    /// given.
    pub(super) fn split(&mut self, value: Option<usize>, indices: usize) {
        if self.index_vector_axis.0 == indices {
            self.index_vector_axis = Axis(indices + 1);
        }
        if let Some(axis) = value {
            self.batching.push(Axis(axis));
            self.index_batching.push(Axis(indices));
        }
    }

    /// Number of windows.
    pub(crate) fn count(&self, indices: &Shape) -> usize {
        self.batches(indices).map(|i| indices[i]).product()
    }

    /// The starts of a range of windows. What does not fit is raised if `check` says so.
    pub(super) fn starts(
        &self,
        &Fit { x, layout, sizes, clamps }: &Fit,
        indices: &View,
        check: &Check,
        range: Range<usize>,
        out: &mut [isize],
    ) {
        out.fill(layout.offset as isize);
        for (component, axis) in self.index_map.iter().enumerate() {
            let part = self.component(indices, component);
            let (size, window) = (x[axis.0], sizes[axis.0]);
            let (last, stride) = (size as i64 - window as i64, layout.strides[axis.0]);
            dispatch_int!(indices.dtype, T => {
                let mut scratch = Vec::new();
                for tile_of in tiles(range.len()) {
                    let slots = &mut out[tile_of.clone()];
                    let tile_of = range.start + tile_of.start..range.start + tile_of.end;
                    let start = tile_of.start;
                    let indices = part.tile::<T>(tile_of, &mut scratch);
                    let fits = match (clamps, stride) {
                        (true, 1) => clamped((slots, indices), last, |index| index),
                        (true, _) => clamped((slots, indices), last, |index| index * stride),
                        (false, 1) => inside((slots, indices), last, |index| index),
                        (false, _) => inside((slots, indices), last, |index| index.wrapping_mul(stride)),
                    };
                    if !fits {
                        raise_outside(check, indices, last, start, (*axis, size, window));
                    }
                }
            });
        }
        for example in self.along_batches(indices.shape, layout) {
            example.add(range.start, out);
        }
    }

    /// Where the examples of batches lie, axis by axis.
    pub(super) fn along_batches<'a>(
        &'a self,
        indices: &'a Shape,
        layout: &'a Layout,
    ) -> impl Iterator<Item = Along> + 'a {
        self.batching.iter().zip(&self.index_batching).map(|(axis, j)| {
            let before = self.batches(indices).take_while(|&i| i < j.0);
            let each = before.map(|i| indices[i]).product();
            Along { each, count: indices[j.0], apart: layout.strides[axis.0] }
        })
    }

    /// Whether [`Windows::places`] computes where windows are, if these are elements: their indices are i32 or i64, as R's are,
    /// of one axis, of neighbours in memory.
    pub(super) fn has_places(&self, fit: &Fit, indices: &View) -> bool {
        let layout = fit.layout;
        let neighbours = |axis: &Axis| layout.strides[axis.0] == 1 && layout.offset == 0;
        matches!(self.index_map.as_slice(), [axis] if neighbours(axis))
            && (self.batching.is_empty() || self.is_batch_last(layout, indices))
            && match indices.dtype {
                DType::I32 => true,
                // Places have 32 bits.
                DType::I64 => fit.x.size() < NOWHERE as usize,
                _ => false,
            }
    }

    /// Whether the only batch axes are the last ones of the value and of the indices.
    fn is_batch_last(&self, layout: &Layout, indices: &View) -> bool {
        let last = |axes: &[Axis], rank: usize| matches!(axes, [axis] if axis.0 + 1 == rank);
        last(&self.batching, layout.strides.len()) && last(&self.index_batching, indices.shape.rank())
    }

    /// The examples of a batch, if they are one after the other in a dense value, and so are their indices; else 1.
    pub(super) fn examples(&self, layout: &Layout, indices: &View) -> usize {
        match self.index_batching.first() {
            Some(axis) if self.is_batch_last(layout, indices) => indices.shape[axis.0],
            _ => 1,
        }
    }

    /// The places of a range of windows of one element in a share of the value. What does not fit is raised if `check`
    /// says so.
    pub(super) fn places(
        &self,
        fit: &Fit,
        indices: &View,
        check: &Check,
        (range, share): (Range<usize>, &Range<usize>),
        out: &mut [u32],
    ) {
        match indices.dtype {
            DType::I64 => self.places_of::<i64>(fit, indices, check, (range, share), out),
            _ => self.places_of::<i32>(fit, indices, check, (range, share), out),
        }
    }

    /// As [`Windows::places`], of indices of this type.
    fn places_of<T: Index>(
        &self,
        fit: &Fit,
        indices: &View,
        check: &Check,
        (range, share): (Range<usize>, &Range<usize>),
        out: &mut [u32],
    ) {
        let (axis, mut scratch) = (self.index_map[0], vec![]);
        let (part, size) = (self.component(indices, 0), fit.x[axis.0]);
        let last = size as i64 - 1;
        // Windows of an example, and how far apart two are.
        let each = (self.count(indices.shape) / self.examples(fit.layout, indices)).max(1);
        let apart = self.batching.first().map_or(0, |axis| fit.layout.strides[axis.0] as usize);
        let (mut start, mut rest) = (range.start, out);
        while !rest.is_empty() {
            let (example, within) = (start / each, start % each);
            let (slots, later) = rest.split_at_mut((each - within).min(TILE).min(rest.len()));
            stop::work(slots.len());
            let indices = part.tile::<T>(start..start + slots.len(), &mut scratch);
            let first = example * apart;
            if !placed_in_example((slots, indices), last, first, share, fit.clamps) {
                raise_outside(check, indices, last, start, (axis, size, 1));
            }
            (start, rest) = (start + indices.len(), later);
        }
    }

    /// The elements with this number of all index vectors.
    fn component<'a>(&self, indices: &View<'a>, number: usize) -> Component<'a> {
        let step = indices.layout.strides.get(self.index_vector_axis.0).copied().unwrap_or(0);
        let offset = (indices.layout.offset as isize + number as isize * step) as usize;
        let axes = || self.batches(indices.shape).map(|i| (indices.shape[i], indices.layout.strides[i]));
        let dense = axes()
            .filter(|&(size, _)| size != 1)
            .try_fold(1, |dense, (size, stride)| (stride == dense).then_some(dense * size as isize));
        let layout = dense.is_none().then(|| {
            let (sizes, strides) = axes().unzip();
            let shape = Shape::try_new(sizes).expect("part of an addressable shape");
            (shape, Layout { strides, offset })
        });
        Component { indices: *indices, offset, layout }
    }

    /// A walk over the stack, with strides in a value of this layout.
    pub(crate) fn walk(&self, stack: &Shape, layout: &Layout) -> Walk {
        let mut kept = self.kept(layout.strides.len());
        let mut entries = 1;
        let step = stack.iter().enumerate().map(|(i, &size)| {
            if self.window_axes.contains(&Axis(i)) {
                let axis = kept.next().expect("as many as there are window axes");
                return (size, Stride::Memory(layout.strides[axis]));
            }
            let own = entries;
            entries *= size;
            (size, Stride::Table(own))
        });
        Walk::new(step)
    }
}

/// Indices of windows along one axis.
struct Component<'a> {
    indices: View<'a>,
    /// The first one.
    offset: usize,
    /// How they lie, unless side by side.
    layout: Option<(Shape, Layout)>,
}

impl Component<'_> {
    /// Some of them, in order.
    fn tile<'a, T: Element>(&'a self, range: Range<usize>, scratch: &'a mut Vec<T>) -> &'a [T] {
        match &self.layout {
            Some((shape, layout)) => tile(&View { shape, layout, ..self.indices }, range, scratch),
            None => &cast::slice(self.indices.data)[self.offset..][range],
        }
    }
}

/// Distinct axes below `rank`, in ascending order if `sorted`.
fn check_axes(name: &str, axes: &[Axis], rank: usize, sorted: bool) -> Result<()> {
    let twice = |i: usize| axes[..i].contains(&axes[i]);
    let wrong =
        (0..axes.len()).any(|i| axes[i].0 >= rank || twice(i) || (sorted && i > 0 && axes[i - 1] > axes[i]));
    if !wrong {
        return Ok(());
    }
    let order = if sorted { " in ascending order" } else { "" };
    Err(Error::arg(name, format!("distinct axes from 1 to {rank}{order}"), vector(axes)))
}

/// What windows have to fit in.
pub(super) struct Fit<'a> {
    /// The shape of the value.
    pub x: &'a Shape,
    /// Its layout.
    pub layout: &'a Layout,
    /// Sizes of each window.
    pub sizes: &'a [usize],
    /// Whether windows that do not fit are moved; else they are [`OUTSIDE`].
    pub clamps: bool,
}

/// Starts of windows that may not fit in a value.
pub(crate) struct Fitted<'m, 'b> {
    /// The starts, moved so that the windows fit.
    pub clamped: Var<'m, 'b>,
    /// For each window, whether it fits without being moved.
    pub fits: Var<'m, 'b>,
}

/// The starts of windows of these sizes in a value.
pub(crate) fn fitted<'m, 'b>(
    indices: Var<'m, 'b>,
    windows: &Windows,
    shape: &[usize],
    sizes: &[usize],
) -> Fitted<'m, 'b> {
    let aval = indices.aval();
    let at = windows.index_vector_axis;
    let most = aval.dtype.bounds().map_or(i128::MAX, |(_, high)| high);
    // The last start along each axis, as one value of the shape of the indices.
    let last =
        |axis: &Axis| (shape[axis.0] - sizes[axis.0]).min(usize::try_from(most).unwrap_or(usize::MAX)) as f64;
    let upper = if at.0 == aval.shape.rank() {
        indices.of(last(&windows.index_map[0]))
    } else {
        let mut one = aval.shape.to_vec();
        one[at.0] = 1;
        let piece = |axis: &Axis| indices.filled(last(axis), &one);
        let pieces: Vec<Var> = windows.index_map.iter().map(piece).collect();
        match pieces.as_slice() {
            [] => indices,
            [first, rest @ ..] => first.beside(rest, at),
        }
    };
    let clamped = indices.binary(Binary::max, indices.of(0.0)).binary(Binary::min, upper);
    let same = clamped.compare(Compare::eq, indices);
    let fits = if at.0 == aval.shape.rank() {
        same
    } else {
        same.apply(Reduction { fold: Fold::All, axes: vec![at], drop: true }, &[])
    };
    Fitted { clamped, fits }
}

/// The operands of an example of the specification.
#[cfg(test)]
pub(super) mod example {
    use super::*;

    pub fn axes_of(x: &[usize]) -> Vec<Axis> {
        x.iter().copied().map(Axis).collect()
    }

    /// A tensor of this shape from elements in row-major order, as the specification writes them.
    pub fn by_rows<T: Copy + Default>(shape: &Shape, x: &[T]) -> Vec<T> {
        let mut out = vec![T::default(); x.len()];
        let strides = shape.strides();
        for (n, &x) in x.iter().enumerate() {
            let (mut rest, mut at) = (n, 0);
            for i in (0..shape.rank()).rev() {
                at += rest % shape[i] * strides[i];
                rest /= shape[i];
            }
            out[at] = x;
        }
        out
    }

    // The operand and the indices of both examples: (2,3,4,2), and the same positions twice.
    pub fn operand() -> (Shape, Vec<i32>) {
        let shape = Shape::from([2, 3, 4, 2]);
        let x: Vec<i32> = (1..=48).collect();
        (shape.clone(), by_rows(&shape, &x))
    }

    pub fn indices() -> (Shape, Vec<i32>) {
        let shape = Shape::from([2, 2, 3, 2]);
        let x = [0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 0, 9, 0, 0, 2, 1, 2, 2, 1, 2, 0, 1, 1, 0];
        (shape.clone(), by_rows(&shape, &x))
    }

    pub fn windows() -> Windows {
        Windows {
            window_axes: axes_of(&[3, 4]),
            dropped: axes_of(&[1]),
            batching: axes_of(&[0]),
            index_batching: axes_of(&[1]),
            index_map: axes_of(&[2, 1]),
            index_vector_axis: Axis(3),
        }
    }
}
