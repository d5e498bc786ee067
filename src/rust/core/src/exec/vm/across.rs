//! Folds over the last axes of a tile program's value: the elements of one result are in different columns.
//!
//! For some rows, columns are computed one after the other and added to accumulators; the value itself is
//! never in memory. Lanes and tiles of a result are those of [`reduce`](crate::kernels::reductions::reduce),
//! and so are its bits.

use super::binding::{Address, Binding};
use super::code::{Across, Code, Folding};
use super::resolve::{Room, Tile, ALIGN};
use crate::kernels::memory::Streams;
use crate::kernels::reductions::partials::LANES;
use crate::kernels::threads::{pool, threads};
use crate::kernels::tile::TILE;
use crate::stop;
use std::ops::Range;

/// Rows that are folded together, at most: so many that columns are read in long runs, and so few that their
/// accumulators stay in the second-level cache.
const MAX_ROWS: usize = 4096;

/// Rows that are folded together, at least, even if threads are idle.
const MIN_ROWS: usize = 256;

/// Columns of one lane that are computed before their elements are added to its accumulators: those of long columns
/// are in the second-level cache. With each column added by itself, sums of squares of 903 rows took 1.2 times as long.
const DEEP: usize = 4;

/// Bytes of the registers of a column, at most: those of [`DEEP`] columns stay in the caches with the accumulators.
const MAX_REGISTERS: usize = 1 << 15;

/// Runs a program with these folds.
///
/// # Panics
/// As [`Code::run`].
pub(super) fn run(across: &Across, code: &Code, binding: &Binding, streams: &Streams, shared: bool) {
    let partials = across.partials(code.cut.len);
    // Several pieces for each thread; for one, whole columns.
    let wanted = if shared && threads() > 1 { (2 * threads()).div_ceil(partials) } else { 1 };
    let blocks = wanted.min(across.rows / MIN_ROWS).max(across.rows.div_ceil(MAX_ROWS)).max(1);
    let rows = across.rows.div_ceil(blocks);
    let blocks = across.rows.div_ceil(rows);
    pool::for_each_piece(blocks * partials, shared, |i| {
        let (block, tile) = (i % blocks, i / blocks);
        let columns = tile * TILE..((tile + 1) * TILE).min(code.cut.len / across.rows);
        let rows = block * rows..((block + 1) * rows).min(across.rows);
        let folded: usize =
            across.folds.iter().map(|fold| bytes(fold, &rows, &columns).next_multiple_of(ALIGN)).sum();
        code.with_rooms(binding, streams, folded, |rooms, accumulators| {
            piece(across, rooms, accumulators, rows, tile, columns);
        });
    });
}

/// Bytes of the accumulators of a fold.
fn bytes(fold: &Folding, rows: &Range<usize>, columns: &Range<usize>) -> usize {
    columns.len().min(LANES) * rows.len() * fold.accumulators.width
}

/// What a fold reads of a tile: `n` elements from `start` on.
///
/// # Safety
/// The room ran that tile last, and its registers are not written while the elements are read.
unsafe fn computed<'a>(
    room: &'a Room,
    fold: &Folding,
    operand: &Address,
    start: usize,
    n: usize,
) -> &'a [u8] {
    // SAFETY: as many elements were checked to be there, and what writes them is done, by the caller.
    unsafe { std::slice::from_raw_parts(operand.at(room.bases, start, 0, 0).cast_const(), n * fold.width) }
}

/// Folds some rows of some columns, in as many rooms as columns of one lane are computed at a time.
fn piece(
    across: &Across,
    rooms: &[Room; DEEP],
    accumulators: &mut [u8],
    rows: Range<usize>,
    tile: usize,
    columns: Range<usize>,
) {
    let room = &rooms[0];
    let (code, bases) = (room.code, room.bases);
    let partials = across.partials(code.cut.len);
    // Calls with each fold, its accumulators, and the addresses of operand and result.
    let mut each = |run: &mut dyn FnMut(&Folding, &mut [u8], &[Address; 2])| {
        let mut start = 0;
        for (fold, addresses) in across.folds.iter().zip(&room.binding.folds) {
            let bytes = bytes(fold, &rows, &columns);
            run(fold, &mut accumulators[start..start + bytes], addresses);
            start += bytes.next_multiple_of(ALIGN);
        }
    };
    each(&mut |fold, bytes, _| (fold.accumulators.start)(bytes));
    // Whole columns side by side are one tile, in as many lanes as they have.
    let (longest, all) = (code.cut.longest(), rows.len());
    let most = if all == across.rows { longest / all } else { 0 };
    let is_deep = code.registers <= MAX_REGISTERS && most < DEEP * LANES;
    let many = match most {
        0 | 1 => 1,
        // Those of some lanes next to one another.
        _ if is_deep => 1 << most.min(LANES).ilog2(),
        _ if most > LANES => most / LANES * LANES,
        _ => most,
    };
    let done = if is_deep { columns.len() / (DEEP * LANES) * (DEEP * LANES) } else { 0 };
    let tiles =
        (0..done).step_by(DEEP * LANES).flat_map(|at| (0..LANES).step_by(many).map(move |lane| (at, lane)));
    for (at, lane) in tiles {
        for first in rows.clone().step_by(longest) {
            let n = longest.min((rows.end - first) + (many - 1) * all);
            let start = |k: usize| (columns.start + at + lane + k * LANES) * across.rows + first;
            for (k, room) in rooms.iter().enumerate() {
                stop::work(n);
                // SAFETY: by `with_room`; no other piece has these elements, and no other room these registers.
                unsafe { room.run_on(&Tile { elements: start(k)..start(k) + n, segments: 0..0, rows: 0 }) };
            }
            each(&mut |fold, bytes, [operand, _]| {
                // SAFETY: each room ran this tile.
                let x = std::array::from_fn(|k| unsafe { computed(&rooms[k], fold, operand, start(k), n) });
                let width = fold.accumulators.width;
                let at = (lane * all + first - rows.start) * width;
                (fold.accumulators.add_four)(&mut bytes[at..at + n * width], x);
            });
        }
    }
    for column in (columns.start + done..columns.end).step_by(many) {
        let count = many.min(columns.end - column);
        for first in rows.clone().step_by(longest) {
            let n = longest.min((rows.end - first) + (count - 1) * all);
            let start = column * across.rows + first;
            stop::work(n);
            // SAFETY: by `with_room`; no other piece has these elements.
            unsafe { room.run_on(&Tile { elements: start..start + n, segments: 0..0, rows: 0 }) };
            each(&mut |fold, bytes, [operand, _]| {
                // SAFETY: the room ran this tile.
                let x = unsafe { computed(room, fold, operand, start, n) };
                let width = fold.accumulators.width;
                if count == 1 {
                    let at = (column % LANES * all + first - rows.start) * width;
                    return (fold.accumulators.add)(&mut bytes[at..at + n * width], x);
                }
                fold.add(bytes, x, all, (column - columns.start) % LANES);
            });
        }
    }
    each(&mut |fold, bytes, [_, result]| {
        let unit = across.unit(fold, code.cut.len);
        let all = across.rows * partials * unit;
        (fold.accumulators.finish)(bytes, rows.len(), partials > 1, &mut |i, made| {
            let at = ((rows.start + i) * partials + tile) * unit;
            assert!(at + made.len() <= all, "a result outside of its stream");
            // SAFETY: in the stream, which is writable and read by nobody, places of this piece alone.
            unsafe {
                result.at(bases, 0, 0, 0).wrapping_add(at).copy_from_nonoverlapping(made.as_ptr(), made.len())
            };
        });
    });
}
