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
    by_turns, turn, Butterfly, Eight, Five, Four, Group, Number, Numbers, OnVectors, Single, Three, Two,
};
use super::ends::{Apart, Read, Woven, Write};
use super::parts::{Part, Parts};
use super::roots::Roots;
use crate::kernels::math::lanes::MOST_LANES;
use crate::kernels::wide::{wide_loop, Loop};
use crate::stop;
use std::marker::PhantomData;

/// The largest prime factor that has a pass of its own.
pub const LARGEST_PRIME: usize = 61;

/// The transform of lines of so many elements whose prime factors are small.
pub struct Passes<T> {
    size: usize,
    passes: Vec<Pass<T>>,
}

/// A pass, from lines of `radix * rest` elements.
struct Pass<T> {
    radix: usize,
    rest: usize,
    /// The factors of the outputs but the first: of each output those of all elements of the rest.
    factors: Parts<T>,
    /// The roots of unity of the radix, for radices without code of their own.
    roots: Vec<[T; 2]>,
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
        let has_own = |pass: Option<&Pass<T>>| pass.is_some_and(Pass::has_own);
        self.passes.len() > 1 && has_own(self.passes.first()) && has_own(self.passes.last())
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
                _ if !pass.has_own() => wide_loop(Defined(run)),
                2 => run.by::<Two, 2>(),
                3 => run.by::<Three, 3>(),
                4 => run.by::<Four, 4>(),
                5 => run.by::<Five, 5>(),
                8 => run.by::<Eight, 8>(),
                _ => unreachable!("a radix without code of its own"),
            }
            std::mem::swap(x, room);
            stride *= pass.radix;
        }
    }
}

impl<T> Pass<T> {
    /// Whether its radix has code of its own.
    fn has_own(&self) -> bool {
        self.roots.is_empty()
    }
}

/// A pass of any radix. Its loops are short, for which vectors as wide as they get are too wide.
struct Defined<'a, T>(Run<'a, T>);

impl<T: Number> Loop for Defined<'_, T> {
    type Made = ();
    #[inline(always)]
    fn run(self) {
        self.0.any();
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

impl<T: Number> Pass<T> {
    /// The factors of the outputs of number `p` of the rest, in all lanes; those of the first output are not set.
    #[inline(always)]
    fn factors_of<V: Numbers<One = T>, const R: usize>(&self, p: usize) -> [Group<V>; R] {
        let mut all = [[V::of(0.0); 2]; R];
        for j in 1..R {
            let at = (j - 1) * self.rest + p;
            all[j] = [V::of(self.factors[0][at].f64()), V::of(self.factors[1][at].f64())];
        }
        all
    }
}

/// A pass of a radix with code of its own. Each radix is a function by itself, as the compiler takes more than twice the
/// time for one that is twice as long.
struct By<'a, T, B, const R: usize>(Run<'a, T>, PhantomData<B>);

impl<T: Number> Run<'_, T> {
    /// Runs it on the longest vectors that are not longer than what lies side by side.
    fn by<B: Butterfly<R>, const R: usize>(self) {
        let side = if self.stride == 1 { self.pass.rest } else { self.inner() };
        T::on_vectors_of(side, By::<T, B, R>(self, PhantomData))
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

impl<T: Number, B: Butterfly<R>, const R: usize> OnVectors<T> for By<'_, T, B, R> {
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
                (From::Tensor(from), _) if run.stride == 1 => neighbours::<T, V, B, R>(pass, from, room),
                _ if run.stride == 1 => neighbours::<T, V, B, R>(pass, x, room),
                (From::Tensor(from), _) => each::<T, V, B, R>(pass, from, room, rows, inner),
                (_, Some(to)) => {
                    // Rows of one line lie one behind the other.
                    let step = if run.lanes == 1 { to.step * inner as isize } else { to.step };
                    each::<T, V, B, R>(pass, x, Woven { step, ..to }, rows, inner)
                }
                _ => each::<T, V, B, R>(pass, x, room, rows, inner),
            }
        }
    }
}

