//! Batches whose axis comes first in memory, as the rows of a matrix do. Moved to the end they are transposed, and
//! an example is no longer dense. What follows examples element by element, and folds each into one value, is
//! made of the values as they lie, and its result is moved: another such op undoes that.

use super::Stacked;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::Value;
use crate::ops::{BroadcastInDim, Builder, Op, Transpose};
use crate::shape::{Axis, Shape};

/// Where a value with the batch axis last is found with that axis first.
enum Front {
    /// This value.
    Is(Value),
    /// This value, broadcast so.
    Broadcast(Value, BroadcastInDim),
}

/// The result of an op whose operands have the batch axis first; `None` if one has not, or the op has another rule.
///
/// # Errors
/// Those of [`Builder::node`].
pub(super) fn batch(b: &mut Builder, op: &Op, operands: &Stacked, size: usize) -> Result<Option<Value>> {
    let Some((op, rank)) = moved(b, op, operands, size) else { return Ok(None) };
    let (mut fronts, mut is_moved) = (vec![], false);
    for (&v, &batched) in operands.values.iter().zip(&operands.batched) {
        let front = match b.graph().aval(v).shape.rank() {
            _ if batched => front(b, v),
            0 if rank > 0 => Some(Front::Is(v)),
            _ => Some(repeated(b, v, size)?),
        };
        let Some(front) = front else { return Ok(None) };
        is_moved |= batched && matches!(front, Front::Is(_)) && rank > 0;
        fronts.push(front);
    }
    if !is_moved {
        return Ok(None);
    }
    let mut given = vec![];
    for front in fronts {
        given.push(match front {
            Front::Is(value) => value,
            Front::Broadcast(value, op) => b.node1(op, &[value])?,
        });
    }
    let made = b.node1(op, &given)?;
    let rank = b.graph().aval(made).shape.rank();
    if rank == 1 {
        return Ok(Some(made));
    }
    b.node1(Transpose { permutation: Transpose::first_to_end(rank) }, &[made]).map(Some)
}

/// An op for operands whose batch axis comes first, and the number of axes of an example; `None` if there is none.
/// An operand of fewer axes has none, and is the same for all examples.
fn moved(b: &Builder, op: &Op, operands: &Stacked, size: usize) -> Option<(Op, usize)> {
    let shape = |i: usize| &b.graph().aval(operands.values[i]).shape;
    let example = |i: usize| &shape(i)[..shape(i).rank() - usize::from(operands.batched[i])];
    let all = || 0..operands.values.len();
    let rank = all().map(|i| example(i).len()).max()?;
    let from: Vec<DType> = operands.values.iter().map(|&v| b.graph().aval(v).dtype).collect();
    if op.is_elementwise(&from) && all().all(|i| example(i) == example(0)) {
        return Some((op.clone(), rank));
    }
    let has_axis = |i: usize| example(i).len() == rank;
    let stays = |i: usize| example(i).is_empty() && !operands.batched[i];
    if !all().all(|i| has_axis(i) || stays(i)) {
        return None;
    }
    Some((op.behind(size)?, rank))
}

/// A value with the batch axis first, if it need not be transposed for that.
fn front(b: &Builder, v: Value) -> Option<Front> {
    let shape = &b.graph().aval(v).shape;
    let rank = shape.rank();
    if rank == 1 {
        return Some(Front::Is(v));
    }
    let node = b.graph().made_by(v)?;
    let &[from] = node.operands.as_slice() else { return None };
    if node.op.get::<Transpose>().is_some_and(|op| op.permutation == Transpose::first_to_end(rank)) {
        return Some(Front::Is(from));
    }
    let BroadcastInDim { axes, .. } = node.op.get::<BroadcastInDim>()?;
    let shape = Shape::try_new((0..rank).map(|i| shape[(i + rank - 1) % rank]).collect()).ok()?;
    match axes.split_last() {
        Some((last, axes)) if last.0 == rank - 1 => {
            let Front::Is(from) = front(b, from)? else { return None };
            let axes = [Axis(0)].into_iter().chain(axes.iter().map(|axis| axis.next())).collect();
            Some(Front::Broadcast(from, BroadcastInDim { shape, axes }))
        }
        _ => {
            let axes = axes.iter().map(|axis| axis.next()).collect();
            Some(Front::Broadcast(from, BroadcastInDim { shape, axes }))
        }
    }
}

/// A value that is the same for all examples, along the batch axis.
///
/// # Errors
/// As [`Shape::try_new`].
fn repeated(b: &Builder, v: Value, size: usize) -> Result<Front> {
    let shape = b.graph().aval(v).shape.with_first(size)?;
    let axes = (1..shape.rank()).map(Axis).collect();
    Ok(Front::Broadcast(v, BroadcastInDim { shape, axes }))
}
