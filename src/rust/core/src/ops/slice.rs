//! Slices at positions known while tracing, reversal, padding. Slices and reversals are views.

use super::attrs::{vector, Attr, Attrs};
use super::contract::{Form, Framed, Linear, OpDef, Promotion, Role, Strip};
use super::derive::Var;
use super::lower::{axes, list, signature, Lowering};
use super::rules::{Batch, Vjp};
use super::{written, Op, Row};
use crate::dtype::{dispatch, Bool, ANY};
use crate::error::{Error, Result};
use crate::graph::syntax::Parsed;
use crate::kernels::cast;
use crate::kernels::memory::indexed::store_at;
use crate::kernels::tile::copy;
use crate::shape::{Axis, Shape};
use crate::stop;
use crate::tensor::{Aval, Layout, Literal, View, ViewMut};
use std::ops::Range;

/// Elements `start`, `start + stride`, ... before `limit`, along each axis (StableHLO, `slice`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StaticSlice {
    /// First position along each axis.
    pub start: Vec<usize>,
    /// The position after the last, along each axis.
    pub limit: Vec<usize>,
    /// Distance between positions, along each axis; at least 1.
    pub stride: Vec<usize>,
}

static STATIC_SLICE: Row = written("static_slice", "nv_static_slice", &["operand"], ANY);

/// A parameter that must have one number for each axis.
pub(super) fn check_count(arg: &str, got: usize, x: &Aval) -> Result<()> {
    if got == x.shape.rank() {
        return Ok(());
    }
    let expected = format!("one number for each of {} axes", x.shape.rank());
    Err(Error::arg(arg, expected, format!("{got} number{}", if got == 1 { "" } else { "s" })))
}

