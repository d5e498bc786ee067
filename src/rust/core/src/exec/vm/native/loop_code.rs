//! Code generation for loops on few numbers ([`loops`](super::loops)).

use super::calls;
use super::chain::{Chain, MicroOp, Op, Origin};
use super::coverage::is_integer;
use super::emit::{Emitter, Lanes, Location, REGISTERS};
use super::expansion::Expansion;
use super::loops::{Loop, Place, Step, Window, LEAST};
use super::machine::{
    Jump, Source, ADDRESSES, COMPUTED, LITERAL, LOAD, LOADED, NARROW_REGISTERS, ROOM, STORE,
};
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
        Op::Function(_) | Op::Function2(_) => matches!(dtype, DType::F32 | DType::F64),
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
        step.reads(&mut |v| reads.push((at, v)));
    }
    // At the end.
    let end = steps.len();
    reads.extend(looped.carried.iter().map(|c| (end, c.next)));
    reads.extend(looped.test.iter().map(|&(v, _)| (end, v)));
    let uses = Uses::of(chain.values.len(), end + 1, reads.into_iter());
    let mut emitter = Emitter::new(&chain, uses);
    emitter.lanes = Lanes::One;
    emitter.upper = vec![false; end];
    let (exits, escapes, rare, levels) = (vec![], vec![], vec![], vec![]);
    LoopEmitter {
        emitter,
        looped,
        steps: &steps,
        function,
        sites,
        exits,
        escapes,
        rare,
        saved: 0,
        levels,
        asks: 0,
    }
    .emit()
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
                let mask = expansion.guarded(op);
                let mut ops = std::mem::take(&mut expansion.chain.ops);
                for op in ops.iter_mut().filter(|micro| tiny && micro.op == Op::Step(Operation::Mul)) {
                    let is_double = expansion.chain.values[op.result].dtype == DType::F64;
                    let sign = if is_double { (-0f64).to_bits() } else { u64::from((-0f32).to_bits()) };
                    op.op = Op::Step(Operation::MulAdd);
                    op.operands.push(expansion.literal(is_double, sign));
                }
                steps.extend(ops.into_iter().map(Step::Op));
                steps.extend(mask.map(|mask| Step::Instead(mask, op.clone())));
            }
            other => steps.push(other.clone()),
        }
    }
    (expansion.chain, steps)
}

pub(super) struct LoopEmitter<'a> {
    pub(super) emitter: Emitter<'a>,
    pub(super) looped: &'a Loop,
    steps: &'a [Step],
    function: usize,
    sites: &'a [usize],
    /// Jumps out of the loop.
    exits: Vec<Jump>,
    /// Jumps out of it from loops within an iteration.
    pub(super) escapes: Vec<Jump>,
    /// Calls that are rare, whose code is behind that of the loop.
    rare: Vec<Rare>,
    /// The first stack slot of those for registers during such a call, and then for its operands.
    saved: usize,
    /// The loop, and the loops within an iteration that have begun.
    pub(super) levels: Vec<Level>,
    /// The place on the stack of the number of iterations until it is asked whether the user stops the loop.
    pub(super) asks: i32,
}

/// What a loop carries, in registers and on the stack.
pub(super) struct Level {
    /// The elements. Each has a slot, from this one on.
    pub(super) carried: Vec<usize>,
    pub(super) slot: usize,
    /// The registers of the first ones.
    pub(super) registers: Vec<u8>,
    /// Where an iteration begins.
    pub(super) start: usize,
    /// The jump past the loop, if it has no iteration.
    pub(super) none: Option<Jump>,
}

