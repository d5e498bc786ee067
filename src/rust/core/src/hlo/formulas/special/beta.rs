//! The beta function, binomial coefficients and the regularised incomplete beta function: DLMF 8.17, as in
//! `kernels::math::special`.

use super::double::{two_product, two_sum, Double, HALF_LOG_2_PI};
use super::parts::{digamma_less_log, gamma1p, lgamma1p, log_bend, log_power, stirling, Product, FAR};
use super::quadrature::Exponent;
use super::tails::{step, Tails, Target};
use super::{looped, opaque, Words};
use crate::kernels::math::special::tables::STIRLING;
use crate::ops::{Binary, Unary, Var};

const INF: f64 = f64::INFINITY;

/// The largest parameter whose products have a rounding error.
const LARGEST: f64 = 1e290;

/// A point: the parameters, and the variable with what is left to 1.
#[derive(Clone, Copy)]
struct Point<'m, 'b> {
    a: Var<'m, 'b>,
    b: Var<'m, 'b>,
    x: Double<'m, 'b>,
    y: Double<'m, 'b>,
}

fn rest<'m, 'b>(x: Var<'m, 'b>) -> Double<'m, 'b> {
    two_sum(opaque(1.0, x), -x)
}

impl<'m, 'b> Point<'m, 'b> {
    fn new(a: Var<'m, 'b>, b: Var<'m, 'b>, x: Var<'m, 'b>) -> Point<'m, 'b> {
        Point { a, b, x: x.into(), y: rest(x) }
    }

    fn mirrored(self) -> Point<'m, 'b> {
        Point { a: self.b, b: self.a, x: self.y, y: self.x }
    }

    fn select(condition: Var<'m, 'b>, yes: Point<'m, 'b>, no: Point<'m, 'b>) -> Point<'m, 'b> {
        Point {
            a: condition.select(yes.a, no.a),
            b: condition.select(yes.b, no.b),
            x: Double::select(condition, yes.x, no.x),
            y: Double::select(condition, yes.y, no.y),
        }
    }

    /// A point that has a value everywhere, where another is not wanted.
    fn only(self, wanted: Var<'m, 'b>) -> Point<'m, 'b> {
        let half: Double = self.a.of(0.5).into();
        Point::select(wanted, self, Point { a: self.a.of(0.5), b: self.a.of(0.5), x: half, y: half })
    }

    /// `x^a y^b / (a B(a, b))`. The powers are of quotients near 1 at the mean.
    fn prefix(self) -> Product<'m, 'b> {
        let Point { a, b, x, y } = self;
        let sum = two_sum(a, b);
        let (is_a, is_b) = (a.lt(FAR).not(), b.lt(FAR).not());
        let any = is_a.or(is_b);
        let both = is_a.and(is_b);
        let (one, zero) = (a.of(1.0), a.of(0.0));
        let power = |x: Double<'m, 'b>, p: Var<'m, 'b>, is_far: Var<'m, 'b>| {
            let x = Double::select(any, x * sum, x);
            log_power(x, is_far.select(p, one).into(), p)
        };
        let log = power(x, a, is_a) + power(y, b, is_b);
        let less = is_a.select(b, a).where_or(both.not().and(any), 0.0);
        let less = Double::select(both, Double::of(a, HALF_LOG_2_PI), less.into());
        let correction =
            |v: Var<'m, 'b>, is_far: Var<'m, 'b>| is_far.select(stirling(is_far.select(v, v.of(FAR))), zero);
        let rest = correction(sum.0, any) - correction(a, is_a) - correction(b, is_b);
        // gamma(1 + v) where Stirling's formula is not for v.
        let near = |v: Var<'m, 'b>, is_far: Var<'m, 'b>| gamma1p(is_far.select(one, v).into());
        let of_sum = gamma1p(Double(sum.0.where_or(any.not(), 1.0), sum.1.where_or(any.not(), 0.0)));
        let (of_a, of_b) = (near(a, is_a), near(b, is_b));
        let large_b = (b / sum.0).sqrt();
        let factor = both.select(
            large_b / a.sqrt(),
            is_b.select(
                large_b / of_a,
                is_a.select((b / a) * (a / sum.0).sqrt() / of_b, of_sum / of_b * (b / sum.0) / of_a),
            ),
        );
        Product { log: log - less + rest.into(), factor }
    }

