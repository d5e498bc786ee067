//! Runs programs: pieces of their tiles on the threads, or bound to one memory and run often.

use super::binding::Binding;
use super::code::{Code, Instruction, Walk, Work};
use super::kernel::Extent;
use super::resolve::{Call, Room, Tile};
use super::{across, product_blocks};
use crate::kernels::memory::{Memory, Span, Stream, Streams};
use crate::kernels::threads::{pool, threads};

/// Pieces of a program for each thread, at most.
const MAX_PIECES_PER_THREAD: usize = 8;

impl Code {
    /// Runs it on all tiles, cut into `pieces` for the threads. Tiles do not depend on pieces.
    ///
    /// # Panics
    /// If an instruction reads or writes outside of its stream, or what another writes: a program that does
    /// this is wrong.
    pub fn run(&self, streams: &Streams, pieces: usize) {
        self.with_binding(streams, |binding| match &self.walk {
            Walk::Tiles => self.run_tiles(binding, streams, pieces),
            Walk::Across(folds) => across::run(folds, self, binding, streams, pieces > 1),
            Walk::Blocks(blocks) => product_blocks::run(blocks, self, binding, streams, pieces > 1),
        })
    }

    fn run_tiles(&self, binding: &Binding, streams: &Streams, pieces: usize) {
        // What it costs to begin a piece is not to be paid more often than it takes for threads to end at
        // about the same time.
        let pieces = match threads() {
            1 => 1,
            threads => pieces.clamp(1, MAX_PIECES_PER_THREAD * threads),
        };
        let tiles = self.cut.tiles();
        let step = tiles.div_ceil(pieces).max(1);
        pool::for_each_piece(tiles.div_ceil(step), pieces > 1, |i| {
            let piece = i * step..((i + 1) * step).min(tiles);
            // SAFETY: another piece is given other tiles.
            self.with_room(binding, streams, |room| unsafe { room.run(piece) });
        });
    }
}

/// A program with the addresses of all that it reads and writes, to be run often. Constants that hold a
/// number are filled when it is made.
pub struct Bound<'c, 'a> {
    code: &'c Code,
    streams: Streams<'a>,
    binding: Binding,
    /// Registers, constants and streams.
    bases: Vec<*mut u8>,
    /// What changes from one run to the next of that which is run before the first tile; and the first tile.
    first: Vec<Call<'c>>,
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
        let range = |stream: &Stream| {
            let start = stream.pointer() as usize;
            start..start + stream.bytes()
        };
        // Scratch memory is nobody's value.
        let apart = |i: usize| {
            let value = range(streams.get(i));
            (0..2).map(|k| range(spare.get(k))).all(|s| value.end <= s.start || s.end <= value.start)
        };
        assert!((0..streams.count()).all(apart), "a value lies in scratch memory");
        let holds = |k: usize, bytes: usize| spare.get(k).bytes() >= bytes;
        assert!(holds(0, code.registers) && holds(1, code.constants), "scratch memory is too small");
        let mut bases: Vec<*mut u8> = vec![spare.get(0).pointer(), spare.get(1).pointer()];
        bases.extend((0..streams.count()).map(|i| streams.get(i).pointer()));
        let binding = code.with_binding(&streams, Binding::clone);
        let changes = |instruction: &Instruction| !matches!(&instruction.work, Work::Kernel { kernel, .. } if kernel.reads[0] == Extent::Unused);
        let mut first = Vec::new();
        let room = Room { code, binding: &binding, bases: &bases };
        // SAFETY: `memory` is held exclusively, and all addresses were checked to be in it.
        unsafe { room.before(|instruction| !changes(instruction)) };
        if !matches!(code.walk, Walk::Across(_)) {
            let all = Tile { elements: 0..code.cut.len, segments: 0..0 };
            if let (Walk::Blocks(blocks), Some(product)) = (&code.walk, &binding.product) {
                room.calls(&blocks.product, product, &all, |call| first.push(call));
            }
            let tile = Tile::new(&code.cut, 0);
            let before =
                code.before.iter().zip(&binding.before).filter(|(instruction, _)| changes(instruction));
            for (instruction, resolved) in before.chain(code.each.iter().zip(&binding.each)) {
                room.calls(instruction, resolved, &tile, |call| first.push(call));
            }
        }
        Bound {
            address: memory.address(),
            code,
            streams,
            binding,
            bases,
            first,
            pieces,
            tiles: code.cut.tiles(),
        }
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
                let room = Room { code: self.code, binding: &self.binding, bases: &self.bases };
                room.run(1..self.tiles);
            }
        }
    }
}
