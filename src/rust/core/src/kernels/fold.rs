//! Reductions: many elements into one. Sums and products of f32 run in f64, those of 16-bit floats in f32, those of
//! complex numbers in pairs of f64; sums carry a correction, and chunk boundaries are fixed, so a result depends on the
//! values and their order only.

use super::scalar::{maximum, minimum};
use super::tile::{tile, tiles};
use super::wide::wide;
#[cfg(test)]
use super::tile::TILE;
use super::{cast, complex};
use crate::dtype::{Bool, Cpx, Element, Float, Int, Real};
use crate::shape::{Axis, Shape};
use crate::tensor::{Layout, View, ViewMut};
use half::{bf16, f16};
use num_complex::Complex;

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

/// What a fold makes of one tile of elements, as the bytes of an element: of the accumulator's type for sums.
pub type Partial = [u8; PARTIAL];

/// Bytes of a [`Partial`].
pub const PARTIAL: usize = 16;

/// Gives pieces of work to the function that it is called with, in order.
pub type Each<'a, T> = &'a mut dyn FnMut(&mut dyn FnMut(T));

/// An element type that can be reduced. A fold is made of tiles, each by itself, and then of what it made of these, in
/// order: tiles may be folded by several threads, and the result has the same bits.
pub trait Reduce: Element {
    /// Folds one tile. Products are not made of parts.
    fn partial(fold: Fold, x: &[Self]) -> Partial;

    /// Folds what [`partial`](Reduce::partial) made of all tiles, in their order.
    fn finish(fold: Fold, partials: Each<Partial>) -> Self;

    /// Folds tiles of elements, in order, into one.
    fn fold(fold: Fold, tiles: &mut dyn FnMut(&mut dyn FnMut(&[Self]))) -> Self;
}

impl Fold {
    /// Whether it can be made of tiles that were folded by themselves: a product takes one element after the other.
    pub fn has_partials(self) -> bool {
        self != Fold::Prod
    }
}

impl Reduce for Bool {
    fn partial(fold: Fold, x: &[Bool]) -> Partial {
        // Sums and products of booleans are converted to integers before they get here.
        let any = matches!(fold, Fold::Any | Fold::Max | Fold::Sum);
        let out: Bool = if any { x.iter().any(|b| b.get()) } else { x.iter().all(|b| b.get()) }.into();
        out.to_bytes()
    }

    fn finish(fold: Fold, partials: Each<Partial>) -> Bool {
        let any = matches!(fold, Fold::Any | Fold::Max | Fold::Sum);
        let mut out = !any;
        partials(&mut |part| {
            let part = Bool::from_bytes(&part).get();
            out = if any { out | part } else { out & part };
        });
        out.into()
    }

    fn fold(fold: Fold, tiles: &mut dyn FnMut(&mut dyn FnMut(&[Bool]))) -> Bool {
        Self::finish(fold, &mut |add| tiles(&mut |x| add(Self::partial(fold, x))))
    }
}

/// The value from which an integer fold starts, and its step.
fn int_fold<I: Int>(fold: Fold) -> (I, fn(I, I) -> I) {
    match fold {
        Fold::Sum => (I::default(), I::wrapping_add),
        Fold::Prod => (I::from_bool(true), I::wrapping_mul),
        Fold::Max => (I::LOWEST, I::max),
        Fold::Min => (I::HIGHEST, I::min),
        Fold::Any => (I::default(), I::or),
        Fold::All => (I::ONES, I::and),
    }
}

fn partial_int<I: Int>(fold: Fold, x: &[I]) -> Partial {
    // A loop for each, so that the compiler sees the step.
    let out = match fold {
        Fold::Sum => wide(|| x.iter().fold(I::default(), |a, &b| a.wrapping_add(b))),
        Fold::Max => wide(|| x.iter().fold(I::LOWEST, |a, &b| a.max(b))),
        Fold::Min => wide(|| x.iter().fold(I::HIGHEST, |a, &b| a.min(b))),
        _ => {
            let (start, step) = int_fold(fold);
            x.iter().fold(start, |a, &b| step(a, b))
        }
    };
    out.to_bytes()
}

fn finish_int<I: Int>(fold: Fold, partials: Each<Partial>) -> I {
    let (mut out, step): (I, fn(I, I) -> I) = int_fold(fold);
    partials(&mut |part| out = step(out, I::from_bytes(&part)));
    out
}

fn product_of_ints<I: Int>(tiles: &mut dyn FnMut(&mut dyn FnMut(&[I]))) -> I {
    let mut out = I::from_bool(true);
    tiles(&mut |x| out = x.iter().fold(out, |a, &b| a.wrapping_mul(b)));
    out
}

