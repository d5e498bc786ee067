//! Memory: buffers of one run, by number, lent out a step at a time; callers never see a pointer. Beside it
//! the block allocator, and kernels that only move elements.

pub mod block_allocator;
pub mod indexed;
pub mod nontemporal;
pub mod permute;

use crate::growth::reserve;
use crate::stop;
use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Range;

/// Part of a buffer, in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    /// Number of the buffer, as a program counts them.
    pub buffer: usize,
    /// Bytes within it.
    pub range: Range<usize>,
}

#[derive(Clone, Copy)]
struct Buffer {
    pointer: *mut u8,
    len: usize,
    writable: bool,
}

/// Buffers of one run. Each is borrowed for `'a`; a writable one exclusively.
#[derive(Default)]
pub struct Memory<'a> {
    lists: Lists,
    borrow: PhantomData<&'a mut [u8]>,
}

/// What a memory lists, kept from one run to the next so that none is allocated again.
#[derive(Default)]
pub struct Lists {
    buffers: Vec<Buffer>,
    /// Those of the last [`Memory::streams`].
    streams: Vec<Stream>,
}

impl std::fmt::Debug for Lists {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lists")
    }
}

impl<'a> Memory<'a> {
    /// Makes room for that many buffers.
    pub fn with_capacity(n: usize) -> Memory<'a> {
        Memory::reusing(Lists { buffers: Vec::with_capacity(n), streams: vec![] })
    }

    /// One without buffers, whose lists are those of another that is gone.
    pub fn reusing(mut lists: Lists) -> Memory<'a> {
        lists.buffers.clear();
        lists.streams.clear();
        Memory { lists, borrow: PhantomData }
    }

    /// Its lists, for the next.
    pub fn into_lists(self) -> Lists {
        self.lists
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
        self.lists.buffers.push(Buffer { pointer, len, writable });
        self.lists.buffers.len() - 1
    }

    /// Lends a span for writing, and others for reading. Buffers have the numbers that a program gives them:
    /// number `i` is buffer `names[i]`.
    ///
    /// # Panics
    /// If a span is outside its buffer, is written but read-only, or overlaps with one that is written: a
    /// plan that does this is wrong, and its result would be too.
    pub fn lend<'s>(
        &'s mut self,
        reads: impl Iterator<Item = &'s Span>,
        write: &Span,
        names: &'s [usize],
    ) -> (Lent<'s, 'a>, &'s mut [u8]) {
        let target = self.target(write, names);
        let lent = self.lent(reads, Targets::One(target), names);
        let bytes = lent.writable(lent.targets.as_slice().first().expect("there is one"));
        (lent, bytes)
    }

    /// As [`lend`](Memory::lend), for several spans to write, of which no two overlap.
    ///
    /// # Panics
    /// As [`lend`](Memory::lend).
    pub fn lend_all<'s>(
        &'s mut self,
        reads: impl Iterator<Item = &'s Span>,
        writes: &[&Span],
        names: &'s [usize],
    ) -> (Lent<'s, 'a>, Vec<&'s mut [u8]>) {
        let targets: Vec<Target> = writes.iter().map(|write| self.target(write, names)).collect();
        for (i, (buffer, range)) in targets.iter().enumerate() {
            let apart = |(other, bytes): &Target| other != buffer || disjoint(bytes, range);
            assert!(targets[..i].iter().all(apart), "a step writes the same bytes twice");
        }
        let lent = self.lent(reads, Targets::Many(targets), names);
        let bytes = lent.targets.as_slice().iter().map(|target| lent.writable(target)).collect();
        (lent, bytes)
    }

    /// As [`lend_all`](Memory::lend_all), as streams that are numbered: first those to read, then those to
    /// write. Operand `i` may be result `j`, byte for byte, if `in_place(i, j)`.
    ///
    /// # Panics
    /// As [`lend`](Memory::lend).
    pub fn streams<'s>(
        &'s mut self,
        reads: impl ExactSizeIterator<Item = &'s Span>,
        writes: impl ExactSizeIterator<Item = &'s Span> + Clone,
        names: &[usize],
        in_place: impl Fn(usize, usize) -> bool,
    ) -> Streams<'s> {
        let Lists { buffers, streams } = &mut self.lists;
        find(buffers, reads, writes, names, in_place, streams);
        Streams { streams: Cow::Borrowed(streams), borrow: PhantomData }
    }

    /// As [`streams`](Memory::streams), for as long as the buffers are borrowed. Whoever makes slices of them
    /// holds this memory exclusively meanwhile ([`address`](Memory::address)).
    pub fn resolve<'s>(
        &self,
        reads: impl ExactSizeIterator<Item = &'s Span>,
        writes: impl ExactSizeIterator<Item = &'s Span> + Clone,
        names: &[usize],
        in_place: impl Fn(usize, usize) -> bool,
    ) -> Streams<'a> {
        let mut streams = Vec::new();
        find(&self.lists.buffers, reads, writes, names, in_place, &mut streams);
        Streams { streams: Cow::Owned(streams), borrow: PhantomData }
    }

    /// Binds a step to the buffers, so that its spans are found and checked once.
    ///
    /// # Panics
    /// As [`lend`](Memory::lend).
    pub fn bond<'s>(
        &self,
        reads: impl ExactSizeIterator<Item = &'s Span>,
        writes: impl ExactSizeIterator<Item = &'s Span> + Clone,
        names: &[usize],
    ) -> Bond<'a> {
        let count = reads.len();
        Bond {
            streams: self.resolve(reads, writes, names, |_, _| false),
            reads: count,
            address: self.address(),
        }
    }

    /// Where its list of buffers is: another memory has it elsewhere, and so has this one when buffers were
    /// added.
    pub fn address(&self) -> usize {
        self.lists.buffers.as_ptr() as usize
    }

    /// The bytes of a buffer.
    pub fn bytes(&self, buffer: usize) -> &[u8] {
        let Buffer { pointer, len, .. } = self.lists.buffers[buffer];
        // SAFETY: the buffer is borrowed for longer than `&self`, during which nothing is lent for writing.
        unsafe { std::slice::from_raw_parts(pointer.cast_const(), len) }
    }

    /// The bytes of a buffer, to be written.
    ///
    /// # Panics
    /// If it is read-only.
    pub fn bytes_mut(&mut self, buffer: usize) -> &mut [u8] {
        let Buffer { pointer, len, writable } = self.lists.buffers[buffer];
        assert!(writable, "buffer {buffer} is read-only");
        // SAFETY: the buffer is borrowed exclusively for longer than `&mut self`, during which nothing else
        // is lent.
        unsafe { std::slice::from_raw_parts_mut(pointer, len) }
    }

    /// Where a span is that is to be written.
    fn target(&self, write: &Span, names: &[usize]) -> Target {
        let target = names[write.buffer];
        assert!(self.lists.buffers[target].writable, "buffer {target} is read-only");
        assert!(inside(&write.range, self.lists.buffers[target].len), "span outside of its buffer");
        (target, write.range.clone())
    }

    fn lent<'s>(
        &'s mut self,
        reads: impl Iterator<Item = &'s Span>,
        targets: Targets,
        names: &'s [usize],
    ) -> Lent<'s, 'a> {
        let lent = Lent { memory: self, names, targets };
        for read in reads {
            lent.readable(read);
        }
        lent
    }
}

