//! Lowerings to StableHLO, as data: [`OpDef::lower`](super::OpDef::lower) names the operation that an op
//! becomes, or the formula of other ops. `hlo` writes operations and builds formulas.
//!
//! The meaning of an op is that of its kernel. It becomes an operation only where StableHLO's has the same
//! meaning, or leaves open a case that XLA decides as we do (shifts beyond the width, conversions of floats
//! beyond the range of integers).

use super::{
    BitcastConvert, Cholesky, Convert, Cumulative, Custom, DotGeneral, Eigh, Fourier, If, Iota, LuSolve, Qr,
    Reduction, Reshape, RngBits, Scan, Scatter, Special, Svd, TopK, TriangularSolve, Unary, While, Windows,
};
use crate::dtype::DType;
use crate::kernels::products::convolution::Window;
use crate::shape::{join, Axis};
use crate::tensor::{Aval, Literal};

// ---- rows of elementwise ops ---------------------------------------------------------------------------------------

/// The lowering in the row of an elementwise op; `F` names formulas of as many operands.
pub enum Lower<F> {
    /// An operation of StableHLO or CHLO, by its name with that of the dialect.
    Op(&'static str),
    /// An operation for dtypes that satisfy the predicate, a formula for the others that are accepted. In its
    /// own formula, on the dtype that it is lowered for, the op is the operation.
    On(fn(DType) -> bool, &'static str, F),
    /// A formula. On 16-bit floats it is computed in f32 and rounded once, as the kernels do.
    Formula(F),
}

/// The lowering of an elementwise op of one operand.
pub type UnaryLower = Lower<UnaryFormula>;
/// The lowering of an elementwise op of two operands.
pub type BinaryLower = Lower<BinaryFormula>;

/// Formulas of one operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryFormula {
    /// The operand.
    Same,
    /// The whole part.
    Trunc,
    /// The conjugate.
    Conj,
    /// The argument of a complex number.
    Arg,
    /// Whether numbers are finite.
    IsFinite,
    /// Whether numbers are infinite.
    IsInfinite,
    /// Whether numbers are NaN.
    IsNan,
    /// The power of 2.
    Exp2,
    /// `log(1 + exp(x))`.
    Softplus,
    /// Logarithm to base 2.
    Log2,
    /// Logarithm to base 10.
    Log10,
    /// `log(1 + x)`.
    Log1p,
    /// Hyperbolic sine.
    Sinh,
    /// Hyperbolic cosine.
    Cosh,
    /// Inverse hyperbolic tangent.
    Atanh,
    /// Complementary error function.
    Erfc,
    /// Inverse of the error function.
    ErfInv,
    /// Sine of a multiple of pi.
    Sinpi,
    /// Cosine of a multiple of pi.
    Cospi,
    /// Tangent of a multiple of pi.
    Tanpi,
    /// Gamma function.
    Gamma,
    /// Scaled complementary error function.
    Erfcx,
    /// Quantile of the normal distribution.
    Probit,
    /// Logarithm of the absolute value of the gamma function.
    Lgamma,
    /// Derivative of the logarithm of the gamma function.
    Digamma,
    /// Exponential of complex numbers.
    ComplexExp,
    /// Sine of complex numbers.
    ComplexSin,
    /// Cosine of complex numbers.
    ComplexCos,
    /// This op on complex numbers, by its values above the real axis.
    UpperHalf(Unary),
    /// This odd op on complex numbers, by its values in the first quadrant.
    FirstQuadrant(Unary),
}

/// Formulas of two operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinaryFormula {
    /// Logical or.
    Or,
    /// The product, or the second operand where that is 0.
    MulNoNan,
    /// Quotient of integers.
    Quotient,
    /// Powers of integers: a loop.
    IntegerPower,
    /// Remainder of integers.
    Remainder,
    /// Remainder with the sign of the divisor.
    Modulo,
    /// Quotient rounded down.
    FloorQuotient,
    /// Polygamma function.
    Polygamma,
}

/// Floats and complex numbers.
pub(super) fn inexact(dtype: DType) -> bool {
    dtype.part().is_float()
}

/// Floats of up to 32 bits.
pub(super) fn single(dtype: DType) -> bool {
    dtype.is_float() && dtype != DType::F64
}

