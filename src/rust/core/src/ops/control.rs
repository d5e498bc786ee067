//! Ops that run regions: branches and loops. Values of the surrounding graph that a region uses are operands.
//!
//! Executors run them (`exec::control`).

use super::attrs::logical;
use super::contract::{Form, OpDef};
use super::lower::{Formula, HloOp, Lowering, Syntax};
use super::rules::{Batch, Jvp, Vjp};
use super::{written, Custom, Graph, Row};
use crate::dtype::{DType, ANY};
use crate::error::{Error, Result};
use crate::graph::syntax::Parsed;
use crate::graph::Value;
use crate::shape::Shape;
use crate::tensor::{Aval, View, ViewMut};
use std::sync::Arc;

/// A graph without constants, run by an op.
pub type Region = Arc<Graph>;

/// One of two graphs, by a condition. Operands: the condition, inputs of the first graph, inputs of the
/// second.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct If {
    /// The region that is run if the condition holds, and the other one. Their outputs have the same types.
    pub branches: [Region; 2],
}

/// A graph repeated as long as a condition on its state holds. Operands: the state, what the condition
/// captures, what the body captures. Results: the last state.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct While {
    /// From the state to a 0-d boolean.
    pub cond: Region,
    /// From the state to the next one, of the same types.
    pub body: Region,
    /// Number of values of the state.
    pub carried: usize,
    /// A promise that the body runs no more often, which reverse mode needs; executors do not look at it.
    pub bound: Option<usize>,
}

/// A graph repeated along the first axis of some values. Operands: the state, the sliced values, what the
/// body captures. Results: the last state, and the body's other results, stacked along a new first axis.
/// (The last axis if `last` says so.)
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Scan {
    /// From state, slices and the rest to the next state and a slice of each stacked result.
    pub body: Region,
    /// Number of values of the state.
    pub carried: usize,
    /// Number of sliced values.
    pub sliced: usize,
    /// Number of iterations: the first size of the sliced values.
    pub length: usize,
    /// Whether it runs from the last slice to the first.
    pub reverse: bool,
    /// Whether slices are along the last axis instead of the first, so that each is contiguous. Only the engine
    /// makes such loops (`passes::slices`): derivatives and batches are taken before.
    pub last: bool,
    /// Whether a derivative recomputes the body instead of storing its intermediate values.
    pub checkpoint: bool,
}

/// A row of an op that runs graphs.
pub(super) const fn runs(
    name: &'static str,
    function: &'static str,
    operands: &'static [&'static str],
) -> Row {
    Row { accuracy: "That of the ops in the functions given.", ..written(name, function, operands, ANY) }
}

static IF: Row = runs("if", "nv_if", &["pred"]);
static WHILE: Row = runs("while", "nv_while", &["init"]);
static SCAN: Row = runs("scan", "nv_scan", &["init", "xs"]);

