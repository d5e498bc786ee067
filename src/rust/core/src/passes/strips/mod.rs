//! Loops whose iterations compute the elements along an axis independently of one another, such as paths of a
//! simulation, series or examples, become independent loops on *strips* of these, which threads share. A strip goes
//! through all iterations before the next one does: its state stays in a cache, and what it reads and writes of long
//! values too.
//!
//! The loop on strips is a loop without a state, whose iterations are strips: values whose strips are contiguous are
//! sliced, of others it copies its strip. Only the engine runs this pass.

mod axes;
mod lanes;

use super::slices::transpose_of_readers;
use super::{optimise, rebuilt};
use crate::dtype::{DType, Ranked};
use crate::error::Result;
use crate::graph::Value;
use crate::kernels::threads::pool::WORTH_SHARING;
use crate::ops::layout::Order;
use crate::ops::{
    Binary, Builder, Check, Concatenate, Control, DynamicSlice, Graph, Iota, Reshape, Scan, StaticSlice,
    Transpose,
};
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, Literal};
pub(super) use axes::strip;
use axes::{before, Axes, Bodies, Place};
pub use lanes::{lanes, Lanes};
use std::ops::Range;
use std::sync::Arc;

/// What decides whether and how loops are cut.
#[derive(Clone, Copy, Debug)]
pub struct Cuts {
    /// Picoseconds, estimated, from which on a loop is worth it.
    pub worth: usize,
    /// Picoseconds that an iteration of a strip takes, at least: to begin one takes some tens of nanoseconds for each
    /// step of the body.
    pub iteration: usize,
    /// Bytes of a strip, at most, unless iterations were shorter: a part of a core's second cache.
    pub cache: usize,
    /// Elements that an iteration may compute for each strip anew.
    pub whole: usize,
    /// Whether loops are cut also where that is not faster.
    pub always: bool,
}

impl Cuts {
    /// Those of the engine (measured on an AMD EPYC, Zen 5).
    pub const HERE: Cuts =
        Cuts { worth: 2 * WORTH_SHARING, iteration: 400_000, cache: 1 << 19, whole: 1 << 6, always: false };
}

/// Strips of a loop, if its bytes do not ask for more: enough for threads to end at about the same time.
const SHARES: usize = 16;

/// Elements of a strip are a multiple of this many, unless all strips are of one size: those of a cache line of bytes.
const LINE: usize = 64;

/// Estimated picoseconds to read or write a byte of a state or a slice.
const BYTE: usize = 10;

/// Those to move a byte of slices: all of them in memory, to where those of an iteration are side by side or to where
/// those of all strips are; and those of a strip, between a cache and another place there.
const MOVED: usize = 160;
const TURNED: usize = 60;
const COPIED: usize = 30;

/// The part of its time that a loop takes on strips, for a second thread at least shares them.
const SHARED: (usize, usize) = (6, 10);

/// How much shorter than they should be iterations may be if a strip fits into the cache then.
const SHORTER: usize = 4;

/// Picoseconds that an iteration computes on strips for each element that it computes for each strip anew, at least.
const WHOLE: usize = 100_000;

/// Iterations of a loop that is worth it, at least.
const MIN_LENGTH: usize = 4;

/// The graph with loops on strips; `None` if there are none.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub fn strips(graph: &Graph, cuts: Cuts) -> Result<Option<Graph>> {
    let mut found = false;
    let made = rebuilt(graph, |b, number, operands| {
        let op = &graph.nodes()[number].op;
        let Some(Control::Scan(op)) = op.control() else { return Ok(None) };
        let effect = graph.nodes()[number].op.has_effect();
        if effect || op.carried == 0 || op.length < MIN_LENGTH || most(op) < cuts.worth {
            return Ok(None);
        }
        let readers: Vec<Readers> =
            graph.nodes()[number].results.iter().map(|&v| Readers::of(graph, v)).collect();
        let made = cut(b, op, operands, &readers, cuts)?;
        found |= made.is_some();
        Ok(made)
    })?;
    match found {
        true => optimise(&made).map(Some),
        false => Ok(None),
    }
}

