//! Lanes in the 512-bit registers of AVX-512F.

use super::lanes::{Lanes, Paired, Singles, Wide};
use super::macros::{methods, operators};
use std::arch::x86_64::*;
use std::ops::{BitAnd, BitOr, Not};

/// Sixteen singles.
#[derive(Clone, Copy)]
pub(super) struct F32x16(__m512);

/// Eight doubles.
#[derive(Clone, Copy)]
pub(super) struct F64x8(__m512d);

operators! { F32x16: add _mm512_add_ps, sub _mm512_sub_ps, mul _mm512_mul_ps, div _mm512_div_ps }
operators! { F64x8: add _mm512_add_pd, sub _mm512_sub_pd, mul _mm512_mul_pd, div _mm512_div_pd }

/// A mask, one bit for each lane.
#[derive(Clone, Copy)]
pub(super) struct Mask<T>(T);

impl<T: BitAnd<Output = T>> BitAnd for Mask<T> {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, y: Self) -> Self {
        Mask(self.0 & y.0)
    }
}

impl<T: BitOr<Output = T>> BitOr for Mask<T> {
    type Output = Self;
    #[inline(always)]
    fn bitor(self, y: Self) -> Self {
        Mask(self.0 | y.0)
    }
}

impl<T: Not<Output = T>> Not for Mask<T> {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        Mask(!self.0)
    }
}

/// The bits of a vector of singles.
macro_rules! i32s {
    ($x:expr) => {
        _mm512_castps_si512($x.0)
    };
}
/// The bits of a vector of doubles.
macro_rules! i64s {
    ($x:expr) => {
        _mm512_castpd_si512($x.0)
    };
}

impl Lanes for F32x16 {
    type Scalar = f32;
    type Mask = Mask<u16>;
    const LANES: usize = 16;
    const DOUBLE: bool = false;
    #[inline(always)]
    fn load(x: &[f32]) -> Self {
        assert!(x.len() >= 16);
        // SAFETY: there are 16 elements to read, aligned or not.
        Self(unsafe { _mm512_loadu_ps(x.as_ptr()) })
    }
    #[inline(always)]
    fn store(self, out: &mut [f32]) {
        assert!(out.len() >= 16);
        // SAFETY: there is room for 16 elements, aligned or not.
        unsafe { _mm512_storeu_ps(out.as_mut_ptr(), self.0) }
    }
    methods! {
        fn of(x: f64) -> Self = Self(_mm512_set1_ps(x as f32));
        fn of_bits(x: u64) -> Self = Self(_mm512_castsi512_ps(_mm512_set1_epi32(x as i32)));
        fn mul_add(self: Self, y: Self, z: Self) -> Self = Self(_mm512_fmadd_ps(self.0, y.0, z.0));
        fn neg_mul_add(self: Self, y: Self, z: Self) -> Self = Self(_mm512_fnmadd_ps(self.0, y.0, z.0));
        fn sqrt(self: Self) -> Self = Self(_mm512_sqrt_ps(self.0));
        fn min(self: Self, y: Self) -> Self = Self(_mm512_min_ps(self.0, y.0));
        fn max(self: Self, y: Self) -> Self = Self(_mm512_max_ps(self.0, y.0));
        fn lt(self: Self, y: Self) -> Mask<u16> = Mask(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, y.0));
        fn le(self: Self, y: Self) -> Mask<u16> = Mask(_mm512_cmp_ps_mask::<_CMP_LE_OQ>(self.0, y.0));
        fn same(self: Self, y: Self) -> Mask<u16> = Mask(_mm512_cmp_ps_mask::<_CMP_EQ_OQ>(self.0, y.0));
        fn select(mask: Mask<u16>, x: Self, y: Self) -> Self = Self(_mm512_mask_blend_ps(mask.0, y.0, x.0));
        fn any(mask: Mask<u16>) -> bool = mask.0 != 0;
        fn and(self: Self, y: Self) -> Self = Self(_mm512_castsi512_ps(_mm512_and_si512(i32s!(self), i32s!(y))));
        fn or(self: Self, y: Self) -> Self = Self(_mm512_castsi512_ps(_mm512_or_si512(i32s!(self), i32s!(y))));
        fn xor(self: Self, y: Self) -> Self = Self(_mm512_castsi512_ps(_mm512_xor_si512(i32s!(self), i32s!(y))));
        fn not_and(self: Self, y: Self) -> Self = Self(_mm512_castsi512_ps(_mm512_andnot_si512(i32s!(self), i32s!(y))));
        fn add_bits(self: Self, y: Self) -> Self = Self(_mm512_castsi512_ps(_mm512_add_epi32(i32s!(self), i32s!(y))));
        fn sub_bits(self: Self, y: Self) -> Self = Self(_mm512_castsi512_ps(_mm512_sub_epi32(i32s!(self), i32s!(y))));
        fn shl(self: Self, by: u32) -> Self = Self(_mm512_castsi512_ps(_mm512_sll_epi32(i32s!(self), _mm_cvtsi32_si128(by as i32))));
        fn shr(self: Self, by: u32) -> Self = Self(_mm512_castsi512_ps(_mm512_srl_epi32(i32s!(self), _mm_cvtsi32_si128(by as i32))));
    }
}

