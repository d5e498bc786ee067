//! If-conversion: a branch op whose regions take less time than branching itself becomes selections between
//! the results of both regions, which can be fused with the nodes around them. Only the engine runs this
//! pass: graphs that are shown or exported keep their branches.

use super::{flagged, rebuilt};
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::Value;
use crate::ops::create::everywhere;
use crate::ops::{Builder, Graph, If, Op, Ternary};

/// The graph with selections for its short branches; `None` if it has no such branches.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub fn if_conversion(graph: &Graph) -> Result<Option<Graph>> {
    if !graph.nodes().iter().any(|node| short(&node.op).is_some()) {
        return Ok(None);
    }
    let made = rebuilt(graph, |b, number, operands| {
        let node = &graph.nodes()[number];
        let Some(op) = short(&node.op) else { return Ok(None) };
        let (first, second) = operands[1..].split_at(op.branches[0].inputs().len());
        let (yes, no) = (b.inline(&op.branches[0], first)?, b.inline(&op.branches[1], second)?);
        let mut made = Vec::new();
        for ((&result, yes), no) in node.results.iter().zip(yes).zip(no) {
            let chosen = select(b, operands[0], yes, no)?;
            // Ambiguity inside of a branch may differ from that of the op's result.
            made.push(flagged(b, chosen, graph.aval(result).ambiguous)?);
        }
        Ok(Some(made))
    });
    made.map(Some)
}

/// The op, if it is a branch op with two short regions.
fn short(op: &Op) -> Option<&If> {
    op.get::<If>().filter(|op| op.branches.iter().all(|branch| is_short(branch)))
}

/// Whether a region consists of elementwise ops on few elements.
fn is_short(branch: &Graph) -> bool {
    /// The estimated overhead of a branch, in picoseconds.
    const CHOICE: usize = 100_000;
    let time = |op: &Op, from: &[DType], size: usize| size.saturating_mul(op.picoseconds(from));
    let select = Op::from(Ternary::Select);
    let outputs = branch.outputs().iter().map(|&v| branch.aval(v));
    let mut cost = outputs
        .map(|aval| time(&select, &[DType::I1, aval.dtype, aval.dtype], aval.shape.size()))
        .fold(0, usize::saturating_add);
    for node in branch.nodes() {
        let from: Vec<DType> = node.operands.iter().map(|&v| branch.aval(v).dtype).collect();
        if !node.op.moves_only() && !node.op.is_elementwise(&from) {
            return false;
        }
        cost = cost.saturating_add(time(&node.op, &from, branch.aval(node.results[0]).shape.size()));
    }
    cost <= CHOICE
}

fn select(b: &mut Builder, pred: Value, yes: Value, no: Value) -> Result<Value> {
    if yes == no {
        return Ok(yes);
    }
    let shape = b.graph().aval(yes).shape.clone();
    let each = everywhere(b, pred, shape)?;
    b.node1(Ternary::Select, &[each, yes, no])
}
