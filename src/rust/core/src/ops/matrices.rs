//! What ops on matrices share. A matrix is the last two axes of an operand; those before them are a batch.

use super::derive::Var;
use super::rules::{Batch, Batched};
use super::{Compare, DotGeneral, Iota, Op, Part, Row};
use crate::dtype::{DType, Ranked};
use crate::error::{Error, Result};
use crate::shape::{Axis, Shape};
use crate::tensor::Aval;

/// The sizes of the matrices of an operand, and of the batch.
///
/// # Errors
/// [`Error::UnsupportedDtype`], [`Error::Rank`] if it has fewer than two axes.
pub(super) fn sizes<'a>(row: &Row, operand: usize, x: &'a Aval) -> Result<(&'a [usize], [usize; 2])> {
    row.check(operand, x)?;
    match &x.shape[..] {
        [batch @ .., m, n] => Ok((batch, [*m, *n])),
        _ => Err(Error::Rank {
            op: row.function.into(),
            operand: row.operand(operand).into(),
            expected: "at least 2 axes, the last two of a matrix".into(),
            shape: x.shape.clone(),
            hint: String::new(),
        }),
    }
}

/// The sizes of the batch, and the number of rows of its square matrices.
///
/// # Errors
/// As of [`sizes`]; [`Error::Square`].
pub(super) fn square<'a>(row: &Row, operand: usize, x: &'a Aval) -> Result<(&'a [usize], usize)> {
    let (batch, [m, n]) = sizes(row, operand, x)?;
    if m != n {
        let (op, operand) = (row.function.into(), row.operand(operand).into());
        return Err(Error::Square { op, operand, shape: x.shape.clone(), rows: m, columns: n });
    }
    Ok((batch, n))
}

/// A type with the batch of an operand, and these last axes.
pub(super) fn with(x: &Aval, dtype: DType, batch: &[usize], sizes: &[usize]) -> Result<Aval> {
    let shape = Shape::try_new([batch, sizes].concat())?;
    // An ambiguous complex number has ambiguous parts.
    let ambiguous =
        x.ambiguous.map(
            |default| if default.is_complex() && !dtype.is_complex() { default.part() } else { default },
        );
    Ok(Aval {
        dtype,
        shape,
        ambiguous: if dtype.is_float() || dtype.is_complex() { ambiguous } else { None },
    })
}

/// The rule for a batch: its axis goes before all others, since the last ones are those of the matrices.
pub(super) fn in_front<'a>(op: impl Into<Op> + Clone + 'a) -> Batch<'a> {
    Batch::by(move |at: &Batched| {
        let operands: Vec<Var> = (0..at.operands.len()).map(|i| at.whole(i).batch_first()).collect();
        let made = at.math().apply_all(op.clone(), &operands);
        made.into_iter().map(Var::batch_last).collect()
    })
}

/// About how long an op on matrices takes, in picoseconds, from its multiplications.
pub(super) fn time(dtype: DType, multiplications: usize) -> usize {
    multiplications.saturating_mul(if dtype.is_complex() { 400 } else { 100 }).saturating_add(100_000)
}

/// Part of a square matrix.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// The diagonal and what is below.
    Lower,
    /// What is below the diagonal.
    Below,
    /// The diagonal and what is above.
    Upper,
    /// What is above the diagonal.
    Above,
    /// The diagonal.
    Diagonal,
}

/// Matrix formulas, on the last two axes.
impl<'m, 'b> Var<'m, 'b> {
    /// The product with another matrix.
    pub(crate) fn dot(self, other: Var<'m, 'b>) -> Var<'m, 'b> {
        match DotGeneral::matmul(&self.aval().shape, &other.aval().shape) {
            Ok(op) => self.apply(op, &[other]),
            Err(error) => self.failed(error),
        }
    }

    /// The transpose.
    pub(super) fn t(self) -> Var<'m, 'b> {
        let rank = self.aval().shape.rank();
        let mut order: Vec<Axis> = (0..rank).map(Axis).collect();
        order.swap(rank - 2, rank - 1);
        self.transposed(order)
    }

    /// The conjugate of complex numbers, real ones as they are.
    pub(crate) fn bar(self) -> Var<'m, 'b> {
        if self.aval().dtype.is_complex() {
            self.conj()
        } else {
            self
        }
    }

    /// The conjugate transpose.
    pub(crate) fn h(self) -> Var<'m, 'b> {
        self.t().bar()
    }

