//! Eigenvalues and eigenvectors of Hermitian matrices.

use super::attrs::{logical, Attrs};
use super::contract::{Cost, Form, OpDef, Simplified};
use super::derive::Var;
use super::lower::{Formula, Lowering};
use super::matrices::{in_front, square, time, with, Keep};
use super::rules::{Batch, Jvp, Vjp};
use super::{written, Binary, Builder, Op, Row};
use crate::dtype::INEXACT;
use crate::error::Result;
use crate::graph::syntax::Parsed;
use crate::graph::Value;
use crate::kernels::linalg::tensors;
use crate::tensor::{Aval, View, ViewMut};

/// Eigenvalues, ascending, and orthonormal eigenvectors as columns, of Hermitian matrices, of which the lower
/// triangle is read. All are NaN if an element is not finite.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Eigh {
    /// Whether eigenvectors are a result.
    pub vectors: bool,
}

static EIGH: Row = Row {
    accuracy: "Backward stable: eigenvalues are those of a matrix that differs by a small multiple of its rows times \
               the rounding error, in relation to the largest one.",
    ..written("eigh", "nv_eigh", &["operand"], INEXACT)
};

impl OpDef for Eigh {
    fn row(&self) -> &'static Row {
        &EIGH
    }

    fn rows() -> Vec<&'static Row> {
        vec![&EIGH]
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![("vectors", logical(self.vectors))]
    }

    fn decode(_row: &'static Row, attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        Ok(Eigh { vectors: attrs.flag("vectors")? }.into())
    }

    fn parse(form: &Form) -> Parsed<Eigh> {
        form.takes(1)?;
        Ok(Eigh { vectors: form.logical("vectors")? })
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let x = operands[0];
        let (batch, n) = square(&EIGH, 0, x)?;
        let mut made = vec![with(x, x.dtype.part(), batch, &[n])?];
        if self.vectors {
            made.push(x.clone());
        }
        Ok(made)
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let n = operands[0].shape[operands[0].shape.rank() - 1];
        tensors::eigh(operands, results, time(operands[0].dtype, 4 * n * n * n + 2000))
    }

    fn scratch(&self, operands: &[&Aval]) -> usize {
        8 * operands[0].bytes()
    }

    fn cost(&self) -> Cost {
        Cost::Special
    }

    /// M. Giles, *An extended collection of matrix derivative results for forward and reverse mode algorithmic
    /// differentiation* (2008). Vectors of equal eigenvalues have no derivative: it is infinite or NaN.
    fn jvp(&self) -> Jvp<'_> {
        if !self.vectors {
            return Jvp::Todo(WITHOUT_VECTORS);
        }
        Jvp::by(|at| {
            let (values, v) = (at.results[0], at.results[1]);
            let inner = v.h().dot(at.t(0).hermitian().dot(v));
            let turn = over_gaps(values, inner);
            vec![Some(inner.diagonal().real_part()), Some(v.dot(turn))]
        })
    }

    fn vjp(&self) -> Vjp<'_> {
        if !self.vectors {
            return Vjp::Todo(WITHOUT_VECTORS);
        }
        Vjp::of_one(|at| {
            let (values, v) = (at.results[0], at.results[1]);
            let of_values = at.gradients[0].map(|g| g.like(v).on_diagonal());
            let of_vectors = at.gradients[1].map(|g| over_gaps(values, v.h().dot(g.bar())));
            let inner = match (of_values, of_vectors) {
                (Some(x), Some(y)) => x + y,
                (x, y) => x.or(y).expect("a result has a gradient"),
            };
            let inner = (inner + inner.h()) * 0.5;
            v.dot(inner).dot(v.h()).of_lower().bar()
        })
    }

    fn batch(&self) -> Batch<'_> {
        in_front(*self)
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        Lowering::Formula(Formula::Eigh(self), None)
    }

    /// Eigenvalues alone where nobody reads the vectors.
    fn simplify(&self, b: &mut Builder, operands: &[Value], read: &[bool]) -> Result<Simplified> {
        if !self.vectors || read[1] {
            return Ok(None);
        }
        let values = b.node1(Eigh { vectors: false }, operands)?;
        Ok(Some(vec![Some(values), None]))
    }
}

const WITHOUT_VECTORS: &str = "eigenvalues without vectors are an op of compiled programs";

/// `x[i, j] / (values[j] - values[i])`, 0 on the diagonal and where `x` is 0.
fn over_gaps<'m, 'b>(values: Var<'m, 'b>, x: Var<'m, 'b>) -> Var<'m, 'b> {
    let shape = values.aval().shape;
    let n = shape[shape.rank() - 1];
    let gaps = values.along_rows(n) - values.down_columns(n);
    let inverse = 1.0 / gaps;
    let off = |x: Var<'m, 'b>| x.kept(Keep::Below) + x.kept(Keep::Above);
    off(inverse.like(x)).binary(Binary::mul_no_nan, off(x))
}
