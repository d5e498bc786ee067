//! Instruction selection for the steps of formulas.

use super::assembler::{vector, vector_wide, Source, LITERAL};
use super::opcodes::*;
use super::wide::condition;
use crate::dtype::DType;
use crate::exec::vm::native::chain::MicroOp;
use crate::exec::vm::native::emit::Emitter;
use crate::kernels::math::formula::Operation;

impl Emitter<'_> {
    /// Emits the instructions of a step; returns the register of its result.
    pub fn step(&mut self, at: usize, micro: &MicroOp, operation: Operation, complement: bool) -> u8 {
        let is_double =
            self.chain.values[*micro.operands.last().expect("a step has operands")].dtype == DType::F64;
        let prefix = u8::from(is_double);
        let whole =
            |ops: ByWidth| ops[if is_double { 3 } else { 2 }].expect("of every width").with(is_double);
        let both = |opcode: u8| vector_wide(prefix, 1, is_double, opcode);
        if self.is_wide() {
            if let Some(made) = self.wide_step(at, micro, operation, complement, is_double) {
                return made;
            }
        }
        match operation {
            Operation::Argument(_) | Operation::Constant(_) => unreachable!("these are values"),
            Operation::Add => self.both(at, micro, both(0x58), true),
            Operation::Mul => self.both(at, micro, both(0x59), true),
            Operation::Sub => self.both(at, micro, both(0x5C), false),
            Operation::Div => self.both(at, micro, both(0x5E), false),
            Operation::Min => self.both(at, micro, both(0x5D), false),
            Operation::Max => self.both(at, micro, both(0x5F), false),
            Operation::And | Operation::Both => self.both(at, micro, AND, true),
            Operation::Or | Operation::Either => self.both(at, micro, OR, true),
            Operation::Xor => self.both(at, micro, XOR, true),
            Operation::NotAnd => self.both(at, micro, AND_NOT, false),
            Operation::AddBits => self.both(at, micro, whole(ADD), true),
            Operation::SubBits => self.both(at, micro, whole(SUB), false),
            Operation::MulAdd => self.fused(at, micro, is_double, 0),
            Operation::NegMulAdd => self.fused(at, micro, is_double, 4),
            Operation::Sqrt => self.one(at, micro, both(0x51)),
            Operation::Lt | Operation::Le | Operation::Same => {
                let (x, y) = (self.register(micro.operands[0]), self.source(micro.operands[1], at));
                let to = self.result(at);
                self.op_with(both(0xC2), to, x, y, condition(operation, complement));
                to
            }
            Operation::Not => {
                let x = self.register(micro.operands[0]);
                let (to, ones) = (self.result(at), self.everywhere(&[0xFF]));
                self.op(XOR, to, x, ones);
                to
            }
            Operation::Select => self.selection(at, micro),
            Operation::ZeroForNan => {
                let (x, y, mask) =
                    (self.register(micro.operands[0]), self.register(micro.operands[1]), self.take());
                self.op_with(both(0xC2), mask, x, Source::Register(x), FLOAT_ORDERED);
                self.op_with(both(0xC2), mask, y, Source::Register(mask), FLOAT_EQ);
                self.op_with(BLEND, mask, x, Source::Register(y), mask << 4);
                mask
            }
            Operation::Shl(by) | Operation::Shr(by) => {
                let left = matches!(operation, Operation::Shl(_));
                let x = self.register(micro.operands[0]);
                let to = self.result(at);
                let shift = vector_wide(1, 1, is_double, if is_double { 0x73 } else { 0x72 });
                self.op_with(shift, if left { 6 } else { 2 }, to, Source::Register(x), by as u8);
                to
            }
            Operation::Widen => {
                let x = self.register(micro.operands[0]);
                let mut from = Source::Register(x);
                let to = self.result(at);
                if self.upper[at] {
                    // The register that is stored to is the last operand.
                    self.op_with(UPPER_HALF, x, 0, Source::Register(to), 1);
                    from = Source::Register(to);
                }
                self.op(vector(0, 1, 0x5A), to, 0, from);
                to
            }
            Operation::Narrow if self.long() => {
                let (low, high) = (self.register(micro.operands[0]), self.register(micro.operands[1]));
                let (to, other) = (self.take(), self.take());
                self.op(vector(1, 1, 0x5A), to, 0, Source::Register(low));
                self.op(vector(1, 1, 0x5A), other, 0, Source::Register(high));
                self.op_with(vector(1, 3, 0x18), to, to, Source::Register(other), 1);
                to
            }
            Operation::Narrow => {
                let x = self.register(micro.operands[0]);
                let to = self.result(at);
                self.op(vector(1, 1, 0x5A), to, 0, Source::Register(x));
                to
            }
        }
    }

    /// `x * y + z`, or `z - x * y` if `sign` is 4: the instruction has three forms, by which operand is
    /// overwritten, and reads one operand from memory.
    fn fused(&mut self, at: usize, micro: &MicroOp, is_double: bool, sign: u8) -> u8 {
        let form = |opcode: u8| vector_wide(1, 2, is_double, opcode + sign);
        let (form132, form213, form231) = (form(0x98), form(0xA8), form(0xB8));
        let [mut x, mut y, z] = [micro.operands[0], micro.operands[1], micro.operands[2]];
        let is_far = |this: &Self, v: usize| this.memory_operand(v, at).is_some();
        if is_far(self, z) {
            let (rx, ry) = (self.register(x), self.register(y));
            // What registers took may have been the place of the third.
            let far = self.source(z, at);
            let (dies, other) = if self.dies(x, at) {
                (Some(rx), ry)
            } else if self.dies(y, at) {
                (Some(ry), rx)
            } else {
                (None, ry)
            };
            if let Some(to) = dies {
                self.op(form213, to, other, far);
                return to;
            }
            let to = self.take();
            self.load_from(to, far, is_double);
            self.op(form231, to, rx, Source::Register(ry));
            return to;
        }
        if is_far(self, x) && !is_far(self, y) {
            (x, y) = (y, x);
        }
        let (rx, rz) = (self.register(x), self.register(z));
        let far = self.source(y, at);
        if self.dies(z, at) {
            self.op(form231, rz, rx, far);
            return rz;
        }
        if self.dies(x, at) {
            self.op(form132, rx, rz, far);
            return rx;
        }
        match far {
            Source::Register(ry) if self.dies(y, at) => {
                self.op(form132, ry, rz, Source::Register(rx));
                ry
            }
            far => {
                let to = self.take();
                self.op(LOAD, to, 0, Source::Register(rz));
                self.op(form231, to, rx, far);
                to
            }
        }
    }

    /// Leaves the body if a mask is true.
    pub fn guard(&mut self, mask: usize, is_double: bool) {
        if self.is_wide() {
            self.wide_test(mask, is_double);
        } else {
            self.test(mask);
        }
        let jump = self.assembler.if_any();
        self.exits.push(jump);
    }

    fn test(&mut self, mask: usize) {
        const TEST: u8 = 0x0E;
        let mask = self.register(mask);
        let other = if self.long() {
            Source::Register(mask)
        } else {
            // The sign of the first lane.
            let mut first = [0; LITERAL];
            first[3] = 0x80;
            Source::Literal(self.assembler.literal(first))
        };
        self.op(vector(1, 2, TEST), mask, 0, other);
    }
}
