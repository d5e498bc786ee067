//! The loops of folds, vectorised for the processor. The rest of a fold calls them, so that each is compiled
//! once for a way to accumulate and a type of elements: there are many of both.

use super::partials::{joined_few, lanes_from, of_known_length, Rows, LANES, SHORT};
use crate::dtype::Element;
use crate::kernels::halves::widen;
use crate::kernels::wide::{combine, wide, wide_loop, Loop};
use std::marker::PhantomData;

/// A way to accumulate elements of a type.
pub trait Accumulate<T: Element> {
    /// The type of an accumulator.
    type Acc: Element;
    /// Whether it takes one of two.
    const CHOICE: bool;
    /// The neutral element.
    fn start() -> Self::Acc;
    /// Takes an element.
    fn add(acc: Self::Acc, x: T) -> Self::Acc;
    /// Takes another accumulator.
    fn join(acc: Self::Acc, other: Self::Acc) -> Self::Acc;
}

/// The loops of one way to accumulate.
pub struct Loops<T, A> {
    /// [`Accumulate::start`].
    pub start: A,
    /// [`Accumulate::join`].
    pub join: fn(A, A) -> A,
    /// Folds a tile.
    pub tile: fn(&[T]) -> A,
    /// Folds four tiles or more of so many elements, side by side, four at a time: an addition waits for the one
    /// before it in its tile, not in others. Tiles of a few elements are [`short`].
    pub tiles: fn(&[T], usize, &mut [A]),
    /// Takes elements into as many accumulators, again from the first one if there are more.
    pub one: fn(&mut [A], &[T]),
    /// As `one`, four times: accumulators are loaded and stored once.
    pub four: fn(&mut [A], [&[T]; 4]),
    /// Takes accumulators into as many others.
    pub others: fn(&mut [A], &[A]),
    /// Folds tiles of results that are [beside](super::beside::are_beside) one another, if there is a faster way.
    pub beside: Option<fn(&[T], Rows, &mut [A])>,
}

/// The loops where the order of elements makes a difference.
pub fn loops<T: Element, S: Accumulate<T>>() -> Loops<T, S::Acc> {
    with_tiles::<T, S>(tile::<T, S, LANES>, tiles::<T, S>)
}

/// The loops of a fold that has its own for tiles.
pub fn with_tiles<T: Element, S: Accumulate<T>>(
    tile: fn(&[T]) -> S::Acc,
    tiles: fn(&[T], usize, &mut [S::Acc]),
) -> Loops<T, S::Acc> {
    let (one, four, others) = (one::<T, S>, four::<T, S>, others::<T, S>);
    Loops { start: S::start(), join: S::join, tile, tiles, one, four, others, beside: None }
}

/// The loops where it makes none.
pub fn free_loops<T: Element, S: Accumulate<T>>() -> Loops<T, S::Acc> {
    // The compiler vectorises loops over small integers only if it may choose the order.
    if size_of::<T>() < 4 {
        return with_tiles::<T, S>(line::<T, S>, lines::<T, S>);
    }
    with_tiles::<T, S>(tile::<T, S, FREE_LANES>, free_tiles::<T, S>)
}

/// The loops of elements that take long: tiles are folded one after the other, as no addition waits for another
/// tile's, and the code of four would be four times as long.
pub fn long_loops<T: Element, S: Accumulate<T>>() -> Loops<T, S::Acc> {
    with_tiles::<T, S>(long_tile::<T, S>, long_tiles::<T, S>)
}

/// The loops of what is rare: they are short.
pub fn rare_loops<T: Element, S: Accumulate<T>>() -> Loops<T, S::Acc> {
    with_tiles::<T, S>(tile::<T, S, LANES>, each_tile::<T, S, LANES>)
}

/// Lanes of a tile by itself where the order makes no difference: enough to hide the latency of an instruction.
const FREE_LANES: usize = 16;

/// Folds elements into the lanes.
#[inline(always)]
fn take<T: Element, S: Accumulate<T>, const N: usize>(mut lanes: [S::Acc; N], x: &[T]) -> [S::Acc; N] {
    let chunks = x.chunks_exact(N);
    let rest = chunks.remainder();
    for chunk in chunks {
        // Of constant length, so that the lanes stay in registers.
        for lane in 0..N {
            lanes[lane] = S::add(lanes[lane], chunk[lane]);
        }
    }
    for (a, &x) in lanes.iter_mut().zip(rest) {
        *a = S::add(*a, x);
    }
    lanes
}

