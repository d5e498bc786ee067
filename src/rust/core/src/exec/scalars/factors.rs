//! Factors and equations of small matrices as steps on elements: the algorithms that kernels have for a batch of small
//! matrices ([`lanes`](crate::kernels::linalg::lanes)), which have no branches that depend on elements, with their bits.

use super::{Lowering, Node};
use crate::dtype::DType;
use crate::exec::vm::native;
use crate::kernels::linalg::triangular::Triangle;
use crate::ops::{Cholesky, Lu, LuSolve, TriangularSolve};
use crate::shape::Shape;
use crate::tensor::Literal;
use std::sync::Arc;

/// Rows and columns of a matrix, at most, whose rows are exchanged: of a larger one there are more choices than other
/// steps.
const MAX_EXCHANGED: usize = 4;

/// The cube of the rows of a matrix, or its square times right-hand sides, at most: from there on kernels take less time.
/// So do they for matrices without elements.
const MAX_WORK: usize = 216;

/// The sizes of the only matrix that a value of this shape is.
fn sizes(shape: &Shape) -> Option<[usize; 2]> {
    let (batch, matrix) = shape.split_at(shape.rank().checked_sub(2)?);
    batch.iter().all(|&size| size == 1).then(|| [matrix[0], matrix[1]])
}

impl Lowering<'_> {
    /// The elements of the results of a node whose operands are small matrices, if there are such steps.
    pub(super) fn factors(&mut self, node: &Node) -> Option<Vec<Arc<[usize]>>> {
        let op = &node.op;
        let matrices = op.get::<Lu>().is_some()
            || op.get::<LuSolve>().is_some()
            || op.get::<Cholesky>().is_some()
            || op.get::<TriangularSolve>().is_some();
        if !matrices {
            return None;
        }
        let avals: Vec<_> = node.operands.iter().map(|&v| self.body.aval(v).clone()).collect();
        let dtype = avals[0].dtype;
        let [[rows, columns], [_, sides]] = [sizes(&avals[0].shape)?, sizes(&avals[avals.len() - 1].shape)?];
        let exchanges = op.get::<Lu>().is_some() || op.get::<LuSolve>().is_some();
        if !matches!(dtype, DType::F32 | DType::F64)
            || !(1..=MAX_WORK).contains(&(rows * columns * sides))
            || exchanges && rows.max(columns) > MAX_EXCHANGED
        {
            return None;
        }
        let operands =
            node.operands.iter().map(|&v| Some(self.elements(v)?.to_vec())).collect::<Option<Vec<_>>>()?;
        let mut to = Numbers { to: self, dtype };
        let made = if op.get::<Lu>().is_some() {
            to.lu(&operands[0], [rows, columns])
        } else if let Some(&LuSolve { adjoint }) = op.get() {
            vec![to.lu_solve(&operands[1], &operands[2], &operands[3], adjoint, [rows, sides])]
        } else if let Some(&Cholesky { lower }) = op.get() {
            vec![to.cholesky(&operands[0], rows, lower)]
        } else {
            let &TriangularSolve { lower, unit, adjoint } = op.get()?;
            let (mut x, triangle) = (operands[1].clone(), Triangle { lower: lower != adjoint, unit });
            to.solve(&operands[0], adjoint, triangle, rows, &mut x);
            vec![x]
        };
        Some(made.into_iter().map(Arc::from).collect())
    }
}

/// Steps on numbers of one dtype, on masks and on integers.
struct Numbers<'a, 'b> {
    to: &'a mut Lowering<'b>,
    dtype: DType,
}

impl Numbers<'_, '_> {
    fn number(&mut self, x: f64) -> usize {
        let literal = Literal::new(x).convert(self.dtype);
        self.to.literal(literal)
    }

    fn row(&mut self, i: usize) -> usize {
        self.to.literal(Literal::new(i as i32))
    }

    fn rows(&mut self, n: usize) -> Vec<usize> {
        (0..n).map(|i| self.row(i)).collect()
    }

    /// A number.
    fn op(&mut self, op: native::Op, operands: &[usize]) -> usize {
        self.to.op(op, operands.to_vec(), self.dtype)
    }

    /// A mask.
    fn is(&mut self, op: native::Op, operands: &[usize]) -> usize {
        self.to.op(op, operands.to_vec(), DType::I1)
    }

