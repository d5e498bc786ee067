//! Scatters by a function: its graph is run on many elements and their updates at once.
//!
//! Updates of different elements are independent. So a batch of updates is split into rounds: the first
//! update of each element, the second, and so on; each element gets its updates in order. The graph is
//! compiled for batches of some lengths, and a round runs on the shortest that holds it. A graph whose bits or
//! effects might differ in a batch is run element by element.

use super::reused::Reused;
use super::run::{Executable, Output};
use super::step::CompileControl;
use crate::batch::{batch, repeat, stacked_type, Examples, Stacked};
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::graph::Node;
use crate::kernels::cast;
use crate::kernels::cast::by_width;
use crate::kernels::memory::{zeroed, AlignedBytes};
use crate::kernels::tile::{copy, tile, tiles, TILE};
use crate::ops::{Builder, Graph, Region, Scatter};
use crate::passes::optimise;
use crate::shape::Shape;
use crate::tensor::{Aval, View, ViewMut};

/// Bytes that the program of a batch may hold.
const HELD: usize = 1 << 20;

/// Lengths of the batches that graphs are compiled for, ascending.
const LENGTHS: [usize; 3] = [16, 128, TILE];

/// A compiled scatter by a function.
#[derive(Debug)]
pub struct Combiner {
    op: Scatter,
    /// The program of one element and one update, both 0-d.
    one: Executable,
    /// Programs of as many of each as in [`LENGTHS`], or the first of them; empty if the graph must run element
    /// by element.
    many: Vec<Executable>,
    buffers: Reused<[AlignedBytes; 3]>,
}

impl Combiner {
    /// Compiles a scatter that has a region.
    ///
    /// # Errors
    /// Those of [`Executable::compile`].
    pub fn compile(op: &Scatter, region: &Region, control: CompileControl) -> Result<Combiner> {
        let mut many = Vec::new();
        let simple = optimise(region)?;
        for n in LENGTHS {
            let Some(graph) = batched(&simple, n)? else { break };
            let program = Executable::region(&graph, 0, control)?;
            if program.held_bytes() > HELD {
                break;
            }
            many.push(program);
        }
        let buffers = Reused::with_one(buffers(region.aval(region.inputs()[0])));
        Ok(Combiner { op: op.clone(), one: Executable::region(region, 0, control)?, many, buffers })
    }

    /// The program of one element and one update.
    pub fn program(&self) -> &Executable {
        &self.one
    }

    /// Bytes that it allocates beside its operands and results.
    pub fn bytes(&self) -> usize {
        let buffers = self.buffers.sum(|buffers| buffers.iter().map(AlignedBytes::len).sum());
        buffers + self.one.held_bytes() + self.many.iter().map(Executable::held_bytes).sum::<usize>()
    }

    /// Bytes of the registers that its programs need, at most.
    pub fn registers(&self) -> usize {
        self.many.iter().chain([&self.one]).map(|program| program.plan().registers).max().unwrap_or(0)
    }

    /// Runs it on dense operands.
    pub fn run(&self, operands: &[View], out: &mut ViewMut, registers: &mut [u8]) {
        let own = Aval::known(out.dtype, Shape::scalar());
        self.buffers.with(
            || buffers(&own),
            |buffers| by_width!(operands[0].dtype, T => self.rounds::<T>(operands, out, buffers, registers)),
        )
    }

    fn rounds<T: Element>(
        &self,
        operands: &[View],
        out: &mut ViewMut,
        buffers: &mut [AlignedBytes; 3],
        registers: &mut [u8],
    ) {
        copy(&operands[0], out);
        let [update, captured @ ..] = &operands[2..] else { return };
        if out.data.is_empty() {
            return self.op.check_all(out.shape, &operands[1], update.shape);
        }
        let targets = self.op.targets(out.shape, &operands[1], update.shape);
        let data = cast::slice_mut::<T>(out.data);
        // Number of updates of the batch that an element has got.
        let mut met = zeroed::<u16>(data.len());
        let mut batch: Vec<Meeting> = Vec::with_capacity(TILE);
        let mut sorted: Vec<Meeting> = vec![Meeting::default(); TILE];
        let mut scratch = Vec::new();
        for range in tiles(update.shape.size()) {
            let elements = tile::<T>(update, range.clone(), &mut scratch);
            let mut run = |program: &Executable, length: usize, members: &[Meeting]| {
                self.apply((program, length), members, elements, data, captured, buffers, registers)
            };
            batch.clear();
            targets.each(range, |number, position| {
                batch.push(Meeting { number, position, round: met[position] });
                met[position] += 1;
            });
            batch.iter().for_each(|meeting| met[meeting.position] = 0);
            // A function that prints does so in the order of the updates.
            if self.many.is_empty() {
                batch.chunks(1).for_each(|one| run(&self.one, 1, one));
                continue;
            }
            let mut ends = [0u16; TILE + 1];
            batch.iter().for_each(|meeting| ends[meeting.round as usize + 1] += 1);
            let rounds = ends[1..].iter().take_while(|&&n| n > 0).count();
            (0..rounds).for_each(|i| ends[i + 1] += ends[i]);
            let mut next = ends;
            for &meeting in &batch {
                let to = &mut next[meeting.round as usize];
                sorted[*to as usize] = meeting;
                *to += 1;
            }
            for round in ends[..=rounds].windows(2) {
                let longest = LENGTHS[self.many.len() - 1];
                for members in sorted[round[0] as usize..round[1] as usize].chunks(longest) {
                    let mut lengths = LENGTHS.iter().zip(&self.many);
                    let fits = lengths.find(|(n, _)| members.len() > 1 && **n >= members.len());
                    let (length, program) = fits.map_or((1, &self.one), |(&n, program)| (n, program));
                    run(program, length, members);
                }
            }
        }
    }

