//! Stopping: what takes long says how much it has done, and is left when somebody wants it to end.
//!
//! Whoever may stop what runs on a thread watches it ([`watched`]): R's thread asks R whether the user
//! interrupts or a time limit is over. Loops call [`work`] at least once for some ten thousand elements,
//! which is a subtraction but for every [`EVERY`] elements or so. Then the clock is read, and somebody asked
//! when the time has come. A yes leaves all that runs by unwinding, as a failed allocation does: nothing
//! below [`watched`] has to pass on an answer, and what is left half done is dropped. Helpers of the pool ask
//! nobody; they look at a flag that the thread they work for sets.
//!
//! Where memory runs short, what runs is left in the same way, with [`OutOfMemory`]: whoever allocates for
//! everything tells it here ([`run_short`]), as an allocator must not unwind.
//!
//! Nothing is left where nobody watches, and no bit of a result depends on who does.

use crate::growth::OutOfMemory;
use std::cell::Cell;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Elements from one look at the clock to the next, of about a nanosecond each; of what takes longer, one
/// counts as several.
pub const EVERY: usize = 1 << 14;

/// Whom to ask, and how often.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    /// Says whether to stop, told how many elements were reported since the last look.
    pub ask: fn(usize) -> bool,
    /// Elements from one look at the clock to the next.
    pub every: usize,
    /// How long something runs before it is asked, and then from one time to the next.
    pub period: Duration,
}

/// A watch that is kept.
#[derive(Clone, Copy)]
struct Kept {
    watch: Watch,
    /// When it was last asked, or looked for the first time.
    since: Option<Instant>,
}

/// What a thread knows.
struct Here {
    /// Elements until the next look.
    left: Cell<usize>,
    /// Elements that were reported since the last look, but for those that `left` says.
    start: Cell<usize>,
    watch: Cell<Option<Kept>>,
    /// For a helper, what says that it shall stop.
    flag: Cell<Option<&'static AtomicBool>>,
}

thread_local! {
    static HERE: Here =
        const { Here { left: Cell::new(EVERY), start: Cell::new(EVERY), watch: Cell::new(None), flag: Cell::new(None) } };
}

/// What unwinds when something is stopped.
struct Stopped;

/// Bytes that the system did not have, if that is what whoever looks next shall leave for.
static SHORT: AtomicUsize = AtomicUsize::new(0);

/// Has what runs left when it looks next: the system has not had so many bytes, and what was kept for that
/// case is in use.
pub fn run_short(bytes: usize) {
    SHORT.store(bytes.max(1), Relaxed);
}

/// Memory is no longer short.
pub fn recover() {
    SHORT.store(0, Relaxed);
}

/// Reports that so many elements are done, or about to be.
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

/// Looks now, for a thread that waits for others.
pub(crate) fn check() {
    if HERE.with(|here| look(here, 0)) {
        leave();
    }
}

/// Leaves what runs, up to [`watched`], which is to be there.
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
            // Short work is over before a clock is worth reading twice.
            None => {
                set();
                return false;
            }
            Some(since) if since.elapsed() < watch.period => return false,
            Some(_) => {}
        }
    }
    // Whoever is asked may run something on this thread, which is not to be stopped by the same question.
    let stop = unwatched(|| (watch.ask)(done));
    set();
    stop
}

/// Begins to count.
fn begin(here: &Here, kept: Option<Kept>) {
    let every = kept.map_or(EVERY, |kept| kept.watch.every.max(1));
    here.left.set(every);
    here.start.set(every);
}

/// Sets the watch until it is dropped; holds what was there before: the watch, and what was counted.
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

/// Runs `body`, which is left when the watch says so: `None` then.
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

/// Runs `body`, which is not left whatever it reports: over frames that must not be unwound.
pub fn unwatched<T>(body: impl FnOnce() -> T) -> T {
    let _restore = Restore::set(None);
    body()
}

/// Has this thread leave what it does whenever the flag is set: for a helper, which asks nobody.
pub(crate) fn follow(flag: &'static AtomicBool) {
    HERE.with(|here| here.flag.set(Some(flag)));
}

/// Copies elements of the same number, in parts between which it may be stopped.
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

/// Fills with one element, in parts between which it may be stopped.
pub fn fill<T: Copy>(out: &mut [T], value: T) {
    for part in out.chunks_mut((COPIED / size_of::<T>().max(1)).max(1)) {
        part.fill(value);
        work(EVERY.min(part.len()));
    }
}

/// Bytes that are copied or filled at once: of memory that was never touched, a millisecond's worth.
const COPIED: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    thread_local! {
        /// What was told.
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
