//! Sums of products over shared axes: matrix products and their generalisation.

use super::attrs::{logical, vector, Attrs};
use super::contract::{Form, Linear, OpDef, Promotion, Ready, Strip};
use super::derive::Var;
use super::lower::{axes, Formula, HloOp, Lowering, Syntax};
use super::rules::{Batch, Batched, Vjp};
use super::{written, Binary, BroadcastInDim, Op, Row};
use crate::dtype::{DType, ANY};
use crate::error::{Error, Result};
use crate::graph::syntax::Parsed;
use crate::kernels::products::dot::{self, Side};
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, Layout, View, ViewMut};

/// `result[batch, i, j] = sum over k of lhs[batch, i, k] * rhs[batch, j, k]`, where batch and `k` are the
/// named axes of each operand, `i` and `j` the others (StableHLO, `dot_general`). Axes of the result: batch,
/// then those of `lhs`, then those of `rhs`. Floats accumulate in their own dtype (those of 16 bits in f32),
/// partial sums of long sums in f64; integers wrap. Ambiguous if both
/// operands are.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DotGeneral {
    /// Axes that are summed over, of each operand.
    pub contracting: [Vec<Axis>; 2],
    /// Axes that are kept apart, of each operand.
    pub batching: [Vec<Axis>; 2],
    /// Whether the batching axes come last in the result. So it is in batches of other programs, where each
    /// product is dense in column-major order; in StableHLO they come first.
    pub batch_last: bool,
}

static DOT_GENERAL: Row = Row {
    accuracy: "Terms are summed in the dtype of the operands, of `bf16` and `f16` in `f32`, and blocks of a long sum in \
               double precision: the error grows with the number of terms.",
    ..written("dot_general", "nv_dot_general", &["lhs", "rhs"], ANY)
};

