//! An assembler for the instructions of 64-bit ARM that native code has (Arm Architecture Reference Manual, C4 and
//! C7): words of 32 bits, with the numbers of registers at bits 0, 5 and 16.

use rustc_hash::FxHashMap;

/// An instruction on vectors of 16 bytes, without its registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vector {
    /// Loads or moves a vector.
    Load,
    /// Stores a vector.
    Store,
    /// Of one operand.
    One(u32),
    /// Of two operands.
    Two(u32),
}

impl Vector {
    /// The same on elements of 1, 2, 4 or 8 bytes, if it is on those of one byte.
    pub fn of(self, bytes: usize) -> Vector {
        self.with(bytes.trailing_zeros() << 22)
    }

    /// The same on doubles, if it is on singles.
    pub fn on_doubles(self, are: bool) -> Vector {
        self.with(u32::from(are) << 22)
    }

    fn with(self, bits: u32) -> Vector {
        match self {
            Vector::One(word) => Vector::One(word | bits),
            Vector::Two(word) => Vector::Two(word | bits),
            moves => moves,
        }
    }
}

/// The location of the last operand of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// In a vector register.
    Register(u8),
    /// At `base + index * scale + offset`, where `index` counts elements.
    Element {
        /// Number of a general register.
        base: u8,
        /// 1, 2, 4 or 8.
        scale: u8,
        /// Bytes.
        offset: i32,
    },
    /// At `base + offset`.
    At {
        /// Number of a general register.
        base: u8,
        /// Bytes.
        offset: i32,
    },
    /// On the stack, so many bytes above its pointer.
    Stack(i32),
    /// In the pool of literals, after the code.
    Literal(usize),
}

/// Bytes of a literal: a whole vector.
pub const LITERAL: usize = 16;

/// Whether instructions read operands from memory.
pub const READS_MEMORY: bool = false;

/// Registers for vectors that are allocated: those that no function restores, without the last two. Numbers are
/// those of the processor up to 7, and 8 less behind the ones that functions restore (`v8` to `v15`).
pub const NARROW_REGISTERS: usize = 22;

/// Registers for what a single op needs.
pub const SCRATCH: u8 = 23;
pub const SCRATCH2: u8 = 22;

/// `x0`: the table of arguments.
pub(super) const TABLE: u8 = 0;
/// `x1`: the number of elements.
pub(super) const COUNT: u8 = 1;
/// `x9`: counts elements; addresses are loaded into it before the loops.
pub const INDEX: u8 = 9;
/// Registers for addresses; none needs to be restored.
pub const ADDRESSES: [u8; 11] = [2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13];
/// `x14`: the end of a body; in a loop, where it computes positions.
pub(super) const POSITION: u8 = 14;
/// `x15`: where a loop computes addresses.
pub const COMPUTED: u8 = 15;
/// `x16`: where addresses of instructions are put together.
pub(super) const FAR: u8 = 16;
/// `x17`: where a loop loads addresses that have no register, and where words are changed.
pub const LOADED: u8 = 17;
pub(super) const WORD: u8 = 17;
/// The stack pointer, or zero.
pub(super) const STACK: u8 = 31;
pub(super) const ZERO: u8 = 31;

/// Slots of the stack, of a vector each, for the registers that a call may change.
pub const ROOM: usize = KEPT.len().div_ceil(2);
const KEPT: [u8; 15] = [COUNT, INDEX, POSITION, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, TABLE];

/// Bytes of the stack of a function, at most: Windows makes it longer by a page at a time, as it is touched.
const MAX_STACK: usize = if cfg!(windows) { 3072 } else { 1 << 30 };

// Instructions on general registers, of 8 bytes.
pub(super) const LOAD_WORD: u32 = 0xF940_0000;
pub(super) const STORE_WORD: u32 = 0xF900_0000;
pub(super) const ADD: u32 = 0x8B00_0000;
pub(super) const SUB: u32 = 0xCB00_0000;
/// Sets flags.
pub(super) const SUBTRACT: u32 = 0xEB00_0000;
/// Registers may be the stack pointer.
const ADD_EXTENDED: u32 = 0x8B20_6000;
const SUB_EXTENDED: u32 = 0xCB20_6000;
pub(super) const ADD_NUMBER: u32 = 0x9100_0000;
pub(super) const SUB_NUMBER: u32 = 0xD100_0000;
pub(super) const SUBTRACT_NUMBER: u32 = 0xF100_0000;
pub(super) const MOVE: u32 = 0xAA00_03E0;
pub(super) const JUMP: u32 = 0x1400_0000;
pub(super) const JUMP_IF: u32 = 0x5400_0000;
pub(super) const JUMP_IF_ZERO: u32 = 0xB400_0000;
pub(super) const JUMP_UNLESS_ZERO: u32 = 0xB500_0000;

