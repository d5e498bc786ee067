//! Transforms of several lines of complex numbers at once, in passes over memory that stays in the cache.
//!
//! Element `i` of line `l` is at `i * lanes + l`, real and imaginary parts apart, so that a pass reads and
//! writes vectors of neighbours. Each pass splits one factor off the length and leaves the elements in order
//! (T. G. Stockham's algorithm; C. Van Loan, *Computational Frameworks for the Fast Fourier Transform*, 1992,
//! chapter 1.7). An element is computed by the same operations wherever it stands, with how many lines, and
//! on whatever processor.

use super::roots::Roots;
use crate::dtype::Float;
use crate::kernels::wide::{wide_loop, Loop};
use crate::stop;

/// The largest prime factor that has a pass of its own.
pub const LARGEST_PRIME: usize = 61;

/// Elements of one line that are computed together.
const GROUP: usize = 8;

/// Real and imaginary parts.
pub type Parts<T> = [Vec<T>; 2];

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
    for radix in [4, 2, 3, 5].into_iter().chain((7..=LARGEST_PRIME).step_by(2)) {
        while n > 1 && n % radix == 0 {
            all.push(radix);
            n /= radix;
        }
    }
    (n == 1).then_some(all)
}

impl<T: Float> Passes<T> {
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
            let (re, im) = factors.map(|[re, im]| (re, im)).unzip();
            let own = if radix > 5 { radix } else { 0 };
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
        let mut stride = lanes;
        for pass in &self.passes {
            stop::work(self.size * lanes);
            wide_loop(Run { pass, from: x, to: room, stride });
            std::mem::swap(x, room);
            stride *= pass.radix;
        }
    }
}

/// One pass over all elements.
struct Run<'a, T> {
    pass: &'a Pass<T>,
    from: &'a Parts<T>,
    to: &'a mut Parts<T>,
    stride: usize,
}

impl<T: Float> Loop for Run<'_, T> {
    type Made = ();
    #[inline(always)]
    fn run(self) {
        match self.pass.radix {
            2 if self.stride == 1 => self.first::<Two, 2>(),
            3 if self.stride == 1 => self.first::<Three, 3>(),
            4 if self.stride == 1 => self.first::<Four, 4>(),
            5 if self.stride == 1 => self.first::<Five, 5>(),
            2 => self.each::<Two, 2>(),
            3 => self.each::<Three, 3>(),
            4 => self.each::<Four, 4>(),
            5 => self.each::<Five, 5>(),
            _ => self.any(),
        }
    }
}

/// Numbers side by side: their real parts, and their imaginary parts.
type Group<T, const W: usize> = [[T; W]; 2];

#[inline(always)]
fn zip<T: Copy, const W: usize>(x: [T; W], y: [T; W], f: impl Fn(T, T) -> T) -> [T; W] {
    let mut out = x;
    for i in 0..W {
        out[i] = f(x[i], y[i]);
    }
    out
}

#[inline(always)]
fn add<T: Float, const W: usize>(x: Group<T, W>, y: Group<T, W>) -> Group<T, W> {
    [zip(x[0], y[0], |x, y| x + y), zip(x[1], y[1], |x, y| x + y)]
}

#[inline(always)]
fn sub<T: Float, const W: usize>(x: Group<T, W>, y: Group<T, W>) -> Group<T, W> {
    [zip(x[0], y[0], |x, y| x - y), zip(x[1], y[1], |x, y| x - y)]
}

/// The product with a real number.
#[inline(always)]
fn scale<T: Float, const W: usize>(x: Group<T, W>, by: f64) -> Group<T, W> {
    let by = T::of(by);
    [x[0].map(|x| x * by), x[1].map(|x| x * by)]
}

/// The product of complex numbers.
#[inline(always)]
fn turn<T: Float, const W: usize>([a, b]: Group<T, W>, [c, s]: Group<T, W>) -> Group<T, W> {
    let products = |x, y| zip(x, y, |x, y| x * y);
    [zip(products(a, c), products(b, s), |x, y| x - y), zip(products(a, s), products(b, c), |x, y| x + y)]
}

