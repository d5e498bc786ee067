//! Formulas of ops whose positions are operands: wider indices, scatters that leave out windows, scatters as
//! loops.

use super::control::{region, types};
use crate::dtype::{DType, Ranked};
use crate::error::{Error, Result};
use crate::ops::{
    fitted, Check, Compare, DynamicSlice, DynamicUpdateSlice, Gather, Iota, Math, Op, Scan, Scatter, Update,
    Var, Windows,
};
use crate::shape::{Axis, Shape};
use crate::tensor::Aval;

/// The same positions in `i32` or `i64`. Numbers beyond `i64` saturate.
pub(super) fn widened<'m, 'b>(indices: &[Var<'m, 'b>]) -> Vec<Var<'m, 'b>> {
    let widen = |x: &Var<'m, 'b>| match x.aval().dtype {
        DType::I32 | DType::I64 => *x,
        DType::UI32 => x.convert(DType::I64),
        DType::UI64 => {
            let signed = x.convert(DType::I64);
            let beyond = signed.compare(Compare::lt, signed.of(0.0));
            beyond.select(signed.integer(i64::MAX), signed)
        }
        _ => x.convert(DType::I32),
    };
    indices.iter().map(widen).collect()
}

/// A scatter by windows, as one by elements: windows that do not fit are moved so far out that none of their
/// elements fits.
pub(super) fn scatter<'m, 'b>(
    op: &Scatter,
    x: Var<'m, 'b>,
    indices: Var<'m, 'b>,
    update: Var<'m, 'b>,
) -> Var<'m, 'b> {
    if x.aval().shape.size() == 0 {
        return x;
    }
    if op.windows.index_map.is_empty() {
        return at_zero(op, x, indices, update);
    }
    let (shape, sizes) = (x.aval().shape, op.sizes(x.aval().shape.rank(), &update.aval().shape));
    let mut at = widened(&[indices])[0];
    if op.windows.index_map.iter().any(|axis| sizes[axis.0] > 1) {
        let outside = shape.iter().copied().max().unwrap_or(1) as i64;
        if outside > i64::from(i32::MAX) {
            at = at.convert(DType::I64);
        }
        let fits = fitted(at, &op.windows, &shape, &sizes).fits;
        let whole = at.aval().shape;
        let batches: Vec<Axis> = op.windows.batches(&whole).map(Axis).collect();
        at = fits.repeated(&whole, &batches).select(at, at.integer(outside));
    }
    x.apply(Op::Scatter(op.clone()), &[at, update])
}

/// A scatter without positions, on an operand with a new first axis of size 1, at position 0.
fn at_zero<'m, 'b>(op: &Scatter, x: Var<'m, 'b>, indices: Var<'m, 'b>, update: Var<'m, 'b>) -> Var<'m, 'b> {
    let (shape, index_shape) = (x.aval().shape, indices.aval().shape);
    let old = &op.windows;
    let later = |axes: &[Axis]| axes.iter().map(|axis| Axis(axis.0 + 1)).collect::<Vec<_>>();
    let batches = old.batches(&index_shape).collect::<Vec<_>>();
    let without_vectors = |axis: &Axis| Axis(axis.0 - usize::from(axis.0 > old.index_vector_axis.0));
    let windows = Windows {
        window_axes: old.window_axes.clone(),
        dropped: [vec![Axis(0)], later(&old.dropped)].concat(),
        batching: later(&old.batching),
        index_batching: old.index_batching.iter().map(without_vectors).collect(),
        index_map: vec![Axis(0)],
        index_vector_axis: Axis(batches.len()),
    };
    let sizes: Vec<usize> = batches.iter().map(|&i| index_shape[i]).chain([1]).collect();
    let zeros = x.math().fill(0.0, &Aval::known(DType::I32, Shape::scalar())).filled(0.0, &sizes);
    let made = x
        .reread([&[1], &shape[..]].concat())
        .apply(Op::Scatter(Scatter { windows, ..op.clone() }), &[zeros, update]);
    made.reread(shape.to_vec())
}

/// A scatter as a scan along the update, in its order: each element is read, updated and written back, unless
/// its window does not fit.
pub(super) fn scatter_loop<'m, 'b>(
    op: &Scatter,
    operands: &[Var<'m, 'b>],
    math: &'m Math<'b>,
) -> Result<Vec<Var<'m, 'b>>> {
    let (&[x, indices, update, ref captured @ ..], Update::By(function)) = (operands, &op.update) else {
        return Err(Error::Internal { detail: "a scatter by name needs no loop".into() });
    };
    let (shape, stack) = (x.aval().shape, update.aval().shape);
    let (size, length) = (shape.size(), stack.size());
    if size == 0 || length == 0 {
        return Ok(vec![x]);
    }
    let windows = &op.windows;
    let sizes = op.sizes(shape.rank(), &stack);
    let at = widened(&[indices])[0];
    // The target of each element of the update: the numbers of the input's elements, gathered by the same
    // windows.
    let dtype = if i32::try_from(size).is_ok() { DType::I32 } else { DType::I64 };
    let numbers = Iota { axis: Axis(0), to: Ranked::known(dtype), shape: [size].into(), start: 0 };
    let gather = Gather {
        windows: windows.clone(),
        slice_sizes: sizes.clone(),
        indices_are_sorted: false,
        check: Check::Silent,
    };
    let places = x.made(Op::Iota(numbers)).reread(shape.to_vec()).apply(Op::Gather(gather), &[at]);
    let batches: Vec<Axis> =
        (0..stack.rank()).map(Axis).filter(|axis| !windows.window_axes.contains(axis)).collect();
    let fits = fitted(at, windows, &shape, &sizes).fits.repeated(&stack, &batches);
    let line = Shape::from([length]);
    let along = [places, fits, update].map(|v| v.reshaped(&line));
    let state = x.reread(vec![size]);

    let scalar = |v: &Var| Aval { shape: Shape::scalar(), ..v.aval() };
    let mut given = vec![state.aval()];
    given.extend(along.iter().map(scalar));
    given.extend(types(captured));
    let body = region(&given, |inputs, math| {
        let &[all, place, fits, new, ref captured @ ..] = inputs else { return Ok(inputs.to_vec()) };
        let old = all
            .apply(Op::DynamicSlice(DynamicSlice { sizes: vec![1], check: Check::Silent }), &[place])
            .reread(vec![]);
        let made = math.inline(function, &[&[old, new], captured].concat())?;
        let next = fits.select(made[0], old).reread(vec![1]);
        Ok(vec![
            all.apply(Op::DynamicUpdateSlice(DynamicUpdateSlice { check: Check::Silent }), &[next, place])
        ])
    })?;
    let sliced = along.len();
    let scan = Scan { body, carried: 1, sliced, length, reverse: false, last: false, checkpoint: false };
    let last = math.apply_all(Op::Scan(scan), &[&[state], &along[..], captured].concat());
    Ok(last.into_iter().map(|x| x.reread(shape.to_vec())).collect())
}
