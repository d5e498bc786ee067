//! Logarithms of densities and of beta functions of many points at once, in numbers of twice the digits in lanes. The bits
//! are those of the functions of one point.

use super::beta::{beta, lbeta};
use super::counts;
use super::double::{fractions, Double, HALF_LOG_2_PI};
use super::incomplete_beta::{log_beta_constant, log_beta_density};
use super::incomplete_gamma::{log_gamma_constant, log_gamma_density};
use super::parts::{Product, FAR, PLAIN};
use super::twice::{all, log, negate, plain, plus, select, times, total, value, Twice};
use crate::kernels::math::gamma::gamma;
use crate::kernels::math::gamma_coefficients::STIRLING;
use crate::kernels::math::lanes::{two_sum, Doubles, Singles, Wide};
use crate::kernels::math::log::log as log_of_double;
use crate::kernels::math::vectors::{vectored, Vectored};

/// Points that are computed together: a whole number of vectors.
pub const TOGETHER: usize = 64;

/// As [`gamma1p`](super::parts::gamma1p), of positive numbers.
#[inline(always)]
fn gamma1p<V: Doubles>(x: Twice<V>) -> V {
    let one = V::of(1.0);
    let is_small = x.0.lt(one);
    let value = gamma(V::select(is_small, one + x.0, x.0)) * V::select(is_small, one, x.0);
    let near = x.0 + V::of(0.5);
    value + value * (log_of_double(near) + one / (V::of(24.0) * near * near)) * x.1
}

/// As [`stirling`](super::parts::stirling).
#[inline(always)]
fn stirling<V: Doubles>(x: V) -> V {
    let square = V::of(1.0) / x / x;
    let mut sum = V::of(0.0);
    let mut i = STIRLING.len();
    while i > 0 {
        i -= 1;
        sum = sum * square + V::of(STIRLING[i]);
    }
    sum / x
}

#[inline(always)]
fn half<V: Doubles>(x: Twice<V>) -> Twice<V> {
    (V::of(0.5) * x.0, V::of(0.5) * x.1)
}

/// As [`log_gamma_constant`], of numbers below [`PLAIN`].
#[inline(always)]
fn gamma_constant<V: Doubles>(a: V, fractions: &[Double]) -> Twice<V> {
    let is_near = a.lt(V::of(FAR));
    let log_a = log(plain(a), fractions);
    let mut constant = log_a;
    if V::any(is_near) {
        let of_one = log(plain(gamma1p(plain(V::select(is_near, a, V::of(1.0))))), fractions);
        constant = plus(log_a, negate(of_one));
    }
    if V::any(!is_near) {
        let rest = plus(negate(all(HALF_LOG_2_PI)), negate(plain(stirling(a))));
        let far = plus(plus(plus(rest, half(log_a)), plain(a)), negate(times(log_a, a)));
        constant = select::<V>(is_near, constant, far);
    }
    constant
}

/// What is left of `log(gamma(z + 1))` of large numbers without `z log(z) - z`.
#[inline(always)]
fn left_of_far<V: Doubles>(z: V, log_z: Twice<V>) -> Twice<V> {
    total([half(log_z), all(HALF_LOG_2_PI), plain(stirling(z))])
}

/// The same, or the logarithm and `z` where that is near and `gamma` is that of `z + 1`.
#[inline(always)]
fn left<V: Doubles>(is_near: V::Mask, z: V, log_z: Twice<V>, gamma: V, fractions: &[Double]) -> Twice<V> {
    let mut left = left_of_far(z, log_z);
    if V::any(is_near) {
        left = select::<V>(is_near, plus(log(plain(gamma), fractions), plain(z)), left);
    }
    left
}

/// The logarithm of the reciprocal of the mean, or of the sum where the parameter is near, times the parameter.
#[inline(always)]
fn of_mean<V: Doubles>(is_near: V::Mask, z: V, log_z: Twice<V>, log_sum: Twice<V>) -> Twice<V> {
    times(select::<V>(is_near, log_sum, plus(log_sum, negate(log_z))), z)
}

/// `gamma(1 + x)` where true, else that of 2.
#[inline(always)]
fn gamma1p_where<V: Doubles>(mask: V::Mask, x: Twice<V>) -> V {
    let one = plain(V::of(1.0));
    if V::any(mask) {
        gamma1p(select::<V>(mask, x, one))
    } else {
        one.0
    }
}

