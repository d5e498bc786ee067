//! The gamma function, the scaled complementary error function, normal quantiles and the function of Lambert, as in
//! `kernels::math`.

use super::double::{two_product, two_sum, Double, HALF_LOG_2_PI};
use super::parts::FAR;
use super::{horner, looped, Words};
use crate::dtype::DType;
use crate::kernels::math::special::tables::{
    BRANCH_POINT, ERF, ERFC, ERF_INV, ERF_INV_END, ERF_INV_FAR, GAMMA, PROBIT_END, PROBIT_FAR, STIRLING,
};
use crate::ops::{Unary, Var};
use std::f64::consts::{PI, SQRT_2};

/// A formula computed in f64 and rounded once, as the kernels do.
fn in_double<'m, 'b>(x: Var<'m, 'b>, f: impl Fn(Var<'m, 'b>) -> Var<'m, 'b>) -> Var<'m, 'b> {
    f(x.convert(DType::F64)).convert(x.aval().dtype)
}

/// Gamma function; NaN at 0 and at negative whole numbers.
pub fn gamma<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    in_double(x, |x| {
        let size = x.size();
        let far = size.lt(FAR).not();
        // gamma(x) = gamma(y) product, with y from 1.5 to 2.5; the product carries its rounding errors.
        let near = size.where_or(far.not(), 1.0);
        let (mut y, mut product, mut lost) = (near, near.of(1.0), near.of(0.0));
        for _ in 0..6 {
            let more = y.lt(2.5).not();
            y = more.select(y - 1.0, y);
            let next = two_product(product, y);
            lost = more.select(lost * y + next.1, lost);
            product = more.select(next.0, product);
        }
        // Below, gamma(x) = gamma(x + 1) / x, or gamma(x + 2) / (x (x + 1)).
        let (below_half, below) = (near.lt(0.5), near.lt(1.5));
        let s = below_half.select(near, below.select(near - 1.0, y - 2.0));
        let p = horner(s, &GAMMA);
        let under = below_half.select(near * near + near, near.where_or(below, 1.0));
        let over = p * product + p * lost;
        // Stirling's formula as a sum of two numbers.
        let large = size.where_or(far, FAR).smaller(size.of(300.0));
        let line = large - 0.5;
        let inverse = 1.0 / large;
        let log = Double::from(large).log() * line.into()
            + (-large).into()
            + Double::of(large, HALF_LOG_2_PI)
            + (inverse * horner(inverse * inverse, &STIRLING)).into();
        // In two halves, of which none overflows alone; the logarithm is at most 1414.
        let root = Double(log.0 * 0.5, log.1 * 0.5);
        let (root, inverse_root) = (root.exp(), (-root).exp());
        let positive = far.select(root * root, over / under);
        // -pi / (x sin(pi x) gamma(-x)): DLMF 5.5.3.
        let turn = -(size * (-size).unary(Unary::sinpi));
        let turn = -PI / turn;
        let reflected = far.select(turn * inverse_root * inverse_root, turn * under / over);
        let tiny = size.lt(1e-20);
        let reflected = tiny.select(1.0 / x, reflected);
        let whole = x.compare(crate::ops::Compare::eq, x.floor());
        let made = x.lt(0.0).select(whole.select(x.of(f64::NAN), reflected), positive);
        let made = x.gt(171.7).select(x.of(f64::INFINITY), made);
        x.is(0.0).select(x.of(f64::NAN), x.nan().select(x, made))
    })
}

/// `e^(x^2)`.
fn exp_of_square<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    two_product(x, x).exp()
}

/// `e^(x^2) erfc(x)`.
pub fn erfcx<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    in_double(x, |x| {
        let size = x.size();
        let near = size.smaller(size.of(28.0));
        let y = horner((near - 4.0) / (near + 4.0), &ERFC) / (near + near + 1.0);
        // The asymptotic series.
        let inverse = 1.0 / size;
        let u = inverse * inverse * 0.5;
        let series = horner(u, &[1.0, -1.0, 3.0, -15.0, 105.0, -945.0, 10395.0, -135135.0]);
        let y = size.gt(28.0).select(inverse * 0.5641895835477563 * series, y);
        let twice = exp_of_square(size.smaller(size.of(30.0))) * 2.0;
        let y = x.lt(0.0).select(twice - y, y);
        // Near 0 that would be the rounding of a number above 1, twice.
        let inner = x.where_or(size.lt(0.5), 0.0);
        let small = (1.0 - (inner + inner * horner(inner * inner, &ERF))) * exp_of_square(inner);
        x.nan().select(x, size.lt(0.5).select(small, y))
    })
}

