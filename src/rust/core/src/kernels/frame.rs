//! Tile programs: instructions over registers of one tile each, which stay in the first-level cache.
//!
//! An instruction is a kernel on slices, the same that runs when its op stands alone, with the places of its operands and
//! its result. A place is a register, or a *stream*: a dense value in memory, of which the tile is a window. One that is
//! not dense is first gathered into a register. Values of which all elements are equal are filled into a register once.
//!
//! This is one of the places that turn pointers into slices: windows of streams are lent to kernels, a tile at a time, and
//! threads have tiles of their own.

use super::cast;
use super::fold::{Fold, Partial, Reduce, Rows, PARTIAL};
use super::memory::{AlignedBytes, Streams};
use super::pool;
use super::reduce::LINE;
use super::tile::gather;
use crate::dtype::Element;
use crate::shape::Shape;
use crate::tensor::{Layout, Literal};
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ops::Range;

/// How the elements of a program are cut into tiles. No tile holds parts of two segments, unless it holds all of both: a
/// reduction folds segments, and its tiles are those that it has when it stands alone.
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
        if self.parts() > 1 { segments * self.parts() } else { segments.div_ceil(self.segments()) }
    }

    /// Elements that a constant fills.
    pub fn constant(&self) -> usize {
        self.longest().min(CONSTANT)
    }

    /// Elements of the longest tile.
    pub fn longest(&self) -> usize {
        if self.parts() > 1 { self.tile } else { (self.segments() * self.segment).min(self.len) }
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

/// Elements of a register that holds one value for ever: a kernel that reads one takes its tile in parts of this length, so
/// that constants leave the cache to others.
pub const CONSTANT: usize = 256;

/// Where an operand or a result of an instruction is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// In scratch memory, from this byte on: one value, [`Cut::constant`] times.
    Constant(usize),
    /// In scratch memory, from this byte on.
    Register(usize),
    /// In the stream with that number.
    Stream(usize),
}

type Run = dyn Fn(&mut Frame, [Slot; 3], Slot) + Send + Sync;

/// What an instruction does with the tiles in its slots. Kernels take as many operands as they need of the three.
pub struct Kernel(Box<Run>);

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kernel")
    }
}

impl Kernel {
    /// A kernel of one operand.
    pub fn of1<T: Element, U: Element>(f: impl Fn(&[T], &mut [U]) + Send + Sync + 'static) -> Kernel {
        Kernel(Box::new(move |frame, [x, ..], out| {
            let (x, out) = (frame.source::<T>(x), frame.target::<U>(out));
            frame.each([x], out, |[x], out| f(cast::slice(x), cast::slice_mut(out)));
        }))
    }

    /// A kernel of two operands.
    pub fn of2<T: Element, U: Element>(f: impl Fn(&[T], &[T], &mut [U]) + Send + Sync + 'static) -> Kernel {
        Kernel(Box::new(move |frame, [x, y, _], out| {
            let (x, y, out) = (frame.source::<T>(x), frame.source::<T>(y), frame.target::<U>(out));
            frame.each([x, y], out, |[x, y], out| f(cast::slice(x), cast::slice(y), cast::slice_mut(out)));
        }))
    }

    /// A kernel of three operands, the first of its own dtype.
    pub fn of3<S: Element, T: Element>(f: impl Fn(&[S], &[T], &[T], &mut [T]) + Send + Sync + 'static) -> Kernel {
        Kernel(Box::new(move |frame, [x, y, z], out| {
            let (x, y, z) = (frame.source::<S>(x), frame.source::<T>(y), frame.source::<T>(z));
            let out = frame.target::<T>(out);
            frame.each([x, y, z], out, |[x, y, z], out| {
                f(cast::slice(x), cast::slice(y), cast::slice(z), cast::slice_mut(out));
            });
        }))
    }

    /// Copies the operand.
    pub fn copy<T: Element>() -> Kernel {
        Kernel::of1::<T, T>(|x, out| out.copy_from_slice(x))
    }

