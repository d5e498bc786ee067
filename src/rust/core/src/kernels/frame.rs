//! Tile programs: instructions over registers of one tile each, which stay in the first-level cache.
//!
//! An instruction is a kernel on slices, the same that runs when its op stands alone, with the places of its
//! operands and its result. A place is a register, or a *stream*: a dense value in memory, of which the tile
//! is a window. One that is not dense is first gathered into a register. Values of which all elements are
//! equal are filled into a register once.
//!
//! This is one of the places that turn pointers into slices: windows of streams are lent to kernels, a tile
//! at a time, and threads have tiles of their own.

use super::across::Across;
use super::by_block::Blocks;
use super::cast;
use super::fold::{Fold, Partial, Reduce, Rows, PARTIAL};
use super::memory::{AlignedBytes, Memory, Span, Streams};
use super::native::{Native, MAX_ARGUMENTS};
use super::past::{stream, streamed};
use super::pool;
use super::threads::threads;
use super::tile::{gather, TILE};
use crate::dtype::Element;
use crate::shape::Shape;
use crate::stop;
use crate::tensor::{Layout, Literal};
use std::cell::RefCell;
use std::fmt;
use std::mem::size_of;
use std::ops::Range;

/// How the elements of a program are cut into tiles. No tile holds parts of two segments, unless it holds all
/// of both: a reduction folds segments, and its tiles are those that it has when it stands alone.
#[derive(Clone, Debug)]
pub struct Cut {
    /// Number of elements.
    pub len: usize,
    /// Elements of a segment.
    pub segment: usize,
    /// Elements of a tile, at most.
    pub tile: usize,
}

impl Cut {
    /// Tiles of a segment; 1 if a tile holds whole ones.
    pub fn parts(&self) -> usize {
        self.segment.div_ceil(self.tile)
    }

    /// Segments of a tile, at least 1.
    fn segments(&self) -> usize {
        (self.tile / self.segment).max(1)
    }

    /// Number of tiles.
    pub fn tiles(&self) -> usize {
        let segments = self.len / self.segment;
        if self.parts() > 1 {
            segments * self.parts()
        } else {
            segments.div_ceil(self.segments())
        }
    }

    /// Elements that a constant fills.
    pub fn constant(&self) -> usize {
        self.longest().min(CONSTANT)
    }

    /// Segments of the longest tile; one if a segment is many tiles.
    fn folded(&self) -> usize {
        (self.longest() / self.segment).max(1)
    }

    /// Elements of the longest tile.
    pub fn longest(&self) -> usize {
        if self.parts() > 1 {
            self.tile
        } else {
            (self.segments() * self.segment).min(self.len)
        }
    }

    /// The elements of a tile.
    fn range(&self, tile: usize) -> Range<usize> {
        if self.parts() > 1 {
            let (segment, part) = (tile / self.parts(), tile % self.parts());
            let start = segment * self.segment + part * self.tile;
            return start..(start + self.tile).min((segment + 1) * self.segment);
        }
        let step = self.segments() * self.segment;
        tile * step..((tile + 1) * step).min(self.len)
    }
}

/// Elements of a register that holds one value for ever: a kernel that reads one takes its tile in parts of
/// this length, so that constants leave the cache to others.
pub const CONSTANT: usize = 256;

/// Where an operand or a result of an instruction is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// Among the constants, from this byte on: one value, [`Cut::constant`] times.
    Constant(usize),
    /// Among the registers, from this byte on.
    Register(usize),
    /// In the stream with that number.
    Stream(usize),
}

/// Pieces of a program for each thread, at most.
const PIECES: usize = 8;

/// Segments below which each is folded by itself, however short.
const FEW: usize = 4;

/// Elements of a segment that is folded by itself where there are many: of shorter ones, what it takes to
/// begin is more than to gather the elements of all.
const ALONE: usize = 24;

/// What an instruction touches of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Extent {
    /// Nothing: the kernel has fewer operands.
    Unused,
    /// The elements of the tile, of so many bytes each.
    Tile(usize),
    /// An element of so many bytes for each segment of the tile; or, if a segment is many tiles, a
    /// [`Partial`] for each tile.
    Fold(usize),
    /// So many bytes for each part of a segment.
    Part(usize),
    /// All of a stream that no instruction writes.
    Whole,
    /// So many bytes of a stream.
    Bytes(usize),
    /// All copies of a constant, of so many bytes each.
    Constant(usize),
}

