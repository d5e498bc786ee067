//! Ops that move elements without computing on them. Reshape, transpose and broadcast are views where they
//! can be.

use super::attrs::{vector, Attrs};
use super::contract::{simplified, Form, Linear, OpDef, Promotion, Role, Simplified, Strip};
use super::lower::{axes, op_if, signature, Formula, Lowering};
use super::rules::{Batch, Vjp};
use super::{written, Builder, Op, Row};
use crate::dtype::{dispatch, ANY};
use crate::error::{Error, Result};
use crate::graph::syntax::Parsed;
use crate::graph::Value;
use crate::kernels::cast;
use crate::kernels::tile::{copy, runs, tile, tiles};
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, Layout, View, ViewMut};

/// The order in which a reshape reads and writes elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// Last axis fastest, as in StableHLO and NumPy.
    Row,
    /// First axis fastest, as in R.
    Column,
}

/// The same elements in another shape of the same size.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reshape {
    /// Shape of the result.
    pub shape: Shape,
    /// Order in which both sides are read.
    pub order: Order,
}

static RESHAPE: Row = written("reshape", "nv_reshape", &["operand"], ANY);

fn reversed(shape: &Shape, layout: &Layout) -> (Shape, Layout) {
    let sizes = shape.iter().rev().copied().collect();
    let strides = layout.strides.iter().rev().copied().collect();
    (Shape::try_new(sizes).expect("same size as before"), Layout { strides, offset: layout.offset })
}

