//! Two operands of one shape and dtype, same shape and dtype out. The result is ambiguous if both operands are.

use super::Row;
use crate::dtype::{
    dispatch, Bool, Cpx, Element, Float, Int, ANY, BITS, FLOAT, INTEGER, NUMBER, NUMERIC, ORDERED,
};
use crate::error::Result;
use crate::kernels::{scalar, special, tile};
use crate::tensor::{Aval, View, ViewMut};
use half::{bf16, f16};
use num_complex::Complex;

/// A kernel on one tile of each operand.
pub(super) type Tile<T> = fn(&[T], &[T], &mut [T]);

macro_rules! binary_ops {
    ($(
        $(#[doc = $doc:literal])+
        $op:ident $name:literal {
            accepts: $accepts:expr,
            $(operands: $operands:expr,)?
            $(generic: $generic:literal,)?
            example: $example:literal,
            $(float: |$x:ident, $y:ident| $float:expr,)?
            $(int: |$i:ident, $j:ident| $int:expr,)?
            $(boolean: |$a:ident, $b:ident| $boolean:expr,)?
            $(complex: |$z:ident, $w:ident| $complex:expr,)?
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
                        operands: &["lhs", "rhs"], accepts: $accepts, generic: None, example: $example,
                    };
                    $(row.generic = Some($generic);)?
                    $(row.operands = $operands;)?
                    row
                }),+ }
            }

            fn float_tile<F: Float>(self) -> Option<Tile<F>> {
                match self { $(Binary::$op => {
                    #[allow(unused_mut, unused_assignments)]
                    let mut tile: Option<Tile<F>> = None;
                    $(tile = Some(|x, y, out| for ((out, &$x), &$y) in out.iter_mut().zip(x).zip(y) { *out = $float });)?
                    tile
                }),+ }
            }

            fn int_tile<I: Int>(self) -> Option<Tile<I>> {
                match self { $(Binary::$op => {
                    #[allow(unused_mut, unused_assignments)]
                    let mut tile: Option<Tile<I>> = None;
                    $(tile = Some(|x, y, out| for ((out, &$i), &$j) in out.iter_mut().zip(x).zip(y) { *out = $int });)?
                    tile
                }),+ }
            }

            fn complex_tile<C: Cpx>(self) -> Option<Tile<C>> {
                match self { $(Binary::$op => {
                    #[allow(unused_mut, unused_assignments)]
                    let mut tile: Option<Tile<C>> = None;
                    $(tile = Some(|x, y, out| for ((out, &$z), &$w) in out.iter_mut().zip(x).zip(y) { *out = $complex });)?
                    tile
                }),+ }
            }

            fn bool_tile(self) -> Option<Tile<Bool>> {
                match self { $(Binary::$op => {
                    #[allow(unused_mut, unused_assignments)]
                    let mut tile: Option<Tile<Bool>> = None;
                    $(tile = Some(|x, y, out| for ((out, v), w) in out.iter_mut().zip(x).zip(y) {
                        let ($a, $b) = (v.get(), w.get());
                        *out = ($boolean).into()
                    });)?
                    tile
                }),+ }
            }
        }
    };
}

