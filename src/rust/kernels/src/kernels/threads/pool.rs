//! The thread pool of large kernels: the caller and its helpers take the pieces of a job one after the other.
//!
//! A job starts in microseconds. The caller works too, and at the end waits only for helpers that are working
//! on a piece, never for one that has not started. A helper without work spins for a moment, and then sleeps.
//! Work is cut by size, never by the number of threads, and each piece makes elements that no other makes, so
//! that a result does not depend on that number.
//!
//! A piece that is cancelled (see [`stop`]) or panics ends the job: pieces that are not taken are dropped,
//! and helpers leave theirs at the next check.
//!
//! One job is shared at a time. A job that another thread, or a piece of a job, starts meanwhile runs on its
//! thread alone.
//!
//! The helpers belong to the process that spawned them. After `fork()` the child has none; it spawns its own
//! and never touches the parent's locks.

use super::placement::{Seat, Seats};
use super::threads;
use crate::raised::OfJob;
use crate::stop;
use rayon::ThreadPoolBuilder;
use std::any::Any;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Work in picoseconds from which on sharing it pays. This is the only such estimate: a job starts in 1 to 5
/// microseconds, and a helper that slept arrives some 20 later.
pub const WORTH_SHARING: usize = 20_000_000;

/// The same where a helper is awake, as in a loop that shared something a moment ago.
pub const WORTH_SHARING_AWAKE: usize = 10_000_000;

/// Whether work of so many picoseconds is worth sharing now. Whether it is shared does not change what it makes.
pub fn pays(picoseconds: usize) -> bool {
    picoseconds >= WORTH_SHARING || picoseconds >= WORTH_SHARING_AWAKE && is_awake()
}

/// Whether a helper is awake.
pub fn is_awake() -> bool {
    let pool = Pool::here();
    threads() > 1 && pool.helpers.load(Relaxed) > pool.sleepers.load(Relaxed)
}

/// Wakes helpers, before a loop of steps that are worth sharing only with those that are awake.
pub fn wake() {
    if !is_awake() {
        for_each_piece(threads(), true, |_| ());
    }
}

/// How long a helper spins before it sleeps. Calls of R functions one after the other are some 100 microseconds apart, and
/// a helper that sleeps on a virtual processor comes 50 to 100 too late: the median time of `sum(x)` of 1e6 singles is 58
/// with this value, 80 to 110 with a tenth of it.
const SPIN: Duration = Duration::from_micros(500);

/// A helper that was descheduled for longer than this when it yielded is on a contended core: it sleeps.
const AWAY: Duration = Duration::from_micros(5);

/// Time that the caller sleeps between checks whether to stop.
const PATIENCE: Duration = Duration::from_millis(20);

/// Checks of the state between two readings of the clock.
const LOOKS: usize = 64;

/// The shared work of the threads.
struct Job<'a> {
    piece: &'a (dyn Fn(usize) + Sync),
    count: usize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    raised: OfJob,
}

/// The helpers of a process.
struct Pool {
    process: u32,
    /// The first piece of the job that nobody has taken (22 bits), how many nobody has (22), helpers that may take some
    /// (10), helpers that have (10). One word, so that a helper that takes a piece of a job holds the job by it.
    state: AtomicU64,
    /// The [`Job`] that `state` is about.
    job: AtomicPtr<()>,
    /// Whether a job is shared.
    busy: AtomicBool,
    helpers: AtomicUsize,
    seats: Seats,
    /// Whether the system refused to spawn a thread.
    refused: AtomicBool,
    /// Helpers that sleep and were not woken.
    sleepers: AtomicUsize,
    /// Helpers that were woken and have not noticed.
    called: Mutex<usize>,
    call: Condvar,
    /// Whether the caller sleeps until the last helper has left.
    waiting: AtomicBool,
    /// Whether helpers leave the pieces that they are in.
    stop: AtomicBool,
    left: Mutex<()>,
    ended: Condvar,
}

const FIRST: u64 = 1 << 42;
const PIECE: u64 = 1 << 20;
const SEAT: u64 = 1 << 10;
const INSIDE: u64 = SEAT - 1;

/// Pieces of a job, at most.
const MOST: usize = (FIRST / PIECE - 1) as usize;

/// The pieces that nobody has taken.
#[inline]
fn left(state: u64) -> u64 {
    state % FIRST / PIECE
}

/// Where a thread takes its pieces: the caller the first, helpers the last. Of two jobs on the same values, as they follow
/// one another in a loop, each of two threads then has the same half of these in its cache.
#[derive(Clone, Copy, PartialEq)]
enum End {
    First,
    Last,
}

static POOL: AtomicPtr<Pool> = AtomicPtr::new(std::ptr::null_mut());

