//! Reads and writes at positions that a program computes: what becomes of those out of range.
//!
//! The ops move what does not fit when they read, and scatters leave it out; either way they can raise an
//! error. Here the other modes are made of that: a read that leaves out, a scatter that moves.

use super::applier::{entry, Applier, Composition};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::ops::attrs::{Attr, Attrs};
use crate::ops::gather::GATHER_NAMES;
use crate::ops::scatter::SCATTER_NAMES;
use crate::ops::*;
use crate::shape::{Axis, Shape};
use crate::tensor::Aval;

/// All of them, by name.
pub(super) const ALL: &[(&str, Composition)] = &[
    ("gather", |a, operands, attrs| a.gather(operands, attrs)),
    ("scatter", |a, operands, attrs| a.scatter(operands, attrs)),
    ("dynamic_slice", |a, operands, attrs| a.dynamic_slice(operands, attrs)),
    ("dynamic_update_slice", |a, operands, attrs| a.dynamic_update_slice(operands, attrs)),
    ("take", |a, operands, attrs| a.take(operands, attrs)),
    ("put", |a, operands, attrs| a.put(operands, attrs)),
];

/// Whether the op called `name` reads or writes at positions among its operands.
pub fn applies_at_positions(name: &str) -> bool {
    ALL.iter().any(|(other, _)| *other == name)
}

/// What is read where nothing is, as in JAX: NaN, the smallest number of a signed and the largest of an
/// unsigned dtype, `TRUE`. R shows the smallest i32 as `NA`.
fn nothing<'m, 'b>(math: &'m Math<'b>, aval: &Aval) -> Var<'m, 'b> {
    let number = match aval.dtype.bounds() {
        _ if aval.dtype == DType::I1 => 1.0,
        Some((0, high)) => high as f64,
        Some((low, _)) => low as f64,
        None => f64::NAN,
    };
    math.fill(number, aval)
}

/// Whether 0-d starts are such that a window of these sizes fits.
fn starts_fit<'m, 'b>(starts: &[Var<'m, 'b>], shape: &[usize], window: &[usize]) -> Option<Var<'m, 'b>> {
    let last = shape.iter().zip(window).map(|(&size, &window)| (size - window) as i64);
    let fit = starts.iter().zip(last).map(|(&start, last)| {
        let low = start.compare(Compare::ge, start.of(0.0));
        low.binary(Binary::and, start.compare(Compare::le, start.integer(last)))
    });
    fit.reduce(|a, b| a.binary(Binary::and, b))
}

