//! A reserve of memory for the case that the system has no more.
//!
//! Rust aborts the process when an infallible allocation fails, and compilation makes these in a thousand
//! places. So some memory is reserved, never touched, and released when the system has no more. The running
//! work is then left with an error at its next check ([`anvil_core::stop`]), long before the reserve is used
//! up. Single vectors that may be larger than the reserve are allocated fallibly.

use anvil_core::stop;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicPtr, Ordering::*};

/// Sizes of the reserve in bytes, the first that the system has. It takes only address space until it is
/// released. Tables of a program of a million nodes are smaller.
const SIZES: [usize; 3] = [64 << 20, 16 << 20, 4 << 20];

/// The reserve: its first word is its size.
static KEPT: AtomicPtr<usize> = AtomicPtr::new(std::ptr::null_mut());

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, 64).expect("a size that is far from the largest")
}

/// Allocates the reserve, unless it is there: the system may have memory again. Every entry point does so
/// before it allocates.
#[inline]
pub fn refill() {
    if KEPT.load(Relaxed).is_null() {
        take();
    }
}

#[cold]
fn take() {
    for size in SIZES {
        // SAFETY: the layout is of a size above 0; the first word is in it, and aligned.
        unsafe {
            let new = System.alloc(layout(size)).cast::<usize>();
            if new.is_null() {
                continue;
            }
            new.write(size);
            stop::recover();
            if KEPT.compare_exchange(std::ptr::null_mut(), new, AcqRel, Relaxed).is_err() {
                System.dealloc(new.cast(), layout(size));
            }
            return;
        }
    }
}

/// Releases the reserve, if it is there and larger than `bytes`; returns whether it did.
#[cold]
fn give(bytes: usize) -> bool {
    if bytes >= SIZES[0] {
        return false;
    }
    let kept = KEPT.swap(std::ptr::null_mut(), AcqRel);
    if kept.is_null() {
        return false;
    }
    // SAFETY: from the system with the layout of its first word; who swapped it has it alone.
    unsafe {
        let size = kept.read();
        System.dealloc(kept.cast(), layout(size));
    }
    stop::run_short(bytes);
    true
}

/// The system's allocator, with the reserve.
struct Reserved;

/// Asks the system, and once more if the reserve was released.
fn ask(bytes: usize, system: impl Fn() -> *mut u8) -> *mut u8 {
    let first = system();
    if first.is_null() && give(bytes) {
        system()
    } else {
        first
    }
}

// SAFETY: the system's allocator does it, with the same arguments, at most twice.
unsafe impl GlobalAlloc for Reserved {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by the caller.
        ask(layout.size(), || unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by the caller.
        ask(layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: by the caller; what failed has left the memory as it was.
        ask(size, || unsafe { System.realloc(pointer, layout, size) })
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Reserved = Reserved;
