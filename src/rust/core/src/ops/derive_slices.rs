//! Derivative rules of the ops that read and write parts of a value: what one of them reads, the other
//! writes.

use super::binary::Binary;
use super::compare::Compare;
use super::derive::Var;
use super::gather::{Gather, Scatter};
use super::layout::Concatenate;
use super::reduce::Reduction;
use super::slice::{DynamicSlice, DynamicUpdateSlice, Pad, Reverse, StaticSlice};
use super::{Iota, Op, Update};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels::reductions::fold::Fold;
use crate::shape::Axis;

impl<'m, 'b> Var<'m, 'b> {
    /// With elements of a value around it, or without some of its own where the numbers are negative.
    pub(super) fn padded(
        self,
        value: f64,
        low: Vec<i64>,
        high: Vec<i64>,
        interior: Vec<usize>,
    ) -> Var<'m, 'b> {
        let value = self.scalar(value);
        self.apply(Op::Pad(Pad { low, high, interior }), &[value])
    }
}

impl StaticSlice {
    /// The operand's gradient: zeros around it and between.
    pub(super) fn pull<'m, 'b>(&self, x: Var<'m, 'b>, g: Var<'m, 'b>) -> Var<'m, 'b> {
        let (from, taken) = (x.aval().shape, g.aval().shape);
        if taken.size() == 0 {
            return x.of(0.0);
        }
        let covered = |i: usize| (taken[i] - 1) * self.stride[i] + 1;
        let low = self.start.iter().map(|&start| start as i64).collect();
        let high = (0..from.rank()).map(|i| (from[i] - self.start[i] - covered(i)) as i64).collect();
        g.padded(0.0, low, high, self.stride.iter().map(|s| s - 1).collect())
    }
}

impl Reverse {
    /// The operand's gradient.
    pub(super) fn pull<'m, 'b>(&self, g: Var<'m, 'b>) -> Var<'m, 'b> {
        g.apply(Op::Reverse(self.clone()), &[])
    }
}

impl Concatenate {
    /// The operands' gradients: the parts of the result's.
    pub(super) fn pull<'m, 'b>(&self, operands: &[Var<'m, 'b>], g: Var<'m, 'b>) -> Vec<Option<Var<'m, 'b>>> {
        let mut first = 0;
        let part = |x: &Var<'m, 'b>| {
            let shape = x.aval().shape;
            let (mut start, mut limit) = (vec![0; shape.rank()], shape.to_vec());
            start[self.axis.0] = first;
            first += shape[self.axis.0];
            limit[self.axis.0] = first;
            Some(g.apply(Op::StaticSlice(StaticSlice { start, limit, stride: vec![1; shape.rank()] }), &[]))
        };
        operands.iter().map(part).collect()
    }
}

impl DynamicSlice {
    /// The operands' gradients: zeros around the window.
    pub(super) fn pull<'m, 'b>(&self, operands: &[Var<'m, 'b>], g: Var<'m, 'b>) -> Vec<Option<Var<'m, 'b>>> {
        let others: Vec<Var> = std::iter::once(g).chain(operands[1..].iter().copied()).collect();
        let mut out = vec![None; operands.len()];
        out[0] = Some(operands[0].of(0.0).apply(Op::DynamicUpdateSlice(DynamicUpdateSlice), &others));
        out
    }
}

impl DynamicUpdateSlice {
    /// The operands' gradients: that of the result outside of the window, and inside.
    pub(super) fn pull<'m, 'b>(&self, operands: &[Var<'m, 'b>], g: Var<'m, 'b>) -> Vec<Option<Var<'m, 'b>>> {
        let update = operands[1];
        let starts = &operands[2..];
        let others: Vec<Var> = std::iter::once(update.of(0.0)).chain(starts.iter().copied()).collect();
        let mut out = vec![None; operands.len()];
        out[0] = Some(g.apply(Op::DynamicUpdateSlice(DynamicUpdateSlice), &others));
        out[1] =
            Some(g.apply(Op::DynamicSlice(DynamicSlice { sizes: update.aval().shape.to_vec() }), starts));
        out
    }
}

