//! The language of derivative rules: arithmetic on values of a graph under construction.
//!
//! A rule is written as the formula of a textbook, `|x, y| y * 0.5 / x`, and adds nodes. So a derivative is a
//! graph like any other, and can be differentiated again. Operands of a rule have one dtype and shape;
//! numbers take on both.
//!
//! Complex numbers follow JAX: the gradient of a real function of `x + iy` is its derivative by `x` minus `i`
//! times that by `y`, so that holomorphic ops have one rule for real and complex numbers.

use super::create::uniform;
use super::layout::Order;
use super::{
    Binary, BitcastConvert, BroadcastInDim, Builder, Compare, Concatenate, Convert, Graph, MakeComplex, Op,
    Pad, Part, Predicate, Reduction, Reshape, StaticSlice, Ternary, Transpose, Unary,
};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::kernels::reductions::fold::Fold;
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, Literal};
use num_complex::Complex;
use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// The partial derivatives of an elementwise op.
pub enum Slope<F> {
    /// These factors.
    By(F),
    /// These factors; the second field is the reason why one is missing.
    Partly(F, &'static str),
    /// Zero: the result is piecewise constant.
    Flat,
    /// A rule that is not written; the reason, for the user.
    Todo(&'static str),
}

/// The derivative of an elementwise op of one operand, from the operand and the result.
pub type Slope1 = Slope<for<'m, 'b> fn(Var<'m, 'b>, Var<'m, 'b>) -> Var<'m, 'b>>;
/// The derivatives of an elementwise op of two operands.
pub type Slope2 = Slope<Rule2>;
/// A function that gives both, from the operands and the result; `None` is a rule that is not written.
pub type Rule2 = for<'m, 'b> fn(Var<'m, 'b>, Var<'m, 'b>, Var<'m, 'b>) -> [Option<Var<'m, 'b>>; 2];

/// A graph that a rule adds to.
pub struct Math<'b> {
    builder: RefCell<&'b mut Builder>,
    /// The first error. Formulas go on with a placeholder; [`Math::finish`] returns the error.
    fault: RefCell<Option<Error>>,
}

impl<'b> Math<'b> {
    /// Rules that add to `builder`.
    pub fn new(builder: &'b mut Builder) -> Math<'b> {
        Math { builder: RefCell::new(builder), fault: RefCell::default() }
    }

    /// The value as a variable of a formula.
    pub fn var<'m>(&'m self, value: Value) -> Var<'m, 'b> {
        Var { math: self, value }
    }

    /// A value of this type that is this number everywhere.
    pub fn fill(&self, number: f64, aval: &Aval) -> Var<'_, 'b> {
        self.repeat(Literal::new(number).convert(aval.dtype), aval.ambiguous, &aval.shape)
    }

    /// A value of this shape and ambiguity that is this literal everywhere.
    pub(crate) fn repeat(&self, literal: Literal, ambiguous: Option<DType>, shape: &Shape) -> Var<'_, 'b> {
        let scalar = self.builder.borrow_mut().literal(literal, ambiguous);
        self.var(scalar).repeated(shape, &[])
    }

    /// Applies an op of one result.
    pub fn apply(&self, op: impl Into<Op>, operands: &[Var<'_, 'b>]) -> Var<'_, 'b> {
        let values: Vec<Value> = operands.iter().map(|x| x.value).collect();
        let made = self.builder.borrow_mut().node1(op, &values);
        self.var(made.unwrap_or_else(|error| {
            self.fail(error);
            let mut builder = self.builder.borrow_mut();
            values.first().copied().unwrap_or_else(|| builder.literal(Literal::new(0.0), None))
        }))
    }

    /// Applies an op of any number of results. There are none if the op fails.
    pub fn apply_all(&self, op: impl Into<Op>, operands: &[Var<'_, 'b>]) -> Vec<Var<'_, 'b>> {
        let values: Vec<Value> = operands.iter().map(|x| x.value).collect();
        let made = self.builder.borrow_mut().node(op, &values);
        made.map_err(|error| self.fail(error)).unwrap_or_default().into_iter().map(|v| self.var(v)).collect()
    }

