//! The contract of ops: everything that the rest of the crate asks of one.
//!
//! Each op, or family of ops, implements [`OpDef`] once, in its own file; the list in [`list`](super::list)
//! makes them members of [`Op`]. Defaults are conservative: an op that says nothing is no view, is not
//! elementwise, moves data, may be linear in nothing. A rule that is not written says so in a sentence that
//! reaches the user; a derivative that is zero says that it is.

use super::attrs::Attrs;
use super::control::Control;
use super::derive::Var;
use super::lower::Lowering;
use super::{Builder, DotGeneral, Graph, Op, Row};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::exec::vm::native;
use crate::exec::vm::Kernel;
use crate::graph::syntax::Parsed;
use crate::graph::{self, Value};
use crate::kernels::reductions::fold::Fold;
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, Layout, Literal, View, ViewMut};

/// Everything that is asked of an op. [`Op`] dereferences to the one that it holds.
pub trait OpDef {
    // ---- the catalogue

    /// The op's row.
    fn row(&self) -> &'static Row;

    /// Rows of the family, in the order of the catalogue.
    fn rows() -> Vec<&'static Row>
    where
        Self: Sized;

    /// What becomes of the operands of a call before the op of a row of the family sees them.
    fn promotion(_row: &'static Row) -> Promotion
    where
        Self: Sized,
    {
        Promotion::Join
    }

    /// The op of a row of the family, with the parameters of a call on operands of these types, which are as
    /// [`promotion`](OpDef::promotion) leaves them.
    ///
    /// # Errors
    /// Parameters that are of another kind than expected or out of range. [`Error::Internal`] for ops that are
    /// not called by name.
    fn decode(row: &'static Row, _attrs: &Attrs, _operands: &[&Aval]) -> Result<Op>
    where
        Self: Sized,
    {
        Err(Error::Internal { detail: format!("`{}` is not called by name", row.name) })
    }

    /// The shape that 0-d operands of a call are repeated to; `None` if they stay as they are.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] for operands of an elementwise op that have axes, but not the same.
    fn repeats_to(&self, operands: &[&Aval]) -> Result<Option<Shape>> {
        let dtypes: Vec<DType> = operands.iter().map(|x| x.dtype).collect();
        match self.is_elementwise(&dtypes) {
            true => common_shape(self.row().function, operands),
            false => Ok(None),
        }
    }

    /// Whether the result is the first operand itself, so that a call adds nothing to the graph.
    fn is_identity(&self, _operands: &[&Aval]) -> bool {
        false
    }

    // ---- the graph

    /// Types of the results for operands of these types: the only place where a result type is decided.
    ///
    /// # Errors
    /// Whatever makes the op not applicable: dtypes, shapes, dimension numbers.
    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>>;

    /// Static parameters in the order of printing, each as R would print it.
    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![]
    }

    /// The family's op of a statement that names it: the way back from `attributes` and `regions`.
    ///
    /// # Errors
    /// [`ParseError`](crate::graph::syntax::ParseError) for attributes and regions that are missing or hold
    /// something else. That there are no others, and that the types are right, is checked by whoever calls it.
    fn parse(form: &Form) -> Parsed<Self>
    where
        Self: Sized;

    /// Graphs that the op runs, with what they are to it.
    fn regions(&self) -> Vec<(&'static str, &Graph)> {
        vec![]
    }

    /// The op as one that decides which of its graphs run, and how often: transformations and executors know
    /// each of these.
    fn control(&self) -> Option<Control<'_>> {
        None
    }

    // ---- execution

    /// Computes the results: the reference meaning of the op, on operands of any layout. Operands and results
    /// have the types that `infer` accepted and gave, so nothing can fail.
    fn eval(&self, operands: &[View], results: &mut [ViewMut]);

    /// As `eval`, for operands that always have these shapes and layouts: what does not depend on their
    /// elements is found once. `None` if there is nothing to find.
    fn prepare(&self, _operands: &[(&Shape, &Layout)]) -> Option<Ready> {
        None
    }

    /// The layout under which the operand's own buffer is the result, if there is one: then nothing need be
    /// computed.
    fn as_view(&self, _shape: &Shape, _layout: &Layout, _result: &Aval) -> Option<Layout> {
        None
    }

    /// Bytes that `eval` allocates beside the results, for operands of these types, each dense.
    fn scratch(&self, _operands: &[&Aval]) -> usize {
        0
    }

    /// Whether each element of the result is made of those of the operands that are in its place, for
    /// operands of these dtypes. If so, there is a kernel.
    fn is_elementwise(&self, _from: &[DType]) -> bool {
        false
    }

