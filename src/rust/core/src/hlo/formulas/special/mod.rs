//! Formulas of special functions: the algorithms of their kernels (`kernels::math::special`), in f64, on all elements at
//! once.
//!
//! A branch becomes a select between both sides, each on arguments that it can work with; a loop ends when the last
//! element does, and elements that are done stay as they are ([`looped`]). Integrals, which the kernels take by tables of
//! nodes, are sums over nodes that are computed ([`quadrature`]).

mod bessel;
mod beta;
mod double;
mod gamma;
mod integrals;
mod parts;
mod quadrature;
mod tails;
mod unary;

use super::control::repeat_while;
use crate::dtype::DType;
use crate::kernels::reductions::fold::Fold;
use crate::ops::{Binary, Compare, Op, Reduction, Special, Unary, Var};
use crate::shape::Axis;

pub(super) use unary::{erfcx, gamma as gamma_function, probit};

/// The function of operands of one float dtype, by way of f64, and of f32 for those of 16 bits.
pub(super) fn special<'m, 'b>(op: Special, x: &[Var<'m, 'b>]) -> Var<'m, 'b> {
    let dtype = x[0].aval().dtype;
    let wide: Vec<Var> = x.iter().map(|x| x.convert(DType::F64)).collect();
    let y = of_doubles(op, &wide);
    let is_nan = wide.iter().skip(1).fold(wide[0].nan(), |any, x| any.or(x.nan()));
    let y = is_nan.select(y.of(f64::NAN), y);
    let y = if dtype.is_half() { y.convert(DType::F32) } else { y };
    y.convert(dtype)
}

fn of_doubles<'m, 'b>(op: Special, x: &[Var<'m, 'b>]) -> Var<'m, 'b> {
    let (a, last) = (x[0], x[x.len() - 1]);
    match op {
        Special::beta => beta::complete_value(a, last, false),
        Special::lbeta => beta::complete_value(a, last, true),
        Special::choose => beta::choose(a, last, false),
        Special::lchoose => beta::choose(a, last, true),
        Special::expi => integrals::expi(a),
        Special::owens_t => integrals::owens_t(a, last),
        Special::expint => integrals::expint(last, a),
        Special::zeta => integrals::zeta(a, last),
        Special::lambert_w0 => unary::lambert_w(a, false),
        Special::lambert_wm1 => unary::lambert_w(a, true),
        Special::bessel_i => bessel::first(last, a, false),
        Special::bessel_ie => bessel::first(last, a, true),
        Special::bessel_k => bessel::second(last, a, false),
        Special::bessel_ke => bessel::second(last, a, true),
        Special::bessel_j0 => bessel::ordinary(a)[0],
        Special::bessel_j1 => bessel::ordinary(a)[1],
        Special::bessel_y0 => bessel::ordinary(a)[2],
        Special::bessel_y1 => bessel::ordinary(a)[3],
        Special::gammainc => gamma::tails(a, last).value(true),
        Special::gammaincc => gamma::tails(a, last).value(false),
        Special::log_gammainc => gamma::tails(a, last).log(true),
        Special::log_gammaincc => gamma::tails(a, last).log(false),
        Special::log_gammainc_dx => gamma::log_density(a, last),
        Special::log_gammainc_da => gamma::slope(a, last, true),
        Special::log_gammaincc_da => gamma::slope(a, last, false),
        Special::gammaincinv => gamma::quantile(a, last, true, false),
        Special::gammainccinv => gamma::quantile(a, last, false, false),
        Special::log_gammaincinv => gamma::quantile(a, last, true, true),
        Special::log_gammainccinv => gamma::quantile(a, last, false, true),
        Special::betainc => beta::tails(a, x[1], last).value(true),
        Special::betaincc => beta::tails(a, x[1], last).value(false),
        Special::log_betainc => beta::tails(a, x[1], last).log(true),
        Special::log_betaincc => beta::tails(a, x[1], last).log(false),
        Special::log_betainc_dx => beta::log_density(a, x[1], last),
        Special::log_betainc_da => beta::slopes(a, x[1], last, true)[0],
        Special::log_betainc_db => beta::slopes(a, x[1], last, true)[1],
        Special::log_betaincc_da => beta::slopes(a, x[1], last, false)[0],
        Special::log_betaincc_db => beta::slopes(a, x[1], last, false)[1],
        Special::betaincinv => beta::quantile(a, x[1], last, true, false),
        Special::betainccinv => beta::quantile(a, x[1], last, false, false),
        Special::log_betaincinv => beta::quantile(a, x[1], last, true, true),
        Special::log_betainccinv => beta::quantile(a, x[1], last, false, true),
    }
}

