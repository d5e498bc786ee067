//! Convolutions of many channels.

use super::attrs::{vector, Attr, Attrs};
use super::contract::{Cost, Form, Linear, OpDef, Promotion};
use super::derive::Var;
use super::layout::Order;
use super::lower::{list, Formula, HloOp, Lowering, Syntax};
use super::rules::{Batch, Batched, Vjp};
use super::{written, Op, Reshape, Reverse, Row};
use crate::dtype::NUMBER;
use crate::error::{Error, Result};
use crate::graph::syntax::Parsed;
use crate::kernels::products::convolution::{convolution, dilated, Window};
use crate::shape::{join, Axis, Shape};
use crate::tensor::{Aval, View, ViewMut};

/// `result[n, w, f] = sum over t, c of operand[n, w * stride + t * dilation - low, c] * kernel[t, c, f]`, for an
/// operand `[n, spatial..., channels]` and a kernel `[window..., channels / groups, features]`. Between the elements
/// of the operand there are `base - 1` zeros, around them `low` and `high`. Each group of features is of the channels
/// of its group (StableHLO, `convolution`). Ambiguous if both are.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Convolution {
    /// For each spatial axis, from one window to the next.
    pub stride: Vec<usize>,
    /// Zeros before the operand; negative ones cut off elements.
    pub low: Vec<i64>,
    /// Zeros after it.
    pub high: Vec<i64>,
    /// From one element of the operand to the next.
    pub base: Vec<usize>,
    /// From one element of a window to the next.
    pub dilation: Vec<usize>,
    /// Groups of channels and features.
    pub groups: usize,
}

static CONV: Row = Row {
    accuracy: "Terms are summed in the dtype of the operands, of `bf16` and `f16` in `f32`, and blocks of a very long sum \
               in double precision: the error grows with the number of terms.",
    ..written("conv", "nv_conv", &["operand", "kernel"], NUMBER)
};

/// The amounts of padding of one axis, for a window that `windows` says all of but those.
pub(super) fn same_padding(window: Window, elements: usize) -> (i64, i64) {
    let count = elements.div_ceil(window.stride);
    let end = (count as i128 - 1) * window.stride as i128 + dilated(window.size, window.dilation);
    let missing = (end - dilated(elements, window.base)).max(0) as i64;
    (missing / 2, missing - missing / 2)
}

/// Whole numbers, one for each of `axes` axes, or one for all.
///
/// # Errors
/// [`Error::Arg`].
pub(super) fn per_axis(attrs: &Attrs, name: &str, axes: usize, least: i64) -> Result<Vec<usize>> {
    let given = attrs.whole(name, least)?;
    match given.as_slice() {
        [] if *attrs.get(name) == Attr::Null => Ok(vec![1; axes]),
        [one] => Ok(vec![*one; axes]),
        many if many.len() == axes => Ok(given),
        _ => Err(count_error(name, axes, attrs.get(name))),
    }
}

fn count_error(name: &str, axes: usize, got: &Attr) -> Error {
    let expected = match axes {
        1 => "one whole number".to_string(),
        _ => format!("one whole number, or {axes}, one for each axis of a window"),
    };
    Error::arg(name, expected, got.describe())
}

/// The padding of a call, `padding` as a word, or else `low` and `high`, for windows on these axes.
///
/// # Errors
/// [`Error::Arg`].
pub(super) fn padding_of(attrs: &Attrs, windows: &[Window], sizes: &[usize]) -> Result<[Vec<i64>; 2]> {
    if matches!(attrs.get("padding"), Attr::Text(_)) {
        let pairs = match attrs.choice("padding", &["valid", "same"])? {
            "same" => windows.iter().zip(sizes).map(|(w, &n)| same_padding(*w, n)).collect(),
            _ => vec![(0, 0); windows.len()],
        };
        let (low, high): (Vec<i64>, Vec<i64>) = pairs.into_iter().unzip();
        return Ok([low, high]);
    }
    let amounts = |name: &str| {
        let given = attrs.integers(name).map_err(|_| {
            let expected = "\"valid\", \"same\", whole numbers, or a matrix of two columns of these";
            Error::arg("padding", expected, attrs.get(name).describe())
        })?;
        match given.as_slice() {
            [one] => Ok(vec![*one; windows.len()]),
            many if many.len() == windows.len() => Ok(given),
            _ => Err(count_error("padding", windows.len(), attrs.get(name))),
        }
    };
    let both = [amounts("low")?, amounts("high")?];
    // Sizes of results are computed with these.
    const MOST: i64 = 1 << 40;
    match both.iter().flatten().find(|n| n.abs() > MOST) {
        None => Ok(both),
        Some(n) => Err(Error::arg("padding", "whole numbers of less than 2^40", n.to_string())),
    }
}

