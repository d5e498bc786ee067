//! Two operands of one shape and dtype, booleans of that shape out. The result is ambiguous if both operands
//! are.

use super::Row;
use crate::dtype::{dispatch, Bool, DType, Element, ANY, ORDERED};
use crate::error::Result;
use crate::exec::vm::native;
use crate::exec::vm::Kernel;
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
                    example: "c(1, 2, 3), c(3, 2, 1)", ulps: 0.0,
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

impl Compare {
    pub(super) fn infer(self, x: &Aval, y: &Aval) -> Result<Aval> {
        self.row().check(0, x)?;
        self.row().check_same(x, y)?;
        Ok(Aval { dtype: DType::I1, ambiguous: x.ambiguous && y.ambiguous, shape: x.shape.clone() })
    }

    pub(super) fn eval(self, x: &View, y: &View, out: &mut ViewMut) {
        dispatch!(x.dtype, T => tile::map2(self.tile::<T>(), x, y, out))
    }

    pub(super) fn kernel(self, dtype: DType) -> Kernel {
        dispatch!(dtype, T => Kernel::of2(self.tile::<T>()))
    }
}
