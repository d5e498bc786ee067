//! From the nodes of a group to its instructions.

use super::{chain, cut, pair, Folded, Load, Program, Sum};
use crate::dtype::{dispatch, DType};
use crate::exec::group::{by_blocks, by_vector, dtypes, role, Group, Role};
use crate::exec::plan::Place;
use crate::exec::vm::native;
use crate::exec::vm::superinstruction::Step;
use crate::exec::vm::{self, Across, Blocks, Code, Folding, Instruction, Kernel, Slot, Work};
use crate::graph::{Def, Value};
use crate::kernels::cast::by_width;
use crate::kernels::reductions::fold::{Accumulators, PARTIAL};
use crate::kernels::tile::TILE;
use crate::ops::{ByVector, Graph, Op};
use crate::passes::Views;
use crate::shape::Shape;
use crate::tensor::{Aval, Layout, Literal};
use std::collections::HashMap;

/// A result that is kept.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// The value.
    pub root: Value,
    /// When it is stored where it is to be.
    pub when: Stored,
}

/// When and how a kept result is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stored {
    /// It is made there.
    Made,
    /// When its tile is done: its place may be that of an operand.
    Late,
    /// When its tile is done, past the caches.
    Past,
}

/// A compiled group: the program, and the values that it reads from memory, where they are, in order.
#[derive(Debug)]
pub struct Compiled {
    /// The program.
    pub program: Program,
    /// What it reads.
    pub operands: Vec<(Aval, Place)>,
    /// Bytes of partial results, one buffer for each reduction that needs one: these are results of the step
    /// after those that are kept.
    pub partials: Vec<usize>,
}

/// Where a value is while the program is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Home {
    /// Among the operands.
    Operand(usize),
    /// Among the results.
    Result(usize),
    /// In a register that is not yet chosen, or that holds one value for ever.
    Register,
}

/// A value of the program.
pub(super) struct Virtual {
    pub home: Home,
    pub dtype: DType,
    /// The last instruction that reads it; never freed if it is a constant.
    last: usize,
    pub constant: bool,
    /// What it is, if it is known.
    pub literal: Option<Literal>,
}

/// An instruction before registers are chosen.
pub(super) struct Draft {
    pub make: Make,
    pub operands: Vec<usize>,
    pub result: usize,
    /// Whether it works on what segments were folded into.
    pub folded: bool,
    /// What it is as one of a pair.
    pub step: Option<(Step, DType)>,
    /// What it is as one of a chain.
    pub native: Option<native::Op>,
    /// Whether it copies its operand past the caches.
    pub past: bool,
}

/// An instruction of which only registers are missing.
pub(super) struct Item {
    pub make: Make,
    pub reads: Vec<usize>,
    pub writes: Vec<usize>,
    pub folded: bool,
    /// As of the draft.
    pub past: bool,
}

/// What it does.
pub(super) enum Make {
    Kernel(Box<dyn FnOnce() -> Kernel>),
    Native(native::Native),
    /// It is folded across the tiles of columns.
    Fold(Accumulators),
}

impl From<Draft> for Item {
    fn from(draft: Draft) -> Item {
        let Draft { make, operands, result, folded, past, .. } = draft;
        Item { make, reads: operands, writes: vec![result], folded, past }
    }
}

impl Draft {
    fn new(make: impl FnOnce() -> Kernel + 'static, operands: Vec<usize>, result: usize) -> Draft {
        Draft {
            make: Make::Kernel(Box::new(make)),
            operands,
            result,
            folded: false,
            step: None,
            native: None,
            past: false,
        }
    }
}

struct Compiler<'a> {
    graph: &'a Graph,
    views: &'a Views,
    place: &'a dyn Fn(Value) -> Place,
    group: Group,
    nodes: &'a [usize],
    values: Vec<Virtual>,
    /// What is known of values of the graph, by root, and of operands in other layouts, by value.
    known: HashMap<(Value, bool), usize>,
    /// Roots that are read whole.
    wholes: HashMap<Value, usize>,
    operands: Vec<(Aval, Place)>,
    loads: Vec<Load>,
    before: Vec<Draft>,
    /// What makes the product that the group begins with, and its rows.
    product: Option<(Draft, usize)>,
    each: Vec<Draft>,
}

