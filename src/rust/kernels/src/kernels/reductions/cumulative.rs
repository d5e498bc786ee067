//! Cumulative sums, products, extremes and logarithms of sums of exponentials, along one axis.
//!
//! Each is the fold of the elements so far, one after the other, but for sums of floats (see
//! [`cumulative_sums`](super::cumulative_sums)). So a result depends on the values and their order only, not on
//! strides or threads.
//!
//! Along an axis that is contiguous, lines are taken tile by tile. Else those of many neighbours are taken
//! together, so that memory is read along its own lines.

use super::carrier::{self, Carrier};
use super::cumulative_sums::Sums;
use super::extremes::{Extremes, Largest, Smallest};
use super::fold::*;
use super::lines::Lines;
use super::log_sum_exp::LogSumExp;
use super::loops::Accumulate;
use super::way::{Parts, Together, Way};
use crate::dtype::{dispatch, Bool, DType, Element};
use crate::kernels::cast;
use crate::kernels::tile::copy;
use crate::kernels::wide::{wide_loop, Loop};
use crate::shape::Axis;
use crate::tensor::{View, ViewMut};
use half::{bf16, f16};
use num_complex::Complex;
use std::marker::PhantomData;
use std::sync::Arc;

/// What is cumulated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cumulation {
    /// Sum; wraps for integers.
    Sum,
    /// Product; wraps for integers.
    Prod,
    /// Largest; NaN from the first NaN on.
    Max,
    /// Smallest; NaN from the first NaN on.
    Min,
    /// Logarithm of the sum of the exponentials, of floats.
    LogSumExp,
}

/// Work that is done in some way of cumulation.
trait InWay<T: Element> {
    type Made;
    fn run<W: Way<T>>(self) -> Self::Made;
}

// ---- one element after the other

/// The fold `S` of elements as values of type `V`.
struct Serial<S, V, const FREE: bool>(PhantomData<(S, V)>);

struct SerialTile<'a, T, A, S, V>(&'a mut A, &'a mut [T], PhantomData<(S, V)>);

impl<T: Element, V: Element, S: Accumulate<V>> Loop for SerialTile<'_, T, S::Acc, S, V> {
    type Made = ();
    #[inline(always)]
    fn run(self) {
        let mut acc = *self.0;
        for x in self.1 {
            acc = S::add(acc, x.convert());
            *x = acc.convert();
        }
        *self.0 = acc;
    }
}

struct SerialRows<'a, 'b, T, A, S, V>(&'a mut [A], &'a mut [&'b mut [T]], PhantomData<(S, V)>);

impl<T: Element, V: Element, S: Accumulate<V>> Loop for SerialRows<'_, '_, T, S::Acc, S, V> {
    type Made = ();
    #[inline(always)]
    fn run(self) {
        for row in self.1 {
            for (acc, x) in self.0.iter_mut().zip(row.iter_mut()) {
                *acc = S::add(*acc, x.convert());
                *x = acc.convert();
            }
        }
    }
}

fn folded<T: Element, V: Element, S: Accumulate<V>>(x: &[T]) -> S::Acc {
    x.iter().fold(S::start(), |acc, x| S::add(acc, x.convert()))
}

impl<T: Element, V: Element, S: Accumulate<V> + 'static, const FREE: bool> Way<T> for Serial<S, V, FREE> {
    type State = S::Acc;
    type Total = S::Acc;

    fn start() -> S::Acc {
        S::start()
    }

    fn tile(state: &mut S::Acc, x: &mut [T]) {
        wide_loop(SerialTile::<_, _, S, V>(state, x, PhantomData))
    }

    fn together() -> Option<Together<T, S::Acc>> {
        Some(|states, rows| wide_loop(SerialRows::<_, _, S, V>(states, rows, PhantomData)))
    }

    fn parts() -> Option<Parts<T, S::Acc, S::Acc>> {
        FREE.then_some((folded::<T, V, S>, |state, total| *state = S::join(*state, total)))
    }
}

/// All lines of a value, dense in the slice, or in the result already.
struct Whole<'a, T>(Lines, Option<&'a [T]>, &'a mut [T]);

impl<T: Element> InWay<T> for Whole<'_, T> {
    type Made = ();
    fn run<W: Way<T>>(self) {
        self.0.run::<T, W>(self.1, self.2)
    }
}

/// A carrier for the tiles of lines that are taken in this order.
struct Carriers {
    reverse: bool,
}

