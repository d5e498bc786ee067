//! What programs compute of captured tensors alone, against the reference, bit by bit.

mod common;

use anvil_core::exec::{reference, Executable, Output};
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::ops::Graph;
use anvil_core::passes::{constant_part, optimise};
use common::{aligned, random_tensor, Rng};

/// The steps of a program that each run takes; two runs give what the reference does.
fn steps(text: &str) -> usize {
    let graph = Graph::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let executable = Executable::compile(&graph, &[]).unwrap();
    let mut rng = Rng::new(7);
    let constants: Vec<AlignedBytes> =
        graph.constants().iter().map(|&v| random_tensor(&mut rng, graph.aval(v))).collect();
    let constants: Vec<&[u8]> = constants.iter().map(AlignedBytes::as_slice).collect();
    for _ in 0..2 {
        let inputs: Vec<AlignedBytes> =
            graph.inputs().iter().map(|&v| random_tensor(&mut rng, graph.aval(v))).collect();
        let inputs: Vec<&[u8]> = inputs.iter().map(AlignedBytes::as_slice).collect();
        let want = reference::evaluate(&graph, &inputs, &constants).unwrap();
        let given: Vec<Option<&[u8]>> = inputs.iter().copied().map(Some).collect();
        let mut made: Vec<AlignedBytes> = want.iter().map(|x| aligned(&vec![0; x.len()])).collect();
        let outputs = made.iter_mut().map(|x| Output::Fresh(x.as_mut_slice())).collect();
        executable.run(&given, &constants, outputs).unwrap();
        assert!(made.iter().zip(&want).all(|(made, want)| made.as_slice() == want), "{text}");
    }
    executable.lines().len()
}

/// A program of a vector and a captured matrix.
fn program(body: &[&str], outputs: &str) -> String {
    let body: String = body.iter().enumerate().map(|(i, line)| format!("    %{}: {line}\n", i + 1)).collect();
    format!(
        "<AnvilGraph>\n  Inputs:\n    %x1: f64[40]\n  Constants:\n    %c1: f32[40, 30]\n  Body:\n{body}  Outputs:\n    {outputs}\n"
    )
}

const WIDE: &str = "f64[40, 30] = convert [dtype = f64, ambiguous = FALSE] (%c1)";
const PRODUCT: &str =
    "f64[30] = dot_general [contracting_axes = [1, 1], batching_axes = [c(), c()]] (%1, %x1)";

#[test]
fn what_is_known_is_computed_once() {
    assert_eq!(steps(&program(&[WIDE, PRODUCT], "%2: f64[30]")), 1);
    // Also where it is an operand of several, and moved before it is read.
    let lines = [
        WIDE,
        "f64[40, 30] = exp(%1)",
        "f64[30, 40] = transpose [permutation = c(2, 1)] (%2)",
        "f64[30, 40] = broadcast_in_dim [shape = c(30, 40), broadcast_axes = 2] (%x1)",
        "f64[30, 40] = mul(%3, %4)",
    ];
    let graph = Graph::parse(&program(&lines, "%5: f64[30, 40]")).unwrap();
    let parts = constant_part(&optimise(&graph).unwrap()).unwrap().unwrap();
    assert_eq!(parts.first.outputs().len(), 1);
    assert!(!parts.rest.to_string().contains("exp("), "{}", parts.rest);
    assert!(parts.rest.to_string().contains("transpose"), "{}", parts.rest);
    steps(&program(&lines, "%5: f64[30, 40]"));
}

#[test]
fn what_is_large_or_a_result_is_computed_in_each_run() {
    let part = |lines: &[&str], outputs: &str| {
        let graph = optimise(&Graph::parse(&program(lines, outputs)).unwrap()).unwrap();
        steps(&program(lines, outputs));
        constant_part(&graph).unwrap().is_some()
    };
    assert!(!part(&[WIDE], "%1: f64[40, 30]"));
    let large = [
        WIDE,
        "f64[40, 30, 400] = broadcast_in_dim [shape = c(40, 30, 400), broadcast_axes = c(1, 2)] (%1)",
        "f64[40, 30, 400] = iota [axis = 3, dtype = f64, shape = c(40, 30, 400), start = 0, ambiguous = FALSE] ()",
        "f64[40, 30, 400] = mul(%2, %3)",
        "f64[40, 30, 400] = broadcast_in_dim [shape = c(40, 30, 400), broadcast_axes = 1] (%x1)",
        "f64[40, 30, 400] = add(%4, %5)",
    ];
    // The conversion is kept, its product with numbers is not.
    assert!(part(&large, "%6: f64[40, 30, 400]"));
}

#[test]
fn what_has_an_effect_is_computed_in_each_run() {
    let raises = [
        WIDE,
        "i32[1] = broadcast_in_dim [shape = 1, broadcast_axes = c()] (99:i32)",
        "f64[1, 30] = gather [slice_sizes = c(1, 30), offset_axes = 2, collapsed_slice_axes = 1, start_index_map = 1, index_vector_axis = 2, indices_are_sorted = FALSE, mode = \"raise\"] (%1, %2)",
    ];
    if let Ok(graph) = Graph::parse(&program(&raises, "%3: f64[1, 30]")) {
        let parts = constant_part(&optimise(&graph).unwrap()).unwrap();
        assert!(parts.is_none_or(|parts| !parts.first.to_string().contains("gather")));
    }
}
