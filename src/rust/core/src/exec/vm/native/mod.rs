//! Native code for chains of cheap steps, written while the program runs.
//!
//! Between the instructions of a tile program, values go through the first-level cache; a sum takes less time
//! than that. A chain of cheap ops on elements of one width is one instruction here: a loop over the tile
//! that keeps what is between the steps in registers. The steps are IEEE operations, and integer ones that
//! wrap, in the order of the ops: nothing is contracted, so that the bits are those of the kernels.
//!
//! Code is for x86-64 with AVX2, at levels of [`math`](crate::kernels::math) that use it. Elsewhere, and where
//! the system does not allow memory to be run, there is none, and kernels run the steps one by one.

#[cfg(all(target_arch = "x86_64", unix))]
mod assembler;
#[cfg(all(target_arch = "x86_64", unix))]
mod emit;
#[cfg(all(target_arch = "x86_64", unix))]
mod pages;

use crate::dtype::DType;
use crate::tensor::Literal;

/// A step of a chain.
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
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// All bits inverted.
    Not,
    /// With the other sign.
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
    /// The same value in another dtype.
    Convert(DType),
}

/// Where a value of a chain is from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Origin {
    /// It is an argument: an element for each of the tile.
    Elements,
    /// It is an argument: one element for all.
    Repeated,
    /// It is known.
    Literal(Literal),
    /// A step makes it.
    Step,
}

/// A value of a chain.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// Its dtype: as wide as the chain, or `i1`; or narrower, if it is an argument that is only converted.
    pub dtype: DType,
    /// Where it is from.
    pub origin: Origin,
}

/// One op on values, by their numbers.
#[derive(Clone, Debug)]
pub struct Step {
    /// The op.
    pub op: Op,
    /// What it reads.
    pub operands: Vec<usize>,
    /// What it makes.
    pub result: usize,
}

/// Steps on elements of one width.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    /// Bytes of an element: 1, 2, 4 or 8; booleans beside them are bytes.
    pub width: usize,
    /// Values.
    pub values: Vec<Value>,
    /// Steps, each after those that it reads.
    pub steps: Vec<Step>,
    /// Values that are stored, each made by a step.
    pub outputs: Vec<usize>,
    /// Those of them that are stored past the caches, where they begin at a whole vector.
    pub past: Vec<usize>,
}

/// Values that a chain reads and writes for each element, at most: registers for their addresses.
pub const MAX_STREAMS: usize = 11;

/// Arguments of a chain, at most.
pub const MAX_ARGUMENTS: usize = 24;

impl Chain {
    /// Values that are read or written for each element.
    pub fn streams(&self) -> usize {
        self.values.iter().filter(|v| v.origin == Origin::Elements).count() + self.outputs.len()
    }

    /// Arguments, in the order of a call: what is read, in the order of the values, then what is stored.
    pub fn arguments(&self) -> impl Iterator<Item = Argument> + '_ {
        let read = self.values.iter().filter_map(|v| match v.origin {
            Origin::Elements => Some(Argument { width: v.dtype.bytes(), repeated: false, written: false }),
            Origin::Repeated => Some(Argument { width: v.dtype.bytes(), repeated: true, written: false }),
            Origin::Literal(_) | Origin::Step => None,
        });
        let written =
            |&v: &usize| Argument { width: self.values[v].dtype.bytes(), repeated: false, written: true };
        read.chain(self.outputs.iter().map(written))
    }
}

/// What an argument is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Argument {
    /// Bytes of an element.
    pub width: usize,
    /// Whether it is one element for all.
    pub repeated: bool,
    /// Whether it is written.
    pub written: bool,
}

#[cfg(all(target_arch = "x86_64", unix))]
mod code {
    use super::pages::Pages;
    use super::{emit, Argument, Chain, DType, Op};
    use crate::kernels::math::Level;
    use std::sync::Arc;

    /// The code of a chain.
    #[derive(Clone, Debug)]
    pub struct Native {
        pages: Arc<Pages>,
        start: usize,
        /// The same, but for results that are stored past the caches.
        past: Option<usize>,
        arguments: Vec<Argument>,
    }

    /// Whether a chain may have a step on operands of this dtype.
    pub fn has(op: Op, dtype: DType) -> bool {
        emit::has(op, dtype)
    }

    /// Whether there is native code at all.
    pub fn is_here() -> bool {
        Level::current() != Level::Portable && Level::Avx2.is_here()
    }

    /// The code of chains; `None` where there is none.
    pub fn compile(chains: &[Chain]) -> Option<Vec<Native>> {
        if chains.is_empty() || !is_here() {
            return None;
        }
        let (mut code, mut starts) = (vec![], vec![]);
        let mut emit = |chain: &Chain, past: bool| {
            let start = code.len();
            code.extend(emit::emit(chain, past));
            start
        };
        for chain in chains {
            starts.push((emit(chain, false), (!chain.past.is_empty()).then(|| emit(chain, true))));
        }
        let pages = Arc::new(Pages::new(&code)?);
        let native = |(chain, (start, past)): (&Chain, _)| Native {
            pages: pages.clone(),
            start,
            past,
            arguments: chain.arguments().collect(),
        };
        Some(chains.iter().zip(starts).map(native).collect())
    }

    impl Native {
        /// The arguments of a call.
        pub fn arguments(&self) -> &[Argument] {
            &self.arguments
        }

        /// Runs it on `n` elements.
        ///
        /// # Safety
        /// There is an address for each argument, at which as many elements can be read or written as it
        /// says; nothing else writes them meanwhile, and what is written is apart from all else.
        pub unsafe fn call(&self, addresses: &[*mut u8], n: usize) {
            assert!(addresses.len() >= self.arguments.len(), "an argument is missing");
            type Function = unsafe extern "sysv64" fn(*const *mut u8, usize);
            let aligned = || {
                let mut written =
                    self.arguments.iter().zip(addresses).filter(|(argument, _)| argument.written);
                written.all(|(_, &address)| address as usize % emit::VECTOR == 0)
            };
            let start = self.past.filter(|_| aligned()).unwrap_or(self.start);
            // SAFETY: the pages hold such a function from there on, for this processor: `compile` wrote it.
            let function: Function = unsafe { std::mem::transmute(self.pages.at(start)) };
            // SAFETY: by the caller.
            unsafe { function(addresses.as_ptr(), n) };
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", unix)))]
mod code {
    use super::{Argument, Chain, DType, Op};

    /// The code of a chain: there is none.
    #[derive(Clone, Debug)]
    pub enum Native {}

    /// Whether a chain may have a step on operands of this dtype.
    pub fn has(_op: Op, _dtype: DType) -> bool {
        false
    }

    /// Whether there is native code at all.
    pub fn is_here() -> bool {
        false
    }

    /// The code of chains.
    pub fn compile(_chains: &[Chain]) -> Option<Vec<Native>> {
        None
    }

    impl Native {
        /// The arguments of a call.
        pub fn arguments(&self) -> &[Argument] {
            match *self {}
        }

        /// Runs it.
        ///
        /// # Safety
        /// It is never called.
        pub unsafe fn call(&self, _addresses: &[*mut u8], _n: usize) {
            match *self {}
        }
    }
}

pub use code::{compile, has, is_here, Native};

#[cfg(all(test, target_arch = "x86_64", unix))]
mod tests;
