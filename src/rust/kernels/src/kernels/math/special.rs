//! Derivatives of the gamma function's logarithm, of doubles.
//!
//! Single-precision callers compute in `f64` and round once, which is the correctly rounded result but for
//! near ties. The error bound is in ulp (units in the last place of the result, against the reference value
//! rounded to a double); the tests hold it, and what vectorised functions ([`math`](super)) promise, to
//! values from mpmath in `tests/testdata/special`. Knows nothing of tensors or ops.

mod bessel;
mod bessel_first;
mod bessel_many;
mod bessel_second;
mod beta;
mod counts;
mod densities;
mod double;
mod incomplete_beta;
mod incomplete_gamma;
mod integrals;
mod inverse;
mod lambert;
mod memo;
mod parts;
mod quadrature;
mod single_beta;
mod single_gamma;
mod single_sums;
mod sums;
mod twice;
mod zeta;

use super::{single, DIGAMMA, LGAMMA};
use std::sync::OnceLock;

pub use bessel::{bessel_i, bessel_j, bessel_k, bessel_y};
pub use bessel_many::{bessels_i, bessels_ie};
pub use beta::{beta, choose, lbeta, lchoose};
pub use densities::{betas, lbetas, log_beta_densities, log_gamma_densities, TOGETHER};
pub use incomplete_beta::{betainc, betaincinv, log_beta_density, log_betainc_slopes};
pub use incomplete_gamma::{gammainc, gammaincinv, log_gamma_density, log_gammainc_da};
pub use integrals::{expi, expint, owens_t};
pub use lambert::lambert_w;
pub use single_beta::{betainccs_single, betaincs_single};
pub use single_gamma::{gammainccs_single, gammaincs_single};
pub use single_sums::{
    betas_single, lbetas_single, lchooses_single, log_beta_densities_single, log_gamma_densities_single,
};
pub use zeta::zeta;

/// Coefficients, for formulas in which the same functions leave for other compilers; constant first.
pub mod tables {
    use crate::kernels::math::{gamma_coefficients as g, special_coefficients as c};
    /// `gamma(2 + s)` for `|s| <= 1/2`.
    pub const GAMMA: [f64; 20] = g::GAMMA;
    /// `x (lgamma(x) - (x - 1/2) log(x) + x - log(2 pi)/2)` in powers of `x^-2` for `x >= 8`.
    pub const STIRLING: [f64; 8] = g::STIRLING;
    /// `lgamma(1 + s) / s` for `-1/4 <= s <= 1/2`.
    pub const LGAMMA_ONE: [f64; 21] = c::LGAMMA_ONE;
    /// `(1 + 2 x) e^(x^2) erfc(x)` in powers of `(x - 4) / (x + 4)` for `0 <= x <= 28`.
    pub const ERFC: [f64; 23] = c::ERFC;
    /// `erf(x) / x - 1` in powers of `x^2` for `|x| <= 1`.
    pub const ERF: [f64; 14] = c::ERF;
    /// `erf_inv(x) / x` in powers of `w - 2.5` for `w = -log(1 - x^2)` up to 5.
    pub const ERF_INV: [f64; 22] = c::ERF_INV;
    /// The same in powers of `r - 3.1` for the root `r` of that `w` up to 3.75.
    pub const ERF_INV_FAR: [f64; 21] = c::ERF_INV_FAR;
    /// The same in powers of `r - 5` from 3.75 on.
    pub const ERF_INV_END: [f64; 21] = c::ERF_INV_END;
    /// `erf_inv(1 - 2 p)` in powers of `r - 9` for the root `r` of `-log(4 p (1 - p))` from 6 to 12.
    pub const PROBIT_FAR: [f64; 20] = g::PROBIT_FAR;
    /// The same in powers of `r - 18` from 12 on.
    pub const PROBIT_END: [f64; 22] = g::PROBIT_END;
    pub use super::bessel_second::INVERSE_GAMMA;
    pub use super::lambert::BRANCH_POINT;
    pub use super::EULER_MACLAURIN;
}

