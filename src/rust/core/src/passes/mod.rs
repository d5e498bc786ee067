//! Passes: functions from graph to graph that change no result.
//!
//! One walk does all for now: unused nodes are dropped, nodes on literals are folded, no-ops and chains of
//! casts and moves are shortened, branches and loops keep what they need ([`regions`]), and equal nodes are
//! made once (by the builder).

mod if_conversion;
mod regions;

pub use if_conversion::if_conversion;

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{Def, Node, Operation, Value};
use crate::growth::table;
use crate::kernels::memory::AlignedBytes;
use crate::kernels::reductions::fold::Fold;
use crate::ops::{Binary, Builder, Convert, Fill, Graph, Iota, Op, Reduction, RngBits, Transpose, Unary};
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, Layout, Literal, View, ViewMut};

/// Simplifies a graph. Inputs and constants keep their numbers, used or not.
///
/// # Errors
/// [`crate::error::Error::Internal`] if a rewrite broke the graph, which is a bug.
pub fn optimise(graph: &Graph) -> Result<Graph> {
    let mut graph = walk(graph)?;
    // A rewrite may go past a node that nothing else uses; the next walk drops it.
    while live_nodes(&graph).contains(&false) {
        graph = walk(&graph)?;
    }
    if cfg!(debug_assertions) {
        graph.verify()?;
        if has_custom(&graph) {
            return Err(Error::Internal {
                detail: format!("a derivative of its own is left in a program\n{graph}"),
            });
        }
    }
    Ok(graph)
}

/// Whether a graph, or one that its ops run, has a function with a derivative of its own, which no executor
/// knows.
fn has_custom(graph: &Graph) -> bool {
    let of =
        |op: &Op| matches!(op, Op::Custom(_)) || op.regions().iter().any(|(_, region)| has_custom(region));
    graph.nodes().iter().any(|node| of(&node.op))
}

/// One walk over the live nodes.
fn walk(graph: &Graph) -> Result<Graph> {
    let mut b = Builder::default();
    // All of them, in the order of their numbers.
    let inputs: Vec<Value> = graph.inputs().iter().map(|&v| b.input(graph.aval(v).clone())).collect();
    let constants: Vec<Value> =
        graph.constants().iter().map(|&v| b.constant(graph.aval(v).clone())).collect();
    let outputs = walk_into(&mut b, graph, &inputs, &constants)?;
    Ok(b.finish(outputs))
}

/// Makes the live nodes of a graph in another one, with these values for its inputs and constants; gives its
/// outputs. Functions with derivatives of their own are walked into, and so are those in them: derivatives
/// have been made by now, and none is left for whoever runs or exports the graph.
fn walk_into(b: &mut Builder, graph: &Graph, inputs: &[Value], constants: &[Value]) -> Result<Vec<Value>> {
    let live = live_nodes(graph);
    let mut read = table(false, graph.values().count());
    graph.outputs().iter().for_each(|v| read[v.index()] = true);
    for (node, _) in graph.nodes().iter().zip(&live).filter(|(_, &live)| live) {
        node.operands.iter().for_each(|v| read[v.index()] = true);
    }
    let mut new: Vec<Option<Value>> = table(None, graph.values().count());
    for value in graph.values() {
        new[value.index()] = match graph.def(value) {
            Def::Input(i) => Some(inputs[i]),
            Def::Constant(i) => Some(constants[i]),
            Def::Literal(literal) => Some(b.literal(literal, graph.aval(value).ambiguous)),
            Def::Result(..) => None,
        };
    }
    for (node, _) in graph.nodes().iter().zip(&live).filter(|(_, &live)| live) {
        let operands: Vec<Value> =
            node.operands.iter().map(|v| new[v.index()].expect("operands are made before")).collect();
        let read: Vec<bool> = node.results.iter().map(|v| read[v.index()]).collect();
        if let Some(results) = regions::simplify(b, &node.op, &operands, &read)? {
            node.results.iter().zip(results).for_each(|(old, value)| new[old.index()] = value);
            continue;
        }
        if let Op::RngBits(op @ RngBits { with_state: true, .. }) = &node.op {
            node.results
                .iter()
                .zip(draw(b, op, operands[0], &read)?)
                .for_each(|(old, v)| new[old.index()] = v);
            continue;
        }
        let results = match (&node.op, rewrite(b, &node.op, &operands)?) {
            (_, Some(value)) => vec![value],
            (Op::Custom(op), None) => {
                let mut given = op.operands(&op.call, &operands);
                for (value, &input) in given.iter_mut().zip(op.call.inputs()) {
                    *value = flagged(b, *value, op.call.aval(input).ambiguous)?;
                }
                walk_into(b, &op.call, &given, &[])?
            }
            (op, None) => b.node(op.clone(), &operands)?,
        };
        for (old, value) in node.results.iter().zip(results) {
            new[old.index()] = Some(value);
        }
    }
    Ok(graph.outputs().iter().map(|v| new[v.index()].expect("outputs are live")).collect())
}

