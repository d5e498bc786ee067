//! Loops on few numbers as native code: the aggregates of a body, which are short, are replaced by their
//! elements (scalar replacement of aggregates).
//!
//! Slices, pads, reshapes and their like vanish: what they do to elements is found by running them on the
//! numbers of elements. Elementwise ops, folds ([`folds`]), products and factors of small matrices ([`products`],
//! [`factors`]) become ops on elements, in the order of the kernels, so that bits are those of all executors; several
//! elements that are computed alike fill a vector ([`vectors`]). Branches and loops do with their bodies ([`regions`]).
//! Any other op on short values is called. Longer values stay in memory, where windows of them are read and replaced, as
//! those of short ones are at computed positions ([`memory`], [`parts`]). A body that computes with longer values, or with
//! effects, stays with the tile VM, as does one whose plan is faster.

use super::vm::native::lanes::Lanes;
use crate::dtype::DType;
use crate::exec::vm::native::loops::{Block, Call, Carried, Loop, Place, Step};
use crate::exec::vm::native::{self, Chain, MicroOp, NativeLoop, Origin};
use crate::graph::{self, Def, Value};
use crate::kernels::cast;
use crate::ops::create::on_literals;
use crate::ops::{DynamicSlice, DynamicUpdateSlice, Gather, Graph, Op, Scatter};
use crate::passes::SHORT;
use crate::tensor::{Aval, Layout, Literal, View, ViewMut};
use mode::Mode;
use std::collections::HashMap;
use std::sync::Arc;
use values::{Held, Lie, Vectors};

pub(super) mod choice;
mod estimate;
mod factors;
mod folds;
mod interleave;
mod lanes;
mod memory;
mod mode;
mod order;
mod parts;
mod products;
mod regions;
mod sources;
mod values;
mod vectors;

/// Elements of a value that is replaced, at most. Whether a loop on fewer takes less time than its plan is estimated.
const MAX_ELEMENTS: usize = 5 * SHORT;

/// Steps of an iteration, at most.
const MAX_STEPS: usize = 1536;

/// Steps of the formulas of functions in an iteration, at most; further functions are called.
const MAX_FORMULAS: usize = 2048;

/// Functions that an iteration calls, at most.
const MAX_CALLS: usize = 8;

/// The estimated times of an iteration's parts in picoseconds: of a step, of a step in a formula, of a call.
/// Each step waits for the one before it (measured on an AMD EPYC, Zen 4).
const STEP: usize = 1_000;
const FORMULA: usize = 500;
const CALL: usize = 40_000;

/// That of a function of numbers that has no formula, in steps of a formula.
const CALLED: usize = 40;
/// Vectors of a value whose elements a function without a formula is called on a vector at a time: of more than these a
/// call on the whole value, which is stored for that, takes less.
const ONE_BY_ONE: usize = 2;

/// The types and roles of a loop's values.
#[derive(Debug)]
pub(super) struct Roles {
    /// Number of carried values; the first inputs and outputs of the body.
    pub carried: usize,
    /// Number of inputs after these that are slices.
    pub sliced: usize,
    /// Whether the last output says whether there is another iteration; else those after the carried ones are
    /// slices.
    pub tested: bool,
    /// Iterations, if slices are read or written.
    pub length: usize,
    /// Whether it runs backwards.
    pub reverse: bool,
    /// Whether slices are along the last axis.
    pub last: bool,
}

/// A loop in native code.
#[derive(Debug)]
pub(super) struct Scalars {
    /// Its arguments: what is carried, slices that are read, other inputs, slices that are written or the
    /// test, and scratch memory.
    pub code: NativeLoop,
    /// Bytes of the scratch memory.
    pub scratch: usize,
    /// About what an iteration does, in elements.
    pub work: usize,
    /// About how long an iteration takes, in picoseconds.
    pub picoseconds: usize,
    /// How it goes over lanes, if it does.
    pub lanes: Option<Lanes>,
}

