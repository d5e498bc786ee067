//! Lanes in the 256-bit registers of AVX2 with FMA.

use super::lanes::{Lanes, Paired, Singles, Wide};
use super::macros::{mask_operators, methods, operators};
use std::arch::x86_64::*;

/// Eight singles.
#[derive(Clone, Copy)]
pub(super) struct F32x8(__m256);

/// Four doubles.
#[derive(Clone, Copy)]
pub(super) struct F64x4(__m256d);

operators! { F32x8: add _mm256_add_ps, sub _mm256_sub_ps, mul _mm256_mul_ps, div _mm256_div_ps }
operators! { F64x4: add _mm256_add_pd, sub _mm256_sub_pd, mul _mm256_mul_pd, div _mm256_div_pd }

/// Mask of [`F32x8`]: all bits of a lane or none.
#[derive(Clone, Copy)]
pub(super) struct Mask32(__m256);

/// Mask of [`F64x4`]: all bits of a lane or none.
#[derive(Clone, Copy)]
pub(super) struct Mask64(__m256d);

mask_operators! { Mask32: and _mm256_and_ps, or _mm256_or_ps, not |x| _mm256_xor_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(-1))) }
mask_operators! { Mask64: and _mm256_and_pd, or _mm256_or_pd, not |x| _mm256_xor_pd(x, _mm256_castsi256_pd(_mm256_set1_epi32(-1))) }

/// The bits of a vector of singles.
macro_rules! i32s {
    ($x:expr) => {
        _mm256_castps_si256($x.0)
    };
}
/// The bits of a vector of doubles.
macro_rules! i64s {
    ($x:expr) => {
        _mm256_castpd_si256($x.0)
    };
}

impl Lanes for F32x8 {
    type Scalar = f32;
    type Mask = Mask32;
    const LANES: usize = 8;
    const DOUBLE: bool = false;
    #[inline(always)]
    fn load(x: &[f32]) -> Self {
        assert!(x.len() >= 8);
        // SAFETY: there are 8 elements to read, aligned or not.
        Self(unsafe { _mm256_loadu_ps(x.as_ptr()) })
    }
    #[inline(always)]
    fn store(self, out: &mut [f32]) {
        assert!(out.len() >= 8);
        // SAFETY: there is room for 8 elements, aligned or not.
        unsafe { _mm256_storeu_ps(out.as_mut_ptr(), self.0) }
    }
    methods! {
        fn of(x: f64) -> Self = Self(_mm256_set1_ps(x as f32));
        fn of_bits(x: u64) -> Self = Self(_mm256_castsi256_ps(_mm256_set1_epi32(x as i32)));
        fn mul_add(self: Self, y: Self, z: Self) -> Self = Self(_mm256_fmadd_ps(self.0, y.0, z.0));
        fn neg_mul_add(self: Self, y: Self, z: Self) -> Self = Self(_mm256_fnmadd_ps(self.0, y.0, z.0));
        fn sqrt(self: Self) -> Self = Self(_mm256_sqrt_ps(self.0));
        fn min(self: Self, y: Self) -> Self = Self(_mm256_min_ps(self.0, y.0));
        fn max(self: Self, y: Self) -> Self = Self(_mm256_max_ps(self.0, y.0));
        fn lt(self: Self, y: Self) -> Mask32 = Mask32(_mm256_cmp_ps::<_CMP_LT_OQ>(self.0, y.0));
        fn le(self: Self, y: Self) -> Mask32 = Mask32(_mm256_cmp_ps::<_CMP_LE_OQ>(self.0, y.0));
        fn same(self: Self, y: Self) -> Mask32 = Mask32(_mm256_cmp_ps::<_CMP_EQ_OQ>(self.0, y.0));
        fn select(mask: Mask32, x: Self, y: Self) -> Self = Self(_mm256_blendv_ps(y.0, x.0, mask.0));
        fn any(mask: Mask32) -> bool = _mm256_movemask_ps(mask.0) != 0;
        fn and(self: Self, y: Self) -> Self = Self(_mm256_and_ps(self.0, y.0));
        fn or(self: Self, y: Self) -> Self = Self(_mm256_or_ps(self.0, y.0));
        fn xor(self: Self, y: Self) -> Self = Self(_mm256_xor_ps(self.0, y.0));
        fn not_and(self: Self, y: Self) -> Self = Self(_mm256_andnot_ps(self.0, y.0));
        fn add_bits(self: Self, y: Self) -> Self = Self(_mm256_castsi256_ps(_mm256_add_epi32(i32s!(self), i32s!(y))));
        fn sub_bits(self: Self, y: Self) -> Self = Self(_mm256_castsi256_ps(_mm256_sub_epi32(i32s!(self), i32s!(y))));
        fn shl(self: Self, by: u32) -> Self = Self(_mm256_castsi256_ps(_mm256_sll_epi32(i32s!(self), _mm_cvtsi32_si128(by as i32))));
        fn shr(self: Self, by: u32) -> Self = Self(_mm256_castsi256_ps(_mm256_srl_epi32(i32s!(self), _mm_cvtsi32_si128(by as i32))));
    }
}