impl Lanes for F64x8 {
    type Scalar = f64;
    type Mask = Mask<u8>;
    const LANES: usize = 8;
    const DOUBLE: bool = true;
    #[inline(always)]
    fn load(x: &[f64]) -> Self {
        assert!(x.len() >= 8);
        // SAFETY: there are 8 elements to read, aligned or not.
        Self(unsafe { _mm512_loadu_pd(x.as_ptr()) })
    }
    #[inline(always)]
    fn store(self, out: &mut [f64]) {
        assert!(out.len() >= 8);
        // SAFETY: there is room for 8 elements, aligned or not.
        unsafe { _mm512_storeu_pd(out.as_mut_ptr(), self.0) }
    }
    methods! {
        fn of(x: f64) -> Self = Self(_mm512_set1_pd(x));
        fn of_bits(x: u64) -> Self = Self(_mm512_castsi512_pd(_mm512_set1_epi64(x as i64)));
        fn mul_add(self: Self, y: Self, z: Self) -> Self = Self(_mm512_fmadd_pd(self.0, y.0, z.0));
        fn neg_mul_add(self: Self, y: Self, z: Self) -> Self = Self(_mm512_fnmadd_pd(self.0, y.0, z.0));
        fn sqrt(self: Self) -> Self = Self(_mm512_sqrt_pd(self.0));
        fn min(self: Self, y: Self) -> Self = Self(_mm512_min_pd(self.0, y.0));
        fn max(self: Self, y: Self) -> Self = Self(_mm512_max_pd(self.0, y.0));
        fn lt(self: Self, y: Self) -> Mask<u8> = Mask(_mm512_cmp_pd_mask::<_CMP_LT_OQ>(self.0, y.0));
        fn le(self: Self, y: Self) -> Mask<u8> = Mask(_mm512_cmp_pd_mask::<_CMP_LE_OQ>(self.0, y.0));
        fn same(self: Self, y: Self) -> Mask<u8> = Mask(_mm512_cmp_pd_mask::<_CMP_EQ_OQ>(self.0, y.0));
        fn select(mask: Mask<u8>, x: Self, y: Self) -> Self = Self(_mm512_mask_blend_pd(mask.0, y.0, x.0));
        fn any(mask: Mask<u8>) -> bool = mask.0 != 0;
        fn and(self: Self, y: Self) -> Self = Self(_mm512_castsi512_pd(_mm512_and_si512(i64s!(self), i64s!(y))));
        fn or(self: Self, y: Self) -> Self = Self(_mm512_castsi512_pd(_mm512_or_si512(i64s!(self), i64s!(y))));
        fn xor(self: Self, y: Self) -> Self = Self(_mm512_castsi512_pd(_mm512_xor_si512(i64s!(self), i64s!(y))));
        fn not_and(self: Self, y: Self) -> Self = Self(_mm512_castsi512_pd(_mm512_andnot_si512(i64s!(self), i64s!(y))));
        fn add_bits(self: Self, y: Self) -> Self = Self(_mm512_castsi512_pd(_mm512_add_epi64(i64s!(self), i64s!(y))));
        fn sub_bits(self: Self, y: Self) -> Self = Self(_mm512_castsi512_pd(_mm512_sub_epi64(i64s!(self), i64s!(y))));
        fn shl(self: Self, by: u32) -> Self = Self(_mm512_castsi512_pd(_mm512_sll_epi64(i64s!(self), _mm_cvtsi32_si128(by as i32))));
        fn shr(self: Self, by: u32) -> Self = Self(_mm512_castsi512_pd(_mm512_srl_epi64(i64s!(self), _mm_cvtsi32_si128(by as i32))));
    }
}

