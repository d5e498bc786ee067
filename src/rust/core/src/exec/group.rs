//! Which nodes are computed together.
//!
//! A *unit* is what is done at one time: a node by itself, or a group of elementwise nodes on equally many
//! elements, which go tile by tile from the inputs of the group to its outputs. What is used in its group
//! alone is never in memory.
//!
//! Units stand in an order of execution from the start. A node goes to a unit in which, or before which, all
//! is made that it reads; so no order can become circular. A second walk, backwards, moves a node to the
//! group of those who read it if its first place only meant that its result had to be kept.
//!
//! A reduction of elements that lie side by side is part of a group: it folds the tiles as they are made, in
//! the order and with the partial results that it has alone. If its segments are short enough for a tile to
//! be whole ones (`rows`), then what they are folded into is in a register too: it can be computed on there,
//! an element for each segment, and be repeated for the elements of the segments, in the same group. So a
//! softmax or a variance is read and written once.
//!
//! So is a product of a matrix and a vector if the matrix is narrow: its elements are made from the rows of a
//! matrix in memory, a tile at a time, or a vector that the group makes is multiplied with them, tile by
//! tile. What computes `t(X) %*% g(X %*% w)` reads a row of `X` for the second time while it is in the cache.
//!
//! A product of matrices begins a group: what is computed of its elements is computed while they are in the
//! cache.
//!
//! Random bits are made from a state in memory, a tile at a time, too; and elements of a vector in memory are
//! picked for indices that the group makes.
//!
//! Every node is computed once. Only what is cheaper to make than to load, one value everywhere and counting,
//! is made in each group that reads it, and by itself if anything else does.

use crate::dtype::DType;
use crate::graph::{Def, Value, NODE};
use crate::growth::table;
use crate::kernels::tile::TILE;
use crate::ops::{ByBlocks, ByVector, DotGeneral, Graph, Op};
use crate::passes::Views;
use crate::shape::Shape;
use crate::stop;
use crate::tensor::Layout;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Values in memory that a group may read. Beyond this many a processor no longer fetches ahead for each.
const MAX_STREAMS: usize = 16;

/// Nodes of a group.
const MAX_NODES: usize = 400;

/// Groups that are tried for a node, the last first.
const TRIES: usize = 4;

/// How many units back a node may go to join a group of large values: what it makes is in memory from then
/// on.
const NEAR: usize = 4;

/// Elements of a segment, at most, for tiles to be whole segments: beyond this they leave the second-level
/// cache.
const MAX_ROW: usize = 1 << 14;

/// Elements from which a reduction over the last dimensions is part of the group that makes them: fewer are
/// in the cache anyway when it comes to them.
const ACROSS: usize = 1 << 16;

/// Bytes of the rows of a matrix that a tile is made from, at most: they stay in the second-level cache until
/// a second product reads them.
const NARROW: usize = 1 << 19;

/// What is done at one time.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The nodes, in the order of the graph.
    pub nodes: Vec<usize>,
    /// How it runs if it is a group; else it is one node.
    pub group: Option<Group>,
}

/// A group's elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// Their number.
    pub len: usize,
    /// Those that a reduction makes one of.
    pub segment: Option<usize>,
    /// Whether what they are made into is read in the group: tiles are whole segments then.
    pub rows: bool,
    /// Results of reductions over the last dimensions: the elements of a column, which are taken together.
    pub across: Option<usize>,
    /// Elements of a column of the product that it begins with.
    pub product: Option<usize>,
}

impl Group {
    /// One of elements that are not reduced.
    fn of(len: usize) -> Group {
        Group { len, segment: None, rows: false, across: None, product: None }
    }
}

/// The units of a graph, in order, and who reads what.
#[derive(Debug)]
pub struct Units {
    /// The units.
    pub units: Vec<Unit>,
    /// For each value, the unit that makes it, if it is the result of a node of one.
    pub made: Vec<Option<usize>>,
    /// For each root, whether it must be in memory: it is an output, or read outside of the group that makes
    /// it.
    pub kept: Vec<bool>,
}

