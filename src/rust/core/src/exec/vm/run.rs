//! Runs programs: pieces of their tiles on the threads, or bound to one memory and run often.

use super::code::{Code, Instruction, Walk, Work};
use super::kernel::Extent;
use super::resolve::{run, Bytes, Call, Resolved, Room, Tile};
use super::{across, product_blocks};
use crate::kernels::memory::{Memory, Span, Streams};
use crate::kernels::threads::{pool, threads};

/// Pieces of a program for each thread, at most.
const PIECES: usize = 8;

impl Code {
    /// Runs it on all tiles, cut into `pieces` for the threads. Tiles do not depend on pieces.
    ///
    /// # Panics
    /// If an instruction reads or writes outside of its stream, or what another writes: a program that does
    /// this is wrong.
    pub fn run(&self, streams: &Streams, pieces: usize) {
        match &self.walk {
            Walk::Tiles => {}
            Walk::Across(folds) => return across::run(folds, self, streams, pieces > 1),
            Walk::Blocks(blocks) => return product_blocks::run(blocks, self, streams, pieces > 1),
        }
        // What it costs to begin a piece is not to be paid more often than it takes for threads to end at
        // about the same time.
        let pieces = match threads() {
            1 => 1,
            threads => pieces.clamp(1, PIECES * threads),
        };
        let tiles = self.cut.tiles();
        let step = tiles.div_ceil(pieces).max(1);
        pool::for_each_piece(tiles.div_ceil(step), pieces > 1, |i| {
            let piece = i * step..((i + 1) * step).min(tiles);
            // SAFETY: another piece is given other tiles.
            self.with_room(streams, |room| unsafe { run(&room.instructions(self).0, &self.cut, piece) });
        });
    }
}

/// A program with the addresses of all that it reads and writes, to be run often. Constants that hold a
/// number are filled when it is made.
pub struct Bound<'c, 'a> {
    code: &'c Code,
    streams: Streams<'a>,
    /// What changes from one run to the next of that which is run before the first tile; and the first tile.
    first: Vec<Call<'c, 'c>>,
    /// For other tiles.
    each: Vec<Resolved<'c>>,
    /// Of the memory that it lies in.
    address: usize,
    pieces: usize,
    tiles: usize,
}

impl<'c, 'a> Bound<'c, 'a> {
    /// Binds a program to values in memory, as [`Memory::streams`] does. Registers are in the first span of
    /// `scratch`, which other programs may use too; constants in the second, which is its own.
    ///
    /// # Panics
    /// As [`Code::run`] and [`Memory::streams`].
    pub fn new<'s>(
        code: &'c Code,
        pieces: usize,
        memory: &mut Memory<'a>,
        reads: impl ExactSizeIterator<Item = &'s Span>,
        writes: impl ExactSizeIterator<Item = &'s Span> + Clone,
        names: &[usize],
        in_place: impl Fn(usize, usize) -> bool,
        scratch: [&Span; 2],
    ) -> Bound<'c, 'a> {
        let streams = memory.resolve(reads, writes, names, in_place);
        let identity: Vec<usize> = (0..=scratch[0].buffer.max(scratch[1].buffer)).collect();
        let spare = memory.resolve([].iter(), scratch.into_iter(), &identity, |_, _| false);
        let [registers, constants] = [0, 1].map(|i| Bytes(spare.get(i).pointer(), spare.get(i).bytes()));
        // Scratch memory is nobody's value.
        let apart = |i: usize| {
            [registers, constants]
                .iter()
                .all(|b| b.apart(&Bytes(streams.get(i).pointer(), streams.get(i).bytes())))
        };
        assert!((0..streams.count()).all(apart), "a value lies in scratch memory");
        let room = Room { streams: &streams, registers, constants, cut: &code.cut };
        let changes = |instruction: &&Instruction| !matches!(&instruction.work, Work::Kernel { kernel, .. } if kernel.reads[0] == Extent::Unused);
        let (before, each) =
            (room.resolve(code.before.iter().filter(changes)), room.resolve(code.each.iter()));
        let once = room.resolve(code.before.iter().filter(|instruction| !changes(instruction)));
        // SAFETY: `memory` is held exclusively, and all addresses were checked to be in it.
        unsafe { run(&once, &code.cut, 0..1) };
        let mut first = Vec::new();
        if !matches!(code.walk, Walk::Across(_)) {
            let all = Tile { elements: 0..code.cut.len, segments: 0..0 };
            let product = if let Walk::Blocks(blocks) = &code.walk { Some(&blocks.product) } else { None };
            for product in room.resolve(product.into_iter()) {
                product.calls(&code.cut, &all, |call| first.push(call));
            }
            let tile = Tile::new(&code.cut, 0);
            for instruction in before.iter().chain(&each) {
                instruction.calls(&code.cut, &tile, |call| first.push(call));
            }
        }
        Bound { address: memory.address(), code, streams, first, each, pieces, tiles: code.cut.tiles() }
    }

    /// Runs it.
    ///
    /// # Panics
    /// If `memory` is not the one that it is bound to.
    pub fn run(&mut self, memory: &mut Memory<'a>) {
        assert!(memory.address() == self.address, "a program is bound to other memory");
        if self.pieces > 1 || matches!(self.code.walk, Walk::Across(_)) {
            return self.code.run(&self.streams, self.pieces);
        }
        // SAFETY: the buffers are borrowed for 'a, and `memory`, through which alone slices of them are made,
        // is held exclusively; all addresses were checked when they were bound.
        unsafe {
            self.first.iter().for_each(|call| call.run());
            if self.tiles > 1 {
                run(&self.each, &self.code.cut, 1..self.tiles);
            }
        }
    }
}
