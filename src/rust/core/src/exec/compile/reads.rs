//! What a group reads: operands in memory, in place, gathered or repeated, and values that are made from nothing.

use super::draft::{Draft, Location, Virtual};
use super::instructions::Compiler;
use super::program::Load;
use crate::dtype::DType;
use crate::exec::partition::Group;
use crate::exec::place::Place;
use crate::exec::schedule::{NodePlan, Schedule};
use crate::exec::vm::{Kernel, Runs};
use crate::graph::{Def, Value};
use crate::ops::Source;

impl Compiler<'_> {
    /// The values of the program for a node's operands.
    pub(super) fn read(&mut self, plan: &NodePlan, operands: &[Value]) -> Vec<usize> {
        let mut read = |i: usize| match plan.reads_whole(i) {
            true => self.whole(operands[i]),
            false => self.operand(operands[i]),
        };
        plan.read(operands.len()).map(&mut read).collect()
    }

    /// A value with whole tiles.
    pub(super) fn spread(&mut self, value: usize) -> usize {
        let Virtual { dtype, constant, .. } = self.values[value];
        if !constant {
            return value;
        }
        let result = self.value(Location::Register, dtype);
        self.each.push(Draft::new(move || Kernel::copy(dtype), vec![value], result));
        result
    }

    /// The value of the program that is this operand.
    pub(super) fn operand(&mut self, v: Value) -> usize {
        let (root, whole) = (self.views.root(v), self.views.is_whole(v));
        let key = if whole { (root, true) } else { (v, false) };
        if let Some(&value) = self.known.get(&key) {
            return value;
        }
        let made = |this: &mut Self| this.source(root, whole).or_else(|| this.repeated(root));
        let value = made(self).unwrap_or_else(|| self.load(v));
        self.known.insert(key, value);
        value
    }

    /// What a root that this group folds segments into is for their elements: a group reads what it makes
    /// either in its place or so ([`Views::repeats`]).
    fn repeated(&mut self, root: Value) -> Option<usize> {
        let Def::Result(node, _) = self.graph.def(root) else { return None };
        if self.nodes.binary_search(&node).is_err() {
            return None;
        }
        let dtype = self.graph.aval(root).dtype;
        let (operands, result) = (vec![self.known[&(root, true)]], self.value(Location::Register, dtype));
        if let Schedule::Lines(_) = self.group.schedule {
            self.values[result].pinned = true;
            let make = move || Kernel::cycle(dtype);
            self.each.push(Draft { folded: true, ..Draft::new(make, operands, result) });
        } else {
            let make = move || Kernel::repeat(dtype);
            let Group { len, schedule } = self.group;
            let segment = schedule.segment().unwrap_or(len);
            let runs = Runs::of_folds(segment, len / segment, dtype.bytes());
            self.each.push(Draft { runs, ..Draft::new(make, operands, result) });
        }
        Some(result)
    }

    /// A value that is made from nothing, here.
    fn source(&mut self, root: Value, whole: bool) -> Option<usize> {
        let source = match self.graph.def(root) {
            Def::Literal(value) => Source::Fill(value),
            Def::Result(node, _) => self.graph.nodes()[node].op.source()?,
            _ => return None,
        };
        match source {
            Source::Fill(value) => {
                let make = move || Kernel::fill(value);
                let constant = self.constant(value.dtype(), vec![], make);
                self.values[constant].literal = Some(value);
                Some(constant)
            }
            Source::Count { start, stride, size, dtype } if whole => {
                let result = self.value(Location::Register, dtype);
                let make = move || Kernel::iota(dtype, start, stride, size);
                self.values[result].pinned = self.is_pinned(root);
                let (folded, by_column) = (self.is_folded(root), self.in_lines(root));
                self.each.push(Draft { folded, by_column, ..Draft::new(make, vec![], result) });
                Some(result)
            }
            Source::Count { .. } => None,
        }
    }

    /// A value that is read from memory.
    fn load(&mut self, v: Value) -> usize {
        let aval = self.graph.aval(v).clone();
        let (mut place, dtype) = ((self.place)(v), aval.dtype);
        let (shape, layout) = place.layout.merged(&aval.shape);
        let number = self.operands.len();
        let stream = self.value(Location::Operand(number), dtype);
        let (load, value) = match (&*shape, layout.strides.as_slice()) {
            ([], _) if aval.shape.size() > 1 => {
                let element = layout.offset;
                let make = move || Kernel::splat(dtype, element);
                (Load::Splat, self.constant(dtype, vec![stream], make))
            }
            ([], _) | ([_], [1]) => {
                let start = place.span.range.start + layout.offset * dtype.bytes();
                place.span.range = start..start + aval.bytes();
                let lines = self.packed_rows().filter(|_| self.in_lines(v));
                let value = match lines {
                    Some(rows) => self.packed(dtype, stream, move || Kernel::pack(dtype, rows)),
                    None => stream,
                };
                (Load::Direct, value)
            }
            (&[rows, _], &[row, column]) if self.packed_rows() == Some(rows) && self.in_lines(v) => {
                let first = layout.offset;
                let make = move || Kernel::pack_strided(dtype, rows, first, [row, column]);
                (Load::Gather, self.packed(dtype, stream, make))
            }
            _ => {
                let shared = self.shared(&place);
                let stream = shared.unwrap_or(stream);
                let result = self.value(Location::Register, dtype);
                let by_column = self.in_lines(v);
                let runs = Runs::of(&shape, &layout, dtype.bytes()).filter(|_| !by_column);
                let load = if runs.is_some() { Load::Runs } else { Load::Gather };
                let make = move || Kernel::gather(dtype, shape, layout);
                self.values[result].pinned = self.is_pinned(v);
                let gather = Draft::new(make, vec![stream], result);
                self.each.push(Draft { folded: self.is_folded(v), by_column, runs, ..gather });
                if shared.is_some() {
                    self.again += dtype.bytes();
                    return result;
                }
                (load, result)
            }
        };
        self.operands.push((aval, place));
        self.loads.push(load);
        value
    }

    /// The stream of an operand in the same place of which elements are gathered, too: what reads both can go
    /// by one address.
    fn shared(&self, place: &Place) -> Option<usize> {
        let gathered = |load: &Load| matches!(load, Load::Gather | Load::Runs);
        let mut operands = self.operands.iter().zip(&self.loads);
        let number = operands.position(|((_, other), load)| other.span == place.span && gathered(load))?;
        self.values.iter().position(|value| value.location == Location::Operand(number))
    }

    /// The tile that is copied from lines in a stream.
    fn packed(&mut self, dtype: DType, stream: usize, make: impl FnOnce() -> Kernel + 'static) -> usize {
        let result = self.value(Location::Register, dtype);
        self.each.push(Draft::new(make, vec![stream], result));
        result
    }

    /// A value in memory that each tile reads as a whole: from the start of its root on.
    fn whole(&mut self, v: Value) -> usize {
        let root = self.views.root(v);
        if let Some(&value) = self.wholes.get(&root) {
            return value;
        }
        let aval = self.graph.aval(root).clone();
        let value = self.value(Location::Operand(self.operands.len()), aval.dtype);
        self.operands.push((aval, (self.place)(root)));
        self.loads.push(Load::Whole);
        self.wholes.insert(root, value);
        value
    }
}
