//! Branches and loops: programs inside a program. Values that are carried have two buffers, of which one is read while the
//! other is written; nothing is allocated while a loop runs.

use super::run::{Executable, Output};
use super::scatter::Combiner;
use crate::dtype::dispatch;
use crate::error::Result;
use crate::kernels::memory::AlignedBytes;
use crate::kernels::tile;
use crate::ops::{Op, Region, Scan};
use crate::tensor::{Aval, Layout, View, ViewMut};
use std::cell::RefCell;

/// A compiled op with regions.
#[derive(Debug)]
pub enum Control {
    /// Programs for a condition that holds, and for one that does not.
    If([Executable; 2]),
    /// Condition, body, number of values that are carried.
    While(Box<Executable>, Box<Executable>, Carried),
    /// Body, the op, slices that are read and written.
    Scan(Box<Executable>, Scan, Carried, Slices),
    /// A scatter by a function.
    Scatter(Box<Combiner>),
}

/// The two buffers of each value that is carried.
#[derive(Debug, Default)]
pub struct Carried(RefCell<[Vec<AlignedBytes>; 2]>);

/// Slices of the values that a scan goes along, and of those that it stacks, with their types; and what was stacked so
/// far, slice after slice.
#[derive(Debug)]
pub struct Slices {
    read: Vec<Aval>,
    written: Vec<Aval>,
    buffers: RefCell<Vec<AlignedBytes>>,
}

/// Says whether to stop, told how many elements were made.
type Poll<'a> = &'a mut dyn FnMut(usize) -> bool;

fn buffers<'a>(avals: impl Iterator<Item = &'a Aval>) -> Vec<AlignedBytes> {
    avals.map(|aval| AlignedBytes::zeroed(aval.bytes())).collect()
}

impl Control {
    /// Compiles an op with regions; `None` for other ops.
    ///
    /// # Errors
    /// Those of [`Executable::compile`].
    pub fn compile(op: &Op) -> Result<Option<Control>> {
        let program = |region: &Region| Executable::compile(region, &[]);
        let carried = |region: &Region, n: usize| {
            let avals = || region.inputs()[..n].iter().map(|&v| region.aval(v));
            Carried(RefCell::new([buffers(avals()), buffers(avals())]))
        };
        Ok(match op {
            Op::If(op) => Some(Control::If([program(&op.branches[0])?, program(&op.branches[1])?])),
            Op::While(op) => {
                let state = carried(&op.body, op.carried);
                Some(Control::While(Box::new(program(&op.cond)?), Box::new(program(&op.body)?), state))
            }
            Op::Scan(op) => {
                let types = |values: &[crate::graph::Value]| values.iter().map(|&v| op.body.aval(v).clone()).collect::<Vec<_>>();
                let read = types(&op.body.inputs()[op.carried..op.carried + op.sliced]);
                let written = types(&op.body.outputs()[op.carried..]);
                let slices = Slices { read, written, buffers: RefCell::default() };
                slices.buffers.replace(slices.allocate(op));
                Some(Control::Scan(Box::new(program(&op.body)?), op.clone(), carried(&op.body, op.carried), slices))
            }
            Op::Scatter(op) => match op.region() {
                Some(region) => Some(Control::Scatter(Box::new(Combiner::compile(op, region)?))),
                None => None,
            },
            _ => None,
        })
    }

