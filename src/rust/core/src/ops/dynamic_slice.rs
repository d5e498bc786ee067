//! Slices at positions that are operands, read and replaced.

use super::attrs::{vector, Attrs};
use super::check::{index, position, Check};
use super::contract::{simplified, Form, Framed, Linear, OpDef, Promotion, Role, Simplified, Strip, Touched};
use super::derive::Var;
use super::lower::{are_wide, list, op_if, signature, Formula, Lowering};
use super::rules::{Batch, Batched, Vjp};
use super::slice::{check_count, see, StaticSlice};
use super::windows::{check_indices, fitted};
use super::{written, Builder, Gather, Op, Row, Scatter, Update, Windows};
use crate::dtype::{dispatch_int, ANY};
use crate::error::{Error, Result};
use crate::graph::syntax::Parsed;
use crate::graph::Value;
use crate::kernels::memory::indexed::store_at;
use crate::kernels::tile::{copy, STACK_AXES};
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, Literal, View, ViewMut};

/// Start indices that are operands, one 0-d integer for each axis, all of one dtype.
fn check_starts(row: &Row, x: &Aval, starts: &[&Aval]) -> Result<()> {
    check_count("...", starts.len(), x)?;
    for start in starts {
        check_indices(row, "...", start)?;
        row.check_same(starts[0], start)?;
        if start.shape.rank() > 0 {
            let (op, operand, expected) = (row.function.into(), "...".into(), "0 axes".into());
            let hint = "Each axis has one start index.".into();
            return Err(Error::Rank { op, operand, expected, shape: start.shape.clone(), hint });
        }
    }
    Ok(())
}

/// Where a window begins along each axis, if its start index is known and raises no error. Without checks a window that is
/// as large as the axis begins at 0.
fn known<'a>(
    starts: &'a [Option<Literal>],
    sizes: &'a [usize],
    shape: &'a Shape,
    check: &'a Check,
) -> impl Iterator<Item = Option<usize>> + 'a {
    starts.iter().enumerate().map(move |(axis, start)| {
        let last = (shape[axis] - sizes[axis]) as i64;
        if last == 0 && !check.raises() {
            return Some(0);
        }
        let start = (*start)?;
        let index = dispatch_int!(start.dtype(), T => position(start.get::<T>()));
        let at = index.clamp(0, last);
        (at == index || !check.raises()).then_some(at as usize)
    })
}

/// Checks that a window lies within a shape.
fn check_window(sizes: &[usize], shape: &Shape) -> Result<()> {
    for (i, (&window, &size)) in sizes.iter().zip(shape.iter()).enumerate() {
        if window > size {
            return Err(Error::Window { window, axis: Axis(i), size });
        }
    }
    Ok(())
}

/// Start indices, moved so that the window lies within the shape. One that is moved is raised if `check` says
/// so.
fn clamped<'a>(
    starts: &'a [View],
    window: &'a [usize],
    shape: &'a Shape,
    check: &'a Check,
) -> impl Iterator<Item = isize> + 'a {
    starts.iter().enumerate().map(move |(axis, start)| {
        let (index, size, window) = (index(start), shape[axis], window[axis]);
        let at = index.max(0).min((size - window) as i64);
        if at != index {
            check.raise(0, (index, start.dtype), Axis(axis), size, window);
        }
        at as isize
    })
}

/// What the ops do with windows that do not fit if they do not check them.
const SILENT: &str = "clip";

/// The axes of strips of the first operands, so many; the others are starts. A window that is as large as the operand
/// along the axis starts at 0 there, whatever is asked.
fn strips(first: usize, axis: Axis, operands: &[&Aval]) -> Vec<Option<Axis>> {
    (0..operands.len()).map(|i| (i < first).then_some(axis)).collect()
}

/// A window of the operand whose start is computed by the program. A window that does not fit is moved so
/// that it does (StableHLO, `dynamic_slice`), or also raises an error.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DynamicSlice {
    /// Sizes of the window.
    pub sizes: Vec<usize>,
    /// Whether a window that does not fit is an error.
    pub check: Check,
}

static DYNAMIC_SLICE: Row = written("dynamic_slice", "nv_dynamic_slice", &["operand", "..."], ANY);

