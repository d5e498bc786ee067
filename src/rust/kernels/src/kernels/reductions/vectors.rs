//! Folds of floats that lie side by side, on vectors of the processor.
//!
//! They are written over the operations of vectors. Of a loop over lanes the compiler made parts of vectors, which
//! it put together for each chunk, and kept lanes in memory, where loads wait for stores of another width: sums and
//! squares of singles took two to three times as long.

use super::loops::{short, with_tiles, Accumulate, Loops};
use super::partials::{LANES, SHORT};
use crate::dtype::{Element, Real};
use crate::kernels::math::lanes::{Lanes, Singles, Wide, MOST_LANES};
use crate::kernels::math::vectors::{vectored, Vectored};
use crate::kernels::memory::cache::prefetch;
use half::{bf16, f16};

/// A float that is accumulated as a double.
pub(super) trait Widened: Real {
    /// The first elements of a slice that has as many as there are lanes.
    fn load<D: Wide>(x: &[Self]) -> D;
}

impl Widened for f32 {
    #[inline(always)]
    fn load<D: Wide>(x: &[f32]) -> D {
        D::of_singles(x)
    }
}

impl Widened for f64 {
    #[inline(always)]
    fn load<D: Wide>(x: &[f64]) -> D {
        D::load(x)
    }
}

macro_rules! halves {
    ($($half:ident)+) => {$(
        impl Widened for $half {
            #[inline(always)]
            fn load<D: Wide>(x: &[$half]) -> D {
                let mut out = [0.0; MOST_LANES];
                out.iter_mut().zip(&x[..D::LANES]).for_each(|(out, x)| *out = x.convert());
                D::load(&out)
            }
        }
    )+};
}
halves! { bf16 f16 }

/// The lanes of a tile: so many vectors of doubles as they need, the first ones of these.
#[derive(Clone, Copy)]
pub(super) struct Eight<D>(pub [D; MOST_VECTORS]);

/// Vectors of the lanes, at most: those of two doubles.
const MOST_VECTORS: usize = LANES / 2;

impl<D: Wide> Eight<D> {
    /// The number of vectors.
    pub const VECTORS: usize = LANES / D::LANES;

    /// One number in all lanes.
    #[inline(always)]
    pub fn of(x: f64) -> Self {
        Eight([D::of(x); MOST_VECTORS])
    }

    /// The first elements of a slice that has at least as many as there are lanes.
    #[inline(always)]
    pub fn load<R: Widened>(x: &[R]) -> Self {
        let mut out = Eight::of(0.0);
        for i in 0..Self::VECTORS {
            out.0[i] = R::load(&x[i * D::LANES..][..D::LANES]);
        }
        out
    }

    /// Writes the lanes to the start of a slice that has room for them.
    #[inline(always)]
    pub fn store(self, out: &mut [f64]) {
        for i in 0..Self::VECTORS {
            self.0[i].store(&mut out[i * D::LANES..][..D::LANES]);
        }
    }

    /// Vector by vector.
    #[inline(always)]
    pub fn map(mut self, f: impl Fn(D) -> D) -> Self {
        for i in 0..Self::VECTORS {
            self.0[i] = f(self.0[i]);
        }
        self
    }

    /// Vector by vector, with those of another.
    #[inline(always)]
    pub fn with(mut self, other: Self, f: impl Fn(D, D) -> D) -> Self {
        for i in 0..Self::VECTORS {
            self.0[i] = f(self.0[i], other.0[i]);
        }
        self
    }

    /// These in the first `n` lanes, others in those that follow.
    #[inline(always)]
    pub fn in_first(mut self, n: usize, others: Self) -> Self {
        for i in 0..Self::VECTORS {
            let numbers = std::array::from_fn::<f64, LANES, _>(|lane| (i * D::LANES + lane) as f64);
            let first = D::load(&numbers).lt(D::of(n as f64));
            self.0[i] = D::select(first, self.0[i], others.0[i]);
        }
        self
    }

    /// The later half of the vectors added to the earlier, until one is left.
    #[inline(always)]
    pub fn joined(mut self) -> D {
        let mut count = Self::VECTORS;
        while count > 1 {
            count /= 2;
            for i in 0..count {
                self.0[i] = self.0[i] + self.0[i + count];
            }
        }
        self.0[0]
    }
}

/// Tiles whose lanes are added up together: as many as the widest vectors have lanes.
pub(super) const TOGETHER: usize = LANES;

/// The sums of the lanes of some tiles, the later half added to the earlier until one is left, as vectors of doubles
/// one after the other.
#[inline(always)]
pub(super) fn totals<D: Wide>(tiles: &[D; TOGETHER]) -> Eight<D> {
    let mut out = Eight::of(0.0);
    for i in 0..Eight::<D>::VECTORS {
        out.0[i] = D::totals(&tiles[i * D::LANES..][..D::LANES]);
    }
    out
}

