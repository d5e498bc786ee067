//! Sums of logarithms and of logarithms of gamma functions at many points, for results that are rounded to singles.
//!
//! In doubles, in lanes. A logarithm of a gamma function has an error of at most 3 ulp, a logarithm of 1, and an operand
//! that is rounded itself changes it by at most a rounding error of what [`rounded`] adds: so the error of a sum whose
//! terms have the sizes `s` is below `2^-49 s`. Where `s` is at most [`ROOM`] times the sum it is below `2^-31` of it, and
//! the result less than 0.51 ulp of a single. What is left, terms that cancel or are no numbers, is computed by the
//! functions of doubles.

use super::beta::{beta, lbeta, lchoose};
use super::counts;
use super::incomplete_beta::log_beta_density;
use super::incomplete_gamma::log_gamma_density;
use crate::kernels::math::exp::exp;
use crate::kernels::math::gamma::positive_lgamma;
use crate::kernels::math::lanes::{Doubles, Singles, Wide, MOST_LANES};
use crate::kernels::math::log::{log, log1p};
use crate::kernels::math::vectors::{vectored, Vectored};

/// How many times its terms may be larger than a sum.
const ROOM: f64 = (1 << 18) as f64;

/// Terms are below this one.
const FAR: f64 = 1e15;

/// A sum, and the sum of the sizes of its terms; no number where the operands are out of range.
pub(super) type Sized<V> = [V; 2];

/// The sum of both.
#[inline(always)]
fn plus<V: Doubles>(x: Sized<V>, y: Sized<V>) -> Sized<V> {
    [x[0] + y[0], x[1] + y[1]]
}

/// One term.
#[inline(always)]
fn term<V: Doubles>(x: V) -> Sized<V> {
    [x, x.abs()]
}

/// The logarithm of the gamma function of a positive number, as a term.
#[inline(always)]
pub(super) fn lgamma<V: Doubles>(x: V) -> Sized<V> {
    let (is_count, bits) = counts::of_lanes(x);
    term(if V::any(!is_count) { positive_lgamma::<V, false>(x) } else { counts::lgamma(bits) })
}

/// Its negative.
#[inline(always)]
fn less<V: Doubles>(x: Sized<V>) -> Sized<V> {
    [x[0].negate(), x[1]]
}

/// The logarithm of `x^a e^-x` over what the second logarithm is of.
#[inline(always)]
pub(super) fn power_term<V: Doubles>(a: V, x: V, under: Sized<V>) -> Sized<V> {
    plus(plus(term(a * log(x)), less([x, x])), less(under))
}

/// What an operand `x` of a logarithm of a gamma function counts for where it was rounded: `x digamma(x)` is at most
/// the sizes of `lgamma(x)` and `x`.
#[inline(always)]
fn rounded<V: Doubles>(x: V) -> Sized<V> {
    [V::of(0.0), x]
}

/// A function that is such a sum.
trait Sum<const N: usize> {
    /// How many of the operands the constant part is made of, the first ones.
    const PARAMETERS: usize;
    /// Whether all operands are in range.
    fn has<V: Doubles>(x: [V; N]) -> V::Mask;
    /// The constant part.
    fn constant<V: Doubles>(x: [V; N]) -> Sized<V>;
    /// What is added to it.
    fn rest<V: Doubles>(x: [V; N]) -> Sized<V>;
    /// The result that the sum makes; NaN if that has not the digits of a single.
    #[inline(always)]
    fn result<V: Doubles>([sum, size]: Sized<V>) -> V {
        V::select(size.le(V::of(ROOM) * sum.abs()), sum, V::of(f64::NAN))
    }
    /// The function of doubles.
    fn of(x: [f64; N]) -> f64;
}

/// The function at some points; NaN where it is left to the function of doubles.
struct Sums<'s, F, const N: usize> {
    x: [&'s [f64]; N],
    out: &'s mut [f64],
    function: std::marker::PhantomData<F>,
}

