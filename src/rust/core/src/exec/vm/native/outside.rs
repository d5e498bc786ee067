//! Positions of windows that are out of range ([`loop_code`](super::loop_code)): what is done then is behind the code of the
//! loop.

use super::emit::REGISTERS;
use super::loop_code::{LoopEmitter, Outside};
use super::loops::Place;
use super::machine::{COMPUTED, LOAD, NARROW_REGISTERS, STORE};

impl LoopEmitter<'_> {
    /// The code of all of them. A function that unwinds ends the loop: then it goes to where that `ends`.
    pub(super) fn outside(&mut self, ends: usize) {
        for Outside { jump, back, v, most, call, held } in std::mem::take(&mut self.outside) {
            self.emitter.assembler.land(jump);
            if let Some((site, place)) = call {
                self.called((site, place), v, held, ends);
            }
            self.emitter.assembler.nearest_position(most);
            self.emitter.assembler.jump_to(back);
        }
    }

    /// Calls a function with the number at its place, and brings the number back to the register of positions.
    fn called(
        &mut self,
        (site, place): (usize, Place),
        v: usize,
        held: [Option<usize>; REGISTERS],
        ends: usize,
    ) {
        let (saved, e) = (self.saved, &mut self.emitter);
        e.held = held;
        e.locked = [true; REGISTERS];
        let kept: Vec<usize> = (0..NARROW_REGISTERS).filter(|&r| held[r].is_some()).collect();
        kept.iter().for_each(|&r| e.whole(STORE, r as u8, e.slot(saved + r)));
        let word = e.slot(e.room);
        e.assembler.keep(COMPUTED, word);
        // It is in a register: it was moved from there.
        e.store_placed(v, place);
        e.assembler.call_site(self.function, self.sites[site]);
        self.addresses();
        let e = &mut self.emitter;
        kept.iter().for_each(|&r| e.whole(LOAD, r as u8, e.slot(saved + r)));
        e.assembler.kept_word(COMPUTED, word);
        let returned = e.assembler.if_zero(false);
        e.assembler.jump_to(ends);
        e.assembler.land(returned);
        self.emitter.held = held;
        self.number(v);
    }
}