    /// The sum of `(a + b)_n / (a + 1)_n x^n`, and the derivatives of its logarithm with respect to `a` and `b`.
    fn series(self) -> [Var<'m, 'b>; 3] {
        let (one, zero) = (self.a.of(1.0), self.a.of(0.0));
        let made = looped(
            &[one, zero, zero, zero, one, zero, zero],
            &[self.a, self.b, self.x.0],
            |s, _| {
                let size = s[0] * (s[2] + 1.0);
                size.less(s[4] * 1e-18).not().and(size.nan().not())
            },
            |s, p| {
                let n = s[3];
                let term = s[0] * ((p[0] + p[1] + n) / (p[0] + 1.0 + n) * p[2]);
                let to_sum = 1.0 / (p[0] + p[1] + n);
                let by_a = s[1] + (1.0 - p[1]) / (p[0] + 1.0 + n) * to_sum;
                let by_b = s[2] + to_sum;
                vec![term, by_a, by_b, n + 1.0, s[4] + term, s[5] + term * by_a, s[6] + term * by_b]
            },
        );
        [made[4], made[5] / made[4], made[6] / made[4]]
    }

    /// The sum of `(1 - b)_n x^n / (n! (a + n))` from 1 on.
    fn alternating(self) -> Var<'m, 'b> {
        let (one, zero) = (self.a.of(1.0), self.a.of(0.0));
        let made = looped(
            &[one, zero, zero, one],
            &[self.a, self.b, self.x.0],
            |s, _| s[3].gt(0.0),
            |s, p| {
                let n = s[2] + 1.0;
                let power = s[0] * ((n - p[1]) / n * p[2]);
                let term = power / (p[0] + n);
                let sum = s[1] + term;
                let done = term.size().less(sum.size() * 1e-18).or(term.is(0.0)).or(term.nan());
                vec![power, sum, n, done.select(n.of(0.0), n.of(1.0))]
            },
        );
        made[1]
    }

    /// Whether both tails have formulas of their own: neither is then 1 less the other.
    fn is_small(self) -> Var<'m, 'b> {
        self.a.lt(1.0).and(self.x.0.gt(0.5).not()).and((self.b * self.x.0).lt(0.7))
    }

    fn is_above_mean(self) -> Var<'m, 'b> {
        (self.a * self.y.0).less(self.b * self.x.0)
    }

    /// Where the series of the lower tail is quicker than the integral, below the mean.
    fn has_series(self) -> Var<'m, 'b> {
        let quick = ((self.a + self.b) * self.x.0).less((self.a + 1.0) * 0.7);
        self.a.lt(1.0).or(self.x.0.lt(0.7).and(quick))
    }

    /// The parameters of the integral.
    fn exponent(self) -> [Var<'m, 'b>; 5] {
        let Point { a, b, x, y } = self;
        let slope = (y * a.into() - x * b.into()).value().larger(a.of(0.0));
        [a, a + b, x.0, y.0, slope]
    }

    /// The point or its mirror, in which the lower tail is computed, and whether it is the mirror.
    fn turned(self) -> (Point<'m, 'b>, Var<'m, 'b>) {
        let other = self.mirrored().is_small().or(self.is_above_mean());
        let is_mirrored = self.is_small().not().and(other);
        (Point::select(is_mirrored, self.mirrored(), self), is_mirrored)
    }