pub(super) type Run = dyn Fn(&Window) + Send + Sync;

/// What an instruction does with the tiles in its slots. Kernels take as many operands as they need of the
/// three.
pub struct Kernel {
    run: Box<Run>,
    reads: [Extent; 3],
    write: Extent,
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kernel")
    }
}

/// The tile of a value of elements of this type.
fn tile_of<T>() -> Extent {
    Extent::Tile(size_of::<T>())
}

impl Kernel {
    /// A kernel that keeps to these extents.
    pub(super) fn new(run: Box<Run>, reads: [Extent; 3], write: Extent) -> Kernel {
        Kernel { run, reads, write }
    }

    /// A kernel of one operand.
    pub fn of1<T: Element, U: Element>(f: impl Fn(&[T], &mut [U]) + Send + Sync + 'static) -> Kernel {
        let run = Box::new(move |w: &Window| f(w.read::<T>(0), w.write::<U>()));
        Kernel { run, reads: [tile_of::<T>(), Extent::Unused, Extent::Unused], write: tile_of::<U>() }
    }

    /// A kernel of two operands.
    pub fn of2<T: Element, U: Element>(f: impl Fn(&[T], &[T], &mut [U]) + Send + Sync + 'static) -> Kernel {
        let run = Box::new(move |w: &Window| f(w.read::<T>(0), w.read::<T>(1), w.write::<U>()));
        Kernel { run, reads: [tile_of::<T>(), tile_of::<T>(), Extent::Unused], write: tile_of::<U>() }
    }

    /// A kernel of three operands, the first of its own dtype.
    pub fn of3<S: Element, T: Element>(
        f: impl Fn(&[S], &[T], &[T], &mut [T]) + Send + Sync + 'static,
    ) -> Kernel {
        let run =
            Box::new(move |w: &Window| f(w.read::<S>(0), w.read::<T>(1), w.read::<T>(2), w.write::<T>()));
        Kernel { run, reads: [tile_of::<S>(), tile_of::<T>(), tile_of::<T>()], write: tile_of::<T>() }
    }

    /// Copies the operand.
    pub fn copy<T: Element>() -> Kernel {
        Kernel::of1::<T, T>(|x, out| out.copy_from_slice(x))
    }

    /// Copies the operand past the caches, for results that nobody will soon read there: memory is written
    /// without being read first, and what is in the caches stays.
    pub fn stream<T: Element>() -> Kernel {
        Kernel::of1::<T, T>(|x, out| stream(cast::bytes(x), cast::bytes_mut(out)))
    }

    /// The tile of a stream of this shape and layout.
    pub fn gather<T: Element>(shape: Shape, layout: Layout) -> Kernel {
        let run = Box::new(move |w: &Window| gather::<T>(w.whole(0), &shape, &layout, w.range(), w.write()));
        Kernel { run, reads: [Extent::Whole, Extent::Unused, Extent::Unused], write: tile_of::<T>() }
    }

    /// One element of a stream, as a constant. Runs before the first tile.
    pub fn splat<T: Element>(element: usize) -> Kernel {
        let run = Box::new(move |w: &Window| w.write::<T>().fill(w.whole::<T>(0)[element]));
        let write = Extent::Constant(size_of::<T>());
        Kernel { run, reads: [Extent::Whole, Extent::Unused, Extent::Unused], write }
    }

    /// One value, as a constant. Runs before the first tile.
    pub fn fill<T: Element>(value: Literal) -> Kernel {
        let value: T = value.get();
        let run = Box::new(move |w: &Window| w.write::<T>().fill(value));
        Kernel { run, reads: [Extent::Unused; 3], write: Extent::Constant(size_of::<T>()) }
    }

