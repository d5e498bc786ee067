//! Concatenations whose operands are computed in the place of the result.

use super::Planner;
use crate::exec::partition::Unit;
use crate::graph::{Def, Node, Value};
use crate::kernels::memory::Span;
use crate::ops::Op;
use rustc_hash::FxHashMap;

impl Planner<'_> {
    /// Has the operands of a concatenation computed in the place of its result, if they are contiguous there.
    /// Those that no step computes, or that have another place, are copied there.
    pub(super) fn join(&mut self, unit: usize) {
        let Unit { nodes, group: None } = &self.units.units[unit] else { return };
        let Node { op, operands, results, .. } = &self.graph.nodes()[nodes[0]];
        let Some(axis) = op.joined() else { return };
        let (whole, mut at, mut parts) = (results[0], 0, FxHashMap::default());
        let side_by_side = self.graph.aval(whole).shape.iter().skip(axis.0 + 1).all(|&size| size == 1);
        let given = self.output_of[whole.index()].is_some_and(|k| self.plan.donations[k].is_some());
        let mut reads: FxHashMap<Value, usize> = FxHashMap::default();
        for &v in operands {
            let root = self.views.root(v);
            let made = matches!(self.graph.def(root), Def::Result(..)) && self.views.is_whole(v);
            let placed = self.output_of[root.index()].is_some()
                || self.updates.has(root)
                || self.parts.contains_key(&root)
                || self.in_place.contains_key(&root);
            if made && !placed {
                parts.insert(root, (whole, at));
            }
            at += self.graph.aval(v).bytes();
            *reads.entry(root).or_default() += 1;
        }
        // A part that is read again, in another place, is computed in its own.
        parts.retain(|root, _| reads[root] == 1);
        if side_by_side
            && !parts.is_empty()
            && !given
            && !self.updates.has(whole)
            && !self.in_place.contains_key(&whole)
        {
            let last = parts.keys().map(|root| self.last_use[root.index()]).max();
            self.last_use[whole.index()] = last.max(Some(self.last_use[whole.index()])).unwrap_or(usize::MAX);
            self.parts.extend(parts);
            self.whole[whole.index()] = true;
        }
    }

    /// Whether an operand of a node is computed in the place of the node's result.
    pub(super) fn is_part(&self, node: &Node<Op>, v: Value) -> bool {
        let part = self.parts.get(&self.views.root(v));
        node.op.joined().is_some() && part.map(|(whole, _)| *whole) == node.results.first().copied()
    }

    /// Whether a node needs no step of its own, since operands are computed in its place.
    pub(super) fn is_joined(&self, node: &Node<Op>) -> bool {
        node.operands.iter().any(|&v| self.is_part(node, v))
    }

    /// Copies the operands of a concatenation that are not computed in its place.
    pub(super) fn copy_parts(&mut self, number: usize) {
        let node = &self.graph.nodes()[number];
        let Span { buffer, range } = self.places[node.results[0].index()].clone().expect("parts are placed");
        let mut at = range.start;
        for &v in &node.operands {
            let aval = self.graph.aval(v).clone();
            let span = Span { buffer, range: at..at + aval.bytes() };
            at = span.range.end;
            if aval.bytes() > 0 && !self.is_part(node, v) {
                self.copy(aval, self.place(v), span);
            }
        }
    }
}
