//! The error function. Coefficients: `tests/testdata/math/fit.py`.

use super::coefficients as c;
use super::exp::exp_near;
use super::lanes::{polynomial, Lanes};

/// Error function: `x` times a polynomial up to 1, and `1 - e^-Q(x)` with a polynomial `Q` beyond. Less than 1 ulp.
#[inline(always)]
pub(super) fn erf<V: Lanes>(x: V) -> V {
    let one = V::of(1.0);
    let size = x.abs();
    let z = x * x;
    let small = if V::DOUBLE { polynomial(z, &c::ERF) } else { polynomial(z, &c::ERF_SINGLE) };
    let small = size.mul_add(small, size);
    // At the end of the range the result is 1.
    let large = size.max(one).min(V::either(6.0, 4.0)) - one;
    let q = if V::DOUBLE { polynomial(large, &c::ERF_TAIL) } else { polynomial(large, &c::ERF_TAIL_SINGLE) };
    let large = one - exp_near(q.negate());
    x.keep_nan(V::select(size.lt(one), small, large).copysign(x))
}