impl<F: Copy> Lower<F> {
    fn choose<'a>(&self, dtype: DType, formula: impl FnOnce(F) -> Formula<'a>) -> Lowering<'a> {
        match *self {
            Lower::Op(name) => Lowering::Op(elementwise(name)),
            Lower::On(suits, name, _) if suits(dtype) => Lowering::Op(elementwise(name)),
            Lower::On(_, name, id) => Lowering::Formula(formula(id), Some(elementwise(name))),
            Lower::Formula(id) => Lowering::Formula(formula(id), None),
        }
    }
}

impl UnaryLower {
    /// The lowering for an operand of this dtype, which is the result's too.
    pub(super) fn on<'a>(&self, dtype: DType) -> Lowering<'a> {
        self.choose(dtype, Formula::Unary)
    }

    /// The lowering for an operand of this dtype; the result may have another.
    pub(super) fn property<'a>(&self, dtype: DType) -> Lowering<'a> {
        let signed = |op: HloOp<'a>| signature(op.name, "");
        match self.choose(dtype, Formula::Property) {
            Lowering::Op(op) => Lowering::Op(signed(op)),
            Lowering::Formula(formula, own) => Lowering::Formula(formula, own.map(signed)),
            todo @ Lowering::Todo { .. } => todo,
        }
    }
}

impl BinaryLower {
    /// The lowering for operands of this dtype.
    pub(super) fn on<'a>(&self, dtype: DType) -> Lowering<'a> {
        self.choose(dtype, Formula::Binary)
    }
}

// ---- all ops -------------------------------------------------------------------------------------------------------

/// The lowering of an op on operands of known types.
#[derive(Clone, PartialEq, Debug)]
pub enum Lowering<'a> {
    /// To one operation.
    Op(HloOp<'a>),
    /// To a formula of other ops, in which the op itself, on the dtype that it is lowered for, is this
    /// operation.
    Formula(Formula<'a>, Option<HloOp<'a>>),
    /// None: the reason and what to do instead, for the user.
    Todo {
        /// Continues "cannot be exported:".
        why: &'static str,
        /// A sentence, or nothing.
        hint: &'static str,
    },
}

