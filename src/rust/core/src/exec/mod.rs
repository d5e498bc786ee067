//! Execution. [`reference`] evaluates a graph node by node and defines its meaning; `schedule` decides how
//! each node can be computed, and `partition` which nodes are computed together; `compile` makes tile
//! programs of these for the tile VM ([`vm`]); [`plan`] gives every value a place, and [`Executable`] runs
//! the plan's steps without allocating values.

mod arena;
mod bound_plan;
mod compile;
pub mod control;
pub mod describe;
mod frame;
mod frames;
mod given;
mod iterations;
mod memory_plan;
mod partition;
mod place;
pub mod plan;
pub mod reference;
mod reused;
mod run;
mod scalars;
mod scatter;
mod schedule;
mod step;
mod updates;
pub mod vm;

pub use given::Given;
pub use memory_plan::MemoryPlan;
pub use run::{Executable, Output};

use crate::error::Result;
use crate::ops::Graph;
use crate::passes::{self, Parts};

impl Executable {
    /// Compiles a graph: verify, optimise, plan. `donated` are the numbers of inputs whose memory may be
    /// reused. What is computed of constants alone is computed by the first run: all runs are given the same.
    ///
    /// # Errors
    /// Those of [`Level::check`](crate::kernels::math::Level::check).
    /// [`Error::Internal`](crate::error::Error::Internal) if the graph is not well formed, which is a bug.
    pub fn compile(graph: &Graph, donated: &[usize]) -> Result<Executable> {
        let whole = |graph: &Graph| Executable::new(graph, Given::Donated(donated), control::compile);
        if graph.constants().is_empty() {
            return whole(graph);
        }
        graph.verify()?;
        let graph = passes::optimise(graph)?;
        let Some(Parts { first, rest }) = passes::constant_part(&graph)? else { return whole(&graph) };
        let first = Executable::new(&first, Given::Donated(&[]), control::compile)?;
        Ok(whole(&rest)?.after(first))
    }
}
