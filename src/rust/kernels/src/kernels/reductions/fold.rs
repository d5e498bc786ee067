//! Reductions: many elements into one. Sums and products of f32 run in f64, those of 16-bit floats in f32,
//! those of complex numbers in pairs of f64; sums carry a correction.
//!
//! A fold is made of tiles of [`TILE`](crate::kernels::tile::TILE) elements, in order, each in [`LANES`] lanes:
//! element `i` of a tile is folded into lane `i % LANES`, and the later half of the lanes into the earlier, until one is left. So a
//! result depends on the values and their order only, not on strides or threads.
//! [`reduce`](super::reduce::reduce()) handles layouts.

use super::beside::{self, are_beside};
use super::deviations;
use super::loops::{free_loops, halves, long_loops, loops, rare_halves, rare_loops, Accumulate, Loops};
use super::partials::{halve, Compensated, Each, Made, Partial, Rows, LANES};
use super::vectors::{about, sum_loops, Extreme};
use crate::dtype::{Bool, Cpx, Element, Int, Real};
use crate::growth::with_table;
use crate::kernels::cast;
use crate::kernels::math::complex;
use crate::kernels::math::scalar::{maximum, minimum};
use half::{bf16, f16};
use num_complex::Complex;
use std::marker::PhantomData;

/// The operation of a reduction.
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
    /// Sum of the squares of the deviations from the mean, of floats; NaN if any element is infinite or NaN.
    Squares,
    /// Whether any is true.
    Any,
    /// Whether all are true.
    All,
}

/// An element type that can be reduced.
pub trait Reduce: Element {
    /// Gives the work the way in which the fold accumulates.
    fn accumulation<W: Work<Self>>(fold: Fold, work: W) -> W::Made;

    /// Folds the partial results of all tiles of so many elements, in order.
    fn finish(fold: Fold, _len: usize, partials: Each<Partial>) -> Self {
        Self::accumulation(fold, Last(partials))
    }

    /// Folds one tile, into a [`Partial`], or into the result if there is no other.
    fn tile<O: Made>(fold: Fold, x: &[Self]) -> O {
        Self::accumulation(fold, One(x, PhantomData))
    }

    /// Folds tiles of `each` elements that lie one after the other, the last of which may have less, with the
    /// bits of [`tile`](Reduce::tile).
    fn line<O: Made>(fold: Fold, x: &[Self], each: usize, out: &mut [O]) {
        Self::accumulation(fold, Line { x, each, out })
    }

    /// Folds one tile for each element of `out`, with the bits of [`tile`](Reduce::tile).
    fn tiles<O: Made>(fold: Fold, x: &[Self], rows: Rows, out: &mut [O]) {
        Self::accumulation(fold, Many { x, rows, out })
    }
}

/// The loops of a fold on elements of a type.
pub struct Accumulation<T, A> {
    pub(super) loops: Loops<T, A>,
    /// Whether the order makes no difference.
    free: bool,
    /// For loops that are wrong for rare results: the test of results, and the exact loops.
    pub(super) exact: Option<(fn(&[A]) -> bool, Loops<T, A>)>,
}

/// Work that uses the loops of a fold.
pub trait Work<T> {
    /// The result.
    type Made;
    /// Runs the work.
    fn run<A: Element>(self, how: Accumulation<T, A>) -> Self::Made;
}

/// A tile of one result.
struct One<'a, T, O>(&'a [T], PhantomData<O>);

impl<T: Element, O: Made> Work<T> for One<'_, T, O> {
    type Made = O;
    fn run<A: Element>(self, how: Accumulation<T, A>) -> O {
        let acc = (how.loops.tile)(self.0);
        O::made(match how.exact {
            Some((are_right, exact)) if !are_right(&[acc]) => (exact.tile)(self.0),
            _ => acc,
        })
    }
}

/// Tiles that lie one after the other.
struct Line<'a, T, O> {
    x: &'a [T],
    each: usize,
    out: &'a mut [O],
}

