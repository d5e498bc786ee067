//! Conversions between floats of 16 bits and singles without a branch, so that loops over them become vectors.
//!
//! Those of the crate `half` look up what the processor has for each element and call: 3 to 6 ns. The results are
//! the same bits: nearest, ties to even; a NaN keeps its sign and the first bits of its payload and is quiet.

use half::{bf16, f16};

const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;
const QUIET: u32 = 0x0040_0000;

/// A float of 16 bits, as singles know it.
pub(super) trait Half: Copy {
    /// The single of the same value.
    fn single(self) -> f32;
    /// The nearest to a single.
    fn nearest(x: f32) -> Self;
}

impl Half for bf16 {
    #[inline(always)]
    fn single(self) -> f32 {
        let bits = u32::from(self.to_bits()) << 16;
        let is_nan = bits & !SIGN > INFINITY;
        f32::from_bits(if is_nan { bits | QUIET } else { bits })
    }

    #[inline(always)]
    fn nearest(x: f32) -> bf16 {
        let bits = x.to_bits();
        let is_odd = bits >> 16 & 1;
        let number = bits.wrapping_add(0x7fff + is_odd);
        let is_nan = bits & !SIGN > INFINITY;
        bf16::from_bits(((if is_nan { bits | QUIET } else { number }) >> 16) as u16)
    }
}

/// Rounds to odd: an inexact result ends in an odd bit, so that it is neither a float of 16 bits nor halfway between
/// two, and rounds to one as the double itself does. By way of the nearest single it would be rounded twice.
#[inline(always)]
pub(super) fn odd(x: f64) -> f32 {
    let nearest = x as f32;
    let back = f64::from(nearest);
    // The next single towards zero if the nearest is beyond; for infinity that is the largest single.
    let below = nearest.to_bits().wrapping_sub(u32::from(back.abs() > x.abs()));
    let is_exact = back == x || x.is_nan();
    f32::from_bits(if is_exact { nearest.to_bits() } else { below | 1 })
}

/// Low bits of a large integer, for which one bit stands that says whether any of them is set: what is left has no
/// more than 53 bits, those of a double, and its ties are those of the integer.
const LOW: u32 = 12;

macro_rules! odd_whole {
    ($name:ident $type:ty) => {
        /// As [`odd`], of an integer, which a double need not hold.
        #[inline(always)]
        pub(super) fn $name(x: $type) -> f32 {
            let low = x & ((1 << LOW) - 1);
            let large = (x - low) | <$type>::from(low != 0) << (LOW - 1);
            let is_small = x.abs_diff(0) < 1 << (2 * LOW);
            odd((if is_small { x } else { large }) as f64)
        }
    };
}
odd_whole! { odd_signed i64 }
odd_whole! { odd_unsigned u64 }

/// Bits of the significand that `f16` has less than `f32`.
const LOST: u32 = 13;

/// `2^112`: the exponents of the two types are `112` apart.
const APART: f32 = f32::from_bits((127 + 112) << 23);

/// The bits of `2^16`, from which on all is infinite. What lies between 65,520 and this carries into the exponent, and
/// so has become infinite.
const TOO_LARGE: u32 = (127 + 16) << 23;

/// The bits of `2^-14`, the smallest normal `f16`.
const NORMAL: u32 = (127 - 14) << 23;

impl Half for f16 {
    #[inline(always)]
    fn single(self) -> f32 {
        let bits = u32::from(self.to_bits());
        let (sign, size) = (bits << 16 & SIGN, (bits & 0x7fff) << LOST);
        // Also of subnormal numbers, which a multiplication makes normal.
        let number = (f32::from_bits(size) * APART).to_bits();
        let special = size | INFINITY;
        let is_number = size < 0x7c00 << LOST;
        let is_nan = size > 0x7c00 << LOST;
        f32::from_bits(sign | if is_number { number } else { special } | if is_nan { QUIET } else { 0 })
    }