/// No code panics while it holds a lock of a pool.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    fn new(process: u32) -> Pool {
        Pool {
            process,
            state: AtomicU64::new(0),
            job: AtomicPtr::default(),
            busy: AtomicBool::new(false),
            helpers: AtomicUsize::new(0),
            seats: Seats::default(),
            refused: AtomicBool::new(false),
            sleepers: AtomicUsize::new(0),
            called: Mutex::new(0),
            call: Condvar::new(),
            waiting: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            left: Mutex::new(()),
            ended: Condvar::new(),
        }
    }

    /// The pool of this process. Pools are never dropped: helpers refer to theirs as long as the process
    /// lives, and that of a parent process is left as it is.
    fn here() -> &'static Pool {
        let process = std::process::id();
        // SAFETY: null, or a pool that was leaked below.
        let known = |pool: *mut Pool| unsafe { pool.as_ref() }.filter(|pool| pool.process == process);
        let old = POOL.load(Acquire);
        if let Some(pool) = known(old) {
            return pool;
        }
        let new = Box::leak(Box::new(Pool::new(process)));
        match POOL.compare_exchange(old, new, AcqRel, Acquire) {
            Ok(_) => new,
            // Another thread was faster. Ours is leaked, once in a process.
            Err(other) => known(other).unwrap_or(new),
        }
    }

    /// Whether a helper could take a piece.
    fn is_open(&self, state: u64) -> bool {
        left(state) > 0 && state & INSIDE < state / SEAT % SEAT
    }

    /// Takes a piece if there is one: its number. `joins` is 1 for a helper that takes its first.
    fn take(&self, end: End, joins: u64) -> Option<usize> {
        let mut state = self.state.load(Acquire);
        loop {
            if left(state) == 0 || (joins > 0 && !self.is_open(state)) {
                return None;
            }
            let first = state / FIRST;
            let (piece, moved) = match end {
                End::First => (first, FIRST),
                End::Last => (first + left(state) - 1, 0),
            };
            match self.state.compare_exchange_weak(state, state - PIECE + moved + joins, AcqRel, Acquire) {
                Ok(_) => return Some(piece as usize),
                Err(now) => state = now,
            }
        }
    }

    /// Does a piece. If it panics, the job ends, and the caller will hear of it.
    fn run(&self, job: &Job, piece: usize) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (job.piece)(piece))) {
            self.end(job, panic);
        }
    }

    /// Ends a job: pieces that are not taken are dropped, helpers leave theirs. The caller resumes the first
    /// panic.
    fn end(&self, job: &Job, panic: Box<dyn Any + Send>) {
        lock(&job.panic).get_or_insert(panic);
        self.state.fetch_and(PIECE - 1, AcqRel);
        self.stop.store(true, Relaxed);
    }

    /// Shares the pieces of a job with up to `seats` helpers.
    fn share(&'static self, job: &Job, seats: usize) {
        self.spawn(seats);
        // No helper is in a job now; the state announces this one afterwards.
        self.stop.store(false, Relaxed);
        self.job.store(std::ptr::from_ref(job).cast_mut().cast(), Relaxed);
        self.state.store(job.count as u64 * PIECE + seats as u64 * SEAT, SeqCst);
        self.wake(seats);
        while let Some(piece) = self.take(End::First, 0) {
            self.run(job, piece);
        }
        self.wait(job);
    }

    /// Spawns helpers up to this number, as far as the system allows. They are threads of rayon.
    fn spawn(&'static self, seats: usize) {
        let helpers = self.helpers.load(Relaxed);
        if helpers >= seats || self.refused.load(Relaxed) {
            return;
        }
        let name = move |i: usize| format!("anvil-{}", helpers + i + 1);
        match ThreadPoolBuilder::new().num_threads(seats - helpers).thread_name(name).build() {
            Ok(threads) => {
                threads.spawn_broadcast(move |_| self.help());
                // They run as long as the process lives.
                std::mem::forget(threads);
                self.helpers.store(seats, Relaxed);
            }
            Err(_) => self.refused.store(true, Relaxed),
        }
    }

    /// Calls helpers that sleep. A helper that is about to sleep counts itself before it looks a last time,
    /// and here the job is open before sleepers are counted: one of both sees the other.
    fn wake(&self, seats: usize) {
        if self.sleepers.load(SeqCst) == 0 {
            return;
        }
        self.seats.keep_away(seats + 1);
        let mut called = lock(&self.called);
        let number = self.sleepers.load(SeqCst).min(seats);
        self.sleepers.fetch_sub(number, SeqCst);
        *called += number;
        drop(called);
        match number {
            0 => {}
            1 => self.call.notify_one(),
            _ => self.call.notify_all(),
        }
    }

    /// Waits until no helper is in the job; all pieces are taken.
    fn wait(&self, job: &Job) {
        let is_over = || self.state.load(SeqCst) & INSIDE == 0;
        let start = Instant::now();
        while start.elapsed() < SPIN {
            for _ in 0..LOOKS {
                if is_over() {
                    return;
                }
                std::hint::spin_loop();
            }
        }
        self.waiting.store(true, SeqCst);
        let mut end = lock(&self.left);
        while !is_over() {
            end = self.ended.wait_timeout(end, PATIENCE).unwrap_or_else(PoisonError::into_inner).0;
            if !is_over() && lock(&job.panic).is_none() {
                // The check may run code that needs the lock.
                drop(end);
                if let Err(panic) = catch_unwind(AssertUnwindSafe(stop::check)) {
                    self.end(job, panic);
                }
                end = lock(&self.left);
            }
        }
        self.waiting.store(false, SeqCst);
    }

    /// The life of a helper.
    fn help(&'static self) {
        stop::follow(&self.stop);
        self.seats.add(Seat::here());
        loop {
            let Some(first) = self.take(End::Last, 1) else {
                self.rest();
                continue;
            };
            // SAFETY: a piece was taken, so this is a job whose caller waits until `INSIDE` is 0 again; it
            // was stored before the state was from which the piece was taken.
            let job = unsafe { &*self.job.load(Relaxed).cast_const().cast::<Job>() };
            let mut next = Some(first);
            while let Some(piece) = next {
                self.run(job, piece);
                // One by one, as they come from the last to the first.
                job.raised.bring();
                next = self.take(End::Last, 0);
            }
            // From here on the job may be gone.
            let state = self.state.fetch_sub(1, SeqCst);
            if state & INSIDE == 1 && self.waiting.load(SeqCst) {
                // With the lock, the caller is before its look or asleep.
                drop(lock(&self.left));
                self.ended.notify_one();
            }
        }
    }

    /// Spins until there is work, and sleeps if there is none for a while.
    fn rest(&self) {
        let start = Instant::now();
        let mut now = start;
        while now - start < SPIN {
            for _ in 0..LOOKS {
                if self.is_open(self.state.load(Relaxed)) {
                    return;
                }
                std::hint::spin_loop();
            }
            let before = Instant::now();
            std::thread::yield_now();
            now = Instant::now();
            if now - before > AWAY {
                break;
            }
        }
        let mut called = lock(&self.called);
        self.sleepers.fetch_add(1, SeqCst);
        if self.is_open(self.state.load(SeqCst)) {
            self.sleepers.fetch_sub(1, SeqCst);
            return;
        }
        while *called == 0 {
            called = self.call.wait(called).unwrap_or_else(PoisonError::into_inner);
        }
        *called -= 1;
    }
}

