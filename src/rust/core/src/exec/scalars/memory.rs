//! Values that stay in memory: windows of them are read at positions that are computed, and those of carried values
//! are replaced where they lie. Elements are stored in the scratch memory for that.
//!
//! Replacements are done late: reads of what was there before come first. One that comes after finds a later version of the
//! value, and then there is no native code. A position out of range is moved to the nearest that is in range, as the ops do,
//! after the error was raised, if that is one; where nothing shall be written then, what is there is written.

use super::values::{Held, Lie};
use super::{is_update, Lowering, Node, MAX_ELEMENTS};
use crate::dtype::{Bool, DType};
use crate::exec::vm::native::loops::{Block, Call, Otherwise, Place, Step, Window};
use crate::exec::vm::native::{self, Origin};
use crate::graph::{Def, Value};
use crate::kernels::memory::indexed::Targets;
use crate::ops::{Check, DynamicSlice, DynamicUpdateSlice, Gather, Scatter, Windows};
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, Layout, Literal};
use std::sync::Arc;

impl Lowering<'_> {
    /// Whether an input that is short enough for registers stays in memory: all that is done with it is to read
    /// windows, and if it is carried, to replace them, some at computed positions.
    pub(super) fn is_in_memory(&self, argument: usize, v: Value) -> bool {
        let (mut computed, is_carried) = (false, argument < self.carried);
        self.has_windows(v, is_carried, &mut computed)
            && computed
            && (!is_carried || self.becomes(v, argument))
    }

    /// Whether a carried value is the next one but for windows.
    fn becomes(&self, v: Value, argument: usize) -> bool {
        let mut next = self.body.outputs()[argument];
        while let Some(node) = self.body.made_by(next).filter(|node| is_update(node)) {
            next = node.operands[0];
        }
        next == v
    }

    fn has_windows(&self, v: Value, is_carried: bool, computed: &mut bool) -> bool {
        if self.body.outputs()[self.carried..].contains(&v) {
            return false;
        }
        self.body.nodes().iter().filter(|node| node.operands.contains(&v)).all(|node| {
            let is_update = is_update(node);
            let is_read = || node.op.get::<DynamicSlice>().is_some() || node.op.get::<Gather>().is_some();
            if node.operands[0] != v || !is_update && !is_read() {
                return false;
            }
            let (mut parts, mut starts) = node.operands[1..].split_at(usize::from(is_update));
            if is_update && node.op.get::<Scatter>().is_some() {
                (starts, parts) = node.operands[1..].split_at(1);
            }
            *computed |= starts.iter().any(|&v| self.body.literal(v).is_none());
            !parts.contains(&v)
                && !starts.contains(&v)
                && (!is_update || is_carried && self.has_windows(node.results[0], is_carried, computed))
        })
    }

    /// Whether a value is in memory.
    pub(super) fn is_whole(&self, v: Value) -> bool {
        matches!(self.held[v.index()], Some(Held::Whole(..) | Held::Updated(_)))
    }

    /// A window at a computed position.
    pub(super) fn window(&mut self, op: &DynamicSlice, node: &Node, result: &Aval) -> Option<Arc<[usize]>> {
        let from = self.body.aval(node.operands[0]).clone();
        let starts = self.starts(&from, &op.sizes, &node.operands[1..])?;
        let known = self.known_place(&starts, op.check.raises());
        if let (Some(way), Held::Elements(all)) = (known, self.operand(node.operands[0])?) {
            let numbers: Vec<usize> = (0..result.shape.size()).collect();
            let places = placed(&from, &op.sizes, &numbers, way)?;
            return Some(places.into_iter().map(|(_, at)| all[at as usize / from.dtype.bytes()]).collect());
        }
        if self.is_by_lanes(node.operands[0], &starts) {
            let made = self.window_of_lanes(node.operands[0], &op.sizes, (&starts, 0), op.check.raises());
            return made.map(Into::into);
        }
        let lie = self.lie(node.operands[0])?;
        let starts = along(&starts, &lie);
        let otherwise = self.nearest(&op.check, 0, &from, &op.sizes, &starts)?;
        let elements = self.elements_of(result);
        let elements_at = lie.places(&op.sizes, &elements, 0)?;
        self.looped.steps.push(Step::Load(window(lie.argument, &starts, otherwise, elements_at)));
        Some(elements)
    }

    /// Windows at computed positions, stacked.
    pub(super) fn windows(&mut self, op: &Gather, node: &Node, result: &Aval) -> Option<Arc<[usize]>> {
        let from = self.body.aval(node.operands[0]).clone();
        let stack = self.stack(&op.windows, &from, &op.slice_sizes, node.operands[1])?;
        let ways = stack.starts.iter().map(|(starts, _)| self.known_place(starts, op.check.raises()));
        let ways: Option<Vec<i32>> = ways.collect();
        if let (Some(ways), Held::Elements(all)) = (ways, self.operand(node.operands[0])?) {
            let numbers: Vec<usize> = (0..result.shape.size()).collect();
            let mut made = vec![0; numbers.len()];
            let own = stack.of(&op.windows, &result.shape, &numbers);
            for ((way, (_, before)), own) in ways.into_iter().zip(&stack.starts).zip(own) {
                for (number, at) in placed(&from, &op.slice_sizes, &own, way.checked_add(*before)?)? {
                    made[number] = all[at as usize / from.dtype.bytes()];
                }
            }
            return Some(made.into());
        }
        if stack.starts.iter().any(|(starts, _)| self.is_by_lanes(node.operands[0], starts)) {
            let numbers: Vec<usize> = (0..result.shape.size()).collect();
            let mut made = numbers.clone();
            let own = stack.of(&op.windows, &result.shape, &numbers);
            for ((starts, way), own) in stack.starts.iter().zip(own) {
                let place = (&starts[..], *way as usize / from.dtype.bytes());
                let raises = op.check.raises();
                let elements = self.window_of_lanes(node.operands[0], &op.slice_sizes, place, raises)?;
                own.into_iter().zip(elements).for_each(|(number, v)| made[number] = v);
            }
            return Some(made.into());
        }
        let lie = self.lie(node.operands[0]).filter(|lie| lie.is_dense(&from))?;
        let elements = self.elements_of(result);
        let windows = stack.of(&op.windows, &result.shape, &elements);
        for (number, ((starts, way), own)) in stack.starts.into_iter().zip(windows).enumerate() {
            let otherwise = self.nearest(&op.check, number, &from, &op.slice_sizes, &starts)?;
            let elements = lie.places(&op.slice_sizes, &own, way)?;
            self.looped.steps.push(Step::Load(window(lie.argument, &starts, otherwise, elements)));
        }
        Some(elements)
    }

    /// How far from the first element a window is, in bytes, if its position is known. One that does not fit is not, if that
    /// is an error, else it is moved.
    fn known_place(&self, starts: &[Position], raises: bool) -> Option<i32> {
        starts.iter().try_fold(0_i32, |way, &Position { v, most, bytes, .. }| {
            let position = self.known_literal(v)?.convert(DType::I64).get::<i64>();
            let moved = position.clamp(0, most.into());
            let step = i32::try_from(moved).ok()?.checked_mul(bytes)?;
            (moved == position || !raises).then_some(way.checked_add(step)?)
        })
    }

    /// Where a value is in memory, the argument and the byte, to read a window there: what consists of elements is stored
    /// in the scratch memory, unless elements lie side by side anyway.
    pub(super) fn in_memory(&mut self, v: Value) -> Option<(usize, i32)> {
        let held = self.operand(v)?;
        self.lying_at(&self.body.aval(v).clone(), held)
    }

    /// Where a value of this type is.
    pub(super) fn lying_at(&mut self, aval: &Aval, held: Held) -> Option<(usize, i32)> {
        let at = match held {
            Held::Whole(argument, _) if self.lanes_of_input(argument).is_some() => return None,
            Held::Whole(argument, _) => return Some((argument, 0)),
            Held::Updated(_) | Held::Part(..) | Held::Counted => return None,
            Held::Lying(at) => at,
            Held::Elements(elements) => {
                if let Some(place) = self.side_by_side(aval, &elements) {
                    return Some((place.argument, place.offset));
                }
                match self.lying.iter().find(|(other, _)| Arc::ptr_eq(other, &elements)) {
                    Some(&(_, at)) => at,
                    None => {
                        let at = self.stored(aval, &elements)?;
                        self.lying.push((elements, at));
                        at
                    }
                }
            }
        };
        Some((self.scratch_argument, i32::try_from(at).ok()?))
    }

    /// The place of the first of some elements that lie in memory side by side, in an argument that does not change.
    fn side_by_side(&self, aval: &Aval, elements: &[usize]) -> Option<Place> {
        let place =
            |v: usize| self.looped.reads.iter().find(|(other, _)| *other == v).map(|(_, place)| *place);
        let first = place(*elements.first()?).filter(|place| !place.moves)?;
        let width = aval.dtype.bytes();
        let follows = |(i, &v): (usize, &usize)| {
            let offset = i32::try_from(i * width).ok().and_then(|bytes| first.offset.checked_add(bytes));
            place(v).is_some_and(|other| Some(other) == offset.map(|offset| Place { offset, ..first }))
        };
        elements.iter().enumerate().all(follows).then_some(first)
    }

    /// What is done with the window of this number that does not fit: it is moved, after an error was raised, if it is one.
    fn nearest(
        &mut self,
        check: &Check,
        number: usize,
        of: &Aval,
        sizes: &[usize],
        starts: &[Position],
    ) -> Option<Otherwise> {
        // A branch that is not taken raises nothing.
        if self.both > 0 && check.raises() {
            return None;
        }
        if self.lanes.is_some() {
            return Some(self.leaves_lanes(check.raises(), starts.len()));
        }
        let mut calls = vec![];
        for &Position { v, axis, .. } in starts {
            let Some(run) = check.raiser(number, axis, of.shape[axis.0], sizes[axis.0]) else { continue };
            let aval = Aval::known(self.looped.chain.values[v].dtype, Shape::scalar());
            let (at, argument) = (self.place(aval.bytes()), self.scratch_argument);
            let place = Place { argument, offset: i32::try_from(at).ok()?, moves: false };
            calls.push((self.calls.len(), place));
            let layout = Layout::dense(&aval.shape);
            self.calls.push(Call {
                operands: vec![Block { aval, layout, argument, offset: at }],
                results: vec![],
                run,
            });
            self.raisers += 1;
        }
        Some(Otherwise::Nearest(calls))
    }

    /// Whether a window fits, where one that does not is left out.
    fn fits(&mut self, starts: &[Position]) -> usize {
        let yes = self.literal(Literal::new(Bool::TRUE));
        starts.iter().fold(yes, |fits, &Position { v, most, .. }| {
            let dtype = self.looped.chain.values[v].dtype;
            let [least, most] = [0, most].map(|n| self.literal(Literal::new(n).convert(dtype)));
            let above = self.op(native::Op::Ge, vec![v, least], DType::I1);
            let below = self.op(native::Op::Le, vec![v, most], DType::I1);
            let both = self.op(native::Op::And, vec![above, below], DType::I1);
            if fits == yes {
                both
            } else {
                self.op(native::Op::And, vec![fits, both], DType::I1)
            }
        })
    }

    /// The elements of a value of which windows are replaced at computed positions: in the scratch memory.
    pub(super) fn update(&mut self, node: &Node) -> Option<Arc<[usize]>> {
        let to = self.body.aval(node.operands[0]).clone();
        let Held::Elements(elements) = self.operand(node.operands[0])? else { return None };
        let (sizes, windows, by) = self.updates(node, &to)?;
        let is_scatter = node.op.get::<Scatter>().is_some();
        let ways =
            windows.iter().map(|((starts, _), _)| self.known_place(starts, node.op.raises() || is_scatter));
        if let Some(ways) = ways.collect::<Option<Vec<i32>>>() {
            let mut made = elements.to_vec();
            for (way, ((_, before), elements)) in ways.into_iter().zip(windows) {
                for (new, at) in placed(&to, &sizes, &elements, way.checked_add(before)?)? {
                    let old = &mut made[at as usize / to.dtype.bytes()];
                    *old = by.map_or(new, |op| self.op(op, vec![*old, new], to.dtype));
                }
            }
            return Some(made.into());
        }
        let is_new = |(_, new): &(Start, Vec<usize>)| new.clone();
        let starts = windows.iter().flat_map(|((starts, _), _)| starts.iter().copied());
        let (starts, new): (Vec<Position>, Vec<usize>) =
            (starts.collect(), windows.iter().flat_map(is_new).collect());
        if self.is_by_lanes(node.operands[0], &starts) || self.are_lanes(&new) {
            return self.update_lanes(node, &elements, (sizes, windows, by));
        }
        let at = self.stored(&to, &elements)?;
        let lie = Lie::dense(&to, self.scratch_argument, i32::try_from(at).ok()?)?;
        self.replace(node, &lie, &to, (sizes, windows, by))?;
        match self.read(&to, self.scratch_argument, at, to.dtype.bytes(), false)? {
            Held::Elements(elements) => Some(elements),
            _ => None,
        }
    }

    /// Replaces windows of a carried value in memory, and returns where that is.
    pub(super) fn put(&mut self, node: &Node) -> Option<Held> {
        let to = self.body.aval(node.operands[0]).clone();
        let Held::Whole(argument, _) = self.operand(node.operands[0])? else { return None };
        if argument >= self.carried {
            return None;
        }
        let updates = self.updates(node, &to)?;
        match self.lanes_of_input(argument) {
            Some(_) => self.replace_lanes(node, &to, (argument, 0), updates)?,
            None => self.replace(node, &Lie::dense(&to, argument, 0)?, &to, updates)?,
        }
        self.written.any = true;
        self.written.versions[argument] += 1;
        Some(Held::Whole(argument, self.written.versions[argument]))
    }

    /// The sizes of the windows that a node replaces, these with their elements, in order, and the op that makes the new
    /// element of what is there and this one, if there is one.
    fn updates(&mut self, node: &Node, to: &Aval) -> Option<Updates> {
        let part = if node.op.get::<Scatter>().is_some() { 2 } else { 1 };
        let of = self.body.aval(node.operands[part]).shape.clone();
        if of.size() > MAX_ELEMENTS {
            return None;
        }
        let Some(op) = node.op.get::<Scatter>() else {
            let starts = self.starts(to, &of, &node.operands[2..])?;
            let elements = self.elements(node.operands[part])?;
            return Some((of.to_vec(), vec![((starts, 0), elements.to_vec())], None));
        };
        let by = match op.update.by() {
            Some(op) => Some(op.instruction().filter(|&op| native::loop_has(op, to.dtype))?),
            None => None,
        };
        let sizes = op.sizes(to.shape.rank(), &of);
        let stack = self.stack(&op.windows, to, &sizes, node.operands[1])?;
        let elements = self.elements(node.operands[part])?;
        let own = stack.of(&op.windows, &of, &elements);
        Some((sizes, stack.starts.into_iter().zip(own).collect(), by))
    }

    /// Replaces windows of these sizes of what lies there, in order.
    pub(super) fn replace(
        &mut self,
        node: &Node,
        lie: &Lie,
        to: &Aval,
        (sizes, windows, by): Updates,
    ) -> Option<()> {
        let argument = lie.argument;
        let check = match (node.op.get::<DynamicUpdateSlice>(), node.op.get::<Scatter>()) {
            (Some(op), _) => op.check.clone(),
            (None, Some(op)) => op.check.clone(),
            (None, None) => return None,
        };
        let leaves_out = node.op.get::<Scatter>().is_some() && !check.raises();
        for (number, ((starts, way), mut elements)) in windows.into_iter().enumerate() {
            let otherwise = self.nearest(&check, number, to, &sizes, &starts)?;
            let starts = along(&starts, lie);
            if by.is_some() || leaves_out {
                let old: Vec<usize> = elements.iter().map(|_| self.element(to.dtype, Origin::Made)).collect();
                let there = lie.places(&sizes, &old, way)?;
                self.looped.steps.push(Step::Load(window(argument, &starts, otherwise.clone(), there)));
                let fits = if leaves_out { Some(self.fits(&starts)) } else { None };
                for (new, old) in elements.iter_mut().zip(old) {
                    let made = by.map_or(*new, |op| self.op(op, vec![old, *new], to.dtype));
                    *new = fits.map_or(made, |fits| self.chosen(fits, [made, old], to.dtype));
                }
            }
            let elements = lie.places(&sizes, &elements, way)?;
            self.looped.steps.push(Step::Put(window(argument, &starts, otherwise, elements)));
        }
        Some(())
    }

    /// Where the windows of a gather or a scatter are whose indices are these.
    fn stack(&mut self, windows: &Windows, of: &Aval, sizes: &[usize], indices: Value) -> Option<Stack> {
        let aval = self.body.aval(indices).clone();
        let numbers = self.elements(indices)?;
        if !matches!(aval.dtype, DType::I32 | DType::I64) || windows.index_map.is_empty() {
            return None;
        }
        let (strides, steps) = (of.shape.strides(), aval.shape.strides());
        let bytes = |axis: &Axis| i32::try_from(strides[axis.0] * of.dtype.bytes()).ok();
        let mut starts: Vec<Start> = vec![];
        let batches: Vec<usize> = windows.batches(&aval.shape).collect();
        for number in 0..windows.count(&aval.shape) {
            let (mut rest, mut first, mut way) = (number, 0, 0);
            for &axis in &batches {
                let index = rest % aval.shape[axis];
                (rest, first) = (rest / aval.shape[axis], first + index * steps[axis]);
                let batching = windows.batching.iter().zip(&windows.index_batching);
                for (axis, _) in batching.filter(|(_, other)| other.0 == axis) {
                    way += i32::try_from(index).ok()?.checked_mul(bytes(axis)?)?;
                }
            }
            let step = steps.get(windows.index_vector_axis.0).copied().unwrap_or(0);
            let component = |(i, axis): (usize, &Axis)| {
                let most = i32::try_from(of.shape[axis.0] - sizes[axis.0]).ok()?;
                Some(Position { v: numbers[first + i * step], most, bytes: bytes(axis)?, axis: *axis })
            };
            starts.push((windows.index_map.iter().enumerate().map(component).collect::<Option<_>>()?, way));
        }
        Some(Stack { starts, sizes: sizes.to_vec() })
    }

    /// Where a window is along each axis.
    fn starts(&mut self, of: &Aval, sizes: &[usize], starts: &[Value]) -> Option<Vec<Position>> {
        let mut made = vec![];
        for (axis, &start) in starts.iter().enumerate() {
            let most = i32::try_from(of.shape[axis] - sizes[axis]).ok()?;
            // A window of all elements is at the first.
            let is_first = matches!(self.body.def(start), Def::Literal(literal) if literal.convert(DType::I64).get::<i64>() == 0);
            if is_first && !(made.is_empty() && axis + 1 == starts.len()) {
                continue;
            }
            if !matches!(self.body.aval(start).dtype, DType::I32 | DType::I64) {
                return None;
            }
            let bytes = i32::try_from(of.shape.strides()[axis] * of.dtype.bytes()).ok()?;
            made.push(Position { v: self.elements(start)?[0], most, bytes, axis: Axis(axis) });
        }
        Some(made)
    }
}

