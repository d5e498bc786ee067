//! Gradients that are sums of products over the iterations of a loop, such as that of the weights of a recurrent
//! network, or of the matrix of a linear system: `sum over t of x[t] y[t]'`.
//!
//! The product of each iteration is as large as what the loop only reads, and adding it to the sum so far reads and
//! writes that much again. Where its operands are smaller, they are stacked, and one product has the iterations as one
//! more axis that it sums over.

use super::sums::add;
use crate::error::Result;
use crate::graph::{Def, Value};
use crate::ops::{Binary, Builder, DotGeneral, Graph, Op, Reshape, Transpose};
use crate::shape::Axis;

/// Elements of a product for each of its operands, at least: what is stacked is written and read once, a product
/// in each iteration and its sum three times.
const WORTH: usize = 2;

/// A product whose sum over the iterations is taken after the loop.
pub(super) struct LoopProduct {
    op: DotGeneral,
    operands: [Stacked; 2],
    /// What is done with the product: elements are moved. The last op first.
    then: Vec<Op>,
}

/// A value of the body, stacked along a new first axis.
struct Stacked {
    from: Stack,
    /// What is done with the stack, the last op first.
    then: Vec<Op>,
}

/// What a loop stacks, or is given stacked.
#[derive(Clone, Copy)]
pub(super) enum Stack {
    /// A value that the loop kept, by its number.
    Kept(usize),
    /// A sliced operand, by its number.
    Slice(usize),
    /// A result of the loop that runs backwards, by its number among those for products.
    Made(usize),
}

/// A term of a gradient that is a product, and its operands in the body.
pub(super) struct Term {
    product: DotGeneral,
    pub(super) operands: [Value; 2],
    then: Vec<Op>,
}

/// The products among the terms of a gradient that are to be summed after the loop, and the terms that are left.
/// `varies` says which values of the body differ between iterations.
pub(super) fn terms(graph: &Graph, gradient: Value, varies: &[bool]) -> (Vec<Term>, Vec<Value>) {
    let (mut products, mut left, mut stack) = (vec![], vec![], vec![gradient]);
    while let Some(value) = stack.pop() {
        let sum = match graph.def(value) {
            Def::Result(node, _) => {
                Some(&graph.nodes()[node]).filter(|node| node.op.get() == Some(&Binary::add))
            }
            Def::Input(_) | Def::Literal(_) | Def::Constant(_) => None,
        };
        match (Term::of(graph, value, varies), sum) {
            (Some(product), _) => products.push(product),
            (None, Some(sum)) => stack.extend(sum.operands.iter().rev()),
            (None, None) => left.push(value),
        }
    }
    if products.is_empty() {
        // Added in the order of the program.
        left = vec![gradient];
    }
    (products, left)
}

impl Term {
    fn of(graph: &Graph, mut value: Value, varies: &[bool]) -> Option<Term> {
        let size = |v: Value| graph.aval(v).shape.size();
        let (all, mut then) = (size(value), vec![]);
        loop {
            let Def::Result(number, _) = graph.def(value) else { return None };
            let node = &graph.nodes()[number];
            if let Some(product) = node.op.get::<DotGeneral>() {
                let operands = [node.operands[0], node.operands[1]];
                let is_worth = WORTH * operands.iter().map(|&v| size(v)).sum::<usize>() <= all;
                let vary = operands.iter().all(|v| varies[v.index()]);
                return (is_worth && vary).then(|| Term { product: product.clone(), operands, then });
            }
            if !is_move(&node.op) {
                return None;
            }
            then.push(node.op.clone());
            value = node.operands[0];
        }
    }

    /// The sum over the iterations, from what is there stacked; other values are added to those that are made.
    ///
    /// # Errors
    /// Those of [`Shape::with_first`](crate::shape::Shape::with_first).
    pub(super) fn over(
        self,
        graph: &Graph,
        length: usize,
        is_there: impl Fn(Value) -> Option<Stack>,
        made: &mut Vec<Value>,
    ) -> Result<LoopProduct> {
        let mut stacked = |mut value: Value| {
            let mut then = vec![];
            loop {
                let moved = match graph.def(value) {
                    Def::Result(node, _) => Some(&graph.nodes()[node]).filter(|node| is_move(&node.op)),
                    Def::Input(_) | Def::Literal(_) | Def::Constant(_) => None,
                };
                match (is_there(value), moved) {
                    (Some(from), _) => return Ok(Stacked { from, then }),
                    (None, Some(node)) => {
                        then.push(on_stack(&node.op, length)?);
                        value = node.operands[0];
                    }
                    (None, None) => {
                        let number = made.iter().position(|&v| v == value).unwrap_or_else(|| {
                            made.push(value);
                            made.len() - 1
                        });
                        return Ok(Stacked { from: Stack::Made(number), then });
                    }
                }
            }
        };
        let [lhs, rhs] = self.operands;
        let operands = [stacked(lhs)?, stacked(rhs)?];
        let later = |axes: Vec<Axis>| axes.into_iter().map(|axis| Axis(axis.0 + 1)).collect::<Vec<_>>();
        let DotGeneral { contracting, batching, batch_last } = self.product;
        let contracting = contracting.map(|axes| [vec![Axis(0)], later(axes)].concat());
        let op = DotGeneral { contracting, batching: batching.map(later), batch_last };
        Ok(LoopProduct { op, operands, then: self.then })
    }
}

impl LoopProduct {
    /// Adds the sum to a gradient; `stack` gives what is stacked.
    pub(super) fn add_to(
        &self,
        b: &mut Builder,
        gradient: &mut Option<Value>,
        stack: impl Fn(Stack) -> Value,
    ) -> Result<()> {
        let mut operands = vec![];
        for Stacked { from, then } in &self.operands {
            operands.push(moved(b, stack(*from), then)?);
        }
        let product = b.node1(self.op.clone(), &operands)?;
        let product = moved(b, product, &self.then)?;
        add(b, gradient, product)
    }
}

/// Whether an op moves the elements of one value to another shape.
fn is_move(op: &Op) -> bool {
    op.get::<Reshape>().is_some() || op.get::<Transpose>().is_some()
}

/// The same for each of so many values, stacked along the first axis. [`is_move`] holds.
fn on_stack(op: &Op, length: usize) -> Result<Op> {
    if let Some(Transpose { permutation }) = op.get::<Transpose>() {
        let later = permutation.iter().map(|axis| Axis(axis.0 + 1));
        return Ok(Transpose { permutation: [Axis(0)].into_iter().chain(later).collect() }.into());
    }
    match op.get::<Reshape>() {
        Some(Reshape { shape, order }) => {
            Ok(Reshape { shape: shape.with_first(length)?, order: *order }.into())
        }
        None => Ok(op.clone()),
    }
}

/// The value after these ops, of which the last comes first.
fn moved(b: &mut Builder, value: Value, then: &[Op]) -> Result<Value> {
    then.iter().rev().try_fold(value, |value, op| b.node1(op.clone(), &[value]))
}
