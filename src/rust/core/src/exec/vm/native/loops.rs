//! Native code for loops on few numbers: a whole loop is one function, whose state stays in registers.
//!
//! The values of a [`Loop`] are single elements, or vectors of as many as fill a register. What a loop carries is in
//! registers, as far as there are some, else on the stack; other elements are read from memory, at places that are fixed
//! or move on with each iteration. Instructions are those of [chains](super::chain). An iteration may have loops of its
//! own. What is done with positions out of range is behind the code of the loop. A function that unwinds ends the loop.

use super::chain::{Chain, MicroOp};
use crate::tensor::{Aval, Layout, View, ViewMut};
use rustc_hash::FxHashSet;
use std::fmt;

/// Arguments of a call, at least: their addresses are loaded in advance.
pub const LEAST: usize = 8;

/// An element in the buffer of an argument, or the first one of a vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Number of the argument.
    pub argument: usize,
    /// Bytes from its start.
    pub offset: i32,
    /// Whether it moves on by an element with each iteration.
    pub moves: bool,
}

/// A step of an iteration.
#[derive(Clone, Debug)]
pub enum Step {
    /// An op.
    Op(MicroOp),
    /// Where a mask is true, the result of a function by its kernel, in the place of that by its formula: what
    /// guards become.
    Instead(usize, MicroOp),
    /// Stores an element.
    Store(usize, Place),
    /// Loads elements at a position that is computed.
    Load(Window),
    /// Stores elements at a position that is computed.
    Put(Window),
    /// Calls the function of a number, on elements that were stored before; those that it makes are then in
    /// memory.
    Call(usize),
    /// Begins a loop within the iteration: pairs of an element that it carries and what that is at first, and
    /// whether there is an iteration.
    Begin(Vec<(usize, usize)>, usize),
    /// Ends the loop that began last: for what it carries, in the same order, the elements of the next iteration,
    /// and whether there is one. What is carried is then that of the last iteration; nothing else that was made
    /// in the loop is read after it.
    End(Vec<usize>, Option<usize>),
}

impl Step {
    /// Calls a function with each element that it reads.
    pub fn reads(&self, visit: &mut dyn FnMut(usize)) {
        match self {
            Step::Op(op) => op.operands.iter().for_each(|&v| visit(v)),
            Step::Instead(mask, op) => {
                [mask, &op.result].into_iter().chain(&op.operands).for_each(|&v| visit(v));
            }
            Step::Store(v, _) => visit(*v),
            Step::Load(load) => load.starts.iter().for_each(|&(v, ..)| visit(v)),
            Step::Put(put) => {
                put.starts.iter().for_each(|&(v, ..)| visit(v));
                put.elements.iter().for_each(|&(v, _)| visit(v));
            }
            Step::Call(_) => {}
            Step::Begin(carried, test) => {
                carried.iter().for_each(|&(_, first)| visit(first));
                visit(*test);
            }
            Step::End(next, test) => next.iter().chain(test).for_each(|&v| visit(v)),
        }
    }
}

/// What is done with a number that is out of range.
#[derive(Clone, Debug)]
pub enum Otherwise {
    /// None is.
    Never,
    /// The nearest one that is in range takes its place, after the function for its axis was called, if there are such, which
    /// finds the number at a place.
    Nearest(Vec<(usize, Place)>),
}

/// Elements at a computed position.
#[derive(Clone, Debug)]
pub struct Window {
    /// Number of the argument.
    pub argument: usize,
    /// For each axis, the element with the number, the largest that is in range, and the bytes between two.
    pub starts: Vec<(usize, i32, i32)>,
    /// What is done if a number is out of range.
    pub otherwise: Otherwise,
    /// The elements, and their distance from the position in bytes.
    pub elements: Vec<(usize, i32)>,
}

/// An element that is carried.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    /// The element at the start of an iteration.
    pub value: usize,
    /// That of the next iteration.
    pub next: usize,
    /// Where it is before and after the loop.
    pub place: Place,
}

