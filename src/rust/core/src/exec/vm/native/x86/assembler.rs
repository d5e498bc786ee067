//! An assembler for the x86-64 instructions of native code. Vector instructions are encoded with the
//! three-byte prefix of AVX (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, section
//! 2.3): the second operand is never the destination's, and memory needs no alignment.

use rustc_hash::FxHashMap;

/// An instruction on vectors: its prefix, its table of opcodes, the bit W, the opcode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vector {
    prefix: u8,
    table: u8,
    wide: bool,
    opcode: u8,
}

/// An instruction without a prefix (`NP`), or with `66`, `F3`, `F2`: 0 to 3; of table `0F`, `0F38`, `0F3A`: 1
/// to 3.
pub const fn vector(prefix: u8, table: u8, opcode: u8) -> Vector {
    Vector { prefix, table, wide: false, opcode }
}

impl Vector {
    /// The same with this bit W.
    pub fn with(self, wide: bool) -> Vector {
        Vector { wide, ..self }
    }
}

/// As [`vector`], with the bit W.
pub const fn vector_wide(prefix: u8, table: u8, wide: bool, opcode: u8) -> Vector {
    Vector { prefix, table, wide, opcode }
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
    /// At the address in the register of the index.
    Address,
    /// In the pool of literals, after the code.
    Literal(usize),
}

/// The lanes of an instruction on vectors of 512 bits.
#[derive(Clone, Copy, Default)]
pub struct Mask {
    /// The mask register; 0 for all lanes.
    pub register: u8,
    /// Whether other lanes become 0.
    pub zero: bool,
    /// Whether the instruction itself repeats the literal that it reads.
    pub whole: bool,
}

/// Bytes of a literal: a whole vector.
pub const LITERAL: usize = 32;

/// Bytes of a line of the cache of decoded instructions, at most.
const LINE: usize = 64;

/// The register that counts elements (`rax`); addresses are loaded into it before the loops.
pub const INDEX: u8 = 0;
/// `rsi`: the number of elements.
pub(super) const COUNT: u8 = 6;
/// `rdi`: first the table of arguments, then the end of a body.
pub(super) const TABLE: u8 = 7;
/// Registers for addresses: rcx, rdx, r8 to r11, which a function may change, then rbx, r12 to r15, which it
/// restores.
pub const ADDRESSES: [u8; 11] = [1, 2, 8, 9, 10, 11, 3, 12, 13, 14, 15];
/// Those that need not be restored.
const FREE: usize = 6;
/// `r14`: where a loop computes positions.
pub(super) const POSITION: u8 = 14;
/// `r13`: where it computes addresses.
pub const COMPUTED: u8 = 13;
/// `r15`: where it loads addresses that have no register.
pub const LOADED: u8 = 15;

/// Bytes of the stack of a function, at most: Windows makes it longer by a page at a time, as it is touched.
const MAX_STACK: usize = if cfg!(windows) { 3072 } else { 1 << 30 };

/// Whether instructions read operands from memory.
pub const READS_MEMORY: bool = true;

/// Registers for vectors of the size of a literal.
pub const NARROW_REGISTERS: usize = 16;

/// Slots of the stack, of a vector each, for the registers that a call may change.
pub const ROOM: usize = 3;

/// Code that is being written.
#[derive(Default)]
pub struct Assembler {
    code: Vec<u8>,
    /// Literals, each as often as it fills a vector.
    pool: Vec<[u8; LITERAL]>,
    numbers: FxHashMap<[u8; LITERAL], usize>,
    /// Relocations of literals: the position of the distance, the literal, and the position that it is
    /// relative to.
    distances: Vec<(usize, usize, usize)>,
    /// Whether the stack takes more than the system has there.
    is_deep: bool,
}

/// A jump whose target is not yet known.
pub struct Jump(pub(super) usize);

