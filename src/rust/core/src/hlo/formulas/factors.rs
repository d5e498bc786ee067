//! Formulas of factorisations of matrices that StableHLO lacks: LU with row exchanges, QR by Householder
//! reflectors, one column after the other, on all matrices of a batch at once.
//!
//! A matrix is the last two axes. What one column needs is masked, not cut out, as sizes do not change in a loop.

use super::control::repeat_while;
use crate::dtype::{DType, Ranked};
use crate::kernels::reductions::fold::Fold;
use crate::ops::{
    take_along, Binary, Check, Cholesky, Compare, DynamicSlice, DynamicUpdateSlice, Iota, Keep, LuSolve, Op,
    Ordering, Part, Qr, Reduction, TriangularSolve, Unary, Var,
};
use crate::shape::{Axis, Shape};

/// The sizes of the matrices of a value.
pub(super) fn sides(x: Var) -> [usize; 2] {
    let shape = x.aval().shape;
    let rank = shape.rank();
    [shape[rank - 2], shape[rank - 1]]
}

/// The axis of the value that is so many before the end.
pub(super) fn last(x: Var, back: usize) -> Axis {
    Axis(x.aval().shape.rank() - 1 - back)
}

/// A value of this shape, with the last sizes replaced.
pub(super) fn resized(x: Var, sizes: &[usize]) -> Vec<usize> {
    let shape = x.aval().shape;
    [&shape[..shape.rank() - 2], sizes].concat()
}

/// The number of each element along an axis, in a value of these sizes.
pub(super) fn numbers<'m, 'b>(x: Var<'m, 'b>, axis: Axis, sizes: &[usize]) -> Var<'m, 'b> {
    match Shape::try_new(sizes.to_vec()) {
        Ok(shape) => x.made(Iota { axis, to: Ranked::known(DType::I32), shape, start: 0 }),
        Err(error) => x.failed(error),
    }
}

/// A 0-d value everywhere in the shape of another.
fn everywhere<'m, 'b>(x: Var<'m, 'b>, like: Var<'m, 'b>) -> Var<'m, 'b> {
    x.repeated(&like.aval().shape, &[])
}

/// Folded along axes, which stay with size 1.
pub(super) fn folded<'m, 'b>(x: Var<'m, 'b>, fold: Fold, axes: &[Axis]) -> Var<'m, 'b> {
    x.apply(Op::Reduction(Reduction { fold, axes: axes.to_vec(), drop: false }), &[])
}

/// A value with axes of size 1 in the shape of another.
pub(super) fn spread<'m, 'b>(x: Var<'m, 'b>, like: Var<'m, 'b>) -> Var<'m, 'b> {
    let shape = like.aval().shape;
    x.repeated(&shape, &(0..shape.rank()).map(Axis).collect::<Vec<_>>())
}

/// The start indices of a window at `at` along an axis.
fn starts<'m, 'b>(x: Var<'m, 'b>, axis: Axis, at: Var<'m, 'b>) -> Vec<Var<'m, 'b>> {
    (0..x.aval().shape.rank()).map(|i| if i == axis.0 { at } else { at.of(0.0) }).collect()
}

/// The elements at one position along an axis, which stays with size 1.
fn taken<'m, 'b>(x: Var<'m, 'b>, axis: Axis, at: Var<'m, 'b>) -> Var<'m, 'b> {
    let mut sizes = x.aval().shape.to_vec();
    sizes[axis.0] = 1;
    x.apply(Op::DynamicSlice(DynamicSlice { sizes, check: Check::Silent }), &starts(x, axis, at))
}

/// A value with others at one position along an axis.
fn put<'m, 'b>(x: Var<'m, 'b>, axis: Axis, at: Var<'m, 'b>, new: Var<'m, 'b>) -> Var<'m, 'b> {
    let operands = [&[new], &starts(x, axis, at)[..]].concat();
    x.apply(Op::DynamicUpdateSlice(DynamicUpdateSlice { check: Check::Silent }), &operands)
}

