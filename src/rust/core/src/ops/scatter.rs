//! Scatter: a value with windows of it updated.

use super::attrs::{logical, Attrs};
use super::binary::Binary;
use super::check::Check;
use super::compare::Compare;
use super::contract::{Cost, Form, Linear, OpDef, Promotion, Role, Simplified, Strip, Sums, Touched};
use super::derive::Var;
use super::lower::{are_wide, op_if, BinaryFormula, Formula, HloOp, Lowering, Syntax};
use super::rules::{Backward, Batch, Forward, Jvp, Vjp};
use super::windows::{check_indices, fitted, Fit, Windows};
use super::{
    written, BitcastConvert, Builder, Control, Fill, Gather, Graph, If, Iota, Op, Reduction, Region, Row,
    Update,
};
use crate::dtype::{DType, Ranked, ANY};
use crate::error::{Error, Result};
use crate::graph::syntax::Parsed;
use crate::graph::Value;
use crate::kernels::memory::indexed::{combine, store, Places, Starts, Targets, Walk};
use crate::kernels::reductions::fold::Fold;
use crate::kernels::tile::copy;
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, Layout, View, ViewMut};
use std::ops::Range;
use std::sync::Arc;

/// Names of the parameters of windows.
pub(crate) const SCATTER_NAMES: [&str; 5] = [
    "update_window_axes",
    "inserted_window_axes",
    "input_batching_axes",
    "scatter_indices_batching_axes",
    "scatter_axes_to_operand_axes",
];

/// The input with windows of it updated by a stack of windows, in the order of the stack; sums of many elements at few
/// places are added up in parts, which sizes alone decide (`Scatter::bins`). Windows that do not fit are left out
/// (StableHLO, `scatter`), or also raise an error.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Scatter {
    /// The axes of the windows.
    pub windows: Windows,
    /// How an element is updated.
    pub update: Update,
    /// A promise of the user, which other compilers use.
    pub indices_are_sorted: bool,
    /// A promise that no two windows overlap.
    pub unique_indices: bool,
    /// Whether windows that do not fit are an error.
    pub check: Check,
}

/// What it does with windows that do not fit if it does not check them.
const SILENT: &str = "drop";

static SCATTER: Row = Row {
    accuracy: "Each sum or product of an update is rounded; other updates by name are exact.",
    ..written("scatter", "nv_scatter", &["input", "scatter_indices", "update"], ANY)
};

/// Why updates by a function have no derivative.
const NO_RULE: &str =
    "updates by a function have no rule; give an update that has one, by name (\"replace\", \
    \"add\", \"mul\", \"min\" or \"max\")";

