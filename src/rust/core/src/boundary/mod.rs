//! Conversion between R's vectors and the bytes of a tensor, without R: both sides are slices.
//!
//! Nothing is lost in silence. A value that the dtype cannot hold is an error of [`import`], whole numbers that
//! a default dtype rounds are counted in [`Lost`], and values that R's vector cannot hold in a [`Loss`], for the
//! caller to warn of. Tensors are dense and column-major
//! on both sides, as R's arrays are. Knows nothing of graphs or ops.

mod export;
mod import;
mod narrowing;
mod refused;
mod source;
mod target;

pub use export::{
    export_complex, export_doubles, export_integer64, export_integers, export_logicals, natural, Loss,
    Natural,
};
pub use import::{import, Filling};
pub use narrowing::Lost;
pub use source::Source;

/// `NA` among integers and logicals.
pub const NA_INTEGER: i32 = i32::MIN;
/// `NA` among the 64-bit integers of package bit64.
pub const NA_INTEGER64: i64 = i64::MIN;
/// Bits of `NA_real_`: a NaN whose low word is 1954.
pub const NA_REAL_BITS: u64 = 0x7FF0_0000_0000_07A2;
