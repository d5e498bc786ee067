//! Bessel functions: DLMF 10.

use super::bessel_first;
use super::bessel_second::low_orders;
use super::double::{two_product, two_sum, Double};
use super::parts::{gamma, gamma1p, horner, log_power, stirling, Product, FAR};
use super::quadrature::{integral, Exponent};
use crate::kernels::math::{single, SINPI};

/// The integrand of the modified function of the second kind, from its peak upwards or downwards: DLMF 10.32.9
/// over the whole line.
struct Peak {
    order: f64,
    /// The root of the sum of the squares of argument and order, and that less the order.
    root: f64,
    less: f64,
    up: bool,
}

/// `sinh(s) - s`.
fn sinh_bend(s: f64) -> f64 {
    if s > 1.0 {
        return libm::sinh(s) - s;
    }
    let (z, mut sum) = (s * s, 0.0);
    for k in (2..10).rev() {
        sum = (sum + 1.0) * z / f64::from(2 * k * (2 * k + 1));
    }
    s * z / 6.0 * (1.0 + sum)
}

/// `e^-s - 1 + s`.
#[inline]
fn decay(s: f64) -> f64 {
    super::parts::exp_bend(-s)
}

impl Exponent for Peak {
    fn at(&self, s: f64) -> f64 {
        let half = libm::sinh(0.5 * s);
        let rise = 2.0 * half * half;
        if self.up {
            self.root * rise + self.order * sinh_bend(s)
        } else {
            self.less * rise + self.order * decay(s)
        }
    }

    fn start(&self) -> (f64, f64) {
        (0.0, self.root)
    }

    fn weights(&self, _s: f64) -> [f64; 2] {
        [0.0; 2]
    }
}

/// Up to this order those between 0 and 1 and the recurrence are used: what it loses grows with the steps.
const LOW: f64 = 12.0;

/// `e^x K(x)` for orders that are not negative and positive arguments.
fn scaled_k(order: f64, x: f64) -> Product {
    if order <= LOW {
        let steps = order.round_ties_even();
        let mut mu = order - steps;
        let (mut last, mut value) = low_orders(mu, x);
        if steps == 0.0 {
            return Product { log: 0.0.into(), factor: last };
        }
        mu += 1.0;
        for _ in 1..steps as usize {
            (last, value) = (value, 2.0 * mu / x * value + last);
            mu += 1.0;
        }
        return Product { log: 0.0.into(), factor: value };
    }
    let squares = two_product(order, order) + two_product(x, x);
    let first = squares.0.sqrt();
    let rest = (squares - two_product(first, first)).value() / (2.0 * first);
    let root = two_sum(first, rest);
    // The value at the peak, order asinh(order / x) - root + x.
    let log = log_power(root + order.into(), x.into(), order) - root + x.into();
    let less = x * (x / (root.0 + order));
    let [up, down] = [true, false].map(|up| integral(&Peak { order, root: root.0, less, up }));
    Product { log, factor: 0.5 * (up + down) }
}

/// The modified Bessel function of the second kind, or `e^x` times it if `scaled`. Inf at 0, NaN below.
///
/// # Sources
/// Those of [`low_orders`], and DLMF 10.29.1 (recurrence); DLMF 10.32.9 for high orders.
pub fn bessel_k(order: f64, x: f64, scaled: bool) -> f64 {
    if x.is_nan() || x < 0.0 || order.is_nan() || order.is_infinite() {
        return f64::NAN;
    }
    if x == 0.0 {
        return f64::INFINITY;
    }
    if x == f64::INFINITY {
        return 0.0;
    }
    let Product { log, factor } = scaled_k(order.abs(), x);
    if factor.is_infinite() {
        return f64::INFINITY;
    }
    let log = if scaled { log } else { log - x.into() };
    Product { log, factor }.value()
}

/// `(x / 2)^order / gamma(order + 1)`.
fn power(order: f64, x: f64) -> Product {
    let half = Double::from(0.5 * x);
    if order < FAR {
        return Product { log: log_power(half, 1.0.into(), order), factor: 1.0 / gamma1p(order.into()) };
    }
    let log = log_power(half, order.into(), order) + order.into() - stirling(order).into();
    Product { log, factor: 1.0 / (std::f64::consts::TAU * order).sqrt() }
}

/// The quotient of the functions of the first kind of the next order and of this one: DLMF 10.33.1 by the
/// method of Lentz.
fn quotient(order: f64, x: f64) -> f64 {
    let (mut value, mut c, mut d, mut k) = (1e-300, 1e-300, 0.0, 1.0);
    loop {
        let b = 2.0 * (order + k) / x;
        d = 1.0 / (b + d);
        c = b + 1.0 / c;
        let step = c * d;
        value *= step;
        k += 1.0;
        if (step - 1.0).abs() < 2e-16 || k > 1e5 {
            return value;
        }
    }
}

