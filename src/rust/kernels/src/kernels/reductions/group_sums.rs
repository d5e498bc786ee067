//! Sums of groups of elements in vectors of AVX2: see [`cumulative_sums`](super::cumulative_sums), whose bits
//! these are. The compiler makes them element by element, which takes twice as long.

use std::arch::x86_64::*;

/// Elements of a group.
const GROUP: usize = 8;

/// A float whose groups are summed as doubles.
pub(super) trait Grouped: Copy {
    /// Four elements as doubles.
    ///
    /// # Safety
    /// There are four from `x` on, and the processor has AVX2.
    unsafe fn load(x: *const Self) -> __m256d;
    /// Stores four, rounded.
    ///
    /// # Safety
    /// As [`Grouped::load`].
    unsafe fn store(x: *mut Self, sums: __m256d);
}

impl Grouped for f64 {
    #[inline(always)]
    unsafe fn load(x: *const f64) -> __m256d {
        // SAFETY: by the caller.
        unsafe { _mm256_loadu_pd(x) }
    }
    #[inline(always)]
    unsafe fn store(x: *mut f64, sums: __m256d) {
        // SAFETY: by the caller.
        unsafe { _mm256_storeu_pd(x, sums) }
    }
}

impl Grouped for f32 {
    #[inline(always)]
    unsafe fn load(x: *const f32) -> __m256d {
        // SAFETY: by the caller.
        unsafe { _mm256_cvtps_pd(_mm_loadu_ps(x)) }
    }
    #[inline(always)]
    unsafe fn store(x: *mut f32, sums: __m256d) {
        // SAFETY: by the caller.
        unsafe { _mm_storeu_ps(x, _mm256_cvtpd_ps(sums)) }
    }
}

/// As [`Grouped::load`], the last one first if `BACK`.
///
/// # Safety
/// As there.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn four<T: Grouped, const BACK: bool>(x: *const T) -> __m256d {
    // SAFETY: by the caller.
    unsafe { turned::<BACK>(T::load(x)) }
}

/// The elements in the order that [`four`] gives them.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn turned<const BACK: bool>(x: __m256d) -> __m256d {
    if BACK {
        _mm256_permute4x64_pd::<0b00_01_10_11>(x)
    } else {
        x
    }
}

/// Where the first and the second half of a group begin, from its first element on: it is taken from its last one if
/// `BACK`.
const fn halves<const BACK: bool>() -> [usize; 2] {
    if BACK {
        [4, 0]
    } else {
        [0, 4]
    }
}

/// Cumulative sums of four doubles.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn half(x: __m256d) -> __m256d {
    let nothing = _mm256_set1_pd(-0.0);
    let pairs = _mm256_add_pd(x, _mm256_unpacklo_pd(nothing, x));
    let whole = _mm256_permute_pd::<0b1111>(pairs);
    _mm256_add_pd(pairs, _mm256_permute2f128_pd::<0x02>(whole, nothing))
}

/// The cumulative sums of whole groups, of as many elements of `x` or in place, with what comes before; gives
/// what they carry. From the last element to the first if `BACK`.
///
/// # Safety
/// The processor has AVX2.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn cumulate<T: Grouped, const BACK: bool>(
    before: f64,
    carried: f64,
    x: Option<&[T]>,
    out: &mut [T],
) -> f64 {
    let (before, mut carried) = (_mm256_set1_pd(before), _mm256_set1_pd(carried));
    let len = x.map_or(out.len(), |x| out.len().min(x.len()));
    let to = out.as_mut_ptr();
    let from = x.map_or(to.cast_const(), <[T]>::as_ptr);
    let ([first, second], groups) = (halves::<BACK>(), len / GROUP);
    for group in 0..groups {
        let at = GROUP * if BACK { groups - 1 - group } else { group };
        // SAFETY: there are eight elements in both, and the processor has AVX2, by the caller.
        unsafe {
            let (from, x) = (from.add(at), to.add(at));
            let (low, high) =
                (half(four::<T, BACK>(from.add(first))), half(four::<T, BACK>(from.add(second))));
            let high = _mm256_add_pd(high, _mm256_permute4x64_pd::<0b11_11_11_11>(low));
            let base = _mm256_add_pd(before, carried);
            T::store(x.add(first), turned::<BACK>(_mm256_add_pd(base, low)));
            T::store(x.add(second), turned::<BACK>(_mm256_add_pd(base, high)));
            carried = _mm256_add_pd(carried, _mm256_permute4x64_pd::<0b11_11_11_11>(high));
        }
    }
    _mm256_cvtsd_f64(carried)
}

/// What whole groups carry, from the last element to the first if `BACK`.
///
/// # Safety
/// The processor has AVX2.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn total<T: Grouped, const BACK: bool>(mut carried: f64, x: &[T]) -> f64 {
    let ([first, second], groups) = (halves::<BACK>(), x.len() / GROUP);
    for group in 0..groups {
        let at = GROUP * if BACK { groups - 1 - group } else { group };
        // SAFETY: there are eight elements from there on, and the processor has AVX2, by the caller.
        unsafe {
            let x = x.as_ptr().add(at);
            let pairs = _mm256_hadd_pd(four::<T, BACK>(x.add(first)), four::<T, BACK>(x.add(second)));
            let halves = _mm_add_pd(_mm256_extractf128_pd::<1>(pairs), _mm256_castpd256_pd128(pairs));
            carried += _mm_cvtsd_f64(_mm_add_sd(_mm_unpackhi_pd(halves, halves), halves));
        }
    }
    carried
}
