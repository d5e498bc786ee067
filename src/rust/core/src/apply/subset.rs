//! `x[...]` and `x[...] <- value`: subscripts of all kinds, as few ops as possible.
//!
//! [`Applier::subset`] and [`Applier::subset_assign`] turn one [`Subscript`] for each axis, often a
//! [`Selection`](crate::apply::selection::Selection), into nodes. A position that is known while tracing
//! becomes a static slice, which costs nothing; an index that the running program computes becomes a dynamic
//! slice; several positions become a gather or scatter. Only indices of tensors may be out of range.

use super::applier::Applier;
use super::selection::wrong;
use crate::dtype::{DType, Ranked};
use crate::error::{Error, Result};
use crate::graph::{Def, Value};
use crate::ops::layout::Order;
use crate::ops::*;
use crate::shape::{Axis, Shape};
use crate::tensor::Literal;

/// Checks that there are no more subscripts than axes.
///
/// # Errors
/// [`Error::SubscriptCount`].
pub fn check_count(got: usize, shape: &Shape) -> Result<()> {
    if got <= shape.rank() {
        return Ok(());
    }
    let hint = match shape.rank() {
        0 => "`x[]` is all of a 0-d tensor.",
        _ => "Give at most one for each axis; what is left out is taken whole.",
    };
    Err(Error::SubscriptCount { got, shape: shape.clone(), hint: hint.into() })
}

/// The start of a range.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Start {
    /// At a position known while tracing, within bounds.
    Known(usize),
    /// At a position that is computed: a 0-d i32 within bounds.
    Given(Value),
}

/// The subscript of one axis. Positions count from 0 and are within bounds, but for those of tensors.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Subscript {
    /// Everything.
    All,
    /// One position; the axis is dropped.
    At(Start),
    /// `size` positions from a start on, `stride` apart; a given start has stride 1.
    Range {
        /// The first.
        start: Start,
        /// Their number.
        size: usize,
        /// Distance between neighbours.
        stride: isize,
    },
    /// Positions in a 1-d i32.
    Positions(Value),
    /// A tensor of integers that count from 1: one position if it is 0-d, several if it is 1-d.
    Dynamic(Value),
    /// Booleans of the shape of what is assigned to: the only subscript.
    Where(Value),
}

/// A subscript, resolved to the kind of node that it needs.
#[derive(Clone, Copy)]
enum Pick {
    /// `size` positions with a stride, from one known while tracing.
    Known { start: usize, size: usize, stride: isize },
    /// `size` contiguous positions from a 0-d integer on; `safe` if they are within bounds for sure, or need
    /// not be.
    Window { start: Value, size: usize, safe: bool },
    /// Positions in a 1-d integer; `safe` as above.
    Many { index: Value, safe: bool },
}

impl Pick {
    /// Its positions, if they may be out of bounds.
    fn unsafe_positions(&self) -> Option<Value> {
        match *self {
            Pick::Window { start: at, safe: false, .. } | Pick::Many { index: at, safe: false } => Some(at),
            _ => None,
        }
    }
}

