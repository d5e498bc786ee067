//! The engine of anvil: everything that computes, and nothing that knows R.
//!
//! Modules from the bottom up; each knows only those before it (`tests/tidy.rs` checks):
//!
//! | module | what it is |
//! |---|---|
//! | [`error`] | everything that can go wrong |
//! | [`growth`] | vectors and texts that grow with what the user writes |
//! | [`stop`] | what takes long is left when asked |
//! | [`dtype`] | element types and the promotion lattice |
//! | [`shape`] | sizes, axes, strides |
//! | [`tensor`] | abstract values, literals, layouts and views |
//! | [`format`](mod@format) | the text of a tensor |
//! | [`kernels`] | slices in, slices out |
//! | [`boundary`] | R's vectors to the bytes of a tensor, and back |
//! | [`exec::vm`] | the tile VM: instructions on registers of one tile each |
//! | [`graph`] | typed values and nodes, generic over ops |
//! | [`ops`] | the catalogue: every op once |
//! | [`autodiff`] | gradients: rules of the ops, applied to a program backwards |
//! | [`passes`] | graph to graph |
//! | [`hlo`] | a program as StableHLO text |
//! | [`exec`] | plans, and the interpreter that runs them |
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
