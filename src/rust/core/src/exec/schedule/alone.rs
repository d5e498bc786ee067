//! A step of its own, for a node that no group takes: a kernel on whole values.

use super::asked::Cost;
use super::node::{NodePlan, Schedule};
use crate::dtype::DType;
use crate::kernels::products::matrix::MULTIPLY_ADD;
use crate::kernels::products::matvec;
use crate::ops::Op;
use crate::shape::Shape;

/// Picoseconds per byte read or written: 12 GB/s, the memory bandwidth of one core.
const BYTE: usize = 80;

/// Bytes that are in a cache when they are read again, where one takes [`matvec::BYTE`] picoseconds: as many as the
/// second-level one has (AMD EPYC, Zen 4).
const CACHE: usize = 1 << 20;

/// The plan of a node that no other schedule takes.
pub fn plan() -> NodePlan {
    NodePlan { schedule: Schedule::Alone, len: 0, access: vec![], product: None, cost: Cost::All(0) }
}

/// The estimated time in which one core moves so many bytes, in picoseconds.
pub fn moved(bytes: usize) -> usize {
    if bytes <= CACHE {
        matvec::BYTE * bytes
    } else {
        BYTE * bytes
    }
}

/// The estimated time in which one core computes an op, in picoseconds: on operands of these dtypes, of which
/// the first has this shape, for `over` elements that it visits and `made` results.
pub fn computed(op: &Op, from: &[DType], first: Option<&Shape>, over: usize, made: usize) -> usize {
    let Some(first) = first else { return 0 };
    match op.contraction() {
        Some(product) => {
            MULTIPLY_ADD * made * product.contracting[0].iter().map(|axis| first[axis.0]).product::<usize>()
        }
        None => over * op.picoseconds(from),
    }
}
