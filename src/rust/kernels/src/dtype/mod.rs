//! Element types: their names, kinds, widths, and the Rust type that holds an element of each.
//!
//! One row of `dtypes!` per dtype; everything else (names, parsing, classes, dispatch from a run-time dtype
//! to a compile-time type) is derived from it. Knows nothing of tensors.

mod element;
mod halves;
pub mod promote;
mod truncate;

pub use element::{Bool, Cpx, Element, Float, HasDType, Int, Real};

use crate::error::{Error, Result};
use std::fmt;

/// The kind of a dtype: what an element is, without its width.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// Logical: one byte, 0 or 1.
    Boolean,
    /// Signed integer, two's complement.
    Integer,
    /// Unsigned integer.
    Unsigned,
    /// IEEE 754 binary floating point, and bf16.
    Float,
    /// A real and an imaginary part, both floats.
    Complex,
}

impl Kind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Boolean => "boolean",
            Kind::Integer => "signed",
            Kind::Unsigned => "unsigned",
            Kind::Float => "float",
            Kind::Complex => "complex",
        }
    }
}

macro_rules! dtypes {
    (($d:tt) $($variant:ident $name:literal $kind:ident $bits:literal $type:ty,)+) => {
        /// The type of an element. Order is that of the promotion tables.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum DType { $(#[doc = concat!("`", $name, "`")] $variant),+ }

        impl DType {
            /// Every dtype, in table order.
            pub const ALL: &'static [DType] = &[$(DType::$variant),+];

            /// The name, as users write it.
            pub const fn name(self) -> &'static str {
                match self { $(DType::$variant => $name),+ }
            }

            /// Boolean, integer, unsigned or float.
            pub const fn kind(self) -> Kind {
                match self { $(DType::$variant => Kind::$kind),+ }
            }

            /// Width as a user counts it: 1 for `i1`, which is stored in a byte.
            pub const fn bits(self) -> usize {
                match self { $(DType::$variant => $bits),+ }
            }

            /// Bytes of one element in memory.
            pub const fn bytes(self) -> usize {
                match self { $(DType::$variant => std::mem::size_of::<$type>()),+ }
            }
        }

        $(impl element::HasDType for $type { const DTYPE: DType = DType::$variant; })+

        /// The element types by the names of their dtypes.
        pub mod types {
            $(#[doc = concat!("An element of `", $name, "`.")] pub type $variant = $type;)+
        }

        /// Runs an expression with a type name bound to the element type of a run-time dtype.
        ///
        /// `dispatch!(dtype, T => f::<T>(x))`; the expression is instantiated once per dtype.
        #[macro_export]
        macro_rules! dispatch {
            ($d dtype:expr, $d t:ident => $d body:expr) => {
                match $d dtype {
                    $($crate::dtype::DType::$variant => { type $d t = $crate::dtype::types::$variant; $d body })+
                }
            };
        }
        pub use dispatch;
    };
}

dtypes! { ($)
    I1   "i1"   Boolean  1  crate::dtype::Bool,
    I8   "i8"   Integer  8  i8,
    I16  "i16"  Integer  16 i16,
    I32  "i32"  Integer  32 i32,
    I64  "i64"  Integer  64 i64,
    UI8  "ui8"  Unsigned 8  u8,
    UI16 "ui16" Unsigned 16 u16,
    UI32 "ui32" Unsigned 32 u32,
    UI64 "ui64" Unsigned 64 u64,
    BF16 "bf16" Float    16 half::bf16,
    F16  "f16"  Float    16 half::f16,
    F32  "f32"  Float    32 f32,
    F64  "f64"  Float    64 f64,
    C64  "c64"  Complex  64 num_complex::Complex<f32>,
    C128 "c128" Complex 128 num_complex::Complex<f64>,
}

/// As [`dispatch!`], of integers alone.
///
/// # Panics
/// If it is of another kind, which `infer` refuses.
#[macro_export]
macro_rules! dispatch_int {
    ($dtype:expr, $t:ident => $body:expr) => {
        $crate::dispatch_int!($dtype, $t => $body, I8 I16 I32 I64 UI8 UI16 UI32 UI64)
    };
    ($dtype:expr, $t:ident => $body:expr, $($variant:ident)+) => {
        match $dtype {
            $($crate::dtype::DType::$variant => { type $t = $crate::dtype::types::$variant; $body })+
            other => unreachable!("an integer, not {other}"),
        }
    };
}
pub use dispatch_int;

impl DType {
    /// The dtype of that name.
    ///
    /// # Errors
    /// [`Error::UnknownDtype`].
    pub fn parse(name: &str) -> Result<DType> {
        DType::ALL
            .iter()
            .copied()
            .find(|d| d.name() == name)
            .ok_or_else(|| Error::UnknownDtype { got: format!("\"{name}\"") })
    }

    /// All names, for messages: `i1, i8, ...`.
    pub fn names() -> String {
        DType::ALL.iter().map(|d| d.name()).collect::<Vec<_>>().join(", ")
    }

