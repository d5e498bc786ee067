//! The first few of what is sorted, of which no more is computed, against the reference, bit by bit.

mod common;

use anvil_core::exec::Executable;
use anvil_core::ops::Graph;
use common::both::check;
use common::Rng;

/// The plan of a program, which agrees with the reference.
fn plan(text: &str) -> String {
    check(text, &mut Rng::new(7)).unwrap();
    Executable::compile(&Graph::parse(text).unwrap(), &[]).unwrap().describe()
}

/// A program that reads parts of an order or of what is sorted, each from the first of its positions to the last, counted
/// from 1.
fn program(op: &str, dtype: &str, [n, lines]: [usize; 2], by_row: bool, parts: &[[usize; 2]]) -> String {
    let sizes = |n: usize| if by_row { format!("{lines}, {n}") } else { format!("{n}, {lines}") };
    let (axis, made) = (1 + by_row as usize, if op.starts_with("order") { "i32" } else { dtype });
    let attributes = match op {
        "order down" => format!("order [axis = {axis}, decreasing = c(TRUE)]"),
        "order" => format!("order [axis = {axis}, decreasing = c(FALSE)]"),
        "sort down" => format!("sort [axis = {axis}, decreasing = TRUE]"),
        _ => format!("sort [axis = {axis}, decreasing = FALSE]"),
    };
    let mut body = format!("  %0: {made}[{}] = {attributes} (%x1)\n", sizes(n));
    // Positions count from 1.
    body += &format!(
        "  %ones: {made}[{}] = broadcast_in_dim [shape = c({}), broadcast_axes = c()] (1:{made})\n  %1: {made}[{}] = add(%ones, %0)\n",
        sizes(n), sizes(n), sizes(n)
    );
    for (i, [from, to]) in parts.iter().enumerate() {
        let (start, limit) = if by_row {
            (format!("1, {from}"), format!("{lines}, {to}"))
        } else {
            (format!("{from}, 1"), format!("{to}, {lines}"))
        };
        body += &format!(
            "  %{}: {made}[{}] = static_slice [start_indices = c({start}), limit_indices = c({limit}), strides = c(1, 1)] (%1)\n",
            i + 2,
            sizes(to + 1 - from)
        );
    }
    let outputs: Vec<String> = (0..parts.len())
        .map(|i| format!("    %{}: {made}[{}]\n", i + 2, sizes(parts[i][1] + 1 - parts[i][0])))
        .collect();
    format!(
        "<AnvilGraph>\n  Inputs:\n    %x1: {dtype}[{}]\n  Body:\n{}  Outputs:\n{}",
        sizes(n),
        body.replace("  %", "    %"),
        outputs.concat()
    )
}

#[test]
fn the_first_few_are_computed_alone() {
    for op in ["order", "order down", "sort", "sort down"] {
        for dtype in ["f64", "f32", "i32"] {
            for by_row in [false, true] {
                for parts in [&[[1, 9]][..], &[[1, 1], [4, 12]], &[[7, 7]]] {
                    let text = program(op, dtype, [130, 11], by_row, parts);
                    let plan = plan(&text);
                    assert!(plan.contains("top_k"), "{text}\n{plan}");
                    assert!(!plan.contains("order") && !plan.contains("sort"), "{text}\n{plan}");
                }
            }
        }
    }
}

#[test]
fn what_is_read_further_is_sorted_once() {
    let many: &[[usize; 2]] = &[[1, 9], [100, 130]];
    for (sizes, parts) in [([130, 3], many), ([130, 3], &[[1, 40]]), ([40, 3], &[[1, 3]])] {
        let text = program("order", "f64", sizes, false, parts);
        let plan = plan(&text);
        assert!(!plan.contains("top_k") && plan.contains("order"), "{text}\n{plan}");
    }
}

#[test]
fn the_first_few_of_a_transpose_are_computed_alone() {
    // t(apply(x, 1, order))[, 1:5], and what is read of both.
    let text = |also: &str| {
        format!(
            "<AnvilGraph>\n  Inputs:\n    %x1: f32[201, 40]\n  Body:\n    %0: i32[201, 40] = order [axis = 1, decreasing = c(FALSE)] (%x1)\n    %1: i32[40, 201] = transpose [permutation = c(2, 1)] (%0)\n    %2: i32[40, 5] = static_slice [start_indices = c(1, 1), limit_indices = c(40, 5), strides = c(1, 1)] (%1)\n{also}    %4: i32[40] = reduce_max [axes = 2, drop = TRUE] (%2)\n  Outputs:\n    %2: i32[40, 5]\n    %4: i32[40]\n"
        )
    };
    let few = plan(&text(""));
    assert!(few.contains("top_k") && !few.contains("order"), "{few}");
    // A row of the transpose is a whole order.
    let row = "    %3: i32[1, 201] = static_slice [start_indices = c(1, 1), limit_indices = c(1, 201), strides = c(1, 1)] (%1)\n";
    let whole = plan(&text(row).replace("  Outputs:\n", "  Outputs:\n    %3: i32[1, 201]\n"));
    assert!(!whole.contains("top_k") && whole.contains("order"), "{whole}");
}
