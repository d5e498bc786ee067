//! Loops that read rows of a value, and may replace rows of it, as `M[i, ] <- f(M[i - 1, ])`: neighbours in a row are as
//! far apart as there are rows. The value is transposed once, before the loop, and if it is of the state once more
//! behind it; the body sees it through a transpose, which costs no step. Only the engine runs this pass: graphs that are
//! shown or exported read rows as they are written.

use super::{optimise, rebuilt, reshape};
use crate::error::Result;
use crate::graph::{Def, Node, Value};
use crate::growth::table;
use crate::ops::{
    Builder, Check, Control, DynamicSlice, DynamicUpdateSlice, Gather, Graph, Op, Scan, Transpose,
};
use crate::shape::{Axis, Shape};
use crate::tensor::Aval;
use std::sync::Arc;

/// Elements of a row that is read side by side, at least: native code of loops has shorter ones in registers, and reads them
/// one by one wherever they are.
const ROW: usize = 16;

/// Bytes of a value in a loop within another that is transposed, at least: there it is each time that the inner one begins,
/// and what transposes is no native code.
const INNER: usize = 1 << 17;

/// The graph with loops that read rows of transposed values; `None` if there are none. `is_inner` says that the graph is
/// the body of a loop.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub fn rows(graph: &Graph, is_inner: bool) -> Result<Option<Graph>> {
    let scan = |op: &Op| match op.control() {
        Some(Control::Scan(op)) => Some(op.clone()),
        _ => None,
    };
    let mut found = false;
    let made = rebuilt(graph, |b, number, operands| {
        let Some(op) = scan(&graph.nodes()[number].op) else { return Ok(None) };
        let inner = rows(&op.body, true)?;
        found |= inner.is_some();
        let op = Scan { body: inner.map_or_else(|| op.body.clone(), Arc::new), ..op };
        let by_row = by_row(&op, is_inner);
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

/// The inputs of a loop's body of which it reads and replaces rows alone, so many that transposed copies pay.
fn by_row(op: &Scan, is_inner: bool) -> Vec<usize> {
    let (body, first) = (&op.body, op.carried + op.sliced);
    let pays = |&i: &usize| {
        if is_inner && body.aval(body.inputs()[i]).bytes() < INNER {
            return false;
        }
        let stays = i >= first;
        let copies = if stays { 1 } else { 2 };
        let moved = if stays { read_by_row(body, body.inputs()[i]) } else { replaced_by_row(body, i) };
        let moved = moved.unwrap_or(0).saturating_mul(op.length);
        // Neighbours that are far apart take at least twice as long as a copy does.
        moved > 0 && 2 * moved >= copies * body.aval(body.inputs()[i]).shape.size()
    };
    (0..op.carried).chain(first..body.inputs().len()).filter(pays).collect()
}

/// The elements of rows that are read of a value, if nothing else is.
fn read_by_row(body: &Graph, v: Value) -> Option<usize> {
    let readers = body.nodes().iter().filter(|node| node.operands.contains(&v));
    let read = readers.map(|node| row_of(body, node, v)).sum::<Option<usize>>()?;
    (!body.outputs().contains(&v)).then_some(read)
}

/// Updates of one another that are looked at, at most.
const UPDATES: usize = 16;

/// The elements of rows that are read and replaced of a value of the state, if nothing else is.
fn replaced_by_row(body: &Graph, i: usize) -> Option<usize> {
    let (mut v, mut moved, mut updates) = (body.inputs()[i], 0, 0);
    loop {
        let mut next = None;
        for node in body.nodes().iter().filter(|node| node.operands.contains(&v)) {
            let size = match replaced_row(body, node, v) {
                Some(size) if next.replace(node.results[0]).is_none() => size,
                Some(_) => return None,
                None => row_of(body, node, v)?,
            };
            moved += size;
        }
        let given = body.outputs().iter().enumerate().filter(|(_, &output)| output == v);
        let given: Vec<usize> = given.map(|(i, _)| i).collect();
        match next {
            Some(next) if given.is_empty() && updates < UPDATES => (v, updates) = (next, updates + 1),
            Some(_) => return None,
            None => return (given == [i] && updates > 0).then_some(moved),
        }
    }
}

/// The elements of the rows of a value that a node reads, if that is all it reads of it and rows are long.
fn row_of(body: &Graph, node: &Node<Op>, v: Value) -> Option<usize> {
    // A value may be a position, too.
    if node.operands[0] != v || node.operands[1..].contains(&v) {
        return None;
    }
    let shape = &body.aval(v).shape;
    let is_row = |sizes: &[usize]| {
        sizes.first() == Some(&1)
            && shape.first().is_some_and(|&n| n > 1)
            && sizes.iter().product::<usize>() >= ROW
    };
    if let Some(DynamicSlice { sizes, .. }) = node.op.get::<DynamicSlice>() {
        return is_row(sizes).then(|| sizes.iter().product());
    }
    let op = node.op.get::<Gather>()?;
    let picks = op.windows.index_map == [Axis(0)] && op.windows.batching.is_empty();
    (picks && is_row(&op.slice_sizes)).then(|| body.aval(node.results[0]).shape.size())
}

/// The elements of the row of a value that a node replaces, wherever it is, if that is all it does with it.
fn replaced_row(body: &Graph, node: &Node<Op>, v: Value) -> Option<usize> {
    node.op.get::<DynamicUpdateSlice>().filter(|op| is_turnable(&op.check))?;
    if node.operands[0] != v || node.operands[1..].contains(&v) {
        return None;
    }
    let (shape, row) = (&body.aval(v).shape, &body.aval(node.operands[1]).shape);
    let is_row = row.first() == Some(&1) && shape[0] > 1 && row.size() >= ROW;
    is_row.then(|| row.size())
}

/// Whether a check can be one of a value that has been turned: one of that already would name another axis.
fn is_turnable(check: &Check) -> bool {
    !matches!(check, Check::RaisesTurned(..))
}

/// The value with its first axis as the last one.
fn turned(b: &mut Builder, v: Value) -> Result<Value> {
    let permutation = Transpose::first_to_end(b.graph().aval(v).shape.rank());
    b.node1(Transpose { permutation }, &[v])
}

/// What [`turned`] undoes.
fn turned_back(b: &mut Builder, v: Value) -> Result<Value> {
    let permutation = Transpose::inverse(&Transpose::first_to_end(b.graph().aval(v).shape.rank()));
    b.node1(Transpose { permutation }, &[v])
}

/// The results of a loop, by one whose body is given these of its inputs transposed.
fn turn(b: &mut Builder, op: &Scan, operands: &[Value], by_row: &[usize]) -> Result<Vec<Value>> {
    let (mut body, mut given) = (Builder::default(), operands.to_vec());
    let mut new: Vec<Option<Value>> = table(None, op.body.values().count());
    // What has been transposed, for values of the state.
    let mut other: Vec<Option<Value>> = table(None, op.body.values().count());
    for v in op.body.values() {
        let aval = op.body.aval(v).clone();
        new[v.index()] = Some(match op.body.def(v) {
            Def::Input(i) if by_row.contains(&i) => {
                let order = Transpose::first_to_end(aval.shape.rank());
                let sizes = order.iter().map(|axis| aval.shape[axis.0]).collect();
                let v_turned = body.input(Aval { shape: Shape::try_new(sizes)?, ..aval });
                given[i] = turned(b, given[i])?;
                other[v.index()] = Some(v_turned);
                turned_back(&mut body, v_turned)?
            }
            Def::Input(_) => body.input(aval),
            Def::Constant(_) => body.constant(aval),
            Def::Literal(literal) => body.literal(literal, aval.ambiguous),
            Def::Result(_, k) if k > 0 => continue,
            Def::Result(number, _) => {
                let node = &op.body.nodes()[number];
                let operands: Vec<Value> =
                    node.operands.iter().map(|v| new[v.index()].expect("operands are made before")).collect();
                let whole = node.operands.first().and_then(|v| other[v.index()]);
                let row =
                    node.op.get::<DynamicSlice>().filter(|op| is_turnable(&op.check) && op.sizes[0] == 1);
                if let Some((whole, row)) = whole.zip(row) {
                    // The row is as long either way, and in the same order: a reshape, which native code has.
                    let given = [&[whole][..], &operands[2..], &operands[1..2]].concat();
                    let check = row.check.turned(row.sizes.len());
                    let sizes = [&row.sizes[1..], &[1]].concat();
                    let made = body.node1(DynamicSlice { sizes, check }, &given)?;
                    reshape(&mut body, made, op.body.aval(v).shape.clone())?
                } else if let Some((whole, update)) = whole.zip(node.op.get::<DynamicUpdateSlice>()) {
                    let sizes = &op.body.aval(node.operands[1]).shape;
                    let sizes = Shape::try_new([&sizes[1..], &[1]].concat())?;
                    let mut given = vec![whole, reshape(&mut body, operands[1], sizes)?];
                    given.extend(&operands[3..]);
                    given.push(operands[2]);
                    let made = DynamicUpdateSlice { check: update.check.turned(aval.shape.rank()) };
                    let made = body.node1(made, &given)?;
                    other[v.index()] = Some(made);
                    turned_back(&mut body, made)?
                } else {
                    let made = body.node(node.op.clone(), &operands)?;
                    node.results.iter().zip(made).for_each(|(v, made)| new[v.index()] = Some(made));
                    continue;
                }
            }
        });
    }
    let output = |(i, v): (usize, &Value)| {
        let is_turned = i < op.carried && by_row.contains(&i);
        let made = if is_turned { other[v.index()] } else { new[v.index()] };
        made.expect("outputs are made")
    };
    let outputs = op.body.outputs().iter().enumerate().map(output).collect();
    let mut results = b.node(Scan { body: Arc::new(body.finish(outputs)), ..op.clone() }, &given)?;
    for &i in by_row.iter().filter(|&&i| i < op.carried) {
        results[i] = turned_back(b, results[i])?;
    }
    Ok(results)
}
