//! Native code for chains of ops, generated when a program is compiled.
//!
//! Between the instructions of a tile program, values go through the first-level cache; a sum takes less time
//! than that. A chain of ops on elements of one width is one instruction here: a loop over the tile that keeps
//! intermediate results in registers. The ops are IEEE operations, and integer ones that wrap, in the order
//! of the ops: nothing is contracted, so that the bits are those of the kernels. Functions such as the
//! exponential are the steps of their [formulas](crate::kernels::math::formula), which are those of the
//! kernels; a vector in which a guard is true is computed again, with calls of the kernels, as is a number in a
//! loop.
//!
//! Code is for x86-64 with AVX2 and for 64-bit ARM, at levels of [`math`](crate::kernels::math) that use their
//! vectors; at that of AVX-512 chains on elements of 4 and 8 bytes have its vectors. Elsewhere, and where the
//! system does not allow executable memory, there is none, and kernels run the ops one by one.

#[cfg(any(target_arch = "aarch64", all(test, target_arch = "x86_64")))]
#[cfg_attr(not(target_arch = "aarch64"), allow(dead_code))] // Its encodings are tested everywhere.
mod arm;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod calls;
mod chain;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod coverage;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod emit;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod expansion;
mod folding;
pub mod lanes;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod loop_code;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod loop_values;
pub mod loops;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod machine;
mod native_loop;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod nested;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod outside;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod pages;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod quotients;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod resident;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod run_loop;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod uses;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use chain::{
    Argument, Chain, MicroOp, Nest, Op, Origin, Table, Value, MAX_ARGUMENTS, MAX_AXES, MAX_STREAMS,
};
pub use native_loop::{Buffer, NativeLoop};

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod code {
    use super::machine::{self, ChainFunction, LITERAL, VECTOR};
    use super::pages::Pages;
    use super::{emit, expansion, quotients, Argument, Chain, Nest, Op};
    use crate::dtype::DType;
    use std::sync::{Arc, OnceLock};

    /// The code of a chain.
    #[derive(Clone, Debug)]
    pub struct Native {
        pages: Arc<Pages>,
        start: usize,
        arguments: Vec<Argument>,
        /// Whether stores may go past the caches.
        past: bool,
        variants: Arc<Variants>,
    }

    /// Other code of a chain, made by the first call that it is for: most programs have none. Where there is no
    /// memory for it, the code of all calls runs.
    #[derive(Debug)]
    struct Variants {
        chain: Chain,
        /// With non-temporal stores.
        past: OnceLock<Option<Pages>>,
    }

    impl Variants {
        fn past(&self) -> Option<&Pages> {
            self.past
                .get_or_init(|| Pages::new(&emit::emit(&self.chain, true, is_wide(&self.chain))?))
                .as_ref()
        }
    }

    /// Whether the code of a chain may be on vectors of 64 bytes: the level in use has them, and instructions on
    /// elements as wide.
    fn is_wide(chain: &Chain) -> bool {
        has_wide(chain.width)
    }

    fn has_wide(width: usize) -> bool {
        machine::has_wide() && width >= 4
    }

    /// Elements of this width in a vector.
    pub fn lanes(width: usize) -> usize {
        if has_wide(width) {
            2 * LITERAL / width
        } else {
            LITERAL / width
        }
    }

    /// Bytes of a vector in a loop.
    pub const LOOP_VECTOR: usize = LITERAL;

    /// Whether a chain may have non-temporal stores. Those in runs begin where all its results are aligned.
    fn stores_past(chain: &Chain) -> bool {
        let alike = || chain.outputs.iter().all(|&v| chain.values[v].dtype.bytes() == chain.width);
        let may = |nest: &Nest| nest.may_store_past(chain.width) && alike();
        machine::STORES_PAST && !chain.past.is_empty() && chain.nest.as_ref().is_none_or(may)
    }

    /// Whether a chain may have an op on operands of this dtype.
    pub fn has(op: Op, dtype: DType) -> bool {
        super::coverage::has(op, dtype)
    }

    /// Whether a loop may have an op on operands of this dtype.
    pub fn loop_has(op: Op, dtype: DType) -> bool {
        super::loop_code::has(op, dtype)
    }

    /// Steps of an op on this dtype, if it is a function; else 0.
    pub fn steps(op: Op, dtype: DType) -> usize {
        let quotient = || op.quotient(dtype).map_or(0, |_| quotients::STEPS);
        expansion::formula(op, dtype).map_or_else(quotient, |formula| formula.steps.len())
    }

    /// Whether an op alone on operands of this dtype is faster as code than as a kernel.
    pub fn outruns(op: Op, dtype: DType) -> bool {
        let is_float = matches!(dtype, DType::F32 | DType::F64);
        matches!(op, Op::Max | Op::Min) && is_float && machine::has_wide_extremes()
    }

    /// Whether the level in use has native code.
    pub fn is_here() -> bool {
        machine::is_here()
    }

    /// Whether the level in use has native code, and the system runs what is made while it runs; for reports.
    pub fn can_run() -> bool {
        is_here() && Pages::new(machine::RETURN).is_some()
    }

    /// The code of chains; `None` where there is none.
    pub fn compile(chains: &[Chain]) -> Option<Vec<Native>> {
        if chains.is_empty() || !is_here() {
            return None;
        }
        let (mut code, mut starts) = (vec![], vec![]);
        for chain in chains {
            starts.push(code.len());
            code.extend(emit::emit(chain, false, is_wide(chain))?);
        }
        let pages = Arc::new(Pages::new(&code)?);
        let native = |(chain, start): (&Chain, usize)| Native {
            pages: pages.clone(),
            start,
            arguments: chain.arguments().collect(),
            past: stores_past(chain),
            variants: Arc::new(Variants { chain: chain.clone(), past: OnceLock::new() }),
        };
        Some(chains.iter().zip(starts).map(native).collect())
    }

    impl Native {
        /// The arguments of a call.
        pub fn arguments(&self) -> &[Argument] {
            &self.arguments
        }

        /// The runs that it goes over, if its arguments are not all dense.
        pub fn nest(&self) -> Option<&Nest> {
            self.variants.chain.nest.as_ref()
        }

        /// Runs it on `n` elements.
        ///
        /// # Safety
        /// There is an address for each argument, at which as many elements can be read or written as it
        /// says; nothing else writes them meanwhile, and what is written is apart from all else. If it goes
        /// over runs, these are the addresses of their elements, and the rest of a
        /// [`Table`](super::Table) follows.
        pub unsafe fn call(&self, addresses: &[*mut u8], n: usize) {
            let rest = self.nest().map_or(0, |nest| 2 + nest.sizes.len());
            assert!(addresses.len() >= self.arguments.len() + rest, "an argument is missing");
            let aligned = || {
                let written = self.arguments.iter().zip(addresses).filter(|(argument, _)| argument.written);
                let mut written = written.map(|(_, &address)| address as usize % VECTOR);
                // Runs are stored from their first aligned element on.
                let first = if rest > 0 { written.next() } else { Some(0) };
                written.all(|other| Some(other) == first)
            };
            let variant = if self.past && aligned() { self.variants.past() } else { None };
            let start = variant.map_or_else(|| self.pages.at(self.start), |pages| pages.at(0));
            // SAFETY: the pages hold such a function from there on, for this processor: `compile` wrote it.
            let function: ChainFunction = unsafe { std::mem::transmute(start) };
            // SAFETY: by the caller.
            unsafe { function(addresses.as_ptr(), n) };
        }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod code {
    use super::{Argument, Chain, Nest, Op};
    use crate::dtype::DType;

    /// The code of a chain: there is none.
    #[derive(Clone, Debug)]
    pub enum Native {}

    /// Whether a chain may have an op on operands of this dtype.
    pub fn has(_op: Op, _dtype: DType) -> bool {
        false
    }

    /// Whether a loop may have an op on operands of this dtype.
    pub fn loop_has(_op: Op, _dtype: DType) -> bool {
        false
    }

    /// Elements of this width in a vector.
    pub fn lanes(_width: usize) -> usize {
        1
    }

    /// Bytes of a vector in a loop.
    pub const LOOP_VECTOR: usize = 16;

    /// Steps of an op on this dtype, if it is a function; else 0.
    pub fn steps(_op: Op, _dtype: DType) -> usize {
        0
    }

    /// Whether an op alone on operands of this dtype is faster as code than as a kernel.
    pub fn outruns(_op: Op, _dtype: DType) -> bool {
        false
    }

    /// Whether the level in use has native code.
    pub fn is_here() -> bool {
        false
    }

    /// Whether native code can be run.
    pub fn can_run() -> bool {
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

        /// The runs that it goes over.
        pub fn nest(&self) -> Option<&Nest> {
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

pub use code::{can_run, compile, has, is_here, lanes, loop_has, outruns, steps, Native, LOOP_VECTOR};

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests;
