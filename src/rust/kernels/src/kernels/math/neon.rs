//! Lanes in the 128-bit registers of NEON, which every 64-bit ARM processor has.

use super::lanes::{Lanes, Paired, Singles, Wide};
use super::macros::{mask_operators, methods, operators};
use std::arch::aarch64::*;

/// Four singles.
#[derive(Clone, Copy)]
pub(super) struct F32x4(float32x4_t);

/// Two doubles.
#[derive(Clone, Copy)]
pub(super) struct F64x2(float64x2_t);

operators! { F32x4: add vaddq_f32, sub vsubq_f32, mul vmulq_f32, div vdivq_f32 }
operators! { F64x2: add vaddq_f64, sub vsubq_f64, mul vmulq_f64, div vdivq_f64 }

/// Mask of [`F32x4`]: all bits of a lane or none.
#[derive(Clone, Copy)]
pub(super) struct Mask32(uint32x4_t);

/// Mask of [`F64x2`]: all bits of a lane or none.
#[derive(Clone, Copy)]
pub(super) struct Mask64(uint64x2_t);

mask_operators! { Mask32: and vandq_u32, or vorrq_u32, not |x| vmvnq_u32(x) }
mask_operators! { Mask64: and vandq_u64, or vorrq_u64, not |x| veorq_u64(x, vdupq_n_u64(u64::MAX)) }

impl Lanes for F32x4 {
    type Scalar = f32;
    type Mask = Mask32;
    const LANES: usize = 4;
    const DOUBLE: bool = false;
    #[inline(always)]
    fn load(x: &[f32]) -> Self {
        assert!(x.len() >= 4);
        // SAFETY: there are 4 elements to read, aligned or not.
        Self(unsafe { vld1q_f32(x.as_ptr()) })
    }
    #[inline(always)]
    fn store(self, out: &mut [f32]) {
        assert!(out.len() >= 4);
        // SAFETY: there is room for 4 elements, aligned or not.
        unsafe { vst1q_f32(out.as_mut_ptr(), self.0) }
    }
    methods! {
        fn of(x: f64) -> Self = Self(vdupq_n_f32(x as f32));
        fn of_bits(x: u64) -> Self = Self(vreinterpretq_f32_u32(vdupq_n_u32(x as u32)));
        fn mul_add(self: Self, y: Self, z: Self) -> Self = Self(vfmaq_f32(z.0, self.0, y.0));
        fn neg_mul_add(self: Self, y: Self, z: Self) -> Self = Self(vfmsq_f32(z.0, self.0, y.0));
        fn sqrt(self: Self) -> Self = Self(vsqrtq_f32(self.0));
        fn lt(self: Self, y: Self) -> Mask32 = Mask32(vcltq_f32(self.0, y.0));
        fn le(self: Self, y: Self) -> Mask32 = Mask32(vcleq_f32(self.0, y.0));
        fn same(self: Self, y: Self) -> Mask32 = Mask32(vceqq_f32(self.0, y.0));
        fn select(mask: Mask32, x: Self, y: Self) -> Self = Self(vbslq_f32(mask.0, x.0, y.0));
        fn any(mask: Mask32) -> bool = vmaxvq_u32(mask.0) != 0;
        fn and(self: Self, y: Self) -> Self = Self(vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(self.0), vreinterpretq_u32_f32(y.0))));
        fn or(self: Self, y: Self) -> Self = Self(vreinterpretq_f32_u32(vorrq_u32(vreinterpretq_u32_f32(self.0), vreinterpretq_u32_f32(y.0))));
        fn xor(self: Self, y: Self) -> Self = Self(vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(self.0), vreinterpretq_u32_f32(y.0))));
        fn not_and(self: Self, y: Self) -> Self = Self(vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(y.0), vreinterpretq_u32_f32(self.0))));
        fn add_bits(self: Self, y: Self) -> Self = Self(vreinterpretq_f32_u32(vaddq_u32(vreinterpretq_u32_f32(self.0), vreinterpretq_u32_f32(y.0))));
        fn sub_bits(self: Self, y: Self) -> Self = Self(vreinterpretq_f32_u32(vsubq_u32(vreinterpretq_u32_f32(self.0), vreinterpretq_u32_f32(y.0))));
        fn shl(self: Self, by: u32) -> Self = Self(vreinterpretq_f32_u32(vshlq_u32(vreinterpretq_u32_f32(self.0), vdupq_n_s32(by as i32))));
        fn shr(self: Self, by: u32) -> Self = Self(vreinterpretq_f32_u32(vshlq_u32(vreinterpretq_u32_f32(self.0), vdupq_n_s32(-(by as i32)))));
    }
}

