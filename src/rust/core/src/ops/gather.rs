//! Windows of a value at positions that are an operand: read ([`Gather`]) or written ([`Scatter`]).
//!
//! Both describe their windows by StableHLO's dimension numbers. Positions along the dimension
//! `index_vector_dim` of the indices belong together: each such vector says where one window starts.

use super::attrs::{logical, vector};
use super::binary::Tiles;
pub use super::update::Update;
use super::{written, Region, Row};
use crate::dtype::{dispatch, DType, Element, ANY, INTEGER};
use crate::error::{Error, Result};
use crate::exec::vm::Kernel;
use crate::kernels::cast::by_width;
use crate::kernels::memory::indexed::{combine, load, store, Starts, Step, Targets, Walk, OUTSIDE};
use crate::kernels::tile::{copy, tile, tiles};
use crate::kernels::wide::wide;
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, Layout, View, ViewMut};
use std::ops::Range;

/// How windows lie in a value, and how they are stacked in another.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Windows {
    /// Dimensions of the stack that are dimensions of the windows, ascending; its others are those of the
    /// indices.
    pub window_dims: Vec<Axis>,
    /// Dimensions of the value along which windows have size 1, and which are no dimensions of the stack;
    /// ascending.
    pub dropped: Vec<Axis>,
    /// Dimensions of the value that are walked along with some of the indices; ascending.
    pub batching: Vec<Axis>,
    /// Those of the indices, in the same order.
    pub index_batching: Vec<Axis>,
    /// The dimension of the value that each element of an index vector is a position of.
    pub index_map: Vec<Axis>,
    /// The dimension of the indices that holds the vectors; one more than there are for vectors of length 1.
    pub index_vector_dim: Axis,
}

