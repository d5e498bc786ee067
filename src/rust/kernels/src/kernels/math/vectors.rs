//! Loops of other kernels that are written over the operations of [`Lanes`](super::lanes::Lanes), compiled for
//! every level: where what the compiler makes of a plain loop is not to be relied on.

use super::lanes::{Paired, Singles, Wide};
use super::{portable, Level};

/// A loop on vectors of singles and of doubles. `run` is to be `#[inline(always)]`.
pub(in crate::kernels) trait Vectored {
    /// Its result.
    type Made;
    /// The loop.
    fn run<S: Singles<Scalar = f32> + Paired, D: Wide + Paired>(self) -> Self::Made;
}

/// Runs a loop at the level of this processor.
#[inline]
pub(in crate::kernels) fn vectored<V: Vectored>(work: V) -> V::Made {
    match Level::current() {
        Level::Portable => work.run::<portable::F32x4, portable::F64x2>(),
        // SAFETY: the current level is one that the processor has.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { at_avx2(work) },
        #[cfg(all(target_arch = "x86_64", has_avx512))]
        // SAFETY: as above.
        Level::Avx512 => unsafe { at_avx512(work) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        Level::Neon => unsafe { at_neon(work) },
    }
}

macro_rules! levels {
    ($($(#[$attribute:meta])+ $name:ident $level:ident $singles:ident $doubles:ident;)+) => {$(
        $(#[$attribute])+
        unsafe fn $name<V: Vectored>(work: V) -> V::Made {
            work.run::<super::$level::$singles, super::$level::$doubles>()
        }
    )+};
}
levels! {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    at_avx2 avx2 F32x8 F64x4;
    #[cfg(all(target_arch = "x86_64", has_avx512))]
    #[allow(clippy::incompatible_msrv)] // compiled by compilers that have it: build.rs
    #[target_feature(enable = "avx512f,avx2,fma")]
    at_avx512 avx512 F32x16 F64x8;
    #[cfg(target_arch = "aarch64")]
    #[target_feature(enable = "neon")]
    at_neon neon F32x4 F64x2;
}
