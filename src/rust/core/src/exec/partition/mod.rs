//! The partition of a graph into units: which nodes are computed together.
//!
//! A *unit* is executed as a whole: a single node, or a group of nodes on equally many elements, which are
//! computed tile by tile from the inputs of the group to its outputs. A value that only its group reads is
//! never in memory.
//!
//! Units are in execution order from the start. A node joins a unit in which, or before which, all its
//! operands are computed, so no cycle can arise. A second walk, backwards, moves a node to the group of its
//! readers if its first unit only forced its result to be kept in memory.
//!
//! The schedules of nodes ([`super::schedule`]) decide which groups a node can join.
//!
//! Every node is computed once, except what is cheaper to compute than to load. Each group that reads a source
//! (one value everywhere, counting) computes it, and it is a unit of its own if anything else reads it. What some
//! cheap ops make of values in memory is computed in each group that reads it, if that saves a place in memory.

mod moves;
mod order;

use super::given::Given;
use super::schedule::{plans, Access, NodePlan, Schedule};
use crate::graph::{Def, Value, NODE};
use crate::growth::table;
use crate::kernels::threads::pool::WORTH_SHARING;
use crate::kernels::tile::TILE;
use crate::ops::{Graph, Source};
use crate::passes::Views;
use crate::stop;
use order::{late, maker, order, short_lived};
use rustc_hash::FxHashMap;
use std::collections::HashMap;

/// Values in memory that a group reads, at most: a processor does not prefetch for more.
const MAX_STREAMS: usize = 16;

/// Nodes of a group, at most.
const MAX_NODES: usize = 400;

/// Groups that are tried for a node, the last first, at most.
const TRIES: usize = 4;

/// Units that a node may move back to join a group of large values, at most: its result is in memory from
/// then on.
const NEAR: usize = 4;

/// A part of a graph that is executed as a whole.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The nodes, operands before what reads them.
    pub nodes: Vec<usize>,
    /// How it runs as a group; `None` for a single node.
    pub group: Option<Group>,
}

/// How a group goes over its elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// Their number.
    pub len: usize,
    /// How they are split into tiles, and what is computed from tiles.
    pub schedule: Schedule,
}

/// The units of a graph in execution order, and which values they keep in memory.
#[derive(Debug)]
pub struct Units {
    /// The units.
    pub units: Vec<Unit>,
    /// For each value, the unit that computes it, if it is the result of a node.
    pub made: Vec<Option<usize>>,
    /// For each root, whether it must be in memory: it is an output, or read outside of the group that makes
    /// it.
    pub kept: Vec<bool>,
    /// The plans of the nodes.
    pub plans: Vec<NodePlan>,
}

/// Partitions a graph into units.
pub fn partition(graph: &Graph, views: &Views, given: Given) -> Units {
    let plans = plans(graph, views);
    let mut is_output = table(false, graph.values().count());
    graph.outputs().iter().for_each(|&v| is_output[views.root(v).index()] = true);
    let mut partition = Partition {
        graph,
        views,
        unit_of: table(usize::MAX, plans.len()),
        again: FxHashMap::default(),
        open: vec![],
        by_len: HashMap::new(),
        readers: vec![],
        is_output,
        plans,
    };
    for node in order(graph, &partition.plans, &late(graph, views, given)) {
        stop::work(NODE);
        partition.put(node);
    }
    if partition.open.iter().filter(|unit| unit.group.is_some()).count() > 1 {
        (1..partition.open.len()).for_each(|unit| partition.rise(unit));
        partition.find_readers();
        for node in (0..partition.plans.len()).rev() {
            stop::work(NODE);
            partition.sink(node);
        }
        for node in (0..partition.plans.len()).rev() {
            stop::work(NODE);
            partition.repeat(node);
        }
    }
    partition.finish()
}