/// How a node can take part in a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// A view, which no unit makes.
    View,
    /// One value everywhere, or counting: can be made in any group.
    Source,
    /// Each element from those in its place, on this many elements.
    Element(usize),
    /// One element from each segment: number of elements, and of those in a segment.
    Fold(usize, usize),
    /// One element from those at the same place of all columns: number of elements, and of those in a column.
    Across(usize, usize),
    /// Each element, of this many, from all of its operands, which are in memory.
    Whole(usize),
    /// Each element, of this many, from that in its place of the second operand, and from all of the first,
    /// in memory.
    Pick(usize),
    /// Few elements from all of a matrix in memory, the operand with that number, and of a vector of so many
    /// elements.
    Columns(usize, usize),
    /// All elements at a time, a matrix of so many in columns of so many, from matrices in memory.
    Product(usize, usize),
    /// No part.
    Alone,
}

/// Dtypes of a node's operands.
pub fn dtypes(graph: &Graph, operands: &[Value]) -> Vec<DType> {
    operands.iter().map(|&v| graph.aval(v).dtype).collect()
}

impl Role {
    /// The number of elements, if it makes each in its place.
    fn elements(self) -> Option<usize> {
        match self {
            Role::Element(len) | Role::Whole(len) | Role::Pick(len) | Role::Product(len, _) => Some(len),
            _ => None,
        }
    }

    /// Whether it reads all of its operand with this number at a time.
    pub(super) fn reads_whole(self, operand: usize) -> bool {
        match self {
            Role::Whole(_) | Role::Product(..) => true,
            Role::Columns(_, matrix) => operand == matrix,
            Role::Pick(_) => operand == 0,
            _ => false,
        }
    }
}

/// The role of a node.
pub(super) fn role(graph: &Graph, views: &Views, node: usize) -> Role {
    let node = &graph.nodes()[node];
    let &[result] = node.results.as_slice() else { return Role::Alone };
    if views.is_view(result) {
        return Role::View;
    }
    let size = |v: Value| graph.aval(v).shape.size();
    match &node.op {
        Op::Fill(_) | Op::Iota(_) if size(result) > 0 => Role::Source,
        Op::Reduction(op) => match op.segment(&graph.aval(node.operands[0]).shape) {
            Some(segment) if size(node.operands[0]) > 0 => Role::Fold(size(node.operands[0]), segment),
            _ => match op.rows(&graph.aval(node.operands[0]).shape) {
                Some(rows) if size(node.operands[0]) >= ACROSS => Role::Across(size(node.operands[0]), rows),
                _ => Role::Alone,
            },
        },
        op if !node.operands.is_empty()
            && op.is_elementwise(&dtypes(graph, &node.operands))
            && size(result) > 0 =>
        {
            Role::Element(size(result))
        }
        Op::Gather(op) if size(result) > 0 && op.is_pick(&graph.aval(node.operands[0]).shape) => {
            Role::Pick(size(result))
        }
        Op::RngBits(_) if size(result) > 0 => Role::Whole(size(result)),
        Op::DotGeneral(op) => match by_vector(graph, views, op, &node.operands) {
            Some(ByVector { rows, k, dtype, dense, .. })
                if dense && rows >= k && TILE * k * dtype.bytes() <= NARROW =>
            {
                Role::Whole(rows)
            }
            Some(ByVector { rows, k, dtype, matrix, .. })
                if rows < k && TILE * rows * dtype.bytes() <= NARROW =>
            {
                Role::Columns(k, matrix)
            }
            None => by_blocks(graph, views, op, &node.operands)
                .map_or(Role::Alone, |p| Role::Product(size(result), p.rows)),
            _ => Role::Alone,
        },
        _ => Role::Alone,
    }
}

/// A product as one of which blocks of columns can be made.
pub(super) fn by_blocks(
    graph: &Graph,
    views: &Views,
    op: &DotGeneral,
    operands: &[Value],
) -> Option<ByBlocks> {
    let layouts = [0, 1].map(|i| views.layout(graph, operands[i]));
    op.by_blocks(graph.aval(operands[0]).dtype, sides(graph, operands, &layouts))
}

/// The two operands of a product: shapes and layouts.
fn sides<'g>(graph: &'g Graph, operands: &[Value], layouts: &'g [Layout; 2]) -> [(&'g Shape, &'g Layout); 2] {
    [0, 1].map(|i| (&graph.aval(operands[i]).shape, &layouts[i]))
}

