//! Schedules: how nodes are computed. Each node has one plan, made once, which the partition, the planner,
//! the compiler and `explain_plan()` read: its *schedule*, and for each operand its *access*.
//!
//! A schedule is one file, which says when a node has it, which groups take the node, how the elements of
//! these are cut into tiles, what the node's instruction is, how partial results are combined, and what it
//! costs:
//!
//! | schedule | what it is |
//! |---|---|
//! | [`map`] | each element of the result from the operands' elements at the same index |
//! | [`segments`] | one element from each segment, a contiguous run of elements |
//! | [`rows`] | tiles are whole segments, so that the group can read the results of its folds |
//! | [`cumulative`] | each element from those of its line, a segment, up to it |
//! | [`bins`] | a few sums of elements, at places that are computed with them |
//! | [`across`] | one element from those at the same index of all columns |
//! | [`lines`] | lines across columns, so that the group can read the results of its folds |
//! | [`columns`] | a matrix in memory times a vector that the group computes |
//! | [`blocks`] | a product of matrices in blocks of columns, on which the group continues |
//! | [`alone`] | a step of its own |

mod across;
pub mod alone;
mod asked;
mod bins;
mod blocks;
mod columns;
mod cumulative;
mod lines;
mod map;
mod node;
mod products;
mod rows;
mod segments;

pub use asked::Access;
pub use node::{Body, Finish, NodePlan, Schedule};

use super::vm::Cut;
use crate::graph::NODE;
use crate::ops::Graph;
use crate::passes::Views;
use crate::stop;
use asked::{Asked, Cost};

/// The estimated times in picoseconds on one core: of a byte that is loaded from a cache, and of one that is
/// stored (measured on an AMD EPYC, Zen 5).
pub const LOADED: usize = 12;
/// As above.
pub const STORED: usize = 28;

/// The plans of all nodes.
pub fn plans(graph: &Graph, views: &Views) -> Vec<NodePlan> {
    let nodes = (0..graph.nodes().len()).inspect(|_| stop::work(NODE));
    nodes.map(|number| plan(&Asked::new(graph, views, number))).collect()
}

fn plan(at: &Asked) -> NodePlan {
    if at.node.results.len() != 1 {
        return alone::plan();
    }
    if at.views.is_view(at.node.results[0]) {
        return NodePlan { schedule: Schedule::View, ..alone::plan() };
    }
    if at.node.op.source().is_some() && at.result().shape.size() > 0 {
        return NodePlan { schedule: Schedule::Source, ..alone::plan() };
    }
    let rules =
        [map::plan, segments::plan, cumulative::plan, across::plan, bins::plan, columns::plan, blocks::plan];
    rules.iter().find_map(|rule| rule(at)).unwrap_or_else(alone::plan)
}

impl NodePlan {
    /// The node as an instruction on tiles.
    ///
    /// # Panics
    /// If no group has nodes of its schedule.
    pub fn body(&self, graph: &Graph, views: &Views, number: usize) -> Body {
        let at = &Asked::new(graph, views, number);
        match self.schedule {
            Schedule::Map => map::body(self, at),
            Schedule::Segments(_) => segments::body(at),
            Schedule::Cumulative { .. } => cumulative::body(at),
            Schedule::Across(_) | Schedule::Lines(_) => across::body(at),
            Schedule::Bins(_) => bins::body(at),
            Schedule::Columns(_) => columns::body(self),
            Schedule::Blocks(_) => blocks::body(self),
            Schedule::Rows(_) | Schedule::View | Schedule::Source | Schedule::Alone => {
                unreachable!("no group has nodes of this schedule")
            }
        }
    }

    /// What combines the partial results of tiles, if these make such, and the bytes of one.
    pub fn partial(&self, graph: &Graph, views: &Views, number: usize) -> Option<(Box<dyn Finish>, usize)> {
        let at = &Asked::new(graph, views, number);
        match self.schedule {
            Schedule::Segments(_) | Schedule::Across(_) | Schedule::Lines(_) => {
                Some(segments::partial(self, at))
            }
            Schedule::Bins(_) => Some(bins::partial(at)),
            Schedule::Columns(_) => Some(columns::partial(self)),
            _ => None,
        }
    }

