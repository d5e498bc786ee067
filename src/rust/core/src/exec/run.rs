//! Runs a plan.

use super::compile::Program;
use super::place::INPUTS;
use super::plan::plan;
use super::step::{regions, Action, CompileControl, Plan, Prepared, Step};
use crate::error::Result;
use crate::exec::vm::Bound;
use crate::kernels::math::Level;
use crate::kernels::memory::{self, AlignedBytes, Bond, Lent, Memory, Span};
use crate::kernels::tile;
use crate::ops::Graph;
use crate::passes;
use crate::stop;
use crate::tensor::{Aval, View, ViewMut};
use std::cell::RefCell;

/// The memory of one output.
pub enum Output<'a> {
    /// A buffer of its own.
    Fresh(&'a mut [u8]),
    /// The buffer of the donated input with that number, which is passed here instead of among the inputs.
    Donated(&'a mut [u8], usize),
    /// None: the output is an input as it is, and the caller has it already.
    Unused,
}

/// A compiled program: an optimised graph with its plan.
#[derive(Debug)]
pub struct Executable {
    graph: Graph,
    plan: Plan,
    may_share: bool,
    // Kept between runs, so that a warm call allocates nothing.
    pub(super) arena: RefCell<AlignedBytes>,
    lists: RefCell<Lists>,
}

/// What a run lists.
#[derive(Debug, Default)]
struct Lists {
    memory: memory::Lists,
    /// For each buffer of the program, its number in the memory.
    names: Vec<usize>,
    /// Buffers of outputs that nobody asks for.
    unused: Vec<usize>,
}

impl Executable {
    /// Compiles a region of a branch or a loop: what it makes stays in the engine.
    pub(super) fn region(graph: &Graph, control: CompileControl) -> Result<Executable> {
        Executable::new(graph, &[], false, control)
    }

    /// Compiles a graph: verify, optimise, plan. `donated` are the numbers of inputs whose memory may be
    /// reused; `leaves` says whether outputs leave the engine, `control` compiles branches and loops.
    ///
    /// # Errors
    /// Those of [`Level::check`] and of `control`. [`crate::error::Error::Internal`] if the graph is not well
    /// formed, which is a bug.
    pub(super) fn new(
        graph: &Graph,
        donated: &[usize],
        leaves: bool,
        control: CompileControl,
    ) -> Result<Executable> {
        Level::check()?;
        graph.verify()?;
        let mut graph = passes::optimise(graph)?;
        if let Some(chosen) = passes::if_conversion(&graph)? {
            graph = passes::optimise(&chosen)?;
        }
        let plan = plan(&graph, donated, leaves, control)?;
        let may_share = plan.steps.iter().any(may_share);
        Ok(Executable { graph, plan, may_share, arena: RefCell::default(), lists: RefCell::default() })
    }

    /// The optimised graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// For each output, the donated input whose buffer it may take over.
    pub fn donations(&self) -> &[Option<usize>] {
        &self.plan.donations
    }

    /// The plan.
    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Bytes of temporary values, without what branches and loops hold.
    pub fn scratch_bytes(&self) -> usize {
        self.plan.arena
    }

    /// As [`scratch_bytes`](Executable::scratch_bytes), with what branches and loops hold.
    pub(super) fn held_bytes(&self) -> usize {
        self.plan.arena + regions(&self.plan)
    }

    /// Whether a run might be worth sharing between threads: it makes or reads more than a few thousand
    /// elements, or repeats something.
    pub fn may_share(&self) -> bool {
        self.may_share
    }

    /// Types of the outputs.
    pub fn outputs(&self) -> impl Iterator<Item = &Aval> {
        self.graph.outputs().iter().map(|&v| self.graph.aval(v))
    }

    /// Runs the program. All buffers are dense, column-major, aligned, and of the sizes that the graph says;
    /// an input whose buffer is passed as an output is `None`. It may be left as [`stop`] says, with outputs
    /// that are unspecified.
    pub fn run(&self, inputs: &[Option<&[u8]>], constants: &[&[u8]], outputs: Vec<Output>) {
        let inputs = inputs.iter().map(|x| x.unwrap_or(&[]));
        self.run_each(inputs.chain(constants.iter().copied()), outputs.into_iter())
    }

    /// As [`run`](Executable::run), without lists to be made for it: the body of a loop is run often. Inputs
    /// that were given away are empty; constants follow the inputs.
    pub(super) fn run_each<'a>(
        &self,
        inputs: impl Iterator<Item = &'a [u8]>,
        outputs: impl Iterator<Item = Output<'a>>,
    ) {
        let mut arena = self.arena.try_borrow_mut().ok();
        // A program that calls itself would find its arena taken: it gets one for the occasion.
        let mut own = AlignedBytes::default();
        let arena = arena.as_deref_mut().unwrap_or(&mut own);
        arena.reserve(self.plan.arena);

        let graph = &self.graph;
        let buffers = graph.inputs().len() + graph.constants().len() + graph.outputs().len();
        // Taken for the run: a program that calls itself makes some of its own.
        let Lists { memory: lists, mut names, mut unused } = self.lists.take();
        let mut memory = Memory::reusing(lists);
        memory.add_write(arena.as_mut_slice());
        memory.add_read(self.plan.literals.as_slice());
        for bytes in inputs {
            memory.add_read(bytes);
        }
        names.clear();
        names.extend(0..2 + buffers);
        unused.clear();
        for output in outputs {
            match output {
                Output::Fresh(bytes) => {
                    memory.add_write(bytes);
                }
                Output::Unused => unused.push(memory.add_read(&[])),
                // One buffer under two numbers.
                Output::Donated(bytes, input) => names[INPUTS + input] = memory.add_write(bytes),
            }
        }
        for step in &self.plan.steps {
            if step.results.iter().all(|(_, span)| unused.contains(&span.buffer)) {
                continue;
            }
            stop::work(work(step));
            apply(step, &mut memory, &names);
        }
        self.lists.replace(Lists { memory: memory.into_lists(), names, unused });
    }
}