/// Calls `piece(i)` for all `i` below `count`, in any order, on all threads if `shared`.
///
/// # Panics
/// If a piece does: with what the first one panicked with, when no piece is being worked on any more.
pub fn for_each_piece(count: usize, shared: bool, piece: impl Fn(usize) + Sync) {
    each_piece(count, shared, &piece)
}

/// As [`for_each_piece`]: one for all pieces.
fn each_piece(count: usize, shared: bool, piece: &(dyn Fn(usize) + Sync)) {
    // The numbers of pieces and of threads have their bits in the state.
    let seats = if shared { threads().min(count).saturating_sub(1) } else { 0 };
    if seats == 0 || count > MOST {
        return (0..count).for_each(piece);
    }
    let pool = Pool::here();
    if pool.busy.swap(true, Acquire) {
        return (0..count).for_each(piece);
    }
    let job = Job { piece, count, panic: Mutex::default(), raised: OfJob::default() };
    job.raised.during(|| pool.share(&job, seats));
    pool.busy.store(false, Release);
    if let Some(panic) = job.panic.into_inner().unwrap_or_else(PoisonError::into_inner) {
        resume_unwind(panic);
    }
}

/// Calls `piece(i, chunk)` for the chunks of `out` of `size` elements (the last may be shorter), on all
/// threads if it is worth it: `picoseconds` is about how long all of it takes on one.
///
/// # Panics
/// As [`for_each_piece`].
pub fn for_each_chunk<T: Send>(
    out: &mut [T],
    size: usize,
    picoseconds: usize,
    piece: impl Fn(usize, &mut [T]) + Sync,
) {
    let (len, size) = (out.len(), size.max(1));
    // Atomic, as threads share it.
    let first = AtomicPtr::new(out.as_mut_ptr());
    each_chunk(len.div_ceil(size), picoseconds, &|i| {
        let start = i * size;
        // SAFETY: within `out`, which is borrowed exclusively until all chunks are done; each number comes
        // once, and chunks have no elements in common.
        let chunk =
            unsafe { std::slice::from_raw_parts_mut(first.load(Relaxed).add(start), size.min(len - start)) };
        piece(i, chunk);
    });
}

