//! Binding of instructions to addresses, which are checked once: for every tile they stay within their
//! operands and results.

use super::binding::{expected, Address, Binding, Resolved, CONSTANTS, REGISTERS, STREAMS};
use super::code::{Code, Instruction, Phased, Walk, Work};
use super::cut::Cut;
use super::kernel::{Extent, Kernel, Run, Slot, Window};
use super::native::{Native, Table, MAX_ARGUMENTS, MAX_AXES};
use super::runs::{Joint, Runs};
use crate::kernels::memory::cache::LINE;
use crate::kernels::memory::nontemporal::streamed;
use crate::kernels::memory::{AlignedBytes, Streams};
use crate::kernels::reductions::partials::PARTIAL;
use crate::kernels::tile::MAX_OPERANDS;
use crate::stop;
use std::cell::RefCell;
use std::ops::Range;

thread_local! {
    /// Registers and the list of bases, kept from one program to the next.
    static SCRATCH: RefCell<(AlignedBytes, Vec<*mut u8>)> = RefCell::default();
}

impl Code {
    /// Calls `run` with the binding of the program for these streams: that of the first run, as long as sizes
    /// and aliases of values are the same.
    pub(super) fn with_binding<R>(&self, streams: &Streams, run: impl FnOnce(&Binding) -> R) -> R {
        let bound = self.binding.get_or_init(|| bind(self, streams));
        if bound.fits(streams) {
            run(bound)
        } else {
            run(&bind(self, streams))
        }
    }

    /// Gives a piece registers of its own, constants, which are filled, and so many bytes that are
    /// unspecified. The piece runs instructions on tiles that no other has: scratch memory is borrowed
    /// exclusively, and the streams' memory too for as long as they live.
    pub(super) fn with_room(
        &self,
        binding: &Binding,
        streams: &Streams,
        bytes: usize,
        piece: impl FnOnce(&Room, &mut [u8]),
    ) {
        self.with_rooms(binding, streams, bytes, |[room]: &[Room; 1], bytes| piece(room, bytes));
    }

    /// As [`Code::with_room`], with several rooms, which have registers of their own and share all else.
    pub(super) fn with_rooms<const N: usize>(
        &self,
        binding: &Binding,
        streams: &Streams,
        bytes: usize,
        piece: impl FnOnce(&[Room; N], &mut [u8]),
    ) {
        assert!(binding.fits(streams), "a program is bound to other streams");
        let run_in = |(scratch, bases): &mut (AlignedBytes, Vec<*mut u8>)| {
            // Registers begin with a line of the cache: loads of the widest vectors would be in two otherwise, all of
            // them. What follows begins where what is aligned for any dtype may.
            let each = self.registers.next_multiple_of(LINE);
            let used = (N * each + self.constants).next_multiple_of(ALIGN);
            scratch.reserve(LINE + used + bytes);
            let scratch = scratch.as_mut_slice();
            let start = scratch.as_ptr().align_offset(LINE).min(LINE);
            let (used, bytes) = scratch[start..][..used + bytes].split_at_mut(used);
            let (registers, constants) = used.split_at_mut(N * each);
            bases.clear();
            for number in 0..N {
                bases.extend([registers.as_mut_ptr().wrapping_add(number * each), constants.as_mut_ptr()]);
                bases.extend((0..streams.count()).map(|i| streams.get(i).pointer()));
            }
            let own = bases.len() / N;
            let rooms: [Room; N] = std::array::from_fn(|number| Room {
                code: self,
                binding,
                bases: &bases[number * own..][..own],
            });
            // SAFETY: constants are written by this piece alone.
            unsafe { rooms[0].before(|_| true) };
            piece(&rooms, bytes);
            // Non-temporal stores of the piece are completed before other threads see its end.
            streamed();
        };
        SCRATCH.with(|scratch| match scratch.try_borrow_mut() {
            Ok(mut scratch) => run_in(&mut scratch),
            Err(_) => run_in(&mut Default::default()),
        });
    }
}

/// Alignment of scratch memory.
pub(super) const ALIGN: usize = 16;

/// A program in its memory: the bases are those of the registers, the constants and the streams that it is
/// bound to.
pub(super) struct Room<'c, 'r> {
    pub(super) code: &'c Code,
    pub(super) binding: &'r Binding,
    /// Registers, constants and streams.
    pub(super) bases: &'r [*mut u8],
}