/// Where a window is along an axis.
#[derive(Clone, Copy)]
pub(super) struct Position {
    /// The element with the number, the largest number that is in range, and the bytes between two.
    pub v: usize,
    pub most: i32,
    pub bytes: i32,
    pub axis: Axis,
}

/// Where a window is in what lies there.
pub(super) fn along(starts: &[Position], lie: &Lie) -> Vec<Position> {
    starts.iter().map(|start| Position { bytes: lie.strides[start.axis.0], ..*start }).collect()
}

/// Elements at a position in the buffer of an argument.
pub(super) fn window(
    argument: usize,
    starts: &[Position],
    otherwise: Otherwise,
    elements: Vec<(usize, i32)>,
) -> Window {
    Window {
        argument,
        starts: starts.iter().map(|start| (start.v, start.most, start.bytes)).collect(),
        otherwise,
        elements,
    }
}

/// Where a window is: along each axis, and the bytes from there on.
pub(super) type Start = (Vec<Position>, i32);

/// The sizes of windows, where each is with its elements, and the op by which elements are replaced.
pub(super) type Updates = (Vec<usize>, Vec<(Start, Vec<usize>)>, Option<native::Op>);

/// Windows of these sizes that a gather or a scatter stacks.
struct Stack {
    starts: Vec<Start>,
    sizes: Vec<usize>,
}

impl Stack {
    /// The elements of each window, of all those of a stack of this shape.
    fn of(&self, windows: &Windows, shape: &Shape, elements: &[usize]) -> Vec<Vec<usize>> {
        let (sizes, volume) = (Shape::try_new(self.sizes.clone()), self.sizes.iter().product::<usize>());
        let layout = Layout::dense(&sizes.expect("a part of an addressable shape"));
        let table = (0..self.starts.len()).map(|number| (number * volume) as isize).collect();
        let mut own = vec![vec![0; volume]; self.starts.len()];
        Targets { walk: windows.walk(shape, &layout), table }.each(0..elements.len(), |i, to| {
            own[to / volume][to % volume] = elements[i];
        });
        own
    }
}

/// The elements of a window of these sizes, with their distances in bytes from where it is found, which is so far before
/// the first.
fn placed(of: &Aval, sizes: &[usize], elements: &[usize], way: i32) -> Option<Vec<(usize, i32)>> {
    Lie::dense(of, 0, way)?.places(sizes, elements, 0)
}
