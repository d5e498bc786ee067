//! Lanes in plain Rust, for all other processors.

use super::lanes::{Lanes, Paired, Singles, Wide};
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Not, Sub};

/// Four singles: a vector of the processors that come here. Of more the code would be as many times longer.
#[derive(Clone, Copy)]
pub(super) struct F32x4([f32; 4]);

/// Two doubles.
#[derive(Clone, Copy)]
pub(super) struct F64x2([f64; 2]);

/// Masks: all bits of a lane, or none. The compiler vectorises these, and not booleans.
#[derive(Clone, Copy)]
pub(super) struct Mask32x4([u32; 4]);
#[derive(Clone, Copy)]
pub(super) struct Mask64x2([u64; 2]);

/// Whether `f32::mul_add` and `f64::mul_add` are one instruction; elsewhere they are a function of the
/// system's library, which is slow, and on some systems wrong (`libm::fma` is slow).
const HAS_FUSED: bool = cfg!(any(
    target_feature = "fma",
    target_arch = "aarch64",
    target_arch = "powerpc64",
    target_arch = "riscv64",
    target_arch = "s390x"
));

/// `x * y + z`, rounded once, with or without an instruction for it.
#[inline]
pub fn fused(x: f64, y: f64, z: f64) -> f64 {
    let [made] = fused64([x], [y], [z]);
    made
}

/// As [`fused`], of singles.
#[inline]
pub fn fused_single(x: f32, y: f32, z: f32) -> f32 {
    let [made] = fused32([x], [y], [z]);
    made
}

/// `x * y + z`, each rounded once.
#[inline(always)]
fn fused32<const N: usize>(x: [f32; N], y: [f32; N], z: [f32; N]) -> [f32; N] {
    if HAS_FUSED {
        std::array::from_fn(|i| x[i].mul_add(y[i], z[i]))
    } else {
        emulated32(x, y, z)
    }
}

/// `x * y + z`, each rounded once.
#[inline(always)]
fn fused64<const N: usize>(x: [f64; N], y: [f64; N], z: [f64; N]) -> [f64; N] {
    if HAS_FUSED {
        std::array::from_fn(|i| x[i].mul_add(y[i], z[i]))
    } else {
        emulated64(x, y, z)
    }
}

/// [`fused32`] without the instruction. It is called, as its code in each place where a function has such a
/// product would be more than all other code together, and takes longer than the call.
#[inline(never)]
fn emulated32<const N: usize>(x: [f32; N], y: [f32; N], z: [f32; N]) -> [f32; N] {
    // The product is exact; the sum is made odd where it is not, so that it rounds to a single as the exact
    // sum would.
    std::array::from_fn(|i| odd_sum(f64::from(x[i]) * f64::from(y[i]), f64::from(z[i])) as f32)
}

/// The rounded sum and its rounding error (two-sum, Knuth).
#[inline(always)]
fn two_sum(x: f64, y: f64) -> (f64, f64) {
    let sum = x + y;
    let kept = sum - x;
    (sum, (x - (sum - kept)) + (y - kept))
}

/// The sum of two doubles, rounded to odd: an inexact sum ends in a set bit.
#[inline(always)]
fn odd_sum(x: f64, y: f64) -> f64 {
    let (sum, lost) = two_sum(x, y);
    let bits = sum.to_bits();
    // The exact sum lies on the side of `lost`: 1 or -1.
    let toward = 1 | all_bits((lost > 0.0) != (sum > 0.0));
    // What is lost is NaN where the sum is no number.
    let is_inexact = all_bits((lost < 0.0) | (lost > 0.0));
    let is_even = (bits & 1).wrapping_sub(1);
    f64::from_bits(bits.wrapping_add(toward & is_inexact & is_even))
}

/// A truth value as a mask, which needs no branch.
#[inline(always)]
fn all_bits(is: bool) -> u64 {
    u64::from(is).wrapping_neg()
}

/// [`fused64`] without the instruction, called as [`emulated32`] is. Source: Boldo, Melquiond (2008),
/// Emulation of a FMA and correctly rounded sums.
#[inline(never)]
fn emulated64<const N: usize>(x: [f64; N], y: [f64; N], z: [f64; N]) -> [f64; N] {
    inline_emulated64(x, y, z)
}

