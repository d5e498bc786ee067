//! Complex numbers from their parts, and parts of complex numbers. For real operands `apply` expresses them
//! in other ops.

use super::attrs::Attrs;
use super::compare::Compare;
use super::contract::{member, named, Cost, Form, Linear, OpDef, Promotion};
use super::derive::Var;
use super::lower::{elementwise, Lower, Lowering, UnaryFormula as Formula, UnaryLower};
use super::rules::{Batch, Jvp, Vjp};
use super::{written, Op, Row};
use crate::dtype::{DType, ANY, FLOAT, SIGNED_NUMBER};
use crate::error::{Error, Result};
use crate::exec::vm::Kernel;
use crate::graph::syntax::Parsed;
use crate::kernels::elementwise::{self, Map};
use crate::tensor::{Aval, View, ViewMut};

macro_rules! part_ops {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident {
            $(function: $function:literal,)?
            generic: $generic:literal,
            $(ulps: $ulps:literal,)?
            lower: $lower:expr,
        }
    )+) => {
        /// A real-valued part of a complex number. The result has the dtype of the parts, and is ambiguous if
        /// the operand is.
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
                        example: "c(3+4i, -1i)", ulps: 0.0, accuracy: "", native: None,
                    };
                    $(row.ulps = $ulps;)?
                    $(row.function = $function; row.generated = false; row.accepts = SIGNED_NUMBER;)?
                    row
                }),+ }
            }

            /// Its lowering to StableHLO.
            pub fn lowering(self) -> UnaryLower {
                match self { $(Part::$name => $lower),+ }
            }

            /// Its kernel on elements of a complex dtype.
            fn map(self, dtype: DType) -> Map<1> {
                match self { $(Part::$name => elementwise::Part::$name),+ }.map(dtype)
            }
        }
    };
}

part_ops! {
    /// Real part.
    ///
    /// The real part of a real number is the number itself.
    real { generic: "Re", lower: Lower::Op("stablehlo.real"), }
    /// Imaginary part.
    ///
    /// The imaginary part of a real number is 0.
    imag { generic: "Im", lower: Lower::Op("stablehlo.imag"), }
    /// Argument: the angle from the positive real axis, in radians.
    ///
    /// Between -pi and pi; for a real number 0, or pi if it is negative. Integers and booleans are promoted
    /// to `f32`.
    arg { generic: "Arg", ulps: 2.0, lower: Lower::Formula(Formula::Arg), }
    /// Absolute value of a complex number, without overflow on the way.
    magnitude { function: "nv_abs", generic: "Mod", ulps: 1.0, lower: Lower::Op("stablehlo.abs"), }
}