/// Names of the parameters: as StableHLO has them, with `axes` for `dims`.
type Names = [&'static str; 5];
const GATHER_NAMES: [&str; 5] = [
    "offset_axes",
    "collapsed_slice_axes",
    "operand_batching_axes",
    "start_indices_batching_axes",
    "start_index_map",
];
const SCATTER_NAMES: [&str; 5] = [
    "update_window_axes",
    "inserted_window_axes",
    "input_batching_axes",
    "scatter_indices_batching_axes",
    "scatter_axes_to_operand_axes",
];

/// Checks that an operand holds integers.
pub(super) fn check_indices(row: &Row, operand: &str, x: &Aval) -> Result<()> {
    if INTEGER.contains(x.dtype) {
        return Ok(());
    }
    Err(Error::UnsupportedDtype {
        op: row.function.into(),
        operand: operand.into(),
        accepts: INTEGER.name.into(),
        got: x.dtype,
        hint: "Indices are integers: convert with `nv_convert(x, \"i32\")`.".into(),
    })
}

impl Windows {
    fn attributes(&self, names: Names) -> Vec<(&'static str, String)> {
        let dims = [&self.window_dims, &self.dropped, &self.batching, &self.index_batching, &self.index_map];
        let mut out: Vec<_> = names.into_iter().zip(dims.map(|d| vector(d))).collect();
        // They are seldom used, and an empty vector says nothing.
        if self.batching.is_empty() {
            out.drain(2..4);
        }
        out.push(("index_vector_axis", self.index_vector_dim.to_string()));
        out
    }

    /// Dimensions of the value that are dimensions of its windows in the stack.
    fn kept(&self, rank: usize) -> impl Iterator<Item = usize> + '_ {
        (0..rank).filter(|&i| !self.dropped.contains(&Axis(i)) && !self.batching.contains(&Axis(i)))
    }

    /// Dimensions of the indices that do not hold the vectors: those of the stack that are no window's.
    pub(super) fn batches(&self, indices: &Shape) -> Vec<usize> {
        (0..indices.rank()).filter(|&i| Axis(i) != self.index_vector_dim).collect()
    }

    /// Checks everything but the sizes of the windows.
    fn check(&self, names: Names, x: &Shape, indices: &Shape) -> Result<()> {
        let rank = x.rank();
        if self.index_vector_dim.0 > indices.rank() {
            let expected = format!("an axis of the indices, or {}", indices.rank() + 1);
            return Err(Error::arg("index_vector_axis", expected, self.index_vector_dim.to_string()));
        }
        let count = self.batches(indices).len() + self.window_dims.len();
        check_dims(names[0], &self.window_dims, count, true)?;
        check_dims(names[1], &self.dropped, rank, true)?;
        check_dims(names[2], &self.batching, rank, true)?;
        check_dims(names[3], &self.index_batching, indices.rank(), false)?;
        check_dims(names[4], &self.index_map, rank, false)?;
        let refuse = |name, expected: String, got: &[Axis]| Err(Error::arg(name, expected, vector(got)));
        if let Some(i) = self.dropped.iter().find(|i| self.batching.contains(i)) {
            return refuse(names[1], format!("without the axes of `{}`", names[2]), &[*i]);
        }
        let left = rank - self.dropped.len() - self.batching.len();
        if self.window_dims.len() != left {
            let what = if left == 1 { "axis" } else { "axes" };
            let expected = format!("{left} {what}: one for each axis that is neither dropped nor batched");
            return refuse(names[0], expected, &self.window_dims);
        }
        let length = indices.get(self.index_vector_dim.0).copied().unwrap_or(1);
        if self.index_map.len() != length {
            let expected = format!("as long as the index vectors, {length}");
            return refuse(names[4], expected, &self.index_map);
        }
        if let Some(i) = self.index_map.iter().find(|i| self.batching.contains(i)) {
            return refuse(names[4], format!("without the axes of `{}`", names[2]), &[*i]);
        }
        let pairs = || self.batching.iter().zip(&self.index_batching);
        let sizes_agree = pairs().all(|(i, j)| x[i.0] == indices[j.0]);
        if self.batching.len() != self.index_batching.len()
            || self.index_batching.contains(&self.index_vector_dim)
            || !sizes_agree
        {
            let expected = format!("axes of the indices of the sizes of those in `{}`", names[2]);
            return refuse(names[3], expected, &self.index_batching);
        }
        Ok(())
    }

    /// Number of windows.
    fn count(&self, indices: &Shape) -> usize {
        self.batches(indices).into_iter().map(|i| indices[i]).product()
    }

    /// Where each of some windows starts in a value of this layout. A window of these sizes that does not fit
    /// is moved if `clamps`, else [`OUTSIDE`].
    fn starts(
        &self,
        x: &Shape,
        layout: &Layout,
        sizes: &[usize],
        indices: &View,
        clamps: bool,
        range: Range<usize>,
        out: &mut [isize],
    ) {
        let batches = self.batches(indices.shape);
        let pick = |from: &[usize]| Shape::try_new(batches.iter().map(|&i| from[i]).collect());
        let shape = pick(indices.shape).expect("part of an addressable shape");
        let strides: Vec<isize> = batches.iter().map(|&i| indices.layout.strides[i]).collect();
        out.fill(layout.offset as isize);
        for (component, axis) in self.index_map.iter().enumerate() {
            let step = indices.layout.strides.get(self.index_vector_dim.0).copied().unwrap_or(0);
            let offset = (indices.layout.offset as isize + component as isize * step) as usize;
            let part = Layout { strides: strides.clone(), offset };
            let part = View { shape: &shape, layout: &part, ..*indices };
            let (last, stride) = (x[axis.0] as i64 - sizes[axis.0] as i64, layout.strides[axis.0]);
            dispatch!(indices.dtype, T => {
                let mut scratch = Vec::new();
                for tile_of in tiles(range.len()) {
                    let slots = &mut out[tile_of.clone()];
                    let tile_of = range.start + tile_of.start..range.start + tile_of.end;
                    let indices = (slots, tile::<T>(&part, tile_of, &mut scratch));
                    match (clamps, stride) {
                        (true, 1) => clamped(indices, last, |index| index),
                        (true, _) => clamped(indices, last, |index| index * stride),
                        (false, 1) => inside(indices, last, |index| index),
                        (false, _) => inside(indices, last, |index| index.wrapping_mul(stride)),
                    }
                }
            });
        }
        // Number of a window to its index along a batching dimension.
        let dense = shape.strides();
        for (axis, j) in self.batching.iter().zip(&self.index_batching) {
            let at = batches.iter().position(|&i| i == j.0).expect("checked not to hold the vectors");
            for (number, slot) in range.clone().zip(&mut *out).filter(|(_, slot)| **slot != OUTSIDE) {
                *slot += (number / dense[at] % shape[at]) as isize * layout.strides[axis.0];
            }
        }
    }

    /// A walk over the stack, with steps in a value of this layout.
    fn walk(&self, stack: &Shape, layout: &Layout) -> Walk {
        let mut kept = self.kept(layout.strides.len());
        let mut entries = 1;
        let step = stack.iter().enumerate().map(|(i, &size)| {
            if self.window_dims.contains(&Axis(i)) {
                let axis = kept.next().expect("as many as there are window axes");
                return (size, Step::Memory(layout.strides[axis]));
            }
            let own = entries;
            entries *= size;
            (size, Step::Table(own))
        });
        Walk::new(step.collect::<Vec<_>>().into_iter())
    }
}

