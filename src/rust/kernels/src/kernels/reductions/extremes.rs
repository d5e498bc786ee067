//! Cumulative extremes of floats, as those of integers in the same order: where each result waits for the one
//! before it, a comparison of integers is several times faster than the rules for NaN and zeros.

use super::way::{taken, Parts, Together, Way};
use crate::dtype::Element;
use crate::kernels::wide::{wide_loop, Loop};
use half::{bf16, f16};
use std::marker::PhantomData;

/// A float as an integer.
pub(super) trait Keyed: Element {
    /// Integers of as many bits, whose order is that of the floats, with -0 below 0.
    type Key: Copy + Ord + Default + Send + Sync + 'static;
    /// The integer of a float; that of NaN is above all others, or `below` them.
    fn key(self, below: bool) -> Self::Key;
    /// The float of an integer.
    fn of_key(key: Self::Key) -> Self;
}

macro_rules! keyed {
    ($($float:ident $key:ident $unsigned:ident;)+) => {$(
        impl Keyed for $float {
            type Key = $key;
            #[inline(always)]
            fn key(self, below: bool) -> $key {
                let bits = self.to_bits() as $key;
                // Of negative numbers all bits but the sign turn.
                let key = bits ^ (((bits >> ($key::BITS - 1)) as $unsigned) >> 1) as $key;
                #[allow(clippy::eq_op)] // NaN is what is not equal to itself.
                let is_nan = self != self;
                let nan = if below { (bits | $key::MIN) ^ $key::MAX } else { bits & $key::MAX };
                if is_nan { nan } else { key }
            }
            #[inline(always)]
            fn of_key(key: $key) -> $float {
                $float::from_bits((key ^ (((key >> ($key::BITS - 1)) as $unsigned) >> 1) as $key) as $unsigned)
            }
        }
    )+};
}
keyed! { f64 i64 u64; f32 i32 u32; bf16 i16 u16; f16 i16 u16; }

/// Which extreme.
pub(super) trait Extreme: 'static {
    /// Whether NaN is below all numbers.
    const BELOW: bool;
    /// The one of two.
    fn of<K: Ord>(a: K, b: K) -> K;
    /// What is none of any number.
    fn start<T: Element>() -> T;
}

/// The largest element.
pub(super) struct Largest;

impl Extreme for Largest {
    const BELOW: bool = false;
    #[inline(always)]
    fn of<K: Ord>(a: K, b: K) -> K {
        a.max(b)
    }
    fn start<T: Element>() -> T {
        T::LOWEST
    }
}

/// The smallest element.
pub(super) struct Smallest;

impl Extreme for Smallest {
    const BELOW: bool = true;
    #[inline(always)]
    fn of<K: Ord>(a: K, b: K) -> K {
        a.min(b)
    }
    fn start<T: Element>() -> T {
        T::HIGHEST
    }
}

/// A cumulation.
pub(super) struct Extremes<E>(PhantomData<E>);

struct Tile<'a, T: Keyed, E>(&'a mut T::Key, &'a mut [T], PhantomData<E>);

impl<T: Keyed, E: Extreme> Loop for Tile<'_, T, E> {
    type Made = ();
    #[inline(always)]
    fn run(self) {
        let mut so_far = *self.0;
        for x in self.1 {
            so_far = E::of(so_far, x.key(E::BELOW));
            *x = T::of_key(so_far);
        }
        *self.0 = so_far;
    }
}

struct Rows<'a, 'b, T: Keyed, E>(&'a mut [T::Key], &'a mut [&'b mut [T]], PhantomData<E>);

impl<T: Keyed, E: Extreme> Loop for Rows<'_, '_, T, E> {
    type Made = ();
    #[inline(always)]
    fn run(self) {
        for row in self.1 {
            for (so_far, x) in self.0.iter_mut().zip(row.iter_mut()) {
                *so_far = E::of(*so_far, x.key(E::BELOW));
                *x = T::of_key(*so_far);
            }
        }
    }
}

struct Total<'a, T, E>(&'a [T], PhantomData<E>);

impl<T: Keyed, E: Extreme> Loop for Total<'_, T, E> {
    type Made = T::Key;
    #[inline(always)]
    fn run(self) -> T::Key {
        let start = E::start::<T>().key(E::BELOW);
        self.0.iter().fold(start, |so_far, x| E::of(so_far, x.key(E::BELOW)))
    }
}

impl<T: Keyed, E: Extreme> Way<T> for Extremes<E> {
    type State = T::Key;
    type Total = T::Key;

    fn start() -> T::Key {
        E::start::<T>().key(E::BELOW)
    }

    #[inline(never)]
    fn tile(state: &mut T::Key, x: Option<&[T]>, out: &mut [T]) {
        taken(x, out);
        wide_loop(Tile::<T, E>(state, out, PhantomData))
    }

    fn together() -> Option<Together<T, T::Key>> {
        Some(|states, rows| wide_loop(Rows::<T, E>(states, rows, PhantomData)))
    }

    fn parts() -> Option<Parts<T, T::Key, T::Key>> {
        Some((|x| wide_loop(Total::<T, E>(x, PhantomData)), |state, total| *state = E::of(*state, total)))
    }
}
