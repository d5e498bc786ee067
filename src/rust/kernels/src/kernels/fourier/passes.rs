//! Transforms of several lines of complex numbers at once, in passes over memory that stays in the cache.
//!
//! Element `i` of line `l` is at `i * lanes + l`, real and imaginary parts apart, so that a pass reads and
//! writes vectors of neighbours. Each pass splits one factor off the length and leaves the elements in order
//! (T. G. Stockham's algorithm; C. Van Loan, *Computational Frameworks for the Fast Fourier Transform*, 1992,
//! chapter 1.7). An element is computed by the same operations wherever it stands, with how many lines, and
//! on whatever processor.
//!
//! Loops over the elements of a butterfly are loops over numbers: what iterators of arrays are made of would have to be
//! inlined, and the loops unrolled, in each of some hundred copies, which takes the compiler several times as long.
#![allow(clippy::needless_range_loop)]

use super::butterflies::{
    by_turns, turn, Butterfly, Eight, Five, Four, Group, Number, Numbers, OnVectors, Three, Two,
};
use super::ends::{Apart, Read, Woven, Write};
use super::odd::Odd;
use super::parts::{Part, Parts};
use super::pass::{Pass, Radix, LARGEST_PRIME};
use super::roots::Roots;
use crate::kernels::math::lanes::MOST_LANES;
use crate::stop;
use std::marker::PhantomData;

/// The largest prime factor where fewer than so many elements lie side by side in its pass: beyond it a convolution is
/// faster.
const LARGEST_ALONE: usize = 61;
const SIDE: usize = 16;

/// The transform of lines of so many elements whose prime factors are small.
pub struct Passes<T> {
    size: usize,
    passes: Vec<Pass<T>>,
}

/// The factors of a length in the order of the passes; `None` if one is too large.
pub fn factors(mut n: usize) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    // Eights first, so that the later passes of one line, too, have vectors of neighbours; two fours rather than an
    // eight and a two.
    let twos = n.trailing_zeros() as usize;
    let fours = [0, 2, 1][twos % 3];
    let (eights, fours) =
        if 2 * fours > twos || twos == 4 { (twos / 3, 0) } else { ((twos - 2 * fours) / 3, fours) };
    all.extend(std::iter::repeat_n(8, eights).chain(std::iter::repeat_n(4, fours)));
    n >>= 3 * eights + 2 * fours;
    for radix in [2, 3, 5].into_iter().chain((7..=LARGEST_PRIME).step_by(2)) {
        while n > 1 && n % radix == 0 {
            all.push(radix);
            n /= radix;
        }
    }
    (n == 1).then_some(all)
}

impl<T: Number> Passes<T> {
    /// The transform of `size` elements; `None` if a prime factor is too large.
    pub fn new(size: usize) -> Option<Passes<T>> {
        let radices = factors(size)?;
        let roots = Roots::new(size);
        let mut left = size;
        let passes = radices.into_iter().map(|radix| {
            let rest = left / radix;
            let step = size / left;
            left = rest;
            let of = |i: usize| roots.get::<T>(i);
            let factors = (1..radix).flat_map(|j| (0..rest).map(move |p| p * j * step)).map(of);
            let (re, im): (Vec<T>, Vec<T>) = factors.map(|[re, im]| (re, im)).unzip();
            let [re, im] = [re, im].map(Part::from_iter);
            let own = if radix > 5 && radix != 8 { radix } else { 0 };
            Pass { radix, rest, factors: [re, im], roots: (0..own).map(|j| of(j * (size / radix))).collect() }
        });
        let passes = passes.collect();
        Some(Passes { size, passes })
    }

    /// Whether they are faster than a convolution, for one line too.
    pub fn are_fast(&self) -> bool {
        let is_fast = |pass: &Pass<T>| pass.radix <= LARGEST_ALONE || self.size / pass.radix >= SIDE;
        self.passes.iter().all(is_fast)
    }

    /// The number of elements of a line.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Transforms lines in place; `room` is as long as they are.
    pub fn run(&self, x: &mut Parts<T>, room: &mut Parts<T>, lanes: usize) {
        // SAFETY: there are no numbers elsewhere.
        unsafe { self.run_between(From::Here, x, room, None, lanes) }
    }

    /// Whether lines can be read from where they are, and written to where they go, by the passes themselves.
    pub fn is_between(&self) -> bool {
        self.passes.len() > 1
    }

    /// As [`Passes::run`], of numbers that are elsewhere, or go elsewhere: then what is in `x` is of no use. Elsewhere
    /// each row of numbers has those of all lines side by side.
    ///
    /// # Safety
    /// Where something is elsewhere, [`Passes::is_between`]; there are as many numbers, and nobody else writes these,
    /// or uses those that are written.
    pub(super) unsafe fn run_between(
        &self,
        from: From<T>,
        x: &mut Parts<T>,
        room: &mut Parts<T>,
        to: Option<Woven<*mut T>>,
        lanes: usize,
    ) {
        assert!(x.iter().chain(&*room).all(|part| part.len() >= self.size * lanes));
        let (mut stride, last) = (lanes, self.passes.len().wrapping_sub(1));
        for (i, pass) in self.passes.iter().enumerate() {
            stop::work(self.size * lanes);
            let from = if i == 0 { from } else { From::Here };
            let to = to.filter(|_| i == last);
            let run = Run { pass, from, x, room, to, stride, lanes };
            match pass.radix {
                2 => run.by::<Own<Two, 2>>(),
                3 => run.by::<Own<Three, 3>>(),
                4 => run.by::<Own<Four, 4>>(),
                5 => run.by::<Own<Five, 5>>(),
                8 => run.by::<Own<Eight, 8>>(),
                _ => run.by::<Odd>(),
            }
            std::mem::swap(x, room);
            stride *= pass.radix;
        }
    }
}

