//! The catalogue: every op, defined once. One row per op, one file per family.
//!
//! An op is a line of the list in [`list`], which makes it a member of [`Op`], and a file with its payload
//! (the static parameters), its rows and its implementation of [`OpDef`]: its result types, its kernel, its
//! derivatives, and its properties for passes and the engine. What an op means never depends on layout.

mod algebra;
pub mod attrs;
pub mod binary;
pub mod callback;
pub mod check;
pub mod cholesky;
pub mod compare;
pub mod complex;
pub mod concatenate;
pub mod contract;
pub mod control;
pub mod convert;
pub mod convolution;
mod cost;
pub mod create;
pub mod cumulative;
pub mod custom;
pub mod derive;
pub mod dot;
pub mod dynamic_slice;
pub mod eigen;
pub mod fourier;
pub mod gather;
pub mod layout;
pub mod list;
mod lower;
pub mod lu;
mod matrices;
mod places;
pub mod planar;
mod power;
pub mod predicate;
pub mod print;
pub mod qr;
pub mod random;
pub mod reduce;
pub mod reduce_window;
mod retype;
pub mod rules;
pub mod scatter;
mod scatter_sums;
mod scatter_window;
pub mod slice;
pub mod sort;
pub mod special;
mod special_rows;
pub mod svd;
pub mod ternary;
pub mod triangular;
pub mod unary;
pub mod update;
mod whole;
mod windows;

use crate::dtype::{Class, DType};
use crate::error::{Error, Result};
use crate::exec::vm::native;
use crate::graph;
use crate::tensor::Aval;
use std::borrow::Cow;

pub use check::{Check, Mode, Site};
pub(crate) use contract::{arity, common_shape, Ready};
pub use contract::{Cost, Linear, OpDef, Promotion, Role, Source, Strip, Sums, Touched, WholeKernel};
pub use control::{Control, Region};
pub use custom::Derivative;
pub use derive::{Math, Slope, Var};
pub(crate) use dot::Matrices;
pub use list::*;
pub use lower::{
    BinaryFormula, BinaryLower, Formula, HloOp, Lower, Lowering, Syntax, UnaryFormula, UnaryLower,
};
pub(crate) use matrices::Keep;
pub use rules::{Backward, Batch, Batched, Forward, Jvp, Vjp};
pub(crate) use sort::{put_along, take_along};
pub use update::Update;
pub(crate) use windows::fitted;
pub use windows::Windows;

/// A graph of these ops.
pub type Graph = graph::Graph<Op>;
/// A graph of these ops under construction.
pub type Builder = graph::Builder<Op>;

/// The description of an op, which has the same form in all families.
#[derive(Debug)]
pub struct Row {
    /// The op's one name: in graphs, in errors, in tests.
    pub name: &'static str,
    /// The name of the R function.
    pub function: &'static str,
    /// Whether that function is generated from this row (elementwise ops) or written by hand and checked
    /// against it.
    pub generated: bool,
    /// Lines of documentation, in roxygen's markdown: a title, then details.
    pub doc: &'static [&'static str],
    /// Names of the operands, which are the first formals of the R function.
    pub operands: &'static [&'static str],
    /// Dtypes that it accepts as operands.
    pub accepts: Class,
    /// The R generic or operator that the function is a method of.
    pub generic: Option<&'static str>,
    /// Arguments of the example on the help page.
    pub example: &'static str,
    /// Largest distance of float results from the exact ones, in units in the last place (of a 16-bit float
    /// before its rounding from f32): 0.5 if they are correctly rounded, 0 if they are exact.
    pub ulps: f64,
    /// What the help page says of accuracy beside that bound: sentences, or nothing. Where there is no bound, as
    /// for sums, `ulps` is 0.
    pub accuracy: &'static str,
    /// What it is as a step of native code, on the dtypes that there are steps for ([`native::has`]).
    pub native: Option<native::Op>,
}

/// Rows of ops whose R function is written by hand.
pub(crate) const fn written(
    name: &'static str,
    function: &'static str,
    operands: &'static [&'static str],
    accepts: Class,
) -> Row {
    Row {
        name,
        function,
        generated: false,
        doc: &[],
        operands,
        accepts,
        generic: None,
        example: "",
        ulps: 0.0,
        accuracy: "",
        native: None,
    }
}

impl Row {
    /// Checks the number of operands of a call; `...` stands for any number of operands.
    pub(crate) fn check_operands(&self, got: usize) -> Result<()> {
        match self.operands {
            [named @ .., "..."] => arity(self.function, got.min(named.len()), named.len()),
            named => arity(self.function, got, named.len()),
        }
    }

    /// The name of operand number `i`; operands that `...` stands for are start indices.
    pub(crate) fn operand(&self, i: usize) -> Cow<'static, str> {
        match self.operands {
            [named @ .., "..."] if i >= named.len() => format!("start {}", i + 1 - named.len()).into(),
            named => named[i].into(),
        }
    }

    /// Checks that operand number `i` has a dtype that the op computes on.
    pub(crate) fn check(&self, i: usize, aval: &Aval) -> Result<()> {
        if self.accepts.contains(aval.dtype) {
            return Ok(());
        }
        Err(self.unsupported(i, aval.ranked().dtype, ""))
    }

    /// The error for an operand of a dtype that the op does not accept.
    pub(crate) fn unsupported(&self, i: usize, got: DType, hint: &str) -> Error {
        let hint = match (hint, got) {
            ("", d) if d.is_complex() && !self.accepts.contains(DType::F32) => {
                "Compare first, such as with `x != 0`."
            }
            ("", d) if d.is_complex() => "Take `nv_real()`, `nv_imag()` or `nv_abs()` first.",
            ("", DType::I1) => "Convert it first, such as with `nv_convert(x, \"i32\")`.",
            ("", _) => "Convert it first with `nv_convert()`.",
            (hint, _) => hint,
        };
        Error::UnsupportedDtype {
            op: self.function.into(),
            operand: self.operands[i.min(self.operands.len() - 1)].into(),
            accepts: self.accepts.name.into(),
            got,
            hint: hint.into(),
        }
    }

    /// Checks that two operands have one dtype and one shape.
    pub(crate) fn check_same(&self, lhs: &Aval, rhs: &Aval) -> Result<()> {
        if lhs.dtype != rhs.dtype {
            let [lhs, rhs] = [lhs, rhs].map(|x| x.ranked().dtype);
            return Err(Error::DtypeMismatch { op: self.function.into(), lhs, rhs });
        }
        if lhs.shape != rhs.shape {
            let (lhs, rhs) = (lhs.shape.clone(), rhs.shape.clone());
            return Err(Error::ShapeMismatch { op: self.function.into(), lhs, rhs });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique() {
        let names: Vec<_> = rows().map(|row| row.name).collect();
        assert_eq!(names.len(), names.iter().collect::<HashSet<_>>().len());
        assert!(names.len() > 70, "{}", names.len());
    }

    #[test]
    fn every_generated_function_is_documented_and_named_after_its_op() {
        for row in rows().filter(|row| row.generated) {
            assert_eq!(row.function, format!("nv_{}", row.name));
            assert!(!row.doc.is_empty() && !row.example.is_empty(), "{}", row.name);
        }
    }
}