/// Code that is being written.
#[derive(Default)]
pub struct Assembler {
    code: Vec<u8>,
    /// Literals, each as often as it fills a vector.
    pool: Vec<[u8; LITERAL]>,
    numbers: FxHashMap<[u8; LITERAL], usize>,
    /// Loads of literals: their position, and the literal.
    loads: Vec<(usize, usize)>,
    /// Whether a jump or a load is too far for its instruction, or the stack too deep.
    is_far: bool,
}

/// A jump whose target is not yet known.
pub struct Jump(usize);

/// The processor's number of a vector register.
pub(super) fn number(register: u8) -> u32 {
    u32::from(if register < 8 { register } else { register + 8 })
}

impl Assembler {
    pub(super) fn word(&mut self, x: u32) {
        self.code.extend_from_slice(&x.to_le_bytes());
    }

    /// An instruction on general registers: destination, first operand, second operand.
    pub(super) fn general(&mut self, x: u32, to: u8, first: u8, second: u8) {
        self.word(x | u32::from(second) << 16 | u32::from(first) << 5 | u32::from(to));
    }

    /// One with a number of 12 bits.
    pub(super) fn with_number(&mut self, x: u32, to: u8, first: u8, number: u32) {
        debug_assert!(number < 1 << 12, "a number of 12 bits");
        self.word(x | number << 10 | u32::from(first) << 5 | u32::from(to));
    }

    /// Begins a line of instructions: there are none, decoded ones are not kept.
    pub fn align(&mut self) {}

    /// Position of the next instruction.
    pub fn here(&self) -> usize {
        self.code.len()
    }

    /// The number of a literal in the pool.
    pub fn literal(&mut self, bytes: [u8; LITERAL]) -> usize {
        *self.numbers.entry(bytes).or_insert_with(|| {
            self.pool.push(bytes);
            self.pool.len() - 1
        })
    }

    /// The whole code: instructions, then literals; `None` if something is too far.
    pub fn finish(mut self) -> Option<Vec<u8>> {
        self.code.resize(self.code.len().next_multiple_of(LITERAL), 0);
        let pool = self.code.len();
        for (at, literal) in std::mem::take(&mut self.loads) {
            self.aim(at, pool + LITERAL * literal);
        }
        for literal in &self.pool {
            self.code.extend_from_slice(literal);
        }
        (!self.is_far).then_some(self.code)
    }

    /// Writes the distance of a target into a jump, or a load of a literal.
    fn aim(&mut self, at: usize, target: usize) {
        let distance = (target as i64 - at as i64) / 4;
        let bytes = &mut self.code[at..at + 4];
        let mut word = u32::from_le_bytes(bytes.try_into().expect("of 4 bytes"));
        let (bits, place) = if word & 0xFC00_0000 == JUMP { (26, 0) } else { (19, 5) };
        self.is_far |= !(-1 << (bits - 1)..1 << (bits - 1)).contains(&distance);
        word |= (distance as u32 & ((1 << bits) - 1)) << place;
        bytes.copy_from_slice(&word.to_le_bytes());
    }

    /// A jump to be aimed later.
    pub(super) fn jump(&mut self, x: u32) -> Jump {
        self.word(x);
        Jump(self.here() - 4)
    }

    /// A jump back.
    pub(super) fn back(&mut self, x: u32, target: usize) {
        let Jump(at) = self.jump(x);
        self.aim(at, target);
    }

    /// Sets the target of a jump to this position.
    pub fn land(&mut self, Jump(at): Jump) {
        self.aim(at, self.here());
    }

    // ---- vectors

