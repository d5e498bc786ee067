//! Modified Bessel functions of the second kind of a low order and the next one, times `e^x`.
//!
//! Near 0 by the series of Temme (1975). Beyond, of the orders 0 and 1 by Chebyshev series of `sqrt(x) e^x K(x)` in `2 /
//! x - 1`, whose coefficients are of interpolation in 64 Chebyshev points, computed with 40 digits, and are as accurate as
//! the sum is, 2 ulp; of other orders by the continued fraction of Temme (1975), computed forwards with the sum that makes
//! it the function (Thompson, Barnett 1987), 8 ulp.

use super::bessel_first::series;
use crate::kernels::math::{single, SINPI};

/// Up to this argument the series of Temme is used: it has 6 ulp there, and fewer digits from term to term beyond.
const NEAR: f64 = 1.0;

/// `K` of orders `mu` and `mu + 1` for `|mu| <= 1/2` and positive `x`, times `e^x`.
pub(super) fn low_orders(mu: f64, x: f64) -> (f64, f64) {
    if x <= NEAR {
        return near_zero(mu, x);
    }
    if mu == 0.0 {
        let (t, root) = (2.0 / x - 1.0, x.sqrt());
        return (series(t, &K0_FAR) / root, series(t, &K1_FAR) / root);
    }
    if x > FAR {
        let value = (std::f64::consts::FRAC_PI_2 / x).sqrt();
        return (value, value);
    }
    by_fraction(mu, x)
}

/// From here on the first term of DLMF 10.40.2 is the function, to the last digit.
const FAR: f64 = 1e17;

/// Terms of the continued fraction; at `x = 1` some 170 count.
const MOST: u32 = 500;

/// As [`low_orders`], from `x = 1` on.
fn by_fraction(mu: f64, x: f64) -> (f64, f64) {
    let first = 0.25 - mu * mu;
    let (mut a, mut b) = (-first, 2.0 * (1.0 + x));
    let mut inverse = 1.0 / b;
    let (mut step, mut fraction) = (inverse, inverse);
    // The solution of the recurrence that the sum is of, and its coefficients.
    let (mut before, mut last) = (0.0, 1.0);
    let (mut coefficient, mut weight) = (first, first);
    let mut sum = 1.0 + weight * step;
    for n in 2..MOST {
        let n = f64::from(n);
        a -= 2.0 * (n - 1.0);
        coefficient *= -a / n;
        (before, last) = (last, (before - b * last) / a);
        weight += coefficient * last;
        b += 2.0;
        let below = a * inverse;
        inverse = 1.0 / (b + below);
        // That is `b * inverse - 1`.
        step *= -below * inverse;
        fraction += step;
        let term = weight * step;
        sum += term;
        if term.abs() <= 1e-17 * sum || sum.is_nan() {
            break;
        }
    }
    let value = (std::f64::consts::FRAC_PI_2 / x).sqrt() / sum;
    (value, value * (mu + x + 0.5 - first * fraction) / x)
}

/// Coefficients of `1 / gamma(1 + x)`: DLMF 5.7.1.
pub const INVERSE_GAMMA: [f64; 24] = [
    1.0,
    0.5772156649015329,
    -0.6558780715202539,
    -0.04200263503409524,
    0.16653861138229148,
    -0.04219773455554433,
    -0.009621971527876973,
    0.0072189432466631,
    -0.0011651675918590652,
    -0.00021524167411495098,
    0.0001280502823881162,
    -2.013485478078824e-05,
    -1.2504934821426706e-06,
    1.133027231981696e-06,
    -2.056338416977607e-07,
    6.116095104481416e-09,
    5.002007644469223e-09,
    -1.18127457048702e-09,
    1.0434267116911005e-10,
    7.782263439905071e-12,
    -3.696805618642206e-12,
    5.100370287454476e-13,
    -2.0583260535665066e-14,
    -5.348122539423018e-15,
];

/// As [`low_orders`], up to [`NEAR`]: the series of Temme (1975).
fn near_zero(mu: f64, x: f64) -> (f64, f64) {
    let square = mu * mu;
    let every_other = |first: usize| -> f64 {
        INVERSE_GAMMA.iter().skip(first).step_by(2).rev().fold(0.0, |sum, c| sum * square + c)
    };
    let (even, odd) = (every_other(0), every_other(1));
    // 1 / gamma(1 + mu) and 1 / gamma(1 - mu).
    let (plus, minus) = (even + mu * odd, even - mu * odd);
    let log = libm::log(2.0 / x);
    let sigma = mu * log;
    let over_sine = if mu == 0.0 { 1.0 } else { std::f64::consts::PI * mu / single(&SINPI, mu) };
    let sinhc = if sigma.abs() < 1e-5 { 1.0 + sigma * sigma / 6.0 } else { libm::sinh(sigma) / sigma };
    let mut f = over_sine * (sinhc * log * even - libm::cosh(sigma) * odd);
    let power = libm::exp(sigma);
    let (mut p, mut q) = (0.5 * power / plus, 0.5 / (power * minus));
    let (mut c, mut sum, mut next) = (1.0, f, p);
    for k in 1..40 {
        let k = f64::from(k);
        f = (k * f + p + q) / (k * k - square);
        p /= k - mu;
        q /= k + mu;
        c *= 0.25 * x * x / k;
        sum += c * f;
        next += c * (p - k * f);
        if c * f < 1e-18 * sum {
            break;
        }
    }
    let scale = libm::exp(x);
    (sum * scale, 2.0 * next / x * scale)
}

