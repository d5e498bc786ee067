//! Cholesky factors of Hermitian positive definite matrices.

use super::attrs::{logical, Attrs};
use super::contract::{Cost, Form, OpDef};
use super::derive::Var;
use super::lower::{Formula, HloOp, Lowering, Syntax};
use super::matrices::{in_front, square, time, Keep};
use super::rules::{Batch, Jvp, Vjp};
use super::triangular::TriangularSolve;
use super::{written, Op, Row};
use crate::dtype::INEXACT;
use crate::error::Result;
use crate::graph::syntax::Parsed;
use crate::kernels::linalg::tensors;
use crate::tensor::{Aval, View, ViewMut};

/// The lower triangular `l` with a positive diagonal and `l * l^H` the matrix, of which the lower triangle is
/// read; 0 above the diagonal. Or its adjoint, an upper triangle, of the upper triangle of the matrix. All
/// elements are NaN if the matrix is not positive definite.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cholesky {
    /// Whether the lower triangle is read and written, else the upper one.
    pub lower: bool,
}

static CHOLESKY: Row = Row {
    accuracy:
        "Backward stable: the product of the factors is the matrix up to a small multiple of its rows times \
               the rounding error.",
    ..written("chol", "nv_chol", &["operand"], INEXACT)
};

impl Cholesky {
    /// What is a matrix, a factor or a change of one, as that of the lower triangle, and back.
    fn of_lower<'m, 'b>(self, x: Var<'m, 'b>) -> Var<'m, 'b> {
        if self.lower {
            x
        } else {
            x.h()
        }
    }
}

impl OpDef for Cholesky {
    fn row(&self) -> &'static Row {
        &CHOLESKY
    }

    fn rows() -> Vec<&'static Row> {
        vec![&CHOLESKY]
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![("lower", logical(self.lower))]
    }

    fn decode(_row: &'static Row, attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        Ok(Cholesky { lower: attrs.flag("lower")? }.into())
    }

    fn parse(form: &Form) -> Parsed<Cholesky> {
        form.takes(1)?;
        Ok(Cholesky { lower: form.logical("lower")? })
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        square(&CHOLESKY, 0, operands[0])?;
        Ok(vec![operands[0].clone()])
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let n = operands[0].shape[operands[0].shape.rank() - 1];
        tensors::cholesky(operands, results, time(operands[0].dtype, n * n * n / 6), self.lower)
    }

    fn scratch(&self, operands: &[&Aval]) -> usize {
        2 * operands[0].bytes()
    }

    fn cost(&self) -> Cost {
        Cost::Special
    }

    /// I. Murray, *Differentiation of the Cholesky decomposition* (2016), for complex matrices too.
    fn jvp(&self) -> Jvp<'_> {
        Jvp::of_one(|at| {
            let (l, change) = (self.of_lower(at.y()), self.of_lower(at.t(0)).hermitian());
            let left = l.apply(TriangularSolve::lower(), &[change]);
            // left * l^-H, as the adjoint of an equation.
            let both = l.apply(TriangularSolve::lower(), &[left.h()]).h();
            self.of_lower(l.dot(both.kept(Keep::Below) + both.kept(Keep::Diagonal) * 0.5))
        })
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::of_one(|at| {
            let l = self.of_lower(at.y());
            let inner = l.h().dot(self.of_lower(at.g().bar()));
            let half = inner.kept(Keep::Below) + inner.kept(Keep::Diagonal).real_part().like(inner) * 0.5;
            let middle = (half + half.h()) * 0.5;
            // l^-H * middle * l^-1.
            let left = l.apply(TriangularSolve::adjoint(), &[middle]);
            self.of_lower(l.apply(TriangularSolve::adjoint(), &[left.h()]).of_lower()).bar()
        })
    }

    fn batch(&self) -> Batch<'_> {
        in_front(*self)
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        let op =
            HloOp { name: "stablehlo.cholesky", syntax: Syntax::Generic(format!("lower = {}", self.lower)) };
        Lowering::Formula(Formula::Cholesky(self), Some(op))
    }
}