/// Distinct dimension numbers below `rank`, in ascending order if `sorted`.
fn check_dims(name: &str, dims: &[Axis], rank: usize, sorted: bool) -> Result<()> {
    let twice = |i: usize| dims[..i].contains(&dims[i]);
    let wrong =
        (0..dims.len()).any(|i| dims[i].0 >= rank || twice(i) || (sorted && i > 0 && dims[i - 1] > dims[i]));
    if !wrong {
        return Ok(());
    }
    let order = if sorted { " in ascending order" } else { "" };
    Err(Error::arg(name, format!("distinct axes from 1 to {rank}{order}"), vector(dims)))
}

/// Windows of the operand, stacked. Those that do not fit are moved so that they do (StableHLO, `gather`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Gather {
    /// How they lie.
    pub windows: Windows,
    /// Sizes of each window.
    pub slice_sizes: Vec<usize>,
    /// A promise, of use to other compilers.
    pub indices_are_sorted: bool,
}

pub(super) static GATHER: Row = written("gather", "nv_gather", &["operand", "start_indices"], ANY);

impl Gather {
    /// Elements of one dimension, at the positions in a vector.
    pub fn along(axis: Axis, shape: &Shape) -> Gather {
        let mut slice_sizes = shape.to_vec();
        slice_sizes[axis.0] = 1;
        let windows = Windows {
            window_dims: (0..shape.rank()).map(Axis).filter(|&i| i != axis).collect(),
            dropped: vec![axis],
            batching: vec![],
            index_batching: vec![],
            index_map: vec![axis],
            index_vector_dim: Axis(1),
        };
        Gather { windows, slice_sizes, indices_are_sorted: false }
    }

    pub(super) fn attributes(&self) -> Vec<(&'static str, String)> {
        let mut out = vec![("slice_sizes", vector(&self.slice_sizes))];
        out.extend(self.windows.attributes(GATHER_NAMES));
        out.push(("indices_are_sorted", logical(self.indices_are_sorted)));
        out
    }

