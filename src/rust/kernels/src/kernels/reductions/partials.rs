//! Building blocks of folds: the lanes of a tile, partial results, and the elements of several results'
//! tiles.

use crate::dtype::{Element, Float};
use crate::kernels::tile::gather_run;
use std::ops::Range;

/// The partial result of one tile, as the bytes of an element: of the accumulator's type for sums and
/// products; for squares of deviations it is their sum and the mean.
pub type Partial = [u8; PARTIAL];

/// Bytes of a [`Partial`].
pub const PARTIAL: usize = 16;

/// Lanes in which a tile is folded. More would not be faster, since memory is the limit.
pub const LANES: usize = 8;

/// As many elements as there are lanes, from one on: of those beyond the end of `x`, any.
///
/// So what is left of a tile is taken as a vector, some lanes of which do not count. For a loop over those that do
/// the compiler keeps lanes in memory, and loads of vectors wait for its stores: that took half of the time of
/// folds of 66 elements.
#[inline(always)]
pub(super) fn lanes_from<T: Element>(x: &[T], start: usize) -> [T; LANES] {
    let mut out = [T::default(); LANES];
    match x.get(start..start + LANES) {
        Some(all) => out.copy_from_slice(all),
        None => out.iter_mut().zip(&x[start..]).for_each(|(out, &x)| *out = x),
    }
    out
}

/// The fold of the lanes of a tile of `N` elements: the later half joined to the earlier, until one is left. Of fewer
/// elements than lanes, those that have one.
///
/// As one expression: an array of the lanes the compiler keeps in memory, where loads of vectors wait for stores of
/// elements.
#[inline(always)]
pub(super) fn joined_few<A, const N: usize>(lane: impl Fn(usize) -> A, join: impl Fn(A, A) -> A) -> A {
    const { assert!(LANES == 8 && N > 0) };
    let four = |i: usize| if i + 4 < N { join(lane(i), lane(i + 4)) } else { lane(i) };
    let two = |i: usize| if i + 2 < N { join(four(i), four(i + 2)) } else { four(i) };
    if N > 1 {
        join(two(0), two(1))
    } else {
        two(0)
    }
}

/// Elements of a tile that is folded without loops, at most: each lane has two.
pub(super) const SHORT: usize = 2 * LANES;

/// Calls a function of the number of elements of a tile, which it is to know: `$call` is the macro that calls it.
macro_rules! of_known_length {
    ($each:expr, $call:ident, $otherwise:expr) => {
        match $each {
            1 => $call!(1),
            2 => $call!(2),
            3 => $call!(3),
            4 => $call!(4),
            5 => $call!(5),
            6 => $call!(6),
            7 => $call!(7),
            8 => $call!(8),
            9 => $call!(9),
            10 => $call!(10),
            11 => $call!(11),
            12 => $call!(12),
            13 => $call!(13),
            14 => $call!(14),
            15 => $call!(15),
            16 => $call!(16),
            _ => $otherwise,
        }
    };
}
pub(super) use of_known_length;

/// Gives pieces of work to the function that it is called with, in order.
pub type Each<'a, T> = &'a mut dyn FnMut(&mut dyn FnMut(T));

/// Positions of the tiles of several results: element `j` of result `i` is at `first + i * stride +
/// offsets[j]`.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// The first element of the first result.
    pub first: isize,
    /// From one result to the next.
    pub stride: isize,
    /// The elements of a tile, from the first of each result.
    pub offsets: Offsets<'a>,
}

/// The offsets of a tile's elements.
#[derive(Clone, Copy, Debug)]
pub enum Offsets<'a> {
    /// So many from this one on, each so much after the one before.
    Steps(usize, isize, isize),
    /// These.
    List(&'a [isize]),
}

#[allow(clippy::len_without_is_empty)] // A tile has elements.
impl Offsets<'_> {
    /// Their number.
    pub fn len(&self) -> usize {
        match self {
            Offsets::Steps(n, ..) => *n,
            Offsets::List(offsets) => offsets.len(),
        }
    }

    /// The offset of element `j`.
    #[inline]
    pub(super) fn at(&self, j: usize) -> isize {
        match self {
            Offsets::Steps(_, first, step) => first + j as isize * step,
            Offsets::List(offsets) => offsets[j],
        }
    }

    /// The first `n`.
    pub(super) fn first(self, n: usize) -> Self {
        match self {
            Offsets::Steps(_, first, step) => Offsets::Steps(n, first, step),
            Offsets::List(offsets) => Offsets::List(&offsets[..n]),
        }
    }
}

