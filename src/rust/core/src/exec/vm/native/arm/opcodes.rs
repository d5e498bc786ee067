//! The instructions that ops of chains are made of, without their registers; on elements of 1, 2, 4 and 8 bytes by
//! [`Vector::of`]. Those of floats are of singles.

use super::assembler::Vector::{self, One, Two};
use super::assembler::LITERAL;

/// Bytes of the largest vector.
pub const VECTOR: usize = LITERAL;

/// Whether there are stores that go past the caches: those of this processor are a hint, and of pairs.
pub const STORES_PAST: bool = false;

/// Moves a vector, or loads it.
pub const LOAD: Vector = Vector::Load;
pub const STORE: Vector = Vector::Store;

pub const AND: Vector = Two(0x4E20_1C00);
/// The first and not the second.
pub const AND_NOT: Vector = Two(0x4E60_1C00);
pub const OR: Vector = Two(0x4EA0_1C00);
pub const XOR: Vector = Two(0x6E20_1C00);
pub const NOT: Vector = One(0x6E20_5800);
/// The first where the destination is set, else the second.
pub const SELECT: Vector = Two(0x6E60_1C00);
/// The first where the second is set, else the destination.
pub const INSERT: Vector = Two(0x6EA0_1C00);
/// The first where the second is not set, else the destination.
pub const INSERT_NOT: Vector = Two(0x6EE0_1C00);

pub const ADD: Vector = Two(0x4E20_8400);
pub const SUB: Vector = Two(0x6E20_8400);
/// Not of 8 bytes, nor are [`MAX`] and the others of its kind.
pub const MUL: Vector = Two(0x4E20_9C00);
pub const EQ: Vector = Two(0x6E20_8C00);
pub const GT: Vector = Two(0x4E20_3400);
pub const GE: Vector = Two(0x4E20_3C00);
pub const GT_UNSIGNED: Vector = Two(0x6E20_3400);
pub const GE_UNSIGNED: Vector = Two(0x6E20_3C00);
pub const MAX: Vector = Two(0x4E20_6400);
pub const MIN: Vector = Two(0x4E20_6C00);
pub const MAX_UNSIGNED: Vector = Two(0x6E20_6400);
pub const MIN_UNSIGNED: Vector = Two(0x6E20_6C00);
/// Shifts by the signed lowest byte of each element, to the right if it is negative.
pub const SHIFT: Vector = Two(0x6E20_4400);
pub const SHIFT_SIGNED: Vector = Two(0x4E20_4400);
pub const NEGATE: Vector = One(0x6E20_B800);
pub const ABS: Vector = One(0x4E20_B800);
/// The words of each element of 8 bytes, exchanged.
pub const EXCHANGE: Vector = One(0x4EA0_0800);
/// Sums of neighbouring words, of 8 bytes.
pub const ADD_PAIRS: Vector = One(0x6EA0_2800);
/// Adds products of the words of the lower halves, of 8 bytes.
pub const ADD_PRODUCTS: Vector = Two(0x2EA0_8000);
/// The lower halves of elements that are twice as wide as those of its size, in the lower half of the vector.
pub const NARROW: Vector = One(0x0E21_2800);

pub const FLOAT_ADD: Vector = Two(0x4E20_D400);
pub const FLOAT_SUB: Vector = Two(0x4EA0_D400);
pub const FLOAT_MUL: Vector = Two(0x6E20_DC00);
pub const FLOAT_DIV: Vector = Two(0x6E20_FC00);
/// Adds a product to the destination, rounded once; or subtracts it.
pub const MUL_ADD: Vector = Two(0x4E20_CC00);
pub const MUL_SUB: Vector = Two(0x4EA0_CC00);
pub const FLOAT_EQ: Vector = Two(0x4E20_E400);
pub const FLOAT_GE: Vector = Two(0x6E20_E400);
pub const FLOAT_GT: Vector = Two(0x6EA0_E400);
pub const SQRT: Vector = One(0x6EA1_F800);
pub const NEAREST: Vector = One(0x4E21_8800);
pub const DOWN: Vector = One(0x4E21_9800);
pub const UP: Vector = One(0x4EA1_8800);
pub const TO_ZERO: Vector = One(0x4EA1_9800);
/// Signed integers as floats of their width.
pub const FLOATS: Vector = One(0x4E21_D800);
/// Doubles of the lower or of the upper half of a vector of singles, and back.
pub const WIDEN: Vector = One(0x0E61_7800);
pub const WIDEN_UPPER: Vector = One(0x4E61_7800);
pub const SINGLES: Vector = One(0x0E61_6800);
pub const SINGLES_UPPER: Vector = One(0x4E61_6800);

/// Repeats the first element, of so many bytes.
pub fn repeat(bytes: usize) -> Vector {
    One(0x4E00_0400 | (bytes as u32) << 16)
}

/// Puts the first element, of so many bytes, into a lane.
pub fn insert(bytes: usize, lane: usize) -> Vector {
    One(0x6E00_0400 | (((2 * lane + 1) * bytes) as u32) << 16)
}

/// Products of the lower or of the upper words without a sign, of 8 bytes.
pub const PRODUCTS: Vector = Two(0x2EA0_C000);
pub const PRODUCTS_UPPER: Vector = Two(0x6EA0_C000);
/// The even words of both operands.
pub const EVEN: Vector = Two(0x4E80_1800);
/// The odd words of both operands.
pub const ODD: Vector = Two(0x4E80_5800);
/// Words of the upper half as integers of 8 bytes.
pub const EXTEND_UPPER: Vector = One(0x4F20_A400);
/// Doubles as integers of 8 bytes, rounded toward zero.
pub const INTEGERS: Vector = One(0x4EE1_B800);
/// As [`NARROW`], in the upper half, of integers of 8 bytes.
pub const NARROW_UPPER: Vector = One(0x4EA1_2800);

/// Shifts elements of so many bits by a number.
pub fn shift_left(bits: u32, by: u32) -> Vector {
    One(0x4F00_5400 | (bits + by) << 16)
}

/// As [`shift_left`], by one bit at least.
pub fn shift_right(bits: u32, by: u32) -> Vector {
    One(0x6F00_0400 | (2 * bits - by) << 16)
}

/// The elements of so many bytes in the lower half of a vector, twice as wide.
pub fn extend(bytes: usize, signed: bool) -> Vector {
    One(if signed { 0x0F00_A400 } else { 0x2F00_A400 } | (8 * bytes as u32) << 16)
}
