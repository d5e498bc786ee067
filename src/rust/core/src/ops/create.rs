//! Values from nothing: one value everywhere, and counting.

use super::attrs::{logical, vector};
use super::{written, Row};
use crate::dtype::{dispatch, DType, ANY, NUMERIC};
use crate::error::{Error, Result};
use crate::kernels::cast;
use crate::shape::{Axis, Shape};
use crate::stop;
use crate::tensor::{Aval, Literal, ViewMut};

/// One value everywhere.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fill {
    /// The value; its dtype is the result's.
    pub value: Literal,
    /// Shape of the result.
    pub shape: Shape,
    /// Whether the result is ambiguous.
    pub ambiguous: bool,
}

pub(super) static FILL: Row = written("fill", "nv_fill", &[], ANY);

impl Fill {
    pub(super) fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![
            ("value", self.value.to_string()),
            ("dtype", self.value.dtype().to_string()),
            ("shape", vector(&self.shape)),
            ("ambiguous", logical(self.ambiguous)),
        ]
    }

    pub(super) fn infer(&self) -> Result<Aval> {
        Ok(Aval { dtype: self.value.dtype(), shape: self.shape.clone(), ambiguous: self.ambiguous })
    }

    pub(super) fn eval(&self, out: &mut ViewMut) {
        dispatch!(out.dtype, T => stop::fill(cast::slice_mut::<T>(out.data), self.value.get()))
    }
}

/// `start`, `start + 1`, ... along a dimension, the same along all others.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Iota {
    /// The dimension that counts.
    pub axis: Axis,
    /// Dtype of the result; not boolean.
    pub dtype: DType,
    /// Shape of the result.
    pub shape: Shape,
    /// The first value. All must be in the range of an integer dtype; a float rounds them.
    pub start: i64,
    /// Whether the result is ambiguous.
    pub ambiguous: bool,
}

pub(super) static IOTA: Row = written("iota", "nv_iota", &[], NUMERIC);

impl Iota {
    pub(super) fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![
            ("axis", self.axis.to_string()),
            ("dtype", self.dtype.to_string()),
            ("shape", vector(&self.shape)),
            ("start", self.start.to_string()),
            ("ambiguous", logical(self.ambiguous)),
        ]
    }

    pub(super) fn infer(&self) -> Result<Aval> {
        if !IOTA.accepts.contains(self.dtype) {
            let expected = "the dtype of an integer or float";
            return Err(Error::arg("dtype", expected, self.dtype.to_string()));
        }
        let (from, size) = (i128::from(self.start), self.shape[self.axis.0] as i128);
        if let (Some((low, high)), true) = (self.dtype.bounds(), self.shape.size() > 0) {
            let to = from + size - 1;
            if from < low || to > high {
                return Err(Error::SequenceRange { dtype: self.dtype, from, to });
            }
        }
        Ok(Aval { dtype: self.dtype, shape: self.shape.clone(), ambiguous: self.ambiguous })
    }

    pub(super) fn eval(&self, out: &mut ViewMut) {
        let (size, stride) = (self.shape[self.axis.0].max(1), self.shape.strides()[self.axis.0]);
        dispatch!(self.dtype, T => {
            for (i, x) in cast::slice_mut::<T>(out.data).iter_mut().enumerate() {
                if i % stop::EVERY == 0 {
                    stop::work(stop::EVERY);
                }
                *x = <T as crate::dtype::Element>::from_i64(self.start.wrapping_add((i / stride % size) as i64));
            }
        })
    }
}
