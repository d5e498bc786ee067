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
    let bodies: [&[&str]; 4] = [
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
