//! Compilation of the nodes of a group to instructions.

use super::draft::{Draft, Item, Location, Make, Virtual};
use super::program::{Folded, Load, Program};
use super::{chains, pairs};
use crate::dtype::DType;
use crate::exec::partition::Group;
use crate::exec::place::Place;
use crate::exec::schedule::{Body, NodePlan, Schedule, LOADED, STORED};
use crate::exec::vm::{Across, Blocks, Code, Folding, Instruction, Kernel, Phased, Runs, Slot, Walk, Work};
use crate::graph::Value;
use crate::kernels::tile::MAX_OPERANDS;
use crate::ops::Graph;
use crate::passes::Views;
use crate::shape::Shape;
use crate::tensor::{Aval, Layout};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::OnceLock;

/// The estimated times in picoseconds on one core of a byte that is loaded for another view of its memory, and of
/// an element that is gathered (measured on an AMD EPYC, Zen 5).
const LOADED_AGAIN: usize = 5;
const GATHERED: usize = 1_000;

/// A result that is stored in memory. One with an element for each of the group's may be there more than once.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The value.
    pub root: Value,
    /// When it is stored.
    pub when: Stored,
    /// Where in its place its elements lie, if not side by side: a shape, a layout, and the bytes of the place.
    pub within: Option<(Shape, Layout, usize)>,
}

/// When and how a kept result is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stored {
    /// It is computed in place.
    Made,
    /// After its tile: its place may be that of an operand.
    Late,
    /// After its tile, past the caches.
    Past,
}

/// A compiled group: the program, and the values that it reads from memory, with their places, in order.
#[derive(Debug)]
pub struct Compiled {
    /// The program.
    pub program: Program,
    /// Its operands.
    pub operands: Vec<(Aval, Place)>,
    /// Bytes of partial results, one buffer for each reduction that needs one: these are results of the step
    /// after those that are kept.
    pub partials: Vec<usize>,
}

pub(super) struct Compiler<'a> {
    pub(super) graph: &'a Graph,
    pub(super) views: &'a Views,
    pub(super) place: &'a dyn Fn(Value) -> Place,
    pub(super) group: Group,
    pub(super) nodes: &'a [usize],
    pub(super) values: Vec<Virtual>,
    /// Values of the program for values of the graph, by root, and for operands in other layouts, by value.
    pub(super) known: FxHashMap<(Value, bool), usize>,
    /// Roots that are read whole.
    pub(super) wholes: FxHashMap<Value, usize>,
    pub(super) operands: Vec<(Aval, Place)>,
    pub(super) loads: Vec<Load>,
    /// For each element, the bytes that are read of operands as more than one view of them.
    pub(super) again: usize,
    before: Vec<Draft>,
    /// The instruction of the product that the group begins with.
    product: Option<Draft>,
    pub(super) each: Vec<Draft>,
}

