//! Branches and loops within the body of a loop. Of short branches both are computed, and the iterations of short loops
//! follow one another, without a jump. A longer branch is a loop of at most one iteration.

use super::values::{Held, Parts};
use super::{is_native, Lowering, Node, Written, MAX_ELEMENTS, MAX_STEPS};
use crate::dtype::{Bool, DType};
use crate::exec::vm::native;
use crate::exec::vm::native::loops::{Call, Otherwise, Step, Window};
use crate::graph::{Def, Value};
use crate::ops::{Control, DynamicSlice, Gather, Graph, If, Scan, While};
use crate::shape::Shape;
use crate::stop;
use crate::tensor::{Aval, Literal, View, ViewMut};
use std::sync::Arc;

/// Steps of branches that are both computed, at most, with those of formulas: of longer ones that which is not taken costs
/// more than a jump.
const MAX_BRANCHES: usize = 256;

/// Iterations that follow one another, at most.
const MAX_ITERATIONS: usize = 16;

/// Bytes of what the iterations of a loop make that has more elements than are replaced, at most.
const MAX_STACKED: usize = 1 << 18;

/// The values that a loop carries: elements, and what is in the buffer of an argument.
type State = Vec<Held>;

/// What was lowered before an attempt.
struct Before {
    steps: usize,
    values: usize,
    calls: usize,
    formulas: usize,
    repeated: usize,
    lying: usize,
    lanes: usize,
    raisers: usize,
    written: Written,
    held: Vec<Option<Held>>,
}

impl<'a> Lowering<'a> {
    /// The results of a node with regions.
    pub(super) fn regions(&mut self, node: &'a Node) -> Option<Vec<Held>> {
        let control = node.op.control()?;
        if !self.jumps.contains(&std::ptr::from_ref(node)) {
            let before = self.before();
            if let Some(made) = self.straight(control, node) {
                return Some(made);
            }
            self.back(before);
            // In a loop it would be tried again with each attempt at that: as often as two to the power of its depth.
            self.jumps.push(node);
        }
        // What a jump carries is no vector of lanes.
        if node.operands.iter().any(|&v| self.has_lanes(v)) {
            return None;
        }
        match control {
            Control::If(op) => self.chosen_branch(op, node),
            Control::Scan(op) => self.scan(op, node),
            Control::While(op) => self.while_it_holds(op, node),
            Control::Custom(_) => None,
        }
    }

    /// Its results, if they are computed without a jump.
    fn straight(&mut self, control: Control<'a>, node: &'a Node) -> Option<State> {
        let is_short = |v: &Value| self.body.aval(*v).shape.size() <= MAX_ELEMENTS;
        match control {
            Control::If(op) => self.branches(op, node),
            Control::Scan(op)
                if op.length <= MAX_ITERATIONS
                    && op.length * op.body.nodes().len() <= MAX_STEPS
                    && node.results.iter().skip(op.carried).all(is_short) =>
            {
                self.iterations(op, node)
            }
            Control::Scan(_) | Control::While(_) | Control::Custom(_) => None,
        }
    }

    fn before(&self) -> Before {
        Before {
            steps: self.looped.steps.len(),
            values: self.looped.chain.values.len(),
            calls: self.calls.len(),
            formulas: self.formulas,
            repeated: self.repeated,
            lying: self.lying.len(),
            lanes: self.vectors.lanes,
            raisers: self.raisers,
            written: self.written.clone(),
            held: self.held.clone(),
        }
    }

    /// Gives up what was lowered since then.
    fn back(&mut self, before: Before) {
        self.looped.steps.truncate(before.steps);
        self.calls.truncate(before.calls);
        (self.formulas, self.repeated, self.vectors.lanes) = (before.formulas, before.repeated, before.lanes);
        self.forget(&before);
        (self.raisers, self.written, self.held) = (before.raisers, before.written, before.held);
    }

