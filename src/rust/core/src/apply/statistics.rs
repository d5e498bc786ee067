//! Statistics along axes, and reductions that leave out NaN: sums of sums. What is no float is converted to
//! `f32`, and what has 16 bits is computed in `f32` and rounded once.

use super::applier::{Applier, Composition};
use crate::dtype::{Class, DType, Ranked, FLOAT, INEXACT, ORDERED};
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::kernels::reductions::fold::Fold;
use crate::ops::attrs::{Attr, Attrs};
use crate::ops::*;
use crate::shape::{Axis, Shape};

/// All of them, by name.
pub(super) const ALL: &[(&str, Composition)] = &[
    ("reduce_sum", |a, operands, attrs| a.reduction("reduce_sum", 0.0, operands, attrs)),
    ("reduce_prod", |a, operands, attrs| a.reduction("reduce_prod", 1.0, operands, attrs)),
    ("reduce_max", |a, operands, attrs| a.reduction("reduce_max", f64::NEG_INFINITY, operands, attrs)),
    ("reduce_min", |a, operands, attrs| a.reduction("reduce_min", f64::INFINITY, operands, attrs)),
    ("reduce_any", |a, operands, attrs| a.reduction("reduce_any", 0.0, operands, attrs)),
    ("reduce_all", |a, operands, attrs| a.reduction("reduce_all", 1.0, operands, attrs)),
    ("reduce_squares", |a, operands, attrs| a.squares(operands, attrs)),
    ("mean", |a, operands, attrs| a.mean(operands, attrs)),
    ("weighted_mean", |a, operands, attrs| a.weighted_mean(operands, attrs)),
    ("var", |a, operands, attrs| a.variance("nv_var", operands, attrs, |var| var)),
    ("sd", |a, operands, attrs| a.variance("nv_sd", operands, attrs, root)),
    ("moment", |a, operands, attrs| a.moment(operands, attrs)),
    ("skewness", |a, operands, attrs| a.skewness(operands, attrs)),
    ("kurtosis", |a, operands, attrs| a.kurtosis(operands, attrs)),
    ("logsumexp", |a, operands, attrs| a.logsumexp(operands, attrs)),
    ("softmax", |a, operands, attrs| a.softmax(operands, attrs)),
    ("log_softmax", |a, operands, attrs| a.log_softmax(operands, attrs)),
    ("normalize", |a, operands, attrs| a.normalize(operands, attrs)),
];

/// The square root, whose derivative is 0 where it is 0.
pub(super) fn root<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let is_zero = x.compare(Compare::eq, x.of(0.0));
    is_zero.select(x, is_zero.select(x.of(1.0), x).sqrt())
}

/// The axes along which a statistic is computed.
#[derive(Clone, Debug)]
pub(super) struct Along {
    axes: Vec<Axis>,
    drop: bool,
    /// Whether NaN is left out.
    na_rm: bool,
}

impl Along {
    /// Along one axis, which stays.
    pub fn axis(axis: Axis, na_rm: bool) -> Along {
        Along { axes: vec![axis], drop: false, na_rm }
    }

    fn fold<'m, 'b>(&self, fold: Fold, x: Var<'m, 'b>) -> Var<'m, 'b> {
        x.apply(Reduction { fold, axes: self.axes.clone(), drop: self.drop }, &[])
    }

    /// The sum.
    pub fn sum<'m, 'b>(&self, x: Var<'m, 'b>) -> Var<'m, 'b> {
        self.fold(Fold::Sum, x)
    }

    /// A result, repeated to the shape of the operand.
    pub fn spread<'m, 'b>(&self, result: Var<'m, 'b>, shape: &Shape) -> Var<'m, 'b> {
        let kept = |i: &usize| !self.drop || !self.axes.contains(&Axis(*i));
        let kept: Vec<Axis> = (0..shape.rank()).filter(kept).map(Axis).collect();
        result.repeated(shape, &kept)
    }

    /// The largest element, which has no derivative.
    pub fn largest<'m, 'b>(&self, x: Var<'m, 'b>) -> Var<'m, 'b> {
        self.fold(Fold::Max, x).unary(Unary::stop_gradient)
    }

