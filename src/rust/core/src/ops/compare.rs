//! Two operands of one shape and dtype, booleans of that shape out. The result is ambiguous if both operands
//! are.

use super::attrs::Attrs;
use super::contract::{member, named, simplified, Form, OpDef, Simplified};
use super::create::{everywhere, uniform};
use super::lower::{HloOp, Lowering, Syntax};
use super::rules::{Batch, Vjp};
use super::{Builder, Convert, Op, Row};
use crate::dtype::{DType, Kind, ANY, ORDERED};
use crate::error::Result;
use crate::exec::vm::native;
use crate::exec::vm::Kernel;
use crate::graph::syntax::Parsed;
use crate::graph::Value;
use crate::kernels::elementwise::{self, Map};
use crate::tensor::{Aval, Literal, View, ViewMut};

macro_rules! compare_ops {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident { accepts: $accepts:expr, generic: $generic:literal, hlo: $hlo:literal, native: $native:ident, }
    )+) => {
        /// An elementwise comparison.
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Compare { $($(#[doc = $doc])+ $name),+ }

        impl Compare {
            /// All of them, in the order of the catalogue.
            pub const ALL: &'static [Compare] = &[$(Compare::$name),+];

            /// The op's row.
            pub fn row(self) -> &'static Row {
                match self { $(Compare::$name => &const { Row {
                    name: stringify!($name), function: concat!("nv_", stringify!($name)), generated: true,
                    doc: &[$($doc),+], operands: &["lhs", "rhs"], accepts: $accepts, generic: Some($generic),
                    example: "c(1, 2, 3), c(3, 2, 1)", ulps: 0.0, accuracy: "",
                    native: Some(native::Op::$native),
                } }),+ }
            }

            /// The direction of StableHLO's comparison.
            pub fn direction(self) -> &'static str {
                match self { $(Compare::$name => $hlo),+ }
            }

            /// Its kernel on elements of a dtype.
            fn map(self, dtype: DType) -> Map<2> {
                match self { $(Compare::$name => elementwise::Compare::$name),+ }.map(dtype)
            }
        }
    };
}

compare_ops! {
    /// Whether elements are equal.
    ///
    /// NaN equals nothing; -0 equals 0.
    eq { accepts: ANY, generic: "==", hlo: "EQ", native: Eq, }
    /// Whether elements differ.
    ///
    /// NaN differs from everything.
    ne { accepts: ANY, generic: "!=", hlo: "NE", native: Ne, }
    /// Whether elements of the first operand are greater.
    ///
    /// FALSE if either is NaN; FALSE is less than TRUE.
    gt { accepts: ORDERED, generic: ">", hlo: "GT", native: Gt, }
    /// Whether elements of the first operand are greater or equal.
    ///
    /// FALSE if either is NaN; FALSE is less than TRUE.
    ge { accepts: ORDERED, generic: ">=", hlo: "GE", native: Ge, }
    /// Whether elements of the first operand are less.
    ///
    /// FALSE if either is NaN; FALSE is less than TRUE.
    lt { accepts: ORDERED, generic: "<", hlo: "LT", native: Lt, }
    /// Whether elements of the first operand are less or equal.
    ///
    /// FALSE if either is NaN; FALSE is less than TRUE.
    le { accepts: ORDERED, generic: "<=", hlo: "LE", native: Le, }
}

impl OpDef for Compare {
    fn row(&self) -> &'static Row {
        Compare::row(*self)
    }

    fn rows() -> Vec<&'static Row> {
        Compare::ALL.iter().map(|op| op.row()).collect()
    }

    fn decode(row: &'static Row, _attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        member(Compare::ALL, row)
    }

    fn parse(form: &Form) -> Parsed<Compare> {
        named(Compare::ALL, 2, form)
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let (x, y) = (operands[0], operands[1]);
        self.row().check(0, x)?;
        self.row().check_same(x, y)?;
        Ok(vec![Aval {
            dtype: DType::I1,
            ambiguous: x.ambiguous_with(y).map(|_| DType::I1),
            shape: x.shape.clone(),
        }])
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let ([x, y], out) = ([&operands[0], &operands[1]], &mut results[0]);
        self.map(x.dtype).apply([x, y], out)
    }

    fn is_elementwise(&self, _from: &[DType]) -> bool {
        true
    }

    fn kernel(&self, from: &[DType]) -> Option<Kernel> {
        Some(Kernel::map(self.map(from[0])))
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::Zero
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Same
    }

    fn lower(&self, operands: &[Aval]) -> Lowering<'_> {
        let kind = match operands[0].dtype.kind() {
            Kind::Integer => "SIGNED",
            Kind::Unsigned | Kind::Boolean => "UNSIGNED",
            Kind::Float | Kind::Complex => "FLOAT",
        };
        Lowering::Op(HloOp { name: "stablehlo.compare", syntax: Syntax::Compare(self.direction(), kind) })
    }
    /// A converted integer and a number are compared as integers where that is exact: `x > 2.5` of an i32
    /// holds where `x > 2` does, and reads half of the bytes.
    fn simplify(&self, b: &mut Builder, operands: &[Value], _read: &[bool]) -> Result<Simplified> {
        for (op, [x, number]) in [(*self, [0, 1]), (self.swapped(), [1, 0])] {
            let Some((x, literal)) = op.of_integers(b, operands[x], operands[number]) else { continue };
            let shape = b.graph().aval(x).shape.clone();
            let scalar = b.literal(literal, None);
            let number = everywhere(b, scalar, shape)?;
            let made = b.node1(op, &[x, number])?;
            let avals: Vec<&Aval> = operands.iter().map(|&v| b.graph().aval(v)).collect();
            let to = self.infer(&avals)?.remove(0).ranked();
            let same = b.graph().aval(made).ranked() == to;
            return simplified(if same { made } else { b.node1(Convert { to }, &[made])? });
        }
        Ok(None)
    }
}

impl Compare {
    /// The comparison with the operands in the other order.
    fn swapped(self) -> Compare {
        match self {
            Compare::eq | Compare::ne => self,
            Compare::gt => Compare::lt,
            Compare::ge => Compare::le,
            Compare::lt => Compare::gt,
            Compare::le => Compare::ge,
        }
    }

    /// The integer `y` before its conversion to `x` and the integer that it is to be compared with instead of
    /// `number`, if all values of its dtype are exact as floats.
    fn of_integers(self, b: &Builder, x: Value, number: Value) -> Option<(Value, Literal)> {
        let graph = b.graph();
        let node = graph.made_by(x).filter(|node| node.op.get::<Convert>().is_some())?;
        let from = graph.aval(node.operands[0]).dtype;
        let exact = match graph.aval(x).dtype {
            DType::F64 => from.bits() <= 32,
            DType::F32 => from.bits() <= 16,
            _ => false,
        };
        if !exact || !matches!(from.kind(), Kind::Integer | Kind::Unsigned) {
            return None;
        }
        let number: f64 = uniform(graph, number)?.get();
        let whole = match self {
            _ if number.fract() == 0.0 => number,
            Compare::gt | Compare::le => number.floor(),
            Compare::ge | Compare::lt => number.ceil(),
            Compare::eq | Compare::ne => return None,
        };
        // Outside of the dtype's range, also for infinities and NaN, the literal is another number.
        let literal = Literal::new(whole).convert(from);
        (literal.get::<f64>() == whole).then_some((node.operands[0], literal))
    }
}
