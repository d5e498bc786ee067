//! Threads for large kernels.
//!
//! The pool belongs to the process that made it: after `fork()` its threads do not exist in the child, and waiting for
//! them would never end, so the child makes one of its own. Work is cut by size, never by the number of threads, and each
//! piece makes elements that no other makes, so that a result does not depend on that number.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Arc, Mutex};

/// Elementary operations below which a kernel stays on the calling thread: handing work over takes tens of microseconds.
pub const PARALLEL_FROM: usize = 1 << 20;

static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Number of threads: `ANVIL_NUM_THREADS`, else the processors of this machine; at most `OMP_THREAD_LIMIT`, and at most 2
/// where R's package checks ask for it.
pub fn threads() -> usize {
    let number = |name: &str| std::env::var(name).ok()?.parse::<usize>().ok().filter(|&n| n > 0);
    let all = std::thread::available_parallelism().map_or(1, |n| n.get());
    let wanted = number("ANVIL_NUM_THREADS").unwrap_or(all).min(number("OMP_THREAD_LIMIT").unwrap_or(usize::MAX));
    let checked = std::env::var("_R_CHECK_LIMIT_CORES_").is_ok_and(|v| !v.is_empty() && !v.eq_ignore_ascii_case("false"));
    if checked { wanted.min(2) } else { wanted }
}

/// The pool of this process; `None` if one thread is all there is, or threads cannot be had.
fn pool() -> Option<Arc<ThreadPool>> {
    let mut slot = POOL.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let process = std::process::id();
    if let Some((owner, pool)) = slot.as_ref() {
        if *owner == process {
            return Some(pool.clone());
        }
    }
    // The threads of a parent's pool are not there to be joined: it is left as it is.
    std::mem::forget(slot.take());
    let threads = threads();
    if threads < 2 {
        return None;
    }
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(threads).build().ok()?);
    *slot = Some((process, pool.clone()));
    Some(pool)
}

/// Calls `piece(i, chunk)` for the chunks of `out` of `size` elements (the last may be shorter), on all threads if `work`,
/// the number of elementary operations in all, is worth it.
pub fn for_each_chunk<T: Send>(out: &mut [T], size: usize, work: usize, piece: impl Fn(usize, &mut [T]) + Send + Sync) {
    let size = size.max(1);
    let pool = if work >= PARALLEL_FROM && out.len() > size { pool() } else { None };
    match pool {
        Some(pool) => pool.scope(|scope| {
            let piece = &piece;
            for (i, chunk) in out.chunks_mut(size).enumerate() {
                scope.spawn(move |_| piece(i, chunk));
            }
        }),
        None => out.chunks_mut(size).enumerate().for_each(|(i, chunk)| piece(i, chunk)),
    }
}

/// Calls `piece(i)` for all `i` below `count`, on all threads if `shared`.
pub fn for_each_piece(count: usize, shared: bool, piece: impl Fn(usize) + Send + Sync) {
    let pool = if shared && count > 1 { pool() } else { None };
    match pool {
        Some(pool) => pool.scope(|scope| {
            let piece = &piece;
            for i in 0..count {
                scope.spawn(move |_| piece(i));
            }
        }),
        None => (0..count).for_each(piece),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_is_visited_once_at_any_size() {
        for work in [0, PARALLEL_FROM] {
            for n in [0, 1, 10, 1000] {
                let mut out = vec![0usize; n];
                for_each_chunk(&mut out, 7, work, |i, chunk| {
                    for (j, x) in chunk.iter_mut().enumerate() {
                        *x += i * 7 + j + 1;
                    }
                });
                assert!(out.into_iter().eq(1..=n));
            }
        }
    }

    #[test]
    fn a_panic_in_a_piece_reaches_the_caller() {
        let caught = std::panic::catch_unwind(|| {
            for_each_chunk(&mut [0u8; 100], 10, PARALLEL_FROM, |i, _| assert!(i != 5, "piece 5"));
        });
        assert!(caught.is_err());
    }
}