    /// Both tails inside of the range.
    fn tails(self) -> Tails<'m, 'b> {
        let huge = self.a.larger(self.b).gt(LARGEST);
        let (p, is_upper) = self.only(huge.not()).turned();
        let small = p.is_small();
        let has_series = small.or(p.has_series());
        let integral = p.only(has_series.not());
        let integral = integral.a * Exponent::Beta.integral(&integral.exponent());
        let sum = has_series.select(p.only(has_series).series()[0], integral);
        // `log(a B(a, b))` = log(gamma(1 + a)) - log(gamma(a + b) / gamma(b))
        let q = p.only(small);
        let s = q.a * q.x.0.log() - lgamma1p(q.a) + log_gamma_step(q.b, q.a);
        let number = -(s.expm1() + s.exp() * q.a * q.alternating());
        // All the weight is at the mean.
        let side = |is: Var<'m, 'b>| is.select(self.a.of(0.5), self.a.of(0.0));
        let at_end = self.a.of(0.5) + side(self.is_above_mean()) - side(self.mirrored().is_above_mean());
        Tails {
            product: p.prefix().times(sum),
            is_upper,
            is_small: small,
            number,
            is_end: huge,
            at_end,
            is_bad: self.a.nan(),
        }
    }
}

/// `log(gamma(b + a) / gamma(b))` for `a` below 1, accurate relative to `a`.
fn log_gamma_step<'m, 'b>(b: Var<'m, 'b>, a: Var<'m, 'b>) -> Var<'m, 'b> {
    // Up to where the series of Stirling holds.
    let (mut sum, mut z) = (a.of(0.0), b);
    for _ in 0..8 {
        let near = z.lt(FAR);
        sum = near.select(sum - (a / z).log1p(), sum);
        z = near.select(z + 1.0, z);
    }
    let ratio = a / z;
    let grown = ratio.log1p();
    let mut power = 1.0 / z;
    for (k, &coefficient) in STIRLING.iter().enumerate() {
        sum = sum + power * coefficient * (grown * -((2 * k + 1) as f64)).expm1();
        power = power / (z * z);
    }
    sum + a * z.log() + (z + a - 0.5) * log_bend(ratio) + (a - 0.5) * ratio
}

/// The complete beta function of positive numbers.
fn complete<'m, 'b>(a: Var<'m, 'b>, b: Var<'m, 'b>) -> Product<'m, 'b> {
    let one: Double = a.of(1.0).into();
    // 1 / a + 1 / b, of which quotients may be out of range: the error is no more than the smaller one.
    let (low, high) = (a.smaller(b), a.larger(b));
    let tiny = low.lt(1e-30);
    let inverse = 1.0 / low.where_or(low.lt(1e-300).not(), 1.0) + 1.0 / high;
    let sum = Product {
        log: low.lt(1e-300).select((low / high).log1p() - low.log(), a.of(0.0)).into(),
        factor: low.lt(1e-300).select(a.of(1.0), inverse),
    };
    let (a, b) = (a.where_or(tiny.not(), 1.0), b.where_or(tiny.not(), 1.0));
    let Product { log, factor } = Point { a, b, x: one, y: one }.prefix();
    Product::select(tiny, sum, Product { log: -log, factor: 1.0 / factor / a })
}

/// The beta function, or its logarithm.
pub fn complete_value<'m, 'b>(a: Var<'m, 'b>, b: Var<'m, 'b>, is_log: bool) -> Var<'m, 'b> {
    let (low, high) = (a.smaller(b), a.larger(b));
    let is_bad = low.lt(0.0).or(low.is(0.0).and(high.is(INF))).or(low.nan());
    let end = low.is(0.0).select(a.of(INF), a.of(0.0));
    let is_end = low.is(0.0).or(high.is(INF));
    let usual = is_bad.or(is_end).not();
    let product = complete(a.where_or(usual, 1.0), b.where_or(usual, 1.0));
    let (end, made) = if is_log { (end.log(), product.log()) } else { (end, product.value()) };
    is_bad.select(a.of(f64::NAN), is_end.select(end, made))
}

