//! Cumulative sums, products, extremes and logarithms of sums of exponentials, along one axis.

use super::attrs::{logical, Attrs};
use super::compare::Compare;
use super::contract::{simplified, Form, Linear, OpDef, Promotion, Role, Simplified, Strip};
use super::derive::{Math, Var};
use super::lower::{Formula, Lowering};
use super::rules::{Batch, Jvp, Vjp};
use super::{written, Builder, Op, Pad, Row, Scan, Transpose, Unary};
use crate::dtype::{DType, ANY, FLOAT, ORDERED};
use crate::error::{Error, Result};
use crate::graph::syntax::Parsed;
use crate::graph::Value;
use crate::kernels::reductions::cumulative::{cumulative, Cumulation};
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, Literal, View, ViewMut};
use std::sync::Arc;

/// A cumulation along an axis. Shape, dtype and ambiguity are the operand's.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Cumulative {
    /// What is cumulated.
    pub by: Cumulation,
    /// The axis along which it is.
    pub axis: Axis,
    /// Whether it begins with the last element.
    pub reverse: bool,
}

const ALL: [Cumulation; 5] =
    [Cumulation::Sum, Cumulation::Prod, Cumulation::Max, Cumulation::Min, Cumulation::LogSumExp];

static ROWS: [Row; 5] = [
    Row {
        accuracy:
            "`f32`, `f64` and complex numbers are summed in double precision, `bf16` and `f16` in `f32`, \
                   and rounded once; sums of blocks of 1,024 elements are compensated.",
        ..written("cumsum", "nv_cumsum", &["operand"], ANY)
    },
    Row {
        accuracy: "`f32`, `f64` and complex numbers are multiplied in double precision, `bf16` and `f16` in \
                   `f32`, and rounded once.",
        ..written("cumprod", "nv_cumprod", &["operand"], ANY)
    },
    written("cummax", "nv_cummax", &["operand"], ORDERED),
    written("cummin", "nv_cummin", &["operand"], ORDERED),
    Row {
        accuracy:
            "Exponentials are taken less an element that is the largest so far but for 1, summed in double \
                   precision, and the logarithm is rounded once.",
        ..written("cumlogsumexp", "nv_cumlogsumexp", &["operand"], FLOAT)
    },
];

/// The cumulation of the op of this name.
fn by_of(name: &str) -> Cumulation {
    ALL[ROWS.iter().position(|row| row.name == name).expect("a row of the family")]
}

