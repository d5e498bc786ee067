//! Loops whose iterations compute the elements along an axis independently of one another, as the body of one of them: a
//! *lane*. So a processor computes as many lanes as its vectors have, through all iterations.

use super::axes::{Axes, Bodies, Place};
use crate::error::Result;
use crate::graph::{Node, Value};
use crate::kernels::reductions::fold::Fold;
use crate::ops::{Binary, BroadcastInDim, Graph, Op, Reshape, Ternary};
use crate::passes::rebuilt;
use crate::shape::Axis;

/// The body of a loop on one lane.
#[derive(Debug)]
pub struct Lanes {
    /// The body: where there were lanes, axes have one element.
    pub body: Graph,
    /// The number of lanes.
    pub count: usize,
    /// For each input of the body, the axis along which it has lanes; `None` if it is the same for all.
    pub inputs: Vec<Option<Axis>>,
    /// As `inputs`, for each output.
    pub outputs: Vec<Option<Axis>>,
}

/// The body of a loop that carries so many values, the first, on one lane; `None` if it has no lanes, or fewer than `least`.
/// Where a loop is `tested`, the last output of its body says whether there is another iteration; that of the body on one
/// lane says it for the lane, whose state stays as it is once there is none.
///
/// # Errors
/// Those of [`Builder::node`](crate::ops::Builder::node); one would be a bug of the pass.
pub fn lanes(body: &Graph, carried: usize, least: usize, tested: bool) -> Result<Option<Lanes>> {
    let each = if tested { of_each(body)? } else { None };
    if tested && each.is_none() {
        return Ok(None);
    }
    let body = each.as_ref().unwrap_or(body);
    let bodies = Bodies::of(body, carried);
    for &seed in &body.inputs()[..carried] {
        let shape = &body.aval(seed).shape;
        for axis in (0..shape.rank()).rev().filter(|&axis| shape[axis] >= least) {
            let Some(axes) = Axes::of(&bodies, (seed, Axis(axis))) else { continue };
            if tested && !stay(body, carried, &axes) {
                continue;
            }
            let of = |values: &[Value]| values.iter().map(|&v| axes.get(Place(0, v))).collect();
            let (inputs, outputs) = (of(body.inputs()), of(body.outputs()));
            return Ok(Some(Lanes { body: axes.body(0, 1)?, count: axes.size, inputs, outputs }));
        }
    }
    Ok(None)
}

/// A body whose last output says whether any of some lanes goes on, with the mask of those that do in its place.
fn of_each(body: &Graph) -> Result<Option<Graph>> {
    let Some(&test) = body.outputs().last() else { return Ok(None) };
    let is_any = |node: &Node<Op>| node.op.fold().is_some_and(|(fold, _)| fold == Fold::Any);
    let read = body.nodes().iter().any(|node| node.operands.contains(&test));
    if read || !body.made_by(test).is_some_and(is_any) {
        return Ok(None);
    }
    let made = rebuilt(body, |_, number, operands| {
        let node = &body.nodes()[number];
        Ok((node.results == [test]).then(|| operands.to_vec()))
    })?;
    Ok(Some(made))
}

/// Whether the state of a lane stays as it is once the lane goes on no more, as a batch of loops has it: which lanes go on is
/// a carried mask, and it chooses between the next state and that of now.
fn stay(body: &Graph, carried: usize, axes: &Axes) -> bool {
    let (inputs, outputs) = (&body.inputs()[..carried], body.outputs());
    let Some(going) = (0..carried).find(|&i| outputs[i] == outputs[outputs.len() - 1]) else { return false };
    let is_going = |mut v: Value| loop {
        match body.made_by(v) {
            Some(node) if node.op.get::<BroadcastInDim>().is_some() || node.op.get::<Reshape>().is_some() => {
                v = node.operands[0];
            }
            _ => return v == inputs[going],
        }
    };
    (0..carried).all(|i| {
        let (from, to) = (inputs[i], outputs[i]);
        let made = body.made_by(to).map(|node| (&node.op, node.operands.as_slice()));
        let is_kept = match made {
            Some((op, &[mask, _, other])) => {
                op.get() == Some(&Ternary::Select) && is_going(mask) && other == from
            }
            Some((op, &[x, y])) => i == going && op.get() == Some(&Binary::and) && (x == from || y == from),
            _ => false,
        };
        from == to || is_kept && axes.get(Place(0, from)).is_some()
    })
}
