//! Memory: buffers of one run, by number, and what the steps of a program read and write of them; callers
//! never see a pointer. Beside it the block allocator, and kernels that only move elements.

mod apart;
pub mod bins;
pub mod block_allocator;
mod bytes;
pub mod cache;
mod columns;
pub mod indexed;
pub mod join;
pub mod nontemporal;
pub mod permute;
pub mod room;
pub mod row_reads;
mod row_sums;
#[cfg(target_arch = "x86_64")]
pub mod squares;
mod walk;

pub use bytes::{zeroed, AlignedBytes};

use apart::{are_apart, overlap, Placed};
use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Part of a buffer, in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    /// Number of the buffer, as a program counts them.
    pub buffer: usize,
    /// Bytes within it.
    pub range: Range<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Buffer {
    pointer: *mut u8,
    len: usize,
    writable: bool,
}

impl Buffer {
    /// What has no bytes.
    const ABSENT: Buffer = Buffer { pointer: std::ptr::null_mut(), len: 0, writable: false };
}

/// A number that no thread has had before: each counts from a multiple of its own.
#[inline]
fn unique() -> u64 {
    const NUMBERS: u64 = 1 << 40;
    static THREADS: AtomicU64 = AtomicU64::new(0);
    thread_local! {
        static LAST: Cell<u64> = Cell::new(THREADS.fetch_add(1, Relaxed) * NUMBERS);
    }
    LAST.with(|last| {
        last.set(last.get() + 1);
        last.get()
    })
}

/// Buffers of one run. Each is borrowed for `'a`; a writable one exclusively. It stays on its thread.
pub struct Memory<'a> {
    lists: Lists,
    /// No other memory has the same.
    id: u64,
    borrow: PhantomData<&'a mut [u8]>,
}

/// What a memory lists, kept from one run to the next so that it is not allocated again.
#[derive(Default)]
pub struct Lists {
    buffers: Vec<Buffer>,
}

// SAFETY: addresses in a list that is kept are cleared, unread, when a memory reuses it.
unsafe impl Send for Lists {}

impl std::fmt::Debug for Lists {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lists")
    }
}

impl<'a> Memory<'a> {
    /// A memory without buffers, which reuses the lists of another.
    #[inline]
    pub fn reusing(mut lists: Lists) -> Memory<'a> {
        lists.buffers.clear();
        Memory { lists, id: unique(), borrow: PhantomData }
    }

    /// Its lists, for the next memory.
    pub fn into_lists(self) -> Lists {
        self.lists
    }

    /// Adds a buffer that is only read; returns its number.
    #[inline]
    pub fn add_read(&mut self, bytes: &'a [u8]) -> usize {
        self.add(Buffer { pointer: bytes.as_ptr().cast_mut(), len: bytes.len(), writable: false })
    }

    /// Adds a buffer that may be read and written; returns its number.
    #[inline]
    pub fn add_write(&mut self, bytes: &'a mut [u8]) -> usize {
        self.add(Buffer { pointer: bytes.as_mut_ptr(), len: bytes.len(), writable: true })
    }

    /// Adds a buffer that is not there: steps that write it alone are not run. Returns its number.
    #[inline]
    pub fn add_absent(&mut self) -> usize {
        self.add(Buffer::ABSENT)
    }

    fn add(&mut self, buffer: Buffer) -> usize {
        self.lists.buffers.push(buffer);
        self.lists.buffers.len() - 1
    }

    /// How many buffers there are: the number of the next.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.lists.buffers.len()
    }

    /// Has number `alias` be the buffer with another number.
    pub fn set_alias(&mut self, alias: usize, of: usize) {
        self.lists.buffers[alias] = self.lists.buffers[of];
    }

    /// The bytes of a buffer.
    #[inline]
    pub fn bytes(&self, buffer: usize) -> &[u8] {
        let Buffer { pointer, len, .. } = self.lists.buffers[buffer];
        assert!(!pointer.is_null(), "buffer {buffer} is absent");
        // SAFETY: the buffer is borrowed for longer than `&self`, during which nothing is lent for writing.
        unsafe { std::slice::from_raw_parts(pointer.cast_const(), len) }
    }

    /// The bytes of a buffer, to be written.
    ///
    /// # Panics
    /// If it is read-only.
    #[inline]
    pub fn bytes_mut(&mut self, buffer: usize) -> &mut [u8] {
        let Buffer { pointer, len, writable } = self.lists.buffers[buffer];
        assert!(writable, "buffer {buffer} is read-only");
        // SAFETY: the buffer is borrowed exclusively for longer than `&mut self`, during which nothing else
        // is lent.
        unsafe { std::slice::from_raw_parts_mut(pointer, len) }
    }
}

