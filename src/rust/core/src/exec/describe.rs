//! The text of a plan: its steps, what is computed together, and how many bytes move.

use super::plan::{Action, Plan, Step, ARENA};
use super::tile::Load;
use crate::graph::Operation;
use std::fmt::Write;

/// One line for each step, and a last one with the sums.
pub fn describe(plan: &Plan) -> String {
    let mut text = String::new();
    let (mut read, mut written) = (0, 0);
    for (number, step) in plan.steps.iter().enumerate() {
        let (from, to) = (bytes_read(step), step.results.iter().map(|(_, span)| span.range.len()).sum::<usize>());
        read += from;
        written += to;
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}. {}: reads {}, writes {}", number + 1, what(step), amount(from), amount(to));
    }
    let steps = if plan.steps.len() == 1 { "1 step".into() } else { format!("{} steps", plan.steps.len()) };
    let _ = writeln!(text, "{steps}, {} read, {} written, {} of scratch memory", amount(read), amount(written), amount(plan.arena));
    text
}

/// Bytes that a step reads: an element that is repeated is one.
fn bytes_read(step: &Step) -> usize {
    let loads: &[Load] = if let Action::Tiles(program) = &step.action { program.loads() } else { &[] };
    let operand = |(i, (aval, place)): (usize, &(crate::tensor::Aval, super::plan::Place))| {
        if loads.get(i) == Some(&Load::Splat) {
            return aval.dtype.bytes();
        }
        aval.bytes().min(place.span.range.len())
    };
    step.operands.iter().enumerate().map(operand).sum()
}

fn what(step: &Step) -> String {
    match &step.action {
        Action::Apply(op) => op.name().to_string(),
        Action::Copy => "copy".to_string(),
        Action::Control(_) => "branch or loop".to_string(),
        Action::Tiles(program) => {
            let (tile, len) = program.tiles();
            let names = program.names().join(", ");
            let (instructions, registers) = (program.instructions(), amount(program.scratch().iter().sum()));
            let place = if step.results.iter().any(|(_, span)| in_place(step, span)) { ", in place" } else { "" };
            format!("group of {len} elements ({names}; {instructions} instructions on tiles of {tile}, {registers} of registers{place})")
        }
    }
}

/// Whether a result lies where an operand does, in the arena; that of a donated input is known only when it is given.
fn in_place(step: &Step, span: &crate::kernels::memory::Span) -> bool {
    span.buffer == ARENA && step.operands.iter().any(|(_, place)| place.span == *span)
}

fn amount(bytes: usize) -> String {
    match bytes {
        0..=9_999 => format!("{bytes} B"),
        10_000..=9_999_999 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
