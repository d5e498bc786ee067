//! What a loop reads at the position of the iteration, `x[i, ]` with the number `i` of the iteration or one that is so far from
//! it, are slices, if all of them are there: a loop of R counts where a scan slices.

use crate::error::Result;
use crate::graph::{Def, Value, NODE};
use crate::growth::table;
use crate::ops::contract::Source;
use crate::ops::create::uniform;
use crate::ops::layout::Order;
use crate::ops::{Binary, Builder, Convert, DynamicSlice, Graph, Reshape, Scan, StaticSlice};
use crate::passes::slices::transposed;
use crate::shape::{Axis, Shape};
use crate::stop;
use crate::tensor::Aval;
use std::sync::Arc;

/// Bytes of what is read so, at most: it may be copied.
const BYTES: usize = 1 << 24;

/// Elements of an input of a loop, one in each iteration.
struct Read {
    /// The node that reads them.
    number: usize,
    /// The number of the input.
    input: usize,
    /// The axis along which iterations read, and the first position.
    axis: Axis,
    first: usize,
}

/// A loop with more slices.
pub(super) struct Sliced {
    /// It.
    pub op: Scan,
    reads: Vec<Read>,
    carried: usize,
    sliced: usize,
}

impl Sliced {
    /// A loop on these operands with slices for what it reads at the position of the iteration; `None` if there is nothing.
    ///
    /// # Errors
    /// Those of [`Builder::node`]; one would be a bug of the pass.
    pub fn of(graph: &Graph, op: &Scan, operands: &[Value]) -> Result<Option<Sliced>> {
        let reads = reads(graph, op, operands);
        if reads.is_empty() {
            return Ok(None);
        }
        let body = &op.body;
        let (own, mut b) = (op.carried + op.sliced, Builder::default());
        let mut new: Vec<Option<Value>> = table(None, body.values().count());
        let (first, rest) = body.inputs().split_at(own);
        for &v in first {
            new[v.index()] = Some(b.input(body.aval(v).clone()));
        }
        let mut slices = vec![];
        for read in &reads {
            let aval = body.aval(body.inputs()[read.input]);
            let mut sizes = aval.shape.to_vec();
            sizes.remove(read.axis.0);
            slices.push(b.input(Aval { shape: Shape::try_new(sizes)?, ..aval.clone() }));
        }
        for &v in rest {
            new[v.index()] = Some(b.input(body.aval(v).clone()));
        }
        for v in body.values() {
            if let Def::Literal(literal) = body.def(v) {
                new[v.index()] = Some(b.literal(literal, body.aval(v).ambiguous));
            }
        }
        for (number, node) in body.nodes().iter().enumerate() {
            let results = match reads.iter().position(|read| read.number == number) {
                Some(i) => {
                    let shape = body.aval(node.results[0]).shape.clone();
                    vec![b.node1(Reshape { shape, order: Order::Column }, &[slices[i]])?]
                }
                None => {
                    let of = |v: &Value| new[v.index()].expect("operands are made before");
                    let operands: Vec<Value> = node.operands.iter().map(of).collect();
                    b.node(node.op.clone(), &operands)?
                }
            };
            node.results.iter().zip(results).for_each(|(v, made)| new[v.index()] = Some(made));
        }
        let outputs = body.outputs().iter().map(|v| new[v.index()].expect("outputs are made")).collect();
        let (carried, sliced) = (op.carried, op.sliced);
        let op = Scan { body: Arc::new(b.finish(outputs)), sliced: sliced + reads.len(), ..op.clone() };
        Ok(Some(Sliced { op, reads, carried, sliced }))
    }

