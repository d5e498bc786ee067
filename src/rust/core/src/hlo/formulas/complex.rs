//! Formulas of functions of complex numbers, as in `kernels::complex`: accurate in each quadrant; the sign of
//! a zero selects the side of a branch cut.

use super::elementwise::{is_infinite, negative};
use crate::dtype::DType;
use crate::ops::{Binary, Compare, Part, Predicate, Unary, Var};

fn parts<'m, 'b>(z: Var<'m, 'b>) -> [Var<'m, 'b>; 2] {
    [z.part(Part::real), z.part(Part::imag)]
}

fn size<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    x.unary(Unary::abs)
}

/// The absolute value of one number with the sign of another.
pub(super) fn signed<'m, 'b>(x: Var<'m, 'b>, like: Var<'m, 'b>) -> Var<'m, 'b> {
    let x = size(x);
    negative(like).select(-x, x)
}

/// A function with `f(conj(z)) = conj(f(z))`, by its values above the real axis: XLA's expansions ignore the
/// sign of a zero.
pub(super) fn above<'m, 'b>(z: Var<'m, 'b>, op: Unary) -> Var<'m, 'b> {
    let [re, im] = parts(z);
    let [fre, fim] = parts(re.complex(size(im)).unary(op));
    fre.complex(negative(im).select(-fim, fim))
}

/// An odd function with `f(conj(z)) = conj(f(z))`, by its values in the first quadrant.
pub(super) fn first_quadrant<'m, 'b>(z: Var<'m, 'b>, op: Unary) -> Var<'m, 'b> {
    let [re, im] = parts(z);
    let [fre, fim] = parts(size(re).complex(size(im)).unary(op));
    signed(fre, re).complex(signed(fim, im))
}

fn is_zero<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    x.compare(Compare::eq, x.of(0.0))
}

fn is_finite<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    x.predicate(Predicate::is_finite)
}

/// `e^x` times a number, where `e^x` may overflow although the product does not.
fn scaled_exp<'m, 'b>(x: Var<'m, 'b>, by: Var<'m, 'b>) -> Var<'m, 'b> {
    let limit = if x.aval().dtype == DType::F64 { 700.0 } else { 85.0 };
    let root = (x * 0.5).exp();
    x.compare(Compare::gt, x.of(limit)).select(root * by * root, x.exp() * by)
}

/// `e^z`.
pub(super) fn exp<'m, 'b>(z: Var<'m, 'b>) -> Var<'m, 'b> {
    let [x, y] = parts(z);
    let flat = is_zero(y);
    let re = flat.select(x.exp(), scaled_exp(x, y.cos()));
    let im = flat.select(y, scaled_exp(x, y.sin()));
    // Without an angle: 0, or infinite.
    let lost = is_infinite(x).binary(Binary::and, is_finite(y).unary(Unary::not));
    let down = negative(x);
    let size = down.select(x.of(0.0), x);
    let none = down.select(x.of(0.0), x.of(f64::NAN));
    lost.select(size, re).complex(lost.select(none, im))
}

/// Whether a hyperbolic function equals half of the exponential.
fn is_far<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let limit = if x.aval().dtype == DType::F64 { 700.0 } else { 85.0 };
    size(x).compare(Compare::gt, x.of(limit))
}

/// `e^x / 2` times a number, for an `x` so large that `e^x` may overflow. Half of the number itself may be 0.
fn half_exp<'m, 'b>(x: Var<'m, 'b>, by: Var<'m, 'b>) -> Var<'m, 'b> {
    let root = (x * 0.5).exp();
    root * 0.5 * by * root
}

/// Parts of the hyperbolic sine of a complex number: `(sinh(x) cos(y), cosh(x) sin(y))`.
fn sinh_parts<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> [Var<'m, 'b>; 2] {
    let (cos, sin) = (y.cos(), y.sin());
    let far = is_far(x);
    let sign = signed(x.of(1.0), x);
    let re = far.select(half_exp(size(x), sign * cos), x.sinh() * cos);
    let im = far.select(half_exp(size(x), sin), x.cosh() * sin);
    let nan = x.of(f64::NAN);
    let kept = is_zero(x).binary(Binary::or, is_infinite(x));
    let angle = is_finite(y);
    let flat = is_zero(y);
    let re = flat.select(x.sinh(), angle.select(re, kept.select(x, nan)));
    [re, flat.select(y, angle.select(im, nan))]
}

/// Parts of the hyperbolic cosine of a complex number: `(cosh(x) cos(y), sinh(x) sin(y))`.
fn cosh_parts<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> [Var<'m, 'b>; 2] {
    let (cos, sin) = (y.cos(), y.sin());
    let far = is_far(x);
    let sign = signed(x.of(1.0), x);
    let re = far.select(half_exp(size(x), cos), x.cosh() * cos);
    let im = far.select(half_exp(size(x), sign * sin), x.sinh() * sin);
    let (nan, zero) = (x.of(f64::NAN), signed(x.of(0.0), x) * signed(y.of(1.0), y));
    let infinite = is_infinite(x).select(x.of(f64::INFINITY), nan);
    let angle = is_finite(y);
    let flat = is_zero(y);
    let re = flat.select(x.cosh(), angle.select(re, infinite));
    let im = flat.select(zero, angle.select(im, is_zero(x).select(zero, nan)));
    [re, im]
}

/// Hyperbolic sine.
pub(super) fn sinh<'m, 'b>(z: Var<'m, 'b>) -> Var<'m, 'b> {
    let [x, y] = parts(z);
    let [re, im] = sinh_parts(x, y);
    re.complex(im)
}

/// Hyperbolic cosine.
pub(super) fn cosh<'m, 'b>(z: Var<'m, 'b>) -> Var<'m, 'b> {
    let [x, y] = parts(z);
    let [re, im] = cosh_parts(x, y);
    re.complex(im)
}

/// Sine, `sinh(iz) / i`.
pub(super) fn sin<'m, 'b>(z: Var<'m, 'b>) -> Var<'m, 'b> {
    let [x, y] = parts(z);
    let [re, im] = sinh_parts(-y, x);
    im.complex(-re)
}

/// Cosine, `cosh(iz)`.
pub(super) fn cos<'m, 'b>(z: Var<'m, 'b>) -> Var<'m, 'b> {
    let [x, y] = parts(z);
    let [re, im] = cosh_parts(-y, x);
    re.complex(im)
}
