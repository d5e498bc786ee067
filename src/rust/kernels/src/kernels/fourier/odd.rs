//! Passes whose radix is any odd number: primes that are too rare for code of their own.

// As in the other passes.
#![allow(clippy::needless_range_loop)]

use super::butterflies::{across, turn, Group, Number, Numbers};
use super::ends::{Apart, Read, Write};
use super::pass::{Pass, Radix, LARGEST_PRIME};
use crate::kernels::math::lanes::MOST_LANES;
use std::mem::MaybeUninit;

/// The radix that a pass says.
pub(super) struct Odd;

/// As many numbers as the radix, at most: of those as far from the first one as from the end, the sum and the
/// difference. `exp(-i t) x + exp(i t) y` is `cos(t) (x + y) - i sin(t) (x - y)`, and of the number as far from the end,
/// the conjugate turn, the second term is added: so each term is computed once for two results.
struct Pairs<V> {
    first: Group<V>,
    // So many as the radix says have been written: to write all takes as long as a short pass.
    sums: [MaybeUninit<Group<V>>; MOST_PAIRS],
    differences: [MaybeUninit<Group<V>>; MOST_PAIRS],
}

const MOST_PAIRS: usize = LARGEST_PRIME / 2;

impl<V: Numbers> Pairs<V> {
    /// None yet: the same room serves all butterflies of a pass.
    #[inline(always)]
    fn new() -> Pairs<V> {
        let none = [const { MaybeUninit::uninit() }; MOST_PAIRS];
        Pairs { first: [V::of(0.0); 2], sums: none, differences: none }
    }

    /// Takes those of `radix` rows that are as far apart.
    ///
    /// # Safety
    /// They are there.
    #[inline(always)]
    unsafe fn take<T>(&mut self, radix: usize, from: impl Read<T>, apart: usize, row: usize, lane: usize)
    where
        V: Numbers<One = T>,
    {
        // SAFETY: by the caller.
        unsafe {
            self.first = from.get(row, lane);
            for j in 1..=radix / 2 {
                let x: Group<V> = from.get(row + j * apart, lane);
                let y: Group<V> = from.get(row + (radix - j) * apart, lane);
                self.sums[j - 1].write([x[0] + y[0], x[1] + y[1]]);
                self.differences[j - 1].write([x[0] - y[0], x[1] - y[1]]);
            }
        }
    }

    /// The first result.
    ///
    /// # Safety
    /// Those of so many rows have been taken.
    #[inline(always)]
    unsafe fn total(&self, radix: usize) -> Group<V> {
        let mut total = self.first;
        for j in 0..radix / 2 {
            // SAFETY: by the caller.
            let sum = unsafe { self.sums[j].assume_init() };
            total = [total[0] + sum[0], total[1] + sum[1]];
        }
        total
    }

    /// The results `k` and `radix - k` of each of `N` neighbouring `k`, together, as the pairs are then loaded once.
    ///
    /// # Safety
    /// Those of as many rows as there are roots have been taken.
    #[inline(always)]
    unsafe fn results<T: Number, const N: usize>(&self, k: usize, roots: &[[T; 2]]) -> [[Group<V>; 2]; N] {
        let radix = roots.len();
        let (mut even, mut odd) = ([self.first; N], [[V::of(0.0); 2]; N]);
        let mut at = [0; N];
        for j in 0..radix / 2 {
            // SAFETY: by the caller.
            let (sum, difference) =
                unsafe { (self.sums[j].assume_init(), self.differences[j].assume_init()) };
            for n in 0..N {
                at[n] += k + n;
                if at[n] >= radix {
                    at[n] -= radix;
                }
                let [c, s] = roots[at[n]];
                let (c, s) = (V::of(c.f64()), V::of(s.f64()));
                for part in 0..2 {
                    even[n][part] = even[n][part] + sum[part] * c;
                    odd[n][part] = odd[n][part] + difference[part] * s;
                }
            }
        }
        let mut all = [[self.first; 2]; N];
        for n in 0..N {
            all[n] = across(even[n], odd[n]);
        }
        all
    }
}

