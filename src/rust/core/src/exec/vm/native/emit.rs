//! Code generation for a chain: loops and register allocation, whatever the processor. Its instructions are
//! selected in the folder of the [`machine`](super::machine).
//!
//! A body of the loop begins with no value in a register but those that are
//! [resident](Emitter::make_resident). Other literals are read from memory, and other operands where they are
//! used for the last time; when no register is free, the value whose next use is furthest away is spilled: to
//! the stack, if it is in no other memory. Booleans are masks in registers, of lanes as wide as the elements of
//! the chain, and bytes in memory.
//!
//! A chain with functions has two bodies: one of the steps of their formulas, and, behind the loops, one of their
//! total formulas, or calls of their kernels, for elements of which a guard is true.

use super::calls;
use super::chain::{Chain, MicroOp, Op, Origin};
use super::expansion::{expand, Expanded};
use super::loops::Place;
use super::machine::{
    has_wide_extremes, Assembler, Jump, Source, Vector, LITERAL, LOAD, NARROW_REGISTERS, READS_MEMORY, ROOM,
    STORE, VECTOR,
};
use super::uses::Uses;
use crate::dtype::DType;
use crate::tensor::Literal;
use rustc_hash::FxHashMap;

/// Registers for vectors, at most.
pub(super) const REGISTERS: usize = 32;

/// Registers for masks of vectors of 64 bytes; the first one stands for no mask.
pub(super) const MASKS: usize = 8;

/// The one with the lanes of the elements that are left.
pub(super) const REST: u8 = 7;

/// The location of a value in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Location {
    Nowhere,
    /// An element for each of the chain, so many bytes behind the address in that register.
    Elements(u8, i32),
    /// One element, there: of a loop.
    Placed(Place),
    /// A whole vector on the stack, with that number.
    Stack(usize),
    /// One element of a vector on the stack: the number of the vector, and the bytes before the element and of it.
    Lane(usize, i32, usize),
    /// In the pool of literals.
    Literal(usize),
}

/// The lanes of an instruction: a whole vector, or the elements that are left, which are fewer and in the first
/// lanes of one of 64 bytes, or one element, in the first lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lanes {
    All,
    Rest,
    One,
}

/// A loop over runs that is being written.
pub(super) struct RunLoop {
    /// Where a run begins.
    pub(super) start: usize,
    /// The place of its words on the stack: the first element within the run, the elements that are left, for
    /// each axis the indices that are left, then the addresses of elements that are repeated.
    pub(super) words: i32,
}

pub(super) struct Emitter<'c> {
    pub(super) assembler: Assembler,
    pub(super) chain: &'c Chain,
    /// Bytes of an element.
    pub(super) width: usize,
    /// For each value, the ops of the body that read it.
    pub(super) uses: Uses,
    /// Ops that came before those whose last values have been freed.
    pub(super) swept: usize,
    /// For each op, whether it is on the upper half of vectors.
    pub(super) upper: Vec<bool>,
    /// The op under way.
    pub(super) at: usize,
    /// Jumps out of the body, to the careful one.
    pub(super) exits: Vec<Jump>,
    /// Stack slots for general registers during a call.
    pub(super) room: usize,
    pub(super) locations: Vec<Location>,
    /// For each output, the register with its address.
    pub(super) stores: Vec<Option<u8>>,
    /// For each register, the value in it.
    pub(super) held: [Option<usize>; REGISTERS],
    /// Registers that an op is using.
    pub(super) locked: [bool; REGISTERS],
    /// Registers at the end that hold what a loop carries, or what stays in registers.
    pub(super) pinned: usize,
    /// Values that stay in registers throughout the loops of a chain, and these.
    pub(super) resident: Vec<(usize, u8)>,
    /// Stack slots, of a vector each, that are taken for the whole function, now, and at most.
    pub(super) fixed: usize,
    pub(super) stack: usize,
    pub(super) most: usize,
    pub(super) lanes: Lanes,
    /// For each value of a loop, whether it is a vector.
    pub(super) vectors: Vec<bool>,
    /// The slots of vectors of which there are elements, beside those that they have anyway.
    pub(super) laid: FxHashMap<usize, usize>,
    /// Bytes of a vector: those of a literal, or on x86-64 64.
    pub(super) vector: usize,
    /// For each mask register, the value in it.
    pub(super) masks: [Option<usize>; MASKS],
    /// Whether masks are too many for vectors of 64 bytes.
    pub(super) refused: bool,
    /// Elements by which a body is ahead of the index.
    pub(super) ahead: usize,
    /// Whether the outputs in `chain.past` have non-temporal stores in the body under way.
    pub(super) past: bool,
    /// The loops over runs, if there are any.
    pub(super) runs: Option<RunLoop>,
}

