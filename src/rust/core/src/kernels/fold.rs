//! Reductions: many elements into one. Sums and products of f32 run in f64, those of 16-bit floats in f32, those of
//! complex numbers in pairs of f64; sums carry a correction.
//!
//! A fold is made of tiles of [`TILE`](super::tile::TILE) elements, in order, each in [`LANES`] parts: element `i` of a
//! tile is folded into part `i % LANES`, and the later half of the parts into the earlier, until one is left. So a result
//! depends on the values and their order only: not on how they lie in memory, not on who folds which tile. What meets
//! layouts is [`reduce`](super::reduce::reduce()).

use super::scalar::{maximum, minimum};
use super::tile::gather_run;
use super::wide::wide;
use super::complex;
use crate::dtype::{Bool, Cpx, Element, Float, Int, Real};
use half::{bf16, f16};
use num_complex::Complex;
use std::marker::PhantomData;

/// What a reduction does with two elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fold {
    /// Sum; wraps for integers.
    Sum,
    /// Product; wraps for integers.
    Prod,
    /// Largest; NaN if any element is.
    Max,
    /// Smallest; NaN if any element is.
    Min,
    /// Whether any is true.
    Any,
    /// Whether all are true.
    All,
}

/// What a fold makes of one tile of elements, as the bytes of an element: of the accumulator's type for sums and products.
pub type Partial = [u8; PARTIAL];

/// Bytes of a [`Partial`].
pub const PARTIAL: usize = 16;

/// Parts in which a tile is folded. More would not be faster, as memory is what is waited for.
pub const LANES: usize = 8;

/// Parts that are left when the others are folded into them.
const HALVES: [usize; 3] = [LANES / 2, LANES / 4, LANES / 8];

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

/// An element type that can be reduced.
pub trait Reduce: Element {
    /// Gives the fold's steps to the work.
    fn steps<W: Work<Self>>(fold: Fold, work: W) -> W::Made;

    /// Folds what was made of all tiles, in their order.
    fn finish(fold: Fold, partials: Each<Partial>) -> Self {
        Self::steps(fold, Last(partials))
    }

    /// Folds one tile, into a [`Partial`], or into the result if there is no other.
    fn tile<O: Made>(fold: Fold, x: &[Self]) -> O {
        Self::steps(fold, One(x, PhantomData))
    }

    /// Folds one tile for each element of `out`, with the bits of [`tile`](Reduce::tile).
    fn tiles<O: Made>(fold: Fold, x: &[Self], rows: Rows, out: &mut [O]) {
        Self::steps(fold, Many { x, rows, out })
    }
}

/// What is done with the steps of a fold: accumulators start as `start`, `step` takes an element, `join` another
/// accumulator. `any` says that the order makes no difference.
pub trait Work<T> {
    /// What comes out.
    type Made;
    /// Does it.
    fn run<A: Element>(
        self, any: bool, start: A, step: impl Fn(A, T) -> A + Copy, join: impl Fn(A, A) -> A + Copy,
    ) -> Self::Made;
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

/// A tile of one result.
struct One<'a, T, O>(&'a [T], PhantomData<O>);

impl<T: Element, O: Made> Work<T> for One<'_, T, O> {
    type Made = O;
    fn run<A: Element>(
        self, any: bool, start: A, step: impl Fn(A, T) -> A + Copy, join: impl Fn(A, A) -> A + Copy,
    ) -> O {
        wide(|| {
            if any {
                return O::made(self.0.iter().fold(start, |a, &x| step(a, x)));
            }
            let mut lanes = [start; LANES];
            let chunks = self.0.chunks_exact(LANES);
            let rest = chunks.remainder();
            for chunk in chunks {
                // Of a length that the compiler knows, so that the parts stay in registers.
                lanes = std::array::from_fn(|i| step(lanes[i], chunk[i]));
            }
            for (a, &x) in lanes.iter_mut().zip(rest) {
                *a = step(*a, x);
            }
            for half in HALVES {
                for lane in 0..half {
                    lanes[lane] = join(lanes[lane], lanes[lane + half]);
                }
            }
            O::made(lanes[0])
        })
    }
}

