//! A cache of programs by the signature of their arguments.

use crate::ffi::*;
use crate::mixer::Mixer;
use crate::program::Program;
use crate::statics;
use crate::tree::Flat;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::rc::Rc;

/// A least-recently-used cache of compiled programs. The cost of a call and of a new entry does not depend on
/// its size.
#[derive(Default)]
pub struct Cache {
    /// Number of programs that are kept.
    pub size: usize,
    /// Slots of the entries with these words, which differ in their static arguments.
    by_words: HashMap<Vec<u64>, Vec<usize>, BuildHasherDefault<Mixer>>,
    /// Entries, by their number in the list of objects that R keeps alive.
    slots: Vec<Entry>,
    /// Slots of the most and of the least recently used entry.
    ends: [usize; 2],
    /// Calls that a program served.
    pub hits: u64,
    /// Programs that were made.
    pub misses: u64,
}

/// A program with the arguments that it is for.
pub struct Entry {
    words: Vec<u64>,
    statics: Vec<SEXP>,
    program: Rc<Program>,
    /// All that the entry refers to, as `store` of `jit` makes it; the description is its first element.
    pub held: SEXP,
    /// Calls that it served.
    pub hits: u64,
    /// Number of entries made before.
    number: u64,
    /// Slots of the neighbours in the order of use; at the ends its own slot.
    beside: [usize; 2],
}

impl Cache {
    /// An empty cache for so many programs.
    pub fn new(size: usize) -> Cache {
        Cache { size, ..Cache::default() }
    }

    /// Whether no program was made yet.
    pub fn is_new(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether there is a program for these arguments.
    pub fn knows(&self, flat: &Flat) -> bool {
        self.slot(flat).is_some()
    }

    fn slot(&self, flat: &Flat) -> Option<usize> {
        let slots = self.by_words.get(&flat.words)?;
        let entries = &self.slots;
        let same = |slot: &&usize| {
            let pairs = entries[**slot].statics.iter().zip(&flat.statics);
            pairs.into_iter().all(|(&x, &y)| statics::same(x, y))
        };
        slots.iter().find(same).copied()
    }

    /// The program for these arguments, as the most recently used one.
    pub fn find(&mut self, flat: &Flat) -> Option<Rc<Program>> {
        let slot = self.slot(flat)?;
        self.hits += 1;
        self.slots[slot].hits += 1;
        if self.ends[0] != slot {
            self.take_out(slot);
            self.put_first(slot);
        }
        Some(self.slots[slot].program.clone())
    }

    /// The slot of the next entry: a new one, or that of the least recently used entry.
    pub fn next_slot(&self) -> usize {
        if self.slots.len() < self.size {
            self.slots.len()
        } else {
            self.ends[1]
        }
    }

    /// Puts an entry into [`next_slot`](Cache::next_slot), replacing the one that is there.
    pub fn insert(&mut self, words: Vec<u64>, statics: Vec<SEXP>, program: Rc<Program>, held: SEXP) {
        let slot = self.next_slot();
        self.misses += 1;
        let entry = Entry { words, statics, program, held, hits: 0, number: self.misses, beside: [0; 2] };
        let words = entry.words.clone();
        if slot == self.slots.len() {
            self.slots.push(entry);
        } else {
            self.take_out(slot);
            let old = std::mem::replace(&mut self.slots[slot], entry);
            if let Some(slots) = self.by_words.get_mut(&old.words) {
                slots.retain(|&other| other != slot);
                if slots.is_empty() {
                    self.by_words.remove(&old.words);
                }
            }
        }
        self.by_words.entry(words).or_default().push(slot);
        self.put_first(slot);
    }

    /// Removes an entry from the order of use.
    fn take_out(&mut self, slot: usize) {
        let beside = self.slots[slot].beside;
        for side in [0, 1] {
            let (this, other) = (beside[side], beside[1 - side]);
            let last = other == slot;
            // If it is an end, its neighbour becomes the end.
            if this == slot {
                self.ends[side] = other;
            } else {
                self.slots[this].beside[1 - side] = if last { this } else { other };
            }
        }
    }

    /// Puts an entry before all others in the order of use.
    fn put_first(&mut self, slot: usize) {
        let first = self.ends[0];
        let alone = self.slots.len() == 1;
        self.slots[slot].beside = if alone { [slot, slot] } else { [slot, first] };
        self.ends = if alone { [slot, slot] } else { [slot, self.ends[1]] };
        if !alone {
            self.slots[first].beside[0] = slot;
        }
    }

    /// Entries from first to last.
    pub fn in_order(&self) -> Vec<&Entry> {
        let mut entries: Vec<&Entry> = self.slots.iter().collect();
        entries.sort_unstable_by_key(|entry| entry.number);
        entries
    }
}