/// The code of a chain: a function of a table of addresses and a number of elements. With `past` it has the
/// non-temporal stores that the chain asks for; all outputs are aligned to vectors then. On vectors of 64 bytes
/// if `wide`, which processors must have, where all ops have instructions on them, and else of those of a
/// literal. `None` if it is too long for the processor's jumps, or its stack for the system.
pub fn emit(chain: &Chain, past: bool, wide: bool) -> Option<Vec<u8>> {
    let has_extremes = wide && has_wide_extremes();
    let expanded = expand(chain, has_extremes);
    let code = wide.then(|| emit_with(chain, &expanded, past, 2 * LITERAL)).flatten();
    code.or_else(|| {
        let other = has_extremes.then(|| expand(chain, false));
        emit_with(chain, other.as_ref().unwrap_or(&expanded), past, LITERAL)
    })
}

/// The code on vectors of so many bytes; `None` if there is none, as if masks are too many.
fn emit_with(chain: &Chain, expanded: &Expanded, past: bool, bytes: usize) -> Option<Vec<u8>> {
    let Expanded { chain: plain, upper, careful, careful_upper } = expanded;
    let addresses = chain.streams();
    let mut emitter = Emitter::new(plain, uses(plain, &plain.ops));
    emitter.upper = upper.clone();
    emitter.vector = bytes;
    let frame = emitter.assembler.begin(addresses);
    emitter.prologue();
    if bytes == LITERAL {
        emitter.make_resident(&plain.ops);
    }
    let has_calls = careful.iter().any(|micro| micro.op.is_function());
    if has_calls {
        emitter.room = emitter.fixed;
        emitter.fixed += ROOM;
    }
    emitter.begin_runs();
    let lanes = bytes / chain.width;
    // A part of a line that is stored past the caches is written to memory by itself, and waited for.
    let stores_past = |bodies: usize| past && bodies * bytes >= VECTOR;
    // Vectors of a long body overlap as they are.
    let twice = if plain.ops.len() < LONG || past && bytes < VECTOR { 2 } else { 1 };
    let mut left = vec![];
    // Runs begin anywhere: non-temporal stores wait for an aligned place.
    let begin = (past && chain.nest.is_some()).then_some((1, Lanes::One));
    let last = if bytes == LITERAL { Lanes::One } else { Lanes::Rest };
    let all = begin.into_iter().chain([(2, Lanes::All), (1, Lanes::All), (1, last)]);
    for (i, (bodies, these)) in all.enumerate() {
        if bodies > twice {
            continue;
        }
        (emitter.lanes, emitter.past) = (these, stores_past(bodies));
        let count = if these == Lanes::One { 1 } else { lanes };
        if bodies == 2 {
            emitter.assembler.align();
        }
        let start = emitter.assembler.here();
        let aligned = begin.filter(|_| i == 0).and_then(|_| emitter.if_aligned());
        let done = match these {
            Lanes::Rest => emitter.rest(),
            _ => emitter.assembler.unless_left(bodies * count),
        };
        for body in 0..bodies {
            emitter.ahead = body * count;
            emitter.body(&plain.ops);
        }
        left.push((std::mem::take(&mut emitter.exits), these, bodies, emitter.assembler.here()));
        if these != Lanes::Rest {
            emitter.assembler.again(start);
        }
        aligned.into_iter().chain([done]).for_each(|jump| emitter.assembler.land(jump));
        // What is left overlaps what is done: it is made again. Non-temporal stores are aligned.
        let overlaps = last == Lanes::One && (twice == 1 || chain.nest.is_some());
        if overlaps && (bodies, past, these) == (1, false, Lanes::All) {
            let first = emitter.first_of_run();
            emitter.assembler.last_again(count, start, first);
        }
    }
    emitter.end_runs();
    emitter.assembler.end(addresses);
    emitter.uses = uses(plain, careful);
    emitter.upper = careful_upper.clone();
    for (exits, these, bodies, back) in left {
        if exits.is_empty() {
            continue;
        }
        exits.into_iter().for_each(|exit| emitter.assembler.land(exit));
        (emitter.lanes, emitter.past) = (these, stores_past(bodies));
        for body in 0..bodies {
            emitter.ahead = body * lanes;
            emitter.body(careful);
            if has_calls {
                // They have lost them.
                emitter.load_resident();
            }
        }
        emitter.assembler.jump_to(back);
    }
    let stack = emitter.slot(emitter.most);
    emitter.assembler.set_stack(frame, stack as usize);
    (!emitter.refused).then(|| emitter.assembler.finish()).flatten()
}

