//! Cumulative sums, products, extremes and logarithms of sums of exponentials, along one axis.
//!
//! Each is the fold of the elements so far, one after the other, but for sums of floats (see
//! [`cumulative_sums`](super::cumulative_sums)). So a result depends on the values and their order only, not on
//! strides or threads.
//!
//! Along an axis that is contiguous, lines are taken tile by tile. Else those of many neighbours are taken
//! together, so that memory is read along its own lines.

use super::carrier::{Carried, Carrier};
use super::cumulative_sums::Sums;
use super::extremes::{Extremes, Largest, Smallest};
use super::fold::*;
use super::log_sum_exp::LogSumExp;
use super::loops::Accumulate;
use super::way::{taken, Lines, Parts, Together, Walk, Way};
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

    #[inline(never)]
    fn tile(state: &mut S::Acc, x: Option<&[T]>, out: &mut [T]) {
        taken(x, out);
        wide_loop(SerialTile::<_, _, S, V>(state, out, PhantomData))
    }

    fn together() -> Option<Together<T, S::Acc>> {
        Some(|states, rows| wide_loop(SerialRows::<_, _, S, V>(states, rows, PhantomData)))
    }

    fn parts() -> Option<Parts<T, S::Acc, S::Acc>> {
        FREE.then_some((folded::<T, V, S>, |state, total| *state = S::join(*state, total)))
    }
}

/// An element type that is cumulated.
trait Cumulate: Element {
    /// Elements of the same size.
    type Word: Element;
    /// The way of the cumulation.
    fn walk(by: Cumulation) -> Walk<Self::Word>;
}

#[cold]
#[inline(never)]
fn refused(by: Cumulation) -> ! {
    unreachable!("`infer` refuses {by:?} of such elements")
}

macro_rules! cumulate {
    ($($type:ty as $word:ty: $sum:ty, $prod:ty, $max:ty, $min:ty;)+) => {$(
        impl Cumulate for $type {
            type Word = $word;
            fn walk(by: Cumulation) -> Walk<$word> {
                match by {
                    Cumulation::Sum => Walk::of::<$type, $sum>(),
                    Cumulation::Prod => Walk::of::<$type, $prod>(),
                    Cumulation::Max => Walk::of::<$type, $max>(),
                    Cumulation::Min => Walk::of::<$type, $min>(),
                    Cumulation::LogSumExp => refused(by),
                }
            }
        }
    )+};
    (integers $($type:ident as $word:ident)+) => {
        cumulate! { $($type as $word: Serial<Sum, $type, true>, Serial<Prod, $type, true>, Serial<Max, $type, true>,
                             Serial<Min, $type, true>;)+ }
    };
    (floats $($type:ident as $word:ident, $wide:ty, $factor:ty, $prod:ty;)+) => {$(
        impl Cumulate for $type {
            type Word = $word;
            fn walk(by: Cumulation) -> Walk<$word> {
                match by {
                    Cumulation::Sum => Walk::of::<$type, Sums<$wide>>(),
                    Cumulation::Prod => Walk::of::<$type, Serial<$prod, $factor, false>>(),
                    Cumulation::Max => Walk::of::<$type, Extremes<Largest>>(),
                    Cumulation::Min => Walk::of::<$type, Extremes<Smallest>>(),
                    Cumulation::LogSumExp => Walk::of::<$type, LogSumExp>(),
                }
            }
        }
    )+};
    (complex $($type:ty as $word:ty;)+) => {$(
        impl Cumulate for $type {
            type Word = $word;
            fn walk(by: Cumulation) -> Walk<$word> {
                match by {
                    Cumulation::Sum => Walk::of::<$type, Sums<Complex<f64>>>(),
                    Cumulation::Prod => Walk::of::<$type, Serial<ProdComplex, $type, false>>(),
                    Cumulation::Max | Cumulation::Min | Cumulation::LogSumExp => refused(by),
                }
            }
        }
    )+};
}
cumulate! { integers i8 as u8 i16 as u16 i32 as u32 i64 as u64 u8 as u8 u16 as u16 u32 as u32 u64 as u64 }
cumulate! { floats bf16 as u16, f32, f32, ProdHalves; f16 as u16, f32, f32, ProdHalves;
f32 as u32, f64, f32, ProdFloats; f64 as u64, f64, f64, ProdFloats; }
cumulate! { complex Complex<f32> as Complex<f32>; Complex<f64> as Complex<f64>; }

impl Cumulate for Bool {
    type Word = u8;
    fn walk(by: Cumulation) -> Walk<u8> {
        match by {
            Cumulation::Max => Walk::of::<Bool, Serial<Any, Bool, true>>(),
            Cumulation::Min => Walk::of::<Bool, Serial<All, Bool, true>>(),
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
        let from = dense.then(|| &cast::slice(x.data)[x.layout.offset..][..x.shape.size()]);
        lines.run(&<T as Cumulate>::walk(by), from, cast::slice_mut(out.data));
    })
}

/// What cumulates elements of this dtype tile by tile, beginning with the last if `reverse`, with the bits of
/// [`cumulative`].
pub fn carrier(by: Cumulation, dtype: DType, reverse: bool) -> Arc<dyn Carrier> {
    dispatch!(dtype, T => Arc::new(Carried::new(<T as Cumulate>::walk(by), reverse)))
}
