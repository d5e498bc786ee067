//! Sorted elements, their order, ranks, positions of extremes, searches in what is sorted.
//!
//! Without an axis, all elements are taken as one vector in R's order. Positions count from 0 in ops and from
//! 1 in what a user gets.

use super::applier::{Applier, Composition};
use crate::dtype::{DType, Ranked, ANY, BOOLEAN, ORDERED};
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::kernels::reductions::fold::Fold;
use crate::ops::attrs::{Attr, Attrs};
use crate::ops::*;
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, Literal};

/// All of them, by name.
pub(super) const ALL: &[(&str, Composition)] = &[
    ("sort", |a, operands, attrs| a.sort(operands, attrs)),
    ("order", |a, operands, attrs| a.order(operands, attrs)),
    ("top_k", |a, operands, attrs| a.top_k(operands, attrs)),
    ("rank_of", |a, operands, attrs| a.rank_of(operands, attrs)),
    ("argmax", |a, operands, attrs| a.extreme("nv_argmax", Fold::Max, operands, attrs)),
    ("argmin", |a, operands, attrs| a.extreme("nv_argmin", Fold::Min, operands, attrs)),
    ("which", |a, operands, attrs| a.which(operands, attrs)),
    ("unique", |a, operands, attrs| a.unique(operands, attrs)),
    ("count_unique", |a, operands, _| a.count_unique(operands)),
    ("search_sorted", |a, operands, attrs| a.search_sorted(operands, attrs)),
    ("isin", |a, operands, _| a.isin(operands)),
];

/// The parameters of an op along an axis: this one, and those of the call with these names.
fn with_axis(axis: Axis, attrs: &Attrs, names: &[&str]) -> Attrs {
    let axis = Attrs::new().with("axis", Attr::Numbers(vec![axis.one_based() as f64]));
    names.iter().fold(axis, |all, name| all.with(name, attrs.get(name).clone()))
}

/// The size of a result.
fn size_of(attrs: &Attrs) -> Result<usize> {
    let size = attrs.integer("size")?;
    match u32::try_from(size) {
        Ok(fits) if size <= i32::MAX.into() => Ok(fits as usize),
        _ => Err(Error::arg("size", format!("a whole number from 0 to {}", i32::MAX), size.to_string())),
    }
}

/// Numbers from 0 along an axis.
pub(super) fn numbers<'m, 'b>(math: &'m Math<'b>, shape: &Shape, axis: Axis) -> Var<'m, 'b> {
    let to = Ranked::known(DType::I32);
    math.apply(Iota { axis, to, shape: shape.clone(), start: 0 }, &[])
}

/// Whether elements are NaN; `None` if the dtype has none.
pub(super) fn is_nan<'m, 'b>(x: Var<'m, 'b>) -> Option<Var<'m, 'b>> {
    let dtype = x.aval().dtype;
    (dtype.is_float() || dtype.is_complex()).then(|| x.predicate(Predicate::is_nan))
}

/// The keys that elements are ordered by: complex numbers by their real parts, then by the imaginary ones,
/// those with NaN in either last.
fn keys<'m, 'b>(x: Var<'m, 'b>) -> Vec<Var<'m, 'b>> {
    if !x.aval().dtype.is_complex() {
        return vec![x];
    }
    let nan = x.predicate(Predicate::is_nan);
    [Part::real, Part::imag].map(|part| x.part(part)).map(|part| nan.select(part.of(f64::NAN), part)).into()
}

/// Positions for the user.
fn from_one<'m, 'b>(positions: Var<'m, 'b>) -> Var<'m, 'b> {
    positions + positions.integer(1)
}

/// Whether sorted elements differ from the one before them along an axis; the first always does. NaN equal
/// one another if `nan_equal`.
fn begins<'m, 'b>(sorted: Var<'m, 'b>, axis: Axis, nan_equal: bool) -> Var<'m, 'b> {
    let shape = sorted.aval().shape;
    let number = numbers(sorted.math(), &shape, axis);
    let first = number.compare(Compare::eq, number.integer(0));
    // The one before: the last takes the place before the first.
    let before = sorted.section(axis, shape[axis.0] - 1, shape[axis.0]);
    let before = before.beside(&[sorted.section(axis, 0, shape[axis.0] - 1)], axis);
    let mut differs = sorted.compare(Compare::ne, before);
    if let (true, Some(nan), Some(nan_before)) = (nan_equal, is_nan(sorted), is_nan(before)) {
        differs = differs.binary(Binary::and, nan.binary(Binary::and, nan_before).unary(Unary::not));
    }
    first.binary(Binary::or, differs)
}