/// Compiles the nodes of a group. `place` gives the places of values in memory.
pub fn compile(
    graph: &Graph,
    views: &Views,
    plans: &[NodePlan],
    nodes: &[usize],
    group: Group,
    kept: &[Kept],
    place: &dyn Fn(Value) -> Place,
) -> Compiled {
    let mut compiler = Compiler {
        graph,
        views,
        place,
        group,
        nodes,
        values: vec![],
        known: FxHashMap::default(),
        wholes: FxHashMap::default(),
        operands: vec![],
        loads: vec![],
        again: 0,
        before: vec![],
        product: None,
        each: vec![],
    };
    let (mut picoseconds, mut names, mut folds, mut partials) = (0, vec![], vec![], vec![]);
    let (mut stores, mut late_stores) = (vec![], vec![]);
    // Segments longer than a tile give partial results.
    let count = group.schedule.partials(group.len);
    let phased = matches!(group.schedule, Schedule::Lines(_));
    for &number in nodes {
        let (node, plan) = (&graph.nodes()[number], &plans[number]);
        let (result, from) = (node.results[0], dtypes(graph, &node.operands));
        names.push(node.op.row().name);
        picoseconds += plan.picoseconds(group.len);
        let mut operands = compiler.read(plan, &node.operands);
        if plan.folds() || plan.cumulates() {
            // A fold or a cumulation reads whole tiles, no constants.
            let folded = plan.folded();
            operands[folded] = compiler.spread(operands[folded]);
        }
        plan.order(&mut operands);
        let kept_as = kept.iter().position(|k| k.root == result);
        let here =
            |k: usize| kept[k].within.is_none() && kept[k].when == Stored::Made && !compiler.in_lines(result);
        let parts = count > 1 || plan.is_of_parts();
        let partial = if parts { plan.partial(graph, views, number) } else { None };
        let location = match (partial, kept_as) {
            (Some((finish, bytes)), Some(k)) => {
                let partial = kept.len() + partials.len();
                partials.push(count * graph.aval(result).shape.size() * bytes);
                folds.push(Folded { finish, partials: partial, result: k });
                Location::Result(partial)
            }
            (_, Some(k)) if here(k) || plan.is_block() => Location::Result(k),
            _ => Location::Register,
        };
        let dtype = graph.aval(result).dtype;
        let value = compiler.value(location, dtype);
        compiler.values[value].pinned = phased && compiler.is_folded(result);
        compiler.known.insert((result, true), value);
        let make = match plan.body(graph, views, number) {
            Body::Kernel(kernel) => Make::Kernel(kernel),
            Body::Fold(accumulators) => Make::Fold(accumulators),
        };
        let draft = Draft {
            folded: !plan.folds() && compiler.is_folded(result),
            by_column: plan.reads_any_whole() && compiler.in_lines(result),
            ring: pairs::ring_op(&node.op, &from),
            native: node.op.native(&from),
            ..Draft::of(make, operands, value)
        };
        if plan.is_block() {
            compiler.product = Some(draft);
            continue;
        }
        compiler.each.push(draft);
        if let (Some(k), Location::Register) = (kept_as, location) {
            stores.push((value, k, dtype));
        }
    }
    // A value that has several places is stored in the others, too.
    for (k, root) in kept.iter().map(|kept| kept.root).enumerate() {
        if kept[..k].iter().any(|first| first.root == root) {
            stores.push((compiler.known[&(root, true)], k, graph.aval(root).dtype));
        }
    }
    for (value, number, dtype) in stores {
        let result = compiler.value(Location::Result(number), dtype);
        if let Some((shape, layout, bytes)) = kept[number].within.clone() {
            let (joint, lines) = layout.merged(&shape);
            let into = Runs::of(&joint, &lines, dtype.bytes());
            let make = move || Kernel::place(dtype, shape, layout, bytes);
            compiler.each.push(Draft { into, ..Draft::new(make, vec![value], result) });
            continue;
        }
        let lines = compiler.packed_rows().filter(|_| compiler.in_lines(kept[number].root));
        let past = kept[number].when == Stored::Past && lines.is_none();
        let make = move || match lines {
            Some(rows) => Kernel::unpack(dtype, rows),
            None if past => Kernel::stream(dtype),
            None => Kernel::copy(dtype),
        };
        let folded = phased && compiler.values[value].pinned;
        compiler.each.push(Draft { past, folded, ..Draft::new(make, vec![value], result) });
        if kept[number].when == Stored::Late {
            late_stores.push(compiler.each.len() - 1);
        }
    }
    let phases = if phased { compiler.phases(&late_stores) } else { 0 };
    let late = kept.iter().map(|k| k.when == Stored::Late).chain(partials.iter().map(|_| false)).collect();
    let (operands, loads) = (std::mem::take(&mut compiler.operands), std::mem::take(&mut compiler.loads));
    let streams = operands.len();
    for (aval, load) in operands.iter().map(|(aval, _)| aval).zip(&loads) {
        picoseconds += match load {
            Load::Gather => group.len * GATHERED,
            Load::Direct | Load::Runs => group.len * LOADED * aval.dtype.bytes(),
            // The second is part of what the product costs.
            Load::Splat | Load::Whole => 0,
        };
    }
    picoseconds += group.len * LOADED_AGAIN * compiler.again;
    picoseconds += kept.iter().map(|k| STORED * graph.aval(k.root).bytes()).sum::<usize>();
    let code = compiler.assemble(streams, phases);
    Compiled { program: Program { code, loads, late, folds, picoseconds, names }, operands, partials }
}