impl<'c> Room<'c, '_> {
    /// Runs some of the instructions before the first tile.
    ///
    /// # Safety
    /// Nothing else reads or writes the constants.
    pub(super) unsafe fn before(&self, chosen: impl Fn(&Instruction) -> bool) {
        let tile = Tile::new(&self.code.cut, 0);
        for (instruction, resolved) in self.code.before.iter().zip(&self.binding.before) {
            if chosen(instruction) {
                // SAFETY: by the caller.
                self.calls(instruction, resolved, &tile, |call| unsafe { call.run() });
            }
        }
    }

    /// Runs the instructions on tiles.
    ///
    /// # Safety
    /// Nothing else reads or writes the elements of these tiles, or the registers.
    pub(super) unsafe fn run(&self, tiles: Range<usize>) {
        for tile in tiles {
            let tile = Tile::new(&self.code.cut, tile);
            stop::work(tile.elements.len());
            // SAFETY: by the caller.
            unsafe { self.run_on(&tile) };
        }
    }

    /// Runs the instructions on one tile.
    ///
    /// # Safety
    /// As [`Room::run`].
    #[inline]
    pub(super) unsafe fn run_on(&self, tile: &Tile) {
        // SAFETY: by the caller.
        unsafe { self.run_some(tile, |_| true) };
    }

    /// Runs some of the instructions on one tile.
    ///
    /// # Safety
    /// As [`Room::run`].
    #[inline]
    pub(super) unsafe fn run_some(&self, tile: &Tile, chosen: impl Fn(&Instruction) -> bool) {
        for (instruction, resolved) in self.code.each.iter().zip(&self.binding.each) {
            if chosen(instruction) {
                // SAFETY: by the caller.
                self.calls(instruction, resolved, tile, |call| unsafe { call.run() });
            }
        }
    }

    /// The elements between some rows of a column and those of the next, if it is one of lines.
    fn between_columns(&self, rows: usize) -> usize {
        match &self.code.walk {
            Walk::Across(across) => across.rows - rows,
            _ => 0,
        }
    }

    /// The calls of an instruction for a tile: one, or one for each chunk of the tile if it reads constants.
    #[inline]
    pub(super) fn calls(
        &self,
        instruction: &'c Instruction,
        resolved: &Resolved,
        Tile { elements, segments, rows }: &Tile,
        mut call: impl FnMut(&Call<'c>),
    ) {
        let range = if instruction.folded { segments } else { elements };
        match (&instruction.work, resolved) {
            (
                Work::Kernel { kernel, .. },
                &Resolved::Kernel { ref reads, ref write, whole, chunk, copies },
            ) => {
                let fold = segments.start;
                let n = copies.unwrap_or(range.len());
                let chunk = if instruction.by_column { *rows } else { chunk };
                let (mut at, mut first) = (0, range.start);
                while at < n {
                    let len = (n - at).min(chunk);
                    // SAFETY: a room has the bases that its binding is of.
                    let locate = |x: &Address| unsafe { x.at(self.bases, first, at, fold) };
                    let reads = reads.each_ref().map(|x| locate(x).cast_const());
                    let (start, rows, cut) = (first + at, *rows, &self.code.cut);
                    let window = Window { reads, write: locate(write), whole, start, len, rows, cut };
                    if instruction.by_column {
                        first += self.between_columns(len);
                    }
                    call(&Call::Kernel(&*kernel.run, window));
                    at += len;
                }
            }
            (Work::Native(native, _, runs), Resolved::Native(all, joint)) => {
                // The table is filled where it is: a copy is by vectors, which wait until all stores before
                // it are done, and took 5 to 10 % of the time of a softmax over the last axis.
                let mut made = Call::Native(native, Table::empty(), range.len());
                let Call::Native(_, table, _) = &mut made else { unreachable!("it was just made") };
                // SAFETY: as above.
                let at =
                    |address: &Address| unsafe { address.at(self.bases, range.start, 0, segments.start) };
                let rest = if joint.is_some() { 2 + MAX_AXES } else { 0 };
                table.fill(all.iter().map(at).chain(std::iter::repeat_n(std::ptr::null_mut(), rest)));
                if let Some(joint) = joint {
                    let (table, rest) = (table.words(), all.len());
                    // A tile has its own folds.
                    let moves = |number: usize| (!runs[number].1.are_folds()).then_some(runs[number].0);
                    let mut left = [0; MAX_AXES];
                    let within = joint.begin(
                        range,
                        |number, by| {
                            if let Some(argument) = moves(number) {
                                table[argument] = table[argument].wrapping_offset(by);
                            }
                        },
                        |axis, count| left[axis] = count,
                    );
                    // The index of dense elements, too, is that within the run.
                    for (address, resolved) in table.iter_mut().zip(all) {
                        *address = address.wrapping_sub(within * resolved.by_chunk);
                    }
                    let mut word = |at: usize, x| table[rest + at] = std::ptr::without_provenance_mut(x);
                    word(0, within);
                    word(1, range.len());
                    left.into_iter().enumerate().for_each(|(axis, count)| word(2 + axis, count));
                }
                call(&made);
            }
            _ => unreachable!("an instruction was resolved as what it is"),
        }
    }
}

