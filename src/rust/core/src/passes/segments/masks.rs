//! Which values are masks of segments, and which folds are isomorphic.

use super::stage::{Part, Parts, Stage};
use crate::dtype::{Bool, DType};
use crate::graph::{Node, Value, NODE};
use crate::kernels::reductions::fold::Fold;
use crate::ops::create::{on_literals, uniform};
use crate::ops::{Binary, BroadcastInDim, Compare, Graph, Op, Ternary};
use crate::passes::transposes::is_elementwise;
use crate::shape::Axis;
use crate::stop;
use crate::tensor::Literal;
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// Elements along the axis of the segments, at least: loops over fewer are native code.
const LONG: usize = 256;

/// Ops that folds are made of, at most, and how deep they are nested.
const OPS: usize = 128;
const DEEP: usize = 32;

/// A mask: the elements of `of` that are this number.
#[derive(Clone, Copy)]
struct Mask {
    of: Value,
    number: i64,
}

/// What an elementwise value depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    /// No mask.
    Nothing,
    /// A mask, which is the value of this number, along this axis.
    One(Value, Axis),
    /// Several.
    Many,
}

impl On {
    fn and(self, other: On) -> On {
        match (self, other) {
            (On::Nothing, on) | (on, On::Nothing) => on,
            (one, other) if one == other => one,
            _ => On::Many,
        }
    }
}

/// The masks of a graph, by their values.
fn masks(graph: &Graph) -> FxHashMap<Value, Mask> {
    let mask = |node: &Node<Op>| {
        node.op.get::<Compare>().filter(|&&op| op == Compare::eq)?;
        let [a, b] = node.operands[..] else { return None };
        let (of, literal) = match (uniform(graph, a), uniform(graph, b)) {
            (None, Some(literal)) => (a, literal),
            (Some(literal), None) => (b, literal),
            _ => return None,
        };
        let aval = graph.aval(of);
        let fits = aval.shape.rank() == 1 && aval.shape[0] >= LONG;
        if !fits || !(aval.dtype.is_integer() || matches!(aval.dtype, DType::F32 | DType::F64)) {
            return None;
        }
        let number = literal.get::<f64>();
        let is_whole = number == number.trunc() && number.abs() < f64::from(1 << 24);
        is_whole.then_some((node.results[0], Mask { of, number: number as i64 }))
    };
    graph.nodes().iter().filter_map(mask).collect()
}

/// A graph, and what is known of its values.
pub(super) struct Segments<'g> {
    graph: &'g Graph,
    masks: FxHashMap<Value, Mask>,
    on: Vec<On>,
    /// What isomorphic values have in common.
    forms: Vec<u64>,
}

