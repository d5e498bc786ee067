//! Forward mode of random programs with branches and loops: it is the transpose of reverse mode, and the
//! optimised plan gives the bits of the reference interpreter.

mod common;
#[path = "common/forward.rs"]
mod forward;
#[path = "common/gradients.rs"]
mod gradients;
#[allow(dead_code)]
mod writer;

use anvil_core::error::Error;
use anvil_core::graph::Operation;
use anvil_core::kernels::memory::AlignedBytes;
use common::{disagreement, random_tensor};
use forward::{
    coarsest, directions, floats, from_output, linearized, pairing, point, pulled, pushed, run, types, Tensor,
};
use num_complex::Complex;
use std::collections::BTreeMap;
use writer::control::smooth_program;

/// Programs that are tried; `ANVIL_PROGRAMS` says how many.
const PROGRAMS: u64 = 2_000;

fn programs() -> u64 {
    std::env::var("ANVIL_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(PROGRAMS)
}

#[test]
fn forward_mode_of_random_programs() {
    let mut counts = BTreeMap::<String, usize>::new();
    let mut count = |what: &str| *counts.entry(what.into()).or_default() += 1;
    for seed in 1..=programs() {
        let (graph, mut rng) = smooth_program(seed);
        let avals = types(&graph, graph.inputs());
        let active: Vec<usize> =
            floats(&avals).into_iter().filter(|_| seed % 3 > 0 || rng.one_in(2)).collect();
        if active.is_empty() {
            continue;
        }
        let ahead = match pushed(&graph, &active) {
            Ok(ahead) => ahead,
            Err(Error::NoGradient { op, .. }) => {
                count(&format!("no rule: {op}"));
                continue;
            }
            Err(e) => panic!("seed {seed}: {e}\n{graph}"),
        };
        // Any numbers at all; infinities and NaN too.
        let inputs: Vec<AlignedBytes> =
            types(&ahead, ahead.inputs()).iter().map(|aval| random_tensor(&mut rng, aval)).collect();
        let donated: Vec<usize> = (0..inputs.len()).filter(|_| rng.one_in(2)).collect();
        if let Some(what) = disagreement(&ahead, &inputs, &[], &donated) {
            panic!("seed {seed}: {what}\n{graph}\nTangents:\n{ahead}");
        }
        for node in ahead.nodes() {
            if node.op.has_regions() {
                count(node.op.name());
            }
        }
        let back = match pulled(&graph, &active) {
            Ok(back) => back,
            Err(Error::NoGradient { op, .. }) => {
                count(&format!("forward alone: {op}"));
                continue;
            }
            Err(e) => panic!("seed {seed}: {e}\n{graph}"),
        };
        let range = [-1.5, 1.5];
        let x: Vec<Tensor> = avals.iter().map(|aval| point(&mut rng, aval, range, range)).collect();
        let v = directions(&mut rng, &avals, &active);
        let results = types(&graph, graph.outputs());
        let u = directions(&mut rng, &results, &floats(&results));
        let from = graph.outputs().len();
        let tangents = run(&from_output(&ahead, from), &[&x, &v]);
        let gradients = run(&from_output(&back, from), &[&x, &u]);
        // The linear map computes nothing else than forward mode.
        let cut = linearized(&graph, &active, &x, &v);
        if let (Ok(tangents), Ok(cut)) = (&tangents, &cut) {
            for (x, y) in cut[from..].iter().zip(tangents) {
                let same = |(x, y): (&Complex<f64>, &Complex<f64>)| x == y || !(x - y).norm().is_finite();
                let mut pairs = x.floats().iter().zip(y.floats());
                assert!(pairs.all(same), "seed {seed}: {x:?} is not {y:?}\n{graph}");
            }
        }
        // The reference runs what nothing reads, too, and meets its errors: there is less of that in two parts.
        assert!(tangents.is_err() || cut.is_ok(), "seed {seed}");
        // A position out of range is an error of the program.
        let (Ok(tangents), Ok(gradients)) = (tangents, gradients) else { continue };
        let ((one, size), (other, more)) = (pairing(&u, &tangents), pairing(&gradients, &v));
        let scale = size + more + 1.0;
        if !scale.is_finite() || scale > 1e6 {
            count("not finite");
            continue;
        }
        let eps = coarsest(&ahead).max(coarsest(&back));
        if (one - other).abs() > 1e4 * eps * scale {
            eprintln!(
                "seed {seed}: {one} is not {other} at {x:?}\n{graph}\nTangents:\n{ahead}\nGradients:\n{back}"
            );
            count("BAD");
        }
        count(if size > 0.0 { "compared" } else { "zero" });
    }
    let n = programs() as usize;
    let often = |what: &str| counts.get(what).copied().unwrap_or(0);
    assert!(often("compared") > n / 4 && often("forward alone: nv_while") > n / 30, "{counts:?}");
    for name in ["if", "while", "scan", "custom_jvp"] {
        assert!(often(name) > n / 20, "{counts:?}");
    }
}