/// `x + i y`, and `x - i y`.
#[inline(always)]
fn across<T: Float, const W: usize>(x: Group<T, W>, y: Group<T, W>) -> [Group<T, W>; 2] {
    let plus = [zip(x[0], y[1], |x, y| x - y), zip(x[1], y[0], |x, y| x + y)];
    let minus = [zip(x[0], y[1], |x, y| x + y), zip(x[1], y[0], |x, y| x - y)];
    [plus, minus]
}

/// The transform of `R` numbers.
trait Butterfly<const R: usize> {
    fn of<T: Float, const W: usize>(x: [Group<T, W>; R]) -> [Group<T, W>; R];
}

struct Two;
struct Three;
struct Four;
struct Five;

impl Butterfly<2> for Two {
    #[inline(always)]
    fn of<T: Float, const W: usize>([a, b]: [Group<T, W>; 2]) -> [Group<T, W>; 2] {
        [add(a, b), sub(a, b)]
    }
}

impl Butterfly<3> for Three {
    #[inline(always)]
    fn of<T: Float, const W: usize>([a, b, c]: [Group<T, W>; 3]) -> [Group<T, W>; 3] {
        const SINE: f64 = 0.866_025_403_784_438_6; // of a third of a turn
        let sum = add(b, c);
        let middle = sub(a, scale(sum, 0.5));
        let [plus, minus] = across(middle, scale(sub(b, c), SINE));
        [add(a, sum), minus, plus]
    }
}

impl Butterfly<4> for Four {
    #[inline(always)]
    fn of<T: Float, const W: usize>([a, b, c, d]: [Group<T, W>; 4]) -> [Group<T, W>; 4] {
        let (even, odd) = (add(a, c), add(b, d));
        let [plus, minus] = across(sub(a, c), sub(b, d));
        [add(even, odd), minus, sub(even, odd), plus]
    }
}