impl OpDef for Scatter {
    fn row(&self) -> &'static Row {
        &SCATTER
    }

    fn rows() -> Vec<&'static Row> {
        vec![&SCATTER]
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let [x, indices, update, captured @ ..] = operands else {
            return Err(Error::Internal { detail: "scatter: too few operands".into() });
        };
        let op = || SCATTER.function.to_string();
        check_indices(&SCATTER, "scatter_indices", indices)?;
        if x.dtype != update.dtype {
            return Err(Error::DtypeMismatch { op: op(), lhs: x.dtype, rhs: update.dtype });
        }
        self.update.check(&SCATTER, x, captured)?;
        self.windows.check(SCATTER_NAMES, &x.shape, &indices.shape)?;
        let batches: Vec<usize> = self.windows.batches(&indices.shape).map(|i| indices.shape[i]).collect();
        let count = batches.len() + self.windows.window_axes.len();
        if update.shape.rank() != count {
            let (operand, shape) = ("update".into(), update.shape.clone());
            let expected = format!("{count} axes, those of the windows and of the indices");
            return Err(Error::Rank { op: op(), operand, expected, shape, hint: String::new() });
        }
        let others = (0..count).filter(|&i| !self.windows.window_axes.contains(&Axis(i)));
        for (i, &size) in others.zip(&batches) {
            if update.shape[i] != size {
                return Err(Error::SizeMismatch {
                    op: op(),
                    lhs: update.shape.clone(),
                    rhs: indices.shape.clone(),
                    what: format!("Axis {} of the update belongs to the indices", Axis(i)),
                    l: update.shape[i],
                    r: size,
                });
            }
        }
        let windows = self.sizes(x.shape.rank(), &update.shape);
        for i in self.windows.kept(x.shape.rank()) {
            let (window, axis, size) = (windows[i], Axis(i), x.shape[i]);
            if window > size {
                return Err(Error::Window { window, axis, size });
            }
        }
        Ok(vec![(*x).clone()])
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        let mut out = self.windows.attributes(SCATTER_NAMES);
        out.push(("indices_are_sorted", logical(self.indices_are_sorted)));
        out.push(("unique_indices", logical(self.unique_indices)));
        out.push(("update_computation", self.update.name()));
        out.extend(self.check.attribute(SILENT));
        out
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::Each(&[Role::Own, Role::Position, Role::Assigned, Role::Own])
    }

    fn decode(row: &'static Row, attrs: &Attrs, operands: &[&Aval]) -> Result<Op> {
        let update = Update::decode(attrs, operands[0])?;
        // Operands that the function captures come last.
        if !matches!(update, Update::By(_)) {
            row.check_operands(operands.len())?;
        }
        let op = Scatter {
            windows: Windows::decode(attrs, SCATTER_NAMES, operands)?,
            update,
            indices_are_sorted: attrs.flag("indices_are_sorted")?,
            unique_indices: attrs.flag("unique_indices")?,
            check: Check::decode(attrs)?,
        };
        Ok(op.into())
    }

    fn parse(form: &Form) -> Parsed<Scatter> {
        form.takes_at_least(3)?;
        Ok(Scatter {
            windows: Windows::parse(form, SCATTER_NAMES)?,
            update: Update::parse(form)?,
            indices_are_sorted: form.logical("indices_are_sorted")?,
            unique_indices: form.logical("unique_indices")?,
            check: Check::parse(form, SILENT)?,
        })
    }

    fn regions(&self) -> Vec<(&'static str, &Graph)> {
        self.region().map(|region| ("update", &**region)).into_iter().collect()
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        copy(&operands[0], &mut results[0]);
        self.update(&operands[1..], &mut results[0]);
    }

    fn updates(&self) -> bool {
        self.region().is_none()
    }

    fn update(&self, others: &[View], out: &mut ViewMut) {
        let [indices, update] = [0, 1].map(|i| &others[i]);
        if out.data.is_empty() {
            return self.check_all(out.shape, indices, update.shape);
        }
        match &self.update {
            Update::Replace => self.with_starts(out.shape, indices, update.shape, &mut |walk, starts| {
                store(&walk, starts, update, out)
            }),
            Update::With(op) => {
                let pair = op.pair(out.dtype).expect("infer accepts what has a kernel");
                let bins = self.bins(&Aval::known(out.dtype, out.shape.clone()), indices.shape, update.shape);
                self.with_starts(out.shape, indices, update.shape, &mut |walk, starts| match bins {
                    Some(bins) if !bins.is_one() => bins.run(starts, update, out.data, &pair),
                    _ => combine(&walk, starts, update, out, &pair),
                });
            }
            Update::By(_) => unreachable!("executors run regions"),
        }
    }

    fn cost(&self) -> Cost {
        /// The estimated time of an update, in picoseconds (measured on an AMD EPYC, Zen 3).
        const UPDATE: usize = 1_000;
        Cost::Picoseconds(UPDATE)
    }

    fn sums(&self, operands: &[&Aval]) -> Option<Sums> {
        let [x, index, update] = operands else { return None };
        self.sums_of(x, index, update)
    }

    fn vjp(&self) -> Vjp<'_> {
        match self.update {
            Update::Replace => Vjp::by(|at| self.pull(at, pull_replaced)),
            Update::With(Binary::add) => Vjp::by(|at| self.pull(at, pull_added)),
            Update::With(Binary::mul) => Vjp::by(|at| self.pull(at, pull_multiplied)),
            Update::With(Binary::min | Binary::max) => Vjp::by(|at| self.pull(at, pull_chosen)),
            Update::With(_) | Update::By(_) => Vjp::Todo(NO_RULE),
        }
    }

    fn jvp(&self) -> Jvp<'_> {
        match self.update {
            Update::Replace | Update::With(Binary::add) => Jvp::Linear,
            Update::With(Binary::mul) => Jvp::of_one(|at| self.push(at, push_multiplied)),
            Update::With(Binary::min | Binary::max) => Jvp::of_one(|at| self.push(at, push_chosen)),
            Update::With(_) | Update::By(_) => Jvp::Todo(NO_RULE),
        }
    }

    /// As that of a gather. Input and update both get the batch axis.
    fn batch(&self) -> Batch<'_> {
        Batch::of_one(|at| {
            let (input, update) = (at.whole(0), at.whole(2));
            if at.batched[3..].contains(&true) {
                let why = "a function of updates captures a value that differs between examples";
                return input.failed(Error::NoBatch { op: SCATTER.function.into(), why: why.into() });
            }
            let mut op = self.clone();
            let (indices, split) = at.positions(1, &self.check);
            if split {
                op.indices_are_sorted = false;
                op.windows.split(Some(at.rank(0)), at.rank(1));
            } else {
                op.windows.window_axes.push(Axis(at.rank(2)));
            }
            let others: Vec<Var> = [indices, update].iter().chain(&at.operands[3..]).copied().collect();
            match at.mask.filter(|_| self.check.raises() && self.fits_nowhere(&input.aval().shape)) {
                None => input.apply(op, &others),
                Some(mask) => op.if_any(mask, input, &others),
            }
        })
    }

    fn strip(&self, axis: Axis, _size: usize, operands: &[&Aval]) -> Option<Strip> {
        let [x, indices, update] = operands else { return None };
        // Sums of several updates of an element may be partial.
        let is_partial = self.bins(x, &indices.shape, &update.shape).is_some();
        let axes = self.windows.strips_of_value(axis, &x.shape, [&indices.shape, &update.shape])?;
        Strip::new(self.clone(), axes).filter(|_| !is_partial && self.region().is_none())
    }

    /// StableHLO leaves out single elements that do not fit; we leave out windows, as XLA does.
    fn lower(&self, operands: &[Aval]) -> Lowering<'_> {
        let attributes = format!(
            "indices_are_sorted = {}, scatter_dimension_numbers = #stablehlo.scatter<{}>, unique_indices = {}",
            self.indices_are_sorted,
            self.windows.lower([
                "update_window_dims",
                "inserted_window_dims",
                "input_batching_dims",
                "scatter_indices_batching_dims",
                "scatter_dims_to_operand_dims",
            ]),
            self.unique_indices,
        );
        let op = HloOp { name: "stablehlo.scatter", syntax: Syntax::Scatter(self, attributes) };
        let straight = self.region().is_none_or(|region| is_straight(region));
        if !straight || operands.len() > 3 {
            return Lowering::Formula(Formula::ScatterLoop(self), Some(op));
        }
        let sizes = self.sizes(operands[0].shape.rank(), &operands[2].shape);
        // XLA does not accept index vectors without elements.
        let same = are_wide(&operands[1..2])
            && !self.windows.index_map.is_empty()
            && self.windows.index_map.iter().all(|axis| sizes[axis.0] <= 1);
        op_if(same, op, Formula::Scatter(self))
    }

    fn linear(&self) -> Linear {
        self.update.linear()
    }

    fn consists_of(&self, _operands: usize) -> Vec<usize> {
        self.update.consists_of()
    }

    fn touched(&self) -> Option<Touched> {
        Some(Touched::Replaced(2))
    }

    fn raises(&self) -> bool {
        self.check.raises()
    }

    fn simplify(&self, b: &mut Builder, operands: &[Value], _read: &[bool]) -> Result<Simplified> {
        self.as_slice(b, operands)
    }
}