/// The code of [`emulated64`].
#[inline(always)]
fn inline_emulated64<const N: usize>(x: [f64; N], y: [f64; N], z: [f64; N]) -> [f64; N] {
    // Operands whose intermediate results neither overflow nor underflow.
    let is_safe = |v: f64, least: f64, most: f64| (v.abs() >= least) & (v.abs() <= most) | (v == 0.0);
    let safe =
        |i: usize| is_safe(x[i], 1e-120, 1e120) & is_safe(y[i], 1e-120, 1e120) & is_safe(z[i], 1e-240, 1e240);
    if (0..N).fold(0, |unsafe_lanes, i| unsafe_lanes | all_bits(!safe(i))) != 0 {
        return std::array::from_fn(|i| libm::fma(x[i], y[i], z[i]));
    }
    // The product and its rounding error, of factors split in two floats (Dekker, Veltkamp).
    let split = |v: f64| {
        let scaled = v * 134217729.0;
        let high = scaled - (scaled - v);
        (high, v - high)
    };
    std::array::from_fn(|i| {
        let (x, y, z) = (x[i], y[i], z[i]);
        let ((xh, xl), (yh, yl)) = (split(x), split(y));
        let high = x * y;
        let low = xl * yl - (((high - xh * yh) - xl * yh) - xh * yl);
        let (rest, tiny) = two_sum(z, low);
        let (sum, lost) = two_sum(high, rest);
        // Of a product that is 0 the sum above may have lost the sign.
        let is_zero = all_bits(high == 0.0);
        let (if_zero, if_not) = ((high + z).to_bits(), (sum + odd_sum(tiny, lost)).to_bits());
        f64::from_bits((if_zero & is_zero) | (if_not & !is_zero))
    })
}

/// [`Lanes::horner`] of doubles: called as a whole, which is one call in place of one for each coefficient.
/// For singles that takes longer.
#[inline(never)]
fn horner64<const N: usize>(x: [f64; N], coefficients: &[f64]) -> [f64; N] {
    let terms = coefficients.iter().rev().map(|&c| [c; N]);
    terms.reduce(|sum, c| either64(sum, x, c)).expect("a polynomial has coefficients")
}

/// As [`horner64`], [`Lanes::polynomial`].
#[inline(never)]
fn polynomial64<const N: usize>(x: [f64; N], coefficients: &[f64]) -> [f64; N] {
    let square = x.map(|x| x * x);
    let fourth = square.map(|x| x * x);
    // The polynomials of pairs, then of fours, then of all.
    let mut terms: [[f64; N]; MOST] = [[0.0; N]; MOST];
    let mut count = 0;
    for pair in coefficients.chunks(2) {
        terms[count] =
            pair.iter().rev().map(|&c| [c; N]).reduce(|high, low| either64(high, x, low)).expect("one");
        count += 1;
    }
    let mut fours = 0;
    for at in (0..count).step_by(2) {
        let low = terms[at];
        terms[fours] = if at + 1 < count { either64(terms[at + 1], square, low) } else { low };
        fours += 1;
    }
    let terms = terms[..fours].iter().rev().copied();
    terms.reduce(|sum, four| either64(sum, fourth, four)).expect("a polynomial has coefficients")
}

/// Pairs of coefficients, at most.
const MOST: usize = 16;

/// [`fused64`], or its emulation.
#[inline(always)]
fn either64<const N: usize>(x: [f64; N], y: [f64; N], z: [f64; N]) -> [f64; N] {
    if HAS_FUSED {
        fused64(x, y, z)
    } else {
        inline_emulated64(x, y, z)
    }
}

/// An array of what an expression is at each index.
macro_rules! written {
    ([$($at:literal)+], $i:ident => $element:expr) => {
        [$({
            const $i: usize = $at;
            $element
        }),+]
    };
    (any [$($at:literal)+], $array:expr) => {
        0 $(| $array[$at])+
    };
}