impl OpDef for StaticSlice {
    fn row(&self) -> &'static Row {
        &STATIC_SLICE
    }

    fn rows() -> Vec<&'static Row> {
        vec![&STATIC_SLICE]
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        let start: Vec<usize> = self.start.iter().map(|i| i + 1).collect();
        // The 0-based position after the last is the 1-based last one.
        vec![
            ("start_indices", vector(&start)),
            ("limit_indices", vector(&self.limit)),
            ("strides", vector(&self.stride)),
        ]
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::Each(&[Role::Own])
    }

    fn decode(_row: &'static Row, attrs: &Attrs, operands: &[&Aval]) -> Result<Op> {
        let (start, limit) = (attrs.whole("start_indices", 1)?, attrs.whole("limit_indices", 0)?);
        let stride = match attrs.get("strides") {
            Attr::Null => vec![1; operands[0].shape.rank()],
            _ => attrs.whole("strides", 1)?,
        };
        // The 1-based last position is the 0-based one after it.
        Ok(StaticSlice { start: start.into_iter().map(|i| i - 1).collect(), limit, stride }.into())
    }

    fn parse(form: &Form) -> Parsed<StaticSlice> {
        form.takes(1)?;
        let (start, limit) = (form.positions("start_indices")?, form.numbers("limit_indices")?);
        Ok(StaticSlice { start, limit, stride: form.numbers("strides")? })
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let x = operands[0];
        check_count("start_indices", self.start.len(), x)?;
        check_count("limit_indices", self.limit.len(), x)?;
        check_count("strides", self.stride.len(), x)?;
        let mut sizes = Vec::with_capacity(x.shape.rank());
        for (i, &size) in x.shape.iter().enumerate() {
            let (start, limit, stride) = (self.start[i], self.limit[i], self.stride[i]);
            if limit > size || start > limit {
                let index = format!("{}:{limit}", start + 1);
                return Err(Error::IndexOutOfBounds { index, axis: Axis(i), size });
            }
            if stride == 0 {
                return Err(Error::arg("strides", "whole numbers, each at least 1", "0"));
            }
            sizes.push((limit - start).div_ceil(stride));
        }
        Ok(vec![Aval { shape: Shape::try_new(sizes)?, ..x.clone() }])
    }

    fn as_view(&self, _shape: &Shape, layout: &Layout, result: &Aval) -> Option<Layout> {
        Some(self.view(layout, &result.shape))
    }

    fn rearranges(&self) -> bool {
        true
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let (x, out) = (&operands[0], &mut results[0]);
        see(x, &self.view(x.layout, out.shape), out);
    }

    /// The gradient, padded with zeros around and between its elements.
    fn vjp(&self) -> Vjp<'_> {
        Vjp::of_one(|at| {
            let (x, g) = (at.x(0), at.g());
            let (from, taken) = (x.aval().shape, g.aval().shape);
            if taken.size() == 0 {
                return x.of(0.0);
            }
            let covered = |i: usize| (taken[i] - 1) * self.stride[i] + 1;
            let low = self.start.iter().map(|&start| start as i64).collect();
            let high = (0..from.rank()).map(|i| (from[i] - self.start[i] - covered(i)) as i64).collect();
            g.padded(0.0, low, high, self.stride.iter().map(|s| s - 1).collect())
        })
    }

    fn batch(&self) -> Batch<'_> {
        Batch::of_one(|at| {
            let mut op = self.clone();
            op.start.push(0);
            op.limit.push(at.size);
            op.stride.push(1);
            at.whole(0).apply(op, &[])
        })
    }

    fn behind(&self, size: usize) -> Option<Op> {
        let mut op = self.clone();
        op.start.insert(0, 0);
        op.limit.insert(0, size);
        op.stride.insert(0, 1);
        Some(op.into())
    }

    fn strip(&self, axis: Axis, size: usize, operands: &[&Aval]) -> Option<Strip> {
        let i = axis.0;
        let all = self.start[i] == 0 && self.limit[i] == operands[0].shape[i] && self.stride[i] == 1;
        let mut op = self.clone();
        op.limit[i] = size;
        Strip::new(op, vec![Some(axis)]).filter(|_| all)
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        let range = |i: usize| match self.stride[i] {
            1 => format!("{}:{}", self.start[i], self.limit[i]),
            stride => format!("{}:{}:{stride}", self.start[i], self.limit[i]),
        };
        let ranges: Vec<String> = (0..self.start.len()).map(range).collect();
        Lowering::Op(signature("stablehlo.slice", format!(" {}", list(&ranges))))
    }

    fn linear(&self) -> Linear {
        Linear::InAll
    }
}

impl StaticSlice {
    /// The elements of a value of this shape in a range along an axis, all along the others.
    pub fn along(shape: &Shape, axis: Axis, range: Range<usize>) -> StaticSlice {
        let (mut start, mut limit) = (vec![0; shape.rank()], shape.to_vec());
        (start[axis.0], limit[axis.0]) = (range.start, range.end);
        StaticSlice { start, limit, stride: vec![1; shape.rank()] }
    }

    fn view(&self, layout: &Layout, result: &Shape) -> Layout {
        if result.size() == 0 {
            // An empty result may start beyond the end.
            return Layout::dense(result);
        }
        let strides =
            layout.strides.iter().zip(&self.stride).map(|(&s, &stride)| s * stride as isize).collect();
        Layout { strides, offset: shifted(layout, &self.start) }
    }
}

/// Position of the element at these indices.
fn shifted(layout: &Layout, index: &[usize]) -> usize {
    let way: isize = index.iter().zip(&layout.strides).map(|(&i, &s)| i as isize * s).sum();
    (layout.offset as isize + way) as usize
}

/// Copies the elements of a value that a layout selects.
pub(super) fn see(x: &View, layout: &Layout, out: &mut ViewMut) {
    copy(&View { shape: out.shape, layout, ..*x }, out);
}

/// The operand in reverse order along some axes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reverse {
    /// The axes; distinct.
    pub axes: Vec<Axis>,
}

