//! Executable memory. Pages are writable first and executable after, never both (W^X); where the system
//! refuses them, programs run without native code.

use crate::kernels::math::Level;
use std::ffi::{c_int, c_void};

extern "C" {
    fn mmap(
        start: *mut c_void,
        len: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
    fn mprotect(start: *mut c_void, len: usize, protection: c_int) -> c_int;
    fn munmap(start: *mut c_void, len: usize) -> c_int;
}

const READ: c_int = 1;
const WRITE: c_int = 2;
const EXECUTE: c_int = 4;
const PRIVATE: c_int = 2;
/// Not backed by a file.
#[cfg(target_os = "linux")]
const ANONYMOUS: c_int = 0x20;
#[cfg(not(target_os = "linux"))]
const ANONYMOUS: c_int = 0x1000;

/// Whether native code is for this processor, at the level in use.
pub fn are_here() -> bool {
    Level::current() != Level::Portable && Level::Avx2.is_here()
}

/// Pages with executable code, unmapped when dropped.
#[derive(Debug)]
pub struct Pages {
    start: *mut u8,
    len: usize,
}

// SAFETY: nothing writes there any more.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    /// Executable pages with this code; `None` if the system refuses them.
    pub fn new(code: &[u8]) -> Option<Pages> {
        // SAFETY: asks for new memory.
        let start = unsafe {
            mmap(std::ptr::null_mut(), code.len().max(1), READ | WRITE, PRIVATE | ANONYMOUS, -1, 0)
        };
        if start as isize == -1 {
            return None;
        }
        let pages = Pages { start: start.cast(), len: code.len().max(1) };
        // SAFETY: it is as long, and nobody else knows it.
        unsafe { pages.start.copy_from_nonoverlapping(code.as_ptr(), code.len()) };
        // SAFETY: the memory is ours.
        let can_run = unsafe { mprotect(start, pages.len, READ | EXECUTE) } == 0;
        can_run.then_some(pages)
    }

    /// The address of the code from this byte on.
    pub fn at(&self, offset: usize) -> *const u8 {
        assert!(offset < self.len, "code outside of its pages");
        self.start.wrapping_add(offset).cast_const()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: from `mmap`, of this length; whoever runs the code holds the pages.
        unsafe { munmap(self.start.cast(), self.len) };
    }
}
