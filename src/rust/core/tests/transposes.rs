//! Transposes that sink below elementwise ops and folds: random programs, bit by bit as by the reference.

mod common;

use anvil_core::ops::{Graph, Transpose};
use anvil_core::passes::{optimise, transposes};
use common::both::check;
use common::Rng;
use std::fmt::Write;

/// Sizes and a permutation of the axes.
const TURNS: [(&[usize], &[usize]); 6] = [
    (&[40, 33], &[1, 0]),
    (&[7, 300], &[1, 0]),
    (&[0, 5], &[1, 0]),
    (&[6, 5, 11], &[2, 0, 1]),
    (&[6, 5, 11], &[1, 0, 2]),
    (&[9, 1, 13], &[2, 1, 0]),
];

fn vector(of: impl Iterator<Item = usize>) -> String {
    format!("c({})", of.map(|x| x.to_string()).collect::<Vec<_>>().join(", "))
}

/// The text of a program: two values that are transposed, ops on them and on what is repeated, and folds.
fn program(rng: &mut Rng, dtype: &str, (sizes, order): (&[usize], &[usize])) -> String {
    let turned: Vec<usize> = order.iter().map(|&i| sizes[i]).collect();
    let list = |of: &[usize]| of.iter().map(|x| x.to_string()).collect::<Vec<_>>().join(", ");
    let (all, own) = (list(&turned), list(sizes));
    let line = rng.below(turned.len());
    let long = turned[line];
    let mut text = format!(
        "<AnvilGraph>\n  Inputs:\n    %x: {dtype}[{own}]\n    %y: {dtype}[{own}]\n    %z: {dtype}[{all}]\n    %m: {dtype}[{long}]\n  Body:\n"
    );
    let mut count = 0;
    let mut add = |what: String, sizes: &str| {
        count += 1;
        writeln!(text, "    %{count}: {dtype}[{sizes}] = {what}").unwrap();
        format!("%{count}")
    };
    let permutation = vector(order.iter().map(|i| i + 1));
    let shape = vector(turned.iter().copied());
    let mut values = vec![];
    for of in ["%x", "%y"] {
        let computed = add(format!("exp({of})"), &own);
        values.push(add(format!("transpose [permutation = {permutation}] ({computed})"), &all));
    }
    let repeated =
        add(format!("broadcast_in_dim [shape = {shape}, broadcast_axes = {}] (%m)", line + 1), &all);
    let number =
        add(format!("broadcast_in_dim [shape = {shape}, broadcast_axes = c()] (0.75:{dtype})"), &all);
    let mut outputs = vec![];
    for _ in 0..3 + rng.below(5) {
        let x = rng.choose(&values).clone();
        let others = [repeated.clone(), number.clone(), rng.choose(&values).clone(), "%z".to_string()];
        let y = others[if rng.one_in(6) { 3 } else { rng.below(3) }].clone();
        values.push(match rng.below(4) {
            0 => add(format!("tanh({x})"), &all),
            1 => add(format!("sub({x}, {y})"), &all),
            2 => add(format!("mul({y}, {x})"), &all),
            _ => add(format!("max({x}, {y})"), &all),
        });
        if !rng.one_in(3) {
            let (axis, drop) = (rng.below(turned.len()), rng.one_in(2));
            let fold = rng.choose(&["reduce_sum", "reduce_max", "reduce_min", "reduce_squares"]);
            let left: Vec<usize> = (0..turned.len())
                .filter(|&i| !drop || i != axis)
                .map(|i| if i == axis { 1 } else { turned[i] })
                .collect();
            let drop = if drop { "TRUE" } else { "FALSE" };
            let x = values.last().unwrap();
            let sizes = list(&left);
            outputs.push((add(format!("{fold} [axes = {}, drop = {drop}] ({x})", axis + 1), &sizes), sizes));
        }
    }
    if rng.one_in(4) || outputs.is_empty() {
        outputs.push((values.last().unwrap().clone(), all));
    }
    text.push_str("  Outputs:\n");
    outputs.iter().for_each(|(v, sizes)| writeln!(text, "    {v}: {dtype}[{sizes}]").unwrap());
    text
}

#[test]
fn programs_have_the_bits_of_the_reference() {
    let (mut rng, mut sunk) = (Rng::new(5), 0);
    for round in 0..300 {
        let text = program(&mut rng, ["f32", "f64"][round % 2], TURNS[round % TURNS.len()]);
        check(&text, &mut rng).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let graph = Graph::parse(&text).unwrap();
        if let Some(made) = transposes(&graph).unwrap() {
            made.verify().unwrap();
            sunk += usize::from(count(&made) < count(&graph));
        }
    }
    assert!(sunk > 60, "{sunk} of 300");
}

fn count(graph: &Graph) -> usize {
    graph.nodes().iter().filter(|node| node.op.get::<Transpose>().is_some()).count()
}

#[test]
fn rows_of_a_transpose_are_folded_where_they_lie() {
    // The logarithm of the sum of the exponentials of each row of t(x - y).
    let text = "<AnvilGraph>\n  Inputs:\n    %x: f32[131, 97]\n    %y: f32[131, 97]\n  Body:\n    %0: f32[131, 97] = sub(%x, %y)\n    %1: f32[97, 131] = transpose [permutation = c(2, 1)] (%0)\n    %2: f32[97] = reduce_max [axes = 2, drop = TRUE] (%1)\n    %3: f32[97, 131] = broadcast_in_dim [shape = c(97, 131), broadcast_axes = 1] (%2)\n    %4: f32[97, 131] = sub(%1, %3)\n    %5: f32[97, 131] = exp(%4)\n    %6: f32[97] = reduce_sum [axes = 2, drop = TRUE] (%5)\n    %7: f32[97] = log(%6)\n  Outputs:\n    %7: f32[97]\n";
    check(text, &mut Rng::new(2)).unwrap();
    let made = transposes(&Graph::parse(text).unwrap()).unwrap().expect("it sinks");
    assert_eq!(count(&made), 0, "{made}");
}

