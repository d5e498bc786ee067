//! Formulas of eigenvalues and singular values: the method of Jacobi, for all matrices of a batch at once.
//!
//! A step turns `n / 2` pairs of columns, that do not overlap; after `n - 1` steps each pair had its turn. The first
//! halves of the columns meet the second halves, then the columns move on as the players of a round-robin tournament
//! do, which ends in the order that it began with. A matrix of odd size gets a column of zeros, which no turn changes.
//!
//! # Sources
//! R. P. Brent and F. T. Luk, *The solution of singular-value and symmetric eigenvalue problems on multiprocessor
//! arrays* (1985); G. H. Golub and C. F. Van Loan, *Matrix Computations*, chapter 8.

use super::control::repeat_while;
use super::factors::{folded, in_single, last, norm, resized, sides, spread, squares};
use crate::dtype::DType;
use crate::kernels::reductions::fold::Fold;
use crate::ops::{
    take_along, Binary, Compare, Eigh, Keep, Op, Ordering, Part, Predicate, Qr, Reduction, Svd, Unary, Var,
};
use crate::shape::{Axis, Shape};
use crate::tensor::Literal;

/// Sweeps over all pairs, at most: convergence is quadratic, and 10 are usual.
const SWEEPS: i64 = 30;

/// The halves of a value along an axis.
fn halves<'m, 'b>(x: Var<'m, 'b>, axis: Axis) -> [Var<'m, 'b>; 2] {
    let size = x.aval().shape[axis.0];
    [x.section(axis, 0, size / 2), x.section(axis, size / 2, size)]
}

/// What is along an axis moved on to meet others.
fn moved<'m, 'b>(x: Var<'m, 'b>, axis: Axis) -> Var<'m, 'b> {
    let half = x.aval().shape[axis.0] / 2;
    if half < 2 {
        return x;
    }
    let [a, b] = halves(x, axis);
    let others = [
        b.section(axis, 0, 1),
        a.section(axis, 1, half - 1),
        b.section(axis, 1, half),
        a.section(axis, half - 1, half),
    ];
    let used: Vec<Var> = others.into_iter().filter(|x| x.aval().shape[axis.0] > 0).collect();
    a.section(axis, 0, 1).beside(&used, axis)
}

/// A turn of pairs of columns: the first becomes `cosine * first - conj(sine) * second`, the second `sine * first +
/// cosine * second`.
#[derive(Clone, Copy)]
struct Turn<'m, 'b> {
    cosine: Var<'m, 'b>,
    sine: Var<'m, 'b>,
}

impl<'m, 'b> Turn<'m, 'b> {
    /// The turns that make Hermitian matrices `[[a, w], [conj(w), b]]` diagonal; none where `w` is 0.
    fn of(a: Var<'m, 'b>, b: Var<'m, 'b>, w: Var<'m, 'b>) -> Turn<'m, 'b> {
        let size = absolute(w);
        let is_turned = size.compare(Compare::gt, size.of(0.0));
        let safe = is_turned.select(size, size.of(1.0));
        let apart = (b - a) / (safe * 2.0);
        let tangent = 1.0 / (apart.unary(Unary::abs) + (apart * apart + 1.0).sqrt());
        let down = apart.compare(Compare::lt, apart.of(0.0));
        let tangent = is_turned.select(down.select(-tangent, tangent), size.of(0.0));
        let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
        let sine = tangent * cosine;
        let sine = match w.aval().dtype.is_complex() {
            true => {
                let [re, im] = [Part::real, Part::imag].map(|part| w.part(part) / safe * sine);
                re.complex(im)
            }
            false => w / safe * sine,
        };
        Turn { cosine: cosine.like(w), sine }
    }

    /// The columns after it.
    fn columns(self, x: Var<'m, 'b>) -> Var<'m, 'b> {
        let axis = last(x, 0);
        let [a, b] = halves(x, axis);
        let [rows, _] = sides(a);
        let [cosine, sine] = [self.cosine, self.sine].map(|v| v.along_rows(rows));
        (cosine * a - sine.bar() * b).beside(&[sine * a + cosine * b], axis)
    }
}