    fn choose(&mut self, mask: usize, yes: usize, no: usize) -> usize {
        if yes == no {
            return yes;
        }
        self.op(native::Op::Select, &[mask, yes, no])
    }

    fn choose_row(&mut self, mask: usize, yes: usize, no: usize) -> usize {
        self.to.op(native::Op::Select, vec![mask, yes, no], DType::I32)
    }

    /// `x - y * z`, rounded twice.
    fn minus_product(&mut self, x: usize, y: usize, z: usize) -> usize {
        let product = self.op(native::Op::Mul, &[y, z]);
        self.op(native::Op::Sub, &[x, product])
    }

    /// Whether one of some numbers is not finite, or that of none.
    fn any_not_finite(&mut self, numbers: &[usize]) -> Option<usize> {
        let not: Vec<usize> = numbers
            .iter()
            .map(|&x| {
                let finite = self.is(native::Op::IsFinite, &[x]);
                self.is(native::Op::Not, &[finite])
            })
            .collect();
        not.into_iter().reduce(|x, y| self.is(native::Op::Or, &[x, y]))
    }

    /// The factors of `a [m, n]`, the row that each row is exchanged with, and the order that this makes.
    fn lu(&mut self, a: &[usize], [m, n]: [usize; 2]) -> Vec<Vec<usize>> {
        let (mut a, mut pivots, [zero, one]) = (a.to_vec(), vec![], [0.0, 1.0].map(|x| self.number(x)));
        for j in 0..m.min(n) {
            let (mut pivot, mut row) = (a[j + j * m], self.row(j));
            for i in j + 1..m {
                let (x, here) = (a[i + j * m], self.row(i));
                let [size, most] = [x, pivot].map(|x| self.op(native::Op::Abs, &[x]));
                let larger = self.is(native::Op::Lt, &[most, size]);
                // The first NaN is the largest of all.
                let [new, old] = [x, pivot].map(|x| self.is(native::Op::IsNan, &[x]));
                let before = self.is(native::Op::Not, &[old]);
                let first = self.is(native::Op::And, &[new, before]);
                let better = self.is(native::Op::Or, &[larger, first]);
                pivot = self.choose(better, x, pivot);
                row = self.choose_row(better, here, row);
            }
            pivots.push(row);
            for (i, k) in (j + 1..m).flat_map(|i| (0..n).map(move |k| (i, k))) {
                // The row that is exchanged is one of them at most: each exchange leaves the others alone.
                let number = self.row(i);
                let here = self.is(native::Op::Eq, &[row, number]);
                let (above, x) = (a[j + k * m], a[i + k * m]);
                a[j + k * m] = self.choose(here, x, above);
                a[i + k * m] = self.choose(here, above, x);
            }
            let inverse = self.op(native::Op::Div, &[one, pivot]);
            let [none, finite] =
                [self.is(native::Op::Eq, &[pivot, zero]), self.is(native::Op::IsFinite, &[inverse])];
            for x in &mut a[j * m + j + 1..(j + 1) * m] {
                let [product, quotient] =
                    [self.op(native::Op::Mul, &[*x, inverse]), self.op(native::Op::Div, &[*x, pivot])];
                let scaled = self.choose(finite, product, quotient);
                *x = self.choose(none, *x, scaled);
            }
            for (i, k) in (j + 1..m).flat_map(|i| (j + 1..n).map(move |k| (i, k))) {
                let updated = self.minus_product(a[i + k * m], a[i + j * m], a[j + k * m]);
                a[i + k * m] = self.choose(none, a[i + k * m], updated);
            }
        }
        let mut order = self.rows(m);
        for (i, &row) in pivots.iter().enumerate() {
            for r in i + 1..m {
                let number = self.row(r);
                let here = self.is(native::Op::Eq, &[row, number]);
                let (above, x) = (order[i], order[r]);
                order[i] = self.choose_row(here, x, above);
                order[r] = self.choose_row(here, above, x);
            }
        }
        vec![a, pivots, order]
    }

