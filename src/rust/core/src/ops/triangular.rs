//! Equations with a triangular matrix.

use super::attrs::{logical, Attrs};
use super::contract::{Cost, Form, OpDef};
use super::lower::{op_if, Formula, HloOp, Lowering, Syntax};
use super::matrices::{in_front, sizes, square, time, Keep};
use super::rules::{Batch, Jvp, Vjp};
use super::{written, Op, Row};
use crate::dtype::INEXACT;
use crate::error::{Error, Result};
use crate::graph::syntax::Parsed;
use crate::kernels::linalg::tensors;
use crate::kernels::linalg::triangular::Triangle;
use crate::tensor::{Aval, View, ViewMut};

/// `x` with `a * x = b`, or `a^H * x = b`, for triangular matrices `a`, of which one triangle is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TriangularSolve {
    /// Whether the lower triangle is read, else the upper one.
    pub lower: bool,
    /// Whether the diagonal is not read, but taken as 1.
    pub unit: bool,
    /// Whether the equation is one of the conjugate transpose.
    pub adjoint: bool,
}

static TRIANGULAR_SOLVE: Row = Row {
    accuracy:
        "Backward stable: the result solves an equation whose matrix differs by a small multiple of its rows \
               times the rounding error.",
    ..written("triangular_solve", "nv_triangular_solve", &["a", "b"], INEXACT)
};

impl TriangularSolve {
    /// With the lower triangle.
    pub(super) fn lower() -> TriangularSolve {
        TriangularSolve { lower: true, unit: false, adjoint: false }
    }

    /// With the conjugate transpose of the lower triangle.
    pub(super) fn adjoint() -> TriangularSolve {
        TriangularSolve { adjoint: true, ..TriangularSolve::lower() }
    }

    /// With the upper triangle.
    pub(super) fn upper() -> TriangularSolve {
        TriangularSolve { lower: false, ..TriangularSolve::lower() }
    }

    /// The elements of `a` that it reads.
    fn keep(self) -> Keep {
        match (self.lower, self.unit) {
            (true, false) => Keep::Lower,
            (true, true) => Keep::Below,
            (false, false) => Keep::Upper,
            (false, true) => Keep::Above,
        }
    }
}

/// Checks that `b` has as many rows as `a`, and the same batch.
///
/// # Errors
/// [`Error::DtypeMismatch`], [`Error::SizeMismatch`].
pub(super) fn check_sides(row: &Row, operands: [&Aval; 2], which: usize) -> Result<()> {
    let [a, b] = operands;
    let (batch, n) = square(row, 0, a)?;
    let (other, [m, _]) = sizes(row, which, b)?;
    let differ = |what: String, l: usize, r: usize| {
        let (op, lhs, rhs) = (row.function.into(), a.shape.clone(), b.shape.clone());
        Err(Error::SizeMismatch { op, lhs, rhs, what, l, r })
    };
    if a.dtype != b.dtype {
        let [lhs, rhs] = [a, b].map(|x| x.ranked().dtype);
        return Err(Error::DtypeMismatch { op: row.function.into(), lhs, rhs });
    }
    if batch.len() != other.len() {
        return differ("Their numbers of axes differ".into(), batch.len() + 2, other.len() + 2);
    }
    if let Some(i) = (0..batch.len()).find(|&i| batch[i] != other[i]) {
        let what = format!("Leading axes are a batch and must be equal; axis {} is not", i + 1);
        return differ(what, batch[i], other[i]);
    }
    if m != n {
        return differ("The right-hand side must have as many rows as the matrix".into(), n, m);
    }
    Ok(())
}

impl OpDef for TriangularSolve {
    fn row(&self) -> &'static Row {
        &TRIANGULAR_SOLVE
    }

    fn rows() -> Vec<&'static Row> {
        vec![&TRIANGULAR_SOLVE]
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![
            ("lower", logical(self.lower)),
            ("unit_diagonal", logical(self.unit)),
            ("adjoint", logical(self.adjoint)),
        ]
    }

    fn decode(_row: &'static Row, attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        let [lower, unit, adjoint] = ["lower", "unit_diagonal", "adjoint"].map(|name| attrs.flag(name));
        Ok(TriangularSolve { lower: lower?, unit: unit?, adjoint: adjoint? }.into())
    }

    fn parse(form: &Form) -> Parsed<TriangularSolve> {
        form.takes(2)?;
        let [lower, unit, adjoint] = ["lower", "unit_diagonal", "adjoint"].map(|name| form.logical(name));
        Ok(TriangularSolve { lower: lower?, unit: unit?, adjoint: adjoint? })
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        check_sides(&TRIANGULAR_SOLVE, [operands[0], operands[1]], 1)?;
        Ok(vec![Aval { ambiguous: operands[0].ambiguous.and(operands[1].ambiguous), ..operands[1].clone() }])
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let rank = operands[1].shape.rank();
        let [n, m] = [operands[1].shape[rank - 2], operands[1].shape[rank - 1]];
        let triangle = Triangle { lower: self.lower, unit: self.unit };
        let work = time(operands[0].dtype, n * n / 2 * m);
        tensors::triangular_solve(operands, triangle, self.adjoint, results, work)
    }

    fn scratch(&self, operands: &[&Aval]) -> usize {
        operands[0].bytes() + 2 * operands[1].bytes()
    }

    fn cost(&self) -> Cost {
        Cost::Special
    }

    fn jvp(&self) -> Jvp<'_> {
        Jvp::of_one(|at| {
            let (a, x) = (at.x(0), at.y());
            let moved = at.tangents[0].map(|t| {
                let t = t.kept(self.keep());
                if self.adjoint { t.h() } else { t }.dot(x)
            });
            let right = match (at.tangents[1], moved) {
                (Some(b), Some(moved)) => b - moved,
                (Some(b), None) => b,
                (None, Some(moved)) => -moved,
                (None, None) => x.of(0.0),
            };
            a.apply(*self, &[right])
        })
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::by(|at| {
            let op = TriangularSolve { adjoint: !self.adjoint, ..*self };
            let b = at.x(0).apply(op, &[at.g().bar()]);
            let a = || {
                let outer = if self.adjoint { at.y().dot(b.h()) } else { b.dot(at.y().h()) };
                -outer.kept(self.keep()).bar()
            };
            vec![at.wanted[0].then(a), Some(b.bar())]
        })
    }

    fn batch(&self) -> Batch<'_> {
        in_front(*self)
    }

    fn lower(&self, operands: &[Aval]) -> Lowering<'_> {
        let transpose = if self.adjoint { "ADJOINT" } else { "NO_TRANSPOSE" };
        let attributes = format!(
            "left_side = true, lower = {}, unit_diagonal = {}, transpose_a = #stablehlo<transpose {transpose}>",
            self.lower, self.unit
        );
        let op = HloOp { name: "stablehlo.triangular_solve", syntax: Syntax::Generic(attributes) };
        op_if(!operands[0].dtype.is_half(), op, Formula::TriangularSolve(self))
    }
}
