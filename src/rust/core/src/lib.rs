//! The engine of anvil: everything that computes, and nothing that knows R.
//!
//! Modules from the bottom up; each knows only those before it (`tests/tidy.rs` checks):
//!
//! | module | what it is |
//! |---|---|
//! | [`error`] | one enum of errors, with condition classes |
//! | [`growth`] | vectors and texts whose allocation may fail |
//! | [`stop`] | cancellation of long work |
//! | [`dtype`] | element types and the promotion lattice |
//! | [`shape`] | sizes, axes, strides |
//! | [`tensor`] | abstract values, literals, layouts and views |
//! | [`format`](mod@format) | the text of a tensor |
//! | [`kernels`] | slices in, slices out |
//! | [`boundary`] | R's vectors to the bytes of a tensor, and back |
//! | [`exec::vm`] | the tile VM: instructions on registers of one tile each |
//! | [`graph`] | typed values and nodes, generic over ops |
//! | [`ops`] | the catalogue of ops |
//! | [`autodiff`] | reverse mode: the ops' rules along a program, backwards |
//! | [`passes`] | graph to graph |
//! | [`hlo`] | a program as StableHLO text |
//! | [`exec`] | partition, compilation, plans, runs; the reference interpreter |
//! | [`apply`](mod@apply) | a call as the user wrote it, to nodes: promotion and scalar broadcasting |
//!
//! A call goes `apply` -> `graph` -> `passes` -> `exec`; an eager op is the same path on a graph of one op.

pub mod apply;
pub mod autodiff;
pub mod boundary;
pub mod dtype;
pub mod error;
pub mod exec;
pub mod format;
pub mod graph;
pub mod growth;
pub mod hlo;
pub mod kernels;
pub mod ops;
pub mod passes;
pub mod shape;
pub mod stop;
pub mod tensor;