static REVERSE: Row = written("reverse", "nv_reverse", &["operand"], ANY);

impl OpDef for Reverse {
    fn row(&self) -> &'static Row {
        &REVERSE
    }

    fn rows() -> Vec<&'static Row> {
        vec![&REVERSE]
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![("axes", vector(&self.axes))]
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::Each(&[Role::Own])
    }

    fn decode(row: &'static Row, attrs: &Attrs, operands: &[&Aval]) -> Result<Op> {
        let axes = attrs.axes("axes", row.function, &operands[0].shape)?.unwrap_or_default();
        Ok(Reverse { axes }.into())
    }

    fn parse(form: &Form) -> Parsed<Reverse> {
        form.takes(1)?;
        Ok(Reverse { axes: form.axes("axes", form.operands[0].shape.rank())? })
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        Ok(vec![operands[0].clone()])
    }

    fn as_view(&self, shape: &Shape, layout: &Layout, _result: &Aval) -> Option<Layout> {
        Some(self.view(shape, layout))
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let (x, out) = (&operands[0], &mut results[0]);
        see(x, &self.view(x.shape, x.layout), out);
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::of_one(|at| at.g().apply(self.clone(), &[]))
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Same
    }

    fn behind(&self, _size: usize) -> Option<Op> {
        Some(Reverse { axes: self.axes.iter().map(|axis| axis.next()).collect() }.into())
    }

    fn strip(&self, axis: Axis, _size: usize, _operands: &[&Aval]) -> Option<Strip> {
        Strip::new(self.clone(), vec![Some(axis)]).filter(|_| !self.axes.contains(&axis))
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        Lowering::Op(signature("stablehlo.reverse", format!(", dims = {}", axes(&self.axes))))
    }

    fn linear(&self) -> Linear {
        Linear::InAll
    }

    fn moves_only(&self) -> bool {
        true
    }
}

impl Reverse {
    fn view(&self, shape: &Shape, layout: &Layout) -> Layout {
        let mut view = layout.clone();
        if shape.size() == 0 {
            return view;
        }
        let mut last = vec![0; shape.rank()];
        for axis in &self.axes {
            last[axis.0] = shape[axis.0] - 1;
            view.strides[axis.0] = -view.strides[axis.0];
        }
        view.offset = shifted(layout, &last);
        view
    }
}

/// The operand padded with a value around and between its elements; a negative amount cuts elements off
/// (StableHLO, `pad`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Pad {
    /// Elements of padding before the operand, along each axis.
    pub low: Vec<i64>,
    /// Elements of padding after it.
    pub high: Vec<i64>,
    /// Elements of padding between neighbours.
    pub interior: Vec<usize>,
}

static PAD: Row = written("pad", "nv_pad", &["operand", "padding_value"], ANY);