/// Derivative of order `n` of `digamma(x)`; `n` is a whole number, not negative, and 0 gives `digamma(x)`
/// itself.
///
/// Poles, at 0 and the negative whole numbers: Inf for odd `n`, where both sides agree, and NaN for even `n`,
/// where they do not. At Inf 0, with the sign it has on the way; at -Inf NaN; NaN for any other `n`.
///
/// At most 8 ulp (5 measured) for `1 <= n <= 170` if `x > 0` or `n` is odd. For even `n` and `x < 0` the
/// function has zeros, and the bound is 8 ulp of `n! / d^(n + 1)`, the term of the nearest pole, at distance
/// `d`. For `n > 170`, where `n!` is no double, powers go through logarithms, and the relative error is about
/// `n log(n) / 2^53`.
///
/// # Sources
/// DLMF 5.15.1 and 25.11.1: `(-1)^(n + 1) n! zeta(n + 1, x)`, with the zeta function of Hurwitz by
/// Euler-Maclaurin summation, DLMF 25.11.5 and 2.10.1. For `x < 0` the sum over `k >= 0` is the sum over all
/// whole `k` less that over the negative ones, which makes three zeta functions of positive arguments.
pub fn polygamma(n: f64, x: f64) -> f64 {
    let odd = n % 2.0 == 1.0;
    if n.is_nan() || n < 0.0 || n.trunc() != n || n.is_infinite() || x.is_nan() || x == f64::NEG_INFINITY {
        return f64::NAN;
    }
    if n == 0.0 {
        return single(&DIGAMMA, x);
    }
    let sign = if odd { 1.0 } else { -1.0 };
    if x == f64::INFINITY {
        return sign * 0.0;
    }
    if n <= LOW_ORDERS as f64 && (1e-50..1e50).contains(&x) {
        return sign * low_order(n as usize, x);
    }
    let from_pole = x - x.round();
    if x <= 0.0 && from_pole == 0.0 {
        return if odd { f64::INFINITY } else { f64::NAN };
    }
    let zeta = if x > 0.0 {
        hurwitz_zeta(n, x, 0.0)
    } else {
        let d = from_pole.abs();
        let (far, rest) = two_sum(1.0, -d);
        let (near, far) = (hurwitz_zeta(n, d, 0.0), hurwitz_zeta(n, far, rest));
        let (past, rest) = two_sum(1.0, -x);
        let past = hurwitz_zeta(n, past, rest);
        // Poles on the other side of x count with the sign of (-1)^(n + 1).
        let mirrored = if from_pole > 0.0 { near.plus(far.times(sign)) } else { far.plus(near.times(sign)) };
        mirrored.plus(past.times(-sign))
    };
    let factorial = factorial(n);
    let exponent = (zeta.exponent + factorial.exponent).clamp(-5000.0, 5000.0);
    libm::scalbn(sign * zeta.value * factorial.value, exponent as i32)
}

/// Bernoulli numbers over factorials, `B_2k / (2k)!`, k from 1.
pub const EULER_MACLAURIN: [f64; 16] = [
    0.08333333333333333,
    -0.001388888888888889,
    3.306878306878307e-05,
    -8.267195767195768e-07,
    2.08767569878681e-08,
    -5.284190138687493e-10,
    1.3382536530684679e-11,
    -3.3896802963225827e-13,
    8.586062056277845e-15,
    -2.174868698558062e-16,
    5.5090028283602295e-18,
    -1.3954464685812522e-19,
    3.534707039629467e-21,
    -8.953517427037546e-23,
    2.267952452337683e-24,
    -5.744790668872202e-26,
];

/// Orders of [`low_order()`].
const LOW_ORDERS: usize = 3;

/// Coefficients of `x^n` times the rest of the sum of [`low_order()`] from `x` on, but for `1 / n + 1 / (2 x)`, in
/// powers of `x^-2` from the first: DLMF 25.11.5 with `s = n + 1`. For `x >= 9` the next one is below 2^-55.
const LOW_ORDER: [[f64; 10]; LOW_ORDERS] = {
    let mut all = [[0.0; 10]; LOW_ORDERS];
    let mut n = 1;
    while n <= LOW_ORDERS {
        let (mut j, mut rising, mut factors) = (0, 1 + n, (1 + n) as f64);
        while j < 10 {
            all[n - 1][j] = EULER_MACLAURIN[j] * factors;
            factors *= ((rising + 1) * (rising + 2)) as f64;
            rising += 2;
            j += 1;
        }
        n += 1;
    }
    all
};

