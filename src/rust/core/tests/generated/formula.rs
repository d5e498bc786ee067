//! A value of a graph as the expression that a textbook has: derivatives of rows, for help pages.

use anvil_core::dtype::DType;
use anvil_core::graph::{Def, Value};
use anvil_core::ops::{Binary, Builder, Compare, Graph, Math, Op, Row, Slope, Special, Unary, Var};
use anvil_core::shape::Shape;
use anvil_core::tensor::{Aval, Literal};

/// How tightly an expression holds together: as sum, product, minus, power or something closed.
type Binding = u8;

const SUM: Binding = 1;
const PRODUCT: Binding = 2;
const SIGN: Binding = 3;
const POWER: Binding = 4;
const CLOSED: Binding = 5;

/// The derivatives of an elementwise op with respect to its operands, in the names of these; `None` for those
/// without a rule. Nothing if the op has no slope, or a flat one.
pub fn derivatives(op: &Op) -> Option<Vec<Option<String>>> {
    // Only these have slopes.
    let has_slopes =
        op.get::<Unary>().is_some() || op.get::<Binary>().is_some() || op.get::<Special>().is_some();
    if !has_slopes {
        return None;
    }
    let mut b = Builder::default();
    let count = op.row().operands.len();
    let inputs: Vec<Value> = (0..count).map(|_| b.input(Aval::known(DType::F64, Shape::scalar()))).collect();
    let result = b.node1(op.clone(), &inputs).ok()?;
    let math = Math::new(&mut b);
    let at = |v: &Value| math.var(*v);
    let slopes: Vec<Option<Value>> = match op {
        Op::Unary(unary) => match unary.slope() {
            Slope::By(rule) | Slope::Partly(rule, _) => {
                vec![Some(rule(at(&inputs[0]), at(&result)).value())]
            }
            Slope::Flat | Slope::Todo(_) => return None,
        },
        Op::Binary(binary) => match binary.slope() {
            Slope::By(rule) | Slope::Partly(rule, _) => {
                let both = rule(at(&inputs[0]), at(&inputs[1]), at(&result));
                both.map(|slope| slope.map(Var::value)).to_vec()
            }
            Slope::Flat | Slope::Todo(_) => return None,
        },
        // Quantiles: too long a formula for a page.
        Op::Special(special) if special.row().name.contains("inv") => return None,
        Op::Special(special) => {
            let operands: Vec<Var> = inputs.iter().map(at).collect();
            let slopes = special.slopes()(&operands, at(&result));
            slopes.into_iter().map(|slope| slope.map(Var::value)).collect()
        }
        _ => return None,
    };
    math.finish().expect("rules on numbers do not fail");
    let graph = b.finish(vec![]);
    let names = Names { row: op.row(), inputs, graph: &graph };
    Some(slopes.into_iter().map(|slope| Some(names.text(slope?).0)).collect())
}

/// A graph, and what the operands of an op are called.
struct Names<'a> {
    row: &'static Row,
    inputs: Vec<Value>,
    graph: &'a Graph,
}

impl Names<'_> {
    fn text(&self, value: Value) -> (String, Binding) {
        if let Some(i) = self.inputs.iter().position(|&input| input == value) {
            return (self.row.operands[i].into(), CLOSED);
        }
        let node = match self.graph.def(value) {
            Def::Literal(literal) => return number(literal),
            _ => self.graph.made_by(value).expect("an operand, a number or a result"),
        };
        // The smaller of two numbers is the larger of their negatives.
        let negated = |i: usize| {
            let by =
                self.graph.made_by(*node.operands.get(i)?).filter(|by| by.op == Op::Unary(Unary::negate));
            by.map(|by| self.text(by.operands[0]).0)
        };
        if let (Op::Compare(op), Some(x), Some(y)) = (&node.op, negated(0), negated(1)) {
            return (format!("{x} {} {y}", if *op == Compare::gt { "<" } else { "==" }), SUM);
        }
        let of = |i: usize| self.text(node.operands[i]);
        // In parentheses unless it holds together at least so tightly.
        let within = |i: usize, least: Binding| match of(i) {
            (text, binding) if binding >= least => text,
            (text, _) => format!("({text})"),
        };
        let call = |name: &str| {
            let operands: Vec<String> = (0..node.operands.len()).map(|i| of(i).0).collect();
            (format!("{name}({})", operands.join(", ")), CLOSED)
        };
        let between = |sign: &str, binding: Binding, right: Binding| {
            (format!("{} {sign} {}", within(0, binding), within(1, right)), binding)
        };
        match &node.op {
            Op::Unary(Unary::negate) => (format!("-{}", within(0, SIGN)), SIGN),
            // Methods that have another form too are written by hand.
            Op::Unary(op @ (Unary::log | Unary::trunc)) => call(op.row().name),
            Op::Unary(op) => call(op.row().generic.unwrap_or(op.row().function)),
            Op::Binary(Binary::add) => between("+", SUM, SUM),
            Op::Binary(Binary::sub) => between("-", SUM, PRODUCT),
            Op::Binary(Binary::mul) if node.operands[0] == node.operands[1] => {
                (format!("{}^2", within(0, CLOSED)), POWER)
            }
            Op::Binary(Binary::mul | Binary::mul_no_nan) => between("*", PRODUCT, PRODUCT),
            Op::Binary(Binary::div) => between("/", PRODUCT, SIGN),
            Op::Binary(Binary::pow) => (format!("{}^{}", within(0, CLOSED), within(1, CLOSED)), POWER),
            Op::Binary(op) => call(op.row().function),
            Op::Compare(Compare::eq) => between("==", SUM, SUM),
            Op::Compare(Compare::gt) => between(">", SUM, SUM),
            Op::Special(op) if op.row().function == format!("nv_{}", op.row().name) => {
                call(op.row().function)
            }
            // Ops that have no function of their own.
            Op::Special(op) => call(op.row().name),
            Op::Ternary(_) => call("ifelse"),
            op => panic!("{} in a derivative: say how it reads", op.row().name),
        }
    }
}

/// A number, by its name if it has one.
fn number(literal: Literal) -> (String, Binding) {
    use std::f64::consts::{FRAC_2_SQRT_PI, LN_10, LN_2};
    let x: f64 = literal.get();
    let named = [
        (LN_2, "log(2)", CLOSED),
        (LN_10, "log(10)", CLOSED),
        (FRAC_2_SQRT_PI, "2 / sqrt(pi)", PRODUCT),
        (-FRAC_2_SQRT_PI, "-2 / sqrt(pi)", PRODUCT),
    ];
    match named.iter().find(|(value, ..)| *value == x) {
        Some((_, text, binding)) => (text.to_string(), *binding),
        None => (x.to_string(), if x < 0.0 { SIGN } else { CLOSED }),
    }
}