/// What was made of all tiles.
struct Last<'a>(Each<'a, Partial>);

impl<T: Element> Work<T> for Last<'_> {
    type Made = T;
    fn run<A: Element>(
        self, _: bool, start: A, _: impl Fn(A, T) -> A + Copy, join: impl Fn(A, A) -> A + Copy,
    ) -> T {
        let mut out = start;
        (self.0)(&mut |part| out = join(out, A::from_bytes(&part)));
        out.convert()
    }
}

/// Tiles of several results.
struct Many<'a, T, O> {
    x: &'a [T],
    rows: Rows<'a>,
    out: &'a mut [O],
}

/// Results from which a lane is made after the other; of fewer, all are one run where the elements of one place follow those
/// of the one before.
const LONG: usize = 512;

impl<T: Element, O: Made> Work<T> for Many<'_, T, O> {
    type Made = ();
    fn run<A: Element>(
        self, _: bool, start: A, step: impl Fn(A, T) -> A + Copy, join: impl Fn(A, A) -> A + Copy,
    ) {
        let (len, Rows { first, stride, places }) = (self.out.len(), self.rows);
        let lanes = places.len().min(LANES);
        let mut acc = vec![start; lanes * len];
        let at = |j: usize| first + places[j];
        let side_by_side = || places.windows(2).all(|pair| pair[1] - pair[0] == len as isize);
        if stride == 1 && len < LONG && lanes == LANES && side_by_side() {
            let whole = places.len() / LANES;
            runs(&mut acc, self.x, 1, (0..whole).map(|i| at(i * LANES)), step);
            let rest = &mut acc[..places.len() % LANES * len];
            runs(rest, self.x, 1, (whole * LANES..places.len()).take(1).map(at), step);
        } else {
            for (lane, acc) in acc.chunks_exact_mut(len.max(1)).enumerate() {
                runs(acc, self.x, stride, (lane..places.len()).step_by(LANES).map(at), step);
            }
        }
        // A part that has no elements would change nothing.
        for half in HALVES {
            let (low, high) = acc.split_at_mut((half * len).min(lanes * len));
            wide(|| low.iter_mut().zip(&*high).for_each(|(a, &b)| *a = join(*a, b)));
        }
        wide(|| self.out.iter_mut().zip(&acc).for_each(|(out, &a)| *out = O::made(a)));
    }
}

