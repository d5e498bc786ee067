//! Products of matrices and vectors: [`dot`] chooses the kernel.

pub mod batches;
mod complex;
pub mod convolution;
pub mod crossprod;
pub mod dot;
#[cfg(target_arch = "x86_64")]
pub mod gemm;
mod inner_products;
mod lane_rows;
mod lane_sums;
pub mod matrix;
pub mod matvec;
mod matvecs;
mod pieces;
mod sides;
mod symmetric;
