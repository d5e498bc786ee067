//! `x[mask] <- value` for masks that a program computes: how many elements they select is not known, so one number is
//! assigned, by a select.

use super::applier::Applier;
use super::selection::wrong;
use super::subset::Subscript;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::ops::*;
use crate::shape::{Axis, Shape};

impl Applier<'_> {
    /// `x` with one value where a mask of its shape holds; of one element, whatever axes that has.
    ///
    /// # Errors
    /// [`Error::Arg`] for several values.
    pub(super) fn assign_where(&mut self, x: Value, mask: Value, value: Value) -> Result<Vec<Value>> {
        if self.aval(value).shape.size() != 1 {
            return Err(Error::Arg {
                arg: "value".into(),
                expected: "one value, or what the same mask selects, as in `x[mask] <- y[mask]`".into(),
                got: format!("of shape {}", self.shape(value)),
                hint: "How many elements a mask selects is not known while tracing: `nv_ifelse(mask, value, x)` takes values of its shape.".into(),
            });
        }
        let (number, shape, to) = (self.reshaped(value, Shape::scalar())?, self.shape(x), self.ranked(x));
        let value = self.broadcast(number, &shape)?;
        let (value, mask) = (self.cast(value, to)?, self.reshaped(mask, shape)?);
        Ok(vec![self.builder.node1(Op::Ternary(Ternary::Select), &[mask, value, x])?])
    }

    /// `x` with one value where masks along axes hold, and other subscripts select, as in `x[mask, 2] <- 0`; `None` if
    /// no subscript is a mask.
    ///
    /// # Errors
    /// [`Error::Subscript`] for a mask of another length than its axis. As
    /// [`assign_where`](Applier::assign_where) and [`subset_assign`](Applier::subset_assign).
    pub(super) fn assign_along_masks(
        &mut self,
        x: Value,
        subscripts: &[Subscript],
        value: Value,
        mode: Mode,
    ) -> Result<Option<Vec<Value>>> {
        let shape = self.shape(x);
        let (mut others, mut masks) = (vec![], vec![]);
        for (i, &subscript) in subscripts.iter().enumerate() {
            let mask = match subscript {
                Subscript::Dynamic(v) if self.aval(v).dtype == DType::I1 && self.shape(v).rank() == 1 => {
                    Some(v)
                }
                _ => None,
            };
            if let (Some(mask), Some(&size)) = (mask, shape.get(i)) {
                let length = self.shape(mask)[0];
                if length != size {
                    let expected = format!("a mask of length {size}");
                    return wrong(Axis(i), &expected, format!("one of length {length}"), "");
                }
            }
            others.push(mask.map_or(subscript, |_| Subscript::All));
            masks.extend(mask.map(|mask| (Axis(i), mask)));
        }
        let Some((first, rest)) = masks.split_first() else { return Ok(None) };
        let part = self.subset(x, &others, false, mode)?[0];
        let sizes = self.shape(part);
        let mut all = self.repeated_along(first.1, first.0, &sizes)?;
        for &(axis, mask) in rest {
            let mask = self.repeated_along(mask, axis, &sizes)?;
            all = self.builder.node1(Op::Binary(Binary::and), &[all, mask])?;
        }
        let new = self.assign_where(part, all, value)?;
        if others.iter().all(|other| *other == Subscript::All) {
            return Ok(Some(new));
        }
        let is_one = |other: &Subscript| match other {
            Subscript::At(_) => true,
            Subscript::Dynamic(v) => self.aval(*v).shape.rank() == 0,
            _ => false,
        };
        let dropped: Vec<Axis> = (0..others.len()).filter(|&i| is_one(&others[i])).map(Axis).collect();
        let new = self.reshaped(new[0], sizes.without(&dropped))?;
        self.subset_assign(x, &others, new, mode).map(Some)
    }

    /// A vector along an axis of a shape.
    fn repeated_along(&mut self, vector: Value, axis: Axis, shape: &Shape) -> Result<Value> {
        self.builder.node1(BroadcastInDim { shape: shape.clone(), axes: vec![axis] }, &[vector])
    }
}