impl Applier<'_> {
    /// The elements that subscripts select; `drop` says whether axes are dropped, `mode` what becomes of
    /// indices of tensors that are out of range.
    ///
    /// # Errors
    /// [`Error::SubscriptCount`]; [`Error::UnsupportedDtype`] and [`Error::Subscript`] for tensors that are
    /// no indices; [`Error::IndexOutOfBounds`] for an index that is known while tracing.
    pub fn subset(
        &mut self,
        mut x: Value,
        subscripts: &[Subscript],
        drop: bool,
        mode: Mode,
    ) -> Result<Vec<Value>> {
        let (picks, drops) = self.picks(x, subscripts, mode, true)?;
        let shape = self.shape(x);
        let may_be_outside = |(i, pick): (usize, &Pick)| Some((Axis(i), pick.unsafe_positions()?));
        let outside: Vec<(Axis, Value)> = picks.iter().enumerate().filter_map(may_be_outside).collect();
        let site = self.site.clone();
        let check =
            |axes: &[usize]| check(mode, outside.iter().any(|(axis, _)| axes.contains(&axis.0)), &site);
        // Static slices first: they are free.
        let mut slice = StaticSlice { start: vec![], limit: vec![], stride: vec![] };
        let mut backwards = vec![];
        let (mut windows, mut many) = (vec![], vec![]);
        for (i, pick) in picks.into_iter().enumerate() {
            let (mut start, mut limit, mut stride) = (0, shape[i], 1);
            match pick {
                Pick::Known { size: 0, .. } => limit = 0,
                Pick::Known { start: first, size, stride: by } => {
                    let last = (first as isize + (size as isize - 1) * by) as usize;
                    (start, limit, stride) = (first.min(last), first.max(last) + 1, by.unsigned_abs());
                    if by < 0 {
                        backwards.push(Axis(i));
                    }
                }
                Pick::Window { start, size, .. } => windows.push((i, start, size)),
                Pick::Many { index, .. } => many.push((i, index)),
            }
            slice.start.push(start);
            slice.limit.push(limit);
            slice.stride.push(stride);
        }
        if (0..shape.rank()).any(|i| (slice.start[i], slice.limit[i], slice.stride[i]) != (0, shape[i], 1)) {
            x = self.builder.node1(Op::StaticSlice(slice), &[x])?;
        }
        if !backwards.is_empty() {
            x = self.builder.node1(Op::Reverse(Reverse { axes: backwards }), &[x])?;
        }
        if !windows.is_empty() {
            let mut sizes = self.shape(x).to_vec();
            let check = check(&windows.iter().map(|(i, ..)| *i).collect::<Vec<_>>());
            let mut starts = vec![self.builder.literal(Literal::new(0i32), None); sizes.len()];
            for (i, start, size) in windows {
                (sizes[i], starts[i]) = (size, start);
            }
            let mut operands = vec![x];
            operands.extend(self.one_width(starts)?);
            x = self.builder.node1(Op::DynamicSlice(DynamicSlice { sizes, check }), &operands)?;
        }
        // The most selective gather comes first, so that the others read less; of equals the one on the last
        // axis, whose slices are the largest contiguous runs.
        let share = |(i, index): &(usize, Value)| self.shape(*index)[0] as f64 / shape[*i].max(1) as f64;
        let mut many: Vec<_> = many.into_iter().map(|one| (share(&one), one)).collect();
        many.sort_by(|(a, (i, _)), (b, (j, _))| a.total_cmp(b).then(j.cmp(i)));
        let mut many: Vec<(usize, Value)> = many.into_iter().map(|(_, one)| one).collect();
        if self.picks_at_once(x, &many) {
            many.sort();
            let check = check(&many.iter().map(|(i, _)| *i).collect::<Vec<_>>());
            x = self.picked(x, &many, check)?;
        } else {
            for (i, index) in many {
                let shape = self.shape(x);
                let op = Gather::along(Axis(i), &shape, check(&[i]));
                x = self.builder.node1(Op::Gather(op), &[x, index])?;
            }
        }
        if mode == Mode::Drop {
            for (axis, positions) in outside {
                x = self.left_out(x, positions, axis, shape[axis.0])?;
            }
        }
        if drop && drops.contains(&true) {
            let dropped: Vec<Axis> = (0..drops.len()).filter(|&i| drops[i]).map(Axis).collect();
            x = self.reshaped(x, self.shape(x).without(&dropped))?;
        }
        Ok(vec![x])
    }

    /// `x` with the elements replaced that subscripts select. `mode` as in [`subset`](Applier::subset).
    ///
    /// # Errors
    /// As [`subset`](Applier::subset); [`Error::AssignDtype`], [`Error::AssignShape`].
    pub fn subset_assign(
        &mut self,
        x: Value,
        subscripts: &[Subscript],
        value: Value,
        mode: Mode,
    ) -> Result<Vec<Value>> {
        // What is assigned to no elements need not fit: glm() has `y[weights == 0] <- 0` of logicals.
        let selects_nothing = subscripts.iter().any(|&subscript| match subscript {
            Subscript::Range { size, .. } => size == 0,
            Subscript::Positions(at) => self.aval(at).shape.size() == 0,
            _ => false,
        });
        let mut value = match self.assigned(value, x) {
            Err(Error::AssignDtype { .. }) if selects_nothing => return Ok(vec![x]),
            assigned => assigned?,
        };
        // One element is the number that it is, as in R, whatever axes it has.
        if self.shape(value).rank() > 0 && self.shape(value).size() == 1 {
            value = self.reshaped(value, Shape::scalar())?;
        }
        if let [Subscript::Where(mask)] = *subscripts {
            return self.assign_where(x, mask, value);
        }
        if let Some(out) = self.assign_along_masks(x, subscripts, value, mode)? {
            return Ok(out);
        }
        let to = self.ranked(x);
        let (picks, drops) = self.picks(x, subscripts, mode, false)?;
        let shape = self.shape(x);
        let sizes: Vec<usize> = picks.iter().map(|pick| self.size(pick)).collect();
        let full = Shape::try_new(sizes)?;
        let dropped: Vec<Axis> = (0..drops.len()).filter(|&i| drops[i]).map(Axis).collect();
        let subset = full.without(&dropped);
        if self.aval(value).shape.rank() > 0 && self.aval(value).shape != subset {
            if self.aval(value).shape.size() != subset.size() {
                return Err(Error::AssignShape { value: self.shape(value), subset });
            }
            // As many elements fill what is selected in column-major order, as in R: one column is a vector.
            value = self.reshaped(value, subset.clone())?;
        }
        if full.size() == 0 {
            return Ok(vec![x]);
        }
        let value = self.broadcast(value, &subset)?;
        let all = |(pick, &size): (&Pick, &usize)| matches!(pick, Pick::Known { start: 0, size: n, stride: 1 } if *n == size);
        let out = if picks.iter().zip(shape.iter()).all(all) {
            self.cast(value, to)?
        } else if picks
            .iter()
            .all(|pick| matches!(pick, Pick::Known { stride: 1 | -1, .. } | Pick::Window { safe: true, .. }))
        {
            let value = self.reshaped(value, full)?;
            self.replace_window(x, &picks, value)?
        } else {
            let check = check(mode, picks.iter().any(|pick| pick.unsafe_positions().is_some()), &self.site);
            let (windows, indices) = self.scattered(&picks, &drops)?;
            let op = Scatter {
                windows,
                update: Update::Replace,
                indices_are_sorted: false,
                unique_indices: false,
                check,
            };
            self.builder.node1(Op::Scatter(op), &[x, indices, value])?
        };
        // Without the axes of size 1 that a number selects.
        Ok(vec![self.reshaped(out, shape)?])
    }

    /// One pick for each axis, and whether the axis is dropped.
    fn picks(
        &mut self,
        x: Value,
        subscripts: &[Subscript],
        mode: Mode,
        reads: bool,
    ) -> Result<(Vec<Pick>, Vec<bool>)> {
        let shape = self.shape(x);
        // `x[]` is all of `x`, even if it is 0-d.
        let given = if *subscripts == [Subscript::All] { &[] } else { subscripts };
        check_count(given.len(), &shape)?;
        let mut picks = Vec::with_capacity(shape.rank());
        let mut drops = vec![false; shape.rank()];
        for (i, &size) in shape.iter().enumerate() {
            let (pick, dropped) = match given.get(i).copied().unwrap_or(Subscript::All) {
                Subscript::All => (Pick::Known { start: 0, size, stride: 1 }, false),
                Subscript::At(start) => (pick_from(start, 1, 1), true),
                Subscript::Range { start, size, stride } => (pick_from(start, size, stride), false),
                Subscript::Positions(index) => (Pick::Many { index, safe: true }, false),
                Subscript::Dynamic(index) | Subscript::Where(index) => {
                    self.dynamic(index, Axis(i), size, mode, reads)?
                }
            };
            picks.push(pick);
            drops[i] = dropped;
        }
        Ok((picks, drops))
    }

    /// The pick of a tensor.
    fn dynamic(
        &mut self,
        index: Value,
        axis: Axis,
        size: usize,
        mode: Mode,
        reads: bool,
    ) -> Result<(Pick, bool)> {
        let shape = self.shape(index);
        if shape.rank() > 1 {
            let got = format!("one of shape {shape}");
            return wrong(axis, "a tensor of at most 1 axis", got, "Make it 1-d with `nv_reshape()`.");
        }
        let index = self.whole(index, axis, size)?;
        let counted = self.counting(index);
        let mut positions = self.positions(index, "nv_subset", &format!("subscript {axis}"), mode)?;
        let many = shape.rank() == 1;
        if many && shape[0] == 0 {
            return Ok((Pick::Known { start: 0, size: 0, stride: 1 }, false));
        }
        if size == 0 {
            return Err(Error::IndexOutOfBounds { index: "of a tensor".into(), axis, size });
        }
        // Reads move by themselves.
        let safe = mode == Mode::Clip;
        if safe && !reads {
            let dtype = self.aval(positions).dtype;
            let [first, last] = [0, size as i64 - 1].map(|n| Literal::new(n).convert(dtype));
            positions = self.with(Binary::max, positions, first)?;
            positions = self.with(Binary::min, positions, last)?;
        }
        let one = |at: i64| (Pick::Known { start: at as usize, size: 1, stride: 1 }, true);
        Ok(match counted {
            Some(first) if many && first >= 1 && first - 1 + shape[0] as i64 <= size as i64 => {
                (Pick::Known { start: first as usize - 1, size: shape[0], stride: 1 }, false)
            }
            _ if many => (Pick::Many { index: positions, safe }, false),
            _ => match (self.known(index), mode) {
                (Some(n), _) if (1..=size as i64).contains(&n) => one(n - 1),
                (Some(n), Mode::Clip) => one(n.clamp(1, size as i64) - 1),
                (Some(n), Mode::Error) => {
                    return Err(Error::IndexOutOfBounds { index: n.to_string(), axis, size })
                }
                _ => (Pick::Window { start: positions, size: 1, safe }, true),
            },
        })
    }

    /// Positions that are floats as integers, truncated as in R. Not numbers are outside of any axis.
    fn whole(&mut self, index: Value, axis: Axis, size: usize) -> Result<Value> {
        let dtype = self.aval(index).dtype;
        let (to, exact) = match dtype {
            DType::F64 => (DType::I64, 1_u64 << 53),
            DType::F32 => (DType::I32, 1 << 24),
            DType::F16 => (DType::I32, 1 << 11),
            DType::BF16 => (DType::I32, 1 << 8),
            _ => return Ok(index),
        };
        if size as u64 > exact {
            let expected = format!("integers, as {dtype} does not tell apart all of {size} positions");
            return wrong(
                axis,
                &expected,
                dtype.to_string(),
                "Convert with `nv_convert()` what positions are made of.",
            );
        }
        self.cast(index, Ranked { dtype: to, ambiguous: false })
    }

    /// The first number of a value that counts up, as `nv_seq()` does.
    fn counting(&self, value: Value) -> Option<i64> {
        match self.builder.graph().def(value) {
            Def::Result(node, _) => match &self.builder.graph().nodes()[node].op {
                Op::Iota(iota) => Some(iota.start),
                _ => None,
            },
            _ => None,
        }
    }

    /// The number of positions of a pick.
    fn size(&self, pick: &Pick) -> usize {
        match pick {
            Pick::Known { size, .. } | Pick::Window { size, .. } => *size,
            Pick::Many { index, .. } => self.aval(*index).shape[0],
        }
    }

    /// The start of a pick, as a 0-d value.
    fn start(&mut self, pick: &Pick) -> Value {
        match *pick {
            Pick::Window { start, .. } => start,
            Pick::Known { start, size, stride } => {
                // A descending range starts at its lowest position, as its values are reversed.
                let lowest = if stride < 0 { start + 1 - size } else { start };
                let literal =
                    i32::try_from(lowest).map_or_else(|_| Literal::new(lowest as i64), Literal::new);
                self.builder.literal(literal, None)
            }
            Pick::Many { .. } => unreachable!("many positions start nowhere"),
        }
    }

    /// Replaces a window by a value of its sizes.
    fn replace_window(&mut self, x: Value, picks: &[Pick], mut value: Value) -> Result<Value> {
        let backwards = |&i: &usize| matches!(picks[i], Pick::Known { stride: -1, .. });
        let axes: Vec<Axis> = (0..picks.len()).filter(backwards).map(Axis).collect();
        if !axes.is_empty() {
            value = self.builder.node1(Op::Reverse(Reverse { axes }), &[value])?;
        }
        let starts = picks.iter().map(|pick| self.start(pick)).collect();
        let mut operands = vec![x, value];
        operands.extend(self.one_width(starts)?);
        let op = DynamicUpdateSlice { check: Check::Silent };
        self.builder.node1(Op::DynamicUpdateSlice(op), &operands)
    }

    /// Windows and indices of a scatter: contiguous ranges are part of each window, and there is one window
    /// for each combination of other positions.
    fn scattered(&mut self, picks: &[Pick], drops: &[bool]) -> Result<(Windows, Value)> {
        let mut windows = Windows {
            window_axes: vec![],
            dropped: vec![],
            batching: vec![],
            index_batching: vec![],
            index_map: vec![],
            index_vector_axis: Axis(0),
        };
        let (mut vectors, mut sizes, mut stacked) = (vec![], vec![], 0);
        for (i, pick) in picks.iter().enumerate() {
            let many = match *pick {
                Pick::Many { index, .. } => Some(index),
                Pick::Known { start, size, stride } if stride != 1 => {
                    Some(self.strided(start, size, stride)?)
                }
                _ => None,
            };
            windows.index_map.push(Axis(i));
            if many.is_some() || drops[i] {
                windows.dropped.push(Axis(i));
            } else {
                windows.window_axes.push(Axis(stacked));
            }
            if let Some(index) = many {
                vectors.push((index, Some(sizes.len())));
                sizes.push(self.shape(index)[0]);
            } else {
                vectors.push((self.start(pick), None));
            }
            stacked += usize::from(!drops[i]);
        }
        windows.index_vector_axis = Axis(sizes.len());
        let indices = self.combinations(vectors, sizes)?;
        Ok((windows, indices))
    }

    /// Index vectors for all combinations of positions, along a new last axis. Each value gives one element
    /// of each vector; it is 0-d, or 1-d and varies along the axis that is given with it.
    fn combinations(&mut self, values: Vec<(Value, Option<usize>)>, mut sizes: Vec<usize>) -> Result<Value> {
        let axis = Axis(sizes.len());
        sizes.push(1);
        let column = Shape::try_new(sizes)?;
        let along: Vec<Option<usize>> = values.iter().map(|(_, along)| *along).collect();
        let values = self.one_width(values.into_iter().map(|(value, _)| value).collect())?;
        let mut columns = Vec::with_capacity(values.len());
        for (value, along) in values.into_iter().zip(along) {
            let op = BroadcastInDim { shape: column.clone(), axes: along.map(Axis).into_iter().collect() };
            columns.push(self.builder.node1(Op::BroadcastInDim(op), &[value])?);
        }
        match columns.as_slice() {
            [one] => Ok(*one),
            _ => self.builder.node1(Op::Concatenate(Concatenate { axis }), &columns),
        }
    }

    /// Whether one gather at all combinations of positions is cheaper than one gather per axis, in this
    /// order. Computing the position of a combination takes about as long as moving `ELEMENTS` elements.
    fn picks_at_once(&self, x: Value, many: &[(usize, Value)]) -> bool {
        const ELEMENTS: f64 = 12.0;
        let mut sizes: Vec<f64> = self.aval(x).shape.iter().map(|&n| n as f64).collect();
        let (mut between, mut combinations) = (0.0, 1.0);
        for (k, (i, index)) in many.iter().enumerate() {
            sizes[*i] = self.aval(*index).shape[0] as f64;
            combinations *= sizes[*i];
            if k + 1 < many.len() {
                between += sizes.iter().product::<f64>();
            }
        }
        many.len() > 1 && ELEMENTS * combinations < between
    }

    /// One gather at all combinations of positions along some axes, which are in ascending order.
    fn picked(&mut self, x: Value, many: &[(usize, Value)], check: Check) -> Result<Value> {
        let mut slice_sizes = self.shape(x).to_vec();
        many.iter().for_each(|(i, _)| slice_sizes[*i] = 1);
        let axes: Vec<Axis> = many.iter().map(|(i, _)| Axis(*i)).collect();
        let windows = Windows {
            window_axes: (0..slice_sizes.len()).map(Axis).filter(|i| !axes.contains(i)).collect(),
            dropped: axes.clone(),
            batching: vec![],
            index_batching: vec![],
            index_map: axes,
            index_vector_axis: Axis(many.len()),
        };
        let sizes = many.iter().map(|(_, index)| self.shape(*index)[0]).collect();
        let values = many.iter().enumerate().map(|(k, (_, index))| (*index, Some(k))).collect();
        let indices = self.combinations(values, sizes)?;
        let op = Gather { windows, slice_sizes, indices_are_sorted: false, check };
        self.builder.node1(Op::Gather(op), &[x, indices])
    }

    /// Evenly spaced positions, as a 1-d value.
    fn strided(&mut self, start: usize, size: usize, stride: isize) -> Result<Value> {
        let (dtype, shape) = (DType::I32, Shape::try_new(vec![size])?);
        let iota = Iota { axis: Axis(0), to: Ranked::known(dtype), shape, start: 0 };
        let counted = self.builder.node1(Op::Iota(iota), &[])?;
        let scaled = self.with(Binary::mul, counted, Literal::new(stride as i32))?;
        self.with(Binary::add, scaled, Literal::new(start as i32))
    }

    /// Element number `i` of a 1-d value, as a 0-d one.
    ///
    /// # Errors
    /// [`Error::IndexOutOfBounds`] if there is none.
    pub fn nth(&mut self, vector: Value, i: usize) -> Result<Value> {
        let slice = StaticSlice { start: vec![i], limit: vec![i + 1], stride: vec![1] };
        let one = self.builder.node1(Op::StaticSlice(slice), &[vector])?;
        self.reshaped(one, Shape::scalar())
    }

    pub(super) fn reshaped(&mut self, x: Value, shape: Shape) -> Result<Value> {
        if self.aval(x).shape == shape {
            return Ok(x);
        }
        self.builder.node1(Op::Reshape(Reshape { shape, order: Order::Column }), &[x])
    }
}