    /// The operands of the loop, of those that it had.
    ///
    /// # Errors
    /// As [`of`](Sliced::of).
    pub fn operands(&self, b: &mut Builder, old: &[Value]) -> Result<Vec<Value>> {
        let (own, rest) = old.split_at(self.carried + self.sliced);
        let mut operands = own.to_vec();
        for read in &self.reads {
            let v = old[read.input];
            let shape = b.graph().aval(v).shape.clone();
            let part = StaticSlice::along(&shape, read.axis, read.first..read.first + self.op.length);
            let part = b.node1(part, &[v])?;
            let others = (0..shape.rank()).filter(|&axis| axis != read.axis.0);
            let permutation: Vec<Axis> = [read.axis.0].into_iter().chain(others).map(Axis).collect();
            operands.push(transposed(b, part, permutation)?);
        }
        operands.extend(rest);
        Ok(operands)
    }
}

/// What a loop on these operands reads at the position of the iteration.
fn reads(graph: &Graph, op: &Scan, operands: &[Value]) -> Vec<Read> {
    let (body, own) = (&op.body, op.carried + op.sliced);
    // Of each slice that counts, the first number.
    let count = |v: Value| match graph.made_by(v)?.op.source()? {
        Source::Count { start, stride: 1, .. } if graph.aval(v).shape.rank() == 1 => Some(start),
        Source::Count { .. } | Source::Fill(_) => None,
    };
    let counts: Vec<Option<i64>> = operands[op.carried..own].iter().map(|&v| count(v)).collect();
    if counts.iter().all(Option::is_none) {
        return vec![];
    }
    // By how much each value is more than the number of the iteration, from 0 on.
    let mut more: Vec<Option<i64>> = table(None, body.values().count());
    for (&v, &count) in body.inputs()[op.carried..own].iter().zip(&counts) {
        more[v.index()] = count;
    }
    let mut reads = vec![];
    for (number, node) in body.nodes().iter().enumerate() {
        stop::work(NODE);
        let Some(&result) = node.results.first() else { continue };
        if let Some(window) = node.op.get::<DynamicSlice>() {
            reads.extend(read(body, (number, window), own, &more, op.length));
            continue;
        }
        let number = |v: Value| uniform(body, v).map(|literal| literal.get::<i64>());
        let aval = body.aval(result);
        if !aval.dtype.is_integer() || aval.shape.size() != 1 {
            continue;
        }
        let of = |i: usize| more[node.operands[i].index()];
        more[result.index()] = match (node.op.get::<Binary>(), &node.operands[..]) {
            (Some(Binary::add), &[x, y]) => match (of(0), of(1)) {
                (Some(more), None) => number(y).and_then(|by| more.checked_add(by)),
                (None, Some(more)) => number(x).and_then(|by| more.checked_add(by)),
                _ => None,
            },
            (Some(Binary::sub), &[_, y]) => of(0).zip(number(y)).and_then(|(more, by)| more.checked_sub(by)),
            (None, &[_]) if node.op.get::<Convert>().is_some() || node.op.rearranges() => of(0),
            _ => None,
        };
    }
    reads
}

/// What a node reads, if that is an element along one axis at the position of the iteration.
fn read(
    body: &Graph,
    (number, op): (usize, &DynamicSlice),
    own: usize,
    more: &[Option<i64>],
    length: usize,
) -> Option<Read> {
    let node = &body.nodes()[number];
    let v = node.operands[0];
    let Def::Input(input) = body.def(v) else { return None };
    let aval = body.aval(v);
    if input < own || aval.bytes() > BYTES {
        return None;
    }
    let mut found = None;
    for (axis, &start) in node.operands[1..].iter().enumerate() {
        let (size, all) = (op.sizes[axis], aval.shape[axis]);
        match more[start.index()] {
            Some(first) if size == 1 && found.is_none() => {
                let first = usize::try_from(first).ok()?;
                (first.checked_add(length)? <= all).then_some(())?;
                found = Some((Axis(axis), first));
            }
            _ if size == all && uniform(body, start)?.get::<i64>() == 0 => {}
            _ => return None,
        }
    }
    found.map(|(axis, first)| Read { number, input, axis, first })
}
