//! Formulas of functions of floats that StableHLO lacks, or whose expansions in XLA are less accurate.

use super::coefficients::*;
use super::complex::{self, first_quadrant, signed};
use super::elementwise::is_nan;
use crate::dtype::DType;
use crate::ops::{Binary, Compare, Part, Unary, Var};
use std::f64::consts::{LOG10_2, LOG10_E, LOG2_E, PI};

/// `x` as `m * 2^e`, with `m` between the square roots of 1/2 and 2; both are floats. Special values become
/// `m`.
pub(super) fn split_exponent<'m, 'b>(x: Var<'m, 'b>) -> [Var<'m, 'b>; 2] {
    let dtype = x.aval().dtype;
    let (int, digits, up) = match dtype {
        DType::F64 => (DType::I64, 52, 54),
        _ => (DType::I32, 23, 25),
    };
    // Subnormal numbers are made normal first.
    let smallest = if dtype == DType::F64 { f64::MIN_POSITIVE } else { f64::from(f32::MIN_POSITIVE) };
    let tiny = x.compare(Compare::lt, x.of(smallest));
    let normal = tiny.select(x * 2f64.powi(up), x);
    // The exponent is in the difference of the bits from those of the square root of 1/2.
    let root = std::f64::consts::FRAC_1_SQRT_2;
    let base = if dtype == DType::F64 { root.to_bits() as i64 } else { i64::from((root as f32).to_bits()) };
    let bits = normal.bitcast(int);
    let above = bits - bits.integer(base);
    let e = above.binary(Binary::shift_right_arithmetic, bits.integer(digits));
    let m = (bits - e.binary(Binary::shift_left, bits.integer(digits))).bitcast(dtype);
    let e = e.convert(dtype);
    let e = tiny.select(e - f64::from(up), e);
    let ordinary =
        x.compare(Compare::gt, x.of(0.0)).binary(Binary::and, x.compare(Compare::lt, x.of(f64::INFINITY)));
    [ordinary.select(m, x), ordinary.select(e, x.of(0.0))]
}

/// The power of 2.
pub(super) fn exp2<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    x.of(2.0).binary(Binary::pow, x)
}

/// `max(x, 0) + log1p(e^-|x|)`.
pub(super) fn softplus<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    x.binary(Binary::max, x.of(0.0)) + (-size(x)).exp().unary(Unary::log1p)
}

/// Logarithm to base 2: the exponent plus the logarithm of the significand. Exact for powers of two.
pub(super) fn log2<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    if x.aval().dtype.is_complex() {
        return scaled_log(x, LOG2_E);
    }
    let [m, e] = split_exponent(x);
    e + m.log() * LOG2_E
}

/// Logarithm to base 10, with `log10(2)` in two parts, so that its product with an exponent is exact.
pub(super) fn log10<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    if x.aval().dtype.is_complex() {
        return scaled_log(x, LOG10_E);
    }
    let [m, e] = split_exponent(x);
    // The high part has few enough digits for exact products, the low part has the rest.
    let high = if x.aval().dtype == DType::F64 {
        f64::from(LOG10_2 as f32)
    } else {
        (LOG10_2 * 4096.0).round() / 4096.0
    };
    let low = LOG10_2 - high;
    e * high + (e * low + m.log() * LOG10_E)
}

/// The logarithm of a complex number, divided by `unit`.
fn scaled_log<'m, 'b>(z: Var<'m, 'b>, unit: f64) -> Var<'m, 'b> {
    let log = z.log();
    (log.part(Part::real) * unit).complex(log.part(Part::imag) * unit)
}

/// A formula computed in f64 and rounded once, as the kernels do.
fn in_double<'m, 'b>(x: Var<'m, 'b>, f: impl Fn(Var<'m, 'b>) -> Var<'m, 'b>) -> Var<'m, 'b> {
    f(x.convert(DType::F64)).convert(x.aval().dtype)
}