impl<'g> Segments<'g> {
    pub(super) fn of(graph: &'g Graph) -> Segments<'g> {
        let masks = masks(graph);
        let (mut on, mut forms) = (Vec::new(), Vec::<u64>::new());
        for value in graph.values() {
            stop::work(NODE);
            let aval = graph.aval(value);
            let mut hash = FxHasher::default();
            (&aval.shape, aval.dtype).hash(&mut hash);
            let mut depends = On::Nothing;
            match graph.made_by(value) {
                _ if masks.contains_key(&value) => {
                    masks[&value].of.hash(&mut hash);
                    depends = On::One(value, Axis(0));
                }
                Some(node) if node.op.get::<BroadcastInDim>().is_some() => {
                    let (op, from) = (node.op.get::<BroadcastInDim>(), node.operands[0]);
                    let shape = &graph.aval(from).shape;
                    op.hash(&mut hash);
                    match (on[from.index()], op.and_then(|op| op.axes.first())) {
                        (On::One(mask, Axis(0)), Some(&axis)) if shape.rank() == 1 => {
                            forms[from.index()].hash(&mut hash);
                            depends = On::One(mask, axis);
                        }
                        (On::Nothing, _) => shape.hash(&mut hash),
                        _ => depends = On::Many,
                    }
                }
                Some(node) if is_elementwise(graph, node) => {
                    node.op.hash(&mut hash);
                    for v in &node.operands {
                        forms[v.index()].hash(&mut hash);
                        depends = depends.and(on[v.index()]);
                    }
                }
                _ => value.hash(&mut hash),
            }
            on.push(depends);
            forms.push(hash.finish());
        }
        Segments { graph, masks, on, forms }
    }

    /// Folds of segments that may be isomorphic.
    pub(super) fn stages(&self) -> Vec<Stage> {
        let mut found: Vec<Stage> = vec![];
        let mut at: FxHashMap<(Value, Axis, Fold, u64, usize), usize> = FxHashMap::default();
        let mut counts: FxHashMap<(Value, Fold, u64), usize> = FxHashMap::default();
        for (number, node) in self.graph.nodes().iter().enumerate() {
            stop::work(NODE);
            let Some((fold, &[axis])) = node.op.fold() else { continue };
            let v = node.operands[0];
            let On::One(mask, along) = self.on[v.index()] else { continue };
            let joins = matches!(fold, Fold::Sum | Fold::Max | Fold::Min);
            if along != axis || !joins || !is_number(self.graph.aval(v).dtype) {
                continue;
            }
            let (Mask { of, number: segment }, form) = (self.masks[&mask], self.forms[v.index()]);
            let count = counts.entry((mask, fold, form)).or_default();
            let stage = *at.entry((of, axis, fold, form, *count)).or_insert_with(|| {
                found.push(Stage { of, axis, fold, members: BTreeMap::new(), parts: Parts::default() });
                found.len() - 1
            });
            *count += 1;
            found[stage].members.insert(segment, (number, mask));
        }
        found.retain_mut(|stage| stage.is_dense() && self.follow_all(stage));
        found
    }

    /// Whether the folds of a stage are isomorphic, each of its own segment alone.
    fn follow_all(&self, stage: &mut Stage) -> bool {
        let folded = |number: usize| self.graph.nodes()[number].operands[0];
        let left_out = stage.members.values().all(|&(number, mask)| {
            let v = folded(number);
            let identity = stage.identity(self.graph.aval(v).dtype);
            // Of a sum -0 is one, too.
            let is_identity = |literal: Literal| match stage.fold {
                Fold::Sum => is_equal(literal, identity),
                _ => literal == identity,
            };
            self.off(v, mask, 0).is_some_and(is_identity)
        });
        let masks: Vec<Value> = stage.members.values().map(|&(_, mask)| mask).collect();
        let values: Vec<Value> = stage.members.values().map(|&(number, _)| folded(number)).collect();
        left_out && self.follow(&mut stage.parts, values, &masks, stage.axis, 0).is_some()
    }

    /// The number that a value is where the mask is false.
    fn off(&self, v: Value, mask: Value, depth: usize) -> Option<Literal> {
        if v == mask {
            return Some(Literal::new(Bool::FALSE));
        }
        if let Some(literal) = uniform(self.graph, v) {
            return Some(literal);
        }
        if depth == DEEP || self.on[v.index()] == On::Nothing {
            return None;
        }
        let node = self.graph.made_by(v)?;
        let operand = |i: usize| self.off(node.operands[i], mask, depth + 1);
        let is_false = |literal: &Literal| *literal == Literal::new(Bool::FALSE);
        if node.op.get::<BroadcastInDim>().is_some() {
            return operand(0);
        }
        if node.op.get() == Some(&Ternary::Select) {
            return operand(if is_false(&operand(0)?) { 2 } else { 1 });
        }
        if node.op.get() == Some(&Binary::and) && self.graph.aval(v).dtype == DType::I1 {
            if let Some(literal) = operand(0).filter(is_false).or_else(|| operand(1).filter(is_false)) {
                return Some(literal);
            }
        }
        let literals: Vec<Literal> = (0..node.operands.len()).map(operand).collect::<Option<_>>()?;
        Some(on_literals(&node.op, &literals, self.graph.aval(v).dtype))
    }

    /// The part that these values are, one for each mask.
    fn follow(
        &self,
        parts: &mut Parts,
        values: Vec<Value>,
        masks: &[Value],
        axis: Axis,
        depth: usize,
    ) -> Option<usize> {
        if let Some(&known) = parts.numbers.get(&values) {
            return known;
        }
        stop::work(values.len() * NODE);
        let part = self.part(parts, &values, masks, axis, depth);
        let number = part.map(|part| {
            parts.list.push(part);
            parts.list.len() - 1
        });
        parts.numbers.insert(values, number);
        number
    }

    fn part(
        &self,
        parts: &mut Parts,
        values: &[Value],
        masks: &[Value],
        axis: Axis,
        depth: usize,
    ) -> Option<Part> {
        let (graph, first) = (self.graph, values[0]);
        let shape = &graph.aval(first).shape;
        let is_spread = |v: Value| match graph.made_by(v) {
            Some(node) if node.op.get::<BroadcastInDim>().is_some() => node.operands[0],
            _ => v,
        };
        if values.iter().zip(masks).all(|(&v, &mask)| v == mask || is_spread(v) == mask) {
            return Some(Part::True(shape.clone()));
        }
        if values.iter().all(|&v| v == first) {
            return Some(Part::Same(first));
        }
        if depth == DEEP || parts.numbers.len() >= OPS {
            return None;
        }
        let nodes: Vec<&Node<Op>> = values.iter().map(|&v| graph.made_by(v)).collect::<Option<_>>()?;
        let types = |node: &Node<Op>| -> Vec<_> {
            node.operands.iter().map(|&v| (graph.aval(v).dtype, graph.aval(v).shape.clone())).collect()
        };
        let op = &nodes[0].op;
        if !nodes.iter().all(|node| node.op == *op && types(node) == types(nodes[0])) {
            return None;
        }
        if let Some(op) = op.get::<BroadcastInDim>() {
            let each = nodes.iter().map(|node| node.operands[0]).collect();
            return (!op.axes.contains(&axis)).then(|| Part::Each(each, op.clone()));
        }
        if !is_elementwise(graph, nodes[0]) {
            return None;
        }
        let mut operand = |i: usize| {
            self.follow(parts, nodes.iter().map(|node| node.operands[i]).collect(), masks, axis, depth + 1)
        };
        if op.get() == Some(&Ternary::Select) {
            let condition = operand(0)?;
            let chosen = operand(1)?;
            if matches!(parts.list[condition], Part::True(_)) {
                return Some(Part::Op(op.clone(), vec![condition, chosen, chosen]));
            }
            let other = self.follow(
                parts,
                nodes.iter().map(|node| node.operands[2]).collect(),
                masks,
                axis,
                depth + 1,
            )?;
            return Some(Part::Op(op.clone(), vec![condition, chosen, other]));
        }
        let operands = (0..nodes[0].operands.len()).map(operand).collect::<Option<_>>()?;
        Some(Part::Op(op.clone(), operands))
    }
}

/// Whether a fold of elements of this dtype is the same by a scatter.
fn is_number(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F64 | DType::I32 | DType::I64)
}

/// Whether two numbers are equal, as 0 and -0 are.
fn is_equal(a: Literal, b: Literal) -> bool {
    a.dtype() == b.dtype() && a.get::<f64>() == b.get::<f64>()
}