    /// Runs a program of a batch of `length` on at most so many updates of different elements.
    fn apply<T: Element>(
        &self,
        (program, length): (&Executable, usize),
        members: &[Meeting],
        elements: &[T],
        data: &mut [T],
        captured: &[View],
        [old, new, made]: &mut [AlignedBytes; 3],
        registers: &mut [u8],
    ) {
        let (olds, news) =
            (cast::slice_mut::<T>(old.as_mut_slice()), cast::slice_mut::<T>(new.as_mut_slice()));
        for (meeting, (old, new)) in members.iter().zip(olds.iter_mut().zip(&mut *news)) {
            (*old, *new) = (data[meeting.position], elements[meeting.number]);
        }
        // What is computed and not used takes as long as what is, and a loop in it ends.
        let first = (olds[0], news[0]);
        olds[members.len()..length].fill(first.0);
        news[members.len()..length].fill(first.1);
        let bytes = length * size_of::<T>();
        let inputs = [&old.as_slice()[..bytes], &new.as_slice()[..bytes]].into_iter();
        let inputs = inputs.chain(captured.iter().map(|x| x.data));
        let output = Output::Fresh(&mut made.as_mut_slice()[..bytes]);
        program.run_each(inputs, std::iter::once(output), registers);
        for (meeting, &x) in members.iter().zip(cast::slice::<T>(made.as_slice())) {
            data[meeting.position] = x;
        }
    }
}

/// An update and the element that it updates.
#[derive(Clone, Copy, Default)]
struct Meeting {
    /// Number of the update in its batch.
    number: usize,
    /// Number of the element.
    position: usize,
    /// Number of updates of the batch that the element got before.
    round: u16,
}

fn buffers(element: &Aval) -> [AlignedBytes; 3] {
    [(); 3].map(|()| AlignedBytes::zeroed(TILE * element.dtype.bytes()))
}

/// The function for `n` elements and their updates at once, what it captures being the same for all. `None` if
/// it must run element by element: if an op has no rule, if the order shows, or if the order of its terms, and with it a bit, may be
/// another in a batch.
fn batched(graph: &Graph, n: usize) -> Result<Option<Graph>> {
    if !is_same_in_batch(graph) {
        return Ok(None);
    }
    let mut b = Builder::default();
    let mut inputs = Stacked::default();
    for (i, &v) in graph.inputs().iter().enumerate() {
        let (aval, mark) = (graph.aval(v), i < 2);
        inputs.values.push(b.input(if mark { stacked_type(aval, n)? } else { aval.clone() }));
        inputs.batched.push(mark);
    }
    let made = match batch(&mut b, graph, &inputs, Examples { size: n, mask: None }) {
        Err(Error::NoBatch { .. }) => return Ok(None),
        made => made?,
    };
    let (value, is_batched) = (made.values[0], made.batched[0]);
    let value = if is_batched { value } else { repeat(&mut b, value, n)? };
    Ok(Some(b.finish(vec![value])))
}

/// Whether ops of a graph neither show when they run nor add up terms.
fn is_same_in_batch(graph: &Graph) -> bool {
    graph.nodes().iter().all(|Node { op, .. }| {
        let sums = op.fold().is_some() || op.contraction().is_some();
        let inside = op.regions().iter().all(|(_, region)| is_same_in_batch(region));
        !(op.effect() || op.raises() || sums) && inside
    })
}