/// Compiles the nodes of a group. `place` says where values are that it reads from memory.
pub fn compile(
    graph: &Graph,
    views: &Views,
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
        known: HashMap::new(),
        wholes: HashMap::new(),
        operands: vec![],
        loads: vec![],
        before: vec![],
        product: None,
        each: vec![],
    };
    let (mut picoseconds, mut names, mut folds, mut partials) = (0, vec![], vec![], vec![]);
    let mut stores = vec![];
    // Segments that are longer than a tile leave partial results.
    let parts = group.across.map_or(cut(group, 0).parts(), |rows| vm::parts(group.len, rows));
    for &number in nodes {
        let node = &graph.nodes()[number];
        let result = node.results[0];
        names.push(node.op.row().name);
        let role = role(graph, views, number);
        let read = |(i, &v): (usize, &Value)| {
            if role.reads_whole(i) {
                compiler.whole(v)
            } else {
                compiler.operand(v)
            }
        };
        let mut operands: Vec<usize> = node.operands.iter().enumerate().map(read).collect();
        if let (Role::Product(..), Op::DotGeneral(op)) = (role, &node.op) {
            if let (Some(product), Some(number)) =
                (by_blocks(graph, views, op, &node.operands), kept.iter().position(|k| k.root == result))
            {
                picoseconds += product.picoseconds();
                let value = compiler.value(Home::Result(number), product.dtype);
                compiler.known.insert((result, true), value);
                compiler.product =
                    Some((Draft::new(move || product.kernel(), operands, value), product.rows));
                continue;
            }
        }
        let product = match &node.op {
            Op::DotGeneral(op) => by_vector(graph, views, op, &node.operands),
            _ => None,
        };
        if let Some(product) = product {
            operands.swap(0, product.matrix);
        }
        match role {
            Role::Fold(..) | Role::Across(..) => operands[0] = compiler.spread(operands[0]),
            Role::Columns(..) => operands[1] = compiler.spread(operands[1]),
            _ => {}
        }
        let from = dtypes(graph, &node.operands);
        picoseconds += product.map_or(group.len * node.op.picoseconds(&from), ByVector::picoseconds);
        let number = kept.iter().position(|k| k.root == result);
        let sum = match (&node.op, role, product) {
            (Op::Reduction(op), ..) => Some((Sum::Reduction(op.clone(), from[0]), PARTIAL)),
            (_, Role::Columns(..), Some(product)) => Some((Sum::Product(product), from[0].bytes())),
            _ => None,
        };
        let home = match (sum, number) {
            (Some((sum, bytes)), Some(number)) if parts > 1 => {
                let partial = kept.len() + partials.len();
                partials.push(parts * graph.aval(result).shape.size() * bytes);
                folds.push(Folded { sum, partials: partial, result: number });
                Home::Result(partial)
            }
            (_, Some(number)) if kept[number].when == Stored::Made => Home::Result(number),
            _ => Home::Register,
        };
        let dtype = graph.aval(result).dtype;
        let value = compiler.value(home, dtype);
        compiler.known.insert((result, true), value);
        let op = node.op.clone();
        let folded = !matches!(role, Role::Fold(..) | Role::Across(..) | Role::Columns(..))
            && compiler.is_folded(result);
        if let (Some(_), Op::Reduction(op)) = (group.across, &op) {
            let make = Make::Fold(op.accumulators(from[0]));
            compiler.each.push(Draft {
                make,
                operands,
                result: value,
                folded: false,
                step: None,
                native: None,
                past: false,
            });
            continue;
        }
        let (step, native) = (pair::step(&op, &from), op.native(&from));
        let first = role
            .reads_whole(0)
            .then(|| (graph.aval(node.operands[0]).shape.size(), views.layout(graph, node.operands[0])));
        let make = move || match (&op, product, first) {
            (_, Some(product), _) => product.kernel(role.reads_whole(1 - product.matrix)),
            (Op::RngBits(op), _, Some((_, layout))) => op.kernel(&layout),
            (Op::Gather(op), _, Some((size, layout))) => op.kernel(size, &layout, &from),
            _ => kernel(&op, &from),
        };
        compiler.each.push(Draft { folded, step, native, ..Draft::new(make, operands, value) });
        if let (Some(number), Home::Register) = (number, home) {
            stores.push((value, number, dtype));
        }
    }
    for (value, number, dtype) in stores {
        let result = compiler.value(Home::Result(number), dtype);
        let past = kept[number].when == Stored::Past;
        let make = move || if past { by_width!(dtype, T => Kernel::stream::<T>()) } else { copy(dtype) };
        compiler.each.push(Draft { past, ..Draft::new(make, vec![value], result) });
    }
    let late = kept.iter().map(|k| k.when == Stored::Late).chain(partials.iter().map(|_| false)).collect();
    let (operands, loads) = (std::mem::take(&mut compiler.operands), std::mem::take(&mut compiler.loads));
    let streams = operands.len();
    for (aval, load) in operands.iter().map(|(aval, _)| aval).zip(&loads) {
        picoseconds += match load {
            Load::Gather => group.len * 1_000,
            Load::Direct | Load::Splat => group.len * 25 * aval.dtype.bytes(),
            // It is part of what the product costs.
            Load::Whole => 0,
        };
    }
    let code = compiler.assemble(streams);
    Compiled { program: Program { code, loads, late, folds, picoseconds, names }, operands, partials }
}

