//! Groups of nodes as programs on tiles: what is loaded, what is computed, what is stored.
//!
//! Dense operands are read where they are; others are gathered into a register, a tile at a time; one element
//! everywhere is filled into a register once. The last reader of a register frees it. Results that are kept
//! are made where they are to be, unless that place is an operand's: then they are made in a register and
//! stored when the tile is done.

mod chains;
mod draft;
mod instructions;
mod pairs;
mod program;

pub use instructions::{compile, Compiled, Kept, Stored};
pub use program::{Load, Program};