    /// The tile of a stream of this shape and layout.
    pub fn gather<T: Element>(shape: Shape, layout: Layout) -> Kernel {
        Kernel(Box::new(move |frame, [x, ..], out| {
            let (x, out, range) = (frame.whole(x), frame.target::<T>(out), frame.range.clone());
            let (x, out) = frame.lend([x], out);
            gather::<T>(cast::slice(x[0]), &shape, &layout, range, cast::slice_mut(out));
        }))
    }

    /// One element of a stream, as a constant. Runs before the first tile.
    pub fn splat<T: Element>(element: usize) -> Kernel {
        Kernel(Box::new(move |frame, [x, ..], out| {
            let (x, out) = (frame.whole(x), frame.constant::<T>(out));
            let (x, out) = frame.lend([x], out);
            cast::slice_mut::<T>(out).fill(cast::slice::<T>(x[0])[element]);
        }))
    }

    /// One value, as a constant. Runs before the first tile.
    pub fn fill<T: Element>(value: Literal) -> Kernel {
        let value: T = value.get();
        Kernel(Box::new(move |frame, _, out| {
            let out = frame.constant::<T>(out);
            cast::slice_mut::<T>(frame.lend([], out).1).fill(value);
        }))
    }

    /// Counts from `start`, up to `size` numbers, each repeated `stride` times.
    pub fn iota<T: Element>(start: i64, stride: usize, size: usize) -> Kernel {
        Kernel(Box::new(move |frame, _, out| {
            let (first, out) = (frame.range.start, frame.target::<T>(out));
            let (mut repeat, mut at) = (first % stride, first / stride % size);
            for out in cast::slice_mut::<T>(frame.lend([], out).1) {
                *out = T::from_i64(start.wrapping_add(at as i64));
                repeat += 1;
                if repeat == stride {
                    (repeat, at) = (0, if at + 1 == size { 0 } else { at + 1 });
                }
            }
        }))
    }

    /// Folds the segments of the tile into elements of a stream that has one for each segment; or, if a segment is many
    /// tiles, the tile into its [`Partial`], one for each tile.
    pub fn fold<T: Reduce>(fold: Fold) -> Kernel {
        let places: [isize; LINE] = std::array::from_fn(|i| i as isize);
        Kernel(Box::new(move |frame, [x, ..], out| {
            let (segment, parts) = (frame.cut.segment, frame.cut.parts());
            let x = frame.source::<T>(x).bytes;
            if parts > 1 {
                let out = frame.window(out, frame.tile * PARTIAL, PARTIAL);
                let (x, out) = frame.lend([x], out);
                out.copy_from_slice(&T::tile::<Partial>(fold, cast::slice(x[0])));
                return;
            }
            let size = size_of::<T>();
            let segments = frame.range.start / segment..frame.range.end / segment;
            let out = frame.window(out, segments.start * size, segments.len() * size);
            let (x, out) = frame.lend([x], out);
            let (x, out) = (cast::slice::<T>(x[0]), cast::slice_mut::<T>(out));
            if segment >= LINE {
                return x.chunks(segment).zip(out).for_each(|(x, out)| *out = T::tile(fold, x));
            }
            let rows = Rows { first: 0, stride: segment as isize, places: &places[..segment] };
            T::tiles(fold, x, rows, out);
        }))
    }
}

/// Folds what [`Kernel::fold`] made of `parts` tiles each.
pub fn finish<T: Reduce>(fold: Fold, partials: &[u8], parts: usize, out: &mut [u8]) {
    for (partials, out) in partials.chunks(parts * PARTIAL).zip(cast::slice_mut::<T>(out)) {
        *out = T::finish(fold, &mut |add| {
            for partial in partials.chunks(PARTIAL) {
                add(Partial::try_from(partial).expect("a whole number of partials"));
            }
        });
    }
}