type Node = graph::Node<Op>;

struct Lowering<'a> {
    body: &'a Graph,
    /// For each value of the body.
    held: Vec<Option<Held>>,
    looped: Loop,
    literals: HashMap<Literal, usize>,
    /// For operands, the ops on them and their results.
    known: HashMap<Vec<usize>, Vec<(native::Op, usize)>>,
    /// Elements that windows are read of, with the byte of the scratch memory where they lie.
    lying: Vec<(Arc<[usize]>, usize)>,
    calls: Vec<Call>,
    scratch: usize,
    /// Steps of the formulas of functions.
    formulas: usize,
    /// Elements of the longest result of a node.
    longest: usize,
    /// The steps, with those of formulas, that loops within an iteration do beside those of their first iteration.
    repeated: usize,
    /// Nodes with regions that cannot be computed without a jump.
    jumps: Vec<*const Node>,
    /// In how many branches that are both computed the body is that is lowered.
    both: usize,
    /// Functions among the calls that are called for positions out of range alone.
    raisers: usize,
    /// The number of carried values: their arguments, the first, can be written.
    carried: usize,
    /// What was written to arguments so far.
    written: Written,
    /// The number of the argument that is scratch memory: the last one.
    scratch_argument: usize,
    vectors: Vectors,
    /// How the loop has lanes, if it has some.
    lanes: Option<Mode<'a>>,
    /// Whether there is an op of which there are no instructions on lanes.
    refused: bool,
}

/// What was written to arguments.
#[derive(Clone)]
struct Written {
    /// How often windows of each input of the body were replaced.
    versions: Vec<usize>,
    /// Whether some were.
    any: bool,
}

