//! How elements come into registers and out of them, on 64-bit ARM.

use super::assembler::{Jump, Source, Vector, SCRATCH};
use super::opcodes::*;
use crate::dtype::DType;
use crate::exec::vm::native::calls::Call;
use crate::exec::vm::native::coverage::is_signed;
use crate::exec::vm::native::emit::{Emitter, Location};

impl Emitter<'_> {
    /// One instruction. What is beside a single element is computed too, and is not read.
    pub fn op(&mut self, x: Vector, to: u8, first: u8, second: Source) {
        self.assembler.vector(x, to, first, second);
    }

    /// Loads or stores a whole vector on the stack.
    pub fn whole(&mut self, x: Vector, register: u8, slot: i32) {
        self.op(x, register, 0, Source::Stack(slot));
    }

    /// Lanes of the elements that are left: there are none.
    pub fn rest(&mut self) -> Jump {
        unreachable!("vectors are not of 64 bytes")
    }

    /// Loads a vector.
    pub fn load_from(&mut self, to: u8, source: Source, _is_long: bool) {
        self.op(LOAD, to, 0, source);
    }

    /// Elements that are computed at a time.
    fn count(&self) -> usize {
        if self.long() {
            self.vector / self.width
        } else {
            1
        }
    }

    /// Makes the first elements of a register, of so many bytes, as wide as `width`.
    fn extend(&mut self, to: u8, mut from: u8, bytes: usize, width: usize, signed: bool) {
        let mut bytes = bytes;
        while bytes < width {
            self.op(extend(bytes, signed), to, 0, Source::Register(from));
            (from, bytes) = (to, 2 * bytes);
        }
        self.op(LOAD, to, 0, Source::Register(from));
    }

    /// Loads elements that no instruction reads as they are.
    pub fn load(&mut self, to: u8, source: Source, dtype: DType) {
        if dtype != DType::I1 {
            return self.assembler.load(dtype.bytes(), to, source);
        }
        self.assembler.load(self.count(), to, source);
        if self.long() {
            self.extend(to, to, 1, self.width, false);
        }
        self.op(NEGATE.of(self.width), to, 0, Source::Register(to));
    }

    pub fn store(&mut self, from: u8, slot: Source, dtype: DType, _past: bool) {
        let mut from = from;
        if dtype == DType::I1 {
            // Each mask narrowed until it is a byte, of which 1 is left.
            let mut width = if self.long() { self.width } else { 1 };
            while width > 1 {
                width /= 2;
                self.op(NARROW.of(width), SCRATCH, 0, Source::Register(from));
                from = SCRATCH;
            }
            self.op(NEGATE.of(1), SCRATCH, 0, Source::Register(from));
            return self.assembler.store(self.count(), SCRATCH, slot);
        }
        self.assembler.store(self.count() * dtype.bytes(), from, slot);
    }

    /// Loads elements of a narrower dtype, converted to those of the chain.
    pub fn widened(&mut self, v: usize, from: DType, dtype: DType) -> u8 {
        let Location::Elements(base, behind) = self.locations[v] else {
            unreachable!("narrower values are read from memory")
        };
        let to = self.take();
        let source = self.elements(base, behind, from.bytes());
        self.assembler.load(self.count() * from.bytes(), to, source);
        if from == DType::F32 {
            self.op(WIDEN, to, 0, Source::Register(to));
            return to;
        }
        self.extend(to, to, from.bytes(), self.width, is_signed(from));
        if matches!(dtype, DType::F32 | DType::F64) {
            self.op(FLOATS.on_doubles(dtype == DType::F64), to, 0, Source::Register(to));
        }
        to
    }

    /// Repeats the element at the address in the register of the index in a slot of the stack.
    pub fn repeat_element(&mut self, dtype: DType, to: usize) {
        self.assembler.repeat(dtype.bytes(), SCRATCH);
        if dtype == DType::I1 {
            self.op(NEGATE.of(1), SCRATCH, 0, Source::Register(SCRATCH));
        }
        self.whole(STORE, SCRATCH, self.slot(to));
    }

    /// Calls a kernel.
    pub fn call_kernel(&mut self, call: &Call, slots: &[i32], count: usize, room: i32, _masks: i32) {
        self.assembler.call(call.function, call.kernel, slots, count, room);
    }

    /// Repeats an element of so many bytes in all lanes.
    pub fn repeated(&mut self, to: u8, from: Source, bytes: usize) {
        let from = self.loaded(from, bytes);
        self.op(repeat(bytes), to, 0, Source::Register(from));
    }

    /// A vector of these elements of so many bytes.
    pub fn joined(&mut self, elements: &[usize], bytes: usize) -> u8 {
        let first = self.register(elements[0]);
        let to = self.take();
        self.op(LOAD, to, 0, Source::Register(first));
        for (lane, &v) in elements.iter().enumerate().skip(1) {
            let from = self.element_source(v);
            let from = self.loaded(from, bytes);
            self.op(insert(bytes, lane), to, 0, Source::Register(from));
        }
        to
    }

    /// The register of an element, which is loaded if it is in memory.
    fn loaded(&mut self, from: Source, bytes: usize) -> u8 {
        match from {
            Source::Register(register) => register,
            // Literals are loaded whole.
            Source::Literal(_) => {
                self.op(LOAD, SCRATCH, 0, from);
                SCRATCH
            }
            from => {
                self.assembler.load(bytes, SCRATCH, from);
                SCRATCH
            }
        }
    }

    /// Elements of a vector as those of a dtype of another width; those of 4 bytes are there twice.
    pub fn converted_lanes(&mut self, v: usize, from: DType, to: DType) -> u8 {
        let (x, out) = (self.register(v), self.take());
        let (source, own) = (Source::Register(x), Source::Register(out));
        match (from, to) {
            (DType::F32, DType::F64) => self.op(WIDEN, out, 0, source),
            (DType::F64, DType::F32) => {
                self.op(SINGLES, out, 0, source);
                self.op(repeat(8), out, 0, own);
            }
            (from, to) if to.bytes() == 8 => {
                self.op(extend(from.bytes(), true), out, 0, source);
                if to == DType::F64 {
                    self.op(FLOATS.on_doubles(true), out, 0, own);
                }
            }
            _ => self.op(EVEN, out, x, source),
        }
        out
    }

    /// A mask as one of elements of so many bytes; those of 4 bytes are there twice.
    pub fn masks_of(&mut self, v: usize, bytes: usize) -> u8 {
        let (x, out) = (self.register(v), self.take());
        match bytes {
            8 => self.op(extend(4, true), out, 0, Source::Register(x)),
            _ => self.op(EVEN, out, x, Source::Register(x)),
        }
        out
    }

    /// Makes a mask of one element one of 8 bytes.
    pub fn widen_mask(&mut self, register: u8) {
        self.extend(register, register, self.width, 8, true);
    }

    /// An element of another dtype.
    pub fn converted(&mut self, v: usize, from: DType, to: DType) -> u8 {
        let (x, out) = (self.register(v), self.take());
        match (from, to) {
            (DType::F32, DType::F64) => self.op(WIDEN, out, 0, Source::Register(x)),
            (DType::F64, DType::F32) => self.op(SINGLES, out, 0, Source::Register(x)),
            (DType::F32 | DType::F64, _) => self.op(LOAD, out, 0, Source::Register(x)),
            _ => {
                // Integers are extended to 8 bytes: what is narrower is its first bytes.
                self.extend(out, x, from.bytes(), 8, is_signed(from));
                if matches!(to, DType::F32 | DType::F64) {
                    self.assembler.long_position(out);
                    self.assembler.float(out, to == DType::F64);
                }
            }
        }
        out
    }

    /// Leaves the body if a mask is true.
    pub fn guard(&mut self, mask: usize, _is_double: bool) {
        let mask = self.register(mask);
        self.assembler.test(mask, !self.long());
        let jump = self.assembler.if_any();
        self.exits.push(jump);
    }
}
