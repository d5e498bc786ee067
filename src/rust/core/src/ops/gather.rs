//! Gather: windows of a value, stacked.

use super::attrs::{logical, vector, Attrs};
use super::binary::Binary;
use super::check::Check;
use super::contract::{Cost, Form, Linear, OpDef, Ordered, Promotion, Role, Strip, Touched, WholeKernel};
use super::lower::{are_wide, op_if, Formula, HloOp, Lowering, Syntax};
use super::places::finder;
use super::rules::{Batch, Vjp};
use super::windows::{check_indices, fitted, Fit, Windows};
use super::{written, Op, Row, Scatter, Update};
use crate::dtype::{DType, ANY};
use crate::error::{Error, Result};
use crate::exec::vm::{Kernel, Slices};
use crate::graph::syntax::Parsed;
use crate::kernels::memory::indexed::{load, Places, Starts, NOWHERE};
use crate::kernels::memory::row_reads;
use crate::shape::{join, Axis, Shape};
use crate::tensor::{Aval, Layout, View, ViewMut};
use std::ops::Range;

/// What it does with windows that do not fit if it does not check them.
const SILENT: &str = "clip";

/// Names of the parameters of windows.
pub(crate) const GATHER_NAMES: [&str; 5] = [
    "offset_axes",
    "collapsed_slice_axes",
    "operand_batching_axes",
    "start_indices_batching_axes",
    "start_index_map",
];

/// Windows of the operand, stacked. Windows that do not fit are moved so that they do (StableHLO, `gather`),
/// or also raise an error.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Gather {
    /// The axes of the windows.
    pub windows: Windows,
    /// Sizes of each window.
    pub slice_sizes: Vec<usize>,
    /// A promise of the user, which other compilers use.
    pub indices_are_sorted: bool,
    /// Whether windows that do not fit are an error.
    pub check: Check,
}

static GATHER: Row = written("gather", "nv_gather", &["operand", "start_indices"], ANY);

impl Gather {
    /// The gather of slices along one axis, at the positions in a vector.
    pub fn along(axis: Axis, shape: &Shape, check: Check) -> Gather {
        let mut slice_sizes = shape.to_vec();
        slice_sizes[axis.0] = 1;
        let windows = Windows {
            window_axes: (0..shape.rank()).map(Axis).filter(|&i| i != axis).collect(),
            dropped: vec![axis],
            batching: vec![],
            index_batching: vec![],
            index_map: vec![axis],
            index_vector_axis: Axis(1),
        };
        Gather { windows, slice_sizes, indices_are_sorted: false, check }
    }
}