    /// The real parts of complex numbers, in the dtype of those.
    pub(crate) fn real_part(self) -> Var<'m, 'b> {
        if self.aval().dtype.is_complex() {
            self.part(Part::real)
        } else {
            self
        }
    }

    /// Real numbers in the dtype of another value, which may be complex.
    pub(crate) fn like(self, other: Var<'m, 'b>) -> Var<'m, 'b> {
        let dtype = other.aval().dtype;
        if dtype.is_complex() && !self.aval().dtype.is_complex() {
            self.complex(self.of(0.0))
        } else {
            self
        }
    }

    /// The matrix with 0 outside of a part.
    pub(crate) fn kept(self, keep: Keep) -> Var<'m, 'b> {
        let shape = self.aval().shape;
        self.index(&shape, keep).select(self, self.of(0.0))
    }

    /// Whether elements of matrices of this shape are in a part of these.
    fn index(self, shape: &Shape, keep: Keep) -> Var<'m, 'b> {
        let rank = shape.rank();
        let [m, n] = [shape[rank - 2], shape[rank - 1]];
        let count = |axis: usize| {
            let op = Iota { axis: Axis(axis), to: Ranked::known(DType::I32), shape: [m, n].into(), start: 0 };
            self.made(op)
        };
        let (row, column) = (count(0), count(1));
        let is = match keep {
            Keep::Lower => row.compare(Compare::ge, column),
            Keep::Below => row.compare(Compare::gt, column),
            Keep::Upper => row.compare(Compare::le, column),
            Keep::Above => row.compare(Compare::lt, column),
            Keep::Diagonal => row.compare(Compare::eq, column),
        };
        is.repeated(shape, &[Axis(rank - 2), Axis(rank - 1)])
    }

    /// The Hermitian matrix of which the lower triangle is read.
    pub(crate) fn hermitian(self) -> Var<'m, 'b> {
        let diagonal = self.kept(Keep::Diagonal).real_part().like(self);
        let below = self.kept(Keep::Below);
        below + below.h() + diagonal
    }

    /// The gradient of a matrix of which the lower triangle is read as that of a Hermitian one, from the
    /// gradient of that, which is Hermitian itself.
    pub(super) fn of_lower(self) -> Var<'m, 'b> {
        self.kept(Keep::Below) * 2.0 + self.kept(Keep::Diagonal).real_part().like(self)
    }

    /// The identity in place of each matrix.
    pub(crate) fn identity(self) -> Var<'m, 'b> {
        self.of(1.0).kept(Keep::Diagonal)
    }

    /// The diagonal, as vectors.
    pub(crate) fn diagonal(self) -> Var<'m, 'b> {
        let rank = self.aval().shape.rank();
        self.kept(Keep::Diagonal).summed(vec![Axis(rank - 1)])
    }

    /// Vectors as diagonals of matrices.
    pub(super) fn on_diagonal(self) -> Var<'m, 'b> {
        let matrices = self.down_columns(self.aval().shape[self.aval().shape.rank() - 1]);
        matrices.kept(Keep::Diagonal)
    }

    /// Vectors as the columns of matrices, each repeated for so many columns.
    pub(crate) fn down_columns(self, columns: usize) -> Var<'m, 'b> {
        let shape = self.aval().shape;
        match shape.with_last(columns) {
            Ok(to) => self.repeated(&to, &(0..shape.rank()).map(Axis).collect::<Vec<_>>()),
            Err(error) => self.failed(error),
        }
    }

    /// Vectors as the rows of matrices, each repeated for so many rows.
    pub(crate) fn along_rows(self, rows: usize) -> Var<'m, 'b> {
        self.down_columns(rows).t()
    }

    /// The permutation matrices that take row `order[i]` to row `i`, of the dtype of another value.
    pub(super) fn permutation(self, like: Var<'m, 'b>) -> Var<'m, 'b> {
        let shape = self.aval().shape;
        let m = shape[shape.rank() - 1];
        let rows = self.down_columns(m);
        let to = rows.aval().shape;
        let column =
            self.made(Iota { axis: Axis(1), to: Ranked::known(DType::I32), shape: [m, m].into(), start: 0 });
        let is = rows.compare(Compare::eq, column.repeated(&to, &[Axis(to.rank() - 2), Axis(to.rank() - 1)]));
        is.select(like.filled(1.0, &to), like.filled(0.0, &to))
    }
}
