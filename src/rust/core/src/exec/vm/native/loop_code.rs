//! Code generation for loops on few numbers ([`loops`](super::loops)).

use super::chain::{Chain, MicroOp, Op, Origin};
use super::coverage::is_integer;
use super::emit::{Emitter, Lanes, Location, REGISTERS};
use super::expansion::{self, Expansion};
use super::loops::{Carried, Load, Loop, Place, Step, LEAST};
use super::machine::{Jump, Source, ADDRESSES, COMPUTED, LITERAL, LOAD, LOADED, NARROW_REGISTERS, STORE};
use super::uses::Uses;
use crate::dtype::DType;
use crate::kernels::math::formula::Operation;

/// Carried elements that have a register, at most: the others are for the body.
const MAX_PINNED: usize = 6;

/// Arguments whose address has a register: the other general registers compute addresses.
const ADDRESSED: usize = LEAST;

/// Bytes of a mask in a loop, whatever it is made of.
const MASK: usize = 8;

/// Bytes of an element in a register.
fn width(dtype: DType) -> usize {
    if dtype == DType::I1 {
        MASK
    } else {
        dtype.bytes()
    }
}

/// Whether a loop may have an op on operands of this dtype.
pub fn has(op: Op, dtype: DType) -> bool {
    match op {
        Op::Convert(to) => converts(dtype, to),
        Op::Function(_) | Op::Function2(_) => expansion::formula(op, dtype).is_some(),
        _ => super::coverage::has(op, dtype),
    }
}

/// Whether there are instructions for a conversion of one element.
fn converts(from: DType, to: DType) -> bool {
    let float = |dtype| matches!(dtype, DType::F32 | DType::F64);
    let small = |dtype: DType| is_integer(dtype) && dtype.bytes() <= 4;
    match (from, to) {
        (DType::I1, to) => float(to) || is_integer(to),
        (from, to) if float(from) && float(to) => true,
        // Integers wrap.
        (from, to) if is_integer(from) && is_integer(to) => true,
        (from, to) => float(to) && (small(from) || from == DType::I64),
    }
}

/// The code of a loop, which calls `function` with one of the `sites`; with products as [`expanded`] has them.
/// `None` if it is too long for the processor's jumps, or its stack for the system.
pub fn emit(looped: &Loop, function: usize, sites: &[usize], tiny: bool) -> Option<Vec<u8>> {
    let (chain, steps) = expanded(looped, tiny);
    let mut reads = vec![];
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::Op(op) => reads.extend(op.operands.iter().map(|&v| (at, v))),
            Step::Store(v, _) => reads.push((at, *v)),
            Step::Load(load) => reads.extend(load.starts.iter().map(|&(v, ..)| (at, v))),
            Step::Call(_) => {}
        }
    }
    // At the end.
    let end = steps.len();
    reads.extend(looped.carried.iter().map(|c| (end, c.next)));
    reads.extend(looped.test.iter().map(|&(v, _)| (end, v)));
    let uses = Uses::of(chain.values.len(), end + 1, reads.into_iter());
    let mut emitter = Emitter::new(&chain, uses, false);
    emitter.lanes = Lanes::One;
    emitter.upper = vec![false; end];
    LoopEmitter { emitter, looped, steps: &steps, function, sites, exits: vec![], pinned: vec![] }.emit()
}

/// The elements and steps of a loop, with functions as the steps of their formulas. For `tiny` numbers products
/// of floats are fused with -0, which changes none: on AMD's Zen 5 a product that is a subnormal number, or of
/// one, takes 1 to 3 cycles more and holds others up, a fused one takes 4 cycles whatever its numbers are (20 ns
/// an iteration became 15 where a state of two numbers had died away).
fn expanded(looped: &Loop, tiny: bool) -> (Chain, Vec<Step>) {
    let mut expansion = Expansion::of(&looped.chain);
    let mut steps = vec![];
    for step in &looped.steps {
        match step {
            Step::Op(op) => {
                expansion.op(op);
                let mut ops = std::mem::take(&mut expansion.chain.ops);
                for op in ops.iter_mut().filter(|micro| tiny && micro.op == Op::Step(Operation::Mul)) {
                    let is_double = expansion.chain.values[op.result].dtype == DType::F64;
                    let sign = if is_double { (-0f64).to_bits() } else { u64::from((-0f32).to_bits()) };
                    op.op = Op::Step(Operation::MulAdd);
                    op.operands.push(expansion.literal(is_double, sign));
                }
                steps.extend(ops.into_iter().map(Step::Op));
            }
            other => steps.push(other.clone()),
        }
    }
    (expansion.chain, steps)
}

