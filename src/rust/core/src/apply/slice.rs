//! Slices, padding, gather and scatter as the user calls them: dimension numbers and positions count from 1
//! and become what StableHLO wants.

use super::{arity, Applier, Operand};
use crate::dtype::promote::common_dtype;
use crate::dtype::{DType, Ranked};
use crate::error::{Error, Result};
use crate::graph::{Def, Value};
use crate::ops::attrs::{Attr, Attrs};
use crate::ops::*;
use crate::passes::optimise;
use crate::shape::{Axis, Shape};
use crate::tensor::Literal;
use std::sync::Arc;

impl Applier<'_> {
    /// The op of this family that is called so, if there is one.
    pub(super) fn slice(
        &mut self,
        name: &str,
        operands: &[Operand],
        attrs: &Attrs,
    ) -> Result<Option<Vec<Value>>> {
        let function = format!("nv_{name}");
        let of = |x: &Applier, i: usize| x.shape(operands[i].value);
        Ok(Some(match name {
            "static_slice" => {
                arity(&function, operands, 1)?;
                let op = static_slice(attrs, &of(self, 0))?;
                let x = self.materialise(operands[0])?;
                self.builder.node(Op::StaticSlice(op), &[x])?
            }
            "reverse" => {
                arity(&function, operands, 1)?;
                let x = self.materialise(operands[0])?;
                let axes = attrs.axes("axes", &function, &self.shape(x))?.unwrap_or_default();
                self.builder.node(Op::Reverse(Reverse { axes }), &[x])?
            }
            "dynamic_slice" => {
                let [x, starts @ ..] = operands else { return arity(&function, operands, 1).map(|()| None) };
                let mut values = vec![self.materialise(*x)?];
                values.extend(self.starts(starts, &function)?);
                let sizes = attrs.shape("slice_sizes")?.to_vec();
                self.builder.node(Op::DynamicSlice(DynamicSlice { sizes }), &values)?
            }
            "dynamic_update_slice" => {
                let [x, update, starts @ ..] = operands else {
                    return arity(&function, operands, 2).map(|()| None);
                };
                let x = self.materialise(*x)?;
                let mut values = vec![x, self.assigned(*update, x)?];
                values.extend(self.starts(starts, &function)?);
                self.builder.node(Op::DynamicUpdateSlice(DynamicUpdateSlice), &values)?
            }
            "pad" => {
                arity(&function, operands, 2)?;
                let x = self.materialise(operands[0])?;
                let value = self.assigned(operands[1], x)?;
                let (low, high) = (attrs.integers("edge_padding_low")?, attrs.integers("edge_padding_high")?);
                let interior = match attrs.get("interior_padding") {
                    Attr::Null => vec![0; low.len()],
                    _ => whole(attrs, "interior_padding", 0)?,
                };
                self.builder.node(Op::Pad(Pad { low, high, interior }), &[x, value])?
            }
            "gather" => {
                arity(&function, operands, 2)?;
                let names = ["offset_axes", "collapsed_slice_axes", "operand_batching_axes"];
                let windows = windows(attrs, names, ["start_indices_batching_axes", "start_index_map"])?;
                let slice_sizes = attrs.shape("slice_sizes")?.to_vec();
                let op =
                    Gather { windows, slice_sizes, indices_are_sorted: attrs.flag("indices_are_sorted")? };
                let x = self.materialise(operands[0])?;
                let indices = self.positions(operands[1], &function, "start_indices")?;
                self.builder.node(Op::Gather(op), &[x, indices])?
            }
            "scatter" => {
                let update = updates(attrs)?;
                // What a function uses beside its arguments comes after the others, as it is.
                let count = if matches!(update, Update::By(_)) { operands.len().max(3) } else { 3 };
                arity(&function, operands, count)?;
                let names = ["update_window_axes", "inserted_window_axes", "input_batching_axes"];
                let names = (names, ["scatter_indices_batching_axes", "scatter_axes_to_operand_axes"]);
                let op = Scatter {
                    windows: windows(attrs, names.0, names.1)?,
                    update,
                    indices_are_sorted: attrs.flag("indices_are_sorted")?,
                    unique_indices: attrs.flag("unique_indices")?,
                };
                let x = self.materialise(operands[0])?;
                let indices = self.positions(operands[1], &function, "scatter_indices")?;
                let mut values = vec![x, indices, self.assigned(operands[2], x)?];
                values.extend(operands[3..].iter().map(|x| x.value));
                self.builder.node(Op::Scatter(op), &values)?
            }
            _ => return Ok(None),
        }))
    }

    /// Positions that the user counts from 1, in i32 or i64, counted from 0. What is below 1 becomes -1 and
    /// never wraps.
    pub(super) fn positions(&mut self, x: Operand, function: &str, what: &str) -> Result<Value> {
        let dtype = x.ranked.dtype;
        if !dtype.is_integer() {
            let hint = match dtype {
                DType::I1 => {
                    "How many elements a mask selects is not known while tracing: use `nv_ifelse(mask, x, y)`, or an R logical."
                }
                _ => "Convert it with `nv_convert(x, \"i32\")`.",
            };
            let (op, accepts) = (function.into(), "integers as indices".into());
            return Err(Error::UnsupportedDtype {
                op,
                operand: what.into(),
                accepts,
                got: dtype,
                hint: hint.into(),
            });
        }
        let mut value = self.materialise(x)?;
        let wide = dtype.bounds().is_some_and(|(_, high)| high > i128::from(i32::MAX));
        let to = Ranked { dtype: if wide { DType::I64 } else { DType::I32 }, ambiguous: false };
        if dtype == DType::UI64 {
            // Beyond what i64 holds there is no position either.
            let limit = Literal::new(i64::MAX as u64);
            value = self.with(Binary::min, value, limit)?;
        }
        value = self.cast(value, to)?;
        let [zero, one] = [0i64, 1].map(|n| Literal::new(n).convert(to.dtype));
        let value = self.with(Binary::max, value, zero)?;
        self.with(Binary::sub, value, one)
    }

    /// An op on each element and one number of their dtype.
    pub(super) fn with(&mut self, op: Binary, value: Value, number: Literal) -> Result<Value> {
        let number = self.builder.literal(number, false);
        self.with_scalar(op, value, number)
    }

    /// Start indices, one for each dimension, in one dtype.
    fn starts(&mut self, starts: &[Operand], function: &str) -> Result<Vec<Value>> {
        let values =
            starts.iter().enumerate().map(|(i, &x)| self.positions(x, function, &format!("start {}", i + 1)));
        let values = values.collect::<Result<Vec<_>>>()?;
        self.one_width(values)
    }

    /// Positions in i64 if one of them is, else in i32.
    pub(super) fn one_width(&mut self, values: Vec<Value>) -> Result<Vec<Value>> {
        let wide = values.iter().any(|&v| self.aval(v).dtype == DType::I64);
        let to = Ranked { dtype: if wide { DType::I64 } else { DType::I32 }, ambiguous: false };
        values.into_iter().map(|v| self.cast(v, to)).collect()
    }

    /// A value in the dtype of what it becomes a part of, which must not be below its own.
    pub(super) fn assigned(&mut self, value: Operand, x: Value) -> Result<Value> {
        let to = self.aval(x).ranked();
        let target = Ranked { ambiguous: false, ..to };
        match common_dtype(value.ranked, target, self.rules) {
            Ok(common) if common.dtype == to.dtype => self.convert(&[value], 0, to, || {
                format!("a value takes the dtype of what it is assigned to, {}", to.dtype)
            }),
            _ => Err(Error::AssignDtype { value: value.ranked.dtype, to: to.dtype }),
        }
    }

    /// The number that a value is, if it is known while tracing.
    pub(super) fn known(&self, value: Value) -> Option<i64> {
        match self.builder.graph().def(value) {
            Def::Literal(literal) if literal.dtype().is_integer() => Some(literal.get()),
            _ => None,
        }
    }
}

