//! Folds over the last axes of a tile program's value: the elements of one result are in different columns.
//!
//! For some rows, columns are computed one after the other and added to accumulators; the value itself is
//! never in memory. Lanes and tiles of a result are those of [`reduce`](crate::kernels::reductions::reduce),
//! and so are its bits.

use super::binding::{Address, Binding};
use super::code::{Across, Code, Folding};
use super::resolve::{Room, Tile, ALIGN};
use crate::kernels::memory::{AlignedBytes, Streams};
use crate::kernels::reductions::partials::LANES;
use crate::kernels::threads::{pool, threads};
use crate::kernels::tile::TILE;
use crate::stop;
use std::cell::RefCell;
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

/// Elements of a tile, at least, where threads share the lanes of a column: with fewer, calls would take longer than
/// their elements.
const MIN_TILE: usize = 256;

thread_local! {
    /// Accumulators of folds whose lanes threads share, kept from one program to the next.
    static ACCUMULATORS: RefCell<AlignedBytes> = const { RefCell::new(AlignedBytes::new()) };
}

/// Runs a program with these folds.
///
/// # Panics
/// As [`Code::run`].
pub(super) fn run(across: &Across, code: &Code, binding: &Binding, streams: &Streams, shared: bool) {
    let partials = across.partials(code.cut.len);
    // Several pieces for each thread; for one, whole columns.
    let wanted = if shared && threads() > 1 { 2 * threads() } else { 1 };
    let blocks = wanted.div_ceil(partials).min(across.rows / MIN_ROWS);
    let blocks = blocks.max(across.rows.div_ceil(MAX_ROWS)).max(1);
    let rows = across.rows.div_ceil(blocks);
    let blocks = across.rows.div_ceil(rows);
    // Each has accumulators of its own.
    let folds = blocks * partials;
    let piece = |i: usize| {
        let (block, tile) = (i % blocks, i / blocks);
        let columns = tile * TILE..((tile + 1) * TILE).min(code.cut.len / across.rows);
        Piece { rows: block * rows..((block + 1) * rows).min(across.rows), tile, columns, lanes: 0..LANES }
    };
    let parts = if wanted > folds { parts(wanted.div_ceil(folds), across.rows, code) } else { 1 };
    if parts == 1 {
        return pool::for_each_piece(folds, shared, |i| {
            let piece = piece(i);
            code.with_rooms(binding, streams, piece.bytes(across), |rooms, bytes| {
                // SAFETY: the bytes are borrowed exclusively.
                unsafe { piece.fold(across, rooms, bytes.as_mut_ptr()) };
                piece.finish(across, &rooms[0], bytes);
            });
        });
    }
    // Few rows: threads share the lanes.
    let each = piece(0).bytes(across);
    let run_in = |bytes: &mut AlignedBytes| {
        bytes.reserve(folds * each);
        let shared = Shared(bytes.as_mut_slice().as_mut_ptr());
        pool::for_each_piece(folds * parts, true, |i| {
            let (i, part) = (i / parts, i % parts);
            let lanes = part * (LANES / parts)..(part + 1) * (LANES / parts);
            let piece = Piece { lanes, ..piece(i) };
            code.with_rooms(binding, streams, 0, |rooms, _| {
                // SAFETY: all folds have places of their own, and so have the lanes of each.
                unsafe { piece.fold(across, rooms, shared.at(i * each)) };
            });
        });
        code.with_room(binding, streams, 0, |room, _| {
            for (i, bytes) in bytes.as_mut_slice().chunks_exact_mut(each).take(folds).enumerate() {
                piece(i).finish(across, room, bytes);
            }
        });
    };
    ACCUMULATORS.with(|bytes| match bytes.try_borrow_mut() {
        Ok(mut bytes) => run_in(&mut bytes),
        Err(_) => run_in(&mut AlignedBytes::new()),
    });
}

/// Into how many parts the lanes of columns are divided, of so many that are wanted.
fn parts(wanted: usize, rows: usize, code: &Code) -> usize {
    let columns = code.cut.longest() / rows;
    if columns >= DEEP * LANES {
        // Columns are so short that many are one tile.
        return 1;
    }
    let most = (LANES * rows / MIN_TILE).clamp(1, LANES);
    wanted.next_power_of_two().min(1 << most.ilog2())
}

/// Accumulators that pieces write to, each in places of its own.
struct Shared(*mut u8);

// SAFETY: by the contract of `Piece::fold`.
unsafe impl Sync for Shared {}

impl Shared {
    /// Those of a fold.
    fn at(&self, start: usize) -> *mut u8 {
        self.0.wrapping_add(start)
    }
}

/// What is folded together.
struct Piece {
    rows: Range<usize>,
    /// The number of these columns among all.
    tile: usize,
    columns: Range<usize>,
    /// The lanes whose columns it folds: of the first column, of the second ...
    lanes: Range<usize>,
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

impl Piece {
    /// Bytes of the accumulators of a fold: row by row of each lane.
    fn bytes_of(&self, fold: &Folding) -> usize {
        self.columns.len().min(LANES) * self.rows.len() * fold.accumulators.width
    }

    /// Those of all folds.
    fn bytes(&self, across: &Across) -> usize {
        across.folds.iter().map(|fold| self.bytes_of(fold).next_multiple_of(ALIGN)).sum()
    }

