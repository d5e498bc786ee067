//! Conversions by value.

use super::map::{map, Map};
use crate::dtype::{dispatch, DType, Element};
use crate::kernels::wide::wide;

/// The conversion from one dtype to another, by the rules of [`Element`].
pub fn convert(from: DType, to: DType) -> Map<1> {
    dispatch!(from, T => dispatch!(to, U => of::<T, U>()))
}

fn of<T: Element, U: Element>() -> Map<1> {
    map!([T] -> U, |x; out| wide(|| {
        for (out, x) in out.iter_mut().zip(x) {
            *out = x.convert();
        }
    }))
}