impl OpDef for DotGeneral {
    fn row(&self) -> &'static Row {
        &DOT_GENERAL
    }

    fn rows() -> Vec<&'static Row> {
        vec![&DOT_GENERAL]
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let (lhs, rhs) = (operands[0], operands[1]);
        let op = || DOT_GENERAL.function.to_string();
        if lhs.dtype != rhs.dtype {
            let [lhs, rhs] = [lhs, rhs].map(|x| x.ranked().dtype);
            return Err(Error::DtypeMismatch { op: op(), lhs, rhs });
        }
        for (what, [l, r]) in [("Contracted axes", &self.contracting), ("Batch axes", &self.batching)] {
            let mismatch = |what: String, l: usize, r: usize| {
                let (lhs, rhs) = (lhs.shape.clone(), rhs.shape.clone());
                Err(Error::SizeMismatch { op: op(), lhs, rhs, what, l, r })
            };
            if l.len() != r.len() {
                return mismatch(format!("Numbers of {}", what.to_lowercase()), l.len(), r.len());
            }
            for (&i, &j) in l.iter().zip(r) {
                if lhs.shape[i.0] != rhs.shape[j.0] {
                    return mismatch(
                        format!("{what} {i} and {j} differ in size"),
                        lhs.shape[i.0],
                        rhs.shape[j.0],
                    );
                }
            }
        }
        for side in 0..2 {
            if let Some(&axis) = self.contracting[side].iter().find(|a| self.batching[side].contains(a)) {
                return Err(Error::DuplicateAxis { op: op(), axis });
            }
        }
        let batch = self.batching[0].iter().map(|a| lhs.shape[a.0]);
        let left = self.rest(0, &lhs.shape).into_iter().map(|a| lhs.shape[a.0]);
        let right = self.rest(1, &rhs.shape).into_iter().map(|a| rhs.shape[a.0]);
        let sizes = if self.batch_last {
            left.chain(right).chain(batch).collect()
        } else {
            batch.chain(left).chain(right).collect()
        };
        Ok(vec![Aval { dtype: lhs.dtype, shape: Shape::try_new(sizes)?, ambiguous: lhs.ambiguous_with(rhs) }])
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        let pair = |[l, r]: &[Vec<Axis>; 2]| format!("[{}, {}]", vector(l), vector(r));
        let mut all =
            vec![("contracting_axes", pair(&self.contracting)), ("batching_axes", pair(&self.batching))];
        if self.batch_last {
            all.push(("batch_last", logical(true)));
        }
        all
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::JoinCounted
    }

    fn decode(row: &'static Row, attrs: &Attrs, operands: &[&Aval]) -> Result<Op> {
        let pair = |name| attrs.axes_pair(name, row.function, [&operands[0].shape, &operands[1].shape]);
        let (contracting, batching) = (pair("contracting_axes")?, pair("batching_axes")?);
        Ok(DotGeneral { contracting, batching, batch_last: false }.into())
    }

    fn parse(form: &Form) -> Parsed<DotGeneral> {
        form.takes(2)?;
        Ok(DotGeneral {
            contracting: form.axes_of_two("contracting_axes")?,
            batching: form.axes_of_two("batching_axes")?,
            batch_last: form.has("batch_last") && form.logical("batch_last")?,
        })
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let product = self.product([0, 1].map(|i| (operands[i].shape, operands[i].layout)));
        product.eval(&operands[0], &operands[1], &mut results[0]);
    }

    fn prepare(&self, operands: &[(&Shape, &Layout)]) -> Option<Ready> {
        let product = self.product([operands[0], operands[1]]);
        Some(Box::new(move |operands, results| product.eval(&operands[0], &operands[1], &mut results[0])))
    }

    fn contraction(&self) -> Option<&DotGeneral> {
        Some(self)
    }

    fn scratch(&self, operands: &[&Aval]) -> usize {
        let layouts = [0, 1].map(|i| Layout::dense(&operands[i].shape));
        let product = self.product([0, 1].map(|i| (&operands[i].shape, &layouts[i])));
        let copied = |i: &usize| matches!(product.sides[*i], Side::Copied(..));
        (0..2).filter(copied).map(|i| operands[i].bytes()).sum()
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::by(|at| {
            let pull = |side: usize| at.wanted[side].then(|| self.pull(side, [at.x(0), at.x(1)], at.g()));
            (0..2).map(pull).collect()
        })
    }

    /// The batch axis is one more batching axis if both operands have it, else one of those that are left: the
    /// last of all, as long as no axis of the second operand is left after it.
    fn batch(&self) -> Batch<'_> {
        Batch::of_one(|at| {
            let [left, right] =
                [0, 1].map(|i| at.rank(i) - self.contracting[i].len() - self.batching[i].len());
            let batching = self.batching[0].len();
            let last = if self.batch_last { batching } else { 0 };
            if at.batched == [false, true] || (at.batched == [true, false] && right == 0) {
                // The batching axes are behind it if they come last.
                return at
                    .x(0)
                    .apply(self.clone(), &[at.x(1)])
                    .moved_last(Axis(left + right + batching - last));
            }
            if at.batched == [true, false] && (left == 0 || self.reads_more_than_it_makes(at)) {
                // The product of the exchanged operands, whose batch axis is the last of those that are left.
                let swapped = |[l, r]: &[Vec<Axis>; 2]| [r.clone(), l.clone()];
                let op = DotGeneral {
                    contracting: swapped(&self.contracting),
                    batching: swapped(&self.batching),
                    batch_last: self.batch_last,
                };
                let first = batching - last;
                let made = at.x(1).apply(op, &[at.x(0)]).moved_last(Axis(first + right + left));
                if left == 0 {
                    return made;
                }
                let order = (0..first)
                    .chain(first + right..first + right + left)
                    .chain(first..first + right)
                    .chain(first + right + left..=left + right + batching);
                return made.transposed(order.map(Axis).collect());
            }
            // What all examples share is read again for each, and not copied.
            let mut op = DotGeneral { batch_last: true, ..self.clone() };
            (0..2).for_each(|i| op.batching[i].push(Axis(at.rank(i))));
            let made = at.whole(0).apply(op, &[at.whole(1)]);
            if self.batch_last || batching == 0 {
                return made;
            }
            let order = (left + right..left + right + batching)
                .chain(0..left + right)
                .chain([left + right + batching]);
            made.transposed(order.map(Axis).collect())
        })
    }

    /// Along a batching axis: along others, the kernel and with it the order of a sum depend on the size.
    fn strip(&self, axis: Axis, _size: usize, operands: &[&Aval]) -> Option<Strip> {
        let [lhs, rhs] = &self.batching;
        let rank = |i: usize| operands[i].shape.rank() - self.contracting[i].len() - lhs.len();
        let first = if self.batch_last { rank(0) + rank(1) } else { 0 };
        let number = axis.0.checked_sub(first)?;
        Strip::new(self.clone(), vec![Some(*lhs.get(number)?), Some(*rhs.get(number)?)])
    }

    fn lower(&self, operands: &[Aval]) -> Lowering<'_> {
        if self.batch_last {
            return Lowering::Formula(Formula::Product(self), None);
        }
        let dtype = operands[0].dtype;
        let pair = |[l, r]: &[Vec<Axis>; 2]| format!("{} x {}", axes(l), axes(r));
        let mut attributes = String::from(", ");
        if !self.batching[0].is_empty() {
            attributes += &format!("batching_dims = {}, ", pair(&self.batching));
        }
        attributes += &format!("contracting_dims = {}", pair(&self.contracting));
        if dtype.part().is_float() {
            // Other backends multiply floats in fewer bits by default.
            attributes += ", precision = [HIGHEST, HIGHEST]";
        }
        let syntax = if dtype.is_half() {
            Syntax::Accumulated(DType::F32, attributes)
        } else {
            Syntax::Signature(attributes)
        };
        Lowering::Op(HloOp { name: "stablehlo.dot_general", syntax })
    }

    fn linear(&self) -> Linear {
        Linear::InEach(&[0, 1])
    }

    fn reads_transposed(&self) -> bool {
        true
    }
}

