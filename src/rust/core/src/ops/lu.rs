//! LU factors, and equations that are solved with them.

use super::attrs::{logical, Attrs};
use super::contract::{Cost, Form, OpDef, Promotion, Role};
use super::derive::Var;
use super::lower::{Formula, Lowering};
use super::matrices::{in_front, sizes, time, with, Keep};
use super::rules::{Batch, Jvp, Vjp};
use super::triangular::{check_sides, TriangularSolve};
use super::{written, Op, Row};
use crate::dtype::{DType, INEXACT};
use crate::error::{Error, Result};
use crate::graph::syntax::Parsed;
use crate::kernels::linalg::tensors;
use crate::tensor::{Aval, View, ViewMut};

/// The factors of matrices `[m, n]` with rows exchanged: `l`, with ones on its diagonal, below that of the first
/// result, `u` on and above it; the number of the row that each row was exchanged with, one after the other;
/// and the order of rows that this makes, `a[order, ] = l * u`. Rows count from 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Lu;

static LU: Row = Row {
    accuracy: "Backward stable in practice, as Gaussian elimination with row exchanges is.",
    ..written("lu", "nv_lu", &["operand"], INEXACT)
};

impl OpDef for Lu {
    fn row(&self) -> &'static Row {
        &LU
    }

    fn rows() -> Vec<&'static Row> {
        vec![&LU]
    }

    fn decode(_row: &'static Row, _attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        Ok(Lu.into())
    }

    fn parse(form: &Form) -> Parsed<Lu> {
        form.takes(1)?;
        Ok(Lu)
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let x = operands[0];
        let (batch, [m, n]) = sizes(&LU, 0, x)?;
        Ok(vec![x.clone(), with(x, DType::I32, batch, &[m.min(n)])?, with(x, DType::I32, batch, &[m])?])
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let rank = operands[0].shape.rank();
        let [m, n] = [operands[0].shape[rank - 2], operands[0].shape[rank - 1]];
        tensors::lu(operands, results, time(operands[0].dtype, m * n * m.min(n) / 3))
    }

    fn scratch(&self, operands: &[&Aval]) -> usize {
        2 * operands[0].bytes()
    }

    fn cost(&self) -> Cost {
        Cost::Special
    }

    /// The formula for square matrices, of factors that are filled up with columns and rows of the identity.
    fn jvp(&self) -> Jvp<'_> {
        Jvp::by(|at| {
            let (l, u) = parts(at.results[0]);
            let moved = at.results[2].permutation(l).dot(at.t(0));
            let left = l.apply(TriangularSolve { unit: true, ..TriangularSolve::lower() }, &[moved]);
            let both = right_solve(u, left);
            vec![Some(l.dot(both.kept(Keep::Below)) + both.kept(Keep::Upper).dot(u)), None, None]
        })
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::of_one(|at| {
            let Some(g) = at.gradients[0] else { return at.x(0).of(0.0) };
            let (l, u) = parts(at.results[0]);
            let g = g.bar();
            let both = l.h().dot(g).kept(Keep::Below) + g.dot(u.h()).kept(Keep::Upper);
            let op = TriangularSolve { unit: true, ..TriangularSolve::adjoint() };
            let left = l.apply(op, &[both]);
            // left * u^-H.
            let moved = u.apply(TriangularSolve::upper(), &[left.h()]).h();
            at.results[2].permutation(l).t().dot(moved).bar()
        })
    }

    fn batch(&self) -> Batch<'_> {
        in_front(*self)
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        Lowering::Formula(Formula::Lu, None)
    }
}

/// `x * u^-1` for an upper triangular `u`.
fn right_solve<'m, 'b>(u: Var<'m, 'b>, x: Var<'m, 'b>) -> Var<'m, 'b> {
    let op = TriangularSolve { adjoint: true, ..TriangularSolve::upper() };
    u.apply(op, &[x.h()]).h()
}

