//! Transforms of a few numbers, on vectors of them.

use crate::dtype::{Element, Float};
use crate::kernels::math::lanes::{Lanes, Paired, Singles, Wide, MOST_LANES};
use crate::kernels::math::vectors::{vectored, vectored_within, Vectored, SHORTEST};
use std::ops::{Add, Div, Mul, Sub};

/// Numbers that are computed together.
pub(super) trait Numbers:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// One of them.
    type One;
    /// How many they are.
    const COUNT: usize;
    /// Whether no level has shorter vectors: fewer numbers are then computed one by one.
    const SHORTEST: bool;
    /// All the same, rounded to their type.
    fn of(x: f64) -> Self;
    /// Those that lie here.
    ///
    /// # Safety
    /// There are as many to read.
    unsafe fn load(from: *const Self::One) -> Self;
    /// Writes them.
    ///
    /// # Safety
    /// There is room for as many.
    unsafe fn store(self, to: *mut Self::One);
    /// The first number of these, and the others of `y`.
    fn before(self, y: Self) -> Self;
    /// As [`Paired::weave`].
    fn weave(self, y: Self) -> (Self, Self);
    /// As [`Paired::unweave`].
    fn unweave(self, y: Self) -> (Self, Self);
}

impl<V: Paired> Numbers for V {
    type One = V::Scalar;
    const COUNT: usize = V::LANES;
    const SHORTEST: bool = std::mem::size_of::<V>() <= SHORTEST;
    #[inline(always)]
    fn of(x: f64) -> V {
        <V as Lanes>::of(x)
    }
    #[inline(always)]
    unsafe fn load(from: *const V::Scalar) -> V {
        // SAFETY: by the caller.
        <V as Lanes>::load(unsafe { std::slice::from_raw_parts(from, V::LANES) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut V::Scalar) {
        // SAFETY: by the caller.
        <V as Lanes>::store(self, unsafe { std::slice::from_raw_parts_mut(to, V::LANES) })
    }
    #[inline(always)]
    fn before(self, y: V) -> V {
        // 0, and then only 1.
        let (mut numbers, ones) = (V::of(0.0), V::of(1.0));
        let mut step = 1;
        while step < V::LANES {
            numbers = <V as Paired>::weave(numbers, ones).0;
            step *= 2;
        }
        V::select(numbers.lt(ones), self, y)
    }
    #[inline(always)]
    fn weave(self, y: V) -> (V, V) {
        <V as Paired>::weave(self, y)
    }
    #[inline(always)]
    fn unweave(self, y: V) -> (V, V) {
        <V as Paired>::unweave(self, y)
    }
}

/// A loop on vectors of numbers. `on` is to be `#[inline(always)]`.
pub(super) trait OnVectors<T> {
    /// Its result.
    type Made;
    /// The loop.
    fn on<V: Numbers<One = T>>(self) -> Self::Made;
}

/// A float that is transformed.
pub(super) trait Number: Float + Element {
    /// Runs a loop at the level of this processor.
    fn on_vectors<L: OnVectors<Self>>(run: L) -> L::Made;
    /// As [`Number::on_vectors`], on vectors of at most so many numbers, if there are any.
    fn on_vectors_of<L: OnVectors<Self>>(most: usize, run: L) -> L::Made;
}

struct OnSingles<L>(L);
struct OnDoubles<L>(L);

macro_rules! numbers {
    ($($type:ident $loops:ident $vector:ident;)+) => {$(
        impl Number for $type {
            fn on_vectors<L: OnVectors<$type>>(run: L) -> L::Made {
                vectored($loops(run))
            }
            fn on_vectors_of<L: OnVectors<$type>>(most: usize, run: L) -> L::Made {
                vectored_within(most * std::mem::size_of::<$type>(), $loops(run))
            }
        }

        impl<L: OnVectors<$type>> Vectored for $loops<L> {
            type Made = L::Made;
            #[inline(always)]
            fn run<S: Singles<Scalar = f32> + Paired, D: Wide + Paired>(self) -> L::Made {
                self.0.on::<$vector>()
            }
        }
    )+};
}
numbers! { f32 OnSingles S; f64 OnDoubles D; }

/// A number by itself.
#[derive(Clone, Copy)]
pub(super) struct Single<T>(T);

macro_rules! operators {
    ($($trait:ident $method:ident $operator:tt;)+) => {$(
        impl<T: Float> $trait for Single<T> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, y: Self) -> Self {
                Single(self.0 $operator y.0)
            }
        }
    )+};
}
operators! { Add add +; Sub sub -; Mul mul *; Div div /; }

impl<T: Float> Numbers for Single<T> {
    type One = T;
    const COUNT: usize = 1;
    const SHORTEST: bool = true;
    #[inline(always)]
    fn of(x: f64) -> Self {
        Single(T::of(x))
    }
    #[inline(always)]
    unsafe fn load(from: *const T) -> Self {
        // SAFETY: by the caller.
        Single(unsafe { *from })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut T) {
        // SAFETY: by the caller.
        unsafe { *to = self.0 }
    }
    #[inline(always)]
    fn before(self, _: Self) -> Self {
        self
    }
    #[inline(always)]
    fn weave(self, y: Self) -> (Self, Self) {
        (self, y)
    }
    #[inline(always)]
    fn unweave(self, y: Self) -> (Self, Self) {
        (self, y)
    }
}

/// Real parts, and imaginary parts.
pub(super) type Group<V> = [V; 2];

#[inline(always)]
fn add<V: Numbers>(x: Group<V>, y: Group<V>) -> Group<V> {
    [x[0] + y[0], x[1] + y[1]]
}

