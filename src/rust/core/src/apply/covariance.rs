//! Statistics of the columns of matrices, whose rows are observations.

use super::applier::{Applier, Composition};
use super::statistics::{per_degree, root, Along};
use crate::dtype::{DType, Ranked};
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::kernels::reductions::fold::Fold;
use crate::ops::attrs::{Attr, Attrs};
use crate::ops::*;
use crate::shape::{Axis, Shape};

/// All of them, by name.
pub(super) const ALL: &[(&str, Composition)] = &[
    ("cov", |a, operands, attrs| a.covariance("nv_cov", operands, attrs)),
    ("cor", |a, operands, attrs| a.covariance("nv_cor", operands, attrs)),
    ("scale", |a, operands, attrs| a.scale(operands, attrs)),
];

/// The matrix, with rows of NaN where it has one.
fn without_rows<'m, 'b>(x: Var<'m, 'b>, rows: Var<'m, 'b>) -> Var<'m, 'b> {
    repeated(rows, &x.aval().shape).select(x.of(f64::NAN), x)
}

/// Which rows of matrices have a NaN, as a column of booleans.
fn rows_with_nan<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let last = Axis(x.aval().shape.rank() - 1);
    x.predicate(Predicate::is_nan).apply(Reduction { fold: Fold::Any, axes: vec![last], drop: false }, &[])
}

/// A column or a row repeated to matrices of this shape.
fn repeated<'m, 'b>(x: Var<'m, 'b>, shape: &Shape) -> Var<'m, 'b> {
    let axes: Vec<Axis> = (0..shape.rank()).map(Axis).collect();
    x.repeated(shape, &axes)
}

/// Products of columns that are made as long as 1.
fn correlations<'m, 'b>(
    [x, y]: [Var<'m, 'b>; 2],
    product: DotGeneral,
    along: &Along,
    alone: bool,
) -> Var<'m, 'b> {
    let unit = |x: Var<'m, 'b>| {
        // Squares of what is at most 1 stay in range.
        let shape = x.aval().shape;
        let x = x / repeated(along.largest(x.unary(Unary::abs)), &shape);
        x / repeated(along.sum(x.squared()).sqrt(), &shape)
    };
    let made = unit(x).apply(product, &[unit(y)]);
    let sizes = x.aval().shape;
    // Nothing is known then, though sums are 0.
    if sizes[sizes.rank() - 2] == 0 {
        return made.of(f64::NAN);
    }
    let made = made.binary(Binary::min, made.of(1.0)).binary(Binary::max, made.of(-1.0));
    if !alone {
        return made;
    }
    // As in R, a column is like itself whatever it holds.
    let shape = made.aval().shape;
    let iota = |from_last| {
        let to = Ranked::known(DType::I32);
        made.made(Iota { axis: Axis(shape.rank() - from_last), to, shape: shape.clone(), start: 0 })
    };
    iota(1).compare(Compare::eq, iota(2)).select(made.of(1.0), made)
}