/// What is left of a tile from an element on, in as many elements as there are lanes: those beyond the end of `x` are
/// any, for which there is `room`.
///
/// So it is taken as a vector, some lanes of which do not count.
#[inline(always)]
pub(super) fn rest<'a, R: Element>(x: &'a [R], start: usize, room: &'a mut [R; LANES]) -> &'a [R] {
    match x.get(start..start + LANES) {
        Some(all) => all,
        None => {
            room.iter_mut().zip(&x[start..]).for_each(|(out, &x)| *out = x);
            room
        }
    }
}

/// Asks for memory that is read soon, so many elements after these. The processor foresees what is read within a page,
/// not where the next one begins: sums of 1e7 singles take half as long.
#[inline(always)]
fn ahead<R>(x: &[R], elements: usize) {
    prefetch(x.as_ptr().wrapping_add(elements).cast());
}

/// What sums start with: adding it changes no number, and not -0.
pub(super) const START: f64 = -0.0;

/// Sums of tiles of so many elements side by side.
struct Sums<'a, R>(&'a [R], usize, &'a mut [f64]);

/// The lanes of a tile, to which what is left of it is added: elements from `end` on.
#[inline(always)]
fn with_rest<R: Widened, D: Wide>(sum: Eight<D>, x: &[R], end: usize, left: usize) -> Eight<D> {
    if left == 0 {
        return sum;
    }
    let mut room = [R::default(); LANES];
    add(sum, rest(x, end, &mut room)).in_first(left, sum)
}

#[inline(always)]
fn add<R: Widened, D: Wide>(sum: Eight<D>, x: &[R]) -> Eight<D> {
    sum.with(Eight::load(x), |sum, x| sum + x)
}

/// The lanes of the first tile of `each` elements.
#[inline(always)]
fn one<R: Widened, D: Wide>(x: &[R], each: usize) -> D {
    let (left, mut sum) = (each % LANES, Eight::<D>::of(START));
    for x in x[..each].chunks_exact(LANES) {
        sum = add(sum, x);
    }
    with_rest(sum, x, each - left, left).joined()
}

/// The lanes of the first four tiles of `each` elements: an addition waits for the one before it in its tile, not in
/// others.
#[inline(always)]
fn four<R: Widened, D: Wide>(x: &[R], each: usize, out: &mut [D]) {
    let (left, [mut a, mut b, mut c, mut d]) = (each % LANES, [Eight::<D>::of(START); 4]);
    let (low, high) = x[..4 * each].split_at(2 * each);
    let ((xa, xb), (xc, xd)) = (low.split_at(each), high.split_at(each));
    let [xa, xb, xc, xd] = [xa, xb, xc, xd].map(|x| x.chunks_exact(LANES));
    let next = 4 * each;
    for (((xa, xb), xc), xd) in xa.zip(xb).zip(xc).zip(xd) {
        [xa, xb, xc, xd].iter().for_each(|x| ahead(x, next));
        a = add(a, xa);
        b = add(b, xb);
        c = add(c, xc);
        d = add(d, xd);
    }
    let end = each - left;
    out[0] = with_rest(a, x, end, left).joined();
    out[1] = with_rest(b, x, end + each, left).joined();
    out[2] = with_rest(c, x, end + 2 * each, left).joined();
    out[3] = with_rest(d, x, end + 3 * each, left).joined();
}

impl<R: Widened> Vectored for Sums<'_, R> {
    type Made = ();
    #[inline(always)]
    fn run<S: Singles<Scalar = f32>, D: Wide>(self) {
        let Sums(x, each, out) = self;
        let tiles = out.len();
        for (out, first) in out.chunks_mut(TOGETHER).zip((0..tiles).step_by(TOGETHER)) {
            let mut lanes = [D::of(START); TOGETHER];
            let (fours, more) = (out.len() / 4, out.len() % 4);
            for i in 0..fours {
                four(&x[(first + 4 * i) * each..], each, &mut lanes[4 * i..]);
            }
            for i in 4 * fours..4 * fours + more {
                lanes[i] = one(&x[(first + i) * each..], each);
            }
            let mut made = [0.0; TOGETHER];
            totals(&lanes).store(&mut made);
            out.copy_from_slice(&made[..out.len()]);
        }
    }
}

/// The loops of sums.
pub(super) fn sum_loops<R: Widened, S: Accumulate<R, Acc = f64>>() -> Loops<R, f64> {
    with_tiles::<R, S>(
        |x| {
            let mut out = [START];
            vectored(Sums(x, x.len(), &mut out));
            out[0]
        },
        |x, each, out| {
            if !short::<R, S, SHORT>(x, each, out) {
                vectored(Sums(x, each, out))
            }
        },
    )
}

