//! Singular value decompositions.

use super::attrs::{logical, Attrs};
use super::contract::{Cost, Form, OpDef, Simplified};
use super::derive::Var;
use super::lower::{Formula, Lowering};
use super::matrices::{in_front, sizes, time, with, Keep};
use super::rules::{Batch, Jvp, Vjp};
use super::{written, Binary, Builder, Op, Row};
use crate::dtype::INEXACT;
use crate::error::Result;
use crate::graph::syntax::Parsed;
use crate::graph::Value;
use crate::kernels::linalg::tensors;
use crate::tensor::{Aval, View, ViewMut};

/// Singular values, descending, and the left and right singular vectors as columns: matrices `[m, n]` are
/// `u * diag(d) * v^H`, with `k = min(m, n)` columns of `u` and of `v`, or `m` and `n` if they are full. All are
/// NaN if an element is not finite.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Svd {
    /// Whether vectors are results.
    pub vectors: bool,
    /// Whether the matrices of vectors are square.
    pub full: bool,
}

static SVD: Row = Row {
    accuracy:
        "Backward stable: singular values are those of a matrix that differs by a small multiple of its rows \
               times the rounding error, in relation to the largest one.",
    ..written("svd", "nv_svd", &["operand"], INEXACT)
};

const WITHOUT_VECTORS: &str = "singular values without vectors are an op of compiled programs";

const FULL: &str = "vectors beyond the smaller side are not unique, so only `full = FALSE` has a derivative";

impl OpDef for Svd {
    fn row(&self) -> &'static Row {
        &SVD
    }

    fn rows() -> Vec<&'static Row> {
        vec![&SVD]
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![("vectors", logical(self.vectors)), ("full", logical(self.full))]
    }

    fn decode(_row: &'static Row, attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        Ok(Svd { vectors: attrs.flag("vectors")?, full: attrs.flag("full")? }.into())
    }

    fn parse(form: &Form) -> Parsed<Svd> {
        form.takes(1)?;
        Ok(Svd { vectors: form.logical("vectors")?, full: form.logical("full")? })
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let x = operands[0];
        let (batch, [m, n]) = sizes(&SVD, 0, x)?;
        let k = m.min(n);
        let mut made = vec![with(x, x.dtype.part(), batch, &[k])?];
        if self.vectors {
            let [left, right] = if self.full { [m, n] } else { [k, k] };
            made.extend([with(x, x.dtype, batch, &[m, left])?, with(x, x.dtype, batch, &[n, right])?]);
        }
        Ok(made)
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let rank = operands[0].shape.rank();
        let [m, n] = [operands[0].shape[rank - 2], operands[0].shape[rank - 1]];
        let k = m.min(n);
        let columns = if self.full { [m, n] } else { [k, k] };
        tensors::svd(operands, columns, results, time(operands[0].dtype, 6 * m * n * k + 4000))
    }

    fn scratch(&self, operands: &[&Aval]) -> usize {
        10 * operands[0].bytes()
    }

    fn cost(&self) -> Cost {
        Cost::Special
    }

    /// J. Townsend, *Differentiating the singular value decomposition* (2016); for complex matrices Z.-Q. Wan and
    /// S.-X. Zhang, *Automatic differentiation for complex valued SVD* (2019). Vectors of equal singular values,
    /// and of 0 in matrices that are not square, have no derivative: it is infinite or NaN.
    fn jvp(&self) -> Jvp<'_> {
        match self {
            Svd { vectors: false, .. } => return Jvp::Todo(WITHOUT_VECTORS),
            Svd { full: true, .. } => return Jvp::Todo(FULL),
            _ => {}
        }
        Jvp::by(|at| {
            let [d, u, v] = [0, 1, 2].map(|i| at.results[i]);
            let change = at.t(0);
            let [m, n] = [side(u), side(v)];
            let inner = u.h().dot(change).dot(v);
            let (rows, columns) =
                (d.down_columns(side_of(d)).like(inner), d.along_rows(side_of(d)).like(inner));
            let (right, left) = (inner * columns, rows * inner);
            let own = imaginary_over(inner, d);
            let mut du = u.dot(over_gaps(d, right + right.h()) + own);
            let mut dv = v.dot(over_gaps(d, left + left.h()));
            if m > n {
                let moved = change.dot(v);
                du = du + outside(u, moved).columns_over(d);
            }
            if n > m {
                let moved = change.h().dot(u);
                dv = dv + outside(v, moved).columns_over(d);
            }
            vec![Some(inner.diagonal().real_part()), Some(du), Some(dv)]
        })
    }

    fn vjp(&self) -> Vjp<'_> {
        match self {
            Svd { vectors: false, .. } => return Vjp::Todo(WITHOUT_VECTORS),
            Svd { full: true, .. } => return Vjp::Todo(FULL),
            _ => {}
        }
        Vjp::of_one(|at| {
            let [d, u, v] = [0, 1, 2].map(|i| at.results[i]);
            let [m, n] = [side(u), side(v)];
            let mut inner = at.gradients[0].map(|g| g.like(u).on_diagonal());
            let mut add = |x| inner = Some(inner.map_or(x, |inner| inner + x));
            let of_left = at.gradients[1].map(Var::bar);
            let of_right = at.gradients[2].map(Var::bar);
            let k = side_of(d);
            if let Some(g) = of_left {
                let turn = u.h().dot(g);
                let gaps = over_gaps(d, turn);
                add((gaps + gaps.h()) * d.along_rows(k).like(u));
                add(imaginary_over(turn, d));
            }
            if let Some(g) = of_right {
                let gaps = over_gaps(d, v.h().dot(g));
                add(d.down_columns(k).like(u) * (gaps + gaps.h()));
            }
            let mut out = u.dot(inner.expect("a result has a gradient")).dot(v.h());
            if let (Some(g), true) = (of_left, m > n) {
                out = out + outside(u, g).columns_over(d).dot(v.h());
            }
            if let (Some(g), true) = (of_right, n > m) {
                out = out + u.dot(outside(v, g).columns_over(d).h());
            }
            out.bar()
        })
    }

    fn batch(&self) -> Batch<'_> {
        in_front(*self)
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        Lowering::Formula(Formula::Svd(self), None)
    }

    /// Singular values alone where nobody reads the vectors.
    fn simplify(&self, b: &mut Builder, operands: &[Value], read: &[bool]) -> Result<Simplified> {
        if !self.vectors || read[1] || read[2] {
            return Ok(None);
        }
        let values = b.node1(Svd { vectors: false, ..*self }, operands)?;
        Ok(Some(vec![Some(values), None, None]))
    }
}

