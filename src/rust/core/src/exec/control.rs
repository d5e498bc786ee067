//! Branches and loops: programs inside a program. Carried values are double-buffered, but for those that the
//! body updates in place ([`super::updates`]); nothing is allocated while a loop runs.

use super::bound_plan::BoundPlan;
use super::iterations::Iterations;
use super::place::INPUTS;
use super::reused::Reused;
use super::run::{Executable, Output};
use super::scalars::choice;
use super::scalars::{Roles, Scalars};
use super::scatter::Combiner;
use super::step::{Control, Plan};
use super::vm::native::lanes::Lanes;
use crate::dtype::DType;
use crate::error::Result;
use crate::exec::vm::native::Buffer;
use crate::graph::Value;
use crate::kernels::cast;
use crate::kernels::cast::by_width;
use crate::kernels::memory::{self, AlignedBytes, Memory};
use crate::kernels::threads::pool::{self, WORTH_SHARING, WORTH_SHARING_AWAKE};
use crate::ops::{self, Builder, Graph, Op, Region, Scan, Scatter, While};
use crate::stop;
use crate::tensor::{Aval, View, ViewMut};
use std::ops::Range;
use std::sync::Arc;

/// A compiled op with regions.
#[derive(Debug)]
enum Compiled {
    /// The programs for a condition that is true, and for one that is false.
    If(Box<[Executable; 2]>),
    /// The condition, the body followed by the condition on its results, the carried values.
    While(Box<Executable>, Box<Executable>, Carried),
    /// The body, the op, the carried values.
    Scan(Box<Executable>, Scan, Carried),
    /// A loop whose iterations threads share.
    Iterations(Box<Iterations>),
    /// A scatter by a function.
    Scatter(Box<Combiner>),
}

/// The carried values and the slices of a loop, with their memory.
#[derive(Debug)]
pub struct Carried {
    /// Types of the carried values, of the slices that are read, and of those that are written.
    types: [Vec<Aval>; 3],
    /// Whether the body reads and writes slices where they lie, so that it is bound in each iteration; else they
    /// are copied from and to buffers, and it is bound once.
    direct: bool,
    /// Whether the body updates each carried value in place.
    in_place: Vec<bool>,
    /// Bytes of the body's arena.
    arena: usize,
    /// The loop in native code, if it has few numbers.
    native: Option<Scalars>,
    /// Parts of its lanes that threads share, if it goes over lanes.
    parts: usize,
    /// Whether a step of the body is worth sharing with helpers that are awake, and only with those.
    wakes: bool,
    buffers: Reused<Buffers>,
}

/// The buffers of a loop, reused by the next run.
#[derive(Debug, Default)]
struct Buffers {
    /// Two for each carried value, of which the second is empty if the body updates the value in place.
    state: [Vec<AlignedBytes>; 2],
    /// One for each slice that is read or written, empty if the body does so where it lies.
    read: Vec<AlignedBytes>,
    written: Vec<AlignedBytes>,
    arena: AlignedBytes,
    /// That of native code, and what it has copied of lanes.
    scratch: AlignedBytes,
    copies: AlignedBytes,
    /// The body, bound from the first state to the second, and back.
    turns: [BoundPlan; 2],
    lists: memory::Lists,
}