/// Ops of a body from which on it is not repeated: processors look ahead as far.
const LONG: usize = 24;

/// The reads of ops on the values of a chain.
fn uses(chain: &Chain, ops: &[MicroOp]) -> Uses {
    let reads = ops.iter().enumerate().flat_map(|(at, op)| op.operands.iter().map(move |&v| (at, v)));
    Uses::of(chain.values.len(), ops.len(), reads)
}

impl<'c> Emitter<'c> {
    /// One that has written nothing; `uses` are the ops that read each value.
    pub(super) fn new(chain: &'c Chain, uses: Uses) -> Emitter<'c> {
        Emitter {
            assembler: Assembler::default(),
            chain,
            width: chain.width,
            uses,
            swept: 0,
            locations: vec![Location::Nowhere; chain.values.len()],
            stores: vec![None; chain.values.len()],
            held: [None; REGISTERS],
            locked: [false; REGISTERS],
            pinned: 0,
            resident: vec![],
            upper: vec![],
            at: 0,
            exits: vec![],
            room: 0,
            fixed: 0,
            stack: 0,
            most: 0,
            lanes: Lanes::All,
            vectors: vec![],
            laid: FxHashMap::default(),
            vector: LITERAL,
            masks: [None; MASKS],
            refused: false,
            ahead: 0,
            past: false,
            runs: None,
        }
    }

    /// The loop body: all ops, once.
    pub(super) fn body(&mut self, ops: &[MicroOp]) {
        self.held = [None; REGISTERS];
        self.resident.iter().for_each(|&(v, register)| self.held[register as usize] = Some(v));
        self.masks = [None; MASKS];
        if self.lanes == Lanes::Rest {
            self.masks[REST as usize] = Some(usize::MAX);
        }
        self.swept = 0;
        self.stack = self.fixed;
        self.most = self.most.max(self.stack);
        for (v, value) in self.chain.values.iter().enumerate() {
            if value.origin == Origin::Made {
                self.locations[v] = Location::Nowhere;
            }
        }
        for (at, op) in ops.iter().enumerate() {
            if self.upper[at] && !self.long() {
                continue;
            }
            self.at = at;
            self.locked = [false; REGISTERS];
            if let Op::Guard(is_double) = op.op {
                self.guard(op.operands[0], is_double);
                self.free_after(at);
                continue;
            }
            let register = self.select(at, op);
            self.free_after(at);
            if let Some(address) = self.stores[op.result] {
                if !(self.is_wide() && self.chain.values[op.result].dtype == DType::I1) {
                    self.locked[register as usize] = true;
                }
                let past = self.past && self.chain.past.contains(&op.result);
                let dtype = self.chain.values[op.result].dtype;
                self.store(register, self.elements(address, 0, dtype.bytes()), dtype, past);
                // A value with a non-temporal store is not in the caches, and is not read back.
                if self.chain.values[op.result].dtype != DType::I1 && !past {
                    self.locations[op.result] = Location::Elements(address, 0);
                }
            }
            let held = (!self.uses[op.result].is_empty()).then_some(op.result);
            if self.is_wide() && self.chain.values[op.result].dtype == DType::I1 {
                self.masks[register as usize] = held;
            } else {
                self.held[register as usize] = held;
            }
        }
    }

    /// Registers of values that no later op reads are free.
    pub(super) fn free_after(&mut self, at: usize) {
        let registers = self.registers();
        // Ops that one lane leaves out free nothing by themselves, and this one may have read a value again.
        for op in self.swept.min(at)..=at {
            for &v in self.uses.dying(op) {
                let is = |held: &Option<usize>| *held == Some(v);
                if let Some(register) = self.held[..registers].iter().position(is) {
                    self.held[register] = None;
                }
                if let Some(mask) = self.masks.iter().position(is) {
                    self.masks[mask] = None;
                }
            }
        }
        self.swept = at + 1;
    }

    /// Whether instructions are on vectors of 64 bytes.
    pub(super) fn is_wide(&self) -> bool {
        self.long() && self.vector == 64
    }

    pub(super) fn long(&self) -> bool {
        self.lanes != Lanes::One
    }

    /// The place of a slot of the stack.
    pub(super) fn slot(&self, number: usize) -> i32 {
        (self.vector * number) as i32
    }

    /// Registers for vectors that are allocated.
    pub(super) fn registers(&self) -> usize {
        if self.is_wide() {
            REGISTERS
        } else {
            NARROW_REGISTERS - self.pinned
        }
    }

    // ---- registers

    /// A register that this op may write.
    pub(super) fn take(&mut self) -> u8 {
        let free = (0..self.registers()).find(|&r| self.held[r].is_none() && !self.locked[r]);
        let register = free.unwrap_or_else(|| {
            let next = |r: &usize| {
                let uses = &self.uses[self.held[*r].expect("none is free")];
                uses.get(uses.partition_point(|&read| read < self.at)).copied()
            };
            let evicted =
                (0..self.registers()).filter(|&r| !self.locked[r]).max_by_key(next).expect("an op locks few");
            self.spill(evicted);
            evicted
        });
        self.locked[register] = true;
        register as u8
    }

    /// Spills a register: its value goes to the stack, unless it is in memory.
    pub(super) fn spill(&mut self, register: usize) {
        let v = self.held[register].take().expect("there is one");
        if self.locations[v] == Location::Nowhere {
            let slot = self.slot(self.stack);
            self.whole(STORE, register as u8, slot);
            self.locations[v] = Location::Stack(self.stack);
            self.stack += 1;
            self.most = self.most.max(self.stack);
        }
    }

    /// The elements so many bytes behind an address.
    pub(super) fn elements(&self, base: u8, behind: i32, width: usize) -> Source {
        Source::Element { base, scale: width as u8, offset: behind + (self.ahead * width) as i32 }
    }

    /// The location of a value that is not in a register, if an instruction can read it there.
    pub(super) fn in_memory(&self, v: usize) -> Option<Source> {
        match self.locations[v] {
            Location::Elements(base, behind)
                if self.lanes == Lanes::All && self.chain.values[v].dtype != DType::I1 =>
            {
                Some(self.elements(base, behind, self.width))
            }
            Location::Stack(slot) => Some(Source::Stack(self.slot(slot))),
            Location::Literal(literal) => Some(Source::Literal(literal)),
            _ => None,
        }
    }

    /// An operand of the op under way, in a register.
    pub(super) fn register(&mut self, v: usize) -> u8 {
        if let Some(register) = self.held.iter().position(|&held| held == Some(v)) {
            self.locked[register] = true;
            return register as u8;
        }
        let to = self.take();
        match (self.in_memory(v), self.locations[v]) {
            (Some(source), _) => self.load_from(to, source, self.chain.values[v].dtype.bytes() == 8),
            (None, Location::Elements(base, behind)) => {
                let dtype = self.chain.values[v].dtype;
                self.load(to, self.elements(base, behind, dtype.bytes()), dtype);
            }
            (None, Location::Placed(place)) => self.load_placed(to, place, v),
            (None, Location::Lane(slot, behind, bytes)) => self.load_lane(to, slot, behind, bytes, v),
            _ => unreachable!("a value is somewhere"),
        }
        self.held[to as usize] = Some(v);
        to
    }

    /// An operand of op `at` as a last operand: where it is in memory, if no other op will read it.
    pub(super) fn source(&mut self, v: usize, at: usize) -> Source {
        self.memory_operand(v, at).unwrap_or_else(|| Source::Register(self.register(v)))
    }

    /// The place in memory of an operand that is better read there: one that is in no register, and that no
    /// other op will read, or a literal.
    pub(super) fn memory_operand(&self, v: usize, at: usize) -> Option<Source> {
        if !READS_MEMORY || self.held.contains(&Some(v)) {
            return None;
        }
        let once = || self.uses[v].iter().filter(|&&read| read >= at).count() == 1;
        let literal = matches!(self.locations[v], Location::Literal(_));
        if literal || once() {
            self.in_memory(v)
        } else {
            None
        }
    }

    // ---- ops

    /// A register for the result of an op that reads its operands before it writes: one that the op frees,
    /// if it does.
    pub fn result(&mut self, at: usize) -> u8 {
        self.free_after(at);
        for register in 0..self.registers() {
            if self.held[register].is_none() && self.locked[register] {
                return register as u8;
            }
        }
        self.take()
    }

    /// One instruction of two operands.
    pub fn both(&mut self, at: usize, micro: &MicroOp, op: Vector, commutes: bool) -> u8 {
        let (mut x, mut y) = (micro.operands[0], micro.operands[1]);
        if READS_MEMORY && commutes && self.held.contains(&Some(y)) && !self.held.contains(&Some(x)) {
            (x, y) = (y, x);
        }
        let (x, y) = (self.register(x), self.source(y, at));
        let to = self.result(at);
        self.op(op, to, x, y);
        to
    }

    /// One instruction of one operand.
    pub fn one(&mut self, at: usize, micro: &MicroOp, op: Vector) -> u8 {
        let x = self.source(micro.operands[0], at);
        let to = self.result(at);
        self.op(op, to, 0, x);
        to
    }

    /// Whether no op after this one reads a value, so that its register may be overwritten. What a loop carries
    /// stays where it is.
    pub(super) fn dies(&self, v: usize, at: usize) -> bool {
        let is_pinned = self.held[self.registers()..].contains(&Some(v));
        !is_pinned && self.uses[v].last().is_none_or(|&read| read <= at)
    }

    /// Calls the kernel of a function.
    pub(super) fn call(&mut self, at: usize, micro: &MicroOp) -> u8 {
        let is_double = self.width == 8;
        let call = calls::of(micro.op, is_double).expect("a function has a kernel");
        let count = if self.long() { self.vector / self.width } else { 1 };
        let slots: Vec<i32> = (0..=micro.operands.len()).map(|i| self.slot(self.stack + i)).collect();
        self.stack += slots.len();
        self.most = self.most.max(self.stack);
        for (&v, &slot) in micro.operands.iter().zip(&slots) {
            let register = self.register(v);
            self.whole(STORE, register, slot);
        }
        self.free_after(at);
        for register in 0..self.held.len() {
            if self.held[register].is_some() {
                self.spill(register);
            }
        }
        self.locked.fill(false);
        self.most = self.most.max(self.stack + 1);
        let (room, masks) = (self.slot(self.room), self.slot(self.stack));
        self.call_kernel(&call, &call.addresses(&slots), count, room, masks);
        let to = self.take();
        let result = *slots.last().expect("there is one for the result");
        self.load_made(to, result, is_double);
        to
    }

    /// Loads what a kernel has written to a slot: a load of more would wait until that is in the cache.
    pub(super) fn load_made(&mut self, to: u8, slot: i32, is_double: bool) {
        if self.long() {
            self.whole(LOAD, to, slot);
        } else {
            self.load(to, Source::Stack(slot), if is_double { DType::F64 } else { DType::F32 });
        }
    }

    /// Puts a value that is a literal into the pool, booleans as masks.
    pub(super) fn place_literal(&mut self, v: usize, literal: Literal) {
        let mut bytes = literal.to_bytes();
        if literal.dtype() == DType::I1 {
            bytes[0] = 0u8.wrapping_sub(bytes[0]);
        }
        self.locations[v] = Location::Literal(self.pooled(&bytes[..literal.dtype().bytes()]));
    }

    /// The number of a literal that is in every lane.
    pub(super) fn pooled(&mut self, bytes: &[u8]) -> usize {
        self.assembler.literal(std::array::from_fn(|i| bytes[i % bytes.len()]))
    }

    /// A literal in every lane.
    pub(super) fn everywhere(&mut self, bytes: &[u8]) -> Source {
        Source::Literal(self.pooled(bytes))
    }
}
