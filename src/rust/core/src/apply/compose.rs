//! Short compositions of ops that are called by name: functions that are no op, or are another op for some
//! operands.

use super::applier::{Applier, Composition};
use crate::dtype::{Ranked, ANY, FLOAT, INEXACT};
use crate::error::Result;
use crate::graph::Value;
use crate::ops::attrs::{Attr, Attrs};
use crate::ops::*;
use crate::tensor::{Aval, Literal};

/// All of them, by name.
pub(super) const ALL: &[(&str, Composition)] = &[
    ("abs", |a, operands, attrs| a.magnitude(operands, attrs)),
    ("magnitude", |a, operands, attrs| a.magnitude(operands, attrs)),
    ("real", |a, operands, attrs| a.real(operands, attrs)),
    ("imag", |a, operands, attrs| a.imag(operands, attrs)),
    ("arg", |a, operands, attrs| a.arg(operands, attrs)),
    ("flatten", |a, operands, attrs| a.flatten(operands, attrs)),
    ("quotient", |a, operands, attrs| a.quotient(operands, attrs)),
    ("identity", |a, operands, _| a.identity(operands)),
    ("promote", |a, operands, _| a.promoted_values(operands)),
    ("stored", |a, operands, _| a.stored(operands)),
    ("broadcast", |a, operands, _| a.broadcast_all(operands)),
    ("broadcast_scalars", |a, operands, _| a.broadcast_scalars(operands)),
];

impl Applier<'_> {
    /// The operand, if there is one and it is real.
    fn real_operand(&self, operands: &[Value]) -> Option<Value> {
        match operands {
            &[x] if !self.aval(x).dtype.is_complex() => Some(x),
            _ => None,
        }
    }

    /// The value itself.
    fn identity(&mut self, operands: &[Value]) -> Result<Vec<Value>> {
        arity("nv_identity", operands.len(), 1)?;
        Ok(operands.to_vec())
    }

    /// The values in their common dtype.
    fn promoted_values(&mut self, operands: &[Value]) -> Result<Vec<Value>> {
        let to = self.join(operands)?;
        let values = self.promote(operands, ANY)?;
        // An ambiguous double next to a known one needs no conversion, but is to show the dtype.
        let shows = |a: &Self, v| a.ranked(v).dtype == to.dtype;
        values.into_iter().map(|v| if shows(self, v) { Ok(v) } else { self.cast(v, to) }).collect()
    }

    /// The value as one of the known dtype that it is stored in.
    fn stored(&mut self, operands: &[Value]) -> Result<Vec<Value>> {
        operands.iter().map(|&x| self.cast(x, Ranked::known(self.aval(x).dtype))).collect()
    }

    /// The absolute value, by the op for real or for complex numbers.
    fn magnitude(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        match operands {
            &[x] if self.aval(x).dtype.is_complex() => self.builder.node(Op::Part(Part::magnitude), &[x]),
            _ => self.op(Unary::abs.row().name, operands, attrs),
        }
    }

    /// The real part; a real number is its own.
    fn real(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        match self.real_operand(operands) {
            Some(x) => Ok(vec![x]),
            None => self.op(Part::real.row().name, operands, attrs),
        }
    }

    /// The imaginary part; that of a real number is 0.
    fn imag(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let Some(x) = self.real_operand(operands) else {
            return self.op(Part::imag.row().name, operands, attrs);
        };
        Ok(vec![self.zeros_of(x)?])
    }

    /// 0 in the type of a value.
    pub(super) fn zeros_of(&mut self, x: Value) -> Result<Value> {
        let aval = self.aval(x).clone();
        let zero = self.builder.literal(Literal::new(0i64).convert(aval.dtype), aval.ambiguous);
        self.broadcast(zero, &aval.shape)
    }

    /// The argument; that of a real number is 0 or pi.
    fn arg(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        if self.real_operand(operands).is_none() {
            return self.op(Part::arg.row().name, operands, attrs);
        }
        let x = self.promote(operands, FLOAT)?[0];
        let zero = self.zeros_of(x)?;
        self.builder.node(Op::Binary(Binary::atan2), &[zero, x])
    }

    /// All elements along one axis.
    pub(super) fn flatten(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        arity("nv_flatten", operands.len(), 1)?;
        let size = self.aval(operands[0]).shape.size();
        self.op("reshape", operands, &attrs.clone().with("shape", Attr::Numbers(vec![size as f64])))
    }

    /// All values broadcast to their common shape.
    fn broadcast_all(&mut self, operands: &[Value]) -> Result<Vec<Value>> {
        let shapes = operands.iter().map(|&v| self.shape(v));
        let target = shapes.reduce(|l, r| l.broadcast(&r).unwrap_or(l));
        let Some(mut target) = target else { return Ok(vec![]) };
        for &v in operands {
            target = target.broadcast(&self.aval(v).shape)?;
        }
        operands.iter().map(|&v| self.broadcast(v, &target)).collect()
    }

    /// All values in the shape in which an elementwise op has them.
    fn broadcast_scalars(&mut self, operands: &[Value]) -> Result<Vec<Value>> {
        let mut values = operands.to_vec();
        let avals: Vec<&Aval> = values.iter().map(|&v| self.aval(v)).collect();
        if let Some(to) = common_shape("nv_broadcast_scalars", &avals)? {
            self.recycle(&mut values, &to)?;
        }
        Ok(values)
    }

    /// R's `/`: the quotient of floats or complex numbers, which whole numbers become.
    fn quotient(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let row = Binary::div.row();
        arity(row.function, operands.len(), row.operands.len())?;
        let values = self.promote(operands, INEXACT)?;
        self.op(row.name, &values, attrs)
    }
}
