//! Memory for what products copy.

use std::cell::Cell;
use std::mem::size_of;

thread_local! {
    /// Memory for panels, kept from one product to the next.
    static SCRATCH: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// Lends the memory for panels.
pub fn with_scratch(run: impl FnOnce(&mut Vec<Line>)) {
    SCRATCH.with(|cell| {
        let mut scratch = cell.take();
        run(&mut scratch);
        cell.set(scratch);
    });
}

/// A cache line: panels are aligned to it.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Line(#[allow(dead_code)] [u8; 64]);

/// Scratch memory for two arrays of so many elements.
pub fn room<T>(scratch: &mut Vec<Line>, elements: [usize; 2]) -> [*mut T; 2] {
    let lines = elements.map(|n| (n * size_of::<T>()).div_ceil(size_of::<Line>()));
    if scratch.len() < lines[0] + lines[1] {
        scratch.resize(lines[0] + lines[1], Line([0; 64]));
    }
    let first = scratch.as_mut_ptr();
    [first.cast(), first.wrapping_add(lines[0]).cast()]
}
