//! Reductions of many elements to one, over some or all axes.

use super::attrs::{logical, vector, Attrs};
use super::binary::Binary;
use super::compare::Compare;
use super::concatenate::Concatenate;
use super::contract::{simplified, Form, Linear, OpDef, Promotion, Ready, Role, Simplified, Strip};
use super::convert::Convert;
use super::create::everywhere;
use super::derive::Var;
use super::layout::{Order, Reshape, Transpose};
use super::lower::{op_if, Formula, HloOp, Lowering, Syntax};
use super::rules::{Batch, Jvp, Vjp};
use super::slice::StaticSlice;
use super::{written, Builder, Op, Row};
use crate::dtype::{dispatch, Bool, DType, Element, ANY, BOOLEAN, FLOAT, ORDERED};
use crate::error::Result;
use crate::graph::syntax::Parsed;
use crate::graph::Value;
use crate::kernels::reductions::fold::Fold;
use crate::kernels::reductions::reduce::{reduce, Plan};
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, Layout, Literal, View, ViewMut};
use num_complex::Complex;

/// A reduction. Ambiguous if the operand is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reduction {
    /// The fold of the elements.
    pub fold: Fold,
    /// The axes that are reduced; distinct, may be none.
    pub axes: Vec<Axis>,
    /// Whether they are dropped, or kept with size 1.
    pub drop: bool,
}

/// Accuracy of sums and products.
const IN_DOUBLE: &str =
    "`f32`, `f64` and complex numbers are summed and multiplied in double precision, `bf16` and \
                         `f16` in `f32`, and rounded once; sums are compensated.";

static ROWS: [Row; 7] = [
    Row { accuracy: IN_DOUBLE, ..written("reduce_sum", "nv_reduce_sum", &["operand"], ANY) },
    Row { accuracy: IN_DOUBLE, ..written("reduce_prod", "nv_reduce_prod", &["operand"], ANY) },
    written("reduce_max", "nv_reduce_max", &["operand"], ORDERED),
    written("reduce_min", "nv_reduce_min", &["operand"], ORDERED),
    written("reduce_any", "nv_reduce_any", &["operand"], BOOLEAN),
    written("reduce_all", "nv_reduce_all", &["operand"], BOOLEAN),
    Row {
        accuracy: "Deviations are squared and summed in double precision and the sum is rounded once.",
        ..written("reduce_squares", "nv_reduce_squares", &["operand"], FLOAT)
    },
];

/// The fold of the reduction of this name.
fn fold_of(name: &str) -> Option<Fold> {
    let folds = [Fold::Sum, Fold::Prod, Fold::Max, Fold::Min, Fold::Any, Fold::All, Fold::Squares];
    ROWS.iter().position(|row| row.name == name).map(|i| folds[i])
}

