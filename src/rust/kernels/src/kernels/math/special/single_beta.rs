//! The regularised incomplete beta function at many points, for results that are rounded to singles.
//!
//! As [`single_gamma`](super::single_gamma): in doubles, in lanes, of points with parameters below [`LARGEST`], by the
//! continued fraction DLMF 8.17.22 as one quotient of sums, of the tail for which it converges fast; tails whose error is
//! not below 2^-31 are left to the function of one point.

use super::densities::TOGETHER;
use super::incomplete_beta::betainc;
use super::single_gamma::{has_digits, LEFT_OUT};
use super::single_sums::{beta_powers, beta_term};
use crate::kernels::math::exp::exp;
use crate::kernels::math::lanes::{Doubles, Singles, Wide};
use crate::kernels::math::vectors::{vectored, Vectored};

/// From here on there are too many quotients.
const LARGEST: f64 = 100.0;

/// Pairs of quotients, at most.
const MOST: usize = 40;

/// The lower tail of `x` over `x^a (1 - x)^b / (a B(a, b))`, for `x` up to about the mean: NaN if it takes too long.
#[inline(always)]
fn fraction<V: Doubles>(a: V, b: V, x: V) -> V {
    let (one, zero) = (V::of(1.0), V::of(0.0));
    let (mut over, mut under, mut last_over, mut last_under) = (one, one, zero, one);
    // What two convergents differ by is this over the product of what they are divided by.
    let (mut apart, mut n) = (one, zero);
    let mut is_open = zero.lt(one);
    for _ in 0..MOST {
        let twice = a + (n + n);
        let next = n + one;
        let odd = ((a + n) * ((a + b) + n) * x / (twice * (twice + one))).negate();
        let even = next * (b - next) * x / ((twice + one) * (twice + V::of(2.0)));
        let (middle_over, middle_under) = (over + odd * last_over, under + odd * last_under);
        let (next_over, next_under) = (middle_over + even * over, middle_under + even * under);
        apart = apart * (odd * even).abs();
        let is_near = apart.le((next_over * middle_under).abs() * V::of(LEFT_OUT));
        last_over = V::select(is_open, middle_over, last_over);
        last_under = V::select(is_open, middle_under, last_under);
        over = V::select(is_open, next_over, over);
        under = V::select(is_open, next_under, under);
        is_open = is_open & !is_near;
        n = next;
        if !V::any(is_open) {
            break;
        }
    }
    V::select(is_open, V::of(f64::NAN), over / under)
}

/// Some points, mirrored or not, and their tails; NaN where they are left to the function of one point.
struct Tails<'p> {
    points: &'p [[f64; TOGETHER]; 3],
    count: usize,
    /// Whether they are points of `1 - x`, with parameters as they are.
    is_mirrored: bool,
    is_lower: bool,
    out: &'p mut [f64; TOGETHER],
}

impl Vectored for Tails<'_> {
    type Made = ();

    #[inline(always)]
    fn run<S: Singles<Scalar = f32>, V: Wide>(self) {
        let (one, nan) = (V::of(1.0), V::of(f64::NAN));
        let (mut last, mut constant) = ([nan; 2], [one; 2]);
        for at in (0..self.count).step_by(V::LANES) {
            let (a, b) = (V::load(&self.points[0][at..]), V::load(&self.points[1][at..]));
            let x = V::load(&self.points[2][at..]);
            if V::any(!(a.same(last[0]) & b.same(last[1]))) {
                (last, constant) = ([a, b], beta_term(a, b));
            }
            let [log, size] = beta_powers([a, b], x, constant);
            let factor = exp(log);
            let tail = if self.is_mirrored {
                factor / b * fraction(b, a, one - x)
            } else {
                factor / a * fraction(a, b, x)
            };
            let is_own = self.is_lower != self.is_mirrored;
            let y = if is_own { tail } else { one - tail };
            V::select(has_digits(y, tail, size), y, nan).store(&mut self.out[at..]);
        }
    }
}

