//! Groups that fold across columns and read the results of the folds. For some rows, whole lines of them, the
//! group runs in *phases*: each ends with folds, whose results the next ones read, repeated for all columns.
//! What a phase makes and a later one reads is kept for these lines alone. So a softmax or a variance over
//! the last axis reads and writes memory once, as [`rows`](super::rows) do over the first.

use super::node::Schedule;

/// Elements of a line, at most: with as many lines as lie side by side in a cache line or two, beyond this
/// they leave the nearer caches.
const MAX_LINE: usize = 1 << 13;

/// Whether groups of `len` elements can be computed by lines, each with an element of all columns of so many
/// rows.
pub fn are_lines(len: usize, rows: usize) -> bool {
    rows > 1 && (2..=MAX_LINE).contains(&(len / rows))
}

/// The schedule of a group across columns when one of its nodes reads the result of its fold.
pub fn of(group: Schedule) -> Schedule {
    match group {
        Schedule::Across(rows) => Schedule::Lines(rows),
        other => other,
    }
}
