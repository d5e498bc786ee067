//! Functions that arrange elements along axes: each a few moves of ops that do that, which are views where
//! they can be.

use super::applier::{Applier, Composition};
use crate::dtype::{DType, Ranked, ANY, INEXACT};
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::ops::attrs::{Attr, Attrs};
use crate::ops::layout::Order;
use crate::ops::*;
use crate::shape::{Axis, Shape};

/// All of them, by name.
pub(super) const ALL: &[(&str, Composition)] = &[
    ("broadcast_to", |a, operands, attrs| a.broadcast_to(operands, attrs)),
    ("squeeze", |a, operands, attrs| a.squeeze(operands, attrs)),
    ("unsqueeze", |a, operands, attrs| a.unsqueeze(operands, attrs)),
    ("stack", |a, operands, attrs| a.stack(operands, attrs)),
    ("split", |a, operands, attrs| a.split_axis(operands, attrs)),
    ("tile", |a, operands, attrs| a.tile(operands, attrs)),
    ("repeat", |a, operands, attrs| a.repeat_elements(operands, attrs)),
    ("roll", |a, operands, attrs| a.roll(operands, attrs)),
    ("meshgrid", |a, operands, attrs| a.meshgrid(operands, attrs)),
    ("one_hot", |a, operands, attrs| a.one_hot(operands, attrs)),
    ("linspace", |a, operands, attrs| a.linspace(operands, attrs)),
];

