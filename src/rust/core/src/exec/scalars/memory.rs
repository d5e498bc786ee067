//! Values that stay in memory: windows of them are read at positions that are computed, and those of carried values
//! are replaced where they lie.
//!
//! An iteration that is left, as a window is out of range, is run again from its start by another executor. So
//! whatever may leave it comes before the first replacement. Replacements are done late: reads of what was there before
//! come first. One that comes after finds a later version of the value, and then there is no native code.

use super::{Held, Lowering, Node, MAX_ELEMENTS};
use crate::dtype::DType;
use crate::exec::vm::native::loops::{Step, Window};
use crate::exec::vm::native::Origin;
use crate::graph::{Def, Value};
use crate::ops::{DynamicSlice, DynamicUpdateSlice};
use crate::tensor::Aval;
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
        while let Some(node) =
            self.body.made_by(next).filter(|node| node.op.get::<DynamicUpdateSlice>().is_some())
        {
            next = node.operands[0];
        }
        next == v
    }

    fn has_windows(&self, v: Value, is_carried: bool, computed: &mut bool) -> bool {
        if self.body.outputs()[self.carried..].contains(&v) {
            return false;
        }
        self.body.nodes().iter().filter(|node| node.operands.contains(&v)).all(|node| {
            let is_update = node.op.get::<DynamicUpdateSlice>().is_some();
            if node.operands[0] != v || !is_update && node.op.get::<DynamicSlice>().is_none() {
                return false;
            }
            let (parts, starts) = node.operands[1..].split_at(usize::from(is_update));
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

    /// A window of an operand that is in memory; that of another one is called for.
    pub(super) fn window(&mut self, op: &DynamicSlice, node: &Node, result: &Aval) -> Option<Arc<[usize]>> {
        let from = self.body.aval(node.operands[0]).clone();
        let Held::Whole(argument, _) = self.operand(node.operands[0])? else { return None };
        let starts = self.starts(&from, &op.sizes, &node.operands[1..])?;
        let checked = self.check(&starts)?;
        let elements: Arc<[usize]> =
            (0..result.shape.size()).map(|_| self.element(result.dtype, Origin::Made)).collect();
        let elements_at = placed(&from, &op.sizes, &elements)?;
        self.looped.steps.push(Step::Load(Window { argument, starts, checked, elements: elements_at }));
        Some(elements)
    }

    /// Replaces a window of a carried value in memory, and returns where that is.
    pub(super) fn put(&mut self, node: &Node) -> Option<Held> {
        let to = self.body.aval(node.operands[0]).clone();
        let part = self.body.aval(node.operands[1]).shape.clone();
        let Held::Whole(argument, _) = self.operand(node.operands[0])? else { return None };
        if argument >= self.carried || part.size() > MAX_ELEMENTS {
            return None;
        }
        let elements = self.elements(node.operands[1])?;
        let starts = self.starts(&to, &part, &node.operands[2..])?;
        let elements = placed(&to, &part, &elements)?;
        if !self.written.any() {
            self.written.first = Some(self.looped.steps.len());
        }
        let checked = self.check(&starts)?;
        self.looped.steps.push(Step::Put(Window { argument, starts, checked, elements }));
        self.written.versions[argument] += 1;
        Some(Held::Whole(argument, self.written.versions[argument]))
    }

    /// For each axis, the element with the number of a window, the largest in range, and the bytes between two.
    fn starts(&mut self, of: &Aval, sizes: &[usize], starts: &[Value]) -> Option<Vec<(usize, i32, i32)>> {
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
            made.push((self.elements(start)?[0], most, bytes));
        }
        Some(made)
    }

    /// Has numbers checked before the first replacement, if there was one; whether they are.
    fn check(&mut self, starts: &[(usize, i32, i32)]) -> Option<bool> {
        let Some(first) = self.written.first else { return Some(false) };
        if starts.iter().any(|&(v, ..)| self.written.made[v] > first) {
            return None;
        }
        let numbers = starts.iter().map(|&(v, most, _)| (v, most)).collect();
        self.looped.steps.insert(first, Step::Check(numbers));
        self.written.first = Some(first + 1);
        self.written.made.iter_mut().filter(|steps| **steps > first).for_each(|steps| *steps += 1);
        Some(true)
    }
}

/// The elements of a window of these sizes, with their distances from the first in bytes.
fn placed(of: &Aval, sizes: &[usize], elements: &[usize]) -> Option<Vec<(usize, i32)>> {
    let mut offsets = vec![0];
    for (&size, stride) in sizes.iter().zip(of.shape.strides()) {
        let stride = stride * of.dtype.bytes();
        offsets = (0..size).flat_map(|i| offsets.iter().map(move |at| at + i * stride)).collect();
    }
    elements.iter().zip(offsets).map(|(&v, at)| Some((v, i32::try_from(at).ok()?))).collect()
}
