//! Logarithms of densities of many points at once, in numbers of twice the digits in lanes.
//!
//! The bits are those of the functions of one point: the same operations in the same order, in which only errors of
//! products, which are exact, are by a fused multiply-add. Where no element is rare, each takes a fourth to a tenth of
//! the time.

use super::double::{fractions, Double, LEAST, LN_2_REST, LN_2_UPPER, UNIT};
use super::incomplete_beta::{log_beta_constant, log_beta_density};
use super::incomplete_gamma::{log_gamma_constant, log_gamma_density};
use super::parts::PLAIN;
use crate::kernels::math::lanes::{fast_two_sum, two_product, two_sum, Doubles, Singles, Wide, MOST_LANES};
use crate::kernels::math::vectors::{vectored, Vectored};

/// Points that are computed together: a whole number of vectors.
pub const TOGETHER: usize = 64;

/// As [`Double`], in each lane.
type Twice<V> = (V, V);

#[inline(always)]
fn negate<V: Doubles>(x: Twice<V>) -> Twice<V> {
    (x.0.negate(), x.1.negate())
}

/// As [`Double::log`], of numbers from 2^-960 to 2^960.
#[inline(always)]
fn log<V: Doubles>(x: Twice<V>, fractions: &[Double]) -> Twice<V> {
    let of = V::of;
    let m = x.0.and(V::of_bits((1 << 52) - 1)).or(V::of_bits(1022 << 52));
    let is_small = m.lt(of(std::f64::consts::FRAC_1_SQRT_2));
    let m = V::select(is_small, of(2.0) * m, m);
    // The exponent is in the last bits of a number from 2^52 on.
    let two_to_52 = of((1u64 << 52) as f64);
    let exponent = x.0.shr(52).or(two_to_52) - two_to_52;
    let exponent = exponent - V::select(is_small, of(1023.0), of(1022.0));
    let low = x.1 * exponent.negate().power_of_two();
    let (k, bits) = (of(UNIT) / m).whole();
    let inverse = k * of(1.0 / UNIT);
    let upper = m.and(V::of_bits(!0x7ff));
    let t = two_sum(upper * inverse - of(1.0), (m - upper) * inverse);
    let t = fast_two_sum(t.0, t.1 + low * inverse);
    let (h, square) = (t.0, two_product(t.0, t.0));
    let inner = (of(0.2) - h * of(1.0 / 6.0)) + square.0 * of(1.0 / 7.0);
    let rest = (of(1.0 / 3.0) - of(0.25) * h) + square.0 * inner;
    let low = square.0 * h * rest - (of(0.5) * square.1 + h * t.1) + t.1;
    let near = two_sum(h, of(-0.5) * square.0);
    let near = fast_two_sum(near.0, near.1 + low);
    let (mut at, mut high, mut rest) = ([0.0; MOST_LANES], [0.0; MOST_LANES], [0.0; MOST_LANES]);
    bits.store(&mut at);
    for lane in 0..V::LANES {
        let Double(of_fraction, of_rest) = fractions[(at[lane].to_bits() & 0x7ff) as usize - LEAST];
        (high[lane], rest[lane]) = (of_fraction, of_rest);
    }
    let fraction = (V::load(&high), V::load(&rest));
    let sum = two_sum(exponent * of(LN_2_UPPER), fraction.0);
    let with = two_sum(sum.0, near.0);
    let lows = exponent * of(LN_2_REST) + (fraction.1 + near.1);
    let far = fast_two_sum(with.0, with.1 + (sum.1 + lows));
    let is_near = exponent.same(of(0.0)) & k.same(of(UNIT));
    (V::select(is_near, near.0, far.0), V::select(is_near, near.1, far.1))
}

/// As [`times`](super::parts::times), of finite numbers.
#[inline(always)]
fn times<V: Doubles>(x: Twice<V>, y: V) -> Twice<V> {
    let product = two_product(x.0, y);
    two_sum(product.0, product.1 + x.1 * y)
}

/// As [`total`](super::double::total), as a double.
#[inline(always)]
fn total<V: Doubles, const N: usize>(parts: [Twice<V>; N]) -> V {
    let (mut sum, mut low) = (V::of(0.0), V::of(0.0));
    let mut i = 0;
    while i < N {
        let next = two_sum(sum, parts[i].0);
        (sum, low) = (next.0, low + (next.1 + parts[i].1));
        i += 1;
    }
    let sum = fast_two_sum(sum, low);
    sum.0 + sum.1
}

/// The numbers of some points, of which those that are rare are replaced.
struct Points {
    a: [f64; TOGETHER],
    b: [f64; TOGETHER],
    x: [f64; TOGETHER],
    /// What depends on the parameters alone.
    constants: [[f64; TOGETHER]; 2],
}

/// Their densities, of gamma variables, or of beta variables where `BETA`.
struct Densities<'p, const BETA: bool> {
    points: &'p Points,
    count: usize,
    out: &'p mut [f64; TOGETHER],
}

