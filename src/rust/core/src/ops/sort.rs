//! Sorting along an axis: the elements, their order, and the first few of the order.
//!
//! NaN comes last, whether the order is ascending or descending; `-0` equals `0`; equal elements stay in
//! their order. Positions count from 0 here, and from 1 in R.

use super::attrs::{logical, vector, Attrs};
use super::compare::Compare;
use super::contract::{simplified, Cost, Form, OpDef, Promotion, Role, Simplified};
use super::lower::{Formula, HloOp, Lowering, Syntax};
use super::rules::{Batch, Jvp, Vjp};
use super::{
    written, Binary, Builder, Check, Gather, Graph, Math, Op, Row, Scatter, Unary, Update, Var, Windows,
};
use crate::dtype::{DType, ORDERED};
use crate::error::{Error, Result};
use crate::graph::syntax::Parsed;
use crate::graph::Value;
use crate::kernels::sorting::{lines, top};
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, View, ViewMut};

/// The elements along an axis in order. Ambiguous if the operand is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sort {
    /// The axis.
    pub axis: Axis,
    /// Whether the largest comes first.
    pub descending: bool,
}

/// The order of the elements along an axis: the positions of the first, the second and so on. Elements that
/// are equal in the first operand are ordered by the second, and so on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ordering {
    /// The axis.
    pub axis: Axis,
    /// For each operand, whether the largest comes first.
    pub descending: Vec<bool>,
}

/// The positions of the first few elements in order along an axis.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TopK {
    /// The axis.
    pub axis: Axis,
    /// How many; at most the size of the axis.
    pub count: usize,
    /// Whether the largest comes first.
    pub descending: bool,
}

static SORT: Row = written("sort", "nv_sort", &["operand"], ORDERED);
static ORDER: Row = written("order", "nv_order", &["..."], ORDERED);
static TOP_K: Row = written("top_k", "nv_top_k", &["operand"], ORDERED);

/// The estimated time of an element that is sorted, in picoseconds.
const ELEMENT: usize = 5_000;

/// The type of positions: no axis has more elements than `i32` has positions.
fn positions(shape: Shape, axis: Axis) -> Result<Vec<Aval>> {
    match i32::try_from(shape[axis.0]) {
        Ok(_) => Ok(vec![Aval::known(DType::I32, shape)]),
        Err(_) => Err(Error::TooLarge { shape: shape.to_string() }),
    }
}

/// The axis of a call; the caller has chosen one where the user did not.
fn axis_of(attrs: &Attrs, row: &Row, x: &Aval) -> Result<Axis> {
    match attrs.axes("axis", row.function, &x.shape)?.as_deref() {
        Some(&[one]) => Ok(one),
        _ => Err(Error::arg("axis", "one axis, or NULL for all elements", "several")),
    }
}

impl OpDef for Sort {
    fn row(&self) -> &'static Row {
        &SORT
    }

    fn rows() -> Vec<&'static Row> {
        vec![&SORT]
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::Each(&[Role::Own])
    }

    fn decode(row: &'static Row, attrs: &Attrs, operands: &[&Aval]) -> Result<Op> {
        Ok(Sort { axis: axis_of(attrs, row, operands[0])?, descending: attrs.flag("decreasing")? }.into())
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        SORT.check(0, operands[0])?;
        Ok(vec![operands[0].clone()])
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![("axis", self.axis.to_string()), ("decreasing", logical(self.descending))]
    }

    fn parse(form: &Form) -> Parsed<Sort> {
        form.takes(1)?;
        let axis = form.axis("axis", form.operands[0].shape.rank())?;
        Ok(Sort { axis, descending: form.logical("decreasing")? })
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        lines::sort(&operands[0], self.axis, self.descending, &mut results[0]);
    }

    fn scratch(&self, operands: &[&Aval]) -> usize {
        // The lines that are sorted, and as many elements that they are moved to.
        2 * operands[0].bytes()
    }

    fn cost(&self) -> Cost {
        Cost::Picoseconds(ELEMENT)
    }

    /// Each element's gradient is that of the place which it came to.
    fn vjp(&self) -> Vjp<'_> {
        Vjp::of_one(|at| put_along(at.x(0).of(0.0), self.order(at.x(0)), at.g(), self.axis))
    }

    fn jvp(&self) -> Jvp<'_> {
        Jvp::of_one(|at| take_along(at.t(0), self.order(at.x(0)), self.axis))
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Same
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        lowering(self.axis, vec![self.descending], false)
    }

    fn simplify(&self, b: &mut Builder, operands: &[Value], _read: &[bool]) -> Result<Simplified> {
        if b.graph().aval(operands[0]).shape[self.axis.0] <= 1 {
            return simplified(operands[0]);
        }
        Ok(None)
    }
}