    /// Calls with each fold, where its accumulators start, and the addresses of operand and result.
    fn each(&self, across: &Across, room: &Room, run: &mut dyn FnMut(&Folding, usize, &[Address; 2])) {
        let mut start = 0;
        for (fold, addresses) in across.folds.iter().zip(&room.binding.folds) {
            run(fold, start, addresses);
            start += self.bytes_of(fold).next_multiple_of(ALIGN);
        }
    }

    /// Folds its elements, in as many rooms as columns of one lane are computed at a time.
    ///
    /// # Safety
    /// `accumulators` points to as many bytes as [`Piece::bytes`]. Nothing else reads or writes those of its lanes.
    unsafe fn fold(&self, across: &Across, rooms: &[Room; DEEP], accumulators: *mut u8) {
        let Piece { rows, columns, .. } = self;
        let lanes = self.lanes.start..self.lanes.end.min(columns.len());
        if lanes.is_empty() {
            return;
        }
        let room = &rooms[0];
        let code = room.code;
        // Calls with each fold, the accumulators of the lanes, and the address of the operand.
        let each = |run: &mut dyn FnMut(&Folding, &mut [u8], &Address)| {
            self.each(across, room, &mut |fold, start, [operand, _]| {
                let lane = rows.len() * fold.accumulators.width;
                let first = accumulators.wrapping_add(start + lanes.start * lane);
                // SAFETY: by the caller.
                run(fold, unsafe { std::slice::from_raw_parts_mut(first, lanes.len() * lane) }, operand);
            });
        };
        each(&mut |fold, bytes, _| (fold.accumulators.start)(bytes));
        // Whole columns side by side are one tile, in as many lanes as they have.
        let (longest, all) = (code.cut.longest(), rows.len());
        let most = if all == across.rows { longest / all } else { 0 };
        let is_deep = code.registers <= MAX_REGISTERS && most < DEEP * LANES;
        let most_lanes = self.lanes.len();
        let many = match most {
            0 | 1 => 1,
            // Those of some lanes next to one another.
            _ if is_deep => 1 << most.min(most_lanes).ilog2(),
            _ if most > LANES && most_lanes == LANES => most / LANES * LANES,
            _ => most.min(most_lanes),
        };
        let done = if is_deep { columns.len() / (DEEP * LANES) * (DEEP * LANES) } else { 0 };
        let tiles = (0..done)
            .step_by(DEEP * LANES)
            .flat_map(|at| lanes.clone().step_by(many).map(move |lane| (at, lane)));
        for (at, lane) in tiles {
            for first in rows.clone().step_by(longest) {
                let n = longest.min((rows.end - first) + (many - 1) * all);
                let start = |k: usize| (columns.start + at + lane + k * LANES) * across.rows + first;
                for (k, room) in rooms.iter().enumerate() {
                    stop::work(n);
                    // SAFETY: by `with_room`; no other piece has these elements, and no other room these registers.
                    unsafe {
                        room.run_on(&Tile { elements: start(k)..start(k) + n, segments: 0..0, rows: 0 })
                    };
                }
                each(&mut |fold, bytes, operand| {
                    // SAFETY: each room ran this tile.
                    let x =
                        std::array::from_fn(|k| unsafe { computed(&rooms[k], fold, operand, start(k), n) });
                    let width = fold.accumulators.width;
                    let at = ((lane - lanes.start) * all + first - rows.start) * width;
                    (fold.accumulators.add_four)(&mut bytes[at..at + n * width], x);
                });
            }
        }
        let tiles = (columns.start + done..columns.end)
            .step_by(many.max(LANES))
            .flat_map(|at| lanes.clone().step_by(many).map(move |lane| (at, lane)))
            .filter(|(at, lane)| at + lane < columns.end);
        for (at, lane) in tiles {
            let column = at + lane;
            let last = if many > LANES { columns.end } else { columns.end.min(at + lanes.end) };
            let count = many.min(last - column);
            for first in rows.clone().step_by(longest) {
                let n = longest.min((rows.end - first) + (count - 1) * all);
                let start = column * across.rows + first;
                stop::work(n);
                // SAFETY: by `with_room`; no other piece has these elements.
                unsafe { room.run_on(&Tile { elements: start..start + n, segments: 0..0, rows: 0 }) };
                each(&mut |fold, bytes, operand| {
                    // SAFETY: the room ran this tile.
                    let x = unsafe { computed(room, fold, operand, start, n) };
                    let (lane, width) = (lane - lanes.start, fold.accumulators.width);
                    if count == 1 {
                        let at = (lane * all + first - rows.start) * width;
                        return (fold.accumulators.add)(&mut bytes[at..at + n * width], x);
                    }
                    fold.add(bytes, x, all, lane);
                });
            }
        }
    }

    /// Writes the results, of which it has folded all lanes.
    fn finish(&self, across: &Across, room: &Room, accumulators: &mut [u8]) {
        let len = room.code.cut.len;
        let partials = across.partials(len);
        self.each(across, room, &mut |fold, start, [_, result]| {
            let bytes = &mut accumulators[start..start + self.bytes_of(fold)];
            let unit = across.unit(fold, len);
            let all = across.rows * partials * unit;
            (fold.accumulators.finish)(bytes, self.rows.len(), partials > 1, &mut |i, made| {
                let at = ((self.rows.start + i) * partials + self.tile) * unit;
                assert!(at + made.len() <= all, "a result outside of its stream");
                // SAFETY: in the stream, which is writable and read by nobody, places of this piece alone.
                unsafe {
                    let out = result.at(room.bases, 0, 0, 0).wrapping_add(at);
                    out.copy_from_nonoverlapping(made.as_ptr(), made.len());
                }
            });
        });
    }
}