    /// Forgets what was made since then: it is not there where other code runs.
    fn forget(&mut self, before: &Before) {
        self.known.retain(|_, made| {
            made.retain(|&(_, v)| v < before.values);
            !made.is_empty()
        });
        self.lying.truncate(before.lying);
        self.vectors.forget(before.values);
    }

    /// The outputs of a region for these inputs.
    fn region(&mut self, graph: &'a Graph, inputs: Vec<Held>) -> Option<State> {
        let body = std::mem::replace(&mut self.body, graph);
        let held = std::mem::replace(&mut self.held, vec![None; graph.values().count()]);
        for (v, input) in graph.inputs().iter().zip(inputs) {
            self.held[v.index()] = Some(input);
        }
        let mut nodes = 0..graph.nodes().len();
        // Loops in loops have as many steps as the product of their lengths.
        let fits = nodes.all(|number| self.node(number).is_some() && self.steps() <= MAX_STEPS);
        let made = if fits { self.states(graph.outputs()) } else { None };
        (self.body, self.held) = (body, held);
        made
    }

    /// What is carried of these values.
    fn states(&mut self, values: &[Value]) -> Option<State> {
        let state = |held: &Held| matches!(held, Held::Elements(_) | Held::Whole(..));
        values.iter().map(|&v| self.operand(v).filter(state)).collect()
    }

    fn inputs_of(&mut self, values: &[Value]) -> Option<Vec<Held>> {
        values.iter().map(|&v| self.operand(v)).collect()
    }

    /// Both branches, and of each element the one that the condition chooses.
    fn branches(&mut self, op: &'a If, node: &'a Node) -> Option<State> {
        let work = |to: &Self| to.steps() + to.formulas;
        let (before, calls) = (work(self), self.called());
        let (condition, inputs) = node.operands.split_first()?;
        let condition = self.elements(*condition)?[0];
        let (first, second) = inputs.split_at(op.branches[0].inputs().len());
        let (first, second) = (self.inputs_of(first)?, self.inputs_of(second)?);
        self.both += 1;
        let (yes, no) = (self.region(&op.branches[0], first), self.region(&op.branches[1], second));
        self.both -= 1;
        // A call may fail, in the branch that is not taken.
        if work(self) - before > MAX_BRANCHES || self.calls.len() - calls > 0 {
            return None;
        }
        let (yes, no) = (yes?, no?);
        let types: Vec<Aval> = node.results.iter().map(|&v| self.body.aval(v).clone()).collect();
        let results = yes.iter().zip(&no).zip(types);
        let mut chosen = |((yes, no), aval): ((&Held, &Held), Aval)| {
            let (Held::Elements(yes), Held::Elements(no)) = (yes, no) else {
                return same(yes, no).then(|| yes.clone());
            };
            let lines: Vec<_> = yes.iter().zip(&**no).map(|(&yes, &no)| vec![condition, yes, no]).collect();
            let made = self
                .alike(&aval, &lines, |to, line| Some(to.chosen(line[0], [line[1], line[2]], aval.dtype)));
            made.map(Held::Elements)
        };
        results.map(&mut chosen).collect()
    }

    /// An element, or another one, by a condition.
    pub(super) fn chosen(&mut self, condition: usize, [yes, no]: [usize; 2], dtype: DType) -> usize {
        if yes == no {
            return yes;
        }
        if dtype != DType::I1 {
            return self.op(native::Op::Select, vec![condition, yes, no], dtype);
        }
        let other = self.op(native::Op::Not, vec![condition], dtype);
        let (yes, no) = (
            self.op(native::Op::And, vec![condition, yes], dtype),
            self.op(native::Op::And, vec![other, no], dtype),
        );
        self.op(native::Op::Or, vec![yes, no], dtype)
    }

