//! Chains: ops that become one function of native code.

use crate::dtype::DType;
use crate::kernels::math::formula::Operation;
use crate::kernels::math::{Kernel1, Kernel2, Kernel4, FLOOR_QUOTIENT, MODULO};
use crate::tensor::Literal;
use std::mem::MaybeUninit;

/// The operation of an op in a chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Sum; of booleans the logical or.
    Add,
    /// Difference.
    Sub,
    /// Product; of booleans the logical and.
    Mul,
    /// Product that is the second operand where that is 0.
    MulNoNan,
    /// Quotient of floats.
    Div,
    /// Square root of floats: that of a negative number is the positive quiet NaN, and a NaN keeps its
    /// payload.
    Sqrt,
    /// Larger of two; NaN if either is, and -0 is below 0.
    Max,
    /// Smaller of two; likewise.
    Min,
    /// The second operand, at least the first and at most the third: the larger, then the smaller.
    Clamp,
    /// -1, 0 or 1 of a float; keeps NaN and the sign of zero.
    Sign,
    /// Whether a float is NaN.
    IsNan,
    /// Whether it is neither infinite nor NaN.
    IsFinite,
    /// Whether it is infinite.
    IsInfinite,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Bitwise complement.
    Not,
    /// Bits shifted toward the high end; 0 for an amount that is negative, or the width or more.
    ShiftLeft,
    /// Bits shifted toward the low end, where zeros enter; likewise.
    ShiftRight,
    /// Bits shifted toward the low end, where copies of the sign bit enter; they fill an element for an
    /// amount that is negative, or the width or more.
    ShiftRightSigned,
    /// Negation.
    Negate,
    /// Absolute value.
    Abs,
    /// Rounded down.
    Floor,
    /// Rounded up.
    Ceiling,
    /// Rounded toward zero.
    Trunc,
    /// Rounded to the nearest whole number, an even one if there are two.
    Round,
    /// Whether two are equal.
    Eq,
    /// Whether they differ.
    Ne,
    /// Whether the first is greater.
    Gt,
    /// Whether the first is greater or equal.
    Ge,
    /// Whether the first is less.
    Lt,
    /// Whether the first is less or equal.
    Le,
    /// The second operand where the first is true, else the third.
    Select,
    /// Conversion to this dtype.
    Convert(DType),
    /// A function of floats: steps of its formula, or a call of its kernel where a guard is true.
    Function(&'static Kernel1),
    /// As [`Op::Function`], of two operands.
    Function2(&'static Kernel2),
    /// As [`Op::Function`], of four operands.
    Function4(&'static Kernel4),
    /// A step of a formula. Chains are given none, loops fused products alone.
    Step(Operation),
    /// The complement of the mask that this step makes.
    NotStep(Operation),
    /// Leaves the steps if a mask is true of any element; makes nothing. Whether it is a mask of doubles.
    Guard(bool),
    /// The upper 4 bytes of the product of two integers of 4 bytes without a sign, shifted to the right by so many bits.
    High(u8),
    /// Integers of 4 bytes as doubles: of a half of vectors.
    Doubles,
    /// Whole numbers, which are doubles, of the lower and of the upper half, as integers of 4 bytes; what has none, or is NaN,
    /// becomes the smallest, or anything.
    Integers,
    /// A mask of vectors as one of elements of so many bytes: of loops, as are those after it.
    Masks(u8),
    /// A vector of the operands, which are elements of so many bytes.
    Join(u8),
    /// The element in this lane of a vector of elements of so many bytes.
    Lane(u8, u8),
}

impl Op {
    /// Whether it is a function, whose kernel may be called.
    pub fn is_function(self) -> bool {
        matches!(self, Op::Function(_) | Op::Function2(_) | Op::Function4(_))
    }

    /// Whether it is a quotient that is rounded down, or its remainder, of integers of 4 bytes, of which steps are made: whether
    /// it is the remainder.
    pub fn quotient(self, dtype: DType) -> Option<bool> {
        match self {
            _ if dtype != DType::I32 => None,
            op if op == Op::Function2(&FLOOR_QUOTIENT) => Some(false),
            op if op == Op::Function2(&MODULO) => Some(true),
            _ => None,
        }
    }
}

/// The origin of a value of a chain.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Origin {
    /// An argument with an element for each of the tile.
    Elements,
    /// Elements that are so many bytes behind those of an argument, by its value: more of the same memory.
    Beside(usize, i32),
    /// An argument of one element for all.
    Repeated,
    /// A literal.
    Literal(Literal),
    /// The result of an op of the chain.
    Made,
}

impl Origin {
    /// Whether it is an argument that is read.
    pub fn is_argument(&self) -> bool {
        matches!(self, Origin::Elements | Origin::Repeated)
    }
}

/// A value of a chain.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// Its dtype: as wide as the chain, or `i1`; or narrower, if it is an argument that is only converted.
    pub dtype: DType,
    /// Its origin.
    pub origin: Origin,
}

