//! The regularised incomplete gamma functions at many points, for results that are rounded to singles.
//!
//! In doubles, in lanes, of points with parameters below [`LARGEST`]: the series DLMF 8.7.1 times `e^x` and the continued
//! fraction DLMF 8.9.2, both as one quotient of sums, which need no division in each step. A point is computed until its
//! own terms are below 2^-40 of the sum; those of one kind are computed together. The exponent of the factor before them
//! is a sum whose terms have the sizes `s`, with an error below `2^-49 s`: tails whose error is not below 2^-31 are left
//! to the function of one point, as are other parameters.

use super::densities::TOGETHER;
use super::incomplete_gamma::gammainc;
use super::single_sums::{power_term, Sized};
use crate::kernels::math::exp::exp;
use crate::kernels::math::lanes::{Doubles, Singles, Wide};
use crate::kernels::math::vectors::{vectored, Vectored};

/// From here on distributions are nearly normal, and sums long.
const LARGEST: f64 = 20.0;

/// Below this point the series has few terms whatever the parameter is.
const SMALL: f64 = 3.0;

/// The part of a sum that may be left out.
pub(super) const LEFT_OUT: f64 = 1.0 / (1_u64 << 40) as f64;

/// Terms of the series and of the fraction, at most: their sums are in the range of numbers.
const MOST: usize = 80;
const MOST_QUOTIENTS: usize = 40;

/// The lower tail over `x^a e^-x / gamma(a + 1)`: NaN if it takes too long.
#[inline(always)]
fn series<V: Doubles>(a: V, x: V) -> V {
    let (one, zero) = (V::of(1.0), V::of(0.0));
    let (mut over, mut under, mut power, mut next) = (one, one, one, a + one);
    let mut is_open = zero.lt(one);
    for _ in 0..MOST {
        under = V::select(is_open, under * next, under);
        power = power * x;
        over = V::select(is_open, over * next + power, over);
        // Terms fall by half at least.
        is_open = is_open & !(power.le(over * V::of(LEFT_OUT)) & (x + x).le(next));
        next = next + one;
        if !V::any(is_open) {
            break;
        }
    }
    V::select(is_open, V::of(f64::NAN), over / under)
}

/// The upper tail over `x^a e^-x / gamma(a)`: NaN if it takes too long.
#[inline(always)]
fn fraction<V: Doubles>(a: V, x: V) -> V {
    let (one, zero) = (V::of(1.0), V::of(0.0));
    let mut line = (x - a) + one;
    let (mut over, mut under, mut last_over, mut last_under) = (one, line, zero, one);
    // What two convergents differ by is this over the product of what they are divided by.
    let (mut apart, mut n) = (one, zero);
    let mut is_open = zero.lt(one);
    for _ in 0..MOST_QUOTIENTS {
        n = n + one;
        line = line + V::of(2.0);
        let part = n * (a - n);
        let (next_over, next_under) = (line * over + part * last_over, line * under + part * last_under);
        apart = apart * part.abs();
        let is_near = apart.le(next_over * under * V::of(LEFT_OUT));
        last_over = V::select(is_open, over, last_over);
        last_under = V::select(is_open, under, last_under);
        over = V::select(is_open, next_over, over);
        under = V::select(is_open, next_under, under);
        is_open = is_open & !is_near;
        if !V::any(is_open) {
            break;
        }
    }
    V::select(is_open, V::of(f64::NAN), over / under)
}

/// Whether a probability has the digits of a single: it is this tail, or the rest of it, where the terms of the tail's
/// exponent have such sizes.
#[inline(always)]
pub(super) fn has_digits<V: Doubles>(y: V, tail: V, size: V) -> V::Mask {
    let error = size * V::of(1.0 / (1_u64 << 49) as f64) + V::of(2.0 * LEFT_OUT);
    (error * tail).le(y * V::of(1.0 / (1_u64 << 31) as f64))
}

/// Some points of one kind, and their tails; NaN where they are left to the function of one point.
struct Tails<'p, const SERIES: bool> {
    points: &'p [[f64; TOGETHER]; 2],
    count: usize,
    is_lower: bool,
    out: &'p mut [f64; TOGETHER],
}

impl<const SERIES: bool> Vectored for Tails<'_, SERIES> {
    type Made = ();

    #[inline(always)]
    fn run<S: Singles<Scalar = f32>, V: Wide>(self) {
        let one = V::of(1.0);
        let (mut last, mut of_parameter) = (V::of(f64::NAN), [one; 2]);
        for at in (0..self.count).step_by(V::LANES) {
            let (a, x) = (V::load(&self.points[0][at..]), V::load(&self.points[1][at..]));
            if V::any(!a.same(last)) {
                (last, of_parameter) = (a, super::single_sums::lgamma(a + one));
            }
            let [log, size]: Sized<V> = power_term(a, x, of_parameter);
            let factor = exp(log);
            let tail = factor * if SERIES { series(a, x) } else { a * fraction(a, x) };
            let y = if SERIES == self.is_lower { tail } else { one - tail };
            V::select(has_digits(y, tail, size), y, V::of(f64::NAN)).store(&mut self.out[at..]);
        }
    }
}

