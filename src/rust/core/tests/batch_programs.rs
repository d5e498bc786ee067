//! Batches of random programs with branches and loops give what a loop of single runs gives.

#[path = "common/batches.rs"]
mod batches;
mod common;
#[allow(dead_code)]
mod writer;

use anvil_core::error::Error;
use anvil_core::graph::{Operation, Value};
use anvil_core::ops::rows;
use batches::{bits, differs, vmap, Data};
use std::collections::BTreeMap;
use writer::control::without_constants;
use writer::Writer;

/// Programs that are tried; `ANVIL_PROGRAMS` says how many.
const PROGRAMS: u64 = 2_000;

#[test]
fn random_programs_agree_with_a_loop_of_single_runs() {
    let programs = std::env::var("ANVIL_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(PROGRAMS);
    // Products of floats agree within a bound only, which no longer holds after what is computed from them.
    const WITHOUT: [&str; 7] =
        ["if", "while", "scan", "custom_gradient", "custom_jvp", "callback", "dot_general"];
    let names: Vec<(&str, usize)> = rows().map(|row| (row.name, row.operands.len())).collect();
    let names: Vec<_> = names.into_iter().filter(|(name, _)| !WITHOUT.contains(name)).collect();
    let mut counts = BTreeMap::<&str, usize>::new();
    for seed in 1..=programs {
        let mut writer = Writer::new(seed);
        writer.depth = 2;
        for _ in 0..2 + writer.rng.below(12) {
            writer.step(&names);
        }
        writer.control(&names);
        let outputs: Vec<Value> = writer.outputs();
        let Writer { mut rng, b, .. } = writer;
        let graph = without_constants(&b.finish(outputs));
        let marks: Vec<bool> = graph.inputs().iter().map(|_| !rng.one_in(3)).collect();
        let size = *rng.choose(&[0, 1, 2, 3, 3, 7]);
        if let Err(Error::NoBatch { why, .. }) = vmap(&graph, &marks, size) {
            assert!(why.contains("captures a value"), "seed {seed}: {why}");
            *counts.entry("no rule").or_default() += 1;
            continue;
        }
        for node in graph.nodes() {
            *counts.entry(node.op.name()).or_default() += usize::from(node.op.has_regions());
        }
        let data = Data::random(&mut rng, &graph, &marks, size);
        if let Some(what) = differs(&graph, &marks, &data, &bits) {
            panic!("seed {seed}: {what}");
        }
    }
    let often = |name| counts[name] as u64 > programs / 6;
    assert!(["if", "while", "scan", "custom_gradient"].into_iter().all(often), "{counts:?}");
    assert!(counts.get("no rule").is_none_or(|&n| (n as u64) < programs / 10), "{counts:?}");
}