    /// The kernel of an elementwise op on operands of these dtypes. It is the one that `eval` runs.
    fn kernel(&self, _from: &[DType]) -> Option<Kernel> {
        None
    }

    /// What makes tiles of the result from all of the first operand, of this shape and layout, and from tiles
    /// of the others, for operands of these dtypes; `None` for what is made in no such way.
    fn whole_kernel(&self, _first: (&Shape, &Layout), _from: &[DType]) -> Option<WholeKernel> {
        None
    }

    /// How it folds its operand, and along which axes, if it is a fold.
    fn fold(&self) -> Option<(Fold, &[Axis])> {
        None
    }

    /// The dimension numbers of the product that it is, if it is one.
    fn contraction(&self) -> Option<&DotGeneral> {
        None
    }

    /// The axis along which its result is its operands end to end, if it is.
    fn joined(&self) -> Option<Axis> {
        None
    }

    /// What its elements are if they are made from nothing.
    fn source(&self) -> Option<Source> {
        None
    }

    /// What it is as an instruction of native code, if its kernel can be one at all.
    fn instruction(&self) -> Option<native::Op> {
        self.row().native
    }

    /// About how long an element takes.
    fn cost(&self) -> Cost {
        Cost::Simple
    }

    // ---- transformations

    /// Gradients of the operands, from those of the results.
    fn vjp(&self) -> Vjp<'_>;

    /// Tangents of the results, from those of the operands.
    fn jvp(&self) -> Todo {
        Todo("derivatives in forward mode are not there yet; `gradient()` has those in reverse mode")
    }

    /// The op on operands with one dimension more.
    fn batch(&self) -> Todo {
        Todo("batching is not there yet; give the operands a dimension for the batch")
    }

    /// How it is lowered to StableHLO on operands of these types.
    fn lower(&self, operands: &[Aval]) -> Lowering<'_>;

    // ---- properties, for passes

    /// The results, where they can be had for less: `None` for those that are not `read`. It never looks at
    /// layouts and never changes a bit.
    ///
    /// # Errors
    /// Those of [`Builder::node`], which would be a bug.
    fn simplify(&self, _b: &mut Builder, _operands: &[Value], _read: &[bool]) -> Result<Simplified> {
        Ok(None)
    }

    /// The operands in which it is linear.
    fn linear(&self) -> Linear {
        Linear::In(&[])
    }

    /// Whether all elements of the result are those of the operand, each at least once, or come from the op's
    /// parameters: made again of its operand it costs nothing, and the operand is not larger.
    fn moves_only(&self) -> bool {
        false
    }

    /// Whether it costs nothing to repeat, and its result takes memory to keep.
    fn is_cheap(&self) -> bool {
        false
    }

    /// Whether it reads transposed operands where they lie, as fast as others.
    fn reads_transposed(&self) -> bool {
        false
    }

    /// Whether it does more than compute its results, so that it must run though nobody reads them. What its
    /// regions do is not asked here, see [`Op::has_effect`].
    fn effect(&self) -> bool {
        false
    }
}

/// What becomes of the operands of a call before an op sees them: their dtypes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Promotion {
    /// The join of all their dtypes, and of `f32?` where the row accepts floats alone.
    Join,
    /// The join, in which booleans count as i32.
    JoinCounted,
    /// The join of all but the first, a condition, which keeps its own.
    JoinAfterCondition,
    /// The join, and at least f32: parts of complex numbers.
    JoinOfParts,
    /// The dtype of this operand, if the rules join the others with it at all.
    Follow(usize),
    /// Each by itself. The last role is that of all operands after it. With more roles than the row names
    /// operands, what a function among the parameters uses beside its arguments comes after those.
    Each(&'static [Role]),
}

/// What becomes of one operand of a call by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It keeps the dtype that promotion sees.
    Own,
    /// It keeps the dtype that it is stored in, so that an R number keeps its digits.
    Stored,
    /// It keeps its own dtype, but booleans count as i32.
    Counted,
    /// It takes the dtype of the first operand, which it becomes a part of.
    Assigned,
    /// It holds positions that count from 1; they become i32 or i64, and count from 0.
    Position,
}

/// The shape of the operands that have axes.
///
/// # Errors
/// [`Error::ShapeMismatch`] if they differ.
pub(crate) fn common_shape(function: &str, operands: &[&Aval]) -> Result<Option<Shape>> {
    let mut shapes = operands.iter().map(|x| &x.shape).filter(|s| s.rank() > 0);
    let Some(target) = shapes.next() else { return Ok(None) };
    match shapes.find(|s| *s != target) {
        None => Ok(Some(target.clone())),
        Some(other) => {
            let (lhs, rhs) = (target.clone(), other.clone());
            Err(Error::ShapeMismatch { op: function.into(), lhs, rhs })
        }
    }
}