impl OpDef for Reduction {
    fn row(&self) -> &'static Row {
        match self.fold {
            Fold::Sum => &ROWS[0],
            Fold::Prod => &ROWS[1],
            Fold::Max => &ROWS[2],
            Fold::Min => &ROWS[3],
            Fold::Any => &ROWS[4],
            Fold::All => &ROWS[5],
            Fold::Squares => &ROWS[6],
        }
    }

    fn rows() -> Vec<&'static Row> {
        ROWS.iter().collect()
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let x = operands[0];
        if self.fold == Fold::Squares && !FLOAT.contains(x.dtype) && !x.dtype.is_complex() {
            let hint = "Convert it to a float first, or take `nv_var()`, which does.";
            return Err(self.row().unsupported(0, x.dtype, hint));
        }
        self.row().check(0, x)?;
        if matches!(self.fold, Fold::Sum | Fold::Prod) && x.dtype == DType::I1 {
            return Err(self.row().unsupported(
                0,
                x.dtype,
                "Booleans are counted as integers: convert to i32 first.",
            ));
        }
        let shape = if self.drop {
            x.shape.without(&self.axes)
        } else {
            let size = |(i, &d): (usize, &usize)| if self.axes.contains(&Axis(i)) { 1 } else { d };
            Shape::try_new(x.shape.iter().enumerate().map(size).collect())?
        };
        Ok(vec![Aval { shape, ..x.clone() }])
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let (x, out) = (&operands[0], &mut results[0]);
        reduce(self.fold, x, &self.axes, out)
    }

    fn prepare(&self, operands: &[(&Shape, &Layout)]) -> Option<Ready> {
        let plan = Plan::new(self.fold, operands[0], &self.axes);
        Some(Box::new(move |operands, results| plan.run(&operands[0], &mut results[0])))
    }

    fn fold(&self) -> Option<(Fold, &[Axis])> {
        Some((self.fold, &self.axes))
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![("axes", vector(&self.axes)), ("drop", logical(self.drop))]
    }

    fn promotion(row: &'static Row) -> Promotion {
        match fold_of(row.name) {
            Some(Fold::Sum | Fold::Prod) => Promotion::Each(&[Role::Counted]),
            _ => Promotion::Each(&[Role::Own]),
        }
    }

    fn decode(row: &'static Row, attrs: &Attrs, operands: &[&Aval]) -> Result<Op> {
        let fold = fold_of(row.name).expect("a reduction");
        let shape = &operands[0].shape;
        let axes = attrs.axes("axes", row.function, shape)?;
        let axes = axes.unwrap_or_else(|| (0..shape.rank()).map(Axis).collect());
        Ok(Reduction { fold, axes, drop: attrs.flag("drop")? }.into())
    }

    fn parse(form: &Form) -> Parsed<Reduction> {
        form.takes(1)?;
        let fold = fold_of(form.op).expect("a reduction");
        let axes = form.axes("axes", form.operands[0].shape.rank())?;
        Ok(Reduction { fold, axes, drop: form.logical("drop")? })
    }

    fn vjp(&self) -> Vjp<'_> {
        match self.fold {
            Fold::Sum => Vjp::of_one(|at| self.spread(at.x(0), at.g())),
            Fold::Prod => {
                Vjp::of_one(|at| self.spread(at.x(0), at.g()).chain(self.product_of_others(at.x(0))))
            }
            // The gradient is shared equally by all elements that equal the extreme.
            Fold::Max | Fold::Min => Vjp::of_one(|at| {
                let (is_it, count) = self.extremes(at.x(0), at.y());
                self.spread(at.x(0), at.g() / count).chain(is_it)
            }),
            Fold::Squares => Vjp::of_one(|at| {
                let x = at.x(0);
                let dtype = x.aval().dtype;
                let apart = self.deviations(if dtype.is_half() { x.convert(DType::F32) } else { x });
                self.spread(x, at.g()).chain((apart * 2.0).convert(dtype))
            }),
            Fold::Any | Fold::All => Vjp::Zero,
        }
    }

    fn jvp(&self) -> Jvp<'_> {
        match self.fold {
            Fold::Sum => Jvp::Linear,
            Fold::Prod => {
                Jvp::of_one(|at| self.again(Fold::Sum, at.t(0).chain(self.product_of_others(at.x(0)))))
            }
            // The mean of the tangents of all elements that equal the extreme.
            Fold::Max | Fold::Min => Jvp::of_one(|at| {
                let (is_it, count) = self.extremes(at.x(0), at.y());
                self.again(Fold::Sum, at.t(0).chain(is_it)) / count
            }),
            Fold::Squares => Jvp::of_one(|at| {
                let (x, t) = (at.x(0), at.t(0));
                let dtype = x.aval().dtype;
                // 16-bit floats are summed in f32, as the squares are.
                let to = if dtype.is_half() { DType::F32 } else { dtype };
                let terms = t.convert(to).chain(self.deviations(x.convert(to)) * 2.0);
                self.again(Fold::Sum, terms).convert(dtype)
            }),
            Fold::Any | Fold::All => Jvp::Zero,
        }
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Same
    }

    fn behind(&self, _size: usize) -> Option<Op> {
        Some(Reduction { axes: self.axes.iter().map(|axis| axis.next()).collect(), ..self.clone() }.into())
    }

    /// Each result is made of its elements alone.
    fn strip(&self, axis: Axis, _size: usize, operands: &[&Aval]) -> Option<Strip> {
        let mut kept = (0..operands[0].shape.rank()).map(Axis).filter(|axis| !self.axes.contains(axis));
        let of = if self.drop { kept.nth(axis.0) } else { kept.find(|&kept| kept == axis) };
        Strip::new(self.clone(), vec![Some(of?)])
    }

    /// StableHLO's reduction keeps no axis, and adds 16-bit floats without widening.
    fn lower(&self, operands: &[Aval]) -> Lowering<'_> {
        let by = match self.fold {
            Fold::Squares => return Lowering::Formula(Formula::Reduce(self), None),
            Fold::Sum => "stablehlo.add",
            Fold::Prod => "stablehlo.multiply",
            Fold::Max => "stablehlo.maximum",
            Fold::Min => "stablehlo.minimum",
            Fold::Any => "stablehlo.or",
            Fold::All => "stablehlo.and",
        };
        let x = &operands[0];
        let empty = self.axes.iter().any(|axis| x.shape[axis.0] == 0);
        let syntax = Syntax::Reduce { by, init: self.identity(x.dtype, empty), axes: &self.axes };
        let same = self.drop && !self.axes.is_empty() && !self.is_wide(x.dtype);
        op_if(same, HloOp { name: "stablehlo.reduce", syntax }, Formula::Reduce(self))
    }

    fn simplify(&self, b: &mut Builder, operands: &[Value], _read: &[bool]) -> Result<Simplified> {
        let x = operands[0];
        let aval = b.graph().aval(x).clone();
        let of_one = self.axes.iter().all(|axis| aval.shape[axis.0] == 1);
        // An extreme and a sum of floats of one element are the element. A sum over no axes may turn -0 into 0.
        let of_floats = self.fold == Fold::Sum && aval.dtype.is_float() && !self.axes.is_empty();
        if of_one && (of_floats || matches!(self.fold, Fold::Max | Fold::Min)) {
            return simplified(self.without_axes(b, x)?);
        }
        if self.axes.iter().any(|axis| aval.shape[axis.0] == 0) {
            let result = self.infer(&[&aval])?.remove(0);
            let number = b.literal(self.identity(aval.dtype, true), aval.ambiguous);
            return simplified(everywhere(b, number, result.shape)?);
        }
        self.count(b, operands[0])
    }

    fn linear(&self) -> Linear {
        if self.fold == Fold::Sum {
            Linear::InAll
        } else {
            Linear::In(&[])
        }
    }
}

