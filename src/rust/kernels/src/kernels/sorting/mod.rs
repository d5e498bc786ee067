//! Sorting: elements along an axis, their order, the first of them.
//!
//! | module | what it holds |
//! |---|---|
//! | [`keys`] | elements as unsigned integers in the same order |
//! | [`words`] | sorts of unsigned integers |
//! | [`lines`] | sorts of all lines of a value |
//! | [`top`] | the first few of a line in order, without sorting it |
//!
//! The order is that of numbers, ascending or descending. NaN comes last in either, and `-0` equals `0`.
//! Equal elements stay in the order in which they were, so that there is one result, whatever the way to it:
//! the number of threads may decide how work is cut.

pub mod keys;
pub mod lines;
pub mod top;
pub mod words;
