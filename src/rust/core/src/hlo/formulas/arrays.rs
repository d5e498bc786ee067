//! Formulas of reductions, reshapes, products, the first elements in order and counting where they differ from StableHLO's: kept axes,
//! column-major order, batches that come last, numbers that a float cannot hold.

use crate::dtype::{DType, Ranked};
use crate::graph::Operation;
use crate::kernels::reductions::fold::Fold;
use crate::ops::{DotGeneral, Iota, Math, Op, Ordering, Reduction, Reshape, TopK, Var};
use crate::shape::{Axis, Shape};
use crate::tensor::Literal;

/// The reduced operand.
pub(super) fn reduce<'m, 'b>(op: &Reduction, x: Var<'m, 'b>) -> Var<'m, 'b> {
    let aval = x.aval();
    if op.fold == Fold::Squares {
        let apart = op.deviations(if op.is_wide(aval.dtype) { x.convert(DType::F32) } else { x });
        return op.again(Fold::Sum, apart.squared()).convert(aval.dtype);
    }
    if op.axes.is_empty() {
        // A product begins with 1, and 1 times a complex number with an infinite part has NaN as its other
        // part.
        let product = op.fold == Fold::Prod && aval.dtype.is_complex();
        return if product { x.of(1.0) * x } else { x };
    }
    let reduced = |x: Var<'m, 'b>| x.apply(Op::Reduction(Reduction { drop: true, ..op.clone() }), &[]);
    let y =
        if op.is_wide(aval.dtype) { reduced(x.convert(DType::F32)).convert(aval.dtype) } else { reduced(x) };
    if op.drop {
        return y;
    }
    let size = |(i, &size): (usize, &usize)| if op.axes.contains(&Axis(i)) { 1 } else { size };
    y.reread(aval.shape.iter().enumerate().map(size).collect())
}

/// Sizes other than 1. If a reshape does not change them, both orders read the same elements.
fn lines(shape: &Shape) -> Vec<usize> {
    shape.iter().copied().filter(|&size| size != 1).collect()
}

/// Column-major order is row-major order of the reversed axes, of both operand and result.
pub(super) fn reshape<'m, 'b>(op: &Reshape, x: Var<'m, 'b>) -> Var<'m, 'b> {
    let from = x.aval().shape;
    if lines(&from) == lines(&op.shape) {
        return x.reread(op.shape.to_vec());
    }
    let reverse = |rank: usize| (0..rank).rev().map(Axis).collect();
    let made = x.transposed(reverse(from.rank())).reread(op.shape.iter().rev().copied().collect());
    made.transposed(reverse(op.shape.rank()))
}

/// The product, whose batching axes come first, with these moved to the end.
pub(super) fn product<'m, 'b>(op: &DotGeneral, x: Var<'m, 'b>, y: Var<'m, 'b>) -> Var<'m, 'b> {
    let made = x.apply(DotGeneral { batch_last: false, ..op.clone() }, &[y]);
    let (rank, batch) = (made.aval().shape.rank(), op.batching[0].len());
    made.transposed((batch..rank).chain(0..batch).map(Axis).collect())
}

/// The begin of the order.
pub(super) fn top_k<'m, 'b>(op: &TopK, x: Var<'m, 'b>) -> Var<'m, 'b> {
    let order = x.apply(Ordering { axis: op.axis, descending: vec![op.descending] }, &[]);
    order.section(op.axis, 0, op.count)
}

/// Counts from 0 and adds the start, in a dtype that holds all numbers exactly.
pub(super) fn iota<'m, 'b>(op: &Iota, math: &'m Math<'b>) -> Var<'m, 'b> {
    if op.shape.size() == 0 {
        return math.literal(Literal::new(0i64).convert(op.to.stored()), &op.shape);
    }
    let from_zero = Iota { start: 0, to: Ranked::known(op.to.stored()), ..op.clone() };
    let fits = Op::Iota(from_zero.clone()).infer(&[]).is_ok();
    if op.is_exact() && fits {
        let count = math.apply(Op::Iota(from_zero), &[]);
        return count + count.integer(op.start);
    }
    let wide = math.apply(Op::Iota(Iota { to: Ranked::known(DType::I64), ..from_zero }), &[]);
    (wide + wide.integer(op.start)).convert(op.to.stored())
}
