//! Kernels: functions from slices to slices. They know dtypes and layouts, not ops, programs or graphs.
//!
//! | module | what it holds |
//! |---|---|
//! | [`memory`] | buffers, the block allocator, copies: permuted, indexed, non-temporal |
//! | [`threads`] | the number of threads, and the pool |
//! | [`math`] | elementary and special functions, of slices, of numbers, of complex numbers |
//! | [`elementwise`] | functions of one, two and three elements |
//! | [`reductions`] | folds |
//! | [`products`] | products of matrices and vectors |
//! | [`sorting`] | sorts, the order of elements, the first of them |
//! | [`fourier`] | discrete Fourier transforms |
//! | [`random`] | ciphers that make random bits |
//!
//! [`cast`], [`wide`], [`halves`] and [`tile`] serve all of them: bytes as elements, loops for the vectors that the
//! processor has, floats of 16 bits by way of singles, and elementwise kernels on values of any layout.

pub mod cast;
pub mod elementwise;
pub mod fourier;
pub mod halves;
pub mod linalg;
pub mod math;
pub mod memory;
pub mod products;
pub mod random;
pub mod reductions;
pub mod sorting;
pub mod threads;
pub mod tile;
pub mod wide;
