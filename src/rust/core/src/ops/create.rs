//! Ops without operands: one value everywhere, and counting.

use super::attrs::{logical, vector, Attrs};
use super::contract::{simplified, Form, OpDef, Promotion, Simplified, Source, Strip};
use super::lower::{op_if, Formula, HloOp, Lowering, Syntax};
use super::rules::Vjp;
use super::{written, BroadcastInDim, Builder, Graph, Op, Row};
use crate::dtype::{dispatch, DType, Ranked, ANY, NUMERIC};
use crate::error::{Error, Result};
use crate::graph::syntax::Parsed;
use crate::graph::{Def, Value};
use crate::kernels::cast;
use crate::kernels::memory::AlignedBytes;
use crate::shape::{Axis, Shape};
use crate::stop;
use crate::tensor::{Aval, Layout, Literal, View, ViewMut};

/// One value everywhere.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fill {
    /// The value; its dtype is that which the result is stored in.
    pub value: Literal,
    /// Shape of the result.
    pub shape: Shape,
    /// The default dtype of an ambiguous result, see [`Aval::ambiguous`].
    pub ambiguous: Option<DType>,
}

static FILL: Row = Row { ulps: 0.5, ..written("fill", "nv_fill", &[], ANY) };

impl OpDef for Fill {
    fn row(&self) -> &'static Row {
        &FILL
    }

    fn rows() -> Vec<&'static Row> {
        vec![&FILL]
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![
            ("value", self.value.to_string()),
            ("dtype", self.ambiguous.unwrap_or(self.value.dtype()).to_string()),
            ("shape", vector(&self.shape)),
            ("ambiguous", logical(self.ambiguous.is_some())),
        ]
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::Each(&[])
    }

    fn decode(_row: &'static Row, attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        let ((value, ambiguous), shape) = (attrs.literal("value")?, attrs.shape("shape")?);
        Ok(Fill { value, shape, ambiguous }.into())
    }

    fn parse(form: &Form) -> Parsed<Fill> {
        form.takes(0)?;
        let ranked = Ranked { dtype: form.dtype("dtype")?, ambiguous: form.logical("ambiguous")? };
        Ok(Fill {
            value: form.literal("value", ranked)?,
            shape: form.shape("shape")?,
            ambiguous: ranked.default(),
        })
    }

    fn infer(&self, _operands: &[&Aval]) -> Result<Vec<Aval>> {
        Ok(vec![Aval { dtype: self.value.dtype(), shape: self.shape.clone(), ambiguous: self.ambiguous }])
    }

    fn eval(&self, _operands: &[View], results: &mut [ViewMut]) {
        let out = &mut results[0];
        dispatch!(out.dtype, T => stop::fill(cast::slice_mut::<T>(out.data), self.value.get()))
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::Zero
    }

    fn strip(&self, axis: Axis, size: usize, _operands: &[&Aval]) -> Option<Strip> {
        Strip::new(Fill { shape: self.shape.strip(axis, size), ..self.clone() }, vec![])
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        Lowering::Op(HloOp { name: "stablehlo.constant", syntax: Syntax::Constant(self.value) })
    }

    fn source(&self) -> Option<Source> {
        Some(Source::Fill(self.value))
    }

    fn simplify(&self, b: &mut Builder, _operands: &[Value], _read: &[bool]) -> Result<Simplified> {
        if self.shape.rank() > 0 {
            return Ok(None);
        }
        simplified(b.literal(self.value, self.ambiguous))
    }

    fn moves_only(&self) -> bool {
        true
    }

    fn is_cheap(&self) -> bool {
        true
    }
}

/// The literal that all elements of a value equal, if the graph shows it.
pub(crate) fn uniform(graph: &Graph, value: Value) -> Option<Literal> {
    if let Def::Literal(literal) = graph.def(value) {
        return Some(literal);
    }
    let node = graph.made_by(value)?;
    match node.op.get::<Fill>() {
        Some(fill) => Some(fill.value),
        None => node.op.get::<BroadcastInDim>().and_then(|_| uniform(graph, node.operands[0])),
    }
}

/// A 0-d value as often as a shape has elements: itself if that has no axes.
///
/// # Errors
/// Those of [`Builder::node`]; none where `value` is 0-d.
pub(crate) fn everywhere(b: &mut Builder, value: Value, shape: Shape) -> Result<Value> {
    match shape.rank() {
        0 => Ok(value),
        _ => b.node1(BroadcastInDim { shape, axes: vec![] }, &[value]),
    }
}

/// What an op of one result makes of these numbers: a number of this dtype.
pub(crate) fn on_literals(op: &Op, literals: &[Literal], to: DType) -> Literal {
    let (shape, layout) = (Shape::scalar(), Layout::dense(&Shape::scalar()));
    let buffers: Vec<AlignedBytes> = literals
        .iter()
        .map(|l| {
            let mut bytes = AlignedBytes::zeroed(l.dtype().bytes());
            bytes.as_mut_slice().copy_from_slice(&l.to_bytes()[..l.dtype().bytes()]);
            bytes
        })
        .collect();
    let views: Vec<View> = literals
        .iter()
        .zip(&buffers)
        .map(|(l, bytes)| View { dtype: l.dtype(), shape: &shape, layout: &layout, data: bytes.as_slice() })
        .collect();
    let mut out = AlignedBytes::zeroed(to.bytes());
    op.eval(&views, &mut [ViewMut { dtype: to, shape: &shape, data: out.as_mut_slice() }]);
    Literal::from_bytes(to, out.as_slice())
}

