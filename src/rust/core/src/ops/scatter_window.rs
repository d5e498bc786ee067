//! Scatters of one window.

use super::contract::{simplified, Simplified};
use super::layout::Order;
use super::slice::StaticSlice;
use super::{Builder, DynamicUpdateSlice, Reshape, Scatter, Update};
use crate::error::Result;
use crate::graph::Value;
use crate::shape::{Axis, Shape};
use crate::tensor::Literal;

impl Scatter {
    /// A window that replaces elements, at a position that is checked, as in `x[i] <- y`, is an update of a slice.
    /// One that is not checked is left out where it does not fit, and that of a slice is moved.
    pub(super) fn as_slice(&self, b: &mut Builder, operands: &[Value]) -> Result<Simplified> {
        let (&[input, indices, update], Update::Replace, true) =
            (operands, &self.update, self.check.raises())
        else {
            return Ok(None);
        };
        let rank = b.graph().aval(input).shape.rank();
        let sizes = self.sizes(rank, &b.graph().aval(update).shape);
        let windows = &self.windows;
        let (length, count) = (windows.index_map.len(), b.graph().aval(indices).shape.size());
        let zero = Literal::new(0i64).convert(b.graph().aval(indices).dtype);
        if !windows.batching.is_empty() || length == 0 || count != length || sizes.contains(&0) {
            return Ok(None);
        }
        let reshape = |shape: Shape| Reshape { shape, order: Order::Column };
        let positions = b.node1(reshape(Shape::try_new(vec![length])?), &[indices])?;
        let mut given = vec![input, b.node1(reshape(Shape::try_new(sizes)?), &[update])?];
        for axis in (0..rank).map(Axis) {
            given.push(match windows.index_map.iter().position(|&to| to == axis) {
                Some(i) => {
                    let all = b.graph().aval(positions).shape.clone();
                    let one = b.node1(StaticSlice::along(&all, Axis(0), i..i + 1), &[positions])?;
                    b.node1(reshape(Shape::scalar()), &[one])?
                }
                None => b.literal(zero, None),
            });
        }
        simplified(b.node1(DynamicUpdateSlice { check: self.check.clone() }, &given)?)
    }
}