/// See [`Executable::may_share`].
fn may_share(step: &Step) -> bool {
    /// Fewer elements than the cheapest work has that is worth sharing, and than a product of matrices.
    const MIN_SHARED: usize = 1 << 11;
    match &step.action {
        Action::Control(_) => true,
        Action::Tiles(program) => program.is_shared(),
        Action::Apply(..) | Action::Copy => {
            let made = step.results.iter().map(|(aval, _)| aval.shape.size());
            step.operands.iter().map(|(aval, _)| aval.shape.size()).chain(made).sum::<usize>() >= MIN_SHARED
        }
    }
}

/// What a step reports before it is done: the elements that it makes. Of many, its kernels report their
/// parts.
fn work(step: &Step) -> usize {
    step.results.iter().map(|(aval, _)| aval.shape.size()).sum::<usize>().min(stop::EVERY)
}

/// A program whose values stay where they are while it runs again and again: the body of a loop. What can be
/// looked up or checked once is.
pub(super) struct Repeated<'e, 'a> {
    steps: Vec<Placed<'e, 'a>>,
    /// Elements that all steps make, if they are so few that they are reported once for all.
    few: Option<usize>,
    /// For each buffer of the program, its number in the memory.
    names: Vec<usize>,
}

/// A step of it.
struct Placed<'e, 'a> {
    step: &'e Step,
    work: usize,
    how: How<'e, 'a>,
}

#[allow(clippy::large_enum_variant)] // one for each step of a call, which is to allocate nothing for it
enum How<'e, 'a> {
    Tiles(Box<Bound<'e, 'a>>, &'e Program),
    /// A copy of bytes as they lie.
    Move(Bond<'a>),
    /// An op of few operands and results.
    Ready(Bond<'a>, &'e Prepared),
    Other,
}

/// Scratch memory of repeated programs: a buffer, and the bytes of it that are taken, first by registers,
/// which all share.
pub(super) struct Scratch {
    pub buffer: usize,
    pub taken: usize,
}

impl Scratch {
    /// Bytes of scratch memory that these programs need: registers, which they share, and all.
    pub fn bytes(programs: &[&Executable]) -> [usize; 2] {
        let (mut registers, mut constants) = (0, 0);
        for step in programs.iter().flat_map(|program| &program.plan.steps) {
            if let Action::Tiles(program) = &step.action {
                let [shared, own] = program.scratch();
                registers = shared.next_multiple_of(64).max(registers);
                constants += own.next_multiple_of(64);
            }
        }
        [registers, registers + constants]
    }

    fn take(&mut self, [registers, constants]: [usize; 2]) -> [Span; 2] {
        let own = self.taken..self.taken + constants;
        self.taken += constants.next_multiple_of(64);
        [0..registers, own].map(|range| Span { buffer: self.buffer, range })
    }
}

impl Executable {
    /// Its literals, to be read where it is repeated.
    pub(super) fn literals(&self) -> &[u8] {
        self.plan.literals.as_slice()
    }

    /// Prepares it to be run often. `names` are the numbers of its buffers in the memory: arena, literals,
    /// inputs, outputs.
    pub(super) fn repeated<'e, 'a>(
        &'e self,
        memory: &mut Memory<'a>,
        names: Vec<usize>,
        scratch: &mut Scratch,
    ) -> Repeated<'e, 'a> {
        let prepare = |step: &'e Step| {
            let how = match (&step.action, step.operands.as_slice(), step.results.as_slice()) {
                (Action::Tiles(program), ..) => {
                    let [registers, constants] = scratch.take(program.scratch());
                    How::Tiles(
                        Box::new(program.bind(step.ends(), memory, &names, [&registers, &constants])),
                        program,
                    )
                }
                (Action::Copy, [(aval, from)], [(_, to)])
                    if from.layout.is_dense(&aval.shape)
                        && from.layout.offset == 0
                        && from.span.range.len() == to.range.len() =>
                {
                    How::Move(bond(step, memory, &names))
                }
                (Action::Apply(_, prepared), operands, results)
                    if matches!((operands.len(), results.len()), (1..=3, 1) | (1, 2)) =>
                {
                    How::Ready(bond(step, memory, &names), prepared)
                }
                _ => How::Other,
            };
            Placed { step, work: work(step), how }
        };
        /// Elements of a repetition, at most, that are reported at once.
        const MAX_AT_ONCE: usize = 1 << 12;
        let steps: Vec<Placed> = self.plan.steps.iter().map(prepare).collect();
        // Loops inside ask for themselves.
        let all = steps.iter().map(|step| step.work).sum::<usize>().max(1);
        let few =
            (all <= MAX_AT_ONCE && steps.iter().all(|step| !matches!(step.how, How::Other))).then_some(all);
        Repeated { steps, few, names }
    }
}

/// Binds a step to memory.
fn bond<'a>(step: &Step, memory: &Memory<'a>, names: &[usize]) -> Bond<'a> {
    memory.bond(
        step.operands.iter().map(|(_, place)| &place.span),
        step.results.iter().map(|(_, span)| span),
        names,
    )
}

