//! Control of loops: over the elements of a tile, over runs, and loops on few numbers.

use super::assembler::{
    number, Assembler, Jump, ADD, ADD_NUMBER, COMPUTED, COUNT, FAR, INDEX, JUMP, JUMP_IF, JUMP_IF_ZERO,
    JUMP_UNLESS_ZERO, LOAD_WORD, MOVE, POSITION, STACK, STORE_WORD, SUB, SUBTRACT, SUBTRACT_NUMBER,
    SUB_NUMBER, TABLE, WORD, ZERO,
};

// Conditions, of unsigned numbers and of signed ones.
const EQUAL: u32 = 0;
const HIGHER: u32 = 8;
const LOWER_OR_SAME: u32 = 9;
const LESS: u32 = 11;

impl Assembler {
    // ---- loops over the elements of a tile

    /// Sets the index to 0.
    pub fn first(&mut self) {
        self.number(INDEX, 0);
    }

    /// Jumps if fewer than `count` elements are left.
    pub fn unless_left(&mut self, count: usize) -> Jump {
        self.with_number(ADD_NUMBER, POSITION, INDEX, count as u32);
        self.general(SUBTRACT, ZERO, POSITION, COUNT);
        self.jump(JUMP_IF | HIGHER)
    }

    /// Goes to the next elements, which [`unless_left`](Assembler::unless_left) was asked about, and back to
    /// `start`.
    pub fn again(&mut self, start: usize) {
        self.general(MOVE, INDEX, 0, POSITION);
        self.jump_to(start);
    }

    /// Jumps to a known position.
    pub fn jump_to(&mut self, target: usize) {
        self.back(JUMP, target);
    }

    /// Where elements are left, goes back to `start` with the last `count`, if there are as many, counted from
    /// the number in a word on.
    pub fn last_again(&mut self, count: usize, start: usize, first: Option<i32>) {
        self.general(SUBTRACT, ZERO, INDEX, COUNT);
        let none = self.jump(JUMP_IF | EQUAL);
        match first {
            Some(first) => self.kept_word(WORD, first),
            None => self.number(WORD, 0),
        }
        self.with_number(SUB_NUMBER, FAR, COUNT, count as u32);
        self.general(SUBTRACT, ZERO, FAR, WORD);
        let few = self.jump(JUMP_IF | LESS);
        self.general(MOVE, INDEX, 0, FAR);
        self.jump_to(start);
        self.land(none);
        self.land(few);
    }

    // ---- runs: their words are on the stack

    /// Stores a general register in a word.
    pub fn keep(&mut self, register: u8, word: i32) {
        self.at(STORE_WORD, 8, u32::from(register), STACK, word);
    }

    /// Loads it.
    pub fn kept_word(&mut self, register: u8, word: i32) {
        self.at(LOAD_WORD, 8, u32::from(register), STACK, word);
    }

    /// Sets the index to the first element of a run, and `x1` to its end, or to that of the elements that are
    /// left.
    pub fn run(&mut self, first: i32, left: i32, len: i32) {
        self.kept_word(INDEX, first);
        self.kept_word(COUNT, left);
        self.general(ADD, COUNT, COUNT, INDEX);
        self.number(WORD, len as u64);
        self.general(SUBTRACT, ZERO, COUNT, WORD);
        // csel x1, x1, x17, ls
        self.general(0x9A80_0000 | LOWER_OR_SAME << 12, COUNT, COUNT, WORD);
    }

    /// Counts the elements of a run that ends at `x1`, and jumps if none are left; the next run's first
    /// element is its first.
    pub fn end_run(&mut self, first: i32, left: i32) -> Jump {
        self.kept_word(WORD, first);
        self.general(SUB, COUNT, COUNT, WORD);
        self.kept_word(WORD, left);
        self.general(SUBTRACT, WORD, WORD, COUNT);
        self.keep(WORD, left);
        let done = self.jump(JUMP_IF | EQUAL);
        self.keep(ZERO, first);
        done
    }

    /// Sets a word.
    pub fn set_word(&mut self, word: i32, x: i32) {
        self.number(WORD, i64::from(x) as u64);
        self.keep(WORD, word);
    }

    /// Counts an index of an axis, and jumps if it was the last.
    pub fn last_index(&mut self, word: i32) -> Jump {
        self.kept_word(WORD, word);
        self.with_number(SUBTRACT_NUMBER, WORD, WORD, 1);
        self.keep(WORD, word);
        self.jump(JUMP_IF | EQUAL)
    }

    /// Adds a number to the address in a register.
    pub fn move_address(&mut self, register: u8, by: i32) {
        self.number(FAR, i64::from(by) as u64);
        self.general(ADD, register, register, FAR);
    }

