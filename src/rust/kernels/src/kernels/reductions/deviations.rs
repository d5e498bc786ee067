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

use super::partials::{halve, joined_few, of_known_length, Compensated, Each, Made, Partial, Rows, LANES};
use super::vectors::{rest, totals, Eight, Widened, TOGETHER};
use crate::dtype::{Element, Real};
use crate::kernels::math::lanes::{Singles, Wide};
use crate::kernels::math::vectors::{vectored, Vectored};
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
pub fn tile<R: Widened>(x: &[R]) -> Moments {
    let mut out = [Moments::default()];
    line(x, x.len(), &mut out);
    out[0]
}

/// Folds tiles of `each` elements side by side, the last of which may have less, with the bits of [`tile`].
pub fn line<R: Widened, O: Made>(x: &[R], each: usize, out: &mut [O]) {
    for (out, x) in out.chunks_mut(TOGETHER).zip(x.chunks(TOGETHER * each)) {
        let (whole, left) = x.split_at(x.len() / each * each);
        let (out, last) = out.split_at_mut(x.len() / each);
        alike(whole, each, out);
        alike(left, left.len(), last);
    }
}

/// Folds tiles of one length side by side, of which there are at most [`TOGETHER`].
fn alike<R: Widened, O: Made>(x: &[R], each: usize, out: &mut [O]) {
    if out.is_empty() {
        return;
    }
    let (mut sums, mut made) = Default::default();
    let finite = if short(x, each, &mut sums) {
        made_of_finite(each, &sums, &mut made)
    } else {
        vectored(Tiles { x, each, sums: &mut sums, made: &mut made })
    };
    for (i, (out, x)) in out.iter_mut().zip(x.chunks_exact(each)).enumerate() {
        *out = O::made(if finite {
            Complex::new(made[0][i], made[1][i])
        } else {
            moments(each, sums[0][i], sums[1][i], sums[2][i], x.iter().map(|x| x.convert()))
        });
    }
}

/// The shifts of tiles of no more elements than lanes, and their sums and sums of squares; of other tiles it does
/// nothing and says so. See [`short`](super::loops::short) of other folds.
fn short<R: Widened>(x: &[R], each: usize, sums: &mut [[f64; TOGETHER]; 3]) -> bool {
    #[inline(always)]
    fn of<R: Widened, const N: usize>(x: &[R], [shifts, sums, squares]: &mut [[f64; TOGETHER]; 3]) -> bool {
        // With two elements in a lane, registers do not hold both sums.
        if N > LANES {
            return false;
        }
        for (((x, shift), sum), square) in x.chunks_exact(N).zip(shifts).zip(sums).zip(squares) {
            *shift = if N < LANES {
                0.0 + x[0].convert::<f64>()
            } else {
                joined_few::<_, LANES>(|i| 0.0 + x[i].convert::<f64>() * first(N).1, |a, b| a + b)
            };
            let lane = |i: usize| {
                let apart = x[i].convert::<f64>() - *shift;
                (0.0 + apart, 0.0 + apart * apart)
            };
            (*sum, *square) = joined_few::<_, N>(lane, |a, b| (a.0 + b.0, a.1 + b.1));
        }
        true
    }
    macro_rules! call {
        ($n:literal) => {
            of::<R, $n>(x, sums)
        };
    }
    of_known_length!(each, call, false)
}

/// As [`moments`], of some tiles whose elements are finite; whether they are.
#[inline(never)] // One for all dtypes.
fn made_of_finite(
    each: usize,
    [shifts, sums, squares]: &[[f64; TOGETHER]; 3],
    [made, means]: &mut [[f64; TOGETHER]; 2],
) -> bool {
    let (count, mut finite) = (each as f64, true);
    for i in 0..TOGETHER {
        let off = sums[i] / count;
        let square = squares[i] - sums[i] * off;
        made[i] = if square > 0.0 { square } else { 0.0 };
        means[i] = shifts[i] + off;
        finite &= squares[i].is_finite();
    }
    finite
}

/// Some tiles of so many elements, at least as many as there are lanes, side by side: their shifts, their sums and sums of squares, and what [`moments`]
/// makes of them where all are finite, which the loop tells.
struct Tiles<'a, R> {
    x: &'a [R],
    each: usize,
    sums: &'a mut [[f64; TOGETHER]; 3],
    made: &'a mut [[f64; TOGETHER]; 2],
}

impl<R: Widened> Vectored for Tiles<'_, R> {
    type Made = bool;
    #[inline(always)]
    fn run<S: Singles<Scalar = f32>, D: Wide>(self) -> bool {
        let Tiles { x, each, sums: [shifts, sums, squares], made: [made, means] } = self;
        let (scale, left, zero) = (first(each).1, each % LANES, Eight::<D>::of(0.0));
        let mut lanes = [[D::of(0.0); TOGETHER]; 2];
        let mut room = [R::default(); LANES];
        for (i, start) in (0..x.len()).step_by(each).enumerate() {
            lanes[0][i] =
                Eight::load(&x[start..start + LANES]).map(|x| D::of(0.0) + x * D::of(scale)).joined();
        }
        let shift = totals(&lanes[0]);
        shift.store(shifts);
        for (i, all) in x.chunks_exact(each).enumerate() {
            let (shift, mut sum, mut square) = (D::of(shifts[i]), zero, zero);
            let apart = |x: &[R]| Eight::load(x).map(|x| x - shift);
            for x in all.chunks_exact(LANES) {
                let apart = apart(x);
                sum = sum.with(apart, |sum, apart| sum + apart);
                square = square.with(apart, |square, apart| square + apart * apart);
            }
            if left > 0 {
                let apart = apart(rest(x, (i + 1) * each - left, &mut room));
                sum = sum.with(apart, |sum, apart| sum + apart).in_first(left, sum);
                square = square.with(apart, |square, apart| square + apart * apart).in_first(left, square);
            }
            (lanes[0][i], lanes[1][i]) = (sum.joined(), square.joined());
        }
        let (sum, square) = (totals(&lanes[0]), totals(&lanes[1]));
        sum.store(sums);
        square.store(squares);
        let off = sum.map(|sum| sum / D::of(each as f64));
        shift.with(off, |shift, off| shift + off).store(means);
        // The larger one, and 0 of equal ones.
        let lost = sum.with(off, |sum, off| sum * off);
        square.with(lost, |square, lost| (square - lost).max(D::of(0.0))).store(made);
        let mut odd = D::of(0.0).is_nan();
        for i in 0..Eight::<D>::VECTORS {
            odd = odd | (square.0[i] - square.0[i]).is_nan();
        }
        !D::any(odd)
    }
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