/// Polynomial with these coefficients, constant first.
fn horner<'m, 'b>(coefficients: &[f64], x: Var<'m, 'b>) -> Var<'m, 'b> {
    let mut terms = coefficients.iter().rev();
    let last = x.of(terms.next().copied().unwrap_or(0.0));
    terms.fold(last, |sum, &c| sum * x + c)
}

fn less<'m, 'b>(x: Var<'m, 'b>, y: f64) -> Var<'m, 'b> {
    x.compare(Compare::lt, x.of(y))
}

fn size<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    x.unary(Unary::abs)
}

/// A number that a compiler cannot fold, since it is NaN where `x` is.
fn opaque<'m, 'b>(number: f64, x: Var<'m, 'b>) -> Var<'m, 'b> {
    is_nan(x).select(x, x.of(number))
}

/// `log(1 + x)`, from the logarithm of the rounded sum and a correction for the rounding.
pub(super) fn log1p<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let one = opaque(1.0, x);
    let sum = x + one;
    let lost = x - (sum - one);
    let plain = is_nan(sum).binary(Binary::or, sum.compare(Compare::eq, x.of(f64::INFINITY)));
    let plain = plain.binary(Binary::or, sum.compare(Compare::eq, x.of(0.0)));
    // So small a number is its own result, and keeps its sign.
    let tiny = less(size(x), f64::EPSILON / 2.0);
    tiny.select(x, plain.select(sum.log(), sum.log() + lost / sum))
}

/// Inverse hyperbolic tangent, `log1p(2x / (1 - x)) / 2` of the absolute value.
pub(super) fn atanh<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    if x.aval().dtype.is_complex() {
        return first_quadrant(x, Unary::atanh);
    }
    let a = size(x);
    signed((a * 2.0 / (1.0 - a)).unary(Unary::log1p) * 0.5, x)
}

/// Whether `e^x` overflows or nearly does.
fn is_far<'m, 'b>(a: Var<'m, 'b>) -> Var<'m, 'b> {
    a.compare(Compare::gt, a.of(if a.aval().dtype == DType::F64 { 700.0 } else { 85.0 }))
}

/// Hyperbolic sine: `(e + e / (e + 1)) / 2` with `e = exp(x) - 1`, and half of the exponential beyond.
pub(super) fn sinh<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    if x.aval().dtype.is_complex() {
        return complex::sinh(x);
    }
    let a = size(x);
    let e = a.unary(Unary::expm1);
    let root = (a * 0.5).exp();
    signed(is_far(a).select(root * 0.5 * root, (e + e / (e + 1.0)) * 0.5), x)
}

/// Hyperbolic cosine: `(e + 1 / e) / 2` with `e = exp(|x|)`.
pub(super) fn cosh<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    if x.aval().dtype.is_complex() {
        return complex::cosh(x);
    }
    let a = size(x);
    let e = a.exp();
    let root = (a * 0.5).exp();
    is_far(a).select(root * 0.5 * root, e * 0.5 + 0.5 / e)
}

/// Complementary error function, by a rational function in each of four ranges.
///
/// # Sources
/// FreeBSD's `s_erf.c`.
pub(super) fn erfc<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    in_double(x, |x| {
        let a = size(x);
        let square = x * x;
        let near = x * (horner(&ERFC_NEAR_OVER, square) / horner(&ERFC_NEAR_UNDER, square));
        let near = less(x, 0.25).select(1.0 - (x + near), 0.5 - (x - 0.5 + near));
        let s = a - 1.0;
        let one = horner(&ERFC_ONE_OVER, s) / horner(&ERFC_ONE_UNDER, s);
        let below = less(x, 0.0);
        let one = below.select(one + ERF_ONE + 1.0, x.of(1.0 - ERF_ONE) - one);
        // Beyond 30 the result is 0 or 2.
        let a = a.binary(Binary::min, a.of(30.0));
        let u = 1.0 / (a * a);
        let ratio = less(a, 1.0 / 0.35).select(
            horner(&ERFC_FAR_OVER, u) / horner(&ERFC_FAR_UNDER, u),
            horner(&ERFC_TAIL_OVER, u) / horner(&ERFC_TAIL_UNDER, u),
        );
        // The square of the upper half of the digits is exact.
        let bits = a.bitcast(DType::I64);
        let upper = bits.binary(Binary::and, bits.integer(-(1 << 32))).bitcast(DType::F64);
        // Compilers merge a product of two exponentials to one of the sum, which loses those digits.
        let far = (-upper * upper - 0.5625).exp() / a * ((upper - a) * (upper + a) + ratio).exp();
        let far = below.select(2.0 - far, far);
        less(size(x), 0.84375).select(near, less(size(x), 1.25).select(one, far))
    })
}

