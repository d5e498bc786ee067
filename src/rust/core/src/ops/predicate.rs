//! One operand, booleans of the same shape out. The result is known.

use super::attrs::Attrs;
use super::contract::{member, named, Form, OpDef, Promotion, Role};
use super::lower::{Lower, Lowering, UnaryFormula as Formula, UnaryLower};
use super::rules::{Batch, Vjp};
use super::{Op, Row};
use crate::dtype::{dispatch, Bool, Cpx, DType, Element, ANY};
use crate::error::Result;
use crate::exec::vm::native;
use crate::exec::vm::Kernel;
use crate::graph::syntax::Parsed;
use crate::kernels::tile;
use crate::tensor::{Aval, View, ViewMut};
use half::{bf16, f16};
use num_complex::Complex;

type Tile<T> = fn(&[T], &mut [Bool]);

macro_rules! predicate_ops {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident { generic: $generic:literal, native: $native:ident, float: |$x:ident| $float:expr, other: $other:literal, lower: $lower:expr, }
    )+) => {
        /// A property of each element.
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Predicate { $($(#[doc = $doc])+ $name),+ }

        impl Predicate {
            /// All of them, in the order of the catalogue.
            pub const ALL: &'static [Predicate] = &[$(Predicate::$name),+];

            /// The op's row.
            pub fn row(self) -> &'static Row {
                match self { $(Predicate::$name => &const { Row {
                    name: stringify!($name), function: concat!("nv_", stringify!($name)), generated: true,
                    doc: &[$($doc),+], operands: &["operand"], accepts: ANY, generic: Some($generic),
                    example: "c(-Inf, NaN, 0, 1)", ulps: 0.0, accuracy: "", native: Some(native::Op::$native),
                } }),+ }
            }

            /// Its lowering to StableHLO.
            pub fn lowering(self) -> UnaryLower {
                match self { $(Predicate::$name => $lower),+ }
            }

            fn float_tile<F: Element>(self) -> Tile<F> {
                match self { $(Predicate::$name => |x, out| for (out, v) in out.iter_mut().zip(x) {
                    // Widening changes no answer.
                    let $x = v.convert::<f64>();
                    *out = ($float).into()
                }),+ }
            }

            /// A complex number is finite if both parts are, and infinite or NaN if one is.
            fn complex_tile<C: Cpx>(self) -> Tile<C> {
                match self { $(Predicate::$name => |x, out| for (out, z) in out.iter_mut().zip(x) {
                    let z = z.convert::<Complex<f64>>();
                    let of = |$x: f64| $float;
                    *out = (if $other { of(z.re) && of(z.im) } else { of(z.re) || of(z.im) }).into()
                }),+ }
            }

            /// The answer for integers and booleans, which are all finite.
            fn other_tile<T: Element>(self) -> Tile<T> {
                match self { $(Predicate::$name => |_, out| out.fill(Bool::from($other))),+ }
            }
        }
    };
}

predicate_ops! {
    /// Whether each element is finite: neither infinite nor NaN.
    is_finite { generic: "is.finite", native: IsFinite, float: |x| x.is_finite(), other: true, lower: Lower::On(DType::is_float, "stablehlo.is_finite", Formula::IsFinite), }
    /// Whether each element is infinite, of either sign.
    is_infinite { generic: "is.infinite", native: IsInfinite, float: |x| x.is_infinite(), other: false, lower: Lower::Formula(Formula::IsInfinite), }
    /// Whether each element is NaN (`NA_real_` is one).
    is_nan { generic: "is.nan", native: IsNan, float: |x| x.is_nan(), other: false, lower: Lower::Formula(Formula::IsNan), }
}

trait Tiles: Element {
    fn tile(op: Predicate) -> Tile<Self>;
}
macro_rules! tiles {
    ($tile:ident: $($type:ty)+) => {$(
        impl Tiles for $type { fn tile(op: Predicate) -> Tile<$type> { op.$tile() } }
    )+};
}
tiles! { float_tile: bf16 f16 f32 f64 }
tiles! { complex_tile: Complex<f32> Complex<f64> }
tiles! { other_tile: i8 i16 i32 i64 u8 u16 u32 u64 Bool }

impl OpDef for Predicate {
    fn row(&self) -> &'static Row {
        Predicate::row(*self)
    }

    fn rows() -> Vec<&'static Row> {
        Predicate::ALL.iter().map(|op| op.row()).collect()
    }

    fn decode(row: &'static Row, _attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        member(Predicate::ALL, row)
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::Each(&[Role::Own])
    }

    fn parse(form: &Form) -> Parsed<Predicate> {
        named(Predicate::ALL, 1, form)
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        Ok(vec![Aval::known(DType::I1, operands[0].shape.clone())])
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let (x, out) = (&operands[0], &mut results[0]);
        dispatch!(x.dtype, T => tile::map1(T::tile(*self), x, out))
    }

    fn is_elementwise(&self, _from: &[DType]) -> bool {
        true
    }

    fn kernel(&self, from: &[DType]) -> Option<Kernel> {
        dispatch!(from[0], T => Some(Kernel::of1(T::tile(*self))))
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::Zero
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Same
    }

    fn lower(&self, operands: &[Aval]) -> Lowering<'_> {
        self.lowering().property(operands[0].dtype)
    }
}
