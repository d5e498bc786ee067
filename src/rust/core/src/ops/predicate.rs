//! One operand, booleans of the same shape out. The result is known.

use super::attrs::Attrs;
use super::contract::{member, named, simplified, Form, OpDef, Promotion, Role, Simplified};
use super::create::{everywhere, uniform};
use super::lower::{Lower, Lowering, UnaryFormula as Formula, UnaryLower};
use super::rules::{Batch, Vjp};
use super::{Builder, Graph, Op, Row, Ternary};
use crate::dtype::{Bool, DType, ANY};
use crate::error::Result;
use crate::exec::vm::native;
use crate::exec::vm::Kernel;
use crate::graph::syntax::Parsed;
use crate::graph::{Node, Value};
use crate::kernels::elementwise::{self, Map};
use crate::tensor::{Aval, Literal, View, ViewMut};

macro_rules! predicate_ops {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident { generic: $generic:literal, native: $native:ident, lower: $lower:expr, }
    )+) => {
        /// A property of each element.
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Predicate { $($(#[doc = $doc])+ $name),+ }

        impl Predicate {
            /// All of them, in the order of the catalogue.
            pub const ALL: &'static [Predicate] = &[$(Predicate::$name),+];

            /// The op's row.
            pub fn row(self) -> &'static Row {
                match self { $(Predicate::$name => &const { Row {
                    name: stringify!($name), function: concat!("nv_", stringify!($name)), generated: true,
                    doc: &[$($doc),+], operands: &["operand"], accepts: ANY, generic: Some($generic),
                    example: "c(-Inf, NaN, 0, 1)", ulps: 0.0, accuracy: "", native: Some(native::Op::$native),
                } }),+ }
            }

            /// Its lowering to StableHLO.
            pub fn lowering(self) -> UnaryLower {
                match self { $(Predicate::$name => $lower),+ }
            }

            /// Its kernel on elements of a dtype.
            fn map(self, dtype: DType) -> Map<1> {
                match self { $(Predicate::$name => elementwise::Predicate::$name),+ }.map(dtype)
            }
        }
    };
}

predicate_ops! {
    /// Whether each element is finite: neither infinite nor NaN.
    is_finite { generic: "is.finite", native: IsFinite, lower: Lower::On(DType::is_float, "stablehlo.is_finite", Formula::IsFinite), }
    /// Whether each element is infinite, of either sign.
    is_infinite { generic: "is.infinite", native: IsInfinite, lower: Lower::Formula(Formula::IsInfinite), }
    /// Whether each element is NaN (`NA_real_` is one).
    is_nan { generic: "is.nan", native: IsNan, lower: Lower::Formula(Formula::IsNan), }
}

impl OpDef for Predicate {
    fn row(&self) -> &'static Row {
        Predicate::row(*self)
    }

    fn rows() -> Vec<&'static Row> {
        Predicate::ALL.iter().map(|op| op.row()).collect()
    }

    fn decode(row: &'static Row, _attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        member(Predicate::ALL, row)
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::Each(&[Role::Own])
    }

    fn parse(form: &Form) -> Parsed<Predicate> {
        named(Predicate::ALL, 1, form)
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        Ok(vec![Aval::known(DType::I1, operands[0].shape.clone())])
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let (x, out) = (&operands[0], &mut results[0]);
        self.map(x.dtype).apply([x], out)
    }

    fn is_elementwise(&self, _from: &[DType]) -> bool {
        true
    }

    fn kernel(&self, from: &[DType]) -> Option<Kernel> {
        Some(Kernel::map(self.map(from[0])))
    }

    /// What is NaN nowhere: integers, and a choice of a number where something is NaN, and of that elsewhere.
    fn simplify(&self, b: &mut Builder, operands: &[Value], _read: &[bool]) -> Result<Simplified> {
        if *self != Predicate::is_nan || !is_number(b.graph(), operands[0]) {
            return Ok(None);
        }
        let shape = b.graph().aval(operands[0]).shape.clone();
        let never = b.literal(Literal::new(Bool::FALSE), None);
        simplified(everywhere(b, never, shape)?)
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::Zero
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Same
    }

    fn lower(&self, operands: &[Aval]) -> Lowering<'_> {
        self.lowering().property(operands[0].dtype)
    }
}

/// Whether a value is known to be NaN nowhere.
fn is_number(graph: &Graph, x: Value) -> bool {
    let dtype = graph.aval(x).dtype;
    if !dtype.is_float() && !dtype.is_complex() {
        return true;
    }
    let Some(node) = graph.made_by(x) else { return false };
    let (Some(Ternary::Select), &[pred, yes, no]) = (node.op.get::<Ternary>(), &node.operands[..]) else {
        return false;
    };
    let is_filled = uniform(graph, yes).is_some_and(|yes| !yes.get::<f64>().is_nan() && dtype.is_float());
    let is_asked = |node: &Node<Op>| *node.operands == [no] && node.op.get() == Some(&Predicate::is_nan);
    is_filled && graph.made_by(pred).is_some_and(is_asked)
}
