//! Tile programs on whole lines across columns, in phases: some rows at a time, each phase on all their
//! columns, and what the phase folds is there for the next one. What is read again is still in a cache.
//!
//! Lanes and tiles of a fold are those of [`reduce`](crate::kernels::reductions::reduce), and so are its
//! bits.

use super::binding::{Address, Binding, Resolved};
use super::code::{Across, Code, Folding, Phased};
use super::resolve::{Room, Tile, ALIGN};
use crate::kernels::memory::cache;
use crate::kernels::memory::Streams;
use crate::kernels::reductions::partials::{LANES, PARTIAL};
use crate::kernels::threads::pool;
use crate::kernels::tile::TILE;
use crate::stop;
use std::ops::Range;

/// Runs a program.
///
/// # Panics
/// As [`Code::run`].
pub(super) fn run(
    across: &Across,
    phased: Phased,
    code: &Code,
    binding: &Binding,
    streams: &Streams,
    shared: bool,
) {
    assert!(phased.rows <= code.cut.longest(), "a column of some rows is no tile");
    let lines = Lines { across, phased, columns: code.cut.len / across.rows };
    let bytes = across.folds.iter().map(|fold| lines.room(fold)).max().unwrap_or(0);
    pool::for_each_piece(across.rows.div_ceil(phased.rows), shared, |i| {
        let rows = i * phased.rows..((i + 1) * phased.rows).min(across.rows);
        code.with_room(binding, streams, bytes * across.folds.len(), |room, memory| {
            (0..phased.count).for_each(|phase| lines.phase(room, memory, bytes, phase, &rows));
        });
    });
}

/// Columns ahead whose rows are fetched: processors do not foresee where they are.
const AHEAD: usize = 3;

/// Asks for some elements at these addresses.
fn fetch(room: &Room, far: &[Address], elements: Range<usize>) {
    for address in far {
        let bytes = elements.len() * address.by_tile;
        // SAFETY: a room has the bases that its binding is of; nothing is read.
        let start = unsafe { address.at(room.bases, elements.start, 0, 0) }.cast_const();
        cache::fetch(start, bytes);
    }
}

struct Lines<'a> {
    across: &'a Across,
    phased: Phased,
    columns: usize,
}