/// Whether a graph consists of elementwise ops and branches over such, as XLA requires of the function of a
/// scatter. XLA aborts the process on a loop there.
fn is_straight(graph: &Graph) -> bool {
    graph.nodes().iter().all(|node| match node.op.control() {
        Some(Control::If(op)) => op.branches.iter().all(|branch| is_straight(branch)),
        Some(_) => false,
        None => {
            let avals: Vec<Aval> = node.operands.iter().map(|&v| graph.aval(v).clone()).collect();
            let dtypes: Vec<DType> = avals.iter().map(|aval| aval.dtype).collect();
            let looped = Formula::Binary(BinaryFormula::IntegerPower);
            let is_loop = matches!(node.op.lower(&avals), Lowering::Formula(formula, _) if formula == looped);
            let of_elements = node.op.is_elementwise(&dtypes)
                || node.op.get::<BitcastConvert>().is_some()
                || node.op.get::<Fill>().is_some();
            of_elements && !is_loop
        }
    })
}

impl Scatter {
    /// Whether an axis that has positions has no element.
    fn fits_nowhere(&self, x: &Shape) -> bool {
        self.windows.index_map.iter().any(|axis| self.windows.dropped.contains(axis) && x[axis.0] == 0)
    }

    /// It, if a mask has an example; else its first operand.
    fn if_any<'m, 'b>(self, mask: Var<'m, 'b>, x: Var<'m, 'b>, others: &[Var<'m, 'b>]) -> Var<'m, 'b> {
        let any = mask.apply(Reduction { fold: Fold::Any, axes: vec![Axis(0)], drop: true }, &[]);
        let (mut run, mut none) = (Builder::default(), Builder::default());
        let operands = [&[x], others].concat();
        let inputs: Vec<Value> = operands.iter().map(|x| run.input(x.aval())).collect();
        match run.node(self, &inputs) {
            Err(error) => x.failed(error),
            Ok(made) => {
                let same = none.input(x.aval());
                let branches = [Arc::new(run.finish(made)), Arc::new(none.finish(vec![same]))];
                any.apply(If { branches }, &[operands.as_slice(), &[x]].concat())
            }
        }
    }

