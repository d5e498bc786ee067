//! Integrals of tails: `e^(-k(s))` from 0 to infinity, for a convex `k` that is 0 at 0 and does not fall, cut off where
//! the integrand is below 2^-60.
//!
//! # Sources
//! H. Takahasi and M. Mori, *Double exponential formulas for numerical integration* (1974): nodes that crowd at both ends
//! and are functions of their numbers.

use super::parts::{exp_bend, log_bend};
use super::{looped, Words};
use crate::hlo::formulas::control::repeat_while;
use crate::ops::{Unary, Var};
use crate::shape::Shape;
use crate::tensor::Literal;

/// An exponent `k`, of parameters.
#[derive(Clone, Copy)]
pub enum Exponent {
    /// Of a gamma variable: `a`, `x` and the direction, 1 for upwards and -1 for downwards.
    Gamma,
    /// Of a beta variable: `a`, `a + b`, `x`, `1 - x`, the slope at 0.
    Beta,
    /// Of the exponential integral: `n`, `x`.
    Expint,
    /// Of the modified Bessel function of the second kind upwards from the peak: the order, the root.
    Up,
    /// The same downwards: the order, the root less the order.
    Down,
}

/// `log(1 + x (e^-s - 1))`.
fn growth<'m, 'b>(x: Var<'m, 'b>, s: Var<'m, 'b>) -> Var<'m, 'b> {
    (x * (-s).expm1()).log1p()
}

/// `sinh(s) - s`.
fn sinh_bend<'m, 'b>(s: Var<'m, 'b>) -> Var<'m, 'b> {
    let (z, mut sum) = (s * s, s.of(0.0));
    for k in (2..10).rev() {
        sum = (sum + 1.0) * z * (1.0 / f64::from(2 * k * (2 * k + 1)));
    }
    s.gt(1.0).select(s.sinh() - s, s * z / 6.0 * (sum + 1.0))
}

impl Exponent {
    fn at<'m, 'b>(self, p: &[Var<'m, 'b>], s: Var<'m, 'b>) -> Var<'m, 'b> {
        match self {
            Exponent::Gamma => p[1] * exp_bend(p[2] * s) + (p[1] - p[0]) * p[2] * s,
            Exponent::Beta => {
                let (x, y) = (p[2], p[3]);
                // Two forms of x s + log(1 + x (e^-s - 1)), of which one cancels for x near 1, the other for x near 0.
                let low = x.gt(0.5).not();
                let (size, s_signed) = (low.select(x, y), low.select(-s, s));
                let bend = log_bend(size * s_signed.expm1()) + size * exp_bend(s_signed);
                let far = p[0] * s + p[1] * growth(x, s);
                bend.finite().select(p[4] * s + p[1] * bend, far)
            }
            Exponent::Expint => p[1] * s.expm1() + (p[0] - 1.0) * s,
            Exponent::Up | Exponent::Down => {
                let half = (s * 0.5).sinh();
                let rise = half * half * 2.0;
                let bend = if matches!(self, Exponent::Up) { sinh_bend(s) } else { exp_bend(-s) };
                p[1] * rise + p[0] * bend
            }
        }
    }

    /// Its derivatives of first and second order at 0.
    fn start<'m, 'b>(self, p: &[Var<'m, 'b>]) -> (Var<'m, 'b>, Var<'m, 'b>) {
        match self {
            Exponent::Gamma => ((p[1] - p[0]).size(), p[1]),
            Exponent::Beta => (p[4], p[1] * p[2] * p[3]),
            Exponent::Expint => (p[1] + p[0] - 1.0, p[1]),
            Exponent::Up => (p[0].of(0.0), p[1]),
            Exponent::Down => (p[0].of(0.0), p[1] + p[0]),
        }
    }

    /// Functions whose means under `e^(-k)` are wanted.
    fn weights<'m, 'b>(self, p: &[Var<'m, 'b>], s: Var<'m, 'b>) -> [Var<'m, 'b>; 2] {
        match self {
            Exponent::Beta => {
                let growth = growth(p[2], s);
                [s + growth, growth]
            }
            Exponent::Gamma | Exponent::Expint | Exponent::Up | Exponent::Down => [s, s.of(0.0)],
        }
    }