/// The buffers of a program, and what its steps read and write of them: found and checked once, and again
/// when buffers lie elsewhere.
#[derive(Default)]
pub struct Table {
    /// By the numbers that the program gives them.
    buffers: Vec<Buffer>,
    /// Those of all steps, one step after the other.
    streams: Vec<Stream>,
    steps: Vec<Bound>,
    /// The streams of a step in the order of their addresses, while it is bound.
    order: Vec<Placed>,
    /// The memory that they were last found in.
    memory: u64,
    /// Another one each time that they lie elsewhere.
    version: u64,
}

/// Which streams are those of a step.
#[derive(Clone, Copy)]
struct Bound {
    first: usize,
    /// How many are read; those that are written follow.
    reads: usize,
    writes: usize,
    /// Whether all that it writes is absent.
    absent: bool,
}

// SAFETY: addresses are those of a memory that is lent, and checked to be, whenever they are used.
unsafe impl Send for Table {}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Table")
    }
}

impl Table {
    /// Takes the buffers of a program of so many steps from a memory: those with these numbers. Whether all
    /// lie where they did; if not, each step is to be [bound](Table::bind).
    pub fn enter(&mut self, memory: &Memory, numbers: impl Iterator<Item = usize>, steps: usize) -> bool {
        let (mut same, mut count) = (self.steps.len() == steps, 0);
        for number in numbers {
            let buffer = memory.lists.buffers[number];
            match self.buffers.get_mut(count) {
                Some(old) if *old == buffer => {}
                Some(old) => (*old, same) = (buffer, false),
                None => {
                    self.buffers.push(buffer);
                    same = false;
                }
            }
            count += 1;
        }
        same &= self.buffers.len() == count;
        self.buffers.truncate(count);
        self.memory = memory.id;
        if !same {
            self.streams.clear();
            self.steps.clear();
            self.version = unique();
        }
        same
    }

    /// Binds the next step: finds what it reads and what it writes, of which no two have bytes in common. But
    /// operand `i` may be result `j`, byte for byte, if `in_place(i, j)`.
    ///
    /// # Panics
    /// If a span is outside its buffer, is written but read-only, or overlaps with one that is written: such
    /// a plan is wrong.
    pub fn bind<'s>(
        &mut self,
        reads: impl ExactSizeIterator<Item = &'s Span>,
        writes: impl ExactSizeIterator<Item = &'s Span> + Clone,
        in_place: impl Fn(usize, usize) -> bool,
    ) {
        let absent = writes.len() > 0 && writes.clone().all(|s| self.buffers[s.buffer] == Buffer::ABSENT);
        let first = self.streams.len();
        let [reads, writes] = if absent { [0, 0] } else { self.find(reads, writes, in_place) };
        self.steps.push(Bound { first, reads, writes, absent });
    }

    fn find<'s>(
        &mut self,
        reads: impl ExactSizeIterator<Item = &'s Span>,
        writes: impl ExactSizeIterator<Item = &'s Span>,
        in_place: impl Fn(usize, usize) -> bool,
    ) -> [usize; 2] {
        let Table { buffers, streams, order, .. } = self;
        let (first, counts) = (streams.len(), [reads.len(), writes.len()]);
        let find = |span: &Span| {
            let Buffer { pointer, len, writable } = buffers[span.buffer];
            assert!(inside(&span.range, len) && !pointer.is_null(), "span outside of its buffer");
            let pointer = pointer.wrapping_add(span.range.start);
            Stream { pointer, len: span.range.len(), writable, alias: None }
        };
        streams.extend(reads.map(|span| Stream { writable: false, ..find(span) }));
        streams.extend(writes.map(find));
        let (reads, targets) = streams[first..].split_at_mut(counts[0]);
        assert!(targets.iter().all(|target| target.writable), "a buffer is read-only");
        let placed = |written| move |x: &Stream| Placed { bytes: x.place(), written };
        if are_apart(order, reads.iter().map(placed(false)).chain(targets.iter().map(placed(true)))) {
            return counts;
        }
        for (i, stream) in reads.iter_mut().enumerate() {
            for (j, target) in targets.iter().enumerate() {
                if !overlap(&stream.place(), &target.place()) {
                    continue;
                }
                let whole = (stream.pointer, stream.len) == (target.pointer, target.len);
                assert!(whole && in_place(i, j), "a step writes what it reads");
                stream.alias = Some(j);
            }
        }
        for (i, target) in targets.iter().enumerate() {
            let apart = targets[..i].iter().all(|other| !overlap(&target.place(), &other.place()));
            assert!(apart, "a step writes the same bytes twice");
        }
        counts
    }

    /// What all steps read and write, while the memory is not used otherwise.
    ///
    /// # Panics
    /// If `memory` is not the one that the buffers were last taken from.
    #[inline]
    pub fn lend<'s>(&'s self, memory: &'s mut Memory) -> Lent<'s> {
        assert!(memory.id == self.memory, "a program is bound to other memory");
        Lent { table: self, borrow: PhantomData }
    }
}

