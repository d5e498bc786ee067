//! Where every value lives and what is computed when: a graph becomes a list of steps over a few buffers.
//!
//! * A value that is a view of another (transpose, broadcast, many reshapes) has a layout of its own in the other's
//!   place and costs no step.
//! * A value that is an output is made in the output's buffer.
//! * All others share one arena; a place is free again after the last step that reads it.
//! * A node's result is stored in its dtype: nothing stays in f32 between two ops on 16-bit floats, so that each op
//!   rounds, as it does when it runs alone. (Where rounding changes no bit, as between a negation and a sum, f32 could stay;
//!   nothing here does so. `tests/halves.rs` holds programs to it.)
//! * A donated input may be the buffer of an output of its type: of one that is made after the input is last read, or of
//!   one that is copied there at the end.

use super::control::Control;
use crate::error::Result;
use crate::graph::{Def, Value};
use crate::kernels::memory::{AlignedBytes, Span};
use crate::ops::{Graph, Op};
use crate::tensor::{Aval, Layout};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Alignment of places in the arena: a cache line.
const ALIGN: usize = 64;

/// Where a value is, and how its elements lie there.
#[derive(Clone, Debug)]
pub struct Place {
    /// The bytes, in one of the program's buffers.
    pub span: Span,
    /// Layout of the elements within the span.
    pub layout: Layout,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Applies an op.
    Apply(Op),
    /// Copies an operand of any layout into a dense output.
    Copy,
    /// Runs a branch or a loop, on dense operands.
    Control(Rc<Control>),
}

/// One computation.
#[derive(Clone, Debug)]
pub struct Step {
    /// What is done.
    pub action: Action,
    /// The values it reads.
    pub operands: Vec<(Aval, Place)>,
    /// The values it makes, and their bytes.
    pub results: Vec<(Aval, Span)>,
}

/// Steps and buffers of a program. Buffers are numbered: the arena, the literals, inputs, constants, outputs.
#[derive(Clone, Debug)]
pub struct Plan {
    /// In order of execution.
    pub steps: Vec<Step>,
    /// Bytes of the arena.
    pub arena: usize,
    /// Content of the buffer of literals.
    pub literals: AlignedBytes,
    /// For each output, the donated input whose buffer it may take over.
    pub donations: Vec<Option<usize>>,
}

/// Number of the arena's buffer.
pub const ARENA: usize = 0;
/// Number of the buffer of literals.
pub const LITERALS: usize = 1;
/// Number of the first input's buffer; then come the other inputs, the constants, the outputs.
pub const INPUTS: usize = 2;

/// Free ranges of the arena. First fit, neighbours are joined.
#[derive(Default)]
struct Arena {
    free: BTreeMap<usize, usize>,
    size: usize,
}

impl Arena {
    fn allocate(&mut self, bytes: usize) -> usize {
        let bytes = bytes.next_multiple_of(ALIGN);
        if bytes == 0 {
            return 0;
        }
        if let Some((&start, &len)) = self.free.iter().find(|(_, &len)| len >= bytes) {
            self.free.remove(&start);
            if len > bytes {
                self.free.insert(start + bytes, len - bytes);
            }
            return start;
        }
        // Grow at the end, over a free range that touches it.
        let start = match self.free.last_key_value() {
            Some((&start, &len)) if start + len == self.size => {
                self.free.remove(&start);
                start
            }
            _ => self.size,
        };
        self.size = start + bytes;
        start
    }

    fn release(&mut self, start: usize, bytes: usize) {
        let (mut start, mut len) = (start, bytes.next_multiple_of(ALIGN));
        if len == 0 {
            return;
        }
        if let Some((&before, &n)) = self.free.range(..start).next_back() {
            if before + n == start {
                self.free.remove(&before);
                (start, len) = (before, n + len);
            }
        }
        if let Some(n) = self.free.remove(&(start + len)) {
            len += n;
        }
        self.free.insert(start, len);
    }
}

