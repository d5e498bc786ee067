//! The application of one op: its operands are promoted, its parameters decoded, and its node is added to a
//! graph.

use super::conversion::Conversion;
use super::defaults::Defaults;
use crate::dtype::promote::Rules;
use crate::dtype::{DType, Ranked};
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::ops::attrs::Attrs;
use crate::ops::layout::Order;
use crate::ops::*;
use crate::passes::optimise;
use crate::shape::{Axis, Shape};
use crate::tensor::Aval;
use std::borrow::Cow;
use std::sync::Arc;

/// A graph under construction, the rules that operands of its ops are promoted by, and the default dtypes.
pub struct Applier<'a> {
    pub(super) builder: &'a mut Builder,
    pub(super) rules: &'static Rules,
    pub(super) defaults: Defaults,
    pub(super) log: Option<Vec<Conversion>>,
    pub(super) site: Site,
}

impl<'a> Applier<'a> {
    /// An applier that adds to `builder`.
    pub fn new(builder: &'a mut Builder, rules: &'static Rules) -> Applier<'a> {
        Applier { builder, rules, defaults: Defaults::default(), log: None, site: Site::default() }
    }

    /// The applier with these default dtypes.
    pub fn by_default(self, defaults: Defaults) -> Applier<'a> {
        Applier { defaults, ..self }
    }

    /// The applier, recording conversions from here on.
    pub fn noting(self) -> Applier<'a> {
        Applier { log: Some(Vec::new()), ..self }
    }

    /// The applier of a call at this site.
    pub fn at(self, site: Site) -> Applier<'a> {
        Applier { site, ..self }
    }

    /// The conversions since [`noting`](Applier::noting).
    pub fn conversions(self) -> Vec<Conversion> {
        self.log.unwrap_or_default()
    }

    /// The type of a value.
    pub(super) fn aval(&self, value: Value) -> &Aval {
        self.builder.graph().aval(value)
    }

    /// The shape of a value.
    pub(super) fn shape(&self, value: Value) -> Shape {
        self.aval(value).shape.clone()
    }

    /// The type of a value in promotion.
    pub(super) fn ranked(&self, value: Value) -> Ranked {
        self.aval(value).ranked()
    }

    /// Broadcasts a value to a shape, its axes aligned with the last ones.
    pub(super) fn broadcast(&mut self, value: Value, to: &Shape) -> Result<Value> {
        let from = &self.aval(value).shape;
        if from == to {
            return Ok(value);
        }
        let op = BroadcastInDim::align_right(from, to.clone())?;
        self.builder.node1(Op::BroadcastInDim(op), &[value])
    }

    /// Repeats 0-d values to a shape.
    pub(super) fn repeat(&mut self, values: &mut [Value], to: &Shape) -> Result<()> {
        for value in values {
            if self.aval(*value).shape.rank() == 0 {
                *value = self.broadcast(*value, to)?;
            }
        }
        Ok(())
    }

    /// Parameters with their functions simplified, so that one that equals an op is recognised.
    pub(super) fn simplified<'p>(&self, attrs: &'p Attrs) -> Result<Cow<'p, Attrs>> {
        attrs.with_graphs(|graph| Ok(Arc::new(optimise(graph)?)))
    }

    /// Repeats 0-d values and those of one element to a shape, and 1-d ones that are as long as its first axes, which
    /// they fill in column-major order.
    pub(super) fn recycle(&mut self, values: &mut [Value], to: &Shape) -> Result<()> {
        for value in values {
            let shape = self.shape(*value);
            let Some(filled) = shape.repeated_down(to).filter(|_| shape != *to) else { continue };
            if filled != shape.rank() {
                let shape = Shape::try_new(to[..filled].to_vec())?;
                *value =
                    self.builder.node1(Op::Reshape(Reshape { shape, order: Order::Column }), &[*value])?;
            }
            if filled < to.rank() {
                let op = BroadcastInDim { shape: to.clone(), axes: (0..filled).map(Axis).collect() };
                *value = self.builder.node1(Op::BroadcastInDim(op), &[*value])?;
            }
        }
        Ok(())
    }

    /// Applies the op called `name`.
    pub(super) fn op(&mut self, name: &str, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let entry = entry(name)?;
        let mut values = self.promoted(entry, operands, Mode::Error)?;
        let attrs = self.simplified(attrs)?;
        let (op, common, slice, is_identity) = {
            let avals: Vec<&Aval> = values.iter().map(|&v| self.aval(v)).collect();
            let op = (entry.decode)(entry.row, &attrs, &avals)?;
            let dtypes: Vec<DType> = avals.iter().map(|x| x.dtype).collect();
            let common = match op.is_elementwise(&dtypes) {
                true => common_shape(entry.row.function, &avals)?,
                false => None,
            };
            let slice = op.repeats_to(&avals)?;
            let is_identity = op.is_identity(&avals);
            (op, common, slice, is_identity)
        };
        if let Some(to) = common {
            self.recycle(&mut values, &to)?;
        }
        if let Some(to) = slice {
            self.repeat(&mut values, &to)?;
        }
        if is_identity {
            return Ok(values);
        }
        match op {
            // A literal of another dtype is another literal.
            Op::Convert(Convert { to }) => self.cast(values[0], to).map(|value| vec![value]),
            op => self.builder.node(op, &values),
        }
    }
}

/// The op called `name`.
pub(super) fn entry(name: &str) -> Result<&'static Entry> {
    find(name).ok_or_else(|| Error::Internal { detail: format!("there is no op called {name}") })
}

/// Whether `NA` among R's logicals is NaN beside floats to what is called `name`: it takes these, and is no
/// comparison, which R answers with `NA`, and NaN with `FALSE`.
pub fn takes_na(name: &str) -> bool {
    find(name).is_none_or(|entry| entry.row.accepts.contains(DType::F64)) && !compares(name)
}

/// Whether what is called `name` is a comparison, such as `==`.
pub fn compares(name: &str) -> bool {
    Compare::rows().iter().any(|row| row.name == name)
}

/// Whether what is called `name` computes each element of its result of the elements in that place alone.
pub fn is_elementwise(name: &str) -> bool {
    const COMPOSED: [&str; 8] = ["abs", "magnitude", "real", "imag", "arg", "quotient", "identity", "floats"];
    let rows = [
        Unary::rows(),
        Predicate::rows(),
        Part::rows(),
        MakeComplex::rows(),
        Binary::rows(),
        Compare::rows(),
        Ternary::rows(),
        Special::rows(),
        Convert::rows(),
    ];
    COMPOSED.contains(&name) || rows.iter().flatten().any(|row| row.name == name)
}

/// A function that is called by name and composes ops.
pub(super) type Composition = fn(&mut Applier, &[Value], &Attrs) -> Result<Vec<Value>>;