impl<T: Element, O: Made> Work<T> for Line<'_, T, O> {
    type Made = ();
    fn run<A: Element>(self, how: Accumulation<T, A>) {
        /// Tiles whose accumulators are made and looked at together.
        const TOGETHER: usize = 32;
        let Line { x, each, out } = self;
        let Loops { start, tile, tiles, .. } = how.loops;
        for (out, x) in out.chunks_mut(TOGETHER).zip(x.chunks(TOGETHER * each)) {
            let acc = &mut [start; TOGETHER][..out.len()];
            let whole = if x.len() < 4 * each { 0 } else { x.len() / each };
            let (many, few) = acc.split_at_mut(whole);
            tiles(&x[..whole * each], each, many);
            few.iter_mut().zip(x[whole * each..].chunks(each)).for_each(|(acc, x)| *acc = tile(x));
            if let Some((are_right, exact)) = how.exact.as_ref().filter(|(are_right, _)| !are_right(acc)) {
                let wrong = acc.iter_mut().zip(x.chunks(each)).filter(|(acc, _)| !are_right(&[**acc]));
                wrong.for_each(|(acc, x)| *acc = (exact.tile)(x));
            }
            made(acc, out);
        }
    }
}

/// The partial results of all tiles.
struct Last<'a>(Each<'a, Partial>);

impl<T: Element> Work<T> for Last<'_> {
    type Made = T;
    fn run<A: Element>(self, how: Accumulation<T, A>) -> T {
        let Loops { start, join, .. } = how.exact.map_or(how.loops, |(_, exact)| exact);
        let mut out = start;
        (self.0)(&mut |partial| out = join(out, A::from_bytes(&partial)));
        out.convert()
    }
}

/// Tiles of several results.
struct Many<'a, T, O> {
    x: &'a [T],
    rows: Rows<'a>,
    out: &'a mut [O],
}

impl<T: Element, O: Made> Work<T> for Many<'_, T, O> {
    type Made = ();
    fn run<A: Element>(self, how: Accumulation<T, A>) {
        let Many { x, rows, out } = self;
        let len = out.len();
        let are_right = many(&how.loops, how.free, x, rows, len, |acc| {
            let are_right = how.exact.as_ref().is_none_or(|(are_right, _)| are_right(acc));
            are_right.then(|| made(acc, out)).is_some()
        });
        if let Some((_, exact)) = how.exact.as_ref().filter(|_| !are_right) {
            many(exact, false, x, rows, len, |acc| made(acc, out));
        }
    }
}

/// What is made of the accumulators. Not inlined: few types of accumulators are shared by many folds.
#[inline(never)]
fn made<A: Element, O: Made>(acc: &[A], out: &mut [O]) {
    out.iter_mut().zip(acc).for_each(|(out, &acc)| *out = O::made(acc));
}

/// Gives the accumulators of so many results to a function.
fn many<T: Element, A: Element, R>(
    loops: &Loops<T, A>,
    free: bool,
    x: &[T],
    rows: Rows,
    len: usize,
    take: impl FnOnce(&[A]) -> R,
) -> R {
    let beside = loops.beside.filter(|_| are_beside(x, &rows));
    let together = beside.is_none() && rows.are_together(len);
    let one = beside.is_some() || free && !together;
    let lanes = if one { 1 } else { rows.offsets.len().min(LANES) };
    with_table(loops.start, lanes * len, |acc| {
        if let Some(beside) = beside {
            beside(x, rows, acc);
            return take(acc);
        }
        rows.each(x, len, lanes, together, &mut |at, runs| match *runs {
            [a, b, c, d] => (loops.four)(&mut acc[at], [a, b, c, d]),
            _ => runs.iter().for_each(|run| (loops.one)(&mut acc[at.clone()], run)),
        });
        halve(acc, len, loops.others);
        take(&acc[..len])
    })
}

// ---- the ways to accumulate

