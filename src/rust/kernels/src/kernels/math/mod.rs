//! The mathematics: elementary and special functions on slices, vectorised.
//!
//! Each function is written once, over the few operations of [`lanes::Lanes`], and compiled for every level
//! of the processor's instructions; which one runs is decided when the first function is called, never when
//! the crate is built.
//!
//! * **The bits of a result depend on the operand alone:** not on the level (all have products and sums that
//!   round once, or emulate them), not on where in a slice an element stands (what is left over at the end of
//!   a slice is filled up to a whole vector), not on its neighbours (a vector in which something rare occurs
//!   is computed with more care, which changes no lane in which it does not).
//! * NaN comes out with the payload and the sign that it came in with, so that R's `NA` stays `NA`; a NaN
//!   that a function makes itself is the positive quiet one.
//! * Subnormal numbers are numbers, as operands and as results.
//! * The error bound of each function stands in the row of its op (`ulps`), and `tests/math/` holds it to
//!   it.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(all(target_arch = "x86_64", has_avx512))]
#[allow(clippy::incompatible_msrv)] // compiled by compilers that have it: build.rs
mod avx512;
#[rustfmt::skip] // generated
mod coefficients;
pub mod complex;
mod ends;
mod error;
mod exp;
pub mod formula;
mod gamma;
#[rustfmt::skip] // generated
mod gamma_coefficients;
#[rustfmt::skip] // generated
mod incomplete_coefficients;
mod inverse;
pub(in crate::kernels) mod lanes;
mod level;
mod log;
mod macros;
mod magnitude;
#[cfg(target_arch = "aarch64")]
mod neon;
mod planes;
mod portable;
mod powers;
mod product_sums;
mod quotients;
mod root;
pub mod scalar;
pub mod special;
#[rustfmt::skip] // generated
mod special_coefficients;
mod trigonometry;
pub(in crate::kernels) mod vectors;

pub use level::Level;
pub use portable::{fused, fused_single};
pub use powers::Steps;
pub use product_sums::ProductSums;

use crate::dtype::Float;
use ends::{Ends, Known};
use formula::{Formula, Formulas};
use lanes::{Doubles, Singles, MOST_LANES};
use std::sync::OnceLock;

// ---- kernels

/// A function of one float, for both widths and all levels.
pub struct Kernel1 {
    name: &'static str,
    // Each is compiled for the level of its place in `Level::ALL`, and must not be called where that is not
    // there.
    single: &'static [unsafe fn(&[f32], &mut [f32])],
    double: &'static [unsafe fn(&[f64], &mut [f64])],
    formulas: Option<Formulas>,
    ends: Known,
}

/// A function of two floats, for both widths and all levels.
pub struct Kernel2 {
    name: &'static str,
    single: &'static [unsafe fn(&[f32], &[f32], &mut [f32])],
    double: &'static [unsafe fn(&[f64], &[f64], &mut [f64])],
    formulas: Option<Formulas>,
    // What is known of pairs beforehand.
    known_single: fn(f32, f32) -> Option<f32>,
    known_double: fn(f64, f64) -> Option<f64>,
}

/// A function of four floats, for both widths and all levels.
pub struct Kernel4 {
    name: &'static str,
    single: &'static [unsafe fn(&[f32], &[f32], &[f32], &[f32], &mut [f32])],
    double: &'static [unsafe fn(&[f64], &[f64], &[f64], &[f64], &mut [f64])],
    formulas: Formulas,
}

impl Kernel1 {
    /// The formula of the function, of doubles or of singles; `None` of one that is better called: its code is
    /// long, or what its guards find is common.
    pub fn formula(&self, is_double: bool) -> Option<&Formula> {
        self.formulas.as_ref().map(|formulas| formulas.guarded(is_double))
    }

    /// The formula without guards, right for all elements; `None` where there is none, or it is longer than a
    /// call.
    pub fn total_formula(&self, is_double: bool) -> Option<&Formula> {
        self.formulas.as_ref().and_then(|formulas| formulas.total(is_double))
    }
}

impl Kernel2 {
    /// As [`Kernel1::formula`].
    pub fn formula(&self, is_double: bool) -> Option<&Formula> {
        self.formulas.as_ref().map(|formulas| formulas.guarded(is_double))
    }

    /// As [`Kernel1::total_formula`].
    pub fn total_formula(&self, is_double: bool) -> Option<&Formula> {
        self.formulas.as_ref().and_then(|formulas| formulas.total(is_double))
    }
}

