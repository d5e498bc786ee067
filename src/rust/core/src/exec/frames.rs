//! Frames: what a group computes, and then an op puts elements around, is computed in its place in the op's
//! result. So the gradient of a slice, which pads, writes nothing twice, and an update of the inside of an array
//! from what the array was copies only what is not updated.

use super::frame::Frame;
use super::given::Given;
use super::partition::Units;
use super::place::Place;
use super::schedule::Schedule;
use super::step::{Action, Step};
use crate::graph::{Def, Node, Value};
use crate::growth::table;
use crate::kernels::memory::Span;
use crate::ops::contract::{framed, Framed};
use crate::ops::{Graph, Op};
use crate::passes::Views;
use crate::shape::Shape;
use crate::tensor::Layout;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The place of a value in the result of an op.
#[derive(Clone, Debug)]
pub struct Inside {
    /// The result.
    pub whole: Value,
    /// The value's shape, and its layout in the result.
    pub shape: Shape,
    /// See there.
    pub layout: Layout,
}

impl Inside {
    /// Whether its elements lie side by side.
    pub fn is_contiguous(&self) -> bool {
        let lines = self.layout.lines(&self.shape, 0..self.shape.rank());
        matches!(lines.as_slice(), [] | [(_, 1)])
    }

    /// Its bytes, elements of so many, where the result has these: of the whole result if they do not lie side
    /// by side.
    pub fn within(&self, Span { buffer, range }: Span, width: usize) -> Span {
        if !self.is_contiguous() {
            return Span { buffer, range };
        }
        let start = range.start + self.layout.offset * width;
        Span { buffer, range: start..start + self.shape.size() * width }
    }
}

/// The values that are computed in frames.
#[derive(Debug, Default)]
pub struct Frames {
    /// For each root that is computed in the result of an op, where.
    inside: FxHashMap<Value, Inside>,
    /// For each such result, the root in it.
    wholes: FxHashMap<Value, Value>,
}

impl Frames {
    /// Finds them. `last_use` gives the last unit that reads each root.
    pub fn of(graph: &Graph, views: &Views, units: &Units, last_use: &[usize], given: Given) -> Frames {
        let mut frames = Frames::default();
        // How often a root is read by another unit than its own.
        let mut reads: Option<Vec<usize>> = None;
        for unit in &units.units {
            let (&[number], None) = (unit.nodes.as_slice(), unit.group) else { continue };
            let node = &graph.nodes()[number];
            let Some(framed) = framed(graph, node) else { continue };
            let v = node.operands[framed.inside];
            let (root, around) = (views.root(v), views.root(node.operands[framed.around]));
            let reads = reads.get_or_insert_with(|| count_reads(graph, views, units));
            let once = reads[root.index()] == 1 && last_use[root.index()] != usize::MAX;
            if !once || !views.is_whole(v) || !is_stored_by_elements(graph, units, root) {
                continue;
            }
            let [whole, own] = [node.results[0], v].map(|v| graph.aval(v).shape.size());
            if own == 0
                || graph.aval(v).shape.rank() == 0
                || node.op.updates() && is_better_in_place(graph, around, given, [whole, own])
            {
                continue;
            }
            frames.wholes.insert(node.results[0], root);
            frames.inside.insert(root, inside(graph, node, &framed));
        }
        frames
    }

    /// Where a root is computed in the result of an op.
    pub fn inside(&self, root: Value) -> Option<&Inside> {
        self.inside.get(&root)
    }

    /// The root that is computed in this result of an op.
    pub fn framed(&self, whole: Value) -> Option<Value> {
        self.wholes.get(&whole).copied()
    }

    /// The step that copies the frame of a node's result from an operand, whose place is the first of these, to
    /// the bytes of the result; `None` if it has no elements.
    pub fn step(&self, graph: &Graph, node: &Node<Op>, around: Place, span: Span) -> Option<Step> {
        let whole = node.results[0];
        let Inside { shape, layout, .. } = self.inside(self.framed(whole)?)?.clone();
        let (aval, mut around) = (graph.aval(whole).clone(), around);
        // One element for all.
        if around.layout.strides.len() != aval.shape.rank() {
            around.layout.strides = vec![0; aval.shape.rank()];
        }
        let frame = Frame { name: node.op.row().name, shape, layout };
        let operands = vec![(aval.clone(), around)];
        let is_any = frame.bytes(&aval) > 0;
        is_any.then(|| Step { action: Action::Frame(Arc::new(frame)), operands, results: vec![(aval, span)] })
    }

    /// The operand whose elements are in the frame of a node's result, if there is one.
    pub fn around(&self, graph: &Graph, node: &Node<Op>) -> Option<Value> {
        self.framed(*node.results.first()?)?;
        framed(graph, node).map(|framed| node.operands[framed.around])
    }
}

/// The place of the operand of a node in its result.
fn inside(graph: &Graph, node: &Node<Op>, framed: &Framed) -> Inside {
    let whole = node.results[0];
    let dense = Layout::dense(&graph.aval(whole).shape);
    let offset = framed.start.iter().zip(&dense.strides).map(|(&at, &stride)| at * stride as usize).sum();
    let shape = graph.aval(node.operands[framed.inside]).shape.clone();
    Inside { whole, shape, layout: Layout { offset, ..dense } }
}

/// How often each root is read by another unit than its own.
fn count_reads(graph: &Graph, views: &Views, units: &Units) -> Vec<usize> {
    let mut reads = table(0, graph.values().count());
    for (number, unit) in units.units.iter().enumerate() {
        let read = unit.nodes.iter().flat_map(|&n| &graph.nodes()[n].operands).map(|&v| views.root(v));
        read.filter(|root| units.made[root.index()] != Some(number))
            .for_each(|root| reads[root.index()] += 1);
    }
    reads
}

/// Whether a group makes a root element by element.
fn is_stored_by_elements(graph: &Graph, units: &Units, root: Value) -> bool {
    let (Def::Result(made, _), Some(unit)) = (graph.def(root), units.made[root.index()]) else {
        return false;
    };
    let (Some(group), plan) = (units.units[unit].group, &units.plans[made]) else { return false };
    let tiles = matches!(group.schedule, Schedule::Map | Schedule::Segments(_) | Schedule::Rows(_));
    tiles
        && plan.schedule == Schedule::Map
        && !plan.is_fold_or_product()
        && graph.aval(root).shape.size() == group.len
}

/// Whether an update, of so many elements of all, is better done where they lie: it replaces few, and the others
/// would be copied, or a caller gives the memory.
fn is_better_in_place(graph: &Graph, around: Value, given: Given, [whole, own]: [usize; 2]) -> bool {
    match graph.def(around) {
        Def::Input(input) => {
            matches!(given, Given::Donated(all) if all.contains(&input)) || whole - own > own
        }
        Def::Result(made, _) => graph.nodes()[made].op.source().is_none() && whole - own > own,
        Def::Constant(_) | Def::Literal(_) => false,
    }
}
