//! The memory of one run: buffers by number, lent out a step at a time. One of the two places that turn pointers into
//! slices (the other is [`super::cast`]); callers never see a pointer.

use std::marker::PhantomData;
use std::ops::Range;

/// Part of a buffer, in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    /// Number of the buffer, in the order of `add_*` calls.
    pub buffer: usize,
    /// Bytes within it.
    pub range: Range<usize>,
}

struct Buffer {
    pointer: *mut u8,
    len: usize,
    writable: bool,
}

/// Buffers of one run. Each is borrowed for `'a`; a writable one exclusively.
#[derive(Default)]
pub struct Memory<'a> {
    buffers: Vec<Buffer>,
    borrow: PhantomData<&'a mut [u8]>,
}

impl<'a> Memory<'a> {
    /// Makes room for that many buffers.
    pub fn with_capacity(n: usize) -> Memory<'a> {
        Memory { buffers: Vec::with_capacity(n), borrow: PhantomData }
    }

    /// Adds a buffer that is only read; returns its number.
    pub fn add_read(&mut self, bytes: &'a [u8]) -> usize {
        self.add(bytes.as_ptr().cast_mut(), bytes.len(), false)
    }

    /// Adds a buffer that may be read and written; returns its number.
    pub fn add_write(&mut self, bytes: &'a mut [u8]) -> usize {
        self.add(bytes.as_mut_ptr(), bytes.len(), true)
    }

    fn add(&mut self, pointer: *mut u8, len: usize, writable: bool) -> usize {
        self.buffers.push(Buffer { pointer, len, writable });
        self.buffers.len() - 1
    }

    /// Lends some spans for reading and others for writing.
    ///
    /// # Panics
    /// If a span is outside its buffer, is written but read-only, or overlaps with one that is written: a plan that
    /// does this is wrong, and its result would be too.
    pub fn lend(&mut self, reads: &[&Span], writes: &[&Span]) -> (Vec<&[u8]>, Vec<&mut [u8]>) {
        for (i, write) in writes.iter().enumerate() {
            assert!(self.buffers[write.buffer].writable, "buffer {} is read-only", write.buffer);
            let others = reads.iter().chain(&writes[..i]);
            assert!(others.clone().all(|other| disjoint(write, other)), "a step writes what it reads");
        }
        for span in reads.iter().chain(writes) {
            let len = self.buffers[span.buffer].len;
            assert!(span.range.start <= span.range.end && span.range.end <= len, "span outside of its buffer");
        }
        // SAFETY: every span lies within a buffer that is borrowed for 'a (checked above); distinct writable buffers
        // are disjoint because each came from an exclusive borrow; within a buffer, a written span overlaps with no
        // other (checked above); `&mut self` keeps a second set from being lent at the same time.
        unsafe {
            let at = |s: &Span| self.buffers[s.buffer].pointer.add(s.range.start);
            (
                reads.iter().map(|s| std::slice::from_raw_parts(at(s).cast_const(), s.range.len())).collect(),
                writes.iter().map(|s| std::slice::from_raw_parts_mut(at(s), s.range.len())).collect(),
            )
        }
    }
}

fn disjoint(a: &Span, b: &Span) -> bool {
    let empty = a.range.is_empty() || b.range.is_empty();
    empty || a.buffer != b.buffer || a.range.end <= b.range.start || b.range.end <= a.range.start
}

/// Owned bytes, aligned for every dtype: 16-byte units.
#[derive(Default, Debug)]
pub struct AlignedBytes(Vec<u128>, usize);

impl AlignedBytes {
    /// Zeroed bytes.
    pub fn zeroed(len: usize) -> AlignedBytes {
        AlignedBytes(vec![0; len.div_ceil(16)], len)
    }

    /// Grows to at least `len` bytes; the content is unspecified after.
    pub fn reserve(&mut self, len: usize) {
        if len > self.1 {
            *self = AlignedBytes::zeroed(len);
        }
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the vector holds at least `self.1` initialised bytes, and bytes have no alignment.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.1) }
    }

    /// The bytes, for writing.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`, borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(buffer: usize, range: Range<usize>) -> Span {
        Span { buffer, range }
    }

    #[test]
    fn lends_disjoint_spans() {
        let (read, mut write) = ([1u8, 2, 3], [0u8; 4]);
        let mut memory = Memory::with_capacity(2);
        memory.add_read(&read);
        memory.add_write(&mut write);
        let (r, w) = memory.lend(&[&span(0, 1..3), &span(1, 0..2)], &[&span(1, 2..4)]);
        assert_eq!(r[0], [2, 3]);
        w.into_iter().next().unwrap().copy_from_slice(&[7, 8]);
        assert_eq!(memory.lend(&[&span(1, 0..4)], &[]).0[0], [0, 0, 7, 8]);
    }

    #[test]
    fn refuses_what_would_alias() {
        let refused = |reads: &[&Span], writes: &[&Span]| {
            let (read, mut write) = ([0u8; 4], [0u8; 4]);
            let mut memory = Memory::with_capacity(2);
            memory.add_read(&read);
            memory.add_write(&mut write);
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(memory.lend(reads, writes)))).is_err()
        };
        assert!(refused(&[&span(1, 0..3)], &[&span(1, 2..4)]));
        assert!(refused(&[], &[&span(1, 0..3), &span(1, 2..4)]));
        assert!(refused(&[], &[&span(0, 0..1)]));
        assert!(refused(&[&span(0, 0..5)], &[]));
        assert!(!refused(&[&span(1, 0..2)], &[&span(1, 2..4)]));
    }
}