    /// Sizes of the windows, along each axis of the input.
    pub(crate) fn sizes(&self, rank: usize, update: &Shape) -> Vec<usize> {
        let mut sizes = vec![1; rank];
        self.windows.kept(rank).zip(&self.windows.window_axes).for_each(|(i, j)| sizes[i] = update[j.0]);
        sizes
    }

    /// The graph that it runs for each element, if the update is not one with a name.
    pub fn region(&self) -> Option<&Region> {
        match &self.update {
            Update::By(region) => Some(region),
            _ => None,
        }
    }

    /// The positions in a dense input of this shape that elements of an update of this shape are written to.
    pub fn targets(&self, input: &Shape, indices: &View, update: &Shape) -> Targets {
        let mut targets = None;
        self.with_starts(input, indices, update, &mut |walk, starts| {
            targets = Some(Targets { walk, table: starts.table() })
        });
        targets.expect("it is called")
    }

    /// Checks the positions where nothing can be written.
    pub fn check_all(&self, input: &Shape, indices: &View, update: &Shape) {
        if self.check.raises() {
            self.targets(input, indices, update);
        }
    }

    fn with_starts(&self, input: &Shape, indices: &View, update: &Shape, f: &mut dyn FnMut(Walk, &Starts)) {
        let layout = Layout::dense(input);
        let sizes = self.sizes(input.rank(), update);
        // A window without elements is at no position.
        let check = if update.size() > 0 { &self.check } else { &Check::Silent };
        let fit = Fit { x: input, layout: &layout, sizes: &sizes, clamps: false };
        let find =
            |range: Range<usize>, out: &mut [isize]| self.windows.starts(&fit, indices, check, range, out);
        let places = |range: Range<usize>, share: &Range<usize>, out: &mut [u32]| {
            self.windows.places(&fit, indices, check, (range, share), out)
        };
        let of_one = || self.windows.index_map.iter().all(|axis| sizes[axis.0] == 1);
        let places: Option<&Places> =
            if self.windows.has_places(&fit, indices) && of_one() { Some(&places) } else { None };
        let count = self.windows.count(indices.shape);
        let examples = self.windows.examples(&layout, indices);
        f(self.windows.walk(update, &layout), &Starts { count, find: &find, places, examples })
    }

