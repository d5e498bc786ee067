//! The instructions that ops of chains are made of, and which ops there are instructions for.

use super::assembler::{vector, vector_wide, Vector, LITERAL};
use crate::dtype::DType;
use crate::exec::vm::native::coverage::is_signed;

/// Bytes of the largest vector; non-temporal stores are aligned to it.
pub const VECTOR: usize = 2 * LITERAL;

/// Whether there are stores that go past the caches.
pub const STORES_PAST: bool = true;

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
pub const FLOAT_UNORDERED: u8 = 0x03;
pub const FLOAT_NE: u8 = 0x04;
pub const FLOAT_ORDERED: u8 = 0x07;
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

/// Integers of a dtype as such of more bytes, up to 8.
pub fn extension(from: DType, width: usize) -> Vector {
    let by = match (from.bytes(), width) {
        (1, 2) => 0,
        (1, 4) => 1,
        (1, _) => 2,
        (2, 4) => 3,
        (2, _) => 4,
        _ => 5,
    };
    vector(1, 2, if is_signed(from) { 0x20 } else { 0x30 } + by)
}
