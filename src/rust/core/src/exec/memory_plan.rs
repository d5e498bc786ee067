//! The memory that a program takes, known before it runs.

use super::describe::what;
use super::place::ARENA;
use super::run::Executable;
use super::step::{regions, Plan};
use crate::graph::{Def, Value};
use std::collections::HashMap;
use std::ops::Range;

/// Bytes of a program by purpose. The peak is the sum of all but `steps`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MemoryPlan {
    /// Inputs.
    pub inputs: usize,
    /// Constants, those that are part of the program included.
    pub constants: usize,
    /// Outputs, without those that are inputs as they are, or that take over the memory of donated inputs.
    pub outputs: usize,
    /// The arena of temporary values.
    pub scratch: usize,
    /// Branches and loops: their own arenas, and buffers of carried values.
    pub regions: usize,
    /// The steps in order: the description of each, and the bytes of temporary values that are alive while it
    /// runs.
    pub steps: Vec<(String, usize)>,
}

impl MemoryPlan {
    /// Bytes in use at one time, at most.
    pub fn peak(&self) -> usize {
        self.inputs + self.constants + self.outputs + self.scratch + self.regions
    }
}

impl Executable {
    /// The memory of a run.
    pub fn memory_plan(&self) -> MemoryPlan {
        let graph = self.graph();
        let bytes = |v: &Value| graph.aval(*v).bytes();
        let own = |(&v, donation): (&Value, &Option<usize>)| {
            let is_made = donation.is_none() && !matches!(graph.def(v), Def::Input(_));
            if is_made {
                bytes(&v)
            } else {
                0
            }
        };
        MemoryPlan {
            inputs: graph.inputs().iter().map(bytes).sum(),
            constants: self.plan().literals.len() + graph.constants().iter().map(bytes).sum::<usize>(),
            outputs: graph.outputs().iter().zip(&self.plan().donations).map(own).sum(),
            scratch: self.plan().arena,
            regions: regions(self.plan()),
            steps: steps(self.plan()),
        }
    }
}

/// The steps, and the bytes of the arena that are alive while each runs: operands, results, and values that a
/// later step reads.
fn steps(plan: &Plan) -> Vec<(String, usize)> {
    let count = plan.steps.len();
    // For each place that is written, the first and the last step that use it. A place is used again after
    // its last reader, so each write begins another lifetime.
    let mut lives: Vec<(Range<usize>, usize, usize)> = Vec::new();
    let mut current: HashMap<(usize, usize), usize> = HashMap::new();
    for (number, step) in plan.steps.iter().enumerate() {
        for (_, place) in step.operands.iter().filter(|(_, place)| place.span.buffer == ARENA) {
            let range = &place.span.range;
            if let Some(&life) = current.get(&(range.start, range.end)) {
                lives[life].2 = number;
            }
        }
        for (_, span) in step.results.iter().filter(|(_, span)| span.buffer == ARENA) {
            current.insert((span.range.start, span.range.end), lives.len());
            lives.push((span.range.clone(), number, number));
        }
    }
    let mut out = Vec::with_capacity(count);
    for (number, step) in plan.steps.iter().enumerate() {
        let there = lives.iter().filter(|(_, first, last)| (*first..=*last).contains(&number));
        let mut ranges: Vec<&Range<usize>> = there.map(|(range, ..)| range).collect();
        ranges.sort_by_key(|range| range.start);
        // A result may have the place of an operand.
        let (mut bytes, mut end) = (0, 0);
        for range in ranges {
            bytes += range.end.saturating_sub(range.start.max(end));
            end = end.max(range.end);
        }
        out.push((what(step), bytes));
    }
    out
}