/// What the steps of a program read and write in a memory that is borrowed.
pub struct Lent<'s> {
    table: &'s Table,
    borrow: PhantomData<&'s mut [u8]>,
}

impl Lent<'_> {
    /// What is the same as long as buffers lie where they do: no other program of the thread ever has it.
    #[inline]
    pub fn version(&self) -> u64 {
        self.table.version
    }

    /// Whether all that a step writes is absent.
    pub fn is_absent(&self, step: usize) -> bool {
        self.table.steps[step].absent
    }

    /// What a step reads and writes, as streams that are numbered: first those to read, then those to write.
    #[inline]
    pub fn streams(&mut self, step: usize) -> Streams<'_> {
        let Bound { first, reads, writes, .. } = self.table.steps[step];
        Streams { streams: &self.table.streams[first..first + reads + writes], reads, borrow: PhantomData }
    }
}

/// What a step reads and writes in memory. Threads may read and write it, each elements of its own.
pub struct Streams<'s> {
    streams: &'s [Stream],
    reads: usize,
    borrow: PhantomData<&'s mut [u8]>,
}

// SAFETY: the pointers are to memory that is borrowed for 's. Whoever makes slices of them (the tile VM)
// sees to it that threads write different elements, and read none that another writes.
unsafe impl Sync for Streams<'_> {}

impl<'s> Streams<'s> {
    /// Their number.
    pub fn count(&self) -> usize {
        self.streams.len()
    }

    /// The stream with that number.
    pub fn get(&self, number: usize) -> &Stream {
        &self.streams[number]
    }

    /// Whether the first operand is a result, which the step updates.
    #[inline]
    pub fn is_updated(&self) -> bool {
        self.reads > 0 && self.streams[0].alias.is_some()
    }

    /// The bytes of all operands and of all results. The first operand has none if it is a result.
    ///
    /// # Panics
    /// If another operand is a result.
    #[inline]
    pub fn slices(self) -> (impl Iterator<Item = &'s [u8]>, impl Iterator<Item = &'s mut [u8]>) {
        let (reads, writes) = self.streams.split_at(self.reads);
        let apart = |(i, stream): (usize, &Stream)| i == 0 || stream.alias.is_none();
        assert!(reads.iter().enumerate().all(apart), "a step writes what it reads");
        let read = |x: &'s Stream| match x.alias {
            Some(_) => &[][..],
            // SAFETY: inside of buffers that are borrowed for 's, and apart from all that is written (checked
            // when they were found). The memory, through which alone slices are made, is held for 's.
            None => unsafe { std::slice::from_raw_parts(x.pointer.cast_const(), x.len) },
        };
        // SAFETY: as above; the buffer is writable, and results are apart from each other. Each is lent once,
        // as the streams are consumed.
        let write = |x: &'s Stream| unsafe { std::slice::from_raw_parts_mut(x.pointer, x.len) };
        (reads.iter().map(read), writes.iter().map(write))
    }

    /// The bytes of one result, to be read, and of another, to be written.
    ///
    /// # Panics
    /// If they are the same.
    #[inline]
    pub fn results(self, read: usize, write: usize) -> (&'s [u8], &'s mut [u8]) {
        assert!(read != write, "a step writes what it reads");
        let [read, write] = [read, write].map(|i| &self.streams[self.reads + i]);
        // SAFETY: as in `slices`: inside of buffers that are borrowed for 's, the second one writable, and
        // apart from each other; nothing else is lent, as the streams are consumed.
        unsafe {
            (
                std::slice::from_raw_parts(read.pointer.cast_const(), read.len),
                std::slice::from_raw_parts_mut(write.pointer, write.len),
            )
        }
    }
}

/// One value in memory.
#[derive(Clone, Copy)]
pub struct Stream {
    pointer: *mut u8,
    len: usize,
    writable: bool,
    alias: Option<usize>,
}

impl Stream {
    /// The addresses of its bytes.
    fn place(&self) -> Range<usize> {
        self.pointer as usize..self.pointer as usize + self.len
    }

    /// Its first byte.
    pub fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    /// Its bytes.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.len
    }

    /// Whether it may be written.
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// The result that shares its bytes.
    pub fn alias(&self) -> Option<usize> {
        self.alias
    }
}