impl OpDef for Reshape {
    fn row(&self) -> &'static Row {
        &RESHAPE
    }

    fn rows() -> Vec<&'static Row> {
        vec![&RESHAPE]
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        let order = if self.order == Order::Row { "\"row\"" } else { "\"column\"" };
        vec![("shape", vector(&self.shape)), ("order", order.into())]
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::Each(&[Role::Own])
    }

    fn decode(_row: &'static Row, attrs: &Attrs, operands: &[&Aval]) -> Result<Op> {
        let order = attrs.choice("order", &["column", "row"])?;
        let order = if order == "row" { Order::Row } else { Order::Column };
        Ok(Reshape { shape: attrs.shape_of("shape", operands[0].shape.size())?, order }.into())
    }

    fn is_identity(&self, operands: &[&Aval]) -> bool {
        operands[0].shape == self.shape
    }

    fn parse(form: &Form) -> Parsed<Reshape> {
        form.takes(1)?;
        let order = form.one_of("order", &[("row", Order::Row), ("column", Order::Column)])?;
        Ok(Reshape { shape: form.shape("shape")?, order })
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let x = operands[0];
        if x.shape.size() != self.shape.size() {
            let (from, to) = (x.shape.clone(), self.shape.clone());
            return Err(Error::Reshape { op: RESHAPE.function.into(), from, to });
        }
        Ok(vec![Aval { shape: self.shape.clone(), ..x.clone() }])
    }

    /// Splits and joins runs of axes that have a single stride; `None` if an axis of the result would need
    /// several strides.
    fn as_view(&self, shape: &Shape, layout: &Layout, result: &Aval) -> Option<Layout> {
        let result = &result.shape;
        if self.order == Order::Row {
            let (shape, layout) = reversed(shape, layout);
            let (result, _) = reversed(result, &Layout::dense(result));
            let view = regroup(&shape, &layout, &result)?;
            return Some(reversed(&result, &view).1);
        }
        regroup(shape, layout, result)
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let (x, out) = (&operands[0], &mut results[0]);
        if self.order == Order::Column {
            return copy(x, out);
        }
        // Row-major order of a value is column-major order of its reverse, on both sides.
        let (from, from_layout) = reversed(x.shape, x.layout);
        let (to, to_layout) = reversed(out.shape, &Layout::dense(out.shape));
        dispatch!(x.dtype, T => {
            let out = cast::slice_mut::<T>(out.data);
            let from = View { shape: &from, layout: &from_layout, ..*x };
            let mut scratch = Vec::new();
            for range in tiles(out.len()) {
                let elements = tile::<T>(&from, range.clone(), &mut scratch);
                runs(&to, &to_layout, range, |at, first, stride, len| {
                    for (i, &element) in elements[at..at + len].iter().enumerate() {
                        out[(first as isize + i as isize * stride) as usize] = element;
                    }
                });
            }
        })
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::of_one(|at| at.g().apply(Reshape { shape: at.x(0).aval().shape, order: self.order }, &[]))
    }

    fn batch(&self) -> Batch<'_> {
        Batch::of_one(|at| {
            let x = at.whole(0);
            let sizes = self.shape.iter().copied();
            if self.order == Order::Column {
                return match self.shape.with_last(at.size) {
                    Ok(shape) => x.reshaped(&shape),
                    Err(error) => x.failed(error),
                };
            }
            // In row-major order the first axis is the slowest.
            x.batch_first().reread([at.size].into_iter().chain(sizes).collect()).batch_last()
        })
    }

    fn behind(&self, size: usize) -> Option<Op> {
        let shape = self.shape.with_first(size).ok().filter(|_| self.order == Order::Column)?;
        Some(Reshape { shape, ..*self }.into())
    }

    /// Along an axis that the operand has too, with as many elements before it.
    fn strip(&self, axis: Axis, size: usize, operands: &[&Aval]) -> Option<Strip> {
        let from = &operands[0].shape;
        let before = |shape: &Shape, i: usize| shape[..i].iter().product::<usize>();
        let same =
            |&i: &usize| from[i] == self.shape[axis.0] && before(from, i) == before(&self.shape, axis.0);
        let of = (0..from.rank()).find(same).filter(|_| self.order == Order::Column)?;
        Strip::new(Reshape { shape: self.shape.strip(axis, size), ..*self }, vec![Some(Axis(of))])
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        let same = self.order == Order::Row;
        op_if(same, signature("stablehlo.reshape", ""), Formula::Reshape(self))
    }

    fn simplify(&self, b: &mut Builder, operands: &[Value], _read: &[bool]) -> Result<Simplified> {
        let Some(node) = b.graph().made_by(operands[0]) else { return Ok(None) };
        let from = node.operands.first().copied();
        match node.op.get::<Reshape>().zip(from) {
            Some((inner, from)) if inner.order == self.order => {
                let same = b.graph().aval(from).shape == self.shape;
                simplified(if same { from } else { b.node1(self.clone(), &[from])? })
            }
            _ => Ok(None),
        }
    }

    fn linear(&self) -> Linear {
        Linear::InAll
    }

    fn moves_only(&self) -> bool {
        true
    }
}

/// The layout of a column-major reshape without a copy, if there is one.
fn regroup(shape: &Shape, layout: &Layout, result: &Shape) -> Option<Layout> {
    if result.size() == 0 {
        return Some(Layout::dense(result));
    }
    // Lines: maximal runs of axes with a single stride, each as `(size, stride)`.
    let mut lines: Vec<(usize, isize)> = Vec::new();
    for (&size, &stride) in shape.iter().zip(&layout.strides).filter(|(&size, _)| size > 1) {
        match lines.last_mut() {
            Some((n, s)) if *s * *n as isize == stride => *n *= size,
            _ => lines.push((size, stride)),
        }
    }
    let mut strides = Vec::with_capacity(result.rank());
    let mut lines = lines.into_iter();
    let (mut rest, mut stride) = (1, 0);
    for &size in result.iter() {
        if size == 1 {
            strides.push(0);
            continue;
        }
        if rest == 1 {
            (rest, stride) = lines.next()?;
        }
        if rest % size != 0 {
            return None;
        }
        strides.push(stride);
        rest /= size;
        stride *= size as isize;
    }
    Some(Layout { strides, offset: layout.offset })
}

/// Axis `i` of the result is axis `permutation[i]` of the operand.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Transpose {
    /// A permutation of all axes.
    pub permutation: Vec<Axis>,
}

static TRANSPOSE: Row = written("transpose", "nv_transpose", &["operand"], ANY);

