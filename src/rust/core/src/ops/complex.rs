//! Complex numbers from their parts, and their parts. What these mean for a real operand, `apply` says in
//! other ops.

use super::compare::Compare;
use super::derive::Var;
use super::spell::{self, Spelling, Spelling1};
use super::{written, Row};
use crate::dtype::{Cpx, DType, Float, ANY, FLOAT, SIGNED_NUMBER};
use crate::error::{Error, Result};
use crate::exec::vm::Kernel;
use crate::kernels::math::{self, Computed};
use crate::kernels::tile;
use crate::tensor::{Aval, View, ViewMut};
use num_complex::Complex;

macro_rules! part_ops {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident {
            $(function: $function:literal,)?
            generic: $generic:literal,
            $(ulps: $ulps:literal,)?
            complex: |$re:ident, $im:ident| $complex:expr,
            hlo: $hlo:expr,
        }
    )+) => {
        /// A real number that belongs to a complex one. The result has the dtype of the parts, and is
        /// ambiguous if the operand is.
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Part { $($(#[doc = $doc])+ $name),+ }

        impl Part {
            /// All of them, in the order of the catalogue.
            pub const ALL: &'static [Part] = &[$(Part::$name),+];

            /// The op's row.
            pub fn row(self) -> &'static Row {
                match self { $(Part::$name => &const {
                    #[allow(unused_mut)]
                    let mut row = Row {
                        name: stringify!($name), function: concat!("nv_", stringify!($name)), generated: true,
                        doc: &[$($doc),+], operands: &["operand"], accepts: ANY, generic: Some($generic),
                        example: "c(3+4i, -1i)", ulps: 0.0, native: None,
                    };
                    $(row.ulps = $ulps;)?
                    $(row.function = $function; row.generated = false; row.accepts = SIGNED_NUMBER;)?
                    row
                }),+ }
            }

            /// How it is written in StableHLO.
            pub fn spelling(self) -> Spelling1 {
                match self { $(Part::$name => $hlo),+ }
            }

            fn tile<C: Cpx>(self) -> fn(&[C], &mut [C::Part])
            where
                C::Part: Computed,
            {
                match self { $(Part::$name => |x, out| for (out, z) in out.iter_mut().zip(x) {
                    let ($re, $im) = z.parts();
                    *out = $complex;
                }),+ }
            }
        }
    };
}

part_ops! {
    /// Real part.
    ///
    /// A real number is its own.
    real { generic: "Re", complex: |re, _im| re, hlo: Spelling::Op("stablehlo.real"), }
    /// Imaginary part.
    ///
    /// That of a real number is 0.
    imag { generic: "Im", complex: |_re, im| im, hlo: Spelling::Op("stablehlo.imag"), }
    /// Argument: the angle from the positive real axis, in radians.
    ///
    /// Between -pi and pi; for a real number 0, or pi if it is negative. Integers and booleans are promoted
    /// to `f32`.
    arg { generic: "Arg", ulps: 2.0, complex: |re, im| math::pair(&math::ATAN2, im, re), hlo: Spelling::Formula(spell::arg), }
    /// Absolute value of a complex number, without overflow on the way.
    magnitude { function: "nv_abs", generic: "Mod", ulps: 1.0, complex: |re, im| C::Part::of(libm::hypot(re.f64(), im.f64())), hlo: Spelling::Op("stablehlo.abs"), }
}

impl Part {
    /// The operand's gradient, see [`derive`](super::derive) for what that of a complex number is.
    pub(super) fn pull<'m, 'b>(self, z: Var<'m, 'b>, part: Var<'m, 'b>, g: Var<'m, 'b>) -> Var<'m, 'b> {
        let zero = g.of(0.0);
        let [re, im] = [Part::real, Part::imag].map(|part| z.part(part));
        let [by_re, by_im] = match self {
            Part::real => [g, zero],
            Part::imag => [zero, g],
            // 0 at 0, as the derivative of the absolute value of real numbers is.
            Part::magnitude => {
                let size = part.compare(Compare::eq, part.of(0.0)).select(part.of(1.0), part);
                [g.chain(re / size), g.chain(im / size)]
            }
            Part::arg => {
                let square = re.squared() + im.squared();
                [g.chain(-im / square), g.chain(re / square)]
            }
        };
        by_re.complex(-by_im)
    }

    pub(super) fn infer(self, x: &Aval) -> Result<Aval> {
        if !x.dtype.is_complex() {
            return Err(Error::Internal {
                detail: format!("`{}` of {}: `apply` has other ops for it", self.row().name, x.dtype),
            });
        }
        Ok(Aval { dtype: x.dtype.part(), ..x.clone() })
    }

    pub(super) fn eval(self, x: &View, out: &mut ViewMut) {
        match x.dtype {
            DType::C64 => tile::map1(self.tile::<Complex<f32>>(), x, out),
            _ => tile::map1(self.tile::<Complex<f64>>(), x, out),
        }
    }

    pub(super) fn kernel(self, from: DType) -> Kernel {
        match from {
            DType::C64 => Kernel::of1(self.tile::<Complex<f32>>()),
            _ => Kernel::of1(self.tile::<Complex<f64>>()),
        }
    }
}

/// A complex number from its real and imaginary part: `c64` from `f32`, `c128` from `f64`. Ambiguous if both
/// parts are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MakeComplex;

pub(super) static COMPLEX_OP: Row = written("complex", "nv_complex", &["re", "im"], FLOAT);

impl MakeComplex {
    /// The gradients of both parts.
    pub(super) fn pull<'m, 'b>(self, g: Var<'m, 'b>) -> Vec<Option<Var<'m, 'b>>> {
        vec![Some(g.part(Part::real)), Some(-g.part(Part::imag))]
    }

    pub(super) fn infer(self, re: &Aval, im: &Aval) -> Result<Aval> {
        COMPLEX_OP.check_same(re, im)?;
        let dtype = match re.dtype {
            DType::F32 => DType::C64,
            DType::F64 => DType::C128,
            other => return Err(COMPLEX_OP.unsupported(0, other, "")),
        };
        Ok(Aval { dtype, ambiguous: re.ambiguous && im.ambiguous, shape: re.shape.clone() })
    }

    pub(super) fn eval(self, re: &View, im: &View, out: &mut ViewMut) {
        match out.dtype {
            DType::C64 => tile::map2(join::<Complex<f32>>, re, im, out),
            _ => tile::map2(join::<Complex<f64>>, re, im, out),
        }
    }

    pub(super) fn kernel(self, from: DType) -> Kernel {
        match from {
            DType::F32 => Kernel::of2(join::<Complex<f32>>),
            _ => Kernel::of2(join::<Complex<f64>>),
        }
    }
}

fn join<C: Cpx>(re: &[C::Part], im: &[C::Part], out: &mut [C]) {
    for ((out, &re), &im) in out.iter_mut().zip(re).zip(im) {
        *out = C::new(re, im);
    }
}
