//! Logarithms of densities and of beta functions of many points at once, in numbers of twice the digits in lanes. The bits
//! are those of the functions of one point.

use super::beta::{beta, lbeta};
use super::counts;
use super::double::{fractions, Double, HALF_LOG_2_PI};
use super::incomplete_beta::{log_beta_constant, log_beta_density};
use super::incomplete_gamma::{log_gamma_constant, log_gamma_constants, log_gamma_density};
use super::memo::Memo;
use super::parts::{Product, FAR, PLAIN};
use super::twice::{all, log, negate, plain, plus, select, times, total, value, Twice};
use crate::kernels::math::gamma::gamma;
use crate::kernels::math::gamma_coefficients::STIRLING;
use crate::kernels::math::lanes::{two_sum, Doubles, Singles, Wide, MOST_LANES};
use crate::kernels::math::log::log as log_of_double;
use crate::kernels::math::vectors::{vectored, Vectored};

/// Points that are computed together: a whole number of vectors.
pub const TOGETHER: usize = 64;

/// Numbers up to this one, from its reciprocal on, are such as [`log`] is made for.
const FAR_NUMBER: f64 = f64::from_bits((1023 + 960) << 52);

/// Parameters from this one on are such as the constants are made for.
const LEAST_PARAMETER: f64 = f64::from_bits((1023 - 900) << 52);

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
    /// 1 where a point is rare, else 0.
    rare: [f64; TOGETHER],
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

/// What the constants of points are taken from.
#[derive(Clone, Copy)]
enum Given {
    /// All points have the parameters of the first one.
    One(Double),
    /// The parameters are counts, whose constants are in a table.
    Counts,
    /// Those of each point.
    Each,
}

/// Their densities, of gamma variables, or of beta variables where `BETA`.
struct Densities<'p, const BETA: bool> {
    points: &'p Points,
    given: Given,
    count: usize,
    out: &'p mut [f64; TOGETHER],
}

impl<const BETA: bool> Vectored for Densities<'_, BETA> {
    type Made = ();

    #[inline(always)]
    fn run<S: Singles<Scalar = f32>, D: Wide>(self) {
        let (fractions, of_counts, points) = (fractions(), log_gamma_constants(), self.points);
        for at in (0..self.count).step_by(D::LANES) {
            let (a, x) = (D::load(&points.a[at..]), D::load(&points.x[at..]));
            let constant = match self.given {
                Given::One(constant) => all(constant),
                Given::Counts if BETA => log_beta_constants(a, D::load(&points.b[at..])),
                Given::Counts => counts::values(of_counts, counts::of_lanes(a).1),
                Given::Each => (D::load(&points.constants[0][at..]), D::load(&points.constants[1][at..])),
            };
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

/// What is known of some points.
struct Seen {
    any_rare: bool,
    /// Whether all parameters are those of the first point.
    are_one: bool,
    are_counts: bool,
    /// Whether each parameter is a count or that of the first point: then there are few constants.
    are_few: bool,
}

/// Looks at points, and replaces those that are rare.
struct Look<'p, const BETA: bool> {
    points: &'p mut Points,
    count: usize,
    has_points: bool,
}

/// Whether numbers are such as [`log`] is made for.
#[inline(always)]
fn are_usual<V: Doubles>(x: V) -> V::Mask {
    V::of(1.0 / FAR_NUMBER).le(x) & x.lt(V::of(FAR_NUMBER))
}

/// Whether parameters are such as the constants are made for.
#[inline(always)]
fn are_usual_parameters<V: Doubles>(x: V) -> V::Mask {
    V::of(LEAST_PARAMETER).le(x) & x.lt(V::of(PLAIN))
}

impl<const BETA: bool> Vectored for Look<'_, BETA> {
    type Made = Seen;

    #[inline(always)]
    fn run<S: Singles<Scalar = f32>, D: Wide>(self) -> Seen {
        let Look { points, count, has_points } = self;
        let (one, zero, first) = (D::of(1.0), D::of(0.0), (D::of(points.a[0]), D::of(points.b[0])));
        let mut seen = Seen { any_rare: false, are_one: true, are_counts: true, are_few: true };
        for at in (0..count).step_by(D::LANES) {
            let (a, b, x) = (D::load(&points.a[at..]), D::load(&points.b[at..]), D::load(&points.x[at..]));
            let (of_a, of_b) = (counts::of_lanes(a).0, counts::of_lanes(b).0);
            let (mut is_one, mut are_counts) = (a.same(first.0), of_a);
            let mut are_few = is_one | of_a;
            let mut is_usual = are_usual_parameters(a);
            if BETA {
                let is_first = b.same(first.1);
                (is_one, are_counts) = (is_one & is_first, are_counts & of_b);
                are_few = are_few & (is_first | of_b);
                is_usual = is_usual & are_usual_parameters(b);
            }
            if has_points {
                is_usual = is_usual & are_usual(x);
                if BETA {
                    is_usual = is_usual & x.lt(one);
                }
            }
            seen.are_one &= !D::any(!is_one);
            seen.are_counts &= !D::any(!are_counts);
            seen.are_few &= !D::any(!are_few);
            let any_rare = D::any(!is_usual);
            seen.any_rare |= any_rare;
            D::select(is_usual, zero, one).store(&mut points.rare[at..]);
            if any_rare {
                D::select(is_usual, a, one).store(&mut points.a[at..]);
                D::select(is_usual, b, one).store(&mut points.b[at..]);
                D::select(is_usual, x, D::of(0.5)).store(&mut points.x[at..]);
            }
        }
        seen
    }
}