impl Pad {
    /// The gradients of the operand and of what is around it.
    pub(super) fn pull<'m, 'b>(&self, operands: &[Var<'m, 'b>], g: Var<'m, 'b>) -> Vec<Option<Var<'m, 'b>>> {
        let x = operands[0];
        let shape = x.aval().shape;
        let rank = shape.rank();
        let all = |v: Var<'m, 'b>| v.summed((0..v.aval().shape.rank()).map(Axis).collect());
        if shape.size() == 0 {
            return vec![Some(x.of(0.0)), Some(all(g))];
        }
        let negative = |amounts: &[i64]| amounts.iter().map(|n| -n).collect();
        let middle = g.padded(0.0, negative(&self.low), negative(&self.high), vec![0; rank]);
        let limit = middle.aval().shape.to_vec();
        let stride = self.interior.iter().map(|n| n + 1).collect();
        let inside = middle.apply(Op::StaticSlice(StaticSlice { start: vec![0; rank], limit, stride }), &[]);
        let around = x.of(0.0).padded(1.0, self.low.clone(), self.high.clone(), self.interior.clone());
        vec![Some(inside), Some(all(around * g))]
    }
}

/// Where windows lie that may start outside of a value.
pub(super) struct Starts<'m, 'b> {
    /// The starts, moved so that the windows fit.
    pub clamped: Var<'m, 'b>,
    /// For each window, whether it fits where it was.
    pub fits: Var<'m, 'b>,
}

/// The starts of windows of these sizes in a value.
pub(super) fn starts<'m, 'b>(
    indices: Var<'m, 'b>,
    windows: &super::Windows,
    shape: &[usize],
    sizes: &[usize],
) -> Starts<'m, 'b> {
    let aval = indices.aval();
    let at = windows.index_vector_dim;
    let most = aval.dtype.bounds().map_or(i128::MAX, |(_, high)| high);
    // The last start along each dimension, as one value of the shape of the indices.
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
            [first, rest @ ..] => first.apply(Op::Concatenate(Concatenate { axis: at }), rest),
        }
    };
    let clamped = indices.binary(Binary::max, indices.of(0.0)).binary(Binary::min, upper);
    let same = clamped.compare(Compare::eq, indices);
    let fits = if at.0 == aval.shape.rank() {
        same
    } else {
        same.apply(Op::Reduction(Reduction { fold: Fold::All, axes: vec![at], drop: true }), &[])
    };
    Starts { clamped, fits }
}

impl Gather {
    /// The operands' gradients: each window is added where it was read.
    pub(super) fn pull<'m, 'b>(&self, operands: &[Var<'m, 'b>], g: Var<'m, 'b>) -> Vec<Option<Var<'m, 'b>>> {
        let [x, indices] = [operands[0], operands[1]];
        let at = starts(indices, &self.windows, &x.aval().shape, &self.slice_sizes).clamped;
        let scatter = Scatter {
            windows: self.windows.clone(),
            update: Update::With(Binary::add),
            indices_are_sorted: self.indices_are_sorted,
            unique_indices: false,
        };
        vec![Some(x.of(0.0).apply(Op::Scatter(scatter), &[at, g])), None]
    }
}