impl<const BETA: bool> Vectored for Densities<'_, BETA> {
    type Made = ();

    #[inline(always)]
    fn run<S: Singles<Scalar = f32>, D: Wide>(self) {
        let (fractions, points) = (fractions(), self.points);
        for at in (0..self.count).step_by(D::LANES) {
            let (a, x) = (D::load(&points.a[at..]), D::load(&points.x[at..]));
            let constant = (D::load(&points.constants[0][at..]), D::load(&points.constants[1][at..]));
            let log_x = log((x, D::of(0.0)), fractions);
            let y = if BETA {
                let b = D::load(&points.b[at..]);
                let log_rest = log(two_sum(D::of(1.0), x.negate()), fractions);
                total([times(log_x, a), negate(log_x), times(log_rest, b), negate(log_rest), constant])
            } else {
                total([times(log_x, a), negate(log_x), (x.negate(), D::of(0.0)), constant])
            };
            y.store(&mut self.out[at..]);
        }
    }
}

/// Densities at some points: `parameters(i)` and `x` of each, `constant` of the parameters, and `rare` for all others
/// than those that `is_common` holds for.
fn densities<const BETA: bool>(
    parameters: impl Fn(usize) -> [f64; 2],
    x: &[f64],
    out: &mut [f64],
    is_common: impl Fn([f64; 2], f64) -> bool,
    constant: impl Fn([f64; 2]) -> Double,
    rare: impl Fn([f64; 2], f64) -> f64,
) {
    let mut points = Points {
        a: [1.0; TOGETHER],
        b: [1.0; TOGETHER],
        x: [0.5; TOGETHER],
        constants: [[0.0; TOGETHER]; 2],
    };
    let mut made = [0.0; TOGETHER];
    let mut last = ([f64::NAN; 2], Double(0.0, 0.0));
    for (part, (x, out)) in x.chunks(TOGETHER).zip(out.chunks_mut(TOGETHER)).enumerate() {
        let at = |i: usize| parameters(part * TOGETHER + i);
        let mut left_out = 0u64;
        for (i, &x) in x.iter().enumerate() {
            let [a, b] = at(i);
            if !is_common([a, b], x) {
                left_out |= 1 << i;
                (points.a[i], points.b[i], points.x[i]) = (1.0, 1.0, 0.5);
                continue;
            }
            if last.0 != [a, b] {
                last = ([a, b], constant([a, b]));
            }
            (points.a[i], points.b[i], points.x[i]) = (a, b, x);
            (points.constants[0][i], points.constants[1][i]) = (last.1 .0, last.1 .1);
        }
        if left_out.count_ones() < x.len() as u32 {
            vectored(Densities::<BETA> { points: &points, count: x.len(), out: &mut made });
            out.copy_from_slice(&made[..x.len()]);
        }
        while left_out != 0 {
            let i = left_out.trailing_zeros() as usize;
            out[i] = rare(at(i), x[i]);
            left_out &= left_out - 1;
        }
    }
}

/// Whether a number is one that [`log`] is made for.
#[inline]
fn is_usual(x: f64) -> bool {
    const FAR: f64 = f64::from_bits((1023 + 960) << 52);
    (1.0 / FAR..FAR).contains(&x)
}

/// [`log_gamma_density`] of as many points as there are results.
pub fn log_gamma_densities(a: &[f64], x: &[f64], out: &mut [f64]) {
    densities::<false>(
        |i| [a[i], 1.0],
        x,
        out,
        |[a, _], x| a > 0.0 && a < PLAIN && is_usual(x),
        |[a, _]| log_gamma_constant(a),
        |[a, _], x| log_gamma_density(a, x),
    );
}

/// [`log_beta_density`] of as many points as there are results.
pub fn log_beta_densities(a: &[f64], b: &[f64], x: &[f64], out: &mut [f64]) {
    densities::<true>(
        |i| [a[i], b[i]],
        x,
        out,
        |[a, b], x| a > 0.0 && a < PLAIN && b > 0.0 && b < PLAIN && is_usual(x) && x < 1.0,
        |[a, b]| log_beta_constant(a, b),
        |[a, b], x| log_beta_density(a, b, x),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of all kinds, as a generator of Lehmer's draws them.
    fn numbers() -> impl FnMut() -> f64 {
        let mut state = 1u64;
        move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let u = (state >> 11) as f64 / (1u64 << 53) as f64;
            match state >> 7 & 15 {
                0 => (u * 16.0).floor(),
                1 => 1.0 - u * 1e-9,
                2 => (-700.0 * u).exp(),
                3 => (700.0 * u).exp(),
                4 => -u,
                5 => [f64::NAN, f64::INFINITY, 0.0, 1.0, 5e-324, PLAIN, f64::MAX][(u * 7.0) as usize],
                6 => 30.0 * u,
                7 => PLAIN * u,
                8 => 0.5 * (u * 20.0).ceil(),
                _ => u,
            }
        }
    }

    #[test]
    fn densities_have_the_bits_of_those_of_one_point() {
        let mut next = numbers();
        for count in [0, 1, 7, 63, 64, 65, 20_000] {
            let [a, b, x] = [(); 3].map(|_| (0..count).map(|_| next()).collect::<Vec<f64>>());
            let mut out = vec![f64::NAN; count];
            log_gamma_densities(&a, &x, &mut out);
            for (i, y) in out.iter().enumerate() {
                let one = log_gamma_density(a[i], x[i]);
                assert_eq!(y.to_bits(), one.to_bits(), "gamma {} at {}: {y}, {one}", a[i], x[i]);
            }
            log_beta_densities(&a, &b, &x, &mut out);
            for (i, y) in out.iter().enumerate() {
                let one = log_beta_density(a[i], b[i], x[i]);
                assert_eq!(y.to_bits(), one.to_bits(), "beta {}, {} at {}: {y}, {one}", a[i], b[i], x[i]);
            }
        }
    }
}