fn tails([a, b, x]: [&[f64]; 3], is_lower: bool, out: &mut [f64]) {
    for (part, out) in out.chunks_mut(TOGETHER).enumerate() {
        let first = part * TOGETHER;
        out.fill(f64::NAN);
        let (mut places, mut counts) = ([[0; TOGETHER]; 2], [0; 2]);
        for i in 0..out.len() {
            let (a, b, x) = (a[first + i], b[first + i], x[first + i]);
            let is_usual = (1e-30..LARGEST).contains(&a) && (1e-30..LARGEST).contains(&b);
            if is_usual && (1e-200..1.0).contains(&x) {
                // Beyond it the fraction converges slowly.
                let kind = usize::from(x * (a + b + 2.0) > a + 1.0);
                places[kind][counts[kind]] = i;
                counts[kind] += 1;
            }
        }
        for (kind, (places, count)) in places.iter().zip(counts).enumerate() {
            if count == 0 {
                continue;
            }
            // What follows the last point is computed too.
            let (mut points, mut made) =
                ([[1.0; TOGETHER], [1.0; TOGETHER], [0.5; TOGETHER]], [0.0; TOGETHER]);
            for (k, &i) in places[..count].iter().enumerate() {
                for (points, from) in points.iter_mut().zip([a, b, x]) {
                    points[k] = from[first + i];
                }
            }
            let is_mirrored = kind == 1;
            vectored(Tails { points: &points, count, is_mirrored, is_lower, out: &mut made });
            places[..count].iter().zip(&made).for_each(|(&i, &y)| out[i] = y);
        }
        for (i, y) in out.iter_mut().enumerate() {
            if y.is_nan() {
                *y = betainc(a[first + i], b[first + i], x[first + i], is_lower, false);
            }
        }
    }
}

/// The lower tail of as many points as there are results.
pub fn betaincs_single(a: &[f64], b: &[f64], x: &[f64], out: &mut [f64]) {
    tails([a, b, x], true, out);
}

/// The upper one.
pub fn betainccs_single(a: &[f64], b: &[f64], x: &[f64], out: &mut [f64]) {
    tails([a, b, x], false, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parameters of all sizes, and points from end to end and near the mean.
    fn points() -> Vec<[f64; 3]> {
        let ends = [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300, 1e-35, 1e-20, 1e-6, 99.9, 100.0, 1e4];
        let parameters: Vec<f64> = (1..24)
            .map(|i| 0.25 * f64::from(i) + 1e-3 * f64::from(i % 3))
            .chain([15.5, 40.0, 90.0])
            .chain(ends)
            .collect();
        let x = [0.0, 1.0, -0.5, 1.5, f64::NAN, 1e-300, 1e-30, 1e-10, 1e-3, 0.999, 1.0 - 1e-9];
        let mut all = vec![];
        for &a in &parameters {
            for &b in &parameters {
                let near = (-6..6).map(|i| (a + 1.0) / (a + b + 2.0) + 0.002 * f64::from(i));
                all.extend(
                    x.into_iter().chain((1..12).map(|i| f64::from(i) / 12.0)).chain(near).map(|x| [a, b, x]),
                );
            }
        }
        all
    }

    #[test]
    fn tails_are_those_of_one_point_to_singles() {
        let all = points();
        let [a, b, x] = [0, 1, 2].map(|k| all.iter().map(|point| point[k]).collect::<Vec<f64>>());
        let mut out = vec![0.0; all.len()];
        for is_lower in [true, false] {
            let many = if is_lower { betaincs_single } else { betainccs_single };
            many(&a, &b, &x, &mut out);
            for (i, &got) in out.iter().enumerate() {
                let want = betainc(a[i], b[i], x[i], is_lower, false);
                let is_near = (got - want).abs() <= 2f64.powi(-31) * want + 1e-300;
                let is_same = got == want || got.is_nan() && want.is_nan();
                assert!(is_same || is_near, "{:?} {is_lower}: {got:e} is not {want:e}", all[i]);
                // Whatever the neighbours are.
                let mut alone = [0.0];
                many(&a[i..=i], &b[i..=i], &x[i..=i], &mut alone);
                assert!(alone[0].to_bits() == got.to_bits() || got.is_nan(), "{:?}", all[i]);
            }
        }
    }

    #[test]
    fn few_points_are_left_to_the_function_of_one() {
        let (mut count, mut left) = (0, 0);
        for [a, b, x] in points() {
            if !(0.1..LARGEST).contains(&a) || !(0.1..LARGEST).contains(&b) || !(0.02..0.98).contains(&x) {
                continue;
            }
            let is_mirrored = x * (a + b + 2.0) > a + 1.0;
            let at = [[a; TOGETHER], [b; TOGETHER], [x; TOGETHER]];
            for is_lower in [true, false] {
                let mut made = [0.0; TOGETHER];
                vectored(Tails { points: &at, count: 1, is_mirrored, is_lower, out: &mut made });
                count += 1;
                left += u32::from(made[0].is_nan());
            }
        }
        assert!(left * 10 < count, "{left} of {count}");
    }
}