/// `e^-x I(x)` for orders that are not negative and positive arguments.
fn scaled_i(order: f64, x: f64) -> Product {
    let quarter = 0.25 * x * x;
    // All terms are positive, and where x is below 40 there are at most 80 that count.
    if x < 40.0 || quarter <= 12.0 * (order + 1.0) {
        // DLMF 10.25.2
        let (mut term, mut sum, mut k) = (1.0, 1.0, 0.0);
        while term > 1e-18 * sum {
            k += 1.0;
            term *= quarter / (k * (order + k));
            sum += term;
        }
        let power = power(order, x);
        return Product { log: power.log - x.into(), factor: power.factor * sum };
    }
    if x >= 40.0 && order * order <= 2.0 * x {
        // DLMF 10.40.1
        let square = 4.0 * order * order;
        let (mut term, mut sum, mut k) = (1.0f64, 1.0, 0.0);
        while term.abs() > 1e-18 && k < 60.0 {
            k += 1.0;
            let odd = 2.0 * k - 1.0;
            term *= -(square - odd * odd) / (8.0 * k * x);
            sum += term;
        }
        return Product { log: 0.0.into(), factor: sum / (std::f64::consts::TAU * x).sqrt() };
    }
    let this = scaled_k(order, x);
    let square = order * order + x * x;
    if square >= 1e6 {
        // The product of both kinds: DLMF 10.41.3 times 10.41.4.
        let (p, r) = (order * order / square, 1.0 / square);
        let first = (1.0 - 6.0 * p + 5.0 * p * p) / 8.0;
        let second = horner(p, &[27.0, -580.0, 2170.0, -2772.0, 1155.0]) / 128.0;
        let product = 0.5 * (1.0 + r * (first + r * second)) / square.sqrt();
        return Product { log: -this.log, factor: product / this.factor };
    }
    // The Wronskian, DLMF 10.28.2.
    let next = scaled_k(order + 1.0, x);
    let shift = (next.log - this.log).exp() * next.factor + quotient(order, x) * this.factor;
    let log = -this.log;
    Product { log, factor: 1.0 / (x * shift) }
}

/// The modified Bessel function of the first kind, or `e^-|x|` times it if `scaled`. Of negative `x` NaN unless
/// the order is whole.
///
/// # Sources
/// Chebyshev series for the orders 0 and 1; DLMF 10.25.2 (series), 10.40.1 and 10.41 (large arguments and orders), 10.28.2 and 10.33.1 between them;
/// 10.27.2 for negative orders.
pub fn bessel_i(order: f64, x: f64, scaled: bool) -> f64 {
    let is_whole = order.trunc() == order;
    if x.is_nan() || order.is_nan() || order.is_infinite() || (x < 0.0 && !is_whole) {
        return f64::NAN;
    }
    let (size, n) = (x.abs(), order.abs());
    let sign = if x < 0.0 && n % 2.0 == 1.0 { -1.0 } else { 1.0 };
    if size == 0.0 {
        return match order {
            0.0 => 1.0,
            order if order > 0.0 || is_whole => 0.0,
            order => f64::INFINITY.copysign(gamma(order + 1.0)),
        };
    }
    if size == f64::INFINITY {
        return if scaled { 0.0 } else { sign * f64::INFINITY };
    }
    if n <= 1.0 && is_whole {
        let factor = bessel_first::scaled(n == 1.0, size);
        return sign * if scaled { factor } else { bessel_first::grown(factor, size) };
    }
    let Product { log, factor } = scaled_i(n, size);
    let log = if scaled { log } else { log + size.into() };
    let mut value = Product { log, factor }.value();
    if order < 0.0 && !is_whole {
        let reflected = single(&SINPI, n) * std::f64::consts::FRAC_2_PI;
        let log = if scaled { -2.0 * size } else { -size };
        let k = scaled_k(n, size);
        value += reflected * Product { log: k.log + log.into(), factor: k.factor }.value();
    }
    sign * value
}

/// The Bessel function of the first kind of order 0 or 1.
pub fn bessel_j(first: bool, x: f64) -> f64 {
    if first {
        libm::j1(x)
    } else {
        libm::j0(x)
    }
}

/// The Bessel function of the second kind of order 0 or 1: -Inf at 0, NaN below.
pub fn bessel_y(first: bool, x: f64) -> f64 {
    if x < 0.0 {
        return f64::NAN;
    }
    if first {
        libm::y1(x)
    } else {
        libm::y0(x)
    }
}
