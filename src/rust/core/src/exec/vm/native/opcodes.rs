//! The instructions that ops of chains are made of, and which ops there are instructions for.

use super::assembler::{vector, vector_wide, Vector, LITERAL};
use super::chain::Op;
use super::expansion::formula;
use crate::dtype::DType;

/// Bytes of the largest vector; non-temporal stores are aligned to it.
pub const VECTOR: usize = 2 * LITERAL;

pub const LOAD: Vector = vector(0, 1, 0x10);
pub const STORE: Vector = vector(0, 1, 0x11);
pub const STORE_NONTEMPORAL: Vector = vector(0, 1, 0x2B);
pub const AND: Vector = vector(0, 1, 0x54);
pub const AND_NOT: Vector = vector(0, 1, 0x55);
pub const OR: Vector = vector(0, 1, 0x56);
pub const XOR: Vector = vector(0, 1, 0x57);
/// Converts integers of 4 bytes to singles.
pub const SINGLES: Vector = vector(0, 1, 0x5B);
/// Converts them to doubles.
pub const DOUBLES: Vector = vector(2, 1, 0xE6);
/// Selects by the highest bit of each byte of a fourth register.
pub const BLEND: Vector = vector(1, 3, 0x4C);
pub const ABSOLUTE_BYTES: Vector = vector(1, 2, 0x1C);
pub const UPPER_HALF: Vector = vector(1, 3, 0x39);

/// Instructions for elements of 1, 2, 4 and 8 bytes.
pub type ByWidth = [Option<Vector>; 4];
pub const SUB: ByWidth =
    [Some(vector(1, 1, 0xF8)), Some(vector(1, 1, 0xF9)), Some(vector(1, 1, 0xFA)), Some(vector(1, 1, 0xFB))];
pub const ADD: ByWidth =
    [Some(vector(1, 1, 0xFC)), Some(vector(1, 1, 0xFD)), Some(vector(1, 1, 0xFE)), Some(vector(1, 1, 0xD4))];
pub const MUL: ByWidth = [None, Some(vector(1, 1, 0xD5)), Some(vector(1, 2, 0x40)), None];
pub const EQ: ByWidth =
    [Some(vector(1, 1, 0x74)), Some(vector(1, 1, 0x75)), Some(vector(1, 1, 0x76)), Some(vector(1, 2, 0x29))];
pub const GT: ByWidth =
    [Some(vector(1, 1, 0x64)), Some(vector(1, 1, 0x65)), Some(vector(1, 1, 0x66)), Some(vector(1, 2, 0x37))];
pub const ABS: ByWidth = [Some(ABSOLUTE_BYTES), Some(vector(1, 2, 0x1D)), Some(vector(1, 2, 0x1E)), None];
pub const MAX: ByWidth = [Some(vector(1, 2, 0x3C)), Some(vector(1, 1, 0xEE)), Some(vector(1, 2, 0x3D)), None];
pub const MIN: ByWidth = [Some(vector(1, 2, 0x38)), Some(vector(1, 1, 0xEA)), Some(vector(1, 2, 0x39)), None];
pub const MAX_UNSIGNED: ByWidth =
    [Some(vector(1, 1, 0xDE)), Some(vector(1, 2, 0x3E)), Some(vector(1, 2, 0x3F)), None];
pub const MIN_UNSIGNED: ByWidth =
    [Some(vector(1, 1, 0xDA)), Some(vector(1, 2, 0x3A)), Some(vector(1, 2, 0x3B)), None];
/// Shifts by an amount for each element, taken as unsigned; there are none of bytes and of 2 bytes. The
/// arithmetic one of 8 bytes came with AVX-512.
pub const SHIFT_LEFT: ByWidth = [None, None, Some(vector(1, 2, 0x47)), Some(vector_wide(1, 2, true, 0x47))];
pub const SHIFT_RIGHT: ByWidth = [None, None, Some(vector(1, 2, 0x45)), Some(vector_wide(1, 2, true, 0x45))];
pub const SHIFT_RIGHT_SIGNED: ByWidth = [None, None, Some(vector(1, 2, 0x46)), None];

/// Predicates of float comparisons: ordered or unordered, and quiet.
pub const FLOAT_EQ: u8 = 0x00;
pub const FLOAT_NE: u8 = 0x04;
pub const FLOAT_LT: u8 = 0x11;
pub const FLOAT_LE: u8 = 0x12;

/// Complements of the ordered ones: true for NaN.
pub const FLOAT_NLT: u8 = 0x15;
pub const FLOAT_NLE: u8 = 0x16;

/// Rounding modes, without exceptions.
pub const NEAREST: u8 = 8;
pub const DOWN: u8 = 9;
pub const UP: u8 = 10;
pub const TO_ZERO: u8 = 11;

/// Whether there are instructions for an op on operands of this dtype: of the second one of a selection, and
/// of the one that is converted.
pub fn has(op: Op, dtype: DType) -> bool {
    let (float, boolean) = (matches!(dtype, DType::F32 | DType::F64), dtype == DType::I1);
    let integer = is_integer(dtype);
    match op {
        Op::Function(_) | Op::Function2(_) => float && formula(op, dtype).is_some(),
        Op::Step(_) | Op::NotStep(_) | Op::Guard(_) => false,
        Op::Add | Op::Mul | Op::Max | Op::Min => float || integer || boolean,
        Op::Sub | Op::Negate => float || integer,
        Op::Clamp | Op::Sign | Op::IsNan | Op::IsFinite | Op::IsInfinite => float,
        Op::MulNoNan | Op::Div | Op::Sqrt | Op::Floor | Op::Ceiling | Op::Trunc | Op::Round => float,
        Op::Abs => float || is_signed(dtype),
        Op::And | Op::Or | Op::Xor | Op::Not => integer || boolean,
        Op::ShiftLeft | Op::ShiftRight | Op::ShiftRightSigned => integer && dtype.bytes() >= 4,
        Op::Eq | Op::Ne | Op::Gt | Op::Ge | Op::Lt | Op::Le => float || integer,
        Op::Select => float || integer,
        Op::Convert(to) => {
            let widens = integer && dtype.bytes() < to.bytes();
            match to {
                DType::F32 => boolean || widens || dtype == DType::I32,
                // The instruction would take unsigned integers as signed.
                DType::F64 => boolean || widens && dtype != DType::UI32 || dtype == DType::F32,
                to => is_integer(to) && (boolean || widens),
            }
        }
    }
}

pub fn is_integer(dtype: DType) -> bool {
    is_signed(dtype) || matches!(dtype, DType::UI8 | DType::UI16 | DType::UI32 | DType::UI64)
}

pub fn is_signed(dtype: DType) -> bool {
    matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64)
}