/// The largest elements of tiles of so many elements side by side, or the smallest: NaN if one is, and any zero where
/// it is one.
struct Extremes<'a, R, const LARGEST: bool>(&'a [R], usize, &'a mut [R]);

/// The better one of two numbers; `y` if either is NaN.
#[inline(always)]
fn better<V: Lanes, const LARGEST: bool>(x: V, y: V) -> V {
    if LARGEST {
        x.max(y)
    } else {
        x.min(y)
    }
}

/// Vectors of a tile that are accumulated apart, so that none waits for the one before it.
const APART: usize = 4;

macro_rules! extremes {
    ($($float:ident $vector:ident;)+) => {$(
        impl<const LARGEST: bool> Extremes<'_, $float, LARGEST> {
            /// Of one tile that is not empty.
            #[inline(always)]
            fn of<V: Lanes<Scalar = $float>>(x: &[$float]) -> $float {
                let worst = if LARGEST { $float::NEG_INFINITY } else { $float::INFINITY };
                let Some(last) = x.len().checked_sub(V::LANES) else {
                    let mut lanes = [worst; MOST_LANES];
                    lanes[..x.len()].copy_from_slice(x);
                    return Self::of_lanes(V::load(&lanes), V::load(&lanes).is_nan());
                };
                let (all, step) = (x.len(), APART * V::LANES);
                let mut best = V::load(&x[last..]);
                let mut odd = best.is_nan();
                let mut at = 0;
                if all >= step {
                    let mut apart = [best; APART];
                    while at + step <= all {
                        let chunk = &x[at..at + step];
                        for i in 0..APART {
                            let x = V::load(&chunk[i * V::LANES..][..V::LANES]);
                            apart[i] = better::<V, LARGEST>(x, apart[i]);
                            odd = odd | x.is_nan();
                        }
                        at += step;
                    }
                    for i in 0..APART {
                        best = better::<V, LARGEST>(apart[i], best);
                    }
                }
                // The last vector, which was first, overlaps those before.
                while at < last {
                    let x = V::load(&x[at..at + V::LANES]);
                    best = better::<V, LARGEST>(x, best);
                    odd = odd | x.is_nan();
                    at += V::LANES;
                }
                Self::of_lanes(best, odd)
            }

            #[inline(always)]
            fn of_lanes<V: Lanes<Scalar = $float>>(best: V, odd: V::Mask) -> $float {
                if V::any(odd) {
                    return $float::NAN;
                }
                let mut lanes = [0.0; MOST_LANES];
                best.store(&mut lanes);
                let mut half = V::LANES;
                while half > 1 {
                    half /= 2;
                    for lane in 0..half {
                        let (x, y) = (lanes[lane], lanes[lane + half]);
                        lanes[lane] = if (x > y) == LARGEST { x } else { y };
                    }
                }
                lanes[0]
            }
        }

        impl<const LARGEST: bool> Vectored for Extremes<'_, $float, LARGEST> {
            type Made = ();
            #[inline(always)]
            fn run<S: Singles<Scalar = f32>, D: Wide>(self) {
                let Extremes(x, each, out) = self;
                out.iter_mut().zip(x.chunks_exact(each)).for_each(|(out, x)| *out = Self::of::<$vector>(x));
            }
        }

        impl Extreme for $float {
            fn extremes<const LARGEST: bool>(x: &[$float], each: usize, out: &mut [$float]) {
                vectored(Extremes::<_, LARGEST>(x, each, out))
            }
        }
    )+};
}
extremes! { f32 S; f64 D; }

/// A float of which extremes are made on vectors.
pub(super) trait Extreme: Widened {
    /// Those of tiles of so many elements side by side, the largest or the smallest: NaN if one is, and any zero where
    /// it is one.
    fn extremes<const LARGEST: bool>(x: &[Self], each: usize, out: &mut [Self]);
}

/// The loops of extremes that are as said there.
pub(super) fn about<R: Extreme, S: Accumulate<R, Acc = R>, const LARGEST: bool>() -> Loops<R, R> {
    with_tiles::<R, S>(
        |x| {
            let mut out = [S::start()];
            if !x.is_empty() {
                R::extremes::<LARGEST>(x, x.len(), &mut out);
            }
            out[0]
        },
        |x, each, out| {
            // The lanes of a vector that is not full are filled one by one: the widest has so many singles.
            let few = match size_of::<R>() {
                4 => short::<R, S, { SHORT - 1 }>(x, each, out),
                _ => short::<R, S, LANES>(x, each, out),
            };
            if !few {
                R::extremes::<LARGEST>(x, each, out)
            }
        },
    )
}
