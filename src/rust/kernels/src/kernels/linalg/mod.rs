//! Linear algebra: factorisations of matrices of floats and complex numbers.

mod bidiagonal;
pub mod cholesky;
mod dqds;
pub mod each;
pub mod eigen;
pub mod hestenes;
pub mod jacobi;
pub mod lanes;
pub mod lu;
pub mod qr;
mod reflector;
mod scalar;
mod secular;
pub mod svd;
pub mod tensors;
pub mod triangular;
mod tridiagonal;
mod view;

pub use reflector::adjoint;
pub use scalar::{multiply, Real, Scalar};
pub use view::{MatMut, MatRef};
