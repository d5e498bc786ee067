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
    vectored_at(Level::current(), work)
}

/// Bytes of the shortest vectors of all levels.
pub(in crate::kernels) const SHORTEST: usize = 16;

/// As [`vectored`], on vectors of at most so many bytes, or the shortest: at a lower level if need be. Elsewhere than on
/// x86-64 all are the shortest.
#[inline]
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
pub(in crate::kernels) fn vectored_within<V: Vectored>(bytes: usize, work: V) -> V::Made {
    #[cfg(target_arch = "x86_64")]
    let level = match Level::current() {
        Level::Portable => Level::Portable,
        _ if bytes < std::mem::size_of::<super::avx2::F64x4>() => Level::Portable,
        #[cfg(has_avx512)]
        Level::Avx512 if bytes < std::mem::size_of::<super::avx512::F64x8>() => Level::Avx2,
        level => level,
    };
    #[cfg(not(target_arch = "x86_64"))]
    let level = Level::current();
    vectored_at(level, work)
}

/// Runs a loop at a level that the processor has.
#[inline]
fn vectored_at<V: Vectored>(level: Level, work: V) -> V::Made {
    match level {
        Level::Portable => work.run::<portable::F32x4, portable::F64x2>(),
        // SAFETY: by the callers.
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