/// Checks the number of operands of a call.
///
/// # Errors
/// [`Error::Arg`]. R's functions have as many formals: more come only from a list in the place of one.
pub(crate) fn arity(function: &str, got: usize, expected: usize) -> Result<()> {
    if got == expected {
        return Ok(());
    }
    Err(Error::Arg {
        arg: "operand".into(),
        expected: "a tensor, or an R number, logical or array".into(),
        got: "a list".into(),
        hint: format!("`{function}()` takes {expected} operand{}.", if expected == 1 { "" } else { "s" }),
    })
}

/// A statement of a graph's text.
pub(super) type Form<'a> = graph::Form<'a, Graph>;

/// The op of a row, among those of a family without parameters.
pub(super) fn member<T: OpDef + Copy + Into<Op>>(family: &[T], row: &Row) -> Result<Op> {
    let op = family.iter().find(|op| op.row().name == row.name);
    op.map(|&op| op.into())
        .ok_or_else(|| Error::Internal { detail: format!("no row is called `{}`", row.name) })
}

/// The op that a statement names, on so many operands, among those of a family without parameters.
pub(super) fn named<T: OpDef + Copy>(family: &[T], operands: usize, form: &Form) -> Parsed<T> {
    form.takes(operands)?;
    let op = family.iter().find(|op| op.row().name == form.op);
    op.copied().ok_or_else(|| form.error("the name of an op", format!("`{}`", form.op)))
}

/// What makes tiles of a result from all of the first operand.
pub struct WholeKernel {
    /// Whether it reads elements of that alone which the other operand names.
    pub picks: bool,
    /// The kernel.
    pub kernel: Box<dyn FnOnce() -> Kernel>,
}

/// A value from nothing.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// One value everywhere.
    Fill(Literal),
    /// Numbers from `start` on, up to `size` of them, each repeated `stride` times, of a dtype.
    Count {
        /// The first.
        start: i64,
        /// Repetitions of each.
        stride: usize,
        /// How many there are before it starts again.
        size: usize,
        /// Dtype of the result.
        dtype: DType,
    },
}

impl Source {
    /// Whether its elements differ.
    pub fn counts(self) -> bool {
        matches!(self, Source::Count { .. })
    }
}

/// What computes an op's results from its operands.
pub(crate) type Ready = Box<dyn Fn(&[View], &mut [ViewMut])>;

/// Results that can be had for less, where they are read.
pub type Simplified = Option<Vec<Option<Value>>>;

/// The one result that can be had for less.
pub(super) fn simplified(value: Value) -> Result<Simplified> {
    Ok(Some(vec![Some(value)]))
}

/// A rule that is not written, because of this: a sentence for the user without its full stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Todo(pub &'static str);

/// Operands in which an op is linear, by number: its results for sums of operands are sums of results, and
/// likewise for multiples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linear {
    /// In all operands at once.
    InAll,
    /// In these at once, with the others fixed.
    In(&'static [usize]),
    /// In each of these, with all others fixed.
    InEach(&'static [usize]),
}

/// How an op takes part in reverse-mode derivatives.
pub enum Vjp<'a> {
    /// By this rule.
    By(Pull<'a>),
    /// By this rule; operands that it gives nothing for have none, because of this.
    Partly(Pull<'a>, &'static str),
    /// By derivatives of the graphs that it runs: see [`OpDef::control`].
    Regions,
    /// All gradients are 0: results change with the operands by jumps alone, or are taken for constants.
    Zero,
    /// By a rule that is not written, because of this.
    Todo(&'static str),
}

/// A rule of reverse mode: gradients of the operands. Those of operands that are not wanted, or not of
/// numbers that have gradients (indices, conditions), may be `None`.
pub type Pull<'a> = Box<dyn for<'r, 'm, 'b> Fn(&Backward<'r, 'm, 'b>) -> Vec<Option<Var<'m, 'b>>> + 'a>;

impl<'a> Vjp<'a> {
    /// By this rule.
    pub fn by(
        rule: impl for<'r, 'm, 'b> Fn(&Backward<'r, 'm, 'b>) -> Vec<Option<Var<'m, 'b>>> + 'a,
    ) -> Vjp<'a> {
        Vjp::By(Box::new(rule))
    }

    /// By this rule for an op of one operand.
    pub fn of_one(rule: impl for<'r, 'm, 'b> Fn(&Backward<'r, 'm, 'b>) -> Var<'m, 'b> + 'a) -> Vjp<'a> {
        Vjp::by(move |at| vec![Some(rule(at))])
    }
}

/// What a rule of reverse mode is given: values of the graph that it adds to.
pub struct Backward<'r, 'm, 'b> {
    /// The operands.
    pub operands: &'r [Var<'m, 'b>],
    /// The results.
    pub results: &'r [Var<'m, 'b>],
    /// The gradients of the results; `None` is 0, and one at least is there.
    pub gradients: &'r [Option<Var<'m, 'b>>],
    /// The operands whose gradients are asked for.
    pub wanted: &'r [bool],
}