fn is_whole<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    x.compare(crate::ops::Compare::eq, x.floor())
}

fn rounded<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    x.unary(Unary::round_nearest_even)
}

/// Binomial coefficient, or the logarithm of its size.
pub fn choose<'m, 'b>(n: Var<'m, 'b>, k: Var<'m, 'b>, is_log: bool) -> Var<'m, 'b> {
    let k = rounded(k);
    let is_bad = n.finite().and(k.finite()).not();
    let (n, k) = (n.where_or(is_bad.not(), 1.0), k.where_or(is_bad.not(), 0.0));
    let whole = is_whole(n);
    // By symmetry.
    let mirrored = whole.and(n.lt(0.0).not()).and((n - k).less(k));
    let k = mirrored.select(n - k, k);
    let few = k.lt(30.0);
    // n (n - 1) ... (n - k + 1) / k!
    let one = n.of(1.0);
    let made = looped(
        &[one, one.of(0.0), one],
        &[n, k.where_or(few, 0.0)],
        |s, p| s[2].gt(0.0).and(p[1].less(s[2]).not()),
        |s, p| {
            let term = two_sum(p[0], 1.0 - s[2]);
            let next = Double(s[0], s[1]) * term / s[2].into();
            vec![next.0, next.1, s[2] + 1.0]
        },
    );
    let number = k.lt(0.0).select(one.of(0.0), Double(made[0], made[1]).value());
    let odd = k.binary(Binary::remainder, k.of(2.0)).is(0.0).select(one, -one);
    let below = n.lt(0.0);
    let above = (n - k + 1.0).gt(0.0);
    let many = few.not();
    let (m, j) = (n.where_or(many, 50.0), k.where_or(many, 30.0));
    let [negative, usual] = [below.and(many), below.not().and(above.or(few))];
    // gamma(k - n) / (gamma(k + 1) gamma(-n)); gamma(n + 1) / (gamma(k + 1) gamma(n - k + 1)); or that by reflection.
    let first = negative.select(-m, usual.select(m - j + 1.0, m + 1.0));
    let second = negative.or(usual).select(j + 1.0, j - m);
    let Product { log, factor } = complete(first, second);
    let divisor = negative.select(j - m, m + 1.0);
    let inverse = Product { log: -log, factor: 1.0 / factor / divisor };
    let sine = m.unary(Unary::sinpi);
    let reflected = Product { log, factor }.times(sine.size() * std::f64::consts::FRAC_1_PI);
    let plain = negative.or(usual);
    let product = Product::select(plain, inverse, reflected);
    let sign = negative.select(odd, usual.select(one, -odd * sine.sign()));
    let value = few.select(number, product.value());
    if is_log {
        let near = few.or(value.lt(1e15));
        let close = whole.and(value.finite()).and(near);
        let made = few.select(value.size().log(), product.log());
        return is_bad.select(one.of(f64::NAN), close.select(rounded(value).size().log(), made));
    }
    let value = few.select(value, sign * value);
    let value = whole.and(value.finite()).select(rounded(value), value);
    is_bad.select(one.of(f64::NAN), value)
}

