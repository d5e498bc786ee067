//! Roots of unity.

use crate::dtype::Float;
use std::f64::consts::FRAC_PI_2;

/// The `n`th roots of unity, `exp(-2 pi i k / n)`.
pub struct Roots {
    n: usize,
    /// Powers of the root, each `2^bits` apart, and those between two of these.
    coarse: Vec<[f64; 2]>,
    fine: Vec<[f64; 2]>,
    bits: u32,
}

/// The product of two complex numbers.
fn product(x: [f64; 2], y: [f64; 2]) -> [f64; 2] {
    [x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]]
}

/// `exp(-2 pi i k / n)` for `k < n`, each part within 1 ulp, and exact where it is 0, 1 or -1.
pub fn root(k: usize, n: usize) -> [f64; 2] {
    let quarters = 4 * k as u128;
    let (quarter, rest) = (quarters / n as u128, quarters % n as u128);
    // Angles of more than an eighth of a turn by their complement to a quarter.
    let beyond = 2 * rest > n as u128;
    let part = if beyond { n as u128 - rest } else { rest };
    let angle = part as f64 / n as f64 * FRAC_PI_2;
    let (mut sine, mut cosine) = (libm::sin(angle), libm::cos(angle));
    if beyond {
        (sine, cosine) = (cosine, sine);
    }
    match quarter {
        0 => [cosine, -sine],
        1 => [-sine, -cosine],
        2 => [-cosine, sine],
        _ => [sine, cosine],
    }
}

impl Roots {
    /// Up to this many are all computed by themselves.
    const FEW: usize = 1 << 13;

    /// The roots of order `n`.
    pub fn new(n: usize) -> Roots {
        let bits = if n <= Roots::FEW { 0 } else { (usize::BITS - n.leading_zeros()).div_ceil(2) };
        let coarse = (0..n.div_ceil(1 << bits)).map(|k| root(k << bits, n)).collect();
        let fine = if bits > 0 { (0..1 << bits).map(|k| root(k, n)).collect() } else { Vec::new() };
        Roots { n, coarse, fine, bits }
    }

    /// Root number `k`, rounded; any `k`.
    pub fn get<T: Float>(&self, k: usize) -> [T; 2] {
        let k = k % self.n;
        let coarse = self.coarse[k >> self.bits];
        let exact =
            if self.bits == 0 { coarse } else { product(coarse, self.fine[k & ((1 << self.bits) - 1)]) };
        exact.map(T::of)
    }
}