impl Sort {
    /// The order of the elements of an operand.
    fn order<'m, 'b>(&self, x: Var<'m, 'b>) -> Var<'m, 'b> {
        x.apply(Ordering { axis: self.axis, descending: vec![self.descending] }, &[])
    }
}

impl OpDef for Ordering {
    fn row(&self) -> &'static Row {
        &ORDER
    }

    fn rows() -> Vec<&'static Row> {
        vec![&ORDER]
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::Each(&[Role::Own])
    }

    fn decode(row: &'static Row, attrs: &Attrs, operands: &[&Aval]) -> Result<Op> {
        let axis = axis_of(attrs, row, operands[0])?;
        Ok(Ordering { axis, descending: attrs.flags("decreasing", operands.len())? }.into())
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let first = &operands[0].shape;
        for x in operands {
            ORDER.check(0, x)?;
            if x.shape != *first {
                let (lhs, rhs) = (first.clone(), x.shape.clone());
                return Err(Error::ShapeMismatch { op: ORDER.function.into(), lhs, rhs });
            }
        }
        positions(first.clone(), self.axis)
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        let each: Vec<String> = self.descending.iter().map(|&way| logical(way)).collect();
        vec![("axis", self.axis.to_string()), ("decreasing", vector(&each))]
    }

    fn parse(form: &Form) -> Parsed<Ordering> {
        form.takes_at_least(1)?;
        let axis = form.axis("axis", form.operands[0].shape.rank())?;
        Ok(Ordering { axis, descending: form.logicals("decreasing", form.operands.len())? })
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        lines::order(operands, &self.descending, self.axis, &mut results[0]);
    }

    fn scratch(&self, operands: &[&Aval]) -> usize {
        // Keys and positions as words of 8 bytes, twice, and the lines of each operand.
        let lines: usize = operands.iter().map(|x| x.bytes()).sum();
        16 * operands[0].shape[self.axis.0] + lines
    }

    fn cost(&self) -> Cost {
        Cost::Picoseconds(ELEMENT)
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::Zero
    }

    fn batch(&self) -> Batch<'_> {
        Batch::by(|at| {
            let all: Vec<Var> = (0..at.operands.len()).map(|i| at.whole(i)).collect();
            vec![all[0].apply(self.clone(), &all[1..])]
        })
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        lowering(self.axis, self.descending.clone(), true)
    }
}

impl OpDef for TopK {
    fn row(&self) -> &'static Row {
        &TOP_K
    }

    fn rows() -> Vec<&'static Row> {
        vec![&TOP_K]
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::Each(&[Role::Own])
    }

    fn decode(row: &'static Row, attrs: &Attrs, operands: &[&Aval]) -> Result<Op> {
        let axis = axis_of(attrs, row, operands[0])?;
        let size = operands[0].shape[axis.0];
        let count = usize::try_from(attrs.integer("k")?).ok().filter(|&count| count <= size);
        let Some(count) = count else {
            let expected = format!("from 0 to {size}, the number of elements");
            return Err(Error::arg("k", expected, attrs.integer("k")?.to_string()));
        };
        Ok(TopK { axis, count, descending: attrs.flag("decreasing")? }.into())
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        TOP_K.check(0, operands[0])?;
        let x = &operands[0].shape;
        if self.count > x[self.axis.0] {
            let (window, axis, size) = (self.count, self.axis, x[self.axis.0]);
            return Err(Error::Window { window, axis, size });
        }
        positions(x.clone(), self.axis)?;
        let mut sizes = x.to_vec();
        sizes[self.axis.0] = self.count;
        positions(Shape::try_new(sizes)?, self.axis)
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![
            ("k", self.count.to_string()),
            ("axis", self.axis.to_string()),
            ("decreasing", logical(self.descending)),
        ]
    }

    fn parse(form: &Form) -> Parsed<TopK> {
        form.takes(1)?;
        let axis = form.axis("axis", form.operands[0].shape.rank())?;
        Ok(TopK { axis, count: form.number("k")?, descending: form.logical("decreasing")? })
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        top::top(&operands[0], self.axis, self.descending, &mut results[0]);
    }

    fn scratch(&self, operands: &[&Aval]) -> usize {
        // The lines.
        operands[0].bytes()
    }

    fn cost(&self) -> Cost {
        Cost::Picoseconds(ELEMENT / 4)
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::Zero
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Same
    }

    /// The begin of the order.
    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        Lowering::Formula(Formula::TopK(self), None)
    }
}

