//! Discrete Fourier transforms along an axis.

use super::attrs::Attrs;
use super::contract::{Cost, Form, Linear, OpDef, Promotion, Ready, Strip};
use super::derive::Var;
use super::lower::{signature, Formula, Lowering};
use super::rules::{Batch, Vjp};
use super::{written, Op, Part, Row};
use crate::dtype::{DType, COMPLEX, FLOAT, INEXACT};
use crate::error::{Error, Result};
use crate::graph::syntax::Parsed;
use crate::kernels::fourier::{Kind, Transforms};
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, Layout, View, ViewMut};

/// A transform along an axis: `y[k] = sum of x[j] * exp(-2 pi i j k / n)`, or its inverse, which is divided by
/// `n`; of real numbers in half the time, as the other half is the conjugate of the first. That half alone has
/// `n %/% 2 + 1` numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fourier {
    /// What is transformed to what.
    pub kind: Kind,
    /// The axis.
    pub axis: Axis,
    /// The number of real numbers, for [`Kind::RealInverse`]; else 0.
    pub size: usize,
}

const KINDS: [Kind; 4] = [Kind::Forward, Kind::Inverse, Kind::Real, Kind::RealInverse];

const ACCURACY: &str =
    "Computed in the precision of the operand: in relation to the largest elements, the error is \
                        a few roundings for each factor of the length.";

static ROWS: [Row; 4] = [
    Row { accuracy: ACCURACY, ..written("fft", "nv_fft", &["operand"], INEXACT) },
    Row { accuracy: ACCURACY, ..written("ifft", "nv_ifft", &["operand"], INEXACT) },
    Row { accuracy: ACCURACY, ..written("rfft", "nv_rfft", &["operand"], FLOAT) },
    Row { accuracy: ACCURACY, ..written("irfft", "nv_irfft", &["operand"], COMPLEX) },
];

/// The kind of the transform of this name.
fn kind_of(name: &str) -> Kind {
    KINDS[ROWS.iter().position(|row| row.name == name).expect("a row of the family")]
}

