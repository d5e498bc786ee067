//! The number of threads, and the pool.

pub mod parts;
mod placement;
pub mod pool;

use crate::error::{Error, Result};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::OnceLock;

/// Threads, at most: more are surely a mistake, and each takes memory for a stack.
pub const MAX_THREADS: usize = 1024;

/// The requested number of threads; 0 for the default of the surroundings.
static WANTED: AtomicUsize = AtomicUsize::new(0);

/// The settings in the environment of a process, read once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Surroundings {
    /// Threads, if no other number is requested.
    pub default: usize,
    /// Threads, at most, whatever is requested.
    pub limit: usize,
    /// Name and value of a variable that should be a number of threads and is none.
    pub ignored: Option<String>,
}

impl Surroundings {
    /// From the variables of the environment and the number of processors that the process may use.
    fn new(variable: impl Fn(&str) -> Option<String>, processors: usize) -> Surroundings {
        let number = |name: &str| {
            variable(name)?.trim().parse::<usize>().ok().filter(|n| (1..=MAX_THREADS).contains(n))
        };
        const OWN: &str = "ANVIL_NUM_THREADS";
        let own = number(OWN);
        let given = variable(OWN).filter(|text| !text.trim().is_empty());
        let ignored = given.filter(|_| own.is_none()).map(|text| format!("{OWN}={text}"));
        // R's package checks allow two processors: https://cran.r-project.org/web/packages/policies.html
        let checked = variable("_R_CHECK_LIMIT_CORES_")
            .is_some_and(|v| !v.is_empty() && !v.eq_ignore_ascii_case("false"));
        let limit =
            number("OMP_THREAD_LIMIT").unwrap_or(MAX_THREADS).min(if checked { 2 } else { MAX_THREADS });
        Surroundings { default: own.unwrap_or(processors).min(limit), limit, ignored }
    }
}

/// The surroundings of this process: `ANVIL_NUM_THREADS`, else the processors that it may use, which are
/// fewer than the machine has where a mask or a quota of a control group (of either version) says so; at most
/// `OMP_THREAD_LIMIT`, and at most 2 where `_R_CHECK_LIMIT_CORES_` is set.
pub fn surroundings() -> &'static Surroundings {
    static FOUND: OnceLock<Surroundings> = OnceLock::new();
    FOUND.get_or_init(|| {
        let processors = std::thread::available_parallelism().map_or(1, |n| n.get());
        Surroundings::new(|name| std::env::var(name).ok(), processors)
    })
}

/// Requests a number of threads for this process; `None` is the default of the surroundings. Results do not
/// depend on it.
///
/// # Errors
/// [`Error::Arg`] for 0, and for more than [`MAX_THREADS`].
pub fn want(threads: Option<usize>) -> Result<()> {
    match threads {
        Some(n) if n == 0 || n > MAX_THREADS => Err(unusable(&n.to_string())),
        _ => {
            WANTED.store(threads.unwrap_or(0), Relaxed);
            Ok(())
        }
    }
}

/// The error for an invalid number of threads.
pub fn unusable(got: &str) -> Error {
    Error::Arg {
        arg: "threads".into(),
        expected: format!("a whole number from 1 to {MAX_THREADS}"),
        got: got.into(),
        hint: "`NULL` stands for all processors that this process may use.".into(),
    }
}

/// Number of threads in force, the caller's included.
#[inline]
pub fn threads() -> usize {
    let around = surroundings();
    match WANTED.load(Relaxed) {
        0 => around.default,
        n => n.min(around.limit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)], processors: usize) -> (usize, usize) {
        let variable = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string());
        let around = Surroundings::new(variable, processors);
        (around.default, around.limit)
    }

    #[test]
    fn the_surroundings_set_a_default_and_a_limit() {
        assert_eq!(found(&[], 8), (8, MAX_THREADS));
        assert_eq!(found(&[("ANVIL_NUM_THREADS", " 3 ")], 8), (3, MAX_THREADS));
        assert_eq!(found(&[("ANVIL_NUM_THREADS", "12"), ("OMP_THREAD_LIMIT", "5")], 8), (5, 5));
        assert_eq!(found(&[("_R_CHECK_LIMIT_CORES_", "warn")], 8), (2, 2));
        assert_eq!(found(&[("_R_CHECK_LIMIT_CORES_", "FALSE")], 8), (8, MAX_THREADS));
        assert_eq!(found(&[("_R_CHECK_LIMIT_CORES_", "")], 1), (1, MAX_THREADS));
    }

    #[test]
    fn what_is_no_number_of_threads_is_ignored_and_named() {
        for text in ["0", "-1", "many", "1e9", "2.5"] {
            assert_eq!(
                found(&[("ANVIL_NUM_THREADS", text), ("OMP_THREAD_LIMIT", text)], 8),
                (8, MAX_THREADS),
                "{text}"
            );
            let around = Surroundings::new(|name| (name == "ANVIL_NUM_THREADS").then(|| text.into()), 8);
            assert_eq!(around.ignored, Some(format!("ANVIL_NUM_THREADS={text}")));
        }
        assert_eq!(Surroundings::new(|_| Some("4".into()), 8).ignored, None);
        assert!(want(Some(0)).is_err() && want(Some(MAX_THREADS + 1)).is_err());
    }
}
