//! A compiled group: a tile program, and the reductions that are finished after the last tile.

use crate::exec::place::Place;
use crate::exec::schedule::Finish;
use crate::exec::vm::{Bound, Code};
use crate::kernels::memory::{Memory, Span};
use crate::kernels::threads::pool::WORTH_SHARING;
use crate::tensor::Aval;

/// About how long a piece of a program takes, in picoseconds: so short that threads end at about the same
/// time.
const PIECE: usize = WORTH_SHARING / 3;

/// Pieces that a program is cut into, at most.
const MAX_PIECES: usize = 256;

/// A group, ready to run. Its operands and results are those of its step, in order.
#[derive(Debug)]
pub struct Program {
    pub(super) code: Code,
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
    /// Numbers of the results with the parts, and with what is made of them.
    pub partials: usize,
    pub result: usize,
}

/// Operands and results of a program, from its step.
#[derive(Clone, Copy)]
pub struct Ends<'s> {
    /// The values that it reads.
    pub operands: &'s [(Aval, Place)],
    /// Those that it makes.
    pub results: &'s [(Aval, Span)],
}

impl Program {
    /// Runs it. Buffers of the step have numbers that `names` translates to those of the memory.
    pub fn run(&self, step: Ends, memory: &mut Memory, names: &[usize]) {
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
        step: Ends<'p>,
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
    pub fn finish(&self, step: Ends, memory: &mut Memory, names: &[usize]) {
        for fold in &self.folds {
            let partials = &step.results[fold.partials].1;
            let (lent, out) = memory.lend(std::iter::once(partials), &step.results[fold.result].1, names);
            fold.finish.finish(lent.read(partials), out);
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
        (picoseconds / PIECE).clamp(2, MAX_PIECES)
    }
}