/// The absolute values, real.
fn absolute<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    if x.aval().dtype.is_complex() {
        return x.part(Part::magnitude);
    }
    x.unary(Unary::abs)
}

/// The rounding error of a dtype.
fn epsilon(dtype: DType) -> f64 {
    if dtype.part() == DType::F64 {
        f64::EPSILON
    } else {
        f64::from(f32::EPSILON)
    }
}

/// A count that begins with 0.
fn zero<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    x.math().literal(Literal::new(0i32), &Shape::scalar())
}

/// A column of zeros more, or a row and a column, if their number is odd.
fn even<'m, 'b>(x: Var<'m, 'b>, rows_too: bool) -> Var<'m, 'b> {
    let [_, n] = sides(x);
    let (rank, more) = (x.aval().shape.rank(), (n % 2) as i64);
    if more == 0 {
        return x;
    }
    let mut high = vec![0; rank];
    (high[rank - 1], high[rank - 2]) = (more, if rows_too { more } else { 0 });
    x.padded(0.0, vec![0; rank], high, vec![0; rank])
}

/// Whether all elements of each matrix are finite, with axes of size 1, in the shape of another value.
fn finite<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let is = x.predicate(Predicate::is_finite);
    folded(is, Fold::All, &[last(x, 1), last(x, 0)])
}

/// The value where the matrix is finite, else NaN.
fn only_where<'m, 'b>(is_finite: Var<'m, 'b>, x: Var<'m, 'b>) -> Var<'m, 'b> {
    let rank = x.aval().shape.rank();
    let batch = is_finite.aval().shape.rank() - 2;
    let sizes = [&x.aval().shape[..batch], &vec![1; rank - batch][..]].concat();
    spread(is_finite.reread(sizes), x).select(x, x.of(f64::NAN))
}

/// The largest element of each matrix in size, or 1 if all are 0.
fn unit<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let largest = folded(absolute(x), Fold::Max, &[last(x, 1), last(x, 0)]);
    largest.compare(Compare::gt, largest.of(0.0)).select(largest, largest.of(1.0))
}

/// The positions of the values in order, and these in that order.
fn sorted<'m, 'b>(values: Var<'m, 'b>, descending: bool) -> [Var<'m, 'b>; 2] {
    let axis = last(values, 0);
    let order = values.apply(Ordering { axis, descending: vec![descending] }, &[]);
    [order, take_along(values, order, axis)]
}

/// Columns in this order.
fn columns<'m, 'b>(x: Var<'m, 'b>, order: Var<'m, 'b>) -> Var<'m, 'b> {
    let [rows, _] = sides(x);
    take_along(x, order.along_rows(rows), last(x, 0))
}

/// Whether a 0-d condition holds for any matrix.
fn any<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let axes = (0..x.aval().shape.rank()).map(Axis).collect();
    x.apply(Op::Reduction(Reduction { fold: Fold::Any, axes, drop: true }), &[])
}