/// As [`log_beta_constant`], of numbers below [`PLAIN`].
#[inline(always)]
fn beta_constant<V: Doubles>(a: V, b: V, fractions: &[Double]) -> Twice<V> {
    let one = V::of(1.0);
    let (is_near_a, is_near_b) = (a.lt(V::of(FAR)), b.lt(V::of(FAR)));
    let is_near = is_near_a & is_near_b;
    let (sum, log_a) = (two_sum(a, b), log(plain(a), fractions));
    let (of_a, of_b) = (gamma1p_where(is_near_a, plain(a)), gamma1p_where(is_near_b, plain(b)));
    let mut rest = log_a;
    if V::any(is_near) {
        let quotient = gamma1p_where(is_near, sum) / of_b * (b / sum.0) / of_a;
        rest = log(plain(V::select(is_near, quotient, one)), fractions);
    }
    if V::any(!is_near) {
        let (log_b, log_sum) = (log(plain(b), fractions), log(sum, fractions));
        let means = plus(of_mean(is_near_a, a, log_a, log_sum), of_mean(is_near_b, b, log_b, log_sum));
        let over_means = total([
            left_of_far(sum.0, log_sum),
            negate(left(is_near_a, a, log_a, of_a, fractions)),
            negate(left(is_near_b, b, log_b, of_b, fractions)),
            log_b,
            negate(log_sum),
        ]);
        rest = select::<V>(is_near, rest, plus(means, over_means));
    }
    plus(rest, log_a)
}

/// The numbers of some points, of which those that are rare are replaced.
struct Points {
    a: [f64; TOGETHER],
    b: [f64; TOGETHER],
    x: [f64; TOGETHER],
    /// What depends on the parameters alone, in two parts.
    constants: [[f64; TOGETHER]; 2],
}

/// The constants of some parameters, of gamma variables, or of beta variables where `BETA`.
struct Constants<'p, const BETA: bool> {
    a: &'p [f64; TOGETHER],
    b: &'p [f64; TOGETHER],
    count: usize,
    out: &'p mut [[f64; TOGETHER]; 2],
}

impl<const BETA: bool> Vectored for Constants<'_, BETA> {
    type Made = ();

    #[inline(always)]
    fn run<S: Singles<Scalar = f32>, D: Wide>(self) {
        let fractions = fractions();
        for at in (0..self.count).step_by(D::LANES) {
            let a = D::load(&self.a[at..]);
            let constant = if BETA {
                beta_constant(a, D::load(&self.b[at..]), fractions)
            } else {
                gamma_constant(a, fractions)
            };
            constant.0.store(&mut self.out[0][at..]);
            constant.1.store(&mut self.out[1][at..]);
        }
    }
}

/// Their densities, of gamma variables, or of beta variables where `BETA`.
struct Densities<'p, const BETA: bool> {
    points: &'p Points,
    count: usize,
    out: &'p mut [f64; TOGETHER],
}

impl<const BETA: bool> Vectored for Densities<'_, BETA> {
    type Made = ();

    #[inline(always)]
    fn run<S: Singles<Scalar = f32>, D: Wide>(self) {
        let (fractions, points) = (fractions(), self.points);
        for at in (0..self.count).step_by(D::LANES) {
            let (a, x) = (D::load(&points.a[at..]), D::load(&points.x[at..]));
            let constant = (D::load(&points.constants[0][at..]), D::load(&points.constants[1][at..]));
            let log_x = log(plain(x), fractions);
            let y = if BETA {
                let b = D::load(&points.b[at..]);
                let log_rest = log(two_sum(D::of(1.0), x.negate()), fractions);
                total([times(log_x, a), negate(log_x), times(log_rest, b), negate(log_rest), constant])
            } else {
                total([times(log_x, a), negate(log_x), plain(x.negate()), constant])
            };
            value(y).store(&mut self.out[at..]);
        }
    }
}

/// Whole numbers up to this one are few enough that what is made of two of them is kept.
const FEW: f64 = 32.0;

impl Points {
    const USUAL: Points = Points {
        a: [1.0; TOGETHER],
        b: [1.0; TOGETHER],
        x: [0.5; TOGETHER],
        constants: [[0.0; TOGETHER]; 2],
    };

