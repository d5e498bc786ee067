//! Lanes in plain Rust, for processors of which nothing else is known.

use super::lanes::{Lanes, Singles};
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Not, Sub};

/// Eight singles.
#[derive(Clone, Copy)]
pub(super) struct F32x8([f32; 8]);

/// Four doubles: enough that one need not wait for the other, as emulated fused operations take long.
#[derive(Clone, Copy)]
pub(super) struct F64x4([f64; 4]);

/// Truth values.
#[derive(Clone, Copy)]
pub(super) struct Mask<const N: usize>([bool; N]);

impl<const N: usize> BitAnd for Mask<N> {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, y: Self) -> Self {
        Mask(std::array::from_fn(|i| self.0[i] & y.0[i]))
    }
}

impl<const N: usize> BitOr for Mask<N> {
    type Output = Self;
    #[inline(always)]
    fn bitor(self, y: Self) -> Self {
        Mask(std::array::from_fn(|i| self.0[i] | y.0[i]))
    }
}

impl<const N: usize> Not for Mask<N> {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        Mask(self.0.map(|x| !x))
    }
}

/// Whether `f32::mul_add` and `f64::mul_add` are one instruction; elsewhere they are a function of the system's library,
/// which is slow, and on some systems wrong.
const HAS_FUSED: bool =
    cfg!(any(target_feature = "fma", target_arch = "aarch64", target_arch = "powerpc64", target_arch = "riscv64", target_arch = "s390x"));

/// `x * y + z`, each rounded once.
#[inline(always)]
fn fused32<const N: usize>(x: [f32; N], y: [f32; N], z: [f32; N]) -> [f32; N] {
    if HAS_FUSED {
        return std::array::from_fn(|i| x[i].mul_add(y[i], z[i]));
    }
    // The product is exact; the sum is made odd where it is not, so that it rounds to a single as the exact sum would.
    std::array::from_fn(|i| odd_sum(f64::from(x[i]) * f64::from(y[i]), f64::from(z[i])) as f32)
}

/// The rounded sum, and what the rounding lost.
#[inline(always)]
fn two_sum(x: f64, y: f64) -> (f64, f64) {
    let sum = x + y;
    let kept = sum - x;
    (sum, (x - (sum - kept)) + (y - kept))
}

/// The sum of two doubles, rounded to the nearer neighbour in size whose last bit is set unless it is exact.
#[inline(always)]
fn odd_sum(x: f64, y: f64) -> f64 {
    let (sum, lost) = two_sum(x, y);
    let bits = sum.to_bits();
    // The exact sum lies on the side of `lost`; that is NaN where the sum is no number.
    let toward = if (lost > 0.0) == (sum > 0.0) { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    let is_exact = lost == 0.0 || lost.is_nan() || bits & 1 == 1;
    f64::from_bits(if is_exact { bits } else { toward })
}

/// `x * y + z`, each rounded once. Source: Boldo, Melquiond (2008), Emulation of a FMA and correctly rounded sums.
#[inline(always)]
fn fused64<const N: usize>(x: [f64; N], y: [f64; N], z: [f64; N]) -> [f64; N] {
    // Sizes of which no intermediate result overflows or vanishes.
    let is_safe = |v: f64, least: f64, most: f64| (v.abs() >= least) & (v.abs() <= most) | (v == 0.0);
    let mut all_safe = !HAS_FUSED;
    for i in 0..N {
        all_safe &= is_safe(x[i], 1e-120, 1e120) & is_safe(y[i], 1e-120, 1e120) & is_safe(z[i], 1e-240, 1e240);
    }
    if !all_safe {
        return std::array::from_fn(|i| x[i].mul_add(y[i], z[i]));
    }
    // The product in two parts, of factors in two parts (Dekker, Veltkamp).
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
        if high == 0.0 { high + z } else { sum + odd_sum(tiny, lost) }
    })
}

/// All methods of a vector type, element by element.
macro_rules! lanes {
    ($vector:ident, $n:literal, $scalar:ident, $bits:ident, $double:literal, $fused:ident) => {
        impl $vector {
            #[inline(always)]
            fn zip(self, y: Self, f: impl Fn($scalar, $scalar) -> $scalar) -> Self {
                Self(std::array::from_fn(|i| f(self.0[i], y.0[i])))
            }
            #[inline(always)]
            fn zip_bits(self, y: Self, f: impl Fn($bits, $bits) -> $bits) -> Self {
                self.zip(y, |x, y| $scalar::from_bits(f(x.to_bits(), y.to_bits())))
            }
            #[inline(always)]
            fn test(self, y: Self, f: impl Fn($scalar, $scalar) -> bool) -> Mask<$n> {
                Mask(std::array::from_fn(|i| f(self.0[i], y.0[i])))
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
            type Mask = Mask<$n>;
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
                Self(std::array::from_fn(|i| x[i]))
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
                Self($fused(self.0.map(|x| -x), y.0, z.0))
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                Self(self.0.map($scalar::sqrt))
            }
            #[inline(always)]
            fn lt(self, y: Self) -> Mask<$n> {
                self.test(y, |x, y| x < y)
            }
            #[inline(always)]
            fn le(self, y: Self) -> Mask<$n> {
                self.test(y, |x, y| x <= y)
            }
            #[inline(always)]
            fn same(self, y: Self) -> Mask<$n> {
                self.test(y, |x, y| x == y)
            }
            #[inline(always)]
            fn select(mask: Mask<$n>, x: Self, y: Self) -> Self {
                Self(std::array::from_fn(|i| if mask.0[i] { x.0[i] } else { y.0[i] }))
            }
            #[inline(always)]
            fn any(mask: Mask<$n>) -> bool {
                mask.0.contains(&true)
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
lanes! { F32x8, 8, f32, u32, false, fused32 }
lanes! { F64x4, 4, f64, u64, true, fused64 }

impl Singles for F32x8 {
    type Double = F64x4;
    #[inline(always)]
    fn widen(self) -> (F64x4, F64x4) {
        let from = |start: usize| F64x4(std::array::from_fn(|i| self.0[start + i].into()));
        (from(0), from(4))
    }
    #[inline(always)]
    fn narrow(low: F64x4, high: F64x4) -> Self {
        Self(std::array::from_fn(|i| (if i < 4 { low.0[i] } else { high.0[i - 4] }) as f32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fused_products_round_once() {
        // The library function is right where this runs (tests of the other levels against this one say so too).
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state ^ (state >> 29)
        };
        for i in 0..200_000 {
            let mut double = || f64::from_bits((next() & 0x800f_ffff_ffff_ffff) | ((next() % 120 + 960) << 52));
            let (x, y) = (double(), double());
            let z = if i % 2 == 0 { double() } else { -x * y * (1.0 + double() * 1e-12) };
            assert_eq!(fused64([x], [y], [z])[0].to_bits(), x.mul_add(y, z).to_bits(), "{x:e} {y:e} {z:e}");
            let mut single = || f32::from_bits((next() as u32 & 0x807f_ffff) | ((next() % 60 + 100) as u32) << 23);
            let (x, y) = (single(), single());
            let z = if i % 2 == 0 { single() } else { -x * y };
            assert_eq!(fused32([x], [y], [z])[0].to_bits(), x.mul_add(y, z).to_bits(), "{x:e} {y:e} {z:e}");
        }
    }
}
