//! Products with diagonal matrices, and diagonals of products, as R code writes them: `diag(w) %*% X` is `w * X`, so that
//! `t(X) %*% diag(w) %*% X` is one product, and `diag(A %*% B)` is `rowSums(A * t(B))`. The terms that are left out are
//! products with 0, which are no 0 only of what is not finite; whoever traces a program asks for this pass, as for
//! [`accurate`](super::accurate).

use super::{flagged, optimise, reads, rebuilt_from, within_regions};
use crate::error::Result;
use crate::graph::{Node, Value};
use crate::kernels::reductions::fold::Fold;
use crate::ops::create::uniform;
use crate::ops::layout::Order;
use crate::ops::{
    Binary, BroadcastInDim, Builder, DotGeneral, Graph, Op, Pad, Reduction, Reshape, StaticSlice, Transpose,
};
use crate::shape::Axis;
use crate::tensor::Literal;

/// The graph without products that only diagonals need; `None` if it has none.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub fn diagonals(graph: &Graph) -> Result<Option<Graph>> {
    let inner = within_regions(graph, diagonals)?;
    let graph = inner.as_ref().unwrap_or(graph);
    let is_made = |of: fn(&Op) -> bool| graph.nodes().iter().any(|node| of(&node.op));
    let may_spread = |op: &Op| op.get::<Pad>().is_some() || op.get::<StaticSlice>().is_some();
    if !is_made(|op| op.get::<DotGeneral>().is_some()) || !is_made(may_spread) {
        return Ok(inner);
    }
    // As it was traced, it has what nothing reads.
    let graph = &optimise(graph)?;
    let counts = reads(graph);
    let found: Vec<Option<Form>> = graph.nodes().iter().map(|node| form(graph, &counts, node)).collect();
    if found.iter().all(Option::is_none) {
        return Ok(inner);
    }
    let made = rebuilt_from(graph, |b, number, new| {
        let Some(form) = &found[number] else { return Ok(None) };
        let value = match *form {
            Form::Scaled { diagonal, other, axis, is_first } => {
                scaled(b, [diagonal, other].map(|v| new[v.index()]), axis, is_first)?
            }
            Form::Diagonal { operands, axes } => diagonal_of(b, operands.map(|v| new[v.index()]), axes)?,
        };
        let ambiguous = graph.aval(graph.nodes()[number].results[0]).ambiguous;
        flagged(b, value, ambiguous).map(|value| Some(vec![value]))
    })?;
    optimise(&made).map(Some)
}

/// What a node computes.
enum Form {
    /// A product with the matrix that has this diagonal, which is its first operand or its second; of the other one an axis is
    /// summed over.
    Scaled { diagonal: Value, other: Value, axis: usize, is_first: bool },
    /// The diagonal of a product of two matrices, of which these axes are summed over.
    Diagonal { operands: [Value; 2], axes: [usize; 2] },
}

fn form(graph: &Graph, counts: &[usize], node: &Node<Op>) -> Option<Form> {
    if let Some((operands, axes)) = product(graph, node) {
        let of = |i: usize| {
            let (diagonal, other) = (diagonal_matrix(graph, operands[i])?, operands[1 - i]);
            Some(Form::Scaled { diagonal, other, axis: axes[1 - i], is_first: i == 0 })
        };
        return of(0).or_else(|| of(1));
    }
    let square = diagonal_elements(graph, counts, node)?;
    let (operands, axes) = product(graph, graph.made_by(square)?)?;
    let is_matrix = |v: &Value| graph.aval(*v).shape.rank() == 2;
    operands.iter().all(is_matrix).then_some(Form::Diagonal { operands, axes })
}

