//! Bessel functions: DLMF 10. The modified ones as in `kernels::math::special`; the others by Miller's algorithm and the
//! asymptotic series.

use super::double::{two_product, two_sum, Double};
use super::parts::{gamma, gamma1p, log_power, stirling, Product, FAR};
use super::quadrature::Exponent;
use super::{horner, looped, signed, Words};
use crate::kernels::math::special::tables::INVERSE_GAMMA;
use crate::ops::{Binary, Unary, Var};
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI, PI, TAU};

const INF: f64 = f64::INFINITY;

/// `K` of orders `mu` and `mu + 1` for `|mu| <= 1/2` and `x` up to 1, by the series of Temme (1975); scaled by `e^x`.
fn near_zero<'m, 'b>(mu: Var<'m, 'b>, x: Var<'m, 'b>) -> [Var<'m, 'b>; 2] {
    let square = mu * mu;
    let every_other = |first: usize| {
        let some: Vec<f64> = INVERSE_GAMMA.iter().skip(first).step_by(2).copied().collect();
        horner(square, &some)
    };
    let (even, odd) = (every_other(0), every_other(1));
    // 1 / gamma(1 + mu) and 1 / gamma(1 - mu).
    let (plus, minus) = (even + mu * odd, even - mu * odd);
    let log = (2.0 / x).log();
    let sigma = mu * log;
    let over_sine = mu * PI / mu.is(0.0).select(mu.of(1.0), mu.unary(Unary::sinpi));
    let over_sine = mu.is(0.0).select(mu.of(1.0), over_sine);
    let flat = sigma.size().lt(1e-5);
    let sinhc = flat.select(sigma * sigma / 6.0 + 1.0, sigma.sinh() / flat.select(sigma.of(1.0), sigma));
    let f = over_sine * (sinhc * log * even - sigma.cosh() * odd);
    let power = sigma.exp();
    let (p, q) = (power * 0.5 / plus, 0.5 / (power * minus));
    let one = x.of(1.0);
    let made = looped(
        &[f, p, q, one, f, p, one],
        &[mu, x],
        |s, _| s[6].lt(40.0),
        |s, v| {
            let k = s[6];
            let f = (k * s[0] + s[1] + s[2]) / (k * k - v[0] * v[0]);
            let (p, q) = (s[1] / (k - v[0]), s[2] / (k + v[0]));
            let c = s[3] * (v[1] * v[1] * 0.25 / k);
            vec![f, p, q, c, s[4] + c * f, s[5] + c * (p - k * f), k + 1.0]
        },
    );
    let scale = x.exp();
    [made[4] * scale, made[5] * 2.0 / x * scale]
}

/// `e^x K(x)` for orders that are not negative and positive arguments.
fn scaled_k<'m, 'b>(order: Var<'m, 'b>, x: Var<'m, 'b>) -> Product<'m, 'b> {
    let near = x.gt(1.0).or(order.gt(12.0)).not();
    let (nu, y) = (order.where_or(near, 0.5), x.where_or(near, 0.5));
    let steps = nu.unary(Unary::round_nearest_even);
    let mu = nu - steps;
    let [first, second] = near_zero(mu, y);
    let made = looped(
        &[first, second, mu + 1.0, mu.of(1.0)],
        &[y, steps],
        |s, p| s[3].less(p[1]),
        |s, p| vec![s[1], s[2] * 2.0 / p[0] * s[1] + s[0], s[2] + 1.0, s[3] + 1.0],
    );
    let factor = steps.is(0.0).select(first, made[1]);
    let zero = Double::from(x.of(0.0));
    let series = Product { log: zero, factor };

    let far = near.not();
    let (nu, y) = (order.where_or(far, 1.0), x.where_or(far, 2.0));
    let squares = two_product(nu, nu) + two_product(y, y);
    let first = squares.0.sqrt();
    let rest = (squares - two_product(first, first)).value() / (first * 2.0);
    let root = two_sum(first, rest);
    // The value at the peak, order asinh(order / x) - root + x.
    let log = log_power(root + nu.into(), y.into(), nu) - root + y.into();
    let less = y * (y / (root.0 + nu));
    let (up, down) = (Exponent::Up.integral(&[nu, root.0]), Exponent::Down.integral(&[nu, less]));
    let integral = Product { log, factor: (up + down) * 0.5 };
    Product::select(near, series, integral)
}