/// How a value is read.
struct Readers {
    /// The order of axes in which alone it is, if that is another one.
    order: Option<Vec<Axis>>,
    /// Whether it is a result of the graph, in this order.
    is_output: bool,
}

impl Readers {
    fn of(graph: &Graph, v: Value) -> Readers {
        let (order, read) = match transpose_of_readers(graph, v) {
            Some((op, read)) => (Some(op.permutation.clone()), read),
            None => (None, v),
        };
        Readers { order, is_output: graph.outputs().contains(&read) }
    }
}

/// The results of a loop by one on strips, if that is worth it; `readers` says how they are read.
fn cut(
    b: &mut Builder,
    op: &Scan,
    operands: &[Value],
    readers: &[Readers],
    cuts: Cuts,
) -> Result<Option<Vec<Value>>> {
    let (body, extra) = counted(&op.body)?;
    let op = Scan { body: Arc::new(body), ..op.clone() };
    let bodies = Bodies::of(&op.body, op.carried);
    for &seed in &op.body.inputs()[..op.carried] {
        let shape = &op.body.aval(seed).shape;
        for axis in (0..shape.rank()).rev().filter(|&axis| shape[axis] > 1) {
            let axes = Axes::of(&bodies, (seed, Axis(axis))).filter(|axes| !axes.number_strips());
            let Some(axes) = axes else { continue };
            let mut looped = Loop { op: &op, axes: &axes, operands: operands.to_vec(), readers };
            let Some(size) = looped.size(b, cuts) else { continue };
            for (place, iota) in extra {
                looped.operands.insert(place, b.node1(iota, &[])?);
            }
            return looped.on_strips(b, size).map(Some);
        }
    }
    Ok(None)
}

/// Picoseconds that a loop may take at most, by the elements of its values: most loops are short, and it is not looked
/// further how they could be cut.
fn most(op: &Scan) -> usize {
    /// Those of an element, at most.
    const ELEMENT: usize = 20_000;
    let body = &op.body;
    let elements = body.values().map(|v| body.aval(v).shape.size()).fold(0, usize::saturating_add);
    match body.nodes().iter().any(|node| node.op.has_regions()) {
        true => usize::MAX,
        false => elements.saturating_mul(op.length).saturating_mul(ELEMENT),
    }
}

/// The body with more inputs for what counts along an axis, which is not the same for all strips; and what makes these,
/// with their places among the inputs, in order: inputs of a body may come after a node that counts.
fn counted(body: &Graph) -> Result<(Graph, Vec<(usize, Iota)>)> {
    let mut found: Vec<(Iota, Value)> = vec![];
    let made = rebuilt(body, |b, number, _| {
        let Some(op) = body.nodes()[number].op.get::<Iota>() else { return Ok(None) };
        if op.shape.size() <= 1 {
            return Ok(None);
        }
        let input = b.input(Aval::new(op.to, op.shape.clone()));
        found.push((op.clone(), input));
        Ok(Some(vec![input]))
    })?;
    let place = |v: Value| made.inputs().iter().position(|&input| input == v).expect("it is an input");
    let counts = found.into_iter().map(|(op, v)| (place(v), op)).collect();
    Ok((made, counts))
}

/// A loop whose values are strips along these axes.
struct Loop<'a> {
    op: &'a Scan,
    axes: &'a Axes<'a>,
    operands: Vec<Value>,
    readers: &'a [Readers],
}

/// Of what an operand is made where it is cut: the value that it is a transpose of, with the order of axes, or itself;
/// and the axis along which that is a strip.
struct Source {
    value: Value,
    order: Option<Vec<Axis>>,
    axis: Option<Axis>,
}

