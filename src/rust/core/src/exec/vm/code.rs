//! Tile programs and their instructions.

use super::binding::Binding;
use super::cut::Cut;
use super::kernel::{Kernel, Slot};
use super::native::Native;
use super::runs::Runs;
use crate::kernels::reductions::accumulators::Accumulators;
use crate::kernels::reductions::partials::{LANES, PARTIAL};
use crate::kernels::tile::{MAX_OPERANDS, TILE};
use std::fmt;
use std::sync::OnceLock;

/// The work of an instruction.
#[derive(Debug)]
pub enum Work {
    /// One kernel.
    Kernel {
        /// The kernel.
        kernel: Kernel,
        /// Slots of its operands; unused ones are [`Slot::Register`]`(0)`.
        operands: [Slot; MAX_OPERANDS],
        /// Slot of its result.
        result: Slot,
    },
    /// A chain of ops, and the slots of its arguments; some, by number, lie in runs.
    Native(Native, Vec<Slot>, Vec<(usize, Runs)>),
}

/// One instruction.
#[derive(Debug)]
pub struct Instruction {
    /// Its work.
    pub work: Work,
    /// Whether it works on the folds of segments, with an element for each segment of the tile, which has
    /// whole segments.
    pub folded: bool,
    /// Whether it runs column by column: it knows elements by their numbers.
    pub by_column: bool,
    /// The phase of its lines in which it runs.
    pub phase: usize,
}

/// Folds across the columns of a program's value.
#[derive(Debug)]
pub struct Across {
    /// Elements of a column, one for each result.
    pub rows: usize,
    /// The folds.
    pub folds: Vec<Folding>,
    /// Phases, if the program runs in such: each reads what the folds before it made.
    pub phased: Option<Phased>,
}

/// Phases on some rows at a time.
#[derive(Clone, Copy, Debug)]
pub struct Phased {
    /// The rows.
    pub rows: usize,
    /// Phases.
    pub count: usize,
    /// Whether tiles are copies of rows of several columns, not those of one column in their place.
    pub packed: bool,
}

/// One fold.
pub struct Folding {
    /// The fold.
    pub accumulators: Accumulators,
    /// Bytes of an element.
    pub width: usize,
    /// Slot of the elements, after all instructions were run on the tile.
    pub operand: Slot,
    /// The stream with the results; with [`Partial`](crate::kernels::reductions::partials::Partial)s, for
    /// each result one for each tile, if there are several. In phases, always the results, of some rows if it
    /// is a register.
    pub result: Slot,
    /// The phase that it ends.
    pub phase: usize,
}

impl Folding {
    /// Adds the elements of columns side by side of so many rows to the accumulators, from a lane on.
    pub(super) fn add(&self, accumulators: &mut [u8], x: &[u8], rows: usize, lane: usize) {
        // Up to the last lane, and from the first one on.
        let head = (LANES - lane) % LANES * rows;
        let (head, tail) = x.split_at((head * self.width).min(x.len()));
        for (x, at) in [(head, lane * rows), (tail, 0)] {
            let accumulators = &mut accumulators[at * self.accumulators.width..];
            let n = accumulators.len().min(x.len() / self.width * self.accumulators.width);
            (self.accumulators.add)(&mut accumulators[..n], x);
        }
    }

    /// Whether its results are in a stream.
    pub(super) fn is_in_stream(&self) -> bool {
        matches!(self.result, Slot::Stream(_))
    }
}

impl Across {
    /// Tiles of each result of a program on `len` elements.
    pub fn partials(&self, len: usize) -> usize {
        if self.phased.is_some() {
            return 1;
        }
        partials(len, self.rows)
    }

    /// Bytes of a result's element, or of a partial result.
    pub fn unit(&self, fold: &Folding, len: usize) -> usize {
        if self.partials(len) > 1 {
            PARTIAL
        } else {
            fold.width
        }
    }
}

/// Tiles of each result of folds across `len` elements in columns of `rows`.
pub fn partials(len: usize, rows: usize) -> usize {
    (len / rows).div_ceil(TILE)
}

impl fmt::Debug for Folding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fold of {:?} into {:?}", self.operand, self.result)
    }
}

/// The product that a program begins with.
#[derive(Debug)]
pub struct Blocks {
    /// Computes whole columns of it.
    pub product: Instruction,
    /// Elements of a column.
    pub rows: usize,
}

/// A tile program.
#[derive(Debug)]
pub struct Code {
    /// Instructions that run before the first tile of a piece and fill constants.
    pub before: Vec<Instruction>,
    /// Instructions that run on each tile.
    pub each: Vec<Instruction>,
    /// Bytes of the registers.
    pub registers: usize,
    /// Bytes of the constants.
    pub constants: usize,
    /// The tiles.
    pub cut: Cut,
    /// The order of tiles.
    pub walk: Walk,
    /// The addresses of operands and results, after the first run.
    pub binding: OnceLock<Binding>,
}

/// The order in which a program computes its elements.
#[derive(Debug)]
pub enum Walk {
    /// Tile after tile.
    Tiles,
    /// Tile after tile, each of which takes what the one before carries.
    Chained {
        /// Whether they begin with the last.
        reverse: bool,
    },
    /// Column after column of some rows, whose results are folded: columns are tiles then, or several each.
    Across(Across),
    /// Block after block of the columns of a product, each made before its tiles.
    Blocks(Blocks),
}
