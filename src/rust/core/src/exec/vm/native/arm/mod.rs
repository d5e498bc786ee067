//! Native code for 64-bit ARM: NEON, which all of these processors have.
//!
//! Instructions have their operands in registers, so that what code generation reads from memory is loaded into a
//! register of its own first ([`READS_MEMORY`](assembler::READS_MEMORY)).

pub mod assembler;
mod control;
#[cfg(target_arch = "aarch64")]
mod moves;
pub mod opcodes;
#[cfg(target_arch = "aarch64")]
mod selection;
#[cfg(test)]
mod tests;

/// Whether native code is for this processor, at the level in use.
#[cfg(target_arch = "aarch64")]
pub fn is_here() -> bool {
    use crate::kernels::math::Level;
    Level::current() != Level::Portable
}

/// Whether there are vectors of 64 bytes at the level in use.
pub fn has_wide() -> bool {
    false
}

/// As on x86-64.
pub fn has_wide_extremes() -> bool {
    false
}

/// As on x86-64: subnormal numbers take no longer than others here.
pub fn forget_tiny() {}

/// As on x86-64.
pub fn met_tiny() -> bool {
    false
}

/// Code of a function that only returns.
pub const RETURN: &[u8] = &[0xC0, 0x03, 0x5F, 0xD6];