impl Applier<'_> {
    /// The covariances of the columns of one matrix or of two, or their correlations.
    fn covariance(&mut self, function: &str, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let is_cor = function == "nv_cor";
        let correction = if is_cor { 0.0 } else { attrs.size("correction")? };
        let na_rm = attrs.flag("na_rm")?;
        if operands.is_empty() || operands.len() > 2 {
            arity(function, operands.len(), 2)?;
        }
        let joined = self.join(operands)?;
        let mut values = Vec::with_capacity(2);
        let mut own = joined;
        for (&x, name) in operands.iter().zip(["x", "y"]) {
            let x = self.cast(x, joined)?;
            let (x, ranked) = self.real_numbers(function, name, x)?;
            own = ranked;
            values.push(x);
        }
        let shapes: Vec<Shape> = values.iter().map(|&v| self.shape(v)).collect();
        let (all_vectors, alone) = (shapes.iter().all(|s| s.rank() == 1), shapes.len() == 1);
        for (shape, name) in shapes.iter().zip(["x", "y"]) {
            let needed = if alone { 2 } else { 1 };
            if shape.rank() < needed {
                let (op, operand, shape) = (function.into(), name.into(), shape.clone());
                let expected = format!("at least {needed} {}", if alone { "axes" } else { "axis" });
                let hint = "Its columns are variables; `nv_var()` is the variance of a vector.".into();
                return Err(Error::Rank { op, operand, expected, shape, hint });
            }
        }
        // A vector is a matrix of one column.
        for (value, shape) in values.iter_mut().zip(&shapes).filter(|(_, shape)| shape.rank() == 1) {
            *value = self.reshape_to(*value, shape.with_last(1)?)?;
        }
        let [lhs, rhs] = [values[0], values[values.len() - 1]].map(|v| self.shape(v));
        if lhs.rank() != rhs.rank() || lhs[..lhs.rank() - 1] != rhs[..rhs.rank() - 1] {
            let what = "`x` and `y` must have equally many rows, and the same leading axes".into();
            let at = |s: &Shape| s[s.rank() - 2];
            let (l, r) = (at(&lhs), at(&rhs));
            return Err(Error::SizeMismatch { op: function.into(), lhs, rhs, what, l, r });
        }
        let rank = lhs.rank();
        let rows = Axis(rank - 2);
        let product = DotGeneral {
            contracting: [vec![rows], vec![rows]],
            batching: [0, 1].map(|_| (0..rank - 2).map(Axis).collect()),
            batch_last: false,
        };
        let along = Along::axis(rows, na_rm);
        let made = self.formula([values[0], values[values.len() - 1]], |[x, y]| {
            let rows = na_rm.then(|| {
                let own = rows_with_nan(x);
                if alone {
                    own
                } else {
                    own.binary(Binary::or, rows_with_nan(y))
                }
            });
            let [x, y] = [x, y].map(|x| rows.map_or(x, |rows| without_rows(x, rows)));
            let ((x, ..), (y, count, _)) = (along.deviations(x), along.deviations(y));
            if is_cor {
                return correlations([x, y], product, &along, alone);
            }
            let made = x.apply(product, &[y]);
            let count = match count.known() {
                Some(count) => made.of(count.re),
                None => repeated(count, &made.aval().shape),
            };
            per_degree(made, count, correction)
        })?;
        let made = if all_vectors { self.reshape_to(made, Shape::scalar())? } else { made };
        Ok(vec![self.cast(made, own)?])
    }

    /// The operand less a centre, divided by a scale, which are statistics along an axis or given.
    fn scale(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let Some((&x, mut given)) = operands.split_first() else {
            return Err(Error::arg("operand", "given", "left out"));
        };
        let na_rm = attrs.flag("na_rm")?;
        let shape = self.shape(x);
        let axis = match attrs.get("axis") {
            Attr::Null if shape.rank() < 2 => -1,
            Attr::Null => -2,
            _ => attrs.integer("axis")?,
        };
        let axis = Axis::from_one_based("nv_scale", axis, &shape)?;
        let mut chosen = [Chosen::None; 2];
        for (name, chosen) in ["center", "scale"].into_iter().zip(&mut chosen) {
            *chosen = match (attrs.get(name), given) {
                (Attr::Logical(true), _) => Chosen::Computed,
                (Attr::Logical(false), _) => Chosen::None,
                (_, [value, rest @ ..]) => {
                    given = rest;
                    Chosen::Given(*value)
                }
                (other, []) => return Err(Error::arg(name, "TRUE, FALSE or a tensor", other.describe())),
            };
        }
        let (x, own) = self.real_numbers("nv_scale", "operand", x)?;
        let along = Along::axis(axis, na_rm);
        let [center, scale] = chosen;
        let centered = match center {
            Chosen::None => x,
            Chosen::Given(value) => {
                let value = self.one_for_each(value, "center", x, axis)?;
                self.formula([x, value], |[x, center]| x - repeated(center, &x.aval().shape))?
            }
            Chosen::Computed => self.formula([x], |[x]| along.centered(x).0)?,
        };
        let made = match scale {
            Chosen::None => centered,
            Chosen::Given(value) => {
                let value = self.one_for_each(value, "scale", x, axis)?;
                self.formula([centered, value], |[x, scale]| x / repeated(scale, &x.aval().shape))?
            }
            Chosen::Computed => self.formula([centered], |[x]| {
                let (kept, left_out) = along.numbers(x);
                let sum = along.sum(kept.squared());
                let count = along.count(x, left_out, sum);
                let degrees = match count.known() {
                    Some(count) => sum.of((count.re - 1.0).max(1.0)),
                    None => (count - 1.0).binary(Binary::max, sum.of(1.0)),
                };
                let scale = root(sum / degrees);
                x / repeated(scale, &x.aval().shape)
            })?,
        };
        Ok(vec![self.cast(made, own)?])
    }

    /// A number for each of the other axes of `x`, in its dtype, with an axis of size 1 in place of `axis`.
    fn one_for_each(&mut self, value: Value, name: &str, x: Value, axis: Axis) -> Result<Value> {
        let shape = self.shape(x);
        let each = shape.without(&[axis]);
        let mut value = self.cast(value, self.aval(x).ranked())?;
        if self.aval(value).shape.rank() == 0 {
            value = self.broadcast(value, &each)?;
        }
        let got = self.shape(value);
        if got != each {
            let what = format!("`{name}` must be 0-d, or have one number for each of shape {each}");
            let (op, l, r) = ("nv_scale".into(), each.size(), got.size());
            return Err(Error::SizeMismatch { op, lhs: shape, rhs: got, what, l, r });
        }
        let mut sizes = shape.to_vec();
        sizes[axis.0] = 1;
        self.reshape_to(value, Shape::try_new(sizes)?)
    }
}

/// A centre or a scale.
#[derive(Clone, Copy, Debug)]
enum Chosen {
    None,
    Computed,
    Given(Value),
}