impl<'a> Lowering<'a> {
    /// The body of a loop, with vectors or without; `None` if it has no native code.
    fn of(body: &'a Graph, roles: &Roles, vectors: bool, lanes: Option<Mode<'a>>) -> Option<Lowering<'a>> {
        let mut to = Lowering {
            body,
            held: vec![None; body.values().count()],
            looped: Loop { reverse: roles.reverse, length: roles.length, ..Loop::default() },
            literals: HashMap::new(),
            known: HashMap::new(),
            lying: vec![],
            calls: vec![],
            scratch: 0,
            formulas: 0,
            longest: 0,
            repeated: 0,
            jumps: vec![],
            both: 0,
            raisers: 0,
            carried: roles.carried,
            written: Written { versions: vec![0; body.inputs().len()], any: false },
            scratch_argument: body.inputs().len() + body.outputs().len() - roles.carried,
            vectors: Vectors::new(vectors),
            lanes,
            refused: false,
        };
        to.looped.chain.width = 8;
        to.inputs(roles)?;
        for number in 0..body.nodes().len() {
            to.node(number)?;
            if to.steps() > MAX_STEPS || to.refused {
                return None;
            }
        }
        to.outputs(roles)?;
        to.looped.prune();
        order::order(&mut to.looped);
        Some(to)
    }

    /// Steps so far, but for those that take elements out of vectors.
    fn steps(&self) -> usize {
        self.looped.steps.len() - self.vectors.lanes
    }

    fn chain(&mut self) -> &mut Chain {
        &mut self.looped.chain
    }

    /// A new element.
    fn element(&mut self, dtype: DType, origin: Origin) -> usize {
        self.chain().values.push(native::Value { dtype, origin });
        self.looped.chain.values.len() - 1
    }

    /// New elements for a value.
    fn elements_of(&mut self, aval: &Aval) -> Arc<[usize]> {
        (0..aval.shape.size()).map(|_| self.element(aval.dtype, Origin::Made)).collect()
    }

    fn literal(&mut self, literal: Literal) -> usize {
        if let Some(&known) = self.literals.get(&literal) {
            return known;
        }
        let new = self.element(literal.dtype(), Origin::Literal(literal));
        self.literals.insert(literal, new);
        new
    }

    /// The literal that an element is, if it is one.
    fn known_literal(&self, v: usize) -> Option<Literal> {
        match self.looped.chain.values[v].origin {
            Origin::Literal(literal) => Some(literal),
            _ => None,
        }
    }

    /// New elements in the buffer of an argument, `apart` bytes from one another.
    fn read(
        &mut self,
        aval: &Aval,
        argument: usize,
        start: usize,
        apart: usize,
        moves: bool,
    ) -> Option<Held> {
        let elements = (0..aval.shape.size()).map(|i| {
            let offset = i32::try_from(start + i * apart).ok()?;
            let element = self.element(aval.dtype, Origin::Made);
            let place = Place { argument, offset, moves };
            self.looped.reads.push((element, place));
            self.is_placed(element, place);
            Some(element)
        });
        Some(Held::Elements(elements.collect::<Option<_>>()?))
    }

    fn inputs(&mut self, roles: &Roles) -> Option<()> {
        for (argument, &input) in self.body.inputs().iter().enumerate() {
            let aval = self.body.aval(input).clone();
            let (size, width) = (aval.shape.size(), aval.dtype.bytes());
            if let Some(axis) = self.lanes_of_input(argument) {
                let held = self.input_lanes(argument, input, axis, roles)?;
                self.held[input.index()] = Some(held);
                self.vectors.carried.push(vec![]);
                continue;
            }
            self.same_for_lanes((argument < roles.carried).then(|| aval.bytes()));
            let short = is_native(aval.dtype) && size <= MAX_ELEMENTS && !self.is_in_memory(argument, input);
            let held = if argument < roles.carried {
                self.looped.arguments.push((aval.bytes(), true));
                let (held, vectors) = match short {
                    true => {
                        let (elements, vectors) = self.carried(&aval);
                        (Held::Elements(elements), vectors)
                    }
                    false => (Held::Whole(argument, 0), vec![]),
                };
                self.vectors.carried.push(vectors);
                held
            } else if argument < roles.carried + roles.sliced {
                if !is_native(aval.dtype) || size > MAX_ELEMENTS {
                    return None;
                }
                self.looped.arguments.push((aval.bytes() * roles.length, false));
                let apart = self.along(argument, &aval, roles)?;
                self.read(&aval, argument, 0, apart, !roles.last)?
            } else {
                self.looped.arguments.push((aval.bytes(), false));
                match short {
                    true => self.read(&aval, argument, 0, width, false)?,
                    false => Held::Whole(argument, 0),
                }
            };
            self.held[input.index()] = Some(held);
        }
        Some(())
    }

    /// What an operand is.
    fn operand(&mut self, v: Value) -> Option<Held> {
        if let Def::Literal(literal) = self.body.def(v) {
            return is_native(literal.dtype()).then(|| Held::Elements(Arc::new([self.literal(literal)])));
        }
        match self.held[v.index()].clone()? {
            Held::Updated(number) => {
                let held = self.put(&self.body.nodes()[number])?;
                self.held[v.index()] = Some(held.clone());
                Some(held)
            }
            // It is not there any more.
            Held::Whole(argument, version) | Held::Part(Lie { argument, .. }, version)
                if version != self.written.versions[argument] =>
            {
                None
            }
            held => Some(held),
        }
    }

    fn elements(&mut self, v: Value) -> Option<Arc<[usize]>> {
        match self.operand(v)? {
            Held::Elements(elements) => Some(elements),
            Held::Whole(..) | Held::Updated(_) | Held::Lying(_) | Held::Part(..) | Held::Counted => None,
        }
    }

    fn node(&mut self, number: usize) -> Option<()> {
        let node = &self.body.nodes()[number];
        if node.op.has_effect() {
            return None;
        }
        if is_update(node) && self.is_whole(node.operands[0]) {
            // A branch that is not taken writes nothing.
            if self.both > 0 {
                return None;
            }
            self.held[node.results[0].index()] = Some(Held::Updated(number));
            return Some(());
        }
        let results: Vec<Aval> = node.results.iter().map(|&v| self.body.aval(v).clone()).collect();
        if results.iter().any(|aval| !is_native(aval.dtype)) {
            return None;
        }
        self.longest = results.iter().map(|aval| aval.shape.size()).fold(self.longest, usize::max);
        if node.op.control().is_some() {
            let made = self.regions(node)?;
            made.into_iter().zip(&node.results).for_each(|(held, v)| self.held[v.index()] = Some(held));
            return Some(());
        }
        if let Some(held) = self.part(node, &results[0]).or_else(|| Self::counted(node, &results[0])) {
            self.held[node.results[0].index()] = Some(held);
            return Some(());
        }
        if results.iter().any(|aval| aval.shape.size() > MAX_ELEMENTS) {
            return None;
        }
        let made = self.factors(node).or_else(|| Some(vec![self.replaced(node, &results[0])?]));
        let Some(made) = made else {
            return if node.op.has_regions() { None } else { self.call(node, &results) };
        };
        for (elements, v) in made.into_iter().zip(&node.results) {
            self.held[v.index()] = Some(Held::Elements(elements));
        }
        Some(())
    }

    /// The elements of the only result, if it need not be called for.
    fn replaced(&mut self, node: &Node, result: &Aval) -> Option<Arc<[usize]>> {
        if node.results.len() > 1 {
            return None;
        }
        if node.operands.is_empty() {
            return self.constants(node, result);
        }
        if node.op.rearranges() {
            return self.rearranged(node, result, node.operands.len());
        }
        if is_update(node) {
            let moved = node.op.get::<DynamicUpdateSlice>().filter(|_| !node.op.raises());
            return moved.and_then(|_| self.rearranged(node, result, 2)).or_else(|| self.update(node));
        }
        if let Some(op) = node.op.get::<DynamicSlice>() {
            return self.window(op, node, result);
        }
        if let Some(op) = node.op.get::<Gather>() {
            return self.windows(op, node, result);
        }
        if let Some(op) = node.op.contraction() {
            return self.product(op, node, result);
        }
        if let Some((fold, axes)) = node.op.fold() {
            return self.folds(fold, axes, node.operands[0], result);
        }
        if let Some(op) = node.op.cumulation() {
            return self.cumulations(op, node.operands[0], result);
        }
        let from: Vec<DType> = node.operands.iter().map(|&v| self.body.aval(v).dtype).collect();
        let op = node.op.instruction().filter(|_| node.op.is_elementwise(&from))?;
        let (op, inverts) = match (op, from[0]) {
            (op @ (native::Op::Eq | native::Op::Ne), DType::I1) => (native::Op::Xor, op == native::Op::Eq),
            (op, _) => (op, false),
        };
        // A conversion that changes the ambiguity alone is no instruction.
        from.last().filter(|&&dtype| op == native::Op::Convert(dtype) || native::loop_has(op, dtype))?;
        let operands = node.operands.iter().map(|&v| self.elements(v)).collect::<Option<Vec<_>>>()?;
        let is_called = op.is_function();
        let steps = match native::steps(op, result.dtype) {
            0 if is_called && result.bytes() > ONE_BY_ONE * native::LOOP_VECTOR && self.may_call(node) => {
                return None
            }
            0 if is_called => CALLED,
            steps => steps,
        };
        let each = |to: &mut Self, operands: &[usize]| {
            if let Some(known) = operands.iter().map(|&v| to.known_literal(v)).collect::<Option<Vec<_>>>() {
                return Some(to.literal(on_literals(&node.op, &known, result.dtype)));
            }
            to.formulas += steps;
            if to.formulas > MAX_FORMULAS {
                return None;
            }
            let made = to.op(op, operands.to_vec(), result.dtype);
            Some(if inverts { to.op(native::Op::Not, vec![made], result.dtype) } else { made })
        };
        let lines = (0..result.shape.size()).map(|i| operands.iter().map(|x| x[i]).collect::<Vec<_>>());
        let to_other = |to| from[0] != DType::I1 && (from[0], to) != (DType::I32, DType::F32);
        if matches!(op, native::Op::Convert(to) if to_other(to)) {
            // There are no such instructions on vectors.
            return lines.map(|line| each(self, &line)).collect();
        }
        self.alike(result, &lines.collect::<Vec<_>>(), each)
    }

    /// An op on elements: one that was done before, or a new one.
    fn op(&mut self, op: native::Op, operands: Vec<usize>, dtype: DType) -> usize {
        if op == native::Op::Convert(self.looped.chain.values[operands[0]].dtype) {
            return operands[0];
        }
        let (operands, lanes) = self.lifted(op, operands);
        let known = self.known.get(&operands).and_then(|made| made.iter().find(|(other, _)| *other == op));
        if let Some(&(_, known)) = known {
            return known;
        }
        let result = self.element(dtype, Origin::Made);
        if self.lanes.is_none() {
            self.made_of(&operands, result, native::steps(op, dtype).max(1));
        }
        self.looped.steps.push(Step::Op(MicroOp { op, operands: operands.clone(), result }));
        let made = self.of_lanes(result, lanes);
        self.known.entry(operands).or_default().push((op, made));
        made
    }

    /// The elements of the first operands in the order of the result's: the op itself moves their numbers.
    /// The operands after these are positions, which are known.
    fn rearranged(&mut self, node: &Node, result: &Aval, moved: usize) -> Option<Arc<[usize]>> {
        let mut operands = vec![];
        for (i, &v) in node.operands.iter().enumerate() {
            operands.push(match self.body.def(v) {
                Def::Literal(literal) if i >= moved => (literal.dtype(), literal.to_bytes().to_vec()),
                _ if i >= moved => return None,
                _ => {
                    let numbers: Vec<i64> = self.elements(v)?.iter().map(|&v| v as i64).collect();
                    (DType::I64, cast::bytes(&numbers).to_vec())
                }
            });
        }
        let avals: Vec<&Aval> = node.operands.iter().map(|&v| self.body.aval(v)).collect();
        let layouts: Vec<Layout> = avals.iter().map(|aval| Layout::dense(&aval.shape)).collect();
        let views: Vec<View> = avals
            .iter()
            .zip(&layouts)
            .zip(&operands)
            .map(|((aval, layout), (dtype, data))| View { dtype: *dtype, shape: &aval.shape, layout, data })
            .collect();
        let mut made = vec![0i64; result.shape.size()];
        let out = ViewMut { dtype: DType::I64, shape: &result.shape, data: cast::bytes_mut(&mut made) };
        node.op.eval(&views, &mut [out]);
        Some(made.into_iter().map(|v| v as usize).collect())
    }

    /// A place of so many bytes in the scratch memory.
    fn place(&mut self, bytes: usize) -> usize {
        let place = self.scratch;
        self.scratch = (place + bytes).next_multiple_of(16);
        place
    }

    /// Stores the elements of a value in the scratch memory, and returns the place of the first.
    fn stored(&mut self, aval: &Aval, elements: &[usize]) -> Option<usize> {
        if self.are_lanes(elements) {
            return None;
        }
        let at = self.place(aval.bytes());
        self.store_all(aval, elements, at)?;
        Some(at)
    }

    /// Whether the op can be called on whole values.
    fn may_call(&mut self, node: &Node) -> bool {
        // One that fails would leave what was written.
        let has_lanes = node.operands.iter().any(|&v| self.has_lanes(v));
        self.called() < MAX_CALLS && !self.written.any && !has_lanes
    }

    /// Calls the op.
    fn call(&mut self, node: &Node, results: &[Aval]) -> Option<()> {
        if !self.may_call(node) {
            return None;
        }
        let scratch = self.scratch_argument;
        let block = |aval: &Aval, argument, offset| Block {
            aval: aval.clone(),
            layout: Layout::dense(&aval.shape),
            argument,
            offset,
        };
        let mut operands = vec![];
        for &v in &node.operands {
            let aval = self.body.aval(v).clone();
            operands.push(match self.operand(v)? {
                Held::Whole(argument, _) => block(&aval, argument, 0),
                Held::Updated(_) | Held::Part(..) | Held::Counted => return None,
                Held::Lying(at) => block(&aval, scratch, at),
                Held::Elements(elements) => {
                    let at = self.stored(&aval, &elements)?;
                    block(&aval, scratch, at)
                }
            });
        }
        let types: Vec<_> = operands.iter().map(|x| (&x.aval.shape, &x.layout)).collect();
        let run = node.op.prepared(&types);
        self.looped.steps.push(Step::Call(self.calls.len()));
        let mut made = vec![];
        for (aval, &v) in results.iter().zip(&node.results) {
            let at = self.place(aval.bytes());
            made.push(block(aval, scratch, at));
            let held = self.read(aval, scratch, at, aval.dtype.bytes(), false)?;
            self.held[v.index()] = Some(held);
        }
        self.calls.push(Call { operands, results: made, run });
        Some(())
    }

    /// The bytes between two elements of a slice that is read or written in an argument. Slices along the last axis are
    /// contiguous.
    fn along(&mut self, argument: usize, slice: &Aval, roles: &Roles) -> Option<usize> {
        let width = slice.dtype.bytes();
        if !roles.last {
            return Some(roles.length * width);
        }
        self.looped.strides.push((argument, i32::try_from(slice.bytes()).ok()?));
        Some(width)
    }

    fn outputs(&mut self, roles: &Roles) -> Option<()> {
        let (next, rest) = self.body.outputs().split_at(roles.carried);
        for (argument, (&from, &to)) in self.body.inputs().iter().zip(next).enumerate() {
            let width = self.body.aval(from).dtype.bytes();
            if self.is_whole(from) {
                match self.operand(to)? {
                    Held::Whole(there, _) if there == argument => continue,
                    _ => return None,
                }
            }
            let (from, to) = (self.elements(from)?, self.elements(to)?);
            if self.lanes_of_input(argument).is_some() {
                self.carry_lanes(argument, &from, &to)?;
                continue;
            }
            let vectors = std::mem::take(&mut self.vectors.carried[argument]);
            for (i, [value, next]) in self.pairs(&vectors, &from, &to) {
                let place = Place { argument, offset: (i * width) as i32, moves: false };
                self.looped.carried.push(Carried { value, next, place });
            }
        }
        for (number, &output) in rest.iter().enumerate() {
            let aval = self.body.aval(output).clone();
            if self.output_lanes(roles.carried + number, output, roles)? {
                continue;
            }
            self.same_for_lanes(None);
            let (elements, argument) = (self.elements(output)?, self.looped.arguments.len());
            let (moves, apart) = match roles.tested {
                true => (false, 0),
                false => (!roles.last, self.along(argument, &aval, roles)?),
            };
            self.looped.arguments.push((aval.bytes() * if roles.tested { 1 } else { roles.length }, true));
            for (i, &element) in elements.iter().enumerate() {
                let offset = i32::try_from(i * apart).ok()?;
                self.looped.steps.push(Step::Store(element, Place { argument, offset, moves }));
            }
            if roles.tested {
                self.looped.test = Some((elements[0], argument));
            }
        }
        Some(())
    }
}

/// Whether a node replaces windows of its first operand, each by its elements or an op with a name.
fn is_update(node: &Node) -> bool {
    let by_name = |op: &Scatter| op.region().is_none();
    node.op.get::<DynamicUpdateSlice>().is_some() || node.op.get::<Scatter>().is_some_and(by_name)
}

/// Whether native code has elements of this dtype.
fn is_native(dtype: DType) -> bool {
    use DType::*;
    matches!(dtype, I1 | I8 | I16 | I32 | I64 | UI8 | UI16 | UI32 | UI64 | F32 | F64)
}
