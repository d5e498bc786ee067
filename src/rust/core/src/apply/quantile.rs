//! Quantiles: sorted elements, and the two next to a position taken together.
//!
//! Source: R. J. Hyndman, Y. Fan, "Sample quantiles in statistical packages", The American Statistician 50
//! (1996): the nine types; `quantile.default()` of R for what rounding may do to positions.

use super::applier::{Applier, Composition};
use super::order::is_nan;
use crate::dtype::{DType, Ranked, FLOAT, NUMERIC, ORDERED};
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::kernels::reductions::fold::Fold;
use crate::ops::attrs::{Attr, Attrs};
use crate::ops::*;
use crate::shape::{Axis, Shape};
use crate::tensor::Literal;

/// All of them, by name.
pub(super) const ALL: &[(&str, Composition)] = &[
    ("quantile", |a, operands, attrs| a.quantile(operands, attrs)),
    ("median", |a, operands, attrs| a.median(operands, attrs)),
];

/// How the elements next to a position are taken together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// One of the nine types.
    Type(i64),
    /// The one below the position of type 7.
    Lower,
    /// The one above it.
    Higher,
    /// The nearer one; of two that are as near that with the even number, counted from 0.
    Nearest,
    /// The mean of both.
    Midpoint,
}

impl Way {
    fn decode(attrs: &Attrs) -> Result<Way> {
        let named = [
            ("linear", Way::Type(7)),
            ("lower", Way::Lower),
            ("higher", Way::Higher),
            ("nearest", Way::Nearest),
            ("midpoint", Way::Midpoint),
        ];
        let name = match attrs.get("type") {
            Attr::Text(text) => named.iter().find(|(name, _)| name == text).map(|(_, way)| *way),
            _ => attrs.integer("type").ok().filter(|number| (1..=9).contains(number)).map(Way::Type),
        };
        name.ok_or_else(|| {
            let names = named.map(|(name, _)| format!("\"{name}\""));
            Error::arg("type", format!("a number from 1 to 9, or {}", names.join(", ")), "something else")
        })
    }

    /// What is taken for probabilities `p` of `n` elements: the number of one, from 0, and the weight of the next.
    fn positions<'m, 'b>(self, p: Var<'m, 'b>, n: Var<'m, 'b>) -> (Var<'m, 'b>, Var<'m, 'b>) {
        let indicator = |condition: Var<'m, 'b>| condition.select(p.of(1.0), p.of(0.0));
        let fuzz = p.of(4.0 * f64::EPSILON);
        let last = (n - 1.0).binary(Binary::max, p.of(0.0)) * p;
        match self {
            Way::Type(7) => (last.floor(), last - last.floor()),
            Way::Lower => (last.floor(), p.of(0.0)),
            Way::Higher => (last.unary(Unary::ceiling), p.of(0.0)),
            Way::Nearest => (last.unary(Unary::round_nearest_even), p.of(0.0)),
            Way::Midpoint => (last.floor(), indicator(last.compare(Compare::gt, last.floor())) * 0.5),
            Way::Type(number @ 1..=3) => {
                let place = if number == 3 { n * p - 0.5 } else { n * p };
                let whole = (place + fuzz).floor();
                let above = indicator((place - whole).compare(Compare::gt, fuzz));
                let weight = match number {
                    1 => above,
                    2 => (above + 1.0) * 0.5,
                    // Between two the one with the even number, counted from 1.
                    _ => {
                        let odd = whole - (whole * 0.5).floor() * 2.0;
                        above.binary(Binary::max, odd)
                    }
                };
                (whole - 1.0, weight)
            }
            Way::Type(number) => {
                let (a, b) = match number {
                    4 => (0.0, 1.0),
                    5 => (0.5, 0.5),
                    6 => (0.0, 0.0),
                    8 => (1.0 / 3.0, 1.0 / 3.0),
                    _ => (3.0 / 8.0, 3.0 / 8.0),
                };
                let place = a + p * (n + (1.0 - a - b));
                let whole = (place + fuzz).floor();
                let weight = place - whole;
                let small = weight.unary(Unary::abs).compare(Compare::lt, fuzz);
                (whole - 1.0, small.select(weight.of(0.0), weight))
            }
        }
    }
}

