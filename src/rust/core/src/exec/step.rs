//! Plans and their steps.

use super::compile::{Ends, Program};
use super::place::Place;
use crate::error::Result;
use crate::kernels::memory::{AlignedBytes, Span};
use crate::ops::{Op, Ready};
use crate::tensor::{Aval, View, ViewMut};
use std::fmt::Debug;
use std::rc::Rc;

/// The action of a step.
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

/// An op, specialised to the shapes and layouts of its operands.
#[derive(Clone)]
pub struct Prepared(Rc<Ready>);

impl Prepared {
    /// Specialises an op to operands in these places.
    pub fn new(op: &Op, operands: &[(Aval, Place)]) -> Prepared {
        let types: Vec<_> = operands.iter().map(|(aval, place)| (&aval.shape, &place.layout)).collect();
        Prepared(Rc::new(op.prepared(&types)))
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
    /// Its operands and results.
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

    /// The plans of its regions, with their role as name.
    fn programs(&self) -> Vec<(&'static str, &Plan)>;

    /// Bytes that it allocates beside its operands and results.
    fn bytes(&self) -> usize;

    /// Runs it on dense operands.
    fn run(&self, operands: &[View], results: &mut [ViewMut]);
}

/// Compiles an op with regions; `None` for other ops.
pub type CompileControl = fn(&Op) -> Result<Option<Rc<dyn Control>>>;

/// Bytes of branches and loops.
pub fn regions(plan: &Plan) -> usize {
    let own = |step: &Step| if let Action::Control(control) = &step.action { control.bytes() } else { 0 };
    plan.steps.iter().map(own).sum()
}
