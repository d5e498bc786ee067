//! What leaves a loop. It starts with ops that take long, or that go over many elements ([`is_work`]). With those that are
//! computed of slices alone goes what they are made of, and with those that no later iteration reads goes what is made of them;
//! then come other ops, where fewer elements pass between the loop and what is around it with them.

use super::totals::{totals, Outer, Total};
use crate::graph::{Def, Node, Value, NODE};
use crate::growth::table;
use crate::ops::{Batch, DotGeneral, Gather, Graph, Op, Scan, Scatter};
use crate::passes::slices::SHORT;
use crate::passes::transposes::is_elementwise;
use crate::shape::Axis;
use crate::stop;

/// Picoseconds of a byte of an element of what takes long, at least: functions do, quotients do not.
const SLOW: usize = 50;

/// Elements of a value in an iteration, at most, that is computed by slow elementwise ops: more are as fast in the loop, which
/// has vectors of them.
const ELEMENTS: usize = SHORT;

/// Rows, columns and terms of a product, and products, from which on it is one of matrices that is as fast in the loop.
const MATRIX: usize = 3;
const MATRICES: usize = 1 << 11;

/// Elements that an iteration multiplies or folds, at most: where there are more, all iterations together leave the caches.
const FOLDED: usize = 1 << 14;

/// Products, or elements of a fold, at least.
const FEW: usize = 16;

/// Bytes of all values of all iterations that are between a loop and what is around it, or are made around it, at most.
const BYTES: usize = 1 << 24;

/// About how long a product takes in an iteration, a step, and the way of an element between the loop and what is around it,
/// in picoseconds: native code of loops reads and writes slices element by element (measured on an AMD EPYC, Zen 4).
const PRODUCT: usize = 100;
const STEP: usize = 30_000;
const PASS: usize = 1_000;

/// How often something less is tried, at most, where what leaves a loop is not worth it.
const TRIES: usize = 8;

/// Elements that a function takes as long for as for one.
const VECTOR: usize = 4;

/// Which nodes and values of a body are where.
pub(super) struct Split {
    /// For each node, whether it is computed outside of the loop.
    pub outside: Vec<bool>,
    /// For each node, whether its results are those of slices alone: outside it is computed before the loop, else after it.
    pub before: Vec<bool>,
    /// For each node, whether it is computed in the loop.
    pub inside: Vec<bool>,
    /// Values that are computed before the loop, and read in it.
    pub given: Vec<Value>,
    /// Values that are computed in the loop, and read after it, beside its results.
    pub stacked: Vec<Value>,
    /// For each state, whether it is a sum that is computed after the loop.
    pub totals: Vec<Option<Total>>,
}

/// What was found of a loop.
enum Found {
    /// This leaves it.
    Split(Split),
    /// Nothing could leave it.
    Nothing,
    /// The longest value that would be between the loop and what is around it is made by these nodes before it, or read by
    /// them after it, and that is not worth it.
    Long(Vec<usize>),
}

impl Split {
    /// What leaves a loop; `None` if nothing is worth it.
    pub fn of(op: &Scan) -> Option<Split> {
        let body = &op.body;
        stop::work(body.nodes().len() * NODE);
        let has_outer = || outers(body, &totals(body, op.carried)).contains(&true);
        if !body.nodes().iter().any(|node| is_work(body, node)) && !has_outer() {
            return None;
        }
        let mut stays = table(false, body.nodes().len());
        for _ in 0..TRIES {
            match Split::with(op, &stays) {
                Found::Split(split) => return Some(split),
                Found::Nothing => return None,
                // Less leaves the loop then, and a shorter value is between it and what is around it.
                Found::Long(nodes) => nodes.into_iter().for_each(|number| stays[number] = true),
            }
        }
        None
    }

    /// What leaves a loop in which some nodes stay.
    fn with(op: &Scan, stays: &[bool]) -> Found {
        let mut totals = totals(&op.body, op.carried);
        loop {
            let mut choice = Choice::of(op, &totals, stays);
            choice.choose();
            let remains = |total: &Total| total.terms.iter().any(|term| !choice.is_outside(term.v));
            let mut dropped = false;
            for total in totals.iter_mut() {
                if total.as_ref().is_some_and(remains) {
                    *total = None;
                    dropped = true;
                }
            }
            if !dropped {
                return choice.split(op, totals);
            }
        }
    }

    /// Whether a state is a sum that is computed after the loop.
    pub fn is_total(&self, i: usize) -> bool {
        self.totals[i].is_some()
    }

