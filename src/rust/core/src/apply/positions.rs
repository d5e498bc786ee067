//! Conversion of positions that count from 1, as users write them, to positions that count from 0.

use super::applier::Applier;
use crate::dtype::{DType, Ranked};
use crate::error::{Error, Result};
use crate::graph::{Def, Value};
use crate::ops::*;
use crate::tensor::Literal;

impl Applier<'_> {
    /// Positions that count from 0, in i32 or i64, from positions that count from 1. Those that are moved to
    /// the nearest must not wrap; else the smallest number becomes the largest, which is no position either.
    pub(super) fn positions(&mut self, x: Value, function: &str, what: &str, mode: Mode) -> Result<Value> {
        let dtype = self.ranked(x).dtype;
        if !dtype.is_integer() {
            let hint = match dtype {
                DType::I1 => {
                    "A mask must be as long as its axis; `nv_which(mask, size = n)` has a known number of positions."
                }
                _ => {
                    "Write whole numbers as `1L`, such as in `i + 1L`, or convert it with `nv_convert(x, \"i32\")`."
                }
            };
            let (op, accepts) = (function.into(), "integers as indices".into());
            return Err(Error::UnsupportedDtype {
                op,
                operand: what.into(),
                accepts,
                got: dtype,
                hint: hint.into(),
            });
        }
        let mut value = x;
        let wide = dtype.bounds().is_some_and(|(_, high)| high > i128::from(i32::MAX));
        let to = Ranked { dtype: if wide { DType::I64 } else { DType::I32 }, ambiguous: false };
        if dtype == DType::UI64 {
            // No value has a position beyond i64.
            let limit = Literal::new(i64::MAX as u64);
            value = self.with(Binary::min, value, limit)?;
        }
        value = self.cast(value, to)?;
        let [zero, one] = [0i64, 1].map(|n| Literal::new(n).convert(to.dtype));
        if mode == Mode::Clip {
            value = self.with(Binary::max, value, zero)?;
        }
        self.with(Binary::sub, value, one)
    }

    /// An op on each element and a number of their dtype.
    pub(super) fn with(&mut self, op: Binary, value: Value, number: Literal) -> Result<Value> {
        let number = self.builder.literal(number, None);
        self.with_scalar(op, value, number)
    }

    /// Positions in one dtype: i64 if one of them is, else i32.
    pub(super) fn one_width(&mut self, values: Vec<Value>) -> Result<Vec<Value>> {
        let wide = values.iter().any(|&v| self.aval(v).dtype == DType::I64);
        let to = Ranked { dtype: if wide { DType::I64 } else { DType::I32 }, ambiguous: false };
        values.into_iter().map(|v| self.cast(v, to)).collect()
    }

    /// The number that a value holds, if it is known while tracing. Larger unsigned ones saturate.
    pub(super) fn known(&self, value: Value) -> Option<i64> {
        match self.builder.graph().def(value) {
            Def::Literal(literal) if literal.dtype() == DType::UI64 => {
                Some(literal.get::<u64>().min(i64::MAX as u64) as i64)
            }
            Def::Literal(literal) if literal.dtype().is_integer() => Some(literal.get()),
            _ => None,
        }
    }
}
