//! The order in which indexed copies visit elements: those of a dense value, and their positions on the other side, where
//! windows start.

use super::zeroed;
use crate::growth::with_table;
use crate::kernels::threads::pool;
use crate::kernels::tile::{STACK_AXES, TILE};
use std::ops::Range;

/// The table's entry for a window that is left out.
pub const OUTSIDE: isize = isize::MIN;

/// The place of an element that is left out, among places in a share of at most so many elements.
pub const NOWHERE: u32 = u32::MAX;

/// Starts of windows, in the order of a table: positions of elements, or [`OUTSIDE`].
pub struct Starts<'a> {
    /// Number of windows.
    pub count: usize,
    /// Computes the starts of a range.
    pub find: &'a (dyn Fn(Range<usize>, &mut [isize]) + Sync),
    /// If windows have one element along the axis that they are found on, computes where those of a range are in a share of
    /// the buffer, or [`NOWHERE`], in half the bytes and less than half the time.
    pub places: Option<&'a Places<'a>>,
    /// Examples of a batch, one after the other in the table and in the buffer, each with windows in its part of the
    /// buffer alone; 1 if there is no batch, or it lies otherwise.
    pub examples: usize,
}

/// Computes the places of a range of windows in a share of a buffer.
pub type Places<'a> = dyn Fn(Range<usize>, &Range<usize>, &mut [u32]) + Sync + 'a;

impl Starts<'_> {
    /// The places of a range of elements in a share of the buffer, or [`NOWHERE`].
    pub(super) fn places(&self, range: Range<usize>, share: &Range<usize>, out: &mut [u32]) {
        if let Some(places) = self.places {
            return places(range, share, out);
        }
        with_table(0, out.len().min(TILE), |starts| {
            for (i, out) in out.chunks_mut(TILE).enumerate() {
                let (start, starts) = (range.start + i * TILE, &mut starts[..out.len()]);
                (self.find)(start..start + out.len(), starts);
                for (out, &start) in out.iter_mut().zip(&*starts) {
                    // Before the share, and outside, it is far beyond it.
                    let place = (start as usize).wrapping_sub(share.start);
                    *out = if place < share.len() { place as u32 } else { NOWHERE };
                }
            }
        })
    }

    /// The whole table.
    pub fn table(&self) -> Vec<isize> {
        let mut table = zeroed::<isize>(self.count);
        pool::for_each_chunk(&mut table, PIECE, self.count * ELEMENT, |i, piece| {
            let start = i * PIECE;
            (self.find)(start..start + piece.len(), piece);
        });
        table
    }
}

/// The stride on the other side along an axis of the dense value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stride {
    /// In elements of memory.
    Memory(isize),
    /// In entries of the table.
    Table(usize),
}

/// The axes of a dense value with their strides.
#[derive(Debug)]
pub struct Walk(pub(super) Vec<(usize, Stride)>);

/// Neighbours along the first axis of a walk: `len` elements from number `at` on, counted from the start of
/// the range that is walked. Element `i` of them is `offset` and `i` strides from the position in the table.
#[derive(Debug)]
pub(super) struct Run {
    pub at: usize,
    pub len: usize,
    pub entry: usize,
    pub offset: isize,
    pub stride: Stride,
}

impl Walk {
    /// A walk over axes of these sizes. Axes with a single stride are joined.
    pub fn new(axes: impl Iterator<Item = (usize, Stride)>) -> Walk {
        let mut joined: Vec<(usize, Stride)> = Vec::new();
        for (size, stride) in axes.filter(|(size, _)| *size != 1) {
            match (joined.last_mut(), stride) {
                (Some((n, Stride::Memory(s))), Stride::Memory(stride)) if *s * *n as isize == stride => {
                    *n *= size
                }
                (Some((n, Stride::Table(s))), Stride::Table(stride)) if *s * *n == stride => *n *= size,
                _ => joined.push((size, stride)),
            }
        }
        if joined.is_empty() {
            joined.push((1, Stride::Memory(1)));
        }
        Walk(joined)
    }

    /// Whether each element is a window, in the order of the table, so that no table is needed.
    pub(super) fn is_list(&self) -> bool {
        matches!(self.0.as_slice(), [(_, Stride::Table(1))])
    }

    /// If it is over elements of the columns of a matrix, as `x[i, ]` has them, and all of them are among so many
    /// elements: how many each column has, the first ones of the table, and the stride from column to column.
    pub(super) fn rows(&self, table: &[isize], len: usize) -> Option<(usize, usize)> {
        let &[(rows, Stride::Table(1)), (columns, Stride::Memory(stride @ 0..))] = self.0.as_slice() else {
            return None;
        };
        let table = &table[..rows];
        let (first, last) = (*table.iter().min()?, *table.iter().max()?);
        let last = last.checked_add(stride.checked_mul(columns as isize - 1)?)?;
        (first >= 0 && (last as usize) < len).then_some((rows, stride as usize))
    }

    /// Visits elements `range` of the dense value as runs.
    pub(super) fn runs(&self, range: Range<usize>, mut visit: impl FnMut(Run)) {
        if range.is_empty() {
            return;
        }
        let (mut rest, rank) = (range.start, self.0.len());
        // As those of `tile::runs`.
        let (mut stack, mut heap) = ([0; STACK_AXES], vec![]);
        let index = if rank <= STACK_AXES {
            &mut stack[..rank]
        } else {
            heap.resize(rank, 0);
            &mut heap[..]
        };
        for (i, &(n, _)) in index.iter_mut().zip(&self.0) {
            (*i, rest) = (rest % n, rest / n);
        }
        let (size, stride) = self.0[0];
        let mut at = 0;
        while at < range.len() {
            let (mut entry, mut offset) = (0, 0);
            for (&i, &(_, stride)) in index.iter().zip(&self.0) {
                match stride {
                    Stride::Memory(s) => offset += i as isize * s,
                    Stride::Table(s) => entry += i * s,
                }
            }
            let len = (size - index[0]).min(range.len() - at);
            visit(Run { at, len, entry, offset, stride });
            at += len;
            index[0] += len;
            for axis in 0..self.0.len() - 1 {
                if index[axis] < self.0[axis].0 {
                    break;
                }
                index[axis] = 0;
                index[axis + 1] += 1;
            }
        }
    }
}

/// Elements of a piece of work for a thread.
pub(super) const PIECE: usize = 1 << 14;

/// The estimated time of copying an element, in picoseconds.
pub(super) const ELEMENT: usize = 1_000;

/// Positions that are found at one time.
pub(super) const LIST: usize = 4 * TILE;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_in_one_line_are_joined() {
        let strides = |axes: &[(usize, Stride)]| Walk::new(axes.iter().copied()).0;
        let (m, t) = (Stride::Memory, Stride::Table);
        assert_eq!(strides(&[(2, m(1)), (3, m(2)), (1, t(1)), (4, m(6))]), [(24, m(1))]);
        assert_eq!(strides(&[(2, m(1)), (3, m(4))]), [(2, m(1)), (3, m(4))]);
        assert_eq!(strides(&[(2, t(1)), (3, t(2)), (3, m(1))]), [(6, t(1)), (3, m(1))]);
        assert_eq!(strides(&[]), [(1, m(1))]);
        assert_eq!(strides(&[(2, m(-1)), (3, m(-2))]), [(6, m(-1))]);
    }
}
