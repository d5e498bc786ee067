//! The arena of a program: an allocator of places for temporary values, which are free again after the last
//! read.

use std::collections::BTreeMap;

/// Alignment of places: a cache line.
const ALIGN: usize = 64;

/// Free ranges of the arena. First fit, neighbours are joined.
#[derive(Default)]
pub struct Arena {
    free: BTreeMap<usize, usize>,
    /// Largest number of bytes so far.
    pub size: usize,
}

impl Arena {
    /// Allocates a place of so many bytes; returns its start.
    pub fn allocate(&mut self, bytes: usize) -> usize {
        let bytes = bytes.next_multiple_of(ALIGN);
        if bytes == 0 {
            return 0;
        }
        if let Some((&start, &len)) = self.free.iter().find(|(_, &len)| len >= bytes) {
            self.free.remove(&start);
            if len > bytes {
                self.free.insert(start + bytes, len - bytes);
            }
            return start;
        }
        // The arena grows at the end, including a free range there.
        let start = match self.free.last_key_value() {
            Some((&start, &len)) if start + len == self.size => {
                self.free.remove(&start);
                start
            }
            _ => self.size,
        };
        self.size = start + bytes;
        start
    }

    /// Frees a place.
    pub fn release(&mut self, start: usize, bytes: usize) {
        let (mut start, mut len) = (start, bytes.next_multiple_of(ALIGN));
        if len == 0 {
            return;
        }
        if let Some((&before, &n)) = self.free.range(..start).next_back() {
            if before + n == start {
                self.free.remove(&before);
                (start, len) = (before, n + len);
            }
        }
        if let Some(n) = self.free.remove(&(start + len)) {
            len += n;
        }
        self.free.insert(start, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_places_are_used_again() {
        let mut arena = Arena::default();
        let (a, b) = (arena.allocate(100), arena.allocate(10));
        arena.release(a, 100);
        assert_eq!(arena.allocate(64), a);
        arena.release(b, 10);
        arena.release(a, 64);
        assert_eq!(arena.allocate(192), 0);
        assert_eq!(arena.size, 192);
        assert_eq!(arena.allocate(0), 0);
    }
}
