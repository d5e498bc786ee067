//! Loops without a state, whose iterations threads share: functions that are mapped over slices, and loops on strips
//! ([`strips`](crate::passes::strips)). Each iteration reads and writes slices where they lie.

use super::reused::Reused;
use super::run::{Executable, Output};
use crate::graph::Value;
use crate::kernels::threads::parts::Parts;
use crate::kernels::threads::pool::WORTH_SHARING;
use crate::kernels::threads::threads;
use crate::ops::Scan;
use crate::tensor::{View, ViewMut};
use std::fmt;
use std::ops::Range;

/// Picoseconds of an iteration, at least: it is bound to its slices, which takes as long as several short iterations.
const BINDING: usize = 2_000_000;

/// A compiled loop.
pub(super) struct Iterations {
    body: Box<Executable>,
    length: usize,
    /// Bytes of the slices that are read, and of those that are written.
    bytes: [Vec<usize>; 2],
    parts: Reused<Parts>,
}

impl fmt::Debug for Iterations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iterations").field("body", &self.body).field("length", &self.length).finish()
    }
}

impl Iterations {
    /// Whether the iterations of a loop can be shared.
    pub fn are_apart(op: &Scan) -> bool {
        let effect = op.body.nodes().iter().any(|node| node.op.has_effect());
        op.carried == 0 && op.last && op.length > 1 && !effect
    }

    /// A loop with this body; the body if its iterations are not worth sharing, or must run one after the other.
    pub fn new(op: &Scan, body: Box<Executable>) -> Result<Iterations, Box<Executable>> {
        let time = body.picoseconds();
        let worth = time >= BINDING && time.saturating_mul(op.length) >= WORTH_SHARING;
        if !worth || !Iterations::are_apart(op) {
            return Err(body);
        }
        let bytes = |values: &[Value]| values.iter().map(|&v| op.body.aval(v).bytes()).collect();
        let bytes = [bytes(&op.body.inputs()[..op.sliced]), bytes(op.body.outputs())];
        Ok(Iterations { body, length: op.length, bytes, parts: Reused::default() })
    }

    /// Iterations.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The program of an iteration.
    pub fn body(&self) -> &Executable {
        &self.body
    }

    /// Bytes that it allocates beside its operands and results: each thread has its own.
    pub fn bytes(&self) -> usize {
        self.body.held_bytes().saturating_mul(threads().min(self.length))
    }

    /// Runs it on dense operands.
    pub fn run(&self, operands: &[View], results: &mut [ViewMut]) {
        let [read, written] = &self.bytes;
        let (sliced, rest) = operands.split_at(read.len());
        let results = results.iter_mut().zip(written).map(|(out, &bytes)| (&mut *out.data, bytes));
        self.parts.with(Parts::default, |parts| {
            parts.for_each(results, self.length, true, |i, parts| {
                let place = |bytes: usize| -> Range<usize> { i * bytes..(i + 1) * bytes };
                let slices = sliced.iter().zip(read).map(|(x, &bytes)| &x.data[place(bytes)]);
                self.body.run_apart(slices.chain(rest.iter().map(|x| x.data)), parts.map(Output::Fresh));
            })
        });
    }
}
