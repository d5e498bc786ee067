//! The kernels, each with its reference function.

use crate::precise::{to_double, Precise, TO_EVEN};
use anvil_core::kernels::math::{self, Kernel1, Kernel2};
use astro_float_num::BigFloat;

/// A number of many bits from one, or from two.
pub type Exact1 = fn(&mut Precise, &BigFloat) -> BigFloat;
pub type Exact2 = fn(&mut Precise, &BigFloat, &BigFloat) -> BigFloat;

/// A kernel with its reference for doubles, that for singles (good to a double's rounding), and where to look
/// closely.
pub struct Case1 {
    pub name: &'static str,
    pub kernel: &'static Kernel1,
    pub exact: Exact1,
    pub double: fn(f64) -> f64,
    pub range: (f64, f64),
}

pub struct Case2 {
    pub name: &'static str,
    pub kernel: &'static Kernel2,
    pub exact: Exact2,
    pub double: fn(f64, f64) -> f64,
}

// Statics: rustc 1.85 refuses constants that refer to what may change, as the formula that a kernel records once.
pub static CASES: &[Case1] = &[
    Case1 {
        name: "exp",
        kernel: &math::EXP,
        exact: |p, x| p.exp(x),
        double: f64::exp,
        range: (-745.0, 710.0),
    },
    Case1 {
        name: "exp2",
        kernel: &math::EXP2,
        exact: |p, x| {
            let ln2 = p.constants.ln_2(p.bits + 64, TO_EVEN);
            let y = x.mul(&ln2, p.bits + 64, TO_EVEN);
            p.exp(&y)
        },
        double: f64::exp2,
        range: (-1075.0, 1024.0),
    },
    Case1 {
        name: "expm1",
        kernel: &math::EXPM1,
        exact: |p, x| p.expm1(x),
        double: f64::exp_m1,
        range: (-40.0, 50.0),
    },
    Case1 { name: "log", kernel: &math::LOG, exact: |p, x| p.ln(x), double: f64::ln, range: (0.0, 4.0) },
    Case1 {
        name: "log1p",
        kernel: &math::LOG1P,
        exact: |p, x| p.log1p(x),
        double: f64::ln_1p,
        range: (-1.0, 4.0),
    },
    Case1 {
        name: "log2",
        kernel: &math::LOG2,
        exact: |p, x| {
            let y = p.ln(x);
            let ln2 = p.constants.ln_2(p.bits, TO_EVEN);
            p.div(&y, &ln2)
        },
        double: f64::log2,
        range: (0.0, 4.0),
    },
    Case1 {
        name: "log10",
        kernel: &math::LOG10,
        exact: |p, x| {
            let y = p.ln(x);
            let ln10 = p.constants.ln_10(p.bits, TO_EVEN);
            p.div(&y, &ln10)
        },
        double: f64::log10,
        range: (0.0, 4.0),
    },
    Case1 {
        name: "logistic",
        kernel: &math::LOGISTIC,
        exact: |p, x| {
            let e = p.exp(&x.neg());
            let below = p.add(&e, &p.of(1.0));
            p.div(&p.of(1.0), &below)
        },
        double: |x| if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) },
        range: (-40.0, 40.0),
    },
    Case1 {
        name: "softplus",
        kernel: &math::SOFTPLUS,
        exact: |p, x| {
            let e = p.exp(x);
            let sum = p.add(&e, &p.of(1.0));
            if e.exponent().is_some_and(|e| e < -100) {
                e
            } else {
                p.ln(&sum)
            }
        },
        double: |x| x.max(0.0) + (-x.abs()).exp().ln_1p(),
        range: (-40.0, 40.0),
    },
    Case1 {
        name: "tanh",
        kernel: &math::TANH,
        exact: |p, x| {
            let twice = x.add(x, p.bits, TO_EVEN);
            let e = p.expm1(&twice);
            let below = p.add(&e, &p.of(2.0));
            p.div(&e, &below)
        },
        double: f64::tanh,
        range: (-20.0, 20.0),
    },
    Case1 {
        name: "sinh",
        kernel: &math::SINH,
        exact: |p, x| {
            let (e, down) = (p.expm1(x), p.expm1(&x.neg()));
            p.mul(&p.add(&e, &down.neg()), &p.of(0.5))
        },
        double: f64::sinh,
        range: (-10.0, 10.0),
    },
    Case1 {
        name: "cosh",
        kernel: &math::COSH,
        exact: |p, x| {
            let e = p.exp(x);
            let q = p.div(&p.of(1.0), &e);
            p.mul(&p.add(&e, &q), &p.of(0.5))
        },
        double: f64::cosh,
        range: (-10.0, 10.0),
    },
    Case1 {
        name: "sin",
        kernel: &math::SIN,
        exact: |p, x| x.sin(p.bits, TO_EVEN, &mut p.constants),
        double: f64::sin,
        range: (-1000.0, 1000.0),
    },
    Case1 {
        name: "cos",
        kernel: &math::COS,
        exact: |p, x| x.cos(p.bits, TO_EVEN, &mut p.constants),
        double: f64::cos,
        range: (-1000.0, 1000.0),
    },
    Case1 {
        name: "tan",
        kernel: &math::TAN,
        exact: |p, x| x.tan(p.bits, TO_EVEN, &mut p.constants),
        double: f64::tan,
        range: (-1000.0, 1000.0),
    },
    Case1 {
        name: "sqrt",
        kernel: &math::SQRT,
        exact: |p, x| x.sqrt(p.bits, TO_EVEN),
        double: f64::sqrt,
        range: (0.0, 4.0),
    },
    Case1 {
        name: "rsqrt",
        kernel: &math::RSQRT,
        exact: |p, x| p.div(&p.of(1.0), &x.sqrt(p.bits, TO_EVEN)),
        double: |x| 1.0 / x.sqrt(),
        range: (0.0, 4.0),
    },
    Case1 {
        name: "cbrt",
        kernel: &math::CBRT,
        exact: |p, x| x.cbrt(p.bits, TO_EVEN),
        double: f64::cbrt,
        range: (-8.0, 8.0),
    },
    Case1 {
        name: "asin",
        kernel: &math::ASIN,
        exact: |p, x| x.asin(p.bits, TO_EVEN, &mut p.constants),
        double: f64::asin,
        range: (-1.0, 1.0),
    },
    Case1 {
        name: "acos",
        kernel: &math::ACOS,
        exact: |p, x| x.acos(p.bits, TO_EVEN, &mut p.constants),
        double: f64::acos,
        range: (-1.0, 1.0),
    },
    Case1 {
        name: "atan",
        kernel: &math::ATAN,
        exact: |p, x| x.atan(p.bits, TO_EVEN, &mut p.constants),
        double: f64::atan,
        range: (-4.0, 4.0),
    },
    Case1 {
        name: "asinh",
        kernel: &math::ASINH,
        exact: |p, x| x.asinh(p.bits, TO_EVEN, &mut p.constants),
        double: libm::asinh,
        range: (-4.0, 4.0),
    },
    Case1 {
        name: "acosh",
        kernel: &math::ACOSH,
        exact: |p, x| {
            // Through logarithms: next to 1 the digits of `x - 1` matter.
            let t = p.add(x, &p.of(-1.0));
            let root = p.mul(&t, &p.add(x, &p.of(1.0))).sqrt(p.bits, TO_EVEN);
            let sum = p.add(&t, &root);
            p.log1p(&sum)
        },
        double: |x| if x < 1.0 { f64::NAN } else { libm::acosh(x) },
        range: (1.0, 4.0),
    },
    Case1 {
        name: "atanh",
        kernel: &math::ATANH,
        exact: |p, x| {
            let twice = x.add(x, p.bits, TO_EVEN);
            let q = p.div(&twice, &p.add(&p.of(1.0), &x.neg()));
            let y = p.log1p(&q);
            p.mul(&y, &p.of(0.5))
        },
        double: libm::atanh,
        range: (-1.0, 1.0),
    },
    Case1 {
        name: "sinpi",
        kernel: &math::SINPI,
        exact: |p, x| p.of_turns(x, 0.0),
        double: |x| libm::sin(std::f64::consts::PI * near_zero(x)),
        range: (-3.0, 3.0),
    },
    Case1 {
        name: "cospi",
        kernel: &math::COSPI,
        exact: |p, x| p.of_turns(x, 0.5),
        double: |x| libm::sin(std::f64::consts::PI * near_zero(0.5 - (x % 2.0).abs())),
        range: (-3.0, 3.0),
    },
    Case1 {
        name: "tanpi",
        kernel: &math::TANPI,
        exact: |p, x| {
            let (sine, cosine) = (p.of_turns(x, 0.0), p.of_turns(x, 0.5));
            p.div(&sine, &cosine)
        },
        double: |x| {
            let cosine = near_zero(0.5 - (x % 2.0).abs());
            if cosine == 0.0 {
                return f64::NAN;
            }
            libm::sin(std::f64::consts::PI * near_zero(x)) / libm::sin(std::f64::consts::PI * cosine)
        },
        range: (-3.0, 3.0),
    },
    Case1 {
        name: "gamma",
        kernel: &math::GAMMA,
        exact: |p, x| {
            let log = p.lgamma(x);
            let size = p.exp(&log);
            let odd = x.is_negative() && to_double(x).floor() % 2.0 != 0.0;
            if odd {
                size.neg()
            } else {
                size
            }
        },
        double: |x| if x <= 0.0 && x.trunc() == x { f64::NAN } else { libm::tgamma(x) },
        range: (-170.0, 171.6),
    },
    Case1 { name: "erf", kernel: &math::ERF, exact: Precise::erf, double: libm::erf, range: (-6.0, 6.0) },
    Case1 {
        name: "erfc",
        kernel: &math::ERFC,
        exact: Precise::erfc,
        double: libm::erfc,
        range: (-6.0, 28.0),
    },
    Case1 {
        name: "erf_inv",
        kernel: &math::ERF_INV,
        exact: |p, x| {
            let near = math::single(&math::ERF_INV, to_double(x));
            p.erf_inv(x, near)
        },
        double: |x| math::single(&math::ERF_INV, x),
        range: (-1.0, 1.0),
    },
    Case1 {
        name: "lgamma",
        kernel: &math::LGAMMA,
        exact: Precise::lgamma,
        double: libm::lgamma,
        range: (-20.0, 30.0),
    },
    Case1 {
        name: "digamma",
        kernel: &math::DIGAMMA,
        exact: Precise::digamma,
        double: |x| math::single(&math::DIGAMMA, x),
        range: (-20.0, 30.0),
    },
];