    /// Whether a stacked output of the body is computed outside of the loop.
    pub fn leaves(&self, body: &Graph, i: usize) -> bool {
        matches!(body.def(body.outputs()[i]), Def::Result(number, _) if self.outside[number])
    }
}

/// Whether a node may be computed for all iterations at once.
fn may_leave(op: &Op) -> bool {
    !op.has_regions() && !op.has_effect() && !op.may_raise() && !matches!(op.batch(), Batch::Todo(_))
}

/// About how long a node takes in an iteration, in picoseconds, and whether that is worth to leave a loop for.
fn work(body: &Graph, node: &Node<Op>) -> (usize, bool) {
    let size = |v: Value| body.aval(v).shape.size();
    let (Some(&result), Some(read)) = (node.results.first(), node.operands.iter().map(|&v| size(v)).max())
    else {
        return (0, false);
    };
    let made = size(result);
    let from: Vec<_> = node.operands.iter().map(|&v| body.aval(v).dtype).collect();
    if let Some(op) = node.op.get::<DotGeneral>() {
        let shape = &body.aval(node.operands[0]).shape;
        let along = |axes: &[Axis]| axes.iter().map(|axis| shape[axis.0]).product::<usize>();
        let (terms, batches) = (along(&op.contracting[0]), along(&op.batching[0]));
        let products = terms.saturating_mul(made);
        let rows = size(node.operands[0]) / (terms * batches).max(1);
        let columns = made / (rows * batches).max(1);
        let is_fast = rows.min(columns).min(terms) >= MATRIX && products >= MATRICES;
        return (STEP + products.saturating_mul(PRODUCT), products >= FEW && made <= FOLDED && !is_fast);
    }
    if is_elementwise(body, node) {
        let each = node.op.picoseconds(&from);
        let bytes = from.iter().map(|dtype| dtype.bytes()).max().unwrap_or(1);
        return (each.saturating_mul(made.max(VECTOR)), each >= SLOW * bytes && made > 0 && made <= ELEMENTS);
    }
    if node.op.fold().is_some() {
        return (STEP + read.saturating_mul(PRODUCT), (FEW..=FOLDED).contains(&read));
    }
    let finds = node.op.get::<Gather>().is_some() || node.op.get::<Scatter>().is_some();
    if node.op.rearranges() || node.op.moves_only() || finds || node.op.cumulation().is_none() {
        return (read.max(made).saturating_mul(PRODUCT / 4), false);
    }
    (STEP + read.saturating_mul(PRODUCT), (FEW..=FOLDED).contains(&read))
}

fn is_work(body: &Graph, node: &Node<Op>) -> bool {
    may_leave(&node.op) && work(body, node).1
}

/// Whether each node makes an outer product that iterations add up, which all together are a product of matrices.
fn outers(body: &Graph, totals: &[Option<Total>]) -> Vec<bool> {
    let mut outers = table(false, body.nodes().len());
    for term in totals.iter().flatten().flat_map(|total| &total.terms) {
        if let Def::Result(number, _) = body.def(term.v) {
            let node = &body.nodes()[number];
            outers[number] = body.aval(term.v).shape.size() >= FEW && Outer::of(body, node).is_some();
        }
    }
    outers
}

/// Where the values of a body come from, and who reads them.
struct Choice<'g> {
    body: &'g Graph,
    /// For each value, whether it is one of slices alone, or the same in all iterations.
    early: Vec<bool>,
    /// For each node, whether what it makes is read by nothing but results, and by such nodes.
    late: Vec<bool>,
    /// Nodes that read each value.
    readers: Vec<Vec<usize>>,
    /// Nodes that are left out, as they add up a sum.
    left_out: Vec<bool>,
    /// Nodes that are worth to leave a loop for.
    works: Vec<bool>,
    outside: Vec<bool>,
}

