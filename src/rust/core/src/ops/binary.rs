//! Two operands of one shape and dtype, same shape and dtype out. The result is ambiguous if both operands
//! are.

use super::algebra::Algebra;
use super::attrs::Attrs;
use super::compare::Compare;
use super::contract::{member, named, simplified, Cost, Form, OpDef, Promotion, Simplified};
use super::derive::{Math, Rule2, Slope, Slope2, Var};
use super::lower::{inexact, BinaryFormula as Formula, BinaryLower, Lower, Lowering};
use super::rules::{Backward, Batch, Forward, Jvp, Vjp};
use super::{algebra, power, Builder, Op, Row};
use crate::dtype::{DType, ANY, BITS, FLOAT, INEXACT, INTEGER, NUMBER, NUMERIC, ORDERED};
use crate::error::Result;
use crate::exec::vm::native;
use crate::exec::vm::Kernel;
use crate::graph::syntax::Parsed;
use crate::graph::Value;
use crate::kernels::elementwise::{self, Pair};
use crate::kernels::math;
use crate::tensor::{Aval, View, ViewMut};

macro_rules! binary_ops {
    ($(
        $(#[doc = $doc:literal])+
        $op:ident $name:literal {
            accepts: $accepts:expr,
            slope: $slope:expr,
            lower: $lower:expr,
            $(operands: $operands:expr,)?
            $(generic: $generic:literal,)?
            example: $example:literal,
            $(ulps: $ulps:literal,)?
            $(accuracy: $accuracy:literal,)?
            $(cost: $cost:ident,)?
            $(native: $native:ident,)?
            $(simd: $simd:path,)?
            $(algebra: $algebra:ident,)?
        }
    )+) => {
        /// An elementwise op of two operands.
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Binary { $($(#[doc = $doc])+ $op),+ }

        impl Binary {
            /// All of them, in the order of the catalogue.
            pub const ALL: &'static [Binary] = &[$(Binary::$op),+];

            /// The op's row.
            pub fn row(self) -> &'static Row {
                match self { $(Binary::$op => &const {
                    #[allow(unused_mut)]
                    let mut row = Row {
                        name: $name, function: concat!("nv_", $name), generated: true, doc: &[$($doc),+],
                        operands: &["lhs", "rhs"], accepts: $accepts, generic: None, example: $example, ulps: 0.0, accuracy: "", native: None,
                    };
                    $(row.ulps = $ulps;)?
                    $(row.accuracy = $accuracy;)?
                    $(row.native = Some(native::Op::$native);)?
                    $(row.generic = Some($generic);)?
                    $(row.operands = $operands;)?
                    row
                }),+ }
            }

            /// Its partial derivatives.
            pub fn slope(self) -> Slope2 {
                match self { $(Binary::$op => $slope),+ }
            }

            /// Its cost: that of a sum, unless the row states it.
            fn cost(self) -> Cost {
                match self { $(Binary::$op => {
                    #[allow(unused_mut, unused_assignments)]
                    let mut cost = Cost::Simple;
                    $(cost = Cost::$cost;)?
                    cost
                }),+ }
            }

            /// What it does with numbers, if anything is known.
            pub(super) fn algebra(self) -> Option<&'static Algebra> {
                match self { $(Binary::$op => {
                    #[allow(unused_mut, unused_assignments)]
                    let mut known: Option<&'static Algebra> = None;
                    $(known = Some(&algebra::$algebra);)?
                    known
                }),+ }
            }

            /// The op of native code that is made of steps of its function.
            fn function(self) -> Option<native::Op> {
                match self { $(Binary::$op => {
                    #[allow(unused_mut, unused_assignments)]
                    let mut function = None;
                    $(function = Some(native::Op::Function2(&$simd));)?
                    function
                }),+ }
            }

            /// Its lowering to StableHLO.
            pub fn lowering(self) -> BinaryLower {
                match self { $(Binary::$op => $lower),+ }
            }

            /// Its kernels on elements of a dtype, if it has some.
            pub(super) fn pair(self, dtype: DType) -> Option<Pair> {
                match self { $(Binary::$op => elementwise::Binary::$op),+ }.pair(dtype)
            }
        }
    };
}

binary_ops! {
    /// Sum.
    ///
    /// Integers wrap; booleans count as `i32`, as in R.
    add "add" {
        accepts: ANY,
        slope: Slope::By(|x, _y, _z| [Some(x.of(1.0)), Some(x.of(1.0))]), lower: Lower::On(|dtype| dtype != DType::I1, "stablehlo.add", Formula::Or), generic: "+", example: "c(1, 2), c(3, 4)", ulps: 0.5, accuracy: "So are the parts of complex numbers.",
        native: Add,
        algebra: SUM,
    }
    /// Difference.
    ///
    /// Integers wrap; booleans count as `i32`, as in R.
    sub "sub" {
        accepts: NUMBER,
        slope: Slope::By(|x, _y, _z| [Some(x.of(1.0)), Some(x.of(-1.0))]), lower: Lower::Op("stablehlo.subtract"), generic: "-", example: "c(1, 2), c(3, 4)", ulps: 0.5, accuracy: "So are the parts of complex numbers.",
        native: Sub,
        algebra: DIFFERENCE,
    }
    /// Product.
    ///
    /// Integers wrap; the product of booleans is their logical and.
    mul "mul" {
        accepts: ANY,
        slope: Slope::By(|x, y, _z| [Some(y), Some(x)]), lower: Lower::Op("stablehlo.multiply"), generic: "*", example: "c(1, 2), c(3, 4)", ulps: 0.5,
        native: Mul,
        algebra: PRODUCT,
    }
    /// Product that is 0 wherever the second operand is 0.
    ///
    /// Also where the first one is infinite or NaN: so an expression such as `x * log(x)` can be 0 at 0.
    /// Elsewhere it is the product, with the sign that the product has.
    mul_no_nan "mul_no_nan" {
        accepts: INEXACT, slope: Slope::By(|x, y, _z| [Some(y), Some(x)]), lower: Lower::Formula(Formula::MulNoNan), example: "c(-Inf, 2), c(0, 3)", ulps: 0.5,
        native: MulNoNan,
    }
    /// Quotient, of integers the whole one.
    ///
    /// Of integers it is truncated toward zero; `%/%` rounds down, and `x / y` is the quotient of floats.
    /// Where the divisor is 0, it is -1 for signed integers, and the largest value for unsigned ones; the
    /// smallest signed integer divided by -1 is itself. Quotients of complex numbers neither overflow nor
    /// underflow on the way.
    div "div" {
        accepts: NUMBER,
        slope: Slope::By(|_x, y, z| [Some(1.0 / y), Some(-z / y)]), lower: Lower::On(inexact, "stablehlo.divide", Formula::Quotient), example: "c(-7L, 7L), c(2L, 2L)", ulps: 0.5, cost: Quotient,
        native: Div,
        algebra: QUOTIENT,
    }
    /// Power, `lhs` to the `rhs`.
    ///
    /// `x^0` is 1 for every `x`. Integers wrap; a negative exponent gives 0, except for the bases 1 and -1.
    /// Of complex numbers the principal value.
    pow "pow" {
        accepts: NUMBER,
        slope: Slope::By(|x, y, z| {
            // No logarithm of 0 is taken: at 0 the power does not depend on its exponent.
            let at_zero = x.compare(Compare::eq, x.of(0.0));
            let base = at_zero.select(x.of(1.0), x);
            let less = match (y - 1.0).known() {
                // The power 0 has the slope 0, of which its own slope is 0, too, at 0 as well.
                Some(n) if n == 0.0.into() || n == (-1.0).into() => x.of(1.0),
                Some(n) if n == 1.0.into() => x,
                Some(_) => x.binary(Binary::pow, y - 1.0),
                // So has it at 0, where the power by `y - 1` is infinite.
                None => {
                    let flat = at_zero.binary(Binary::and, y.compare(Compare::eq, y.of(0.0)));
                    x.binary(Binary::pow, flat.select(y.of(0.0), y - 1.0))
                }
            };
            [Some(y.chain(less)), Some(base.log() * z)]
        }), lower: Lower::On(inexact, "stablehlo.power", Formula::IntegerPower), generic: "^", example: "c(2, 3), c(3, 0.5)",
        ulps: 1.0, accuracy: "The exponents -4 to -1, 2 to 8, and -1.5, -0.5, 0.5, 1.5 and 2.5 are products of the base, of its reciprocal and of its root, whether the exponent is a number or a tensor: the bound is `n - 1.5` ulps for a whole `n`, `2 * n - 1.5` for a whole `-n`, and 3 for the others. No bound is stated for complex numbers.",
        cost: Functions, simd: math::POW,
    }
    /// Remainder with the sign of the dividend, C's `fmod()`.
    ///
    /// The remainder of `x` and 0 is NaN for floats and `x` for integers. [nv_mod()] has the sign of the divisor.
    remainder "remainder" {
        accepts: NUMERIC,
        slope: Slope::By(|x, y, _z| [Some(x.of(1.0)), Some(-(x / y).trunc())]), lower: Lower::On(DType::is_float, "stablehlo.remainder", Formula::Remainder), example: "c(-7, 7), c(3, -3)", cost: Remainder, simd: math::REMAINDER,
    }
    /// Remainder with the sign of the divisor, R's `%%`.
    ///
    /// `x %% 0` is NaN for floats and `x` for integers. [nv_remainder()] has the sign of the dividend.
    modulo "mod" {
        accepts: NUMERIC,
        slope: Slope::By(|x, y, _z| [Some(x.of(1.0)), Some(-(x / y).floor())]), lower: Lower::Formula(Formula::Modulo), generic: "%%", example: "c(-7, 7), c(3, -3)", ulps: 0.5, cost: Remainder, simd: math::MODULO,
    }
    /// Quotient rounded down, R's `%/%`.
    ///
    /// Consistent with [nv_mod()]. A zero divisor gives what [nv_div()] gives: of integers -1, or the largest
    /// value of an unsigned dtype. So does an infinite dividend: that is infinite, as in R, where NumPy and
    /// PyTorch have NaN.
    floor_div "floor_div" {
        accepts: NUMERIC,
        slope: Slope::Flat, lower: Lower::Formula(Formula::FloorQuotient), generic: "%/%", example: "c(-7, 7), c(2, 2)", accuracy: "Quotients of floats are exact up to `2^22` in `f32` and `2^51` in `f64`, larger ones are within 2 ulps.", cost: Remainder, simd: math::FLOOR_QUOTIENT,
    }
    /// Larger of two values, element by element.
    ///
    /// NaN if either operand is; the larger of -0 and 0 is 0; for booleans the logical or.
    max "max" {
        accepts: ORDERED,
        slope: Slope::By(|x, y, _z| larger(x, y)), lower: Lower::Op("stablehlo.maximum"), example: "c(1, 5), c(3, 4)",
        native: Max,
        algebra: LARGEST,
    }
    /// Smaller of two values, element by element.
    ///
    /// NaN if either operand is; the smaller of -0 and 0 is -0; for booleans the logical and.
    min "min" {
        accepts: ORDERED,
        slope: Slope::By(|x, y, _z| larger(-x, -y)), lower: Lower::Op("stablehlo.minimum"), example: "c(1, 5), c(3, 4)",
        native: Min,
        algebra: SMALLEST,
    }
    /// Angle of the point (`rhs`, `lhs`) in radians: inverse tangent of `lhs / rhs` in its quadrant
    atan2 "atan2" { accepts: FLOAT, slope: Slope::By(|y, x, _z| {
            let square = x.squared() + y.squared();
            [Some(x / square), Some(-y / square)]
        }), lower: Lower::Op("stablehlo.atan2"), example: "c(1, -1), c(1, -1)", ulps: 2.0, cost: Functions, simd: math::ATAN2, }
    /// Logical and of booleans, bitwise and of integers.
    and "and" {
        accepts: BITS,
        slope: Slope::Flat, lower: Lower::Op("stablehlo.and"), generic: "&", example: "c(TRUE, TRUE), c(TRUE, FALSE)",
        native: And,
        algebra: BITS_OF_BOTH,
    }
    /// Logical or of booleans, bitwise or of integers.
    or "or" {
        accepts: BITS,
        slope: Slope::Flat, lower: Lower::Op("stablehlo.or"), generic: "|", example: "c(TRUE, FALSE), c(FALSE, FALSE)",
        native: Or,
        algebra: BITS_OF_EITHER,
    }
    /// Exclusive or: logical of booleans, bitwise of integers.
    xor "xor" {
        accepts: BITS,
        slope: Slope::Flat, lower: Lower::Op("stablehlo.xor"), example: "c(TRUE, TRUE), c(TRUE, FALSE)",
        native: Xor,
        algebra: BITS_OF_ONE,
    }
    /// Bits shifted toward the high end.
    ///
    /// 0 if the amount is negative, or the width of the dtype or more.
    shift_left "shift_left" { accepts: INTEGER, slope: Slope::Flat, lower: Lower::Op("stablehlo.shift_left"), example: "c(1L, 3L), c(2L, 1L)", native: ShiftLeft, algebra: SHIFT, }
    /// Bits shifted toward the low end; zeros enter.
    ///
    /// 0 if the amount is negative, or the width of the dtype or more.
    shift_right_logical "shift_right_logical" {
        accepts: INTEGER,
        slope: Slope::Flat, lower: Lower::Op("stablehlo.shift_right_logical"), example: "c(8L, -8L), c(1L, 1L)", native: ShiftRight, algebra: SHIFT,
    }
    /// Bits shifted toward the low end; copies of the sign bit enter.
    ///
    /// 0 or -1, by the sign, if the amount is negative, or the width of the dtype or more.
    shift_right_arithmetic "shift_right_arithmetic" {
        accepts: INTEGER,
        slope: Slope::Flat, lower: Lower::Op("stablehlo.shift_right_arithmetic"), example: "c(8L, -8L), c(1L, 1L)", native: ShiftRightSigned, algebra: SHIFT,
    }
    /// Derivative of order `n` of [nv_digamma()].
    ///
    /// `n` is a whole number, at least 0, in a float dtype; anything else gives NaN. Order 1 is `trigamma()`.
    polygamma "polygamma" {
        accepts: FLOAT,
        slope: Slope::Partly(
            |n, x, _z| [None, Some((n + 1.0).binary(Binary::polygamma, x))],
            "it is not known how the result changes with `n`",
        ), lower: Lower::On(|_| false, "chlo.polygamma", Formula::Polygamma), operands: &["n", "x"], example: "c(1, 2), c(0.5, 3)",
        ulps: 8.0, accuracy: "For even `n` and negative `x`, where digits cancel near the zeros, the bound is that many ulps of the term of the nearest pole.",
        cost: Series,
    }
}

/// The derivatives of a maximum: 1 for the larger operand, 1/2 for each where they are equal.
fn larger<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> [Option<Var<'m, 'b>>; 2] {
    let tie = x.compare(Compare::eq, y).select(x.of(0.5), x.of(0.0));
    [(x, y), (y, x)].map(|(a, b)| Some(a.compare(Compare::gt, b).select(x.of(1.0), tie)))
}

impl OpDef for Binary {
    fn row(&self) -> &'static Row {
        Binary::row(*self)
    }

    fn rows() -> Vec<&'static Row> {
        Binary::ALL.iter().map(|op| op.row()).collect()
    }

    /// Sums and differences count booleans, as R does.
    fn promotion(row: &'static Row) -> Promotion {
        match row.name == Binary::add.row().name || row.name == Binary::sub.row().name {
            true => Promotion::JoinCounted,
            false => Promotion::Join,
        }
    }

    fn decode(row: &'static Row, _attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        member(Binary::ALL, row)
    }

    fn parse(form: &Form) -> Parsed<Binary> {
        named(Binary::ALL, 2, form)
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let (x, y) = (operands[0], operands[1]);
        self.row().check(0, x)?;
        self.row().check(1, y)?;
        self.row().check_same(x, y)?;
        Ok(vec![Aval { ambiguous: x.ambiguous_with(y), ..x.clone() }])
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let ([x, y], out) = ([&operands[0], &operands[1]], &mut results[0]);
        self.pair(x.dtype).expect("infer accepts what has a kernel").map.apply([x, y], out)
    }

    fn is_elementwise(&self, _from: &[DType]) -> bool {
        true
    }

    fn kernel(&self, from: &[DType]) -> Option<Kernel> {
        self.pair(from[0]).map(|pair| Kernel::map(pair.map))
    }

    fn instruction(&self) -> Option<native::Op> {
        self.row().native.or_else(|| self.function())
    }

    fn cost(&self) -> Cost {
        Binary::cost(*self)
    }

    fn vjp(&self) -> Vjp<'_> {
        match self.slope() {
            Slope::By(rule) => Vjp::by(move |at| pull(rule, at)),
            Slope::Partly(rule, why) => Vjp::Partly(Box::new(move |at| pull(rule, at)), why),
            Slope::Flat => Vjp::Zero,
            Slope::Todo(why) => Vjp::Todo(why),
        }
    }

    fn jvp(&self) -> Jvp<'_> {
        match self.slope() {
            Slope::By(rule) => Jvp::by(move |at| vec![push(rule, at)]),
            Slope::Partly(rule, why) => Jvp::Partly(Box::new(move |at| vec![push(rule, at)]), why),
            Slope::Flat => Jvp::Zero,
            Slope::Todo(why) => Jvp::Todo(why),
        }
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Same
    }

    fn lower(&self, operands: &[Aval]) -> Lowering<'_> {
        self.lowering().on(operands[0].dtype)
    }

    fn simplify(&self, b: &mut Builder, operands: &[Value], _read: &[bool]) -> Result<Simplified> {
        let &[x, y] = operands else { return Ok(None) };
        if let Some(value) = algebra::simplify(*self, b, [x, y])? {
            return simplified(value);
        }
        let Some((n, true)) = algebra::number_or_complex(b, x, y) else { return Ok(None) };
        let math = Math::new(b);
        let x = math.var(x);
        let cheaper = if *self == Binary::pow {
            power::steps(n.dtype(), n).map(|steps| power::chain(x, steps))
        } else if let (Binary::div, Some(inverse)) = (*self, power::inverse_of_power_of_two(n)) {
            // The quotient and the product are the same number, rounded once.
            Some(x * inverse)
        } else {
            algebra::by_power_of_two(*self, &math, x, n)
        };
        let Some(value) = cheaper.map(Var::value) else { return Ok(None) };
        math.finish()?;
        simplified(value)
    }
}

