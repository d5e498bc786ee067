//! Newton's method for the quantiles of distributions.
//!
//! On a scale on which the density is log-concave (the logarithm of a gamma variable, the logit of a beta
//! variable), both tails are too: then Newton's method for the logarithm of a tail converges from anywhere,
//! after its first step from one side (Bagnoli, Bergstrom 2005).

use super::parts::Tails;
use crate::kernels::math::{single, PROBIT};

/// The largest number of steps.
pub(super) const STEPS: usize = 100;

/// A step after which, convergence being quadratic, there is no other.
pub(super) const ENOUGH: f64 = 1e-9;

/// The tail that is at most 1/2, and its probability.
pub(super) struct Target {
    pub lower: bool,
    /// Its logarithm.
    pub log: f64,
    /// The probability itself, where it has all digits.
    value: f64,
}

impl Target {
    /// `None` unless `p` is a probability, or the logarithm of one.
    pub fn new(p: f64, lower: bool, is_log: bool) -> Option<Target> {
        let is_inside = if is_log { p <= 0.0 } else { (0.0..=1.0).contains(&p) };
        if !is_inside {
            return None;
        }
        let (value, log) = if is_log { (libm::exp(p), p) } else { (p, libm::log(p)) };
        if value <= 0.5 {
            return Some(Target { lower, log, value });
        }
        let rest = if is_log { -libm::expm1(p) } else { 1.0 - p };
        Some(Target { lower: !lower, log: libm::log(rest), value: rest })
    }

    /// 0 or 1 if the point is at an end of the range.
    pub fn end(&self) -> Option<f64> {
        (self.log == f64::NEG_INFINITY).then_some(if self.lower { 0.0 } else { 1.0 })
    }

    /// The quantile of the standard normal distribution.
    pub fn normal(&self) -> f64 {
        let z = if self.value > 0.0 { single(&PROBIT, self.value) } else { -(-2.0 * self.log).sqrt() };
        if self.lower {
            z
        } else {
            -z
        }
    }

    /// The step from a point with these tails and this logarithm of the density.
    pub fn step(&self, tails: Tails, density: f64) -> f64 {
        let (log, value) = (tails.log(self.lower), tails.of(self.lower).value());
        // Of a probability of many digits so many digits of the difference.
        let ratio = (self.value - value) / value;
        let less = if self.value > 1e-290 && ratio.abs() < 0.1 { libm::log1p(ratio) } else { self.log - log };
        let step = less / libm::exp(density - log);
        if self.lower {
            step
        } else {
            -step
        }
    }
}
