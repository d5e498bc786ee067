//! Two operands of one shape and dtype, booleans of that shape out. The result is ambiguous if both operands
//! are.

use super::attrs::Attrs;
use super::contract::{member, named, Form, OpDef, Vjp};
use super::lower::{HloOp, Lowering, Syntax};
use super::{Op, Row};
use crate::dtype::{dispatch, Bool, DType, Element, Kind, ANY, ORDERED};
use crate::error::Result;
use crate::exec::vm::native;
use crate::exec::vm::Kernel;
use crate::graph::syntax::Parsed;
use crate::kernels::tile;
use crate::kernels::wide::wide;
use crate::tensor::{Aval, View, ViewMut};

macro_rules! compare_ops {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident { accepts: $accepts:expr, generic: $generic:literal, any: |$x:ident, $y:ident| $any:expr, hlo: $hlo:literal, native: $native:ident, }
    )+) => {
        /// An elementwise comparison.
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Compare { $($(#[doc = $doc])+ $name),+ }

        impl Compare {
            /// All of them, in the order of the catalogue.
            pub const ALL: &'static [Compare] = &[$(Compare::$name),+];

            /// The op's row.
            pub fn row(self) -> &'static Row {
                match self { $(Compare::$name => &const { Row {
                    name: stringify!($name), function: concat!("nv_", stringify!($name)), generated: true,
                    doc: &[$($doc),+], operands: &["lhs", "rhs"], accepts: $accepts, generic: Some($generic),
                    example: "c(1, 2, 3), c(3, 2, 1)", ulps: 0.0, accuracy: "",
                    native: Some(native::Op::$native),
                } }),+ }
            }

            /// The direction of StableHLO's comparison.
            pub fn direction(self) -> &'static str {
                match self { $(Compare::$name => $hlo),+ }
            }

            fn tile<T: Element>(self) -> fn(&[T], &[T], &mut [Bool]) {
                match self { $(Compare::$name =>
                    |x, y, out| wide(|| for ((out, $x), $y) in out.iter_mut().zip(x).zip(y) { *out = ($any).into() })
                ),+ }
            }
        }
    };
}

compare_ops! {
    /// Whether elements are equal.
    ///
    /// NaN equals nothing; -0 equals 0.
    eq { accepts: ANY, generic: "==", any: |x, y| x == y, hlo: "EQ", native: Eq, }
    /// Whether elements differ.
    ///
    /// NaN differs from everything.
    ne { accepts: ANY, generic: "!=", any: |x, y| x != y, hlo: "NE", native: Ne, }
    /// Whether elements of the first operand are greater.
    ///
    /// FALSE if either is NaN; FALSE is less than TRUE.
    gt { accepts: ORDERED, generic: ">", any: |x, y| y.lt(*x), hlo: "GT", native: Gt, }
    /// Whether elements of the first operand are greater or equal.
    ///
    /// FALSE if either is NaN; FALSE is less than TRUE.
    ge { accepts: ORDERED, generic: ">=", any: |x, y| y.le(*x), hlo: "GE", native: Ge, }
    /// Whether elements of the first operand are less.
    ///
    /// FALSE if either is NaN; FALSE is less than TRUE.
    lt { accepts: ORDERED, generic: "<", any: |x, y| x.lt(*y), hlo: "LT", native: Lt, }
    /// Whether elements of the first operand are less or equal.
    ///
    /// FALSE if either is NaN; FALSE is less than TRUE.
    le { accepts: ORDERED, generic: "<=", any: |x, y| x.le(*y), hlo: "LE", native: Le, }
}

impl OpDef for Compare {
    fn row(&self) -> &'static Row {
        Compare::row(*self)
    }

    fn rows() -> Vec<&'static Row> {
        Compare::ALL.iter().map(|op| op.row()).collect()
    }

    fn decode(row: &'static Row, _attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        member(Compare::ALL, row)
    }

    fn parse(form: &Form) -> Parsed<Compare> {
        named(Compare::ALL, 2, form)
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let (x, y) = (operands[0], operands[1]);
        self.row().check(0, x)?;
        self.row().check_same(x, y)?;
        Ok(vec![Aval {
            dtype: DType::I1,
            ambiguous: x.ambiguous_with(y).map(|_| DType::I1),
            shape: x.shape.clone(),
        }])
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let ([x, y], out) = ([&operands[0], &operands[1]], &mut results[0]);
        dispatch!(x.dtype, T => tile::map2(self.tile::<T>(), x, y, out))
    }

    fn is_elementwise(&self, _from: &[DType]) -> bool {
        true
    }

    fn kernel(&self, from: &[DType]) -> Option<Kernel> {
        dispatch!(from[0], T => Some(Kernel::of2(self.tile::<T>())))
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::Zero
    }

    fn lower(&self, operands: &[Aval]) -> Lowering<'_> {
        let kind = match operands[0].dtype.kind() {
            Kind::Integer => "SIGNED",
            Kind::Unsigned | Kind::Boolean => "UNSIGNED",
            Kind::Float | Kind::Complex => "FLOAT",
        };
        Lowering::Op(HloOp { name: "stablehlo.compare", syntax: Syntax::Compare(self.direction(), kind) })
    }
}
