//! Functions of the last two axes, which are those of matrices, and of tensors as R's matrices and vectors.

use super::applier::{Applier, Composition};
use crate::dtype::{DType, Ranked, ANY};
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::ops::attrs::{Attr, Attrs};
use crate::ops::*;
use crate::shape::{Axis, Shape};

/// All of them, by name.
pub(super) const ALL: &[(&str, Composition)] = &[
    ("diag", |a, operands, attrs| a.diag(operands, attrs)),
    ("extract_diag", |a, operands, attrs| a.extract_diag(operands, attrs)),
    ("trace", |a, operands, attrs| a.trace(operands, attrs)),
    ("eye", |a, _, attrs| a.eye(attrs)),
    ("tril", |a, operands, attrs| a.triangle("nv_tril", Compare::ge, operands, attrs)),
    ("triu", |a, operands, attrs| a.triangle("nv_triu", Compare::le, operands, attrs)),
    ("outer", |a, operands, _| a.outer(operands)),
    ("outer_operands", |a, operands, _| a.outer_operands(operands)),
    ("kronecker", |a, operands, _| a.kronecker(operands)),
    ("cbind", |a, operands, _| a.bind("cbind", Axis(1), operands)),
    ("rbind", |a, operands, _| a.bind("rbind", Axis(0), operands)),
];

/// The diagonal of a matrix: how far it is above that through the first element, and how far below.
fn offsets(attrs: &Attrs) -> Result<[usize; 2]> {
    let offset = attrs.integer("offset")?;
    if i32::try_from(offset).is_err() {
        let expected = format!("a whole number from {} to {}", i32::MIN, i32::MAX);
        return Err(Error::arg("offset", expected, offset.to_string()));
    }
    Ok([offset.max(0), (-offset).max(0)].map(|n| n as usize))
}

