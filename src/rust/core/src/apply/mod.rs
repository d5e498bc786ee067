//! From a call as the user wrote it to nodes of a graph: the one place where promotion and the broadcasting
//! of scalars become explicit. After it, every stage sees equal dtypes and equal shapes.
//!
//! Eager calls and traced calls go through here alike; whoever calls decides what graph it is.

mod conversion;
mod promote;
mod random;
mod slice;
pub mod subset;

pub use conversion::{Conversion, Loss};
pub use promote::literal_ranked;

use crate::dtype::promote::{common_dtype, why, Rules};
use crate::dtype::{Class, DType, Ranked, FLOAT, INEXACT, ORDERED};
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::kernels::reductions::fold::Fold;
use crate::ops::attrs::Attrs;
use crate::ops::layout::Order;
use crate::ops::*;
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, Literal};
use std::sync::atomic::{AtomicU64, Ordering};

/// A value as an argument of an op.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Operand {
    /// The value.
    pub value: Value,
    /// Its dtype as promotion sees it. That of an R number is ambiguous and may be narrower than the value,
    /// which keeps all digits until it meets the dtype that it is promoted to.
    pub ranked: Ranked,
}

impl Operand {
    /// A value that promotion sees as it is.
    pub fn of(builder: &Builder, value: Value) -> Operand {
        Operand { value, ranked: builder.graph().aval(value).ranked() }
    }
}

/// A graph under construction, and the rules that operands of its ops are promoted by.
pub struct Applier<'a> {
    builder: &'a mut Builder,
    rules: &'static Rules,
    log: Option<Vec<Conversion>>,
}