impl DotGeneral {
    /// The matrix product of the last two axes; the others are a batch.
    ///
    /// # Errors
    /// [`Error::Rank`] if an operand has fewer than two axes, or their numbers differ;
    /// [`Error::SizeMismatch`].
    pub fn matmul(lhs: &Shape, rhs: &Shape) -> Result<DotGeneral> {
        let need = |operand: &str, shape: &Shape, expected: String, hint: &str| {
            let (operand, shape, hint) = (operand.to_string(), shape.clone(), hint.to_string());
            Err(Error::Rank { op: "nv_matmul".into(), operand, expected, shape, hint })
        };
        let hint = "`%*%` takes a vector for a row or a column, as in R; `nv_reshape()` makes it the one that you mean.";
        for (operand, shape) in [("lhs", lhs), ("rhs", rhs)] {
            if shape.rank() < 2 {
                return need(operand, shape, "at least 2 axes".into(), hint);
            }
        }
        if lhs.rank() != rhs.rank() {
            let hint = "Leading axes are a batch and must be equal; `nv_broadcast_to()` repeats a matrix.";
            return need("rhs", rhs, format!("{} axes, as `lhs`", lhs.rank()), hint);
        }
        let (rank, batch) = (lhs.rank(), (0..lhs.rank() - 2).map(Axis).collect::<Vec<_>>());
        let differ = |what: String, l: usize, r: usize| {
            Err(Error::SizeMismatch {
                op: "nv_matmul".into(),
                lhs: lhs.clone(),
                rhs: rhs.clone(),
                what,
                l,
                r,
            })
        };
        if lhs[rank - 1] != rhs[rank - 2] {
            let what = "The columns of the first must be as many as the rows of the second";
            return differ(what.into(), lhs[rank - 1], rhs[rank - 2]);
        }
        if let Some(i) = batch.iter().find(|i| lhs[i.0] != rhs[i.0]) {
            return differ(
                format!("Leading axes are a batch and must be equal; axis {i} is not"),
                lhs[i.0],
                rhs[i.0],
            );
        }
        let contracting = [vec![Axis(rank - 1)], vec![Axis(rank - 2)]];
        Ok(DotGeneral { contracting, batching: [batch.clone(), batch], batch_last: false })
    }