/// A rational approximation of relative error 3e-7, then one iteration of Halley's method (third order) on
/// `erf(y) - x`, or on `erfc(y) - (1 - x)` beyond 1/2, where `1 - x` is exact and the problem is well
/// conditioned in it.
///
/// # Sources
/// The approximation: interpolation at Chebyshev nodes, `tests/testdata/special/generate.py coefficients`.
pub(super) fn erf_inv<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    in_double(x, |x| {
        let a = size(x);
        let complement = 1.0 - a;
        let u = a * a;
        let inner = a * horner(&[0.886226926, -1.29643104, 0.489324807, -0.0311325348], u)
            / horner(&[1.0, -1.72466507, 0.859725918, -0.10961115], u);
        let w = (-complement.log()).sqrt();
        let outer = horner(&[-0.0102728016, 0.105572941, 0.491561171, 1.79713543, 0.440718288], w)
            / horner(&[1.0, 1.18082351, 1.81535484, 0.440157577, 1.09641911e-5], w);
        let start = a.compare(Compare::le, a.of(0.75)).select(inner, outer);
        let residual = a
            .compare(Compare::le, a.of(0.5))
            .select(start.unary(Unary::erf) - a, complement - start.unary(Unary::erfc));
        let newton = residual / ((-start * start).exp() * std::f64::consts::FRAC_2_SQRT_PI);
        let made = signed(start - newton / (start * newton + 1.0), x);
        let small = x * (1.0 / std::f64::consts::FRAC_2_SQRT_PI);
        let edge = a.compare(Compare::eq, a.of(1.0)).select(x * f64::INFINITY, x.of(f64::NAN));
        less(a, 1e-8).select(small, less(a, 1.0).select(made, edge))
    })
}

/// The absolute value of `sin(pi x)` for `x >= 0`.
fn sin_pi<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let turn = (x * 0.5 - (x * 0.5).floor()) * 2.0;
    let quarter = ((turn * 4.0).floor() + 1.0) * 0.5;
    let quarter = quarter.floor();
    let rest = (turn - quarter * 0.5) * std::f64::consts::PI;
    let odd =
        quarter.compare(Compare::eq, x.of(1.0)).binary(Binary::or, quarter.compare(Compare::eq, x.of(3.0)));
    size(odd.select(rest.cos(), rest.sin()))
}

