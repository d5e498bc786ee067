//! Formulas that lose digits become the functions that do not: a table of rules ([`RULES`]), each with the
//! reason why the bound of its error is no larger. Other than passes they change bits, so whoever traces a
//! program asks for them, and the user can turn them off; calls that are not traced are never rewritten.
//!
//! Not in the table: `log(sum(exp(x)))`. Less the largest, nothing overflows, but where the result is next to
//! 0 the error is that of the largest, which may be more than what the plain formula has.

use super::{live_nodes_by, reads};
use crate::error::Result;
use crate::graph::{Def, Value};
use crate::growth::table;
use crate::ops::create::uniform;
use crate::ops::{Binary, Builder, Graph, Op, Unary};
use crate::tensor::Literal;

/// When a program is rewritten.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Before derivatives are taken, which are then those of the functions.
    Traced,
    /// As it is compiled: the derivatives in it are those of the formulas.
    Compiled,
}

/// A formula and the function that takes its place.
struct Rule {
    function: Unary,
    /// Whether the derivative of the function is at least as accurate as that of the formula. That of the
    /// logistic function, `y (1 - y)`, and that of `expm1`, `y + 1`, cancel far out, where those of the
    /// formulas do not.
    derives: bool,
    /// The argument of the function, if a node that does this is such a formula.
    argument: fn(&Program, &Op, &[Value]) -> Option<Value>,
}

/// The rules. `u` is half a unit in the last place of 1.
const RULES: &[Rule] = &[
    // `log(1 + e^x)` and `log1p(e^x)`: the sum rounds off `e^x` below `u`, and `e^x` overflows where the
    // result is `x`. The function has no error above 2 ulps; the formulas have one of more where `x` is near
    // 0, Inf in place of large numbers, and the first one 0 in place of small ones.
    Rule {
        function: Unary::softplus,
        derives: true,
        argument: |program, op, x| match op.get::<Unary>()? {
            Unary::log => Unary::exp.operand(program.graph, program.beside_one(x[0])?),
            Unary::log1p => Unary::exp.operand(program.graph, x[0]),
            _ => None,
        },
    },
    // `log(1 + x)`: the sum is off by up to `u (1 + x)`, and the logarithm by `u`, which is all of it where
    // `x` is small. The function is off by 1 ulp everywhere.
    Rule {
        function: Unary::log1p,
        derives: false,
        argument: |program, op, x| match op.get::<Unary>()? {
            Unary::log => program.beside_one(x[0]),
            _ => None,
        },
    },
    // `e^x - 1`: the exponential is off by up to 1 ulp, which the difference keeps: all of it where `x` is
    // small. The function is off by 1.1 ulps everywhere, and the same where `e^x` overflows.
    Rule {
        function: Unary::expm1,
        derives: false,
        argument: |program, op, x| match op.get::<Binary>()? {
            Binary::sub if program.is_one(x[1]) => Unary::exp.operand(program.graph, program.once(x[0])?),
            _ => None,
        },
    },
    // `1 / (1 + e^-x)` and `e^x / (1 + e^x)`: exponential, sum and quotient round, by 1, 1/2 and 1/2 ulps or
    // more. The function has no error above 2 ulps, and is right where the exponential overflows: there
    // the first formula is 0, and the second NaN.
    Rule {
        function: Unary::logistic,
        derives: false,
        argument: |program, op, x| match op.get::<Binary>()? {
            Binary::div => {
                let power = program.beside_one(x[1])?;
                let exponent = Unary::exp.operand(program.graph, power)?;
                if program.is_one(x[0]) {
                    Unary::negate.operand(program.graph, exponent)
                } else {
                    Some(exponent).filter(|_| power == x[0])
                }
            }
            _ => None,
        },
    },
];

/// A graph, and how often each value is read.
struct Program<'a> {
    graph: &'a Graph,
    reads: Vec<usize>,
}

impl Program<'_> {
    /// The value, if nothing else reads it: another reader would have it computed beside the function.
    fn once(&self, value: Value) -> Option<Value> {
        (self.reads[value.index()] == 1).then_some(value)
    }

    /// Whether all elements are 1.
    fn is_one(&self, value: Value) -> bool {
        let dtype = self.graph.aval(value).dtype;
        uniform(self.graph, value) == Some(Literal::new(1i32).convert(dtype))
    }

    /// The other operand of a sum with 1 that nothing else reads.
    fn beside_one(&self, value: Value) -> Option<Value> {
        let node = self.graph.made_by(self.once(value)?)?;
        node.op.get::<Binary>().filter(|&&op| op == Binary::add)?;
        match node.operands[..] {
            [x, y] if self.is_one(x) => Some(y),
            [x, y] if self.is_one(y) => Some(x),
            _ => None,
        }
    }
}

/// The graph with functions in place of formulas, and without what nothing reads then; `None` if it has none.
/// Graphs within nodes, those of branches and loops, are traced, and rewritten, by themselves.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub fn accurate(graph: &Graph, stage: Stage) -> Result<Option<Graph>> {
    let program = Program { graph, reads: reads(graph) };
    let found: Vec<Option<(Unary, Value)>> = graph
        .nodes()
        .iter()
        .map(|node| {
            let aval = graph.aval(*node.results.first()?);
            let rules = RULES.iter().filter(|rule| rule.derives || stage == Stage::Compiled);
            let mut found = rules.filter(|_| aval.dtype.is_float()).filter_map(|rule| {
                let argument = (rule.argument)(&program, &node.op, &node.operands)?;
                // Of another type the function's result would be another one too.
                (graph.aval(argument) == aval).then_some((rule.function, argument))
            });
            found.next()
        })
        .collect();
    if found.iter().all(Option::is_none) {
        return Ok(None);
    }
    let operands = |number: usize| match &found[number] {
        Some((_, argument)) => std::slice::from_ref(argument),
        None => &graph.nodes()[number].operands,
    };
    let live = live_nodes_by(graph, operands);
    let mut b = Builder::default();
    let mut new: Vec<Option<Value>> = table(None, graph.values().count());
    for value in graph.values() {
        new[value.index()] = match graph.def(value) {
            Def::Input(_) => Some(b.input(graph.aval(value).clone())),
            Def::Constant(_) => Some(b.constant(graph.aval(value).clone())),
            Def::Literal(literal) => Some(b.literal(literal, graph.aval(value).ambiguous)),
            Def::Result(..) => None,
        };
    }
    for (number, node) in graph.nodes().iter().enumerate().filter(|&(number, _)| live[number]) {
        let given: Vec<Value> =
            operands(number).iter().map(|v| new[v.index()].expect("operands are made before")).collect();
        let op = found[number].map_or_else(|| node.op.clone(), |(function, _)| function.into());
        let made = b.node(op, &given)?;
        node.results.iter().zip(made).for_each(|(old, value)| new[old.index()] = Some(value));
    }
    let outputs = graph.outputs().iter().map(|v| new[v.index()].expect("outputs are live")).collect();
    Ok(Some(b.finish(outputs)))
}