    /// The op whose result for these operands is the transpose by `order` of this one's, bit for bit, if
    /// there is one: the batching axes move from the end to the front.
    pub(crate) fn transposed(&self, order: &[Axis], operands: [&Shape; 2]) -> Option<DotGeneral> {
        let [left, right] = [0, 1].map(|i| self.rest(i, operands[i]));
        let (batch, rest) = (self.batching[0].len(), left.len() + right.len());
        let first = (rest..rest + batch).chain(0..rest).map(Axis);
        let size = |axes: &[Axis], i: usize| axes.iter().map(|a| operands[i][a.0]).product::<usize>();
        let sizes = [size(&left, 0), size(&self.contracting[0], 0), size(&right, 1)];
        let moves = self.batch_last && first.eq(order.iter().copied()) && dot::is_same_in_batches(sizes);
        moves.then(|| DotGeneral { batch_last: false, ..self.clone() })
    }

    /// Whether the sums are so long that the first operand is several times as large as the result: one product with
    /// all examples of it beside one another is worth the exchange of the result's axes.
    fn reads_more_than_it_makes(&self, at: &Batched) -> bool {
        const TIMES: usize = 4;
        let size = |axes: &[Axis], shape: &Shape| axes.iter().map(|a| shape[a.0]).product::<usize>();
        let other = at.x(1).aval().shape;
        let own = size(&self.rest(1, &other), &other);
        size(&self.contracting[1], &other) >= TIMES * own
    }

    /// The axes of an operand that are neither contracted nor of a batch.
    pub(crate) fn rest(&self, side: usize, shape: &Shape) -> Vec<Axis> {
        let named = |a: &Axis| self.contracting[side].contains(a) || self.batching[side].contains(a);
        (0..shape.rank()).map(Axis).filter(|a| !named(a)).collect()
    }

    /// Whether it has no sum, and an elementwise product of such operands has the same bits. (Complex products
    /// round otherwise, and those of 16 bits lose a sign when they vanish in f32.)
    pub(crate) fn is_outer(&self, operands: [&Aval; 2]) -> bool {
        let dtype = operands[0].dtype;
        self.contracting[0].iter().all(|a| operands[0].shape[a.0] == 1)
            && operands.iter().all(|x| x.ambiguous.is_none())
            && !dtype.is_half()
            && !dtype.is_complex()
    }

    /// The product of operands as [`DotGeneral::is_outer`] has them, as an elementwise product.
    pub(crate) fn outer<'m, 'b>(&self, operands: [Var<'m, 'b>; 2]) -> Var<'m, 'b> {
        let avals = operands.map(Var::aval);
        let batch = self.batching[0].len();
        let rests = [0, 1].map(|i| self.rest(i, &avals[i].shape));
        // Where the batching axes are in the result, and those of each operand.
        let (first, batches) =
            if self.batch_last { (0, rests[0].len() + rests[1].len()) } else { (batch, 0) };
        let own = [first, first + rests[0].len()];
        let shape = match self.infer(&[&avals[0], &avals[1]]) {
            Ok(made) => made[0].shape.clone(),
            Err(error) => return operands[0].failed(error),
        };
        let spread = |i: usize| {
            let from = &avals[i].shape;
            let place = |axis: Axis| {
                let at = |list: &[Axis], start: usize| Some(start + list.iter().position(|&a| a == axis)?);
                at(&self.batching[i], batches).or(at(&rests[i], own[i]))
            };
            let kept: Vec<(usize, Axis)> =
                (0..from.rank()).filter_map(|axis| Some((from[axis], Axis(place(Axis(axis))?)))).collect();
            let sizes = Shape::try_new(kept.iter().map(|(size, _)| *size).collect());
            let axes: Vec<Axis> = kept.into_iter().map(|(_, axis)| axis).collect();
            match sizes {
                Ok(sizes) => {
                    operands[i].reshaped(&sizes).apply(BroadcastInDim { shape: shape.clone(), axes }, &[])
                }
                Err(error) => operands[i].failed(error),
            }
        };
        let product = spread(0).binary(Binary::mul, spread(1));
        // A sum starts at 0, so it is never -0.
        if avals[0].dtype.is_float() {
            product + 0.0
        } else {
            product
        }
    }

