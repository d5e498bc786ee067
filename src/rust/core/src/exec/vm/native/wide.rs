//! Instructions on vectors of 64 bytes, where they are not those on shorter ones: booleans are in registers of
//! their own, one bit for each lane, and literals are elements that instructions repeat.
//!
//! They are those of AVX-512F alone. Of masks of doubles that are made of others, the upper bits mean nothing.

use super::assembler::{vector, vector_wide, Mask, Source, Vector};
use super::chain::MicroOp;
use super::emit::{Emitter, Location, MASKS};
use super::opcodes::*;
use crate::dtype::{dispatch, DType, Element};
use crate::kernels::cast;
use crate::kernels::math::formula::Operation;

pub const STORE_MASK: Vector = vector(0, 1, 0x91);
pub const LOAD_MASK: Vector = vector(0, 1, 0x90);

impl Emitter<'_> {
    /// Whether instructions are on vectors of 64 bytes.
    pub(super) fn is_wide(&self) -> bool {
        self.long() && self.vector == 64
    }

    /// Loads a vector; a literal into all lanes.
    pub(super) fn load_from(&mut self, to: u8, source: Source, is_double: bool) {
        if self.is_wide() && matches!(source, Source::Literal(_)) {
            self.repeat(to, source, is_double, 0);
        } else {
            self.op(LOAD, to, 0, source);
        }
    }

    /// Loads a literal into the lanes of a mask, and 0 into the others.
    fn repeat(&mut self, to: u8, source: Source, is_double: bool, mask: u8) {
        let by = if is_double { vector_wide(1, 2, true, 0x19) } else { vector(1, 2, 0x18) };
        let mask = Mask { register: mask, zero: mask != 0, whole: true };
        self.assembler.wide(by, to, 0, source, None, mask);
    }

    /// A step whose instructions differ; returns the register, or mask register, of its result.
    pub(super) fn wide_step(
        &mut self,
        at: usize,
        micro: &MicroOp,
        operation: Operation,
        complement: bool,
        is_double: bool,
    ) -> Option<u8> {
        let logic = |opcode: u8| vector_wide(1, 1, is_double, opcode);
        Some(match operation {
            Operation::And => self.both(at, micro, logic(0xDB), true),
            Operation::Or => self.both(at, micro, logic(0xEB), true),
            Operation::Xor => self.both(at, micro, logic(0xEF), true),
            Operation::NotAnd => self.both(at, micro, logic(0xDF), false),
            Operation::Lt | Operation::Le | Operation::Same => {
                let (x, y) = (self.register(micro.operands[0]), self.source(micro.operands[1], at));
                self.free_after(at);
                let to = self.take_mask();
                let compare = vector_wide(u8::from(is_double), 1, is_double, 0xC2);
                self.op_with(compare, to, x, y, condition(operation, complement));
                to
            }
            Operation::Both | Operation::Either => {
                let opcode = if operation == Operation::Both { 0x41 } else { 0x45 };
                let (x, y) = (self.mask(micro.operands[0]), self.mask(micro.operands[1]));
                self.free_after(at);
                let to = self.take_mask();
                self.assembler.vector(vector(0, 1, opcode), true, to, x, Source::Register(y), None);
                to
            }
            Operation::Not => {
                let x = self.mask(micro.operands[0]);
                self.free_after(at);
                let to = self.take_mask();
                self.assembler.vector(vector(0, 1, 0x44), false, to, 0, Source::Register(x), None);
                to
            }
            Operation::Widen if self.upper[at] => {
                let x = self.register(micro.operands[0]);
                let to = self.result(at);
                self.op_with(vector_wide(1, 3, true, 0x1B), x, 0, Source::Register(to), 1);
                self.op(vector(0, 1, 0x5A), to, 0, Source::Register(to));
                to
            }
            Operation::Narrow => {
                let (low, high) = (self.register(micro.operands[0]), self.register(micro.operands[1]));
                let (to, other) = (self.take(), self.take());
                let narrow = vector_wide(1, 1, true, 0x5A);
                self.op(narrow, to, 0, Source::Register(low));
                self.op(narrow, other, 0, Source::Register(high));
                self.op_with(vector_wide(1, 3, true, 0x1A), to, to, Source::Register(other), 1);
                to
            }
            _ => return None,
        })
    }

    /// The second operand where the first is true, else the third.
    pub(super) fn wide_selection(&mut self, at: usize, micro: &MicroOp) -> u8 {
        let is_double = self.chain.values[micro.operands[2]].dtype == DType::F64;
        let (mask, other) = (self.mask(micro.operands[0]), self.register(micro.operands[2]));
        let x = self.source(micro.operands[1], at);
        let to = self.result(at);
        let lanes = Mask { register: mask, ..Mask::default() };
        self.assembler.wide(vector_wide(1, 2, is_double, 0x65), to, other, x, None, lanes);
        to
    }

    /// 1 where a boolean is true, as this dtype.
    pub(super) fn wide_one(&mut self, at: usize, v: usize, dtype: DType) -> u8 {
        let one = dispatch!(dtype, T => cast::bytes(&[<T as Element>::from_bool(true)]).to_vec());
        let (mask, one) = (self.mask(v), self.everywhere(&one));
        let to = self.result(at);
        self.repeat(to, one, dtype == DType::F64, mask);
        to
    }

    /// Tests whether a mask is true of any lane.
    pub(super) fn wide_test(&mut self, v: usize, is_double: bool) {
        let mut mask = self.mask(v);
        if is_double {
            let lower = self.take_mask();
            // Only the 8 bits that count.
            self.assembler.vector(
                vector_wide(1, 3, true, 0x32),
                false,
                lower,
                0,
                Source::Register(mask),
                Some(8),
            );
            mask = lower;
        }
        self.assembler.vector(vector(0, 1, 0x98), false, mask, 0, Source::Register(mask), None);
    }

    /// Stores a mask as bytes that are 0 or 1.
    pub(super) fn wide_store_mask(&mut self, mask: u8, slot: Source) {
        let is_double = self.width == 8;
        let mut one = [0; 8];
        one[0] = 1;
        let one = self.everywhere(&one[..self.width]);
        let to = self.take();
        self.repeat(to, one, is_double, mask);
        self.op(vector(2, 2, if is_double { 0x32 } else { 0x31 }), to, 0, slot);
        self.locked[to as usize] = false;
    }

    /// Stores or loads the masks that are held, from this place of the stack on.
    pub(super) fn keep_masks(&mut self, by: Vector, place: i32) {
        for register in (0..MASKS).filter(|&register| self.masks[register].is_some()) {
            let source = Source::Stack(place + 4 * register as i32);
            self.assembler.vector(by, false, register as u8, 0, source, None);
        }
    }

    /// A mask register that is free.
    fn take_mask(&mut self) -> u8 {
        let free = (1..MASKS).find(|&register| self.masks[register].is_none());
        self.refused |= free.is_none();
        free.unwrap_or(1) as u8
    }

    /// An operand of the op under way, in a mask register.
    fn mask(&mut self, v: usize) -> u8 {
        if let Some(register) = self.masks.iter().position(|&held| held == Some(v)) {
            return register as u8;
        }
        let (to, from) = (self.take_mask(), self.take());
        match self.locations[v] {
            Location::Elements(base) => {
                // Bytes as elements of 4 or 8 bytes.
                let extend = vector(1, 2, if self.width == 8 { 0x32 } else { 0x31 });
                let source = self.elements(base, 1);
                self.op(extend, from, 0, source);
            }
            Location::Stack(slot) => {
                let slot = self.slot(slot);
                self.whole(LOAD, from, slot);
            }
            _ => self.refused = true,
        }
        let test = vector_wide(1, 2, self.width == 8, 0x27);
        self.op(test, to, from, Source::Register(from));
        self.locked[from as usize] = false;
        self.masks[to as usize] = Some(v);
        to
    }
}

/// The predicate of a comparison or its complement.
pub(super) fn condition(operation: Operation, complement: bool) -> u8 {
    match (operation, complement) {
        (Operation::Lt, false) => FLOAT_LT,
        (Operation::Lt, true) => FLOAT_NLT,
        (Operation::Le, false) => FLOAT_LE,
        (Operation::Le, true) => FLOAT_NLE,
        (_, false) => FLOAT_EQ,
        (_, true) => FLOAT_NE,
    }
}
