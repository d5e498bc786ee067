//! Pads of one value become slices of one pad, which is as large as all of them need: the gradient of a sum of
//! shifted slices is such a sum of pads. Slices are read where they lie, so the value is written once, not once
//! for each. Only the engine runs this pass: graphs that are shown or exported keep their pads.

use super::pieces::has_rows;
use super::transposes::is_elementwise;
use super::{optimise, rebuilt};
use crate::error::Result;
use crate::graph::{Value, NODE};
use crate::growth::table;
use crate::ops::contract::OpDef;
use crate::ops::{Builder, Graph, Pad, StaticSlice};
use crate::shape::Shape;
use crate::stop;
use std::collections::BTreeMap;

/// What pads have in common that are slices of one: the operand, the value around it, and what is between its
/// elements.
type Key = (Value, Value, Vec<usize>);

/// The graph with pads of one value that are slices of one pad, where elementwise ops alone read them; `None` if
/// there are no such.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub fn pads(graph: &Graph) -> Result<Option<Graph>> {
    if graph.nodes().iter().filter(|node| node.op.get::<Pad>().is_some()).nth(1).is_none() {
        return Ok(None);
    }
    let mut kept = table(false, graph.values().count());
    graph.outputs().iter().for_each(|v| kept[v.index()] = true);
    for node in graph.nodes() {
        stop::work(NODE);
        if !is_elementwise(graph, node) {
            node.operands.iter().for_each(|v| kept[v.index()] = true);
        }
    }
    let mut found: BTreeMap<Key, Vec<(usize, &Pad)>> = BTreeMap::new();
    for (number, node) in graph.nodes().iter().enumerate() {
        if let Some(pad) = node.op.get::<Pad>().filter(|_| !kept[node.results[0].index()]) {
            let key = (node.operands[0], node.operands[1], pad.interior.clone());
            found.entry(key).or_default().push((number, pad));
        }
    }
    let mut slices: BTreeMap<usize, (Pad, StaticSlice)> = BTreeMap::new();
    for pads in found.into_values() {
        slices.extend(joined(graph, &pads).into_iter().flatten());
    }
    if slices.is_empty() {
        return Ok(None);
    }
    let slice = |b: &mut Builder, number: usize, operands: &[Value]| match slices.get(&number) {
        Some((pad, slice)) => {
            let whole = b.node1(pad.clone(), operands)?;
            b.node(slice.clone(), &[whole]).map(Some)
        }
        None => Ok(None),
    };
    optimise(&rebuilt(graph, slice)?).map(Some)
}

/// One pad for all of these, and the slices of it that they are, by node; `None` if there are none to join, or it
/// would be not much smaller than they are together, or not be read in place.
fn joined(graph: &Graph, pads: &[(usize, &Pad)]) -> Option<Vec<(usize, (Pad, StaticSlice))>> {
    let ((_, first), _) = pads.split_first().filter(|(_, others)| !others.is_empty())?;
    let mut all = Pad::clone(first);
    for (_, pad) in pads {
        all.low.iter_mut().zip(&pad.low).for_each(|(most, &low)| *most = low.max(*most));
        all.high.iter_mut().zip(&pad.high).for_each(|(most, &high)| *most = high.max(*most));
    }
    let types = |number: usize| graph.nodes()[number].operands.iter().map(|&v| graph.aval(v));
    let whole = all.infer(&types(pads[0].0).collect::<Vec<_>>()).ok()?.pop()?;
    let mut sizes: usize = 0;
    let mut slices = vec![];
    for &(number, pad) in pads {
        let shape: &Shape = &graph.aval(graph.nodes()[number].results[0]).shape;
        let start: Vec<usize> =
            all.low.iter().zip(&pad.low).map(|(most, low)| (most - low) as usize).collect();
        let limit = start.iter().zip(shape.iter()).map(|(start, size)| start + size).collect();
        let slice = StaticSlice { start, limit, stride: vec![1; shape.rank()] };
        if !has_rows(&slice, &whole) {
            return None;
        }
        sizes = sizes.saturating_add(shape.size());
        slices.push((number, (all.clone(), slice)));
    }
    (whole.shape.size() > 0 && whole.shape.size() <= sizes / 4 * 3).then_some(slices)
}
