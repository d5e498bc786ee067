//! Elementwise ops of two operands that are a cheaper value, bit for bit: one operand is a number that changes
//! nothing (`x * 1`) or alone decides (`x & 0`), two numbers become one (`(x + 2L) + 3L`), or a sign is taken
//! twice (`x - (-y)`). Only NaN may have other bits.

use super::binary::Binary;
use super::create::{on_literals, uniform};
use super::derive::{Math, Var};
use super::unary::Unary;
use super::Builder;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::Value;
use crate::tensor::Literal;

/// What an op of two operands of one real dtype does with numbers.
pub(super) struct Algebra {
    /// The number that changes nothing, as the right operand.
    neutral: fn(DType) -> Literal,
    /// Whether the operands may change places.
    commutes: bool,
    /// The number that is the result whatever the other operand is. Floats have none where that may be NaN.
    absorbing: fn(DType) -> Option<Literal>,
    /// Whether `(x op y) op z` is `x op (y op z)`.
    associates: fn(DType) -> bool,
}

const NONE: Algebra =
    Algebra { neutral: |d| whole(d, 0), commutes: false, absorbing: |_| None, associates: |_| false };

/// Sums of integers wrap, and so associate; that of booleans is their logical or. Of floats `x - 0` is `x`, but
/// `x + 0` is not, as `-0 + 0` is 0.
pub(super) const SUM: Algebra = Algebra {
    neutral: |d| if d.is_float() { Literal::new(-0.0f64).convert(d) } else { whole(d, 0) },
    commutes: true,
    absorbing: |d| (d == DType::I1).then(|| whole(d, 1)),
    associates: |d| !d.is_float(),
};
/// A difference is a sum with the negated number, which associates.
pub(super) const DIFFERENCE: Algebra = NONE;
pub(super) const PRODUCT: Algebra = Algebra {
    neutral: |d| whole(d, 1),
    commutes: true,
    absorbing: |d| (!d.is_float()).then(|| whole(d, 0)),
    associates: |d| !d.is_float(),
};
pub(super) const QUOTIENT: Algebra = Algebra { neutral: |d| whole(d, 1), ..NONE };
pub(super) const SHIFT: Algebra = NONE;
pub(super) const LARGEST: Algebra = Algebra {
    neutral: |d| bounds(d).0,
    commutes: true,
    absorbing: |d| (!d.is_float()).then(|| bounds(d).1),
    associates: |_| true,
};
pub(super) const SMALLEST: Algebra = Algebra {
    neutral: |d| bounds(d).1,
    commutes: true,
    absorbing: |d| (!d.is_float()).then(|| bounds(d).0),
    associates: |_| true,
};
pub(super) const BITS_OF_BOTH: Algebra = Algebra {
    neutral: |d| whole(d, -1),
    commutes: true,
    absorbing: |d| Some(whole(d, 0)),
    associates: |_| true,
};
pub(super) const BITS_OF_EITHER: Algebra = Algebra {
    neutral: |d| whole(d, 0),
    commutes: true,
    absorbing: |d| Some(whole(d, -1)),
    associates: |_| true,
};
pub(super) const BITS_OF_ONE: Algebra =
    Algebra { neutral: |d| whole(d, 0), commutes: true, absorbing: |_| None, associates: |_| true };

fn whole(dtype: DType, n: i64) -> Literal {
    Literal::new(n).convert(dtype)
}

/// The least and the largest number of a real dtype.
fn bounds(dtype: DType) -> (Literal, Literal) {
    match dtype.bounds() {
        // Conversion wraps: the largest number of an unsigned dtype is its bits.
        Some((low, high)) => (whole(dtype, low as i64), whole(dtype, high as i64)),
        None if dtype == DType::I1 => (whole(dtype, 0), whole(dtype, 1)),
        None => [f64::NEG_INFINITY, f64::INFINITY].map(|x| Literal::new(x).convert(dtype)).into(),
    }
}

/// The op with a number beside it that associates, if this one is such.
fn associative(op: Binary, n: Literal, on_left: bool) -> Option<(Binary, Literal)> {
    let dtype = n.dtype();
    if op == Binary::sub && !on_left && !dtype.is_float() {
        return Some((Binary::add, whole(dtype, n.get::<i64>().wrapping_neg())));
    }
    op.algebra().filter(|algebra| (algebra.associates)(dtype)).map(|_| (op, n))
}

