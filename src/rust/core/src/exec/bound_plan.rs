//! A plan bound to the buffers of a run. All plans run so: of whole programs, of branches, of bodies of
//! loops.
//!
//! Addresses are resolved and checked again only when buffers have moved since the last run: in the first two
//! iterations of a loop, and in a call whose inputs or outputs are other buffers. Nothing is allocated after
//! the first run.

use super::step::{Action, Plan, Step};
use crate::exec::vm::Bound;
use crate::kernels::memory::{Memory, Streams, Table};
use crate::kernels::tile;
use crate::stop;
use crate::tensor::{View, ViewMut};

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct BoundPlan {
    table: Table,
    steps: Vec<Placed>,
    /// The address of the registers.
    registers: usize,
    lists: Lists,
}

/// A bound step.
#[derive(Debug)]
struct Placed {
    how: How,
    /// Whether none of its results is read.
    absent: bool,
}

/// How a step is executed.
#[derive(Debug)]
enum How {
    Tiles(Box<Bound>),
    /// A copy of a few contiguous bytes.
    Move,
    /// A function on views.
    Views,
}

/// The views of a step, in lists that are reused.
#[derive(Default)]
struct Lists {
    operands: Vec<View<'static>>,
    results: Vec<ViewMut<'static>>,
}

impl std::fmt::Debug for Lists {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lists")
    }
}

impl BoundPlan {
    /// Binds a plan, each time the same one, to the buffers with these numbers: arena, literals, inputs,
    /// constants, outputs.
    ///
    /// # Panics
    /// As [`Table::bind`].
    pub fn bind(
        &mut self,
        plan: &Plan,
        memory: &mut Memory,
        numbers: impl Iterator<Item = usize>,
        registers: &mut [u8],
    ) {
        let address = registers.as_ptr() as usize;
        if self.registers != address {
            (self.registers, self.table) = (address, Table::default());
        }
        if self.table.enter(memory, numbers, plan.steps.len()) {
            return;
        }
        if self.steps.len() != plan.steps.len() {
            self.steps = plan.steps.iter().map(|step| Placed { how: How::of(step), absent: false }).collect();
        }
        for (number, (step, Placed { how, absent })) in plan.steps.iter().zip(&mut self.steps).enumerate() {
            let reads = step.operands.iter().map(|(_, place)| &place.span);
            let writes = step.results.iter().map(|(_, span)| span);
            let in_place = |i, j| match &step.action {
                Action::Tiles(program) => program.in_place(i, j),
                Action::Apply(op, _) => i == 0 && j == 0 && op.updates(),
                Action::Copy { .. } | Action::Frame(_) | Action::Control(_) => false,
            };
            self.table.bind(reads, writes, in_place);
            let mut lent = self.table.lend(memory);
            *absent = lent.is_absent(number);
            if let (How::Tiles(bound), false) = (how, *absent) {
                bound.bind(&mut lent, number, registers);
            }
        }
    }

    /// Runs it once.
    ///
    /// # Panics
    /// If it is bound to other memory or registers.
    pub fn run(&mut self, plan: &Plan, memory: &mut Memory, registers: &mut [u8]) {
        let mut lent = self.table.lend(memory);
        if let Some(work) = plan.at_once {
            stop::work(work);
        }
        for (number, (step, Placed { how, absent })) in plan.steps.iter().zip(&self.steps).enumerate() {
            if *absent {
                continue;
            }
            if plan.at_once.is_none() {
                stop::work(step.work());
            }
            match (how, &step.action) {
                (How::Tiles(bound), Action::Tiles(program)) => {
                    bound.run(&mut lent, registers);
                    for (finish, partials, result) in program.unfinished() {
                        let (partials, out) = lent.streams(number).results(partials, result);
                        finish.finish(partials, out);
                    }
                }
                (How::Move, _) => {
                    let (reads, writes) = lent.streams(number).slices();
                    reads.zip(writes).for_each(|(from, out)| stop::copy(from, out));
                }
                (_, Action::Apply(op, _)) if lent.streams(number).is_updated() => {
                    self.lists.with(step, lent.streams(number), |operands, results| {
                        op.update(&operands[1..], &mut results[0])
                    })
                }
                (_, action) => {
                    self.lists.with(step, lent.streams(number), |operands, results| match action {
                        Action::Apply(_, op) => op.run(operands, results),
                        Action::Control(control) => control.run(operands, results, registers),
                        Action::Copy { past: true } => tile::stream(&operands[0], &mut results[0]),
                        Action::Copy { .. } => tile::copy(&operands[0], &mut results[0]),
                        Action::Frame(frame) => frame.fill(&operands[0], &mut results[0]),
                        Action::Tiles(_) => unreachable!("programs are bound"),
                    })
                }
            }
        }
    }
}

impl How {
    fn of(step: &Step) -> How {
        /// Bytes up to which a copy is never worth sharing.
        const MAX_MOVED: usize = 1 << 14;
        match (&step.action, step.operands.as_slice(), step.results.as_slice()) {
            (Action::Tiles(program), ..) => How::Tiles(Box::new(program.unbound())),
            (Action::Copy { .. }, [(aval, from)], [(_, to)])
                if from.layout.is_dense(&aval.shape)
                    && from.layout.offset == 0
                    && from.span.range.len() == to.range.len()
                    && to.range.len() <= MAX_MOVED =>
            {
                How::Move
            }
            _ => How::Views,
        }
    }
}

impl Lists {
    /// Calls a function with views of the operands and results of a step.
    fn with(&mut self, step: &Step, streams: Streams, run: impl FnOnce(&[View], &mut [ViewMut])) {
        let (reads, writes) = streams.slices();
        let mut operands: Vec<View> = std::mem::take(&mut self.operands);
        let mut results: Vec<ViewMut> = std::mem::take(&mut self.results);
        operands.extend(step.operands.iter().zip(reads).map(|((aval, place), data)| View {
            dtype: aval.dtype,
            shape: &aval.shape,
            layout: &place.layout,
            data,
        }));
        results.extend(step.results.iter().zip(writes).map(|((aval, _), data)| ViewMut {
            dtype: aval.dtype,
            shape: &aval.shape,
            data,
        }));
        run(&operands, &mut results);
        (self.operands, self.results) = (emptied(operands), emptied(results));
    }
}

/// A list without elements, in the memory of this one: it is collected in place.
fn emptied<A, B>(mut list: Vec<A>) -> Vec<B> {
    list.clear();
    list.into_iter().map(|_| unreachable!("it has no elements")).collect()
}
