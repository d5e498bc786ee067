//! Which code a loop has: on elements, with vectors or without, on lanes, or none.

use super::mode::{self, Mode};
use super::{interleave, Lowering, Roles, Scalars, CALL, FORMULA, MAX_STEPS, STEP};
use crate::exec::vm::native::lanes::Lanes;
use crate::exec::vm::native::{self, NativeLoop};
use crate::ops::{Concatenate, Gather, Graph, Op, Scatter};
use crate::passes;

/// Elements of values that are not faster on vectors, whatever the estimate of the plan says.
const NARROW: usize = 4;

/// Iterations of a loop that goes over lanes, at least: its state is copied for that.
const LANES_LENGTH: usize = 4;

/// How long an iteration in native code, and one by a plan, take as they compare with their estimates, and a step of a
/// plan beside that, and one that finds elements or puts them together (measured on an AMD EPYC, Zen 4: of values of some
/// hundreds of elements).
const NATIVE: (usize, usize) = (5, 2);
const PLAN: (usize, usize) = (2, 5);
const PLAN_STEP: usize = 70_000;
const PLAN_MOVE: usize = 300_000;

/// Whether an op finds elements, or puts them together.
fn is_move(op: &Op) -> bool {
    op.get::<Gather>().is_some() || op.get::<Scatter>().is_some() || op.get::<Concatenate>().is_some()
}

/// About how long an iteration takes, in picoseconds: its steps one after the other, or those that wait for one another.
fn took(to: &Lowering) -> usize {
    (to.apart() / NATIVE.1).saturating_mul(NATIVE.0).max(to.waits())
}

/// The native code of a loop with this body, whose plan takes about so many picoseconds in so many steps; `None` if it has
/// none, or the plan, whose instructions are on vectors, is faster.
pub fn compile(body: &Graph, roles: &Roles, plan: usize, steps: usize) -> Option<Scalars> {
    // Slices along the last axis are long: read and written element by element they take more time than by vectors, which
    // lanes and plans do (measured on an AMD EPYC, Zen 4, of 60 to 128 elements).
    let sliced = roles.sliced > 0 || !roles.tested && body.outputs().len() > roles.carried;
    if !native::is_here() || body.nodes().len() > MAX_STEPS {
        return None;
    }
    let one = if roles.last && sliced { None } else { lowered(body, roles) };
    let one = one.filter(|to| to.longest <= NARROW || to.apart() <= plan);
    let moves = body.nodes().iter().filter(|node| is_move(&node.op)).count();
    let planned =
        || (plan / PLAN.1).saturating_mul(PLAN.0).saturating_add(PLAN_STEP * steps + PLAN_MOVE * moves);
    let time = one.as_ref().map_or_else(planned, took);
    if let Some(many) = on_lanes(body, roles, time) {
        return Some(many);
    }
    coded(one?)
}

/// A loop with vectors or without, whichever takes less time.
fn lowered<'a>(body: &'a Graph, roles: &Roles) -> Option<Lowering<'a>> {
    let without = || Lowering::of(body, roles, false, None);
    match Lowering::of(body, roles, true, None) {
        Some(with) if with.is_clear() => Some(with),
        Some(with) => Some(without().filter(|without| without.apart() <= with.apart()).unwrap_or(with)),
        None => without(),
    }
}

/// The code of a loop on lanes, if it has some, and an iteration takes less than so many picoseconds.
fn on_lanes(body: &Graph, roles: &Roles, time: usize) -> Option<Scalars> {
    let together = mode::count(body).filter(|_| roles.length >= LANES_LENGTH)?;
    let flat = passes::flat(body).ok()?;
    let body = flat.as_ref().unwrap_or(body);
    let of = passes::lanes(body, roles.carried, together, roles.tested).ok()??;
    let mut to = Lowering::of(&of.body, roles, false, Some(Mode::new(&of, body)?))?;
    let (count, together) = (of.count, to.lanes.as_ref()?.count);
    let copies = to.abreast(count / together);
    let times = count.div_ceil(together * copies);
    let took = if copies > 1 { to.took_abreast(copies) } else { took(&to) };
    if count < together || took.saturating_mul(times) >= time {
        return None;
    }
    let along = std::mem::take(&mut to.lanes.as_mut()?.along);
    if copies > 1 {
        to.looped = interleave::interleaved(to.looped, &along, [copies, together])?;
        to.formulas = to.formulas.saturating_mul(copies);
    }
    let (carried, read) = (roles.carried, body.inputs().len() - roles.carried);
    let Roles { length, reverse, tested, .. } = *roles;
    let mut made = coded(to)?;
    made.picoseconds = made.picoseconds.saturating_mul(times);
    made.lanes = Some(Lanes { count, together, copies, along, carried, read, length, reverse, tested });
    Some(made)
}

/// The code of a loop.
fn coded(mut to: Lowering) -> Option<Scalars> {
    let calls = CALL * to.called();
    let steps = to.repeated.saturating_add(to.looped.steps.len());
    let (scratch, work) = (to.scratch, steps.saturating_add(100 * to.called() + 1));
    let picoseconds = steps.saturating_mul(STEP).saturating_add(FORMULA * to.formulas + calls);
    to.ask();
    to.looped.arguments.push((scratch, true));
    Some(Scalars { code: NativeLoop::new(to.looped, to.calls)?, scratch, work, picoseconds, lanes: None })
}
