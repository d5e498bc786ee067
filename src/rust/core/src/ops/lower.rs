//! How ops are lowered to StableHLO, as data: [`Op::lower`] says which operation an op becomes, or names the
//! formula of other ops that it becomes. `hlo` writes the one and builds the other.
//!
//! What an op means is what its kernel does. It becomes an operation only where StableHLO's means the same, or
//! leaves open what XLA decides as we do (shifts beyond the width, conversions of floats beyond the range of
//! integers).

use super::layout::Order;
use super::{
    Binary, BitcastConvert, Compare, Convert, Custom, DotGeneral, Fill, Gather, Graph, If, Iota, Op,
    Reduction, Reshape, RngBits, Scan, Scatter, StaticSlice, Ternary, Unary, While, Windows,
};
use crate::dtype::{DType, Kind};
use crate::kernels::reductions::fold::Fold;
use crate::shape::{join, Axis};
use crate::tensor::{Aval, Literal};

// ---- rows of elementwise ops ---------------------------------------------------------------------------------------

/// How the row of an elementwise op says it; `F` names formulas of that many operands.
pub enum Lower<F> {
    /// An operation of StableHLO or CHLO, by its name with that of the dialect.
    Op(&'static str),
    /// An operation for the dtypes of which this holds, a formula for the others that are accepted. In its own
    /// formula, on the dtype that it is lowered for, the op is the operation.
    On(fn(DType) -> bool, &'static str, F),
    /// A formula. On 16-bit floats it is computed in f32 and rounded once, as the kernels do.
    Formula(F),
    /// Nothing yet, because of this.
    Todo(&'static str),
}

/// How an elementwise op of one operand is lowered.
pub type UnaryLower = Lower<UnaryFormula>;
/// How an elementwise op of two operands is lowered.
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
    /// What it says for operands of this dtype.
    fn on<'a>(&self, dtype: DType, formula: impl FnOnce(F) -> Formula<'a>) -> Lowering<'a> {
        match *self {
            Lower::Op(name) => Lowering::Op(elementwise(name)),
            Lower::On(suits, name, _) if suits(dtype) => Lowering::Op(elementwise(name)),
            Lower::On(_, name, id) => Lowering::Formula(formula(id), Some(elementwise(name))),
            Lower::Formula(id) => Lowering::Formula(formula(id), None),
            Lower::Todo(why) => Lowering::Todo { why, hint: "" },
        }
    }
}

// ---- all ops -------------------------------------------------------------------------------------------------------

/// How an op is lowered on operands of known types.
#[derive(Clone, PartialEq, Debug)]
pub enum Lowering<'a> {
    /// To one operation.
    Op(HloOp<'a>),
    /// To a formula of other ops, in which the op itself, on the dtype that it is lowered for, is this
    /// operation.
    Formula(Formula<'a>, Option<HloOp<'a>>),
    /// Not at all: the reason, which the user reads, and what to do instead.
    Todo {
        /// Goes on after "cannot be exported:".
        why: &'static str,
        /// A sentence, or nothing.
        hint: &'static str,
    },
}

/// A formula of other ops. Ops in it are lowered in their turn.
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
    /// A conversion that compilers do in another way.
    Convert(&'a Convert),
    /// Bits of complex numbers and booleans.
    Bitcast(&'a BitcastConvert),
    /// A reduction that keeps dimensions, or is no fold by one operation.
    Reduce(&'a Reduction),
    /// A reshape in column-major order.
    Reshape(&'a Reshape),
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
    /// How the rest is written.
    pub syntax: Syntax<'a>,
}

/// How an operation is written: `%x` are operands, `t` types.
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
        /// What a fold begins with.
        init: Literal,
        /// The dimensions that are folded.
        axes: &'a [Axis],
    },
    /// Windows updated by others, with these attributes.
    Scatter(&'a Scatter, String),
    /// One of two regions.
    If(&'a If),
    /// A region repeated.
    While(&'a While),
}

/// An elementwise operation on operands of one type; with other types there are more to write.
fn elementwise<'a>(name: &'static str) -> HloOp<'a> {
    // CHLO has no short form.
    HloOp { name, syntax: if name.starts_with("chlo.") { Syntax::Arrow } else { Syntax::Result } }
}

/// An operation whose types are a signature.
fn signature<'a>(name: &'static str, attributes: impl Into<String>) -> HloOp<'a> {
    HloOp { name, syntax: Syntax::Signature(attributes.into()) }
}