impl OpDef for Gather {
    fn row(&self) -> &'static Row {
        &GATHER
    }

    fn rows() -> Vec<&'static Row> {
        vec![&GATHER]
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        let mut out = vec![("slice_sizes", vector(&self.slice_sizes))];
        out.extend(self.windows.attributes(GATHER_NAMES));
        out.push(("indices_are_sorted", logical(self.indices_are_sorted)));
        out.extend(self.check.attribute(SILENT));
        out
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::Each(&[Role::Own, Role::Position])
    }

    fn decode(_row: &'static Row, attrs: &Attrs, operands: &[&Aval]) -> Result<Op> {
        let windows = Windows::decode(attrs, GATHER_NAMES, operands)?;
        let slice_sizes = attrs.shape("slice_sizes")?.to_vec();
        let indices_are_sorted = attrs.flag("indices_are_sorted")?;
        Ok(Gather { windows, slice_sizes, indices_are_sorted, check: Check::decode(attrs)? }.into())
    }

    fn parse(form: &Form) -> Parsed<Gather> {
        form.takes(2)?;
        Ok(Gather {
            windows: Windows::parse(form, GATHER_NAMES)?,
            slice_sizes: form.numbers("slice_sizes")?,
            indices_are_sorted: form.logical("indices_are_sorted")?,
            check: Check::parse(form, SILENT)?,
        })
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let (x, indices) = (operands[0], operands[1]);
        let (windows, sizes) = (&self.windows, &self.slice_sizes);
        check_indices(&GATHER, "start_indices", indices)?;
        windows.check(GATHER_NAMES, &x.shape, &indices.shape)?;
        let rank = x.shape.rank();
        if sizes.len() != rank {
            return Err(Error::arg("slice_sizes", format!("{rank} sizes, one for each axis"), vector(sizes)));
        }
        for (i, (&window, &size)) in sizes.iter().zip(x.shape.iter()).enumerate() {
            let axis = Axis(i);
            if window > size {
                return Err(Error::Window { window, axis, size });
            }
            let one = windows.dropped.contains(&axis) || windows.batching.contains(&axis) && size > 0;
            if one && window != 1 {
                let expected = format!("1 for axis {axis}, which is collapsed or batched");
                return Err(Error::arg("slice_sizes", expected, window.to_string()));
            }
        }
        let mut batches = windows.batches(&indices.shape).map(|i| indices.shape[i]);
        let mut kept = windows.kept(rank).map(|i| sizes[i]);
        let count = windows.batches(&indices.shape).count() + windows.window_axes.len();
        let size = |i| if windows.window_axes.contains(&Axis(i)) { kept.next() } else { batches.next() };
        let sizes = (0..count).map(size).map(|size| size.expect("as many as were checked"));
        Ok(vec![Aval { shape: Shape::try_new(sizes.collect())?, ..x.clone() }])
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let (x, indices, out) = (&operands[0], &operands[1], &mut results[0]);
        if out.data.is_empty() {
            return;
        }
        let fit = Fit { x: x.shape, layout: x.layout, sizes: &self.slice_sizes, clamps: true };
        let find = |range: Range<usize>, out: &mut [isize]| {
            self.windows.starts(&fit, indices, &self.check, range, out)
        };
        let places = |range: Range<usize>, share: &Range<usize>, out: &mut [u32]| {
            self.windows.places(&fit, indices, &self.check, (range, share), out)
        };
        let places: Option<&Places> =
            if self.windows.has_places(&fit, indices) { Some(&places) } else { None };
        let examples = self.windows.examples(x.layout, indices);
        let starts = Starts { count: self.windows.count(indices.shape), find: &find, places, examples };
        let walk = self.windows.walk(out.shape, x.layout);
        load(&walk, &starts, x.data, out);
    }

    /// Of slices along one axis, or of elements of a vector.
    fn whole_kernel(&self, operands: &[(&Shape, Layout)], from: &[DType]) -> Option<WholeKernel> {
        let [(shape, layout), (index_shape, index_layout)] = operands else { return None };
        let picked = self.picked(shape);
        let axis = picked.or_else(|| self.axis(shape, index_shape))?;
        let (first, stride) = (layout.offset as isize, layout.strides[axis.0]);
        let (size, x, indices) = (shape[axis.0], from[0], from[1]);
        let batches: Vec<_> = self.windows.along_batches(index_shape, layout).collect();
        let reach = |size: usize, stride: isize| stride * (size as isize - 1);
        let others = batches.iter().map(|along| reach(along.count, along.apart));
        let ends = others.fold([first, first + reach(size, stride)], |ends, way| {
            [ends[0].min(ends[1]).saturating_add(way.min(0)), ends[0].max(ends[1]).saturating_add(way.max(0))]
        });
        if ends.into_iter().any(|end| !(0..NOWHERE as isize).contains(&end)) {
            return None;
        }
        let find = finder(&self.check, indices, (first, stride), (axis, size), batches, true);
        if picked.is_some() {
            return Some(WholeKernel { whole: 1, kernel: Box::new(move || Kernel::pick(x, indices, find)) });
        }
        let slices = slices(axis, (shape, layout), (index_shape, index_layout))?;
        // Tiles are of one column each, and rows are read side by side in all columns at once.
        if slices.column.is_some() && row_reads::is_worth(slices.count, size, shape.size() / size, x.bytes())
        {
            return None;
        }
        Some(WholeKernel { whole: 2, kernel: Box::new(move || Kernel::slices(x, indices, slices, find)) })
    }

    fn cost(&self) -> Cost {
        /// The estimated time of a read from a random address, and of one of an element in a line, in picoseconds.
        const PICK: [usize; 2] = [1_000, 100];
        Cost::Picoseconds(PICK[usize::from(self.slice_sizes.first().is_some_and(|&size| size > 1))])
    }

    /// The gradient of each window is added where it was read.
    fn vjp(&self) -> Vjp<'_> {
        Vjp::by(|at| {
            let (x, indices) = (at.x(0), at.x(1));
            let starts = match self.check {
                Check::Raises(_) | Check::RaisesTurned(..) => indices,
                Check::Silent => fitted(indices, &self.windows, &x.aval().shape, &self.slice_sizes).clamped,
            };
            let scatter = Scatter {
                windows: self.windows.clone(),
                update: Update::With(Binary::add),
                indices_are_sorted: self.indices_are_sorted,
                unique_indices: false,
                // The read itself may be in no program, as its value is in no gradient.
                check: self.check.clone(),
            };
            vec![Some(x.of(0.0).apply(scatter, &[starts, at.g()])), None]
        })
    }

    /// A batch axis of the operand alone is one more axis of the windows, one of the indices alone one more
    /// axis of the stack; where both have it, it is a batching axis.
    fn batch(&self) -> Batch<'_> {
        Batch::of_one(|at| {
            let mut op = self.clone();
            let (indices, split) = at.positions(1, &self.check);
            if split {
                op.indices_are_sorted = false;
                op.windows.split(at.batched[0].then(|| at.rank(0)), at.rank(1));
                // A window has one element along a batching axis that is not empty.
                op.slice_sizes.extend(at.batched[0].then_some(at.size.min(1)));
            } else {
                let stack =
                    self.windows.batches(&indices.aval().shape).count() + self.windows.window_axes.len();
                op.windows.window_axes.push(Axis(stack));
                op.slice_sizes.push(at.size);
            }
            at.x(0).apply(op, &[indices])
        })
    }

    /// The axes of the stack follow those of the indices; those of the windows keep their order. Of several indices out of
    /// range, the error names any.
    fn ordered(&self, order: &[Axis], operands: &[&Aval]) -> Option<Ordered> {
        let (windows, indices) = (&self.windows, &operands[1].shape);
        let of_windows = |axis: &Axis| windows.window_axes.contains(axis);
        if !order.iter().filter(|axis| of_windows(axis)).eq(&windows.window_axes) {
            return None;
        }
        let batches: Vec<usize> = windows.batches(indices).collect();
        let stacked: Vec<Axis> = (0..order.len()).map(Axis).filter(|axis| !of_windows(axis)).collect();
        let batch = |axis: &Axis| stacked.iter().position(|other| other == axis).map(|i| Axis(batches[i]));
        let mut of_indices: Vec<Axis> = order.iter().filter_map(batch).collect();
        if windows.index_vector_axis.0 < indices.rank() {
            of_indices.push(windows.index_vector_axis);
        }
        let moved =
            |axis: &Axis| Axis(of_indices.iter().position(|other| other == axis).unwrap_or(indices.rank()));
        let mut op = self.clone();
        op.indices_are_sorted = false;
        op.windows.window_axes =
            (0..order.len()).map(Axis).filter(|axis| of_windows(&order[axis.0])).collect();
        op.windows.index_batching = windows.index_batching.iter().map(moved).collect();
        op.windows.index_vector_axis = moved(&windows.index_vector_axis);
        let whole = (0..operands[0].shape.rank()).map(Axis).collect();
        Some(Ordered { op: op.into(), orders: vec![whole, of_indices] })
    }

    fn strip(&self, axis: Axis, size: usize, operands: &[&Aval]) -> Option<Strip> {
        let of = &operands[0].shape;
        let axes = self.windows.strips(axis, of.rank(), &operands[1].shape)?;
        let mut op = self.clone();
        if let [Some(own), None] = axes {
            if self.slice_sizes[own.0] != of[own.0] || self.windows.index_map.contains(&own) {
                return None;
            }
            op.slice_sizes[own.0] = size;
        }
        Strip::new(op, axes.to_vec())
    }

    fn lower(&self, operands: &[Aval]) -> Lowering<'_> {
        let attributes = format!(
            "dimension_numbers = #stablehlo.gather<{}>, indices_are_sorted = {}, slice_sizes = array<i64{}{}>",
            self.windows.lower([
                "offset_dims",
                "collapsed_slice_dims",
                "operand_batching_dims",
                "start_indices_batching_dims",
                "start_index_map",
            ]),
            self.indices_are_sorted,
            if self.slice_sizes.is_empty() { "" } else { ": " },
            join(&self.slice_sizes, ", "),
        );
        let op = HloOp { name: "stablehlo.gather", syntax: Syntax::Generic(attributes) };
        op_if(are_wide(&operands[1..]), op, Formula::WideIndices(1))
    }

    fn consists_of(&self, _operands: usize) -> Vec<usize> {
        vec![0]
    }

    fn linear(&self) -> Linear {
        Linear::In(&[0])
    }

    fn touched(&self) -> Option<Touched> {
        Some(Touched::Read)
    }

    fn raises(&self) -> bool {
        self.check.raises()
    }
}