// ---- lowering ------------------------------------------------------------------------------------------------------

fn lowering<'a>(axis: Axis, descending: Vec<bool>, positions: bool) -> Lowering<'a> {
    Lowering::Op(HloOp { name: "stablehlo.sort", syntax: Syntax::Sort { axis, descending, positions } })
}

/// Whether elements come before others, as a graph of pairs of 0-d values, one of each operand of a sort,
/// which have these dtypes and directions.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug.
pub fn comes_before(dtypes: &[DType], descending: &[bool]) -> Result<Graph> {
    let mut b = Builder::default();
    let pairs: Vec<[Value; 2]> =
        dtypes.iter().map(|&dtype| [(); 2].map(|()| b.input(Aval::known(dtype, Shape::scalar())))).collect();
    let math = Math::new(&mut b);
    let mut before: Option<Var> = None;
    for (&[x, y], &descending) in pairs.iter().zip(descending).rev() {
        let (x, y) = (math.var(x), math.var(y));
        let first = is_before(x, y, descending);
        before = Some(match before {
            None => first,
            Some(next) => {
                // Where neither comes first, the next operand decides.
                let equal_or_first = is_before(y, x, descending).unary(Unary::not);
                first.binary(Binary::or, equal_or_first.binary(Binary::and, next))
            }
        });
    }
    let out: Vec<Value> = before.into_iter().map(Var::value).collect();
    math.finish()?;
    Ok(b.finish(out))
}

/// Whether one element comes before another.
fn is_before<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>, descending: bool) -> Var<'m, 'b> {
    let before = x.compare(if descending { Compare::gt } else { Compare::lt }, y);
    if !x.aval().dtype.is_float() {
        return before;
    }
    // A number comes before NaN.
    let (number, nan) = (x.compare(Compare::eq, x), y.compare(Compare::ne, y));
    before.binary(Binary::or, number.binary(Binary::and, nan))
}

// ---- elements along an axis ----------------------------------------------------------------------------------------

/// The axes of single elements at positions along an axis, where value and positions agree in all others.
fn single(axis: Axis, rank: usize) -> Windows {
    let others: Vec<Axis> = (0..rank).map(Axis).filter(|&other| other != axis).collect();
    Windows {
        window_axes: vec![],
        dropped: vec![axis],
        batching: others.clone(),
        index_batching: others,
        index_map: vec![axis],
        index_vector_axis: Axis(rank),
    }
}

/// The elements of a value at positions along an axis: `x[positions[i, j], j]` at `[i, j]` for the first of
/// two axes. Positions that do not exist are those next to them.
pub(crate) fn take_along<'m, 'b>(x: Var<'m, 'b>, positions: Var<'m, 'b>, axis: Axis) -> Var<'m, 'b> {
    let (shape, out) = (x.aval().shape, positions.aval().shape);
    if shape[axis.0] == 0 || out.size() == 0 {
        return x.filled(0.0, &out);
    }
    let windows = single(axis, shape.rank());
    let slice_sizes = vec![1; shape.rank()];
    x.apply(Gather { windows, slice_sizes, indices_are_sorted: false, check: Check::Silent }, &[positions])
}

/// A value with others added at distinct positions along an axis.
pub(crate) fn put_along<'m, 'b>(
    x: Var<'m, 'b>,
    positions: Var<'m, 'b>,
    added: Var<'m, 'b>,
    axis: Axis,
) -> Var<'m, 'b> {
    if x.aval().shape.size() == 0 {
        return x;
    }
    let scatter = Scatter {
        windows: single(axis, x.aval().shape.rank()),
        update: Update::With(Binary::add),
        indices_are_sorted: false,
        unique_indices: true,
        check: Check::Silent,
    };
    x.apply(scatter, &[positions, added])
}
