//! Folds over windows. Floats are folded in f64 and rounded once, integers wrap.
//!
//! Elements of a window are taken in order, the first axis first; a line of the result along the first axis at
//! a time, so that neighbours make vectors.

use super::fold::Fold;
use crate::dtype::{dispatch_int, DType, Element, Int};
use crate::kernels::cast;
use crate::kernels::linalg::each::dispatch_scalar;
use crate::kernels::math::scalar::{maximum, minimum};
use crate::kernels::memory::zeroed;
use crate::kernels::products::convolution::Window;
use crate::kernels::threads::pool;
use crate::kernels::wide::{combine, wide_loop, Loop};
use crate::tensor::{View, ViewMut};
use num_complex::Complex;
use std::marker::PhantomData;
use std::ops::Range;

/// About how long an element of a window takes, in picoseconds.
const ELEMENT: usize = 500;

/// A function of two elements.
trait Join<A>: Sync {
    fn of(x: A, y: A) -> A;
}

macro_rules! joins {
    ($($name:ident<$($bound:ident)?>: $sum:ty, |$x:ident, $y:ident| $body:expr;)+) => {$(
        struct $name;
        joins! { @impl $name $($bound)?; $sum, |$x, $y| $body }
    )+};
    (@impl $name:ident $bound:ident; $sum:ty, |$x:ident, $y:ident| $body:expr) => {
        impl<T: $bound> Join<T> for $name {
            #[inline(always)]
            fn of($x: T, $y: T) -> T { $body }
        }
    };
    (@impl $name:ident; $sum:ty, |$x:ident, $y:ident| $body:expr) => {
        impl Join<$sum> for $name {
            #[inline(always)]
            fn of($x: $sum, $y: $sum) -> $sum { $body }
        }
    };
}
joins! {
    Sum<>: f64, |x, y| x + y;
    Product<>: f64, |x, y| x * y;
    Largest<>: f64, |x, y| maximum(x, y);
    Smallest<>: f64, |x, y| minimum(x, y);
    ComplexSum<>: Complex<f64>, |x, y| x + y;
    ComplexProduct<>: Complex<f64>, |x, y| x * y;
    WrappedSum<Int>: (), |x, y| x.wrapping_add(y);
    WrappedProduct<Int>: (), |x, y| x.wrapping_mul(y);
    LargestInt<Int>: (), |x, y| if y > x { y } else { x };
    SmallestInt<Int>: (), |x, y| if y < x { y } else { x };
}

/// The fold of the windows on all axes of a value, one for each axis.
///
/// # Panics
/// For other folds than sums, products and extremes, and extremes of complex numbers.
pub fn windows(fold: Fold, x: &View, windows: &[Window], out: &mut ViewMut) {
    if out.shape.size() == 0 {
        return;
    }
    // Axes of one element that is a window would make short lines.
    let unit = |axis: usize| {
        let window = windows[axis];
        x.shape[axis] == 1 && out.shape[axis] == 1 && window.size == 1 && window.low == 0
    };
    let axes: Vec<usize> = (0..windows.len()).filter(|&axis| !unit(axis)).collect();
    let lines = Lines {
        windows: axes.iter().map(|&i| windows[i]).collect(),
        sizes: axes.iter().map(|&i| x.shape[i]).collect(),
        strides: axes.iter().map(|&i| x.layout.strides[i]).collect(),
        counts: axes.iter().map(|&i| out.shape[i]).collect(),
        offset: x.layout.offset as isize,
    };
    let unknown = || unreachable!("windows have sums, products, and extremes where there is an order");
    match x.dtype {
        DType::C64 => complex::<Complex<f32>>(fold, &lines, x, out),
        DType::C128 => complex::<Complex<f64>>(fold, &lines, x, out),
        dtype if dtype.is_float() => dispatch_scalar!(dtype, T => {
            let (x, out) = (cast::slice::<T>(x.data), cast::slice_mut::<T>(out.data));
            match fold {
                Fold::Sum => lines.run(x, out, 0.0, take::<_, _, Sum>),
                Fold::Prod => lines.run(x, out, 1.0, take::<_, _, Product>),
                Fold::Max => lines.run(x, out, f64::NEG_INFINITY, take::<_, _, Largest>),
                Fold::Min => lines.run(x, out, f64::INFINITY, take::<_, _, Smallest>),
                _ => unknown(),
            }
        }, F32 F64 BF16; F16),
        dtype => dispatch_int!(dtype, T => {
            let (x, out) = (cast::slice::<T>(x.data), cast::slice_mut::<T>(out.data));
            match fold {
                Fold::Sum => lines.run(x, out, T::default(), take::<_, _, WrappedSum>),
                Fold::Prod => lines.run(x, out, 1i64.convert::<T>(), take::<_, _, WrappedProduct>),
                Fold::Max => lines.run(x, out, T::LOWEST, take::<_, _, LargestInt>),
                Fold::Min => lines.run(x, out, T::HIGHEST, take::<_, _, SmallestInt>),
                _ => unknown(),
            }
        }),
    }
}