/// The elements of a tile and its segments; if a segment is many tiles, its partial results.
pub(super) struct Tile {
    pub(super) elements: Range<usize>,
    pub(super) segments: Range<usize>,
    /// Of lines, the rows: elements are those of one column after the other, from that of the first on.
    pub(super) rows: usize,
}

impl Tile {
    pub(super) fn new(cut: &Cut, tile: usize) -> Tile {
        let elements = cut.range(tile);
        let segment = cut.segment;
        let segments = if cut.tiles_per_segment() > 1 {
            cut.partials_of(&elements)
        } else {
            elements.start / segment..elements.end / segment
        };
        Tile { elements, segments, rows: 0 }
    }
}

/// An instruction on one tile, or on a chunk of it.
#[derive(Clone)]
pub(super) enum Call<'c> {
    Kernel(&'c dyn Run, Window<'c>),
    /// Code, what it is called with, and the number of elements.
    Native(&'c Native, Table, usize),
}

impl Call<'_> {
    /// # Safety
    /// As [`Room::run`].
    #[inline]
    pub(super) unsafe fn run(&self) {
        match self {
            Call::Kernel(kernel, window) => kernel.run(window),
            // SAFETY: by the caller: that so much is there was checked when it was resolved
            // ([`Binder::native`]).
            Call::Native(native, table, n) => unsafe { native.call(table.as_slice(), *n) },
        }
    }
}

/// Binds a program and checks that for every tile its instructions stay within their operands and results.
///
/// # Panics
/// If one accesses bytes outside of its stream, or bytes that another writes.
fn bind(code: &Code, streams: &Streams) -> Binding {
    let binder = Binder { code, streams };
    let all = |code: &[Instruction]| code.iter().map(|instruction| binder.instruction(instruction)).collect();
    let (mut product, mut folds) = (None, vec![]);
    match &code.walk {
        Walk::Tiles | Walk::Chained { .. } => {}
        Walk::Blocks(blocks) => product = Some(binder.instruction(&blocks.product)),
        Walk::Across(across) => {
            for fold in &across.folds {
                // A fold reads its operand as an instruction does.
                let (operand, _) = binder.locate(fold.operand, Extent::Tile(fold.width), false, false);
                let bytes = across.rows * across.partials(code.cut.len) * across.unit(fold, code.cut.len);
                let extent = match fold.result {
                    Slot::Stream(_) => Extent::Bytes(bytes),
                    _ => Extent::Cycle(fold.width),
                };
                let (result, _) = binder.locate(fold.result, extent, false, true);
                folds.push([operand, result]);
            }
        }
    }
    Binding {
        before: all(&code.before),
        each: all(&code.each),
        product,
        folds,
        streams: expected(streams).collect(),
    }
}

/// Bytes that an instruction reads, or writes: a base, the first, their number.
#[derive(Clone, Copy)]
struct Bytes(usize, usize, usize);

struct Binder<'b> {
    code: &'b Code,
    streams: &'b Streams<'b>,
}