impl Scatter {
    /// The operands' gradients.
    pub(super) fn pull<'m, 'b>(
        &self,
        operands: &[Var<'m, 'b>],
        y: Var<'m, 'b>,
        g: Var<'m, 'b>,
    ) -> Result<Vec<Option<Var<'m, 'b>>>> {
        let [x, indices, update] = [operands[0], operands[1], operands[2]];
        if self.region().is_some() {
            let advice =
                "give an update that has one, by name (\"replace\", \"add\", \"mul\", \"min\" or \"max\")";
            let why = format!("updates by a function have no rule; {advice}");
            return Err(Error::NoGradient { op: "nv_scatter".into(), why });
        }
        let (shape, stack) = (x.aval().shape, update.aval().shape);
        let mut sizes = vec![1; shape.rank()];
        let kept = (0..shape.rank())
            .map(Axis)
            .filter(|i| !self.windows.dropped.contains(i) && !self.windows.batching.contains(i));
        for (axis, dim) in kept.zip(&self.windows.window_dims) {
            sizes[axis.0] = stack[dim.0];
        }
        if stack.size() == 0 || shape.size() == 0 {
            return Ok(vec![Some(g), None, Some(update.of(0.0))]);
        }
        let Starts { clamped, fits } = starts(indices, &self.windows, &shape, &sizes);
        let gather = Op::Gather(Gather {
            windows: self.windows.clone(),
            slice_sizes: sizes,
            indices_are_sorted: self.indices_are_sorted,
        });
        // A window that does not fit was not written.
        let batches =
            (0..stack.rank()).map(Axis).filter(|i| !self.windows.window_dims.contains(i)).collect::<Vec<_>>();
        let written = fits.repeated(&stack, &batches);
        let zero = update.of(0.0);
        let put = |onto: Var<'m, 'b>, op: Binary, what: Var<'m, 'b>| {
            onto.apply(Op::Scatter(Scatter { update: Update::With(op), ..self.clone() }), &[indices, what])
        };
        let read = |v: Var<'m, 'b>| v.apply(gather.clone(), &[clamped]);
        match self.update {
            Update::With(Binary::mul) => {
                let factors = put(x.of(1.0), Binary::mul, update);
                // What multiplies an update: the product of all that is not 0 without itself, if no other is
                // 0.
                let is_zero = |v: Var<'m, 'b>| v.compare(Compare::eq, v.of(0.0));
                let without = |v: Var<'m, 'b>| is_zero(v).select(v.of(1.0), v);
                let product = read(put(without(x), Binary::mul, without(update)));
                let number = |v: Var<'m, 'b>| is_zero(v).select(v.of(1.0), v.of(0.0));
                let none =
                    read(put(number(x), Binary::add, number(update))).compare(Compare::eq, number(update));
                let others = none.select(product / without(update), zero);
                Ok(vec![Some(g.chain(factors)), None, Some(written.select(read(g).chain(others), zero))])
            }
            Update::With(Binary::min | Binary::max) => {
                // In equal parts to all that are the result.
                let mark =
                    |v: Var<'m, 'b>, y: Var<'m, 'b>| v.compare(Compare::eq, y).select(v.of(1.0), v.of(0.0));
                let (in_x, in_update) = (mark(x, y), mark(update, read(y)));
                let dtype = x.aval().dtype;
                // A narrow float does not count far.
                let wide = if dtype.bits() == 16 { DType::F32 } else { dtype };
                let count = put(in_x.convert(wide), Binary::add, in_update.convert(wide));
                let part = g / count.binary(Binary::max, count.of(1.0)).convert(dtype);
                Ok(vec![
                    Some(part.chain(in_x)),
                    None,
                    Some(written.select(read(part).chain(in_update), zero)),
                ])
            }
            Update::With(Binary::add) => Ok(vec![Some(g), None, Some(written.select(read(g), zero))]),
            Update::Replace => {
                let rest = g.apply(Op::Scatter(self.clone()), &[indices, zero]);
                // Of several elements that were written to one place, one is there: which, their numbers
                // tell.
                let iota = Iota {
                    axis: Axis(0),
                    dtype: DType::I64,
                    shape: [stack.size()].into(),
                    start: 0,
                    ambiguous: false,
                };
                let number = g.made(Op::Iota(iota)).reshaped(&stack);
                let places = number.filled(-1.0, &shape).apply(Op::Scatter(self.clone()), &[indices, number]);
                let won = read(places).compare(Compare::eq, number);
                let taken = won.select(read(g), zero);
                Ok(vec![Some(rest), None, Some(written.select(taken, zero))])
            }
            Update::With(_) | Update::By(_) => Ok(vec![None; operands.len()]),
        }
    }
}

impl Reduction {
    /// For each element, the product of the others over the dimensions: of those before it and of those after
    /// it. Zeros need no care, and derivatives of any order are those of products.
    pub(super) fn product_of_others<'m, 'b>(&self, x: Var<'m, 'b>) -> Var<'m, 'b> {
        let shape = x.aval().shape;
        let rank = shape.rank();
        let rest: Vec<Axis> = (0..rank).map(Axis).filter(|a| !self.axes.contains(a)).collect();
        let order: Vec<Axis> = self.axes.iter().chain(&rest).copied().collect();
        let count: usize = self.axes.iter().map(|a| shape[a.0]).product();
        let sorted = x.transposed(order.clone());
        let (all, flat) = (
            sorted.aval().shape,
            sorted.reshaped(&[count, shape.size().checked_div(count).unwrap_or(0)].into()),
        );
        let shifted = |v: Var<'m, 'b>, by: i64| v.padded(1.0, vec![by, 0], vec![-by, 0], vec![0, 0]);
        let running = |way: i64| {
            let mut product = shifted(flat, way);
            let mut step = 1;
            while step < count {
                product = product * shifted(product, way * step as i64);
                step *= 2;
            }
            product
        };
        let others = (running(1) * running(-1)).reshaped(&all);
        let mut back = order.clone();
        for (to, from) in order.iter().enumerate() {
            back[from.0] = Axis(to);
        }
        others.transposed(back)
    }
}