/// The largest of each element and those before it along an axis, or the smallest of it and those after it:
/// of numbers from 0 on, in steps of doubled length.
fn running<'m, 'b>(x: Var<'m, 'b>, axis: Axis, op: Binary) -> Var<'m, 'b> {
    let shape = x.aval().shape;
    let size = shape[axis.0];
    let (mut out, mut step) = (x, 1);
    while step < size {
        // What is shifted in from outside changes nothing.
        let (kept, edge) = (size - step, |from: usize| out.section(axis, from, from + step));
        out = if op == Binary::max {
            let later = out.section(axis, step, size).binary(op, out.section(axis, 0, kept));
            edge(0).beside(&[later], axis)
        } else {
            let earlier = out.section(axis, 0, kept).binary(op, out.section(axis, step, size));
            earlier.beside(&[edge(kept)], axis)
        };
        step *= 2;
    }
    out
}

impl Applier<'_> {
    /// The operands and the axis of a call; without one, all elements are one vector.
    pub(super) fn values_along(
        &mut self,
        function: &str,
        operands: &[Value],
        attrs: &Attrs,
    ) -> Result<(Vec<Value>, Axis)> {
        let Some(&first) = operands.first() else {
            return Err(Error::arg("...", "at least one tensor", "nothing"));
        };
        let shape = self.shape(first);
        if let Some(&other) = operands.iter().find(|&&x| self.aval(x).shape != shape) {
            let (lhs, rhs) = (shape, self.shape(other));
            return Err(Error::ShapeMismatch { op: function.into(), lhs, rhs });
        }
        match attrs.axes("axis", function, &shape)?.as_deref() {
            Some(&[axis]) => Ok((operands.to_vec(), axis)),
            Some(axes) => {
                let got = format!("{} of them", axes.len());
                Err(Error::arg("axis", "one axis, or NULL for all elements", got))
            }
            None => {
                let all = operands.iter().map(|&x| self.vector(x)).collect::<Result<_>>()?;
                Ok((all, Axis(0)))
            }
        }
    }

    /// All elements as one vector, in column-major order.
    pub(super) fn vector(&mut self, x: Value) -> Result<Value> {
        let shape = self.shape(x);
        if shape.rank() == 1 {
            return Ok(x);
        }
        let op = Reshape { shape: Shape::try_new(vec![shape.size()])?, order: layout::Order::Column };
        self.builder.node1(Op::Reshape(op), &[x])
    }

    /// The one operand of a function, with its axis.
    fn one_along(&mut self, function: &str, operands: &[Value], attrs: &Attrs) -> Result<(Value, Axis)> {
        arity(function, operands.len(), 1)?;
        let (values, axis) = self.values_along(function, operands, attrs)?;
        Ok((values[0], axis))
    }

    /// The results of a formula.
    pub(super) fn formulas<const N: usize>(
        &mut self,
        f: impl for<'m, 'b> FnOnce(&'m Math<'b>) -> [Var<'m, 'b>; N],
    ) -> Result<Vec<Value>> {
        let math = Math::new(self.builder);
        let out = f(&math).map(Var::value);
        math.finish()?;
        Ok(out.to_vec())
    }

    fn sort(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let (x, axis) = self.one_along("nv_sort", operands, attrs)?;
        if !self.aval(x).dtype.is_complex() {
            return self.op("sort", &[x], &with_axis(axis, attrs, &["decreasing"]));
        }
        let descending = attrs.flag("decreasing")?;
        self.formulas(|math| {
            let x = math.var(x);
            let keys = keys(x);
            let order = math.apply(Ordering { axis, descending: vec![descending; keys.len()] }, &keys);
            [take_along(x, order, axis)]
        })
    }

    fn order(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let (values, axis) = self.values_along("nv_order", operands, attrs)?;
        let flags = attrs.flags("decreasing", operands.len())?;
        self.formulas(|math| {
            let (mut all, mut descending) = (Vec::new(), Vec::new());
            for (&x, &way) in values.iter().zip(&flags) {
                let keys = keys(math.var(x));
                descending.extend(keys.iter().map(|_| way));
                all.extend(keys);
            }
            [from_one(math.apply(Ordering { axis, descending }, &all))]
        })
    }

    fn top_k(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let (x, axis) = self.one_along("nv_top_k", operands, attrs)?;
        let found = self.op("top_k", &[x], &with_axis(axis, attrs, &["k", "decreasing"]))?[0];
        self.formulas(|math| {
            let (x, found) = (math.var(x), math.var(found));
            [take_along(x, found, axis), from_one(found)]
        })
    }

    /// The place of each element in the order.
    fn rank_of(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let ties = attrs.choice("ties", &["average", "first", "last", "min", "max"])?;
        let (shape, (x, axis)) =
            (operands.first().map(|&x| self.shape(x)), self.one_along("nv_rank_of", operands, attrs)?);
        let empty = self.aval(x).shape.size() == 0;
        let made = self.formulas(|math| {
            let x = math.var(x);
            let keys = keys(x);
            let order = math.apply(Ordering { axis, descending: vec![false; keys.len()] }, &keys);
            let number = numbers(math, &order.aval().shape, axis);
            let ranks = if empty || ties == "first" {
                number.convert(if ties == "average" { DType::F64 } else { DType::I32 })
            } else {
                let begins = keys.iter().map(|&key| begins(take_along(key, order, axis), axis, false));
                let begins = begins.reduce(|a, b| a.binary(Binary::or, b)).expect("one key at least");
                ranks(begins, number, axis, ties)
            };
            let ranks = ranks + ranks.of(1.0);
            [put_along(ranks.of(0.0), order, ranks, axis)]
        })?;
        let mut out = made[0];
        if ties == "average" {
            out = self.cast(out, self.defaults.number_type(DType::F64))?;
        }
        let Some(shape) = shape.filter(|shape| *shape != self.aval(out).shape) else { return Ok(vec![out]) };
        self.builder.node(Reshape { shape, order: layout::Order::Column }, &[out])
    }

    /// The position of the first element that is the largest, or the smallest; NaN is either.
    fn extreme(
        &mut self,
        function: &'static str,
        fold: Fold,
        operands: &[Value],
        attrs: &Attrs,
    ) -> Result<Vec<Value>> {
        let all = *attrs.get("axis") == Attr::Null;
        let rank = operands.first().map_or(0, |&x| self.aval(x).shape.rank());
        let (x, axis) = self.one_along(function, operands, attrs)?;
        let (drop, aval) = (attrs.flag("drop")?, self.aval(x).clone());
        if !ORDERED.contains(aval.dtype) {
            return Err(Error::UnsupportedDtype {
                op: function.into(),
                operand: "operand".into(),
                accepts: ORDERED.name.into(),
                got: aval.ranked().dtype,
                hint: "Take `nv_real()`, `nv_imag()` or `nv_abs()` first.".into(),
            });
        }
        if aval.shape[axis.0] == 0 {
            let got = format!("one of shape {}", aval.shape);
            return Err(Error::arg("operand", "a tensor with an element along the axis", got));
        }
        // Loops have native code for folds of integers.
        let x = if aval.dtype == DType::I1 { self.cast(x, Ranked::known(DType::I32))? } else { x };
        let out = self.formulas(|math| {
            let x = math.var(x);
            let op = Reduction { fold, axes: vec![axis], drop: true };
            let others: Vec<Axis> = (0..aval.shape.rank()).map(Axis).filter(|&other| other != axis).collect();
            let extreme = x.apply(op, &[]).repeated(&aval.shape, &others);
            let mut is_it = x.compare(Compare::eq, extreme);
            if let Some(nan) = is_nan(x) {
                is_it = is_it.binary(Binary::or, nan);
            }
            let number = numbers(math, &aval.shape, axis);
            let first = is_it.select(number, number.integer(i32::MAX.into()));
            [from_one(first.apply(Reduction { fold: Fold::Min, axes: vec![axis], drop }, &[]))]
        })?;
        // Of all elements, each axis is kept.
        if !drop && all {
            let shape = Shape::try_new(vec![1; rank])?;
            return self.builder.node(Reshape { shape, order: layout::Order::Column }, &out);
        }
        Ok(out)
    }

    /// The positions of elements that are true, so many, then `fill`.
    fn which(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        arity("nv_which", operands.len(), 1)?;
        let mask = self.vector(operands[0])?;
        let dtype = self.ranked(mask).dtype;
        if !BOOLEAN.contains(dtype) {
            return Err(Error::UnsupportedDtype {
                op: "nv_which".into(),
                operand: "operand".into(),
                accepts: BOOLEAN.name.into(),
                got: dtype,
                hint: "Compare first, such as with `x != 0`.".into(),
            });
        }
        let (size, fill) = (size_of(attrs)?, attrs.integer("fill")?);
        if i32::try_from(fill).is_err() {
            return Err(Error::arg("fill", "a whole number of 32 bits", fill.to_string()));
        }
        let count = self.aval(mask).shape.size();
        self.formulas(|math| {
            let mask = math.var(mask);
            let op = TopK { axis: Axis(0), count: size.min(count), descending: true };
            let places = mask.apply(op, &[]);
            let taken = take_along(mask, places, Axis(0));
            let found = taken.select(from_one(places), places.integer(fill));
            [filled_up(found, size, |more| math.literal(Literal::new(fill as i32), more))]
        })
    }

    /// The distinct elements in the order in which they first appear, or sorted; the first, or `fill`, takes
    /// the places that are left.
    fn unique(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let (&x, fill) = match operands {
            [x] => (x, None),
            [x, fill] => (x, Some(*fill)),
            _ => return Err(Error::Internal { detail: "unique of one tensor, and a fill".into() }),
        };
        let fill = fill.map(|fill| self.assigned(fill, x)).transpose()?;
        if let Some(fill) = fill.filter(|&fill| self.aval(fill).shape.rank() > 0) {
            return Err(Error::arg("fill", "one number", format!("a tensor of shape {}", self.shape(fill))));
        }
        let (size, sorted) = (size_of(attrs)?, attrs.flag("sort")?);
        let x = self.vector(x)?;
        let count = self.aval(x).shape.size();
        if count == 0 && size > 0 && fill.is_none() {
            let hint = "No element is there to be repeated: give `fill`.".into();
            let (arg, expected) = ("size".into(), "0 for a tensor without elements".into());
            return Err(Error::Arg { arg, expected, got: size.to_string(), hint });
        }
        self.formulas(|math| {
            let x = math.var(x);
            let shape = Shape::from([size]);
            if count == 0 {
                return [fill.map_or(x, |fill| math.var(fill).repeated(&shape, &[]))];
            }
            let (order, begins) = distinct(x);
            // Positions of the first of each kind, those of others at the end.
            let none = order.integer(count as i64);
            let positions = if sorted {
                let op = TopK { axis: Axis(0), count, descending: true };
                take_along(begins.select(order, none), begins.apply(op, &[]), Axis(0))
            } else {
                begins.select(order, none).apply(Sort { axis: Axis(0), descending: false }, &[])
            };
            let last = |more: &Shape| math.literal(Literal::new(count as i32), more);
            let positions = filled_up(positions.section(Axis(0), 0, size.min(count)), size, last);
            if size == 0 {
                return [x.section(Axis(0), 0, 0)];
            }
            let is_there = positions.compare(Compare::lt, positions.integer(count as i64));
            let found = take_along(x, positions, Axis(0));
            let fill = fill.map_or_else(
                || found.section(Axis(0), 0, 1).reshaped(&Shape::scalar()),
                |fill| math.var(fill),
            );
            [is_there.select(found, fill.repeated(&shape, &[]))]
        })
    }

    /// How many distinct elements there are.
    fn count_unique(&mut self, operands: &[Value]) -> Result<Vec<Value>> {
        arity("nv_unique", operands.len(), 1)?;
        let x = self.vector(operands[0])?;
        self.formulas(|math| {
            let x = math.var(x);
            if x.aval().shape.size() == 0 {
                return [math.literal(Literal::new(0i32), &Shape::scalar())];
            }
            [distinct(x).1.convert(DType::I32).summed(vec![Axis(0)])]
        })
    }

    /// How many elements of a sorted vector come before each of some values: are less, or at most equal.
    fn search_sorted(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let side = attrs.choice("side", &["left", "right"])?;
        arity("nv_search_sorted", operands.len(), 2)?;
        let shape = self.shape(operands[0]);
        if shape.rank() > 1 {
            return Err(Error::Rank {
                op: "nv_search_sorted".into(),
                operand: "sorted".into(),
                expected: "at most 1 axis".into(),
                shape,
                hint: "Take `nv_flatten()`, or `vmap()` for several.".into(),
            });
        }
        let mut values = self.ordered("nv_search_sorted", operands)?;
        values[0] = self.vector(values[0])?;
        self.formulas(|math| [search(math.var(values[0]), math.var(values[1]), side == "right")])
    }

    /// Whether elements are among those of a table; NaN equals NaN.
    fn isin(&mut self, operands: &[Value]) -> Result<Vec<Value>> {
        arity("nv_isin", operands.len(), 2)?;
        let mut values = self.ordered("nv_isin", operands)?;
        values[1] = self.vector(values[1])?;
        let count = self.aval(values[1]).shape.size();
        self.formulas(|math| {
            let (x, table) = (math.var(values[0]), math.var(values[1]));
            if count == 0 {
                return [math.fill(0.0, &Aval::known(DType::I1, x.aval().shape))];
            }
            let table = table.apply(Sort { axis: Axis(0), descending: false }, &[]);
            let shape = Shape::from([x.aval().shape.size()]);
            let flat = x.reshaped(&shape);
            let found = take_along(table, search(table, flat, false), Axis(0));
            let mut is_it = found.compare(Compare::eq, flat);
            if let (Some(a), Some(b)) = (is_nan(found), is_nan(flat)) {
                is_it = is_it.binary(Binary::or, a.binary(Binary::and, b));
            }
            [is_it.reshaped(&x.aval().shape)]
        })
    }

    /// Two operands in one dtype that has an order.
    fn ordered(&mut self, function: &str, operands: &[Value]) -> Result<Vec<Value>> {
        let values = self.promote(operands, ANY)?;
        let got = self.ranked(values[0]).dtype;
        if !got.is_complex() {
            // Ambiguous values of one dtype are compared as they are.
            return Ok(values);
        }
        Err(Error::UnsupportedDtype {
            op: function.into(),
            operand: if function == "nv_isin" { "operand" } else { "sorted" }.into(),
            accepts: ORDERED.name.into(),
            got,
            hint: "Take `nv_real()`, `nv_imag()` or `nv_abs()` first.".into(),
        })
    }
}