/// `n!` times the sum of `(x + k)^-(n + 1)` over `k >= 0`, of an order whose powers are few products: the terms up to
/// `x + k = 10 + n`, the rest by Euler-Maclaurin.
fn low_order(n: usize, x: f64) -> f64 {
    let power = |base: f64, n: usize| {
        let h = 1.0 / base;
        match n {
            1 => h,
            2 => h * h,
            3 => h * h * h,
            _ => (h * h) * (h * h),
        }
    };
    let steps = ((10 + n) as f64 - x).ceil().max(0.0);
    let start = x + steps;
    let h = 1.0 / start;
    let tail = LOW_ORDER[n - 1].iter().rev().fold(0.0, |sum, c| (sum + c) * (h * h));
    let mut total = power(start, n) * (1.0 / n as f64 + (0.5 * h + tail));
    // From the smallest term up, for the least rounding.
    for k in (0..steps as usize).rev() {
        total += power(x + k as f64, n + 1);
    }
    [1.0, 2.0, 6.0][n - 1] * total
}

/// `value * 2^exponent`, for products whose factors leave the range of a double before the product does.
#[derive(Clone, Copy)]
struct Scaled {
    value: f64,
    exponent: f64,
}

impl Scaled {
    /// 2 to the power `log2`.
    fn exp2(log2: f64) -> Scaled {
        Scaled { value: libm::exp2(log2 - log2.floor()), exponent: log2.floor() }
    }

    fn times(self, factor: f64) -> Scaled {
        Scaled { value: self.value * factor, ..self }
    }

    fn plus(self, other: Scaled) -> Scaled {
        let (high, low) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        let shift = (low.exponent - high.exponent).max(-5000.0);
        Scaled { value: high.value + libm::scalbn(low.value, shift as i32), exponent: high.exponent }
    }
}

/// Zeta function of Hurwitz, the sum of `(x + k)^-(n + 1)` over `k >= 0`, at `x = high + low > 0` for whole
/// `n >= 1`.
///
/// Terms up to `x + k = 0.75 n + 9` are added one by one, the rest is Euler-Maclaurin. A power magnifies the
/// relative error of its base `n` times, so each base carries its rounding error.
fn hurwitz_zeta(n: f64, high: f64, low: f64) -> Scaled {
    let s = n + 1.0;
    // Bases are in units of `unit`, so that no power overflows; `step` is 1 in these units.
    let (base, step, unit) = if n <= LARGEST_FACTORIAL {
        let (mantissa, exponent) = libm::frexp(high);
        if exponent < -60 {
            // The first term is all there is: the next is 2^-120 of it, or less.
            let value = libm::pow(mantissa, -s) * (1.0 - s * low / high);
            return Scaled { value, exponent: -s * f64::from(exponent) };
        }
        let unit = Scaled { value: 1.0, exponent: -n * f64::from(exponent) };
        (mantissa, libm::scalbn(1.0, -exponent), unit)
    } else {
        (1.0, 1.0 / high, Scaled::exp2(-n * libm::log2(high)))
    };
    let at = |k: f64| {
        let (sum, lost) = two_sum(base, k * step);
        (sum, lost + low * step)
    };
    let power = |(sum, lost): (f64, f64), e: f64| {
        let main = if n <= LARGEST_FACTORIAL { libm::pow(sum, -e) } else { libm::exp(-e * libm::log(sum)) };
        main * (1.0 - e * lost / sum)
    };

    let enough = (0.75 * n + 9.0 - high).ceil().max(0.0);
    // Terms beyond this one are below 2^-60 of the first.
    let negligible = (high * libm::expm1(60.0 * std::f64::consts::LN_2 / s)).ceil().max(1.0);
    let mut total = 0.0;
    if enough <= negligible {
        let start = at(enough);
        let h = step / start.0;
        let mut term = s * h * h;
        let mut series = 1.0 / n + h / 2.0;
        for (j, coefficient) in EULER_MACLAURIN.iter().enumerate() {
            series += coefficient * term;
            let rising = s + 2.0 * j as f64;
            term *= ((rising + 1.0) * h) * ((rising + 2.0) * h);
        }
        total = power(start, n) * series;
    }
    // From the smallest term up, for the least rounding.
    let mut k = enough.min(negligible);
    while k > 0.0 {
        k -= 1.0;
        total += step * power(at(k), s);
    }
    unit.times(total)
}

const LARGEST_FACTORIAL: f64 = 170.0;