impl OpDef for Pad {
    fn row(&self) -> &'static Row {
        &PAD
    }

    fn rows() -> Vec<&'static Row> {
        vec![&PAD]
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![
            ("edge_padding_low", vector(&self.low)),
            ("edge_padding_high", vector(&self.high)),
            ("interior_padding", vector(&self.interior)),
        ]
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::Each(&[Role::Own, Role::Assigned])
    }

    fn decode(_row: &'static Row, attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        let (low, high) = (attrs.integers("edge_padding_low")?, attrs.integers("edge_padding_high")?);
        let interior = match attrs.get("interior_padding") {
            Attr::Null => vec![0; low.len()],
            _ => attrs.whole("interior_padding", 0)?,
        };
        Ok(Pad { low, high, interior }.into())
    }

    fn parse(form: &Form) -> Parsed<Pad> {
        form.takes(2)?;
        Ok(Pad {
            low: form.numbers("edge_padding_low")?,
            high: form.numbers("edge_padding_high")?,
            interior: form.numbers("interior_padding")?,
        })
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let (x, value) = (operands[0], operands[1]);
        check_count("edge_padding_low", self.low.len(), x)?;
        check_count("edge_padding_high", self.high.len(), x)?;
        check_count("interior_padding", self.interior.len(), x)?;
        let op = || PAD.function.to_string();
        if x.dtype != value.dtype {
            return Err(Error::DtypeMismatch { op: op(), lhs: x.dtype, rhs: value.dtype });
        }
        if value.shape.rank() > 0 {
            let (operand, expected) = ("padding_value".into(), "0 axes".into());
            let hint = "One value fills all places.".into();
            return Err(Error::Rank { op: op(), operand, expected, shape: value.shape.clone(), hint });
        }
        let mut sizes = Vec::with_capacity(x.shape.rank());
        for (i, &size) in x.shape.iter().enumerate() {
            let between = size.saturating_sub(1) as i128 * self.interior[i] as i128;
            let result = size as i128 + between + i128::from(self.low[i]) + i128::from(self.high[i]);
            sizes.push(usize::try_from(result).map_err(|_| Error::Arg {
                arg: "edge_padding_high".into(),
                expected: format!("such that axis {} is left with a size of at least 0", Axis(i)),
                got: self.high[i].to_string(),
                hint: format!("It would have size {result}: no more can be cut off than there is."),
            })?);
        }
        Ok(vec![Aval { shape: Shape::try_new(sizes)?, ..x.clone() }])
    }

    fn rearranges(&self) -> bool {
        true
    }

    fn framed(&self, _operands: &[&Aval], _known: &[Option<Literal>]) -> Option<Framed> {
        let plain = self.interior.iter().all(|&n| n == 0) && self.high.iter().all(|&n| n >= 0);
        let start = self.low.iter().map(|&n| usize::try_from(n).ok()).collect::<Option<_>>()?;
        plain.then_some(Framed { inside: 0, around: 1, start })
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let (x, value, out) = (&operands[0], &operands[1], &mut results[0]);
        dispatch!(x.dtype, T => {
            let value = cast::slice::<T>(value.data)[value.layout.offset];
            stop::fill(cast::slice_mut::<T>(out.data), value);
        });
        // For each axis, the range that is not cut off, and where it begins in the result.
        let rank = x.shape.rank();
        let (mut sizes, mut steps) = (Vec::with_capacity(rank), Vec::with_capacity(rank));
        let (mut offset, mut place, mut stride) = (x.layout.offset as isize, 0, 1isize);
        for (i, &size) in x.shape.iter().enumerate() {
            let pace = self.interior[i] as i128 + 1;
            let low = i128::from(self.low[i]);
            let first = (-low).max(0).div_euclid(pace) + i128::from((-low).max(0) % pace != 0);
            let end = ((out.shape[i] as i128 - low - 1).div_euclid(pace) + 1).min(size as i128);
            if first >= end {
                return;
            }
            sizes.push((end - first) as usize);
            steps.push(stride.wrapping_mul(pace as isize));
            offset += first as isize * x.layout.strides[i];
            place += (low + first * pace) as isize * stride;
            stride *= out.shape[i] as isize;
        }
        let part = Shape::try_new(sizes).expect("part of an addressable shape");
        let layout = Layout { strides: x.layout.strides.clone(), offset: offset as usize };
        store_at(&steps, place, &View { shape: &part, layout: &layout, ..*x }, out);
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::by(|at| {
            let (x, g) = (at.x(0), at.g());
            let shape = x.aval().shape;
            let rank = shape.rank();
            if shape.size() == 0 {
                return vec![Some(x.of(0.0)), Some(sum(g))];
            }
            let negative = |amounts: &[i64]| amounts.iter().map(|n| -n).collect();
            let middle = g.padded(0.0, negative(&self.low), negative(&self.high), vec![0; rank]);
            let limit = middle.aval().shape.to_vec();
            let stride = self.interior.iter().map(|n| n + 1).collect();
            let inside = middle.apply(StaticSlice { start: vec![0; rank], limit, stride }, &[]);
            let around = x.of(0.0).padded(1.0, self.low.clone(), self.high.clone(), self.interior.clone());
            vec![Some(inside), Some(sum(around * g))]
        })
    }

    fn batch(&self) -> Batch<'_> {
        Batch::of_one(|at| {
            let mut op = self.clone();
            op.low.push(0);
            op.high.push(0);
            op.interior.push(0);
            let (x, value) = (at.whole(0), at.x(1));
            if !at.batched[1] {
                return x.apply(op, &[value]);
            }
            // Each example has its own value, which a pad has not: it is chosen afterwards.
            let padded = x.apply(op.clone(), &[x.scalar(0.0)]);
            let flag = |shape: &Shape, value: bool| x.math().literal(Literal::new(Bool::from(value)), shape);
            let inside = flag(&x.aval().shape, true).apply(op, &[flag(&Shape::scalar(), false)]);
            let shape = padded.aval().shape;
            inside.select(padded, value.repeated(&shape, &[Axis(shape.rank() - 1)]))
        })
    }

    fn behind(&self, _size: usize) -> Option<Op> {
        let mut op = self.clone();
        op.low.insert(0, 0);
        op.high.insert(0, 0);
        op.interior.insert(0, 0);
        Some(op.into())
    }

    fn strip(&self, axis: Axis, _size: usize, _operands: &[&Aval]) -> Option<Strip> {
        let i = axis.0;
        let none = self.low[i] == 0 && self.high[i] == 0 && self.interior[i] == 0;
        Strip::new(self.clone(), vec![Some(axis), None]).filter(|_| none)
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        let (low, high, interior) = (list(&self.low), list(&self.high), list(&self.interior));
        let padding = format!(", low = {low}, high = {high}, interior = {interior}");
        Lowering::Op(signature("stablehlo.pad", padding))
    }

    fn linear(&self) -> Linear {
        Linear::InAll
    }
}