/// The value, ambiguous or not.
fn flagged(b: &mut Builder, value: Value, ambiguous: bool) -> Result<Value> {
    let aval = b.graph().aval(value);
    if aval.ambiguous == ambiguous {
        return Ok(value);
    }
    let same = Convert { dtype: aval.dtype, ambiguous };
    b.node1(Op::Convert(same), &[value])
}

fn live_nodes(graph: &Graph) -> Vec<bool> {
    let mut live = table(false, graph.nodes().len());
    let mut wanted: Vec<Value> = graph.outputs().to_vec();
    wanted.extend(
        graph.nodes().iter().filter(|node| node.op.has_effect()).flat_map(|node| node.results.first()),
    );
    while let Some(value) = wanted.pop() {
        if let Def::Result(node, _) = graph.def(value) {
            if !std::mem::replace(&mut live[node], true) {
                wanted.extend(&graph.nodes()[node].operands);
            }
        }
    }
    live
}

/// The state after a draw, and the bits, as far as they are read: each by itself, so that the bits can be
/// made by those who read them. The state is a key and a counter, which moves on.
fn draw(b: &mut Builder, op: &RngBits, state: Value, read: &[bool]) -> Result<[Option<Value>; 2]> {
    let mut next = None;
    if read[0] {
        let shape = b.graph().aval(state).shape.clone();
        let which =
            Iota { axis: Axis(0), dtype: DType::UI64, shape: shape.clone(), start: 0, ambiguous: false };
        let which = b.node1(Op::Iota(which), &[])?;
        let used =
            b.node1(Op::Fill(Fill { value: Literal::new(op.used()), shape, ambiguous: false }), &[])?;
        let ahead = b.node1(Op::Binary(Binary::mul), &[which, used])?;
        next = Some(b.node1(Op::Binary(Binary::add), &[state, ahead])?);
    }
    let bits = Op::RngBits(RngBits { with_state: false, ..op.clone() });
    Ok([next, if read[1] { Some(b.node1(bits, &[state])?) } else { None }])
}