/// A loop.
#[derive(Debug, Default)]
pub struct Loop {
    /// Its elements, as the values of a chain without ops.
    pub chain: Chain,
    /// What an iteration does, in order.
    pub steps: Vec<Step>,
    /// What is carried.
    pub carried: Vec<Carried>,
    /// Elements that are read from memory.
    pub reads: Vec<(usize, Place)>,
    /// The element that says whether there is another iteration, where that is computed, and the argument that
    /// it is stored in.
    pub test: Option<(usize, usize)>,
    /// Whether places move backwards.
    pub reverse: bool,
    /// Bytes of each argument, and whether it is written.
    pub arguments: Vec<(usize, bool)>,
    /// Arguments of which each iteration sees other elements, with the bytes from those of one to those of the next.
    pub strides: Vec<(usize, i32)>,
    /// Iterations for which places that move have elements.
    pub length: usize,
    /// The values that are vectors, beside those that ops make of vectors.
    pub vectors: FxHashSet<usize>,
    /// The function that asks whether the user stops the loop, and of how many iterations of the loops within
    /// those of this one it is called once; if there are such loops.
    pub asks: Option<(usize, i32)>,
}

impl Loop {
    /// Whether all places are within their arguments, which whoever makes a loop sees to.
    pub fn is_within(&self, vector: usize) -> bool {
        let mut vectors = self.vectors.clone();
        for step in &self.steps {
            if let Step::Op(op) = step {
                if op.is_vector(|v| vectors.contains(&v)) {
                    vectors.insert(op.result);
                }
            }
        }
        let strides = |argument: usize| self.strides.iter().find(|(other, _)| *other == argument);
        let fits = |v: usize, argument: usize, offset: i64, each: usize| {
            let width = self.chain.values[v].dtype.bytes();
            let bytes = if vectors.contains(&v) { vector } else { width + each * width };
            let moved = strides(argument).map_or(0, |&(_, by)| by as usize * self.length.saturating_sub(1));
            offset >= 0 && offset as usize + bytes + moved <= self.arguments[argument].0
        };
        let last = self.length.saturating_sub(1);
        let placed = |v: usize, place: &Place| {
            fits(v, place.argument, place.offset.into(), if place.moves { last } else { 0 })
        };
        let found = |window: &Window| {
            let way =
                window.starts.iter().map(|&(_, most, bytes)| i64::from(most) * i64::from(bytes)).sum::<i64>();
            window.elements.iter().all(|&(v, at)| fits(v, window.argument, way + i64::from(at), 0))
        };
        self.length == 0
            || self.reads.iter().all(|(v, place)| placed(*v, place))
                && self.carried.iter().all(|carried| placed(carried.value, &carried.place))
                && self.steps.iter().all(|step| match step {
                    Step::Store(v, place) => placed(*v, place),
                    Step::Load(window) | Step::Put(window) => found(window),
                    _ => true,
                })
    }

    /// Leaves out ops and loads whose results nothing reads: a position that is out of range is no error there.
    pub fn prune(&mut self) {
        let mut read = vec![false; self.chain.values.len()];
        self.carried.iter().map(|c| c.next).chain(self.test.map(|(v, _)| v)).for_each(|v| read[v] = true);
        let mut kept = vec![];
        for step in std::mem::take(&mut self.steps).into_iter().rev() {
            let is_read = match &step {
                Step::Op(op) => read[op.result],
                Step::Load(load) => load.elements.iter().any(|&(v, _)| read[v]),
                _ => true,
            };
            if !is_read {
                continue;
            }
            step.reads(&mut |v| read[v] = true);
            kept.push(step);
        }
        kept.reverse();
        self.steps = kept;
    }
}

/// Values in the buffer of an argument, from this byte on, dense.
#[derive(Clone, Debug)]
pub struct Block {
    /// Their type.
    pub aval: Aval,
    /// Their layout.
    pub layout: Layout,
    /// Number of the argument.
    pub argument: usize,
    /// Bytes from its start.
    pub offset: usize,
}

/// A function on views that a loop calls.
pub struct Call {
    /// What it reads.
    pub operands: Vec<Block>,
    /// What it writes, which no operand is part of.
    pub results: Vec<Block>,
    /// The function.
    pub run: Box<dyn Fn(&[View], &mut [ViewMut]) + Send + Sync>,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("operands", &self.operands).field("results", &self.results).finish()
    }
}