impl Kernel4 {
    /// As [`Kernel1::formula`].
    pub fn formula(&self, is_double: bool) -> &Formula {
        self.formulas.guarded(is_double)
    }

    /// As [`Kernel1::total_formula`].
    pub fn total_formula(&self, is_double: bool) -> Option<&Formula> {
        self.formulas.total(is_double)
    }
}

/// Kernels are the same where they are one.
macro_rules! identical {
    ($($kernel:ident)+) => {$(
        impl PartialEq for $kernel {
            fn eq(&self, other: &Self) -> bool {
                std::ptr::eq(self, other)
            }
        }
        impl Eq for $kernel {}
        impl std::fmt::Debug for $kernel {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name)
            }
        }
    )+};
}
identical! { Kernel1 Kernel2 Kernel4 }

/// A float that kernels compute on.
pub trait Computed: Float {
    /// The function of each element. Panics unless the slices are of one length.
    fn map(kernel: &Kernel1, x: &[Self], out: &mut [Self]) {
        Self::map_at(Level::current(), kernel, x, out)
    }
    /// As [`Computed::map`], of two operands.
    fn map2(kernel: &Kernel2, x: &[Self], y: &[Self], out: &mut [Self]) {
        Self::map2_at(Level::current(), kernel, x, y, out)
    }
    /// As [`Computed::map`], of four operands.
    fn map4(kernel: &Kernel4, x: [&[Self]; 4], out: &mut [Self]) {
        Self::map4_at(Level::current(), kernel, x, out)
    }
    /// As [`Computed::map`], at a level of choice. Panics if this processor does not have it.
    fn map_at(level: Level, kernel: &Kernel1, x: &[Self], out: &mut [Self]);
    /// As [`Computed::map2`], at a level of choice. Panics if this processor does not have it.
    fn map2_at(level: Level, kernel: &Kernel2, x: &[Self], y: &[Self], out: &mut [Self]);
    /// As [`Computed::map4`], at a level of choice. Panics if this processor does not have it.
    fn map4_at(level: Level, kernel: &Kernel4, x: [&[Self]; 4], out: &mut [Self]);
    /// The function of a number, where it is known without.
    fn known(kernel: &Kernel1, x: Self) -> Option<Self>;
    /// As [`Computed::known`], of a pair.
    fn known2(kernel: &Kernel2, x: Self, y: Self) -> Option<Self>;
}

macro_rules! computed {
    ($float:ident $width:ident $known:ident) => {
        impl Computed for $float {
            fn map_at(level: Level, kernel: &Kernel1, x: &[Self], out: &mut [Self]) {
                assert!(x.len() == out.len(), "a result for each element");
                assert!(level == Level::current() || level.is_here(), "{level:?} is not here");
                // SAFETY: the function is compiled for a level that this processor has.
                unsafe { kernel.$width[level as usize](x, out) }
            }
            fn map2_at(level: Level, kernel: &Kernel2, x: &[Self], y: &[Self], out: &mut [Self]) {
                assert!(x.len() == out.len() && y.len() == out.len(), "a result for each pair");
                assert!(level == Level::current() || level.is_here(), "{level:?} is not here");
                // SAFETY: the function is compiled for a level that this processor has.
                unsafe { kernel.$width[level as usize](x, y, out) }
            }
            fn map4_at(level: Level, kernel: &Kernel4, x: [&[Self]; 4], out: &mut [Self]) {
                assert!(x.iter().all(|x| x.len() == out.len()), "a result for each four");
                assert!(level == Level::current() || level.is_here(), "{level:?} is not here");
                let [a, b, c, d] = x;
                // SAFETY: the function is compiled for a level that this processor has.
                unsafe { kernel.$width[level as usize](a, b, c, d, out) }
            }
            fn known(kernel: &Kernel1, x: Self) -> Option<Self> {
                kernel.ends.$width.get_or_init(|| Ends::<$float>::of(kernel)).value(x)
            }
            fn known2(kernel: &Kernel2, x: Self, y: Self) -> Option<Self> {
                (kernel.$known)(x, y)
            }
        }
    };
}
computed! { f32 single known_single }
computed! { f64 double known_double }

/// A function of one number.
pub fn single<F: Computed>(kernel: &Kernel1, x: F) -> F {
    if let Some(y) = F::known(kernel, x) {
        return y;
    }
    let mut out = [F::default()];
    F::map(kernel, &[x], &mut out);
    out[0]
}

