//! Instruction selection: the processor's instructions for each op of a chain.

use super::assembler::{vector_wide, Source, Vector};
use super::opcodes::*;
use crate::dtype::{dispatch, DType, Element};
use crate::exec::vm::native::chain::{MicroOp, Op};
use crate::exec::vm::native::coverage::{is_integer, is_signed};
use crate::exec::vm::native::emit::Emitter;
use crate::kernels::cast;

impl Emitter<'_> {
    /// Emits the instructions of an op; returns the register of its result.
    pub fn select(&mut self, at: usize, micro: &MicroOp) -> u8 {
        let dtype = self.chain.values[*micro.operands.last().expect("an op has operands")].dtype;
        let operand = |i: usize| micro.operands[i];
        let size = self.size();
        if self.is_wide() && (is_integer(dtype) || dtype == DType::I1) {
            if let Some(made) = self.wide_integer(at, micro, dtype) {
                return made;
            }
        }
        if matches!(micro.op, Op::Max | Op::Min) && matches!(dtype, DType::F32 | DType::F64) {
            return self.wide_extreme(micro, dtype == DType::F64);
        }
        match micro.op {
            Op::And => self.both(at, micro, self.on_bits(AND), true),
            Op::Or => self.both(at, micro, self.on_bits(OR), true),
            Op::Xor => self.both(at, micro, self.on_bits(XOR), true),
            Op::Add => self.both(at, micro, ADD[size].expect("of every width").with(size == 3), true),
            Op::Sub => self.both(at, micro, self.sub(), false),
            Op::Mul => match MUL[size] {
                Some(mul) => self.both(at, micro, mul, true),
                None if size == 0 => self.byte_product(operand(0), operand(1)),
                None => self.long_product(operand(0), operand(1)),
            },
            Op::Max | Op::Min => self.integer_extreme(at, micro, is_signed(dtype)),
            Op::Eq | Op::Ne => {
                let to = self.both(at, micro, EQ[size].expect("of every width"), true);
                if micro.op == Op::Ne {
                    self.inverse(to)
                } else {
                    to
                }
            }
            Op::Gt => self.greater(operand(0), operand(1), is_signed(dtype)),
            Op::Lt => self.greater(operand(1), operand(0), is_signed(dtype)),
            Op::Le | Op::Ge => {
                let (x, y) = if micro.op == Op::Le { (0, 1) } else { (1, 0) };
                let to = self.greater(operand(x), operand(y), is_signed(dtype));
                self.inverse(to)
            }
            Op::Not => {
                let x = self.register(operand(0));
                let (to, ones) = (self.result(at), self.everywhere(&[0xFF]));
                self.op(self.on_bits(XOR), to, x, ones);
                to
            }
            Op::ShiftLeft => self.both(at, micro, SHIFT_LEFT[size].expect("of 4 and 8 bytes"), false),
            Op::ShiftRight => self.both(at, micro, SHIFT_RIGHT[size].expect("of 4 and 8 bytes"), false),
            Op::ShiftRightSigned => match SHIFT_RIGHT_SIGNED[size] {
                Some(shift) => self.both(at, micro, shift, false),
                None => self.long_shift(operand(0), operand(1)),
            },
            Op::Negate => {
                let (x, to) = (self.register(operand(0)), self.take());
                self.op(self.on_bits(XOR), to, to, Source::Register(to));
                self.op(self.sub(), to, to, Source::Register(x));
                to
            }
            Op::Abs => match ABS[size] {
                Some(abs) => {
                    let x = self.source(operand(0), at);
                    let to = self.result(at);
                    self.op(abs, to, 0, x);
                    to
                }
                None => {
                    // The mask is all ones where x is negative; there x is inverted, and 1 is added.
                    let (x, mask, to) = (self.register(operand(0)), self.take(), self.take());
                    self.op(XOR, mask, mask, Source::Register(mask));
                    self.op(GT[size].expect("of every width"), mask, mask, Source::Register(x));
                    self.op(XOR, to, x, Source::Register(mask));
                    self.op(self.sub(), to, to, Source::Register(mask));
                    to
                }
            },
            Op::Floor => self.round(at, micro, DOWN, dtype == DType::F64),
            Op::Ceiling => self.round(at, micro, UP, dtype == DType::F64),
            Op::Trunc => self.round(at, micro, TO_ZERO, dtype == DType::F64),
            Op::Round => self.round(at, micro, NEAREST, dtype == DType::F64),
            Op::Select => self.selection(at, micro),
            Op::Convert(to) if dtype == DType::I1 && self.is_wide() => self.wide_one(at, operand(0), to),
            Op::Convert(to) if dtype == DType::I1 => {
                let one = dispatch!(to, T => cast::bytes(&[<T as Element>::from_bool(true)]).to_vec());
                let x = self.register(operand(0));
                let (to, one) = (self.result(at), self.everywhere(&one));
                self.op(AND, to, x, one);
                to
            }
            Op::Convert(_) if dtype == DType::I32 && self.width == 4 => {
                let x = self.source(operand(0), at);
                let to = self.result(at);
                self.op(SINGLES, to, 0, x);
                to
            }
            Op::Convert(to) => self.widened(operand(0), dtype, to),
            Op::Function(_) | Op::Function2(_) | Op::Function4(_) => self.call(at, micro),
            Op::Step(operation) => self.step(at, micro, operation, false),
            Op::NotStep(operation) => self.step(at, micro, operation, true),
            Op::Div | Op::Sqrt | Op::MulNoNan | Op::Clamp | Op::Sign => {
                unreachable!("these are of floats, in steps")
            }
            Op::IsNan | Op::IsFinite | Op::IsInfinite => unreachable!("these are of floats, in steps"),
            Op::Guard(_) => unreachable!("it makes nothing"),
            Op::High(by) => self.high(at, micro, by),
            Op::Doubles => self.doubles(at, operand(0)),
            Op::Integers => self.integers(operand(0), operand(1)),
            Op::Masks(_) | Op::Join(_) | Op::Lane(..) => unreachable!("loops have code for these"),
        }
    }

    /// The second operand where the first is true, else the third.
    pub fn selection(&mut self, at: usize, micro: &MicroOp) -> u8 {
        if self.is_wide() {
            return self.wide_selection(at, micro);
        }
        let (mask, other) = (self.register(micro.operands[0]), self.register(micro.operands[2]));
        let x = self.source(micro.operands[1], at);
        let to = self.result(at);
        self.op_with(BLEND, to, other, x, mask << 4);
        to
    }

    fn round(&mut self, at: usize, micro: &MicroOp, way: u8, is_double: bool) -> u8 {
        let x = self.source(micro.operands[0], at);
        let to = self.result(at);
        self.op_with(vector_wide(1, 3, is_double, 0x08 + u8::from(is_double)), to, 0, x, way);
        to
    }

    fn inverse(&mut self, to: u8) -> u8 {
        let ones = self.everywhere(&[0xFF]);
        self.op(XOR, to, to, ones);
        to
    }

    fn integer_extreme(&mut self, at: usize, micro: &MicroOp, signed: bool) -> u8 {
        let table = match (micro.op == Op::Max, signed) {
            (true, true) => MAX,
            (false, true) => MIN,
            (true, false) => MAX_UNSIGNED,
            (false, false) => MIN_UNSIGNED,
        };
        if let Some(op) = table[self.size()] {
            return self.both(at, micro, op, true);
        }
        let (x, y) = (micro.operands[0], micro.operands[1]);
        let (x, y) = if micro.op == Op::Max { (x, y) } else { (y, x) };
        let mask = self.greater(x, y, signed);
        let (first, second) = (self.register(micro.operands[0]), self.register(micro.operands[1]));
        self.op_with(BLEND, mask, second, Source::Register(first), mask << 4);
        mask
    }

    /// Where an integer is greater than another.
    fn greater(&mut self, x: usize, y: usize, signed: bool) -> u8 {
        let op = GT[self.size()].expect("of every width");
        let (x, y, to) = (self.register(x), self.register(y), self.take());
        if signed {
            self.op(op, to, x, Source::Register(y));
        } else {
            // With its sign bit flipped, an unsigned number is in the order of signed ones.
            let (sign, other) = (self.sign(), self.take());
            self.op(XOR, to, x, sign);
            self.op(XOR, other, y, sign);
            self.op(op, to, to, Source::Register(other));
        }
        to
    }

    /// Shifts by an amount: `/2` to the right, `/6` to the left, of elements of 2 (`0x71`), 4 (`0x72`)
    /// or 8 bytes (`0x73`).
    pub(super) fn shift(&mut self, opcode: u8, left: bool, to: u8, from: u8, by: u8) {
        let shift = vector_wide(1, 1, opcode == 0x73, opcode);
        self.op_with(shift, if left { 6 } else { 2 }, to, Source::Register(from), by);
    }

    /// Arithmetic shifts of 64-bit integers: where the sign bit is set, the others are inverted before and
    /// after zeros enter.
    fn long_shift(&mut self, x: usize, by: usize) -> u8 {
        let (x, by) = (self.register(x), self.register(by));
        let (to, sign) = (self.take(), self.take());
        self.op(XOR, sign, sign, Source::Register(sign));
        self.op(GT[3].expect("of every width"), sign, sign, Source::Register(x));
        self.op(XOR, to, x, Source::Register(sign));
        self.op(SHIFT_RIGHT[3].expect("of 8 bytes"), to, to, Source::Register(by));
        self.op(XOR, to, to, Source::Register(sign));
        to
    }

    /// Products of 64-bit integers, from products of their 32-bit halves.
    fn long_product(&mut self, x: usize, y: usize) -> u8 {
        const HALVES: Vector = vector_wide(1, 1, true, 0xF4);
        let (x, y) = (self.register(x), self.register(y));
        let (to, other) = (self.take(), self.take());
        let add = ADD[3].expect("of every width").with(true);
        self.shift(0x73, false, to, x, 32);
        self.op(HALVES, to, to, Source::Register(y));
        self.shift(0x73, false, other, y, 32);
        self.op(HALVES, other, other, Source::Register(x));
        self.op(add, to, to, Source::Register(other));
        self.shift(0x73, true, to, to, 32);
        self.op(HALVES, other, x, Source::Register(y));
        self.op(add, to, to, Source::Register(other));
        to
    }

    /// Products of bytes, from 16-bit products of the lower and of the upper bytes of pairs.
    fn byte_product(&mut self, x: usize, y: usize) -> u8 {
        let mul = MUL[1].expect("of 2 bytes");
        let (x, y) = (self.register(x), self.register(y));
        let (to, other) = (self.take(), self.take());
        self.shift(0x71, false, to, x, 8);
        self.shift(0x71, false, other, y, 8);
        self.op(mul, to, to, Source::Register(other));
        self.shift(0x71, true, to, to, 8);
        self.op(mul, other, x, Source::Register(y));
        let lower = self.everywhere(&[0xFF, 0]);
        self.op(AND, other, other, lower);
        self.op(OR, to, to, Source::Register(other));
        to
    }

    /// The sign bit of the elements.
    fn sign(&mut self) -> Source {
        let mut bytes = vec![0; self.width];
        bytes[self.width - 1] = 0x80;
        self.everywhere(&bytes)
    }
}
