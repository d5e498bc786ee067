//! Tile programs whose tiles take what the one before carries: a cumulation along segments of many tiles.
//!
//! Threads take the tiles one by one, in the order of the segments. Each computes all that precedes the
//! cumulation, waits for what the tile before carries, passes on what it carries itself, and goes on: so two
//! threads are in different tiles at a time.

use super::binding::Binding;
use super::code::{Code, Work};
use crate::kernels::memory::Streams;
use crate::kernels::reductions::carrier::Carrier;
use crate::kernels::threads::{pool, threads};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs a program, from its last tile on if `reverse`.
///
/// # Panics
/// As [`Code::run`].
pub(super) fn run(reverse: bool, code: &Code, binding: &Binding, streams: &Streams, shared: bool) {
    let tiles = code.cut.tiles();
    let workers = if shared { threads().min(tiles) } else { 1 };
    carriers(code).for_each(|carrier| carrier.begin(workers > 1));
    let next = AtomicUsize::new(0);
    pool::for_each_piece(workers, workers > 1, |_| {
        // A worker that is left by unwinding would have others wait for its tile.
        let unfinished = Unfinished(code);
        code.with_room(binding, streams, 0, |room, _| loop {
            let turn = next.fetch_add(1, Ordering::Relaxed);
            if turn >= tiles {
                break;
            }
            let tile = if reverse { tiles - 1 - turn } else { turn };
            // SAFETY: each tile is taken once.
            unsafe { room.run(tile..tile + 1) };
        });
        std::mem::forget(unfinished);
    });
}

/// The carriers of a program.
fn carriers(code: &Code) -> impl Iterator<Item = &dyn Carrier> {
    code.each.iter().filter_map(|instruction| match &instruction.work {
        Work::Kernel { kernel, .. } => kernel.carrier.as_deref(),
        Work::Native(..) => None,
    })
}

/// Abandons the carriers of a program when it is dropped.
struct Unfinished<'c>(&'c Code);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        carriers(self.0).for_each(|carrier| carrier.abandon());
    }
}