/// The fold of the lanes.
#[inline(always)]
fn joined<T: Element, S: Accumulate<T>, const N: usize>(mut lanes: [S::Acc; N]) -> S::Acc {
    const { assert!(N == 8 || N == 16) };
    for half in [8, 4, 2, 1] {
        if half < N {
            for lane in 0..half {
                lanes[lane] = S::join(lanes[lane], lanes[lane + half]);
            }
        }
    }
    lanes[0]
}

/// Folds a tile in `N` lanes.
struct Tile<'a, T, S, const N: usize>(&'a [T], PhantomData<S>);

impl<T: Element, S: Accumulate<T>, const N: usize> Loop for Tile<'_, T, S, N> {
    type Made = S::Acc;
    #[inline(always)]
    fn run(self) -> S::Acc {
        joined::<T, S, N>(take::<T, S, N>([S::start(); N], self.0))
    }
}

/// Folds a chunk into the lanes.
#[inline(always)]
fn add<T: Element, S: Accumulate<T>>(lanes: &mut [S::Acc; LANES], chunk: &[T]) {
    for lane in 0..LANES {
        lanes[lane] = S::add(lanes[lane], chunk[lane]);
    }
}

/// Folds the first `n` elements of a chunk into the lanes.
#[inline(always)]
fn add_first<T: Element, S: Accumulate<T>>(lanes: &mut [S::Acc; LANES], chunk: [T; LANES], n: usize) {
    for lane in 0..LANES {
        let added = S::add(lanes[lane], chunk[lane]);
        lanes[lane] = if lane < n { added } else { lanes[lane] };
    }
}

/// The lanes of the first four tiles of one length. Those of each have a name of their own: of those of four in one
/// array, the compiler makes no vectors, which takes three times as long.
#[inline(always)]
fn four_tiles<T: Element, S: Accumulate<T>>(x: &[T], each: usize) -> [[S::Acc; LANES]; 4] {
    let [mut a, mut b, mut c, mut d] = [[S::start(); LANES]; 4];
    let (low, high) = x[..4 * each].split_at(2 * each);
    let ((xa, xb), (xc, xd)) = (low.split_at(each), high.split_at(each));
    let [xa, xb, xc, xd] = [xa, xb, xc, xd].map(|x| x.chunks_exact(LANES));
    for (((xa, xb), xc), xd) in xa.zip(xb).zip(xc).zip(xd) {
        add::<T, S>(&mut a, xa);
        add::<T, S>(&mut b, xb);
        add::<T, S>(&mut c, xc);
        add::<T, S>(&mut d, xd);
    }
    let rest = each % LANES;
    if rest > 0 {
        let end = |tile: usize| lanes_from(x, tile * each + each - rest);
        add_first::<T, S>(&mut a, end(0), rest);
        add_first::<T, S>(&mut b, end(1), rest);
        add_first::<T, S>(&mut c, end(2), rest);
        add_first::<T, S>(&mut d, end(3), rest);
    }
    [a, b, c, d]
}

/// Folds tiles of so many elements side by side.
struct Tiles<'a, T, A, S>(&'a [T], usize, &'a mut [A], PhantomData<S>);

impl<T: Element, S: Accumulate<T>> Loop for Tiles<'_, T, S::Acc, S> {
    type Made = ();
    #[inline(always)]
    fn run(self) {
        let Tiles(x, each, out, _) = self;
        let Some(last) = out.len().checked_sub(4) else { return };
        for first in (0..out.len()).step_by(4) {
            // The last four overlap those before.
            let first = first.min(last);
            let [a, b, c, d] = four_tiles::<T, S>(&x[first * each..], each);
            // Not by `map`, which the compiler leaves where it is, without vectors.
            let made = [
                joined::<T, S, LANES>(a),
                joined::<T, S, LANES>(b),
                joined::<T, S, LANES>(c),
                joined::<T, S, LANES>(d),
            ];
            out[first..][..4].copy_from_slice(&made);
        }
    }
}

