//! The parser of the text of graphs: results and errors. `common::disagreement` checks on each program of the
//! suite that the text is parsed to the same graph.

use anvil_core::ops::{Graph, Op};

const PROGRAM: &str = "\
<AnvilGraph>
  Inputs:
    %x1: f32[2, 3]
    %x2: i1[]
  Constants:
    %c1: f32?[2]
  Body:
    %1: f32[2] = reduce_sum [axes = 2, drop = TRUE] (%x1)
    %2: f32[2] = print [label = \"a \\\"b\\\"\\n\"] (%1)
    %3: f32[2, 3] = broadcast_in_dim [shape = c(2, 3), broadcast_axes = 1] (%2)
    %4: f32[2, 2] = dot_general [contracting_axes = [2, 2], batching_axes = [c(), c()]] (%3, %x1)
    (%5, %6): (f32?[], f32?[2]) = if(%x2, %c1)
      true(%x1: f32?[2]):
        %1: f32?[2] = negate(%x1)
        gives (-Inf:f32?, %1)
      false():
        %1: f32?[2] = fill [value = 0.5, dtype = f32, shape = 2, ambiguous = TRUE] ()
        gives (1:f32?, %1)
  Outputs:
    %4: f32[2, 2]
    %5: f32?[]
    1+2i:c64
";

fn parse(text: &str) -> Result<Graph, String> {
    Graph::parse(text).map_err(|e| e.to_string())
}

#[test]
fn a_text_is_read_as_it_is_printed() {
    let graph = parse(PROGRAM).unwrap_or_else(|e| panic!("{e}"));
    graph.verify().unwrap();
    assert_eq!(graph.to_string(), PROGRAM);
    let empty = "<AnvilGraph>\n  Inputs: (none)\n  Body: (empty)\n  Outputs: (none)\n";
    assert_eq!(parse(empty).unwrap().to_string(), empty);
}

#[test]
fn names_and_spaces_are_free() {
    let text = "<AnvilGraph> Inputs: %weights:f32[ 2,3 ] Body: %sum: f32[2]\n\t= reduce_sum[drop=TRUE,axes=c(2)](%weights)
        Outputs: %sum: f32[2]";
    let printed = "<AnvilGraph>\n  Inputs:\n    %x1: f32[2, 3]\n  Body:\n    \
                   %1: f32[2] = reduce_sum [axes = 2, drop = TRUE] (%x1)\n  Outputs:\n    %1: f32[2]\n";
    assert_eq!(parse(text).unwrap().to_string(), printed);
}

#[test]
fn equal_statements_stay_two_nodes() {
    let text = "<AnvilGraph>\n  Inputs:\n    %x1: f32[2]\n  Body:\n    %1: f32[2] = print [label = \"\"] (%x1)\n    \
                %2: f32[2] = print [label = \"\"] (%x1)\n  Outputs: (none)\n";
    let graph = parse(text).unwrap();
    let numbers: Vec<u64> = graph
        .nodes()
        .iter()
        .filter_map(|node| if let Op::Print(op) = &node.op { Some(op.number) } else { None })
        .collect();
    assert_eq!(numbers.len(), 2);
    assert_ne!(numbers[0], numbers[1], "two calls print twice");
    assert_eq!(graph.to_string(), text);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    // What stands in the program, what stands there instead, and what is said.
    let cases = [
        ("<Anvil", "<Envil", "line 1, column 2: expected `AnvilGraph`, found `EnvilGraph`"),
        ("Inputs:", "Inputs", "line 3, column 5: expected `:`, found `%x1`"),
        ("%x2: i1[]", "x2: i1[]", "line 4, column 5: expected `Body`, found `x2`"),
        ("%x2: i1[]", "%x2: i2[]", "line 4, column 10: expected a dtype, one of i1, i8,"),
        ("f32[2, 3]\n", "f32[2 3]\n", "line 3, column 16: expected `,` or `]`, found `3`"),
        ("f32[2, 3]\n", "f32[2, -3]\n", "line 3, column 17: expected the size of an axis, found `-3`"),
        ("%x2: i1", "%x1: i1", "line 4, column 5: expected a name that no other value has, found `%x1`"),
        (
            "reduce_sum [",
            "reduce_some [",
            "line 8, column 18: expected the name of an op, found `reduce_some`",
        ),
        ("axes = 2, ", "", "line 8, column 18: expected the attribute `axes` of `reduce_sum`, found none"),
        (
            "axes = 2,",
            "axes = 3,",
            "line 8, column 37: expected distinct axis numbers from 1 to 2 for `axes`, found `3`",
        ),
        ("axes = 2,", "axes = c(1, 1),", "line 8, column 37: expected distinct axis numbers"),
        ("drop = TRUE", "drop = T", "line 8, column 47: expected TRUE or FALSE for `drop`, found `T`"),
        (
            "drop = TRUE",
            "drop = TRUE, keep = 1",
            "expected attributes of `reduce_sum`, which are axes, drop, found `keep`",
        ),
        ("] (%x1)", "] (%x1, %x1)", "line 8, column 18: expected 1 operands of `reduce_sum`, found 2"),
        (
            "] (%x1)",
            "] (%x9)",
            "line 8, column 54: expected the name of a value that is made before, found `%x9`",
        ),
        (
            "broadcast_axes = 1",
            "broadcast_axes = 2",
            "line 10, column 21: expected operands that `broadcast_in_dim` takes",
        ),
        ("%1: f32[2] =", "%1: f64[2] =", "line 8, column 18: expected results of type f32[2], found f64[2]"),
        ("\\n\"]", "\\n]", "line 9, column 33: expected a text between quotes"),
        (
            "[2, 2],",
            "[2],",
            "expected a list of axis numbers of two operands for `contracting_axes`, found `[2]`",
        ),
        ("(%5, %6)", "(%5)", "line 12, column 11: expected 1 types, found 2"),
        ("true(", "yes(", "expected the region `true` of `if`, found none"),
        (
            "        gives (1:f32?, %1)\n",
            "",
            "line 18, column 3: expected another statement, or `gives`, found `Outputs`",
        ),
        ("gives (-Inf:f32?, ", "gives (-Inf:i32, ", "expected an element of dtype i32, found `-Inf`"),
        ("value = 0.5", "value = a", "expected an element of dtype f32? for `value`, found `a`"),
        ("    %5: f32?[]\n", "    %5: f64[]\n", "line 21, column 5: expected f32?[], found f64[]"),
        (
            "1+2i:c64\n",
            "1+2i:c64)\n",
            "line 22, column 13: expected the name of a value, or a number with its dtype",
        ),
    ];
    let mut findings = Vec::new();
    for (old, new, said) in cases {
        let text = PROGRAM.replacen(old, new, 1);
        assert_ne!(text, PROGRAM, "{old}");
        let error = parse(&text).map(|_| ()).expect_err(new);
        if !error.contains(said) {
            findings.push(format!("{new}\n{error}\nis not\n{said}"));
        }
    }
    assert!(findings.is_empty(), "\n{}", findings.join("\n\n"));
    assert_eq!(parse("").unwrap_err(), "line 1, column 1: expected `<`, found the end of the text");
}