/// Whether an op checks its positions, of which some may be out of bounds, or none.
fn check(mode: Mode, may_be_outside: bool, site: &Site) -> Check {
    match mode {
        Mode::Error if may_be_outside => Check::Raises(site.clone()),
        _ => Check::Silent,
    }
}

fn pick_from(start: Start, size: usize, stride: isize) -> Pick {
    match start {
        Start::Known(start) => Pick::Known { start, size, stride },
        Start::Given(start) => Pick::Window { start, size, safe: true },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::promote::rules;
    use crate::graph::Operation;
    use crate::tensor::Aval;

    /// Names of the ops that subscripts of a (4,5) become.
    fn ops(subscripts: impl Fn(&mut Builder) -> Vec<Subscript>, value: bool) -> Vec<&'static str> {
        let mut b = Builder::default();
        let x = b.input(Aval::known(DType::F32, [4, 5].into()));
        let subscripts = subscripts(&mut b);
        let one = b.literal(Literal::new(1f32), None);
        let mut applier = Applier::new(&mut b, rules());
        let result = match value {
            true => applier.subset_assign(x, &subscripts, one, Mode::Error),
            false => applier.subset(x, &subscripts, true, Mode::Error),
        };
        let graph = b.finish(result.unwrap());
        graph.nodes().iter().map(|node| node.op.name()).collect()
    }

    #[test]
    fn few_positions_along_several_axes_are_one_gather() {
        let ops = |shape: [usize; 3], picked: [usize; 2]| -> usize {
            let mut b = Builder::default();
            let x = b.input(Aval::known(DType::F32, shape.into()));
            let picked = picked.map(|n| Subscript::Positions(b.input(Aval::known(DType::I32, [n].into()))));
            let result = Applier::new(&mut b, rules()).subset(x, &picked, true, Mode::Error).unwrap();
            let graph = b.finish(result);
            graph.nodes().iter().filter(|node| node.op.name() == "gather").count()
        };
        assert_eq!(ops([100, 100, 10], [5, 5]), 1);
        assert_eq!(ops([4, 5, 1], [2, 2]), 2);
        assert_eq!(ops([100, 100, 1], [90, 90]), 2);
    }

    #[test]
    fn subscripts_become_few_ops() {
        let at = |i| Subscript::At(Start::Known(i));
        let back = |stride| Subscript::Range { start: Start::Known(4), size: 2, stride };
        assert_eq!(ops(|_| vec![], false), [""; 0]);
        assert_eq!(ops(|_| vec![at(1)], false), ["static_slice", "reshape"]);
        assert_eq!(ops(|_| vec![at(1), back(-1)], false), ["static_slice", "reverse", "reshape"]);
        let index = |b: &mut Builder, shape: Shape| {
            let index = b.input(Aval::known(DType::I32, shape));
            Subscript::Dynamic(index)
        };
        assert_eq!(
            ops(|b| vec![Subscript::All, index(b, Shape::scalar())], false),
            ["sub", "dynamic_slice", "reshape"]
        );
        let shift = ["broadcast_in_dim", "sub"];
        assert_eq!(ops(|b| vec![index(b, [3].into())], false), [&shift[..], &["gather"]].concat());
        // Writes at known positions replace a window; those of tensors may be out of bounds, so they are
        // scattered.
        let window = ["broadcast_in_dim", "reshape", "dynamic_update_slice"];
        assert_eq!(ops(|_| vec![at(1)], true), window);
        assert_eq!(ops(|_| vec![at(1), back(-1)], true).last(), Some(&"dynamic_update_slice"));
        assert_eq!(ops(|_| vec![at(1), back(-3)], true).last(), Some(&"scatter"));
        assert_eq!(ops(|b| vec![index(b, Shape::scalar())], true).last(), Some(&"scatter"));
        assert_eq!(ops(|_| vec![Subscript::All], true), ["broadcast_in_dim"]);
    }
}
