//! Promotion of operands to a common dtype. All implicit conversions are made here, and recorded if asked
//! for.

use super::applier::{Applier, Operand};
use super::conversion::{Conversion, Loss};
use crate::dtype::promote::{common_dtype, why};
use crate::dtype::{Class, DType, Kind, Ranked};
use crate::error::{Error, Result};
use crate::graph::{Def, Value};
use crate::ops::{Convert, Entry, Mode, Op, Promotion, Role, Row};
use crate::tensor::Literal;

/// The type in promotion of an R number or logical, which is stored as f64, i32, i1 or c128.
pub fn literal_ranked(stored: DType) -> Ranked {
    match stored.kind() {
        Kind::Boolean => Ranked { dtype: DType::I1, ambiguous: false },
        Kind::Float => Ranked { dtype: DType::F32, ambiguous: true },
        Kind::Complex => Ranked { dtype: DType::C64, ambiguous: true },
        Kind::Integer | Kind::Unsigned => Ranked { dtype: DType::I32, ambiguous: true },
    }
}

/// The reason why booleans become integers.
const COUNTED: &str = "booleans are counted in i32";

impl Applier<'_> {
    /// Converts one of the operands to a dtype, if it has another. Ambiguity changes only with the dtype, or
    /// for a literal. `rule` is the reason for the conversion.
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
            // An array is shown with the dtype that R stores it in; that of a number is a default anyway.
            let array = self.builder.graph().aval(operand.value).shape.rank() > 0;
            let from = if array { stored } else { operand.ranked.dtype };
            let loss = match literal {
                Some(value) => Loss::of_value(&value, operand.ranked.dtype, to.dtype),
                None => Loss::of_types(from, to.dtype),
            };
            if operand.ranked.dtype != to.dtype || loss != Loss::Lossless {
                let operands = operands.iter().map(|x| x.ranked).collect();
                // If promotion does not change the type, the conversion narrows R's wider storage.
                let numbers = if stored.is_complex() { "complex numbers" } else { "doubles" };
                let stand_for = || format!("R's {numbers} stand for {to}");
                let rule = if operand.ranked == to { stand_for() } else { rule() };
                log.push(Conversion { operands, operand: i, stored: from, to, rule, loss });
            }
        }
        Ok(value)
    }

    /// Converts a value to a dtype and ambiguity.
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

    /// The common type of the operands, joined from the first on: the order matters in systems that are no
    /// lattice.
    ///
    /// # Errors
    /// [`Error::Promotion`] if the rules refuse a pair; [`Error::Arg`] without operands.
    pub(super) fn join(&self, operands: &[Operand]) -> Result<Ranked> {
        let mut ranked = operands.iter().map(|x| x.ranked);
        let first = ranked.next().ok_or_else(|| Error::arg("...", "at least one tensor", "nothing"))?;
        ranked.try_fold(first, |so_far, next| common_dtype(so_far, next, self.rules))
    }

    /// Converts all operands to one dtype.
    pub(super) fn convert_all(
        &mut self,
        operands: &[Operand],
        to: Ranked,
        rule: impl Fn() -> String,
    ) -> Result<Vec<Value>> {
        (0..operands.len()).map(|i| self.convert(operands, i, to, &rule)).collect()
    }

    /// The operands of a call, promoted as the op states. `mode` says what becomes of positions out of range.
    pub(super) fn promoted(&mut self, entry: &Entry, operands: &[Operand], mode: Mode) -> Result<Vec<Value>> {
        let row = entry.row;
        match entry.promotion {
            // Operands that a function among the parameters captures come after the named ones.
            Promotion::Each(roles) if roles.len() > row.operands.len() => {
                row.check_operands(operands.len().min(row.operands.len()))?;
            }
            _ => row.check_operands(operands.len())?,
        }
        match entry.promotion {
            Promotion::Join => self.promote(operands, row.accepts),
            Promotion::JoinCounted => self.join_counted(operands),
            Promotion::JoinAfterCondition => {
                let mut values = vec![self.materialise(operands[0])?];
                values.extend(self.promote(&operands[1..], row.accepts)?);
                Ok(values)
            }
            Promotion::JoinOfParts => self.join_of_parts(operands),
            Promotion::Follow(leader) => {
                let to = operands[leader].ranked;
                for (_, other) in operands.iter().enumerate().filter(|(i, _)| *i != leader) {
                    common_dtype(to, other.ranked, self.rules)?;
                }
                self.convert_all(operands, to, || "bounds follow the operand".into())
            }
            Promotion::Each(roles) => self.each_by(row, roles, operands, mode),
        }
    }

    /// Each operand by its role.
    fn each_by(&mut self, row: &Row, roles: &[Role], operands: &[Operand], mode: Mode) -> Result<Vec<Value>> {
        let role = |i: usize| roles[i.min(roles.len() - 1)];
        let (mut values, mut positions) = (Vec::with_capacity(operands.len()), Vec::new());
        for (i, &x) in operands.iter().enumerate() {
            values.push(match role(i) {
                Role::Own => self.materialise(x)?,
                Role::Stored => x.value,
                Role::Counted => self.counted(x)?,
                Role::Assigned => self.assigned(x, values[0])?,
                Role::Position => {
                    positions.push(i);
                    self.positions(x, row.function, &row.operand(i), mode)?
                }
            });
        }
        let widened = self.one_width(positions.iter().map(|&i| values[i]).collect())?;
        for (i, value) in positions.into_iter().zip(widened) {
            values[i] = value;
        }
        Ok(values)
    }

    /// The join of all, in which booleans count as i32.
    pub(super) fn join_counted(&mut self, operands: &[Operand]) -> Result<Vec<Value>> {
        let mut common = self.join(operands)?;
        if common.dtype == DType::I1 {
            common.dtype = DType::I32;
            return self.convert_all(operands, common, || COUNTED.into());
        }
        let rules = self.rules;
        let ranked: Vec<Ranked> = operands.iter().map(|x| x.ranked).collect();
        self.convert_all(operands, common, || why(&ranked, common, rules))
    }

    /// The join of parts of complex numbers, which are f32 or f64.
    fn join_of_parts(&mut self, operands: &[Operand]) -> Result<Vec<Value>> {
        let mut common = self.join(operands)?;
        if common.dtype.is_integer() || common.dtype == DType::I1 {
            common = common_dtype(common, literal_ranked(DType::F64), self.rules)?;
        }
        if common.dtype.is_float() && common.dtype.bits() < 32 {
            common.dtype = DType::F32;
        }
        let rule = || format!("parts of complex numbers are f32 or f64: {common}");
        self.convert_all(operands, common, rule)
    }

    /// An operand, with booleans as i32, which is known even if they are ambiguous.
    fn counted(&mut self, x: Operand) -> Result<Value> {
        if x.ranked.dtype == DType::I1 {
            let to = Ranked { dtype: DType::I32, ambiguous: false };
            return self.convert(&[x], 0, to, || COUNTED.into());
        }
        self.materialise(x)
    }

    /// A value converted to the dtype of the tensor that it is assigned to, which must not be below its own.
    pub(super) fn assigned(&mut self, value: Operand, x: Value) -> Result<Value> {
        let to = self.aval(x).ranked();
        let target = Ranked { ambiguous: false, ..to };
        match common_dtype(value.ranked, target, self.rules) {
            Ok(common) if common.dtype == to.dtype => self.convert(&[value], 0, to, || {
                format!("a value takes the dtype of what it is assigned to, {}", to.dtype)
            }),
            _ => Err(Error::AssignDtype { value: value.ranked.dtype, to: to.dtype }),
        }
    }

    /// Converts operands to a common dtype: the join of theirs, and of `f32?` if the op accepts floats alone.
    pub(super) fn promote(&mut self, operands: &[Operand], accepts: Class) -> Result<Vec<Value>> {
        let common = self.join(operands)?;
        let rules = self.rules;
        let ranked: Vec<Ranked> = operands.iter().map(|x| x.ranked).collect();
        let floats_alone = accepts.contains(DType::F32) && !accepts.contains(DType::I32);
        let whole = common.dtype.is_integer() || common.dtype == DType::I1;
        if whole && floats_alone && !accepts.contains(common.dtype) {
            let float = literal_ranked(DType::F64);
            let to = common_dtype(common, float, rules)?;
            return self.convert_all(operands, to, || {
                format!("for an op on floats, {}", why(&[common, float], to, rules))
            });
        }
        self.convert_all(operands, common, || why(&ranked, common, rules))
    }
}