    /// An instruction: destination, first operand, second operand, which may be in memory. One of one operand
    /// has 0 as the first; one that stores has its operand as the destination.
    pub fn vector(&mut self, x: Vector, to: u8, first: u8, source: Source) {
        match (x, source) {
            (Vector::Load, Source::Register(from)) => self.copy(to, from),
            (Vector::Store, Source::Register(to_other)) => self.copy(to_other, to),
            (Vector::Load, source) => self.load(LITERAL, to, source),
            (Vector::Store, source) => self.store(LITERAL, to, source),
            (Vector::One(word), source) => {
                let from = self.in_register(source);
                self.word(word | number(from) << 5 | number(to));
            }
            (Vector::Two(word), source) => {
                let from = self.in_register(source);
                self.word(word | number(from) << 16 | number(first) << 5 | number(to));
            }
        }
    }

    fn in_register(&mut self, source: Source) -> u8 {
        if let Source::Register(register) = source {
            return register;
        }
        self.load(LITERAL, SCRATCH, source);
        SCRATCH
    }

    fn copy(&mut self, to: u8, from: u8) {
        if to != from {
            // orr to, from, from
            self.word(0x4EA0_1C00 | number(from) << 16 | number(from) << 5 | number(to));
        }
    }

    /// Loads so many bytes, a power of two, into the lower end of a vector; the others become 0.
    pub fn load(&mut self, bytes: usize, to: u8, source: Source) {
        let word = if bytes == 16 { 0x3DC0_0000 } else { 0x3D40_0000 | bytes.trailing_zeros() << 30 };
        self.memory(word, bytes, number(to), source);
    }

    /// Stores so many bytes of the lower end.
    pub fn store(&mut self, bytes: usize, from: u8, source: Source) {
        let word = if bytes == 16 { 0x3D80_0000 } else { 0x3D00_0000 | bytes.trailing_zeros() << 30 };
        self.memory(word, bytes, number(from), source);
    }

    /// A load or store of so many bytes.
    fn memory(&mut self, word: u32, bytes: usize, register: u32, source: Source) {
        match source {
            Source::Register(_) => unreachable!("it is in memory"),
            // The index of elements as it is, if they are loaded one by one, or are bytes.
            Source::Element { base, scale, offset: 0 } if scale == 1 || usize::from(scale) == bytes => {
                let word = unscaled(word) | 0x0020_6800 | u32::from(scale != 1) << 12;
                self.word(word | u32::from(INDEX) << 16 | u32::from(base) << 5 | register);
            }
            Source::Element { base, scale, offset } => {
                self.general(ADD | scale.trailing_zeros() << 10, FAR, base, INDEX);
                self.at(word, bytes, register, FAR, offset);
            }
            Source::At { base, offset } => self.at(word, bytes, register, base, offset),
            Source::Stack(offset) => self.at(word, bytes, register, STACK, offset),
            Source::Literal(literal) => {
                debug_assert!(word == 0x3DC0_0000, "literals are loaded whole");
                let at = self.here();
                self.word(0x9C00_0000 | register);
                self.loads.push((at, literal));
            }
        }
    }

    /// A load or store of so many bytes at `base + offset`.
    pub(super) fn at(&mut self, word: u32, bytes: usize, register: u32, base: u8, offset: i32) {
        let log = bytes.trailing_zeros();
        let place = if offset >= 0 && offset % bytes as i32 == 0 && offset >> log < 1 << 12 {
            word | (offset as u32 >> log) << 10 | u32::from(base) << 5
        } else if (-256..256).contains(&offset) {
            unscaled(word) | (offset as u32 & 0x1FF) << 12 | u32::from(base) << 5
        } else {
            // The base may be there.
            let sum = if base == FAR { WORD } else { FAR };
            self.number(sum, i64::from(offset) as u64);
            self.general(ADD_EXTENDED, sum, base, sum);
            word | u32::from(sum) << 5
        };
        self.word(place | register);
    }

    /// Repeats the element of so many bytes at the address in the register of the index.
    pub fn repeat(&mut self, bytes: usize, to: u8) {
        // ld1r
        self.word(0x4D40_C000 | bytes.trailing_zeros() << 10 | u32::from(INDEX) << 5 | number(to));
    }

    /// Moves the largest 4 bytes of a mask, or the first ones, where [`if_any`](Assembler::if_any) tests them.
    pub fn test(&mut self, mask: u8, first: bool) {
        let mut from = mask;
        if !first {
            // umaxv
            self.word(0x6EB0_A800 | number(mask) << 5 | number(SCRATCH));
            from = SCRATCH;
        }
        // fmov w16, from
        self.word(0x1E26_0000 | number(from) << 5 | u32::from(FAR));
    }

