//! The axis along which each value of a loop's body is a strip, those of loops in it too.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{Def, Node, Value};
use crate::ops::{Builder, Control, Graph, Op, Scan};
use crate::passes::transposes::is_elementwise;
use crate::shape::Axis;
use crate::tensor::Aval;
use std::collections::VecDeque;
use std::sync::Arc;

/// A value by its graph, by number, and its number there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place(pub usize, pub Value);

/// The body of a loop, and those of the loops in it.
pub(super) struct Bodies<'g> {
    all: Vec<Body<'g>>,
}

struct Body<'g> {
    graph: &'g Graph,
    /// How often it runs for each iteration of the outermost loop.
    runs: usize,
    /// For each value, the nodes that read it.
    readers: Vec<Vec<usize>>,
    /// For each value, those that are strips where it is one, and the axes that they have before its own.
    links: Vec<Vec<(Place, isize)>>,
    /// For each node that is a loop, the number of its body.
    inner: Vec<Option<usize>>,
}

impl<'g> Bodies<'g> {
    /// Those of a loop with this body, which carries so many values.
    pub fn of(body: &'g Graph, carried: usize) -> Bodies<'g> {
        let mut bodies = Bodies { all: vec![] };
        bodies.add(body, 1);
        for (&before, &after) in body.inputs()[..carried].iter().zip(body.outputs()) {
            bodies.link(Place(0, before), Place(0, after), 0);
        }
        bodies
    }

    fn add(&mut self, graph: &'g Graph, runs: usize) -> usize {
        let (values, number) = (graph.values().count(), self.all.len());
        let mut readers = vec![vec![]; values];
        for (node, Node { operands, .. }) in graph.nodes().iter().enumerate() {
            operands.iter().for_each(|v| readers[v.index()].push(node));
        }
        let inner = vec![None; graph.nodes().len()];
        self.all.push(Body { graph, runs, readers, links: vec![vec![]; values], inner });
        for (node, Node { op, operands, results, .. }) in graph.nodes().iter().enumerate() {
            let Some(Control::Scan(op)) = op.control() else { continue };
            let inside = self.add(&op.body, runs.saturating_mul(op.length));
            self.all[number].inner[node] = Some(inside);
            let (inputs, outputs) = (op.body.inputs(), op.body.outputs());
            for (i, (&outer, &inner)) in operands.iter().zip(inputs).enumerate() {
                let along = (op.carried..op.carried + op.sliced).contains(&i);
                self.link(Place(inside, inner), Place(number, outer), before(op, along));
            }
            for (i, (&outer, &inner)) in results.iter().zip(outputs).enumerate() {
                self.link(Place(inside, inner), Place(number, outer), before(op, i >= op.carried));
            }
            for (&first, &last) in inputs[..op.carried].iter().zip(outputs) {
                self.link(Place(inside, first), Place(inside, last), 0);
            }
        }
        number
    }

    /// Notes that two values are strips together, the second along an axis that comes so much later.
    fn link(&mut self, one: Place, other: Place, later: isize) {
        self.all[one.0].links[one.1.index()].push((other, later));
        self.all[other.0].links[other.1.index()].push((one, -later));
    }

    fn aval(&self, Place(body, v): Place) -> &'g Aval {
        self.all[body].graph.aval(v)
    }

    fn places(&self) -> impl Iterator<Item = Place> + '_ {
        let each = self.all.iter().enumerate();
        each.flat_map(|(number, body)| body.graph.values().map(move |v| Place(number, v)))
    }

    /// The number of the body of a node of a body, if it is a loop.
    pub fn inside(&self, body: usize, node: usize) -> Option<usize> {
        self.all[body].inner[node]
    }
}

/// The axes that a value outside of a loop has before those of its slices.
pub(super) fn before(op: &Scan, is_sliced: bool) -> isize {
    isize::from(is_sliced && !op.last)
}

/// For each value of bodies, the axis along which it is a strip; `None` for one that is whole.
#[derive(Clone)]
pub(super) struct Axes<'g> {
    bodies: &'g Bodies<'g>,
    /// Elements along the axes.
    pub(super) size: usize,
    /// What is known of each value.
    known: Vec<Vec<Option<Option<Axis>>>>,
    /// Nodes to be looked at, each by the number of its body and its own.
    queue: VecDeque<(usize, usize)>,
}