    /// Gradients of the operands, from a rule for the input and for windows that fit. A window that does not
    /// fit was not written and has a gradient of 0.
    fn pull<'m, 'b>(&self, at: &Backward<'_, 'm, 'b>, rule: PullWindows) -> Vec<Option<Var<'m, 'b>>> {
        let (update, stack) = (at.x(2), at.x(2).aval().shape);
        let Some(accesses) = self.accesses([at.x(0), at.x(1), update]) else {
            return vec![Some(at.g()), None, Some(update.of(0.0))];
        };
        let [of_input, mut of_update] = rule(&accesses, at);
        if let Some(fits) = accesses.fits {
            let batches: Vec<Axis> =
                (0..stack.rank()).map(Axis).filter(|i| !self.windows.window_axes.contains(i)).collect();
            of_update = fits.repeated(&stack, &batches).select(of_update, update.of(0.0));
        }
        vec![Some(of_input), None, Some(of_update)]
    }

    /// The tangent of the result, from a rule for windows that are not all empty.
    fn push<'m, 'b>(&self, at: &Forward<'_, 'm, 'b>, rule: PushWindows) -> Var<'m, 'b> {
        match self.accesses([at.x(0), at.x(1), at.x(2)]) {
            Some(accesses) => rule(&accesses, at),
            None => at.t(0),
        }
    }

    /// Reads and writes of its windows, if there are any.
    fn accesses<'m, 'b>(&self, [x, indices, update]: [Var<'m, 'b>; 3]) -> Option<Accesses<'_, 'm, 'b>> {
        let (shape, stack) = (x.aval().shape, update.aval().shape);
        if stack.size() == 0 || shape.size() == 0 {
            return None;
        }
        let sizes = self.sizes(shape.rank(), &stack);
        // Windows that are checked fit, or no gradient is seen.
        let fitted = match self.check {
            Check::Raises(_) | Check::RaisesTurned(..) => None,
            Check::Silent => Some(fitted(indices, &self.windows, &shape, &sizes)),
        };
        let gather = Gather {
            windows: self.windows.clone(),
            slice_sizes: sizes,
            indices_are_sorted: self.indices_are_sorted,
            check: self.check.clone(),
        };
        let clamped = fitted.as_ref().map_or(indices, |fitted| fitted.clamped);
        let fits = fitted.map(|fitted| fitted.fits);
        Some(Accesses { scatter: self, gather, indices, clamped, fits })
    }
}

/// Gradients of the input, and of the update where it was written.
type PullWindows = for<'m, 'b> fn(&Accesses<'_, 'm, 'b>, &Backward<'_, 'm, 'b>) -> [Var<'m, 'b>; 2];

/// The tangent of the result.
type PushWindows = for<'m, 'b> fn(&Accesses<'_, 'm, 'b>, &Forward<'_, 'm, 'b>) -> Var<'m, 'b>;

/// Reads and writes of the windows of a scatter.
struct Accesses<'s, 'm, 'b> {
    scatter: &'s Scatter,
    gather: Gather,
    indices: Var<'m, 'b>,
    /// The indices, moved so that all windows fit.
    clamped: Var<'m, 'b>,
    /// Whether each window fits; `None` if one that does not is an error.
    fits: Option<Var<'m, 'b>>,
}

