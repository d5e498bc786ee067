//! The planner: a graph becomes a list of steps, and every value gets a place in one of a few buffers.
//!
//! * A group of nodes ([`super::partition`]) is a step; any other node is a step by itself.
//! * A view of another value (transpose, broadcast, many reshapes) has a layout of its own in the other's
//!   place and costs no step.
//! * A value that only its own group reads has no place.
//! * An output is computed in its buffer; a value that is several outputs, in that of the first, and a group that
//!   makes it writes the others, too.
//! * Contiguous operands of a concatenation are computed in the place of its result, or copied there if no step
//!   computes them, and the concatenation is no step.
//! * What a pad or an update puts elements around is computed in the place of its result ([`super::frames`]).
//! * All others share one arena; a place is free again after the last step that reads it.
//! * A node's result is stored in its dtype: 16-bit floats are rounded after each op, as when the op runs
//!   alone (`tests/halves.rs`). Where rounding changes no bit, as between a negation and a sum, f32 could be
//!   kept; nothing here does so.
//! * What an op replaces elements of, as an assignment does, is updated where it lies ([`super::updates`]).
//! * A donated input may be the buffer of an output of its type: of one that is computed after the last read
//!   of the input, of one that the last reading group computes element by element in place, or of one that is
//!   copied there at the end.

mod joined;

use super::arena::Arena;
use super::compile::{compile, Compiled, Kept, Stored};
use super::frames::Frames;
use super::given::Given;
use super::partition::{partition, Group, Units};
use super::place::{Place, ARENA, INPUTS, LITERALS};
use super::step::{Action, CompileControl, Plan, Prepared, Step};
use super::updates::Updates;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{Def, Value, NODE};
use crate::growth::{push, table};
use crate::kernels::memory::{AlignedBytes, Span};
use crate::ops::{Graph, Op};
use crate::passes::{Candidates, Views};
use crate::shape::Shape;
use crate::stop;
use crate::tensor::{Aval, Layout};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::OnceCell;
use std::sync::Arc;

/// Bytes from which a fresh output is stored past the caches: R frees results of earlier calls late, so its block is
/// in no cache of a core. Filling 1 MB of such memory takes 30 us with stores, 11.5 past the caches, and reading it
/// back afterwards takes the same time.
const FAR: usize = 256 << 10;

/// Makes the plan of a graph. `given` are the inputs whose memory may be reused, `control` compiles branches
/// and loops.
///
/// # Errors
/// Those of `control`.
pub fn plan(graph: &Graph, given: Given, control: CompileControl) -> Result<Plan> {
    Planner::new(graph, given).run(given, control)
}

struct Planner<'a> {
    graph: &'a Graph,
    views: Views,
    units: Units,
    /// The spans of roots.
    places: Vec<Option<Span>>,
    /// For each root, the last unit that reads it or a view of it.
    last_use: Vec<usize>,
    /// For each root, whether it is read whole: by a step of one op, or by each tile of a group.
    read: Vec<bool>,
    /// For each root, the output in whose buffer it is computed.
    output_of: Vec<Option<usize>>,
    /// Roots that are computed in the place of an operand of their group: the operand, byte for byte.
    in_place: FxHashMap<Value, Value>,
    /// For each root, whether another one is computed in its place, and whether others are computed as parts
    /// of it.
    given: Vec<bool>,
    whole: Vec<bool>,
    /// For each root, whether it is read after the group that makes it; found when first asked for.
    read_on: OnceCell<Vec<bool>>,
    /// Roots that are updated in place.
    updates: Updates,
    /// Roots that are computed in the place of a result that has a frame around them.
    frames: Frames,
    /// Roots that are computed as part of another root, which has no step: the other, and the offset in it.
    parts: FxHashMap<Value, (Value, usize)>,
    arena: Arena,
    plan: Plan,
    /// Outputs that the group which makes them for another one writes, too.
    copied: Vec<usize>,
    /// For a value, outputs that its group could write so.
    repeated: FxHashMap<Value, Vec<usize>>,
    /// Whether outputs leave the engine, unlike those of a region.
    leaves: bool,
}