impl<F: Sum<N>, const N: usize> Vectored for Sums<'_, F, N> {
    type Made = ();

    #[inline(always)]
    fn run<S: Singles<Scalar = f32>, V: Wide>(self) {
        let nan = V::of(f64::NAN);
        let (mut last, mut constant) = ([nan; N], [nan; 2]);
        for at in (0..self.out.len()).step_by(V::LANES) {
            let rest = self.out.len() - at;
            let mut x = [nan; N];
            for (x, from) in x.iter_mut().zip(self.x) {
                *x = if rest >= V::LANES {
                    V::load(&from[at..])
                } else {
                    let mut padded = [from[at]; MOST_LANES];
                    padded[..rest].copy_from_slice(&from[at..]);
                    V::load(&padded)
                };
            }
            // Parameters are the same for many elements.
            let mut is_other = false;
            for (x, last) in x[..F::PARAMETERS].iter().zip(last) {
                is_other |= V::any(!x.same(last));
            }
            if is_other {
                (last, constant) = (x, F::constant(x));
            }
            let sum = plus(constant, F::rest(x));
            let y = V::select(F::has(x) & sum[1].lt(V::of(FAR)), F::result(sum), nan);
            if rest >= V::LANES {
                y.store(&mut self.out[at..]);
            } else {
                let mut padded = [0.0; MOST_LANES];
                y.store(&mut padded);
                self.out[at..].copy_from_slice(&padded[..rest]);
            }
        }
    }
}

fn sums<F: Sum<N>, const N: usize>(x: [&[f64]; N], out: &mut [f64]) {
    vectored(Sums::<F, N> { x, out, function: std::marker::PhantomData });
    for (i, y) in out.iter_mut().enumerate() {
        if y.is_nan() {
            *y = F::of(x.map(|x| x[i]));
        }
    }
}

/// [`log_gamma_density`] of a parameter and a point.
struct GammaDensity;
impl Sum<2> for GammaDensity {
    const PARAMETERS: usize = 1;

    #[inline(always)]
    fn has<V: Doubles>([a, x]: [V; 2]) -> V::Mask {
        V::of(0.0).lt(a) & V::of(0.0).lt(x)
    }

    #[inline(always)]
    fn constant<V: Doubles>([a, _]: [V; 2]) -> Sized<V> {
        less(lgamma(a))
    }

    #[inline(always)]
    fn rest<V: Doubles>([a, x]: [V; 2]) -> Sized<V> {
        power_term(a - V::of(1.0), x, [V::of(0.0); 2])
    }

    fn of([a, x]: [f64; 2]) -> f64 {
        log_gamma_density(a, x)
    }
}

/// [`log_beta_density`] of two parameters and a point.
struct BetaDensity;
impl Sum<3> for BetaDensity {
    const PARAMETERS: usize = 2;

    #[inline(always)]
    fn has<V: Doubles>([a, b, x]: [V; 3]) -> V::Mask {
        BetaLogarithm::has([a, b]) & V::of(0.0).lt(x) & x.lt(V::of(1.0))
    }

    #[inline(always)]
    fn constant<V: Doubles>([a, b, _]: [V; 3]) -> Sized<V> {
        less(BetaLogarithm::constant([a, b]))
    }

    #[inline(always)]
    fn rest<V: Doubles>([a, b, x]: [V; 3]) -> Sized<V> {
        let one = V::of(1.0);
        beta_powers([a - one, b - one], x, [V::of(0.0); 2])
    }

    fn of([a, b, x]: [f64; 3]) -> f64 {
        log_beta_density(a, b, x)
    }
}

/// The logarithm of the beta function of positive numbers.
#[inline(always)]
pub(super) fn beta_term<V: Doubles>(a: V, b: V) -> Sized<V> {
    let sum = a + b;
    plus(plus(plus(lgamma(a), lgamma(b)), less(lgamma(sum))), rounded(sum))
}