impl<'m, 'b> Accesses<'_, 'm, 'b> {
    fn read(&self, x: Var<'m, 'b>) -> Var<'m, 'b> {
        x.apply(self.gather.clone(), &[self.clamped])
    }

    fn put(&self, onto: Var<'m, 'b>, op: Binary, what: Var<'m, 'b>) -> Var<'m, 'b> {
        onto.apply(Scatter { update: Update::With(op), ..self.scatter.clone() }, &[self.indices, what])
    }
}

fn pull_replaced<'m, 'b>(windows: &Accesses<'_, 'm, 'b>, at: &Backward<'_, 'm, 'b>) -> [Var<'m, 'b>; 2] {
    let (scatter, indices, g) = (windows.scatter, windows.indices, at.g());
    let (shape, stack) = (at.x(0).aval().shape, at.x(2).aval().shape);
    let zero = at.x(2).of(0.0);
    let rest = g.apply(scatter.clone(), &[indices, zero]);
    // Of several elements written to one position, one remains; numbers that are scattered alike tell which.
    let iota = Iota { axis: Axis(0), to: Ranked::known(DType::I64), shape: [stack.size()].into(), start: 0 };
    let number = g.made(iota).reshaped(&stack);
    let places = number.filled(-1.0, &shape).apply(scatter.clone(), &[indices, number]);
    let won = windows.read(places).compare(Compare::eq, number);
    [rest, won.select(windows.read(g), zero)]
}

fn pull_added<'m, 'b>(windows: &Accesses<'_, 'm, 'b>, at: &Backward<'_, 'm, 'b>) -> [Var<'m, 'b>; 2] {
    [at.g(), windows.read(at.g())]
}

fn pull_multiplied<'m, 'b>(windows: &Accesses<'_, 'm, 'b>, at: &Backward<'_, 'm, 'b>) -> [Var<'m, 'b>; 2] {
    let [of_input, of_update] = factors(windows, at.x(0), at.x(2));
    [at.g().chain(of_input), windows.read(at.g()).chain(of_update)]
}

fn push_multiplied<'m, 'b>(windows: &Accesses<'_, 'm, 'b>, at: &Forward<'_, 'm, 'b>) -> Var<'m, 'b> {
    let [of_input, of_update] = factors(windows, at.x(0), at.x(2));
    windows.put(at.t(0).chain(of_input), Binary::add, at.t(2).chain(of_update))
}

/// The factors of the input and of each update in a product: all others.
fn factors<'m, 'b>(windows: &Accesses<'_, 'm, 'b>, x: Var<'m, 'b>, update: Var<'m, 'b>) -> [Var<'m, 'b>; 2] {
    let of_input = windows.put(x.of(1.0), Binary::mul, update);
    // The factor of an update: the product of all other nonzero factors, if no other factor is 0.
    let is_zero = |v: Var<'m, 'b>| v.compare(Compare::eq, v.of(0.0));
    let without = |v: Var<'m, 'b>| is_zero(v).select(v.of(1.0), v);
    let product = windows.read(windows.put(without(x), Binary::mul, without(update)));
    let number = |v: Var<'m, 'b>| is_zero(v).select(v.of(1.0), v.of(0.0));
    let zeros = windows.read(windows.put(number(x), Binary::add, number(update)));
    let none = zeros.compare(Compare::eq, number(update));
    let others = none.select(product / without(update), update.of(0.0));
    // Where it is the only update of an element, that element itself, whose derivative is not lost where it is 0.
    let updates = windows.read(windows.put(x.of(0.0), Binary::add, update.of(1.0)));
    let is_only = updates.compare(Compare::eq, updates.of(1.0));
    [of_input, is_only.select(windows.read(x), others)]
}

/// The gradient is shared equally by all elements that equal the result.
fn pull_chosen<'m, 'b>(windows: &Accesses<'_, 'm, 'b>, at: &Backward<'_, 'm, 'b>) -> [Var<'m, 'b>; 2] {
    let ([in_x, in_update], count) = chosen(windows, [at.x(0), at.x(2), at.y()]);
    let part = at.g() / count;
    [part.chain(in_x), windows.read(part).chain(in_update)]
}

