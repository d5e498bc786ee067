//! Second derivatives of random programs with branches and loops, taken in three ways that share no rule: forward over
//! reverse, reverse over reverse, and reverse over forward mode. All are the product of the Hessian of a weighted sum of
//! the results with a direction.

#[path = "common/batches.rs"]
mod batches;
mod common;
#[path = "common/forward.rs"]
mod forward;
#[path = "common/gradients.rs"]
mod gradients;
#[path = "common/transforms.rs"]
mod transforms;
#[allow(dead_code)]
mod writer;

use anvil_core::error::Error;
use anvil_core::graph::{Def, Node, Operation, Value};
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::ops::{Builder, Graph, Op, Unary};
use anvil_core::tensor::{Aval, Literal};
use batches::{evaluate, types};
use common::aligned;
use forward::coarsest;
use std::collections::BTreeMap;
use transforms::{draw, floats, jvp, vjp};
use writer::control::smooth_program;

/// Programs that are tried; `ANVIL_PROGRAMS` says how many.
const PROGRAMS: u64 = 2_000;

/// Roundings of the coarsest dtype by which products of sizes up to 1 may be apart.
const ROUNDINGS: f64 = 1e5;

/// Derivatives of their own say nothing of what the function captures.
fn has_custom(graph: &Graph) -> bool {
    let custom = |node: &Node<Op>| ["custom_gradient", "custom_jvp"].contains(&node.op.name());
    let inside = |node: &Node<Op>| node.op.regions().iter().any(|(_, region)| has_custom(region));
    graph.nodes().iter().any(|node| custom(node) || inside(node))
}

/// Vectors of complex decompositions are free up to a phase each: their derivative keeps to one path of phases, and
/// on another path to the same place these are others, so that second derivatives are not symmetric.
fn has_phases(graph: &Graph) -> bool {
    let phases = |node: &Node<Op>| {
        let is = ["eigh", "svd"].contains(&node.op.name());
        is && graph.aval(node.operands[0]).dtype.is_complex()
    };
    let inside = |node: &Node<Op>| node.op.regions().iter().any(|(_, region)| has_phases(region));
    graph.nodes().iter().any(|node| phases(node) || inside(node))
}

/// The program of the sines of its inputs: most programs are linear in most of them.
fn curved(graph: &Graph) -> Graph {
    let mut b = Builder::default();
    let mut new = vec![None; graph.values().count()];
    for v in graph.values() {
        let aval = graph.aval(v);
        match graph.def(v) {
            Def::Input(_) | Def::Constant(_) => new[v.index()] = Some(b.input(aval.clone())),
            Def::Literal(literal) => new[v.index()] = Some(b.literal(literal, aval.ambiguous)),
            Def::Result(..) => {}
        }
    }
    for i in floats(&types(graph, graph.inputs())) {
        let x = &mut new[graph.inputs()[i].index()];
        *x = Some(b.node1(Op::Unary(Unary::sin), &[x.unwrap()]).unwrap());
    }
    for node in graph.nodes() {
        let operands: Vec<Value> = node.operands.iter().map(|x| new[x.index()].unwrap()).collect();
        let made = b.node(node.op.clone(), &operands).unwrap();
        node.results.iter().zip(made).for_each(|(old, value)| new[old.index()] = Some(value));
    }
    b.finish(graph.outputs().iter().map(|v| new[v.index()].unwrap()).collect())
}

fn numbers(aval: &Aval, x: &[u8]) -> Vec<f64> {
    let part = aval.dtype.part();
    x.chunks(part.bytes()).map(|e| Literal::from_bytes(part, e).get::<f64>()).collect()
}