/// A property of each element: its type is not that of the operand.
fn property<'a>(lowering: Lowering<'a>) -> Lowering<'a> {
    let signed = |op: HloOp<'a>| signature(op.name, "");
    match lowering {
        Lowering::Op(op) => Lowering::Op(signed(op)),
        Lowering::Formula(formula, own) => Lowering::Formula(formula, own.map(signed)),
        todo @ Lowering::Todo { .. } => todo,
    }
}

/// The operation if it means the same, else a formula.
fn op_if<'a>(same: bool, op: HloOp<'a>, formula: Formula<'a>) -> Lowering<'a> {
    if same {
        Lowering::Op(op)
    } else {
        Lowering::Formula(formula, Some(op))
    }
}

fn axes(axes: &[Axis]) -> String {
    list(&axes.iter().map(|axis| axis.0).collect::<Vec<_>>())
}

fn list<T: std::fmt::Display>(numbers: &[T]) -> String {
    format!("[{}]", join(numbers, ", "))
}

/// Whether indices can hold any position: a compiler that clamps them in their own dtype needs the sizes to
/// fit there.
fn are_wide(indices: &[Aval]) -> bool {
    indices.iter().all(|x| matches!(x.dtype, DType::I32 | DType::I64))
}

impl Op {
    /// How it is lowered on operands of these types.
    pub fn lower(&self, operands: &[Aval]) -> Lowering<'_> {
        let dtype = operands.first().map_or(DType::F32, |x| x.dtype);
        match self {
            Op::Unary(op) => op.lowering().on(dtype, Formula::Unary),
            Op::Predicate(op) => property(op.lowering().on(dtype, Formula::Property)),
            Op::Binary(op) => op.lowering().on(dtype, Formula::Binary),
            Op::Compare(op) => Lowering::Op(op.lower(dtype)),
            Op::Part(op) => property(op.lowering().on(dtype, Formula::Property)),
            Op::Complex(_) => Lowering::Op(elementwise("stablehlo.complex")),
            Op::Ternary(op) => op.lower(dtype),
            Op::Convert(op) => op.lower(dtype),
            Op::BitcastConvert(op) => op.lower(dtype),
            Op::Reduction(op) => op.lower(operands),
            Op::Reshape(op) => {
                let same = op.order == Order::Row;
                op_if(same, signature("stablehlo.reshape", ""), Formula::Reshape(op))
            }
            Op::Transpose(op) => {
                let dims = format!(", dims = {}", axes(&op.permutation));
                Lowering::Op(signature("stablehlo.transpose", dims))
            }
            Op::BroadcastInDim(op) => {
                let dims = format!(", dims = {}", axes(&op.axes));
                Lowering::Op(signature("stablehlo.broadcast_in_dim", dims))
            }
            Op::Concatenate(op) => {
                Lowering::Op(signature("stablehlo.concatenate", format!(", dim = {}", op.axis.0)))
            }
            Op::StaticSlice(op) => Lowering::Op(signature("stablehlo.slice", op.ranges())),
            Op::Reverse(op) => {
                Lowering::Op(signature("stablehlo.reverse", format!(", dims = {}", axes(&op.axes))))
            }
            Op::DynamicSlice(op) => {
                let sizes = format!(", sizes = {}", list(&op.sizes));
                let hlo = signature("stablehlo.dynamic_slice", sizes);
                op_if(are_wide(&operands[1..]), hlo, Formula::WideIndices(1))
            }
            Op::DynamicUpdateSlice(_) => {
                let hlo = signature("stablehlo.dynamic_update_slice", "");
                op_if(are_wide(&operands[2..]), hlo, Formula::WideIndices(2))
            }
            Op::Pad(op) => {
                let (low, high, interior) = (list(&op.low), list(&op.high), list(&op.interior));
                let padding = format!(", low = {low}, high = {high}, interior = {interior}");
                Lowering::Op(signature("stablehlo.pad", padding))
            }
            Op::Gather(op) => op_if(are_wide(&operands[1..]), op.generic(), Formula::WideIndices(1)),
            Op::Scatter(op) => op.lower(operands),
            Op::DotGeneral(op) => Lowering::Op(op.lower(dtype)),
            Op::Fill(Fill { value, .. }) => {
                Lowering::Op(HloOp { name: "stablehlo.constant", syntax: Syntax::Constant(*value) })
            }
            Op::Iota(op) => {
                let syntax = Syntax::NoOperands(format!("dim = {}", op.axis.0));
                let from_zero = op.start == 0 && op.shape.size() > 0 && op.is_exact();
                op_if(from_zero, HloOp { name: "stablehlo.iota", syntax }, Formula::Count(op))
            }
            Op::If(op) => Lowering::Op(HloOp { name: "stablehlo.if", syntax: Syntax::If(op) }),
            Op::While(op) => Lowering::Op(HloOp { name: "stablehlo.while", syntax: Syntax::While(op) }),
            Op::Scan(op) => Lowering::Formula(Formula::Scan(op), None),
            Op::Custom(op) => Lowering::Formula(Formula::Call(op), None),
            Op::RngBits(op) => Lowering::Formula(Formula::Random(op), None),
            Op::Print(_) => Lowering::Todo {
                why: "StableHLO has no op that prints",
                hint: "Remove `nv_print()` from the function before you export it.",
            },
        }
    }
}

