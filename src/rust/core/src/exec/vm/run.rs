//! Execution of tile programs: in pieces that threads share, or as a list of calls on this thread.

use super::binding::Binding;
use super::code::{Code, Instruction, Walk, Work};
use super::kernel::Extent;
use super::resolve::{Call, Room, Tile};
use super::{across, chained, lines, product_blocks};
use crate::kernels::memory::{AlignedBytes, Lent, Streams};
use crate::kernels::threads::{pool, threads};
use std::fmt;
use std::sync::Arc;

/// Pieces of a program for each thread, at most.
const MAX_PIECES_PER_THREAD: usize = 8;

impl Code {
    /// Runs it on all tiles, in `pieces` that threads share. Tiles do not depend on pieces.
    ///
    /// # Panics
    /// If an instruction reads or writes outside of its stream, or what another writes: such a program is
    /// malformed.
    pub fn run(&self, streams: &Streams, pieces: usize) {
        self.with_binding(streams, |binding| match &self.walk {
            Walk::Tiles => self.run_tiles(binding, streams, pieces),
            Walk::Chained { reverse } => chained::run(*reverse, self, binding, streams, pieces > 1),
            Walk::Across(folds) => match folds.phased {
                Some(phased) => lines::run(folds, phased, self, binding, streams, pieces > 1),
                None => across::run(folds, self, binding, streams, pieces > 1),
            },
            Walk::Blocks(blocks) => product_blocks::run(blocks, self, binding, streams, pieces > 1),
        })
    }

    fn run_tiles(&self, binding: &Binding, streams: &Streams, pieces: usize) {
        // To begin a piece has a cost: there are only as many as let threads end at about the same time.
        let pieces = match threads() {
            1 => 1,
            threads => pieces.clamp(1, MAX_PIECES_PER_THREAD * threads),
        };
        let tiles = self.cut.tiles();
        // Those of a partial result that several tiles make, one after the other, are in one piece.
        let step = tiles.div_ceil(pieces).max(1).next_multiple_of(self.cut.partial.div_ceil(self.cut.tile));
        pool::for_each_piece(tiles.div_ceil(step), pieces > 1, |i| {
            let piece = i * step..((i + 1) * step).min(tiles);
            // SAFETY: another piece is given other tiles.
            self.with_room(binding, streams, 0, |room, _| unsafe { room.run(piece) });
        });
    }
}

/// A bound tile program: the addresses of all that it reads and writes are resolved again only when buffers
/// have moved.
pub struct Bound {
    code: Arc<Code>,
    pieces: usize,
    /// Pieces that it is shared in if helpers are awake, if it is not shared otherwise.
    if_awake: usize,
    tiles: usize,
    /// Whether it runs on this thread as a list of calls, and not in pieces each of which has registers and
    /// constants of its own.
    is_direct: bool,
    /// Its constants: those of literals are filled once, those of operands in each run.
    constants: AlignedBytes,
    /// Registers, constants and streams.
    bases: Vec<*mut u8>,
    /// The calls of a run before and on the first tile, without those that fill constants with literals. They
    /// borrow the instructions of `code`, which lives as long.
    first: Vec<Call<'static>>,
    /// The number of its step, and the version of the memory that it is bound to; 0 before it is bound.
    step: usize,
    version: u64,
    /// The address of the registers.
    registers: *mut u8,
}

// SAFETY: addresses are those of memory and registers that are checked to be lent whenever it runs, of its own
// constants, and of instructions of `code`.
unsafe impl Send for Bound {}

impl fmt::Debug for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bound")
    }
}