impl<T: Element> InWay<T> for Carriers {
    type Made = Arc<dyn Carrier>;
    fn run<W: Way<T>>(self) -> Arc<dyn Carrier> {
        Arc::new(carrier::Carried::<T, W>::new(self.reverse))
    }
}

/// An element type that is cumulated.
trait Cumulate: Element {
    /// Does the work in the way of the cumulation.
    fn run<V: InWay<Self>>(by: Cumulation, work: V) -> V::Made;
}

#[cold]
#[inline(never)]
fn refused(by: Cumulation) -> ! {
    unreachable!("`infer` refuses {by:?} of such elements")
}

macro_rules! cumulate {
    ($($type:ty: $sum:ty, $prod:ty, $max:ty, $min:ty;)+) => {$(
        impl Cumulate for $type {
            fn run<V: InWay<Self>>(by: Cumulation, work: V) -> V::Made {
                match by {
                    Cumulation::Sum => work.run::<$sum>(),
                    Cumulation::Prod => work.run::<$prod>(),
                    Cumulation::Max => work.run::<$max>(),
                    Cumulation::Min => work.run::<$min>(),
                    Cumulation::LogSumExp => refused(by),
                }
            }
        }
    )+};
    (integers $($type:ty)+) => {
        cumulate! { $($type: Serial<Sum, $type, true>, Serial<Prod, $type, true>, Serial<Max, $type, true>,
                             Serial<Min, $type, true>;)+ }
    };
    (floats $($type:ty, $wide:ty, $factor:ty, $prod:ty;)+) => {$(
        impl Cumulate for $type {
            fn run<V: InWay<Self>>(by: Cumulation, work: V) -> V::Made {
                match by {
                    Cumulation::Sum => work.run::<Sums<$wide>>(),
                    Cumulation::Prod => work.run::<Serial<$prod, $factor, false>>(),
                    Cumulation::Max => work.run::<Extremes<Largest>>(),
                    Cumulation::Min => work.run::<Extremes<Smallest>>(),
                    Cumulation::LogSumExp => work.run::<LogSumExp>(),
                }
            }
        }
    )+};
    (complex $($type:ty)+) => {$(
        impl Cumulate for $type {
            fn run<V: InWay<Self>>(by: Cumulation, work: V) -> V::Made {
                match by {
                    Cumulation::Sum => work.run::<Sums<Complex<f64>>>(),
                    Cumulation::Prod => work.run::<Serial<ProdComplex, $type, false>>(),
                    Cumulation::Max | Cumulation::Min | Cumulation::LogSumExp => refused(by),
                }
            }
        }
    )+};
}
cumulate! { integers i8 i16 i32 i64 u8 u16 u32 u64 }
cumulate! { floats bf16, f32, f32, ProdHalves; f16, f32, f32, ProdHalves; f32, f64, f32, ProdFloats;
f64, f64, f64, ProdFloats; }
cumulate! { complex Complex<f32> Complex<f64> }

impl Cumulate for Bool {
    fn run<V: InWay<Bool>>(by: Cumulation, work: V) -> V::Made {
        match by {
            Cumulation::Max => work.run::<Serial<Any, Bool, true>>(),
            Cumulation::Min => work.run::<Serial<All, Bool, true>>(),
            Cumulation::Sum | Cumulation::Prod | Cumulation::LogSumExp => refused(by),
        }
    }
}

/// Cumulates the elements of `x` along an axis, from the last to the first if `reverse`; `out` has the same
/// shape and dtype.
pub fn cumulative(by: Cumulation, x: &View, axis: Axis, reverse: bool, out: &mut ViewMut) {
    let (n, inner) = (x.shape[axis.0], x.shape[..axis.0].iter().product());
    if out.data.is_empty() {
        return;
    }
    let lines = Lines { n, inner, reverse };
    let dense = x.layout.is_dense(x.shape);
    if !dense {
        copy(x, out);
    }
    dispatch!(x.dtype, T => {
        let from = dense.then(|| &cast::slice::<T>(x.data)[x.layout.offset..][..x.shape.size()]);
        <T as Cumulate>::run(by, Whole(lines, from, cast::slice_mut(out.data)));
    })
}

/// What cumulates elements of this dtype tile by tile, beginning with the last if `reverse`, with the bits of
/// [`cumulative`].
pub fn carrier(by: Cumulation, dtype: DType, reverse: bool) -> Arc<dyn Carrier> {
    dispatch!(dtype, T => <T as Cumulate>::run(by, Carriers { reverse }))
}
