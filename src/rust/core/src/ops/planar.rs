//! Parts of products and quotients of complex numbers, and their absolute values, of parts that are values of their own.
//! The engine makes them of ops on complex numbers (`passes::planar`): no call names them.

use super::contract::{Cost, Form, OpDef};
use super::lower::Lowering;
use super::rules::{Batch, Jvp, Vjp};
use super::{written, Row};
use crate::dtype::{DType, FLOAT};
use crate::error::{Error, Result};
use crate::exec::vm::native;
use crate::exec::vm::Kernel;
use crate::graph::syntax::Parsed;
use crate::kernels::elementwise::Map;
use crate::kernels::math::{self, Kernel2, Kernel4};
use crate::tensor::{Aval, View, ViewMut};

/// A function of parts of complex numbers: floats of 32 or 64 bits, one dtype for all.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Planar {
    /// Real part of `(a + bi) * (c + di)`.
    ProductReal,
    /// Imaginary part of that.
    ProductImag,
    /// Real part of `(a + bi) / (c + di)`.
    QuotientReal,
    /// Imaginary part of that.
    QuotientImag,
    /// Absolute value of `a + bi`.
    Magnitude,
}

/// All of them, in the order of their rows.
const ALL: [Planar; 5] =
    [Planar::ProductReal, Planar::ProductImag, Planar::QuotientReal, Planar::QuotientImag, Planar::Magnitude];

/// The kernel of a function.
enum Function {
    Two(&'static Kernel2),
    Four(&'static Kernel4),
}

const PARTS: &[&str] = &["a", "b", "c", "d"];
static ROWS: [Row; 5] = [
    written("product_real", "nv_mul", PARTS, FLOAT),
    written("product_imag", "nv_mul", PARTS, FLOAT),
    written("quotient_real", "nv_div", PARTS, FLOAT),
    written("quotient_imag", "nv_div", PARTS, FLOAT),
    written("magnitude_of_parts", "nv_abs", &["a", "b"], FLOAT),
];

impl Planar {
    fn function(self) -> Function {
        match self {
            Planar::ProductReal => Function::Four(&math::PRODUCT_REAL),
            Planar::ProductImag => Function::Four(&math::PRODUCT_IMAG),
            Planar::QuotientReal => Function::Four(&math::QUOTIENT_REAL),
            Planar::QuotientImag => Function::Four(&math::QUOTIENT_IMAG),
            Planar::Magnitude => Function::Two(&math::MAGNITUDE),
        }
    }
}

/// What reaches nobody: the op is made after all transformations.
const LATE: &str = "the engine makes it after derivatives and batches are taken";

impl OpDef for Planar {
    fn row(&self) -> &'static Row {
        &ROWS[*self as usize]
    }

    fn rows() -> Vec<&'static Row> {
        vec![]
    }

    fn inner_rows() -> Vec<&'static Row> {
        ROWS.iter().collect()
    }

    fn parse(form: &Form) -> Parsed<Planar> {
        let op = ALL.into_iter().find(|op| op.row().name == form.op);
        let op = op.ok_or_else(|| form.error("the name of an op", format!("`{}`", form.op)))?;
        form.takes(op.row().operands.len())?;
        Ok(op)
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let first = operands[0];
        let same = operands.iter().all(|x| x.dtype == first.dtype && x.shape == first.shape);
        if !same
            || !matches!(first.dtype, DType::F32 | DType::F64)
            || operands.len() != self.row().operands.len()
        {
            return Err(Error::Internal { detail: format!("`{}` of other parts", self.row().name) });
        }
        let ambiguous = operands[1..]
            .iter()
            .fold(first.ambiguous, |ambiguous, x| Aval { ambiguous, ..first.clone() }.ambiguous_with(x));
        Ok(vec![Aval { ambiguous, ..first.clone() }])
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let dtype = results[0].dtype;
        match self.function() {
            Function::Two(kernel) => {
                let map = Map::function2(kernel, dtype).expect("parts are floats");
                map.apply([0, 1].map(|i| &operands[i]), &mut results[0])
            }
            Function::Four(kernel) => {
                let map = Map::function4(kernel, dtype).expect("parts are floats");
                map.apply([0, 1, 2, 3].map(|i| &operands[i]), &mut results[0])
            }
        }
    }

    fn is_elementwise(&self, _from: &[DType]) -> bool {
        true
    }

    fn kernel(&self, from: &[DType]) -> Option<Kernel> {
        match self.function() {
            Function::Two(kernel) => Map::function2(kernel, from[0]).map(Kernel::map),
            Function::Four(kernel) => Map::function4(kernel, from[0]).map(Kernel::map),
        }
    }

    fn instruction(&self) -> Option<native::Op> {
        Some(match self.function() {
            Function::Two(kernel) => native::Op::Function2(kernel),
            Function::Four(kernel) => native::Op::Function4(kernel),
        })
    }

    /// Of doubles, measured on an AMD EPYC, Zen 4.
    fn cost(&self) -> Cost {
        match self {
            Planar::ProductReal | Planar::ProductImag => Cost::Picoseconds(300),
            Planar::QuotientReal | Planar::QuotientImag => Cost::Picoseconds(1_500),
            Planar::Magnitude => Cost::Picoseconds(1_700),
        }
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::Todo(LATE)
    }

    fn jvp(&self) -> Jvp<'_> {
        Jvp::Todo(LATE)
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Same
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        Lowering::Todo { why: LATE, hint: "" }
    }
}