/// See [`Memory::streams`].
fn find<'s>(
    buffers: &[Buffer],
    reads: impl ExactSizeIterator<Item = &'s Span>,
    writes: impl ExactSizeIterator<Item = &'s Span> + Clone,
    names: &[usize],
    in_place: impl Fn(usize, usize) -> bool,
    streams: &mut Vec<Stream>,
) {
    streams.clear();
    let targets = || writes.clone().map(|span| (names[span.buffer], &span.range)).enumerate();
    for (i, span) in reads.enumerate() {
        let buffer = names[span.buffer];
        let Buffer { pointer, len, .. } = buffers[buffer];
        assert!(inside(&span.range, len), "span outside of its buffer");
        let mut alias = None;
        for (j, (_, range)) in
            targets().filter(|(_, (target, range))| overlap((buffer, &span.range), (*target, range)))
        {
            assert!(span.range == *range && in_place(i, j), "a step writes what it reads");
            alias = Some(j);
        }
        let pointer = pointer.wrapping_add(span.range.start);
        streams.push(Stream { pointer, len: span.range.len(), writable: false, alias });
    }
    for (i, span) in writes.clone().enumerate() {
        let buffer = names[span.buffer];
        let Buffer { pointer, len, writable } = buffers[buffer];
        assert!(writable, "buffer {buffer} is read-only");
        assert!(inside(&span.range, len), "span outside of its buffer");
        let apart =
            targets().take(i).all(|(_, (other, bytes))| !overlap((buffer, &span.range), (other, bytes)));
        assert!(apart, "a step writes the same bytes twice");
        let pointer = pointer.wrapping_add(span.range.start);
        streams.push(Stream { pointer, len: span.range.len(), writable: true, alias: None });
    }
}

/// What a step reads and writes, found once in a memory.
pub struct Bond<'a> {
    streams: Streams<'a>,
    /// The first of the streams, which are read.
    reads: usize,
    /// Of the memory.
    address: usize,
}

