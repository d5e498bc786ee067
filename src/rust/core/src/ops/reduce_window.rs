//! Folds over windows.

use super::attrs::{vector, Attrs};
use super::compare::Compare;
use super::contract::{Cost, Form, Linear, OpDef, Promotion, Role};
use super::convolution::{padding_of, per_axis};
use super::derive::Var;
use super::lower::{Formula, HloOp, Lowering, Syntax};
use super::rules::{Batch, Jvp, Vjp};
use super::{written, Binary, Op, Pad, Reduction, Row, StaticSlice, Unary};
use crate::dtype::{DType, NUMBER};
use crate::error::{Error, Result};
use crate::graph::syntax::Parsed;
use crate::kernels::products::convolution::{dilated, Window};
use crate::kernels::reductions::fold::Fold;
use crate::kernels::reductions::windows::windows;
use crate::shape::Shape;
use crate::tensor::{Aval, Literal, View, ViewMut};

/// Windows of so many elements along each axis, each folded into one element. Beyond the operand there is
/// nothing: a fold of no elements is its identity. Dtype and ambiguity are the operand's.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ReduceWindow {
    /// A sum, product or extreme.
    pub fold: Fold,
    /// The windows along each axis, of operands that are not dilated.
    pub windows: Vec<Window>,
}

const FOLDS: [(Fold, &str); 4] =
    [(Fold::Sum, "sum"), (Fold::Prod, "prod"), (Fold::Max, "max"), (Fold::Min, "min")];

static REDUCE_WINDOW: Row = Row {
    accuracy: "Floats are summed and multiplied in double precision, one after the other, and rounded once.",
    ..written("reduce_window", "nv_reduce_window", &["operand"], NUMBER)
};