/// A unit that may still take nodes.
#[derive(Default)]
struct Open {
    nodes: Vec<usize>,
    group: Option<Group>,
    /// Roots that are read from memory, as far as known.
    reads: Vec<Value>,
}

/// The elements of a group that are folded into one.
#[derive(Clone, Copy)]
enum Folded {
    /// A segment of so many.
    Segments(usize),
    /// A line across the columns of so many rows.
    Lines(usize),
}

struct Partition<'a> {
    graph: &'a Graph,
    views: &'a Views,
    plans: Vec<NodePlan>,
    unit_of: Vec<usize>,
    /// Later units in which a node is computed again.
    again: FxHashMap<usize, Vec<usize>>,
    open: Vec<Open>,
    by_len: HashMap<usize, Vec<usize>>,
    /// For each node, those that read its results or views of these.
    readers: Vec<Vec<usize>>,
    /// For each value, whether it or a view of it is an output.
    is_output: Vec<bool>,
}

/// Whether a unit is a node that is better off without a group: a cumulation by itself reads its operand twice and
/// shares it better; a fold across columns reads longer runs; a product that threads share copies lines of its
/// operands less often, and is half a product if it is of a matrix with its own transpose.
fn is_one(plans: &[NodePlan], unit: &Open) -> bool {
    let alone = |plan: &NodePlan| match plan.schedule {
        Schedule::Across(_) | Schedule::Lines(_) => true,
        Schedule::Blocks(_) => plan.picoseconds(plan.len) >= WORTH_SHARING,
        _ => plan.cumulates(),
    };
    matches!(unit.nodes[..], [node] if alone(&plans[node]))
}

