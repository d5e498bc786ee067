//! Transformations of whole programs, from graph to graph: derivatives of all float inputs and outputs.
#![allow(dead_code)] // each test file uses a part

use crate::batches::types;
use crate::common::{aligned, Rng};
use anvil_core::autodiff::{is_differentiable, push, Tape};
use anvil_core::dtype::DType;
use anvil_core::error::Error;
use anvil_core::graph::Value;
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::ops::{Builder, Graph, Math};
use anvil_core::tensor::{Aval, Literal};

/// Which of them are floats.
pub fn floats(avals: &[Aval]) -> Vec<usize> {
    (0..avals.len()).filter(|&i| is_differentiable(avals[i].dtype)).collect()
}

pub fn zeros(b: &mut Builder, aval: &Aval) -> Value {
    let math = Math::new(b);
    let zero = math.fill(0.0, aval).value();
    math.finish().unwrap();
    zero
}

/// From the inputs and tangents of those that are floats to the tangents of the outputs that are floats.
pub fn jvp(graph: &Graph) -> Result<Graph, Error> {
    let mut b = Builder::default();
    let avals = types(graph, graph.inputs());
    let inputs: Vec<Value> = avals.iter().map(|aval| b.input(aval.clone())).collect();
    let mut tangents = vec![None; inputs.len()];
    for i in floats(&avals) {
        tangents[i] = Some(b.input(avals[i].clone()));
    }
    let pushed = push(&mut b, graph, &inputs, &tangents)?;
    let of_outputs = types(graph, graph.outputs());
    let made = floats(&of_outputs).into_iter();
    let made = made.map(|i| pushed.tangents[i].unwrap_or_else(|| zeros(&mut b, &of_outputs[i])));
    let made = made.collect();
    Ok(b.finish(made))
}

/// From the inputs and gradients of the outputs that are floats to the gradients of the inputs that are.
pub fn vjp(graph: &Graph) -> Result<Graph, Error> {
    let mut b = Builder::default();
    let avals = types(graph, graph.inputs());
    let inputs: Vec<Value> = avals.iter().map(|aval| b.input(aval.clone())).collect();
    let of_outputs = types(graph, graph.outputs());
    let mut gradients = vec![None; of_outputs.len()];
    for i in floats(&of_outputs) {
        gradients[i] = Some(b.input(of_outputs[i].clone()));
    }
    let wrt = floats(&avals);
    let tape = Tape::record(&mut b, graph, &inputs, &wrt)?;
    let made = tape.pull(&mut b, &gradients, &wrt)?;
    Ok(b.finish(made))
}

/// Numbers at which derivatives are neither large nor undefined.
pub fn draw(rng: &mut Rng, aval: &Aval) -> AlignedBytes {
    let parts = if aval.dtype.is_complex() { 2 } else { 1 };
    let one = |rng: &mut Rng| {
        let literal = match aval.dtype.part() {
            DType::I1 => Literal::new(rng.below(2) as i32),
            part if part.is_float() => {
                Literal::new((1 + rng.below(1 << 20)) as f64 / f64::from(1 << 20) * 0.8 + 0.1)
            }
            _ => Literal::new(rng.below(3) as i32),
        };
        let part = aval.dtype.part();
        literal.convert(part).to_bytes()[..part.bytes()].to_vec()
    };
    aligned(&(0..parts * aval.shape.size()).flat_map(|_| one(rng)).collect::<Vec<u8>>())
}