/// Conditions, and functions by the names of their rows.
trait Words<'m, 'b>: Sized {
    fn lt(self, y: f64) -> Self;
    fn gt(self, y: f64) -> Self;
    fn is(self, y: f64) -> Self;
    fn less(self, y: Self) -> Self;
    fn and(self, y: Self) -> Self;
    fn or(self, y: Self) -> Self;
    fn not(self) -> Self;
    fn nan(self) -> Self;
    fn finite(self) -> Self;
    fn size(self) -> Self;
    fn expm1(self) -> Self;
    fn log1p(self) -> Self;
    fn smaller(self, y: Self) -> Self;
    fn larger(self, y: Self) -> Self;
    /// From one number to another.
    fn between(self, low: f64, high: f64) -> Self;
    /// It where a condition holds, else a number.
    fn where_or(self, condition: Self, other: f64) -> Self;
}

impl<'m, 'b> Words<'m, 'b> for Var<'m, 'b> {
    fn lt(self, y: f64) -> Self {
        self.compare(Compare::lt, self.of(y))
    }
    fn gt(self, y: f64) -> Self {
        self.compare(Compare::gt, self.of(y))
    }
    fn is(self, y: f64) -> Self {
        self.compare(Compare::eq, self.of(y))
    }
    fn less(self, y: Self) -> Self {
        self.compare(Compare::lt, y)
    }
    fn and(self, y: Self) -> Self {
        self.binary(Binary::and, y)
    }
    fn or(self, y: Self) -> Self {
        self.binary(Binary::or, y)
    }
    fn not(self) -> Self {
        self.unary(Unary::not)
    }
    fn nan(self) -> Self {
        self.compare(Compare::ne, self)
    }
    fn finite(self) -> Self {
        self.size().lt(f64::INFINITY)
    }
    fn size(self) -> Self {
        self.unary(Unary::abs)
    }
    fn expm1(self) -> Self {
        self.unary(Unary::expm1)
    }
    fn log1p(self) -> Self {
        self.unary(Unary::log1p)
    }
    fn smaller(self, y: Self) -> Self {
        self.binary(Binary::min, y)
    }
    fn larger(self, y: Self) -> Self {
        self.binary(Binary::max, y)
    }
    fn between(self, low: f64, high: f64) -> Self {
        self.larger(self.of(low)).smaller(self.of(high))
    }
    fn where_or(self, condition: Self, other: f64) -> Self {
        condition.select(self, self.of(other))
    }
}

/// Polynomial with these coefficients, constant first.
fn horner<'m, 'b>(x: Var<'m, 'b>, coefficients: &[f64]) -> Var<'m, 'b> {
    let mut terms = coefficients.iter().rev();
    let last = x.of(terms.next().copied().unwrap_or(0.0));
    terms.fold(last, |sum, &c| sum * x + c)
}

/// A number that a compiler cannot fold, since it is NaN where `x` is.
fn opaque<'m, 'b>(number: f64, x: Var<'m, 'b>) -> Var<'m, 'b> {
    x.nan().select(x, x.of(number))
}

/// The absolute value of one number with the sign of another.
fn signed<'m, 'b>(x: Var<'m, 'b>, like: Var<'m, 'b>) -> Var<'m, 'b> {
    super::complex::signed(x, like)
}

/// The state of each element after a loop that goes on as long as its condition holds, on parameters that stay; both of
/// one shape. The condition must be false of NaN.
fn looped<'m, 'b>(
    state: &[Var<'m, 'b>],
    parameters: &[Var<'m, 'b>],
    condition: impl for<'x, 'y> Fn(&[Var<'x, 'y>], &[Var<'x, 'y>]) -> Var<'x, 'y> + Copy,
    body: impl for<'x, 'y> Fn(&[Var<'x, 'y>], &[Var<'x, 'y>]) -> Vec<Var<'x, 'y>>,
) -> Vec<Var<'m, 'b>> {
    let count = state.len();
    let all = [state, parameters].concat();
    let mut made = repeat_while(
        state[0].math(),
        &all,
        |all| {
            let (state, parameters) = all.split_at(count);
            let go_on = condition(state, parameters);
            let axes = (0..go_on.aval().shape.rank()).map(Axis).collect();
            go_on.apply(Op::Reduction(Reduction { fold: Fold::Any, axes, drop: true }), &[])
        },
        |all| {
            let (state, parameters) = all.split_at(count);
            let go_on = condition(state, parameters);
            let next = body(state, parameters);
            let kept = next.into_iter().zip(state).map(|(next, &old)| go_on.select(next, old));
            kept.chain(parameters.iter().copied()).collect()
        },
    );
    made.truncate(count);
    // After an error in the body there is nothing to go on with.
    made.resize(count, state[0]);
    made
}