/// Logarithm of the absolute value of the gamma function, by a polynomial in each of several ranges.
///
/// # Sources
/// FreeBSD's `e_lgamma_r.c`.
pub(super) fn lgamma<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    in_double(x, |x| {
        let a = size(x);
        let log = a.log();
        // Below 2, polynomials around 1, the minimum and 2; smaller arguments are moved up by the recurrence,
        // which subtracts a logarithm.
        let low = less(a, 0.9);
        let from = |below: f64, above: f64| low.select(less(a, below), less(a, above)).unary(Unary::not);
        let (last, middle) =
            (from(0.7315998077392578, 1.731600761413574), from(0.23163998126983643, 1.2316322326660156));
        let base = low.select(-log, a.of(0.0));
        let y = low.select(1.0 - a, 2.0 - a);
        let square = y * y;
        let two = y * horner(&LGAMMA_TWO_EVEN, square) + square * horner(&LGAMMA_TWO_ODD, square) - y * 0.5;
        let y = low.select(a - (MINIMUM_AT - 1.0), a - MINIMUM_AT);
        let (square, cube) = (y * y, y * y * y);
        let rest = horner(&LGAMMA_MINIMUM_1, cube) + y * horner(&LGAMMA_MINIMUM_2, cube);
        let around = square * horner(&LGAMMA_MINIMUM_0, cube) - (MINIMUM_REST - cube * rest) + MINIMUM;
        let y = low.select(a, a - 1.0);
        let one = y * horner(&LGAMMA_ONE_OVER, y) / horner(&LGAMMA_ONE_UNDER, y) - y * 0.5;
        let below_two = base + last.select(two, middle.select(around, one));
        // From 2 to 8, a rational function of the fraction.
        let whole = a.floor();
        let y = a - whole;
        let mut product = a.of(1.0);
        for k in [6.0, 5.0, 4.0, 3.0, 2.0] {
            let counts = less(whole, k + 1.0).unary(Unary::not);
            product = counts.select(product * (y + k), product);
        }
        let eight = y * 0.5 + y * horner(&LGAMMA_EIGHT_OVER, y) / horner(&LGAMMA_EIGHT_UNDER, y);
        let below_eight = less(whole, 3.0).select(eight, eight + product.log());
        // Stirling's series.
        let over = 1.0 / a;
        let series = over * horner(&LGAMMA_SERIES, over * over) + LGAMMA_CONSTANT;
        let series = (a - 0.5) * (log - 1.0) + series;
        let huge = a * (log - 1.0);
        let beyond = less(a, 2f64.powi(58)).select(series, huge);
        let positive = less(a, 2.0).select(below_two, less(a, 8.0).select(below_eight, beyond));
        // Reflection: gamma(x) gamma(-x) = -pi / (x sin(pi x)).
        let sine = sin_pi(a);
        let pole = sine.compare(Compare::eq, a.of(0.0));
        let reflected = (std::f64::consts::PI / (sine * a)).log() - positive;
        let infinite = a.compare(Compare::eq, a.of(f64::INFINITY));
        let pole = pole.binary(Binary::and, less(x, 0.0)).binary(Binary::or, infinite);
        let made = pole.select(a.of(f64::INFINITY), less(x, 0.0).select(reflected, positive));
        less(a, 2f64.powi(-70)).select(-log, made)
    })
}

/// Derivative of lgamma, by recurrence to a polynomial on [1, 2], and by the asymptotic series.
///
/// # Sources
/// DLMF 5.5.2 (recurrence), 5.5.4 (reflection), 5.11.2 (asymptotic series).
pub(super) fn digamma<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    // The zero of digamma in two parts, less 1.
    const ZERO: f64 = 0.46163214496836236;
    const ZERO_REST: f64 = -1.5522348162858677e-17;
    in_double(x, |x| {
        let below = less(x, 0.0);
        let z = below.select(1.0 - x, x);
        let u = 1.0 / (z * z);
        let series = z.log() - (0.5 / z + u * horner(&DIGAMMA_SERIES, u));
        let small = less(z, 1.0);
        // The recurrence down to [1, 2]; below 10 it takes at most these iterations.
        let mut y = small.select(z, z - 1.0);
        let mut steps = z.of(0.0);
        for _ in 0..8 {
            let more = y.compare(Compare::gt, y.of(1.0));
            steps = more.select(steps + 1.0 / y, steps);
            y = more.select(y - 1.0, y);
        }
        let past_one = (y - ZERO - opaque(ZERO_REST, y)) * horner(&DIGAMMA_OVER_ROOT, y - 0.5);
        let near = past_one + small.select(-1.0 / z, steps);
        let positive = less(z, 10.0).select(near, series);
        // Reflection.
        let from_pole = x - x.unary(Unary::round_nearest_afz);
        let a = size(from_pole);
        let pi = std::f64::consts::PI;
        let cot = a
            .compare(Compare::le, a.of(0.25))
            .select(1.0 / (a * pi).unary(Unary::tan), ((0.5 - a) * pi).unary(Unary::tan));
        let reflected = positive - signed(cot, from_pole) * pi;
        let pole = from_pole.compare(Compare::eq, a.of(0.0)).binary(Binary::and, below);
        let pole = pole.binary(Binary::or, x.compare(Compare::eq, x.of(0.0)));
        pole.select(x.of(f64::NAN), below.select(reflected, positive))
    })
}

