//! Formulas of elementwise ops: edge cases of integers that compilers trap at or leave undefined, parts of
//! complex numbers, predicates.

use super::control::repeat_while;
use crate::dtype::DType;
use crate::kernels::reductions::fold::Fold;
use crate::ops::{Binary, Compare, Op, Part, Predicate, Reduction, Unary, Var};
use crate::shape::Axis;

/// The whole part: rounded down above 0 and up below it, so that a zero keeps its sign.
pub(super) fn trunc<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    if !x.aval().dtype.is_float() {
        return x;
    }
    x.compare(Compare::lt, x.of(0.0)).select(x.unary(Unary::ceiling), x.floor())
}

/// The conjugate of complex numbers; others are their own.
pub(super) fn conj<'m, 'b>(z: Var<'m, 'b>) -> Var<'m, 'b> {
    if z.aval().dtype.is_complex() {
        z.part(Part::real).complex(-z.part(Part::imag))
    } else {
        z
    }
}

/// A boolean for all elements, where the property depends on the dtype alone.
fn everywhere<'m, 'b>(x: Var<'m, 'b>, holds: bool) -> Var<'m, 'b> {
    x.of(0.0).compare(if holds { Compare::eq } else { Compare::ne }, x.of(0.0))
}

/// Finite numbers: all integers, and complex ones whose parts are.
pub(super) fn is_finite<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    if x.aval().dtype.is_complex() {
        let [re, im] = [Part::real, Part::imag].map(|part| x.part(part).predicate(Predicate::is_finite));
        return re.binary(Binary::and, im);
    }
    everywhere(x, true)
}

/// Infinite numbers, and complex ones with an infinite part.
pub(super) fn is_infinite<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let infinite = |x: Var<'m, 'b>| x.unary(Unary::abs).compare(Compare::eq, x.of(f64::INFINITY));
    either_part(x, infinite)
}

/// NaN, which differs from itself, and complex numbers with a NaN part.
pub(super) fn is_nan<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    either_part(x, |x| x.compare(Compare::ne, x))
}

fn either_part<'m, 'b>(x: Var<'m, 'b>, property: impl Fn(Var<'m, 'b>) -> Var<'m, 'b>) -> Var<'m, 'b> {
    match x.aval().dtype {
        d if d.is_complex() => {
            let [re, im] = [Part::real, Part::imag].map(|part| property(x.part(part)));
            re.binary(Binary::or, im)
        }
        d if d.is_float() => property(x),
        _ => everywhere(x, false),
    }
}

/// The argument of a complex number.
pub(super) fn arg<'m, 'b>(z: Var<'m, 'b>) -> Var<'m, 'b> {
    z.part(Part::imag).binary(Binary::atan2, z.part(Part::real))
}

/// The product, or the second operand where that is 0 and the product is NaN.
pub(super) fn mul_no_nan<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> Var<'m, 'b> {
    let product = x * y;
    let zero = y.compare(Compare::eq, y.of(0.0));
    zero.binary(Binary::and, product.compare(Compare::ne, product)).select(y, product)
}

/// The op on two integers, with `by_zero` for a divisor of 0: compilers trap when they fold a division by 0.
fn unless_zero<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>, op: Binary, by_zero: Var<'m, 'b>) -> Var<'m, 'b> {
    if y.known().is_some_and(|z| z.re != 0.0) {
        return x.binary(op, y);
    }
    let zero = y.compare(Compare::eq, y.of(0.0));
    zero.select(by_zero, x.binary(op, zero.select(y.of(1.0), y)))
}

/// Quotient of integers; all bits are set if the divisor is 0.
pub(super) fn quotient<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> Var<'m, 'b> {
    unless_zero(x, y, Binary::div, x.integer(-1))
}

/// Remainder of integers; the dividend if the divisor is 0.
pub(super) fn remainder<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> Var<'m, 'b> {
    unless_zero(x, y, Binary::remainder, x)
}

/// Whether one of two numbers is negative and the other is not; a zero has a sign if it is a float.
fn signs_differ<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> Var<'m, 'b> {
    negative(x).compare(Compare::ne, negative(y))
}