/// Folds tiles of at most `MOST` elements, and at most [`SHORT`], each by itself; of other tiles it does nothing and says
/// so. Lanes without an element are not joined.
///
/// Where the number is known the compiler leaves no loop: to begin one, and to mask lanes, took four times as long.
pub(super) fn short<T: Element, S: Accumulate<T>, const MOST: usize>(
    x: &[T],
    each: usize,
    out: &mut [S::Acc],
) -> bool {
    #[inline(always)]
    fn of<T: Element, S: Accumulate<T>, const N: usize, const MOST: usize>(
        x: &[T],
        out: &mut [S::Acc],
    ) -> bool {
        if N > MOST {
            return false;
        }
        for (out, x) in out.iter_mut().zip(x.chunks_exact(N)) {
            let lane = |i: usize| {
                let first = S::add(S::start(), x[i]);
                if i + LANES < N {
                    S::add(first, x[i + LANES])
                } else {
                    first
                }
            };
            *out = joined_few::<_, N>(lane, S::join);
        }
        true
    }
    const { assert!(SHORT == 2 * LANES) };
    macro_rules! call {
        ($n:literal) => {
            of::<T, S, $n, MOST>(x, out)
        };
    }
    of_known_length!(each, call, false)
}

/// Folds a run of a tile into its lanes.
struct Run<'a, A, S>(&'a mut [A; LANES], &'a [f32], PhantomData<S>);

impl<S: Accumulate<f32>> Loop for Run<'_, S::Acc, S> {
    type Made = ();
    #[inline(always)]
    fn run(self) {
        *self.0 = take::<f32, S, LANES>(*self.0, self.1);
    }
}

fn tile<T: Element, S: Accumulate<T>, const N: usize>(x: &[T]) -> S::Acc {
    wide_loop(Tile::<T, S, N>(x, PhantomData))
}

fn tiles<T: Element, S: Accumulate<T>>(x: &[T], each: usize, out: &mut [S::Acc]) {
    if !short::<T, S, SHORT>(x, each, out) {
        wide_loop(Tiles::<T, _, S>(x, each, out, PhantomData))
    }
}

/// Elements of a tile from which on more lanes are faster than what the compiler makes of a loop.
const MANY: usize = 128;

fn free_tiles<T: Element, S: Accumulate<T>>(x: &[T], each: usize, out: &mut [S::Acc]) {
    if each >= MANY {
        each_tile::<T, S, FREE_LANES>(x, each, out)
    } else if !short::<T, S, SHORT>(x, each, out) {
        lines::<T, S>(x, each, out)
    }
}

fn each_tile<T: Element, S: Accumulate<T>, const N: usize>(x: &[T], each: usize, out: &mut [S::Acc]) {
    out.iter_mut().zip(x.chunks_exact(each)).for_each(|(out, x)| *out = tile::<T, S, N>(x));
}

fn long_tiles<T: Element, S: Accumulate<T>>(x: &[T], each: usize, out: &mut [S::Acc]) {
    if !short::<T, S, LANES>(x, each, out) {
        each_tile::<T, S, LANES>(x, each, out)
    }
}

/// A complex product with 1 may have another zero, so that lanes that are not there make a difference.
fn long_tile<T: Element, S: Accumulate<T>>(x: &[T]) -> S::Acc {
    let mut out = [S::start()];
    long_tiles::<T, S>(x, x.len().max(1), &mut out);
    out[0]
}

fn line<T: Element, S: Accumulate<T>>(x: &[T]) -> S::Acc {
    wide(|| x.iter().fold(S::start(), |acc, &x| S::add(acc, x)))
}

fn lines<T: Element, S: Accumulate<T>>(x: &[T], each: usize, out: &mut [S::Acc]) {
    wide(|| {
        for (out, x) in out.iter_mut().zip(x.chunks_exact(each)) {
            *out = x.iter().fold(S::start(), |acc, &x| S::add(acc, x));
        }
    })
}

/// Takes elements into as many accumulators, again from the first one if there are more, by a choice.
struct Choose<'a, T, A, S>(&'a mut [A], &'a [T], PhantomData<S>);

