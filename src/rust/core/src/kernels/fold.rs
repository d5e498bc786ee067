//! Reductions: many elements into one. Sums and products of f32 run in f64, those of 16-bit floats in f32, those of
//! complex numbers in pairs of f64; sums carry a correction, and chunk boundaries are fixed, so a result depends on the
//! values and their order only.

use super::scalar::{maximum, minimum};
use super::tile::{tile, tiles};
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

/// An element type that can be reduced.
pub trait Reduce: Element {
    /// Folds tiles of elements, in order, into one.
    fn fold(fold: Fold, tiles: &mut dyn FnMut(&mut dyn FnMut(&[Self]))) -> Self;
}

impl Reduce for Bool {
    fn fold(fold: Fold, tiles: &mut dyn FnMut(&mut dyn FnMut(&[Bool]))) -> Bool {
        // Sums and products of booleans are converted to integers before they get here.
        let any = matches!(fold, Fold::Any | Fold::Max | Fold::Sum);
        let mut out = !any;
        tiles(&mut |x| out = if any { out | x.iter().any(|b| b.get()) } else { out & x.iter().all(|b| b.get()) });
        out.into()
    }
}

fn fold_int<I: Int>(fold: Fold, tiles: &mut dyn FnMut(&mut dyn FnMut(&[I]))) -> I {
    let (mut out, step): (I, fn(I, I) -> I) = match fold {
        Fold::Sum => (I::default(), I::wrapping_add),
        Fold::Prod => (I::from_bool(true), I::wrapping_mul),
        Fold::Max => (I::LOWEST, I::max),
        Fold::Min => (I::HIGHEST, I::min),
        Fold::Any => (I::default(), I::or),
        Fold::All => (I::ONES, I::and),
    };
    tiles(&mut |x| out = x.iter().fold(out, |a, &b| step(a, b)));
    out
}

fn fold_float<R: Real>(fold: Fold, tiles: &mut dyn FnMut(&mut dyn FnMut(&[R]))) -> R {
    match fold {
        Fold::Sum | Fold::Any | Fold::All => sum(tiles).convert(),
        Fold::Prod => {
            let mut out = R::Wide::of(1.0);
            tiles(&mut |x| out = x.iter().fold(out, |a, b| a * b.convert()));
            out.convert()
        }
        Fold::Max => {
            let mut out = R::LOWEST;
            tiles(&mut |x| out = x.iter().fold(out, |a, &b| maximum(a, b)));
            out
        }
        Fold::Min => {
            let mut out = R::HIGHEST;
            tiles(&mut |x| out = x.iter().fold(out, |a, &b| minimum(a, b)));
            out
        }
    }
}

/// Sum of all tiles in the wider type: partial sums within a tile, Neumaier's correction between tiles.
///
/// Source: A. Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", ZAMM 54 (1974).
fn sum<R: Real>(tiles: &mut dyn FnMut(&mut dyn FnMut(&[R]))) -> R::Wide {
    let mut sum = Compensated::default();
    tiles(&mut |x| sum.add(partial_sums(x, |v| v.convert())));
    sum.total()
}

/// Sum of what `value` gives for the elements of a tile, in eight partial sums.
fn partial_sums<T, F: Float>(x: &[T], value: impl Fn(&T) -> F) -> F {
    let mut partial = [F::of(-0.0); 8];
    let chunks = x.chunks_exact(8);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (p, v) in partial.iter_mut().zip(chunk) {
            *p = *p + value(v);
        }
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

/// Sums and products of complex numbers, in double precision.
fn fold_complex<C: Cpx>(fold: Fold, tiles: &mut dyn FnMut(&mut dyn FnMut(&[C]))) -> C {
    if fold == Fold::Prod {
        let mut out = Complex::new(1.0, 0.0);
        tiles(&mut |x| out = x.iter().fold(out, |a, b| complex::mul(a, b.convert())));
        return C::from_c128(out);
    }
    // The others are refused by `infer`.
    let (mut re, mut im) = (Compensated::default(), Compensated::default());
    tiles(&mut |x| {
        let wide = |z: &C| z.convert::<Complex<f64>>();
        re.add(partial_sums(x, |z| wide(z).re));
        im.add(partial_sums(x, |z| wide(z).im));
    });
    C::from_c128(Complex::new(re.total(), im.total()))
}

macro_rules! reduce {
    ($fold:ident: $($type:ty)+) => {$(
        impl Reduce for $type {
            fn fold(fold: Fold, tiles: &mut dyn FnMut(&mut dyn FnMut(&[$type]))) -> $type { $fold(fold, tiles) }
        }
    )+};
}
reduce! { fold_int: i8 i16 i32 i64 u8 u16 u32 u64 }
reduce! { fold_float: bf16 f16 f32 f64 }
reduce! { fold_complex: Complex<f32> Complex<f64> }

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