impl OpDef for Convolution {
    fn row(&self) -> &'static Row {
        &CONV
    }

    fn rows() -> Vec<&'static Row> {
        vec![&CONV]
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::JoinCounted
    }

    fn decode(row: &'static Row, attrs: &Attrs, operands: &[&Aval]) -> Result<Op> {
        let (x, kernel) = (&operands[0].shape, &operands[1].shape);
        check_ranks(row, operands)?;
        let axes = x.rank() - 2;
        if kernel[..axes].contains(&0) {
            return Err(Error::Rank {
                op: row.function.into(),
                operand: row.operands[1].into(),
                expected: "at least 1 element along each axis of a window".into(),
                shape: kernel.clone(),
                hint: String::new(),
            });
        }
        let count = |name: &str| per_axis(attrs, name, axes, 1);
        let (stride, dilation, base) = (count("stride")?, count("dilation")?, count("operand_dilation")?);
        let groups = match attrs.whole("groups", 1)?.as_slice() {
            [one] => *one,
            _ => {
                return Err(Error::arg(
                    "groups",
                    "one whole number, at least 1",
                    attrs.get("groups").describe(),
                ))
            }
        };
        let mut op = Convolution { stride, low: vec![0; axes], high: vec![0; axes], base, dilation, groups };
        [op.low, op.high] = padding_of(attrs, &op.windows(kernel), &x[1..axes + 1])?;
        Ok(op.into())
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let (x, kernel) = (operands[0], operands[1]);
        (0..2).try_for_each(|i| CONV.check(i, operands[i]))?;
        if x.dtype != kernel.dtype {
            let [lhs, rhs] = [x, kernel].map(|x| x.ranked().dtype);
            return Err(Error::DtypeMismatch { op: CONV.function.into(), lhs, rhs });
        }
        check_ranks(&CONV, operands)?;
        let axes = x.shape.rank() - 2;
        let counts =
            [self.stride.len(), self.low.len(), self.high.len(), self.base.len(), self.dilation.len()];
        if counts.iter().any(|&count| count != axes) {
            return Err(Error::Internal {
                detail: format!("a convolution of {axes} axes has other parameters"),
            });
        }
        let ([channels, features], inner) = ([x.shape[axes + 1], kernel.shape[axes + 1]], kernel.shape[axes]);
        if channels != inner * self.groups {
            let what = match self.groups {
                1 => "The kernel must have as many channels as the operand".to_string(),
                n => format!(
                    "The operand must have {n} times, as there are groups, the channels of the kernel"
                ),
            };
            let (lhs, rhs) = (x.shape.clone(), kernel.shape.clone());
            return Err(Error::SizeMismatch {
                op: CONV.function.into(),
                lhs,
                rhs,
                what,
                l: channels,
                r: inner,
            });
        }
        if features % self.groups != 0 {
            let expected = format!("a divisor of the {features} features of the kernel");
            return Err(Error::arg("groups", expected, self.groups.to_string()));
        }
        let mut sizes = vec![x.shape[0]];
        for (axis, window) in self.windows(&kernel.shape).iter().enumerate() {
            sizes.push(usize::try_from(window.count(x.shape[axis + 1])).unwrap_or(usize::MAX));
        }
        sizes.push(features);
        Ok(vec![Aval { dtype: x.dtype, shape: Shape::try_new(sizes)?, ambiguous: x.ambiguous_with(kernel) }])
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![
            ("stride", vector(&self.stride)),
            ("low", vector(&self.low)),
            ("high", vector(&self.high)),
            ("operand_dilation", vector(&self.base)),
            ("dilation", vector(&self.dilation)),
            ("groups", self.groups.to_string()),
        ]
    }

    fn parse(form: &Form) -> Parsed<Convolution> {
        form.takes(2)?;
        Ok(Convolution {
            stride: form.numbers("stride")?,
            low: form.numbers("low")?,
            high: form.numbers("high")?,
            base: form.numbers("operand_dilation")?,
            dilation: form.numbers("dilation")?,
            groups: form.number("groups")?,
        })
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let windows = self.windows(operands[1].shape);
        convolution(&operands[0], &operands[1], &windows, self.groups, &mut results[0])
    }

    /// Blocks of the matrix that windows are copied to; of long sums, their parts.
    fn scratch(&self, operands: &[&Aval]) -> usize {
        operands[0].bytes() + 2 * operands[1].bytes()
    }

    fn cost(&self) -> Cost {
        Cost::Special
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::by(|at| {
            let (x, kernel, g) = (at.x(0), at.x(1), at.g());
            vec![
                at.wanted[0].then(|| self.of_operand(&x.aval().shape, kernel, g)),
                at.wanted[1].then(|| self.of_kernel(x, &kernel.aval().shape, g)),
            ]
        })
    }

    fn batch(&self) -> Batch<'_> {
        Batch::of_one(|at| self.batched(at))
    }

    fn lower(&self, operands: &[Aval]) -> Lowering<'_> {
        let dtype = operands[0].dtype;
        if dtype.is_half() {
            return Lowering::Formula(Formula::InSingle, None);
        }
        let axes = self.stride.len();
        let spatial = join(&(0..axes).collect::<Vec<_>>(), ", ");
        let array = |numbers: &[usize]| format!("array<i64: {}>", join(numbers, ", "));
        let pairs: Vec<String> = self.low.iter().zip(&self.high).map(|(l, h)| list(&[*l, *h])).collect();
        let mut attributes = format!(
            "batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, {spatial}, f]x[{spatial}, i, o]->\
             [b, {spatial}, f]>, feature_group_count = {} : i64, lhs_dilation = {}, padding = dense<{}> : \
             tensor<{axes}x2xi64>, rhs_dilation = {}, window_strides = {}",
            self.groups,
            array(&self.base),
            list(&pairs),
            array(&self.dilation),
            array(&self.stride),
        );
        if dtype.part().is_float() {
            // Other backends multiply floats in fewer bits by default.
            attributes +=
                ", precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]";
        }
        Lowering::Op(HloOp { name: "stablehlo.convolution", syntax: Syntax::Generic(attributes) })
    }

    fn linear(&self) -> Linear {
        Linear::InEach(&[0, 1])
    }
}