/// Whole numbers of at least `least`.
fn whole(attrs: &Attrs, name: &str, least: i64) -> Result<Vec<usize>> {
    let numbers = attrs.integers(name)?;
    match numbers.iter().find(|&&n| n < least) {
        None => Ok(numbers.into_iter().map(|n| n as usize).collect()),
        Some(n) => Err(Error::arg(name, format!("whole numbers, each at least {least}"), n.to_string())),
    }
}

/// Dimension numbers, which count from 1.
fn dims(attrs: &Attrs, name: &str) -> Result<Vec<Axis>> {
    Ok(whole(attrs, name, 1)?.into_iter().map(|n| Axis(n - 1)).collect())
}

fn windows(
    attrs: &Attrs,
    [window, dropped, batching]: [&str; 3],
    [index_batching, map]: [&str; 2],
) -> Result<Windows> {
    let index_vector_dim = match dims(attrs, "index_vector_axis")?.as_slice() {
        [one] => *one,
        many => return Err(Error::arg("index_vector_axis", "one axis", format!("{} numbers", many.len()))),
    };
    Ok(Windows {
        window_dims: dims(attrs, window)?,
        dropped: dims(attrs, dropped)?,
        batching: dims(attrs, batching)?,
        index_batching: dims(attrs, index_batching)?,
        index_map: dims(attrs, map)?,
        index_vector_dim,
    })
}

/// The update computation of a scatter: a name, or a function; the update itself if nothing is given.
fn updates(attrs: &Attrs) -> Result<Update> {
    let name = "update_computation";
    match attrs.get(name) {
        Attr::Null => Ok(Update::Replace),
        // Simplified, so that a function that is no more than an op is seen to be one.
        Attr::Graph(region) => Ok(Update::from_region(Arc::new(optimise(region)?))),
        _ => match attrs.choice(name, &Update::NAMES) {
            Err(Error::Arg { arg, expected, got, .. }) => {
                Err(Error::arg(arg, format!("a function of two values, NULL, or {expected}"), got))
            }
            choice => choice.map(Update::from_name),
        },
    }
}

fn static_slice(attrs: &Attrs, shape: &Shape) -> Result<StaticSlice> {
    let (start, limit) = (whole(attrs, "start_indices", 1)?, whole(attrs, "limit_indices", 0)?);
    let stride = match attrs.get("strides") {
        Attr::Null => vec![1; shape.rank()],
        _ => whole(attrs, "strides", 1)?,
    };
    // The last position, from 1, is the one after it, from 0.
    Ok(StaticSlice { start: start.into_iter().map(|i| i - 1).collect(), limit, stride })
}
