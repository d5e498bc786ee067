//! Isomorphic folds of segments, and all of them as one scatter.

use super::FEW;
use crate::dtype::{Bool, DType, Ranked};
use crate::error::Result;
use crate::graph::Value;
use crate::kernels::reductions::fold::Fold;
use crate::ops::create::everywhere;
use crate::ops::layout::Order;
use crate::ops::{
    Binary, BroadcastInDim, Builder, Check, Compare, Concatenate, Convert, Gather, Op, Reduction, Reshape,
    Scatter, Ternary, Update, Windows,
};
use crate::passes::flagged;
use crate::shape::{Axis, Shape};
use crate::tensor::Literal;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Isomorphic folds of segments.
pub(super) struct Stage {
    pub(super) of: Value,
    pub(super) axis: Axis,
    pub(super) fold: Fold,
    /// The fold of each segment, by its number, with its mask.
    pub(super) members: BTreeMap<i64, (usize, Value)>,
    pub(super) parts: Parts,
}

/// What is folded.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) list: Vec<Part>,
    pub(super) numbers: FxHashMap<Vec<Value>, Option<usize>>,
}

pub(super) enum Part {
    /// The mask: each element is of its own segment.
    True(Shape),
    /// One value for all segments.
    Same(Value),
    /// A value for each segment, broadcast to this shape along these axes.
    Each(Vec<Value>, BroadcastInDim),
    /// An op on these parts.
    Op(Op, Vec<usize>),
}

impl Stage {
    /// Whether there are many segments, with few numbers between them.
    pub(super) fn is_dense(&self) -> bool {
        let (Some((low, _)), Some((high, _))) =
            (self.members.first_key_value(), self.members.last_key_value())
        else {
            return false;
        };
        self.members.len() >= FEW && (high - low) < 2 * self.members.len() as i64
    }

    pub(super) fn low(&self) -> i64 {
        self.members.first_key_value().map_or(0, |(&low, _)| low)
    }

    /// The segments from the first to the last number.
    fn size(&self) -> usize {
        self.members.last_key_value().map_or(0, |(&high, _)| (high - self.low()) as usize + 1)
    }

    /// The values that it is made of.
    pub(super) fn sources(&self) -> Vec<Value> {
        let mut sources = vec![self.of];
        for part in &self.parts.list {
            match part {
                Part::True(_) | Part::Op(..) => {}
                Part::Same(v) => sources.push(*v),
                Part::Each(values, _) => sources.extend(values),
            }
        }
        sources
    }

    /// The folds of all segments along an axis, given what values have become.
    pub(super) fn make(&self, b: &mut Builder, new: &[Option<Value>]) -> Result<Value> {
        let new = |v: Value| new[v.index()].expect("sources are made before");
        let at = self.places(b, new(self.of))?;
        let mut made: Vec<Value> = vec![];
        for part in &self.parts.list {
            made.push(match part {
                Part::True(shape) => {
                    let yes = b.literal(Literal::new(Bool::TRUE), None);
                    everywhere(b, yes, shape.clone())?
                }
                Part::Same(v) => new(*v),
                Part::Each(values, op) => {
                    let values: Vec<Value> = values.iter().map(|&v| new(v)).collect();
                    self.each(b, &values, op, at)?
                }
                Part::Op(op, operands) => {
                    let operands: Vec<Value> = operands.iter().map(|&i| made[i]).collect();
                    b.node1(op.clone(), &operands)?
                }
            });
        }
        let mut x = *made.last().expect("there is a part");
        let (update, aval) = (self.update(), b.graph().aval(x).clone());
        // Sums of f32 are accurate in f64, as those of segments are.
        let widens = aval.dtype == DType::F32 && update == Binary::add;
        if widens {
            x = b.node1(Convert { to: Ranked::known(DType::F64) }, &[x])?;
        }
        let dtype = b.graph().aval(x).dtype;
        let identity = b.literal(self.identity(dtype), None);
        let mut sizes = aval.shape.to_vec();
        sizes[self.axis.0] = self.size();
        let nothing = everywhere(b, identity, Shape::try_new(sizes)?)?;
        let column =
            Reshape { shape: Shape::try_new(vec![aval.shape[self.axis.0], 1])?, order: Order::Column };
        let column = b.node1(column, &[at])?;
        let x = flagged(b, x, None)?;
        let op = Scatter {
            windows: Windows {
                window_axes: (0..aval.shape.rank()).map(Axis).filter(|&i| i != self.axis).collect(),
                dropped: vec![self.axis],
                batching: vec![],
                index_batching: vec![],
                index_map: vec![self.axis],
                index_vector_axis: Axis(1),
            },
            update: Update::With(update),
            indices_are_sorted: false,
            unique_indices: false,
            check: Check::Silent,
        };
        let all = b.node1(op, &[nothing, column, x])?;
        match widens {
            true => b.node1(Convert { to: Ranked::known(DType::F32) }, &[all]),
            false => Ok(all),
        }
    }

