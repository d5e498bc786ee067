//! Random programs after random transformations: anvil's own, and those of JAX of the same program, which it reads from
//! the export. JAX derives and batches each operation by rules of its own, so that all rules of anvil are held to these,
//! in any order and to a depth of three.

use crate::batches::{evaluate, types, vmap};
use crate::common::Rng;
use crate::transforms::{draw, floats, jvp, vjp};
use crate::writer::control::smooth_program;
use crate::xla::Xla;
use anvil_core::error::Error;
use anvil_core::graph::{Node, Operation};
use anvil_core::hlo;
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::ops::{Graph, Op};
use anvil_core::tensor::{Aval, Literal};
use std::collections::BTreeMap;

/// How far numbers of sizes up to 1 may be apart, of f64 and of the narrower floats.
const TOLERANCE: [f64; 2] = [1e-8, 1e-2];

/// Transformations of a program, at most.
const DEPTH: usize = 3;

/// A random transformation of a graph, with its words for JAX.
fn transform(graph: &Graph, rng: &mut Rng) -> Result<(Graph, String), Error> {
    let count = graph.inputs().len();
    Ok(match rng.below(3) {
        0 => (jvp(graph)?, format!("jvp:{count}")),
        1 => (vjp(graph)?, format!("vjp:{count}")),
        _ => {
            let marks: Vec<bool> = (0..count).map(|_| !rng.one_in(3)).collect();
            let size = 1 + rng.below(3);
            let words: String = marks.iter().map(|&mark| if mark { '1' } else { '0' }).collect();
            (vmap(graph, &marks, size)?, format!("vmap:{size}:{words}"))
        }
    })
}

/// What stands between a program and a comparison: what only derivatives see, which the export no longer has; errors
/// of indices out of range, which StableHLO does not have; and the method of Jacobi, which ends when the numbers are exact:
/// their tangents, taken through it, are not yet then.
fn is_beyond(graph: &Graph) -> bool {
    let beyond = |node: &Node<Op>| {
        ["custom_gradient", "custom_jvp", "stop_gradient", "callback", "print", "eigh", "svd"]
            .contains(&node.op.name())
            || node.op.may_raise()
    };
    let inside = |node: &Node<Op>| node.op.regions().iter().any(|(_, region)| is_beyond(region));
    graph.nodes().iter().any(|node| beyond(node) || inside(node))
}

fn numbers(aval: &Aval, x: &[u8]) -> Vec<f64> {
    let part = aval.dtype.part();
    x.chunks(part.bytes()).map(|e| Literal::from_bytes(part, e).get::<f64>()).collect()
}

/// Whether two results agree, or else how they differ. What is not finite or large is not compared: rounding
/// decides there.
fn agree(aval: &Aval, mine: &[u8], theirs: &[u8], tolerance: f64) -> Result<(), String> {
    let (mine, theirs) = (numbers(aval, mine), numbers(aval, theirs));
    if mine.iter().chain(&theirs).any(|x| !x.is_finite() || x.abs() > 1e6) {
        return Ok(());
    }
    let scale = theirs.iter().chain(&mine).fold(1.0, |scale: f64, x| scale.max(x.abs()));
    let apart = |(x, y): (&f64, &f64)| (x - y).abs() > tolerance * scale;
    match mine.iter().zip(&theirs).position(apart) {
        Some(i) => Err(format!("element {i} is {}, and {} in JAX", mine[i], theirs[i])),
        None => Ok(()),
    }
}

/// What became of a program: a word to count, or a difference.
pub fn check(seed: u64, xla: &mut Xla) -> Result<String, String> {
    let (graph, mut rng) = smooth_program(seed);
    if is_beyond(&graph) {
        return Ok("beyond".into());
    }
    let said = |what: String, words: &str| format!("program {seed}, {words}: {what}\n{graph}");
    let (mut made, mut words) = (graph.clone(), vec![]);
    for _ in 0..1 + rng.below(DEPTH) {
        match transform(&made, &mut rng) {
            Ok((graph, word)) => {
                made = graph;
                words.push(word);
            }
            Err(Error::NoGradient { .. } | Error::NoBatch { .. }) => break,
            Err(e) => return Err(said(e.to_string(), &words.join(" "))),
        }
    }
    if words.is_empty() || floats(&types(&made, made.outputs())).is_empty() {
        return Ok("without rules".into());
    }
    let words = words.join(" ");
    let (inputs, outputs) = (types(&made, made.inputs()), types(&made, made.outputs()));
    let data: Vec<AlignedBytes> = inputs.iter().map(|aval| draw(&mut rng, aval)).collect();
    let mine = evaluate(&made, &data).map_err(|e| said(e.to_string(), &words))?;
    let module =
        hlo::export(&graph, &[], &hlo::Options::default()).map_err(|e| said(e.to_string(), &words))?;
    let given: Vec<(&Aval, &[u8])> = inputs.iter().zip(&data).map(|(aval, x)| (aval, x.as_slice())).collect();
    let wanted: Vec<&Aval> = outputs.iter().collect();
    let theirs = match xla.transformed(&module.text, Some(&words), &given, &wanted) {
        Ok(theirs) => theirs,
        Err(what) if what.starts_with("absent") => {
            return Ok(what.lines().next().unwrap_or_default().to_string());
        }
        Err(what) => return Err(said(what, &words)),
    };
    let narrow = graph
        .values()
        .any(|v| graph.aval(v).dtype.part().is_float() && graph.aval(v).dtype.part().bytes() < 8);
    let tolerance = TOLERANCE[usize::from(narrow)];
    for (k, (aval, (mine, theirs))) in outputs.iter().zip(mine.iter().zip(&theirs)).enumerate() {
        agree(aval, mine, theirs, tolerance).map_err(|what| said(format!("result {k}: {what}"), &words))?;
    }
    let names: Vec<&str> = words.split(' ').map(|word| word.split(':').next().unwrap_or_default()).collect();
    Ok(format!("compared: {}", names.join(" ")))
}

/// Checks programs, and prints what became of them; returns how many differ.
pub fn check_all(python: &str, first: u64, count: u64, workers: u64, shown: usize) -> usize {
    let results: Vec<Result<String, String>> = std::thread::scope(|scope| {
        let run = |worker: u64| {
            let mut xla = Xla::start(python);
            let seeds = (first..first + count).filter(|seed| seed % workers == worker);
            seeds.map(|seed| check(seed, &mut xla)).collect::<Vec<_>>()
        };
        let running: Vec<_> = (0..workers).map(|worker| scope.spawn(move || run(worker))).collect();
        running.into_iter().flat_map(|worker| worker.join().expect("no panic")).collect()
    });
    let mut counts = BTreeMap::<&str, usize>::new();
    for result in &results {
        *counts.entry(result.as_deref().unwrap_or("DIFFERS")).or_default() += 1;
    }
    counts.iter().for_each(|(what, n)| println!("{n:>7} {what}"));
    let differing: Vec<&String> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    differing.iter().take(shown).for_each(|text| println!("\n{text}"));
    let compared: usize =
        counts.iter().filter(|(what, _)| what.starts_with("compared")).map(|(_, n)| n).sum();
    // Of few programs it may be none.
    assert!(count < 100 || compared as u64 > count / 10, "only {compared} of {count} programs were compared");
    differing.len()
}