impl Assembler {
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.code.extend_from_slice(bytes);
    }

    pub(super) fn word(&mut self, x: i32) {
        self.bytes(&x.to_le_bytes());
    }

    /// Position of the next instruction.
    pub fn here(&self) -> usize {
        self.code.len()
    }

    /// Goes on at the next line of the cache of decoded instructions: what is a few of these takes a fifth less
    /// time if it begins there.
    pub fn align(&mut self) {
        // nop word [rax + rax], of 6 bytes and of 9 bytes; nop
        const SIX: [u8; 6] = [0x66, 0x0F, 0x1F, 0x44, 0, 0];
        const NINE: [u8; 9] = [0x66, 0x0F, 0x1F, 0x84, 0, 0, 0, 0, 0];
        let mut left = self.here().next_multiple_of(LINE) - self.here();
        while left > 0 {
            let nop: &[u8] = match left {
                9.. => &NINE,
                6.. => &SIX,
                _ => &[0x90],
            };
            self.bytes(nop);
            left -= nop.len();
        }
    }

    /// The number of a literal in the pool.
    pub fn literal(&mut self, bytes: [u8; LITERAL]) -> usize {
        *self.numbers.entry(bytes).or_insert_with(|| {
            self.pool.push(bytes);
            self.pool.len() - 1
        })
    }

    /// The whole code: instructions, then literals; `None` if its stack is too deep ([`MAX_STACK`]).
    pub fn finish(mut self) -> Option<Vec<u8>> {
        self.code.resize(self.code.len().next_multiple_of(LITERAL), 0xCC);
        let pool = self.code.len();
        for (at, literal, from) in std::mem::take(&mut self.distances) {
            let distance = (pool + LITERAL * literal - from) as i32;
            self.code[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        for literal in &self.pool {
            self.code.extend_from_slice(literal);
        }
        // Lines of the code that follows are those of memory.
        self.code.resize(self.code.len().next_multiple_of(LINE), 0xCC);
        (!self.is_deep).then_some(self.code)
    }

    /// An instruction with vectors of 256 bits if `long`, else of 128: destination, first operand, second
    /// operand, and a constant byte. An instruction of one operand has 0 as the first; one that stores has
    /// its operand as the destination.
    pub fn vector(&mut self, x: Vector, long: bool, to: u8, first: u8, source: Source, byte: Option<u8>) {
        let base = match source {
            Source::Register(register) => register,
            Source::Element { base, .. } | Source::At { base, .. } => base,
            Source::Stack(_) | Source::Address | Source::Literal(_) => 0,
        };
        // Numbers of registers are written in complement.
        self.bytes(&[
            0xC4,
            u8::from(to < 8) << 7 | 1 << 6 | u8::from(base < 8) << 5 | x.table,
            u8::from(x.wide) << 7 | (!first & 15) << 3 | u8::from(long) << 2 | x.prefix,
            x.opcode,
        ]);
        self.place(to, source, byte);
    }

    /// As [`vector`](Assembler::vector), on vectors of 512 bits, with the four-byte prefix of AVX-512 (section
    /// 2.7): for the lanes of a mask, if it is not 0, others being zero or from the destination; a literal is
    /// one element for all lanes, of 8 bytes if the instruction has the bit W, else 4.
    pub fn wide(&mut self, x: Vector, to: u8, first: u8, source: Source, byte: Option<u8>, mask: Mask) {
        let (base, extension) = match source {
            Source::Register(register) => (register, register >= 16),
            Source::Element { base, .. } | Source::At { base, .. } => (base, false),
            Source::Stack(_) | Source::Address | Source::Literal(_) => (0, false),
        };
        let repeated = matches!(source, Source::Literal(_)) && !mask.whole;
        let absent = |bit: bool| u8::from(!bit);
        self.bytes(&[
            0x62,
            absent(to & 8 != 0) << 7
                | absent(extension) << 6
                | absent(base & 8 != 0) << 5
                | absent(to & 16 != 0) << 4
                | x.table,
            u8::from(x.wide) << 7 | (!first & 15) << 3 | 1 << 2 | x.prefix,
            u8::from(mask.zero) << 7
                | 2 << 5
                | u8::from(repeated) << 4
                | absent(first & 16 != 0) << 3
                | mask.register,
            x.opcode,
        ]);
        self.place(to, source, byte);
    }

    /// The end of an instruction: where its operands are, and a constant byte.
    fn place(&mut self, to: u8, source: Source, byte: Option<u8>) {
        let to = (to & 7) << 3;
        match source {
            Source::Register(register) => self.bytes(&[0xC0 | to | (register & 7)]),
            Source::Element { base, scale, offset } => {
                self.bytes(&[0x84 | to, (scale.trailing_zeros() as u8) << 6 | INDEX << 3 | (base & 7)]);
                self.word(offset);
            }
            Source::At { base, offset } => {
                self.bytes(&[0x84 | to, 0x20 | (base & 7)]);
                self.word(offset);
            }
            Source::Stack(offset) => {
                self.bytes(&[0x84 | to, 0x24]);
                self.word(offset);
            }
            Source::Address => self.bytes(&[to | INDEX]),
            Source::Literal(literal) => {
                self.bytes(&[0x05 | to]);
                let at = self.here();
                self.word(0);
                self.distances.push((at, literal, at + 4 + usize::from(byte.is_some())));
            }
        }
        if let Some(byte) = byte {
            self.bytes(&[byte]);
        }
    }

    /// Begins a function of a table of addresses and a number of elements, with so many registers for
    /// addresses. Returns where the size of its stack is to be written ([`set_stack`](Assembler::set_stack)).
    pub fn begin(&mut self, addresses: usize) -> usize {
        // push rbp; mov rbp, rsp
        self.bytes(&[0x55, 0x48, 0x89, 0xE5]);
        for &register in ADDRESSES.iter().take(addresses).skip(FREE) {
            self.push_or_pop(0x50, register);
        }
        // sub rsp, size
        self.bytes(&[0x48, 0x81, 0xEC]);
        let at = self.here();
        self.word(0);
        // and rsp, -64: vectors there are aligned.
        self.bytes(&[0x48, 0x83, 0xE4, 0xC0]);
        at
    }

    /// The bytes of the stack of a function that [`begin`](Assembler::begin) began there.
    pub fn set_stack(&mut self, at: usize, bytes: usize) {
        // Alignment takes up to 63.
        self.is_deep |= bytes > MAX_STACK;
        self.code[at..at + 4].copy_from_slice(&((bytes + 64) as i32).to_le_bytes());
    }

    /// Ends the function.
    pub fn end(&mut self, addresses: usize) {
        let saved: Vec<u8> = ADDRESSES.iter().copied().take(addresses).skip(FREE).collect();
        // vzeroupper; lea rsp, [rbp - 8 * saved]
        self.bytes(&[0xC5, 0xF8, 0x77, 0x48, 0x8D, 0x65, (-8 * saved.len() as i8) as u8]);
        for &register in saved.iter().rev() {
            self.push_or_pop(0x58, register);
        }
        // pop rbp; ret
        self.bytes(&[0x5D, 0xC3]);
    }

    fn push_or_pop(&mut self, opcode: u8, register: u8) {
        if register >= 8 {
            self.bytes(&[0x41]);
        }
        self.bytes(&[opcode | (register & 7)]);
    }

    /// Loads an address from the table.
    pub fn address(&mut self, register: u8, argument: usize) {
        // mov register, [rdi + 8 * argument]
        self.bytes(&[0x48 | u8::from(register >= 8) << 2, 0x8B, 0x80 | (register & 7) << 3 | TABLE]);
        self.word(8 * argument as i32);
    }

    // ---- runs: their words are on the stack

    /// `opcode register, [rsp + offset]`, of 8 bytes; some have a number in place of a register.
    fn on_stack(&mut self, opcode: u8, register: u8, offset: i32) {
        self.bytes(&[0x48 | u8::from(register >= 8) << 2, opcode, 0x84 | (register & 7) << 3, 0x24]);
        self.word(offset);
    }

    /// Stores a general register in a word.
    pub fn keep(&mut self, register: u8, word: i32) {
        self.on_stack(0x89, register, word);
    }

    /// Loads it.
    pub fn kept_word(&mut self, register: u8, word: i32) {
        self.on_stack(0x8B, register, word);
    }

    /// Sets the index to the first element of a run, and `rsi` to its end, or to that of the elements that are
    /// left.
    pub fn run(&mut self, first: i32, left: i32, len: i32) {
        self.kept_word(INDEX, first);
        self.kept_word(COUNT, left);
        // add rsi, rax; mov edi, len; cmp rsi, rdi; cmova rsi, rdi
        self.bytes(&[0x48, 0x01, 0xC6, 0xBF]);
        self.word(len);
        self.bytes(&[0x48, 0x39, 0xFE, 0x48, 0x0F, 0x47, 0xF7]);
    }

    /// Counts the elements of a run that ends at `rsi`, and jumps if none are left; the next run's first
    /// element is its first.
    pub fn end_run(&mut self, first: i32, left: i32) -> Jump {
        // sub rsi, [first]; sub [left], rsi
        self.on_stack(0x2B, COUNT, first);
        self.on_stack(0x29, COUNT, left);
        // jz
        self.bytes(&[0x0F, 0x84]);
        self.word(0);
        let done = Jump(self.here());
        self.set_word(first, 0);
        done
    }

    /// Sets a word.
    pub fn set_word(&mut self, word: i32, x: i32) {
        // mov qword [word], x
        self.on_stack(0xC7, 0, word);
        self.word(x);
    }

    /// Counts an index of an axis, and jumps if it was the last.
    pub fn last_index(&mut self, word: i32) -> Jump {
        // dec qword [word]; jz
        self.on_stack(0xFF, 1, word);
        self.bytes(&[0x0F, 0x84]);
        self.word(0);
        Jump(self.here())
    }

    /// Adds a number to the address in a register.
    pub fn move_address(&mut self, register: u8, by: i32) {
        // add register, by
        self.bytes(&[0x48 | u8::from(register >= 8), 0x81, 0xC0 | (register & 7)]);
        self.word(by);
    }

    /// Adds a number to a word.
    pub fn move_word(&mut self, word: i32, by: i32) {
        // add qword [word], by
        self.on_stack(0x81, 0, word);
        self.word(by);
    }

    /// Jumps if an element's address is a multiple of so many bytes.
    pub fn if_aligned(&mut self, base: u8, width: usize, bytes: usize) -> Jump {
        // lea rdi, [base + rax * width]; test edi, bytes - 1; jz
        self.bytes(&[0x48 | u8::from(base >= 8), 0x8D]);
        self.place(TABLE, Source::Element { base, scale: width as u8, offset: 0 }, None);
        self.bytes(&[0xF7, 0xC7]);
        self.word(bytes as i32 - 1);
        self.bytes(&[0x0F, 0x84]);
        self.word(0);
        Jump(self.here())
    }

    /// Sets the index to 0.
    pub fn first(&mut self) {
        // xor eax, eax
        self.bytes(&[0x31, 0xC0]);
    }

    /// Jumps if fewer than `count` elements are left.
    pub fn unless_left(&mut self, count: usize) -> Jump {
        // lea rdi, [rax + count]; cmp rdi, rsi; ja
        self.bytes(&[0x48, 0x8D, 0xB8]);
        self.word(count as i32);
        self.bytes(&[0x48, 0x39, 0xF7, 0x0F, 0x87]);
        self.word(0);
        Jump(self.here())
    }

    /// Jumps if no elements are left, and else puts as many first lanes as are left into a mask register: fewer
    /// than 32.
    pub fn rest(&mut self, mask: u8) -> Jump {
        // mov rdi, rsi; sub rdi, rax; jbe
        self.bytes(&[0x48, 0x89, 0xF7, 0x48, 0x29, 0xC7, 0x0F, 0x86]);
        self.word(0);
        let done = Jump(self.here());
        // xor esi, esi; bts esi, edi; dec esi; kmovw mask, esi; lea rsi, [rax + rdi]
        self.bytes(&[0x31, 0xF6, 0x0F, 0xAB, 0xFE, 0xFF, 0xCE]);
        self.bytes(&[0xC5, 0xF8, 0x92, 0xC6 | mask << 3, 0x48, 0x8D, 0x34, 0x38]);
        done
    }

    /// Goes to the next elements, which [`unless_left`](Assembler::unless_left) was asked about, and back to
    /// `start`.
    pub fn again(&mut self, start: usize) {
        // mov rax, rdi; jmp
        self.bytes(&[0x48, 0x89, 0xF8, 0xE9]);
        self.word(start as i32 - (self.here() + 4) as i32);
    }

    /// Jumps to a known position.
    pub fn jump_to(&mut self, target: usize) {
        // jmp
        self.bytes(&[0xE9]);
        self.word(target as i32 - (self.here() + 4) as i32);
    }

    /// Jumps if the last test of a mask found one that is true.
    pub fn if_any(&mut self) -> Jump {
        // jnz
        self.bytes(&[0x0F, 0x85]);
        self.word(0);
        Jump(self.here())
    }

    /// Where elements are left, goes back to `start` with the last `count`, if there are as many, counted from
    /// the number in a word on.
    pub fn last_again(&mut self, count: usize, start: usize, first: Option<i32>) {
        let compared = if first.is_some() { 8 } else { 4 };
        // cmp rax, rsi; je over all; lea rdi, [rsi - count]
        self.bytes(&[0x48, 0x39, 0xF0, 0x74, 7 + compared + 2 + 3 + 5, 0x48, 0x8D, 0xBE]);
        self.word(-(count as i32));
        match first {
            // cmp rdi, [first]; cmp rdi, 0
            Some(first) => self.on_stack(0x3B, TABLE, first),
            None => self.bytes(&[0x48, 0x83, 0xFF, 0x00]),
        }
        // jl over the rest; mov rax, rdi
        self.bytes(&[0x7C, 3 + 5, 0x48, 0x89, 0xF8]);
        self.jump_to(start);
    }

    /// Calls a function of C with an object, the addresses of slots of the stack, and a number. No register
    /// for vectors keeps its value; those of the loop and of addresses do, in the slots from `room` on
    /// ([`ROOM`]).
    pub fn call(&mut self, function: usize, object: usize, slots: &[i32], number: usize, room: i32) {
        /// rdi, rsi, rdx, rcx, r8: arguments.
        const ARGUMENTS: [u8; 5] = [7, 6, 2, 1, 8];
        self.kept(0x89, room);
        // vzeroupper
        self.bytes(&[0xC5, 0xF8, 0x77]);
        let mut arguments = ARGUMENTS.into_iter();
        let mut next = || arguments.next().expect("a call has few arguments");
        self.number(next(), object as u64);
        for &slot in slots {
            // lea register, [rsp + slot]
            let register = next();
            self.on_stack(0x8D, register, slot);
        }
        self.number(next(), number as u64);
        self.number(INDEX, function as u64);
        // call rax
        self.bytes(&[0xFF, 0xD0]);
        self.kept(0x8B, room);
    }

    /// Stores (`0x89`) or loads (`0x8B`) the registers that a call may change.
    fn kept(&mut self, opcode: u8, room: i32) {
        const KEPT: [u8; 9] = [0, 1, 2, 6, 7, 8, 9, 10, 11];
        for (i, register) in KEPT.into_iter().enumerate() {
            self.on_stack(opcode, register, room + 8 * i as i32);
        }
    }

    /// Sets a general register.
    fn number(&mut self, register: u8, x: u64) {
        // mov register, x
        self.bytes(&[0x48 | u8::from(register >= 8), 0xB8 | (register & 7)]);
        self.bytes(&x.to_le_bytes());
    }

    /// Sets the target of a jump to this position.
    pub fn land(&mut self, Jump(from): Jump) {
        let distance = (self.here() - from) as i32;
        self.code[from - 4..from].copy_from_slice(&distance.to_le_bytes());
    }
}