/// The modified Bessel function of the second kind, or `e^x` times it.
pub fn second<'m, 'b>(order: Var<'m, 'b>, x: Var<'m, 'b>, scaled: bool) -> Var<'m, 'b> {
    let is_bad = x.nan().or(x.lt(0.0)).or(order.finite().not());
    let usual = is_bad.or(x.is(0.0)).or(x.is(INF)).not();
    let (nu, y) = (order.size().where_or(usual, 1.0), x.where_or(usual, 1.0));
    let Product { log, factor } = scaled_k(nu, y);
    let log = if scaled { log } else { log - y.into() };
    let made =
        factor.is(INF).select(factor, Product { log, factor: factor.where_or(factor.finite(), 1.0) }.value());
    let made = x.is(0.0).select(x.of(INF), x.is(INF).select(x.of(0.0), made));
    is_bad.select(x.of(f64::NAN), made)
}

/// `(x / 2)^order / gamma(order + 1)`.
fn power<'m, 'b>(order: Var<'m, 'b>, x: Var<'m, 'b>) -> Product<'m, 'b> {
    let far = order.lt(FAR).not();
    let log = log_power((x * 0.5).into(), far.select(order, order.of(1.0)).into(), order);
    let (large, small) = (order.where_or(far, FAR), order.where_or(far.not(), 1.0));
    let by_stirling = log + large.into() - Double::from(stirling(large));
    Product {
        log: Double::select(far, by_stirling, log),
        factor: far.select(1.0 / (large * TAU).sqrt(), 1.0 / gamma1p(small.into())),
    }
}

/// The quotient of the functions of the first kind of the next order and of this one, by the method of Lentz.
fn quotient<'m, 'b>(order: Var<'m, 'b>, x: Var<'m, 'b>) -> Var<'m, 'b> {
    let tiny = x.of(1e-300);
    let one = x.of(1.0);
    let made = looped(
        &[tiny, tiny, x.of(0.0), one],
        &[order, x],
        |s, _| s[3].gt(0.0).and(s[3].lt(1e5)),
        |s, p| {
            let b = (p[0] + s[3]) * 2.0 / p[1];
            let d = 1.0 / (b + s[2]);
            let c = b + 1.0 / s[1];
            let step = c * d;
            let done = (step - 1.0).size().lt(2e-16).or(step.nan());
            vec![s[0] * step, c, d, done.select(d.of(0.0), s[3] + 1.0)]
        },
    );
    made[0]
}

/// `e^-x I(x)` for orders that are not negative and positive arguments.
fn scaled_i<'m, 'b>(order: Var<'m, 'b>, x: Var<'m, 'b>) -> Product<'m, 'b> {
    let (zero, one) = (x.of(0.0), x.of(1.0));
    let near = ((order + 1.0) * 12.0).less(x * x * 0.25).not();
    let (nu, y) = (order.where_or(near, 1.0), x.where_or(near, 1.0));
    let made = looped(
        &[one, one, zero],
        &[nu, y * y * 0.25],
        |s, _| (s[1] * 1e-18).less(s[0]),
        |s, p| {
            let k = s[2] + 1.0;
            let term = s[0] * (p[1] / (k * (p[0] + k)));
            vec![term, s[1] + term, k]
        },
    );
    let start = power(nu, y);
    let series = Product { log: start.log - y.into(), factor: start.factor * made[1] };

    let far = near.not().and(x.lt(40.0).not()).and((x * 2.0).less(order * order).not());
    let (nu, y) = (order.where_or(far, 0.5), x.where_or(far, 50.0));
    let made = looped(
        &[one, one, zero],
        &[nu * nu * 4.0, y],
        |s, _| s[0].size().gt(1e-18).and(s[2].lt(60.0)),
        |s, p| {
            let k = s[2] + 1.0;
            let odd = k * 2.0 - 1.0;
            let term = s[0] * (-(p[0] - odd * odd) / (k * 8.0 * p[1]));
            vec![term, s[1] + term, k]
        },
    );
    let asymptotic = Product { log: zero.into(), factor: made[1] / (y * TAU).sqrt() };

    let middle = near.or(far).not();
    let (nu, y) = (order.where_or(middle, 1.0), x.where_or(middle, 10.0));
    let this = scaled_k(nu, y);
    let square = nu * nu + y * y;
    // The product of both kinds.
    let (p, r) = (nu * nu / square, 1.0 / square);
    let first = (1.0 - p * 6.0 + p * p * 5.0) / 8.0;
    let second = horner(p, &[27.0, -580.0, 2170.0, -2772.0, 1155.0]) / 128.0;
    let product = (r * (first + r * second) + 1.0) * 0.5 / square.sqrt();
    let large = Product { log: -this.log, factor: product / this.factor };
    // The Wronskian.
    let is_large = square.lt(1e6).not();
    let (nu, y) = (is_large.select(one, nu), is_large.select(one + 9.0, y));
    let next = scaled_k(nu + 1.0, y);
    let shift = (next.log - this.log).exp() * next.factor + quotient(nu, y) * this.factor;
    let other = Product { log: -this.log, factor: 1.0 / (y * shift) };
    let middle = Product::select(is_large, large, other);
    Product::select(near, series, Product::select(far, asymptotic, middle))
}