impl<'g> Choice<'g> {
    fn of(op: &'g Scan, totals: &[Option<Total>], stays: &[bool]) -> Choice<'g> {
        let body: &Graph = &op.body;
        let count = body.values().count();
        let mut left_out = table(false, body.nodes().len());
        totals.iter().flatten().flat_map(|total| &total.nodes).for_each(|&number| left_out[number] = true);
        let mut early = table(false, count);
        for v in body.values() {
            early[v.index()] = match body.def(v) {
                Def::Input(i) => i >= op.carried,
                Def::Literal(_) => true,
                Def::Constant(_) => false,
                Def::Result(number, _) => {
                    let node = &body.nodes()[number];
                    !stays[number] && may_leave(&node.op) && node.operands.iter().all(|v| early[v.index()])
                }
            };
        }
        let mut readers = table(vec![], count);
        for (number, node) in body.nodes().iter().enumerate() {
            node.operands.iter().for_each(|v| readers[v.index()].push(number));
        }
        let mut is_state = table(false, count);
        for (v, total) in body.outputs().iter().zip(totals) {
            is_state[v.index()] |= total.is_none();
        }
        let mut late = table(false, body.nodes().len());
        for (number, node) in body.nodes().iter().enumerate().rev() {
            let is_late = |v: &Value| {
                !is_state[v.index()]
                    && readers[v.index()].iter().all(|&reader| late[reader] || left_out[reader])
            };
            let may = !stays[number] && !left_out[number] && may_leave(&node.op);
            late[number] = may && node.results.iter().all(is_late);
        }
        let mut works = outers(body, totals);
        for (works, node) in works.iter_mut().zip(body.nodes()) {
            *works |= is_work(body, node);
        }
        let outside = table(false, body.nodes().len());
        Choice { body, early, late, readers, left_out, works, outside }
    }

    fn node_of(&self, v: Value) -> Option<usize> {
        match self.body.def(v) {
            Def::Result(number, _) => Some(number),
            Def::Input(_) | Def::Constant(_) | Def::Literal(_) => None,
        }
    }

    fn is_outside(&self, v: Value) -> bool {
        self.node_of(v).is_some_and(|number| self.outside[number])
    }

    fn is_early(&self, number: usize) -> bool {
        self.body.nodes()[number].results.iter().all(|v| self.early[v.index()])
    }

    fn size(&self, v: Value) -> usize {
        self.body.aval(v).bytes()
    }

    /// Has a node that is computed of slices alone leave, with what it is made of.
    fn leave_early(&mut self, number: usize) {
        let mut left = vec![number];
        while let Some(number) = left.pop() {
            if !std::mem::replace(&mut self.outside[number], true) {
                let operands = self.body.nodes()[number].operands.iter();
                left.extend(operands.filter_map(|&v| self.node_of(v)));
            }
        }
    }

    /// Has a node that no later iteration reads leave, with what is made of it.
    fn leave_late(&mut self, number: usize) {
        let mut left = vec![number];
        while let Some(number) = left.pop() {
            if self.outside[number] || self.left_out[number] {
                continue;
            }
            self.outside[number] = true;
            let results = &self.body.nodes()[number].results;
            left.extend(results.iter().flat_map(|v| &self.readers[v.index()]));
        }
    }

    fn choose(&mut self) {
        let body = self.body;
        for number in 0..body.nodes().len() {
            if self.left_out[number] || !self.works[number] {
                continue;
            }
            if self.is_early(number) {
                self.leave_early(number);
            } else if self.late[number] {
                self.leave_late(number);
            }
        }
        for number in 0..body.nodes().len() {
            if !self.outside[number]
                && self.is_early(number)
                && !self.left_out[number]
                && self.passes_no_more_in(number)
            {
                self.outside[number] = true;
            }
        }
        for number in (0..body.nodes().len()).rev() {
            if !self.outside[number]
                && self.late[number]
                && !self.is_early(number)
                && self.passes_no_more_out(number)
            {
                self.outside[number] = true;
            }
        }
        // What is read after the loop, and is one of slices alone, is computed before it.
        for number in 0..body.nodes().len() {
            if self.outside[number] && !self.is_early(number) {
                for &v in &body.nodes()[number].operands {
                    if let Some(made) = self.node_of(v).filter(|_| self.early[v.index()]) {
                        self.leave_early(made);
                    }
                }
            }
        }
    }

    /// Whether no more elements pass into the loop once this node is computed before it.
    fn passes_no_more_in(&self, number: usize) -> bool {
        let node = &self.body.nodes()[number];
        let alone = |v: &Value| {
            self.is_outside(*v)
                && self.readers[v.index()].iter().all(|&reader| reader == number || self.outside[reader])
        };
        let spared: usize = node.operands.iter().filter(|v| alone(v)).map(|&v| self.size(v)).sum();
        let made: usize = node.results.iter().map(|&v| self.size(v)).sum();
        let known = node.operands.iter().all(|&v| self.node_of(v).is_none() || self.is_outside(v));
        known && spared > 0 && made <= spared
    }

    /// Whether no more elements pass out of the loop once this node is computed after it, which all its readers are.
    fn passes_no_more_out(&self, number: usize) -> bool {
        let node = &self.body.nodes()[number];
        let is_read = |v: &Value| {
            let readers = &self.readers[v.index()];
            !readers.is_empty() && readers.iter().all(|&reader| self.outside[reader])
        };
        if !node.results.iter().all(is_read) {
            return false;
        }
        let passes = |v: &Value| !self.early[v.index()] && !self.is_outside(*v);
        // What passes anyway costs nothing.
        let anyway = |v: &Value| {
            self.readers[v.index()].iter().any(|&reader| self.outside[reader] && !self.is_early(reader))
        };
        let more: usize =
            node.operands.iter().filter(|v| passes(v) && !anyway(v)).map(|&v| self.size(v)).sum();
        more <= node.results.iter().map(|&v| self.size(v)).sum()
    }

    /// What is where.
    fn split(self, op: &Scan, totals: Vec<Option<Total>>) -> Found {
        if !self.outside.contains(&true) {
            return Found::Nothing;
        }
        let body = self.body;
        let nodes = body.nodes();
        // What is made of an op that takes long is no more computed in the loop; the rest may be, once more.
        let mut heavy = table(false, nodes.len());
        for (number, node) in nodes.iter().enumerate().filter(|&(number, _)| self.outside[number]) {
            let made = |v: &Value| self.node_of(*v).is_some_and(|number| heavy[number]);
            heavy[number] = self.works[number] || node.operands.iter().any(made);
        }
        let mut stacked: Vec<Value> = vec![];
        for (number, node) in nodes.iter().enumerate() {
            if self.outside[number] && !self.is_early(number) {
                let passes = |v: &&Value| !self.early[v.index()] && !self.is_outside(**v);
                stacked.extend(node.operands.iter().filter(passes));
            }
        }
        stacked.sort_unstable_by_key(|v| v.index());
        stacked.dedup();
        let mut wanted: Vec<Value> = stacked.clone();
        for (i, &v) in body.outputs().iter().enumerate() {
            let leaves = if i < op.carried { totals[i].is_some() } else { self.is_outside(v) };
            if !leaves {
                wanted.push(v);
            }
        }
        let mut inside = table(false, nodes.len());
        let mut given = vec![];
        while let Some(v) = wanted.pop() {
            let Some(number) = self.node_of(v) else { continue };
            if self.outside[number] && heavy[number] {
                given.push(v);
            } else if !std::mem::replace(&mut inside[number], true) {
                wanted.extend(&nodes[number].operands);
            }
        }
        given.sort_unstable_by_key(|v| v.index());
        given.dedup();
        let (mut spared, mut bytes) = (0_usize, 0_usize);
        for (number, node) in nodes.iter().enumerate() {
            let leaves = self.outside[number] && !inside[number] || self.left_out[number];
            if leaves {
                spared = spared.saturating_add(work(body, node).0);
            }
            if leaves && !is_elementwise(body, node) && !self.left_out[number] && !is_summed(&totals, node) {
                bytes += node.results.iter().map(|&v| self.size(v)).sum::<usize>();
            }
        }
        let passing: usize = stacked.iter().chain(&given).map(|&v| self.size(v)).sum();
        let elements: usize = stacked.iter().chain(&given).map(|&v| body.aval(v).shape.size()).sum();
        let all = passing.saturating_add(bytes).saturating_mul(op.length);
        let before = (0..nodes.len()).map(|number| self.is_early(number)).collect();
        if spared > elements.saturating_mul(PASS) && all <= BYTES {
            return Found::Split(Split { outside: self.outside, before, inside, given, stacked, totals });
        }
        let long = |v: &&Value| self.size(**v);
        let Some(&v) = stacked.iter().chain(&given).max_by_key(long) else { return Found::Nothing };
        let after = |number: &usize| self.outside[*number] && !self.is_early(*number);
        Found::Long(match given.contains(&v) {
            true => self.node_of(v).into_iter().collect(),
            false => self.readers[v.index()].iter().copied().filter(after).collect(),
        })
    }
}

/// Whether a node makes what is added up over iterations: of products no more than the sum is made.
fn is_summed(totals: &[Option<Total>], node: &Node<Op>) -> bool {
    let terms = || totals.iter().flatten().flat_map(|total| &total.terms);
    node.op.get::<DotGeneral>().is_some() && terms().any(|term| node.results.contains(&term.v))
}
