//! Sums of the squares of deviations from the mean, in one pass over memory.
//!
//! Deviations of a tile are taken from a shift near its mean, the mean of its first elements; their sum
//! corrects the error of the shift, so that one pass is enough. Tiles are joined in order, by their means and
//! sums of squares. All is in double precision.
//!
//! The squares about the number exceed those about the mean by `n d^2`, where `d` is what it is off by, and
//! rounding errors grow by as much. The mean of `k` of `n` elements is off by at most `sqrt(m / k)`, where
//! `m` is the sum of squares about the mean: so by the factor `1 + n / k`, which is 129 for a tile, and near
//! 1 unless the first elements are outliers.
//!
//! Source: T. F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms for computing the sample variance: analysis
//! and recommendations", The American Statistician 37 (1983): shifted data, and the formula that joins two
//! samples.

use super::partials::{halve, lanes_from, Compensated, Each, Made, Partial, Rows, LANES};
use crate::dtype::{Element, Real};
use crate::kernels::tile::TILE;
use crate::kernels::wide::{wide, wide_loop, Loop};
use num_complex::Complex;
use std::ops::Range;

/// The moments of a tile: the sum of squares and the mean, as the parts of a complex number. So it is a
/// [`Partial`], or a real result if there is no other tile.
type Moments = Complex<f64>;

/// The number of a tile's first elements that give the shift, and the factor of their mean. For a short tile
/// it is the first element.
fn first(n: usize) -> (usize, f64) {
    if n < LANES {
        (1, 1.0)
    } else {
        (LANES, 1.0 / LANES as f64)
    }
}

/// The moments of `n` elements whose deviations from `shift` have this sum and this sum of squares; `all` are
/// the elements.
fn moments(n: usize, shift: f64, sum: f64, squares: f64, all: impl Iterator<Item = f64> + Clone) -> Moments {
    let count = n as f64;
    let off = sum / count;
    if squares.is_finite() {
        // Where rounding leaves less than nothing, there is nothing.
        return Complex::new((squares - sum * off).max(0.0), shift + off);
    }
    // Too large for a double, or infinite elements, or NaN.
    if all.clone().all(f64::is_finite) {
        return Complex::new(f64::INFINITY, all.map(|x| x / count).sum());
    }
    Complex::new(f64::NAN, f64::NAN)
}

/// Folds a tile.
pub fn tile<R: Real>(x: &[R]) -> Moments {
    let mut out = [[0.0; 3]];
    wide_loop(Tiles(x, x.len(), &mut out));
    made(x, out[0])
}

/// Folds tiles of `each` elements side by side, the last of which may have less, with the bits of [`tile`].
pub fn line<R: Real, O: Made>(x: &[R], each: usize, out: &mut [O]) {
    /// Tiles whose sums are made together.
    const TOGETHER: usize = 32;
    for (out, x) in out.chunks_mut(TOGETHER).zip(x.chunks(TOGETHER * each)) {
        let sums = &mut [[0.0; 3]; TOGETHER][..out.len()];
        wide_loop(Tiles(x, each, sums));
        let all = out.iter_mut().zip(sums).zip(x.chunks(each));
        all.for_each(|((out, sums), x)| *out = O::made(made(x, *sums)));
    }
}

/// The moments of a tile with this shift and these sums.
#[inline]
fn made<R: Real>(x: &[R], [shift, sum, squares]: [f64; 3]) -> Moments {
    moments(x.len(), shift, sum, squares, x.iter().map(|x| x.convert()))
}

/// The shifts, the sums and the sums of squares of tiles of so many elements side by side.
struct Tiles<'a, R>(&'a [R], usize, &'a mut [[f64; 3]]);

impl<R: Real> Loop for Tiles<'_, R> {
    type Made = ();
    #[inline(always)]
    fn run(self) {
        let Tiles(x, each, out) = self;
        for (i, out) in out.iter_mut().enumerate() {
            let start = i * each;
            let n = each.min(x.len() - start);
            let (count, scale) = first(n);
            let begin = lanes_from(x, start);
            let mut lanes = [0.0; LANES];
            for lane in 0..LANES {
                let added = lanes[lane] + begin[lane].convert::<f64>() * scale;
                lanes[lane] = if lane < count { added } else { lanes[lane] };
            }
            let shift = total(lanes);
            let (mut sums, mut squares) = ([0.0; LANES], [0.0; LANES]);
            for chunk in x[start..][..n].chunks_exact(LANES) {
                for lane in 0..LANES {
                    let apart = chunk[lane].convert::<f64>() - shift;
                    sums[lane] += apart;
                    squares[lane] += apart * apart;
                }
            }
            let rest = n % LANES;
            if rest > 0 {
                let end = lanes_from(x, start + n - rest);
                for lane in 0..LANES {
                    let apart = end[lane].convert::<f64>() - shift;
                    let (sum, square) = (sums[lane] + apart, squares[lane] + apart * apart);
                    sums[lane] = if lane < rest { sum } else { sums[lane] };
                    squares[lane] = if lane < rest { square } else { squares[lane] };
                }
            }
            *out = [shift, total(sums), total(squares)];
        }
    }
}

/// The sum of the lanes, in the order of [`halve`].
#[inline(always)]
fn total(mut lanes: [f64; LANES]) -> f64 {
    for half in [4, 2, 1] {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
    }
    lanes[0]
}

