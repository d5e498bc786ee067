//! The ground of anvil's engine: what a value is, and the functions on slices that compute. Knows nothing of
//! ops, graphs or R.
//!
//! A crate of its own, since the compiler's unit of work is a crate: one core makes the code of this one while
//! another reads `anvil-core`, which stands on it, and makes the code of that.
//!
//! Modules from the bottom up; each knows only those before it (`tests/tidy.rs` of `anvil-core` checks):
//!
//! | module | what it is |
//! |---|---|
//! | [`error`] | one enum of errors, with condition classes |
//! | [`growth`] | vectors and texts whose allocation may fail |
//! | [`stop`] | cancellation of long work |
//! | [`raised`] | errors of a program that runs |
//! | [`dtype`] | element types and the promotion lattice |
//! | [`shape`] | sizes, axes, strides |
//! | [`tensor`] | abstract values, literals, layouts and views |
//! | [`kernels`] | slices in, slices out |

pub mod dtype;
pub mod error;
pub mod growth;
pub mod kernels;
pub mod raised;
pub mod shape;
pub mod stop;
pub mod tensor;

/// The compiler that built this, as it names itself; for reports.
pub const COMPILER: &str = env!("ANVIL_RUSTC");