/// `n!` for a whole `n >= 0`; correctly rounded up to 170.
fn factorial(n: f64) -> Scaled {
    static TABLE: OnceLock<[f64; 171]> = OnceLock::new();
    if n > LARGEST_FACTORIAL {
        return Scaled::exp2(single(&LGAMMA, n + 1.0) * std::f64::consts::LOG2_E);
    }
    let table = TABLE.get_or_init(|| {
        let mut table = [1.0; 171];
        // As an unevaluated sum of two doubles, exact to 2^-100.
        let (mut high, mut low) = (1f64, 0f64);
        for (k, entry) in table.iter_mut().enumerate().skip(1) {
            let k = k as f64;
            let product = high * k;
            let error = libm::fma(high, k, -product);
            (high, low) = two_sum(product, error + low * k);
            *entry = high;
        }
        table
    });
    let (value, exponent) = libm::frexp(table[n as usize]);
    Scaled { value, exponent: f64::from(exponent) }
}

/// The rounded sum and its rounding error (two-sum, Knuth).
#[inline]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_kept = sum - a;
    (sum, (a - (sum - b_kept)) + (b - b_kept))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::math::{ERF, ERFC, ERF_INV, LOGISTIC};

    /// The rows of a reference file, after its two lines of header.
    fn reference(name: &str) -> Vec<Vec<f64>> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/testdata/special/");
        let text =
            std::fs::read_to_string(format!("{folder}{name}.csv")).expect("reference values are committed");
        let number = |cell: &str| cell.parse::<f64>().expect("a number");
        let rows: Vec<Vec<f64>> =
            text.lines().skip(2).map(|line| line.split(',').map(number).collect()).collect();
        assert!(rows.len() >= 100, "{name}");
        rows
    }

    #[test]
    fn bits_are_the_same_on_every_system() {
        let values = (1..60).flat_map(|n| {
            (1..400).map(move |i| polygamma(f64::from(n * n / 8 + 1), f64::from(i) * 0.11 - 12.3))
        });
        let mix = |hash: u64, x: f64| (hash.rotate_left(5) ^ x.to_bits()).wrapping_mul(0x517c_c1b7_2722_0a95);
        assert_eq!(values.fold(0, mix), 0xeb0ee254a761d396);
    }

    /// Distance in units in the last place of `want`, or of `scale` where that is larger.
    fn ulps(got: f64, want: f64, scale: f64) -> f64 {
        if got == want || (got.is_nan() && want.is_nan()) {
            return 0.0;
        }
        let size = want.abs().max(scale);
        let ulp = (f64::from_bits(size.to_bits() + 1) - size).max(f64::from_bits(1));
        if ulp.is_finite() {
            (got - want).abs() / ulp
        } else {
            f64::INFINITY
        }
    }

    /// Holds a function to its bound over a file whose last column is the value; tells the worst point.
    fn check(name: &str, bound: f64, f: impl Fn(&[f64]) -> f64, scale: impl Fn(&[f64]) -> f64) {
        let mut worst = (0.0, String::new());
        for row in reference(name) {
            let (want, arguments) = row.split_last().expect("a value");
            let got = f(arguments);
            let error = ulps(got, *want, scale(arguments));
            if error > worst.0 || error.is_nan() {
                worst = (error, format!("{name}{arguments:?} is {got:e}, not {want:e}"));
            }
        }
        assert!(worst.0 <= bound, "{} ulp: {}", worst.0, worst.1);
    }

    fn logistic(x: f64) -> f64 {
        single(&LOGISTIC, x)
    }

    fn erf(x: f64) -> f64 {
        single(&ERF, x)
    }

    fn erf_inv(x: f64) -> f64 {
        single(&ERF_INV, x)
    }

    fn lgamma(x: f64) -> f64 {
        single(&LGAMMA, x)
    }

    fn digamma(x: f64) -> f64 {
        single(&DIGAMMA, x)
    }

    const RELATIVE: fn(&[f64]) -> f64 = |_| 0.0;

    #[test]
    fn error_functions_against_mpmath() {
        check("erf", 1.0, |x| erf(x[0]), RELATIVE);
        check("erfc", 4.0, |x| single(&ERFC, x[0]), RELATIVE);
        check("erf_inv", 3.0, |x| erf_inv(x[0]), RELATIVE);
        check("logistic", 2.0, |x| logistic(x[0]), RELATIVE);
    }

    #[test]
    fn gamma_family_against_mpmath() {
        check(
            "lgamma",
            3.0,
            |x| lgamma(x[0]),
            |x| if x[0] < 0.0 { lgamma(1.0 - x[0]).max(1.0) } else { 0.0 },
        );
        let scale = |x: &[f64]| if x[0] < 0.0 { digamma(1.0 - x[0]).abs().max(1.0) } else { 0.0 };
        check("digamma", 4.0, |x| digamma(x[0]), scale);
        let nearest_pole = |x: &[f64]| {
            if x[1] > 0.0 || x[0] % 2.0 == 1.0 {
                return 0.0;
            }
            let factorial = factorial(x[0]);
            let d = (x[1] - x[1].round()).abs();
            (factorial.value * d.powf(-x[0] - 1.0) * factorial.exponent.exp2()).min(1e308)
        };
        check("polygamma", 8.0, |x| polygamma(x[0], x[1]), nearest_pole);
    }

    #[test]
    fn specials() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        const MAX: f64 = f64::MAX;
        type Case = (&'static str, f64, f64);
        let cases: &[Case] = &[
            ("polygamma(0, 2)", polygamma(0.0, 2.0), digamma(2.0)),
            ("polygamma(-0, 2)", polygamma(-0.0, 2.0), digamma(2.0)),
            ("polygamma(1, 0)", polygamma(1.0, 0.0), inf),
            ("polygamma(2, 0)", polygamma(2.0, 0.0), nan),
            ("polygamma(3, -4)", polygamma(3.0, -4.0), inf),
            ("polygamma(4, -4)", polygamma(4.0, -4.0), nan),
            ("polygamma(1, -1e300)", polygamma(1.0, -1e300), inf),
            ("polygamma(1.5, 2)", polygamma(1.5, 2.0), nan),
            ("polygamma(-1, 2)", polygamma(-1.0, 2.0), nan),
            ("polygamma(inf, 2)", polygamma(inf, 2.0), nan),
            ("polygamma(nan, 2)", polygamma(nan, 2.0), nan),
            ("polygamma(1, nan)", polygamma(1.0, nan), nan),
            ("polygamma(1, inf)", polygamma(1.0, inf), 0.0),
            ("polygamma(1, -inf)", polygamma(1.0, -inf), nan),
            ("polygamma(2, 1e-200)", polygamma(2.0, 1e-200), -inf),
            ("polygamma(1, min subnormal)", polygamma(1.0, f64::from_bits(1)), inf),
            ("polygamma(1, max)", polygamma(1.0, MAX), 1.0 / MAX),
            ("polygamma(170, max)", polygamma(170.0, MAX), -0.0),
            ("polygamma(1e300, 1e300)", polygamma(1e300, 1e300), -0.0),
            ("polygamma(1e9, 0.5)", polygamma(1e9, 0.5), -inf),
        ];
        for (name, got, want) in cases {
            let same_zero = *want != 0.0 || got.is_sign_negative() == want.is_sign_negative();
            assert!(
                (got == want && same_zero) || (got.is_nan() && want.is_nan()),
                "{name} is {got:e}, not {want:e}"
            );
        }
    }

    #[test]
    fn functions_that_are_odd_or_mirrored() {
        for i in 1..2000 {
            let x = f64::from(i) / 2000.0;
            assert_eq!(erf_inv(-x), -erf_inv(x));
            assert!((logistic(x) + logistic(-x) - 1.0).abs() <= f64::EPSILON);
            assert!((erf(erf_inv(x)) / x - 1.0).abs() <= 4.0 * f64::EPSILON, "{x}");
        }
    }

    #[test]
    fn orders_beyond_the_largest_factorial_join_on() {
        // The recurrence in x ties values whose orders take the path through logarithms.
        for n in [171.0, 172.0, 200.0, 1000.0] {
            let x = 0.5 * n;
            let step = (lgamma(n + 1.0) - (n + 1.0) * x.ln()).exp() * if n % 2.0 == 0.0 { 1.0 } else { -1.0 };
            let (at, next) = (polygamma(n, x), polygamma(n, x + 1.0));
            assert!(((next - at) / step - 1.0).abs() < 1e-10, "{n}: {at:e} and {next:e} differ by {step:e}");
        }
        // One order on the fast path and one beyond, tied by the asymptotic series, DLMF 5.15.8.
        let x = 1000.0;
        let series = |n: f64| 1.0 + n / (2.0 * x) + n * (n + 1.0) / (12.0 * x * x);
        let ratio = polygamma(171.0, x) / polygamma(170.0, x);
        let want = -170.0 / x * series(171.0) / series(170.0);
        assert!((ratio / want - 1.0).abs() < 1e-6, "{ratio:e}, {want:e}");
    }
}
