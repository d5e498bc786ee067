//! Native code for x86-64: AVX2, and AVX-512 where chains have functions.

pub mod assembler;
mod control;
mod moves;
pub mod opcodes;
mod quotients;
mod selection;
mod steps;
mod wide;

use crate::kernels::math::Level;
use std::arch::asm;

/// Whether native code is for this processor, at the level in use.
pub fn is_here() -> bool {
    Level::current() != Level::Portable && Level::Avx2.is_here()
}

/// Whether there are vectors of 64 bytes at the level in use.
pub fn has_wide() -> bool {
    Level::current().name() == "avx512"
}

/// Whether an instruction on vectors of 64 bytes takes the larger of two floats, and tells zeros apart by their signs: all
/// processors with [`has_wide`] but the first have it.
pub fn has_wide_extremes() -> bool {
    has_wide() && std::arch::is_x86_feature_detected!("avx512dq")
}

/// The flags of the register of states for operands that are subnormal numbers, and results that would be.
const TINY: u32 = 0x12;

/// The register of states.
fn states() -> u32 {
    let mut states = 0u32;
    // SAFETY: stores four bytes where there are as many.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut states, options(nostack, preserves_flags)) };
    states
}

/// Forgets that subnormal numbers were met.
pub fn forget_tiny() {
    let states = states() & !TINY;
    // SAFETY: only flags change, which nothing else reads and no code needs to keep.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const states, options(nostack, readonly)) };
}

/// Whether this thread has met subnormal numbers since, on which products take longer.
pub fn met_tiny() -> bool {
    states() & TINY != 0
}

/// Code of a function that only returns.
pub const RETURN: &[u8] = &[0xC3];
