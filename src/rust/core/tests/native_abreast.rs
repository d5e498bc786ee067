//! Loops in which several vectors of lanes are computed together, and of which threads share the lanes, against the
//! reference, bit by bit: short random bodies, whose iterations wait for what they carry.

mod common;

use anvil_core::kernels::threads::want;
use common::both::{run, scans};
use common::Rng;
use std::fmt::Write;

/// A random body on states of this shape, on slices and on numbers that are one for all, with elements of these dtypes.
fn body(rng: &mut Rng, lanes: &str, ops: usize, dtypes: &[&str]) -> String {
    let mut text = String::new();
    let mut values: Vec<Vec<String>> = vec![];
    for (i, &dtype) in dtypes.iter().enumerate() {
        let slice = format!("%x{}", dtypes.len() + 1 + i);
        writeln!(
            text,
            "%b{i}: {dtype}[{lanes}] = broadcast_in_dim [shape = c({lanes}), broadcast_axes = c()] (%x{})",
            2 * dtypes.len() + 1 + i
        )
        .unwrap();
        values.push(vec![format!("%b{i}"), slice, format!("%x{i}")]);
    }
    // A number that is carried, the same for all lanes.
    let count = format!("%x{}", dtypes.len());
    writeln!(text, "%count: f64[] = add({count}, 1:f64)").unwrap();
    let mut next = 0;
    for _ in 0..ops {
        let which = rng.below(dtypes.len());
        let dtype = dtypes[which];
        let pick = |rng: &mut Rng, values: &Vec<String>| {
            let last = values.len() - 1;
            values[last - rng.below(values.len()).min(rng.below(values.len()))].clone()
        };
        let (x, y) = (pick(rng, &values[which]), pick(rng, &values[which]));
        let float = dtype.starts_with('f');
        next += 1;
        let what = match rng.below(if float { 8 } else { 5 }) {
            0 | 1 => format!("{}({x}, {y})", rng.choose(&["add", "sub", "mul"])),
            2 => format!("{}({x}, {y})", rng.choose(&["max", "min"])),
            3 => {
                writeln!(text, "%m{next}: i1[{lanes}] = {}({x}, {y})", rng.choose(&["lt", "eq"])).unwrap();
                format!("select(%m{next}, {x}, {y})")
            }
            4 => format!("negate({x})"),
            5 => format!("div({x}, {y})"),
            _ => format!("{}({x})", rng.choose(&["sqrt", "exp", "tanh", "sin", "abs"])),
        };
        writeln!(text, "%{next}: {dtype}[{lanes}] = {what}").unwrap();
        values[which].push(format!("%{next}"));
    }
    // One NaN for all, since what two NaN make is the processor's choice; numbers do not grow without an end.
    for (i, &dtype) in dtypes.iter().enumerate() {
        let last = values[i].last().unwrap();
        let line = format!("%{}: {dtype}[{lanes}]", 1000 + i);
        if dtype.starts_with('f') {
            writeln!(text, "%n{i}: i1[{lanes}] = is_nan({last})").unwrap();
            let zeros = "broadcast_in_dim [shape = c(";
            writeln!(text, "%z{i}: {dtype}[{lanes}] = {zeros}{lanes}), broadcast_axes = c()] (0.5:{dtype})")
                .unwrap();
            writeln!(text, "%t{i}: {dtype}[{lanes}] = tanh({last})").unwrap();
            writeln!(text, "{line} = select(%n{i}, %z{i}, %t{i})").unwrap();
        } else {
            writeln!(text, "{line} = add({last}, %x{i})").unwrap();
        }
    }
    text
}

#[test]
fn short_bodies_on_many_lanes() {
    let mut rng = Rng::new(31);
    for dtypes in [&["f64"][..], &["f32"], &["i32"], &["f64", "f32"], &["f32", "i32"], &["f64", "i32"]] {
        for lanes in ["16", "37", "200", "7, 11", "3, 5, 9"] {
            for ops in [1, 3, 9] {
                let text = body(&mut rng, lanes, ops, dtypes);
                let on_lanes: Vec<String> = dtypes.iter().map(|dtype| format!("{dtype}[{lanes}]")).collect();
                let on_lanes: Vec<&str> = on_lanes.iter().map(String::as_str).collect();
                let single: Vec<String> = dtypes.iter().map(|dtype| format!("{dtype}[]")).collect();
                let single: Vec<&str> = single.iter().map(String::as_str).collect();
                let carried = [&on_lanes[..], &["f64[]"]].concat();
                let next: Vec<String> = (0..dtypes.len()).map(|i| format!("%{}", 1000 + i)).collect();
                let gives = format!("{}, %count, {}", next.join(", "), next.join(", "));
                scans(&carried, &on_lanes, &single, &text, &gives, &on_lanes);
            }
        }
    }
}

