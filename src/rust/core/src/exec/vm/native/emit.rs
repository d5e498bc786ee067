//! From a chain to instructions: which register holds what, and how each step is made of the processor's
//! instructions.
//!
//! A body of the loop begins with no value in a register. Operands are read from memory where they are used
//! for the last time; when registers are needed, the value that is used last of all leaves its own, for the
//! stack if it is nowhere else. Booleans are masks in registers, of lanes as wide as the elements of the
//! chain, and bytes in memory.

use super::assembler::{vector, Assembler, Source, Vector, ADDRESSES, LITERAL};
use super::chain::{Chain, Op, Origin, Step};
use crate::dtype::{dispatch, DType, Element};
use crate::kernels::cast;

/// Bytes of a vector; what is stored past the caches begins at a multiple of it.
pub const VECTOR: usize = LITERAL;

/// Registers for vectors.
const REGISTERS: usize = 16;

const LOAD: Vector = vector(0, 1, 0x10);
const STORE: Vector = vector(0, 1, 0x11);
const STORE_PAST: Vector = vector(0, 1, 0x2B);
const AND: Vector = vector(0, 1, 0x54);
const AND_NOT: Vector = vector(0, 1, 0x55);
const OR: Vector = vector(0, 1, 0x56);
const XOR: Vector = vector(0, 1, 0x57);
/// Floats of integers, of 4 bytes both.
const SINGLES: Vector = vector(0, 1, 0x5B);
/// By the highest bit of each byte of a fourth register.
const BLEND: Vector = vector(1, 3, 0x4C);
const ABSOLUTE_BYTES: Vector = vector(1, 2, 0x1C);
const UPPER_HALF: Vector = vector(1, 3, 0x39);

/// Instructions for elements of 1, 2, 4 and 8 bytes.
type ByWidth = [Option<Vector>; 4];
const SUB: ByWidth =
    [Some(vector(1, 1, 0xF8)), Some(vector(1, 1, 0xF9)), Some(vector(1, 1, 0xFA)), Some(vector(1, 1, 0xFB))];
const ADD: ByWidth =
    [Some(vector(1, 1, 0xFC)), Some(vector(1, 1, 0xFD)), Some(vector(1, 1, 0xFE)), Some(vector(1, 1, 0xD4))];
const MUL: ByWidth = [None, Some(vector(1, 1, 0xD5)), Some(vector(1, 2, 0x40)), None];
const EQ: ByWidth =
    [Some(vector(1, 1, 0x74)), Some(vector(1, 1, 0x75)), Some(vector(1, 1, 0x76)), Some(vector(1, 2, 0x29))];
const GT: ByWidth =
    [Some(vector(1, 1, 0x64)), Some(vector(1, 1, 0x65)), Some(vector(1, 1, 0x66)), Some(vector(1, 2, 0x37))];
const ABS: ByWidth = [Some(ABSOLUTE_BYTES), Some(vector(1, 2, 0x1D)), Some(vector(1, 2, 0x1E)), None];
const MAX: ByWidth = [Some(vector(1, 2, 0x3C)), Some(vector(1, 1, 0xEE)), Some(vector(1, 2, 0x3D)), None];
const MIN: ByWidth = [Some(vector(1, 2, 0x38)), Some(vector(1, 1, 0xEA)), Some(vector(1, 2, 0x39)), None];
const MAX_UNSIGNED: ByWidth =
    [Some(vector(1, 1, 0xDE)), Some(vector(1, 2, 0x3E)), Some(vector(1, 2, 0x3F)), None];
const MIN_UNSIGNED: ByWidth =
    [Some(vector(1, 1, 0xDA)), Some(vector(1, 2, 0x3A)), Some(vector(1, 2, 0x3B)), None];

/// Conditions of comparisons of floats that are false, or true, if an operand is NaN, and raise no exception.
const FLOAT_EQ: u8 = 0x00;
const FLOAT_NE: u8 = 0x04;
const FLOAT_UNORDERED: u8 = 0x03;
const FLOAT_LT: u8 = 0x11;
const FLOAT_LE: u8 = 0x12;
/// Whether an operand is NaN.
const FLOAT_NAN: u8 = 0x03;