/// What [`log_beta_constant`] gives for pairs of counts.
#[inline(always)]
fn log_beta_constants<V: Doubles>(a: V, b: V) -> Twice<V> {
    static PAIRS: counts::Pairs = counts::Pairs::new();
    PAIRS.values([counts::of_lanes(a).1, counts::of_lanes(b).1], log_beta_constant)
}

impl Points {
    const USUAL: Points = Points {
        a: [1.0; TOGETHER],
        b: [1.0; TOGETHER],
        x: [0.5; TOGETHER],
        rare: [0.0; TOGETHER],
        constants: [[0.0; TOGETHER]; 2],
    };

    /// Takes parameters, both of them where `BETA`, and points if there are any. What is left of the last vector has the
    /// numbers of the first point.
    fn take<const BETA: bool>(&mut self, a: &[f64], b: &[f64], x: Option<&[f64]>) -> Seen {
        let fill = |to: &mut [f64; TOGETHER], from: &[f64]| {
            to[..from.len()].copy_from_slice(from);
            let end = from.len().next_multiple_of(MOST_LANES).min(TOGETHER);
            to[from.len()..end].fill(from[0]);
        };
        fill(&mut self.a, a);
        if BETA {
            fill(&mut self.b, b);
        }
        if let Some(x) = x {
            fill(&mut self.x, x);
        }
        vectored(Look::<BETA> { points: self, count: a.len(), has_points: x.is_some() })
    }

    /// Calls a function with the place of each point that is rare.
    fn each_rare(&self, seen: &Seen, count: usize, mut rare: impl FnMut(usize)) {
        if seen.any_rare {
            (0..count).filter(|&i| self.rare[i] != 0.0).for_each(&mut rare);
        }
    }