/// Checks that operands have a batch, channels and features beside the same number of other axes.
fn check_ranks(row: &Row, operands: &[&Aval]) -> Result<()> {
    let [x, kernel] = [&operands[0].shape, &operands[1].shape];
    let wrong = |i: usize, expected: String, hint: &str| {
        let (op, operand, shape) = (row.function.into(), row.operands[i].into(), operands[i].shape.clone());
        Err(Error::Rank { op, operand, expected, shape, hint: hint.into() })
    };
    if x.rank() < 3 {
        let hint = "The first axis is a batch, the last one channels; `nv_unsqueeze()` adds one.";
        return wrong(0, "at least 3 axes".into(), hint);
    }
    if kernel.rank() != x.rank() {
        let hint = "The last two axes are channels and features.";
        return wrong(1, format!("{} axes, as `{}`", x.rank(), row.operands[0]), hint);
    }
    Ok(())
}

impl Convolution {
    /// The windows of a kernel of this shape.
    fn windows(&self, kernel: &Shape) -> Vec<Window> {
        let window = |i: usize| Window {
            size: kernel[i],
            stride: self.stride[i],
            low: self.low[i],
            high: self.high[i],
            dilation: self.dilation[i],
            base: self.base[i],
        };
        (0..self.stride.len()).map(window).collect()
    }

    /// The gradient of the operand: a convolution of the result's, spread by the stride, with the kernel
    /// backwards.
    fn of_operand<'m, 'b>(&self, shape: &Shape, kernel: Var<'m, 'b>, g: Var<'m, 'b>) -> Var<'m, 'b> {
        let (taps, counts) = (kernel.aval().shape, g.aval().shape);
        let axes = self.stride.len();
        let length = |size: usize, distance: usize| dilated(size, distance) as i64;
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for i in 0..axes {
            let window = length(taps[i], self.dilation[i]);
            low.push(window - self.low[i] - 1);
            let end = length(shape[i + 1], self.base[i]) + window - 1;
            high.push(end - length(counts[i + 1], self.stride[i]) - low[i]);
        }
        let backwards = kernel.apply(Reverse { axes: (0..axes).map(Axis).collect() }, &[]);
        // Channels and features of each group change places.
        let [inner, features] = [taps[axes], taps[axes + 1] / self.groups];
        let spatial = &taps[..axes];
        let split = backwards.sized(&[spatial, &[inner, features, self.groups]]);
        let mut order: Vec<Axis> = (0..axes + 3).map(Axis).collect();
        order.swap(axes, axes + 1);
        let swapped = split.transposed(order).sized(&[spatial, &[features, inner * self.groups]]);
        let op = Convolution {
            stride: self.base.clone(),
            low,
            high,
            base: self.stride.clone(),
            dilation: self.dilation.clone(),
            groups: self.groups,
        };
        g.apply(op, &[swapped])
    }