/// A function of one pair.
pub fn pair<F: Computed>(kernel: &Kernel2, x: F, y: F) -> F {
    if let Some(z) = F::known2(kernel, x, y) {
        return z;
    }
    let mut out = [F::default()];
    F::map2(kernel, &[x], &[y], &mut out);
    out[0]
}

/// A function of one float, over the lanes of any level.
trait Map1 {
    fn single<V: Singles>(x: V) -> V;
    fn double<V: Doubles>(x: V) -> V;
}

/// A function of two floats, over the lanes of any level.
trait Map2 {
    fn single<V: Singles>(x: V, y: V) -> V;
    fn double<V: Doubles>(x: V, y: V) -> V;
}

/// A function of four floats, over the lanes of any level.
trait Map4 {
    fn single<V: Singles>(a: V, b: V, c: V, d: V) -> V;
    fn double<V: Doubles>(a: V, b: V, c: V, d: V) -> V;
}

/// A loop over slices, vector by vector. The last vector is padded with copies of its first element. One
/// element by itself is not written to memory first: a load of the whole vector would wait for that.
macro_rules! vector_loop {
    ($name:ident, $map:ident, $lanes:ident, $width:ident, $scalar:ident, $($x:ident),+) => {
        #[inline(always)]
        fn $name<M: $map, V: $lanes<Scalar = $scalar>>($($x: &[$scalar]),+, out: &mut [$scalar]) {
            let mut at = 0;
            // One call of the function, for whole vectors and the rest alike: twice its code is twice the
            // time to compile it.
            while at < out.len() {
                let rest = out.len() - at;
                let y = M::$width($(if rest >= V::LANES {
                    V::load(&$x[at..at + V::LANES])
                } else if rest == 1 {
                    V::of_bits(u64::from($x[at].to_bits()))
                } else {
                    let mut last = [$x[at]; MOST_LANES];
                    last[..rest].copy_from_slice(&$x[at..]);
                    V::load(&last)
                }),+);
                if rest >= V::LANES {
                    y.store(&mut out[at..at + V::LANES]);
                } else {
                    let mut last = [0.0; MOST_LANES];
                    y.store(&mut last);
                    out[at..].copy_from_slice(&last[..rest]);
                }
                at += V::LANES;
            }
        }
    };
}
vector_loop! { singles1, Map1, Singles, single, f32, x }
vector_loop! { doubles1, Map1, Doubles, double, f64, x }
vector_loop! { singles2, Map2, Singles, single, f32, x, y }
vector_loop! { doubles2, Map2, Doubles, double, f64, x, y }
vector_loop! { singles4, Map4, Singles, single, f32, a, b, c, d }
vector_loop! { doubles4, Map4, Doubles, double, f64, a, b, c, d }

