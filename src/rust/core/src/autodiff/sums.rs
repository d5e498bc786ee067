//! Sums of gradients. What reads a small part of a value, as `x[i]` does, gives a gradient that is zero
//! elsewhere. It is added to that part of the sum of the others, and no whole values are made for it.

use crate::error::Result;
use crate::graph::Value;
use crate::kernels::tile::TILE;
use crate::ops::create::uniform;
use crate::ops::{
    Binary, Builder, Check, DynamicSlice, DynamicUpdateSlice, Pad, Scatter, StaticSlice, Update,
};
use crate::tensor::Literal;

/// Adds to the gradient of a value.
pub(super) fn add(b: &mut Builder, sum: &mut Option<Value>, g: Value) -> Result<()> {
    let Some(so_far) = *sum else {
        *sum = Some(g);
        return Ok(());
    };
    let made = match (part(b, g), part(b, so_far)) {
        (Some(part), _) => part.add_to(b, so_far)?,
        (None, Some(part)) => part.add_to(b, g)?,
        (None, None) => b.node1(Binary::add, &[so_far, g])?,
    };
    *sum = Some(made);
    Ok(())
}

/// A value that is zero but for a small part.
enum Part {
    /// A part, which begins at these indices.
    Known(Value, Vec<usize>),
    /// A window with its start indices, and whether it must fit.
    Window(Value, Vec<Value>, Check),
    /// Windows by indices, whose elements are added.
    Windows(Scatter, [Value; 2]),
}

impl Part {
    fn add_to(self, b: &mut Builder, sum: Value) -> Result<Value> {
        let (part, read, starts, check) = match self {
            Part::Windows(op, [indices, update]) => return b.node1(op, &[sum, indices, update]),
            Part::Known(part, start) => {
                let sizes = &b.graph().aval(part).shape;
                let limit = start.iter().zip(sizes.iter()).map(|(from, size)| from + size).collect();
                let starts = start.iter().map(|&at| b.literal(Literal::new(at as i64), None)).collect();
                let slice = StaticSlice { stride: vec![1; start.len()], start, limit };
                (part, b.node1(slice, &[sum])?, starts, Check::Silent)
            }
            Part::Window(part, starts, check) => {
                let sizes = b.graph().aval(part).shape.to_vec();
                let slice = DynamicSlice { sizes, check: Check::Silent };
                let read = b.node1(slice, &[&[sum], starts.as_slice()].concat())?;
                (part, read, starts, check)
            }
        };
        let new = b.node1(Binary::add, &[read, part])?;
        b.node1(DynamicUpdateSlice { check }, &[&[sum, new], starts.as_slice()].concat())
    }
}

/// The part of a value that is not zero, if it is known to be small. Values of a tile are added as they are,
/// which takes less time than a step.
fn part(b: &Builder, v: Value) -> Option<Part> {
    let graph = b.graph();
    let node = graph.made_by(v)?;
    let whole = graph.aval(v).shape.size();
    let small = |part: Value| whole > TILE && 4 * graph.aval(part).shape.size() <= whole;
    let operands = &node.operands;
    if let Some(op) = node.op.get::<Pad>() {
        let only_around =
            op.low.iter().chain(&op.high).all(|&n| n >= 0) && op.interior.iter().all(|&n| n == 0);
        let start = op.low.iter().map(|&low| low as usize).collect();
        return (only_around && small(operands[0]) && is_zero(b, operands[1]))
            .then(|| Part::Known(operands[0], start));
    }
    if let Some(op) = node.op.get::<DynamicUpdateSlice>() {
        return (small(operands[1]) && is_zero(b, operands[0]))
            .then(|| Part::Window(operands[1], operands[2..].to_vec(), op.check.clone()));
    }
    let op = node.op.get::<Scatter>().filter(|op| matches!(op.update, Update::With(Binary::add)))?;
    // Rows are added to the sum as fast as to zeros, which then are not made. Elements are not: see `Scatter::sums`.
    let of_rows = !op.windows.window_axes.is_empty();
    ((of_rows || small(operands[2])) && is_zero(b, operands[0]))
        .then(|| Part::Windows(op.clone(), [operands[1], operands[2]]))
}

/// Whether all elements of a value are known to be (positive) zeros.
fn is_zero(b: &Builder, v: Value) -> bool {
    uniform(b.graph(), v).is_some_and(|literal| literal.to_bytes().iter().all(|&byte| byte == 0))
}