impl OpDef for DynamicSlice {
    fn row(&self) -> &'static Row {
        &DYNAMIC_SLICE
    }

    fn rows() -> Vec<&'static Row> {
        vec![&DYNAMIC_SLICE]
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        [("slice_sizes", vector(&self.sizes))].into_iter().chain(self.check.attribute(SILENT)).collect()
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::Each(&[Role::Own, Role::Position])
    }

    fn decode(_row: &'static Row, attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        let sizes = attrs.shape("slice_sizes")?.to_vec();
        Ok(DynamicSlice { sizes, check: Check::decode(attrs)? }.into())
    }

    fn parse(form: &Form) -> Parsed<DynamicSlice> {
        form.takes_at_least(1)?;
        Ok(DynamicSlice { sizes: form.numbers("slice_sizes")?, check: Check::parse(form, SILENT)? })
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let x = operands[0];
        check_starts(&DYNAMIC_SLICE, x, &operands[1..])?;
        check_count("slice_sizes", self.sizes.len(), x)?;
        check_window(&self.sizes, &x.shape)?;
        Ok(vec![Aval { shape: Shape::try_new(self.sizes.clone())?, ..x.clone() }])
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let (x, out) = (&operands[0], &mut results[0]);
        if out.data.is_empty() {
            return;
        }
        let start = clamped(&operands[1..], &self.sizes, x.shape, &self.check);
        let way: isize = start.zip(&x.layout.strides).map(|(at, &stride)| at * stride).sum();
        // A loop's body does this in some nanoseconds: no layout is made for it.
        match usize::try_from(way) {
            Ok(way) => see(&View { data: &x.data[way * x.dtype.bytes()..], ..*x }, x.layout, out),
            Err(_) => see(x, &x.layout.moved(way), out),
        }
    }

    /// At positions that are known it is a static slice.
    fn simplify(&self, b: &mut Builder, operands: &[Value], _read: &[bool]) -> Result<Simplified> {
        let shape = b.graph().aval(operands[0]).shape.clone();
        let starts: Vec<Option<Literal>> = operands[1..].iter().map(|&v| b.graph().literal(v)).collect();
        let start: Option<Vec<usize>> = known(&starts, &self.sizes, &shape, &self.check).collect();
        let Some(start) = start else { return Ok(None) };
        let limit = start.iter().zip(&self.sizes).map(|(at, size)| at + size).collect();
        let stride = vec![1; start.len()];
        simplified(b.node1(StaticSlice { start, limit, stride }, &operands[..1])?)
    }

    /// The gradient, with zeros around the window.
    fn vjp(&self) -> Vjp<'_> {
        Vjp::by(|at| {
            let others: Vec<Var> = std::iter::once(at.g()).chain(at.operands[1..].iter().copied()).collect();
            let mut out = vec![None; at.operands.len()];
            out[0] = Some(at.x(0).of(0.0).apply(DynamicUpdateSlice { check: self.check.clone() }, &others));
            out
        })
    }

    /// Where starts differ between examples it is a gather.
    fn batch(&self) -> Batch<'_> {
        Batch::of_one(|at| {
            let given = at.x(0).aval().shape;
            let fixed: Vec<Option<usize>> = known(&at.numbers(1), &self.sizes, &given, &self.check).collect();
            let Some((indices, axes)) = starts(at, 1, &self.check, |axis| fixed[axis].is_none()) else {
                let mut op = self.clone();
                op.sizes.push(at.size);
                return at.whole(0).apply(op, &with_zero(at, 1));
            };
            // What is known where it begins is cut off before, so that windows are found along the other axes alone.
            let parts = (0..).zip(&fixed).filter(|(axis, _)| !axes.contains(&Axis(*axis)));
            let x = parts.fold(at.x(0), |x, (axis, start)| match start {
                Some(start) => x.section(Axis(axis), *start, start + self.sizes[axis]),
                None => x,
            });
            let windows = windows(self.sizes.len(), axes, at.batched[0]);
            let mut slice_sizes = self.sizes.clone();
            slice_sizes.extend(at.batched[0].then_some(at.size.min(1)));
            let check = self.check.clone();
            x.apply(Gather { windows, slice_sizes, indices_are_sorted: false, check }, &[indices])
        })
    }

    fn strip(&self, axis: Axis, size: usize, operands: &[&Aval]) -> Option<Strip> {
        let all = self.sizes[axis.0] == operands[0].shape[axis.0];
        let mut op = self.clone();
        op.sizes[axis.0] = size;
        Strip::new(op, strips(1, axis, operands)).filter(|_| all)
    }

    fn lower(&self, operands: &[Aval]) -> Lowering<'_> {
        let op = signature("stablehlo.dynamic_slice", format!(", sizes = {}", list(&self.sizes)));
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

/// The operand with a window replaced, whose start is computed by the program. A window that does not fit is
/// moved so that it does (StableHLO, `dynamic_update_slice`), or also raises an error.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DynamicUpdateSlice {
    /// Whether a window that does not fit is an error.
    pub check: Check,
}

static DYNAMIC_UPDATE_SLICE: Row =
    written("dynamic_update_slice", "nv_dynamic_update_slice", &["operand", "update", "..."], ANY);