/// One instruction.
#[derive(Debug)]
pub struct Instruction {
    /// What it does.
    pub kernel: Kernel,
    /// Where its operands are; what it does not use is [`Slot::Register`]`(0)`.
    pub operands: [Slot; 3],
    /// Where its result goes.
    pub result: Slot,
}

/// A program on tiles.
#[derive(Debug)]
pub struct Code {
    /// What is run before the first tile of a piece.
    pub before: Vec<Instruction>,
    /// What is run on each tile.
    pub each: Vec<Instruction>,
    /// Bytes of the registers.
    pub registers: usize,
    /// The tiles.
    pub cut: Cut,
}

thread_local! {
    /// Registers, kept from one program to the next.
    static REGISTERS: RefCell<AlignedBytes> = RefCell::default();
}

impl Code {
    /// Runs it on all tiles, cut into `pieces` for the threads. Tiles do not depend on pieces.
    ///
    /// # Panics
    /// If an instruction reads or writes outside of its stream, or what another writes: a program that does this is wrong.
    pub fn run(&self, streams: &Streams, pieces: usize) {
        let tiles = self.cut.tiles();
        let step = tiles.div_ceil(pieces.max(1)).max(1);
        pool::for_each_piece(tiles.div_ceil(step), pieces > 1, |i| {
            let piece = i * step..((i + 1) * step).min(tiles);
            REGISTERS.with(|registers| match registers.try_borrow_mut() {
                Ok(mut registers) => self.piece(streams, &mut registers, piece),
                Err(_) => self.piece(streams, &mut AlignedBytes::default(), piece),
            });
        });
    }

    fn piece(&self, streams: &Streams, registers: &mut AlignedBytes, tiles: Range<usize>) {
        registers.reserve(self.registers);
        let bytes = registers.as_mut_slice();
        let registers = Bytes(bytes.as_mut_ptr(), bytes.len());
        let mut frame = Frame { streams, registers, borrow: PhantomData, cut: &self.cut, tile: 0, range: 0..0 };
        for instruction in &self.before {
            (instruction.kernel.0)(&mut frame, instruction.operands, instruction.result);
        }
        for tile in tiles {
            frame.tile = tile;
            frame.range = self.cut.range(tile);
            for instruction in &self.each {
                (instruction.kernel.0)(&mut frame, instruction.operands, instruction.result);
            }
        }
    }
}

/// The registers of a thread, and the tile that is being made.
pub struct Frame<'f> {
    streams: &'f Streams<'f>,
    registers: Bytes,
    borrow: PhantomData<&'f mut [u8]>,
    cut: &'f Cut,
    tile: usize,
    range: Range<usize>,
}

/// Bytes that an instruction reads, or writes.
#[derive(Clone, Copy)]
struct Bytes(*mut u8, usize);

impl Bytes {
    fn apart(&self, other: &Bytes) -> bool {
        let (a, b) = (self.0 as usize, other.0 as usize);
        a + self.1 <= b || b + other.1 <= a
    }

    /// The elements `range`, of `size` bytes each.
    fn part(&self, range: &Range<usize>, size: usize) -> Bytes {
        assert!(range.end * size <= self.1, "part of a tile outside of it");
        Bytes(self.0.wrapping_add(range.start * size), range.len() * size)
    }
}

/// An operand's bytes.
#[derive(Clone, Copy)]
struct Source {
    bytes: Bytes,
    /// Bytes of an element.
    size: usize,
    /// Whether the same elements serve all parts of a tile.
    constant: bool,
}

