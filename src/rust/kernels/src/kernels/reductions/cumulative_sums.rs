//! Cumulative sums of floats and complex numbers.
//!
//! A line is cut into tiles of [`TILE`](crate::kernels::tile::TILE) elements, and these into groups of
//! [`GROUP`], which are summed by themselves: so groups do not wait for one another, and rounding errors stay
//! those of a tile. What comes before a tile is a compensated sum. A result is `(before + carried) + sum`:
//! the tiles before, the groups before in its tile, the elements of its group up to it.

#[cfg(target_arch = "x86_64")]
use super::group_sums;
use super::partials::Compensated;
#[cfg(target_arch = "x86_64")]
use super::way::{elements, elements_mut};
use super::way::{taken, Parts, Together, Way, TOGETHER};
#[cfg(target_arch = "x86_64")]
use crate::dtype::DType;
use crate::dtype::Element;
#[cfg(target_arch = "x86_64")]
use crate::kernels::math::Level;
use crate::kernels::wide::{wide_loop, Loop};
use num_complex::Complex;
use std::marker::PhantomData;
use std::ops::{Add, Range};

/// Elements of a tile that are summed by themselves.
const GROUP: usize = 8;

/// A sum that is carried from tile to tile.
pub(super) trait Carry: Element + Add<Output = Self> {
    /// Sum with its correction; `None` before the first tile.
    type Sum: Copy + Send + Sync + Default;
    /// The sum of nothing, which changes no element.
    const NOTHING: Self;
    /// Takes a term.
    fn take(sum: &mut Self::Sum, term: Self);
    /// The sum.
    fn total(sum: &Self::Sum) -> Self;
    /// The cumulative sums of whole groups, of as many elements of `x` or in place, with what comes before the
    /// tile and before them in it: gives what they carry.
    #[inline(always)]
    fn groups<T: Element, const BACK: bool>(
        before: Self,
        carried: Self,
        x: Option<&[T]>,
        out: &mut [T],
    ) -> Self {
        one_by_one::<T, Self, BACK>(before, carried, x, out)
    }
    /// What whole groups carry.
    #[inline(always)]
    fn carried<T: Element, const BACK: bool>(carried: Self, x: &[T]) -> Self {
        one_by_one_total::<T, Self, BACK>(carried, x)
    }
}

/// [`Carry::groups`], group by group.
#[inline(always)]
fn one_by_one<T: Element, A: Carry, const BACK: bool>(
    before: A,
    carried: A,
    x: Option<&[T]>,
    out: &mut [T],
) -> A {
    taken(x, out);
    let each = |carried: A, x: &mut [T]| {
        let sums = group(widened::<T, A, BACK>(x));
        put::<T, A, BACK>(before + carried, sums, x);
        carried + sums[GROUP - 1]
    };
    if BACK {
        out.rchunks_exact_mut(GROUP).fold(carried, each)
    } else {
        out.chunks_exact_mut(GROUP).fold(carried, each)
    }
}

/// [`Carry::carried`], group by group.
#[inline(always)]
fn one_by_one_total<T: Element, A: Carry, const BACK: bool>(carried: A, x: &[T]) -> A {
    let each = |carried: A, x: &[T]| carried + whole(widened::<T, A, BACK>(x));
    if BACK {
        x.rchunks_exact(GROUP).fold(carried, each)
    } else {
        x.chunks_exact(GROUP).fold(carried, each)
    }
}

