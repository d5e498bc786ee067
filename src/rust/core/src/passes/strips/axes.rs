//! The axis along which each value of a loop's body is a strip.

use crate::dtype::DType;
use crate::graph::{Def, Node, Value};
use crate::growth::table;
use crate::ops::{Graph, Op};
use crate::passes::transposes::is_elementwise;
use crate::shape::Axis;
use crate::tensor::Aval;
use std::collections::VecDeque;

/// For each value of a body, the axis along which it is a strip; `None` for one that is whole.
#[derive(Clone)]
pub(super) struct Axes<'g> {
    body: &'g Graph,
    carried: usize,
    readers: &'g [Vec<usize>],
    /// Elements along the axes.
    pub(super) size: usize,
    /// What is known of each value.
    known: Vec<Option<Option<Axis>>>,
    /// Nodes to be looked at.
    queue: VecDeque<usize>,
}

/// For each value, the nodes that read it.
pub(super) fn readers(body: &Graph) -> Vec<Vec<usize>> {
    let mut readers = table(vec![], body.values().count());
    for (number, node) in body.nodes().iter().enumerate() {
        node.operands.iter().for_each(|v| readers[v.index()].push(number));
    }
    readers
}

impl<'g> Axes<'g> {
    /// The axes of all values if that of one input is this; `None` if other elements along it meet somewhere.
    pub fn of(
        body: &'g Graph,
        carried: usize,
        readers: &'g [Vec<usize>],
        (seed, axis): (Value, Axis),
    ) -> Option<Axes<'g>> {
        let known = table(None, body.values().count());
        let size = body.aval(seed).shape[axis.0];
        let mut axes = Axes { body, carried, readers, size, known, queue: VecDeque::new() };
        axes.follow(seed, Some(axis))?;
        // What has nothing to do with it is a strip too if it can be one.
        for &v in body.inputs() {
            let free = |axes: &Axes| axes.known[v.index()].is_none();
            for i in (0..body.aval(v).shape.rank()).rev().filter(|&i| body.aval(v).shape[i] == size) {
                if free(&axes) {
                    let mut tried = axes.clone();
                    axes = tried.follow(v, Some(Axis(i))).map(|()| tried).unwrap_or(axes);
                }
            }
        }
        for v in body.values() {
            if axes.known[v.index()].is_none() {
                axes.follow(v, None)?;
            }
        }
        Some(axes)
    }

    /// The axis of a value.
    pub fn get(&self, v: Value) -> Option<Axis> {
        self.known[v.index()].flatten()
    }

    /// Notes what a value is, and what follows; `None` if that cannot be.
    fn follow(&mut self, v: Value, axis: Option<Axis>) -> Option<()> {
        self.note(v, axis)?;
        while let Some(number) = self.queue.pop_front() {
            self.look_at(&self.body.nodes()[number])?;
        }
        Some(())
    }

    fn note(&mut self, v: Value, axis: Option<Axis>) -> Option<()> {
        let aval = self.body.aval(v);
        if axis.is_some_and(|axis| aval.shape.get(axis.0) != Some(&self.size)) {
            return None;
        }
        match (self.body.def(v), self.known[v.index()]) {
            (_, Some(known)) => return (known == axis).then_some(()),
            (Def::Literal(_) | Def::Constant(_), None) if axis.is_some() => return None,
            (Def::Result(number, _), None) => self.queue.push_back(number),
            (Def::Input(_) | Def::Literal(_) | Def::Constant(_), None) => {}
        }
        self.known[v.index()] = Some(axis);
        self.queue.extend(&self.readers[v.index()]);
        // A state is followed by one that is the same strip.
        for i in 0..self.carried {
            let (before, after) = (self.body.inputs()[i], self.body.outputs()[i]);
            if before == v {
                self.note(after, axis)?;
            }
            if after == v {
                self.note(before, axis)?;
            }
        }
        Some(())
    }

    /// Notes what is known of the values of a node by what is known of others.
    fn look_at(&mut self, node: &'g Node<Op>) -> Option<()> {
        let [result] = node.results[..] else { return self.is_whole(node) };
        let axis = match self.known[result.index()] {
            Some(None) => return self.is_whole(node),
            Some(Some(axis)) => axis,
            None => {
                let strip = |&(_, v): &(usize, &Value)| self.get(*v).is_some();
                let Some((i, &v)) = node.operands.iter().enumerate().find(strip) else { return Some(()) };
                let of = self.get(v);
                let fits = |&axis: &Axis| self.operands(node, axis).is_some_and(|axes| axes[i] == of);
                let axis = (0..self.body.aval(result).shape.rank()).map(Axis).find(fits)?;
                self.note(result, Some(axis))?;
                axis
            }
        };
        let axes = self.operands(node, axis)?;
        node.operands.iter().zip(axes).try_for_each(|(&v, axis)| self.note(v, axis))
    }

    /// Notes that all values of a node are whole.
    fn is_whole(&mut self, node: &Node<Op>) -> Option<()> {
        node.operands.iter().chain(&node.results).try_for_each(|&v| self.note(v, None))
    }

    /// The axes of the operands of a node whose result is a strip along this one.
    fn operands(&self, node: &Node<Op>, axis: Axis) -> Option<Vec<Option<Axis>>> {
        if self.body.aval(node.results[0]).shape[axis.0] != self.size {
            return None;
        }
        strip(self.body, node, axis, self.size).map(|(_, axes)| axes)
    }

    /// The elements that an iteration computes for each strip anew, and an estimate of the picoseconds that one takes
    /// for all strips.
    pub fn costs(&self) -> (usize, usize) {
        let (mut whole, mut time) = (0, 0_usize);
        for node in self.body.nodes() {
            let size = |v: &Value| self.body.aval(*v).shape.size();
            let results: usize = node.results.iter().map(size).sum();
            if node.results.iter().any(|&v| self.get(v).is_none()) {
                whole += results;
                continue;
            }
            let from: Vec<DType> = node.operands.iter().map(|&v| self.body.aval(v).dtype).collect();
            let terms = node.op.contraction().map_or(1, |op| {
                let x: &Aval = self.body.aval(node.operands[0]);
                op.contracting[0].iter().map(|axis| x.shape[axis.0]).product()
            });
            let folded = node.op.fold().map_or(0, |_| size(&node.operands[0]));
            let elements = if node.op.moves_only() { 0 } else { (results * terms).max(folded) };
            time = time.saturating_add(elements * node.op.picoseconds(&from));
        }
        (whole, time)
    }
}

/// What makes a strip of the result of a node that has one, and the axes of its operands.
pub(super) fn strip(
    graph: &Graph,
    node: &Node<Op>,
    axis: Axis,
    size: usize,
) -> Option<(Op, Vec<Option<Axis>>)> {
    if is_elementwise(graph, node) {
        return Some((node.op.clone(), vec![Some(axis); node.operands.len()]));
    }
    let operands: Vec<&Aval> = node.operands.iter().map(|&v| graph.aval(v)).collect();
    node.op.strip(axis, size, &operands).map(|strip| (strip.op, strip.axes))
}
