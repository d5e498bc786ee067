//! Sums over iterations: a state to which each iteration adds something, and which it does not read otherwise.

use super::Parts;
use crate::error::Result;
use crate::graph::{Def, Node, Value};
use crate::kernels::reductions::fold::Fold;
use crate::ops::create::everywhere;
use crate::ops::{
    Binary, BroadcastInDim, Builder, DotGeneral, Graph, Op, Reduction, Reshape, Transpose, Unary,
};
use crate::passes::reads;
use crate::shape::{Axis, Shape};
use crate::tensor::Literal;
use rustc_hash::FxHashMap;

/// What an iteration adds to a state, or subtracts from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    pub v: Value,
    pub negative: bool,
}

/// A state that is a sum over iterations.
#[derive(Clone, Debug)]
pub(super) struct Total {
    /// What each iteration adds.
    pub terms: Vec<Term>,
    /// The nodes that add it.
    pub nodes: Vec<usize>,
}

/// Factors of a product, at most.
const FACTORS: usize = 8;

/// How deep the ops are nested that sums are taken through, at most.
const DEEP: usize = 32;

/// Sums over iterations that are made, by what is added up, and how deep the one is that is being made.
struct Sums {
    known: FxHashMap<Value, Value>,
    deep: usize,
}

/// A product of what varies along some axes, the first ones, and of what varies along the others: an outer product.
pub(super) struct Outer {
    /// The factors, each with the axes of the product that its own are.
    factors: Vec<(Value, Vec<Axis>)>,
    /// The number of the first axes.
    split: usize,
}

impl Outer {
    /// The outer product that a node makes, if it makes one.
    pub fn of(body: &Graph, node: &Node<Op>) -> Option<Outer> {
        let rank = body.aval(*node.results.first()?).shape.rank();
        let (mut factors, mut left) = (vec![], vec![node]);
        while let Some(node) = left.pop() {
            if let Some(op) = node.op.get::<BroadcastInDim>() {
                factors.push((node.operands[0], op.axes.clone()));
            } else if node.op.get() == Some(&Binary::mul) && factors.len() + left.len() < FACTORS {
                for &v in &node.operands {
                    left.push(body.made_by(v)?);
                }
            } else {
                return None;
            }
        }
        let parts = |split: usize| {
            let before = |axes: &[Axis]| axes.iter().filter(|axis| axis.0 < split).count();
            let whole = factors.iter().all(|(_, axes)| [0, axes.len()].contains(&before(axes)));
            let has =
                |first: bool| factors.iter().any(|(_, axes)| !axes.is_empty() && (before(axes) > 0) == first);
            whole && has(true) && has(false)
        };
        let split = (1..rank).find(|&split| parts(split))?;
        Some(Outer { factors, split })
    }
}

/// Of each state of a loop with this body, whether it is a sum over iterations.
pub(super) fn totals(body: &Graph, carried: usize) -> Vec<Option<Total>> {
    let reads = reads(body);
    (0..carried).map(|i| total(body, &reads, i)).collect()
}

fn total(body: &Graph, reads: &[usize], i: usize) -> Option<Total> {
    let (mut v, end) = (body.inputs()[i], body.outputs()[i]);
    if !body.aval(v).dtype.is_float() {
        return None;
    }
    let mut made = Total { terms: vec![], nodes: vec![] };
    while v != end {
        if reads[v.index()] != 1 {
            return None;
        }
        let (number, node) = body.nodes().iter().enumerate().find(|(_, node)| node.operands.contains(&v))?;
        let (other, negative) = match (node.op.get::<Binary>()?, &node.operands[..]) {
            (Binary::add, &[x, y]) => (if x == v { y } else { x }, false),
            (Binary::sub, &[x, y]) if x == v => (y, true),
            _ => return None,
        };
        made.terms.push(Term { v: other, negative });
        made.nodes.push(number);
        v = node.results[0];
    }
    (reads[v.index()] == 1 && !made.terms.is_empty()).then_some(made)
}

