//! Instruction sets that kernels are compiled for, and which one is in use.

use crate::error::{Error, Result};
use std::sync::OnceLock;

/// An instruction set that the mathematics is compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// The baseline of the architecture.
    Portable,
    /// 256-bit vectors with fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512-bit vectors.
    #[cfg(all(target_arch = "x86_64", has_avx512))]
    Avx512,
    /// 128-bit vectors of ARM.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Level {
    /// The levels of this build, the best one last.
    pub const ALL: &'static [Level] = &[
        Level::Portable,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2,
        #[cfg(all(target_arch = "x86_64", has_avx512))]
        Level::Avx512,
        #[cfg(target_arch = "aarch64")]
        Level::Neon,
    ];

    /// Name, as `ANVIL_SIMD` has it.
    pub fn name(self) -> &'static str {
        match self {
            Level::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => "avx2",
            #[cfg(all(target_arch = "x86_64", has_avx512))]
            Level::Avx512 => "avx512",
            #[cfg(target_arch = "aarch64")]
            Level::Neon => "neon",
        }
    }

    /// Whether this processor has it.
    pub fn is_here(self) -> bool {
        match self {
            Level::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(all(target_arch = "x86_64", has_avx512))]
            Level::Avx512 => is_x86_feature_detected!("avx512f") && Level::Avx2.is_here(),
            #[cfg(target_arch = "aarch64")]
            Level::Neon => std::arch::is_aarch64_feature_detected!("neon"),
        }
    }

    /// The level in use: the best that this processor has, or the one that the environment variable
    /// `ANVIL_SIMD` names, if the processor has it.
    #[inline]
    pub fn current() -> Level {
        Level::choice().0
    }

    /// Checks `ANVIL_SIMD`. A level that this processor or this build lacks is no error: the same variable
    /// may be set on all machines of a cluster, and bits do not depend on it.
    ///
    /// # Errors
    /// [`Error::Arg`] if it names no level of any processor.
    pub fn check() -> Result<()> {
        match Level::choice().1.as_deref() {
            None => Ok(()),
            Some(name) => Err(Error::Arg {
                arg: VARIABLE.into(),
                expected: format!("one of {}", NAMES.map(|name| format!("\"{name}\"")).join(", ")),
                got: format!("\"{name}\""),
                hint: "It is an environment variable that is read once: set another value, or none, and start again.".into(),
            }),
        }
    }

    /// The level in use, and the invalid name, if `ANVIL_SIMD` has one.
    #[inline]
    fn choice() -> &'static (Level, Option<String>) {
        static CHOICE: OnceLock<(Level, Option<String>)> = OnceLock::new();
        CHOICE.get_or_init(|| {
            Level::choose(std::env::var_os(VARIABLE).map(|name| name.to_string_lossy().into_owned()))
        })
    }

    fn choose(asked: Option<String>) -> (Level, Option<String>) {
        let asked = asked.filter(|name| !name.is_empty());
        let here = || Level::ALL.iter().copied().filter(|level| level.is_here());
        let found = asked.as_ref().and_then(|name| here().find(|level| level.name() == name));
        let best = here().next_back().unwrap_or(Level::Portable);
        (found.unwrap_or(best), asked.filter(|name| !NAMES.contains(&name.as_str())))
    }
}

/// The environment variable that names a level.
const VARIABLE: &str = "ANVIL_SIMD";

/// Names of the levels of all processors.
const NAMES: [&str; 4] = ["portable", "avx2", "avx512", "neon"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_chosen_by_its_name() {
        let choose = |name: &str| Level::choose(Some(name.to_string()));
        let best = Level::choose(None).0;
        assert_eq!(choose(""), (best, None));
        assert_eq!(choose("portable"), (Level::Portable, None));
        for level in Level::ALL {
            assert!(NAMES.contains(&level.name()));
            assert_eq!(choose(level.name()), (if level.is_here() { *level } else { best }, None));
        }
        assert_eq!(choose("AVX2"), (best, Some("AVX2".into())));
    }
}
