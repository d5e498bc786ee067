//! Errors of a program that runs: kernels raise them and go on, and the run ends in the first.
//!
//! A kernel finds out without a branch for each element: it makes some result that is defined, joins over a
//! tile whether something was wrong, and calls [`raise`] once for the tile. Each thread keeps the first error
//! that was raised on it; the pool brings those of the pieces of helpers to the thread whose job it is, which keeps
//! that of the lowest position: the error does not depend on the number of threads.
//!
//! What calls functions of the user's ends the run at once, by [`end`]: they would see values of no meaning.

use crate::error::{Error, Result};
use std::cell::Cell;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};

/// An error, and the number of the element or window at which it was found.
#[derive(Debug)]
pub struct Raised {
    at: usize,
    error: Error,
}

thread_local! {
    /// The first error since the run began, on this thread.
    static FIRST: Cell<Option<Box<Raised>>> = const { Cell::new(None) };
}

/// Raises an error, which was found at the element or window with this number. If there is one already, it
/// stays.
#[cold]
#[inline(never)]
pub fn raise(at: usize, error: Error) {
    FIRST.set(Some(FIRST.take().unwrap_or_else(|| Box::new(Raised { at, error }))));
}

/// The payload of the unwinding of [`end`].
struct Ended;

/// Raises an error and ends the run by unwinding, in the first error that was raised. Only on the thread of
/// [`collected`], which must be on the stack.
pub fn end(error: Error) -> ! {
    raise(0, error);
    resume_unwind(Box::new(Ended))
}

/// As [`end`], if an error was raised on this thread.
pub fn end_if_raised() {
    if let Some(raised) = FIRST.take() {
        end(raised.error);
    }
}

/// Runs `body`, in which errors may be raised.
///
/// # Errors
/// The first that was raised.
pub fn collected<T>(body: impl FnOnce() -> T) -> Result<T> {
    // What was raised before belongs to a run around this one.
    let around = Around(FIRST.take());
    let out = catch_unwind(AssertUnwindSafe(body));
    let first = FIRST.take();
    drop(around);
    match (out, first) {
        (Ok(out), None) => Ok(out),
        (Ok(_), Some(raised)) => Err(raised.error),
        (Err(payload), Some(raised)) if payload.is::<Ended>() => Err(raised.error),
        (Err(payload), _) => resume_unwind(payload),
    }
}

/// What was raised in a run around this one, put back also if this one is left by unwinding.
struct Around(Option<Box<Raised>>);

impl Drop for Around {
    fn drop(&mut self) {
        FIRST.set(self.0.take());
    }
}

/// What the threads of a job raise.
#[derive(Debug, Default)]
pub(crate) struct OfJob(Mutex<Option<Box<Raised>>>);

impl OfJob {
    /// Brings what was raised on this thread, if something was.
    pub fn bring(&self) {
        if let Some(raised) = FIRST.take() {
            let mut lowest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if lowest.as_ref().is_none_or(|other| raised.at < other.at) {
                *lowest = Some(raised);
            }
        }
    }

    /// Runs a job on this thread and others, all of which bring what they raise; it is raised here then.
    pub fn during<T>(&self, job: impl FnOnce() -> T) -> T {
        let before = FIRST.take();
        let out = job();
        self.bring();
        let raised = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        FIRST.set(before.or(raised));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(detail: &str) -> Error {
        Error::Internal { detail: detail.into() }
    }

    #[test]
    fn a_run_ends_in_the_first_error() {
        assert_eq!(collected(|| 3), Ok(3));
        let both = collected(|| {
            raise(5, error("first"));
            raise(2, error("second"));
        });
        assert_eq!(both, Err(error("first")));
        assert_eq!(collected(|| ()), Ok(()));
    }

    #[test]
    fn a_run_inside_of_another_has_errors_of_its_own() {
        let outer = collected(|| {
            raise(0, error("outer"));
            assert_eq!(collected(|| raise(0, error("inner"))), Err(error("inner")));
            assert_eq!(collected(|| ()), Ok(()));
            assert!(catch_unwind(|| collected(|| {
                raise(0, error("lost"));
                resume_unwind(Box::new(()))
            }))
            .is_err());
        });
        assert_eq!(outer, Err(error("outer")));
    }

    #[test]
    fn a_run_that_is_ended_goes_no_further() {
        assert_eq!(collected(|| -> () { end(error("now")) }), Err(error("now")));
        let both = collected(|| -> () {
            end_if_raised();
            raise(3, error("first"));
            end(error("second"))
        });
        assert_eq!(both, Err(error("first")));
        let stopped = collected(|| {
            raise(3, error("first"));
            end_if_raised();
            unreachable!("it has ended");
        });
        assert_eq!(stopped, Err::<(), _>(error("first")));
        // One run inside of another ends alone.
        let outer = collected(|| collected(|| -> () { end(error("inner")) }));
        assert_eq!(outer, Ok(Err(error("inner"))));
    }

    #[test]
    fn of_a_job_the_lowest_is_kept_and_of_several_jobs_the_first() {
        let job = |positions: [usize; 2]| {
            let of_job = OfJob::default();
            of_job.during(|| {
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        raise(positions[0], error(&format!("at {}", positions[0])));
                        of_job.bring();
                    });
                });
                raise(positions[1], error(&format!("at {}", positions[1])));
            });
        };
        assert_eq!(collected(|| job([7, 9])), Err(error("at 7")));
        assert_eq!(collected(|| job([7, 4])), Err(error("at 4")));
        assert_eq!(collected(|| [[7, 9], [1, 2]].map(job)), Err(error("at 7")));
    }
}
