//! Subscripts that select among all elements of a tensor in column-major order, as R's single subscript of an array
//! does.

use super::applier::Applier;
use super::subset::Subscript;
use crate::error::Result;
use crate::graph::Value;
use crate::ops::Mode;
use crate::shape::Shape;

impl Applier<'_> {
    /// As [`subset`](Applier::subset), of all elements in column-major order.
    ///
    /// # Errors
    /// As [`subset`](Applier::subset).
    pub fn elements(
        &mut self,
        x: Value,
        subscripts: &[Subscript],
        drop: bool,
        mode: Mode,
    ) -> Result<Vec<Value>> {
        let flat = self.flat(x)?;
        self.subset(flat, subscripts, drop, mode)
    }

    /// As [`subset_assign`](Applier::subset_assign), of all elements in column-major order; so are those of the
    /// value.
    ///
    /// # Errors
    /// As [`subset_assign`](Applier::subset_assign).
    pub fn elements_assign(
        &mut self,
        x: Value,
        subscripts: &[Subscript],
        value: Value,
        mode: Mode,
    ) -> Result<Vec<Value>> {
        let shape = self.shape(x);
        let flat = self.flat(x)?;
        let value = if self.aval(value).shape.rank() > 1 { self.flat(value)? } else { value };
        let out = self.subset_assign(flat, subscripts, value, mode)?;
        Ok(vec![self.reshaped(out[0], shape)?])
    }

    fn flat(&mut self, x: Value) -> Result<Value> {
        let size = self.aval(x).shape.size();
        self.reshaped(x, Shape::try_new(vec![size])?)
    }
}