/// Ranks from 0 of elements in order, where each run of equal ones begins at `begins`; means are doubles.
fn ranks<'m, 'b>(begins: Var<'m, 'b>, number: Var<'m, 'b>, axis: Axis, ties: &str) -> Var<'m, 'b> {
    let size = number.aval().shape[axis.0];
    let first = || running(begins.select(number, number.integer(0)), axis, Binary::max);
    let last = || {
        // The last of a run is before the begin of the next.
        let end = number.integer(size as i64 - 1).section(axis, 0, 1);
        let next = begins.section(axis, 1, size);
        let ends = next.select(
            number.section(axis, 0, size - 1),
            number.integer(size as i64 - 1).section(axis, 1, size),
        );
        running(ends.beside(&[end], axis), axis, Binary::min)
    };
    match ties {
        "min" => first(),
        "max" => last(),
        // In order of appearance from the last on.
        "last" => first() + (last() - number),
        _ => (first().convert(DType::F64) + last().convert(DType::F64)) * 0.5,
    }
}

/// The order of the elements of a vector that is not empty, and in this order, which of them differ from those
/// before.
fn distinct<'m, 'b>(x: Var<'m, 'b>) -> (Var<'m, 'b>, Var<'m, 'b>) {
    let keys = keys(x);
    let op = Ordering { axis: Axis(0), descending: vec![false; keys.len()] };
    let order = keys[0].apply(op, &keys[1..]);
    let begins = keys.iter().map(|&key| begins(take_along(key, order, Axis(0)), Axis(0), true));
    (order, begins.reduce(|a, b| a.binary(Binary::or, b)).expect("one key at least"))
}