    /// The estimated time on one core in a group of so many elements, in picoseconds.
    pub fn picoseconds(&self, len: usize) -> usize {
        match self.cost {
            Cost::Each(picoseconds) => len * picoseconds,
            Cost::All(picoseconds) => picoseconds,
        }
    }
}

impl Schedule {
    /// The schedule of a group of this schedule and so many elements when a node joins it; `None` if the
    /// node cannot.
    pub fn with(self, len: usize, node: Schedule) -> Option<Schedule> {
        match node {
            Schedule::Cumulative { segment, reverse } => cumulative::with(self, len, segment, reverse),
            Schedule::Map => map::with(self),
            Schedule::Segments(segment) | Schedule::Columns(segment) => segments::with(self, segment),
            Schedule::Across(rows) => across::with(self, rows),
            Schedule::Bins(_) => bins::with(self, node),
            Schedule::Lines(rows) => across::with(self, rows).map(lines::of),
            _ => None,
        }
    }

    /// The schedule of a group of so many elements that begins with a node; [`Schedule::Alone`] if none
    /// does.
    pub fn begins(self, len: usize) -> Schedule {
        match self {
            Schedule::Cumulative { segment, reverse } => cumulative::of(len, segment, reverse),
            Schedule::Map | Schedule::Segments(_) | Schedule::Bins(_) | Schedule::Blocks(_) => self,
            Schedule::Across(rows) | Schedule::Lines(rows) if lines::are_lines(len, rows) => self,
            _ => Schedule::Alone,
        }
    }

    /// The schedule of a group of this schedule when one of its nodes reads the result of its fold.
    pub fn read_inside(self) -> Schedule {
        lines::of(rows::of(self))
    }

    /// Elements of its segments, if it has any.
    pub fn segment(self) -> Option<usize> {
        match self {
            Schedule::Segments(segment) | Schedule::Rows(segment) | Schedule::Cumulative { segment, .. } => {
                Some(segment)
            }
            _ => None,
        }
    }

    /// Elements of its segments, if tiles can be whole ones: then the group can read the results of its
    /// folds.
    pub fn row(self) -> Option<usize> {
        self.segment().filter(rows::is_row)
    }

    /// The number of lines across the columns of a group of so many elements, of so many bytes, if it can read the
    /// results of its folds.
    pub fn lines(self, len: usize, width: usize) -> Option<usize> {
        self.rows().filter(|&rows| lines::are_lines(len, rows) && lines::pay(len, rows, width))
    }

    /// The number of lines across the columns of a group of so many elements, if its tiles are copies of them.
    pub fn packed(self, len: usize) -> Option<usize> {
        self.rows().filter(|&rows| lines::are_packed(len, rows))
    }

    fn rows(self) -> Option<usize> {
        match self {
            Schedule::Across(rows) | Schedule::Lines(rows) => Some(rows),
            _ => None,
        }
    }

    /// The tiles of a group of `len` elements that takes `width` bytes of registers for each, and may have
    /// non-temporal stores.
    pub fn cut(self, len: usize, width: usize, streams: bool) -> Cut {
        match self {
            Schedule::Segments(segment) => segments::cut(len, segment, width),
            Schedule::Rows(segment) => rows::cut(len, segment, width),
            Schedule::Bins(part) => bins::cut(len, part, width),
            Schedule::Cumulative { segment, .. } => cumulative::cut(len, segment),
            _ => map::cut(len, width, streams),
        }
    }

    /// The partial results of each result of a fold in a group of `len` elements: 1 if tiles make whole
    /// results.
    pub fn partials(self, len: usize) -> usize {
        match self {
            Schedule::Across(rows) => across::partials(len, rows),
            Schedule::Lines(_) => 1,
            _ => self.cut(len, 0, false).partials_per_segment(),
        }
    }
}
