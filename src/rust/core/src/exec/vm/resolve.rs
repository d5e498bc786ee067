//! Instructions with the addresses of what they read and write, checked once: whatever the tile, they touch
//! what is theirs.

use super::code::{Code, Instruction, Work};
use super::cut::Cut;
use super::kernel::{Extent, Kernel, Run, Slot, Window};
use super::native::{Native, MAX_ARGUMENTS};
use crate::kernels::memory::nontemporal::streamed;
use crate::kernels::memory::{AlignedBytes, Streams};
use crate::kernels::reductions::parts::PARTIAL;
use crate::stop;
use std::cell::RefCell;
use std::ops::Range;

thread_local! {
    /// Registers, kept from one program to the next.
    static REGISTERS: RefCell<AlignedBytes> = RefCell::default();
}

impl Code {
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

/// Runs instructions on tiles.
///
/// # Safety
/// What the instructions were resolved to is still there, and nothing else reads or writes the elements of
/// these tiles, or the registers.
pub(super) unsafe fn run(code: &[Resolved], cut: &Cut, tiles: Range<usize>) {
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
    pub(super) fn new(cut: &Cut, tile: usize) -> Tile {
        let elements = cut.range(tile);
        let segment = cut.segment;
        let segments =
            if cut.parts() > 1 { tile..tile + 1 } else { elements.start / segment..elements.end / segment };
        Tile { elements, segments }
    }
}

/// Instructions with the places of what they read and write.
pub(super) struct Instructions<'c>(pub(super) Vec<Resolved<'c>>);

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
    pub(super) streams: &'r Streams<'r>,
    pub(super) registers: Bytes,
    pub(super) constants: Bytes,
    pub(super) cut: &'r Cut,
}

/// Bytes that an instruction reads, or writes.
#[derive(Clone, Copy)]
pub(super) struct Bytes(pub(super) *mut u8, pub(super) usize);

impl Bytes {
    /// Their number.
    pub(super) fn len(&self) -> usize {
        self.1
    }

    fn of(bytes: &mut [u8]) -> Bytes {
        Bytes(bytes.as_mut_ptr(), bytes.len())
    }

    pub(super) fn apart(&self, other: &Bytes) -> bool {
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
pub(super) enum Resolved<'c> {
    Kernel {
        kernel: &'c dyn Run,
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
pub(super) enum Call<'c, 'w> {
    Kernel(&'c dyn Run, Window<'w>),
    /// Code, the addresses of its arguments, and the number of elements.
    Native(&'c Native, [*mut u8; MAX_ARGUMENTS], usize),
}

impl Call<'_, '_> {
    /// # Safety
    /// As [`run`].
    #[inline]
    pub(super) unsafe fn run(&self) {
        match self {
            Call::Kernel(kernel, window) => kernel.run(window),
            // SAFETY: by the caller: that so much is there was checked when it was resolved
            // ([`Room::native`]).
            Call::Native(native, addresses, n) => unsafe { native.call(addresses, *n) },
        }
    }
}

impl<'c> Resolved<'c> {
    /// What is called for a tile: a kernel once, or for each part.
    #[inline]
    pub(super) fn calls<'w>(
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
    pub(super) fn resolve<'c>(&self, code: impl Iterator<Item = &'c Instruction>) -> Vec<Resolved<'c>> {
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
            assert!(needed <= stream.bytes(), "a tile outside of its stream");
            assert!(!write || stream.is_writable(), "a stream is read-only");
            fixed(Bytes(stream.pointer(), stream.bytes()))
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