/// The loops, compiled for one level; to be called only where the processor has it.
macro_rules! level {
    ($name:ident, $singles:ty, $doubles:ty $(, #[$feature:meta])*) => {
        mod $name {
            use super::*;
            $(#[$feature])*
            pub(super) unsafe fn single1<M: Map1>(x: &[f32], out: &mut [f32]) {
                singles1::<M, $singles>(x, out)
            }
            $(#[$feature])*
            pub(super) unsafe fn double1<M: Map1>(x: &[f64], out: &mut [f64]) {
                doubles1::<M, $doubles>(x, out)
            }
            $(#[$feature])*
            pub(super) unsafe fn single2<M: Map2>(x: &[f32], y: &[f32], out: &mut [f32]) {
                singles2::<M, $singles>(x, y, out)
            }
            $(#[$feature])*
            pub(super) unsafe fn double2<M: Map2>(x: &[f64], y: &[f64], out: &mut [f64]) {
                doubles2::<M, $doubles>(x, y, out)
            }
            $(#[$feature])*
            pub(super) unsafe fn single4<M: Map4>(a: &[f32], b: &[f32], c: &[f32], d: &[f32], out: &mut [f32]) {
                singles4::<M, $singles>(a, b, c, d, out)
            }
            $(#[$feature])*
            pub(super) unsafe fn double4<M: Map4>(a: &[f64], b: &[f64], c: &[f64], d: &[f64], out: &mut [f64]) {
                doubles4::<M, $doubles>(a, b, c, d, out)
            }
        }
    };
}
level! { at_portable, portable::F32x4, portable::F64x2 }
#[cfg(target_arch = "x86_64")]
level! { at_avx2, avx2::F32x8, avx2::F64x4, #[target_feature(enable = "avx2,fma")] }
#[cfg(all(target_arch = "x86_64", has_avx512))]
level! { at_avx512, avx512::F32x16, avx512::F64x8, #[target_feature(enable = "avx512f,avx2,fma")] }
#[cfg(target_arch = "aarch64")]
level! { at_neon, neon::F32x4, neon::F64x2, #[target_feature(enable = "neon")] }

/// A loop at every level, in the order of `Level::ALL`.
macro_rules! levels {
    ($name:ident, $map:ty) => {
        &[
            at_portable::$name::<$map>,
            #[cfg(target_arch = "x86_64")]
            at_avx2::$name::<$map>,
            #[cfg(all(target_arch = "x86_64", has_avx512))]
            at_avx512::$name::<$map>,
            #[cfg(target_arch = "aarch64")]
            at_neon::$name::<$map>,
        ]
    };
}

/// The formulas of a function, unless it is always called.
macro_rules! formulas {
    ($made:expr) => {
        Some($made)
    };
    ($made:expr, called) => {
        None
    };
}

/// The functions: name, of singles, of doubles, and whether they are always called ([`Kernel1::formula`]); of
/// two, what is known of pairs ([`Computed::known2`]).
macro_rules! kernels {
    (one: $($(#[$doc:meta])+ $name:ident $single:path, $double:path $(, $called:ident)?;)+
     two: $($(#[$doc2:meta])+ $name2:ident $single2:path, $double2:path,
         $known_single:path, $known_double:path;)+
     four: $($(#[$doc4:meta])+ $name4:ident $single4:path, $double4:path;)+) => {
        $(
            $(#[$doc])+
            pub static $name: Kernel1 = {
                struct Function;
                impl Map1 for Function {
                    #[inline(always)]
                    fn single<V: Singles>(x: V) -> V {
                        $single(x)
                    }
                    #[inline(always)]
                    fn double<V: Doubles>(x: V) -> V {
                        $double(x)
                    }
                }
                Kernel1 {
                    name: stringify!($name),
                    single: levels!(single1, Function),
                    double: levels!(double1, Function),
                    formulas: formulas!(Formulas::by([
                        || formula::record(|[x, _]| Function::single(x)),
                        || formula::record_double(|[x, _]| Function::double(x)),
                    ]) $(, $called)?),
                    ends: Known::none(),
                }
            };
        )+

        /// The functions of one float.
        #[cfg(test)]
        static KERNELS: &[&Kernel1] = &[$(&$name),+];

        $(
            $(#[$doc2])+
            pub static $name2: Kernel2 = {
                struct Function;
                impl Map2 for Function {
                    #[inline(always)]
                    fn single<V: Singles>(x: V, y: V) -> V {
                        $single2(x, y)
                    }
                    #[inline(always)]
                    fn double<V: Doubles>(x: V, y: V) -> V {
                        $double2(x, y)
                    }
                }
                Kernel2 {
                    name: stringify!($name2),
                    single: levels!(single2, Function),
                    double: levels!(double2, Function),
                    formulas: Some(Formulas::by([
                        || formula::record(|[x, y]| Function::single(x, y)),
                        || formula::record_double(|[x, y]| Function::double(x, y)),
                    ])),
                    known_single: $known_single,
                    known_double: $known_double,
                }
            };
        )+

        /// The functions of two floats.
        #[cfg(test)]
        static KERNELS2: &[&Kernel2] = &[$(&$name2),+];

        $(
            $(#[$doc4])+
            pub static $name4: Kernel4 = {
                struct Function;
                impl Map4 for Function {
                    #[inline(always)]
                    fn single<V: Singles>(a: V, b: V, c: V, d: V) -> V {
                        $single4(a, b, c, d)
                    }
                    #[inline(always)]
                    fn double<V: Doubles>(a: V, b: V, c: V, d: V) -> V {
                        $double4(a, b, c, d)
                    }
                }
                Kernel4 {
                    name: stringify!($name4),
                    single: levels!(single4, Function),
                    double: levels!(double4, Function),
                    formulas: Formulas::by([
                        || formula::record(|[a, b, c, d]| Function::single(a, b, c, d)),
                        || formula::record_double(|[a, b, c, d]| Function::double(a, b, c, d)),
                    ]),
                }
            };
        )+

        /// The functions of four floats.
        #[cfg(test)]
        static KERNELS4: &[&Kernel4] = &[$(&$name4),+];
    };
}

kernels! {
    one:
    /// Square root.
    SQRT root::sqrt, root::sqrt;
    /// Reciprocal square root.
    RSQRT root::rsqrt, root::rsqrt;
    /// Cube root.
    CBRT root::cbrt_single, root::cbrt;
    /// `e^x`.
    EXP exp::exp, exp::exp;
    /// `2^x`.
    EXP2 exp::exp2, exp::exp2;
    /// `e^x - 1`.
    EXPM1 exp::expm1, exp::expm1;
    /// `1 / (1 + e^-x)`.
    LOGISTIC exp::logistic, exp::logistic;
    /// Hyperbolic tangent.
    TANH exp::tanh, exp::tanh;
    /// Hyperbolic sine.
    SINH exp::sinh, exp::sinh;
    /// Hyperbolic cosine.
    COSH exp::cosh, exp::cosh;
    /// Natural logarithm.
    LOG log::log, log::log;
    /// Natural logarithm of `1 + x`.
    LOG1P log::log1p, log::log1p;
    /// Logarithm to base 2.
    LOG2 log::log2, log::log2;
    /// Logarithm to base 10.
    LOG10 log::log10, log::log10;
    /// `log(1 + e^x)`.
    SOFTPLUS log::softplus, log::softplus;
    /// Sine.
    SIN trigonometry::sin_single, trigonometry::sin;
    /// Cosine.
    COS trigonometry::cos_single, trigonometry::cos;
    /// Tangent.
    TAN trigonometry::tan_single, trigonometry::tan;
    /// Inverse sine.
    ASIN inverse::asin_single, inverse::asin;
    /// Inverse cosine.
    ACOS inverse::acos_single, inverse::acos;
    /// Inverse tangent.
    ATAN inverse::atan_single, inverse::atan;
    /// Inverse hyperbolic sine.
    ASINH inverse::asinh_single, inverse::asinh;
    /// Inverse hyperbolic cosine.
    ACOSH inverse::acosh_single, inverse::acosh;
    /// Inverse hyperbolic tangent.
    ATANH inverse::atanh_single, inverse::atanh;
    /// Error function.
    ERF error::erf, error::erf;
    /// Complementary error function.
    ERFC error::erfc_single, error::erfc, called;
    /// Inverse of the error function.
    ERF_INV error::erf_inv_single, error::erf_inv;
    /// `e^(x^2) erfc(x)`.
    ERFCX error::erfcx_single, error::erfcx, called;
    /// Quantile of the standard normal distribution.
    PROBIT error::probit_single, error::probit, called;
    /// `sin(pi x)`.
    SINPI trigonometry::sinpi_single, trigonometry::sinpi;
    /// `cos(pi x)`.
    COSPI trigonometry::cospi_single, trigonometry::cospi;
    /// `tan(pi x)`.
    TANPI trigonometry::tanpi_single, trigonometry::tanpi;
    /// Gamma function.
    GAMMA gamma::gamma_single, gamma::gamma, called;
    /// Logarithm of the absolute value of the gamma function.
    LGAMMA gamma::lgamma_single, gamma::lgamma, called;
    /// Derivative of that logarithm.
    DIGAMMA gamma::digamma_single, gamma::digamma, called;
    two:
    /// `x^y`.
    POW log::pow_single, log::pow, ends::power_single, ends::power;
    /// Angle of the point (`y`, `x`), in this order.
    ATAN2 inverse::atan2_single, inverse::atan2, ends::nan_of_singles, ends::nan_of_doubles;
    /// Remainder with the sign of the divisor.
    MODULO quotients::modulo_single, quotients::modulo, ends::unknown_single, ends::unknown;
    /// Remainder with the sign of the dividend.
    REMAINDER quotients::remainder_single, quotients::remainder, ends::unknown_single, ends::unknown;
    /// Quotient rounded down.
    FLOOR_QUOTIENT quotients::floor_quotient_single, quotients::floor_quotient, ends::unknown_single, ends::unknown;
    /// Absolute value of the complex number of these parts.
    MAGNITUDE magnitude::magnitude_single, magnitude::magnitude, ends::unknown_single, ends::unknown;
    four:
    /// Real part of the product of the complex numbers `a + bi` and `c + di`.
    PRODUCT_REAL planes::product_real, planes::product_real;
    /// Imaginary part of that product.
    PRODUCT_IMAG planes::product_imag, planes::product_imag;
    /// Real part of the quotient of `a + bi` and `c + di`.
    QUOTIENT_REAL planes::quotient_real_single, planes::quotient_real;
    /// Imaginary part of that quotient.
    QUOTIENT_IMAG planes::quotient_imag_single, planes::quotient_imag;
}
