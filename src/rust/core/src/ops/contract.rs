//! The contract of ops: everything that the rest of the crate asks of one.
//!
//! Each op, or family of ops, implements [`OpDef`] once, in its own file; the list in [`list`](super::list)
//! makes them members of [`Op`]. Defaults are conservative: an op that says nothing is no view, is not
//! elementwise, moves data, may be linear in nothing. A rule that is not written is a `Todo` with a sentence
//! that reaches the user; a derivative that is zero is stated as zero.

use super::attrs::Attrs;
use super::control::Control;
pub use super::cost::Cost;
use super::lower::Lowering;
use super::rules::{Batch, Jvp, Vjp};
use super::{Builder, Cumulative, DotGeneral, Graph, Op, Row};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::exec::vm::native;
use crate::exec::vm::Kernel;
use crate::graph::syntax::Parsed;
use crate::graph::{self, Value};
use crate::kernels::elementwise::Pair;
use crate::kernels::memory::bins::Bins;
use crate::kernels::reductions::fold::Fold;
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, Layout, Literal, View, ViewMut};
use std::fmt;

/// The contract. [`Op`] dereferences to the implementation of its payload.
pub trait OpDef {
    // ---- the catalogue

    /// The op's row.
    fn row(&self) -> &'static Row;

    /// Rows of the family, in the order of the catalogue.
    fn rows() -> Vec<&'static Row>
    where
        Self: Sized;

    /// Rows of a family that the engine alone makes ops of: texts of graphs have their names, the catalogue has not.
    fn inner_rows() -> Vec<&'static Row>
    where
        Self: Sized,
    {
        vec![]
    }

    /// How the operands of a call are promoted before the op of a row of the family sees them.
    fn promotion(_row: &'static Row) -> Promotion
    where
        Self: Sized,
    {
        Promotion::Join
    }

    /// Makes the op of a row of the family from the parameters of a call. The types of the operands are those
    /// after [`promotion`](OpDef::promotion).
    ///
    /// # Errors
    /// [`Error::Arg`] and its like for parameters of another kind than expected or out of range.
    /// [`Error::Internal`] for ops that are not called by name.
    fn decode(row: &'static Row, _attrs: &Attrs, _operands: &[&Aval]) -> Result<Op>
    where
        Self: Sized,
    {
        Err(Error::Internal { detail: format!("`{}` is not called by name", row.name) })
    }

    /// The shape that 0-d operands of a call are repeated to; `None` if they stay as they are. Operands of an
    /// elementwise op meet in [`common_shape`] instead.
    ///
    /// # Errors
    /// Those of [`Shape::try_new`].
    fn repeats_to(&self, _operands: &[&Aval]) -> Result<Option<Shape>> {
        Ok(None)
    }

    /// Whether the result is the first operand itself, so that a call adds nothing to the graph.
    fn is_identity(&self, _operands: &[&Aval]) -> bool {
        false
    }

    // ---- the graph

    /// Types of the results for operands of these types. Result types are decided here and nowhere else.
    ///
    /// # Errors
    /// Errors for dtypes, shapes and axes that the op cannot be applied to.
    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>>;

    /// Static parameters in the order of printing, each as R would print it.
    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![]
    }

    /// The op of the family that a statement of a graph's text names: the inverse of `attributes` and
    /// `regions`.
    ///
    /// # Errors
    /// [`ParseError`](crate::graph::syntax::ParseError) for attributes and regions that are missing or hold
    /// something else. The caller checks that there are no others and that the types are right.
    fn parse(form: &Form) -> Parsed<Self>
    where
        Self: Sized;

    /// Graphs that the op runs, with their role as name.
    fn regions(&self) -> Vec<(&'static str, &Graph)> {
        vec![]
    }

    /// The op as a control op, which decides which of its graphs run and how often. Transformations and
    /// executors handle each of these by itself.
    fn control(&self) -> Option<Control<'_>> {
        None
    }

    // ---- execution

    /// Computes the results from operands of any layout. This is the meaning of the op, which all executors
    /// are held to. Operands and results have the types that `infer` accepted and gave, so nothing can fail.
    fn eval(&self, operands: &[View], results: &mut [ViewMut]);

    /// `eval` specialised to operands of these shapes and layouts: what does not depend on elements is
    /// computed once. `None` if nothing can be computed ahead.
    fn prepare(&self, _operands: &[(&Shape, &Layout)]) -> Option<Ready> {
        None
    }

    /// The layout in which the operand's own buffer holds the result, if there is one: the result is a view
    /// then, and nothing is computed.
    fn as_view(&self, _shape: &Shape, _layout: &Layout, _result: &Aval) -> Option<Layout> {
        None
    }