impl Partition<'_> {
    /// The node that makes a root.
    fn maker(&self, root: Value) -> Option<usize> {
        maker(self.graph, root)
    }

    /// Whether an operand is a source, which each group computes itself.
    fn is_source(&self, operand: Value) -> bool {
        let root = self.views.root(operand);
        let Some(node) = self.maker(root) else { return false };
        let counts = self.graph.nodes()[node].op.source().is_some_and(Source::counts);
        self.plans[node].schedule == Schedule::Source && (!counts || self.views.is_whole(operand))
    }

    /// The first unit in which a node could be that reads this operand on `len` elements.
    fn available(&self, operand: Value, len: usize) -> usize {
        let Some(node) = self.maker(self.views.root(operand)) else { return 0 };
        // A source can be computed at any time.
        if self.plans[node].schedule == Schedule::Source {
            return 0;
        }
        let alike = self.open[self.unit_of[node]].group.is_some_and(|group| group.len == len);
        let in_register = self.views.is_whole(operand) && self.plans[node].elements() == Some(len) && alike;
        self.unit_of[node] + usize::from(!in_register && !self.is_repeated(operand, len))
    }

    /// The first unit in which a node could be that reads all of this operand at a time.
    fn in_memory(&self, operand: Value) -> usize {
        match self.maker(self.views.root(operand)) {
            Some(node) if self.plans[node].schedule != Schedule::Source => self.unit_of[node] + 1,
            _ => 0,
        }
    }

    /// Bytes of an element.
    fn width(&self, value: Value) -> usize {
        self.graph.aval(value).dtype.bytes()
    }

    /// What a group folds into each element of this value, if the group can read it.
    fn row(&self, root: Value) -> Option<Folded> {
        let maker = self.maker(root)?;
        if matches!(self.plans[maker].schedule, Schedule::Columns(_)) {
            return None;
        }
        let group = self.open.get(self.unit_of[maker])?.group?;
        let size = self.graph.aval(root).shape.size();
        let folded = *self.graph.nodes()[maker].operands.first()?;
        if let Some(rows) = group.schedule.lines(group.len, self.width(folded)) {
            return (size == rows).then_some(Folded::Lines(rows));
        }
        let segment = group.schedule.row()?;
        (size * segment == group.len).then_some(Folded::Segments(segment))
    }

    /// Whether an operand of a node on `len` elements is what the segments of a group of as many were folded
    /// into, each repeated for its elements.
    fn is_repeated(&self, operand: Value, len: usize) -> bool {
        let folded =
            self.row(self.views.root(operand)).filter(|_| self.graph.aval(operand).shape.size() == len);
        folded.is_some_and(|folded| match folded {
            Folded::Segments(segment) => self.views.repeats(self.graph, operand, segment),
            Folded::Lines(rows) => self.views.cycles(self.graph, operand, rows),
        })
    }

    /// The group that folds segments into what this node computes on, an element for each segment, if the
    /// node can be done there.
    fn row_of(&self, node: usize) -> Option<usize> {
        let operands = &self.graph.nodes()[node].operands;
        let there = |&v: &Value| {
            let root = self.views.root(v);
            self.row(root)
                .filter(|_| self.views.is_whole(v))
                .and(self.maker(root))
                .map(|maker| self.unit_of[maker])
        };
        let unit = operands.iter().filter_map(there).max()?;
        let in_time = |v: &Value| there(v) == Some(unit) || self.available(*v, 0) <= unit;
        let near =
            self.open[unit].group.is_some_and(|group| group.len <= TILE) || unit + NEAR >= self.open.len();
        (near && operands.iter().all(in_time) && self.fits(node, unit)).then_some(unit)
    }

    /// Whether the operand is in one of the registers of a unit: it is computed there.
    fn is_in(&self, operand: Value, unit: usize) -> bool {
        self.maker(self.views.root(operand)).is_some_and(|node| self.units_of(node).any(|here| here == unit))
    }

    /// The units that compute a node.
    fn units_of(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let again = self.again.get(&node).into_iter().flatten();
        [self.unit_of[node]].into_iter().chain(again.copied())
    }

    fn put(&mut self, node: usize) {
        let NodePlan { schedule, len, .. } = self.plans[node];
        match schedule {
            Schedule::View | Schedule::Source => return,
            Schedule::Across(_) | Schedule::Lines(_) | Schedule::Columns(_) => {
                return self.put_with_maker(node)
            }
            Schedule::Map | Schedule::Segments(_) | Schedule::Bins(_) | Schedule::Cumulative { .. } => {}
            Schedule::Rows(_) | Schedule::Blocks(_) | Schedule::Alone => return self.begin(node),
        }
        let whole = self.plans[node].reads_whole(0);
        if let (Schedule::Map, false, Some(unit)) = (schedule, whole, self.row_of(node)) {
            return self.join(node, unit);
        }
        let operands = &self.graph.nodes()[node].operands;
        let available = |(i, &v): (usize, &Value)| {
            if self.plans[node].reads_whole(i) {
                self.in_memory(v)
            } else {
                self.available(v, len)
            }
        };
        let first = operands.iter().enumerate().map(available).max().unwrap_or(0);
        let groups = self.by_len.get(&len).map_or(&[][..], Vec::as_slice);
        let tried = groups.iter().rev().take_while(|&&unit| unit >= first).take(TRIES);
        // The group that computes an operand is preferred, then one that reads the same values; small groups
        // are merged to save steps.
        let near = |unit: &usize| {
            let shares =
                |&v: &Value| self.is_in(v, *unit) || self.open[*unit].reads.contains(&self.views.root(v));
            len <= TILE || (unit + NEAR >= self.open.len() && (whole || operands.iter().any(shares)))
        };
        let alike = |unit: &usize| self.open.get(*unit).and_then(|u| u.group).is_some_and(|g| g.len == len);
        let made_by =
            Some(&first).filter(|&unit| alike(unit) && operands.iter().any(|&v| self.is_in(v, *unit)));
        let fits = |unit: &usize| self.fits(node, *unit);
        match made_by.into_iter().chain(tried).copied().find(|unit| near(unit) && fits(unit)) {
            Some(unit) => self.join(node, unit),
            None => self.begin(node),
        }
    }

    /// Adds a node to the group of the operand that it reads element by element, if operands that it reads as
    /// a whole are in memory before.
    fn put_with_maker(&mut self, node: usize) {
        let (plan, operands) = (&self.plans[node], &self.graph.nodes()[node].operands);
        let of = |whole: bool| {
            let chosen = operands.iter().enumerate().filter(move |(i, _)| plan.reads_whole(*i) == whole);
            chosen.map(|(_, &v)| v)
        };
        let Some(made) = of(false).next() else { return self.begin(node) };
        let unit = self.available(made, plan.len);
        let alike = self.open.get(unit).and_then(|u| u.group).is_some_and(|group| group.len == plan.len);
        let in_time = of(true).all(|v| self.in_memory(v) <= unit);
        let in_place = self.is_in(made, unit) && self.views.is_whole(made);
        if alike && in_time && in_place && self.fits(node, unit) {
            return self.join(node, unit);
        }
        match self.lines_of(node, made) {
            Some(unit) => self.join(node, unit),
            None => self.begin(node),
        }
    }

    /// The group of lines that reads the operand of a fold of the same lines, if the node can be done there.
    fn lines_of(&self, node: usize, operand: Value) -> Option<usize> {
        let NodePlan { schedule, len, .. } = self.plans[node];
        let rows = schedule.packed(len).and_then(|_| schedule.lines(len, self.width(operand)))?;
        let root = self.views.root(operand);
        let first = self.in_memory(operand);
        let groups = self.by_len.get(&len).map_or(&[][..], Vec::as_slice);
        let tried = groups.iter().rev().take_while(|&&unit| unit >= first).take(TRIES);
        let alike = |unit: &usize| {
            let lines = self.open[*unit].group.and_then(|group| group.schedule.packed(group.len));
            lines == Some(rows) && self.open[*unit].reads.contains(&root) && self.fits(node, *unit)
        };
        tried.copied().find(alike)
    }

    /// Values that a node would read from memory in this unit and no other node of it reads.
    fn new_reads(&self, node: usize, unit: usize) -> Vec<Value> {
        let mut reads: Vec<Value> = Vec::new();
        for (i, &operand) in self.graph.nodes()[node].operands.iter().enumerate() {
            let root = self.views.root(operand);
            let known = self.open[unit].reads.contains(&root) || reads.contains(&root);
            let read = || match self.plans[node].access.get(i) {
                Some(Access::Whole) => true,
                Some(Access::Repeated) => false,
                Some(Access::Element) | None => !self.is_source(operand) && !self.is_in(operand, unit),
            };
            if !known && read() {
                reads.push(root);
            }
        }
        reads
    }

    fn fits(&self, node: usize, unit: usize) -> bool {
        let open = &self.open[unit];
        let with = |group: Group| group.schedule.with(group.len, self.plans[node].schedule);
        open.group.and_then(with).is_some()
            && open.nodes.len() < MAX_NODES
            && open.reads.len() + self.new_reads(node, unit).len() <= MAX_STREAMS
    }

    /// Starts a unit with a node, which others may join if it is a group.
    fn begin(&mut self, node: usize) {
        let (unit, plan) = (self.open.len(), &self.plans[node]);
        let schedule = plan.schedule.begins(plan.len);
        let group = (schedule != Schedule::Alone).then_some(Group { len: plan.len, schedule });
        if let Some(group) = group {
            self.by_len.entry(group.len).or_default().push(unit);
        }
        self.open.push(Open { group, ..Open::default() });
        self.enter(node, unit);
    }

    /// Adds a node to a group that it fits.
    fn join(&mut self, node: usize, unit: usize) {
        self.adapt(node, unit);
        self.enter(node, unit);
    }

    /// The schedule of a group that takes a node.
    fn adapt(&mut self, node: usize, unit: usize) {
        let folded = |&v: &Value| self.is_in(v, unit) && self.row(self.views.root(v)).is_some();
        let inside = self.graph.nodes()[node].operands.iter().any(folded);
        if let Some(group) = &mut self.open[unit].group {
            let schedule =
                group.schedule.with(group.len, self.plans[node].schedule).unwrap_or(group.schedule);
            group.schedule = if inside { schedule.read_inside() } else { schedule };
        }
    }

    fn enter(&mut self, node: usize, unit: usize) {
        self.unit_of[node] = unit;
        self.add(node, unit);
    }

    /// Adds a node to the nodes of a unit, and what it reads from memory.
    fn add(&mut self, node: usize, unit: usize) {
        let reads = self.new_reads(node, unit);
        let open = &mut self.open[unit];
        open.reads.extend(reads);
        open.nodes.push(node);
    }

    fn finish(self) -> Units {
        let Partition { graph, views, ref plans, ref open, .. } = self;
        let mut kept = self.is_output.clone();
        let is_group = |unit: &Open| unit.group.is_some() && !unit.nodes.is_empty() && !is_one(plans, unit);
        let grouped: Vec<bool> = open.iter().map(is_group).collect();
        // A source that must be in memory is computed before the first unit that reads it there.
        let mut sources: Vec<Vec<usize>> = vec![vec![]; open.len() + 1];
        let mut first_use: HashMap<usize, usize> = HashMap::new();
        for (number, node) in graph.nodes().iter().enumerate() {
            // The columns of a block are many tiles.
            if let Schedule::Blocks(_) = plans[number].schedule {
                kept[node.results[0].index()] = true;
            }
            if plans[number].schedule == Schedule::Source && kept[node.results[0].index()] {
                first_use.insert(number, open.len());
            }
            if plans[number].schedule == Schedule::View {
                continue;
            }
            let pairs = self.units_of(number).flat_map(|own| {
                let operands = node.operands.iter().enumerate();
                operands.map(move |(i, &v)| (own, i, v))
            });
            for (own, i, v) in pairs {
                let root = views.root(v);
                let Def::Result(made, _) = graph.def(root) else { continue };
                let source = plans[made].schedule == Schedule::Source;
                let counts = graph.nodes()[made].op.source().is_some_and(Source::counts);
                let inside = if source { !counts || views.is_whole(v) } else { self.is_in(v, own) };
                if grouped.get(own) == Some(&true) && inside && !plans[number].reads_whole(i) {
                    continue;
                }
                kept[root.index()] = true;
                if source {
                    let first = first_use.entry(made).or_insert(own);
                    *first = own.min(*first);
                }
            }
        }
        for (node, unit) in first_use {
            sources[unit].push(node);
        }
        let mut made = table(None, kept.len());
        let mut units: Vec<Unit> = Vec::with_capacity(open.len());
        let mut emit = |nodes: Vec<usize>, group| {
            for result in nodes.iter().flat_map(|&n| &graph.nodes()[n].results) {
                made[result.index()].get_or_insert(units.len());
            }
            units.push(Unit { nodes, group });
        };
        let open = self.open.into_iter().zip(grouped).map(Some).chain([None]);
        for (mut sources, unit) in sources.into_iter().zip(open) {
            sources.sort_unstable();
            sources.into_iter().for_each(|node| emit(vec![node], None));
            let Some((mut unit, grouped)) = unit else { break };
            unit.nodes.sort_unstable();
            let group = unit.group.filter(|_| grouped);
            // Phases of lines and blocks have an order of their own.
            if group.is_some_and(|group| matches!(group.schedule, Schedule::Map | Schedule::Segments(_))) {
                unit.nodes = short_lived(graph, views, unit.nodes);
            }
            if !unit.nodes.is_empty() {
                emit(unit.nodes, group);
            }
        }
        Units { units, made, kept, plans: self.plans }
    }
}