impl OpDef for DynamicUpdateSlice {
    fn row(&self) -> &'static Row {
        &DYNAMIC_UPDATE_SLICE
    }

    fn rows() -> Vec<&'static Row> {
        vec![&DYNAMIC_UPDATE_SLICE]
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::Each(&[Role::Own, Role::Assigned, Role::Position])
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        self.check.attribute(SILENT).into_iter().collect()
    }

    fn decode(_row: &'static Row, attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        Ok(DynamicUpdateSlice { check: Check::decode(attrs)? }.into())
    }

    fn parse(form: &Form) -> Parsed<DynamicUpdateSlice> {
        form.takes_at_least(2)?;
        Ok(DynamicUpdateSlice { check: Check::parse(form, SILENT)? })
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let row = &DYNAMIC_UPDATE_SLICE;
        let [x, update, starts @ ..] = operands else {
            return Err(Error::arg("update", "a tensor", "nothing"));
        };
        check_starts(row, x, starts)?;
        if x.dtype != update.dtype {
            return Err(Error::DtypeMismatch { op: row.function.into(), lhs: x.dtype, rhs: update.dtype });
        }
        if x.shape.rank() != update.shape.rank() {
            let (op, operand) = (row.function.into(), "update".into());
            let expected = format!("as many axes as the operand, {}", x.shape.rank());
            return Err(Error::Rank {
                op,
                operand,
                expected,
                shape: update.shape.clone(),
                hint: String::new(),
            });
        }
        check_window(&update.shape, &x.shape)?;
        Ok(vec![(*x).clone()])
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        copy(&operands[0], &mut results[0]);
        self.update(&operands[1..], &mut results[0]);
    }

    fn updates(&self) -> bool {
        true
    }

    fn framed(&self, operands: &[&Aval], literals: &[Option<Literal>]) -> Option<Framed> {
        let start = known(&literals[2..], &operands[1].shape, &operands[0].shape, &self.check);
        let start = start.collect::<Option<Vec<usize>>>()?;
        Some(Framed { inside: 1, around: 0, start })
    }

    fn update(&self, others: &[View], out: &mut ViewMut) {
        let update = &others[0];
        if update.shape.size() == 0 {
            return;
        }
        let start = clamped(&others[1..], update.shape, out.shape, &self.check);
        let (mut stack, mut heap, rank) = ([0; STACK_AXES], vec![], out.shape.rank());
        let steps = if rank <= STACK_AXES {
            &mut stack[..rank]
        } else {
            heap.resize(rank, 0);
            &mut heap[..]
        };
        let (mut step, mut place) = (1, 0);
        for ((own, at), &size) in steps.iter_mut().zip(start).zip(out.shape.iter()) {
            (*own, place, step) = (step, place + at * step, step * size as isize);
        }
        store_at(steps, place, update, out);
    }

    /// The operand's gradient is the result's outside of the window, the update's is the result's inside.
    fn vjp(&self) -> Vjp<'_> {
        Vjp::by(|at| {
            let (update, starts) = (at.x(1), &at.operands[2..]);
            let others: Vec<Var> = std::iter::once(update.of(0.0)).chain(starts.iter().copied()).collect();
            let mut out = vec![None; at.operands.len()];
            let (sizes, check) = (update.aval().shape.to_vec(), self.check.clone());
            out[0] = Some(at.g().apply(self.clone(), &others));
            out[1] = Some(at.g().apply(DynamicSlice { sizes, check }, starts));
            out
        })
    }

    /// Where starts differ between examples it is a scatter.
    fn batch(&self) -> Batch<'_> {
        Batch::of_one(|at| {
            let (x, update) = (at.whole(0), at.whole(1));
            let sizes = update.aval().shape.to_vec();
            let whole: Vec<Option<usize>> =
                known(&at.numbers(2), &sizes, &x.aval().shape, &self.check).collect();
            let is_whole = |axis: usize| sizes[axis] == x.aval().shape[axis] && whole[axis].is_some();
            let Some((indices, axes)) = starts(at, 2, &self.check, |axis| !is_whole(axis)) else {
                let others: Vec<Var> = std::iter::once(update).chain(with_zero(at, 2)).collect();
                return x.apply(self.clone(), &others);
            };
            let windows = windows(at.rank(1), axes, true);
            let indices = match self.check {
                Check::Raises(_) | Check::RaisesTurned(..) => indices,
                Check::Silent => fitted(indices, &windows, &x.aval().shape, &sizes).clamped,
            };
            let scatter = Scatter {
                windows,
                update: Update::Replace,
                indices_are_sorted: false,
                unique_indices: true,
                check: self.check.clone(),
            };
            x.apply(scatter, &[indices, update])
        })
    }

    fn strip(&self, axis: Axis, _size: usize, operands: &[&Aval]) -> Option<Strip> {
        let all = operands[1].shape[axis.0] == operands[0].shape[axis.0];
        Strip::new(self.clone(), strips(2, axis, operands)).filter(|_| all)
    }

    fn lower(&self, operands: &[Aval]) -> Lowering<'_> {
        let op = signature("stablehlo.dynamic_update_slice", "");
        op_if(are_wide(&operands[2..]), op, Formula::WideIndices(2))
    }

    fn consists_of(&self, _operands: usize) -> Vec<usize> {
        vec![0, 1]
    }

    fn linear(&self) -> Linear {
        Linear::In(&[0, 1])
    }

    fn touched(&self) -> Option<Touched> {
        Some(Touched::Replaced(1))
    }

    fn raises(&self) -> bool {
        self.check.raises()
    }
}