/// Eigenvalues and, if they are asked for, eigenvectors.
pub(super) fn eigh<'m, 'b>(op: &Eigh, x: Var<'m, 'b>) -> Vec<Var<'m, 'b>> {
    let [n, _] = sides(x);
    if x.aval().shape.size() == 0 {
        let values = x.real_part().filled(0.0, &resized(x, &[n]));
        return if op.vectors { vec![values, x] } else { vec![values] };
    }
    in_single(&[x], |x| {
        let x = x[0].kept(Keep::Lower);
        let is_finite = finite(x);
        let unit = unit(x);
        let a = even((x / spread(unit, x).like(x)).hermitian(), true);
        let state = repeat_while(
            x.math(),
            &[zero(x), a, a.identity()],
            |state| {
                let [count, a] = [state[0], state[1]];
                let off = a.kept(Keep::Below);
                let axes = [last(a, 1), last(a, 0)];
                let [off, all] = [off, a].map(|x| folded(squares(x), Fold::Sum, &axes));
                let error = epsilon(a.aval().dtype);
                // Squares: what is left is a rounding error of the whole.
                let is_left = off.compare(Compare::gt, all * (error * error * n as f64));
                count.compare(Compare::lt, count.integer(SWEEPS)).binary(Binary::and, any(is_left))
            },
            |state| {
                let &[count, a, v] = state else { return state.to_vec() };
                let [size, _] = sides(a);
                let swept = repeat_while(
                    a.math(),
                    &[zero(a), a, v],
                    |state| state[0].compare(Compare::lt, state[0].integer(size as i64 - 1)),
                    |state| {
                        let &[count, a, v] = state else { return state.to_vec() };
                        let (turned, v) = turn_both(a, v);
                        vec![count + count.of(1.0), turned, v]
                    },
                );
                match swept[..] {
                    [_, a, v] => vec![count + count.of(1.0), a, v],
                    _ => swept,
                }
            },
        );
        let &[_, a, v] = &state[..] else { return state };
        let values = a.diagonal().real_part();
        let values = values.section(last(values, 0), 0, n);
        let values = values * spread(unit.reread(resized(x, &[1])), values);
        let [order, values] = sorted(values, false);
        let mut made = vec![only_where(is_finite, values)];
        if op.vectors {
            let v = v.section(last(v, 1), 0, n);
            made.push(only_where(is_finite, columns(v.section(last(v, 0), 0, n), order)));
        }
        made
    })
}

/// A Hermitian matrix turned from both sides, and the columns of the vectors with it.
fn turn_both<'m, 'b>(a: Var<'m, 'b>, v: Var<'m, 'b>) -> (Var<'m, 'b>, Var<'m, 'b>) {
    let (rows, columns) = (last(a, 1), last(a, 0));
    let [left, right] = halves(a, columns);
    let [first, _] = halves(left, rows);
    let [across, second] = halves(right, rows);
    let turn = Turn::of(first.diagonal().real_part(), second.diagonal().real_part(), across.diagonal());
    let half = turn.columns(a).h();
    let turned = turn.columns(half);
    (moved(moved(turned, rows), columns), moved(turn.columns(v), columns))
}

/// Singular values and, if they are asked for, vectors: the columns of a square factor are turned until they are
/// orthogonal.
pub(super) fn svd<'m, 'b>(op: &Svd, x: Var<'m, 'b>) -> Vec<Var<'m, 'b>> {
    let [m, n] = sides(x);
    let k = m.min(n);
    let [left, right] = if op.full { [m, n] } else { [k, k] };
    if x.aval().shape.size() == 0 {
        let values = x.real_part().filled(0.0, &resized(x, &[k]));
        let identity = |rows, columns| x.filled(0.0, &resized(x, &[rows, columns])).identity();
        let vectors = if op.vectors { vec![identity(m, left), identity(n, right)] } else { vec![] };
        return [vec![values], vectors].concat();
    }
    if m < n {
        let made = svd(op, x.h());
        return match made[..] {
            [d, u, v] => vec![d, v, u],
            _ => made,
        };
    }
    in_single(&[x], |x| tall(op, x[0]))
}

