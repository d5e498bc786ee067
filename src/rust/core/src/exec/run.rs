//! Executables: graphs that are compiled once and run many times.

use super::bound_plan::BoundPlan;
use super::given::Given;
use super::place::INPUTS;
use super::plan::plan;
use super::reused::Reused;
use super::step::{regions, Action, CompileControl, Plan, Step};
use crate::error::Result;
use crate::kernels::math::Level;
use crate::kernels::memory::nontemporal::streamed;
use crate::kernels::memory::{self, AlignedBytes, Memory};
use crate::ops::Graph;
use crate::passes;
use crate::raised;
use crate::tensor::Aval;
use std::cell::Cell;
use std::sync::OnceLock;
use std::thread::LocalKey;

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
    may_raise: bool,
    held: Reused<Held>,
    ahead: Option<Box<Ahead>>,
}

/// What a program computes of its constants alone.
#[derive(Debug)]
struct Ahead {
    /// The program that makes it, which raises no error.
    first: Executable,
    /// What it made in the first run.
    made: OnceLock<Vec<AlignedBytes>>,
}

impl Ahead {
    /// Makes the values, unless they are there, of the constants, which are the same each time.
    fn make(&self, constants: &[&[u8]]) {
        if self.made.get().is_some() {
            return;
        }
        let mut made: Vec<AlignedBytes> =
            self.first.outputs().map(|aval| AlignedBytes::zeroed(aval.bytes())).collect();
        let inputs: Vec<Option<&[u8]>> = constants.iter().copied().map(Some).collect();
        let outputs = made.iter_mut().map(|x| Output::Fresh(x.as_mut_slice())).collect();
        self.first.run_all(&inputs, &[], outputs);
        // A handler of an interrupt may have run the same program meanwhile, and made them.
        let _ = self.made.set(made);
    }

    /// The values, once they are made.
    fn values(&self) -> impl Iterator<Item = &[u8]> {
        self.made.get().into_iter().flatten().map(AlignedBytes::as_slice)
    }
}

/// Memory that is reused by the next run, so that a warm call allocates nothing.
#[derive(Debug, Default)]
struct Held {
    arena: AlignedBytes,
    bound: BoundPlan,
    lists: memory::Lists,
}

thread_local! {
    /// Registers, which the programs on a thread share: their steps run one after the other.
    static REGISTERS: Cell<AlignedBytes> = const { Cell::new(AlignedBytes::new()) };
    /// Registers of programs that run apart from that on this thread.
    static APART: Cell<AlignedBytes> = const { Cell::new(AlignedBytes::new()) };
}

impl Executable {
    /// Compiles a region of a branch or a loop: its results stay in the engine. So many inputs, the first, are
    /// carried by a loop: [`donations`](Executable::donations) says which are updated in place.
    pub(super) fn region(graph: &Graph, carried: usize, control: CompileControl) -> Result<Executable> {
        Executable::new(graph, Given::Carried(carried), control)
    }

    /// Compiles an iteration of a loop without a state.
    pub(super) fn iteration(graph: &Graph, control: CompileControl) -> Result<Executable> {
        Executable::new(graph, Given::Iteration, control)
    }

    /// Compiles a graph: verify, optimise, plan. `given` are the inputs whose memory may be reused, `control`
    /// compiles branches and loops.
    ///
    /// # Errors
    /// Those of [`Level::check`] and of `control`. [`crate::error::Error::Internal`] if the graph is not well
    /// formed, which is a bug.
    pub(super) fn new(graph: &Graph, given: Given, control: CompileControl) -> Result<Executable> {
        Level::check()?;
        graph.verify()?;
        let mut graph = passes::optimise(graph)?;
        if let Some(chosen) = passes::if_conversion(&graph)? {
            graph = passes::optimise(&chosen)?;
        }
        if let Some(narrow) = passes::narrow(&graph)? {
            graph = narrow;
        }
        if let Some(parts) = passes::planar(&graph)? {
            graph = parts;
        }
        if let Some(fused) = passes::outer_products(&graph)? {
            graph = passes::optimise(&fused)?;
        }
        if let Some(moved) = passes::reshapes(&graph)? {
            graph = moved;
        }
        if let Some(joined) = passes::apart(&graph)? {
            graph = joined;
        }
        let is_inner = !matches!(given, Given::Donated(_));
        if let Some(joined) = passes::mosaics(&graph, is_inner)? {
            graph = joined;
        }
        if let Some(packed) = passes::packs(&graph, passes::Rounding::Same)? {
            graph = packed;
        }
        if let Some(few) = passes::firsts(&graph)? {
            graph = few;
        }
        if let Some(folded) = passes::part_folds(&graph)? {
            graph = folded;
        }
        if let Some(parted) = passes::carries(&graph)? {
            graph = parted;
        }
        if !matches!(given, Given::Iteration) {
            if let Some(cut) = passes::strips(&graph, passes::Cuts::HERE)? {
                graph = cut;
            }
        }
        if let Some(turned) = passes::rows(&graph, is_inner)? {
            graph = turned;
        }
        if let Some(turned) = passes::slices(&graph)? {
            graph = turned;
        }
        if let Some(turned) = passes::transposes(&graph)? {
            graph = turned;
        }
        if let Some(parted) = passes::parts(&graph, passes::LARGE)? {
            graph = parted;
        }
        if let Some(joined) = passes::pads(&graph)? {
            graph = joined;
        }
        let plan = plan(&graph, given, control)?;
        let may_share = plan.steps.iter().any(may_share);
        let may_raise = graph.nodes().iter().any(|node| node.op.may_raise());
        Ok(Executable { graph, plan, may_share, may_raise, held: Reused::default(), ahead: None })
    }