/// A vector with more elements at its end, if it is shorter than this.
fn filled_up<'m, 'b>(x: Var<'m, 'b>, size: usize, more: impl Fn(&Shape) -> Var<'m, 'b>) -> Var<'m, 'b> {
    let own = x.aval().shape.size();
    if own >= size {
        return x;
    }
    x.beside(&[more(&Shape::from([size - own]))], Axis(0))
}

/// How many elements of a sorted vector are less than each of some values, or at most equal to it if `equal`:
/// by a search in halves, all values at once.
pub(super) fn search<'m, 'b>(sorted: Var<'m, 'b>, x: Var<'m, 'b>, equal: bool) -> Var<'m, 'b> {
    let (count, shape) = (sorted.aval().shape.size(), x.aval().shape);
    let mut before = sorted.math().literal(Literal::new(0i32), &shape);
    if count == 0 || shape.size() == 0 {
        return before;
    }
    let flat = Shape::from([shape.size()]);
    let (x, nan) = (x.reshaped(&flat), is_nan(x.reshaped(&flat)));
    before = before.reshaped(&flat);
    // The number grows by a power of two if so many more elements come before.
    let mut step = 1 << count.ilog2();
    while step > 0 {
        let next = before + before.integer(step as i64);
        let probe = take_along(sorted, next - next.integer(1), Axis(0));
        let mut comes = probe.compare(if equal { Compare::le } else { Compare::lt }, x);
        // All but NaN comes before NaN, and NaN too if it equals it.
        if let Some(nan) = nan {
            let number = if equal { nan } else { nan.binary(Binary::and, probe.compare(Compare::eq, probe)) };
            comes = comes.binary(Binary::or, number);
        }
        let fits = next.compare(Compare::le, next.integer(count as i64));
        before = comes.binary(Binary::and, fits).select(next, before);
        step /= 2;
    }
    before.reshaped(&shape)
}
