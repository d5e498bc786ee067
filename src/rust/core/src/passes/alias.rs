//! Which outputs of a program may take over the memory of donated inputs: an analysis of the graph, which knows
//! nothing of schedules and places. The memory planner chooses among the same candidates by its schedule.

use super::Views;
use crate::graph::{Def, Value, NODE};
use crate::growth::table;
use crate::ops::Graph;
use crate::stop;

/// The outputs that may take over the memory of an input: those of its dtype and with as many elements. There
/// are none if an output is the input or a view of it, since who reads that output reads the input.
pub(crate) fn candidates(graph: &Graph, views: &Views, input: usize) -> Vec<usize> {
    let value = graph.inputs()[input];
    let outputs = graph.outputs();
    if outputs.iter().any(|&v| views.root(v) == value) {
        return vec![];
    }
    let aval = graph.aval(value);
    let fits = |&k: &usize| {
        let output = graph.aval(outputs[k]);
        output.dtype == aval.dtype && output.shape.size() == aval.shape.size()
    };
    (0..outputs.len()).filter(fits).collect()
}

/// For each output, the donated input whose memory it takes over, if there is one. Inputs choose in the order in
/// which they are `donated`: the first output that is made by the node that reads the input last, or by a later
/// one; if there is none, the first that is left, which must be made elsewhere and copied.
pub fn input_output_aliases(graph: &Graph, donated: &[usize]) -> Vec<Option<usize>> {
    let mut aliases = vec![None; graph.outputs().len()];
    if donated.is_empty() {
        return aliases;
    }
    let views = Views::of(graph);
    // For each value, the last node that reads it or a view of it.
    let mut last_read: Vec<Option<usize>> = table(None, graph.values().count());
    for (number, node) in graph.nodes().iter().enumerate() {
        stop::work(NODE);
        node.operands.iter().for_each(|&v| last_read[views.root(v).index()] = Some(number));
    }
    // For each output, the node that makes it, if that makes it as it is, and for no output before.
    let mut taken = table(false, graph.values().count());
    let mut made = |&v: &Value| {
        let root = views.root(v);
        let first = views.is_whole(v) && !std::mem::replace(&mut taken[root.index()], true);
        match graph.def(root) {
            Def::Result(node, _) if first => Some(node),
            _ => None,
        }
    };
    let made: Vec<Option<usize>> = graph.outputs().iter().map(&mut made).collect();
    for &input in donated {
        let last = last_read[graph.inputs()[input].index()];
        let free: Vec<usize> =
            candidates(graph, &views, input).into_iter().filter(|&k| aliases[k].is_none()).collect();
        let in_place = free.iter().find(|&&k| made[k].is_some_and(|node| Some(node) >= last));
        if let Some(&k) = in_place.or(free.first()) {
            aliases[k] = Some(input);
        }
    }
    aliases
}
