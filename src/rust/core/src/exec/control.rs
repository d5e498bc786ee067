//! Branches and loops: programs inside a program. Values that are carried have two buffers, of which one is
//! read while the other is written; nothing is allocated while a loop runs.

use super::run::{Executable, Output, Scratch};
use super::scatter::Combiner;
use super::step::{Control, Plan};
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::Value;
use crate::kernels::cast::by_width;
use crate::kernels::memory::{AlignedBytes, Memory};
use crate::kernels::{cast, tile};
use crate::ops::{Builder, Graph, Op, Region, Scan, While};
use crate::stop;
use crate::tensor::{Aval, Layout, View, ViewMut};
use std::cell::RefCell;
use std::rc::Rc;

/// A compiled op with regions.
#[derive(Debug)]
enum Compiled {
    /// Programs for a condition that holds, and for one that does not.
    If(Box<[Executable; 2]>),
    /// The condition, the body with the condition of what it makes, what is carried.
    While(Box<Executable>, Box<Executable>, Carried),
    /// Body, the op, what is carried.
    Scan(Box<Executable>, Scan, Carried),
    /// A scatter by a function.
    Scatter(Box<Combiner>),
}

/// The memory of a loop.
#[derive(Debug)]
pub struct Carried {
    /// Types of the values that are carried, of slices that are read, and of slices that are written.
    types: [Vec<Aval>; 3],
    /// Registers and constants of its programs.
    scratch: [usize; 2],
    buffers: RefCell<Buffers>,
}

/// The buffers of a loop, kept from one run to the next.
#[derive(Debug, Default)]
struct Buffers {
    /// Two for each value that is carried.
    state: [Vec<AlignedBytes>; 2],
    /// One for each slice that is read or written.
    read: Vec<AlignedBytes>,
    written: Vec<AlignedBytes>,
    scratch: AlignedBytes,
    /// For each value that is stacked, slice after slice.
    stacked: Vec<AlignedBytes>,
}

