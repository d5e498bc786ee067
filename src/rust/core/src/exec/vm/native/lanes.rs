//! The run of a loop in native code on lanes: some of the lanes go through all iterations before the next ones do. What a
//! loop carries, and what else it reads, is copied to where vectors of lanes lie side by side, but for slices, which are
//! read and written where they lie. Threads share the lanes of a long run.

use super::loops::Call;
use super::native_loop::Shared;
use super::{Buffer, NativeLoop, LOOP_VECTOR};
use crate::dtype::DType;
use crate::kernels::memory::AlignedBytes;
use crate::kernels::threads::{pool, threads};
use crate::tensor::{View, ViewMut};
use std::any::Any;
use std::cell::Cell;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

/// What becomes of an argument of the code for some of the lanes.
#[derive(Debug)]
pub enum Along {
    /// It is the same.
    Same,
    /// It is carried, the same for all lanes, and has so many bytes.
    State(usize),
    /// Its lanes are copied to vectors, and from there if it is carried.
    Copied(Copied),
    /// It is where it was, but for the distance of a lane.
    Moved(Moved),
}

/// Elements that are copied to vectors.
#[derive(Debug)]
pub struct Copied {
    /// The number of each element of the first lane.
    pub offsets: Vec<usize>,
    /// Elements between two lanes.
    pub stride: usize,
    /// Their dtype.
    pub dtype: DType,
    /// Bytes of a lane.
    pub lane: usize,
}

/// Bytes between two lanes.
#[derive(Debug)]
pub struct Moved {
    /// See there.
    pub lane: usize,
}

/// A loop on lanes.
#[derive(Debug)]
pub struct Lanes {
    /// The number of lanes.
    pub count: usize,
    /// How many are in a vector.
    pub together: usize,
    /// How many vectors are computed together.
    pub copies: usize,
    /// Of each argument but the scratch memory.
    pub along: Vec<Along>,
    /// Arguments that are carried: the first.
    pub carried: usize,
    /// Those after them that are read; the others are written.
    pub read: usize,
    /// Iterations, at most.
    pub length: usize,
    /// Whether slices are taken from the last on.
    pub reverse: bool,
    /// Whether it says itself whether there is another iteration.
    pub tested: bool,
}

thread_local! {
    /// A list of results that loops reuse.
    static RESULTS: Cell<Vec<Shared>> = const { Cell::new(vec![]) };
}

/// What a position out of range leaves the lanes with.
struct Outside;

/// What is called for a position that is out of range: the error names the element, by its number among all lanes, so it is
/// left to the plan of the loop to raise it.
pub fn leave() -> Call {
    Call { operands: vec![], results: vec![], run: Box::new(|_, _| resume_unwind(Box::new(Outside))) }
}

impl Along {
    /// Bytes of the memory that it is copied to.
    fn bytes(&self) -> usize {
        match self {
            Along::Same | Along::Moved(_) => 0,
            Along::State(bytes) => bytes.next_multiple_of(LOOP_VECTOR),
            Along::Copied(copied) => copied.offsets.len() * LOOP_VECTOR,
        }
    }

    /// Bytes of the argument from those of a vector of so many lanes to those of the next; 0 if it is the same for all.
    pub fn apart(&self, lanes: usize) -> usize {
        match self {
            Along::Same | Along::State(_) => 0,
            Along::Copied(_) => self.bytes(),
            Along::Moved(Moved { lane }) => lane * lanes,
        }
    }
}

/// Half a vector.
const HALF: usize = LOOP_VECTOR / 2;

impl Copied {
    /// Bytes of the lanes of a vector that lie side by side in memory too, if they do: all of one, or half of it.
    fn run(&self, together: usize) -> Option<usize> {
        let bytes = self.dtype.bytes();
        (self.stride == 1 && self.dtype != DType::I1).then_some(together * bytes)
    }