    /// Counts from `start`, up to `size` numbers, each repeated `stride` times.
    pub fn iota<T: Element>(start: i64, stride: usize, size: usize) -> Kernel {
        let run = Box::new(move |w: &Window| {
            let (mut repeat, mut at) = (w.start % stride, w.start / stride % size);
            for out in w.write::<T>() {
                *out = T::from_i64(start.wrapping_add(at as i64));
                repeat += 1;
                if repeat == stride {
                    (repeat, at) = (0, if at + 1 == size { 0 } else { at + 1 });
                }
            }
        });
        Kernel { run, reads: [Extent::Unused; 3], write: tile_of::<T>() }
    }

    /// Folds the segments of the tile, each into one element; or, if a segment is many tiles, the tile into
    /// its [`Partial`], one for each tile. Long segments are folded in the parts that they have as tiles.
    pub fn fold<T: Reduce>(fold: Fold) -> Kernel {
        let places: [isize; ALONE] = std::array::from_fn(|i| i as isize);
        let run = Box::new(move |w: &Window| {
            let x = w.read::<T>(0);
            if w.cut.parts() > 1 {
                return w.folded::<u8>(PARTIAL).copy_from_slice(&T::tile::<Partial>(fold, x));
            }
            let segment = w.cut.segment;
            let out = w.folded::<T>(x.len() / segment);
            // Many short ones are folded side by side.
            if segment < ALONE && x.len() / segment >= FEW {
                return T::tiles(
                    fold,
                    x,
                    Rows { first: 0, stride: segment as isize, places: &places[..segment] },
                    out,
                );
            }
            for (x, out) in x.chunks(segment).zip(out) {
                *out = if segment <= TILE {
                    T::tile(fold, x)
                } else {
                    T::finish(fold, segment, &mut |add| {
                        x.chunks(TILE).for_each(|part| add(T::tile(fold, part)))
                    })
                };
            }
        });
        Kernel {
            run,
            reads: [tile_of::<T>(), Extent::Unused, Extent::Unused],
            write: Extent::Fold(size_of::<T>()),
        }
    }

    /// Repeats what segments were folded into, each for all elements of its segment.
    pub fn repeat<T: Element>() -> Kernel {
        let run = Box::new(move |w: &Window| {
            let (segment, out) = (w.cut.segment, w.write::<T>());
            let folded = w.slice::<T>(0, out.len() / segment);
            out.chunks_mut(segment).zip(folded).for_each(|(out, &x)| out.fill(x));
        });
        let folded = Extent::Fold(size_of::<T>());
        Kernel { run, reads: [folded, Extent::Unused, Extent::Unused], write: tile_of::<T>() }
    }
}

/// Folds what [`Kernel::fold`] made of the tiles of `len` elements each.
pub fn finish<T: Reduce>(fold: Fold, partials: &[u8], len: usize, out: &mut [u8]) {
    for (partials, out) in partials.chunks(len.div_ceil(TILE) * PARTIAL).zip(cast::slice_mut::<T>(out)) {
        *out = T::finish(fold, len, &mut |add| {
            for (i, partial) in partials.chunks(PARTIAL).enumerate() {
                if i % stop::EVERY == 0 {
                    stop::work(stop::EVERY);
                }
                add(Partial::try_from(partial).expect("a whole number of partials"));
            }
        });
    }
}

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
    /// Folds of what lies apart: columns are tiles then, or several tiles each.
    pub across: Option<Across>,
    /// A product that is made before, by blocks of its columns.
    pub blocks: Option<Blocks>,
}

thread_local! {
    /// Registers, kept from one program to the next.
    static REGISTERS: RefCell<AlignedBytes> = RefCell::default();
}