/// Ways of rounding a float, without an exception.
const NEAREST: u8 = 8;
const DOWN: u8 = 9;
const UP: u8 = 10;
const TO_ZERO: u8 = 11;

/// Whether there are instructions for an op on operands of this dtype: of the second one of a selection, and
/// of the one that is converted.
pub fn has(op: Op, dtype: DType) -> bool {
    let (float, boolean) = (matches!(dtype, DType::F32 | DType::F64), dtype == DType::I1);
    let integer = is_integer(dtype);
    match op {
        Op::Add | Op::Mul | Op::Max | Op::Min => float || integer || boolean,
        Op::Sub | Op::Negate => float || integer,
        Op::MulNoNan | Op::Div | Op::Sqrt | Op::Floor | Op::Ceiling | Op::Trunc | Op::Round => float,
        Op::Abs => float || is_signed(dtype),
        Op::And | Op::Or | Op::Xor | Op::Not => integer || boolean,
        Op::Eq | Op::Ne | Op::Gt | Op::Ge | Op::Lt | Op::Le => float || integer,
        Op::Select => float || integer,
        Op::Convert(to) => {
            let widens = integer && dtype.bytes() < to.bytes();
            match to {
                DType::F32 => boolean || widens || dtype == DType::I32,
                // Of numbers without a sign the instruction would see one.
                DType::F64 => boolean || widens && dtype != DType::UI32 || dtype == DType::F32,
                to => is_integer(to) && (boolean || widens),
            }
        }
    }
}

fn is_integer(dtype: DType) -> bool {
    is_signed(dtype) || matches!(dtype, DType::UI8 | DType::UI16 | DType::UI32 | DType::UI64)
}

fn is_signed(dtype: DType) -> bool {
    matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64)
}

/// Where a value is in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Home {
    Nowhere,
    /// An element for each of the chain, at the address in that register.
    Elements(u8),
    /// A whole vector on the stack, with that number.
    Stack(usize),
    /// In the pool of literals.
    Literal(usize),
}

/// What is done at one time: a whole vector, or one element, in the first lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lanes {
    All,
    One,
}

struct Emitter<'c> {
    assembler: Assembler,
    chain: &'c Chain,
    /// Bytes of an element.
    width: usize,
    /// For each value, the steps that read it.
    uses: Vec<Vec<usize>>,
    homes: Vec<Home>,
    /// For each output, the register with its address.
    stores: Vec<Option<u8>>,
    /// For each register, the value in it.
    held: [Option<usize>; REGISTERS],
    /// Registers that a step is using.
    locked: [bool; REGISTERS],
    /// Vectors on the stack that are taken for good, now, and at most.
    fixed: usize,
    stack: usize,
    most: usize,
    lanes: Lanes,
    /// Bytes of a value by which a body is ahead of the index, for elements of one byte.
    ahead: usize,
    /// Whether results are stored past the caches that are to be.
    past: bool,
}

/// The code of a chain: a function of a table of addresses and a number of elements. With `past` it is one
/// that stores past the caches what the chain says; all that it writes begins at a whole vector then.
pub fn emit(chain: &Chain, past: bool) -> Vec<u8> {
    let mut uses = vec![vec![]; chain.values.len()];
    for (at, step) in chain.steps.iter().enumerate() {
        step.operands.iter().for_each(|&v| uses[v].push(at));
    }
    let addresses = chain.streams();
    let mut emitter = Emitter {
        assembler: Assembler::default(),
        chain,
        width: chain.width,
        uses,
        homes: vec![Home::Nowhere; chain.values.len()],
        stores: vec![None; chain.values.len()],
        held: [None; REGISTERS],
        locked: [false; REGISTERS],
        fixed: 0,
        stack: 0,
        most: 0,
        lanes: Lanes::All,
        ahead: 0,
        past,
    };
    let frame = emitter.assembler.begin(addresses);
    emitter.prologue();
    emitter.assembler.first();
    let lanes = LITERAL / chain.width;
    for (bodies, step) in [(2, lanes), (1, lanes), (1, 1)] {
        emitter.lanes = if step == 1 { Lanes::One } else { Lanes::All };
        let start = emitter.assembler.here();
        let done = emitter.assembler.unless_left(bodies * step);
        for body in 0..bodies {
            emitter.ahead = body * step;
            emitter.body();
        }
        emitter.assembler.again(start);
        emitter.assembler.land(done);
    }
    emitter.assembler.end(addresses);
    let bytes = LITERAL * emitter.most;
    emitter.assembler.set_stack(frame, bytes);
    emitter.assembler.finish()
}

