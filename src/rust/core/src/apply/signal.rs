//! Compositions of transforms and of sums over windows.

use super::applier::{entry, Applier, Composition};
use crate::dtype::INEXACT;
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::ops::attrs::{Attr, Attrs};
use crate::ops::*;
use crate::shape::Axis;

/// All of them, by name.
pub(super) const ALL: &[(&str, Composition)] = &[
    ("fft2", |a, operands, attrs| a.of_two_axes("nv_fft2", "fft", operands, attrs)),
    ("ifft2", |a, operands, attrs| a.of_two_axes("nv_ifft2", "ifft", operands, attrs)),
    ("max_pool", |a, operands, attrs| a.pool("nv_max_pool", "max", operands, attrs)),
    ("avg_pool", |a, operands, attrs| a.pool("nv_avg_pool", "sum", operands, attrs)),
];

/// The parameter of windows on spatial axes, for all axes of an operand; `outer` is for the batch and the
/// channels.
fn spatial(attrs: &Attrs, name: &str, axes: usize, outer: f64) -> Result<Attr> {
    let given = match attrs.get(name) {
        Attr::Numbers(given) if given.len() == 1 => vec![given[0]; axes],
        Attr::Numbers(given) if given.len() == axes => given.clone(),
        other => {
            let name = if matches!(name, "low" | "high") { "padding" } else { name };
            let expected = format!("one whole number, or {axes}, one for each spatial axis");
            return Err(Error::arg(name, expected, other.describe()));
        }
    };
    Ok(Attr::Numbers([&[outer], &given[..], &[outer]].concat()))
}

impl Applier<'_> {
    /// A fold of windows on the spatial axes; sums become means of as many elements as are there, or as a
    /// window has.
    fn pool(
        &mut self,
        function: &'static str,
        fold: &str,
        operands: &[Value],
        attrs: &Attrs,
    ) -> Result<Vec<Value>> {
        arity(function, operands.len(), 1)?;
        let mean = fold == "sum";
        let x = if mean { self.promote(operands, INEXACT)?[0] } else { self.counted(operands[0])? };
        let aval = self.aval(x).clone();
        let rank = aval.shape.rank();
        if rank < 3 {
            return Err(Error::Rank {
                op: function.into(),
                operand: "operand".into(),
                expected: "at least 3 axes: a batch, spatial ones, channels".into(),
                shape: aval.shape,
                hint: "`nv_reduce_window()` folds windows of any value.".into(),
            });
        }
        let axes = rank - 2;
        let size = spatial(attrs, "size", axes, 1.0)?;
        let stride = match attrs.get("stride") {
            Attr::Null => size.clone(),
            _ => spatial(attrs, "stride", axes, 1.0)?,
        };
        let mut all = Attrs::new().with("fold", Attr::Text(fold.into())).with("size", size.clone());
        all = all.with("stride", stride).with("dilation", spatial(attrs, "dilation", axes, 1.0)?);
        all = match attrs.get("padding") {
            word @ Attr::Text(_) => all.with("padding", word.clone()),
            _ => {
                let side = |name: &str| spatial(attrs, name, axes, 0.0);
                all.with("low", side("low")?).with("high", side("high")?)
            }
        };
        let entry = entry("reduce_window")?;
        let op = (entry.decode)(entry.row, &all, &[&aval])?;
        let folded = self.builder.node1(op.clone(), &[x])?;
        if !mean {
            return Ok(vec![folded]);
        }
        let whole = attrs.flag("count_padding")?;
        let math = Math::new(self.builder);
        let sum = math.var(folded);
        let count = match size {
            Attr::Numbers(size) if whole => sum.of(size.iter().product()),
            _ => {
                let mut sizes = aval.shape.to_vec();
                (sizes[0], sizes[rank - 1]) = (1, 1);
                let count = math.var(x).filled(1.0, &sizes).apply(op, &[]);
                count.repeated(&sum.aval().shape, &(0..rank).map(Axis).collect::<Vec<_>>())
            }
        };
        let made = (sum / count).value();
        math.finish()?;
        Ok(vec![made])
    }

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