impl Applier<'_> {
    /// The value of a formula on values.
    pub(super) fn formula<const N: usize>(
        &mut self,
        values: [Value; N],
        make: impl for<'m, 'b> FnOnce([Var<'m, 'b>; N]) -> Var<'m, 'b>,
    ) -> Result<Value> {
        let math = Math::new(self.builder);
        let made = make(values.map(|v| math.var(v))).value();
        math.finish()?;
        Ok(made)
    }

    /// The same elements in another shape, in column-major order.
    pub(super) fn reshape_to(&mut self, x: Value, shape: Shape) -> Result<Value> {
        if *self.aval(x).shape == *shape {
            return Ok(x);
        }
        self.builder.node1(Op::Reshape(Reshape { shape, order: Order::Column }), &[x])
    }

    /// The value broadcast: its axes become these of the result.
    pub(super) fn broadcast_along(&mut self, x: Value, shape: &Shape, axes: Vec<Axis>) -> Result<Value> {
        if self.aval(x).shape == *shape {
            return Ok(x);
        }
        self.builder.node1(Op::BroadcastInDim(BroadcastInDim { shape: shape.clone(), axes }), &[x])
    }

    /// The value broadcast to a shape, its axes aligned with the last ones.
    fn broadcast_to(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        arity("nv_broadcast_to", operands.len(), 1)?;
        Ok(vec![self.broadcast(operands[0], &attrs.shape("shape")?)?])
    }

    /// Axes of size 1 left out: all, or those that are named.
    fn squeeze(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        arity("nv_squeeze", operands.len(), 1)?;
        let shape = self.shape(operands[0]);
        let ones = || (0..shape.rank()).map(Axis).filter(|axis| shape[axis.0] == 1).collect();
        let axes = attrs.axes("axes", "nv_squeeze", &shape)?.unwrap_or_else(ones);
        if let Some(axis) = axes.iter().find(|axis| shape[axis.0] != 1) {
            let got = format!("axis {axis} of shape {shape}, of size {}", shape[axis.0]);
            return Err(Error::arg("axes", "axes of size 1", got));
        }
        let shape = shape.without(&axes);
        Ok(vec![self.reshape_to(operands[0], shape)?])
    }

    /// New axes of size 1, at these places of the result.
    fn unsqueeze(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        arity("nv_unsqueeze", operands.len(), 1)?;
        let mut sizes = self.shape(operands[0]).to_vec();
        let longer = [&sizes[..], &vec![1; attrs.integers("axes")?.len()]].concat();
        let mut axes = attrs.axes("axes", "nv_unsqueeze", &Shape::try_new(longer)?)?.unwrap_or_default();
        axes.sort();
        axes.into_iter().for_each(|axis| sizes.insert(axis.0, 1));
        Ok(vec![self.reshape_to(operands[0], Shape::try_new(sizes)?)?])
    }

    /// Values of one shape along a new axis.
    fn stack(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let mut values = self.promote(operands, ANY)?;
        let with_axes = values.iter().map(|&v| self.shape(v)).find(|shape| shape.rank() > 0);
        let shape = with_axes.unwrap_or_else(Shape::scalar);
        self.repeat(&mut values, &shape)?;
        for &v in &values {
            let other = self.shape(v);
            if other == shape {
                continue;
            }
            let differ = (0..shape.rank()).find(|&i| other.rank() == shape.rank() && other[i] != shape[i]);
            let (what, l, r) = match differ {
                Some(i) => (format!("Sizes of axis {} differ", Axis(i)), shape[i], other[i]),
                None => ("Their numbers of axes differ".into(), shape.rank(), other.rank()),
            };
            return Err(Error::SizeMismatch { op: "nv_stack".into(), lhs: shape, rhs: other, what, l, r });
        }
        let axis = match attrs.axes("axis", "nv_stack", &shape.with_last(1)?)?.as_deref() {
            Some(&[one]) => one,
            _ => return Err(Error::arg("axis", "one axis", "another number of axes")),
        };
        let mut sizes = shape.to_vec();
        sizes.insert(axis.0, 1);
        let shape = Shape::try_new(sizes)?;
        for value in &mut values {
            *value = self.reshape_to(*value, shape.clone())?;
        }
        self.builder.node(Op::Concatenate(Concatenate { axis }), &values)
    }

    /// One axis of a call.
    pub(super) fn one_axis(&self, attrs: &Attrs, function: &str, shape: &Shape) -> Result<Axis> {
        Axis::from_one_based(function, attrs.integer("axis")?, shape)
    }

    /// The parts of a value along an axis: so many equal ones, or of these sizes.
    fn split_axis(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        arity("nv_split", operands.len(), 1)?;
        let shape = self.shape(operands[0]);
        let axis = self.one_axis(attrs, "nv_split", &shape)?;
        let size = shape[axis.0];
        let sizes = match (attrs.get("sections"), attrs.get("sizes")) {
            (Attr::Null, Attr::Null) => return Err(Error::arg("sections", "given, or `sizes`", "left out")),
            (Attr::Null, _) => attrs.whole("sizes", 0)?,
            (_, Attr::Null) => {
                let sections = attrs.integer("sections")?;
                match usize::try_from(sections) {
                    Ok(n) if n > 0 && size % n == 0 && n <= size.max(1) => vec![size / n; n],
                    _ => {
                        let expected = format!("a divisor of {size}, the size of axis {axis}");
                        let hint = "`sizes` gives the size of each part.".into();
                        let (arg, got) = ("sections".into(), sections.to_string());
                        return Err(Error::Arg { arg, expected, got, hint });
                    }
                }
            }
            _ => return Err(Error::arg("sections", "NULL where `sizes` are given", "another one")),
        };
        let total = sizes.iter().try_fold(0usize, |sum, &n| sum.checked_add(n));
        if total != Some(size) {
            let expected = format!("sizes whose sum is {size}, the size of axis {axis}");
            let got = total.map_or_else(|| "more".into(), |sum| format!("sizes whose sum is {sum}"));
            return Err(Error::arg("sizes", expected, got));
        }
        let mut from = 0;
        let mut part = |size: usize| {
            from += size;
            self.formula([operands[0]], |[x]| x.section(axis, from - size, from))
        };
        sizes.into_iter().map(&mut part).collect()
    }

    /// The whole repeated along each axis.
    fn tile(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        arity("nv_tile", operands.len(), 1)?;
        let (shape, times) = (self.shape(operands[0]), attrs.whole("times", 0)?);
        if times.len() != shape.rank() {
            let expected = format!("{} whole numbers, one for each axis", shape.rank());
            let hint = "`nv_unsqueeze()` adds axes to repeat along.".into();
            let got = format!("{} numbers", times.len());
            return Err(Error::Arg { arg: "times".into(), expected, got, hint });
        }
        // An axis comes before its repetitions, which vary more slowly.
        let (mut sizes, mut axes) = (vec![], vec![]);
        for (&size, &times) in shape.iter().zip(&times) {
            axes.push(Axis(sizes.len()));
            sizes.push(size);
            if times != 1 {
                sizes.push(times);
            }
        }
        self.spread_to(operands[0], sizes, axes, shape.iter().zip(&times))
    }

    /// Each element repeated along an axis.
    fn repeat_elements(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        arity("nv_repeat", operands.len(), 1)?;
        let shape = self.shape(operands[0]);
        let axis = self.one_axis(attrs, "nv_repeat", &shape)?;
        let times = match attrs.whole("times", 0)?.as_slice() {
            &[times] => times,
            many => return Err(Error::arg("times", "one whole number", format!("{} numbers", many.len()))),
        };
        let mut sizes = shape.to_vec();
        sizes.insert(axis.0, times);
        let axes = (0..=shape.rank()).filter(|&i| i != axis.0).map(Axis).collect();
        let times: Vec<usize> = (0..shape.rank()).map(|i| if i == axis.0 { times } else { 1 }).collect();
        self.spread_to(operands[0], sizes, axes, shape.iter().zip(&times))
    }

    /// The value broadcast along axes of these sizes, which are then joined to ones of the products.
    fn spread_to<'s>(
        &mut self,
        x: Value,
        sizes: Vec<usize>,
        axes: Vec<Axis>,
        products: impl Iterator<Item = (&'s usize, &'s usize)>,
    ) -> Result<Vec<Value>> {
        let too_large = || Error::TooLarge { shape: "of the repetitions".into() };
        let joined: Option<Vec<usize>> = products.map(|(a, b)| a.checked_mul(*b)).collect();
        let joined = Shape::try_new(joined.ok_or_else(too_large)?)?;
        let spread = self.broadcast_along(x, &Shape::try_new(sizes)?, axes)?;
        Ok(vec![self.reshape_to(spread, joined)?])
    }

    /// Elements moved along axes; those beyond the end come in at the start. Without axes, along all elements
    /// in column-major order.
    fn roll(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        arity("nv_roll", operands.len(), 1)?;
        let (mut x, shape, shifts) = (operands[0], self.shape(operands[0]), attrs.integers("shift")?);
        let axes = attrs.axes("axes", "nv_roll", &shape)?;
        let count = axes.as_ref().map_or(1, Vec::len);
        if shifts.len() != count && shifts.len() != 1 {
            let expected = format!("one whole number, or one for each of {count} axes");
            return Err(Error::arg("shift", expected, format!("{} numbers", shifts.len())));
        }
        let flat = axes.is_none();
        if flat {
            x = self.reshape_to(x, Shape::try_new(vec![shape.size()])?)?;
        }
        for (i, axis) in axes.unwrap_or_else(|| vec![Axis(0)]).into_iter().enumerate() {
            let size = self.aval(x).shape[axis.0];
            let shift = shifts[i.min(shifts.len() - 1)].rem_euclid(size.max(1) as i64) as usize;
            if shift > 0 {
                x = self.formula([x], |[x]| {
                    let [moved, others] =
                        [(size - shift, size), (0, size - shift)].map(|(a, b)| x.section(axis, a, b));
                    moved.beside(&[others], axis)
                })?;
            }
        }
        Ok(vec![if flat { self.reshape_to(x, shape)? } else { x }])
    }

    /// The coordinates of a grid: each vector along its own axis.
    fn meshgrid(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let mut order: Vec<usize> = (0..operands.len()).collect();
        if attrs.choice("indexing", &["ij", "xy"])? == "xy" && order.len() > 1 {
            order.swap(0, 1);
        }
        for (i, &x) in operands.iter().enumerate() {
            let shape = self.shape(x);
            if shape.rank() > 1 {
                let (op, operand) = ("nv_meshgrid".into(), format!("..{}", i + 1));
                let hint = "`nv_flatten()` makes a vector of it.".into();
                return Err(Error::Rank { op, operand, expected: "at most 1 axis".into(), shape, hint });
            }
        }
        let sizes = order.iter().map(|&i| self.aval(operands[i]).shape.size()).collect();
        let grid = Shape::try_new(sizes)?;
        let mut along = |(i, &x): (usize, &Value)| {
            let size = self.aval(x).shape.size();
            let vector = self.reshape_to(x, [size].into())?;
            self.broadcast_along(vector, &grid, vec![Axis(order[i])])
        };
        operands.iter().enumerate().map(&mut along).collect()
    }

    /// 1 at positions along a new axis, 0 elsewhere.
    fn one_hot(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        arity("nv_one_hot", operands.len(), 1)?;
        let classes = attrs.whole("num_classes", 0)?;
        let &[classes] = classes.as_slice() else {
            return Err(Error::arg("num_classes", "one whole number", format!("{} numbers", classes.len())));
        };
        let to = Ranked { dtype: attrs.dtype("dtype")?, ambiguous: attrs.flag("ambiguous")? };
        let at = self.positions(operands[0], "nv_one_hot", "operand", Mode::Error)?;
        let own = self.shape(at);
        let axis = self.one_axis(attrs, "nv_one_hot", &own.with_last(classes)?)?;
        let mut sizes = own.to_vec();
        sizes.insert(axis.0, classes);
        let shape = Shape::try_new(sizes)?;
        let made = self.formula([at], |[at]| {
            let kept: Vec<Axis> = (0..shape.rank()).map(Axis).filter(|&other| other != axis).collect();
            let classes = Iota { axis, to: at.aval().ranked(), shape: shape.clone(), start: 0 };
            at.repeated(&shape, &kept).compare(Compare::eq, at.made(classes))
        })?;
        Ok(vec![self.cast(made, to)?])
    }

    /// Numbers from a first to a last one, evenly spaced along a new last axis. Both ends are exact.
    fn linspace(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        arity("nv_linspace", operands.len(), 2)?;
        let steps = attrs.integer("steps")?;
        let Some(steps) = usize::try_from(steps).ok().filter(|&n| i32::try_from(n).is_ok()) else {
            return Err(Error::arg(
                "steps",
                format!("a whole number from 0 to {}", i32::MAX),
                steps.to_string(),
            ));
        };
        let end = attrs.flag("endpoint")?;
        let values = self.promote(operands, INEXACT)?;
        let own = self.ranked(values[0]);
        let dtype = match attrs.get("dtype") {
            Attr::Null => own.dtype,
            _ => attrs.dtype("dtype")?,
        };
        if !INEXACT.contains(dtype) {
            return Err(Error::arg("dtype", "the dtype of a float or of complex numbers", dtype.to_string()));
        }
        let to = Ranked { dtype, ambiguous: attrs.flag("ambiguous")? };
        // In f64 if the numbers have its digits, or there are more of them than f32 counts.
        let part = if self.aval(values[0]).dtype.part() == DType::F64 || steps > 1 << 24 {
            DType::F64
        } else {
            DType::F32
        };
        let wide = match (own.dtype.is_complex(), part) {
            (true, DType::F64) => DType::C128,
            (true, _) => DType::C64,
            _ => part,
        };
        let shape = self.aval(values[0]).shape.broadcast(&self.aval(values[1]).shape)?;
        let mut ends = [values[0], values[1]];
        for value in &mut ends {
            *value = self.cast(*value, Ranked::known(wide))?;
            *value = self.broadcast(*value, &shape)?;
        }
        let full = shape.with_last(steps)?;
        let gaps = if end { steps.saturating_sub(1) } else { steps };
        let made = self.formula(ends, |ends| {
            let own: Vec<Axis> = (0..shape.rank()).map(Axis).collect();
            let [from, to] = ends.map(|x| x.repeated(&full, &own));
            let iota =
                Iota { axis: Axis(shape.rank()), to: Ranked::known(part), shape: full.clone(), start: 0 };
            let at = ends[0].made(iota) / gaps.max(1) as f64;
            let [rest, at] = [1.0 - at, at].map(|x| x.convert(wide));
            from * rest + to * at
        })?;
        Ok(vec![self.cast(made, to)?])
    }
}
