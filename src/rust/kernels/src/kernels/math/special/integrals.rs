//! Exponential integrals and Owen's function.

use super::double::{two_product, Double};
use super::parts::{digamma, Product};
use super::quadrature::{integral, over, Exponent};
use crate::kernels::math::{single, ERFC};

/// The exponent of `E_n`, over the logarithm of the variable: DLMF 8.19.3.
struct Expint {
    n: f64,
    x: f64,
}

impl Exponent for Expint {
    fn at(&self, s: f64) -> f64 {
        self.x * libm::expm1(s) + (self.n - 1.0) * s
    }

    fn start(&self) -> (f64, f64) {
        (self.x + self.n - 1.0, self.x)
    }

    fn weights(&self, _s: f64) -> [f64; 2] {
        [0.0; 2]
    }
}

/// The exponential integral `E_n(x)`, the integral of `e^(-x t) / t^n` from 1 on, for a whole `n >= 0` and `x >=
/// 0`; NaN elsewhere.
///
/// # Sources
/// DLMF 8.19.8 (series), 8.19.3.
pub fn expint(n: f64, x: f64) -> f64 {
    if x.is_nan() || x < 0.0 || !(n >= 0.0 && n.trunc() == n) || (n == f64::INFINITY && x.is_infinite()) {
        return f64::NAN;
    }
    if x == f64::INFINITY || n == f64::INFINITY {
        return 0.0;
    }
    if x == 0.0 {
        return if n > 1.0 { 1.0 / (n - 1.0) } else { f64::INFINITY };
    }
    if n == 0.0 {
        return libm::exp(-x) / x;
    }
    if x > 1.0 || n > 20.0 {
        return Product { log: Double::from(-x), factor: integral(&Expint { n, x }) }.value();
    }
    let (mut sum, mut power, mut m) = (0.0, 1.0, 0.0);
    while m < 40.0 {
        if m == n - 1.0 {
            sum += power * (digamma(n) - libm::log(x));
        } else {
            sum -= power / (m - n + 1.0);
        }
        m += 1.0;
        power *= -x / m;
    }
    sum
}

/// Euler's constant as a sum of two.
const EULER: Double = Double(0.5772156649015329, -4.942915152430645e-18);

/// The exponential integral `Ei(x)`, the principal value of the integral of `e^t / t` up to `x`; -Inf at 0.
///
/// # Sources
/// DLMF 6.6.2 (series), 6.12.2 (large arguments).
pub fn expi(x: f64) -> f64 {
    if x.is_nan() || x == f64::INFINITY {
        return x;
    }
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x < 0.0 {
        return -expint(1.0, -x);
    }
    if x <= 50.0 {
        let (mut sum, mut power, mut k) = (Double::from(0.0), 1.0, 0.0);
        while power > 1e-19 * sum.0 * k {
            k += 1.0;
            power *= x / k;
            sum = sum + (power / k).into();
        }
        return (Double::from(x).log() + EULER + sum).value();
    }
    let (mut sum, mut term, mut k) = (1.0, 1.0, 0.0);
    while term > 1e-18 && k < x {
        k += 1.0;
        term *= k / x;
        sum += term;
    }
    Product { log: x.into(), factor: sum / x }.value()
}

/// The complementary error function of `x / sqrt(2)`, without the rounding of that quotient.
fn erfc_of_root(x: f64) -> f64 {
    let z = x * std::f64::consts::FRAC_1_SQRT_2;
    // 1 / sqrt(2) is this much larger.
    let lost = two_product(x, std::f64::consts::FRAC_1_SQRT_2).1 + x * -4.833646656726457e-17;
    let y = single(&ERFC, z);
    // Far out the derivative is -2 z times the function; elsewhere the difference is of no weight.
    if z > 1.0 {
        y - y * (2.0 * z + 1.0 / z) * lost
    } else {
        y
    }
}

/// Owen's function `T(h, a)`: the probability that one of two normal variables is above `h`, and the other is
/// between 0 and `a` times the first.
///
/// # Sources
/// Owen 1956 for `a` beyond 1; Patefield and Tandy 2000, method T5, for the integral.
pub fn owens_t(h: f64, a: f64) -> f64 {
    if h.is_nan() || a.is_nan() {
        return f64::NAN;
    }
    let (height, slope) = (h.abs(), a.abs());
    let value = if slope == 0.0 || height == f64::INFINITY {
        0.0
    } else if slope == f64::INFINITY {
        0.25 * erfc_of_root(height)
    } else if slope <= 1.0 {
        within(height, slope)
    } else {
        let (one, two) = (erfc_of_root(height), erfc_of_root(slope * height));
        0.25 * (one + two - one * two) - within(slope * height, 1.0 / slope)
    };
    value.copysign(a)
}

/// For `a` up to 1.
fn within(h: f64, a: f64) -> f64 {
    let square = two_product(h, h);
    let end = if h * a > 9.2 { 9.2 / h } else { a };
    let sum = over(end, |t| {
        let u = t * t;
        libm::exp(-0.5 * u * square.0) / (1.0 + u)
    });
    let log = Double(-0.5 * square.0, -0.5 * square.1);
    Product { log, factor: sum / std::f64::consts::TAU }.value()
}