/// Compiles an op with regions; `None` for other ops.
///
/// # Errors
/// Those of [`Executable::compile`].
pub fn compile(op: &Op) -> Result<Option<Arc<dyn Control>>> {
    let program = |region: &Graph| Executable::region(region, 0, compile).map(Box::new);
    let body = |region: &Graph, carried| Executable::region(region, carried, compile).map(Box::new);
    let types = |region: &Region, values: &[Value]| values.iter().map(|&v| region.aval(v).clone()).collect();
    if let Some((op, region)) = op.get::<Scatter>().and_then(|op| Some((op, op.region()?))) {
        return Ok(Some(Arc::new(Compiled::Scatter(Box::new(Combiner::compile(op, region, compile)?)))));
    }
    let Some(control) = op.control() else { return Ok(None) };
    let compiled = match control {
        ops::Control::If(op) => {
            Compiled::If(Box::new([*program(&op.branches[0])?, *program(&op.branches[1])?]))
        }
        ops::Control::While(op) => {
            let (cond, body) = (program(&op.cond)?, body(&tested(op)?, op.carried)?);
            let types = [types(&op.body, &op.body.inputs()[..op.carried]), vec![], vec![]];
            let (carried, length) = (op.carried, usize::MAX);
            let roles = Roles { carried, sliced: 0, tested: true, length, reverse: false, last: false };
            let carried = Carried::new(types, &body, &roles);
            Compiled::While(cond, body, carried)
        }
        ops::Control::Scan(op) => {
            let body = match Iterations::are_apart(op) {
                true => Executable::iteration(&op.body, compile).map(Box::new)?,
                false => body(&op.body, op.carried)?,
            };
            let body = match Iterations::new(op, body) {
                Ok(iterations) => return Ok(Some(Arc::new(Compiled::Iterations(Box::new(iterations))))),
                Err(body) => body,
            };
            let (state, rest) = op.body.inputs().split_at(op.carried);
            let of = |values: &[Value]| types(&op.body, values);
            let types = [of(state), of(&rest[..op.sliced]), of(&op.body.outputs()[op.carried..])];
            let (carried, sliced, length) = (op.carried, op.sliced, op.length);
            let roles = Roles { carried, sliced, tested: false, length, reverse: op.reverse, last: op.last };
            let carried = Carried::new(types, &body, &roles);
            Compiled::Scan(body, op.clone(), carried)
        }
        // It was replaced by its graph before.
        ops::Control::Custom(_) => return Ok(None),
    };
    Ok(Some(Arc::new(compiled)))
}

impl Control for Compiled {
    fn name(&self) -> &'static str {
        match self {
            Compiled::If(_) => "if",
            Compiled::While(..) => "while",
            Compiled::Scan(..) | Compiled::Iterations(_) => "scan",
            Compiled::Scatter(_) => "scatter",
        }
    }

    fn programs(&self) -> Vec<(&'static str, &Plan)> {
        match self {
            Compiled::If(branches) => vec![("true", branches[0].plan()), ("false", branches[1].plan())],
            Compiled::While(cond, body, _) => vec![("cond", cond.plan()), ("body", body.plan())],
            Compiled::Scan(body, ..) => vec![("body", body.plan())],
            Compiled::Iterations(iterations) => vec![("body", iterations.body().plan())],
            Compiled::Scatter(combiner) => vec![("update", combiner.program().plan())],
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Compiled::If(branches) => branches.iter().map(Executable::held_bytes).sum(),
            Compiled::While(cond, body, carried) => cond.held_bytes() + body.held_bytes() + carried.bytes(),
            Compiled::Scan(body, _, carried) => body.held_bytes() + carried.bytes(),
            Compiled::Iterations(iterations) => iterations.bytes(),
            Compiled::Scatter(combiner) => combiner.bytes(),
        }
    }

    fn registers(&self) -> usize {
        let registers = |program: &Executable| program.plan().registers;
        match self {
            Compiled::If(branches) => branches.iter().map(registers).max().unwrap_or(0),
            Compiled::While(cond, body, _) => registers(cond).max(registers(body)),
            Compiled::Scan(body, ..) => registers(body),
            // They have their own.
            Compiled::Iterations(_) => 0,
            Compiled::Scatter(combiner) => combiner.registers(),
        }
    }

    fn native(&self) -> Option<usize> {
        match self {
            Compiled::While(.., carried) | Compiled::Scan(.., carried) => {
                carried.native.as_ref().map(|native| native.picoseconds)
            }
            Compiled::If(_) | Compiled::Iterations(_) | Compiled::Scatter(_) => None,
        }
    }

    fn repetitions(&self) -> usize {
        match self {
            Compiled::Scan(_, op, _) => op.length,
            Compiled::Iterations(iterations) => iterations.length(),
            Compiled::If(_) | Compiled::While(..) | Compiled::Scatter(_) => 1,
        }
    }

    fn pieces(&self) -> usize {
        match self {
            Compiled::Iterations(iterations) => iterations.length(),
            Compiled::If(_) | Compiled::While(..) | Compiled::Scan(..) | Compiled::Scatter(_) => 1,
        }
    }

    fn run(&self, operands: &[View], results: &mut [ViewMut], registers: &mut [u8]) {
        match self {
            Compiled::Scatter(combiner) => combiner.run(operands, &mut results[0], registers),
            Compiled::Iterations(iterations) => iterations.run(operands, results),
            Compiled::If(branches) => {
                let first = branches[0].graph().inputs().len();
                let holds = operands[0].data[0] != 0;
                let (branch, inputs) = if holds {
                    (&branches[0], &operands[1..1 + first])
                } else {
                    (&branches[1], &operands[1 + first..])
                };
                let results = results.iter_mut().map(|out| Output::Fresh(out.data));
                branch.run_each(inputs.iter().map(|x| x.data), results, registers)
            }
            Compiled::While(cond, body, carried) => carried
                .with(|buffers| repeat_while([cond, body], carried, buffers, operands, results, registers)),
            Compiled::Scan(body, op, carried) => carried.with(|buffers| {
                if let Some((native, lanes)) = carried.on_lanes() {
                    let Buffers { copies, scratch, .. } = &mut *buffers;
                    let code = (&native.code, native.work);
                    if lanes.run(code, operands.iter(), results, carried.parts, [copies, scratch]) {
                        return;
                    }
                }
                let (init, rest) = operands.split_at(op.carried);
                let along = rest.split_at(op.sliced);
                let (last, stacks) = results.split_at_mut(op.carried);
                begin(&mut buffers.state, init);
                let run = if carried.direct { scan_in_place } else { scan };
                let turn = run((body, op, carried), buffers, along, stacks, registers);
                leave(carried, &buffers.state, turn, last);
            }),
        }
    }
}