/// Lanes of two vectors that are chosen by these numbers, those of the second one from the number of lanes on.
macro_rules! chosen {
    ($permute:ident $numbers:ident $x:expr, $y:expr, $($at:literal)+) => {
        Self($permute($x.0, $numbers($($at),+), $y.0))
    };
}

impl Paired for F32x16 {
    methods! {
        fn weave(self: Self, y: Self) -> (Self, Self) = (
            chosen!(_mm512_permutex2var_ps _mm512_setr_epi32 self, y, 0 16 1 17 2 18 3 19 4 20 5 21 6 22 7 23),
            chosen!(_mm512_permutex2var_ps _mm512_setr_epi32 self, y, 8 24 9 25 10 26 11 27 12 28 13 29 14 30 15 31),
        );
        fn unweave(self: Self, y: Self) -> (Self, Self) = (
            chosen!(_mm512_permutex2var_ps _mm512_setr_epi32 self, y, 0 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30),
            chosen!(_mm512_permutex2var_ps _mm512_setr_epi32 self, y, 1 3 5 7 9 11 13 15 17 19 21 23 25 27 29 31),
        );
    }
}

impl Paired for F64x8 {
    methods! {
        fn weave(self: Self, y: Self) -> (Self, Self) = (
            chosen!(_mm512_permutex2var_pd _mm512_setr_epi64 self, y, 0 8 1 9 2 10 3 11),
            chosen!(_mm512_permutex2var_pd _mm512_setr_epi64 self, y, 4 12 5 13 6 14 7 15),
        );
        fn unweave(self: Self, y: Self) -> (Self, Self) = (
            chosen!(_mm512_permutex2var_pd _mm512_setr_epi64 self, y, 0 2 4 6 8 10 12 14),
            chosen!(_mm512_permutex2var_pd _mm512_setr_epi64 self, y, 1 3 5 7 9 11 13 15),
        );
    }
}

impl Wide for F64x8 {
    #[inline(always)]
    fn of_singles(x: &[f32]) -> Self {
        assert!(x.len() >= 8);
        // SAFETY: there are 8 elements to read, aligned or not; for the instructions see `Lanes`.
        Self(unsafe { _mm512_cvtps_pd(_mm256_loadu_ps(x.as_ptr())) })
    }
    #[inline(always)]
    fn totals(x: &[Self]) -> Self {
        // SAFETY: see `Lanes`.
        let quarters = |x: Self, y: Self| unsafe {
            _mm512_add_pd(_mm512_shuffle_f64x2::<0x44>(x.0, y.0), _mm512_shuffle_f64x2::<0xee>(x.0, y.0))
        };
        // SAFETY: as above.
        let pairs = |x: __m512d, y: __m512d| unsafe {
            _mm512_add_pd(_mm512_shuffle_f64x2::<0x88>(x, y), _mm512_shuffle_f64x2::<0xdd>(x, y))
        };
        let even = pairs(quarters(x[0], x[2]), quarters(x[4], x[6]));
        let odd = pairs(quarters(x[1], x[3]), quarters(x[5], x[7]));
        // SAFETY: as above.
        Self(unsafe { _mm512_add_pd(_mm512_unpacklo_pd(even, odd), _mm512_unpackhi_pd(even, odd)) })
    }
}

impl Singles for F32x16 {
    type Double = F64x8;
    methods! {
        fn widen(self: Self) -> (F64x8, F64x8) = (
            F64x8(_mm512_cvtps_pd(_mm512_castps512_ps256(self.0))),
            F64x8(_mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(self.0))))),
        );
        fn narrow(low: F64x8, high: F64x8) -> Self = Self(_mm512_castpd_ps(_mm512_insertf64x4::<1>(
            _mm512_castpd256_pd512(_mm256_castps_pd(_mm512_cvtpd_ps(low.0))),
            _mm256_castps_pd(_mm512_cvtpd_ps(high.0)),
        )));
    }
}
