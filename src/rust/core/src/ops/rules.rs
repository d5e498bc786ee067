//! What an op says of its derivatives and of batches: rules that add nodes to a graph.
//!
//! A rule is a closure over the op's parameters, from the values of a node in a graph under construction.

use super::check::Check;
use super::derive::{Math, Var};
use crate::shape::Axis;
use crate::tensor::Literal;

/// The rule of an op in reverse mode.
pub enum Vjp<'a> {
    /// By this rule.
    By(Pull<'a>),
    /// By this rule; the second field is the reason why some operands have no gradient.
    Partly(Pull<'a>, &'static str),
    /// By the derivatives of its regions: see [`OpDef::control`].
    Regions,
    /// All gradients are 0: the results are piecewise constant in the operands, or are treated as constants.
    Zero,
    /// By a rule that is not written; the reason, for the user.
    Todo(&'static str),
}

/// A rule of reverse mode: it gives the gradients of the operands. `None` is allowed for operands that are
/// not wanted or have no gradients (indices, conditions).
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

/// The rule of an op in forward mode.
pub enum Jvp<'a> {
    /// The op on the tangents of the operands in which it is [linear](OpDef::linear).
    Linear,
    /// By this rule.
    By(Push<'a>),
    /// By this rule; the second field is the reason why some operands have no derivative.
    Partly(Push<'a>, &'static str),
    /// By the derivatives of its regions: see [`OpDef::control`].
    Regions,
    /// All tangents are 0: the results are piecewise constant in the operands, or are treated as constants.
    Zero,
    /// By a rule that is not written; the reason, for the user.
    Todo(&'static str),
}

/// A rule of forward mode: it gives the tangents of the results. `None` is 0, or in a rule that is written in
/// part, a derivative that is missing.
pub type Push<'a> = Box<dyn for<'r, 'm, 'b> Fn(&Forward<'r, 'm, 'b>) -> Vec<Option<Var<'m, 'b>>> + 'a>;

impl<'a> Jvp<'a> {
    /// By this rule.
    pub fn by(
        rule: impl for<'r, 'm, 'b> Fn(&Forward<'r, 'm, 'b>) -> Vec<Option<Var<'m, 'b>>> + 'a,
    ) -> Jvp<'a> {
        Jvp::By(Box::new(rule))
    }

    /// By this rule for an op of one operand and one result.
    pub fn of_one(rule: impl for<'r, 'm, 'b> Fn(&Forward<'r, 'm, 'b>) -> Var<'m, 'b> + 'a) -> Jvp<'a> {
        Jvp::by(move |at| vec![Some(rule(at))])
    }
}

/// The arguments of a rule of forward mode: values of the graph that it adds nodes to.
pub struct Forward<'r, 'm, 'b> {
    /// The operands.
    pub operands: &'r [Var<'m, 'b>],
    /// The results.
    pub results: &'r [Var<'m, 'b>],
    /// The tangents of the operands; `None` is 0, and at least one is given.
    pub tangents: &'r [Option<Var<'m, 'b>>],
}

impl<'m, 'b> Forward<'_, 'm, 'b> {
    /// An operand.
    pub fn x(&self, i: usize) -> Var<'m, 'b> {
        self.operands[i]
    }

    /// The result of an op that has one.
    pub fn y(&self) -> Var<'m, 'b> {
        self.results[0]
    }

    /// The tangent of an operand, with zeros for `None`.
    pub fn t(&self, i: usize) -> Var<'m, 'b> {
        self.tangents[i].unwrap_or_else(|| self.operands[i].of(0.0))
    }
}

/// The rule of an op for a batch. The batch axis comes last, so that axes keep their numbers.
pub enum Batch<'a> {
    /// The op itself, on operands that all have the batch axis.
    Same,
    /// By this rule.
    By(Stack<'a>),
    /// By batches of its regions: see [`OpDef::control`].
    Regions,
    /// By a rule that is not written; the reason, for the user.
    Todo(&'static str),
}

/// A rule for a batch: it gives the results, all of them with the batch axis last.
pub type Stack<'a> = Box<dyn for<'r, 'm, 'b> Fn(&Batched<'r, 'm, 'b>) -> Vec<Var<'m, 'b>> + 'a>;

impl<'a> Batch<'a> {
    /// By this rule.
    pub fn by(rule: impl for<'r, 'm, 'b> Fn(&Batched<'r, 'm, 'b>) -> Vec<Var<'m, 'b>> + 'a) -> Batch<'a> {
        Batch::By(Box::new(rule))
    }

    /// By this rule for an op of one result.
    pub fn of_one(rule: impl for<'r, 'm, 'b> Fn(&Batched<'r, 'm, 'b>) -> Var<'m, 'b> + 'a) -> Batch<'a> {
        Batch::by(move |at| vec![rule(at)])
    }
}

/// The arguments of a rule for a batch: values of the graph that it adds nodes to.
pub struct Batched<'r, 'm, 'b> {
    /// The operands.
    pub operands: &'r [Var<'m, 'b>],
    /// Whether each has the batch axis.
    pub batched: &'r [bool],
    /// Size of the batch axis.
    pub size: usize,
    /// For each example, whether the op runs for it at all: `i1` of the batch axis alone. Where it does not, an
    /// op must raise nothing. `None` if it runs for all.
    pub mask: Option<Var<'m, 'b>>,
}

impl<'m, 'b> Batched<'_, 'm, 'b> {
    /// The graph that the rule adds to.
    pub(super) fn math(&self) -> &'m Math<'b> {
        let value = self.operands.first().copied().or(self.mask);
        value.expect("an op is batched for an operand or for a mask").math()
    }

    /// An operand as it is, with or without the batch axis.
    pub fn x(&self, i: usize) -> Var<'m, 'b> {
        self.operands[i]
    }

    /// The numbers that the operands from one on are, where they are known and the same for all examples.
    pub(super) fn numbers(&self, from: usize) -> Vec<Option<Literal>> {
        let known = |(x, batched): (&Var, &bool)| if *batched { None } else { x.literal() };
        self.operands[from..].iter().zip(&self.batched[from..]).map(known).collect()
    }

    /// An operand with the batch axis, repeated along it if it had none.
    pub fn whole(&self, i: usize) -> Var<'m, 'b> {
        if self.batched[i] {
            self.operands[i]
        } else {
            self.operands[i].along_batch(self.size)
        }
    }

    /// An operand that holds positions, and whether it has the batch axis. If they are checked, those of
    /// examples that do not run are 0.
    pub(super) fn positions(&self, i: usize, check: &Check) -> (Var<'m, 'b>, bool) {
        match self.mask.filter(|_| check.raises()) {
            None => (self.operands[i], self.batched[i]),
            Some(mask) => {
                let x = self.whole(i);
                let shape = x.aval().shape;
                (mask.repeated(&shape, &[Axis(shape.rank() - 1)]).select(x, x.integer(0)), true)
            }
        }
    }

    /// Number of axes of an operand without the batch axis, which is the number of that axis.
    pub fn rank(&self, i: usize) -> usize {
        self.operands[i].aval().shape.rank() - usize::from(self.batched[i])
    }
}

/// The arguments of a rule of reverse mode: values of the graph that it adds nodes to.
pub struct Backward<'r, 'm, 'b> {
    /// The operands.
    pub operands: &'r [Var<'m, 'b>],
    /// The results.
    pub results: &'r [Var<'m, 'b>],
    /// The gradients of the results; `None` is 0, and at least one is given.
    pub gradients: &'r [Option<Var<'m, 'b>>],
    /// Whether the gradient of each operand is wanted.
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