/// The estimated times, in picoseconds, that reading or writing a slice takes beside the body, and each of its
/// elements (measured on an AMD EPYC, Zen 5).
const SLICE: usize = 10_000;
const SLICED_ELEMENT: usize = 500;

/// Iterations of a loop that tests its state, for the estimate of its time: mostly there are more.
const LEAST: usize = 16;

/// Bytes of the slices of an iteration that take longer to be copied than the body to be bound again.
const DIRECT: usize = 1 << 16;

impl Carried {
    fn bytes(&self) -> usize {
        // The arena is that of the body.
        self.buffers.sum(|Buffers { state: [before, after], read, written, scratch, copies, .. }| {
            let lists = [before, after, read, written];
            lists.into_iter().flatten().chain([scratch, copies]).map(AlignedBytes::len).sum::<usize>()
        })
    }

    /// The native code, if it does not go over lanes.
    fn whole(&self) -> Option<&Scalars> {
        self.native.as_ref().filter(|native| native.lanes.is_none())
    }

    /// The native code, if it goes over lanes.
    fn on_lanes(&self) -> Option<(&Scalars, &Lanes)> {
        let native = self.native.as_ref()?;
        Some((native, native.lanes.as_ref()?))
    }

    fn new(types: [Vec<Aval>; 3], body: &Executable, roles: &Roles) -> Carried {
        let slices = types[1..].iter().flatten();
        let time = slices.clone().map(|aval| SLICE + SLICED_ELEMENT * aval.shape.size()).sum::<usize>();
        let native = choice::compile(body.graph(), roles, body.picoseconds() + time, body.plan().steps.len());
        let direct = roles.last && slices.map(Aval::bytes).sum::<usize>() >= DIRECT;
        let updated = |i: usize| body.donations()[i] == Some(i);
        let in_place = (0..types[0].len()).map(updated).collect();
        let (arena, buffers) = (body.scratch_bytes(), Reused::default());
        let is_for_awake = |time: usize| (WORTH_SHARING_AWAKE..WORTH_SHARING).contains(&time);
        let wakes = native.is_none() && body.lines().iter().any(|line| is_for_awake(line.picoseconds));
        let mut carried = Carried { types, direct, in_place, arena, native, parts: 1, wakes, buffers };
        if let Some((native, lanes)) = carried.on_lanes() {
            let length = if roles.tested { LEAST } else { roles.length };
            carried.parts = lanes.parts(native.picoseconds.saturating_mul(length));
        }
        carried.buffers = Reused::with_one(carried.allocate());
        carried
    }

