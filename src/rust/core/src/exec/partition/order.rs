//! The order in which nodes join units.

use crate::exec::given::Given;
use crate::exec::schedule::{NodePlan, Schedule};
use crate::graph::{Def, Value};
use crate::growth::table;
use crate::kernels::tile::TILE;
use crate::ops::Graph;
use crate::passes::Views;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The node that makes a value.
pub(super) fn maker(graph: &Graph, value: Value) -> Option<usize> {
    match graph.def(value) {
        Def::Result(node, _) => Some(node),
        _ => None,
    }
}

/// Nodes that replace elements of what later nodes of the graph read, too, and that come after these: then
/// nothing is copied.
pub(super) fn late(graph: &Graph, views: &Views, given: Given) -> Vec<bool> {
    let mut late = table(false, graph.nodes().len());
    let mut is_read = table(false, graph.values().count());
    graph.outputs().iter().for_each(|&v| is_read[views.root(v).index()] = true);
    let outputs = is_read.clone();
    for (number, node) in graph.nodes().iter().enumerate().rev() {
        let first = node.operands.first().filter(|_| node.op.updates()).map(|&v| views.root(v));
        late[number] = first.is_some_and(|root| {
            let may = match graph.def(root) {
                Def::Input(input) => given.overwrites(input),
                Def::Result(made, _) => graph.nodes()[made].op.source().is_none(),
                Def::Constant(_) | Def::Literal(_) => false,
            };
            may && is_read[root.index()] && !outputs[root.index()]
        });
        if !node.results.first().is_some_and(|&v| views.is_view(v)) {
            node.operands.iter().for_each(|&v| is_read[views.root(v).index()] = true);
        }
    }
    late
}

/// How much larger the largest group is, at least, than what is small.
const SMALLER: usize = 8;

/// Nodes in the order in which they join units: that of the graph, but what is small comes as early as possible, so
/// that it does not separate groups: nodes of groups of few elements, and nodes that stand alone with small results.
/// `late` ones come before what reads them. Nodes with an effect keep their order.
pub(super) fn order(graph: &Graph, plans: &[NodePlan], late: &[bool]) -> Vec<usize> {
    let nodes = graph.nodes();
    let largest = plans.iter().map(|plan| plan.len).max().unwrap_or(0);
    let early = |number: usize| {
        let op = &nodes[number].op;
        let small = match plans[number].schedule {
            Schedule::View | Schedule::Source => return true,
            Schedule::Alone => {
                let made: usize = nodes[number].results.iter().map(|&v| graph.aval(v).shape.size()).sum();
                made <= TILE
            }
            _ => plans[number].len <= TILE.max(largest / SMALLER),
        };
        small && !late[number] && !op.has_effect() && !op.has_regions()
    };
    let mut readers: Vec<Vec<usize>> = vec![vec![]; nodes.len()];
    let mut missing = table(0, nodes.len());
    for (number, node) in nodes.iter().enumerate() {
        for made in node.operands.iter().filter_map(|&v| maker(graph, v)) {
            readers[made].push(number);
            missing[number] += 1;
        }
    }
    let mut ready: BinaryHeap<Reverse<usize>> =
        (0..nodes.len()).filter(|&n| missing[n] == 0 && early(n)).map(Reverse).collect();
    let (mut out, mut done) = (Vec::with_capacity(nodes.len()), table(false, nodes.len()));
    // All operands of a node are done before it, but for late ones.
    let mut wanted = vec![];
    let [soon, last] = [false, true].map(|is| (0..nodes.len()).filter(move |&n| late[n] == is));
    for number in soon.chain(last) {
        wanted.push(number);
        loop {
            let next = match (ready.pop(), wanted.last()) {
                (Some(Reverse(next)), _) => next,
                (None, None) => break,
                (None, Some(&last)) => {
                    let mut made = nodes[last].operands.iter().filter_map(|&v| maker(graph, v));
                    if let Some(missing) = made.find(|&n| !done[n]) {
                        wanted.push(missing);
                        continue;
                    }
                    wanted.pop();
                    last
                }
            };
            if std::mem::replace(&mut done[next], true) {
                continue;
            }
            out.push(next);
            for &reader in &readers[next] {
                missing[reader] -= 1;
                if missing[reader] == 0 && early(reader) {
                    ready.push(Reverse(reader));
                }
            }
        }
    }
    out
}

/// Values of a group at a time, at least, for which another order of its nodes is looked for: fewer are in registers.
const MANY_LIVE: usize = 8;

/// Nodes of a group, which are in the order of the graph, in an order in which fewer of their values are needed later
/// at a time, if there is one. `apply` of many functions before a sum of what they give makes them all first.
pub(super) fn short_lived(graph: &Graph, views: &Views, nodes: Vec<usize>) -> Vec<usize> {
    let place: FxHashMap<usize, usize> = nodes.iter().enumerate().map(|(i, &n)| (n, i)).collect();
    let operands: Vec<Vec<usize>> = nodes
        .iter()
        .map(|&n| {
            let made = graph.nodes()[n].operands.iter().filter_map(|&v| maker(graph, views.root(v)));
            made.filter_map(|maker| place.get(&maker).copied()).collect()
        })
        .collect();
    let as_they_are: Vec<usize> = (0..nodes.len()).collect();
    let before = most_live(&as_they_are, &operands);
    if before < MANY_LIVE {
        return nodes;
    }
    // What each needs for its operands, the one that needs most first (Sethi and Ullman 1970).
    let (mut needs, mut is_read) = (table(1, nodes.len()), table(false, nodes.len()));
    let mut sorted = operands.clone();
    for (i, from) in sorted.iter_mut().enumerate() {
        from.sort_by_key(|&operand| (Reverse(needs[operand]), operand));
        from.dedup();
        needs[i] = from.iter().enumerate().map(|(k, &operand)| needs[operand] + k).max().unwrap_or(1);
        from.iter().for_each(|&operand| is_read[operand] = true);
    }
    let (mut order, mut done, mut wanted) = (vec![], table(false, nodes.len()), vec![]);
    for last in (0..nodes.len()).filter(|&i| !is_read[i]) {
        wanted.push(last);
        while let Some(&next) = wanted.last() {
            match sorted[next].iter().find(|&&operand| !done[operand]) {
                Some(&operand) => wanted.push(operand),
                None => {
                    wanted.pop();
                    if !std::mem::replace(&mut done[next], true) {
                        order.push(next);
                    }
                }
            }
        }
    }
    if most_live(&order, &operands) < before {
        order.into_iter().map(|i| nodes[i]).collect()
    } else {
        nodes
    }
}

/// How many values are needed later at a time, at most, in this order of nodes.
fn most_live(order: &[usize], operands: &[Vec<usize>]) -> usize {
    let mut left = table(0_usize, operands.len());
    operands.iter().flatten().for_each(|&operand| left[operand] += 1);
    let (mut live, mut most) = (0, 0);
    for &i in order {
        for &operand in &operands[i] {
            left[operand] -= 1;
            live -= usize::from(left[operand] == 0);
        }
        live += usize::from(left[i] > 0);
        most = live.max(most);
    }
    most
}