/// All methods of a vector type and its masks, element by element. Each element is written out: functions of arrays
/// are loops that the compiler would have to unroll wherever there is an operation.
macro_rules! lanes {
    ($vector:ident, $mask:ident, $n:literal, $i:tt, $scalar:ident, $bits:ident, $double:literal, $fused:ident
     $(, $horner:ident, $polynomial:ident)?) => {
        impl $vector {
            #[inline(always)]
            fn zip(self, y: Self, f: impl Fn($scalar, $scalar) -> $scalar) -> Self {
                Self(written!($i, I => f(self.0[I], y.0[I])))
            }
            #[inline(always)]
            fn zip_bits(self, y: Self, f: impl Fn($bits, $bits) -> $bits) -> Self {
                self.zip(y, |x, y| $scalar::from_bits(f(x.to_bits(), y.to_bits())))
            }
            #[inline(always)]
            fn test(self, y: Self, f: impl Fn($scalar, $scalar) -> bool) -> $mask {
                $mask(written!($i, I => if f(self.0[I], y.0[I]) { $bits::MAX } else { 0 }))
            }
        }
        impl BitAnd for $mask {
            type Output = Self;
            #[inline(always)]
            fn bitand(self, y: Self) -> Self {
                Self(written!($i, I => self.0[I] & y.0[I]))
            }
        }
        impl BitOr for $mask {
            type Output = Self;
            #[inline(always)]
            fn bitor(self, y: Self) -> Self {
                Self(written!($i, I => self.0[I] | y.0[I]))
            }
        }
        impl Not for $mask {
            type Output = Self;
            #[inline(always)]
            fn not(self) -> Self {
                Self(written!($i, I => !self.0[I]))
            }
        }
        impl Add for $vector {
            type Output = Self;
            #[inline(always)]
            fn add(self, y: Self) -> Self {
                self.zip(y, |x, y| x + y)
            }
        }
        impl Sub for $vector {
            type Output = Self;
            #[inline(always)]
            fn sub(self, y: Self) -> Self {
                self.zip(y, |x, y| x - y)
            }
        }
        impl Mul for $vector {
            type Output = Self;
            #[inline(always)]
            fn mul(self, y: Self) -> Self {
                self.zip(y, |x, y| x * y)
            }
        }
        impl Div for $vector {
            type Output = Self;
            #[inline(always)]
            fn div(self, y: Self) -> Self {
                self.zip(y, |x, y| x / y)
            }
        }
        impl Lanes for $vector {
            type Scalar = $scalar;
            type Mask = $mask;
            const LANES: usize = $n;
            const DOUBLE: bool = $double;
            #[inline(always)]
            fn of(x: f64) -> Self {
                Self([x as $scalar; $n])
            }
            #[inline(always)]
            fn of_bits(x: u64) -> Self {
                Self([$scalar::from_bits(x as $bits); $n])
            }
            #[inline(always)]
            fn load(x: &[$scalar]) -> Self {
                Self(written!($i, I => x[I]))
            }
            #[inline(always)]
            fn store(self, out: &mut [$scalar]) {
                out[..$n].copy_from_slice(&self.0);
            }
            #[inline(always)]
            fn mul_add(self, y: Self, z: Self) -> Self {
                Self($fused(self.0, y.0, z.0))
            }
            #[inline(always)]
            fn neg_mul_add(self, y: Self, z: Self) -> Self {
                Self($fused(written!($i, I => -self.0[I]), y.0, z.0))
            }
            $(
                #[inline(always)]
                fn horner<const N: usize>(self, coefficients: &[f64; N]) -> Self {
                    Self($horner(self.0, coefficients))
                }
                #[inline(always)]
                fn polynomial<const N: usize>(self, coefficients: &[f64; N]) -> Self {
                    Self($polynomial(self.0, coefficients))
                }
            )?
            #[inline(always)]
            fn sqrt(self) -> Self {
                Self(written!($i, I => self.0[I].sqrt()))
            }
            #[inline(always)]
            fn lt(self, y: Self) -> $mask {
                self.test(y, |x, y| x < y)
            }
            #[inline(always)]
            fn le(self, y: Self) -> $mask {
                self.test(y, |x, y| x <= y)
            }
            #[inline(always)]
            fn same(self, y: Self) -> $mask {
                self.test(y, |x, y| x == y)
            }
            #[inline(always)]
            fn select(mask: $mask, x: Self, y: Self) -> Self {
                let pick = |i: usize| (x.0[i].to_bits() & mask.0[i]) | (y.0[i].to_bits() & !mask.0[i]);
                Self(written!($i, I => $scalar::from_bits(pick(I))))
            }
            #[inline(always)]
            fn any(mask: $mask) -> bool {
                written!(any $i, mask.0) != 0
            }
            #[inline(always)]
            fn and(self, y: Self) -> Self {
                self.zip_bits(y, |x, y| x & y)
            }
            #[inline(always)]
            fn or(self, y: Self) -> Self {
                self.zip_bits(y, |x, y| x | y)
            }
            #[inline(always)]
            fn xor(self, y: Self) -> Self {
                self.zip_bits(y, |x, y| x ^ y)
            }
            #[inline(always)]
            fn not_and(self, y: Self) -> Self {
                self.zip_bits(y, |x, y| !x & y)
            }
            #[inline(always)]
            fn add_bits(self, y: Self) -> Self {
                self.zip_bits(y, $bits::wrapping_add)
            }
            #[inline(always)]
            fn sub_bits(self, y: Self) -> Self {
                self.zip_bits(y, $bits::wrapping_sub)
            }
            #[inline(always)]
            fn shl(self, by: u32) -> Self {
                self.zip_bits(self, |x, _| x << by)
            }
            #[inline(always)]
            fn shr(self, by: u32) -> Self {
                self.zip_bits(self, |x, _| x >> by)
            }
        }
    };
}
lanes! { F32x4, Mask32x4, 4, [0 1 2 3], f32, u32, false, fused32 }
lanes! { F64x2, Mask64x2, 2, [0 1], f64, u64, true, fused64, horner64, polynomial64 }