impl<'a> Planner<'a> {
    fn new(graph: &'a Graph, given: Given) -> Planner<'a> {
        let count = graph.values().count();
        let plan = Plan {
            steps: vec![],
            arena: 0,
            literals: AlignedBytes::default(),
            donations: vec![None; graph.outputs().len()],
            registers: 0,
            at_once: None,
        };
        let views = Views::of(graph);
        let units = partition(graph, &views, given);
        let (places, output_of, last_use) = (table(None, count), table(None, count), table(0, count));
        let (in_place, parts, arena) = (FxHashMap::default(), FxHashMap::default(), Arena::default());
        Planner {
            graph,
            views,
            units,
            places,
            last_use,
            read: table(false, count),
            output_of,
            in_place,
            given: table(false, count),
            whole: table(false, count),
            read_on: OnceCell::new(),
            updates: Updates::default(),
            frames: Frames::default(),
            parts,
            arena,
            plan,
            copied: vec![],
            repeated: FxHashMap::default(),
            leaves: matches!(given, Given::Donated(_)),
        }
    }

    fn first_output(&self) -> usize {
        INPUTS + self.graph.inputs().len() + self.graph.constants().len()
    }

    fn place(&self, value: Value) -> Place {
        let span = self.places[self.views.root(value).index()].clone();
        Place {
            span: span.expect("values are placed before they are read"),
            layout: self.views.layout(self.graph, value),
        }
    }

    /// Finds the output in whose buffer each root is computed; pairs outputs with donated inputs.
    fn find_outputs(&mut self, given: Given) {
        self.place_sources();
        self.find_last_uses();
        // A value that is several outputs, or whose whole view is one, is computed in the buffer of the
        // first.
        for (k, &v) in self.graph.outputs().iter().enumerate().rev() {
            let root = self.views.root(v);
            if matches!(self.graph.def(root), Def::Result(..)) && self.views.is_whole(v) {
                self.output_of[root.index()] = Some(k);
            }
        }
        let Planner { graph, views, units, last_use, output_of, .. } = self;
        self.frames = Frames::of(graph, views, units, last_use, given);
        self.updates =
            Updates::of(graph, views, units, |v| self.frames.framed(v).is_some(), last_use, output_of, given);
        match given {
            Given::Donated(inputs) => self.donate(inputs),
            Given::Carried(_) | Given::Iteration => {
                self.updates.begun.iter().for_each(|&(input, k)| self.plan.donations[k] = Some(input));
            }
        }
        for unit in 0..self.units.units.len() {
            stop::work(NODE);
            self.join(unit);
        }
    }

    fn run(mut self, given: Given, control: CompileControl) -> Result<Plan> {
        self.find_outputs(given);
        self.find_repeated();
        for number in 0..self.units.units.len() {
            let unit = self.units.units[number].clone();
            stop::work(NODE);
            match unit.group {
                Some(group) => self.group(number, &unit.nodes, group),
                None if self.is_joined(&self.graph.nodes()[unit.nodes[0]]) => self.copy_parts(unit.nodes[0]),
                None if self.is_unread(unit.nodes[0]) => {}
                None => match self.frames.around(self.graph, &self.graph.nodes()[unit.nodes[0]]) {
                    Some(around) => self.frame(unit.nodes[0], around),
                    None => {
                        for &result in unit.nodes.iter().flat_map(|&n| &self.graph.nodes()[n].results) {
                            self.place_result(result);
                        }
                        self.step(unit.nodes[0], control)?;
                    }
                },
            }
            self.release(number, &unit.nodes);
        }
        // Outputs that are copied: views, inputs, constants, literals, and values that are several outputs.
        for (k, &v) in self.graph.outputs().iter().enumerate() {
            if self.output_of[self.views.root(v).index()] != Some(k) && !self.copied.contains(&k) {
                let aval = self.graph.aval(v).clone();
                let span = Span { buffer: self.first_output() + k, range: 0..aval.bytes() };
                self.copy(aval, self.place(v), span);
            }
        }
        self.plan.arena = self.arena.size;
        self.plan.sum_up(!self.leaves);
        Ok(self.plan)
    }

    /// Sets the places of inputs, constants and literals.
    fn place_sources(&mut self) {
        for value in self.graph.values() {
            let aval = self.graph.aval(value);
            let (buffer, start) = match self.graph.def(value) {
                Def::Input(i) => (INPUTS + i, 0),
                Def::Constant(i) => (INPUTS + self.graph.inputs().len() + i, 0),
                Def::Literal(literal) => {
                    let start = self.plan.literals.len();
                    self.plan.literals.push(literal.to_bytes());
                    (LITERALS, start)
                }
                Def::Result(..) => continue,
            };
            self.places[value.index()] = Some(Span { buffer, range: start..start + aval.bytes() });
        }
    }

    /// Finds the unit after which each root is no longer read; roots of outputs that are copied at the end
    /// stay.
    fn find_last_uses(&mut self) {
        for (number, unit) in self.units.units.iter().enumerate() {
            stop::work(NODE);
            for (node, plan) in unit.nodes.iter().map(|&n| (&self.graph.nodes()[n], &self.units.plans[n])) {
                let alone = unit.group.is_none() && !node.op.updates();
                for (i, &v) in node.operands.iter().enumerate() {
                    self.read[self.views.root(v).index()] |= alone || plan.reads_whole(i);
                }
                for &v in node.operands.iter().chain(&node.results) {
                    let last = &mut self.last_use[self.views.root(v).index()];
                    *last = number.max(*last);
                }
            }
        }
        for &v in self.graph.outputs() {
            self.last_use[self.views.root(v).index()] = usize::MAX;
        }
    }

    /// Pairs donated inputs with outputs that may take over their memory. An output that is computed while
    /// the input is still read is computed in the arena and copied at the end, which saves memory.
    fn donate(&mut self, donated: &[usize]) {
        let operands = self.graph.nodes().iter().flat_map(|node| &node.operands);
        let read: FxHashSet<Value> = operands.map(|&v| self.views.root(v)).collect();
        let candidates = Candidates::of(self.graph, &self.views);
        for &input in donated {
            let value = self.graph.inputs()[input];
            let unread = !read.contains(&value);
            let free_after = self.last_use[value.index()];
            let outputs = self.graph.outputs();
            let root = |k: usize| self.views.root(outputs[k]);
            // A result of a group may have the place of an input that the group reads; two results may not
            // share one.
            let taken = |k: usize| self.in_place.contains_key(&root(k));
            let late = |k: usize| !unread && self.units.made[root(k).index()] == Some(free_after);
            let begun = |k: usize| self.updates.begun.contains(&(input, k));
            let direct = |k: usize| {
                // What is updated in place is there from its first value on.
                let first = self.updates.chain(root(k)).last().unwrap_or(root(k));
                let made = self.units.made[self.frames.framed(first).unwrap_or(first).index()];
                let is_late = late(k) && first == root(k) && !taken(k) && self.meets(first, value);
                let after = begun(k) || unread || made > Some(free_after) || is_late;
                self.output_of[root(k).index()] == Some(k) && after
            };
            let free = candidates.for_input(self.graph, input).iter().copied();
            let mut free = free.filter(|&k| self.plan.donations[k].is_none());
            let Some(k) = free.clone().find(|&k| direct(k)).or(free.next()) else { continue };
            let (out, direct, late) = (root(k), direct(k), late(k) && !begun(k));
            if !direct && self.output_of[out.index()] == Some(k) {
                self.updates.chain(out).for_each(|root| self.output_of[root.index()] = None);
            }
            if direct && late {
                self.put_in_place(out, value);
            }
            self.plan.donations[k] = Some(input);
        }
    }

    /// Whether a group that computes `result` reads `operand`, of as many bytes, only element by element at
    /// the same positions.
    fn meets(&self, result: Value, operand: Value) -> bool {
        let Some(unit) = self.units.made[result.index()].map(|unit| &self.units.units[unit]) else {
            return false;
        };
        let Some(group) = unit.group else { return false };
        let (made, read) = (self.graph.aval(result), self.graph.aval(operand));
        if made.shape.size() != group.len
            || read.shape.size() != group.len
            || made.dtype.bytes() != read.dtype.bytes()
        {
            return false;
        }
        unit.nodes.iter().map(|&n| (&self.graph.nodes()[n], &self.units.plans[n])).all(|(node, plan)| {
            // A reduction of segments of one element has as many results, but other tiles.
            let (folds, whole) = (plan.folds(), plan.reads_any_whole());
            let in_place = |&v: &Value| self.views.root(v) != operand || (self.views.is_whole(v) && !whole);
            !((folds || whole) && node.results[0] == result) && node.operands.iter().all(in_place)
        })
    }

    /// Has a root computed in the place of an operand.
    fn put_in_place(&mut self, root: Value, operand: Value) {
        self.in_place.insert(root, operand);
        self.given[operand.index()] = true;
    }

    fn place_result(&mut self, value: Value) {
        let bytes = self.graph.aval(value).bytes();
        if let Some(operand) = self.updates.operand(value) {
            self.places[value.index()] = self.places[operand.index()].clone();
            self.put_in_place(value, operand);
            return;
        }
        if let Some(inside) = self.frames.inside(value).cloned() {
            if self.places[inside.whole.index()].is_none() {
                self.place_result(inside.whole);
            }
            let whole = self.places[inside.whole.index()].clone().expect("placed above");
            self.places[value.index()] = Some(inside.within(whole, self.graph.aval(value).dtype.bytes()));
            return;
        }
        let span = match (self.parts.get(&value).copied(), self.output_of[value.index()]) {
            (Some((whole, at)), _) => {
                if self.places[whole.index()].is_none() {
                    self.place_result(whole);
                }
                let Span { buffer, range } = self.places[whole.index()].clone().expect("placed above");
                Span { buffer, range: range.start + at..range.start + at + bytes }
            }
            (None, Some(k)) => Span { buffer: self.first_output() + k, range: 0..bytes },
            (None, None) => self.take(bytes),
        };
        self.places[value.index()] = Some(span);
    }

    /// A place in the arena.
    fn take(&mut self, bytes: usize) -> Span {
        let start = self.arena.allocate(bytes);
        Span { buffer: ARENA, range: start..start + bytes }
    }

    /// A step of its own for one node.
    fn step(&mut self, number: usize, control: CompileControl) -> Result<()> {
        let node = &self.graph.nodes()[number];
        let mut operands: Vec<(Aval, Place)> = node
            .operands
            .iter()
            .map(|&v| (self.graph.aval(v).clone(), self.filled(&node.op, v).unwrap_or_else(|| self.place(v))))
            .collect();
        let results =
            node.results.iter().map(|&v| (self.graph.aval(v).clone(), self.place(v).span)).collect();
        let control = control(&node.op)?;
        let mut copies = Vec::new();
        if control.is_some() {
            for operand in &mut operands {
                self.make_dense(operand, &mut copies);
            }
        }
        let action = match control {
            Some(control) => Action::Control(control),
            None => Action::Apply(node.op.clone(), Prepared::new(&node.op, &operands)),
        };
        push(&mut self.plan.steps, Step { action, operands, results });
        copies.into_iter().for_each(|(start, bytes)| self.arena.release(start, bytes));
        Ok(())
    }

    /// Copies the frame of a node's result, from an operand.
    fn frame(&mut self, number: usize, around: Value) {
        let node = &self.graph.nodes()[number];
        let place = self.filled(&node.op, around).unwrap_or_else(|| self.place(around));
        let step = self.frames.step(self.graph, node, place, self.place(node.results[0]).span);
        step.into_iter().for_each(|step| push(&mut self.plan.steps, step));
    }

    /// The place of an operand that is a fill, if the op reads the one element that it consists of.
    fn filled(&mut self, op: &Op, v: Value) -> Option<Place> {
        let fill = self.views.fill(self.graph, v).filter(|_| op.updates())?;
        let range = self.plan.literals.len()..self.plan.literals.len() + fill.dtype().bytes();
        self.plan.literals.push(fill.to_bytes());
        let layout = Layout { strides: vec![0; self.graph.aval(v).shape.rank()], offset: 0 };
        Some(Place { span: Span { buffer: LITERALS, range }, layout })
    }

    /// Whether a node is a fill that nothing reads from memory: its readers are groups, which make it
    /// themselves, and ops that read one element.
    fn is_unread(&self, number: usize) -> bool {
        let root = self.graph.nodes()[number].results[0];
        let is_output = self.last_use[root.index()] == usize::MAX;
        self.views.fill(self.graph, root).is_some() && !is_output && !self.read[root.index()]
    }

    /// One step for a group.
    fn group(&mut self, unit: usize, nodes: &[usize], group: Group) {
        let results = nodes.iter().map(|&n| self.graph.nodes()[n].results[0]);
        let kept: Vec<Value> = results.filter(|v| self.units.kept[v.index()]).collect();
        for &root in &kept {
            match self.dying(unit, nodes, root) {
                Some(operand) => {
                    self.places[root.index()] = self.places[operand.index()].clone();
                    self.put_in_place(root, operand);
                }
                None => self.place_result(root),
            }
        }
        let within = |root: Value| {
            let inside = self.frames.inside(root).filter(|inside| !inside.is_contiguous())?;
            Some((inside.shape.clone(), inside.layout.clone(), self.graph.aval(inside.whole).bytes()))
        };
        let wanted = |&root: &Value| Kept { root, when: self.stored(root, group), within: within(root) };
        let mut wanted: Vec<Kept> = kept.iter().map(wanted).collect();
        let mut results: Vec<(Aval, Span)> =
            kept.iter().map(|&v| (self.graph.aval(v).clone(), self.place(v).span)).collect();
        for &root in kept.iter().filter(|&&root| self.graph.aval(root).shape.size() == group.len) {
            for k in self.repeated.remove(&root).unwrap_or_default() {
                let aval = self.graph.aval(self.graph.outputs()[k]).clone();
                let span = Span { buffer: self.first_output() + k, range: 0..aval.bytes() };
                wanted.push(Kept { root, when: Stored::Made, within: None });
                results.push((aval, span));
                self.copied.push(k);
            }
        }
        let Compiled { program, operands, partials } =
            compile(self.graph, &self.views, &self.units.plans, nodes, group, &wanted, &|v| self.place(v));
        let stored = results.len();
        for bytes in partials {
            let shape = Shape::try_new(vec![bytes]).expect("fewer bytes than the operand has");
            results.push((Aval::known(DType::UI8, shape), self.take(bytes)));
        }
        for (_, span) in &results[stored..] {
            self.arena.release(span.range.start, span.range.len());
        }
        push(&mut self.plan.steps, Step { action: Action::Tiles(Arc::new(program)), operands, results });
    }

    /// Finds outputs that are a value beside the one in whose place it is computed, and whose places are not those
    /// of inputs: a group that makes the value writes these, too.
    fn find_repeated(&mut self) {
        for (k, &v) in self.graph.outputs().iter().enumerate() {
            let root = self.views.root(v);
            let is_other = self.output_of[root.index()] != Some(k) && self.plan.donations[k].is_none();
            if is_other && self.views.is_whole(v) {
                self.repeated.entry(root).or_default().push(k);
            }
        }
    }

    /// How a group stores a result.
    fn stored(&self, root: Value, group: Group) -> Stored {
        let aval = self.graph.aval(root);
        if self.in_place.contains_key(&root) {
            return Stored::Late;
        }
        let (whole, _) = self.parts.get(&root).copied().unwrap_or((root, 0));
        let far = self.leaves
            && self.output_of[whole.index()].is_some()
            && aval.bytes() >= FAR
            && aval.shape.size() == group.len;
        if far && !self.read_on.get_or_init(|| self.find_read_on())[root.index()] {
            Stored::Past
        } else {
            Stored::Made
        }
    }

    /// For each root, whether another unit than its own reads it, or it is what a group folds into or a
    /// product, which the group reads itself: a reduction of segments of one element has as many results.
    fn find_read_on(&self) -> Vec<bool> {
        let mut read = table(false, self.places.len());
        for (number, unit) in self.units.units.iter().enumerate() {
            for (node, plan) in unit.nodes.iter().map(|&n| (&self.graph.nodes()[n], &self.units.plans[n])) {
                if plan.is_fold_or_product() {
                    read[node.results[0].index()] = true;
                }
                let read_here = node.operands.iter().filter(|&&v| !self.is_part(node, v));
                let others = read_here.map(|&v| self.views.root(v));
                let others = others.filter(|root| self.units.made[root.index()] != Some(number));
                others.for_each(|root| read[root.index()] = true);
            }
        }
        read
    }

    /// A value in the arena that a group reads for the last time, whose place this result may take. Small
    /// values are in the cache anyway.
    fn dying(&self, unit: usize, nodes: &[usize], result: Value) -> Option<Value> {
        const WORTH_IT: usize = 1 << 18;
        let placed = self.output_of[result.index()].is_some()
            || self.parts.contains_key(&result)
            || self.frames.inside(result).is_some();
        if placed || self.graph.aval(result).bytes() < WORTH_IT {
            return None;
        }
        let operands =
            nodes.iter().flat_map(|&n| &self.graph.nodes()[n].operands).map(|&v| self.views.root(v));
        let mut candidates = operands.filter(|root| {
            let in_arena = self.places[root.index()].as_ref().is_some_and(|span| span.buffer == ARENA);
            let own = self.units.made[root.index()] == Some(unit);
            let dies = self.last_use[root.index()] == unit
                && self.output_of[root.index()].is_none()
                && !self.parts.contains_key(root);
            // Its parts may be read at other positions.
            let joined = self.whole[root.index()];
            in_arena && dies && !own && !joined && self.meets(result, *root) && !self.given[root.index()]
        });
        candidates.next()
    }

    /// Adds a step that copies.
    fn copy(&mut self, aval: Aval, from: Place, to: Span) {
        let past = self.leaves && to.buffer >= self.first_output() && aval.bytes() >= FAR;
        let (action, operands) = (Action::Copy { past }, vec![(aval.clone(), from)]);
        push(&mut self.plan.steps, Step { action, operands, results: vec![(aval, to)] });
    }

    /// Copies a view to the arena; records the bytes that it takes there.
    fn make_dense(&mut self, (aval, place): &mut (Aval, Place), copies: &mut Vec<(usize, usize)>) {
        if place.layout.is_dense(&aval.shape)
            && place.layout.offset == 0
            && place.span.range.len() == aval.bytes()
        {
            return;
        }
        let span = self.take(aval.bytes());
        copies.push((span.range.start, aval.bytes()));
        self.copy(aval.clone(), place.clone(), span.clone());
        *place = Place { span, layout: Layout::dense(&aval.shape) };
    }

    fn release(&mut self, unit: usize, nodes: &[usize]) {
        let nodes = nodes.iter().map(|&n| &self.graph.nodes()[n]);
        let mut roots: Vec<Value> = nodes
            .flat_map(|node| node.operands.iter().chain(&node.results))
            .map(|&v| self.views.root(v))
            .collect();
        // The last use of a part may be the last use of the value that contains it.
        let mut next = 0;
        while let Some(root) = roots.get(next) {
            roots.extend(self.parts.get(root).map(|(whole, _)| *whole));
            next += 1;
        }
        roots.sort_unstable();
        roots.dedup();
        for root in roots {
            if self.last_use[root.index()] == unit
                && self.output_of[root.index()].is_none()
                && !self.given[root.index()]
                && !self.parts.contains_key(&root)
                && self.frames.inside(root).is_none()
            {
                let Some(span) = &self.places[root.index()] else { continue };
                if span.buffer == ARENA {
                    self.arena.release(span.range.start, span.range.len());
                }
            }
        }
    }
}