macro_rules! carry {
    ($($float:ident { $($groups:item)* })+) => {$(
        impl Carry for $float {
            $($groups)*
            type Sum = Option<Compensated<$float>>;
            const NOTHING: $float = -0.0;
            #[inline]
            fn take(sum: &mut Self::Sum, term: $float) {
                sum.get_or_insert_default().add(term);
            }
            #[inline]
            fn total(sum: &Self::Sum) -> $float {
                sum.as_ref().map_or(Self::NOTHING, Compensated::total)
            }
        }
    )+};
}
carry! {
    f32 {}
    f64 {
        #[inline(always)]
        fn groups<T: Element, const BACK: bool>(before: f64, carried: f64, x: Option<&[T]>, out: &mut [T]) -> f64 {
            #[cfg(target_arch = "x86_64")]
            if Level::current() != Level::Portable {
                // SAFETY: the processor has AVX2 at all levels but that one.
                return unsafe {
                    match T::DTYPE {
                        DType::F32 => group_sums::cumulate::<f32, BACK>(before, carried, x.map(elements), elements_mut(out)),
                        _ => group_sums::cumulate::<f64, BACK>(before, carried, x.map(elements), elements_mut(out)),
                    }
                };
            }
            one_by_one::<T, f64, BACK>(before, carried, x, out)
        }
        #[inline(always)]
        fn carried<T: Element, const BACK: bool>(carried: f64, x: &[T]) -> f64 {
            #[cfg(target_arch = "x86_64")]
            if Level::current() != Level::Portable {
                // SAFETY: as above.
                return unsafe {
                    match T::DTYPE {
                        DType::F32 => group_sums::total::<f32, BACK>(carried, elements(x)),
                        _ => group_sums::total::<f64, BACK>(carried, elements(x)),
                    }
                };
            }
            one_by_one_total::<T, f64, BACK>(carried, x)
        }
    }
}

impl Carry for Complex<f64> {
    type Sum = [Option<Compensated<f64>>; 2];
    const NOTHING: Complex<f64> = Complex::new(-0.0, -0.0);
    fn take([re, im]: &mut Self::Sum, term: Complex<f64>) {
        f64::take(re, term.re);
        f64::take(im, term.im);
    }
    fn total([re, im]: &Self::Sum) -> Complex<f64> {
        Complex::new(f64::total(re), f64::total(im))
    }
}

/// Sums of elements as values of type `A`.
pub(super) struct Sums<A>(PhantomData<A>);

/// The cumulative sums of a group, of which fewer elements are followed by nothing: in pairs, so that few of
/// them wait for others.
#[inline(always)]
fn group<A: Carry>(x: [A; GROUP]) -> [A; GROUP] {
    let half = |[a, b, c, d]: [A; 4]| {
        let (first, second) = (b + a, d + c);
        [a, first, c + first, second + first]
    };
    let (low, high) = (half([x[0], x[1], x[2], x[3]]), half([x[4], x[5], x[6], x[7]]));
    let [a, b, c, d] = low;
    [a, b, c, d, high[0] + d, high[1] + d, high[2] + d, high[3] + d]
}

/// The last of [`group`]'s sums.
#[inline(always)]
fn whole<A: Carry>(x: [A; GROUP]) -> A {
    ((x[7] + x[6]) + (x[5] + x[4])) + ((x[3] + x[2]) + (x[1] + x[0]))
}

/// The elements of a group, the last one first if `BACK`.
#[inline(always)]
fn widened<T: Element, A: Carry, const BACK: bool>(x: &[T]) -> [A; GROUP] {
    let mut wide = [A::NOTHING; GROUP];
    let len = x.len();
    x.iter().enumerate().for_each(|(i, x)| wide[if BACK { len - 1 - i } else { i }] = x.convert());
    wide
}

/// Stores the results of a group, sums behind what comes before it, in the order of [`widened`].
#[inline(always)]
fn put<T: Element, A: Carry, const BACK: bool>(base: A, sums: [A; GROUP], x: &mut [T]) {
    let len = x.len();
    x.iter_mut().enumerate().for_each(|(i, x)| {
        *x = (base + sums[if BACK { len - 1 - i } else { i }]).convert();
    });
}

/// Whole groups and the rest, which is taken last.
#[inline(always)]
fn cut<const BACK: bool>(len: usize) -> [Range<usize>; 2] {
    let rest = len % GROUP;
    if BACK {
        [rest..len, 0..rest]
    } else {
        [0..len - rest, len - rest..len]
    }
}

/// The cumulative sums of a tile, of as many elements or in place, with what comes before it; its total.
struct Tile<'a, T, A, const BACK: bool>(A, Option<&'a [T]>, &'a mut [T]);