impl OpDef for Transpose {
    fn row(&self) -> &'static Row {
        &TRANSPOSE
    }

    fn rows() -> Vec<&'static Row> {
        vec![&TRANSPOSE]
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![("permutation", vector(&self.permutation))]
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::Each(&[Role::Own])
    }

    fn decode(row: &'static Row, attrs: &Attrs, operands: &[&Aval]) -> Result<Op> {
        let shape = &operands[0].shape;
        let all = || (0..shape.rank()).rev().map(Axis).collect();
        let permutation = attrs.axes("permutation", row.function, shape)?.unwrap_or_else(all);
        Ok(Transpose { permutation }.into())
    }

    fn is_identity(&self, operands: &[&Aval]) -> bool {
        self.permutation.len() == operands[0].shape.rank() && are_in_order(&self.permutation)
    }

    fn parse(form: &Form) -> Parsed<Transpose> {
        form.takes(1)?;
        Ok(Transpose { permutation: form.axes("permutation", form.operands[0].shape.rank())? })
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let x = operands[0];
        let rank = x.shape.rank();
        let mut sorted = self.permutation.clone();
        sorted.sort();
        if sorted.into_iter().ne((0..rank).map(Axis)) {
            let expected = vector(&(0..rank).map(Axis).collect::<Vec<_>>());
            let got = vector(&self.permutation);
            return Err(Error::Permutation { op: TRANSPOSE.function.into(), expected, got });
        }
        let sizes = self.permutation.iter().map(|a| x.shape[a.0]).collect();
        Ok(vec![Aval { shape: Shape::try_new(sizes)?, ..x.clone() }])
    }

    fn as_view(&self, _shape: &Shape, layout: &Layout, _result: &Aval) -> Option<Layout> {
        Some(self.view(layout))
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let (x, out) = (&operands[0], &mut results[0]);
        let layout = self.view(x.layout);
        copy(&View { shape: out.shape, layout: &layout, ..*x }, out)
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::of_one(|at| {
            let permutation = Transpose::inverse(&self.permutation);
            at.g().apply(Transpose { permutation }, &[])
        })
    }

    fn batch(&self) -> Batch<'_> {
        Batch::of_one(|at| {
            let last = Axis(self.permutation.len());
            at.whole(0).transposed(self.permutation.iter().copied().chain([last]).collect())
        })
    }

    fn strip(&self, axis: Axis, _size: usize, _operands: &[&Aval]) -> Option<Strip> {
        Strip::new(self.clone(), vec![Some(self.permutation[axis.0])])
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        let axes = format!(", dims = {}", axes(&self.permutation));
        Lowering::Op(signature("stablehlo.transpose", axes))
    }

    fn simplify(&self, b: &mut Builder, operands: &[Value], _read: &[bool]) -> Result<Simplified> {
        let Some(node) = b.graph().made_by(operands[0]) else { return Ok(None) };
        let Some(inner) = node.op.get::<Transpose>() else { return Ok(None) };
        let from = node.operands[0];
        let permutation: Vec<_> = self.permutation.iter().map(|a| inner.permutation[a.0]).collect();
        simplified(if are_in_order(&permutation) {
            from
        } else {
            b.node1(Transpose { permutation }, &[from])?
        })
    }

    fn linear(&self) -> Linear {
        Linear::InAll
    }

    fn moves_only(&self) -> bool {
        true
    }
}

/// Whether these are the axes 0, 1, 2, ... in order.
fn are_in_order(axes: &[Axis]) -> bool {
    axes.iter().enumerate().all(|(i, a)| a.0 == i)
}

impl Transpose {
    /// The permutation that moves the first axis of so many to the end.
    pub fn first_to_end(rank: usize) -> Vec<Axis> {
        (1..rank).chain([0]).map(Axis).collect()
    }

    /// The order of axes that undoes a transpose.
    pub fn inverse(permutation: &[Axis]) -> Vec<Axis> {
        let mut back = permutation.to_vec();
        for (to, from) in permutation.iter().enumerate() {
            back[from.0] = Axis(to);
        }
        back
    }