impl OpDef for Fourier {
    fn row(&self) -> &'static Row {
        &ROWS[KINDS.iter().position(|kind| *kind == self.kind).expect("one of all")]
    }

    fn rows() -> Vec<&'static Row> {
        ROWS.iter().collect()
    }

    fn promotion(row: &'static Row) -> Promotion {
        match kind_of(row.name) {
            Kind::Forward | Kind::Inverse | Kind::Real => Promotion::JoinOfParts,
            Kind::RealInverse => Promotion::JoinAsComplex,
        }
    }

    fn decode(row: &'static Row, attrs: &Attrs, operands: &[&Aval]) -> Result<Op> {
        let shape = &operands[0].shape;
        let axes = attrs.axes("axis", row.function, shape)?.unwrap_or_default();
        let [axis] = axes[..] else {
            return Err(Error::arg("axis", "one axis", format!("{} axes", axes.len())));
        };
        let kind = kind_of(row.name);
        let mut size = 0;
        if kind == Kind::RealInverse {
            let half = shape[axis.0];
            size = match attrs.whole("n", 1)?.as_slice() {
                [] => 2 * half.saturating_sub(1),
                [one] => *one,
                many => return Err(Error::arg("n", "one whole number", format!("{} numbers", many.len()))),
            };
            if size / 2 + 1 != half || size == 0 {
                let expected = match half {
                    0 => "a number, for an axis with elements".to_string(),
                    1 => "1, as the axis has 1 element".to_string(),
                    _ => format!(
                        "{} or {}, as the axis has {half} elements",
                        2 * (half - 1),
                        2 * (half - 1) + 1
                    ),
                };
                return Err(Error::arg("n", expected, size.to_string()));
            }
        }
        Ok(Fourier { kind, axis, size }.into())
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let (row, x) = (self.row(), operands[0]);
        row.check(0, x)?;
        let length = x.shape.get(self.axis.0).copied().unwrap_or_default();
        let length = match self.kind {
            Kind::Forward | Kind::Inverse => length,
            Kind::Real => length / 2 + 1,
            Kind::RealInverse => self.size,
        };
        let dtype = match (self.kind, x.dtype) {
            (Kind::RealInverse, dtype) => dtype.part(),
            (_, DType::F32 | DType::C64) => DType::C64,
            (_, DType::F64 | DType::C128) => DType::C128,
            _ => return Err(row.unsupported(0, x.ranked().dtype, "")),
        };
        if matches!(self.kind, Kind::Real) && x.shape[self.axis.0] == 0 {
            let hint = "The transform of nothing has no first element.".to_string();
            return Err(Error::Rank {
                op: row.function.into(),
                operand: row.operands[0].into(),
                expected: format!("at least 1 element along axis {}", self.axis),
                shape: x.shape.clone(),
                hint,
            });
        }
        let mut sizes = x.shape.to_vec();
        sizes[self.axis.0] = length;
        let ambiguous = x.ambiguous.map(|default| match self.kind {
            Kind::RealInverse => default.part(),
            _ if default.part() == DType::F64 => DType::C128,
            _ => DType::C64,
        });
        Ok(vec![Aval { dtype, shape: Shape::try_new(sizes)?, ambiguous }])
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        let mut all = vec![("axis", self.axis.to_string())];
        if self.kind == Kind::RealInverse {
            all.push(("n", self.size.to_string()));
        }
        all
    }

    fn parse(form: &Form) -> Parsed<Fourier> {
        form.takes(1)?;
        let kind = kind_of(form.op);
        let size = match kind {
            Kind::RealInverse => form.number("n")?,
            _ => 0,
        };
        Ok(Fourier { kind, axis: form.axis("axis", form.operands[0].shape.rank())?, size })
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        self.ready(operands[0].shape)(operands, results)
    }

    fn prepare(&self, operands: &[(&Shape, &Layout)]) -> Option<Ready> {
        Some(self.ready(operands[0].0))
    }

    /// Parts of lines that are transformed together, and of a long line all, twice; four times that for
    /// lengths with a large prime factor.
    fn scratch(&self, operands: &[&Aval]) -> usize {
        16 * operands[0].bytes()
    }

    /// Of lines of a thousand numbers; it grows with the logarithm of their length.
    fn cost(&self) -> Cost {
        Cost::Picoseconds(3_000)
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::of_one(|at| {
            let (x, g) = (at.x(0), at.g());
            match self.kind {
                // The matrix of the transform is symmetric.
                Kind::Forward | Kind::Inverse => {
                    let made = g.apply(*self, &[]);
                    if self.is_whole_of_real(x.aval().dtype) {
                        made.part(Part::real)
                    } else {
                        made
                    }
                }
                Kind::Real => {
                    let (n, rank) = (x.aval().shape[self.axis.0], x.aval().shape.rank());
                    let mut high = vec![0; rank];
                    high[self.axis.0] = (n - (n / 2 + 1)) as i64;
                    let whole = g.padded(0.0, vec![0; rank], high, vec![0; rank]);
                    whole.apply(Fourier { kind: Kind::Forward, ..*self }, &[]).part(Part::real)
                }
                // All but the first number and the last of an even length stand for two of the whole transform.
                Kind::RealInverse => {
                    let half = g.apply(Fourier { kind: Kind::Real, size: 0, ..*self }, &[]);
                    let (count, n) = (self.size / 2 + 1, self.size);
                    let part = |from: usize, to: usize| half.section(self.axis, from, to);
                    let twice = count - usize::from(n % 2 == 0);
                    let mut parts = vec![part(0, 1)];
                    if twice > 1 {
                        parts.push(part(1, twice) * 2.0);
                    }
                    if twice < count && count > 1 {
                        parts.push(part(twice, count));
                    }
                    let all =
                        if parts.len() > 1 { parts[0].beside(&parts[1..], self.axis) } else { parts[0] };
                    (all / n as f64).conj()
                }
            }
        })
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Same
    }

    fn strip(&self, axis: Axis, _size: usize, _operands: &[&Aval]) -> Option<Strip> {
        Strip::new(*self, vec![Some(axis)]).filter(|_| axis != self.axis)
    }

    fn lower(&self, operands: &[Aval]) -> Lowering<'_> {
        let shape = &operands[0].shape;
        if self.axis.0 + 1 < shape.rank() || self.is_whole_of_real(operands[0].dtype) {
            return Lowering::Formula(Formula::Fourier(self), None);
        }
        let (name, length) = match self.kind {
            Kind::Forward => ("FFT", shape[self.axis.0]),
            Kind::Inverse => ("IFFT", shape[self.axis.0]),
            Kind::Real => ("RFFT", shape[self.axis.0]),
            Kind::RealInverse => ("IRFFT", self.size),
        };
        Lowering::Op(signature("stablehlo.fft", format!(", type = {name}, length = [{length}]")))
    }

    fn linear(&self) -> Linear {
        Linear::InAll
    }
}

impl Fourier {
    /// Whether it has as many results as operands.
    pub fn is_whole(&self) -> bool {
        matches!(self.kind, Kind::Forward | Kind::Inverse)
    }

    /// Whether it takes real numbers of this dtype to as many complex ones.
    fn is_whole_of_real(&self, dtype: DType) -> bool {
        self.is_whole() && dtype.is_float()
    }

    /// The transform of operands of this shape. What depends on their length alone is made at the first call.
    fn ready(&self, shape: &Shape) -> Ready {
        let Fourier { kind, axis, size } = *self;
        let size = if kind == Kind::RealInverse { size } else { shape[axis.0] };
        let transforms = Transforms::new(kind, size);
        Box::new(move |operands, results| {
            let (x, out) = (&operands[0], &mut results[0]);
            if out.shape.size() > 0 {
                transforms.run(x, axis.0, out);
            }
        })
    }

    /// The same of complex numbers along the last axis, of real ones or of an operand whose axes are in another order.
    pub(crate) fn along_last<'m, 'b>(&self, x: Var<'m, 'b>) -> Var<'m, 'b> {
        let last = x.aval().shape.rank() - 1;
        let x = if self.is_whole_of_real(x.aval().dtype) { x.complex(x.of(0.0)) } else { x };
        let made = x.moved_last(self.axis).apply(Fourier { axis: Axis(last), ..*self }, &[]);
        made.transposed((0..self.axis.0).chain([last]).chain(self.axis.0..last).map(Axis).collect())
    }
}