    #[inline(always)]
    fn nearest(x: f32) -> f16 {
        let bits = x.to_bits();
        let (sign, size) = (bits >> 16 & 0x8000, bits & !SIGN);
        let is_odd = size >> LOST & 1;
        let number = size.wrapping_sub(112 << 23).wrapping_add(0xfff + is_odd) >> LOST;
        // The units in the last place of 0.5 are those of a subnormal f16.
        let subnormal = (f32::from_bits(size) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
        let nan = 0x7e00 | size >> LOST & 0x3ff;
        let number = if size < NORMAL { subnormal } else { number };
        let number = if size < TOO_LARGE { number } else { 0x7c00 };
        f16::from_bits((sign | if size > INFINITY { nan } else { number }) as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_floats_of_16_bits_become_the_singles_of_half() {
        for bits in 0..=u16::MAX {
            let (x, y) = (bf16::from_bits(bits), f16::from_bits(bits));
            assert_eq!(x.single().to_bits(), x.to_f32().to_bits(), "bf16 {bits:#x}");
            assert_eq!(y.single().to_bits(), y.to_f32().to_bits(), "f16 {bits:#x}");
        }
    }

    /// An integer rounded to so many bits, by definition.
    fn rounded(x: i128, digits: u32) -> f64 {
        let size = x.unsigned_abs();
        let excess = (u128::BITS - size.leading_zeros()).saturating_sub(digits);
        let (kept, unit) = (size >> excess, 1 << excess);
        let lost = size - (kept << excess);
        let is_up = 2 * lost > unit || 2 * lost == unit && kept & 1 == 1;
        ((kept + u128::from(is_up)) << excess) as f64 * x.signum() as f64
    }

    #[test]
    fn integers_round_once() {
        let both = |x: i128, y: f32| {
            assert_eq!(f64::from(bf16::nearest(y)), rounded(x, bf16::MANTISSA_DIGITS), "bf16 of {x}");
            let expected = rounded(x, f16::MANTISSA_DIGITS);
            let expected = if expected.abs() < 65536.0 { expected } else { f64::INFINITY.copysign(expected) };
            assert_eq!(f64::from(f16::nearest(y)), expected, "f16 of {x}");
        };
        let signed = |x: i64| both(x.into(), odd_signed(x));
        let unsigned = |x: u64| both(x.into(), odd_unsigned(x));
        for bit in 0..64 {
            for part in [0u64, 1, 2, 3, 5, 7] {
                // Halfway between two numbers of 8 and of 11 bits, and beside that.
                for shift in [8, 11] {
                    let first = (1u64 << bit) + (u128::from(part) << bit >> (shift - 1)) as u64;
                    let middle = first + (1 << bit >> shift);
                    for near in [middle.wrapping_sub(1), middle, middle.wrapping_add(1)] {
                        unsigned(near);
                        signed(near as i64);
                        signed((near as i64).wrapping_neg());
                    }
                }
            }
        }
        [i64::MIN, i64::MAX, 0, -1].into_iter().for_each(signed);
        unsigned(u64::MAX);
    }

    #[test]
    fn singles_round_as_those_of_half() {
        let check = |bits: u32| {
            let x = f32::from_bits(bits);
            assert_eq!(bf16::nearest(x).to_bits(), bf16::from_f32(x).to_bits(), "bf16 of {bits:#x}");
            assert_eq!(f16::nearest(x).to_bits(), f16::from_f32(x).to_bits(), "f16 of {bits:#x}");
        };
        // Every exponent with every pattern of the bits that decide, and its neighbours: ties, carries, thresholds.
        for high in 0..=u16::MAX {
            for low in [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff] {
                check(u32::from(high) << 16 | low);
            }
        }
        for at in [0x0fff, 0x1000, 0x1001, 0x1fff, 0x2000, 0x3000] {
            (0..=u32::MAX >> (LOST + 1)).for_each(|high| check(high << (LOST + 1) | at));
        }
        (0..=u32::MAX).step_by(99_991).for_each(check);
    }
}