/// As [`for_each_chunk`], of the numbers of the chunks: one for all types and pieces.
fn each_chunk(count: usize, picoseconds: usize, piece: &(dyn Fn(usize) + Sync)) {
    if !pays(picoseconds) {
        return (0..count).for_each(piece);
    }
    let each = picoseconds / 1_000 / count.max(1);
    each_piece(count, true, &|i| {
        stop::work(each);
        piece(i);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn every_chunk_is_visited_once_at_any_size() {
        for work in [0, WORTH_SHARING] {
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
    fn a_panic_in_a_piece_reaches_the_caller_as_it_is() {
        for shared in [false, true] {
            let caught = catch_unwind(|| for_each_piece(100, shared, |i| assert!(i != 5, "piece {i}")));
            assert_eq!(caught.unwrap_err().downcast_ref::<String>().unwrap(), "piece 5");
        }
        // The threads are there as before.
        every_chunk_is_visited_once_at_any_size();
    }

    /// Many short jobs of a pool of its own, with as many helpers: each piece is done once.
    fn jobs(seats: usize, rest: impl Fn(usize)) {
        let pool: &'static Pool = Box::leak(Box::new(Pool::new(std::process::id())));
        for round in 0..300 {
            let count = 1 + round % 17;
            let done: Vec<AtomicU32> = (0..count).map(|_| AtomicU32::new(0)).collect();
            let piece = |i: usize| {
                done[i].fetch_add(1, Relaxed);
            };
            let job = Job { piece: &piece, count, panic: Mutex::default(), raised: OfJob::default() };
            pool.share(&job, seats);
            assert!(done.iter().all(|n| n.load(Relaxed) == 1), "round {round}");
            rest(round);
        }
    }

    #[test]
    fn what_the_caller_stops_helpers_leave() {
        use crate::stop::{watched, work, Watch};
        let pool: &'static Pool = Box::leak(Box::new(Pool::new(std::process::id())));
        static ASKED: AtomicU32 = AtomicU32::new(0);
        // In a piece, and when it waits for helpers that would never end theirs.
        for works in [true, false] {
            let inside = AtomicUsize::new(0);
            let piece = |_: usize| {
                inside.fetch_add(1, SeqCst);
                while works || is_helper() {
                    work(1);
                    std::thread::yield_now();
                }
                while inside.load(SeqCst) < 2 {
                    std::thread::yield_now();
                }
            };
            let job = Job { piece: &piece, count: 2, panic: Mutex::default(), raised: OfJob::default() };
            ASKED.store(0, Relaxed);
            let out = watched(
                Watch { ask: |_| ASKED.fetch_add(1, Relaxed) == 9, every: 1, period: Duration::ZERO },
                || {
                    pool.share(&job, 1);
                    resume_unwind(job.panic.into_inner().unwrap().unwrap())
                },
            );
            assert!(out.is_none() && ASKED.load(Relaxed) == 10);
        }
    }

    /// Whether this is a thread of a pool.
    fn is_helper() -> bool {
        std::thread::current().name().is_some_and(|name| name.starts_with("anvil-"))
    }

    #[test]
    fn helpers_come_whether_they_look_out_or_sleep() {
        for seats in [1, 4] {
            jobs(seats, |_| {});
            // About as long as helpers look out: some are just falling asleep.
            jobs(seats, |round| std::thread::sleep(SPIN * (round % 4) as u32));
        }
    }

    #[test]
    fn the_caller_does_not_wait_for_helpers_that_do_not_come() {
        let pool = Pool::new(std::process::id());
        // Helpers are counted, but there are none.
        pool.helpers.store(3, Relaxed);
        let done = AtomicU32::new(0);
        let piece = |_: usize| {
            done.fetch_add(1, Relaxed);
        };
        Box::leak(Box::new(pool))
            .share(&Job { piece: &piece, count: 20, panic: Mutex::default(), raised: OfJob::default() }, 3);
        assert_eq!(done.into_inner(), 20);
    }

    #[test]
    fn regions_within_regions_and_beside_them_are_done() {
        let total = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for_each_piece(8, true, |_| {
                        for_each_piece(8, true, |i| {
                            total.fetch_add(i, Relaxed);
                        })
                    })
                });
            }
        });
        assert_eq!(total.into_inner(), 4 * 8 * 28);
    }

    #[test]
    fn no_more_helpers_than_seats_are_in_a_region() {
        let pool: &'static Pool = Box::leak(Box::new(Pool::new(std::process::id())));
        let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let piece = |_: usize| {
            most.fetch_max(inside.fetch_add(1, SeqCst) + 1, SeqCst);
            std::thread::sleep(Duration::from_micros(50));
            inside.fetch_sub(1, SeqCst);
        };
        pool.spawn(6);
        pool.share(&Job { piece: &piece, count: 200, panic: Mutex::default(), raised: OfJob::default() }, 2);
        assert!((1..=3).contains(&most.into_inner()));
    }
}