/// Dtypes of a node's operands.
fn dtypes(graph: &Graph, operands: &[Value]) -> Vec<DType> {
    operands.iter().map(|&v| graph.aval(v).dtype).collect()
}

impl Compiler<'_> {
    pub(super) fn value(&mut self, location: Location, dtype: DType) -> usize {
        self.values.push(Virtual { location, dtype, last: 0, constant: false, literal: None, pinned: false });
        self.values.len() - 1
    }

    pub(super) fn constant(
        &mut self,
        dtype: DType,
        operands: Vec<usize>,
        make: impl FnOnce() -> Kernel + 'static,
    ) -> usize {
        let value = self.value(Location::Register, dtype);
        self.values[value].constant = true;
        self.before.push(Draft::new(make, operands, value));
        value
    }

    /// Whether a value is of what segments are folded into: it has an element for each.
    pub(super) fn is_folded(&self, value: Value) -> bool {
        self.graph.aval(value).shape.size() != self.group.len
    }

    /// The rows of its lines, if the group is one of lines.
    fn lines(&self) -> Option<usize> {
        match self.group.schedule {
            Schedule::Lines(rows) => Some(rows),
            _ => None,
        }
    }

    /// Whether a value is of the results of folds of lines: it is computed once for some rows.
    pub(super) fn is_pinned(&self, value: Value) -> bool {
        self.lines().is_some() && self.is_folded(value)
    }

    /// The rows of its lines, if its tiles are copies of rows of several columns.
    pub(super) fn packed_rows(&self) -> Option<usize> {
        self.lines().and_then(|_| self.group.schedule.packed(self.group.len))
    }

    /// Whether a value is of the elements of lines of which tiles are copies.
    pub(super) fn in_lines(&self, value: Value) -> bool {
        self.packed_rows().is_some() && !self.is_folded(value)
    }

    /// Puts instructions into phases: what a fold makes is there for the next one. What is made for the
    /// elements of one phase and read in another is kept. Returns how many there are.
    fn phases(&mut self, late: &[usize]) -> usize {
        // The phase from which on a value is there.
        let mut there = vec![0; self.values.len()];
        for draft in &mut self.each {
            draft.phase = draft.operands.iter().map(|&value| there[value]).max().unwrap_or(0);
            there[draft.result] = draft.phase + usize::from(matches!(draft.make, Make::Fold(_)));
        }
        let count = 1 + self.each.iter().map(|draft| draft.phase).max().unwrap_or(0);
        late.iter().for_each(|&at| self.each[at].phase = count - 1);
        // What reads memory alone is computed where it is read first.
        let mut first = vec![count; self.values.len()];
        for at in (0..self.each.len()).rev() {
            let result = self.each[at].result;
            let outside = |&value: &usize| matches!(self.values[value].location, Location::Operand(_));
            let loads = self.each[at].operands.iter().all(outside)
                && matches!(self.values[result].location, Location::Register);
            if loads && !matches!(self.each[at].make, Make::Fold(_)) && first[result] < count {
                self.each[at].phase = first[result];
            }
            let Draft { operands, phase, .. } = &self.each[at];
            operands.iter().for_each(|&value| first[value] = first[value].min(*phase));
        }
        let mut made = vec![None; self.values.len()];
        for draft in &self.each {
            if matches!(&draft.make, Make::Fold(fold) if fold.tiles.is_some()) {
                self.values[draft.operands[0]].location = Location::Kept;
            }
            for &value in &draft.operands {
                let Virtual { location, constant, pinned, .. } = &mut self.values[value];
                let is_here = *constant || *pinned || *location != Location::Register;
                if !is_here && made[value] != Some(draft.phase) {
                    *location = Location::Kept;
                }
            }
            made[draft.result] = Some(draft.phase);
        }
        count
    }

    /// Chooses registers and makes the instructions.
    fn assemble(mut self, streams: usize, phases: usize) -> Arc<Code> {
        let each = std::mem::take(&mut self.each);
        let each = match chains::join(each, &self.values) {
            Ok(items) => items,
            Err(each) => pairs::join(each, &self.values).into_iter().map(Item::from).collect(),
        };
        let mut each = each;
        // In phases, what is computed once comes before the columns.
        each.sort_by_key(|item| (item.phase, phases > 0 && !item.folded));
        let copies_past = each.iter().any(|item| item.past);
        // What is known is written into native code.
        let mut read = vec![false; self.values.len()];
        each.iter().flat_map(|item| &item.reads).for_each(|&value| read[value] = true);
        self.before.retain(|draft| read[draft.result]);
        for (at, item) in each.iter().enumerate() {
            // A result that nothing reads has its register for one instruction. What is folded across columns
            // is read when all others are done.
            let end = if let Make::Fold(_) = item.make { each.len() } else { at };
            for &value in item.reads.iter().chain(&item.writes) {
                self.values[value].last = end.max(self.values[value].last);
            }
        }
        // Registers are numbered by width; the free ones are those that were left last.
        let mut registers: Vec<Option<usize>> = vec![None; self.values.len()];
        let (mut counts, mut free) = ([0usize; 17], vec![Vec::new(); 17]);
        let mut take = |width: usize, free: &mut Vec<Vec<usize>>| {
            free[width].pop().unwrap_or_else(|| {
                counts[width] += 1;
                counts[width] - 1
            })
        };
        // How long constants are does not depend on registers.
        let Group { len, schedule } = self.group;
        let repeats = schedule.cut(len, 0, false).constant();
        let mut constants = 0;
        for draft in &self.before {
            registers[draft.result] = Some(constants);
            constants += (repeats * self.values[draft.result].dtype.bytes()).next_multiple_of(64);
        }
        for (at, item) in each.iter().enumerate() {
            // An instruction never writes what it reads, so operands are freed after.
            for &value in &item.writes {
                let result = &self.values[value];
                if result.location == Location::Register {
                    registers[value] = Some(take(result.dtype.bytes(), &mut free));
                }
            }
            let mut read = [item.reads.as_slice(), &item.writes].concat();
            read.sort_unstable();
            read.dedup();
            for value in read {
                let Virtual { last, dtype, constant, pinned, .. } = self.values[value];
                if let (true, false, Some(register)) = (last == at, constant || pinned, registers[value]) {
                    free[dtype.bytes()].push(register);
                }
            }
        }
        let width = counts.iter().enumerate().map(|(width, count)| width * count).sum();
        let cut = schedule.cut(len, width, copies_past);
        // A cache line apart, so that equal places of two registers do not share their low address bits.
        let bytes = |width: usize| (cut.longest() * width).next_multiple_of(64) + 64;
        let mut starts = [0; 18];
        for width in 0..17 {
            starts[width + 1] = starts[width] + counts[width] * bytes(width);
        }
        let (mut phased, mut kept_at) = (None, FxHashMap::default());
        let mut all = starts[17];
        if let Schedule::Lines(rows) = schedule {
            let columns = len / rows;
            let kept = (0..self.values.len()).filter(|&v| self.values[v].location == Location::Kept);
            let kept: Vec<usize> = kept.collect();
            let packed = schedule.packed(len).is_some();
            let read = self.operands.iter().filter(|(aval, _)| !packed && aval.shape.size() == len);
            let width = read.map(|(aval, _)| aval.dtype.bytes()).sum::<usize>();
            let width = width + kept.iter().map(|&v| self.values[v].dtype.bytes()).sum::<usize>();
            let some = lines_together(rows, columns, width.max(1), packed).min(cut.longest());
            for v in kept {
                kept_at.insert(v, all);
                all += (some * columns * self.values[v].dtype.bytes()).next_multiple_of(64) + 64;
            }
            phased = Some(Phased { rows: some, count: phases, packed });
        }
        let values = &self.values;
        let slot = |value: usize| match (values[value].location, registers[value]) {
            (Location::Operand(i), _) => Slot::Stream(i),
            (Location::Result(i), _) => Slot::Stream(streams + i),
            (Location::Kept, _) => Slot::Kept(kept_at[&value]),
            (Location::Register, Some(start)) if values[value].constant => Slot::Constant(start),
            (Location::Register, register) => {
                let width = values[value].dtype.bytes();
                Slot::Register(starts[width] + register.unwrap_or(0) * bytes(width))
            }
        };
        let mut folds = vec![];
        let mut instruction = |Item { make, reads, writes, folded, by_column, phase, .. }: Item| {
            let work = match make {
                Make::Kernel(make) => {
                    let mut operands = [Slot::Register(0); MAX_OPERANDS];
                    operands.iter_mut().zip(&reads).for_each(|(operand, &value)| *operand = slot(value));
                    Work::Kernel { kernel: make(), operands, result: slot(writes[0]) }
                }
                Make::Native(native, runs) => Work::Native(
                    native,
                    reads.iter().chain(&writes).map(|&value| slot(value)).collect(),
                    runs,
                ),
                Make::Fold(accumulators) => {
                    let (operand, width) = (slot(reads[0]), values[reads[0]].dtype.bytes());
                    let result = slot(writes[0]);
                    folds.push(Folding { accumulators, width, operand, result, phase });
                    return None;
                }
            };
            Some(Instruction { work, folded, by_column, phase })
        };
        let before = self.before.into_iter().filter_map(|draft| instruction(draft.into())).collect();
        let each = each.into_iter().filter_map(&mut instruction).collect();
        let product = self.product.and_then(|draft| instruction(draft.into()));
        let walk = match (schedule, product) {
            (Schedule::Across(rows) | Schedule::Lines(rows), _) => {
                Walk::Across(Across { rows, folds, phased })
            }
            (Schedule::Blocks(rows), Some(product)) => Walk::Blocks(Blocks { product, rows }),
            (Schedule::Cumulative { reverse, .. }, _) if cut.tiles_per_segment() > 1 => {
                Walk::Chained { reverse }
            }
            _ => Walk::Tiles,
        };
        let binding = OnceLock::new();
        Arc::new(Code { before, each, registers: all, constants, cut, walk, binding })
    }
}

/// Rows of which a group computes whole lines together, each of so many columns: what is kept of them, of so many
/// bytes for each element, stays in the second-level cache where that leaves runs of some cache lines, in which
/// columns are read and written. With 16 rows, a softmax of 575 rows and 8,646 columns takes 2.5 times as long as
/// with 64, of which the third-level cache holds what is kept. Threads share the rows.
fn lines_together(rows: usize, columns: usize, width: usize, packed: bool) -> usize {
    /// Bytes of the elements of some rows, and of those that are kept of copies.
    const CACHE: [usize; 2] = [1 << 19, 1 << 18];
    /// Elements that are too few to share.
    const SMALL: usize = 1 << 15;
    /// Rows that are folded together, at least and at most.
    const ROWS: (usize, usize) = (64, 1024);
    if rows * columns <= SMALL {
        return rows.min(ROWS.1);
    }
    let near = (CACHE[usize::from(packed)] / (columns * width)).min(rows.div_ceil(8));
    near.next_multiple_of(16).clamp(ROWS.0, ROWS.1).min(rows)
}
