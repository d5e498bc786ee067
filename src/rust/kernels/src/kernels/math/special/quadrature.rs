//! Integrals of tails: `e^(-k(s))` from 0 to infinity, for a convex `k` that is 0 at 0 and does not fall.
//!
//! Cut off where the integrand is below 2^-60, in pieces that double in length, each by the rule of Gauss and
//! Legendre (DLMF 3.5(v)). All terms are positive: the relative error is that of the terms.

use crate::kernels::math::{Computed, EXP};
use std::sync::OnceLock;

/// Nodes of a piece.
const PIECE: usize = 20;
/// Ends of the pieces, of the whole length.
const ENDS: [f64; 4] = [0.0, 0.125, 0.4, 1.0];
/// Nodes of all.
pub(super) const NODES: usize = 3 * PIECE;

/// Nodes in (0, 1) and weights of all pieces.
struct Rule {
    nodes: [f64; NODES],
    weights: [f64; NODES],
}

/// Nodes and weights of Gauss and Legendre for the unit interval, of 20 points; from mpmath.
pub(super) const GAUSS: [(f64, f64); PIECE] = [
    (0.0034357004074525377, 0.008807003569576059),
    (0.018014036361043106, 0.02030071490019347),
    (0.04388278587433705, 0.031336024167054534),
    (0.0804415140888906, 0.04163837078835238),
    (0.1268340467699246, 0.05096505990862022),
    (0.1819731596367425, 0.059097265980759206),
    (0.24456649902458646, 0.06584431922458832),
    (0.3131469556422902, 0.07104805465919102),
    (0.38610707442917747, 0.07458649323630187),
    (0.46173673943325133, 0.07637669356536292),
    (0.5382632605667487, 0.07637669356536292),
    (0.6138929255708225, 0.07458649323630187),
    (0.6868530443577098, 0.07104805465919102),
    (0.7554335009754135, 0.06584431922458832),
    (0.8180268403632576, 0.059097265980759206),
    (0.8731659532300754, 0.05096505990862022),
    (0.9195584859111094, 0.04163837078835238),
    (0.956117214125663, 0.031336024167054534),
    (0.9819859636389568, 0.02030071490019347),
    (0.9965642995925474, 0.008807003569576059),
];

fn rule() -> &'static Rule {
    static RULE: OnceLock<Rule> = OnceLock::new();
    RULE.get_or_init(|| {
        let mut rule = Rule { nodes: [0.0; NODES], weights: [0.0; NODES] };
        for (i, (node, weight)) in rule.nodes.iter_mut().zip(&mut rule.weights).enumerate() {
            let (low, high) = (ENDS[i / PIECE], ENDS[i / PIECE + 1]);
            let (at, share) = GAUSS[i % PIECE];
            (*node, *weight) = (low + (high - low) * at, (high - low) * share);
        }
        rule
    })
}

/// An exponent `k`.
pub(super) trait Exponent {
    /// `k` at a point.
    fn at(&self, s: f64) -> f64;
    /// Its derivatives of first and second order at 0.
    fn start(&self) -> (f64, f64);
    /// Functions whose means under `e^(-k)` are wanted beside the integral.
    fn weights(&self, s: f64) -> [f64; 2];
}

/// Where the integrand ends.
const END: f64 = 42.0;

/// The point where `k` is [`END`], nearly, not below.
fn end(k: &impl Exponent) -> f64 {
    let (slope, bend) = k.start();
    // Where it would be if it were a parabola.
    let mut high = 2.0 * END / (slope + libm::hypot(slope, (2.0 * END).sqrt() * bend.sqrt()));
    let mut low = 0.0;
    // Beyond the range of the functions that make it, `k` is NaN.
    while k.at(high) < END {
        low = high;
        high *= 2.0;
        if !(high > 0.0 && high.is_finite()) {
            return low;
        }
    }
    for _ in 0..5 {
        let middle = 0.5 * (low + high);
        if k.at(middle) < END {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The integral.
pub(super) fn integral(k: &impl Exponent) -> f64 {
    let (length, rule) = (end(k), rule());
    let mut terms = [0.0; NODES];
    for (term, node) in terms.iter_mut().zip(&rule.nodes) {
        *term = -k.at(length * node);
    }
    let mut powers = [0.0; NODES];
    f64::map(&EXP, &terms, &mut powers);
    length * powers.iter().zip(&rule.weights).map(|(p, w)| p * w).sum::<f64>()
}

/// The integral, and the means of the functions that [`Exponent::weights`] gives.
pub(super) fn means(k: &impl Exponent) -> (f64, [f64; 2]) {
    let (length, rule) = (end(k), rule());
    let (mut total, mut sums) = (0.0, [0.0; 2]);
    for (node, weight) in rule.nodes.iter().zip(&rule.weights) {
        let s = length * node;
        let term = weight * libm::exp(-k.at(s));
        total += term;
        for (sum, f) in sums.iter_mut().zip(k.weights(s)) {
            *sum += term * f;
        }
    }
    (length * total, sums.map(|sum| sum / total))
}

/// The integral of a smooth function from 0 to `end`.
pub(super) fn over(end: f64, f: impl Fn(f64) -> f64) -> f64 {
    let rule = rule();
    end * rule.nodes.iter().zip(&rule.weights).map(|(node, weight)| weight * f(end * node)).sum::<f64>()
}