/// A program that folds a function of a value of these sizes and of what is repeated along their first two axes.
fn folded(sizes: &[usize], fold: &str, axes: &[usize], drop: bool, also_read: bool) -> String {
    let list = |of: &[usize]| of.iter().map(|x| x.to_string()).collect::<Vec<_>>().join(", ");
    let left: Vec<usize> = (0..sizes.len())
        .filter(|i| !drop || !axes.contains(i))
        .map(|i| if axes.contains(&i) { 1 } else { sizes[i] })
        .collect();
    let (all, left, shape) = (list(sizes), list(&left), vector(sizes.iter().copied()));
    let (axes, keeps) = (vector(axes.iter().map(|i| i + 1)), if drop { "TRUE" } else { "FALSE" });
    let mut text =
        format!("<AnvilGraph>\n  Inputs:\n    %x: f64[{all}]\n    %m: f64[{}]\n  Body:\n", list(&sizes[..2]));
    writeln!(text, "    %1: f64[{all}] = broadcast_in_dim [shape = {shape}, broadcast_axes = c(1, 2)] (%m)")
        .unwrap();
    writeln!(text, "    %2: f64[{all}] = sub(%x, %1)").unwrap();
    writeln!(text, "    %3: f64[{all}] = tanh(%2)").unwrap();
    writeln!(text, "    %4: f64[{left}] = {fold} [axes = {axes}, drop = {keeps}] (%3)").unwrap();
    writeln!(text, "  Outputs:\n    %4: f64[{left}]").unwrap();
    if also_read {
        writeln!(text, "    %3: f64[{all}]").unwrap();
    }
    text
}

#[test]
fn folds_over_axes_in_the_middle_are_over_the_last() {
    let rng = &mut Rng::new(29);
    // Sizes, the axes that are folded, whether the result of the elementwise ops is read elsewhere, and whether the fold is
    // moved: they are many elements in long runs, none but the fold reads them, and its axes are not the last ones.
    let cases: [(&[usize], &[usize], bool, bool); 9] = [
        (&[50, 30, 47], &[1], false, true),
        (&[17, 300, 14], &[1], false, true),
        (&[40, 9, 10, 20], &[1, 2], false, true),
        (&[40, 9, 10, 20], &[1, 3], false, true),
        (&[40, 9, 10, 20], &[2], false, true),
        (&[50, 30, 47], &[2], false, false),
        (&[50, 30, 47], &[1], true, false),
        (&[3, 300, 90], &[1], false, false),
        (&[20, 30, 10], &[1], false, false),
    ];
    for (sizes, axes, also_read, moves) in cases {
        for fold in ["reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_squares"] {
            for drop in [false, true] {
                let text = folded(sizes, fold, axes, drop, also_read);
                check(&text, rng).unwrap_or_else(|error| panic!("{error}\n{text}"));
                let moved = transposes(&Graph::parse(&text).unwrap()).unwrap();
                assert_eq!(moved.is_some(), moves && fold != "reduce_squares", "{text}");
            }
        }
    }
}

#[test]
fn gathers_are_made_in_the_order_in_which_they_are_read() {
    let gather = |indices: &str, attributes: &str, made: &str, order: &str, out: &str| {
        format!(
            "<AnvilGraph>\n  Inputs:\n    %x1: f64[50, 6]\n    %x2: i32[{indices}]\n  Body:\n    %1: i32[{indices}] = and(%x2, %x2)\n    %2: f64[{made}] = gather [{attributes}, mode = \"clip\"] (%x1, %1)\n    %3: f64[{out}] = transpose [permutation = c({order})] (%2)\n  Outputs:\n    %3: f64[{out}]\n"
        )
    };
    let rows = "slice_sizes = c(1, 6), offset_axes = 2, collapsed_slice_axes = 1, start_index_map = 1, index_vector_axis = 3, indices_are_sorted = FALSE";
    let turned = |text: &str| {
        check(text, &mut Rng::new(3)).unwrap();
        let graph = optimise(&Graph::parse(text).unwrap()).unwrap();
        transposes(&graph).unwrap().is_some_and(|graph| {
            graph.made_by(graph.outputs()[0]).is_some_and(|node| node.op.row().name == "gather")
        })
    };
    // The batch first, the rows of a matrix after it.
    assert!(turned(&gather("31, 70", rows, "31, 6, 70", "3, 1, 2", "70, 31, 6")));
    turned(&gather("31, 70", rows, "31, 6, 70", "1, 3, 2", "31, 70, 6"));
    // With vectors of indices on an axis of their own, in the middle.
    let cells = "slice_sizes = c(1, 3), offset_axes = 3, collapsed_slice_axes = 1, start_index_map = c(1, 2), index_vector_axis = 2, indices_are_sorted = FALSE";
    for order in ["3, 1, 2", "1, 3, 2", "2, 1, 3", "3, 2, 1"] {
        let out: Vec<&str> =
            order.split(", ").map(|i| ["31", "70", "3"][i.parse::<usize>().unwrap() - 1]).collect();
        turned(&gather("31, 2, 70", cells, "31, 70, 3", order, &out.join(", ")));
    }
}