    /// Class of the R dtype object, as in `<FloatType: 32>`.
    pub fn r_class(self) -> &'static str {
        match (self, self.kind()) {
            (DType::BF16, _) => "BFloatType",
            (_, Kind::Boolean) => "BooleanType",
            (_, Kind::Integer) => "IntegerType",
            (_, Kind::Unsigned) => "UnsignedType",
            (_, Kind::Float) => "FloatType",
            (_, Kind::Complex) => "ComplexType",
        }
    }

    /// Whether it is a float of 16 bits, which is computed on in f32.
    #[inline]
    pub fn is_half(self) -> bool {
        self.is_float() && self.bits() == 16
    }

    /// Whether it is complex.
    #[inline]
    pub fn is_complex(self) -> bool {
        self.kind() == Kind::Complex
    }

    /// The float of a complex dtype's parts; another dtype itself.
    #[inline]
    pub fn part(self) -> DType {
        match self {
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            other => other,
        }
    }

    /// Whether it is a float.
    #[inline]
    pub fn is_float(self) -> bool {
        self.kind() == Kind::Float
    }

    /// Whether it is a signed or unsigned integer; `i1` is not.
    #[inline]
    pub fn is_integer(self) -> bool {
        matches!(self.kind(), Kind::Integer | Kind::Unsigned)
    }

    /// Smallest and largest value of an integer dtype.
    pub fn bounds(self) -> Option<(i128, i128)> {
        let top = self.bits() as u32;
        match self.kind() {
            Kind::Integer => Some((-(1i128 << (top - 1)), (1i128 << (top - 1)) - 1)),
            Kind::Unsigned => Some((0, (1i128 << top) - 1)),
            _ => None,
        }
    }

    /// The range of values, as text for messages.
    pub fn range(self) -> String {
        match (self.kind(), self.bounds()) {
            (_, Some((low, high))) => format!("whole numbers from {low} to {high}"),
            (Kind::Boolean, _) => "FALSE and TRUE".into(),
            _ => "all numbers, rounded".into(),
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of kinds that an op accepts, with its name in messages and help pages.
#[derive(Clone, Copy, Debug)]
pub struct Class {
    /// Plural noun, such as "floats".
    pub name: &'static str,
    kinds: &'static [Kind],
}

impl Class {
    /// Whether an op that accepts this class takes operands of `dtype`.
    #[inline]
    pub fn contains(&self, dtype: DType) -> bool {
        self.kinds.contains(&dtype.kind())
    }
}

macro_rules! classes {
    ($($(#[doc = $doc:literal])+ $name:ident $text:literal: $($kind:ident)+;)+) => {$(
        $(#[doc = $doc])+
        pub const $name: Class = Class { name: $text, kinds: &[$(Kind::$kind),+] };
    )+};
}

classes! {
    /// Every dtype.
    ANY "any dtype": Boolean Integer Unsigned Float Complex;
    /// Dtypes with an order.
    ORDERED "any dtype but complex": Boolean Integer Unsigned Float;
    /// Integers, floats and complex numbers.
    NUMBER "integers, floats and complex numbers": Integer Unsigned Float Complex;
    /// Integers and floats.
    NUMERIC "integers and floats": Integer Unsigned Float;
    /// Signed integers and floats.
    SIGNED "signed integers and floats": Integer Float;
    /// Signed integers, floats and complex numbers.
    SIGNED_NUMBER "signed integers, floats and complex numbers": Integer Float Complex;
    /// Floats.
    FLOAT "floats": Float;
    /// Floats and complex numbers.
    INEXACT "floats and complex numbers": Float Complex;
    /// Complex numbers.
    COMPLEX "complex numbers": Complex;
    /// Integers of either sign.
    INTEGER "integers": Integer Unsigned;
    /// Booleans and integers.
    BITS "booleans and integers": Boolean Integer Unsigned;
    /// Booleans.
    BOOLEAN "booleans": Boolean;
}

/// The type of a value in promotion: a dtype, known or ambiguous (written with `?`; JAX calls this weak).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ranked {
    /// The dtype, or the default width of an ambiguous one.
    pub dtype: DType,
    /// Whether it yields to known dtypes of its kind.
    pub ambiguous: bool,
}

impl Ranked {
    /// A known dtype.
    pub const fn known(dtype: DType) -> Ranked {
        Ranked { dtype, ambiguous: false }
    }

    /// An ambiguous dtype.
    pub const fn ambiguous(dtype: DType) -> Ranked {
        Ranked { dtype, ambiguous: true }
    }

    /// The dtype that values of the type are stored and computed in. An ambiguous float is a number of R: it
    /// has double precision, whatever its default width, until it meets a known dtype.
    #[inline]
    pub const fn stored(self) -> DType {
        match (self.ambiguous, self.dtype.kind()) {
            (true, Kind::Float) => DType::F64,
            (true, Kind::Complex) => DType::C128,
            _ => self.dtype,
        }
    }

    /// The default dtype, if it is ambiguous.
    #[inline]
    pub fn default(self) -> Option<DType> {
        self.ambiguous.then_some(self.dtype)
    }
}

impl fmt::Display for Ranked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, if self.ambiguous { "?" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for &d in DType::ALL {
            assert_eq!(DType::parse(d.name()), Ok(d));
        }
        assert!(DType::parse("float").is_err());
        assert_eq!(DType::names().split(", ").count(), DType::ALL.len());
    }

    #[test]
    fn ambiguous_floats_are_stored_in_double_precision() {
        for &d in DType::ALL {
            assert_eq!(Ranked::known(d).stored(), d);
            let wide = match d.kind() {
                Kind::Float => DType::F64,
                Kind::Complex => DType::C128,
                Kind::Boolean | Kind::Integer | Kind::Unsigned => d,
            };
            assert_eq!(Ranked::ambiguous(d).stored(), wide);
        }
    }

    #[test]
    fn ranges_are_those_of_the_rust_types() {
        assert_eq!(DType::I64.range(), format!("whole numbers from {} to {}", i64::MIN, i64::MAX));
        assert_eq!(DType::UI64.range(), format!("whole numbers from 0 to {}", u64::MAX));
        assert_eq!(DType::I8.range(), "whole numbers from -128 to 127");
    }

    #[test]
    fn every_dtype_dispatches_to_its_own_type() {
        for &d in DType::ALL {
            dispatch!(d, T => assert_eq!(<T as HasDType>::DTYPE, d));
        }
    }
}