/// The factors, square: `l [m, m]` and `u [n, n]`, filled up with the identity.
fn parts<'m, 'b>(factors: Var<'m, 'b>) -> (Var<'m, 'b>, Var<'m, 'b>) {
    let shape = factors.aval().shape;
    let rank = shape.rank();
    let [m, n] = [shape[rank - 2], shape[rank - 1]];
    let sized = |x: Var<'m, 'b>, size: usize| {
        let (mut low, mut high) = (vec![0; rank], vec![0; rank]);
        let interior = vec![0; rank];
        (high[rank - 2], high[rank - 1]) = (size as i64 - m as i64, size as i64 - n as i64);
        if high.iter().all(|&x| x == 0) {
            return x;
        }
        x.padded(0.0, std::mem::take(&mut low), high, interior)
    };
    let l = sized(factors.kept(Keep::Below), m);
    let u = sized(factors.kept(Keep::Upper), n);
    // Rows of `u` that the factors lack.
    let filled = if n > m {
        let below = u.identity() - sized(factors.identity(), n);
        u + below
    } else {
        u
    };
    (l + l.identity(), filled)
}

/// `x` with `a * x = b`, or `a^H * x = b`, from the factors of `a`. The matrix itself is an operand for the
/// derivative, in which `a` moves and the factors follow: they have no derivative of their own here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LuSolve {
    /// Whether the equation is one of the conjugate transpose.
    pub adjoint: bool,
}

static LU_SOLVE: Row = Row {
    accuracy: "Backward stable in practice, as Gaussian elimination with row exchanges is.",
    ..written("lu_solve", "nv_lu_solve", &["a", "lu", "permutation", "b"], INEXACT)
};

impl OpDef for LuSolve {
    fn row(&self) -> &'static Row {
        &LU_SOLVE
    }

    fn rows() -> Vec<&'static Row> {
        vec![&LU_SOLVE]
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![("adjoint", logical(self.adjoint))]
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::Each(&[Role::Own, Role::Own, Role::Position, Role::Own])
    }

    fn decode(_row: &'static Row, attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        Ok(LuSolve { adjoint: attrs.flag("adjoint")? }.into())
    }

    fn parse(form: &Form) -> Parsed<LuSolve> {
        form.takes(4)?;
        Ok(LuSolve { adjoint: form.logical("adjoint")? })
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let [a, factors, order, b] = [0, 1, 2, 3].map(|i| operands[i]);
        LU_SOLVE.check_same(a, factors)?;
        check_sides(&LU_SOLVE, [a, b], 3)?;
        let axes = a.shape.rank() - 1;
        if order.dtype != DType::I32 || order.shape[..] != a.shape[..axes] {
            return Err(Error::arg(
                "permutation",
                "the order of the rows that nv_lu() gives",
                order.to_string(),
            ));
        }
        Ok(vec![Aval { ambiguous: a.ambiguous.and(b.ambiguous), ..b.clone() }])
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let rank = operands[3].shape.rank();
        let [n, m] = [operands[3].shape[rank - 2], operands[3].shape[rank - 1]];
        // The matrix itself is not read.
        tensors::lu_solve(&operands[1..], self.adjoint, results, time(operands[0].dtype, n * n * m))
    }

    fn scratch(&self, operands: &[&Aval]) -> usize {
        operands[1].bytes() + 2 * operands[3].bytes()
    }

    fn cost(&self) -> Cost {
        Cost::Special
    }

    fn jvp(&self) -> Jvp<'_> {
        Jvp::of_one(|at| {
            let x = at.y();
            let moved = at.tangents[0].map(|t| if self.adjoint { t.h() } else { t }.dot(x));
            let right = match (at.tangents[3], moved) {
                (Some(b), Some(moved)) => b - moved,
                (Some(b), None) => b,
                (None, Some(moved)) => -moved,
                (None, None) => return x.of(0.0),
            };
            at.x(0).apply(*self, &[at.x(1), at.x(2), right])
        })
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::by(|at| {
            let op = LuSolve { adjoint: !self.adjoint };
            let b = at.x(0).apply(op, &[at.x(1), at.x(2), at.g().bar()]);
            let a = || {
                let outer = if self.adjoint { at.y().dot(b.h()) } else { b.dot(at.y().h()) };
                -outer.bar()
            };
            vec![at.wanted[0].then(a), Some(at.x(1).of(0.0)), None, Some(b.bar())]
        })
    }

    fn batch(&self) -> Batch<'_> {
        in_front(*self)
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        Lowering::Formula(Formula::LuSolve(self), None)
    }
}