/// Both tails.
pub fn tails<'m, 'b>(a: Var<'m, 'b>, b: Var<'m, 'b>, x: Var<'m, 'b>) -> Tails<'m, 'b> {
    let outside = a.lt(0.0).or(b.lt(0.0)).or(x.lt(0.0)).or(x.gt(1.0));
    let outside = outside.or(a.nan()).or(b.nan()).or(x.nan());
    // All the weight is at 0, or at 1.
    let at_zero = a.is(0.0).and(b.gt(0.0)).or(b.is(INF).and(a.lt(INF)));
    let at_one = b.is(0.0).and(a.gt(0.0)).or(a.is(INF).and(b.lt(INF)));
    let degenerate = a.is(0.0).or(b.is(0.0)).or(a.is(INF)).or(b.is(INF));
    let is_bad = outside.or(degenerate.and(at_zero.or(at_one).not()));
    let is_bad = is_bad.or(degenerate.and(at_zero).and(at_one));
    let is_end = degenerate.or(x.is(0.0)).or(x.is(1.0));
    let lower = at_one.and(x.lt(1.0)).or(degenerate.not().and(x.is(0.0)));
    let usual = is_bad.or(is_end).not();
    let half = |v: Var<'m, 'b>| v.where_or(usual, 0.5);
    let made = Point::new(half(a), half(b), half(x)).tails();
    let at_end = is_end.select(lower.select(a.of(0.0), a.of(1.0)), made.at_end);
    Tails { is_end: is_end.or(made.is_end), at_end, is_bad, ..made }
}

/// The derivatives of the logarithm of a tail with respect to `a` and `b`.
pub fn slopes<'m, 'b>(a: Var<'m, 'b>, b: Var<'m, 'b>, x: Var<'m, 'b>, lower: bool) -> [Var<'m, 'b>; 2] {
    let all = tails(a, b, x);
    let usual = all.is_bad.or(all.is_end).not();
    let half = |v: Var<'m, 'b>| v.where_or(usual, 0.5);
    let (p, is_mirrored) = Point::new(half(a), half(b), half(x)).turned();
    // `log(x) - digamma(a) + digamma(a + b)` and its mirror, which are small near the mean.
    let sum = two_sum(p.a, p.b);
    let rest = digamma_less_log(sum.0);
    let one = a.of(1.0);
    let line = log_power(p.x * sum, p.a.into(), one).value() + rest - digamma_less_log(p.a);
    let mirrored = log_power(p.y * sum, p.b.into(), one).value() + rest - digamma_less_log(p.b);
    let has_series = p.is_small().or(p.has_series());
    let [_, by_a, by_b] = p.only(has_series).series();
    let means = Exponent::Beta.means(&p.only(has_series.not()).exponent());
    let first = has_series.select(line - 1.0 / p.a + by_a, line - means[0]);
    let second = has_series.select(mirrored + by_b, mirrored - means[1]);
    let slopes = [is_mirrored.select(second, first), is_mirrored.select(first, second)];
    let is_own = if lower { is_mirrored.not() } else { is_mirrored };
    let odds = (all.log(!lower) - all.log(lower)).exp();
    let known = x.is(if lower { 1.0 } else { 0.0 }).and(all.is_bad.not());
    let end = known.select(a.of(0.0), a.of(f64::NAN));
    slopes.map(|slope| usual.select(is_own.select(slope, -slope * odds), end))
}

