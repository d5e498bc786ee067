//! The text of a program with constants.
#![allow(dead_code)] // each test file uses a part

use anvil_core::hlo::{export, Options};
use anvil_core::ops::Graph;
use anvil_core::tensor::{Aval, Layout, View};

/// The program's text, with the numbers of the constants that are arguments.
pub fn text(
    graph: &Graph,
    constants: &[&[u8]],
    options: &Options,
) -> anvil_core::error::Result<(String, Vec<usize>)> {
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
