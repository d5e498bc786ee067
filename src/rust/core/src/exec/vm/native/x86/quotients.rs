//! Instructions of the steps of quotients of integers, on x86-64.

use super::assembler::{vector, vector_wide, Source, Vector};
use super::opcodes::*;
use crate::exec::vm::native::chain::MicroOp;
use crate::exec::vm::native::emit::Emitter;

impl Emitter<'_> {
    /// The upper halves of products of integers of 4 bytes without a sign, shifted: those of the even and of the odd ones,
    /// which are products of 8 bytes.
    pub(super) fn high(&mut self, at: usize, micro: &MicroOp, by: u8) -> u8 {
        const PRODUCT: Vector = vector_wide(1, 1, true, 0xF4);
        let (x, y) = (self.register(micro.operands[0]), self.register(micro.operands[1]));
        if !self.long() {
            let to = self.result(at);
            self.op(PRODUCT, to, x, Source::Register(y));
            self.shift(0x73, false, to, to, 32 + by);
            return to;
        }
        let (to, odd) = (self.take(), self.take());
        self.shift(0x73, false, odd, x, 32);
        self.op(PRODUCT, odd, odd, Source::Register(y));
        self.op(PRODUCT, to, x, Source::Register(y));
        self.shift(0x73, false, to, to, 32);
        let upper = self.everywhere(&[0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF]);
        self.op(vector_wide(1, 1, true, 0xDB), odd, odd, upper);
        self.op(vector_wide(1, 1, true, 0xEB), to, to, Source::Register(odd));
        if by > 0 {
            self.shift(0x72, false, to, to, by);
        }
        to
    }

    /// Integers of 4 bytes as doubles.
    pub(super) fn doubles(&mut self, at: usize, v: usize) -> u8 {
        let x = self.register(v);
        let to = self.result(at);
        let mut from = x;
        if self.upper[at] {
            let half = if self.is_wide() { vector_wide(1, 3, true, 0x3B) } else { UPPER_HALF };
            self.op_with(half, x, 0, Source::Register(to), 1);
            from = to;
        }
        self.op(DOUBLES, to, 0, Source::Register(from));
        to
    }

    /// Doubles of both halves as integers of 4 bytes.
    pub(super) fn integers(&mut self, low: usize, high: usize) -> u8 {
        let narrow = if self.is_wide() { vector_wide(1, 1, true, 0xE6) } else { vector(1, 1, 0xE6) };
        let low = self.register(low);
        let to = self.take();
        self.op(narrow, to, 0, Source::Register(low));
        // Of one element there is no upper half.
        if self.long() {
            let high = self.register(high);
            let other = self.take();
            self.op(narrow, other, 0, Source::Register(high));
            let join = if self.is_wide() { vector_wide(1, 3, true, 0x3A) } else { vector(1, 3, 0x38) };
            self.op_with(join, to, to, Source::Register(other), 1);
        }
        to
    }
}