    /// Name of the op.
    pub fn name(&self) -> &'static str {
        match self {
            Control::If(_) => "if",
            Control::While(..) => "while",
            Control::Scan(..) => "scan",
            Control::Scatter(_) => "scatter",
        }
    }

    /// The programs inside of it, with what they are to it.
    pub fn programs(&self) -> Vec<(&'static str, &Executable)> {
        match self {
            Control::If([yes, no]) => vec![("true", yes), ("false", no)],
            Control::While(cond, body, _) => vec![("cond", cond), ("body", body)],
            Control::Scan(body, ..) => vec![("body", body)],
            Control::Scatter(combiner) => vec![("update", combiner.program())],
        }
    }

    /// Bytes that it holds beside its operands and results.
    pub fn bytes(&self) -> usize {
        let buffers = |x: &[AlignedBytes]| x.iter().map(AlignedBytes::len).sum::<usize>();
        let carried = |x: &Carried| x.0.borrow().iter().map(|state| buffers(state)).sum::<usize>();
        match self {
            Control::If(branches) => branches.iter().map(Executable::held_bytes).sum(),
            Control::While(cond, body, state) => cond.held_bytes() + body.held_bytes() + carried(state),
            Control::Scan(body, _, state, slices) => {
                body.held_bytes() + carried(state) + buffers(&slices.buffers.borrow())
            }
            Control::Scatter(combiner) => combiner.bytes(),
        }
    }

    /// Runs it on dense operands. Returns whether it ran to the end.
    pub fn run(&self, operands: &[View], results: &mut [ViewMut], poll: Poll) -> bool {
        if let Control::Scatter(combiner) = self {
            return combiner.run(operands, &mut results[0], poll);
        }
        let dense: Vec<&[u8]> = operands.iter().map(|x| x.data).collect();
        let operands = dense.as_slice();
        match self {
            Control::Scatter(_) => true,
            Control::If(branches) => {
                let first = branches[0].graph().inputs().len();
                let holds = operands[0][0] != 0;
                let (branch, inputs) =
                    if holds { (&branches[0], &operands[1..1 + first]) } else { (&branches[1], &operands[1 + first..]) };
                let results = results.iter_mut().map(|out| Output::Fresh(out.data));
                branch.run_each(inputs.iter().copied(), results, poll)
            }
            Control::While(cond, body, carried) => {
                let n = results.len();
                let (state, rest) = operands.split_at(n);
                let (for_cond, for_body) = rest.split_at(cond.graph().inputs().len() - n);
                carried.with(state, results, |before, after| {
                    let mut go_on = [0];
                    if poll(1) || !run(cond, before, for_cond.iter().copied(), std::iter::once(&mut go_on[..]), poll) {
                        return Some(false);
                    }
                    if go_on[0] == 0 {
                        return Some(true);
                    }
                    let after = after.iter_mut().map(AlignedBytes::as_mut_slice);
                    (!run(body, before, for_body.iter().copied(), after, poll)).then_some(false)
                })
            }
            Control::Scan(body, op, carried, slices) => {
                let (state, rest) = operands.split_at(op.carried);
                let (sliced, rest) = rest.split_at(op.sliced);
                let (last, stacked) = results.split_at_mut(op.carried);
                let mut own;
                let mut borrowed = slices.buffers.try_borrow_mut().ok();
                let memory: &mut Vec<AlignedBytes> = match borrowed.as_deref_mut() {
                    Some(memory) => memory,
                    None => {
                        own = slices.allocate(op);
                        &mut own
                    }
                };
                let (read, written) = memory.split_at_mut(op.sliced);
                let mut step = 0;
                let done = carried.with(state, last, |before, after| {
                    if step == op.length {
                        return Some(true);
                    }
                    let at = if op.reverse { op.length - 1 - step } else { step };
                    step += 1;
                    if poll(1) {
                        return Some(false);
                    }
                    for ((aval, source), target) in slices.read.iter().zip(sliced).zip(read.iter_mut()) {
                        copy_slice(aval, op.length, at, source, target.as_mut_slice());
                    }
                    let inputs = read.iter().map(AlignedBytes::as_slice).chain(rest.iter().copied());
                    let stacked = slices.written.iter().zip(written.iter_mut());
                    let stacked = stacked
                        .map(|(aval, all)| &mut all.as_mut_slice()[at * aval.bytes()..(at + 1) * aval.bytes()]);
                    let outputs = after.iter_mut().map(AlignedBytes::as_mut_slice).chain(stacked);
                    (!run(body, before, inputs, outputs, poll)).then_some(false)
                });
                // Slice after slice lies the new dimension last; in the result it is the first.
                for ((aval, all), out) in slices.written.iter().zip(written).zip(stacked) {
                    let slice = aval.shape.strides();
                    let mut strides = vec![aval.shape.size() as isize];
                    strides.extend(slice.iter().map(|&s| s as isize));
                    let layout = Layout { strides, offset: 0 };
                    let view = View { dtype: aval.dtype, shape: out.shape, layout: &layout, data: all.as_slice() };
                    dispatch!(aval.dtype, T => tile::copy::<T>(&view, out));
                }
                done
            }
        }
    }
}

impl Slices {
    fn allocate(&self, op: &Scan) -> Vec<AlignedBytes> {
        let stacked = self.written.iter().map(|slice| AlignedBytes::zeroed(op.length * slice.bytes()));
        buffers(self.read.iter()).into_iter().chain(stacked).collect()
    }
}

impl Carried {
    /// Repeats `step(before, after)` on the state until it says how it ended; the last state goes to `results`.
    fn with(
        &self, init: &[&[u8]], results: &mut [ViewMut],
        mut step: impl FnMut(&[AlignedBytes], &mut [AlignedBytes]) -> Option<bool>,
    ) -> bool {
        // A loop inside itself, by way of an interrupt handler of R, gets buffers of its own.
        let mut own;
        let mut borrowed = self.0.try_borrow_mut().ok();
        let state: &mut [Vec<AlignedBytes>; 2] = match borrowed.as_deref_mut() {
            Some(state) => state,
            None => {
                let new = || init.iter().map(|x| AlignedBytes::zeroed(x.len())).collect();
                own = [new(), new()];
                &mut own
            }
        };
        for (buffer, bytes) in state[0].iter_mut().zip(init) {
            buffer.as_mut_slice().copy_from_slice(bytes);
        }
        let done = loop {
            let [before, after] = &mut *state;
            if let Some(done) = step(before, after) {
                break done;
            }
            state.swap(0, 1);
        };
        for (buffer, out) in state[0].iter().zip(results) {
            out.data.copy_from_slice(buffer.as_slice());
        }
        done
    }
}

/// One slice along the first dimension, dense.
fn copy_slice(slice: &Aval, length: usize, at: usize, source: &[u8], target: &mut [u8]) {
    let strides: Vec<isize> = slice.shape.strides().iter().map(|&s| (s * length) as isize).collect();
    let layout = Layout { strides, offset: at };
    let view = View { dtype: slice.dtype, shape: &slice.shape, layout: &layout, data: source };
    dispatch!(slice.dtype, T => {
        tile::copy::<T>(&view, &mut ViewMut { dtype: slice.dtype, shape: &slice.shape, data: target });
    });
}

/// Runs the body of a loop on a state and the rest of its inputs.
fn run<'a>(
    program: &Executable, state: &'a [AlignedBytes], rest: impl Iterator<Item = &'a [u8]>,
    outputs: impl Iterator<Item = &'a mut [u8]>, poll: Poll,
) -> bool {
    program.run_each(state.iter().map(AlignedBytes::as_slice).chain(rest), outputs.map(Output::Fresh), poll)
}