fn inside(range: &Range<usize>, len: usize) -> bool {
    range.start <= range.end && range.end <= len
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(buffer: usize, range: Range<usize>) -> Span {
        Span { buffer, range }
    }

    /// A table of one step, of buffers with these numbers.
    fn bound(memory: &Memory, numbers: &[usize], reads: &[Span], writes: &[Span]) -> Table {
        let mut table = Table::default();
        assert!(!table.enter(memory, numbers.iter().copied(), 1));
        table.bind(reads.iter(), writes.iter(), |_, _| false);
        table
    }

    #[test]
    fn lends_disjoint_spans() {
        let (read, mut write) = ([1u8, 2, 3], [0u8; 4]);
        let mut memory = Memory::reusing(Lists::default());
        memory.add_read(&read);
        memory.add_write(&mut write);
        // Number 2 stands for buffer 1.
        let numbers = [0, 1, 1];
        let (reads, writes) = ([span(0, 1..3), span(1, 0..2)], [span(1, 2..3), span(2, 3..4)]);
        let table = bound(&memory, &numbers, &reads, &writes);
        let mut lent = table.lend(&mut memory);
        let (reads, writes) = lent.streams(0).slices();
        assert_eq!(reads.collect::<Vec<_>>(), [&[2u8, 3][..], &[0u8, 0][..]]);
        writes.zip([7, 8]).for_each(|(out, x)| out.copy_from_slice(&[x]));
        assert_eq!(memory.bytes(1), [0, 0, 7, 8]);
        // One result is read to write another.
        let mut lent = table.lend(&mut memory);
        let (from, to) = lent.streams(0).results(1, 0);
        to.copy_from_slice(from);
        assert_eq!(memory.bytes(1), [0, 0, 8, 8]);
    }

    #[test]
    fn finds_steps_again_only_where_buffers_lie_elsewhere() {
        let (a, b, mut write) = ([1u8], [2u8], [0u8]);
        let mut table = Table::default();
        let mut version = 0;
        for (read, same) in [(&a, false), (&a, true), (&b, false), (&b, true)] {
            let mut memory = Memory::reusing(Lists::default());
            memory.add_read(read);
            memory.add_write(&mut write);
            assert_eq!(table.enter(&memory, 0..2, 1), same);
            if !same {
                table.bind([span(0, 0..1)].iter(), [span(1, 0..1)].iter(), |_, _| false);
            }
            let mut lent = table.lend(&mut memory);
            assert_eq!(lent.version() == version, same);
            version = lent.version();
            let (reads, writes) = lent.streams(0).slices();
            reads.zip(writes).for_each(|(from, out)| out.copy_from_slice(from));
            assert_eq!(memory.bytes(1), read);
        }
    }

    #[test]
    fn a_step_whose_results_are_absent_is_none() {
        let read = [1u8];
        let mut memory = Memory::reusing(Lists::default());
        memory.add_read(&read);
        memory.add_absent();
        let table = bound(&memory, &[0, 1], &[span(0, 0..1)], &[span(1, 0..1)]);
        assert!(table.lend(&mut memory).is_absent(0));
    }

    #[test]
    #[should_panic(expected = "bound to other memory")]
    fn refuses_other_memory() {
        let table = bound(&Memory::reusing(Lists::default()), &[], &[], &[]);
        table.lend(&mut Memory::reusing(Lists::default()));
    }

    #[test]
    #[should_panic(expected = "the same bytes twice")]
    fn refuses_targets_that_overlap() {
        let mut write = [0u8; 4];
        let mut memory = Memory::reusing(Lists::default());
        memory.add_write(&mut write);
        bound(&memory, &[0], &[], &[span(0, 0..3), span(0, 2..4)]);
    }

    #[test]
    fn refuses_what_would_alias() {
        let refused = |reads: &[Span], target: Span| {
            let (read, mut write) = ([0u8; 4], [0u8; 4]);
            let mut memory = Memory::reusing(Lists::default());
            memory.add_read(&read);
            memory.add_write(&mut write);
            let bind = || drop(bound(&memory, &[0, 1, 1], reads, &[target]));
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(bind)).is_err()
        };
        assert!(refused(&[span(1, 0..3)], span(1, 2..4)));
        assert!(refused(&[span(2, 0..3)], span(1, 2..4)));
        assert!(refused(&[span(1, 2..4)], span(2, 2..4)));
        assert!(refused(&[], span(0, 0..1)));
        assert!(refused(&[span(0, 0..5)], span(1, 0..1)));
        assert!(refused(&[], span(1, 0..5)));
        assert!(!refused(&[span(1, 0..2), span(0, 0..4)], span(1, 2..4)));
        assert!(!refused(&[span(1, 3..3)], span(1, 2..4)));
    }
}
