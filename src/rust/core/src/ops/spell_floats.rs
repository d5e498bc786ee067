//! Compositions of functions of floats that StableHLO lacks, or whose expansions are less accurate than ours.

use super::compare::Compare;
use super::complex::Part;
use super::derive::Var;
use super::Binary;
use crate::dtype::DType;
use std::f64::consts::{LOG10_2, LOG10_E, LOG2_E};

/// `x` as `m * 2^e`, with `m` between the roots of 1/2 and of 2; both as floats. Special values go to `m`.
fn split_exponent<'m, 'b>(x: Var<'m, 'b>) -> [Var<'m, 'b>; 2] {
    let dtype = x.aval().dtype;
    let (int, digits, up) = match dtype {
        DType::F64 => (DType::I64, 52, 54),
        _ => (DType::I32, 23, 25),
    };
    // Subnormal numbers are made normal first.
    let smallest = if dtype == DType::F64 { f64::MIN_POSITIVE } else { f64::from(f32::MIN_POSITIVE) };
    let tiny = x.compare(Compare::lt, x.of(smallest));
    let normal = tiny.select(x * 2f64.powi(up), x);
    // Bits of the root of 1/2: what is above them is a power of two.
    let root = std::f64::consts::FRAC_1_SQRT_2;
    let base = if dtype == DType::F64 { root.to_bits() as i64 } else { i64::from((root as f32).to_bits()) };
    let bits = normal.bitcast(int);
    let above = bits - bits.integer(base);
    let e = above.binary(Binary::shift_right_arithmetic, bits.integer(digits));
    let m = (bits - e.binary(Binary::shift_left, bits.integer(digits))).bitcast(dtype);
    let e = e.convert(dtype);
    let e = tiny.select(e - f64::from(up), e);
    let ordinary = x.compare(Compare::gt, x.of(0.0)).binary(Binary::and, x.compare(Compare::lt, x.of(f64::INFINITY)));
    [ordinary.select(m, x), ordinary.select(e, x.of(0.0))]
}

/// Logarithm to base 2: the exponent, and that of the rest. Exact for powers of two.
pub(super) fn log2<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    if x.aval().dtype.is_complex() {
        return scaled_log(x, LOG2_E);
    }
    let [m, e] = split_exponent(x);
    e + m.log() * LOG2_E
}

/// Logarithm to base 10: multiples of that of 2 in two parts, so that a product with an exponent is exact.
pub(super) fn log10<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    if x.aval().dtype.is_complex() {
        return scaled_log(x, LOG10_E);
    }
    let [m, e] = split_exponent(x);
    // The high part has few enough digits, the low one the rest.
    let high = if x.aval().dtype == DType::F64 { f64::from(LOG10_2 as f32) } else { (LOG10_2 * 4096.0).round() / 4096.0 };
    let low = LOG10_2 - high;
    e * high + (e * low + m.log() * LOG10_E)
}

/// The natural logarithm of a complex number, in other units.
fn scaled_log<'m, 'b>(z: Var<'m, 'b>, unit: f64) -> Var<'m, 'b> {
    let log = z.log();
    (log.part(Part::real) * unit).complex(log.part(Part::imag) * unit)
}