impl OpDef for Cumulative {
    fn row(&self) -> &'static Row {
        match self.by {
            Cumulation::Sum => &ROWS[0],
            Cumulation::Prod => &ROWS[1],
            Cumulation::Max => &ROWS[2],
            Cumulation::Min => &ROWS[3],
            Cumulation::LogSumExp => &ROWS[4],
        }
    }

    fn rows() -> Vec<&'static Row> {
        ROWS.iter().collect()
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let x = operands[0];
        self.row().check(0, x)?;
        if matches!(self.by, Cumulation::Sum | Cumulation::Prod) && x.dtype == DType::I1 {
            let hint = "Booleans are counted as integers: convert to i32 first.";
            return Err(self.row().unsupported(0, x.dtype, hint));
        }
        Ok(vec![x.clone()])
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        cumulative(self.by, &operands[0], self.axis, self.reverse, &mut results[0])
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![("axis", self.axis.to_string()), ("reverse", logical(self.reverse))]
    }

    fn promotion(row: &'static Row) -> Promotion {
        match by_of(row.name) {
            Cumulation::Sum | Cumulation::Prod => Promotion::Each(&[Role::Counted]),
            Cumulation::Max | Cumulation::Min => Promotion::Each(&[Role::Own]),
            Cumulation::LogSumExp => Promotion::Join,
        }
    }

    fn decode(row: &'static Row, attrs: &Attrs, operands: &[&Aval]) -> Result<Op> {
        let axes = attrs.axes("axis", row.function, &operands[0].shape)?.unwrap_or_default();
        let [axis] = axes[..] else {
            return Err(Error::arg("axis", "one axis, or NULL", format!("{} axes", axes.len())));
        };
        Ok(Cumulative { by: by_of(row.name), axis, reverse: attrs.flag("reverse")? }.into())
    }

    fn parse(form: &Form) -> Parsed<Cumulative> {
        form.takes(1)?;
        let axis = form.axis("axis", form.operands[0].shape.rank())?;
        Ok(Cumulative { by: by_of(form.op), axis, reverse: form.logical("reverse")? })
    }

    fn vjp(&self) -> Vjp<'_> {
        match self.by {
            Cumulation::Sum => Vjp::of_one(|at| at.g().apply(self.backwards(), &[])),
            _ => Vjp::of_one(|at| {
                let (x, y, g) = (at.x(0), at.y(), at.g());
                let Some(Steps { carry, share }) = self.steps(x, y) else { return g };
                // Each result before another has a part in it by what is carried from there on.
                let next = self.backwards().before(carry, 0.0);
                share.of(self.backwards().recurrence(next, g))
            }),
        }
    }

    fn jvp(&self) -> Jvp<'_> {
        match self.by {
            Cumulation::Sum => Jvp::Linear,
            _ => Jvp::of_one(|at| {
                let t = at.t(0);
                let Some(Steps { carry, share }) = self.steps(at.x(0), at.y()) else { return t };
                self.recurrence(carry, share.of(t))
            }),
        }
    }

    fn cumulation(&self) -> Option<&Cumulative> {
        Some(self)
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Same
    }

    fn behind(&self, _size: usize) -> Option<Op> {
        Some(Cumulative { axis: self.axis.next(), ..self.clone() }.into())
    }

    fn strip(&self, axis: Axis, _size: usize, _operands: &[&Aval]) -> Option<Strip> {
        Strip::new(self.clone(), vec![Some(axis)]).filter(|_| axis != self.axis)
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        Lowering::Formula(Formula::Cumulative(self), None)
    }

    fn simplify(&self, b: &mut Builder, operands: &[Value], _read: &[bool]) -> Result<Simplified> {
        let x = b.graph().aval(operands[0]);
        // A product begins with 1, and 1 times a complex number with an infinite part has NaN as its other
        // part.
        let keeps = self.by != Cumulation::Prod || !x.dtype.is_complex();
        if keeps && x.shape[self.axis.0] < 2 {
            return simplified(operands[0]);
        }
        Ok(None)
    }

    fn linear(&self) -> Linear {
        match self.by {
            Cumulation::Sum => Linear::InAll,
            _ => Linear::In(&[]),
        }
    }
}

/// The derivative of a cumulation, step by step: the tangent of a result is that of the one before, times
/// `carry`, and the `share` of the element's own.
struct Steps<'m, 'b> {
    carry: Var<'m, 'b>,
    share: Share<'m, 'b>,
}

/// The derivative of a result by the element at its place.
enum Share<'m, 'b> {
    /// A number.
    Factor(Var<'m, 'b>),
    /// 1 where this holds, else 0.
    Where(Var<'m, 'b>),
}

impl<'m, 'b> Share<'m, 'b> {
    fn of(self, t: Var<'m, 'b>) -> Var<'m, 'b> {
        match self {
            Share::Factor(factor) => t.chain(factor),
            Share::Where(holds) => holds.select(t, t.of(0.0)),
        }
    }
}

impl Cumulative {
    /// The dtype in which it is computed, where that is not the operand's: 16-bit floats are widened.
    pub(crate) fn wide(dtype: DType) -> DType {
        if dtype.is_half() {
            DType::F32
        } else {
            dtype
        }
    }

    /// The same in the other direction.
    fn backwards(&self) -> Cumulative {
        Cumulative { reverse: !self.reverse, ..self.clone() }
    }

