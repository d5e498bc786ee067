//! Loops on lanes ([`passes::lanes`](crate::passes::lanes)): each element of the body on one lane is a vector of the elements
//! of as many lanes as fill a register. What differs in no lane is an element as ever, until it meets a vector.
//!
//! All vectors have as many lanes: where some elements have 8 bytes, vectors of elements of 4 bytes have each lane twice.
//! Masks are as wide as the widest elements, and narrower for ops on others.

use super::memory::{along, window, Position, Updates};
use super::mode::Mode;
use super::values::{Held, Lie};
use super::{Lowering, Node, Roles, MAX_ELEMENTS};
use crate::dtype::DType;
use crate::exec::vm::native::lanes::{leave, Along, Copied, Moved};
use crate::exec::vm::native::loops::{Carried, Otherwise, Place, Step};
use crate::exec::vm::native::{self, MicroOp, Origin, LOOP_VECTOR};
use crate::graph::Value;
use crate::shape::Axis;
use crate::tensor::{Aval, Literal};
use std::sync::Arc;

/// Elements of a lane that are not worth to be stored where windows of them are: each may be what is replaced.
const NEAR: usize = 4;

/// Elements of a lane in memory, at most: those of a vector of lanes are in the first-level cache.
const MAX_LYING: usize = 1 << 10;

/// Whether there are instructions for a conversion of vectors.
fn converts(from: DType, to: DType) -> bool {
    use DType::*;
    matches!((from, to), (I1, _) | (I32, F32 | F64 | I64) | (F32, F64) | (F64, F32) | (I64, I32))
}

impl<'a> Lowering<'a> {
    /// Whether an element is a vector of lanes.
    fn is_lanes(&self, v: usize) -> bool {
        self.vectors.bytes.contains_key(&v)
    }

    fn dtype(&self, v: usize) -> DType {
        self.looped.chain.values[v].dtype
    }

    /// A new vector of lanes.
    fn new_lanes(&mut self, dtype: DType, bytes: usize) -> usize {
        let vector = self.element(dtype, Origin::Made);
        self.is_vector(vector, bytes);
        vector
    }

    /// Operands as vectors, if one of them is one and the op has instructions for these; with the bytes of the lanes that it
    /// computes with.
    pub(super) fn lifted(&mut self, op: native::Op, operands: Vec<usize>) -> (Vec<usize>, Option<usize>) {
        let Some(mode) = self.lanes.as_ref() else { return (operands, None) };
        if matches!(op, native::Op::Masks(_) | native::Op::Lane(..))
            || !operands.iter().any(|&v| self.is_lanes(v))
        {
            return (operands, None);
        }
        let mask = mode.mask;
        let others = || operands.iter().map(|&v| self.dtype(v)).find(|&dtype| dtype != DType::I1);
        let bytes = match op {
            native::Op::Convert(to) if self.dtype(operands[0]) == DType::I1 => to.bytes(),
            _ => others().map_or(mask, DType::bytes),
        };
        if matches!(op, native::Op::Convert(to) if !converts(self.dtype(operands[0]), to)) {
            self.refused = true;
        }
        let lifted = operands.into_iter().map(|v| self.as_lanes(v)).collect::<Vec<_>>();
        let masks = |to: &mut Self, v: usize| if to.dtype(v) == DType::I1 { to.mask_of(v, bytes) } else { v };
        (lifted.into_iter().map(|v| masks(self, v)).collect(), Some(bytes))
    }

    /// An element as a vector; a literal is one.
    fn as_lanes(&mut self, v: usize) -> usize {
        if self.is_lanes(v) || self.known_literal(v).is_some() {
            return v;
        }
        let bytes = self.lanes.as_ref().expect("there are lanes").bytes(self.dtype(v));
        self.vector(vec![v; LOOP_VECTOR / bytes], bytes)
    }

    /// A mask with lanes of so many bytes.
    fn mask_of(&mut self, v: usize, bytes: usize) -> usize {
        match self.vectors.bytes.get(&v) {
            Some(&own) if own != bytes => {
                let made = self.op(native::Op::Masks(bytes as u8), vec![v], DType::I1);
                self.vectors.bytes.insert(made, bytes);
                made
            }
            _ => v,
        }
    }