impl Lines<'_> {
    /// Tiles of a line.
    fn tiles(&self) -> usize {
        self.columns.div_ceil(TILE)
    }

    /// Bytes that a fold takes: accumulators, results, and partial results if there are several of each.
    fn room(&self, fold: &Folding) -> usize {
        let [accumulators, results, partials] = self.parts(fold, self.phased.rows);
        accumulators + results + partials
    }

    /// Bytes of the accumulators, of the results, and of the partial results of so many rows.
    fn parts(&self, fold: &Folding, rows: usize) -> [usize; 3] {
        let partials = if self.tiles() > 1 { self.tiles() * PARTIAL } else { 0 };
        [self.columns.min(LANES) * fold.accumulators.width, fold.width, partials]
            .map(|bytes| (bytes * rows).next_multiple_of(ALIGN))
    }

    /// Where the elements are that this phase is the first to read or write in their place in memory.
    fn far(&self, room: &Room, phase: usize) -> Vec<Address> {
        let mut far: Vec<(usize, Address)> = vec![];
        let mut add = |phase: usize, address: &Address| {
            if address.by_tile == 0 {
                return;
            }
            match far.iter_mut().find(|(_, known)| known.base == address.base) {
                Some((first, _)) => *first = phase.min(*first),
                None => far.push((phase, *address)),
            }
        };
        for (instruction, resolved) in room.code.each.iter().zip(&room.binding.each) {
            match resolved {
                Resolved::Kernel { reads, write, .. } if !instruction.folded => {
                    reads.iter().chain([write]).for_each(|address| add(instruction.phase, address));
                }
                Resolved::Native(all, _) if !instruction.folded => {
                    all.iter().for_each(|address| add(instruction.phase, address));
                }
                _ => {}
            }
        }
        for (fold, [operand, _]) in self.across.folds.iter().zip(&room.binding.folds) {
            add(fold.phase, operand);
        }
        far.into_iter().filter(|&(first, _)| first == phase).map(|(_, address)| address).collect()
    }

    /// Runs a phase of some rows.
    fn phase(&self, room: &Room, memory: &mut [u8], bytes: usize, phase: usize, rows: &Range<usize>) {
        let none = Tile { elements: 0..0, segments: rows.clone(), rows: rows.len() };
        // SAFETY: by `with_room`; no other piece has these rows.
        unsafe { room.run_some(&none, |instruction| instruction.phase == phase && instruction.folded) };
        let folds = || self.across.folds.iter().zip(&room.binding.folds).enumerate();
        let of_phase = || folds().filter(|(_, (fold, _))| fold.phase == phase);
        let of_tiles =
            |instruction: &super::code::Instruction| instruction.phase == phase && !instruction.folded;
        if of_phase().next().is_none() && !room.code.each.iter().any(of_tiles) {
            return;
        }
        let n = rows.len();
        // So many columns are one tile, as many as there are lanes, or a whole number of times more.
        let together = self.phased.packed || n == self.across.rows;
        let many = if together { room.code.cut.longest() / n } else { 1 };
        let many = if many > LANES { many / LANES * LANES } else { many };
        // The elements of a fold, in a stream those from one on, kept ones from another.
        let elements_of = |fold: &Folding, operand: &Address, start: usize, from: usize, count: usize| {
            // SAFETY: as many elements were checked to be there, and what writes them is done.
            unsafe {
                let at = operand.at(room.bases, start, 0, from);
                std::slice::from_raw_parts(at.cast_const(), count * fold.width)
            }
        };
        // Copies fetch what they read, and columns side by side are foreseen.
        let far = if together { vec![] } else { self.far(room, phase) };
        for tile in 0..self.tiles() {
            let columns = tile * TILE..((tile + 1) * TILE).min(self.columns);
            let lanes = columns.len().min(LANES);
            for (i, (fold, _)) in of_phase() {
                let accumulators = &mut memory[i * bytes..][..lanes * n * fold.accumulators.width];
                (fold.accumulators.start)(accumulators);
            }
            for column in columns.clone().step_by(many) {
                let count = many.min(columns.end - column);
                let start = column * self.across.rows + rows.start;
                stop::work(n * count);
                let ahead = start + AHEAD * self.across.rows;
                fetch(room, &far, ahead..ahead + n);
                // What is kept of the rows is counted from the first of their elements.
                let elements = Tile { elements: start..start + n * count, segments: column * n..0, rows: n };
                // SAFETY: as above.
                unsafe { room.run_some(&elements, of_tiles) };
                for (i, (fold, [operand, _])) in of_phase() {
                    if fold.accumulators.tiles.is_some() {
                        continue;
                    }
                    let accumulators = &mut memory[i * bytes..][..lanes * n * fold.accumulators.width];
                    let x = elements_of(fold, operand, start, column * n, n * count);
                    fold.add(accumulators, x, n, (column - columns.start) % LANES);
                }
            }
            for (i, (fold, [operand, _])) in of_phase() {
                let [first, second, _] = self.parts(fold, n);
                let (accumulators, rest) = memory[i * bytes..][..bytes].split_at_mut(first);
                let accumulators = &mut accumulators[..lanes * n * fold.accumulators.width];
                let (results, partials) = rest.split_at_mut(second);
                let several = self.tiles() > 1;
                let mut take = |row: usize, made: &[u8]| {
                    let at = if several { (row * self.tiles() + tile) * PARTIAL } else { row * fold.width };
                    let out = if several { &mut *partials } else { &mut *results };
                    out[at..at + made.len()].copy_from_slice(made);
                };
                match &fold.accumulators.tiles {
                    Some(tiles) => {
                        let x = elements_of(fold, operand, 0, columns.start * n, n * columns.len());
                        tiles(x, n, several, &mut take);
                    }
                    None => (fold.accumulators.finish)(accumulators, n, several, &mut take),
                }
            }
        }
        for (i, (fold, [_, result])) in of_phase() {
            let [first, second, third] = self.parts(fold, n);
            let (results, partials) = memory[i * bytes + first..][..second + third].split_at_mut(second);
            let results = &mut results[..n * fold.width];
            if self.tiles() > 1 {
                let partials = &partials[..n * self.tiles() * PARTIAL];
                (fold.accumulators.join)(partials, self.columns, results);
            }
            // In a stream each row has its place; a register is of these rows alone.
            let place = if fold.is_in_stream() { rows.start * fold.width } else { 0 };
            // SAFETY: the stream has a result for each row, and the register for each row of a tile; both are
            // writable, and nothing reads these places meanwhile.
            unsafe {
                let out = result.at(room.bases, 0, 0, 0).wrapping_add(place);
                out.copy_from_nonoverlapping(results.as_ptr(), results.len());
            }
        }
    }
}