    /// The point where `k` is [`END`], nearly, not below.
    fn end<'m, 'b>(self, p: &[Var<'m, 'b>]) -> Var<'m, 'b> {
        let (slope, bend) = self.start(p);
        let root = bend.sqrt() * (2.0 * END).sqrt();
        let (large, small) = (slope.larger(root), slope.smaller(root));
        let ratio = (small / large).where_or(large.gt(0.0).and(large.finite()), 0.0);
        let high = 2.0 * END / (slope + large * (ratio * ratio + 1.0).sqrt());
        let found = looped(
            &[high.of(0.0), high],
            p,
            move |state, p| {
                // Beyond the range of the functions that make it, `k` is NaN.
                self.at(p, state[1]).lt(END).and(state[1].gt(0.0)).and(state[1].finite())
            },
            |state, _| vec![state[1], state[1] * 2.0],
        );
        let high = found[1].gt(0.0).and(found[1].finite()).select(found[1], found[0]);
        let found = looped(
            &[found[0], high, high.of(0.0)],
            p,
            |state, _| state[2].lt(5.0),
            move |state, p| {
                let middle = (state[0] + state[1]) * 0.5;
                let below = self.at(p, middle).lt(END);
                vec![below.select(middle, state[0]), below.select(state[1], middle), state[2] + 1.0]
            },
        );
        found[1]
    }

    /// The integral.
    pub fn integral<'m, 'b>(self, p: &[Var<'m, 'b>]) -> Var<'m, 'b> {
        let length = self.end(p);
        let all = [p, &[length]].concat();
        let sums = nodes(1, &all, move |p, node| {
            let length = p[p.len() - 1];
            vec![(-self.at(p, length * node)).exp()]
        });
        length * sums[0]
    }

    /// The means of the functions under `e^(-k)`.
    pub fn means<'m, 'b>(self, p: &[Var<'m, 'b>]) -> [Var<'m, 'b>; 2] {
        let length = self.end(p);
        let all = [p, &[length]].concat();
        let sums = nodes(3, &all, move |p, node| {
            let s = p[p.len() - 1] * node;
            let term = (-self.at(p, s)).exp();
            let [first, second] = self.weights(p, s);
            vec![term, term * first, term * second]
        });
        [sums[1] / sums[0], sums[2] / sums[0]]
    }
}

/// Where the integrand ends.
const END: f64 = 42.0;

/// Steps between nodes to a unit, and the number of the last node.
const STEPS: f64 = 20.0;
const LAST: f64 = 65.0;

/// Integrals from 0 to 1 of so many functions of a node and parameters.
pub fn nodes<'m, 'b>(
    count: usize,
    p: &[Var<'m, 'b>],
    f: impl for<'x, 'y> Fn(&[Var<'x, 'y>], Var<'x, 'y>) -> Vec<Var<'x, 'y>>,
) -> Vec<Var<'m, 'b>> {
    let math = p[0].math();
    let number = math.literal(Literal::new(-LAST), &Shape::scalar());
    let state = [&[number], &vec![p[0].of(0.0); count][..], p].concat();
    let mut made = repeat_while(
        math,
        &state,
        |state| state[0].gt(LAST).not(),
        |state| {
            let (number, sums, p) = (state[0], &state[1..=count], &state[1 + count..]);
            // Half of 1 + tanh(pi/2 sinh(t)), and its derivative.
            let t = number * (1.0 / STEPS);
            let turned = t.sinh() * std::f64::consts::PI;
            let node = turned.unary(Unary::logistic);
            let rest = (-turned).unary(Unary::logistic);
            let weight = t.cosh() * (std::f64::consts::PI / STEPS) * node * rest;
            let shape = p[0].aval().shape;
            let (node, weight) = (node.repeated(&shape, &[]), weight.repeated(&shape, &[]));
            let terms = f(p, node);
            let sums = sums.iter().zip(terms).map(|(&sum, term)| sum + weight * term);
            std::iter::once(number + 1.0).chain(sums).chain(p.iter().copied()).collect()
        },
    );
    made.resize(1 + count, p[0]);
    made.split_off(1)
}