/// The operands of a product over one axis of each, and these axes, if that is what a node computes.
fn product(graph: &Graph, node: &Node<Op>) -> Option<([Value; 2], [usize; 2])> {
    let op = node.op.get::<DotGeneral>().filter(|op| op.batching.iter().all(Vec::is_empty))?;
    let [[x], [y]] = [&op.contracting[0][..], &op.contracting[1][..]] else { return None };
    let operands = [node.operands[0], node.operands[1]];
    // Sums of 16-bit floats are rounded once, and booleans have no sum.
    let dtype = graph.aval(operands[0]).dtype;
    (dtype.part().is_float() && !dtype.is_half()).then_some((operands, [x.0, y.0]))
}

/// The diagonal of a matrix that is 0 elsewhere, as `diag(w)` has it: `w` with as many zeros between its elements as it has
/// elements, in columns of that length.
fn diagonal_matrix(graph: &Graph, v: Value) -> Option<Value> {
    let node = graph.made_by(v)?;
    let op = node.op.get::<Reshape>().filter(|op| op.order == Order::Column)?;
    let [n, m] = op.shape[..] else { return None };
    let node = graph.made_by(node.operands[0])?;
    let pad = node.op.get::<Pad>()?;
    let dtype = graph.aval(v).dtype;
    let zero = uniform(graph, node.operands[1]) == Some(Literal::new(0i32).convert(dtype));
    let is_spread = pad.low[..] == [0] && pad.high[..] == [0] && pad.interior[..] == [n];
    let fits = n == m && n > 1 && graph.aval(node.operands[0]).shape[..] == [n];
    (zero && is_spread && fits).then_some(node.operands[0])
}

/// The square matrix whose diagonal a node reads, as `diag(x)` does, if nothing else reads any of it.
fn diagonal_elements(graph: &Graph, counts: &[usize], node: &Node<Op>) -> Option<Value> {
    let once = |v: Value| (counts[v.index()] == 1).then(|| graph.made_by(v)).flatten();
    let slice = node.op.get::<StaticSlice>()?;
    let line = once(node.operands[0])?;
    let op = line.op.get::<Reshape>().filter(|op| op.order == Order::Column && op.shape.rank() == 1)?;
    let square = line.operands[0];
    let [n, m] = graph.aval(square).shape[..] else { return None };
    let is_all = slice.start[..] == [0] && slice.limit[0] == op.shape[0] && slice.stride[..] == [n + 1];
    (is_all && n == m && n > 1 && once(square).is_some()).then_some(square)
}

/// The other operand with the axis first or last, along which it is multiplied with the diagonal.
fn scaled(b: &mut Builder, [diagonal, other]: [Value; 2], axis: usize, is_first: bool) -> Result<Value> {
    let rank = b.graph().aval(other).shape.rank();
    let rest = (0..rank).filter(|&i| i != axis);
    let order: Vec<usize> = match is_first {
        true => std::iter::once(axis).chain(rest).collect(),
        false => rest.chain(std::iter::once(axis)).collect(),
    };
    let turned = transposed(b, other, &order)?;
    let shape = b.graph().aval(turned).shape.clone();
    let at = if is_first { 0 } else { rank - 1 };
    let factors = b.node1(BroadcastInDim { shape, axes: vec![Axis(at)] }, &[diagonal])?;
    b.node1(Binary::mul, &[factors, turned])
}

/// The sums of products of two matrices, element by element, over an axis of each.
fn diagonal_of(b: &mut Builder, [x, y]: [Value; 2], [axis, of_other]: [usize; 2]) -> Result<Value> {
    let order: &[usize] = if axis == of_other { &[0, 1] } else { &[1, 0] };
    let other = transposed(b, y, order)?;
    let products = b.node1(Binary::mul, &[x, other])?;
    b.node1(Reduction { fold: Fold::Sum, axes: vec![Axis(axis)], drop: true }, &[products])
}

/// A value with its axes in another order.
fn transposed(b: &mut Builder, x: Value, order: &[usize]) -> Result<Value> {
    if order.is_sorted() {
        return Ok(x);
    }
    b.node1(Transpose { permutation: order.iter().copied().map(Axis).collect() }, &[x])
}