/// The sum of the sizes of the parts.
fn rough_size<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    if x.aval().dtype.is_complex() {
        let [re, im] = [Part::real, Part::imag].map(|part| x.part(part).unary(Unary::abs));
        return re + im;
    }
    x.unary(Unary::abs)
}

/// The squares of the absolute values.
pub(super) fn squares<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    if x.aval().dtype.is_complex() {
        let [re, im] = [Part::real, Part::imag].map(|part| x.part(part));
        return re * re + im * im;
    }
    x * x
}

/// Numbers of 16 bits are computed in f32, as the kernels do.
pub(super) fn in_single<'m, 'b>(
    x: &[Var<'m, 'b>],
    f: impl Fn(&[Var<'m, 'b>]) -> Vec<Var<'m, 'b>>,
) -> Vec<Var<'m, 'b>> {
    let dtype = x[0].aval().dtype;
    if !dtype.is_half() {
        return f(x);
    }
    let wide = |x: &Var<'m, 'b>| if x.aval().dtype == dtype { x.convert(DType::F32) } else { *x };
    let made = f(&x.iter().map(wide).collect::<Vec<_>>());
    made.into_iter().map(|y| if y.aval().dtype == DType::F32 { y.convert(dtype) } else { y }).collect()
}

/// The lower factor; NaN where the matrix is not positive definite. StableHLO leaves open what is above the diagonal,
/// and what becomes of other matrices.
pub(super) fn cholesky<'m, 'b>(op: &Cholesky, x: Var<'m, 'b>) -> Vec<Var<'m, 'b>> {
    in_single(&[x], |x| {
        if x[0].aval().shape.size() == 0 {
            return vec![x[0]];
        }
        let l = x[0].apply(*op, &[]).kept(if op.lower { Keep::Lower } else { Keep::Upper });
        // A pivot that is not positive makes NaN in its column, or 0 on its diagonal.
        let diagonal = l.diagonal().real_part();
        let good = diagonal.compare(Compare::gt, diagonal.of(0.0));
        let good = good.binary(Binary::and, diagonal.compare(Compare::lt, diagonal.of(f64::INFINITY)));
        let all = folded(good, Fold::All, &[last(good, 0)]);
        let all = all.reread(resized(l, &[1, 1]));
        vec![spread(all, l).select(l, l.of(f64::NAN))]
    })
}

/// The solution, of numbers of 16 bits in f32.
pub(super) fn triangular_solve<'m, 'b>(
    op: &TriangularSolve,
    a: Var<'m, 'b>,
    b: Var<'m, 'b>,
) -> Vec<Var<'m, 'b>> {
    in_single(&[a, b], |x| match x[1].aval().shape.size() {
        0 => vec![x[1]],
        _ => vec![x[0].apply(*op, &[x[1]])],
    })
}

/// The factors, the exchanges and the order of the rows, as the kernel makes them one column after the other.
pub(super) fn lu<'m, 'b>(x: Var<'m, 'b>) -> Vec<Var<'m, 'b>> {
    let [m, n] = sides(x);
    let k = m.min(n);
    let batch = resized(x, &[]);
    let line = |size: usize| [&batch[..], &[size]].concat();
    let order = numbers(x, Axis(batch.len()), &line(m));
    let pivots = order.filled(0.0, &line(k));
    if k == 0 || pivots.aval().shape.size() == 0 {
        return vec![x, pivots, order];
    }
    in_single(&[x], |x| {
        let order = order.reread(resized(x[0], &[m, 1]));
        let pivots = pivots.reread(resized(x[0], &[k, 1]));
        let count = order.scalar(0.0);
        let state = repeat_while(
            x[0].math(),
            &[count, x[0], pivots, order],
            |state| state[0].compare(Compare::lt, state[0].integer(k as i64)),
            |state| eliminate(state[0], state[1], state[2], state[3]),
        );
        match state[..] {
            [_, factors, pivots, order] => {
                vec![factors, pivots.reread(line(k)), order.reread(line(m))]
            }
            _ => state,
        }
    })
}

