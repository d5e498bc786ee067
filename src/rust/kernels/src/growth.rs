//! Fallible growth of vectors, maps and texts whose size depends on the user's program. A failed allocation
//! panics with [`OutOfMemory`], which the R side turns into an error; a failed allocation of the standard
//! library aborts the process.
//!
//! Small allocations use the standard library: the global allocator keeps a reserve for them (see
//! [`stop`](crate::stop::run_short)).

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::mem::size_of;
use std::panic::panic_any;

/// The payload of a panic for a failed allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutOfMemory {
    /// Bytes that were asked for.
    pub bytes: usize,
}

/// Reserves memory for so many more elements; the capacity doubles for a single one.
///
/// # Panics
/// With [`OutOfMemory`] if memory cannot be allocated, as all functions here.
pub fn reserve<T>(out: &mut Vec<T>, more: usize) {
    let made = if more == 1 { out.try_reserve(1) } else { out.try_reserve_exact(more) };
    if made.is_err() {
        panic_any(OutOfMemory { bytes: out.len().saturating_add(more).saturating_mul(size_of::<T>()) });
    }
}

/// Appends an element.
pub fn push<T>(out: &mut Vec<T>, x: T) {
    reserve(out, 1);
    out.push(x);
}

/// So many copies of a value.
pub fn table<T: Clone>(value: T, n: usize) -> Vec<T> {
    let mut out = Vec::new();
    reserve(&mut out, n);
    out.resize(n, value);
    out
}

/// Gives so many copies of a value to a function: on the stack if they are few, as in the body of a loop, which runs in
/// some nanoseconds.
pub fn with_table<T: Copy, R>(value: T, n: usize, run: impl FnOnce(&mut [T]) -> R) -> R {
    const FEW: usize = 64;
    let (mut stack, mut heap);
    run(if n <= FEW {
        stack = [value; FEW];
        &mut stack[..n]
    } else {
        heap = table(value, n);
        &mut heap
    })
}

/// Collects an iterator of known length.
pub fn collect<T>(from: impl ExactSizeIterator<Item = T>) -> Vec<T> {
    let mut out = Vec::new();
    reserve(&mut out, from.len());
    out.extend(from);
    out
}

/// Reserves memory for one more entry.
pub fn reserve_entry<K: Eq + Hash, V, S: BuildHasher>(map: &mut HashMap<K, V, S>) {
    if map.try_reserve(1).is_err() {
        panic_any(OutOfMemory { bytes: 2 * map.len().saturating_mul(size_of::<(K, V)>()) });
    }
}

/// A text.
#[derive(Default, Debug)]
pub struct Text(String);

impl Text {
    /// Appends to it.
    pub fn append(&mut self, text: &str) {
        if self.0.try_reserve(text.len()).is_err() {
            panic_any(OutOfMemory { bytes: self.0.len() + text.len() });
        }
        self.0.push_str(text);
    }

    /// The text of a value.
    pub fn of(x: &impl fmt::Display) -> String {
        let mut out = Text::default();
        fmt::write(&mut out, format_args!("{x}")).expect("appending does not fail");
        out.0
    }

    /// The string.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.append(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{catch_unwind, AssertUnwindSafe};

    #[test]
    fn what_cannot_be_had_is_a_panic_that_says_so() {
        let (mut vector, mut map) = (vec![1u64, 2], HashMap::from([(1, 2)]));
        let caught = catch_unwind(AssertUnwindSafe(|| reserve(&mut vector, usize::MAX / 16)));
        assert_eq!(
            caught.unwrap_err().downcast_ref(),
            Some(&OutOfMemory { bytes: (usize::MAX / 16 + 2).saturating_mul(8) })
        );
        push(&mut vector, 3);
        reserve_entry(&mut map);
        assert_eq!((vector, map[&1]), (vec![1, 2, 3], 2));
    }

    #[test]
    fn vectors_and_texts_are_what_they_are_elsewhere() {
        assert_eq!(table(7, 3), [7, 7, 7]);
        assert_eq!(collect((0..4).map(|i| 2 * i)), [0, 2, 4, 6]);
        assert_eq!(Text::of(&format_args!("{}-{}", 1, "x")), "1-x");
    }
}
