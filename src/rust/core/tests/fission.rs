//! What leaves a loop, and is computed for all iterations at once, against the loop as it was written.

mod common;
#[path = "common/rounding.rs"]
mod rounding;

use anvil_core::ops::Graph;
use anvil_core::passes::fission;
use common::Rng;
use rounding::agree;
use std::fmt::Write;

/// A loop of so many iterations with this body. Its state are a vector of `n` numbers and sums of numbers, of vectors and of
/// matrices; its slices a vector of `n` and one of `m` numbers, and a number that counts from `start` on; and it reads a matrix
/// of `n` by `m`, and rows of `n` numbers, of which there are two more than iterations.
fn program(dtype: &str, [length, n, m]: [usize; 3], (reverse, start): (bool, usize), body: &Body) -> String {
    let types = [format!("{dtype}[{n}]"), format!("{dtype}[]"), format!("{dtype}[{n}, {m}]")];
    let [state, sum, sums] = &types;
    let mut inputs = String::new();
    let outside = [
        state,
        sum,
        sums,
        &format!("{dtype}[{length}, {n}]"),
        &format!("{dtype}[{length}, {m}]"),
        sums,
        &format!("{dtype}[{}, {n}]", length + 2),
    ];
    let count = format!("    %count: i32[{length}] = iota [axis = 1, dtype = i32, shape = {length}, start = {start}, ambiguous = FALSE] ()\n");
    for (i, ty) in outside.iter().enumerate() {
        writeln!(inputs, "    %a{i}: {ty}").unwrap();
    }
    let row = format!("{dtype}[{m}]");
    let count_type = "i32[]".to_string();
    let inside = [state, sum, sums, state, &row, &count_type, sums, outside[6]];
    let parameters: Vec<String> = inside.iter().enumerate().map(|(i, ty)| format!("%x{i}: {ty}")).collect();
    let made: Vec<String> = [state, sum, sums].into_iter().cloned().collect();
    let stacked = body.stacked.iter().map(|(_, sizes)| match sizes.as_str() {
        "" => format!("{dtype}[{length}]"),
        sizes => format!("{dtype}[{length}, {sizes}]"),
    });
    let results: Vec<String> = made.into_iter().chain(stacked).collect();
    let names: Vec<String> = (0..results.len()).map(|i| format!("%r{i}")).collect();
    let outputs: Vec<String> =
        names.iter().zip(&results).map(|(name, ty)| format!("    {name}: {ty}\n")).collect();
    let gives: Vec<&str> =
        body.next.iter().map(String::as_str).chain(body.stacked.iter().map(|(v, _)| v.as_str())).collect();
    let reverse = if reverse { "TRUE" } else { "FALSE" };
    format!(
        "<AnvilGraph>\n  Inputs:\n{inputs}  Body:\n{count}    ({}): ({}) = scan [length = {length}, reverse = {reverse}, checkpoint = FALSE] (%a0, %a1, %a2, %a3, %a4, %count, %a5, %a6)\n      body({}):\n{}        gives ({})\n  Outputs:\n{}",
        names.join(", "),
        results.join(", "),
        parameters.join(", "),
        body.text,
        gives.join(", "),
        outputs.concat(),
    )
}

/// A body: its lines, the next state, and what is stacked, with its sizes.
struct Body {
    text: String,
    next: [String; 3],
    stacked: Vec<(String, String)>,
}

