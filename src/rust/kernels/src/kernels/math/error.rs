//! Error functions. Coefficients: `tests/testdata/math/fit.py`.

use super::exp::{exp2_short, exp_near, exp_of_sum};
use super::gamma_coefficients as g;
use super::lanes::{horner, polynomial, Lanes, Singles};
use super::log::log_of;
use super::macros::by_doubles;
use super::special_coefficients as c;

/// Error function: `x` times a polynomial up to 1; beyond, `1 - e^-Q(x)` with a polynomial `Q`, or of singles
/// 1 less the fourth power of a polynomial, which needs no exponential. Less than 1 ulp; of singles less
/// than 1.5.
#[inline(always)]
pub(super) fn erf<V: Lanes>(x: V) -> V {
    let one = V::of(1.0);
    let size = x.abs();
    let z = x * x;
    let small = if V::DOUBLE { polynomial(z, &c::ERF) } else { horner(z, &c::ERF_SINGLE) };
    let small = x.mul_add(small, x);
    // At the end of the range the result is 1.
    let large = size.max(one).min(V::either(6.0, 3.95)) - one;
    let large = if V::DOUBLE {
        one - exp_near(polynomial(large, &c::ERF_TAIL).negate())
    } else {
        let root = horner(large, &c::ERF_TAIL_SINGLE);
        let square = root * root;
        square.neg_mul_add(square, one)
    };
    // A NaN takes the way of small numbers, on which it keeps its payload.
    V::select(one.le(size), large.copysign(x), small)
}

/// `e^(-x^2)` times a function that hardly changes, which is a polynomial in `(x - 4) / (x + 4)` over `1 + 2
/// x`; of negative numbers what is left of 2. `SHORT`: good enough for singles.
#[inline(always)]
fn erfc_of<V: Lanes, const SHORT: bool>(x: V) -> V {
    // Beyond, the result is 0 or 2.
    let size = x.abs().min(V::of(if SHORT { 12.0 } else { 28.0 }));
    let four = V::of(4.0);
    let t = (size - four) / (size + four);
    let p = if SHORT { polynomial(t, &c::ERFC_SHORT) } else { polynomial(t, &c::ERFC) };
    let p = p / (size + size + V::of(1.0));
    let square = size * size;
    let y = if SHORT {
        p * exp2_short(square * V::of(-std::f64::consts::LOG2_E))
    } else {
        let lost = size.mul_add(size, square.negate());
        let (power, n) = exp_of_sum(square.negate(), lost.negate());
        let y = p * power;
        // Up to here results are normal numbers.
        if V::any(V::of(26.0).lt(size)) {
            y.scale(n)
        } else {
            y * n.power_of_two()
        }
    };
    let y = V::select(x.lt(V::of(0.0)), V::of(2.0) - y, y);
    // Near 0 that would be the rounding of a number above 1, twice.
    let is_small = size.lt(V::of(0.5));
    if !SHORT && V::any(is_small) {
        let small = x.mul_add(polynomial(x * x, &c::ERF), x);
        return x.keep_nan(V::select(is_small, V::of(1.0) - small, y));
    }
    x.keep_nan(y)
}

/// Complementary error function. Less than 4 ulp.
#[inline(always)]
pub(super) fn erfc<V: Lanes>(x: V) -> V {
    erfc_of::<V, false>(x)
}

/// As [`erfc`], for singles computed as doubles. Less than 0.51 ulp.
#[inline(always)]
pub(super) fn erfc_single<V: Singles>(x: V) -> V {
    by_doubles!(erfc_of::<_, true>, x)
}

/// `x` times a polynomial in `w = -log(1 - x^2)`, and in the root of `w` where that is large (Giles 2010,
/// Approximating the erfinv function). `SHORT`: good enough for singles.
#[inline(always)]
fn erf_inv_of<V: Lanes, const SHORT: bool>(x: V) -> V {
    let one = V::of(1.0);
    let size = x.abs();
    let w = log_of::<V, SHORT>((one - size) * (one + size)).negate();
    let t = w - V::of(2.5);
    let p = if SHORT { polynomial(t, &c::ERF_INV_SHORT) } else { polynomial(t, &c::ERF_INV) };
    let is_near = size.lt(V::of(NEAR_ONE));
    if V::any(!is_near) {
        let root = w.sqrt();
        let far = if SHORT {
            horner(root - V::of(3.2), &c::ERF_INV_FAR_SHORT)
        } else {
            let far = horner(root - V::of(3.1), &c::ERF_INV_FAR);
            V::select(root.lt(V::of(3.75)), far, horner(root - V::of(5.0), &c::ERF_INV_END))
        };
        let y = V::select(is_near, p, far) * x;
        let y = V::select(size.same(one), x * V::of(f64::INFINITY), y);
        return x.keep_nan(V::select(one.lt(size), V::of(f64::NAN), y));
    }
    p * x
}