binary_ops! {
    /// Sum.
    ///
    /// Integers wrap; the sum of booleans is their logical or.
    add "add" {
        accepts: ANY, generic: "+", example: "c(1, 2), c(3, 4)",
        float: |x, y| x + y, int: |x, y| x.wrapping_add(y), boolean: |x, y| x | y, complex: |x, y| x + y,
    }
    /// Difference.
    ///
    /// Integers wrap.
    sub "sub" {
        accepts: NUMBER, generic: "-", example: "c(1, 2), c(3, 4)",
        float: |x, y| x - y, int: |x, y| x.wrapping_sub(y), complex: |x, y| x - y,
    }
    /// Product.
    ///
    /// Integers wrap; the product of booleans is their logical and.
    mul "mul" {
        accepts: ANY, generic: "*", example: "c(1, 2), c(3, 4)",
        float: |x, y| x * y, int: |x, y| x.wrapping_mul(y), boolean: |x, y| x & y, complex: |x, y| x * y,
    }
    /// Quotient.
    ///
    /// Unlike in base R, the quotient of two integer tensors is an integer, truncated toward zero: convert one of them
    /// to a float for a fraction. `x / 0` is -1 for signed integers, and the largest value for unsigned ones; the
    /// smallest signed integer divided by -1 is itself.
    div "div" {
        accepts: NUMBER, generic: "/", example: "c(1, 2), c(3, 4)",
        float: |x, y| x / y, int: |x, y| x.quotient(y), complex: |x, y| x / y,
    }
    /// Power, `lhs` to the `rhs`.
    ///
    /// `x^0` is 1 for every `x`. Integers wrap; a negative exponent gives 0, except for the bases 1 and -1.
    pow "pow" {
        accepts: NUMBER, generic: "^", example: "c(2, 3), c(3, 0.5)",
        float: |x, y| x.power(y), int: |x, y| x.power(y), complex: |x, y| scalar::complex_power(x, y),
    }
    /// Remainder with the sign of the dividend, C's `fmod()`.
    ///
    /// `x rem 0` is NaN for floats and `x` for integers. [nv_mod()] has the sign of the divisor.
    remainder "remainder" {
        accepts: NUMERIC, example: "c(-7, 7), c(3, -3)",
        float: |x, y| x % y, int: |x, y| x.remainder(y),
    }
    /// Remainder with the sign of the divisor, R's `%%`.
    ///
    /// `x mod 0` is NaN for floats and `x` for integers. [nv_remainder()] has the sign of the dividend.
    modulo "mod" {
        accepts: NUMERIC, generic: "%%", example: "c(-7, 7), c(3, -3)",
        float: |x, y| scalar::modulo(x, y), int: |x, y| x.modulo(y),
    }
    /// Quotient rounded down, R's `%/%`.
    ///
    /// Consistent with [nv_mod()]. A zero divisor gives what [nv_div()] gives.
    floor_div "floor_div" {
        accepts: NUMERIC, generic: "%/%", example: "c(-7, 7), c(2, 2)",
        float: |x, y| scalar::floor_quotient(x, y), int: |x, y| x.floor_quotient(y),
    }
    /// Larger of two values, element by element.
    ///
    /// NaN if either is; the larger of -0 and 0 is 0; for booleans the logical or.
    max "max" {
        accepts: ORDERED, example: "c(1, 5), c(3, 4)",
        float: |x, y| scalar::maximum(x, y), int: |x, y| x.max(y), boolean: |x, y| x | y,
    }
    /// Smaller of two values, element by element.
    ///
    /// NaN if either is; the smaller of -0 and 0 is -0; for booleans the logical and.
    min "min" {
        accepts: ORDERED, example: "c(1, 5), c(3, 4)",
        float: |x, y| scalar::minimum(x, y), int: |x, y| x.min(y), boolean: |x, y| x & y,
    }
    /// Angle of the point (`rhs`, `lhs`), in radians: the inverse tangent of `lhs / rhs` in the right quadrant.
    atan2 "atan2" { accepts: FLOAT, example: "c(1, -1), c(1, -1)", float: |y, x| y.atan2(x), }
    /// Logical and of booleans, bitwise and of integers.
    and "and" {
        accepts: BITS, generic: "&", example: "c(TRUE, TRUE), c(TRUE, FALSE)",
        int: |x, y| x.and(y), boolean: |x, y| x & y,
    }
    /// Logical or of booleans, bitwise or of integers.
    or "or" {
        accepts: BITS, generic: "|", example: "c(TRUE, FALSE), c(FALSE, FALSE)",
        int: |x, y| x.or(y), boolean: |x, y| x | y,
    }
    /// Exclusive or: logical of booleans, bitwise of integers.
    xor "xor" {
        accepts: BITS, example: "c(TRUE, TRUE), c(TRUE, FALSE)",
        int: |x, y| x.xor(y), boolean: |x, y| x ^ y,
    }
    /// Bits shifted toward the high end.
    ///
    /// 0 if the amount is negative, or the width of the dtype or more.
    shift_left "shift_left" { accepts: INTEGER, example: "c(1L, 3L), c(2L, 1L)", int: |x, y| x.shift_left(y), }
    /// Bits shifted toward the low end; zeros enter.
    ///
    /// 0 if the amount is negative, or the width of the dtype or more.
    shift_right_logical "shift_right_logical" {
        accepts: INTEGER, example: "c(8L, -8L), c(1L, 1L)", int: |x, y| x.shift_right_logical(y),
    }
    /// Bits shifted toward the low end; copies of the sign bit enter.
    ///
    /// 0 or -1, by the sign, if the amount is negative, or the width of the dtype or more.
    shift_right_arithmetic "shift_right_arithmetic" {
        accepts: INTEGER, example: "c(8L, -8L), c(1L, 1L)", int: |x, y| x.shift_right_arithmetic(y),
    }
    /// Derivative of order `n` of [nv_digamma()].
    ///
    /// `n` is a whole number, at least 0, in a float dtype; anything else gives NaN. Order 1 is `trigamma()`.
    polygamma "polygamma" {
        accepts: FLOAT, operands: &["n", "x"], example: "c(1, 2), c(0.5, 3)",
        float: |n, x| F::of(special::polygamma(n.f64(), x.f64())),
    }
}

/// Element types, each with the tile of its kind.
pub(super) trait Tiles: Element {
    /// The tile of an op, if it computes on this type.
    fn tile(op: Binary) -> Option<Tile<Self>>;
}
macro_rules! tiles {
    ($tile:ident: $($type:ty)+) => {$(
        impl Tiles for $type { fn tile(op: Binary) -> Option<Tile<$type>> { op.$tile() } }
    )+};
}
tiles! { float_tile: bf16 f16 f32 f64 }
tiles! { complex_tile: Complex<f32> Complex<f64> }
tiles! { int_tile: i8 i16 i32 i64 u8 u16 u32 u64 }
tiles! { bool_tile: Bool }

impl Binary {
    pub(super) fn infer(self, x: &Aval, y: &Aval) -> Result<Aval> {
        self.row().check(0, x)?;
        self.row().check(1, y)?;
        self.row().check_same(x, y)?;
        Ok(Aval { ambiguous: x.ambiguous && y.ambiguous, ..x.clone() })
    }

    pub(super) fn eval(self, x: &View, y: &View, out: &mut ViewMut) {
        dispatch!(x.dtype, T => tile::map2(T::tile(self).expect("infer accepts what has a tile"), x, y, out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    #[test]
    fn accepted_dtypes_are_those_with_a_tile() {
        for &op in Binary::ALL {
            for &d in DType::ALL {
                let has = dispatch!(d, T => T::tile(op).is_some());
                assert!(has || !op.row().accepts.contains(d), "{} on {d}", op.row().name);
            }
        }
    }
}
