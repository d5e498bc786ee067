//! The run of a loop in native code on lanes: some of the lanes go through all iterations before the next ones do. What a
//! loop carries, and what else it reads, is copied to where vectors of lanes lie side by side, but for slices, which are
//! read and written where they lie.

use super::vm::native::loops::Call;
use super::vm::native::{Buffer, NativeLoop, LOOP_VECTOR};
use crate::dtype::DType;
use crate::kernels::memory::AlignedBytes;
use crate::tensor::{View, ViewMut};
use std::any::Any;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

/// What becomes of an argument of the code for some of the lanes.
#[derive(Debug)]
pub(super) enum Along {
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
pub(super) struct Copied {
    /// The number of each element of the first lane.
    pub offsets: Vec<usize>,
    /// Elements between two lanes.
    pub stride: usize,
    pub dtype: DType,
    /// Bytes of a lane.
    pub lane: usize,
}

/// Bytes between two lanes.
#[derive(Debug)]
pub(super) struct Moved {
    pub lane: usize,
}

/// A loop on lanes.
#[derive(Debug)]
pub(super) struct Lanes {
    /// The number of lanes, and how many are in a vector.
    pub count: usize,
    pub together: usize,
    /// Of each argument but the scratch memory.
    pub along: Vec<Along>,
    /// Values that are carried, the first, and others that are read; those after them are written.
    pub carried: usize,
    pub read: usize,
    pub length: usize,
    pub reverse: bool,
    /// Whether it says itself whether there is another iteration.
    pub tested: bool,
}

/// What a position out of range leaves the lanes with.
struct Outside;

/// What is called for a position that is out of range: the error names the element, by its number among all lanes, so it is
/// left to the plan of the loop to raise it.
pub(super) fn leave() -> Call {
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
}

impl Copied {
    /// Copies the lanes from one on to vectors.
    fn gather(&self, x: &[u8], first: usize, together: usize, to: &mut [u8]) {
        let (bytes, vectors) = (self.dtype.bytes(), to.chunks_exact_mut(LOOP_VECTOR));
        for (&offset, vector) in self.offsets.iter().zip(vectors) {
            for (i, lane) in vector.chunks_exact_mut(self.lane).enumerate() {
                let at = (offset + (first + i % together) * self.stride) * bytes;
                match self.dtype {
                    DType::I1 => lane.fill(0u8.wrapping_sub(x[at])),
                    _ => lane.copy_from_slice(&x[at..at + bytes]),
                }
            }
        }
    }

    /// Copies vectors back.
    fn scatter(&self, from: &[u8], first: usize, together: usize, out: &mut [u8]) {
        let (bytes, vectors) = (self.dtype.bytes(), from.chunks_exact(LOOP_VECTOR));
        for (&offset, vector) in self.offsets.iter().zip(vectors) {
            for (i, lane) in vector.chunks_exact(self.lane).take(together).enumerate() {
                let at = (offset + (first + i) * self.stride) * bytes;
                match self.dtype {
                    DType::I1 => out[at] = lane[0] & 1,
                    _ => out[at..at + bytes].copy_from_slice(&lane[..bytes]),
                }
            }
        }
    }
}

impl Lanes {
    /// Bytes of the memory that arguments are copied to.
    pub fn bytes(&self) -> usize {
        self.along.iter().map(Along::bytes).sum()
    }

    /// Runs a loop with this code, of which an iteration reports `work`, with these operands and results. `false` if a
    /// position was out of range: results are unknown then.
    pub fn run<'a>(
        &self,
        code: (&NativeLoop, usize),
        operands: impl Iterator<Item = &'a View<'a>> + Clone,
        results: &mut [ViewMut],
        [copies, scratch]: [&mut AlignedBytes; 2],
    ) -> bool {
        let each = || {
            let mut first = 0;
            while first < self.count {
                let lanes = first.min(self.count - self.together);
                self.some(
                    code,
                    lanes,
                    operands.clone(),
                    results,
                    [copies.as_mut_slice(), scratch.as_mut_slice()],
                );
                first += self.together;
            }
        };
        match catch_unwind(AssertUnwindSafe(each)) {
            Ok(()) => true,
            Err(payload) if is_outside(&*payload) => false,
            Err(payload) => resume_unwind(payload),
        }
    }

    /// Runs the lanes from one on.
    fn some<'a>(
        &self,
        (code, work): (&NativeLoop, usize),
        first: usize,
        operands: impl Iterator<Item = &'a View<'a>> + Clone,
        results: &mut [ViewMut],
        [copies, scratch]: [&mut [u8]; 2],
    ) {
        let together = self.together;
        let mut rest = &mut *copies;
        for (along, x) in self.along.iter().zip(operands.clone()) {
            let (own, later) = rest.split_at_mut(along.bytes());
            rest = later;
            match along {
                Along::State(bytes) => own[..*bytes].copy_from_slice(x.data),
                Along::Copied(copied) => copied.gather(x.data, first, together, own),
                Along::Same | Along::Moved(_) => {}
            }
        }
        let (last, stacks) = results.split_at_mut(self.carried);
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
            Along::State(bytes) => Buffer::Write(&mut own(along.bytes())[..*bytes]),
            Along::Copied(_) if i < self.carried => Buffer::Write(own(along.bytes())),
            Along::Copied(_) => Buffer::Read(own(along.bytes())),
        });
        let written = written.iter().zip(stacks).map(|(along, out)| match along {
            Along::Moved(Moved { lane }) => Buffer::Write(&mut out.data[first * lane..]),
            Along::Same | Along::State(_) | Along::Copied(_) => Buffer::Write(out.data),
        });
        let mut goes_on = [1];
        let test = self.tested.then_some(Buffer::Write(&mut goes_on));
        let buffers = read.chain(written).chain(test).chain([Buffer::Write(scratch)]);
        code.run(buffers, 0..self.length, self.reverse, work);
        let mut rest = &*copies;
        for (along, out) in self.along.iter().zip(last) {
            let (own, later) = rest.split_at(along.bytes());
            rest = later;
            match along {
                Along::State(bytes) => out.data.copy_from_slice(&own[..*bytes]),
                Along::Copied(copied) => copied.scatter(own, first, together, out.data),
                Along::Same | Along::Moved(_) => {}
            }
        }
    }
}

fn is_outside(payload: &(dyn Any + Send)) -> bool {
    payload.is::<Outside>()
}
