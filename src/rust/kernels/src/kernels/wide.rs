//! Loops compiled for the vectors that this processor has, chosen when it runs.
//!
//! The instructions do the same arithmetic on more elements at once: nothing is contracted or reordered, so
//! that all give the same bits. `ANVIL_SIMD` decides here too.

#[cfg(target_arch = "x86_64")]
use super::math::Level;

/// Runs a loop in the widest form that the processor has. Worth it for loops that the compiler turns into
/// vectors.
#[inline]
pub fn wide<R>(run: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if Level::current() != Level::Portable {
        // SAFETY: the processor has AVX2 at all levels but that one.
        return unsafe { avx2(run) };
    }
    run()
}

/// Code that is inlined here is compiled with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2<R>(run: impl FnOnce() -> R) -> R {
    run()
}

/// A loop as a type, for bodies so long that the compiler leaves a closure where it is, out of the widest
/// form: `run` is to be `#[inline(always)]`.
pub trait Loop {
    /// Its result.
    type Made;
    /// The loop.
    fn run(self) -> Self::Made;
}

/// As [`wide`].
#[inline]
pub fn wide_loop<L: Loop>(run: L) -> L::Made {
    #[cfg(target_arch = "x86_64")]
    if Level::current() != Level::Portable {
        // SAFETY: the processor has AVX2 at all levels but that one.
        return unsafe { avx2_loop(run) };
    }
    run.run()
}

/// Code that is inlined here is compiled with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2_loop<L: Loop>(run: L) -> L::Made {
    run.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_run_once() {
        let mut runs = 0;
        assert_eq!(
            wide(|| {
                runs += 1;
                7
            }),
            7
        );
        assert_eq!(runs, 1);
    }
}