impl<T: Number> Run<'_, T> {
    /// The pass of any radix, by the definition.
    #[inline(always)]
    fn any(self) {
        let (radix, rest, stride) = (self.pass.radix, self.pass.rest, self.stride);
        let [re, im] = self.room;
        for p in 0..rest {
            for j in 0..radix {
                let first = (radix * p + j) * stride;
                let (re, im) = (&mut re[first..][..stride], &mut im[first..][..stride]);
                let at = |k: usize| (p + rest * k) * stride;
                re.copy_from_slice(&self.x[0][at(0)..][..stride]);
                im.copy_from_slice(&self.x[1][at(0)..][..stride]);
                for k in 1..radix {
                    let [c, s] = self.pass.roots[j * k % radix];
                    let (x, y) = (&self.x[0][at(k)..][..stride], &self.x[1][at(k)..][..stride]);
                    for i in 0..stride {
                        re[i] = re[i] + (x[i] * c - y[i] * s);
                        im[i] = im[i] + (x[i] * s + y[i] * c);
                    }
                }
                if j > 0 && p > 0 {
                    let [c, s] = self.pass.factors.each_ref().map(|part| part[(j - 1) * rest + p]);
                    for i in 0..stride {
                        (re[i], im[i]) = (re[i] * c - im[i] * s, re[i] * s + im[i] * c);
                    }
                }
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

/// Elements of which the first pass of one line makes no vectors, however short: it would make most of them twice.
const FEW: usize = 4;

/// The first pass of one line: elements side by side are computed together, and the outputs of each lie side by side.
///
/// # Safety
/// The numbers are there, and nobody else uses those that are written.
#[inline(always)]
unsafe fn neighbours<T: Number, V: Numbers<One = T>, B: Butterfly<R>, const R: usize>(
    pass: &Pass<T>,
    from: impl Read<T>,
    to: Apart<*mut T>,
) {
    // SAFETY: by the caller.
    unsafe {
        if V::SHORTEST && pass.rest < FEW {
            neighbours_by::<T, Single<T>, B, R>(pass, from, to)
        } else {
            neighbours_by::<T, V, B, R>(pass, from, to)
        }
    }
}

/// As [`neighbours`], so many elements at once, of which there are as many or more.
///
/// # Safety
/// As there.
#[inline(always)]
unsafe fn neighbours_by<T: Number, V: Numbers<One = T>, B: Butterfly<R>, const R: usize>(
    pass: &Pass<T>,
    from: impl Read<T>,
    to: Apart<*mut T>,
) {
    let rest = pass.rest;
    for p in (0..rest).step_by(V::COUNT) {
        // The last ones once more, where they are no whole vector.
        let p = p.min(rest - V::COUNT);
        // SAFETY: by the caller; there are as many factors.
        unsafe {
            let mut made = B::of::<V>(taken(from, rest, p, 0));
            for j in 1..R {
                let at = (j - 1) * rest + p;
                let [re, im] = &pass.factors;
                let turned = turn(made[j], [V::load(re.as_ptr().add(at)), V::load(im.as_ptr().add(at))]);
                // As in the other passes, nothing is multiplied by 1, which would change what is not finite.
                made[j] = if p == 0 {
                    [made[j][0].before(turned[0]), made[j][1].before(turned[1])]
                } else {
                    turned
                };
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

/// A pass whose `rows` of elements of the same factors have `inner` ones side by side.
///
/// # Safety
/// The numbers are there, and nobody else uses those that are written.
#[inline(always)]
unsafe fn each<T: Number, V: Numbers<One = T>, B: Butterfly<R>, const R: usize>(
    pass: &Pass<T>,
    from: impl Read<T>,
    to: impl Write<T>,
    rows: usize,
    inner: usize,
) {
    // SAFETY: by the caller.
    unsafe {
        if V::SHORTEST && inner < V::COUNT {
            each_by::<T, Single<T>, B, R>(pass, from, to, rows, inner)
        } else {
            each_by::<T, V, B, R>(pass, from, to, rows, inner)
        }
    }
}

/// As [`each`], so many elements at once, of which there are as many or more.
///
/// # Safety
/// As there.
#[inline(always)]
unsafe fn each_by<T: Number, V: Numbers<One = T>, B: Butterfly<R>, const R: usize>(
    pass: &Pass<T>,
    from: impl Read<T>,
    to: impl Write<T>,
    rows: usize,
    inner: usize,
) {
    let rest = pass.rest;
    for p in 0..rest {
        let factors = pass.factors_of::<V, R>(p);
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