/// For at least as many rows as columns.
fn tall<'m, 'b>(op: &Svd, x: Var<'m, 'b>) -> Vec<Var<'m, 'b>> {
    let [m, n] = sides(x);
    let is_finite = finite(x);
    let unit = unit(x);
    let scaled = x / spread(unit, x).like(x);
    let full = op.full && op.vectors && m > n;
    let (outer, square) = match m > n {
        true => {
            let made = x.math().apply_all(Qr { full }, &[scaled]);
            let &[q, r] = &made[..] else { return made };
            (Some(q), r.section(last(r, 1), 0, n))
        }
        false => (None, scaled),
    };
    let w = even(square, false);
    let [_, size] = sides(w);
    let basis = w.filled(0.0, &resized(w, &[size, size])).identity();
    let worst = w.real_part().scalar(1.0);
    let state = repeat_while(
        x.math(),
        &[zero(x), worst, w, basis],
        |state| {
            let [count, worst] = [state[0], state[1]];
            let is_left = worst.compare(Compare::gt, worst.of(epsilon(worst.aval().dtype) * n as f64));
            count.compare(Compare::lt, count.integer(SWEEPS)).binary(Binary::and, is_left)
        },
        |state| {
            let &[count, _, w, v] = state else { return state.to_vec() };
            let [_, size] = sides(w);
            let swept = repeat_while(
                w.math(),
                &[zero(w), w.real_part().scalar(0.0), w, v],
                |state| state[0].compare(Compare::lt, state[0].integer(size as i64 - 1)),
                |state| turn_columns(state[0], state[1], state[2], state[3]),
            );
            match swept[..] {
                [_, worst, w, v] => vec![count + count.of(1.0), worst, w, v],
                _ => swept,
            }
        },
    );
    let &[_, _, w, v] = &state[..] else { return state };
    let w = w.section(last(w, 0), 0, n);
    let lengths = norm(w, &[last(w, 1)]).reread(resized(w, &[n]));
    let [order, lengths] = sorted(lengths, true);
    let values = lengths * spread(unit.reread(resized(x, &[1])), lengths);
    let mut made = vec![only_where(is_finite, values)];
    if op.vectors {
        let w = columns(w, order);
        let v = v.section(last(v, 1), 0, n);
        let v = columns(v.section(last(v, 0), 0, n), order);
        // Orthogonal columns are those of `q` times lengths, with signs; `q` fills up those of length 0.
        let factors = x.math().apply_all(Qr { full: false }, &[w]);
        let &[q, r] = &factors[..] else { return factors };
        let signs = r.diagonal().real_part();
        let signs = signs.compare(Compare::lt, signs.of(0.0)).select(signs.of(-1.0), signs.of(1.0));
        let mut u = q * signs.along_rows(n).like(q);
        if let Some(outer) = outer {
            let columns = last(outer, 0);
            let rest = outer.section(columns, n, sides(outer)[1]);
            u = outer.section(columns, 0, n).dot(u);
            if full {
                u = u.beside(&[rest], columns);
            }
        }
        made.extend([only_where(is_finite, u), only_where(is_finite, v)]);
    }
    made
}

/// Pairs of columns made orthogonal, and the largest cosine of their angles so far.
fn turn_columns<'m, 'b>(
    count: Var<'m, 'b>,
    worst: Var<'m, 'b>,
    w: Var<'m, 'b>,
    v: Var<'m, 'b>,
) -> Vec<Var<'m, 'b>> {
    let (rows, columns) = (last(w, 1), last(w, 0));
    let [a, b] = halves(w, columns);
    let total = |x: Var<'m, 'b>| x.summed(vec![rows]);
    let (first, second) = (total(squares(a)), total(squares(b)));
    let across = total(a.bar() * b);
    let size = absolute(across);
    let both = first.sqrt() * second.sqrt();
    // Columns that are rounding errors of the whole need not be orthogonal to each other.
    let is_known = both.compare(Compare::gt, both.of(0.0));
    let cosine = is_known.select(size / is_known.select(both, both.of(1.0)), both.of(0.0));
    let axes: Vec<Axis> = (0..cosine.aval().shape.rank()).map(Axis).collect();
    let most = cosine.apply(Op::Reduction(Reduction { fold: Fold::Max, axes, drop: true }), &[]);
    let turn = Turn::of(first, second, across);
    vec![
        count + count.of(1.0),
        worst.binary(Binary::max, most),
        moved(turn.columns(w), columns),
        moved(turn.columns(v), columns),
    ]
}