fn kernel(op: &Op, from: &[DType]) -> Kernel {
    match op {
        Op::Reduction(op) => op.kernel(from[0]),
        op => op.kernel(from).expect("groups have nodes with kernels"),
    }
}

fn copy(dtype: DType) -> Kernel {
    by_width!(dtype, T => Kernel::copy::<T>())
}

impl Compiler<'_> {
    fn value(&mut self, home: Home, dtype: DType) -> usize {
        self.values.push(Virtual { home, dtype, last: 0, constant: false, literal: None });
        self.values.len() - 1
    }

    fn constant(
        &mut self,
        dtype: DType,
        operands: Vec<usize>,
        make: impl FnOnce() -> Kernel + 'static,
    ) -> usize {
        let value = self.value(Home::Register, dtype);
        self.values[value].constant = true;
        self.before.push(Draft::new(make, operands, value));
        value
    }

    /// A value of which there are whole tiles.
    fn spread(&mut self, value: usize) -> usize {
        let Virtual { dtype, constant, .. } = self.values[value];
        if !constant {
            return value;
        }
        let result = self.value(Home::Register, dtype);
        self.each.push(Draft::new(move || copy(dtype), vec![value], result));
        result
    }

    /// The value of the program that is this operand.
    fn operand(&mut self, v: Value) -> usize {
        let (root, whole) = (self.views.root(v), self.views.is_whole(v));
        let key = if whole { (root, true) } else { (v, false) };
        if let Some(&value) = self.known.get(&key) {
            return value;
        }
        let made = |this: &mut Self| this.source(root, whole).or_else(|| this.repeated(root));
        let value = made(self).unwrap_or_else(|| self.load(v));
        self.known.insert(key, value);
        value
    }

    /// Whether a value is of what segments are folded into: it has an element for each.
    fn is_folded(&self, value: Value) -> bool {
        self.graph.aval(value).shape.size() != self.group.len
    }

    /// What a root that this group folds segments into is for their elements: a group reads what it makes
    /// either in its place or so ([`Views::repeats`]).
    fn repeated(&mut self, root: Value) -> Option<usize> {
        let Def::Result(node, _) = self.graph.def(root) else { return None };
        if self.nodes.binary_search(&node).is_err() {
            return None;
        }
        let dtype = self.graph.aval(root).dtype;
        let (operands, result) = (vec![self.known[&(root, true)]], self.value(Home::Register, dtype));
        let make = move || by_width!(dtype, T => Kernel::repeat::<T>());
        self.each.push(Draft::new(make, operands, result));
        Some(result)
    }

    /// A value that is made from nothing, here.
    fn source(&mut self, root: Value, whole: bool) -> Option<usize> {
        let Def::Result(node, _) = self.graph.def(root) else { return None };
        match &self.graph.nodes()[node].op {
            Op::Fill(op) => {
                let value = op.value;
                let make = move || dispatch!(value.dtype(), T => Kernel::fill::<T>(value));
                let constant = self.constant(value.dtype(), vec![], make);
                self.values[constant].literal = Some(value);
                Some(constant)
            }
            Op::Iota(op) if whole => {
                let (start, dtype) = (op.start, op.dtype);
                let (size, stride) = (op.shape[op.axis.0], op.shape.strides()[op.axis.0]);
                let result = self.value(Home::Register, dtype);
                let make = move || dispatch!(dtype, T => Kernel::iota::<T>(start, stride, size));
                self.each.push(Draft { folded: self.is_folded(root), ..Draft::new(make, vec![], result) });
                Some(result)
            }
            _ => None,
        }
    }

    /// A value that is read from memory.
    fn load(&mut self, v: Value) -> usize {
        let aval = self.graph.aval(v).clone();
        let (mut place, dtype) = ((self.place)(v), aval.dtype);
        let (shape, layout) = merged(&aval.shape, &place.layout);
        let number = self.operands.len();
        let stream = self.value(Home::Operand(number), dtype);
        let (load, value) = match (&*shape, layout.strides.as_slice()) {
            ([], _) if aval.shape.size() > 1 => {
                let element = layout.offset;
                let make = move || by_width!(dtype, T => Kernel::splat::<T>(element));
                (Load::Splat, self.constant(dtype, vec![stream], make))
            }
            ([], _) | ([_], [1]) => {
                let start = place.span.range.start + layout.offset * dtype.bytes();
                place.span.range = start..start + aval.bytes();
                (Load::Direct, stream)
            }
            _ => {
                let result = self.value(Home::Register, dtype);
                let make = move || by_width!(dtype, T => Kernel::gather::<T>(shape, layout));
                self.each.push(Draft { folded: self.is_folded(v), ..Draft::new(make, vec![stream], result) });
                (Load::Gather, result)
            }
        };
        self.operands.push((aval, place));
        self.loads.push(load);
        value
    }

    /// A value of which each tile reads all, in memory: from the start of its root on.
    fn whole(&mut self, v: Value) -> usize {
        let root = self.views.root(v);
        if let Some(&value) = self.wholes.get(&root) {
            return value;
        }
        let aval = self.graph.aval(root).clone();
        let value = self.value(Home::Operand(self.operands.len()), aval.dtype);
        self.operands.push((aval, (self.place)(root)));
        self.loads.push(Load::Whole);
        self.wholes.insert(root, value);
        value
    }

    /// Chooses registers and makes the instructions.
    fn assemble(mut self, streams: usize) -> Code {
        let each = std::mem::take(&mut self.each);
        let each = match chain::join(each, &self.values) {
            Ok(items) => items,
            Err(each) => pair::join(each, &self.values).into_iter().map(Item::from).collect(),
        };
        let copies_past = each.iter().any(|item| item.past);
        // What is known is written into native code.
        let mut read = vec![false; self.values.len()];
        each.iter().flat_map(|item| &item.reads).for_each(|&value| read[value] = true);
        self.before.retain(|draft| read[draft.result]);
        for (at, item) in each.iter().enumerate() {
            // A result that nobody reads has its register for one instruction.
            // What is folded across columns is read when all others are done.
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
        let repeats = cut(self.group, 0).constant();
        let mut constants = 0;
        for draft in &self.before {
            registers[draft.result] = Some(constants);
            constants += (repeats * self.values[draft.result].dtype.bytes()).next_multiple_of(64);
        }
        for (at, item) in each.iter().enumerate() {
            // An instruction never writes what it reads, so operands are freed after.
            for &value in &item.writes {
                let result = &self.values[value];
                if result.home == Home::Register {
                    registers[value] = Some(take(result.dtype.bytes(), &mut free));
                }
            }
            let mut read = [item.reads.as_slice(), &item.writes].concat();
            read.sort_unstable();
            read.dedup();
            for value in read {
                let Virtual { last, dtype, constant, .. } = self.values[value];
                if let (true, false, Some(register)) = (last == at, constant, registers[value]) {
                    free[dtype.bytes()].push(register);
                }
            }
        }
        let width = counts.iter().enumerate().map(|(width, count)| width * count).sum();
        let mut cut = cut(self.group, width);
        if copies_past && self.group.segment.is_none() {
            // What waits to be written past the caches is written while the next tile is computed: half as
            // much is waited for 10 to 20 % less.
            cut.tile = cut.tile.min(TILE / 2);
        }
        // A cache line apart, so that equal places of two registers do not share their low address bits.
        let bytes = |width: usize| (cut.longest() * width).next_multiple_of(64) + 64;
        let mut starts = [0; 18];
        for width in 0..17 {
            starts[width + 1] = starts[width] + counts[width] * bytes(width);
        }
        let values = &self.values;
        let slot = |value: usize| match (values[value].home, registers[value]) {
            (Home::Operand(i), _) => Slot::Stream(i),
            (Home::Result(i), _) => Slot::Stream(streams + i),
            (Home::Register, Some(start)) if values[value].constant => Slot::Constant(start),
            (Home::Register, register) => {
                let width = values[value].dtype.bytes();
                Slot::Register(starts[width] + register.unwrap_or(0) * bytes(width))
            }
        };
        let mut folds = vec![];
        let mut instruction = |Item { make, reads, writes, folded, .. }: Item| {
            let work = match make {
                Make::Kernel(make) => {
                    let mut operands = [Slot::Register(0); 3];
                    operands.iter_mut().zip(&reads).for_each(|(operand, &value)| *operand = slot(value));
                    Work::Kernel { kernel: make(), operands, result: slot(writes[0]) }
                }
                Make::Native(native) => {
                    Work::Native(native, reads.iter().chain(&writes).map(|&value| slot(value)).collect())
                }
                Make::Fold(accumulators) => {
                    let (operand, width) = (slot(reads[0]), values[reads[0]].dtype.bytes());
                    let Slot::Stream(result) = slot(writes[0]) else {
                        unreachable!("what is folded across columns is kept")
                    };
                    folds.push(Folding { accumulators, width, operand, result });
                    return None;
                }
            };
            Some(Instruction { work, folded })
        };
        let before = self.before.into_iter().filter_map(|draft| instruction(draft.into())).collect();
        let each = each.into_iter().filter_map(&mut instruction).collect();
        let blocks =
            self.product.and_then(|(draft, rows)| Some(Blocks { product: instruction(draft.into())?, rows }));
        let across = self.group.across.map(|rows| Across { rows, folds });
        Code { before, each, registers: starts[17], constants, cut, across, blocks }
    }
}

/// Shape and layout with the dimensions joined that lie in one line; those of one element are left out, and
/// an element that is repeated everywhere has none.
fn merged(shape: &Shape, layout: &Layout) -> (Shape, Layout) {
    let mut lines = layout.lines(shape, 0..shape.rank());
    if lines.iter().all(|&(_, stride)| stride == 0) {
        lines.clear();
    }
    let (sizes, strides) = lines.into_iter().unzip();
    (Shape::try_new(sizes).expect("as many elements as before"), Layout { strides, offset: layout.offset })
}