impl Binder<'_> {
    /// The rows of lines that run in phases, and what is kept of them.
    fn phased(&self) -> Option<(usize, Phased)> {
        match &self.code.walk {
            Walk::Across(across) => across.phased.map(|phased| (across.rows, phased)),
            _ => None,
        }
    }

    fn instruction(&self, Instruction { work, folded, .. }: &Instruction) -> Resolved {
        assert!(
            !folded || self.code.cut.tiles_per_segment() == 1 || self.phased().is_some(),
            "no tile has what a whole segment is folded into"
        );
        match work {
            Work::Kernel { kernel, operands, result } => self.kernel(kernel, operands, *result, *folded),
            Work::Native(native, slots, runs) => self.native(native, slots, runs, *folded),
        }
    }

    /// Whether two ranges are disjoint. Streams that alias are the same bytes.
    fn are_apart(&self, a: Bytes, b: Bytes) -> bool {
        let position = |Bytes(base, start, _): Bytes| match base.checked_sub(STREAMS) {
            Some(stream) => (STREAMS, self.streams.get(stream).pointer() as usize + start),
            None => (base, start),
        };
        let ((in_a, from_a), (in_b, from_b)) = (position(a), position(b));
        in_a != in_b || from_a + a.2 <= from_b || from_b + b.2 <= from_a
    }

    fn kernel(
        &self,
        kernel: &Kernel,
        operands: &[Slot; MAX_OPERANDS],
        result: Slot,
        folded: bool,
    ) -> Resolved {
        let (write, written) = self.locate(result, kernel.write, folded, true);
        let mut whole = [0; 2];
        let reads = std::array::from_fn(|i| {
            let (address, bytes) = self.locate(operands[i], kernel.reads[i], folded, false);
            assert!(bytes.2 == 0 || self.are_apart(bytes, written), "an instruction writes what it reads");
            if kernel.reads[i] == Extent::Whole {
                assert!(i < 2, "only the first two operands are read whole");
                whole[i] = bytes.2;
            }
            address
        });
        let is_constant =
            |i: usize| matches!((operands[i], kernel.reads[i]), (Slot::Constant(_), Extent::Tile(_)));
        let chunk = if (0..MAX_OPERANDS).any(is_constant) { self.code.cut.constant() } else { usize::MAX };
        let copies = matches!(kernel.write, Extent::Constant(_)).then(|| self.code.cut.constant());
        Resolved::Kernel { reads, write, whole, chunk, copies }
    }

    fn native(&self, native: &Native, slots: &[Slot], runs: &[(usize, Runs)], folded: bool) -> Resolved {
        let arguments = native.arguments();
        assert!(arguments.len() == slots.len() && slots.len() <= MAX_ARGUMENTS, "code has other arguments");
        let mut all = Vec::with_capacity(slots.len());
        let mut touched: Vec<Bytes> = Vec::with_capacity(slots.len());
        // Arguments that are read come first.
        for (number, (argument, &slot)) in arguments.iter().zip(slots).enumerate() {
            if let Some((_, runs)) = runs.iter().find(|(at, _)| *at == number) {
                let written = argument.written;
                assert!(runs.repeated() == argument.repeated && !(written && runs.repeated()), "other runs");
                let within = runs.bytes();
                let (address, bytes) = if runs.are_folds() {
                    let Cut { len, segment, .. } = self.code.cut;
                    let own =
                        runs.len() == segment && within == (0..(len / segment * argument.width) as isize);
                    assert!(own && !folded, "a tile has no such folds");
                    self.locate(slot, Extent::Fold(argument.width), false, false)
                } else {
                    let extent = if written { Extent::Bytes(0) } else { Extent::Whole };
                    let (address, bytes) = self.locate(slot, extent, folded, written);
                    let apart = |other: &Bytes| self.are_apart(bytes, *other);
                    assert!(!written || touched.iter().all(apart), "an instruction writes what it reads");
                    let there = within.start >= 0 && within.end <= bytes.2 as isize;
                    assert!(there, "runs outside of their stream");
                    (address, bytes)
                };
                all.push(address);
                touched.push(bytes);
                continue;
            }
            let is_constant = matches!(slot, Slot::Constant(_));
            assert!(
                is_constant == argument.repeated,
                "code reads one element of a constant, and a tile of all else"
            );
            let (address, bytes) = self.locate(slot, Extent::Tile(argument.width), folded, argument.written);
            let apart = |other: &Bytes| self.are_apart(bytes, *other);
            assert!(!argument.written || touched.iter().all(apart), "an instruction writes what it reads");
            all.push(address);
            touched.push(bytes);
        }
        if runs.is_empty() {
            assert!(native.nest().is_none(), "code goes over runs, and there are none");
            return Resolved::Native(all, None);
        }
        let joint = Joint::of(runs.iter().map(|(_, runs)| runs)).expect("runs end together");
        let nest = joint.nest(arguments.iter().copied(), runs.iter().map(|(number, _)| *number));
        assert!(nest.is_some() && nest.as_ref() == native.nest(), "code goes over other runs");
        Resolved::Native(all, Some(joint))
    }

    /// The address of a slot, and all bytes of it that an instruction may access.
    fn locate(&self, slot: Slot, extent: Extent, folded: bool, write: bool) -> (Address, Bytes) {
        let cut = &self.code.cut;
        let segments = cut.len / cut.segment;
        let (len, longest) = match (folded, self.phased()) {
            (true, Some((rows, _))) => (rows, cut.longest()),
            (true, None) => (segments, cut.folded()),
            (false, _) => (cut.len, cut.longest()),
        };
        let scratch = |base: usize, at: usize, len: usize| {
            let all = if base == REGISTERS { self.code.registers } else { self.code.constants };
            assert!(at + len <= all, "a register outside of scratch memory");
            (Address::fixed(base, at), Bytes(base, at, len))
        };
        let stream = |i: usize, needed: usize| {
            let stream = self.streams.get(i);
            assert!(needed <= stream.bytes(), "a tile outside of its stream");
            assert!(!write || stream.is_writable(), "a stream is read-only");
            (Address::fixed(STREAMS + i, 0), Bytes(STREAMS + i, 0, stream.bytes()))
        };
        match (extent, slot) {
            // Never read, as it has no elements.
            (Extent::Unused, _) => (Address::fixed(REGISTERS, 0), Bytes(REGISTERS, 0, 0)),
            (Extent::Tile(size), Slot::Constant(at)) if !write => {
                scratch(CONSTANTS, at, cut.constant() * size)
            }
            (Extent::Constant(size), Slot::Constant(at)) => scratch(CONSTANTS, at, cut.constant() * size),
            (Extent::Tile(size), Slot::Register(at)) => {
                let (address, bytes) = scratch(REGISTERS, at, longest * size);
                (Address { by_chunk: size, ..address }, bytes)
            }
            (Extent::Cycle(size), Slot::Register(at)) => scratch(REGISTERS, at, cut.longest() * size),
            (Extent::Tile(size), Slot::Kept(at)) if !folded => {
                let (all, phased) = self.phased().expect("lines alone keep elements");
                let (address, bytes) = scratch(REGISTERS, at, phased.rows * (cut.len / all) * size);
                (Address { by_fold: size, by_chunk: size, ..address }, bytes)
            }
            (Extent::Tile(size), Slot::Stream(i)) => {
                let (address, bytes) = stream(i, len * size);
                (Address { by_tile: size, by_chunk: size, ..address }, bytes)
            }
            (Extent::Fold(size), Slot::Stream(i)) => {
                let many = cut.tiles_per_segment() > 1;
                let (count, size) = if many { (cut.partials(), PARTIAL) } else { (segments, size) };
                let (address, bytes) = stream(i, count * size);
                (Address { by_fold: size, ..address }, bytes)
            }
            (Extent::Partial(size), Slot::Stream(i)) => {
                let many = cut.tiles_per_segment() > 1;
                let (address, bytes) = stream(i, if many { cut.partials() } else { segments } * size);
                (Address { by_fold: size, ..address }, bytes)
            }
            (Extent::Fold(size), Slot::Register(at)) if cut.tiles_per_segment() == 1 => {
                scratch(REGISTERS, at, cut.folded() * size)
            }
            (Extent::Bytes(size), Slot::Stream(i)) => stream(i, size),
            (Extent::Whole, Slot::Stream(i)) => {
                assert!(self.streams.get(i).alias().is_none(), "a stream is written while all of it is read");
                stream(i, 0)
            }
            _ => panic!("a kernel has no use for a slot of this kind"),
        }
    }
}
