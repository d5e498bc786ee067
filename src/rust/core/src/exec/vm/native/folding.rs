//! Steps that depend on literals alone are done while code is made: of `10^x`, the logarithm.

use super::chain::{MicroOp, Op, Origin};
use super::expansion::Expansion;
use crate::dtype::DType;
use crate::kernels::math::formula::Operation;
use crate::kernels::math::{fused, fused_single};

/// A number that is known, or the value of a mask.
#[derive(Clone, Copy)]
enum Known {
    Double(f64),
    Single(f32),
    Mask(bool),
}

impl Expansion {
    fn known(&self, v: usize) -> Option<Known> {
        if let Some(&mask) = self.decided.get(&v) {
            return Some(Known::Mask(mask));
        }
        match self.chain.values[v].origin {
            Origin::Literal(x) if x.dtype() == DType::F64 => Some(Known::Double(x.get())),
            Origin::Literal(x) if x.dtype() == DType::F32 => Some(Known::Single(x.get())),
            _ => None,
        }
    }

    /// The value of a step, if it is known, or is one of its operands.
    pub(super) fn folded(
        &mut self,
        (operation, complement): (Operation, bool),
        operands: &[usize],
    ) -> Option<usize> {
        use Operation::{Both, Either, Not, Select};
        let known: Vec<Option<Known>> = operands.iter().map(|&v| self.known(v)).collect();
        match (operation, &known[..]) {
            (Select, &[Some(Known::Mask(mask)), ..]) => return Some(operands[if mask { 1 } else { 2 }]),
            (Both | Either, &[x, y]) if !complement => {
                let (mask, other) = match (x, y) {
                    (Some(Known::Mask(mask)), _) => (mask, operands[1]),
                    (_, Some(Known::Mask(mask))) => (mask, operands[0]),
                    _ => return None,
                };
                let decides = mask == (operation == Either);
                return Some(if decides { self.mask(mask) } else { other });
            }
            (Not, &[Some(Known::Mask(mask))]) => return Some(self.mask(mask == complement)),
            _ => {}
        }
        let known: Vec<Known> = known.into_iter().collect::<Option<_>>()?;
        match done(operation, &known)? {
            Known::Mask(mask) => Some(self.mask(mask != complement)),
            // The bits of a NaN depend on how it is made.
            Known::Double(x) => (!complement && !x.is_nan()).then(|| self.literal(true, x.to_bits())),
            Known::Single(x) => (!complement && !x.is_nan()).then(|| self.literal(false, x.to_bits().into())),
        }
    }

    /// A mask that is known: no step reads it.
    fn mask(&mut self, mask: bool) -> usize {
        let value = self.value(DType::I1, Origin::Made);
        self.decided.insert(value, mask);
        value
    }

    /// Whether a mask is known to be false everywhere.
    pub(super) fn is_never(&self, mask: usize) -> bool {
        self.decided.get(&mask) == Some(&false)
    }

    /// The mask as one that steps can read.
    pub(super) fn readable(&mut self, mask: usize, is_double: bool) -> usize {
        let Some(&is_true) = self.decided.get(&mask) else { return mask };
        let zero = self.literal(is_double, 0);
        let result = self.value(DType::I1, Origin::Made);
        let op = if is_true { Op::Step(Operation::Same) } else { Op::NotStep(Operation::Same) };
        self.push(MicroOp { op, operands: vec![zero; 2], result }, false);
        result
    }
}

/// What a step makes of numbers of its type; `None` where they are of another one.
fn done(operation: Operation, known: &[Known]) -> Option<Known> {
    match *known {
        [Known::Single(x)] if operation == Operation::Widen => Some(Known::Double(x.into())),
        [Known::Double(x)] if operation == Operation::Sqrt => Some(Known::Double(x.sqrt())),
        [Known::Single(x)] if operation == Operation::Sqrt => Some(Known::Single(x.sqrt())),
        [Known::Double(x)] => shifted(operation, x.to_bits(), 64).map(|x| Known::Double(f64::from_bits(x))),
        [Known::Single(x)] => {
            let bits = shifted(operation, x.to_bits().into(), 32)?;
            Some(Known::Single(f32::from_bits(bits as u32)))
        }
        [Known::Double(x), Known::Double(y)] => Some(match operation {
            Operation::Add => Known::Double(x + y),
            Operation::Sub => Known::Double(x - y),
            Operation::Mul => Known::Double(x * y),
            Operation::Div => Known::Double(x / y),
            Operation::Min => Known::Double(if x < y { x } else { y }),
            Operation::Max => Known::Double(if y < x { x } else { y }),
            Operation::Lt => Known::Mask(x < y),
            Operation::Le => Known::Mask(x <= y),
            Operation::Same => Known::Mask(x == y),
            _ => Known::Double(f64::from_bits(joined(operation, x.to_bits(), y.to_bits())?)),
        }),
        [Known::Single(x), Known::Single(y)] => Some(match operation {
            Operation::Add => Known::Single(x + y),
            Operation::Sub => Known::Single(x - y),
            Operation::Mul => Known::Single(x * y),
            Operation::Div => Known::Single(x / y),
            Operation::Min => Known::Single(if x < y { x } else { y }),
            Operation::Max => Known::Single(if y < x { x } else { y }),
            Operation::Lt => Known::Mask(x < y),
            Operation::Le => Known::Mask(x <= y),
            Operation::Same => Known::Mask(x == y),
            _ => {
                let bits = joined(operation, x.to_bits().into(), y.to_bits().into())?;
                Known::Single(f32::from_bits(bits as u32))
            }
        }),
        [Known::Double(x), Known::Double(y), Known::Double(z)] => match operation {
            Operation::MulAdd => Some(Known::Double(fused(x, y, z))),
            Operation::NegMulAdd => Some(Known::Double(fused(-x, y, z))),
            _ => None,
        },
        [Known::Single(x), Known::Single(y), Known::Single(z)] => match operation {
            Operation::MulAdd => Some(Known::Single(fused_single(x, y, z))),
            Operation::NegMulAdd => Some(Known::Single(fused_single(-x, y, z))),
            _ => None,
        },
        _ => None,
    }
}

/// The bits of a number of so many, shifted.
fn shifted(operation: Operation, bits: u64, width: u32) -> Option<u64> {
    match operation {
        Operation::Shl(by) if by < width => Some(bits << by),
        Operation::Shr(by) if by < width => Some(bits >> by),
        _ => None,
    }
}

/// The bits of two numbers, joined.
fn joined(operation: Operation, x: u64, y: u64) -> Option<u64> {
    Some(match operation {
        Operation::And => x & y,
        Operation::Or => x | y,
        Operation::Xor => x ^ y,
        Operation::NotAnd => !x & y,
        Operation::AddBits => x.wrapping_add(y),
        Operation::SubBits => x.wrapping_sub(y),
        _ => return None,
    })
}