    /// Copies the lanes from one on to vectors. Copies of a known size are no calls.
    fn gather(&self, x: &[u8], first: usize, together: usize, to: &mut [u8]) {
        let (bytes, run, vectors) =
            (self.dtype.bytes(), self.run(together), to.chunks_exact_mut(LOOP_VECTOR));
        for (&offset, vector) in self.offsets.iter().zip(vectors) {
            let start = offset + first * self.stride;
            match run {
                Some(LOOP_VECTOR) => vector.copy_from_slice(&x[start * bytes..][..LOOP_VECTOR]),
                // Lanes are there twice where others are wider.
                Some(HALF) => vector
                    .chunks_exact_mut(HALF)
                    .for_each(|to| to.copy_from_slice(&x[start * bytes..][..HALF])),
                _ => {
                    for (i, lane) in vector.chunks_exact_mut(self.lane).enumerate() {
                        let x = &x[(start + i % together * self.stride) * bytes..];
                        match bytes {
                            1 => lane.fill(0u8.wrapping_sub(x[0])),
                            4 => lane.copy_from_slice(&x[..4]),
                            _ => lane.copy_from_slice(&x[..8]),
                        }
                    }
                }
            }
        }
    }

    /// Copies vectors back.
    ///
    /// # Safety
    /// No other thread writes these lanes.
    unsafe fn scatter(&self, from: &[u8], first: usize, together: usize, out: &Shared) {
        let (bytes, run, vectors) = (self.dtype.bytes(), self.run(together), from.chunks_exact(LOOP_VECTOR));
        for (&offset, vector) in self.offsets.iter().zip(vectors) {
            let start = offset + first * self.stride;
            // SAFETY: by the caller.
            match run {
                Some(LOOP_VECTOR) => unsafe { out.put(start * bytes, &vector[..LOOP_VECTOR]) },
                Some(HALF) => unsafe { out.put(start * bytes, &vector[..HALF]) },
                _ => {
                    for (i, lane) in vector.chunks_exact(self.lane).take(together).enumerate() {
                        let at = (start + i * self.stride) * bytes;
                        // SAFETY: by the caller.
                        unsafe {
                            match bytes {
                                1 => out.put(at, &[lane[0] & 1]),
                                4 => out.put(at, &lane[..4]),
                                _ => out.put(at, &lane[..8]),
                            }
                        }
                    }
                }
            }
        }
    }
}

impl Lanes {
    /// Bytes of the memory that arguments are copied to.
    pub fn bytes(&self) -> usize {
        self.along.iter().map(|along| self.copied(along)).sum()
    }

    /// Bytes of that memory for an argument: those of each vector of lanes, if it has lanes.
    fn copied(&self, along: &Along) -> usize {
        match along {
            Along::Copied(_) => along.bytes() * self.copies,
            Along::Same | Along::State(_) | Along::Moved(_) => along.bytes(),
        }
    }

    /// Parts that threads share, if a run takes about so many picoseconds: each has blocks of lanes of its own. There are more
    /// than threads, since a helper that slept arrives late.
    pub fn parts(&self, picoseconds: usize) -> usize {
        let (_, written) = self.along.split_at(self.carried + self.read);
        // What is the same for all lanes has one place.
        let one = written.iter().any(|along| matches!(along, Along::Same));
        if one || threads() == 1 || picoseconds < pool::WORTH_SHARING {
            return 1;
        }
        (2 * threads()).min(self.blocks() / 2).max(1)
    }

    /// Lanes that are computed together.
    fn block(&self) -> usize {
        self.together * self.copies
    }

    fn blocks(&self) -> usize {
        self.count.div_ceil(self.block())
    }