// ---- families ------------------------------------------------------------------------------------------------------

impl Compare {
    fn lower<'a>(self, dtype: DType) -> HloOp<'a> {
        let how = match dtype.kind() {
            Kind::Integer => "SIGNED",
            Kind::Unsigned | Kind::Boolean => "UNSIGNED",
            Kind::Float | Kind::Complex => "FLOAT",
        };
        HloOp { name: "stablehlo.compare", syntax: Syntax::Compare(self.direction(), how) }
    }
}

impl Ternary {
    fn lower<'a>(self, dtype: DType) -> Lowering<'a> {
        match self {
            Ternary::Select => {
                Lowering::Op(HloOp { name: "stablehlo.select", syntax: Syntax::FirstAndResult })
            }
            // XLA has no clamp of booleans.
            Ternary::Clamp => {
                op_if(dtype != DType::I1, elementwise("stablehlo.clamp"), Formula::ClampBooleans)
            }
        }
    }
}

impl Convert {
    /// StableHLO leaves open whether NaN is true, and compilers round to 16 bits by way of 32.
    fn lower(&self, from: DType) -> Lowering<'_> {
        let same = match self.dtype {
            DType::I1 => from.kind() != Kind::Float,
            to if to.is_half() => !(from == DType::F64 || from.is_integer() && from.bits() > 16),
            _ => true,
        };
        op_if(same, signature("stablehlo.convert", ""), Formula::Convert(self))
    }
}

impl BitcastConvert {
    fn lower(&self, from: DType) -> Lowering<'_> {
        let same = !from.is_complex() && !self.dtype.is_complex() && from != DType::I1;
        op_if(same, signature("stablehlo.bitcast_convert", ""), Formula::Bitcast(self))
    }
}

impl Reduction {
    /// StableHLO's keeps no dimension, and adds 16-bit floats as they are.
    fn lower(&self, operands: &[Aval]) -> Lowering<'_> {
        let by = match self.fold {
            Fold::Squares => return Lowering::Formula(Formula::Reduce(self), None),
            Fold::Sum => "stablehlo.add",
            Fold::Prod => "stablehlo.multiply",
            Fold::Max => "stablehlo.maximum",
            Fold::Min => "stablehlo.minimum",
            Fold::Any => "stablehlo.or",
            Fold::All => "stablehlo.and",
        };
        let x = &operands[0];
        let empty = self.axes.iter().any(|axis| x.shape[axis.0] == 0);
        let syntax = Syntax::Reduce { by, init: self.identity(x.dtype, empty), axes: &self.axes };
        let same = self.drop && !self.axes.is_empty() && !self.is_wide(x.dtype);
        op_if(same, HloOp { name: "stablehlo.reduce", syntax }, Formula::Reduce(self))
    }

    /// Whether it is computed in f32, and rounded once.
    pub(crate) fn is_wide(&self, dtype: DType) -> bool {
        dtype.is_half() && matches!(self.fold, Fold::Sum | Fold::Prod | Fold::Squares)
    }
}

impl StaticSlice {
    /// ` [start:limit:stride]`.
    fn ranges(&self) -> String {
        let range = |i: usize| match self.stride[i] {
            1 => format!("{}:{}", self.start[i], self.limit[i]),
            stride => format!("{}:{}:{stride}", self.start[i], self.limit[i]),
        };
        format!(" {}", list(&(0..self.start.len()).map(range).collect::<Vec<_>>()))
    }
}

impl Iota {
    /// Whether its dtype has all numbers that it counts through, and as many from 0.
    pub(crate) fn is_exact(&self) -> bool {
        let most = self.shape[self.axis.0] as i128 + i128::from(self.start).abs();
        // Whole numbers up to 2 to the power of the significand's bits are exact.
        let bits = match self.dtype {
            DType::BF16 => 8,
            DType::F16 => 11,
            DType::F32 => 24,
            _ => 53,
        };
        !self.dtype.is_float() || most <= 1 << bits
    }
}