/// The mean of the tangents of all elements that equal the result.
fn push_chosen<'m, 'b>(windows: &Accesses<'_, 'm, 'b>, at: &Forward<'_, 'm, 'b>) -> Var<'m, 'b> {
    let ([in_x, in_update], count) = chosen(windows, [at.x(0), at.x(2), at.y()]);
    windows.put(at.t(0).chain(in_x), Binary::add, at.t(2).chain(in_update)) / count
}

/// 1 for each element of the input and of the update that equals the result, 0 for others, and the number of
/// such elements for each element of the result, at least 1.
fn chosen<'m, 'b>(
    windows: &Accesses<'_, 'm, 'b>,
    [x, update, y]: [Var<'m, 'b>; 3],
) -> ([Var<'m, 'b>; 2], Var<'m, 'b>) {
    let mark = |v: Var<'m, 'b>, y: Var<'m, 'b>| v.compare(Compare::eq, y).select(v.of(1.0), v.of(0.0));
    let (in_x, in_update) = (mark(x, y), mark(update, windows.read(y)));
    let dtype = x.aval().dtype;
    // A 16-bit float counts too few numbers exactly.
    let wide = if dtype.bits() == 16 { DType::F32 } else { dtype };
    let count = windows.put(in_x.convert(wide), Binary::add, in_update.convert(wide));
    ([in_x, in_update], count.binary(Binary::max, count.of(1.0)).convert(dtype))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::cast;
    use crate::ops::windows::example::{indices, operand, windows};

    #[test]
    fn scatter_adds_what_a_naive_loop_adds() {
        let ((shape, x), (index_shape, index)) = (operand(), indices());
        let op = Scatter {
            windows: windows(),
            update: Update::With(Binary::add),
            indices_are_sorted: false,
            unique_indices: false,
            check: Check::Silent,
        };
        let updates = Shape::from([2, 2, 3, 2, 2]);
        let known = |s: &Shape| Aval::known(DType::I32, s.clone());
        let types = op.infer(&[&known(&shape), &known(&index_shape), &known(&updates)]).unwrap();
        assert_eq!(types, [known(&shape)]);
        let new: Vec<i32> = (0..48).map(|i| 1000 * i).collect();
        let layouts = [Layout::dense(&shape), Layout::dense(&index_shape), Layout::dense(&updates)];
        let view = |x: &'static [i32], i: usize, shape: &'static Shape, layouts: &'static [Layout; 3]| View {
            dtype: DType::I32,
            shape,
            layout: &layouts[i],
            data: cast::bytes(x),
        };
        // Leaked, so that one closure serves views of three lifetimes.
        fn leak<T>(x: T) -> &'static T {
            Box::leak(Box::new(x))
        }
        let layouts = leak(layouts);
        let views = [
            view(leak(x.clone()), 0, leak(shape.clone()), layouts),
            view(leak(index.clone()), 1, leak(index_shape.clone()), layouts),
            view(leak(new.clone()), 2, leak(updates.clone()), layouts),
        ];
        let mut out = vec![0i32; 48];
        op.eval(&views, &mut [ViewMut { dtype: DType::I32, shape: &shape, data: cast::bytes_mut(&mut out) }]);
        let at =
            |shape: &Shape, i: &[usize]| i.iter().zip(shape.strides()).map(|(&i, s)| i * s).sum::<usize>();
        let mut want = x;
        for a in 0..2 {
            for b in 0..2 {
                for c in 0..3 {
                    let start = |k| index[at(&index_shape, &[a, b, c, k])] as usize;
                    let (third, second) = (start(0), start(1));
                    // The second axis of the indices walks along with the first of the operand.
                    if third + 2 > 4 || second + 1 > 3 {
                        continue;
                    }
                    for (d, e) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                        want[at(&shape, &[b, second, third + d, e])] += new[at(&updates, &[a, b, c, d, e])];
                    }
                }
            }
        }
        assert_eq!(out, want);
    }
}