    /// Adds the nodes of a graph without constants, with these values for its inputs; returns its outputs.
    ///
    /// # Errors
    /// Those of [`Builder::inline`].
    pub fn inline(&self, graph: &Graph, inputs: &[Var<'_, 'b>]) -> Result<Vec<Var<'_, 'b>>> {
        let values: Vec<Value> = inputs.iter().map(|x| x.value).collect();
        let made = self.builder.borrow_mut().inline(graph, &values)?;
        Ok(made.into_iter().map(|v| self.var(v)).collect())
    }

    /// Records an error, which [`Math::finish`] returns.
    pub(crate) fn fail(&self, error: Error) {
        self.fault.borrow_mut().get_or_insert(error);
    }

    /// A value of this shape that is this literal everywhere.
    pub(crate) fn literal(&self, literal: Literal, shape: &Shape) -> Var<'_, 'b> {
        self.repeat(literal, None, shape)
    }

    /// Type of a value.
    pub fn aval(&self, value: Value) -> Aval {
        self.builder.borrow().graph().aval(value).clone()
    }

    /// Ends the formulas.
    ///
    /// # Errors
    /// The first error of any op.
    pub fn finish(self) -> Result<()> {
        self.fault.into_inner().map_or(Ok(()), Err)
    }
}

/// A value in a formula.
#[derive(Clone, Copy)]
pub struct Var<'m, 'b> {
    math: &'m Math<'b>,
    value: Value,
}

// Formulas call these thousands of times, each once for a node that takes a microsecond: inlined, they would be
// most of the code of formulas.
impl<'m, 'b> Var<'m, 'b> {
    /// The value.
    pub fn value(self) -> Value {
        self.value
    }

    /// Its type.
    #[inline(never)]
    pub fn aval(self) -> Aval {
        self.math.aval(self.value)
    }

    /// The result of an op on it and others.
    pub(crate) fn apply(self, op: impl Into<Op>, others: &[Var<'m, 'b>]) -> Var<'m, 'b> {
        let operands: Vec<Value> =
            std::iter::once(self.value).chain(others.iter().map(|x| x.value)).collect();
        let operands: Vec<Var> = operands.into_iter().map(|v| self.math.var(v)).collect();
        self.math.apply(op, &operands)
    }

    /// A number of the same type.
    #[inline(never)]
    pub fn of(self, number: f64) -> Var<'m, 'b> {
        self.math.fill(number, &self.aval())
    }

    /// A number of its dtype as a 0-d value.
    #[inline(never)]
    pub fn scalar(self, number: f64) -> Var<'m, 'b> {
        self.math.fill(number, &Aval { shape: Shape::scalar(), ..self.aval() })
    }

    /// A value of its dtype and this shape that is this number everywhere.
    #[inline(never)]
    pub fn filled(self, number: f64, shape: &[usize]) -> Var<'m, 'b> {
        match Shape::try_new(shape.to_vec()) {
            Ok(shape) => self.math.fill(number, &Aval { shape, ..self.aval() }),
            Err(error) => {
                self.math.fail(error);
                self
            }
        }
    }

    /// The graph that it belongs to.
    pub(crate) fn math(self) -> &'m Math<'b> {
        self.math
    }

    /// A whole number of the same type, modulo `2^bits` for an integer.
    #[inline(never)]
    pub(crate) fn integer(self, number: i64) -> Var<'m, 'b> {
        let aval = self.aval();
        self.math.literal(Literal::new(number).convert(aval.dtype), &aval.shape)
    }

    /// The same bits in another dtype.
    #[inline(never)]
    pub(crate) fn bitcast(self, dtype: DType) -> Var<'m, 'b> {
        self.apply(BitcastConvert { dtype }, &[])
    }

    /// The same elements in another shape, both read in row-major order.
    #[inline(never)]
    pub(crate) fn reread(self, sizes: Vec<usize>) -> Var<'m, 'b> {
        match Shape::try_new(sizes) {
            Ok(shape) if shape == self.aval().shape => self,
            Ok(shape) => self.apply(Reshape { shape, order: Order::Row }, &[]),
            Err(error) => {
                self.math.fail(error);
                self
            }
        }
    }

    /// Concatenated with others along an axis.
    #[inline(never)]
    pub(crate) fn beside(self, others: &[Var<'m, 'b>], axis: Axis) -> Var<'m, 'b> {
        self.apply(Concatenate { axis }, others)
    }

