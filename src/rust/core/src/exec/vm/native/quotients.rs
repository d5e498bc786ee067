//! Quotients and remainders of integers of 4 bytes as steps, of which processors have no instructions on vectors. A divisor
//! that is known becomes a multiplication by its reciprocal (T. Granlund and P. L. Montgomery, *Division by Invariant Integers
//! using Multiplication*, PLDI 1994), others are divided as doubles, which are exact: whole numbers below 2^31 lie further
//! from their quotients than a rounding moves these.

use super::chain::{MicroOp, Op, Origin};
use super::expansion::Expansion;
use crate::dtype::DType;
use crate::kernels::math::formula::Operation;
use crate::tensor::Literal;

/// Steps of a quotient, about: to a divisor that is known there are half as many.
pub(super) const STEPS: usize = 10;

impl Expansion {
    /// Adds the steps of a quotient or of a remainder.
    pub(super) fn quotient(&mut self, micro: &MicroOp, is_remainder: bool) {
        let (x, y) = (micro.operands[0], micro.operands[1]);
        let known = match self.chain.values[y].origin {
            Origin::Literal(literal) => Some(literal.get::<i32>()),
            _ => None,
        };
        let (result, is_not_zero) = (Some(micro.result), known.is_some_and(|divisor| divisor != 0));
        match known.filter(|&divisor| divisor > 0).map(|divisor| divisor as u32) {
            Some(divisor) if divisor.is_power_of_two() && is_remainder => {
                let rest = self.whole_number(divisor as i32 - 1);
                self.integer(Op::And, &[x, rest], result);
            }
            Some(divisor) if divisor.is_power_of_two() => {
                let by = self.whole_number(divisor.trailing_zeros() as i32);
                self.integer(Op::ShiftRightSigned, &[x, by], result);
            }
            known => {
                let own = if is_remainder { None } else { result };
                let made = self.quotients.get(&(x, y, self.of_vectors)).copied();
                let quotient = made.unwrap_or_else(|| match known {
                    Some(divisor) => self.by_reciprocal(x, divisor, own),
                    None => self.by_doubles(x, y, is_not_zero, own),
                });
                self.quotients.insert((x, y, self.of_vectors), quotient);
                if is_remainder {
                    let product = self.integer(Op::Mul, &[quotient, y], None);
                    self.integer(Op::Sub, &[x, product], result);
                } else if quotient != micro.result {
                    self.integer(Op::Or, &[quotient, quotient], result);
                }
            }
        }
    }

    /// The quotient to a divisor that is no power of two: a negative dividend is its complement meanwhile, of which the
    /// quotient is the complement.
    fn by_reciprocal(&mut self, x: usize, divisor: u32, result: Option<usize>) -> usize {
        let bits = u32::BITS - divisor.leading_zeros();
        // Below 2^32, as the divisor is above half of 2^bits.
        let reciprocal = (1u64 << (31 + bits)) / u64::from(divisor) + 1;
        let [all, reciprocal] = [31, reciprocal as u32 as i32].map(|n| self.whole_number(n));
        let sign = self.integer(Op::ShiftRightSigned, &[x, all], None);
        let dividend = self.integer(Op::Xor, &[x, sign], None);
        let quotient = self.integer(Op::High(bits as u8 - 1), &[dividend, reciprocal], None);
        self.integer(Op::Xor, &[quotient, sign], result)
    }

    /// The quotient of doubles; that of a zero divisor has all bits set. The smallest number by -1 is itself: what has no
    /// integer becomes the smallest.
    fn by_doubles(&mut self, x: usize, y: usize, is_not_zero: bool, result: Option<usize>) -> usize {
        let halves = if self.chain.width == 4 { 2 } else { 1 };
        let mut made = vec![];
        for half in 0..halves {
            let upper = half == 1;
            let mut double = |op: Op, operands: &[usize]| {
                let result = self.value(DType::F64, Origin::Made);
                self.push(MicroOp { op, operands: operands.to_vec(), result }, upper);
                result
            };
            let [dividend, divisor] = [x, y].map(|v| double(Op::Doubles, &[v]));
            let quotient = double(Op::Step(Operation::Div), &[dividend, divisor]);
            made.push(double(Op::Floor, &[quotient]));
        }
        let halves = [made[0], made[halves - 1]];
        let whole = self.integer(Op::Integers, &halves, if is_not_zero { result } else { None });
        if is_not_zero {
            return whole;
        }
        let [nothing, all] = [0, -1].map(|n| self.whole_number(n));
        let is_zero = self.value(DType::I1, Origin::Made);
        self.push(MicroOp { op: Op::Eq, operands: vec![y, nothing], result: is_zero }, false);
        self.integer(Op::Select, &[is_zero, all, whole], result)
    }

    fn integer(&mut self, op: Op, operands: &[usize], result: Option<usize>) -> usize {
        let result = result.unwrap_or_else(|| self.value(DType::I32, Origin::Made));
        self.push(MicroOp { op, operands: operands.to_vec(), result }, false);
        result
    }

    /// A literal.
    fn whole_number(&mut self, n: i32) -> usize {
        if let Some(&known) = self.whole.get(&n) {
            return known;
        }
        let value = self.value(DType::I32, Origin::Literal(Literal::new(n)));
        self.whole.insert(n, value);
        value
    }
}
