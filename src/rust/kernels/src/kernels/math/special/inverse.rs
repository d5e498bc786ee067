//! The method of Halley for the quantiles of distributions.
//!
//! On a scale on which the density is log-concave (the logarithm of a gamma variable, the logit of a beta
//! variable), both tails are too: then Newton's method for the logarithm of a tail converges from anywhere,
//! after its first step from one side (Bagnoli, Bergstrom 2005). Its steps are corrected where they are short, which
//! triples the digits and not only doubles them.

use super::parts::{Part, Tails};
use crate::kernels::math::{single, PROBIT};

/// The largest number of steps.
pub(super) const STEPS: usize = 100;

/// Where the method stops: an error that is left.
const LEFT: f64 = 1e-17;

/// What the method sees of a distribution at a point.
pub(super) struct At<D: FnOnce() -> f64> {
    pub tails: Tails,
    /// The density is this times the power of e that the tails are products of.
    pub factor: f64,
    /// The density, where a tail is a number.
    pub density: D,
    /// The derivative of the logarithm of the density.
    pub bend: f64,
}

/// The tail that is at most 1/2, and its probability.
#[derive(Clone, Copy)]
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

    /// That of 1 less the variable.
    pub fn mirrored(self) -> Target {
        Target { lower: !self.lower, ..self }
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

    /// The step from a point, and whether it is the last one.
    pub fn step<D: FnOnce() -> f64>(&self, at: At<D>) -> (f64, bool) {
        let At { tails, factor, density, bend } = at;
        // With the density over the tail.
        let (value, rate) = match tails.of(self.lower) {
            Part::Is(p) => (p.value(), factor / p.factor),
            Part::Rest(p) => {
                let rest = p.value();
                (1.0 - rest, factor / p.factor * rest / (1.0 - rest))
            }
            Part::Number(value) => (value, density() / value),
        };
        // Of a probability of many digits so many digits of the difference.
        let less = if self.value > 1e-290 && value > 1e-290 {
            let ratio = (self.value - value) / value;
            if ratio.abs() < 0.1 {
                libm::log1p(ratio)
            } else {
                libm::log(self.value / value)
            }
        } else {
            self.log - tails.log(self.lower)
        };
        let slope = if self.lower { rate } else { -rate };
        let newton = less / slope;
        // Half the quotient of the second derivative of the logarithm of the tail and the first one, times the step.
        let correction = 0.5 * (bend - slope) * newton;
        let step = if correction.abs() < 0.5 { newton / (1.0 + correction) } else { newton };
        let scale = 1.0 + bend.abs() + rate;
        (step, newton.abs() * (scale * newton) * (scale * newton) < LEFT)
    }
}