    /// Notes that an op that computed with lanes of so many bytes made a vector; it, with masks as all others.
    pub(super) fn of_lanes(&mut self, made: usize, bytes: Option<usize>) -> usize {
        let (Some(bytes), Some(mode)) = (bytes, self.lanes.as_ref()) else { return made };
        let mask = mode.mask;
        let dtype = self.dtype(made);
        self.vectors.bytes.insert(made, if dtype == DType::I1 { bytes } else { dtype.bytes() });
        match dtype {
            DType::I1 => self.mask_of(made, mask),
            _ => made,
        }
    }

    /// The elements of a vector, one for each lane.
    fn each_lane(&mut self, v: usize) -> Vec<usize> {
        let count = self.lanes.as_ref().expect("there are lanes").count;
        let Some(&bytes) = self.vectors.bytes.get(&v) else { return vec![v; count] };
        let dtype = self.dtype(v);
        let before = self.looped.steps.len();
        let each = |lane: usize| self.op(native::Op::Lane(lane as u8, bytes as u8), vec![v], dtype);
        let made = (0..count).map(each).collect();
        self.vectors.lanes += self.looped.steps.len() - before;
        made
    }

    /// The vector of elements of so many lanes.
    fn of_each_lane(&mut self, elements: &[usize]) -> usize {
        let bytes = self.lanes.as_ref().expect("there are lanes").bytes(self.dtype(elements[0]));
        self.vector(elements.iter().copied().cycle().take(LOOP_VECTOR / bytes).collect(), bytes)
    }

    /// The axis of an input of the body along which it has lanes.
    pub(super) fn lanes_of_input(&self, argument: usize) -> Option<Axis> {
        self.lanes.as_ref()?.of.inputs[argument]
    }

    /// An input that has lanes along this axis: vectors, which are copied to where they lie side by side, and stay there if
    /// windows of them alone are read and replaced; or joined of what is read where it lies, if the input is a slice. `None`
    /// if there are too many.
    pub(super) fn input_lanes(
        &mut self,
        argument: usize,
        input: Value,
        axis: Axis,
        roles: &Roles,
    ) -> Option<Held> {
        let aval = self.body.aval(input).clone();
        let mode = self.lanes.as_ref()?;
        let (count, bytes, all) = (mode.count, mode.bytes(aval.dtype), mode.all);
        let (offsets, stride) = Mode::offsets(all.aval(all.inputs()[argument]), axis);
        let is_carried = argument < roles.carried;
        let is_slice = !is_carried && argument < roles.carried + roles.sliced;
        let stays = !is_slice && offsets.len() > NEAR && self.is_in_memory(argument, input);
        if offsets.len() > if stays { MAX_LYING } else { MAX_ELEMENTS } {
            return None;
        }
        if is_slice {
            let size = all.aval(all.inputs()[argument]).shape.size();
            let (each, places) = self.moved((&offsets, stride), argument, (aval.dtype, size), roles)?;
            let read = |to: &mut Self, place: Place| {
                let element = to.element(aval.dtype, Origin::Made);
                to.looped.reads.push((element, place));
                element
            };
            let mut made = vec![];
            for places in places.chunks(count) {
                let elements: Vec<usize> = places.iter().map(|&place| read(self, place)).collect();
                made.push(self.of_each_lane(&elements));
            }
            self.looped.arguments.push((each, false));
            return Some(Held::Elements(made.into()));
        }
        self.looped.arguments.push((offsets.len() * LOOP_VECTOR, is_carried));
        let mut made = vec![];
        for i in 0..if stays { 0 } else { offsets.len() } {
            let vector = self.new_lanes(aval.dtype, bytes);
            if !is_carried {
                self.looped.reads.push((vector, vector_place(argument, 0, i)?));
            }
            made.push(vector);
        }
        let copied = Copied { offsets, stride, dtype: aval.dtype, lane: bytes };
        self.lanes.as_mut()?.along.push(Along::Copied(copied));
        Some(if stays { Held::Whole(argument, 0) } else { Held::Elements(made.into()) })
    }

