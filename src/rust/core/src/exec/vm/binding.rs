//! Addresses of the operands and results of instructions, relative to registers, constants and streams:
//! resolved and checked once, for all runs on values of the same sizes.

use super::runs::Joint;
use crate::kernels::memory::Streams;
use crate::kernels::tile::MAX_OPERANDS;

/// Index of the base address of registers.
pub(super) const REGISTERS: usize = 0;
/// Index of that of constants; those of streams follow.
pub(super) const CONSTANTS: usize = 1;
/// Index of that of the first stream.
pub(super) const STREAMS: usize = 2;

/// The address of a tile's elements: an offset from a base, and the bytes by which it moves with the first
/// element of the tile, with the first element of a chunk of the tile, and with the first segment.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    pub(super) base: usize,
    pub(super) offset: usize,
    pub(super) by_tile: usize,
    pub(super) by_chunk: usize,
    pub(super) by_fold: usize,
}

impl Address {
    /// An address that is the same for all tiles.
    pub(super) fn fixed(base: usize, offset: usize) -> Address {
        Address { base, offset, by_tile: 0, by_chunk: 0, by_fold: 0 }
    }

    /// The address of the elements, for these bases.
    ///
    /// # Safety
    /// The bases are those of registers, constants, and as many streams as the program was bound to.
    #[inline(always)]
    pub(super) unsafe fn at(&self, bases: &[*mut u8], tile: usize, chunk: usize, fold: usize) -> *mut u8 {
        debug_assert!(self.base < bases.len());
        let moved = tile * self.by_tile + chunk * self.by_chunk + fold * self.by_fold;
        // SAFETY: by the caller: the program was bound to streams with all the numbers that it has.
        unsafe { *bases.get_unchecked(self.base) }.wrapping_add(self.offset + moved)
    }
}

/// An instruction with the addresses of what it reads and writes.
#[derive(Clone, Debug)]
pub(super) enum Resolved {
    Kernel {
        reads: [Address; MAX_OPERANDS],
        write: Address,
        /// Bytes of the first two operands, if they are read whole.
        whole: [usize; 2],
        /// Elements of a chunk, for which the kernel is called once: all of a tile, unless an operand is a
        /// constant.
        chunk: usize,
        /// Copies of a constant, if it fills one.
        copies: Option<usize>,
    },
    /// Of the arguments, and of those that lie in runs how these go on together.
    Native(Vec<Address>, Option<Joint>),
}

/// A stream as it was when a program was bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Expected {
    pub bytes: usize,
    pub writable: bool,
    /// The result that lies where it does.
    pub alias: Option<usize>,
}

/// The addresses of a program.
#[derive(Clone, Debug)]
pub struct Binding {
    /// Of the instructions before the first tile.
    pub(super) before: Vec<Resolved>,
    /// Of the instructions on each tile.
    pub(super) each: Vec<Resolved>,
    /// Of the product that precedes the tiles.
    pub(super) product: Option<Resolved>,
    /// Of the operand and of the result of each fold across columns.
    pub(super) folds: Vec<[Address; 2]>,
    pub(super) streams: Vec<Expected>,
}

/// The properties of streams that addresses depend on.
pub(super) fn expected<'s>(streams: &'s Streams) -> impl Iterator<Item = Expected> + use<'s> {
    (0..streams.count()).map(|i| {
        let stream = streams.get(i);
        Expected { bytes: stream.bytes(), writable: stream.is_writable(), alias: stream.alias() }
    })
}

impl Binding {
    /// Whether these streams have the properties that it was resolved for.
    pub(super) fn fits(&self, streams: &Streams) -> bool {
        self.streams.len() == streams.count() && expected(streams).eq(self.streams.iter().copied())
    }
}
