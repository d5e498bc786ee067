//! Results that are written part by part, by the pieces of a job.

use super::pool;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// A list of results, which the next job reuses.
#[derive(Default)]
pub struct Parts(Vec<Whole>);

/// A result: its first byte, and the bytes of a part.
struct Whole(AtomicPtr<u8>, usize);

impl Parts {
    /// Calls `piece(i, parts)` for all `i` below `count`, in any order, on all threads if `shared`. `parts` has part
    /// `i` of each result; a result comes with the bytes of a part.
    ///
    /// # Panics
    /// If a result has fewer bytes than its parts, and as [`pool::for_each_piece`].
    pub fn for_each<'a>(
        &mut self,
        results: impl Iterator<Item = (&'a mut [u8], usize)>,
        count: usize,
        shared: bool,
        piece: impl Fn(usize, &mut dyn Iterator<Item = &mut [u8]>) + Sync,
    ) {
        self.0.clear();
        self.0.extend(results.map(|(result, bytes)| {
            let all = bytes.checked_mul(count).expect("parts of a result are too long");
            assert!(all <= result.len(), "a result is shorter than its parts");
            Whole(AtomicPtr::new(result.as_mut_ptr()), bytes)
        }));
        let all = &self.0;
        pool::for_each_piece(count, shared, |i| {
            let part = |Whole(first, bytes): &Whole| {
                // SAFETY: within the result, which is borrowed exclusively until all pieces are done; each number
                // comes once, and parts have no bytes in common.
                unsafe { std::slice::from_raw_parts_mut(first.load(Relaxed).add(i * bytes), *bytes) }
            };
            piece(i, &mut all.iter().map(part));
        });
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_piece_writes_its_parts() {
        for shared in [false, true] {
            let (mut a, mut b, mut none) = (vec![0u8; 300], vec![0u8; 100], vec![]);
            let mut parts = Parts::default();
            let results = [(&mut a[..], 3), (&mut b[..], 1), (&mut none[..], 0)];
            parts.for_each(results.into_iter(), 100, shared, |i, parts| {
                parts.for_each(|part| part.fill(i as u8));
            });
            assert!(a.iter().enumerate().all(|(at, &x)| usize::from(x) == at / 3));
            assert!(b.iter().enumerate().all(|(at, &x)| usize::from(x) == at));
        }
    }
}