    /// Bytes that `eval` allocates beside the results, for operands of these types, each dense.
    fn scratch(&self, _operands: &[&Aval]) -> usize {
        0
    }

    /// Whether each element of the result is a function of the operands' elements at the same indices, for
    /// operands of these dtypes. If so, [`kernel`](OpDef::kernel) gives the kernel.
    fn is_elementwise(&self, _from: &[DType]) -> bool {
        false
    }

    /// The kernel of an elementwise op on operands of these dtypes, the same that `eval` runs.
    fn kernel(&self, _from: &[DType]) -> Option<Kernel> {
        None
    }

    /// The kernel that computes tiles of the result from the whole first operand, or the first two, for operands of
    /// these shapes, layouts and dtypes, and from tiles of the others; `None` if there is none.
    fn whole_kernel(&self, _operands: &[(&Shape, Layout)], _from: &[DType]) -> Option<WholeKernel> {
        None
    }

    /// The part of its first operand that it reads or replaces, if that may be a small one.
    fn touched(&self) -> Option<Touched> {
        None
    }

    /// Its sums, for operands of these types, if it adds updates to elements of the first operand, at places that the
    /// second one names, and these are few.
    fn sums(&self, _operands: &[&Aval]) -> Option<Sums> {
        None
    }

    /// Its fold and the axes along which it folds the operand, if it is a reduction.
    fn fold(&self) -> Option<(Fold, &[Axis])> {
        None
    }

    /// The cumulation that it is, if it is one.
    fn cumulation(&self) -> Option<&Cumulative> {
        None
    }

    /// The axes of the product that it is, if it is one.
    fn contraction(&self) -> Option<&DotGeneral> {
        None
    }

    /// Whether its result is its first operand with elements replaced, so that [`update`](OpDef::update) alone
    /// can be run where the operand lies.
    fn updates(&self) -> bool {
        false
    }

    /// Replaces elements of the result, which holds the first operand already, if it [`updates`](OpDef::updates)
    /// it. The other operands, none of which lies there, have any layout. `eval` is a copy and this.
    fn update(&self, _others: &[View], _out: &mut ViewMut) {}

    /// Where an operand lies in its result as it is, if all elements around it, its *frame*, are those of another
    /// operand at the same place, or the one that this has. Operands are of these types; the elements of some
    /// are known.
    fn framed(&self, _operands: &[&Aval], _known: &[Option<Literal>]) -> Option<Framed> {
        None
    }

    /// The axis along which it concatenates its operands, if it does.
    fn joined(&self) -> Option<Axis> {
        None
    }

    /// Its elements, if it is an op without operands that each group can compute itself.
    fn source(&self) -> Option<Source> {
        None
    }

    /// The op of a chain of native code that has its meaning, if there is one.
    fn instruction(&self) -> Option<native::Op> {
        self.row().native
    }

    /// The estimated time per element.
    fn cost(&self) -> Cost {
        Cost::Simple
    }

    // ---- transformations

    /// Gradients of the operands, from those of the results.
    fn vjp(&self) -> Vjp<'_>;