    /// The operand with 0 for what is left out, and where that is, if it is asked for.
    pub fn numbers<'m, 'b>(&self, x: Var<'m, 'b>) -> (Var<'m, 'b>, Option<Var<'m, 'b>>) {
        if !self.na_rm {
            return (x, None);
        }
        let is_nan = x.predicate(Predicate::is_nan);
        (is_nan.select(x.of(0.0), x), Some(is_nan))
    }

    /// How many elements are not left out, in the type of their sum.
    pub fn count<'m, 'b>(
        &self,
        x: Var<'m, 'b>,
        left_out: Option<Var<'m, 'b>>,
        sum: Var<'m, 'b>,
    ) -> Var<'m, 'b> {
        let shape = x.aval().shape;
        let Some(is_nan) = left_out else {
            let count: usize = self.axes.iter().map(|axis| shape[axis.0]).product();
            return sum.of(count as f64);
        };
        let dtype = if i32::try_from(shape.size()).is_ok() { DType::I32 } else { DType::I64 };
        let ones = is_nan.unary(Unary::not).convert(dtype);
        self.sum(ones).apply(Convert { to: sum.aval().ranked() }, &[])
    }

    /// The deviations from the mean, NaN where that is left out; how many elements there are, and where some
    /// are left out.
    ///
    /// A sum divided by its length can be a rounding off, even above the largest element. The mean is brought
    /// back between the smallest and the largest, so that the deviations of equal elements are exactly 0. The
    /// difference is a constant to derivatives, as it is 0 but for rounding.
    pub fn centered<'m, 'b>(&self, x: Var<'m, 'b>) -> (Var<'m, 'b>, Var<'m, 'b>, Option<Var<'m, 'b>>) {
        let (kept, left_out) = self.numbers(x);
        let sum = self.sum(kept);
        let count = self.count(x, left_out, sum);
        let mean = sum / count;
        let bound = |fold, neutral| {
            let among = left_out.map_or(x, |is_nan| is_nan.select(x.of(neutral), x));
            self.fold(fold, among).unary(Unary::stop_gradient)
        };
        let (least, most) = (bound(Fold::Min, f64::INFINITY), bound(Fold::Max, f64::NEG_INFINITY));
        let rounded = mean.unary(Unary::stop_gradient);
        // Exact, as both are of nearly one size; no number where the mean is none.
        let off = rounded.binary(Binary::max, least).binary(Binary::min, most) - rounded;
        let mean = mean + off.predicate(Predicate::is_finite).select(off, off.of(0.0));
        (x - self.spread(mean, &x.aval().shape), count, left_out)
    }

    /// As [`centered`](Along::centered), 0 for what is left out.
    pub fn deviations<'m, 'b>(&self, x: Var<'m, 'b>) -> (Var<'m, 'b>, Var<'m, 'b>, Option<Var<'m, 'b>>) {
        let (centered, count, left_out) = self.centered(x);
        (Self::without(centered, left_out), count, left_out)
    }

    /// 0 in place of what is left out.
    fn without<'m, 'b>(x: Var<'m, 'b>, left_out: Option<Var<'m, 'b>>) -> Var<'m, 'b> {
        left_out.map_or(x, |is_nan| is_nan.select(x.of(0.0), x))
    }
}

/// A sum divided by the number of its terms less a correction; NaN unless that is positive.
pub(super) fn per_degree<'m, 'b>(sum: Var<'m, 'b>, count: Var<'m, 'b>, correction: f64) -> Var<'m, 'b> {
    let left = match count.known() {
        Some(count) => sum.of(if count.re > correction { count.re - correction } else { f64::NAN }),
        None => {
            let left = count - correction;
            left.compare(Compare::gt, left.of(0.0)).select(left, left.of(f64::NAN))
        }
    };
    sum / left
}

/// A whole power, by repeated squaring.
fn power<'m, 'b>(x: Var<'m, 'b>, exponent: u32) -> Var<'m, 'b> {
    match exponent {
        0 => x.of(1.0),
        1 => x,
        n if n % 2 == 0 => power(x, n / 2).squared(),
        n => power(x, n - 1) * x,
    }
}