/// Both kinds of points, each with the places that they are from.
fn tails(a: &[f64], x: &[f64], is_lower: bool, out: &mut [f64]) {
    for ((a, x), out) in a.chunks(TOGETHER).zip(x.chunks(TOGETHER)).zip(out.chunks_mut(TOGETHER)) {
        out.fill(f64::NAN);
        let (mut places, mut counts) = ([[0; TOGETHER]; 2], [0; 2]);
        for (i, (&a, &x)) in a.iter().zip(x).enumerate() {
            if (1e-30..LARGEST).contains(&a) && (1e-200..1e4).contains(&x) {
                let kind = usize::from(x >= SMALL && x >= a + 1.0);
                places[kind][counts[kind]] = i;
                counts[kind] += 1;
            }
        }
        for (kind, (places, count)) in places.iter().zip(counts).enumerate() {
            if count == 0 {
                continue;
            }
            // What follows the last point is computed too.
            let (mut points, mut made) = ([[1.0; TOGETHER], [4.0; TOGETHER]], [0.0; TOGETHER]);
            for (k, &i) in places[..count].iter().enumerate() {
                (points[0][k], points[1][k]) = (a[i], x[i]);
            }
            let (points, made) = (&points, &mut made);
            if kind == 0 {
                vectored(Tails::<true> { points, count, is_lower, out: made });
            } else {
                vectored(Tails::<false> { points, count, is_lower, out: made });
            }
            places[..count].iter().zip(made.iter()).for_each(|(&i, &y)| out[i] = y);
        }
        for (i, y) in out.iter_mut().enumerate() {
            if y.is_nan() {
                *y = gammainc(a[i], x[i], is_lower, false);
            }
        }
    }
}

/// The lower tail of as many points as there are results.
pub fn gammaincs_single(a: &[f64], x: &[f64], out: &mut [f64]) {
    tails(a, x, true, out);
}

/// The upper one.
pub fn gammainccs_single(a: &[f64], x: &[f64], out: &mut [f64]) {
    tails(a, x, false, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_one_point_to_singles() {
        let ends = [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300, 1e-35, 1e-20, 1e-6, 19.999, 20.0, 1e3, 1e5];
        let parameters = (1..80).map(|i| f64::from(i) * 0.25 + 1e-3 * f64::from(i % 3)).chain(ends);
        let points: Vec<f64> = (0..300).map(|i| (0.06 * f64::from(i) - 10.0).exp()).chain(ends).collect();
        let near = |a: f64| (-20..20).map(move |i| a + 1.0 + 1e-3 * f64::from(i));
        let all: Vec<[f64; 2]> =
            parameters.flat_map(|a| points.iter().copied().chain(near(a)).map(move |x| [a, x])).collect();
        let [a, x] = [0, 1].map(|k| all.iter().map(|point| point[k]).collect::<Vec<f64>>());
        let mut out = vec![0.0; all.len()];
        for is_lower in [true, false] {
            let many = if is_lower { gammaincs_single } else { gammainccs_single };
            many(&a, &x, &mut out);
            for (i, &got) in out.iter().enumerate() {
                let want = gammainc(a[i], x[i], is_lower, false);
                let is_near = (got - want).abs() <= 2f64.powi(-31) * want + 1e-300;
                let is_same = got == want || got.is_nan() && want.is_nan();
                assert!(is_same || is_near, "{} {} {is_lower}: {got:e} is not {want:e}", a[i], x[i]);
                // Whatever the neighbours are.
                let mut alone = [0.0];
                many(&a[i..=i], &x[i..=i], &mut alone);
                assert!(alone[0].to_bits() == got.to_bits() || got.is_nan(), "{} {}", a[i], x[i]);
            }
        }
    }

    #[test]
    fn few_points_are_left_to_the_function_of_one() {
        let (mut points, mut left) = (0, 0);
        for i in 1..200 {
            let a = 0.1 * f64::from(i);
            let x: Vec<f64> = (1..64).map(|k| 0.05 * f64::from(k) * (a + 2.0)).collect();
            for (&x, is_lower) in x.iter().zip([true, false].into_iter().cycle()) {
                let (mut made, at) = ([0.0; TOGETHER], [[a; TOGETHER], [x; TOGETHER]]);
                if x < SMALL || x < a + 1.0 {
                    vectored(Tails::<true> { points: &at, count: 1, is_lower, out: &mut made });
                } else {
                    vectored(Tails::<false> { points: &at, count: 1, is_lower, out: &mut made });
                }
                points += 1;
                left += u32::from(made[0].is_nan());
            }
        }
        assert!(left * 20 < points, "{left} of {points}");
    }
}