/// The root of `1 - e^-5`, rounded down.
const NEAR_ONE: f64 = 0.9966;

/// Inverse of the error function. Less than 3 ulp.
#[inline(always)]
pub(super) fn erf_inv<V: Lanes>(x: V) -> V {
    erf_inv_of::<V, false>(x)
}

/// As [`erf_inv`], for singles computed as doubles. Less than 0.51 ulp.
#[inline(always)]
pub(super) fn erf_inv_single<V: Singles>(x: V) -> V {
    by_doubles!(erf_inv_of::<_, true>, x)
}

/// `e^(x^2) erfc(x)`: of positive numbers the function that hardly changes, over `1 + 2 x`, and beyond where
/// that is fitted the asymptotic series (DLMF 7.12.1); of negative ones the rest of `2 e^(x^2)`. Less than 3
/// ulp.
#[inline(always)]
pub(super) fn erfcx<V: Lanes>(x: V) -> V {
    let (one, four) = (V::of(1.0), V::of(4.0));
    let size = x.abs();
    let near = size.min(V::of(28.0));
    let t = (near - four) / (near + four);
    let mut y = polynomial(t, &c::ERFC) / (near + near + one);
    let is_far = V::of(28.0).lt(size);
    if V::any(is_far) {
        let inverse = one / size;
        let u = V::of(0.5) * inverse * inverse;
        let series = horner(u, &[1.0, -1.0, 3.0, -15.0, 105.0, -945.0, 10395.0, -135135.0]);
        y = V::select(is_far, V::of(g::INVERSE_ROOT_PI[0]) * inverse * series, y);
    }
    let is_below = x.lt(V::of(0.0));
    if V::any(is_below) {
        // Beyond, the result is Inf.
        let size = size.min(V::of(30.0));
        let square = size * size;
        let (power, n) = exp_of_sum(square, size.mul_add(size, square.negate()));
        let twice = (power + power).scale(n);
        y = V::select(is_below, twice - y, y);
    }
    // Near 0 that would be the rounding of a number above 1, twice.
    let is_small = size.lt(V::of(0.5));
    if V::any(is_small) {
        let square = x * x;
        let small = V::of(1.0) - x.mul_add(polynomial(square, &c::ERF), x);
        let (power, n) = exp_of_sum(square, x.mul_add(x, square.negate()));
        y = V::select(is_small, small * power * n.power_of_two(), y);
    }
    x.keep_nan(y)
}

/// As [`erfcx`], for singles computed as doubles. Less than 0.51 ulp.
#[inline(always)]
pub(super) fn erfcx_single<V: Singles>(x: V) -> V {
    by_doubles!(erfcx, x)
}

/// Quantile of the standard normal distribution, `sqrt(2) erf_inv(2 p - 1)` without its rounding: the
/// functions of [`erf_inv`] with `w = -log(4 p (1 - p))`, and their continuation beyond where doubles next to
/// 1 end. Less than 3 ulp.
#[inline(always)]
pub(super) fn probit<V: Lanes>(p: V) -> V {
    let (zero, one, half) = (V::of(0.0), V::of(1.0), V::of(0.5));
    // The tail, and its distance from the middle; where the first is rounded, the second is not, or is near 1.
    let is_above = half.lt(p);
    let tail = V::select(is_above, one - p, p);
    let size = one - (tail + tail);
    let raised = V::of(4.0) * tail;
    let is_inside = zero.lt(tail);
    let w = log_of::<V, false>(V::select(is_inside, raised * (one - tail), one)).negate();
    let mut y = polynomial(w - V::of(2.5), &c::ERF_INV) * size;
    let is_far = V::of(4.99).lt(w);
    if V::any(is_far) {
        let root = w.sqrt();
        let far = V::select(
            root.lt(V::of(3.75)),
            horner(root - V::of(3.1), &c::ERF_INV_FAR),
            horner(root - V::of(5.0), &c::ERF_INV_END),
        ) * size;
        let end = V::select(
            root.lt(V::of(12.0)),
            horner(root - V::of(9.0), &g::PROBIT_FAR),
            horner(root - V::of(18.0), &g::PROBIT_END),
        );
        y = V::select(is_far, V::select(root.lt(V::of(6.0)), far, end), y);
    }
    let y = y * V::of(g::ROOT_2[0]);
    let y = V::select(is_above, y, y.negate());
    let y = V::select(p.same(half), zero, y);
    let y =
        V::select(p.same(zero), V::of(f64::NEG_INFINITY), V::select(p.same(one), V::of(f64::INFINITY), y));
    p.keep_nan(V::select(p.lt(zero) | one.lt(p), V::of(f64::NAN), y))
}

/// As [`probit`], for singles computed as doubles. Less than 0.51 ulp.
#[inline(always)]
pub(super) fn probit_single<V: Singles>(x: V) -> V {
    by_doubles!(probit, x)
}
