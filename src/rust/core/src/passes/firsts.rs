//! Of an order, or of what is sorted, of which only the first few are read, no more is computed: `order(x)[1:k]` and
//! `sort(x)[1:k]`, as who looks for neighbours writes them. Only the engine runs this pass.

use super::transposes::is_elementwise;
use super::{optimise, rebuilt};
use crate::error::Result;
use crate::graph::{Node, Value, NODE};
use crate::growth::table;
use crate::ops::create::{everywhere, uniform};
use crate::ops::{take_along, Builder, Graph, Math, Op, Ordering, Sort, StaticSlice, TopK, Transpose};
use crate::shape::Axis;
use crate::stop;

/// Elements along the axis, at least: fewer are sorted as fast.
const LONG: usize = 128;

/// One in so many elements is among the first few, at most. The 40 first of 403 take half of the time that all take.
const FEW: usize = 8;

/// The graph in which the first few are computed alone; `None` if there are none.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub fn firsts(graph: &Graph) -> Result<Option<Graph>> {
    let mut sorts: Vec<Option<Axis>> = table(None, graph.values().count());
    let mut is_any = false;
    // What is sorted, and what is computed of that element by element with numbers: positions from 1 on are such. Either
    // may be transposed, as R code does with what `apply()` gives.
    for node in graph.nodes() {
        let axis = match sorted(&node.op) {
            Some((axis, _)) => Some(axis),
            None => match node.op.get::<Transpose>() {
                Some(op) => sorts[node.operands[0].index()].map(|axis| turned(op, axis)),
                None => source(graph, node, |v| sorts[v.index()].is_some()).and_then(|v| sorts[v.index()]),
            },
        };
        if let &[result] = &node.results[..] {
            sorts[result.index()] = axis;
            is_any |= axis.is_some();
        }
    }
    if !is_any {
        return Ok(None);
    }
    // How many of them are read; all, unless slices alone read them.
    let mut counts: Vec<usize> = table(0, graph.values().count());
    let all = |v: Value, axis: Axis| graph.aval(v).shape[axis.0];
    for &v in graph.outputs() {
        if let Some(axis) = sorts[v.index()] {
            counts[v.index()] = all(v, axis);
        }
    }
    for node in graph.nodes().iter().rev() {
        stop::work(NODE);
        for &v in &node.operands {
            let Some(axis) = sorts[v.index()] else { continue };
            let follows = node.results.first().filter(|_| sorted(&node.op).is_none());
            let follows = follows.filter(|result| sorts[result.index()].is_some());
            let slice = node.op.get::<StaticSlice>().map(|slice| slice.limit[axis.0]);
            let read = follows.map(|result| counts[result.index()]).or(slice).unwrap_or(all(v, axis));
            counts[v.index()] = counts[v.index()].max(read);
        }
    }
    let is_few = |v: Value| {
        let axis = sorts[v.index()]?;
        let (size, count) = (all(v, axis), counts[v.index()]);
        (count > 0 && size >= LONG && count <= size / FEW).then_some(count)
    };
    let mut few: Vec<bool> = table(false, graph.values().count());
    let made = rebuilt(graph, |b, number, operands| {
        let node = &graph.nodes()[number];
        let &[result] = &node.results[..] else { return Ok(None) };
        if let Some((axis, descending)) = sorted(&node.op) {
            let Some(count) = is_few(result) else { return Ok(None) };
            few[result.index()] = true;
            let is_order = node.op.get::<Ordering>().is_some();
            let first = TopK { axis, count, descending };
            return first_few(b, first, operands[0], is_order).map(|v| Some(vec![v]));
        }
        if node.op.get::<Transpose>().is_some() && few[node.operands[0].index()] {
            few[result.index()] = true;
            return b.node(node.op.clone(), operands).map(Some);
        }
        let Some(v) = source(graph, node, |v| few[v.index()]) else { return Ok(None) };
        few[result.index()] = true;
        of_few(b, graph, node, v, operands).map(|v| Some(vec![v]))
    })?;
    if few.contains(&true) {
        optimise(&made).map(Some)
    } else {
        Ok(None)
    }
}

/// The operand of an elementwise op that is such a value, if the others are the same number everywhere.
fn source(graph: &Graph, node: &Node<Op>, is_such: impl Fn(Value) -> bool) -> Option<Value> {
    let v = node.operands.iter().copied().find(|&v| is_such(v)).filter(|_| is_elementwise(graph, node))?;
    node.operands.iter().all(|&other| other == v || uniform(graph, other).is_some()).then_some(v)
}

/// What an elementwise op makes of fewer elements of a value.
fn of_few(b: &mut Builder, graph: &Graph, node: &Node<Op>, v: Value, operands: &[Value]) -> Result<Value> {
    let at = node.operands.iter().position(|&operand| operand == v).expect("it is an operand");
    let shape = b.graph().aval(operands[at]).shape.clone();
    let mut given = vec![];
    for (&old, &new) in node.operands.iter().zip(operands) {
        given.push(match uniform(graph, old) {
            Some(number) if old != v => {
                let number = b.literal(number, graph.aval(old).ambiguous);
                everywhere(b, number, shape.clone())?
            }
            _ => new,
        });
    }
    b.node1(node.op.clone(), &given)
}

/// Where an axis is after a transpose.
fn turned(op: &Transpose, axis: Axis) -> Axis {
    Transpose::inverse(&op.permutation)[axis.0]
}

/// The axis along which an op sorts one value, and whether the largest comes first.
fn sorted(op: &Op) -> Option<(Axis, bool)> {
    let of_order = |op: &Ordering| match op.descending[..] {
        [descending] => Some((op.axis, descending)),
        _ => None,
    };
    let sort = op.get::<Sort>().map(|sort| (sort.axis, sort.descending));
    sort.or_else(|| op.get::<Ordering>().and_then(of_order))
}

/// The positions of the first few, or these.
fn first_few(b: &mut Builder, first: TopK, x: Value, positions: bool) -> Result<Value> {
    let axis = first.axis;
    let found = b.node1(first, &[x])?;
    if positions {
        return Ok(found);
    }
    let math = Math::new(b);
    let taken = take_along(math.var(x), math.var(found), axis).value();
    math.finish()?;
    Ok(taken)
}