fn partial_float<R: Real>(fold: Fold, x: &[R]) -> Partial {
    match fold {
        Fold::Max => x.iter().fold(R::LOWEST, |a, &b| maximum(a, b)).to_bytes(),
        Fold::Min => x.iter().fold(R::HIGHEST, |a, &b| minimum(a, b)).to_bytes(),
        _ => wide(|| partial_sums(x, |v| v.convert::<R::Wide>())).to_bytes(),
    }
}

/// Sums have Neumaier's correction between tiles.
///
/// Source: A. Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", ZAMM 54 (1974).
fn finish_float<R: Real>(fold: Fold, partials: Each<Partial>) -> R {
    let mut extreme = |start: R, step: fn(R, R) -> R| {
        let mut out = start;
        partials(&mut |part| out = step(out, R::from_bytes(&part)));
        out
    };
    match fold {
        Fold::Max => extreme(R::LOWEST, maximum),
        Fold::Min => extreme(R::HIGHEST, minimum),
        _ => {
            let mut sum = Compensated::<R::Wide>::default();
            partials(&mut |part| sum.add(<R::Wide as Element>::from_bytes(&part)));
            sum.total().convert()
        }
    }
}

fn product_of_floats<R: Real>(tiles: &mut dyn FnMut(&mut dyn FnMut(&[R]))) -> R {
    let mut out = R::Wide::of(1.0);
    tiles(&mut |x| out = x.iter().fold(out, |a, b| a * b.convert()));
    out.convert()
}

