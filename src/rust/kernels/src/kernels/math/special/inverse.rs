//! The method of Halley for the quantiles of distributions.
//!
//! On a scale on which the density is log-concave (the logarithm of a gamma variable, the logit of a beta
//! variable), both tails are too: then Newton's method for the logarithm of a tail converges from anywhere,
//! after its first step from one side (Bagnoli, Bergstrom 2005). Its steps are corrected where they are short, which
//! triples the digits and not only doubles them.
//!
//! That may take many steps, as the first one may lead far beyond: a step that leaves the interval that has
//! the quantile, or is not much shorter than those before it, is replaced by one to the middle of this
//! interval. The quantile is an end of the range only where a step from that end leads outwards.

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

    /// Whether the point is the median.
    pub fn is_median(&self) -> bool {
        self.value == 0.5
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

    /// The step from a point, of the sign that leads to the quantile, and whether it is the last one.
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
        if less == 0.0 {
            return (0.0, true);
        }
        // The logarithm of a tail that is rounded to nothing or below is not a number.
        let is_forward = self.lower == (less.is_nan() || less > 0.0);
        let newton = less / slope;
        if !newton.is_finite() || (newton > 0.0) != is_forward {
            return (if is_forward { f64::INFINITY } else { f64::NEG_INFINITY }, false);
        }
        // Half the quotient of the second derivative of the logarithm of the tail and the first one, times the step.
        let correction = 0.5 * (bend - slope) * newton;
        let step = if correction.abs() < 0.5 { newton / (1.0 + correction) } else { newton };
        let error = (1.0 + bend.abs() + rate) * newton;
        (step, newton.abs() * (error * error).min(1.0) < LEFT)
    }
}

/// The interval that has a quantile, of positive numbers. Steps are those of its logarithm.
pub(super) struct Interval {
    /// A point that a step led upwards from, or 0.
    low: f64,
    /// A point that a step led downwards from, or infinity.
    high: f64,
    /// The sizes of the last two steps, the newer one first.
    before: [f64; 2],
}

/// The ends of the range: numbers of all digits.
pub(super) const SMALLEST: f64 = f64::MIN_POSITIVE;
pub(super) const LARGEST: f64 = f64::MAX;

impl Interval {
    pub fn new() -> Interval {
        Interval { low: 0.0, high: f64::INFINITY, before: [f64::INFINITY; 2] }
    }

    /// The point after a step from a point; 0 or infinity where the quantile is beyond that end of the range.
    #[inline]
    pub fn next(&mut self, point: f64, step: f64) -> f64 {
        let is_upwards = step > 0.0;
        if is_upwards {
            self.low = point;
        } else {
            self.high = point;
        }
        let size = step.abs();
        let next = point * libm::exp(step.clamp(-600.0, 600.0));
        // A short step is also taken where its end is beyond a bound, by no more than rounding errors.
        let is_short = size < 1e-9;
        let is_shorter = size <= 0.5 * self.before[1];
        self.before = [size, self.before[0]];
        if is_short
            || (is_shorter && self.low < next && next < self.high && (SMALLEST..=LARGEST).contains(&next))
        {
            return next;
        }
        self.inside(is_upwards, next)
    }

    /// A point in place of one that a step of Newton's method leads to.
    #[cold]
    fn inside(&self, is_upwards: bool, next: f64) -> f64 {
        if self.low >= LARGEST {
            return f64::INFINITY;
        }
        if self.high <= SMALLEST {
            return 0.0;
        }
        // An end that was not tried is.
        if !is_upwards && self.low == 0.0 && next <= SMALLEST {
            return SMALLEST;
        }
        if is_upwards && self.high == f64::INFINITY && next >= LARGEST {
            return LARGEST;
        }
        self.low.max(SMALLEST).sqrt() * self.high.min(LARGEST).sqrt()
    }
}
