//! The tile VM: instructions over registers of one tile each, which stay in the first-level cache.
//!
//! An instruction is a kernel on slices, the same that runs when its op stands alone, with the *slots* of its
//! operands and its result. A slot is a register, or a window of a *stream*, which is a dense value in
//! memory. A value that is not dense is first gathered into a register, but
//! for one in runs that native code reads in place. A constant is filled into a register
//! once.

mod across;
mod binding;
mod bins;
mod chained;
mod code;
mod cut;
mod kernel;
mod line_copies;
mod lines;
pub mod native;
mod picks;
mod product_blocks;
mod resolve;
mod run;
mod runs;
pub mod superinstruction;
mod vector_product;

pub use code::{partials, Across, Blocks, Code, Folding, Instruction, Phased, Walk, Work};
pub use cut::{Cut, CONSTANT};
pub use kernel::{Kernel, Slot};
pub use picks::{Find, Slices, PICKS};
pub use product_blocks::{is_wide, Lines};
pub use run::Bound;
pub use runs::Runs;