/// A product as one of a matrix and a vector.
pub(super) fn by_vector(
    graph: &Graph,
    views: &Views,
    op: &DotGeneral,
    operands: &[Value],
) -> Option<ByVector> {
    let layouts = [0, 1].map(|i| views.layout(graph, operands[i]));
    // Of two vectors, the matrix is one that no group makes.
    let given = |i: usize| !matches!(graph.def(views.root(operands[i])), Def::Result(..));
    let matrix = usize::from(!given(0) && given(1));
    op.by_vector(graph.aval(operands[0]).dtype, sides(graph, operands, &layouts), matrix)
}

/// Cuts a graph into units.
pub fn partition(graph: &Graph, views: &Views) -> Units {
    let nodes = (0..graph.nodes().len()).inspect(|_| stop::work(NODE));
    let roles: Vec<Role> = nodes.map(|node| role(graph, views, node)).collect();
    let mut is_output = table(false, graph.values().count());
    graph.outputs().iter().for_each(|&v| is_output[views.root(v).index()] = true);
    let mut planner = Planner {
        graph,
        views,
        roles: &roles,
        unit_of: table(usize::MAX, roles.len()),
        drafts: vec![],
        by_len: HashMap::new(),
        readers: vec![],
        is_output,
    };
    for node in order(graph, &roles) {
        stop::work(NODE);
        planner.put(node);
    }
    if planner.drafts.iter().filter(|d| d.group.is_some()).count() > 1 {
        planner.find_readers();
        for node in (0..roles.len()).rev() {
            stop::work(NODE);
            planner.sink(node);
        }
    }
    planner.finish()
}

/// The node that makes a value.
fn maker(graph: &Graph, value: Value) -> Option<usize> {
    match graph.def(value) {
        Def::Result(node, _) => Some(node),
        _ => None,
    }
}

/// Nodes in the order in which they are put into units: as they are in the graph, but that what stands alone
/// and makes few elements comes as soon as it can, so that it does not part those before from those after it.
/// What has an effect keeps its place.
fn order(graph: &Graph, roles: &[Role]) -> Vec<usize> {
    let nodes = graph.nodes();
    let early = |number: usize| match roles[number] {
        Role::View | Role::Source => true,
        Role::Alone => {
            let made: usize = nodes[number].results.iter().map(|&v| graph.aval(v).shape.size()).sum();
            made <= TILE && !nodes[number].op.has_effect() && !nodes[number].op.has_regions()
        }
        _ => false,
    };
    let mut readers: Vec<Vec<usize>> = vec![vec![]; nodes.len()];
    let mut missing = table(0, nodes.len());
    for (number, node) in nodes.iter().enumerate() {
        for made in node.operands.iter().filter_map(|&v| maker(graph, v)) {
            readers[made].push(number);
            missing[number] += 1;
        }
    }
    let mut ready: BinaryHeap<Reverse<usize>> =
        (0..nodes.len()).filter(|&n| missing[n] == 0 && early(n)).map(Reverse).collect();
    let (mut out, mut done) = (Vec::with_capacity(nodes.len()), table(false, nodes.len()));
    for number in 0..nodes.len() {
        // All before it in the graph are done by now, and its operands are among these.
        while let Some(next) = ready.pop().map(|Reverse(next)| next).or((!done[number]).then_some(number)) {
            if std::mem::replace(&mut done[next], true) {
                continue;
            }
            out.push(next);
            for &reader in &readers[next] {
                missing[reader] -= 1;
                if missing[reader] == 0 && early(reader) {
                    ready.push(Reverse(reader));
                }
            }
        }
    }
    out
}

#[derive(Default)]
struct Draft {
    nodes: Vec<usize>,
    group: Option<Group>,
    /// Roots that are read from memory, as far as is known.
    reads: Vec<Value>,
}

struct Planner<'a> {
    graph: &'a Graph,
    views: &'a Views,
    roles: &'a [Role],
    unit_of: Vec<usize>,
    drafts: Vec<Draft>,
    by_len: HashMap<usize, Vec<usize>>,
    /// For each node, those that read its results or views of these.
    readers: Vec<Vec<usize>>,
    /// For each value, whether it or a view of it is an output.
    is_output: Vec<bool>,
}

