//! Batches of random programs with branches and loops: what a loop of single runs gives.

#[path = "common/batches.rs"]
mod batches;
mod common;
#[allow(dead_code)]
mod writer;

use anvil_core::error::Error;
use anvil_core::graph::Operation;
use anvil_core::ops::rows;
use batches::{bits, differs, vmap, Data};
use std::collections::BTreeMap;
use writer::control::without_constants;
use writer::Writer;

/// Programs that are tried; `ANVIL_PROGRAMS` says how many.
const PROGRAMS: u64 = 2_000;

fn programs() -> u64 {
    std::env::var("ANVIL_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(PROGRAMS)
}

#[test]
fn random_programs_agree_with_a_loop_of_single_runs() {
    let mut names: Vec<(&str, usize)> = rows().map(|row| (row.name, row.operands.len())).collect();
    names.retain(|(name, _)| {
        !["if", "while", "scan", "custom_gradient", "custom_jvp", "callback"].contains(name)
    });
    let mut counts = BTreeMap::<&str, usize>::new();
    let mut fails = 0;
    for seed in 1..=programs() {
        let mut writer = Writer::new(seed);
        writer.depth = 2;
        for _ in 0..2 + writer.rng.below(12) {
            writer.step(&names);
        }
        writer.control(&names);
        let outputs = writer.outputs();
        let Writer { mut rng, b, .. } = writer;
        let graph = without_constants(&b.finish(outputs));
        let marks: Vec<bool> = graph.inputs().iter().map(|_| !rng.one_in(3)).collect();
        let size = *rng.choose(&[0, 1, 2, 3, 3, 7]);
        match vmap(&graph, &marks, size) {
            Err(Error::NoBatch { op, why }) => {
                *counts.entry("no batch").or_default() += 1;
                continue;
            }
            _ => {}
        }
        for node in graph.nodes() {
            *counts.entry(node.op.name()).or_default() += usize::from(node.op.has_regions());
        }
        let data = Data::random(&mut rng, &graph, &marks, size);
        if let Some(what) = differs(&graph, &marks, &data, &bits) {
            println!("seed {seed}: {what}");
            fails += 1;
            if fails > 10 {
                break;
            }
        }
    }
    println!("{counts:?} {fails}");
}
