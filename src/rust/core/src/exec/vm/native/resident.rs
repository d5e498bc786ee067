//! Values that stay in registers throughout the loops of a chain: literals, and arguments that are one element
//! for all. Processors load two vectors in a cycle and compute on four, so that a chain that reads a literal with
//! each op waits for its loads.

use super::chain::{MicroOp, Origin};
use super::emit::{Emitter, Lanes, Location};
use super::machine::{NARROW_REGISTERS, READS_MEMORY};
use std::cmp::Reverse;

/// Registers for what an op makes and for what it reads from memory, beside the values that live on.
const SPARE: usize = if READS_MEMORY { 3 } else { 5 };

impl Emitter<'_> {
    /// Chooses what stays in registers, those values that the body reads most, as many as leave room for all
    /// that is alive at a time, and loads them.
    pub(super) fn make_resident(&mut self, ops: &[MicroOp]) {
        let room = NARROW_REGISTERS.saturating_sub(self.most_alive(ops) + SPARE);
        let moving = self.moving();
        let mut candidates: Vec<usize> = (0..self.chain.values.len())
            .filter(|&v| !self.uses[v].is_empty())
            .filter(|&v| match self.locations[v] {
                Location::Literal(_) => true,
                Location::Stack(slot) => moving.iter().all(|&(.., other)| other != slot),
                _ => false,
            })
            .collect();
        candidates.sort_by_key(|&v| Reverse(self.uses[v].len()));
        candidates.truncate(room);
        self.pinned = candidates.len();
        let registers = self.registers()..NARROW_REGISTERS;
        self.resident = candidates.into_iter().zip(registers.map(|register| register as u8)).collect();
        self.load_resident();
    }

    /// Loads what stays in registers, into all lanes, whatever those of the body.
    pub(super) fn load_resident(&mut self) {
        let lanes = std::mem::replace(&mut self.lanes, Lanes::All);
        for (v, register) in self.resident.clone() {
            let source = self.in_memory(v).expect("it is a literal or on the stack");
            self.load_from(register, source, self.chain.values[v].dtype.bytes() == 8);
        }
        self.lanes = lanes;
    }

    /// The values in registers at a time, at most, of those that ops make, and of those from memory that several
    /// ops read.
    fn most_alive(&self, ops: &[MicroOp]) -> usize {
        // By how many they change at each op.
        let mut changes = vec![0isize; ops.len() + 1];
        let mut alive = |first: usize, last: usize| {
            changes[first] += 1;
            changes[last + 1] -= 1;
        };
        for (v, value) in self.chain.values.iter().enumerate() {
            let (Some(&first), Some(&last)) = (self.uses[v].first(), self.uses[v].last()) else { continue };
            if matches!(value.origin, Origin::Elements | Origin::Beside(..)) && first < last {
                alive(first, last);
            }
        }
        for (at, op) in ops.iter().enumerate() {
            if let Some(&last) = self.uses[op.result].last().filter(|&&last| last > at) {
                alive(at + 1, last);
            }
        }
        let counts = changes.iter().scan(0, |count, change| {
            *count += change;
            Some(*count)
        });
        counts.max().unwrap_or(0) as usize
    }
}