/// The logarithm of `x^a (1 - x)^b` over what the last logarithm is of.
#[inline(always)]
pub(super) fn beta_powers<V: Doubles>([a, b]: [V; 2], x: V, under: Sized<V>) -> Sized<V> {
    plus(plus(term(a * log(x)), term(b * log1p(x.negate()))), less(under))
}

/// [`lbeta`].
struct BetaLogarithm;
impl Sum<2> for BetaLogarithm {
    const PARAMETERS: usize = 2;

    #[inline(always)]
    fn has<V: Doubles>([a, b]: [V; 2]) -> V::Mask {
        V::of(0.0).lt(a) & V::of(0.0).lt(b)
    }

    #[inline(always)]
    fn constant<V: Doubles>([a, b]: [V; 2]) -> Sized<V> {
        beta_term(a, b)
    }

    #[inline(always)]
    fn rest<V: Doubles>(_: [V; 2]) -> Sized<V> {
        [V::of(0.0); 2]
    }

    fn of([a, b]: [f64; 2]) -> f64 {
        lbeta(a, b)
    }
}

/// [`beta`]: the relative error of an exponential is the error of the sum.
struct Beta;
impl Sum<2> for Beta {
    const PARAMETERS: usize = 2;

    #[inline(always)]
    fn has<V: Doubles>(x: [V; 2]) -> V::Mask {
        BetaLogarithm::has(x)
    }

    #[inline(always)]
    fn constant<V: Doubles>(x: [V; 2]) -> Sized<V> {
        BetaLogarithm::constant(x)
    }

    #[inline(always)]
    fn rest<V: Doubles>(_: [V; 2]) -> Sized<V> {
        [V::of(0.0); 2]
    }

    #[inline(always)]
    fn result<V: Doubles>([sum, size]: Sized<V>) -> V {
        V::select(size.le(V::of(ROOM)), exp(sum), V::of(f64::NAN))
    }

    fn of([a, b]: [f64; 2]) -> f64 {
        beta(a, b)
    }
}

/// [`lchoose`].
struct ChooseLogarithm;

impl ChooseLogarithm {
    /// The operands of the three gamma functions.
    #[inline(always)]
    fn operands<V: Doubles>([n, k]: [V; 2]) -> [V; 3] {
        let one = V::of(1.0);
        // Larger ones are out of range.
        let (k, _) = k.min(V::of(FAR)).whole();
        [n + one, k + one, (n - k) + one]
    }
}

impl Sum<2> for ChooseLogarithm {
    const PARAMETERS: usize = 2;

    #[inline(always)]
    fn has<V: Doubles>(x: [V; 2]) -> V::Mask {
        // Below a half what is left of `n - k` has not the digits of `n`.
        let (zero, [_, k, rest]) = (V::of(0.0), Self::operands(x));
        zero.le(x[0]) & zero.lt(k) & V::of(0.5).le(rest) & x[1].le(V::of(FAR))
    }

    #[inline(always)]
    fn constant<V: Doubles>(x: [V; 2]) -> Sized<V> {
        let [n, k, rest] = Self::operands(x);
        plus(plus(lgamma(n), less(plus(lgamma(k), lgamma(rest)))), rounded(n + k + rest))
    }

    #[inline(always)]
    fn rest<V: Doubles>(_: [V; 2]) -> Sized<V> {
        [V::of(0.0); 2]
    }

    fn of([n, k]: [f64; 2]) -> f64 {
        lchoose(n, k)
    }
}

/// [`log_gamma_density`] of as many points as there are results.
pub fn log_gamma_densities_single(a: &[f64], x: &[f64], out: &mut [f64]) {
    sums::<GammaDensity, 2>([a, x], out);
}

/// [`log_beta_density`] of as many points as there are results.
pub fn log_beta_densities_single(a: &[f64], b: &[f64], x: &[f64], out: &mut [f64]) {
    sums::<BetaDensity, 3>([a, b, x], out);
}

