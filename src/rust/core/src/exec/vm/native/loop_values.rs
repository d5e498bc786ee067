//! The values of a loop ([`loop_code`](super::loop_code)) where they are: in registers, on the stack and in memory. They are
//! elements, in the first lane, or vectors.

use super::chain::{MicroOp, Op, Origin};
use super::emit::{Emitter, Lanes, Location};
use super::loops::{Place, LEAST};
use super::machine::{Source, ADDRESSES, LITERAL, LOAD, LOADED, STORE};
use crate::dtype::DType;

/// Arguments whose address has a register: the other general registers compute addresses.
pub(super) const ADDRESSED: usize = LEAST;

/// Bytes of a mask in a loop that is no vector, whatever it is made of.
const MASK: usize = 8;

/// Bytes of an element in a register.
fn width(dtype: DType) -> usize {
    if dtype == DType::I1 {
        MASK
    } else {
        dtype.bytes()
    }
}

impl Emitter<'_> {
    /// Whether a value is a vector.
    pub(super) fn is_vector(&self, v: usize) -> bool {
        self.vectors[v]
    }

    /// Has instructions be of the lanes of a value.
    pub(super) fn of(&mut self, v: usize) {
        self.lanes = if self.is_vector(v) { Lanes::All } else { Lanes::One };
    }

    /// Emits an op; returns the register of its result. Masks of one element are of the same width for all.
    pub(super) fn element(&mut self, at: usize, op: &MicroOp) -> u8 {
        let of = |v: usize| self.chain.values[v].dtype;
        let dtype = of(*op.operands.last().expect("an op has operands"));
        let is_vector = self.is_vector(op.result);
        if let Op::Masks(bytes) = op.op {
            return self.masks_of(op.operands[0], usize::from(bytes));
        }
        if let Op::Convert(to) = op.op {
            self.width = width(to);
            if is_vector && dtype != DType::I1 && dtype.bytes() != to.bytes() {
                return self.converted_lanes(op.operands[0], dtype, to);
            }
            // A vector has as many elements as one of its operands.
            return if dtype == DType::I1 || is_vector {
                self.select(at, op)
            } else {
                self.converted(op.operands[0], dtype, to)
            };
        }
        self.width = width(dtype);
        let register = self.select(at, op);
        if of(op.result) == DType::I1 && dtype != DType::I1 && self.width < MASK && !is_vector {
            self.widen_mask(register);
        }
        register
    }

    /// Has the element in a lane of a vector, of so many bytes, be where the vector is on the stack: in a slot of its own, if
    /// that which it has is for the next iteration, too.
    pub(super) fn lane(&mut self, vector: usize, (lane, bytes): (u8, u8), result: usize, is_carried: bool) {
        let slot = match (self.locations[vector], self.laid.get(&vector)) {
            (_, Some(&slot)) => slot,
            (Location::Stack(slot), None) if !is_carried => slot,
            (location, None) => {
                self.of(vector);
                let (register, slot) = (self.register(vector), self.new_slot());
                self.store_slot(register, slot, vector);
                if location == Location::Nowhere {
                    self.locations[vector] = Location::Stack(slot);
                } else {
                    self.laid.insert(vector, slot);
                }
                slot
            }
        };
        let bytes = usize::from(bytes);
        self.locations[result] = Location::Lane(slot, (usize::from(lane) * bytes) as i32, bytes);
    }

    /// Loads an element that is in a lane.
    pub(super) fn load_lane(&mut self, to: u8, slot: usize, behind: i32, bytes: usize, v: usize) {
        let lanes = std::mem::replace(&mut self.lanes, Lanes::One);
        let source = Source::Stack(self.slot(slot) + behind);
        self.load(to, source, if bytes == 8 { DType::F64 } else { DType::F32 });
        if self.chain.values[v].dtype == DType::I1 && bytes < MASK {
            let width = std::mem::replace(&mut self.width, bytes);
            self.widen_mask(to);
            self.width = width;
        }
        self.lanes = lanes;
    }

    /// Makes a vector of elements; returns its register, if it is in one.
    pub(super) fn join(&mut self, elements: &[usize], bytes: usize, result: usize) -> Option<u8> {
        let literal = |&v: &usize| match self.chain.values[v].origin {
            Origin::Literal(literal) if literal.dtype() == DType::I1 => {
                Some(vec![0u8.wrapping_sub(literal.to_bytes()[0]); bytes])
            }
            Origin::Literal(literal) => Some(literal.to_bytes()[..bytes].to_vec()),
            _ => None,
        };
        if let Some(literals) = elements.iter().map(literal).collect::<Option<Vec<_>>>() {
            let literals = literals.concat();
            self.locations[result] = Location::Literal(self.pooled(&literals));
            return None;
        }
        self.lanes = Lanes::One;
        let made = if elements.iter().all(|&v| v == elements[0]) {
            let from = self.element_source(elements[0]);
            let to = self.take();
            self.repeated(to, from, bytes);
            to
        } else {
            self.joined(elements, bytes)
        };
        self.lanes = Lanes::All;
        Some(made)
    }

    /// Where an instruction of one lane reads an element: in a register, if it is in one, or is no element in memory.
    pub(super) fn element_source(&mut self, v: usize) -> Source {
        let is_held = self.held.contains(&Some(v));
        let dtype = self.chain.values[v].dtype;
        match self.locations[v] {
            Location::Stack(slot) if !is_held => Source::Stack(self.slot(slot)),
            Location::Literal(literal) if !is_held => Source::Literal(literal),
            Location::Lane(slot, behind, bytes) if !is_held && (dtype != DType::I1 || bytes == MASK) => {
                Source::Stack(self.slot(slot) + behind)
            }
            Location::Placed(place) if !is_held && dtype != DType::I1 && dtype.bytes() >= 4 => {
                self.source_of(place, dtype)
            }
            _ => Source::Register(self.register(v)),
        }
    }

    /// A new slot of the stack.
    pub(super) fn new_slot(&mut self) -> usize {
        self.stack += 1;
        self.most = self.most.max(self.stack);
        self.stack - 1
    }

    /// Stores a register in a slot, as a value.
    pub(super) fn store_slot(&mut self, from: u8, slot: usize, v: usize) {
        self.of(v);
        self.op(STORE, from, 0, Source::Stack((LITERAL * slot) as i32));
    }

    pub(super) fn load_slot(&mut self, to: u8, slot: usize, v: usize) {
        self.of(v);
        self.op(LOAD, to, 0, Source::Stack((LITERAL * slot) as i32));
    }

    /// A register with the address of an argument.
    pub(super) fn base(&mut self, argument: usize) -> u8 {
        if argument < ADDRESSED {
            return ADDRESSES[argument];
        }
        self.assembler.address(LOADED, argument);
        LOADED
    }

    fn source_of(&mut self, place: Place, dtype: DType) -> Source {
        let base = self.base(place.argument);
        match place.moves {
            true => Source::Element { base, scale: dtype.bytes() as u8, offset: place.offset },
            false => Source::At { base, offset: place.offset },
        }
    }

    /// Loads a value of a loop.
    pub(super) fn load_placed(&mut self, to: u8, place: Place, v: usize) {
        let source = self.source_of(place, self.chain.values[v].dtype);
        let lanes = self.lanes;
        self.bring(to, source, v);
        self.lanes = lanes;
    }

    /// Loads a value from memory.
    pub(super) fn bring(&mut self, to: u8, source: Source, v: usize) {
        let dtype = self.chain.values[v].dtype;
        self.of(v);
        if self.is_vector(v) {
            return self.op(LOAD, to, 0, source);
        }
        let width = std::mem::replace(&mut self.width, width(dtype));
        self.load(to, source, dtype);
        self.width = width;
    }

    /// Loads a value from where it is, but for registers.
    pub(super) fn fetch(&mut self, to: u8, v: usize) {
        match (self.in_memory(v), self.locations[v]) {
            (Some(source), _) => self.load_from(to, source, self.chain.values[v].dtype == DType::F64),
            (None, Location::Placed(place)) => self.load_placed(to, place, v),
            (None, Location::Lane(slot, behind, bytes)) => self.load_lane(to, slot, behind, bytes, v),
            _ => unreachable!("a value is somewhere"),
        }
    }

    pub(super) fn store_placed(&mut self, v: usize, place: Place) {
        // First, as this may need the register for addresses.
        self.of(v);
        self.register(v);
        let source = self.source_of(place, self.chain.values[v].dtype);
        self.put_away(v, source);
    }

    /// Stores a value in memory.
    pub(super) fn put_away(&mut self, v: usize, source: Source) {
        let dtype = self.chain.values[v].dtype;
        self.of(v);
        let register = self.register(v);
        if self.is_vector(v) {
            return self.op(STORE, register, 0, source);
        }
        self.width = width(dtype);
        self.store(register, source, dtype, false);
    }
}