/// The start indices from an operand on, if they differ between examples: a vector for each, along the first axis, of those
/// along axes that are `asked` for, and these axes.
fn starts<'m, 'b>(
    at: &Batched<'_, 'm, 'b>,
    from: usize,
    check: &Check,
    asked: impl Fn(usize) -> bool,
) -> Option<(Var<'m, 'b>, Vec<Axis>)> {
    let all: Vec<(Var, bool)> = (from..at.operands.len()).map(|i| at.positions(i, check)).collect();
    if !all.iter().any(|(_, batched)| *batched) {
        return None;
    }
    // A window has a place.
    let none = !(0..all.len()).any(&asked);
    let axes: Vec<Axis> = (0..all.len()).filter(|&axis| none || asked(axis)).map(Axis).collect();
    let row = Shape::from([1, at.size]);
    let rows = axes.iter().map(|axis| match all[axis.0] {
        (x, true) => x,
        (x, false) => x.along_batch(at.size),
    });
    let rows: Vec<Var> = rows.map(|x| x.reshaped(&row)).collect();
    let (first, rest) = rows.split_first()?;
    Some((first.beside(rest, Axis(0)), axes))
}

/// The start indices from an operand on, and a 0 for the batch axis.
fn with_zero<'m, 'b>(at: &Batched<'_, 'm, 'b>, from: usize) -> Vec<Var<'m, 'b>> {
    let starts = &at.operands[from..];
    let zero = match starts.first() {
        Some(start) => start.integer(0),
        None => at.x(0).math().literal(Literal::new(0i32), &Shape::scalar()),
    };
    starts.iter().copied().chain([zero]).collect()
}

/// Windows at positions along these axes of a value, one for each example.
fn windows(rank: usize, axes: Vec<Axis>, batched: bool) -> Windows {
    let mut windows = Windows {
        window_axes: (0..rank).map(Axis).collect(),
        dropped: vec![],
        batching: vec![],
        index_batching: vec![],
        index_map: axes,
        index_vector_axis: Axis(0),
    };
    windows.split(batched.then_some(rank), 1);
    windows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::kernels::cast;
    use crate::ops::slice::tests::{run, view};
    use crate::tensor::Layout;

    #[test]
    fn windows_are_moved_so_that_they_fit() {
        let shape = Shape::from([4]);
        let (op, result) = (DynamicSlice { sizes: vec![2], check: Check::Silent }, Shape::from([2]));
        let scalar = (Shape::scalar(), Layout::dense(&Shape::scalar()));
        let slice = |start: i32| {
            let start = [start];
            let start = view(&start, &scalar.0, &scalar.1);
            run(&[1, 2, 3, 4], &shape, &result, |x, out| op.eval(&[x, start], out))
        };
        assert_eq!([slice(1), slice(9), slice(-3), slice(i32::MAX)], [[2, 3], [3, 4], [1, 2], [3, 4]]);
        let put = DynamicUpdateSlice { check: Check::Silent };
        let update = |start: i32| {
            let (start, new, layout) = ([start], [8, 9], Layout::dense(&result));
            let (start, new) = (view(&start, &scalar.0, &scalar.1), view(&new, &result, &layout));
            run(&[1, 2, 3, 4], &shape, &shape, |x, out| put.eval(&[x, new, start], out))
        };
        assert_eq!([update(1), update(9), update(-1)], [[1, 8, 9, 4], [1, 2, 8, 9], [8, 9, 3, 4]]);
    }

    #[test]
    fn unsigned_positions_beyond_the_signed_are_far_out() {
        let (shape, result) = (Shape::from([4]), Shape::from([2]));
        let scalar = (Shape::scalar(), Layout::dense(&Shape::scalar()));
        let start = [u64::MAX];
        let start =
            View { dtype: DType::UI64, shape: &scalar.0, layout: &scalar.1, data: cast::bytes(&start) };
        let op = DynamicSlice { sizes: vec![2], check: Check::Silent };
        assert_eq!(run(&[1, 2, 3, 4], &shape, &result, |x, out| op.eval(&[x, start], out)), [3, 4]);
        assert_eq!(
            [position(u64::MAX), position(5u64), position(-1i8), position(200u8)],
            [i64::MAX, 5, -1, 200]
        );
    }
}
