//! One operand, same shape and dtype out. The result is ambiguous if the operand is.

use super::attrs::Attrs;
use super::binary::Binary;
use super::compare::Compare;
use super::contract::{member, named, simplified, Cost, Form, OpDef, Promotion, Role, Simplified};
use super::derive::{Slope, Slope1, Var};
use super::lower::{single, Lower, Lowering, UnaryFormula as Formula, UnaryLower};
use super::rules::{Batch, Jvp, Vjp};
use super::{Builder, Graph, Op, Row};
use crate::dtype::{DType, ANY, BITS, FLOAT, INEXACT, INTEGER, NUMBER, NUMERIC, SIGNED, SIGNED_NUMBER};
use crate::error::{Error, Result};
use crate::exec::vm::native;
use crate::exec::vm::Kernel;
use crate::graph::syntax::Parsed;
use crate::graph::Value;
use crate::kernels::elementwise::{self, Map};
use crate::kernels::math;
use crate::tensor::{Aval, View, ViewMut};
use std::f64::consts::{PI, TAU};

macro_rules! unary_ops {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident {
            accepts: $accepts:expr,
            slope: $slope:expr,
            lower: $lower:expr,
            $(function: $function:literal,)?
            $(generic: $generic:literal,)?
            example: $example:literal,
            $(ulps: $ulps:literal,)?
            $(accuracy: $accuracy:literal,)?
            $(cost: $cost:ident,)?
            $(native: $native:ident,)?
            $(simd: $simd:path,)?
        }
    )+) => {
        /// An elementwise op of one operand.
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Unary { $($(#[doc = $doc])+ $name),+ }

        impl Unary {
            /// All of them, in the order of the catalogue.
            pub const ALL: &'static [Unary] = &[$(Unary::$name),+];

            /// The op's row.
            pub fn row(self) -> &'static Row {
                match self { $(Unary::$name => &const {
                    #[allow(unused_mut)]
                    let mut row = Row {
                        name: stringify!($name), function: concat!("nv_", stringify!($name)), generated: true,
                        doc: &[$($doc),+], operands: &["operand"], accepts: $accepts, generic: None, example: $example, ulps: 0.0,
                        accuracy: "", native: None,
                    };
                    $(row.ulps = $ulps;)?
                    $(row.accuracy = $accuracy;)?
                    $(row.native = Some(native::Op::$native);)?
                    $(row.generic = Some($generic);)?
                    $(row.function = $function; row.generated = false;)?
                    row
                }),+ }
            }

            /// Its derivative, for real operands; for complex ones too, but not for `conj`.
            pub fn slope(self) -> Slope1 {
                match self { $(Unary::$name => $slope),+ }
            }

            /// Its cost: that of an exponential, unless the row states it.
            fn cost(self) -> Cost {
                match self { $(Unary::$name => {
                    #[allow(unused_mut, unused_assignments)]
                    let mut cost = Cost::Function;
                    $(cost = Cost::$cost;)?
                    cost
                }),+ }
            }

            /// The op of native code that is made of steps of its function.
            fn function(self) -> Option<native::Op> {
                match self { $(Unary::$name => {
                    #[allow(unused_mut, unused_assignments)]
                    let mut function = None;
                    $(function = Some(native::Op::Function(&$simd));)?
                    function
                }),+ }
            }

            /// Its lowering to StableHLO.
            pub fn lowering(self) -> UnaryLower {
                match self { $(Unary::$name => $lower),+ }
            }

            /// Its kernel on elements of a dtype, if it has one.
            fn map(self, dtype: DType) -> Option<Map<1>> {
                match self { $(Unary::$name => {
                    $(if let Some(map) = Map::function(&$simd, dtype) {
                        return Some(map);
                    })?
                    elementwise::Unary::$name.map(dtype)
                }),+ }
            }
        }
    };
}

unary_ops! {
    /// Negation, `-x`.
    ///
    /// Integers wrap: the negative of the smallest one is itself, and unsigned ones are taken modulo
    /// `2^bits`. Booleans count as `i32`, as in R.
    negate { accepts: NUMBER, slope: Slope::By(|x, _y| x.of(-1.0)), lower: Lower::Op("stablehlo.negate"), generic: "-", example: "c(-1, 0, 2)", cost: Simple, native: Negate, }
    /// Absolute value.
    ///
    /// The absolute value of the smallest signed integer is that integer itself; that of a complex number has
    /// the dtype of its parts.
    abs { accepts: SIGNED_NUMBER, slope: Slope::By(|x, _y| x.sign()), lower: Lower::Op("stablehlo.abs"), generic: "abs", example: "c(-1, 0, 2)", cost: Simple, native: Abs, }
    /// Sign: -1, 0 or 1.
    ///
    /// NaN stays NaN, and a zero keeps its sign.
    sign { accepts: SIGNED, slope: Slope::Flat, lower: Lower::Op("stablehlo.sign"), generic: "sign", example: "c(-1.5, 0, 2)", cost: Division, native: Sign, }
    /// Square root.
    ///
    /// NaN below zero. The root of a complex number is the one whose real part is not negative.
    sqrt { accepts: INEXACT, slope: Slope::By(|_x, y| 0.5 / y), lower: Lower::On(DType::is_float, "stablehlo.sqrt", Formula::UpperHalf(Unary::sqrt)), generic: "sqrt", example: "c(0, 1, 2)", ulps: 0.5, cost: Root, native: Sqrt, simd: math::SQRT, }
    /// Reciprocal square root, `1 / sqrt(x)`.
    ///
    /// Inf at 0, -Inf at -0, NaN below.
    rsqrt { accepts: FLOAT, slope: Slope::By(|x, y| -0.5 * y / x), lower: Lower::Op("stablehlo.rsqrt"), example: "c(0.25, 1, 4)", ulps: 2.0, cost: Root, simd: math::RSQRT, }
    /// Cube root, of negative numbers too.
    cbrt { accepts: FLOAT, slope: Slope::By(|_x, y| 1.0 / (3.0 * y.squared())), lower: Lower::Op("stablehlo.cbrt"), example: "c(-8, 0, 27)", ulps: 1.0, simd: math::CBRT, }
    /// Exponential, `e^x`.
    exp { accepts: INEXACT, slope: Slope::By(|_x, y| y), lower: Lower::On(DType::is_float, "stablehlo.exponential", Formula::ComplexExp), generic: "exp", example: "c(-1, 0, 1)", ulps: 1.0, simd: math::EXP, }
    /// Power of 2, `2^x`.
    ///
    /// Exact for whole numbers.
    exp2 { accepts: FLOAT, slope: Slope::By(|_x, y| y * std::f64::consts::LN_2), lower: Lower::Formula(Formula::Exp2), example: "c(-1, 0, 3)", ulps: 1.0, simd: math::EXP2, }
    /// `e^x - 1`.
    ///
    /// Accurate near zero, where `exp(x) - 1` is not.
    expm1 { accepts: FLOAT, slope: Slope::By(|_x, y| y + 1.0), lower: Lower::Op("stablehlo.exponential_minus_one"), generic: "expm1", example: "c(-1, 1e-10, 1)", ulps: 1.1, simd: math::EXPM1, }
    /// Natural logarithm.
    ///
    /// -Inf at 0, NaN below; of complex numbers the principal value. `log(x, base)` gives a logarithm to
    /// another base.
    log { accepts: INEXACT, slope: Slope::By(|x, _y| 1.0 / x), lower: Lower::Op("stablehlo.log"), example: "c(0.5, 1, 2)", ulps: 1.0, simd: math::LOG, }
    /// Natural logarithm of `1 + x`.
    ///
    /// Accurate near zero, where `log(1 + x)` is not.
    log1p { accepts: FLOAT, slope: Slope::By(|x, _y| 1.0 / (x + 1.0)), lower: Lower::On(single, "stablehlo.log_plus_one", Formula::Log1p), generic: "log1p", example: "c(-0.5, 1e-10, 1)", ulps: 1.0, simd: math::LOG1P, }
    /// Logarithm to base 2.
    log2 { accepts: INEXACT, slope: Slope::By(|x, _y| 1.0 / (x * std::f64::consts::LN_2)), lower: Lower::Formula(Formula::Log2), generic: "log2", example: "c(0.5, 1, 8)", ulps: 1.0, simd: math::LOG2, }
    /// Logarithm to base 10.
    log10 { accepts: INEXACT, slope: Slope::By(|x, _y| 1.0 / (x * std::f64::consts::LN_10)), lower: Lower::Formula(Formula::Log10), generic: "log10", example: "c(0.1, 1, 100)", ulps: 1.0, simd: math::LOG10, }
    /// Sine; the operand is in radians.
    sin { accepts: INEXACT, slope: Slope::By(|x, _y| x.cos()), lower: Lower::On(DType::is_float, "stablehlo.sine", Formula::ComplexSin), generic: "sin", example: "c(0, pi / 2, 1)", ulps: 2.0, accuracy: "In `f64` it is at most 1 ulp. No bound is stated for complex numbers.", simd: math::SIN, }
    /// Cosine; the operand is in radians.
    cos { accepts: INEXACT, slope: Slope::By(|x, _y| -x.sin()), lower: Lower::On(DType::is_float, "stablehlo.cosine", Formula::ComplexCos), generic: "cos", example: "c(0, pi / 2, 1)", ulps: 2.0, accuracy: "In `f64` it is at most 1 ulp. No bound is stated for complex numbers.", simd: math::COS, }
    /// Tangent; the operand is in radians.
    tan { accepts: INEXACT, slope: Slope::By(|_x, y| y.squared() + 1.0), lower: Lower::Op("stablehlo.tan"), generic: "tan", example: "c(0, pi / 4, 1)", ulps: 2.0, simd: math::TAN, }
    /// Sine of `pi * x`.
    ///
    /// Exact at multiples of a half, also far from zero.
    sinpi { accepts: FLOAT, slope: Slope::By(|x, _y| x.unary(Unary::cospi) * PI), lower: Lower::Formula(Formula::Sinpi), generic: "sinpi", example: "c(0, 0.5, 1)", ulps: 1.0, simd: math::SINPI, }
    /// Cosine of `pi * x`.
    ///
    /// Exact at multiples of a half, also far from zero.
    cospi { accepts: FLOAT, slope: Slope::By(|x, _y| x.unary(Unary::sinpi) * -PI), lower: Lower::Formula(Formula::Cospi), generic: "cospi", example: "c(0, 0.5, 1)", ulps: 1.0, simd: math::COSPI, }
    /// Tangent of `pi * x`.
    ///
    /// Exact at multiples of a quarter; NaN halfway between whole numbers, as in R.
    tanpi { accepts: FLOAT, slope: Slope::By(|_x, y| (y.squared() + 1.0) * PI), lower: Lower::Formula(Formula::Tanpi), generic: "tanpi", example: "c(0, 0.25, 1)", ulps: 2.0, simd: math::TANPI, }
    /// Inverse sine, in radians.
    ///
    /// NaN outside of `[-1, 1]`. Of complex numbers the principal value; there the sign of a zero imaginary
    /// part says on which side of the cut it is, as in C99.
    asin { accepts: INEXACT, slope: Slope::By(|x, _y| 1.0 / ((1.0 - x) * (1.0 + x)).sqrt()), lower: Lower::On(DType::is_float, "chlo.asin", Formula::FirstQuadrant(Unary::asin)), generic: "asin", example: "c(-1, 0, 0.5)", ulps: 2.0, simd: math::ASIN, }
    /// Inverse cosine, in radians.
    ///
    /// NaN outside of `[-1, 1]`. Of complex numbers the principal value; there the sign of a zero imaginary
    /// part says on which side of the cut it is, as in C99.
    acos { accepts: INEXACT, slope: Slope::By(|x, _y| -1.0 / ((1.0 - x) * (1.0 + x)).sqrt()), lower: Lower::On(DType::is_float, "chlo.acos", Formula::UpperHalf(Unary::acos)), generic: "acos", example: "c(-1, 0, 0.5)", ulps: 2.0, simd: math::ACOS, }
    /// Inverse tangent, in radians.
    atan { accepts: INEXACT, slope: Slope::By(|x, _y| 1.0 / (x.squared() + 1.0)), lower: Lower::On(DType::is_float, "chlo.atan", Formula::FirstQuadrant(Unary::atan)), generic: "atan", example: "c(-1, 0, 0.5)", ulps: 2.0, simd: math::ATAN, }
    /// Hyperbolic sine.
    sinh { accepts: INEXACT, slope: Slope::By(|x, _y| x.cosh()), lower: Lower::Formula(Formula::Sinh), generic: "sinh", example: "c(-1, 0, 1)", ulps: 2.0, simd: math::SINH, }
    /// Hyperbolic cosine.
    cosh { accepts: INEXACT, slope: Slope::By(|x, _y| x.sinh()), lower: Lower::Formula(Formula::Cosh), generic: "cosh", example: "c(-1, 0, 1)", ulps: 1.0, simd: math::COSH, }
    /// Hyperbolic tangent.
    tanh { accepts: INEXACT, slope: Slope::By(|_x, y| (1.0 - y) * (1.0 + y)), lower: Lower::Op("stablehlo.tanh"), generic: "tanh", example: "c(-1, 0, 1)", ulps: 2.0, simd: math::TANH, }
    /// Inverse hyperbolic sine.
    asinh { accepts: INEXACT, slope: Slope::By(|x, _y| 1.0 / (x.squared() + 1.0).sqrt()), lower: Lower::On(DType::is_float, "chlo.asinh", Formula::FirstQuadrant(Unary::asinh)), generic: "asinh", example: "c(-1, 0, 1)", ulps: 2.0, simd: math::ASINH, }
    /// Inverse hyperbolic cosine.
    ///
    /// NaN below 1. Of complex numbers the principal value; on the branch cut, the sign of a zero imaginary
    /// part says which side it is.
    acosh { accepts: INEXACT, slope: Slope::By(|x, _y| 1.0 / ((x - 1.0).sqrt() * (x + 1.0).sqrt())), lower: Lower::On(DType::is_float, "chlo.acosh", Formula::UpperHalf(Unary::acosh)), generic: "acosh", example: "c(1, 2, 3)", ulps: 2.0, simd: math::ACOSH, }
    /// Inverse hyperbolic tangent.
    ///
    /// Infinite at -1 and 1, NaN beyond. Of complex numbers the principal value; on the branch cuts, the sign
    /// of a zero imaginary part says which side it is.
    atanh { accepts: INEXACT, slope: Slope::By(|x, _y| 1.0 / ((1.0 - x) * (1.0 + x))), lower: Lower::On(single, "chlo.atanh", Formula::Atanh), generic: "atanh", example: "c(-0.5, 0, 0.5)", ulps: 2.0, simd: math::ATANH, }
    /// Logistic function, `1 / (1 + exp(-x))`.
    ///
    /// The inverse of the logit; it never overflows. Also known as the sigmoid, and as `plogis()`.
    logistic { accepts: FLOAT, slope: Slope::By(|_x, y| y * (1.0 - y)), lower: Lower::Op("stablehlo.logistic"), example: "c(-2, 0, 2)", ulps: 2.0, simd: math::LOGISTIC, }
    /// Soft maximum of 0 and the operand, `log(1 + exp(x))`.
    ///
    /// It never overflows, and keeps its digits far below 0, where it is `exp(x)`. Its derivative is
    /// [nv_logistic()].
    softplus { accepts: FLOAT, slope: Slope::By(|x, _y| x.unary(Unary::logistic)), lower: Lower::Formula(Formula::Softplus), example: "c(-2, 0, 2)", ulps: 2.0, simd: math::SOFTPLUS, }
    /// Error function, `2 / sqrt(pi)` times the integral of `exp(-t^2)` from 0 to `x`.
    erf { accepts: FLOAT, slope: Slope::By(|x, _y| (-x.squared()).exp() * std::f64::consts::FRAC_2_SQRT_PI), lower: Lower::Op("chlo.erf"), example: "c(-1, 0, 0.5)", ulps: 1.5, simd: math::ERF, }
    /// Complementary error function, `1 - erf(x)`.
    ///
    /// Accurate for large `x`, where the difference is not.
    erfc { accepts: FLOAT, slope: Slope::By(|x, _y| (-x.squared()).exp() * -std::f64::consts::FRAC_2_SQRT_PI), lower: Lower::Formula(Formula::Erfc), example: "c(-1, 0, 5)", ulps: 4.0, simd: math::ERFC, }
    /// Scaled complementary error function, `exp(x^2) * nv_erfc(x)`.
    ///
    /// Where [nv_erfc()] underflows too; Inf far below zero.
    erfcx { accepts: FLOAT, slope: Slope::By(erfcx_slope), lower: Lower::Formula(Formula::Erfcx), example: "c(-1, 0, 50)", ulps: 3.0, simd: math::ERFCX, }
    /// Quantile of the standard normal distribution, the inverse of its distribution function.
    ///
    /// Also known as `qnorm()`. Infinite at 0 and 1, NaN outside.
    probit { accepts: FLOAT, slope: Slope::By(|_x, y| (y.squared() * 0.5).exp() * TAU.sqrt()), lower: Lower::Formula(Formula::Probit), example: "c(0.025, 0.5, 0.9)", ulps: 4.0, simd: math::PROBIT, }
    /// Inverse of the error function.
    ///
    /// Infinite at -1 and 1, NaN beyond.
    erf_inv { accepts: FLOAT, slope: Slope::By(|_x, y| y.squared().exp() / std::f64::consts::FRAC_2_SQRT_PI), lower: Lower::Formula(Formula::ErfInv), example: "c(-0.5, 0, 0.9)", ulps: 3.0, cost: Special, simd: math::ERF_INV, }
    /// Gamma function.
    ///
    /// NaN at zero and at negative whole numbers, as in R.
    gamma { accepts: FLOAT, slope: Slope::By(|x, y| y * x.digamma()), lower: Lower::Formula(Formula::Gamma), generic: "gamma", example: "c(-0.5, 0.5, 5)", ulps: 4.0, cost: Special, simd: math::GAMMA, }
    /// Logarithm of the absolute value of the gamma function.
    ///
    /// Inf at zero and at negative whole numbers.
    lgamma { accepts: FLOAT, slope: Slope::By(|x, _y| x.digamma()), lower: Lower::Formula(Formula::Lgamma), generic: "lgamma", example: "c(0.5, 1, 10)", ulps: 3.0, accuracy: "Below 0, where digits cancel near the zeros, the bound is that many ulps of `max(1, lgamma(1 - operand))`.", cost: Special, simd: math::LGAMMA, }
    /// Derivative of the logarithm of the gamma function.
    ///
    /// NaN at zero and at negative whole numbers. [nv_polygamma()] gives higher derivatives.
    digamma { accepts: FLOAT, slope: Slope::By(|x, _y| x.of(1.0).binary(Binary::polygamma, x)), lower: Lower::Formula(Formula::Digamma), generic: "digamma", example: "c(0.5, 1, 10)", ulps: 4.0, accuracy: "Below 0, where digits cancel near the zeros, the bound is that many ulps of `max(1, digamma(1 - operand))`.", cost: Special, simd: math::DIGAMMA, }
    /// Largest whole number not above the operand.
    floor { accepts: NUMERIC, slope: Slope::Flat, lower: Lower::On(DType::is_float, "stablehlo.floor", Formula::Same), generic: "floor", example: "c(-1.5, 0.5, 2)", cost: Simple, native: Floor, }
    /// Smallest whole number not below the operand.
    ceiling { accepts: NUMERIC, slope: Slope::Flat, lower: Lower::On(DType::is_float, "stablehlo.ceil", Formula::Same), generic: "ceiling", example: "c(-1.5, 0.5, 2)", cost: Simple, native: Ceiling, }
    /// Whole part: the nearest whole number toward zero.
    trunc { accepts: NUMERIC, slope: Slope::Flat, lower: Lower::Formula(Formula::Trunc), example: "c(-1.5, 0.5, 2)", cost: Simple, native: Trunc, }
    /// Nearest whole number, ties to even.
    round_nearest_even { accepts: NUMERIC, slope: Slope::Flat, lower: Lower::On(DType::is_float, "stablehlo.round_nearest_even", Formula::Same), function: "nv_round", example: "", cost: Simple, native: Round, }
    /// Nearest whole number, ties away from zero.
    round_nearest_afz { accepts: NUMERIC, slope: Slope::Flat, lower: Lower::On(DType::is_float, "stablehlo.round_nearest_afz", Formula::Same), function: "nv_round", example: "", }
    /// Complex conjugate: the imaginary part with the other sign.
    ///
    /// The conjugate of a real number is the number itself.
    conj {
        accepts: NUMBER, slope: Slope::By(|x, _y| x.of(1.0)), lower: Lower::Formula(Formula::Conj), generic: "Conj", example: "c(3+4i, -1i)", cost: Simple,
    }
    /// The value itself, taken for a constant by [gradient()].
    ///
    /// Nothing that it is computed from contributes to the gradient: for targets, running averages and other
    /// values that are not trained.
    stop_gradient {
        accepts: ANY, slope: Slope::Flat, lower: Lower::Formula(Formula::Same), example: "c(1, 2)", cost: Simple,
    }
    /// Logical negation of booleans, complement of the bits of integers.
    ///
    /// `!x` on an integer tensor is therefore bitwise, as `x & y` and `x | y` are: use `x == 0L` for a
    /// logical result.
    not { accepts: BITS, slope: Slope::Flat, lower: Lower::Op("stablehlo.not"), generic: "!", example: "c(TRUE, FALSE)", cost: Simple, native: Not, }
    /// Number of bits that are set.
    popcnt { accepts: INTEGER, slope: Slope::Flat, lower: Lower::Op("stablehlo.popcnt"), example: "c(0L, 7L, -1L)", cost: Division, }
}

/// The derivative of the scaled error function; far out, where both terms cancel, by its series (DLMF 7.12.1).
fn erfcx_slope<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> Var<'m, 'b> {
    let near = (x * y - 1.0 / PI.sqrt()) * 2.0;
    let is_far = x.compare(Compare::gt, x.of(20.0));
    // Near 0 the series, and all its derivatives, stay finite.
    let inverse = 1.0 / is_far.select(x, x.of(20.0)).squared();
    let series = inverse * (inverse * (inverse * (inverse * 6.5625 - 1.875) + 0.75) - 0.5) * 2.0 / PI.sqrt();
    is_far.select(series, near)
}

impl OpDef for Unary {
    fn row(&self) -> &'static Row {
        Unary::row(*self)
    }

    fn rows() -> Vec<&'static Row> {
        Unary::ALL.iter().map(|op| op.row()).collect()
    }

    /// A negative counts booleans, as R does.
    fn promotion(row: &'static Row) -> Promotion {
        match row.name == Unary::negate.row().name {
            true => Promotion::Each(&[Role::Counted]),
            false => Promotion::Join,
        }
    }

    fn decode(row: &'static Row, _attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        member(Unary::ALL, row)
    }

    fn parse(form: &Form) -> Parsed<Unary> {
        named(Unary::ALL, 1, form)
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let x = operands[0];
        self.row().check(0, x)?;
        if *self == Unary::abs && x.dtype.is_complex() {
            let detail =
                "the absolute value of complex numbers is not of their dtype: it is `magnitude`".into();
            return Err(Error::Internal { detail });
        }
        Ok(vec![x.clone()])
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let (x, out) = (&operands[0], &mut results[0]);
        self.map(x.dtype).expect("infer accepts what has a kernel").apply([x], out)
    }

    fn is_elementwise(&self, _from: &[DType]) -> bool {
        true
    }

    fn kernel(&self, from: &[DType]) -> Option<Kernel> {
        self.map(from[0]).map(Kernel::map)
    }

    fn instruction(&self) -> Option<native::Op> {
        self.row().native.or_else(|| self.function())
    }

    fn cost(&self) -> Cost {
        Unary::cost(*self)
    }

    fn vjp(&self) -> Vjp<'_> {
        match self.slope() {
            Slope::By(rule) => Vjp::of_one(move |at| match at.x(0) {
                x if self.conjugates(x) => at.g().conj(),
                x => at.g().chain(rule(x, at.y())),
            }),
            Slope::Partly(_, why) | Slope::Todo(why) => Vjp::Todo(why),
            Slope::Flat => Vjp::Zero,
        }
    }

    fn jvp(&self) -> Jvp<'_> {
        match self.slope() {
            Slope::By(rule) => Jvp::of_one(move |at| match at.x(0) {
                x if self.conjugates(x) => at.t(0).conj(),
                x => at.t(0).chain(rule(x, at.y())),
            }),
            Slope::Partly(_, why) | Slope::Todo(why) => Jvp::Todo(why),
            Slope::Flat => Jvp::Zero,
        }
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Same
    }

    fn lower(&self, operands: &[Aval]) -> Lowering<'_> {
        self.lowering().on(operands[0].dtype)
    }

    fn simplify(&self, b: &mut Builder, operands: &[Value], _read: &[bool]) -> Result<Simplified> {
        // Derivatives are taken before passes run.
        if *self == Unary::stop_gradient {
            return simplified(operands[0]);
        }
        // What is its own inverse.
        let inner = self.operand(b.graph(), operands[0]);
        Ok(inner.filter(|_| matches!(self, Unary::negate | Unary::not)).map(|x| vec![Some(x)]))
    }
}

impl Unary {
    /// Its operand, if the value is its result.
    pub(crate) fn operand(self, graph: &Graph, value: Value) -> Option<Value> {
        let node = graph.made_by(value)?;
        node.op.get::<Unary>().filter(|&&op| op == self).map(|_| node.operands[0])
    }

    /// Whether it conjugates its operand: then it has no complex derivative.
    fn conjugates(self, x: Var) -> bool {
        self == Unary::conj && x.aval().dtype.is_complex()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_dtypes_are_those_with_a_kernel() {
        for &op in Unary::ALL {
            for &d in DType::ALL {
                // `apply` makes it a part of them.
                let elsewhere = op == Unary::abs && d.is_complex();
                let has = elsewhere || op.map(d).is_some();
                assert!(has || !op.row().accepts.contains(d), "{} on {d}", op.row().name);
            }
        }
    }
}