/// An op of a chain on values, by their numbers.
#[derive(Clone, Debug)]
pub struct MicroOp {
    /// The op.
    pub op: Op,
    /// Its operands.
    pub operands: Vec<usize>,
    /// Its result.
    pub result: usize,
}

impl MicroOp {
    /// Whether its result is a vector, in a loop whose vectors are these.
    pub fn is_vector(&self, is_vector: impl Fn(usize) -> bool) -> bool {
        match self.op {
            Op::Join(_) => true,
            Op::Lane(..) => false,
            _ => self.operands.iter().any(|&v| is_vector(v)),
        }
    }
}

/// Ops on elements of one width.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    /// Bytes of an element: 1, 2, 4 or 8; booleans beside them are bytes.
    pub width: usize,
    /// Values.
    pub values: Vec<Value>,
    /// Its ops, each after those that it reads.
    pub ops: Vec<MicroOp>,
    /// Values that are stored, each made by an op.
    pub outputs: Vec<usize>,
    /// Outputs with non-temporal stores, if they are aligned to vectors.
    pub past: Vec<usize>,
    /// The runs in which its arguments lie, if these are not all dense.
    pub nest: Option<Nest>,
}

/// Runs of elements side by side, or of one element: code has loops around that over the elements of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Nest {
    /// Elements of a run.
    pub len: usize,
    /// Sizes of the axes on which runs lie.
    pub sizes: Vec<usize>,
    /// For each axis, the bytes by which each argument moves on when the index along the axis is the next one
    /// and those along the axes before begin again.
    pub moves: Vec<Vec<i32>>,
}

impl Chain {
    /// A chain on the same values that has no ops.
    pub fn without_ops(&self) -> Chain {
        let Chain { width, values, ops: _, outputs, past, nest } = self;
        let (values, outputs) = (values.clone(), outputs.clone());
        Chain { width: *width, values, ops: vec![], outputs, past: past.clone(), nest: nest.clone() }
    }
}

impl Nest {
    /// Whether runs of elements of so many bytes may have non-temporal stores: the lines at the ends of a run
    /// are stored in parts.
    pub fn may_store_past(&self, width: usize) -> bool {
        Nest::is_long(self.len * width)
    }

    /// Whether a run of so many bytes may have non-temporal stores.
    pub fn is_long(bytes: usize) -> bool {
        bytes >= 2048
    }
}

/// Values that a chain reads and writes for each element, at most: registers for their addresses.
pub const MAX_STREAMS: usize = 11;

/// Arguments of a chain, at most.
pub const MAX_ARGUMENTS: usize = 24;

/// Axes of a [`Nest`], at most.
pub const MAX_AXES: usize = 8;

/// The table that a chain is called with: the addresses of its arguments, and if it goes over runs those of the
/// first run's first elements, then the number of the first element within its run, the number of elements, and
/// for each axis how many indices are left, the first one among them.
///
/// Only the words that a chain has are written: there are few, and a call is short.
#[derive(Clone)]
pub struct Table {
    words: [MaybeUninit<*mut u8>; TABLE],
    count: usize,
}

impl Table {
    /// One without words.
    #[inline(always)]
    pub fn empty() -> Table {
        Table { words: [const { MaybeUninit::uninit() }; TABLE], count: 0 }
    }

    /// Writes its words.
    ///
    /// # Panics
    /// If they are too many.
    #[inline(always)]
    pub fn fill(&mut self, words: impl Iterator<Item = *mut u8>) {
        self.count = 0;
        for word in words {
            self.words[self.count].write(word);
            self.count += 1;
        }
    }

    /// The words.
    #[inline(always)]
    pub fn words(&mut self) -> &mut [*mut u8] {
        // SAFETY: so many were written, and it is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.count) }
    }

    /// The words, to be read.
    #[inline(always)]
    pub fn as_slice(&self) -> &[*mut u8] {
        // SAFETY: so many were written.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.count) }
    }
}

/// Words of a [`Table`], at most.
const TABLE: usize = MAX_ARGUMENTS + 2 + MAX_AXES;

impl Chain {
    /// Values that are read or written for each element.
    pub fn streams(&self) -> usize {
        self.values.iter().filter(|v| v.origin == Origin::Elements).count() + self.outputs.len()
    }

    /// Arguments, in the order of a call: values that are read, in their order, then outputs.
    pub fn arguments(&self) -> impl Iterator<Item = Argument> + '_ {
        let read = self.values.iter().filter_map(|v| match v.origin {
            Origin::Elements => Some(Argument { width: v.dtype.bytes(), repeated: false, written: false }),
            Origin::Repeated => Some(Argument { width: v.dtype.bytes(), repeated: true, written: false }),
            Origin::Beside(..) | Origin::Literal(_) | Origin::Made => None,
        });
        let written =
            |&v: &usize| Argument { width: self.values[v].dtype.bytes(), repeated: false, written: true };
        read.chain(self.outputs.iter().map(written))
    }
}

/// An argument of a chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Argument {
    /// Bytes of an element.
    pub width: usize,
    /// Whether it is one element for all.
    pub repeated: bool,
    /// Whether it is written.
    pub written: bool,
}
