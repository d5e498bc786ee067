//! The engine of anvil: everything that computes, and nothing that knows R.
//!
//! It stands on the crate `anvil-kernels` and gives its modules on: [`error`], [`growth`], [`stop`],
//! [`raised`], [`dtype`], [`shape`], [`tensor`] and [`kernels`]. Above these, modules from the bottom up;
//! each knows only those before it (`tests/tidy.rs` checks):
//!
//! | module | what it is |
//! |---|---|
//! | [`format`](mod@format) | the text of a tensor |
//! | [`boundary`] | R's vectors to the bytes of a tensor, and back |
//! | [`exec::vm`] | the tile VM: instructions on registers of one tile each |
//! | [`graph`] | typed values and nodes, generic over ops |
//! | [`ops`] | the catalogue of ops |
//! | [`autodiff`] | reverse and forward mode: the ops' rules along a program |
//! | [`batch`](mod@batch) | a program for many examples at once |
//! | [`passes`] | graph to graph |
//! | [`hlo`] | a program as StableHLO text |
//! | [`exec`] | partition, compilation, plans, runs; the reference interpreter |
//! | [`apply`](mod@apply) | a call as the user wrote it, to nodes: promotion and scalar broadcasting |
//!
//! A call goes `apply` -> `graph` -> `passes` -> `exec`; an eager op is the same path on a graph of one op.

pub mod apply;
pub mod autodiff;
pub mod batch;
pub mod boundary;
pub mod exec;
pub mod format;
pub mod graph;
pub mod hlo;
pub mod ops;
pub mod passes;

pub use anvil_kernels::{dtype, error, growth, kernels, raised, shape, stop, tensor, COMPILER};