impl Code {
    /// Runs it on all tiles, cut into `pieces` for the threads. Tiles do not depend on pieces.
    ///
    /// # Panics
    /// If an instruction reads or writes outside of its stream, or what another writes: a program that does
    /// this is wrong.
    pub fn run(&self, streams: &Streams, pieces: usize) {
        if let Some(across) = &self.across {
            return across.run(self, streams, pieces > 1);
        }
        if let Some(blocks) = &self.blocks {
            return blocks.run(self, streams, pieces > 1);
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

    /// Gives a piece registers of its own, and constants, which are filled. The piece runs instructions on
    /// tiles that no other has: registers and constants are borrowed exclusively, and the streams' memory too
    /// for as long as they live.
    pub(super) fn with_room(&self, streams: &Streams, piece: impl FnOnce(&Room)) {
        let run_in = |scratch: &mut AlignedBytes| {
            scratch.reserve(self.registers + self.constants);
            let (registers, constants) = scratch.as_mut_slice().split_at_mut(self.registers);
            let room = Room {
                streams,
                registers: Bytes::of(registers),
                constants: Bytes::of(constants),
                cut: &self.cut,
            };
            // SAFETY: constants are written by this piece alone.
            unsafe { run(&room.resolve(self.before.iter()), &self.cut, 0..1) };
            piece(&room);
            // Other threads are told of the end of the piece after what it wrote past the caches.
            streamed();
        };
        REGISTERS.with(|registers| match registers.try_borrow_mut() {
            Ok(mut registers) => run_in(&mut registers),
            Err(_) => run_in(&mut AlignedBytes::default()),
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
        let [registers, constants] = [0, 1].map(|i| Bytes(spare.get(i).pointer(), spare.get(i).len()));
        // Scratch memory is nobody's value.
        let apart = |i: usize| {
            [registers, constants]
                .iter()
                .all(|b| b.apart(&Bytes(streams.get(i).pointer(), streams.get(i).len())))
        };
        assert!((0..streams.len()).all(apart), "a value lies in scratch memory");
        let room = Room { streams: &streams, registers, constants, cut: &code.cut };
        let changes = |instruction: &&Instruction| !matches!(&instruction.work, Work::Kernel { kernel, .. } if kernel.reads[0] == Extent::Unused);
        let (before, each) =
            (room.resolve(code.before.iter().filter(changes)), room.resolve(code.each.iter()));
        let once = room.resolve(code.before.iter().filter(|instruction| !changes(instruction)));
        // SAFETY: `memory` is held exclusively, and all addresses were checked to be in it.
        unsafe { run(&once, &code.cut, 0..1) };
        let mut first = Vec::new();
        if code.across.is_none() {
            let all = Tile { elements: 0..code.cut.len, segments: 0..0 };
            for product in room.resolve(code.blocks.iter().map(|blocks| &blocks.product)) {
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
        if self.pieces > 1 || self.code.across.is_some() {
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

/// Runs instructions on tiles.
///
/// # Safety
/// What the instructions were resolved to is still there, and nothing else reads or writes the elements of
/// these tiles, or the registers.
unsafe fn run(code: &[Resolved], cut: &Cut, tiles: Range<usize>) {
    for tile in tiles {
        let tile = Tile::new(cut, tile);
        stop::work(tile.elements.len());
        // SAFETY: by the caller.
        unsafe { run_on(code, cut, &tile) };
    }
}

/// Runs instructions on one tile.
///
/// # Safety
/// As [`run`].
#[inline]
unsafe fn run_on(code: &[Resolved], cut: &Cut, tile: &Tile) {
    for instruction in code {
        // SAFETY: by the caller.
        instruction.calls(cut, tile, |call| unsafe { call.run() });
    }
}

/// The elements of a tile and its segments; if a segment is many tiles, the tile counts as one.
pub(super) struct Tile {
    pub(super) elements: Range<usize>,
    pub(super) segments: Range<usize>,
}

impl Tile {
    fn new(cut: &Cut, tile: usize) -> Tile {
        let elements = cut.range(tile);
        let segment = cut.segment;
        let segments =
            if cut.parts() > 1 { tile..tile + 1 } else { elements.start / segment..elements.end / segment };
        Tile { elements, segments }
    }
}

/// Instructions with the places of what they read and write.
pub(super) struct Instructions<'c>(Vec<Resolved<'c>>);

impl Instructions<'_> {
    /// Runs them on one tile.
    ///
    /// # Safety
    /// As [`run`].
    pub(super) unsafe fn run(&self, cut: &Cut, tile: &Tile) {
        // SAFETY: by the caller.
        unsafe { run_on(&self.0, cut, tile) };
    }
}

/// The memory of a program.
pub(super) struct Room<'r> {
    streams: &'r Streams<'r>,
    registers: Bytes,
    constants: Bytes,
    cut: &'r Cut,
}

/// Bytes that an instruction reads, or writes.
#[derive(Clone, Copy)]
pub(super) struct Bytes(*mut u8, usize);

impl Bytes {
    /// Their number.
    pub(super) fn len(&self) -> usize {
        self.1
    }

    fn of(bytes: &mut [u8]) -> Bytes {
        Bytes(bytes.as_mut_ptr(), bytes.len())
    }

    fn apart(&self, other: &Bytes) -> bool {
        let (a, b) = (self.0 as usize, other.0 as usize);
        a + self.1 <= b || b + other.1 <= a
    }

    /// `len` bytes, from byte `at` on.
    fn part(&self, at: usize, len: usize) -> Bytes {
        assert!(at + len <= self.1, "a register outside of scratch memory");
        Bytes(self.0.wrapping_add(at), len)
    }
}

/// Where the elements of a tile are: a start, and the bytes by which it moves with the first element of the
/// tile, with the first element of a part of the tile, and with the first segment.
#[derive(Clone, Copy)]
pub(super) struct Place {
    start: *mut u8,
    by_tile: usize,
    by_part: usize,
    by_fold: usize,
}

impl Place {
    pub(super) fn at(&self, tile: usize, part: usize, fold: usize) -> *mut u8 {
        self.start.wrapping_add(tile * self.by_tile + part * self.by_part + fold * self.by_fold)
    }
}

/// An instruction with the places of what it reads and writes.
enum Resolved<'c> {
    Kernel {
        kernel: &'c Run,
        reads: [Place; 3],
        write: Place,
        /// Bytes of the first two operands, if they are read whole.
        whole: [usize; 2],
        /// Elements that are done at one time: all of a tile, unless an operand is a constant.
        part: usize,
        /// Copies of a constant, if it fills one.
        copies: Option<usize>,
        /// As of the instruction.
        folded: bool,
    },
    Native {
        native: &'c Native,
        places: Vec<Place>,
        folded: bool,
    },
}

/// An instruction for one tile, or for a part of it.
enum Call<'c, 'w> {
    Kernel(&'c Run, Window<'w>),
    /// Code, the addresses of its arguments, and the number of elements.
    Native(&'c Native, [*mut u8; MAX_ARGUMENTS], usize),
}

impl Call<'_, '_> {
    /// # Safety
    /// As [`run`].
    #[inline]
    unsafe fn run(&self) {
        match self {
            Call::Kernel(kernel, window) => kernel(window),
            // SAFETY: by the caller: that so much is there was checked when it was resolved
            // ([`Room::native`]).
            Call::Native(native, addresses, n) => unsafe { native.call(addresses, *n) },
        }
    }
}

impl<'c> Resolved<'c> {
    /// What is called for a tile: a kernel once, or for each part.
    #[inline]
    fn calls<'w>(
        &self,
        cut: &'w Cut,
        Tile { elements, segments }: &Tile,
        mut call: impl FnMut(Call<'c, 'w>),
    ) {
        let range = |folded: bool| if folded { segments } else { elements };
        match *self {
            Resolved::Kernel {
                kernel,
                reads: [ref x, ref y, ref z],
                ref write,
                whole,
                part,
                copies,
                folded,
            } => {
                let (range, fold) = (range(folded), segments.start);
                let n = copies.unwrap_or(range.len());
                let mut at = 0;
                while at < n {
                    let len = (n - at).min(part);
                    let place = |place: &Place| place.at(range.start, at, fold).cast_const();
                    let (reads, write) = ([place(x), place(y), place(z)], write.at(range.start, at, fold));
                    call(Call::Kernel(
                        kernel,
                        Window { reads, write, whole, start: range.start + at, len, cut },
                    ));
                    at += len;
                }
            }
            Resolved::Native { native, ref places, folded } => {
                let range = range(folded);
                let mut addresses = [std::ptr::null_mut(); MAX_ARGUMENTS];
                for (address, place) in addresses.iter_mut().zip(places) {
                    *address = place.at(range.start, 0, segments.start);
                }
                call(Call::Native(native, addresses, range.len()));
            }
        }
    }
}

impl Room<'_> {
    /// What a program runs on each tile.
    pub(super) fn instructions<'c>(&self, code: &'c Code) -> Instructions<'c> {
        self.all(code.each.iter())
    }

    /// These instructions.
    pub(super) fn all<'c>(&self, code: impl Iterator<Item = &'c Instruction>) -> Instructions<'c> {
        Instructions(self.resolve(code))
    }

