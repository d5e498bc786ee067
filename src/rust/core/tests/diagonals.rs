//! Products with diagonal matrices and diagonals of products, against these products.

mod common;

use anvil_core::exec::reference;
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::ops::Graph;
use anvil_core::passes::diagonals;
use common::{aligned, Rng};

/// The program without products with zeros, if it has such; its results are those of the program but for the order of sums.
fn rewritten(text: &str) -> Option<String> {
    let graph = Graph::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let made = diagonals(&graph).unwrap()?;
    let mut rng = Rng::new(5);
    let mut input = |bytes: usize| {
        let numbers = (0..bytes / 8).flat_map(|_| (rng.below(2000) as f64 / 1000.0 - 1.0).to_ne_bytes());
        aligned(&numbers.collect::<Vec<u8>>())
    };
    let inputs: Vec<AlignedBytes> = graph.inputs().iter().map(|&v| input(graph.aval(v).bytes())).collect();
    let inputs: Vec<&[u8]> = inputs.iter().map(AlignedBytes::as_slice).collect();
    let run = |graph: &Graph| reference::evaluate(graph, &inputs, &[]).unwrap();
    for (got, want) in run(&made).iter().zip(run(&graph)) {
        let numbers = |x: &[u8]| -> Vec<f64> {
            x.chunks_exact(8).map(|x| f64::from_ne_bytes(x.try_into().unwrap())).collect()
        };
        let (got, want) = (numbers(got), numbers(&want));
        assert_eq!(got.len(), want.len(), "{text}\n{made}");
        // Sums of at most 40 products of numbers below 1.
        let near = got.iter().zip(&want).all(|(x, y)| (x - y).abs() <= 40.0 * 40.0 * f64::EPSILON);
        assert!(near, "{text}\n{made}\n{got:?}\n{want:?}");
    }
    Some(made.to_string())
}

const DIAGONAL: &str =
    "    %1: f64[25] = pad [edge_padding_low = 0, edge_padding_high = 0, interior_padding = 5] (%x1, 0:f64)
    %2: f64[5, 5] = reshape [shape = c(5, 5), order = \"column\"] (%1)
";

/// A product of a diagonal matrix of five numbers with one of this shape.
fn product(shape: &str, operands: &str, axes: &str, made: &str) -> String {
    format!(
        "<AnvilGraph>\n  Inputs:\n    %x1: f64[5]\n    %x2: f64[{shape}]\n  Body:\n{DIAGONAL}    %3: f64[{made}] = dot_general [contracting_axes = [{axes}], batching_axes = [c(), c()]] ({operands})\n  Outputs:\n    %3: f64[{made}]\n"
    )
}

#[test]
fn products_with_diagonal_matrices_are_elementwise() {
    for (shape, operands, axes, made) in [
        ("5, 4", "%2, %x2", "2, 1", "5, 4"),
        ("5, 4", "%2, %x2", "1, 1", "5, 4"),
        ("4, 5", "%2, %x2", "2, 2", "5, 4"),
        ("4, 5", "%x2, %2", "2, 1", "4, 5"),
        ("5, 4", "%x2, %2", "1, 2", "4, 5"),
        ("5", "%2, %x2", "2, 1", "5"),
        ("3, 5, 2", "%x2, %2", "2, 1", "3, 2, 5"),
        ("3, 5, 2", "%2, %x2", "1, 2", "5, 3, 2"),
    ] {
        let text = product(shape, operands, axes, made);
        let made = rewritten(&text).unwrap_or_else(|| panic!("{text}"));
        assert!(!made.contains("dot_general") && !made.contains("pad"), "{made}");
    }
}

#[test]
fn weighted_products_of_a_matrix_with_itself_are_one_product() {
    let text = format!(
        "<AnvilGraph>\n  Inputs:\n    %x1: f64[5]\n    %x2: f64[5, 3]\n  Body:\n    %t: f64[3, 5] = transpose [permutation = c(2, 1)] (%x2)\n{DIAGONAL}    %3: f64[3, 5] = dot_general [contracting_axes = [2, 1], batching_axes = [c(), c()]] (%t, %2)\n    %4: f64[3, 3] = dot_general [contracting_axes = [2, 1], batching_axes = [c(), c()]] (%3, %x2)\n  Outputs:\n    %4: f64[3, 3]\n"
    );
    assert_eq!(rewritten(&text).unwrap().matches("dot_general").count(), 1);
}

/// The diagonal of a product of two matrices over these axes; `also` is read as well.
fn diagonal(shapes: [&str; 2], axes: &str, also: &str) -> String {
    let [x, y] = shapes;
    format!(
        "<AnvilGraph>\n  Inputs:\n    %x1: f64[{x}]\n    %x2: f64[{y}]\n  Body:\n    %1: f64[4, 4] = dot_general [contracting_axes = [{axes}], batching_axes = [c(), c()]] (%x1, %x2)\n    %2: f64[16] = reshape [shape = 16, order = \"column\"] (%1)\n    %3: f64[4] = static_slice [start_indices = 1, limit_indices = 16, strides = 5] (%2)\n  Outputs:\n    %3: f64[4]\n{also}"
    )
}

#[test]
fn diagonals_of_products_are_computed_alone() {
    for (shapes, axes) in [
        (["4, 7", "7, 4"], "2, 1"),
        (["7, 4", "7, 4"], "1, 1"),
        (["4, 7", "4, 7"], "2, 2"),
        (["7, 4", "4, 7"], "1, 2"),
        (["4, 4", "4, 4"], "2, 1"),
    ] {
        let text = diagonal(shapes, axes, "");
        let made = rewritten(&text).unwrap_or_else(|| panic!("{text}"));
        assert!(!made.contains("dot_general"), "{made}");
    }
}

#[test]
fn other_products_stay_as_they_are() {
    let read = diagonal(["4, 7", "7, 4"], "2, 1", "    %1: f64[4, 4]\n");
    let spread = product("5, 4", "%2, %x2", "2, 1", "5, 4").replace("(%x1, 0:f64)", "(%x1, 1:f64)");
    let beside = diagonal(["4, 7", "7, 4"], "2, 1", "")
        .replace("limit_indices = 16, strides = 5", "limit_indices = 4, strides = 1");
    for text in [read, spread, beside] {
        assert!(rewritten(&text).is_none(), "{text}");
    }
}
