//! Values that are made of nothing.

use super::{Held, Lowering, Node, MAX_ELEMENTS};
use crate::dtype::DType;
use crate::ops::Iota;
use crate::tensor::{Aval, Literal, ViewMut};
use std::sync::Arc;

impl Lowering<'_> {
    /// Elements that the op makes of nothing.
    pub(super) fn constants(&mut self, node: &Node, result: &Aval) -> Option<Arc<[usize]>> {
        node.op.source()?;
        let mut data = vec![0; result.bytes()];
        let out = ViewMut { dtype: result.dtype, shape: &result.shape, data: &mut data };
        node.op.eval(&[], &mut [out]);
        let literal = |bytes| Literal::from_bytes(result.dtype, bytes);
        Some(data.chunks(result.dtype.bytes()).map(|bytes| self.literal(literal(bytes))).collect())
    }

    /// What counts along its only axis, and is longer than what is replaced by its elements.
    pub(super) fn counted(node: &Node, result: &Aval) -> Option<Held> {
        Self::counts(node).filter(|_| result.shape.size() > MAX_ELEMENTS).map(|_| Held::Counted)
    }

    /// The first of the integers that a node counts along its only axis, if it does.
    pub(super) fn counts(node: &Node) -> Option<i64> {
        let op = node.op.get::<Iota>()?;
        let fits = matches!(op.to.stored(), DType::I32 | DType::I64) && op.shape.rank() == 1;
        fits.then_some(op.start)
    }
}