/// Where numbers are.
#[derive(Clone, Copy)]
pub(super) enum From<T> {
    /// In the lines themselves.
    Here,
    /// In such parts.
    Parts([*const T; 2]),
    /// In a tensor.
    Tensor(Woven<*const T>),
}

/// One pass over all elements.
pub struct Run<'a, T> {
    pass: &'a Pass<T>,
    from: From<T>,
    x: &'a Parts<T>,
    room: &'a mut Parts<T>,
    /// Where the numbers go if not to the room.
    to: Option<Woven<*mut T>>,
    stride: usize,
    lanes: usize,
}

/// A radix with code of its own.
struct Own<B, const R: usize>(PhantomData<B>);

/// A pass of a radix. Each radix is a function by itself, as the compiler takes more than twice the time for one that is
/// twice as long.
struct By<'a, T, K>(Run<'a, T>, PhantomData<K>);

impl<T: Number> Run<'_, T> {
    /// Runs it on the longest vectors that are not longer than what lies side by side.
    fn by<K: Radix<T>>(self) {
        let side = if self.stride == 1 { self.pass.rest } else { self.inner() };
        T::on_vectors_of(side, By::<T, K>(self, PhantomData))
    }

    /// How many elements of the same factors lie side by side.
    #[inline(always)]
    fn inner(&self) -> usize {
        // Where one end is a tensor, each row is of the lanes.
        if self.to.is_some() && self.lanes > 1 {
            self.lanes
        } else {
            self.stride
        }
    }
}

impl<T: Number, K: Radix<T>> OnVectors<T> for By<'_, T, K> {
    type Made = ();
    #[inline(always)]
    fn on<V: Numbers<One = T>>(self) {
        let By(run, _) = self;
        let inner = run.inner();
        let parts = match run.from {
            From::Parts(parts) => parts,
            _ => [run.x[0].as_ptr(), run.x[1].as_ptr()],
        };
        let x = Apart { parts, step: inner };
        let [re, im] = run.room;
        let room = Apart { parts: [re.as_mut_ptr(), im.as_mut_ptr()], step: inner };
        let (pass, rows) = (run.pass, run.stride / inner);
        // SAFETY: the parts are long enough, as has been asserted, and the caller of the transform promises the rest.
        unsafe {
            match (run.from, run.to) {
                (From::Tensor(from), _) if run.stride == 1 => K::neighbours::<V>(pass, from, room),
                _ if run.stride == 1 => K::neighbours::<V>(pass, x, room),
                (From::Tensor(from), _) => K::each::<V>(pass, from, room, rows, inner),
                (_, Some(to)) => {
                    // Rows of one line lie one behind the other.
                    let step = if run.lanes == 1 { to.step * inner as isize } else { to.step };
                    K::each::<V>(pass, x, Woven { step, ..to }, rows, inner)
                }
                _ => K::each::<V>(pass, x, room, rows, inner),
            }
        }
    }
}

/// The numbers of `R` rows that are as far apart.
///
/// # Safety
/// They are there.
#[inline(always)]
unsafe fn taken<T, V: Numbers<One = T>, const R: usize>(
    from: impl Read<T>,
    apart: usize,
    row: usize,
    lane: usize,
) -> [Group<V>; R] {
    let mut all = [[V::of(0.0); 2]; R];
    for k in 0..R {
        // SAFETY: by the caller.
        all[k] = unsafe { from.get(row + k * apart, lane) };
    }
    all
}

impl<T: Number, B: Butterfly<R>, const R: usize> Radix<T> for Own<B, R> {
    #[inline(always)]
    unsafe fn neighbours_by<V: Numbers<One = T>>(pass: &Pass<T>, from: impl Read<T>, to: Apart<*mut T>) {
        let rest = pass.rest;
        for p in (0..rest).step_by(V::COUNT) {
            // The last ones once more, where they are no whole vector.
            let p = p.min(rest - V::COUNT);
            // SAFETY: by the caller; there are as many factors.
            unsafe {
                let mut made = B::of::<V>(taken(from, rest, p, 0));
                for j in 1..R {
                    made[j] = pass.turned_beside(j, p, made[j]);
                }
                if R.is_power_of_two() {
                    let made = by_turns(made);
                    for i in 0..R {
                        to.put(p * R + i * V::COUNT, 0, made[i]);
                    }
                    continue;
                }
                for part in 0..2 {
                    let mut rows = [[T::of(0.0); MOST_LANES]; R];
                    for j in 0..R {
                        made[j][part].store(rows[j].as_mut_ptr());
                    }
                    for i in 0..V::COUNT {
                        for j in 0..R {
                            *to.parts[part].add((p + i) * R + j) = rows[j][i];
                        }
                    }
                }
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
        let rest = pass.rest;
        for p in 0..rest {
            let mut factors = [[V::of(0.0); 2]; R];
            for j in 1..R {
                factors[j] = pass.factor(j, p);
            }
            for row in 0..rows {
                for q in (0..inner).step_by(V::COUNT) {
                    // The last ones once more, where they are no whole vector.
                    let q = q.min(inner - V::COUNT);
                    // SAFETY: by the caller.
                    unsafe {
                        let mut made = B::of::<V>(taken(from, rest * rows, p * rows + row, q));
                        if p > 0 {
                            for j in 1..R {
                                made[j] = turn(made[j], factors[j]);
                            }
                        }
                        for j in 0..R {
                            to.put((R * p + j) * rows + row, q, made[j]);
                        }
                    }
                }
            }
        }
    }
}