/// The modified Bessel function of the first kind, or `e^-|x|` times it.
pub fn first<'m, 'b>(order: Var<'m, 'b>, x: Var<'m, 'b>, scaled: bool) -> Var<'m, 'b> {
    let whole = order.compare(crate::ops::Compare::eq, order.floor());
    let is_bad = x.nan().or(order.finite().not()).or(x.lt(0.0).and(whole.not()));
    let (zero, one) = (x.of(0.0), x.of(1.0));
    let (size, n) = (x.size(), order.size());
    let odd = n.binary(Binary::remainder, n.of(2.0)).is(1.0);
    let sign = x.lt(0.0).and(odd).select(-one, one);
    let usual = is_bad.or(size.is(0.0)).or(size.is(INF)).not();
    let (nu, y) = (n.where_or(usual, 1.0), size.where_or(usual, 1.0));
    let Product { log, factor } = scaled_i(nu, y);
    let log = if scaled { log } else { log + y.into() };
    let value = Product { log, factor }.value();
    // DLMF 10.27.2.
    let reflected = order.lt(0.0).and(whole.not()).and(usual);
    let k = scaled_k(nu.where_or(reflected, 1.0), y.where_or(reflected, 1.0));
    let less = if scaled { y * -2.0 } else { -y };
    let more = Product { log: k.log + less.into(), factor: k.factor }.value();
    let value = reflected.select(value + nu.unary(Unary::sinpi) * FRAC_2_PI * more, value);
    let pole = signed(zero + INF, gamma(order.where_or(whole.not(), 0.5) + 1.0));
    let at_zero = order.is(0.0).select(one, order.gt(0.0).or(whole).select(zero, pole));
    let at_end = if scaled { zero } else { sign * INF };
    let value = size.is(0.0).select(at_zero, size.is(INF).select(at_end, sign * value));
    is_bad.select(x.of(f64::NAN), value)
}

/// Coefficients of Hankel's asymptotic series: DLMF 10.17.1, with their signs, of even and of odd powers.
fn hankel(order: f64) -> [Vec<f64>; 2] {
    let (mut a, mut all) = (1.0, vec![1.0]);
    for k in 1..26 {
        let (k, odd) = (f64::from(k), f64::from(2 * k - 1));
        a *= (4.0 * order * order - odd * odd) / (8.0 * k);
        all.push(a);
    }
    let part = |first: usize| {
        let some = all.iter().skip(first).step_by(2).enumerate();
        some.map(|(k, a)| if k % 2 == 0 { *a } else { -a }).collect()
    };
    [part(0), part(1)]
}

/// From here on the asymptotic series is used.
const LARGE: f64 = 25.0;

