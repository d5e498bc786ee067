//! What functions of the gamma and beta families are made of, as in `kernels::math::special`.

use super::double::{two_product, two_sum, Double};
use super::{horner, signed, Words};
use crate::kernels::math::special::tables::{LGAMMA_ONE, STIRLING};
use crate::ops::{Unary, Var};

/// From here on the series of Stirling is used.
pub const FAR: f64 = 8.0;

/// `lgamma(x) - (x - 1/2) log(x) + x - log(2 pi)/2` for `x >= 8`.
pub fn stirling<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    horner(1.0 / x / x, &STIRLING) / x
}

pub fn gamma<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    x.unary(Unary::gamma)
}

/// `gamma(1 + x)` for `x >= 0`, without the rounding of the sum.
pub fn gamma1p<'m, 'b>(x: Double<'m, 'b>) -> Var<'m, 'b> {
    let small = x.0.lt(1.0);
    let value = gamma(small.select(x.0 + 1.0, x.0));
    let value = small.select(value, x.0 * value);
    x.1.is(0.0).select(value, value + value * (x.0 + 1.0).digamma() * x.1)
}

/// `log(gamma(1 + x))` for `0 <= x <= 1`.
pub fn lgamma1p<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    x.gt(0.5).select((x + 1.0).unary(Unary::lgamma), x * horner(x, &LGAMMA_ONE))
}

/// `digamma(x) - log(x)` for positive `x`.
pub fn digamma_less_log<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let u = 1.0 / x / x;
    let series =
        [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32760.0, 1.0 / 12.0];
    x.lt(16.0).select(x.digamma() - x.log(), -(0.5 / x + u * horner(u, &series)))
}

/// `e^x - 1 - x`.
pub fn exp_bend<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let mut sum = x.of(0.0);
    for k in (3..17).rev() {
        sum = (sum + 1.0) * x * (1.0 / f64::from(k));
    }
    x.size().gt(0.5).select(x.expm1() - x, x * x * 0.5 * (sum + 1.0))
}

/// `log(1 + x) - x`.
pub fn log_bend<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let r = x / (x + 2.0);
    let z = r * r;
    let mut sum = x.of(0.0);
    for k in (1..18).rev() {
        sum = sum * z + 1.0 / f64::from(2 * k + 1);
    }
    let near = r * (z * 2.0 * sum - x);
    x.lt(-0.5).or(x.gt(0.8)).select(x.log1p() - x, near)
}

/// The logarithm of a quotient times a number.
pub fn log_power<'m, 'b>(
    over: Double<'m, 'b>,
    under: Double<'m, 'b>,
    exponent: Var<'m, 'b>,
) -> Double<'m, 'b> {
    let ratio = over / under;
    let usual = ratio.0.gt(0.0).and(ratio.0.finite());
    let log = Double(ratio.0.where_or(usual, 1.0), ratio.1.where_or(usual, 0.0)).log();
    let product = two_product(log.0, exponent);
    let made = two_sum(product.0, product.1 + log.1 * exponent);
    Double::select(usual, made, Double::from(exponent * ratio.0.log()))
}

/// `e^log` times a factor.
#[derive(Clone, Copy)]
pub struct Product<'m, 'b> {
    pub log: Double<'m, 'b>,
    pub factor: Var<'m, 'b>,
}

impl<'m, 'b> Product<'m, 'b> {
    /// The number itself.
    pub fn value(self) -> Var<'m, 'b> {
        let factor = self.factor;
        let plain = self.log.exp() * factor;
        let none = factor.is(0.0);
        let size = factor.size().where_or(none.not(), 1.0);
        let careful = signed((self.log + Double::from(size).log()).exp(), factor);
        let fine = plain.finite().and(plain.size().gt(1e-280));
        none.select(factor.of(0.0), fine.select(plain, careful))
    }

    /// Its logarithm.
    pub fn log(self) -> Var<'m, 'b> {
        let usual = self.factor.gt(0.0).and(self.factor.finite());
        let made = (self.log + Double::from(self.factor.where_or(usual, 1.0)).log()).value();
        usual.select(made, self.log.0 + self.factor.log())
    }

    pub fn times(self, factor: Var<'m, 'b>) -> Product<'m, 'b> {
        Product { factor: self.factor * factor, ..self }
    }

    /// The one where a condition holds, else another.
    pub fn select(condition: Var<'m, 'b>, yes: Product<'m, 'b>, no: Product<'m, 'b>) -> Product<'m, 'b> {
        Product {
            log: Double::select(condition, yes.log, no.log),
            factor: condition.select(yes.factor, no.factor),
        }
    }
}
