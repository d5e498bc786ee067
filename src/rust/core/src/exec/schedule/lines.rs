//! Groups that fold across columns and read the results of the folds. For some rows, whole lines of them, the
//! group runs in *phases*: each ends with folds, whose results the next ones read, repeated for all columns.
//! Tiles of long lines are those rows of some columns side by side, copied from memory and back. What a phase reads
//! or makes and a later one reads is kept for these lines alone. So a softmax or a variance over
//! the last axis reads and writes memory once, as [`rows`](super::rows) do over the first.

use super::node::Schedule;

/// Elements of a line, at most. Of longer ones, what is kept of as many rows as are read in long runs leaves the
/// caches.
const MAX_LINE: usize = 1 << 14;

/// Elements of a group, at least: fewer are in the caches from one step to the next, and copies of lines to tiles
/// and back take longer than steps that read and write them once more: with 2,000 rows and 500 columns, a softmax
/// in phases takes 1.5 times as long.
const MIN_ELEMENTS: usize = 1 << 21;

/// Whether groups of `len` elements can be computed by lines, each with an element of all columns of so many
/// rows.
pub fn are_lines(len: usize, rows: usize) -> bool {
    rows > 1 && len >= MIN_ELEMENTS && (2..=MAX_LINE).contains(&(len / rows))
}

/// Elements of a line, at most, where tiles are rows of one column, in their place in memory. Of longer lines only
/// so few rows lie in the nearer caches together that such tiles would be short; of shorter ones copies take longer
/// than they save: with 20 columns, standardising takes 1.5 times as long.
const NARROW: usize = 1 << 8;

/// Whether tiles of lines are copies of rows of several columns.
pub fn are_packed(len: usize, rows: usize) -> bool {
    are_lines(len, rows) && len / rows > NARROW
}

/// Bytes of elements from which copies of lines pay. Steps that read what is still in the last cache once more
/// take less than copies: with 5000 x 600 f32 and 32 MB of cache, a layer norm in phases takes 1.6 times as long.
const MIN_BYTES: usize = 1 << 24;

/// Whether a group of lines takes less time than steps that each read its elements, of so many bytes.
pub fn pay(len: usize, rows: usize, width: usize) -> bool {
    !are_packed(len, rows) || len * width >= MIN_BYTES
}

/// The schedule of a group across columns when one of its nodes reads the result of its fold.
pub fn of(group: Schedule) -> Schedule {
    match group {
        Schedule::Across(rows) => Schedule::Lines(rows),
        other => other,
    }
}