impl Applier<'_> {
    /// Checks that a value has so many axes, or more.
    fn check_rank(&self, function: &str, x: Value, least: usize) -> Result<Shape> {
        let shape = self.shape(x);
        if shape.rank() >= least {
            return Ok(shape);
        }
        let expected = format!("at least {least} {}", if least == 1 { "axis" } else { "axes" });
        let hint = "`nv_unsqueeze()` adds axes of size 1.".into();
        Err(Error::Rank { op: function.into(), operand: "operand".into(), expected, shape, hint })
    }

    /// Matrices with the elements of the last axis on a diagonal, and zeros elsewhere. In memory these are so
    /// far apart as a column is long and one more, so that it is a padding.
    fn diag(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        arity("nv_diag", operands.len(), 1)?;
        let shape = self.check_rank("nv_diag", operands[0], 1)?;
        let [above, below] = offsets(attrs)?;
        let last = shape.rank() - 1;
        let (count, rows) = (shape[last], shape[last] + above + below);
        let mut sizes = shape[..last].to_vec();
        sizes.extend([rows, rows]);
        let matrix = Shape::try_new(sizes)?;
        let made = self.formula([operands[0]], |[x]| {
            if count == 0 {
                return x.filled(0.0, &matrix);
            }
            let low = (above * rows + below) as i64;
            let rest = (rows * rows) as i64 - low - ((count - 1) * (rows + 1)) as i64 - 1;
            let at_last = |n: i64| [vec![0; last], vec![n]].concat();
            let interior = [vec![0; last], vec![rows]].concat();
            x.padded(0.0, at_last(low), at_last(rest), interior).reshaped(&matrix)
        })?;
        Ok(vec![made])
    }

    /// The elements on a diagonal of matrices along two axes, as a last axis: every so many, since columns
    /// follow one another in memory.
    fn extract_diag(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        arity("nv_extract_diag", operands.len(), 1)?;
        let x = operands[0];
        let rank = self.check_rank("nv_extract_diag", x, 2)?.rank();
        let last_two = || vec![Axis(rank - 2), Axis(rank - 1)];
        let axes = attrs.axes("axes", "nv_extract_diag", &self.aval(x).shape)?.unwrap_or_else(last_two);
        let &[rows, columns] = axes.as_slice() else {
            return Err(Error::arg("axes", "two axes", format!("{}", axes.len())));
        };
        let offset = offsets(attrs)?;
        Ok(vec![self.diagonal(x, rows, columns, offset)?])
    }

    /// The diagonal along two axes, so far above and below that through the first element, as a last axis.
    pub(super) fn diagonal(
        &mut self,
        x: Value,
        rows: Axis,
        columns: Axis,
        [above, below]: [usize; 2],
    ) -> Result<Value> {
        let shape = self.shape(x);
        let [m, n] = [shape[rows.0], shape[columns.0]];
        let count = m.saturating_sub(below).min(n.saturating_sub(above));
        let others: Vec<Axis> =
            (0..shape.rank()).map(Axis).filter(|&axis| axis != rows && axis != columns).collect();
        let batch: Vec<usize> = others.iter().map(|axis| shape[axis.0]).collect();
        let flat = Shape::try_new([&batch[..], &[m * n]].concat())?;
        self.formula([x], |[x]| {
            let x = x.transposed([others, vec![rows, columns]].concat()).reshaped(&flat);
            let (mut start, mut limit) = (vec![0; flat.rank()], flat.to_vec());
            let mut stride = vec![1; flat.rank()];
            let last = flat.rank() - 1;
            let first = if count > 0 { above * m + below } else { 0 };
            (start[last], stride[last]) = (first, m + 1);
            limit[last] = if count > 0 { first + (count - 1) * (m + 1) + 1 } else { 0 };
            x.apply(StaticSlice { start, limit, stride }, &[])
        })
    }

    /// The sum of a diagonal.
    fn trace(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        arity("nv_trace", operands.len(), 1)?;
        let rank = self.check_rank("nv_trace", operands[0], 2)?.rank();
        let offset = offsets(attrs)?;
        let diagonal = self.diagonal(operands[0], Axis(rank - 2), Axis(rank - 1), offset)?;
        let last = Attrs::new().with("axes", Attr::Numbers(vec![-1.0])).with("drop", Attr::Logical(true));
        self.op("reduce_sum", &[diagonal], &last)
    }

    /// 1 on a diagonal, 0 elsewhere.
    fn eye(&mut self, attrs: &Attrs) -> Result<Vec<Value>> {
        let [above, below] = offsets(attrs)?;
        let shape = attrs.shape("shape")?;
        let to = Ranked { dtype: attrs.dtype("dtype")?, ambiguous: attrs.flag("ambiguous")? };
        let iota = |axis, start| {
            Op::Iota(Iota { axis: Axis(axis), to: Ranked::known(DType::I32), shape: shape.clone(), start })
        };
        let row = self.builder.node1(iota(0, above as i64 - below as i64), &[])?;
        let column = self.builder.node1(iota(1, 0), &[])?;
        let is_on = self.builder.node1(Op::Compare(Compare::eq), &[row, column])?;
        Ok(vec![self.cast(is_on, to)?])
    }

    /// The elements of matrices on one side of a diagonal, and on it; zeros elsewhere.
    fn triangle(
        &mut self,
        function: &str,
        kept: Compare,
        operands: &[Value],
        attrs: &Attrs,
    ) -> Result<Vec<Value>> {
        arity(function, operands.len(), 1)?;
        let shape = self.check_rank(function, operands[0], 2)?;
        let [above, below] = offsets(attrs)?;
        let rank = shape.rank();
        let made = self.formula([operands[0]], |[x]| {
            let to = Ranked::known(DType::I32);
            let iota = |axis, start| x.made(Iota { axis: Axis(axis), to, shape: shape.clone(), start });
            let row = iota(rank - 2, above as i64 - below as i64);
            row.compare(kept, iota(rank - 1, 0)).select(x, x.of(0.0))
        })?;
        Ok(vec![made])
    }

    /// The products of all elements of two values.
    fn outer(&mut self, operands: &[Value]) -> Result<Vec<Value>> {
        let values = self.promote(operands, ANY)?;
        let operands = self.outer_operands(&values)?;
        self.op(Binary::mul.row().name, &operands, &Attrs::new())
    }

    /// Two values repeated so that each element of one meets each of the other: along the axes of the first
    /// and then those of the second.
    fn outer_operands(&mut self, values: &[Value]) -> Result<Vec<Value>> {
        arity("nv_outer", values.len(), 2)?;
        let shapes = [self.shape(values[0]), self.shape(values[1])];
        let both = Shape::try_new(shapes.iter().flat_map(|shape| shape.iter().copied()).collect())?;
        let first = shapes[0].rank();
        let lhs = self.broadcast_along(values[0], &both, (0..first).map(Axis).collect())?;
        let rhs = self.broadcast_along(values[1], &both, (first..both.rank()).map(Axis).collect())?;
        Ok(vec![lhs, rhs])
    }

    /// The Kronecker product: each element of the first times the whole second. Along each axis the second
    /// varies faster.
    fn kronecker(&mut self, operands: &[Value]) -> Result<Vec<Value>> {
        arity("nv_kronecker", operands.len(), 2)?;
        let values = self.promote(operands, ANY)?;
        let mut sizes = [0, 1].map(|i| self.shape(values[i]).to_vec());
        let rank = sizes[0].len().max(sizes[1].len());
        // As in R, the one of fewer axes gets more of them, after its own.
        sizes.iter_mut().for_each(|own| own.resize(rank, 1));
        let spread: Vec<usize> = (0..rank).flat_map(|i| [sizes[1][i], sizes[0][i]]).collect();
        let spread = Shape::try_new(spread)?;
        let mut parts = [values[0], values[1]];
        for (i, part) in parts.iter_mut().enumerate() {
            let own = self.reshape_to(*part, Shape::try_new(sizes[i].clone())?)?;
            *part =
                self.broadcast_along(own, &spread, (0..rank).map(|axis| Axis(2 * axis + 1 - i)).collect())?;
        }
        let product = self.op(Binary::mul.row().name, &parts, &Attrs::new())?[0];
        let joined = sizes[0].iter().zip(&sizes[1]).map(|(a, b)| a * b).collect();
        Ok(vec![self.reshape_to(product, Shape::try_new(joined)?)?])
    }

    /// R's `cbind()` (along the second axis) and `rbind()`: vectors are columns or rows, repeated to the
    /// length of the others. As in R, empty vectors are left out next to others.
    fn bind(&mut self, function: &str, axis: Axis, operands: &[Value]) -> Result<Vec<Value>> {
        let across = 1 - axis.0;
        let values = self.promote(operands, ANY)?;
        let shapes: Vec<Shape> = values.iter().map(|&v| self.shape(v)).collect();
        if let Some((i, shape)) = shapes.iter().enumerate().find(|(_, shape)| shape.rank() > 2) {
            let (op, operand) = (function.into(), format!("..{}", i + 1));
            let hint = "R takes an array of more axes for a vector: `nv_flatten()` does that, and `nv_concatenate()` joins along any axis.";
            let (expected, shape) = ("at most 2 axes".into(), shape.clone());
            return Err(Error::Rank { op, operand, expected, shape, hint: hint.into() });
        }
        let of_matrix = shapes.iter().find(|shape| shape.rank() == 2).map(|shape| shape[across]);
        let longest = || shapes.iter().map(|shape| shape.size()).max();
        let length = of_matrix.or_else(longest).unwrap_or(0);
        let mut parts = Vec::with_capacity(values.len());
        for (i, (&value, shape)) in values.iter().zip(&shapes).enumerate() {
            if shape.rank() == 2 {
                parts.push(value);
                continue;
            }
            let own = shape.size();
            if own == 0 && length > 0 {
                continue;
            }
            let fits = own == length || own > 0 && length > 0 && length % own == 0;
            if !fits {
                let what = format!("`..{}` must be as long as the others, or repeat to their length", i + 1);
                let (lhs, rhs) = (Shape::try_new(vec![length])?, shape.clone());
                let op = function.into();
                return Err(Error::SizeMismatch { op, lhs, rhs, what, l: length, r: own });
            }
            // A vector is repeated whole.
            let sizes = if own == 0 { [0, 1] } else { [own, length / own] };
            let vector = self.reshape_to(value, [own].into())?;
            let repeated = self.broadcast_along(vector, &sizes.into(), vec![Axis(0)])?;
            let mut sizes = [length; 2];
            sizes[axis.0] = 1;
            parts.push(self.reshape_to(repeated, Shape::try_new(sizes.to_vec())?)?);
        }
        let Some(first) = parts.first().map(|&v| self.shape(v)) else {
            return Err(Error::arg("...", "at least one tensor", "nothing"));
        };
        if let Some(other) = parts.iter().map(|&v| self.shape(v)).find(|s| s[across] != first[across]) {
            let what = format!("Matrices must have equally many {}", ["rows", "columns"][across]);
            let (l, r) = (first[across], other[across]);
            return Err(Error::SizeMismatch { op: function.into(), lhs: first, rhs: other, what, l, r });
        }
        if let [one] = parts[..] {
            return Ok(vec![one]);
        }
        self.builder.node(Op::Concatenate(Concatenate { axis }), &parts)
    }
}
