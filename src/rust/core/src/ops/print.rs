//! Printing while a program runs. The engine knows no console: whoever runs programs says where text goes.

use super::{written, Row};
use crate::dtype::{dispatch, ANY};
use crate::kernels::tile;
use crate::tensor::{Aval, View, ViewMut};
use std::cell::Cell;

/// The value itself; when it is computed, it is shown.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Print {
    /// What is shown before the value.
    pub label: String,
    /// Whether the value is ambiguous.
    pub ambiguous: bool,
    /// Number of the call: two calls for the same value show it twice.
    pub number: u64,
}

pub(super) static PRINT: Row = written("print", "nv_print", &["operand"], ANY);

/// Shows a value: its label, type and bytes, dense and column-major.
pub type Printer = fn(&str, &Aval, &[u8]);

thread_local! {
    static PRINTER: Cell<Option<Printer>> = const { Cell::new(None) };
}

/// Says where values go that programs of this thread print. Without it they go nowhere.
pub fn set_printer(printer: Printer) {
    PRINTER.set(Some(printer));
}

impl Print {
    pub(super) fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![("label", format!("{:?}", self.label))]
    }

    pub(super) fn eval(&self, x: &View, out: &mut ViewMut) {
        dispatch!(x.dtype, T => tile::copy::<T>(x, out));
        if let Some(printer) = PRINTER.get() {
            let aval = Aval { dtype: x.dtype, shape: x.shape.clone(), ambiguous: self.ambiguous };
            printer(&self.label, &aval, out.data);
        }
    }
}