impl Applier<'_> {
    /// Quantiles of the elements along an axis, one for each of the second operand, in place of them.
    fn quantile(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        arity("nv_quantile", operands.len(), 2)?;
        let (way, without_nan) = (Way::decode(attrs)?, attrs.flag("na_rm")?);
        let (x, axis) = self.sortable("nv_quantile", operands[0], attrs)?;
        let probs = self.probabilities(operands[1])?;
        self.quantiles(x, probs, axis, way, without_nan)
    }

    /// The element in the middle along an axis, or the mean of the two there.
    fn median(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        arity("nv_median", operands.len(), 1)?;
        let (without_nan, drop) = (attrs.flag("na_rm")?, attrs.flag("drop")?);
        let (all, rank) = (*attrs.get("axis") == Attr::Null, self.aval(operands[0]).shape.rank());
        let (x, axis) = self.sortable("nv_median", operands[0], attrs)?;
        let half = self.builder.literal(Literal::new(0.5f64), None);
        let half = self.broadcast(half, &Shape::from([1]))?;
        let out = self.quantiles(x, half, axis, Way::Type(7), without_nan)?;
        let shape = match (drop, all) {
            (true, _) => self.shape(out[0]).without(&[axis]),
            (false, true) => Shape::try_new(vec![1; rank])?,
            (false, false) => return Ok(out),
        };
        self.builder.node(Reshape { shape, order: layout::Order::Column }, &out)
    }

    /// The operand and the axis of a call.
    fn sortable(&mut self, function: &str, x: Value, attrs: &Attrs) -> Result<(Value, Axis)> {
        let got = self.ranked(x).dtype;
        if !ORDERED.contains(got) {
            return Err(Error::UnsupportedDtype {
                op: function.into(),
                operand: "operand".into(),
                accepts: ORDERED.name.into(),
                got,
                hint: "Take `nv_real()`, `nv_imag()` or `nv_abs()` first.".into(),
            });
        }
        let (values, axis) = self.values_along(function, &[x], attrs)?;
        Ok((values[0], axis))
    }

    /// Probabilities as a vector of doubles.
    fn probabilities(&mut self, probs: Value) -> Result<Value> {
        let got = self.ranked(probs).dtype;
        if !NUMERIC.contains(got) {
            return Err(Error::UnsupportedDtype {
                op: "nv_quantile".into(),
                operand: "probs".into(),
                accepts: NUMERIC.name.into(),
                got,
                hint: "Probabilities are numbers from 0 to 1.".into(),
            });
        }
        if self.aval(probs).shape.rank() > 1 {
            return Err(Error::Rank {
                op: "nv_quantile".into(),
                operand: "probs".into(),
                expected: "at most 1 axis".into(),
                shape: self.shape(probs),
                hint: "Take `nv_flatten()`.".into(),
            });
        }
        let probs = self.vector(probs)?;
        self.cast(probs, Ranked::known(DType::F64))
    }

    fn quantiles(
        &mut self,
        x: Value,
        probs: Value,
        axis: Axis,
        way: Way,
        without_nan: bool,
    ) -> Result<Vec<Value>> {
        // The dtype of the result is that of a mean.
        let float = self.promote(&[x], FLOAT)?[0];
        let own = self.ranked(float);
        let from = self.shape(x);
        let mut sizes = from.to_vec();
        sizes[axis.0] = self.shape(probs)[0];
        let shape = Shape::try_new(sizes)?;
        let out = self.formulas(|math| {
            let (x, p) = (math.var(x), math.var(probs).repeated(&shape, &[axis]));
            if from[axis.0] == 0 {
                return [p.of(f64::NAN)];
            }
            let others: Vec<Axis> = (0..from.rank()).map(Axis).filter(|&other| other != axis).collect();
            let of_all = |x, fold| {
                math.apply(Reduction { fold, axes: vec![axis], drop: true }, &[x]).repeated(&shape, &others)
            };
            let size = p.of(from[axis.0] as f64);
            let nan = is_nan(x);
            // How many there are, and where the result is NaN.
            let (n, absent) = match nan {
                None => (size, None),
                Some(nan) if without_nan => {
                    let n = of_all(nan.unary(Unary::not).convert(DType::F64), Fold::Sum);
                    (n, Some(n.compare(Compare::eq, n.of(0.0))))
                }
                Some(nan) => (size, Some(of_all(nan, Fold::Any))),
            };
            let sorted = x.apply(Sort { axis, descending: false }, &[]);
            let bounded = p.binary(Binary::max, p.of(0.0)).binary(Binary::min, p.of(1.0));
            let (number, weight) = way.positions(bounded, n);
            let at = |number| {
                let last = (n - 1.0).binary(Binary::min, number);
                let position = last.binary(Binary::max, p.of(0.0)).convert(DType::I32);
                take_along(sorted, position, axis).convert(DType::F64)
            };
            let (low, high) = (at(number), at(number + 1.0));
            let between = low * (1.0 - weight) + high * weight;
            // Equal elements, which may be infinite, need no rounding.
            let is_low = weight.compare(Compare::eq, weight.of(0.0));
            let is_low = is_low.binary(Binary::or, low.compare(Compare::eq, high));
            let is_high = weight.compare(Compare::eq, weight.of(1.0));
            let out = is_low.select(low, is_high.select(high, between));
            // As many probabilities out of range, or NaN, are NaN.
            let fits = p.compare(Compare::ge, p.of(-100.0 * f64::EPSILON));
            let fits = fits.binary(Binary::and, p.compare(Compare::le, p.of(1.0 + 100.0 * f64::EPSILON)));
            let out = fits.select(out, out.of(f64::NAN));
            [absent.map_or(out, |absent| absent.select(out.of(f64::NAN), out))]
        })?;
        Ok(vec![self.cast(out[0], own)?])
    }
}