    /// Checks that instructions touch what is theirs, whatever the tile.
    fn resolve<'c>(&self, code: impl Iterator<Item = &'c Instruction>) -> Vec<Resolved<'c>> {
        code.map(|instruction| self.instruction(instruction)).collect()
    }

    fn instruction<'c>(&self, Instruction { work, folded }: &'c Instruction) -> Resolved<'c> {
        assert!(!folded || self.cut.parts() == 1, "no tile has what a part of a segment is folded into");
        match work {
            Work::Kernel { kernel, operands, result } => self.kernel(kernel, operands, *result, *folded),
            Work::Native(native, slots) => self.native(native, slots, *folded),
        }
    }

    fn kernel<'c>(
        &self,
        kernel: &'c Kernel,
        operands: &[Slot; 3],
        result: Slot,
        folded: bool,
    ) -> Resolved<'c> {
        let (write, written) = self.place(result, kernel.write, folded, true);
        let mut whole = [0; 2];
        let reads = [0, 1, 2].map(|i| {
            let (place, bytes) = self.place(operands[i], kernel.reads[i], folded, false);
            assert!(bytes.1 == 0 || bytes.apart(&written), "an instruction writes what it reads");
            if kernel.reads[i] == Extent::Whole {
                assert!(i < 2, "only the first two operands are read whole");
                whole[i] = bytes.1;
            }
            place
        });
        let is_constant =
            |i: usize| matches!((operands[i], kernel.reads[i]), (Slot::Constant(_), Extent::Tile(_)));
        let part = if (0..3).any(is_constant) { self.cut.constant() } else { usize::MAX };
        let copies = matches!(kernel.write, Extent::Constant(_)).then(|| self.cut.constant());
        Resolved::Kernel { kernel: &*kernel.run, reads, write, whole, part, copies, folded }
    }

    fn native<'c>(&self, native: &'c Native, slots: &[Slot], folded: bool) -> Resolved<'c> {
        let arguments = native.arguments();
        assert!(arguments.len() == slots.len() && slots.len() <= MAX_ARGUMENTS, "code has other arguments");
        let mut places = Vec::with_capacity(slots.len());
        let mut touched: Vec<Bytes> = Vec::with_capacity(slots.len());
        // What is read comes first.
        for (argument, &slot) in arguments.iter().zip(slots) {
            let is_constant = matches!(slot, Slot::Constant(_));
            assert!(
                is_constant == argument.repeated,
                "code reads one element of a constant, and a tile of all else"
            );
            let (place, bytes) = self.place(slot, Extent::Tile(argument.width), folded, argument.written);
            let apart = |other: &Bytes| bytes.apart(other);
            assert!(!argument.written || touched.iter().all(apart), "an instruction writes what it reads");
            places.push(place);
            touched.push(bytes);
        }
        Resolved::Native { native, places, folded }
    }

    /// Where a slot is, and all the bytes that an instruction may touch of it.
    pub(super) fn place(&self, slot: Slot, extent: Extent, folded: bool, write: bool) -> (Place, Bytes) {
        let segments = self.cut.len / self.cut.segment;
        let (len, longest) =
            if folded { (segments, self.cut.folded()) } else { (self.cut.len, self.cut.longest()) };
        let fixed = |bytes: Bytes| (Place { start: bytes.0, by_tile: 0, by_part: 0, by_fold: 0 }, bytes);
        let stream = |i: usize, needed: usize| {
            let stream = self.streams.get(i);
            assert!(needed <= stream.len(), "a tile outside of its stream");
            assert!(!write || stream.is_writable(), "a stream is read-only");
            fixed(Bytes(stream.pointer(), stream.len()))
        };
        match (extent, slot) {
            (Extent::Unused, _) => fixed(Bytes(std::ptr::NonNull::dangling().as_ptr(), 0)),
            (Extent::Tile(size), Slot::Constant(at)) if !write => {
                fixed(self.constants.part(at, self.cut.constant() * size))
            }
            (Extent::Constant(size), Slot::Constant(at)) => {
                fixed(self.constants.part(at, self.cut.constant() * size))
            }
            (Extent::Tile(size), Slot::Register(at)) => {
                let (place, bytes) = fixed(self.registers.part(at, longest * size));
                (Place { by_part: size, ..place }, bytes)
            }
            (Extent::Tile(size), Slot::Stream(i)) => {
                let (place, bytes) = stream(i, len * size);
                (Place { by_tile: size, by_part: size, ..place }, bytes)
            }
            (Extent::Fold(size), Slot::Stream(i)) => {
                let many = self.cut.parts() > 1;
                let (count, size) = if many { (self.cut.tiles(), PARTIAL) } else { (segments, size) };
                let (place, bytes) = stream(i, count * size);
                (Place { by_fold: size, ..place }, bytes)
            }
            (Extent::Part(size), Slot::Stream(i)) => {
                assert!(self.cut.parts() == self.cut.tiles(), "a part of what is no segment");
                let (place, bytes) = stream(i, self.cut.parts() * size);
                (Place { by_fold: size, ..place }, bytes)
            }
            (Extent::Fold(size), Slot::Register(at)) if self.cut.parts() == 1 => {
                fixed(self.registers.part(at, self.cut.folded() * size))
            }
            (Extent::Bytes(size), Slot::Stream(i)) => stream(i, size),
            (Extent::Whole, Slot::Stream(i)) => {
                assert!(self.streams.get(i).is_alone(), "a stream is written while all of it is read");
                stream(i, 0)
            }
            _ => panic!("a kernel has no use for a slot of this kind"),
        }
    }
}