/// Takes runs of elements, `stride` apart, into as many accumulators: four runs at a time, as accumulators are loaded and
/// stored each time.
fn runs<T: Element, A: Copy>(
    acc: &mut [A], x: &[T], stride: isize, mut starts: impl Iterator<Item = isize>, step: impl Fn(A, T) -> A + Copy,
) {
    let n = acc.len();
    let mut scratch = if stride == 1 { vec![] } else { vec![T::default(); 4 * n] };
    loop {
        let (mut four, mut count) = ([0; 4], 0);
        for (slot, start) in four.iter_mut().zip(starts.by_ref()) {
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
        if count < 4 {
            for run in &run[..count] {
                wide(|| acc.iter_mut().zip(*run).for_each(|(a, &x)| *a = step(*a, x)));
            }
            return;
        }
        wide(|| {
            let [b, c, d, e] = run;
            for ((((a, &b), &c), &d), &e) in acc.iter_mut().zip(b).zip(c).zip(d).zip(e) {
                *a = step(step(step(step(*a, b), c), d), e);
            }
        });
    }
}

/// Whether the fold is of booleans that are true if any is.
fn is_any(fold: Fold) -> bool {
    matches!(fold, Fold::Any | Fold::Max | Fold::Sum)
}

impl Reduce for Bool {
    // Sums and products of booleans are converted to integers before they get here.
    fn steps<W: Work<Bool>>(fold: Fold, work: W) -> W::Made {
        if is_any(fold) {
            work.run(true, Bool::FALSE, |a, b: Bool| (a.get() | b.get()).into(), |a, b| (a.get() | b.get()).into())
        } else {
            work.run(true, Bool::TRUE, |a, b: Bool| (a.get() & b.get()).into(), |a, b| (a.get() & b.get()).into())
        }
    }
}

fn steps_int<I: Int, W: Work<I>>(fold: Fold, work: W) -> W::Made {
    match fold {
        Fold::Sum => work.run(true, I::default(), I::wrapping_add, I::wrapping_add),
        Fold::Prod => work.run(true, I::from_bool(true), I::wrapping_mul, I::wrapping_mul),
        Fold::Max => work.run(true, I::LOWEST, I::max, I::max),
        Fold::Min => work.run(true, I::HIGHEST, I::min, I::min),
        Fold::Any => work.run(true, I::default(), I::or, I::or),
        Fold::All => work.run(true, I::ONES, I::and, I::and),
    }
}

fn steps_float<R: Real, W: Work<R>>(fold: Fold, work: W) -> W::Made {
    match fold {
        Fold::Max => work.run(false, R::LOWEST, maximum, maximum),
        Fold::Min => work.run(false, R::HIGHEST, minimum, minimum),
        Fold::Prod => work.run(false, R::Wide::of(1.0), |a, x: R| a * x.convert(), |a, b| a * b),
        _ => work.run(false, R::Wide::of(-0.0), |a, x: R| a + x.convert(), |a, b| a + b),
    }
}

fn sum_of_floats<R: Real>(partials: Each<Partial>) -> R {
    let mut sum = Compensated::<R::Wide>::default();
    partials(&mut |part| sum.add(<R::Wide as Element>::from_bytes(&part)));
    sum.total().convert()
}

/// Sums and products of complex numbers, in double precision; other folds are refused by `infer`.
fn steps_complex<C: Cpx, W: Work<C>>(fold: Fold, work: W) -> W::Made {
    match fold {
        Fold::Prod => {
            let one = Complex::new(1.0, 0.0);
            work.run(false, one, |a, z: C| complex::mul(a, z.convert()), complex::mul)
        }
        _ => {
            let zero = Complex::new(-0.0, -0.0);
            work.run(false, zero, |a: Complex<f64>, z: C| a + z.convert::<Complex<f64>>(), |a, b| a + b)
        }
    }
}

fn sum_of_complex<C: Cpx>(partials: Each<Partial>) -> C {
    let (mut re, mut im) = (Compensated::default(), Compensated::default());
    partials(&mut |part| {
        let part = <Complex<f64> as Element>::from_bytes(&part);
        re.add(part.re);
        im.add(part.im);
    });
    C::from_c128(Complex::new(re.total(), im.total()))
}

/// A running sum with Neumaier's correction. An empty sum is 0, but a sum of -0 alone is -0.
///
/// Source: A. Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", ZAMM 54 (1974).
#[derive(Default)]
struct Compensated<F> {
    sum: F,
    correction: F,
    started: bool,
}

impl<F: Float> Compensated<F> {
    fn add(&mut self, part: F) {
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

    fn total(&self) -> F {
        if self.correction == F::of(0.0) { self.sum } else { self.sum + self.correction }
    }
}

macro_rules! reduce {
    ($steps:ident $sum:ident: $($type:ty)+) => {$(
        impl Reduce for $type {
            fn steps<W: Work<$type>>(fold: Fold, work: W) -> W::Made { $steps(fold, work) }
            fn finish(fold: Fold, partials: Each<Partial>) -> $type {
                if fold == Fold::Sum { $sum(partials) } else { Self::steps(fold, Last(partials)) }
            }
        }
    )+};
    ($steps:ident: $($type:ty)+) => {$(
        impl Reduce for $type {
            fn steps<W: Work<$type>>(fold: Fold, work: W) -> W::Made { $steps(fold, work) }
        }
    )+};
}
reduce! { steps_int: i8 i16 i32 i64 u8 u16 u32 u64 }
reduce! { steps_float sum_of_floats: bf16 f16 f32 f64 }
reduce! { steps_complex sum_of_complex: Complex<f32> Complex<f64> }