impl<'g> Axes<'g> {
    /// The axes of all values if that of one input of the first body is this; `None` if other elements along it meet
    /// somewhere.
    pub fn of(bodies: &'g Bodies<'g>, (seed, axis): (Value, Axis)) -> Option<Axes<'g>> {
        let known = bodies.all.iter().map(|body| vec![None; body.links.len()]).collect();
        let body = bodies.all[0].graph;
        let size = body.aval(seed).shape[axis.0];
        let mut axes = Axes { bodies, size, known, queue: VecDeque::new() };
        axes.follow(Place(0, seed), Some(axis))?;
        // What has nothing to do with it is a strip too if it can be one.
        for &v in body.inputs() {
            for i in (0..body.aval(v).shape.rank()).rev().filter(|&i| body.aval(v).shape[i] == size) {
                if axes.known(Place(0, v)).is_none() {
                    let mut tried = axes.clone();
                    axes = tried.follow(Place(0, v), Some(Axis(i))).map(|()| tried).unwrap_or(axes);
                }
            }
        }
        for place in bodies.places() {
            if axes.known(place).is_none() {
                axes.follow(place, None)?;
            }
        }
        Some(axes)
    }

    fn known(&self, Place(body, v): Place) -> Option<Option<Axis>> {
        self.known[body][v.index()]
    }

    /// The axis of a value.
    pub fn get(&self, place: Place) -> Option<Axis> {
        self.known(place).flatten()
    }

    /// Notes what a value is, and what follows; `None` if that cannot be.
    fn follow(&mut self, place: Place, axis: Option<Axis>) -> Option<()> {
        self.note(place, axis)?;
        while let Some((body, node)) = self.queue.pop_front() {
            self.look_at(body, node)?;
        }
        Some(())
    }

    fn note(&mut self, place: Place, axis: Option<Axis>) -> Option<()> {
        let mut left = vec![(place, axis)];
        while let Some((place, axis)) = left.pop() {
            if axis.is_some_and(|axis| self.bodies.aval(place).shape.get(axis.0) != Some(&self.size)) {
                return None;
            }
            let (Place(number, v), body) = (place, &self.bodies.all[place.0]);
            match (body.graph.def(v), self.known(place)) {
                (_, Some(known)) if known == axis => continue,
                (_, Some(_)) => return None,
                (Def::Literal(_) | Def::Constant(_), None) if axis.is_some() => return None,
                (Def::Result(node, _), None) => self.queue.push_back((number, node)),
                (Def::Input(_) | Def::Literal(_) | Def::Constant(_), None) => {}
            }
            self.known[number][v.index()] = Some(axis);
            self.queue.extend(body.readers[v.index()].iter().map(|&node| (number, node)));
            for &(other, later) in &body.links[v.index()] {
                let there = match axis {
                    // It is no axis of slices.
                    Some(axis) => Some(Axis(axis.0.checked_add_signed(later)?)),
                    None => None,
                };
                left.push((other, there));
            }
        }
        Some(())
    }

    /// Notes what is known of the values of a node by what is known of others.
    fn look_at(&mut self, body: usize, number: usize) -> Option<()> {
        if self.bodies.inside(body, number).is_some() {
            // Its values are linked to those of its body.
            return Some(());
        }
        let graph = self.bodies.all[body].graph;
        let node = &graph.nodes()[number];
        let [result] = node.results[..] else { return self.is_whole(body, node) };
        let axis = match self.known(Place(body, result)) {
            Some(None) => return self.is_whole(body, node),
            Some(Some(axis)) => axis,
            None => {
                let strip = |&(_, v): &(usize, &Value)| self.get(Place(body, *v)).is_some();
                let Some((i, &v)) = node.operands.iter().enumerate().find(strip) else { return Some(()) };
                let of = self.get(Place(body, v));
                let fits = |&axis: &Axis| self.operands(graph, node, axis).is_some_and(|axes| axes[i] == of);
                let axis = (0..graph.aval(result).shape.rank()).map(Axis).find(fits)?;
                self.note(Place(body, result), Some(axis))?;
                axis
            }
        };
        let axes = self.operands(graph, node, axis)?;
        node.operands.iter().zip(axes).try_for_each(|(&v, axis)| self.note(Place(body, v), axis))
    }

    /// Notes that all values of a node are whole.
    fn is_whole(&mut self, body: usize, node: &Node<Op>) -> Option<()> {
        node.operands.iter().chain(&node.results).try_for_each(|&v| self.note(Place(body, v), None))
    }

    /// The axes of the operands of a node whose result is a strip along this one.
    fn operands(&self, graph: &Graph, node: &Node<Op>, axis: Axis) -> Option<Vec<Option<Axis>>> {
        if graph.aval(node.results[0]).shape[axis.0] != self.size {
            return None;
        }
        strip(graph, node, axis, self.size).map(|(_, axes)| axes)
    }

    /// Whether an error would name the number of what is in a strip, as if it were that of all.
    pub fn number_strips(&self) -> bool {
        self.bodies.all.iter().enumerate().any(|(number, body)| {
            let is_strip = |v: &Value| self.get(Place(number, *v)).is_some();
            let mut nodes = body.graph.nodes().iter();
            nodes.any(|node| node.op.raises() && node.operands.iter().skip(1).any(is_strip))
        })
    }

    /// A body, by its number, on strips of this size.
    ///
    /// # Errors
    /// Those of [`Builder::node`]; one would be a bug of the pass.
    pub fn body(&self, number: usize, size: usize) -> Result<Graph> {
        let body = self.bodies.all[number].graph;
        let mut b = Builder::default();
        let mut new: Vec<Value> = vec![];
        let mut made = vec![];
        for v in body.values() {
            let (aval, axis) = (body.aval(v), self.get(Place(number, v)));
            new.push(match body.def(v) {
                Def::Input(_) => {
                    let shape = axis.map_or_else(|| aval.shape.clone(), |axis| aval.shape.strip(axis, size));
                    b.input(Aval { shape, ..aval.clone() })
                }
                Def::Literal(literal) => b.literal(literal, aval.ambiguous),
                Def::Constant(_) => {
                    return Err(Error::Internal { detail: "constants belong to the outermost graph".into() });
                }
                Def::Result(i, k) => {
                    if k == 0 {
                        let node = &body.nodes()[i];
                        let operands: Vec<Value> = node.operands.iter().map(|v| new[v.index()]).collect();
                        let op = match (self.bodies.inside(number, i), node.op.control(), axis) {
                            (Some(inside), Some(Control::Scan(op)), _) => {
                                let inner = self.body(inside, size)?;
                                Some(Scan { body: Arc::new(inner), ..op.clone() }.into())
                            }
                            (_, _, Some(axis)) => strip(body, node, axis, size).map(|(op, _)| op),
                            (_, _, None) => Some(node.op.clone()),
                        };
                        made = b.node(op.expect("its axes were found by its strips"), &operands)?;
                    }
                    made[k]
                }
            });
        }
        let outputs = body.outputs().iter().map(|v| new[v.index()]).collect();
        Ok(b.finish(outputs))
    }

    /// The elements that an iteration computes for each strip anew, and an estimate of the picoseconds that one takes
    /// for all strips.
    pub fn costs(&self) -> (usize, usize) {
        let (mut whole, mut time) = (0_usize, 0_usize);
        for (number, body) in self.bodies.all.iter().enumerate() {
            let size = |v: &Value| body.graph.aval(*v).shape.size();
            for (i, node) in body.graph.nodes().iter().enumerate() {
                if body.inner[i].is_some() {
                    continue;
                }
                let results: usize = node.results.iter().map(size).sum();
                if node.results.iter().any(|&v| self.get(Place(number, v)).is_none()) {
                    whole = whole.saturating_add(results.saturating_mul(body.runs));
                    continue;
                }
                let from: Vec<DType> = node.operands.iter().map(|&v| body.graph.aval(v).dtype).collect();
                let terms = node.op.contraction().map_or(1, |op| {
                    let x = body.graph.aval(node.operands[0]);
                    op.contracting[0].iter().map(|axis| x.shape[axis.0]).product()
                });
                let folded = node.op.fold().map_or(0, |_| size(&node.operands[0]));
                let elements = if node.op.moves_only() { 0 } else { (results * terms).max(folded) };
                let all = elements.saturating_mul(node.op.picoseconds(&from)).saturating_mul(body.runs);
                time = time.saturating_add(all);
            }
        }
        (whole, time)
    }
}

/// What makes a strip of the result of a node that has one, and the axes of its operands.
pub(in crate::passes) fn strip(
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