impl Paired for F32x4 {
    #[inline(always)]
    fn weave(self, y: Self) -> (Self, Self) {
        let ([a, b, c, d], [x, y, z, w]) = (self.0, y.0);
        (Self([a, x, b, y]), Self([c, z, d, w]))
    }
    #[inline(always)]
    fn unweave(self, y: Self) -> (Self, Self) {
        let ([a, b, c, d], [x, y, z, w]) = (self.0, y.0);
        (Self([a, c, x, z]), Self([b, d, y, w]))
    }
}

impl Paired for F64x2 {
    #[inline(always)]
    fn weave(self, y: Self) -> (Self, Self) {
        let ([a, b], [x, y]) = (self.0, y.0);
        (Self([a, x]), Self([b, y]))
    }
    #[inline(always)]
    fn unweave(self, y: Self) -> (Self, Self) {
        self.weave(y)
    }
}

impl Wide for F64x2 {
    #[inline(always)]
    fn of_singles(x: &[f32]) -> Self {
        Self([f64::from(x[0]), f64::from(x[1])])
    }
    #[inline(always)]
    fn totals(x: &[Self]) -> Self {
        let sum = |Self([a, b]): Self| a + b;
        Self([sum(x[0]), sum(x[1])])
    }
}

impl Singles for F32x4 {
    type Double = F64x2;
    // Calls stand between one fused product and the next.
    const TOGETHER: bool = false;
    #[inline(always)]
    fn widen(self) -> (F64x2, F64x2) {
        let [a, b, c, d] = self.0;
        (F64x2([f64::from(a), f64::from(b)]), F64x2([f64::from(c), f64::from(d)]))
    }
    #[inline(always)]
    fn narrow(F64x2([a, b]): F64x2, F64x2([c, d]): F64x2) -> Self {
        Self([a as f32, b as f32, c as f32, d as f32])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fused_products_round_once() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state ^ (state >> 29)
        };
        for i in 0..200_000 {
            let mut double =
                || f64::from_bits((next() & 0x800f_ffff_ffff_ffff) | ((next() % 120 + 960) << 52));
            let (x, y) = (double(), double());
            let z = if i % 2 == 0 { double() } else { -x * y * (1.0 + double() * 1e-12) };
            assert_eq!(
                fused64([x], [y], [z])[0].to_bits(),
                libm::fma(x, y, z).to_bits(),
                "{x:e} {y:e} {z:e}"
            );
            let mut single =
                || f32::from_bits((next() as u32 & 0x807f_ffff) | ((next() % 60 + 100) as u32) << 23);
            let (x, y) = (single(), single());
            let z = if i % 2 == 0 { single() } else { -x * y };
            assert_eq!(
                fused32([x], [y], [z])[0].to_bits(),
                libm::fmaf(x, y, z).to_bits(),
                "{x:e} {y:e} {z:e}"
            );
        }
    }
}