    pub(super) fn infer(&self, x: &Aval, indices: &Aval) -> Result<Aval> {
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
        let mut batches = windows.batches(&indices.shape).into_iter().map(|i| indices.shape[i]);
        let mut kept = windows.kept(rank).map(|i| sizes[i]);
        let count = windows.batches(&indices.shape).len() + windows.window_dims.len();
        let size = |i| if windows.window_dims.contains(&Axis(i)) { kept.next() } else { batches.next() };
        let sizes = (0..count).map(size).map(|size| size.expect("as many as were checked"));
        Ok(Aval { shape: Shape::try_new(sizes.collect())?, ..x.clone() })
    }

    pub(super) fn eval(&self, x: &View, indices: &View, out: &mut ViewMut) {
        if out.data.is_empty() {
            return;
        }
        let find = |range: Range<usize>, out: &mut [isize]| {
            self.windows.starts(x.shape, x.layout, &self.slice_sizes, indices, true, range, out)
        };
        let starts = Starts { count: self.windows.count(indices.shape), find: &find };
        let walk = self.windows.walk(out.shape, x.layout);
        by_width!(x.dtype, T => load::<T>(&walk, &starts, x.data, out));
    }
}

impl Gather {
    /// Whether it is single elements of a vector, one for each index, in the order of the indices.
    pub(crate) fn is_pick(&self, x: &Shape) -> bool {
        let Windows { window_dims, dropped, batching, index_map, .. } = &self.windows;
        let first = [Axis(0)];
        x.rank() == 1
            && x.size() > 0
            && *self.slice_sizes == [1]
            && window_dims.is_empty()
            && **dropped == first
            && batching.is_empty()
            && **index_map == first
    }

    /// Then, its instruction, for a vector of this many elements and this layout, of the first dtype, and
    /// indices of the second.
    pub(crate) fn kernel(&self, size: usize, layout: &Layout, from: &[DType]) -> Kernel {
        let (first, stride, last) = (layout.offset as isize, layout.strides[0], size as i64 - 1);
        dispatch!(from[1], I => by_width!(from[0], T => {
            if stride == 1 && first == 0 {
                Kernel::pick::<T, I>(move |places, indices| clamped((places, indices), last, |index| index))
            } else {
                Kernel::pick::<T, I>(move |places, indices| clamped((places, indices), last, |index| first + index * stride))
            }
        }))
    }
}

/// Adds the distances of indices to where windows start; those that do not fit are moved.
fn clamped<T: Element>((slots, indices): (&mut [isize], &[T]), last: i64, distance: impl Fn(isize) -> isize) {
    let most = last.max(0);
    wide(|| {
        for (slot, &index) in slots.iter_mut().zip(indices) {
            *slot += distance(super::slice::position(index).max(0).min(most) as isize);
        }
    });
}

/// As [`clamped`]; those that do not fit are [`OUTSIDE`].
fn inside<T: Element>((slots, indices): (&mut [isize], &[T]), last: i64, distance: impl Fn(isize) -> isize) {
    wide(|| {
        for (slot, &index) in slots.iter_mut().zip(indices) {
            let index = super::slice::position(index);
            let fits = (index >= 0) & (index <= last) & (*slot != OUTSIDE);
            // A product is made in any case, so that the loop becomes vectors: it may wrap where it is not
            // used.
            *slot = if fits { slot.wrapping_add(distance(index as isize)) } else { OUTSIDE };
        }
    });
}

/// The input with windows of it updated by a stack of others, in the order of the stack. Those that do not
/// fit are left out (StableHLO, `scatter`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Scatter {
    /// How they lie.
    pub windows: Windows,
    /// What is done.
    pub update: Update,
    /// A promise, of use to other compilers.
    pub indices_are_sorted: bool,
    /// Another: that no two windows overlap.
    pub unique_indices: bool,
}

pub(super) static SCATTER: Row =
    written("scatter", "nv_scatter", &["input", "scatter_indices", "update"], ANY);

impl Scatter {
    pub(super) fn attributes(&self) -> Vec<(&'static str, String)> {
        let mut out = self.windows.attributes(SCATTER_NAMES);
        out.push(("indices_are_sorted", logical(self.indices_are_sorted)));
        out.push(("unique_indices", logical(self.unique_indices)));
        out.push(("update_computation", self.update.name()));
        out
    }