impl Planner<'_> {
    /// The node that makes a root.
    fn maker(&self, root: Value) -> Option<usize> {
        maker(self.graph, root)
    }

    /// Whether a group makes this operand itself, from nothing.
    fn is_source(&self, operand: Value) -> bool {
        let root = self.views.root(operand);
        let Some(node) = self.maker(root) else { return false };
        let counts = matches!(self.graph.nodes()[node].op, Op::Iota(_));
        self.roles[node] == Role::Source && (!counts || self.views.is_whole(operand))
    }

    /// The first unit in which a node could be that reads this operand on `len` elements.
    fn available(&self, operand: Value, len: usize) -> usize {
        let Some(node) = self.maker(self.views.root(operand)) else { return 0 };
        // What is made from nothing can be made at any time.
        if self.roles[node] == Role::Source {
            return 0;
        }
        let alike = self.drafts[self.unit_of[node]].group.is_some_and(|group| group.len == len);
        let in_register = self.views.is_whole(operand) && self.roles[node].elements() == Some(len) && alike;
        self.unit_of[node] + usize::from(!in_register && !self.is_repeated(operand, len))
    }

    /// The first unit in which a node could be that reads all of this operand at a time.
    fn in_memory(&self, operand: Value) -> usize {
        match self.maker(self.views.root(operand)) {
            Some(node) if self.roles[node] != Role::Source => self.unit_of[node] + 1,
            _ => 0,
        }
    }

    /// The segment of a group that folds segments into this value, if its tiles can be whole ones.
    fn row(&self, root: Value) -> Option<usize> {
        let maker = self.maker(root)?;
        if matches!(self.roles[maker], Role::Columns(..)) {
            return None;
        }
        let group = self.drafts.get(self.unit_of[maker])?.group?;
        let segment = group.segment.filter(|segment| (2..=MAX_ROW).contains(segment))?;
        (self.graph.aval(root).shape.size() * segment == group.len).then_some(segment)
    }

    /// Whether an operand of a node on `len` elements is what the segments of a group of as many were folded
    /// into, each repeated for its elements.
    fn is_repeated(&self, operand: Value, len: usize) -> bool {
        let segment =
            self.row(self.views.root(operand)).filter(|_| self.graph.aval(operand).shape.size() == len);
        segment.is_some_and(|segment| self.views.repeats(self.graph, operand, segment))
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
        let near = self.drafts[unit].group.is_some_and(|group| group.len <= TILE)
            || unit + NEAR >= self.drafts.len();
        (near && operands.iter().all(in_time) && self.fits(node, unit, None)).then_some(unit)
    }

    /// The unit of an operand, if it is `unit` and the operand is in one of its registers.
    fn is_in(&self, operand: Value, unit: usize) -> bool {
        self.maker(self.views.root(operand)).is_some_and(|node| self.unit_of[node] == unit)
    }

    fn put(&mut self, node: usize) {
        let (len, segment) = match self.roles[node] {
            Role::View | Role::Source => return,
            Role::Alone => return self.open(node, None),
            Role::Element(len) | Role::Whole(len) | Role::Pick(len) => (len, None),
            Role::Fold(len, segment) => (len, Some(segment)),
            Role::Across(len, rows) => return self.put_across(node, len, rows),
            Role::Columns(len, matrix) => return self.put_columns(node, len, matrix),
            Role::Product(len, rows) => {
                return self.open(node, Some(Group { product: Some(rows), ..Group::of(len) }))
            }
        };
        let role = self.roles[node];
        let whole = role.reads_whole(0);
        if let (None, false, Some(unit)) = (segment, whole, self.row_of(node)) {
            return self.join(node, unit, None);
        }
        let operands = &self.graph.nodes()[node].operands;
        let available = |(i, &v): (usize, &Value)| {
            if role.reads_whole(i) {
                self.in_memory(v)
            } else {
                self.available(v, len)
            }
        };
        let first = operands.iter().enumerate().map(available).max().unwrap_or(0);
        let groups = self.by_len.get(&len).map_or(&[][..], Vec::as_slice);
        let tried = groups.iter().rev().take_while(|&&unit| unit >= first).take(TRIES);
        // The group that makes an operand, else one that reads the same; small ones are put together to save
        // steps.
        let near = |unit: &usize| {
            let shares =
                |&v: &Value| self.is_in(v, *unit) || self.drafts[*unit].reads.contains(&self.views.root(v));
            len <= TILE || (unit + NEAR >= self.drafts.len() && (whole || operands.iter().any(shares)))
        };
        let alike =
            |unit: &usize| self.drafts.get(*unit).and_then(|d| d.group).is_some_and(|group| group.len == len);
        let made_by =
            Some(&first).filter(|&unit| alike(unit) && operands.iter().any(|&v| self.is_in(v, *unit)));
        let fits = |unit: &usize| self.fits(node, *unit, segment);
        match made_by.into_iter().chain(tried).copied().find(|unit| near(unit) && fits(unit)) {
            Some(unit) => self.join(node, unit, segment),
            None => self.open(node, Some(Group { segment, ..Group::of(len) })),
        }
    }

    /// Puts a reduction over the last dimensions into the group that makes its operand, which is then not
    /// read from memory for it; an operand that no group makes is read faster by itself.
    fn put_across(&mut self, node: usize, len: usize, rows: usize) {
        let operand = self.graph.nodes()[node].operands[0];
        let unit = self.available(operand, len);
        let group = self.drafts.get(unit).and_then(|draft| draft.group);
        let free = |group: &Group| group.segment.is_none() && group.product.is_none();
        let fits = group.is_some_and(|group| free(&group) && group.across.is_none_or(|other| other == rows));
        if !fits || !self.is_in(operand, unit) || !self.fits(node, unit, None) {
            return self.open(node, None);
        }
        self.join(node, unit, None);
        self.drafts[unit].group = group.map(|group| Group { across: Some(rows), ..group });
    }

    /// Puts a product of a matrix with a vector that a group makes into this group, if the matrix is in
    /// memory before.
    fn put_columns(&mut self, node: usize, len: usize, matrix: usize) {
        let operands = &self.graph.nodes()[node].operands;
        let (matrix, vector) = (operands[matrix], operands[1 - matrix]);
        let unit = self.available(vector, len);
        let group = self.drafts.get(unit).and_then(|draft| draft.group);
        let in_time =
            self.in_memory(matrix) <= unit && self.is_in(vector, unit) && self.views.is_whole(vector);
        if group.is_none_or(|group| group.len != len) || !in_time || !self.fits(node, unit, Some(len)) {
            return self.open(node, None);
        }
        self.join(node, unit, Some(len));
    }

    /// What a node would read from memory in this unit and no other node of it does.
    fn new_reads(&self, node: usize, unit: usize) -> Vec<Value> {
        let mut reads: Vec<Value> = Vec::new();
        for (i, &operand) in self.graph.nodes()[node].operands.iter().enumerate() {
            let root = self.views.root(operand);
            let known = self.drafts[unit].reads.contains(&root) || reads.contains(&root);
            let made = || self.is_source(operand) || self.is_in(operand, unit) || self.views.is_one(operand);
            if !known && (self.roles[node].reads_whole(i) || !made()) {
                reads.push(root);
            }
        }
        reads
    }

    fn fits(&self, node: usize, unit: usize, segment: Option<usize>) -> bool {
        let draft = &self.drafts[unit];
        let Some(group) = draft.group else { return false };
        let same = segment.is_none()
            || (group.across.is_none()
                && group.product.is_none()
                && group.segment.is_none_or(|other| segment == Some(other)));
        same && draft.nodes.len() < MAX_NODES
            && draft.reads.len() + self.new_reads(node, unit).len() <= MAX_STREAMS
    }

    fn open(&mut self, node: usize, group: Option<Group>) {
        let unit = self.drafts.len();
        self.drafts.push(Draft { group, ..Draft::default() });
        if let Some(group) = group {
            self.by_len.entry(group.len).or_default().push(unit);
        }
        self.join(node, unit, None);
    }

    fn join(&mut self, node: usize, unit: usize, segment: Option<usize>) {
        let reads = self.new_reads(node, unit);
        let folded = |&v: &Value| self.is_in(v, unit) && self.row(self.views.root(v)).is_some();
        let rows = self.graph.nodes()[node].operands.iter().any(folded);
        self.unit_of[node] = unit;
        let draft = &mut self.drafts[unit];
        draft.reads.extend(reads);
        draft.nodes.push(node);
        if let Some(group) = &mut draft.group {
            group.segment = group.segment.or(segment);
            group.rows |= rows;
        }
    }

    fn find_readers(&mut self) {
        self.readers = vec![vec![]; self.unit_of.len()];
        for (number, node) in self.graph.nodes().iter().enumerate() {
            for &v in &node.operands {
                if let (Some(maker), false) =
                    (self.maker(self.views.root(v)), self.roles[number] == Role::View)
                {
                    self.readers[maker].push(number);
                }
            }
        }
    }

    /// Moves a node to the first group that reads it, if nothing in its own does and its operands are in
    /// memory anyway.
    fn sink(&mut self, node: usize) {
        let (Role::Element(len), from) = (self.roles[node], self.unit_of[node]) else { return };
        let result = self.graph.nodes()[node].results[0];
        if self.is_output[result.index()] {
            return;
        }
        let Some(to) = self.readers[node].iter().map(|&reader| self.unit_of[reader]).min() else { return };
        let alike = self.drafts[to].group.is_some_and(|group| group.len == len);
        if to <= from || !alike || !self.fits(node, to, None) {
            return;
        }
        let nodes = self.graph.nodes();
        let whole = |&&reader: &&usize| {
            let reads =
                nodes[reader].operands.iter().enumerate().filter(|(_, &v)| self.views.root(v) == result);
            let in_place =
                |(i, &v): (usize, &Value)| self.views.is_whole(v) && !self.roles[reader].reads_whole(i);
            self.unit_of[reader] != to || reads.into_iter().all(in_place)
        };
        let product = |v: Value| {
            self.maker(self.views.root(v)).is_some_and(|n| matches!(self.roles[n], Role::Product(..)))
        };
        let kept = |v: &Value| !self.is_in(*v, from) || self.is_source(*v) || product(*v);
        if !self.readers[node].iter().all(|reader| whole(&reader)) || !nodes[node].operands.iter().all(kept) {
            return;
        }
        let only = self.readers[node].iter().all(|&reader| self.unit_of[reader] == to);
        if self.new_reads(node, to).len() > 1 + usize::from(only) {
            return;
        }
        self.drafts[from].nodes.retain(|&n| n != node);
        self.join(node, to, None);
        self.drafts[to].reads.retain(|&root| root != result);
    }

    fn finish(self) -> Units {
        let Planner { graph, views, roles, drafts, .. } = self;
        let mut kept = self.is_output;
        let grouped: Vec<bool> = drafts.iter().map(|d| d.group.is_some() && !d.nodes.is_empty()).collect();
        let unit_of = &self.unit_of;
        // What is made from nothing and must be in memory is made before the first unit that reads it there.
        let mut sources: Vec<Vec<usize>> = vec![vec![]; drafts.len() + 1];
        let mut first_use: HashMap<usize, usize> = HashMap::new();
        for (number, node) in graph.nodes().iter().enumerate() {
            // The columns of a block are many tiles.
            if let Role::Product(..) = roles[number] {
                kept[node.results[0].index()] = true;
            }
            if roles[number] == Role::Source && kept[node.results[0].index()] {
                first_use.insert(number, drafts.len());
            }
            if roles[number] == Role::View {
                continue;
            }
            let own = unit_of[number];
            for (i, &v) in node.operands.iter().enumerate() {
                let root = views.root(v);
                let Def::Result(made, _) = graph.def(root) else { continue };
                let source = roles[made] == Role::Source;
                let counts = matches!(graph.nodes()[made].op, Op::Iota(_));
                let inside = if source { !counts || views.is_whole(v) } else { unit_of[made] == own };
                if grouped.get(own) == Some(&true) && inside && !roles[number].reads_whole(i) {
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
        let mut units: Vec<Unit> = Vec::with_capacity(drafts.len());
        let mut emit = |nodes: Vec<usize>, group| {
            for result in nodes.iter().flat_map(|&n| &graph.nodes()[n].results) {
                made[result.index()] = Some(units.len());
            }
            units.push(Unit { nodes, group });
        };
        let drafts = drafts.into_iter().zip(grouped).map(Some).chain([None]);
        for (mut sources, draft) in sources.into_iter().zip(drafts) {
            sources.sort_unstable();
            sources.into_iter().for_each(|node| emit(vec![node], None));
            let Some((mut draft, grouped)) = draft else { break };
            draft.nodes.sort_unstable();
            if !draft.nodes.is_empty() {
                emit(draft.nodes, draft.group.filter(|_| grouped));
            }
        }
        Units { units, made, kept }
    }
}