/// Compiles an op with regions; `None` for other ops.
///
/// # Errors
/// Those of [`Executable::compile`].
pub fn compile(op: &Op) -> Result<Option<Rc<dyn Control>>> {
    let program = |region: &Graph| Executable::region(region, compile).map(Box::new);
    let types = |region: &Region, values: &[Value]| values.iter().map(|&v| region.aval(v).clone()).collect();
    let compiled = match op {
        Op::If(op) => Compiled::If(Box::new([*program(&op.branches[0])?, *program(&op.branches[1])?])),
        Op::While(op) => {
            let (cond, body) = (program(&op.cond)?, program(&tested(op)?)?);
            let types = [types(&op.body, &op.body.inputs()[..op.carried]), vec![], vec![]];
            // The body for both directions.
            let carried = Carried::new(types, 0, &[&cond, &body, &body]);
            Compiled::While(cond, body, carried)
        }
        Op::Scan(op) => {
            let body = program(&op.body)?;
            let (state, rest) = op.body.inputs().split_at(op.carried);
            let of = |values: &[Value]| types(&op.body, values);
            let types = [of(state), of(&rest[..op.sliced]), of(&op.body.outputs()[op.carried..])];
            let carried = Carried::new(types, op.length, &[&body, &body]);
            Compiled::Scan(body, op.clone(), carried)
        }
        Op::Scatter(op) => match op.region() {
            Some(region) => Compiled::Scatter(Box::new(Combiner::compile(op, region, compile)?)),
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    Ok(Some(Rc::new(compiled)))
}

impl Control for Compiled {
    fn name(&self) -> &'static str {
        match self {
            Compiled::If(_) => "if",
            Compiled::While(..) => "while",
            Compiled::Scan(..) => "scan",
            Compiled::Scatter(_) => "scatter",
        }
    }

    fn programs(&self) -> Vec<(&'static str, &Plan)> {
        match self {
            Compiled::If(branches) => vec![("true", branches[0].plan()), ("false", branches[1].plan())],
            Compiled::While(cond, body, _) => vec![("cond", cond.plan()), ("body", body.plan())],
            Compiled::Scan(body, ..) => vec![("body", body.plan())],
            Compiled::Scatter(combiner) => vec![("update", combiner.program().plan())],
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Compiled::If(branches) => branches.iter().map(Executable::held_bytes).sum(),
            Compiled::While(cond, body, carried) => cond.held_bytes() + body.held_bytes() + carried.bytes(),
            Compiled::Scan(body, _, carried) => body.held_bytes() + carried.bytes(),
            Compiled::Scatter(combiner) => combiner.bytes(),
        }
    }

    fn run(&self, operands: &[View], results: &mut [ViewMut]) {
        if let Compiled::Scatter(combiner) = self {
            return combiner.run(operands, &mut results[0]);
        }
        let dense: Vec<&[u8]> = operands.iter().map(|x| x.data).collect();
        let operands = dense.as_slice();
        match self {
            Compiled::Scatter(_) => {}
            Compiled::If(branches) => {
                let first = branches[0].graph().inputs().len();
                let holds = operands[0][0] != 0;
                let (branch, inputs) = if holds {
                    (&branches[0], &operands[1..1 + first])
                } else {
                    (&branches[1], &operands[1 + first..])
                };
                let results = results.iter_mut().map(|out| Output::Fresh(out.data));
                branch.run_each(inputs.iter().copied(), results)
            }
            Compiled::While(cond, body, carried) => carried.with(results.len(), |buffers| {
                repeat_while([cond, body], carried, buffers, operands, results)
            }),
            Compiled::Scan(body, op, carried) => {
                carried.with(op.length, |buffers| scan(body, op, carried, buffers, operands, results))
            }
        }
    }
}

impl Carried {
    fn bytes(&self) -> usize {
        let Buffers { state: [before, after], read, written, scratch, stacked } = &*self.buffers.borrow();
        let lists = [before, after, read, written, stacked];
        scratch.len() + lists.into_iter().flatten().map(AlignedBytes::len).sum::<usize>()
    }

    fn new(types: [Vec<Aval>; 3], length: usize, programs: &[&Executable]) -> Carried {
        let carried = Carried { types, scratch: Scratch::bytes(programs), buffers: RefCell::default() };
        carried.buffers.replace(carried.allocate(length));
        carried
    }

    fn allocate(&self, length: usize) -> Buffers {
        let zeroed = |types: &[Aval], n: usize| {
            types.iter().map(|aval| AlignedBytes::zeroed(n * aval.bytes())).collect()
        };
        let [state, read, written] = &self.types;
        Buffers {
            state: [zeroed(state, 1), zeroed(state, 1)],
            read: zeroed(read, 1),
            written: zeroed(written, 1),
            scratch: AlignedBytes::zeroed(self.scratch[1]),
            stacked: zeroed(written, length),
        }
    }

    /// Runs a loop of that length with its buffers. A loop inside itself, by way of an interrupt handler of
    /// R, gets some of its own.
    fn with(&self, length: usize, run: impl FnOnce(&mut Buffers)) {
        match self.buffers.try_borrow_mut() {
            Ok(mut buffers) => run(&mut buffers),
            Err(_) => run(&mut self.allocate(length)),
        }
    }
}

/// The body of a loop, then its condition for what the body made, as the last output: what both compute of
/// numbers is computed together. Inputs: the state, what else the body reads, what else the condition reads.
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

/// The buffers of a loop in memory, by their numbers.
struct Numbers {
    state: [Vec<usize>; 2],
    scratch: Scratch,
}

/// Sets the state to what it is at first, and puts it into memory with scratch memory of `registers` bytes of
/// registers.
fn enter<'a>(
    memory: &mut Memory<'a>,
    state: &'a mut [Vec<AlignedBytes>; 2],
    scratch: &'a mut AlignedBytes,
    registers: usize,
    init: &[&[u8]],
) -> Numbers {
    let [first, second] = state;
    first.iter_mut().zip(init).for_each(|(buffer, bytes)| stop::copy(bytes, buffer.as_mut_slice()));
    let state = [first, second]
        .map(|buffers| buffers.iter_mut().map(|x| memory.add_write(x.as_mut_slice())).collect());
    let buffer = memory.add_write(scratch.as_mut_slice());
    Numbers { state, scratch: Scratch { buffer, taken: registers } }
}

/// Puts into memory what a program has beside inputs and outputs.
fn own<'a>(memory: &mut Memory<'a>, program: &'a Executable, arena: &'a mut AlignedBytes) -> [usize; 2] {
    arena.reserve(program.scratch_bytes());
    [memory.add_write(arena.as_mut_slice()), memory.add_read(program.literals())]
}

/// Calls `run` with the arena of a program; with another one if the program is running.
fn with_arena<R>(program: &Executable, run: impl FnOnce(&mut AlignedBytes) -> R) -> R {
    match program.arena.try_borrow_mut() {
        Ok(mut arena) => run(&mut arena),
        Err(_) => run(&mut AlignedBytes::default()),
    }
}

fn add_reads<'a>(memory: &mut Memory<'a>, values: &[&'a [u8]]) -> Vec<usize> {
    values.iter().map(|x| memory.add_read(x)).collect()
}

/// Copies the last state to the results.
fn leave(memory: &Memory, state: &[usize], results: &mut [ViewMut]) {
    state.iter().zip(results).for_each(|(&buffer, out)| stop::copy(memory.bytes(buffer), out.data));
}