/// A formula of other ops, which are lowered in turn.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Formula<'a> {
    /// Of one operand, computed in f32 and rounded once if it is a 16-bit float.
    Unary(UnaryFormula),
    /// Of one operand in its own dtype, which the result need not have.
    Property(UnaryFormula),
    /// Of two operands, computed in f32 and rounded once if they are 16-bit floats.
    Binary(BinaryFormula),
    /// A clamp of booleans.
    ClampBooleans,
    /// A conversion that compilers define differently.
    Convert(&'a Convert),
    /// Bits of complex numbers and booleans.
    Bitcast(&'a BitcastConvert),
    /// A reduction that keeps axes, or is no fold by one operation.
    Reduce(&'a Reduction),
    /// A cumulation in as many steps as the number of elements has bits.
    Cumulative(&'a Cumulative),
    /// A transform of real numbers to as many complex ones, or along another axis than the last.
    Fourier(&'a Fourier),
    /// The op itself on operands of 16 bits as f32, rounded once.
    InSingle,
    /// A reshape in column-major order.
    Reshape(&'a Reshape),
    /// A product whose batching axes come last.
    Product(&'a DotGeneral),
    /// Counting from another number than 0, or beyond what a float holds exactly.
    Count(&'a Iota),
    /// The op itself with indices, which begin with this operand, of 32 bits or more.
    WideIndices(usize),
    /// A scatter by windows.
    Scatter(&'a Scatter),
    /// A scatter element by element.
    ScatterLoop(&'a Scatter),
    /// Random bits of integer ops.
    Random(&'a RngBits),
    /// The first positions of an order.
    TopK(&'a TopK),
    /// The factor alone, and NaN for matrices that have none.
    Cholesky(&'a Cholesky),
    /// Equations with a triangular matrix, those of numbers of 16 bits in f32.
    TriangularSolve(&'a TriangularSolve),
    /// Elimination column by column.
    Lu,
    /// Two triangular equations.
    LuSolve(&'a LuSolve),
    /// Reflectors column by column.
    Qr(&'a Qr),
    /// Jacobi's method from both sides.
    Eigh(&'a Eigh),
    /// Jacobi's method from one side.
    Svd(&'a Svd),
    /// A special function in f64.
    Special(Special),
    /// A scan as a loop.
    Scan(&'a Scan),
    /// The function that has a derivative of its own.
    Call(&'a Custom),
}

/// An operation of StableHLO or CHLO.
#[derive(Clone, PartialEq, Debug)]
pub struct HloOp<'a> {
    /// Its name with that of the dialect.
    pub name: &'static str,
    /// The syntax of the rest.
    pub syntax: Syntax<'a>,
}

/// The syntax of an operation: `%x` are operands, `t` types.
#[derive(Clone, PartialEq, Debug)]
pub enum Syntax<'a> {
    /// `op %x, %y : t`, the type of the result.
    Result,
    /// `op %x, %y : t, t -> t`.
    Arrow,
    /// `op %x, %y, %z : t, t`, types of the first operand and of the result.
    FirstAndResult,
    /// `op attributes : t`, the type of the result.
    NoOperands(String),
    /// `op %x, %y attributes : (t, t) -> t`; attributes bring their own comma.
    Signature(String),
    /// As [`Syntax::Signature`], with a result of this dtype, which is then converted.
    Accumulated(DType, String),
    /// `"op"(%x, %y) <{attributes}> : (t, t) -> t`.
    Generic(String),
    /// `op direction, %x, %y, kind : (t, t) -> t`.
    Compare(&'static str, &'static str),
    /// `op value`.
    Constant(Literal),
    /// A fold.
    Reduce {
        /// The operation that folds two elements.
        by: &'static str,
        /// The initial value of the fold.
        init: Literal,
        /// The axes that are folded.
        axes: &'a [Axis],
    },
    /// A fold of windows.
    Windows {
        /// The operation that folds two elements.
        by: &'static str,
        /// The initial value of the fold.
        init: Literal,
        /// The windows along each axis.
        windows: &'a [Window],
    },
    /// Operands sorted together by what comes first, each with a direction.
    Sort {
        /// The axis.
        axis: Axis,
        /// For each operand, whether the largest comes first.
        descending: Vec<bool>,
        /// Whether the result is not the first operand but the positions of its elements.
        positions: bool,
    },
    /// Windows updated by others, with these attributes.
    Scatter(&'a Scatter, String),
    /// One of two regions.
    If(&'a If),
    /// A region repeated.
    While(&'a While),
}

/// An elementwise operation whose operands and result have one type.
pub(super) fn elementwise<'a>(name: &'static str) -> HloOp<'a> {
    // CHLO has no short form.
    HloOp { name, syntax: if name.starts_with("chlo.") { Syntax::Arrow } else { Syntax::Result } }
}

/// An operation whose types are written as a signature.
pub(super) fn signature<'a>(name: &'static str, attributes: impl Into<String>) -> HloOp<'a> {
    HloOp { name, syntax: Syntax::Signature(attributes.into()) }
}

/// The operation if it has the same meaning, else a formula.
pub(super) fn op_if<'a>(same: bool, op: HloOp<'a>, formula: Formula<'a>) -> Lowering<'a> {
    if same {
        Lowering::Op(op)
    } else {
        Lowering::Formula(formula, Some(op))
    }
}

/// Numbers of axes, from 0.
pub(super) fn axes(axes: &[Axis]) -> String {
    list(&axes.iter().map(|axis| axis.0).collect::<Vec<_>>())
}

/// Numbers in brackets.
pub(super) fn list<T: std::fmt::Display>(numbers: &[T]) -> String {
    format!("[{}]", join(numbers, ", "))
}

/// Whether indices can hold any position: a compiler that clamps them in their own dtype needs the sizes to
/// fit there.
pub(super) fn are_wide(indices: &[Aval]) -> bool {
    indices.iter().all(|x| matches!(x.dtype, DType::I32 | DType::I64))
}

impl Windows {
    /// The attributes, by StableHLO's names for the sets of axes: of the windows, dropped, batching, those of
    /// the indices, and the map.
    pub(super) fn lower(&self, names: [&str; 5]) -> String {
        let axes_of =
            [&self.window_axes, &self.dropped, &self.batching, &self.index_batching, &self.index_map];
        let used = names.into_iter().zip(axes_of).filter(|(_, list)| !list.is_empty());
        let mut all: Vec<String> = used.map(|(name, list)| format!("{name} = {}", axes(list))).collect();
        all.push(format!("index_vector_dim = {}", self.index_vector_axis.0));
        join(&all, ", ")
    }
}
