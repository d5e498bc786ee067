//! Cancellation: long work reports its progress, and is left by unwinding when a watch asks for it.
//!
//! A caller that may stop the work of its thread runs it in [`watched`]: R's thread asks R whether the user
//! interrupts or a time limit is over. Loops call [`work`] at least once per ten thousand elements or so,
//! which is a subtraction in most cases. Every [`EVERY`] elements the clock is read, and every
//! [`Watch::period`] the watch is asked. If it says yes, the work is left by unwinding, as after a failed
//! allocation: functions below [`watched`] need not pass on an answer, and unfinished values are dropped.
//! Helpers of the pool ask no watch; they read a flag that the thread they work for sets.
//!
//! When memory runs short, the work is left in the same way, with [`OutOfMemory`]: the global allocator,
//! which must not unwind, reports it by [`run_short`].
//!
//! Without a watch nothing is left, and no bit of a result depends on watches.

use crate::growth::OutOfMemory;
use std::cell::Cell;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Elements between two readings of the clock, of about a nanosecond each; elements that take longer count
/// several times.
pub const EVERY: usize = 1 << 14;

/// A question whether to stop, and how often it is asked.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    /// Whether to stop; the argument is the number of elements reported since the last reading of the clock.
    pub ask: fn(usize) -> bool,
    /// Elements between two readings of the clock.
    pub every: usize,
    /// Time before the first question, and between two questions.
    pub period: Duration,
}

/// A watch that is in force.
#[derive(Clone, Copy)]
struct Kept {
    watch: Watch,
    /// When it was last asked; before, the first reading of the clock.
    since: Option<Instant>,
}

/// The state of a thread.
struct Here {
    /// Elements until the next reading of the clock.
    left: Cell<usize>,
    /// Elements between the last reading and the next.
    start: Cell<usize>,
    watch: Cell<Option<Kept>>,
    /// For a helper, the flag that stops it.
    flag: Cell<Option<&'static AtomicBool>>,
}

thread_local! {
    static HERE: Here =
        const { Here { left: Cell::new(EVERY), start: Cell::new(EVERY), watch: Cell::new(None), flag: Cell::new(None) } };
}

/// The payload of the unwinding.
struct Stopped;

/// Bytes that the system could not allocate, if the next [`work`] shall be left for it; else 0.
static SHORT: AtomicUsize = AtomicUsize::new(0);

/// Has the next [`work`] left: the system could not allocate so many bytes, and the reserve is in use.
pub fn run_short(bytes: usize) {
    SHORT.store(bytes.max(1), Relaxed);
}

/// Memory is no longer short.
pub fn recover() {
    SHORT.store(0, Relaxed);
}

/// Reports that so many elements are computed, or about to be.
#[inline]
pub fn work(elements: usize) {
    HERE.with(|here| match here.left.get().checked_sub(elements) {
        Some(left) if left > 0 => here.left.set(left),
        _ => {
            if look(here, elements) {
                leave();
            }
        }
    });
}

/// Checks now, for a thread that waits for others.
pub(crate) fn check() {
    if HERE.with(|here| look(here, 0)) {
        leave();
    }
}

/// Unwinds to [`watched`], which must be on the stack.
pub fn leave() -> ! {
    resume_unwind(Box::new(Stopped))
}

#[cold]
#[inline(never)]
fn look(here: &Here, elements: usize) -> bool {
    let done = here.start.get() - here.left.get() + elements;
    let kept = here.watch.get();
    begin(here, kept);
    if here.flag.get().is_some_and(|flag| flag.load(Relaxed)) {
        return true;
    }
    let Some(Kept { watch, since }) = kept else { return false };
    let bytes = SHORT.load(Relaxed);
    if bytes > 0 {
        resume_unwind(Box::new(OutOfMemory { bytes }));
    }
    let set = || here.watch.set(Some(Kept { watch, since: Some(Instant::now()) }));
    if watch.period > Duration::ZERO {
        match since {
            // Most work is done before a second reading of the clock.
            None => {
                set();
                return false;
            }
            Some(since) if since.elapsed() < watch.period => return false,
            Some(_) => {}
        }
    }
    // The question may run work on this thread, which must not ask it again.
    let stop = unwatched(|| (watch.ask)(done));
    set();
    stop
}

/// Starts a new count.
fn begin(here: &Here, kept: Option<Kept>) {
    let every = kept.map_or(EVERY, |kept| kept.watch.every.max(1));
    here.left.set(every);
    here.start.set(every);
}

/// Restores the previous watch and counts when it is dropped.
struct Restore(Option<Kept>, [usize; 2]);