#[inline(always)]
fn sub<V: Numbers>(x: Group<V>, y: Group<V>) -> Group<V> {
    [x[0] - y[0], x[1] - y[1]]
}

/// The product with a real number.
#[inline(always)]
fn scale<V: Numbers>(x: Group<V>, by: f64) -> Group<V> {
    let by = V::of(by);
    [x[0] * by, x[1] * by]
}

/// The product of complex numbers.
#[inline(always)]
pub(super) fn turn<V: Numbers>([a, b]: Group<V>, [c, s]: Group<V>) -> Group<V> {
    [a * c - b * s, a * s + b * c]
}

/// `x + i y`, and `x - i y`.
#[inline(always)]
pub(super) fn across<V: Numbers>(x: Group<V>, y: Group<V>) -> [Group<V>; 2] {
    [[x[0] - y[1], x[1] + y[0]], [x[0] + y[1], x[1] - y[0]]]
}

/// The transform of `R` numbers.
pub(super) trait Butterfly<const R: usize> {
    /// Of each lane.
    fn of<V: Numbers>(x: [Group<V>; R]) -> [Group<V>; R];
}

pub(super) struct Two;
pub(super) struct Three;
pub(super) struct Four;
pub(super) struct Five;
pub(super) struct Eight;

impl Butterfly<2> for Two {
    #[inline(always)]
    fn of<V: Numbers>([a, b]: [Group<V>; 2]) -> [Group<V>; 2] {
        [add(a, b), sub(a, b)]
    }
}

impl Butterfly<3> for Three {
    #[inline(always)]
    fn of<V: Numbers>([a, b, c]: [Group<V>; 3]) -> [Group<V>; 3] {
        const SINE: f64 = 0.866_025_403_784_438_6; // of a third of a turn
        let sum = add(b, c);
        let middle = sub(a, scale(sum, 0.5));
        let [plus, minus] = across(middle, scale(sub(b, c), SINE));
        [add(a, sum), minus, plus]
    }
}

impl Butterfly<4> for Four {
    #[inline(always)]
    fn of<V: Numbers>([a, b, c, d]: [Group<V>; 4]) -> [Group<V>; 4] {
        let (even, odd) = (add(a, c), add(b, d));
        let [plus, minus] = across(sub(a, c), sub(b, d));
        [add(even, odd), minus, sub(even, odd), plus]
    }
}

impl Butterfly<5> for Five {
    #[inline(always)]
    fn of<V: Numbers>([a, b, c, d, e]: [Group<V>; 5]) -> [Group<V>; 5] {
        // Cosines and sines of one and of two fifths of a turn.
        const COSINES: [f64; 2] = [0.309_016_994_374_947_45, -0.809_016_994_374_947_5];
        const SINES: [f64; 2] = [0.951_056_516_295_153_5, 0.587_785_252_292_473_1];
        let (near, far) = (add(b, e), add(c, d));
        let (rise, fall) = (sub(b, e), sub(c, d));
        let first = add(a, add(scale(near, COSINES[0]), scale(far, COSINES[1])));
        let second = add(a, add(scale(near, COSINES[1]), scale(far, COSINES[0])));
        let [plus1, minus1] = across(first, add(scale(rise, SINES[0]), scale(fall, SINES[1])));
        let [plus2, minus2] = across(second, sub(scale(rise, SINES[1]), scale(fall, SINES[0])));
        [add(a, add(near, far)), minus1, minus2, plus2, plus1]
    }
}

impl Butterfly<8> for Eight {
    #[inline(always)]
    fn of<V: Numbers>([a, b, c, d, e, f, g, h]: [Group<V>; 8]) -> [Group<V>; 8] {
        use std::f64::consts::FRAC_1_SQRT_2;
        let even = Four::of([a, c, e, g]);
        let odd = Four::of([b, d, f, h]);
        // The odd ones turned by one eighth, and by three: parts are added and scaled.
        let [x, y] = odd[1];
        let first = scale([x + y, y - x], FRAC_1_SQRT_2);
        let [x, y] = odd[3];
        let [x, y] = scale([y - x, x + y], FRAC_1_SQRT_2);
        let [plus, minus] = across(even[2], odd[2]);
        [
            add(even[0], odd[0]),
            add(even[1], first),
            minus,
            [even[3][0] + x, even[3][1] - y],
            sub(even[0], odd[0]),
            sub(even[1], first),
            plus,
            [even[3][0] - x, even[3][1] + y],
        ]
    }
}

/// The elements of `R` groups by turns, for a power of 2: one of each, in their order, then the next ones.
#[inline(always)]
pub(super) fn by_turns<V: Numbers, const R: usize>(x: [Group<V>; R]) -> [Group<V>; R] {
    let mut out = x;
    // Each step joins rows that are half as many apart, until they are one.
    let mut joined = 1;
    while joined < R {
        let from = out;
        for i in 0..R / 2 {
            for part in 0..2 {
                let (low, high) = from[i][part].weave(from[i + R / 2][part]);
                (out[2 * i][part], out[2 * i + 1][part]) = (low, high);
            }
        }
        joined *= 2;
    }
    out
}

/// As many groups as each has numbers, transposed.
#[inline(always)]
pub(super) fn transposed<V: Numbers>(x: &mut [Group<V>; MOST_LANES]) {
    let mut joined = 1;
    while joined < V::COUNT {
        let from = *x;
        for i in 0..V::COUNT / 2 {
            for part in 0..2 {
                let (low, high) = from[i][part].weave(from[i + V::COUNT / 2][part]);
                (x[2 * i][part], x[2 * i + 1][part]) = (low, high);
            }
        }
        joined *= 2;
    }
}