/// The sum of all elements.
fn sum<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    x.summed((0..x.aval().shape.rank()).map(Axis).collect())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::dtype::DType;

    /// A value of integers.
    pub fn view<'a>(x: &'a [i32], shape: &'a Shape, layout: &'a Layout) -> View<'a> {
        View { dtype: DType::I32, shape, layout, data: cast::bytes(x) }
    }

    /// The elements that an op makes of a dense operand.
    pub fn run(x: &[i32], shape: &Shape, result: &Shape, eval: impl Fn(View, &mut [ViewMut])) -> Vec<i32> {
        let layout = Layout::dense(shape);
        let mut out = vec![-1; result.size()];
        eval(
            view(x, shape, &layout),
            &mut [ViewMut { dtype: DType::I32, shape: result, data: cast::bytes_mut(&mut out) }],
        );
        out
    }

    /// The shape of an op's result on operands of these shapes.
    fn shape_of(op: &dyn OpDef, shapes: &[&Shape]) -> Result<Shape> {
        let operands: Vec<Aval> =
            shapes.iter().map(|&shape| Aval::known(DType::I32, shape.clone())).collect();
        Ok(op.infer(&operands.iter().collect::<Vec<_>>())?.remove(0).shape)
    }

    #[test]
    fn examples_of_the_specification() {
        // As in `slice`: rows 1 to 3 and columns 4 to 8, every second of these.
        let shape = Shape::from([3, 8]);
        let x = [0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 1, 10, 100, 2, 20, 200, 3, 30, 300, 4, 40, 400];
        let op = StaticSlice { start: vec![1, 4], limit: vec![3, 8], stride: vec![1, 2] };
        let result = shape_of(&op, &[&shape]).unwrap();
        assert_eq!(result, [2, 2].into());
        assert_eq!(run(&x, &shape, &result, |x, out| op.eval(&[x], out)), [10, 100, 30, 300]);
        // StableHLO, `pad`: 1, 2, 3 / 4, 5, 6 with low (0, 1), high (2, 1), interior (1, 2).
        let shape = Shape::from([2, 3]);
        let x = [1, 4, 2, 5, 3, 6];
        let op = Pad { low: vec![0, 1], high: vec![2, 1], interior: vec![1, 2] };
        let result = shape_of(&op, &[&shape, &Shape::scalar()]).unwrap();
        assert_eq!(result, [5, 9].into());
        let (zero, scalar) = ([0], (Shape::scalar(), Layout::dense(&Shape::scalar())));
        let out = run(&x, &shape, &result, |x, out| op.eval(&[x, view(&zero, &scalar.0, &scalar.1)], out));
        let rows: Vec<Vec<i32>> = (0..5).map(|i| (0..9).map(|j| out[i + 5 * j]).collect()).collect();
        assert_eq!(rows[0], [0, 1, 0, 0, 2, 0, 0, 3, 0]);
        assert_eq!(rows[1], [0; 9]);
        assert_eq!(rows[2], [0, 4, 0, 0, 5, 0, 0, 6, 0]);
        assert_eq!((&rows[3][..], &rows[4][..]), (&[0; 9][..], &[0; 9][..]));
        // StableHLO, `reverse`.
        let shape = Shape::from([3, 2]);
        let op = Reverse { axes: vec![Axis(1)] };
        assert_eq!(run(&[1, 3, 5, 2, 4, 6], &shape, &shape, |x, out| op.eval(&[x], out)), [2, 4, 6, 1, 3, 5]);
    }

    #[test]
    fn negative_padding_cuts_off_also_between_elements() {
        let pad = |n: usize, low: i64, high: i64, interior: usize| {
            let shape = Shape::from([n]);
            let x: Vec<i32> = (1..=n as i32).collect();
            let op = Pad { low: vec![low], high: vec![high], interior: vec![interior] };
            let result = shape_of(&op, &[&shape, &Shape::scalar()])?;
            let (zero, scalar) = ([0], (Shape::scalar(), Layout::dense(&Shape::scalar())));
            Ok::<_, Error>(run(&x, &shape, &result, |x, out| {
                op.eval(&[x, view(&zero, &scalar.0, &scalar.1)], out)
            }))
        };
        assert_eq!(pad(3, -1, 0, 0).unwrap(), [2, 3]);
        assert_eq!(pad(3, -1, -1, 2).unwrap(), [0, 0, 2, 0, 0]);
        assert_eq!(pad(3, -4, 1, 2).unwrap(), [0, 0, 3, 0]);
        assert_eq!(pad(3, -3, 2, 0).unwrap(), [0, 0]);
        assert_eq!(pad(3, -5, 4, 0).unwrap(), [0, 0]);
        assert_eq!(pad(3, 4, -5, 0).unwrap(), [0, 0]);
        assert_eq!(pad(0, 1, 1, 3).unwrap(), [0, 0]);
        assert_eq!(pad(3, -3, 0, 0).unwrap(), [0; 0]);
        assert!(pad(3, -3, -1, 0).is_err());
    }

    #[test]
    fn empty_slices_read_nothing() {
        let shape = Shape::from([2, 0]);
        let op = StaticSlice { start: vec![2, 0], limit: vec![2, 0], stride: vec![1, 3] };
        let result = shape_of(&op, &[&shape]).unwrap();
        assert_eq!((op.view(&Layout::dense(&shape), &result).offset, result.size()), (0, 0));
        let beyond = StaticSlice { start: vec![0, 0], limit: vec![3, 0], stride: vec![1, 1] };
        let text = shape_of(&beyond, &[&shape]).unwrap_err().to_string();
        assert!(text.contains("1:3 is out of bounds for axis 1 of size 2"), "{text}");
    }
}
