//! The processor that native code is for: what code generation asks of it.
//!
//! A processor has a folder, with an assembler, whose methods are those of the others by name, and methods of
//! [`Emitter`](super::emit::Emitter) that choose its instructions: `select` for an op, `step` for a step of a
//! formula, `guard`, `call_kernel`, and how elements are loaded, stored and converted.

#[cfg(target_arch = "aarch64")]
pub use super::arm::{
    assembler::*, forget_tiny, has_wide, has_wide_extremes, is_here, met_tiny, opcodes::*, RETURN,
};
#[cfg(target_arch = "x86_64")]
pub use super::x86::{
    assembler::*, forget_tiny, has_wide, has_wide_extremes, is_here, met_tiny, opcodes::*, RETURN,
};

/// Gives a macro that declares functions the convention by which they and native code call one another: it is
/// that of the processor, whatever the system, and Rust's own code keeps to that of the system.
macro_rules! with_convention {
    ($functions:ident) => {
        #[cfg(target_arch = "x86_64")]
        $functions! { "sysv64" }
        #[cfg(target_arch = "aarch64")]
        $functions! { "C" }
    };
}
pub(super) use with_convention;

macro_rules! functions {
    ($convention:literal) => {
        /// The code of a chain: of the addresses of its arguments and a number of elements.
        pub type ChainFunction = unsafe extern $convention fn(*const *mut u8, usize);

        /// That of a loop: of the addresses of its arguments, some of which it moves, a number of iterations and the first
        /// one's index. It returns how many are left.
        pub type LoopFunction = unsafe extern $convention fn(*mut *mut u8, usize, usize) -> usize;
    };
}
with_convention!(functions);