/// A step of Gaussian elimination: column `at`.
fn eliminate<'m, 'b>(
    at: Var<'m, 'b>,
    x: Var<'m, 'b>,
    pivots: Var<'m, 'b>,
    order: Var<'m, 'b>,
) -> Vec<Var<'m, 'b>> {
    let (rows, columns) = (last(x, 1), last(x, 0));
    let column = taken(x, columns, at);
    let count = numbers(x, rows, &column.aval().shape);
    let here = everywhere(at, count);
    // The row of the largest element, the first of equal ones; NaN is the largest of all.
    let size = rough_size(column);
    let below = count.compare(Compare::ge, here);
    let is_nan = size.compare(Compare::ne, size).binary(Binary::and, below);
    let any = spread(folded(is_nan, Fold::Any, &[rows]), is_nan);
    let known = below.select(is_nan.select(size.of(-1.0), size), size.of(-1.0));
    let most = spread(folded(known, Fold::Max, &[rows]), known);
    let best = known.compare(Compare::eq, most).binary(Binary::and, below);
    let [m, _] = sides(x);
    let chosen = any.select(is_nan, best).select(count, count.integer(m as i64));
    let row = folded(chosen, Fold::Min, &[rows]);
    // Exchanged with the row of the column's number.
    let exchanged = |x: Var<'m, 'b>| {
        let count = numbers(x, rows, &x.aval().shape);
        let (row, here) = (spread(row, x), everywhere(at, count));
        let to = count.compare(Compare::eq, row).select(here, count);
        let from = count.compare(Compare::eq, here).select(row, to);
        take_along(x, from, rows)
    };
    let (x, order) = (exchanged(x), exchanged(order));
    let column = taken(x, columns, at);
    let pivot = spread(taken(column, rows, at), column);
    let beyond = count.compare(Compare::gt, here);
    let divided = beyond.binary(Binary::and, pivot.compare(Compare::ne, pivot.of(0.0)));
    let factors = divided.select(column / divided.select(pivot, pivot.of(1.0)), column);
    let right = taken(x, rows, at);
    let is_right = numbers(x, columns, &right.aval().shape);
    let is_right = is_right.compare(Compare::gt, everywhere(at, is_right));
    let changed = spread(divided, x).binary(Binary::and, spread(is_right, x));
    let x = changed.select(x - spread(factors, x) * spread(right, x), x);
    let x = put(x, columns, at, factors);
    vec![at + at.of(1.0), x, put(pivots, rows, at, row), order]
}

/// The rows of a matrix in another order, of which there is one for each matrix.
fn reordered<'m, 'b>(x: Var<'m, 'b>, order: Var<'m, 'b>) -> Var<'m, 'b> {
    let [_, columns] = sides(x);
    take_along(x, order.down_columns(columns), last(x, 1))
}

/// The solution by two triangular equations.
pub(super) fn lu_solve<'m, 'b>(
    op: &LuSolve,
    factors: Var<'m, 'b>,
    order: Var<'m, 'b>,
    b: Var<'m, 'b>,
) -> Vec<Var<'m, 'b>> {
    if b.aval().shape.size() == 0 {
        return vec![b];
    }
    in_single(&[factors, b], |x| {
        let &[factors, b] = x else { return x.to_vec() };
        let solve = |lower: bool, b: Var<'m, 'b>| {
            factors.apply(TriangularSolve { lower, unit: lower, adjoint: op.adjoint }, &[b])
        };
        if op.adjoint {
            let y = solve(true, solve(false, b));
            let back = order.apply(Ordering { axis: last(order, 0), descending: vec![false] }, &[]);
            return vec![reordered(y, back)];
        }
        vec![solve(false, solve(true, reordered(b, order)))]
    })
}

/// The Euclidean norm along an axis, which stays with size 1; of numbers over the largest one, so that nothing
/// overflows.
pub(super) fn norm<'m, 'b>(x: Var<'m, 'b>, axes: &[Axis]) -> Var<'m, 'b> {
    let largest = folded(rough_size(x), Fold::Max, axes);
    let usual = largest.compare(Compare::gt, largest.of(0.0));
    let unit = usual.select(largest, largest.of(1.0));
    let scaled = x / spread(unit, x).like(x);
    folded(squares(scaled), Fold::Sum, axes).sqrt() * unit
}

