//! Batches of random programs with branches and loops give what a loop of single runs gives.

#[path = "common/batches.rs"]
mod batches;
mod common;
#[path = "common/transforms.rs"]
mod transforms;
#[allow(dead_code)]
mod writer;

use anvil_core::dtype::DType;
use anvil_core::error::Error;
use anvil_core::graph::{Operation, Value};
use anvil_core::ops::rows;
use anvil_core::tensor::Literal;
use batches::{bits, differs, vmap, Data};
use std::collections::BTreeMap;
use transforms::draw;
use writer::control::without_constants;
use writer::Writer;

/// Programs that are tried; `ANVIL_PROGRAMS` says how many.
const PROGRAMS: u64 = 2_000;

/// Ops that a step adds. Products of floats agree within a bound only, which no longer holds after what is computed from
/// them: they come last, in programs of their own.
fn names() -> Vec<(&'static str, usize)> {
    const WITHOUT: [&str; 7] =
        ["if", "while", "scan", "custom_gradient", "custom_jvp", "callback", "dot_general"];
    let names = rows().map(|row| (row.name, row.operands.len()));
    names.filter(|(name, _)| !WITHOUT.contains(name)).collect()
}

/// How results differ by more than the order of the terms of a sum explains, of operands of sizes up to 1 or so. Results
/// that are not finite, or large, are left out: rounding decides there.
fn nearly(dtype: DType, x: &[u8], y: &[u8]) -> Option<String> {
    let part = dtype.part();
    if !part.is_float() {
        return bits(dtype, x, y);
    }
    let numbers = |x: &[u8]| -> Vec<f64> {
        x.chunks(part.bytes()).map(|e| Literal::from_bytes(part, e).get::<f64>()).collect()
    };
    let (x, y) = (numbers(x), numbers(y));
    let scale = x.iter().chain(&y).fold(1.0, |most: f64, x| most.max(x.abs()));
    if scale >= 1e6 || x.iter().chain(&y).any(|x| x.is_nan()) {
        return None;
    }
    let tolerance = match part {
        DType::F64 => 1e-9,
        DType::F32 => 1e-3,
        _ => 0.1,
    };
    let at = x.iter().zip(&y).position(|(x, y)| (x - y).abs() > tolerance * scale)?;
    Some(format!("element {at}: {} is not {}", x[at], y[at]))
}

#[test]
fn products_of_random_programs_agree_with_a_loop_of_single_runs() {
    let names = names();
    let (mut products, programs) = (0, PROGRAMS / 2);
    for seed in 1..=programs {
        let mut writer = Writer::new(seed);
        for _ in 0..writer.rng.below(8) {
            writer.step(&names);
        }
        let mut outputs: Vec<Value> = writer.outputs();
        let before = writer.pool.clone();
        for _ in 0..4 {
            if writer.step(&[("dot_general", 2), ("matmul", 2)]).is_some() {
                outputs.extend(&writer.pool[before.len()..]);
                products += writer.pool.len() - before.len();
                writer.pool.clone_from(&before);
            }
        }
        let Writer { mut rng, b, .. } = writer;
        let graph = without_constants(&b.finish(outputs));
        let marks: Vec<bool> = graph.inputs().iter().map(|_| !rng.one_in(3)).collect();
        let size = *rng.choose(&[0, 1, 2, 3, 3, 7]);
        if matches!(vmap(&graph, &marks, size), Err(Error::NoBatch { .. })) {
            continue;
        }
        let data = Data::new(&graph, &marks, size, |aval| draw(&mut rng, aval));
        if let Some(what) = differs(&graph, &marks, &data, &nearly) {
            panic!("seed {seed}: {what}");
        }
    }
    assert!(products as u64 > programs / 2, "{products}");
}

#[test]
fn random_programs_agree_with_a_loop_of_single_runs() {
    let programs = std::env::var("ANVIL_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(PROGRAMS);
    let names = names();
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
