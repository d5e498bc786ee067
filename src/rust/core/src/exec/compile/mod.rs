//! Compilation of groups to tile programs: loads, instructions, stores.
//!
//! Dense operands are read in place, and by native code also those that lie in runs; others are gathered
//! into a register, a tile at a time; a repeated
//! element is filled into a register once. The last reader of a register frees it. Results are computed in
//! their place in memory, unless it is an operand's, or in runs that native code does not write: then they are
//! computed in a register and stored at the end of the tile.

mod chains;
mod draft;
mod instructions;
mod pairs;
mod program;
mod reads;

pub use instructions::{compile, Compiled, Kept, Stored};
pub use program::{Load, Program};
