//! Whole numbers that are computed as doubles and read as integers, against the reference, bit by bit.

mod common;

use anvil_core::ops::Graph;
use anvil_core::passes::optimise;
use common::both::check;
use common::Rng;

/// A program that computes doubles of integers `%x1` and `%x2`, the last of which it reads as an integer of a dtype.
fn program(from: [&str; 2], to: &str, body: &[&str]) -> String {
    let converts =
        "    %1: f64[7] = convert [dtype = f64, ambiguous = FALSE] (%x1)\n    %2: f64[7] = convert [dtype = f64, ambiguous = FALSE] (%x2)\n";
    let lines: String =
        body.iter().enumerate().map(|(i, line)| format!("    %{}: f64[7] = {line}\n", i + 3)).collect();
    let last = body.len() + 2;
    format!(
        "<AnvilGraph>\n  Inputs:\n    %x1: {}[7]\n    %x2: {}[7]\n  Body:\n{converts}{lines}    %{}: {to}[7] = convert [dtype = {to}, ambiguous = FALSE] (%{last})\n  Outputs:\n    %{}: {to}[7]\n",
        from[0], from[1], last + 1, last + 1
    )
}

fn optimised(text: &str) -> String {
    check(text, &mut Rng::new(3)).unwrap();
    optimise(&Graph::parse(text).unwrap()).unwrap().to_string()
}

const ONE: &str = "broadcast_in_dim [shape = 7, broadcast_axes = c()] (1:f64)";

#[test]
fn whole_numbers_are_computed_as_integers() {
    let bodies: [&[&str]; 6] = [
        &["broadcast_in_dim [shape = 7, broadcast_axes = c()] (3:f64)", "mod(%1, %3)", "sub(%4, %2)"],
        &["broadcast_in_dim [shape = 7, broadcast_axes = c()] (-4:f64)", "sub(%1, %2)", "mod(%4, %3)"],
        &[ONE, "add(%1, %3)"],
        &["sub(%1, %2)", ONE, "max(%3, %4)", "negate(%5)"],
        &["min(%1, %2)", "abs(%3)", "add(%3, %4)", "sub(%5, %1)"],
        &["broadcast_in_dim [shape = 7, broadcast_axes = c()] (3:f64)", "mul(%1, %3)", "add(%4, %2)"],
    ];
    for body in bodies {
        for from in [["i32", "i32"], ["i8", "ui32"], ["i1", "ui16"]] {
            let text = program(from, "i64", body);
            let made = optimised(&text);
            assert!(!made.contains("f64"), "{text}\n{made}");
        }
    }
}

#[test]
fn chosen_whole_numbers_are_chosen_as_integers() {
    let text = "<AnvilGraph>
  Inputs:
    %x1: i32[600]
    %x2: f32[600]
    %x3: f32[90]
  Body:
    %1: f32[600] = broadcast_in_dim [shape = 600, broadcast_axes = c()] (0.5:f32)
    %2: i1[600] = gt(%x2, %1)
    %3: f32?[600] = convert [dtype = f32, ambiguous = TRUE] (%x1)
    %4: f32?[600] = broadcast_in_dim [shape = 600, broadcast_axes = c()] (1:f32?)
    %5: f32?[600] = select(%2, %3, %4)
    %6: i64[600] = convert [dtype = i64, ambiguous = FALSE] (%5)
    %7: i64[600] = broadcast_in_dim [shape = 600, broadcast_axes = c()] (1:i64)
    %8: i64[600] = sub(%6, %7)
    %9: f32[600] = gather [slice_sizes = 1, offset_axes = c(), collapsed_slice_axes = 1, start_index_map = 1, index_vector_axis = 2, indices_are_sorted = FALSE] (%x3, %8)
  Outputs:
    %9: f32[600]
";
    assert!(check(text, &mut Rng::new(4)).is_err());
    for text in
        [text.replace("f32[90]", "f32[255]"), text.replace("= FALSE] (%x3", "= FALSE, mode = \"clip\"] (%x3")]
    {
        for seed in 0..3 {
            let made = check(&text, &mut Rng::new(seed));
            assert!(made.is_ok() || !text.contains("clip"), "{text}");
        }
    }
    let made = optimise(&Graph::parse(text).unwrap()).unwrap().to_string();
    assert!(!made.contains("f32?"), "{made}");
}

