//! Code generation for loops on few numbers ([`loops`](super::loops)).

use super::calls;
use super::chain::{Chain, MicroOp, Op, Origin};
use super::coverage::is_integer;
use super::emit::{Emitter, Lanes, Location, REGISTERS};
use super::expansion::Expansion;
use super::loop_values::ADDRESSED;
use super::loops::{Loop, Otherwise, Place, Step, Window};
use super::machine::{Jump, Source, ADDRESSES, COMPUTED, LITERAL, LOAD, NARROW_REGISTERS, ROOM, STORE};
use super::uses::Uses;
use crate::dtype::DType;
use crate::kernels::math::formula::Operation;
use rustc_hash::FxHashSet;

/// Carried elements that have a register, at most: the others are for the body.
const MAX_PINNED: usize = 6;

/// Whether a loop may have an op on operands of this dtype.
pub fn has(op: Op, dtype: DType) -> bool {
    match op {
        Op::Convert(to) => converts(dtype, to),
        _ if op.is_function() && matches!(dtype, DType::F32 | DType::F64) => true,
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
    let Expanded { chain, steps, upper, vectors } = expanded(looped, tiny);
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
    emitter.upper = upper;
    emitter.vectors = (0..chain.values.len()).map(|v| vectors.contains(&v)).collect();
    let (exits, escapes, rare, outside, levels) = (vec![], vec![], vec![], vec![], vec![]);
    LoopEmitter {
        emitter,
        looped,
        steps: &steps,
        function,
        sites,
        exits,
        escapes,
        rare,
        outside,
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
fn expanded(looped: &Loop, tiny: bool) -> Expanded {
    let mut expansion = Expansion::of(&looped.chain);
    let (mut steps, mut upper) = (vec![], vec![]);
    let mut vectors = looped.vectors.clone();
    for step in &looped.steps {
        match step {
            Step::Op(op) => {
                let is_vector = op.is_vector(|v| vectors.contains(&v));
                expansion.of_vectors = is_vector;
                let is_short = looped.chain.values[op.result].dtype.bytes() == 4;
                expansion.chain.width = if is_vector && is_short { 4 } else { 8 };
                expansion.op(op);
                let mask = expansion.guarded(op);
                let (mut ops, mut halves) = expansion.taken();
                vectors.extend(ops.iter().map(|op| op.result).filter(|_| is_vector));
                for op in ops.iter_mut().filter(|micro| tiny && micro.op == Op::Step(Operation::Mul)) {
                    let is_double = expansion.chain.values[op.result].dtype == DType::F64;
                    let sign = if is_double { (-0f64).to_bits() } else { u64::from((-0f32).to_bits()) };
                    op.op = Op::Step(Operation::MulAdd);
                    op.operands.push(expansion.literal(is_double, sign));
                }
                halves.resize(ops.len() + usize::from(mask.is_some()), false);
                steps.extend(ops.into_iter().map(Step::Op));
                steps.extend(mask.map(|mask| Step::Instead(mask, op.clone())));
                upper.extend(halves);
            }
            other => {
                if matches!(other, Step::End(..)) {
                    expansion.forget();
                }
                steps.push(other.clone());
                upper.push(false);
            }
        }
    }
    Expanded { chain: expansion.chain, steps, upper, vectors }
}

/// The elements and steps of a loop.
struct Expanded {
    chain: Chain,
    steps: Vec<Step>,
    /// For each step, whether it is on the upper half of vectors, of singles that are computed as doubles.
    upper: Vec<bool>,
    /// The values that are vectors.
    vectors: FxHashSet<usize>,
}

pub(super) struct LoopEmitter<'a> {
    pub(super) emitter: Emitter<'a>,
    pub(super) looped: &'a Loop,
    steps: &'a [Step],
    pub(super) function: usize,
    pub(super) sites: &'a [usize],
    /// Jumps out of the loop.
    exits: Vec<Jump>,
    /// Jumps out of it from loops within an iteration.
    pub(super) escapes: Vec<Jump>,
    /// Calls that are rare, whose code is behind that of the loop.
    rare: Vec<Rare>,
    /// Positions that are out of range, as seldom.
    pub(super) outside: Vec<Outside>,
    /// The first stack slot of those for registers during such a call, and then for its operands.
    pub(super) saved: usize,
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

/// A position that is out of range: the nearest one takes its place.
pub(super) struct Outside {
    pub jump: Jump,
    /// Where the loop goes on.
    pub back: usize,
    /// The element with the number, and the largest in range.
    pub v: usize,
    pub most: i32,
    /// The number of the function that is called before, and where that finds the number.
    pub call: Option<(usize, Place)>,
    /// The values that registers hold.
    pub held: [Option<usize>; REGISTERS],
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
        let ends = self.emitter.assembler.here();
        self.emitter.assembler.left();
        self.emitter.assembler.end(ADDRESSES.len());
        self.escape(leaves);
        self.rare_calls();
        self.outside(ends);
        self.emitter.assembler.set_stack(frame, LITERAL * self.emitter.most);
        self.emitter.assembler.finish()
    }

    /// Loads the addresses of arguments that have a register.
    pub(super) fn addresses(&mut self) {
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
            e.load_placed(register, carried.place, v);
            e.store_slot(register, slot, v);
        }
        e.room = self.looped.carried.len();
        self.saved = e.room + ROOM;
        e.fixed = self.saved + NARROW_REGISTERS + calls::SLOTS;
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
            self.emitter.load_slot(register, level.slot + i, v);
            self.emitter.held[register as usize] = Some(v);
        }
    }

    /// Writes what has a register to its slot.
    pub(super) fn unpin(&mut self) {
        let level = self.levels.last().expect("a loop has begun");
        for (i, (&v, &register)) in level.carried.iter().zip(&level.registers).enumerate() {
            self.emitter.store_slot(register, level.slot + i, v);
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
                Step::Op(op) if self.emitter.upper[at] && !self.emitter.is_vector(op.result) => {}
                Step::Op(MicroOp { op: Op::Lane(lane, bytes), operands, result }) => {
                    let is_carried = self.levels.iter().any(|level| level.carried.contains(&operands[0]));
                    self.emitter.lane(operands[0], (*lane, *bytes), *result, is_carried);
                    self.emitter.free_after(at);
                }
                Step::Op(MicroOp { op: Op::Join(bytes), operands, result }) => {
                    let register = self.emitter.join(operands, usize::from(*bytes), *result);
                    self.emitter.free_after(at);
                    if let Some(register) = register {
                        self.emitter.held[register as usize] = Some(*result);
                    }
                }
                Step::Op(op) => {
                    let is_called = op.op.is_function();
                    if is_called {
                        self.unpin();
                    }
                    self.emitter.of(op.result);
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
        e.of(op.result);
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
            e.of(op.result);
            let is_kept = |&r: &usize| after[r].is_some() && r != usize::from(result);
            let kept: Vec<usize> = (0..NARROW_REGISTERS).filter(is_kept).collect();
            kept.iter().for_each(|&r| e.whole(STORE, r as u8, e.slot(saved + r)));
            let first = saved + NARROW_REGISTERS;
            let mut far = vec![];
            for (i, &v) in op.operands.iter().enumerate() {
                match before.iter().position(|&held| held == Some(v)) {
                    Some(register) => e.whole(STORE, register as u8, e.slot(first + i)),
                    None => far.push((v, i)),
                }
            }
            for (v, i) in far {
                e.locations[v] = locations[i];
                e.fetch(result, v);
                e.whole(STORE, result, e.slot(first + i));
            }
            let slots: Vec<i32> = (0..=op.operands.len()).map(|i| e.slot(first + i)).collect();
            let call = calls::of(op.op, dtype == DType::F64).expect("a function has a kernel");
            let (room, made) = (e.slot(e.room), slots[op.operands.len()]);
            let count = if e.long() { LITERAL / dtype.bytes() } else { 1 };
            e.call_kernel(&call, &call.addresses(&slots), count, room, room);
            e.load_made(result, made, dtype == DType::F64);
            if let Some(&Location::Stack(slot)) = locations.last() {
                e.whole(STORE, result, e.slot(slot));
            }
            kept.iter().for_each(|&r| e.whole(LOAD, r as u8, e.slot(saved + r)));
            e.assembler.jump_to(back);
        }
    }

    /// Moves a number to the register of positions.
    pub(super) fn number(&mut self, v: usize) {
        self.emitter.locked = [false; REGISTERS];
        self.emitter.of(v);
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
            match &window.otherwise {
                Otherwise::Never => {}
                Otherwise::Nearest(calls) => {
                    let jump = self.emitter.assembler.if_outside(most);
                    let (back, held) = (self.emitter.assembler.here(), self.emitter.held);
                    self.outside.push(Outside { jump, back, v, most, call: calls.get(i).copied(), held });
                }
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
            self.emitter.put_away(v, Source::At { base: COMPUTED, offset });
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
            let to = self.emitter.take();
            self.emitter.bring(to, Source::At { base: COMPUTED, offset }, v);
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
        for &(argument, bytes) in &self.looped.strides {
            let by = if self.looped.reverse { -bytes } else { bytes };
            self.emitter.assembler.move_argument(argument, by);
            if argument < ADDRESSED {
                self.emitter.assembler.address(ADDRESSES[argument], argument);
            }
        }
        self.emitter.assembler.next_index(self.looped.reverse);
    }

    /// Makes these elements those that the loop carries, and moves a boolean to the register of positions.
    pub(super) fn carry(&mut self, next: &[usize], test: Option<usize>) {
        let level = self.levels.last().expect("a loop has begun");
        let e = &mut self.emitter;
        if let Some(test) = test {
            e.locked = [false; REGISTERS];
            e.of(test);
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
            e.of(next);
            let register = e.register(next);
            let slot = e.new_slot();
            e.store_slot(register, slot, next);
            copies[i] = Some(slot);
        }
        for &(i, next) in &moves {
            e.locked = [false; REGISTERS];
            let v = level.carried[i];
            e.of(v);
            match (copies[i], level.registers.get(i)) {
                (Some(slot), Some(&to)) => e.load_slot(to, slot, v),
                (Some(slot), None) => {
                    let register = e.take();
                    e.load_slot(register, slot, v);
                    e.store_slot(register, level.slot + i, v);
                }
                (None, Some(&to)) => {
                    let register = e.register(next);
                    e.op(LOAD, to, 0, Source::Register(register));
                }
                (None, None) => {
                    let register = e.register(next);
                    e.store_slot(register, level.slot + i, v);
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