/// [`lbeta`] of as many points as there are results.
pub fn lbetas_single(a: &[f64], b: &[f64], out: &mut [f64]) {
    sums::<BetaLogarithm, 2>([a, b], out);
}

/// [`beta`] of as many points as there are results.
pub fn betas_single(a: &[f64], b: &[f64], out: &mut [f64]) {
    sums::<Beta, 2>([a, b], out);
}

/// [`lchoose`] of as many points as there are results.
pub fn lchooses_single(n: &[f64], k: &[f64], out: &mut [f64]) {
    sums::<ChooseLogarithm, 2>([n, k], out);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of all kinds: ends, small and large ones, whole ones and others.
    fn numbers() -> Vec<f64> {
        let ends = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -2.5, 5e-324, f64::MAX];
        let far = (-40..40).map(|i| 10f64.powi(i) * 1.25);
        let near = (0..40).flat_map(|i| {
            let i = f64::from(i);
            [i, i / 4.0, i / 40.0, 1.0 + 1e-4 * i, 2.0 - 1e-9 * i, 1.0 + 7.3 * i, 60.0 * i * i + 0.5]
        });
        ends.into_iter().chain(far).chain(near).collect()
    }

    fn check<const N: usize>(
        points: &[[f64; N]],
        many: impl Fn([&[f64]; N], &mut [f64]),
        one: impl Fn([f64; N]) -> f64,
    ) {
        let columns: [Vec<f64>; N] = std::array::from_fn(|k| points.iter().map(|x| x[k]).collect());
        let at = |first: usize, last: usize| std::array::from_fn(|k| &columns[k][first..last]);
        let mut out = vec![0.0; points.len()];
        many(at(0, points.len()), &mut out);
        for (i, &got) in out.iter().enumerate() {
            let want = one(points[i]);
            let is_near = (got - want).abs() <= 2f64.powi(-31) * want.abs() + 1e-300;
            let is_same = got == want || got.is_nan() && want.is_nan();
            assert!(is_same || is_near, "{:?}: {got} is not {want}", points[i]);
            // Whatever the neighbours are.
            let mut alone = [0.0];
            many(at(i, i + 1), &mut alone);
            assert!(alone[0].to_bits() == got.to_bits() || got.is_nan(), "{:?}", points[i]);
        }
    }

    #[test]
    fn sums_are_the_functions_to_singles() {
        let numbers = numbers();
        let pairs: Vec<[f64; 2]> =
            numbers.iter().flat_map(|&x| numbers.iter().map(move |&y| [x, y])).collect();
        check(&pairs, |[a, b], out| lbetas_single(a, b, out), |[a, b]| lbeta(a, b));
        check(&pairs, |[a, b], out| betas_single(a, b, out), |[a, b]| beta(a, b));
        check(&pairs, |[n, k], out| lchooses_single(n, k, out), |[n, k]| lchoose(n, k));
        check(&pairs, |[a, x], out| log_gamma_densities_single(a, x, out), |[a, x]| log_gamma_density(a, x));
        // The density of many points, and of points whose parameters change with each.
        let points = [0.0, 1e-30, 1e-5, 0.3, 0.5, 0.75, 0.9999, 1.0 - 1e-12, 1.0, 1.5, f64::NAN];
        let some = pairs.iter().step_by(7);
        let by_parameters = some.clone().flat_map(|&[a, b]| points.iter().map(move |&x| [a, b, x]));
        let by_points = points.iter().flat_map(|&x| some.clone().map(move |&[a, b]| [a, b, x]));
        let triples: Vec<[f64; 3]> = by_parameters.chain(by_points).collect();
        check(
            &triples,
            |[a, b, x], out| log_beta_densities_single(a, b, x, out),
            |[a, b, x]| log_beta_density(a, b, x),
        );
    }
}
