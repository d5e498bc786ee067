//! Equations, inverses and determinants, from factors of their matrices.

use super::applier::{Applier, Composition};
use crate::dtype::{DType, Ranked, INEXACT};
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::kernels::reductions::fold::Fold;
use crate::ops::attrs::Attrs;
use crate::ops::*;
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, Literal};

/// All of them, by name.
pub(super) const ALL: &[(&str, Composition)] = &[
    ("solve", |a, operands, attrs| a.solve(operands, attrs)),
    ("solve_triangular", |a, operands, attrs| a.solve_triangular(operands, attrs)),
    ("inverse", |a, operands, _| a.inverse(operands)),
    ("identity_matrix", |a, operands, _| a.identity_matrix(operands)),
    ("floats", |a, operands, _| a.promote(operands, INEXACT)),
    ("epsilon", |a, operands, _| a.epsilon(operands)),
    ("det", |a, operands, _| a.det(operands)),
    ("slogdet", |a, operands, _| a.slogdet(operands)),
];

impl Applier<'_> {
    /// `x` with `a * x = b`, or `a^H * x = b`. A `b` with an axis less than `a` is vectors.
    fn solve(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        arity("nv_solve", operands.len(), 2)?;
        let values = self.promote(operands, INEXACT)?;
        self.check_square("nv_solve", "a", values[0])?;
        self.with_columns(&values, |this, a, b| {
            let factors = this.op("lu", &[a], &Attrs::new())?;
            let op = LuSolve { adjoint: attrs.flag("adjoint")? };
            this.builder.node(op, &[a, factors[0], factors[2], b])
        })
    }

    /// As [`solve`](Applier::solve), for triangular matrices.
    fn solve_triangular(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        arity("nv_triangular_solve", operands.len(), 2)?;
        let values = self.promote(operands, INEXACT)?;
        self.with_columns(&values, |this, a, b| this.op("triangular_solve", &[a, b], attrs))
    }

    /// Solves with the vectors `b` as columns.
    fn with_columns(
        &mut self,
        values: &[Value],
        solve: impl Fn(&mut Self, Value, Value) -> Result<Vec<Value>>,
    ) -> Result<Vec<Value>> {
        let (a, b) = (values[0], values[1]);
        let shape = self.shape(b);
        if shape.rank() == 0 || shape.rank() + 1 != self.shape(a).rank() {
            return solve(self, a, b);
        }
        let column = self.reshaped(b, shape.with_last(1)?)?;
        let made = solve(self, a, column)?;
        Ok(vec![self.reshaped(made[0], shape)?])
    }

    /// The inverse of square matrices.
    fn inverse(&mut self, operands: &[Value]) -> Result<Vec<Value>> {
        arity("nv_inv", operands.len(), 1)?;
        let a = self.promote(operands, INEXACT)?[0];
        self.check_square("nv_inv", "operand", a)?;
        let factors = self.op("lu", &[a], &Attrs::new())?;
        let identity = self.identity_of(a)?;
        self.builder.node(LuSolve { adjoint: false }, &[a, factors[0], factors[2], identity])
    }

    /// The identity in place of each matrix.
    fn identity_matrix(&mut self, operands: &[Value]) -> Result<Vec<Value>> {
        arity("nv_matrix_power", operands.len(), 1)?;
        self.check_square("nv_matrix_power", "operand", operands[0])?;
        Ok(vec![self.identity_of(operands[0])?])
    }

    /// Checks that the last two axes of a value are square matrices.
    ///
    /// # Errors
    /// [`Error::Rank`], [`Error::Square`].
    fn check_square(&self, function: &str, operand: &str, x: Value) -> Result<()> {
        let shape = self.shape(x);
        let (op, operand) = (function.to_string(), operand.to_string());
        match shape[..] {
            [.., m, n] if m == n => Ok(()),
            [.., rows, columns] => Err(Error::Square { op, operand, shape, rows, columns }),
            _ => {
                let expected = "at least 2 axes, the last two of a matrix".to_string();
                Err(Error::Rank { op, operand, expected, shape, hint: String::new() })
            }
        }
    }

    fn identity_of(&mut self, a: Value) -> Result<Value> {
        let math = Math::new(self.builder);
        let identity = math.var(a).identity().value();
        math.finish()?;
        Ok(identity)
    }

    /// The distance of 1 to the next number of the operand's dtype, as a 0-d value of that dtype.
    fn epsilon(&mut self, operands: &[Value]) -> Result<Vec<Value>> {
        let aval = self.aval(operands[0]);
        let epsilon = match aval.dtype.part() {
            DType::F64 => f64::EPSILON,
            DType::F16 => f64::from(half::f16::EPSILON),
            DType::BF16 => f64::from(half::bf16::EPSILON),
            _ => f64::from(f32::EPSILON),
        };
        let (to, ambiguous) = (aval.dtype.part(), aval.ambiguous);
        Ok(vec![self.builder.literal(Literal::new(epsilon).convert(to), ambiguous)])
    }

    /// The only operand, which has square matrices of floats or complex numbers.
    fn square(&mut self, function: &str, operands: &[Value]) -> Result<Value> {
        arity(function, operands.len(), 1)?;
        let a = self.promote(operands, INEXACT)?[0];
        self.check_square(function, "operand", a)?;
        Ok(a)
    }

    /// The diagonal of the upper factor of square matrices, 1 or -1 for each of its elements, whose product is
    /// the sign of the order of rows, and the axis of both.
    fn pivots(&mut self, a: Value) -> Result<(Value, Value, Axis)> {
        let factors = self.op("lu", &[a], &Attrs::new())?;
        let shape = self.shape(factors[1]);
        let axis = Axis(shape.rank() - 1);
        let math = Math::new(self.builder);
        let [diagonal, pivots] = [math.var(factors[0]).diagonal(), math.var(factors[1])];
        // Each exchange of a row with another one turns the sign.
        let place = Iota { axis, to: Ranked::known(DType::I32), shape, start: 0 };
        let one = diagonal.of(1.0);
        let turns = pivots.compare(Compare::eq, math.apply(place, &[])).select(one, -one);
        let made = (diagonal.value(), turns.value(), axis);
        math.finish()?;
        Ok(made)
    }

    /// The determinants of real matrices of two or three rows, by products of their elements: a few operations, which
    /// are part of the group around them, and whose derivative is that of singular matrices too. `None` for others;
    /// those of 16 bits are computed in single precision by their factors.
    fn small_det(&mut self, a: Value) -> Result<Option<Value>> {
        let Aval { dtype, shape, .. } = self.aval(a);
        let lead = shape.rank() - 2;
        let (n, batch) = (shape[lead], Shape::try_new(shape[..lead].to_vec())?);
        if !matches!(n, 2 | 3) || !matches!(dtype, DType::F32 | DType::F64) {
            return Ok(None);
        }
        let math = Math::new(self.builder);
        let x = math.var(a);
        let at = |i: usize, j: usize| {
            x.section(Axis(lead), i, i + 1).section(Axis(lead + 1), j, j + 1).reshaped(&batch)
        };
        // Of rows from `i` on, in columns `j` and `k`.
        let minor = |i: usize, j: usize, k: usize| at(i, j) * at(i + 1, k) - at(i, k) * at(i + 1, j);
        let out = match n {
            2 => minor(0, 0, 1),
            _ => at(0, 0) * minor(1, 1, 2) - at(0, 1) * minor(1, 0, 2) + at(0, 2) * minor(1, 0, 1),
        };
        let out = out.value();
        math.finish()?;
        Ok(Some(out))
    }

    /// The determinant: the product of the diagonal of the upper factor, with the sign of the order of rows.
    fn det(&mut self, operands: &[Value]) -> Result<Vec<Value>> {
        let a = self.square("nv_det", operands)?;
        if let Some(out) = self.small_det(a)? {
            return Ok(vec![out]);
        }
        let (diagonal, turns, axis) = self.pivots(a)?;
        let math = Math::new(self.builder);
        let [diagonal, turns] = [diagonal, turns].map(|x| math.var(x));
        let out =
            math.apply(Reduction { fold: Fold::Prod, axes: vec![axis], drop: true }, &[diagonal * turns]);
        let out = out.value();
        math.finish()?;
        Ok(vec![out])
    }

    /// The sign (of complex matrices the direction) of the determinant, and the logarithm of its size.
    fn slogdet(&mut self, operands: &[Value]) -> Result<Vec<Value>> {
        let a = self.square("nv_slogdet", operands)?;
        let (diagonal, turns, axis) = self.pivots(a)?;
        let math = Math::new(self.builder);
        let [diagonal, turns] = [diagonal, turns].map(|x| math.var(x));
        let is_complex = diagonal.aval().dtype.is_complex();
        let size = if is_complex { diagonal.part(Part::magnitude) } else { diagonal.unary(Unary::abs) };
        let direction = if is_complex {
            let real = size.complex(size.of(0.0));
            size.compare(Compare::eq, size.of(0.0)).select(diagonal.of(0.0), diagonal / real)
        } else {
            diagonal.sign()
        };
        let folded = |x, fold| math.apply(Reduction { fold, axes: vec![axis], drop: true }, &[x]).value();
        let (sign, log) = (folded(direction * turns, Fold::Prod), folded(size.unary(Unary::log), Fold::Sum));
        math.finish()?;
        Ok(vec![sign, log])
    }
}
