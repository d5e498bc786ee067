//! States of loops that are stored as doubles and hold singles alone, against the reference, bit by bit.

mod common;

use anvil_core::ops::Graph;
use anvil_core::passes::{narrow, optimise};
use common::both::check;
use common::Rng;

/// The program after the pass, as text; `None` if it is as before. It gives what the reference does.
fn narrowed(text: &str) -> Option<String> {
    for seed in 0..3 {
        check(text, &mut Rng::new(seed)).unwrap();
    }
    let graph = optimise(&Graph::parse(text).unwrap()).unwrap();
    narrow(&graph).unwrap().map(|graph| graph.to_string())
}

/// A loop over the rows of a matrix, which begins with one number.
fn filled(length: usize, init: &str, body: &[&str]) -> String {
    let body: String =
        body.iter().enumerate().map(|(i, line)| format!("        %{}: {line}\n", i + 3)).collect();
    let last = body.lines().count() + 2;
    format!(
        "<AnvilGraph>\n  Inputs:\n    %x1: f32[{length}, 5]\n    %x2: i32[{length}]\n  Body:\n    %1: f32?[7, 5] = broadcast_in_dim [shape = c(7, 5), broadcast_axes = c()] ({init}:f32?)\n    %2: f32?[7, 5] = scan [length = {length}, reverse = FALSE, checkpoint = FALSE] (%1, %x1, %x2)\n      body(%x1: f32?[7, 5], %x2: f32[5], %x3: i32[]):\n        %1: f32?[1, 5] = dynamic_slice [slice_sizes = c(1, 5), mode = \"clip\"] (%x1, %x3, 0:i32)\n        %2: f32?[5] = reshape [shape = 5, order = \"column\"] (%1)\n{body}        gives (%{last})\n  Outputs:\n    %2: f32?[7, 5]\n"
    )
}

const ROW: [&str; 5] = [
    "f32[5] = convert [dtype = f32, ambiguous = FALSE] (%2)",
    "f32[5] = sub(%3, %x2)",
    "f32?[5] = convert [dtype = f32, ambiguous = TRUE] (%4)",
    "f32?[1, 5] = reshape [shape = c(1, 5), order = \"column\"] (%5)",
    "f32?[7, 5] = dynamic_update_slice [mode = \"clip\"] (%x1, %6, %x3, 0:i32)",
];

/// How often a program converts to doubles.
fn widened(text: &str) -> usize {
    text.matches("convert [dtype = f32, ambiguous = TRUE]").count()
}

#[test]
fn rows_of_singles_are_carried_as_singles() {
    for init in ["0", "-0.5", "16777216"] {
        for length in [7, 60] {
            let made = narrowed(&filled(length, init, &ROW)).unwrap();
            assert_eq!(widened(&made), 1, "{made}");
            assert!(made.contains("body(%x1: f32[7, 5]"), "{made}");
        }
    }
    // Once is not worth a conversion of all, and never less so.
    for length in [0, 1] {
        assert_eq!(narrowed(&filled(length, "0", &ROW)), None);
    }
}

#[test]
fn what_is_no_single_stays() {
    for init in ["0.1", "16777217", "1e300"] {
        assert_eq!(narrowed(&filled(60, init, &ROW)), None, "{init}");
    }
    let computed = [
        "f32?[5] = mul(%2, %2)",
        "f32?[1, 5] = reshape [shape = c(1, 5), order = \"column\"] (%3)",
        "f32?[7, 5] = dynamic_update_slice [mode = \"clip\"] (%x1, %4, %x3, 0:i32)",
    ];
    assert_eq!(narrowed(&filled(60, "2", &computed)), None);
    // All is read as doubles in each iteration.
    let read = [
        "f32?[] = reduce_sum [axes = c(1, 2), drop = TRUE] (%x1)",
        "f32[] = convert [dtype = f32, ambiguous = FALSE] (%3)",
        "f32[5] = broadcast_in_dim [shape = 5, broadcast_axes = c()] (%4)",
        "f32[5] = add(%5, %x2)",
        "f32?[5] = convert [dtype = f32, ambiguous = TRUE] (%6)",
        "f32?[1, 5] = reshape [shape = c(1, 5), order = \"column\"] (%7)",
        "f32?[7, 5] = dynamic_update_slice [mode = \"clip\"] (%x1, %8, %x3, 0:i32)",
    ];
    assert_eq!(narrowed(&filled(60, "0", &read)), None);
}