impl Loop<'_> {
    /// The axis along which an operand is a strip: one that is sliced has an axis more.
    fn of_operand(&self, i: usize) -> Option<Axis> {
        let is_sliced = (self.op.carried..self.op.carried + self.op.sliced).contains(&i);
        self.outside(self.axes.get(Place(0, self.op.body.inputs()[i]))?, is_sliced)
    }

    fn of_result(&self, i: usize) -> Option<Axis> {
        self.outside(self.axes.get(Place(0, self.op.body.outputs()[i]))?, i >= self.op.carried)
    }

    fn outside(&self, axis: Axis, is_sliced: bool) -> Option<Axis> {
        axis.0.checked_add_signed(before(self.op, is_sliced)).map(Axis)
    }

    /// The axis along which a result is a strip as it is read, and the number of its axes.
    fn of_read(&self, i: usize) -> Option<(Axis, usize)> {
        let axis = self.of_result(i)?;
        let rank =
            self.op.body.aval(self.op.body.outputs()[i]).shape.rank() + usize::from(i >= self.op.carried);
        let order = self.readers[i].order.as_ref();
        let read = order.map_or(Some(axis.0), |order| order.iter().position(|&from| from == axis));
        Some((Axis(read?), rank))
    }

    /// A result in the order in which it is read, if it is made of strips.
    fn as_read(&self, b: &mut Builder, i: usize, v: Value) -> Result<Value> {
        match (self.of_result(i), &self.readers[i].order) {
            (Some(_), Some(order)) => b.node1(Transpose { permutation: order.clone() }, &[v]),
            _ => Ok(v),
        }
    }

    /// Elements of a strip; `None` if strips are not worth it.
    fn size(&self, b: &Builder, cuts: Cuts) -> Option<usize> {
        let (op, body, axes) = (self.op, &self.op.body, self.axes);
        let bytes = |values: &[Value]| -> usize {
            values.iter().filter(|&&v| axes.get(Place(0, v)).is_some()).map(|&v| body.aval(v).bytes()).sum()
        };
        let (inputs, outputs) = (body.inputs(), body.outputs());
        let (state, rest) = inputs.split_at(op.carried);
        let (sliced, rest) = rest.split_at(op.sliced);
        let (state, slices) = (2 * bytes(state), bytes(sliced) + bytes(&outputs[op.carried..]));
        let (whole, computed) = axes.costs();
        let iteration = computed.saturating_add((state + slices).saturating_mul(BYTE));
        let most = cuts.whole.max(computed / WHOLE);
        let time = iteration.saturating_mul(op.length);
        let (loops, strips) = self.moves(b);
        let faster = loops.saturating_add(time) > strips.saturating_add(time / SHARED.1 * SHARED.0);
        if whole > most || time < cuts.worth || !faster && !cuts.always {
            return None;
        }
        let n = axes.size;
        let share = |part: usize, of: usize| (n as u128 * part as u128).div_ceil(of.max(1) as u128) as usize;
        let all = slices.saturating_mul(op.length).saturating_add(state + bytes(rest));
        let (cached, full) = (share(cuts.cache, all), share(cuts.iteration, iteration));
        let size = cached.min(n.div_ceil(SHARES)).max(full.min(cached.max(full / SHORTER))).max(1);
        let count = n / size;
        if count < 2 {
            return None;
        }
        // Strips of one size if there are about as many.
        let equal = (count / 2 + 1..=count).rev().find(|count| n % count == 0);
        Some(equal.map_or_else(|| size.next_multiple_of(LINE), |count| n / count))
            .filter(|size| 2 * size <= n)
    }

    /// Estimated picoseconds to move slices: of the loop as it is, and of that on strips.
    fn moves(&self, b: &Builder) -> (usize, usize) {
        let (op, body) = (self.op, &self.op.body);
        let (mut loops, mut strips) = (0_usize, 0_usize);
        let mut add = |bytes: usize, one: usize, other: usize| {
            loops = loops.saturating_add(bytes.saturating_mul(one));
            strips = strips.saturating_add(bytes.saturating_mul(other));
        };
        for i in op.carried..op.carried + op.sliced {
            let Source { value: v, axis: Some(axis), .. } = self.source(b, i) else { continue };
            let is_last = axis.0 + 1 == b.graph().aval(v).shape.rank();
            // What other nodes make they make in the order of the loop.
            match (is_last, lies_as_it_is(b, v)) {
                (true, true) => add(b.graph().aval(v).bytes(), MOVED, TURNED),
                (true, false) => add(b.graph().aval(v).bytes(), 0, TURNED),
                (false, _) => add(b.graph().aval(v).bytes(), 0, COPIED),
            }
        }
        for (i, &v) in body.outputs().iter().enumerate() {
            let Some((axis, rank)) = self.of_read(i) else { continue };
            let (bytes, is_last) = (body.aval(v).bytes(), axis.0 + 1 == rank);
            match (i < op.carried, is_last, self.readers[i].is_output) {
                (true, true, _) => {}
                (true, false, _) => add(bytes, 0, MOVED),
                (false, true, true) => add(bytes.saturating_mul(op.length), MOVED, TURNED),
                (false, _, _) => add(bytes.saturating_mul(op.length), 0, MOVED),
            }
        }
        (loops, strips)
    }

    /// The results, by strips of this size and what is left.
    fn on_strips(&self, b: &mut Builder, size: usize) -> Result<Vec<Value>> {
        let count = self.axes.size / size;
        let mut results = self.all(b, size, count)?;
        let rest = self.axes.size - count * size;
        if rest > 0 {
            let mut operands = self.operands.clone();
            for (i, v) in operands.iter_mut().enumerate() {
                if let Some(axis) = self.of_operand(i) {
                    *v = part(b, *v, axis, count * size..self.axes.size)?;
                }
            }
            let last = b.node(self.strip(rest)?, &operands)?;
            for (i, v) in results.iter_mut().enumerate() {
                if let Some((axis, _)) = self.of_read(i) {
                    let last = self.as_read(b, i, last[i])?;
                    *v = b.node1(Concatenate { axis }, &[*v, last])?;
                }
            }
        }
        for (i, v) in results.iter_mut().enumerate() {
            if let (Some(_), Some(order)) = (self.of_result(i), &self.readers[i].order) {
                *v = b.node1(Transpose { permutation: Transpose::inverse(order) }, &[*v])?;
            }
        }
        Ok(results)
    }

    /// The loop on a strip of this size.
    fn strip(&self, size: usize) -> Result<Scan> {
        Ok(Scan { body: Arc::new(self.axes.body(0, size)?), ..self.op.clone() })
    }

    fn source(&self, b: &Builder, i: usize) -> Source {
        let (value, axis) = (self.operands[i], self.of_operand(i));
        // What makes a value may have no operands.
        let transpose = b.graph().made_by(value).filter(|node| node.op.get::<Transpose>().is_some());
        match transpose.and_then(|node| Some((node.operands[0], &node.op.get::<Transpose>()?.permutation))) {
            Some((value, order)) => {
                let order = order.clone();
                Source { value, axis: axis.map(|axis| order[axis.0]), order: Some(order) }
            }
            None => Source { value, axis, order: None },
        }
    }

    /// The results of the loop on so many strips of this size, in the orders in which they are read.
    fn all(&self, b: &mut Builder, size: usize, count: usize) -> Result<Vec<Value>> {
        let end = size * count;
        let (mut region, mut inputs) = (Builder::default(), vec![None; self.operands.len()]);
        let mut given = vec![];
        let sources: Vec<Source> = (0..self.operands.len()).map(|i| self.source(b, i)).collect();
        // Strips along the last axis are slices.
        for (i, source) in sources.iter().enumerate() {
            let aval = b.graph().aval(source.value).clone();
            let last = Axis(aval.shape.rank().saturating_sub(1));
            if source.axis != Some(last) {
                continue;
            }
            let all = part(b, source.value, last, 0..end)?;
            let strip = aval.shape.strip(last, size);
            given.push(b.node1(reshape(strip.with_last(count)?), &[all])?);
            inputs[i] = Some(region.input(Aval { shape: strip, ..aval }));
        }
        // Others are copied from where they start.
        let number = Ranked { dtype: DType::I64, ambiguous: false };
        let counter = Iota { axis: Axis(0), to: number, shape: Shape::try_new(vec![count])?, start: 0 };
        given.push(b.node1(counter, &[])?);
        let at = region.input(Aval::new(number, Shape::scalar()));
        let [zero, factor] = [0, size as i64].map(|x| region.literal(Literal::new(x), None));
        let start = region.node1(Binary::mul, &[at, factor])?;
        let sliced = given.len();
        let mut others = vec![];
        for (i, source) in sources.iter().enumerate().filter(|(i, _)| inputs[*i].is_none()) {
            given.push(source.value);
            others.push((i, region.input(b.graph().aval(source.value).clone())));
        }
        for (i, input) in others {
            let shape = region.graph().aval(input).shape.clone();
            inputs[i] = Some(match sources[i].axis {
                Some(axis) => {
                    let starts = (0..shape.rank()).map(|i| if i == axis.0 { start } else { zero });
                    let operands: Vec<Value> = std::iter::once(input).chain(starts).collect();
                    let sizes = shape.strip(axis, size).to_vec();
                    region.node1(DynamicSlice { sizes, check: Check::Silent }, &operands)?
                }
                None => input,
            });
        }
        let mut inputs: Vec<Value> = inputs.into_iter().flatten().collect();
        for (v, source) in inputs.iter_mut().zip(&sources) {
            if let Some(order) = &source.order {
                *v = region.node1(Transpose { permutation: order.clone() }, &[*v])?;
            }
        }
        let mut outputs = region.node(self.strip(size)?, &inputs)?;
        for (i, v) in outputs.iter_mut().enumerate() {
            *v = self.as_read(&mut region, i, *v)?;
        }
        let body = Arc::new(optimise(&region.finish(outputs))?);
        let made = b.node(
            Scan { body, carried: 0, sliced, length: count, reverse: false, last: true, checkpoint: false },
            &given,
        )?;
        made.into_iter()
            .enumerate()
            .map(|(i, v)| unstacked(b, v, self.of_read(i).map(|(axis, _)| axis)))
            .collect()
    }
}

