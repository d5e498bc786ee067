//! Instructions of loops, on x86-64: their index is in `rax`, and `rsi` counts the iterations that are left.

use super::assembler::{vector, vector_wide, Assembler, Jump, Source, POSITION, TABLE};

impl Assembler {
    /// Sets the index to the third argument of the function, which is in `rdx`.
    pub fn first_index(&mut self) {
        self.bytes(&[0x48, 0x89, 0xD0]);
    }

    /// Counts an iteration, and takes the next index or, if `reverse`, the one before.
    pub fn next_index(&mut self, reverse: bool) {
        // dec rsi; inc or dec rax
        self.bytes(&[0x48, 0xFF, 0xCE, 0x48, 0xFF, if reverse { 0xC8 } else { 0xC0 }]);
    }

    /// Goes back to `start` while iterations are left.
    pub fn while_left(&mut self, start: usize) {
        // test rsi, rsi; jnz
        self.bytes(&[0x48, 0x85, 0xF6, 0x0F, 0x85]);
        self.word(start as i32 - (self.here() + 4) as i32);
    }

    /// Returns how many iterations are left, from the function's end.
    pub fn left(&mut self) {
        // mov rax, rsi
        self.bytes(&[0x48, 0x89, 0xF0]);
    }

    /// Moves the first 4 bytes of a vector register to `r14`, with their sign.
    pub fn position(&mut self, from: u8) {
        // vmovd r14d, from; movsxd r14, r14d
        self.vector(vector(1, 1, 0x7E), false, from, 0, Source::Register(POSITION), None);
        self.bytes(&[0x4D, 0x63, 0xF6]);
    }

    /// Moves the first 8 bytes of a vector register to `r14`.
    pub fn long_position(&mut self, from: u8) {
        self.vector(vector_wide(1, 1, true, 0x7E), false, from, 0, Source::Register(POSITION), None);
    }

    /// Jumps if `r14` is negative or above a number.
    pub fn if_outside(&mut self, most: i32) -> Jump {
        // cmp r14, most; ja
        self.bytes(&[0x49, 0x81, 0xFE]);
        self.word(most);
        self.bytes(&[0x0F, 0x87, 0, 0, 0, 0]);
        Jump(self.here())
    }

    /// Makes `r14`, which is negative or above a number, 0 or that number.
    pub fn nearest_position(&mut self, most: i32) {
        // test r14, r14; mov r14d, most; jns 3; xor r14d, r14d
        self.bytes(&[0x4D, 0x85, 0xF6, 0x41, 0xBE]);
        self.word(most);
        self.bytes(&[0x79, 3, 0x45, 0x31, 0xF6]);
    }

    /// Jumps if the lower half of `r14` is 0, or if it is not.
    pub fn if_zero(&mut self, zero: bool) -> Jump {
        // test r14d, r14d; jz or jnz
        self.bytes(&[0x45, 0x85, 0xF6, 0x0F, if zero { 0x84 } else { 0x85 }]);
        self.word(0);
        Jump(self.here())
    }

    /// Makes `r13` the product of `r14` with a number of bytes, or adds it.
    pub fn stride(&mut self, bytes: i32, add: bool) {
        // imul r14, r14, bytes; mov r13, r14 or add r13, r14
        self.bytes(&[0x4D, 0x69, 0xF6]);
        self.word(bytes);
        self.bytes(&[0x4D, if add { 0x01 } else { 0x89 }, 0xF5]);
    }

    /// Adds a register to `r13`.
    pub fn add_base(&mut self, base: u8) {
        self.bytes(&[0x49 | u8::from(base >= 8) << 2, 0x01, 0xC5 | (base & 7) << 3]);
    }

    /// Calls `function(site, table)`, and moves what it returns to `r14`. All vector registers, and the
    /// [`ADDRESSES`] that a function may change, are lost.
    pub fn call_site(&mut self, function: usize, site: usize) {
        // push rax; push rsi; push rdi; push rdi: the stack stays aligned
        self.bytes(&[0x50, 0x56, 0x57, 0x57]);
        // mov rsi, rdi; mov rdi, site; mov rax, function; call rax; mov r14, rax
        self.bytes(&[0x48, 0x89, 0xFE, 0x48, 0xBF]);
        self.bytes(&(site as u64).to_le_bytes());
        self.bytes(&[0x48, 0xB8]);
        self.bytes(&(function as u64).to_le_bytes());
        self.bytes(&[0xFF, 0xD0, 0x49, 0x89, 0xC6]);
        // pop rdi; pop rdi; pop rsi; pop rax
        self.bytes(&[0x5F, 0x5F, 0x5E, 0x58]);
    }

    /// Adds a number of bytes to an address in the table.
    pub fn move_argument(&mut self, argument: usize, by: i32) {
        // add qword [rdi + 8 * argument], by
        self.bytes(&[0x48, 0x81, 0x80 | TABLE]);
        self.word(8 * argument as i32);
        self.word(by);
    }
}
