//! Formulas of conversions that StableHLO leaves undefined, or whose dtypes it does not have.

use crate::dtype::DType;
use crate::graph::Operation;
use crate::ops::{Binary, BitcastConvert, Compare, Convert, Op, Part, Unary, Var};
use crate::shape::Axis;

/// The operand in another dtype.
pub(super) fn convert<'m, 'b>(op: &Convert, x: Var<'m, 'b>) -> Var<'m, 'b> {
    if op.to.stored() == DType::I1 {
        return x.compare(Compare::ne, x.of(0.0));
    }
    odd(exact_double(x)).convert(op.to.stored())
}

/// An f64 that rounds to 24 bits or fewer as `x` does. An integer of more than 53 bits is truncated at bit
/// 11, and that bit set if anything was lost (round to odd), so that it is neither a number of 24 bits nor
/// halfway between two.
fn exact_double<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let dtype = x.aval().dtype;
    if !dtype.is_integer() || dtype.bits() < 64 {
        return x.convert(DType::F64);
    }
    let (zero, low) = (x.of(0.0), x.integer((1 << 11) - 1));
    let lost = x.binary(Binary::and, low).compare(Compare::ne, zero);
    let cut = x.binary(Binary::and, low.unary(Unary::not));
    let sticky = cut.binary(Binary::or, lost.select(x.integer(1 << 11), zero));
    let small = x.compare(Compare::lt, x.integer(1 << 53));
    let small = match dtype {
        DType::I64 => small.binary(Binary::and, x.compare(Compare::gt, x.integer(-(1 << 53)))),
        _ => small,
    };
    small.select(x, sticky).convert(DType::F64)
}

/// As `odd()` of the dtypes: the f32 next to an f64 towards zero, made odd if it differs from the f64.
fn odd<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let nearest = x.convert(DType::F32);
    let back = nearest.convert(DType::F64);
    let exact = back.compare(Compare::eq, x).binary(Binary::or, x.compare(Compare::ne, x));
    let bits = nearest.bitcast(DType::I32);
    let beyond = back.unary(Unary::abs).compare(Compare::gt, x.unary(Unary::abs));
    let toward = bits - beyond.select(bits.of(1.0), bits.of(0.0));
    let made = toward.binary(Binary::or, bits.of(1.0)).bitcast(DType::F32);
    exact.select(nearest, made)
}

/// The bits of complex numbers are those of their parts, real before imaginary; booleans have none.
pub(super) fn bitcast<'m, 'b>(op: &BitcastConvert, x: Var<'m, 'b>) -> Var<'m, 'b> {
    let aval = x.aval();
    if aval.dtype == op.dtype {
        return x;
    }
    let result = match Op::BitcastConvert(*op).infer(&[&aval]) {
        Ok(types) => types[0].shape.clone(),
        Err(error) => {
            x.math().fail(error);
            return x;
        }
    };
    // The common axes; then the bits as parts of one width, which both sides have.
    let common = aval.shape.rank().min(result.rank());
    let prefix = &aval.shape[..common];
    let (from, to) = (aval.dtype.part(), op.dtype.part());
    let mut parts = x;
    if aval.dtype.is_complex() {
        let last = Axis(aval.shape.rank());
        let [re, im] =
            [Part::real, Part::imag].map(|part| x.part(part).reread([&aval.shape[..], &[1]].concat()));
        parts = re.beside(&[im], last);
    }
    let count = aval.shape[common..].iter().product::<usize>() * aval.dtype.bytes() / from.bytes();
    let ratio = to.bytes() / from.bytes();
    let inner = if ratio > 1 { vec![count / ratio, ratio] } else { vec![count] };
    let made = parts.reread([prefix, &inner].concat());
    let made = if from == to { made } else { made.bitcast(to) };
    if !op.dtype.is_complex() {
        return made.reread(result.to_vec());
    }
    let pairs = made.reread([&result[..], &[2]].concat());
    let part = |i: usize| pairs.section(Axis(result.rank()), i, i + 1).reread(result.to_vec());
    part(0).complex(part(1))
}
