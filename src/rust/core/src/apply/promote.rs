//! Promotion of operands to a common dtype. All implicit conversions are made here, and recorded if asked
//! for.

use super::applier::Applier;
use super::conversion::{Conversion, Loss};
use crate::dtype::promote::{common_dtype, why};
use crate::dtype::{Class, DType, Ranked, ANY, COMPLEX};
use crate::error::{Error, Result};
use crate::graph::{Def, Value};
use crate::ops::{Convert, Entry, Mode, Op, Promotion, Role, Row};

/// The reason why booleans become integers.
const COUNTED: &str = "booleans are counted in i32";

impl Applier<'_> {
    /// Converts one of the operands to a type, if it is stored in another dtype. Ambiguity alone changes for
    /// literals only. `rule` is the reason for the conversion.
    pub(super) fn convert(
        &mut self,
        operands: &[Value],
        i: usize,
        to: Ranked,
        rule: impl Fn() -> String,
    ) -> Result<Value> {
        let operand = operands[i];
        let aval = self.aval(operand);
        let (stored, own, array) = (aval.dtype, aval.ranked(), aval.shape.rank() > 0);
        let literal = self.builder.graph().literal(operand);
        let value =
            if stored == to.stored() && literal.is_none() { operand } else { self.cast(operand, to)? };
        if let Some(log) = &mut self.log {
            // The digits that an ambiguous number has beyond its default dtype are nobody's data; those of an
            // array may be.
            let loss = match literal {
                Some(value) => Loss::of_value(&value, own, to),
                None => Loss::of_types(if array { stored } else { own.dtype }, to.stored()),
            };
            if own.dtype != to.dtype || loss != Loss::Lossless {
                let operands = operands.iter().map(|&x| self.builder.graph().aval(x).ranked()).collect();
                log.push(Conversion { operands, operand: i, stored, to, rule: rule(), loss });
            }
        }
        Ok(value)
    }

    /// Converts a value to a type.
    pub(super) fn cast(&mut self, value: Value, to: Ranked) -> Result<Value> {
        let own = self.ranked(value);
        if own == to {
            return Ok(value);
        }
        if let Def::Literal(literal) = self.builder.graph().def(value) {
            if own.dtype.is_complex() && !to.dtype.is_complex() {
                return Err(Error::ComplexToReal { from: own.dtype, to: to.dtype });
            }
            return Ok(self.builder.literal(literal.convert(to.stored()), to.default()));
        }
        self.builder.node1(Op::Convert(Convert { to }), &[value])
    }

    /// The common type of the operands, joined from the first on: the order matters in systems that are no
    /// lattice.
    ///
    /// # Errors
    /// [`Error::Promotion`] if the rules refuse a pair; [`Error::Arg`] without operands.
    pub(super) fn join(&self, operands: &[Value]) -> Result<Ranked> {
        let mut ranked = operands.iter().map(|&x| self.ranked(x));
        let first = ranked.next().ok_or_else(|| Error::arg("...", "at least one tensor", "nothing"))?;
        ranked.try_fold(first, |so_far, next| self.common(so_far, next))
    }

    /// The common type of two. Rules whose ambiguous types have no width give the default one.
    fn common(&self, lhs: Ranked, rhs: Ranked) -> Result<Ranked> {
        let common = common_dtype(lhs, rhs, self.rules)?;
        let has_width = !common.ambiguous || self.rules.has_ambiguous_widths();
        Ok(if has_width || common.dtype == DType::I1 {
            common
        } else {
            self.defaults.number_type(common.dtype)
        })
    }

    /// Converts all operands to one dtype.
    pub(super) fn convert_all(
        &mut self,
        operands: &[Value],
        to: Ranked,
        rule: impl Fn() -> String,
    ) -> Result<Vec<Value>> {
        (0..operands.len()).map(|i| self.convert(operands, i, to, &rule)).collect()
    }

    /// The operands of a call, promoted as the op states. `mode` says what becomes of positions out of range.
    pub(super) fn promoted(&mut self, entry: &Entry, operands: &[Value], mode: Mode) -> Result<Vec<Value>> {
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
                let mut values = vec![operands[0]];
                values.extend(self.promote(&operands[1..], row.accepts)?);
                Ok(values)
            }
            Promotion::JoinOfParts => self.join_of_parts(operands),
            Promotion::JoinAsComplex => self.join_as_complex(operands),
            Promotion::Follow(leader) => {
                let to = self.ranked(operands[leader]);
                for (_, &other) in operands.iter().enumerate().filter(|(i, _)| *i != leader) {
                    common_dtype(to, self.ranked(other), self.rules)?;
                }
                self.convert_all(operands, to, || "bounds follow the operand".into())
            }
            Promotion::Each(roles) => self.each_by(row, roles, operands, mode),
        }
    }

    /// Each operand by its role.
    fn each_by(&mut self, row: &Row, roles: &[Role], operands: &[Value], mode: Mode) -> Result<Vec<Value>> {
        let role = |i: usize| roles[i.min(roles.len() - 1)];
        let (mut values, mut positions) = (Vec::with_capacity(operands.len()), Vec::new());
        for (i, &x) in operands.iter().enumerate() {
            values.push(match role(i) {
                Role::Own => x,
                Role::Known => {
                    let to = Ranked { ambiguous: false, ..self.ranked(x) };
                    self.convert(&[x], 0, to, || format!("the bits of {to} are read"))?
                }
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
    pub(super) fn join_counted(&mut self, operands: &[Value]) -> Result<Vec<Value>> {
        let common = self.join(operands)?;
        if common.dtype == DType::I1 {
            return self.convert_all(operands, Ranked::known(DType::I32), || COUNTED.into());
        }
        self.promote(operands, ANY)
    }

    /// The join of parts of complex numbers, which are f32 or f64.
    fn join_of_parts(&mut self, operands: &[Value]) -> Result<Vec<Value>> {
        let mut common = self.join(operands)?;
        if common.dtype.is_integer() || common.dtype == DType::I1 {
            common = self.common(common, self.defaults.number_type(DType::F64))?;
        }
        if common.dtype.is_float() && common.dtype.bits() < 32 {
            common.dtype = DType::F32;
        }
        let rule = || format!("parts of complex numbers are f32 or f64: {common}");
        self.convert_all(operands, common, rule)
    }

    /// The join as complex numbers: real ones have the imaginary part 0.
    fn join_as_complex(&mut self, operands: &[Value]) -> Result<Vec<Value>> {
        if self.join(operands)?.dtype.is_complex() {
            return self.promote(operands, COMPLEX);
        }
        let parts = self.join_of_parts(operands)?;
        let complex = |part: Ranked| if part.dtype == DType::F64 { DType::C128 } else { DType::C64 };
        let to = Ranked { dtype: complex(self.ranked(parts[0])), ..self.ranked(parts[0]) };
        self.convert_all(&parts, to, || format!("an op on complex numbers: {to}"))
    }

    /// An operand, with booleans as i32, which is known even if they are ambiguous.
    pub(super) fn counted(&mut self, x: Value) -> Result<Value> {
        if self.ranked(x).dtype == DType::I1 {
            let to = Ranked::known(DType::I32);
            return self.convert(&[x], 0, to, || COUNTED.into());
        }
        Ok(x)
    }

    /// A value converted to the dtype of the tensor that it is assigned to, which must not be below its own.
    pub(super) fn assigned(&mut self, value: Value, x: Value) -> Result<Value> {
        let (own, to) = (self.ranked(value), self.ranked(x));
        let target = Ranked { ambiguous: false, ..to };
        match common_dtype(own, target, self.rules) {
            Ok(common) if common.dtype == to.dtype => self.convert(&[value], 0, to, || {
                format!("a value takes the dtype of what it is assigned to, {}", to.dtype)
            }),
            _ => Err(Error::AssignDtype { value: own.dtype, to: to.dtype }),
        }
    }

    /// Converts operands to a common dtype: the join of theirs, and of R's floats if the op accepts floats alone.
    pub(super) fn promote(&mut self, operands: &[Value], accepts: Class) -> Result<Vec<Value>> {
        let common = self.join(operands)?;
        let rules = self.rules;
        let ranked: Vec<Ranked> = operands.iter().map(|&x| self.ranked(x)).collect();
        let floats_alone = accepts.contains(DType::F32) && !accepts.contains(DType::I32);
        let whole = common.dtype.is_integer() || common.dtype == DType::I1;
        let (to, values) = if whole && floats_alone && !accepts.contains(common.dtype) {
            let float = self.defaults.number_type(DType::F64);
            let to = self.common(common, float)?;
            let rule = || format!("for an op on floats, {}", why(&[common, float], to, rules));
            (to, self.convert_all(operands, to, rule)?)
        } else {
            (common, self.convert_all(operands, common, || why(&ranked, common, rules))?)
        };
        // What ambiguous values make is ambiguous, of the widest of their defaults: where the rules say
        // otherwise, each takes the type.
        if values.iter().all(|&v| self.ranked(v).ambiguous) {
            return values.into_iter().map(|v| self.cast(v, to)).collect();
        }
        Ok(values)
    }
}