impl Restore {
    fn set(kept: Option<Kept>) -> Restore {
        HERE.with(|here| {
            let before = Restore(here.watch.replace(kept), [here.left.get(), here.start.get()]);
            begin(here, kept);
            before
        })
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        HERE.with(|here| {
            here.watch.set(self.0);
            here.left.set(self.1[0]);
            here.start.set(self.1[1]);
        });
    }
}

/// Runs `body` under a watch; `None` if the watch stopped it.
///
/// # Panics
/// If `body` does.
pub fn watched<T>(watch: Watch, body: impl FnOnce() -> T) -> Option<T> {
    let restore = Restore::set(Some(Kept { watch, since: None }));
    let out = catch_unwind(AssertUnwindSafe(body));
    drop(restore);
    match out {
        Ok(x) => Some(x),
        Err(payload) if payload.is::<Stopped>() => None,
        Err(payload) => resume_unwind(payload),
    }
}

/// Runs `body` without a watch, for frames that must not be unwound.
pub fn unwatched<T>(body: impl FnOnce() -> T) -> T {
    let _restore = Restore::set(None);
    body()
}

/// Has this thread leave its work whenever the flag is set, for a helper.
pub(crate) fn follow(flag: &'static AtomicBool) {
    HERE.with(|here| here.flag.set(Some(flag)));
}

/// Copies a slice to one of the same length, in pieces between which it may be stopped.
pub fn copy<T: Copy>(from: &[T], to: &mut [T]) {
    assert!(from.len() == to.len(), "a copy of another length");
    if size_of_val(from) <= COPIED {
        return to.copy_from_slice(from);
    }
    let part = (COPIED / size_of::<T>()).max(1);
    for (from, to) in from.chunks(part).zip(to.chunks_mut(part)) {
        to.copy_from_slice(from);
        work(EVERY);
    }
}

/// Fills a slice with one element, in pieces between which it may be stopped.
pub fn fill<T: Copy>(out: &mut [T], value: T) {
    for part in out.chunks_mut((COPIED / size_of::<T>().max(1)).max(1)) {
        part.fill(value);
        work(EVERY.min(part.len()));
    }
}

/// Bytes that are copied or filled between two checks: about a millisecond for memory that was never touched.
const COPIED: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    thread_local! {
        /// The numbers that were reported.
        static TOLD: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    }

    fn each(ask: fn(usize) -> bool) -> Watch {
        Watch { ask, every: 10, period: Duration::ZERO }
    }

    #[test]
    fn what_is_watched_is_left_when_asked() {
        let third = |n: usize| {
            TOLD.with_borrow_mut(|told| {
                told.push(n);
                told.len() == 3
            })
        };
        let done = Cell::new(0);
        let out = watched(each(third), || {
            for _ in 0..100 {
                work(4);
                done.set(done.get() + 1);
            }
        });
        assert_eq!((out, done.get(), TOLD.take()), (None, 8, vec![12, 12, 12]));
        // It is not asked any more.
        work(1000);
        let out = watched(each(|_| false), || {
            work(1000);
            5
        });
        assert_eq!((out, TOLD.take()), (Some(5), vec![]));
    }

    #[test]
    fn what_is_not_watched_is_not_left() {
        let stop = |_: usize| true;
        assert_eq!(watched(each(stop), || unwatched(|| work(1000))), Some(()));
        // One who is asked may watch something else meanwhile.
        let nested = |_: usize| {
            assert_eq!(watched(each(|_| true), || work(1000)), None);
            work(1000);
            false
        };
        assert_eq!(watched(each(nested), || (0..3).for_each(|_| work(1000))), Some(()));
        // What is counted goes on where it was.
        let out = watched(each(stop), || {
            work(6);
            unwatched(|| work(1));
            work(6);
        });
        assert_eq!(out, None);
    }

    #[test]
    fn a_panic_goes_through() {
        let caught = catch_unwind(|| watched(each(|_| false), || panic!("mine")));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"mine"));
    }

    #[test]
    fn nobody_is_asked_before_the_time() {
        let watch = Watch { ask: |_| panic!("asked"), every: 1, period: Duration::from_secs(3600) };
        assert_eq!(watched(watch, || (0..1000).for_each(|_| work(1))), Some(()));
    }

    #[test]
    fn copies_in_parts_are_copies() {
        let from: Vec<u32> = (0..(3 * COPIED / 4 + 7) as u32).collect();
        let mut to = vec![0; from.len()];
        copy(&from, &mut to);
        assert_eq!(from, to);
        fill(&mut to, 3);
        assert!(to.iter().all(|&x| x == 3));
        assert_eq!(watched(each(|_| true), || copy(&from, &mut to)), None);
    }
}