    fn view(&self, layout: &Layout) -> Layout {
        Layout {
            strides: self.permutation.iter().map(|a| layout.strides[a.0]).collect(),
            offset: layout.offset,
        }
    }
}

/// The operand broadcast: axis `i` of the operand becomes axis `axes[i]` of the result; new axes and axes of
/// size 1 are repeated (StableHLO, `broadcast_in_dim`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BroadcastInDim {
    /// Shape of the result.
    pub shape: Shape,
    /// The axis of the result for each axis of the operand; distinct.
    pub axes: Vec<Axis>,
}

static BROADCAST_IN_DIM: Row = written("broadcast_in_dim", "nv_broadcast_in_dim", &["operand"], ANY);

impl BroadcastInDim {
    /// Aligns the operand's axes with the last ones of `shape`, as NumPy does.
    ///
    /// # Errors
    /// [`Error::BroadcastRank`] if there are too many.
    pub fn align_right(from: &Shape, shape: Shape) -> Result<BroadcastInDim> {
        match shape.rank().checked_sub(from.rank()) {
            Some(skip) => Ok(BroadcastInDim { axes: (skip..shape.rank()).map(Axis).collect(), shape }),
            None => Err(Error::BroadcastRank { from: from.clone(), to: shape }),
        }
    }

    fn view(&self, shape: &Shape, layout: &Layout) -> Layout {
        let mut strides = vec![0; self.shape.rank()];
        for ((&size, &stride), axis) in shape.iter().zip(&layout.strides).zip(&self.axes) {
            strides[axis.0] = if size == 1 { 0 } else { stride };
        }
        Layout { strides, offset: layout.offset }
    }
}

