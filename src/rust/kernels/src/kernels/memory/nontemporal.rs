//! Non-temporal stores, for results that are not read soon: they bypass the caches, memory is not read first,
//! and the caches keep their content.

/// Copies bytes past the caches where the processor can; the destination is best aligned to a cache line.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn stream(from: &[u8], to: &mut [u8]) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    const UNIT: usize = size_of::<__m128i>();
    let (first, from_first) = to.split_at_mut(to.as_ptr().align_offset(UNIT).min(to.len()));
    first.copy_from_slice(&from[..first.len()]);
    let from = &from[first.len()..];
    let (mut to, mut from) = (from_first.chunks_exact_mut(UNIT), from.chunks_exact(UNIT));
    for (to, from) in to.by_ref().zip(from.by_ref()) {
        // SAFETY: every processor of the kind has these; both are as long, and the first is aligned: chunks
        // of an aligned slice.
        unsafe { _mm_stream_si128(to.as_mut_ptr().cast(), _mm_loadu_si128(from.as_ptr().cast())) };
    }
    to.into_remainder().copy_from_slice(from.remainder());
}

/// A copy: other processors have no such stores here.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn stream(from: &[u8], to: &mut [u8]) {
    to.copy_from_slice(from);
}

/// A fence: what [`stream`] wrote is visible before anything that is written later.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn streamed() {
    // SAFETY: every processor of the kind has it.
    unsafe { std::arch::x86_64::_mm_sfence() };
}

/// Nothing: a copy needs no fence.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn streamed() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_any_place_and_number_are_copied_past_the_caches() {
        let from: Vec<u8> = (0..=255).collect();
        for start in 0..17 {
            for len in [0, 1, 5, 16, 31, 32, 33, 200] {
                let mut to = vec![7u8; 256];
                stream(&from[3..3 + len], &mut to[start..start + len]);
                streamed();
                assert_eq!(to[start..start + len], from[3..3 + len]);
                assert!(to[..start].iter().chain(&to[start + len..]).all(|&x| x == 7));
            }
        }
    }
}
