//! Compositions of transforms and of sums over windows.

use super::applier::{Applier, Composition};
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::ops::attrs::{Attr, Attrs};
use crate::ops::*;
use crate::shape::Axis;

/// All of them, by name.
pub(super) const ALL: &[(&str, Composition)] = &[
    ("fft2", |a, operands, attrs| a.of_two_axes("nv_fft2", "fft", operands, attrs)),
    ("ifft2", |a, operands, attrs| a.of_two_axes("nv_ifft2", "ifft", operands, attrs)),
];

impl Applier<'_> {
    /// A transform along two axes, the last one first.
    fn of_two_axes(
        &mut self,
        function: &str,
        name: &str,
        operands: &[Value],
        attrs: &Attrs,
    ) -> Result<Vec<Value>> {
        arity(function, operands.len(), 1)?;
        let axes = attrs.axes("axes", function, &self.shape(operands[0]))?.unwrap_or_default();
        let [first, last] = axes[..] else {
            return Err(Error::arg("axes", "two axes", attrs.get("axes").describe()));
        };
        let along = |axis: Axis| Attrs::new().with("axis", Attr::Numbers(vec![axis.0 as f64 + 1.0]));
        let made = self.op(name, operands, &along(last))?;
        self.op(name, &made, &along(first))
    }
}
