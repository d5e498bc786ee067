//! Printing while a program runs. The engine knows no console: the caller sets a [`Printer`].

use super::attrs::Attrs;
use super::contract::{Form, Linear, OpDef, Promotion, Role};
use super::lower::Lowering;
use super::rules::{Batch, Jvp, Vjp};
use super::{written, Op, Row};
use crate::dtype::{DType, ANY};
use crate::error::Result;
use crate::graph::syntax::Parsed;
use crate::kernels::tile;
use crate::tensor::{Aval, View, ViewMut};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// The identity, which shows the value when it is computed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Print {
    /// The text before the value.
    pub label: String,
    /// The default dtype of an ambiguous value, see [`Aval::ambiguous`].
    pub ambiguous: Option<DType>,
    /// Number of the call: two calls for the same value show it twice.
    pub number: u64,
}

static PRINT: Row = written("print", "nv_print", &["operand"], ANY);

/// Shows a value: its label, type and bytes, dense and column-major.
pub type Printer = fn(&str, &Aval, &[u8]);

thread_local! {
    static PRINTER: Cell<Option<Printer>> = const { Cell::new(None) };
}

/// Sets the printer of programs on this thread. Without one, nothing is shown.
pub fn set_printer(printer: Printer) {
    PRINTER.set(Some(printer));
}

impl OpDef for Print {
    fn row(&self) -> &'static Row {
        &PRINT
    }

    fn rows() -> Vec<&'static Row> {
        vec![&PRINT]
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        Ok(vec![operands[0].clone()])
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![("label", format!("{:?}", self.label))]
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::Each(&[Role::Own])
    }

    fn decode(_row: &'static Row, attrs: &Attrs, operands: &[&Aval]) -> Result<Op> {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        let number = CALLS.fetch_add(1, Ordering::Relaxed);
        Ok(Print { label: attrs.text("label")?, ambiguous: operands[0].ambiguous, number }.into())
    }

    fn parse(form: &Form) -> Parsed<Print> {
        form.takes(1)?;
        Ok(Print { label: form.text("label")?, ambiguous: form.operands[0].ambiguous, number: form.number })
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let (x, out) = (&operands[0], &mut results[0]);
        tile::copy(x, out);
        if let Some(printer) = PRINTER.get() {
            let aval = Aval { dtype: x.dtype, shape: x.shape.clone(), ambiguous: self.ambiguous };
            printer(&self.label, &aval, out.data);
        }
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::of_one(|at| at.g())
    }

    /// The tangent is not shown.
    fn jvp(&self) -> Jvp<'_> {
        Jvp::of_one(|at| at.t(0))
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Same
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        Lowering::Todo {
            why: "StableHLO has no op that prints",
            hint: "Remove `nv_print()` from the function before you export it.",
        }
    }

    fn linear(&self) -> Linear {
        Linear::InAll
    }

    fn effect(&self) -> bool {
        true
    }
}
