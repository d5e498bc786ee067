//! What is around the loops of a chain: its arguments, and the loop over the runs in which they lie.
//!
//! In a run, addresses are those of its first element, and the index is that of an element within the run. From
//! run to run addresses move by what is known when code is written. What a run has once is repeated in a slot of
//! the stack when the run begins.

use super::chain::Origin;
use super::emit::{Emitter, Location, RunLoop};
use super::machine::{Jump, ADDRESSES, INDEX, VECTOR};
use crate::dtype::DType;

/// An argument that is repeated, and another element in another run: its number, its dtype, its slot.
pub(super) type Moving = (usize, DType, usize);

impl Emitter<'_> {
    /// Loads addresses, and broadcasts repeated arguments.
    pub(super) fn prologue(&mut self) {
        let (mut argument, mut registers) = (0, ADDRESSES.iter().copied());
        let mut next = || registers.next().expect("a chain has no more streams");
        for v in 0..self.chain.values.len() {
            let value = &self.chain.values[v];
            match value.origin {
                Origin::Made => {}
                Origin::Literal(literal) => self.place_literal(v, literal),
                Origin::Elements => {
                    let register = next();
                    self.assembler.address(register, argument);
                    self.locations[v] = Location::Elements(register, 0);
                    argument += 1;
                }
                Origin::Beside(other, bytes) => {
                    let Location::Elements(register, 0) = self.locations[other] else {
                        unreachable!("an argument comes before what is beside it")
                    };
                    self.locations[v] = Location::Elements(register, bytes);
                }
                Origin::Repeated => {
                    let dtype = value.dtype;
                    self.locations[v] = Location::Stack(self.fixed);
                    if !self.moves_on(argument) {
                        self.assembler.address(INDEX, argument);
                        self.repeat_element(dtype, self.fixed);
                    }
                    argument += 1;
                    self.fixed += 1;
                }
            }
        }
        for &v in &self.chain.outputs {
            let register = next();
            self.assembler.address(register, argument);
            self.stores[v] = Some(register);
            argument += 1;
        }
        self.most = self.fixed;
    }

    /// Whether an argument is elsewhere in another run.
    fn moves_on(&self, argument: usize) -> bool {
        let nest = self.chain.nest.iter();
        nest.flat_map(|nest| &nest.moves).any(|moves| moves[argument] != 0)
    }

    /// The arguments that are repeated and move on.
    pub(super) fn moving(&self) -> Vec<Moving> {
        let read = self.chain.values.iter().enumerate();
        let read = read.filter(|(_, value)| value.origin.is_argument());
        let moving = read
            .enumerate()
            .filter(|(argument, (_, value))| value.origin == Origin::Repeated && self.moves_on(*argument));
        let slot = |v: usize| match self.locations[v] {
            Location::Stack(slot) => slot,
            _ => unreachable!("what is repeated is on the stack"),
        };
        moving.map(|(argument, (v, value))| (argument, value.dtype, slot(v))).collect()
    }

    /// Begins a run: sets the index and the end of the elements.
    pub(super) fn begin_runs(&mut self) {
        let Some(nest) = &self.chain.nest else { return self.assembler.first() };
        let (arguments, known) = (self.chain.arguments().count(), 2 + nest.sizes.len());
        let (moving, words) = (self.moving(), self.slot(self.fixed));
        let word = |i: usize| words + 8 * i as i32;
        self.fixed += (8 * (known + moving.len())).div_ceil(self.vector);
        self.most = self.fixed;
        let from = (arguments..arguments + known).chain(moving.iter().map(|(argument, ..)| *argument));
        for (i, argument) in from.enumerate() {
            self.assembler.address(INDEX, argument);
            self.assembler.keep(INDEX, word(i));
        }
        let start = self.assembler.here();
        for (i, (_, dtype, slot)) in moving.into_iter().enumerate() {
            self.assembler.kept_word(INDEX, word(known + i));
            self.repeat_element(dtype, slot);
        }
        self.assembler.run(word(0), word(1), nest.len as i32);
        self.runs = Some(RunLoop { start, words });
    }

    /// The place on the stack of the number of a run's first element, where it may not be 0.
    pub(super) fn first_of_run(&self) -> Option<i32> {
        self.runs.as_ref().map(|runs| runs.words)
    }

    /// Ends a run: goes on to the next one, if elements are left.
    pub(super) fn end_runs(&mut self) {
        let (Some(nest), Some(RunLoop { start, words })) = (&self.chain.nest, &self.runs) else { return };
        let (start, word) = (*start, |i: usize| words + 8 * i as i32);
        let known = 2 + nest.sizes.len();
        let done = self.assembler.end_run(word(0), word(1));
        let streams = self.streams();
        let moving = self.moving();
        for (axis, (&size, moves)) in nest.sizes.iter().zip(&nest.moves).enumerate() {
            let last = self.assembler.last_index(word(2 + axis));
            for &(argument, register) in streams.iter().filter(|(argument, _)| moves[*argument] != 0) {
                self.assembler.move_address(register, moves[argument]);
            }
            for (i, (argument, ..)) in moving.iter().enumerate().filter(|(_, m)| moves[m.0] != 0) {
                self.assembler.move_word(word(known + i), moves[*argument]);
            }
            self.assembler.jump_to(start);
            self.assembler.land(last);
            self.assembler.set_word(word(2 + axis), size as i32);
        }
        self.assembler.land(done);
    }

    /// The arguments that are streams, by number, with the registers of their addresses.
    fn streams(&self) -> Vec<(usize, u8)> {
        let streams = self.chain.arguments().enumerate().filter(|(_, argument)| !argument.repeated);
        streams.map(|(argument, _)| argument).zip(ADDRESSES).collect()
    }

    /// Jumps if the next element of the results is where a vector may be stored past the caches.
    pub(super) fn if_aligned(&mut self) -> Option<Jump> {
        let address = self.chain.past.iter().find_map(|&v| self.stores[v])?;
        Some(self.assembler.if_aligned(address, self.width, VECTOR))
    }
}