/// Sum of what `value` gives for the elements of a tile, in eight partial sums.
#[inline(always)]
fn partial_sums<T, F: Float>(x: &[T], value: impl Fn(&T) -> F) -> F {
    let mut partial = [F::of(-0.0); 8];
    let chunks = x.chunks_exact(8);
    let rest = chunks.remainder();
    for chunk in chunks {
        // Of a length that the compiler knows, so that the partial sums stay in registers.
        let values: [F; 8] = std::array::from_fn(|i| value(&chunk[i]));
        partial = std::array::from_fn(|i| partial[i] + values[i]);
    }
    for (p, v) in partial.iter_mut().zip(rest) {
        *p = *p + value(v);
    }
    let [a, b, c, d, e, f, g, h] = partial;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// A running sum with Neumaier's correction. An empty sum is 0, but a sum of -0 alone is -0.
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

/// Sums of complex numbers, in double precision; other folds than these and products are refused by `infer`.
fn partial_complex<C: Cpx>(_: Fold, x: &[C]) -> Partial {
    let wide = |z: &C| z.convert::<Complex<f64>>();
    Complex::new(partial_sums(x, |z| wide(z).re), partial_sums(x, |z| wide(z).im)).to_bytes()
}

fn finish_complex<C: Cpx>(_: Fold, partials: Each<Partial>) -> C {
    let (mut re, mut im) = (Compensated::default(), Compensated::default());
    partials(&mut |part| {
        let part = <Complex<f64> as Element>::from_bytes(&part);
        re.add(part.re);
        im.add(part.im);
    });
    C::from_c128(Complex::new(re.total(), im.total()))
}

fn product_of_complex<C: Cpx>(tiles: &mut dyn FnMut(&mut dyn FnMut(&[C]))) -> C {
    let mut out = Complex::new(1.0, 0.0);
    tiles(&mut |x| out = x.iter().fold(out, |a, b| complex::mul(a, b.convert())));
    C::from_c128(out)
}

macro_rules! reduce {
    ($partial:ident $finish:ident $product:ident: $($type:ty)+) => {$(
        impl Reduce for $type {
            fn partial(fold: Fold, x: &[$type]) -> Partial { $partial(fold, x) }
            fn finish(fold: Fold, partials: Each<Partial>) -> $type { $finish(fold, partials) }
            fn fold(fold: Fold, tiles: &mut dyn FnMut(&mut dyn FnMut(&[$type]))) -> $type {
                if !fold.has_partials() {
                    return $product(tiles);
                }
                Self::finish(fold, &mut |add| tiles(&mut |x| add(Self::partial(fold, x))))
            }
        }
    )+};
}
reduce! { partial_int finish_int product_of_ints: i8 i16 i32 i64 u8 u16 u32 u64 }
reduce! { partial_float finish_float product_of_floats: bf16 f16 f32 f64 }
reduce! { partial_complex finish_complex product_of_complex: Complex<f32> Complex<f64> }

/// Reduces the dimensions `axes` of `x`; `out` has the others, in order. An empty set of elements gives the identity.
pub fn reduce<T: Reduce>(fold: Fold, x: &View, axes: &[Axis], out: &mut ViewMut) {
    let kept: Vec<usize> = (0..x.shape.rank()).filter(|&i| !axes.contains(&Axis(i))).collect();
    let pick = |ids: &mut dyn Iterator<Item = usize>| -> (Vec<usize>, Vec<isize>) {
        ids.map(|i| (x.shape[i], x.layout.strides[i])).unzip()
    };
    let (inner_sizes, inner_strides) = pick(&mut axes.iter().map(|a| a.0));
    let (outer_sizes, outer_strides) = pick(&mut kept.into_iter());
    let inner_shape = Shape::try_new(inner_sizes).expect("part of an addressable shape");
    let outer_shape = Shape::try_new(outer_sizes).expect("part of an addressable shape");
    let outer = Layout { strides: outer_strides, offset: x.layout.offset };
    let out = cast::slice_mut::<T>(out.data);
    let n = inner_shape.size();
    let mut scratch = Vec::new();
    let mut layout = Layout { strides: inner_strides, offset: 0 };
    super::tile::runs(&outer_shape, &outer, 0..out.len(), |at, first, stride, len| {
        for i in 0..len {
            layout.offset = (first as isize + i as isize * stride) as usize;
            let view = View { dtype: x.dtype, shape: &inner_shape, layout: &layout, data: x.data };
            out[at + i] = T::fold(fold, &mut |visit| {
                for range in tiles(n) {
                    visit(tile(&view, range, &mut scratch));
                }
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::{DType, HasDType};

    fn run<T: Reduce>(fold: Fold, data: &[T], shape: Shape, axes: &[Axis]) -> Vec<T> {
        let layout = Layout::dense(&shape);
        let x = View { dtype: T::DTYPE, shape: &shape, layout: &layout, data: cast::bytes(data) };
        let out_shape = shape.without(axes);
        let mut out = vec![T::default(); out_shape.size()];
        reduce::<T>(fold, &x, axes, &mut ViewMut { dtype: T::DTYPE, shape: &out_shape, data: cast::bytes_mut(&mut out) });
        out
    }

    #[test]
    fn rows_and_columns() {
        let x: Vec<i32> = (1..=6).collect();
        assert_eq!(run(Fold::Sum, &x, [2, 3].into(), &[Axis(0)]), [3, 7, 11]);
        assert_eq!(run(Fold::Sum, &x, [2, 3].into(), &[Axis(1)]), [9, 12]);
        assert_eq!(run(Fold::Prod, &x, [2, 3].into(), &[Axis(0), Axis(1)]), [720]);
        assert_eq!(run(Fold::Max, &x, [2, 3].into(), &[]), x);
        assert_eq!(DType::I32, i32::DTYPE);
    }

    #[test]
    fn empty_sets_give_the_identity() {
        let of = |fold| run::<f32>(fold, &[], [0, 2].into(), &[Axis(0)]);
        assert_eq!(of(Fold::Sum), [0.0, 0.0]);
        assert_eq!(of(Fold::Prod), [1.0, 1.0]);
        assert_eq!(of(Fold::Max), [f32::NEG_INFINITY; 2]);
        assert_eq!(run::<i8>(Fold::Min, &[], [0].into(), &[Axis(0)]), [i8::MAX]);
        assert_eq!(run::<f32>(Fold::Sum, &[], [2, 0].into(), &[Axis(0)]), [0f32; 0]);
    }

    #[test]
    fn nan_and_infinity_reach_the_result() {
        let of = |fold, x: &[f64]| run(fold, x, [3].into(), &[Axis(0)])[0];
        assert!(of(Fold::Max, &[1.0, f64::NAN, 2.0]).is_nan());
        assert!(of(Fold::Min, &[1.0, f64::NAN, 2.0]).is_nan());
        assert_eq!(of(Fold::Sum, &[f64::INFINITY, 1.0, 2.0]), f64::INFINITY);
        assert!(of(Fold::Sum, &[f64::INFINITY, f64::NEG_INFINITY, 2.0]).is_nan());
    }

    #[test]
    fn long_sums_stay_exact() {
        let n = 1 << 20;
        let x: Vec<f32> = (0..n).map(|i| 0.1 + (i % 7) as f32).collect();
        let exact: f64 = x.iter().map(|&v| v as f64).sum();
        assert_eq!(run(Fold::Sum, &x, [n].into(), &[Axis(0)]), [exact as f32]);
        // 1 is lost in every partial sum without the correction between tiles.
        let mut y = vec![0.0f64; 3 * TILE];
        (y[0], y[TILE], y[2 * TILE]) = (1e16, 1.0, -1e16);
        assert_eq!(run(Fold::Sum, &y, [3 * TILE].into(), &[Axis(0)]), [1.0]);
    }
}
