//! The catalogue: every op, defined once. One row per op, one file per family.
//!
//! An op is a member of [`Op`] with its static parameters as payload. A family's file holds, in this order,
//! the payload, the rows, `infer` (the result type), `eval` (the reference meaning). What an op means never
//! depends on layout.

pub mod attrs;
pub mod binary;
pub mod compare;
pub mod complex;
pub mod control;
pub mod convert;
pub mod create;
pub mod derive;
mod derive_slices;
pub mod dot;
pub mod gather;
pub mod layout;
pub mod predicate;
pub mod print;
pub mod random;
pub mod reduce;
pub mod slice;
pub mod spell;
mod spell_coefficients;
mod spell_complex;
mod spell_control;
mod spell_floats;
mod spell_parts;
mod spell_random;
pub mod ternary;
mod tiles;
pub mod unary;
pub mod update;

use crate::dtype::{Class, DType};
use crate::error::{Error, Result};
use crate::exec::vm::native;
use crate::graph::{self, Operation};
use crate::shape::Shape;
use crate::tensor::{Aval, Layout, View, ViewMut};

pub use binary::Binary;
pub use compare::Compare;
pub use complex::{MakeComplex, Part};
pub use control::{Custom, If, Region, Scan, While};
pub use convert::{BitcastConvert, Convert};
pub use create::{Fill, Iota};
pub use derive::{Math, Slope, Var};
pub use dot::DotGeneral;
pub(crate) use dot::{ByBlocks, ByVector};
pub use gather::{Gather, Scatter, Windows};
pub use layout::{BroadcastInDim, Concatenate, Reshape, Transpose};
pub use predicate::Predicate;
pub use print::Print;
pub use random::RngBits;
pub use reduce::Reduction;
pub use slice::{DynamicSlice, DynamicUpdateSlice, Pad, Reverse, StaticSlice};
pub use spell::{Spelled, Spelling, Spelling1, Spelling2};
pub use ternary::Ternary;
pub use unary::Unary;
pub use update::Update;

/// A graph of these ops.
pub type Graph = graph::Graph<Op>;
/// A graph of these ops under construction.
pub type Builder = graph::Builder<Op>;

/// An operation with its static parameters.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// One operand, same type out.
    Unary(Unary),
    /// One operand, booleans out.
    Predicate(Predicate),
    /// Two operands of one type, same type out.
    Binary(Binary),
    /// Two operands of one type, booleans out.
    Compare(Compare),
    /// A real number that belongs to a complex one.
    Part(Part),
    /// A complex number from two real ones.
    Complex(MakeComplex),
    /// Three operands: select and clamp.
    Ternary(Ternary),
    /// Another dtype, same value as far as it goes.
    Convert(Convert),
    /// Another dtype, same bits.
    BitcastConvert(BitcastConvert),
    /// Many elements into one.
    Reduction(Reduction),
    /// Other sizes, same elements.
    Reshape(Reshape),
    /// Dimensions in another order.
    Transpose(Transpose),
    /// Elements repeated along new or unit dimensions.
    BroadcastInDim(BroadcastInDim),
    /// Values side by side.
    Concatenate(Concatenate),
    /// A part at positions known while tracing.
    StaticSlice(StaticSlice),
    /// Dimensions backwards.
    Reverse(Reverse),
    /// A part at positions that are operands.
    DynamicSlice(DynamicSlice),
    /// A part replaced, at positions that are operands.
    DynamicUpdateSlice(DynamicUpdateSlice),
    /// A value around and between elements.
    Pad(Pad),
    /// Many parts at positions that are an operand.
    Gather(Gather),
    /// Many parts updated, at positions that are an operand.
    Scatter(Scatter),
    /// Sums of products over shared dimensions.
    DotGeneral(DotGeneral),
    /// One value everywhere.
    Fill(Fill),
    /// Counting along a dimension.
    Iota(Iota),
    /// One of two graphs.
    If(If),
    /// A graph repeated while a condition holds.
    While(While),
    /// A graph repeated along a dimension.
    Scan(Scan),
    /// Random bits.
    RngBits(RngBits),
    /// A graph with a derivative of the user's.
    Custom(Custom),
    /// The value itself, shown when it is computed.
    Print(Print),
}

