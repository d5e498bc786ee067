//! A second walk over the nodes, backwards: nodes move to the groups that read them, or are computed there again.

use super::{is_one, Partition, MAX_NODES, MAX_STREAMS};
use crate::exec::schedule::{Schedule, LOADED, STORED};
use crate::graph::Value;
use std::collections::BTreeSet;

/// Nodes that move together to the group of what reads them, or are computed there again, at most.
const MAX_BRANCH: usize = 8;

impl Partition<'_> {
    pub(super) fn find_readers(&mut self) {
        self.readers = vec![vec![]; self.unit_of.len()];
        for (number, node) in self.graph.nodes().iter().enumerate() {
            for &v in &node.operands {
                if let (Some(maker), false) =
                    (self.maker(self.views.root(v)), self.plans[number].schedule == Schedule::View)
                {
                    self.readers[maker].push(number);
                }
            }
        }
    }

    /// Moves all of a group of maps to the last one before it that makes what it reads, if all else that it reads is there
    /// by then: a node that shares no operand with a group begins one of its own, and its reader follows it.
    pub(super) fn rise(&mut self, unit: usize) {
        let Some(group) = self.open[unit].group.filter(|group| group.schedule == Schedule::Map) else {
            return;
        };
        let nodes = self.open[unit].nodes.clone();
        let (mut to, mut shares) = (0, vec![]);
        for &node in &nodes {
            for (i, &v) in self.graph.nodes()[node].operands.iter().enumerate() {
                let whole = self.plans[node].reads_whole(i);
                let Some(made) = self.maker(self.views.root(v)).filter(|&made| self.unit_of[made] != unit)
                else {
                    continue;
                };
                let first = if whole { self.in_memory(v) } else { self.available(v, group.len) };
                to = first.max(to);
                shares.extend((self.unit_of[made] == first).then_some(first));
            }
        }
        let alike = |unit: usize| self.open[unit].group.is_some_and(|other| other.len == group.len);
        if to >= unit || !shares.contains(&to) || !alike(to) || self.reads_of(&nodes, to).is_none() {
            return;
        }
        if !nodes.iter().all(|&node| self.fits(node, to)) {
            return;
        }
        self.open[unit].nodes.clear();
        self.open[unit].reads.clear();
        nodes.iter().for_each(|&node| self.join(node, to));
    }

    /// Moves a node to the first group that reads it, with what it alone reads of its own, if nothing else there
    /// reads these and their operands are in memory anyway.
    pub(super) fn sink(&mut self, node: usize) {
        if !self.moves(node) {
            return;
        }
        let (from, result) = (self.unit_of[node], self.graph.nodes()[node].results[0]);
        let Some(to) = self.readers[node].iter().map(|&reader| self.unit_of[reader]).min() else { return };
        let alike = self.open[to].group.is_some_and(|group| group.len == self.plans[node].len);
        if to <= from || !alike || !self.fits(node, to) {
            return;
        }
        let mut there = self.readers[node].iter().filter(|&&reader| self.unit_of[reader] == to);
        let all_whole = there.all(|&reader| self.reads_in_place(reader, result));
        let Some(branch) = self.branch(node, to).filter(|_| all_whole) else { return };
        let only = self.readers[node].iter().all(|&reader| self.unit_of[reader] == to);
        let read = self.reads_of(&branch, to);
        if read.is_none_or(|read| read.len() > 1 + usize::from(only)) {
            return;
        }
        self.open[from].nodes.retain(|n| !branch.contains(n));
        branch.iter().for_each(|&n| self.join(n, to));
        self.open[to].reads.retain(|&root| root != result);
    }

    /// Whether a node can move to another group: it is elementwise, and no output.
    fn moves(&self, node: usize) -> bool {
        let (plan, result) = (&self.plans[node], self.graph.nodes()[node].results.first());
        let is_output = result.is_none_or(|v| self.is_output[v.index()]);
        plan.schedule == Schedule::Map && !plan.reads_any_whole() && !is_output
    }

    /// What nodes would read from memory in another group that no node of it reads; `None` if it has no room for them.
    fn reads_of(&self, nodes: &[usize], to: usize) -> Option<BTreeSet<Value>> {
        let made = |v: &Value| self.maker(*v).is_some_and(|n| nodes.contains(&n));
        let read: BTreeSet<Value> =
            nodes.iter().flat_map(|&n| self.new_reads(n, to)).filter(|v| !made(v)).collect();
        let open = &self.open[to];
        let fits =
            open.nodes.len() + nodes.len() <= MAX_NODES && open.reads.len() + read.len() <= MAX_STREAMS;
        fits.then_some(read)
    }

    /// A node, and those that move with it to another group: what only these read. In the order of the graph.
    /// `None` if they read something else that is in no memory before that group, as what it reads itself is.
    fn branch(&self, node: usize, to: usize) -> Option<Vec<usize>> {
        let in_memory = |made: usize| {
            let product = matches!(self.plans[made].schedule, Schedule::Blocks(_));
            product || self.readers[made].iter().any(|&r| self.unit_of[r] == to)
        };
        self.with_makers(node, in_memory, |made, reader| self.readers[made].iter().all(|&r| r == reader))
    }

    /// A node, and those that have to be computed with it where it is computed again, in the order of the graph.
    /// `None` if these are many, or no elementwise ops.
    fn chain(&self, node: usize) -> Option<Vec<usize>> {
        self.with_makers(node, |made| self.is_kept(made), |_, _| true)
    }

    /// A node, and those of its group that make what these read, but for results that are in memory. In the order of
    /// the graph. `None` if one cannot be elsewhere, by itself or with its reader, or they are many.
    fn with_makers(
        &self,
        node: usize,
        in_memory: impl Fn(usize) -> bool,
        may: impl Fn(usize, usize) -> bool,
    ) -> Option<Vec<usize>> {
        let (mut all, mut next) = (vec![node], 0);
        while let Some(&reader) = all.get(next) {
            for &v in &self.graph.nodes()[reader].operands {
                let Some(made) = self.maker(self.views.root(v)) else { continue };
                let known = !self.is_in(v, self.unit_of[node]) || self.is_source(v) || all.contains(&made);
                if known || in_memory(made) {
                    continue;
                }
                let moves = self.views.is_whole(v) && self.moves(made) && may(made, reader);
                if !moves || all.len() >= MAX_BRANCH {
                    return None;
                }
                all.push(made);
            }
            next += 1;
        }
        all.sort_unstable();
        Some(all)
    }

    /// Computes a node again in all later groups that read it, with what it alone needs of its own, if that takes
    /// less time than to store and load its result.
    pub(super) fn repeat(&mut self, node: usize) {
        if !self.moves(node) {
            return;
        }
        let (from, result) = (self.unit_of[node], self.graph.nodes()[node].results[0]);
        let reading = self.readers[node].iter().flat_map(|&reader| self.units_of(reader));
        let others: BTreeSet<usize> = reading.filter(|&unit| !self.is_in(result, unit)).collect();
        if others.is_empty() || self.readers[node].iter().any(|&reader| !self.reads_in_place(reader, result))
        {
            return;
        }
        let Some(chain) = self.chain(node) else { return };
        let len = self.plans[node].len;
        let bytes = len * self.width(result);
        let (mut again, mut read_from) = (0, 0);
        for &to in &others {
            let open = &self.open[to];
            let added: Vec<usize> =
                chain.iter().copied().filter(|&n| !self.units_of(n).any(|unit| unit == to)).collect();
            let alike = open.group.is_some_and(|group| group.len == len) && !is_one(&self.plans, open);
            let Some(read) = self.reads_of(&added, to) else { return };
            let more: usize = read.iter().map(|&v| self.graph.aval(v).bytes()).sum();
            if to <= from || !alike || more > bytes || !added.iter().all(|&n| self.fits(n, to)) {
                return;
            }
            again += added.iter().map(|&n| self.plans[n].picoseconds(len)).sum::<usize>() + LOADED * more;
            read_from += bytes;
        }
        if again >= STORED * bytes + LOADED * read_from {
            return;
        }
        for to in others {
            for &n in &chain {
                if self.units_of(n).all(|unit| unit != to) {
                    self.adapt(n, to);
                    self.add(n, to);
                    self.again.entry(n).or_default().push(to);
                }
            }
            self.open[to].reads.retain(|&root| root != result);
        }
        for n in chain.into_iter().rev() {
            self.leave(n, from);
        }
    }

    /// Takes a node out of a group where nothing reads it, if another one computes it, too.
    fn leave(&mut self, node: usize, from: usize) {
        let is_read = self.readers[node].iter().any(|&reader| self.units_of(reader).any(|unit| unit == from));
        let Some(again) = self.again.get_mut(&node).filter(|again| !is_read && !again.is_empty()) else {
            return;
        };
        again.sort_unstable();
        self.unit_of[node] = again.remove(0);
        self.open[from].nodes.retain(|&n| n != node);
    }

    /// The operands of a node that are a value or views of it, by number.
    fn reads(&self, reader: usize, root: Value) -> impl Iterator<Item = (usize, Value)> + '_ {
        let operands = self.graph.nodes()[reader].operands.iter().copied().enumerate();
        operands.filter(move |&(_, v)| self.views.root(v) == root)
    }

    /// Whether a node reads a value element by element, wherever it does.
    fn reads_in_place(&self, reader: usize, root: Value) -> bool {
        let mut reads = self.reads(reader, root);
        reads.all(|(i, v)| self.views.is_whole(v) && !self.plans[reader].reads_whole(i))
    }

    /// Whether a result is in memory: it is an output, or read outside of the groups that compute it.
    fn is_kept(&self, node: usize) -> bool {
        let result = self.graph.nodes()[node].results[0];
        let outside = |&reader: &usize| {
            self.reads(reader, result).any(|(i, _)| self.plans[reader].reads_whole(i))
                || self.units_of(reader).any(|unit| !self.is_in(result, unit))
        };
        let is_block = matches!(self.plans[node].schedule, Schedule::Blocks(_));
        is_block || self.is_output[result.index()] || self.readers[node].iter().any(outside)
    }
}