impl Parts<'_> {
    /// The state of this number after the loop, which is a sum and was this before.
    pub(super) fn total(&self, b: &mut Builder, i: usize, init: Value) -> Result<Value> {
        let total = self.split.totals[i].as_ref().expect("it is a sum");
        let (mut sum, mut sums) = (init, Sums { known: FxHashMap::default(), deep: 0 });
        for &Term { v, negative } in &total.terms {
            let over = self.over_iterations(b, v, &mut sums)?;
            let op = if negative { Binary::sub } else { Binary::add };
            sum = b.node1(op, &[sum, over])?;
        }
        Ok(sum)
    }

    /// The sum of a value over iterations: that of products is a product.
    fn over_iterations(&self, b: &mut Builder, v: Value, sums: &mut Sums) -> Result<Value> {
        if let Some(&known) = sums.known.get(&v) {
            return Ok(known);
        }
        sums.deep += 1;
        let made = self.made_over_iterations(b, v, sums)?;
        sums.deep -= 1;
        sums.known.insert(v, made);
        Ok(made)
    }

    fn made_over_iterations(&self, b: &mut Builder, v: Value, sums: &mut Sums) -> Result<Value> {
        let (value, batched) = self.out[v.index()].expect("it is computed outside");
        if !batched {
            let aval = b.graph().aval(value).clone();
            let count = b.literal(Literal::new(self.op.length as f64).convert(aval.dtype), aval.ambiguous);
            let count = everywhere(b, count, aval.shape)?;
            return b.node1(Binary::mul, &[value, count]);
        }
        let body = &self.op.body;
        if let (Def::Result(number, _), true) = (body.def(v), sums.deep < DEEP) {
            if let Some(sum) = self.of_node(b, &body.nodes()[number], sums)? {
                return Ok(sum);
            }
        }
        let axis = Axis(b.graph().aval(value).shape.rank() - 1);
        b.node1(Reduction { fold: Fold::Sum, axes: vec![axis], drop: true }, &[value])
    }

    /// The sum over iterations of an outer product: a product of matrices. `None` if not both parts differ between iterations.
    fn of_outer(&self, b: &mut Builder, outer: &Outer, shape: &Shape) -> Result<Option<Value>> {
        let mut sides = [None, None];
        let mut varies = [false; 2];
        for (v, axes) in &outer.factors {
            let Some((value, batched)) = self.out[v.index()] else { return Ok(None) };
            let second = axes.first().is_some_and(|axis| axis.0 >= outer.split);
            let (start, sizes) = match second {
                true => (outer.split, &shape[outer.split..]),
                false => (0, &shape[..outer.split]),
            };
            let mut axes: Vec<Axis> = axes.iter().map(|axis| Axis(axis.0 - start)).collect();
            if batched {
                axes.push(Axis(sizes.len()));
                varies[usize::from(second)] = true;
            }
            let shape = Shape::try_new([sizes, &[self.op.length]].concat())?;
            let value = b.node1(BroadcastInDim { shape, axes }, &[value])?;
            let side: &mut Option<Value> = &mut sides[usize::from(second)];
            *side = Some(match *side {
                Some(other) => b.node1(Binary::mul, &[other, value])?,
                None => value,
            });
        }
        let (true, [Some(x), Some(y)]) = (varies == [true; 2], sides) else { return Ok(None) };
        let contracting = [outer.split, shape.rank() - outer.split].map(|rank| vec![Axis(rank)]);
        let op = DotGeneral { contracting, batching: [vec![], vec![]], batch_last: false };
        b.node1(op, &[x, y]).map(Some)
    }

    /// The sum over iterations of what is linear in what it is made of.
    fn of_node(&self, b: &mut Builder, node: &Node<Op>, sums: &mut Sums) -> Result<Option<Value>> {
        if let Some(outer) = Outer::of(&self.op.body, node) {
            let shape = self.op.body.aval(node.results[0]).shape.clone();
            if let Some(sum) = self.of_outer(b, &outer, &shape)? {
                return Ok(Some(sum));
            }
        }
        let given: Option<Vec<(Value, bool)>> = node.operands.iter().map(|v| self.out[v.index()]).collect();
        let Some(given) = given else { return Ok(None) };
        let moves = node.op.get::<Transpose>().is_some()
            || node.op.get::<Reshape>().is_some()
            || node.op.get::<BroadcastInDim>().is_some()
            || node.op.get() == Some(&Unary::negate);
        if moves {
            let sum = self.over_iterations(b, node.operands[0], sums)?;
            return b.node1(node.op.clone(), &[sum]).map(Some);
        }
        let &[(x, x_varies), (y, y_varies)] = &given[..] else { return Ok(None) };
        let is_sum = matches!(node.op.get::<Binary>(), Some(Binary::add | Binary::sub));
        let product = node.op.get::<DotGeneral>();
        if let Some(op) = product.filter(|_| x_varies && y_varies) {
            let mut op = op.clone();
            for (axes, v) in op.contracting.iter_mut().zip([x, y]) {
                axes.push(Axis(b.graph().aval(v).shape.rank() - 1));
            }
            return b.node1(op, &[x, y]).map(Some);
        }
        if is_sum {
            let [x, y] = [0, 1].map(|i| self.over_iterations(b, node.operands[i], sums));
            return b.node1(node.op.clone(), &[x?, y?]).map(Some);
        }
        if product.is_none() && node.op.get() != Some(&Binary::mul) || x_varies == y_varies {
            return Ok(None);
        }
        let x = if x_varies { self.over_iterations(b, node.operands[0], sums)? } else { x };
        let y = if y_varies { self.over_iterations(b, node.operands[1], sums)? } else { y };
        b.node1(node.op.clone(), &[x, y]).map(Some)
    }
}
