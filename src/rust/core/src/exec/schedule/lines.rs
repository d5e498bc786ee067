//! Groups that fold across columns and read the results of the folds. For some rows, whole lines of them, the
//! group runs in *phases*: each ends with folds, whose results the next ones read, repeated for all columns.
//! What a phase makes and a later one reads is kept for these lines alone. So a softmax or a variance over
//! the last axis reads and writes memory once, as [`rows`](super::rows) do over the first.

use super::node::Schedule;

/// Elements of a line, at most. Of longer ones only so few lie in the nearer caches together that their tiles are
/// short: with 2,000 columns, a softmax in phases takes twice the time of one in several steps.
const MAX_LINE: usize = 1 << 8;

/// Elements of a group, at least: fewer are in the caches from one step to the next, and phases only shorten
/// tiles.
const MIN_ELEMENTS: usize = 1 << 21;

/// Whether groups of `len` elements can be computed by lines, each with an element of all columns of so many
/// rows.
pub fn are_lines(len: usize, rows: usize) -> bool {
    rows > 1 && len >= MIN_ELEMENTS && (2..=MAX_LINE).contains(&(len / rows))
}

/// The schedule of a group across columns when one of its nodes reads the result of its fold.
pub fn of(group: Schedule) -> Schedule {
    match group {
        Schedule::Across(rows) => Schedule::Lines(rows),
        other => other,
    }
}
