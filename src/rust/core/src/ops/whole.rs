//! Whole numbers that are computed as doubles, as R has them: `x[t + 1]` adds a double to an integer. As integers they
//! are the same numbers, and what reads them as integers need not convert them back.

use super::binary::Binary;
use super::create::{everywhere, uniform};
use super::{BroadcastInDim, Builder, Convert, Graph, Op, Reshape, Ternary, Unary};
use crate::dtype::{DType, Kind};
use crate::error::Result;
use crate::graph::{Node, Value};
use crate::tensor::Literal;

/// Ops that are followed, one behind the other, at most.
const DEPTH: usize = 8;

/// The size up to which all whole numbers are doubles.
const EXACT: f64 = (1u64 << f64::MANTISSA_DIGITS) as f64;

/// The value as 64-bit integers, if it is made of integers and whole numbers by ops that give whole numbers, none of which
/// could be one that a double rounds.
pub(super) fn in_integers(b: &mut Builder, x: Value) -> Result<Option<Value>> {
    let graph = b.graph();
    if graph.aval(x).dtype != DType::F64 || uniform(graph, x).is_some() || size(graph, x, DEPTH).is_none() {
        return Ok(None);
    }
    made(b, x).map(Some)
}

/// How large a whole number may be; `None` if it may be none, or one that is rounded.
fn size(graph: &Graph, x: Value, depth: usize) -> Option<f64> {
    if let Some(number) = uniform(graph, x) {
        let number = number.convert(DType::F64).get::<f64>();
        return (number.trunc() == number).then_some(number.abs()).filter(|&size| size < EXACT);
    }
    let node = graph.made_by(x).filter(|_| graph.aval(x).dtype == DType::F64)?;
    if node.op.get::<Convert>().is_some() {
        let from = graph.aval(node.operands[0]).dtype;
        let is_integer = matches!(from.kind(), Kind::Integer | Kind::Unsigned | Kind::Boolean);
        return (is_integer && from.bits() <= 32).then(|| (1u64 << from.bits()) as f64);
    }
    let depth = depth.checked_sub(1).filter(|_| keeps_whole(node))?;
    let mut sizes = vec![];
    for &v in &node.operands[condition(node)..] {
        sizes.push(size(graph, v, depth)?);
    }
    let made = match (node.op.get::<Binary>(), &sizes[..]) {
        (Some(Binary::mul), [x, y]) => x * y,
        (Some(Binary::add | Binary::sub), [x, y]) => x + y,
        // A number that is not 0: that of a double and 0 is none.
        (Some(Binary::modulo), [_, y]) => {
            uniform(graph, node.operands[1]).filter(|_| *y > 0.0).map(|_| *y)?
        }
        (_, sizes) => sizes.iter().copied().fold(0.0, f64::max),
    };
    (made < EXACT).then_some(made)
}

/// Whether a node makes whole numbers of such, and the same ones as integers.
fn keeps_whole(node: &Node<Op>) -> bool {
    let of_two = [Binary::add, Binary::sub, Binary::mul, Binary::max, Binary::min, Binary::modulo];
    let of_one = [Unary::negate, Unary::abs];
    node.op.get::<Binary>().is_some_and(|op| of_two.contains(op))
        || node.op.get::<Unary>().is_some_and(|op| of_one.contains(op))
        || node.op.get::<Ternary>() == Some(&Ternary::Select)
        || node.op.get::<BroadcastInDim>().is_some()
        || node.op.get::<Reshape>().is_some()
}

/// The operands, the first ones, that are no numbers.
fn condition(node: &Node<Op>) -> usize {
    usize::from(node.op.get::<Ternary>() == Some(&Ternary::Select))
}

/// A value that has a [`size`], in integers.
fn made(b: &mut Builder, x: Value) -> Result<Value> {
    let graph = b.graph();
    if let Some(number) = uniform(graph, x) {
        let shape = graph.aval(x).shape.clone();
        let number = b.literal(Literal::new(number.convert(DType::F64).get::<f64>() as i64), None);
        return everywhere(b, number, shape);
    }
    let node = graph.made_by(x).expect("what has a size is the result of an op").clone();
    if node.op.get::<Convert>().is_some() {
        return b.node1(Convert::known(DType::I64), &node.operands);
    }
    let (conditions, numbers) = node.operands.split_at(condition(&node));
    let mut operands = conditions.to_vec();
    for &v in numbers {
        operands.push(made(b, v)?);
    }
    b.node1(node.op, &operands)
}
