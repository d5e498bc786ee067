//! Loops that read rows of a value that stays the same: neighbours in a row are as far apart as there are rows. The
//! value is transposed once, before the loop, and the body sees it through a transpose, which costs no step. Only the
//! engine runs this pass: graphs that are shown or exported read rows as they are written.

use super::{optimise, rebuilt, SHORT};
use crate::error::Result;
use crate::graph::Value;
use crate::ops::{Builder, Control, DynamicSlice, Graph, Op, Scan, Transpose};
use crate::shape::Shape;
use crate::tensor::Aval;
use std::sync::Arc;

/// The graph with loops that read rows of transposed values; `None` if there are none.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub fn rows(graph: &Graph) -> Result<Option<Graph>> {
    let scan = |op: &Op| match op.control() {
        Some(Control::Scan(op)) => Some(op.clone()),
        _ => None,
    };
    let mut found = false;
    let made = rebuilt(graph, |b, number, operands| {
        let Some(op) = scan(&graph.nodes()[number].op) else { return Ok(None) };
        let inner = rows(&op.body)?;
        found |= inner.is_some();
        let op = Scan { body: inner.map_or_else(|| op.body.clone(), Arc::new), ..op };
        let by_row = by_row(&op);
        if by_row.is_empty() {
            return b.node(op, operands).map(Some);
        }
        found = true;
        turn(b, &op, operands, &by_row).map(Some)
    })?;
    if found {
        optimise(&made).map(Some)
    } else {
        Ok(None)
    }
}

/// The inputs of a loop's body that stay the same and of which it reads rows alone, so many that a transposed copy
/// pays.
fn by_row(op: &Scan) -> Vec<usize> {
    let (body, first) = (&op.body, op.carried + op.sliced);
    let pays = |&i: &usize| {
        let v = body.inputs()[i];
        let mut read = 0_usize;
        for node in body.nodes().iter().filter(|node| node.operands.contains(&v)) {
            match row_of(body, &node.op, &node.operands, v) {
                Some(size) => read += size,
                None => return false,
            }
        }
        !body.outputs().contains(&v)
            && read.saturating_mul(op.length) >= body.aval(v).shape.size()
            && read > 0
    };
    (first..body.inputs().len()).filter(pays).collect()
}

/// The elements of the row of a value that a node reads, if that is all it reads of it and they are many.
fn row_of(body: &Graph, op: &Op, operands: &[Value], v: Value) -> Option<usize> {
    let DynamicSlice { sizes, .. } = op.get::<DynamicSlice>()?;
    // A value may be a position, too.
    if operands[0] != v || operands[1..].contains(&v) {
        return None;
    }
    let size: usize = sizes.iter().product();
    let is_row = sizes.first() == Some(&1) && body.aval(v).shape[0] > 1;
    (is_row && size > SHORT).then_some(size)
}

/// The results of a loop, by one whose body is given these of its inputs transposed.
fn turn(b: &mut Builder, op: &Scan, operands: &[Value], by_row: &[usize]) -> Result<Vec<Value>> {
    let (mut body, mut inputs, mut given) = (Builder::default(), vec![], operands.to_vec());
    for (i, &v) in op.body.inputs().iter().enumerate() {
        let aval = op.body.aval(v).clone();
        if !by_row.contains(&i) {
            inputs.push(body.input(aval));
            continue;
        }
        let order = Transpose::first_to_end(aval.shape.rank());
        let sizes = order.iter().map(|axis| aval.shape[axis.0]).collect();
        let turned = body.input(Aval { shape: Shape::try_new(sizes)?, ..aval });
        inputs.push(body.node1(Transpose { permutation: Transpose::inverse(&order) }, &[turned])?);
        given[i] = b.node1(Transpose { permutation: order }, &[given[i]])?;
    }
    let outputs = body.inline(&op.body, &inputs)?;
    b.node(Scan { body: Arc::new(body.finish(outputs)), ..op.clone() }, &given)
}
