//! How a loop has lanes.

use super::values::places;
use crate::dtype::DType;
use crate::exec::vm::native::lanes::Along;
use crate::exec::vm::native::LOOP_VECTOR;
use crate::kernels::reductions::fold::Fold;
use crate::ops::Graph;
use crate::passes::Lanes;
use crate::shape::Axis;
use crate::tensor::Aval;

/// The lanes of a loop.
pub(super) struct Mode<'a> {
    pub of: &'a Lanes,
    /// The body on all lanes.
    pub all: &'a Graph,
    /// Lanes of a vector.
    pub count: usize,
    /// Bytes of the lanes of a mask.
    pub mask: usize,
    /// What becomes of each argument for some of the lanes.
    pub along: Vec<Along>,
}

/// Bytes of the widest elements of a body; `None` if there are some of which there are no vectors.
fn widest(body: &Graph) -> Option<usize> {
    let mut widest = 4;
    for v in body.values() {
        match body.aval(v).dtype {
            DType::I1 | DType::I32 | DType::F32 => {}
            DType::I64 | DType::F64 => widest = 8,
            _ => return None,
        }
    }
    // Singles are summed in double precision.
    let folds = |fold: Fold| matches!(fold, Fold::Sum | Fold::Prod | Fold::Squares);
    let in_double = body.nodes().iter().any(|node| {
        let single = node.operands.first().is_some_and(|&v| body.aval(v).dtype == DType::F32);
        single && (node.op.fold().is_some_and(|(fold, _)| folds(fold)) || node.op.cumulation().is_some())
    });
    Some(if in_double { 8 } else { widest })
}

/// Lanes of a vector in a loop with this body, on one lane or on all; `None` if it has no vectors.
pub(super) fn count(body: &Graph) -> Option<usize> {
    widest(body).map(|bytes| LOOP_VECTOR / bytes)
}

impl<'a> Mode<'a> {
    pub fn new(of: &'a Lanes, all: &'a Graph) -> Option<Mode<'a>> {
        let mask = widest(&of.body)?;
        Some(Mode { of, all, count: LOOP_VECTOR / mask, mask, along: vec![] })
    }

    /// Bytes of the lanes of a vector of this dtype.
    pub fn bytes(&self, dtype: DType) -> usize {
        if dtype == DType::I1 {
            self.mask
        } else {
            dtype.bytes()
        }
    }

    /// The elements before each one of a lane in the value of this type on all lanes, which are along this axis, and those
    /// between two lanes.
    pub fn offsets(aval: &Aval, axis: Axis) -> (Vec<usize>, usize) {
        let strides = aval.shape.strides();
        let axes = aval.shape.iter().zip(&strides).enumerate();
        let axes = axes.map(|(i, (&size, &stride))| (if i == axis.0 { 1 } else { size }, stride));
        (places(0, axes), strides[axis.0])
    }
}