    /// Sizes of the windows, along each dimension of the input.
    pub(super) fn sizes(&self, rank: usize, update: &Shape) -> Vec<usize> {
        let mut sizes = vec![1; rank];
        self.windows.kept(rank).zip(&self.windows.window_dims).for_each(|(i, j)| sizes[i] = update[j.0]);
        sizes
    }

    pub(super) fn infer(&self, operands: &[&Aval]) -> Result<Aval> {
        let [x, indices, update, captured @ ..] = operands else {
            return Err(Error::Internal { detail: "scatter: too few operands".into() });
        };
        let op = || SCATTER.function.to_string();
        check_indices(&SCATTER, "scatter_indices", indices)?;
        if x.dtype != update.dtype {
            return Err(Error::DtypeMismatch { op: op(), lhs: x.dtype, rhs: update.dtype });
        }
        self.update.check(&SCATTER, x, captured)?;
        self.windows.check(SCATTER_NAMES, &x.shape, &indices.shape)?;
        let batches: Vec<usize> =
            self.windows.batches(&indices.shape).into_iter().map(|i| indices.shape[i]).collect();
        let count = batches.len() + self.windows.window_dims.len();
        if update.shape.rank() != count {
            let (operand, shape) = ("update".into(), update.shape.clone());
            let expected = format!("{count} axes, those of the windows and of the indices");
            return Err(Error::Rank { op: op(), operand, expected, shape, hint: String::new() });
        }
        let others = (0..count).filter(|&i| !self.windows.window_dims.contains(&Axis(i)));
        for (i, &size) in others.zip(&batches) {
            if update.shape[i] != size {
                return Err(Error::SizeMismatch {
                    op: op(),
                    lhs: update.shape.clone(),
                    rhs: indices.shape.clone(),
                    what: format!("Axis {} of the update belongs to the indices", Axis(i)),
                    l: update.shape[i],
                    r: size,
                });
            }
        }
        let windows = self.sizes(x.shape.rank(), &update.shape);
        for i in self.windows.kept(x.shape.rank()) {
            let (window, axis, size) = (windows[i], Axis(i), x.shape[i]);
            if window > size {
                return Err(Error::Window { window, axis, size });
            }
        }
        Ok((*x).clone())
    }

    /// The graph that it runs for each element, if it is none of the updates with a name.
    pub fn region(&self) -> Option<&Region> {
        match &self.update {
            Update::By(region) => Some(region),
            _ => None,
        }
    }

    /// Where the elements of an update of this shape go, in a dense input of this shape.
    pub fn targets(&self, input: &Shape, indices: &View, update: &Shape) -> Targets {
        self.with_starts(input, indices, update, |walk, starts| Targets { walk, table: starts.table() })
    }

    fn with_starts<R>(
        &self,
        input: &Shape,
        indices: &View,
        update: &Shape,
        f: impl FnOnce(Walk, &Starts) -> R,
    ) -> R {
        let layout = Layout::dense(input);
        let sizes = self.sizes(input.rank(), update);
        let find = |range: Range<usize>, out: &mut [isize]| {
            self.windows.starts(input, &layout, &sizes, indices, false, range, out)
        };
        f(
            self.windows.walk(update, &layout),
            &Starts { count: self.windows.count(indices.shape), find: &find },
        )
    }

