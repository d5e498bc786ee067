//! Exponential integrals, Owen's function and the zeta functions, as in `kernels::math::special`.

use super::double::{two_product, two_sum, Double};
use super::parts::{gamma1p, log_power, stirling, Product, FAR};
use super::quadrature::{nodes, Exponent};
use super::{looped, opaque, signed, Words};
use crate::kernels::math::special::tables::EULER_MACLAURIN;
use crate::ops::{Binary, Unary, Var};
use std::f64::consts::{FRAC_1_SQRT_2, TAU};

const INF: f64 = f64::INFINITY;

/// The exponential integral `E_n(x)`.
pub fn expint<'m, 'b>(n: Var<'m, 'b>, x: Var<'m, 'b>) -> Var<'m, 'b> {
    let whole = n.compare(crate::ops::Compare::eq, n.floor());
    let is_bad = x.lt(0.0).or(x.nan()).or(n.lt(0.0)).or(whole.not()).or(n.is(INF).and(x.is(INF)));
    let at_end = x.is(INF).or(n.is(INF));
    let special = is_bad.or(at_end).or(x.is(0.0)).or(n.is(0.0));
    let by_integral = x.gt(1.0).or(n.gt(20.0));
    let integral = special.not().and(by_integral);
    let (m, y) = (n.where_or(integral, 1.0), x.where_or(integral, 2.0));
    let large = Product { log: (-y).into(), factor: Exponent::Expint.integral(&[m, y]) }.value();
    let series = special.not().and(by_integral.not());
    let (m, y) = (n.where_or(series, 1.0), x.where_or(series, 1.0));
    let made = looped(
        &[m.of(0.0), m.of(1.0), m.of(0.0)],
        &[m, y, m.digamma() - y.log()],
        |s, _| s[2].lt(40.0),
        |s, p| {
            let own = s[2].compare(crate::ops::Compare::eq, p[0] - 1.0);
            let under = own.select(s[2].of(1.0), s[2] - p[0] + 1.0);
            let sum = own.select(s[0] + s[1] * p[2], s[0] - s[1] / under);
            let next = s[2] + 1.0;
            vec![sum, s[1] * (-p[1] / next), next]
        },
    );
    let made = by_integral.select(large, made[0]);
    let made = n.is(0.0).select((-x).exp() / x, made);
    let at_zero = n.gt(1.0).select(1.0 / (n - 1.0), n.of(INF));
    let made = at_end.select(n.of(0.0), x.is(0.0).select(at_zero, made));
    is_bad.select(n.of(f64::NAN), made)
}

/// The exponential integral `Ei(x)`.
pub fn expi<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let below = x.lt(0.0);
    let negative = -expint(x.of(1.0), below.select(-x, x.of(1.0)));
    let near = x.gt(0.0).and(x.gt(50.0).not());
    let y = x.where_or(near, 1.0);
    let zero = y.of(0.0);
    let made = looped(
        &[zero, zero, y.of(1.0), zero],
        &[y],
        |s, _| (s[0] * s[3] * 1e-19).less(s[2]),
        |s, p| {
            let k = s[3] + 1.0;
            let power = s[2] * (p[0] / k);
            let sum = Double(s[0], s[1]) + (power / k).into();
            vec![sum.0, sum.1, power, k]
        },
    );
    // Euler's constant as a sum of two.
    let euler = Double::of(y, [0.5772156649015329, -4.942915152430645e-18]);
    let small = (Double::from(y).log() + euler + Double(made[0], made[1])).value();
    let far = x.gt(50.0).and(x.lt(INF));
    let y = x.where_or(far, 60.0);
    let made = looped(
        &[y.of(1.0), y.of(1.0), zero],
        &[y],
        |s, p| s[1].gt(1e-18).and(s[2].less(p[0])),
        |s, p| {
            let k = s[2] + 1.0;
            let term = s[1] * (k / p[0]);
            vec![s[0] + term, term, k]
        },
    );
    let large = Product { log: y.into(), factor: made[0] / y }.value();
    let made = near.select(small, far.select(large, below.select(negative, x)));
    x.is(0.0).select(x.of(-INF), made)
}

/// The complementary error function of `x / sqrt(2)`, without the rounding of that quotient.
fn erfc_of_root<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let z = x * FRAC_1_SQRT_2;
    let lost = two_product(x, x.of(FRAC_1_SQRT_2)).1 + x * -4.833646656726457e-17;
    let y = z.unary(Unary::erfc);
    let far = z.gt(1.0).and(z.lt(40.0));
    far.select(y - y * (z * 2.0 + 1.0 / z) * lost, y)
}

/// Owen's function `T(h, a)`.
pub fn owens_t<'m, 'b>(h: Var<'m, 'b>, a: Var<'m, 'b>) -> Var<'m, 'b> {
    let (height, slope) = (h.size(), a.size());
    let none = slope.is(0.0).or(height.is(INF));
    let steep = slope.gt(1.0);
    let usual = none.or(slope.is(INF)).or(height.nan()).or(slope.nan()).not();
    let (t, s) = (height.where_or(usual, 1.0), slope.where_or(usual, 0.5));
    let turned = usual.and(steep);
    let part = within(turned.select(s * t, t), turned.select(1.0 / s, s));
    let (one, two) = (erfc_of_root(t), erfc_of_root(s * t));
    let value = turned.select((one + two - one * two) * 0.25 - part, part);
    let value = slope.is(INF).select(erfc_of_root(height) * 0.25, value);
    let value = none.select(h.of(0.0), value);
    signed(value, a)
}

