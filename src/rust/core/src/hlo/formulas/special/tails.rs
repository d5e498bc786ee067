//! Probabilities of both tails, and Newton's method for quantiles, as in `kernels::math::special`.

use super::parts::Product;
use super::Words;
use crate::ops::{Unary, Var};

/// A probability and that of the rest.
#[derive(Clone, Copy)]
pub struct Tails<'m, 'b> {
    /// One of them, as a product.
    pub product: Product<'m, 'b>,
    /// Whether it is the upper one.
    pub is_upper: Var<'m, 'b>,
    /// Whether the other one has a formula of its own, which is `number`; else it is 1 less the product.
    pub is_small: Var<'m, 'b>,
    pub number: Var<'m, 'b>,
    /// Where the lower one is known: `at_end`.
    pub is_end: Var<'m, 'b>,
    pub at_end: Var<'m, 'b>,
    /// Where there are no probabilities.
    pub is_bad: Var<'m, 'b>,
}

impl<'m, 'b> Tails<'m, 'b> {
    /// The value of the lower or upper one.
    pub fn value(self, lower: bool) -> Var<'m, 'b> {
        let p = self.product.value();
        let other = self.is_small.select(self.number, 1.0 - p);
        let made = if lower { self.is_upper.select(other, p) } else { self.is_upper.select(p, other) };
        let end = if lower { self.at_end } else { 1.0 - self.at_end };
        self.is_bad.select(p.of(f64::NAN), self.is_end.select(end, made))
    }

    /// The logarithm of the lower or upper one: next to 1 that of 1 less the other.
    pub fn log(self, lower: bool) -> Var<'m, 'b> {
        let p = self.product.value();
        let (number, small) = (self.number, self.is_small);
        let own = small.and(number.lt(0.25)).select((-number).log1p(), self.product.log());
        let other = p.lt(0.25).or(small.not()).select((-p).log1p(), number.log());
        let made = if lower { self.is_upper.select(other, own) } else { self.is_upper.select(own, other) };
        let (end, rest) = (self.at_end, 1.0 - self.at_end);
        let (end, rest) = if lower { (end, rest) } else { (rest, end) };
        let end = rest.lt(0.25).select((-rest).log1p(), end.log());
        self.is_bad.select(p.of(f64::NAN), self.is_end.select(end, made))
    }
}

/// The tail that is at most 1/2, and its probability.
#[derive(Clone, Copy)]
pub struct Target<'m, 'b> {
    /// Whether it is the lower one.
    pub lower: Var<'m, 'b>,
    pub log: Var<'m, 'b>,
    pub value: Var<'m, 'b>,
    pub is_bad: Var<'m, 'b>,
}

impl<'m, 'b> Target<'m, 'b> {
    pub fn new(p: Var<'m, 'b>, lower: bool, is_log: bool) -> Target<'m, 'b> {
        let one = p.of(1.0);
        let is_bad = if is_log { p.gt(0.0) } else { p.lt(0.0).or(p.gt(1.0)) }.or(p.nan());
        let (value, log) = if is_log { (p.exp(), p) } else { (p, p.log()) };
        let rest = if is_log { -p.expm1() } else { one - p };
        let is_rest = value.gt(0.5);
        let lower = if lower { is_rest.not() } else { is_rest };
        Target { lower, log: is_rest.select(rest.log(), log), value: is_rest.select(rest, value), is_bad }
    }

    /// Whether the point is an end of the range.
    pub fn is_end(self) -> Var<'m, 'b> {
        self.log.is(f64::NEG_INFINITY)
    }

    /// The quantile of the standard normal distribution.
    pub fn normal(self) -> Var<'m, 'b> {
        let some = self.value.gt(0.0);
        let z = self.value.where_or(some, 0.5).unary(Unary::probit);
        let z = some.select(z, -(self.log * -2.0).sqrt());
        self.lower.select(z, -z)
    }
}

/// The step of Newton's method from a point with these tails and this logarithm of the density; `lower` says which tail
/// has the probability `value` with the logarithm `log`.
pub fn step<'m, 'b>(
    [lower, log, value]: [Var<'m, 'b>; 3],
    tails: Tails<'m, 'b>,
    density: Var<'m, 'b>,
) -> Var<'m, 'b> {
    let own = lower.select(tails.value(true), tails.value(false));
    let own_log = lower.select(tails.log(true), tails.log(false));
    // Of a probability of many digits so many digits of the difference.
    let ratio = (value - own) / own;
    let close = value.gt(1e-290).and(ratio.size().lt(0.1));
    let step = close.select(ratio.log1p(), log - own_log) / (density - own_log).exp();
    lower.select(step, -step)
}
