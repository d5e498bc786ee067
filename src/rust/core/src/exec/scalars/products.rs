//! Products of small matrices, as sums of products of elements.

use super::values::places;
use super::{Lowering, Node};
use crate::dtype::DType;
use crate::exec::vm::native;
use crate::kernels::math::formula::Operation;
use crate::kernels::products::matvec::SHORT;
use crate::ops::DotGeneral;
use crate::shape::Axis;
use crate::tensor::{Aval, Literal};
use std::sync::Arc;

/// Products of elements, at most, whose sums are not called for: those of two matrices with seven rows and columns, 343, take
/// 80 ns, and a call of the function takes 160 (measured on an AMD EPYC, Zen 5).
const MAX_PRODUCTS: usize = 400;

impl Lowering<'_> {
    /// The elements of a product of matrices of few elements: each is a sum that starts at 0, to which products are added
    /// one after the other, as [kernels](crate::kernels::products::dot) have it where sums are short. Each is rounded once,
    /// but those with a vector twice.
    pub(super) fn product(&mut self, op: &DotGeneral, node: &Node, result: &Aval) -> Option<Arc<[usize]>> {
        let shapes = [0, 1].map(|i| self.body.aval(node.operands[i]).shape.clone());
        let strides = shapes.each_ref().map(|shape| shape.strides());
        let own = |i: usize, axes: &[Axis]| places(0, axes.iter().map(|a| (shapes[i][a.0], strides[i][a.0])));
        let of_both = |axes: &[Vec<Axis>; 2]| -> Vec<(usize, usize)> {
            own(0, &axes[0]).into_iter().zip(own(1, &axes[1])).collect()
        };
        let (batch, terms) = (of_both(&op.batching), of_both(&op.contracting));
        let [rows, columns] = [0, 1].map(|i| own(i, &op.rest(i, &shapes[i])));
        let count = result.shape.size() * terms.len();
        let is_vector = rows.len().min(columns.len()) == 1;
        if !matches!(result.dtype, DType::F32 | DType::F64)
            || count > MAX_PRODUCTS
            || is_vector && terms.len() >= SHORT
        {
            return None;
        }
        let (lhs, rhs) = (self.elements(node.operands[0])?, self.elements(node.operands[1])?);
        let (one, batches) = (vec![(0, 0)], batch.as_slice());
        let (first, last) = if op.batch_last { (&one[..], batches) } else { (batches, &one[..]) };
        let zero = self.literal(Literal::new(0.0).convert(result.dtype));
        let mut lines = Vec::with_capacity(result.shape.size());
        for (after, &column) in
            last.iter().flat_map(|after| columns.iter().map(move |column| (after, column)))
        {
            for (before, &row) in rows.iter().flat_map(|row| first.iter().map(move |before| (before, row))) {
                let (left, right) = (after.0 + before.0 + row, after.1 + before.1 + column);
                let factors = terms.iter().flat_map(|&(l, r)| [lhs[left + l], rhs[right + r]]);
                lines.push(factors.collect());
            }
        }
        self.alike(result, &lines, |to, line| {
            Some(line.chunks(2).fold(zero, |sum, factors| {
                let mut operands = factors.to_vec();
                if is_vector {
                    let product = to.op(native::Op::Mul, operands, result.dtype);
                    return to.op(native::Op::Add, vec![sum, product], result.dtype);
                }
                operands.push(sum);
                to.op(native::Op::Step(Operation::MulAdd), operands, result.dtype)
            }))
        })
    }
}