/// A type that an accumulator is converted to: a partial result, or the result itself.
pub trait Made: Sized {
    /// The conversion.
    fn made<A: Element>(acc: A) -> Self;
}

impl Made for Partial {
    fn made<A: Element>(acc: A) -> Partial {
        acc.to_bytes()
    }
}

impl<T: Element> Made for T {
    fn made<A: Element>(acc: A) -> T {
        acc.convert()
    }
}

/// Results from which on lanes are accumulated one after the other; for fewer, elements of consecutive
/// offsets form one run, if they are contiguous.
const LONG: usize = 512;

impl Rows<'_> {
    /// Whether tiles of `len` results are one run of elements, and best taken so.
    pub(super) fn are_together(&self, len: usize) -> bool {
        let side_by_side = || match self.offsets {
            Offsets::Steps(_, _, step) => step == len as isize,
            Offsets::List(offsets) => offsets.windows(2).all(|pair| pair[1] - pair[0] == len as isize),
        };
        self.stride == 1 && len < LONG && self.offsets.len() >= LANES && side_by_side()
    }

    /// Gives the elements of `len` results in runs, up to four at a time, with the accumulators that they are
    /// for: those of the first lane of all results, then those of the second, in so many `lanes`. A run that
    /// is longer than these begins again with the first of them.
    pub(super) fn each<T: Element>(
        &self,
        x: &[T],
        len: usize,
        lanes: usize,
        together: bool,
        take: &mut dyn FnMut(Range<usize>, &[&[T]]),
    ) {
        let Rows { first, stride, offsets } = *self;
        let at = |j: usize| first + offsets.at(j);
        if together {
            let all = &x[at(0) as usize..][..offsets.len() * len];
            return take(0..LANES * len, &[all]);
        }
        for lane in 0..lanes {
            let starts = &mut (lane..offsets.len()).step_by(lanes).map(at);
            runs(x, len, stride, starts, &mut |runs| take(lane * len..(lane + 1) * len, runs));
        }
    }
}

/// Folds the later half of the lanes of `len` results into the earlier, until one is left.
pub(super) fn halve<A>(acc: &mut [A], len: usize, others: fn(&mut [A], &[A])) {
    let mut half = LANES / 2;
    while half > 0 {
        let (low, high) = acc.split_at_mut((half * len).min(acc.len()));
        others(low, &high[..high.len().min(half * len)]);
        half /= 2;
    }
}

/// Gives runs of `n` elements, `stride` apart: four at a time, as accumulators are loaded and stored each
/// time, and as the processor fetches several lines of memory ahead. What is left comes in a shorter list.
fn runs<T: Element>(
    x: &[T],
    n: usize,
    stride: isize,
    starts: &mut dyn Iterator<Item = isize>,
    take: &mut dyn FnMut(&[&[T]]),
) {
    let mut scratch = if stride == 1 { vec![] } else { vec![T::default(); 4 * n] };
    loop {
        let (mut four, mut count) = ([0; 4], 0);
        for (slot, start) in four.iter_mut().zip(&mut *starts) {
            (*slot, count) = (start, count + 1);
        }
        let run: [&[T]; 4] = if stride == 1 {
            std::array::from_fn(|i| if i < count { &x[four[i] as usize..][..n] } else { &[][..] })
        } else {
            for (i, run) in scratch.chunks_exact_mut(n.max(1)).take(count).enumerate() {
                gather_run(x, four[i], stride, run);
            }
            std::array::from_fn(|i| if i < count { &scratch[i * n..][..n] } else { &[][..] })
        };
        if count > 0 {
            take(&run[..count]);
        }
        if count < 4 {
            return;
        }
    }
}

/// A running sum with Neumaier's correction. An empty sum is 0, but a sum of -0 alone is -0.
///
/// Source: A. Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", ZAMM 54
/// (1974).
#[derive(Clone, Copy, Default)]
pub(super) struct Compensated<F> {
    sum: F,
    correction: F,
    started: bool,
}

impl<F: Float> Compensated<F> {
    pub(super) fn add(&mut self, term: F) {
        if !std::mem::replace(&mut self.started, true) {
            self.sum = term;
            return;
        }
        let next = self.sum + term;
        if next.f64().is_finite() {
            let larger_first = self.sum.abs() >= term.abs();
            let lost = if larger_first { (self.sum - next) + term } else { (term - next) + self.sum };
            self.correction = self.correction + lost;
        }
        self.sum = next;
    }

    pub(super) fn total(&self) -> F {
        if self.correction == F::of(0.0) {
            self.sum
        } else {
            self.sum + self.correction
        }
    }
}