/// Whether the sign bit is set.
pub(super) fn negative<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let dtype = x.aval().dtype;
    let bits = match dtype {
        DType::F32 => x.bitcast(DType::I32),
        DType::F64 => x.bitcast(DType::I64),
        d if d.is_float() => x.bitcast(DType::I16),
        _ => x,
    };
    bits.compare(Compare::lt, bits.of(0.0))
}

/// Zero with the sign of a float.
fn zero_signed<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    negative(x).select(x.of(-0.0), x.of(0.0))
}

/// As `kernels::math::scalar::modulo`, and of integers.
pub(super) fn modulo<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> Var<'m, 'b> {
    let rest = x.binary(Binary::remainder, y);
    let zero = x.of(0.0);
    let none = rest.compare(Compare::eq, zero);
    if x.aval().dtype.is_float() {
        return none.select(zero_signed(y), signs_differ(rest, y).select(rest + y, rest));
    }
    let kept = none.binary(Binary::or, y.compare(Compare::eq, zero)).binary(Binary::or, same_sign(rest, y));
    kept.select(rest, rest + y)
}

fn same_sign<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> Var<'m, 'b> {
    signs_differ(x, y).unary(Unary::not)
}

/// As `kernels::math::scalar::floor_quotient`, and of integers.
pub(super) fn floor_quotient<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> Var<'m, 'b> {
    let (zero, one) = (x.of(0.0), x.of(1.0));
    let rest = x.binary(Binary::remainder, y);
    let by_zero = y.compare(Compare::eq, zero);
    let below = rest.compare(Compare::ne, zero).binary(Binary::and, signs_differ(rest, y));
    if !x.aval().dtype.is_float() {
        let below = below.binary(Binary::and, by_zero.unary(Unary::not));
        return below.select(x / y - one, x / y);
    }
    let exact = (x - rest) / y - below.select(one, zero);
    let q = exact.floor();
    let q = (exact - q).compare(Compare::gt, x.of(0.5)).select(q + one, q);
    let q = q.compare(Compare::eq, zero).select(zero_signed(x / y), q);
    let infinite = x.unary(Unary::abs).compare(Compare::eq, x.of(f64::INFINITY));
    let plain =
        by_zero.binary(Binary::or, infinite).binary(Binary::or, is_nan(x)).binary(Binary::or, is_nan(y));
    plain.select(x / y, q)
}

/// Powers of integers by repeated squaring, exact modulo `2^bits` for every exponent. A loop, which ends when
/// no bit of an exponent is left.
pub(super) fn integer_power<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> Var<'m, 'b> {
    let (zero, one) = (x.of(0.0), x.of(1.0));
    let negative = y.compare(Compare::lt, zero);
    // The exponent is shifted down to 0; a negative one is replaced by 0.
    let exponent = negative.select(zero, y);
    let powers = repeat_while(
        x.math(),
        &[x, exponent, one],
        |state| {
            let left = state[1].compare(Compare::ne, state[1].of(0.0));
            let axes = (0..left.aval().shape.rank()).map(Axis).collect();
            left.apply(Op::Reduction(Reduction { fold: Fold::Any, axes, drop: true }), &[])
        },
        |state| {
            let &[base, exponent, product] = state else { return state.to_vec() };
            let one = exponent.of(1.0);
            let odd = exponent.binary(Binary::and, one).compare(Compare::eq, one);
            let next = odd.select(product * base, product);
            vec![base * base, exponent.binary(Binary::shift_right_logical, one), next]
        },
    );
    let power = powers.get(2).copied().unwrap_or(x);
    if x.aval().dtype.bounds().is_some_and(|(low, _)| low == 0) {
        return power;
    }
    // Only 1 and -1 have a whole reciprocal.
    let minus = x.of(-1.0);
    let odd = y.binary(Binary::and, one).compare(Compare::eq, one);
    let of_minus = odd.select(minus, one);
    let reciprocal = x.compare(Compare::eq, minus).select(of_minus, zero);
    let reciprocal = x.compare(Compare::eq, one).select(one, reciprocal);
    negative.select(reciprocal, power)
}