impl Frame<'_> {
    /// The tile of an operand.
    fn source<T>(&self, slot: Slot) -> Source {
        let (size, n) = (size_of::<T>(), self.range.len());
        let bytes = match slot {
            Slot::Constant(at) => self.register(at, self.cut.constant() * size),
            Slot::Register(at) => self.register(at, n * size),
            Slot::Stream(i) => self.part(i, self.range.start * size, n * size, false),
        };
        Source { bytes, size, constant: matches!(slot, Slot::Constant(_)) }
    }

    /// The tile of a result.
    fn target<T>(&self, slot: Slot) -> Bytes {
        let (size, n) = (size_of::<T>(), self.range.len());
        match slot {
            Slot::Register(at) => self.register(at, n * size),
            Slot::Stream(i) => self.part(i, self.range.start * size, n * size, true),
            Slot::Constant(_) => panic!("a constant is written once"),
        }
    }

    /// A constant, to be filled.
    fn constant<T>(&self, slot: Slot) -> Bytes {
        let Slot::Constant(at) = slot else { panic!("not a constant") };
        self.register(at, self.cut.constant() * size_of::<T>())
    }

    fn register(&self, at: usize, len: usize) -> Bytes {
        assert!(at + len <= self.registers.1, "a register outside of scratch memory");
        Bytes(self.registers.0.wrapping_add(at), len)
    }

    /// Calls a kernel on the tile, or on parts of it if an operand is a constant.
    fn each<const N: usize>(&mut self, reads: [Source; N], write: Bytes, mut f: impl FnMut([&[u8]; N], &mut [u8])) {
        let n = self.range.len();
        if !reads.iter().any(|read| read.constant) {
            let (reads, write) = self.lend(reads.map(|read| read.bytes), write);
            return f(reads, write);
        }
        let (step, size) = (self.cut.constant(), write.1 / n);
        for start in (0..n).step_by(step) {
            let part = start..(start + step).min(n);
            let first = 0..part.len();
            let reads = reads.map(|read| read.bytes.part(if read.constant { &first } else { &part }, read.size));
            let (reads, write) = self.lend(reads, write.part(&part, size));
            f(reads, write);
        }
    }

    /// All of a stream that no instruction writes.
    fn whole(&self, slot: Slot) -> Bytes {
        let Slot::Stream(i) = slot else { panic!("not a stream") };
        let stream = self.streams.get(i);
        assert!(stream.is_alone(), "a stream is written while all of it is read");
        Bytes(stream.pointer(), stream.len())
    }

    /// Part of a stream to write that has other elements than the tile has.
    fn window(&self, slot: Slot, start: usize, len: usize) -> Bytes {
        let Slot::Stream(i) = slot else { panic!("not a stream") };
        self.part(i, start, len, true)
    }

    fn part(&self, stream: usize, start: usize, len: usize, write: bool) -> Bytes {
        let stream = self.streams.get(stream);
        assert!(start + len <= stream.len(), "a tile outside of its stream");
        assert!(!write || stream.is_writable(), "a stream is read-only");
        Bytes(stream.pointer().wrapping_add(start), len)
    }

    /// Slices of what an instruction reads and of what it writes.
    fn lend<const N: usize>(&mut self, reads: [Bytes; N], write: Bytes) -> ([&[u8]; N], &mut [u8]) {
        assert!(reads.iter().all(|read| read.apart(&write)), "an instruction writes what it reads");
        // SAFETY: all are inside of the registers or of a stream, which are borrowed for as long as the frame is, and what
        // is written overlaps with nothing that is read here. Another frame has other registers; it is given other tiles
        // and writes no element of a stream that this one reads or writes: windows of streams that may be written are of
        // the tile alone, and a stream that is read beyond it is not written by any (`whole`).
        unsafe {
            let reads = reads.map(|Bytes(pointer, len)| std::slice::from_raw_parts(pointer.cast_const(), len));
            (reads, std::slice::from_raw_parts_mut(write.0, write.1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_all_elements_once_and_keep_to_segments() {
        for (len, segment) in [(10, 10), (10, 5), (12, 3), (1, 1), (100, 20), (21, 7), (16, 4), (64, 64), (45, 9)] {
            let cut = Cut { len, segment, tile: 8 };
            let mut next = 0;
            for tile in 0..cut.tiles() {
                let range = cut.range(tile);
                assert!(range.start == next && range.len() <= cut.longest() && !range.is_empty(), "{cut:?} {tile}");
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