/// A product of the Hessian with the direction, by the three ways that there are of this program: with the name of
/// each, all numbers of it, one after the other.
fn products(graph: &Graph, data: [&[AlignedBytes]; 3]) -> Result<Vec<(&'static str, Vec<f64>)>, Error> {
    let [x, u, v] = data;
    let outputs = types(graph, graph.outputs());
    let nothing = |avals: &[Aval]| -> Vec<AlignedBytes> {
        floats(avals).into_iter().map(|i| aligned(&vec![0; avals[i].bytes()])).collect()
    };
    let wrt = floats(&types(graph, graph.inputs())).len();
    let run = |graph: &Graph, parts: &[&[AlignedBytes]]| -> Result<Vec<f64>, Error> {
        let inputs: Vec<AlignedBytes> =
            parts.iter().flat_map(|x| x.iter()).map(|x| aligned(x.as_slice())).collect();
        let made = evaluate(graph, &inputs)?;
        let avals = types(graph, graph.outputs());
        Ok(avals.iter().zip(&made).take(wrt).flat_map(|(aval, x)| numbers(aval, x)).collect())
    };
    let gradients = vjp(graph)?;
    let mut made = vec![];
    match jvp(&gradients) {
        Ok(product) => made.push(("forward over reverse", run(&product, &[x, u, v, &nothing(&outputs)])?)),
        Err(Error::NoGradient { .. }) => {}
        Err(e) => return Err(e),
    }
    match vjp(&gradients) {
        Ok(product) => made.push(("reverse over reverse", run(&product, &[x, u, v])?)),
        Err(Error::NoGradient { .. }) => {}
        Err(e) => return Err(e),
    }
    match vjp(&jvp(graph)?) {
        Ok(product) => made.push(("reverse over forward", run(&product, &[x, v, u])?)),
        Err(Error::NoGradient { .. }) => {}
        Err(e) => return Err(e),
    }
    Ok(made)
}

#[test]
fn second_derivatives_of_random_programs_agree_in_all_orders() {
    let programs = std::env::var("ANVIL_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(PROGRAMS);
    let mut counts = BTreeMap::<String, u64>::new();
    let mut count = |what: &str| *counts.entry(what.into()).or_default() += 1;
    for seed in 1..=programs {
        let (graph, mut rng) = smooth_program(seed);
        if has_custom(&graph) {
            count("derivatives of their own");
            continue;
        }
        if has_phases(&graph) {
            count("vectors of complex decompositions");
            continue;
        }
        let graph = curved(&graph);
        let [inputs, outputs] = [graph.inputs(), graph.outputs()].map(|values| types(&graph, values));
        let of = |avals: &[Aval]| floats(avals).into_iter().map(|i| avals[i].clone()).collect::<Vec<_>>();
        let mut all = |avals: &[Aval]| avals.iter().map(|aval| draw(&mut rng, aval)).collect::<Vec<_>>();
        let (x, u, v) = (all(&inputs), all(&of(&outputs)), all(&of(&inputs)));
        let made = match products(&graph, [&x, &u, &v]) {
            Ok(made) => made,
            Err(Error::NoGradient { .. }) => {
                count("no gradient");
                continue;
            }
            Err(Error::IndexOutOfRange { .. }) => continue,
            Err(e) => panic!("seed {seed}: {e}\n{graph}"),
        };
        let Some(((first, want), others)) = made.split_first() else { continue };
        let scale = want.iter().fold(1.0, |scale: f64, x| scale.max(x.abs()));
        if !want.iter().all(|x| x.is_finite()) || scale > 1e6 {
            count("not finite");
            continue;
        }
        let limit = ROUNDINGS * coarsest(&graph) * scale;
        for (name, got) in others {
            let apart = |(i, (x, y)): (usize, (&f64, &f64))| {
                ((x - y).abs() > limit).then(|| format!("element {i}: {x}, not {y}"))
            };
            assert_eq!(got.len(), want.len());
            if let Some(what) = got.iter().zip(want).enumerate().find_map(apart) {
                panic!("seed {seed}, {name} and {first}: {what}\n{graph}");
            }
        }
        for node in graph.nodes().iter().filter(|node| node.op.has_regions()) {
            count(node.op.name());
        }
        count(match (others.len(), want.iter().any(|&x| x != 0.0)) {
            (0, _) => "one way only",
            (_, false) => "zero",
            (_, true) => "compared",
        });
    }
    let often = |what: &str| counts.get(what).copied().unwrap_or(0);
    assert!(often("compared") > programs / 5 && often("scan") > programs / 50, "{counts:?}");
}
