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