impl<'a> Bond<'a> {
    /// The bytes of the operands, and of the results.
    ///
    /// # Panics
    /// If `memory` is not the one that it is of, or there are not as many of each.
    pub fn slices<'s, const R: usize, const W: usize>(
        &'s self,
        memory: &'s mut Memory<'a>,
    ) -> ([&'s [u8]; R], [&'s mut [u8]; W]) {
        assert!(memory.address() == self.address, "a step is bound to other memory");
        assert!(R == self.reads && R + W == self.streams.count(), "a step has other operands and results");
        let read = |i: usize| {
            let stream = self.streams.get(i);
            // SAFETY: inside of a buffer that is borrowed for 'a, and apart from all that is written (checked
            // when it was bound). `memory`, through which alone slices are made, is held exclusively for 's.
            unsafe { std::slice::from_raw_parts(stream.pointer().cast_const(), stream.bytes()) }
        };
        let write = |i: usize| {
            let stream = self.streams.get(R + i);
            // SAFETY: as above; the buffer is writable, and results are apart from each other.
            unsafe { std::slice::from_raw_parts_mut(stream.pointer(), stream.bytes()) }
        };
        (std::array::from_fn(read), std::array::from_fn(write))
    }
}

/// Values in memory that threads read and write, each elements of its own.
pub struct Streams<'s> {
    streams: Cow<'s, [Stream]>,
    borrow: PhantomData<&'s mut [u8]>,
}

// SAFETY: the pointers are to memory that is borrowed for 's. Whoever makes slices of them (the tile VM)
// sees to it that threads write different elements, and read none that another writes.
unsafe impl Sync for Streams<'_> {}

impl Streams<'_> {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.streams.len()
    }

    /// The stream with that number.
    pub fn get(&self, number: usize) -> &Stream {
        &self.streams[number]
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
    /// Where it starts.
    pub fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    /// Its bytes.
    pub fn bytes(&self) -> usize {
        self.len
    }

    /// Whether it may be written.
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// The result that lies where it does.
    pub fn alias(&self) -> Option<usize> {
        self.alias
    }
}

/// A buffer's number and bytes in it.
type Target = (usize, Range<usize>);

/// What is written. The usual single span needs no vector.
enum Targets {
    One(Target),
    Many(Vec<Target>),
}

impl Targets {
    fn as_slice(&self) -> &[Target] {
        match self {
            Targets::One(target) => std::slice::from_ref(target),
            Targets::Many(targets) => targets,
        }
    }
}

/// The spans that [`Memory::lend`] lent for reading.
pub struct Lent<'s, 'a> {
    memory: &'s Memory<'a>,
    names: &'s [usize],
    targets: Targets,
}

impl<'s> Lent<'s, '_> {
    /// A span to read.
    ///
    /// # Panics
    /// As [`Memory::lend`].
    pub fn read(&self, span: &Span) -> &'s [u8] {
        let pointer = self.readable(span);
        // SAFETY: within a buffer that is borrowed for longer than 's, and apart from the spans that are
        // written.
        unsafe { std::slice::from_raw_parts(pointer.cast_const(), span.range.len()) }
    }

    /// Where a span starts that may be read.
    fn readable(&self, span: &Span) -> *mut u8 {
        let buffer = self.names[span.buffer];
        let Buffer { pointer, len, .. } = self.memory.lists.buffers[buffer];
        assert!(inside(&span.range, len), "span outside of its buffer");
        let apart = |(target, range): &Target| buffer != *target || disjoint(&span.range, range);
        assert!(self.targets.as_slice().iter().all(apart), "a step writes what it reads");
        // SAFETY: inside of the buffer.
        unsafe { pointer.add(span.range.start) }
    }

    /// The bytes of a target. Called once for each.
    fn writable(&self, (buffer, range): &Target) -> &'s mut [u8] {
        // SAFETY: the span lies within a writable buffer, which is borrowed exclusively for 'a, and overlaps
        // with no other target and no span that is read (all checked when it was lent, and again in `read`);
        // `&mut self` of `lend` is held by the result, so that nothing else is lent meanwhile.
        unsafe {
            std::slice::from_raw_parts_mut(
                self.memory.lists.buffers[*buffer].pointer.add(range.start),
                range.len(),
            )
        }
    }
}

fn inside(range: &Range<usize>, len: usize) -> bool {
    range.start <= range.end && range.end <= len
}

fn overlap((a, in_a): (usize, &Range<usize>), (b, in_b): (usize, &Range<usize>)) -> bool {
    a == b && !disjoint(in_a, in_b)
}

