//! Operands on their way to a common dtype. Every implicit conversion is made here, and noted if someone
//! asks.

use super::conversion::{Conversion, Loss};
use super::{Applier, Operand};
use crate::dtype::promote::{common_dtype, why};
use crate::dtype::{Class, DType, Kind, Ranked};
use crate::error::{Error, Result};
use crate::graph::{Def, Value};
use crate::ops::{Convert, Op};
use crate::tensor::Literal;

/// The dtype that an R number or logical stands for in promotion; it is stored as f64, i32, i1 or c128.
pub fn literal_ranked(stored: DType) -> Ranked {
    match stored.kind() {
        Kind::Boolean => Ranked { dtype: DType::I1, ambiguous: false },
        Kind::Float => Ranked { dtype: DType::F32, ambiguous: true },
        Kind::Complex => Ranked { dtype: DType::C64, ambiguous: true },
        Kind::Integer | Kind::Unsigned => Ranked { dtype: DType::I32, ambiguous: true },
    }
}

impl Applier<'_> {
    /// Brings one of the operands to a dtype, if it is not there; the flag counts only if it is not, or for a
    /// literal, which is what it is promoted to. `rule` says why it is another one.
    pub(super) fn convert(
        &mut self,
        operands: &[Operand],
        i: usize,
        to: Ranked,
        rule: impl Fn() -> String,
    ) -> Result<Value> {
        let operand = operands[i];
        let stored = self.aval(operand.value).dtype;
        let literal = match self.builder.graph().def(operand.value) {
            Def::Literal(literal) => Some(literal),
            _ => None,
        };
        let value = if stored == to.dtype && literal.is_none() {
            operand.value
        } else {
            self.cast(operand.value, to)?
        };
        if let Some(log) = &mut self.log {
            // What the user has is the dtype that R stores an array in; a number is a guess from the start.
            let array = self.builder.graph().aval(operand.value).shape.rank() > 0;
            let from = if array { stored } else { operand.ranked.dtype };
            let loss = match literal {
                Some(value) => Loss::of_value(&value, operand.ranked.dtype, to.dtype),
                None => Loss::of_types(from, to.dtype),
            };
            if operand.ranked.dtype != to.dtype || loss != Loss::Lossless {
                let operands = operands.iter().map(|x| x.ranked).collect();
                // Where promotion leaves the type alone, it is R's numbers that are stored wider.
                let numbers = if stored.is_complex() { "complex numbers" } else { "doubles" };
                let stand_for = || format!("R's {numbers} stand for {to}");
                let rule = if operand.ranked == to { stand_for() } else { rule() };
                log.push(Conversion { operands, operand: i, stored: from, to, rule, loss });
            }
        }
        Ok(value)
    }

    /// Brings a value to a dtype and a flag.
    pub(super) fn cast(&mut self, value: Value, to: Ranked) -> Result<Value> {
        if self.aval(value).ranked() == to {
            return Ok(value);
        }
        if let Def::Literal(literal) = self.builder.graph().def(value) {
            if literal.dtype().is_complex() && !to.dtype.is_complex() {
                return Err(Error::ComplexToReal { from: literal.dtype(), to: to.dtype });
            }
            let literal: Literal = literal.convert(to.dtype);
            return Ok(self.builder.literal(literal, to.ambiguous));
        }
        self.builder.node1(Op::Convert(Convert { dtype: to.dtype, ambiguous: to.ambiguous }), &[value])
    }

    /// The value of an operand at its own dtype: an R number becomes an ambiguous value of its default width.
    ///
    /// # Errors
    /// None on a well-typed graph.
    pub fn materialise(&mut self, operand: Operand) -> Result<Value> {
        let stored = self.aval(operand.value).dtype;
        if operand.ranked.dtype == stored {
            return Ok(operand.value);
        }
        self.convert(&[operand], 0, operand.ranked, String::new)
    }

    /// The operands at their own dtypes.
    pub(super) fn each(&mut self, operands: &[Operand]) -> Result<Vec<Value>> {
        operands.iter().map(|&x| self.materialise(x)).collect()
    }

    /// What the operands promote to, folded from the first: the order counts in systems that are no lattice.
    ///
    /// # Errors
    /// [`Error::Promotion`] if the rules refuse a pair; [`Error::Arg`] without operands.
    pub(super) fn join(&self, operands: &[Operand]) -> Result<Ranked> {
        let mut ranked = operands.iter().map(|x| x.ranked);
        let first = ranked.next().ok_or_else(|| Error::arg("...", "at least one tensor", "nothing"))?;
        ranked.try_fold(first, |so_far, next| common_dtype(so_far, next, self.rules))
    }

    /// Brings all operands to one dtype.
    pub(super) fn convert_all(
        &mut self,
        operands: &[Operand],
        to: Ranked,
        rule: impl Fn() -> String,
    ) -> Result<Vec<Value>> {
        (0..operands.len()).map(|i| self.convert(operands, i, to, &rule)).collect()
    }

    /// Brings operands to a common dtype: the join of theirs, and of `f32?` where the op computes on floats
    /// alone.
    pub(super) fn promote(&mut self, operands: &[Operand], accepts: Option<Class>) -> Result<Vec<Value>> {
        let common = self.join(operands)?;
        let rules = self.rules;
        let ranked: Vec<Ranked> = operands.iter().map(|x| x.ranked).collect();
        let refused = |class: Class| !class.contains(common.dtype) && class.contains(DType::F32);
        let whole = common.dtype.is_integer() || common.dtype == DType::I1;
        if whole && accepts.is_some_and(|class| refused(class) && !class.contains(DType::I32)) {
            let float = literal_ranked(DType::F64);
            let to = common_dtype(common, float, rules)?;
            return self.convert_all(operands, to, || {
                format!("for an op on floats, {}", why(&[common, float], to, rules))
            });
        }
        self.convert_all(operands, common, || why(&ranked, common, rules))
    }
}
