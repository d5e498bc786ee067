//! The loops of folds, compiled for the vectors that the processor has. All else of a fold calls them, so
//! that there is one of each for a step and a type of elements, and no more: there are many of both.

use super::parts::LANES;
use crate::dtype::Element;
use crate::kernels::wide::{wide, wide_loop, Loop};
use std::marker::PhantomData;

/// What a fold does with elements.
pub trait Step<T: Element> {
    /// The type of an accumulator.
    type Acc: Element;
    /// Leaves any element as it is.
    fn start() -> Self::Acc;
    /// Takes an element.
    fn step(acc: Self::Acc, x: T) -> Self::Acc;
    /// Takes another accumulator.
    fn join(acc: Self::Acc, other: Self::Acc) -> Self::Acc;
}

/// The loops of one step.
pub struct Loops<T, A> {
    /// [`Step::start`].
    pub start: A,
    /// [`Step::join`].
    pub join: fn(A, A) -> A,
    /// Folds a tile.
    pub tile: fn(&[T]) -> A,
    /// Takes elements into as many accumulators.
    pub one: fn(&mut [A], &[T]),
    /// As `one`, four times: accumulators are loaded and stored once.
    pub four: fn(&mut [A], [&[T]; 4]),
    /// Takes accumulators into as many others.
    pub others: fn(&mut [A], &[A]),
}

/// The loops of a step of which the order makes a difference.
pub fn loops<T: Element, S: Step<T>>() -> Loops<T, S::Acc> {
    let tile = tile::<T, S, LANES>;
    Loops {
        start: S::start(),
        join: S::join,
        tile,
        one: one::<T, S>,
        four: four::<T, S>,
        others: others::<T, S>,
    }
}

/// The loops of a step of which it makes none.
pub fn free_loops<T: Element, S: Step<T>>() -> Loops<T, S::Acc> {
    // The compiler makes vectors of small integers only where it chooses the order.
    let tile = if size_of::<T>() < 4 { line::<T, S> } else { tile::<T, S, FREE_LANES> };
    Loops { tile, ..loops::<T, S>() }
}

/// Parts of a tile where it makes no difference: so many that an instruction does not wait for the one
/// before.
const FREE_LANES: usize = 16;

/// Takes elements into the accumulators of the parts.
#[inline(always)]
fn take<T: Element, S: Step<T>, const N: usize>(mut parts: [S::Acc; N], x: &[T]) -> [S::Acc; N] {
    let chunks = x.chunks_exact(N);
    let rest = chunks.remainder();
    for chunk in chunks {
        // Of a length that the compiler knows, so that the parts stay in registers.
        for part in 0..N {
            parts[part] = S::step(parts[part], chunk[part]);
        }
    }
    for (a, &x) in parts.iter_mut().zip(rest) {
        *a = S::step(*a, x);
    }
    parts
}

/// What the parts come to.
#[inline(always)]
fn joined<T: Element, S: Step<T>, const N: usize>(mut parts: [S::Acc; N]) -> S::Acc {
    const { assert!(N == 8 || N == 16) };
    for half in [8, 4, 2, 1] {
        if half < N {
            for part in 0..half {
                parts[part] = S::join(parts[part], parts[part + half]);
            }
        }
    }
    parts[0]
}

/// Folds a tile in so many parts.
struct Tile<'a, T, S, const N: usize>(&'a [T], PhantomData<S>);

impl<T: Element, S: Step<T>, const N: usize> Loop for Tile<'_, T, S, N> {
    type Made = S::Acc;
    #[inline(always)]
    fn run(self) -> S::Acc {
        joined::<T, S, N>(take::<T, S, N>([S::start(); N], self.0))
    }
}

/// Folds a part of a tile.
struct Piece<'a, A, S>(&'a mut [A; LANES], &'a [f32], PhantomData<S>);

impl<S: Step<f32>> Loop for Piece<'_, S::Acc, S> {
    type Made = ();
    #[inline(always)]
    fn run(self) {
        *self.0 = take::<f32, S, LANES>(*self.0, self.1);
    }
}

fn tile<T: Element, S: Step<T>, const N: usize>(x: &[T]) -> S::Acc {
    wide_loop(Tile::<T, S, N>(x, PhantomData))
}

fn line<T: Element, S: Step<T>>(x: &[T]) -> S::Acc {
    wide(|| x.iter().fold(S::start(), |acc, &x| S::step(acc, x)))
}

fn one<T: Element, S: Step<T>>(acc: &mut [S::Acc], x: &[T]) {
    wide(|| acc.iter_mut().zip(x).for_each(|(a, &x)| *a = S::step(*a, x)))
}

fn four<T: Element, S: Step<T>>(acc: &mut [S::Acc], [b, c, d, e]: [&[T]; 4]) {
    wide(|| {
        for ((((a, &b), &c), &d), &e) in acc.iter_mut().zip(b).zip(c).zip(d).zip(e) {
            *a = S::step(S::step(S::step(S::step(*a, b), c), d), e);
        }
    })
}

fn others<T: Element, S: Step<T>>(acc: &mut [S::Acc], other: &[S::Acc]) {
    wide(|| acc.iter_mut().zip(other).for_each(|(a, &b)| *a = S::join(*a, b)))
}

/// Elements of 16 bits that are made singles at one time: a multiple of the parts.
const HALVES: usize = 128;

/// The loops of a step on singles, for 16-bit floats.
pub fn halves<H: Element, S: Step<f32>>() -> Loops<H, S::Acc> {
    let Loops { start, join, others, .. } = loops::<f32, S>();
    Loops { start, join, others, tile: half_tile::<H, S>, one: half_one::<H, S>, four: half_four::<H, S> }
}

fn widen<H: Element>(x: &[H], out: &mut [f32]) {
    out.iter_mut().zip(x).for_each(|(out, x)| *out = x.convert());
}

fn half_tile<H: Element, S: Step<f32>>(x: &[H]) -> S::Acc {
    let (mut parts, mut singles) = ([S::start(); LANES], [0.0; HALVES]);
    for x in x.chunks(HALVES) {
        let singles = &mut singles[..x.len()];
        widen(x, singles);
        wide_loop(Piece::<_, S>(&mut parts, singles, PhantomData));
    }
    joined::<f32, S, LANES>(parts)
}

fn half_one<H: Element, S: Step<f32>>(acc: &mut [S::Acc], x: &[H]) {
    let mut singles = [0.0; HALVES];
    for (acc, x) in acc.chunks_mut(HALVES).zip(x.chunks(HALVES)) {
        widen(x, &mut singles);
        one::<f32, S>(acc, &singles);
    }
}

fn half_four<H: Element, S: Step<f32>>(acc: &mut [S::Acc], x: [&[H]; 4]) {
    x.into_iter().for_each(|x| half_one::<H, S>(acc, x));
}
