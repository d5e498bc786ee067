//! A compiled group: a tile program, and the reductions that are finished after the last tile.

use crate::exec::schedule::Finish;
use crate::exec::vm::{Bound, Code, Walk};
use crate::kernels::threads::pool::{WORTH_SHARING, WORTH_SHARING_AWAKE};
use std::sync::Arc;

/// About how long a piece of a program takes, in picoseconds: so short that threads end at about the same
/// time.
const PIECE: usize = WORTH_SHARING / 3;

/// Pieces that a program is cut into, at least, and at most.
const MIN_PIECES: usize = 2;
const MAX_PIECES: usize = 256;

/// A group, ready to run. Its operands and results are those of its step, in order.
#[derive(Debug)]
pub struct Program {
    pub(super) code: Arc<Code>,
    /// The load of each operand.
    pub(super) loads: Vec<Load>,
    /// For each result, whether it is stored when the tile is done, so that it may lie where an operand does.
    pub(super) late: Vec<bool>,
    /// Results that are finished after the last tile.
    pub(super) folds: Vec<Folded>,
    /// Estimated time on one core.
    pub(super) picoseconds: usize,
    /// Names of the ops, in order.
    pub(super) names: Vec<&'static str>,
}

/// How an operand is loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Load {
    /// Its tiles are windows of memory.
    Direct,
    /// Its tiles are gathered.
    Gather,
    /// It lies in runs, which native code reads in place; they are gathered otherwise.
    Runs,
    /// It is one element.
    Splat,
    /// Each tile reads all of it.
    Whole,
}

/// A result that is finished from partial results of tiles.
#[derive(Debug)]
pub(super) struct Folded {
    /// The fold of the partial results.
    pub finish: Box<dyn Finish>,
    /// Numbers of the results with the partial results, and with what is made of them.
    pub partials: usize,
    pub result: usize,
}

impl Program {
    /// What runs it, once it is bound to memory.
    pub fn unbound(&self) -> Bound {
        let if_awake = if self.is_for_helpers_awake() { MIN_PIECES } else { 1 };
        Bound::new(self.code.clone(), self.pieces(), if_awake)
    }

    /// Whether operand `i` may be where result `j` is.
    pub fn in_place(&self, i: usize, j: usize) -> bool {
        self.loads[i] == Load::Direct && self.late[j]
    }

    /// What is left when all tiles are folded: how partial results are combined, the numbers of the results
    /// that they are, and of those that are made of them.
    pub fn unfinished(&self) -> impl Iterator<Item = (&dyn Finish, usize, usize)> {
        self.folds.iter().map(|fold| (&*fold.finish, fold.partials, fold.result))
    }

    /// Bytes of its registers, which programs may share.
    pub fn registers(&self) -> usize {
        match self.code.walk {
            // Its pieces have their own.
            Walk::Across(_) => 0,
            _ => self.code.registers,
        }
    }

    /// Names of its ops, in the order in which they run.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// Whether it is worth sharing between threads.
    pub fn is_shared(&self) -> bool {
        self.pieces() > 1
    }

    /// Whether it is worth sharing only with helpers that are awake.
    pub fn is_for_helpers_awake(&self) -> bool {
        (WORTH_SHARING_AWAKE..WORTH_SHARING).contains(&self.picoseconds)
    }

    /// The loads of its operands.
    pub fn loads(&self) -> &[Load] {
        &self.loads
    }

    /// Estimated time on one core, in picoseconds.
    pub fn picoseconds(&self) -> usize {
        self.picoseconds
    }

    /// Pieces that threads share.
    pub fn pieces(&self) -> usize {
        pieces(self.picoseconds)
    }

    /// Elements of a tile, and their number in all.
    pub fn tiles(&self) -> (usize, usize) {
        (self.code.cut.longest(), self.code.cut.len)
    }
}

/// Pieces for the threads.
fn pieces(picoseconds: usize) -> usize {
    if picoseconds < WORTH_SHARING {
        1
    } else {
        (picoseconds / PIECE).clamp(MIN_PIECES, MAX_PIECES)
    }
}
