//! What a run needs for itself and the next one takes over: buffers, and programs bound to them.

use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Values of which each run has one for itself. Runs at the same time, on several threads or inside one another (from
/// an interrupt handler of R), have one each; the next ones find them all. What a run was left with by a panic is
/// dropped.
pub(super) struct Reused<T>(Mutex<Vec<T>>);

impl<T> Default for Reused<T> {
    fn default() -> Reused<T> {
        Reused(Mutex::default())
    }
}

impl<T> fmt::Debug for Reused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reused")
    }
}

impl<T> Reused<T> {
    /// With one value.
    pub fn with_one(value: T) -> Reused<T> {
        Reused(Mutex::new(vec![value]))
    }

    /// Runs with a value that no other run has; it is made if all are taken.
    #[inline]
    pub fn with<R>(&self, make: impl FnOnce() -> T, run: impl FnOnce(&mut T) -> R) -> R {
        let free = self.values().pop();
        let mut value = free.unwrap_or_else(make);
        let out = run(&mut value);
        self.values().push(value);
        out
    }

    /// The values that no run has. Nothing panics while it is locked.
    fn values(&self) -> std::sync::MutexGuard<'_, Vec<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What all values that no run has add up to.
    pub fn sum(&self, each: impl Fn(&T) -> usize) -> usize {
        self.values().iter().map(each).sum()
    }
}