fn disjoint(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.is_empty() || b.is_empty() || a.end <= b.start || b.end <= a.start
}
/// Bytes from which memory has pages of its own, which go back to the system with it (mallopt(3),
/// `M_MMAP_THRESHOLD`). Advice about less would stay with the heap: every small piece that comes to lie there
/// would cost a huge page to be cleared.
const OWN_PAGES: usize = 32 << 20;

/// A vector of zeros (`FALSE`), for temporary values of a tensor's size.
///
/// # Panics
/// With [`OutOfMemory`](crate::growth::OutOfMemory) if it cannot be had.
pub fn zeroed<T: Copy + Default>(n: usize) -> Vec<T> {
    let mut out: Vec<T> = Vec::new();
    reserve(&mut out, n);
    let bytes = n * std::mem::size_of::<T>();
    if bytes >= OWN_PAGES {
        block_allocator::advise(out.as_mut_ptr().cast(), bytes);
    }
    while out.len() < n {
        // In parts between which it may be stopped: these pages are touched for the first time.
        let part = (OWN_PAGES / std::mem::size_of::<T>().max(1)).min(n - out.len());
        out.resize(out.len() + part, T::default());
        stop::work(if out.len() < n { stop::EVERY } else { 0 });
    }
    out
}

/// Owned bytes, aligned for every dtype: 16-byte units.
#[derive(Default, Clone, Debug)]
pub struct AlignedBytes(Vec<u128>, usize);

impl AlignedBytes {
    /// Zeroed bytes.
    ///
    /// # Panics
    /// With [`OutOfMemory`](crate::growth::OutOfMemory) if they cannot be had.
    pub fn zeroed(len: usize) -> AlignedBytes {
        AlignedBytes(zeroed(len.div_ceil(16)), len)
    }

    /// Grows to at least `len` bytes; the content is unspecified after.
    pub fn reserve(&mut self, len: usize) {
        if len > self.1 {
            *self = AlignedBytes::zeroed(len);
        }
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.1 == 0
    }

    /// Appends a unit of 16 bytes.
    pub fn push(&mut self, unit: [u8; 16]) {
        self.0.truncate(self.1.div_ceil(16));
        self.0.push(u128::from_ne_bytes(unit));
        self.1 = 16 * self.0.len();
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
        let (a, b, target) = (span(0, 1..3), span(1, 0..2), span(1, 2..4));
        let (lent, bytes) = memory.lend([&a, &b].into_iter(), &target, &[0, 1]);
        assert_eq!((lent.read(&a), lent.read(&b)), (&[2u8, 3][..], &[0u8, 0][..]));
        bytes.copy_from_slice(&[7, 8]);
        // Number 2 stands for buffer 1.
        let names = [0, 1, 1];
        let (all, none) = (span(2, 0..4), span(1, 0..0));
        assert_eq!(memory.lend([&all].into_iter(), &none, &names).0.read(&all), [0, 0, 7, 8]);
        // Two targets at once.
        let (first, last) = (span(1, 0..1), span(2, 3..4));
        let (lent, mut targets) = memory.lend_all([&a].into_iter(), &[&first, &last], &names);
        targets[1].copy_from_slice(&lent.read(&a)[1..]);
        targets[0].copy_from_slice(&[5]);
        assert_eq!(memory.lend([&all].into_iter(), &none, &names).0.read(&all), [5, 0, 7, 3]);
    }

    #[test]
    #[should_panic(expected = "the same bytes twice")]
    fn refuses_targets_that_overlap() {
        let mut write = [0u8; 4];
        let mut memory = Memory::with_capacity(1);
        memory.add_write(&mut write);
        memory.lend_all([].into_iter(), &[&span(0, 0..3), &span(0, 2..4)], &[0]);
    }

    #[test]
    fn refuses_what_would_alias() {
        let refused = |reads: &[Span], target: Span, later: Option<Span>| {
            let (read, mut write) = ([0u8; 4], [0u8; 4]);
            let mut memory = Memory::with_capacity(2);
            memory.add_read(&read);
            memory.add_write(&mut write);
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let (lent, _) = memory.lend(reads.iter(), &target, &[0, 1, 1]);
                later.map(|span| lent.read(&span).len());
            }))
            .is_err()
        };
        assert!(refused(&[span(1, 0..3)], span(1, 2..4), None));
        assert!(refused(&[span(2, 0..3)], span(1, 2..4), None));
        assert!(refused(&[], span(1, 2..4), Some(span(1, 3..4))));
        assert!(refused(&[], span(0, 0..1), None));
        assert!(refused(&[span(0, 0..5)], span(1, 0..1), None));
        assert!(refused(&[], span(1, 0..5), None));
        assert!(!refused(&[span(1, 0..2)], span(1, 2..4), Some(span(0, 0..4))));
    }
}