    /// The fold of no elements.
    pub(super) fn identity(&self, dtype: DType) -> Literal {
        Reduction { fold: self.fold, axes: vec![], drop: true }.identity(dtype, true)
    }

    /// What joins two elements.
    fn update(&self) -> Binary {
        match self.fold {
            Fold::Max => Binary::max,
            Fold::Min => Binary::min,
            _ => Binary::add,
        }
    }

    /// The place of the segment of each element, from 0; elements of no segment have none.
    fn places(&self, b: &mut Builder, of: Value) -> Result<Value> {
        let aval = b.graph().aval(of).clone();
        let wide = aval.dtype.bounds().is_some_and(|(_, high)| high > i128::from(i32::MAX));
        let to = if wide { DType::I64 } else { DType::I32 };
        let spread = |b: &mut Builder, number: i64| {
            let number = b.literal(Literal::new(number).convert(to), None);
            everywhere(b, number, aval.shape.clone())
        };
        let whole = b.node1(Convert { to: Ranked::known(to) }, &[of])?;
        let low = spread(b, self.low())?;
        let at = b.node1(Binary::sub, &[whole, low])?;
        if !aval.dtype.is_float() {
            return Ok(at);
        }
        // What is no whole number is in no segment.
        let back = b.node1(Convert { to: aval.ranked() }, &[whole])?;
        let is_whole = b.node1(Compare::eq, &[back, of])?;
        let nowhere = spread(b, -1)?;
        b.node1(Ternary::Select, &[is_whole, at, nowhere])
    }

    /// For each element the value of its segment, broadcast.
    fn each(&self, b: &mut Builder, values: &[Value], op: &BroadcastInDim, at: Value) -> Result<Value> {
        let aval = b.graph().aval(values[0]).clone();
        let one: Vec<usize> = [1].into_iter().chain(aval.shape.iter().copied()).collect();
        let one = Reshape { shape: Shape::try_new(one)?, order: Order::Column };
        let mut of_group: BTreeMap<usize, Value> = BTreeMap::new();
        for (&segment, &v) in self.members.keys().zip(values) {
            let v = flagged(b, v, aval.ambiguous)?;
            of_group.insert((segment - self.low()) as usize, b.node1(one.clone(), &[v])?);
        }
        let other = *of_group.first_key_value().expect("there are segments").1;
        let rows: Vec<Value> = (0..self.size()).map(|i| of_group.get(&i).copied().unwrap_or(other)).collect();
        let all = b.node1(Concatenate { axis: Axis(0) }, &rows)?;
        let gather = Gather::along(Axis(0), &b.graph().aval(all).shape.clone(), Check::Silent);
        let each = b.node1(gather, &[all, at])?;
        let axes = [self.axis].into_iter().chain(op.axes.iter().copied()).collect();
        b.node1(BroadcastInDim { shape: op.shape.clone(), axes }, &[each])
    }
}