impl<T: Element, A: Carry, const BACK: bool> Loop for Tile<'_, T, A, BACK> {
    type Made = A;
    #[inline(always)]
    fn run(self) -> A {
        let Tile(before, x, out) = self;
        let [groups, rest] = cut::<BACK>(out.len());
        let of = |range: &Range<usize>| x.map(|x| &x[range.clone()]);
        let carried = A::groups::<T, BACK>(before, A::NOTHING, of(&groups), &mut out[groups.clone()]);
        let (from, rest) = (of(&rest), &mut out[rest]);
        taken(from, rest);
        let sums = group(widened::<T, A, BACK>(rest));
        put::<T, A, BACK>(before + carried, sums, rest);
        carried + sums[GROUP - 1]
    }
}

/// The total of a tile.
struct Total<'a, T, A, const BACK: bool>(&'a [T], PhantomData<A>);

impl<T: Element, A: Carry, const BACK: bool> Loop for Total<'_, T, A, BACK> {
    type Made = A;
    #[inline(always)]
    fn run(self) -> A {
        let [groups, rest] = cut::<BACK>(self.0.len());
        A::carried::<T, BACK>(A::NOTHING, &self.0[groups]) + whole(widened::<T, A, BACK>(&self.0[rest]))
    }
}

/// The cumulative sums of a tile of many lines, with what comes before; the totals take its place.
struct Rows<'a, 'b, T, A>(&'a mut [A; TOGETHER], &'a mut [&'b mut [T]]);

impl<T: Element, A: Carry> Loop for Rows<'_, '_, T, A> {
    type Made = ();
    #[inline(always)]
    fn run(self) {
        let (before, mut carried) = (self.0, [A::NOTHING; TOGETHER]);
        for rows in self.1.chunks_mut(GROUP) {
            let mut x = [[A::NOTHING; TOGETHER]; GROUP];
            for (x, row) in x.iter_mut().zip(&*rows) {
                x.iter_mut().zip(&**row).for_each(|(wide, x)| *wide = x.convert());
            }
            for i in 0..TOGETHER {
                let sums = group([x[0][i], x[1][i], x[2][i], x[3][i], x[4][i], x[5][i], x[6][i], x[7][i]]);
                let base = before[i] + carried[i];
                x.iter_mut().zip(sums).for_each(|(x, sum)| x[i] = base + sum);
                carried[i] = carried[i] + sums[GROUP - 1];
            }
            for (x, row) in x.iter().zip(rows) {
                row.iter_mut().zip(x).for_each(|(x, wide)| *x = wide.convert());
            }
        }
        *before = carried;
    }
}

impl<T: Element, A: Carry> Way<T> for Sums<A> {
    type State = A::Sum;
    type Total = A;

    fn start() -> A::Sum {
        A::Sum::default()
    }

    #[inline(never)]
    fn tile(state: &mut A::Sum, x: Option<&[T]>, out: &mut [T]) {
        let total = wide_loop(Tile::<T, A, false>(A::total(state), x, out));
        A::take(state, total);
    }

    #[inline(never)]
    fn tile_back(state: &mut A::Sum, x: Option<&[T]>, out: &mut [T]) {
        let total = wide_loop(Tile::<T, A, true>(A::total(state), x, out));
        A::take(state, total);
    }

    fn together() -> Option<Together<T, A::Sum>> {
        Some(|states, rows| {
            let mut sums = [A::NOTHING; TOGETHER];
            sums.iter_mut().zip(&*states).for_each(|(sum, state)| *sum = A::total(state));
            wide_loop(Rows(&mut sums, rows));
            states.iter_mut().zip(sums).for_each(|(state, total)| A::take(state, total));
        })
    }

    fn parts() -> Option<Parts<T, A::Sum, A>> {
        Some((|x| wide_loop(Total::<T, A, false>(x, PhantomData)), A::take))
    }

    fn parts_back() -> Option<Parts<T, A::Sum, A>> {
        Some((|x| wide_loop(Total::<T, A, true>(x, PhantomData)), A::take))
    }
}