struct LoopEmitter<'a> {
    emitter: Emitter<'a>,
    looped: &'a Loop,
    steps: &'a [Step],
    function: usize,
    sites: &'a [usize],
    /// Jumps out of the loop.
    exits: Vec<Jump>,
    /// Carried elements that have a register, with it.
    pinned: Vec<(usize, u8)>,
}

impl LoopEmitter<'_> {
    fn emit(mut self) -> Option<Vec<u8>> {
        let frame = self.emitter.assembler.begin(ADDRESSES.len());
        self.emitter.assembler.first_index();
        self.addresses();
        self.enter();
        let start = self.emitter.assembler.here();
        self.iteration();
        if self.looped.test.is_some() {
            let done = self.emitter.assembler.if_zero(true);
            self.exits.push(done);
        }
        self.emitter.assembler.while_left(start);
        for exit in std::mem::take(&mut self.exits) {
            self.emitter.assembler.land(exit);
        }
        self.leave();
        self.emitter.assembler.left();
        self.emitter.assembler.end(ADDRESSES.len());
        self.emitter.assembler.set_stack(frame, LITERAL * self.emitter.most);
        self.emitter.assembler.finish()
    }

    /// Loads the addresses of arguments that have a register.
    fn addresses(&mut self) {
        for (argument, &register) in ADDRESSES[..ADDRESSED].iter().enumerate() {
            self.emitter.assembler.address(register, argument);
        }
    }

    /// Brings literals and what is carried to their locations.
    fn enter(&mut self) {
        let e = &mut self.emitter;
        for (v, value) in e.chain.values.iter().enumerate() {
            if let Origin::Literal(literal) = value.origin {
                e.place_literal(v, literal);
            }
        }
        for &(v, place) in &self.looped.reads {
            e.locations[v] = Location::Placed(place);
        }
        // Each has a slot, for calls and the end.
        for (slot, carried) in self.looped.carried.iter().enumerate() {
            let v = carried.value;
            e.locked = [false; REGISTERS];
            e.held = [None; REGISTERS];
            let register = e.take();
            e.load_placed(register, carried.place, e.chain.values[v].dtype);
            e.store_slot(register, slot);
            e.locations[v] = Location::Stack(slot);
        }
        e.fixed = self.looped.carried.len();
        e.most = e.fixed;
        e.pinned = self.looped.carried.len().min(MAX_PINNED);
        e.held = [None; REGISTERS];
        for (carried, register) in self.looped.carried.iter().zip(e.registers()..NARROW_REGISTERS) {
            self.pinned.push((carried.value, register as u8));
        }
        self.reload();
    }

    /// Loads what has a register.
    fn reload(&mut self) {
        for (slot, &(v, register)) in self.pinned.iter().enumerate() {
            self.emitter.load_slot(register, slot);
            self.emitter.held[register as usize] = Some(v);
        }
    }

    /// Writes what has a register to its slot.
    fn unpin(&mut self) {
        for (slot, &(_, register)) in self.pinned.iter().enumerate() {
            self.emitter.store_slot(register, slot);
        }
    }

    fn iteration(&mut self) {
        self.emitter.stack = self.emitter.fixed;
        for (at, step) in self.steps.iter().enumerate() {
            self.emitter.locked = [false; REGISTERS];
            self.emitter.at = at;
            match step {
                // Where its formula is not the function, another executor takes the iteration.
                Step::Op(MicroOp { op: Op::Guard(is_double), operands, .. }) => {
                    self.emitter.guard(operands[0], *is_double);
                    self.exits.append(&mut self.emitter.exits);
                    self.emitter.free_after(at);
                }
                Step::Op(op) => {
                    let register = self.emitter.element(at, op);
                    self.emitter.free_after(at);
                    let used = !self.emitter.uses[op.result].is_empty();
                    self.emitter.held[register as usize] = used.then_some(op.result);
                }
                Step::Store(v, place) => {
                    self.emitter.store_placed(*v, *place);
                    self.emitter.free_after(at);
                }
                Step::Load(load) => self.load(at, load),
                Step::Call(site) => self.call(at, *site),
            }
        }
        self.next();
    }

    fn load(&mut self, at: usize, load: &Load) {
        for (i, &(v, most, bytes)) in load.starts.iter().enumerate() {
            self.emitter.locked = [false; REGISTERS];
            let register = self.emitter.register(v);
            match self.emitter.chain.values[v].dtype.bytes() {
                8 => self.emitter.assembler.long_position(register),
                _ => self.emitter.assembler.position(register),
            }
            let outside = self.emitter.assembler.if_outside(most);
            self.exits.push(outside);
            self.emitter.assembler.stride(bytes, i > 0);
        }
        let base = self.emitter.base(load.argument);
        self.emitter.assembler.add_base(base);
        self.emitter.free_after(at);
        for &(v, offset) in &load.elements {
            if self.emitter.uses[v].is_empty() {
                continue;
            }
            self.emitter.locked = [false; REGISTERS];
            let dtype = self.emitter.chain.values[v].dtype;
            let to = self.emitter.take();
            self.emitter.width = width(dtype);
            self.emitter.load(to, Source::At { base: COMPUTED, offset }, dtype);
            self.emitter.held[to as usize] = Some(v);
            self.emitter.locations[v] = Location::Nowhere;
        }
    }

    fn call(&mut self, at: usize, site: usize) {
        self.emitter.free_after(at);
        for register in 0..self.emitter.registers() {
            if self.emitter.held[register].is_some() {
                self.emitter.spill(register);
            }
        }
        self.unpin();
        self.emitter.assembler.call_site(self.function, self.sites[site]);
        self.addresses();
        self.reload();
        let failed = self.emitter.assembler.if_zero(true);
        self.exits.push(failed);
    }

    /// Makes the next state that of now, and counts the iteration. Whether there is another is in the register
    /// of positions then.
    fn next(&mut self) {
        let carried = &self.looped.carried;
        self.emitter.locked = [false; REGISTERS];
        if let Some((test, _)) = self.looped.test {
            let register = self.emitter.register(test);
            self.emitter.assembler.position(register);
        }
        // What becomes another carried element is copied first.
        let is_carried = |v: usize| carried.iter().any(|c| c.value == v);
        let moves: Vec<(usize, &Carried)> =
            carried.iter().enumerate().filter(|(_, c)| c.next != c.value).collect();
        let mut copies = vec![None; carried.len()];
        for &(i, c) in moves.iter().filter(|(_, c)| is_carried(c.next)) {
            self.emitter.locked = [false; REGISTERS];
            let register = self.emitter.register(c.next);
            let slot = self.emitter.new_slot();
            self.emitter.store_slot(register, slot);
            copies[i] = Some(slot);
        }
        for &(i, c) in &moves {
            self.emitter.locked = [false; REGISTERS];
            let pinned = self.pinned.get(i).map(|&(_, register)| register);
            match (copies[i], pinned) {
                (Some(slot), Some(to)) => self.emitter.load_slot(to, slot),
                (Some(slot), None) => {
                    let register = self.emitter.take();
                    self.emitter.load_slot(register, slot);
                    self.emitter.store_slot(register, i);
                }
                (None, Some(to)) => {
                    let register = self.emitter.register(c.next);
                    self.emitter.op(LOAD, to, 0, Source::Register(register));
                }
                (None, None) => {
                    let register = self.emitter.register(c.next);
                    self.emitter.store_slot(register, i);
                }
            }
        }
        self.emitter.assembler.next_index(self.looped.reverse);
    }

    /// Writes what is carried to its places.
    fn leave(&mut self) {
        self.unpin();
        self.emitter.held = [None; REGISTERS];
        for carried in &self.looped.carried {
            self.emitter.locked = [false; REGISTERS];
            self.emitter.store_placed(carried.value, carried.place);
        }
    }
}