/// An op that decides which of its regions run, and how often.
#[derive(Clone, Copy, Debug)]
pub enum Control<'a> {
    /// One of two regions runs.
    If(&'a If),
    /// A region runs as long as a condition holds.
    While(&'a While),
    /// A region runs along an axis.
    Scan(&'a Scan),
    /// Its function runs, or its derivative where it is differentiated.
    Custom(&'a Custom),
}

/// Whether dtypes and shapes are the same; ambiguity may differ.
pub(super) fn same(a: &Aval, b: &Aval) -> bool {
    a.dtype == b.dtype && a.shape == b.shape
}

/// Checks that operands have the types of a region's inputs.
pub(super) fn check<'a>(
    row: &Row,
    region: &Region,
    operands: impl ExactSizeIterator<Item = &'a Aval>,
) -> Result<()> {
    let fits = operands.len() == region.inputs().len()
        && operands.zip(region.inputs()).all(|(x, &input)| same(x, region.aval(input)));
    if fits {
        Ok(())
    } else {
        Err(internal(row, "operands do not fit its region"))
    }
}

pub(super) fn internal(row: &Row, what: &str) -> Error {
    Error::Internal { detail: format!("{}: {what}", row.name) }
}

/// Types of a region's outputs.
pub(super) fn outputs(region: &Region) -> impl ExactSizeIterator<Item = &Aval> {
    region.outputs().iter().map(|&v| region.aval(v))
}

impl OpDef for If {
    fn row(&self) -> &'static Row {
        &IF
    }

    fn rows() -> Vec<&'static Row> {
        vec![&IF]
    }

    fn parse(form: &Form) -> Parsed<If> {
        Ok(If { branches: [form.region("true")?, form.region("false")?] })
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let [first, second] = &self.branches;
        let (pred, rest) = operands.split_first().ok_or_else(|| internal(&IF, "no condition"))?;
        if pred.dtype != DType::I1 || pred.shape.rank() > 0 {
            return Err(internal(&IF, "the condition is no 0-d boolean"));
        }
        let (one, other) = rest.split_at(first.inputs().len().min(rest.len()));
        check(&IF, first, one.iter().copied())?;
        check(&IF, second, other.iter().copied())?;
        if outputs(first).len() != outputs(second).len()
            || !outputs(first).zip(outputs(second)).all(|(x, y)| same(x, y))
        {
            return Err(internal(&IF, "branches of different types"));
        }
        let both = |(x, y): (&Aval, &Aval)| Aval { ambiguous: x.ambiguous_with(y), ..x.clone() };
        Ok(outputs(first).zip(outputs(second)).map(both).collect())
    }

    fn regions(&self) -> Vec<(&'static str, &Graph)> {
        vec![("true", &self.branches[0]), ("false", &self.branches[1])]
    }

    fn control(&self) -> Option<Control<'_>> {
        Some(Control::If(self))
    }

    fn eval(&self, _operands: &[View], _results: &mut [ViewMut]) {
        unreachable!("executors run regions")
    }

    fn jvp(&self) -> Jvp<'_> {
        Jvp::Regions
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Regions
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::Regions
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        Lowering::Op(HloOp { name: "stablehlo.if", syntax: Syntax::If(self) })
    }
}

/// Types of a state after a loop: known where the body's results are.
fn carried<'a>(row: &Row, init: &[&Aval], body: impl Iterator<Item = &'a Aval>) -> Result<Vec<Aval>> {
    let next = |(x, y): (&&Aval, &Aval)| {
        if !same(x, y) {
            return Err(internal(row, "the state changes its type"));
        }
        Ok(Aval { ambiguous: x.ambiguous_with(y), ..y.clone() })
    };
    init.iter().zip(body).map(next).collect()
}

impl OpDef for While {
    fn row(&self) -> &'static Row {
        &WHILE
    }

    fn rows() -> Vec<&'static Row> {
        vec![&WHILE]
    }

    fn parse(form: &Form) -> Parsed<While> {
        let (cond, body) = (form.region("cond")?, form.region("body")?);
        let carried = body.outputs().len();
        let bound = form.has("bound").then(|| form.number("bound")).transpose()?;
        Ok(While { cond, body, carried, bound })
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        self.bound.map(|bound| ("bound", bound.to_string())).into_iter().collect()
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let extra = self.cond.inputs().len().saturating_sub(self.carried);
        if operands.len() < self.carried + extra || outputs(&self.body).len() != self.carried {
            return Err(internal(&WHILE, "too few operands or results"));
        }
        let (state, rest) = operands.split_at(self.carried);
        let (one, other) = rest.split_at(extra);
        check(&WHILE, &self.cond, [state, one].concat().into_iter())?;
        check(&WHILE, &self.body, [state, other].concat().into_iter())?;
        let mut test = outputs(&self.cond);
        match (test.next(), test.next()) {
            (Some(x), None) if x.dtype == DType::I1 && x.shape.rank() == 0 => {}
            _ => return Err(internal(&WHILE, "the condition is no 0-d boolean")),
        }
        carried(&WHILE, state, outputs(&self.body))
    }

    fn regions(&self) -> Vec<(&'static str, &Graph)> {
        vec![("cond", &self.cond), ("body", &self.body)]
    }

    fn control(&self) -> Option<Control<'_>> {
        Some(Control::While(self))
    }

    fn eval(&self, _operands: &[View], _results: &mut [ViewMut]) {
        unreachable!("executors run regions")
    }

    fn jvp(&self) -> Jvp<'_> {
        Jvp::Regions
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Regions
    }

    fn vjp(&self) -> Vjp<'_> {
        match self.bound {
            Some(_) => Vjp::Regions,
            None => Vjp::Todo(
                "how often the body runs is not known in advance; give `nv_while()` a bound with `max_steps`, or \
                 use `nv_scan()`, or `nv_for()` with a number of R for `n`",
            ),
        }
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        Lowering::Op(HloOp { name: "stablehlo.while", syntax: Syntax::While(self) })
    }
}