impl<T: Element, S: Accumulate<T>> Loop for Choose<'_, T, S::Acc, S> {
    type Made = ();
    #[inline(always)]
    fn run(self) {
        let each = self.0.len().max(1);
        for x in self.1.chunks(each) {
            combine(self.0, x, S::add);
        }
    }
}

fn one<T: Element, S: Accumulate<T>>(acc: &mut [S::Acc], x: &[T]) {
    if S::CHOICE {
        return wide_loop(Choose::<_, _, S>(acc, x, PhantomData));
    }
    let each = acc.len().max(1);
    wide(|| {
        for x in x.chunks(each) {
            acc.iter_mut().zip(x).for_each(|(a, &x)| *a = S::add(*a, x));
        }
    })
}

fn four<T: Element, S: Accumulate<T>>(acc: &mut [S::Acc], [b, c, d, e]: [&[T]; 4]) {
    wide(|| {
        for ((((a, &b), &c), &d), &e) in acc.iter_mut().zip(b).zip(c).zip(d).zip(e) {
            *a = S::add(S::add(S::add(S::add(*a, b), c), d), e);
        }
    })
}

fn others<T: Element, S: Accumulate<T>>(acc: &mut [S::Acc], other: &[S::Acc]) {
    wide(|| acc.iter_mut().zip(other).for_each(|(a, &b)| *a = S::join(*a, b)))
}

/// Elements of 16 bits that are made singles at one time: a multiple of the lanes.
const HALVES: usize = 128;

/// The loops for 16-bit floats, which are accumulated as singles.
pub fn halves<H: Element, S: Accumulate<f32>>() -> Loops<H, S::Acc> {
    Loops { tiles: half_tiles::<H, S>, ..rare_halves::<H, S>() }
}

/// As [`rare_loops`], for 16-bit floats.
pub fn rare_halves<H: Element, S: Accumulate<f32>>() -> Loops<H, S::Acc> {
    let Loops { start, join, others, .. } = rare_loops::<f32, S>();
    let (tile, tiles) = (half_tile::<H, S>, each_half_tile::<H, S>);
    Loops { start, join, others, tile, tiles, one: half_one::<H, S>, four: half_four::<H, S>, beside: None }
}

fn half_tile<H: Element, S: Accumulate<f32>>(x: &[H]) -> S::Acc {
    let (mut lanes, mut singles) = ([S::start(); LANES], [0.0; HALVES]);
    for x in x.chunks(HALVES) {
        let singles = &mut singles[..x.len()];
        widen(x, singles);
        wide_loop(Run::<_, S>(&mut lanes, singles, PhantomData));
    }
    joined::<f32, S, LANES>(lanes)
}

fn each_half_tile<H: Element, S: Accumulate<f32>>(x: &[H], each: usize, out: &mut [S::Acc]) {
    out.iter_mut().zip(x.chunks_exact(each)).for_each(|(out, x)| *out = half_tile::<H, S>(x));
}

fn half_tiles<H: Element, S: Accumulate<f32>>(x: &[H], each: usize, out: &mut [S::Acc]) {
    let (together, mut singles) = (HALVES / each, [0.0; HALVES]);
    if together < 4 {
        return each_half_tile::<H, S>(x, each, out);
    }
    for (x, out) in x.chunks(together * each).zip(out.chunks_mut(together)) {
        if out.len() < 4 {
            each_half_tile::<H, S>(x, each, out);
        } else {
            widen(x, &mut singles[..x.len()]);
            tiles::<f32, S>(&singles[..x.len()], each, out);
        }
    }
}

fn half_one<H: Element, S: Accumulate<f32>>(acc: &mut [S::Acc], x: &[H]) {
    let mut singles = [0.0; HALVES];
    let each = acc.len().max(1);
    for x in x.chunks(each) {
        for (acc, x) in acc.chunks_mut(HALVES).zip(x.chunks(HALVES)) {
            let singles = &mut singles[..x.len()];
            widen(x, singles);
            one::<f32, S>(acc, singles);
        }
    }
}

fn half_four<H: Element, S: Accumulate<f32>>(acc: &mut [S::Acc], x: [&[H]; 4]) {
    x.into_iter().for_each(|x| half_one::<H, S>(acc, x));
}
