//! The rows of special functions that are computed one element at a time: see [`special`](super::special).

use super::compare::Compare;
use super::derive::Var;
use super::special::{special_ops, Many, Of};
use super::unary::Unary;
use super::Row;
use crate::kernels::math::special as f;
use std::f64::consts::PI;

/// The operands of a derivative, and the result.
pub type Slopes = for<'m, 'b> fn(&[Var<'m, 'b>], Var<'m, 'b>) -> Vec<Option<Var<'m, 'b>>>;

/// Why a derivative is missing.
const NO_ORDER: &str = "there is no closed formula for the derivative with respect to the order";
const NO_SECOND: &str = "second derivatives with respect to parameters are not written";
const NO_ZETA: &str = "there is no closed formula for the derivative with respect to `s`";

special_ops! {
    /// Beta function, `gamma(a) gamma(b) / gamma(a + b)`.
    ///
    /// Inf where `a` or `b` is 0, NaN where one is negative.
    beta "nv_beta" (a, b) {
        f::beta(a, b),
        many: Many::Two(f::betas),
        singles: Many::Two(f::betas_single),
        slopes: |v, y| { let (a, b) = (v[0], v[1]); let s = (a + b).digamma(); vec![Some(y * (a.digamma() - s)), Some(y * (b.digamma() - s))] },
        example: "c(1, 2.5), c(3, 0.5)", ulps: 8.0,
    }
    /// Logarithm of the beta function.
    ///
    /// Where [nv_beta()] overflows or underflows too.
    lbeta "nv_lbeta" (a, b) {
        f::lbeta(a, b),
        many: Many::Two(f::lbetas),
        singles: Many::Two(f::lbetas_single),
        slopes: |v, _y| { let (a, b) = (v[0], v[1]); let s = (a + b).digamma(); vec![Some(a.digamma() - s), Some(b.digamma() - s)] },
        example: "c(1, 2.5), c(3, 500)", ulps: 4.0, accuracy: "Beside its zeros, where the beta function is 1, the bound is that many ulps of 1.",
    }
    /// Binomial coefficient, `n` over `k`.
    ///
    /// As R has it: `n` is any number, `k` is rounded to a whole one, and the result is 0 where that is negative.
    /// It is a whole number where `n` is one. The derivative with respect to `n` is not a number where `n` is
    /// a whole number below `k`.
    choose "nv_choose" (n, k) {
        f::choose(n, k),
        slopes: |v, y| { let d = binomial_slope(v[0], v[1]); vec![Some(y * d), Some(y.of(0.0))] },
        example: "c(5, 0.5), c(2, 3)", ulps: 100.0, accuracy: "Whole numbers below `2^53` are exact in `f64`.",
    }
    /// Logarithm of the absolute value of a binomial coefficient.
    ///
    /// See [nv_choose()].
    lchoose "nv_lchoose" (n, k) {
        f::lchoose(n, k),
        singles: Many::Two(f::lchooses_single),
        slopes: |v, y| { vec![Some(binomial_slope(v[0], v[1])), Some(y.of(0.0))] },
        example: "c(500, 0.5), c(250, 3)", ulps: 8.0, accuracy: "Beside its zeros the bound is that many ulps of 1.",
    }
    /// Exponential integral `Ei(x)`, the integral of `exp(t) / t` up to `x`.
    ///
    /// The principal value for positive `x`; -Inf at 0. [nv_expint()] gives `E_n(x)`.
    expi "nv_expi" (x) {
        f::expi(x),
        slopes: |v, _y| vec![Some(v[0].exp() / v[0])],
        example: "c(-1, 0.5, 2)", ulps: 16.0, accuracy: "Beside its zero at 0.3725 the bound is that many ulps of 1.",
    }
    /// Owen's T function.
    ///
    /// The probability that one of two independent standard normal variables is above `h`, and the other between 0
    /// and `a` times the first.
    owens_t "nv_owens_t" (h, a) {
        f::owens_t(h, a),
        slopes: |v, _y| {
            let (h, a) = (v[0], v[1]);
            let square = h.squared() * -0.5;
            let tail = (a * h * std::f64::consts::FRAC_1_SQRT_2).unary(Unary::erf);
            let by_a = (square * (a.squared() + 1.0)).exp() / ((a.squared() + 1.0) * (2.0 * PI));
            vec![Some(square.exp() * tail * (-0.5 / (2.0 * PI).sqrt())), Some(by_a)]
        },
        example: "c(0.5, 1, 2), c(1, 0.2, 3)", ulps: 16.0,
    }
    /// Exponential integral `E_n(x)`.
    expint "nv_expint" written (x, n) {
        f::expint(n, x),
        slopes: |v, y| {
            let (x, n) = (v[0], v[1]);
            let zero = -(y * (1.0 / x + 1.0));
            let slope = n.compare(Compare::eq, n.of(0.0)).select(zero, -x.special(Special::expint, &[n - 1.0]));
            vec![Some(slope), None]
        },
        missing: NO_ORDER, ulps: 16.0,
    }
    /// Zeta function.
    zeta "nv_zeta" written (s, q) {
        f::zeta(s, q),
        slopes: |v, _y| { let (s, q) = (v[0], v[1]); vec![None, Some(-s * (s + 1.0).special(Special::zeta, &[q]))] },
        missing: NO_ZETA, ulps: 64.0,
    }
    /// Function of Lambert, the branch above -1.
    lambert_w0 "nv_lambertw" written (x) {
        f::lambert_w(x, false),
        slopes: |_v, y| vec![Some((-y).exp() / (y + 1.0))],
        ulps: 4.0,
    }
    /// Function of Lambert, the branch below -1.
    lambert_wm1 "nv_lambertw" written (x) {
        f::lambert_w(x, true),
        slopes: |_v, y| vec![Some((-y).exp() / (y + 1.0))],
        ulps: 4.0,
    }
    /// Modified Bessel function of the first kind.
    bessel_i "nv_bessel_i" written (x, nu) {
        f::bessel_i(nu, x, false),
        many: Many::Two(f::bessels_i),
        slopes: |v, _y| vec![Some(neighbours(Special::bessel_i, v) * 0.5), None],
        missing: NO_ORDER, ulps: 16.0,
    }
    /// The same, times `exp(-abs(x))`.
    bessel_ie "nv_bessel_i" written (x, nu) {
        f::bessel_i(nu, x, true),
        many: Many::Two(f::bessels_ie),
        slopes: |v, y| vec![Some(neighbours(Special::bessel_ie, v) * 0.5 - v[0].sign() * y), None],
        missing: NO_ORDER, ulps: 16.0,
    }
    /// Modified Bessel function of the second kind.
    bessel_k "nv_bessel_k" written (x, nu) {
        f::bessel_k(nu, x, false),
        slopes: |v, _y| vec![Some(neighbours(Special::bessel_k, v) * -0.5), None],
        missing: NO_ORDER, ulps: 16.0,
    }
    /// The same, times `exp(x)`.
    bessel_ke "nv_bessel_k" written (x, nu) {
        f::bessel_k(nu, x, true),
        slopes: |v, y| vec![Some(y - neighbours(Special::bessel_ke, v) * 0.5), None],
        missing: NO_ORDER, ulps: 16.0,
    }
    /// Bessel function of the first kind of order 0.
    bessel_j0 "nv_bessel_j" written (x) {
        f::bessel_j(false, x),
        slopes: |v, _y| vec![Some(-v[0].special(Special::bessel_j1, &[]))],
        ulps: 4.0, accuracy: "Beside their zeros the bound of Bessel functions is that many ulps of `sqrt(2 / (pi * x))`.",
    }
    /// Bessel function of the first kind of order 1.
    bessel_j1 "nv_bessel_j" written (x) {
        f::bessel_j(true, x),
        slopes: |v, y| {
            let is_zero = v[0].compare(Compare::eq, v[0].of(0.0));
            let quotient = is_zero.select(y.of(0.5), y / is_zero.select(y.of(1.0), v[0]));
            vec![Some(v[0].special(Special::bessel_j0, &[]) - quotient)]
        },
        ulps: 4.0, accuracy: "Beside their zeros the bound of Bessel functions is that many ulps of `sqrt(2 / (pi * x))`.",
    }
    /// Bessel function of the second kind of order 0.
    bessel_y0 "nv_bessel_y" written (x) {
        f::bessel_y(false, x),
        slopes: |v, _y| vec![Some(-v[0].special(Special::bessel_y1, &[]))],
        ulps: 4.0, accuracy: "Beside their zeros the bound of Bessel functions is that many ulps of 1 or of `sqrt(2 / (pi * x))`.",
    }
    /// Bessel function of the second kind of order 1.
    bessel_y1 "nv_bessel_y" written (x) {
        f::bessel_y(true, x),
        slopes: |v, y| vec![Some(v[0].special(Special::bessel_y0, &[]) - y / v[0])],
        ulps: 4.0, accuracy: "Beside their zeros the bound of Bessel functions is that many ulps of 1 or of `sqrt(2 / (pi * x))`.",
    }
    /// Regularised incomplete gamma function, lower tail.
    gammainc "nv_gammainc" written (a, x) {
        f::gammainc(a, x, true, false),
        singles: Many::Two(f::gammaincs_single),
        slopes: |v, y| vec![Some(y * of(Special::log_gammainc_da, v)), Some(of(Special::log_gammainc_dx, v).exp())],
        ulps: 32.0,
    }
    /// Regularised incomplete gamma function, upper tail.
    gammaincc "nv_gammainc" written (a, x) {
        f::gammainc(a, x, false, false),
        singles: Many::Two(f::gammainccs_single),
        slopes: |v, y| vec![Some(y * of(Special::log_gammaincc_da, v)), Some(-of(Special::log_gammainc_dx, v).exp())],
        ulps: 32.0,
    }
    /// Logarithm of the lower tail.
    log_gammainc "nv_gammainc" written (a, x) {
        f::gammainc(a, x, true, true),
        slopes: |v, y| vec![Some(of(Special::log_gammainc_da, v)), Some((of(Special::log_gammainc_dx, v) - y).exp())],
        ulps: 32.0,
    }
    /// Logarithm of the upper tail.
    log_gammaincc "nv_gammainc" written (a, x) {
        f::gammainc(a, x, false, true),
        slopes: |v, y| vec![Some(of(Special::log_gammaincc_da, v)), Some(-(of(Special::log_gammainc_dx, v) - y).exp())],
        ulps: 32.0,
    }
    /// Logarithm of the derivative of the lower tail with respect to `x`.
    log_gammainc_dx "nv_gammainc" written (a, x) {
        f::log_gamma_density(a, x),
        many: Many::Two(f::log_gamma_densities),
        singles: Many::Two(f::log_gamma_densities_single),
        slopes: |v, _y| vec![Some(gamma_line(v)), Some((v[0] - 1.0) / v[1] - 1.0)],
        ulps: 8.0, accuracy: "Beside its zeros the bound is that many ulps of 1.",
    }
    /// Derivative of the logarithm of the lower tail with respect to `a`.
    log_gammainc_da "nv_gammainc" written (a, x) {
        f::log_gammainc_da(a, x, true),
        slopes: |v, y| {
            let rate = (of(Special::log_gammainc_dx, v) - of(Special::log_gammainc, v)).exp();
            vec![None, Some(rate * (gamma_line(v) - y))]
        },
        missing: NO_SECOND, ulps: 256.0,
    }
    /// Derivative of the logarithm of the upper tail with respect to `a`.
    log_gammaincc_da "nv_gammainc" written (a, x) {
        f::log_gammainc_da(a, x, false),
        slopes: |v, y| {
            let rate = (of(Special::log_gammainc_dx, v) - of(Special::log_gammaincc, v)).exp();
            vec![None, Some(rate * (y - gamma_line(v)))]
        },
        missing: NO_SECOND, ulps: 256.0,
    }
    /// Inverse of the lower tail.
    gammaincinv "nv_gammaincinv" written (a, p) {
        f::gammaincinv(a, p, true, false),
        slopes: |v, y| gamma_quantile(v, y, v[1].log(), 1.0, v[1]),
        ulps: 32.0, accuracy: QUANTILE,
    }
    /// Inverse of the upper tail.
    gammainccinv "nv_gammaincinv" written (a, p) {
        f::gammaincinv(a, p, false, false),
        slopes: |v, y| gamma_quantile(v, y, v[1].log(), -1.0, v[1]),
        ulps: 32.0, accuracy: QUANTILE,
    }
    /// Inverse of the logarithm of the lower tail.
    log_gammaincinv "nv_gammaincinv" written (a, p) {
        f::gammaincinv(a, p, true, true),
        slopes: |v, y| gamma_quantile(v, y, v[1], 1.0, v[1].of(1.0)),
        ulps: 32.0, accuracy: QUANTILE,
    }
    /// Inverse of the logarithm of the upper tail.
    log_gammainccinv "nv_gammaincinv" written (a, p) {
        f::gammaincinv(a, p, false, true),
        slopes: |v, y| gamma_quantile(v, y, v[1], -1.0, v[1].of(1.0)),
        ulps: 32.0, accuracy: QUANTILE,
    }
    /// Regularised incomplete beta function, lower tail.
    betainc "nv_betainc" written (a, b, x) {
        f::betainc(a, b, x, true, false),
        singles: Many::Three(f::betaincs_single),
        slopes: |v, y| {
            let density = of(Special::log_betainc_dx, v).exp();
            vec![Some(y * of(Special::log_betainc_da, v)), Some(y * of(Special::log_betainc_db, v)), Some(density)]
        },
        ulps: 64.0,
    }
    /// Regularised incomplete beta function, upper tail.
    betaincc "nv_betainc" written (a, b, x) {
        f::betainc(a, b, x, false, false),
        singles: Many::Three(f::betainccs_single),
        slopes: |v, y| {
            let density = of(Special::log_betainc_dx, v).exp();
            vec![Some(y * of(Special::log_betaincc_da, v)), Some(y * of(Special::log_betaincc_db, v)), Some(-density)]
        },
        ulps: 64.0,
    }
    /// Logarithm of the lower tail.
    log_betainc "nv_betainc" written (a, b, x) {
        f::betainc(a, b, x, true, true),
        slopes: |v, y| {
            let rate = (of(Special::log_betainc_dx, v) - y).exp();
            vec![Some(of(Special::log_betainc_da, v)), Some(of(Special::log_betainc_db, v)), Some(rate)]
        },
        ulps: 64.0,
    }
    /// Logarithm of the upper tail.
    log_betaincc "nv_betainc" written (a, b, x) {
        f::betainc(a, b, x, false, true),
        slopes: |v, y| {
            let rate = (of(Special::log_betainc_dx, v) - y).exp();
            vec![Some(of(Special::log_betaincc_da, v)), Some(of(Special::log_betaincc_db, v)), Some(-rate)]
        },
        ulps: 64.0,
    }
    /// Logarithm of the derivative of the lower tail with respect to `x`.
    log_betainc_dx "nv_betainc" written (a, b, x) {
        f::log_beta_density(a, b, x),
        many: Many::Three(f::log_beta_densities),
        singles: Many::Three(f::log_beta_densities_single),
        slopes: |v, _y| {
            let (a, b, x) = (v[0], v[1], v[2]);
            vec![Some(beta_line(v, 0)), Some(beta_line(v, 1)), Some((a - 1.0) / x - (b - 1.0) / (1.0 - x))]
        },
        ulps: 8.0, accuracy: "Beside its zeros the bound is that many ulps of 1.",
    }
    /// Derivative of the logarithm of the lower tail with respect to `a`.
    log_betainc_da "nv_betainc" written (a, b, x) {
        f::log_betainc_slopes(a, b, x, true)[0],
        slopes: |v, y| vec![None, None, Some(beta_second(v, y, Special::log_betainc, 0))],
        missing: NO_SECOND, ulps: 512.0,
    }
    /// Derivative of the logarithm of the lower tail with respect to `b`.
    log_betainc_db "nv_betainc" written (a, b, x) {
        f::log_betainc_slopes(a, b, x, true)[1],
        slopes: |v, y| vec![None, None, Some(beta_second(v, y, Special::log_betainc, 1))],
        missing: NO_SECOND, ulps: 512.0,
    }
    /// Derivative of the logarithm of the upper tail with respect to `a`.
    log_betaincc_da "nv_betainc" written (a, b, x) {
        f::log_betainc_slopes(a, b, x, false)[0],
        slopes: |v, y| vec![None, None, Some(-beta_second(v, y, Special::log_betaincc, 0))],
        missing: NO_SECOND, ulps: 512.0,
    }
    /// Derivative of the logarithm of the upper tail with respect to `b`.
    log_betaincc_db "nv_betainc" written (a, b, x) {
        f::log_betainc_slopes(a, b, x, false)[1],
        slopes: |v, y| vec![None, None, Some(-beta_second(v, y, Special::log_betaincc, 1))],
        missing: NO_SECOND, ulps: 512.0,
    }
    /// Inverse of the lower tail.
    betaincinv "nv_betaincinv" written (a, b, p) {
        f::betaincinv(a, b, p, true, false),
        slopes: |v, y| beta_quantile(v, y, v[2].log(), 1.0, v[2]),
        ulps: 64.0, accuracy: QUANTILE,
    }
    /// Inverse of the upper tail.
    betainccinv "nv_betaincinv" written (a, b, p) {
        f::betaincinv(a, b, p, false, false),
        slopes: |v, y| beta_quantile(v, y, v[2].log(), -1.0, v[2]),
        ulps: 64.0, accuracy: QUANTILE,
    }
    /// Inverse of the logarithm of the lower tail.
    log_betaincinv "nv_betaincinv" written (a, b, p) {
        f::betaincinv(a, b, p, true, true),
        slopes: |v, y| beta_quantile(v, y, v[2], 1.0, v[2].of(1.0)),
        ulps: 64.0, accuracy: QUANTILE,
    }
    /// Inverse of the logarithm of the upper tail.
    log_betainccinv "nv_betaincinv" written (a, b, p) {
        f::betaincinv(a, b, p, false, true),
        slopes: |v, y| beta_quantile(v, y, v[2], -1.0, v[2].of(1.0)),
        ulps: 64.0, accuracy: QUANTILE,
    }
}

