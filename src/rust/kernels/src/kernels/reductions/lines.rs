//! The lines of a value along an axis, cumulated: each by itself, one line by several threads, or neighbours
//! together. All of it is compiled for each size of elements.

use super::way::{tiles_of, AnyParts, Lines, Order, Together, Walk, Word, NO_STATE, NO_TOTAL, TOGETHER};
use crate::dtype::Element;
use crate::growth::{collect, table, with_table};
use crate::kernels::threads::{pool, threads};
use crate::kernels::tile::TILE;
use crate::stop;
use std::mem::size_of;

/// Neighbours that are taken together, at least: of fewer, each is taken by itself.
const FEW: usize = 8;

/// The estimated time per element, in picoseconds.
const ELEMENT: usize = 400;

/// Elements of a piece of work for a thread, about: of 8 bytes, a fraction of its second-level cache.
const PIECE: usize = 1 << 14;

/// Elements of a line from which on threads share it: below, one takes less time than its totals do.
const MIN_SHARED: usize = 1 << 17;

impl Lines {
    /// One line in two passes: the totals of its tiles, and with these the pieces by themselves.
    fn shared<T: Element>(self, walk: &Walk<T>, x: Option<&[T]>, out: &mut [T], parts: AnyParts<T>) {
        let (total, take) = parts;
        let Order { tile, .. } = *walk.order(self.reverse);
        let mut totals = table(NO_TOTAL, self.n.div_ceil(TILE));
        let from = x.unwrap_or(out);
        let work = self.n.saturating_mul(ELEMENT);
        pool::for_each_chunk(&mut totals, PIECE / TILE, work / 2, |i, totals| {
            let piece = &from[i * PIECE..];
            stop::work(PIECE);
            totals.iter_mut().zip(piece.chunks(TILE)).for_each(|(out, x)| *out = total(x));
        });
        // The state before each piece.
        let mut state = NO_STATE;
        (walk.start)(&mut state);
        let mut states = table(state, self.n.div_ceil(PIECE));
        let (last, step) = (states.len() - 1, PIECE / TILE);
        for i in 0..states.len() {
            let piece = if self.reverse { last - i } else { i };
            states[piece] = state;
            let totals = &totals[piece * step..];
            let mut add = |total| take(&mut state, total);
            let totals = &totals[..totals.len().min(step)];
            if self.reverse {
                totals.iter().rev().for_each(&mut add);
            } else {
                totals.iter().for_each(&mut add);
            }
        }
        pool::for_each_chunk(out, PIECE, work, |i, out| {
            let mut state = states[i];
            let x = x.map(|x| &x[i * PIECE..][..out.len()]);
            self.line(x, out, |x, out| tile(&mut state, x, out));
        });
    }

    /// Lines whose elements are neighbours, together.
    fn across<T: Element>(self, walk: &Walk<T>, x: Option<&[T]>, out: &mut [T], together: Together<T, Word>) {
        let Lines { n, inner, reverse } = self;
        // Blocks of equal size, at least one for each thread where there is enough.
        let each = inner.div_ceil(threads()).clamp(inner.min(TOGETHER / 4), TOGETHER);
        // The states of a block are whole words.
        let words = (each * walk.size).div_ceil(size_of::<Word>());
        let mut states = table(Word::uninit(), words * inner.div_ceil(each));
        states.chunks_mut(words).for_each(walk.start);
        for tile in tiles_of(n, reverse) {
            let mut blocks: Vec<(&mut [Word], Vec<&mut [T]>)> =
                collect(states.chunks_mut(words).map(|states| (states, Vec::with_capacity(tile.len()))));
            for row in out[tile.start * inner..tile.end * inner].chunks_mut(inner) {
                blocks.iter_mut().zip(row.chunks_mut(each)).for_each(|((_, rows), part)| rows.push(part));
            }
            let work = (tile.len() * inner).saturating_mul(ELEMENT);
            pool::for_each_chunk(&mut blocks, 1, work, |i, blocks| {
                for (states, rows) in blocks {
                    stop::work(rows.len() * rows[0].len());
                    for (row, out) in tile.clone().zip(&mut *rows) {
                        if let Some(x) = x {
                            out.copy_from_slice(&x[row * inner + i * each..][..out.len()]);
                        }
                    }
                    if reverse {
                        rows.reverse();
                    }
                    together(states, rows);
                }
            });
        }
    }

    /// Lines whose elements are few neighbours, each by itself.
    fn apart<T: Element>(self, walk: &Walk<T>, out: &mut [T]) {
        with_table(T::default(), self.n.min(TILE), |line| {
            for first in 0..self.inner {
                let mut state = NO_STATE;
                (walk.start)(&mut state);
                for tile in tiles_of(self.n, self.reverse) {
                    let line = &mut line[..tile.len()];
                    let rows = tile.start * self.inner + first..;
                    let places = out[rows.clone()].iter().step_by(self.inner);
                    line.iter_mut().zip(places).for_each(|(to, x)| *to = *x);
                    stop::work(line.len());
                    (walk.order(self.reverse).tile)(&mut state, None, line);
                    let places = out[rows].iter_mut().step_by(self.inner);
                    places.zip(&*line).for_each(|(to, x)| *to = *x);
                }
            }
        })
    }

    /// All lines of a value.
    pub(super) fn run<T: Element>(self, walk: &Walk<T>, x: Option<&[T]>, out: &mut [T]) {
        let Lines { n, inner, .. } = self;
        let slab = n * inner;
        let work = out.len().saturating_mul(ELEMENT);
        if let (1, true, Some(parts)) =
            (inner, out.len() / n < threads() && n >= MIN_SHARED, walk.order(self.reverse).parts)
        {
            for (i, line) in out.chunks_mut(n).enumerate() {
                self.shared(walk, x.map(|x| &x[i * n..][..n]), line, parts);
            }
            return;
        }
        let size = (PIECE / slab).max(1) * slab;
        pool::for_each_chunk(out, size, work, |i, out| {
            let x = x.map(|x| &x[i * size..][..out.len()]);
            if inner == 1 {
                return (walk.along)(self, x, out);
            }
            for (j, out) in out.chunks_mut(slab).enumerate() {
                let x = x.map(|x| &x[j * slab..][..slab]);
                if let Some(together) = walk.together.filter(|_| inner >= FEW) {
                    self.across(walk, x, out, together);
                    continue;
                }
                if let Some(x) = x {
                    out.copy_from_slice(x);
                }
                self.apart(walk, out);
            }
        });
    }
}
