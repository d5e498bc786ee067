//! The plan of a node.

use super::asked::{Access, Cost};
use super::products::{MatVec, MatrixProduct};
use crate::exec::vm::Kernel;
use crate::kernels::reductions::accumulators::Accumulators;
use std::fmt;
use std::ops::Range;

/// How a node is computed, and how a group goes over its elements. Numbers are of elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Schedule {
    /// None: it is a view. Of nodes only.
    View,
    /// In each group that reads it: a fill or an iota, which is cheaper to compute than to load. Of nodes
    /// only.
    Source,
    /// Each element from those at the same index.
    Map,
    /// One element from each segment.
    Segments(usize),
    /// As [`Schedule::Segments`], and tiles are whole ones. Of groups only.
    Rows(usize),
    /// Each element from those of its segment up to it.
    Cumulative {
        /// Elements of a segment.
        segment: usize,
        /// Whether it begins with the last element.
        reverse: bool,
    },
    /// One element from those at the same index of all columns, each of so many.
    Across(usize),
    /// As [`Schedule::Across`], by whole lines: the group reads the results, or the fold takes whole tiles.
    Lines(usize),
    /// Sums at places that are computed, in parts of so many elements.
    Bins(usize),
    /// The product of a matrix in memory and a vector of so many elements. Of nodes only.
    Columns(usize),
    /// A product of matrices whose columns have so many elements, before its tiles.
    Blocks(usize),
    /// A step of its own.
    Alone,
}

/// How a node is computed.
#[derive(Clone, Debug)]
pub struct NodePlan {
    /// Its schedule.
    pub schedule: Schedule,
    /// The number of elements of groups that it can be part of; 0 if there are none.
    pub len: usize,
    /// For each operand, how it is read, if the node can be part of a group.
    pub access: Vec<Access>,
    /// The product that it is.
    pub(super) product: Option<Product>,
    /// What it costs.
    pub(super) cost: Cost,
}

impl NodePlan {
    /// Whether it reads all of this operand.
    pub fn reads_whole(&self, operand: usize) -> bool {
        self.access.get(operand).is_some_and(|access| access.is_whole())
    }

    /// Whether it reads all of any operand.
    pub fn reads_any_whole(&self) -> bool {
        self.access.iter().any(|access| access.is_whole())
    }

    /// The number of elements, if its result has one for each of the group.
    pub fn elements(&self) -> Option<usize> {
        let each = matches!(self.schedule, Schedule::Map | Schedule::Blocks(_)) || self.cumulates();
        each.then_some(self.len)
    }

    /// Whether it reduces tiles to fewer elements.
    pub fn folds(&self) -> bool {
        matches!(
            self.schedule,
            Schedule::Segments(_)
                | Schedule::Across(_)
                | Schedule::Lines(_)
                | Schedule::Columns(_)
                | Schedule::Bins(_)
        )
    }

    /// Whether it cumulates tiles.
    pub fn cumulates(&self) -> bool {
        matches!(self.schedule, Schedule::Cumulative { .. })
    }

    /// Whether it leaves partial results even where there is one of each.
    pub fn is_of_parts(&self) -> bool {
        matches!(self.schedule, Schedule::Bins(_))
    }

    /// The operands that its instruction reads, by number: that of sums has the element that they begin with.
    pub fn read(&self, operands: usize) -> Range<usize> {
        usize::from(self.is_of_parts())..operands
    }

    /// The operand that it folds: which of those that its instruction reads.
    pub fn folded(&self) -> usize {
        let read = &self.access[self.read(self.access.len())];
        read.iter().position(|access| !access.is_whole()).unwrap_or(0)
    }

    /// Puts operands into the order in which its instruction reads them: a matrix before a vector.
    pub fn order<T>(&self, operands: &mut [T]) {
        if let Some(Product::Vector(product)) = self.product {
            operands.swap(0, product.matrix);
        }
    }

    /// Whether its group begins with it, before its tiles.
    pub fn is_block(&self) -> bool {
        matches!(self.schedule, Schedule::Blocks(_))
    }

    /// Whether its kernel stores its result itself, and never by non-temporal stores.
    pub fn is_fold_or_product(&self) -> bool {
        self.folds() || self.product.is_some()
    }
}

/// A product that groups can compute.
#[derive(Clone, Copy, Debug)]
pub enum Product {
    /// Of a matrix and a vector.
    Vector(MatVec),
    /// Of two matrices.
    Matrices(MatrixProduct),
}

/// The work of an instruction.
pub enum Body {
    /// A kernel on each tile.
    Kernel(Box<dyn FnOnce() -> Kernel>),
    /// A fold of the operand across columns.
    Fold(Accumulators),
}

/// What combines the partial results of tiles.
pub trait Finish: fmt::Debug + Send + Sync {
    /// Makes the result.
    fn finish(&self, partials: &[u8], out: &mut [u8]);
}