    /// Iterations of a loop, one after the other.
    fn iterations(&mut self, op: &'a Scan, node: &'a Node) -> Option<State> {
        let (state, rest) = node.operands.split_at(op.carried);
        let (sliced, captured) = rest.split_at(op.sliced);
        let mut state = self.states(state)?;
        let stacks = sliced.iter().map(|&v| self.elements(v)).collect::<Option<Vec<_>>>()?;
        let captured = self.inputs_of(captured)?;
        let mut made: Vec<Vec<Arc<[usize]>>> = vec![vec![]; node.results.len() - op.carried];
        for step in 0..op.length {
            let index = if op.reverse { op.length - 1 - step } else { step };
            let slices = stacks.iter().map(|stack| -> Arc<[usize]> {
                let size = stack.len() / op.length;
                (0..size).map(|i| stack[place(op, index, i, size)]).collect()
            });
            let inputs = state.iter().cloned().chain(slices.map(Held::Elements));
            let inputs = inputs.chain(captured.iter().cloned()).collect();
            let mut outputs = self.region(&op.body, inputs)?;
            let slices = outputs.split_off(op.carried);
            state = outputs;
            for (made, slice) in made.iter_mut().zip(slices) {
                made.push(elements(slice)?);
            }
        }
        let stacked = made.into_iter().map(|mut slices| -> Arc<[usize]> {
            if op.reverse {
                slices.reverse();
            }
            let size = slices.first().map_or(0, |slice| slice.len());
            let mut all = vec![0; op.length * size];
            for (index, slice) in slices.iter().enumerate() {
                slice.iter().enumerate().for_each(|(i, &v)| all[place(op, index, i, size)] = v);
            }
            all.into()
        });
        Some(state.into_iter().chain(stacked.map(Held::Elements)).collect())
    }

    /// A loop that carries elements, which are these at first, and runs about so many `times`: its body makes the elements
    /// of the next iteration of those of this one, and says whether there is one.
    fn repeat(
        &mut self,
        types: &[Aval],
        first: &[Held],
        test: usize,
        times: usize,
        body: impl FnOnce(&mut Self, &State) -> Option<(State, Option<usize>)>,
    ) -> Option<State> {
        let begins = self.looped.steps.len();
        let mut state = vec![];
        for (aval, first) in types.iter().zip(first) {
            state.push(match first {
                // What was there before is there no more in later iterations, nor after the loop.
                &Held::Whole(argument, _) => (self.next_version(argument), vec![]),
                _ => {
                    let (elements, vectors) = self.carried(aval);
                    (Held::Elements(elements), vectors)
                }
            });
        }
        let (state, vectors): (State, Vec<Parts>) = state.into_iter().unzip();
        let taken = self.looped.steps.split_off(begins);
        let mut pairs = vec![];
        for ((vectors, state), first) in vectors.iter().zip(&state).zip(first) {
            if let (Held::Elements(state), Held::Elements(first)) = (state, first) {
                pairs.extend(self.pairs(vectors, state, first).into_iter().map(|(_, [v, first])| (v, first)));
            }
        }
        self.looped.steps.push(Step::Begin(pairs, test));
        self.looped.steps.extend(taken);
        let before = self.before();
        let (next, again) = body(self, &state)?;
        let mut ends = vec![];
        for ((vectors, state), next) in vectors.iter().zip(&state).zip(&next) {
            match (state, next) {
                (Held::Elements(state), Held::Elements(next)) => {
                    ends.extend(self.pairs(vectors, state, next).into_iter().map(|(_, [_, next])| next));
                }
                (Held::Whole(argument, _), next) if same(next, &self.version(*argument)) => {}
                _ => return None,
            }
        }
        self.looped.steps.push(Step::End(ends, again));
        self.forget(&before);
        let done = self.looped.steps.len() - before.steps - (self.vectors.lanes - before.lanes)
            + (self.formulas - before.formulas)
            + (self.repeated - before.repeated);
        self.repeated = self.repeated.saturating_add(done.saturating_mul(times - 1));
        let mut made = vec![];
        for ((state, vectors), aval) in state.into_iter().zip(&vectors).zip(types) {
            made.push(match state {
                Held::Whole(argument, _) => self.version(argument),
                // Elements that were taken out in the loop are not there after it.
                _ if !vectors.is_empty() => Held::Elements(self.parts(vectors, aval)),
                state => state,
            });
        }
        Some(made)
    }