    fn allocate(&self) -> Buffers {
        let zeroed = |aval: &Aval, empty: bool| AlignedBytes::zeroed(if empty { 0 } else { aval.bytes() });
        let [state, read, written] = &self.types;
        let slices = |types: &[Aval]| types.iter().map(|aval| zeroed(aval, self.direct)).collect();
        let first = state.iter().map(|aval| zeroed(aval, false));
        let second = state.iter().zip(&self.in_place).map(|(aval, &same)| zeroed(aval, same));
        Buffers {
            state: [first.collect(), second.collect()],
            read: slices(read),
            written: slices(written),
            scratch: AlignedBytes::zeroed(
                self.native.as_ref().map_or(0, |native| self.parts * native.scratch),
            ),
            copies: AlignedBytes::zeroed(self.on_lanes().map_or(0, |(_, lanes)| self.parts * lanes.bytes())),
            ..Buffers::default()
        }
    }

    /// Runs a loop with its buffers.
    fn with(&self, run: impl FnOnce(&mut Buffers)) {
        if self.wakes {
            pool::wake();
        }
        self.buffers.with(
            || self.allocate(),
            |buffers| {
                buffers.arena.reserve(self.arena);
                run(buffers)
            },
        )
    }
}

/// The body of a loop followed by its condition on the results of the body, as the last output: one program,
/// so that nodes of both are fused. Inputs: the state, the other inputs of the body, those of the condition.
fn tested(op: &While) -> Result<Graph> {
    let mut b = Builder::default();
    let enter = |b: &mut Builder, region: &Region, from: usize| -> Vec<Value> {
        region.inputs()[from..].iter().map(|&v| b.input(region.aval(v).clone())).collect()
    };
    let (inputs, for_cond) = (enter(&mut b, &op.body, 0), enter(&mut b, &op.cond, op.carried));
    let mut outputs = b.inline(&op.body, &inputs)?;
    outputs.extend(b.inline(&op.cond, &[outputs.as_slice(), &for_cond].concat())?);
    Ok(b.finish(outputs))
}

/// Memory with the arena and the literals of a body, and with the two buffers of each carried value; the
/// numbers of the buffers, those that hold the values of now first.
fn enter<'a>(
    lists: &mut memory::Lists,
    arena: &'a mut AlignedBytes,
    (body, carried): (&'a Executable, &'a Carried),
    state: &'a mut [Vec<AlignedBytes>; 2],
    turn: usize,
) -> (Memory<'a>, State<'a>) {
    let mut memory = Memory::reusing(std::mem::take(lists));
    memory.add_write(arena.as_mut_slice());
    memory.add_read(body.literals());
    let mut buffers = state.each_mut().map(|buffers| add_writes(&mut memory, buffers));
    let only = buffers[0].clone();
    buffers.rotate_left(turn);
    (memory, State { buffers, only, in_place: &carried.in_place })
}

/// The numbers of the buffers of a loop's state, those that hold the values of now first.
struct State<'c> {
    buffers: [Range<usize>; 2],
    /// The only ones of values that are updated in place.
    only: Range<usize>,
    in_place: &'c [bool],
}

impl State<'_> {
    /// The buffers of the carried values: of the state of now, or of the next.
    fn numbers(&self, which: usize) -> impl Iterator<Item = usize> + '_ {
        let each = self.only.clone().zip(self.buffers[which].clone()).zip(self.in_place);
        each.map(|((only, other), &same)| if same { only } else { other })
    }
}

/// Copies the initial state to its buffers.
fn begin(state: &mut [Vec<AlignedBytes>; 2], init: &[View]) {
    state[0].iter_mut().zip(init).for_each(|(buffer, x)| stop::copy(x.data, buffer.as_mut_slice()));
}

/// Adds buffers; their numbers.
fn add_writes<'a>(memory: &mut Memory<'a>, buffers: &'a mut [AlignedBytes]) -> Range<usize> {
    let start = memory.len();
    for buffer in buffers {
        memory.add_write(buffer.as_mut_slice());
    }
    start..memory.len()
}

fn add_reads<'a>(memory: &mut Memory<'a>, values: &[View<'a>]) -> Range<usize> {
    let start = memory.len();
    for value in values {
        memory.add_read(value.data);
    }
    start..memory.len()
}