impl<'m, 'b> Backward<'_, 'm, 'b> {
    /// An operand.
    pub fn x(&self, i: usize) -> Var<'m, 'b> {
        self.operands[i]
    }

    /// The result of an op that has one.
    pub fn y(&self) -> Var<'m, 'b> {
        self.results[0]
    }

    /// The gradient of the result of an op that has one.
    pub fn g(&self) -> Var<'m, 'b> {
        self.gradients[0].expect("only results that have a gradient are derived")
    }
}

/// About how long an element takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cost {
    /// As long as a sum.
    Simple,
    /// As long as a quotient of floats.
    Division,
    /// As long as that for floats, as a function for complex numbers.
    Root,
    /// As long as an exponential.
    Function,
    /// As long as two of these.
    Functions,
    /// As long as the logarithm of the gamma function.
    Special,
    /// As long as a quotient: of integers and complex numbers one after the other.
    Quotient,
    /// As long as a remainder, one after the other.
    Remainder,
    /// As long as a sum of many terms.
    Series,
    /// So many picoseconds.
    Picoseconds(usize),
}

impl Cost {
    /// In picoseconds, for operands of these dtypes, on one core with AVX2 (an AMD EPYC, Zen 4).
    pub(crate) fn picoseconds(self, from: &[DType]) -> usize {
        // For each byte of an element, where vectors are computed on: they hold half as many doubles as
        // singles.
        const SIMPLE: usize = 15;
        const DIVISION: usize = 50;
        const FUNCTION: usize = 150;
        const SPECIAL: usize = 1_000;
        // For each element, where they are not.
        const HALF: usize = 2_000;
        const QUOTIENT: usize = 2_000;
        const REMAINDER: usize = 10_000;
        const COMPLEX: usize = 30_000;
        const SERIES: usize = 120_000;
        let bytes = from.iter().map(|d| d.bytes()).max().unwrap_or(1);
        let complex = from.iter().any(|d| d.is_complex());
        let float = from.iter().any(|d| d.is_float());
        let function = if complex { COMPLEX } else { FUNCTION * bytes };
        let one = match self {
            Cost::Simple => SIMPLE * bytes,
            Cost::Division => DIVISION * bytes,
            Cost::Root | Cost::Quotient if float => DIVISION * bytes,
            Cost::Root | Cost::Function => function,
            Cost::Functions => 2 * function,
            Cost::Special => SPECIAL * bytes,
            Cost::Remainder if float => REMAINDER,
            Cost::Quotient | Cost::Remainder => QUOTIENT,
            Cost::Series => SERIES,
            Cost::Picoseconds(picoseconds) => picoseconds,
        };
        let half = from.iter().any(|d| matches!(d, DType::BF16 | DType::F16));
        if half {
            one + HALF
        } else {
            one
        }
    }
}

impl Op {
    /// Whether it, or what its regions run, does more than compute results.
    pub fn has_effect(&self) -> bool {
        let has = |(_, region): &(&str, &Graph)| region.nodes().iter().any(|node| node.op.has_effect());
        self.effect() || self.regions().iter().any(has)
    }

    /// Whether it runs graphs of its own.
    pub fn has_regions(&self) -> bool {
        !self.regions().is_empty()
    }

    /// What computes the results for operands that always have these shapes and layouts.
    pub(crate) fn prepared(&self, operands: &[(&Shape, &Layout)]) -> Ready {
        self.prepare(operands).unwrap_or_else(|| {
            let op = self.clone();
            Box::new(move |operands, results| op.eval(operands, results))
        })
    }

    /// About how long its kernel takes for an element, in picoseconds: see [`Cost::picoseconds`].
    pub(crate) fn picoseconds(&self, from: &[DType]) -> usize {
        self.cost().picoseconds(from)
    }

    /// What it is as an instruction of native code on operands of these dtypes, if it can be one.
    pub(crate) fn native(&self, from: &[DType]) -> Option<native::Op> {
        self.instruction().filter(|&instruction| from.last().is_some_and(|&d| native::has(instruction, d)))
    }
}