    /// The gradient of one operand: the other operand times the result's gradient, contracted over the axes
    /// of the result that come from the other operand.
    fn pull<'m, 'b>(&self, side: usize, operands: [Var<'m, 'b>; 2], g: Var<'m, 'b>) -> Var<'m, 'b> {
        let shapes = operands.map(|x| x.aval().shape);
        let other = 1 - side;
        let batch = self.batching[0].len();
        let rests = [0, 1].map(|i| self.rest(i, &shapes[i]));
        // Batching axes come first, or last, in both products.
        let before = if self.batch_last { 0 } else { batch };
        let first = |i: usize| if i == 0 { before } else { before + rests[0].len() };
        let batches = if self.batch_last { rests[0].len() + rests[1].len() } else { 0 };
        let axes = |start: usize, n: usize| (start..start + n).map(Axis).collect::<Vec<_>>();
        // The gradient is on the side of this operand, so that the product of two matrices needs no
        // transpose.
        let ours = (axes(first(other), rests[other].len()), axes(batches, batch), g);
        let theirs = (rests[other].clone(), self.batching[other].clone(), operands[other]);
        let (lhs, rhs) = if side == 0 { (ours, theirs) } else { (theirs, ours) };
        let (contracting, batching) = ([lhs.0, rhs.0], [lhs.1, rhs.1]);
        let made = lhs.2.apply(DotGeneral { contracting, batching, batch_last: self.batch_last }, &[rhs.2]);
        // Its axes: the batch, then this operand's own axes and the contracted ones in the order of the other
        // operand; for the second operand, the contracted ones first.
        let mut contracted = self.contracting[other].clone();
        contracted.sort();
        let place = |axis: Axis| {
            let among = |list: &[Axis]| list.iter().position(|&a| a == axis);
            let (before_own, before_shared) =
                if side == 0 { (0, rests[0].len()) } else { (contracted.len(), 0) };
            let own = among(&rests[side]).map(|k| before + before_own + k);
            let shared = among(&self.contracting[side]).and_then(|k| {
                let at = contracted.iter().position(|&a| a == self.contracting[other][k])?;
                Some(before + before_shared + at)
            });
            let batching = among(&self.batching[side]).map(|k| {
                if self.batch_last {
                    shapes[side].rank() - batch + k
                } else {
                    k
                }
            });
            Axis(batching.or(own).or(shared).expect("each axis has one of three parts"))
        };
        let permutation = (0..shapes[side].rank()).map(|i| place(Axis(i))).collect();
        made.transposed(permutation)
    }

    /// The product for operands of these shapes and layouts, before the elements are known.
    fn product(&self, operands: [(&Shape, &Layout); 2]) -> Product {
        let [lhs, rhs] = operands.map(|(shape, _)| shape);
        let size = |axes: &[Axis], shape: &Shape| axes.iter().map(|a| shape[a.0]).product::<usize>();
        let [left, right] = [0, 1].map(|i| self.rest(i, operands[i].0));
        let (b, k) = (size(&self.batching[0], lhs), size(&self.contracting[0], lhs));
        let sizes = [b, size(&left, lhs), k, size(&right, rhs)];
        let axes = [
            [left, self.contracting[0].clone(), self.batching[0].clone()],
            [self.contracting[1].clone(), right, self.batching[1].clone()],
        ];
        let sides = [0, 1].map(|i| side(operands[i], &axes[i]));
        Product { sizes, sides, batch_last: self.batch_last }
    }
}

