//! Batches of runs: a program on a batch of inputs is held to a loop of single runs.
#![allow(dead_code)] // each test file uses a part

use crate::common::{aligned, disagreement, first_difference, random_tensor, Rng};
use anvil_core::batch::{batch, repeat, stacked_type, Examples, Stacked};
use anvil_core::dtype::DType;
use anvil_core::error::Error;
use anvil_core::exec::reference;
use anvil_core::graph::Value;
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::ops::{Builder, Graph, Transpose};
use anvil_core::shape::Axis;
use anvil_core::tensor::Aval;

/// How two tensors of one dtype differ, if they do.
pub type Compare<'a> = &'a dyn Fn(DType, &[u8], &[u8]) -> Option<String>;

/// Types of values of a graph.
pub fn types(graph: &Graph, values: &[Value]) -> Vec<Aval> {
    values.iter().map(|&v| graph.aval(v).clone()).collect()
}

/// A program for a batch: inputs that are marked have the batch axis, and all outputs have it.
pub fn vmap(graph: &Graph, marks: &[bool], size: usize) -> Result<Graph, Error> {
    stacked(graph, marks, size, false)
}

/// The same; `is_first` says whether the batch axis of the inputs is moved to the front and back before.
fn stacked(graph: &Graph, marks: &[bool], size: usize, is_first: bool) -> Result<Graph, Error> {
    let mut b = Builder::default();
    let mut inputs = Stacked::default();
    for (aval, &mark) in types(graph, graph.inputs()).into_iter().zip(marks) {
        let rank = aval.shape.rank();
        let mut value = b.input(if mark { stacked_type(&aval, size)? } else { aval });
        if mark && is_first {
            let order = |shift: usize| (0..=rank).map(|i| Axis((i + shift) % (rank + 1))).collect();
            value = b.node1(Transpose { permutation: order(rank) }, &[value])?;
            value = b.node1(Transpose { permutation: order(1) }, &[value])?;
        }
        inputs.values.push(value);
        inputs.batched.push(mark);
    }
    let made = batch(&mut b, graph, &inputs, Examples { size, mask: None })?;
    let mut outputs = vec![];
    for (&value, batched) in made.values.iter().zip(made.batched) {
        outputs.push(if batched { value } else { repeat(&mut b, value, size)? });
    }
    Ok(b.finish(outputs))
}

/// Inputs of a graph for a batch of runs: of those that are marked, the examples one after the other, as the
/// batch axis is the last.
pub struct Data {
    pub inputs: Vec<AlignedBytes>,
    marks: Vec<bool>,
    size: usize,
}

impl Data {
    /// With these bytes for an input of a type.
    pub fn new(
        graph: &Graph,
        marks: &[bool],
        size: usize,
        mut draw: impl FnMut(&Aval) -> AlignedBytes,
    ) -> Data {
        let avals = types(graph, graph.inputs());
        let inputs = avals.iter().zip(marks).map(|(aval, &mark)| {
            let count = if mark { size } else { 1 };
            let parts: Vec<AlignedBytes> = (0..count).map(|_| draw(aval)).collect();
            aligned(&parts.iter().flat_map(|x| x.as_slice().to_vec()).collect::<Vec<u8>>())
        });
        Data { inputs: inputs.collect(), marks: marks.to_vec(), size }
    }

    /// Random ones.
    pub fn random(rng: &mut Rng, graph: &Graph, marks: &[bool], size: usize) -> Data {
        Data::new(graph, marks, size, |aval| random_tensor(rng, aval))
    }

    /// The inputs of one example.
    fn example(&self, i: usize) -> Vec<AlignedBytes> {
        let pairs = self.inputs.iter().zip(&self.marks);
        pairs
            .map(|(x, &mark)| {
                let all = x.as_slice();
                let one = all.len() / self.size.max(1);
                aligned(if mark { &all[i * one..(i + 1) * one] } else { all })
            })
            .collect()
    }

    /// Runs a graph on each example.
    pub fn loop_of_runs(&self, graph: &Graph) -> Vec<Result<Vec<Vec<u8>>, Error>> {
        (0..self.size).map(|i| evaluate(graph, &self.example(i))).collect()
    }
}

/// Runs a graph in the reference interpreter.
pub fn evaluate(graph: &Graph, inputs: &[AlignedBytes]) -> Result<Vec<Vec<u8>>, Error> {
    let inputs: Vec<&[u8]> = inputs.iter().map(|x| x.as_slice()).collect();
    reference::evaluate(graph, &inputs, &[])
}

/// The same bits but for those of NaN.
pub fn bits(dtype: DType, x: &[u8], y: &[u8]) -> Option<String> {
    first_difference(dtype, x, y)
}

/// How a program on a batch differs from a loop of single runs, compiled and in the reference interpreter, with the
/// batch axis in either place.
pub fn differs(graph: &Graph, marks: &[bool], data: &Data, compare: Compare) -> Option<String> {
    [false, true].into_iter().find_map(|is_first| differs_at(graph, marks, data, compare, is_first))
}

fn differs_at(
    graph: &Graph,
    marks: &[bool],
    data: &Data,
    compare: Compare,
    is_first: bool,
) -> Option<String> {
    let size = data.size;
    let batched = match stacked(graph, marks, size, is_first) {
        Ok(batched) => batched,
        Err(e) => return Some(format!("{marks:?}: {e}")),
    };
    let said = |what: String| {
        Some(format!("{marks:?}, {size} examples: {what}\nof\n{graph}\nas a batch\n{batched}"))
    };
    let own = types(graph, graph.outputs());
    let want: Vec<Aval> = own.iter().map(|aval| stacked_type(aval, size).expect("small")).collect();
    let got = types(&batched, batched.outputs());
    if got != want {
        return said(format!("types {got:?}, not {want:?}"));
    }
    // The plan and the reference agree on the program of the batch.
    if let Some(what) = disagreement(&batched, &data.inputs, &[], &[]) {
        return said(what);
    }
    let singles = data.loop_of_runs(graph);
    let failing = singles.iter().position(Result::is_err);
    let all = match (evaluate(&batched, &data.inputs), failing) {
        (Err(_), Some(_)) => return None,
        // What does not depend on the batch is computed, even for a batch of none.
        (Err(_), None) if size == 0 => return None,
        (Err(e), None) => return said(format!("fails, and no single run does: {e}")),
        (Ok(_), Some(i)) => return said(format!("does not fail, as example {i} does")),
        (Ok(all), None) => all,
    };
    for (k, got) in all.iter().enumerate() {
        let parts = singles.iter().map(|single| single.as_ref().expect("none fails")[k].as_slice());
        let want = parts.collect::<Vec<_>>().concat();
        if let Some(what) = compare(own[k].dtype, got, &want) {
            return said(format!("output {k}: {what}"));
        }
    }
    None
}

/// All choices of some of `n`.
pub fn subsets(n: usize) -> impl Iterator<Item = Vec<bool>> {
    (0..1usize << n).map(move |set| (0..n).map(|i| set >> i & 1 == 1).collect())
}