/// A random body of so many ops.
fn body(rng: &mut Rng, dtype: &str, [n, m]: [usize; 2], (ops, start): (usize, usize)) -> Body {
    let mut text = String::new();
    let mut count = 0;
    let mut typed = |what: String, ty: String| {
        count += 1;
        writeln!(text, "        %{count}: {ty} = {what}").unwrap();
        format!("%{count}")
    };
    // A row at the position of the iteration, or near it; some are not there.
    let mut rows = vec![];
    for _ in 0..rng.below(3) {
        let by = rng.below(5) as i64 - 1 - start as i64;
        let at = typed(format!("add(%x5, {by}:i32)"), "i32[]".into());
        let is_there = (0..=2).contains(&(by + start as i64));
        let mode = if is_there && rng.one_in(2) { "" } else { ", mode = \"clip\"" };
        let row = typed(
            format!("dynamic_slice [slice_sizes = c(1, {n}){mode}] (%x7, {at}, 0:i32)"),
            format!("{dtype}[1, {n}]"),
        );
        rows.push(typed(
            format!("reshape [shape = {n}, order = \"column\"] ({row})"),
            format!("{dtype}[{n}]"),
        ));
    }
    let mut line = |what: String, sizes: &str| typed(what, format!("{dtype}[{sizes}]"));
    let mut long = vec!["%x0".to_string(), "%x3".to_string()];
    long.extend(rows);
    let mut short = vec!["%x4".to_string()];
    let (of_long, of_short, of_matrix) = (n.to_string(), m.to_string(), format!("{n}, {m}"));
    for _ in 0..ops {
        let x = rng.choose(&long).clone();
        let y = rng.choose(&long).clone();
        let z = rng.choose(&short).clone();
        match rng.below(9) {
            0 => short.push(line(format!("tanh({z})"), &of_short)),
            1 => long.push(line(
                format!("dot_general [contracting_axes = [2, 1], batching_axes = [c(), c()]] (%x6, {z})"),
                &of_long,
            )),
            2 => short.push(line(
                format!("dot_general [contracting_axes = [1, 1], batching_axes = [c(), c()]] (%x6, {x})"),
                &of_short,
            )),
            3 => {
                let sum = line(format!("reduce_sum [axes = 1, drop = TRUE] ({x})"), "");
                long.push(line(
                    format!("broadcast_in_dim [shape = {n}, broadcast_axes = c()] ({sum})"),
                    &of_long,
                ));
            }
            4 => long.push(line(format!("{}({x}, {y})", rng.choose(&["add", "sub", "mul"])), &of_long)),
            5 => long.push(line(format!("max({x}, {y})"), &of_long)),
            6 => long.push(line(format!("negate({x})"), &of_long)),
            _ => {
                let y = line(format!("{}({x})", rng.choose(&["tanh", "sin", "logistic"])), &of_long);
                long.push(y);
            }
        }
    }
    let pick = |rng: &mut Rng, values: &[String]| {
        let last = values.len() - 1;
        values[last - rng.below(values.len()).min(rng.below(values.len()))].clone()
    };
    let (x, y, z) = (pick(rng, &long), pick(rng, &long), pick(rng, &short));
    let next = line(format!("tanh({x})"), &of_long);
    // Sums of what is bounded, of products and of differences, and states that are none as they are read elsewhere.
    let bounded = line(format!("tanh({y})"), &of_long);
    let narrow = line(format!("sin({z})"), &of_short);
    let one = line(format!("reduce_sum [axes = 1, drop = TRUE] ({bounded})"), "");
    let sum = match rng.below(4) {
        0 => line(format!("add({one}, %x1)"), ""),
        1 => line(format!("sub(%x1, {one})"), ""),
        2 => {
            let first = line(format!("add(%x1, {one})"), "");
            line(format!("sub({first}, {one})"), "")
        }
        _ => line(format!("max(%x1, {one})"), ""),
    };
    let outer = if rng.one_in(2) {
        let what = format!("({bounded}, {narrow})");
        line(
            format!("dot_general [contracting_axes = [c(), c()], batching_axes = [c(), c()]] {what}"),
            &of_matrix,
        )
    } else {
        let spread = |line: &mut dyn FnMut(String, &str) -> String, v: &str, axes: &str| {
            line(format!("broadcast_in_dim [shape = c({n}, {m}), broadcast_axes = {axes}] ({v})"), &of_matrix)
        };
        let parts =
            [(&bounded, "1"), (&narrow, "2"), (&one, "c()")].map(|(v, axes)| spread(&mut line, v, axes));
        let [x, y, scale] = &parts;
        match rng.below(3) {
            0 => line(format!("mul({x}, {y})"), &of_matrix),
            1 => line(format!("mul({y}, {x})"), &of_matrix),
            _ => {
                let scaled = line(format!("mul({scale}, {y})"), &of_matrix);
                line(format!("mul({x}, {scaled})"), &of_matrix)
            }
        }
    };
    let outer = match rng.below(4) {
        0 => line(format!("negate({outer})"), &of_matrix),
        1 => line(format!("mul({outer}, %x6)"), &of_matrix),
        2 => line(format!("add({outer}, %x6)"), &of_matrix),
        _ => outer,
    };
    let sums = line(format!("{}(%x2, {outer})", rng.choose(&["add", "sub"])), &of_matrix);
    let mut stacked = vec![];
    for _ in 0..rng.below(4) {
        stacked.push(match rng.below(4) {
            0 => (pick(rng, &short), of_short.clone()),
            1 => (sum.clone(), String::new()),
            2 => (one.clone(), String::new()),
            _ => (pick(rng, &long), of_long.clone()),
        });
    }
    Body { text, next: [next, sum, sums], stacked }
}