    /// Tangents of the results, from those of the operands. By default from [`vjp`](OpDef::vjp) where that is
    /// zero, else from [`linear`](OpDef::linear).
    fn jvp(&self) -> Jvp<'_> {
        match (self.vjp(), self.linear()) {
            (Vjp::Zero, _) => Jvp::Zero,
            (_, Linear::In([])) => Jvp::Todo("it has no rule for forward mode"),
            (_, Linear::InAll | Linear::In(_) | Linear::InEach(_)) => Jvp::Linear,
        }
    }

    /// The op on operands of which some have one axis more, the batch axis, which comes last.
    fn batch(&self) -> Batch<'_> {
        Batch::Todo("it has no rule for a batch of operands")
    }

    /// The op on operands with one axis more, the first, of this size, which the result has too; operands without
    /// axes stay as they are. `None` if there is no such op, or it would be slow. Elementwise ops are the same.
    fn behind(&self, _size: usize) -> Option<Op> {
        None
    }

    /// What makes its only result with the axes in this order, as fast, of operands of these types; `None` if there is no
    /// such op. Elementwise ops are the same on operands in this order.
    fn ordered(&self, _order: &[Axis], _operands: &[&Aval]) -> Option<Ordered> {
        None
    }

    /// What makes a strip of its only result: `size` elements along this axis, and all along the others, if they are
    /// made of the same strips of operands, by the same operations however many there are. `None` if they are not.
    /// Elementwise ops are the same on strips of all operands.
    fn strip(&self, _axis: Axis, _size: usize, _operands: &[&Aval]) -> Option<Strip> {
        None
    }

    /// The lowering to StableHLO on operands of these types.
    fn lower(&self, operands: &[Aval]) -> Lowering<'_>;

    // ---- properties, for passes

    /// Cheaper values that equal the results, if there are any; `None` for results that are not `read`. The
    /// rule never looks at layouts and never changes a bit.
    ///
    /// # Errors
    /// Those of [`Builder::node`]; one would be a bug of the rule.
    fn simplify(&self, _b: &mut Builder, _operands: &[Value], _read: &[bool]) -> Result<Simplified> {
        Ok(None)
    }

    /// The operands in which it is linear.
    fn linear(&self) -> Linear {
        Linear::In(&[])
    }

    /// Whether all elements of the result are the operand's, each at least once, or come from the op's
    /// parameters. The result is recomputed from the operand at no cost then, and the operand takes no more
    /// memory.
    fn moves_only(&self) -> bool {
        false
    }

    /// Whether each element of the result is one of an operand's, chosen by the parameters alone, of any
    /// dtype.
    fn rearranges(&self) -> bool {
        self.moves_only()
    }

    /// The operands, of so many, that its result consists of, if each element is one of theirs, of any dtype: which one
    /// the parameters say, or the other operands. None if it computes.
    fn consists_of(&self, operands: usize) -> Vec<usize> {
        if self.rearranges() {
            (0..operands).collect()
        } else {
            vec![]
        }
    }

    /// Whether recomputing the result is cheaper than keeping it in memory.
    fn is_cheap(&self) -> bool {
        false
    }

    /// Whether it reads transposed operands in place as fast as dense ones.
    fn reads_transposed(&self) -> bool {
        false
    }

    /// Whether it has a side effect, so that it runs even if no result is read, once for each time that the
    /// program comes to it. It has at least one result, by which it is found. Effects of its regions are not
    /// included, see [`Op::has_effect`].
    fn effect(&self) -> bool {
        false
    }

    /// Whether it may raise an error while it runs (see [`raised`](crate::raised)). Those of its regions are
    /// not included, see [`Op::may_raise`]. What nothing reads is not computed and raises nothing.
    fn raises(&self) -> bool {
        false
    }
}

/// The dtypes that operands of a call are converted to before an op sees them.
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
    /// The join, as complex numbers of parts of at least f32.
    JoinAsComplex,
    /// The dtype of this operand, if the rules join the others with it at all.
    Follow(usize),
    /// Each operand by itself. The last role holds for all further operands. If there are more roles than the
    /// row names operands, the further operands are what a function among the parameters captures.
    Each(&'static [Role]),
}

/// The dtype of one operand of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It keeps its own type.
    Own,
    /// It becomes the known dtype of its type: the op reads the bits of that.
    Known,
    /// It keeps its own type, but booleans count as i32.
    Counted,
    /// It takes the dtype of the first operand, which it becomes a part of.
    Assigned,
    /// It holds positions that count from 1; they become i32 or i64, and count from 0.
    Position,
}

/// The shape in which operands of an elementwise op meet: that of the one with the most axes, to which 0-d
/// and 1-d ones are repeated as R recycles them. `None` if all are 0-d.
///
/// # Errors
/// [`Error::ShapeMismatch`] if one has other axes, or is 1-d and not as long as the first axes.
pub(crate) fn common_shape(function: &str, operands: &[&Aval]) -> Result<Option<Shape>> {
    let rank = operands.iter().map(|x| x.shape.rank()).max().unwrap_or(0);
    let mut longest = operands.iter().enumerate().filter(|(_, x)| x.shape.rank() == rank && rank > 0);
    // Vectors of one element are repeated, too.
    let several = longest.clone().find(|(_, x)| x.shape[..] != [1]);
    let Some((at, _)) = several.or_else(|| longest.next()) else { return Ok(None) };
    let target = &operands[at].shape;
    match operands.iter().position(|x| x.shape != *target && x.shape.repeated_down(target).is_none()) {
        None => Ok(Some(target.clone())),
        Some(other) => {
            let [lhs, rhs] = [at.min(other), at.max(other)].map(|i| operands[i].shape.clone());
            Err(Error::ShapeMismatch { op: function.into(), lhs, rhs })
        }
    }
}

/// Checks the number of operands of a call.
///
/// # Errors
/// [`Error::Arg`]. R's functions have as many formals, so another number comes only from a list in place of
/// an operand.
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

/// The member of a family without parameters that a row belongs to.
pub(super) fn member<T: OpDef + Copy + Into<Op>>(family: &[T], row: &Row) -> Result<Op> {
    let op = family.iter().find(|op| op.row().name == row.name);
    op.map(|&op| op.into())
        .ok_or_else(|| Error::Internal { detail: format!("no row is called `{}`", row.name) })
}