#[test]
fn elements_are_chosen() {
    let chosen = [
        "f32[5] = convert [dtype = f32, ambiguous = FALSE] (%2)",
        "f32[5] = div(%x2, %3)",
        "f32?[5] = convert [dtype = f32, ambiguous = TRUE] (%4)",
        "i1[5] = lt(%x2, %4)",
        "f32?[5] = select(%6, %5, %2)",
        "f32?[7, 5] = broadcast_in_dim [shape = c(7, 5), broadcast_axes = 2] (%7)",
        "i32[1] = broadcast_in_dim [shape = 1, broadcast_axes = c()] (%x3)",
        "f32?[7, 5] = scatter [update_window_axes = 1, inserted_window_axes = 1, scatter_axes_to_operand_axes = 1, index_vector_axis = 1, indices_are_sorted = FALSE, unique_indices = FALSE, update_computation = \"replace\", mode = \"drop\"] (%8, %9, %7)",
    ];
    let made = narrowed(&filled(60, "1.5", &chosen)).unwrap();
    assert_eq!(widened(&made), 1, "{made}");
    // What is added to doubles is computed in doubles.
    let added = chosen.map(|line| line.replace("replace", "add"));
    let added: Vec<&str> = added.iter().map(String::as_str).collect();
    assert_eq!(narrowed(&filled(60, "1.5", &added)), None);
}

#[test]
fn loops_in_loops_and_conditions() {
    let text = "<AnvilGraph>
  Inputs:
    %x1: f32[6]
    %x2: f32[]
  Body:
    %1: f32?[4] = broadcast_in_dim [shape = 4, broadcast_axes = c()] (0:f32?)
    (%2, %3, %4): (i32[], f32?[4], f32?[]) = while(0:i32, %1, 0.25:f32?, %x1, %x2)
      cond(%x1: i32[], %x2: f32?[4], %x3: f32?[]):
        %1: f32[] = convert [dtype = f32, ambiguous = FALSE] (%x3)
        %2: i1[] = lt(%1, 100:f32)
        %3: i1[] = lt(%x1, 50:i32)
        %4: i1[] = and(%2, %3)
        gives (%4)
      body(%x1: i32[], %x2: f32?[4], %x3: f32?[], %x4: f32[6], %x5: f32[]):
        %1: f32?[4] = scan [length = 6, reverse = FALSE, checkpoint = FALSE] (%x2, %x4, %x1)
          body(%x1: f32?[4], %x2: f32[], %x3: i32[]):
            %1: f32[4] = convert [dtype = f32, ambiguous = FALSE] (%x1)
            %2: f32[4] = broadcast_in_dim [shape = 4, broadcast_axes = c()] (%x2)
            %3: f32[4] = add(%1, %2)
            %4: f32?[4] = convert [dtype = f32, ambiguous = TRUE] (%3)
            gives (%4)
        %2: f32[] = convert [dtype = f32, ambiguous = FALSE] (%x3)
        %3: f32[] = add(%2, %x5)
        %4: f32?[] = convert [dtype = f32, ambiguous = TRUE] (%3)
        %5: i32[] = add(%x1, 1:i32)
        gives (%5, %1, %4)
  Outputs:
    %2: i32[]
    %3: f32?[4]
    %4: f32?[]
";
    let made = narrowed(text).unwrap();
    assert_eq!(widened(&made), 2, "{made}");
    assert!(made.contains("cond(%x1: i32[], %x2: f32[4], %x3: f32[])"), "{made}");
    // Two values change places, and one begins as what is no single.
    let turned = |init: &str| {
        format!(
            "<AnvilGraph>
  Inputs:
    %x1: f32[20]
  Body:
    (%1, %2): (f32?[], f32?[]) = scan [length = 20, reverse = TRUE, checkpoint = FALSE] (0:f32?, {init}:f32?, %x1)
      body(%x1: f32?[], %x2: f32?[], %x3: f32[]):
        %1: f32[] = convert [dtype = f32, ambiguous = FALSE] (%x1)
        %2: f32[] = mul(%1, %x3)
        %3: f32?[] = convert [dtype = f32, ambiguous = TRUE] (%2)
        gives (%x2, %3)
  Outputs:
    %1: f32?[]
    %2: f32?[]
"
        )
    };
    assert!(narrowed(&turned("3")).is_some());
    assert_eq!(narrowed(&turned("0.1")), None);
}

#[test]
fn nothing_has_no_elements() {
    let text = filled(9, "0", &ROW).replace("7, 5", "7, 0").replace("[5]", "[0]").replace("= 5", "= 0");
    let text = text.replace("1, 5", "1, 0").replace("9, 5", "9, 0");
    assert_eq!(narrowed(&text), None);
}