impl Lanes for F64x4 {
    type Scalar = f64;
    type Mask = Mask64;
    const LANES: usize = 4;
    const DOUBLE: bool = true;
    #[inline(always)]
    fn load(x: &[f64]) -> Self {
        assert!(x.len() >= 4);
        // SAFETY: there are 4 elements to read, aligned or not.
        Self(unsafe { _mm256_loadu_pd(x.as_ptr()) })
    }
    #[inline(always)]
    fn store(self, out: &mut [f64]) {
        assert!(out.len() >= 4);
        // SAFETY: there is room for 4 elements, aligned or not.
        unsafe { _mm256_storeu_pd(out.as_mut_ptr(), self.0) }
    }
    methods! {
        fn of(x: f64) -> Self = Self(_mm256_set1_pd(x));
        fn of_bits(x: u64) -> Self = Self(_mm256_castsi256_pd(_mm256_set1_epi64x(x as i64)));
        fn mul_add(self: Self, y: Self, z: Self) -> Self = Self(_mm256_fmadd_pd(self.0, y.0, z.0));
        fn neg_mul_add(self: Self, y: Self, z: Self) -> Self = Self(_mm256_fnmadd_pd(self.0, y.0, z.0));
        fn sqrt(self: Self) -> Self = Self(_mm256_sqrt_pd(self.0));
        fn min(self: Self, y: Self) -> Self = Self(_mm256_min_pd(self.0, y.0));
        fn max(self: Self, y: Self) -> Self = Self(_mm256_max_pd(self.0, y.0));
        fn lt(self: Self, y: Self) -> Mask64 = Mask64(_mm256_cmp_pd::<_CMP_LT_OQ>(self.0, y.0));
        fn le(self: Self, y: Self) -> Mask64 = Mask64(_mm256_cmp_pd::<_CMP_LE_OQ>(self.0, y.0));
        fn same(self: Self, y: Self) -> Mask64 = Mask64(_mm256_cmp_pd::<_CMP_EQ_OQ>(self.0, y.0));
        fn select(mask: Mask64, x: Self, y: Self) -> Self = Self(_mm256_blendv_pd(y.0, x.0, mask.0));
        fn any(mask: Mask64) -> bool = _mm256_movemask_pd(mask.0) != 0;
        fn and(self: Self, y: Self) -> Self = Self(_mm256_and_pd(self.0, y.0));
        fn or(self: Self, y: Self) -> Self = Self(_mm256_or_pd(self.0, y.0));
        fn xor(self: Self, y: Self) -> Self = Self(_mm256_xor_pd(self.0, y.0));
        fn not_and(self: Self, y: Self) -> Self = Self(_mm256_andnot_pd(self.0, y.0));
        fn add_bits(self: Self, y: Self) -> Self = Self(_mm256_castsi256_pd(_mm256_add_epi64(i64s!(self), i64s!(y))));
        fn sub_bits(self: Self, y: Self) -> Self = Self(_mm256_castsi256_pd(_mm256_sub_epi64(i64s!(self), i64s!(y))));
        fn shl(self: Self, by: u32) -> Self = Self(_mm256_castsi256_pd(_mm256_sll_epi64(i64s!(self), _mm_cvtsi32_si128(by as i32))));
        fn shr(self: Self, by: u32) -> Self = Self(_mm256_castsi256_pd(_mm256_srl_epi64(i64s!(self), _mm_cvtsi32_si128(by as i32))));
    }
}

