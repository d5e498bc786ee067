//! Folds over the last axes of a tile program's value: the elements of one result are in different columns.
//!
//! For some rows, columns are computed one after the other and added to accumulators; the value itself is
//! never in memory. Lanes and tiles of a result are those of [`reduce`](crate::kernels::reductions::reduce),
//! and so are its bits.

use super::binding::Binding;
use super::code::{Across, Code};
use super::resolve::{Room, Tile};
use crate::kernels::memory::{AlignedBytes, Streams};
use crate::kernels::reductions::parts::LANES;
use crate::kernels::threads::{pool, threads};
use crate::kernels::tile::TILE;
use crate::stop;
use std::ops::Range;

/// Rows that are folded together, at most: so many that columns are read in long runs, and so few that their
/// accumulators stay in the second-level cache.
const MAX_ROWS: usize = 4096;

/// Rows that are folded together, at least, even if threads are idle.
const MIN_ROWS: usize = 256;

/// Runs a program with these folds.
///
/// # Panics
/// As [`Code::run`].
pub(super) fn run(across: &Across, code: &Code, binding: &Binding, streams: &Streams, shared: bool) {
    let parts = across.parts(code.cut.len);
    let wanted = if shared { (2 * threads()).div_ceil(parts) } else { 1 };
    let rows = across.rows.div_ceil(wanted).clamp(MIN_ROWS, MAX_ROWS).min(across.rows);
    let blocks = across.rows.div_ceil(rows);
    pool::for_each_piece(blocks * parts, shared, |i| {
        let (block, part) = (i % blocks, i / blocks);
        let columns = part * TILE..((part + 1) * TILE).min(code.cut.len / across.rows);
        code.with_room(binding, streams, |room| {
            piece(across, room, block * rows..((block + 1) * rows).min(across.rows), part, columns)
        });
    });
}

/// Folds some rows of some columns.
fn piece(across: &Across, room: &Room, rows: Range<usize>, part: usize, columns: Range<usize>) {
    let (code, bases) = (room.code, room.bases);
    let parts = across.parts(code.cut.len);
    let mut folds: Vec<_> = across
        .folds
        .iter()
        .zip(&room.binding.folds)
        .map(|(fold, [operand, result])| {
            let mut bytes =
                AlignedBytes::zeroed(columns.len().min(LANES) * rows.len() * fold.accumulators.width);
            (fold.accumulators.start)(bytes.as_mut_slice());
            (fold, bytes, operand, result)
        })
        .collect();
    for column in columns {
        for first in rows.clone().step_by(code.cut.longest()) {
            let n = code.cut.longest().min(rows.end - first);
            let start = column * across.rows + first;
            stop::work(n);
            // SAFETY: by `with_room`; no other piece has these elements.
            unsafe { room.run_on(&Tile { elements: start..start + n, segments: 0..0 }) };
            for (fold, bytes, operand, _) in &mut folds {
                // SAFETY: as many elements were checked to be there, and what writes them is done.
                let x = unsafe {
                    std::slice::from_raw_parts(operand.at(bases, start, 0, 0).cast_const(), n * fold.width)
                };
                let at = (column % LANES * rows.len() + first - rows.start) * fold.accumulators.width;
                (fold.accumulators.add)(&mut bytes.as_mut_slice()[at..at + n * fold.accumulators.width], x);
            }
        }
    }
    for (fold, bytes, _, result) in &mut folds {
        let all = across.rows * parts * across.unit(fold, code.cut.len);
        (fold.accumulators.finish)(bytes.as_mut_slice(), rows.len(), parts > 1, &mut |i, made| {
            let at = ((rows.start + i) * parts + part) * made.len();
            assert!(at + made.len() <= all, "a result outside of its stream");
            // SAFETY: in the stream, which is writable and read by nobody, a place of this piece alone.
            unsafe {
                result.at(bases, 0, 0, 0).wrapping_add(at).copy_from_nonoverlapping(made.as_ptr(), made.len())
            };
        });
    }
}