impl Reduction {
    /// A value whose axes that are reduced have one element, in the shape of the result.
    fn without_axes(&self, b: &mut Builder, x: Value) -> Result<Value> {
        let result = self.infer(&[b.graph().aval(x)])?.remove(0);
        match b.graph().aval(x).shape == result.shape {
            true => Ok(x),
            false => b.node1(Reshape { shape: result.shape, order: Order::Column }, &[x]),
        }
    }

    /// The sum of booleans that were converted to wider numbers, counted as `i32`: exact sums, rounded once, are the
    /// same numbers. Not of those made of elements of 64 bits, which would be as many lanes of another width.
    fn count(&self, b: &mut Builder, x: Value) -> Result<Simplified> {
        let Some((convert, from)) =
            b.graph().made_by(x).and_then(|node| Some((*node.op.get::<Convert>()?, node.operands[0])))
        else {
            return Ok(None);
        };
        let from_aval = b.graph().aval(from);
        let is_wide = matches!(convert.to.stored(), DType::F32 | DType::F64 | DType::I64 | DType::UI64);
        let few =
            self.axes.iter().map(|axis| from_aval.shape[axis.0]).product::<usize>() <= i32::MAX as usize;
        if self.fold != Fold::Sum || from_aval.dtype != DType::I1 || !is_wide || !few {
            return Ok(None);
        }
        let mut source = from;
        while let Some(node) = b.graph().made_by(source).filter(|node| !node.operands.is_empty()) {
            source = node.operands[0];
            if b.graph().aval(source).dtype != DType::I1 {
                break;
            }
        }
        if b.graph().aval(source).dtype.bits() == 64 {
            return Ok(None);
        }
        let whole = b.node1(Convert::known(DType::I32), &[from])?;
        let count = b.node1(self.clone(), &[whole])?;
        simplified(b.node1(convert, &[count])?)
    }

    /// Whether it is computed in f32 and rounded once.
    pub(crate) fn is_wide(&self, dtype: DType) -> bool {
        dtype.is_half() && matches!(self.fold, Fold::Sum | Fold::Prod | Fold::Squares)
    }
}

impl Reduction {
    /// The identity of the fold. For `empty` the result of no elements; else the neutral element, which for a
    /// sum of floats is -0.
    pub fn identity(&self, dtype: DType, empty: bool) -> Literal {
        match self.fold {
            Fold::Sum if empty || !dtype.part().is_float() => Literal::new(0i32).convert(dtype),
            Fold::Sum if dtype == DType::C64 => Literal::new(Complex::new(-0f32, -0f32)),
            Fold::Sum if dtype == DType::C128 => Literal::new(Complex::new(-0f64, -0f64)),
            Fold::Sum => Literal::new(-0f32).convert(dtype),
            Fold::Squares => Literal::new(0f32).convert(dtype),
            Fold::Prod => Literal::new(1i32).convert(dtype),
            Fold::Max => dispatch!(dtype, T => Literal::new(T::LOWEST)),
            Fold::Min => dispatch!(dtype, T => Literal::new(T::HIGHEST)),
            Fold::Any => Literal::new(Bool::FALSE),
            Fold::All => Literal::new(Bool::TRUE),
        }
    }

