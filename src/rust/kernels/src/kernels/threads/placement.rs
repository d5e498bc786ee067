//! Where helpers of the pool wake up: on another processor than their caller's.
//!
//! A caller that wakes a helper goes on working. Linux may wake the helper on the caller's processor all the same,
//! and moves it to an idle one after some milliseconds only: on a virtual machine of two processors, half of the
//! jobs of 3 ms that came after a pause had no help. So a helper that is woken is kept away from the processor that
//! its caller is on. Other systems are left to themselves.

pub(super) use system::{Seat, Seats};

#[cfg(target_os = "linux")]
mod system {
    use std::cell::Cell;
    use std::ffi::{c_int, c_ulong, c_void};
    use std::sync::{Mutex, PoisonError};

    /// Bits of a word of a mask.
    const BITS: usize = c_ulong::BITS as usize;

    /// Processors that a mask can name, as in the system's `cpu_set_t`.
    const PROCESSORS: usize = 1024;

    /// A set of processors.
    type Mask = [c_ulong; PROCESSORS / BITS];

    extern "C" {
        fn sched_getcpu() -> c_int;
        fn pthread_self() -> *mut c_void;
        fn pthread_getaffinity_np(thread: *mut c_void, size: usize, mask: *mut Mask) -> c_int;
        fn pthread_setaffinity_np(thread: *mut c_void, size: usize, mask: *const Mask) -> c_int;
    }

    /// A thread, as the system's library knows it, and the processor that it is kept away from.
    pub struct Seat {
        thread: *mut c_void,
        away: Cell<Option<usize>>,
    }

    // SAFETY: an opaque name of a thread, which any thread may use.
    unsafe impl Send for Seat {}

    impl Seat {
        /// This thread, which lives as long as the process does.
        pub fn here() -> Seat {
            // SAFETY: there is always a current thread.
            Seat { thread: unsafe { pthread_self() }, away: Cell::new(None) }
        }
    }

    /// The helpers of a pool.
    #[derive(Default)]
    pub struct Seats(Mutex<Vec<Seat>>);

    impl Seats {
        /// Adds a helper.
        pub fn add(&self, seat: Seat) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(seat);
        }

        /// Keeps all helpers away from the processor of this thread, where there are others for as many `threads`.
        /// A failure is ignored.
        pub fn keep_away(&self, threads: usize) {
            // SAFETY: it has no precondition.
            let Ok(here) = usize::try_from(unsafe { sched_getcpu() }) else { return };
            let seats = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let mut mask = None;
            for seat in seats.iter().filter(|seat| seat.away.get() != Some(here)) {
                seat.away.set(Some(here));
                if let Some(mask) = mask.get_or_insert_with(|| others(here, threads)) {
                    // SAFETY: helpers live as long as the process; the mask has as many bytes.
                    unsafe { pthread_setaffinity_np(seat.thread, size_of::<Mask>(), mask) };
                }
            }
        }
    }

    /// The processors that this thread may use, but for this one, which is among them. `None` if they are fewer
    /// than so many.
    fn others(here: usize, threads: usize) -> Option<Mask> {
        let mut mask: Mask = [0; PROCESSORS / BITS];
        // SAFETY: the mask has as many bytes.
        let failed = unsafe { pthread_getaffinity_np(pthread_self(), size_of::<Mask>(), &mut mask) } != 0;
        let count = mask.iter().map(|word| word.count_ones() as usize).sum::<usize>();
        if failed || here >= PROCESSORS || count < threads.max(2) {
            return None;
        }
        mask[here / BITS] &= !(1 << (here % BITS));
        Some(mask)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn all_processors_but_this_one_are_left() {
            let mut all: Mask = [0; PROCESSORS / BITS];
            // SAFETY: as above.
            assert_eq!(unsafe { pthread_getaffinity_np(pthread_self(), size_of::<Mask>(), &mut all) }, 0);
            let ones = |mask: &Mask| mask.iter().map(|word| word.count_ones() as usize).sum::<usize>();
            let here = (0..PROCESSORS).find(|i| all[i / BITS] >> (i % BITS) & 1 == 1).unwrap();
            if ones(&all) > 1 {
                let left = others(here, 2).unwrap();
                assert_eq!((ones(&left), left[here / BITS] >> (here % BITS) & 1), (ones(&all) - 1, 0));
            }
            assert!(others(here, ones(&all) + 1).is_none() && others(PROCESSORS, 2).is_none());
        }

        #[test]
        fn a_thread_that_waits_is_kept_away_from_this_processor() {
            let seats = std::sync::Arc::new(Seats::default());
            let (added, is_added) = std::sync::mpsc::channel();
            let (done, is_done) = std::sync::mpsc::channel::<()>();
            let helper = std::thread::spawn({
                let seats = seats.clone();
                move || {
                    seats.add(Seat::here());
                    added.send(()).unwrap();
                    is_done.recv().unwrap();
                    let mut mask: Mask = [0; PROCESSORS / BITS];
                    // SAFETY: as above.
                    unsafe { pthread_getaffinity_np(pthread_self(), size_of::<Mask>(), &mut mask) };
                    mask
                }
            });
            is_added.recv().unwrap();
            seats.keep_away(2);
            let away = seats.0.lock().unwrap()[0].away.get().unwrap();
            let is_possible = others(away, 2).is_some();
            done.send(()).unwrap();
            let mask = helper.join().unwrap();
            assert_eq!(mask[away / BITS] >> (away % BITS) & 1 == 0, is_possible);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    /// A thread.
    pub struct Seat;

    impl Seat {
        /// This thread.
        pub fn here() -> Seat {
            Seat
        }
    }

    /// The helpers of a pool.
    #[derive(Default)]
    pub struct Seats;

    impl Seats {
        /// Adds a helper.
        pub fn add(&self, _seat: Seat) {}

        /// Does nothing: the system finds processors.
        pub fn keep_away(&self, _threads: usize) {}
    }
}