    /// Elements `from..to` along an axis.
    #[inline(never)]
    pub(crate) fn section(self, axis: Axis, from: usize, to: usize) -> Var<'m, 'b> {
        let shape = self.aval().shape;
        if (from, to) == (0, shape[axis.0]) {
            return self;
        }
        self.apply(StaticSlice::along(&shape, axis, from..to), &[])
    }

    /// The result of an op without operands.
    #[inline(never)]
    pub(crate) fn made(self, op: impl Into<Op>) -> Var<'m, 'b> {
        self.math.apply(op, &[])
    }

    /// The same elements in another shape.
    #[inline(never)]
    pub fn reshaped(self, shape: &Shape) -> Var<'m, 'b> {
        if self.aval().shape == *shape {
            return self;
        }
        self.apply(Reshape { shape: shape.clone(), order: Order::Column }, &[])
    }

    /// The axes in another order.
    #[inline(never)]
    pub fn transposed(self, permutation: Vec<Axis>) -> Var<'m, 'b> {
        if permutation.iter().enumerate().all(|(i, axis)| axis.0 == i) {
            return self;
        }
        self.apply(Transpose { permutation }, &[])
    }

    /// An elementwise op on it.
    #[inline(never)]
    pub fn unary(self, op: Unary) -> Var<'m, 'b> {
        self.apply(op, &[])
    }

    /// An elementwise op on it and another one.
    #[inline(never)]
    pub fn binary(self, op: Binary, other: Var<'m, 'b>) -> Var<'m, 'b> {
        // Known numbers, such as an exponent less 1, are computed here: no pass does constant folding on
        // values that have a shape. In f64 a sum or product of narrower floats is rounded once more without
        // harm.
        if let (true, Some(a), Some(b)) = (self.aval().dtype.is_float(), self.known(), other.known()) {
            let folds: [(Binary, fn(f64, f64) -> f64); 3] =
                [(Binary::add, |a, b| a + b), (Binary::sub, |a, b| a - b), (Binary::mul, |a, b| a * b)];
            if let Some((_, fold)) = folds.iter().find(|(one, _)| *one == op) {
                return self.of(fold(a.re, b.re));
            }
        }
        self.apply(op, &[other])
    }

    /// A comparison with another one.
    #[inline(never)]
    pub fn compare(self, op: Compare, other: Var<'m, 'b>) -> Var<'m, 'b> {
        self.apply(op, &[other])
    }

    /// A property of each element.
    #[inline(never)]
    pub fn predicate(self, op: Predicate) -> Var<'m, 'b> {
        self.apply(op, &[])
    }

    /// `yes` where it, a condition, holds, `no` elsewhere.
    #[inline(never)]
    pub fn select(self, yes: Var<'m, 'b>, no: Var<'m, 'b>) -> Var<'m, 'b> {
        self.apply(Ternary::Select, &[yes, no])
    }

    /// Converted to another dtype.
    #[inline(never)]
    pub fn convert(self, dtype: DType) -> Var<'m, 'b> {
        if self.aval().dtype == dtype {
            self
        } else {
            self.apply(Convert::known(dtype), &[])
        }
    }

    /// Broadcast to a shape: its axes become the `axes` of the result.
    #[inline(never)]
    pub fn repeated(self, shape: &Shape, axes: &[Axis]) -> Var<'m, 'b> {
        if self.aval().shape == *shape {
            return self;
        }
        self.apply(BroadcastInDim { shape: shape.clone(), axes: axes.to_vec() }, &[])
    }

    /// The placeholder of a formula that fails.
    pub(crate) fn failed(self, error: Error) -> Var<'m, 'b> {
        self.math.fail(error);
        self
    }

    /// With an axis moved to the end.
    pub(crate) fn moved_last(self, axis: Axis) -> Var<'m, 'b> {
        let mut order: Vec<Axis> = (0..self.aval().shape.rank()).map(Axis).collect();
        order.remove(axis.0);
        order.push(axis);
        self.transposed(order)
    }

    /// With the last axis, that of a batch, moved to the front.
    pub(crate) fn batch_first(self) -> Var<'m, 'b> {
        let rank = self.aval().shape.rank();
        self.transposed(Transpose::inverse(&Transpose::first_to_end(rank)))
    }

    /// With the first axis, that of a batch, moved to the end.
    pub(crate) fn batch_last(self) -> Var<'m, 'b> {
        self.moved_last(Axis(0))
    }