/// Quantile of the standard normal distribution.
pub fn probit<'m, 'b>(p: Var<'m, 'b>) -> Var<'m, 'b> {
    in_double(p, |p| {
        // The tail, and its distance from the middle.
        let above = p.gt(0.5);
        let tail = above.select(1.0 - p, p);
        let size = 1.0 - (tail + tail);
        let inside = tail.gt(0.0);
        let w = -(tail * 4.0 * (1.0 - tail)).where_or(inside, 1.0).log();
        let near = horner(w - 2.5, &ERF_INV) * size;
        let root = w.sqrt();
        let far = root.lt(3.75).select(horner(root - 3.1, &ERF_INV_FAR), horner(root - 5.0, &ERF_INV_END));
        let end = root.lt(12.0).select(horner(root - 9.0, &PROBIT_FAR), horner(root - 18.0, &PROBIT_END));
        let y = w.gt(4.99).select(root.lt(6.0).select(far * size, end), near) * SQRT_2;
        let y = above.select(y, -y);
        let (inf, zero) = (p.of(f64::INFINITY), p.of(0.0));
        let y = p.is(0.5).select(zero, p.is(0.0).select(-inf, p.is(1.0).select(inf, y)));
        p.nan().select(p, p.lt(0.0).or(p.gt(1.0)).select(p.of(f64::NAN), y))
    })
}

/// `e` as a sum of two.
const E: [f64; 2] = [std::f64::consts::E, 1.4456468917292502e-16];

/// The real number `w` with `w e^w = x`.
pub fn lambert_w<'m, 'b>(x: Var<'m, 'b>, below: bool) -> Var<'m, 'b> {
    let (zero, one, nan) = (x.of(0.0), x.of(1.0), x.of(f64::NAN));
    let e = Double::of(x, E);
    let above = two_product(x, e.0) + (x * e.1).into();
    let above = two_sum(above.0, one) + above.1.into();
    let square = above.value() * 2.0;
    let root = square.larger(zero).sqrt();
    let series = horner(if below { -root } else { root }, &BRANCH_POINT);
    let infinite = x.is(f64::INFINITY);
    let outside = if below { x.lt(0.0).not() } else { x.is(0.0).or(infinite) };
    let tiny = x.size().lt(1e-8);
    let by_series = root.lt(0.4).or(outside).or(x.nan());
    let by_newton = if below { by_series.not() } else { by_series.or(tiny).not() };
    let y = x.where_or(by_newton, if below { -0.1 } else { 1.0 });
    let root = root.where_or(by_newton, 0.5);
    let start = if below {
        let log = (-y).log();
        log.gt(-2.0).select(horner(-root, &BRANCH_POINT[..8]), log - (-log).log())
    } else {
        let log = y.log1p();
        let large = log * (1.0 - log.log1p() / (log + 2.0));
        let near = y.lt(0.0).and(root.lt(0.9));
        let small = near.select(horner(root, &BRANCH_POINT[..10]), y / (y + 1.0));
        y.lt(1.0).select(small, large)
    };
    let made = looped(
        &[start, zero],
        &[y],
        |s, _| s[1].lt(20.0),
        |s, p| {
            let w = s[0];
            let step = (p[0] / w).log() - w;
            let next = w + w / (w + 1.0) * step;
            let done = (w.size() * 1e-9).less((next - w).size()).not();
            vec![next, done.select(w.of(20.0), s[1] + 1.0)]
        },
    );
    let w = by_newton.select(made[0], series);
    // The double next to -1/e is below it by less than its last digit.
    let at_branch = square.lt(0.0);
    let w = at_branch.select(square.gt(-1e-15).select(-one, nan), w);
    if below {
        let w = x.is(0.0).select(x.of(f64::NEG_INFINITY), x.gt(0.0).select(nan, w));
        return x.nan().select(x, w);
    }
    let w = tiny.select(x - x * x, w);
    x.is(0.0).or(infinite).or(x.nan()).select(x, w)
}