    /// The places of slices of so many elements, of all lanes of each element, and the bytes of the argument from the first
    /// lane on.
    fn moved(
        &mut self,
        (offsets, stride): (&[usize], usize),
        argument: usize,
        (dtype, all): (DType, usize),
        roles: &Roles,
    ) -> Option<(usize, Vec<Place>)> {
        let mode = self.lanes.as_mut()?;
        // Those of an iteration are side by side, or those of all iterations are.
        let width = if roles.last { dtype.bytes() } else { roles.length * dtype.bytes() };
        let moves = !roles.last;
        let place =
            |at: usize| Some(Place { argument, offset: i32::try_from(at.checked_mul(width)?).ok()?, moves });
        let count = mode.count;
        let lanes = |&offset: &usize| (0..count).map(move |lane| offset + lane * stride);
        let places = offsets.iter().flat_map(lanes).map(place).collect::<Option<Vec<_>>>()?;
        let last = offsets.iter().max()? + (count - 1) * stride;
        mode.along.push(Along::Moved(Moved { lane: stride * width }));
        let mut bytes = (last + 1) * width;
        if roles.last {
            let slice = all * dtype.bytes();
            self.looped.strides.push((argument, i32::try_from(slice).ok()?));
            bytes += roles.length.saturating_sub(1) * slice;
        }
        Some((bytes, places))
    }

    /// Has the loop carry vectors, of which these are the next ones.
    pub(super) fn carry_lanes(&mut self, argument: usize, from: &[usize], to: &[usize]) -> Option<()> {
        for (i, (&value, &next)) in from.iter().zip(to).enumerate() {
            let (next, place) = (self.whole_lanes(next), vector_place(argument, 0, i)?);
            self.looped.carried.push(Carried { value, next, place });
        }
        Some(())
    }

    /// A vector, also of a literal.
    fn whole_lanes(&mut self, v: usize) -> usize {
        if self.is_lanes(v) {
            return v;
        }
        let bytes = self.lanes.as_ref().expect("there are lanes").bytes(self.dtype(v));
        let vector = self.new_lanes(self.dtype(v), bytes);
        let (op, operands) = (native::Op::Join(bytes as u8), vec![v; LOOP_VECTOR / bytes]);
        self.looped.steps.push(Step::Op(MicroOp { op, operands, result: vector }));
        vector
    }

    /// Stores the elements of the output of this number, which is stacked, or has the loop go on while one of its lanes is
    /// true, if that is tested; `false` if it is the same for all lanes.
    pub(super) fn output_lanes(&mut self, number: usize, output: Value, roles: &Roles) -> Option<bool> {
        let Some(mode) = self.lanes.as_ref() else { return Some(false) };
        let Some(axis) = mode.of.outputs[number] else { return Some(false) };
        let all = mode.all;
        let (aval, elements) = (self.body.aval(output).clone(), self.elements(output)?);
        if roles.tested {
            let lanes = self.each_lane(*elements.first()?);
            let either = |x: usize, y: usize| self.op(native::Op::Or, vec![x, y], DType::I1);
            let (any, argument) = (lanes.into_iter().reduce(either)?, self.looped.arguments.len());
            self.same_for_lanes(None);
            self.looped.arguments.push((1, true));
            self.looped.steps.push(Step::Store(any, Place { argument, offset: 0, moves: false }));
            self.looped.test = Some((any, argument));
            return Some(true);
        }
        let (offsets, stride) = Mode::offsets(all.aval(all.outputs()[number]), axis);
        let argument = self.looped.arguments.len();
        let size = all.aval(all.outputs()[number]).shape.size();
        let (bytes, places) = self.moved((&offsets, stride), argument, (aval.dtype, size), roles)?;
        self.looped.arguments.push((bytes, true));
        let mut places = places.into_iter();
        for &element in &*elements {
            for lane in self.each_lane(element) {
                self.looped.steps.push(Step::Store(lane, places.next()?));
            }
        }
        Some(true)
    }

    /// Notes an argument that is the same for all lanes, so many bytes of which are copied for each if it is carried.
    pub(super) fn same_for_lanes(&mut self, bytes: Option<usize>) {
        if let Some(mode) = self.lanes.as_mut() {
            mode.along.push(bytes.map_or(Along::Same, Along::State));
        }
    }

    /// Whether a window is found in each lane by itself: one of its starts differs between lanes, or its elements do.
    pub(super) fn is_by_lanes(&mut self, v: Value, starts: &[Position]) -> bool {
        if self.lanes.is_none() {
            return false;
        }
        self.has_lanes(v) || starts.iter().any(|start| self.is_lanes(start.v))
    }

    /// Whether a value differs between lanes.
    pub(super) fn has_lanes(&mut self, v: Value) -> bool {
        self.lanes.is_some()
            && match self.operand(v) {
                Some(Held::Elements(elements)) => self.are_lanes(&elements),
                Some(Held::Whole(argument, _)) => self.lanes_of_input(argument).is_some(),
                _ => false,
            }
    }