/// Bytes of a run of results that are folded together. Three doubles of each stay in the nearer caches, and
/// memory is still read in long runs.
const RUN: usize = 8 << 10;

/// Folds tiles of several results, with the bits of [`tile`].
pub fn tiles<R: Real, O: Made>(x: &[R], rows: Rows, out: &mut [O]) {
    let together = RUN / size_of::<R>();
    for (i, out) in out.chunks_mut(together).enumerate() {
        some(x, Rows { first: rows.first + (i * together) as isize * rows.stride, ..rows }, out);
    }
}

/// Folds tiles of so few results that what they are folded into is near.
fn some<R: Real, O: Made>(x: &[R], rows: Rows, out: &mut [O]) {
    let (n, len) = (rows.offsets.len(), out.len());
    let (count, scale) = first(n);
    let mut shifts = Sums::new(count, len);
    let begin = Rows { offsets: rows.offsets.first(count), ..rows };
    begin.each(x, len, count, begin.are_together(len), &mut |at, runs| {
        let mut add = |x| shifts.add(at.clone(), x, |sum, &x: &R| *sum += x.convert::<f64>() * scale);
        runs.iter().flat_map(|x| x.chunks(at.len())).for_each(&mut add);
    });
    let mut shifts = shifts.made(len);
    let (lanes, together) = (n.min(LANES), rows.are_together(len));
    if together {
        shifts = shifts.repeat(lanes);
    }
    let (mut sums, mut squares) = (Sums::new(lanes, len), Sums::new(lanes, len));
    rows.each(x, len, lanes, together, &mut |at, runs| {
        let each = at.len();
        let mut sums =
            Deviations { sums: &mut sums.0[at.clone()], squares: &mut squares.0[at], shifts: &shifts };
        match *runs {
            [a, b, c, d] => wide_loop(Four(sums, [a, b, c, d])),
            _ => runs.iter().flat_map(|x| x.chunks(each)).for_each(|x| sums.add(x)),
        }
    });
    let (sums, squares) = (sums.made(len), squares.made(len));
    for (i, out) in out.iter_mut().enumerate() {
        let element =
            |j: usize| x[(rows.first + i as isize * rows.stride + rows.offsets.at(j)) as usize].convert();
        *out = O::made(moments(n, shifts[i], sums[i], squares[i], (0..n).map(element)));
    }
}

/// Sums of the lanes of several results: the first ones of all, then the second ones.
struct Sums(Vec<f64>);

impl Sums {
    fn new(lanes: usize, len: usize) -> Sums {
        Sums(vec![0.0; lanes * len])
    }

    /// Takes elements into as many.
    fn add<R>(&mut self, at: Range<usize>, x: &[R], add: impl Fn(&mut f64, &R)) {
        wide(|| self.0[at].iter_mut().zip(x).for_each(|(sum, x)| add(sum, x)));
    }

    /// The sums of the lanes.
    fn made(mut self, len: usize) -> Vec<f64> {
        halve(&mut self.0, len, |sums, others| {
            wide(|| sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += other))
        });
        self.0.truncate(len);
        self.0
    }
}

/// Sums of deviations and of their squares, of elements in as many offsets.
struct Deviations<'a> {
    sums: &'a mut [f64],
    squares: &'a mut [f64],
    shifts: &'a [f64],
}

impl Deviations<'_> {
    /// Takes an element into each.
    fn add<R: Real>(&mut self, x: &[R]) {
        wide(|| {
            for (((sum, square), &shift), x) in
                self.sums.iter_mut().zip(&mut *self.squares).zip(self.shifts).zip(x)
            {
                let apart = x.convert::<f64>() - shift;
                *sum += apart;
                *square += apart * apart;
            }
        });
    }
}

/// Takes four elements into each, so that sums are loaded and stored once.
struct Four<'a, R>(Deviations<'a>, [&'a [R]; 4]);

impl<R: Real> Loop for Four<'_, R> {
    type Made = ();
    #[inline(always)]
    fn run(self) {
        let Four(Deviations { sums, squares, shifts }, [a, b, c, d]) = self;
        let elements = a.iter().zip(b).zip(c).zip(d);
        for (((sum, square), &shift), (((a, b), c), d)) in
            sums.iter_mut().zip(squares).zip(shifts).zip(elements)
        {
            for x in [a, b, c, d] {
                let apart = x.convert::<f64>() - shift;
                *sum += apart;
                *square += apart * apart;
            }
        }
    }
}

/// Joins what was made of all tiles of `len` elements. Means are taken from the first one's, as they may be
/// large and next to each other.
pub fn finish<R: Real>(len: usize, partials: Each<Partial>) -> R {
    let (mut squares, mut count, mut mean, mut origin) = (Compensated::<f64>::default(), 0, 0.0, 0.0);
    let mut finite = true;
    partials(&mut |partial| {
        let Moments { re: own, im: place } = Element::from_bytes(&partial);
        if count == 0 {
            origin = place;
        }
        let next = TILE.min(len - count);
        let (apart, share) = ((place - origin) - mean, next as f64 / (count + next) as f64);
        mean += apart * share;
        squares.add(own);
        squares.add(apart * apart * (count as f64 * share));
        count += next;
        finite &= place.is_finite();
    });
    let total = squares.total();
    // Of finite elements only what is too large for a double is none.
    R::from_f64(if !total.is_nan() {
        total
    } else if finite {
        f64::INFINITY
    } else {
        f64::NAN
    })
}