/// Defines ways to accumulate: the elements, the accumulator, what it starts as, how it takes an element
/// and another accumulator, and whether it takes one of two.
macro_rules! accumulate {
    ($($(#[$doc:meta])+ $name:ident [$($type:ident: $bound:ident)?] $x:ty => $acc:ty: $start:expr, $add:expr, $join:expr $(, $choice:literal)?;)+) => {$(
        $(#[$doc])+
        pub(super) struct $name;
        impl$(<$type: $bound>)? Accumulate<$x> for $name {
            type Acc = $acc;
            const CHOICE: bool = false $(| $choice)?;
            #[inline(always)]
            fn start() -> $acc {
                $start
            }
            #[inline(always)]
            fn add(acc: $acc, x: $x) -> $acc {
                ($add)(acc, x)
            }
            #[inline(always)]
            fn join(acc: $acc, other: $acc) -> $acc {
                ($join)(acc, other)
            }
        }
    )+};
}

accumulate! {
    /// Whether any is true.
    Any [] Bool => u8: 0, |a, x: Bool| a | x.convert::<u8>(), |a, b| a | b;
    /// Whether all are true.
    All [] Bool => u8: 1, |a, x: Bool| a & x.convert::<u8>(), |a, b| a & b;
    /// Sum of integers, which wraps.
    Sum [I: Int] I => I: I::default(), I::wrapping_add, I::wrapping_add;
    /// Product of integers, which wraps.
    Prod [I: Int] I => I: I::from_bool(true), I::wrapping_mul, I::wrapping_mul;
    /// Largest integer.
    Max [I: Int] I => I: I::LOWEST, I::max, I::max, true;
    /// Smallest integer.
    Min [I: Int] I => I: I::HIGHEST, I::min, I::min, true;
    /// Sum of floats, in double precision.
    SumFloats [R: Real] R => f64: -0.0, |a, x: R| a + x.convert::<f64>(), |a, b| a + b;
    /// Product of floats, in double precision.
    ProdFloats [R: Real] R => f64: 1.0, |a, x: R| a * x.convert::<f64>(), |a, b| a * b;
    /// Sum of 16-bit floats as singles.
    SumHalves [] f32 => f32: -0.0, |a, x| a + x, |a, b| a + b;
    /// Product of 16-bit floats as singles.
    ProdHalves [] f32 => f32: 1.0, |a, x| a * x, |a, b| a * b;
    /// Largest float.
    MaxFloats [R: Real] R => R: R::LOWEST, maximum, maximum, true;
    /// Smallest float.
    MinFloats [R: Real] R => R: R::HIGHEST, minimum, minimum, true;
    /// Largest float, or any NaN or any zero where it is one of these: a few instructions of the processor.
    AboutMax [R: Real] R => R: R::LOWEST, about_max, about_max, true;
    /// As [`AboutMax`], of the smallest.
    AboutMin [R: Real] R => R: R::HIGHEST, about_min, about_min, true;
    /// Sum of complex numbers, in double precision.
    SumComplex [C: Cpx] C => Complex<f64>: Complex::new(-0.0, -0.0), |a, z: C| a + z.convert::<Complex<f64>>(), |a, b| a + b;
    /// Product of complex numbers, in double precision.
    ProdComplex [C: Cpx] C => Complex<f64>: Complex::new(1.0, 0.0), |a, z: C| complex::mul(a, z.convert()), complex::mul;
}

// Without branches, so that loops become vectors. No comparison with NaN is true, so one that is there stays.

#[inline(always)]
fn about_max<R: Real>(a: R, x: R) -> R {
    if (x > a) | (x != x) {
        x
    } else {
        a
    }
}

#[inline(always)]
fn about_min<R: Real>(a: R, x: R) -> R {
    if (x < a) | (x != x) {
        x
    } else {
        a
    }
}

/// An accumulation where the order makes a difference.
fn ordered<T, A>(loops: Loops<T, A>) -> Accumulation<T, A> {
    Accumulation { loops, free: false, exact: None }
}

/// An accumulation where the order makes none.
fn free<T, A>(loops: Loops<T, A>) -> Accumulation<T, A> {
    Accumulation { loops, free: true, exact: None }
}

/// Extremes of floats: those of `about` where they are neither NaN nor zero.
fn extremes<T, R: Real>(about: Loops<T, R>, exact: Loops<T, R>) -> Accumulation<T, R> {
    Accumulation { loops: about, free: true, exact: Some((are_numbers, exact)) }
}

/// Whether none is NaN or zero.
fn are_numbers<R: Real>(x: &[R]) -> bool {
    x.iter().fold(true, |all, &x| all & (x == x) & (x != R::default()))
}

/// A fold that elements of this kind do not have.
#[cold]
#[inline(never)]
fn refused(fold: Fold, kind: &str) -> ! {
    unreachable!("`infer` refuses {fold:?} of {kind}")
}

fn accumulate_bool<W: Work<Bool>>(fold: Fold, work: W) -> W::Made {
    work.run(free(match fold {
        Fold::Any | Fold::Max => free_loops::<_, Any>(),
        Fold::All | Fold::Min => free_loops::<_, All>(),
        Fold::Sum | Fold::Prod | Fold::Squares => refused(fold, "booleans"),
    }))
}

fn accumulate_int<I: Int, W: Work<I>>(fold: Fold, work: W) -> W::Made {
    work.run(free(match fold {
        Fold::Max => free_loops::<_, Max>(),
        Fold::Min => free_loops::<_, Min>(),
        Fold::Prod => free_loops::<_, Prod>(),
        Fold::Sum => free_loops::<_, Sum>(),
        Fold::Any | Fold::All | Fold::Squares => refused(fold, "integers"),
    }))
}

/// Floats of 32 and 64 bits.
fn accumulate_float<R: Extreme, W: Work<R>>(fold: Fold, work: W) -> W::Made {
    match fold {
        Fold::Max => work.run(extremes(about::<R, AboutMax, true>(), rare_loops::<_, MaxFloats>())),
        Fold::Min => work.run(extremes(about::<R, AboutMin, false>(), rare_loops::<_, MinFloats>())),
        Fold::Prod => work.run(ordered(loops::<_, ProdFloats>())),
        Fold::Sum => work.run(ordered(Loops { beside: Some(beside::sums), ..sum_loops::<R, SumFloats>() })),
        Fold::Squares => unreachable!("squares of deviations are not accumulated by element, see `squares`"),
        Fold::Any | Fold::All => refused(fold, "floats"),
    }
}

/// Floats of 16 bits, as singles.
fn accumulate_half<H: Real, W: Work<H>>(fold: Fold, work: W) -> W::Made {
    work.run(match fold {
        Fold::Max => extremes(halves::<_, AboutMax>(), rare_halves::<_, MaxFloats>()),
        Fold::Min => extremes(halves::<_, AboutMin>(), rare_halves::<_, MinFloats>()),
        Fold::Prod => ordered(halves::<_, ProdHalves>()),
        Fold::Sum => ordered(halves::<_, SumHalves>()),
        Fold::Squares => unreachable!("squares of deviations are not accumulated by element, see `squares`"),
        Fold::Any | Fold::All => refused(fold, "floats"),
    })
}

fn accumulate_complex<C: Cpx, W: Work<C>>(fold: Fold, work: W) -> W::Made {
    work.run(ordered(match fold {
        Fold::Prod => long_loops::<_, ProdComplex>(),
        Fold::Sum => loops::<_, SumComplex>(),
        Fold::Max | Fold::Min | Fold::Any | Fold::All | Fold::Squares => refused(fold, "complex numbers"),
    }))
}

fn sum_of_floats<R: Real>(partials: Each<Partial>) -> R {
    let mut sum = Compensated::<R::Wide>::default();
    partials(&mut |partial| sum.add(<R::Wide as Element>::from_bytes(&partial)));
    sum.total().convert()
}

fn sum_of_complex<C: Cpx>(partials: Each<Partial>) -> C {
    let (mut re, mut im) = (Compensated::default(), Compensated::default());
    partials(&mut |partial| {
        let partial = <Complex<f64> as Element>::from_bytes(&partial);
        re.add(partial.re);
        im.add(partial.im);
    });
    C::from_c128(Complex::new(re.total(), im.total()))
}

macro_rules! reduce {
    (floats $how:ident: $($type:ty)+) => {$(
        impl Reduce for $type {
            fn accumulation<W: Work<$type>>(fold: Fold, work: W) -> W::Made { $how(fold, work) }
            fn finish(fold: Fold, len: usize, partials: Each<Partial>) -> $type {
                match fold {
                    Fold::Sum => sum_of_floats(partials),
                    Fold::Squares => deviations::finish(len, partials),
                    _ => Self::accumulation(fold, Last(partials)),
                }
            }
            fn tile<O: Made>(fold: Fold, x: &[$type]) -> O {
                if fold == Fold::Squares { O::made(deviations::tile(x)) } else { Self::accumulation(fold, One(x, PhantomData)) }
            }
            fn line<O: Made>(fold: Fold, x: &[$type], each: usize, out: &mut [O]) {
                if fold == Fold::Squares { deviations::line(x, each, out) } else { Self::accumulation(fold, Line { x, each, out }) }
            }
            fn tiles<O: Made>(fold: Fold, x: &[$type], rows: Rows, out: &mut [O]) {
                if fold == Fold::Squares { deviations::tiles(x, rows, out) } else { Self::accumulation(fold, Many { x, rows, out }) }
            }
        }
    )+};
    ($how:ident $sum:ident: $($type:ty)+) => {$(
        impl Reduce for $type {
            fn accumulation<W: Work<$type>>(fold: Fold, work: W) -> W::Made { $how(fold, work) }
            fn finish(fold: Fold, _: usize, partials: Each<Partial>) -> $type {
                if fold == Fold::Sum { $sum(partials) } else { Self::accumulation(fold, Last(partials)) }
            }
        }
    )+};
    ($how:ident: $($type:ty)+) => {$(
        impl Reduce for $type {
            fn accumulation<W: Work<$type>>(fold: Fold, work: W) -> W::Made { $how(fold, work) }
        }
    )+};
    // Sums and products of unsigned integers have the bits of signed ones.
    ($($type:ty as $signed:ty)+) => {$(
        impl Reduce for $type {
            fn accumulation<W: Work<$type>>(fold: Fold, work: W) -> W::Made { accumulate_int(fold, work) }
            fn finish(fold: Fold, len: usize, partials: Each<Partial>) -> $type {
                if wraps(fold) { <$signed>::finish(fold, len, partials) as $type } else { Self::accumulation(fold, Last(partials)) }
            }
            fn tile<O: Made>(fold: Fold, x: &[$type]) -> O {
                if wraps(fold) { <$signed>::tile(fold, cast::slice(cast::bytes(x))) } else { Self::accumulation(fold, One(x, PhantomData)) }
            }
            fn line<O: Made>(fold: Fold, x: &[$type], each: usize, out: &mut [O]) {
                if wraps(fold) {
                    <$signed>::line(fold, cast::slice(cast::bytes(x)), each, out)
                } else {
                    Self::accumulation(fold, Line { x, each, out })
                }
            }
            fn tiles<O: Made>(fold: Fold, x: &[$type], rows: Rows, out: &mut [O]) {
                if wraps(fold) {
                    <$signed>::tiles(fold, cast::slice(cast::bytes(x)), rows, out)
                } else {
                    Self::accumulation(fold, Many { x, rows, out })
                }
            }
        }
    )+};
}
reduce! { accumulate_bool: Bool }
reduce! { accumulate_int: i8 i16 i32 i64 }
reduce! { u8 as i8 u16 as i16 u32 as i32 u64 as i64 }
reduce! { floats accumulate_half: bf16 f16 }
reduce! { floats accumulate_float: f32 f64 }
reduce! { accumulate_complex sum_of_complex: Complex<f32> Complex<f64> }

fn wraps(fold: Fold) -> bool {
    matches!(fold, Fold::Sum | Fold::Prod)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reductions::partials::Offsets;

    /// As the text of this module says, element by element.
    fn by_definition<T: Element>(x: &[T], start: T, add: fn(T, T) -> T) -> T {
        let mut lanes = [start; LANES];
        x.iter().enumerate().for_each(|(i, &x)| lanes[i % LANES] = add(lanes[i % LANES], x));
        let mut half = LANES / 2;
        while half > 0 {
            (0..half).for_each(|i| lanes[i] = add(lanes[i], lanes[i + half]));
            half /= 2;
        }
        lanes[0]
    }

    /// Two results from tiles that lie side by side and element after element, against the definition, bit by
    /// bit.
    fn check<T: Reduce>(fold: Fold, x: &[T], start: T, add: fn(T, T) -> T) {
        let want = by_definition(x, start, add).to_bytes();
        let tile: T = T::tile(fold, x);
        assert_eq!(tile.to_bytes(), want, "{fold:?} of {x:?}");
        for (between, apart) in [(1, x.len()), (2, 1)] {
            let at = |i: usize, j: usize| i * apart + j * between;
            let mut both = vec![T::default(); 2 * x.len()];
            (0..2).for_each(|i| x.iter().enumerate().for_each(|(j, &x)| both[at(i, j)] = x));
            let offsets: Vec<isize> = (0..x.len()).map(|j| (j * between) as isize).collect();
            let mut out = [T::default(); 2];
            T::tiles(
                fold,
                &both,
                Rows { first: 0, stride: apart as isize, offsets: Offsets::List(&offsets) },
                &mut out,
            );
            assert_eq!(out.map(|out| out.to_bytes()), [want; 2], "{fold:?} of {x:?} in other offsets");
        }
    }

    /// Tiles that lie one after the other, the last of which has less, against the definition, bit by bit.
    fn check_line<T: Reduce>(fold: Fold, x: &[T], each: usize, want: impl Fn(&[T]) -> T) {
        let mut out = vec![T::default(); x.len().div_ceil(each)];
        T::line(fold, x, each, &mut out);
        for (x, out) in x.chunks(each).zip(out) {
            assert_eq!(out.to_bytes(), want(x).to_bytes(), "{fold:?} of {x:?}, one of several");
        }
    }

    #[test]
    fn tiles_side_by_side_are_folded_as_by_themselves() {
        let x: Vec<f64> =
            (0..700).map(|i| f64::from(i).sin() + if i % 90 == 0 { 1e9 } else { 0.0 }).collect();
        let zeros: Vec<f32> = x.iter().map(|&x| if x > 0.3 { -0.0 } else { 0.0 }).collect();
        let mut nan: Vec<f32> = x.iter().map(|&x| x as f32).collect();
        (nan[40], nan[43]) = (f32::from_bits(0x7fc0_07a2), f32::from_bits(0xffc0_0001));
        let whole: Vec<i16> = (0..700_i16).map(|i| i.wrapping_mul(91)).collect();
        let wide: Vec<i64> = whole.iter().map(|&x| i64::from(x) << 40).collect();
        let half: Vec<bf16> = x.iter().map(|&x| bf16::from_f64(x)).collect();
        for each in (1..=18).chain([31, 100, 350, 699]) {
            check_line(Fold::Sum, &x, each, |x| by_definition(x, -0.0, |a, b| a + b));
            check_line(Fold::Prod, &x, each, |x| by_definition(x, 1.0, |a, b| a * b));
            check_line(Fold::Squares, &x, each, |x| {
                let (mut out, offsets) = ([0.0], Offsets::Steps(x.len(), 0, 1));
                f64::tiles(Fold::Squares, x, Rows { first: 0, stride: 1, offsets }, &mut out);
                out[0]
            });
            check_line(Fold::Max, &x, each, |x| by_definition(x, f64::NEG_INFINITY, maximum));
            check_line(Fold::Max, &zeros, each, |x| by_definition(x, f32::NEG_INFINITY, maximum));
            check_line(Fold::Min, &nan, each, |x| by_definition(x, f32::INFINITY, minimum));
            check_line(Fold::Sum, &whole, each, |x| by_definition(x, 0, i16::wrapping_add));
            check_line(Fold::Max, &wide, each, |x| by_definition(x, i64::MIN, i64::max));
            check_line(Fold::Max, &half, each, |x| by_definition(x, bf16::NEG_INFINITY, maximum));
            check_line(Fold::Squares, &half, each, |x| {
                let (mut out, offsets) = ([bf16::ZERO], Offsets::Steps(x.len(), 0, 1));
                bf16::tiles(Fold::Squares, x, Rows { first: 0, stride: 1, offsets }, &mut out);
                out[0]
            });
        }
    }

    #[test]
    fn products_of_complex_numbers_have_the_same_zeros_everywhere() {
        let parts = [0.0, -0.0, 1.0, -2.0, f64::INFINITY];
        let x: Vec<Complex<f64>> =
            (0..60).map(|i| Complex::new(parts[i * 7 % 5], parts[(i / 5 + i) % 5])).collect();
        let bits = |z: Complex<f64>| [z.re, z.im].map(|part| if part.is_nan() { 1 } else { part.to_bits() });
        for each in 1..=10 {
            let mut line = vec![Complex::default(); x.len().div_ceil(each)];
            Complex::line(Fold::Prod, &x, each, &mut line);
            for (x, in_line) in x.chunks(each).zip(line) {
                let tile: Complex<f64> = Complex::tile(Fold::Prod, x);
                let (mut rows, offsets) = ([Complex::default()], Offsets::Steps(x.len(), 0, 1));
                Complex::tiles(Fold::Prod, x, Rows { first: 0, stride: 1, offsets }, &mut rows);
                assert_eq!([tile, in_line].map(bits), [bits(rows[0]); 2], "{x:?}");
            }
        }
    }

    fn extremes<R: Reduce + Real>(nan: [R; 2]) {
        let number = |x: f64| R::from_f64(x);
        for n in [1, 7, 8, 9, 64, 100] {
            let plain: Vec<R> = (0..n).map(|i| number(((i * 37) % 64) as f64 - 31.5)).collect();
            let zeros: Vec<R> = (0..n).map(|i| number(if i % 3 == 0 { 0.0 } else { -0.0 })).collect();
            let below: Vec<R> = (0..n).map(|i| number(if i + 2 < n { -1.0 } else { -0.0 })).collect();
            let mut with_nan = plain.clone();
            (with_nan[n / 2], with_nan[n - 1]) = (nan[0], nan[1]);
            let infinite = vec![number(f64::NEG_INFINITY); n];
            for x in [plain, zeros, below, with_nan, infinite] {
                check(Fold::Max, &x, R::LOWEST, maximum);
                check(Fold::Min, &x, R::HIGHEST, minimum);
            }
        }
    }

    #[test]
    fn extremes_keep_nan_and_the_sign_of_zero() {
        extremes([f32::from_bits(0x7fc0_07a2), f32::from_bits(0xffc0_0001)]);
        extremes([f64::from_bits(0x7ff8_0000_0000_07a2), f64::from_bits(0xfff8_0000_0000_0001)]);
        extremes([bf16::from_bits(0x7fc5), bf16::from_bits(0xffc1)]);
        extremes([f16::from_bits(0x7e05), f16::from_bits(0xfe01)]);
    }

    #[test]
    fn integers_wrap() {
        let x: Vec<u32> = (0..100).map(|i| u32::MAX / 3 + i).collect();
        check(Fold::Sum, &x, 0, u32::wrapping_add);
        check(Fold::Prod, &x, 1, u32::wrapping_mul);
        check(Fold::Max, &x, 0, u32::max);
        let x: Vec<i8> = (0..100).map(|i| (i * 5 % 256 - 128) as i8).collect();
        check(Fold::Sum, &x, 0, i8::wrapping_add);
        check(Fold::Min, &x, i8::MAX, i8::min);
    }

    #[test]
    fn sums_are_of_parts() {
        let x: Vec<f64> = (0..1001).map(|i| f64::from(i).sin()).collect();
        check(Fold::Sum, &x, -0.0, |a, b| a + b);
        check(Fold::Prod, &x, 1.0, |a, b| a * b);
    }
}
