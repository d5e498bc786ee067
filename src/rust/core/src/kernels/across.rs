//! Folds over the last dimensions of what a tile program makes: elements of one result lie apart, one in each
//! column.
//!
//! The columns of some rows are made one after the other, and each is taken into accumulators of its rows;
//! the value itself is never in memory. Parts and tiles of a result are those of [`super::reduce`], so that
//! its bits are too.

use super::fold::{Accumulators, LANES, PARTIAL};
use super::frame::{Code, Extent, Room, Slot, Tile};
use super::memory::{AlignedBytes, Streams};
use super::pool;
use super::threads::threads;
use super::tile::TILE;
use crate::stop;
use std::fmt;
use std::ops::Range;

/// Rows that are folded together, at most: so many that columns are read in long runs, and so few that their
/// accumulators stay in the second-level cache.
const ROWS: usize = 4096;

/// Rows that are folded together, at least, where threads would have nothing to do.
const FEW: usize = 256;

/// Folds of what a program makes of each column.
#[derive(Debug)]
pub struct Across {
    /// Elements of a column, one for each result.
    pub rows: usize,
    /// The folds.
    pub folds: Vec<Folding>,
}

/// One fold.
pub struct Folding {
    /// How.
    pub accumulators: Accumulators,
    /// Bytes of an element.
    pub width: usize,
    /// Where the elements are, when all instructions were run on their tile.
    pub operand: Slot,
    /// The stream with the results; with [`Partial`](super::fold::Partial)s, of each result one for each
    /// tile, if there are several.
    pub result: usize,
}

impl fmt::Debug for Folding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fold of {:?} into stream {}", self.operand, self.result)
    }
}

/// Tiles of each result of folds across `len` elements in columns of `rows`.
pub fn parts(len: usize, rows: usize) -> usize {
    (len / rows).div_ceil(TILE)
}

impl Across {
    /// Tiles of a result of a program on so many elements.
    pub fn parts(&self, len: usize) -> usize {
        parts(len, self.rows)
    }

    /// Runs a program whose folds these are.
    ///
    /// # Panics
    /// As [`Code::run`].
    pub fn run(&self, code: &Code, streams: &Streams, shared: bool) {
        let parts = self.parts(code.cut.len);
        let wanted = if shared { (2 * threads()).div_ceil(parts) } else { 1 };
        let rows = self.rows.div_ceil(wanted).clamp(FEW, ROWS).min(self.rows);
        let blocks = self.rows.div_ceil(rows);
        pool::for_each_piece(blocks * parts, shared, |piece| {
            let (block, part) = (piece % blocks, piece / blocks);
            let columns = part * TILE..((part + 1) * TILE).min(code.cut.len / self.rows);
            code.with_room(streams, |room| {
                self.piece(code, room, block * rows..((block + 1) * rows).min(self.rows), part, columns)
            });
        });
    }

    /// Folds some rows of some columns.
    fn piece(&self, code: &Code, room: &Room, rows: Range<usize>, part: usize, columns: Range<usize>) {
        let (each, parts) = (room.instructions(code), self.parts(code.cut.len));
        let mut folds: Vec<_> = self
            .folds
            .iter()
            .map(|fold| {
                let mut bytes =
                    AlignedBytes::zeroed(columns.len().min(LANES) * rows.len() * fold.accumulators.width);
                (fold.accumulators.start)(bytes.as_mut_slice());
                // What is folded is read as an instruction reads it.
                let (place, _) = room.place(fold.operand, Extent::Tile(fold.width), false, false);
                let unit = if parts > 1 { PARTIAL } else { fold.width };
                let (result, all) = room.place(
                    Slot::Stream(fold.result),
                    Extent::Bytes(self.rows * parts * unit),
                    false,
                    true,
                );
                (fold, bytes, place, result, all)
            })
            .collect();
        for column in columns {
            for first in rows.clone().step_by(code.cut.longest()) {
                let n = code.cut.longest().min(rows.end - first);
                let start = column * self.rows + first;
                stop::work(n);
                // SAFETY: by `with_room`; no other piece has these elements.
                unsafe { each.run(&code.cut, &Tile { elements: start..start + n, segments: 0..0 }) };
                for (fold, bytes, place, ..) in &mut folds {
                    // SAFETY: as many elements were checked to be there, and what writes them is done.
                    let x = unsafe {
                        std::slice::from_raw_parts(place.at(start, 0, 0).cast_const(), n * fold.width)
                    };
                    let at = (column % LANES * rows.len() + first - rows.start) * fold.accumulators.width;
                    (fold.accumulators.add)(
                        &mut bytes.as_mut_slice()[at..at + n * fold.accumulators.width],
                        x,
                    );
                }
            }
        }
        for (fold, bytes, _, result, all) in &mut folds {
            (fold.accumulators.finish)(bytes.as_mut_slice(), rows.len(), parts > 1, &mut |i, made| {
                let at = ((rows.start + i) * parts + part) * made.len();
                assert!(at + made.len() <= all.len(), "a result outside of its stream");
                // SAFETY: in the stream, which is writable and read by nobody, a place of this piece alone.
                unsafe {
                    result.at(0, 0, 0).wrapping_add(at).copy_from_nonoverlapping(made.as_ptr(), made.len())
                };
            });
        }
    }
}