    /// Whether some elements are vectors of lanes.
    pub(super) fn are_lanes(&self, elements: &[usize]) -> bool {
        self.lanes.is_some() && elements.iter().any(|&v| self.is_lanes(v))
    }

    /// Where a value lies for each lane: the vectors of its elements follow one another, or it is the same for all. With the
    /// bytes between two lanes.
    fn lie_of_lanes(&mut self, v: Value) -> Option<(Lie, usize)> {
        let aval = self.body.aval(v).clone();
        let bytes = self.lanes.as_ref()?.bytes(aval.dtype);
        match self.operand(v)? {
            Held::Elements(elements) if self.are_lanes(&elements) => {
                let first = self.store_lanes(&elements)?;
                Some((lie_of_vectors(&aval, self.scratch_argument, first)?, bytes))
            }
            Held::Whole(argument, _) if self.lanes_of_input(argument).is_some() => {
                Some((lie_of_vectors(&aval, argument, 0)?, bytes))
            }
            _ if aval.dtype == DType::I1 => None,
            _ => Some((self.lie(v)?, 0)),
        }
    }

    /// Stores vectors in the scratch memory; the place of the first.
    fn store_lanes(&mut self, elements: &[usize]) -> Option<i32> {
        let first = i32::try_from(self.place(elements.len() * LOOP_VECTOR)).ok()?;
        for (i, &v) in elements.iter().enumerate() {
            let vector = self.whole_lanes(v);
            let place = vector_place(self.scratch_argument, first, i)?;
            self.looped.steps.push(Step::Store(vector, place));
        }
        Some(first)
    }

    /// The dtype as which single lanes are read and written: masks are integers there.
    fn as_read(&self, dtype: DType) -> DType {
        match (dtype, self.lanes.as_ref().map(|mode| mode.mask)) {
            (DType::I1, Some(8)) => DType::I64,
            (DType::I1, _) => DType::I32,
            _ => dtype,
        }
    }

    /// A vector as one of the dtype that it is written as.
    fn as_written(&mut self, v: usize) -> usize {
        let dtype = self.dtype(v);
        if dtype != DType::I1 {
            return v;
        }
        let to = self.as_read(dtype);
        let mask = self.whole_lanes(v);
        let ones = self.op(native::Op::Convert(to), vec![mask], to);
        self.op(native::Op::Negate, vec![ones], to)
    }

    /// What was read, as a vector of this dtype.
    fn of_read(&mut self, v: usize, dtype: DType) -> usize {
        if dtype != DType::I1 {
            return v;
        }
        let zero = self.literal(Literal::new(0).convert(self.as_read(dtype)));
        self.op(native::Op::Ne, vec![v, zero], DType::I1)
    }

    /// The elements of a window of these sizes, which is in the buffer of an argument at a computed position, in each lane.
    pub(super) fn window_of_lanes(
        &mut self,
        v: Value,
        sizes: &[usize],
        (starts, way): (&[Position], usize),
        raises: bool,
    ) -> Option<Vec<usize>> {
        if self.both > 0 && raises {
            return None;
        }
        let (lie, lane) = self.lie_of_lanes(v)?;
        let made = self.body.aval(v).dtype;
        let dtype = self.as_read(made);
        let way = i32::try_from(way * if lane == 0 { dtype.bytes() } else { LOOP_VECTOR }).ok()?;
        let size = sizes.iter().product::<usize>();
        if lane > 0 && !starts.iter().any(|start| self.is_lanes(start.v)) {
            let own: Vec<usize> = (0..size).map(|_| self.new_lanes(made, lane)).collect();
            let elements = lie.places(sizes, &own, way)?;
            self.load_window(&lie, &along(starts, &lie), elements, raises);
            return Some(own);
        }
        let mut lanes: Vec<Vec<usize>> = vec![vec![]; size];
        for (number, starts) in self.starts_of_lanes(&along(starts, &lie)).into_iter().enumerate() {
            let own: Vec<usize> = (0..size).map(|_| self.element(dtype, Origin::Made)).collect();
            let behind = way.checked_add(i32::try_from(number * lane).ok()?)?;
            let elements = lie.places(sizes, &own, behind)?;
            lanes.iter_mut().zip(own).for_each(|(lanes, v)| lanes.push(v));
            self.load_window(&lie, &starts, elements, raises);
        }
        let joined = |lanes: &Vec<usize>| {
            let v = self.of_each_lane(lanes);
            self.of_read(v, made)
        };
        Some(lanes.iter().map(joined).collect())
    }