    pub(super) fn eval(&self, [x, indices, update]: [&View; 3], out: &mut ViewMut) {
        if out.data.is_empty() {
            return;
        }
        match &self.update {
            Update::Replace => by_width!(x.dtype, T => {
                copy::<T>(x, out);
                self.with_starts(out.shape, indices, update.shape, |walk, starts| store::<T>(&walk, starts, update, out));
            }),
            Update::With(op) => dispatch!(x.dtype, T => {
                copy::<T>(x, out);
                let kernel = <T as Tiles>::tile(*op).expect("infer accepts what has a tile");
                self.with_starts(out.shape, indices, update.shape, |walk, starts| {
                    combine::<T>(&walk, starts, update, out, kernel.one, kernel.slices)
                });
            }),
            Update::By(_) => unreachable!("executors run regions"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::cast;
    use crate::ops::Binary;

    fn dims(x: &[usize]) -> Vec<Axis> {
        x.iter().copied().map(Axis).collect()
    }

    /// A tensor of this shape from elements in row-major order, as the specification writes them.
    fn by_rows<T: Copy + Default>(shape: &Shape, x: &[T]) -> Vec<T> {
        let mut out = vec![T::default(); x.len()];
        let strides = shape.strides();
        for (n, &x) in x.iter().enumerate() {
            let (mut rest, mut at) = (n, 0);
            for i in (0..shape.rank()).rev() {
                at += rest % shape[i] * strides[i];
                rest /= shape[i];
            }
            out[at] = x;
        }
        out
    }

    // The operand and the indices of both examples: (2,3,4,2), and the same positions twice.
    fn operand() -> (Shape, Vec<i32>) {
        let shape = Shape::from([2, 3, 4, 2]);
        let x: Vec<i32> = (1..=48).collect();
        (shape.clone(), by_rows(&shape, &x))
    }

    fn indices() -> (Shape, Vec<i32>) {
        let shape = Shape::from([2, 2, 3, 2]);
        let x = [0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 0, 9, 0, 0, 2, 1, 2, 2, 1, 2, 0, 1, 1, 0];
        (shape.clone(), by_rows(&shape, &x))
    }

    fn windows() -> Windows {
        Windows {
            window_dims: dims(&[3, 4]),
            dropped: dims(&[1]),
            batching: dims(&[0]),
            index_batching: dims(&[1]),
            index_map: dims(&[2, 1]),
            index_vector_dim: Axis(3),
        }
    }

    #[test]
    fn gather_of_the_specification() {
        // The example of `gather`, with batching dimensions; the index 9 is moved to the last that fits.
        let ((shape, x), (index_shape, index)) = (operand(), indices());
        let op = Gather { windows: windows(), slice_sizes: vec![1, 1, 2, 2], indices_are_sorted: false };
        let types = (Aval::known(DType::I32, shape.clone()), Aval::known(DType::I32, index_shape.clone()));
        let result = op.infer(&types.0, &types.1).unwrap().shape;
        assert_eq!(result, [2, 2, 3, 2, 2].into());
        let (lx, li) = (Layout::dense(&shape), Layout::dense(&index_shape));
        let mut out = vec![0i32; result.size()];
        op.eval(
            &View { dtype: DType::I32, shape: &shape, layout: &lx, data: cast::bytes(&x) },
            &View { dtype: DType::I32, shape: &index_shape, layout: &li, data: cast::bytes(&index) },
            &mut ViewMut { dtype: DType::I32, shape: &result, data: cast::bytes_mut(&mut out) },
        );
        let want = [
            1, 2, 3, 4, 3, 4, 5, 6, 13, 14, 15, 16, 33, 34, 35, 36, 35, 36, 37, 38, 41, 42, 43, 44, 1, 2, 3,
            4, 13, 14, 15, 16, 21, 22, 23, 24, 43, 44, 45, 46, 33, 34, 35, 36, 27, 28, 29, 30,
        ];
        assert_eq!(out, by_rows(&result, &want));
    }

    #[test]
    fn scatter_adds_what_a_naive_loop_adds() {
        let ((shape, x), (index_shape, index)) = (operand(), indices());
        let op = Scatter {
            windows: windows(),
            update: Update::With(Binary::add),
            indices_are_sorted: false,
            unique_indices: false,
        };
        let updates = Shape::from([2, 2, 3, 2, 2]);
        let known = |s: &Shape| Aval::known(DType::I32, s.clone());
        assert_eq!(op.infer(&[&known(&shape), &known(&index_shape), &known(&updates)]).unwrap().shape, shape);
        let new: Vec<i32> = (0..48).map(|i| 1000 * i).collect();
        let layouts = [Layout::dense(&shape), Layout::dense(&index_shape), Layout::dense(&updates)];
        let view = |x: &'static [i32], i: usize, shape: &'static Shape, layouts: &'static [Layout; 3]| View {
            dtype: DType::I32,
            shape,
            layout: &layouts[i],
            data: cast::bytes(x),
        };
        // Leaked, so that one closure serves views of three lifetimes.
        fn leak<T>(x: T) -> &'static T {
            Box::leak(Box::new(x))
        }
        let layouts = leak(layouts);
        let views = [
            view(leak(x.clone()), 0, leak(shape.clone()), layouts),
            view(leak(index.clone()), 1, leak(index_shape.clone()), layouts),
            view(leak(new.clone()), 2, leak(updates.clone()), layouts),
        ];
        let mut out = vec![0i32; 48];
        op.eval(
            [&views[0], &views[1], &views[2]],
            &mut ViewMut { dtype: DType::I32, shape: &shape, data: cast::bytes_mut(&mut out) },
        );
        let at =
            |shape: &Shape, i: &[usize]| i.iter().zip(shape.strides()).map(|(&i, s)| i * s).sum::<usize>();
        let mut want = x;
        for a in 0..2 {
            for b in 0..2 {
                for c in 0..3 {
                    let start = |k| index[at(&index_shape, &[a, b, c, k])] as usize;
                    let (third, second) = (start(0), start(1));
                    // The second dimension of the indices walks along with the first of the operand.
                    if third + 2 > 4 || second + 1 > 3 {
                        continue;
                    }
                    for (d, e) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                        want[at(&shape, &[b, second, third + d, e])] += new[at(&updates, &[a, b, c, d, e])];
                    }
                }
            }
        }
        assert_eq!(out, want);
    }