    /// What is in the buffer of an argument now.
    fn version(&self, argument: usize) -> Held {
        Held::Whole(argument, self.written.versions[argument])
    }

    /// The same, as another value than before.
    fn next_version(&mut self, argument: usize) -> Held {
        self.written.versions[argument] += 1;
        self.version(argument)
    }

    /// The branch that the condition chooses.
    fn chosen_branch(&mut self, op: &'a If, node: &'a Node) -> Option<State> {
        let (condition, inputs) = node.operands.split_first()?;
        let condition = self.elements(*condition)?[0];
        let other = self.op(native::Op::Not, vec![condition], DType::I1);
        let (first, second) = inputs.split_at(op.branches[0].inputs().len());
        let sides = [self.inputs_of(first)?, self.inputs_of(second)?];
        let types: Vec<Aval> = node.results.iter().map(|&v| self.body.aval(v).clone()).collect();
        let is_short: Vec<bool> = types.iter().map(|aval| aval.shape.size() <= MAX_ELEMENTS).collect();
        let short: Vec<Aval> =
            types.iter().zip(&is_short).filter(|(_, short)| **short).map(|(aval, _)| aval.clone()).collect();
        let mut zeros = |aval: &Aval| {
            let zero = self.literal(Literal::new(0i32).convert(aval.dtype));
            Held::Elements(vec![zero; aval.shape.size()].into())
        };
        let mut state: State = short.iter().map(&mut zeros).collect();
        let begins = self.written.versions.clone();
        let (mut ends, mut long) = (vec![], vec![]);
        for ((branch, inputs), test) in op.branches.iter().zip(sides).zip([condition, other]) {
            // Either branch begins with what was there before.
            self.written.versions.clone_from(&begins);
            let whole = &mut long;
            state = self.repeat(&short, &state, test, 1, |to, _| {
                let made = to.region(branch, inputs)?;
                let (mut elements, mut others) = (vec![], vec![]);
                for (held, short) in made.into_iter().zip(&is_short) {
                    match held {
                        held @ Held::Elements(_) if *short => elements.push(held),
                        Held::Whole(argument, _) if !short && same(&held, &to.version(argument)) => {
                            others.push(argument)
                        }
                        _ => return None,
                    }
                }
                whole.push(others);
                Some((elements, None))
            })?;
            ends.push(self.written.versions.clone());
        }
        if long[0] != long[1] {
            return None;
        }
        // What either of them has changed is another value from now on.
        for (argument, version) in self.written.versions.iter_mut().enumerate() {
            let last = ends[0][argument].max(ends[1][argument]);
            *version = last + usize::from(last > begins[argument]);
        }
        let (mut state, mut long) = (state.into_iter(), long[0].iter());
        let mut result = |&short: &bool| match short {
            true => state.next(),
            false => long.next().map(|&argument| self.version(argument)),
        };
        is_short.iter().map(&mut result).collect()
    }

    /// A loop as long as a condition holds.
    fn while_it_holds(&mut self, op: &'a While, node: &'a Node) -> Option<State> {
        let (state, rest) = node.operands.split_at(op.carried);
        let (for_cond, for_body) = rest.split_at(op.cond.inputs().len() - op.carried);
        let first = self.states(state)?;
        let (for_cond, for_body) = (self.inputs_of(for_cond)?, self.inputs_of(for_body)?);
        self.lay(&op.body, &for_body)?;
        let with = |state: &State, rest: &[Held]| state.iter().chain(rest).cloned().collect::<Vec<_>>();
        let holds = |made: State| made.into_iter().next().and_then(elements).map(|made| made[0]);
        let test = holds(self.region(&op.cond, with(&first, &for_cond))?)?;
        let types = types_of(&op.body, op.carried);
        self.repeat(&types, &first, test, 1, |to, state| {
            let next = to.region(&op.body, with(state, &for_body))?;
            let again = holds(to.region(&op.cond, with(&next, &for_cond))?)?;
            Some((next, Some(again)))
        })
    }