/// Makes the plan of a graph. `donated` are the numbers of inputs whose memory may be reused.
///
/// # Errors
/// Those of [`Control::compile`].
pub fn plan(graph: &Graph, donated: &[usize]) -> Result<Plan> {
    Planner::new(graph).run(donated)
}

/// For each output, the donated input whose buffer it may take over, as [`plan`] decides it.
pub fn donations(graph: &Graph, donated: &[usize]) -> Vec<Option<usize>> {
    let mut planner = Planner::new(graph);
    planner.find_homes(donated);
    planner.plan.donations
}

struct Planner<'a> {
    graph: &'a Graph,
    places: Vec<Option<Place>>,
    /// For each value, the one whose buffer it lies in; itself unless it is a view.
    roots: Vec<usize>,
    /// For each root, the last node that reads it or a view of it.
    last_use: Vec<usize>,
    arena: Arena,
    plan: Plan,
}

impl<'a> Planner<'a> {
    fn new(graph: &'a Graph) -> Planner<'a> {
        let count = graph.values().count();
        let plan = Plan { steps: vec![], arena: 0, literals: AlignedBytes::default(), donations: vec![None; graph.outputs().len()] };
        let (places, roots) = (vec![None; count], (0..count).collect());
        Planner { graph, places, roots, last_use: vec![0; count], arena: Arena::default(), plan }
    }

    fn first_output(&self) -> usize {
        INPUTS + self.graph.inputs().len() + self.graph.constants().len()
    }

    fn place(&self, value: Value) -> &Place {
        self.places[value.index()].as_ref().expect("values are placed before they are read")
    }

    /// For each root, the output in whose buffer it is made; pairs outputs with donated inputs.
    fn find_homes(&mut self, donated: &[usize]) -> Vec<Option<usize>> {
        self.place_sources();
        self.place_views();
        let made = self.find_last_uses();
        // A value is made in the buffer of the first output that it is; a view of all of it, in its order, is it too.
        let mut homes: Vec<Option<usize>> = vec![None; self.places.len()];
        for (k, &v) in self.graph.outputs().iter().enumerate().rev() {
            if matches!(self.graph.def(v), Def::Result(..)) && self.is_whole(v) {
                homes[self.roots[v.index()]] = Some(k);
            }
        }
        self.donate(donated, &mut homes, &made);
        homes
    }

    fn run(mut self, donated: &[usize]) -> Result<Plan> {
        let homes = self.find_homes(donated);
        for (number, node) in self.graph.nodes().iter().enumerate() {
            for &result in &node.results {
                if self.roots[result.index()] == result.index() {
                    self.place_result(result, homes[result.index()]);
                }
            }
            self.resolve_views(number);
            self.step(number)?;
            self.release(number, &homes);
        }
        // Outputs that were not made in place: views, inputs, constants, literals, and values that are output twice.
        for (k, &v) in self.graph.outputs().iter().enumerate() {
            if homes[self.roots[v.index()]] != Some(k) {
                let aval = self.graph.aval(v).clone();
                let span = Span { buffer: self.first_output() + k, range: 0..aval.bytes() };
                let operands = vec![(aval.clone(), self.place(v).clone())];
                self.plan.steps.push(Step { action: Action::Copy, operands, results: vec![(aval, span)] });
            }
        }
        self.plan.arena = self.arena.size;
        Ok(self.plan)
    }

    /// Inputs, constants and literals are in place from the start.
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
            let span = Span { buffer, range: start..start + aval.bytes() };
            self.places[value.index()] = Some(Place { span, layout: Layout::dense(&aval.shape) });
        }
    }

    /// Finds the values that are views of others. Their layouts depend on shapes alone.
    fn place_views(&mut self) {
        let mut layouts: Vec<Option<Layout>> = vec![None; self.places.len()];
        for node in self.graph.nodes() {
            let &[operand] = node.operands.as_slice() else { continue };
            let (shape, result) = (&self.graph.aval(operand).shape, node.results[0]);
            let own = layouts[operand.index()].clone().unwrap_or_else(|| Layout::dense(shape));
            if let Some(view) = node.op.as_view(shape, &own, self.graph.aval(result)) {
                self.roots[result.index()] = self.roots[operand.index()];
                layouts[result.index()] = Some(view);
            }
        }
        for (value, layout) in layouts.into_iter().enumerate() {
            if let (Some(layout), None) = (layout, &self.places[value]) {
                // The span is filled in when the root is placed.
                let span = Span { buffer: ARENA, range: 0..0 };
                self.places[value] = Some(Place { span, layout });
            }
        }
    }

    /// Node after which a buffer is no longer read. Outputs that are copied at the end keep theirs for ever. Returns the
    /// node that makes each root.
    fn find_last_uses(&mut self) -> Vec<usize> {
        let mut made = vec![0; self.places.len()];
        for (number, node) in self.graph.nodes().iter().enumerate() {
            for v in &node.results {
                made[v.index()] = number;
                let root = self.roots[v.index()];
                self.last_use[root] = self.last_use[root].max(number);
            }
            for v in &node.operands {
                self.last_use[self.roots[v.index()]] = number;
            }
        }
        for v in self.graph.outputs() {
            self.last_use[self.roots[v.index()]] = usize::MAX;
        }
        made
    }

    /// Pairs donated inputs with outputs of their dtype and size. An output that is made while the input is still read is
    /// made in the arena and copied at the end: it costs a copy, and saves memory.
    fn donate(&mut self, donated: &[usize], homes: &mut [Option<usize>], made: &[usize]) {
        for &input in donated {
            let value = self.graph.inputs()[input];
            let aval = self.graph.aval(value);
            let reads = |v: &Value| self.roots[v.index()] == value.index();
            // An input that is itself an output, or a view of one that is, is read by the copies at the end.
            if self.graph.outputs().iter().any(reads) {
                continue;
            }
            let unread = !self.graph.nodes().iter().any(|n| n.operands.iter().any(reads));
            let free_after = self.last_use[value.index()];
            let outputs = self.graph.outputs();
            let root = |k: usize| self.roots[outputs[k].index()];
            let direct = |k: usize| {
                let out = root(k);
                homes[out] == Some(k) && (unread || made[out] > free_after)
            };
            let fits = |&k: &usize| {
                let type_ = self.graph.aval(outputs[k]);
                let same = type_.dtype == aval.dtype && type_.shape.size() == aval.shape.size();
                same && self.plan.donations[k].is_none()
            };
            let mut candidates: Vec<usize> = (0..outputs.len()).filter(fits).collect();
            candidates.sort_by_key(|&k| !direct(k));
            let Some(&k) = candidates.first() else { continue };
            if !direct(k) && homes[root(k)] == Some(k) {
                homes[root(k)] = None;
            }
            self.plan.donations[k] = Some(input);
        }
    }

    /// Whether a value is the result of a node, or a view of all of one in its order.
    fn is_whole(&self, value: Value) -> bool {
        let root = self.graph.values().nth(self.roots[value.index()]).expect("a root is a value");
        if !matches!(self.graph.def(root), Def::Result(..)) || root == value {
            return root == value;
        }
        let (shape, layout) = (&self.graph.aval(value).shape, &self.place(value).layout);
        layout.offset == 0 && layout.is_dense(shape) && shape.size() == self.graph.aval(root).shape.size()
    }

    fn place_result(&mut self, value: Value, home: Option<usize>) {
        let aval = self.graph.aval(value);
        let span = match home {
            Some(k) => Span { buffer: self.first_output() + k, range: 0..aval.bytes() },
            None => {
                let start = self.arena.allocate(aval.bytes());
                Span { buffer: ARENA, range: start..start + aval.bytes() }
            }
        };
        self.places[value.index()] = Some(Place { span, layout: Layout::dense(&aval.shape) });
    }

    /// Gives the results of a view node the span of their root.
    fn resolve_views(&mut self, node: usize) {
        for v in &self.graph.nodes()[node].results {
            let root = self.roots[v.index()];
            if root != v.index() {
                let span = self.places[root].as_ref().expect("a root is placed before its views").span.clone();
                self.places[v.index()].as_mut().expect("views have layouts").span = span;
            }
        }
    }

    fn step(&mut self, number: usize) -> Result<()> {
        let node = &self.graph.nodes()[number];
        // Only ops of one result make views.
        if node.results.iter().any(|v| self.roots[v.index()] != v.index()) {
            return Ok(());
        }
        let mut operands: Vec<(Aval, Place)> =
            node.operands.iter().map(|&v| (self.graph.aval(v).clone(), self.place(v).clone())).collect();
        let results = node.results.iter().map(|&v| (self.graph.aval(v).clone(), self.place(v).span.clone())).collect();
        let control = Control::compile(&node.op)?;
        let mut copies = Vec::new();
        if control.is_some() {
            for operand in &mut operands {
                self.make_dense(operand, &mut copies);
            }
        }
        let action = control.map_or_else(|| Action::Apply(node.op.clone()), |c| Action::Control(Rc::new(c)));
        self.plan.steps.push(Step { action, operands, results });
        copies.into_iter().for_each(|(start, bytes)| self.arena.release(start, bytes));
        Ok(())
    }

    /// Copies a view into the arena; notes the bytes that it takes there.
    fn make_dense(&mut self, (aval, place): &mut (Aval, Place), copies: &mut Vec<(usize, usize)>) {
        if place.layout.is_dense(&aval.shape) && place.layout.offset == 0 && place.span.range.len() == aval.bytes() {
            return;
        }
        let start = self.arena.allocate(aval.bytes());
        copies.push((start, aval.bytes()));
        let span = Span { buffer: ARENA, range: start..start + aval.bytes() };
        let operands = vec![(aval.clone(), place.clone())];
        self.plan.steps.push(Step { action: Action::Copy, operands, results: vec![(aval.clone(), span.clone())] });
        *place = Place { span, layout: Layout::dense(&aval.shape) };
    }

    fn release(&mut self, number: usize, homes: &[Option<usize>]) {
        let node = &self.graph.nodes()[number];
        let mut roots: Vec<usize> = node.operands.iter().chain(&node.results).map(|v| self.roots[v.index()]).collect();
        roots.sort_unstable();
        roots.dedup();
        for root in roots {
            if self.last_use[root] == number && homes[root].is_none() {
                let Some(Place { span, .. }) = &self.places[root] else { continue };
                if span.buffer == ARENA {
                    self.arena.release(span.range.start, span.range.len());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_places_are_used_again() {
        let mut arena = Arena::default();
        let (a, b) = (arena.allocate(100), arena.allocate(10));
        arena.release(a, 100);
        assert_eq!(arena.allocate(64), a);
        arena.release(b, 10);
        arena.release(a, 64);
        assert_eq!(arena.allocate(192), 0);
        assert_eq!(arena.size, 192);
        assert_eq!(arena.allocate(0), 0);
    }

    #[test]
    fn an_input_that_is_an_output_is_not_given_away() {
        use crate::dtype::DType;
        use crate::ops::{Builder, Transpose, Unary};
        use crate::shape::Axis;
        let donations = |keep: &dyn Fn(&mut Builder, Value) -> Option<Value>| {
            let mut b = Builder::default();
            let aval = Aval::known(DType::F32, [2, 2].into());
            let (x, y) = (b.input(aval.clone()), b.input(aval));
            let mut outputs = vec![b.node1(Op::Unary(Unary::exp), &[y]).unwrap()];
            outputs.extend(keep(&mut b, x));
            plan(&b.finish(outputs), &[0]).unwrap().donations[0]
        };
        let transpose = Transpose { permutation: vec![Axis(1), Axis(0)] };
        assert_eq!(donations(&|_, _| None), Some(0));
        assert_eq!(donations(&|_, x| Some(x)), None);
        assert_eq!(donations(&|b, x| b.node1(Op::Transpose(transpose.clone()), &[x]).ok()), None);
    }
}