/// A value that is the node's result, if it can be had for less. Rules never look at layouts and never change
/// a bit of the result.
fn rewrite(b: &mut Builder, op: &Op, operands: &[Value]) -> Result<Option<Value>> {
    if let Some(folded) = fold(b, op, operands)? {
        return Ok(Some(folded));
    }
    // The square is a product, bit for bit (`kernels::math`), for a tenth of the time.
    if let (Op::Binary(Binary::pow), &[x, y]) = (op, operands) {
        let aval = b.graph().aval(x).clone();
        let two = uniform(b.graph(), y).is_some_and(|n| n.dtype() == aval.dtype && n.get::<f64>() == 2.0);
        if two && !aval.dtype.is_complex() && aval.ambiguous <= b.graph().aval(y).ambiguous {
            return b.node1(Op::Binary(Binary::mul), &[x, x]).map(Some);
        }
    }
    let &[x] = operands else { return Ok(None) };
    let aval = b.graph().aval(x).clone();
    let before = match b.graph().def(x) {
        Def::Result(node, _) => Some(b.graph().nodes()[node].clone()),
        _ => None,
    };
    Ok(match (op, before.map(|n| (n.op, n.operands))) {
        (Op::Unary(Unary::stop_gradient), _) => Some(x),
        // The largest of one element; a sum may turn -0 into 0.
        (Op::Reduction(Reduction { fold: Fold::Max | Fold::Min, axes, .. }), _) if axes.is_empty() => Some(x),
        (Op::Convert(to), _) if aval.dtype == to.dtype && aval.ambiguous == to.ambiguous => Some(x),
        // Widening within a kind loses nothing, so the value before it can be converted at once.
        (Op::Convert(to), Some((Op::Convert(_), from))) if widens(b.graph().aval(from[0]), &aval) => {
            let before = b.graph().aval(from[0]);
            let same = before.dtype == to.dtype && before.ambiguous == to.ambiguous;
            Some(if same { from[0] } else { b.node1(Op::Convert(*to), &from)? })
        }
        (Op::Transpose(outer), Some((Op::Transpose(inner), from))) => {
            let permutation: Vec<_> = outer.permutation.iter().map(|a| inner.permutation[a.0]).collect();
            let identity = permutation.iter().enumerate().all(|(i, a)| a.0 == i);
            Some(if identity { from[0] } else { b.node1(Op::Transpose(Transpose { permutation }), &from)? })
        }
        (Op::Reshape(outer), Some((Op::Reshape(inner), from))) if outer.order == inner.order => {
            let same = b.graph().aval(from[0]).shape == outer.shape;
            Some(if same { from[0] } else { b.node1(Op::Reshape(outer.clone()), &from)? })
        }
        _ => None,
    })
}

/// The number that all elements of a value are, if that is in the graph.
fn uniform(graph: &Graph, value: Value) -> Option<Literal> {
    match graph.def(value) {
        Def::Literal(literal) => Some(literal),
        Def::Result(node, _) => match &graph.nodes()[node] {
            Node { op: Op::BroadcastInDim(_), operands, .. } => uniform(graph, operands[0]),
            Node { op: Op::Fill(fill), .. } => Some(fill.value),
            _ => None,
        },
        _ => None,
    }
}

fn widens(from: &Aval, to: &Aval) -> bool {
    // bf16 and f16 are of one width, and neither holds the other.
    from.dtype == to.dtype || (from.dtype.kind() == to.dtype.kind() && from.dtype.bits() < to.dtype.bits())
}

/// Computes a node whose operands are all literals and whose result is a scalar.
fn fold(b: &mut Builder, op: &Op, operands: &[Value]) -> Result<Option<Value>> {
    if let Op::Fill(fill) = op {
        return Ok((fill.shape.rank() == 0).then(|| b.literal(fill.value, fill.ambiguous)));
    }
    if op.has_regions() || op.has_effect() {
        return Ok(None);
    }
    let literals: Option<Vec<Literal>> = operands
        .iter()
        .map(|&v| match b.graph().def(v) {
            Def::Literal(literal) => Some(literal),
            _ => None,
        })
        .collect();
    let Some(literals) = literals.filter(|l| !l.is_empty()) else { return Ok(None) };
    let avals: Vec<Aval> = operands.iter().map(|&v| b.graph().aval(v).clone()).collect();
    let types = Operation::infer(op, &avals.iter().collect::<Vec<_>>())?;
    let [aval] = types.as_slice() else { return Ok(None) };
    if aval.shape.rank() > 0 {
        return Ok(None);
    }
    let (shape, layout) = (Shape::scalar(), Layout::dense(&Shape::scalar()));
    let buffers: Vec<AlignedBytes> = literals
        .iter()
        .map(|l| {
            let mut bytes = AlignedBytes::zeroed(l.dtype().bytes());
            bytes.as_mut_slice().copy_from_slice(&l.to_bytes()[..l.dtype().bytes()]);
            bytes
        })
        .collect();
    let views: Vec<View> = literals
        .iter()
        .zip(&buffers)
        .map(|(l, bytes)| View { dtype: l.dtype(), shape: &shape, layout: &layout, data: bytes.as_slice() })
        .collect();
    let mut out = AlignedBytes::zeroed(aval.dtype.bytes());
    op.eval(&views, &mut [ViewMut { dtype: aval.dtype, shape: &shape, data: out.as_mut_slice() }]);
    Ok(Some(b.literal(Literal::from_bytes(aval.dtype, out.as_slice()), aval.ambiguous)))
}