impl OpDef for BroadcastInDim {
    fn row(&self) -> &'static Row {
        &BROADCAST_IN_DIM
    }

    fn rows() -> Vec<&'static Row> {
        vec![&BROADCAST_IN_DIM]
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![("shape", vector(&self.shape)), ("broadcast_axes", vector(&self.axes))]
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::Each(&[Role::Own])
    }

    fn decode(row: &'static Row, attrs: &Attrs, operands: &[&Aval]) -> Result<Op> {
        let (from, shape) = (&operands[0].shape, attrs.shape("shape")?);
        let axes = attrs.axes("broadcast_axes", row.function, &shape)?.unwrap_or_default();
        if axes.len() != from.rank() {
            let expected =
                format!("an axis of the result for each axis of `operand`, which has {}", from.rank());
            return Err(Error::arg("broadcast_axes", expected, vector(&axes)));
        }
        Ok(BroadcastInDim { shape, axes }.into())
    }

    fn is_identity(&self, operands: &[&Aval]) -> bool {
        operands[0].shape == self.shape && are_in_order(&self.axes)
    }

    fn parse(form: &Form) -> Parsed<BroadcastInDim> {
        form.takes(1)?;
        let shape = form.shape("shape")?;
        let axes = form.axes("broadcast_axes", shape.rank())?;
        if axes.len() != form.operands[0].shape.rank() {
            return Err(
                form.error("an axis of the result for each of the operand", form.operands[0].to_string())
            );
        }
        Ok(BroadcastInDim { shape, axes })
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let x = operands[0];
        for (&from, &axis) in x.shape.iter().zip(&self.axes) {
            let to = self.shape[axis.0];
            if from != to && from != 1 {
                let (shape, target) = (x.shape.clone(), self.shape.clone());
                return Err(Error::Broadcast { from: shape, to: target, axis, l: from, r: to });
            }
        }
        Ok(vec![Aval { shape: self.shape.clone(), ..x.clone() }])
    }

    fn as_view(&self, shape: &Shape, layout: &Layout, _result: &Aval) -> Option<Layout> {
        Some(self.view(shape, layout))
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let (x, out) = (&operands[0], &mut results[0]);
        let layout = self.view(x.shape, x.layout);
        copy(&View { shape: out.shape, layout: &layout, ..*x }, out)
    }

    /// The gradient is the sum over the repetitions.
    fn vjp(&self) -> Vjp<'_> {
        Vjp::of_one(|at| {
            let from = at.x(0).aval().shape;
            let repeats = |i: &usize| match self.axes.iter().position(|a| a.0 == *i) {
                Some(k) => from[k] == 1 && self.shape[*i] != 1,
                None => true,
            };
            let repeated: Vec<Axis> = (0..self.shape.rank()).filter(repeats).map(Axis).collect();
            let sum = at.g().summed(repeated.clone());
            // The remaining axes are in the order of the result, without the unit axes that were repeated.
            let left: Vec<Axis> =
                (0..self.shape.rank()).map(Axis).filter(|a| !repeated.contains(a)).collect();
            let order = self.axes.iter().filter_map(|a| left.iter().position(|b| a == b)).map(Axis).collect();
            sum.transposed(order).reshaped(&from)
        })
    }

    fn batch(&self) -> Batch<'_> {
        Batch::of_one(|at| {
            let last = Axis(self.shape.rank());
            match self.shape.with_last(at.size) {
                Ok(shape) => {
                    let axes = self.axes.iter().copied().chain([last]).collect();
                    at.whole(0).apply(BroadcastInDim { shape, axes }, &[])
                }
                Err(error) => at.x(0).failed(error),
            }
        })
    }

    fn strip(&self, axis: Axis, size: usize, operands: &[&Aval]) -> Option<Strip> {
        let of = self.axes.iter().position(|&to| to == axis).filter(|&i| operands[0].shape[i] != 1);
        let shape = self.shape.strip(axis, size);
        Strip::new(BroadcastInDim { shape, axes: self.axes.clone() }, vec![of.map(Axis)])
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        let axes = format!(", dims = {}", axes(&self.axes));
        Lowering::Op(signature("stablehlo.broadcast_in_dim", axes))
    }

    fn linear(&self) -> Linear {
        Linear::InAll
    }

    fn moves_only(&self) -> bool {
        true
    }

    fn is_cheap(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    #[test]
    fn reshapes_are_views_where_memory_allows() {
        let dense = |s: [usize; 3]| Layout::dense(&s.into());
        let reshape = |order, from: [usize; 3], to: [usize; 2]| {
            let result = Aval::known(DType::F32, to.into());
            Reshape { shape: to.into(), order }.as_view(&from.into(), &dense(from), &result)
        };
        assert_eq!(reshape(Order::Column, [2, 3, 4], [6, 4]).unwrap().strides, [1, 6]);
        assert_eq!(reshape(Order::Column, [2, 3, 4], [3, 8]).unwrap().strides, [1, 3]);
        assert_eq!(reshape(Order::Row, [2, 3, 4], [6, 4]), None);
        assert_eq!(reshape(Order::Row, [2, 1, 4], [2, 4]).unwrap().strides, [1, 2]);
        // A transposed matrix is row-major, so a row-major flattening is a view.
        let t = Layout { strides: vec![3, 1], offset: 0 };
        let flat = Reshape { shape: [6].into(), order: Order::Row };
        assert_eq!(
            flat.as_view(&[2, 3].into(), &t, &Aval::known(DType::F32, [6].into())).unwrap().strides,
            [1]
        );
    }

    #[test]
    fn row_major_reshape_moves_elements() {
        let x: Vec<i32> = vec![1, 2, 3, 4, 5, 6];
        let (from, to) = (Shape::from([2, 3]), Shape::from([3, 2]));
        let layout = Layout::dense(&from);
        let mut out = vec![0i32; 6];
        let view = View { dtype: DType::I32, shape: &from, layout: &layout, data: cast::bytes(&x) };
        let op = Reshape { shape: to.clone(), order: Order::Row };
        op.eval(&[view], &mut [ViewMut { dtype: DType::I32, shape: &to, data: cast::bytes_mut(&mut out) }]);
        // Rows of x are 1 3 5 / 2 4 6, read row by row and written row by row: 1 3 / 5 2 / 4 6.
        assert_eq!(out, [1, 5, 4, 3, 2, 6]);
    }
}
