//! Compositions along one axis: cumulations of all elements, differences of neighbours, and what segments of
//! elements amount to.

use super::applier::{entry, Applier, Composition};
use crate::dtype::{DType, Ranked, INEXACT, ORDERED};
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::kernels::reductions::fold::Fold;
use crate::ops::attrs::{Attr, Attrs};
use crate::ops::*;
use crate::shape::{Axis, Shape};
use crate::tensor::Literal;

/// All of them, by name.
pub(super) const ALL: &[(&str, Composition)] = &[
    ("cumsum", |a, operands, attrs| a.cumulative("cumsum", operands, attrs)),
    ("cumprod", |a, operands, attrs| a.cumulative("cumprod", operands, attrs)),
    ("cummax", |a, operands, attrs| a.cumulative("cummax", operands, attrs)),
    ("cummin", |a, operands, attrs| a.cumulative("cummin", operands, attrs)),
    ("cumlogsumexp", |a, operands, attrs| a.cumulative("cumlogsumexp", operands, attrs)),
    ("diff", |a, operands, attrs| a.diff(operands, attrs)),
    ("segment_sum", |a, operands, attrs| a.segment_sum(operands, attrs)),
    ("segment_mean", |a, operands, attrs| a.segment_mean(operands, attrs)),
    ("segment_max", |a, operands, attrs| a.segment_extreme(Fold::Max, operands, attrs)),
    ("segment_min", |a, operands, attrs| a.segment_extreme(Fold::Min, operands, attrs)),
];

/// The segments of the elements along an axis.
struct Segments<'a> {
    /// The number of the segment of each element, from 1.
    codes: Value,
    axis: Axis,
    /// How many segments there are.
    count: usize,
    attrs: &'a Attrs,
}

/// Numbers as a parameter.
fn numbers(numbers: impl IntoIterator<Item = usize>) -> Attr {
    Attr::Numbers(numbers.into_iter().map(|n| n as f64).collect())
}

