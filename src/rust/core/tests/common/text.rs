//! The round trip of a graph's text.
#![allow(dead_code)] // each test file uses a part

use anvil_core::graph::Operation;
use anvil_core::ops::{Custom, Derivative, Graph, Op};

/// The graph, whose text says what it is.
pub fn read_back(graph: Graph) -> Graph {
    match misread(&graph) {
        None => graph,
        Some(what) => panic!("{what}\n{graph}"),
    }
}

/// The difference of a graph from its text, parsed.
pub fn misread(graph: &Graph) -> Option<String> {
    let text = graph.to_string();
    let read = match Graph::parse(&text) {
        Ok(read) => read,
        Err(e) => return Some(format!("its text is not read: {e}")),
    };
    if let Err(e) = read.verify() {
        return Some(format!("what is read of its text: {e}"));
    }
    let again = read.to_string();
    if again != text {
        return Some(format!("what is read of its text prints as\n{again}"));
    }
    parameters(graph, &read)
}

fn targets(op: &Custom) -> &[usize] {
    match &op.derivative {
        Derivative::Reverse { targets, .. } => targets,
        Derivative::Forward(_) => &[],
    }
}

/// The first op whose parameters differ, of graphs that print the same.
fn parameters(graph: &Graph, read: &Graph) -> Option<String> {
    graph.nodes().iter().zip(read.nodes()).find_map(|(one, other)| {
        let same = match (&one.op, &other.op) {
            (Op::If(_), Op::If(_)) => true,
            (Op::While(x), Op::While(y)) => x.carried == y.carried,
            (Op::Scan(x), Op::Scan(y)) => {
                (x.carried, x.sliced, x.length, x.reverse, x.last, x.checkpoint)
                    == (y.carried, y.sliced, y.length, y.reverse, y.last, y.checkpoint)
            }
            (Op::Custom(x), Op::Custom(y)) => x.arguments == y.arguments && targets(x) == targets(y),
            (Op::Scatter(x), Op::Scatter(y)) => {
                let promises = (x.indices_are_sorted, x.unique_indices);
                let update = x.region().is_some() == y.region().is_some() && (x.region().is_some() || x == y);
                x.windows == y.windows && promises == (y.indices_are_sorted, y.unique_indices) && update
            }
            // Calls are numbered anew.
            (Op::Print(x), Op::Print(y)) => (&x.label, x.ambiguous) == (&y.label, y.ambiguous),
            // All NaN print the same.
            (Op::Fill(x), Op::Fill(_)) if x.value.to_string().contains("NaN") => true,
            (x, y) => x == y,
        };
        let regions = one.op.regions().into_iter().zip(other.op.regions());
        let inside = || regions.map(|((_, x), (_, y))| parameters(x, y)).find_map(|found| found);
        if same {
            inside()
        } else {
            Some(format!("{:?}\nis read as\n{:?}", one.op, other.op))
        }
    })
}