impl Gather {
    /// The axis along which it reads single elements, one for each index, of the example of that; `None` if it reads anything
    /// else.
    fn picked(&self, x: &Shape) -> Option<Axis> {
        let &[axis] = &self.windows.index_map[..] else { return None };
        (x.size() > 0 && self.slice_sizes.iter().all(|&size| size == 1)).then_some(axis)
    }

    /// The axis along which it reads slices of one element, one for each index, in the order of the indices, whose axes
    /// are where it was; `None` if it reads anything else.
    fn axis(&self, x: &Shape, indices: &Shape) -> Option<Axis> {
        let Windows { window_axes, dropped, batching, index_map, .. } = &self.windows;
        let (&[axis], [dropped], []) = (&index_map[..], &dropped[..], &batching[..]) else { return None };
        let more = self.windows.batches(indices).count();
        let kept = (0..x.rank()).filter(|&i| i != axis.0);
        let all = kept.clone().all(|i| self.slice_sizes[i] == x[i]);
        let stays =
            window_axes.iter().map(|axis| axis.0).eq(kept.map(|i| if i < axis.0 { i } else { i - 1 + more }));
        (*dropped == axis && x.size() > 0 && all && stays).then_some(axis)
    }
}

/// How slices along an axis of a value lie, whose indices are side by side, if the elements before the axis are one line,
/// and those after it are as far apart as each other.
fn slices(axis: Axis, x: (&Shape, &Layout), indices: (&Shape, &Layout)) -> Option<Slices> {
    let joint = |axes: Range<usize>| match x.1.lines(x.0, axes)[..] {
        [] => Some((1, 0)),
        [line] => Some(line),
        _ => None,
    };
    let (line, (_, apart)) = (joint(0..axis.0)?, joint(axis.0 + 1..x.0.rank())?);
    let (count, lies) = (indices.0.size(), indices.1.lines(indices.0, 0..indices.0.rank()));
    let first = x.1.offset;
    let column = (line.0 == 1 && x.1.strides[axis.0] == 1 && apart > 0).then(|| first..first + x.0[axis.0]);
    matches!(lies[..], [] | [(_, 1)]).then_some(Slices {
        count,
        line,
        apart,
        column,
        first: indices.1.offset,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::cast;
    use crate::ops::windows::example::{axes_of, by_rows, indices, operand, windows};

    #[test]
    fn gather_of_the_specification() {
        // The example of `gather`, with batching axes; the index 9 is moved to the last that fits.
        let ((shape, x), (index_shape, index)) = (operand(), indices());
        let op = Gather {
            windows: windows(),
            slice_sizes: vec![1, 1, 2, 2],
            indices_are_sorted: false,
            check: Check::Silent,
        };
        let types = (Aval::known(DType::I32, shape.clone()), Aval::known(DType::I32, index_shape.clone()));
        let result = op.infer(&[&types.0, &types.1]).unwrap().remove(0).shape;
        assert_eq!(result, [2, 2, 3, 2, 2].into());
        let (lx, li) = (Layout::dense(&shape), Layout::dense(&index_shape));
        let mut out = vec![0i32; result.size()];
        op.eval(
            &[
                View { dtype: DType::I32, shape: &shape, layout: &lx, data: cast::bytes(&x) },
                View { dtype: DType::I32, shape: &index_shape, layout: &li, data: cast::bytes(&index) },
            ],
            &mut [ViewMut { dtype: DType::I32, shape: &result, data: cast::bytes_mut(&mut out) }],
        );
        let want = [
            1, 2, 3, 4, 3, 4, 5, 6, 13, 14, 15, 16, 33, 34, 35, 36, 35, 36, 37, 38, 41, 42, 43, 44, 1, 2, 3,
            4, 13, 14, 15, 16, 21, 22, 23, 24, 43, 44, 45, 46, 33, 34, 35, 36, 27, 28, 29, 30,
        ];
        assert_eq!(out, by_rows(&result, &want));
    }

    #[test]
    fn axis_numbers_are_checked() {
        let (x, i) = (Aval::known(DType::F32, [4, 5].into()), Aval::known(DType::I32, [3].into()));
        let infer = |change: &dyn Fn(&mut Gather)| {
            let mut op = Gather::along(Axis(0), &x.shape, Check::Silent);
            change(&mut op);
            op.infer(&[&x, &i]).map(|types| types[0].shape.clone())
        };
        assert_eq!(infer(&|_| ()).unwrap(), [3, 5].into());
        let refused = |change: &dyn Fn(&mut Gather), what: &str| {
            let text = infer(change).unwrap_err().to_string();
            assert!(text.contains(what), "{text}");
        };
        refused(&|op| op.windows.window_axes = axes_of(&[2]), "`offset_axes`");
        refused(&|op| op.windows.window_axes = vec![], "`offset_axes`");
        refused(&|op| op.windows.dropped = axes_of(&[0, 0]), "`collapsed_slice_axes`");
        refused(&|op| op.windows.index_map = axes_of(&[0, 1]), "`start_index_map`");
        refused(&|op| op.windows.index_vector_axis = Axis(2), "`index_vector_axis`");
        refused(&|op| op.windows.index_vector_axis = Axis(0), "`offset_axes`");
        refused(&|op| op.windows.batching = axes_of(&[0]), "`collapsed_slice_axes`");
        refused(&|op| op.slice_sizes = vec![2, 5], "`slice_sizes`");
        refused(&|op| op.slice_sizes = vec![1, 6], "axis 2 of size 5");
        refused(&|op| op.slice_sizes = vec![1], "`slice_sizes`");
        let float = Gather::along(Axis(0), &x.shape, Check::Silent)
            .infer(&[&x, &Aval::known(DType::F32, [3].into())]);
        assert_eq!(float.unwrap_err().class(), "anvil_error_dtype");
    }
}