    /// Adds a number of bytes to an address in the table.
    pub fn move_argument(&mut self, argument: usize, by: i32) {
        self.address(WORD, argument);
        self.move_address(WORD, by);
        self.at(STORE_WORD, 8, u32::from(WORD), TABLE, 8 * argument as i32);
    }

    /// Adds a number to a word.
    pub fn move_word(&mut self, word: i32, by: i32) {
        self.kept_word(WORD, word);
        self.move_address(WORD, by);
        self.keep(WORD, word);
    }

    /// Jumps if an element's address is a multiple of so many bytes, which are 16.
    pub fn if_aligned(&mut self, base: u8, width: usize, bytes: usize) -> Jump {
        debug_assert_eq!(bytes, 16);
        self.general(ADD | width.trailing_zeros() << 10, FAR, base, INDEX);
        // tst x16, 15
        self.word(0xF240_0C1F | u32::from(FAR) << 5);
        self.jump(JUMP_IF | EQUAL)
    }

    // ---- loops: their index is in `x9`, and `x1` counts the iterations that are left

    /// Sets the index to the third argument of the function, which is in `x2`.
    pub fn first_index(&mut self) {
        self.general(MOVE, INDEX, 0, 2);
    }

    /// Counts an iteration, and takes the next index or, if `reverse`, the one before.
    pub fn next_index(&mut self, reverse: bool) {
        self.with_number(SUB_NUMBER, COUNT, COUNT, 1);
        self.with_number(if reverse { SUB_NUMBER } else { ADD_NUMBER }, INDEX, INDEX, 1);
    }

    /// Goes back to `start` while iterations are left.
    pub fn while_left(&mut self, start: usize) {
        self.back(JUMP_UNLESS_ZERO | u32::from(COUNT), start);
    }

    /// Returns how many iterations are left, from the function's end.
    pub fn left(&mut self) {
        self.general(MOVE, 0, 0, COUNT);
    }

    /// Moves the first 4 bytes of a vector register to `x14`, with their sign.
    pub fn position(&mut self, from: u8) {
        // smov x14, from.s[0]
        self.word(0x4E04_2C00 | number(from) << 5 | u32::from(POSITION));
    }

    /// Moves the first 8 bytes of a vector register to `x14`.
    pub fn long_position(&mut self, from: u8) {
        // fmov x14, from
        self.word(0x9E66_0000 | number(from) << 5 | u32::from(POSITION));
    }

    /// Jumps if `x14` is negative or above a number.
    pub fn if_outside(&mut self, most: i32) -> Jump {
        self.number(FAR, i64::from(most) as u64);
        self.general(SUBTRACT, ZERO, POSITION, FAR);
        self.jump(JUMP_IF | HIGHER)
    }

    /// Makes `x14`, which is negative or above a number, 0 or that number.
    pub fn nearest_position(&mut self, most: i32) {
        self.number(FAR, i64::from(most) as u64);
        // cmp x14, 0; csel x14, xzr, x16, lt
        self.word(0xF100_001F | u32::from(POSITION) << 5);
        self.word(0x9A80_B3E0 | u32::from(FAR) << 16 | u32::from(POSITION));
    }

    /// Jumps if the lower half of `x14` is 0, or if it is not.
    pub fn if_zero(&mut self, zero: bool) -> Jump {
        let word = if zero { JUMP_IF_ZERO } else { JUMP_UNLESS_ZERO };
        self.jump((word & !(1 << 31)) | u32::from(POSITION))
    }

    /// Makes `x15` the product of `x14` with a number of bytes, or adds it.
    pub fn stride(&mut self, bytes: i32, add: bool) {
        self.number(FAR, i64::from(bytes) as u64);
        // madd x15, x14, x16, x15 or xzr
        let sum = u32::from(if add { COMPUTED } else { ZERO });
        self.general(0x9B00_0000 | sum << 10, COMPUTED, POSITION, FAR);
    }

    /// Adds a register to `x15`.
    pub fn add_base(&mut self, base: u8) {
        self.general(ADD, COMPUTED, COMPUTED, base);
    }

    /// Calls `function(site, table)`, and moves what it returns to `x14`. All vector registers, and the
    /// [`ADDRESSES`], are lost.
    pub fn call_site(&mut self, function: usize, site: usize) {
        // stp x0, x1, [sp, -32]!; str x9, [sp, 16]
        self.word(0xA9BE_07E0);
        self.keep(INDEX, 16);
        self.general(MOVE, 1, 0, TABLE);
        self.number(0, site as u64);
        self.call_at(function);
        self.general(MOVE, POSITION, 0, 0);
        self.kept_word(INDEX, 16);
        // ldp x0, x1, [sp], 32
        self.word(0xA8C2_07E0);
    }
}