/// The tangent of the result, from these partial derivatives; `None` if one is missing.
fn push<'m, 'b>(rule: Rule2, at: &Forward<'_, 'm, 'b>) -> Option<Var<'m, 'b>> {
    let slopes = rule(at.x(0), at.x(1), at.y());
    let mut sum: Option<Var> = None;
    for (slope, tangent) in slopes.into_iter().zip(at.tangents) {
        let Some(tangent) = tangent else { continue };
        let term = tangent.chain(slope?);
        sum = Some(sum.map_or(term, |so_far| so_far + term));
    }
    sum
}

/// The gradients of the wanted operands, from these partial derivatives.
fn pull<'m, 'b>(rule: Rule2, at: &Backward<'_, 'm, 'b>) -> Vec<Option<Var<'m, 'b>>> {
    let slopes = rule(at.x(0), at.x(1), at.y());
    slopes
        .iter()
        .zip(at.wanted)
        .map(|(slope, wanted)| slope.filter(|_| *wanted).map(|d| at.g().chain(d)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_dtypes_are_those_with_a_kernel() {
        for &op in Binary::ALL {
            for &d in DType::ALL {
                let has = op.pair(d).is_some();
                assert!(has || !op.row().accepts.contains(d), "{} on {d}", op.row().name);
            }
        }
    }
}