impl Bound {
    /// An unbound program that threads share in so many pieces, or in others if helpers are awake.
    pub fn new(code: Arc<Code>, pieces: usize, if_awake: usize) -> Bound {
        let is_one = match &code.walk {
            Walk::Tiles => true,
            Walk::Blocks(blocks) => product_blocks::is_one(blocks, &code),
            Walk::Across(_) | Walk::Chained { .. } => false,
        };
        let (constants, bases, first) = Default::default();
        let (tiles, is_direct) = (code.cut.tiles(), is_one && pieces <= 1);
        Bound {
            code,
            pieces,
            if_awake,
            tiles,
            is_direct,
            constants,
            bases,
            first,
            step: 0,
            version: 0,
            registers: std::ptr::null_mut(),
        }
    }

    /// Binds it to the values of a step, and to registers.
    ///
    /// # Panics
    /// As [`Code::run`].
    pub fn bind(&mut self, lent: &mut Lent, step: usize, registers: &mut [u8]) {
        // The version is set last: a panic leaves the program unbound to this memory.
        let is_first = self.version == 0;
        if self.is_direct {
            assert!(registers.len() >= self.code.registers, "registers are too few");
            self.registers = registers.as_mut_ptr();
            self.constants.reserve(self.code.constants);
            let streams = lent.streams(step);
            self.bases.clear();
            self.bases.extend([self.registers, self.constants.as_mut_slice().as_mut_ptr()]);
            self.bases.extend((0..streams.count()).map(|i| streams.get(i).pointer()));
            let Bound { code, bases, first, .. } = self;
            code.with_binding(&streams, |binding| list(&Room { code, binding, bases }, is_first, first));
        }
        (self.step, self.version) = (step, lent.version());
    }

    /// Runs it.
    ///
    /// # Panics
    /// If it is bound to other values or registers; else as [`Code::run`].
    #[inline]
    pub fn run(&self, lent: &mut Lent, registers: &mut [u8]) {
        assert!(self.version == lent.version(), "a program is bound to other values");
        let is_shared = self.if_awake > 1 && pool::is_awake();
        if is_shared || !self.is_direct {
            let pieces = if is_shared { self.if_awake } else { self.pieces };
            return self.code.run(&lent.streams(self.step), pieces);
        }
        assert!(self.registers == registers.as_mut_ptr(), "a program is bound to other registers");
        // SAFETY: values and registers are borrowed exclusively, and those that all addresses were checked
        // for; nothing else knows of the constants, as `self` is not shared with other threads.
        unsafe { self.first.iter().for_each(|call| call.run()) };
        if self.tiles > 1 {
            self.code.with_binding(&lent.streams(self.step), |binding| {
                let room = Room { code: &self.code, binding, bases: &self.bases };
                // SAFETY: as above.
                unsafe { room.run(1..self.tiles) };
            });
        }
    }
}

/// Lists the calls of a program before and on its first tile. Constants of literals are filled here, the
/// first time.
fn list(room: &Room, is_first: bool, calls: &mut Vec<Call<'static>>) {
    let Room { code, binding, .. } = room;
    let fills = |instruction: &Instruction| match &instruction.work {
        Work::Kernel { kernel, .. } => kernel.reads[0] == Extent::Unused,
        Work::Native(..) => false,
    };
    if is_first {
        // SAFETY: the caller holds the constants exclusively.
        unsafe { room.before(fills) };
    }
    calls.clear();
    // SAFETY: the instructions are those of the code that the list is kept with.
    let mut add =
        |call: &Call| calls.push(unsafe { std::mem::transmute::<Call, Call<'static>>(call.clone()) });
    if let (Walk::Blocks(blocks), Some(product)) = (&code.walk, &binding.product) {
        room.calls(
            &blocks.product,
            product,
            &Tile { elements: 0..code.cut.len, segments: 0..0, rows: 0 },
            &mut add,
        );
    }
    let tile = Tile::new(&code.cut, 0);
    let before = code.before.iter().zip(&binding.before).filter(|(instruction, _)| !fills(instruction));
    for (instruction, resolved) in before.chain(code.each.iter().zip(&binding.each)) {
        room.calls(instruction, resolved, &tile, &mut add);
    }
}