impl OpDef for ReduceWindow {
    fn row(&self) -> &'static Row {
        &REDUCE_WINDOW
    }

    fn rows() -> Vec<&'static Row> {
        vec![&REDUCE_WINDOW]
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::Each(&[Role::Counted])
    }

    fn decode(_row: &'static Row, attrs: &Attrs, operands: &[&Aval]) -> Result<Op> {
        let shape = &operands[0].shape;
        let name = attrs.choice("fold", &FOLDS.map(|(_, name)| name))?;
        let fold = FOLDS.iter().find(|(_, own)| *own == name).expect("one of these").0;
        let of = |name: &str| per_axis(attrs, name, shape.rank(), 1);
        let (sizes, strides, dilations) = (of("size")?, of("stride")?, of("dilation")?);
        let window = |i: usize| Window {
            size: sizes[i],
            stride: strides[i],
            low: 0,
            high: 0,
            dilation: dilations[i],
            base: 1,
        };
        let mut windows: Vec<Window> = (0..shape.rank()).map(window).collect();
        let [low, high] = padding_of(attrs, &windows, shape)?;
        for (window, (low, high)) in windows.iter_mut().zip(low.into_iter().zip(high)) {
            (window.low, window.high) = (low, high);
        }
        Ok(ReduceWindow { fold, windows }.into())
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let x = operands[0];
        REDUCE_WINDOW.check(0, x)?;
        if x.dtype.is_complex() && matches!(self.fold, Fold::Max | Fold::Min) {
            return Err(REDUCE_WINDOW.unsupported(0, x.ranked().dtype, "Complex numbers have no order."));
        }
        if self.windows.len() != x.shape.rank() {
            let detail = format!("{} windows for shape {}", self.windows.len(), x.shape);
            return Err(Error::Internal { detail });
        }
        let count =
            |(window, &size): (&Window, &usize)| usize::try_from(window.count(size)).unwrap_or(usize::MAX);
        let shape = Shape::try_new(self.windows.iter().zip(x.shape.iter()).map(count).collect())?;
        Ok(vec![Aval { shape, ..x.clone() }])
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        let fold = FOLDS.iter().find(|(fold, _)| *fold == self.fold).expect("one of these").1;
        let each = |of: fn(&Window) -> usize| vector(&self.windows.iter().map(of).collect::<Vec<_>>());
        let sides = |of: fn(&Window) -> i64| vector(&self.windows.iter().map(of).collect::<Vec<_>>());
        vec![
            ("fold", fold.into()),
            ("size", each(|w| w.size)),
            ("stride", each(|w| w.stride)),
            ("low", sides(|w| w.low)),
            ("high", sides(|w| w.high)),
            ("dilation", each(|w| w.dilation)),
        ]
    }

    fn parse(form: &Form) -> Parsed<ReduceWindow> {
        form.takes(1)?;
        let fold = form.one_of("fold", &FOLDS.map(|(fold, name)| (name, fold)))?;
        let (sizes, strides): (Vec<usize>, Vec<usize>) = (form.numbers("size")?, form.numbers("stride")?);
        let (low, high): (Vec<i64>, Vec<i64>) = (form.numbers("low")?, form.numbers("high")?);
        let dilations: Vec<usize> = form.numbers("dilation")?;
        let rank = form.operands[0].shape.rank();
        if [sizes.len(), strides.len(), low.len(), high.len(), dilations.len()] != [rank; 5] {
            return Err(form.error("windows for each axis", "others"));
        }
        let window = |i: usize| Window {
            size: sizes[i],
            stride: strides[i],
            low: low[i],
            high: high[i],
            dilation: dilations[i],
            base: 1,
        };
        Ok(ReduceWindow { fold, windows: (0..rank).map(window).collect() })
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        windows(self.fold, &operands[0], &self.windows, &mut results[0])
    }

    /// A line of double precision for each thread.
    fn scratch(&self, operands: &[&Aval]) -> usize {
        let first = self.windows.first().zip(operands[0].shape.first());
        first.map_or(0, |(window, &size)| 16 * window.count(size).max(0) as usize)
    }

    fn cost(&self) -> Cost {
        Cost::Special
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::of_one(|at| {
            let (x, g) = (at.x(0), at.g());
            let shape = x.aval().shape;
            if self.fold == Fold::Sum {
                return self.spread(&shape, g);
            }
            if shape.size() == 0 || g.aval().shape.size() == 0 {
                return x.of(0.0);
            }
            let shares = self.shares(x, at.y());
            let parts = self.places().into_iter().zip(shares).map(|(place, share)| {
                let part = share.of(g);
                self.put_back(&shape, &place, part)
            });
            parts.reduce(|sum, part| sum + part).expect("a window has elements")
        })
    }

    fn jvp(&self) -> Jvp<'_> {
        if self.fold == Fold::Sum {
            return Jvp::Linear;
        }
        Jvp::of_one(|at| {
            let (x, y, t) = (at.x(0), at.y(), at.t(0));
            if x.aval().shape.size() == 0 || y.aval().shape.size() == 0 {
                return y.of(0.0);
            }
            let around = self.around(t, Literal::new(0.0));
            let shares = self.shares(x, y);
            let parts = self.places().into_iter().zip(shares);
            let parts = parts.map(|(place, share)| share.of(self.taken(around, y, &place)));
            parts.reduce(|sum, part| sum + part).expect("a window has elements")
        })
    }

    fn batch(&self) -> Batch<'_> {
        Batch::of_one(|at| {
            let mut op = self.clone();
            op.windows.push(Window { size: 1, stride: 1, low: 0, high: 0, dilation: 1, base: 1 });
            at.whole(0).apply(op, &[])
        })
    }

    fn lower(&self, operands: &[Aval]) -> Lowering<'_> {
        let dtype = operands[0].dtype;
        if dtype.is_half() {
            return Lowering::Formula(Formula::InSingle, None);
        }
        let by = match self.fold {
            Fold::Sum => "stablehlo.add",
            Fold::Prod => "stablehlo.multiply",
            Fold::Max => "stablehlo.maximum",
            _ => "stablehlo.minimum",
        };
        let syntax = Syntax::Windows { by, init: self.nothing(dtype), windows: &self.windows };
        Lowering::Op(HloOp { name: "stablehlo.reduce_window", syntax })
    }

    fn linear(&self) -> Linear {
        match self.fold {
            Fold::Sum => Linear::InAll,
            _ => Linear::In(&[]),
        }
    }
}

/// The derivative of a result by an element of its window.
enum Share<'m, 'b> {
    /// A number.
    Factor(Var<'m, 'b>),
    /// 1 where this holds, else 0.
    Where(Var<'m, 'b>),
}

impl<'m, 'b> Share<'m, 'b> {
    fn of(self, t: Var<'m, 'b>) -> Var<'m, 'b> {
        match self {
            Share::Factor(factor) => t.chain(factor),
            Share::Where(holds) => holds.select(t, t.of(0.0)),
        }
    }
}

impl ReduceWindow {
    /// The fold of nothing.
    fn nothing(&self, dtype: DType) -> Literal {
        Reduction { fold: self.fold, axes: vec![], drop: true }.identity(dtype, true)
    }