    /// A loop along slices, which are in memory.
    fn scan(&mut self, op: &'a Scan, node: &'a Node) -> Option<Vec<Held>> {
        if op.length == 0 {
            return None;
        }
        let (state, rest) = node.operands.split_at(op.carried);
        let (sliced, captured) = rest.split_at(op.sliced);
        let mut first = self.states(state)?;
        let captured = self.inputs_of(captured)?;
        self.lay(&op.body, &captured)?;
        let mut read = vec![];
        for (&v, input) in sliced.iter().zip(&op.body.inputs()[op.carried..]) {
            let aval = op.body.aval(*input);
            // Numbers that count are not read from memory, however few they are.
            let counts = self.body.made_by(v).and_then(Self::counts);
            read.push(match counts {
                Some(start) => Sliced::Counted(start, aval.dtype),
                None => Sliced::Lying(Slices::new(op, aval, self.in_memory(v)?)?),
            });
        }
        let (mut written, mut made) = (vec![], vec![]);
        for (&v, output) in node.results.iter().zip(op.body.outputs()).skip(op.carried) {
            let aval = self.body.aval(v).clone();
            if aval.bytes() > MAX_STACKED {
                return None;
            }
            let at = self.place(aval.bytes());
            written.push(Slices::new(
                op,
                op.body.aval(*output),
                (self.scratch_argument, i32::try_from(at).ok()?),
            )?);
            made.push((aval, at));
        }
        let number = |n: usize| Some(Literal::new(i32::try_from(n).ok()?));
        let [zero, one, length, last] = [0, 1, op.length, op.length - 1].map(number);
        let yes = self.literal(Literal::new(Bool::TRUE));
        let begin = self.literal(if op.reverse { last? } else { zero? });
        first.push(Held::Elements(Arc::new([begin])));
        let mut types = types_of(&op.body, op.carried);
        types.push(Aval::known(DType::I32, Shape::scalar()));
        let mut state = self.repeat(&types, &first, yes, op.length, |to, state| {
            let (index, state) = state.split_last()?;
            let index = elements(index.clone())?[0];
            let mut inputs: Vec<Held> = state.to_vec();
            for sliced in &read {
                inputs.push(Held::Elements(match sliced {
                    Sliced::Lying(slices) => {
                        let read = to.elements_of(&slices.aval);
                        to.looped.steps.push(Step::Load(slices.window(index, &read)));
                        read
                    }
                    &Sliced::Counted(start, dtype) => {
                        let start = to.literal(Literal::new(start).convert(dtype));
                        let number = match dtype {
                            DType::I32 => index,
                            _ => to.op(native::Op::Convert(dtype), vec![index], dtype),
                        };
                        Arc::new([to.op(native::Op::Add, vec![number, start], dtype)])
                    }
                }));
            }
            inputs.extend(captured.iter().cloned());
            let mut outputs = to.region(&op.body, inputs)?;
            for (slices, made) in written.iter().zip(outputs.split_off(op.carried)) {
                to.looped.steps.push(Step::Put(slices.window(index, &elements(made)?)));
            }
            let one = to.literal(one?);
            let (step, test, end) = match op.reverse {
                true => (native::Op::Sub, native::Op::Ge, zero?),
                false => (native::Op::Add, native::Op::Lt, length?),
            };
            let next = to.op(step, vec![index, one], DType::I32);
            let end = to.literal(end);
            let again = to.op(test, vec![next, end], DType::I1);
            outputs.push(Held::Elements(Arc::new([next])));
            Some((outputs, Some(again)))
        })?;
        state.pop();
        let mut results = state;
        for (aval, at) in made {
            results.push(match aval.shape.size() <= MAX_ELEMENTS {
                true => self.read(&aval, self.scratch_argument, at, aval.dtype.bytes(), false)?,
                false => Held::Lying(at),
            });
        }
        Some(results)
    }