/// How StableHLO names what gather and scatter know as sets of axes.
const GATHER_NAMES: [&str; 5] = [
    "offset_dims",
    "collapsed_slice_dims",
    "operand_batching_dims",
    "start_indices_batching_dims",
    "start_index_map",
];
const SCATTER_NAMES: [&str; 5] = [
    "update_window_dims",
    "inserted_window_dims",
    "input_batching_dims",
    "scatter_indices_batching_dims",
    "scatter_dims_to_operand_dims",
];

impl Windows {
    fn lower(&self, names: [&str; 5]) -> String {
        let dims = [&self.window_dims, &self.dropped, &self.batching, &self.index_batching, &self.index_map];
        let used = names.into_iter().zip(dims).filter(|(_, dims)| !dims.is_empty());
        let mut all: Vec<String> = used.map(|(name, dims)| format!("{name} = {}", axes(dims))).collect();
        all.push(format!("index_vector_dim = {}", self.index_vector_dim.0));
        join(&all, ", ")
    }
}

impl Gather {
    fn generic<'a>(&self) -> HloOp<'a> {
        let attributes = format!(
            "dimension_numbers = #stablehlo.gather<{}>, indices_are_sorted = {}, slice_sizes = array<i64{}{}>",
            self.windows.lower(GATHER_NAMES),
            self.indices_are_sorted,
            if self.slice_sizes.is_empty() { "" } else { ": " },
            join(&self.slice_sizes, ", "),
        );
        HloOp { name: "stablehlo.gather", syntax: Syntax::Generic(attributes) }
    }
}

impl Scatter {
    /// StableHLO leaves out single elements that do not fit, and we, as XLA, windows.
    fn lower(&self, operands: &[Aval]) -> Lowering<'_> {
        let attributes = format!(
            "indices_are_sorted = {}, scatter_dimension_numbers = #stablehlo.scatter<{}>, unique_indices = {}",
            self.indices_are_sorted,
            self.windows.lower(SCATTER_NAMES),
            self.unique_indices,
        );
        let hlo = HloOp { name: "stablehlo.scatter", syntax: Syntax::Scatter(self, attributes) };
        let straight = self.region().map_or(true, |region| is_straight(region));
        if !straight || operands.len() > 3 {
            return Lowering::Formula(Formula::ScatterLoop(self), Some(hlo));
        }
        let sizes = self.sizes(operands[0].shape.rank(), &operands[2].shape);
        // Without positions there is nothing to look up, which XLA does not expect.
        let same = are_wide(&operands[1..2])
            && !self.windows.index_map.is_empty()
            && self.windows.index_map.iter().all(|axis| sizes[axis.0] <= 1);
        op_if(same, hlo, Formula::Scatter(self))
    }
}

/// Whether a graph is elementwise ops and choices between such, without loops or memory: what XLA takes for
/// each element of a scatter. It ends the process on a loop there.
fn is_straight(graph: &Graph) -> bool {
    graph.nodes().iter().all(|node| match &node.op {
        // Powers of integers are loops.
        Op::Binary(Binary::pow) => graph.aval(node.results[0]).dtype.part().is_float(),
        Op::Unary(_) | Op::Predicate(_) | Op::Binary(_) | Op::Compare(_) | Op::Part(_) | Op::Complex(_) => {
            true
        }
        Op::Ternary(_) | Op::Convert(_) | Op::BitcastConvert(_) | Op::Fill(_) => true,
        Op::If(op) => op.branches.iter().all(|branch| is_straight(branch)),
        _ => false,
    })
}

impl DotGeneral {
    fn lower<'a>(&self, dtype: DType) -> HloOp<'a> {
        let pair = |[l, r]: &[Vec<Axis>; 2]| format!("{} x {}", axes(l), axes(r));
        let mut dims = String::from(", ");
        if !self.batching[0].is_empty() {
            dims += &format!("batching_dims = {}, ", pair(&self.batching));
        }
        dims += &format!("contracting_dims = {}", pair(&self.contracting));
        if dtype.part().is_float() {
            // Other machines multiply floats in fewer bits unless told not to.
            dims += ", precision = [HIGHEST, HIGHEST]";
        }
        let syntax =
            if dtype.is_half() { Syntax::Accumulated(DType::F32, dims) } else { Syntax::Signature(dims) };
        HloOp { name: "stablehlo.dot_general", syntax }
    }
}