    /// Takes the constants one by one from those that are kept.
    fn find_constants(&mut self, count: usize, constant: impl Fn(f64, f64) -> Double) {
        for i in 0..count {
            let Double(high, low) = constant(self.a[i], self.b[i]);
            (self.constants[0][i], self.constants[1][i]) = (high, low);
        }
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

/// The constant of some parameters.
fn constant<const BETA: bool>(a: f64, b: f64) -> Double {
    let (mut of_a, mut of_b, mut out) = ([1.0; TOGETHER], [1.0; TOGETHER], [[0.0; TOGETHER]; 2]);
    (of_a[0], of_b[0]) = (a, b);
    vectored(Constants::<BETA> { a: &of_a, b: &of_b, count: 1, out: &mut out });
    Double(out[0][0], out[1][0])
}

/// Densities at some points: parameters, both of them where `BETA`, and points; `one_by_one` gives the constants of
/// parameters of which there are few, from what is kept of them, and `rare` the densities at points that are not usual.
fn densities<const BETA: bool>(
    [a, b, x]: [&[f64]; 3],
    out: &mut [f64],
    one_by_one: impl Fn(f64, f64) -> Double,
    rare: impl Fn(usize) -> f64,
) {
    // Parameters of all points are often those of the call before.
    thread_local!(static CONSTANTS: [Memo<Double>; 2] = const { [Memo::new(), Memo::new()] });
    let (mut points, mut made) = (Points::USUAL, [0.0; TOGETHER]);
    for (part, out) in out.chunks_mut(TOGETHER).enumerate() {
        let (start, count) = (part * TOGETHER, out.len());
        let (a, b) = (&a[start..][..count], if BETA { &b[start..][..count] } else { a });
        let seen = points.take::<BETA>(a, b, Some(&x[start..][..count]));
        let usual = LEAST_PARAMETER..PLAIN;
        let given = if seen.are_one && usual.contains(&a[0]) && (!BETA || usual.contains(&b[0])) {
            let make = |constants: &[Memo<Double>; 2]| {
                constants[usize::from(BETA)].get(a[0], if BETA { b[0] } else { 1.0 }, constant::<BETA>)
            };
            Given::One(CONSTANTS.with(make))
        } else if seen.are_counts {
            Given::Counts
        } else {
            match seen.are_few {
                true => points.find_constants(count, &one_by_one),
                false => points.make_constants::<BETA>(count),
            }
            Given::Each
        };
        vectored(Densities::<BETA> { points: &points, given, count, out: &mut made });
        out.copy_from_slice(&made[..count]);
        points.each_rare(&seen, count, |i| out[i] = rare(start + i));
    }
}

/// [`log_gamma_density`] of as many points as there are results.
pub fn log_gamma_densities(a: &[f64], x: &[f64], out: &mut [f64]) {
    densities::<false>([a, &[], x], out, |a, _| log_gamma_constant(a), |i| log_gamma_density(a[i], x[i]));
}

/// [`log_beta_density`] of as many points as there are results.
pub fn log_beta_densities(a: &[f64], b: &[f64], x: &[f64], out: &mut [f64]) {
    densities::<true>([a, b, x], out, log_beta_constant, |i| log_beta_density(a[i], b[i], x[i]));
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
        let (start, count) = (part * TOGETHER, out.len());
        let seen = points.take::<true>(&a[start..][..count], &b[start..][..count], None);
        points.make_constants::<true>(count);
        let made = &points.constants;
        for (i, out) in out.iter_mut().enumerate() {
            *out = of(-Double(made[0][i], made[1][i]));
        }
        points.each_rare(&seen, count, |i| out[i] = rare(a[start + i], b[start + i]));
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
        // Parameters of all kinds, one for all, counts, and counts with some others.
        let kinds: [fn(usize, f64, f64) -> f64; 5] = [
            |_, _, x| x,
            |_, first, _| first,
            |i, _, x| ((x.abs() * 40.0).floor() + (i % 5) as f64).clamp(1.0, 256.0),
            |i, _, x| if i % 19 == 3 { x } else { (i % 130 + 1) as f64 },
            |i, first, _| if i % 3 == 0 { (i % 130 + 1) as f64 } else { first },
        ];
        for (count, kind) in
            [0, 1, 7, 63, 64, 65, 1200, 20_000].into_iter().flat_map(|n| kinds.map(|k| (n, k)))
        {
            let [mut a, mut b, x] = [(); 3].map(|_| (0..count).map(|_| next()).collect::<Vec<f64>>());
            for of in [&mut a, &mut b] {
                let first = of.first().copied().unwrap_or(f64::NAN);
                of.iter_mut().enumerate().for_each(|(i, x)| *x = kind(i, first, *x));
            }
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