impl Emitter<'_> {
    /// Loads addresses, and fills vectors with what is the same for all elements.
    fn prologue(&mut self) {
        let (mut argument, mut registers) = (0, ADDRESSES.iter().copied());
        let mut next = || registers.next().expect("a chain has no more streams");
        for v in 0..self.chain.values.len() {
            let value = &self.chain.values[v];
            match value.origin {
                Origin::Step => {}
                Origin::Literal(literal) => {
                    let mut bytes = literal.to_bytes();
                    if value.dtype == DType::I1 {
                        bytes[0] = 0u8.wrapping_sub(bytes[0]);
                    }
                    self.homes[v] = Home::Literal(self.pooled(&bytes[..value.dtype.bytes()]));
                }
                Origin::Elements => {
                    let register = next();
                    self.assembler.address(register, argument);
                    self.homes[v] = Home::Elements(register);
                    argument += 1;
                }
                Origin::Repeated => {
                    const BROADCAST: [u8; 4] = [0x78, 0x79, 0x18, 0x19];
                    self.assembler.address_once(argument);
                    argument += 1;
                    let by = vector(1, 2, BROADCAST[value.dtype.bytes().trailing_zeros() as usize]);
                    self.assembler.vector(by, true, 0, 0, Source::Address, None);
                    if value.dtype == DType::I1 {
                        self.assembler.vector(XOR, true, 1, 1, Source::Register(1), None);
                        self.assembler.vector(
                            SUB[0].expect("of bytes"),
                            true,
                            0,
                            1,
                            Source::Register(0),
                            None,
                        );
                    }
                    self.assembler.vector(
                        STORE,
                        true,
                        0,
                        0,
                        Source::Stack((LITERAL * self.fixed) as i32),
                        None,
                    );
                    self.homes[v] = Home::Stack(self.fixed);
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

    /// All steps, once.
    fn body(&mut self) {
        self.held = [None; REGISTERS];
        self.stack = self.fixed;
        for (v, value) in self.chain.values.iter().enumerate() {
            if value.origin == Origin::Step {
                self.homes[v] = Home::Nowhere;
            }
        }
        for at in 0..self.chain.steps.len() {
            let step = &self.chain.steps[at];
            self.locked = [false; REGISTERS];
            let register = self.step(at, step);
            self.free_after(at);
            if let Some(address) = self.stores[step.result] {
                self.locked[register as usize] = true;
                let past = self.past && self.chain.past.contains(&step.result);
                self.store(register, address, self.chain.values[step.result].dtype, past);
                // What is past the caches is better not read there.
                if self.chain.values[step.result].dtype != DType::I1 && !past {
                    self.homes[step.result] = Home::Elements(address);
                }
            }
            self.held[register as usize] = (!self.uses[step.result].is_empty()).then_some(step.result);
        }
    }

    /// Registers of values that no later step reads are free.
    fn free_after(&mut self, at: usize) {
        for held in &mut self.held {
            if held.is_some_and(|v| self.uses[v].iter().all(|&read| read <= at)) {
                *held = None;
            }
        }
    }

    fn long(&self) -> bool {
        self.lanes == Lanes::All
    }

    fn op(&mut self, x: Vector, to: u8, first: u8, second: Source) {
        let long = self.long();
        self.assembler.vector(x, long, to, first, second, None);
    }

    fn op_with(&mut self, x: Vector, to: u8, first: u8, second: Source, byte: u8) {
        let long = self.long();
        self.assembler.vector(x, long, to, first, second, Some(byte));
    }

    // ---- registers

    /// A register that this step may write.
    fn take(&mut self) -> u8 {
        let free = (0..REGISTERS).find(|&r| self.held[r].is_none() && !self.locked[r]);
        let register = free.unwrap_or_else(|| {
            // A value that the step under way has read is used at least by it: what is used last is left to
            // later.
            let next = |r: &usize| {
                let v = self.held[*r].expect("none is free");
                self.uses[v].iter().copied().max()
            };
            let evicted =
                (0..REGISTERS).filter(|&r| !self.locked[r]).max_by_key(next).expect("a step locks few");
            self.leave(evicted);
            evicted
        });
        self.locked[register] = true;
        register as u8
    }

    /// The value in a register goes to the stack, unless it is in memory.
    fn leave(&mut self, register: usize) {
        let v = self.held[register].take().expect("there is one");
        if self.homes[v] == Home::Nowhere {
            let place = Source::Stack((LITERAL * self.stack) as i32);
            self.assembler.vector(STORE, true, register as u8, 0, place, None);
            self.homes[v] = Home::Stack(self.stack);
            self.stack += 1;
            self.most = self.most.max(self.stack);
        }
    }

    /// The elements at an address.
    fn elements(&self, base: u8, width: usize) -> Source {
        Source::Element { base, scale: width as u8, offset: (self.ahead * width) as i32 }
    }

    /// Where a value is that is not in a register, if an instruction can read it there.
    fn in_memory(&self, v: usize) -> Option<Source> {
        match self.homes[v] {
            Home::Elements(base) if self.long() && self.chain.values[v].dtype != DType::I1 => {
                Some(self.elements(base, self.width))
            }
            Home::Stack(place) => Some(Source::Stack((LITERAL * place) as i32)),
            Home::Literal(literal) => Some(Source::Literal(literal)),
            _ => None,
        }
    }

    /// An operand of the step under way, in a register.
    fn register(&mut self, v: usize) -> u8 {
        if let Some(register) = self.held.iter().position(|&held| held == Some(v)) {
            self.locked[register] = true;
            return register as u8;
        }
        let to = self.take();
        match (self.in_memory(v), self.homes[v]) {
            (Some(source), _) => self.op(LOAD, to, 0, source),
            (None, Home::Elements(base)) => self.load(to, base, self.chain.values[v].dtype),
            _ => unreachable!("a value is somewhere"),
        }
        self.held[to as usize] = Some(v);
        to
    }

    /// An operand of step `at` as a last operand: where it is in memory, if no other step will read it.
    fn source(&mut self, v: usize, at: usize) -> Source {
        let once = self.uses[v].iter().filter(|&&read| read >= at).count() == 1;
        if once && !self.held.contains(&Some(v)) {
            if let Some(source) = self.in_memory(v) {
                return source;
            }
        }
        Source::Register(self.register(v))
    }

    /// Loads elements that no instruction reads as they are.
    fn load(&mut self, to: u8, base: u8, dtype: DType) {
        let source = self.elements(base, dtype.bytes());
        if dtype == DType::I1 {
            let zero = self.take();
            self.op(XOR, zero, zero, Source::Register(zero));
            if !self.long() {
                self.assembler.vector(vector(1, 3, 0x20), false, to, zero, source, Some(0));
            } else {
                // Bytes as elements of 2, 4 and 8 bytes.
                const EXTEND: [Vector; 4] =
                    [LOAD, vector(1, 2, 0x30), vector(1, 2, 0x31), vector(1, 2, 0x32)];
                self.op(EXTEND[self.size()], to, 0, source);
            }
            self.op(self.sub(), to, zero, Source::Register(to));
            self.locked[zero as usize] = false;
            return;
        }
        match dtype.bytes() {
            1 => self.assembler.vector(vector(1, 3, 0x20), false, to, to, source, Some(0)),
            2 => self.assembler.vector(vector(1, 1, 0xC4), false, to, to, source, Some(0)),
            4 => self.assembler.vector(vector(1, 1, 0x6E), false, to, 0, source, None),
            _ => self.assembler.vector(vector(2, 1, 0x7E), false, to, 0, source, None),
        }
    }

    fn store(&mut self, from: u8, base: u8, dtype: DType, past: bool) {
        let place = self.elements(base, dtype.bytes());
        if dtype == DType::I1 {
            return self.store_mask(from, place);
        }
        if self.long() {
            return self.op(if past { STORE_PAST } else { STORE }, from, 0, place);
        }
        match dtype.bytes() {
            1 => self.assembler.vector(vector(1, 3, 0x14), false, from, 0, place, Some(0)),
            2 => self.assembler.vector(vector(1, 3, 0x15), false, from, 0, place, Some(0)),
            4 => self.assembler.vector(vector(1, 1, 0x7E), false, from, 0, place, None),
            _ => self.assembler.vector(vector(1, 1, 0xD6), false, from, 0, place, None),
        }
    }

    /// Stores a mask as bytes that are 0 or 1.
    fn store_mask(&mut self, from: u8, place: Source) {
        const PACK_WORDS: Vector = vector(1, 1, 0x63);
        const PACK_DOUBLE_WORDS: Vector = vector(1, 1, 0x6B);
        let to = self.take();
        let own = Source::Register(to);
        if !self.long() || self.width == 1 {
            self.op(ABSOLUTE_BYTES, to, 0, Source::Register(from));
            match self.long() {
                true => self.op(STORE, to, 0, place),
                false => self.assembler.vector(vector(1, 3, 0x14), false, to, 0, place, Some(0)),
            }
        } else {
            // The upper half beside the lower one, each narrowed until it is of bytes.
            self.assembler.vector(UPPER_HALF, true, from, 0, own, Some(1));
            let mut halves = from;
            if self.width == 8 {
                // The even parts of 4 bytes.
                self.assembler.vector(vector(0, 1, 0xC6), false, to, halves, own, Some(0x88));
                halves = to;
            }
            if self.width >= 4 {
                self.assembler.vector(PACK_DOUBLE_WORDS, false, to, halves, own, None);
                halves = to;
            }
            self.assembler.vector(PACK_WORDS, false, to, halves, own, None);
            self.assembler.vector(ABSOLUTE_BYTES, false, to, 0, own, None);
            match self.width {
                2 => self.assembler.vector(STORE, false, to, 0, place, None),
                4 => self.assembler.vector(vector(1, 1, 0xD6), false, to, 0, place, None),
                _ => self.assembler.vector(vector(1, 1, 0x7E), false, to, 0, place, None),
            }
        }
        self.locked[to as usize] = false;
    }

    /// Elements of a narrower dtype, from memory, as elements of the chain.
    fn widened(&mut self, v: usize, from: DType, dtype: DType) -> u8 {
        let Home::Elements(base) = self.homes[v] else {
            unreachable!("narrower values are read from memory")
        };
        let to = self.take();
        let mut source = self.elements(base, from.bytes());
        if !self.long() {
            self.load(to, base, from);
            source = Source::Register(to);
        }
        let float = matches!(dtype, DType::F32 | DType::F64);
        // Floats are made of integers of 4 bytes, for doubles half as many.
        let width = if float { 4 } else { self.width };
        let long = self.long() && width == self.width;
        if from != DType::F32 && from.bytes() < width {
            let by = match (from.bytes(), width) {
                (1, 2) => 0,
                (1, 4) => 1,
                (1, _) => 2,
                (2, 4) => 3,
                (2, _) => 4,
                _ => 5,
            };
            let extend = vector(1, 2, if is_signed(from) { 0x20 } else { 0x30 } + by);
            self.assembler.vector(extend, long, to, 0, source, None);
            source = Source::Register(to);
        }
        match (from, dtype) {
            (DType::F32, _) => self.op(vector(0, 1, 0x5A), to, 0, source),
            (_, DType::F64) => self.op(vector(2, 1, 0xE6), to, 0, source),
            (_, DType::F32) => self.op(SINGLES, to, 0, source),
            _ => {}
        }
        to
    }

    // ---- steps

    /// Which of [`ByWidth`] is of the elements.
    fn size(&self) -> usize {
        self.width.trailing_zeros() as usize
    }

    fn sub(&self) -> Vector {
        SUB[self.size()].expect("of every width")
    }

    /// The number of a literal that is in every lane.
    fn pooled(&mut self, bytes: &[u8]) -> usize {
        self.assembler.literal(std::array::from_fn(|i| bytes[i % bytes.len()]))
    }

    /// A literal in every lane.
    fn everywhere(&mut self, bytes: &[u8]) -> Source {
        Source::Literal(self.pooled(bytes))
    }

    /// The sign bit of the elements.
    fn sign(&mut self) -> Source {
        let mut bytes = vec![0; self.width];
        bytes[self.width - 1] = 0x80;
        self.everywhere(&bytes)
    }

    /// Makes the result of a step; returns its register.
    fn step(&mut self, at: usize, step: &Step) -> u8 {
        let dtype = self.chain.values[*step.operands.last().expect("a step has operands")].dtype;
        let float = matches!(dtype, DType::F32 | DType::F64);
        let operand = |i: usize| step.operands[i];
        // Of floats the bit W says nothing, and the prefix which of the two they are.
        let prefix = u8::from(dtype == DType::F64);
        let size = self.size();
        match step.op {
            Op::Add if float => self.both(at, step, vector(prefix, 1, 0x58), true),
            Op::Mul if float => self.both(at, step, vector(prefix, 1, 0x59), true),
            Op::Sub if float => self.both(at, step, vector(prefix, 1, 0x5C), false),
            Op::Div => self.both(at, step, vector(prefix, 1, 0x5E), false),
            Op::MulNoNan => {
                let (x, y) = (self.register(operand(0)), self.register(operand(1)));
                let (to, mask) = (self.take(), self.take());
                self.op(vector(prefix, 1, 0x59), to, x, Source::Register(y));
                let zero = self.everywhere(&[0]);
                self.op_with(vector(prefix, 1, 0xC2), mask, y, zero, FLOAT_EQ);
                let nan = self.take();
                self.op_with(vector(prefix, 1, 0xC2), nan, to, Source::Register(to), FLOAT_UNORDERED);
                self.op(AND, mask, mask, Source::Register(nan));
                self.op_with(BLEND, to, to, Source::Register(y), mask << 4);
                to
            }
            Op::Sqrt => {
                let (x, to, mask) = (self.register(operand(0)), self.take(), self.take());
                self.op(vector(prefix, 1, 0x51), to, 0, Source::Register(x));
                let (compare, zero) = (vector(prefix, 1, 0xC2), self.everywhere(&[0]));
                let nan = if prefix == 1 {
                    self.everywhere(&f64::NAN.to_le_bytes())
                } else {
                    self.everywhere(&f32::NAN.to_le_bytes())
                };
                self.op_with(compare, mask, x, zero, FLOAT_LT);
                self.op_with(BLEND, to, to, nan, mask << 4);
                to
            }
            Op::Add | Op::Max | Op::Or if dtype == DType::I1 => self.both(at, step, OR, true),
            Op::Mul | Op::Min | Op::And if dtype == DType::I1 => self.both(at, step, AND, true),
            Op::And => self.both(at, step, AND, true),
            Op::Or => self.both(at, step, OR, true),
            Op::Xor => self.both(at, step, XOR, true),
            Op::Add => self.both(at, step, ADD[size].expect("of every width"), true),
            Op::Sub => self.both(at, step, self.sub(), false),
            Op::Mul => match MUL[size] {
                Some(mul) => self.both(at, step, mul, true),
                None if size == 0 => self.byte_product(operand(0), operand(1)),
                None => self.long_product(operand(0), operand(1)),
            },
            Op::Max | Op::Min if float => self.extreme(operand(0), operand(1), step.op == Op::Max, prefix),
            Op::Max | Op::Min => self.integer_extreme(at, step, is_signed(dtype)),
            Op::Eq | Op::Ne | Op::Gt | Op::Ge | Op::Lt | Op::Le if float => {
                let (condition, first, second) = match step.op {
                    Op::Eq => (FLOAT_EQ, 0, 1),
                    Op::Ne => (FLOAT_NE, 0, 1),
                    Op::Lt => (FLOAT_LT, 0, 1),
                    Op::Le => (FLOAT_LE, 0, 1),
                    Op::Gt => (FLOAT_LT, 1, 0),
                    _ => (FLOAT_LE, 1, 0),
                };
                let (x, y) = (self.register(operand(first)), self.source(operand(second), at));
                let to = self.result(at);
                self.op_with(vector(prefix, 1, 0xC2), to, x, y, condition);
                to
            }
            Op::Eq | Op::Ne => {
                let to = self.both(at, step, EQ[size].expect("of every width"), true);
                if step.op == Op::Ne {
                    self.inverse(to)
                } else {
                    to
                }
            }
            Op::Gt => self.greater(operand(0), operand(1), is_signed(dtype)),
            Op::Lt => self.greater(operand(1), operand(0), is_signed(dtype)),
            Op::Le | Op::Ge => {
                let (x, y) = if step.op == Op::Le { (0, 1) } else { (1, 0) };
                let to = self.greater(operand(x), operand(y), is_signed(dtype));
                self.inverse(to)
            }
            Op::Not => {
                let x = self.register(operand(0));
                let (to, ones) = (self.result(at), self.everywhere(&[0xFF]));
                self.op(XOR, to, x, ones);
                to
            }
            Op::Negate if float => {
                let x = self.register(operand(0));
                let (to, sign) = (self.result(at), self.sign());
                self.op(XOR, to, x, sign);
                to
            }
            Op::Negate => {
                let (x, to) = (self.register(operand(0)), self.take());
                self.op(XOR, to, to, Source::Register(to));
                self.op(self.sub(), to, to, Source::Register(x));
                to
            }
            Op::Abs if float => {
                let (sign, to) = (self.sign(), self.take());
                self.op(LOAD, to, 0, sign);
                let x = self.source(operand(0), at);
                self.op(AND_NOT, to, to, x);
                to
            }
            Op::Abs => match ABS[size] {
                Some(abs) => {
                    let x = self.source(operand(0), at);
                    let to = self.result(at);
                    self.op(abs, to, 0, x);
                    to
                }
                None => {
                    // All ones where it is negative; then x is inverted there, and one more.
                    let (x, mask, to) = (self.register(operand(0)), self.take(), self.take());
                    self.op(XOR, mask, mask, Source::Register(mask));
                    self.op(GT[size].expect("of every width"), mask, mask, Source::Register(x));
                    self.op(XOR, to, x, Source::Register(mask));
                    self.op(self.sub(), to, to, Source::Register(mask));
                    to
                }
            },
            Op::Floor => self.round(at, step, DOWN, prefix),
            Op::Ceiling => self.round(at, step, UP, prefix),
            Op::Trunc => self.round(at, step, TO_ZERO, prefix),
            Op::Round => self.round(at, step, NEAREST, prefix),
            Op::Select => {
                let (mask, other) = (self.register(operand(0)), self.register(operand(2)));
                let x = self.source(operand(1), at);
                let to = self.result(at);
                self.op_with(BLEND, to, other, x, mask << 4);
                to
            }
            Op::Convert(to) if dtype == DType::I1 => {
                let one = dispatch!(to, T => cast::bytes(&[<T as Element>::from_bool(true)]).to_vec());
                let x = self.register(operand(0));
                let (to, one) = (self.result(at), self.everywhere(&one));
                self.op(AND, to, x, one);
                to
            }
            Op::Convert(_) if dtype == DType::I32 && self.width == 4 => {
                let x = self.source(operand(0), at);
                let to = self.result(at);
                self.op(SINGLES, to, 0, x);
                to
            }
            Op::Convert(to) => self.widened(operand(0), dtype, to),
        }
    }

    /// A register for the result of an op that reads its operands before it writes: one that the step frees,
    /// if it does.
    fn result(&mut self, at: usize) -> u8 {
        self.free_after(at);
        for register in 0..REGISTERS {
            if self.held[register].is_none() && self.locked[register] {
                return register as u8;
            }
        }
        self.take()
    }

    /// One instruction of two operands.
    fn both(&mut self, at: usize, step: &Step, op: Vector, commutes: bool) -> u8 {
        let (mut x, mut y) = (step.operands[0], step.operands[1]);
        if commutes && self.held.contains(&Some(y)) && !self.held.contains(&Some(x)) {
            (x, y) = (y, x);
        }
        let (x, y) = (self.register(x), self.source(y, at));
        let to = self.result(at);
        self.op(op, to, x, y);
        to
    }

    fn round(&mut self, at: usize, step: &Step, way: u8, prefix: u8) -> u8 {
        let x = self.source(step.operands[0], at);
        let to = self.result(at);
        self.op_with(vector(1, 3, 0x08 + prefix), to, 0, x, way);
        to
    }

    fn inverse(&mut self, to: u8) -> u8 {
        let ones = self.everywhere(&[0xFF]);
        self.op(XOR, to, to, ones);
        to
    }

    /// The larger or smaller of two floats. The instruction gives its second operand if they are equal or one
    /// is NaN: done both ways, zeros of both signs are told apart by their bits, and a NaN is put in its
    /// place, the first one's first.
    fn extreme(&mut self, x: usize, y: usize, larger: bool, prefix: u8) -> u8 {
        let (x, y) = (self.register(x), self.register(y));
        let (to, other) = (self.take(), self.take());
        let (op, joined) =
            if larger { (vector(prefix, 1, 0x5F), AND) } else { (vector(prefix, 1, 0x5D), OR) };
        let compare = vector(prefix, 1, 0xC2);
        self.op(op, to, x, Source::Register(y));
        self.op(op, other, y, Source::Register(x));
        self.op(joined, to, to, Source::Register(other));
        for z in [y, x] {
            self.op_with(compare, other, z, Source::Register(z), FLOAT_NAN);
            self.op_with(BLEND, to, to, Source::Register(z), other << 4);
        }
        to
    }

    fn integer_extreme(&mut self, at: usize, step: &Step, signed: bool) -> u8 {
        let table = match (step.op == Op::Max, signed) {
            (true, true) => MAX,
            (false, true) => MIN,
            (true, false) => MAX_UNSIGNED,
            (false, false) => MIN_UNSIGNED,
        };
        if let Some(op) = table[self.size()] {
            return self.both(at, step, op, true);
        }
        let (x, y) = (step.operands[0], step.operands[1]);
        let (x, y) = if step.op == Op::Max { (x, y) } else { (y, x) };
        let mask = self.greater(x, y, signed);
        let (first, second) = (self.register(step.operands[0]), self.register(step.operands[1]));
        self.op_with(BLEND, mask, second, Source::Register(first), mask << 4);
        mask
    }

    /// Where an integer is greater than another.
    fn greater(&mut self, x: usize, y: usize, signed: bool) -> u8 {
        let op = GT[self.size()].expect("of every width");
        let (x, y, to) = (self.register(x), self.register(y), self.take());
        if signed {
            self.op(op, to, x, Source::Register(y));
        } else {
            // In the order of signed numbers the upper half comes first.
            let (sign, other) = (self.sign(), self.take());
            self.op(XOR, to, x, sign);
            self.op(XOR, other, y, sign);
            self.op(op, to, to, Source::Register(other));
        }
        to
    }

    /// Shifts by an amount: `/2` to the right, `/6` to the left, of elements of 2 (`0x71`) or 8 bytes
    /// (`0x73`).
    fn shift(&mut self, opcode: u8, left: bool, to: u8, from: u8, by: u8) {
        self.op_with(vector(1, 1, opcode), if left { 6 } else { 2 }, to, Source::Register(from), by);
    }

    /// Products of integers of 64 bits, from those of their halves.
    fn long_product(&mut self, x: usize, y: usize) -> u8 {
        const HALVES: Vector = vector(1, 1, 0xF4);
        let (x, y) = (self.register(x), self.register(y));
        let (to, other) = (self.take(), self.take());
        let add = ADD[3].expect("of every width");
        self.shift(0x73, false, to, x, 32);
        self.op(HALVES, to, to, Source::Register(y));
        self.shift(0x73, false, other, y, 32);
        self.op(HALVES, other, other, Source::Register(x));
        self.op(add, to, to, Source::Register(other));
        self.shift(0x73, true, to, to, 32);
        self.op(HALVES, other, x, Source::Register(y));
        self.op(add, to, to, Source::Register(other));
        to
    }

    /// Products of bytes, from those of the lower and the upper ones of pairs.
    fn byte_product(&mut self, x: usize, y: usize) -> u8 {
        let mul = MUL[1].expect("of 2 bytes");
        let (x, y) = (self.register(x), self.register(y));
        let (to, other) = (self.take(), self.take());
        self.shift(0x71, false, to, x, 8);
        self.shift(0x71, false, other, y, 8);
        self.op(mul, to, to, Source::Register(other));
        self.shift(0x71, true, to, to, 8);
        self.op(mul, other, x, Source::Register(y));
        let lower = self.everywhere(&[0xFF, 0]);
        self.op(AND, other, other, lower);
        self.op(OR, to, to, Source::Register(other));
        to
    }
}