/// What every op says about itself, whatever its family.
#[derive(Debug)]
pub struct Row {
    /// The op's one name: in graphs, in errors, in tests.
    pub name: &'static str,
    /// Name of the R function.
    pub function: &'static str,
    /// Whether that function is generated from this row (elementwise ops) or written by hand and checked
    /// against it.
    pub generated: bool,
    /// Lines of documentation, in roxygen's markdown: a title, then details.
    pub doc: &'static [&'static str],
    /// Names of the operands, which are the first formals of the R function.
    pub operands: &'static [&'static str],
    /// Dtypes of the operands that it computes on.
    pub accepts: Class,
    /// The R generic or operator that it answers to.
    pub generic: Option<&'static str>,
    /// Arguments of the example on the help page.
    pub example: &'static str,
    /// Largest distance of float results from the exact ones, in units in the last place (of a 16-bit float
    /// before its rounding from f32). 0 if they are correctly rounded, or the op is no function of floats.
    pub ulps: f64,
    /// What it is as a step of native code, on the dtypes that there are steps for ([`native::has`]).
    pub native: Option<native::Op>,
}

/// Rows of ops whose R function is written by hand.
pub(crate) const fn written(
    name: &'static str,
    function: &'static str,
    operands: &'static [&'static str],
    accepts: Class,
) -> Row {
    Row {
        name,
        function,
        generated: false,
        doc: &[],
        operands,
        accepts,
        generic: None,
        example: "",
        ulps: 0.0,
        native: None,
    }
}

/// The catalogue, family by family.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    let elementwise = Unary::ALL.iter().map(|op| op.row()).chain(Predicate::ALL.iter().map(|op| op.row()));
    let elementwise = elementwise.chain(Part::ALL.iter().map(|op| op.row())).chain([&complex::COMPLEX_OP]);
    let elementwise = elementwise.chain(Binary::ALL.iter().map(|op| op.row()));
    let elementwise = elementwise.chain(Compare::ALL.iter().map(|op| op.row()));
    let control = [&control::IF, &control::WHILE, &control::SCAN, &control::CUSTOM];
    let structured =
        [&convert::CONVERT, &convert::BITCAST_CONVERT, &create::FILL, &create::IOTA, &dot::DOT_GENERAL];
    let layout = [&layout::RESHAPE, &layout::TRANSPOSE, &layout::BROADCAST_IN_DIM, &layout::CONCATENATE];
    let slices = [
        &slice::STATIC_SLICE,
        &slice::REVERSE,
        &slice::DYNAMIC_SLICE,
        &slice::DYNAMIC_UPDATE_SLICE,
        &slice::PAD,
    ];
    let layout = layout.into_iter().chain(slices).chain([&gather::GATHER, &gather::SCATTER]);
    let rest = structured.into_iter().chain(layout).chain(control).chain([&random::RNG_BITS, &print::PRINT]);
    elementwise.chain(Ternary::ALL.iter().map(|op| op.row())).chain(reduce::ROWS.iter()).chain(rest)
}

/// What computes an op's results from its operands.
pub(crate) type Ready = Box<dyn Fn(&[View], &mut [ViewMut])>;