impl<'a> Applier<'a> {
    /// Ops that go into `builder`.
    pub fn new(builder: &'a mut Builder, rules: &'static Rules) -> Applier<'a> {
        Applier { builder, rules, log: None }
    }

    /// From here on, notes what is converted.
    pub fn noting(self) -> Applier<'a> {
        Applier { log: Some(Vec::new()), ..self }
    }

    /// What was converted since [`noting`](Applier::noting).
    pub fn conversions(self) -> Vec<Conversion> {
        self.log.unwrap_or_default()
    }

    fn aval(&self, value: Value) -> &Aval {
        self.builder.graph().aval(value)
    }

    fn shape(&self, value: Value) -> Shape {
        self.aval(value).shape.clone()
    }

    fn operand(&self, value: Value) -> Operand {
        Operand::of(self.builder, value)
    }

    fn broadcast(&mut self, value: Value, to: &Shape) -> Result<Value> {
        let from = &self.aval(value).shape;
        if from == to {
            return Ok(value);
        }
        let op = BroadcastInDim::align_right(from, to.clone())?;
        self.builder.node1(Op::BroadcastInDim(op), &[value])
    }

    /// Repeats 0-d values to the shape of the others, which must be one.
    fn broadcast_scalars(&mut self, function: &str, values: &mut [Value]) -> Result<()> {
        let mut shapes = values.iter().map(|&v| self.shape(v)).filter(|s| s.rank() > 0);
        let Some(target) = shapes.next() else { return Ok(()) };
        if let Some(other) = shapes.find(|s| *s != target) {
            return Err(Error::ShapeMismatch { op: function.into(), lhs: target, rhs: other });
        }
        for value in values {
            *value = self.broadcast(*value, &target)?;
        }
        Ok(())
    }

    /// Applies the op (or the short composition) called `name` to operands as the user gave them; returns its
    /// results.
    ///
    /// # Errors
    /// Unknown dtypes, dtypes that the op does not take or the rules do not bring together, shapes that do
    /// not fit, parameters out of range: see [`Error`]. The builder may hold unused nodes then.
    pub fn apply(&mut self, name: &str, operands: &[Operand], attrs: &Attrs) -> Result<Vec<Value>> {
        if let Some(result) = self.part(name, operands)? {
            return Ok(vec![result]);
        }
        if let Some(op) = elementwise(name) {
            return self.elementwise(op, operands);
        }
        if let Some(fold) = Fold::from_op(name) {
            arity(&format!("nv_{name}"), operands, 1)?;
            let x = self.counted(operands[0], matches!(fold, Fold::Sum | Fold::Prod))?;
            let shape = self.shape(x);
            let axes = attrs.axes("axes", &format!("nv_{name}"), &shape)?;
            let axes = axes.unwrap_or_else(|| (0..shape.rank()).map(Axis).collect());
            return self
                .builder
                .node(Op::Reduction(Reduction { fold, axes, drop: attrs.flag("drop")? }), &[x]);
        }
        if let Some(results) = self.slice(name, operands, attrs)? {
            return Ok(results);
        }
        match name {
            "mean" => self.mean(operands, attrs),
            "var" => self.var(operands, attrs),
            "complex" => self.complex(operands),
            "fill" => {
                let (value, shape) = (attrs.literal("value")?, attrs.shape("shape")?);
                self.builder.node(Op::Fill(Fill { value, shape, ambiguous: attrs.flag("ambiguous")? }), &[])
            }
            "iota" => {
                let (dtype, shape) = (attrs.dtype("dtype")?, attrs.shape("shape")?);
                let axis = Axis::from_one_based("nv_iota", attrs.integer("axis")?, &shape)?;
                let (start, ambiguous) = (attrs.integer("start")?, attrs.flag("ambiguous")?);
                self.builder.node(Op::Iota(Iota { axis, dtype, shape, start, ambiguous }), &[])
            }
            "promote" => self.promote(operands, None),
            "broadcast_scalars" => {
                let mut values = self.each(operands)?;
                self.broadcast_scalars("nv_broadcast_scalars", &mut values)?;
                Ok(values)
            }
            "broadcast" => {
                let values = self.each(operands)?;
                let shapes = values.iter().map(|&v| self.shape(v));
                let target = shapes.reduce(|l, r| l.broadcast(&r).unwrap_or(l));
                let Some(mut target) = target else { return Ok(vec![]) };
                for &v in &values {
                    target = target.broadcast(&self.aval(v).shape)?;
                }
                values.into_iter().map(|v| self.broadcast(v, &target)).collect()
            }
            "concatenate" => self.concatenate(operands, attrs),
            "matmul" | "dot_general" => self.product(name, operands, attrs),
            _ => match self.random(name, operands, attrs)? {
                Some(results) => Ok(results),
                None => self.one_operand(name, operands, attrs).map(|v| vec![v]),
            },
        }
    }

    fn elementwise(&mut self, op: Op, operands: &[Operand]) -> Result<Vec<Value>> {
        let row = op.row();
        arity(row.function, operands, row.operands.len())?;
        let mut values = match op {
            // The condition keeps its dtype; what is chosen from has one.
            Op::Ternary(Ternary::Select) => {
                let mut values = vec![self.materialise(operands[0])?];
                values.extend(self.promote(&operands[1..], None)?);
                values
            }
            // The bounds follow the operand, if the rules bring them together at all.
            Op::Ternary(Ternary::Clamp) => {
                let to = operands[1].ranked;
                for bound in [operands[0], operands[2]] {
                    common_dtype(to, bound.ranked, self.rules)?;
                }
                self.convert_all(operands, to, || "bounds follow the operand".into())?
            }
            Op::Predicate(_) => vec![self.materialise(operands[0])?],
            _ => self.promote(operands, Some(row.accepts))?,
        };
        self.broadcast_scalars(row.function, &mut values)?;
        self.builder.node(op, &values)
    }

    /// Ops of one operand with static parameters.
    fn one_operand(&mut self, name: &str, operands: &[Operand], attrs: &Attrs) -> Result<Value> {
        arity(&format!("nv_{name}"), operands, 1)?;
        if name == "convert" {
            // The operand is taken as stored, so that an R number keeps its digits.
            let to = Ranked { dtype: attrs.dtype("dtype")?, ambiguous: attrs.flag("ambiguous")? };
            return self.cast(operands[0].value, to);
        }
        let x = self.materialise(operands[0])?;
        let shape = self.shape(x);
        let op = match name {
            "identity" => return Ok(x),
            "print" => {
                static CALLS: AtomicU64 = AtomicU64::new(0);
                let number = CALLS.fetch_add(1, Ordering::Relaxed);
                Op::Print(Print { label: attrs.text("label")?, ambiguous: self.aval(x).ambiguous, number })
            }
            "bitcast_convert" => Op::BitcastConvert(BitcastConvert { dtype: attrs.dtype("dtype")? }),
            "reshape" => {
                let order = attrs.choice("order", &["row", "column"])?;
                let order = if order == "row" { Order::Row } else { Order::Column };
                let target = attrs.shape("shape")?;
                if target == shape {
                    return Ok(x);
                }
                Op::Reshape(Reshape { shape: target, order })
            }
            "transpose" => {
                let all = (0..shape.rank()).rev().map(Axis).collect();
                let permutation = attrs.axes("permutation", "nv_transpose", &shape)?.unwrap_or(all);
                if permutation.iter().enumerate().all(|(i, a)| a.0 == i) && permutation.len() == shape.rank()
                {
                    return Ok(x);
                }
                Op::Transpose(Transpose { permutation })
            }
            "broadcast_in_dim" => return self.broadcast(x, &attrs.shape("shape")?),
            _ => return Err(Error::Internal { detail: format!("there is no op called {name}") }),
        };
        self.builder.node1(op, &[x])
    }

    /// Parts of numbers: of real ones by other ops, and the absolute value of complex ones.
    fn part(&mut self, name: &str, operands: &[Operand]) -> Result<Option<Value>> {
        let &[x] = operands else { return Ok(None) };
        let complex = x.ranked.dtype.is_complex();
        match (name, complex) {
            ("abs" | "magnitude", true) => {
                let x = self.materialise(x)?;
                self.builder.node1(Op::Part(Part::magnitude), &[x]).map(Some)
            }
            ("real", false) => self.materialise(x).map(Some),
            ("imag", false) => {
                let x = self.materialise(x)?;
                let aval = self.aval(x).clone();
                let zero = self.builder.literal(Literal::new(0i64).convert(aval.dtype), aval.ambiguous);
                self.broadcast(zero, &aval.shape).map(Some)
            }
            ("magnitude", false) => Ok(Some(self.apply("abs", operands, &Attrs::new())?[0])),
            ("arg", false) => {
                let x = self.promote(operands, Some(FLOAT))?[0];
                let zero = self.apply("imag", &[self.operand(x)], &Attrs::new())?[0];
                self.builder.node1(Op::Binary(Binary::atan2), &[zero, x]).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Complex numbers from their parts, which are f32 or f64.
    fn complex(&mut self, operands: &[Operand]) -> Result<Vec<Value>> {
        arity("nv_complex", operands, 2)?;
        let mut common = self.join(operands)?;
        if common.dtype.is_integer() || common.dtype == DType::I1 {
            common = common_dtype(common, literal_ranked(DType::F64), self.rules)?;
        }
        if common.dtype.is_float() && common.dtype.bits() < 32 {
            common.dtype = DType::F32;
        }
        let rule = || format!("parts of complex numbers are f32 or f64: {common}");
        let mut parts = self.convert_all(operands, common, rule)?;
        self.broadcast_scalars("nv_complex", &mut parts)?;
        self.builder.node(Op::Complex(MakeComplex), &parts)
    }

    /// The sum over the number of elements, in floats.
    fn mean(&mut self, operands: &[Operand], attrs: &Attrs) -> Result<Vec<Value>> {
        // Over no elements, 0 / 0 is NaN as it should be.
        self.per_element("reduce_sum", INEXACT, operands, attrs, |count| count)
    }

    /// The sum of the squared deviations from the mean over the number of elements less the correction, in
    /// floats.
    fn var(&mut self, operands: &[Operand], attrs: &Attrs) -> Result<Vec<Value>> {
        let correction = attrs.size("correction")?;
        let got = self.join(operands)?.dtype;
        if got.is_complex() {
            return Err(Error::UnsupportedDtype {
                op: "nv_var".into(),
                operand: "operand".into(),
                accepts: ORDERED.name.into(),
                got,
                hint: "Take `nv_real()`, `nv_imag()` or `nv_abs()` first.".into(),
            });
        }
        let left = |count: f64| if count > correction { count - correction } else { f64::NAN };
        self.per_element("reduce_squares", FLOAT, operands, attrs, left)
    }

    /// A reduction, divided by what is made of the number of elements.
    fn per_element(
        &mut self,
        name: &str,
        accepts: Class,
        operands: &[Operand],
        attrs: &Attrs,
        divisor: impl Fn(f64) -> f64,
    ) -> Result<Vec<Value>> {
        let x = self.promote(operands, Some(accepts))?[0];
        // Neither sum nor number of elements need fit 16 bits: f32 up to the result.
        let own = self.aval(x).ranked();
        let wide = if own.dtype.is_float() && own.dtype.bits() == 16 { DType::F32 } else { own.dtype };
        let x = self.cast(x, Ranked { dtype: wide, ..own })?;
        let sum = self.apply(name, &[self.operand(x)], attrs)?[0];
        let size = |v: Value| self.aval(v).shape.size();
        // Without results there is nothing to divide.
        let count = size(x).checked_div(size(sum)).unwrap_or(0);
        let aval = self.aval(sum).clone();
        let count =
            self.builder.literal(Literal::new(divisor(count as f64)).convert(aval.dtype), aval.ambiguous);
        let count = self.broadcast(count, &aval.shape)?;
        let mean = self.builder.node1(Op::Binary(Binary::div), &[sum, count])?;
        Ok(vec![self.cast(mean, own)?])
    }

    /// Products and sums over shared dimensions; booleans count as i32.
    fn product(&mut self, name: &str, operands: &[Operand], attrs: &Attrs) -> Result<Vec<Value>> {
        arity(&format!("nv_{name}"), operands, 2)?;
        let rules = self.rules;
        let mut common = self.join(operands)?;
        let ranked = [operands[0].ranked, operands[1].ranked];
        let values = if common.dtype == DType::I1 {
            common.dtype = DType::I32;
            self.convert_all(operands, common, || COUNTED.into())?
        } else {
            self.convert_all(operands, common, || why(&ranked, common, rules))?
        };
        let (lhs, rhs) = (&self.aval(values[0]).shape, &self.aval(values[1]).shape);
        let op = if name == "matmul" {
            DotGeneral::matmul(lhs, rhs)?
        } else {
            let pair = |name| attrs.axes_pair(name, "nv_dot_general", [lhs, rhs]);
            DotGeneral { contracting: pair("contracting_axes")?, batching: pair("batching_axes")? }
        };
        self.builder.node(Op::DotGeneral(op), &values)
    }

    /// Joins along a dimension; 0-d operands become size 1 along it, repeated over the others.
    fn concatenate(&mut self, operands: &[Operand], attrs: &Attrs) -> Result<Vec<Value>> {
        let values = self.promote(operands, None)?;
        let shapes: Vec<Shape> = values.iter().map(|&v| self.shape(v)).collect();
        let model = shapes.iter().find(|s| s.rank() > 0).cloned().unwrap_or_else(|| [1].into());
        let axis = match attrs.axes("axis", "nv_concatenate", &model)? {
            Some(axes) if axes.len() == 1 => axes[0],
            None if model.rank() == 1 => Axis(0),
            _ => {
                let got = format!("a shape of {} axes", model.rank());
                return Err(Error::Arg {
                    arg: "axis".into(),
                    expected: "one axis".into(),
                    got,
                    hint: "It may be left out only for operands of at most one axis.".into(),
                });
            }
        };
        let mut slice = model.to_vec();
        slice[axis.0] = 1;
        let slice = Shape::try_new(slice)?;
        let mut joined = Vec::with_capacity(values.len());
        for (value, shape) in values.into_iter().zip(shapes) {
            joined.push(if shape.rank() == 0 { self.broadcast(value, &slice)? } else { value });
        }
        if joined.len() == 1 {
            return Ok(joined);
        }
        self.builder.node(Op::Concatenate(Concatenate { axis }), &joined)
    }

    /// An operand of a sum or product: booleans count as i32, which is no guess even if they are ambiguous.
    fn counted(&mut self, x: Operand, counts: bool) -> Result<Value> {
        if counts && x.ranked.dtype == DType::I1 {
            let to = Ranked { dtype: DType::I32, ambiguous: false };
            return self.convert(&[x], 0, to, || COUNTED.into());
        }
        self.materialise(x)
    }
}

/// Why booleans become integers.
const COUNTED: &str = "booleans are counted in i32";

fn arity(function: &str, operands: &[Operand], expected: usize) -> Result<()> {
    if operands.len() == expected {
        return Ok(());
    }
    // R's functions have as many formals: more come only from a list in the place of one.
    Err(Error::Arg {
        arg: "operand".into(),
        expected: "a tensor, or an R number, logical or array".into(),
        got: "a list".into(),
        hint: format!("`{function}()` takes {expected} operand{}.", if expected == 1 { "" } else { "s" }),
    })
}

fn elementwise(name: &str) -> Option<Op> {
    fn find<T: Copy>(all: &[T], row: fn(T) -> &'static Row, name: &str) -> Option<T> {
        all.iter().copied().find(|&op| row(op).name == name)
    }
    find(Unary::ALL, Unary::row, name)
        .map(Op::Unary)
        .or_else(|| find(Binary::ALL, Binary::row, name).map(Op::Binary))
        .or_else(|| find(Compare::ALL, Compare::row, name).map(Op::Compare))
        .or_else(|| find(Predicate::ALL, Predicate::row, name).map(Op::Predicate))
        .or_else(|| find(Part::ALL, Part::row, name).map(Op::Part))
        .or_else(|| find(Ternary::ALL, Ternary::row, name).map(Op::Ternary))
}