/// Does a step that has as many operands and results.
fn ready<'a, const R: usize, const W: usize>(
    step: &Step,
    bond: &Bond<'a>,
    memory: &mut Memory<'a>,
    prepared: &Prepared,
) {
    let (reads, writes) = bond.slices::<R, W>(memory);
    let operands: [View; R] = std::array::from_fn(|i| {
        let (aval, place) = &step.operands[i];
        View { dtype: aval.dtype, shape: &aval.shape, layout: &place.layout, data: reads[i] }
    });
    let mut types = step.results.iter();
    let mut results = writes.map(|data| {
        let (aval, _) = types.next().expect("as many as there are results");
        ViewMut { dtype: aval.dtype, shape: &aval.shape, data }
    });
    prepared.run(&operands, &mut results);
}

impl<'a> Repeated<'_, 'a> {
    /// Runs it once.
    pub fn run(&mut self, memory: &mut Memory<'a>) {
        if let Some(few) = self.few {
            stop::work(few);
        }
        for Placed { step, work, how } in &mut self.steps {
            if self.few.is_none() {
                stop::work(*work);
            }
            match how {
                How::Tiles(bound, program) => {
                    bound.run(memory);
                    if program.is_unfinished() {
                        program.finish(step.ends(), memory, &self.names);
                    }
                }
                How::Move(bond) => {
                    let ([from], [out]) = bond.slices(memory);
                    stop::copy(from, out);
                }
                How::Ready(bond, prepared) => match (step.operands.len(), step.results.len()) {
                    (1, 2) => ready::<1, 2>(step, bond, memory, prepared),
                    (1, _) => ready::<1, 1>(step, bond, memory, prepared),
                    (2, _) => ready::<2, 1>(step, bond, memory, prepared),
                    _ => ready::<3, 1>(step, bond, memory, prepared),
                },
                How::Other => apply(step, memory, &self.names),
            }
        }
    }
}

/// Does one step.
fn apply(step: &Step, memory: &mut Memory, names: &[usize]) {
    if let Action::Tiles(program) = &step.action {
        return program.run(step.ends(), memory, names);
    }
    let reads = step.operands.iter().map(|(_, place)| &place.span);
    fn view<'s>(step: &'s Step, lent: &Lent<'s, '_>, i: usize) -> View<'s> {
        let (aval, place) = &step.operands[i];
        View { dtype: aval.dtype, shape: &aval.shape, layout: &place.layout, data: lent.read(&place.span) }
    }
    if let (Action::Apply(..) | Action::Copy, [(aval, span)]) = (&step.action, step.results.as_slice()) {
        // The usual one result and few operands need no vectors.
        let (lent, data) = memory.lend(reads, span, names);
        let mut out = ViewMut { dtype: aval.dtype, shape: &aval.shape, data };
        let view = |i| view(step, &lent, i);
        match (&step.action, step.operands.len()) {
            (Action::Copy, _) => tile::copy(&view(0), &mut out),
            (Action::Apply(_, op), 1) => op.run(&[view(0)], &mut [out]),
            (Action::Apply(_, op), 2) => op.run(&[view(0), view(1)], &mut [out]),
            (Action::Apply(_, op), 3) => op.run(&[view(0), view(1), view(2)], &mut [out]),
            (Action::Apply(_, op), n) => op.run(&(0..n).map(view).collect::<Vec<_>>(), &mut [out]),
            (Action::Control(_) | Action::Tiles(_), _) => {}
        }
        return;
    }
    let spans: Vec<&Span> = step.results.iter().map(|(_, span)| span).collect();
    let (lent, data) = memory.lend_all(reads, &spans, names);
    let results = step.results.iter().zip(data);
    let mut results: Vec<ViewMut> =
        results.map(|((aval, _), data)| ViewMut { dtype: aval.dtype, shape: &aval.shape, data }).collect();
    let operands: Vec<View> = (0..step.operands.len()).map(|i| view(step, &lent, i)).collect();
    match &step.action {
        Action::Control(control) => control.run(&operands, &mut results),
        Action::Apply(_, op) => op.run(&operands, &mut results),
        Action::Copy | Action::Tiles(_) => {}
    }
}