impl Applier<'_> {
    /// The op of a call, its operands, and what it does with positions out of range.
    fn indexed(&mut self, name: &str, operands: &[Value], attrs: &Attrs) -> Result<(Op, Vec<Value>, Mode)> {
        let (entry, mode) = (entry(name)?, Mode::decode(attrs)?);
        let values = self.promoted(entry, operands, mode)?;
        let attrs = self.simplified(attrs)?.into_owned().at(self.site.clone());
        let avals: Vec<&Aval> = values.iter().map(|&v| self.aval(v)).collect();
        let op = (entry.decode)(entry.row, &attrs, &avals)?;
        op.infer(&avals)?;
        Ok((op, values, mode))
    }

    fn gather(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let (op, values, mode) = self.indexed("gather", operands, attrs)?;
        let made = self.builder.node1(op.clone(), &values)?;
        let (Some(op), Mode::Drop) = (op.get::<Gather>(), mode) else { return Ok(vec![made]) };
        let math = Math::new(self.builder);
        let [x, indices, made] = [values[0], values[1], made].map(|v| math.var(v));
        let aval = made.aval();
        let batches = (0..aval.shape.rank()).map(Axis).filter(|axis| !op.windows.window_axes.contains(axis));
        let fits = fitted(indices, &op.windows, &x.aval().shape, &op.slice_sizes).fits;
        let fits = fits.repeated(&aval.shape, &batches.collect::<Vec<_>>());
        let out = fits.select(made, nothing(&math, &aval)).value();
        math.finish()?;
        Ok(vec![out])
    }

    pub(super) fn scatter(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let (op, mut values, mode) = self.indexed("scatter", operands, attrs)?;
        let [shape, stack] = [values[0], values[2]].map(|v| self.shape(v));
        if let (Some(op), Mode::Clip, true) = (op.get::<Scatter>(), mode, shape.size() * stack.size() > 0) {
            let math = Math::new(self.builder);
            let sizes = op.sizes(shape.rank(), &stack);
            values[1] = fitted(math.var(values[1]), &op.windows, &shape, &sizes).clamped.value();
            math.finish()?;
        }
        self.builder.node(op, &values)
    }

    fn dynamic_slice(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let (op, values, mode) = self.indexed("dynamic_slice", operands, attrs)?;
        let made = self.builder.node1(op.clone(), &values)?;
        let (Some(op), Mode::Drop) = (op.get::<DynamicSlice>(), mode) else { return Ok(vec![made]) };
        let shape = self.shape(values[0]);
        self.where_it_fits(&values[1..], &shape, &op.sizes, made, None)
    }

    fn dynamic_update_slice(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let (op, values, mode) = self.indexed("dynamic_update_slice", operands, attrs)?;
        let made = self.builder.node1(op, &values)?;
        if mode != Mode::Drop {
            return Ok(vec![made]);
        }
        let [shape, window] = [values[0], values[1]].map(|v| self.shape(v));
        self.where_it_fits(&values[2..], &shape, &window, made, Some(values[0]))
    }

    /// The operand, flat without an axis, and the axis that positions are along.
    fn axis_or_flat(&mut self, function: &str, x: Value, attrs: &Attrs) -> Result<(Value, Axis)> {
        let shape = self.shape(x);
        if *attrs.get("axis") != Attr::Null {
            return Ok((x, self.one_axis(attrs, function, &shape)?));
        }
        Ok((self.reshape_to(x, Shape::try_new(vec![shape.size()])?)?, Axis(0)))
    }

    /// The parameters of a gather or a scatter of whole slices at positions along an axis: slices lie along
    /// the axes of the indices, in the place of that axis.
    fn at_positions(&self, x: Value, axis: Axis, indices: Value, names: [&str; 5], attrs: &Attrs) -> Attrs {
        let [rank, more] = [x, indices].map(|v| self.aval(v).shape.rank());
        let slices = (0..rank - 1).map(|i| if i < axis.0 { i } else { i + more });
        let numbers = |all: Vec<usize>| Attr::Numbers(all.into_iter().map(|n| n as f64 + 1.0).collect());
        let values = [slices.collect(), vec![axis.0], vec![], vec![], vec![axis.0]];
        let all = names.into_iter().zip(values);
        let made = all.fold(Attrs::new(), |made, (name, axes)| made.with(name, numbers(axes)));
        made.with("index_vector_axis", numbers(vec![more]))
            .with("indices_are_sorted", Attr::Logical(false))
            .with("mode", attrs.get("mode").clone())
    }

    /// Slices at positions along an axis, or elements.
    fn take(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        arity("nv_take", operands.len(), 2)?;
        let (x, axis) = self.axis_or_flat("nv_take", operands[0], attrs)?;
        let shape = self.shape(x);
        if shape[axis.0] == 0 && self.aval(operands[1]).shape.size() == 0 {
            // No window fits an empty axis, and none is asked for.
            let sizes = [&shape[..axis.0], &self.aval(operands[1]).shape, &shape[axis.0 + 1..]].concat();
            return Ok(vec![self.formula([x], |[x]| x.filled(0.0, &sizes))?]);
        }
        let mut sizes: Vec<f64> = shape.iter().map(|&n| n as f64).collect();
        sizes[axis.0] = 1.0;
        let gather = self.at_positions(x, axis, operands[1], GATHER_NAMES, attrs);
        self.gather(&[x, operands[1]], &gather.with("slice_sizes", Attr::Numbers(sizes)))
    }

    /// The operand with other slices at positions along an axis, or other elements.
    fn put(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        arity("nv_put", operands.len(), 3)?;
        let shape = self.shape(operands[0]);
        let (x, axis) = self.axis_or_flat("nv_put", operands[0], attrs)?;
        let mut slices = self.aval(x).shape.to_vec();
        slices.splice(axis.0..=axis.0, self.aval(operands[1]).shape.iter().copied());
        let (slices, mut value) = (Shape::try_new(slices)?, operands[2]);
        if self.aval(value).shape.rank() == 0 {
            value = self.broadcast(value, &slices)?;
        }
        let got = self.shape(value);
        if got != slices {
            return Err(Error::AssignShape { value: got, subset: slices });
        }
        let scatter = self
            .at_positions(x, axis, operands[1], SCATTER_NAMES, attrs)
            .with("unique_indices", Attr::Logical(false))
            .with("update_computation", attrs.get("update_computation").clone());
        let made = self.scatter(&[x, operands[1], value], &scatter)?;
        Ok(vec![self.reshape_to(made[0], shape)?])
    }

    /// `made` if a window with these starts fits, else another value, or nothing.
    fn where_it_fits(
        &mut self,
        starts: &[Value],
        shape: &[usize],
        window: &[usize],
        made: Value,
        other: Option<Value>,
    ) -> Result<Vec<Value>> {
        let math = Math::new(self.builder);
        let starts: Vec<Var> = starts.iter().map(|&v| math.var(v)).collect();
        let made = math.var(made);
        let aval = made.aval();
        let other = other.map_or_else(|| nothing(&math, &aval), |other| math.var(other));
        let out = match starts_fit(&starts, shape, window) {
            Some(fits) => fits.repeated(&aval.shape, &[]).select(made, other),
            None => made,
        };
        let out = out.value();
        math.finish()?;
        Ok(vec![out])
    }

    /// What was read at positions along an axis, with nothing where one is not below `size`; a position that
    /// is 0-d is that of all elements.
    pub(super) fn left_out(
        &mut self,
        made: Value,
        positions: Value,
        axis: Axis,
        size: usize,
    ) -> Result<Value> {
        let math = Math::new(self.builder);
        let (made, positions) = (math.var(made), math.var(positions));
        let (aval, shape) = (made.aval(), positions.aval().shape);
        let low = positions.compare(Compare::ge, positions.of(0.0));
        let high = positions.compare(Compare::lt, positions.integer(size as i64));
        let along = if shape.rank() == 0 { vec![] } else { vec![axis] };
        let fits = low.binary(Binary::and, high).repeated(&aval.shape, &along);
        let out = fits.select(made, nothing(&math, &aval)).value();
        math.finish()?;
        Ok(out)
    }
}
