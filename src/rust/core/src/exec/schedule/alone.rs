//! A step by itself: what no group takes. It is a kernel on whole values.

use super::asked::Cost;
use super::node::{NodePlan, Schedule};
use crate::dtype::DType;
use crate::kernels::products::matrix::MULTIPLY_ADD;
use crate::ops::Op;
use crate::shape::Shape;

/// Picoseconds for a byte that is read or written: 12 GB/s, what one core moves from and to memory.
const BYTE: usize = 80;

/// The plan of a node that no other schedule takes.
pub fn plan() -> NodePlan {
    NodePlan { schedule: Schedule::Alone, len: 0, access: vec![], product: None, cost: Cost::All(0) }
}

/// About how long it takes on one core to move so many bytes, in picoseconds.
pub fn moved(bytes: usize) -> usize {
    BYTE * bytes
}

/// About how long an op computes on operands of these dtypes, of which the first has this shape, on one core
/// in picoseconds. It goes over so many elements, and makes so many.
pub fn computed(op: &Op, from: &[DType], first: Option<&Shape>, over: usize, made: usize) -> usize {
    let Some(first) = first else { return 0 };
    match op.contraction() {
        Some(product) => {
            MULTIPLY_ADD * made * product.contracting[0].iter().map(|axis| first[axis.0]).product::<usize>()
        }
        None => over * op.picoseconds(from),
    }
}
