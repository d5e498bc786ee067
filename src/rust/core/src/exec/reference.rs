//! The reference: every value in a dense buffer of its own, every node by its op's `eval`. What all else is held against.

use crate::graph::{Def, Value};
use crate::kernels::memory::AlignedBytes;
use crate::ops::Graph;
use crate::tensor::{Layout, View, ViewMut};

/// Runs a graph on dense inputs and constants; returns dense outputs. All bytes are column-major.
pub fn evaluate(graph: &Graph, inputs: &[&[u8]], constants: &[&[u8]]) -> Vec<Vec<u8>> {
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
        let layouts: Vec<Layout> = node.operands.iter().map(|&v| Layout::dense(&graph.aval(v).shape)).collect();
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
        node.op.eval(&operands, &mut results);
        for (v, buffer) in node.results.iter().zip(made) {
            buffers[v.index()] = buffer;
        }
    }
    graph.outputs().iter().map(|v| buffers[v.index()].as_slice().to_vec()).collect()
}