/// A loop on so many lanes that threads share them; `stacked` if it gives the state of each iteration.
fn shared(lanes: usize, length: usize, stacked: bool) -> String {
    let (results, names) = if stacked {
        (format!("(f64[{lanes}], f64[{length}, {lanes}])"), "(%r, %all)")
    } else {
        (format!("f64[{lanes}]"), "%r")
    };
    let (gives, outputs) = if stacked {
        ("%4, %3", format!("    %r: f64[{lanes}]\n    %all: f64[{length}, {lanes}]\n"))
    } else {
        ("%4", format!("    %r: f64[{lanes}]\n"))
    };
    format!(
        "<AnvilGraph>
  Inputs:
    %x: f64[{lanes}]
    %z: f64[{length}, {lanes}]
  Body:
    {names}: {results} = scan [length = {length}, reverse = FALSE, checkpoint = FALSE] (%x, %z)
      body(%s: f64[{lanes}], %w: f64[{lanes}]):
        %1: f64[{lanes}] = mul(%s, %w)
        %2: f64[{lanes}] = sub(%1, %s)
        %3: f64[{lanes}] = add(%2, %w)
        %4: f64[{lanes}] = min(%3, %w)
        gives ({gives})
  Outputs:
{outputs}"
    )
}

/// One test, since the number of threads is that of the process.
#[test]
fn threads_share_lanes() {
    for threads in [1, 2, 5] {
        want(Some(threads)).unwrap();
        for (lanes, length) in [(300, 200), (1001, 300), (4096, 40)] {
            for stacked in [false, true] {
                let mut rng = Rng::new(5);
                assert!(run(&shared(lanes, length, stacked), &mut rng, false).0.is_ok());
            }
        }
    }
}

/// A random body on a state of so many rows, of which rows are read and replaced at positions that are the same for all
/// lanes, beside a number that is carried and a table that all lanes share.
fn rows(rng: &mut Rng, (dtype, rows, lanes): (&str, usize, usize), clips: bool) -> String {
    let mut text = String::new();
    let mode = if clips { ", mode = \"clip\"" } else { "" };
    let (least, range) = if clips { (-1, rows + 3) } else { (0, rows) };
    let mut state = "%x0".to_string();
    let mut values = vec!["%x2".to_string()];
    writeln!(text, "%count: i32[] = add(%x1, {}:i32)", 1 + rng.below(3)).unwrap();
    for i in 0..2 + rng.below(4) {
        let by = rng.below(7);
        writeln!(text, "%q{i}: i32[] = add(%x1, {by}:i32)").unwrap();
        writeln!(text, "%m{i}: i32[] = mod(%q{i}, {range}:i32)").unwrap();
        writeln!(text, "%p{i}: i32[] = add(%m{i}, {least}:i32)").unwrap();
        let from = rng.choose(&["%x3", state.as_str()]).to_string();
        writeln!(text, "%w{i}: {dtype}[1, {lanes}] = dynamic_slice [slice_sizes = c(1, {lanes}){mode}] ({from}, %p{i}, 0:i32)").unwrap();
        writeln!(text, "%v{i}: {dtype}[{lanes}] = reshape [shape = {lanes}, order = \"column\"] (%w{i})")
            .unwrap();
        writeln!(text, "%k{i}: i32[] = mod(%q{i}, 7:i32)").unwrap();
        writeln!(text, "%t{i}: {dtype}[1] = dynamic_slice [slice_sizes = 1] (%x4, %k{i})").unwrap();
        writeln!(text, "%u{i}: {dtype}[] = reshape [shape = c(), order = \"column\"] (%t{i})").unwrap();
        writeln!(
            text,
            "%b{i}: {dtype}[{lanes}] = broadcast_in_dim [shape = {lanes}, broadcast_axes = c()] (%u{i})"
        )
        .unwrap();
        let other = rng.choose(&values).clone();
        let op = *rng.choose(&["sub", "max", "min"]);
        writeln!(text, "%o{i}: {dtype}[{lanes}] = {op}(%v{i}, {other})").unwrap();
        writeln!(text, "%y{i}: {dtype}[{lanes}] = sub(%b{i}, %o{i})").unwrap();
        values.push(format!("%y{i}"));
        if i == 0 || rng.below(2) == 0 {
            let to = if clips { " [mode = \"clip\"]" } else { "" };
            writeln!(
                text,
                "%z{i}: {dtype}[1, {lanes}] = reshape [shape = c(1, {lanes}), order = \"column\"] (%y{i})"
            )
            .unwrap();
            writeln!(
                text,
                "%s{i}: {dtype}[{rows}, {lanes}] = dynamic_update_slice{to} ({state}, %z{i}, %p{i}, 0:i32)"
            )
            .unwrap();
            state = format!("%s{i}");
        }
    }
    writeln!(text, "{state}\n%count\n{}", values.last().unwrap()).unwrap();
    text
}

#[test]
fn rows_of_many_lanes_at_computed_positions() {
    let mut rng = Rng::new(63);
    let mut native = 0;
    for dtype in ["f64", "f32", "i32"] {
        for lanes in [4, 9, 37, 53, 131] {
            for clips in [false, true, true] {
                let count = 5 + rng.below(40);
                let text = rows(&mut rng, (dtype, count, lanes), clips);
                let mut lines: Vec<&str> = text.lines().collect();
                let gives = lines.split_off(lines.len() - 3).join(", ");
                let (state, row) = (format!("{dtype}[{count}, {lanes}]"), format!("{dtype}[{lanes}]"));
                native += usize::from(scans(
                    &[&state, "i32[]"],
                    &[&row],
                    &[&state, &format!("{dtype}[7]")],
                    &lines.join("\n"),
                    &gives,
                    &[&row],
                ));
            }
        }
    }
    assert!(native > 10, "{native} loops are native");
}