/// For `a` up to 1.
fn within<'m, 'b>(h: Var<'m, 'b>, a: Var<'m, 'b>) -> Var<'m, 'b> {
    // The integrand is 0 where its exponent is beyond the range.
    let h = h.smaller(h.of(1e100));
    let square = two_product(h, h);
    let end = (h * a).gt(9.2).select(9.2 / h, a);
    let sum = end
        * nodes(1, &[end, square.0], |p, node| {
            let t = p[0] * node;
            let u = t * t;
            vec![(u * -0.5 * p[1]).exp() / (u + 1.0)]
        })[0];
    let log = Double(square.0 * -0.5, square.1 * -0.5);
    Product { log, factor: sum * (1.0 / TAU) }.value()
}

fn pow<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> Var<'m, 'b> {
    x.binary(Binary::pow, y)
}

/// By Euler-Maclaurin summation, for positive `q`; `beyond` is `s - 1`.
fn summed<'m, 'b>(s: Var<'m, 'b>, beyond: Var<'m, 'b>, q: Var<'m, 'b>) -> Var<'m, 'b> {
    let (zero, one) = (s.of(0.0), s.of(1.0));
    fn power<'m, 'b>(s: Var<'m, 'b>, q: Var<'m, 'b>, k: Var<'m, 'b>) -> (Var<'m, 'b>, Var<'m, 'b>) {
        let base = two_sum(q, k);
        (base.0, pow(base.0, -s) * (1.0 - s * base.1 / base.0))
    }
    let made = looped(
        &[zero, zero, one],
        &[s, q, s.size() * 0.75 + 9.0],
        |state, _| state[2].gt(0.0),
        |state, p| {
            let (base, power) = power(p[0], p[1], state[1]);
            let enough = base.less(p[2]).not();
            let sum = enough.select(state[0], state[0] + power);
            let negligible = p[0].gt(1.0).and((sum * 1e-18).less(power).not());
            // 0: the rest is to be added; -1: it is too small.
            let (go_on, rest, end) = (base.of(1.0), base.of(0.0), base.of(-1.0));
            let next = enough.select(rest, negligible.select(end, go_on));
            vec![sum, next.gt(0.0).select(state[1] + 1.0, state[1]), next]
        },
    );
    let (base, power) = power(s, q, made[1]);
    let h = 1.0 / base;
    let (mut term, mut series) = (s * h * h, 1.0 / beyond + h * 0.5);
    for (j, &coefficient) in EULER_MACLAURIN.iter().enumerate() {
        series = series + term * coefficient;
        let rising = s + 2.0 * j as f64;
        term = term * (((rising + 1.0) * h) * ((rising + 2.0) * h));
    }
    made[2].lt(0.0).select(made[0], made[0] + power * base * series)
}

/// The zeta function of Hurwitz, and for `q = 1` that of Riemann.
pub fn zeta<'m, 'b>(s: Var<'m, 'b>, q: Var<'m, 'b>) -> Var<'m, 'b> {
    let riemann = q.is(1.0).and(s.lt(1.0));
    let below = riemann.and(s.lt(0.0));
    let is_bad = s.nan().or(q.nan()).or(s.is(-INF)).or(riemann.not().and(s.lt(1.0).or(q.lt(0.0))));
    let far = q.is(INF);
    let usual = is_bad.or(s.is(1.0)).or(q.is(0.0)).or(far).or(s.is(INF)).not();
    let (t, p) = (s.where_or(usual, 2.0), q.where_or(usual, 1.0));
    let above = two_sum(opaque(1.0, t), -t);
    let sum = summed(below.select(above.0, t), below.select(-t, t - 1.0), p);
    // DLMF 25.4.1 where the sum would cancel.
    let n = t.where_or(below, -1.0);
    let above = Double(above.0.where_or(below, 2.0), above.1.where_or(below, 0.0));
    let sine = (n * 0.5).unary(Unary::sinpi);
    let rest = sine * sum;
    let near = above.0.lt(FAR);
    let direct = pow(t.of(TAU), near.select(n, t.of(-1.0)) - 1.0) * 2.0;
    let direct = direct * gamma1p(near.select(-n, t.of(1.0)).into()) * rest;
    let large = Double(above.0.where_or(near.not(), FAR), above.1.where_or(near.not(), 0.0));
    let two_pi = Double::of(t, [TAU, 2.4492935982947064e-16]);
    let log = log_power(large, two_pi, large.0) - large + stirling(large.0).into();
    let by_stirling = Product { log, factor: (TAU / large.0).sqrt() * 2.0 * rest }.value();
    let reflected = sine.is(0.0).select(t.of(0.0), near.select(direct, by_stirling));
    let made = below.select(reflected, sum);
    let at_infinity = q.lt(1.0).select(s.of(INF), q.gt(1.0).select(s.of(0.0), s.of(1.0)));
    let made = s.is(INF).select(at_infinity, made);
    let made = far.select(s.of(0.0), made);
    let made = is_bad.select(s.of(f64::NAN), q.is(0.0).select(s.of(INF), made));
    s.is(1.0).and(q.nan().not()).select(s.of(INF), made)
}
