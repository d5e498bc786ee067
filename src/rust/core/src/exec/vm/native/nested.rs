//! Code generation for loops within the iterations of a loop ([`loop_code`](super::loop_code)).
//!
//! Where a loop begins and where it ends, registers hold nothing but what the loop carries: all else is in memory, and an
//! iteration finds there what was made before the loop.

use super::emit::REGISTERS;
use super::loop_code::LoopEmitter;

impl LoopEmitter<'_> {
    /// Begins a loop that carries elements, with what they are at first, and has an iteration if a test says so.
    pub(super) fn begin(&mut self, at: usize, carried: &[(usize, usize)], test: usize) {
        self.unpin();
        self.spill_all();
        // What is laid in the loop is not where that has no iteration.
        self.emitter.laid.clear();
        let first = self.emitter.stack;
        for _ in carried {
            self.emitter.new_slot();
        }
        for (i, &(v, from)) in carried.iter().enumerate() {
            self.emitter.locked = [false; REGISTERS];
            self.emitter.of(v);
            let register = self.emitter.register(from);
            self.emitter.store_slot(register, first + i, v);
        }
        self.number(test);
        let none = self.emitter.assembler.if_zero(true);
        self.emitter.free_after(at);
        self.level(carried.iter().map(|&(v, _)| v).collect(), first);
        let start = self.emitter.assembler.here();
        let level = self.levels.last_mut().expect("it has just begun");
        (level.start, level.none) = (start, Some(none));
    }

    /// Ends the loop that began last: these are the elements of the next iteration, and a test says whether there is one.
    pub(super) fn end(&mut self, at: usize, next: &[usize], test: Option<usize>) {
        self.carry(next, test);
        self.emitter.free_after(at);
        if test.is_some() {
            let start = self.levels.last().expect("a loop has begun").start;
            let done = self.emitter.assembler.if_zero(true);
            self.go_on(start);
            self.emitter.assembler.land(done);
        }
        self.unpin();
        self.emitter.laid.clear();
        let none = self.levels.pop().and_then(|level| level.none);
        self.emitter.assembler.land(none.expect("only a loop within another ends here"));
        self.reload();
    }

    /// Goes back to the start of an iteration, and now and then asks before whether the user stops the loop.
    fn go_on(&mut self, start: usize) {
        let (site, every) = self.looped.asks.expect("a loop with loops in it asks");
        let asks = self.emitter.assembler.last_index(self.asks);
        self.emitter.assembler.jump_to(start);
        self.emitter.assembler.land(asks);
        self.emitter.assembler.set_word(self.asks, every);
        self.call_site(site);
        self.emitter.assembler.jump_to(start);
    }

    /// Has the jumps out of such loops land: what the whole loop carries is brought back to its registers, before the code
    /// by which that is left.
    pub(super) fn escape(&mut self, leaves: usize) {
        if self.escapes.is_empty() {
            return;
        }
        for jump in std::mem::take(&mut self.escapes) {
            self.emitter.assembler.land(jump);
        }
        self.reload();
        self.emitter.assembler.jump_to(leaves);
    }
}
