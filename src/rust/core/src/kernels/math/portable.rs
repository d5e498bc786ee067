//! Lanes in plain Rust, for processors of which nothing else is known: one double, or two singles.

use super::lanes::{Lanes, Singles};
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Not, Sub};

/// Two singles.
#[derive(Clone, Copy)]
pub(super) struct F32x2([f32; 2]);

/// One double.
#[derive(Clone, Copy)]
pub(super) struct F64x1([f64; 1]);

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

/// `x * y + z`, rounded once.
fn fused32(x: f32, y: f32, z: f32) -> f32 {
    if HAS_FUSED {
        return x.mul_add(y, z);
    }
    // The product is exact; the sum is made odd where it is not, so that it rounds to a single as the exact sum would.
    let (product, z) = (f64::from(x) * f64::from(y), f64::from(z));
    odd_sum(product, z) as f32
}

/// The sum of two doubles, rounded to the nearer neighbour in size whose last bit is set unless it is exact.
fn odd_sum(x: f64, y: f64) -> f64 {
    let sum = x + y;
    let kept = sum - x;
    let lost = (x - (sum - kept)) + (y - kept);
    let bits = sum.to_bits();
    if lost == 0.0 || lost.is_nan() || bits & 1 == 1 {
        return sum;
    }
    // The exact sum lies on the side of `lost`.
    f64::from_bits(if (lost > 0.0) == (sum > 0.0) { bits + 1 } else { bits - 1 })
}

/// `x * y + z`, rounded once. Source: Boldo, Melquiond (2008), Emulation of a FMA and correctly rounded sums.
fn fused64(x: f64, y: f64, z: f64) -> f64 {
    let exponent = |v: f64| (v.to_bits() >> 52) & 0x7ff;
    let ordinary = |v: f64, least, most| v == 0.0 || (least..most).contains(&exponent(v));
    let is_safe = ordinary(x, 600, 1400) && ordinary(y, 600, 1400) && ordinary(z, 200, 1800);
    if HAS_FUSED || !is_safe || x == 0.0 || y == 0.0 {
        return x.mul_add(y, z);
    }
    // The product in two parts, of factors in two parts (Dekker, Veltkamp).
    let split = |v: f64| {
        let scaled = v * 134217729.0;
        let high = scaled - (scaled - v);
        (high, v - high)
    };
    let ((xh, xl), (yh, yl)) = (split(x), split(y));
    let high = x * y;
    let low = xl * yl - (((high - xh * yh) - xl * yh) - xh * yl);
    let two_sum = |a: f64, b: f64| {
        let sum = a + b;
        let kept = sum - a;
        (sum, (a - (sum - kept)) + (b - kept))
    };
    let (rest, tiny) = two_sum(z, low);
    let (sum, lost) = two_sum(high, rest);
    sum + odd_sum(tiny, lost)
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
            fn each(self, f: fn(f64) -> f64) -> Self {
                Self(self.0.map(|x| f(x as f64) as $scalar))
            }
            #[inline(always)]
            fn mul_add(self, y: Self, z: Self) -> Self {
                Self(std::array::from_fn(|i| $fused(self.0[i], y.0[i], z.0[i])))
            }
            #[inline(always)]
            fn neg_mul_add(self, y: Self, z: Self) -> Self {
                Self(std::array::from_fn(|i| $fused(-self.0[i], y.0[i], z.0[i])))
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
lanes! { F32x2, 2, f32, u32, false, fused32 }
lanes! { F64x1, 1, f64, u64, true, fused64 }

impl Singles for F32x2 {
    type Double = F64x1;
    #[inline(always)]
    fn widen(self) -> (F64x1, F64x1) {
        (F64x1([self.0[0].into()]), F64x1([self.0[1].into()]))
    }
    #[inline(always)]
    fn narrow(low: F64x1, high: F64x1) -> Self {
        Self([low.0[0] as f32, high.0[0] as f32])
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
            assert_eq!(fused64(x, y, z).to_bits(), x.mul_add(y, z).to_bits(), "{x:e} {y:e} {z:e}");
            let mut single = || f32::from_bits((next() as u32 & 0x807f_ffff) | ((next() % 60 + 100) as u32) << 23);
            let (x, y) = (single(), single());
            let z = if i % 2 == 0 { single() } else { -x * y };
            assert_eq!(fused32(x, y, z).to_bits(), x.mul_add(y, z).to_bits(), "{x:e} {y:e} {z:e}");
        }
    }
}