/// Rows of a matrix.
fn side(x: Var) -> usize {
    let shape = x.aval().shape;
    shape[shape.rank() - 2]
}

/// Elements of a vector.
fn side_of(d: Var) -> usize {
    let shape = d.aval().shape;
    shape[shape.rank() - 1]
}

/// `x[i, j] / (d[j]^2 - d[i]^2)`, 0 on the diagonal and where `x` is 0.
fn over_gaps<'m, 'b>(d: Var<'m, 'b>, x: Var<'m, 'b>) -> Var<'m, 'b> {
    let k = side_of(d);
    let (rows, columns) = (d.down_columns(k), d.along_rows(k));
    let inverse = 1.0 / ((columns - rows) * (columns + rows));
    let off = |x: Var<'m, 'b>| x.kept(Keep::Below) + x.kept(Keep::Above);
    off(inverse).like(x).binary(Binary::mul_no_nan, off(x))
}

/// The imaginary parts of the diagonal over `d`, imaginary again; nothing for real matrices.
fn imaginary_over<'m, 'b>(x: Var<'m, 'b>, d: Var<'m, 'b>) -> Var<'m, 'b> {
    if !x.aval().dtype.is_complex() {
        return x.of(0.0);
    }
    let diagonal = x.kept(Keep::Diagonal);
    let imaginary = diagonal - diagonal.real_part().like(x);
    let inverse = (1.0 / d).down_columns(side_of(d)).kept(Keep::Diagonal).like(x);
    inverse.binary(Binary::mul_no_nan, imaginary)
}

/// What of the columns of `x` is outside of the space of those of `u`.
fn outside<'m, 'b>(u: Var<'m, 'b>, x: Var<'m, 'b>) -> Var<'m, 'b> {
    x - u.dot(u.h().dot(x))
}

impl<'m, 'b> Var<'m, 'b> {
    /// Columns over the elements of `d`.
    fn columns_over(self, d: Var<'m, 'b>) -> Var<'m, 'b> {
        let inverse = (1.0 / d).along_rows(side(self)).like(self);
        inverse.binary(Binary::mul_no_nan, self)
    }
}
