//! The zeta functions of Riemann and Hurwitz, for real arguments: DLMF 25.

use super::double::{two_sum, Double};
use super::parts::{gamma1p, log_power, stirling, Product, FAR};
use super::EULER_MACLAURIN;
use crate::kernels::math::{pair, single, POW, SINPI};

/// `x^y`.
#[inline]
fn pow(x: f64, y: f64) -> f64 {
    pair(&POW, x, y)
}

/// By Euler-Maclaurin summation, DLMF 25.11.5 and 2.10.1, for positive `q`; `beyond` is `s - 1`.
fn summed(s: f64, beyond: f64, q: f64) -> f64 {
    let (enough, mut sum, mut k) = (0.75 * s.abs() + 9.0, 0.0, 0.0);
    loop {
        let base = two_sum(q, k);
        let power = pow(base.0, -s) * (1.0 - s * base.1 / base.0);
        if base.0 >= enough {
            let h = 1.0 / base.0;
            let (mut term, mut series) = (s * h * h, 1.0 / beyond + 0.5 * h);
            for (j, coefficient) in EULER_MACLAURIN.iter().enumerate() {
                series += coefficient * term;
                let rising = s + 2.0 * j as f64;
                term *= ((rising + 1.0) * h) * ((rising + 2.0) * h);
            }
            return sum + power * base.0 * series;
        }
        sum += power;
        if s > 1.0 && power <= 1e-18 * sum {
            return sum;
        }
        k += 1.0;
    }
}

/// The zeta function of Hurwitz, the sum of `(q + k)^-s` over `k >= 0`, for `s > 1` and `q > 0`; for `q = 1`, where
/// it is that of Riemann, for any `s`. Inf for `s = 1` and for `q = 0`, NaN elsewhere.
pub fn zeta(s: f64, q: f64) -> f64 {
    if s.is_nan() || q.is_nan() || s == f64::NEG_INFINITY {
        return f64::NAN;
    }
    if s == 1.0 {
        return f64::INFINITY;
    }
    if q == 1.0 && s < 1.0 {
        return riemann(s);
    }
    if s < 1.0 || q < 0.0 {
        return f64::NAN;
    }
    if q == 0.0 {
        return f64::INFINITY;
    }
    if q == f64::INFINITY {
        return 0.0;
    }
    if s == f64::INFINITY {
        return match q {
            q if q < 1.0 => f64::INFINITY,
            q if q > 1.0 => 0.0,
            _ => 1.0,
        };
    }
    summed(s, s - 1.0, q)
}

/// For `s` below 1: DLMF 25.4.1 where the sum would cancel.
fn riemann(s: f64) -> f64 {
    if s >= 0.0 {
        return summed(s, s - 1.0, 1.0);
    }
    let sine = single(&SINPI, 0.5 * s);
    if sine == 0.0 {
        return 0.0;
    }
    let above = two_sum(1.0, -s);
    let rest = sine * summed(above.0, -s, 1.0);
    if above.0 < FAR {
        return 2.0 * pow(TWO_PI.0, s - 1.0) * gamma1p(Double::from(-s)) * rest;
    }
    // The gamma function by Stirling's formula, together with the power.
    let log = log_power(above, TWO_PI, above.0) - above + stirling(above.0).into();
    Product { log, factor: 2.0 * (TWO_PI.0 / above.0).sqrt() * rest }.value()
}

/// `2 pi` as a sum of two.
const TWO_PI: Double = Double(std::f64::consts::TAU, 2.4492935982947064e-16);