/// Copies the last state to the results.
fn leave(carried: &Carried, state: &[Vec<AlignedBytes>; 2], turn: usize, results: &mut [ViewMut]) {
    for (i, (out, &same)) in results.iter_mut().zip(&carried.in_place).enumerate() {
        stop::copy(state[if same { 0 } else { turn }][i].as_slice(), out.data);
    }
}

fn repeat_while(
    [cond, body]: [&Executable; 2],
    carried: &Carried,
    buffers: &mut Buffers,
    operands: &[View],
    results: &mut [ViewMut],
    registers: &mut [u8],
) {
    let n = results.len();
    let (init, rest) = operands.split_at(n);
    let (for_cond, for_body) = rest.split_at(cond.graph().inputs().len() - n);
    let mut go_on = [0];
    let first = init.iter().chain(for_cond).map(|x| x.data);
    cond.run_each(first, std::iter::once(Output::Fresh(&mut go_on)), registers);
    if let Some((native, lanes)) = carried.on_lanes().filter(|_| go_on[0] != 0) {
        let Buffers { copies, scratch, .. } = &mut *buffers;
        let operands = init.iter().chain(for_body).chain(for_cond);
        let code = (&native.code, native.work);
        if lanes.run(code, operands, results, carried.parts, [copies, scratch]) {
            return;
        }
    }
    begin(&mut buffers.state, init);
    let mut turn = 0;
    if let Some(native) = carried.whole().filter(|_| go_on[0] != 0) {
        let rest = for_body.iter().chain(for_cond);
        let test = [&mut go_on[..]].into_iter();
        run_native(native, buffers, rest, test, 0..usize::MAX, false);
    }
    if go_on[0] != 0 {
        let Buffers { state, arena, turns, lists, .. } = buffers;
        let (mut memory, state) = enter(lists, arena, (body, carried), state, turn);
        let (for_body, for_cond) = (add_reads(&mut memory, for_body), add_reads(&mut memory, for_cond));
        let test = memory.add_write(&mut go_on);
        for (turn, from) in turns.iter_mut().zip(0..) {
            let inputs = state.numbers(from).chain(for_body.clone()).chain(for_cond.clone());
            let outputs = state.numbers(1 - from).chain([test]);
            turn.bind(body.plan(), &mut memory, (0..INPUTS).chain(inputs).chain(outputs), registers);
        }
        let mut at = 0;
        while memory.bytes(test)[0] != 0 {
            turns[at].run(body.plan(), &mut memory, registers);
            (at, turn) = (1 - at, 1 - turn);
        }
        *lists = memory.into_lists();
    }
    leave(carried, &buffers.state, turn, results);
}

/// Runs a loop along the slices of values, with what else the body reads; writes the stacked results. The number
/// of the buffers of the last state.
fn scan(
    (body, op, carried): (&Executable, &Scan, &Carried),
    buffers: &mut Buffers,
    (sliced, rest): (&[View], &[View]),
    stacks: &mut [ViewMut],
    registers: &mut [u8],
) -> usize {
    let [_, read_types, written_types] = &carried.types;
    if let Some(native) = carried.whole() {
        let stacks = stacks.iter_mut().map(|out| &mut *out.data);
        run_native(native, buffers, sliced.iter().chain(rest), stacks, 0..op.length, op.reverse);
        return 0;
    }
    let Buffers { state, read, written, arena, turns, lists, .. } = buffers;
    let (mut memory, state) = enter(lists, arena, (body, carried), state, 0);
    let (read, written) = (add_writes(&mut memory, read), add_writes(&mut memory, written));
    let rest = add_reads(&mut memory, rest);
    for (turn, from) in turns.iter_mut().zip(0..) {
        let inputs = state.numbers(from).chain(read.clone()).chain(rest.clone());
        let outputs = state.numbers(1 - from).chain(written.clone());
        turn.bind(body.plan(), &mut memory, (0..INPUTS).chain(inputs).chain(outputs), registers);
    }
    for step in 0..op.length {
        for ((aval, source), buffer) in read_types.iter().zip(sliced).zip(read.clone()) {
            Slice::of(aval, op, step).copy(source.data, memory.bytes_mut(buffer));
        }
        turns[step % 2].run(body.plan(), &mut memory, registers);
        for ((aval, out), buffer) in written_types.iter().zip(&mut *stacks).zip(written.clone()) {
            Slice::of(aval, op, step).put(memory.bytes(buffer), out.data);
        }
    }
    *lists = memory.into_lists();
    op.length % 2
}