/// A number less the nearest even whole one, or 1 less what is beyond 1/2: its sine of `pi` times it is that of
/// the number.
fn near_zero(x: f64) -> f64 {
    let r = x % 2.0;
    let r = if r > 1.0 {
        r - 2.0
    } else if r < -1.0 {
        r + 2.0
    } else {
        r
    };
    if r > 0.5 {
        1.0 - r
    } else if r < -0.5 {
        -1.0 - r
    } else {
        r
    }
}

/// The size in whose units errors are counted where the result is smaller: beside the irrational zeros of the
/// gamma family.
pub fn least_size(name: &str, x: f64) -> f64 {
    match name {
        "lgamma" if x < 0.0 => libm::lgamma(1.0 - x).max(1.0),
        "digamma" if x < 0.0 => math::single(&math::DIGAMMA, 1.0 - x).max(1.0),
        _ => 0.0,
    }
}

pub static PAIRS: &[Case2] = &[
    Case2 {
        name: "pow",
        kernel: &math::POW,
        exact: |p, x, y| x.pow(y, p.bits, TO_EVEN, &mut p.constants),
        double: f64::powf,
    },
    Case2 {
        name: "atan2",
        kernel: &math::ATAN2,
        exact: |p, y, x| {
            let pi = p.constants.pi(p.bits, TO_EVEN);
            let angle = y.div(x, p.bits, TO_EVEN).atan(p.bits, TO_EVEN, &mut p.constants);
            match (x.is_negative(), y.is_negative()) {
                (false, _) => angle,
                (true, false) => p.add(&angle, &pi),
                (true, true) => p.add(&angle, &pi.neg()),
            }
        },
        double: f64::atan2,
    },
];
