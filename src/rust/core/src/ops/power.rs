//! Elementwise ops with a known operand that are cheaper ones, bit for bit: powers with short exponents, and
//! quotients by powers of two.

use super::compare::Compare;
use super::derive::Var;
use crate::dtype::DType;
use crate::kernels::math::Steps;
use crate::tensor::Literal;

/// The steps of a power with this exponent on a dtype, if they are its meaning there.
pub(super) fn steps(dtype: DType, exponent: Literal) -> Option<Steps> {
    // What is left of a complex number as a real one is its real part.
    let exponent =
        Some(exponent).filter(|n| n.convert(DType::C128) == n.convert(DType::F64).convert(DType::C128));
    let steps = Steps::of(exponent?.convert(DType::F64).get::<f64>())?;
    let plain = !steps.inverse && !steps.root;
    let fits = match dtype {
        DType::F32 | DType::F64 => true,
        // A second product would round a second time: their power is rounded once.
        DType::BF16 | DType::F16 => plain && steps.factors == 2,
        // The kernel squares again and again.
        DType::C64 | DType::C128 => plain && !matches!(steps.factors, 6 | 7),
        _ => plain,
    };
    fits.then_some(steps)
}

/// The power as nodes: what the kernel computes (`kernels/math/powers.rs`), in the same order.
pub(super) fn chain<'m, 'b>(x: Var<'m, 'b>, steps: Steps) -> Var<'m, 'b> {
    let base = if steps.root {
        let infinite = x.compare(Compare::eq, x.of(f64::NEG_INFINITY));
        infinite.select(x.of(f64::INFINITY), x + 0.0)
    } else {
        x
    };
    if steps.root && steps.factors == 0 {
        return if steps.inverse { 1.0 / base.sqrt() } else { base.sqrt() };
    }
    let b = if steps.inverse { 1.0 / base } else { base };
    let square = || b * b;
    let fourth = || square() * square();
    let sixth = || (square() * b) * (square() * b);
    let whole = match steps.factors {
        0 | 1 => b,
        2 => square(),
        3 => square() * b,
        4 => fourth(),
        5 => fourth() * b,
        6 => sixth(),
        7 => sixth() * b,
        _ => fourth() * fourth(),
    };
    if steps.root {
        whole * b.sqrt()
    } else {
        whole
    }
}

/// The reciprocal of a float that is a power of two, if it is a normal number.
pub(super) fn inverse_of_power_of_two(x: Literal) -> Option<f64> {
    let (size, least) = match x.dtype() {
        DType::F32 => (x.get::<f64>().abs(), f64::from(f32::MIN_POSITIVE)),
        DType::F64 => (x.get::<f64>().abs(), f64::MIN_POSITIVE),
        _ => return None,
    };
    let is_power = size >= least && size <= 1.0 / least && size.to_bits() << 12 == 0;
    is_power.then(|| 1.0 / x.get::<f64>())
}
