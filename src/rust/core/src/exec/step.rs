//! Plans and their steps.

use super::compile::Program;
use super::frame::Frame;
use super::place::Place;
use crate::error::Result;
use crate::kernels::memory::{AlignedBytes, Span};
use crate::ops::{Op, Ready};
use crate::stop;
use crate::tensor::{Aval, View, ViewMut};
use std::fmt::Debug;
use std::sync::Arc;

/// The action of a step.
#[derive(Clone, Debug)]
pub enum Action {
    /// Applies an op.
    Apply(Op, Prepared),
    /// Runs a group of nodes, tile by tile.
    Tiles(Arc<Program>),
    /// Copies an operand of any layout into a dense output.
    Copy {
        /// Whether it is stored past the caches.
        past: bool,
    },
    /// Copies an operand of any layout into the frame of a dense output, around what is computed inside.
    Frame(Arc<Frame>),
    /// Runs a branch or a loop, on dense operands.
    Control(Arc<dyn Control>),
}

/// An op, specialised to the shapes and layouts of its operands.
#[derive(Clone)]
pub struct Prepared(Arc<Ready>);

impl Prepared {
    /// Specialises an op to operands in these places.
    pub fn new(op: &Op, operands: &[(Aval, Place)]) -> Prepared {
        let types: Vec<_> = operands.iter().map(|(aval, place)| (&aval.shape, &place.layout)).collect();
        Prepared(Arc::new(op.prepared(&types)))
    }

    /// Computes the results.
    pub fn run(&self, operands: &[View], results: &mut [ViewMut]) {
        (self.0)(operands, results)
    }
}

impl Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Prepared")
    }
}

/// A step of a plan.
#[derive(Clone, Debug)]
pub struct Step {
    /// The action.
    pub action: Action,
    /// The values that it reads.
    pub operands: Vec<(Aval, Place)>,
    /// The values that it computes, and their bytes.
    pub results: Vec<(Aval, Span)>,
}

impl Step {
    /// What it reports before it is done: the elements that it makes. Of many, its kernels report their
    /// parts.
    pub fn work(&self) -> usize {
        self.results.iter().map(|(aval, _)| aval.shape.size()).sum::<usize>().min(stop::EVERY)
    }
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
    /// Bytes of the registers that one of its steps needs, at most, branches and loops included.
    pub registers: usize,
    /// Elements that all steps make, if they are so few that they are reported once for all: of what is run
    /// often.
    pub at_once: Option<usize>,
}

impl Plan {
    /// Finds what is said of all steps, when these are there; `often` says whether it is run again and again.
    pub fn sum_up(&mut self, often: bool) {
        /// Elements, at most, that are reported at once.
        const MAX_AT_ONCE: usize = 1 << 12;
        let registers = |step: &Step| match &step.action {
            Action::Tiles(program) => program.registers(),
            Action::Control(control) => control.registers(),
            Action::Apply(..) | Action::Copy { .. } | Action::Frame(_) => 0,
        };
        self.registers = self.steps.iter().map(registers).max().unwrap_or(0);
        // Loops ask for themselves.
        let asks = |step: &Step| matches!(step.action, Action::Control(_));
        let work = self.steps.iter().map(Step::work).sum::<usize>().max(1);
        self.at_once = (often && work <= MAX_AT_ONCE && !self.steps.iter().any(asks)).then_some(work);
    }
}

/// A branch or a loop: an op that runs programs of its own.
pub trait Control: Debug + Send + Sync {
    /// Name of the op.
    fn name(&self) -> &'static str;

    /// The plans of its regions, with their role as name.
    fn programs(&self) -> Vec<(&'static str, &Plan)>;

    /// Bytes that it allocates beside its operands and results.
    fn bytes(&self) -> usize;

    /// Bytes of the registers that its programs need, at most.
    fn registers(&self) -> usize;

    /// About how long a repetition takes in native code, in picoseconds; `None` for what has none.
    fn native(&self) -> Option<usize>;

    /// How often it repeats what [`programs`](Control::programs) says, if that is known; else 1.
    fn repetitions(&self) -> usize;

    /// Iterations that threads share; 1 if they do not.
    fn pieces(&self) -> usize;

    /// Runs it on dense operands, with so many bytes of registers at least.
    fn run(&self, operands: &[View], results: &mut [ViewMut], registers: &mut [u8]);
}

/// Compiles an op with regions; `None` for other ops.
pub type CompileControl = fn(&Op) -> Result<Option<Arc<dyn Control>>>;

/// Bytes of branches and loops.
pub fn regions(plan: &Plan) -> usize {
    let own = |step: &Step| if let Action::Control(control) = &step.action { control.bytes() } else { 0 };
    plan.steps.iter().map(own).sum()
}