/// What a kernel sees: where its operands and its result are, and which elements of the program these are.
/// Kernels read and write just what their [`Extent`]s say.
pub struct Window<'w> {
    reads: [*const u8; 3],
    write: *mut u8,
    whole: [usize; 2],
    start: usize,
    len: usize,
    cut: &'w Cut,
}

impl Window<'_> {
    /// Which elements they are.
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.start + self.len
    }

    /// The elements of an operand.
    pub(super) fn read<T: Element>(&self, i: usize) -> &[T] {
        self.slice(i, self.len)
    }

    /// All elements of one of the first two operands.
    pub(super) fn whole<T: Element>(&self, i: usize) -> &[T] {
        self.slice(i, self.whole[i] / size_of::<T>())
    }

    fn slice<T: Element>(&self, i: usize, n: usize) -> &[T] {
        let pointer = self.reads[i].cast::<T>();
        assert!(pointer.is_aligned(), "an operand is not aligned");
        // SAFETY: the extent of the kernel has at least so many bytes there, which were checked to be in
        // memory that is borrowed while it runs, and apart from what it writes ([`Room::instruction`]).
        unsafe { std::slice::from_raw_parts(pointer, n) }
    }

    /// The elements to make.
    #[allow(clippy::mut_from_ref)]
    pub(super) fn write<T: Element>(&self) -> &mut [T] {
        self.folded(self.len)
    }

    /// The elements to make, of which there are `n`. Kernels call this once.
    #[allow(clippy::mut_from_ref)]
    pub(super) fn folded<T: Element>(&self, n: usize) -> &mut [T] {
        let pointer = self.write.cast::<T>();
        assert!(pointer.is_aligned(), "a result is not aligned");
        // SAFETY: as for operands. Other threads make other tiles, and what is read whole is written by
        // nobody.
        unsafe { std::slice::from_raw_parts_mut(pointer, n) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_all_elements_once_and_keep_to_segments() {
        for (len, segment) in
            [(10, 10), (10, 5), (12, 3), (1, 1), (100, 20), (21, 7), (16, 4), (64, 64), (45, 9)]
        {
            let cut = Cut { len, segment, tile: 8 };
            let mut next = 0;
            for tile in 0..cut.tiles() {
                let range = cut.range(tile);
                assert!(
                    range.start == next && range.len() <= cut.longest() && !range.is_empty(),
                    "{cut:?} {tile}"
                );
                let whole = range.start % segment == 0 && range.end % segment == 0;
                assert!(whole || (range.start / segment == (range.end - 1) / segment && cut.parts() > 1));
                // As the reduction by itself has it.
                assert!(cut.parts() == 1 || range.start % segment % 8 == 0);
                next = range.end;
            }
            assert_eq!(next, len);
        }
    }
}
