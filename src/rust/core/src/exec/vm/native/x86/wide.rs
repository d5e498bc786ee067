//! Instructions on vectors of 64 bytes, where they are not those on shorter ones: booleans are in registers of
//! their own, one bit for each lane, and literals are elements that instructions repeat. The last elements are
//! loaded and stored by a mask; the other lanes are of zeros, and no guard sees them.
//!
//! They are those of AVX-512F alone. Of masks of doubles that are made of others, the upper bits mean nothing.

use super::assembler::{vector, vector_wide, Jump, Mask, Source, Vector};
use super::opcodes::*;
use crate::dtype::{dispatch, DType, Element};
use crate::exec::vm::native::chain::{MicroOp, Op};
use crate::exec::vm::native::coverage::is_signed;
use crate::exec::vm::native::emit::{Emitter, Lanes, Location, MASKS, REST};
use crate::kernels::cast;
use crate::kernels::math::formula::Operation;

pub const STORE_MASK: Vector = vector(0, 1, 0x91);
pub const LOAD_MASK: Vector = vector(0, 1, 0x90);

impl Emitter<'_> {
    /// Puts the elements that are left into lanes, and jumps if there are none.
    pub fn rest(&mut self) -> Jump {
        self.assembler.rest(REST)
    }

    /// Loads a vector; a literal, of 8 bytes if it `is_long`, into all lanes.
    pub fn load_from(&mut self, to: u8, source: Source, is_long: bool) {
        if self.is_wide() && matches!(source, Source::Literal(_)) {
            self.repeat(to, source, is_long, 0);
        } else if matches!(source, Source::Literal(_)) {
            // Of a loop in which it is read on vectors, too.
            self.assembler.vector(LOAD, true, to, 0, source, None);
        } else {
            self.op(LOAD, to, 0, source);
        }
    }

    /// Loads a literal into the lanes of a mask, and 0 into the others.
    fn repeat(&mut self, to: u8, source: Source, is_long: bool, mask: u8) {
        let by = if is_long { vector_wide(1, 2, true, 0x19) } else { vector(1, 2, 0x18) };
        let mask = Mask { register: mask, zero: mask != 0, whole: true };
        self.assembler.wide(by, to, 0, source, None, mask);
    }

    /// Repeats the element at the address in the register of the index at a place of the stack.
    pub(super) fn repeat_at(&mut self, is_long: bool, slot: i32) {
        self.repeat(0, Source::Address, is_long, 0);
        self.assembler.wide(STORE, 0, 0, Source::Stack(slot), None, Mask::default());
    }

    /// The lanes that are loaded, others being 0, or stored.
    fn lanes(&self, zero: bool) -> Mask {
        match self.lanes {
            Lanes::Rest => Mask { register: REST, zero, whole: true },
            _ => Mask::default(),
        }
    }

    /// Loads the elements that are left, as wide as the chain.
    pub(super) fn load_rest(&mut self, to: u8, source: Source, dtype: DType) {
        let load = if dtype.bytes() == 8 { vector_wide(1, 1, true, 0x10) } else { LOAD };
        let lanes = self.lanes(true);
        self.assembler.wide(load, to, 0, source, None, lanes);
    }

    /// Stores them.
    pub(super) fn store_rest(&mut self, from: u8, slot: Source, dtype: DType) {
        let store = if dtype.bytes() == 8 { vector_wide(1, 1, true, 0x11) } else { STORE };
        let lanes = self.lanes(false);
        self.assembler.wide(store, from, 0, slot, None, lanes);
    }

    /// Loads elements of a narrower dtype, converted to those of the chain.
    pub(super) fn wide_widened(&mut self, source: Source, from: DType, dtype: DType) -> u8 {
        let (to, lanes) = (self.take(), self.lanes(true));
        let own = Source::Register(to);
        match (from, dtype) {
            (DType::F32, _) => self.assembler.wide(vector(0, 1, 0x5A), to, 0, source, None, lanes),
            (DType::I32, DType::F64) => self.assembler.wide(DOUBLES, to, 0, source, None, lanes),
            _ => {
                self.assembler.wide(extension(from, self.width), to, 0, source, None, lanes);
                match dtype {
                    DType::F32 => self.op(SINGLES, to, 0, own),
                    DType::F64 => {
                        // By way of integers of 4 bytes, in half of the register.
                        self.op(vector(2, 2, 0x35), to, 0, own);
                        self.op(DOUBLES, to, 0, own);
                    }
                    _ => {}
                }
            }
        }
        to
    }

    /// An instruction on bits, which the 64 bytes are of integers for.
    pub(super) fn on_bits(&self, op: Vector) -> Vector {
        let opcode = match op {
            AND => 0xDB,
            OR => 0xEB,
            XOR => 0xEF,
            _ => return op,
        };
        if self.is_wide() {
            vector_wide(1, 1, self.width == 8, opcode)
        } else {
            op
        }
    }

    /// An op on integers or booleans whose instructions differ.
    pub(super) fn wide_integer(&mut self, at: usize, micro: &MicroOp, dtype: DType) -> Option<u8> {
        let is_long = self.width == 8;
        let signed = is_signed(dtype);
        let form = |opcode: u8| vector_wide(1, 2, is_long, opcode);
        Some(match micro.op {
            Op::Xor if dtype == DType::I1 => self.masks_joined(at, micro, 0x47),
            Op::Max => self.both(at, micro, form(if signed { 0x3D } else { 0x3F }), true),
            Op::Min => self.both(at, micro, form(if signed { 0x39 } else { 0x3B }), true),
            Op::ShiftRightSigned => self.both(at, micro, form(0x46), false),
            Op::Abs => self.one(at, micro, form(if is_long { 0x1F } else { 0x1E })),
            Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => {
                let predicate = match micro.op {
                    Op::Eq => 0,
                    Op::Lt => 1,
                    Op::Le => 2,
                    Op::Ne => 4,
                    Op::Ge => 5,
                    _ => 6,
                };
                let compare = vector_wide(1, 3, is_long, if signed { 0x1F } else { 0x1E });
                self.compared(at, micro, compare, predicate)
            }
            _ => return None,
        })
    }

    /// The larger or smaller of two floats, NaN if either is. The instruction tells zeros apart by their signs, and leaves
    /// out NaN, which the sum puts in.
    pub(super) fn wide_extreme(&mut self, micro: &MicroOp, is_double: bool) -> u8 {
        const RANGE: Vector = vector(1, 3, 0x50);
        /// The sign is that of the result of the comparison.
        const SIGN: u8 = 1 << 2;
        let (x, y) = (self.register(micro.operands[0]), self.register(micro.operands[1]));
        let (mask, to) = (self.take_mask(), self.take());
        let float = |opcode: u8| vector_wide(u8::from(is_double), 1, is_double, opcode);
        let (y, larger) = (Source::Register(y), u8::from(micro.op == Op::Max));
        // On whole vectors for an element, too.
        let (all, nan) = (Mask::default(), Mask { register: mask, ..Mask::default() });
        self.assembler.wide(float(0xC2), mask, x, y, Some(FLOAT_UNORDERED), all);
        self.assembler.wide(RANGE.with(is_double), to, x, y, Some(SIGN | larger), all);
        self.assembler.wide(float(0x58), to, x, y, None, nan);
        to
    }

    /// A comparison, which makes a mask.
    fn compared(&mut self, at: usize, micro: &MicroOp, compare: Vector, predicate: u8) -> u8 {
        let (x, y) = (self.register(micro.operands[0]), self.source(micro.operands[1], at));
        self.free_after(at);
        let to = self.take_mask();
        self.op_with(compare, to, x, y, predicate);
        to
    }

    /// A mask of two.
    fn masks_joined(&mut self, at: usize, micro: &MicroOp, opcode: u8) -> u8 {
        let (x, y) = (self.mask(micro.operands[0]), self.mask(micro.operands[1]));
        self.free_after(at);
        let to = self.take_mask();
        self.assembler.vector(vector(0, 1, opcode), true, to, x, Source::Register(y), None);
        to
    }

    /// A step whose instructions differ; returns the register, or mask register, of its result.
    pub fn wide_step(
        &mut self,
        at: usize,
        micro: &MicroOp,
        operation: Operation,
        complement: bool,
        is_double: bool,
    ) -> Option<u8> {
        let logic = |opcode: u8| vector_wide(1, 1, is_double, opcode);
        let compare = vector_wide(u8::from(is_double), 1, is_double, 0xC2);
        Some(match operation {
            Operation::And => self.both(at, micro, logic(0xDB), true),
            Operation::Or => self.both(at, micro, logic(0xEB), true),
            Operation::Xor => self.both(at, micro, logic(0xEF), true),
            Operation::NotAnd => self.both(at, micro, logic(0xDF), false),
            Operation::Lt | Operation::Le | Operation::Same => {
                self.compared(at, micro, compare, condition(operation, complement))
            }
            Operation::ZeroForNan => {
                // The instruction puts in what a table of 4 bits for each class of numbers says: of classes of
                // the second operand zeros alone (class 2) are put in as they are (1).
                const FIX: Vector = vector(1, 3, 0x54);
                let (x, y) = (self.register(micro.operands[0]), self.register(micro.operands[1]));
                let mask = self.take_mask();
                self.op_with(compare, mask, x, Source::Register(x), FLOAT_UNORDERED);
                let to = if self.dies(micro.operands[0], at) { x } else { self.take() };
                if to != x {
                    self.op(LOAD, to, 0, Source::Register(x));
                }
                let mut table = [0; 8];
                table[1] = 1;
                let table = self.everywhere(&table[..if is_double { 8 } else { 4 }]);
                let lanes = Mask { register: mask, ..Mask::default() };
                self.assembler.wide(FIX.with(is_double), to, y, table, Some(0), lanes);
                to
            }
            Operation::Both => self.masks_joined(at, micro, 0x41),
            Operation::Either => self.masks_joined(at, micro, 0x45),
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
        let is_long = self.chain.values[micro.operands[2]].dtype.bytes() == 8;
        let (mask, other) = (self.mask(micro.operands[0]), self.register(micro.operands[2]));
        let x = self.source(micro.operands[1], at);
        let to = self.result(at);
        let lanes = Mask { register: mask, ..Mask::default() };
        self.assembler.wide(vector_wide(1, 2, is_long, 0x65), to, other, x, None, lanes);
        to
    }

    /// 1 where a boolean is true, as this dtype.
    pub fn wide_one(&mut self, at: usize, v: usize, dtype: DType) -> u8 {
        let one = dispatch!(dtype, T => cast::bytes(&[<T as Element>::from_bool(true)]).to_vec());
        let (mask, one) = (self.mask(v), self.everywhere(&one));
        let to = self.result(at);
        self.repeat(to, one, dtype.bytes() == 8, mask);
        to
    }

    /// Tests whether a mask is true of any lane.
    pub(super) fn wide_test(&mut self, v: usize, is_double: bool) {
        const LEFT: Vector = vector_wide(1, 3, true, 0x32);
        const RIGHT: Vector = vector_wide(1, 3, true, 0x30);
        let mut mask = self.mask(v);
        let (rest, both) = (self.lanes == Lanes::Rest, vector(0, 1, 0x41));
        if is_double || rest {
            let lower = self.take_mask();
            let shift = |this: &mut Self, by: Vector, from: u8| {
                this.assembler.vector(by, false, lower, 0, Source::Register(from), Some(8));
                lower
            };
            // Only the 8 bits that count, of lanes that are left.
            let upper = is_double && self.upper[self.at];
            if rest {
                let lanes = if upper { shift(self, RIGHT, REST) } else { REST };
                self.assembler.vector(both, true, lower, lanes, Source::Register(mask), None);
                mask = lower;
            }
            if is_double && !(rest && upper) {
                mask = shift(self, LEFT, mask);
            }
        }
        self.assembler.vector(vector(0, 1, 0x98), false, mask, 0, Source::Register(mask), None);
    }

    /// Stores a mask as bytes that are 0 or 1.
    pub(super) fn wide_store_mask(&mut self, mask: u8, slot: Source) {
        let is_long = self.width == 8;
        let mut one = [0; 8];
        one[0] = 1;
        let one = self.everywhere(&one[..self.width]);
        let to = self.take();
        self.repeat(to, one, is_long, mask);
        let lanes = self.lanes(false);
        self.assembler.wide(vector(2, 2, if is_long { 0x32 } else { 0x31 }), to, 0, slot, None, lanes);
        self.locked[to as usize] = false;
    }

    /// Stores or loads the masks that are held, from this place of the stack on.
    pub fn keep_masks(&mut self, by: Vector, place: i32) {
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
            Location::Elements(base, behind) => {
                // Bytes as elements of 4 or 8 bytes.
                let extend = vector(1, 2, if self.width == 8 { 0x32 } else { 0x31 });
                let (source, lanes) = (self.elements(base, behind, 1), self.lanes(true));
                self.assembler.wide(extend, from, 0, source, None, lanes);
            }
            Location::Literal(literal) => self.repeat(from, Source::Literal(literal), false, 0),
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