    /// Takes parameters and points, and tells which ones are rare, a bit for each, and whether parameters are few.
    #[inline(always)]
    fn take<const BETA: bool>(
        &mut self,
        count: usize,
        at: impl Fn(usize) -> [f64; 3],
        is_common: impl Fn([f64; 3]) -> bool,
    ) -> (u64, bool) {
        let few = if BETA { FEW } else { counts::LARGEST as f64 };
        let (mut left_out, mut are_few, first) = (0u64, true, at(0));
        for i in 0..count {
            let mut point = at(i);
            if !is_common(point) {
                left_out |= 1 << i;
                point = [1.0, 1.0, 0.5];
            }
            let [a, b, x] = point;
            (self.a[i], self.b[i], self.x[i]) = (a, b, x);
            let is_kept = |x: f64, first: f64| x == first || (x <= few && f64::from(x as u32) == x);
            are_few &= is_kept(a, first[0]) && is_kept(b, first[1]);
        }
        (left_out, are_few)
    }

    /// Makes the constants in lanes: first those of the points whose parameters are near, as for a vector with some of
    /// either kind both are computed.
    fn make_constants<const BETA: bool>(&mut self, count: usize) {
        let (mut places, mut low, mut high) = ([0; TOGETHER], 0, count);
        for i in 0..count {
            if self.a[i] < FAR && (!BETA || self.b[i] < FAR) {
                places[low] = i;
                low += 1;
            } else {
                high -= 1;
                places[high] = i;
            }
        }
        let (mut a, mut b, mut out) = ([1.0; TOGETHER], [1.0; TOGETHER], [[0.0; TOGETHER]; 2]);
        for (k, &i) in places[..count].iter().enumerate() {
            (a[k], b[k]) = (self.a[i], self.b[i]);
        }
        vectored(Constants::<BETA> { a: &a, b: &b, count, out: &mut out });
        for (k, &i) in places[..count].iter().enumerate() {
            (self.constants[0][i], self.constants[1][i]) = (out[0][k], out[1][k]);
        }
    }
}

/// Densities at some points: parameters and point of each, `constant` of the parameters, and `rare` for all others than
/// those that `is_common` holds for.
fn densities<const BETA: bool>(
    at: impl Fn(usize) -> [f64; 3],
    out: &mut [f64],
    is_common: impl Fn([f64; 3]) -> bool,
    constant: impl Fn([f64; 2]) -> Double,
    rare: impl Fn([f64; 3]) -> f64,
) {
    let (mut points, mut made) = (Points::USUAL, [0.0; TOGETHER]);
    let mut last = ([f64::NAN; 2], Double(0.0, 0.0));
    for (part, out) in out.chunks_mut(TOGETHER).enumerate() {
        let (at, count) = (|i: usize| at(part * TOGETHER + i), out.len());
        let (mut left_out, are_few) = points.take::<BETA>(count, at, &is_common);
        if !are_few {
            points.make_constants::<BETA>(count);
        }
        for i in 0..if are_few { count } else { 0 } {
            let parameters = [points.a[i], points.b[i]];
            if last.0 != parameters {
                last = (parameters, constant(parameters));
            }
            (points.constants[0][i], points.constants[1][i]) = (last.1 .0, last.1 .1);
        }
        if left_out.count_ones() < count as u32 {
            vectored(Densities::<BETA> { points: &points, count, out: &mut made });
            out.copy_from_slice(&made[..count]);
        }
        while left_out != 0 {
            let i = left_out.trailing_zeros() as usize;
            out[i] = rare(at(i));
            left_out &= left_out - 1;
        }
    }
}

/// Whether a number is one that [`log`] is made for.
#[inline]
fn is_usual(x: f64) -> bool {
    const FAR: f64 = f64::from_bits((1023 + 960) << 52);
    (1.0 / FAR..FAR).contains(&x)
}

/// Whether a parameter is one that the constants are made for.
#[inline]
fn is_usual_parameter(x: f64) -> bool {
    const LEAST: f64 = f64::from_bits((1023 - 900) << 52);
    (LEAST..PLAIN).contains(&x)
}

/// [`log_gamma_density`] of as many points as there are results.
pub fn log_gamma_densities(a: &[f64], x: &[f64], out: &mut [f64]) {
    densities::<false>(
        |i| [a[i], 1.0, x[i]],
        out,
        |[a, _, x]| is_usual_parameter(a) && is_usual(x),
        |[a, _]| log_gamma_constant(a),
        |[a, _, x]| log_gamma_density(a, x),
    );
}