    fn load_window(&mut self, lie: &Lie, starts: &[Position], elements: Vec<(usize, i32)>, raises: bool) {
        let otherwise = self.leaves_lanes(raises, starts.len());
        self.looped.steps.push(Step::Load(window(lie.argument, starts, otherwise, elements)));
    }

    /// Where a window is in each lane.
    pub(super) fn starts_of_lanes(&mut self, starts: &[Position]) -> Vec<Vec<Position>> {
        let count = self.lanes.as_ref().expect("there are lanes").count;
        let mut lanes = vec![vec![]; count];
        for start in starts {
            for (lane, v) in lanes.iter_mut().zip(self.each_lane(start.v)) {
                lane.push(Position { v, ..*start });
            }
        }
        lanes
    }

    /// What is done with positions out of range: they are moved, after the lanes were left if they are an error.
    pub(super) fn leaves_lanes(&mut self, raises: bool, count: usize) -> Otherwise {
        let mut calls = vec![];
        for _ in 0..if raises { count } else { 0 } {
            let offset = self.place(8) as i32;
            calls.push((self.calls.len(), Place { argument: self.scratch_argument, offset, moves: false }));
            self.calls.push(leave());
            self.raisers += 1;
        }
        Otherwise::Nearest(calls)
    }

    /// The elements of a value of which windows are replaced at positions that differ between lanes, or in vectors.
    pub(super) fn update_lanes(
        &mut self,
        node: &Node,
        elements: &[usize],
        updates: Updates,
    ) -> Option<Arc<[usize]>> {
        let to = self.body.aval(node.operands[0]).clone();
        let first = self.store_lanes(elements)?;
        self.replace_lanes(node, &to, (self.scratch_argument, first), updates)?;
        let bytes = self.lanes.as_ref()?.bytes(to.dtype);
        let mut made = vec![];
        for i in 0..elements.len() {
            let vector = self.new_lanes(to.dtype, bytes);
            self.looped.reads.push((vector, vector_place(self.scratch_argument, first, i)?));
            made.push(vector);
        }
        Some(made.into())
    }

    /// Replaces windows of a value of this type, whose vectors follow one another from a byte of an argument on.
    pub(super) fn replace_lanes(
        &mut self,
        node: &Node,
        to: &Aval,
        (argument, first): (usize, i32),
        (sizes, windows, by): Updates,
    ) -> Option<()> {
        let lie = lie_of_vectors(to, argument, first)?;
        let bytes = self.lanes.as_ref()?.bytes(to.dtype);
        let mut of_lanes = vec![];
        for ((starts, way), new) in windows {
            let way = way / to.dtype.bytes() as i32 * LOOP_VECTOR as i32;
            let mut lanes: Vec<Vec<usize>> = vec![];
            for v in new {
                let v = self.as_written(v);
                lanes.push(self.each_lane(v));
            }
            for (lane, starts) in self.starts_of_lanes(&starts).into_iter().enumerate() {
                let behind = way.checked_add(i32::try_from(lane * bytes).ok()?)?;
                of_lanes.push(((starts, behind), lanes.iter().map(|lanes| lanes[lane]).collect()));
            }
        }
        if by.is_some() && to.dtype == DType::I1 {
            return None;
        }
        let as_written = Aval::known(self.as_read(to.dtype), to.shape.clone());
        self.replace(node, &lie, &as_written, (sizes, of_lanes, by))
    }
}

/// The place of the vector of this number, where they follow one another from a byte of an argument on.
fn vector_place(argument: usize, first: i32, number: usize) -> Option<Place> {
    let offset = i32::try_from(number * LOOP_VECTOR).ok()?.checked_add(first)?;
    Some(Place { argument, offset, moves: false })
}

/// Where vectors of a value of this type follow one another, from a byte of an argument on.
fn lie_of_vectors(aval: &Aval, argument: usize, base: i32) -> Option<Lie> {
    let bytes = |stride: usize| i32::try_from(stride * LOOP_VECTOR).ok();
    let strides = aval.shape.strides().into_iter().map(bytes).collect::<Option<_>>()?;
    Some(Lie { argument, base, strides })
}