    /// A value of the result's shape, broadcast along the reduced axes.
    fn spread<'m, 'b>(&self, x: Var<'m, 'b>, of_result: Var<'m, 'b>) -> Var<'m, 'b> {
        let shape = x.aval().shape;
        let kept = |i: &usize| !self.drop || !self.axes.contains(&Axis(*i));
        let kept: Vec<Axis> = (0..shape.rank()).filter(kept).map(Axis).collect();
        of_result.repeated(&shape, &kept)
    }

    /// 1 for each element that equals the extreme, 0 for others, and the number of such elements, at least 1.
    fn extremes<'m, 'b>(&self, x: Var<'m, 'b>, extreme: Var<'m, 'b>) -> (Var<'m, 'b>, Var<'m, 'b>) {
        let is_it = x.compare(Compare::eq, self.spread(x, extreme)).select(x.of(1.0), x.of(0.0));
        let count = self.again(Fold::Sum, is_it);
        (is_it, count.binary(Binary::max, count.of(1.0)))
    }

    /// The deviations of the elements from their mean.
    pub(crate) fn deviations<'m, 'b>(&self, x: Var<'m, 'b>) -> Var<'m, 'b> {
        let shape = x.aval().shape;
        let sum = x.summed(self.axes.clone());
        let kept: Vec<Axis> = (0..shape.rank()).map(Axis).filter(|axis| !self.axes.contains(axis)).collect();
        let count: usize = self.axes.iter().map(|axis| shape[axis.0]).product();
        x - (sum / count as f64).repeated(&shape, &kept)
    }

    /// Another fold over the same axes.
    pub(crate) fn again<'m, 'b>(&self, fold: Fold, x: Var<'m, 'b>) -> Var<'m, 'b> {
        x.apply(Reduction { fold, ..self.clone() }, &[])
    }

    /// For each element, the product of the others over the axes: of those before it and those after it. No
    /// division is involved, so zeros need no special case, and derivatives of any order follow from those of
    /// products.
    fn product_of_others<'m, 'b>(&self, x: Var<'m, 'b>) -> Var<'m, 'b> {
        let shape = x.aval().shape;
        let rank = shape.rank();
        let rest: Vec<Axis> = (0..rank).map(Axis).filter(|a| !self.axes.contains(a)).collect();
        let order: Vec<Axis> = self.axes.iter().chain(&rest).copied().collect();
        let count: usize = self.axes.iter().map(|a| shape[a.0]).product();
        let sorted = x.transposed(order.clone());
        let (all, flat) = (
            sorted.aval().shape,
            sorted.reshaped(&[count, shape.size().checked_div(count).unwrap_or(0)].into()),
        );
        let back = Transpose::inverse(&order);
        if (2..=FEW).contains(&count) {
            return of_few(flat).reshaped(&all).transposed(back);
        }
        let shifted = |v: Var<'m, 'b>, by: i64| v.padded(1.0, vec![by, 0], vec![-by, 0], vec![0, 0]);
        let running = |way: i64| {
            let mut product = shifted(flat, way);
            let mut step = 1;
            while step < count {
                product = product * shifted(product, way * step as i64);
                step *= 2;
            }
            product
        };
        (running(1) * running(-1)).reshaped(&all).transposed(back)
    }
}

/// Rows of which each is a value by itself where the products of all but one are computed: products of such are computed
/// together with what is around them, and are twice as many as the rows.
const FEW: usize = 8;

/// Of each of a few rows, two or more, the products of the others.
fn of_few<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let shape = x.aval().shape;
    let (count, size) = (shape[0], shape[1]);
    let row = |i: usize| {
        x.apply(StaticSlice { start: vec![i, 0], limit: vec![i + 1, size], stride: vec![1, 1] }, &[])
    };
    // From the row before the last one down, of what comes after.
    let mut after = vec![row(count - 1)];
    for i in (1..count - 1).rev() {
        after.push(row(i) * after[after.len() - 1]);
    }
    let (mut before, mut others) = (row(0), vec![]);
    for i in 1..count - 1 {
        others.push(before * after[count - 2 - i]);
        before = before * row(i);
    }
    others.push(before);
    after[count - 2].apply(Concatenate { axis: Axis(0) }, &others)
}