    /// All places in a window, in order.
    fn places(&self) -> Vec<Vec<usize>> {
        let mut all = vec![vec![]];
        for window in self.windows.iter().rev() {
            let longer = |place: &Vec<usize>, i: usize| [&[i], &place[..]].concat();
            all = all.iter().flat_map(|place| (0..window.size).map(move |i| longer(place, i))).collect();
        }
        all
    }

    /// The operand with all that windows reach, and this number where there is nothing.
    fn around<'m, 'b>(&self, x: Var<'m, 'b>, number: Literal) -> Var<'m, 'b> {
        let (low, high) = self.windows.iter().map(|w| (w.low, w.high)).unzip();
        let number = x.math().literal(number.convert(x.aval().dtype), &Shape::scalar());
        x.apply(Pad { low, high, interior: vec![0; self.windows.len()] }, &[number])
    }

    /// What is at a place of all windows.
    fn taken<'m, 'b>(&self, around: Var<'m, 'b>, y: Var<'m, 'b>, place: &[usize]) -> Var<'m, 'b> {
        let counts = y.aval().shape;
        let start: Vec<usize> = self.windows.iter().zip(place).map(|(w, &i)| i * w.dilation).collect();
        let stride: Vec<usize> = self.windows.iter().map(|w| w.stride).collect();
        let limit = (0..counts.rank()).map(|i| start[i] + (counts[i] - 1) * stride[i] + 1).collect();
        around.apply(StaticSlice { start, limit, stride }, &[])
    }

    /// The elements of all windows at a place, where they are in an operand of this shape, and 0 elsewhere.
    fn put_back<'m, 'b>(&self, shape: &Shape, place: &[usize], part: Var<'m, 'b>) -> Var<'m, 'b> {
        let (mut low, mut high, mut interior) = (Vec::new(), Vec::new(), Vec::new());
        let counts = part.aval().shape;
        for (axis, window) in self.windows.iter().enumerate() {
            let before = (place[axis] * window.dilation) as i64 - window.low;
            let length = dilated(counts[axis], window.stride) as i64;
            low.push(before);
            high.push(shape[axis] as i64 - before - length);
            interior.push(window.stride - 1);
        }
        part.padded(0.0, low, high, interior)
    }

    /// The gradient of a sum: each element has that of all windows which it is in.
    fn spread<'m, 'b>(&self, shape: &Shape, g: Var<'m, 'b>) -> Var<'m, 'b> {
        let counts = g.aval().shape;
        let (mut low, mut high, mut interior) = (Vec::new(), Vec::new(), Vec::new());
        let mut op = ReduceWindow { fold: Fold::Sum, windows: Vec::new() };
        for (axis, window) in self.windows.iter().enumerate() {
            let reach = dilated(window.size, window.dilation) as i64 - 1;
            let before = reach - window.low;
            let length = dilated(counts[axis], window.stride) as i64;
            low.push(before);
            high.push(shape[axis] as i64 + reach - before - length);
            interior.push(window.stride - 1);
            op.windows.push(Window { stride: 1, low: 0, high: 0, ..*window });
        }
        g.padded(0.0, low, high, interior).apply(op, &[])
    }

    /// The derivatives of the results by the elements at each place.
    fn shares<'m, 'b>(&self, x: Var<'m, 'b>, y: Var<'m, 'b>) -> Vec<Share<'m, 'b>> {
        let around = self.around(x, self.nothing(x.aval().dtype));
        let taken: Vec<Var<'m, 'b>> =
            self.places().iter().map(|place| self.taken(around, y, place)).collect();
        if self.fold == Fold::Prod {
            // The products of those before and of those after: no division, so zeros need no special case.
            let mut after = vec![y.of(1.0)];
            for x in taken.iter().skip(1).rev() {
                after.push(*x * after[after.len() - 1]);
            }
            let mut before = y.of(1.0);
            let share = |(x, after): (Var<'m, 'b>, Var<'m, 'b>)| {
                let share = Share::Factor(before * after);
                before = before * x;
                share
            };
            return taken.into_iter().zip(after.into_iter().rev()).map(share).collect();
        }
        // The first of those that equal the extreme, or of NaN.
        let mut found: Option<Var<'m, 'b>> = None;
        let share = |x: Var<'m, 'b>| {
            let is = x.compare(Compare::eq, y).binary(Binary::or, x.compare(Compare::ne, x));
            let first = found.map_or(is, |found| is.binary(Binary::and, found.unary(Unary::not)));
            found = Some(found.map_or(is, |found| found.binary(Binary::or, is)));
            Share::Where(first)
        };
        taken.into_iter().map(share).collect()
    }
}