impl Butterfly<5> for Five {
    #[inline(always)]
    fn of<T: Float, const W: usize>([a, b, c, d, e]: [Group<T, W>; 5]) -> [Group<T, W>; 5] {
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

impl<T: Float> Pass<T> {
    /// The factors of the outputs of `W` elements of the rest from number `p` on; those of the first output are not
    /// set.
    #[inline(always)]
    fn factors_of<const R: usize, const W: usize>(&self, p: usize) -> [Group<T, W>; R] {
        let mut all = [[[T::of(0.0); W]; 2]; R];
        for (j, factors) in all.iter_mut().enumerate().skip(1) {
            for (to, from) in factors.iter_mut().zip(&self.factors) {
                to.copy_from_slice(&from[(j - 1) * self.rest + p..][..W]);
            }
        }
        all
    }
}

impl<T: Float> Run<'_, T> {
    /// The first pass of one line: elements side by side are computed together, and the outputs of each lie side by
    /// side.
    #[inline(always)]
    fn first<B: Butterfly<R>, const R: usize>(mut self) {
        let rest = self.pass.rest;
        let groups = rest / GROUP * GROUP;
        for p in (0..groups).step_by(GROUP) {
            self.neighbours::<B, R, GROUP>(p, true);
        }
        for p in groups..rest {
            self.neighbours::<B, R, 1>(p, true);
        }
        // As in the other passes, nothing is multiplied by 1, which would change what is not finite.
        self.neighbours::<B, R, 1>(0, false);
    }

    /// The butterflies of `W` elements of the rest from number `p` on, whose outputs are multiplied by the factors if
    /// `turned`.
    #[inline(always)]
    fn neighbours<B: Butterfly<R>, const R: usize, const W: usize>(&mut self, p: usize, turned: bool) {
        let rest = self.pass.rest;
        let mut group = [[[T::of(0.0); W]; 2]; R];
        for (k, group) in group.iter_mut().enumerate() {
            for (group, from) in group.iter_mut().zip(self.from) {
                group.copy_from_slice(&from[p + k * rest..][..W]);
            }
        }
        let (made, factors) = (B::of::<T, W>(group), self.pass.factors_of::<R, W>(p));
        let mut out = [[[T::of(0.0); R]; W]; 2];
        for (j, (made, factors)) in made.into_iter().zip(factors).enumerate() {
            let made = if turned && j > 0 { turn(made, factors) } else { made };
            for (out, made) in out.iter_mut().zip(made) {
                out.iter_mut().zip(made).for_each(|(out, made)| out[j] = made);
            }
        }
        for (to, out) in self.to.iter_mut().zip(&out) {
            let to = to[p * R..][..W * R].chunks_exact_mut(R);
            to.zip(out).for_each(|(to, out)| to.copy_from_slice(out));
        }
    }

    /// The pass of a radix with code of its own.
    #[inline(always)]
    fn each<B: Butterfly<R>, const R: usize>(self) {
        let (rest, stride) = (self.pass.rest, self.stride);
        let [re, im] = self.to;
        let outs = re.chunks_exact_mut(R * stride).zip(im.chunks_exact_mut(R * stride));
        for (p, (re, im)) in outs.take(rest).enumerate() {
            let factors = self.pass.factors_of::<R, 1>(p);
            let mut x: [[&[T]; 2]; R] = [[&[]; 2]; R];
            for (k, x) in x.iter_mut().enumerate() {
                let first = (p + rest * k) * stride;
                *x = [&self.from[0][first..][..stride], &self.from[1][first..][..stride]];
            }
            let (mut re, mut im) = (re.chunks_exact_mut(stride), im.chunks_exact_mut(stride));
            let mut y: [[&mut [T]; 2]; R] = std::array::from_fn(|_| {
                [re.next().expect("as many as the radix"), im.next().expect("as many as the radix")]
            });
            let (groups, fours) = (stride / GROUP * GROUP, stride / 4 * 4);
            for q in (0..groups).step_by(GROUP) {
                butterfly::<T, B, R, GROUP>(&x, &mut y, q, &factors, p > 0);
            }
            for q in (groups..fours).step_by(4) {
                butterfly::<T, B, R, 4>(&x, &mut y, q, &factors, p > 0);
            }
            for q in fours..stride {
                butterfly::<T, B, R, 1>(&x, &mut y, q, &factors, p > 0);
            }
        }
    }

    /// The pass of any radix, by the definition.
    #[inline(always)]
    fn any(self) {
        let (radix, rest, stride) = (self.pass.radix, self.pass.rest, self.stride);
        let [re, im] = self.to;
        for p in 0..rest {
            for j in 0..radix {
                let first = (radix * p + j) * stride;
                let (re, im) = (&mut re[first..][..stride], &mut im[first..][..stride]);
                let at = |k: usize| (p + rest * k) * stride;
                re.copy_from_slice(&self.from[0][at(0)..][..stride]);
                im.copy_from_slice(&self.from[1][at(0)..][..stride]);
                for k in 1..radix {
                    let [c, s] = self.pass.roots[j * k % radix];
                    let (x, y) = (&self.from[0][at(k)..][..stride], &self.from[1][at(k)..][..stride]);
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

/// The butterfly of `W` neighbours from `q` on, whose outputs are multiplied by the factors if `turned`.
#[inline(always)]
fn butterfly<T: Float, B: Butterfly<R>, const R: usize, const W: usize>(
    x: &[[&[T]; 2]; R],
    y: &mut [[&mut [T]; 2]; R],
    q: usize,
    factors: &[Group<T, 1>; R],
    turned: bool,
) {
    let zeros = [[T::of(0.0); W]; 2];
    let mut group = [zeros; R];
    for (group, x) in group.iter_mut().zip(x) {
        for (group, x) in group.iter_mut().zip(x) {
            group.copy_from_slice(&x[q..][..W]);
        }
    }
    let made = B::of::<T, W>(group);
    for (j, (made, y)) in made.into_iter().zip(y).enumerate() {
        let made = if turned && j > 0 { turn(made, factors[j].map(|[x]| [x; W])) } else { made };
        for (made, y) in made.iter().zip(y) {
            y[q..][..W].copy_from_slice(made);
        }
    }
}
