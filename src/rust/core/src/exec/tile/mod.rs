//! Groups of nodes as programs on tiles: what is loaded, what is computed, what is stored.
//!
//! Dense operands are read where they are; others are gathered into a register, a tile at a time; one element
//! everywhere is filled into a register once. The last reader of a register frees it. Results that are kept
//! are made where they are to be, unless that place is an operand's: then they are made in a register and
//! stored when the tile is done.

mod chain;
mod compile;
mod pair;

pub use compile::{compile, Compiled, Kept, Stored};

use super::group::Group;
use super::plan::Step;
use crate::dtype::DType;
use crate::exec::vm::{Bound, Code, Cut, CONSTANT};
use crate::kernels::memory::{Memory, Span};
use crate::kernels::threads::pool::WORTH_SHARING;
use crate::kernels::tile::TILE;
use crate::ops::{ByVector, Reduction};

/// About how long a piece of a program takes, in picoseconds: so short that threads end at about the same
/// time.
const PIECE: usize = WORTH_SHARING / 3;

/// Pieces that a program is cut into, at most.
const MAX_PIECES: usize = 256;

/// A group, ready to run. Its operands and results are those of its step, in order.
#[derive(Debug)]
pub struct Program {
    code: Code,
    /// How each operand is read.
    loads: Vec<Load>,
    /// For each result, whether it is stored when the tile is done, so that it may lie where an operand does.
    late: Vec<bool>,
    /// What is finished after the last tile.
    folds: Vec<Folded>,
    /// Estimated time on one core.
    picoseconds: usize,
    /// Names of the ops, in order.
    names: Vec<&'static str>,
}

/// How an operand reaches the registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Load {
    /// Its tiles are windows of memory.
    Direct,
    /// Its tiles are gathered.
    Gather,
    /// It is one element.
    Splat,
    /// Each tile reads all of it.
    Whole,
}

/// A result of which tiles make parts.
#[derive(Debug)]
struct Folded {
    sum: Sum,
    /// Numbers of the results with the parts, and with what is made of them.
    partials: usize,
    result: usize,
}

/// How parts are put together.
#[derive(Debug)]
enum Sum {
    /// By a reduction of elements of this dtype.
    Reduction(Reduction, DType),
    /// As those of a product.
    Product(ByVector),
}

impl Program {
    /// Runs it. Buffers of the step have numbers that `names` translates to those of the memory.
    pub fn run(&self, step: &Step, memory: &mut Memory, names: &[usize]) {
        let reads = step.operands.iter().map(|(_, place)| &place.span);
        let writes = step.results.iter().map(|(_, span)| span);
        let streams = memory.streams(reads, writes, names, |i, j| self.in_place(i, j));
        self.code.run(&streams, self.pieces());
        self.finish(step, memory, names);
    }

    /// Binds it to memory, to be run often there: its scratch memory is in these two spans, of
    /// [`scratch`](Program::scratch) bytes.
    pub fn bind<'p, 'a>(
        &'p self,
        step: &'p Step,
        memory: &mut Memory<'a>,
        names: &[usize],
        scratch: [&Span; 2],
    ) -> Bound<'p, 'a> {
        let reads = step.operands.iter().map(|(_, place)| &place.span);
        let writes = step.results.iter().map(|(_, span)| span);
        Bound::new(
            &self.code,
            self.pieces(),
            memory,
            reads,
            writes,
            names,
            |i, j| self.in_place(i, j),
            scratch,
        )
    }

    /// Whether operand `i` may be where result `j` is.
    fn in_place(&self, i: usize, j: usize) -> bool {
        self.loads[i] == Load::Direct && self.late[j]
    }

    /// Whether something is left when all tiles are folded.
    #[inline]
    pub fn is_unfinished(&self) -> bool {
        !self.folds.is_empty()
    }

    /// Makes what is left when all tiles are folded.
    pub fn finish(&self, step: &Step, memory: &mut Memory, names: &[usize]) {
        for fold in &self.folds {
            let partials = &step.results[fold.partials].1;
            let (lent, out) = memory.lend(std::iter::once(partials), &step.results[fold.result].1, names);
            match &fold.sum {
                Sum::Reduction(op, dtype) => op.finish(*dtype, lent.read(partials), self.code.cut.len, out),
                Sum::Product(product) => product.finish(lent.read(partials), out),
            }
        }
    }

    /// Bytes of registers, which programs may share, and of constants.
    pub fn scratch(&self) -> [usize; 2] {
        [self.code.registers, self.code.constants]
    }

    /// Names of its ops, in the order in which they run.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// Whether it is worth sharing between threads.
    pub fn is_shared(&self) -> bool {
        self.pieces() > 1
    }

    /// How its operands are read.
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
        (picoseconds / PIECE).clamp(2, MAX_PIECES)
    }
}

/// The tiles of a group that takes `width` bytes of registers for each element. With many registers tiles are
/// shorter, so that all stay in the cache; but those of a reduction are what they are.
fn cut(Group { len, segment, rows, .. }: Group, width: usize) -> Cut {
    /// Of a first-level cache of 32 KiB, the rest is for operands and results.
    const CACHE: usize = 24 << 10;
    // Never shorter than constants are.
    const _: () = assert!(CONSTANT <= TILE / 4);
    let mut tile = TILE;
    while segment.is_none() && tile > TILE / 4 && tile * width > CACHE {
        tile /= 2;
    }
    let segment = segment.unwrap_or(len);
    Cut { len, segment, tile: if rows { segment.max(tile) } else { tile } }
}
