//! Three operands of one shape: select and clamp.

use super::attrs::Attrs;
use super::compare::Compare;
use super::contract::{member, named, simplified, Form, Linear, OpDef, Promotion, Simplified};
use super::create::uniform;
use super::lower::{elementwise, op_if, Formula, HloOp, Lowering, Syntax};
use super::rules::{Batch, Jvp, Vjp};
use super::{Builder, Op, Row, Unary};
use crate::dtype::{Bool, DType, ANY, BOOLEAN, ORDERED};
use crate::error::Result;
use crate::exec::vm::native;
use crate::exec::vm::Kernel;
use crate::graph::syntax::Parsed;
use crate::graph::Value;
use crate::kernels::elementwise::{self, Map};
use crate::tensor::{Aval, View, ViewMut};

/// An elementwise op of three operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ternary {
    /// The second operand where the first is true, else the third. Ambiguous if both of these are.
    Select,
    /// The second operand, kept between the first and the third: `min(max(x, lo), hi)`. Ambiguous if it is.
    Clamp,
}

static SELECT: Row = Row {
    native: Some(native::Op::Select),
    ..super::written("select", "nv_ifelse", &["pred", "true_value", "false_value"], ANY)
};
static CLAMP: Row = Row {
    native: Some(native::Op::Clamp),
    ..super::written("clamp", "nv_clamp", &["min_val", "operand", "max_val"], ORDERED)
};

impl Ternary {
    /// All of them, in the order of the catalogue.
    pub const ALL: &'static [Ternary] = &[Ternary::Select, Ternary::Clamp];

    /// The op's row.
    pub fn row(self) -> &'static Row {
        match self {
            Ternary::Select => &SELECT,
            Ternary::Clamp => &CLAMP,
        }
    }

    /// Its kernel on elements of a dtype.
    fn map(self, dtype: DType) -> Map<3> {
        match self {
            Ternary::Select => elementwise::select(dtype),
            Ternary::Clamp => elementwise::clamp(dtype),
        }
    }
}

impl OpDef for Ternary {
    fn row(&self) -> &'static Row {
        Ternary::row(*self)
    }

    fn rows() -> Vec<&'static Row> {
        Ternary::ALL.iter().map(|op| op.row()).collect()
    }

    fn decode(row: &'static Row, _attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        member(Ternary::ALL, row)
    }

    fn promotion(row: &'static Row) -> Promotion {
        // The bounds follow the operand.
        if row.name == CLAMP.name {
            Promotion::Follow(1)
        } else {
            Promotion::JoinAfterCondition
        }
    }

    fn parse(form: &Form) -> Parsed<Ternary> {
        named(Ternary::ALL, 3, form)
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let (x, y, z) = (operands[0], operands[1], operands[2]);
        let row = self.row();
        row.check_same(y, z)?;
        match self {
            Ternary::Select => {
                if x.dtype != DType::I1 {
                    let hint = "A condition is boolean: compare first, such as with `x != 0L`.";
                    return Err(Row { accepts: BOOLEAN, ..SELECT }.unsupported(0, x.ranked().dtype, hint));
                }
                row.check_same(&Aval { shape: x.shape.clone(), ..y.clone() }, y)?;
                Ok(vec![Aval { ambiguous: y.ambiguous_with(z), ..y.clone() }])
            }
            Ternary::Clamp => {
                row.check(1, y)?;
                row.check_same(x, y)?;
                Ok(vec![y.clone()])
            }
        }
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        self.map(results[0].dtype).apply([&operands[0], &operands[1], &operands[2]], &mut results[0])
    }

    fn is_elementwise(&self, _from: &[DType]) -> bool {
        true
    }

    fn kernel(&self, from: &[DType]) -> Option<Kernel> {
        Some(Kernel::map(self.map(from[1])))
    }

    /// A choice whose condition is known, of one value, or by a negated condition.
    fn simplify(&self, b: &mut Builder, operands: &[Value], _read: &[bool]) -> Result<Simplified> {
        let (Ternary::Select, &[pred, yes, no]) = (self, operands) else { return Ok(None) };
        if yes == no {
            return simplified(yes);
        }
        if let Some(known) = uniform(b.graph(), pred) {
            let (taken, other) = if known.get::<Bool>().get() { (yes, no) } else { (no, yes) };
            // It may be ambiguous, and the result not.
            let same = b.graph().aval(taken).ambiguous_with(b.graph().aval(other))
                == b.graph().aval(taken).ambiguous;
            return Ok(same.then(|| vec![Some(taken)]));
        }
        match Unary::not.operand(b.graph(), pred) {
            Some(pred) => simplified(b.node1(Ternary::Select, &[pred, no, yes])?),
            None => Ok(None),
        }
    }

    fn vjp(&self) -> Vjp<'_> {
        match self {
            Ternary::Select => Vjp::by(|at| {
                let (x, g) = (at.x(0), at.g());
                vec![None, Some(x.select(g, g.of(0.0))), Some(x.select(g.of(0.0), g))]
            }),
            // A bound gets the gradient of the elements that it replaces.
            Ternary::Clamp => Vjp::by(|at| {
                let (y, z, out, g) = (at.x(1), at.x(2), at.y(), at.g());
                let inside = y.compare(Compare::eq, out).select(g, g.of(0.0));
                let outside = g - inside;
                let above = out.compare(Compare::eq, z);
                let zero = g.of(0.0);
                vec![Some(above.select(zero, outside)), Some(inside), Some(above.select(outside, zero))]
            }),
        }
    }

    fn jvp(&self) -> Jvp<'_> {
        match self {
            Ternary::Select => Jvp::Linear,
            Ternary::Clamp => Jvp::of_one(|at| {
                let (y, z, out) = (at.x(1), at.x(2), at.y());
                let bound = out.compare(Compare::eq, z).select(at.t(2), at.t(0));
                y.compare(Compare::eq, out).select(at.t(1), bound)
            }),
        }
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Same
    }

    fn lower(&self, operands: &[Aval]) -> Lowering<'_> {
        match self {
            Ternary::Select => {
                Lowering::Op(HloOp { name: "stablehlo.select", syntax: Syntax::FirstAndResult })
            }
            // XLA has no clamp of booleans.
            Ternary::Clamp => {
                let same = operands[1].dtype != DType::I1;
                op_if(same, elementwise("stablehlo.clamp"), Formula::ClampBooleans)
            }
        }
    }

    fn consists_of(&self, _operands: usize) -> Vec<usize> {
        match self {
            Ternary::Select => vec![1, 2],
            Ternary::Clamp => vec![],
        }
    }

    fn linear(&self) -> Linear {
        match self {
            Ternary::Select => Linear::In(&[1, 2]),
            Ternary::Clamp => Linear::In(&[]),
        }
    }
}
