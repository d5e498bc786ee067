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

/// Elements that are combined at one time: of 8 bytes, four vectors of AVX2.
const TOGETHER: usize = 16;

/// Has each element combined with another one: `each(acc, x)`, for as many as there are of both. For a choice of one
/// of the two: of a loop that stores one or the other the compiler makes stores under a mask, which take ten times as
/// long on AMD processors (EPYC, Zen 3). Here it cannot see that what it loads is in the place of the result.
#[inline(always)]
pub fn combine<A: Copy, T: Copy>(acc: &mut [A], x: &[T], each: impl Fn(A, T) -> A) {
    let n = acc.len().min(x.len());
    let (acc, x) = (&mut acc[..n], &x[..n]);
    let (mut blocks, xs) = (acc.chunks_exact_mut(TOGETHER), x.chunks_exact(TOGETHER));
    let rest = xs.remainder();
    for (acc, x) in (&mut blocks).zip(xs) {
        let from = unknown(acc.as_ptr()).cast::<[A; TOGETHER]>();
        // SAFETY: the address of the block.
        let mut made = unsafe { from.read() };
        for i in 0..TOGETHER {
            made[i] = each(made[i], x[i]);
        }
        acc.copy_from_slice(&made);
    }
    blocks.into_remainder().iter_mut().zip(rest).for_each(|(acc, &x)| *acc = each(*acc, x));
}

/// The same address, of which the compiler knows nothing more.
#[inline(always)]
fn unknown<T>(address: *const T) -> *const T {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        let mut address = address;
        // SAFETY: it has no instruction.
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) address, options(pure, readonly, nostack, preserves_flags));
        }
        address
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_element_is_combined_once() {
        for (n, m) in [(0, 0), (5, 5), (16, 40), (40, 33), (100, 100)] {
            let (x, mut acc): (Vec<u32>, Vec<u32>) = ((0..m).collect(), (0..n).map(|i| 7 * i % 50).collect());
            let want: Vec<u32> =
                acc.iter().enumerate().map(|(i, &a)| x.get(i).map_or(a, |&x| a.max(x))).collect();
            wide(|| combine(&mut acc, &x, u32::max));
            assert_eq!(acc, want, "{n} {m}");
        }
    }

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