/// What is said of the accuracy of quantiles.
const QUANTILE: &str =
    "The bound is that of the point whose probability is within so many ulps of the one given, or of so many ulps.";

/// A function of the same operands.
fn of<'m, 'b>(op: Special, v: &[Var<'m, 'b>]) -> Var<'m, 'b> {
    v[0].special(op, &v[1..])
}

/// The derivative of the logarithm of a binomial coefficient with respect to `n`.
fn binomial_slope<'m, 'b>(n: Var<'m, 'b>, k: Var<'m, 'b>) -> Var<'m, 'b> {
    let k = k.unary(Unary::round_nearest_even);
    (n + 1.0).digamma() - (n - k + 1.0).digamma()
}

/// The sum of the functions of the orders on both sides: DLMF 10.29.1.
fn neighbours<'m, 'b>(op: Special, v: &[Var<'m, 'b>]) -> Var<'m, 'b> {
    v[0].special(op, &[v[1] - 1.0]) + v[0].special(op, &[v[1] + 1.0])
}

/// The derivative of the logarithm of the density of a gamma variable with respect to `a`.
fn gamma_line<'m, 'b>(v: &[Var<'m, 'b>]) -> Var<'m, 'b> {
    v[1].log() - v[0].digamma()
}

/// That of a beta variable with respect to `a`, or to `b`.
fn beta_line<'m, 'b>(v: &[Var<'m, 'b>], which: usize) -> Var<'m, 'b> {
    let log = if which == 0 { v[2].log() } else { (-v[2]).unary(Unary::log1p) };
    log - v[which].digamma() + (v[0] + v[1]).digamma()
}

