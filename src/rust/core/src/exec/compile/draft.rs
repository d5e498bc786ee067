//! Drafts: instructions before register allocation, with virtual values as operands and results.

use crate::dtype::DType;
use crate::exec::vm::superinstruction::RingOp;
use crate::exec::vm::{native, Kernel, Runs};
use crate::kernels::reductions::accumulators::Accumulators;
use crate::tensor::Literal;

/// The location of a value during compilation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Location {
    /// Among the operands.
    Operand(usize),
    /// Among the results.
    Result(usize),
    /// In a register that is not yet allocated, or that holds a constant.
    Register,
    /// Kept from phase to phase, with all elements of the lines that are computed together.
    Kept,
}

/// A value of the program.
pub struct Virtual {
    pub location: Location,
    pub dtype: DType,
    /// The last instruction that reads it; never freed if it is a constant.
    pub last: usize,
    pub constant: bool,
    /// Its literal, if it is known.
    pub literal: Option<Literal>,
    /// Whether it has its register to the end.
    pub pinned: bool,
}

/// An instruction before register allocation.
pub struct Draft {
    pub make: Make,
    pub operands: Vec<usize>,
    pub result: usize,
    /// Whether it works on the folds of segments, with an element for each segment.
    pub folded: bool,
    /// Whether it runs on each column of a tile of lines: it knows elements by their numbers.
    pub by_column: bool,
    /// The phase in which it runs, if the group has such.
    pub phase: usize,
    /// Its operation in a pair of instructions.
    pub ring: Option<(RingOp, DType)>,
    /// Its op in a chain of native code.
    pub native: Option<native::Op>,
    /// Whether it copies its operand past the caches.
    pub past: bool,
    /// Where its operand lies, if it gathers one that native code can read in place.
    pub runs: Option<Runs>,
    /// Where its result lies, if it stores its operand where native code can do so itself.
    pub into: Option<Runs>,
}

/// An instruction, final but for registers.
pub struct Item {
    pub make: Make,
    pub reads: Vec<usize>,
    pub writes: Vec<usize>,
    pub folded: bool,
    /// As of the draft.
    pub by_column: bool,
    /// As of the draft.
    pub phase: usize,
    /// As of the draft.
    pub past: bool,
}

/// Makes the work of an instruction.
pub enum Make {
    Kernel(Box<dyn FnOnce() -> Kernel>),
    /// A chain, with the operands, by number, that lie in runs.
    Native(native::Native, Vec<(usize, Runs)>),
    /// A fold across the tiles of columns.
    Fold(Accumulators),
}

impl From<Draft> for Item {
    fn from(draft: Draft) -> Item {
        let Draft { make, operands, result, folded, by_column, phase, past, .. } = draft;
        Item { make, reads: operands, writes: vec![result], folded, by_column, phase, past }
    }
}

impl Draft {
    /// A draft that runs a kernel.
    pub fn new(make: impl FnOnce() -> Kernel + 'static, operands: Vec<usize>, result: usize) -> Draft {
        Draft::of(Make::Kernel(Box::new(make)), operands, result)
    }

    /// A draft that does this work.
    pub fn of(make: Make, operands: Vec<usize>, result: usize) -> Draft {
        Draft {
            make,
            operands,
            result,
            folded: false,
            by_column: false,
            phase: 0,
            ring: None,
            native: None,
            past: false,
            runs: None,
            into: None,
        }
    }
}