    #[test]
    fn dimension_numbers_are_checked() {
        let (x, i) = (Aval::known(DType::F32, [4, 5].into()), Aval::known(DType::I32, [3].into()));
        let infer = |change: &dyn Fn(&mut Gather)| {
            let mut op = Gather::along(Axis(0), &x.shape);
            change(&mut op);
            op.infer(&x, &i)
        };
        assert_eq!(infer(&|_| ()).unwrap().shape, [3, 5].into());
        let refused = |change: &dyn Fn(&mut Gather), what: &str| {
            let text = infer(change).unwrap_err().to_string();
            assert!(text.contains(what), "{text}");
        };
        refused(&|op| op.windows.window_dims = dims(&[2]), "`offset_axes`");
        refused(&|op| op.windows.window_dims = vec![], "`offset_axes`");
        refused(&|op| op.windows.dropped = dims(&[0, 0]), "`collapsed_slice_axes`");
        refused(&|op| op.windows.index_map = dims(&[0, 1]), "`start_index_map`");
        refused(&|op| op.windows.index_vector_dim = Axis(2), "`index_vector_axis`");
        refused(&|op| op.windows.index_vector_dim = Axis(0), "`offset_axes`");
        refused(&|op| op.windows.batching = dims(&[0]), "`collapsed_slice_axes`");
        refused(&|op| op.slice_sizes = vec![2, 5], "`slice_sizes`");
        refused(&|op| op.slice_sizes = vec![1, 6], "axis 2 of size 5");
        refused(&|op| op.slice_sizes = vec![1], "`slice_sizes`");
        let float = Gather::along(Axis(0), &x.shape).infer(&x, &Aval::known(DType::F32, [3].into()));
        assert_eq!(float.unwrap_err().class(), "anvil_error_dtype");
    }
}
