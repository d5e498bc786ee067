//! A node as the rules see it that choose its schedule.

use crate::dtype::DType;
use crate::graph::{Node, Value};
use crate::kernels::reductions::fold::Fold;
use crate::ops::{Graph, Op};
use crate::passes::Views;
use crate::shape::Shape;
use crate::tensor::{Aval, Layout};

/// The node that is to be planned.
pub struct Asked<'g> {
    /// The graph.
    pub graph: &'g Graph,
    /// Its views.
    pub views: &'g Views,
    /// The node.
    pub node: &'g Node<Op>,
    /// Dtypes of its operands.
    pub from: Vec<DType>,
}

impl<'g> Asked<'g> {
    /// The node with that number.
    pub fn new(graph: &'g Graph, views: &'g Views, number: usize) -> Asked<'g> {
        let node = &graph.nodes()[number];
        let from = node.operands.iter().map(|&v| graph.aval(v).dtype).collect();
        Asked { graph, views, node, from }
    }

    /// The type of its first result.
    pub fn result(&self) -> &'g Aval {
        self.graph.aval(self.node.results[0])
    }

    /// The shape of an operand.
    pub fn shape(&self, operand: usize) -> &'g Shape {
        &self.graph.aval(self.node.operands[operand]).shape
    }

    /// The layout of an operand in the buffer of its root.
    pub fn layout(&self, operand: usize) -> Layout {
        self.views.layout(self.graph, self.node.operands[operand])
    }

    /// The value in whose buffer an operand lies.
    pub fn root(&self, operand: usize) -> Value {
        self.views.root(self.node.operands[operand])
    }

    /// The access to each operand if the node reads its elements at the index of the result.
    pub fn by_element(&self) -> Vec<Access> {
        let access = |&v: &Value| if self.views.is_one(v) { Access::Repeated } else { Access::Element };
        self.node.operands.iter().map(access).collect()
    }

    /// Its fold.
    ///
    /// # Panics
    /// If it is no fold.
    pub fn fold(&self) -> Fold {
        self.node.op.fold().expect("folds have this schedule").0
    }

    /// The estimated time of its kernel per element.
    pub fn each(&self) -> Cost {
        Cost::Each(self.node.op.picoseconds(&self.from))
    }
}

/// How a node reads an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Each element at the index of the result.
    Element,
    /// One element for all.
    Repeated,
    /// All of it, in memory.
    Whole,
}

impl Access {
    /// Whether all of the operand must be in memory.
    pub fn is_whole(self) -> bool {
        self == Access::Whole
    }
}

/// The estimated time of a node, in picoseconds on one core.
#[derive(Clone, Copy, Debug)]
pub enum Cost {
    /// For each element of the group.
    Each(usize),
    /// In all.
    All(usize),
}
