//! What a program on tiles is made of.

use super::binding::Binding;
use super::cut::Cut;
use super::kernel::{Kernel, Slot};
use super::native::Native;
use crate::kernels::reductions::fold::Accumulators;
use crate::kernels::reductions::parts::PARTIAL;
use crate::kernels::tile::TILE;
use std::fmt;
use std::sync::OnceLock;

/// What an instruction does.
#[derive(Debug)]
pub enum Work {
    /// One kernel.
    Kernel {
        /// The kernel.
        kernel: Kernel,
        /// Where its operands are; what it does not use is [`Slot::Register`]`(0)`.
        operands: [Slot; 3],
        /// Where its result goes.
        result: Slot,
    },
    /// A chain of ops, and where its arguments are.
    Native(Native, Vec<Slot>),
}

/// One instruction.
#[derive(Debug)]
pub struct Instruction {
    /// What it does.
    pub work: Work,
    /// Whether it works on what segments were folded into: on an element for each segment of the tile, which
    /// is a number of whole ones.
    pub folded: bool,
}

/// Folds of what a program makes of each column.
#[derive(Debug)]
pub struct Across {
    /// Elements of a column, one for each result.
    pub rows: usize,
    /// The folds.
    pub folds: Vec<Folding>,
}

/// One fold.
pub struct Folding {
    /// How.
    pub accumulators: Accumulators,
    /// Bytes of an element.
    pub width: usize,
    /// Where the elements are, when all instructions were run on their tile.
    pub operand: Slot,
    /// The stream with the results; with [`Partial`](crate::kernels::reductions::parts::Partial)s, of each
    /// result one for each tile, if there are several.
    pub result: usize,
}

impl Across {
    /// Tiles of each result of a program on `len` elements.
    pub fn parts(&self, len: usize) -> usize {
        parts(len, self.rows)
    }

    /// Bytes of a result's element, or of what a tile leaves of it.
    pub fn unit(&self, fold: &Folding, len: usize) -> usize {
        if self.parts(len) > 1 {
            PARTIAL
        } else {
            fold.width
        }
    }
}

/// Tiles of each result of folds across `len` elements in columns of `rows`.
pub fn parts(len: usize, rows: usize) -> usize {
    (len / rows).div_ceil(TILE)
}

impl fmt::Debug for Folding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fold of {:?} into stream {}", self.operand, self.result)
    }
}

/// The product that a program begins with.
#[derive(Debug)]
pub struct Blocks {
    /// Makes elements of it: whole columns.
    pub product: Instruction,
    /// Elements of a column.
    pub rows: usize,
}

/// A program on tiles.
#[derive(Debug)]
pub struct Code {
    /// What is run before the first tile of a piece: what fills constants.
    pub before: Vec<Instruction>,
    /// What is run on each tile.
    pub each: Vec<Instruction>,
    /// Bytes of the registers.
    pub registers: usize,
    /// Bytes of the constants.
    pub constants: usize,
    /// The tiles.
    pub cut: Cut,
    /// In which order it goes over them.
    pub walk: Walk,
    /// Where instructions find what they read and write, once it was run.
    pub binding: OnceLock<Binding>,
}

/// How a program goes over its elements.
#[derive(Debug)]
pub enum Walk {
    /// Tile after tile.
    Tiles,
    /// Column after column of some rows, whose results are folded: columns are tiles then, or several each.
    Across(Across),
    /// Block after block of the columns of a product, each made before its tiles.
    Blocks(Blocks),
}
