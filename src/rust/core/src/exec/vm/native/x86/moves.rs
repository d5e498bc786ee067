//! How elements come into registers and out of them, on x86-64.

use super::assembler::{vector, vector_wide, Mask, Source, Vector, LITERAL};
use super::opcodes::*;
use super::wide::{LOAD_MASK, STORE_MASK};
use crate::dtype::DType;
use crate::exec::vm::native::calls::Call;
use crate::exec::vm::native::coverage::is_signed;
use crate::exec::vm::native::emit::{Emitter, Lanes, Location};

/// Fourths of a vector, in another order.
const FOURTHS: Vector = vector_wide(1, 3, true, 0x01);

/// Integers of 4 bytes as such of 8.
const LONG_OF_SIGNED: Vector = vector(1, 2, 0x25);

impl Emitter<'_> {
    pub fn op(&mut self, x: Vector, to: u8, first: u8, second: Source) {
        self.instruction(x, to, first, second, None);
    }

    pub fn op_with(&mut self, x: Vector, to: u8, first: u8, second: Source, byte: u8) {
        self.instruction(x, to, first, second, Some(byte));
    }

    fn instruction(&mut self, x: Vector, to: u8, first: u8, second: Source, byte: Option<u8>) {
        if self.is_wide() {
            self.assembler.wide(x, to, first, second, byte, Mask::default());
        } else {
            let long = self.long();
            self.assembler.vector(x, long, to, first, second, byte);
        }
    }

    /// Loads or stores a whole vector on the stack.
    pub fn whole(&mut self, x: Vector, register: u8, slot: i32) {
        if self.is_wide() {
            self.assembler.wide(x, register, 0, Source::Stack(slot), None, Mask::default());
        } else {
            self.assembler.vector(x, true, register, 0, Source::Stack(slot), None);
        }
    }

    /// Index into [`ByWidth`] of the elements.
    pub(super) fn size(&self) -> usize {
        self.width.trailing_zeros() as usize
    }

    pub(super) fn sub(&self) -> Vector {
        SUB[self.size()].expect("of every width").with(self.width == 8)
    }

    /// Loads elements that no instruction reads as they are.
    pub fn load(&mut self, to: u8, source: Source, dtype: DType) {
        if self.lanes == Lanes::Rest {
            return self.load_rest(to, source, dtype);
        }
        if dtype == DType::I1 {
            let zero = self.take();
            self.op(XOR, zero, zero, Source::Register(zero));
            if !self.long() {
                self.assembler.vector(vector(1, 3, 0x20), false, to, zero, source, Some(0));
            } else {
                // Bytes as elements of 2, 4 and 8 bytes.
                const EXTEND: [Vector; 4] =
                    [LOAD, vector(1, 2, 0x30), vector(1, 2, 0x31), vector(1, 2, 0x32)];
                self.op(EXTEND[self.size()], to, 0, source);
            }
            self.op(self.sub(), to, zero, Source::Register(to));
            self.locked[zero as usize] = false;
            return;
        }
        match dtype.bytes() {
            1 => self.assembler.vector(vector(1, 3, 0x20), false, to, to, source, Some(0)),
            2 => self.assembler.vector(vector(1, 1, 0xC4), false, to, to, source, Some(0)),
            4 => self.assembler.vector(vector(1, 1, 0x6E), false, to, 0, source, None),
            _ => self.assembler.vector(vector(2, 1, 0x7E), false, to, 0, source, None),
        }
    }

    pub fn store(&mut self, from: u8, slot: Source, dtype: DType, past: bool) {
        if dtype == DType::I1 && self.is_wide() {
            return self.wide_store_mask(from, slot);
        }
        if dtype == DType::I1 {
            return self.store_mask(from, slot);
        }
        if self.lanes == Lanes::Rest {
            return self.store_rest(from, slot, dtype);
        }
        if self.long() {
            return self.op(if past { STORE_NONTEMPORAL } else { STORE }, from, 0, slot);
        }
        match dtype.bytes() {
            1 => self.assembler.vector(vector(1, 3, 0x14), false, from, 0, slot, Some(0)),
            2 => self.assembler.vector(vector(1, 3, 0x15), false, from, 0, slot, Some(0)),
            4 => self.assembler.vector(vector(1, 1, 0x7E), false, from, 0, slot, None),
            _ => self.assembler.vector(vector(1, 1, 0xD6), false, from, 0, slot, None),
        }
    }

    /// Stores a mask as bytes that are 0 or 1.
    pub fn store_mask(&mut self, from: u8, slot: Source) {
        const PACK_WORDS: Vector = vector(1, 1, 0x63);
        const PACK_DOUBLE_WORDS: Vector = vector(1, 1, 0x6B);
        let to = self.take();
        let own = Source::Register(to);
        if !self.long() || self.width == 1 {
            self.op(ABSOLUTE_BYTES, to, 0, Source::Register(from));
            match self.long() {
                true => self.op(STORE, to, 0, slot),
                false => self.assembler.vector(vector(1, 3, 0x14), false, to, 0, slot, Some(0)),
            }
        } else {
            // The upper half beside the lower one, each narrowed until it is of bytes.
            self.assembler.vector(UPPER_HALF, true, from, 0, own, Some(1));
            let mut halves = from;
            if self.width == 8 {
                // The even elements of 4 bytes.
                self.assembler.vector(vector(0, 1, 0xC6), false, to, halves, own, Some(0x88));
                halves = to;
            }
            if self.width >= 4 {
                self.assembler.vector(PACK_DOUBLE_WORDS, false, to, halves, own, None);
                halves = to;
            }
            self.assembler.vector(PACK_WORDS, false, to, halves, own, None);
            self.assembler.vector(ABSOLUTE_BYTES, false, to, 0, own, None);
            match self.width {
                2 => self.assembler.vector(STORE, false, to, 0, slot, None),
                4 => self.assembler.vector(vector(1, 1, 0xD6), false, to, 0, slot, None),
                _ => self.assembler.vector(vector(1, 1, 0x7E), false, to, 0, slot, None),
            }
        }
        self.locked[to as usize] = false;
    }

    /// Loads elements of a narrower dtype, converted to those of the chain.
    pub fn widened(&mut self, v: usize, from: DType, dtype: DType) -> u8 {
        let Location::Elements(base, behind) = self.locations[v] else {
            unreachable!("narrower values are read from memory")
        };
        if self.is_wide() {
            return self.wide_widened(self.elements(base, behind, from.bytes()), from, dtype);
        }
        let to = self.take();
        let mut source = self.elements(base, behind, from.bytes());
        if !self.long() {
            self.load(to, source, from);
            source = Source::Register(to);
        }
        let float = matches!(dtype, DType::F32 | DType::F64);
        // Floats are made of integers of 4 bytes, for doubles half as many.
        let width = if float { 4 } else { self.width };
        let long = self.long() && width == self.width;
        if from != DType::F32 && from.bytes() < width {
            self.assembler.vector(extension(from, width), long, to, 0, source, None);
            source = Source::Register(to);
        }
        match (from, dtype) {
            (DType::F32, _) => self.op(vector(0, 1, 0x5A), to, 0, source),
            (_, DType::F64) => self.op(DOUBLES, to, 0, source),
            (_, DType::F32) => self.op(SINGLES, to, 0, source),
            _ => {}
        }
        to
    }

    /// Calls a kernel. The masks that are held are on the stack meanwhile.
    pub fn call_kernel(&mut self, call: &Call, slots: &[i32], count: usize, room: i32, masks: i32) {
        self.keep_masks(STORE_MASK, masks);
        self.assembler.call(call.function, call.kernel, slots, count, room);
        self.keep_masks(LOAD_MASK, masks);
    }

    /// Repeats the element at the address in the register of the index in a slot of the stack.
    pub fn repeat_element(&mut self, dtype: DType, to: usize) {
        if self.vector > LITERAL && dtype != DType::I1 {
            // One store, since a load of all that two stores wrote waits until they are in the cache.
            return self.repeat_at(dtype.bytes() == 8, self.slot(to));
        }
        const BROADCAST: [u8; 4] = [0x78, 0x79, 0x18, 0x19];
        let by = vector(1, 2, BROADCAST[dtype.bytes().trailing_zeros() as usize]);
        self.assembler.vector(by, true, 0, 0, Source::Address, None);
        if dtype == DType::I1 {
            let sub = SUB[0].expect("of bytes");
            self.assembler.vector(XOR, true, 1, 1, Source::Register(1), None);
            self.assembler.vector(sub, true, 0, 1, Source::Register(0), None);
        }
        for part in (0..self.vector).step_by(LITERAL) {
            let slot = Source::Stack(self.slot(to) + part as i32);
            self.assembler.vector(STORE, true, 0, 0, slot, None);
        }
    }

    /// Repeats an element of so many bytes in all lanes.
    pub fn repeated(&mut self, to: u8, from: Source, bytes: usize) {
        self.assembler.vector(vector(1, 2, if bytes == 8 { 0x19 } else { 0x18 }), true, to, 0, from, None);
    }

    /// A vector of these elements of so many bytes.
    pub fn joined(&mut self, elements: &[usize], bytes: usize) -> u8 {
        let (lower, upper) = elements.split_at(elements.len() / 2);
        let to = self.half(lower, bytes);
        let other = if upper == lower { to } else { self.half(upper, bytes) };
        self.assembler.vector(vector(1, 3, 0x18), true, to, to, Source::Register(other), Some(1));
        to
    }

    fn half(&mut self, elements: &[usize], bytes: usize) -> u8 {
        const PAIR: Vector = vector(1, 1, 0x14);
        const UPPER_FROM_MEMORY: Vector = vector(1, 1, 0x16);
        const INSERT: Vector = vector(1, 3, 0x21);
        let locked = self.locked;
        let mut first = self.register(elements[0]);
        let to = self.take();
        for (lane, &v) in elements.iter().enumerate().skip(1) {
            match self.element_source(v) {
                from if bytes == 4 => {
                    self.assembler.vector(INSERT, false, to, first, from, Some((lane as u8) << 4));
                }
                from @ Source::Register(_) => self.assembler.vector(PAIR, false, to, first, from, None),
                from => self.assembler.vector(UPPER_FROM_MEMORY, false, to, first, from, None),
            }
            first = to;
        }
        self.locked = locked;
        self.locked[to as usize] = true;
        to
    }

    /// Elements of a vector as those of a dtype of another width; those of 4 bytes are there twice.
    pub fn converted_lanes(&mut self, v: usize, from: DType, to: DType) -> u8 {
        let (x, out) = (self.register(v), self.take());
        let (source, own) = (Source::Register(x), Source::Register(out));
        match (from, to) {
            (DType::I32, DType::F64) => self.op(DOUBLES, out, 0, source),
            (DType::F32, DType::F64) => self.op(vector(0, 1, 0x5A), out, 0, source),
            (DType::F64, DType::F32) => {
                self.op(vector(1, 1, 0x5A), out, 0, source);
                self.op_with(FOURTHS, out, 0, own, 0x44);
            }
            (_, to) if to.bytes() == 8 => self.op(LONG_OF_SIGNED, out, 0, source),
            _ => self.evens(out, x),
        }
        out
    }

    /// A mask as one of elements of so many bytes; those of 4 bytes are there twice.
    pub fn masks_of(&mut self, v: usize, bytes: usize) -> u8 {
        let (x, out) = (self.register(v), self.take());
        match bytes {
            8 => self.op(LONG_OF_SIGNED, out, 0, Source::Register(x)),
            _ => self.evens(out, x),
        }
        out
    }

    /// The even elements of 4 bytes, twice.
    fn evens(&mut self, to: u8, from: u8) {
        self.op_with(vector(0, 1, 0xC6), to, from, Source::Register(from), 0x88);
        self.op_with(FOURTHS, to, 0, Source::Register(to), 0x88);
    }

    /// Makes a mask of one element one of 8 bytes.
    pub fn widen_mask(&mut self, register: u8) {
        let extend = [0x22, 0x24, 0x25][self.size()];
        self.op(vector(1, 2, extend), register, 0, Source::Register(register));
    }

    /// An element of another dtype.
    pub fn converted(&mut self, v: usize, from: DType, to: DType) -> u8 {
        let (x, out) = (self.register(v), self.take());
        let source = Source::Register(x);
        let float = |dtype| matches!(dtype, DType::F32 | DType::F64);
        if float(from) {
            match (from, to) {
                (DType::F32, DType::F64) => self.op(vector(0, 1, 0x5A), out, 0, source),
                (DType::F64, DType::F32) => self.op(vector(1, 1, 0x5A), out, 0, source),
                _ => self.op(LOAD, out, 0, source),
            }
            return out;
        }
        // Integers are extended to 8 bytes: what is narrower is its first bytes.
        let signed = is_signed(from);
        let extend = match from.bytes() {
            1 => Some(0x22),
            2 => Some(0x24),
            4 => Some(0x25),
            _ => None,
        };
        match extend {
            Some(extend) => {
                self.op(vector(1, 2, if signed { extend } else { extend + 0x10 }), out, 0, source)
            }
            None => self.op(LOAD, out, 0, source),
        }
        if float(to) {
            let prefix = if to == DType::F64 { 3 } else { 2 };
            self.assembler.long_position(out);
            self.op(XOR, out, out, Source::Register(out));
            self.op(vector_wide(prefix, 1, true, 0x2A), out, out, Source::Register(14));
        }
        out
    }
}
