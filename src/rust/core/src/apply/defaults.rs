//! The dtypes of what has none of its own: numbers of R.

use crate::dtype::{DType, Kind, Ranked};

/// The dtypes that numbers of R have by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Defaults {
    /// Of doubles: `f32` or `f64`. The parts of complex numbers are such floats.
    pub float: DType,
    /// Of integers: `i32` or `i64`.
    pub int: DType,
}

impl Default for Defaults {
    fn default() -> Defaults {
        Defaults { float: DType::F32, int: DType::I32 }
    }
}

impl Defaults {
    /// The type of an R number or logical, which is stored as f64, i32, i1 or c128.
    pub fn number_type(self, stored: DType) -> Ranked {
        match stored.kind() {
            Kind::Boolean => Ranked::known(DType::I1),
            Kind::Float => Ranked::ambiguous(self.float),
            Kind::Complex if self.float == DType::F64 => Ranked::ambiguous(DType::C128),
            Kind::Complex => Ranked::ambiguous(DType::C64),
            Kind::Integer | Kind::Unsigned => Ranked::ambiguous(self.int),
        }
    }
}