fn complex<T: Element>(fold: Fold, lines: &Lines, x: &View, out: &mut ViewMut) {
    let (x, out) = (cast::slice::<T>(x.data), cast::slice_mut::<T>(out.data));
    match fold {
        Fold::Sum => lines.run(x, out, Complex::from(0.0), take::<_, _, ComplexSum>),
        Fold::Prod => lines.run(x, out, Complex::from(1.0), take::<_, _, ComplexProduct>),
        _ => unreachable!("complex numbers have no order"),
    }
}

/// The lines of a result along the first axis.
struct Lines {
    windows: Vec<Window>,
    /// Sizes and strides of the operand.
    sizes: Vec<usize>,
    strides: Vec<isize>,
    offset: isize,
    /// Sizes of the result.
    counts: Vec<usize>,
}

impl Lines {
    /// Computes the results of elements of a type, by the function that takes elements into sums of another.
    fn run<T: Element, A: Element>(&self, x: &[T], out: &mut [T], start: A, take: Take<T, A>) {
        let [first, others @ ..] = &self.windows[..] else {
            let mut sum = [start];
            take(x, self.offset, 1, &mut sum);
            return out[0] = sum[0].convert();
        };
        let length = self.counts[0];
        let taps: usize = others.iter().map(|w| w.size).product();
        let each = (length * first.size).saturating_mul(taps * ELEMENT);
        let lines = out.len() / length;
        let together = (pool::WORTH_SHARING / 8 / each.max(1)).clamp(1, lines);
        pool::for_each_chunk(out, length * together, each.saturating_mul(lines), |piece, out| {
            let mut sums: Vec<A> = zeroed(length);
            for (i, line) in out.chunks_exact_mut(length).enumerate() {
                sums.fill(start);
                self.taps(piece * together + i, &mut |own, from, step| take(x, from, step, &mut sums[own]));
                line.iter_mut().zip(&sums).for_each(|(out, sum)| *out = sum.convert());
            }
        });
    }

    /// For each place in a window, the windows of a line in which there is an element, the first of these elements,
    /// and how far apart they are.
    fn taps(&self, line: usize, run: &mut dyn FnMut(Range<usize>, isize, isize)) {
        let (first, others) = (self.windows[0], &self.windows[1..]);
        let taps: usize = others.iter().map(|w| w.size).product();
        for tap in 0..taps {
            let (mut window, mut place, mut from) = (line, tap, Some(self.offset));
            for (axis, own) in others.iter().enumerate() {
                let element =
                    own.element(window % self.counts[axis + 1], place % own.size, self.sizes[axis + 1]);
                from = from.zip(element).map(|(f, e)| f + e as isize * self.strides[axis + 1]);
                window /= self.counts[axis + 1];
                place /= own.size;
            }
            let Some(from) = from else { continue };
            for place in 0..first.size {
                // The windows of which this is an element of the operand.
                let at = (place * first.dilation) as i64 - first.low;
                let (stride, size) = (first.stride as i64, self.sizes[0] as i64);
                let begin = (-at).max(0).div_euclid(stride) + i64::from((-at).max(0) % stride != 0);
                let end = ((size - at - 1).div_euclid(stride) + 1).clamp(0, self.counts[0] as i64);
                if begin >= end {
                    continue;
                }
                let from = from + (at + begin * stride) as isize * self.strides[0];
                run(begin as usize..end as usize, from, stride as isize * self.strides[0]);
            }
        }
    }
}

/// Takes elements, from one of these on and so far apart, into as many sums.
type Take<T, A> = fn(&[T], isize, isize, &mut [A]);

fn take<T: Element, A: Element, J: Join<A>>(x: &[T], from: isize, step: isize, sums: &mut [A]) {
    wide_loop(Run { x, from, step, sums, join: PhantomData::<J> })
}

/// Elements joined with what is in others.
struct Run<'a, T, A, J> {
    x: &'a [T],
    from: isize,
    step: isize,
    sums: &'a mut [A],
    join: PhantomData<J>,
}

impl<T: Element, A: Element, J: Join<A>> Loop for Run<'_, T, A, J> {
    type Made = ();
    #[inline(always)]
    fn run(self) {
        if self.step == 1 {
            let x = &self.x[self.from as usize..][..self.sums.len()];
            return combine(self.sums, x, |sum, x: T| J::of(sum, x.convert()));
        }
        for (i, sum) in self.sums.iter_mut().enumerate() {
            *sum = J::of(*sum, self.x[(self.from + i as isize * self.step) as usize].convert());
        }
    }
}