/// As [`scan`], for a body that reads and writes slices where they lie, one after the other.
fn scan_in_place(
    (body, op, carried): (&Executable, &Scan, &Carried),
    buffers: &mut Buffers,
    (sliced, rest): (&[View], &[View]),
    stacks: &mut [ViewMut],
    registers: &mut [u8],
) -> usize {
    let [_, read_types, written_types] = &carried.types;
    for step in 0..op.length {
        let place = |aval: &Aval| Slice::of(aval, op, step).place(aval.bytes());
        let Buffers { state, arena, turns, lists, .. } = &mut *buffers;
        let (mut memory, state) = enter(lists, arena, (body, carried), state, step % 2);
        let first = memory.len();
        for (aval, source) in read_types.iter().zip(sliced) {
            memory.add_read(&source.data[place(aval)]);
        }
        add_reads(&mut memory, rest);
        let read = first..memory.len();
        for (aval, out) in written_types.iter().zip(&mut *stacks) {
            memory.add_write(&mut out.data[place(aval)]);
        }
        let inputs = state.numbers(0).chain(read.clone());
        let outputs = state.numbers(1).chain(read.end..memory.len());
        let turn = &mut turns[step % 2];
        turn.bind(body.plan(), &mut memory, (0..INPUTS).chain(inputs).chain(outputs), registers);
        turn.run(body.plan(), &mut memory, registers);
        *lists = memory.into_lists();
    }
    op.length % 2
}

/// Runs steps of a loop in native code, from the state at its beginning, which it replaces.
fn run_native<'b>(
    native: &Scalars,
    buffers: &'b mut Buffers,
    reads: impl Iterator<Item = &'b View<'b>> + Clone,
    writes: impl Iterator<Item = &'b mut [u8]>,
    steps: Range<usize>,
    reverse: bool,
) {
    let Buffers { state: [state, _], scratch, .. } = buffers;
    let state = state.iter_mut().map(|buffer| Buffer::Write(buffer.as_mut_slice()));
    let reads = reads.map(|x| Buffer::Read(x.data));
    let writes = writes.map(Buffer::Write).chain([Buffer::Write(scratch.as_mut_slice())]);
    native.code.run(state.chain(reads).chain(writes), steps, reverse, native.work);
}

/// A slice of the stacked values of a loop.
struct Slice<'a> {
    dtype: DType,
    op: &'a Scan,
    at: usize,
}

impl<'a> Slice<'a> {
    /// That of an iteration.
    fn of(aval: &Aval, op: &'a Scan, step: usize) -> Slice<'a> {
        let at = if op.reverse { op.length - 1 - step } else { step };
        Slice { dtype: aval.dtype, op, at }
    }

    /// The bytes of a contiguous slice of this length.
    fn place(&self, len: usize) -> Range<usize> {
        self.at * len..(self.at + 1) * len
    }

    /// Copies it from a stacked value.
    fn copy(&self, stacked: &[u8], slice: &mut [u8]) {
        if self.op.last {
            return slice.copy_from_slice(&stacked[self.place(slice.len())]);
        }
        by_width!(self.dtype, T => {
            let elements = cast::slice::<T>(stacked).iter().skip(self.at).step_by(self.op.length);
            cast::slice_mut::<T>(slice).iter_mut().zip(elements).for_each(|(out, &x)| *out = x);
        });
    }

    /// Copies it to a stacked value.
    fn put(&self, slice: &[u8], stacked: &mut [u8]) {
        if self.op.last {
            return stacked[self.place(slice.len())].copy_from_slice(slice);
        }
        by_width!(self.dtype, T => {
            let elements = cast::slice_mut::<T>(stacked).iter_mut().skip(self.at).step_by(self.op.length);
            elements.zip(cast::slice::<T>(slice)).for_each(|(out, &x)| *out = x);
        });
    }
}
