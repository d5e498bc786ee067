//! Instructions before registers are chosen, and the values that they read and make.

use crate::dtype::DType;
use crate::exec::vm::superinstruction::RingOp;
use crate::exec::vm::{native, Kernel};
use crate::kernels::reductions::fold::Accumulators;
use crate::tensor::Literal;

/// Where a value is while the program is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Location {
    /// Among the operands.
    Operand(usize),
    /// Among the results.
    Result(usize),
    /// In a register that is not yet chosen, or that holds one value for ever.
    Register,
}

/// A value of the program.
pub struct Virtual {
    pub location: Location,
    pub dtype: DType,
    /// The last instruction that reads it; never freed if it is a constant.
    pub last: usize,
    pub constant: bool,
    /// What it is, if it is known.
    pub literal: Option<Literal>,
}

/// An instruction before registers are chosen.
pub struct Draft {
    pub make: Make,
    pub operands: Vec<usize>,
    pub result: usize,
    /// Whether it works on what segments were folded into.
    pub folded: bool,
    /// What it is as one of a pair.
    pub ring: Option<(RingOp, DType)>,
    /// What it is as one of a chain.
    pub native: Option<native::Op>,
    /// Whether it copies its operand past the caches.
    pub past: bool,
}

/// An instruction of which only registers are missing.
pub struct Item {
    pub make: Make,
    pub reads: Vec<usize>,
    pub writes: Vec<usize>,
    pub folded: bool,
    /// As of the draft.
    pub past: bool,
}

/// What it does.
pub enum Make {
    Kernel(Box<dyn FnOnce() -> Kernel>),
    Native(native::Native),
    /// It is folded across the tiles of columns.
    Fold(Accumulators),
}

impl From<Draft> for Item {
    fn from(draft: Draft) -> Item {
        let Draft { make, operands, result, folded, past, .. } = draft;
        Item { make, reads: operands, writes: vec![result], folded, past }
    }
}

impl Draft {
    /// One that runs a kernel.
    pub fn new(make: impl FnOnce() -> Kernel + 'static, operands: Vec<usize>, result: usize) -> Draft {
        Draft::of(Make::Kernel(Box::new(make)), operands, result)
    }

    /// One that does this.
    pub fn of(make: Make, operands: Vec<usize>, result: usize) -> Draft {
        Draft { make, operands, result, folded: false, ring: None, native: None, past: false }
    }
}