/// Two matrices that a product reads in place.
pub(crate) struct Matrices {
    /// Rows of the first, its columns, and columns of the second.
    pub sizes: [usize; 3],
    /// Strides of rows and of columns, for each matrix.
    pub strides: [[isize; 2]; 2],
}

impl DotGeneral {
    /// The product as one of two matrices, if it is one, of f32 or f64, not empty, and both can be read in
    /// place.
    pub(crate) fn matrices(&self, dtype: DType, operands: [(&Shape, &Layout); 2]) -> Option<Matrices> {
        if !matches!(dtype, DType::F32 | DType::F64) {
            return None;
        }
        let Product { sizes: [1, sizes @ ..], sides: [Side::Lines(lhs), Side::Lines(rhs)], .. } =
            self.product(operands)
        else {
            return None;
        };
        let strides = [[lhs[0], lhs[1]], [rhs[0], rhs[1]]];
        (!sizes.contains(&0)).then_some(Matrices { sizes, strides })
    }
}

/// A product of batches of matrices, without the elements.
pub(crate) struct Product {
    /// Number of products, rows of the first, columns of the first, columns of the second.
    sizes: [usize; 4],
    sides: [Side; 2],
    batch_last: bool,
}

impl Product {
    fn eval(&self, lhs: &View, rhs: &View, out: &mut ViewMut) {
        dot::product(&self.sides, [lhs, rhs], self.sizes, self.batch_last, out)
    }
}

/// How an operand of this shape and layout is read as matrices of these axes.
fn side((shape, layout): (&Shape, &Layout), axes: &[Vec<Axis>; 3]) -> Side {
    if let [Some(rows), Some(columns), Some(batch)] = [0, 1, 2].map(|i| line(shape, layout, &axes[i])) {
        return Side::Lines([rows, columns, batch]);
    }
    let [rows, columns] = [0, 1].map(|i| axes[i].iter().map(|a| shape[a.0]).product::<usize>());
    Side::Copied(axes.concat().iter().map(|a| a.0).collect(), rows, rows * columns)
}

/// The stride along some axes as one, if they have a single one.
fn line(shape: &Shape, layout: &Layout, axes: &[Axis]) -> Option<isize> {
    match layout.lines(shape, axes.iter().map(|a| a.0)).as_slice() {
        [] => Some(1),
        &[(_, stride)] => Some(stride),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    #[test]
    fn matmul_names_what_does_not_fit() {
        let aval = |s: Shape| Aval::known(DType::F32, s);
        let op = DotGeneral::matmul(&[2, 3].into(), &[3, 4].into()).unwrap();
        assert_eq!(op.infer(&[&aval([2, 3].into()), &aval([3, 4].into())]).unwrap()[0].shape, [2, 4].into());
        let e = op.infer(&[&aval([2, 3].into()), &aval([2, 4].into())]).unwrap_err().to_string();
        assert!(e.contains("axes 2 and 1 differ in size: 3 and 2"), "{e}");
        let refused = |l: &[usize], r: &[usize]| {
            let shape = |s: &[usize]| Shape::try_new(s.to_vec()).unwrap();
            DotGeneral::matmul(&shape(l), &shape(r)).unwrap_err().to_string()
        };
        assert!(refused(&[2, 3], &[2, 4]).contains("`nv_matmul()` cannot combine shapes (2,3) and (2,4)"));
        assert!(refused(&[5, 2, 3], &[4, 3, 4]).contains("axis 1 is not: 5 and 4"));
        assert!(DotGeneral::matmul(&[3].into(), &[3, 4].into())
            .unwrap_err()
            .to_string()
            .contains("at least 2"));
    }
}