const K0_FAR: [f64; 33] = [
    1.1944330762167386,
    -0.053855323307629495,
    0.004362000068251702,
    -0.0005521270349863234,
    8.959565555755952e-05,
    -1.7138726856421186e-05,
    3.695146089045472e-06,
    -8.737284518980525e-07,
    2.225046272255236e-07,
    -6.025216756376064e-08,
    1.7186668629418083e-08,
    -5.1272057810909205e-09,
    1.5907351467912106e-09,
    -5.10958325791419e-10,
    1.6929517419961088e-10,
    -5.7683063818637606e-11,
    2.0159542597761383e-11,
    -7.210940065346495e-12,
    2.6349075982806445e-12,
    -9.819576891759296e-13,
    3.72695818784577e-13,
    -1.4388149744180521e-13,
    5.6436532735816866e-14,
    -2.2469288334596896e-14,
    9.072046991627365e-15,
    -3.711589997838162e-15,
    1.537582290719742e-15,
    -6.445464362724762e-16,
    2.7324144482527955e-16,
    -1.1707837700385628e-16,
    5.067869397943657e-17,
    -2.215087912714289e-17,
    9.77208135793031e-18,
];
const K1_FAR: [f64; 33] = [
    1.4532756675938414,
    0.19051350202061165,
    -0.008406706460495654,
    0.0008815363164514389,
    -0.000129995769583983,
    2.3441638979785087e-05,
    -4.853489413610226e-06,
    1.1139969511197356e-06,
    -2.772707643805077e-07,
    7.37247184977708e-08,
    -2.0717892129028323e-08,
    6.103966549420336e-09,
    -1.873778917957349e-09,
    5.963886884453419e-10,
    -1.96028004074301e-10,
    6.632273899864202e-11,
    -2.3034250700407756e-11,
    8.193082518369976e-12,
    -2.9786645069974164e-12,
    1.1049772078983365e-12,
    -4.1763277431648047e-13,
    1.6061141914625803e-13,
    -6.277632672531289e-14,
    2.4911830875182032e-14,
    -1.002779686252293e-14,
    4.091059996919741e-15,
    -1.690331071434488e-15,
    7.068360792264328e-16,
    -2.9895680121763374e-16,
    1.2781913900252084e-16,
    -5.521491188037584e-17,
    2.4087033253210474e-17,
    -1.0606842599776099e-17,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_of_computing_join_on() {
        for i in 0..=40 {
            let mu = 0.025 * f64::from(i) - 0.5;
            let pairs =
                [(near_zero(mu, 1.0), by_fraction(mu, 1.0)), (low_orders(mu, 1.5), by_fraction(mu, 1.5))];
            for (one, other) in pairs {
                for (one, other) in [(one.0, other.0), (one.1, other.1)] {
                    assert!((one / other - 1.0).abs() < 16.0 * f64::EPSILON, "{mu}: {one}, {other}");
                }
            }
        }
        // The Chebyshev series are those of the fraction.
        for i in 0..200 {
            let x = 1.0 + 0.3 * f64::from(i);
            let (one, other) = (low_orders(0.0, x), by_fraction(0.0, x));
            assert!((one.0 / other.0 - 1.0).abs() < 10.0 * f64::EPSILON, "{x}");
            assert!((one.1 / other.1 - 1.0).abs() < 10.0 * f64::EPSILON, "{x}");
        }
        // At both sides of where the function is its first term.
        for mu in [-0.4, 0.1, 0.3] {
            for x in [1e12, 0.9 * FAR, 1.1 * FAR, 1e30, 1e200, 1e308] {
                let (root, values) = ((std::f64::consts::FRAC_PI_2 / x).sqrt(), low_orders(mu, x));
                let next = root * (1.0 + (4.0 * (mu + 1.0) * (mu + 1.0) - 1.0) / (8.0 * x));
                assert!(
                    (values.0 / root - 1.0).abs() < 1e-11 && (values.1 / next - 1.0).abs() < 1e-11,
                    "{x}"
                );
                assert!(x < 1e15 || (values.0 / root - 1.0).abs() < 1e-15, "{x}: {values:?}");
            }
        }
        // DLMF 10.39.2 of half an order.
        for x in [1.25, 2.0, 30.0, 1e6, 1e300] {
            let root = (std::f64::consts::FRAC_PI_2 / x).sqrt();
            assert!((by_fraction(0.5, x).0 / root - 1.0).abs() < 1e-15, "{x}");
        }
    }
}
