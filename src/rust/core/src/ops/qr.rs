//! QR factors.

use super::attrs::{logical, Attrs};
use super::contract::{Cost, Form, OpDef};
use super::derive::Var;
use super::lower::{Formula, Lowering};
use super::matrices::{in_front, sizes, time, with, Keep};
use super::rules::{Batch, Jvp, Vjp};
use super::triangular::TriangularSolve;
use super::{written, Op, Row};
use crate::dtype::INEXACT;
use crate::error::Result;
use crate::graph::syntax::Parsed;
use crate::kernels::linalg::tensors;
use crate::tensor::{Aval, View, ViewMut};

/// Matrices `[m, n]` as products of `q`, whose columns are orthonormal, and the upper triangular `r` with a real
/// diagonal: `q [m, k]` and `r [k, n]` for `k = min(m, n)`, or `k = m` if they are full.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Qr {
    /// Whether `q` is square.
    pub full: bool,
}

static QR: Row = Row {
    accuracy: "Backward stable (Householder reflectors): `q` is orthonormal, and the product of both is the matrix, up to a \
               small multiple of its rows times the rounding error.",
    ..written("qr", "nv_qr", &["operand"], INEXACT)
};

impl OpDef for Qr {
    fn row(&self) -> &'static Row {
        &QR
    }

    fn rows() -> Vec<&'static Row> {
        vec![&QR]
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![("full", logical(self.full))]
    }

    fn decode(_row: &'static Row, attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        Ok(Qr { full: attrs.flag("full")? }.into())
    }

    fn parse(form: &Form) -> Parsed<Qr> {
        form.takes(1)?;
        Ok(Qr { full: form.logical("full")? })
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let x = operands[0];
        let (batch, [m, n]) = sizes(&QR, 0, x)?;
        let k = if self.full { m } else { m.min(n) };
        Ok(vec![with(x, x.dtype, batch, &[m, k])?, with(x, x.dtype, batch, &[k, n])?])
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let rank = operands[0].shape.rank();
        let [m, n] = [operands[0].shape[rank - 2], operands[0].shape[rank - 1]];
        tensors::qr(operands, results, time(operands[0].dtype, 2 * m * n * m.min(n)))
    }

    fn scratch(&self, operands: &[&Aval]) -> usize {
        4 * operands[0].bytes()
    }

    fn cost(&self) -> Cost {
        Cost::Special
    }

    /// S. Walter and L. Lehmann, *Algorithmic differentiation of linear algebra functions with application in
    /// optimum experimental design* (2010); of a wide matrix, the left square decides.
    fn jvp(&self) -> Jvp<'_> {
        if self.full {
            return Jvp::Todo(
                "the full QR decomposition is not unique, so only `full = FALSE` has a derivative",
            );
        }
        Jvp::by(|at| {
            let (q, change) = (at.results[0], at.t(0));
            let [m, n] = sides(at.x(0));
            let side = m.min(n);
            let last = Qr::last(at.x(0));
            let r = at.results[1].section(last, 0, side);
            let moved = right_solve(r, change.section(last, 0, side));
            let inner = q.h().dot(moved);
            let turn = rotation(inner);
            let dq = q.dot(turn - inner) + moved;
            let left = (inner - turn).dot(r);
            let dr = if n > m {
                let rest = at.x(0).section(last, side, n);
                let right = dq.h().dot(rest) + q.h().dot(change.section(last, side, n));
                left.beside(&[right], last)
            } else {
                left
            };
            vec![Some(dq), Some(dr.kept(Keep::Upper))]
        })
    }

    fn vjp(&self) -> Vjp<'_> {
        if self.full {
            return Vjp::Todo(
                "the full QR decomposition is not unique, so only `full = FALSE` has a derivative",
            );
        }
        Vjp::of_one(|at| {
            let q = at.results[0];
            let [m, n] = sides(at.x(0));
            let side = m.min(n);
            let last = Qr::last(at.x(0));
            let r = at.results[1].section(last, 0, side);
            let mut gq = at.gradients[0].map_or_else(|| q.of(0.0), Var::bar);
            let gr = at.gradients[1].map_or_else(|| at.results[1].of(0.0), Var::bar).kept(Keep::Upper);
            let mut right = None;
            if n > m {
                // r = (r1, q^H a2).
                let (rest, of_it) = (at.x(0).section(last, side, n), gr.section(last, side, n));
                gq = gq + rest.dot(of_it.h());
                right = Some(q.dot(of_it));
            }
            let outer = q.h().dot(gq) - gr.section(last, 0, side).dot(r.h());
            let turn = (outer - outer.h()).kept(Keep::Below) - outer
                + (outer.kept(Keep::Diagonal) - outer.kept(Keep::Diagonal).real_part().like(outer));
            let moved = gq + q.dot(turn);
            // moved * r^-H.
            let left = r.apply(TriangularSolve::upper(), &[moved.h()]).h();
            right.map_or(left, |right| left.beside(&[right], last)).bar()
        })
    }

    fn batch(&self) -> Batch<'_> {
        in_front(*self)
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        Lowering::Formula(Formula::Qr(self), None)
    }
}

impl Qr {
    /// The axis of columns.
    fn last(x: Var) -> crate::shape::Axis {
        crate::shape::Axis(x.aval().shape.rank() - 1)
    }
}

/// Rows and columns.
fn sides(x: Var) -> [usize; 2] {
    let shape = x.aval().shape;
    let rank = shape.rank();
    [shape[rank - 2], shape[rank - 1]]
}

/// `x * r^-1` for an upper triangular `r`.
fn right_solve<'m, 'b>(r: Var<'m, 'b>, x: Var<'m, 'b>) -> Var<'m, 'b> {
    r.apply(TriangularSolve { adjoint: true, ..TriangularSolve::upper() }, &[x.h()]).h()
}

/// The skew-Hermitian matrix with the elements of `x` below the diagonal, and their imaginary parts on it.
fn rotation<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let (below, diagonal) = (x.kept(Keep::Below), x.kept(Keep::Diagonal));
    below - below.h() + (diagonal - diagonal.real_part().like(x))
}
