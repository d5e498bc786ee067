//! Vector registers of each set of instructions, by intrinsics.

use std::arch::x86_64::*;

/// A vector register. Its methods are for functions that are compiled for its instructions, and for elements
/// that are there.
pub trait Vector: Copy {
    type Scalar: Copy + 'static;
    type Mask: Copy;
    /// For each lane, a lane of two vectors.
    type Lanes: Copy;
    const LANES: usize;
    unsafe fn zero() -> Self;
    unsafe fn splat(x: *const Self::Scalar) -> Self;
    unsafe fn load(x: *const Self::Scalar) -> Self;
    unsafe fn store(self, out: *mut Self::Scalar);
    unsafe fn add(self, x: Self) -> Self;
    unsafe fn subtract(self, x: Self) -> Self;
    /// `self + x * y`, rounded once.
    unsafe fn add_product(self, x: Self, y: Self) -> Self;
    unsafe fn times(self, x: Self) -> Self;
    /// The first `count` lanes.
    unsafe fn mask(count: usize) -> Self::Mask;
    unsafe fn load_some(x: *const Self::Scalar, mask: Self::Mask) -> Self;
    unsafe fn store_some(self, out: *mut Self::Scalar, mask: Self::Mask);
    /// From as many numbers as there are lanes, below twice that.
    unsafe fn lanes(x: *const u32) -> Self::Lanes;
    /// The lanes of this vector and of another that follows it.
    unsafe fn pick(self, other: Self, lanes: Self::Lanes) -> Self;
    /// Lanes of this vector.
    unsafe fn pick_one(self, lanes: Self::Lanes) -> Self;
}