/// A function that a kernel computes where its guards say so.
struct Rare {
    jump: Jump,
    /// Where the loop goes on.
    back: usize,
    op: MicroOp,
    /// The values that registers hold before, and those that they hold where the loop goes on.
    held: [[Option<usize>; REGISTERS]; 2],
    /// The register of the result.
    result: u8,
    /// Where the operands and the result are in memory.
    locations: Vec<Location>,
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
        let leaves = self.emitter.assembler.here();
        self.leave();
        self.emitter.assembler.left();
        self.emitter.assembler.end(ADDRESSES.len());
        self.escape(leaves);
        self.rare_calls();
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
        }
        e.room = self.looped.carried.len();
        self.saved = e.room + ROOM;
        e.fixed = self.saved + NARROW_REGISTERS + 3;
        if let Some((_, every)) = self.looped.asks {
            self.asks = e.slot(e.fixed);
            e.fixed += 1;
            e.assembler.set_word(self.asks, every);
        }
        e.most = e.fixed;
        self.level(self.looped.carried.iter().map(|carried| carried.value).collect(), 0);
    }

    /// Begins a loop that carries these elements, which are in the slots from this one on.
    pub(super) fn level(&mut self, carried: Vec<usize>, slot: usize) {
        for (i, &v) in carried.iter().enumerate() {
            self.emitter.locations[v] = Location::Stack(slot + i);
        }
        let few = carried.len().min(MAX_PINNED) as u8;
        let registers = (NARROW_REGISTERS as u8 - few..NARROW_REGISTERS as u8).collect();
        self.levels.push(Level { carried, slot, registers, start: 0, none: None });
        self.reload();
    }

    /// Loads what has a register. No other register holds anything.
    pub(super) fn reload(&mut self) {
        let level = self.levels.last().expect("a loop has begun");
        self.emitter.held = [None; REGISTERS];
        self.emitter.pinned = level.registers.len();
        for (i, (&v, &register)) in level.carried.iter().zip(&level.registers).enumerate() {
            self.emitter.load_slot(register, level.slot + i);
            self.emitter.held[register as usize] = Some(v);
        }
    }

    /// Writes what has a register to its slot.
    pub(super) fn unpin(&mut self) {
        let level = self.levels.last().expect("a loop has begun");
        for (i, &register) in level.registers.iter().enumerate() {
            self.emitter.store_slot(register, level.slot + i);
        }
    }

    /// Has a jump leave the loop.
    fn exit(&mut self, jump: Jump) {
        if self.levels.len() > 1 {
            self.escapes.push(jump);
        } else {
            self.exits.push(jump);
        }
    }

    fn iteration(&mut self) {
        self.emitter.stack = self.emitter.fixed;
        for (at, step) in self.steps.iter().enumerate() {
            self.emitter.locked = [false; REGISTERS];
            self.emitter.at = at;
            match step {
                Step::Instead(mask, op) => self.instead(at, *mask, op),
                Step::Op(op) => {
                    let is_called = matches!(op.op, Op::Function(_) | Op::Function2(_));
                    if is_called {
                        self.unpin();
                    }
                    let register = self.emitter.element(at, op);
                    if is_called {
                        self.reload();
                    }
                    self.emitter.free_after(at);
                    let used = !self.emitter.uses[op.result].is_empty();
                    self.emitter.held[register as usize] = used.then_some(op.result);
                }
                Step::Store(v, place) => {
                    self.emitter.store_placed(*v, *place);
                    self.emitter.free_after(at);
                }
                Step::Check(numbers) => {
                    for &(v, most) in numbers {
                        self.number(v);
                        let outside = self.emitter.assembler.if_outside(most);
                        self.exit(outside);
                    }
                    self.emitter.free_after(at);
                }
                Step::Load(load) => self.load(at, load),
                Step::Put(put) => self.put(at, put),
                Step::Call(site) => self.call(at, *site),
                Step::Begin(carried, test) => self.begin(at, carried, *test),
                Step::End(next, test) => self.end(at, next, *test),
            }
        }
        self.next();
    }

    /// Goes to a call of the kernel if a mask is true.
    fn instead(&mut self, at: usize, mask: usize, op: &MicroOp) {
        let e = &mut self.emitter;
        let result = e.register(op.result);
        e.guard(mask, true);
        let jump = e.exits.pop().expect("a guard jumps");
        let locations = op.operands.iter().chain([&op.result]).map(|&v| e.locations[v]).collect();
        let (back, before) = (e.assembler.here(), e.held);
        e.free_after(at);
        self.rare.push(Rare { jump, back, op: op.clone(), held: [before, e.held], result, locations });
    }

    /// The calls that the loop seldom goes to. Registers are on the stack meanwhile.
    fn rare_calls(&mut self) {
        let (saved, e) = (self.saved, &mut self.emitter);
        for Rare { jump, back, op, held: [before, after], result, locations } in self.rare.drain(..) {
            e.assembler.land(jump);
            let dtype = e.chain.values[op.result].dtype;
            let is_kept = |&r: &usize| after[r].is_some() && r != usize::from(result);
            let kept: Vec<usize> = (0..NARROW_REGISTERS).filter(is_kept).collect();
            kept.iter().for_each(|&r| e.store_slot(r as u8, saved + r));
            let first = saved + NARROW_REGISTERS;
            let mut far = vec![];
            for (i, &v) in op.operands.iter().enumerate() {
                match before.iter().position(|&held| held == Some(v)) {
                    Some(register) => e.store_slot(register as u8, first + i),
                    None => far.push((v, i)),
                }
            }
            for (v, i) in far {
                e.locations[v] = locations[i];
                match (e.in_memory(v), locations[i]) {
                    (Some(source), _) => e.load_from(result, source, dtype == DType::F64),
                    (None, Location::Placed(place)) => e.load_placed(result, place, dtype),
                    _ => unreachable!("an operand is somewhere"),
                }
                e.store_slot(result, first + i);
            }
            let slots: Vec<i32> = (0..=op.operands.len()).map(|i| e.slot(first + i)).collect();
            let call = calls::of(op.op, dtype == DType::F64).expect("a function has a kernel");
            let (room, made) = (e.slot(e.room), slots[op.operands.len()]);
            e.call_kernel(&call, &slots, 1, room, room);
            e.load_made(result, made, dtype == DType::F64);
            if let Some(&Location::Stack(slot)) = locations.last() {
                e.store_slot(result, slot);
            }
            kept.iter().for_each(|&r| e.load_slot(r as u8, saved + r));
            e.assembler.jump_to(back);
        }
    }

    /// Moves a number to the register of positions.
    pub(super) fn number(&mut self, v: usize) {
        self.emitter.locked = [false; REGISTERS];
        let register = self.emitter.register(v);
        match self.emitter.chain.values[v].dtype.bytes() {
            8 => self.emitter.assembler.long_position(register),
            _ => self.emitter.assembler.position(register),
        }
    }

    /// Computes the address of a window.
    fn address(&mut self, window: &Window) {
        for (i, &(v, most, bytes)) in window.starts.iter().enumerate() {
            self.number(v);
            if !window.checked {
                let outside = self.emitter.assembler.if_outside(most);
                self.exit(outside);
            }
            self.emitter.assembler.stride(bytes, i > 0);
        }
        let base = self.emitter.base(window.argument);
        self.emitter.assembler.add_base(base);
    }

    fn put(&mut self, at: usize, put: &Window) {
        self.address(put);
        for &(v, offset) in &put.elements {
            self.emitter.locked = [false; REGISTERS];
            let dtype = self.emitter.chain.values[v].dtype;
            let register = self.emitter.register(v);
            self.emitter.width = width(dtype);
            self.emitter.store(register, Source::At { base: COMPUTED, offset }, dtype, false);
        }
        self.emitter.free_after(at);
    }

    fn load(&mut self, at: usize, load: &Window) {
        self.address(load);
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
        self.spill_all();
        self.call_site(site);
    }

    /// Writes what registers hold to the stack.
    pub(super) fn spill_all(&mut self) {
        for register in 0..self.emitter.registers() {
            if self.emitter.held[register].is_some() {
                self.emitter.spill(register);
            }
        }
    }

    /// Calls the function of a number, where registers hold nothing but what is carried.
    pub(super) fn call_site(&mut self, site: usize) {
        self.unpin();
        self.emitter.assembler.call_site(self.function, self.sites[site]);
        self.addresses();
        self.reload();
        let failed = self.emitter.assembler.if_zero(true);
        self.exit(failed);
    }

    /// Makes the next state that of now, and counts the iteration. Whether there is another is in the register
    /// of positions then.
    fn next(&mut self) {
        let next: Vec<usize> = self.looped.carried.iter().map(|carried| carried.next).collect();
        self.carry(&next, self.looped.test.map(|(test, _)| test));
        self.emitter.assembler.next_index(self.looped.reverse);
    }

    /// Makes these elements those that the loop carries, and moves a boolean to the register of positions.
    pub(super) fn carry(&mut self, next: &[usize], test: Option<usize>) {
        let level = self.levels.last().expect("a loop has begun");
        let e = &mut self.emitter;
        if let Some(test) = test {
            e.locked = [false; REGISTERS];
            let register = e.register(test);
            e.assembler.position(register);
        }
        // What becomes another carried element is copied first.
        let pairs = level.carried.iter().zip(next).enumerate();
        let moves: Vec<(usize, usize)> =
            pairs.filter(|(_, (now, next))| now != next).map(|(i, (_, &next))| (i, next)).collect();
        let mut copies = vec![None; level.carried.len()];
        for &(i, next) in moves.iter().filter(|(_, next)| level.carried.contains(next)) {
            e.locked = [false; REGISTERS];
            let register = e.register(next);
            let slot = e.new_slot();
            e.store_slot(register, slot);
            copies[i] = Some(slot);
        }
        for &(i, next) in &moves {
            e.locked = [false; REGISTERS];
            match (copies[i], level.registers.get(i)) {
                (Some(slot), Some(&to)) => e.load_slot(to, slot),
                (Some(slot), None) => {
                    let register = e.take();
                    e.load_slot(register, slot);
                    e.store_slot(register, level.slot + i);
                }
                (None, Some(&to)) => {
                    let register = e.register(next);
                    e.op(LOAD, to, 0, Source::Register(register));
                }
                (None, None) => {
                    let register = e.register(next);
                    e.store_slot(register, level.slot + i);
                }
            }
        }
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
    pub(super) fn new_slot(&mut self) -> usize {
        self.stack += 1;
        self.most = self.most.max(self.stack);
        self.stack - 1
    }

    pub(super) fn store_slot(&mut self, from: u8, slot: usize) {
        self.op(STORE, from, 0, Source::Stack((LITERAL * slot) as i32));
    }

    pub(super) fn load_slot(&mut self, to: u8, slot: usize) {
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