    /// The same, given what this program makes of the constants, after these.
    pub(super) fn after(mut self, first: Executable) -> Executable {
        self.ahead = Some(Box::new(Ahead { first, made: OnceLock::new() }));
        self
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

    /// Whether a run might be worth sharing between threads: it reads or computes more than a few thousand
    /// elements, or has a branch or a loop.
    pub fn may_share(&self) -> bool {
        self.may_share
    }

    /// Types of the outputs.
    pub fn outputs(&self) -> impl Iterator<Item = &Aval> {
        self.graph.outputs().iter().map(|&v| self.graph.aval(v))
    }

    /// Runs the program. All buffers are dense, column-major, aligned, and of the sizes that the graph says;
    /// an input whose buffer is passed as an output is `None`. It may be left as [`stop`](crate::stop) says,
    /// with outputs that are unspecified.
    ///
    /// # Errors
    /// The first that an op raised, after all has run: [`crate::error::Error::IndexOutOfRange`]. Outputs are
    /// unspecified then.
    pub fn run(&self, inputs: &[Option<&[u8]>], constants: &[&[u8]], outputs: Vec<Output>) -> Result<()> {
        match self.may_raise {
            true => raised::collected(|| self.run_all(inputs, constants, outputs)),
            false => {
                self.run_all(inputs, constants, outputs);
                Ok(())
            }
        }
    }

    fn run_all(&self, inputs: &[Option<&[u8]>], constants: &[&[u8]], outputs: Vec<Output>) {
        self.ahead.iter().for_each(|ahead| ahead.make(constants));
        let ahead = self.ahead.iter().flat_map(|ahead| ahead.values());
        // A program that runs inside another, from an interrupt handler of R, allocates its own.
        let inputs = inputs.iter().map(|x| x.unwrap_or(&[])).chain(constants.iter().copied()).chain(ahead);
        self.run_in(&REGISTERS, inputs, outputs.into_iter());
    }

    /// As [`run_each`](Executable::run_each), with registers of this thread.
    fn run_in<'a, 'b>(
        &self,
        of_thread: &'static LocalKey<Cell<AlignedBytes>>,
        inputs: impl Iterator<Item = &'a [u8]>,
        outputs: impl Iterator<Item = Output<'b>>,
    ) {
        let mut registers = of_thread.take();
        registers.reserve(self.plan.registers);
        self.run_each(inputs, outputs, registers.as_mut_slice());
        // Non-temporal stores are completed before other threads see the end.
        streamed();
        of_thread.set(registers);
    }

    /// As [`run`](Executable::run), without allocating lists, and with the registers of the caller. Donated
    /// inputs are empty; constants follow the inputs.
    pub(super) fn run_each<'a, 'b>(
        &self,
        inputs: impl Iterator<Item = &'a [u8]>,
        outputs: impl Iterator<Item = Output<'b>>,
        registers: &mut [u8],
    ) {
        self.held.with(Held::default, |held| self.run_with(held, inputs, outputs, registers));
    }

    fn run_with<'a, 'b>(
        &self,
        Held { arena, bound, lists }: &mut Held,
        inputs: impl Iterator<Item = &'a [u8]>,
        outputs: impl Iterator<Item = Output<'b>>,
        registers: &mut [u8],
    ) {
        arena.reserve(self.plan.arena);
        let mut memory = Memory::reusing(std::mem::take(lists));
        memory.add_write(arena.as_mut_slice());
        memory.add_read(self.literals());
        let mut count = INPUTS;
        for bytes in inputs {
            memory.add_read(bytes);
            count += 1;
        }
        for output in outputs {
            match output {
                Output::Fresh(bytes) => {
                    memory.add_write(bytes);
                }
                Output::Unused => {
                    memory.add_absent();
                }
                // The output and the input are one buffer with two numbers.
                Output::Donated(bytes, input) => {
                    let number = memory.add_write(bytes);
                    memory.set_alias(INPUTS + input, number);
                }
            }
            count += 1;
        }
        bound.bind(&self.plan, &mut memory, 0..count, registers);
        bound.run(&self.plan, &mut memory, registers);
        *lists = memory.into_lists();
    }

    /// As [`run_each`](Executable::run_each), on whatever thread, with registers of its own.
    pub(super) fn run_apart<'a, 'b>(
        &self,
        inputs: impl Iterator<Item = &'a [u8]>,
        outputs: impl Iterator<Item = Output<'b>>,
    ) {
        self.run_in(&APART, inputs, outputs);
    }

    /// The bytes of its literals.
    pub(super) fn literals(&self) -> &[u8] {
        self.plan.literals.as_slice()
    }
}

/// See [`Executable::may_share`].
fn may_share(step: &Step) -> bool {
    /// Elements below which neither the cheapest kernel nor a product of matrices is worth sharing.
    const MIN_SHARED: usize = 1 << 11;
    match &step.action {
        Action::Control(_) => true,
        Action::Tiles(program) => program.is_shared(),
        Action::Apply(..) | Action::Copy { .. } | Action::Frame(_) => {
            let made = step.results.iter().map(|(aval, _)| aval.shape.size());
            step.operands.iter().map(|(aval, _)| aval.shape.size()).chain(made).sum::<usize>() >= MIN_SHARED
        }
    }
}