fn repeat_while(
    [cond, body]: [&Executable; 2],
    carried: &Carried,
    buffers: &mut Buffers,
    operands: &[&[u8]],
    results: &mut [ViewMut],
) {
    let n = results.len();
    let (init, rest) = operands.split_at(n);
    let (for_cond, for_body) = rest.split_at(cond.graph().inputs().len() - n);
    let Buffers { state, scratch, .. } = buffers;
    with_arena(cond, |cond_arena| {
        with_arena(body, |body_arena| {
            let mut go_on = [0];
            let mut memory = Memory::with_capacity(2 * n + rest.len() + 6);
            let Numbers { state, mut scratch } = enter(&mut memory, state, scratch, carried.scratch[0], init);
            let test = memory.add_write(&mut go_on);
            let (of_cond, of_body) = (own(&mut memory, cond, cond_arena), own(&mut memory, body, body_arena));
            let (for_cond, for_body) = (add_reads(&mut memory, for_cond), add_reads(&mut memory, for_body));
            // One after the other, from one state to the other and back.
            let mut turns = [(0, 1), (1, 0)].map(|(from, to)| {
                let repeated =
                    [&of_body, &state[from][..], &for_body, &for_cond, &state[to], &[test]].concat();
                body.repeated(&mut memory, repeated, &mut scratch)
            });
            let first = [&of_cond, &state[0][..], &for_cond, &[test]].concat();
            cond.repeated(&mut memory, first, &mut scratch).run(&mut memory);
            let mut turn = 0;
            while memory.bytes(test)[0] != 0 {
                turns[turn].run(&mut memory);
                turn = 1 - turn;
            }
            leave(&memory, &state[turn], results);
        })
    })
}

fn scan(
    body: &Executable,
    op: &Scan,
    carried: &Carried,
    buffers: &mut Buffers,
    operands: &[&[u8]],
    results: &mut [ViewMut],
) {
    let (init, rest) = operands.split_at(op.carried);
    let (sliced, rest) = rest.split_at(op.sliced);
    let (last, stacks) = results.split_at_mut(op.carried);
    let [_, read_types, written_types] = &carried.types;
    let Buffers { state, read, written, scratch, stacked } = buffers;
    with_arena(body, |arena| {
        let mut memory =
            Memory::with_capacity(2 * op.carried + sliced.len() + rest.len() + written.len() + 3);
        let Numbers { state, mut scratch } = enter(&mut memory, state, scratch, carried.scratch[0], init);
        let of_body = own(&mut memory, body, arena);
        let read: Vec<usize> = read.iter_mut().map(|x| memory.add_write(x.as_mut_slice())).collect();
        let written: Vec<usize> = written.iter_mut().map(|x| memory.add_write(x.as_mut_slice())).collect();
        let rest = add_reads(&mut memory, rest);
        let mut turns = [(0, 1), (1, 0)].map(|(from, to)| {
            let names = [&of_body, &state[from][..], &read, &rest, &state[to], &written].concat();
            body.repeated(&mut memory, names, &mut scratch)
        });
        for step in 0..op.length {
            let at = if op.reverse { op.length - 1 - step } else { step };
            for ((aval, source), &buffer) in read_types.iter().zip(sliced).zip(&read) {
                copy_slice(aval.dtype, op.length, at, source, memory.bytes_mut(buffer));
            }
            turns[step % 2].run(&mut memory);
            for ((aval, all), &buffer) in written_types.iter().zip(stacked.iter_mut()).zip(&written) {
                all.as_mut_slice()[at * aval.bytes()..(at + 1) * aval.bytes()]
                    .copy_from_slice(memory.bytes(buffer));
            }
        }
        leave(&memory, &state[op.length % 2], last);
    });
    // Slice after slice lies the new dimension last; in the result it is the first.
    for ((aval, all), out) in written_types.iter().zip(stacked).zip(stacks) {
        let mut strides = vec![aval.shape.size() as isize];
        strides.extend(aval.shape.strides().iter().map(|&s| s as isize));
        let layout = Layout { strides, offset: 0 };
        let view = View { dtype: aval.dtype, shape: out.shape, layout: &layout, data: all.as_slice() };
        tile::copy(&view, out);
    }
}

/// One slice along the first dimension, dense.
fn copy_slice(dtype: DType, length: usize, at: usize, source: &[u8], target: &mut [u8]) {
    by_width!(dtype, T => {
        let source = cast::slice::<T>(source).iter().skip(at).step_by(length);
        cast::slice_mut::<T>(target).iter_mut().zip(source).for_each(|(out, &x)| *out = x);
    });
}