    /// Repeated along a new last axis, that of a batch.
    pub(crate) fn along_batch(self, size: usize) -> Var<'m, 'b> {
        let shape = self.aval().shape;
        let axes: Vec<Axis> = (0..shape.rank()).map(Axis).collect();
        match shape.with_last(size) {
            Ok(shape) => self.repeated(&shape, &axes),
            Err(error) => self.failed(error),
        }
    }

    /// Summed over axes, which are dropped.
    #[inline(never)]
    pub fn summed(self, axes: Vec<Axis>) -> Var<'m, 'b> {
        if axes.is_empty() {
            return self;
        }
        self.apply(Reduction { fold: Fold::Sum, axes, drop: true }, &[])
    }

    /// Padded with a value; negative amounts cut off elements.
    pub(crate) fn padded(
        self,
        value: f64,
        low: Vec<i64>,
        high: Vec<i64>,
        interior: Vec<usize>,
    ) -> Var<'m, 'b> {
        let value = self.scalar(value);
        self.apply(Pad { low, high, interior }, &[value])
    }

    /// A part of a complex number.
    #[inline(never)]
    pub fn part(self, part: Part) -> Var<'m, 'b> {
        self.apply(part, &[])
    }

    /// The complex number of these parts.
    #[inline(never)]
    pub fn complex(self, imaginary: Var<'m, 'b>) -> Var<'m, 'b> {
        self.apply(MakeComplex, &[imaginary])
    }

    /// The square.
    #[inline(never)]
    pub fn squared(self) -> Var<'m, 'b> {
        self * self
    }

    /// The chain rule: this, the gradient of a result, times the derivative of the result. Where the gradient
    /// is 0 the product is 0, even if the derivative is infinite or NaN, as in a branch that a select did not
    /// take.
    pub fn chain(self, derivative: Var<'m, 'b>) -> Var<'m, 'b> {
        let one = Complex::from(1.0);
        match derivative.known() {
            Some(z) if z == one => self,
            Some(z) if z == -one => -self,
            _ if self.known() == Some(one) => derivative,
            // A finite factor makes no NaN of a zero gradient.
            Some(z) if z.is_finite() => derivative * self,
            _ if self.known().is_some_and(|z| z != Complex::default()) => derivative * self,
            _ => derivative.binary(Binary::mul_no_nan, self),
        }
    }

    /// The element that it has everywhere, if it is known.
    pub(crate) fn literal(self) -> Option<Literal> {
        uniform(self.math.builder.borrow().graph(), self.value)
    }

    /// The number that all its elements equal, if it is known.
    pub(crate) fn known(self) -> Option<Complex<f64>> {
        self.literal().map(|literal| literal.get())
    }
}

macro_rules! arithmetic {
    ($($trait:ident $method:ident $op:ident;)+) => {$(
        impl<'m, 'b> $trait for Var<'m, 'b> {
            type Output = Var<'m, 'b>;
            #[inline(never)]
            fn $method(self, other: Var<'m, 'b>) -> Var<'m, 'b> { self.binary(Binary::$op, other) }
        }
        impl<'m, 'b> $trait<f64> for Var<'m, 'b> {
            type Output = Var<'m, 'b>;
            #[inline(never)]
            fn $method(self, number: f64) -> Var<'m, 'b> { self.binary(Binary::$op, self.of(number)) }
        }
        impl<'m, 'b> $trait<Var<'m, 'b>> for f64 {
            type Output = Var<'m, 'b>;
            #[inline(never)]
            fn $method(self, x: Var<'m, 'b>) -> Var<'m, 'b> { x.of(self).binary(Binary::$op, x) }
        }
    )+};
}
arithmetic! { Add add add; Sub sub sub; Mul mul mul; Div div div; }

impl<'m, 'b> Neg for Var<'m, 'b> {
    type Output = Var<'m, 'b>;
    #[inline(never)]
    fn neg(self) -> Var<'m, 'b> {
        self.unary(Unary::negate)
    }
}

macro_rules! functions {
    ($($name:ident)+) => {
        /// Elementwise functions by the names of their rows.
        #[allow(missing_docs)]
        impl<'m, 'b> Var<'m, 'b> {
            $(#[inline(never)] pub fn $name(self) -> Var<'m, 'b> { self.unary(Unary::$name) })+
        }
    };
}
functions! { exp log sin cos sinh cosh sqrt sign digamma floor trunc conj }
