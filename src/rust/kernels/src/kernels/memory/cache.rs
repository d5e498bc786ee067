//! Lines of the caches.

/// Bytes of a line.
pub const LINE: usize = 64;

/// Asks the processor for the line of the cache at an address, which need not be one of memory.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn prefetch(at: *const u8) {
    use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
    // SAFETY: every processor of the kind has it, and it reads nothing.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
}

/// Nothing: other processors are not asked.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn prefetch(_at: *const u8) {}

/// [Asks](prefetch) for the lines of so many bytes.
#[inline(always)]
pub fn fetch(start: *const u8, bytes: usize) {
    (0..bytes).step_by(LINE).for_each(|at| prefetch(start.wrapping_add(at)));
}