    /// Solves equations with a triangle of `a [n, n]`, or of its transpose, for `x [n, m]`, which holds the right-hand
    /// sides before.
    fn solve(&mut self, a: &[usize], transposed: bool, triangle: Triangle, n: usize, x: &mut [usize]) {
        let [down, across] = if transposed { [n, 1] } else { [1, n] };
        let place = |i: usize| if triangle.lower { i } else { n - 1 - i };
        let one = self.number(1.0);
        let diagonal: Vec<usize> =
            (0..if triangle.unit { 0 } else { n }).map(|i| a[place(i) * (n + 1)]).collect();
        let inverses: Vec<usize> = diagonal.iter().map(|&x| self.op(native::Op::Div, &[one, x])).collect();
        // Reciprocals are not used where one of them is out of range.
        let divides = self.any_not_finite(&inverses);
        for x in x.chunks_exact_mut(n) {
            for i in 0..n {
                let mut sum = x[place(i)];
                for k in 0..i {
                    sum = self.minus_product(sum, a[place(i) * down + place(k) * across], x[place(k)]);
                }
                if let Some(divides) = divides {
                    let quotient = self.op(native::Op::Div, &[sum, diagonal[i]]);
                    let product = self.op(native::Op::Mul, &[sum, inverses[i]]);
                    sum = self.choose(divides, quotient, product);
                }
                x[place(i)] = sum;
            }
        }
    }

    /// Solves equations of LU factors `[n, n]`, the order of rows and right-hand sides `[n, m]`.
    fn lu_solve(
        &mut self,
        factors: &[usize],
        order: &[usize],
        b: &[usize],
        adjoint: bool,
        [n, _]: [usize; 2],
    ) -> Vec<usize> {
        let [lower, upper] = [true, false].map(|lower| Triangle { lower, unit: lower });
        let (mut b, numbers) = (b.to_vec(), self.rows(n));
        if adjoint {
            self.solve(factors, true, Triangle { lower: true, unit: false }, n, &mut b);
            self.solve(factors, true, Triangle { lower: false, unit: true }, n, &mut b);
        }
        // Rows that do not exist are the first or the last one.
        let mut is_row = |row: usize, to: usize| match to {
            0 => self.is(native::Op::Le, &[row, numbers[0]]),
            _ if to + 1 == n => self.is(native::Op::Ge, &[row, numbers[to]]),
            _ => self.is(native::Op::Eq, &[row, numbers[to]]),
        };
        let places: Vec<Vec<usize>> =
            order.iter().map(|&row| (0..n).map(|to| is_row(row, to)).collect()).collect();
        let zero = self.number(0.0);
        let mut x = vec![];
        for b in b.chunks_exact(n) {
            let start = x.len();
            if n == 1 {
                x.push(b[0]);
            } else if adjoint {
                x.extend(vec![zero; n]);
                for (i, to) in (0..n).flat_map(|i| (0..n).map(move |to| (i, to))) {
                    x[start + to] = self.choose(places[i][to], b[i], x[start + to]);
                }
            } else {
                for place in &places {
                    x.push((0..n - 1).fold(b[n - 1], |other, from| self.choose(place[from], b[from], other)));
                }
            }
        }
        if !adjoint {
            self.solve(factors, false, lower, n, &mut x);
            self.solve(factors, false, upper, n, &mut x);
        }
        x
    }

    /// The Cholesky factor of `a [n, n]`, of which one triangle is read and written; NaN if there is none.
    fn cholesky(&mut self, a: &[usize], n: usize, lower: bool) -> Vec<usize> {
        let at = |i: usize, j: usize| if lower { i + j * n } else { j + i * n };
        let (mut out, [zero, one, nan]) = (a.to_vec(), [0.0, 1.0, f64::NAN].map(|x| self.number(x)));
        let mut pivots = vec![];
        for j in 0..n {
            for (k, i) in (0..j).flat_map(|k| (j..n).map(move |i| (k, i))) {
                out[at(i, j)] = self.minus_product(out[at(i, j)], out[at(i, k)], out[at(j, k)]);
            }
            pivots.push(out[at(j, j)]);
            let root = self.op(native::Op::Sqrt, &[out[at(j, j)]]);
            let inverse = self.op(native::Op::Div, &[one, root]);
            out[at(j, j)] = root;
            for i in j + 1..n {
                out[at(i, j)] = self.op(native::Op::Mul, &[out[at(i, j)], inverse]);
            }
        }
        let mut fails = self.any_not_finite(&pivots);
        for &pivot in &pivots {
            let below = self.is(native::Op::Le, &[pivot, zero]);
            fails = fails.map(|fails| self.is(native::Op::Or, &[fails, below]));
        }
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let factor = if i < j { zero } else { out[at(i, j)] };
            out[at(i, j)] = fails.map_or(factor, |fails| self.choose(fails, nan, factor));
        }
        out
    }
}