#[test]
fn random_loops_agree() {
    let mut rng = Rng::new(11);
    let mut split = 0;
    for i in 0..400 {
        let dtype = "f64";
        let sizes = [1 + rng.below(6), 1 + rng.below(20), 1 + rng.below(9)];
        let [_, n, m] = sizes;
        let ops = 1 + rng.below(9);
        let start = rng.below(2);
        let body = body(&mut rng, dtype, [n, m], (ops, start));
        for length in [sizes[0], 12] {
            let text = program(dtype, [length, n, m], (i % 2 == 1, start), &body);
            let graph = Graph::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            if let Some(made) = fission(&graph).unwrap() {
                made.verify().unwrap();
                let types = |graph: &Graph| {
                    graph.outputs().iter().map(|&v| graph.aval(v).clone()).collect::<Vec<_>>()
                };
                assert_eq!(types(&made), types(&graph), "{text}");
                agree(&graph, &made, &mut rng);
                split += 1;
            }
        }
    }
    assert!(split > 200, "{split} loops are split");
}

#[test]
fn sums_are_taken_through_many_ops_in_a_moment() {
    // Each op reads the one before twice, or once: as many ways as 2 to the power of so many, and very deep.
    for (ops, twice) in [(60, true), (20_000, false)] {
        let mut text = "        %0: f64[5, 6] = dot_general [contracting_axes = [c(), c()], batching_axes = [c(), c()]] (%x1, %x2)\n".to_string();
        for i in 1..=ops {
            let other = if twice { format!("%{}", i - 1) } else { "%x3".into() };
            writeln!(text, "        %{i}: f64[5, 6] = add(%{}, {other})", i - 1).unwrap();
        }
        writeln!(text, "        %{}: f64[5, 6] = add(%x0, %{ops})", ops + 1).unwrap();
        let graph = format!(
            "<AnvilGraph>\n  Inputs:\n    %a0: f64[5, 6]\n    %a1: f64[7, 5]\n    %a2: f64[7, 6]\n    %a3: f64[5, 6]\n  Body:\n    %r: f64[5, 6] = scan [length = 7, reverse = FALSE, checkpoint = FALSE] (%a0, %a1, %a2, %a3)\n      body(%x0: f64[5, 6], %x1: f64[5], %x2: f64[6], %x3: f64[5, 6]):\n{text}        gives (%{})\n  Outputs:\n    %r: f64[5, 6]\n",
            ops + 1
        );
        let graph = Graph::parse(&graph).unwrap();
        let made = fission(&graph).unwrap();
        if twice {
            agree(&graph, &made.expect("it is one product"), &mut Rng::new(3));
        }
    }
}