/// A cheaper value for a node, if there is one.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug.
pub(super) fn simplify(op: Binary, b: &mut Builder, operands: [Value; 2]) -> Result<Option<Value>> {
    let [x, y] = operands;
    for (x, y, on_left) in [(x, y, false), (y, x, true)] {
        let Some((n, of_x)) = number(b, x, y) else { continue };
        let aval = b.graph().aval(x).clone();
        if let Some(algebra) = op.algebra().filter(|algebra| !on_left || algebra.commutes) {
            if of_x && (algebra.neutral)(aval.dtype) == n {
                return Ok(Some(x));
            }
            if (algebra.absorbing)(aval.dtype) == Some(n) && *b.graph().aval(y) == aval {
                return Ok(Some(y));
            }
        }
        let Some((op, n)) = associative(op, n, on_left).filter(|_| of_x) else { continue };
        let Some((inner, [z, m])) = binary(b, x) else { continue };
        for (z, m, on_left) in [(z, m, false), (m, z, true)] {
            let Some((m, true)) = number(b, z, m) else { continue };
            let Some((_, m)) = associative(inner, m, on_left).filter(|&(inner, _)| inner == op) else {
                continue;
            };
            let both = on_literals(&op.into(), &[m, n], aval.dtype);
            let math = Math::new(b);
            let value =
                math.apply(op, &[math.var(z), math.repeat(both, aval.ambiguous, &aval.shape)]).value();
            math.finish()?;
            return Ok(Some(value));
        }
    }
    signs(op, b, operands)
}

/// The remainder or the quotient of integers by a power of two, from their bits: numbers below zero are those of their
/// two's complement, for which quotients that are rounded down are shifts.
pub(super) fn by_power_of_two<'m, 'b>(
    op: Binary,
    math: &'m Math<'b>,
    x: Var<'m, 'b>,
    n: Literal,
) -> Option<Var<'m, 'b>> {
    let (aval, is_unsigned) = (x.aval(), n.dtype().bounds()?.0 == 0);
    let n = n.get::<i64>();
    if !(is_unsigned || n > 0) || !(n as u64).is_power_of_two() {
        return None;
    }
    let with = |op: Binary, n: i64| {
        math.apply(op, &[x, math.repeat(whole(aval.dtype, n), aval.ambiguous, &aval.shape)])
    };
    let shift = i64::from(n.trailing_zeros());
    if op == Binary::modulo || op == Binary::remainder && is_unsigned {
        Some(with(Binary::and, n.wrapping_sub(1)))
    } else if op == Binary::floor_div && !is_unsigned {
        Some(with(Binary::shift_right_arithmetic, shift))
    } else if is_unsigned && (op == Binary::floor_div || op == Binary::div) {
        Some(with(Binary::shift_right_logical, shift))
    } else {
        None
    }
}

/// The number that `y` is everywhere, of the dtype of `x`, which is real; and whether a result of both has the
/// type of `x`.
pub(super) fn number(b: &Builder, x: Value, y: Value) -> Option<(Literal, bool)> {
    number_or_complex(b, x, y).filter(|(n, _)| !n.dtype().is_complex())
}

/// As [`number`], where it may be complex.
pub(super) fn number_or_complex(b: &Builder, x: Value, y: Value) -> Option<(Literal, bool)> {
    let (x, aval) = (b.graph().aval(x), b.graph().aval(y));
    let n = uniform(b.graph(), y).filter(|n| n.dtype() == x.dtype)?;
    Some((n, x.ambiguous == x.ambiguous_with(aval)))
}

/// The op and the operands of a value that an op of two operands makes.
fn binary(b: &Builder, x: Value) -> Option<(Binary, [Value; 2])> {
    let node = b.graph().made_by(x)?;
    Some((*node.op.get::<Binary>()?, node.operands[..].try_into().ok()?))
}

/// Sums and differences with a negated term: IEEE 754 defines a difference as the sum with the negated number.
fn signs(op: Binary, b: &mut Builder, [x, y]: [Value; 2]) -> Result<Option<Value>> {
    let negated = |x: Value| Unary::negate.operand(b.graph(), x);
    let (op, operands) = match (op, negated(x), negated(y)) {
        (Binary::sub, _, Some(y)) => (Binary::add, [x, y]),
        (Binary::add, _, Some(y)) => (Binary::sub, [x, y]),
        (Binary::add, Some(x), None) => (Binary::sub, [y, x]),
        _ => return Ok(None),
    };
    b.node1(op, &operands).map(Some)
}