/// [`log_beta_density`] of as many points as there are results.
pub fn log_beta_densities(a: &[f64], b: &[f64], x: &[f64], out: &mut [f64]) {
    densities::<true>(
        |i| [a[i], b[i], x[i]],
        out,
        |[a, b, x]| is_usual_parameter(a) && is_usual_parameter(b) && is_usual(x) && x < 1.0,
        |[a, b]| log_beta_constant(a, b),
        |[a, b, x]| log_beta_density(a, b, x),
    );
}

/// A function of the logarithm of the beta function, of as many points as there are results.
fn of_logarithms(
    a: &[f64],
    b: &[f64],
    out: &mut [f64],
    of: impl Fn(Double) -> f64,
    rare: impl Fn(f64, f64) -> f64,
) {
    let mut points = Points::USUAL;
    for (part, out) in out.chunks_mut(TOGETHER).enumerate() {
        let (at, count) = (|i: usize| [a[part * TOGETHER + i], b[part * TOGETHER + i], 0.5], out.len());
        let (left_out, _) =
            points.take::<true>(count, at, |[a, b, _]| is_usual_parameter(a) && is_usual_parameter(b));
        points.make_constants::<true>(count);
        let made = &points.constants;
        for (i, out) in out.iter_mut().enumerate() {
            let [a, b, _] = at(i);
            *out = if left_out >> i & 1 == 1 { rare(a, b) } else { of(-Double(made[0][i], made[1][i])) };
        }
    }
}

/// [`lbeta`] of as many points as there are results.
pub fn lbetas(a: &[f64], b: &[f64], out: &mut [f64]) {
    of_logarithms(a, b, out, Double::value, lbeta);
}

/// [`beta`] of as many points as there are results.
pub fn betas(a: &[f64], b: &[f64], out: &mut [f64]) {
    of_logarithms(a, b, out, |log| Product { log, factor: 1.0 }.value(), beta);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of all kinds, as a generator of Lehmer's draws them.
    fn numbers() -> impl FnMut() -> f64 {
        let mut state = 1u64;
        move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let u = (state >> 11) as f64 / (1u64 << 53) as f64;
            match state >> 7 & 15 {
                0 => (u * 16.0).floor(),
                1 => 1.0 - u * 1e-9,
                2 => (-700.0 * u).exp(),
                3 => (700.0 * u).exp(),
                4 => -u,
                5 => [f64::NAN, f64::INFINITY, 0.0, 1.0, 5e-324, PLAIN, f64::MAX][(u * 7.0) as usize],
                6 => 30.0 * u,
                7 => PLAIN * u,
                8 => 0.5 * (u * 20.0).ceil(),
                _ => u,
            }
        }
    }

    #[test]
    fn densities_have_the_bits_of_those_of_one_point() {
        let mut next = numbers();
        for count in [0, 1, 7, 63, 64, 65, 20_000] {
            let [a, b, x] = [(); 3].map(|_| (0..count).map(|_| next()).collect::<Vec<f64>>());
            let mut out = vec![f64::NAN; count];
            log_gamma_densities(&a, &x, &mut out);
            for (i, y) in out.iter().enumerate() {
                let one = log_gamma_density(a[i], x[i]);
                assert_eq!(y.to_bits(), one.to_bits(), "gamma {} at {}: {y}, {one}", a[i], x[i]);
            }
            log_beta_densities(&a, &b, &x, &mut out);
            for (i, y) in out.iter().enumerate() {
                let one = log_beta_density(a[i], b[i], x[i]);
                assert_eq!(y.to_bits(), one.to_bits(), "beta {}, {} at {}: {y}, {one}", a[i], b[i], x[i]);
            }
            let functions: [(fn(f64, f64) -> f64, fn(&[f64], &[f64], &mut [f64])); 2] =
                [(lbeta, lbetas), (beta, betas)];
            for (one, many) in functions {
                many(&a, &b, &mut out);
                for (i, y) in out.iter().enumerate() {
                    let one = one(a[i], b[i]);
                    let is_same = y.to_bits() == one.to_bits() || y.is_nan() && one.is_nan();
                    assert!(is_same, "beta function of {}, {}: {y}, {one}", a[i], b[i]);
                }
            }
        }
    }
}