    /// The gradient of the kernel: a convolution of the operand, with channels as the batch and the batch as
    /// channels, with the result's as the kernel.
    fn of_kernel<'m, 'b>(&self, x: Var<'m, 'b>, kernel: &Shape, g: Var<'m, 'b>) -> Var<'m, 'b> {
        let (shape, counts) = (x.aval().shape, g.aval().shape);
        let axes = self.stride.len();
        let length = |size: usize, distance: usize| dilated(size, distance) as i64;
        let high = (0..axes).map(|i| {
            let ends = length(counts[i + 1], self.stride[i]) - length(shape[i + 1], self.base[i]);
            ends + length(kernel[i], self.dilation[i]) - self.low[i] - 1
        });
        let op = Convolution {
            stride: self.dilation.clone(),
            low: self.low.clone(),
            high: high.collect(),
            base: self.base.clone(),
            dilation: self.stride.clone(),
            groups: self.groups,
        };
        let (batch, spatial) = (shape[0], &shape[1..=axes]);
        let split = x.sized(&[&[batch], spatial, &[kernel[axes], self.groups]]);
        let order = [axes + 1].into_iter().chain(1..=axes).chain([0, axes + 2]);
        let across = split.transposed(order.map(Axis).collect());
        let across = across.sized(&[&[kernel[axes]], spatial, &[batch * self.groups]]);
        let order = (1..=axes).chain([0, axes + 1]);
        let weights = g.transposed(order.map(Axis).collect());
        let made = across.apply(op, &[weights]);
        made.transposed((1..=axes).chain([0, axes + 1]).map(Axis).collect())
    }

    /// Examples are more groups, more features, or a larger batch.
    fn batched<'m, 'b>(&self, at: &Batched<'_, 'm, 'b>) -> Var<'m, 'b> {
        let axes = self.stride.len();
        let sizes = |x: Var<'m, 'b>| x.aval().shape;
        let size = at.size;
        if at.batched == [true, false] {
            let (x, kernel) = (at.x(0), at.x(1));
            let shape = sizes(x);
            let last = axes + 2;
            let beside = [0, last].into_iter().chain(1..last);
            let merged =
                x.transposed(beside.map(Axis).collect()).sized(&[&[shape[0] * size], &shape[1..last]]);
            let made = merged.apply(self.clone(), &[kernel]);
            let all = sizes(made);
            let split = made.sized(&[&[shape[0], size], &all[1..]]);
            return split.moved_last(Axis(1));
        }
        if size == 0 {
            let example = |i: usize| {
                let mut aval = at.x(i).aval();
                if at.batched[i] {
                    aval.shape = aval.shape.without(&[Axis(axes + 2)]);
                }
                aval
            };
            let made = self.infer(&[&example(0), &example(1)]).map(|mut made| made.remove(0));
            return match made.and_then(|made| made.shape.with_last(0)) {
                Ok(shape) => at.x(0).filled(0.0, &shape),
                Err(error) => at.x(0).failed(error),
            };
        }
        let (x, kernel, groups) = match at.batched[0] {
            false if self.groups == 1 => (at.x(0), at.whole(1), 1),
            _ => {
                let x = at.whole(0);
                let shape = sizes(x);
                let x = x.sized(&[&shape[..=axes], &[shape[axes + 1] * size]]);
                (x, at.whole(1), self.groups * size)
            }
        };
        let shape = sizes(kernel);
        let kernel = kernel.sized(&[&shape[..=axes], &[shape[axes + 1] * size]]);
        let made = x.apply(Convolution { groups, ..self.clone() }, &[kernel]);
        let all = sizes(made);
        made.sized(&[&all[..=axes], &[shape[axes + 1], size]])
    }
}

impl<'m, 'b> Var<'m, 'b> {
    /// The same elements with these sizes.
    fn sized(self, parts: &[&[usize]]) -> Var<'m, 'b> {
        match Shape::try_new(parts.concat()) {
            Ok(shape) if shape == self.aval().shape => self,
            Ok(shape) => self.apply(Reshape { shape, order: Order::Column }, &[]),
            Err(error) => self.failed(error),
        }
    }
}