impl OpDef for Part {
    fn row(&self) -> &'static Row {
        Part::row(*self)
    }

    fn rows() -> Vec<&'static Row> {
        Part::ALL.iter().map(|op| op.row()).collect()
    }

    fn decode(row: &'static Row, _attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        member(Part::ALL, row)
    }

    fn parse(form: &Form) -> Parsed<Part> {
        named(Part::ALL, 1, form)
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let x = operands[0];
        if !x.dtype.is_complex() {
            return Err(Error::Internal {
                detail: format!("`{}` of {}: `apply` has other ops for it", self.row().name, x.dtype),
            });
        }
        Ok(vec![Aval { dtype: x.dtype.part(), ambiguous: x.ambiguous.map(DType::part), ..x.clone() }])
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        self.map(operands[0].dtype).apply([&operands[0]], &mut results[0])
    }

    fn is_elementwise(&self, _from: &[DType]) -> bool {
        true
    }

    fn kernel(&self, from: &[DType]) -> Option<Kernel> {
        Some(Kernel::map(self.map(from[0])))
    }

    /// Of doubles, measured on an AMD EPYC, Zen 4.
    fn cost(&self) -> Cost {
        match self {
            Part::real | Part::imag => Cost::Simple,
            Part::arg => Cost::Picoseconds(1_200),
            Part::magnitude => Cost::Picoseconds(1_700),
        }
    }

    /// The gradient of a complex number is defined in [`derive`](super::derive).
    fn vjp(&self) -> Vjp<'_> {
        Vjp::of_one(move |at| {
            let (z, part, g) = (at.x(0), at.y(), at.g());
            let zero = g.of(0.0);
            let [re, im] = [Part::real, Part::imag].map(|part| z.part(part));
            let [by_re, by_im] = match self {
                Part::real => [g, zero],
                Part::imag => [zero, g],
                Part::magnitude | Part::arg => self.slopes([re, im], part).map(|slope| g.chain(slope)),
            };
            by_re.complex(-by_im)
        })
    }

    fn jvp(&self) -> Jvp<'_> {
        match self {
            Part::real | Part::imag => Jvp::Linear,
            Part::arg | Part::magnitude => Jvp::of_one(move |at| {
                let [re, im] = [Part::real, Part::imag].map(|part| at.x(0).part(part));
                let [by_re, by_im] = self.slopes([re, im], at.y());
                let t = at.t(0);
                t.part(Part::real).chain(by_re) + t.part(Part::imag).chain(by_im)
            }),
        }
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Same
    }

    fn lower(&self, operands: &[Aval]) -> Lowering<'_> {
        self.lowering().property(operands[0].dtype)
    }

    fn linear(&self) -> Linear {
        match self {
            Part::real | Part::imag => Linear::InAll,
            Part::arg | Part::magnitude => Linear::In(&[]),
        }
    }
}

impl Part {
    /// The derivatives of a modulus or argument by the parts of the number.
    fn slopes<'m, 'b>(self, [re, im]: [Var<'m, 'b>; 2], part: Var<'m, 'b>) -> [Var<'m, 'b>; 2] {
        if self == Part::arg {
            let square = re.squared() + im.squared();
            return [-im / square, re / square];
        }
        // 0 at 0, as the derivative of the absolute value of real numbers is.
        let size = part.compare(Compare::eq, part.of(0.0)).select(part.of(1.0), part);
        [re / size, im / size]
    }
}

/// A complex number from its real and imaginary part: `c64` from `f32`, `c128` from `f64`. Ambiguous if both
/// parts are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MakeComplex;

static COMPLEX: Row = written("complex", "nv_complex", &["re", "im"], FLOAT);

impl OpDef for MakeComplex {
    fn row(&self) -> &'static Row {
        &COMPLEX
    }

    fn rows() -> Vec<&'static Row> {
        vec![&COMPLEX]
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::JoinOfParts
    }

    fn decode(_row: &'static Row, _attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        Ok(MakeComplex.into())
    }

    fn parse(form: &Form) -> Parsed<MakeComplex> {
        form.takes(2)?;
        Ok(MakeComplex)
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let (re, im) = (operands[0], operands[1]);
        COMPLEX.check_same(re, im)?;
        let dtype = match re.dtype {
            DType::F32 => DType::C64,
            DType::F64 => DType::C128,
            _ => return Err(COMPLEX.unsupported(0, re.ranked().dtype, "")),
        };
        Ok(vec![Aval {
            dtype,
            // The type of the parts is at least f32 then, see `Promotion::JoinOfParts`.
            ambiguous: re
                .ambiguous_with(im)
                .map(|part| if part == DType::F64 { DType::C128 } else { DType::C64 }),
            shape: re.shape.clone(),
        }])
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        elementwise::join(operands[0].dtype).apply([&operands[0], &operands[1]], &mut results[0])
    }

    fn is_elementwise(&self, _from: &[DType]) -> bool {
        true
    }

    fn kernel(&self, from: &[DType]) -> Option<Kernel> {
        Some(Kernel::map(elementwise::join(from[0])))
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::by(|at| vec![Some(at.g().part(Part::real)), Some(-at.g().part(Part::imag))])
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Same
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        Lowering::Op(elementwise("stablehlo.complex"))
    }

    fn linear(&self) -> Linear {
        Linear::InAll
    }
}
