//! The reference interpreter: every value in a dense buffer of its own, every node by its op's `eval`. All
//! other executors are held to it.

use crate::error::Result;
use crate::graph::{Def, Value};
use crate::kernels::memory::AlignedBytes;
use crate::ops::{Control, Graph, Op, Scan, Scatter};
use crate::raised;
use crate::tensor::{Layout, View, ViewMut};

/// Runs a graph on dense inputs and constants; returns dense outputs. All bytes are column-major.
///
/// # Errors
/// The first that an op raised.
pub fn evaluate(graph: &Graph, inputs: &[&[u8]], constants: &[&[u8]]) -> Result<Vec<Vec<u8>>> {
    raised::collected(|| nodes(graph, inputs, constants))
}

fn nodes(graph: &Graph, inputs: &[&[u8]], constants: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut buffers: Vec<AlignedBytes> = graph
        .values()
        .map(|value| {
            let mut buffer = AlignedBytes::zeroed(graph.aval(value).bytes());
            match graph.def(value) {
                Def::Input(i) => buffer.as_mut_slice().copy_from_slice(inputs[i]),
                Def::Constant(i) => buffer.as_mut_slice().copy_from_slice(constants[i]),
                Def::Literal(literal) => {
                    let len = buffer.len();
                    buffer.as_mut_slice().copy_from_slice(&literal.to_bytes()[..len]);
                }
                Def::Result(..) => {}
            }
            buffer
        })
        .collect();
    for node in graph.nodes() {
        let mut made: Vec<AlignedBytes> =
            node.results.iter().map(|v| std::mem::take(&mut buffers[v.index()])).collect();
        let layouts: Vec<Layout> =
            node.operands.iter().map(|&v| Layout::dense(&graph.aval(v).shape)).collect();
        let view = |(&v, layout): (&Value, _)| {
            let aval = graph.aval(v);
            View { dtype: aval.dtype, shape: &aval.shape, layout, data: buffers[v.index()].as_slice() }
        };
        let operands: Vec<View> = node.operands.iter().zip(&layouts).map(view).collect();
        let result = |(&v, buffer): (&Value, _)| {
            let aval = graph.aval(v);
            ViewMut { dtype: aval.dtype, shape: &aval.shape, data: AlignedBytes::as_mut_slice(buffer) }
        };
        let mut results: Vec<ViewMut> = node.results.iter().zip(&mut made).map(result).collect();
        if !control(&node.op, &operands, &mut results) {
            node.op.eval(&operands, &mut results);
        }
        for (v, buffer) in node.results.iter().zip(made) {
            buffers[v.index()] = buffer;
        }
    }
    graph.outputs().iter().map(|v| buffers[v.index()].as_slice().to_vec()).collect()
}

/// The elements of a slice of so many in a stacked value. Column-major: along the first axis they are `length`
/// apart, along the last one they are side by side.
fn places(op: &Scan, at: usize, count: usize) -> impl Iterator<Item = usize> {
    let (first, apart) = if op.last { (at * count, 1) } else { (at, op.length) };
    (0..count).map(move |i| first + i * apart)
}

/// Runs an op with regions, if it is one.
fn control(op: &Op, operands: &[View], results: &mut [ViewMut]) -> bool {
    let run = |region: &Graph, inputs: &[&[u8]]| nodes(region, inputs, &[]);
    let data: Vec<&[u8]> = operands.iter().map(|x| x.data).collect();
    let made: Vec<Vec<u8>> = match (op.control(), op.get::<Scatter>()) {
        (Some(Control::If(op)), _) => {
            let (first, second) = data[1..].split_at(op.branches[0].inputs().len());
            if data[0][0] != 0 {
                run(&op.branches[0], first)
            } else {
                run(&op.branches[1], second)
            }
        }
        (Some(Control::Custom(op)), _) => run(&op.call, &op.of_call(&data)),
        (Some(Control::While(op)), _) => {
            let (init, rest) = data.split_at(op.carried);
            let (for_cond, for_body) = rest.split_at(op.cond.inputs().len() - op.carried);
            let mut state: Vec<Vec<u8>> = init.iter().map(|x| x.to_vec()).collect();
            loop {
                let with = |rest: &[&[u8]]| -> Vec<Vec<u8>> {
                    state.iter().cloned().chain(rest.iter().map(|x| x.to_vec())).collect()
                };
                let (test, next) = (with(for_cond), with(for_body));
                let go_on = run(&op.cond, &test.iter().map(Vec::as_slice).collect::<Vec<_>>());
                if go_on[0][0] == 0 {
                    break state;
                }
                state = run(&op.body, &next.iter().map(Vec::as_slice).collect::<Vec<_>>());
            }
        }
        (Some(Control::Scan(op)), _) => {
            let (init, rest) = data.split_at(op.carried);
            let (along, rest) = rest.split_at(op.sliced);
            let mut state: Vec<Vec<u8>> = init.iter().map(|x| x.to_vec()).collect();
            let mut stacked: Vec<Vec<u8>> =
                results[op.carried..].iter().map(|x| vec![0; x.data.len()]).collect();
            for step in 0..op.length {
                let at = if op.reverse { op.length - 1 - step } else { step };
                let mut inputs = state.clone();
                for (x, view) in along.iter().zip(&operands[op.carried..]) {
                    let size = view.dtype.bytes();
                    let elements = places(op, at, x.len() / size / op.length);
                    inputs.push(elements.flat_map(|i| &x[i * size..][..size]).copied().collect());
                }
                inputs.extend(rest.iter().map(|x| x.to_vec()));
                let mut outputs = run(&op.body, &inputs.iter().map(Vec::as_slice).collect::<Vec<_>>());
                for ((y, all), out) in
                    outputs.drain(op.carried..).zip(&mut stacked).zip(&results[op.carried..])
                {
                    let size = out.dtype.bytes();
                    for (i, element) in places(op, at, y.len() / size).zip(y.chunks(size)) {
                        all[i * size..][..size].copy_from_slice(element);
                    }
                }
                state = outputs;
            }
            state.into_iter().chain(stacked).collect()
        }
        (None, Some(op)) => {
            let Some(region) = op.region() else { return false };
            let (mut out, size) = (data[0].to_vec(), operands[0].dtype.bytes());
            let (indices, update) = (&operands[1], operands[2].shape);
            if out.is_empty() {
                op.check_all(operands[0].shape, indices, update);
            }
            let count = if out.is_empty() { 0 } else { update.size() };
            op.targets(operands[0].shape, indices, update).each(0..count, |number, place| {
                let (old, new) = (&out[place * size..][..size], &data[2][number * size..][..size]);
                let made = run(region, &[&[old, new], &data[3..]].concat());
                out[place * size..][..size].copy_from_slice(&made[0]);
            });
            vec![out]
        }
        (None, None) => return false,
    };
    for (bytes, out) in made.iter().zip(results) {
        out.data.copy_from_slice(bytes);
    }
    true
}