/// Where the results of one butterfly go.
trait Put<V> {
    /// Writes number `j`.
    ///
    /// # Safety
    /// There is room for it, which nobody else uses.
    unsafe fn put(&self, j: usize, x: Group<V>);
}

/// Computes the results of one butterfly.
///
/// # Safety
/// As of `to`; the numbers have been taken.
#[inline(always)]
unsafe fn butterfly<T: Number, V: Numbers<One = T>>(pairs: &Pairs<V>, roots: &[[T; 2]], to: impl Put<V>) {
    let (radix, half) = (roots.len(), roots.len() / 2);
    // SAFETY: by the caller.
    unsafe {
        to.put(0, pairs.total(radix));
        let mut k = 1;
        while k < half {
            let [first, second] = pairs.results::<T, 2>(k, roots);
            to.put(k, first[0]);
            to.put(radix - k, first[1]);
            to.put(k + 1, second[0]);
            to.put(radix - k - 1, second[1]);
            k += 2;
        }
        if k == half {
            let [last] = pairs.results::<T, 1>(k, roots);
            to.put(k, last[0]);
            to.put(radix - k, last[1]);
        }
    }
}

/// Results of elements side by side, of the first pass of one line: those of each element lie side by side.
struct Turned<'a, T> {
    pass: &'a Pass<T>,
    to: Apart<*mut T>,
    p: usize,
}

impl<T: Number, V: Numbers<One = T>> Put<V> for Turned<'_, T> {
    #[inline(always)]
    unsafe fn put(&self, j: usize, x: Group<V>) {
        let Turned { pass, to, p } = *self;
        // SAFETY: by the caller; there are as many factors.
        unsafe {
            let x = if j > 0 { pass.turned_beside(j, p, x) } else { x };
            for part in 0..2 {
                let mut row = [T::of(0.0); MOST_LANES];
                x[part].store(row.as_mut_ptr());
                for i in 0..V::COUNT {
                    *to.parts[part].add((p + i) * pass.radix + j) = row[i];
                }
            }
        }
    }
}

/// Results of elements of the same factors.
struct Rows<'a, T, W> {
    pass: &'a Pass<T>,
    to: W,
    p: usize,
    rows: usize,
    row: usize,
    lane: usize,
}

impl<T: Number, V: Numbers<One = T>, W: Write<T>> Put<V> for Rows<'_, T, W> {
    #[inline(always)]
    unsafe fn put(&self, j: usize, x: Group<V>) {
        let Rows { pass, to, p, rows, row, lane } = *self;
        let x = if j > 0 && p > 0 { turn(x, pass.factor(j, p)) } else { x };
        // SAFETY: by the caller.
        unsafe { to.put((pass.radix * p + j) * rows + row, lane, x) }
    }
}

impl<T: Number> Radix<T> for Odd {
    #[inline(always)]
    unsafe fn neighbours_by<V: Numbers<One = T>>(pass: &Pass<T>, from: impl Read<T>, to: Apart<*mut T>) {
        let (rest, mut pairs) = (pass.rest, Pairs::<V>::new());
        for p in (0..rest).step_by(V::COUNT) {
            // The last ones once more, where they are no whole vector.
            let p = p.min(rest - V::COUNT);
            // SAFETY: by the caller.
            unsafe {
                pairs.take(pass.radix, from, rest, p, 0);
                butterfly(&pairs, &pass.roots, Turned { pass, to, p });
            }
        }
    }

    #[inline(always)]
    unsafe fn each_by<V: Numbers<One = T>>(
        pass: &Pass<T>,
        from: impl Read<T>,
        to: impl Write<T>,
        rows: usize,
        inner: usize,
    ) {
        let (rest, mut pairs) = (pass.rest, Pairs::<V>::new());
        for p in 0..rest {
            for row in 0..rows {
                for q in (0..inner).step_by(V::COUNT) {
                    // As above.
                    let lane = q.min(inner - V::COUNT);
                    // SAFETY: by the caller.
                    unsafe {
                        pairs.take(pass.radix, from, rest * rows, p * rows + row, lane);
                        butterfly(&pairs, &pass.roots, Rows { pass, to, p, rows, row, lane });
                    }
                }
            }
        }
    }
}
