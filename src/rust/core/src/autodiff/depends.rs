//! Activity analysis: the values that a gradient flows through.

use super::is_differentiable;
use crate::graph::Def;
use crate::growth::table;
use crate::ops::{Control, Graph, Op, Region, Vjp};

/// For each value of a graph, whether it depends on a marked input by ops with nonzero derivatives on floats.
/// Only such values have gradients; elsewhere an op without a rule is no error.
pub(super) fn depends(graph: &Graph, inputs: &[bool]) -> Vec<bool> {
    let mut marks = table(false, graph.values().count());
    for value in graph.values() {
        match graph.def(value) {
            Def::Input(i) => marks[value.index()] = inputs[i],
            // All results of a node at once.
            Def::Result(number, 0) => {
                let node = &graph.nodes()[number];
                let operands: Vec<bool> = node.operands.iter().map(|v| marks[v.index()]).collect();
                let results = results(&node.op, &operands, node.results.len());
                for (v, mark) in node.results.iter().zip(results) {
                    marks[v.index()] = mark && is_differentiable(graph.aval(*v).dtype);
                }
            }
            _ => {}
        }
    }
    marks
}

/// Whether the outputs of a region depend on inputs that are marked.
pub(super) fn outputs(region: &Region, inputs: &[bool]) -> Vec<bool> {
    let marks = depends(region, inputs);
    region.outputs().iter().map(|v| marks[v.index()]).collect()
}

/// Which values of a state depend on what is marked, as a fixed point: in each iteration some may come to
/// depend on others. `operands` are those of the body.
pub(super) fn state(body: &Region, operands: &[bool], carried: usize) -> Vec<bool> {
    let mut marks = operands.to_vec();
    loop {
        let next = outputs(body, &marks);
        let new: Vec<usize> = (0..carried).filter(|&i| next[i] && !marks[i]).collect();
        if new.is_empty() {
            return marks;
        }
        new.into_iter().for_each(|i| marks[i] = true);
    }
}

fn results(op: &Op, operands: &[bool], count: usize) -> Vec<bool> {
    if !operands.contains(&true) || matches!(op.vjp(), Vjp::Zero) {
        return table(false, count);
    }
    match op.control() {
        Some(Control::If(op)) => {
            let (first, second) = operands[1..].split_at(op.branches[0].inputs().len());
            let [first, second] = [(0, first), (1, second)].map(|(k, marks)| outputs(&op.branches[k], marks));
            first.into_iter().zip(second).map(|(x, y)| x || y).collect()
        }
        Some(Control::While(op)) => {
            let for_cond = op.cond.inputs().len() - op.carried;
            let (init, rest) = operands.split_at(op.carried);
            state(&op.body, &[init, &rest[for_cond..]].concat(), op.carried)[..op.carried].to_vec()
        }
        Some(Control::Scan(op)) => {
            let marks = state(&op.body, operands, op.carried);
            let stacked = outputs(&op.body, &marks);
            [&marks[..op.carried], &stacked[op.carried..]].concat()
        }
        Some(Control::Custom(_)) | None => table(true, count),
    }
}