impl Op {
    /// The op's row.
    pub fn row(&self) -> &'static Row {
        match self {
            Op::Unary(op) => op.row(),
            Op::Predicate(op) => op.row(),
            Op::Binary(op) => op.row(),
            Op::Compare(op) => op.row(),
            Op::Part(op) => op.row(),
            Op::Complex(_) => &complex::COMPLEX_OP,
            Op::Ternary(op) => op.row(),
            Op::Convert(_) => &convert::CONVERT,
            Op::BitcastConvert(_) => &convert::BITCAST_CONVERT,
            Op::Reduction(op) => op.row(),
            Op::Reshape(_) => &layout::RESHAPE,
            Op::Transpose(_) => &layout::TRANSPOSE,
            Op::BroadcastInDim(_) => &layout::BROADCAST_IN_DIM,
            Op::Concatenate(_) => &layout::CONCATENATE,
            Op::StaticSlice(_) => &slice::STATIC_SLICE,
            Op::Reverse(_) => &slice::REVERSE,
            Op::DynamicSlice(_) => &slice::DYNAMIC_SLICE,
            Op::DynamicUpdateSlice(_) => &slice::DYNAMIC_UPDATE_SLICE,
            Op::Pad(_) => &slice::PAD,
            Op::Gather(_) => &gather::GATHER,
            Op::Scatter(_) => &gather::SCATTER,
            Op::DotGeneral(_) => &dot::DOT_GENERAL,
            Op::Fill(_) => &create::FILL,
            Op::Iota(_) => &create::IOTA,
            Op::If(_) => &control::IF,
            Op::While(_) => &control::WHILE,
            Op::Scan(_) => &control::SCAN,
            Op::Custom(_) => &control::CUSTOM,
            Op::Print(_) => &print::PRINT,
            Op::RngBits(_) => &random::RNG_BITS,
        }
    }

    /// Whether it does more than compute its results, so that it must run though nobody reads them.
    pub fn has_effect(&self) -> bool {
        let prints = |(_, region): &(&str, &Graph)| region.nodes().iter().any(|node| node.op.has_effect());
        matches!(self, Op::Print(_)) || self.regions().iter().any(prints)
    }

    /// Whether it runs graphs of its own.
    pub fn has_regions(&self) -> bool {
        !self.regions().is_empty()
    }

    /// Computes the results: the reference meaning of the op, on operands of any layout. Operands and results
    /// have the types that `infer` accepted and gave, so nothing can fail.
    pub fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let out = &mut results[0];
        match self {
            Op::Unary(op) => op.eval(&operands[0], out),
            Op::Predicate(op) => op.eval(&operands[0], out),
            Op::Binary(op) => op.eval(&operands[0], &operands[1], out),
            Op::Compare(op) => op.eval(&operands[0], &operands[1], out),
            Op::Part(op) => op.eval(&operands[0], out),
            Op::Complex(op) => op.eval(&operands[0], &operands[1], out),
            Op::Ternary(op) => op.eval([&operands[0], &operands[1], &operands[2]], out),
            Op::Convert(op) => op.eval(&operands[0], out),
            Op::BitcastConvert(op) => op.eval(&operands[0], out),
            Op::Reduction(op) => op.eval(&operands[0], out),
            Op::Reshape(op) => op.eval(&operands[0], out),
            Op::Transpose(op) => op.eval(&operands[0], out),
            Op::BroadcastInDim(op) => op.eval(&operands[0], out),
            Op::Concatenate(op) => op.eval(operands, out),
            Op::StaticSlice(op) => op.eval(&operands[0], out),
            Op::Reverse(op) => op.eval(&operands[0], out),
            Op::DynamicSlice(op) => op.eval(operands, out),
            Op::DynamicUpdateSlice(op) => op.eval(operands, out),
            Op::Pad(op) => op.eval(&operands[0], &operands[1], out),
            Op::Gather(op) => op.eval(&operands[0], &operands[1], out),
            Op::Scatter(op) => op.eval([&operands[0], &operands[1], &operands[2]], out),
            Op::DotGeneral(op) => {
                let product = op.product([0, 1].map(|i| (operands[i].shape, operands[i].layout)));
                product.eval(&operands[0], &operands[1], out);
            }
            Op::Fill(op) => op.eval(out),
            Op::Iota(op) => op.eval(out),
            Op::If(_) | Op::While(_) | Op::Scan(_) | Op::Custom(_) => unreachable!("executors run regions"),
            Op::RngBits(op) => op.eval(&op.draw(), &operands[0], results),
            Op::Print(op) => op.eval(&operands[0], out),
        }
    }

    /// As [`eval`](Op::eval), for operands that always have these shapes and layouts: what does not depend on
    /// their elements is found once.
    pub(crate) fn prepared(&self, operands: &[(&Shape, &Layout)]) -> Ready {
        match self {
            Op::DotGeneral(op) => {
                let product = op.product([operands[0], operands[1]]);
                Box::new(move |operands, results| product.eval(&operands[0], &operands[1], &mut results[0]))
            }
            Op::RngBits(op) => {
                let (op, draw) = (op.clone(), op.draw());
                Box::new(move |operands, results| op.eval(&draw, &operands[0], results))
            }
            op => {
                let op = op.clone();
                Box::new(move |operands, results| op.eval(operands, results))
            }
        }
    }

    /// Whether its results change with its operands by jumps alone, or are taken for constants: then all
    /// gradients are 0.
    pub fn is_flat(&self) -> bool {
        match self {
            Op::Unary(op) => matches!(op.slope(), Slope::Flat),
            Op::Binary(op) => matches!(op.slope(), Slope::Flat),
            Op::Predicate(_)
            | Op::Compare(_)
            | Op::BitcastConvert(_)
            | Op::Fill(_)
            | Op::Iota(_)
            | Op::RngBits(_) => true,
            _ => false,
        }
    }

    /// Gradients of the operands, for those of the results; `None` is 0. Only operands that are `wanted`
    /// count.
    ///
    /// # Errors
    /// [`Error::NoGradient`] if there is none.
    pub fn pull<'m, 'b>(
        &self,
        operands: &[Var<'m, 'b>],
        results: &[Var<'m, 'b>],
        gradients: &[Option<Var<'m, 'b>>],
        wanted: &[bool],
    ) -> Result<Vec<Option<Var<'m, 'b>>>> {
        if self.has_regions() && !matches!(self, Op::Scatter(_)) {
            // `autodiff` sees to those that it can derive.
            let why = "how often the body runs is not known in advance; use `nv_for()` or `nv_scan()`".into();
            return Err(Error::NoGradient { op: self.row().function.into(), why });
        }
        let (x, y, Some(g)) = (operands, results[0], gradients[0]) else {
            return Ok(vec![None; operands.len()]);
        };
        Ok(match self {
            Op::Unary(op) => vec![op.pull(x[0], y, g)?],
            Op::Binary(op) => op.pull([x[0], x[1]], y, g, wanted)?,
            Op::Ternary(op) => op.pull([x[0], x[1], x[2]], y, g),
            Op::Part(op) => vec![Some(op.pull(x[0], y, g))],
            Op::Complex(op) => op.pull(g),
            Op::Convert(op) => vec![Some(op.pull(x[0], g))],
            Op::Reduction(op) => vec![op.pull(x[0], y, g)],
            Op::Reshape(op) => vec![Some(op.pull(x[0], g))],
            Op::Transpose(op) => vec![Some(op.pull(g))],
            Op::BroadcastInDim(op) => vec![Some(op.pull(x[0], g))],
            Op::DotGeneral(op) => (0..2).map(|i| wanted[i].then(|| op.pull(i, [x[0], x[1]], g))).collect(),
            Op::Concatenate(op) => op.pull(x, g),
            Op::StaticSlice(op) => vec![Some(op.pull(x[0], g))],
            Op::Reverse(op) => vec![Some(op.pull(g))],
            Op::Print(_) => vec![Some(g)],
            Op::DynamicSlice(op) => op.pull(x, g),
            Op::DynamicUpdateSlice(op) => op.pull(x, g),
            Op::Pad(op) => op.pull(x, g),
            Op::Gather(op) => op.pull(x, g),
            Op::Scatter(op) => op.pull(x, y, g)?,
            _ => vec![None; x.len()],
        })
    }

    /// The layout under which the operand's own buffer is the result, if there is one: then nothing need be
    /// computed.
    pub fn as_view(&self, shape: &Shape, layout: &Layout, result: &Aval) -> Option<Layout> {
        match self {
            Op::Reshape(op) => op.as_view(shape, layout, &result.shape),
            Op::Transpose(op) => Some(op.as_view(layout)),
            Op::BroadcastInDim(op) => Some(op.as_view(shape, layout, &result.shape)),
            Op::StaticSlice(op) => Some(op.as_view(layout, &result.shape)),
            Op::Reverse(op) => Some(op.as_view(shape, layout)),
            _ => None,
        }
    }
}