impl Paired for F32x8 {
    methods! {
        fn weave(self: Self, y: Self) -> (Self, Self) = {
            let (low, high) = (_mm256_unpacklo_ps(self.0, y.0), _mm256_unpackhi_ps(self.0, y.0));
            (Self(_mm256_permute2f128_ps::<0x20>(low, high)), Self(_mm256_permute2f128_ps::<0x31>(low, high)))
        };
        fn unweave(self: Self, y: Self) -> (Self, Self) = {
            let low = _mm256_permute2f128_ps::<0x20>(self.0, y.0);
            let high = _mm256_permute2f128_ps::<0x31>(self.0, y.0);
            (Self(_mm256_shuffle_ps::<0x88>(low, high)), Self(_mm256_shuffle_ps::<0xdd>(low, high)))
        };
    }
}

impl Paired for F64x4 {
    methods! {
        fn weave(self: Self, y: Self) -> (Self, Self) = {
            let (low, high) = (_mm256_unpacklo_pd(self.0, y.0), _mm256_unpackhi_pd(self.0, y.0));
            (Self(_mm256_permute2f128_pd::<0x20>(low, high)), Self(_mm256_permute2f128_pd::<0x31>(low, high)))
        };
        fn unweave(self: Self, y: Self) -> (Self, Self) = {
            let low = _mm256_permute2f128_pd::<0x20>(self.0, y.0);
            let high = _mm256_permute2f128_pd::<0x31>(self.0, y.0);
            (Self(_mm256_unpacklo_pd(low, high)), Self(_mm256_unpackhi_pd(low, high)))
        };
    }
}

impl Wide for F64x4 {
    #[inline(always)]
    fn of_singles(x: &[f32]) -> Self {
        assert!(x.len() >= 4);
        // SAFETY: there are 4 elements to read, aligned or not; for the instructions see `Lanes`.
        Self(unsafe { _mm256_cvtps_pd(_mm_loadu_ps(x.as_ptr())) })
    }
    #[inline(always)]
    fn totals(x: &[Self]) -> Self {
        // SAFETY: see `Lanes`.
        let pairs = |x: Self, y: Self| unsafe {
            _mm256_add_pd(_mm256_permute2f128_pd::<0x20>(x.0, y.0), _mm256_permute2f128_pd::<0x31>(x.0, y.0))
        };
        let (even, odd) = (pairs(x[0], x[2]), pairs(x[1], x[3]));
        // SAFETY: as above.
        Self(unsafe { _mm256_add_pd(_mm256_unpacklo_pd(even, odd), _mm256_unpackhi_pd(even, odd)) })
    }
}

impl Singles for F32x8 {
    type Double = F64x4;
    methods! {
        fn widen(self: Self) -> (F64x4, F64x4) = (
            F64x4(_mm256_cvtps_pd(_mm256_castps256_ps128(self.0))),
            F64x4(_mm256_cvtps_pd(_mm256_extractf128_ps::<1>(self.0))),
        );
        fn narrow(low: F64x4, high: F64x4) -> Self = Self(_mm256_insertf128_ps::<1>(
            _mm256_castps128_ps256(_mm256_cvtpd_ps(low.0)),
            _mm256_cvtpd_ps(high.0),
        ));
    }
}
