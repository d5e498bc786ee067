//! Programs as files, for whoever runs them elsewhere: the text, what goes in, and what the reference gives.
//!
//! `NAME.mlir` is the text. `NAME.txt` has a line for each argument of the function and each output, such as
//! `arg f32 2x3` or `out i1 `; `NAME.bin` has their elements one after the other, row-major.
#![allow(dead_code)] // each test file uses a part

use anvil_core::exec::reference;
use anvil_core::hlo::{export, Options};
use anvil_core::ops::Graph;
use anvil_core::shape::Shape;
use anvil_core::tensor::{Aval, Layout, View};
use std::path::Path;

/// The elements of a dense column-major value in row-major order.
pub fn by_rows(shape: &Shape, size: usize, bytes: &[u8]) -> Vec<u8> {
    let strides = shape.strides();
    let mut out = Vec::with_capacity(bytes.len());
    for n in 0..shape.size() {
        let (mut rest, mut at) = (n, 0);
        for i in (0..shape.rank()).rev() {
            at += rest % shape[i] * strides[i];
            rest /= shape[i];
        }
        out.extend_from_slice(&bytes[at * size..(at + 1) * size]);
    }
    out
}

/// The program's text, with the numbers of the constants that are arguments.
pub fn text(graph: &Graph, constants: &[&[u8]], options: &Options) -> anvil_core::error::Result<(String, Vec<usize>)> {
    let avals: Vec<&Aval> = graph.constants().iter().map(|&v| graph.aval(v)).collect();
    let layouts: Vec<Layout> = avals.iter().map(|aval| Layout::dense(&aval.shape)).collect();
    let views: Vec<View> = avals
        .iter()
        .zip(&layouts)
        .zip(constants)
        .map(|((aval, layout), data)| View { dtype: aval.dtype, shape: &aval.shape, layout, data })
        .collect();
    let module = export(graph, &views, options)?;
    Ok((module.text, module.arguments))
}

/// Writes a program with inputs and what it makes of them.
///
/// # Errors
/// Those of [`export`].
pub fn write(
    folder: &Path, name: &str, graph: &Graph, inputs: &[&[u8]], constants: &[&[u8]], options: &Options,
) -> anvil_core::error::Result<()> {
    let (text, arguments) = text(graph, constants, options)?;
    let outputs = reference::evaluate(graph, inputs, constants);
    let (mut lines, mut data) = (String::new(), Vec::new());
    let mut note = |what: &str, aval: &Aval, bytes: &[u8]| {
        let sizes: Vec<String> = aval.shape.iter().map(usize::to_string).collect();
        lines += &format!("{what} {} {}\n", aval.dtype, sizes.join("x"));
        data.extend(by_rows(&aval.shape, aval.dtype.bytes(), bytes));
    };
    for (&v, bytes) in graph.inputs().iter().zip(inputs) {
        note("arg", graph.aval(v), bytes);
    }
    for i in arguments {
        note("arg", graph.aval(graph.constants()[i]), constants[i]);
    }
    for (&v, bytes) in graph.outputs().iter().zip(&outputs) {
        note("out", graph.aval(v), bytes);
    }
    for (ending, content) in [("mlir", text.as_bytes()), ("txt", lines.as_bytes()), ("bin", data.as_slice())] {
        std::fs::write(folder.join(format!("{name}.{ending}")), content).expect("a folder that can be written to");
    }
    Ok(())
}