impl Operation for Op {
    fn name(&self) -> &'static str {
        self.row().name
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let one = match self {
            Op::Unary(op) => op.infer(operands[0]),
            Op::Predicate(op) => op.infer(operands[0]),
            Op::Binary(op) => op.infer(operands[0], operands[1]),
            Op::Compare(op) => op.infer(operands[0], operands[1]),
            Op::Part(op) => op.infer(operands[0]),
            Op::Complex(op) => op.infer(operands[0], operands[1]),
            Op::Ternary(op) => op.infer([operands[0], operands[1], operands[2]]),
            Op::Convert(op) => op.infer(operands[0]),
            Op::BitcastConvert(op) => op.infer(operands[0]),
            Op::Reduction(op) => op.infer(operands[0]),
            Op::Reshape(op) => op.infer(operands[0]),
            Op::Transpose(op) => op.infer(operands[0]),
            Op::BroadcastInDim(op) => op.infer(operands[0]),
            Op::Concatenate(op) => op.infer(operands),
            Op::StaticSlice(op) => op.infer(operands[0]),
            Op::Reverse(op) => op.infer(operands[0]),
            Op::DynamicSlice(op) => op.infer(operands),
            Op::DynamicUpdateSlice(op) => op.infer(operands),
            Op::Pad(op) => op.infer(operands[0], operands[1]),
            Op::Gather(op) => op.infer(operands[0], operands[1]),
            Op::Scatter(op) => op.infer(operands),
            Op::DotGeneral(op) => op.infer(operands[0], operands[1]),
            Op::Fill(op) => op.infer(),
            Op::Iota(op) => op.infer(),
            Op::If(op) => return op.infer(operands),
            Op::While(op) => return op.infer(operands),
            Op::Scan(op) => return op.infer(operands),
            Op::Custom(op) => return op.infer(operands),
            Op::Print(_) => Ok(operands[0].clone()),
            Op::RngBits(op) => return op.infer(operands[0]),
        };
        Ok(vec![one?])
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        match self {
            Op::Unary(_) | Op::Predicate(_) | Op::Binary(_) | Op::Compare(_) | Op::Ternary(_) => vec![],
            Op::Part(_) | Op::Complex(_) => vec![],
            Op::Convert(op) => op.attributes(),
            Op::BitcastConvert(op) => op.attributes(),
            Op::Reduction(op) => op.attributes(),
            Op::Reshape(op) => op.attributes(),
            Op::Transpose(op) => op.attributes(),
            Op::BroadcastInDim(op) => op.attributes(),
            Op::Concatenate(op) => op.attributes(),
            Op::StaticSlice(op) => op.attributes(),
            Op::Reverse(op) => op.attributes(),
            Op::DynamicSlice(op) => op.attributes(),
            Op::DynamicUpdateSlice(_) => vec![],
            Op::Pad(op) => op.attributes(),
            Op::Gather(op) => op.attributes(),
            Op::Scatter(op) => op.attributes(),
            Op::DotGeneral(op) => op.attributes(),
            Op::Fill(op) => op.attributes(),
            Op::Iota(op) => op.attributes(),
            Op::If(_) | Op::While(_) | Op::Custom(_) => vec![],
            Op::Scan(op) => op.attributes(),
            Op::Print(op) => op.attributes(),
            Op::RngBits(op) => op.attributes(),
        }
    }

    fn regions(&self) -> Vec<(&'static str, &Graph)> {
        match self {
            Op::If(op) => vec![("true", &op.branches[0]), ("false", &op.branches[1])],
            Op::While(op) => vec![("cond", &op.cond), ("body", &op.body)],
            Op::Scan(op) => vec![("body", &op.body)],
            Op::Custom(op) => vec![("call", &op.call), ("forward", &op.forward), ("backward", &op.backward)],
            Op::Scatter(op) => op.region().map(|region| ("update", &**region)).into_iter().collect(),
            _ => vec![],
        }
    }
}