impl Applier<'_> {
    /// The operand of a statistic, in a dtype that its sums fit, and the type of the result.
    pub(super) fn widened(&mut self, operands: &[Value], accepts: Class) -> Result<(Value, Ranked)> {
        let x = self.promote(operands, accepts)?[0];
        let own = self.ranked(x);
        let x = if self.aval(x).dtype.is_half() { self.cast(x, Ranked::known(DType::F32))? } else { x };
        Ok((x, own))
    }

    /// As [`widened`](Applier::widened), of an operand of real numbers.
    pub(super) fn real_numbers(
        &mut self,
        function: &str,
        operand: &str,
        x: Value,
    ) -> Result<(Value, Ranked)> {
        let got = self.ranked(x).dtype;
        if got.is_complex() {
            return Err(Error::UnsupportedDtype {
                op: function.into(),
                operand: operand.into(),
                accepts: ORDERED.name.into(),
                got,
                hint: "Take `nv_real()`, `nv_imag()` or `nv_abs()` first.".into(),
            });
        }
        self.widened(&[x], FLOAT)
    }

    /// The axes of a call on a value, all of them without any.
    fn along(&self, function: &str, attrs: &Attrs, x: Value) -> Result<Along> {
        let shape = &self.aval(x).shape;
        let all = || (0..shape.rank()).map(Axis).collect();
        let axes = attrs.axes("axes", function, shape)?.unwrap_or_else(all);
        let drop = *attrs.get("drop") == Attr::Null || attrs.flag("drop")?;
        Ok(Along { axes, drop, na_rm: self.na_rm(attrs)? })
    }

    fn na_rm(&self, attrs: &Attrs) -> Result<bool> {
        Ok(*attrs.get("na_rm") != Attr::Null && attrs.flag("na_rm")?)
    }

    /// A statistic of real numbers along axes.
    fn statistic(
        &mut self,
        function: &str,
        operands: &[Value],
        attrs: &Attrs,
        make: impl for<'m, 'b> FnOnce(Var<'m, 'b>, &Along) -> Var<'m, 'b>,
    ) -> Result<Vec<Value>> {
        arity(function, operands.len(), 1)?;
        let (x, own) = self.real_numbers(function, "operand", operands[0])?;
        let along = self.along(function, attrs, x)?;
        let made = self.formula([x], |[x]| make(x, &along))?;
        Ok(vec![self.cast(made, own)?])
    }

    /// A reduction, with its neutral element in place of NaN if that is left out.
    fn reduction(
        &mut self,
        name: &str,
        neutral: f64,
        operands: &[Value],
        attrs: &Attrs,
    ) -> Result<Vec<Value>> {
        let may_be_nan = |x: Value| self.aval(x).dtype.part().is_float();
        if !self.na_rm(attrs)? || !operands.iter().all(|&x| may_be_nan(x)) {
            return self.op(name, operands, attrs);
        }
        let kept = operands
            .iter()
            .map(|&x| self.formula([x], |[x]| x.predicate(Predicate::is_nan).select(x.of(neutral), x)));
        let kept: Vec<Value> = kept.collect::<Result<_>>()?;
        self.op(name, &kept, attrs)
    }

    /// The sum of the squared deviations from the mean, where that stands for NaN if it is left out.
    fn squares(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let is_float = |x: Value| self.aval(x).dtype.is_float();
        if !self.na_rm(attrs)? || !operands.iter().all(|&x| is_float(x)) {
            return self.op("reduce_squares", operands, attrs);
        }
        self.statistic("nv_reduce_squares", operands, attrs, |x, along| squares_and_count(x, along).0)
    }

    /// The sum divided by the number of elements, in floats or complex numbers.
    fn mean(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        arity("nv_mean", operands.len(), 1)?;
        let (x, own) = self.widened(operands, INEXACT)?;
        let along = self.along("nv_mean", attrs, x)?;
        let made = self.formula([x], |[x]| {
            let (kept, left_out) = along.numbers(x);
            let sum = along.sum(kept);
            // Of no elements, 0 / 0 is NaN as it should be.
            sum / along.count(x, left_out, sum)
        })?;
        Ok(vec![self.cast(made, own)?])
    }

    /// The sum of the products with weights, divided by the sum of the weights. As in R, what has weight 0 is
    /// left out, be it infinite or NaN.
    fn weighted_mean(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        arity("nv_weighted_mean", operands.len(), 2)?;
        let values = self.promote(operands, INEXACT)?;
        let own = self.join(&values)?;
        let (x, _) = self.widened(&values[..1], INEXACT)?;
        let (weights, _) = self.widened(&values[1..], INEXACT)?;
        let along = self.along("nv_weighted_mean", attrs, x)?;
        let [shape, given] = [x, weights].map(|v| self.shape(v));
        let laid_along = match along.axes[..] {
            [axis] if given.rank() == 1 && given[0] == shape[axis.0] => Some(axis),
            _ if given == shape => None,
            _ => {
                let what = "Weights must have the shape of the operand, or be as long as the one axis";
                let (op, lhs, rhs) = ("nv_weighted_mean".into(), shape.clone(), given.clone());
                let (l, r) = (shape.size(), given.size());
                return Err(Error::SizeMismatch { op, lhs, rhs, what: what.into(), l, r });
            }
        };
        let made = self.formula([x, weights], |[x, w]| {
            let w = laid_along.map_or(w, |axis| w.repeated(&shape, &[axis]));
            let no_weight = w.compare(Compare::eq, w.of(0.0));
            let (kept, left_out) = along.numbers(x);
            let w = left_out.map_or(w, |is_nan| is_nan.select(w.of(0.0), w));
            // Where it is finite, the product is 0, and has a derivative by the weight.
            let is_left_out =
                no_weight.binary(Binary::and, kept.predicate(Predicate::is_finite).unary(Unary::not));
            let terms = is_left_out.select(w.of(0.0), is_left_out.select(w.of(0.0), kept) * w);
            along.sum(terms) / along.sum(w)
        })?;
        Ok(vec![self.cast(made, own)?])
    }

    /// A function of the variance.
    fn variance(
        &mut self,
        function: &str,
        operands: &[Value],
        attrs: &Attrs,
        of: impl for<'m, 'b> FnOnce(Var<'m, 'b>) -> Var<'m, 'b>,
    ) -> Result<Vec<Value>> {
        let correction = attrs.size("correction")?;
        self.statistic(function, operands, attrs, |x, along| {
            let (squares, count) = squares_and_count(x, along);
            of(per_degree(squares, count, correction))
        })
    }

    /// The mean of a power of the elements, or of their deviations from the mean.
    fn moment(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let order = attrs.integer("order")?;
        let Some(order) = u32::try_from(order).ok().filter(|&n| n <= 1024) else {
            return Err(Error::arg("order", "a whole number from 0 to 1024", order.to_string()));
        };
        let central = attrs.flag("central")?;
        self.statistic("nv_moment", operands, attrs, |x, along| {
            let (terms, count, left_out) = if central {
                along.deviations(x)
            } else {
                let (kept, left_out) = along.numbers(x);
                (kept, along.count(x, left_out, along.sum(kept)), left_out)
            };
            let powers = power(terms, order);
            // The power of order 0 of what is left out is 1.
            let powers =
                left_out.filter(|_| order == 0).map_or(powers, |is_nan| is_nan.select(x.of(0.0), powers));
            along.sum(powers) / count
        })
    }

    /// The third moment in units of the standard deviation.
    fn skewness(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        self.statistic("nv_skewness", operands, attrs, |x, along| {
            let (apart, count, _) = along.deviations(x);
            let [second, third] = [2, 3].map(|order| along.sum(power(apart, order)) / count);
            third / (second * second.sqrt())
        })
    }

    /// The fourth moment in units of the variance.
    fn kurtosis(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let excess = attrs.flag("excess")?;
        self.statistic("nv_kurtosis", operands, attrs, |x, along| {
            let (apart, count, _) = along.deviations(x);
            let squares = apart.squared();
            let [second, fourth] = [squares, squares.squared()].map(|terms| along.sum(terms) / count);
            let ratio = fourth / second.squared();
            if excess {
                ratio - 3.0
            } else {
                ratio
            }
        })
    }

    /// The logarithm of the sum of exponentials: of those relative to the largest, so that none overflows.
    fn logsumexp(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        self.statistic("nv_logsumexp", operands, attrs, |x, along| {
            let x = if along.na_rm {
                x.predicate(Predicate::is_nan).select(x.of(f64::NEG_INFINITY), x)
            } else {
                x
            };
            let shape = x.aval().shape;
            let largest = along.largest(x);
            let largest = largest.predicate(Predicate::is_finite).select(largest, largest.of(0.0));
            let sum = along.sum((x - along.spread(largest, &shape)).unary(Unary::exp));
            // Where all are -Inf nothing depends on them.
            let is_zero = sum.compare(Compare::eq, sum.of(0.0));
            let logarithm = is_zero.select(sum.of(1.0), sum).unary(Unary::log);
            is_zero.select(sum.of(f64::NEG_INFINITY), logarithm + largest)
        })
    }

    /// Exponentials divided by their sum.
    fn softmax(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        self.statistic("nv_softmax", operands, attrs, |x, along| {
            let shape = x.aval().shape;
            let powers = (x - along.spread(along.largest(x), &shape)).unary(Unary::exp);
            powers / along.spread(along.sum(powers), &shape)
        })
    }

    /// The logarithm of the softmax.
    fn log_softmax(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        self.statistic("nv_log_softmax", operands, attrs, |x, along| {
            let shape = x.aval().shape;
            let below = x - along.spread(along.largest(x), &shape);
            below - along.spread(along.sum(below.unary(Unary::exp)).unary(Unary::log), &shape)
        })
    }

    /// The operand divided by its norm, or by `epsilon` if that is larger.
    fn normalize(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        arity("nv_normalize", operands.len(), 1)?;
        let (epsilon, p) = (attrs.size("epsilon")?, attrs.get("p"));
        let p = match p {
            Attr::Numbers(p) if p.len() == 1 && p[0] > 0.0 => p[0],
            _ => return Err(Error::arg("p", "one number above 0, or Inf", p.describe())),
        };
        let (x, own) = self.widened(operands, INEXACT)?;
        let along = self.along("nv_normalize", attrs, x)?;
        let made = self.formula([x], |[x]| {
            let aval = x.aval();
            let size = if aval.dtype.is_complex() { x.part(Part::magnitude) } else { x.unary(Unary::abs) };
            let norm = match p {
                1.0 => along.sum(size),
                // Not of the size, the second derivative of whose square is 0 at 0.
                2.0 => root(along.sum(if aval.dtype.is_complex() { size } else { x }.squared())),
                _ if p.is_infinite() => along.fold(Fold::Max, size),
                _ => {
                    let sum = along.sum(size.binary(Binary::pow, size.of(p)));
                    sum.binary(Binary::pow, sum.of(1.0 / p))
                }
            };
            let norm = norm.binary(Binary::max, norm.of(epsilon)).convert(aval.dtype);
            x / along.spread(norm, &aval.shape)
        })?;
        Ok(vec![self.cast(made, own)?])
    }
}

/// The sum of the squared deviations from the mean, and the number of elements.
fn squares_and_count<'m, 'b>(x: Var<'m, 'b>, along: &Along) -> (Var<'m, 'b>, Var<'m, 'b>) {
    let (kept, left_out) = along.numbers(x);
    let Some(is_nan) = left_out else {
        let squares = along.fold(Fold::Squares, x);
        return (squares, along.count(x, None, squares));
    };
    let sum = along.sum(kept);
    let count = along.count(x, left_out, sum);
    // What is left out is put at the mean, from which it does not deviate.
    let mean = sum / count.binary(Binary::max, count.of(1.0));
    let filled = is_nan.select(along.spread(mean, &x.aval().shape), x);
    (along.fold(Fold::Squares, filled), count)
}
