//! Batches: a program that takes values with one axis more, and computes all examples at once.
//!
//! The batch axis comes last. It is the slowest in memory, so each example is dense as before, and the
//! numbers of all other axes stay what they are. The rules are those of the ops
//! ([`OpDef::batch`](crate::ops::OpDef::batch)), but for those that follow examples which lie the other way
//! ([`first`]); a value that does not depend on the batch is computed once.

mod first;
mod regions;

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{Def, Value};
use crate::ops::{Batch, Batched, BroadcastInDim, Builder, Control, Convert, Graph, Math, Op, Var};
use crate::shape::Axis;
use crate::tensor::Aval;

/// Values of a graph, of which some have the batch axis.
#[derive(Clone, Debug, Default)]
pub struct Stacked {
    /// The values.
    pub values: Vec<Value>,
    /// Whether each has the batch axis.
    pub batched: Vec<bool>,
}

/// A batch: its size, and the examples that an op runs for.
#[derive(Clone, Copy, Debug)]
pub struct Examples {
    /// Number of examples.
    pub size: usize,
    /// For each, whether it runs at all: `i1` of the batch axis alone. Where it does not, its values are not
    /// used, and ops that check their operands raise nothing. `None` if all run.
    pub mask: Option<Value>,
}

/// The type of a value with the batch axis.
///
/// # Errors
/// Those of [`Shape::try_new`]: too many axes or elements.
pub fn stacked_type(aval: &Aval, size: usize) -> Result<Aval> {
    Ok(Aval { shape: aval.shape.with_last(size)?, ..aval.clone() })
}

/// Copies the nodes of a graph without constants into `b`, with these values for its inputs, those that are
/// batched having the batch axis. Returns its outputs.
///
/// # Errors
/// Those of [`Builder::node`]: none if the values have the types of the inputs but for the batch axis, unless
/// a value becomes too large. [`Error::NoBatch`] if an op that depends on the batch has no rule.
pub fn batch(b: &mut Builder, graph: &Graph, inputs: &Stacked, examples: Examples) -> Result<Stacked> {
    let mut all = Stacked::default();
    let mut made = Stacked::default();
    for value in graph.values() {
        let (copy, batched) = match graph.def(value) {
            Def::Input(i) => (known_as(b, inputs.values[i], graph.aval(value))?, inputs.batched[i]),
            Def::Literal(literal) => (b.literal(literal, graph.aval(value).ambiguous), false),
            Def::Constant(_) => {
                return Err(Error::Internal { detail: "constants belong to the outermost trace".into() });
            }
            Def::Result(number, i) => {
                if i == 0 {
                    let node = &graph.nodes()[number];
                    made = batch_node(b, &node.op, &all.select(&node.operands), examples)?;
                }
                (known_as(b, made.values[i], graph.aval(value))?, made.batched[i])
            }
        };
        all.values.push(copy);
        all.batched.push(batched);
    }
    Ok(all.select(graph.outputs()))
}

impl Stacked {
    /// Those of the values that a graph has at these places.
    fn select(&self, of: &[Value]) -> Stacked {
        let values = of.iter().map(|v| self.values[v.index()]).collect();
        Stacked { values, batched: of.iter().map(|v| self.batched[v.index()]).collect() }
    }

    /// A part of them.
    fn part(&self, range: std::ops::Range<usize>) -> Stacked {
        Stacked { values: self.values[range.clone()].to_vec(), batched: self.batched[range].to_vec() }
    }

    /// Values that all have the batch axis.
    fn whole(values: Vec<Value>) -> Stacked {
        Stacked { batched: vec![true; values.len()], values }
    }

    /// Them, with the batch axis for those that are marked.
    fn with(&self, b: &mut Builder, marks: &[bool], size: usize) -> Result<Vec<Value>> {
        let pairs = self.values.iter().zip(&self.batched).zip(marks);
        pairs
            .map(|((&v, &batched), &mark)| if mark && !batched { repeat(b, v, size) } else { Ok(v) })
            .collect()
    }

    fn extend(&mut self, other: Stacked) {
        self.values.extend(other.values);
        self.batched.extend(other.batched);
    }
}

/// A value repeated along a new batch axis.
///
/// # Errors
/// As [`stacked_type`].
pub fn repeat(b: &mut Builder, value: Value, size: usize) -> Result<Value> {
    let math = Math::new(b);
    let whole = math.var(value).along_batch(size).value();
    math.finish().map(|()| whole)
}

/// A value that is ambiguous if one of this type is: a rule may put it together of others that are not.
fn known_as(b: &mut Builder, value: Value, aval: &Aval) -> Result<Value> {
    if b.graph().aval(value).ambiguous == aval.ambiguous {
        return Ok(value);
    }
    b.node1(Convert { to: aval.ranked() }, &[value])
}

/// The op on operands of which some have the batch axis.
///
/// # Errors
/// As [`batch()`].
pub(crate) fn batch_node(
    b: &mut Builder,
    op: &Op,
    operands: &Stacked,
    examples: Examples,
) -> Result<Stacked> {
    let Examples { size, mask } = examples;
    // An op that does not depend on the batch is one for all, unless it must not run where no example does.
    if !operands.batched.contains(&true) && (mask.is_none() || !(op.may_raise() || may_go_on(op))) {
        let values = b.node(op.clone(), &operands.values)?;
        return Ok(Stacked { batched: vec![false; values.len()], values });
    }
    if let Some(made) = first::batch(b, op, operands, size)? {
        return Ok(Stacked::whole(vec![made]));
    }
    match op.batch() {
        Batch::Same => {
            let values = operands.with(b, &vec![true; operands.values.len()], size)?;
            Ok(Stacked::whole(b.node(op.clone(), &values)?))
        }
        Batch::By(rule) => {
            let math = Math::new(b);
            let vars: Vec<Var> = operands.values.iter().map(|&v| math.var(v)).collect();
            let mask = mask.map(|v| math.var(v));
            let at = Batched { operands: &vars, batched: &operands.batched, size, mask };
            let made: Vec<Value> = rule(&at).into_iter().map(Var::value).collect();
            math.finish().map(|()| Stacked::whole(made))
        }
        Batch::Regions => regions::batch(b, op, operands, examples),
        Batch::Todo(why) => Err(Error::NoBatch { op: op.row().function.into(), why: why.into() }),
    }
}

/// Whether an op has a loop that may go on for ever where no example runs it.
fn may_go_on(op: &Op) -> bool {
    let inside = |(_, region): &(&str, &Graph)| region.nodes().iter().any(|node| may_go_on(&node.op));
    matches!(op.control(), Some(Control::While(_))) || op.regions().iter().any(inside)
}

/// A mask of the batch as a condition for values of this type, which have the batch axis.
fn spread(b: &mut Builder, mask: Value, aval: &Aval) -> Result<Value> {
    if aval.shape.rank() == 1 {
        return Ok(mask);
    }
    let axes = vec![Axis(aval.shape.rank() - 1)];
    debug_assert_eq!(b.graph().aval(mask).dtype, DType::I1);
    b.node1(BroadcastInDim { shape: aval.shape.clone(), axes }, &[mask])
}
