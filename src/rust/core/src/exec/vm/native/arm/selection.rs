//! Instruction selection: the processor's instructions for each op of a chain, and for each step of a formula.

use super::assembler::{Source, Vector, SCRATCH, SCRATCH2};
use super::opcodes::*;
use crate::dtype::{dispatch, DType, Element};
use crate::exec::vm::native::chain::{MicroOp, Op};
use crate::exec::vm::native::coverage::is_signed;
use crate::exec::vm::native::emit::Emitter;
use crate::kernels::cast;
use crate::kernels::math::formula::Operation;

impl Emitter<'_> {
    /// Emits the instructions of an op; returns the register of its result.
    pub fn select(&mut self, at: usize, micro: &MicroOp) -> u8 {
        let dtype = self.chain.values[*micro.operands.last().expect("an op has operands")].dtype;
        let (width, signed) = (self.width, is_signed(dtype));
        let float = |op: Vector| op.on_doubles(dtype == DType::F64);
        match micro.op {
            Op::And => self.both(at, micro, AND, true),
            Op::Or => self.both(at, micro, OR, true),
            Op::Xor => self.both(at, micro, XOR, true),
            Op::Not => self.one(at, micro, NOT),
            Op::Add => self.both(at, micro, ADD.of(width), true),
            Op::Sub => self.both(at, micro, SUB.of(width), false),
            Op::Mul if width == 8 => self.long_product(at, micro),
            Op::Mul => self.both(at, micro, MUL.of(width), true),
            Op::Max | Op::Min if width == 8 => self.long_extreme(at, micro, signed),
            Op::Max => self.both(at, micro, if signed { MAX } else { MAX_UNSIGNED }.of(width), true),
            Op::Min => self.both(at, micro, if signed { MIN } else { MIN_UNSIGNED }.of(width), true),
            Op::Eq => self.both(at, micro, EQ.of(width), true),
            Op::Ne => {
                let to = self.both(at, micro, EQ.of(width), true);
                self.op(NOT, to, 0, Source::Register(to));
                to
            }
            Op::Gt | Op::Lt => {
                let op = if signed { GT } else { GT_UNSIGNED }.of(width);
                self.ordered(at, micro, op, micro.op == Op::Lt)
            }
            Op::Ge | Op::Le => {
                let op = if signed { GE } else { GE_UNSIGNED }.of(width);
                self.ordered(at, micro, op, micro.op == Op::Le)
            }
            Op::ShiftLeft | Op::ShiftRight | Op::ShiftRightSigned => self.shifted(at, micro),
            Op::Negate => self.one(at, micro, NEGATE.of(width)),
            Op::Abs => self.one(at, micro, ABS.of(width)),
            Op::Floor => self.one(at, micro, float(DOWN)),
            Op::Ceiling => self.one(at, micro, float(UP)),
            Op::Trunc => self.one(at, micro, float(TO_ZERO)),
            Op::Round => self.one(at, micro, float(NEAREST)),
            Op::Select => self.selection(at, micro),
            Op::Convert(to) if dtype == DType::I1 => {
                let one = dispatch!(to, T => cast::bytes(&[<T as Element>::from_bool(true)]).to_vec());
                let x = self.register(micro.operands[0]);
                let (to, one) = (self.result(at), self.everywhere(&one));
                self.op(AND, to, x, one);
                to
            }
            Op::Convert(_) if dtype == DType::I32 && width == 4 => self.one(at, micro, FLOATS),
            Op::Convert(to) => self.widened(micro.operands[0], dtype, to),
            Op::Function(_) | Op::Function2(_) | Op::Function4(_) => self.call(at, micro),
            Op::Step(operation) => self.step(at, micro, operation, false),
            Op::NotStep(operation) => self.step(at, micro, operation, true),
            Op::Div | Op::Sqrt | Op::MulNoNan | Op::Clamp | Op::Sign => {
                unreachable!("these are of floats, in steps")
            }
            Op::IsNan | Op::IsFinite | Op::IsInfinite => unreachable!("these are of floats, in steps"),
            Op::Guard(_) => unreachable!("it makes nothing"),
            Op::High(by) => self.high(at, micro, by),
            Op::Doubles => {
                let x = self.register(micro.operands[0]);
                let to = self.result(at);
                self.op(
                    if self.upper[at] { EXTEND_UPPER } else { extend(4, true) },
                    to,
                    0,
                    Source::Register(x),
                );
                self.op(FLOATS.on_doubles(true), to, 0, Source::Register(to));
                to
            }
            Op::Integers => {
                let low = self.register(micro.operands[0]);
                let to = self.take();
                self.op(INTEGERS, SCRATCH, 0, Source::Register(low));
                self.op(NARROW.of(4), to, 0, Source::Register(SCRATCH));
                // Of one element there is no upper half.
                if self.long() {
                    let high = self.register(micro.operands[1]);
                    self.op(INTEGERS, SCRATCH, 0, Source::Register(high));
                    self.op(NARROW_UPPER, to, 0, Source::Register(SCRATCH));
                }
                to
            }
            Op::Masks(_) | Op::Join(_) | Op::Lane(..) => unreachable!("loops have code for these"),
        }
    }

    /// The upper halves of products of integers of 4 bytes without a sign, shifted.
    fn high(&mut self, at: usize, micro: &MicroOp, by: u8) -> u8 {
        let (x, y) = (self.register(micro.operands[0]), self.register(micro.operands[1]));
        let to = self.result(at);
        self.op(PRODUCTS_UPPER, SCRATCH, x, Source::Register(y));
        self.op(PRODUCTS, to, x, Source::Register(y));
        self.op(ODD, to, to, Source::Register(SCRATCH));
        if by > 0 {
            self.op(shift_right(32, by.into()), to, 0, Source::Register(to));
        }
        to
    }

    /// One instruction of two operands, in this order or in the other.
    fn ordered(&mut self, at: usize, micro: &MicroOp, op: Vector, turned: bool) -> u8 {
        let (x, y) = (self.register(micro.operands[0]), self.register(micro.operands[1]));
        let to = self.result(at);
        let (x, y) = if turned { (y, x) } else { (x, y) };
        self.op(op, to, x, Source::Register(y));
        to
    }

    /// Puts `x` into a register where a mask is set, and `y` elsewhere.
    fn choose(&mut self, to: u8, mask: u8, x: u8, y: u8) {
        if to == mask {
            return self.op(SELECT, to, x, Source::Register(y));
        }
        if to == x {
            return self.op(INSERT_NOT, to, y, Source::Register(mask));
        }
        self.op(LOAD, to, 0, Source::Register(y));
        self.op(INSERT, to, x, Source::Register(mask));
    }

    /// The second operand where the first is true, else the third.
    fn selection(&mut self, at: usize, micro: &MicroOp) -> u8 {
        let [mask, x, y] = [0, 1, 2].map(|i| self.register(micro.operands[i]));
        let to = self.result(at);
        self.choose(to, mask, x, y);
        to
    }

    /// The first operand where a comparison of both, in this order or in the other, is true, else the second.
    fn larger(&mut self, at: usize, micro: &MicroOp, compare: Vector, turned: bool) -> u8 {
        let (x, y) = (self.register(micro.operands[0]), self.register(micro.operands[1]));
        let (first, second) = if turned { (y, x) } else { (x, y) };
        self.op(compare, SCRATCH, first, Source::Register(second));
        let to = self.result(at);
        self.choose(to, SCRATCH, x, y);
        to
    }

    fn long_extreme(&mut self, at: usize, micro: &MicroOp, signed: bool) -> u8 {
        let compare = if signed { GT } else { GT_UNSIGNED }.of(8);
        self.larger(at, micro, compare, micro.op == Op::Min)
    }

    /// Shifts by amounts that are negative, or the width or more, too. The instruction takes a byte of them.
    fn shifted(&mut self, at: usize, micro: &MicroOp) -> u8 {
        let (x, by) = (self.register(micro.operands[0]), self.register(micro.operands[1]));
        let mut bits = vec![0; self.width];
        bits[0] = 8 * self.width as u8;
        let bits = self.everywhere(&bits);
        // At most the width: the smaller one of two unsigned numbers.
        self.op(LOAD, SCRATCH2, 0, bits);
        self.op(GT_UNSIGNED.of(self.width), SCRATCH, by, Source::Register(SCRATCH2));
        self.choose(SCRATCH, SCRATCH, SCRATCH2, by);
        if micro.op != Op::ShiftLeft {
            self.op(NEGATE.of(self.width), SCRATCH, 0, Source::Register(SCRATCH));
        }
        let to = self.result(at);
        let shift = if micro.op == Op::ShiftRightSigned { SHIFT_SIGNED } else { SHIFT };
        self.op(shift.of(self.width), to, x, Source::Register(SCRATCH));
        to
    }

    /// Products of 64-bit integers, from products of their 32-bit halves.
    fn long_product(&mut self, _at: usize, micro: &MicroOp) -> u8 {
        let (x, y) = (self.register(micro.operands[0]), self.register(micro.operands[1]));
        let to = self.take();
        // Lower halves with upper ones, summed and shifted up.
        self.op(EXCHANGE, to, 0, Source::Register(y));
        self.op(MUL.of(4), to, to, Source::Register(x));
        self.op(ADD_PAIRS, to, 0, Source::Register(to));
        self.op(shift_left(64, 32), to, 0, Source::Register(to));
        self.op(NARROW.of(4), SCRATCH, 0, Source::Register(x));
        self.op(NARROW.of(4), SCRATCH2, 0, Source::Register(y));
        self.op(ADD_PRODUCTS, to, SCRATCH, Source::Register(SCRATCH2));
        to
    }

    /// Emits the instructions of a step; returns the register of its result.
    fn step(&mut self, at: usize, micro: &MicroOp, operation: Operation, complement: bool) -> u8 {
        let is_double =
            self.chain.values[*micro.operands.last().expect("a step has operands")].dtype == DType::F64;
        let float = |op: Vector| op.on_doubles(is_double);
        let width = if is_double { 8 } else { 4 };
        let made = match operation {
            Operation::Argument(_) | Operation::Constant(_) => unreachable!("these are values"),
            Operation::Add => self.both(at, micro, float(FLOAT_ADD), true),
            Operation::Sub => self.both(at, micro, float(FLOAT_SUB), false),
            Operation::Mul => self.both(at, micro, float(FLOAT_MUL), true),
            Operation::Div => self.both(at, micro, float(FLOAT_DIV), false),
            Operation::Min => self.larger(at, micro, float(FLOAT_GT), true),
            Operation::Max => self.larger(at, micro, float(FLOAT_GT), false),
            Operation::And | Operation::Both => self.both(at, micro, AND, true),
            Operation::Or | Operation::Either => self.both(at, micro, OR, true),
            Operation::Xor => self.both(at, micro, XOR, true),
            Operation::NotAnd => self.ordered(at, micro, AND_NOT, true),
            Operation::AddBits => self.both(at, micro, ADD.of(width), true),
            Operation::SubBits => self.both(at, micro, SUB.of(width), false),
            Operation::MulAdd => self.fused(at, micro, float(MUL_ADD)),
            Operation::NegMulAdd => self.fused(at, micro, float(MUL_SUB)),
            Operation::Sqrt => self.one(at, micro, float(SQRT)),
            Operation::Lt => self.ordered(at, micro, float(FLOAT_GT), true),
            Operation::Le => self.ordered(at, micro, float(FLOAT_GE), true),
            Operation::Same => self.ordered(at, micro, float(FLOAT_EQ), false),
            Operation::Not => self.one(at, micro, NOT),
            Operation::Select => self.selection(at, micro),
            Operation::ZeroForNan => {
                let (x, y) = (self.register(micro.operands[0]), self.register(micro.operands[1]));
                self.op(float(FLOAT_EQ), SCRATCH, x, Source::Register(x));
                self.op(float(FLOAT_EQ), SCRATCH, y, Source::Register(SCRATCH));
                let to = self.result(at);
                self.choose(to, SCRATCH, y, x);
                to
            }
            Operation::Shl(by) => self.one(at, micro, shift_left(8 * width as u32, by)),
            Operation::Shr(0) => self.one(at, micro, LOAD),
            Operation::Shr(by) => self.one(at, micro, shift_right(8 * width as u32, by)),
            Operation::Widen if self.upper[at] => self.one(at, micro, WIDEN_UPPER),
            Operation::Widen => self.one(at, micro, WIDEN),
            Operation::Narrow if self.long() => {
                let (low, high) = (self.register(micro.operands[0]), self.register(micro.operands[1]));
                let to = self.take();
                self.op(SINGLES, to, 0, Source::Register(low));
                self.op(SINGLES_UPPER, to, 0, Source::Register(high));
                to
            }
            Operation::Narrow => self.one(at, micro, SINGLES),
        };
        if complement {
            self.op(NOT, made, 0, Source::Register(made));
        }
        made
    }

    /// `x * y + z`, or `z - x * y`: the third operand is overwritten.
    fn fused(&mut self, at: usize, micro: &MicroOp, op: Vector) -> u8 {
        let [x, y, z] = [0, 1, 2].map(|i| self.register(micro.operands[i]));
        if self.dies(micro.operands[2], at) {
            self.op(op, z, x, Source::Register(y));
            return z;
        }
        let to = self.take();
        self.op(LOAD, to, 0, Source::Register(z));
        self.op(op, to, x, Source::Register(y));
        to
    }
}