impl Row {
    /// Checks that operand number `i` has a dtype that the op computes on.
    pub(crate) fn check(&self, i: usize, aval: &Aval) -> Result<()> {
        if self.accepts.contains(aval.dtype) {
            return Ok(());
        }
        Err(self.unsupported(i, aval.dtype, ""))
    }

    /// The error for an operand of another dtype than the op computes on.
    pub(crate) fn unsupported(&self, i: usize, got: DType, hint: &str) -> Error {
        let hint = match (hint, got) {
            ("", d) if d.is_complex() && !self.accepts.contains(DType::F32) => {
                "Compare first, such as with `x != 0`."
            }
            ("", d) if d.is_complex() => "Take `nv_real()`, `nv_imag()` or `nv_abs()` first.",
            ("", DType::I1) => "Convert it first, such as with `nv_convert(x, \"i32\")`.",
            ("", _) => "Convert it first with `nv_convert()`.",
            (hint, _) => hint,
        };
        Error::UnsupportedDtype {
            op: self.function.into(),
            operand: self.operands[i.min(self.operands.len() - 1)].into(),
            accepts: self.accepts.name.into(),
            got,
            hint: hint.into(),
        }
    }

    /// Checks that two operands have one dtype and one shape.
    pub(crate) fn check_same(&self, lhs: &Aval, rhs: &Aval) -> Result<()> {
        if lhs.dtype != rhs.dtype {
            return Err(Error::DtypeMismatch { op: self.function.into(), lhs: lhs.dtype, rhs: rhs.dtype });
        }
        if lhs.shape != rhs.shape {
            let (lhs, rhs) = (lhs.shape.clone(), rhs.shape.clone());
            return Err(Error::ShapeMismatch { op: self.function.into(), lhs, rhs });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique() {
        let names: Vec<_> = rows().map(|row| row.name).collect();
        assert_eq!(names.len(), names.iter().collect::<HashSet<_>>().len());
        assert!(names.len() > 70, "{}", names.len());
    }

    #[test]
    fn every_generated_function_is_documented_and_named_after_its_op() {
        for row in rows().filter(|row| row.generated) {
            assert_eq!(row.function, format!("nv_{}", row.name));
            assert!(!row.doc.is_empty() && !row.example.is_empty(), "{}", row.name);
        }
    }
}
