//! Memory that is kept for when the system has no more.
//!
//! Rust ends the process when an allocation fails that was not asked for with care, and what is made of a user's program
//! is asked for in a thousand places. So some memory is kept, never touched, which is given away when the system has no
//! more; what runs is left when it looks next ([`anvil_core::stop`]), with an error, long before the reserve is used up.
//! Single vectors that may be larger than the reserve are asked for with care.

use anvil_core::stop;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicPtr, Ordering::*};

/// Bytes that are kept: addresses, until they are given away. Tables of a program of a million nodes are smaller.
const RESERVE: usize = 64 << 20;

static KEPT: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());

fn layout() -> Layout {
    Layout::new::<[u8; RESERVE]>()
}

/// Takes the reserve, unless it is there: the system may have memory again. Every entry point does, before it allocates.
#[inline]
pub fn refill() {
    if KEPT.load(Relaxed).is_null() {
        take();
    }
}

#[cold]
fn take() {
    // SAFETY: the layout is of a size above 0.
    let new = unsafe { System.alloc(layout()) };
    if new.is_null() {
        return;
    }
    stop::recover();
    if KEPT.compare_exchange(std::ptr::null_mut(), new, AcqRel, Relaxed).is_err() {
        // SAFETY: from above, and nobody else has it.
        unsafe { System.dealloc(new, layout()) };
    }
}

/// Gives the reserve away, if it is there; returns whether.
#[cold]
fn give(bytes: usize) -> bool {
    let kept = KEPT.swap(std::ptr::null_mut(), AcqRel);
    if kept.is_null() {
        return false;
    }
    // SAFETY: from the system with this layout; who swapped it has it alone.
    unsafe { System.dealloc(kept, layout()) };
    stop::run_short(bytes);
    true
}

/// The system's allocator, with the reserve.
struct Reserved;

/// Asks the system; for less than the reserve, once more when that was given away.
fn ask(bytes: usize, system: impl Fn() -> *mut u8) -> *mut u8 {
    let first = system();
    if first.is_null() && bytes < RESERVE && give(bytes) { system() } else { first }
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