    /// Has what a loop reads windows of lie in memory before it begins: the last inputs of its body.
    fn lay(&mut self, body: &Graph, captured: &[Held]) -> Option<()> {
        let inputs = &body.inputs()[body.inputs().len() - captured.len()..];
        for (&v, held) in inputs.iter().zip(captured) {
            let reads = |node: &Node| {
                let is_read = node.op.get::<DynamicSlice>().is_some() || node.op.get::<Gather>().is_some();
                let known = |&v: &Value| matches!(body.def(v), Def::Literal(_));
                is_read && node.operands[0] == v && !node.operands[1..].iter().all(known)
            };
            if body.nodes().iter().any(reads) {
                self.lying_at(body.aval(v), held.clone())?;
            }
        }
        Some(())
    }
}

/// The elements of a value that consists of such.
fn elements(held: Held) -> Option<Arc<[usize]>> {
    match held {
        Held::Elements(elements) => Some(elements),
        _ => None,
    }
}

/// Whether two values are the same one in the buffer of an argument.
fn same(x: &Held, y: &Held) -> bool {
    matches!((x, y), (Held::Whole(a, v), Held::Whole(b, w)) if (a, v) == (b, w))
}

/// The types of the first inputs of the body of a loop, which it carries.
fn types_of(body: &Graph, carried: usize) -> Vec<Aval> {
    body.inputs()[..carried].iter().map(|&v| body.aval(v).clone()).collect()
}

/// What a loop runs along.
enum Sliced {
    Lying(Slices),
    /// Numbers from this one on.
    Counted(i64, DType),
}

/// Slices along which a loop runs, in memory.
struct Slices {
    /// The type of one.
    aval: Aval,
    /// The argument, and for each element of the first slice its distance from the start in bytes.
    argument: usize,
    offsets: Vec<i32>,
    /// The number of the last slice, and the bytes between two.
    last: i32,
    apart: i32,
}

impl Slices {
    /// Those of a loop, of this type, which begin at a byte of an argument.
    fn new(op: &Scan, aval: &Aval, (argument, base): (usize, i32)) -> Option<Slices> {
        if !is_native(aval.dtype) {
            return None;
        }
        let (size, width) = (aval.shape.size(), aval.dtype.bytes());
        let at = |slice, element| i32::try_from(place(op, slice, element, size) * width).ok();
        let offsets = (0..size).map(|i| at(0, i)?.checked_add(base)).collect::<Option<_>>()?;
        let last = i32::try_from(op.length - 1).ok()?;
        Some(Slices { aval: aval.clone(), argument, offsets, last, apart: at(1, 0)? })
    }

    /// The slice with a number, as these elements.
    fn window(&self, number: usize, elements: &[usize]) -> Window {
        let elements = elements.iter().copied().zip(self.offsets.iter().copied()).collect();
        Window {
            argument: self.argument,
            starts: vec![(number, self.last, self.apart)],
            otherwise: Otherwise::Never,
            elements,
        }
    }
}

/// The place of an element of a slice of so many elements among all.
fn place(op: &Scan, slice: usize, element: usize, size: usize) -> usize {
    match op.last {
        true => slice * size + element,
        false => element * op.length + slice,
    }
}

impl Lowering<'_> {
    /// Has the loop ask now and then whether the user stops it, if loops are in its body: their iterations are not known.
    pub(super) fn ask(&mut self) {
        let steps = &self.looped.steps;
        if !steps.iter().any(|step| matches!(step, Step::Begin(..))) {
            return;
        }
        let every = (stop::EVERY / (steps.len() + 1)).max(1);
        self.looped.asks = Some((self.calls.len(), every as i32));
        let run = Box::new(|_: &[View], _: &mut [ViewMut]| stop::work(stop::EVERY));
        self.calls.push(Call { operands: vec![], results: vec![], run });
    }
}