/// The functions of the first kind of order 0 and 1, and those of the second kind.
///
/// # Sources
/// DLMF 3.6(iii) and 10.12.4 (Miller's algorithm), 10.23.15 and Abramowitz and Stegun 9.1.88 (Neumann's series of the
/// second kind), 10.17.3 and 10.17.4 (asymptotic series).
pub fn ordinary<'m, 'b>(x: Var<'m, 'b>) -> [Var<'m, 'b>; 4] {
    let (zero, one) = (x.of(0.0), x.of(1.0));
    let size = x.size();
    let middle = size.gt(LARGE).or(size.lt(1e-5)).or(size.nan()).not();
    let y = size.where_or(middle, 1.0);
    let made = looped(
        &[zero, one * 1e-300, one * 90.0, zero, zero, zero],
        &[y],
        |s, _| s[2].gt(0.0),
        |s, p| {
            let k = s[2];
            let half = (k * 0.5).floor();
            let is_even = (half * 2.0).compare(crate::ops::Compare::eq, k);
            let odd_half = half.binary(Binary::remainder, half.of(2.0)).is(1.0);
            let signed = odd_half.select(-s[1], s[1]);
            let safe = half.larger(half.of(1.0));
            let norm = is_even.select(s[3] + s[1] * 2.0, s[3]);
            let second = is_even.select(s[4] + signed / safe, s[4]);
            let rest = signed * k / (safe * (safe + 1.0));
            let third = is_even.or(half.is(0.0)).select(s[5], s[5] + rest);
            let next = k * 2.0 / p[0] * s[1] - s[0];
            // Brought back before it overflows.
            let scale = next.size().gt(1e100).select(k.of(1e-200), k.of(1.0));
            let all = [s[1], next, norm, second, third].map(|v| v * scale);
            vec![all[0], all[1], k - 1.0, all[2], all[3], all[4]]
        },
    );
    let norm = made[3] + made[1];
    let (j0, j1) = (made[1] / norm, made[0] / norm);
    const EULER: f64 = 0.5772156649015329;
    let log = (y * 0.5).log();
    let y0 = ((log + EULER) * j0 - made[4] / norm * 2.0) * FRAC_2_PI;
    let y1 = ((log + (EULER - 1.0)) * j1 - j0 / y - made[5] / norm) * FRAC_2_PI;

    let small = size.lt(1e-5);
    let z = size.where_or(small, 1e-6);
    let quarter = z * z * 0.25;
    let log = (z * 0.5).log() + EULER;
    let series = [
        1.0 - quarter * (1.0 - quarter * 0.25),
        z * 0.5 * (1.0 - quarter * 0.5),
        (log * (1.0 - quarter) + quarter) * FRAC_2_PI,
        (z * 0.5 * (log - 0.5) - 1.0 / z) * FRAC_2_PI,
    ];

    let large = size.gt(LARGE).and(size.lt(INF));
    let z = size.where_or(large, 30.0);
    let (sine, cosine) = (z.sin() * FRAC_1_SQRT_2, z.cos() * FRAC_1_SQRT_2);
    let (sum, apart) = (sine + cosine, sine - cosine);
    let root = (FRAC_2_PI / z).sqrt();
    let inverse = 1.0 / z;
    let square = inverse * inverse;
    let waves = |order: f64, cosine: Var<'m, 'b>, sine: Var<'m, 'b>| {
        let [p, q] = hankel(order);
        let (p, q) = (horner(square, &p), horner(square, &q) * inverse);
        [root * (p * cosine - q * sine), root * (p * sine + q * cosine)]
    };
    let ([a0, b0], [a1, b1]) = (waves(0.0, sum, apart), waves(1.0, apart, -sum));

    let all = [[j0, a0], [j1, a1], [y0, b0], [y1, b1]];
    let mut values = [zero; 4];
    for (i, (value, [near, far])) in values.iter_mut().zip(all).enumerate() {
        let v = small.select(series[i], middle.select(near, large.select(far, zero)));
        let v = size.nan().select(x, v);
        *value = match i {
            0 => v,
            1 => x.is(0.0).select(x, x.lt(0.0).and(size.finite()).select(-v, v)),
            _ => x.lt(0.0).select(x.of(f64::NAN), x.is(0.0).select(x.of(-INF), v)),
        };
    }
    values
}
