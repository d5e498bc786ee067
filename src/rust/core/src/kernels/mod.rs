//! Kernels: slices in, slices out. The layer that touches memory; knows dtypes and layouts, not ops or
//! graphs.

pub mod across;
pub mod blocks;
pub mod by_block;
mod by_vector;
pub mod cast;
pub mod complex;
pub mod cross;
pub mod dot;
pub mod fold;
pub mod frame;
#[cfg(target_arch = "x86_64")]
pub mod gemm;
mod inner;
pub mod math;
pub mod matvec;
pub mod memory;
pub mod native;
pub mod pairs;
mod past;
pub mod permute;
pub mod pool;
pub mod random;
pub mod reduce;
pub mod scalar;
pub mod special;
mod squares;
mod steps;
pub mod threads;
pub mod tile;
pub mod wide;
pub mod window;