    /// What came `distance` steps before each element, and `first` where there was nothing.
    pub(crate) fn earlier<'m, 'b>(&self, x: Var<'m, 'b>, distance: usize, first: Literal) -> Var<'m, 'b> {
        let Aval { dtype, shape, .. } = x.aval();
        let (rank, first) = (shape.rank(), x.math().literal(first.convert(dtype), &Shape::scalar()));
        let (mut low, mut high) = (vec![0; rank], vec![0; rank]);
        let way = if self.reverse { -(distance as i64) } else { distance as i64 };
        (low[self.axis.0], high[self.axis.0]) = (way, -way);
        x.apply(Pad { low, high, interior: vec![0; rank] }, &[first])
    }

    fn before<'m, 'b>(&self, x: Var<'m, 'b>, first: f64) -> Var<'m, 'b> {
        self.earlier(x, 1, Literal::new(first))
    }

    /// The results of `y = carry * before(y) + x`, which starts with the first of `x`: a loop, of which a step
    /// costs less than a pass over all elements for each bit of their number.
    fn recurrence<'m, 'b>(&self, carry: Var<'m, 'b>, x: Var<'m, 'b>) -> Var<'m, 'b> {
        let Aval { dtype, shape, .. } = x.aval();
        let others = (0..shape.rank()).map(Axis).filter(|&axis| axis != self.axis);
        let order: Vec<Axis> = [self.axis].into_iter().chain(others).collect();
        let [carry, x] = [carry, x].map(|v| v.convert(Cumulative::wide(dtype)).transposed(order.clone()));
        match self.along_first(carry, x) {
            Ok(y) => y.transposed(Transpose::inverse(&order)).convert(dtype),
            Err(error) => x.failed(error),
        }
    }

    /// [`Cumulative::recurrence`] along the first axis.
    fn along_first<'m, 'b>(&self, carry: Var<'m, 'b>, x: Var<'m, 'b>) -> Result<Var<'m, 'b>> {
        let all = x.aval();
        let slice = Aval { shape: Shape::try_new(all.shape[1..].to_vec())?, ..all };
        let mut body = Builder::default();
        let inputs = [(); 3].map(|()| body.input(slice.clone()));
        let math = Math::new(&mut body);
        let [before, factor, term] = inputs.map(|v| math.var(v));
        let y = (before.chain(factor) + term).value();
        math.finish()?;
        let scan = Scan {
            body: Arc::new(body.finish(vec![y, y])),
            carried: 1,
            sliced: 2,
            length: all.shape[0],
            reverse: self.reverse,
            last: false,
            checkpoint: false,
        };
        let start = x.math().fill(0.0, &slice);
        Ok(x.math().apply_all(scan, &[start, carry, x]).get(1).copied().unwrap_or(x))
    }

    /// The derivative of all cumulations but sums; `None` if each result is its element.
    fn steps<'m, 'b>(&self, x: Var<'m, 'b>, y: Var<'m, 'b>) -> Option<Steps<'m, 'b>> {
        if x.aval().shape[self.axis.0] < 2 {
            return None;
        }
        // exp(x - y), and 1 if both are infinite.
        let ratio = |x: Var<'m, 'b>| x.compare(Compare::eq, y).select(x.of(0.0), x - y).unary(Unary::exp);
        Some(match self.by {
            Cumulation::Sum => unreachable!("a sum is linear"),
            // No division is involved, so zeros need no special case.
            Cumulation::Prod => Steps { carry: x, share: Share::Factor(self.before(y, 1.0)) },
            Cumulation::LogSumExp => {
                Steps { carry: ratio(self.before(y, 0.0)), share: Share::Factor(ratio(x)) }
            }
            // The first of elements that are equal has the derivative, and the first of all in any case.
            Cumulation::Max | Cumulation::Min => {
                let further = if self.by == Cumulation::Max { Compare::gt } else { Compare::lt };
                let is_new = x.compare(further, self.before(y, 0.0));
                let numbers = is_new.select(x.of(1.0), x.of(0.0));
                // What stands before the first is no element.
                let numbers = self.before(self.backwards().before(numbers, 1.0), 1.0);
                Steps {
                    carry: 1.0 - numbers,
                    share: Share::Where(numbers.compare(Compare::gt, numbers.of(0.0))),
                }
            }
        })
    }
}