    /// Runs a loop with this code, of which an iteration reports `work`, with these operands and results, in so many parts, for
    /// each of which there is memory. `false` if a position was out of range: results are unknown then.
    pub fn run<'a>(
        &self,
        code: (&NativeLoop, usize),
        operands: impl Iterator<Item = &'a View<'a>> + Clone + Sync,
        results: &mut [ViewMut],
        parts: usize,
        memory: [&mut AlignedBytes; 2],
    ) -> bool {
        let blocks = self.blocks();
        let sizes = [0, 1].map(|i| memory[i].len() / parts);
        // SAFETY: they are borrowed until the end, and each part has bytes of its own, and results of its own lanes.
        let memory = memory.map(|memory| unsafe { Shared::of(memory.as_mut_slice()) });
        let mut all = RESULTS.take();
        // SAFETY: as above.
        all.extend(results.iter_mut().map(|out| unsafe { Shared::of(out.data) }));
        let results = &all[..];
        let part = |part: usize| {
            for block in blocks * part / parts..blocks * (part + 1) / parts {
                // The last lanes are computed twice, by one thread.
                let first = (block * self.block()).min(self.count - self.block());
                // SAFETY: a part has memory of its own, and writes the results of its own lanes.
                unsafe {
                    let own = [0, 1].map(|i| memory[i].from(part * sizes[i]).bytes(sizes[i]));
                    self.some(code, (first, part), operands.clone(), results, own);
                }
            }
        };
        let end = catch_unwind(AssertUnwindSafe(|| pool::for_each_piece(parts, parts > 1, part)));
        all.clear();
        RESULTS.set(all);
        match end {
            Ok(()) => true,
            Err(payload) if is_outside(&*payload) => false,
            Err(payload) => resume_unwind(payload),
        }
    }

    /// Runs the lanes from one on, for a part.
    ///
    /// # Safety
    /// No other thread has the memory, or writes the results of these lanes.
    unsafe fn some<'a>(
        &self,
        (code, work): (&NativeLoop, usize),
        (first, part): (usize, usize),
        operands: impl Iterator<Item = &'a View<'a>> + Clone,
        results: &[Shared],
        [copies, scratch]: [&mut [u8]; 2],
    ) {
        let together = self.together;
        let mut rest = &mut *copies;
        for (along, x) in self.along.iter().zip(operands.clone()) {
            let (own, later) = rest.split_at_mut(self.copied(along));
            rest = later;
            match along {
                Along::State(bytes) => own[..*bytes].copy_from_slice(x.data),
                Along::Copied(copied) => {
                    for (k, own) in own.chunks_exact_mut(along.bytes().max(1)).enumerate() {
                        copied.gather(x.data, first + k * together, together, own);
                    }
                }
                Along::Same | Along::Moved(_) => {}
            }
        }
        let (last, stacks) = results.split_at(self.carried);
        let mut rest = &mut *copies;
        let mut own = |bytes: usize| {
            let (own, later) = std::mem::take(&mut rest).split_at_mut(bytes);
            rest = later;
            own
        };
        let (read, written) = self.along.split_at(self.carried + self.read);
        let read = read.iter().zip(operands).enumerate().map(|(i, (along, x))| match along {
            Along::Same => Buffer::Read(x.data),
            Along::Moved(Moved { lane }) => Buffer::Read(&x.data[first * lane..]),
            Along::State(bytes) => Buffer::Write(&mut own(self.copied(along))[..*bytes]),
            Along::Copied(_) if i < self.carried => Buffer::Write(own(self.copied(along))),
            Along::Copied(_) => Buffer::Read(own(self.copied(along))),
        });
        let written = written.iter().zip(stacks).map(|(along, out)| {
            let from = if let Along::Moved(Moved { lane }) = along { first * lane } else { 0 };
            Buffer::Shared(out.from(from))
        });
        let mut goes_on = [1];
        let test = self.tested.then_some(Buffer::Write(&mut goes_on));
        let buffers = read.chain(written).chain(test).chain([Buffer::Write(scratch)]);
        code.run(buffers, 0..self.length, self.reverse, work);
        let mut rest = &*copies;
        for (along, out) in self.along.iter().zip(last) {
            let (own, later) = rest.split_at(self.copied(along));
            rest = later;
            match along {
                // SAFETY: one part alone writes what is the same for all lanes.
                Along::State(bytes) if part == 0 => unsafe { out.put(0, &own[..*bytes]) },
                Along::Copied(copied) => {
                    for (k, own) in own.chunks_exact(along.bytes().max(1)).enumerate() {
                        // SAFETY: by the caller.
                        unsafe { copied.scatter(own, first + k * together, together, out) };
                    }
                }
                Along::Same | Along::Moved(_) | Along::State(_) => {}
            }
        }
    }
}

fn is_outside(payload: &(dyn Any + Send)) -> bool {
    payload.is::<Outside>()
}