impl Emitter<'_> {
    /// Emits an op on one element; returns the register of its result. Masks are of the same width for all.
    fn element(&mut self, at: usize, op: &MicroOp) -> u8 {
        let of = |v: usize| self.chain.values[v].dtype;
        let dtype = of(*op.operands.last().expect("an op has operands"));
        if let Op::Convert(to) = op.op {
            if dtype != DType::I1 {
                return self.converted(op.operands[0], dtype, to);
            }
            self.width = width(to);
            return self.select(at, op);
        }
        self.width = width(dtype);
        let register = self.select(at, op);
        if of(op.result) == DType::I1 && dtype != DType::I1 && self.width < MASK {
            self.widen_mask(register);
        }
        register
    }

    /// A new slot of the stack.
    fn new_slot(&mut self) -> usize {
        self.stack += 1;
        self.most = self.most.max(self.stack);
        self.stack - 1
    }

    fn store_slot(&mut self, from: u8, slot: usize) {
        self.op(STORE, from, 0, Source::Stack((LITERAL * slot) as i32));
    }

    fn load_slot(&mut self, to: u8, slot: usize) {
        self.op(LOAD, to, 0, Source::Stack((LITERAL * slot) as i32));
    }

    /// A register with the address of an argument.
    fn base(&mut self, argument: usize) -> u8 {
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

    /// Loads an element of a loop.
    pub(super) fn load_placed(&mut self, to: u8, place: Place, dtype: DType) {
        let source = self.source_of(place, dtype);
        let width = std::mem::replace(&mut self.width, width(dtype));
        self.load(to, source, dtype);
        self.width = width;
    }

    fn store_placed(&mut self, v: usize, place: Place) {
        let dtype = self.chain.values[v].dtype;
        let register = self.register(v);
        let source = self.source_of(place, dtype);
        self.width = width(dtype);
        self.store(register, source, dtype, false);
    }
}