impl Lanes for F64x2 {
    type Scalar = f64;
    type Mask = Mask64;
    const LANES: usize = 2;
    const DOUBLE: bool = true;
    #[inline(always)]
    fn load(x: &[f64]) -> Self {
        assert!(x.len() >= 2);
        // SAFETY: there are 2 elements to read, aligned or not.
        Self(unsafe { vld1q_f64(x.as_ptr()) })
    }
    #[inline(always)]
    fn store(self, out: &mut [f64]) {
        assert!(out.len() >= 2);
        // SAFETY: there is room for 2 elements, aligned or not.
        unsafe { vst1q_f64(out.as_mut_ptr(), self.0) }
    }
    methods! {
        fn of(x: f64) -> Self = Self(vdupq_n_f64(x));
        fn of_bits(x: u64) -> Self = Self(vreinterpretq_f64_u64(vdupq_n_u64(x)));
        fn mul_add(self: Self, y: Self, z: Self) -> Self = Self(vfmaq_f64(z.0, self.0, y.0));
        fn neg_mul_add(self: Self, y: Self, z: Self) -> Self = Self(vfmsq_f64(z.0, self.0, y.0));
        fn sqrt(self: Self) -> Self = Self(vsqrtq_f64(self.0));
        fn lt(self: Self, y: Self) -> Mask64 = Mask64(vcltq_f64(self.0, y.0));
        fn le(self: Self, y: Self) -> Mask64 = Mask64(vcleq_f64(self.0, y.0));
        fn same(self: Self, y: Self) -> Mask64 = Mask64(vceqq_f64(self.0, y.0));
        fn select(mask: Mask64, x: Self, y: Self) -> Self = Self(vbslq_f64(mask.0, x.0, y.0));
        fn any(mask: Mask64) -> bool = vmaxvq_u32(vreinterpretq_u32_u64(mask.0)) != 0;
        fn and(self: Self, y: Self) -> Self = Self(vreinterpretq_f64_u64(vandq_u64(vreinterpretq_u64_f64(self.0), vreinterpretq_u64_f64(y.0))));
        fn or(self: Self, y: Self) -> Self = Self(vreinterpretq_f64_u64(vorrq_u64(vreinterpretq_u64_f64(self.0), vreinterpretq_u64_f64(y.0))));
        fn xor(self: Self, y: Self) -> Self = Self(vreinterpretq_f64_u64(veorq_u64(vreinterpretq_u64_f64(self.0), vreinterpretq_u64_f64(y.0))));
        fn not_and(self: Self, y: Self) -> Self = Self(vreinterpretq_f64_u64(vbicq_u64(vreinterpretq_u64_f64(y.0), vreinterpretq_u64_f64(self.0))));
        fn add_bits(self: Self, y: Self) -> Self = Self(vreinterpretq_f64_u64(vaddq_u64(vreinterpretq_u64_f64(self.0), vreinterpretq_u64_f64(y.0))));
        fn sub_bits(self: Self, y: Self) -> Self = Self(vreinterpretq_f64_u64(vsubq_u64(vreinterpretq_u64_f64(self.0), vreinterpretq_u64_f64(y.0))));
        fn shl(self: Self, by: u32) -> Self = Self(vreinterpretq_f64_u64(vshlq_u64(vreinterpretq_u64_f64(self.0), vdupq_n_s64(by as i64))));
        fn shr(self: Self, by: u32) -> Self = Self(vreinterpretq_f64_u64(vshlq_u64(vreinterpretq_u64_f64(self.0), vdupq_n_s64(-(by as i64)))));
    }
}

impl Paired for F32x4 {
    methods! {
        fn weave(self: Self, y: Self) -> (Self, Self) = (Self(vzip1q_f32(self.0, y.0)), Self(vzip2q_f32(self.0, y.0)));
        fn unweave(self: Self, y: Self) -> (Self, Self) = (Self(vuzp1q_f32(self.0, y.0)), Self(vuzp2q_f32(self.0, y.0)));
    }
}

impl Paired for F64x2 {
    methods! {
        fn weave(self: Self, y: Self) -> (Self, Self) = (Self(vzip1q_f64(self.0, y.0)), Self(vzip2q_f64(self.0, y.0)));
        fn unweave(self: Self, y: Self) -> (Self, Self) = (Self(vuzp1q_f64(self.0, y.0)), Self(vuzp2q_f64(self.0, y.0)));
    }
}

impl Wide for F64x2 {
    #[inline(always)]
    fn of_singles(x: &[f32]) -> Self {
        assert!(x.len() >= 2);
        // SAFETY: there are 2 elements to read, aligned or not; for the instructions see `Lanes`.
        Self(unsafe { vcvt_f64_f32(vld1_f32(x.as_ptr())) })
    }
    #[inline(always)]
    fn totals(x: &[Self]) -> Self {
        // SAFETY: for the instruction see `Lanes`.
        Self(unsafe { vpaddq_f64(x[0].0, x[1].0) })
    }
}

impl Singles for F32x4 {
    type Double = F64x2;
    methods! {
        fn widen(self: Self) -> (F64x2, F64x2) = (F64x2(vcvt_f64_f32(vget_low_f32(self.0))), F64x2(vcvt_high_f64_f32(self.0)));
        fn narrow(low: F64x2, high: F64x2) -> Self = Self(vcvt_high_f32_f64(vcvt_f32_f64(low.0), high.0));
    }
}