/// The point at which the tail has this probability, in the smaller one of `x` and `1 - x`.
pub fn quantile<'m, 'b>(
    a: Var<'m, 'b>,
    b: Var<'m, 'b>,
    p: Var<'m, 'b>,
    lower: bool,
    is_log: bool,
) -> Var<'m, 'b> {
    let target = Target::new(p, lower, is_log);
    let (low, high) = (a.smaller(b), a.larger(b));
    let is_bad = target.is_bad.or(low.lt(0.0)).or(high.gt(0.0).not()).or(low.lt(INF).not());
    let at_zero = a.is(0.0).or(b.is(INF));
    let is_end = target.is_end();
    let usual = is_bad.or(is_end).or(at_zero).or(b.is(0.0)).or(a.is(INF)).not();
    let one = |v: Var<'m, 'b>| v.where_or(usual, 1.0);
    let (c, d) = (one(a), one(b));
    let q = Target {
        lower: target.lower,
        log: target.log.where_or(usual, -1.0),
        value: target.value.where_or(usual, (-1f64).exp()),
        is_bad,
    };
    // From the normal approximation of the logit, or the power that the tail begins with.
    let whole = complete(c, d).log();
    let whole = [(whole + c.log()), whole + d.log()];
    let normal = (c / d).log() + q.normal() * (1.0 / c + 1.0 / d).sqrt();
    let zero = c.of(0.0);
    let by_lower = q.lower.and(c.lt(1.0));
    let by_upper = q.lower.not().and(d.lt(1.0));
    let low_power = ((q.log + whole[0]) / c).smaller(zero);
    let high_power = -((q.log + whole[1]) / d).smaller(zero);
    let start =
        by_lower.select(normal.larger(low_power), by_upper.select(normal.smaller(high_power), normal));
    let size = start.between(-740.0, 740.0).size();
    let small = (-size).exp() / ((-size).exp() + 1.0);
    let is_upper = start.gt(0.0);
    let (near, far) = (Double::from(small), rest(small));
    let (x, y) = (Double::select(is_upper, far, near), Double::select(is_upper, near, far));
    let is_lower = q.lower.select(c.of(1.0), zero);
    let count = usual.select(zero, c.of(100.0));
    let made = looped(
        &[x.0, x.1, y.0, y.1, count],
        &[c, d, is_lower, q.log, q.value],
        |s, _| s[4].lt(100.0),
        |s, p| {
            let point = Point { a: p[0], b: p[1], x: Double(s[0], s[1]), y: Double(s[2], s[3]) };
            let density = point.prefix().log() + p[0].log();
            let step = step([p[2].gt(0.5), p[3], p[4]], point.tails(), density);
            let is_left = s[2].less(s[0]).not();
            let (small, large) = (is_left.select(s[0], s[2]), is_left.select(s[2], s[0]));
            let along = is_left.select(step, -step);
            let scaled = small * along.between(-600.0, 600.0).exp();
            let beyond = large.less(scaled);
            let next = beyond.select(1.0 / (large / scaled + 1.0), scaled / (large + scaled));
            let next = next.nan().select(next.of(0.0), next).larger(next.of(f64::MIN_POSITIVE));
            let other = rest(next);
            let zero = next.of(0.0);
            let done = step.size().lt(1e-9).or(next.gt(f64::MIN_POSITIVE).not()).or(step.nan());
            vec![
                is_left.select(next, other.0),
                is_left.select(zero, other.1),
                is_left.select(other.0, next),
                is_left.select(other.1, zero),
                done.select(zero + 100.0, s[4] + 1.0),
            ]
        },
    );
    let x = made[0].gt(f64::MIN_POSITIVE).select(made[0] + made[1], zero);
    let end = target.lower.select(zero, zero + 1.0);
    let x = is_end.select(end, at_zero.select(zero, usual.select(x, zero + 1.0)));
    is_bad.select(a.of(f64::NAN), x)
}

/// Logarithm of the density `x^(a - 1) (1 - x)^(b - 1) / B(a, b)`.
pub fn log_density<'m, 'b>(a: Var<'m, 'b>, b: Var<'m, 'b>, x: Var<'m, 'b>) -> Var<'m, 'b> {
    let (low, high) = (a.smaller(b), a.larger(b));
    let is_good = low.gt(0.0).and(high.lt(INF)).and(x.lt(0.0).not()).and(x.gt(1.0).or(x.nan()).not());
    let is_end = x.is(0.0).or(x.is(1.0));
    let usual = is_good.and(is_end.not());
    let half = |v: Var<'m, 'b>| v.where_or(usual, 0.5);
    let point = Point::new(half(a), half(b), half(x));
    let Product { log, factor } = point.prefix();
    let both = two_product(point.x.0, point.y.0) + two_product(point.x.0, point.y.1);
    let made = (log + Double::from(factor * point.a).log() - both.log()).value();
    let (own, other) = (x.is(0.0).select(a, b), x.is(0.0).select(b, a));
    let end = own.lt(1.0).select(a.of(INF), own.gt(1.0).select(a.of(-INF), other.log()));
    is_good.select(is_end.select(end, made), a.of(f64::NAN))
}