/// Methods that are one expression of intrinsics.
macro_rules! vector {
    ($(#[$meta:meta])* $vector:ty: $scalar:ty, $mask:ty, $picked:ty, $lanes:literal;
     $(fn $name:ident($($arg:ident: $type:ty),*) $(-> $out:ty)? = $body:expr;)+) => {
        $(#[$meta])*
        impl Vector for $vector {
            type Scalar = $scalar;
            type Mask = $mask;
            type Lanes = $picked;
            const LANES: usize = $lanes;
            $(
                #[inline(always)]
                unsafe fn $name($($arg: $type),*) $(-> $out)? {
                    $body
                }
            )+
        }
    };
}

vector! {
    __m256: f32, __m256i, __m256i, 8;
    fn zero() -> Self = _mm256_setzero_ps();
    fn splat(x: *const f32) -> Self = _mm256_set1_ps(*x);
    fn load(x: *const f32) -> Self = _mm256_loadu_ps(x);
    fn store(self: Self, out: *mut f32) = _mm256_storeu_ps(out, self);
    fn add(self: Self, x: Self) -> Self = _mm256_add_ps(self, x);
    fn subtract(self: Self, x: Self) -> Self = _mm256_sub_ps(self, x);
    fn add_product(self: Self, x: Self, y: Self) -> Self = _mm256_fmadd_ps(x, y, self);
    fn times(self: Self, x: Self) -> Self = _mm256_mul_ps(self, x);
    fn mask(count: usize) -> __m256i =
        _mm256_cmpgt_epi32(_mm256_set1_epi32(count as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    fn load_some(x: *const f32, mask: __m256i) -> Self = _mm256_maskload_ps(x, mask);
    fn store_some(self: Self, out: *mut f32, mask: __m256i) = _mm256_maskstore_ps(out, mask, self);
    fn lanes(x: *const u32) -> __m256i = _mm256_loadu_si256(x.cast());
    // Bit 3 of a lane says of which vector it is.
    fn pick(self: Self, other: Self, lanes: __m256i) -> Self = {
        let of_other = _mm256_castsi256_ps(_mm256_slli_epi32::<28>(lanes));
        _mm256_blendv_ps(self.pick_one(lanes), other.pick_one(lanes), of_other)
    };
    fn pick_one(self: Self, lanes: __m256i) -> Self = _mm256_permutevar8x32_ps(self, lanes);
}
vector! {
    __m256d: f64, __m256i, __m256i, 4;
    fn zero() -> Self = _mm256_setzero_pd();
    fn splat(x: *const f64) -> Self = _mm256_set1_pd(*x);
    fn load(x: *const f64) -> Self = _mm256_loadu_pd(x);
    fn store(self: Self, out: *mut f64) = _mm256_storeu_pd(out, self);
    fn add(self: Self, x: Self) -> Self = _mm256_add_pd(self, x);
    fn subtract(self: Self, x: Self) -> Self = _mm256_sub_pd(self, x);
    fn add_product(self: Self, x: Self, y: Self) -> Self = _mm256_fmadd_pd(x, y, self);
    fn times(self: Self, x: Self) -> Self = _mm256_mul_pd(self, x);
    fn mask(count: usize) -> __m256i = _mm256_cmpgt_epi64(_mm256_set1_epi64x(count as i64), _mm256_setr_epi64x(0, 1, 2, 3));
    fn load_some(x: *const f64, mask: __m256i) -> Self = _mm256_maskload_pd(x, mask);
    fn store_some(self: Self, out: *mut f64, mask: __m256i) = _mm256_maskstore_pd(out, mask, self);
    // As lanes of 32 bits: those of an even number, and the ones after.
    fn lanes(x: *const u32) -> __m256i = {
        let twice = _mm256_slli_epi64::<1>(_mm256_cvtepu32_epi64(_mm_loadu_si128(x.cast())));
        let after = _mm256_slli_epi64::<32>(_mm256_add_epi64(twice, _mm256_set1_epi64x(1)));
        _mm256_or_si256(twice, after)
    };
    fn pick(self: Self, other: Self, lanes: __m256i) -> Self = {
        let [x, other] = [self, other].map(|x| _mm256_castpd_ps(x));
        _mm256_castps_pd(x.pick(other, lanes))
    };
    fn pick_one(self: Self, lanes: __m256i) -> Self =
        _mm256_castps_pd(_mm256_castpd_ps(self).pick_one(lanes));
}
// Compiled by compilers that have it: build.rs.
vector! {
    #[cfg(has_avx512)]
    #[allow(clippy::incompatible_msrv)]
    __m512: f32, __mmask16, __m512i, 16;
    fn zero() -> Self = _mm512_setzero_ps();
    fn splat(x: *const f32) -> Self = _mm512_set1_ps(*x);
    fn load(x: *const f32) -> Self = _mm512_loadu_ps(x);
    fn store(self: Self, out: *mut f32) = _mm512_storeu_ps(out, self);
    fn add(self: Self, x: Self) -> Self = _mm512_add_ps(self, x);
    fn subtract(self: Self, x: Self) -> Self = _mm512_sub_ps(self, x);
    fn add_product(self: Self, x: Self, y: Self) -> Self = _mm512_fmadd_ps(x, y, self);
    fn times(self: Self, x: Self) -> Self = _mm512_mul_ps(self, x);
    fn mask(count: usize) -> __mmask16 = (0xffff >> (16 - count)) as __mmask16;
    fn load_some(x: *const f32, mask: __mmask16) -> Self = _mm512_maskz_loadu_ps(mask, x);
    fn store_some(self: Self, out: *mut f32, mask: __mmask16) = _mm512_mask_storeu_ps(out, mask, self);
    fn lanes(x: *const u32) -> __m512i = _mm512_loadu_si512(x.cast());
    fn pick(self: Self, other: Self, lanes: __m512i) -> Self = _mm512_permutex2var_ps(self, lanes, other);
    fn pick_one(self: Self, lanes: __m512i) -> Self = _mm512_permutexvar_ps(lanes, self);
}
vector! {
    #[cfg(has_avx512)]
    #[allow(clippy::incompatible_msrv)]
    __m512d: f64, __mmask8, __m512i, 8;
    fn zero() -> Self = _mm512_setzero_pd();
    fn splat(x: *const f64) -> Self = _mm512_set1_pd(*x);
    fn load(x: *const f64) -> Self = _mm512_loadu_pd(x);
    fn store(self: Self, out: *mut f64) = _mm512_storeu_pd(out, self);
    fn add(self: Self, x: Self) -> Self = _mm512_add_pd(self, x);
    fn subtract(self: Self, x: Self) -> Self = _mm512_sub_pd(self, x);
    fn add_product(self: Self, x: Self, y: Self) -> Self = _mm512_fmadd_pd(x, y, self);
    fn times(self: Self, x: Self) -> Self = _mm512_mul_pd(self, x);
    fn mask(count: usize) -> __mmask8 = (0xff >> (8 - count)) as __mmask8;
    fn load_some(x: *const f64, mask: __mmask8) -> Self = _mm512_maskz_loadu_pd(mask, x);
    fn store_some(self: Self, out: *mut f64, mask: __mmask8) = _mm512_mask_storeu_pd(out, mask, self);
    fn lanes(x: *const u32) -> __m512i = _mm512_cvtepu32_epi64(_mm256_loadu_si256(x.cast()));
    fn pick(self: Self, other: Self, lanes: __m512i) -> Self = _mm512_permutex2var_pd(self, lanes, other);
    fn pick_one(self: Self, lanes: __m512i) -> Self = _mm512_permutexvar_pd(lanes, self);
}