/// `q` and `r`, from the reflectors of the columns, one after the other.
pub(super) fn qr<'m, 'b>(op: &Qr, x: Var<'m, 'b>) -> Vec<Var<'m, 'b>> {
    let [m, n] = sides(x);
    let k = m.min(n);
    let wide = if op.full { m } else { k };
    let identity = |x: Var<'m, 'b>, columns: usize| x.filled(0.0, &resized(x, &[m, columns])).identity();
    if x.aval().shape.size() == 0 {
        return vec![identity(x, wide), x.filled(0.0, &resized(x, &[wide, n]))];
    }
    in_single(&[x], |x| {
        let x = x[0];
        let (vectors, factors) = (x.filled(0.0, &resized(x, &[m, k])), x.filled(0.0, &resized(x, &[1, k])));
        let count = x.math().literal(crate::tensor::Literal::new(0i32), &Shape::scalar());
        let state = repeat_while(
            x.math(),
            &[count, x, vectors, factors],
            |state| state[0].compare(Compare::lt, state[0].integer(k as i64)),
            |state| reflect(state[0], state[1], state[2], state[3]),
        );
        let &[count, r, vectors, factors] = &state[..] else { return state };
        // The product of the reflectors, from the last one on.
        let state = repeat_while(
            x.math(),
            &[count, identity(x, wide), vectors, factors],
            |state| state[0].compare(Compare::gt, state[0].of(0.0)),
            |state| {
                let &[count, q, vectors, factors] = state else { return state.to_vec() };
                let at = count - count.of(1.0);
                let v = taken(vectors, last(vectors, 0), at);
                let factor = taken(factors, last(factors, 0), at);
                let along = v.h().dot(q);
                vec![at, q - v.dot(spread(factor, along) * along), vectors, factors]
            },
        );
        let q = state.get(1).copied().unwrap_or(x);
        vec![q, r.section(last(r, 1), 0, wide).kept(Keep::Upper)]
    })
}

/// The reflector of column `at`, applied to the matrix.
fn reflect<'m, 'b>(
    at: Var<'m, 'b>,
    x: Var<'m, 'b>,
    vectors: Var<'m, 'b>,
    factors: Var<'m, 'b>,
) -> Vec<Var<'m, 'b>> {
    let (rows, columns) = (last(x, 1), last(x, 0));
    let column = taken(x, columns, at);
    let count = numbers(x, rows, &column.aval().shape);
    let here = everywhere(at, count);
    let zero = column.of(0.0);
    let tail = count.compare(Compare::gt, here).select(column, zero);
    let alpha = taken(column, rows, at);
    let (whole, rest) =
        (norm(count.compare(Compare::ge, here).select(column, zero), &[rows]), norm(tail, &[rows]));
    let real = alpha.real_part();
    let mut is_done = rest.compare(Compare::eq, rest.of(0.0));
    if x.aval().dtype.is_complex() {
        let imaginary = alpha.part(Part::imag);
        is_done = is_done.binary(Binary::and, imaginary.compare(Compare::eq, imaginary.of(0.0)));
    }
    let opposite = real.compare(Compare::lt, real.of(0.0)).select(whole, -whole);
    let beta = is_done.select(real, opposite);
    let safe = is_done.select(beta.of(1.0), beta);
    let over = |z: Var<'m, 'b>| match z.aval().dtype.is_complex() {
        true => (z.part(Part::real) / safe).complex(z.part(Part::imag) / safe),
        false => z / safe,
    };
    let factor = is_done.select(alpha.of(0.0), over(beta.like(alpha) - alpha));
    let pivot = is_done.select(alpha.of(1.0), alpha - beta.like(alpha));
    let one = count.compare(Compare::eq, here);
    let v = one.select(zero + 1.0, spread(is_done, tail).select(zero, tail / spread(pivot, tail)));
    let along = v.h().dot(x);
    let x = x - v.dot(spread(factor.bar(), along) * along);
    let made = one.select(spread(beta.like(column), column), taken(x, columns, at));
    let x = put(x, columns, at, made);
    vec![at + at.of(1.0), x, put(vectors, columns, at, v), put(factors, columns, at, factor)]
}