impl Scan {
    /// The type of what is stacked from slices of this type.
    pub fn stacked(&self, slice: &Aval) -> Result<Aval> {
        let mut sizes = slice.shape.to_vec();
        sizes.insert(self.axis(sizes.len() + 1), self.length);
        Ok(Aval { shape: Shape::try_new(sizes)?, ..slice.clone() })
    }

    /// The type of the slices of a value, if it has as many as there are iterations.
    fn slice(&self, stacked: &Aval) -> Option<Result<Aval>> {
        let mut sizes = stacked.shape.to_vec();
        let axis = self.axis(sizes.len());
        (sizes.get(axis) == Some(&self.length)).then(|| {
            sizes.remove(axis);
            Ok(Aval { shape: Shape::try_new(sizes)?, ..stacked.clone() })
        })
    }

    /// The axis of the slices of a value of this rank.
    pub fn axis(&self, rank: usize) -> usize {
        match self.last {
            true => rank.saturating_sub(1),
            false => 0,
        }
    }

    /// Types of the slices that an iteration reads, and of those that it writes.
    pub fn slices(&self) -> impl Iterator<Item = &Aval> {
        let read = &self.body.inputs()[self.carried..self.carried + self.sliced];
        read.iter().chain(&self.body.outputs()[self.carried..]).map(|&v| self.body.aval(v))
    }
}

impl OpDef for Scan {
    fn row(&self) -> &'static Row {
        &SCAN
    }

    fn rows() -> Vec<&'static Row> {
        vec![&SCAN]
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        let (reverse, checkpoint) = (logical(self.reverse), logical(self.checkpoint));
        let mut all =
            vec![("length", self.length.to_string()), ("reverse", reverse), ("checkpoint", checkpoint)];
        all.extend(self.last.then(|| ("last", logical(true))));
        all
    }

    fn parse(form: &Form) -> Parsed<Scan> {
        let body = form.region("body")?;
        // A value of the state has as many axes outside of the body as inside; sliced and stacked values have
        // one more outside.
        let same = |outer: &[&Aval], inner: &[Value], more: usize| {
            let pairs = outer.iter().zip(inner);
            pairs.take_while(|(outer, &v)| outer.shape.rank() == body.aval(v).shape.rank() + more).count()
        };
        let carried = same(&form.results, body.outputs(), 0);
        let sliced = match (form.operands.get(carried..), body.inputs().get(carried..)) {
            (Some(operands), Some(inputs)) => same(operands, inputs, 1),
            _ => 0,
        };
        let (reverse, checkpoint) = (form.logical("reverse")?, form.logical("checkpoint")?);
        let last = form.has("last") && form.logical("last")?;
        Ok(Scan { carried, sliced, length: form.number("length")?, reverse, last, checkpoint, body })
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        if operands.len() < self.carried + self.sliced || outputs(&self.body).len() < self.carried {
            return Err(internal(&SCAN, "too few operands or results"));
        }
        let slices: Vec<Aval> = operands[self.carried..self.carried + self.sliced]
            .iter()
            .map(|x| self.slice(x).unwrap_or_else(|| Err(internal(&SCAN, "slices of another number"))))
            .collect::<Result<_>>()?;
        let state = &operands[..self.carried];
        let rest = &operands[self.carried + self.sliced..];
        let given: Vec<&Aval> = state.iter().copied().chain(&slices).chain(rest.iter().copied()).collect();
        check(&SCAN, &self.body, given.into_iter())?;
        let mut types = carried(&SCAN, state, outputs(&self.body))?;
        for slice in outputs(&self.body).skip(self.carried) {
            types.push(self.stacked(slice)?);
        }
        Ok(types)
    }

    fn regions(&self) -> Vec<(&'static str, &Graph)> {
        vec![("body", &self.body)]
    }

    fn control(&self) -> Option<Control<'_>> {
        Some(Control::Scan(self))
    }

    fn eval(&self, _operands: &[View], _results: &mut [ViewMut]) {
        unreachable!("executors run regions")
    }

    fn jvp(&self) -> Jvp<'_> {
        Jvp::Regions
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Regions
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::Regions
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        Lowering::Formula(Formula::Scan(self), None)
    }
}
