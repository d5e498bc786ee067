//! What a plan is made of.

use super::compile::{Ends, Program};
use super::place::Place;
use crate::error::Result;
use crate::kernels::memory::{AlignedBytes, Span};
use crate::ops::{Op, Ready};
use crate::tensor::{Aval, View, ViewMut};
use std::fmt::Debug;
use std::rc::Rc;

/// What a step does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Applies an op.
    Apply(Op, Prepared),
    /// Runs a group of nodes, tile by tile.
    Tiles(Rc<Program>),
    /// Copies an operand of any layout into a dense output.
    Copy,
    /// Runs a branch or a loop, on dense operands.
    Control(Rc<dyn Control>),
}

/// What computes an op's results, with all found that does not depend on elements.
#[derive(Clone)]
pub struct Prepared(Rc<Ready>);

impl Prepared {
    /// For operands in these places.
    pub fn new(op: &Op, operands: &[(Aval, Place)]) -> Prepared {
        let types: Vec<_> = operands.iter().map(|(aval, place)| (&aval.shape, &place.layout)).collect();
        Prepared(Rc::new(op.prepared(&types)))
    }

    /// Computes them.
    pub fn run(&self, operands: &[View], results: &mut [ViewMut]) {
        (self.0)(operands, results)
    }
}

impl Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Prepared")
    }
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

impl Step {
    /// What it reads and makes.
    pub fn ends(&self) -> Ends<'_> {
        Ends { operands: &self.operands, results: &self.results }
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
}

/// A branch or a loop: an op that runs programs of its own.
pub trait Control: Debug {
    /// Name of the op.
    fn name(&self) -> &'static str;

    /// The plans of its programs, with what these are to it.
    fn programs(&self) -> Vec<(&'static str, &Plan)>;

    /// Bytes that it holds beside its operands and results.
    fn bytes(&self) -> usize;

    /// Runs it on dense operands.
    fn run(&self, operands: &[View], results: &mut [ViewMut]);
}

/// What compiles an op with regions; `None` for other ops.
pub type CompileControl = fn(&Op) -> Result<Option<Rc<dyn Control>>>;

/// Bytes of branches and loops.
pub fn regions(plan: &Plan) -> usize {
    let own = |step: &Step| if let Action::Control(control) = &step.action { control.bytes() } else { 0 };
    plan.steps.iter().map(own).sum()
}