/// The member of a family without parameters that a statement names, on this number of operands.
pub(super) fn named<T: OpDef + Copy>(family: &[T], operands: usize, form: &Form) -> Parsed<T> {
    form.takes(operands)?;
    let op = family.iter().find(|op| op.row().name == form.op);
    op.copied().ok_or_else(|| form.error("the name of an op", format!("`{}`", form.op)))
}

/// What makes a result with its axes in another order.
pub struct Ordered {
    /// The op.
    pub op: Op,
    /// The order of the axes of each operand.
    pub orders: Vec<Vec<Axis>>,
}

/// What makes a strip of a result.
pub struct Strip {
    /// The op.
    pub op: Op,
    /// For each operand, the axis along which it is a strip too; `None` for one that is whole.
    pub axes: Vec<Option<Axis>>,
}

impl Strip {
    /// One of an op whose operands are strips along these axes.
    pub fn new(op: impl Into<Op>, axes: Vec<Option<Axis>>) -> Option<Strip> {
        Some(Strip { op: op.into(), axes })
    }
}

/// An operand that lies in the result as it is, with a frame around it.
pub struct Framed {
    /// The operand.
    pub inside: usize,
    /// The one whose elements are around it.
    pub around: usize,
    /// The index of its first element, along each axis.
    pub start: Vec<usize>,
}

/// Where a node places an operand within its result, if its other operands show it.
pub(crate) fn framed(graph: &Graph, node: &graph::Node<Op>) -> Option<Framed> {
    let known: Vec<Option<Literal>> = node.operands.iter().map(|&v| graph.literal(v)).collect();
    let types: Vec<&Aval> = node.operands.iter().map(|&v| graph.aval(v)).collect();
    node.op.framed(&types, &known)
}

/// What an op touches of its first operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Touched {
    /// It reads as many elements as it makes.
    Read,
    /// It replaces as many elements as the operand of this number has.
    Replaced(usize),
}

/// A kernel that computes tiles of a result from whole operands.
pub struct WholeKernel {
    /// How many of the first operands it reads whole.
    pub whole: usize,
    /// The kernel.
    pub kernel: Box<dyn FnOnce() -> Kernel>,
}

/// Sums of elements at places that are computed with them.
pub struct Sums {
    /// How updates are cut.
    pub bins: Bins,
    /// The sum of two.
    pub by: Pair,
    /// The kernel of a tile's indices and updates, from the element that is in each place before.
    pub kernel: Box<dyn FnOnce(Literal) -> Kernel>,
}

impl fmt::Debug for Sums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bins.fmt(f)
    }
}

/// A value that is computed without operands.
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

/// A function that computes an op's results from its operands.
pub(crate) type Ready = Box<dyn Fn(&[View], &mut [ViewMut]) + Send + Sync>;

/// Cheaper values for the results that are read; `None` if there are none.
pub type Simplified = Option<Vec<Option<Value>>>;

/// A cheaper value for the only result.
pub(super) fn simplified(value: Value) -> Result<Simplified> {
    Ok(Some(vec![Some(value)]))
}

/// The operands in which an op is linear, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linear {
    /// In all operands jointly.
    InAll,
    /// In these jointly, with the others fixed.
    In(&'static [usize]),
    /// In each of these, with all others fixed.
    InEach(&'static [usize]),
}

impl Op {
    /// Whether it, or an op in its regions, has a side effect.
    pub fn has_effect(&self) -> bool {
        let has = |(_, region): &(&str, &Graph)| region.nodes().iter().any(|node| node.op.has_effect());
        self.effect() || self.regions().iter().any(has)
    }

    /// Whether it, or an op in its regions, may raise an error while it runs.
    pub fn may_raise(&self) -> bool {
        let may = |(_, region): &(&str, &Graph)| region.nodes().iter().any(|node| node.op.may_raise());
        self.raises() || self.regions().iter().any(may)
    }

    /// Whether it runs graphs of its own.
    pub fn has_regions(&self) -> bool {
        !self.regions().is_empty()
    }

    /// A function that computes the results for operands of these shapes and layouts.
    pub(crate) fn prepared(&self, operands: &[(&Shape, &Layout)]) -> Ready {
        self.prepare(operands).unwrap_or_else(|| {
            let op = self.clone();
            Box::new(move |operands, results| op.eval(operands, results))
        })
    }

    /// The estimated time of its kernel per element: see [`Cost::picoseconds`].
    pub(crate) fn picoseconds(&self, from: &[DType]) -> usize {
        self.cost().picoseconds(from)
    }

    /// The op of a chain of native code that has its meaning on operands of these dtypes, if there is one.
    pub(crate) fn native(&self, from: &[DType]) -> Option<native::Op> {
        self.instruction().filter(|&instruction| from.last().is_some_and(|&d| native::has(instruction, d)))
    }
}
