//! Products of matrices: the op's own, and R's operator, to which a 1-d operand is a row or a column.

use super::applier::{Applier, Composition};
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::ops::attrs::{Attr, Attrs};
use crate::ops::layout::Order;
use crate::ops::*;
use crate::shape::{Axis, Shape};

/// All of them, by name.
pub(super) const ALL: &[(&str, Composition)] = &[
    ("matmul", |a, operands, _| a.matmul(operands)),
    ("matrix_product", |a, operands, _| a.matrix_product(operands, Transposed::None)),
    ("crossprod", |a, operands, _| a.matrix_product(operands, Transposed::Lhs)),
    ("tcrossprod", |a, operands, _| a.matrix_product(operands, Transposed::Rhs)),
    ("tensordot", |a, operands, attrs| a.tensordot(operands, attrs)),
];

/// The operand of `%*%` that is transposed first: none, or that of `crossprod()` or `tcrossprod()`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Transposed {
    None,
    Lhs,
    Rhs,
}

impl Applier<'_> {
    /// Matrix products of the last two axes.
    fn matmul(&mut self, operands: &[Value]) -> Result<Vec<Value>> {
        arity("nv_matmul", operands.len(), 2)?;
        let values = self.join_counted(operands)?;
        self.multiply(&values)
    }

    /// R's `%*%`, `crossprod()` and `tcrossprod()`; of operands with two axes and more
    /// [`matmul`](Applier::matmul), after a transposition.
    fn matrix_product(&mut self, operands: &[Value], transposed: Transposed) -> Result<Vec<Value>> {
        arity("nv_matmul", operands.len(), 2)?;
        let mut values = self.join_counted(operands)?;
        for (i, side) in [Transposed::Lhs, Transposed::Rhs].into_iter().enumerate() {
            let rank = self.aval(values[i]).shape.rank();
            if side == transposed && rank >= 2 {
                let mut permutation: Vec<Axis> = (0..rank).map(Axis).collect();
                permutation.swap(rank - 2, rank - 1);
                values[i] = self.builder.node1(Op::Transpose(Transpose { permutation }), &[values[i]])?;
            }
        }
        let shapes = [self.shape(values[0]), self.shape(values[1])];
        for (value, matrix) in values.iter_mut().zip(as_matrices(&shapes, transposed)?) {
            if let Some(shape) = matrix {
                let op = Reshape { shape, order: Order::Column };
                *value = self.builder.node1(Op::Reshape(op), &[*value])?;
            }
        }
        self.multiply(&values)
    }

    /// The product summed over the last axes of the first operand and the first of the second, or over pairs
    /// of axes.
    fn tensordot(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        arity("nv_tensordot", operands.len(), 2)?;
        let axes = match attrs.get("axes") {
            pairs @ Attr::List(_) => pairs.clone(),
            _ => {
                let [rank, other] = [0, 1].map(|i| self.aval(operands[i]).shape.rank());
                let count = attrs.integer("axes")?;
                let Some(count) = usize::try_from(count).ok().filter(|&n| n <= rank.min(other)) else {
                    let expected = format!(
                        "a number of axes from 0 to {}, or a list of two vectors of axes",
                        rank.min(other)
                    );
                    return Err(Error::arg("axes", expected, count.to_string()));
                };
                let numbers =
                    |from: usize| Attr::Numbers((from..from + count).map(|i| i as f64 + 1.0).collect());
                Attr::List(vec![numbers(rank - count), numbers(0)])
            }
        };
        self.op("dot_general", operands, &Attrs::new().with("contracting_axes", axes))
    }

    /// The product of two values of one dtype.
    fn multiply(&mut self, values: &[Value]) -> Result<Vec<Value>> {
        let op = DotGeneral::matmul(&self.aval(values[0]).shape, &self.aval(values[1]).shape)?;
        self.builder.node(Op::DotGeneral(op), values)
    }
}

/// The matrices that operands with fewer than two axes are in a product, after the transposition; `None` for
/// the others. As in R, a vector is whichever of a row and a column fits; of two vectors of one length the
/// first is the row, and a single number goes before any other.
///
/// # Errors
/// [`Error::SizeMismatch`] if none fits.
fn as_matrices(shapes: &[Shape; 2], transposed: Transposed) -> Result<[Option<Shape>; 2]> {
    let [lhs, rhs] = shapes;
    let [n, m] = [lhs.size(), rhs.size()];
    let row = |size: usize| Some(Shape::from([1, size]));
    let column = |size: usize| Some(Shape::from([size, 1]));
    let fitting = match (lhs.rank(), rhs.rank()) {
        (0 | 1, 0 | 1) => match transposed {
            Transposed::Rhs => Some([column(n), row(m)]),
            _ if n == m => Some([row(n), column(m)]),
            _ if n == 1 => Some([row(n), row(m)]),
            _ => None,
        },
        (0 | 1, 2) if n == rhs[0] => Some([row(n), None]),
        (0 | 1, 2) if rhs[0] == 1 && transposed != Transposed::Lhs => Some([column(n), None]),
        // tcrossprod() takes a row next to a row alone.
        (2, 0 | 1) if m == lhs[1] && (transposed != Transposed::Rhs || lhs[0] == 1) => {
            Some([None, column(m)])
        }
        (2, 0 | 1) if lhs[1] == 1 && (transposed != Transposed::Rhs || lhs[0] != 1) => Some([None, row(m)]),
        (0 | 1, 2) | (2, 0 | 1) => None,
        // nv_matmul() says that there are no products of a vector and a batch.
        _ => Some([None, None]),
    };
    fitting.ok_or_else(|| {
        let what = "A vector must be as long as the other operand has rows or columns to multiply it with";
        let (l, r) = match (lhs.rank(), rhs.rank()) {
            (2, _) => (lhs[1], m),
            (_, 2) => (n, rhs[0]),
            _ => (n, m),
        };
        Error::SizeMismatch {
            op: "nv_matmul".into(),
            lhs: lhs.clone(),
            rhs: rhs.clone(),
            what: what.into(),
            l,
            r,
        }
    })
}