/// `start`, `start + 1`, ... along an axis, the same along all others.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Iota {
    /// The axis that counts.
    pub axis: Axis,
    /// Type of the result; not boolean.
    pub to: Ranked,
    /// Shape of the result.
    pub shape: Shape,
    /// The first value. All must be in the range of an integer dtype; a float rounds them.
    pub start: i64,
}

static IOTA: Row = Row { ulps: 0.5, ..written("iota", "nv_iota", &[], NUMERIC) };

impl OpDef for Iota {
    fn row(&self) -> &'static Row {
        &IOTA
    }

    fn rows() -> Vec<&'static Row> {
        vec![&IOTA]
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![
            ("axis", self.axis.to_string()),
            ("dtype", self.to.dtype.to_string()),
            ("shape", vector(&self.shape)),
            ("start", self.start.to_string()),
            ("ambiguous", logical(self.to.ambiguous)),
        ]
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::Each(&[])
    }

    fn decode(_row: &'static Row, attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        let (dtype, shape) = (attrs.dtype("dtype")?, attrs.shape("shape")?);
        let axis = Axis::from_one_based(IOTA.function, attrs.integer("axis")?, &shape)?;
        let (start, ambiguous) = (attrs.integer("start")?, attrs.flag("ambiguous")?);
        Ok(Iota { axis, to: Ranked { dtype, ambiguous }, shape, start }.into())
    }

    fn parse(form: &Form) -> Parsed<Iota> {
        form.takes(0)?;
        let shape = form.shape("shape")?;
        Ok(Iota {
            axis: form.axis("axis", shape.rank())?,
            to: Ranked { dtype: form.dtype("dtype")?, ambiguous: form.logical("ambiguous")? },
            shape,
            start: form.number("start")?,
        })
    }

    fn infer(&self, _operands: &[&Aval]) -> Result<Vec<Aval>> {
        let dtype = self.to.dtype;
        if !IOTA.accepts.contains(dtype) {
            let expected = "the dtype of an integer or float";
            return Err(Error::arg("dtype", expected, dtype.to_string()));
        }
        let (from, size) = (i128::from(self.start), self.shape[self.axis.0] as i128);
        if let (Some((low, high)), true) = (dtype.bounds(), self.shape.size() > 0) {
            let to = from + size - 1;
            if from < low || to > high {
                return Err(Error::SequenceRange { dtype, from, to });
            }
        }
        Ok(vec![Aval::new(self.to, self.shape.clone())])
    }

    fn eval(&self, _operands: &[View], results: &mut [ViewMut]) {
        let out = &mut results[0];
        let (size, stride) = (self.shape[self.axis.0].max(1), self.shape.strides()[self.axis.0]);
        dispatch!(out.dtype, T => {
            for (i, x) in cast::slice_mut::<T>(out.data).iter_mut().enumerate() {
                if i % stop::EVERY == 0 {
                    stop::work(stop::EVERY);
                }
                *x = <T as crate::dtype::Element>::from_i64(self.start.wrapping_add((i / stride % size) as i64));
            }
        })
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::Zero
    }

    fn strip(&self, axis: Axis, size: usize, _operands: &[&Aval]) -> Option<Strip> {
        let op = Iota { shape: self.shape.strip(axis, size), ..self.clone() };
        Strip::new(op, vec![]).filter(|_| axis != self.axis)
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        let op =
            HloOp { name: "stablehlo.iota", syntax: Syntax::NoOperands(format!("dim = {}", self.axis.0)) };
        let same = self.start == 0 && self.shape.size() > 0 && self.is_exact();
        op_if(same, op, Formula::Count(self))
    }

    fn source(&self) -> Option<Source> {
        let (stride, size) = (self.shape.strides()[self.axis.0], self.shape[self.axis.0]);
        Some(Source::Count { start: self.start, stride, size, dtype: self.to.stored() })
    }

    fn moves_only(&self) -> bool {
        true
    }

    fn is_cheap(&self) -> bool {
        true
    }
}

impl Iota {
    /// Whether its dtype has all numbers that it counts through, and as many from 0, exactly.
    pub(crate) fn is_exact(&self) -> bool {
        let most = self.shape[self.axis.0] as i128 + i128::from(self.start).abs();
        // Whole numbers up to 2 to the power of the significand's bits are exact.
        let dtype = self.to.stored();
        let bits = match dtype {
            DType::BF16 => 8,
            DType::F16 => 11,
            DType::F32 => 24,
            _ => 53,
        };
        !dtype.is_float() || most <= 1 << bits
    }
}