impl Applier<'_> {
    /// A cumulation; without an axis, of all elements along one.
    fn cumulative(&mut self, name: &str, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        if *attrs.get("axis") != Attr::Null {
            return self.op(name, operands, attrs);
        }
        arity(entry(name)?.row.function, operands.len(), 1)?;
        let flat = match self.aval(operands[0]).shape.rank() {
            1 => operands.to_vec(),
            _ => self.flatten(operands, &Attrs::new().with("order", Attr::Text("column".into())))?,
        };
        let reverse = attrs.get("reverse").clone();
        self.op(name, &flat, &Attrs::new().with("axis", Attr::Numbers(vec![1.0])).with("reverse", reverse))
    }

    /// Differences of elements and those that are `lag` before them, as often as `differences` says.
    fn diff(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let function = "nv_diff";
        arity(function, operands.len(), 1)?;
        let mut x = self.counted(operands[0])?;
        if self.shape(x).rank() == 0 {
            x = self.flatten(&[x], &Attrs::new().with("order", Attr::Text("column".into())))?[0];
        }
        let shape = self.shape(x);
        let axis = self.axis(function, attrs, &shape)?;
        let [lag, times] = ["lag", "differences"].map(|name| match attrs.whole(name, 1)?.as_slice() {
            [one] => Ok(*one),
            many => Err(Error::arg(name, "one whole number, at least 1", format!("{} numbers", many.len()))),
        });
        let (lag, mut left) = (lag?, times?);
        let math = Math::new(self.builder);
        let mut made = math.var(x);
        loop {
            let n = made.aval().shape[axis.0];
            if left == 0 || n == 0 {
                break;
            }
            made = match n.saturating_sub(lag) {
                0 => made.section(axis, 0, 0),
                kept => made.section(axis, lag, n) - made.section(axis, 0, kept),
            };
            left -= 1;
        }
        let out = made.value();
        math.finish()?;
        Ok(vec![out])
    }

    /// The parameter `axis`, one axis.
    fn axis(&self, function: &str, attrs: &Attrs, shape: &Shape) -> Result<Axis> {
        match attrs.axes("axis", function, shape)?.as_deref() {
            Some([axis]) => Ok(*axis),
            axes => {
                Err(Error::arg("axis", "one axis", format!("{} axes", axes.map_or(0, |axes| axes.len()))))
            }
        }
    }

    // ---- segments

    /// The segments of a call.
    fn segments<'a>(
        &mut self,
        function: &'static str,
        operands: &[Value],
        attrs: &'a Attrs,
    ) -> Result<Segments<'a>> {
        arity(function, operands.len(), 2)?;
        let (shape, codes) = (self.shape(operands[0]), self.aval(operands[1]).clone());
        let axis = self.axis(function, attrs, &shape)?;
        if !codes.dtype.is_integer() {
            return Err(Error::UnsupportedDtype {
                op: function.into(),
                operand: "codes".into(),
                accepts: "integers".into(),
                got: codes.ranked().dtype,
                hint: "A factor has codes, `as.integer(x)`.".into(),
            });
        }
        if codes.shape.rank() != 1 || codes.shape[0] != shape[axis.0] {
            let expected = format!("a vector as long as axis {axis}, {}", shape[axis.0]);
            return Err(Error::arg("codes", expected, format!("of shape {}", codes.shape)));
        }
        let count = match attrs.whole("n", 0)?.as_slice() {
            [one] => *one,
            many => return Err(Error::arg("n", "one whole number", format!("{} numbers", many.len()))),
        };
        Ok(Segments { codes: operands[1], axis, count, attrs })
    }

    /// The elements of each segment, joined by an update of this name with one that changes nothing.
    fn joined(&mut self, segments: &Segments, x: Value, update: &str, neutral: Literal) -> Result<Value> {
        let Segments { axis, count, .. } = *segments;
        let aval = self.aval(x).clone();
        let mut sizes = aval.shape.to_vec();
        sizes[axis.0] = count;
        let nothing = self.builder.literal(neutral, aval.ambiguous);
        let nothing = self.broadcast(nothing, &Shape::try_new(sizes)?)?;
        let rank = aval.shape.rank();
        let attrs = Attrs::new()
            .with("update_window_axes", numbers((1..=rank).filter(|&i| i != axis.one_based())))
            .with("inserted_window_axes", numbers([axis.one_based()]))
            .with("scatter_axes_to_operand_axes", numbers([axis.one_based()]))
            .with("index_vector_axis", numbers([2]))
            .with("update_computation", Attr::Text(update.into()))
            .with("indices_are_sorted", Attr::Logical(false))
            .with("unique_indices", Attr::Logical(false))
            .with("mode", segments.attrs.get("mode").clone());
        Ok(self.scatter(&[nothing, segments.codes, x], &attrs)?[0])
    }

    /// The sums of the segments, in a dtype in which sums of so many are accurate.
    fn sums(&mut self, segments: &Segments, x: Value) -> Result<Value> {
        let dtype = match self.aval(x).dtype {
            DType::BF16 | DType::F16 => DType::F32,
            DType::F32 => DType::F64,
            DType::C64 => DType::C128,
            other => other,
        };
        let x = if self.aval(x).dtype == dtype { x } else { self.cast(x, Ranked::known(dtype))? };
        self.joined(segments, x, "add", Literal::new(0i32).convert(dtype))
    }

    fn segment_sum(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let segments = self.segments("nv_segment_sum", operands, attrs)?;
        let x = self.counted(operands[0])?;
        let sums = self.sums(&segments, x)?;
        Ok(vec![self.cast(sums, self.ranked(x))?])
    }

    fn segment_mean(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let segments = self.segments("nv_segment_mean", operands, attrs)?;
        let x = self.promote(&operands[..1], INEXACT)?[0];
        let sums = self.sums(&segments, x)?;
        let (sum, length) = (self.aval(sums).clone(), self.shape(segments.codes));
        // Numbers up to 2^24, 2^53: as many as there can be elements in memory.
        let one = self.builder.literal(Literal::new(1i32), None);
        let ones = self.broadcast(one, &length)?;
        let counts = Segments { axis: Axis(0), ..segments };
        let counts = self.joined(&counts, ones, "add", Literal::new(0i32))?;
        let counts = self.cast(counts, sum.ranked())?;
        let op = BroadcastInDim { shape: sum.shape.clone(), axes: vec![segments.axis] };
        let counts = self.builder.node1(op, &[counts])?;
        let mean = self.builder.node1(Binary::div, &[sums, counts])?;
        Ok(vec![self.cast(mean, self.ranked(x))?])
    }

    fn segment_extreme(&mut self, fold: Fold, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let (function, update) = match fold {
            Fold::Max => ("nv_segment_max", "max"),
            _ => ("nv_segment_min", "min"),
        };
        let segments = self.segments(function, operands, attrs)?;
        let (dtype, reduction) = (self.aval(operands[0]).dtype, Reduction { fold, axes: vec![], drop: true });
        if !ORDERED.contains(dtype) {
            return Err(Error::UnsupportedDtype {
                op: function.into(),
                operand: "operand".into(),
                accepts: ORDERED.name.into(),
                got: self.ranked(operands[0]).dtype,
                hint: "Take `nv_real()`, `nv_imag()` or `nv_abs()` first.".into(),
            });
        }
        Ok(vec![self.joined(&segments, operands[0], update, reduction.identity(dtype, false))?])
    }
}