    /// Jumps if the last test of a mask found one that is true.
    pub fn if_any(&mut self) -> Jump {
        // cbnz w16
        self.jump((JUMP_UNLESS_ZERO & !(1 << 31)) | u32::from(FAR))
    }

    /// A float of the integer of 8 bytes that [`long_position`](Assembler::long_position) moved.
    pub fn float(&mut self, to: u8, is_double: bool) {
        // scvtf to, x14
        self.word(0x9E22_0000 | u32::from(is_double) << 22 | u32::from(POSITION) << 5 | number(to));
    }

    // ---- functions

    /// Begins a function of a table of addresses and a number of elements. Returns where the size of its stack
    /// is to be written ([`set_stack`](Assembler::set_stack)).
    pub fn begin(&mut self, _addresses: usize) -> usize {
        // stp x29, x30, [sp, -16]!; mov x29, sp
        self.word(0xA9BF_7BFD);
        self.word(0x9100_03FD);
        let at = self.here();
        // movz x16, size; movk x16, size, lsl 16; sub sp, sp, x16
        self.word(0xD280_0000 | u32::from(FAR));
        self.word(0xF2A0_0000 | u32::from(FAR));
        self.general(SUB_EXTENDED, STACK, STACK, FAR);
        at
    }

    /// The bytes of the stack of a function that [`begin`](Assembler::begin) began there.
    pub fn set_stack(&mut self, at: usize, bytes: usize) {
        self.is_far |= bytes > MAX_STACK;
        let size = bytes.next_multiple_of(16) as u32;
        for (at, half) in [(at, size & 0xFFFF), (at + 4, size >> 16 & 0xFFFF)] {
            let bytes = &mut self.code[at..at + 4];
            let word = u32::from_le_bytes(bytes.try_into().expect("of 4 bytes")) | half << 5;
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// Ends the function.
    pub fn end(&mut self, _addresses: usize) {
        // mov sp, x29; ldp x29, x30, [sp], 16; ret
        self.word(0x9100_03BF);
        self.word(0xA8C1_7BFD);
        self.word(0xD65F_03C0);
    }

    /// Loads an address from the table.
    pub fn address(&mut self, register: u8, argument: usize) {
        self.at(LOAD_WORD, 8, u32::from(register), TABLE, 8 * argument as i32);
    }

    /// Sets a general register.
    pub(super) fn number(&mut self, register: u8, x: u64) {
        let halves = [0, 1, 2, 3].map(|i| (i, (x >> (16 * i)) as u32 & 0xFFFF));
        // movz or movn, then movk
        let (begin, rest) = if x >> 63 == 0 { (0xD280_0000, 0) } else { (0x9280_0000, 0xFFFF) };
        let mut other = halves.into_iter().filter(|&(_, half)| half != rest);
        let (i, half) = other.next().unwrap_or((0, rest));
        self.word(begin | i << 21 | (half ^ rest) << 5 | u32::from(register));
        for (i, half) in other {
            self.word(0xF280_0000 | i << 21 | half << 5 | u32::from(register));
        }
    }

    /// Calls a function of C with an object, the addresses of slots of the stack, and a number. No register
    /// for vectors keeps its value; those of the loop, the table and addresses do, in the slots from `room`
    /// on ([`ROOM`]).
    pub fn call(&mut self, function: usize, object: usize, slots: &[i32], number: usize, room: i32) {
        self.kept(STORE_WORD, room);
        self.number(0, object as u64);
        for (register, &slot) in (1..).zip(slots) {
            self.number(register, i64::from(slot) as u64);
            self.general(ADD_EXTENDED, register, STACK, register);
        }
        self.number(1 + slots.len() as u8, number as u64);
        self.call_at(function);
        self.kept(LOAD_WORD, room);
    }

    pub(super) fn call_at(&mut self, function: usize) {
        self.number(FAR, function as u64);
        // blr x16
        self.word(0xD63F_0000 | u32::from(FAR) << 5);
    }

    /// Stores or loads the registers that a call may change.
    fn kept(&mut self, word: u32, room: i32) {
        for (i, register) in KEPT.into_iter().enumerate() {
            self.at(word, 8, u32::from(register), STACK, room + 8 * i as i32);
        }
    }
}

/// The form of a load or store with a distance in bytes.
fn unscaled(word: u32) -> u32 {
    word & !(1 << 24)
}