#[test]
fn positions_that_doubles_are() {
    let mut rng = Rng::new(6);
    // From some below 0 to beyond 2^32, and what is no integer at all.
    for (by, less) in [("1", "0"), ("1", "100"), ("2147483648", "50"), ("17179869184", "1"), ("1e+17", "60")]
    {
        for (count, size) in [(700, 300), (700, 40), (3, 5), (0, 4)] {
            for mode in ["", ", mode = \"clip\""] {
                for last in ["mul(%3, %5)", "div(%3, %6)"] {
                    let of = |line: &str| format!("f64[{count}] = {line}");
                    let all = |number: &str| {
                        of(&format!(
                            "broadcast_in_dim [shape = {count}, broadcast_axes = c()] ({number}:f64)"
                        ))
                    };
                    let head = format!(
                        "<AnvilGraph>\n  Inputs:\n    %x1: i32[{count}]\n    %x2: f32[{size}]\n    %x3: f32[{count}]\n  Body:\n    %1: {}\n    %2: {}\n    %3: {}\n    %4: {}\n    %5: {}\n    %6: {}\n    %7: {}\n    %8: i64[{count}] = convert [dtype = i64, ambiguous = FALSE] (%7)\n",
                        of("convert [dtype = f64, ambiguous = FALSE] (%x1)"),
                        all(less), of("sub(%1, %2)"), all("3"), all(by), of("sub(%4, %4)"), of(last),
                    );
                    let gather = format!("    %9: f32[{count}] = gather [slice_sizes = 1, offset_axes = c(), collapsed_slice_axes = 1, start_index_map = 1, index_vector_axis = 2, indices_are_sorted = FALSE{mode}] (%x2, %8)\n  Outputs:\n    %9: f32[{count}]\n");
                    let scatter = |update: &str| {
                        format!("    %9: f32[{size}] = scatter [update_window_axes = c(), inserted_window_axes = 1, scatter_axes_to_operand_axes = 1, index_vector_axis = 2, indices_are_sorted = FALSE, unique_indices = FALSE, update_computation = \"{update}\"{}] (%x2, %8, %x3)\n  Outputs:\n    %9: f32[{size}]\n", mode.replace("clip", "drop"))
                    };
                    for tail in [gather, scatter("replace"), scatter("add"), scatter("max")] {
                        let made = check(&format!("{head}{tail}"), &mut rng);
                        assert!(made.is_ok() || mode.is_empty(), "{head}{tail}");
                    }
                }
            }
        }
    }
}

#[test]
fn others_stay_as_they_are() {
    let half = "broadcast_in_dim [shape = 7, broadcast_axes = c()] (0.5:f64)";
    let large = "broadcast_in_dim [shape = 7, broadcast_axes = c()] (9007199254740992:f64)";
    let cases: [([&str; 2], &str, &[&str]); 6] = [
        (["i32", "i32"], "i64", &[half, "add(%1, %3)"]),
        (["i32", "i32"], "i64", &[large, "add(%1, %3)"]),
        // Of the product of three, not all are doubles.
        (["i32", "i32"], "i64", &["mul(%1, %2)", "mul(%3, %1)"]),
        (["i64", "i32"], "i64", &[ONE, "add(%1, %3)"]),
        (["i32", "i32"], "i64", &["div(%1, %2)"]),
        // What is no 32-bit integer becomes another one than a sum of integers that overflows.
        (["i32", "i32"], "i32", &[ONE, "add(%1, %3)"]),
    ];
    for (from, to, body) in cases {
        let text = program(from, to, body);
        let made = optimised(&text);
        assert!(made.contains("f64"), "{text}\n{made}");
    }
}