/// Strips that are stacked along a new last axis, side by side along theirs; the first, if all are the same.
fn unstacked(b: &mut Builder, stacked: Value, axis: Option<Axis>) -> Result<Value> {
    let shape = b.graph().aval(stacked).shape.clone();
    let last = shape.rank() - 1;
    let Some(axis) = axis else {
        let first = part(b, stacked, Axis(last), 0..1)?;
        return b.node1(reshape(shape.without(&[Axis(last)])), &[first]);
    };
    let order: Vec<Axis> = (0..=axis.0).chain([last]).chain(axis.0 + 1..last).map(Axis).collect();
    let moved = match order.is_sorted() {
        true => stacked,
        false => b.node1(Transpose { permutation: order }, &[stacked])?,
    };
    let mut sizes = shape[..last].to_vec();
    sizes[axis.0] *= shape[last];
    b.node1(reshape(Shape::try_new(sizes)?), &[moved])
}

fn reshape(shape: Shape) -> Reshape {
    Reshape { shape, order: Order::Column }
}

/// The elements in this range along an axis.
fn part(b: &mut Builder, v: Value, axis: Axis, range: Range<usize>) -> Result<Value> {
    let shape = b.graph().aval(v).shape.clone();
    match range.len() == shape[axis.0] {
        true => Ok(v),
        false => b.node1(StaticSlice::along(&shape, axis, range), &[v]),
    }
}

/// Whether a value has the order of axes in memory that it has in the graph: it is given, or was stacked of strips.
fn lies_as_it_is(b: &Builder, v: Value) -> bool {
    let made = |v: Value| b.graph().made_by(v);
    match made(v) {
        None => true,
        Some(node) => {
            let stacked = node.op.get::<Reshape>().and_then(|_| made(node.operands[0]));
            stacked.is_some_and(|node| node.op.get::<Scan>().is_some_and(|op| op.carried == 0 && op.last))
        }
    }
}