/// The derivative with respect to `x` of that of a logarithm of a tail with respect to a parameter.
fn beta_second<'m, 'b>(v: &[Var<'m, 'b>], y: Var<'m, 'b>, tail: Special, which: usize) -> Var<'m, 'b> {
    let rate = (of(Special::log_betainc_dx, v) - of(tail, v)).exp();
    rate * (beta_line(v, which) - y)
}

/// The derivatives of a quantile `y`, from the logarithm of its probability; `scale` is the derivative of the
/// probability, by which that logarithm is to be divided.
fn gamma_quantile<'m, 'b>(
    v: &[Var<'m, 'b>],
    y: Var<'m, 'b>,
    log: Var<'m, 'b>,
    sign: f64,
    scale: Var<'m, 'b>,
) -> Vec<Option<Var<'m, 'b>>> {
    let at = [v[0], y];
    let (slope, own) = quantile(&at, Special::log_gammainc_dx, log, sign, scale);
    let score = if sign > 0.0 { Special::log_gammainc_da } else { Special::log_gammaincc_da };
    vec![Some(-slope * of(score, &at)), Some(own)]
}

/// As [`gamma_quantile`], of a beta variable.
fn beta_quantile<'m, 'b>(
    v: &[Var<'m, 'b>],
    y: Var<'m, 'b>,
    log: Var<'m, 'b>,
    sign: f64,
    scale: Var<'m, 'b>,
) -> Vec<Option<Var<'m, 'b>>> {
    let at = [v[0], v[1], y];
    let (slope, own) = quantile(&at, Special::log_betainc_dx, log, sign, scale);
    let (by_a, by_b) = if sign > 0.0 {
        (Special::log_betainc_da, Special::log_betainc_db)
    } else {
        (Special::log_betaincc_da, Special::log_betaincc_db)
    };
    vec![Some(-slope * of(by_a, &at)), Some(-slope * of(by_b, &at)), Some(own)]
}

/// The derivatives of a quantile with respect to the logarithm of its probability and to the probability as it
/// is given.
fn quantile<'m, 'b>(
    at: &[Var<'m, 'b>],
    density: Special,
    log: Var<'m, 'b>,
    sign: f64,
    scale: Var<'m, 'b>,
) -> (Var<'m, 'b>, Var<'m, 'b>) {
    let slope = (log - of(density, at)).exp() * sign;
    (slope, slope / scale)
}

impl<'m, 'b> Var<'m, 'b> {
    /// A special function of it and others.
    fn special(self, op: Special, others: &[Var<'m, 'b>]) -> Var<'m, 'b> {
        self.apply(op, others)
    }
}
