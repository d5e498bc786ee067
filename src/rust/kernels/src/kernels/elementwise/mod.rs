//! Elementwise kernels: for each function and dtype a loop over the elements of a tile.
//!
//! A [`Map`] is called with bytes: who calls it is compiled once, not for each function and dtype. The functions
//! themselves are one expression for each kind of dtype, in the tables of the modules.

mod binary;
mod compare;
mod complex;
mod complex_blocks;
mod convert;
mod map;
mod parts;
mod predicate;
mod select;
mod unary;
mod updates;

pub use binary::{Binary, Pair};
pub use compare::Compare;
pub use convert::convert;
pub use map::Map;
pub use parts::{join, Part};
pub use predicate::Predicate;
pub use select::{clamp, select};
pub use unary::Unary;
pub(super) use updates::repeats;
