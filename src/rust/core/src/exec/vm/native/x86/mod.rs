//! Native code for x86-64: AVX2, and AVX-512 where chains have functions.

pub mod assembler;
mod moves;
pub mod opcodes;
mod selection;
mod steps;
mod wide;

use crate::kernels::math::Level;

/// Whether native code is for this processor, at the level in use.
pub fn is_here() -> bool {
    Level::current() != Level::Portable && Level::Avx2.is_here()
}

/// Whether there are vectors of 64 bytes at the level in use.
pub fn has_wide() -> bool {
    Level::current().name() == "avx512"
}

/// Code of a function that only returns.
pub const RETURN: &[u8] = &[0xC3];