/// CHLO's op, with our poles and limits: NaN unless `n` is a whole number, not negative; at 0 and at negative
/// whole numbers Inf for odd `n`, else NaN; at Inf a zero with the sign of the limit.
pub(super) fn polygamma<'m, 'b>(n: Var<'m, 'b>, x: Var<'m, 'b>) -> Var<'m, 'b> {
    let dtype = x.aval().dtype;
    if dtype != DType::F64 {
        let [n, x] = [n, x].map(|x| x.convert(DType::F64));
        return n.binary(Binary::polygamma, x).convert(dtype);
    }
    let (zero, inf, nan) = (x.of(0.0), x.of(f64::INFINITY), x.of(f64::NAN));
    let either = |a: Var<'m, 'b>, b: Var<'m, 'b>| a.binary(Binary::or, b);
    let whole = n.compare(Compare::eq, n.floor()).binary(Binary::and, n.compare(Compare::lt, inf));
    let valid = whole
        .binary(Binary::and, less(n, 0.0).unary(Unary::not))
        .binary(Binary::and, x.compare(Compare::gt, -inf));
    let odd = n.binary(Binary::remainder, n.of(2.0)).compare(Compare::eq, n.of(1.0));
    let pole = x.compare(Compare::le, zero).binary(Binary::and, x.compare(Compare::eq, x.floor()));
    let edge = pole.select(odd.select(inf, nan), odd.select(zero, -zero));
    let at_edge = either(pole, x.compare(Compare::eq, inf));
    let made = at_edge.select(edge, n.binary(Binary::polygamma, x));
    let made = n.compare(Compare::eq, zero).select(x.digamma(), made);
    valid.select(made, nan)
}

/// A number less the nearest even whole one: from -1 to 1, without a rounding error.
fn within_a_turn<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    x - (x * 0.5).unary(Unary::round_nearest_even) * 2.0
}

/// The sine of `pi` times a number from -1 to 1, by that of one from -1/2 to 1/2.
fn sine_of_turn<'m, 'b>(r: Var<'m, 'b>) -> Var<'m, 'b> {
    let half = size(r).compare(Compare::gt, r.of(0.5));
    let near = half.select(r.sign() - r, r);
    let steep = size(near).compare(Compare::gt, r.of(0.25));
    let cosine = ((size(near) - 0.5) * PI).cos() * near.sign();
    steep.select(cosine, (near * PI).sin())
}

/// Sine of `pi x`.
pub(super) fn sinpi<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let y = sine_of_turn(within_a_turn(x));
    y.compare(Compare::eq, y.of(0.0)).select(signed(y, x), y)
}

/// Cosine of `pi x`.
pub(super) fn cospi<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let r = size(within_a_turn(x));
    let shifted = 0.5 - r;
    let y = r.compare(Compare::lt, r.of(0.25)).select((r * PI).cos(), sine_of_turn(shifted));
    y + 0.0
}

/// Tangent of `pi x`; NaN halfway between whole numbers.
pub(super) fn tanpi<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let (sine, cosine) = (sinpi(x), cospi(x));
    let y = sine / cosine;
    let y = cosine.compare(Compare::eq, x.of(0.0)).select(x.of(f64::NAN), y);
    // Exact at quarters.
    let y = size(sine).compare(Compare::eq, size(cosine)).select(y.sign(), y);
    y.compare(Compare::eq, y.of(0.0)).select(signed(y, x), y)
}
