//! What folds are made of: the parts of a tile, what a tile leaves, where the tiles of several results lie.

use crate::dtype::{Element, Float};
use crate::kernels::tile::gather_run;
use std::ops::Range;

/// What a fold makes of one tile of elements, as the bytes of an element: of the accumulator's type for sums
/// and products; for squares of deviations it is their sum and the mean.
pub type Partial = [u8; PARTIAL];

/// Bytes of a [`Partial`].
pub const PARTIAL: usize = 16;

/// Parts in which a tile is folded. More would not be faster, as memory is what is waited for.
pub const LANES: usize = 8;

/// Gives pieces of work to the function that it is called with, in order.
pub type Each<'a, T> = &'a mut dyn FnMut(&mut dyn FnMut(T));

/// Where the tiles of several results lie: element `j` of result `i` at `first + i * stride + places[j]`.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// The first element of the first result.
    pub first: isize,
    /// From one result to the next.
    pub stride: isize,
    /// The elements of a tile, from the first of each result.
    pub places: &'a [isize],
}

/// What an accumulator becomes: a partial result, or the result itself.
pub trait Made: Sized {
    /// It.
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

/// Results from which a lane is made after the other; of fewer, all are one run where the elements of one
/// place follow those of the one before.
const LONG: usize = 512;

impl Rows<'_> {
    /// Whether tiles of `len` results are one run of elements, and best taken so.
    pub(super) fn are_together(&self, len: usize) -> bool {
        let side_by_side = || self.places.windows(2).all(|pair| pair[1] - pair[0] == len as isize);
        self.stride == 1 && len < LONG && self.places.len() >= LANES && side_by_side()
    }

    /// Gives the elements of `len` results in runs, up to four at a time, with the accumulators that they are
    /// for: those of the first part of a tile of all results, then those of the second, in so many `lanes`.
    pub(super) fn each<T: Element>(
        &self,
        x: &[T],
        len: usize,
        lanes: usize,
        together: bool,
        take: &mut dyn FnMut(Range<usize>, &[&[T]]),
    ) {
        let Rows { first, stride, places } = *self;
        let at = |j: usize| first + places[j];
        if together {
            let whole = places.len() / LANES;
            let (all, rest) = (LANES * len, places.len() % LANES * len);
            runs(x, all, 1, &mut (0..whole).map(|i| at(i * LANES)), &mut |runs| take(0..all, runs));
            runs(x, rest, 1, &mut (whole * LANES..places.len()).take(1).map(at), &mut |runs| {
                take(0..rest, runs)
            });
            return;
        }
        for lane in 0..lanes {
            let starts = &mut (lane..places.len()).step_by(lanes).map(at);
            runs(x, len, stride, starts, &mut |runs| take(lane * len..(lane + 1) * len, runs));
        }
    }
}

/// Takes the later half of the parts of `len` results into the earlier, until one is left.
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
#[derive(Default)]
pub(super) struct Compensated<F> {
    sum: F,
    correction: F,
    started: bool,
}

impl<F: Float> Compensated<F> {
    pub(super) fn add(&mut self, part: F) {
        if !std::mem::replace(&mut self.started, true) {
            self.sum = part;
            return;
        }
        let next = self.sum + part;
        if next.f64().is_finite() {
            let larger_first = self.sum.abs() >= part.abs();
            let lost = if larger_first { (self.sum - next) + part } else { (part - next) + self.sum };
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
