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
use crate::kernels::linalg::each::{dispatch_scalar, each};
use crate::kernels::linalg::triangular::{solve, Triangle};
use crate::kernels::linalg::{lanes, lu, MatMut, MatRef, Scalar};
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
        let dtype = operands[0].dtype;
        let work = time(dtype, m * n * m.min(n) / 3);
        if lanes::suit(&operands[0]) {
            return dispatch_scalar!(dtype, T => lanes::each::<T>(operands, [&[2], &[2, 1, 1]], results, work, |x, out| {
                let [pivots, order] = &mut out.integers[..] else { unreachable!("two results of integers") };
                out.scalars[0].copy_from_slice(&x.scalars[0]);
                lanes::lu(&mut out.scalars[0], [m, n], pivots);
                lanes::permutation(pivots, order);
            }), F64; F32);
        }
        dispatch_scalar!(dtype, T => each::<T>(operands, [&[2], &[2, 1, 1]], results, work, |x, out| {
            let factors = &mut out.scalars[0];
            factors.copy_from_slice(&x.scalars[0]);
            let [pivots, order] = &mut out.integers[..] else { unreachable!("two results of integers") };
            lu::factorise(MatMut::new(factors, [m, n], m), pivots);
            lu::permutation(pivots, order);
        }))
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
        let dtype = operands[0].dtype;
        let adjoint = self.adjoint;
        let [lower, upper] = [true, false].map(|lower| Triangle { lower, unit: lower });
        // Rows that do not exist are none of nv_lu(); the op has no error for elements.
        let place = |row: i32| (row.max(0) as usize).min(n - 1);
        // The matrix itself is not read.
        let (operands, work) = (&operands[1..], time(dtype, n * n * m));
        if lanes::suit(&operands[0]) {
            return dispatch_scalar!(dtype, T => lanes::each::<T>(operands, [&[2, 1, 2], &[2]], results, work, |x, out| {
                let (order, [factors, b]) = (&x.integers[0], &mut x.scalars[..]) else { unreachable!("three operands") };
                let out = &mut out.scalars[0];
                if adjoint {
                    lanes::solve(factors, true, Triangle { lower: true, unit: false }, n, b);
                    lanes::solve(factors, true, Triangle { lower: false, unit: true }, n, b);
                }
                for (out, b) in out.chunks_exact_mut(n).zip(b.chunks_exact(n)) {
                    for (i, rows) in order.iter().enumerate() {
                        for (lane, &row) in rows.iter().enumerate() {
                            let (to, from) = if adjoint { (place(row), i) } else { (i, place(row)) };
                            out[to][lane] = b[from][lane];
                        }
                    }
                }
                if !adjoint {
                    lanes::solve(factors, false, lower, n, out);
                    lanes::solve(factors, false, upper, n, out);
                }
            }), F64; F32);
        }
        dispatch_scalar!(dtype, T => each::<T>(operands, [&[2, 1, 2], &[2]], results, work, |x, out| {
            let (order, [factors, b]) = (&x.integers[0], &mut x.scalars[..]) else { unreachable!("four operands") };
            let out = &mut out.scalars[0];
            out.fill(T::ZERO);
            if adjoint {
                factors.iter_mut().for_each(|x| *x = x.conj());
                let a = MatRef::new(factors, [n, n], n).transposed();
                solve(a, Triangle { lower: true, unit: false }, MatMut::new(b, [n, m], n));
                solve(a, Triangle { lower: false, unit: true }, MatMut::new(b, [n, m], n));
                for (out, b) in out.chunks_exact_mut(n.max(1)).zip(b.chunks_exact(n.max(1))) {
                    order.iter().zip(b).for_each(|(&row, &x)| out[place(row)] = x);
                }
            } else {
                for (out, b) in out.chunks_exact_mut(n.max(1)).zip(b.chunks_exact(n.max(1))) {
                    order.iter().zip(out).for_each(|(&row, x)| *x = b[place(row)]);
                }
                let a = MatRef::new(factors, [n, n], n);
                solve(a, lower, MatMut::new(out, [n, m], n));
                solve(a, upper, MatMut::new(out, [n, m], n));
            }
        }))
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
