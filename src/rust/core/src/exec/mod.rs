//! Execution. [`reference`] evaluates a graph node by node and is the meaning of it; `group` decides which
//! nodes are computed together, and `tile` makes programs of them; [`plan`] decides where every value lives,
//! and [`Executable`] runs the plan's steps without allocating values.

pub mod control;
pub mod describe;
mod group;
mod memory_plan;
pub mod plan;
pub mod reference;
mod run;
mod scatter;
mod tile;
pub mod vm;

pub use memory_plan::MemoryPlan;
pub use run::{Executable, Output};
